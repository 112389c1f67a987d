//! DPOR: Flanagan and Godefroid, *Dynamic Partial-Order Reduction for Model Checking Software* (POPL 2005), Figure 3,
//! with and without sleep sets; the baseline of Tasharofi et al., *TransDPOR* (FASE/FORTE 2012).
//!
//! Deviations:
//!
//! * Figure 3 looks for races in each state, for the next operation of each thread, with the last event that it is in a
//!   race with. Here they are looked for when the execution has ended, with all earlier steps. To DPOR that makes no
//!   difference. To TransDPOR, which takes up only one, it does (see `super::trans`).
//! * Footprints are those of the steps, not of pending operations, except for what is blocked at the end.
//! * *May be co-enabled* is decided by guards: see `crate::trace`.
//! * Line 5 lets the algorithm choose *any* thread of the set E: the racing thread if it is enabled, or one that has to
//!   move before it. Here it is always the one whose step comes first in the reversal, also if that comes first only
//!   because it conflicts with the racing step itself. Any other may be asleep and yet not stand for the reversal;
//!   nobody would follow up its races in that state, and traces would be lost. Without sleep sets all choices are
//!   right.
//! * Where a message is added, all others to the same actor are that are awake. They are in races with it. What is
//!   added first is explored first. So does the tool with which TransDPOR was compared with DPOR, and so its figures
//!   come out.
//! * Backtrack sets hold threads, and all alternatives of a thread's operation are explored where the thread is.

use super::Dpor;
use super::reversal::{Operation, Race, each_race};
use super::source::open_awake;
use crate::codec::from_bytes;
use crate::execution::{EventIndex, Races, Trace, VectorClock};
use crate::search::exploration::Exploration;
use crate::search::node::{Node, PerNode, Stack};
use crate::search::policy::{Conduct, Policy};
use crate::statistics::Statistics;
use crate::system::{Pending, System, ThreadId, Transition};
use smallvec::SmallVec;

pub(super) struct FlanaganGodefroid {
    options: Dpor,
    races: RacesOfExecution,
    queues: PerNode<Queue>,
}

/// What is to be explored from a node, in the order in which it was added.
#[derive(Clone, Default, Debug)]
struct Queue {
    /// The time at which each enabled thread was created, or, for a message, its receiver.
    created: Vec<u64>,
    threads: Vec<ThreadId>,
}

crate::codec!(struct Queue { created, threads });

impl FlanaganGodefroid {
    pub(super) fn new(options: Dpor) -> Self {
        FlanaganGodefroid {
            options,
            races: RacesOfExecution::default(),
            queues: PerNode::default(),
        }
    }
}

impl<S: System> Policy<S> for FlanaganGodefroid {
    fn conduct(&self) -> Conduct {
        self.options.conduct()
    }

    fn reach(&mut self, stack: &mut Stack, exploration: &mut Exploration<S>) -> bool {
        self.options.sort(stack, exploration);
        let queue = self.queues.reach(stack.depth());
        queue.created.clear();
        queue.threads.clear();
        let threads = stack.reached().enabled.iter().map(|&(thread, _)| thread);
        let created = threads.map(|thread| exploration.cursor.system.created(thread));
        queue.created.extend(created);
        false
    }

    fn open(&mut self, node: &mut Node, at: usize, _next: Option<ThreadId>) {
        open_awake(node, None);
        for thread in std::mem::take(&mut node.backtrack).iter() {
            self.queues[at].add(node, ThreadId(thread));
        }
    }

    fn pick(&mut self, node: &Node, at: usize) -> Option<Transition> {
        let awake = |&thread: &ThreadId| node.awake_transitions(thread).next();
        self.queues[at].threads.iter().find_map(awake)
    }

    fn ran(&mut self, _stack: &mut Stack, exploration: &mut Exploration<S>, thread: ThreadId) {
        self.races.add_step(exploration, thread);
    }

    fn pending(&mut self, stack: &mut Stack, exploration: &mut Exploration<S>, thread: ThreadId, pending: &Pending) {
        let queues = &mut self.queues;
        races_of_pending(exploration, thread, pending, |trace, race, _, statistics| {
            reverse(queues, stack, trace, race, statistics);
        });
    }

    fn ended(&mut self, stack: &mut Stack, exploration: &mut Exploration<S>) {
        let queues = &mut self.queues;
        self.races
            .hand_over(exploration, in_order, |trace, race, _, statistics| {
                reverse(queues, stack, trace, race, statistics);
            });
    }

    fn save(&self, depth: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.queues.encode(depth, &mut bytes);
        bytes
    }

    fn restore(&mut self, saved: &[u8]) -> Option<()> {
        self.queues = PerNode::from(from_bytes::<Vec<Queue>>(saved)?);
        Some(())
    }
}

/// Adds what comes first in the reversal of a race to what is explored from the node before the event.
fn reverse(queues: &mut PerNode<Queue>, stack: &mut Stack, trace: &Trace, race: Race<'_>, statistics: &mut Statistics) {
    let (node, queue) = (&mut stack[race.event], &mut queues[race.event]);
    match leading_to(node, trace, &race) {
        Some((thread, _)) if node.backtrack.contains(thread.0) => {}
        Some((thread, _)) => statistics.backtracks += queue.add(node, thread),
        None => {
            statistics.fallbacks += 1;
            for thread in node.all_enabled().iter() {
                queue.add(node, ThreadId(thread));
            }
        }
    }
}

