//! The files that the program has open for reading. The checker does not see how far it has read them.

use super::part::{Extent, Part, Visitor};
use libc::c_long;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One bit for each descriptor.
#[unsafe(link_section = ".dpor.data")]
static OPEN: [AtomicU64; 16] = [const { AtomicU64::new(0) }; 16];

/// Says whether the program has a file open, so that the checker does not see its state until it closes it.
pub(crate) fn are_open() -> bool {
    OPEN.iter().any(|descriptors| descriptors.load(Relaxed) != 0)
}

/// The word and the bit of a descriptor, if it has one.
pub(crate) fn bit_of(descriptor: c_long) -> Option<(&'static AtomicU64, u64)> {
    let descriptor = usize::try_from(descriptor).ok()?;
    Some((OPEN.get(descriptor / 64)?, 1 << (descriptor % 64)))
}

/// The open files as a part of the state.
///
/// Deliberately absent: what is in them, and how far they have been read. A state with open files is neither compared
/// nor saved.
pub(crate) struct OpenFiles;

impl OpenFiles {
    fn forget(&self) {
        OPEN.iter().for_each(|descriptors| descriptors.store(0, Relaxed));
    }
}

impl Part for OpenFiles {
    type Saved = ();

    unsafe fn reset(&mut self) {
        self.forget();
    }

    fn visit(&self, _: Extent, _: &mut impl Visitor) {}

    unsafe fn save(&self, (): &mut (), _: &mut Vec<u8>) {}

    unsafe fn load(&mut self, (): &(), _: &mut &[u8]) {
        self.forget();
    }
}
