//! Saved states: copying one back takes less time than repeating the steps that lead there.
//!
//! A state is what [`fingerprint`](dpor_explorer::System::fingerprint) sees of it, and all else that the rest of an
//! execution depends on. [`Saved::take`] and [`Saved::put_back`] name each field of the runtime and of a thread's
//! record, so that a new one does not compile until somebody has decided whether it belongs to the state.
//!
//! Invariant: an execution that goes on from a saved state is, byte for byte, the one that goes on after the steps that
//! lead there. Where states are compared, this includes what calls have left on stacks below the stack pointers, since
//! later frames can show it. Elsewhere nobody looks at that.
//!
//! Not saved, and replayed instead: a traced execution, one with a panic hook of the program's or an open file, one
//! with memory out of sight, and a state that is so large that copying it is no cheaper than running. Nor one in which
//! a panic unwinds a stack: std counts those of all threads, in a static that is none of the program's, and would count
//! the end of one panic more than once.

use super::Program;
use crate::memory::arena::{self, Used};
use crate::memory::statics::Statics;
use crate::memory::switch::SavedCoroutine;
use crate::memory::{region, stacks};
use crate::operation::Operation;
use crate::ownership::Shares;
use crate::panic::PanicRecord;
use crate::platform::interpose;
use crate::queue;
use crate::runtime::Runtime;
use crate::spin::{Registers, Spin, Surroundings};
use crate::thread::Record;
use corosensei::Yielder;
use dpor_explorer::keys::KeyMap;
use dpor_explorer::{Checkpoint, Failure, Location, Rewindable, ThreadId};
use std::mem;
use std::ops::Range;
use std::panic::Location as Caller;
use std::rc::Rc;
use std::time::Duration;

/// Maximum size of a saved state, in bytes. Copying this many takes about as long as ten steps.
const LARGEST: usize = 256 << 10;
/// Maximum number of forgotten states that are kept for their storage.
const SPARE: usize = 16;
/// Maximum size of all saved states, in bytes.
const LARGEST_TOTAL: usize = 64 << 20;

/// The saved states, in the order in which they were saved.
#[derive(Default)]
pub(super) struct Checkpoints {
    kept: Vec<Saved>,
    /// Forgotten states, kept for their storage.
    spare: Vec<Saved>,
    /// Total size of the kept states, in bytes.
    size: usize,
    next: u64,
}

impl Checkpoints {
    fn forget(&mut self, kept: usize) {
        for saved in self.kept.drain(kept..).rev() {
            self.size -= saved.bytes.len();
            if self.spare.len() < SPARE {
                self.spare.push(saved);
            }
        }
    }
}

#[derive(Default)]
struct Saved {
    name: u64,
    /// Whether threads began on clean stacks.
    clean: bool,
    /// The contents of the arenas, the statics, and each thread's stack and thread-locals.
    bytes: Vec<u8>,
    arenas: Vec<Used>,
    threads: Vec<SavedThread>,
    waiting: Vec<(usize, usize)>,
    steps: u32,
    /// The mark in the record of these steps, if there is one.
    recall: Option<u128>,
    watched: bool,
    surroundings: Option<(ThreadId, Surroundings)>,
    /// Length of the output.
    output: usize,
    /// Number of blocks that the checker holds.
    held: usize,
    /// Whether each label was reached.
    labels: Vec<bool>,
    clock_started: bool,
    times: KeyMap<Location, Duration>,
    shares: Shares,
    main_result: Option<Result<(), Failure>>,
    /// The C library's error number, which is no thread-local of the executable.
    errno: i32,
}

/// A thread that exists, or has existed, in the execution.
struct SavedThread {
    index: usize,
    spawned: u32,
    coroutine: SavedCoroutine,
    yielder: *const Yielder<(), ()>,
    alive: bool,
    pending: *const Operation<'static>,
    caller: Option<&'static Caller<'static>>,
    registers: *const Registers,
    name: Option<Rc<str>>,
    created_at: Option<&'static Caller<'static>>,
    time: Duration,
    clock_reads: u32,
    panic: Option<PanicRecord>,
    panicked: bool,
    spin: Rc<Spin>,
    /// The copied part of its stack, up to the end; empty unless the thread is alive.
    stack: Range<usize>,
    local_root: *mut u8,
}

