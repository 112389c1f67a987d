//! Cases of rstest in a test of its own: values, a result, a panic that is expected, and one that is ignored.

use mixed_bank::Account;
use rstest::rstest;
use std::thread;

#[rstest]
fn what_was_put_can_be_taken(#[values(1, 2)] amount: u32) -> Result<(), &'static str> {
    let account = Account::with(0);
    thread::scope(|scope| {
        scope.spawn(|| account.put(amount));
        scope.spawn(|| while !account.take(amount) {});
    });
    match account.balance() {
        0 => Ok(()),
        _ => Err("something is left"),
    }
}

#[rstest]
#[case(1)]
#[should_panic(expected = "too much")]
fn more_cannot_be_taken(#[case] balance: u32) {
    let account = Account::with(balance);
    thread::scope(|scope| scope.spawn(|| account.take(1)).join().unwrap());
    assert!(account.take(balance), "too much");
}

#[rstest]
#[ignore]
fn the_binary_is_built(#[values(true)] built: bool) {
    assert_eq!(std::path::Path::new(env!("CARGO_BIN_EXE_mixed-bank")).is_file(), built);
}
