//! Comparing the two orders of a race at once (Algorithm 1, lines 11 to 13), or storing the state with the reversal
//! (§6.2).

use super::super::Check;
use super::policy::ContextSensitive;
use super::sequence::Sequence;
use crate::execution::{EventIndex, Removed, Trace, VectorClock};
use crate::search::exploration::{Exploration, Halt, Ran};
use crate::search::node::{Sleeping, Stack};
use crate::search::outcome::Observer;
use crate::system::{Fingerprint, Footprint, Step, System, Transition};
use std::ops::ControlFlow;
use std::rc::Rc;

impl ContextSensitive {
    /// Lines 11 to 13 of Algorithm 1 for the step that was just added to the trace: puts those reversals of its races
    /// to sleep that lead to the same state.
    pub(super) fn let_reversals_sleep<S: System>(
        &mut self,
        stack: &Stack,
        exploration: &mut Exploration<S>,
        observer: &mut dyn Observer<S>,
    ) -> Result<(), Halt> {
        if self.races.is_empty() {
            return Ok(());
        }
        let Some(target) = exploration.cursor.system.fingerprint() else {
            return Ok(());
        };
        let mut moved = false;
        let races = std::mem::take(&mut self.races);
        for (event, removed) in &races {
            let reversal = reversal(&exploration.cursor.trace, *event, removed);
            let covered = stack[*event].is_asleep(reversal[0])
                || self.known[*event].sequences.iter().any(|known| {
                    let known = known.remaining().map(|step| step.transition);
                    known.len() <= reversal.len() && known.zip(&reversal).all(|(a, &b)| a == b)
                });
            if covered {
                continue;
            }
            let steps = match self.context.check {
                Check::Eager => {
                    moved = true;
                    match self.run_reversal(exploration, *event, &reversal, target, observer)? {
                        Some(footprints) => footprints,
                        None => continue,
                    }
                }
                Check::Lazy | Check::Stored => vec![Footprint::new(); reversal.len()],
            };
            let steps: Rc<[Sleeping]> = reversal
                .into_iter()
                .zip(steps)
                .map(|(transition, footprint)| Sleeping {
                    transition,
                    footprint,
                    by_context: true,
                    known: None,
                })
                .collect();
            self.known[*event].sequences.push(Sequence {
                left: (0..steps.len() as u32).collect(),
                steps,
                target: (self.context.check == Check::Lazy).then_some(target),
            });
        }
        self.races = races;
        if moved {
            let Exploration { cursor, statistics, .. } = exploration;
            cursor.go_to(cursor.trace.len(), statistics)?;
        }
        Ok(())
    }

    /// Runs a reversal from the state before the event. Returns the footprints of its steps if it can run and leads to
    /// the state.
    fn run_reversal<S: System>(
        &mut self,
        exploration: &mut Exploration<S>,
        event: EventIndex,
        reversal: &[Transition],
        target: Fingerprint,
        observer: &mut dyn Observer<S>,
    ) -> Result<Option<Vec<Footprint>>, Halt> {
        let Exploration { cursor, statistics, .. } = exploration;
        statistics.checks += 1;
        cursor.go_to(event, statistics)?;
        let mut footprints = Vec::with_capacity(reversal.len());
        let mut step = Step::default();
        for (i, &transition) in reversal.iter().enumerate() {
            if !transition.is_enabled(exploration.cursor.system.threads()) {
                return Ok(None);
            }
            match exploration.run(transition, &mut step)? {
                Ran::On => {}
                // If the exploration goes on after failures, it reaches this one by itself, as nothing sleeps because
                // of it.
                Ran::Failed(_) if exploration.keep_going => return Ok(None),
                Ran::Failed(failure) => {
                    exploration.statistics.complete += 1;
                    let mut schedule = exploration.cursor.trace.schedule();
                    schedule.truncate(event);
                    schedule.extend(&reversal[..=i]);
                    return Err(Halt::Failed(failure, schedule));
                }
            }
            let thread = transition.thread;
            let earlier = reversal[..=i].iter().filter(|earlier| earlier.thread == thread).count();
            let index = exploration.cursor.trace.steps_before(thread, event) + earlier as u32;
            // What the thread has waited for in this order is not kept track of.
            let after = VectorClock::new();
            self.summary.add_step(thread, index, &step, &after);
            footprints.push(step.footprint.clone());
        }
        let Exploration { cursor, statistics, .. } = exploration;
        statistics.compared += 1;
        let equal = cursor.system.fingerprint() == Some(target);
        statistics.equal += u64::from(equal);
        let first = cursor.trace.schedule();
        let second = [&first[..event], reversal].concat();
        match observer.compared(&first, &second, equal) {
            ControlFlow::Continue(()) => Ok(equal.then_some(footprints)),
            ControlFlow::Break(()) => Err(Halt::broken_off()),
        }
    }
}

/// `v.u` for the race of the event with the newest one: what does not depend on the event, then the rest.
fn reversal(trace: &Trace, event: EventIndex, removed: &Removed) -> Vec<Transition> {
    let events = trace.events();
    let newest = events.len() - 1;
    let independent =
        |f: EventIndex| f == newest || (!events[f].ordered_after(&events[event]) && !removed.contains(&f));
    let (first, then): (Vec<_>, Vec<_>) = (event..=newest).partition(|&f| f != event && independent(f));
    first.into_iter().chain(then).map(|f| events[f].transition()).collect()
}
