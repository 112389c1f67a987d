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
//! is the same for every order of steps that touch nothing in common, on which the unfolding-based strategy relies. If
//! what it read has been changed since it did, before it was back, it waits for what has happened already.
//!
//! Under weak memory, what a thread has stored to an atomic stays behind where others may find it, although the thread
//! has stored something else since. So after a round that stores, the values that others may find must be the same, and
//! what all know of them: another round leaves more of them behind, unless they are few
//! ([`crate::memory_model::rc11`]).

use crate::image::part;
use dpor_explorer::{Access, AccessKind, BitSet, Condition, Footprint, Location};
use smallvec::SmallVec;
use std::rc::Rc;

/// Maximum number of places per thread that it may come back to; others are forgotten.
const PLACES: usize = 32;
/// Number of visits after which a place is watched although the thread changes something between them.
const VISITS: u32 = 6;
/// Maximum number of places at which a thread is watched at a time.
const ANCHORS: usize = 8;

/// Rounds by which a thread has come back to the same state, one for each alternative with which it has left.
#[derive(Clone, Default, Debug)]
struct Rounds {
    alternatives: BitSet,
    /// Whether some of them changed something, and changed it back.
    wrote: bool,
    /// Whether a library left a count out of some of them, as it is specified.
    left_count_out: bool,
}

/// A place that the thread has visited, and what it has done since.
#[derive(Clone, Debug)]
struct Anchor {
    site: u64,
    /// Hash of what was the thread's own then: stack, registers and thread-locals.
    own: u128,
    /// Hash of the heap and the statics then.
    memory: u128,
    /// Hash of the values of atomics that threads could find then.
    values: u128,
    /// Length of the execution then, with the steps since that were nobody's.
    steps: u32,
    /// Number of steps that the thread has made since.
    own_steps: u32,
    touched: SmallVec<[Touched; 4]>,
    /// The alternative with which the thread left the place.
    left_by: u32,
    /// The rounds before this one by which it came back to the same state.
    taken: Rounds,
    /// Hash of the other threads' stacks then.
    others: u128,
    /// Whether it has changed something since.
    wrote: bool,
    /// Whether another thread has changed something since that it had touched.
    disturbed: bool,
    /// Whether it has asked since for the time, which is always a different one.
    saw_clock: bool,
    /// Whether it has left a count out since, at which, as it is written, it would do something else.
    left_count_out: bool,
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
    pub others: u128,
    /// Hash of the heap and the statics.
    pub memory: u128,
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
    /// Hash of the values of atomics that threads may find, with what they know of them; 0 if each finds the last one.
    pub values: u128,
}

/// A step of a thread, as the detector sees it.
pub(crate) struct OwnStep<'a> {
    pub footprint: &'a Footprint,
    pub wrote: bool,
    pub meddled: bool,
    pub stirred: bool,
    /// The alternative that was taken.
    pub chosen: u32,
    /// Whether there were others.
    pub choosing: bool,
    /// Length of the execution with this step.
    pub steps: u32,
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
    /// The rounds that lead back here.
    taken: Rounds,
}

impl Awaiting {
    /// Says whether the alternative leads back here, whatever other threads have done since.
    pub fn concerns(&self, alternative: u32) -> bool {
        self.taken.alternatives.contains(alternative)
    }

    /// Says whether some round changes something that others may wait for, although it is the same in the end.
    pub fn writes(&self) -> bool {
        self.taken.wrote
    }

    /// Says whether the thread, as the program is written, counts rounds that it would go on making, and might do
    /// something else at some count.
    pub fn leaves_count_out(&self) -> bool {
        self.taken.left_count_out && !self.changed
    }

    /// The disjunction under which another round can have another outcome.
    pub fn conditions(&self) -> impl Iterator<Item = Condition> + '_ {
        let changed = |&Touched { location, steps }: &Touched| Condition::ChangedSince { location, steps };
        self.touched.iter().map(changed)
    }
}

/// A place that the thread has passed, the number of visits, and whether it has changed nothing since.
#[derive(Clone, Copy, Debug)]
struct Passed {
    site: u64,
    visits: u32,
    idle: bool,
}

/// Where a thread has been: what is known of each thread, watched or not. It is small, and changes with every step.
#[derive(Default, Debug)]
pub(crate) struct Passage {
    passed: SmallVec<[Passed; 4]>,
    /// The place of the last `spin_loop` or `yield_now`, and the number of them in a row, if no scheduling point came
    /// after it.
    hint: Option<(u64, u32)>,
}

impl Clone for Passage {
    fn clone(&self) -> Self {
        let mut new = Passage::default();
        new.clone_from(self);
        new
    }

