//! The messages of a test process to `cargo dpor`.

mod exploration;
mod failure;
mod search;
mod states;
mod step;

pub use exploration::{Counts, LabelReport, SharingReport, SuppressionReport, Verdict, WeakReport};
pub use failure::{
    AccessedMemory, BlockReport, BlockedThread, CallerReport, FailureReport, Holder, MemoryPlace, PanicReport,
};
pub use search::{ChoiceReport, PartingReport, Simplified};
pub use states::{DifferenceReport, PairReport, PartReport, PlaceReport, SurveyReport};
pub use step::{OutputStream, SourceLocation, StepReport, ThreadReport, ValueReport};

use super::base64;
use crate::{ExecutionReport, VERSION, WeakPlace};
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
    /// Where the failing execution has requested weak orderings, each place once. Only in a replay.
    WeakPlaces(Vec<WeakPlace>),
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
    /// What keeps all states apart. Only on request.
    Survey(SurveyReport),
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
    /// How often each suppression of data races applied. Only if there are any, and races were looked for; not in a
    /// replay. `Finished` follows.
    Suppressed {
        /// All of them, in the order of the configuration.
        suppressions: Vec<SuppressionReport>,
    },
    /// The test has been divided. Only on request, and before it is explored.
    Shard {
        /// Equal for all shards of the test, if they were made of the same code with the same settings.
        fingerprint: u64,
    },
    /// All sequentially consistent executions were explored before those of weak memory, and none has failed.
    /// `Finished` follows.
    SequentiallyComplete {},
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
    16 => WeakPlaces(value),
    6 => Diverged { step, expected, met },
    7 => Pair(value),
    19 => Survey(value),
    8 => Labels { labels },
    9 => Simplified(value),
    10 => Sharing(value),
    17 => Suppressed { suppressions },
    18 => SequentiallyComplete {},
    11 => Shard { fingerprint },
    12 => CannotResume { reason },
    13 => Finished { verdict, reason, note, counts, failure, seed },
});

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
mod tests;
