//! Shows threads to the spin detector: what their steps change, and the states in which they arrive at places where
//! they are watched.

use super::Machine;
use super::session::Session;
use super::threads::Threads;
use crate::detect::spin::{Around, Arrival, OwnStep, Surroundings};
use crate::image::hash::StateHasher;
use crate::image::part::{Extent, Part, Visitor};
use crate::image::{arena, region};
use crate::operation::NEVER;
use dpor_explorer::{AccessKind, ThreadId, Transition};
use std::rc::Rc;

/// What is known of a watched thread's step at its start.
pub(crate) enum Before {
    /// The changes that the step will make.
    Recalled(Around),
    Hashed(Surroundings),
}

/// What the detector keeps from step to step, besides what it knows of each thread.
#[derive(Default)]
pub(crate) struct Watch {
    /// Whether any thread is watched.
    active: bool,
    /// The hash of the stacks of all threads but one, as they are, if known.
    others: Option<(ThreadId, u128)>,
    /// The hash of the heap and the statics, as they are, if known.
    memory: Option<u128>,
    /// Whether the execution has ended, and runs on to see whether it comes back to where it was. No thread is watched
    /// for repeating itself then.
    pub trying_out: bool,
}

impl Part for Watch {
    type Saved = (bool, Option<(ThreadId, u128)>, Option<u128>);

    unsafe fn reset(&mut self) {
        *self = Watch::default();
    }

    // Follows from what is known of threads, and a hash of what is visited anyway.
    fn visit(&self, _: Extent, _: &mut impl Visitor) {}

    unsafe fn save(&self, saved: &mut Self::Saved, _: &mut Vec<u8>) {
        *saved = (self.active, self.others, self.memory);
    }

    unsafe fn load(&mut self, saved: &Self::Saved, _: &mut &[u8]) {
        (self.active, self.others, self.memory) = *saved;
        self.trying_out = false;
    }
}

/// Tells the detector that a thread begins a step.
pub(crate) fn begins(machine: &mut Machine, transition: Transition) {
    let Machine {
        session,
        execution,
        step,
        ..
    } = machine;
    session.recall.begin(execution.length.0 as usize - 1, transition);
    let known = step.has_choice.take();
    let watched = execution.threads[transition.thread].spin.has_anchors();
    let has_choice = || execution.threads.has_choice(transition.thread, &execution.races);
    step.choosing = watched && known.unwrap_or_else(has_choice);
    step.before = watched.then(|| match session.recall.around().filter(|_| session.exact.is_none()) {
        Some(around) => Before::Recalled(around),
        None => Before::Hashed(
            execution
                .watch
                .surroundings_of(transition.thread, session, &execution.threads),
        ),
    });
}

/// Tells the detector whose step it was, and what it touched.
pub(crate) fn stepped(machine: &mut Machine, thread: ThreadId) {
    let Machine {
        session,
        execution,
        step,
        ..
    } = machine;
    let (watch, threads) = (&mut execution.watch, &mut execution.threads);
    let footprint = &step.record.footprint;
    let wrote = footprint.accesses().iter().any(|a| a.kind != AccessKind::Read);
    threads[thread].passage.moved_on(wrote);
    if !watch.active {
        return;
    }
    let around = step.before.take().map(|before| match before {
        Before::Recalled(around) => around,
        Before::Hashed(before) => {
            let after = watch.surroundings_of(thread, session, threads);
            watch.others = Some((thread, after.others));
            let around = Around {
                meddled: before.others != after.others,
                stirred: before.memory != after.memory,
                after,
            };
            session.recall.note_around(around);
            around
        }
    });
    let (meddled, stirred) = around.map_or((false, false), |around| (around.meddled, around.stirred));
    let own = &mut threads[thread];
    // To change it is to copy what saved states share.
    if own.spin.is_watched() {
        Rc::make_mut(&mut own.spin).step(&OwnStep {
            footprint,
            wrote,
            meddled,
            stirred,
            chosen: step.alternative,
            choosing: step.choosing,
            steps: execution.length.0,
        });
    }
    for (id, record) in threads.iter_mut() {
        if id != thread && record.alive && record.spin.is_watched() {
            Rc::make_mut(&mut record.spin).others_step(footprint);
        }
    }
}

