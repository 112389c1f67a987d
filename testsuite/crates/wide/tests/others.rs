//! crossbeam and serde.

use crossbeam::channel;
use crossbeam::deque::{Steal, Worker};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use wide::Message;

#[test]
fn crossbeam_channel_between_threads() {
    let (sender, receiver) = channel::bounded(1);
    let child = thread::spawn(move || sender.send(Message::Stop).unwrap());
    assert_eq!(receiver.recv(), Ok(Message::Stop));
    child.join().unwrap();
}

#[test]
fn crossbeam_deque_gives_the_job_once() {
    let worker = Worker::new_lifo();
    worker.push(1);
    let stealer = worker.stealer();
    let child = thread::spawn(move || matches!(stealer.steal(), Steal::Success(1)));
    let mine = worker.pop().is_some();
    let stolen = child.join().unwrap();
    assert!(!(mine && stolen));
}

#[test]
fn formats_of_serde_are_derived() {
    fn serializable<T: serde::Serialize + serde::de::DeserializeOwned>(value: T) -> T {
        value
    }
    let sum = Arc::new(AtomicUsize::new(0));
    let child = {
        let sum = Arc::clone(&sum);
        thread::spawn(move || sum.fetch_add(1, SeqCst))
    };
    let message = serializable(Message::set("x", sum.fetch_add(1, SeqCst) as i64));
    assert_ne!(message, Message::Stop);
    child.join().unwrap();
}
