//! Systems of any type as one type, so that the explorer is compiled once for all of them.

use dpor_explorer::{Layer, Rewindable, Step, Stop, System, Transition};
use std::any::Any;

/// A system whose type is known when it runs.
trait Dynamic: System + Any {}

impl<S: System + Any> Dynamic for S {}

/// A system of whatever type.
pub struct Erased(Box<dyn Dynamic>);

impl Erased {
    /// Hides the type of a system.
    pub fn new(system: impl System + Any) -> Erased {
        Erased(Box::new(system))
    }

    /// The system by its type.
    ///
    /// # Panics
    /// If it is of another one.
    pub fn get<S: System + Any>(&mut self) -> &mut S {
        let system: &mut dyn Any = &mut *self.0;
        system.downcast_mut().expect("it is a system of this type")
    }
}

impl Layer for Erased {
    type Inner = dyn System;

    #[inline]
    fn inner(&self) -> &(dyn System + 'static) {
        &*self.0
    }

    #[inline]
    fn inner_mut(&mut self) -> &mut (dyn System + 'static) {
        &mut *self.0
    }

    #[inline]
    fn step(&mut self, transition: Transition, step: &mut Step) -> Result<(), Stop> {
        self.0.step(transition, step)
    }

    #[inline]
    fn repeat(&mut self, transition: Transition, scratch: &mut Step) -> Result<Option<u64>, Stop> {
        self.0.repeat(transition, scratch)
    }

    #[inline]
    fn rewindable(&mut self) -> Option<&mut dyn Rewindable> {
        self.0.rewindable()
    }
}