/// Tells the detector that a thread has arrived at its next scheduling point. Says whether exploration must start again
/// because a loop was noticed that is worth watching from its first round.
pub(crate) fn arrived(machine: &mut Machine, thread: ThreadId) -> bool {
    let Machine { session, execution, .. } = machine;
    let (watch, threads, races) = (&mut execution.watch, &mut execution.threads, &mut execution.races);
    if watch.trying_out {
        return false;
    }
    let record = &mut threads[thread];
    let site = record.place();
    let has_timeout = || {
        record
            .operation()
            .timeout
            .is_some_and(|(alternative, _)| alternative != NEVER)
    };
    if !record.spin.is_watched_at(site) && !has_timeout() && !session.refinements.loops.contains(site) {
        if !record.passage.comes_back(site) {
            return false;
        }
        session.refinements.loops.notice(site);
        if !session.learn_in_place && !session.learn_loops_in_place {
            return true;
        }
    }
    session.tls.save(threads);
    if !threads.clean {
        // From here on, threads start on empty stacks, so that what earlier executions left there does not count.
        session.refinements.hashing = true;
        return true;
    }
    let recalled = session.recall.arrival(thread).filter(|_| session.exact.is_none());
    let arrival = recalled.unwrap_or_else(|| {
        let own = own_hash(session, threads, thread);
        let around = watch.surroundings_of(thread, session, threads);
        races.foresee(threads.waiting_for_ends());
        let values = races.values(session.follows);
        let arrival = Arrival { own, around, values };
        session.recall.note_arrival(thread, arrival);
        arrival
    });
    Rc::make_mut(&mut threads[thread].spin).arrive(site, execution.length.0, arrival);
    watch.active = true;
    false
}

/// Hashes what `add` adds.
fn hash(session: &Session, add: impl FnOnce(&mut StateHasher)) -> u128 {
    let mut hasher = session.hasher.take();
    add(&mut hasher);
    let (hash, _) = hasher.finish();
    session.hasher.set(hasher);
    hash
}

/// The hash of the suspended thread's stack, registers and thread-locals, which must have been saved.
fn own_hash(session: &Session, threads: &Threads, thread: ThreadId) -> u128 {
    let record = &threads[thread];
    // SAFETY: the thread is suspended in `arrive`, whose caller holds the registers.
    let Some(registers) = (unsafe { record.registers.as_ref() }) else {
        unreachable!("a thread that has arrived somewhere has left its registers")
    };
    hash(session, |hasher| {
        registers.words().for_each(|word| hasher.number(word));
        hasher.bytes(record.tls.as_ref().map_or(&[], |image| image.bytes()));
        hasher.number(region::draws(thread.index()));
        // SAFETY: the range is mapped, and only this OS thread writes there.
        unsafe { hasher.range(registers.stack()) };
    })
}

/// The hash of the heap and the statics.
fn memory_hash(session: &Session) -> u128 {
    hash(session, |hasher| {
        // SAFETY: the ranges are mapped, and only this OS thread writes there.
        unsafe {
            arena::used_ranges().for_each(|range| hasher.range(range));
            session.statics.ranges().for_each(|range| hasher.fixed_range(range));
        }
    })
}

/// The hash of the stacks of all threads but one.
fn others_hash(session: &Session, threads: &Threads, thread: ThreadId) -> u128 {
    hash(session, |hasher| {
        for (_, record) in threads.iter().filter(|&(id, record)| id != thread && record.alive) {
            // SAFETY: as in `own_hash`; null for a thread that has not started.
            if let Some(registers) = unsafe { record.registers.as_ref() } {
                // SAFETY: as in `own_hash`.
                unsafe { hasher.range(registers.stack()) };
            }
        }
    })
}

impl Watch {
    /// Hashes of everything that is not the thread's own.
    fn surroundings_of(&mut self, thread: ThreadId, session: &Session, threads: &Threads) -> Surroundings {
        let known = self.others.filter(|&(of, _)| of == thread);
        Surroundings {
            others: known.map_or_else(|| others_hash(session, threads, thread), |(_, others)| others),
            memory: self.memory(session),
        }
    }

    /// The program is about to run, and to change what was hashed.
    pub fn program_runs(&mut self) {
        (self.others, self.memory) = (None, None);
    }

    /// The hash of the heap and the statics. It is made once as long as the program does not run.
    pub fn memory(&mut self, session: &Session) -> u128 {
        *self.memory.get_or_insert_with(|| memory_hash(session))
    }
}
