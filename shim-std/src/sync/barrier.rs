//! `std::sync::Barrier`.

use dpor_scheduler::{
    AccessKind, Condition, Guard, Location, Operation, OperationKind, Word, access_of, location, note, perform,
};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

/// `std::sync::Barrier`.
pub struct Barrier {
    /// Number of threads that have arrived in this generation; only touched while an operation takes effect.
    arrived: AtomicUsize,
    generation: Word,
    num_threads: usize,
}

/// `std::sync::BarrierWaitResult`.
pub struct BarrierWaitResult(bool);

impl Barrier {
    /// A barrier for `n` threads.
    #[inline]
    #[must_use]
    pub const fn new(n: usize) -> Barrier {
        Barrier {
            arrived: AtomicUsize::new(0),
            generation: Word::new(0),
            num_threads: n,
        }
    }

    fn arrivals(&self) -> Location {
        location(&self.arrived)
    }

    fn opening(&self) -> Location {
        location(&self.generation)
    }

    /// Waits until all of the barrier's threads have arrived; one of them becomes the leader.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let accesses = [
            access_of(self.arrivals(), AccessKind::Write),
            access_of(self.opening(), AccessKind::Write),
        ];
        let arrival = Operation::always(OperationKind::BarrierWait, self.arrivals(), &accesses);
        let next_generation = perform(&arrival, |_, touch| {
            let arrived = self.arrived.load(Ordering::Relaxed) + 1;
            let next = self.generation.get() + 1;
            touch.write(self.arrivals());
            note(|| format!("{arrived} of {}", self.num_threads));
            if arrived < self.num_threads {
                self.arrived.store(arrived, Ordering::Relaxed);
                Some(next)
            } else {
                self.arrived.store(0, Ordering::Relaxed);
                self.generation.set(next);
                touch.write(self.opening());
                None
            }
        });
        if let Some(next) = next_generation {
            let accesses = [access_of(self.opening(), AccessKind::Read)];
            let open = [Guard::when(Condition::AtLeast(self.generation.variable(), next))];
            let operation = Operation::guarded(OperationKind::BarrierWake, self.arrivals(), &accesses, &open);
            perform(&operation, |_, touch| touch.read(self.opening()));
        }
        BarrierWaitResult(next_generation.is_none())
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}

impl BarrierWaitResult {
    /// Whether this thread is the leader of its generation.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl fmt::Debug for BarrierWaitResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BarrierWaitResult")
            .field("is_leader", &self.is_leader())
            .finish()
    }
}
