//! What an execution leaves for others to read: it grows, and decides nothing of how the program goes on.

use crate::image::part::{Extent, Part, Visitor};
use dpor_explorer::{BitSet, ThreadId};

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

/// The labels that the execution has reached, by their numbers.
#[derive(Default)]
pub(crate) struct Reached {
    pub labels: BitSet,
}

impl Part for Reached {
    type Saved = BitSet;

    unsafe fn reset(&mut self) {
        self.labels.clear();
    }

    fn visit(&self, _: Extent, _: &mut impl Visitor) {}

    unsafe fn save(&self, saved: &mut BitSet, _: &mut Vec<u8>) {
        saved.clone_from(&self.labels);
    }

    unsafe fn load(&mut self, saved: &BitSet, _: &mut &[u8]) {
        self.labels.clone_from(saved);
    }
}

/// Number of steps begun in the execution. How much of an execution lies behind decides nothing.
#[derive(Default)]
pub(crate) struct Length(pub u32);

impl Part for Length {
    type Saved = u32;

    unsafe fn reset(&mut self) {
        self.0 = 0;
    }

    fn visit(&self, _: Extent, _: &mut impl Visitor) {}

    unsafe fn save(&self, saved: &mut u32, _: &mut Vec<u8>) {
        *saved = self.0;
    }

    unsafe fn load(&mut self, saved: &u32, _: &mut &[u8]) {
        self.0 = *saved;
    }
}
