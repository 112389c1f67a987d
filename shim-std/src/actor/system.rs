//! The messages under way.

use super::{Address, object::Object};
use crate::share::Share;
use dpor_scheduler::{
    AccessKind, Condition, Guard, Location, Operation, OperationKind, Word, access, access_of, location, perform,
    release,
};
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

std::thread_local! {
    /// The system whose message the thread is; 0 for other threads. It has no destructor, so that each model thread has
    /// its own.
    static OWN: Cell<usize> = const { Cell::new(0) };
}

#[derive(Default)]
struct Shared {
    /// How many messages were sent and are not done with.
    under_way: Word,
    /// Off model threads: a turn has panicked.
    panicked: AtomicBool,
}

/// Actors that one can wait for together. A handle: clones are of the same system.
#[derive(Clone, Default)]
pub struct System {
    shared: Arc<Shared>,
}

impl System {
    /// A system without actors.
    #[must_use]
    pub fn new() -> System {
        System::default()
    }

    /// Makes an actor of a state. In reports it has the name of its type.
    ///
    /// Under way are messages, not actors: one that gets none does nothing. It is dropped with its last address.
    pub fn spawn<A: Send + 'static>(&self, state: A) -> Address<A> {
        let path = std::any::type_name::<A>();
        // Of a generic type, what it is generic over is left out.
        let path = path.split('<').next().unwrap_or(path);
        let name = path.rsplit("::").next().unwrap_or(path);
        self.spawn_named(name, state)
    }

    /// Makes an actor of a state, with a name for reports.
    ///
    /// # Panics
    /// At the first message, if there is a nul byte in the name.
    pub fn spawn_named<A: Send + 'static>(&self, name: impl Into<String>, state: A) -> Address<A> {
        Address {
            object: Share::new(Object::new(state, self.clone(), name.into())),
        }
    }

    /// Waits until no message is under way: all have been processed, and those that they have led to.
    ///
    /// A message that its actor never accepts is under way for ever; then this is a deadlock, and reported as one. A
    /// test that does not wait for its messages ends without them; what they do is explored nevertheless.
    ///
    /// # Panics
    /// Off model threads, if a turn of one of the system's actors has panicked.
    #[track_caller]
    pub fn settle(&self) {
        let accesses = [access_of(self.location(), AccessKind::Read)];
        let none = [Guard::when(Condition::Equals(self.shared.under_way.variable(), 0))];
        let operation = Operation::guarded(OperationKind::Settle, self.location(), &accesses, &none);
        perform(&operation, |_| access(self.location(), AccessKind::Read));
        assert!(!self.shared.panicked.load(Relaxed), "an actor has panicked");
    }

    fn location(&self) -> Location {
        location(&self.shared.under_way)
    }

    /// Counts a message that is about to be sent. Within a turn of the system it belongs to the step that it is sent
    /// in: until the turn ends, nobody settles. Elsewhere it is a step of its own, since somebody might, before or
    /// after.
    #[track_caller]
    pub(super) fn begin(&self) {
        let count = || {
            self.shared.under_way.set(self.shared.under_way.get() + 1);
            access(self.location(), AccessKind::Update);
        };
        if OWN.get() == Arc::as_ptr(&self.shared).addr() {
            release(OperationKind::SendMessage, self.location(), count);
        } else {
            let accesses = [access_of(self.location(), AccessKind::Update)];
            let operation = Operation::always(OperationKind::SendMessage, self.location(), &accesses);
            perform(&operation, |_| count());
        }
    }

    /// Says that the thread is a message of this system.
    pub(super) fn enter(&self) {
        OWN.set(Arc::as_ptr(&self.shared).addr());
    }

    /// The thread's message is done with.
    pub(super) fn leave(self) {
        release(OperationKind::EndTurn, self.location(), || {
            self.shared.under_way.set(self.shared.under_way.get() - 1);
            access(self.location(), AccessKind::Update);
        });
    }

    /// Notes that a turn has panicked.
    pub(super) fn note_panic(&self) {
        self.shared.panicked.store(true, Relaxed);
    }
}

impl fmt::Debug for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("System").finish_non_exhaustive()
    }
}
