//! AB-BA: two threads take two locks, in one order or in two.

use std::sync::{Mutex, RwLock};

/// Two accounts with a lock each.
#[derive(Default)]
pub struct Accounts {
    /// The first.
    pub a: Mutex<i64>,
    /// The second.
    pub b: Mutex<i64>,
}

impl Accounts {
    /// Moves an amount from `a` to `b`; takes `a` first.
    pub fn a_to_b(&self, amount: i64) {
        let mut a = self.a.lock().expect("not poisoned");
        let mut b = self.b.lock().expect("not poisoned");
        *a -= amount;
        *b += amount;
    }

    /// Moves an amount from `b` to `a`; takes `a` first, too.
    pub fn b_to_a(&self, amount: i64) {
        self.a_to_b(-amount);
    }

    /// Wrong beside the others: takes `b` first.
    pub fn b_to_a_other_order(&self, amount: i64) {
        let mut b = self.b.lock().expect("not poisoned");
        let mut a = self.a.lock().expect("not poisoned");
        *b -= amount;
        *a += amount;
    }
}

/// Takes the first lock to write and the second to read.
pub fn copy(from: &RwLock<i64>, to: &RwLock<i64>) {
    let mut to = to.write().expect("not poisoned");
    *to = *from.read().expect("not poisoned");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads;
    use std::sync::Arc;

    #[test]
    fn right_one_order() {
        let accounts = Arc::new(Accounts::default());
        threads::run(2, &accounts, |accounts, i| {
            if i == 0 { accounts.a_to_b(5) } else { accounts.b_to_a(3) }
        });
        assert_eq!((*accounts.a.lock().unwrap(), *accounts.b.lock().unwrap()), (-2, 2));
    }

    #[test]
    fn right_never_together() {
        let accounts = Arc::new(Accounts::default());
        threads::run(2, &accounts, |accounts, i| {
            let (first, second) = if i == 0 {
                (&accounts.a, &accounts.b)
            } else {
                (&accounts.b, &accounts.a)
            };
            *first.lock().unwrap() -= 1;
            *second.lock().unwrap() += 1;
        });
        assert_eq!((*accounts.a.lock().unwrap(), *accounts.b.lock().unwrap()), (0, 0));
    }

    #[test]
    fn wrong_two_orders() {
        let accounts = Arc::new(Accounts::default());
        threads::run(2, &accounts, |accounts, i| {
            if i == 0 {
                accounts.a_to_b(5)
            } else {
                accounts.b_to_a_other_order(3)
            }
        });
    }

    #[test]
    fn wrong_read_write_locks() {
        let pair = Arc::new((RwLock::new(1), RwLock::new(2)));
        threads::run(2, &pair, |pair, i| {
            if i == 0 {
                copy(&pair.0, &pair.1)
            } else {
                copy(&pair.1, &pair.0)
            }
        });
    }
}
