//! A made-up run, for the tests of reporters.

use crate::build::{Binary, Test};
use crate::config::Settings;
use crate::error::{Error, Exit};
use crate::judgement::{Fault, fault};
use crate::outcome::{Account, Mend, Mends, Outcome};
use crate::report::{Event, Reporter, Summary, TestResult};
use dpor_protocol::{
    AtomicOperation, BlockedThread, Counts, FailureReport, LabelReport, MemoryOrdering, OutputStream, SharingReport,
    SourceLocation, StepReport, ThreadReport, ValueReport, Verdict, WeakPlace, WeakReport,
};
use std::sync::Arc;
use std::time::Duration;

pub fn test(name: &str) -> Test {
    let binary = Binary {
        path: "bank-1".into(),
        id: "bank/lib/bank".into(),
        name: "bank".into(),
        folder: "".into(),
        is_proc_macro: false,
        environment: vec![],
    };
    Test {
        binary: Arc::new(binary),
        name: name.into(),
        ignored: false,
    }
}

pub fn outcome(verdict: Verdict) -> Outcome {
    Outcome {
        counts: Counts {
            complete: 20,
            blocked: 3,
            steps: 420,
            states: 95,
            compared: 70,
            equal: 12,
            checks: 4,
            threads: 3,
            ..Counts::default()
        },
        time: Duration::from_millis(70),
        ..Outcome::of(verdict)
    }
}

pub fn pruned() -> Outcome {
    let mut outcome = outcome(Verdict::Complete);
    outcome.counts.pruned = 7;
    outcome.note = Some("states were not compared: a mapping was made".into());
    outcome
}

pub fn failed() -> Outcome {
    let failure = FailureReport {
        kind: "panic".into(),
        message: "lost update".into(),
        thread: Some(0),
        thread_name: None,
        location: None,
        blocked: vec![],
        output: "seen 1\n".into(),
        ..FailureReport::default()
    };
    Outcome {
        failure: Some(failure),
        seed: Some("dpor1-AAAA".into()),
        ..outcome(Verdict::Failed)
    }
}

pub fn incomplete() -> Outcome {
    Outcome {
        reason: Some("the limit of 20 executions was reached".into()),
        counts: Counts {
            explored: 31_250,
            ..outcome(Verdict::Incomplete).counts
        },
        ..outcome(Verdict::Incomplete)
    }
}

/// A place in a file that exists.
fn place(line: u32) -> SourceLocation {
    SourceLocation {
        file: "src/main.rs".into(),
        line,
        column: 5,
    }
}

/// A failure with all details.
pub fn failed_in_full() -> Outcome {
    let mut outcome = failed();
    let failure = outcome.failure.as_mut().expect("it has failed");
    failure.location = Some(place(7));
    failure.blocked = vec![BlockedThread {
        thread: 1,
        thread_name: Some("teller".into()),
        operation: "lock".into(),
        object: "mutex#1".into(),
        object_name: Some("till".into()),
        static_address: None,
        location: Some(place(9)),
        held_by: vec![],
        timeout: None,
        timeouts_fire: true,
    }];
    let thread = |id, parent, name: Option<&str>| ThreadReport {
        id,
        parent,
        name: name.map(Into::into),
        location: parent.is_some().then(|| place(5)),
    };
    let step = |index, thread, operation: &str, switched| StepReport {
        index,
        thread,
        thread_name: (thread == 1).then(|| "teller".into()),
        operation: operation.into(),
        object: "atomic#1".into(),
        object_name: Some("balance".into()),
        location: Some(place(6)),
        detail: Some("0 → 1".into()),
        switched,
        preempted: index == 1,
        reads_from: (index == 1).then_some(0),
        values: vec![ValueReport {
            object: "atomic#1".into(),
            before: "0".into(),
            after: "1".into(),
        }],
        ..StepReport::default()
    };
    let weak = |line, operation| WeakPlace {
        location: place(line),
        operation,
        success: MemoryOrdering::Relaxed,
        failure: None,
    };
    let mend = |place: WeakPlace, ordering| Mend {
        mended: WeakPlace {
            success: ordering,
            ..place.clone()
        },
        place,
    };
    outcome.mends = Some(Mends {
        all: vec![
            mend(weak(6, AtomicOperation::Store), MemoryOrdering::Release),
            mend(weak(8, AtomicOperation::ReadModifyWrite), MemoryOrdering::AcqRel),
        ],
        all_needed: true,
    });
    outcome.account = Account {
        location: Some(place(3)),
        threads: vec![thread(0, None, None), thread(1, Some(0), Some("teller"))],
        steps: vec![step(0, 0, "load", true), step(1, 1, "store", true)],
        output: vec![(OutputStream::Err, "seen 1\n".into())],
        printed: vec![],
        diverged: None,
        stderr: String::new(),
        ..Account::default()
    };
    outcome.labels = vec![LabelReport {
        label: "overdrawn".into(),
        complete: 2,
        all: 3,
        required: Some(place(8)),
    }];
    outcome
}

/// A result with the usual judgement.
pub fn result(outcome: Outcome, replay: Option<Outcome>, again: Option<String>) -> TestResult {
    TestResult {
        fault: fault(&outcome, &Settings::default()),
        outcome,
        replay,
        again,
    }
}

/// A complete test about which there is something to say.
pub fn doubtful() -> Outcome {
    let weak = |line, operation: &str, orderings: &str| WeakReport {
        operation: operation.into(),
        orderings: orderings.into(),
        location: Some(place(line)),
    };
    let mut outcome = pruned();
    outcome.account.location = Some(place(3));
    outcome.sharing = Some(SharingReport {
        conflict: false,
        weak: vec![
            weak(2, "load", "Relaxed"),
            weak(3, "compare-exchange", "AcqRel, Relaxed"),
            weak(4, "store", "Release"),
            weak(5, "load", "Acquire"),
        ],
    });
    outcome
}

/// Reports the end of a test; a failure is reproduced.
pub fn finish(reporter: &mut dyn Reporter, test: &Test, outcome: Outcome) {
    let again = outcome.seed.as_ref().map(|seed| format!("cargo dpor replay {seed}"));
    let replay = outcome.failure.is_some().then(|| outcome.clone());
    let result = result(outcome, replay, again);
    reporter.event(&Event::TestFinished { test, result: &result });
}

/// A whole run.
pub fn run(reporter: &mut dyn Reporter, failed: Outcome) {
    let tests = [
        test("tests::deposit"),
        test("tests::transfer_back_and_forth"),
        test("tests::long"),
        test("tests::later"),
    ];
    reporter.event(&Event::RunStarted {
        tests: &tests,
        resumed: None,
    });
    for (test, outcome) in tests.iter().zip([doubtful(), failed, incomplete()]) {
        reporter.event(&Event::TestStarted { test });
        reporter.event(&Event::TestProgress {
            test,
            counts: &outcome.counts,
        });
        reporter.event(&Event::Replaying { test });
        finish(reporter, test, outcome);
    }
    let summary = Summary {
        complete: 1,
        failed: 1,
        incomplete: 1,
        vacuous: 1,
        weak_orderings: 1,
        threaded: 2,
        fault: Some(Fault::Failed),
        not_run: 1,
        left_out: 7,
        shard: None,
        fingerprint: 0,
        time: Duration::from_millis(2345),
    };
    reporter.event(&Event::RunFinished {
        summary: &summary,
        exit: Exit::Failed,
    });
}

/// An error that keeps a command from its work.
pub fn error() -> Error {
    Error::NoTests("none: 100 %\nof them".into())
}
