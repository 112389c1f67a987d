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
//! backtracking points than it needs: then everything has been explored. Otherwise the search begins again with a bound
//! of one more.

use super::reversal::{Operation, Race, Reverses};
use crate::bits::BitSet;
use crate::codec::{from_bytes, to_bytes};
use crate::execution::{EventIndex, Trace};
use crate::search::exploration::Exploration;
use crate::search::faults::Faults;
use crate::search::node::{Node, PerNode, Stack};
use crate::search::outcome::within;
use crate::search::policy::{Conduct, Policy};
use crate::statistics::Statistics;
use crate::system::{Footprint, Pending, Status, System, ThreadId};

/// Who has control at a node.
#[derive(Clone, Copy, Default, Debug)]
struct Control {
    /// The thread that moved last, if it can go on and is not about to yield.
    holding: Option<ThreadId>,
    /// Number of preemptions on the way to the node.
    preemptions: u32,
}

crate::codec!(struct Control { holding, preemptions });

pub(super) struct Bounded {
    bound: u32,
    /// The last bound to try.
    most: u32,
    /// Whether everything within the bound is explored.
    exhaustive: bool,
    /// Whether backtracking points are added where threads took control.
    conservative: bool,
    left_out: bool,
    control: PerNode<Control>,
}

impl Bounded {
    pub(super) fn new(most: u32, exhaustive: bool, faults: Faults) -> Self {
        Bounded {
            bound: 0,
            most,
            exhaustive,
            conservative: !faults.skip_block_starts(),
            left_out: false,
            control: PerNode::default(),
        }
    }

    fn may_switch(&self, at: usize) -> bool {
        let control = self.control[at];
        control.holding.is_none() || control.preemptions < self.bound
    }

    /// Makes the search explore the thread from the node before the event, and from the earlier nodes in which the
    /// event's thread took control, as long as that thread's steps need not come before the thread's next one.
    fn add_before(
        &self,
        event: EventIndex,
        thread: ThreadId,
        stack: &mut Stack,
        trace: &Trace,
        statistics: &mut Statistics,
    ) {
        let mut add = |node: &mut Node| {
            if node.alternatives(thread).is_none() {
                statistics.fallbacks += 1;
                node.backtrack = node.all_enabled();
            } else if node.backtrack.insert(thread.0) {
                statistics.backtracks += 1;
            }
        };
        if self.may_switch(event) {
            add(&mut stack[event]);
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
            if self.control[at].holding != Some(holder) {
                add(&mut stack[at]);
            }
        }
    }

    /// Handles an operation that can wait: when it is next in the execution, when it has to wait, and when it is
    /// pending at the end.
    fn may_wait(
        &self,
        stack: &mut Stack,
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
                    self.add_before(conflict.event, thread, stack, trace, statistics);
                }
            }
            seen.clear();
        }
    }

    /// Notes which thread would be preempted in the reached node, and the number of preemptions so far.
    fn count_preemptions<S: System>(&mut self, stack: &mut Stack, exploration: &Exploration<S>) {
        let depth = stack.depth();
        self.control.reach(depth);
        let (parent, control) = self.control.last_two(depth);
        *control = Control::default();
        let (Some(parent), Some(event)) = (parent, exploration.cursor.trace.events().last()) else {
            return;
        };
        let last = event.thread();
        let preempted = |holding: ThreadId| holding != last;
        control.preemptions = parent.preemptions + u32::from(parent.holding.is_some_and(preempted));
        let goes_on = stack.reached().alternatives(last).is_some() && !exploration.cursor.system.gives_way(last);
        control.holding = goes_on.then_some(last);
    }

    /// Looks at the threads that have just begun to wait in the reached node, or may now wait for another reason.
    fn look_at_waits<S: System>(&mut self, stack: &mut Stack, exploration: &mut Exploration<S>) {
        let Exploration { cursor, statistics, .. } = exploration;
        let trace = &cursor.trace;
        let Some(event) = trace.events().last() else {
            return;
        };
        for (i, status) in cursor.system.threads().iter().enumerate() {
            if *status != Status::Blocked {
                continue;
            }
            let thread = ThreadId(i as u32);
            let step = event.step();
            let pending = cursor.system.pending(thread);
            if stack[stack.depth() - 1].alternatives(thread).is_some()
                || step.spawned.contains(&thread)
                || step.footprint.conflicts_with(&pending.footprint)
            {
                self.may_wait(stack, trace, thread, &pending.footprint, statistics);
            }
        }
    }
}

