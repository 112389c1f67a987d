//! What reports need of a traced execution.

use crate::memory_model::races::{BadAccess, Fault};
use crate::memory_model::shadow::{GRANULE, Kind};
use crate::report::BlockUse;
use crate::report::symbols::Symbols;
use crate::report::trace::{Mark, StepTrace};
use dpor_explorer::keys::KeyMap;

fn place(address: usize, thread: u32, kind: Kind) -> (usize, u32, u8) {
    (address & !(GRANULE - 1), thread, kind as u8)
}

fn used(symbols: &Symbols, freed: bool, access: Option<&'static str>, mark: &Mark) -> BlockUse {
    BlockUse {
        freed,
        access,
        step: mark.step,
        thread: mark.thread,
        source: symbols.of_program(&mark.callers).find_map(|caller| caller.source()),
    }
}

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
    /// The last accesses of each thread to each granule of memory, of each kind.
    pub accesses: KeyMap<(usize, u32, u8), Mark>,
    /// The access by which the execution ended, and where it was made.
    pub bad_access: Option<(BadAccess, Mark)>,
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
        let all = born.into_iter().chain(freed).chain([(true, again)]);
        all.map(|(freed, mark)| used(symbols, freed, None, mark)).collect()
    }

    /// The access by which the execution ended, after what it conflicts with or what happened to its block.
    pub fn bad_access(&self, symbols: &Symbols) -> Vec<BlockUse> {
        let Some((bad, mark)) = &self.bad_access else {
            return Vec::new();
        };
        let access = |kind: Kind, mark| used(symbols, false, Some(kind.words().1), mark);
        let allocated = |block| {
            self.allocations
                .get(&block)
                .map(|mark| used(symbols, false, None, mark))
        };
        let freed = |block| self.frees.get(&block).map(|mark| used(symbols, true, None, mark));
        let before = match bad.fault {
            Fault::Race(conflict) => {
                let place = place(conflict.address, conflict.epoch.thread.into(), conflict.kind);
                let earlier = self.accesses.get(&place).map(|mark| access(conflict.kind, mark));
                [earlier, None]
            }
            Fault::Freed { block } => [allocated(block), freed(block)],
            Fault::Unpublished { block, .. } | Fault::Beyond { block, .. } => [allocated(block), None],
            Fault::NoBlock => [None, None],
        };
        let before = before.into_iter().flatten();
        before.chain([access(bad.kind, mark)]).collect()
    }

    /// Records where memory is accessed.
    pub fn accessed(&mut self, address: usize, size: usize, kind: Kind, mark: &Mark) {
        let mut at = address & !(GRANULE - 1);
        while at < address + size {
            self.accesses.insert(place(at, mark.thread.0, kind), mark.clone());
            at += GRANULE;
        }
    }
}