    fn clone_from(&mut self, other: &Self) {
        self.passed.clear();
        // Mostly there is nothing. `SmallVec::clone_from` copies element by element.
        if !other.passed.is_empty() {
            self.passed.extend_from_slice(&other.passed);
        }
        self.hint = other.hint;
    }
}

impl Passage {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.passed.clear();
        self.hint = None;
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
    pub fn moved_on(&mut self, wrote: bool) {
        self.hint = None;
        if wrote {
            self.passed.iter_mut().for_each(|passed| passed.idle = false);
        }
    }

    /// Notes that the thread arrives at a place that nobody has come back to so far. Says whether it comes back to it
    /// now, so that the place should be watched.
    pub fn comes_back(&mut self, site: u64) -> bool {
        match self.passed.iter_mut().find(|passed| passed.site == site) {
            Some(passed) if !passed.idle && passed.visits < VISITS => {
                passed.visits += 1;
                passed.idle = true;
                false
            }
            Some(_) => true,
            None => {
                if self.passed.len() == PLACES {
                    self.passed.remove(0);
                }
                self.passed.push(Passed {
                    site,
                    visits: 1,
                    idle: true,
                });
                false
            }
        }
    }

    /// The part of the program's state that holds a hint back; see [`Spin::numbers`]. Of a thread that has just been
    /// created: others lose it when their step ends.
    pub fn numbers(&self, mut add: impl FnMut(&'static str, u64)) {
        let Passage { passed: _, hint } = self;
        let times = hint.iter().map(|&(_, times)| u64::from(times));
        part::list("place of a hint", hint.iter().map(|&(place, _)| place), &mut add);
        part::list("hints in a row", times, &mut add);
    }
}

/// What the detector knows about one thread that it watches.
#[derive(Clone, Default, Debug)]
pub(crate) struct Spin {
    /// The places at which the thread is watched. Few threads are, so there is no room for one inline.
    anchors: Vec<Anchor>,
    awaiting: Option<Box<Awaiting>>,
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
        let Spin { anchors, awaiting } = self;
        anchors.clear();
        *awaiting = None;
    }

    pub fn awaiting(&self) -> Option<&Awaiting> {
        self.awaiting.as_deref()
    }

    /// Says whether the thread is held back from taking the alternative.
    pub fn holds_back(&self, alternative: u32) -> bool {
        self.awaiting
            .as_ref()
            .is_some_and(|awaiting| !awaiting.changed && awaiting.concerns(alternative))
    }

    /// Notes a step of the thread, which may be watched.
    pub fn step(&mut self, step: &OwnStep<'_>) {
        // What it has done before what it waited for changed, says nothing about what it would do now.
        if self.awaiting.take().is_some_and(|awaiting| awaiting.changed)
            && let Some(left) = self.anchors.last_mut()
        {
            left.taken = Rounds::default();
        }
        for anchor in &mut self.anchors {
            if anchor.own_steps == 0 {
                anchor.left_by = step.chosen;
            } else {
                anchor.chose |= step.choosing;
            }
            anchor.own_steps += 1;
            anchor.wrote |= step.wrote;
            anchor.meddled |= step.meddled;
            anchor.stirred |= step.stirred;
            for &Access { location, .. } in step.footprint.accesses() {
                if !anchor.touched.iter().any(|touched| touched.location == location) {
                    let steps = step.steps;
                    anchor.touched.push(Touched { location, steps });
                }
            }
        }
    }

    /// Notes a step of another thread.
    pub fn others_step(&mut self, footprint: &Footprint) {
        let touches = |touched: &[Touched]| {
            let mut changes = footprint.accesses().iter().filter(|a| a.kind != AccessKind::Read);
            changes.any(|a| touched.iter().any(|touched| touched.location == a.location))
        };
        for anchor in &mut self.anchors {
            anchor.disturbed |= touches(&anchor.touched);
        }
        if let Some(awaiting) = &mut self.awaiting {
            awaiting.changed |= awaiting.touched.is_empty() || touches(&awaiting.touched);
        }
    }

    /// Whether the thread is watched at the place.
    pub fn is_watched_at(&self, site: u64) -> bool {
        self.anchors.iter().any(|anchor| anchor.site == site)
    }

    /// Whether the thread is watched at any place.
    pub fn has_anchors(&self) -> bool {
        !self.anchors.is_empty()
    }

