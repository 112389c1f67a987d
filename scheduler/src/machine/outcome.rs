//! How an execution has ended.

use crate::image::part::{Extent, Owner, Part, Visitor};
use dpor_explorer::Failure;

/// How the execution has ended for the main thread.
#[derive(Default)]
pub(crate) struct Outcome {
    /// The result of the main thread, once it has ended.
    pub of_main: Option<Result<(), Failure>>,
}

impl Part for Outcome {
    type Saved = Option<Result<(), Failure>>;

    unsafe fn reset(&mut self) {
        self.of_main = None;
    }

    fn visit(&self, _: Extent, visitor: &mut impl Visitor) {
        let owner = Owner::Program;
        match &self.of_main {
            None => visitor.number(owner, "main thread's result", 0),
            Some(Ok(())) => visitor.number(owner, "main thread's result", 1),
            Some(Err(failure)) => {
                visitor.number(owner, "main thread's result", 2);
                visitor.bytes(owner, "main thread's failure", failure.kind.as_bytes());
                visitor.bytes(owner, "main thread's failure", failure.message.as_bytes());
            }
        }
    }

    unsafe fn save(&self, saved: &mut Self::Saved, _: &mut Vec<u8>) {
        saved.clone_from(&self.of_main);
    }

    unsafe fn load(&mut self, saved: &Self::Saved, _: &mut &[u8]) {
        self.of_main.clone_from(saved);
    }
}
