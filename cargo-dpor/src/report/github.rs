//! The reporter for GitHub's workflows: annotations, as workflow commands that the runner finds in the log.

use crate::build::Test;
use crate::judgement::{Fault, vacuous, weak_orderings};
use crate::report::event::{Event, NO_THREADS, Reporter};
use crate::report::result::TestResult;
use crate::report::story::weak::sequential;
use dpor_protocol::{SourceLocation, Verdict};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes workflow commands to an output.
pub struct GitHub<W> {
    out: W,
    /// The repository's folder, to which the paths in annotations are relative.
    repository: Option<PathBuf>,
    folders: Vec<PathBuf>,
}

/// The text, and the command that shows it again, if it is not too long to be shown.
fn with_command(text: &str, result: &TestResult) -> String {
    match result.again.as_ref().filter(|again| again.len() <= MAX_AGAIN) {
        Some(again) => format!("{text}\nagain: {again}"),
        None => text.to_owned(),
    }
}

/// Maximum length in bytes of a command in an annotation. The log has it in any case.
const MAX_AGAIN: usize = 1000;

/// The appearance of an annotation.
#[derive(Clone, Copy, Debug)]
enum Level {
    Error,
    Warning,
    Notice,
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Notice => "notice",
        }
    }
}

impl<W: Write> GitHub<W> {
    /// Creates the reporter. Without the repository's folder, paths are relative to the workspace's.
    pub fn new(out: W, repository: Option<PathBuf>) -> Self {
        GitHub {
            out,
            repository,
            folders: Vec::new(),
        }
    }

    /// Returns the output.
    #[cfg(test)]
    pub fn into_output(self) -> W {
        self.out
    }

    /// The first of the places that is in the repository.
    fn place<'a>(
        &self,
        places: impl IntoIterator<Item = Option<&'a SourceLocation>>,
    ) -> Option<(PathBuf, &'a SourceLocation)> {
        let mut places = places.into_iter().flatten();
        places.find_map(|place| Some((self.in_repository(&place.file)?, place)))
    }

    fn in_repository(&self, file: &str) -> Option<PathBuf> {
        let whole = |folder: &PathBuf| Some(folder.join(file)).filter(|path| path.is_file());
        let path = self.folders.iter().find_map(whole)?;
        let root = self.repository.as_ref().or(self.folders.first())?;
        path.strip_prefix(root).ok().map(Path::to_path_buf)
    }

    fn annotate(&mut self, level: Level, place: Option<(PathBuf, &SourceLocation)>, title: &str, message: &str) {
        let place = place.map_or_else(String::new, |(file, place)| {
            let file = property(&file.display().to_string());
            let column = match place.column {
                0 => String::new(),
                column => format!("col={column},"),
            };
            format!("file={file},line={},{column}", place.line)
        });
        let (level, title, message) = (level.name(), property(title), data(message));
        // Whoever closed the output does not want the rest of it.
        let _ = writeln!(self.out, "::{level} {place}title={title}::{message}").and_then(|()| self.out.flush());
    }

    fn finished(&mut self, test: &Test, result: &TestResult) {
        let (outcome, name) = (&result.outcome, test.display_name());
        let own = outcome.account.location.as_ref();
        let reason = outcome.reason.as_deref().unwrap_or_default();
        match outcome.verdict {
            Verdict::Complete => {}
            Verdict::Incomplete => {
                let level = if result.fault == Some(Fault::Incomplete) {
                    Level::Error
                } else {
                    Level::Warning
                };
                let callers = outcome.account.callers.iter().map(|caller| caller.location.as_ref());
                let place = self.place(callers.chain([own]));
                let text = with_command(reason, result);
                self.annotate(level, place, &format!("incomplete: {name}"), &text);
            }
            Verdict::Failed => {
                let failure = result.shown().failure.as_ref();
                let place = self.place([failure.and_then(|failure| failure.location.as_ref()), own]);
                let kind = failure.map_or("failed", |failure| &failure.kind);
                let text = with_command(failure.map_or(reason, |failure| &failure.message), result);
                self.annotate(Level::Error, place, &format!("{kind}: {name}"), &text);
                return;
            }
        }
        if let Some(reason) = vacuous(outcome) {
            let level = if result.fault == Some(Fault::Vacuous) {
                Level::Error
            } else {
                Level::Warning
            };
            self.annotate(level, self.place([own]), &format!("vacuous?: {name}"), &reason);
        }
        let weak = weak_orderings(outcome);
        if !weak.is_empty() {
            let level = if result.fault == Some(Fault::WeakOrderings) {
                Level::Error
            } else {
                Level::Notice
            };
            let title = format!("weak orderings: {name}");
            let place = self.place(weak.iter().map(|weak| weak.location.as_ref()).chain([own]));
            self.annotate(level, place, &title, &sequential(weak, usize::MAX));
        }
    }
}

/// The text of a command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property of a command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

impl<W: Write> Reporter for GitHub<W> {
    fn event(&mut self, event: &Event<'_>) {
        match *event {
            Event::Built { folders } => self.folders = folders.to_vec(),
            Event::Warning { message } => self.annotate(Level::Warning, None, "cargo dpor", message),
            Event::Unseen { binary, unseen } => {
                let title = format!("not seen: {}", binary.name);
                self.annotate(Level::Notice, None, &title, &unseen.told(false));
            }
            Event::TestFinished { test, result } => self.finished(test, result),
            Event::Replayed { test, outcome, .. } => {
                let result = TestResult {
                    outcome: outcome.clone(),
                    replay: None,
                    again: None,
                    fault: None,
                };
                self.finished(test, &result);
            }
            Event::RunFinished { summary, .. } if summary.threaded == 0 => {
                self.annotate(Level::Warning, None, "cargo dpor", NO_THREADS);
            }
            Event::Interrupted { signal, .. } => {
                let message = format!("the run was interrupted by {signal}");
                self.annotate(Level::Warning, None, "cargo dpor", &message);
            }
            Event::Stopped { error } => self.annotate(Level::Error, None, "cargo dpor", &error.to_string()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
