//! The macro's output is tested like any other code.

use std::sync::OnceLock;
use std::thread;

#[derive(mixed_derive::Named)]
struct Account;

#[test]
fn the_name_is_set_once() {
    let name = OnceLock::new();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| name.get_or_init(Account::name));
        }
    });
    assert_eq!(name.get(), Some(&"Account"));
}
