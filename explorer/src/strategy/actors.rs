//! The orders in which the two strategies of the literature on actors take enabled transitions (Lauterburg, Karmani,
//! Marinov and Agha, *Evaluating Ordering Heuristics for Dynamic Partial-Order Reduction Techniques*, FASE 2010).

use super::{Dpor, Order};
use crate::execution::Trace;
use crate::search::exploration::Exploration;
use crate::search::node::Stack;
use crate::search::policy::Conduct;
use crate::system::{System, ThreadId};
use std::cmp::Reverse;

impl Dpor {
    pub(super) fn conduct(self) -> Conduct {
        Conduct {
            sleeps: self.sleep,
            ..Conduct::REVERSALS
        }
    }

    /// Brings the threads that are enabled in the reached node in order.
    pub(super) fn sort<S: System>(self, stack: &mut Stack, exploration: &Exploration<S>) {
        let cursor = &exploration.cursor;
        let enabled = &mut stack.reached().enabled;
        self.order
            .sort(enabled, |&(thread, _)| thread, &cursor.trace, &cursor.system);
    }
}

impl Order {
    /// Sorts threads by the order of their next operations.
    fn sort<T>(self, threads: &mut [T], id: impl Fn(&T) -> ThreadId, trace: &Trace, system: &(impl System + ?Sized)) {
        let pending_since = |thread: &T| trace.pending_since(id(thread), trace.len());
        let created = |thread: &T| system.created(id(thread));
        match self {
            Order::Fifo => {
                threads.sort_by_key(pending_since);
                let actors: Vec<_> = threads.iter().map(created).collect();
                threads.sort_by_cached_key(|thread| actors.iter().position(|&actor| actor == created(thread)));
            }
            Order::Eca => threads.sort_by_key(|thread| (created(thread), pending_since(thread))),
            Order::Lca => threads.sort_by_key(|thread| (Reverse(created(thread)), pending_since(thread))),
        }
    }
}
