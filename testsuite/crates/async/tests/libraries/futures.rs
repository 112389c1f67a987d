//! futures: channels, and FuturesUnordered.

use futures::channel::{mpsc, oneshot};
use futures::stream::{FuturesUnordered, StreamExt};
use pollster::block_on;
use std::thread;

#[test]
#[ignore = "takes long to explore"]
fn messages_of_two_producers_arrive() {
    let (sender, receiver) = mpsc::unbounded();
    let children = [1, 2].map(|message| {
        let sender = sender.clone();
        thread::spawn(move || sender.unbounded_send(message).unwrap())
    });
    drop(sender);
    let sum = block_on(receiver.fold(0, async |sum, message| sum + message));
    assert_eq!(sum, 3);
    children.into_iter().for_each(|child| child.join().unwrap());
}

#[test]
#[ignore = "takes long to explore"]
fn unordered_futures_are_woken_by_threads() {
    let (futures, children): (FuturesUnordered<_>, Vec<_>) = [1, 2]
        .into_iter()
        .map(|message| {
            let (sender, receiver) = oneshot::channel();
            (receiver, thread::spawn(move || sender.send(message).unwrap()))
        })
        .unzip();
    let sum = block_on(futures.fold(0, async |sum, message| sum + message.unwrap()));
    assert_eq!(sum, 3);
    children.into_iter().for_each(|child| child.join().unwrap());
}

#[test]
fn unordered_futures_are_woken_by_a_thread() {
    let (sender, receiver) = oneshot::channel();
    let child = thread::spawn(move || sender.send(1).unwrap());
    let mut futures = FuturesUnordered::from_iter([receiver]);
    assert_eq!(block_on(futures.next()), Some(Ok(1)));
    child.join().unwrap();
}
