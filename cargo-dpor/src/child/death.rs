//! The outcome of a test process that did not send its last message.

use crate::build::Test;
use crate::callers::lines;
use crate::child::heard::Heard;
use crate::child::order::Order;
use crate::child::process::End;
use crate::outcome::Outcome;
use dpor_protocol::{
    CallerReport, Counts, Crash, FailureKind, FailureReport, Mode, Phase, SharedSchedule, Snapshot, Verdict,
};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

/// The message for a test that ended without any message.
const WITHOUT_MODEL: &str = "it ran without the model, so nothing was explored: it is not made by the `#[test]` of the \
                             standard library, but by a harness or an attribute of its own; call its body from a \
                             function with `#[test]`";

/// The outcome of a process that has ended like this.
pub fn outcome(test: &Test, order: &Order, end: End, heard: &Heard, shared: &SharedSchedule) -> Outcome {
    let schedule = shared.snapshot();
    let in_step = shared.phase() == Phase::Running;
    let scene = Scene {
        heard,
        shared,
        in_step,
        last_thread: schedule.steps.last().map(|step| step.transition.thread.0),
    };
    let counts = scene.counts(&schedule);
    let cause = scene.cause(order, end);
    let seed = || scene.seed(test, order, schedule);
    let callers = &heard.account.callers;
    match cause {
        Cause::Unknown(reason) => Outcome {
            reason: Some(reason),
            counts,
            ..Outcome::of(Verdict::Incomplete)
        },
        Cause::LongStep(reason) => Outcome {
            reason: Some(reason),
            counts,
            seed: seed(),
            ..Outcome::of(Verdict::Incomplete)
        },
        Cause::Failure { kind, message, thread } => Outcome {
            failure: Some(FailureReport {
                kind: kind.to_string(),
                message,
                thread,
                location: callers.iter().find_map(|caller| caller.location.clone()),
                callers: callers.clone(),
                ..FailureReport::default()
            }),
            counts,
            seed: seed(),
            ..Outcome::of(Verdict::Failed)
        },
    }
}

/// Why a process has ended without a last message.
enum Cause {
    /// The test has failed by that.
    Failure {
        kind: FailureKind,
        message: String,
        thread: Option<u32>,
    },
    /// The step takes too long; up to there, the schedule can be run again.
    LongStep(String),
    /// Nobody can say whether it is the test's fault.
    Unknown(String),
}

/// What a process has left.
struct Scene<'a> {
    heard: &'a Heard,
    shared: &'a SharedSchedule,
    /// Whether it ended in a step.
    in_step: bool,
    /// The thread of the last step.
    last_thread: Option<u32>,
}

