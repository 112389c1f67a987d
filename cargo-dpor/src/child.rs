//! Runs one test in its own process.
//!
//! The process is the test's binary, asked for this one test, with a [`Config`](dpor_protocol::Config) in a file that
//! it inherits. What it says on the pipe is followed here; what it cannot say any more, because it has died or hangs,
//! is made out from its exit status and from the schedule that it shares.

mod channel;
mod death;
mod heard;
mod lines;
mod order;
mod process;
#[cfg(test)]
mod tests;

pub use heard::recorded;
pub use order::Order;

use crate::build::Test;
use crate::error::Error;
use crate::interrupt;
use crate::outcome::Outcome;
use crate::values::Values;
use dpor_protocol::{CallerReport, Counts, EndReport, ExecutionReport, Mode, Save, Seed, SeedStep, SiteReport, Taken};
use heard::Heard;
use process::Process;
use std::time::{Duration, Instant};

/// Runs a test process to its end. Calls `progress` with counts now and then.
///
/// # Errors
/// If the process cannot be started or followed. Whatever the test does is an [`Outcome`].
pub fn run(test: &Test, order: &Order, progress: &mut dyn FnMut(Counts)) -> Result<Outcome, Error> {
    interrupt::is_seen_to();
    let started = Instant::now();
    let mut process = Process::start(test, order)?;
    let mut heard = Heard {
        values: Values::of(&test.binary.path),
        ..Heard::default()
    };
    let end = process.follow(order, &mut heard, progress)?;
    if let (Some(why), Some(save)) = (heard.cannot_resume.take(), &order.save) {
        let save = Some(Save {
            resume: false,
            ..save.clone()
        });
        let order = Order { save, ..order.clone() };
        return Ok(run(test, &order, progress)?.with_note(format!("explored from the start: {why}")));
    }
    (heard.account.stderr, heard.account.stderr_whole) = process.stderr();
    let mut outcome = match heard.finished.take() {
        Some(finished) => finished,
        None => {
            heard.account.callers = functions_at(test, order, process.shared().callers());
            death::outcome(test, order, end, &heard, process.shared())
        }
    };
    heard.complete(&mut outcome);
    if order.executions && matches!(order.mode, Mode::Explore) {
        tell_failing(&mut outcome);
    }
    outcome.shard = order.shard;
    outcome.time = started.elapsed();
    Ok(outcome)
}

/// The functions of the program at return addresses in a test's binary; another process of the binary names them.
fn functions_at(test: &Test, order: &Order, callers: Vec<u64>) -> Vec<CallerReport> {
    /// Maximum time: the process reads all debug information.
    const MOST: Duration = Duration::from_secs(60);
    if callers.is_empty() {
        return Vec::new();
    }
    let order = Order {
        mode: Mode::Locate { callers },
        save: None,
        shard: None,
        stall: MOST,
        ..order.clone()
    };
    let mut heard = Heard::default();
    // Without it, less can be said of how the first process ended.
    let _ = Process::start(test, &order).and_then(|mut process| process.follow(&order, &mut heard, &mut |_| {}));
    heard.account.callers
}

/// Adds the failing execution to the reported ones if it is missing: the process died in it, or it was run only to
/// compare states.
fn tell_failing(outcome: &mut Outcome) {
    let told = |report: &ExecutionReport| matches!(report.end, EndReport::Failed(_));
    let (Some(failure), Some(seed)) = (&outcome.failure, &outcome.seed) else {
        return;
    };
    let Some(seed) = Seed::decode(seed).ok().filter(|_| !outcome.executions.iter().any(told)) else {
        return;
    };
    let known: usize = outcome.executions.iter().map(|report| report.sites.len()).sum();
    let site = u32::try_from(known).unwrap_or(u32::MAX);
    let taken = |step: &SeedStep| Taken {
        thread: step.transition.thread.0,
        alternative: step.transition.alternative,
        site,
    };
    outcome.executions.push(ExecutionReport {
        number: outcome.counts.executions(),
        anew: false,
        common: 0,
        steps: seed.steps.iter().map(taken).collect(),
        end: EndReport::Failed(failure.kind.clone()),
        // What the steps were is not on record.
        sites: vec![SiteReport {
            operation: String::new(),
            location: None,
        }],
        threads: Vec::new(),
    });
}
