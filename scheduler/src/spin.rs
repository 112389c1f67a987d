//! Detection of threads that only repeat themselves.
//!
//! A thread that comes back to the same place with the same memory behind it, after steps that changed nothing
//! (it only read), or after steps with which it undid its own changes while nobody else moved, would do the same
//! again and again until another thread changes a location that it looked at. Executions that differ only in
//! how often such a loop goes round end in the same states, so the thread is held back until then: a spin loop is
//! a wait. (The same idea, for loops that a compiler has proven free of effects, is in Kokologiannakis, Ren and
//! Vafeiadis, *Dynamic Partial Order Reductions for Spinloops*, FMCAD 2021; we compare the memory instead.)
//!
//! The comparison covers the thread's live stack with its registers, its thread-locals, all of the heap and all
//! statics. It is made only at places that a thread has been seen to come back to. Heap and statics need not be the
//! same as they were if none of the thread's own steps has changed a byte of them, and it only read: then others have,
//! by steps that it has not seen, or that it would find the same again. So whether such a thread waits, and for what,
//! is the same for every order of independent steps, on which the unfolding-based strategy relies. If what it read has
//! been changed since it did, before it was back, it waits for what has happened already.

use crate::memory::{arena, hash, region, stacks};
use crate::operation::{NEVER, Operation, OperationKind};
use crate::runtime::{Runtime, arrive, on_model, on_model_thread};
use crate::state;
use dpor_explorer::{Access, AccessKind, BitSet, Condition, Location, ThreadId, Transition};
use smallvec::SmallVec;
use std::arch::asm;
use std::mem::{MaybeUninit, offset_of};
use std::ops::Range;
use std::panic::Location as Caller;
use std::rc::Rc;

/// Maximum number of places per thread that it may come back to; others are forgotten.
const PLACES: usize = 32;
/// Number of visits after which a place is watched although the thread changes something between them.
const VISITS: u32 = 6;
/// Number of `spin_loop`s in a row which shows that they wait for nothing.
const PAUSES: u32 = 64;
/// Maximum number of places at which a thread is watched at a time.
const ANCHORS: usize = 8;

/// The registers that survive a call, with the places in the code and on the stack where a thread requests an
/// operation: together with the stack above, all that decides how it goes on.
#[repr(C)]
pub struct Registers {
    stack_pointer: u64,
    preserved: [u64; 6],
    /// The only place that holds the count of an unrolled loop.
    instruction_pointer: u64,
}

impl Registers {
    /// Offset of the instruction pointer in bytes.
    pub(crate) const INSTRUCTION_POINTER: usize = offset_of!(Registers, instruction_pointer);

    /// The caller's registers.
    #[inline(always)]
    pub(crate) fn save() -> Registers {
        let mut registers = MaybeUninit::<Registers>::uninit();
        // SAFETY: writes the eight words of the value.
        unsafe {
            asm!(
                "mov [{0}], rsp", "mov [{0} + 8], rbx", "mov [{0} + 16], rbp", "mov [{0} + 24], r12",
                "mov [{0} + 32], r13", "mov [{0} + 40], r14", "mov [{0} + 48], r15",
                "lea rax, [rip]", "mov [{0} + 56], rax",
                in(reg) registers.as_mut_ptr(), out("rax") _,
                // So that whatever the caller still needs is in a preserved register or on the stack by now.
                clobber_abi("C"), options(nostack, preserves_flags)
            );
            registers.assume_init()
        }
    }

    fn words(&self) -> impl Iterator<Item = u64> + '_ {
        [self.stack_pointer, self.instruction_pointer]
            .into_iter()
            .chain(self.preserved)
    }

    /// The live part of the stack of a suspended thread with these registers.
    pub(crate) fn stack(&self) -> Range<usize> {
        stacks::live(self.stack_pointer as usize)
    }

    /// The name of the register at this offset, and the offset of its word.
    pub(crate) fn name_at(offset: usize) -> (&'static str, usize) {
        const NAMES: [&str; size_of::<Registers>() / 8] = ["rsp", "rbx", "rbp", "r12", "r13", "r14", "r15", "rip"];
        (NAMES[offset / 8], offset & !7)
    }
}

