//! Data races: the checker against the definition.
//!
//! A [`Program`] is data, and a Rust program in print: a few threads with plain accesses to memory that all share, and
//! operations of std that may order them. It is run on the facades of std, in a model, by [`explore`], where it calls
//! the hooks of plain accesses itself, as instrumented code does. And [`judge`] runs every sequentially consistent
//! interleaving of its single operations, also those that are no steps of the checker, and looks for a race by the
//! definition: it draws the graph of what comes before what in a thread and of what synchronises with what (C++20:
//! intro.races, atomics.order, atomics.fences; and std's documentation), and searches the graph for a path between
//! accesses that conflict. There are no clocks in it.
//!
//! Both must agree on whether there is a race, and, if there is none, on whether threads can be left waiting for ever.

mod compare;
mod explore;
mod generate;
mod print;
mod reference;
mod run;

pub use compare::{Agreement, Mismatch, Settings, check, minimise};
pub use explore::{Found, How, Seeded, explore};
pub use generate::program;
pub use reference::{Judgement, TooLarge, judge};
use std::sync::atomic::Ordering;

/// Maximum number of threads, with the main thread.
pub const THREADS: usize = 4;
/// Maximum number of operations of a thread.
pub const LINES: usize = 12;
/// Number of bytes of the two cells, which hold no atomics.
pub const CELLS: usize = 16;
/// Number of bytes of the memory that the threads share: the cells, and a third one that holds the atomics.
pub const MEMORY: usize = 24;
/// By number of an atomic, the offset of its first byte in the shared memory, and its size.
pub const ATOMICS: [(usize, usize); 2] = [(16, 1), (20, 4)];

/// An operation. If it gives a value, that is the thread's *last value* from then on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// A plain read of so many bytes at this offset; gives the first byte.
    Read(u8, u8),
    /// A plain write of so many bytes at this offset, each with this value.
    Write(u8, u8, u8),
    /// `memmove` to this offset, from that, of so many bytes.
    Copy(u8, u8, u8),
    /// A plain read of an atomic; gives the value.
    PlainLoad(u8),
    /// A plain write of an atomic.
    PlainStore(u8, u8),

    /// `x.load(..)`; gives the value.
    Load(u8, Ordering),
    /// `x.store(v, ..)`.
    Store(u8, u8, Ordering),
    /// `x.swap(v, ..)`; gives the old value, as all modifications do.
    Swap(u8, u8, Ordering),
    /// `x.fetch_add(v, ..)`, which leaves the value as it is if `v` is 0.
    Add(u8, u8, Ordering),
    /// `x.fetch_or(0, ..)`.
    Or(u8, Ordering),
    /// `x.compare_exchange(old, new, .., ..)`; gives the value that was met.
    Exchange(u8, u8, u8, Ordering, Ordering),
    /// `fence(..)`.
    Fence(Ordering),

    /// `m.lock()`, whose guard the thread keeps. Does nothing if it has it already, as do the other locks.
    Lock(u8),
    /// `m.try_lock()`, likewise; gives 1 if it succeeds, and 0 otherwise.
    TryLock(u8),
    /// Drops the guard of the mutex; does nothing if the thread has none.
    Unlock(u8),
    /// `rw.read()`; does nothing if the thread has a guard of the lock.
    LockShared,
    /// `rw.try_read()`; gives whether it succeeds.
    TryLockShared,
    /// `rw.write()`; does nothing if the thread has a guard of the lock.
    LockAlone,
    /// `rw.try_write()`; gives whether it succeeds.
    TryLockAlone,
    /// Drops the guard of the lock for readers and writers.
    UnlockRw,

    /// `tx.send(v)`.
    Send(u8),
    /// `rx.recv()`; gives the message. Of one thread only.
    Recv,
    /// `rx.try_recv()`; gives the message, or 0 if there is none. Of one thread only.
    TryRecv,

    /// `park()`.
    Park,
    /// `unpark()` of a thread; does nothing if the thread does not know it.
    Unpark(u8),

    /// `barrier.wait()`, of two threads.
    Barrier,
    /// `once.call_once(..)` with a plain write of so many bytes at this offset.
    Once(u8, u8, u8),

    /// `spawn` of the thread.
    Spawn(u8),
    /// `join` of the thread; does nothing if the thread has not created it or has joined it.
    Join(u8),

    /// Skips so many operations unless the last value is this one.
    Unless(u8, u8),
}

/// Where memory is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// A static.
    Static,
    /// The heap.
    Heap,
    /// The stack of the main thread.
    Stack,
}

/// A program: what its threads do. The first is the main thread. In the end, each thread drops the guards that it has,
/// those of the mutexes first, and joins the threads that it has created, in ascending order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// The operations of each thread. A thread runs if another one spawns it.
    pub threads: Vec<Vec<Op>>,
    /// The capacity of the channel; `None` if it is unbounded.
    pub capacity: Option<u8>,
    /// Where the shared memory is.
    pub place: Place,
}

impl Program {
    /// All operations.
    pub fn ops(&self) -> impl Iterator<Item = Op> + '_ {
        self.threads.iter().flatten().copied()
    }

    /// Says whether it uses the channel.
    pub fn communicates(&self) -> bool {
        self.ops().any(|op| matches!(op, Op::Send(_) | Op::Recv | Op::TryRecv))
    }

    /// Says whether it uses threads' tokens.
    pub fn parks(&self) -> bool {
        self.ops().any(|op| matches!(op, Op::Park | Op::Unpark(_)))
    }
}
