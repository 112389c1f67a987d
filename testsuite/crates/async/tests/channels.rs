//! Channels of async-channel, async-broadcast, futures and futures-intrusive.

use futures::channel::mpsc;
use futures::stream::{FuturesUnordered, StreamExt};
use futures_intrusive::sync::{ManualResetEvent, Mutex};
use pollster::block_on;
use std::sync::Arc;
use std::thread;

#[test]
fn async_channel_of_two_producers() {
    let (sender, receiver) = async_channel::unbounded();
    let children = [1, 2].map(|message| {
        let sender = sender.clone();
        thread::spawn(move || sender.send_blocking(message).unwrap())
    });
    let (first, second) = (receiver.recv_blocking().unwrap(), receiver.recv_blocking().unwrap());
    assert_eq!(first + second, 3);
    children.into_iter().for_each(|child| child.join().unwrap());
}

#[test]
fn async_broadcast_reaches_both() {
    let (sender, receiver) = async_broadcast::broadcast(1);
    let children = [receiver.clone(), receiver].map(|mut receiver| thread::spawn(move || block_on(receiver.recv())));
    block_on(sender.broadcast(1)).unwrap();
    children
        .into_iter()
        .for_each(|child| assert_eq!(child.join().unwrap(), Ok(1)));
}

#[test]
fn async_broadcast_reaches_one() {
    let (sender, mut receiver) = async_broadcast::broadcast(1);
    let child = thread::spawn(move || block_on(receiver.recv()));
    block_on(sender.broadcast(1)).unwrap();
    assert_eq!(child.join().unwrap(), Ok(1));
}

#[test]
fn futures_channel_of_two_producers() {
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
fn futures_unordered_are_woken_by_threads() {
    let (futures, children): (FuturesUnordered<_>, Vec<_>) = [1, 2]
        .into_iter()
        .map(|message| {
            let (sender, receiver) = futures::channel::oneshot::channel();
            (receiver, thread::spawn(move || sender.send(message).unwrap()))
        })
        .unzip();
    let sum = block_on(futures.fold(0, async |sum, message| sum + message.unwrap()));
    assert_eq!(sum, 3);
    children.into_iter().for_each(|child| child.join().unwrap());
}

#[test]
fn futures_unordered_are_woken_by_a_thread() {
    let (sender, receiver) = futures::channel::oneshot::channel();
    let child = thread::spawn(move || sender.send(1).unwrap());
    let mut futures = FuturesUnordered::from_iter([receiver]);
    assert_eq!(block_on(futures.next()), Some(Ok(1)));
    child.join().unwrap();
}

#[test]
fn an_intrusive_event_is_waited_for() {
    let event = Arc::new(ManualResetEvent::new(false));
    let child = {
        let event = Arc::clone(&event);
        thread::spawn(move || event.set())
    };
    block_on(event.wait());
    child.join().unwrap();
}

#[test]
fn an_intrusive_mutex_is_exclusive() {
    let mutex = Arc::new(Mutex::new(0, true));
    let child = {
        let mutex = Arc::clone(&mutex);
        thread::spawn(move || *block_on(mutex.lock()) += 1)
    };
    *block_on(mutex.lock()) += 1;
    child.join().unwrap();
    assert_eq!(*block_on(mutex.lock()), 2);
}
