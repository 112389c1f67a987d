//! What a test process tells `cargo dpor`.

use super::base64;
use crate::{ExecutionReport, VERSION};
use dpor_explorer::codec;
use std::fmt;

/// One line on the pipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The test's body is about to run under the model. The first message.
    Started {
        /// The test's module path and name.
        test: String,
        /// Where the test is defined.
        location: Option<SourceLocation>,
    },
    /// Counts so far; several a second.
    Progress(Counts),
    /// An execution has ended. Only if that is what was asked for, and then of the first ones and of the failing one.
    Execution(ExecutionReport),
    /// A thread was created. Only in a replay.
    Thread(ThreadReport),
    /// A step was made. Only in a replay.
    Step(StepReport),
    /// What the program printed, in the order of printing. Only in a replay.
    Output {
        /// Where it was printed to.
        stream: OutputStream,
        /// The text.
        text: String,
    },
    /// What the program printed in the first execution of an exploration, in the order of printing. Only if that is
    /// asked for.
    Printed {
        /// Where it was printed to.
        stream: OutputStream,
        /// The text.
        text: String,
    },
    /// The program did not do what the seed says. Only in a replay; `Finished` follows.
    Diverged {
        /// The number of the step, from 0.
        step: u64,
        /// What the seed says.
        expected: String,
        /// What the program does now.
        met: String,
    },
    /// Two orders of the same steps that lead to different states. Only if that is what was asked for.
    Pair(PairReport),
    /// The labels that the test has reached, or was to reach. Only if there are any; `Finished` follows.
    Labels {
        /// All of them, in the order in which they were met.
        labels: Vec<LabelReport>,
    },
    /// A simpler schedule was found, or what could be found of the simplest one. The last of them counts. Only if that
    /// is what was asked for.
    Simplified(Simplified),
    /// What the threads had to do with each other. Not in a replay; `Finished` follows.
    Sharing(SharingReport),
    /// The test has been parted. Only if that is what was asked for; before it is explored.
    Shard {
        /// The same for all shards of the test, if they were made of the same code with the same settings.
        fingerprint: u64,
    },
    /// The functions of the program at the addresses that were asked for. `Finished` follows.
    Callers {
        /// Innermost first.
        callers: Vec<CallerReport>,
    },
    /// The exploration cannot go on from what was saved. The last message: nothing was explored.
    CannotResume {
        /// Why.
        reason: String,
    },
    /// The last message.
    Finished {
        /// How it ended.
        verdict: Verdict,
        /// Why it is incomplete.
        reason: Option<String>,
        /// What else is to be said of the exploration, in a line.
        note: Option<String>,
        /// Final counts.
        counts: Counts,
        /// The failure, if the verdict is `failed`.
        failure: Option<Box<FailureReport>>,
        /// The failing schedule, if the verdict is `failed`.
        seed: Option<String>,
    },
}

dpor_explorer::codec!(enum Message {
    0 => Started { test, location },
    1 => Progress(value),
    2 => Execution(value),
    3 => Thread(value),
    4 => Step(value),
    5 => Output { stream, text },
    14 => Printed { stream, text },
    15 => Callers { callers },
    6 => Diverged { step, expected, met },
    7 => Pair(value),
    8 => Labels { labels },
    9 => Simplified(value),
    10 => Sharing(value),
    11 => Shard { fingerprint },
    12 => CannotResume { reason },
    13 => Finished { verdict, reason, note, counts, failure, seed },
});

/// How an exploration or a replay ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub enum Verdict {
    /// All schedules were explored and none failed; of a replay: the one schedule did not fail.
    Complete,
    /// A schedule failed.
    Failed,
    /// No failure was found, and not everything was explored.
    Incomplete,
}

dpor_explorer::codec!(enum Verdict { 0 => Complete, 1 => Failed, 2 => Incomplete });

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Complete => "complete",
            Verdict::Failed => "failed",
            Verdict::Incomplete => "incomplete",
        })
    }
}

