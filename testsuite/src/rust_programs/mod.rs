//! Rust programs over std's atomics, locks, channels and threads: the explorer and the facades of std against brute
//! force.
//!
//! A [`Program`] is data, and a Rust program in print. It is run on the facades of std, in a model, by [`explore`];
//! and [`enumerate`] finds every outcome that std allows, by a search through all states of an abstract machine in
//! which every single operation is a step, also those that the scheduler treats as part of the step before: unlocks,
//! drops of senders, clones, spawns, the end of a thread. Both must give the same set of [`Outcome`]s.
//!
//! The machine is written from std's documentation. Where that leaves freedom, it says what std does: a lock prefers
//! neither readers nor writers; the leader of a barrier is who comes last; a channel without a buffer serves waiting
//! senders in order of arrival; a wait in a channel or at the end of a scope takes park tokens, and leaves one, as
//! std's source says.

mod compare;
mod explore;
mod generate;
mod interpret;
mod operations;
mod outcome;
mod parking;
mod print;
mod reference;

pub use compare::{Agreement, Mismatch, check, check_shards, minimise};
use dpor_scheduler::Timeouts;
pub use explore::{Found, explore, explore_part, kept, model};
pub use generate::{polling_programs, programs};
pub use outcome::{Finals, Outcome, Seen};
pub use reference::{TooLarge, enumerate};

/// Maximum number of threads, with the main thread.
pub const THREADS: usize = 4;
/// Maximum number of lines in one thread.
pub const LINES: usize = 10;

/// The value that is logged for an operation on something that the thread does not have.
pub const ABSENT: u8 = 0x7F;
/// The value that is logged for an operation that would have had to wait.
pub const WOULD_BLOCK: u8 = 0x40;
/// Like [`WOULD_BLOCK`], of channels: the other side is gone.
pub const DISCONNECTED: u8 = 0x41;
/// Set in the value that is logged when a wait on a condition variable timed out.
pub const TIMED_OUT: u8 = 0x40;
/// Set in the value that is logged for a poisoned lock.
pub const POISONED: u8 = 0x80;

/// The lock under which a loop polls.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Under {
    /// `m[i].lock()`.
    Lock(u8),
    /// `m[i].try_lock()`; if that fails, the loop goes round.
    TryLock(u8),
    /// `rw.read()`.
    Read,
    /// `rw.write()`.
    Write,
    /// A lock made by hand: `while x[l].compare_exchange(0, 1).is_err() {}`, and `x[l].store(0)` in the end.
    Spin(u8),
}

/// One operation. Each logs one value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// `x[a].load()`; logs the value.
    Load(u8),
    /// `x[a].store(v)`.
    Store(u8, u8),
    /// `x[a].swap(v)`; logs the old value.
    Swap(u8, u8),
    /// `x[a].fetch_add(1)`; logs the old value.
    Add(u8),
    /// `x[a].compare_exchange(old, new)`; logs the value met, and whether it failed.
    Cas(u8, u8, u8),
    /// The weak one.
    CasWeak(u8, u8, u8),
    /// `x[a].fetch_update(|v| (v < 2).then_some(v + 1))`.
    Update(u8),
    /// `while x[a].load() == 0 {}`, perhaps with `yield_now`; logs the value that ended it.
    Await(u8, bool),
    /// `while x[a].compare_exchange(0, 1).is_err() {}`.
    AwaitCas(u8),
    /// Acquires the lock, loads `x[a]` and releases the lock, until the value is not 0; logs the value, and whether the
    /// lock is poisoned.
    AwaitUnder(Under, u8),
    /// `for i in 0..k { if x[a].load() != 0 { break } }`; logs the value and the number of rounds before.
    Poll(u8, u8),

    /// `m[i].lock()`, whose guard the thread keeps; logs the value and adds one to it.
    Lock(u8),
    /// `m[i].try_lock()`, likewise.
    TryLock(u8),
    /// Spins until `m[i].try_lock()` succeeds.
    AwaitTryLock(u8),
    /// `while *m[i].lock() == 0 {}`; logs the value.
    AwaitLocked(u8),
    /// Drops the guard of `m[i]`.
    Unlock(u8),
    /// `m[i].is_poisoned()`.
    IsPoisoned(u8),
    /// `m[i].clear_poison()`.
    ClearPoison(u8),
    /// `panic!()`; not in the main thread.
    Panic,

    /// `rw.read()`; logs the value.
    Read,
    /// `rw.try_read()`.
    TryRead,
    /// Drops the guard of a reader.
    ReadUnlock,
    /// `rw.write()`; logs the value and adds one to it.
    Write,
    /// `rw.try_write()`.
    TryWrite,
    /// Drops the guard of a writer.
    WriteUnlock,
    /// `RwLockWriteGuard::downgrade`.
    Downgrade,

    /// `cv.wait(guard of m[0])`; logs the value afterwards and adds one to it.
    Wait,
    /// `cv.wait_timeout(guard of m[0], ..)`.
    WaitTimeout,
    /// `cv.notify_one()`.
    NotifyOne,
    /// `cv.notify_all()`.
    NotifyAll,

    /// `park()`.
    Park,
    /// `park_timeout(..)`.
    ParkTimeout,
    /// `unpark()` of a thread: the main thread or one that was created before.
    Unpark(u8),

    /// `tx.send(v)`.
    Send(u8),
    /// `tx.try_send(v)`, of a bounded channel.
    TrySend(u8),
    /// `rx.recv()`.
    Recv,
    /// `rx.try_recv()`.
    TryRecv,
    /// Spins until `rx.try_recv()` finds a message, or no sender.
    AwaitTryRecv,
    /// `rx.recv_timeout(..)`.
    RecvTimeout,
    /// Drops the sender; the clone, if there is one.
    DropTx,
    /// Clones the sender.
    CloneTx,
    /// Drops the receiver.
    DropRx,

    /// `once.call_once(|| x[0].fetch_add(1))`, perhaps with a panic afterwards; logs whether it ran (2) or panicked
    /// (1).
    CallOnce(bool),
    /// `once.is_completed()`.
    OnceDone,
    /// `once.wait()`; logs whether it panicked.
    OnceWait,
    /// `cell.get_or_init(|| { x[1].fetch_add(1); v })`; logs the cell's value.
    CellInit(u8),
    /// `cell.set(v)`; logs whether it failed.
    CellSet(u8),
    /// `cell.get()`.
    CellGet,
    /// `cell.wait()`.
    CellWait,

    /// `barrier.wait()`, of two; logs whether the thread is the leader.
    Barrier,

    /// `is_finished()` of a thread; in the main thread only.
    IsFinished(u8),
    /// `while !is_finished() {}`.
    AwaitFinished(u8),
    /// `join()`; logs whether the thread panicked. In the main thread only; who is not joined by a line is joined at
    /// the end.
    Join(u8),
}

