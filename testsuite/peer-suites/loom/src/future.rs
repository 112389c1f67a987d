//! `loom::future`.

use crate::sync::Notify;
use shim_std::sync::Mutex;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

struct Unpark(Notify);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.notify();
    }
}

/// `loom::future::block_on`: the future may be polled once without cause.
#[track_caller]
pub fn block_on<F>(f: F) -> F::Output
where
    F: Future,
{
    let mut f = pin!(f);
    let notify = Arc::new(Unpark(Notify::spurious()));
    let waker = Waker::from(Arc::clone(&notify));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(value) = f.as_mut().poll(&mut context) {
            return value;
        }
        notify.0.wait();
    }
}

/// `loom::future::AtomicWaker`.
#[derive(Debug)]
pub struct AtomicWaker(Mutex<Option<Waker>>);

impl AtomicWaker {
    /// Creates it without a waker.
    #[expect(clippy::new_without_default, reason = "no test uses it")]
    pub const fn new() -> AtomicWaker {
        AtomicWaker(Mutex::new(None))
    }

    /// Sets the waker.
    #[track_caller]
    pub fn register_by_ref(&self, waker: &Waker) {
        *self.0.lock().unwrap_or_else(|error| error.into_inner()) = Some(waker.clone());
    }

    /// Wakes who was set last, once.
    #[track_caller]
    pub fn wake(&self) {
        let waker = self.0.lock().unwrap_or_else(|error| error.into_inner()).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}
