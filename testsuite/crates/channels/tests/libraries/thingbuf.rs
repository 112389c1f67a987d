//! thingbuf.

use std::sync::Arc;
use std::thread;
use thingbuf::{StaticThingBuf, ThingBuf, mpsc};

#[test]
fn one_of_two_gets_the_element() {
    let queue = Arc::new(ThingBuf::new(2));
    queue.push(1).unwrap();
    let child = {
        let queue = Arc::clone(&queue);
        thread::spawn(move || queue.pop())
    };
    let mine = queue.pop();
    assert!(mine.is_some() != child.join().unwrap().is_some());
}

#[test]
fn a_static_queue_keeps_what_two_threads_push() {
    static QUEUE: StaticThingBuf<i32, 2> = StaticThingBuf::new();
    let child = thread::spawn(|| QUEUE.push(1).unwrap());
    QUEUE.push(2).unwrap();
    child.join().unwrap();
    assert_eq!(
        QUEUE.pop().zip(QUEUE.pop()).map(|(first, second)| first + second),
        Some(3)
    );
}

#[test]
fn a_blocking_channel_hands_over() {
    let (sender, receiver) = mpsc::blocking::channel(1);
    let child = thread::spawn(move || sender.send(1).unwrap());
    assert_eq!(receiver.recv(), Some(1));
    child.join().unwrap();
}