/// Adds a copy of memory.
///
/// # Safety
///
/// The range is readable, and nobody writes there meanwhile.
unsafe fn copy(bytes: &mut Vec<u8>, range: Range<usize>) {
    // SAFETY: the caller's promise.
    bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(range.start as *const u8, range.len()) });
}

/// Copies the next bytes back to their place.
///
/// # Safety
///
/// The range is writable, nobody uses it meanwhile, and nobody has a reference into it that the change would break.
unsafe fn copy_back(bytes: &mut &[u8], range: Range<usize>) {
    let (now, rest) = bytes.split_at(range.len());
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(now.as_ptr(), range.start as *mut u8, now.len()) };
    *bytes = rest;
}

/// The accessible addresses of a thread's stack.
fn stack_of(thread: usize) -> Range<usize> {
    // SAFETY: a model exists, so the region is reserved; its only OS thread is the caller.
    let limit = unsafe { (*region::record(thread)).stack_limit };
    limit..region::stack_slot(thread).1
}

impl Saved {
    /// Saves the present state, in which no thread runs and the thread-locals are in their images. Returns false if it
    /// is too large.
    fn take(&mut self, runtime: &Runtime) -> bool {
        let Saved {
            name: _,
            clean,
            bytes,
            arenas,
            threads: saved_threads,
            waiting,
            steps: saved_steps,
            recall: saved_recall,
            watched: saved_watched,
            surroundings: saved_surroundings,
            output: saved_output,
            held: saved_held,
            labels: saved_labels,
            clock_started: saved_clock_started,
            times: saved_times,
            shares: saved_shares,
            main_result: saved_main_result,
            errno: saved_errno,
        } = self;
        *saved_errno = errno();
        let Runtime {
            threads,
            steps,
            recall,
            watched,
            surroundings,
            output,
            held,
            labels,
            clock_started,
            times,
            shares,
            main_result,
            statics,
            // Made anew from the threads.
            statuses: _,
            stale: _,
            changed: _,
            // Of a step.
            current: _,
            chosen: _,
            step: _,
            repeating: _,
            request: _,
            before: _,
            choosing: _,
            // Of the exploration.
            options: _,
            refinements: _,
            weak_orderings: _,
            find_leaks: _,
            learn_in_place: _,
            spin_blocks: _,
            trying_out: _,
            comparing: _,
            clean: is_clean,
            exact: _,
            hashed: _,
            scratch: _,
            symbols: _,
            replays: _,
            #[cfg(feature = "faults")]
                coarse: _,
            tls: _,
            base_tls: _,
            os_tls: _,
            tls_owner: _,
            // There are none where states are saved.
            trace: _,
            user_hook: _,
            out_of_sight: _,
            // Of traced executions.
            allocations: _,
            frees: _,
            freed_wrongly: _,
            failed_at: _,
        } = runtime;
        bytes.clear();
        arenas.clear();
        saved_threads.clear();
        // SAFETY: the region is reserved, and the caller is the model's OS thread.
        let heap: usize = unsafe { arena::used_ranges() }.map(|range| range.len()).sum();
        if heap + statics.map_or(0, Statics::size) > LARGEST {
            return false;
        }
        // SAFETY: no thread runs, and these are the program's memory.
        unsafe {
            for thread in 0..region::used_threads() {
                let (range, used) = arena::used(thread);
                copy(bytes, range);
                arenas.push(used);
            }
            for range in statics.iter().flat_map(|statics| statics.ranges()) {
                copy(bytes, range);
            }
        }
        for (index, record) in threads.iter().enumerate().filter(|(_, record)| record.created) {
            let saved = SavedThread::of(index, record, *is_clean);
            if bytes.len() + saved.stack.len() > LARGEST {
                return false;
            }
            // SAFETY: the thread is suspended, or the range is empty.
            unsafe { copy(bytes, saved.stack.clone()) };
            if record.alive {
                bytes.extend_from_slice(record.tls.as_ref().map_or(&[], |image| image.bytes()));
            }
            saved_threads.push(saved);
        }
        *clean = *is_clean;
        waiting.clear();
        waiting.extend_from_slice(queue::waiting());
        *saved_steps = *steps;
        *saved_recall = recall.mark(*steps as usize);
        *saved_watched = *watched;
        *saved_surroundings = *surroundings;
        *saved_output = output.len();
        *saved_held = held.len();
        saved_labels.clear();
        saved_labels.extend(labels.reached());
        *saved_clock_started = *clock_started;
        saved_times.clone_from(times);
        saved_shares.clone_from(shares);
        saved_main_result.clone_from(main_result);
        true
    }

