//! The reporter for people who prefer pictures: one self-contained page for each test.

mod browser;
mod tree;

use crate::build::Test;
use crate::error::Error;
use crate::judgement::{vacuous, weak_orderings};
use crate::outcome::{self, Outcome};
use crate::report::event::{Event, Reporter};
use crate::report::result::{Summary, TestResult};
use crate::report::story::source::SourceTree;
use crate::report::story::weak::sequential;
use crate::report::story::words::Words;
use crate::report::story::{MemoryEvent, Story};
use dpor_protocol::{
    BlockedThread, Counts, Simplified, SourceLocation, StepReport, ThreadReport, ValueReport, Verdict,
};
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use tree::Tree;

/// The page, with a placeholder for [`Page`] as JSON, and for what follows.
const TEMPLATE: &str = include_str!("html/page.html");
const STYLE: &str = include_str!("html/page.css");
/// The colours of all pages, in light and in dark.
const COLOURS: &str = include_str!("html/colours.css");
/// The script that builds the page from the data: the tree of executions, the colours of source, the arrows, and
/// everything else.
const SCRIPT: [&str; 4] = [
    include_str!("html/tree.js"),
    include_str!("html/rust.js"),
    include_str!("html/arrows.js"),
    include_str!("html/page.js"),
];

/// The list of the pages, with a placeholder for [`Index`] as JSON.
const INDEX: &str = include_str!("html/index.html");

/// The placeholder for the data.
const PLACE: &str = "@DATA@";

/// Writes pages to a folder.
pub struct Html {
    folder: PathBuf,
    sources: SourceTree,
    index: Index,
    files: HashSet<String>,
    /// Whether a browser shows them at the end.
    open: bool,
    error: Option<Error>,
}

/// The contents of the list of pages.
#[derive(Default, Serialize)]
struct Index {
    tests: Vec<Entry>,
    /// `None` while the run goes on, or if it did not come to its end.
    totals: Option<Totals>,
}

/// The run as a whole.
#[derive(Serialize)]
struct Totals {
    vacuous: usize,
    weak_orderings: usize,
    not_run: usize,
    left_out: usize,
    shard: Option<String>,
    seconds: f64,
}

impl Totals {
    fn of(summary: &Summary) -> Totals {
        Totals {
            vacuous: summary.vacuous,
            weak_orderings: summary.weak_orderings,
            not_run: summary.not_run,
            left_out: summary.left_out,
            shard: summary.shard.map(|shard| shard.to_string()),
            seconds: summary.time.as_secs_f64(),
        }
    }
}

/// A line of the list of pages.
#[derive(Serialize)]
struct Entry {
    test: String,
    file: String,
    verdict: String,
    shard: Option<String>,
    vacuous: bool,
    /// Notes on the verdict: the failure, or what has limited the exploration, and what is doubtful.
    notes: Vec<String>,
    executions: u64,
    seconds: f64,
}

/// The contents of a page.
#[derive(Serialize)]
struct Page<'a> {
    test: String,
    verdict: String,
    /// The part to which the verdict applies.
    shard: Option<String>,
    reason: Option<&'a str>,
    notes: Vec<String>,
    /// The command that shows the failure again.
    again: Option<&'a str>,
    failure: Option<Failure<'a>>,
    threads: &'a [ThreadReport],
    steps: Vec<Step<'a>>,
    simplified: Option<&'a Simplified>,
    /// The number of the step, counted from 0, at which the schedule parts from one that passes, and what could have
    /// run instead.
    decisive: Option<u64>,
    instead: Option<String>,
    statistics: Vec<(&'static str, String)>,
    tree: Option<Tree<'a>>,
    /// The lines of the files with steps.
    sources: BTreeMap<&'a str, Vec<String>>,
}

#[derive(Serialize)]
struct Failure<'a> {
    kind: &'a str,
    /// The failure, in a sentence.
    message: String,
    location: Option<&'a SourceLocation>,
    blocked: &'a [BlockedThread],
    /// What happened to the memory that was used wrongly.
    memory: Vec<Memory<'a>>,
    /// Orderings with which the test is complete.
    mends: Option<Mends<'a>>,
    output: &'a str,
}

#[derive(Serialize)]
struct Memory<'a> {
    thread: u32,
    /// The number of the step, counted from 0.
    step: u64,
    verb: &'a str,
    remark: &'a str,
    location: Option<&'a SourceLocation>,
}

#[derive(Serialize)]
struct Mends<'a> {
    title: &'static str,
    all: Vec<Mended<'a>>,
}

#[derive(Serialize)]
struct Mended<'a> {
    words: String,
    location: &'a SourceLocation,
}

