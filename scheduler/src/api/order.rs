//! What happens before what, where an operation's accesses do not say it: see
//! [`Touch::relaxed`](super::Touch::relaxed). Nothing here is a scheduling point, and nothing does anything off model
//! threads or if nobody looks for data races.

use super::{atomics, of_model, on_model, on_model_thread, ownership};
use crate::machine::Machine;
use crate::operation::sub_location;
use dpor_explorer::{Location, ThreadId};
use dpor_protocol::AtomicOperation;
use std::panic::Location as Caller;
use std::sync::atomic::Ordering;

/// All that others have [released](release) at the location happens before what the current thread does from now on.
#[inline]
pub fn acquire(location: Location) {
    tell(|machine, thread| machine.execution.races.acquire(thread, location));
}

/// All that the current thread has done so far happens before what follows where others [acquire] the location.
#[inline]
pub fn release(location: Location) {
    tell(|machine, thread| machine.execution.races.release(thread, location));
}

/// Nobody will [acquire] the location any more.
#[inline]
pub fn settle(location: Location) {
    tell(|machine, _| machine.execution.races.settle(location));
}

/// What others have done before they dropped their shares of an object happens before what the current thread does,
/// until this is dropped.
#[must_use]
#[derive(Debug)]
pub struct Lent(());

impl Drop for Lent {
    #[inline]
    fn drop(&mut self) {
        tell(|machine, thread| machine.execution.races.give_back(thread));
    }
}

/// The current thread has dropped the last share of the object with this location: what others have
/// [released](release) there happens before the destructor. Also before what follows that, if drops are operations of
/// their own; otherwise another thread could have been the last, and nobody may rely on it.
#[inline]
pub fn last_share(location: Location) -> Lent {
    tell(|machine, thread| {
        if machine.session.refinements.is_observed(location) {
            machine.execution.races.acquire(thread, location);
        }
        machine.execution.races.lend(thread, location);
    });
    Lent(())
}

/// The current thread makes an atomic fence.
#[inline]
#[track_caller]
pub fn fence(order: Ordering) {
    let place = Caller::caller();
    if on_model_thread() && atomics::is_weak() {
        if order == Ordering::SeqCst {
            atomics::requests_fence();
        }
        // Later operations of this thread can tell who has made it.
        ownership::visible();
    }
    tell(|machine, thread| {
        let order = machine.session.stronger.fence(place, order);
        if let Some(traced) = &mut machine.traced
            && machine.execution.races.beside_others()
        {
            traced.orders(place, AtomicOperation::Fence, order.into());
        }
        machine.execution.races.fence(thread, order);
    });
}

/// The current thread makes a fence for its compiler. Under weak memory, right after a read-modify-write, it is one for
/// all threads.
///
/// On x86-64 the instruction is a full barrier (Intel, *Software Developer's Manual*, volume 3A, "Loads and Stores Are
/// Not Reordered with Locked Instructions"), and the compiler moves nothing across. Libraries such as crossbeam-epoch
/// make their sequentially consistent fences so where that is what they are compiled for.
#[inline]
#[track_caller]
pub fn compiler_fence(order: Ordering) {
    if atomics::is_weak() && order == Ordering::SeqCst && on_model_thread() && atomics::has_modified() {
        fence(order);
    }
}

/// Part of a lock's location where readers publish what they know: writers come after readers, and readers do not.
const READERS: u64 = 0xFE00;

/// The current thread has taken the lock at the location beside other readers.
#[inline]
pub fn read_locked(lock: Location) {
    acquire(lock);
}

/// The current thread gives back the lock at the location, which it has as a reader.
#[inline]
pub fn read_unlocked(lock: Location) {
    release(sub_location(lock, READERS));
}

/// The current thread has taken the lock at the location alone.
#[inline]
pub fn write_locked(lock: Location) {
    acquire(lock);
    acquire(sub_location(lock, READERS));
}

/// The current thread gives back the lock at the location, which it has alone, or becomes one of its readers.
#[inline]
pub fn write_unlocked(lock: Location) {
    release(lock);
}

#[inline]
fn tell(what: impl FnOnce(&mut Machine, ThreadId)) {
    if on_model_thread() && of_model(|machine| machine.execution.races.follows_order()) {
        on_model(|machine| {
            let thread = machine.step.thread;
            what(machine, thread);
        });
    }
}
