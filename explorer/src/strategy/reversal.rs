//! What policies have in common that reverse races: which operation, which events, and when.
//!
//! [`Reverses`] is for those that reverse each race as soon as it is found: `source`, `context`, `bounded`. `dpor` and
//! `trans` wait for the end of the execution.

use crate::execution::{EventIndex, Races, Removed, Trace};
use crate::search::exploration::Exploration;
use crate::search::faults::Faults;
use crate::search::node::Stack;
use crate::statistics::Statistics;
use crate::system::{Footprint, GraphEvent, Guard, Pending, ThreadId, Values, Variable};

/// An operation that has just run, or is pending.
#[derive(Clone, Copy)]
pub(super) struct Operation<'a> {
    pub thread: ThreadId,
    pub footprint: &'a Footprint,
    pub guards: &'a [Guard],
    /// The values of the variables in `guards` before it.
    pub values: &'a Values,
    /// Its event in the execution graph.
    pub graph: Option<GraphEvent>,
}

impl<'a> Operation<'a> {
    /// The step that has run and is not yet an event.
    pub fn just_run(trace: &'a Trace, thread: ThreadId, faults: &Faults) -> Self {
        let step = trace.uncommitted();
        Operation {
            thread,
            footprint: &step.footprint,
            guards: if faults.ignore_guards() { &[] } else { &step.guards },
            values: &step.values,
            graph: step.graph,
        }
    }

    /// A pending operation.
    pub fn pending(thread: ThreadId, pending: &'a Pending, faults: &Faults) -> Self {
        Operation {
            thread,
            footprint: &pending.footprint,
            guards: if faults.ignore_guards() { &[] } else { &pending.guards },
            values: &pending.values,
            graph: pending.graph,
        }
    }

    /// Its races by the execution graph.
    fn races_of_graph(&self, trace: &Trace, faults: &Faults) -> Races {
        let of = |graph| trace.races_of_graph(self.thread, graph, !faults.share_stores());
        self.graph.as_ref().map(of).unwrap_or_default()
    }

    /// The value of a variable before it; 0 for one that is not given.
    pub fn value(&self, variable: Variable) -> i64 {
        let mut values = self.values.iter();
        values.find(|&&(v, _)| v == variable).map_or(0, |&(_, value)| value)
    }
}

/// An operation that has just run or is pending, and one event with which it is in a reversible race.
#[derive(Clone, Copy)]
pub(super) struct Race<'a> {
    pub event: EventIndex,
    /// What must be left out of `notdep` of the event.
    pub removed: &'a Removed,
    pub thread: ThreadId,
    pub footprint: &'a Footprint,
    /// The operation's index in the execution; after all events if it has not run or has only just run.
    pub at: EventIndex,
    /// The event from which the operation has read, by its execution graph.
    pub source: Option<u32>,
}

/// A policy that reverses races as soon as they are found.
pub(super) trait Reverses {
    /// Notes in the nodes of the current execution what must be explored because of a race.
    fn reverse(&mut self, stack: &mut Stack, trace: &Trace, race: Race<'_>, statistics: &mut Statistics);

    /// Reverses the races of the step that has just run.
    fn reverse_races_of_step<S>(
        &mut self,
        stack: &mut Stack,
        exploration: &mut Exploration<S>,
        thread: ThreadId,
    ) -> Races {
        let Exploration {
            cursor,
            statistics,
            faults,
            ..
        } = exploration;
        let trace = &cursor.trace;
        let operation = Operation::just_run(trace, thread, faults);
        let mut races = trace.races_of_step(thread, operation.guards, |variable| operation.value(variable));
        races.extend(operation.races_of_graph(trace, faults));
        each_race(trace, &operation, &races, statistics, faults, |race, statistics| {
            self.reverse(stack, trace, race, statistics);
        });
        races
    }

    /// Reverses the races of an operation that is pending at the end of an execution.
    fn reverse_races_of_pending<S>(
        &mut self,
        stack: &mut Stack,
        exploration: &mut Exploration<S>,
        thread: ThreadId,
        pending: &Pending,
    ) {
        let Exploration {
            cursor,
            statistics,
            faults,
            ..
        } = exploration;
        let trace = &cursor.trace;
        let operation = Operation::pending(thread, pending, faults);
        let Operation { footprint, guards, .. } = operation;
        let mut races = trace.races(thread, footprint, guards, |variable| operation.value(variable));
        races.extend(operation.races_of_graph(trace, faults));
        each_race(trace, &operation, &races, statistics, faults, |race, statistics| {
            self.reverse(stack, trace, race, statistics);
        });
    }
}

/// Counts the races of an operation that has only just run, or is pending, and hands over each.
pub(super) fn each_race(
    trace: &Trace,
    operation: &Operation<'_>,
    races: &Races,
    statistics: &mut Statistics,
    faults: &mut Faults,
    mut reverse: impl FnMut(Race<'_>, &mut Statistics),
) {
    let &Operation { thread, footprint, .. } = operation;
    for &(event, ref removed) in races {
        if faults.drop_race() {
            continue;
        }
        statistics.races += 1;
        let race = Race {
            event,
            removed,
            thread,
            footprint,
            at: trace.len(),
            source: operation.graph.and_then(|graph| graph.source),
        };
        reverse(race, statistics);
    }
}
