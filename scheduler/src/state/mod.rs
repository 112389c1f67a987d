//! The state of the explored program: everything that decides how it goes on.
//!
//! [`visit`] walks over it once for all who ask: the fingerprint, its exact counterpart, and the image that people look
//! at when two states differ. What it leaves out, it says why.
//!
//! Some of what a program can change is out of sight: blocks of the C library's heap, mappings, files. Where a program
//! makes such a thing (see `platform::interpose`), states are not compared from then on; while it only reads a file,
//! until it has closed it. Left alone is what was there before the first execution, and what the C library keeps
//! without asking for memory, such as the seed of `rand`: it carries over from one execution to the next, so that a
//! program that depends on it cannot be explored by running it again anyway. Not noticed are system calls that the
//! program makes by instructions of its own.

mod image;
pub(crate) mod leaks;
mod symbols;

pub use image::{Difference, StateImage};
pub(crate) use symbols::{Caller, Symbols};

use crate::memory::hash::StateHasher;
use crate::memory::{arena, region};
use crate::queue;
use crate::runtime::Runtime;
use crate::thread::Record;
use dpor_explorer::keys::KeyMap;
use dpor_explorer::{Status, ThreadId};
use smallvec::SmallVec;
use std::ops::Range;

/// The owner of a part of the state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Owner {
    Program,
    Thread(ThreadId),
}

/// The kind of a piece of memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Memory {
    Stack,
    Heap,
    Statics,
}