/// Counters of an exploration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct Counts {
    /// Executions that ran to their end.
    pub complete: u64,
    /// Executions given up because all that was enabled was asleep.
    pub blocked: u64,
    /// Executions given up because their state was known.
    pub pruned: u64,
    /// Executions cut at the bound on their length.
    pub cut: u64,
    /// Steps run.
    pub steps: u64,
    /// Nodes of the search tree.
    pub states: u64,
    /// States that were compared.
    pub compared: u64,
    /// Of those, how many were equal.
    pub equal: u64,
    /// Reversals of races that were run only to compare states.
    pub checks: u64,
    /// Reversible races found.
    pub races: u64,
    /// Times that exploration started again with more scheduling points.
    pub refinements: u64,
    /// The longest execution, in steps.
    pub peak_depth: u64,
    /// About which part of the executions has been explored, in millionths; 0 if that cannot be said.
    pub explored: u32,
    /// The most threads of one execution.
    pub threads: u64,
    /// Time spent, in milliseconds.
    pub millis: u64,
}

dpor_explorer::codec!(struct Counts {
    complete, blocked, pruned, cut, steps, states, compared, equal, checks, races, refinements, peak_depth,
    explored, threads, millis,
});

impl Counts {
    /// All executions, however they ended.
    pub fn executions(&self) -> u64 {
        self.complete + self.blocked + self.pruned + self.cut
    }
}

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct SourceLocation {
    /// The file, as the compiler was given it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

dpor_explorer::codec!(struct SourceLocation { file, line, column });

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

impl From<&std::panic::Location<'_>> for SourceLocation {
    fn from(location: &std::panic::Location<'_>) -> Self {
        SourceLocation {
            file: location.file().into(),
            line: location.line(),
            column: location.column(),
        }
    }
}

/// Where a program printed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub enum OutputStream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

dpor_explorer::codec!(enum OutputStream { 0 => Out, 1 => Err });

/// A thread of the explored program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct ThreadReport {
    /// Its id.
    pub id: u32,
    /// The thread that created it; none for the main thread.
    pub parent: Option<u32>,
    /// Its name, if the program gave it one.
    pub name: Option<String>,
    /// Where it was created.
    pub location: Option<SourceLocation>,
}

dpor_explorer::codec!(struct ThreadReport { id, parent, name, location });

/// A step of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct StepReport {
    /// The number of the step, from 0.
    pub index: u64,
    /// The thread that made it.
    pub thread: u32,
    /// That thread's name, if the program gave it one.
    pub thread_name: Option<String>,
    /// The kind of operation, such as `lock`.
    pub operation: String,
    /// The object, such as `mutex#1`; empty for operations without one.
    pub object: String,
    /// What people call the object: the path of a static, or what stands for it in the source.
    pub object_name: Option<String>,
    /// Where the linker has put the object, if it is in a static. Only on the way to who knows what is there.
    #[cfg_attr(dpor_json, serde(skip_serializing_if = "Option::is_none"))]
    pub static_address: Option<u64>,
    /// The operation in the program's source.
    pub location: Option<SourceLocation>,
    /// What it did, such as `0 → 1`.
    pub detail: Option<String>,
    /// The step before was another thread's.
    pub switched: bool,
    /// And that thread could have gone on.
    pub preempted: bool,
    /// The number, from 0, of the step that has written what it read, sent what it received, or woken it.
    pub reads_from: Option<u64>,
    /// Values of objects before and after it, of those for which there are words.
    pub values: Vec<ValueReport>,
    /// The locks that it has given back, by the names that steps have in `object`.
    pub released: Vec<String>,
    /// The blocks of memory that it has freed, as pointers are printed.
    pub freed: Vec<String>,
}

dpor_explorer::codec!(struct StepReport {
    index, thread, thread_name, operation, object, object_name, static_address, location, detail, switched,
    preempted, reads_from, values, released, freed,
});

/// The value of an object before and after a step.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct ValueReport {
    /// The object, as in [`StepReport::object`].
    pub object: String,
    /// Its value before.
    pub before: String,
    /// Its value after.
    pub after: String,
}

dpor_explorer::codec!(struct ValueReport { object, before, after });

/// A panic of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct PanicReport {
    /// The thread.
    pub thread: u32,
    /// Its name, if the program gave it one.
    pub thread_name: Option<String>,
    /// The number of the step in which it has happened, from 0.
    pub step: u64,
    /// Its message.
    pub message: String,
    /// Where it has happened.
    pub location: Option<SourceLocation>,
}

