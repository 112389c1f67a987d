//! The reporter for people who would rather look than read: a page for each test, that needs nothing but itself.

mod tree;

use crate::build::Test;
use crate::child::Outcome;
use crate::error::Error;
use crate::judgement::{vacuous, weak_orderings};
use crate::report::failure::{names, other_choice};
use crate::report::source::SourceTree;
use crate::report::steps::Names;
use crate::report::waits::Waits;
use crate::report::weak::sequential;
use crate::report::words::Words;
use crate::report::{Event, Reporter, TestResult};
use dpor_protocol::{
    BlockedThread, Counts, FailureReport, PartingReport, Simplified, SourceLocation, StepReport, ThreadReport,
    ValueReport, Verdict,
};
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use tree::Tree;

/// The page, with a place for [`Page`] as JSON, and for what follows.
const TEMPLATE: &str = include_str!("html/page.html");
const STYLE: &str = include_str!("html/page.css");
/// What makes the page of the data; the tree of executions has a file of its own.
const SCRIPT: [&str; 2] = [include_str!("html/tree.js"), include_str!("html/page.js")];

/// The list of the pages, with a place for [`Entry`]s as JSON.
const INDEX: &str = include_str!("html/index.html");

/// Where the data go.
const PLACE: &str = "@DATA@";

/// Writes pages to a folder.
pub struct Html {
    folder: PathBuf,
    sources: SourceTree,
    pages: Vec<Entry>,
    files: HashSet<String>,
    error: Option<Error>,
}

/// A line of the list of pages.
#[derive(Serialize)]
struct Entry {
    test: String,
    file: String,
    verdict: String,
    shard: Option<String>,
    text: String,
    executions: u64,
}

/// What a page shows.
#[derive(Serialize)]
struct Page<'a> {
    test: String,
    verdict: String,
    /// Of which part that is the verdict.
    shard: Option<String>,
    reason: Option<&'a str>,
    notes: Vec<String>,
    /// The command that shows the failure again.
    again: Option<&'a str>,
    failure: Option<Failure<'a>>,
    threads: &'a [ThreadReport],
    steps: Vec<Step<'a>>,
    simplified: Option<&'a Simplified>,
    /// The number of the step at which the schedule parts from one that passes, from 0, and what could have been instead.
    decisive: Option<u64>,
    instead: Option<String>,
    statistics: Vec<(&'static str, String)>,
    tree: Option<Tree<'a>>,
    /// The lines of the files that steps were made in.
    sources: BTreeMap<&'a str, Vec<String>>,
}

#[derive(Serialize)]
struct Failure<'a> {
    kind: &'a str,
    /// In a sentence.
    message: String,
    location: Option<&'a SourceLocation>,
    blocked: &'a [BlockedThread],
    output: &'a str,
}

#[derive(Serialize)]
struct Step<'a> {
    thread: u32,
    /// What it does.
    effect: String,
    location: Option<&'a SourceLocation>,
    preempted: bool,
    reads_from: Option<u64>,
    values: Vec<Value>,
}

#[derive(Serialize)]
struct Value {
    object: String,
    before: String,
    after: String,
}

impl Html {
    /// Writes to this folder, which is made now, so that nobody has to wait to learn that it cannot be.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn create(folder: &Path) -> Result<Self, Error> {
        let html = Html {
            folder: folder.into(),
            sources: SourceTree::new(Vec::new()),
            pages: Vec::new(),
            files: HashSet::new(),
            error: None,
        };
        fs::create_dir_all(folder).map_err(Error::io(html.cannot_write()))?;
        html.write("index.html", INDEX, &html.pages)?;
        Ok(html)
    }

    fn cannot_write(&self) -> String {
        format!("cannot write the report to {}", self.folder.display())
    }

    fn write(&self, file: &str, template: &str, data: &impl Serialize) -> Result<(), Error> {
        fs::write(self.folder.join(file), fill(template, data)).map_err(Error::io(self.cannot_write()))
    }

    fn add(&mut self, test: &Test, result: &TestResult) -> Result<(), Error> {
        let page = page(test, result, &self.sources);
        let mut file = format!("{}.html", file_name(&page.test));
        for n in 2.. {
            if self.files.insert(file.clone()) {
                break;
            }
            file = format!("{}-{n}.html", file_name(&page.test));
        }
        let template = TEMPLATE
            .replacen("@STYLE@", STYLE, 1)
            .replacen("@SCRIPT@", &SCRIPT.concat(), 1);
        self.write(&file, &template, &page)?;
        let text = page
            .failure
            .as_ref()
            .map(|failure| format!("{}: {}", failure.kind, failure.message));
        self.pages.push(Entry {
            text: text.or(page.reason.map(Into::into)).unwrap_or_default(),
            test: page.test,
            file,
            verdict: page.verdict,
            shard: page.shard,
            executions: result.outcome.counts.complete,
        });
        Ok(())
    }
}

impl Reporter for Html {
    fn event(&mut self, event: &Event<'_>) {
        match *event {
            Event::Built { folders } => self.sources = SourceTree::new(folders.to_vec()),
            Event::TestFinished { test, result } if self.error.is_none() => self.error = self.add(test, result).err(),
            _ => {}
        }
    }

