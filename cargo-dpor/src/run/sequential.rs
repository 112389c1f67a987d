//! Says of a test that fails under weak memory whether it fails under sequential consistency, too.

use crate::build::Test;
use crate::child::{self, Order};
use crate::error::Error;
use crate::outcome::Outcome;
use dpor_protocol::{Memory, Mode, Verdict};
use std::time::Duration;

/// The note on that, if an exploration comes to an end within this time.
///
/// # Errors
/// If a test process cannot be started or followed.
pub fn note(test: &Test, order: &Order, time: Duration, outcome: &Outcome) -> Result<Option<String>, Error> {
    let weak = order.options.memory() == Memory::Rc11;
    if !weak || time.is_zero() || order.shard.is_some() || !outcome.fails_again() {
        return Ok(None);
    }
    let sequential = Order {
        options: order.options.with_memory(Memory::Sc),
        ..order.beside(Mode::Explore, time)
    };
    let met = child::run(test, &sequential, &mut |_| {})?;
    Ok(match (met.verdict, &met.failure) {
        (Verdict::Complete, _) => Some("no sequentially consistent execution fails".to_owned()),
        (Verdict::Failed, Some(failure)) => Some(format!(
            "a sequentially consistent execution fails, too: {}",
            failure.kind
        )),
        _ => None,
    })
}
