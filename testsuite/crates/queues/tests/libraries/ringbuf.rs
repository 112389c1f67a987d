//! ringbuf.

use ringbuf::HeapRb;
use ringbuf::traits::{Consumer, Observer, Producer, Split};
use std::thread;

#[test]
fn what_is_popped_is_the_first_that_was_pushed() {
    let (mut producer, mut consumer) = HeapRb::new(2).split();
    let child = thread::spawn(move || {
        producer.try_push(1).unwrap();
        producer.try_push(2).unwrap();
    });
    assert!(matches!(consumer.try_pop(), None | Some(1)));
    child.join().unwrap();
}

#[test]
fn a_full_ring_has_room_once_something_is_popped() {
    let (mut producer, mut consumer) = HeapRb::new(1).split();
    producer.try_push(1).unwrap();
    let child = thread::spawn(move || producer.try_push(2).is_ok());
    assert_eq!(consumer.try_pop(), Some(1));
    let pushed = child.join().unwrap();
    assert_eq!(consumer.is_empty(), !pushed);
}
