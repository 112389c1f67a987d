//! Starting a few threads and waiting for all of them.

use std::sync::Arc;
use std::thread;

/// Runs `body(shared, 0)`, …, `body(shared, n - 1)`, each in a thread of its own, and returns their results in that
/// order. All threads are started before the first is joined.
///
/// # Panics
///
/// If one of them panicked.
pub fn run<S, R>(n: usize, shared: &Arc<S>, body: fn(&S, usize) -> R) -> Vec<R>
where
    S: Send + Sync + 'static,
    R: Send + 'static,
{
    let handles: Vec<_> = (0..n)
        .map(|i| {
            let shared = Arc::clone(shared);
            thread::spawn(move || body(&shared, i))
        })
        .collect();
    handles
        .into_iter()
        .map(|handle| handle.join().expect("no thread panics"))
        .collect()
}
