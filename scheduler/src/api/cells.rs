//! Plain accesses that the program tells of by itself: those to the cells of the explicit use, in which no compiler
//! tells of any.
//!
//! An access begins and ends, as a closure or a guard does, and other threads may run in between. It is judged at both,
//! as one to all bytes of the cell.
//!
//! Nobody looks for data races in the explicit use until a cell is accessed first. Exploration then starts again, with
//! data races looked for: so a program without cells is explored as if there were none. As long as nothing else tells
//! of accesses, what the real std orders is not known, such as the drops of its `Arc`. So the end of a cell's life, and
//! that of a block, is no access: both are forgotten.

use super::{of_model, on_model, on_model_thread, plain, stop, unsupported};
use crate::image::arena;
use dpor_explorer::Stop;
use std::panic::Location as Caller;
use std::sync::atomic::Ordering::Relaxed;

/// What an access may do to a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CellAccess {
    /// Read it.
    Read,
    /// Read and write it.
    Write,
}

impl CellAccess {
    fn code(self) -> usize {
        plain::OF_CELL
            | match self {
                CellAccess::Read => plain::READ,
                CellAccess::Write => plain::WRITE,
            }
    }
}

/// An access to a cell begins, at this place of the program. Does nothing off model threads.
#[inline]
pub fn begins<T: ?Sized>(cell: *const T, size: usize, access: CellAccess, place: &'static Caller<'static>) {
    tell(cell.addr(), size, access.code(), place);
}

/// The access ends that has [begun](begins) with the same arguments. The cell need not be there any more.
#[inline]
pub fn ends<T: ?Sized>(cell: *const T, size: usize, access: CellAccess, place: &'static Caller<'static>) {
    tell(cell.addr(), size, access.code() | plain::ENDS, place);
}

/// Nobody else uses the cell any more: what was done to it comes before what is done to its memory from now on. Does
/// nothing where all accesses are told of, and their order is known.
#[inline(never)]
pub fn forget<T: ?Sized>(cell: *const T, size: usize) {
    if size != 0 && on_model_thread() && plain::WATCHING.load(Relaxed) {
        // SAFETY: a model thread runs, so the region is reserved.
        unsafe { plain::judge_from_thread(cell.addr(), size, plain::FORGET, plain::UNKNOWN) };
    }
}

/// Hands an access on. In a function of its own, which leaves nothing in the frame of a loop.
#[inline(never)]
fn tell(address: usize, size: usize, kind: usize, place: &'static Caller<'static>) {
    if size == 0 || !on_model_thread() {
        return;
    }
    if plain::WATCHING.load(Relaxed) {
        // SAFETY: a model thread runs, so the region is reserved; the place is a `Location<'static>`.
        unsafe { plain::judge_from_thread(address, size, kind, std::ptr::from_ref(place).addr()) };
    } else if of_model(|machine| machine.execution.races.are_of_cells() && !machine.execution.races.is_on())
        && on_model(|machine| plain::is_shareable(&machine.session, address))
    {
        start_again_with_races();
    }
}

/// Has data races looked for from the start of exploration on.
#[cold]
fn start_again_with_races() -> ! {
    // What is only tried out is no reason: some execution comes to the same access.
    if !of_model(|machine| machine.execution.watch.trying_out) {
        if !on_model(|machine| machine.execution.races.switch_on_later().is_ok()) {
            unsupported("there is no room for what looking for data races takes");
        }
        arena::set_use_hook(Some(plain::heap));
    }
    stop(Stop::Refine)
}
