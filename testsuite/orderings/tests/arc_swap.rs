//! arc-swap: a reader may write down its debt, and find it paid, for a pointer that was freed meanwhile (issues 198 and
//! 204).

use arc_swap::ArcSwap;
use std::sync::Arc;
use std::thread;

#[test]
fn a_reader_keeps_what_it_has_got() {
    let cell = Arc::new(ArcSwap::from_pointee(1));
    let other = Arc::clone(&cell);
    let reader = thread::spawn(move || {
        let value = **other.load();
        assert!(value == 1 || value == 2);
    });
    cell.store(Arc::new(2));
    reader.join().unwrap();
}