/// A place that the thread has visited, and what it has done since.
#[derive(Clone, Debug)]
struct Anchor {
    site: u64,
    /// Hash of what was the thread's own then: stack, registers and thread-locals.
    own: u128,
    /// Hash of the heap and the statics then.
    memory: u128,
    /// Length of the execution then.
    steps: u32,
    /// Number of steps that the thread has made since.
    own_steps: u32,
    touched: SmallVec<[Touched; 4]>,
    /// The alternative with which the thread left the place.
    left_by: u32,
    /// The alternatives with which it left the place in this state and came back to the same state.
    taken: BitSet,
    /// Hash of the other threads' stacks then.
    others: u128,
    /// Whether it has changed something since.
    wrote: bool,
    /// Whether another thread has changed something since that it had touched.
    disturbed: bool,
    /// Whether it has asked since for the time, which is always a different one.
    saw_clock: bool,
    /// Whether it has written to another thread's stack since.
    meddled: bool,
    /// Whether one of its steps since has changed the heap or the statics.
    stirred: bool,
    /// Whether, after the step with which it left, it took one of several alternatives; with another, it might not have
    /// come back.
    chose: bool,
}

/// Everything that is not a thread's own.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Surroundings {
    /// Hash of the stacks of all other threads.
    others: u128,
    /// Hash of the heap and the statics.
    memory: u128,
}

/// The changes that a step of a watched thread has made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Around {
    /// Whether other threads' stacks have changed.
    pub meddled: bool,
    /// Whether the heap or the statics have changed.
    pub stirred: bool,
    pub after: Surroundings,
}

/// The state that a thread finds at a place where it is watched.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Arrival {
    pub own: u128,
    pub around: Surroundings,
}

/// What is known of a watched thread's step at its start.
pub(crate) enum Before {
    /// The changes that the step will make.
    Recalled(Around),
    Hashed(Surroundings),
}

/// A location that a thread touched in its round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touched {
    pub location: Location,
    /// Length of the execution when the thread first touched it.
    steps: u32,
}

/// What a thread waits for that would only repeat itself.
#[derive(Clone, Debug)]
pub(crate) struct Awaiting {
    pub touched: SmallVec<[Touched; 4]>,
    changed: bool,
    /// The alternatives that lead back here.
    taken: BitSet,
    /// Whether the round changed something, and changed it back.
    wrote: bool,
}

impl Awaiting {
    /// Says whether the alternative leads back here, whatever other threads have done since.
    pub fn concerns(&self, alternative: u32) -> bool {
        self.taken.contains(alternative)
    }

    /// Says whether the thread's round changes something that others may wait for, although it is the same in the end.
    pub fn writes(&self) -> bool {
        self.wrote
    }

    /// The disjunction under which another round can have another outcome.
    pub fn conditions(&self) -> impl Iterator<Item = Condition> + '_ {
        let changed = |&Touched { location, steps }: &Touched| Condition::ChangedSince { location, steps };
        self.touched.iter().map(changed)
    }
}

#[derive(Clone, Copy, Debug)]
struct Passed {
    site: u64,
    visits: u32,
    idle: bool,
}

/// What the detector knows about one thread.
#[derive(Clone, Default, Debug)]
pub(crate) struct Spin {
    /// The places passed, the number of visits, and whether the thread has changed anything since.
    passed: SmallVec<[Passed; 4]>,
    anchors: SmallVec<[Anchor; 1]>,
    awaiting: Option<Awaiting>,
    /// The place of the last `spin_loop` or `yield_now`, and the number of them in a row, if no scheduling point came
    /// after it.
    hint: Option<(u64, u32)>,
}

impl Spin {
    /// Forgets everything about a thread.
    pub fn forget(spin: &mut Rc<Spin>) {
        match Rc::get_mut(spin) {
            Some(spin) => spin.clear(),
            // Saved states have it, too.
            None => *spin = Rc::default(),
        }
    }

    fn clear(&mut self) {
        let Spin {
            passed,
            anchors,
            awaiting,
            hint,
        } = self;
        passed.clear();
        anchors.clear();
        (*awaiting, *hint) = (None, None);
    }

    pub fn awaiting(&self) -> Option<&Awaiting> {
        self.awaiting.as_ref()
    }

    /// Says whether the thread is held back from taking the alternative.
    pub fn holds_back(&self, alternative: u32) -> bool {
        self.awaiting
            .as_ref()
            .is_some_and(|awaiting| !awaiting.changed && awaiting.concerns(alternative))
    }

