//! A small bank.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// An account.
#[derive(Default)]
pub struct Account {
    balance: Mutex<i64>,
}

impl Account {
    /// An account with an initial balance.
    pub fn new(balance: i64) -> Account {
        Account {
            balance: Mutex::new(balance),
        }
    }

    /// The balance of the account.
    pub fn balance(&self) -> i64 {
        *self.balance.lock().unwrap()
    }
}

/// Accounts, and the number of transfers between them.
#[derive(Default)]
pub struct Bank {
    /// The accounts.
    pub accounts: Vec<Account>,
    transfers: AtomicU64,
}

impl Bank {
    /// A bank with two accounts.
    pub fn new(first: i64, second: i64) -> Bank {
        Bank {
            accounts: vec![Account::new(first), Account::new(second)],
            transfers: AtomicU64::new(0),
        }
    }

    /// Moves an amount from one account to another. The account with the lower number is always locked first.
    ///
    /// # Panics
    ///
    /// If there is no such account, or both are the same.
    pub fn transfer(&self, from: usize, to: usize, amount: i64) {
        assert_ne!(from, to);
        let (low, high) = (from.min(to), from.max(to));
        let mut low_balance = self.accounts[low].balance.lock().unwrap();
        let mut high_balance = self.accounts[high].balance.lock().unwrap();
        let (from_balance, to_balance) = if from == low {
            (&mut low_balance, &mut high_balance)
        } else {
            (&mut high_balance, &mut low_balance)
        };
        **from_balance -= amount;
        **to_balance += amount;
    }

    /// Counts a transfer: it reads, then writes.
    pub fn count_transfer(&self) {
        let transfers = self.transfers.load(Ordering::SeqCst);
        self.transfers.store(transfers + 1, Ordering::SeqCst);
    }

    /// Number of transfers counted.
    pub fn transfers(&self) -> u64 {
        self.transfers.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread;

    #[test]
    fn transfers_keep_the_sum() {
        let bank = Arc::new(Bank::new(100, 50));
        let other = Arc::clone(&bank);
        let child = thread::spawn(move || other.transfer(0, 1, 30));
        bank.transfer(1, 0, 10);
        child.join().unwrap();
        assert_eq!((bank.accounts[0].balance(), bank.accounts[1].balance()), (80, 70));
    }

    #[test]
    fn transfers_are_counted() {
        let bank = Arc::new(Bank::new(100, 50));
        let other = Arc::clone(&bank);
        let child = thread::spawn(move || other.count_transfer());
        bank.count_transfer();
        child.join().unwrap();
        assert_eq!(bank.transfers(), 2, "a transfer was not counted");
    }
}
