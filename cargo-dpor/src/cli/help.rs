//! The text around the flags of a command.

use crate::error::EXIT_CODES;

/// The text below the flags in `--help`.
pub fn after(examples: &str) -> String {
    format!("Examples:\n{examples}\n\n{EXIT_CODES}")
}