    /// Restores this state.
    ///
    /// # Safety
    ///
    /// No thread runs, the thread-locals in place are the OS thread's own, and the state is of this program.
    unsafe fn put_back(&self, runtime: &mut Runtime) {
        let mut bytes = self.bytes.as_slice();
        // SAFETY: the program's memory, which nobody uses while no thread runs; what is not used in the state is not
        // used once it is the present one.
        unsafe {
            for thread in 0..self.arenas.len().max(region::used_threads()) {
                let used = self.arenas.get(thread).copied().unwrap_or(arena::UNUSED);
                arena::set_used(thread, used);
                copy_back(&mut bytes, arena::used(thread).0);
            }
            for range in runtime.statics.iter().flat_map(|statics| statics.ranges()) {
                copy_back(&mut bytes, range);
            }
        }
        let mut saved = self.threads.iter().peekable();
        for (index, record) in runtime.threads.iter_mut().enumerate() {
            match saved.next_if(|saved| saved.index == index) {
                // SAFETY: as above.
                Some(saved) => unsafe { saved.put_back(record, &mut bytes, self.clean) },
                None => record.discard(),
            }
        }
        runtime.steps = self.steps;
        runtime.watched = self.watched;
        runtime.surroundings = self.surroundings;
        runtime.output.truncate(self.output);
        runtime.held.truncate(self.held);
        runtime.labels.end();
        runtime.labels.begin_with(&self.labels);
        runtime.clock_started = self.clock_started;
        runtime.times.clone_from(&self.times);
        runtime.shares.clone_from(&self.shares);
        runtime.main_result.clone_from(&self.main_result);
        queue::restore(&self.waiting);
        interpose::forget_files();
        runtime.recall.go_on(self.steps as usize, self.recall);
        runtime.request = None;
        runtime.before = None;
        runtime.step.clear();
        runtime.stale = true;
        set_errno(self.errno);
    }
}

/// The C library's error number of this OS thread, which all model threads share.
fn errno() -> i32 {
    // SAFETY: the number is this thread's.
    unsafe { *libc::__errno_location() }
}

fn set_errno(errno: i32) {
    // SAFETY: the number is this thread's.
    unsafe { *libc::__errno_location() = errno };
}

impl SavedThread {
    /// Saves a thread that exists, or has existed, in this execution, without the bytes.
    fn of(index: usize, record: &Record, clean: bool) -> SavedThread {
        let Record {
            spawned,
            coroutine,
            yielder,
            alive,
            pending,
            caller,
            registers,
            name,
            created_at,
            time,
            clock_reads,
            panic,
            panicked,
            spin,
            // It is so of all that are saved, or of none.
            created: _,
            unwinds: _,
            // Saved with the bytes.
            tls: _,
            // Of the exploration.
            parent: _,
            nth: _,
            children: _,
            // Only tells what to look at again.
            moved: _,
            depends_on: _,
            // Of traced executions.
            callers: _,
        } = record;
        let coroutine = SavedCoroutine::of(coroutine);
        let whole = stack_of(index);
        let pointer = coroutine.stack_pointer(whole.clone()).filter(|_| *alive);
        let lowest = pointer.map_or(whole.end, |pointer| match clean {
            // SAFETY: the thread is suspended, and its stack was cleared before it began.
            true => unsafe { stacks::lowest_used(pointer) },
            false => pointer,
        });
        let stack = lowest..whole.end;
        SavedThread {
            index,
            spawned: *spawned,
            coroutine,
            yielder: *yielder,
            alive: *alive,
            pending: *pending,
            caller: *caller,
            registers: *registers,
            name: name.clone(),
            created_at: *created_at,
            time: *time,
            clock_reads: *clock_reads,
            panic: panic.clone(),
            panicked: *panicked,
            spin: spin.clone(),
            stack,
            // SAFETY: a model exists, so the region is reserved; its only OS thread is the caller.
            local_root: unsafe { (*region::record(index)).local_root },
        }
    }

