//! The numbers of a toy program's locations: kind of object, index, part.

use dpor_explorer::{Location, ThreadId};

pub(super) const VARIABLE: u64 = 1;
pub(super) const MUTEX: u64 = 2;
pub(super) const RWLOCK: u64 = 3;
pub(super) const SEMAPHORE: u64 = 4;
pub(super) const SLOT: u64 = 5;
pub(super) const HEAD: u64 = 6;
pub(super) const TAIL: u64 = 7;
pub(super) const COUNT: u64 = 8;
pub(super) const CONDVAR: u64 = 9;
pub(super) const WAITER: u64 = 10;
pub(super) const EXIT: u64 = 11;

const fn name(kind: u64, index: usize, part: u64) -> Location {
    Location(kind << 48 | (index as u64) << 24 | part)
}

/// The kind and the index of a location.
pub(super) const fn parts(location: Location) -> (u64, usize) {
    (location.0 >> 48, (location.0 >> 24 & 0xff_ffff) as usize)
}

pub(super) const fn variable(index: usize) -> Location {
    name(VARIABLE, index, 0)
}

pub(super) const fn mutex(index: usize) -> Location {
    name(MUTEX, index, 0)
}

pub(super) const fn rwlock(index: usize) -> Location {
    name(RWLOCK, index, 0)
}

pub(super) const fn semaphore(index: usize) -> Location {
    name(SEMAPHORE, index, 0)
}

pub(super) const fn slot(channel: usize, part: u64) -> Location {
    name(SLOT, channel, part)
}

pub(super) const fn head(channel: usize) -> Location {
    name(HEAD, channel, 0)
}

pub(super) const fn tail(channel: usize) -> Location {
    name(TAIL, channel, 0)
}

/// Only names a guard variable: the number of messages in a channel.
pub(super) const fn count(channel: usize) -> Location {
    name(COUNT, channel, 0)
}

pub(super) const fn condvar(index: usize) -> Location {
    name(CONDVAR, index, 0)
}

/// The location that tells a thread that its wait is over.
pub(super) const fn waiter(thread: ThreadId) -> Location {
    name(WAITER, thread.index(), 0)
}

/// The location that a thread writes at its end.
pub(super) const fn exit(thread: ThreadId) -> Location {
    name(EXIT, thread.index(), 0)
}
