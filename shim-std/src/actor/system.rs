//! Systems of actors, and their messages in progress.

use super::{Address, object::Object};
use crate::share::{Share, Shared};
use dpor_scheduler::{
    AccessKind, Condition, Guard, Location, Operation, OperationKind, Touch, Word, access_of, location, perform,
    release,
};
use std::cell::Cell;
use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

std::thread_local! {
    /// The system to which the thread's message belongs; 0 for other threads. It has no destructor, so that each model
    /// thread has its own.
    static OWN: Cell<usize> = const { Cell::new(0) };
}

#[derive(Default)]
struct Messages {
    /// Number of messages that were sent and are not yet finished.
    under_way: Word,
    /// Off model threads: whether a turn has panicked.
    panicked: AtomicBool,
}

/// Actors for which one can wait together. A handle: clones are of the same system.
#[derive(Clone, Default)]
pub struct System {
    shared: Shared<Messages>,
}

impl System {
    /// Creates a system without actors.
    #[must_use]
    pub fn new() -> System {
        System::default()
    }

    /// Makes a state an actor. In reports it has the name of its type.
    ///
    /// Under way are messages, not actors: one that gets none does nothing. It is dropped with its last address.
    pub fn spawn<A: Send + 'static>(&self, state: A) -> Address<A> {
        let path = std::any::type_name::<A>();
        // Of a generic type, what it is generic over is left out.
        let path = path.split('<').next().unwrap_or(path);
        let name = path.rsplit("::").next().unwrap_or(path);
        self.spawn_named(name, state)
    }

    /// Makes a state an actor, with a name for reports.
    ///
    /// # Panics
    /// At the first message, if there is a nul byte in the name.
    pub fn spawn_named<A: Send + 'static>(&self, name: impl Into<String>, state: A) -> Address<A> {
        Address {
            object: Share::new(Object::new(state, self.clone(), name.into())),
        }
    }

    /// Waits until no message is in progress: all have been processed, and all messages to which they have led.
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
        perform(&operation, |_, touch| touch.read(self.location()));
        assert!(!self.shared.panicked.load(Relaxed), "an actor has panicked");
    }

    fn location(&self) -> Location {
        location(&self.shared.under_way)
    }

    /// Counts a message that is about to be sent. Within a turn of the system this belongs to the step that sends it:
    /// until the turn ends, the system does not settle. Elsewhere it is a step of its own, since the system might
    /// settle before or after.
    #[track_caller]
    pub(super) fn begin(&self) {
        let count = |touch: Touch<'_>| {
            self.shared.under_way.set(self.shared.under_way.get() + 1);
            touch.update(self.location());
        };
        if OWN.get() == ptr::from_ref(&*self.shared).addr() {
            release(OperationKind::SendMessage, self.location(), count);
        } else {
            let accesses = [access_of(self.location(), AccessKind::Update)];
            let operation = Operation::always(OperationKind::SendMessage, self.location(), &accesses);
            perform(&operation, |_, touch| count(touch));
        }
    }

    /// Marks the thread as a message of this system.
    pub(super) fn enter(&self) {
        OWN.set(ptr::from_ref(&*self.shared).addr());
    }

    /// Ends the thread's message.
    pub(super) fn leave(self) {
        release(OperationKind::EndTurn, self.location(), |touch| {
            self.shared.under_way.set(self.shared.under_way.get() - 1);
            touch.update(self.location());
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
