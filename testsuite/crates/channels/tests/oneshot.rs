//! oneshot.

use oneshot::{RecvError, TryRecvError};
use std::thread;

#[test]
fn message_arrives() {
    let (sender, receiver) = oneshot::channel();
    let child = thread::spawn(move || sender.send(5).unwrap());
    assert_eq!(receiver.recv(), Ok(5));
    child.join().unwrap();
}

#[test]
fn dropped_sender_ends_the_wait() {
    let (sender, receiver) = oneshot::channel::<u32>();
    let child = thread::spawn(move || drop(sender));
    assert_eq!(receiver.recv(), Err(RecvError));
    child.join().unwrap();
}

#[test]
fn message_comes_back_if_the_receiver_is_gone() {
    let (sender, receiver) = oneshot::channel();
    let child = thread::spawn(move || drop(receiver));
    if let Err(error) = sender.send(String::from("back")) {
        assert_eq!(error.into_inner(), "back");
    }
    child.join().unwrap();
}

#[test]
fn try_recv_sees_nothing_or_the_message() {
    let (sender, receiver) = oneshot::channel();
    let child = thread::spawn(move || sender.send(5).unwrap());
    let seen = receiver.try_recv();
    assert!([Ok(5), Err(TryRecvError::Empty)].contains(&seen));
    child.join().unwrap();
}