dpor_explorer::codec!(struct PanicReport { thread, thread_name, step, message, location });

/// A function of the program that was being run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct CallerReport {
    /// Its path.
    pub function: String,
    /// The line that was being run, if debug information tells.
    pub location: Option<SourceLocation>,
}

dpor_explorer::codec!(struct CallerReport { function, location });

/// The function, and its line in parentheses.
impl fmt::Display for CallerReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.function)?;
        match &self.location {
            Some(place) => write!(f, " ({}:{})", place.file, place.line),
            None => Ok(()),
        }
    }
}

/// What has happened to a block of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct BlockReport {
    /// It was freed; otherwise allocated.
    pub freed: bool,
    /// The number of the step, from 0.
    pub step: u64,
    /// The thread.
    pub thread: u32,
    /// Its name, if the program gave it one.
    pub thread_name: Option<String>,
    /// Where, if that is known.
    pub location: Option<SourceLocation>,
}

dpor_explorer::codec!(struct BlockReport { freed, step, thread, thread_name, location });

/// Two orders of the same steps that lead to different states.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct PairReport {
    /// The number of steps with which both begin.
    pub common: u64,
    /// The rest of the first order.
    pub first: Vec<StepReport>,
    /// The rest of the second order.
    pub second: Vec<StepReport>,
    /// Where the states differ.
    pub differences: Vec<DifferenceReport>,
}

dpor_explorer::codec!(struct PairReport { common, first, second, differences });

/// Bytes in which two states differ.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct DifferenceReport {
    /// Whose bytes they are.
    pub owner: String,
    /// Where they are in memory, if they have a place there.
    pub address: Option<u64>,
    /// Where they are in what the owner has.
    pub offset: u64,
    /// How many they are.
    pub length: u64,
    /// The first of the bytes in the first state; none if they do not exist there.
    pub first: Vec<u8>,
    /// The first of the bytes in the second state; none if they do not exist there.
    pub second: Vec<u8>,
    /// What else can be said of them.
    pub hint: Option<String>,
}

dpor_explorer::codec!(struct DifferenceReport { owner, address, offset, length, first, second, hint });

/// A place that the test has marked, and in how many executions it was reached.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct LabelReport {
    /// The label.
    pub label: String,
    /// In how many complete executions.
    pub complete: u64,
    /// In how many executions, however they ended, those included that were thrown away or run for a comparison only.
    pub all: u64,
    /// Where the test demands that it is reached.
    pub required: Option<SourceLocation>,
}

dpor_explorer::codec!(struct LabelReport { label, complete, all, required });

/// The simplest schedule that was found to end in a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct Simplified {
    /// Its seed.
    pub seed: String,
    /// How often a thread was switched away from that could have gone on.
    pub preemptions: u64,
    /// How often one thread ran after another.
    pub switches: u64,
    /// The number of its steps.
    pub steps: u64,
    /// None that fails in this way has fewer preemptions, or as few and fewer switches, or as few of both and fewer
    /// steps.
    pub proven: bool,
    /// Where it parts from schedules that pass; none if that is not known.
    pub parting: Option<PartingReport>,
}

dpor_explorer::codec!(struct Simplified { seed, preemptions, switches, steps, proven, parting });

/// Where a failing schedule parts from those that pass.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub enum PartingReport {
    /// The last step in whose place something else could have run so that the execution would have ended well.
    At(ChoiceReport),
    /// With another choice at any one point, no execution that was tried ended well.
    Nowhere,
}

dpor_explorer::codec!(enum PartingReport { 0 => At(value), 1 => Nowhere });

/// What could have run in place of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct ChoiceReport {
    /// The number of the step, from 0.
    pub step: u64,
    /// The thread that could have run.
    pub thread: u32,
    /// Its name, if the program gave it one.
    pub thread_name: Option<String>,
    /// Its operation, such as `lock`.
    pub operation: String,
    /// The operation in the program's source.
    pub location: Option<SourceLocation>,
    /// Which alternative of the operation.
    pub alternative: u32,
    /// It is the thread that made the step, which could have gone on in another way.
    pub same_thread: bool,
}

dpor_explorer::codec!(struct ChoiceReport {
    step, thread, thread_name, operation, location, alternative, same_thread,
});

