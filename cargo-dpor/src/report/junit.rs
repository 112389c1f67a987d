//! The reporter for continuous integration: one file in JUnit's format.

use crate::build::Test;
use crate::error::Error;
use crate::judgement::{Fault, vacuous, weak_orderings};
use crate::report::event::{Event, Reporter};
use crate::report::result::{TestResult, digits};
use crate::report::story::source::{SourceTree, short};
use crate::report::story::weak::sequential;
use crate::report::text::{WIDTH, failure_text};
use dpor_protocol::Verdict;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Collects the results of tests, and writes them to an output at the end.
pub struct Junit<W> {
    out: W,
    /// For errors.
    path: PathBuf,
    sources: SourceTree,
    /// The result of each test, by target and name.
    cases: BTreeMap<(String, String), TestCase>,
    time: Option<std::time::Duration>,
}

impl Junit<File> {
    /// Creates the reporter. Creates the file now, so that nobody has to wait to learn that this is impossible.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let what = || format!("cannot write the JUnit report {}", path.display());
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(Error::io(what()))?;
        }
        let file = File::create(path).map_err(Error::io(what()))?;
        Ok(Junit::new(file, path))
    }
}

impl<W: Write> Junit<W> {
    fn new(out: W, path: &Path) -> Self {
        Junit {
            out,
            path: path.into(),
            sources: SourceTree::new(Vec::new()),
            cases: BTreeMap::new(),
            time: None,
        }
    }

    fn add(&mut self, test: &Test, case: TestCase) {
        self.cases.insert((test.binary.name.clone(), test.name.clone()), case);
    }

    fn case(&self, test: &Test, result: &TestResult) -> TestCase {
        let outcome = &result.outcome;
        let reason = outcome.reason.as_deref().unwrap_or_default();
        let status = match outcome.verdict {
            Verdict::Complete | Verdict::Incomplete
                if matches!(result.fault, Some(Fault::Vacuous | Fault::WeakOrderings)) =>
            {
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                let kind = result.fault.map_or("", Fault::name);
                let message = match result.fault {
                    Some(Fault::Vacuous) => vacuous(outcome).unwrap_or_default(),
                    _ => sequential(weak_orderings(outcome), usize::MAX),
                };
                status.set_type(kind).set_message(message);
                status
            }
            Verdict::Complete => TestCaseStatus::success(),
            Verdict::Incomplete if result.fault.is_none() => {
                let mut status = TestCaseStatus::skipped();
                status.set_type("incomplete").set_message(reason);
                status
            }
            Verdict::Incomplete => {
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
                status.set_type("incomplete").set_message(reason);
                status
            }
            Verdict::Failed => {
                let failure = result.shown().failure.as_ref();
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                status
                    .set_type(failure.map_or("failure", |failure| &failure.kind))
                    .set_message(failure.map_or(reason, |failure| &failure.message))
                    .set_description(
                        anstream::adapter::strip_str(&failure_text(test, result, &self.sources, WIDTH)).to_string(),
                    );
                status
            }
        };
        let mut case = case(test, status);
        case.set_time(outcome.time);
        let counts = &outcome.counts;
        for (name, count) in [
            ("executions", counts.complete),
            ("blocked", counts.blocked),
            ("pruned", counts.pruned),
            ("steps", counts.steps),
            ("threads", counts.threads),
        ] {
            case.add_property((name, count.to_string().as_str()));
        }
        if let Some(shard) = outcome.shard {
            case.add_property(("shard", shard.to_string().as_str()));
        }
        if let Some(fingerprint) = outcome.fingerprint {
            case.add_property(("fingerprint", digits(fingerprint).as_str()));
        }
        if let Some(reason) = vacuous(outcome) {
            case.add_property(("vacuous", reason.as_str()));
        }
        for weak in weak_orderings(outcome) {
            let place = weak.location.as_ref().map_or_else(String::new, short);
            let weak = format!("{place} {} {}", weak.operation, weak.orderings);
            case.add_property(("weak-orderings", weak.as_str()));
        }
        if let Some(seed) = &outcome.seed {
            case.add_property(("seed", seed.as_str()));
        }
        let output = match outcome.verdict {
            Verdict::Failed => &result.shown().account.output,
            _ => &outcome.account.printed,
        };
        if !output.is_empty() {
            case.set_system_out(output.iter().map(|(_, text)| text.as_str()).collect::<String>());
        }
        case
    }

    fn report(&self) -> Report {
        let mut report = Report::new("cargo-dpor");
        let mut suites: BTreeMap<&str, TestSuite> = BTreeMap::new();
        for ((target, _), case) in &self.cases {
            let suite = suites.entry(target).or_insert_with(|| TestSuite::new(target.as_str()));
            suite.add_test_case(case.clone());
        }
        report.add_test_suites(suites.into_values());
        if let Some(time) = self.time {
            report.set_time(time);
        }
        report
    }
}

fn case(test: &Test, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(test.name.as_str(), status);
    case.set_classname(test.binary.name.as_str());
    case
}

impl<W: Write> Reporter for Junit<W> {
    fn event(&mut self, event: &Event<'_>) {
        match *event {
            Event::Built { folders } => self.sources = SourceTree::new(folders.to_vec()),
            Event::RunStarted { tests, .. } => {
                for test in tests {
                    let mut status = TestCaseStatus::skipped();
                    status.set_message("not run");
                    self.add(test, case(test, status));
                }
            }
            Event::TestFinished { test, result } => {
                let case = self.case(test, result);
                self.add(test, case);
            }
            Event::RunFinished { summary, .. } => self.time = Some(summary.time),
            _ => {}
        }
    }

    fn close(&mut self) -> Result<(), Error> {
        let text = self.report().to_string().expect("a report has a form in XML");
        let what = format!("cannot write the JUnit report {}", self.path.display());
        self.out
            .write_all(text.as_bytes())
            .and_then(|()| self.out.flush())
            .map_err(Error::io(what))
    }
}

#[cfg(test)]
mod tests;
