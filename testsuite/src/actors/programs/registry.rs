//! The registry of the paper's example, and regsim.

use crate::actors::protocol::{Actor, Outbox, Protocol};

/// §2 and Figure 1: a master registers itself, and creates workers that do so when told. With five workers this is what
/// the tables call regsim.
#[derive(Clone, Copy, Debug)]
pub struct Registry {
    /// Number of workers.
    pub workers: usize,
    /// Number of such registries, each of which registers with a common one when it is complete; 0 for a single
    /// registry.
    pub groups: usize,
    /// Whether the master's own step is one; the paper's example begins after it.
    pub master: bool,
}

/// An actor of [`Registry`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum RegistryActor {
    /// The entry.
    Master,
    /// The registered actors, in order, and the actor with which the registry registers itself when it is complete.
    Registry(Vec<Actor>, Option<Actor>),
    /// An actor that registers on request.
    Worker,
}

/// A message of [`Registry`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum RegistryMessage {
    /// To the master.
    Begin,
    /// To a worker: register there.
    RegisterAt(Actor),
    /// To the registry: this is one more.
    Register(Actor),
}

impl Registry {
    fn begin(&self, master: Actor, out: &mut Outbox<'_, Self>) {
        let above = (self.groups > 0).then(|| out.create(RegistryActor::Registry(Vec::new(), None)));
        for _ in 0..self.groups.max(1) {
            let registry = out.create(RegistryActor::Registry(Vec::new(), above));
            out.send(registry, RegistryMessage::Register(master));
            for _ in 0..self.workers {
                let worker = out.create(RegistryActor::Worker);
                out.send(worker, RegistryMessage::RegisterAt(registry));
            }
        }
    }
}

impl Protocol for Registry {
    type State = RegistryActor;
    type Content = RegistryMessage;

    fn start(&self, out: &mut Outbox<'_, Self>) {
        let master = out.create(RegistryActor::Master);
        if self.master {
            out.send(master, RegistryMessage::Begin);
        } else {
            self.begin(master, out);
        }
    }

    fn process(
        &self,
        me: Actor,
        state: &mut RegistryActor,
        message: &RegistryMessage,
        out: &mut Outbox<'_, Self>,
    ) -> Result<(), String> {
        match (state, message) {
            (RegistryActor::Registry(all, above), RegistryMessage::Register(actor)) => {
                all.push(*actor);
                if let Some(above) = above.filter(|_| all.len() == self.workers + 1) {
                    out.send(above, RegistryMessage::Register(me));
                }
            }
            (RegistryActor::Worker, RegistryMessage::RegisterAt(registry)) => {
                out.send(*registry, RegistryMessage::Register(me));
            }
            (RegistryActor::Master, RegistryMessage::Begin) => self.begin(me, out),
            (state, message) => return Err(super::misdirected::<Self>(state, message)),
        }
        Ok(())
    }
}
