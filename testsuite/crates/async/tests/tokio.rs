//! tokio: its channels and locks on the current-thread runtime and between threads, its clock, its threads for blocking
//! tasks.

use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::sync::{Mutex, Notify, Semaphore, broadcast, mpsc, oneshot, watch};

/// Runs the future on a runtime in this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
        .block_on(future)
}

#[tokio::test]
async fn bounded_channel_between_tasks() {
    let (sender, mut receiver) = mpsc::channel(1);
    let task = tokio::spawn(async move {
        for i in 0..3 {
            sender.send(i).await.unwrap();
        }
    });
    let mut received = Vec::new();
    while let Some(value) = receiver.recv().await {
        received.push(value);
    }
    task.await.unwrap();
    assert_eq!(received, [0, 1, 2]);
}

#[test]
fn bounded_channel_between_threads() {
    let (sender, mut receiver) = mpsc::channel(1);
    let child = thread::spawn(move || sender.blocking_send(1).unwrap());
    assert_eq!(block_on(receiver.recv()), Some(1));
    child.join().unwrap();
}

#[test]
fn oneshot_wakes_a_runtime() {
    let (sender, receiver) = oneshot::channel();
    let child = thread::spawn(move || sender.send(1).unwrap());
    assert_eq!(block_on(receiver), Ok(1));
    child.join().unwrap();
}

#[test]
fn mutex_between_runtimes() {
    let mutex = Arc::new(Mutex::new(0));
    let add = |mutex: &Mutex<i32>| *mutex.blocking_lock() += 1;
    let child = {
        let mutex = Arc::clone(&mutex);
        thread::spawn(move || add(&mutex))
    };
    add(&mutex);
    child.join().unwrap();
    assert_eq!(*mutex.blocking_lock(), 2);
}

#[test]
fn notify_one_is_kept() {
    let notify = Arc::new(Notify::new());
    let child = {
        let notify = Arc::clone(&notify);
        thread::spawn(move || notify.notify_one())
    };
    block_on(notify.notified());
    child.join().unwrap();
}

#[test]
fn notify_waiters_is_not_kept() {
    let notify = Arc::new(Notify::new());
    let child = {
        let notify = Arc::clone(&notify);
        thread::spawn(move || notify.notify_waiters())
    };
    block_on(notify.notified());
    child.join().unwrap();
}

#[test]
fn semaphore_permits_are_handed_over() {
    let semaphore = Arc::new(Semaphore::new(0));
    let child = {
        let semaphore = Arc::clone(&semaphore);
        thread::spawn(move || semaphore.add_permits(1))
    };
    block_on(semaphore.acquire()).unwrap().forget();
    child.join().unwrap();
    assert_eq!(semaphore.available_permits(), 0);
}

#[test]
fn watch_changes() {
    let (sender, mut receiver) = watch::channel(0);
    let child = thread::spawn(move || sender.send(1).unwrap());
    block_on(receiver.changed()).unwrap();
    assert_eq!(*receiver.borrow(), 1);
    child.join().unwrap();
}

#[test]
fn broadcast_reaches_both() {
    let (sender, mut first) = broadcast::channel(2);
    let mut second = sender.subscribe();
    let child = thread::spawn(move || sender.send(1).unwrap());
    assert_eq!(
        block_on(async { (first.recv().await, second.recv().await) }),
        (Ok(1), Ok(1))
    );
    assert_eq!(child.join().unwrap(), 2);
}

#[test]
fn a_lock_held_across_an_await_of_the_other() {
    let locks = Arc::new((Mutex::new(()), Mutex::new(())));
    let child = {
        let locks = Arc::clone(&locks);
        thread::spawn(move || {
            let _second = locks.1.blocking_lock();
            let _first = locks.0.blocking_lock();
        })
    };
    {
        let _first = locks.0.blocking_lock();
        let _second = locks.1.blocking_lock();
    }
    child.join().unwrap();
}

#[test]
fn sleeping_passes_the_virtual_time() {
    let start = tokio::time::Instant::now();
    block_on(async { tokio::time::sleep(Duration::from_secs(3)).await });
    assert!(start.elapsed() >= Duration::from_secs(3));
}

#[test]
fn a_timeout_fires_or_not() {
    let (sender, receiver) = oneshot::channel();
    let child = thread::spawn(move || sender.send(1));
    match block_on(async { tokio::time::timeout(Duration::from_secs(1), receiver).await }) {
        Ok(received) => assert_eq!(received, Ok(1)),
        Err(_elapsed) => {}
    }
    let _ = child.join().unwrap();
}

#[test]
fn reach_a_timeout_fires() {
    let (sender, receiver) = oneshot::channel();
    let child = thread::spawn(move || sender.send(1));
    let received = block_on(async { tokio::time::timeout(Duration::from_secs(1), receiver).await });
    assert_eq!(received, Ok(Ok(1)));
    let _ = child.join().unwrap();
}

#[test]
fn a_blocking_task_runs() {
    assert_eq!(block_on(async { tokio::task::spawn_blocking(|| 1).await.unwrap() }), 1);
}
