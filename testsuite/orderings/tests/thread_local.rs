//! thread_local: an iterator takes a table of values by a relaxed load (RUSTSEC-2022-0006).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;
use thread_local::ThreadLocal;

#[test]
fn an_iterator_finds_whole_values() {
    let own = Arc::new(ThreadLocal::with_capacity(1));
    let other = Arc::clone(&own);
    own.get_or(|| AtomicU32::new(1));
    let thread = thread::spawn(move || other.get_or(|| AtomicU32::new(1)).load(Relaxed));
    assert!(own.iter().all(|value| value.load(Relaxed) == 1));
    thread.join().unwrap();
}