/// What the threads of an explored program had to do with each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct SharingReport {
    /// In some execution, two threads touched the same thing, and one of them changed it. That a thread waits for the
    /// end of another does not count.
    pub conflict: bool,
    /// Atomic operations that race with others and ask for an ordering weaker than `SeqCst`.
    pub weak: Vec<WeakReport>,
}

dpor_explorer::codec!(struct SharingReport { conflict, weak });

impl SharingReport {
    /// Why a test that is complete may have tested nothing: there was nothing to interleave.
    pub fn vacuous(&self, counts: &Counts) -> Option<String> {
        let threads = counts.threads;
        // Orders that are only tried out for a comparison of states are orders as well.
        let once = counts.executions() == 1 && counts.checks == 0 && counts.races == 0;
        match threads {
            0 | 1 => once.then(|| "one thread, and nothing to choose".into()),
            _ if !self.conflict => Some(format!("its {threads} threads never touch the same thing")),
            _ => once.then(|| format!("its {threads} threads take turns, so that there is one order only")),
        }
    }
}

/// An atomic operation with an ordering weaker than `SeqCst`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct WeakReport {
    /// The kind of operation, such as `load`.
    pub operation: String,
    /// What it asks for, such as `Relaxed`, or `AcqRel, Relaxed` if it can fail.
    pub orderings: String,
    /// Where it is.
    pub location: Option<SourceLocation>,
}

dpor_explorer::codec!(struct WeakReport { operation, orderings, location });

/// What failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct FailureReport {
    /// A short, stable name of the kind of failure, such as `panic` or `deadlock`.
    pub kind: String,
    /// What happened, in a sentence or a few lines.
    pub message: String,
    /// The thread in which it happened, if it was one.
    pub thread: Option<u32>,
    /// That thread's name, if the program gave it one.
    pub thread_name: Option<String>,
    /// Where it happened.
    pub location: Option<SourceLocation>,
    /// Every thread that waits, for deadlocks and the like.
    pub blocked: Vec<BlockedThread>,
    /// The panics of the failing execution, in order. Only in a replay.
    pub panics: Vec<PanicReport>,
    /// The functions of the program that were being run when the process, or the execution, was ended from inside:
    /// innermost first.
    pub callers: Vec<CallerReport>,
    /// Of a wrong free: what has happened to the block, that last. Only in a replay.
    pub block: Vec<BlockReport>,
    /// What the failing execution printed.
    pub output: String,
}

dpor_explorer::codec!(struct FailureReport {
    kind, message, thread, thread_name, location, blocked, panics, callers, block, output,
});

/// A thread that waits for something that does not come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct BlockedThread {
    /// The thread.
    pub thread: u32,
    /// Its name, if the program gave it one.
    pub thread_name: Option<String>,
    /// What it tries to do, such as `lock`.
    pub operation: String,
    /// The object it waits for; empty for operations without one.
    pub object: String,
    /// As in [`StepReport::object_name`].
    pub object_name: Option<String>,
    /// As in [`StepReport::static_address`].
    #[cfg_attr(dpor_json, serde(skip_serializing_if = "Option::is_none"))]
    pub static_address: Option<u64>,
    /// The operation in the program's source.
    pub location: Option<SourceLocation>,
    /// Who has what it waits for.
    pub held_by: Vec<Holder>,
    /// The timeout of its wait, such as `100 years`, if it is so long that it does not fire.
    #[cfg_attr(dpor_json, serde(skip_serializing_if = "Option::is_none"))]
    pub timeout: Option<String>,
}

dpor_explorer::codec!(struct BlockedThread {
    thread, thread_name, operation, object, object_name, static_address, location, held_by,
    timeout,
});

/// A thread that has what another one waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct Holder {
    /// The thread.
    pub thread: u32,
    /// Its name, if the program gave it one.
    pub thread_name: Option<String>,
    /// Where it took it.
    pub location: Option<SourceLocation>,
}

dpor_explorer::codec!(struct Holder { thread, thread_name, location });

/// `t1 (name)`, or `t1`.
fn thread_name(f: &mut fmt::Formatter<'_>, thread: u32, name: Option<&str>) -> fmt::Result {
    match name {
        Some(name) => write!(f, "t{thread} ({name})"),
        None => write!(f, "t{thread}"),
    }
}

