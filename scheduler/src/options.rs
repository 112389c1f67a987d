//! What the explored program's environment may do.

/// Nondeterminism of the environment that is explored only on demand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// `Condvar::wait` and `park` may return without having been woken.
    pub spurious_wakeups: bool,
    /// `compare_exchange_weak` may fail although the values are equal.
    pub spurious_cas: bool,
}
