//! Says of a test that fails under weak memory whether it fails under sequential consistency, too.

use crate::build::Test;
use crate::child::{self, Order};
use crate::error::Error;
use crate::outcome::Outcome;
use dpor_protocol::{Memory, Mode, Verdict};
use std::time::Duration;

const NONE_FAILS: &str = "no sequentially consistent execution fails";

/// The note on that, if an exploration comes to an end within this time.
///
/// # Errors
/// If a test process cannot be started or followed.
pub fn note(test: &Test, order: &Order, time: Duration, outcome: &Outcome) -> Result<Option<String>, Error> {
    if outcome.account.is_sequentially_complete {
        return Ok(Some(NONE_FAILS.to_owned()));
    }
    if !outcome.is_under_weak_memory() || time.is_zero() || order.shard.is_some() || !outcome.fails_again() {
        return Ok(None);
    }
    let sequential = Order {
        options: order.options.with_memory(Memory::Sc),
        ..order.beside(Mode::Explore, time)
    };
    let met = child::run(test, &sequential, &mut |_| {})?;
    Ok(match (met.verdict, &met.failure) {
        (Verdict::Complete, _) => Some(NONE_FAILS.to_owned()),
        (Verdict::Failed, Some(failure)) => Some(format!(
            "a sequentially consistent execution fails, too: {}",
            failure.kind
        )),
        _ => None,
    })
}