/// The step on one line: thread, operation, object, what it did, place.
impl fmt::Display for StepReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        thread_name(f, self.thread, self.thread_name.as_deref())?;
        write!(f, "  {}", self.operation)?;
        if !self.object.is_empty() {
            write!(f, " {}", self.object)?;
        }
        if let Some(detail) = &self.detail {
            write!(f, "  {detail}")?;
        }
        if let Some(location) = &self.location {
            write!(f, "  {location}")?;
        }
        Ok(())
    }
}

/// What happened and where, who waits for whom, and what was printed, on lines of their own.
impl fmt::Display for FailureReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.message)?;
        if let Some(thread) = self.thread {
            f.write_str("\n  in ")?;
            thread_name(f, thread, self.thread_name.as_deref())?;
        }
        if let Some(location) = &self.location {
            write!(f, "\n  at {location}")?;
        }
        for caller in &self.callers {
            write!(f, "\n  in {caller}")?;
        }
        for thread in &self.blocked {
            write!(f, "\n  {thread}")?;
        }
        if !self.output.is_empty() {
            write!(f, "\noutput of this execution:\n{}", self.output)?;
        }
        Ok(())
    }
}

/// Who waits, in which operation, where, and for whom.
impl fmt::Display for BlockedThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        thread_name(f, self.thread, self.thread_name.as_deref())?;
        write!(f, " waits in {}", self.operation)?;
        if !self.object.is_empty() {
            write!(f, " of {}", self.object)?;
        }
        if let Some(location) = &self.location {
            write!(f, " at {location}")?;
        }
        if let Some(timeout) = &self.timeout {
            write!(f, ", for {timeout}")?;
        }
        for holder in &self.held_by {
            f.write_str(if self.operation == "join" {
                ", which is the end of "
            } else {
                ", held by "
            })?;
            thread_name(f, holder.thread, holder.thread_name.as_deref())?;
            if let Some(location) = &holder.location {
                write!(f, " since {location}")?;
            }
        }
        Ok(())
    }
}

/// Why a line is no [`Message`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageError {
    /// It is one of another [`VERSION`].
    OtherVersion(u32),
    /// It is none at all.
    Malformed(String),
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MessageError::OtherVersion(v) => write!(f, "the test process speaks version {v}, not {VERSION}"),
            MessageError::Malformed(why) => write!(f, "the test process sent something that is no message: {why}"),
        }
    }
}

impl std::error::Error for MessageError {}

impl Message {
    /// The message as a line, with its end of line: the version, a space, and its bytes in base64.
    pub fn to_line(&self) -> String {
        format!("{VERSION} {}\n", base64::encode(&codec::to_bytes(self)))
    }

