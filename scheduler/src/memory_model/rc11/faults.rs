//! Faults that are seeded into the choices, for tests of tests.

use super::request::Ask;
use crate::memory_model::happens_before::{HappensBefore, RaceFault};
use std::sync::atomic::Ordering;

/// What the fault makes of the epochs that a thread `knows`.
pub(super) fn knowing(
    order: &HappensBefore,
    thread: usize,
    knows: impl Fn(usize, u32) -> bool,
) -> impl Fn(usize, u32) -> bool {
    let forgets = order.fault == Some(RaceFault::ForgetWhatOthersHave);
    move |of, epoch| if forgets { of == thread } else { knows(of, epoch) }
}

/// What the fault makes of whether an operation may take a message of this value, which is not the last.
pub(super) fn allows(fault: Option<RaceFault>, ask: Ask, value: u64, allowed: bool) -> bool {
    let access = ask.on(value, false);
    match fault {
        Some(RaceFault::SplitModifications) => true,
        Some(RaceFault::StoreLast) => allowed && access.reads(),
        Some(RaceFault::ModifyLast) => allowed && !(access.reads() && access.writes()),
        Some(RaceFault::FailByLast) => allowed && (access.writes() || !ask.may_modify()),
        Some(RaceFault::OrderByExecution) => allowed && access.ordering() != Ordering::SeqCst,
        _ => allowed,
    }
}
