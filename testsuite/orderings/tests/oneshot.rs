//! oneshot: who frees the channel does not know of the other's last use (pull request 72).

use oneshot::channel;
use std::thread;

#[test]
fn both_ends_are_dropped() {
    let (sender, receiver) = channel::<u32>();
    let thread = thread::spawn(move || drop(sender));
    drop(receiver);
    thread.join().unwrap();
}

#[test]
fn a_message_comes_back_where_nobody_receives() {
    let (sender, receiver) = channel();
    let thread = thread::spawn(move || sender.send(Box::new(1)).map_err(|error| *error.into_inner()));
    drop(receiver);
    assert!(matches!(thread.join().unwrap(), Ok(()) | Err(1)));
}
