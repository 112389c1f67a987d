//! The registry: three names in any order.

use messages::registry::{Message, Registry, Worker};
use shim_std::actor::{Address, System};

/// The master's part, as far as the registry knows of it.
fn register(system: &System) -> Address<Registry> {
    let registry = system.spawn(Registry::default());
    registry.send(Message::Register("master"));
    for name in ["first", "second"] {
        system.spawn(Worker { name }).send(registry.clone());
    }
    registry
}

#[test]
fn all_are_registered() {
    let system = System::new();
    register(&system);
    system.settle();
}

#[test]
fn all_names_are_told() {
    let system = System::new();
    let mut names = register(&system).ask(Message::Names).wait().unwrap();
    names.sort();
    assert_eq!(names, ["first", "master", "second"]);
}

/// The master was the first to send, but that does not make it the first to be registered.
#[test]
fn the_master_is_the_first() {
    let system = System::new();
    let names = register(&system).ask(Message::Names).wait().unwrap();
    assert_eq!(names[0], "master");
}
