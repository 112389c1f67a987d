//! concurrent-queue.

use concurrent_queue::{ConcurrentQueue, PopError, PushError};
use std::thread;

fn push_twice(queue: &ConcurrentQueue<i32>) -> [Result<(), PushError<i32>>; 2] {
    thread::scope(|scope| {
        let handles = [scope.spawn(|| queue.push(1)), scope.spawn(|| queue.push(2))];
        handles.map(|handle| handle.join().unwrap())
    })
}

#[test]
fn bounded_queue_has_room_for_one() {
    let queue = ConcurrentQueue::bounded(1);
    let results = push_twice(&queue);
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
    assert_eq!(queue.len(), 1);
}

#[test]
fn bounded_queue_has_room_for_two() {
    let queue = ConcurrentQueue::bounded(2);
    assert_eq!(push_twice(&queue), [Ok(()), Ok(())]);
    assert_eq!(queue.pop().unwrap() + queue.pop().unwrap(), 3);
}

#[test]
fn unbounded_queue_has_room() {
    let queue = ConcurrentQueue::unbounded();
    assert_eq!(push_twice(&queue), [Ok(()), Ok(())]);
    assert_eq!(queue.try_iter().sum::<i32>(), 3);
}

#[test]
fn closed_queue_refuses_or_keeps() {
    let queue = ConcurrentQueue::bounded(1);
    let pushed = thread::scope(|scope| {
        scope.spawn(|| assert!(queue.close()));
        scope.spawn(|| queue.push(1)).join().unwrap()
    });
    match pushed {
        Ok(()) => assert_eq!(queue.pop(), Ok(1)),
        Err(error) => assert_eq!(error, PushError::Closed(1)),
    }
    assert_eq!(queue.pop(), Err(PopError::Closed));
}
