//! Options for the behaviour of the explored program's environment.

/// Nondeterminism of the environment that is explored only on request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// `Condvar::wait` and `park` may return without a wake-up.
    pub spurious_wakeups: bool,
    /// `compare_exchange_weak` may fail although the values are equal.
    pub spurious_cas: bool,
}
