//! The messages of a test process to `cargo dpor`.

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
        /// The place where the test is defined.
        location: Option<SourceLocation>,
    },
    /// Present counts; several a second.
    Progress(Counts),
    /// An execution has ended. Only on request, and then for the first executions and the failing one.
    Execution(ExecutionReport),
    /// A thread was created. Only in a replay.
    Thread(ThreadReport),
    /// A step was made. Only in a replay.
    Step(StepReport),
    /// What the program printed, in the order of printing. Only in a replay.
    Output {
        /// The stream.
        stream: OutputStream,
        /// The text.
        text: String,
    },
    /// What the program printed in the first execution of an exploration, in the order of printing. Only on request.
    Printed {
        /// The stream.
        stream: OutputStream,
        /// The text.
        text: String,
    },
    /// The program did not follow the seed. Only in a replay; `Finished` follows.
    Diverged {
        /// The number of the step, counted from 0.
        step: u64,
        /// The operation in the seed.
        expected: String,
        /// The operation of the program.
        met: String,
    },
    /// Two orders of the same steps that lead to different states. Only on request.
    Pair(PairReport),
    /// The labels that the test has reached, or should have reached. Only if there are any; `Finished` follows.
    Labels {
        /// All of them, in the order in which they were met.
        labels: Vec<LabelReport>,
    },
    /// A simpler schedule, or the result of the search for the simplest one. The last such message counts. Only on
    /// request.
    Simplified(Simplified),
    /// How the threads interacted. Not in a replay; `Finished` follows.
    Sharing(SharingReport),
    /// The test has been divided. Only on request, and before it is explored.
    Shard {
        /// Equal for all shards of the test, if they were made of the same code with the same settings.
        fingerprint: u64,
    },
    /// The functions of the program at the requested addresses. `Finished` follows.
    Callers {
        /// The callers, innermost first.
        callers: Vec<CallerReport>,
    },
    /// The exploration cannot resume from the saved one. The last message: nothing was explored.
    CannotResume {
        /// The reason.
        reason: String,
    },
    /// The last message.
    Finished {
        /// The verdict.
        verdict: Verdict,
        /// The reason why it is incomplete.
        reason: Option<String>,
        /// A further note on the exploration, in a line.
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
    /// All schedules were explored and none failed; in a replay: the one schedule did not fail.
    Complete,
    /// A schedule failed.
    Failed,
    /// No failure was found, but not everything was explored.
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
    /// Executions abandoned because everything enabled was asleep.
    pub blocked: u64,
    /// Executions abandoned because their state was known.
    pub pruned: u64,
    /// Executions cut at the bound on their length.
    pub cut: u64,
    /// Steps run.
    pub steps: u64,
    /// Nodes of the search tree.
    pub states: u64,
    /// States compared with a stored one.
    pub compared: u64,
    /// Compared states that were equal.
    pub equal: u64,
    /// Reversals of races run only to compare states.
    pub checks: u64,
    /// Reversible races found.
    pub races: u64,
    /// Number of times that exploration started again with more scheduling points.
    pub refinements: u64,
    /// Length of the longest execution, in steps.
    pub peak_depth: u64,
    /// Estimated explored part of the executions, in millionths; 0 if unknown.
    pub explored: u32,
    /// Maximum number of threads of one execution.
    pub threads: u64,
    /// Time spent, in milliseconds.
    pub millis: u64,
}

dpor_explorer::codec!(struct Counts {
    complete, blocked, pruned, cut, steps, states, compared, equal, checks, races, refinements, peak_depth,
    explored, threads, millis,
});

impl Counts {
    /// Number of all executions, however they ended.
    pub fn executions(&self) -> u64 {
        self.complete + self.blocked + self.pruned + self.cut
    }
}

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct SourceLocation {
    /// The file, as it was given to the compiler.
    pub file: String,
    /// The line, counted from 1.
    pub line: u32,
    /// The column, counted from 1.
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

/// The stream to which a program printed.
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
    /// The thread that created it; `None` for the main thread.
    pub parent: Option<u32>,
    /// Its name, if the program gave it one.
    pub name: Option<String>,
    /// The place where it was created.
    pub location: Option<SourceLocation>,
}

dpor_explorer::codec!(struct ThreadReport { id, parent, name, location });

