//! A benchmark with a harness of its own.

use mixed_bank::Account;
use std::time::Instant;

fn main() {
    let (account, start) = (Account::with(0), Instant::now());
    for _ in 0..1_000_000 {
        account.put(1);
        account.take(1);
    }
    println!("{} transfers in {:?}", 2_000_000, start.elapsed());
}
