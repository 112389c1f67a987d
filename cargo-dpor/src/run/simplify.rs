//! Finds the schedule to show, from the failing schedule that an exploration has found.

use crate::build::Test;
use crate::child::{self, Order};
use crate::error::Error;
use crate::outcome::Outcome;
use crate::report::story::same_failure;
use dpor_protocol::{Mode, Verdict};
use std::time::Duration;

/// Time for which a replay on the user's request looks for where the schedule parts from one that passes.
const PARTING: Duration = Duration::from_secs(1);

/// Looks for a simpler schedule that fails like the outcome's, and runs it step by step. If it does not fail then, the
/// schedule stays as it is. Returns the outcome with the schedule to show, and that run of it.
///
/// # Errors
/// If a test process cannot be started or followed.
pub fn replayed(test: &Test, order: &Order, time: Duration, mut outcome: Outcome) -> Result<(Outcome, Outcome), Error> {
    let replay = |seed: &Option<String>| {
        let mode = Mode::Replay {
            seed: seed.clone().unwrap_or_default(),
        };
        child::run(test, &Order { mode, ..order.clone() }, &mut |_| {})
    };
    outcome.simplified = None;
    if let Some(mode) = mode(&outcome, time, true) {
        let searched = child::run(test, &Order { mode, ..order.clone() }, &mut |_| {})?;
        if let Some(simplified) = searched.simplified {
            let seed = Some(simplified.seed.clone());
            let run = replay(&seed)?;
            if same_failure(&outcome, &run) {
                (outcome.seed, outcome.simplified) = (seed, Some(simplified));
                return Ok((outcome, run));
            }
        }
    }
    let run = replay(&outcome.seed)?;
    Ok((outcome, run))
}

/// Finds out where the failing schedule of a replay parts from one that passes.
///
/// # Errors
/// If a test process cannot be started or followed.
pub fn find_parting(test: &Test, order: &Order, replay: &mut Outcome) -> Result<(), Error> {
    if let Some(mode) = mode(replay, PARTING, false) {
        let searched = child::run(test, &Order { mode, ..order.clone() }, &mut |_| {})?;
        // Of a schedule some steps of which cannot run when loops are known, another one is told of.
        replay.simplified = searched
            .simplified
            .filter(|found| Some(&found.seed) == replay.seed.as_ref());
    }
    Ok(())
}

/// The task of looking for a simpler schedule, if the failure is one of a schedule and there is time.
fn mode(outcome: &Outcome, time: Duration, shorten: bool) -> Option<Mode> {
    let failure = outcome
        .failure
        .as_ref()
        .filter(|_| outcome.verdict == Verdict::Failed)?;
    let seed = outcome.seed.clone()?;
    let searchable = !time.is_zero() && outcome.fails_again();
    searchable.then(|| Mode::Simplify {
        seed,
        kind: failure.kind.clone(),
        millis: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
        shorten,
    })
}
