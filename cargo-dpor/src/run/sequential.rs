//! Says of a test that fails under weak memory whether it fails under sequential consistency, too.

use crate::build::Test;
use crate::child::{self, Order};
use crate::error::Error;
use crate::outcome::Outcome;
use dpor_explorer::Strategy;
use dpor_protocol::{FailureKind, Limits, Memory, Mode, Verdict};
use std::time::Duration;

/// The note on that, if an exploration comes to an end within this time.
///
/// # Errors
/// If a test process cannot be started or followed.
pub fn note(test: &Test, order: &Order, time: Duration, outcome: &Outcome) -> Result<Option<String>, Error> {
    let weak = order.options.memory() == Memory::Rc11;
    let kind = outcome.failure.as_ref().and_then(|failure| failure.known_kind());
    if !weak || time.is_zero() || order.shard.is_some() || !kind.is_none_or(FailureKind::is_repeated) {
        return Ok(None);
    }
    let sequential = Order {
        mode: Mode::Explore,
        strategy: Strategy::States.to_string(),
        limits: Limits {
            executions: None,
            steps: None,
            preemptions: None,
            seconds: Some(time.as_secs_f64()),
            ..order.limits
        },
        options: order.options.with_memory(Memory::Sc),
        executions: false,
        printed: false,
        save: None,
        ..order.clone()
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
