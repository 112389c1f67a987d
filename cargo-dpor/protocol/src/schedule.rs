//! The schedule of the current execution, in memory that outlives the process that runs it.
//!
//! The test process is the only writer, but for one flag that asks it to stop. `cargo dpor` reads the heartbeat while
//! the process runs, and the rest after it has ended. A step is written **before** it is run, so that the step in which
//! a process dies is on record.

use crate::{Creation, ModelOption, Options, Seed, SeedStep, test_hash};
use dpor_explorer::{ThreadId, Transition};
use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// Maximum number of threads in a shared schedule.
pub const MAX_THREADS: usize = 4096;
/// Maximum number of refinements in a shared schedule.
pub const MAX_REFINEMENTS: usize = 256;
/// Maximum number of steps of one execution in a shared schedule.
pub const MAX_STEPS: usize = 1 << 20;
/// Maximum number of callers of the place where a process died, or was asked where it is, in a shared schedule.
pub const MAX_CALLERS: usize = 48;

const MAGIC: u64 = u64::from_le_bytes(*b"dporsch3");

/// The layout of the shared file. All-zero memory, as in a new file, is a valid value, which [`SharedSchedule::attach`]
/// refuses until [`SharedSchedule::create`] has been called on it.
#[repr(C)]
pub struct SharedSchedule {
    magic: AtomicU64,
    heartbeat: AtomicU64,
    /// Numbers of complete, blocked, pruned and cut executions.
    ended: [AtomicU64; 4],
    phase: AtomicU32,
    stop: AtomicU32,
    crashed: AtomicU32,
    crash_signal: AtomicU32,
    crash_thread: AtomicU32,
    crash_address: AtomicU64,
    crash_overflow: AtomicU32,
    thread_count: AtomicU32,
    refinement_count: AtomicU32,
    lost: AtomicU32,
    length: AtomicU64,
    /// The OS thread that runs the test; 0 until it can be asked where it is.
    runner: AtomicU32,
    located: AtomicU32,
    caller_count: AtomicU64,
    callers: [AtomicU64; MAX_CALLERS],
    threads: [AtomicU64; MAX_THREADS],
    refinements: [AtomicU64; MAX_REFINEMENTS],
    steps: [AtomicU64; MAX_STEPS],
}

/// The activity of a test process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Phase {
    /// The test's body has not begun.
    Setup = 0,
    /// A step of the explored program runs.
    Running = 1,
    /// The explorer works between steps.
    Exploring = 2,
    /// The last message has been sent.
    Done = 3,
}

/// A fatal signal, as the test process's handler saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crash {
    /// The signal's number.
    pub signal: u32,
    /// The address whose use was the fault.
    pub address: u64,
    /// The thread whose step it was; `None` outside of steps.
    pub thread: Option<ThreadId>,
    /// Whether the address was in the guard area of a stack.
    pub stack_overflow: bool,
}

/// Why memory is not a shared schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachError {
    /// It is too small.
    TooSmall,
    /// A `cargo dpor` of another version made it.
    WrongMagic,
}

impl fmt::Display for AttachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AttachError::TooSmall => "the shared schedule is too small",
            AttachError::WrongMagic => "the shared schedule is of another version of cargo-dpor",
        })
    }
}

impl std::error::Error for AttachError {}

/// A private copy of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Creations of all interned threads but the main one.
    pub threads: Vec<Creation>,
    /// Locations whose releases are scheduling points.
    pub refinements: Vec<u64>,
    /// The steps of the execution, including the last one begun.
    pub steps: Vec<SeedStep>,
    /// Whether something did not fit, so that the schedule cannot be replayed.
    pub lost: bool,
}

const NO_THREAD: u32 = u32::MAX;
const ALTERNATIVE_BITS: u32 = 24;

// What is called in each step is inlined, into code that is optimised: `cargo dpor` builds this crate without
// optimisations.
impl SharedSchedule {
    /// The size of the mapping, in bytes.
    pub const fn size() -> usize {
        size_of::<SharedSchedule>()
    }

    /// Turns zeroed memory into a shared schedule.
    ///
    /// # Safety
    /// `memory` points to [`SharedSchedule::size`] bytes, aligned to 8, zeroed, that stay mapped
    /// for `'a` and that nothing accesses but through [`SharedSchedule`]s.
    pub unsafe fn create<'a>(memory: *mut u8) -> &'a SharedSchedule {
        // SAFETY: the caller vouches for size, alignment and life time; every bit pattern is a value of
        // the type, and all of it is atomic, so that writes of another process are no mutation of it.
        let shared = unsafe { &*memory.cast::<SharedSchedule>() };
        shared.magic.store(MAGIC, Release);
        shared
    }

