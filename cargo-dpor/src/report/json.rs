//! The reporter for programs: a line of JSON for each event.
//!
//! What the lines hold is described in the book's chapter on machine output. Within a [`VERSION`], fields and events
//! are only added.

use crate::build::{Binary, Test};
use crate::config::Row;
use crate::judgement::{Fault, vacuous, weak_orderings};
use crate::outcome::{Mend, Outcome};
use crate::report::event::{Configuration, Event, Reporter, Resumed};
use crate::report::result::{Summary, TestResult, digits};
use crate::unseen::Unseen;
use dpor_protocol::{
    AtomicOperation, CallerReport, Counts, DifferenceReport, FailureReport, LabelReport, OutputStream, SourceLocation,
    StepReport, SuppressionReport, SurveyReport, ThreadReport, Verdict, WeakReport,
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The version of the format, in every line.
const VERSION: u32 = 1;

/// Writes lines of JSON to an output.
pub struct Json<W> {
    out: W,
}

impl<W: Write> Json<W> {
    pub fn new(out: W) -> Self {
        Json { out }
    }

    /// Returns the output.
    #[cfg(test)]
    pub fn into_output(self) -> W {
        self.out
    }
}

#[derive(Serialize)]
struct Line<'a> {
    version: u32,
    #[serde(flatten)]
    body: Body<'a>,
}

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum Body<'a> {
    FacadesBuilding,
    Built {
        folders: &'a [PathBuf],
    },
    Warning {
        message: &'a str,
    },
    Unseen {
        #[serde(flatten)]
        target: Target<'a>,
        message: String,
        #[serde(flatten)]
        unseen: &'a Unseen,
    },
    Configured {
        files: Vec<&'a str>,
        profile: Option<&'a str>,
        run: Settings,
        tests: Vec<OfTests<'a>>,
        overrides: Vec<Override<'a>>,
    },
    Listed {
        tests: Vec<Name<'a>>,
    },
    Executables {
        executables: Vec<Executable<'a>>,
    },
    RunStarted {
        tests: Vec<Name<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        resumed: Option<Resumed>,
    },
    TestStarted {
        test: Name<'a>,
    },
    TestProgress {
        test: Name<'a>,
        counts: &'a Counts,
    },
    TestReplaying {
        test: Name<'a>,
    },
    TestFinished {
        test: Name<'a>,
        #[serde(flatten)]
        result: Finished<'a>,
    },
    RunFinished {
        #[serde(flatten)]
        summary: Totals,
        exit_code: u8,
    },
    Replayed {
        test: Name<'a>,
        /// The program's operation and the seed's, where they differ.
        diverged: Option<Divergence<'a>>,
        #[serde(flatten)]
        result: Finished<'a>,
    },
    Compared {
        test: Name<'a>,
        number: u64,
        pair: Option<Pair<'a>>,
        #[serde(flatten)]
        result: Finished<'a>,
    },
    Surveyed {
        test: Name<'a>,
        survey: Option<&'a SurveyReport>,
        #[serde(flatten)]
        result: Finished<'a>,
    },
    Stopped {
        message: String,
        exit_code: u8,
    },
    Interrupted {
        signal: String,
        resumable: bool,
        exit_code: u8,
    },
}

/// The names of a target with tests.
#[derive(Serialize)]
struct Target<'a> {
    package: &'a str,
    kind: &'a str,
    target: &'a str,
}

impl<'a> From<&'a Binary> for Target<'a> {
    fn from(binary: &'a Binary) -> Self {
        let mut parts = binary.id.splitn(3, '/');
        let mut part = || parts.next().unwrap_or_default();
        Target {
            package: part(),
            kind: part(),
            target: part(),
        }
    }
}

/// The names of a test.
#[derive(Serialize)]
struct Name<'a> {
    #[serde(flatten)]
    target: Target<'a>,
    name: &'a str,
    ignored: bool,
}

impl<'a> From<&'a Test> for Name<'a> {
    fn from(test: &'a Test) -> Self {
        Name {
            target: (&*test.binary).into(),
            name: &test.name,
            ignored: test.ignored,
        }
    }
}

#[derive(Serialize)]
struct Executable<'a> {
    #[serde(flatten)]
    target: Target<'a>,
    path: &'a Path,
}

impl<'a> From<&'a Binary> for Executable<'a> {
    fn from(binary: &'a Binary) -> Self {
        Executable {
            target: binary.into(),
            path: &binary.path,
        }
    }
}

fn names(tests: &[Test]) -> Vec<Name<'_>> {
    tests.iter().map(Name::from).collect()
}

