//! crossbeam-deque, with thieves that try again.

use crossbeam_deque::{Injector, Steal, Stealer, Worker};
use std::sync::Arc;
use std::thread;

/// Steals until there is a job, or nothing.
fn steal(stealer: &Stealer<i32>) -> Option<i32> {
    loop {
        match stealer.steal() {
            Steal::Success(job) => return Some(job),
            Steal::Empty => return None,
            Steal::Retry => {}
        }
    }
}

#[test]
#[ignore = "takes long to explore"]
fn two_thieves_take_two_jobs() {
    let worker = Worker::new_fifo();
    worker.push(1);
    worker.push(2);
    let child = {
        let stealer = worker.stealer();
        thread::spawn(move || steal(&stealer))
    };
    let mine = steal(&worker.stealer());
    assert_eq!(
        mine.zip(child.join().unwrap()).map(|(mine, theirs)| mine + theirs),
        Some(3)
    );
}

#[test]
fn a_thief_and_the_owner_take_both_jobs() {
    let worker = Worker::new_lifo();
    worker.push(1);
    worker.push(2);
    let child = {
        let stealer = worker.stealer();
        thread::spawn(move || steal(&stealer))
    };
    let mine = worker.pop();
    assert_eq!(
        mine.zip(child.join().unwrap()).map(|(mine, theirs)| mine + theirs),
        Some(3)
    );
}

#[test]
fn an_injected_job_is_taken_once() {
    let injector = Arc::new(Injector::new());
    injector.push(1);
    let take = |injector: &Injector<i32>| {
        loop {
            match injector.steal() {
                Steal::Success(_) => return true,
                Steal::Empty => return false,
                Steal::Retry => {}
            }
        }
    };
    let child = {
        let injector = Arc::clone(&injector);
        thread::spawn(move || take(&injector))
    };
    let mine = take(&injector);
    assert!(mine != child.join().unwrap());
}
