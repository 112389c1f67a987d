//! threadpool.

use std::sync::mpsc;
use threadpool::ThreadPool;

#[test]
fn a_job_answers() {
    let pool = ThreadPool::new(1);
    let (sender, receiver) = mpsc::channel();
    pool.execute(move || sender.send(1).unwrap());
    assert_eq!(receiver.recv(), Ok(1));
}

#[test]
fn all_jobs_are_done_after_join() {
    let pool = ThreadPool::new(1);
    let (sender, receiver) = mpsc::channel();
    pool.execute(move || sender.send(1).unwrap());
    pool.join();
    assert_eq!(receiver.try_recv(), Ok(1));
}

#[test]
fn two_threads_do_two_jobs() {
    let pool = ThreadPool::new(2);
    let (sender, receiver) = mpsc::channel();
    for job in [1, 2] {
        let sender = sender.clone();
        pool.execute(move || sender.send(job).unwrap());
    }
    drop(sender);
    assert_eq!(receiver.iter().sum::<i32>(), 3);
}
