//! What reports need of a traced execution.

use crate::memory_model::atomics;
use crate::memory_model::happens_before::AtomicAccess;
use crate::memory_model::orderings::Orderings;
use crate::memory_model::races::{BadAccess, Fault};
use crate::memory_model::shadow::{Conflict, Kind};
use crate::report::symbols::Symbols;
use crate::report::trace::{Mark, StepTrace};
use crate::report::{BlockUse, Source};
use dpor_explorer::keys::KeyMap;
use dpor_explorer::{Location, ThreadId};
use dpor_protocol::{AtomicOperation, MemoryOrdering, SourceLocation, WeakPlace};
use std::collections::HashMap;
use std::panic::Location as Caller;

/// The last access of a thread to some memory.
struct Accessed {
    /// The number of accesses before.
    number: u32,
    mark: Mark,
}

/// An access to an atomic.
struct AtomicUse {
    location: Location,
    access: AtomicAccess,
    /// The number of accesses before.
    number: u32,
    mark: Mark,
}

fn used(symbols: &Symbols, freed: bool, access: Option<String>, mark: &Mark) -> BlockUse {
    let in_callers = || symbols.of_program(&mark.callers).find_map(|caller| caller.source());
    BlockUse {
        freed,
        access,
        step: mark.step,
        thread: mark.thread,
        source: mark.place.map(Source::from).or_else(in_callers),
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
    /// The last accesses of each thread to each piece of memory, of each kind: by first address and size.
    accesses: HashMap<(usize, usize, ThreadId, Kind), Accessed>,
    /// The accesses to atomics, in their order.
    atomics: Vec<AtomicUse>,
    /// Number of accesses.
    number: u32,
    /// Where weak orderings were requested, each place once.
    pub weak_places: Vec<WeakPlace>,
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
        let access = |kind: Kind, mark| used(symbols, false, Some(kind.words().1.to_owned()), mark);
        let allocated = |block| {
            let mark = self.allocations.get(&block);
            mark.map(|mark| used(symbols, false, None, mark))
        };
        let freed = |block| self.frees.get(&block).map(|mark| used(symbols, true, None, mark));
        let mut told = Vec::new();
        match bad.fault {
            Fault::Race(conflict) => {
                told.extend(bad.block.and_then(allocated));
                if let Some(earlier) = self.last_access(&conflict) {
                    told.push(access(conflict.kind, &earlier.mark));
                    told.extend(self.too_weak(symbols, earlier, bad.thread));
                }
            }
            Fault::Freed { block } => told.extend([allocated(block), freed(block)].into_iter().flatten()),
            Fault::Unpublished { block, .. } | Fault::Beyond { block, .. } => told.extend(allocated(block)),
            Fault::NoBlock | Fault::Returned => {}
        }
        told.push(access(bad.kind, mark));
        told
    }

    /// The earlier access of a race.
    fn last_access(&self, conflict: &Conflict) -> Option<&Accessed> {
        let by = ThreadId(conflict.epoch.thread.into());
        let is_it = |&(start, size, thread, kind): &(usize, usize, ThreadId, Kind)| {
            (start..start + size).contains(&conflict.address) && thread == by && kind == conflict.kind
        };
        let all = self.accesses.iter().filter(|(access, _)| is_it(access));
        all.map(|(_, accessed)| accessed).max_by_key(|accessed| accessed.number)
    }

    /// The store after the earlier access of a race, and the load before the later one, that would have ordered them:
    /// the load has read the store, or a release sequence from there, but the orderings are too weak.
    fn too_weak(&self, symbols: &Symbols, earlier: &Accessed, later: ThreadId) -> Vec<BlockUse> {
        let atomics = &self.atomics[self.atomics.partition_point(|atomic| atomic.number < earlier.number)..];
        let store_of = |load: usize| {
            let before = atomics[..load].iter().rev();
            let stores = before.filter(|store| store.location == atomics[load].location && store.access.writes());
            for store in stores {
                if store.mark.thread == earlier.mark.thread {
                    return Some(store);
                }
                if !matches!(store.access, AtomicAccess::Modify(_)) {
                    break;
                }
            }
            None
        };
        for (at, load) in atomics.iter().enumerate().rev() {
            if load.mark.thread == later
                && load.access.reads()
                && let Some(store) = store_of(at)
            {
                return [(store, store.access.as_release()), (load, load.access.as_acquire())]
                    .map(|(atomic, words)| used(symbols, false, Some(words), &atomic.mark))
                    .into();
            }
        }
        Vec::new()
    }

    /// Records the orderings of an operation on an atomic, or a fence, if they are weak.
    pub fn orders(&mut self, place: &Caller<'_>, operation: AtomicOperation, orderings: Orderings) {
        let location = SourceLocation::from(place);
        let is_known = |known: &WeakPlace| known.location == location && known.operation == operation;
        if orderings.are_weak() && !self.weak_places.iter().any(is_known) {
            self.weak_places.push(WeakPlace {
                location,
                operation,
                success: orderings.success.into(),
                failure: orderings.failure.map(MemoryOrdering::from),
            });
        }
    }

    /// Records where memory is accessed, and how if it is an atomic.
    pub fn accessed(&mut self, address: usize, size: usize, kind: Kind, atomic: Option<AtomicAccess>, mark: Mark) {
        let number = self.number;
        self.number += 1;
        if let Some(access) = atomic {
            self.atomics.push(AtomicUse {
                location: atomics::sized(Location(address as u64), size),
                access,
                number,
                mark: mark.clone(),
            });
        }
        let accessed = Accessed { number, mark };
        self.accesses
            .insert((address, size, accessed.mark.thread, kind), accessed);
    }
}