    /// Reads a line.
    ///
    /// # Errors
    /// [`MessageError`] if it is none, or of another version.
    pub fn from_line(line: &str) -> Result<Message, MessageError> {
        let malformed = || MessageError::Malformed(format!("`{}`", line.chars().take(60).collect::<String>()));
        let (version, message) = line.split_once(' ').ok_or_else(malformed)?;
        let version: u32 = version.parse().map_err(|_| malformed())?;
        if version != VERSION {
            return Err(MessageError::OtherVersion(version));
        }
        let bytes = base64::decode(message.trim_end_matches('\n')).filter(|(_, whole)| *whole);
        let message = bytes.and_then(|(bytes, _)| codec::from_bytes(&bytes));
        message.ok_or_else(malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EndReport, SiteReport, Taken};

    #[test]
    fn a_message_is_one_versioned_line() {
        let message = Message::Output {
            stream: OutputStream::Err,
            text: "a\nb\u{1f980}".into(),
        };
        let line = message.to_line();
        assert_eq!(line, "2 BQEHYQpi8J-mgA\n");
        assert_eq!(Message::from_line(&line), Ok(message));
    }

    #[test]
    fn nested_reports_survive_the_journey() {
        let place = SourceLocation {
            file: "src/lib.rs".into(),
            line: 3,
            column: 9,
        };
        let taken = Taken {
            thread: 1,
            alternative: 0,
            site: 0,
        };
        let messages = [
            Message::Started {
                test: "demo::a".into(),
                location: Some(place.clone()),
            },
            Message::Progress(Counts {
                complete: 1,
                steps: u64::MAX,
                ..Counts::default()
            }),
            Message::Step(StepReport {
                index: 0,
                thread: 1,
                thread_name: None,
                operation: "lock".into(),
                object: "mutex#1".into(),
                location: Some(place.clone()),
                detail: None,
                switched: true,
                ..StepReport::default()
            }),
            Message::Pair(PairReport {
                common: 4,
                first: Vec::new(),
                second: Vec::new(),
                differences: vec![DifferenceReport {
                    owner: "static x".into(),
                    address: None,
                    offset: 8,
                    length: 300,
                    first: vec![0, 255],
                    second: Vec::new(),
                    hint: Some("only in the first state".into()),
                }],
            }),
            Message::Labels {
                labels: vec![LabelReport {
                    label: "lost".into(),
                    complete: 3,
                    all: 4,
                    required: Some(place.clone()),
                }],
            },
            Message::Execution(ExecutionReport {
                number: 7,
                anew: false,
                common: 2,
                steps: vec![taken],
                end: EndReport::Blocked { asleep: vec![taken] },
                sites: vec![SiteReport {
                    operation: "lock".into(),
                    location: Some(place.clone()),
                }],
                threads: Vec::new(),
            }),
            Message::Sharing(SharingReport {
                conflict: true,
                weak: vec![WeakReport {
                    operation: "load".into(),
                    orderings: "Relaxed".into(),
                    location: Some(place.clone()),
                }],
            }),
            Message::Finished {
                verdict: Verdict::Failed,
                reason: None,
                note: None,
                counts: Counts::default(),
                failure: Some(Box::new(FailureReport {
                    kind: "deadlock".into(),
                    message: "m".into(),
                    thread: None,
                    thread_name: None,
                    location: None,
                    blocked: vec![BlockedThread {
                        thread: 0,
                        thread_name: None,
                        operation: "lock".into(),
                        object: "mutex#1".into(),
                        location: None,
                        held_by: vec![Holder {
                            thread: 1,
                            thread_name: None,
                            location: Some(place),
                        }],
                        ..BlockedThread::default()
                    }],
                    output: String::new(),
                    ..FailureReport::default()
                })),
                seed: None,
            },
        ];
        for message in messages {
            assert_eq!(Message::from_line(&message.to_line()), Ok(message));
        }
    }

    #[test]
    fn reports_in_short() {
        let place = |line| {
            Some(SourceLocation {
                file: "a.rs".into(),
                line,
                column: 9,
            })
        };
        let step = StepReport {
            index: 0,
            thread: 1,
            thread_name: Some("w".into()),
            operation: "load".into(),
            object: "atomic#1".into(),
            location: place(3),
            detail: Some("→ 0".into()),
            switched: true,
            ..StepReport::default()
        };
        assert_eq!(step.to_string(), "t1 (w)  load atomic#1  → 0  a.rs:3:9");
        let failure = FailureReport {
            kind: "deadlock".into(),
            message: "no thread can go on".into(),
            thread: None,
            thread_name: None,
            location: None,
            blocked: vec![BlockedThread {
                thread: 0,
                thread_name: None,
                operation: "lock".into(),
                object: "mutex#1".into(),
                location: place(4),
                held_by: vec![Holder {
                    thread: 1,
                    thread_name: None,
                    location: place(5),
                }],
                ..BlockedThread::default()
            }],
            output: "hello".into(),
            ..FailureReport::default()
        };
        assert_eq!(
            failure.to_string(),
            "deadlock: no thread can go on\n  t0 waits in lock of mutex#1 at a.rs:4:9, held by t1 since \
             a.rs:5:9\noutput of this execution:\nhello"
        );
    }

    #[test]
    fn other_versions_and_noise_are_told_apart() {
        assert_eq!(
            Message::from_line("3 New(text:\"a\")"),
            Err(MessageError::OtherVersion(3))
        );
        for noise in ["running 1 test", "", "2", "2 New(text:\"a\")", "2 BQEHYQpi8J-m", "2 /w"] {
            assert!(
                matches!(Message::from_line(noise), Err(MessageError::Malformed(_))),
                "{noise}"
            );
        }
    }
}
