//! An example that has a test.

fn main() {
    let account = mixed_bank::Account::with(0);
    account.put(1);
    println!("{}", account.balance());
}

#[test]
fn payday() {
    main();
}
