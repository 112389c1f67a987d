//! The parts of an execution's state, and the walks over them.
//!
//! A restart, a fingerprint, the difference of two states and a saved state all have to cover the same state. They do,
//! because each walks over the same list of parts (`machine::execution`), and each part says in one place how it goes
//! back to its initial contents, what of it decides how the program goes on, and how it is saved.
//!
//! Invariant: an execution that goes on from a loaded state is, byte for byte, the one that goes on after the steps
//! that led to the saved one.

use dpor_explorer::ThreadId;
use std::ops::Range;
use std::time::Duration;

/// The owner of a piece of the state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Owner {
    Program,
    Thread(ThreadId),
}

/// The kind of a piece of memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Memory {
    Stack,
    Heap,
    Statics,
}

/// Sees the pieces of a state, always in the same order.
pub(crate) trait Visitor {
    fn number(&mut self, owner: Owner, name: &'static str, number: u64);

    fn bytes(&mut self, owner: Owner, name: &'static str, bytes: &[u8]);

    /// # Safety
    /// The bytes can be read, and nobody writes them meanwhile.
    unsafe fn memory(&mut self, owner: Owner, memory: Memory, range: Range<usize>);

    /// Sees numbers of one owner.
    #[inline]
    fn numbers<const N: usize>(&mut self, owner: Owner, numbers: [(&'static str, u64); N]) {
        for (name, number) in numbers {
            self.number(owner, name, number);
        }
    }
}

/// Shows a list: its length and its items.
pub(crate) fn list(
    name: &'static str,
    items: impl Iterator<Item = u64> + Clone,
    add: &mut impl FnMut(&'static str, u64),
) {
    add(name, items.clone().count() as u64);
    items.for_each(|item| add(name, item));
}

/// What counts as state in a walk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// The least time of the threads that are alive: none of them takes over one that is no later. `None` if nobody can
    /// tell the time, as long as nobody has asked for it: all clocks stand still then.
    pub time: Option<Duration>,
    /// Whether threads' questions for the time count even if the time does not.
    pub questions: bool,
    /// Whether it counts what threads know of each other's accesses, or is told apart.
    pub knowledge: bool,
    /// Whether stacks count. Only seeded faults leave them out.
    pub stacks: bool,
}

/// A part of an execution's state.
pub(crate) trait Part {
    /// What is kept of the part in a saved state, besides bytes. It is reused for later states.
    type Saved: Default;

    /// Goes to the contents at the start of an execution.
    ///
    /// # Safety
    /// No thread of the program runs, or will go on, the caller is the model's OS thread, and nobody uses what the
    /// program has left in its memory.
    unsafe fn reset(&mut self);

    /// Shows all that decides how the program goes on.
    fn visit(&self, extent: Extent, visitor: &mut impl Visitor);

    /// Number of bytes that [`Part::save`] adds, or fewer where that takes long to tell.
    fn size(&self) -> usize {
        0
    }

    /// Saves the present contents, in `saved` and by adding to `bytes`.
    ///
    /// # Safety
    /// No thread of the program runs, and the caller is the model's OS thread.
    unsafe fn save(&self, saved: &mut Self::Saved, bytes: &mut Vec<u8>);

    /// Goes to saved contents, and takes its bytes from the front of `bytes`.
    ///
    /// # Safety
    /// That of [`Part::reset`]; the contents were saved from this part, in this process.
    unsafe fn load(&mut self, saved: &Self::Saved, bytes: &mut &[u8]);
}

/// Adds a copy of memory.
///
/// # Safety
/// The range is readable, and nobody writes there meanwhile.
pub(crate) unsafe fn copy(bytes: &mut Vec<u8>, range: Range<usize>) {
    // SAFETY: the caller's promise.
    bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(range.start as *const u8, range.len()) });
}

/// Copies the next bytes back to their place.
///
/// # Safety
/// The range is writable, nobody uses it meanwhile, and nobody has a reference into it that the change would break.
pub(crate) unsafe fn copy_back(bytes: &mut &[u8], range: Range<usize>) {
    let (now, rest) = bytes.split_at(range.len());
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(now.as_ptr(), range.start as *mut u8, now.len()) };
    *bytes = rest;
}

/// The error number of the C library, which all threads of the program share, as it is a thread-local of the OS thread
/// and none of the executable.
pub(crate) struct Errno;

impl Errno {
    fn place() -> *mut i32 {
        // SAFETY: gives the address of the calling thread's number.
        unsafe { libc::__errno_location() }
    }
}

impl Part for Errno {
    type Saved = i32;

    // What an execution begins with is what the one before has left: the number is looked at after calls that set it.
    unsafe fn reset(&mut self) {}

    // For the same reason.
    fn visit(&self, _: Extent, _: &mut impl Visitor) {}

    unsafe fn save(&self, saved: &mut i32, _: &mut Vec<u8>) {
        // SAFETY: the number is this thread's.
        *saved = unsafe { *Self::place() };
    }

    unsafe fn load(&mut self, saved: &i32, _: &mut &[u8]) {
        // SAFETY: the number is this thread's.
        unsafe { *Self::place() = *saved };
    }
}
