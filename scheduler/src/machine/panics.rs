//! What is known of panics of the explored program.

use crate::image::part::{Extent, Owner, Part, Visitor};
use std::mem;
use std::panic::PanicHookInfo;

/// A panic of the explored program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PanicRecord {
    /// The message.
    pub message: String,
    /// The file, line and column at which it happened.
    pub location: Option<(String, u32, u32)>,
}

/// A panic hook, as std has it.
pub type Hook = Box<HookFunction>;

pub(crate) type HookFunction = dyn Fn(&PanicHookInfo<'_>) + Send + Sync + 'static;

/// The panic hook that the program has set. It lives in the program's memory.
#[derive(Default)]
pub(crate) struct PanicHook(pub Option<Hook>);

impl Part for PanicHook {
    type Saved = ();

    unsafe fn reset(&mut self) {
        // Not dropped: the memory that it lives in goes away, or has gone.
        mem::forget(self.0.take());
    }

    fn visit(&self, _: Extent, visitor: &mut impl Visitor) {
        // The hook itself is in the program's memory.
        let (hook, functions) = self.0.as_ref().map_or((0, 0), |hook| {
            // SAFETY: a reference to a trait object is the address of its data and that of its functions.
            unsafe { mem::transmute::<&HookFunction, (usize, usize)>(&**hook) }
        });
        visitor.number(Owner::Program, "panic hook", hook as u64);
        visitor.number(Owner::Program, "functions of the panic hook", functions as u64);
    }

    // A state with a hook is not saved.
    unsafe fn save(&self, (): &mut (), _: &mut Vec<u8>) {
        debug_assert!(self.0.is_none());
    }

    unsafe fn load(&mut self, (): &(), _: &mut &[u8]) {
        // SAFETY: the caller's promise.
        unsafe { self.reset() };
    }
}