    /// Attaches to a mapping of a file on which [`SharedSchedule::create`] was called.
    ///
    /// # Safety
    /// `memory` points to `size` bytes, aligned to 8, that stay mapped for `'a` and that nothing
    /// accesses but through [`SharedSchedule`]s.
    ///
    /// # Errors
    /// [`AttachError`] if it cannot be one.
    pub unsafe fn attach<'a>(memory: *mut u8, size: usize) -> Result<&'a SharedSchedule, AttachError> {
        if size < Self::size() {
            return Err(AttachError::TooSmall);
        }
        // SAFETY: as in `create`; the size was checked.
        let shared = unsafe { &*memory.cast::<SharedSchedule>() };
        if shared.magic.load(Acquire) != MAGIC {
            return Err(AttachError::WrongMagic);
        }
        Ok(shared)
    }

    /// Begins an execution: its schedule is empty.
    #[inline]
    pub fn begin_execution(&self) {
        self.length.store(0, Release);
    }

    /// Sets the numbers of executions ended so far: complete, blocked, pruned and cut.
    #[inline]
    pub fn set_ended(&self, ended: [u64; 4]) {
        for (slot, count) in self.ended.iter().zip(ended) {
            slot.store(count, Relaxed);
        }
    }

    /// Records a step; to be called before it runs. `operation` is the scheduler's code of the kind of operation, 0 if
    /// it has none. Counts as a heartbeat.
    #[inline]
    pub fn push(&self, transition: Transition, operation: u8) {
        let index = self.length.load(Relaxed);
        match self.steps.get(index as usize) {
            Some(slot) if transition.alternative >> ALTERNATIVE_BITS == 0 => {
                slot.store(pack(transition, operation), Relaxed);
                self.length.store(index + 1, Release);
            }
            _ => self.lost.store(1, Relaxed),
        }
        self.heartbeat.store(self.heartbeat.load(Relaxed) + 1, Relaxed);
    }