/// The result of a test.
#[derive(Serialize)]
struct Finished<'a> {
    verdict: String,
    /// The part to which the verdict applies.
    shard: Option<String>,
    fingerprint: Option<String>,
    reason: Option<&'a str>,
    note: Option<&'a str>,
    location: Option<&'a SourceLocation>,
    /// Its position, if it was ended in a step that takes too long.
    callers: &'a [CallerReport],
    seconds: f64,
    counts: &'a Counts,
    labels: &'a [LabelReport],
    vacuous: Option<String>,
    weak_orderings: &'a [WeakReport],
    /// How often each suppression of data races applied, if there are any.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    suppressed_races: &'a [SuppressionReport],
    fault: Option<&'static str>,
    failure: Option<&'a FailureReport>,
    /// Orderings with which the test is complete.
    mends: Option<Mends<'a>>,
    seed: Option<&'a str>,
    /// The command that shows the failure again.
    again: Option<&'a str>,
    schedule: Option<Schedule<'a>>,
    /// What the first execution has printed, if it is to be shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    printed: Vec<Piece<'a>>,
}

/// Orderings with which the test is complete.
#[derive(Serialize)]
struct Mends<'a> {
    orderings: Vec<Mended<'a>>,
    all_needed: bool,
}

/// An ordering that the test lacks.
#[derive(Serialize)]
struct Mended<'a> {
    operation: AtomicOperation,
    location: &'a SourceLocation,
    orderings: String,
    mended: String,
}

impl<'a> From<&'a Mend> for Mended<'a> {
    fn from(Mend { place, mended }: &'a Mend) -> Self {
        Mended {
            operation: place.operation,
            location: &place.location,
            orderings: place.orderings(),
            mended: mended.orderings(),
        }
    }
}

/// The schedule of the failure.
#[derive(Serialize)]
struct Schedule<'a> {
    /// Whether it is known, because the repeated run of the schedule has ended in the same way.
    reproduced: bool,
    threads: &'a [ThreadReport],
    steps: &'a [StepReport],
    output: Vec<Piece<'a>>,
    /// What the process wrote past the model.
    stderr: &'a str,
}

#[derive(Serialize)]
struct Piece<'a> {
    stream: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
struct Divergence<'a> {
    step: u64,
    expected: &'a str,
    met: &'a str,
}

#[derive(Serialize)]
struct Pair<'a> {
    common: u64,
    first: &'a [StepReport],
    second: &'a [StepReport],
    differences: &'a [DifferenceReport],
}

impl<'a> Finished<'a> {
    /// Creates the schedule; `shown` has the most details of the failure.
    fn new(
        outcome: &'a Outcome,
        shown: &'a Outcome,
        reproduced: bool,
        again: Option<&'a str>,
        fault: Option<Fault>,
    ) -> Self {
        let account = &shown.account;
        let piece = |(stream, text): &'a (OutputStream, String)| Piece {
            stream: match stream {
                OutputStream::Out => "stdout",
                OutputStream::Err => "stderr",
            },
            text,
        };
        let schedule = shown.failure.as_ref().map(|_| Schedule {
            reproduced,
            threads: &account.threads,
            steps: &account.steps,
            output: account.output.iter().map(piece).collect(),
            stderr: &account.stderr,
        });
        Finished {
            verdict: outcome.verdict.to_string(),
            shard: outcome.shard.map(|shard| shard.to_string()),
            fingerprint: outcome.fingerprint.map(digits),
            reason: outcome.reason.as_deref(),
            note: outcome.note.as_deref(),
            location: outcome.account.location.as_ref(),
            callers: match outcome.verdict {
                Verdict::Incomplete => &outcome.account.callers,
                _ => &[],
            },
            seconds: outcome.time.as_secs_f64(),
            counts: &outcome.counts,
            labels: &outcome.labels,
            vacuous: vacuous(outcome),
            weak_orderings: weak_orderings(outcome),
            suppressed_races: &outcome.suppressions,
            fault: fault.map(Fault::name),
            failure: shown.failure.as_ref(),
            mends: outcome.mends.as_ref().map(|mends| Mends {
                orderings: mends.all.iter().map(Mended::from).collect(),
                all_needed: mends.all_needed,
            }),
            seed: outcome.seed.as_deref(),
            again,
            schedule,
            printed: outcome.account.printed.iter().map(piece).collect(),
        }
    }
}

impl<'a> From<&'a TestResult> for Finished<'a> {
    fn from(result: &'a TestResult) -> Self {
        let shown = result.shown();
        let reproduced = !std::ptr::eq(shown, &raw const result.outcome);
        Finished::new(
            &result.outcome,
            shown,
            reproduced,
            result.again.as_deref(),
            result.fault,
        )
    }
}

#[derive(Serialize)]
struct Totals {
    complete: usize,
    failed: usize,
    incomplete: usize,
    vacuous: usize,
    weak_orderings: usize,
    threaded: usize,
    fault: Option<&'static str>,
    not_run: usize,
    left_out: usize,
    shard: Option<String>,
    fingerprint: Option<String>,
    seconds: f64,
}