    /// Says whether a hint at this place follows `allowed` hints at the same place, with no scheduling point between:
    /// then the hint itself must be one.
    pub fn hinted_again(&mut self, site: u64, allowed: u32) -> bool {
        let before = self
            .hint
            .map_or(0, |(last, times)| if last == site { times } else { 0 });
        self.hint = Some((site, before + 1));
        before >= allowed
    }

    /// Notes a step of the thread.
    fn moved_on(&mut self, wrote: bool) {
        self.hint = None;
        if wrote {
            self.passed.iter_mut().for_each(|passed| passed.idle = false);
        }
    }

    /// Notes that the thread asks for the time.
    pub fn looked_at_clock(&mut self) {
        self.anchors.iter_mut().for_each(|anchor| anchor.saw_clock = true);
    }

    /// The part of the program's state that holds the thread back.
    ///
    /// Left out is what may hold it back later: which places it has passed, and what it did since. To hold a thread
    /// back saves rounds of a loop that lead nowhere; the states in which the program can end are the same with and
    /// without. So what was explored from a state, with what the detector knew then, holds for it whatever it knows
    /// now.
    pub fn numbers(&self, mut add: impl FnMut(&'static str, u64)) {
        let Spin {
            passed: _,
            anchors: _,
            awaiting,
            hint,
        } = self;
        let mut list = |name, items: &mut dyn Iterator<Item = u64>| state::list(name, items, &mut add);
        // Of a thread that has just been created; others lose it when their step ends.
        list("place of a hint", &mut hint.iter().map(|&(place, _)| place));
        list("hints in a row", &mut hint.iter().map(|&(_, times)| u64::from(times)));
        list("waits", &mut awaiting.iter().map(|_| 1));
        if let Some(awaiting) = awaiting {
            let Awaiting {
                touched,
                changed,
                taken,
                wrote,
            } = awaiting;
            list("what it waits for has changed", &mut [u64::from(*changed)].into_iter());
            list("waits for", &mut touched.iter().map(|touched| touched.location.0));
            list("held back from", &mut taken.iter().map(u64::from));
            list("its round writes", &mut [u64::from(*wrote)].into_iter());
        }
    }

    fn is_watched(&self) -> bool {
        !self.anchors.is_empty() || self.awaiting.is_some()
    }
}

/// `spin_loop` and `yield_now` of the explored program: announces that the thread waits. Off model threads they are the
/// real ones.
///
/// A loop that looks at instrumented objects is noticed without it. Of one that does not (it waits for plain memory,
/// say), the hint itself becomes a scheduling point.
#[track_caller]
pub fn hint(kind: OperationKind) {
    let caller = Caller::caller();
    if !on_model_thread() {
        match kind {
            OperationKind::Yield => std::thread::yield_now(),
            _ => std::hint::spin_loop(),
        }
        return;
    }
    hint_from(kind, Some(caller));
}

/// Like [`hint`], on a model thread, for a function of the C library.
pub(crate) fn hint_call(kind: OperationKind) {
    hint_from(kind, None);
}

/// Like [`hint`], on a model thread, with this caller.
#[inline(always)]
pub(crate) fn hint_from(kind: OperationKind, caller: Option<&'static Caller<'static>>) {
    // Pauses come in rows of a known length, which wait for nothing.
    let allowed = if kind == OperationKind::SpinLoop { PAUSES } else { 1 };
    let site = caller.map_or(0, |caller| std::ptr::from_ref(caller).addr() as u64);
    let again = on_model(|runtime| {
        let current = runtime.current;
        Rc::make_mut(&mut runtime.threads[current.index()].spin).hinted_again(site, allowed)
    });
    if again {
        arrive(&Operation::always(kind, Location(0), &[]), caller, &Registers::save());
    }
}

/// Tells the detector that a thread begins a step.
pub(crate) fn begins(runtime: &mut Runtime, transition: Transition) {
    let thread = transition.thread;
    let watched = !runtime.threads[thread.index()].spin.anchors.is_empty();
    runtime.recall.begin(runtime.steps as usize - 1, transition);
    runtime.before = watched.then(|| match runtime.recall.around().filter(|_| runtime.exact.is_none()) {
        Some(around) => Before::Recalled(around),
        None => Before::Hashed(surroundings(runtime, thread)),
    });
    // It is about to change.
    runtime.surroundings = None;
    runtime.choosing = watched && runtime.threads[thread.index()].has_choice();
}

/// Tells the detector whose step it was, and what it touched.
pub(crate) fn stepped(runtime: &mut Runtime, thread: ThreadId) {
    let footprint = &runtime.step.footprint;
    let wrote = footprint.accesses().iter().any(|a| a.kind != AccessKind::Read);
    if !runtime.watched {
        runtime.surroundings = None;
        let spin = &mut runtime.threads[thread.index()].spin;
        if spin.hint.is_some() || wrote && spin.passed.iter().any(|passed| passed.idle) {
            Rc::make_mut(spin).moved_on(wrote);
        }
        return;
    }
    let around = runtime.before.take().map(|before| match before {
        Before::Recalled(around) => around,
        Before::Hashed(before) => {
            let after = surroundings(runtime, thread);
            let around = Around {
                meddled: before.others != after.others,
                stirred: before.memory != after.memory,
                after,
            };
            runtime.recall.note_around(around);
            around
        }
    });
    runtime.surroundings = around.map(|around| (thread, around.after));
    let (meddled, stirred) = around.map_or((false, false), |around| (around.meddled, around.stirred));
    let footprint = &runtime.step.footprint;
    let steps = runtime.steps;
    {
        let spin = Rc::make_mut(&mut runtime.threads[thread.index()].spin);
        // What it has done before what it waited for changed, says nothing about what it would do now.
        if spin.awaiting.take().is_some_and(|awaiting| awaiting.changed)
            && let Some(left) = spin.anchors.last_mut()
        {
            left.taken.clear();
        }
        spin.moved_on(wrote);
        for anchor in &mut spin.anchors {
            if anchor.own_steps == 0 {
                anchor.left_by = runtime.chosen;
            } else {
                anchor.chose |= runtime.choosing;
            }
            anchor.own_steps += 1;
            anchor.wrote |= wrote;
            anchor.meddled |= meddled;
            anchor.stirred |= stirred;
            for &Access { location, .. } in footprint.accesses() {
                if !anchor.touched.iter().any(|touched| touched.location == location) {
                    anchor.touched.push(Touched { location, steps });
                }
            }
        }
    }
    for (i, record) in runtime.threads.iter_mut().enumerate() {
        if i == thread.index() || !record.alive || !record.spin.is_watched() {
            continue;
        }
        let touches = |touched: &[Touched]| {
            let mut changes = footprint.accesses().iter().filter(|a| a.kind != AccessKind::Read);
            changes.any(|a| touched.iter().any(|touched| touched.location == a.location))
        };
        let spin = Rc::make_mut(&mut record.spin);
        for anchor in &mut spin.anchors {
            anchor.disturbed |= touches(&anchor.touched);
        }
        if let Some(awaiting) = &mut spin.awaiting {
            awaiting.changed |= awaiting.touched.is_empty() || touches(&awaiting.touched);
        }
    }
}

/// Tells the detector that a thread has arrived at its next scheduling point. Says whether exploration must start again
/// because a loop was noticed that is worth watching from its first round.
pub(crate) fn arrived(runtime: &mut Runtime, thread: ThreadId) -> bool {
    if runtime.trying_out {
        return false;
    }
    let record = &runtime.threads[thread.index()];
    let operation = record.operation();
    let site = record.place();
    let has_timeout = operation.timeout.is_some_and(|(alternative, _)| alternative != NEVER);
    let known = record.spin.anchors.iter().position(|anchor| anchor.site == site);
    if known.is_none() && !has_timeout && !runtime.refinements.loops.contains(&site) {
        let spin = Rc::make_mut(&mut runtime.threads[thread.index()].spin);
        match spin.passed.iter_mut().find(|passed| passed.site == site) {
            Some(passed) if !passed.idle && passed.visits < VISITS => {
                passed.visits += 1;
                passed.idle = true;
                return false;
            }
            Some(_) => {}
            None => {
                if spin.passed.len() == PLACES {
                    spin.passed.remove(0);
                }
                spin.passed.push(Passed {
                    site,
                    visits: 1,
                    idle: true,
                });
                return false;
            }
        }
        runtime.refinements.loops.insert(site);
        if !runtime.learn_in_place {
            return true;
        }
    }
    runtime.save_tls();
    if !runtime.clean {
        // From here on, threads start on empty stacks, so that what earlier executions left there does not count.
        runtime.refinements.hashing = true;
        return true;
    }
    let recalled = runtime.recall.arrival(thread).filter(|_| runtime.exact.is_none());
    let arrival = recalled.unwrap_or_else(|| {
        let own = own_hash(runtime, thread);
        let around = surroundings(runtime, thread);
        let arrival = Arrival { own, around };
        runtime.recall.note_arrival(thread, arrival);
        arrival
    });
    let Arrival {
        own,
        around: Surroundings { others, memory },
    } = arrival;
    let steps = runtime.steps;
    let spin = Rc::make_mut(&mut runtime.threads[thread.index()].spin);
    let mut taken = BitSet::new();
    if let Some(known) = known {
        let anchor = spin.anchors.remove(known);
        let idle = if anchor.wrote {
            let alone = steps - anchor.steps == anchor.own_steps;
            alone && anchor.others == others && anchor.memory == memory
        } else {
            !anchor.meddled && (!anchor.stirred || !anchor.disturbed && anchor.memory == memory)
        };
        if idle && !anchor.saw_clock && !anchor.chose && anchor.own == own {
            taken = anchor.taken;
            taken.insert(anchor.left_by);
            spin.awaiting = Some(Awaiting {
                touched: anchor.touched,
                changed: anchor.disturbed,
                taken: taken.clone(),
                wrote: anchor.wrote,
            });
        }
    }
    if spin.anchors.len() == ANCHORS {
        spin.anchors.remove(0);
    }
    spin.anchors.push(Anchor {
        site,
        own,
        memory,
        steps,
        own_steps: 0,
        touched: SmallVec::new(),
        left_by: 0,
        taken,
        others,
        wrote: false,
        disturbed: false,
        saw_clock: false,
        meddled: false,
        stirred: false,
        chose: false,
    });
    runtime.watched = true;
    false
}

/// The hash of the suspended thread's stack, registers and thread-locals, which must have been saved.
fn own_hash(runtime: &Runtime, thread: ThreadId) -> u128 {
    let record = &runtime.threads[thread.index()];
    // SAFETY: the thread is suspended in `arrive`, whose caller holds the registers.
    let Some(registers) = (unsafe { record.registers.as_ref() }) else {
        unreachable!("a thread that has arrived somewhere has left its registers")
    };
    let mut hasher = hash::StateHasher::new(runtime.scratch.take());
    registers.words().for_each(|word| hasher.number(word));
    hasher.bytes(record.tls.as_ref().map_or(&[], |image| image.bytes()));
    hasher.number(region::draws(thread.index()));
    // SAFETY: the range is mapped, and only this OS thread writes there.
    unsafe { hasher.range(registers.stack()) };
    let (hash, _, memory) = hasher.finish();
    runtime.scratch.set(memory);
    hash
}

/// Hashes of everything that is not the thread's own.
fn surroundings(runtime: &Runtime, thread: ThreadId) -> Surroundings {
    let (whose, known) = runtime.surroundings.unzip();
    Surroundings {
        others: match known.filter(|_| whose == Some(thread)) {
            Some(known) => known.others,
            None => others_hash(runtime, thread),
        },
        memory: known.map_or_else(|| memory_hash(runtime), |known| known.memory),
    }
}

/// The hash of the heap and the statics.
fn memory_hash(runtime: &Runtime) -> u128 {
    let mut hasher = hash::StateHasher::new(runtime.scratch.take());
    // SAFETY: the ranges are mapped, and only this OS thread writes there.
    unsafe {
        for range in arena::used_ranges() {
            hasher.range(range);
        }
        for range in runtime.statics.iter().flat_map(|statics| statics.ranges()) {
            hasher.range(range);
        }
    }
    let (hash, _, memory) = hasher.finish();
    runtime.scratch.set(memory);
    hash
}

/// The hash of the stacks of all threads but one.
fn others_hash(runtime: &Runtime, thread: ThreadId) -> u128 {
    let mut hasher = hash::StateHasher::new(runtime.scratch.take());
    for (i, record) in runtime.threads.iter().enumerate() {
        if i != thread.index() && record.alive {
            // SAFETY: as in `own_hash`; null for a thread that has not started.
            if let Some(registers) = unsafe { record.registers.as_ref() } {
                // SAFETY: as in `own_hash`.
                unsafe { hasher.range(registers.stack()) };
            }
        }
    }
    let (hash, _, memory) = hasher.finish();
    runtime.scratch.set(memory);
    hash
}
