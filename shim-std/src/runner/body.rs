//! The function that the main thread of a model runs.

use crate::thread::{finish_thread, set_main_name};
use dpor_explorer::Failure;
use dpor_protocol::FailureKind;
use dpor_scheduler::failure;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::{ExitCode, Termination};

/// A test's body, and its expected result.
pub(crate) struct Body {
    name: String,
    /// Whether the test must panic, perhaps with a message that contains this.
    should_panic: Option<Option<&'static str>>,
    test: Box<dyn Fn() -> ExitCode>,
}

impl Body {
    pub fn new<T: Termination>(
        name: String,
        should_panic: Option<Option<&'static str>>,
        test: impl Fn() -> T + 'static,
    ) -> Body {
        Body {
            name,
            should_panic,
            test: Box::new(move || test().report()),
        }
    }

    /// Runs the test on the main thread of a model.
    pub fn run(&self) -> Result<(), Failure> {
        set_main_name(Some(self.name.as_str().to_owned()));
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.test)()));
        finish_thread();
        match (outcome, self.should_panic) {
            (Ok(code), None) if code == ExitCode::SUCCESS => Ok(()),
            (Ok(_), None) => Err(failure(
                FailureKind::Error,
                "the test returned an error (its output shows which)",
            )),
            (Err(payload), None) => resume_unwind(payload),
            (Ok(_), Some(_)) => Err(failure(FailureKind::NoPanic, "the test did not panic as expected")),
            (Err(payload), Some(expected)) => {
                let message = payload
                    .downcast_ref::<&'static str>()
                    .copied()
                    .or_else(|| payload.downcast_ref::<String>().map(String::as_str));
                let as_expected = expected.is_none_or(|part| message.is_some_and(|message| message.contains(part)));
                let result = match expected {
                    Some(part) if !as_expected => Err(failure(
                        FailureKind::Panic,
                        format!(
                            "the test panicked, but with {message:?}, which does not contain the expected {part:?}"
                        ),
                    )),
                    _ => Ok(()),
                };
                // Its destructor is no part of the test.
                dpor_scheduler::hold(&raw const *payload);
                std::mem::forget(payload);
                result
            }
        }
    }
}
