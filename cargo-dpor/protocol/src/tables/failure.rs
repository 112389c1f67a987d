//! The kinds of failures.

use std::fmt;

/// The thread in which a failure happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Culprit {
    /// No single thread.
    Nobody,
    /// The first thread, whose function is the test.
    Main,
    /// The thread that has run last.
    Last,
    /// The thread that has run last if it has panicked, and else the first thread.
    Panicked,
}

/// A row of the table: what holds of all failures of a kind.
struct Row {
    name: &'static str,
    meaning: &'static str,
    culprit: Culprit,
    is_stuck: bool,
    ends_process: bool,
    is_repeated: bool,
    has_message: bool,
    has_schedule: bool,
}

const fn row(name: &'static str, meaning: &'static str) -> Row {
    Row {
        name,
        meaning,
        culprit: Culprit::Last,
        is_stuck: false,
        ends_process: false,
        is_repeated: true,
        has_message: true,
        has_schedule: true,
    }
}

impl Row {
    /// The thread in which it happens, if it is not the last one.
    const fn by(self, culprit: Culprit) -> Row {
        Row { culprit, ..self }
    }

    /// Threads wait or repeat themselves for ever. Its message has threads in it, whose order is the schedule's.
    const fn stuck(self) -> Row {
        Row {
            culprit: Culprit::Nobody,
            is_stuck: true,
            has_message: false,
            ..self
        }
    }

    /// Its message has an address in it, which is another one in another schedule.
    const fn at_address(self) -> Row {
        Row {
            has_message: false,
            ..self
        }
    }

    /// The test process ends.
    const fn ends_process(self) -> Row {
        Row {
            ends_process: true,
            ..self
        }
    }

    /// The same schedule need not end in it again.
    const fn once(self) -> Row {
        Row {
            is_repeated: false,
            ..self
        }
    }

    /// It is a failure of all executions together.
    const fn of_all_executions(self) -> Row {
        Row {
            culprit: Culprit::Nobody,
            has_schedule: false,
            ..self
        }
    }
}

macro_rules! failure_kinds {
    ($($kind:ident = row($name:literal, $meaning:literal) $(.$property:ident($($value:expr)?))*;)*) => {
        /// The kind of a failure.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[non_exhaustive]
        pub enum FailureKind {
            $(#[doc = concat!("`", $name, "`: ", $meaning)] $kind,)*
        }

        impl FailureKind {
            /// All kinds, in the order in which they are documented.
            pub const ALL: &[FailureKind] = &[$(FailureKind::$kind,)*];

            const fn row(self) -> &'static Row {
                match self {
                    $(FailureKind::$kind => const { &row($name, $meaning)$(.$property($($value)?))* },)*
                }
            }
        }
    };
}

failure_kinds! {
    Panic = row("panic", "the test's body has panicked, in the test's first thread").by(Culprit::Panicked);
    Deadlock = row("deadlock", "no thread can go on, and the first thread is not at its end").stuck();
    Livelock = row("livelock", "threads spin on values that no thread will change").stuck();
    DoubleFree = row("double-free", "a block of memory was freed twice").at_address();
    InvalidFree = row("invalid-free", "something was freed where no block of memory starts").at_address();
    Leak = row("leak", "with `--leaks`: memory was neither freed nor is it reachable at the end").by(Culprit::Nobody);
    DataRace = row("data-race", "two threads accessed memory at the same time, and one of them wrote").at_address();
    UseAfterFree = row("use-after-free", "memory was accessed after it was freed, or after its function had returned")
        .at_address();
    OutOfBounds = row("out-of-bounds", "an access went beyond the end of a block of memory").at_address();
    NeverReached = row("never-reached", "of all executions together: a label that must be reached was not")
        .of_all_executions();
    Error = row("error", "the test's body returned an error").by(Culprit::Main);
    NoPanic = row("no-panic", "a `should_panic` test did not panic in this schedule").by(Culprit::Main);
    Crash = row("crash", "the test's process was ended by a signal such as SIGSEGV").ends_process();
    StackOverflow = row("stack-overflow", "a thread has reached the guard page of its stack").ends_process();
    Abort = row("abort", "the test's process ended by `abort`").ends_process();
    Exit = row("exit", "the test's process ended by `exit`").ends_process();
    Nondeterminism = row("nondeterminism", "the same schedule met another operation than before").once();
    Protocol = row("protocol", "the test's process wrote something to `cargo dpor` that is no message").once();
    Unsupported = row("unsupported", "the test does something that the model does not have");
}

impl FailureKind {
    /// The kind with this name, if there is one: a system can have kinds of its own.
    pub fn named(name: &str) -> Option<FailureKind> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Whether this is the kind with this name.
    pub fn is(self, name: &str) -> bool {
        self.name() == name
    }

    /// A short, stable name.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// What has happened, in words.
    pub const fn meaning(self) -> &'static str {
        self.row().meaning
    }

    /// The thread in which it has happened.
    pub const fn culprit(self) -> Culprit {
        self.row().culprit
    }

    /// Whether threads wait or repeat themselves for ever.
    pub const fn is_stuck(self) -> bool {
        self.row().is_stuck
    }

    /// Whether the test process can end by it, without a last message.
    pub const fn ends_process(self) -> bool {
        self.row().ends_process
    }

    /// Whether the same schedule ends in it again.
    pub const fn is_repeated(self) -> bool {
        self.row().is_repeated
    }

    /// Whether failures with different messages are different failures.
    pub const fn has_message(self) -> bool {
        self.row().has_message
    }

    /// Whether it is the failure of a single schedule.
    pub const fn has_schedule(self) -> bool {
        self.row().has_schedule
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn each_kind_has_a_name_and_a_meaning() {
        let names: HashSet<_> = FailureKind::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names.len(), FailureKind::ALL.len());
        for &kind in FailureKind::ALL {
            assert_eq!(FailureKind::named(kind.name()), Some(kind));
            assert!(kind.is(kind.name()) && !kind.meaning().is_empty());
        }
        assert_eq!(FailureKind::named("assertion"), None);
    }
}
