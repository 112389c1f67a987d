//! A crate with a wide dependency graph: what tests of real programs pull in.
//!
//! Its tests, in `tests/`, use std's threads, locks and atomics directly and through these dependencies.

use serde::{Deserialize, Serialize};

/// A message between the parts of a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// A new value.
    Set {
        /// Of what.
        key: String,
        /// The value.
        value: i64,
    },
    /// The end.
    Stop,
}

impl Message {
    /// Sets `key` to `value`.
    pub fn set(key: &str, value: i64) -> Message {
        Message::Set { key: key.into(), value }
    }
}