#[derive(Serialize)]
struct Step<'a> {
    thread: u32,
    /// Its effect.
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
    /// Creates the reporter. Makes the folder now, so that nobody has to wait to learn that this is impossible. With
    /// `open`, a browser shows the pages at the end.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn create(folder: &Path, open: bool) -> Result<Self, Error> {
        let html = Html {
            folder: folder.into(),
            sources: SourceTree::new(Vec::new()),
            index: Index::default(),
            files: HashSet::new(),
            open,
            error: None,
        };
        fs::create_dir_all(folder).map_err(Error::io(html.cannot_write()))?;
        html.write_index()?;
        Ok(html)
    }

    fn cannot_write(&self) -> String {
        format!("cannot write the report to {}", self.folder.display())
    }

    fn write_index(&self) -> Result<(), Error> {
        self.write("index.html", &INDEX.replacen("@COLOURS@", COLOURS, 1), &self.index)
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
            .replacen("@COLOURS@", COLOURS, 1)
            .replacen("@STYLE@", STYLE, 1)
            .replacen("@SCRIPT@", &SCRIPT.concat(), 1);
        self.write(&file, &template, &page)?;
        let outcome = &result.outcome;
        let failure = page
            .failure
            .as_ref()
            .map(|failure| format!("{}: {}", failure.kind, failure.message));
        let explored = explored(outcome).map(|share| format!("about {share} explored"));
        let notes = failure.or(page.reason.map(Into::into)).into_iter().chain(explored);
        self.index.tests.push(Entry {
            vacuous: vacuous(outcome).is_some(),
            notes: notes.chain(page.notes).collect(),
            test: page.test,
            file,
            verdict: page.verdict,
            shard: page.shard,
            executions: outcome.counts.complete,
            seconds: outcome.time.as_secs_f64(),
        });
        Ok(())
    }
}

impl Reporter for Html {
    fn event(&mut self, event: &Event<'_>) {
        match *event {
            Event::Built { folders } => self.sources = SourceTree::new(folders.to_vec()),
            Event::TestFinished { test, result } if self.error.is_none() => self.error = self.add(test, result).err(),
            Event::Replayed {
                test, outcome, again, ..
            } if self.error.is_none() => {
                let result = TestResult {
                    outcome: outcome.clone(),
                    replay: None,
                    again: outcome.failure.is_some().then(|| again.to_owned()),
                    fault: None,
                };
                self.index.totals = Some(Totals::of(&Summary {
                    time: outcome.time,
                    ..Summary::default()
                }));
                self.error = self.add(test, &result).err();
            }
            Event::RunFinished { summary, .. } => self.index.totals = Some(Totals::of(summary)),
            _ => {}
        }
    }

    fn close(&mut self) -> Result<(), Error> {
        match self.error.take() {
            Some(error) => return Err(error),
            None => self.write_index()?,
        }
        match &self.index.tests[..] {
            [] => {}
            [only] if self.open => browser::show(&self.folder.join(&only.file)),
            _ if self.open => browser::show(&self.folder.join("index.html")),
            _ => {}
        }
        Ok(())
    }
}

/// Puts data into a template, so that no text in them ends their element.
fn fill(template: &str, data: &impl Serialize) -> String {
    let json = serde_json::to_string(data).expect("a page has a form in JSON");
    template.replacen(PLACE, &json.replace('<', "\\u003c"), 1)
}

/// The file name for a test's name.
fn file_name(test: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || c == '_' { c } else { '-' };
    test.replace("::", ".")
        .chars()
        .map(|c| if c == '.' { c } else { plain(c) })
        .collect()
}

fn memory<'a>(told: &MemoryEvent<'a>) -> Memory<'a> {
    Memory {
        thread: told.event.thread,
        step: told.event.step,
        verb: told.verb,
        remark: told.remark,
        location: told.event.location.as_ref(),
    }
}

fn mends(mends: &outcome::Mends) -> Mends<'_> {
    let all = mends.all.iter().map(|mend| Mended {
        words: mend.words(),
        location: &mend.place.location,
    });
    Mends {
        title: mends.title(),
        all: all.collect(),
    }
}

fn page<'a>(test: &Test, result: &'a TestResult, sources: &SourceTree) -> Page<'a> {
    let outcome = &result.outcome;
    let story = Story::of(outcome, result.replay.as_ref());
    let account = story.account();
    let failure = story.failure().map(|failure| Failure {
        kind: &failure.kind,
        message: story.message(),
        location: failure.location.as_ref(),
        blocked: &failure.blocked,
        memory: story.memory().iter().map(memory).collect(),
        mends: story.mends.map(mends),
        output: &failure.output,
    });
    let (decisive, instead) = story
        .decisive()
        .map(|decisive| (decisive.step, decisive.instead))
        .unzip();
    let steps: Vec<_> = account
        .steps
        .iter()
        .map(|step| self::step(step, &story.words))
        .collect();
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
        simplified: story.simplified,
        decisive,
        instead,
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

/// The files of the steps, as far as they are available.
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
    all.extend(explored(outcome).map(|share| ("explored, about", share)));
    all
}

/// The explored part of the search tree when exploration was abandoned, as far as known.
fn explored(outcome: &Outcome) -> Option<String> {
    let share = outcome.counts.explored;
    let known = outcome.verdict == Verdict::Incomplete && share > 0;
    known.then(|| format!("{:.2} %", f64::from(share) / 10_000.0))
}

#[cfg(test)]
mod tests;
