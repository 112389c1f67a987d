//! Accesses that are not atomic: each is two scheduling points, its begin and its end. Whatever conflicts and comes
//! between them is a data race; and of two accesses that nothing orders, one comes between the other's in some
//! execution.

use dpor_scheduler::{
    AccessKind, FailureKind, Location, Operation, OperationKind, Word, access_of, fail, location, perform,
};
use std::panic::Location as Caller;

/// Number of reads that have begun, or negative for a write.
#[derive(Debug)]
pub(crate) struct Plain(Word);

impl Plain {
    pub const fn new() -> Plain {
        Plain(Word::new(0))
    }

    fn location(&self) -> Location {
        location(&self.0)
    }

    #[track_caller]
    fn change(&self, kind: OperationKind, access_kind: AccessKind, allowed: impl Fn(i64) -> bool, change: i64) {
        let accesses = [access_of(self.location(), access_kind)];
        let clear = perform(&Operation::always(kind, self.location(), &accesses), |_, touch| {
            let before = self.0.get();
            self.0.set(before + change);
            touch.access(self.location(), access_kind);
            allowed(before)
        });
        if !clear {
            let caller = Caller::caller();
            fail(
                FailureKind::DataRace,
                format!(
                    "{kind} at {}:{} while another thread accesses the cell",
                    caller.file(),
                    caller.line()
                ),
            );
        }
    }

    #[track_caller]
    pub fn read<R>(&self, f: impl FnOnce() -> R) -> R {
        self.change(OperationKind::Load, AccessKind::Update, |begun| begun >= 0, 1);
        let result = f();
        self.change(OperationKind::Load, AccessKind::Update, |_| true, -1);
        result
    }

    #[track_caller]
    pub fn write<R>(&self, f: impl FnOnce() -> R) -> R {
        self.change(
            OperationKind::Store,
            AccessKind::Write,
            |begun| begun == 0,
            i64::MIN / 2,
        );
        let result = f();
        self.change(OperationKind::Store, AccessKind::Write, |_| true, -(i64::MIN / 2));
        result
    }
}