/// Visits the parts of a state, always in the same order.
pub(crate) trait Visitor {
    fn number(&mut self, owner: Owner, name: &'static str, number: u64);

    fn bytes(&mut self, owner: Owner, name: &'static str, bytes: &[u8]);

    /// # Safety
    /// The bytes can be read, and nobody writes them meanwhile.
    unsafe fn memory(&mut self, owner: Owner, memory: Memory, range: Range<usize>);
}

/// Adds a list as parts of a state: its length and its items.
pub(crate) fn list(name: &'static str, items: impl Iterator<Item = u64>, add: &mut impl FnMut(&'static str, u64)) {
    let items: SmallVec<[u64; 8]> = items.collect();
    add(name, items.len() as u64);
    items.iter().for_each(|&item| add(name, item));
}

/// Visits the state between two steps. The thread-locals in place must have been saved, and the statuses be up to date.
pub(crate) fn visit(runtime: &Runtime, visitor: &mut impl Visitor) {
    let Runtime {
        // Set once, before the first execution.
        options: _,
        threads,
        statuses,
        // Who moved last, and how: the next step overwrites them.
        current: _,
        chosen: _,
        // The record of the last step, which is the explorer's by now.
        step: _,
        repeating: _,
        // Say whether the statuses are up to date, and they are.
        stale: _,
        changed: _,
        // None between steps.
        request: _,
        // How much of an execution lies behind decides nothing.
        steps: _,
        // Below: what was learnt decides where scheduling points are. It only grows.
        refinements,
        // Says whether any thread's spin detector has entries.
        watched: _,
        // Both hold within a step only.
        before: _,
        choosing: _,
        // A hash of what is hashed anyway.
        surroundings: _,
        // Of the steps that led here, and of others.
        recall: _,
        // Nothing that the program reads.
        output: _,
        labels: _,
        weak_orderings: _,
        clock_started,
        times,
        shares,
        main_result,
        // What is looked for in the end, and what is known to be none.
        find_leaks: _,
        held: _,
        // For reports.
        trace: _,
        user_hook,
        learn_in_place,
        spin_blocks,
        trying_out,
        statics,
        // The same for all executions.
        tls: _,
        base_tls: _,
        // The OS thread's own are none of the program's; who is in place was switched to last.
        os_tls: _,
        tls_owner: _,
        // How states are compared is not part of them.
        comparing: _,
        clean: _,
        out_of_sight: _,
        exact: _,
        hashed: _,
        scratch: _,
        allocations: _,
        frees: _,
        freed_wrongly: _,
        failed_at: _,
        symbols: _,
        replays: _,
        #[cfg(feature = "faults")]
        coarse,
    } = runtime;
    #[cfg(feature = "faults")]
    let stacks = !coarse;
    #[cfg(not(feature = "faults"))]
    let stacks = true;
    // Where it is asked whether all is as it was some steps ago, the time has passed; it counts if anybody has looked
    // at it.
    let clock_started = *clock_started && !trying_out;

    for (index, (record, status)) in threads.iter().zip(statuses).enumerate() {
        // Others are known from earlier executions only.
        if record.created {
            let owner = Owner::Thread(ThreadId(index as u32));
            visit_thread(record, status, owner, clock_started, stacks, visitor);
            if *trying_out {
                visitor.number(owner, "questions for the time", u64::from(record.clock_reads));
            }
        }
    }
    let owner = Owner::Program;
    visitor.number(owner, "end of threads", u64::MAX);

    let learnt = [
        ("observed releases", refinements.observed_in_order.len() as u64),
        ("noticed loops", refinements.loops.len() as u64),
        ("learning in place", u64::from(*learn_in_place)),
        ("held back when spinning", u64::from(*spin_blocks)),
    ];
    learnt
        .into_iter()
        .for_each(|(name, number)| visitor.number(owner, name, number));

    // As long as nobody has asked for the time, all clocks stand still.
    visitor.number(owner, "clock started", u64::from(clock_started));
    if clock_started {
        // A location that was only looked at has no time of its own.
        let mut times: Vec<(u64, u64)> = times
            .iter()
            .filter(|(_, time)| !time.is_zero())
            .map(|(location, time)| (location.0, nanoseconds(*time)))
            .collect();
        times.sort_unstable();
        visitor.number(owner, "locations with a time", times.len() as u64);
        for (location, time) in times {
            visitor.number(owner, "location", location);
            visitor.number(owner, "time of the location", time);
        }
    }

    shares.numbers(|name, number| visitor.number(owner, name, number));
    // What the nodes hold is on their stacks, or in their queue's name.
    visitor.number(owner, "waiting threads", queue::waiting().len() as u64);
    for &(queue, node) in queue::waiting() {
        visitor.number(owner, "queue of a waiting thread", queue as u64);
        visitor.number(owner, "node of a waiting thread", node as u64);
    }

    match main_result {
        None => visitor.number(owner, "main thread's result", 0),
        Some(Ok(())) => visitor.number(owner, "main thread's result", 1),
        Some(Err(failure)) => {
            visitor.number(owner, "main thread's result", 2);
            visitor.bytes(owner, "main thread's failure", failure.kind.as_bytes());
            visitor.bytes(owner, "main thread's failure", failure.message.as_bytes());
        }
    }
    // The hook itself is in the program's memory.
    let (hook, functions) = user_hook.as_ref().map_or((0, 0), |hook| {
        // SAFETY: a reference to a trait object is the address of its data and that of its functions.
        unsafe { std::mem::transmute::<&dyn Fn(&std::panic::PanicHookInfo<'_>), (usize, usize)>(&**hook) }
    });
    visitor.number(owner, "panic hook", hook as u64);
    visitor.number(owner, "functions of the panic hook", functions as u64);

    // SAFETY: the ranges are mapped, and only this OS thread writes there.
    unsafe {
        for range in arena::used_ranges() {
            // A thread that has finished leaves its heap.
            let thread = region::arena_thread(range.start);
            let owner = Owner::Thread(ThreadId(thread as u32));
            // The first free address is the end of the range. How large the stack is decides only when it overflows.
            visitor.number(owner, "newest block", arena::newest_block(thread) as u64);
            visitor.memory(owner, Memory::Heap, range);
        }
        visitor.number(owner, "end of heaps", u64::MAX);
        for range in statics.iter().flat_map(|statics| statics.ranges()) {
            visitor.memory(owner, Memory::Statics, range);
        }
    }
}

fn visit_thread(
    record: &Record,
    status: &Status,
    owner: Owner,
    clock_started: bool,
    stacks: bool,
    visitor: &mut impl Visitor,
) {
    let Record {
        // They follow from the id.
        parent: _,
        nth: _,
        // Over all executions.
        children: _,
        spawned,
        // The coroutine is its stack, whose base it keeps at a fixed place, as it is kept itself.
        coroutine: _,
        yielder: _,
        tls,
        alive,
        // Say whether the status is up to date, and it is.
        moved: _,
        depends_on: _,
        pending,
        // In the site.
        caller: _,
        // For reports.
        callers: _,
        registers,
        name,
        created: _,
        // The creator's stack told where it was.
        created_at: _,
        time,
        clock_reads,
        panic,
        panicked,
        // Shows in the thread-locals, where std counts the thread's panics.
        unwinds: _,
        spin,
    } = record;
    let Owner::Thread(id) = owner else {
        unreachable!("a thread's part of the state")
    };
    visitor.number(owner, "id", u64::from(id.0));
    visitor.number(owner, "alive", u64::from(*alive));
    visitor.number(
        owner,
        "panicked",
        u64::from(*panicked) | u64::from(panic.is_some()) << 1,
    );
    // What is known of a panic may be the failure of an execution.
    if let Some(panic) = panic {
        visitor.bytes(owner, "panic message", panic.message.as_bytes());
        let (file, line, column) = panic
            .location
            .as_ref()
            .map_or(("", 0, 0), |(f, l, c)| (f.as_str(), *l, *c));
        visitor.bytes(owner, "panicked in", file.as_bytes());
        visitor.number(owner, "panicked at", u64::from(line) << 32 | u64::from(column));
    }
    if !alive {
        return;
    }
    visitor.number(owner, "threads created", u64::from(*spawned));
    visitor.number(owner, "pending operation", record.site());
    visitor.number(owner, "object of the operation", record.operation().object.0);
    // Its accesses and guards are on the thread's stack, or constant: their addresses stand for them.
    visitor.number(owner, "address of the operation", pending.addr() as u64);
    match status {
        Status::Enabled(alternatives) => {
            visitor.number(owner, "enabled alternatives", alternatives.len() as u64);
            for alternative in alternatives.iter() {
                visitor.number(owner, "enabled alternative", u64::from(alternative));
            }
        }
        _ => visitor.number(owner, "enabled alternatives", 0),
    }
    spin.numbers(|name, number| visitor.number(owner, name, number));
    if clock_started {
        visitor.number(owner, "time", nanoseconds(*time));
        visitor.number(owner, "questions for the time", u64::from(*clock_reads));
    }
    visitor.bytes(owner, "name", name.as_deref().unwrap_or_default().as_bytes());
    visitor.number(owner, "random draws", region::draws(id.index()));
    // SAFETY: the region is reserved while a model exists, and no model thread runs.
    let root = unsafe { (*region::record(id.index())).local_root };
    visitor.number(owner, "root of thread-locals", root.addr() as u64);
    visitor.bytes(owner, "thread-locals", tls.as_ref().map_or(&[], |image| image.bytes()));
    visitor.number(owner, "address of the registers", registers.addr() as u64);
    // SAFETY: the thread is suspended in `arrive`, whose caller holds the registers; null for a thread that has not
    // started.
    if let Some(registers) = unsafe { registers.as_ref() }
        && stacks
    {
        // The registers are on it. SAFETY: it is mapped, and its thread suspended.
        unsafe { visitor.memory(owner, Memory::Stack, registers.stack()) };
    }
}

fn nanoseconds(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

struct Hashing(StateHasher);

impl Visitor for Hashing {
    #[inline]
    fn number(&mut self, _: Owner, _: &'static str, number: u64) {
        self.0.number(number);
    }

    #[inline]
    fn bytes(&mut self, _: Owner, _: &'static str, bytes: &[u8]) {
        self.0.bytes(bytes);
    }

    #[inline]
    unsafe fn memory(&mut self, _: Owner, _: Memory, range: Range<usize>) {
        // SAFETY: the caller's promise.
        unsafe { self.0.range(range) };
    }
}

/// Records everything that is hashed, as it is.
struct Recording(Vec<u8>);

impl Visitor for Recording {
    fn number(&mut self, _: Owner, _: &'static str, number: u64) {
        self.0.extend_from_slice(&number.to_ne_bytes());
    }

    fn bytes(&mut self, owner: Owner, name: &'static str, bytes: &[u8]) {
        self.number(owner, name, bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    unsafe fn memory(&mut self, owner: Owner, _: Memory, range: Range<usize>) {
        self.number(owner, "", range.start as u64);
        // SAFETY: the caller's promise.
        self.bytes(owner, "", unsafe {
            std::slice::from_raw_parts(range.start as *const u8, range.len())
        });
    }
}

/// The exact state behind each fingerprint.
pub(crate) type ExactStates = KeyMap<u128, Box<[u8]>>;

/// The hash of the whole state, under the conditions of [`visit`].
///
/// # Panics
/// If states are recorded, and another one has the same hash.
pub(crate) fn fingerprint(runtime: &mut Runtime) -> u128 {
    let mut hashing = Hashing(StateHasher::new(runtime.scratch.take()));
    visit(runtime, &mut hashing);
    let (hash, bytes, memory) = hashing.0.finish();
    runtime.scratch.set(memory);
    runtime.hashed += bytes;
    if let Some(mut exact) = runtime.exact.take() {
        let mut recording = Recording(Vec::new());
        visit(runtime, &mut recording);
        check(&mut exact, hash, recording.0);
        runtime.exact = Some(exact);
    }
    hash
}

fn check(exact: &mut ExactStates, hash: u128, state: Vec<u8>) {
    let state = state.into_boxed_slice();
    let known = exact.entry(hash).or_insert_with(|| state.clone());
    assert!(
        *known == state,
        "hash collision: two states have the fingerprint {hash:#034x}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "hash collision")]
    fn a_collision_is_noticed() {
        let mut exact = ExactStates::default();
        check(&mut exact, 1, vec![1, 2]);
        check(&mut exact, 2, vec![3]);
        check(&mut exact, 1, vec![1, 2]);
        assert_eq!(exact.len(), 2);
        check(&mut exact, 2, vec![4]);
    }
}
