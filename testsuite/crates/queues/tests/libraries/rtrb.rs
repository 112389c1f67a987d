//! rtrb.

use rtrb::RingBuffer;
use std::thread;

#[test]
fn what_is_popped_is_the_first_that_was_pushed() {
    let (mut producer, mut consumer) = RingBuffer::new(2);
    let child = thread::spawn(move || {
        producer.push(1).unwrap();
        producer.push(2).unwrap();
    });
    assert!(matches!(consumer.pop(), Err(_) | Ok(1)));
    child.join().unwrap();
}

#[test]
fn a_producer_that_is_gone_is_seen_to_be() {
    let (producer, consumer) = RingBuffer::<i32>::new(1);
    let child = thread::spawn(move || drop(producer));
    let _ = consumer.is_abandoned();
    child.join().unwrap();
    assert!(consumer.is_abandoned());
}
