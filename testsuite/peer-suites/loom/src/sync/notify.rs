//! `loom::sync::Notify`.

use dpor_scheduler::{
    AccessKind, Condition, Guard, Location, Operation, OperationKind, Word, access_of, location, note, perform,
};

/// `loom::sync::Notify`.
#[derive(Debug)]
pub struct Notify {
    notified: Word,
    /// Number of waits that may end without a reason.
    spurious: Word,
}

impl Notify {
    /// Nobody is notified.
    #[expect(clippy::new_without_default, reason = "no test uses it")]
    #[must_use]
    pub const fn new() -> Notify {
        Notify {
            notified: Word::new(0),
            spurious: Word::new(0),
        }
    }

    /// One wait may end without cause.
    pub(crate) const fn spurious() -> Notify {
        Notify {
            notified: Word::new(0),
            spurious: Word::new(1),
        }
    }

    fn location(&self) -> Location {
        location(&self.notified)
    }

    /// Lets the present or the next wait end.
    #[track_caller]
    pub fn notify(&self) {
        let accesses = [access_of(self.location(), AccessKind::Write)];
        perform(
            &Operation::always(OperationKind::Unpark, self.location(), &accesses),
            |_, touch| {
                self.notified.set(1);
                touch.write(self.location());
            },
        );
    }

    /// Waits to be notified.
    #[track_caller]
    pub fn wait(&self) {
        let accesses = [access_of(self.location(), AccessKind::Write)];
        let ends = [
            Guard::when(Condition::Equals(self.notified.variable(), 1)),
            Guard::when(Condition::Equals(self.spurious.variable(), 1)),
        ];
        perform(
            &Operation::guarded(OperationKind::Park, self.location(), &accesses, &ends),
            |nth, touch| {
                if nth == 0 {
                    self.notified.set(0);
                } else {
                    self.spurious.set(0);
                    note(|| "spurious".to_owned());
                }
                touch.write(self.location());
            },
        );
    }
}
