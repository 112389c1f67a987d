//! The outcome of a test, and what its process has reported.

use dpor_explorer::Shard;
use dpor_protocol::{
    CallerReport, Counts, ExecutionReport, FailureKind, FailureReport, LabelReport, Memory, OutputStream, PairReport,
    Seed, SharingReport, Simplified, SourceLocation, StepReport, SuppressionReport, SurveyReport, ThreadReport,
    Verdict, WeakPlace,
};
use std::borrow::Cow;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How a test process ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub verdict: Verdict,
    /// The reason why it is incomplete.
    pub reason: Option<String>,
    /// A further note, in a line.
    pub note: Option<String>,
    pub counts: Counts,
    pub failure: Option<FailureReport>,
    /// The seed of the failing schedule.
    pub seed: Option<String>,
    /// For a replay: what happened.
    pub account: Account,
    /// The requested two orders that lead to different states.
    pub pair: Option<PairReport>,
    /// What keeps all states apart, if requested.
    pub survey: Option<SurveyReport>,
    /// The labels that the test has reached, or should have reached.
    pub labels: Vec<LabelReport>,
    /// The simplest schedule that fails, if requested.
    pub simplified: Option<Simplified>,
    /// Orderings with which it is complete, if they are known.
    pub mends: Option<Mends>,
    /// How its threads interacted, unless the process died before reporting it.
    pub sharing: Option<SharingReport>,
    /// How often each suppression of data races applied, if races were looked for.
    pub suppressions: Vec<SuppressionReport>,
    /// Its executions, if requested: the first ones, and the failing one.
    pub executions: Vec<ExecutionReport>,
    /// The part that was explored; `None` for the whole.
    pub shard: Option<Shard>,
    /// The fingerprint that all shards of the test share; `None` for the whole, or if the process died before reporting
    /// it.
    pub fingerprint: Option<u64>,
    /// Time from the start to the end of the process.
    pub time: Duration,
    /// The messages of the process on which the outcome depends, for `child::recorded`.
    pub record: String,
}

/// Orderings with which a failing test is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mends {
    /// All of them.
    pub all: Vec<Mend>,
    /// Whether the test is known to fail if one of them is left out, or is weaker.
    pub all_needed: bool,
}

/// An ordering that a failing test lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mend {
    /// Where it is missing, and what is there.
    pub place: WeakPlace,
    /// What there would have to be.
    pub mended: WeakPlace,
}

impl Mends {
    /// What comes before them, as a sentence without its end.
    pub fn title(&self) -> &'static str {
        match self.all_needed {
            true => "With other orderings, the test is complete",
            false => "With other orderings, perhaps more than it takes, the test is complete",
        }
    }
}

impl Mend {
    /// What is to be changed.
    pub fn words(&self) -> String {
        let Mend { place, mended } = self;
        format!(
            "{} with {} instead of {}",
            place.operation,
            mended.orderings(),
            place.orderings()
        )
    }
}

/// What a test process reports while it runs (little, for an exploration), and what is known about its last step.
#[derive(Clone, Debug, Default)]
pub struct Account {
    pub location: Option<SourceLocation>,
    pub threads: Vec<ThreadReport>,
    pub steps: Vec<StepReport>,
    pub output: Vec<(OutputStream, String)>,
    /// For an exploration: what its first execution has printed, if requested.
    pub printed: Vec<(OutputStream, String)>,
    /// Whether all sequentially consistent executions were explored before weak memory, and none has failed.
    pub is_sequentially_complete: bool,
    /// Where the failing execution has requested weak orderings.
    pub weak_places: Vec<WeakPlace>,
    /// The step, the seed's operation, and the program's operation.
    pub diverged: Option<(u64, String, String)>,
    /// If the process died or was ended in a step: the functions of the program that were running, innermost first.
    pub callers: Vec<CallerReport>,
    /// The end of what the process itself wrote to its standard error, bypassing the model.
    pub stderr: String,
    /// All of that, if it is longer.
    pub stderr_whole: Option<Arc<File>>,
    /// The files with the whole output and standard error, if a report has no room for them.
    pub output_file: Option<PathBuf>,
    pub stderr_file: Option<PathBuf>,
}

impl Account {
    /// What the program printed; if this is not of a replay, as its failure's report says.
    pub fn output_text<'a>(&self, failure: Option<&'a FailureReport>) -> Cow<'a, str> {
        match (self.output.is_empty(), failure) {
            (true, Some(failure)) => Cow::Borrowed(&failure.output),
            _ => self.output.iter().map(|(_, text)| text.as_str()).collect(),
        }
    }
}

impl Outcome {
    /// An outcome of which nothing else is known.
    pub fn of(verdict: Verdict) -> Outcome {
        Outcome {
            verdict,
            reason: None,
            note: None,
            counts: Counts::default(),
            failure: None,
            seed: None,
            account: Account::default(),
            pair: None,
            survey: None,
            labels: Vec::new(),
            simplified: None,
            mends: None,
            sharing: None,
            suppressions: Vec::new(),
            executions: Vec::new(),
            shard: None,
            fingerprint: None,
            time: Duration::ZERO,
            record: String::new(),
        }
    }

    /// Whether the same schedule fails again, as far as the kind of the failure tells.
    pub fn fails_again(&self) -> bool {
        let kind = self.failure.as_ref().and_then(FailureReport::known_kind);
        kind.is_none_or(FailureKind::is_repeated)
    }

    /// Whether the failing schedule is one of weak memory: the program requests weak orderings, and they count.
    pub fn is_under_weak_memory(&self) -> bool {
        let seed = self.seed.as_deref().and_then(|seed| Seed::decode(seed).ok());
        seed.is_some_and(|seed| seed.options.memory() == Memory::Rc11)
    }

    /// Adds a note before all others.
    #[must_use]
    pub fn with_note(mut self, note: String) -> Outcome {
        self.note = Some(match self.note {
            Some(other) => format!("{note}; {other}"),
            None => note,
        });
        self
    }
}
