//! Integers that guards depend on, kept inside the objects that they describe.

use super::effect;
use crate::operation::{location, sub_location};
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
            effect(Effect {
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
            effect(Effect {
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
