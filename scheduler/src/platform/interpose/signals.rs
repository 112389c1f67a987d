//! What the program has its process do on signals, which is part of its state.

use super::interposed;
use crate::image::arena::in_program;
use crate::image::signals;
use libc::{c_int, c_long};

/// Notes that the program is about to set the action of a signal, if it gives one.
pub(super) fn sets(signal: usize, action: usize) -> Option<c_long> {
    if action != 0 && in_program() {
        signals::will_set(signal as c_int);
    }
    None
}

/// The same, for a function with which 0 is an action.
fn always_sets(signal: usize) -> Option<c_long> {
    if in_program() {
        signals::will_set(signal as c_int);
    }
    None
}

interposed! {
    sigaction(signal, action, before) => sets(signal, action);
    signal(signal, handler) => always_sets(signal);
}
