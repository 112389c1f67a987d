//! What an execution leaves for others to read: it decides nothing of how the program goes on.

use crate::image::part::{Extent, Part, Visitor};
use dpor_explorer::ThreadId;

/// The stream that output goes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// A piece of output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Output {
    /// Its stream.
    pub stream: Stream,
    /// The thread that wrote it.
    pub thread: ThreadId,
    /// The text.
    pub text: String,
}

/// A list that only grows during an execution.
pub(crate) struct Log<T>(pub Vec<T>);

impl<T> Default for Log<T> {
    fn default() -> Log<T> {
        Log(Vec::new())
    }
}

impl<T> Part for Log<T> {
    /// The length.
    type Saved = usize;

    unsafe fn reset(&mut self) {
        self.0.clear();
    }

    fn visit(&self, _: Extent, _: &mut impl Visitor) {}

    unsafe fn save(&self, saved: &mut usize, _: &mut Vec<u8>) {
        *saved = self.0.len();
    }

    unsafe fn load(&mut self, saved: &usize, _: &mut &[u8]) {
        self.0.truncate(*saved);
    }
}

/// A value that changes during an execution.
#[derive(Default)]
pub(crate) struct Unseen<T>(pub T);

impl<T: Clone + Default> Part for Unseen<T> {
    type Saved = T;

    unsafe fn reset(&mut self) {
        self.0 = T::default();
    }

    fn visit(&self, _: Extent, _: &mut impl Visitor) {}

    unsafe fn save(&self, saved: &mut T, _: &mut Vec<u8>) {
        saved.clone_from(&self.0);
    }

    unsafe fn load(&mut self, saved: &T, _: &mut &[u8]) {
        self.0.clone_from(saved);
    }
}
