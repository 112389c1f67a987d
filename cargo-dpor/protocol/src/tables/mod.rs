//! One table for each set of names that a test process and `cargo dpor` share: kinds of operations, kinds of failures,
//! and options of the model.
//!
//! A row has everything that holds of a kind wherever it occurs: in the scheduler, in seeds and messages, in reports.
//! So whoever adds a kind writes a row, and its use. What only one occurrence of a kind has, such as the object of an
//! operation, is in the messages.
//!
//! Invariant: names and codes of rows stay as they are. Names are in JSON, JUnit files and configuration files, codes
//! in seeds.
//!
//! Invariant: a message can have a name of which there is no row here. Functions that look for a row return an
//! `Option`.

mod failure;
mod operation;
mod option;

pub use failure::{Culprit, FailureKind};
pub use operation::{Flow, OperationKind, Phrase, Wait};
pub use option::{Memory, ModelOption, OptionGroup, Options, Timeouts, WEAK_ORDERINGS};
