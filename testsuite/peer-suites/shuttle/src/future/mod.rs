//! `shuttle::future`: each task is a thread that polls its future.

pub mod batch_semaphore;

use crate::thread;
use dpor_scheduler::{
    AccessKind, Condition, Guard, Location, Operation, OperationKind, Word, access_of, location, perform,
};
use shim_std::sync::Mutex;
use shim_std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use support::threads::Alone;

/// Lets one thread wait for a wake.
#[derive(Default)]
struct Unpark(Word);

impl Unpark {
    fn location(&self) -> Location {
        location(&self.0)
    }

    #[track_caller]
    fn wait(&self) {
        let accesses = [access_of(self.location(), AccessKind::Write)];
        let woken = [Guard::when(Condition::Equals(self.0.variable(), 1))];
        perform(
            &Operation::guarded(OperationKind::Park, self.location(), &accesses, &woken),
            |_, touch| {
                self.0.set(0);
                touch.write(self.location());
            },
        );
    }
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        let accesses = [access_of(self.location(), AccessKind::Write)];
        perform(
            &Operation::always(OperationKind::Unpark, self.location(), &accesses),
            |_, touch| {
                self.0.set(1);
                touch.write(self.location());
            },
        );
    }
}

/// `shuttle::future::block_on`.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let unpark = Arc::new(Unpark::default());
    let waker = Waker::from(Arc::clone(&unpark));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        unpark.wait();
    }
}

/// `shuttle::future::JoinError`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinError {
    /// The task was aborted.
    Cancelled,
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("task was cancelled")
    }
}

impl Error for JoinError {}

/// The state of a task, and its waiters.
enum State<T> {
    Running(Option<Waker>),
    Ended(Option<Result<T, JoinError>>),
}

/// The part that a task shares with its handles.
struct Task<T> {
    state: Mutex<State<T>>,
    aborted: AtomicBool,
    /// The waker of the task that polls this one, for when it is aborted.
    poller: Mutex<Option<Waker>>,
}

/// `shuttle::future::JoinHandle`.
pub struct JoinHandle<T>(Arc<Task<T>>);

// SAFETY: the task's threads are those of a model, which all run on one thread of the operating system.
unsafe impl<T> Send for JoinHandle<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// Ends the task where it waits next.
    #[track_caller]
    pub fn abort(&self) {
        self.0.aborted.store(true, SeqCst);
        let poller = self.0.poller.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(poller) = poller {
            poller.wake();
        }
    }

    /// Whether the task has ended.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        let state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(*state, State::Ended(_))
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *state {
            State::Running(waker) => {
                *waker = Some(context.waker().clone());
                Poll::Pending
            }
            State::Ended(result) => match result.take() {
                Some(result) => Poll::Ready(result),
                None => panic!("a task is joined twice"),
            },
        }
    }
}

/// The future of a task, until it is aborted.
struct Abortable<T, F> {
    future: Pin<Box<F>>,
    task: Arc<Task<T>>,
}

impl<T, F: Future<Output = T>> Future for Abortable<T, F> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        *self.task.poller.lock().unwrap_or_else(PoisonError::into_inner) = Some(context.waker().clone());
        if self.task.aborted.load(SeqCst) {
            return Poll::Ready(Err(JoinError::Cancelled));
        }
        self.future.as_mut().poll(context).map(Ok)
    }
}

#[track_caller]
fn spawn_task<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let task = Arc::new(Task {
        state: Mutex::new(State::Running(None)),
        aborted: AtomicBool::new(false),
        poller: Mutex::new(None),
    });
    let own = Alone((Arc::clone(&task), future));
    thread::spawn(move || {
        let Alone((task, future)) = { own };
        let abortable = Abortable {
            future: Box::pin(future),
            task: Arc::clone(&task),
        };
        let result = block_on(abortable);
        let mut state = task.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = std::mem::replace(&mut *state, State::Ended(Some(result)));
        drop(state);
        if let State::Running(Some(waker)) = waiting {
            waker.wake();
        }
    });
    JoinHandle(task)
}

/// `shuttle::future::spawn`.
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    spawn_task(future)
}

/// `shuttle::future::spawn_local`.
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    spawn_task(future)
}

/// `shuttle::future::yield_now`.
pub async fn yield_now() {
    let mut yielded = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