    /// Notes that the thread arrives at a place where it is watched, after `steps` steps of the execution. It is held
    /// back if it has come back to the state in which it was there before.
    pub fn arrive(&mut self, site: u64, steps: u32, arrival: Arrival) {
        let Arrival {
            own,
            around: Surroundings { others, memory },
            values,
        } = arrival;
        let mut taken = Rounds::default();
        if let Some(known) = self.anchors.iter().position(|anchor| anchor.site == site) {
            let anchor = self.anchors.remove(known);
            let idle = if anchor.wrote {
                let alone = steps - anchor.steps == anchor.own_steps;
                alone && anchor.others == others && anchor.memory == memory && anchor.values == values
            } else {
                !anchor.meddled && (!anchor.stirred || !anchor.disturbed && anchor.memory == memory)
            };
            if idle && !anchor.saw_clock && !anchor.chose && anchor.own == own {
                taken = anchor.taken;
                taken.alternatives.insert(anchor.left_by);
                taken.wrote |= anchor.wrote;
                taken.left_count_out |= anchor.left_count_out;
                self.awaiting = Some(Box::new(Awaiting {
                    touched: anchor.touched,
                    changed: anchor.disturbed,
                    taken: taken.clone(),
                }));
            }
        }
        if self.anchors.len() == ANCHORS {
            self.anchors.remove(0);
        }
        self.anchors.push(Anchor {
            site,
            own,
            memory,
            values,
            steps,
            own_steps: 0,
            touched: SmallVec::new(),
            left_by: 0,
            taken,
            others,
            wrote: false,
            disturbed: false,
            saw_clock: false,
            left_count_out: false,
            meddled: false,
            stirred: false,
            chose: false,
        });
    }

    /// Notes that the step that was just made was nobody's: time has passed.
    pub fn time_passed(&mut self) {
        self.anchors.iter_mut().for_each(|anchor| anchor.steps += 1);
    }

    /// Notes that the thread asks for the time.
    pub fn looked_at_clock(&mut self) {
        self.anchors.iter_mut().for_each(|anchor| anchor.saw_clock = true);
    }

    /// Notes that a library leaves out a count, as it is specified, at which the thread would do something else.
    pub fn leaves_count_out(spin: &mut Rc<Spin>) {
        if spin.has_anchors() {
            let anchors = &mut Rc::make_mut(spin).anchors;
            anchors.iter_mut().for_each(|anchor| anchor.left_count_out = true);
        }
    }

    /// The part of the program's state that holds the thread back.
    ///
    /// Left out is what may hold it back later: which places it has passed, and what it did since. To hold a thread
    /// back saves rounds of a loop that lead nowhere; the states in which the program can end are the same with and
    /// without. So what was explored from a state, with what the detector knew then, holds for it whatever it knows
    /// now.
    pub fn numbers(&self, mut add: impl FnMut(&'static str, u64)) {
        let Spin { anchors: _, awaiting } = self;
        add("waits", u64::from(awaiting.is_some()));
        if let Some(awaiting) = awaiting {
            let Awaiting {
                touched,
                changed,
                taken:
                    Rounds {
                        alternatives,
                        wrote,
                        left_count_out,
                    },
            } = &**awaiting;
            add("what it waits for has changed", u64::from(*changed));
            let locations = touched.iter().map(|touched| touched.location.0);
            part::list("waits for", locations, &mut add);
            part::list("held back from", alternatives.iter().map(u64::from), &mut add);
            add("its rounds write", u64::from(*wrote));
            add("its rounds leave a count out", u64::from(*left_count_out));
        }
    }

    /// Whether steps of others concern the thread.
    pub fn is_watched(&self) -> bool {
        !self.anchors.is_empty() || self.awaiting.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the thread does in a round that it begins with this alternative.
    fn round(spin: &mut Rc<Spin>, chosen: u32, wrote: bool, counts: bool, steps: u32) {
        let inner = Rc::make_mut(spin);
        inner.step(&OwnStep {
            footprint: &Footprint::default(),
            wrote,
            meddled: false,
            stirred: false,
            chosen,
            choosing: false,
            steps,
        });
        if counts {
            Spin::leaves_count_out(spin);
        }
        Rc::make_mut(spin).arrive(7, steps, Arrival::default());
    }

    #[test]
    fn what_some_round_does_counts_whatever_the_last_one_did() {
        let mut spin = Rc::new(Spin::default());
        Rc::make_mut(&mut spin).arrive(7, 0, Arrival::default());
        let held = |spin: &Spin| {
            let awaiting = spin.awaiting().expect("it has come back to where it was");
            (awaiting.writes(), awaiting.leaves_count_out())
        };
        round(&mut spin, 0, true, true, 1);
        assert_eq!(held(&spin), (true, true));
        round(&mut spin, 1, false, false, 2);
        assert_eq!(held(&spin), (true, true));
        assert!(spin.holds_back(0) && spin.holds_back(1));
        // Another thread moves. What the thread did before says nothing about what it would do now.
        Rc::make_mut(&mut spin).others_step(&Footprint::default());
        assert!(!spin.holds_back(0) && !held(&spin).1);
        round(&mut spin, 1, false, false, 4);
        assert_eq!(held(&spin), (false, false));
        assert!(!spin.holds_back(0) && spin.holds_back(1));
    }
}
