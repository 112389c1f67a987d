//! What the program has its process do on signals, which is part of its state.

use super::interposed;
use crate::image::arena::in_program;
use crate::image::signals;
use libc::{c_int, c_long};

/// Notes that the program is about to set the action of a signal, if it `sets` one.
pub(super) fn called(signal: usize, sets: bool) -> Option<c_long> {
    if sets && in_program() {
        signals::will_set(signal as c_int);
    }
    None
}

interposed! {
    sigaction(signal, action, before) => called(signal, action != 0);
    signal(signal, handler) => called(signal, true);
}
