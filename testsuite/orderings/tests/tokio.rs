//! tokio: a task that is woken a second time before it runs does not see what came before that (pull request 7622).

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread;
use tokio::runtime::Builder;
use tokio::task;

#[test]
fn a_task_that_is_woken_sees_why() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let ready = Arc::new(AtomicBool::new(false));
    let waker: Arc<Mutex<Option<Waker>>> = Arc::default();
    let (awaited, given) = (Arc::clone(&ready), Arc::clone(&waker));
    let waiting = runtime.spawn(poll_fn(move |context| {
        if awaited.load(Relaxed) {
            return Poll::Ready(());
        }
        given.lock().unwrap().get_or_insert_with(|| context.waker().clone());
        Poll::Pending
    }));
    runtime.block_on(task::yield_now());
    let waker = waker.lock().unwrap().take().expect("the task has been polled");
    waker.wake_by_ref();
    let thread = thread::spawn(move || {
        ready.store(true, Relaxed);
        waker.wake_by_ref();
    });
    runtime.block_on(waiting).unwrap();
    thread.join().unwrap();
}
