//! What reports need of a traced execution.

use crate::memory_model::races::Race;
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
    /// The race in which the execution ended, and where.
    pub race: Option<(Race, Mark)>,
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

    /// The two accesses of the race in which the execution ended, in the order in which they were made.
    pub fn race(&self, symbols: &Symbols) -> Vec<BlockUse> {
        let Some((race, mark)) = &self.race else {
            return Vec::new();
        };
        let told = |kind: Kind, mark| used(symbols, kind == Kind::Free, Some(kind.words().1), mark);
        let earlier = self.accesses.get(&place(
            race.earlier.address,
            race.earlier.epoch.thread.into(),
            race.earlier.kind,
        ));
        let earlier = earlier.map(|mark| told(race.earlier.kind, mark));
        earlier.into_iter().chain([told(race.kind, mark)]).collect()
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