/// An operation, perhaps on the condition that the value logged last by its thread is a certain one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Line {
    /// The condition.
    pub when: Option<u8>,
    /// The operation.
    pub op: Op,
}

/// The channel of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Channel {
    /// `None` if it is unbounded.
    pub capacity: Option<u8>,
    /// The threads that start with a sender, as a bit mask. The main thread drops the one that it makes the others
    /// from, after it has created all threads, if it is not among them.
    pub senders: u8,
    /// The thread that has the receiver.
    pub receiver: u8,
}

/// A program: what its threads do. The first is the main thread, which creates and joins the others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// The lines of each thread.
    pub threads: Vec<Vec<Line>>,
    /// The channel, if there is one.
    pub channel: Option<Channel>,
    /// The threads are created in a `thread::scope`.
    pub scoped: bool,
    /// Waits may end without cause.
    pub spurious_wakeups: bool,
    /// Weak exchanges may fail without cause.
    pub spurious_cas: bool,
    /// When waits with a timeout time out.
    pub timeouts: Timeouts,
}

impl Program {
    /// All operations.
    pub fn ops(&self) -> impl Iterator<Item = Op> + '_ {
        self.threads.iter().flatten().map(|line| line.op)
    }

    /// Says whether a wait in it has a timeout.
    pub fn has_timeouts(&self) -> bool {
        self.ops()
            .any(|op| matches!(op, Op::WaitTimeout | Op::ParkTimeout | Op::RecvTimeout))
    }

    /// Says whether a loop in it writes as it goes round, so that two of them may keep each other going.
    pub fn may_be_unending(&self) -> bool {
        self.ops()
            .any(|op| matches!(op, Op::AwaitUnder(..) | Op::AwaitLocked(_)))
    }

    /// The objects among `x[0]`, `x[1]`, `m[0]`, `m[1]`, `rw` that it uses, so that they belong to the outcome.
    pub fn uses(&self) -> [bool; 5] {
        let mut uses = [false; 5];
        for op in self.ops() {
            match op {
                Op::Load(a)
                | Op::Store(a, _)
                | Op::Swap(a, _)
                | Op::Add(a)
                | Op::Cas(a, ..)
                | Op::CasWeak(a, ..)
                | Op::Update(a)
                | Op::Await(a, _)
                | Op::AwaitCas(a)
                | Op::Poll(a, _) => uses[usize::from(a)] = true,
                Op::AwaitUnder(under, a) => {
                    uses[usize::from(a)] = true;
                    if let Under::Spin(l) = under {
                        uses[usize::from(l)] = true;
                    }
                }
                Op::CallOnce(_) => uses[0] = true,
                Op::CellInit(_) => uses[1] = true,
                Op::Lock(m) | Op::TryLock(m) | Op::AwaitTryLock(m) => uses[2 + usize::from(m)] = true,
                Op::Write | Op::TryWrite => uses[4] = true,
                _ => {}
            }
        }
        uses
    }
}