/// A step of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct StepReport {
    /// The number of the step, counted from 0.
    pub index: u64,
    /// The thread that made it.
    pub thread: u32,
    /// That thread's name, if the program gave it one.
    pub thread_name: Option<String>,
    /// The kind of operation, such as `lock`.
    pub operation: String,
    /// The object, such as `mutex#1`; empty for operations without one.
    pub object: String,
    /// The readable name of the object: the path of a static, or what stands for it in the source.
    pub object_name: Option<String>,
    /// The address of the object in the executable's file, if it is in a static. Only until a name is found for it.
    #[cfg_attr(dpor_json, serde(skip_serializing_if = "Option::is_none"))]
    pub static_address: Option<u64>,
    /// The operation in the program's source.
    pub location: Option<SourceLocation>,
    /// What it did, such as `0 → 1`.
    pub detail: Option<String>,
    /// Whether the previous step was another thread's.
    pub switched: bool,
    /// Whether that thread could also have gone on.
    pub preempted: bool,
    /// The number, counted from 0, of the step that wrote what it read, sent what it received, or woke it.
    pub reads_from: Option<u64>,
    /// Values of objects before and after it, where there are words for them.
    pub values: Vec<ValueReport>,
    /// The locks that it released, by the names that steps have in `object`.
    pub released: Vec<String>,
    /// The memory blocks that it freed, as pointers are printed.
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
    /// The number of the step in which it happened, counted from 0.
    pub step: u64,
    /// Its message.
    pub message: String,
    /// The place where it happened.
    pub location: Option<SourceLocation>,
}

dpor_explorer::codec!(struct PanicReport { thread, thread_name, step, message, location });

/// A function of the program that was running.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct CallerReport {
    /// Its path.
    pub function: String,
    /// The line that was running, if debug information tells.
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

/// An event in the history of a memory block.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct BlockReport {
    /// Whether it was freed; otherwise it was allocated.
    pub freed: bool,
    /// The number of the step, counted from 0.
    pub step: u64,
    /// The thread.
    pub thread: u32,
    /// Its name, if the program gave it one.
    pub thread_name: Option<String>,
    /// The place, if known.
    pub location: Option<SourceLocation>,
}

dpor_explorer::codec!(struct BlockReport { freed, step, thread, thread_name, location });

/// Two orders of the same steps that lead to different states.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct PairReport {
    /// Number of steps with which both begin.
    pub common: u64,
    /// The rest of the first order.
    pub first: Vec<StepReport>,
    /// The rest of the second order.
    pub second: Vec<StepReport>,
    /// The differences between the states.
    pub differences: Vec<DifferenceReport>,
}

dpor_explorer::codec!(struct PairReport { common, first, second, differences });

/// Bytes in which two states differ.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct DifferenceReport {
    /// The owner of the bytes.
    pub owner: String,
    /// Their address in memory, if they have one.
    pub address: Option<u64>,
    /// Their offset in what belongs to the owner.
    pub offset: u64,
    /// Their number.
    pub length: u64,
    /// The first bytes in the first state; empty if they do not exist there.
    pub first: Vec<u8>,
    /// The first bytes in the second state; empty if they do not exist there.
    pub second: Vec<u8>,
    /// A note on them.
    pub hint: Option<String>,
}

dpor_explorer::codec!(struct DifferenceReport { owner, address, offset, length, first, second, hint });

/// A place that the test has marked, and the number of executions that reached it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct LabelReport {
    /// The label.
    pub label: String,
    /// Number of complete executions that reached it.
    pub complete: u64,
    /// Number of executions that reached it, however they ended, including those thrown away or run only for a
    /// comparison.
    pub all: u64,
    /// The place where the test requires that it be reached.
    pub required: Option<SourceLocation>,
}

dpor_explorer::codec!(struct LabelReport { label, complete, all, required });

/// The simplest schedule found that ends in a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct Simplified {
    /// Its seed.
    pub seed: String,
    /// Number of switches away from a thread that could have gone on.
    pub preemptions: u64,
    /// Number of switches between threads.
    pub switches: u64,
    /// Number of steps.
    pub steps: u64,
    /// Whether it is proven that no schedule that fails in this way has fewer preemptions, or as many and fewer
    /// switches, or as many of both and fewer steps.
    pub proven: bool,
    /// Where it parts from schedules that pass; `None` if unknown.
    pub parting: Option<PartingReport>,
}

dpor_explorer::codec!(struct Simplified { seed, preemptions, switches, steps, proven, parting });

/// Where a failing schedule parts from those that pass.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub enum PartingReport {
    /// The last step in whose place another one could have run so that the execution would have passed.
    At(ChoiceReport),
    /// No run with a different choice at one point passed.
    Nowhere,
}

