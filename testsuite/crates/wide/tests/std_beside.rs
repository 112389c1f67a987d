//! std's primitives, in a crate that depends on much else.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use wide::Message;

#[test]
fn messages_are_applied_in_order() {
    let (sender, receiver) = mpsc::channel();
    let worker = thread::spawn(move || {
        let mut state = HashMap::new();
        for message in receiver {
            match message {
                Message::Set { key, value } => drop(state.insert(key, value)),
                Message::Stop => break,
            }
        }
        state
    });
    sender.send(Message::set("a", 1)).unwrap();
    sender.send(Message::set("a", 2)).unwrap();
    sender.send(Message::Stop).unwrap();
    assert_eq!(worker.join().unwrap(), HashMap::from([("a".into(), 2)]));
}

#[test]
fn shared_state_is_locked() {
    let state = Arc::new(Mutex::new(Vec::new()));
    let children = [1, 2].map(|value| {
        let state = Arc::clone(&state);
        thread::spawn(move || state.lock().unwrap().push(Message::set("x", value)))
    });
    children.into_iter().for_each(|child| child.join().unwrap());
    assert_eq!(state.lock().unwrap().len(), 2);
}
