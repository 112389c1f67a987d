//! Parts of other libraries that are taken as specified: their locks are operations of the checker, and not the code
//! that their authors have written for speed; what they do while they wait for others is as short as it can be.
//!
//! The stand-ins for these libraries (`shim-std/stand-ins`) have the libraries' own interfaces and call what is here.
//! A test that uses them rests on the specification, and its verdict says so: each function here records the library.

mod backoff;
mod condvar;
mod mutex;
mod once;
mod rwlock;
mod spin_wait;

pub use backoff::Backoff;
pub use condvar::Condvar;
pub use mutex::Mutex;
pub use once::{Once, Stage};
pub use rwlock::RwLock;
pub use spin_wait::SpinWait;

use dpor_scheduler::{Library, specified, specified_without_count};
use std::time::{Duration, Instant};

/// Gives way once, where kanal does so a number of times.
#[inline]
#[track_caller]
pub fn pause_of_kanal() {
    specified(Library::Kanal);
    crate::thread::yield_now();
}

/// Gives way once, where append-only-vec counts how often it has done so.
#[inline]
#[track_caller]
pub fn pause_of_append_only_vec() {
    specified(Library::AppendOnlyVec);
    crate::thread::yield_now();
}

/// Whether a thread that waits in saa has looked often enough: once is enough, where saa looks for some microseconds.
#[inline]
pub fn saa_has_looked() -> bool {
    specified(Library::Saa);
    true
}

/// The round with which an idle worker of rayon begins: the one in which it says that it is about to sleep if it finds no
/// work, where rayon has `rounds` others before it.
#[inline]
pub fn when_rayon_has_looked(rounds: u32) -> u32 {
    specified(Library::Rayon);
    rounds
}

/// How often a thread has pinned, where it had done so `before` times: once, or more often, where crossbeam-epoch
/// counts on, and collects garbage at each 128th time.
#[inline]
pub fn pinnings_of_crossbeam_epoch(before: usize) -> usize {
    if before > 0 {
        specified_without_count(Library::Pinnings);
    }
    1
}

/// The time left until a deadline.
pub fn until(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}
