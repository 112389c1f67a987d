//! Integers that guards depend on, kept inside the objects that they describe.

use crate::runtime;
use dpor_explorer::{Effect, Variable};
use std::sync::atomic::{AtomicI64, Ordering};

/// An integer that guards depend on. As a [`Variable`] it is named by its address, so it must stay where it
/// is while an operation that names it is pending.
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

    /// Sets the value; on a model thread also notes the change in the current step.
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

    /// The name under which guards know this word.
    #[inline]
    pub fn variable(&self) -> Variable {
        Variable(std::ptr::from_ref(self).expose_provenance() as u64)
    }

    /// The value of the word that the variable names.
    #[inline]
    pub(crate) fn value_of(variable: Variable) -> i64 {
        let word = std::ptr::with_exposed_provenance::<AtomicI64>(variable.0 as usize);
        // SAFETY: variables are made by `variable` only, and name a word of an operation that is pending or
        // was part of this execution: memory of the explored program, which stays mapped until the next
        // execution and is written only by this thread while we read.
        unsafe { &*word }.load(Ordering::Relaxed)
    }
}
