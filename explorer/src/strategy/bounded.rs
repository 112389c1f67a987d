//! Search under a bound on preemptions: bounded partial-order reduction after Coons, Musuvathi and McKinley, *Bounded
//! Partial-Order Reduction* (OOPSLA 2013), and iterative context bounding (Musuvathi and Qadeer, PLDI 2007).
//!
//! What is promised: of every class of equivalent executions that has a member with at most so many preemptions, one is
//! run. Sleep sets and source sets do not keep that promise: they rely on one member of a class to stand for another,
//! which may have fewer preemptions.
//!
//! Let `S` be a state on the stack and `w` a way to go on from it, to an end, within the bound. If the thread that
//! moved last can go on, it is explored first, and takes no preemption. If it comes before all in `w` that depends on
//! its step, that step can be moved to the front of `w`, at no cost; otherwise its race with the first such step is
//! found in the executions that begin with it, and the step's thread is explored from `S`, or all threads if it is not
//! enabled. A thread `q` that is explored from `S` although it did not move last is a switch, as is the first step of
//! `w`. The steps that `q` makes in `w` up to where it loses control can be moved to the front of `w` together, at no
//! cost, unless one of them depends on a step of `w` before it: `q` alone would have to be preempted once more. So the
//! race of *any* step of the block that begins at `S` with a later one must add that one's thread at `S`, too: these
//! are the conservative backtracking points of the paper. The step to which this leads comes earlier in `w` each time,
//! so that in the end a thread is explored whose block can be moved to the front.
//!
//! There is one more way in which it costs something to move steps to the front of `w`: they may allow another thread
//! to go on that had to wait in `w`, so that the switch away from it becomes a preemption. So, if an operation can wait
//! at all, its thread is also added where it is in no race, but comes after what it had to wait for; and also as soon
//! as it has to wait, since the execution in which it goes on right after what it has waited for may be out of bounds.
//!
//! Deviation: the paper adds one conservative point, where the block began in the execution in which the race was
//! found. That execution may be another member of the class, in which the block is interrupted; so here points are
//! added wherever the thread took control, as far back as its steps need not come before the later operation.
//!
//! If no race asked for a preemption more than the bound allows, this was DPOR without sleep sets, with more
//! backtracking points than it needs: then everything has been explored.

use super::{Race, RaceReports, Rules, Search, all_enabled};
use crate::codec::{from_bytes, to_bytes};
use crate::driver::State;
use crate::footprint::Footprint;
use crate::statistics::Statistics;
use crate::thread::{BitSet, ThreadId};
use crate::trace::{EventIndex, Trace};

pub(super) struct Bounded {
    bound: u32,
    /// Whether everything within the bound is explored.
    exhaustive: bool,
    /// Whether backtracking points are added where threads took control.
    conservative: bool,
    left_out: bool,
}

impl Bounded {
    pub(super) fn new(bound: u32, exhaustive: bool, conservative: bool) -> Self {
        Bounded {
            bound,
            exhaustive,
            conservative,
            left_out: false,
        }
    }

    fn may_switch(&self, state: &State) -> bool {
        state.holding.is_none() || state.preemptions < self.bound
    }

    /// Makes the search explore the thread from the state before the event, and from the earlier states in which the
    /// event's thread took control, as long as that thread's steps need not come before the thread's next one.
    fn add_before(
        &self,
        event: EventIndex,
        thread: ThreadId,
        states: &mut [State],
        trace: &Trace,
        statistics: &mut Statistics,
    ) {
        let mut add = |state: &mut State| {
            if state.alternatives(thread).is_none() {
                statistics.fallbacks += 1;
                state.backtrack = all_enabled(state);
            } else if state.backtrack.insert(thread.0) {
                statistics.backtracks += 1;
            }
        };
        if self.may_switch(&states[event]) {
            add(&mut states[event]);
        }
        if !self.conservative {
            return;
        }
        let holder = trace.events()[event].thread();
        let needed = trace.thread_clock(thread).get(holder);
        let own = trace.events_of(holder).iter().rev();
        for &at in own.skip_while(|&&at| at > event) {
            if trace.events()[at].index() <= needed {
                break;
            }
            // Where the thread took control, another could have done so instead, for the same price.
            if states[at].holding != Some(holder) {
                add(&mut states[at]);
            }
        }
    }
}

impl Rules for Bounded {
    fn search(&self) -> Search {
        let races = if self.exhaustive {
            RaceReports::None
        } else {
            RaceReports::AtOnce
        };
        Search {
            races,
            ..Search::EVERYTHING
        }
    }

    fn open(&mut self, state: &mut State, _previous: Option<ThreadId>) {
        let first = state.holding.or(state.enabled.first().map(|&(thread, _)| thread));
        state.backtrack = match first {
            _ if self.exhaustive && self.may_switch(state) => all_enabled(state),
            Some(thread) => BitSet::of(thread.0),
            None => BitSet::new(),
        };
        self.left_out |= self.exhaustive && state.backtrack.len() < state.enabled.len();
    }

    fn reverse(&mut self, states: &mut [State], trace: &Trace, race: Race<'_>, statistics: &mut Statistics) {
        if !self.may_switch(&states[race.event]) {
            self.left_out = true;
        }
        self.add_before(race.event, race.thread, states, trace, statistics);
    }

    fn may_wait(
        &mut self,
        states: &mut [State],
        trace: &Trace,
        thread: ThreadId,
        footprint: &Footprint,
        statistics: &mut Statistics,
    ) {
        if !self.conservative {
            return;
        }
        let known = trace.thread_clock(thread);
        let mut seen = BitSet::new();
        for access in footprint.accesses() {
            for conflict in trace.conflicts(access.location, access.kind) {
                let earlier = &trace.events()[conflict.event];
                let other = earlier.thread();
                if other != thread && known.get(other) < earlier.index() && seen.insert(other.0) {
                    self.add_before(conflict.event, thread, states, trace, statistics);
                }
            }
            seen.clear();
        }
    }

    fn left_out(&self) -> bool {
        self.left_out
    }

    fn save(&self) -> Vec<u8> {
        to_bytes(&self.left_out)
    }

    fn restore(&mut self, saved: &[u8]) -> Option<()> {
        self.left_out = from_bytes(saved)?;
        Some(())
    }
}