    /// Restores the thread.
    ///
    /// # Safety
    ///
    /// That of [`Saved::put_back`]; the record is that of the thread.
    unsafe fn put_back(&self, record: &mut Record, bytes: &mut &[u8], clean: bool) {
        // SAFETY: nobody uses the thread's stack, and the coroutine is where it was, as a record's coroutine stays
        // where it is.
        unsafe {
            if self.alive && clean {
                // What the thread, or an earlier one with its index, has left there since.
                let lowest = stacks::lowest_used(self.stack.start).min(self.stack.start);
                std::ptr::write_bytes(lowest as *mut u8, 0, self.stack.start - lowest);
            }
            copy_back(bytes, self.stack.clone());
            self.coroutine.restore(&mut record.coroutine);
            (*region::record(self.index)).local_root = self.local_root;
        }
        if let Some(image) = record.tls.as_mut().filter(|_| self.alive) {
            let (saved, rest) = bytes.split_at(image.bytes().len());
            image.bytes_mut().copy_from_slice(saved);
            *bytes = rest;
        }
        record.spawned = self.spawned;
        record.yielder = self.yielder;
        record.alive = self.alive;
        record.pending = self.pending;
        record.caller = self.caller;
        record.registers = self.registers;
        record.name.clone_from(&self.name);
        record.created = true;
        record.created_at = self.created_at;
        record.time = self.time;
        record.clock_reads = self.clock_reads;
        record.panic.clone_from(&self.panic);
        record.panicked = self.panicked;
        record.spin.clone_from(&self.spin);
        record.unwinds = false;
        record.moved = true;
    }
}

impl Rewindable for Program {
    fn checkpoint(&mut self) -> Option<Checkpoint> {
        let runtime = Self::runtime();
        let out_of_sight = runtime.replays
            || runtime.out_of_sight.is_some()
            || runtime.user_hook.is_some()
            || interpose::reads_files();
        let unwinds = runtime.threads.iter().any(|record| record.alive && record.unwinds);
        if out_of_sight || unwinds || runtime.trace.is_some() || self.checkpoints.size >= LARGEST_TOTAL {
            return None;
        }
        runtime.save_tls();
        let Checkpoints {
            kept,
            spare,
            size,
            next,
        } = &mut self.checkpoints;
        let mut saved = spare.pop().unwrap_or_default();
        if !saved.take(runtime) {
            spare.push(saved);
            return None;
        }
        *next += 1;
        *size += saved.bytes.len();
        saved.name = *next;
        kept.push(saved);
        Some(Checkpoint(*next))
    }

    fn rewind(&mut self, to: Checkpoint) -> bool {
        let runtime = Self::runtime();
        let known = self.checkpoints.kept.binary_search_by_key(&to.0, |saved| saved.name);
        let Ok(at) = known else { return false };
        let saved = &self.checkpoints.kept[at];
        // What is out of sight would not be where it is after the steps that lead there.
        if runtime.replays || runtime.out_of_sight.is_some() {
            return false;
        }
        // Whether threads begin on clean stacks, and whether steps are recorded, changes with a restart only.
        let wants_restart = runtime.wants_clean_stacks() != saved.clean || runtime.recall.falls_short(saved.recall);
        if wants_restart || saved.clean != runtime.clean || runtime.trace.is_some() {
            return false;
        }
        runtime.switch_tls(None);
        // It lives in the program's memory.
        mem::forget(runtime.user_hook.take());
        // SAFETY: no thread runs, and the state is of this program, whose parts stay where they are.
        unsafe { saved.put_back(runtime) };
        true
    }

    fn forget_from(&mut self, from: Checkpoint) {
        let kept = self.checkpoints.kept.partition_point(|saved| saved.name < from.0);
        self.checkpoints.forget(kept);
    }
}
