//! Dining philosophers: each needs the two forks beside them.

use std::sync::{Condvar, Mutex};

/// A round table with `N` forks; philosopher `i` sits between forks `i` and `i + 1`.
pub struct Table<const N: usize> {
    forks: [Mutex<u32>; N],
    seats: Mutex<usize>,
    left: Condvar,
}

impl<const N: usize> Default for Table<N> {
    fn default() -> Self {
        Table {
            forks: [const { Mutex::new(0) }; N],
            seats: Mutex::new(N - 1),
            left: Condvar::new(),
        }
    }
}

impl<const N: usize> Table<N> {
    fn eat(&self, first: usize, second: usize) {
        let mut first = self.forks[first].lock().expect("not poisoned");
        let mut second = self.forks[second].lock().expect("not poisoned");
        *first += 1;
        *second += 1;
    }

    /// Wrong: all take the left fork first.
    pub fn dine_left_first(&self, i: usize) {
        self.eat(i, (i + 1) % N);
    }

    /// Takes the fork with the lower number first.
    pub fn dine_ordered(&self, i: usize) {
        let (left, right) = (i, (i + 1) % N);
        self.eat(left.min(right), left.max(right));
    }

    /// Takes the left fork and goes hungry if the right one is taken. Says whether it has eaten.
    pub fn dine_politely(&self, i: usize) -> bool {
        let mut left = self.forks[i].lock().expect("not poisoned");
        let Ok(mut right) = self.forks[(i + 1) % N].try_lock() else {
            return false;
        };
        *left += 1;
        *right += 1;
        true
    }

    /// Lets at most `N - 1` philosophers sit down at a time.
    pub fn dine_with_waiter(&self, i: usize) {
        let seats = self.seats.lock().expect("not poisoned");
        *self.left.wait_while(seats, |seats| *seats == 0).expect("not poisoned") -= 1;
        self.eat(i, (i + 1) % N);
        *self.seats.lock().expect("not poisoned") += 1;
        self.left.notify_one();
    }

    /// Number of uses of all forks.
    pub fn uses(&self) -> u32 {
        self.forks.iter().map(|fork| *fork.lock().expect("not poisoned")).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads;
    use std::sync::Arc;

    #[test]
    fn right_ordered() {
        let table = Arc::new(Table::<3>::default());
        threads::run(3, &table, |table, i| table.dine_ordered(i));
        assert_eq!(table.uses(), 6);
    }

    #[test]
    fn right_polite() {
        let table = Arc::new(Table::<3>::default());
        let ate = threads::run(3, &table, |table, i| table.dine_politely(i));
        assert_eq!(table.uses(), 2 * ate.iter().filter(|ate| **ate).count() as u32);
    }

    #[test]
    fn right_waiter() {
        let table = Arc::new(Table::<2>::default());
        threads::run(2, &table, |table, i| table.dine_with_waiter(i));
        assert_eq!(table.uses(), 4);
    }

    #[test]
    fn wrong_left_first() {
        let table = Arc::new(Table::<3>::default());
        threads::run(3, &table, |table, i| table.dine_left_first(i));
    }

    #[test]
    fn wrong_somebody_always_eats() {
        let table = Arc::new(Table::<2>::default());
        let ate = threads::run(2, &table, |table, i| table.dine_politely(i));
        assert!(ate.contains(&true), "all went hungry");
    }
}