impl Reverses for Bounded {
    fn reverse(&mut self, stack: &mut Stack, trace: &Trace, race: Race<'_>, statistics: &mut Statistics) {
        if !self.may_switch(race.event) {
            self.left_out = true;
        }
        self.add_before(race.event, race.thread, stack, trace, statistics);
    }
}

impl<S: System> Policy<S> for Bounded {
    fn conduct(&self) -> Conduct {
        Conduct {
            wants_pending: !self.exhaustive,
            ..Conduct::EVERYTHING
        }
    }

    fn reach(&mut self, stack: &mut Stack, exploration: &mut Exploration<S>) -> bool {
        self.count_preemptions(stack, exploration);
        self.look_at_waits(stack, exploration);
        false
    }

    fn open(&mut self, node: &mut Node, at: usize, _next: Option<ThreadId>) {
        let first = self.control[at].holding;
        let first = first.or(node.enabled.first().map(|&(thread, _)| thread));
        node.backtrack = match first {
            _ if self.exhaustive && self.may_switch(at) => node.all_enabled(),
            Some(thread) => BitSet::of(thread.0),
            None => BitSet::new(),
        };
        self.left_out |= self.exhaustive && node.backtrack.len() < node.enabled.len();
    }

    fn ran(&mut self, stack: &mut Stack, exploration: &mut Exploration<S>, thread: ThreadId) {
        if self.exhaustive {
            return;
        }
        let Exploration {
            cursor,
            statistics,
            faults,
            ..
        } = exploration;
        let operation = Operation::just_run(&cursor.trace, thread, faults);
        if !operation.guards.is_empty() {
            self.may_wait(stack, &cursor.trace, thread, operation.footprint, statistics);
        }
        self.reverse_races_of_step(stack, exploration, thread);
    }

    fn pending(&mut self, stack: &mut Stack, exploration: &mut Exploration<S>, thread: ThreadId, pending: &Pending) {
        let Exploration {
            cursor,
            statistics,
            faults,
            ..
        } = exploration;
        let operation = Operation::pending(thread, pending, faults);
        if !operation.guards.is_empty() {
            self.may_wait(stack, &cursor.trace, thread, operation.footprint, statistics);
        }
        self.reverse_races_of_pending(stack, exploration, thread, pending);
    }

    fn widen(&mut self) -> bool {
        let widens = self.left_out && self.bound < self.most;
        if widens {
            self.bound += 1;
            self.left_out = false;
        }
        widens
    }

    fn bound(&self) -> Option<u32> {
        Some(self.bound)
    }

    fn left_out(&self) -> Option<String> {
        self.left_out.then(|| {
            format!(
                "executions {} were explored, and there are others (--preemptions)",
                within(self.bound)
            )
        })
    }

    fn save(&self, depth: usize) -> Vec<u8> {
        let mut bytes = to_bytes(&(self.bound, self.left_out));
        self.control.encode(depth, &mut bytes);
        bytes
    }

    fn restore(&mut self, saved: &[u8]) -> Option<()> {
        let (bound, (left_out, control)): (u32, (bool, Vec<Control>)) = from_bytes(saved)?;
        (self.bound, self.left_out) = (bound, left_out);
        self.control = PerNode::from(control);
        (bound <= self.most).then_some(())
    }
}
