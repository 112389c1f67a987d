//! `std::sync::mpsc`.

mod channel;
mod rendezvous;
mod waiting;

pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};

use crate::share::Shared;
use channel::{Capacity, Channel, Received, Refused};
use std::fmt;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::Duration;

/// `std::sync::mpsc::channel`: a channel whose sends never block.
#[must_use]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let channel = Channel::alloc(Capacity::Unbounded);
    (
        Sender {
            channel: channel.clone(),
        },
        Receiver {
            channel,
            not_sync: PhantomData,
        },
    )
}

/// `std::sync::mpsc::sync_channel`: a channel that holds up to `bound` messages; with 0, a send waits until its
/// message is received.
#[must_use]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    let capacity = if bound == 0 {
        Capacity::Rendezvous
    } else {
        Capacity::Bounded(bound as u64)
    };
    let channel = Channel::alloc(capacity);
    (
        SyncSender {
            channel: channel.clone(),
        },
        Receiver {
            channel,
            not_sync: PhantomData,
        },
    )
}

/// `std::sync::mpsc::Sender`.
pub struct Sender<T> {
    channel: Shared<Channel<T>>,
}

// SAFETY: the channel is touched under the scheduler's exclusion only, and hands messages from thread to thread.
unsafe impl<T: Send> Send for Sender<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Sender<T> {}
impl<T> UnwindSafe for Sender<T> {}
impl<T> RefUnwindSafe for Sender<T> {}

impl<T> Sender<T> {
    /// Sends a message.
    ///
    /// # Errors
    /// The message, if the receiver has been dropped.
    #[track_caller]
    pub fn send(&self, t: T) -> Result<(), SendError<T>> {
        self.channel.send(t).map_err(SendError)
    }
}

impl<T> Clone for Sender<T> {
    #[track_caller]
    fn clone(&self) -> Sender<T> {
        self.channel.add_sender();
        Sender {
            channel: self.channel.clone(),
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.channel.drop_sender();
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

/// `std::sync::mpsc::SyncSender`.
pub struct SyncSender<T> {
    channel: Shared<Channel<T>>,
}

// SAFETY: as for `Sender`.
unsafe impl<T: Send> Send for SyncSender<T> {}
// SAFETY: as for `Sender`.
unsafe impl<T: Send> Sync for SyncSender<T> {}
impl<T> UnwindSafe for SyncSender<T> {}
impl<T> RefUnwindSafe for SyncSender<T> {}

impl<T> SyncSender<T> {
    fn is_rendezvous(&self) -> bool {
        self.channel.capacity == Capacity::Rendezvous
    }

    /// Sends a message; blocks while the buffer is full, or without a buffer until the message is received.
    ///
    /// # Errors
    /// The message, if the receiver has been dropped.
    #[track_caller]
    pub fn send(&self, t: T) -> Result<(), SendError<T>> {
        if self.is_rendezvous() {
            self.channel.meet(t)
        } else {
            self.channel.send(t)
        }
        .map_err(SendError)
    }

    /// Sends a message if it does not block.
    ///
    /// # Errors
    /// The message, if there is no room, or the receiver has been dropped.
    #[track_caller]
    pub fn try_send(&self, t: T) -> Result<(), TrySendError<T>> {
        let result = if self.is_rendezvous() {
            self.channel.try_meet(t)
        } else {
            self.channel.try_send(t)
        };
        result.map_err(|refused| match refused {
            Refused::Full(t) => TrySendError::Full(t),
            Refused::Disconnected(t) => TrySendError::Disconnected(t),
        })
    }
}

impl<T> Clone for SyncSender<T> {
    #[track_caller]
    fn clone(&self) -> SyncSender<T> {
        self.channel.add_sender();
        SyncSender {
            channel: self.channel.clone(),
        }
    }
}

impl<T> Drop for SyncSender<T> {
    fn drop(&mut self) {
        self.channel.drop_sender();
    }
}

impl<T> fmt::Debug for SyncSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SyncSender").finish_non_exhaustive()
    }
}

/// `std::sync::mpsc::Receiver`.
pub struct Receiver<T> {
    channel: Shared<Channel<T>>,
    /// As in std, a receiver is not `Sync`.
    not_sync: PhantomData<*const ()>,
}

// SAFETY: as for `Sender`.
unsafe impl<T: Send> Send for Receiver<T> {}
impl<T> UnwindSafe for Receiver<T> {}
impl<T> RefUnwindSafe for Receiver<T> {}

impl<T> Receiver<T> {
    fn is_rendezvous(&self) -> bool {
        self.channel.capacity == Capacity::Rendezvous
    }

    /// Receives a message if there is one.
    ///
    /// # Errors
    /// If there is none; says whether one can still come.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let received = if self.is_rendezvous() {
            self.channel.try_greet()
        } else {
            self.channel.try_recv()
        };
        match received {
            Received::Message(t) => Ok(t),
            Received::Nothing => Err(TryRecvError::Empty),
            Received::Disconnected => Err(TryRecvError::Disconnected),
        }
    }

    /// Receives a message; blocks until there is one.
    ///
    /// # Errors
    /// If there is none and all senders have been dropped.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        let received = if self.is_rendezvous() {
            self.channel.greet(None)
        } else {
            self.channel.recv()
        };
        match received {
            Received::Message(t) => Ok(t),
            Received::Nothing | Received::Disconnected => Err(RecvError),
        }
    }

    /// Receives a message; blocks until there is one, for at most `timeout`.
    ///
    /// # Errors
    /// If there is none in time, or all senders have been dropped.
    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        let received = if self.is_rendezvous() {
            self.channel.greet(Some(timeout))
        } else {
            self.channel.recv_timeout(timeout)
        };
        match received {
            Received::Message(t) => Ok(t),
            Received::Nothing => Err(RecvTimeoutError::Timeout),
            Received::Disconnected => Err(RecvTimeoutError::Disconnected),
        }
    }

    /// The messages as they arrive, until all senders have been dropped.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { rx: self }
    }

    /// The messages available now, without waiting for more.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter { rx: self }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.channel.drop_receiver();
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}

/// The iterator of [`Receiver::iter`].
#[derive(Debug)]
pub struct Iter<'a, T: 'a> {
    rx: &'a Receiver<T>,
}

/// The iterator of [`Receiver::try_iter`].
#[derive(Debug)]
pub struct TryIter<'a, T: 'a> {
    rx: &'a Receiver<T>,
}

/// The iterator that owns its [`Receiver`].
#[derive(Debug)]
pub struct IntoIter<T> {
    rx: Receiver<T>,
}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.rx.recv().ok()
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.rx.try_recv().ok()
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.rx.recv().ok()
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter { rx: self }
    }
}