    /// The recorded steps from number `from` on, in the form in which they are recorded.
    pub fn recorded(&self, from: usize) -> impl Iterator<Item = u64> + '_ {
        let steps = self.steps[..self.length.load(Relaxed) as usize].iter();
        steps.skip(from).map(|step| step.load(Relaxed))
    }

    /// Replaces the steps from number `from` on, by steps from [`SharedSchedule::recorded`].
    ///
    /// # Panics
    /// If there is no room for them.
    pub fn replace(&self, from: usize, recorded: &[u64]) {
        let until = from + recorded.len();
        for (slot, &step) in self.steps[from..until].iter().zip(recorded) {
            slot.store(step, Relaxed);
        }
        self.length.store(until as u64, Release);
    }

    /// Shows that the process is alive.
    #[inline]
    pub fn beat(&self) {
        self.heartbeat.store(self.heartbeat.load(Relaxed) + 1, Relaxed);
    }

    /// Records the creation path of a newly interned thread. Threads are interned in the order of their ids; the main
    /// thread is not.
    pub fn intern_thread(&self, creation: Creation) {
        let index = self.thread_count.load(Relaxed);
        match self.threads.get(index as usize) {
            Some(slot) => {
                slot.store(u64::from(creation.parent.0) << 32 | u64::from(creation.nth), Relaxed);
                self.thread_count.store(index + 1, Release);
            }
            None => self.lost.store(1, Relaxed),
        }
    }

    /// Forgets all interned threads.
    pub fn clear_threads(&self) {
        self.thread_count.store(0, Release);
    }

    /// Records a location whose releases have become scheduling points.
    pub fn add_refinement(&self, location: u64) {
        let index = self.refinement_count.load(Relaxed);
        match self.refinements.get(index as usize) {
            Some(slot) => {
                slot.store(location, Relaxed);
                self.refinement_count.store(index + 1, Release);
            }
            None => self.lost.store(1, Relaxed),
        }
    }

    /// Asks the process to end its exploration, and to save it. Only `cargo dpor` calls this.
    pub fn ask_to_stop(&self) {
        self.stop.store(1, Relaxed);
    }

    /// Says whether the process is asked to stop.
    pub fn is_asked_to_stop(&self) -> bool {
        self.stop.load(Relaxed) != 0
    }

    /// Sets what the process does from now on.
    #[inline]
    pub fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u32, Release);
    }

    /// What the process does.
    pub fn phase(&self) -> Phase {
        match self.phase.load(Acquire) {
            0 => Phase::Setup,
            1 => Phase::Running,
            2 => Phase::Exploring,
            _ => Phase::Done,
        }
    }

    /// Records a fatal signal. Can be called from a signal handler.
    pub fn set_crash(&self, crash: Crash) {
        self.crash_signal.store(crash.signal, Relaxed);
        self.crash_address.store(crash.address, Relaxed);
        self.crash_thread
            .store(crash.thread.map_or(NO_THREAD, |t| t.0), Relaxed);
        self.crash_overflow.store(u32::from(crash.stack_overflow), Relaxed);
        self.crashed.store(1, Release);
    }

    /// Clears the recorded fatal signal, and its callers.
    pub fn clear_crash(&self) {
        self.crashed.store(0, Release);
        self.caller_count.store(0, Release);
    }

    /// Sets the OS thread that runs the test and answers when asked where it is.
    pub fn set_runner(&self, thread: u32) {
        self.runner.store(thread, Release);
    }

    /// The OS thread that can be asked where it is, with [`WHERE_SIGNAL`](crate::WHERE_SIGNAL).
    pub fn runner(&self) -> Option<u32> {
        Some(self.runner.load(Acquire)).filter(|&thread| thread != 0)
    }

    /// Records a return address of the position of the process, as an address in the executable's file. Innermost
    /// first; addresses that do not fit are lost. Can be called from a signal handler.
    pub fn add_caller(&self, address: u64) {
        let index = self.caller_count.load(Relaxed);
        if let Some(slot) = self.callers.get(index as usize) {
            slot.store(address, Relaxed);
            self.caller_count.store(index + 1, Release);
        }
    }

    /// Declares that all callers are recorded. Can be called from a signal handler.
    pub fn set_located(&self) {
        self.located.store(1, Release);
    }

    /// Says whether the process has answered where it is.
    pub fn is_located(&self) -> bool {
        self.located.load(Acquire) != 0
    }

    /// The recorded return addresses.
    pub fn callers(&self) -> Vec<u64> {
        filled(&self.callers, self.caller_count.load(Acquire))
    }

    /// The recorded fatal signal.
    pub fn crash(&self) -> Option<Crash> {
        (self.crashed.load(Acquire) != 0).then(|| {
            let thread = self.crash_thread.load(Relaxed);
            Crash {
                signal: self.crash_signal.load(Relaxed),
                address: self.crash_address.load(Relaxed),
                thread: (thread != NO_THREAD).then_some(ThreadId(thread)),
                stack_overflow: self.crash_overflow.load(Relaxed) != 0,
            }
        })
    }

    /// A number that changes as long as the process makes progress.
    pub fn heartbeat(&self) -> u64 {
        self.heartbeat.load(Relaxed)
    }

    /// Numbers of executions that have ended: complete, blocked, pruned and cut.
    pub fn ended(&self) -> [u64; 4] {
        [0, 1, 2, 3].map(|i| self.ended[i].load(Relaxed))
    }

    /// Number of recorded steps of the current execution.
    pub fn len(&self) -> usize {
        self.length.load(Acquire) as usize
    }

    /// Says whether no step is recorded.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies the record.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            threads: filled(&self.threads, self.thread_count.load(Acquire).into())
                .into_iter()
                .map(|word| Creation {
                    parent: ThreadId((word >> 32) as u32),
                    nth: word as u32,
                })
                .collect(),
            refinements: filled(&self.refinements, self.refinement_count.load(Acquire).into()),
            steps: filled(&self.steps, self.length.load(Acquire))
                .into_iter()
                .map(unpack)
                .collect(),
            lost: self.lost.load(Relaxed) != 0,
        }
    }
}

impl Snapshot {
    /// The seed of this schedule; `None` if the schedule is not whole.
    pub fn seed(self, test: &str, strategy: &str, options: Options) -> Option<Seed> {
        (!self.lost).then(|| Seed {
            test: test_hash(test),
            strategy: strategy.into(),
            // The schedule has not come to its end, where memory is looked for.
            options: options
                .with(ModelOption::Leaks, false)
                .with_refinements(&self.refinements),
            threads: self.threads,
            refinements: self.refinements,
            steps: self.steps,
        })
    }
}

/// The first `length` slots, or all if there are fewer.
fn filled(slots: &[AtomicU64], length: u64) -> Vec<u64> {
    let length = slots.len().min(usize::try_from(length).unwrap_or(usize::MAX));
    slots[..length].iter().map(|slot| slot.load(Relaxed)).collect()
}

