//! Integers that guards depend on, kept inside the objects that they describe.

use crate::operation::{location, sub_location};
use crate::{queue, runtime};
use dpor_explorer::{Effect, Location, Variable};
use std::sync::atomic::{AtomicI32, AtomicI64, Ordering};

/// An integer on which guards depend. As a [`Variable`] it is named by its address, so it must stay where it is while
/// an operation that names it is pending.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Word(AtomicI64);

impl Word {
    /// A word with this value.
    pub const fn new(value: i64) -> Word {
        Word(AtomicI64::new(value))
    }

    /// The value.
    #[inline]
    pub fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Sets the value; on a model thread also records the change in the current step.
    #[inline]
    pub fn set(&self, value: i64) {
        let before = self.get();
        self.0.store(value, Ordering::Relaxed);
        if before != value {
            runtime::effect(Effect {
                variable: self.variable(),
                before,
                after: value,
            });
        }
    }

    /// The variable by which guards name this word.
    #[inline]
    pub fn variable(&self) -> Variable {
        Variable(std::ptr::from_ref(self).expose_provenance() as u64)
    }

    /// The value of the word named by the variable.
    #[inline]
    pub(crate) fn value_of(variable: Variable) -> i64 {
        if variable.0 >> 48 != 0 {
            return tagged(variable);
        }
        let word = std::ptr::with_exposed_provenance::<AtomicI64>(variable.0 as usize);
        // SAFETY: variables are made by `variable` only, and name a word of an operation that is pending or
        // was part of this execution: memory of the explored program, which stays mapped until the next
        // execution and is written only by this thread while we read.
        unsafe { &*word }.load(Ordering::Relaxed)
    }
}

/// The value of a variable that is no [`Word`]: the length of a queue, or a [`HalfWord`].
#[cold]
fn tagged(variable: Variable) -> i64 {
    if let Some(queue) = queue::queue_of(variable) {
        return queue::length(queue);
    }
    let half = std::ptr::with_exposed_provenance::<AtomicI32>((variable.0 & 0xFFFF_FFFF_FFFF) as usize);
    // SAFETY: as in `Word::value_of`: else such variables are made by `HalfWord::variable` only.
    i64::from(unsafe { &*half }.load(Ordering::Relaxed))
}

/// A [`Word`] with room for only 32 bits.
#[repr(transparent)]
pub(crate) struct HalfWord(AtomicI32);

impl HalfWord {
    /// The part of the object that stands for its location and its variable.
    const PART: u64 = 0xF032;

    pub fn get(&self) -> i32 {
        self.0.load(Ordering::Relaxed)
    }

    pub fn set(&self, value: i32) {
        let before = self.0.swap(value, Ordering::Relaxed);
        if before != value {
            runtime::effect(Effect {
                variable: self.variable(),
                before: i64::from(before),
                after: i64::from(value),
            });
        }
    }

    pub fn location(&self) -> Location {
        sub_location(location(self), Self::PART)
    }

    pub fn variable(&self) -> Variable {
        std::ptr::from_ref(self).expose_provenance();
        Variable(self.location().0)
    }
}
