//! Text for people: the story of a failure, what keeps states apart, and the configuration, with colours.

/// Prints into a `String`, which takes anything.
macro_rules! put {
    ($out:expr, $($text:tt)*) => { writeln!($out, $($text)*).expect("a String takes anything") };
}

pub mod failure;
pub mod fit;
mod list;
pub mod pair;
pub mod settings;
pub mod survey;
mod table;

use crate::build::Test;
use crate::report::result::TestResult;
use crate::report::story::source::SourceTree;

/// The width of an output that is no terminal.
pub const WIDTH: usize = 140;

/// The whole failure of a test as text of this width.
pub fn failure_text(test: &Test, result: &TestResult, sources: &SourceTree, width: usize) -> String {
    failure::Failure {
        test: &test.display_name(),
        outcome: &result.outcome,
        replay: result.replay.as_ref(),
        again: result.again.as_deref(),
        sources,
        width,
    }
    .render()
}
