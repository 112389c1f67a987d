//! tokio's multi-thread runtime, with one worker and with two.

use std::sync::Arc;
use std::thread;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Mutex, Notify, Semaphore, broadcast, mpsc, oneshot, watch};

fn runtime(workers: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(workers).build().unwrap()
}

#[test]
#[ignore = "takes long to explore"]
fn one_worker_runs_a_task() {
    let runtime = runtime(1);
    assert_eq!(runtime.block_on(runtime.spawn(async { 1 })).unwrap(), 1);
}

#[test]
#[ignore = "takes long to explore"]
fn two_workers_run_a_task() {
    let runtime = runtime(2);
    assert_eq!(runtime.block_on(runtime.spawn(async { 1 })).unwrap(), 1);
}

#[test]
#[ignore = "takes long to explore"]
fn one_worker_sends_on_a_channel() {
    let runtime = runtime(1);
    let (sender, mut receiver) = mpsc::channel(1);
    runtime.spawn(async move { sender.send(1).await.unwrap() });
    assert_eq!(runtime.block_on(receiver.recv()), Some(1));
}

#[test]
#[ignore = "takes long to explore"]
fn two_workers_send_on_a_channel() {
    let runtime = runtime(2);
    let (sender, mut receiver) = mpsc::channel(1);
    runtime.spawn(async move { sender.send(1).await.unwrap() });
    assert_eq!(runtime.block_on(receiver.recv()), Some(1));
}

#[test]
#[ignore = "takes long to explore"]
fn one_worker_answers_by_a_oneshot() {
    let runtime = runtime(1);
    let (sender, receiver) = oneshot::channel();
    runtime.spawn(async move { sender.send(1).unwrap() });
    assert_eq!(runtime.block_on(receiver), Ok(1));
}

#[test]
#[ignore = "takes long to explore"]
fn one_worker_notifies() {
    let runtime = runtime(1);
    let notify = Arc::new(Notify::new());
    let task = Arc::clone(&notify);
    runtime.spawn(async move { task.notify_one() });
    runtime.block_on(notify.notified());
}

#[test]
#[ignore = "takes long to explore"]
fn one_worker_hands_a_permit_over() {
    let runtime = runtime(1);
    let semaphore = Arc::new(Semaphore::new(0));
    let task = Arc::clone(&semaphore);
    runtime.spawn(async move { task.add_permits(1) });
    assert!(runtime.block_on(semaphore.acquire()).is_ok());
}

#[test]
#[ignore = "takes long to explore"]
fn one_worker_locks_a_mutex() {
    let runtime = runtime(1);
    let mutex = Arc::new(Mutex::new(0));
    let task = {
        let mutex = Arc::clone(&mutex);
        runtime.spawn(async move { *mutex.lock().await += 1 })
    };
    runtime.block_on(async {
        *mutex.lock().await += 1;
        task.await.unwrap();
        assert_eq!(*mutex.lock().await, 2);
    });
}

#[test]
#[ignore = "takes long to explore"]
fn one_worker_is_watched() {
    let runtime = runtime(1);
    let (sender, mut receiver) = watch::channel(0);
    runtime.spawn(async move { sender.send(1).unwrap() });
    assert!(runtime.block_on(receiver.wait_for(|value| *value == 1)).is_ok());
}

#[test]
#[ignore = "takes long to explore"]
fn one_worker_broadcasts() {
    let runtime = runtime(1);
    let (sender, mut receiver) = broadcast::channel(1);
    runtime.spawn(async move { sender.send(1).unwrap() });
    assert_eq!(runtime.block_on(receiver.recv()), Ok(1));
}

#[test]
#[ignore = "takes long to explore"]
fn a_thread_sends_to_a_task() {
    let runtime = runtime(1);
    let (sender, receiver) = oneshot::channel();
    let child = thread::spawn(move || sender.send(1).unwrap());
    assert_eq!(runtime.block_on(runtime.spawn(receiver)).unwrap(), Ok(1));
    child.join().unwrap();
}

#[test]
fn broadcast_between_threads() {
    let (sender, mut receiver) = broadcast::channel(1);
    let child = thread::spawn(move || sender.send(1).unwrap());
    assert_eq!(receiver.blocking_recv(), Ok(1));
    child.join().unwrap();
}

#[test]
fn a_mutex_between_threads() {
    let mutex = Arc::new(Mutex::new(0));
    let child = {
        let mutex = Arc::clone(&mutex);
        thread::spawn(move || *mutex.blocking_lock() += 1)
    };
    *mutex.blocking_lock() += 1;
    child.join().unwrap();
    assert_eq!(*mutex.blocking_lock(), 2);
}
