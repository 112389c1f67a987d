//! Stronger orderings in the place of those that the program requests, to find out whether a failure is about them.
//!
//! Only what is explored is stronger. The real operation has the ordering that the program has written, which makes no
//! difference to threads of which one runs at a time.

use super::happens_before::AtomicAccess;
use super::rc11::{Ask, Request};
use crate::memory_model::orderings::Orderings;
use dpor_explorer::keys::KeyMap;
use dpor_protocol::{AtomicOperation, LeastOrderings, MemoryOrdering, SourceLocation, StrongerOrdering};
use std::panic::Location as Caller;
use std::ptr;
use std::sync::atomic::Ordering;

/// The orderings that operations have at least, by their places.
#[derive(Default)]
pub(crate) struct Stronger {
    rules: Vec<StrongerOrdering>,
    /// Which of them is about operations of a kind at a place, for those that were met. A place can have several
    /// addresses.
    known: KeyMap<(usize, AtomicOperation), Option<LeastOrderings>>,
}

impl Stronger {
    pub fn new(rules: &[StrongerOrdering]) -> Stronger {
        Stronger {
            rules: rules.to_vec(),
            known: KeyMap::default(),
        }
    }

    /// Whether there are any.
    pub fn is_some(&self) -> bool {
        !self.rules.is_empty()
    }

    /// What an operation of this kind at this place has at least.
    fn at(&mut self, place: Option<&'static Caller<'static>>, operation: AtomicOperation) -> Option<LeastOrderings> {
        let place = place.filter(|_| self.is_some())?;
        let rules = &self.rules;
        let look = || {
            let place = SourceLocation::from(place);
            let is_about = |rule: &&StrongerOrdering| rule.operation == operation && rule.location == place;
            rules.iter().find(is_about).map(|rule| rule.least)
        };
        let met = (ptr::from_ref(place).addr(), operation);
        *self.known.entry(met).or_insert_with(look)
    }

    /// The ordering of a fence.
    pub fn fence(&mut self, place: &'static Caller<'static>, order: Ordering) -> Ordering {
        let least = self.at(Some(place), AtomicOperation::Fence);
        least.map_or(order, |least| join(order, least.success))
    }

    /// The orderings of an operation that makes this access, and the access with them.
    pub fn access(
        &mut self,
        place: Option<&'static Caller<'static>>,
        orderings: Orderings,
        access: AtomicAccess,
    ) -> (Orderings, AtomicAccess) {
        let operation = operation(orderings, access);
        let Some(least) = self.at(place, operation) else {
            return (orderings, access);
        };
        let of_success = match operation {
            AtomicOperation::Load => least.success.of_load(),
            AtomicOperation::Store => least.success.of_store(),
            _ => least.success,
        };
        let orderings = Orderings {
            success: join(orderings.success, of_success),
            failure: orderings.failure.map(|order| join(order, least.failure.of_load())),
        };
        let access = match access {
            AtomicAccess::Load(_) => AtomicAccess::Load(orderings.failure.unwrap_or(orderings.success)),
            AtomicAccess::Store(_) => AtomicAccess::Store(orderings.success),
            AtomicAccess::Modify(_) => AtomicAccess::Modify(orderings.success),
        };
        (orderings, access)
    }

    /// What an operation asks of its atomic.
    pub fn request(&mut self, place: Option<&'static Caller<'static>>, request: Request) -> Request {
        let ask = match request.ask {
            Ask::Access(access) => Ask::Access(self.access(place, access.ordering().into(), access).1),
            Ask::Exchange {
                expected,
                success,
                failure,
                spuriously,
            } => {
                let orderings = Orderings {
                    success,
                    failure: Some(failure),
                };
                let (orderings, _) = self.access(place, orderings, AtomicAccess::Modify(success));
                Ask::Exchange {
                    expected,
                    success: orderings.success,
                    failure: orderings.failure.unwrap_or(failure),
                    spuriously,
                }
            }
        };
        Request { ask, ..request }
    }
}

/// The kind of an operation that makes this access.
pub(crate) fn operation(orderings: Orderings, access: AtomicAccess) -> AtomicOperation {
    match (access, orderings.failure) {
        (_, Some(_)) => AtomicOperation::CompareExchange,
        (AtomicAccess::Load(_), None) => AtomicOperation::Load,
        (AtomicAccess::Store(_), None) => AtomicOperation::Store,
        (AtomicAccess::Modify(_), None) => AtomicOperation::ReadModifyWrite,
    }
}

fn join(order: Ordering, least: MemoryOrdering) -> Ordering {
    MemoryOrdering::from(order).join(least).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

    /// For operations of all kinds but read-modify-writes.
    fn rules(place: &Caller<'_>, success: MemoryOrdering, failure: MemoryOrdering) -> Stronger {
        let rule = |operation| StrongerOrdering {
            location: SourceLocation::from(place),
            operation,
            least: LeastOrderings { success, failure },
        };
        use AtomicOperation::{CompareExchange, Fence, Load, Store};
        Stronger::new(&[Load, Store, CompareExchange, Fence].map(rule))
    }

    #[test]
    fn an_operation_gets_what_its_kind_can_have() {
        let here = Caller::caller();
        for (least, load, store, modify) in [
            (MemoryOrdering::Acquire, Acquire, Relaxed, Acquire),
            (MemoryOrdering::Release, Relaxed, Release, Release),
            (MemoryOrdering::AcqRel, Acquire, Release, AcqRel),
            (MemoryOrdering::SeqCst, SeqCst, SeqCst, SeqCst),
        ] {
            let mut stronger = rules(here, least, MemoryOrdering::Acquire);
            let mut of = |access: AtomicAccess| stronger.access(Some(here), Relaxed.into(), access).1;
            assert_eq!(of(AtomicAccess::Load(Relaxed)), AtomicAccess::Load(load));
            assert_eq!(of(AtomicAccess::Store(Relaxed)), AtomicAccess::Store(store));
            // There is no rule for them.
            assert_eq!(of(AtomicAccess::Modify(Relaxed)), AtomicAccess::Modify(Relaxed));
            // One that has failed, and what is asked for one that may fail.
            let exchange = Orderings {
                success: Relaxed,
                failure: Some(Relaxed),
            };
            let (orderings, access) = stronger.access(Some(here), exchange, AtomicAccess::Load(Relaxed));
            assert_eq!((orderings.success, access), (modify, AtomicAccess::Load(Acquire)));
            let request = Request {
                ask: Ask::Exchange {
                    expected: 0,
                    success: Relaxed,
                    failure: Relaxed,
                    spuriously: false,
                },
                address: 8,
                size: 8,
            };
            assert_eq!(stronger.request(Some(here), request).ask.orderings(), (modify, Acquire));
        }
    }

    #[test]
    fn no_ordering_becomes_weaker_and_other_places_stay() {
        let here = Caller::caller();
        let mut stronger = rules(here, MemoryOrdering::Acquire, MemoryOrdering::Relaxed);
        assert_eq!(stronger.fence(here, SeqCst), SeqCst);
        assert_eq!(stronger.fence(here, Release), AcqRel);
        assert_eq!(stronger.fence(Caller::caller(), Release), Release);
        let load = AtomicAccess::Load(Relaxed);
        assert_eq!(stronger.access(None, Relaxed.into(), load).1, load);
    }
}
