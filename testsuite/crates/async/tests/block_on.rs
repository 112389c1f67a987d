//! `block_on` of several executors, across std's threads.

use async_lock::{Barrier, Mutex, RwLock, Semaphore};
use atomic_waker::AtomicWaker;
use event_listener::Event;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::Poll;
use std::thread;

/// A flag whose waiter is woken by an [`AtomicWaker`].
#[derive(Default)]
struct Flag {
    set: AtomicBool,
    waker: AtomicWaker,
}

impl Flag {
    async fn wait(&self) {
        poll_fn(|context| {
            if self.set.load(SeqCst) {
                return Poll::Ready(());
            }
            self.waker.register(context.waker());
            match self.set.load(SeqCst) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await
    }

    /// Looks at the flag before it says who waits, and not again.
    async fn wait_carelessly(&self) {
        poll_fn(|context| {
            if self.set.load(SeqCst) {
                return Poll::Ready(());
            }
            self.waker.register(context.waker());
            Poll::Pending
        })
        .await
    }

    fn set(&self) {
        self.set.store(true, SeqCst);
        self.waker.wake();
    }
}

#[test]
fn atomic_waker_wakes() {
    let flag = Arc::new(Flag::default());
    let child = {
        let flag = Arc::clone(&flag);
        thread::spawn(move || flag.set())
    };
    pollster::block_on(flag.wait());
    child.join().unwrap();
}

#[test]
fn waker_that_is_registered_too_late() {
    let flag = Arc::new(Flag::default());
    let child = {
        let flag = Arc::clone(&flag);
        thread::spawn(move || flag.set())
    };
    pollster::block_on(flag.wait_carelessly());
    child.join().unwrap();
}

#[test]
fn futures_block_on_a_oneshot() {
    let (sender, receiver) = futures::channel::oneshot::channel();
    let child = thread::spawn(move || sender.send(3).unwrap());
    assert_eq!(futures::executor::block_on(receiver), Ok(3));
    child.join().unwrap();
}

#[test]
fn futures_channel_between_threads() {
    use futures::StreamExt;
    let (sender, mut receiver) = futures::channel::mpsc::unbounded();
    let child = thread::spawn(move || sender.unbounded_send(1).unwrap());
    assert_eq!(futures::executor::block_on(receiver.next()), Some(1));
    child.join().unwrap();
}

#[test]
fn futures_local_pool_runs_both() {
    use futures::task::LocalSpawnExt;
    let mut pool = futures::executor::LocalPool::new();
    let done = std::rc::Rc::new(std::cell::Cell::new(0));
    for _ in 0..2 {
        let done = done.clone();
        pool.spawner()
            .spawn_local(async move { done.set(done.get() + 1) })
            .unwrap();
    }
    pool.run();
    assert_eq!(done.get(), 2);
}

#[test]
fn async_channel_between_threads() {
    let (sender, receiver) = async_channel::bounded(1);
    let child = thread::spawn(move || pollster::block_on(sender.send(1)).unwrap());
    assert_eq!(pollster::block_on(receiver.recv()), Ok(1));
    child.join().unwrap();
}

#[test]
fn event_is_listened_to_before_the_check() {
    let shared = Arc::new((Event::new(), AtomicBool::new(false)));
    let child = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            shared.1.store(true, SeqCst);
            shared.0.notify(1);
        })
    };
    let listener = shared.0.listen();
    if !shared.1.load(SeqCst) {
        pollster::block_on(listener);
    }
    child.join().unwrap();
}

#[test]
fn event_is_listened_to_after_the_check() {
    let shared = Arc::new((Event::new(), AtomicBool::new(false)));
    let child = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            shared.1.store(true, SeqCst);
            shared.0.notify(1);
        })
    };
    if !shared.1.load(SeqCst) {
        pollster::block_on(shared.0.listen());
    }
    child.join().unwrap();
}

#[test]
fn async_mutex_is_exclusive() {
    let mutex = Arc::new(Mutex::new(0));
    let add = |mutex: &Mutex<i32>| pollster::block_on(async { *mutex.lock().await += 1 });
    let child = {
        let mutex = Arc::clone(&mutex);
        thread::spawn(move || add(&mutex))
    };
    add(&mutex);
    child.join().unwrap();
    assert_eq!(mutex.try_lock().map(|value| *value), Some(2));
}

#[test]
fn async_rwlock_and_semaphore() {
    let shared = Arc::new((RwLock::new(0), Semaphore::new(0)));
    let child = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            pollster::block_on(async { *shared.0.write().await = 1 });
            shared.1.add_permits(1);
        })
    };
    pollster::block_on(async {
        shared.1.acquire().await.forget();
        assert_eq!(*shared.0.read().await, 1);
    });
    child.join().unwrap();
}

#[test]
fn async_barrier_lets_both_pass() {
    let barrier = Arc::new(Barrier::new(2));
    let child = {
        let barrier = Arc::clone(&barrier);
        thread::spawn(move || pollster::block_on(barrier.wait()).is_leader())
    };
    let own = pollster::block_on(barrier.wait()).is_leader();
    assert_ne!(own, child.join().unwrap());
}
