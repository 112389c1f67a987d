//! What a test process has said so far.

use crate::outcome::{Account, Outcome};
use crate::values::Values;
use dpor_protocol::{
    Counts, ExecutionReport, LabelReport, Message, MessageError, PairReport, SharingReport, Simplified,
    SuppressionReport, SurveyReport,
};
use std::time::Duration;

/// What the messages of a process have said.
#[derive(Default)]
pub struct Heard {
    pub values: Values,
    pub started: bool,
    pub counts: Counts,
    pub account: Account,
    pub pair: Option<PairReport>,
    pub survey: Option<SurveyReport>,
    pub labels: Vec<LabelReport>,
    pub simplified: Option<Simplified>,
    pub sharing: Option<SharingReport>,
    pub suppressions: Vec<SuppressionReport>,
    pub fingerprint: Option<u64>,
    pub executions: Vec<ExecutionReport>,
    pub record: String,
    pub cannot_resume: Option<String>,
    pub finished: Option<Outcome>,
}

impl Heard {
    /// Takes in a line of a process; counts go to `progress`, too.
    ///
    /// # Errors
    /// If it is no message.
    pub fn hear(&mut self, line: &str, progress: &mut dyn FnMut(Counts)) -> Result<(), MessageError> {
        let message = Message::from_line(line)?;
        // What the outcome depends on.
        if !matches!(message, Message::Progress(_)) {
            self.record.push_str(line);
            self.record.push('\n');
        }
        self.take(message, progress);
        Ok(())
    }

    /// Adds what was reported before the last message to the outcome.
    pub fn complete(self, outcome: &mut Outcome) {
        outcome.account = self.account;
        outcome.pair = self.pair;
        outcome.survey = self.survey;
        outcome.labels = self.labels;
        outcome.simplified = self.simplified;
        outcome.sharing = self.sharing;
        outcome.suppressions = self.suppressions;
        outcome.fingerprint = self.fingerprint;
        outcome.executions = self.executions;
        outcome.record = self.record;
    }

    fn take(&mut self, mut message: Message, progress: &mut dyn FnMut(Counts)) {
        self.values.tell(&mut message);
        match message {
            Message::Started { location, .. } => {
                self.started = true;
                self.account.location = location;
            }
            Message::Progress(counts) => {
                self.counts = counts;
                progress(counts);
            }
            Message::Thread(thread) => self.account.threads.push(thread),
            Message::Step(step) => {
                // A step is announced before it runs, and told in full after.
                self.account.steps.pop_if(|last| last.index == step.index);
                self.account.steps.push(step);
            }
            Message::Printed { stream, text } => self.account.printed.push((stream, text)),
            Message::Output { stream, text } => self.account.output.push((stream, text)),
            Message::Pair(pair) => self.pair = Some(pair),
            Message::Survey(survey) => self.survey = Some(survey),
            Message::Labels { labels } => self.labels = labels,
            Message::Simplified(simplified) => self.simplified = Some(simplified),
            Message::Sharing(sharing) => self.sharing = Some(sharing),
            Message::Suppressed { suppressions } => self.suppressions = suppressions,
            Message::Callers { callers } => self.account.callers = callers,
            Message::SequentiallyComplete {} => self.account.is_sequentially_complete = true,
            Message::Shard { fingerprint } => self.fingerprint = Some(fingerprint),
            Message::Execution(execution) => {
                if execution.anew {
                    self.executions.clear();
                }
                self.executions.push(execution);
            }
            Message::WeakPlaces(places) => self.account.weak_places = places,
            Message::CannotResume { reason } => self.cannot_resume = Some(reason),
            Message::Diverged { step, expected, met } => self.account.diverged = Some((step, expected, met)),
            Message::Finished {
                verdict,
                reason,
                note,
                counts,
                failure,
                seed,
            } => {
                self.counts = counts;
                self.finished = Some(Outcome {
                    reason,
                    note,
                    counts,
                    failure: failure.map(|failure| *failure),
                    seed,
                    ..Outcome::of(verdict)
                });
            }
        }
    }
}

/// The outcome of an exploration with this record.
pub fn recorded(record: &str) -> Option<Outcome> {
    let mut heard = Heard::default();
    for line in record.lines() {
        heard.take(Message::from_line(line).ok()?, &mut |_| {});
    }
    let mut outcome = heard.finished.take()?;
    heard.complete(&mut outcome);
    outcome.time = Duration::from_millis(outcome.counts.millis);
    Some(outcome)
}
