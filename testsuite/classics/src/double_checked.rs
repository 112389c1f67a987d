//! Double-checked initialisation: look without the lock, then once more with it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

/// A value that the first caller computes.
#[derive(Default)]
pub struct Lazy {
    ready: AtomicBool,
    value: AtomicU32,
    computed: AtomicU32,
    lock: Mutex<()>,
}

impl Lazy {
    fn compute(&self) -> u32 {
        self.computed.fetch_add(1, SeqCst);
        42
    }

    /// Number of times that the value was computed.
    pub fn computed(&self) -> u32 {
        self.computed.load(SeqCst)
    }

    /// The value.
    pub fn get(&self) -> u32 {
        if !self.ready.load(SeqCst) {
            let _guard = self.lock.lock().expect("not poisoned");
            if !self.ready.load(SeqCst) {
                self.value.store(self.compute(), SeqCst);
                self.ready.store(true, SeqCst);
            }
        }
        self.value.load(SeqCst)
    }

    /// Wrong: announces the value before it is there.
    pub fn get_ready_first(&self) -> u32 {
        if !self.ready.load(SeqCst) {
            let _guard = self.lock.lock().expect("not poisoned");
            if !self.ready.load(SeqCst) {
                self.ready.store(true, SeqCst);
                self.value.store(self.compute(), SeqCst);
            }
        }
        self.value.load(SeqCst)
    }

    /// Wrong: does not look again once it has the lock.
    pub fn get_single_check(&self) -> u32 {
        if !self.ready.load(SeqCst) {
            let _guard = self.lock.lock().expect("not poisoned");
            self.value.store(self.compute(), SeqCst);
            self.ready.store(true, SeqCst);
        }
        self.value.load(SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads;
    use std::sync::{Arc, OnceLock};

    #[test]
    fn right_double_check() {
        let lazy = Arc::new(Lazy::default());
        assert_eq!(threads::run(2, &lazy, |lazy, _| lazy.get()), [42, 42]);
        assert_eq!(lazy.computed(), 1);
    }

    #[test]
    fn right_once_lock() {
        let cell = Arc::new((OnceLock::new(), AtomicU32::new(0)));
        let values = threads::run(3, &cell, |(cell, computed), _| {
            *cell.get_or_init(|| {
                computed.fetch_add(1, SeqCst);
                42
            })
        });
        assert_eq!(values, [42, 42, 42]);
        assert_eq!(cell.1.load(SeqCst), 1);
    }

    #[test]
    fn wrong_ready_first() {
        let lazy = Arc::new(Lazy::default());
        assert_eq!(threads::run(2, &lazy, |lazy, _| lazy.get_ready_first()), [42, 42]);
    }

    #[test]
    fn wrong_single_check() {
        let lazy = Arc::new(Lazy::default());
        assert_eq!(threads::run(2, &lazy, |lazy, _| lazy.get_single_check()), [42, 42]);
        assert_eq!(lazy.computed(), 1);
    }
}