impl From<&Summary> for Totals {
    fn from(summary: &Summary) -> Self {
        Totals {
            complete: summary.complete,
            failed: summary.failed,
            incomplete: summary.incomplete,
            vacuous: summary.vacuous,
            weak_orderings: summary.weak_orderings,
            threaded: summary.threaded,
            fault: summary.fault.map(Fault::name),
            not_run: summary.not_run,
            left_out: summary.left_out,
            shard: summary.shard.map(|shard| shard.to_string()),
            fingerprint: summary.shard.map(|_| digits(summary.fingerprint)),
            seconds: summary.time.as_secs_f64(),
        }
    }
}

impl<'a> From<&'a Event<'a>> for Body<'a> {
    fn from(event: &'a Event<'a>) -> Self {
        match *event {
            Event::FacadesBuilding => Body::FacadesBuilding,
            Event::Built { folders } => Body::Built { folders },
            Event::Warning { message } => Body::Warning { message },
            Event::Unseen { binary, unseen } => Body::Unseen {
                target: binary.into(),
                message: unseen.told(false),
                unseen,
            },
            Event::Configured { configuration } => configured(configuration),
            Event::Listed { tests } => Body::Listed { tests: names(tests) },
            Event::Executables { binaries } => Body::Executables {
                executables: binaries.iter().map(Executable::from).collect(),
            },
            Event::RunStarted { tests, resumed } => Body::RunStarted {
                tests: names(tests),
                resumed,
            },
            Event::TestStarted { test } => Body::TestStarted { test: test.into() },
            Event::TestProgress { test, counts } => Body::TestProgress {
                test: test.into(),
                counts,
            },
            Event::Replaying { test } => Body::TestReplaying { test: test.into() },
            Event::TestFinished { test, result } => Body::TestFinished {
                test: test.into(),
                result: result.into(),
            },
            Event::RunFinished { summary, exit } => Body::RunFinished {
                summary: summary.into(),
                exit_code: exit as u8,
            },
            Event::Replayed { test, outcome, .. } => Body::Replayed {
                test: test.into(),
                diverged: outcome
                    .account
                    .diverged
                    .as_ref()
                    .map(|(step, expected, met)| Divergence {
                        step: *step,
                        expected,
                        met,
                    }),
                result: Finished::new(outcome, outcome, true, None, None),
            },
            Event::Compared {
                test,
                number,
                outcome,
                again,
            } => Body::Compared {
                test: test.into(),
                number,
                pair: outcome.pair.as_ref().map(|pair| Pair {
                    common: pair.common,
                    first: &pair.first,
                    second: &pair.second,
                    differences: &pair.differences,
                }),
                result: Finished::new(outcome, outcome, true, again, None),
            },
            Event::Surveyed { test, outcome, again } => Body::Surveyed {
                test: test.into(),
                survey: outcome.survey.as_ref(),
                result: Finished::new(outcome, outcome, true, again, None),
            },
            Event::Stopped { error } => Body::Stopped {
                message: error.to_string(),
                exit_code: error.exit() as u8,
            },
            Event::Interrupted { signal, resumable } => Body::Interrupted {
                signal: signal.to_string(),
                resumable,
                exit_code: signal.exit() as u8,
            },
        }
    }
}

/// Settings by name.
type Settings = BTreeMap<&'static str, Set>;

/// The value of a setting, as it is written in configuration files, and its origin.
#[derive(Serialize)]
struct Set {
    value: String,
    origin: String,
}

#[derive(Serialize)]
struct OfTests<'a> {
    packages: &'a [String],
    test: Option<&'a str>,
    settings: Settings,
}

#[derive(Serialize)]
struct Override<'a> {
    file: &'a str,
    profile: Option<&'a str>,
    #[serde(rename = "for")]
    of: String,
    settings: BTreeMap<&'a str, &'a str>,
}

fn settings(rows: Vec<Row<'_>>) -> Settings {
    let set = |row: Row<'_>| {
        let (value, origin) = (row.value, row.origin.to_string());
        (row.key, Set { value, origin })
    };
    rows.into_iter().map(set).collect()
}

fn configured<'a>(configuration: &'a Configuration<'a>) -> Body<'a> {
    let tests = configuration.tests.iter().map(|(packages, own)| OfTests {
        packages,
        test: configuration.test,
        settings: settings(own.rows()),
    });
    let overrides = configuration.config.overrides().map(|told| Override {
        file: told.file,
        profile: told.profile,
        of: told.of.to_string(),
        settings: told
            .entries
            .iter()
            .map(|entry| (entry.key.as_str(), entry.text.as_str()))
            .collect(),
    });
    Body::Configured {
        files: configuration.config.files(),
        profile: configuration.config.profile(),
        run: settings(configuration.run.rows()),
        tests: tests.collect(),
        overrides: overrides.collect(),
    }
}

impl<W: Write> Reporter for Json<W> {
    fn event(&mut self, event: &Event<'_>) {
        let line = Line {
            version: VERSION,
            body: event.into(),
        };
        let mut text = serde_json::to_string(&line).expect("an event has a form in JSON");
        text.push('\n');
        // Whoever closed the output does not want the rest of it.
        let _ = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
    }
}

#[cfg(test)]
mod tests;