#[inline]
fn pack(transition: Transition, operation: u8) -> u64 {
    u64::from(transition.thread.0) << 32 | u64::from(operation) << ALTERNATIVE_BITS | u64::from(transition.alternative)
}

fn unpack(word: u64) -> SeedStep {
    SeedStep {
        transition: Transition {
            thread: ThreadId((word >> 32) as u32),
            alternative: word as u32 & ((1 << ALTERNATIVE_BITS) - 1),
        },
        operation: (word >> ALTERNATIVE_BITS) as u8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::alloc::{Layout, alloc_zeroed, dealloc};

    fn with_map(body: impl FnOnce(*mut u8)) {
        let layout = Layout::new::<SharedSchedule>();
        // SAFETY: the layout is not empty.
        let memory = unsafe { alloc_zeroed(layout) };
        body(memory);
        // SAFETY: allocated above with this layout, and no reference is left.
        unsafe { dealloc(memory, layout) };
    }

    fn step(thread: u32, alternative: u32) -> Transition {
        Transition {
            thread: ThreadId(thread),
            alternative,
        }
    }

    #[test]
    fn what_is_written_is_read_through_another_view() {
        with_map(|memory| {
            // SAFETY: `with_map` gives zeroed memory of the right layout.
            let early = unsafe { SharedSchedule::attach(memory, SharedSchedule::size()) };
            assert_eq!(early.err(), Some(AttachError::WrongMagic));
            // SAFETY: as above.
            let writer = unsafe { SharedSchedule::create(memory) };
            // SAFETY: as above.
            let small = unsafe { SharedSchedule::attach(memory, 8) };
            assert_eq!(small.err(), Some(AttachError::TooSmall));
            // SAFETY: as above.
            let reader = unsafe { SharedSchedule::attach(memory, SharedSchedule::size()) }.unwrap();
            writer.begin_execution();
            writer.push(step(9, 9), 9);
            writer.begin_execution();
            writer.intern_thread(Creation {
                parent: ThreadId(0),
                nth: 3,
            });
            writer.add_refinement(0xdead_beef_0000);
            writer.push(step(0, 0), 4);
            writer.push(step(1, (1 << 24) - 1), 255);
            let second: Vec<u64> = writer.recorded(1).collect();
            writer.push(step(7, 0), 0);
            writer.replace(1, &second);
            let crash = Crash {
                signal: 11,
                address: 16,
                thread: Some(ThreadId(1)),
                stack_overflow: true,
            };
            assert_eq!(reader.crash(), None);
            writer.set_crash(crash);
            assert_eq!(reader.crash(), Some(crash));
            assert_eq!((reader.runner(), reader.is_located()), (None, false));
            writer.set_runner(17);
            (0..=MAX_CALLERS as u64).for_each(|address| writer.add_caller(address));
            writer.set_located();
            assert_eq!((reader.runner(), reader.is_located()), (Some(17), true));
            assert_eq!(reader.callers(), (0..MAX_CALLERS as u64).collect::<Vec<_>>());
            reader.clear_crash();
            assert_eq!((writer.crash(), writer.callers()), (None, vec![]));
            assert_eq!(reader.heartbeat(), 4);
            assert_eq!(reader.ended(), [0; 4]);
            writer.set_ended([4, 3, 2, 1]);
            assert_eq!(reader.ended(), [4, 3, 2, 1]);
            let snapshot = reader.snapshot();
            assert_eq!(
                snapshot.threads,
                [Creation {
                    parent: ThreadId(0),
                    nth: 3
                }]
            );
            assert_eq!(snapshot.refinements, [0xdead_beef_0000]);
            assert_eq!(
                snapshot.steps,
                [
                    SeedStep {
                        transition: step(0, 0),
                        operation: 4
                    },
                    SeedStep {
                        transition: step(1, (1 << 24) - 1),
                        operation: 255
                    }
                ]
            );
            assert!(snapshot.seed("a", "source", Options::NONE).is_some());
        });
    }

    #[test]
    fn what_does_not_fit_is_not_replayable() {
        with_map(|memory| {
            // SAFETY: `with_map` gives zeroed memory of the right layout.
            let shared = unsafe { SharedSchedule::create(memory) };
            for n in 0..=MAX_THREADS {
                shared.intern_thread(Creation {
                    parent: ThreadId(0),
                    nth: n as u32,
                });
            }
            let snapshot = shared.snapshot();
            assert!(snapshot.lost);
            assert_eq!(snapshot.threads.len(), MAX_THREADS);
            assert_eq!(snapshot.seed("a", "source", Options::NONE), None);
        });
    }
}
