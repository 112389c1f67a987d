//! Actors, as in §6.1 of the paper.

use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// A state, and tasks that work on it one at a time, in no promised order.
pub struct Actor<S>(Arc<Mutex<S>>);

impl<S> Clone for Actor<S> {
    fn clone(&self) -> Self {
        Actor(Arc::clone(&self.0))
    }
}

impl<S: Send + 'static> Actor<S> {
    /// An actor without tasks.
    pub fn new(state: S) -> Self {
        Actor(Arc::new(Mutex::new(state)))
    }

    /// Does one step on the state.
    pub fn step<R>(&self, step: impl FnOnce(&mut S) -> R) -> R {
        step(&mut self.0.lock().expect("no task panics"))
    }

    /// Creates a task of one step.
    pub fn send<R: Send + 'static>(&self, task: impl FnOnce(&mut S) -> R + Send + 'static) -> JoinHandle<R> {
        let actor = self.clone();
        thread::spawn(move || actor.step(task))
    }
}

/// Waits for a task: ABS's `await`, during which the waiting task's own actor can do others.
pub fn wait<R>(task: JoinHandle<R>) -> R {
    task.join().expect("no task panics")
}

/// Waits for tasks, and returns what they return.
pub fn wait_all<R>(tasks: impl IntoIterator<Item = JoinHandle<R>>) -> Vec<R> {
    tasks.into_iter().map(wait).collect()
}