impl Queue {
    /// Adds the awake messages to the thread's actor to the backtrack set; or the thread, if it is no message. Returns
    /// the number of those that were missing.
    fn add(&mut self, node: &mut Node, thread: ThreadId) -> u64 {
        let threads = || node.enabled.iter().map(|&(thread, _)| thread).zip(&self.created);
        let actor = threads()
            .find(|&(enabled, _)| enabled == thread)
            .map(|(_, actor)| actor);
        let missing: SmallVec<[ThreadId; 4]> = threads()
            .filter(|&(_, created)| Some(created) == actor)
            .map(|(thread, _)| thread)
            .filter(|&thread| !node.backtrack.contains(thread.0) && node.awake_transitions(thread).next().is_some())
            .collect();
        for &thread in &missing {
            node.backtrack.insert(thread.0);
            self.threads.push(thread);
        }
        missing.len() as u64
    }
}

/// The rank of a race among those of an execution: the smallest comes first. The race is that of an event with the
/// operation at an index, which became pending when [`Trace::pending_since`] says.
pub(super) type Rank = (usize, usize, usize);

/// The operation that became pending first comes first.
fn in_order(event: EventIndex, _at: EventIndex, (step, number): (usize, usize)) -> Rank {
    (step, number, event)
}

/// The races of the steps that have run since the search went back, each time with all events that may be co-enabled
/// with the step, not only with those that no other comes between.
#[derive(Default)]
pub(super) struct RacesOfExecution(Vec<(EventIndex, Races)>);

impl RacesOfExecution {
    /// Adds the races of the step that has just run, and returns them.
    pub(super) fn add_step<S>(&mut self, exploration: &mut Exploration<S>, thread: ThreadId) -> &Races {
        static NONE: Races = Races::new_const();
        let trace = &exploration.cursor.trace;
        let operation = Operation::just_run(trace, thread, &exploration.faults);
        if operation.footprint.accesses().is_empty() {
            return &NONE;
        }
        self.0.push((trace.len(), dependent_pairs(trace, &operation)));
        self.0.last().map_or(&NONE, |(_, races)| races)
    }

    /// Hands over the races in the order of their ranks. Says of each whether its operation became pending since the
    /// search went back.
    pub(super) fn hand_over<S>(
        &mut self,
        exploration: &mut Exploration<S>,
        rank: impl Fn(EventIndex, EventIndex, (usize, usize)) -> Rank,
        mut reverse: impl FnMut(&Trace, Race<'_>, bool, &mut Statistics),
    ) {
        let races = std::mem::take(&mut self.0);
        let Some(&(back, _)) = races.first() else {
            return;
        };
        let Exploration {
            cursor,
            statistics,
            faults,
            ..
        } = exploration;
        let trace = &cursor.trace;
        let mut races: Vec<_> = races
            .iter()
            .flat_map(|(at, races)| races.iter().map(|(event, removed)| (*at, *event, removed)))
            .collect();
        let since = |at: EventIndex| trace.pending_since(trace.events()[at].thread(), at);
        races.sort_by_cached_key(|&(at, event, _)| rank(event, at, since(at)));
        for (at, event, removed) in races {
            if faults.drop_race() {
                continue;
            }
            statistics.races += 1;
            let later = &trace.events()[at];
            let race = Race {
                event,
                removed,
                thread: later.thread(),
                footprint: &later.step().footprint,
                at,
                source: None,
            };
            reverse(trace, race, since(at).0 > back, statistics);
        }
    }
}

/// Hands over the races of an operation that is pending at the end of an execution.
pub(super) fn races_of_pending<S>(
    exploration: &mut Exploration<S>,
    thread: ThreadId,
    pending: &Pending,
    mut reverse: impl FnMut(&Trace, Race<'_>, bool, &mut Statistics),
) {
    let Exploration {
        cursor,
        statistics,
        faults,
        ..
    } = exploration;
    let trace = &cursor.trace;
    let operation = Operation::pending(thread, pending, faults);
    let races = dependent_pairs(trace, &operation);
    each_race(trace, &operation, &races, statistics, faults, |race, statistics| {
        reverse(trace, race, true, statistics);
    });
}

fn dependent_pairs(trace: &Trace, operation: &Operation<'_>) -> Races {
    let &Operation {
        thread,
        footprint,
        guards,
        ..
    } = operation;
    trace.dependent_pairs(thread, footprint, guards, |v| operation.value(v), &VectorClock::new())
}

/// The thread of the set E of line 5 that moves first, with the event in which it moves; the racing thread itself,
/// without an event, if nothing has to come before it. `None` if that thread is not enabled: then the operation was
/// pending there, and blocked.
pub(super) fn leading_to(node: &Node, trace: &Trace, race: &Race<'_>) -> Option<(ThreadId, Option<EventIndex>)> {
    let Race {
        event,
        removed,
        thread,
        footprint,
        at,
        ..
    } = *race;
    let first = trace.first_of_reversal(event, removed, thread, footprint, at);
    let thread = first.map_or(thread, |first| trace.events()[first].thread());
    node.alternatives(thread).map(|_| (thread, first))
}
