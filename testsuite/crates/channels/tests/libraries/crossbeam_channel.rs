//! crossbeam-channel.

use crossbeam_channel::{bounded, select, unbounded};
use std::thread;

#[test]
fn a_rendezvous_hands_over() {
    let (sender, receiver) = bounded(0);
    let child = thread::spawn(move || sender.send(1).unwrap());
    assert_eq!(receiver.recv(), Ok(1));
    child.join().unwrap();
}

#[test]
#[ignore = "takes long to explore"]
fn a_full_channel_waits_for_room() {
    let (sender, receiver) = bounded(1);
    let child = thread::spawn(move || {
        sender.send(1).unwrap();
        sender.send(2).unwrap();
    });
    assert_eq!((receiver.recv(), receiver.recv()), (Ok(1), Ok(2)));
    child.join().unwrap();
}

#[test]
#[ignore = "takes long to explore"]
fn messages_of_two_senders_arrive() {
    let (sender, receiver) = unbounded();
    let children = [1, 2].map(|message| {
        let sender = sender.clone();
        thread::spawn(move || sender.send(message).unwrap())
    });
    drop(sender);
    assert_eq!(receiver.iter().sum::<i32>(), 3);
    children.into_iter().for_each(|child| child.join().unwrap());
}

#[test]
fn one_of_two_receivers_gets_the_message() {
    let (sender, receiver) = unbounded();
    sender.send(1).unwrap();
    let child = {
        let receiver = receiver.clone();
        thread::spawn(move || receiver.try_recv().is_ok())
    };
    let mine = receiver.try_recv().is_ok();
    assert!(mine != child.join().unwrap());
}

#[test]
fn select_takes_from_the_channel_that_is_ready() {
    let (sender, receiver) = bounded(1);
    let (_other, nothing) = bounded::<i32>(1);
    let child = thread::spawn(move || sender.send(1).unwrap());
    select! {
        recv(receiver) -> message => assert_eq!(message, Ok(1)),
        recv(nothing) -> _ => panic!("nobody has sent"),
    }
    child.join().unwrap();
}
