//! tokio, over std's threads.

use std::sync::{Arc, Mutex};
use std::thread;
use tokio::sync::{mpsc, oneshot, watch};
use wide::Message;

#[test]
fn oneshot_between_threads() {
    let (sender, receiver) = oneshot::channel();
    let child = thread::spawn(move || sender.send(Message::Stop).unwrap());
    assert_eq!(receiver.blocking_recv().unwrap(), Message::Stop);
    child.join().unwrap();
}

#[test]
fn oneshot_without_sender() {
    let (sender, receiver) = oneshot::channel::<Message>();
    let child = thread::spawn(move || drop(sender));
    assert!(receiver.blocking_recv().is_err());
    child.join().unwrap();
}

#[test]
fn unbounded_channel_between_threads() {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let child = thread::spawn(move || sender.send(1).unwrap());
    assert_eq!(receiver.blocking_recv(), Some(1));
    assert_eq!(receiver.blocking_recv(), None);
    child.join().unwrap();
}

#[test]
fn watch_shows_the_last_value() {
    let (sender, receiver) = watch::channel(0);
    let child = thread::spawn(move || sender.send_replace(1));
    assert!(*receiver.borrow() <= 1);
    assert_eq!(child.join().unwrap(), 0);
    assert_eq!(*receiver.borrow(), 1);
}

#[tokio::test]
async fn tasks_of_a_current_thread_runtime() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let task = {
        let log = Arc::clone(&log);
        tokio::spawn(async move { log.lock().unwrap().push(1) })
    };
    task.await.unwrap();
    assert_eq!(*log.lock().unwrap(), [1]);
}

#[test]
fn current_thread_runtime_waits_for_a_thread() {
    let (sender, receiver) = oneshot::channel();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let child = thread::spawn(move || sender.send(3).unwrap());
    assert_eq!(runtime.block_on(receiver), Ok(3));
    child.join().unwrap();
}
