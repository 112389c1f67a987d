//! basedrop: a writer that waits for readers to be gone may find none where there is one, which finds the old pointer
//! (issue 10).

use basedrop::{Collector, Shared, SharedCell};
use std::sync::Arc;
use std::thread;

#[test]
fn a_reader_keeps_what_it_has_got() {
    let mut collector = Collector::new();
    let handle = collector.handle();
    let cell = Arc::new(SharedCell::new(Shared::new(&handle, 1)));
    let other = Arc::clone(&cell);
    let reader = thread::spawn(move || {
        let value = *other.get();
        assert!(value == 1 || value == 2);
    });
    cell.set(Shared::new(&handle, 2));
    collector.collect();
    reader.join().unwrap();
}
