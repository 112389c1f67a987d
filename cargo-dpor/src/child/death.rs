//! The outcome of a test process that did not send its last message.

use crate::build::Test;
use crate::callers::lines;
use crate::child::{Account, End, Order, Outcome, State};
use dpor_protocol::{CallerReport, Crash, FailureReport, Mode, Phase, SharedSchedule, Verdict};
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

/// The message for a test that ended without any message.
const WITHOUT_MODEL: &str = "it ran without the model, so nothing was explored: it is not made by the `#[test]` of the \
                             standard library, but by a harness or an attribute of its own; call its body from a \
                             function with `#[test]`";

pub fn outcome(test: &Test, order: &Order, end: End, state: &State, shared: &SharedSchedule) -> Outcome {
    let phase = shared.phase();
    let schedule = shared.snapshot();
    let mut outcome = Outcome {
        verdict: Verdict::Failed,
        reason: None,
        note: None,
        counts: state.counts,
        failure: None,
        seed: None,
        account: Account::default(),
        pair: None,
        labels: vec![],
        simplified: None,
        sharing: None,
        executions: vec![],
        record: String::new(),
        shard: None,
        fingerprint: None,
        time: Duration::ZERO,
    };
    // Progress is reported now and then only; the shared schedule knows better. The execution in which the process died
    // has come to its end as well.
    let counts = &mut outcome.counts;
    [counts.complete, counts.blocked, counts.pruned, counts.cut] = shared.ended();
    counts.complete += u64::from(!schedule.steps.is_empty());
    outcome.counts.steps = outcome.counts.steps.max(shared.heartbeat());
    let last_thread = schedule.steps.last().map(|step| step.transition.thread.0);
    let in_step = phase == Phase::Running;
    let callers = &state.account.callers;
    // What cannot be run to its end can be run again, up to there.
    let seed = || match &order.mode {
        Mode::Replay { seed } | Mode::Simplify { seed, .. } => Some(seed.clone()),
        _ if !state.started => None,
        Mode::Explore | Mode::DiffStates { .. } => schedule
            .seed(&test.id(), &order.strategy, order.spurious_wakeups, order.spurious_cas)
            .map(|seed| seed.encode()),
        Mode::Locate { .. } => None,
    };
    let (kind, message, thread) = match end {
        End::Exited(status) if !state.started && status.success() => {
            outcome.verdict = Verdict::Incomplete;
            outcome.reason = Some(WITHOUT_MODEL.into());
            return outcome;
        }
        End::Interrupted => {
            outcome.verdict = Verdict::Incomplete;
            outcome.reason = Some("interrupted".into());
            return outcome;
        }
        End::Garbled(error) => ("protocol", error, None),
        End::Overtime => {
            outcome.verdict = Verdict::Incomplete;
            let limit = order.limits.seconds.unwrap_or_default();
            outcome.reason = Some(format!(
                "the time limit of {limit}s was reached long ago, in a very long execution"
            ));
            return outcome;
        }
        // A test does not do that to itself.
        End::Exited(status) if status.signal() == Some(libc::SIGKILL) && shared.crash().is_none() => {
            outcome.verdict = Verdict::Incomplete;
            outcome.reason = Some("the test process was killed from outside (is there too little memory?)".into());
            return outcome;
        }
        End::Stalled { limit, running: false } if in_step => {
            outcome.verdict = Verdict::Incomplete;
            outcome.reason = Some(format!(
                "{} waited for {} in a system call, which the model cannot follow{}",
                named(last_thread),
                seconds(limit),
                listed(callers)
            ));
            return outcome;
        }
        // Nobody can tell one that takes long from one that takes for ever.
        End::Stalled { limit, .. } if in_step => {
            outcome.verdict = Verdict::Incomplete;
            outcome.reason = Some(format!(
                "{} ran for {} without reaching a scheduling point: unless it is an endless loop, \
             `--stall` gives it more time{}",
                named(last_thread),
                seconds(limit),
                listed(callers)
            ));
            outcome.seed = seed();
            return outcome;
        }
        End::Stalled { limit, .. } => {
            // Not the test's fault: between steps only the checker runs.
            let place = if phase == Phase::Setup {
                "before the test's body began"
            } else {
                "between two steps"
            };
            outcome.verdict = Verdict::Incomplete;
            outcome.reason = Some(format!("the test process did nothing for {} {place}", seconds(limit)));
            return outcome;
        }
        End::Exited(status) => {
            let thread = if in_step { last_thread } else { None };
            let place = if state.started {
                ""
            } else {
                " before the test's body began"
            };
            match (shared.crash(), status.signal()) {
                (Some(crash), _) => {
                    let thread = crash.thread.map(|thread| thread.0).or(thread);
                    let (kind, message) = describe(crash);
                    (kind, message + place, thread)
                }
                (None, Some(libc::SIGABRT)) => ("abort", format!("the process aborted{place}"), thread),
                (None, Some(signal)) => (
                    "crash",
                    format!("the process was killed by {}{place}", name(signal)),
                    thread,
                ),
                (None, None) => {
                    let code = status.code().unwrap_or(-1);
                    ("exit", format!("the process exited with status {code}{place}"), thread)
                }
            }
        }
    };
    outcome.failure = Some(FailureReport {
        kind: kind.into(),
        message,
        thread,
        thread_name: None,
        location: callers.iter().find_map(|caller| caller.location.clone()),
        callers: callers.clone(),
        blocked: Vec::new(),
        output: String::new(),
        ..FailureReport::default()
    });
    outcome.seed = seed();
    outcome
}

/// The position of the process, on separate lines.
fn listed(callers: &[CallerReport]) -> String {
    lines(callers).into_iter().map(|line| format!("\n  {line}")).collect()
}

fn describe(crash: Crash) -> (&'static str, String) {
    if crash.stack_overflow {
        return ("stack-overflow", "a thread overflowed its stack".into());
    }
    match crash.signal as i32 {
        libc::SIGABRT => ("abort", "the process aborted".into()),
        libc::SIGSEGV | libc::SIGBUS if crash.address < 4096 => (
            "crash",
            format!(
                "{} at address {:#x}: a null pointer was used",
                name(crash.signal as i32),
                crash.address
            ),
        ),
        libc::SIGSEGV | libc::SIGBUS => (
            "crash",
            format!("{} at address {:#x}", name(crash.signal as i32), crash.address),
        ),
        signal => ("crash", format!("the process was killed by {}", name(signal))),
    }
}

fn named(thread: Option<u32>) -> String {
    thread.map_or_else(|| "the program".into(), |thread| format!("thread t{thread}"))
}

fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}

fn name(signal: i32) -> String {
    match signal {
        libc::SIGSEGV => "SIGSEGV".into(),
        libc::SIGBUS => "SIGBUS".into(),
        libc::SIGILL => "SIGILL".into(),
        libc::SIGFPE => "SIGFPE".into(),
        libc::SIGTRAP => "SIGTRAP".into(),
        libc::SIGABRT => "SIGABRT".into(),
        libc::SIGKILL => "SIGKILL (by the system, for want of memory perhaps)".into(),
        libc::SIGTERM => "SIGTERM".into(),
        other => format!("signal {other}"),
    }
}
