//! Objects of the small programs: the minimum that a facade of std needs.
#![allow(dead_code, missing_docs, reason = "each test uses some of them")]

use dpor_explorer::Guard;
use dpor_scheduler::{AccessKind, Condition, Operation, OperationKind, Word};
use dpor_scheduler::{access_of, location, note, perform, release, thread};
use std::rc::Rc;

pub struct Register(Word);

impl Register {
    pub fn new() -> Rc<Register> {
        Rc::new(Register(Word::new(0)))
    }

    #[track_caller]
    pub fn load(&self) -> i64 {
        let accesses = [access_of(location(self), AccessKind::Read)];
        let load = Operation::always(OperationKind::Load, location(self), &accesses);
        perform(&load, |_, touch| {
            touch.read(location(self));
            self.0.get()
        })
    }

    #[track_caller]
    pub fn store(&self, value: i64) {
        let accesses = [access_of(location(self), AccessKind::Write)];
        let store = Operation::always(OperationKind::Store, location(self), &accesses);
        perform(&store, |_, touch| {
            touch.write(location(self));
            note(|| format!("{} → {value}", self.0.get()));
            self.0.set(value);
        });
    }
}

/// A lock without data.
pub struct Lock(Word);

impl Lock {
    pub fn new() -> Rc<Lock> {
        Rc::new(Lock(Word::new(0)))
    }

    #[track_caller]
    pub fn lock(&self) {
        let accesses = [access_of(location(self), AccessKind::Write)];
        let guards = [Guard::when(Condition::Equals(self.0.variable(), 0))];
        perform(
            &Operation::guarded(OperationKind::Lock, location(self), &accesses, &guards),
            |_, touch| {
                touch.write(location(self));
                self.0.set(1);
            },
        );
    }

    #[track_caller]
    pub fn unlock(&self) {
        release(OperationKind::Unlock, location(self), |touch| {
            touch.write(location(self));
            self.0.set(0);
        });
    }
}

pub struct Handle(Rc<Word>);

pub fn spawn(body: impl FnOnce() + 'static) -> Handle {
    let exit = Rc::new(Word::new(0));
    let done = Rc::clone(&exit);
    let run = move || {
        body();
        release(OperationKind::Exit, location(&*done), |touch| {
            touch.write(location(&*done));
            done.set(1);
        });
    };
    thread::spawn(Box::new(run), None, None);
    Handle(exit)
}

impl Handle {
    #[track_caller]
    pub fn join(self) {
        let accesses = [access_of(location(&*self.0), AccessKind::Read)];
        let guards = [Guard::when(Condition::Equals(self.0.variable(), 1))];
        perform(
            &Operation::guarded(OperationKind::Join, location(&*self.0), &accesses, &guards),
            |_, touch| {
                touch.read(location(&*self.0));
            },
        );
    }
}
