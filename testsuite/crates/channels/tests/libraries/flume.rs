//! flume.

use std::thread;

#[test]
fn a_bounded_channel_hands_over() {
    let (sender, receiver) = flume::bounded(0);
    let child = thread::spawn(move || sender.send(1).unwrap());
    assert_eq!(receiver.recv(), Ok(1));
    child.join().unwrap();
}

#[test]
fn messages_of_two_senders_arrive() {
    let (sender, receiver) = flume::unbounded();
    let children = [1, 2].map(|message| {
        let sender = sender.clone();
        thread::spawn(move || sender.send(message).unwrap())
    });
    drop(sender);
    assert_eq!(receiver.iter().sum::<i32>(), 3);
    children.into_iter().for_each(|child| child.join().unwrap());
}

#[test]
fn the_last_sender_ends_the_channel() {
    let (sender, receiver) = flume::unbounded::<i32>();
    let child = thread::spawn(move || drop(sender));
    assert_eq!(receiver.recv(), Err(flume::RecvError::Disconnected));
    child.join().unwrap();
}
