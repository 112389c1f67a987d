//! The search for two orders of the same steps that lead to different states, and for what keeps all states apart, for
//! `cargo dpor diff-states`.

use super::explore::{Exploration, exploration, failed};
use super::last_word::{LastWord, counts, incomplete};
use super::parent::Parent;
use crate::runner::body::Body;
use crate::runner::journal::Explored;
use crate::runner::{difference, out_of_sight};
use dpor_explorer::{End, Explorer, Observer, Report, Statistics, System, Trace, Verdict};
use dpor_protocol::{Config, FailureKind, Message, SharedSchedule};
use std::ops::ControlFlow;

/// Stops when that is asked for.
struct Stoppable;

impl Observer<Explored> for Stoppable {
    fn execution(&mut self, _: &mut Explored, _: &End, _: &Trace, _: &Statistics) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn at_rest(&mut self, explorer: &mut Explorer<Explored>) -> ControlFlow<String> {
        match explorer.system().map.is_asked_to_stop() {
            true => ControlFlow::Break("interrupted".to_owned()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// Explores all schedules, and reports what keeps their states apart.
pub(super) fn survey(config: &Config, map: &'static SharedSchedule, body: Body, parent: &mut Parent) -> Message {
    let Exploration { explorer, strategy, .. } = match exploration(config, map, body) {
        Ok(exploration) => exploration,
        Err(error) => return incomplete(error),
    };
    let mut explorer = explorer.keep_going(true);
    explorer.system().program.record_states();
    let Report {
        verdict, statistics, ..
    } = explorer.run(&mut Stoppable);
    let system = explorer.system();
    let counts = counts(&statistics, system.threads().len(), statistics.time);
    let note = out_of_sight(&system.program, strategy);
    parent.send(&Message::Survey(difference::survey(system.program.survey())));
    let word = match verdict {
        Verdict::Failed { failure, .. } if FailureKind::Nondeterminism.is(failure.kind) => {
            failed(config, map, &system.program, strategy, &failure)
        }
        Verdict::Complete | Verdict::Failed { .. } => LastWord::just(dpor_protocol::Verdict::Complete),
        Verdict::Incomplete { reason } => LastWord::incomplete(reason),
    };
    LastWord { note, counts, ..word }.into()
}

/// Finds a pair of orders that lead to different states, and reports the differences.
pub(super) fn diff_states(
    config: &Config,
    number: u64,
    map: &'static SharedSchedule,
    body: Body,
    parent: &mut Parent,
) -> Message {
    let Exploration { explorer, strategy, .. } = match exploration(config, map, body) {
        Ok(exploration) => exploration,
        Err(error) => return incomplete(error),
    };
    // A failing test has states as well.
    let mut explorer = explorer.keep_going(true);
    let mut pairs = difference::Pairs::up_to(number);
    let Report {
        verdict, statistics, ..
    } = explorer.run(&mut pairs);
    let system = explorer.system();
    let counts = counts(&statistics, system.threads().len(), statistics.time);
    let note = out_of_sight(&system.program, strategy);
    let complete = || LastWord::just(dpor_protocol::Verdict::Complete);
    let word = match (pairs.last_found(), verdict) {
        (Some((first, second)), _) => match difference::report(system, first, second) {
            Ok(report) => {
                parent.send(&Message::Pair(report));
                complete()
            }
            Err(why) => LastWord::incomplete(why),
        },
        (None, Verdict::Failed { failure, .. }) if FailureKind::Nondeterminism.is(failure.kind) => {
            failed(config, map, &system.program, strategy, &failure)
        }
        (None, Verdict::Complete | Verdict::Failed { .. }) => complete(),
        (None, Verdict::Incomplete { reason }) => LastWord::incomplete(reason),
    };
    LastWord { note, counts, ..word }.into()
}
