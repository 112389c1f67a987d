//! The protocol between `cargo dpor` and a test process.
//!
//! `cargo dpor` starts one process for each test and hands it a [`Config`] in a file that it inherits, whose descriptor
//! the environment variable [`ENV`] names. The process answers with [`Message`]s, one a line, on a pipe of which it
//! inherits the writing end, and writes the schedule of the current execution to a [`SharedSchedule`], a mapping that
//! both have of one anonymous file: a process that dies has left its schedule there. A schedule in printable form is a
//! [`Seed`].
//!
//! Configurations and messages are lines: their bytes ([`dpor_explorer::codec`](mod@dpor_explorer::codec)) in base64.
//! This crate is part of the facades, so it has to compile fast, and each `impl` in its dependencies is seen by every
//! crate that is compiled against them: those of `serde_json`, such as `PartialEq<Value> for i16`, break code that
//! leaves an integer's type to inference.

mod base64;
mod bytes;
mod config;
mod execution;
mod message;
mod ordering;
mod schedule;
mod seed;
mod suppression;
mod tables;

pub use bytes::{MemoryBytes, ValueBytes};
pub use config::{Config, Limits, Mode, Save};
pub use execution::{EndReport, ExecutionReport, SiteReport, Taken};
pub use message::{
    AccessedMemory, BlockReport, BlockedThread, CallerReport, ChoiceReport, Counts, DifferenceReport, FailureReport,
    Holder, LabelReport, MemoryPlace, Message, MessageError, OutputStream, PairReport, PanicReport, PartReport,
    PartingReport, PlaceReport, SharingReport, Simplified, SourceLocation, StepReport, SuppressionReport, SurveyReport,
    ThreadReport, ValueReport, Verdict, WeakReport,
};
pub use ordering::{AtomicOperation, LeastOrderings, MemoryOrdering, StrongerOrdering, WeakPlace};
pub use schedule::{
    AttachError, Crash, MAX_CALLERS, MAX_REFINEMENTS, MAX_STEPS, MAX_THREADS, Phase, SharedSchedule, Snapshot,
};
pub use seed::{Creation, OtherTest, Seed, SeedError, SeedStep, test_hash};
pub use suppression::{RaceSuppression, SuppressionError};
pub use tables::{
    Culprit, FailureKind, Flow, Memory, ModelOption, OperationKind, OptionGroup, Options, Phrase, Timeouts,
    WEAK_ORDERINGS, Wait,
};

/// The version of everything in this crate that crosses a process boundary, except seeds, which have
/// a version of their own.
pub const VERSION: u32 = 9;

/// The environment variable with the number of the [`Config`]'s descriptor.
pub const ENV: &str = "CARGO_DPOR";

/// The signal by which `cargo dpor` asks a test process where it is: `SIGURG`, which has no effect on a process that
/// does not expect it, and which hardly any program uses.
pub const WHERE_SIGNAL: i32 = 23;
