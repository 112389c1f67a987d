//! An account that can be shared.

use crossbeam_utils::CachePadded;
use mixed_derive::Named;
use std::sync::atomic::{AtomicU32, Ordering};

/// Money of several threads.
///
/// ```
/// let account = mixed_bank::Account::with(3);
/// assert!(account.take(2) && !account.take(2));
/// ```
#[derive(Debug, Named)]
pub struct Account {
    balance: CachePadded<AtomicU32>,
}

impl Account {
    /// An account with this balance.
    pub fn with(balance: u32) -> Account {
        Account {
            balance: CachePadded::new(AtomicU32::new(balance)),
        }
    }

    /// The balance of the account.
    pub fn balance(&self) -> u32 {
        self.balance.load(Ordering::SeqCst)
    }

    /// Puts money on it.
    pub fn put(&self, amount: u32) {
        self.balance.fetch_add(amount, Ordering::SeqCst);
    }

    /// Takes money from the account, if there is enough.
    pub fn take(&self, amount: u32) -> bool {
        let less = |balance: u32| balance.checked_sub(amount);
        self.balance
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
            .is_ok()
    }

    /// Takes money from the account after an insufficient check of the balance.
    pub fn take_hastily(&self, amount: u32) -> bool {
        let enough = self.balance() >= amount;
        if enough {
            self.balance.fetch_sub(amount, Ordering::SeqCst);
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossbeam_utils::thread;
    use rstest::{fixture, rstest};

    #[fixture]
    fn account() -> Account {
        Account::with(1)
    }

    #[rstest]
    fn the_name_is_derived(account: Account) {
        assert_eq!(Account::name(), "Account");
        drop(account);
    }

    #[rstest]
    #[case::together(1, 1)]
    #[case::one_by_one(1, 2)]
    fn deposits_are_added(account: Account, #[case] first: u32, #[case] second: u32) {
        thread::scope(|scope| {
            scope.spawn(|_| account.put(first));
            scope.spawn(|_| account.put(second));
        })
        .unwrap();
        assert_eq!(account.balance(), 1 + first + second);
    }

    #[rstest]
    fn one_of_two_can_take_all(account: Account) {
        let taken = thread::scope(|scope| {
            let takers = [(); 2].map(|()| scope.spawn(|_| account.take(1)));
            takers.map(|taker| taker.join().unwrap())
        })
        .unwrap();
        assert!(taken[0] != taken[1]);
    }

    #[rstest]
    fn one_of_two_hasty_ones_can_take_all(account: Account) {
        let taken = thread::scope(|scope| {
            let takers = [(); 2].map(|()| scope.spawn(|_| account.take_hastily(1)));
            takers.map(|taker| taker.join().unwrap())
        })
        .unwrap();
        assert!(taken[0] != taken[1], "both have got the money");
    }
}