    fn close(&mut self) -> Result<(), Error> {
        match self.error.take() {
            Some(error) => Err(error),
            None => self.write("index.html", INDEX, &self.pages),
        }
    }
}

/// Puts data into a template, so that no text in them ends the element that they are in.
fn fill(template: &str, data: &impl Serialize) -> String {
    let json = serde_json::to_string(data).expect("a page has a form in JSON");
    template.replacen(PLACE, &json.replace('<', "\\u003c"), 1)
}

/// A test's name as that of a file.
fn file_name(test: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || c == '_' { c } else { '-' };
    test.replace("::", ".")
        .chars()
        .map(|c| if c == '.' { c } else { plain(c) })
        .collect()
}

fn page<'a>(test: &Test, result: &'a TestResult, sources: &SourceTree) -> Page<'a> {
    let (outcome, shown) = (&result.outcome, result.shown());
    let account = &shown.account;
    let nothing = FailureReport::default();
    let names = names(account, shown.failure.as_ref().unwrap_or(&nothing));
    let words = Words::new(&account.steps, &names);
    let failure = shown.failure.as_ref().map(|failure| Failure {
        kind: &failure.kind,
        message: sentence(failure, &account.steps, &words, &names, sources),
        location: failure.location.as_ref(),
        blocked: &failure.blocked,
        output: &failure.output,
    });
    let simplified = outcome.simplified.as_ref();
    let choice = match simplified.and_then(|simplified| simplified.parting.as_ref()) {
        Some(PartingReport::At(choice)) => Some(choice),
        _ => None,
    };
    let decisive = choice.and_then(|choice| account.steps.iter().find(|step| step.index == choice.step));
    let steps: Vec<_> = account.steps.iter().map(|step| self::step(step, &words)).collect();
    let weak = Some(weak_orderings(outcome)).filter(|weak| !weak.is_empty());
    let notes = vacuous(outcome).map(|reason| format!("vacuous? {reason}"));
    let notes = notes.into_iter().chain(outcome.note.clone());
    Page {
        test: test.display_name(),
        verdict: outcome.verdict.to_string(),
        shard: outcome.shard.map(|shard| shard.to_string()),
        reason: outcome.reason.as_deref(),
        notes: notes.chain(weak.map(|weak| sequential(weak, usize::MAX))).collect(),
        again: result.again.as_deref(),
        failure,
        threads: &account.threads,
        sources: texts(&steps, sources),
        steps,
        simplified,
        decisive: decisive.map(|step| step.index),
        instead: choice
            .zip(decisive)
            .map(|(choice, step)| other_choice(choice, step, &account.steps, &names)),
        statistics: statistics(outcome),
        tree: Tree::of(outcome, sources),
    }
}

fn step<'a>(step: &'a StepReport, words: &Words<'_>) -> Step<'a> {
    let value = |value: &ValueReport| Value {
        object: words.object(&value.object),
        before: words.with_blocks(&value.before),
        after: words.with_blocks(&value.after),
    };
    Step {
        thread: step.thread,
        effect: words.effect(step),
        location: step.location.as_ref(),
        preempted: step.preempted,
        reads_from: step.reads_from,
        values: step.values.iter().map(value).collect(),
    }
}

/// What happened.
fn sentence(
    failure: &FailureReport,
    steps: &[StepReport],
    words: &Words<'_>,
    names: &Names,
    sources: &SourceTree,
) -> String {
    let waits = Waits {
        failure,
        steps,
        words,
        names,
        sources,
    };
    let message = || words.with_blocks(&failure.message);
    waits.sentence().unwrap_or_else(message)
}

/// The files of the steps, as far as they are at hand.
fn texts<'a>(steps: &[Step<'a>], sources: &SourceTree) -> BTreeMap<&'a str, Vec<String>> {
    let files = steps.iter().filter_map(|step| Some(step.location?.file.as_str()));
    files.filter_map(|file| Some((file, sources.text(file)?))).collect()
}

fn statistics(outcome: &Outcome) -> Vec<(&'static str, String)> {
    let Counts {
        complete,
        blocked,
        pruned,
        cut,
        steps,
        states,
        peak_depth,
        threads,
        explored,
        compared,
        equal,
        checks,
        refinements,
        ..
    } = outcome.counts;
    let mut all = vec![
        ("complete executions", complete.to_string()),
        ("given up asleep", blocked.to_string()),
        ("given up in a known state", pruned.to_string()),
        ("cut", cut.to_string()),
        ("steps", steps.to_string()),
        ("states", states.to_string()),
        ("longest execution", format!("{peak_depth} steps")),
        ("threads", threads.to_string()),
        ("time", format!("{:.2} s", outcome.time.as_secs_f64())),
    ];
    let asked = [
        ("states compared", compared),
        ("of them equal", equal),
        ("run for a comparison only", checks),
        ("started again, with more points", refinements),
    ];
    all.extend(
        asked
            .iter()
            .filter(|(_, n)| *n > 0)
            .map(|(name, n)| (*name, n.to_string())),
    );
    if outcome.verdict == Verdict::Incomplete && explored > 0 {
        all.push(("explored, about", format!("{:.2} %", f64::from(explored) / 10_000.0)));
    }
    all
}

#[cfg(test)]
mod tests;
