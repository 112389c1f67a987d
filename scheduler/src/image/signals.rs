//! What the program has its process do on signals. The kernel keeps that, from one execution to the next.

use super::part::{Extent, Owner, Part, Visitor};
use libc::c_int;
use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Number of signals. They count from 1.
const SIGNALS: usize = 64;

/// One bit for each signal whose action the program has set in this execution.
#[unsafe(link_section = ".dpor.data")]
static SET: AtomicU64 = AtomicU64::new(0);

/// What is done on a signal, as the kernel has it (`struct kernel_sigaction`). The C library's functions would change
/// it: one that they set differs from one that nobody has set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub(crate) struct Action {
    handler: usize,
    flags: usize,
    restorer: usize,
    /// The signals that are blocked meanwhile.
    mask: u64,
}

impl Action {
    const NONE: Action = Action {
        handler: 0,
        flags: 0,
        restorer: 0,
        mask: 0,
    };
}

struct Originals(UnsafeCell<[Action; SIGNALS]>);

// SAFETY: only the model's OS thread touches it.
unsafe impl Sync for Originals {}

/// The actions of these signals before the program has set them.
#[unsafe(link_section = ".dpor.bss")]
static ORIGINALS: Originals = Originals(UnsafeCell::new([Action::NONE; SIGNALS]));

/// The bit of a signal, if there is one of that number.
fn bit_of(signal: c_int) -> Option<u64> {
    let number = usize::try_from(signal).ok()?.checked_sub(1)?;
    (number < SIGNALS).then(|| 1 << number)
}

/// The signals that belong to these bits.
fn signals(bits: u64) -> impl Iterator<Item = c_int> + Clone {
    (1..=SIGNALS as c_int).filter(move |signal| bits & (1 << (signal - 1)) != 0)
}

/// Asks the kernel for the action of a signal, and sets it if there is a new one. Says whether there is such a signal.
///
/// # Safety
/// The new action was that of this signal in this process.
unsafe fn exchange(signal: c_int, new: *const Action, old: *mut Action) -> bool {
    // SAFETY: the caller's promise; both are as the kernel has them.
    unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, new, old, size_of::<u64>()) == 0 }
}

/// The present action of a signal. `None` if the kernel tells of none.
fn action(signal: c_int) -> Option<Action> {
    let mut action = Action::NONE;
    // SAFETY: nothing is set.
    unsafe { exchange(signal, ptr::null(), &mut action) }.then_some(action)
}

/// Sets an action that the signal had before.
///
/// # Safety
/// The action was that of this signal in this process.
unsafe fn set(signal: c_int, action: &Action) {
    // SAFETY: the caller's promise. It cannot fail, as it did not the time before.
    unsafe { exchange(signal, action, ptr::null_mut()) };
}

/// The program is about to set the action of a signal. Called on the model's OS thread.
pub(crate) fn will_set(signal: c_int) {
    let Some(bit) = bit_of(signal) else { return };
    if SET.load(Relaxed) & bit == 0
        && let Some(action) = action(signal)
    {
        // SAFETY: only the model's OS thread comes here, and no borrow is alive.
        unsafe { (*ORIGINALS.0.get())[signal as usize - 1] = action };
        SET.fetch_or(bit, Relaxed);
    }
}

/// The actions that the program has set, as a part of the state.
///
/// Deliberately absent: which signals are blocked or pending. A test process has one thread of the operating system for
/// the model, which nobody sends signals but the program itself, and these are delivered at once.
pub(crate) struct SignalActions;

impl SignalActions {
    /// Sets all actions back.
    fn restore(&self) {
        for signal in signals(SET.swap(0, Relaxed)) {
            // SAFETY: only the model's OS thread comes here; the bit says that the action was this signal's.
            unsafe { set(signal, &(*ORIGINALS.0.get())[signal as usize - 1]) };
        }
    }
}

impl Part for SignalActions {
    type Saved = Vec<(c_int, Action)>;

    unsafe fn reset(&mut self) {
        self.restore();
    }

    fn visit(&self, _: Extent, visitor: &mut impl Visitor) {
        let set = SET.load(Relaxed);
        visitor.number(Owner::Program, "signals whose actions were set", set);
        for action in signals(set).filter_map(action) {
            visitor.numbers(
                Owner::Program,
                [
                    ("signal handler", action.handler as u64),
                    ("flags of a signal handler", action.flags as u64),
                    ("signals that a signal handler blocks", action.mask),
                ],
            );
        }
    }

    unsafe fn save(&self, saved: &mut Self::Saved, _: &mut Vec<u8>) {
        saved.clear();
        let set = signals(SET.load(Relaxed));
        saved.extend(set.filter_map(|signal| Some((signal, action(signal)?))));
    }

    unsafe fn load(&mut self, saved: &Self::Saved, _: &mut &[u8]) {
        self.restore();
        for (signal, action) in saved {
            will_set(*signal);
            // SAFETY: it was this signal's when it was saved, in this process.
            unsafe { set(*signal, action) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Mutex, PoisonError};

    /// Signals belong to the whole process.
    static TURN: Mutex<()> = Mutex::new(());

    extern "C" fn first(_: c_int) {}
    extern "C" fn second(_: c_int) {}

    fn handle(signal: c_int, handler: extern "C" fn(c_int)) {
        will_set(signal);
        // SAFETY: the handler does nothing.
        unsafe { libc::signal(signal, handler as *const () as usize) };
    }

    #[test]
    fn actions_go_back_to_what_they_were() {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let before = [libc::SIGUSR1, libc::SIGUSR2].map(action);
        let mut part = SignalActions;
        handle(libc::SIGUSR1, first);
        let mut saved = Vec::new();
        // SAFETY: no model runs here, and no other test sets these.
        unsafe {
            part.save(&mut saved, &mut Vec::new());
            handle(libc::SIGUSR1, second);
            handle(libc::SIGUSR2, second);
            part.load(&saved, &mut &[][..]);
        }
        let handler = action(libc::SIGUSR1).map(|action| action.handler);
        assert_eq!(handler, Some(first as *const () as usize));
        assert_eq!(action(libc::SIGUSR2), before[1]);
        // SAFETY: as before.
        unsafe { part.reset() };
        assert_eq!([libc::SIGUSR1, libc::SIGUSR2].map(action), before);
        assert_eq!(SET.load(Relaxed), 0);
    }

    #[test]
    fn there_are_sixty_four_signals() {
        assert_eq!([-1, 0, 65].map(bit_of), [None; 3]);
        assert_eq!([1, 64].map(bit_of), [Some(1), Some(1 << 63)]);
        assert_eq!(signals(1 | 1 << 63).collect::<Vec<_>>(), [1, 64]);
        will_set(0);
        will_set(1000);
    }
}