dpor_explorer::codec!(enum PartingReport { 0 => At(value), 1 => Nowhere });

/// A step that could have run in place of another.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct ChoiceReport {
    /// The number of the step, counted from 0.
    pub step: u64,
    /// The thread that could have run.
    pub thread: u32,
    /// Its name, if the program gave it one.
    pub thread_name: Option<String>,
    /// Its operation, such as `lock`.
    pub operation: String,
    /// The operation in the program's source.
    pub location: Option<SourceLocation>,
    /// The alternative of the operation.
    pub alternative: u32,
    /// Whether it is the thread that made the step, which could have gone on in another way.
    pub same_thread: bool,
}

dpor_explorer::codec!(struct ChoiceReport {
    step, thread, thread_name, operation, location, alternative, same_thread,
});

/// How the threads of an explored program interacted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct SharingReport {
    /// In some execution, two threads accessed the same object, and one of them changed it. Waiting for a thread to end
    /// does not count.
    pub conflict: bool,
    /// Racing atomic operations that request an ordering weaker than `SeqCst`.
    pub weak: Vec<WeakReport>,
}

dpor_explorer::codec!(struct SharingReport { conflict, weak });

impl SharingReport {
    /// Why a complete test may have tested nothing: there was nothing to interleave.
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
    /// The orderings that it requests, such as `Relaxed`, or `AcqRel, Relaxed` if it can fail.
    pub orderings: String,
    /// Its place.
    pub location: Option<SourceLocation>,
}

dpor_explorer::codec!(struct WeakReport { operation, orderings, location });

/// A failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct FailureReport {
    /// A short, stable name of the kind of failure, such as `panic` or `deadlock`.
    pub kind: String,
    /// What happened, in a sentence or a few lines.
    pub message: String,
    /// The thread in which it happened, if there is one.
    pub thread: Option<u32>,
    /// That thread's name, if the program gave it one.
    pub thread_name: Option<String>,
    /// The place where it happened.
    pub location: Option<SourceLocation>,
    /// All waiting threads, for deadlocks and similar failures.
    pub blocked: Vec<BlockedThread>,
    /// The panics of the failing execution, in order. Only in a replay.
    pub panics: Vec<PanicReport>,
    /// The functions of the program that were running when the process, or the execution, was ended from inside:
    /// innermost first.
    pub callers: Vec<CallerReport>,
    /// For a wrong free: the history of the block. Only in a replay.
    pub block: Vec<BlockReport>,
    /// What the failing execution printed.
    pub output: String,
}

dpor_explorer::codec!(struct FailureReport {
    kind, message, thread, thread_name, location, blocked, panics, callers, block, output,
});

/// A thread that waits in vain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct BlockedThread {
    /// The thread.
    pub thread: u32,
    /// Its name, if the program gave it one.
    pub thread_name: Option<String>,
    /// The operation that it tries, such as `lock`.
    pub operation: String,
    /// The object for which it waits; empty for operations without one.
    pub object: String,
    /// As in [`StepReport::object_name`].
    pub object_name: Option<String>,
    /// As in [`StepReport::static_address`].
    #[cfg_attr(dpor_json, serde(skip_serializing_if = "Option::is_none"))]
    pub static_address: Option<u64>,
    /// The operation in the program's source.
    pub location: Option<SourceLocation>,
    /// The threads that hold what it waits for.
    pub held_by: Vec<Holder>,
    /// The timeout of its wait, such as `100 years`, if it is too long to fire.
    #[cfg_attr(dpor_json, serde(skip_serializing_if = "Option::is_none"))]
    pub timeout: Option<String>,
}

dpor_explorer::codec!(struct BlockedThread {
    thread, thread_name, operation, object, object_name, static_address, location, held_by,
    timeout,
});

/// A thread that holds what another one waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(dpor_json, derive(serde::Serialize))]
pub struct Holder {
    /// The thread.
    pub thread: u32,
    /// Its name, if the program gave it one.
    pub thread_name: Option<String>,
    /// The place where it acquired it.
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

/// The step on one line: thread, operation, object, effect, place.
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

/// What happened and where, the waiting threads, and the output, on separate lines.
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

/// The waiting thread, its operation, its place, and the holders.
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

/// Why a line is not a [`Message`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageError {
    /// It is a message of another [`VERSION`].
    OtherVersion(u32),
    /// It is not a message at all.
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
    /// The message as a line, including its end: the version, a space, and its bytes in base64.
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