impl Scene<'_> {
    /// The counts of the exploration. Progress is reported now and then only; the shared schedule knows better. The
    /// execution in which the process died has come to its end as well.
    fn counts(&self, schedule: &Snapshot) -> Counts {
        let mut counts = self.heard.counts;
        [counts.complete, counts.blocked, counts.pruned, counts.cut] = self.shared.ended();
        counts.complete += u64::from(!schedule.steps.is_empty());
        counts.steps = counts.steps.max(self.shared.heartbeat());
        counts
    }

    /// The seed of what cannot be run to its end: it can be run again, up to there.
    fn seed(&self, test: &Test, order: &Order, schedule: Snapshot) -> Option<String> {
        match &order.mode {
            Mode::Replay { seed } | Mode::Simplify { seed, .. } => Some(seed.clone()),
            Mode::Explore | Mode::DiffStates { .. } | Mode::Survey if self.heard.started => schedule
                .seed(&test.id(), &order.strategy, order.options)
                .map(|seed| seed.encode()),
            Mode::Explore | Mode::DiffStates { .. } | Mode::Survey | Mode::Locate { .. } => None,
        }
    }

    fn cause(&self, order: &Order, end: End) -> Cause {
        match end {
            End::Exited(status) => self.exited(status),
            End::Interrupted => Cause::Unknown("interrupted".into()),
            End::Garbled(message) => Cause::Failure {
                kind: FailureKind::Protocol,
                message,
                thread: None,
            },
            End::Overtime => {
                let limit = order.limits.seconds.unwrap_or_default();
                let reason = format!("the time limit of {limit}s was reached long ago, in a very long execution");
                Cause::Unknown(reason)
            }
            End::Stalled { limit, running } => self.stalled(limit, running),
        }
    }

    fn stalled(&self, limit: Duration, running: bool) -> Cause {
        let who = named(self.last_thread);
        let place = listed(&self.heard.account.callers);
        match (self.in_step, running) {
            (true, false) => Cause::Unknown(format!(
                "{who} waited for {} in a system call, which the model cannot follow{place}",
                seconds(limit)
            )),
            // Nobody can tell one that takes long from one that takes for ever.
            (true, true) => Cause::LongStep(format!(
                "{who} ran for {} without reaching a scheduling point: unless it is an endless loop, `--stall` gives \
                 it more time{place}",
                seconds(limit)
            )),
            // Not the test's fault: between steps only the checker runs.
            (false, true) if self.shared.phase() != Phase::Setup => Cause::Unknown(format!(
                "the checker was busy for {} between two steps: `--stall` gives it more time",
                seconds(limit)
            )),
            (false, _) => {
                let place = match self.shared.phase() {
                    Phase::Setup => "before the test's body began",
                    _ => "between two steps",
                };
                Cause::Unknown(format!("the test process did nothing for {} {place}", seconds(limit)))
            }
        }
    }

    fn exited(&self, status: ExitStatus) -> Cause {
        let started = self.heard.started;
        if !started && status.success() {
            return Cause::Unknown(WITHOUT_MODEL.into());
        }
        let crash = self.shared.crash();
        // A test does not do that to itself.
        if status.signal() == Some(libc::SIGKILL) && crash.is_none() {
            let reason = "the test process was killed from outside (is there too little memory?)";
            return Cause::Unknown(reason.into());
        }
        let thread = self.last_thread.filter(|_| self.in_step);
        let place = if started { "" } else { " before the test's body began" };
        let (kind, message, thread) = match (crash, status.signal()) {
            (Some(crash), _) => {
                let thread = crash.thread.map(|thread| thread.0).or(thread);
                let (kind, message) = describe(crash);
                (kind, message, thread)
            }
            (None, Some(libc::SIGABRT)) => (FailureKind::Abort, "the process aborted".to_owned(), thread),
            (None, Some(signal)) => {
                let message = format!("the process was killed by {}", name(signal));
                (FailureKind::Crash, message, thread)
            }
            (None, None) => {
                let code = status.code().unwrap_or(-1);
                let message = format!("the process exited with status {code}");
                (FailureKind::Exit, message, thread)
            }
        };
        Cause::Failure {
            kind,
            message: message + place,
            thread,
        }
    }
}

/// The position of the process, on separate lines.
fn listed(callers: &[CallerReport]) -> String {
    lines(callers).into_iter().map(|line| format!("\n  {line}")).collect()
}

fn describe(crash: Crash) -> (FailureKind, String) {
    if crash.stack_overflow {
        return (FailureKind::StackOverflow, "a thread overflowed its stack".into());
    }
    match crash.signal as i32 {
        libc::SIGABRT => (FailureKind::Abort, "the process aborted".into()),
        libc::SIGSEGV | libc::SIGBUS if crash.address < 4096 => (
            FailureKind::Crash,
            format!(
                "{} at address {:#x}: a null pointer was used",
                name(crash.signal as i32),
                crash.address
            ),
        ),
        libc::SIGSEGV | libc::SIGBUS => (
            FailureKind::Crash,
            format!("{} at address {:#x}", name(crash.signal as i32), crash.address),
        ),
        signal => (
            FailureKind::Crash,
            format!("the process was killed by {}", name(signal)),
        ),
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
