//! Shows the balance that is left of an account.

use mixed_bank::Account;

/// The balance after these amounts were taken, as far as possible.
fn left(balance: u32, amounts: &[u32]) -> u32 {
    let account = &Account::with(balance);
    std::thread::scope(|scope| {
        for &amount in amounts {
            scope.spawn(move || account.take(amount));
        }
    });
    account.balance()
}

fn main() {
    println!("{}: {}", Account::name(), left(3, &[1, 1]));
}

#[test]
fn nothing_is_left() {
    assert_eq!(left(2, &[1, 1]), 0);
}

#[test]
fn one_amount_is_left_if_both_are_too_much() {
    let left = left(2, &[1, 2]);
    assert!(left == 1 || left == 0, "{left}");
}
