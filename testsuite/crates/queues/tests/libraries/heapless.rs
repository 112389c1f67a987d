//! heapless.

use heapless::spsc::Queue;
use std::thread;

#[test]
fn what_is_dequeued_is_the_first_that_was_enqueued() {
    let mut queue = Queue::<i32, 4>::new();
    let (mut producer, mut consumer) = queue.split();
    thread::scope(|scope| {
        scope.spawn(move || {
            producer.enqueue(1).unwrap();
            producer.enqueue(2).unwrap();
        });
        assert!(matches!(consumer.dequeue(), None | Some(1)));
    });
}

#[test]
fn a_full_queue_has_room_once_something_is_dequeued() {
    let mut queue = Queue::<i32, 2>::new();
    let (mut producer, mut consumer) = queue.split();
    producer.enqueue(1).unwrap();
    thread::scope(|scope| {
        let child = scope.spawn(move || producer.enqueue(2).is_ok());
        assert_eq!(consumer.dequeue(), Some(1));
        let enqueued = child.join().unwrap();
        assert_eq!(consumer.ready(), enqueued);
    });
}
