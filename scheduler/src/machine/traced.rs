//! What reports need of a traced execution.

use crate::report::BlockUse;
use crate::report::symbols::Symbols;
use crate::report::trace::{Mark, StepTrace};
use dpor_explorer::keys::KeyMap;

/// The record of a traced execution.
#[derive(Default)]
pub(crate) struct Traced {
    pub steps: StepTrace,
    /// Where the heap blocks were allocated.
    pub allocations: KeyMap<usize, Mark>,
    /// Where they were freed.
    pub frees: KeyMap<usize, Mark>,
    /// The block that was freed wrongly, and where.
    pub freed_wrongly: Option<(usize, Mark)>,
    /// If a thread has ended the execution as a failure, the position of that thread: return addresses, innermost
    /// first.
    pub failed_at: Box<[usize]>,
}

impl Traced {
    /// The history of the block that was freed wrongly.
    pub fn wrong_free(&self, symbols: &Symbols) -> Vec<BlockUse> {
        let Some((block, again)) = &self.freed_wrongly else {
            return Vec::new();
        };
        let born = self.allocations.get(block).map(|mark| (false, mark));
        let freed = self.frees.get(block).map(|mark| (true, mark));
        let told = |(freed, mark): (bool, &Mark)| BlockUse {
            freed,
            step: mark.step,
            thread: mark.thread,
            source: symbols.of_program(&mark.callers).find_map(|caller| caller.source()),
        };
        born.into_iter().chain(freed).chain([(true, again)]).map(told).collect()
    }
}
