//! What tests over generated programs have in common.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use std::fmt::Display;
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Number of steps after which it is another thread's turn, for the first time: so few that turns change in small
/// programs.
pub const QUANTUM: NonZeroUsize = NonZeroUsize::new(2).unwrap();

/// Lets one test of an executable run at a time. Its statics are part of a model's state, proptest's among them;
/// another test would change them between two steps.
pub fn alone() -> MutexGuard<'static, ()> {
    // Where statics stay as they are: it is waited for while a model runs.
    // SAFETY: the section holds what its statics put there, and is writable like `.data`.
    #[unsafe(link_section = ".dpor.data")]
    static RUNNING: Mutex<()> = Mutex::new(());
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number in an environment variable, or `default` if it is not set.
///
/// # Panics
///
/// If it is set to something else.
pub fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| {
        value.parse().unwrap_or_else(|_| panic!("{name} must be a number"))
    })
}

/// Generates programs until one shows a fault that was put in on purpose, and returns what was wrong with it. `judge`
/// runs a program, with the fault or without it.
///
/// # Panics
///
/// If none of `budget` programs shows the fault, or one is wrong without it.
#[track_caller]
pub fn first_caught<P: Strategy<Value: Display>, W: Display>(
    fault: &str,
    budget: u32,
    programs: &P,
    judge: impl Fn(&P::Value, bool) -> Result<(), W>,
) -> W {
    let mut runner = TestRunner::deterministic();
    for count in 1..=budget {
        let program = programs
            .new_tree(&mut runner)
            .expect("programs can always be generated")
            .current();
        if let Err(wrong) = judge(&program, true) {
            println!("{fault} is caught by program {count} of {budget}:\n{program}{wrong}");
            assert!(judge(&program, false).is_ok(), "nothing else is wrong with it");
            return wrong;
        }
    }
    panic!("{fault} is not caught within {budget} programs");
}
