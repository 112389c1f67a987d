//! `Model::leaks`: what is a leak, and its report. What is no leak: `leaks.rs` of the conformance tests.
//!
//! An executable of its own: what other models have left in statics may look like a pointer to a block.

use dpor_explorer::Verdict;
use shim_std::sync::{Arc, Mutex};
use shim_std::{Model, thread};
use std::hint::black_box;
use std::panic::catch_unwind;

fn failure(test: fn()) -> (String, String) {
    let outcome = Model::new().leaks(true).explore(test);
    let Verdict::Failed { failure, .. } = outcome.report.verdict else {
        panic!("{outcome}")
    };
    assert_eq!(failure.kind, "leak");
    let seed = outcome.seed.unwrap();
    // The option need not be given again.
    let again = catch_unwind(move || Model::new().replay(&seed, test)).unwrap_err();
    (failure.message, *again.downcast::<String>().unwrap())
}

#[derive(Default)]
struct Node {
    next: Mutex<Option<Arc<Node>>>,
}

fn cycle() {
    let (a, b) = (Arc::new(Node::default()), Arc::new(Node::default()));
    *a.next.lock().unwrap() = Some(Arc::clone(&b));
    thread::spawn(move || *b.next.lock().unwrap() = Some(a)).join().unwrap();
}

#[test]
fn a_cycle_is_found_and_shown_again() {
    let (message, again) = failure(cycle);
    let (first, places) = message.split_once('\n').unwrap();
    assert!(
        first.starts_with("2 blocks (")
            && first.ends_with("of the heap are neither freed nor reachable when the test had ended")
    );
    assert!(
        places.contains("cycle (") && places.contains("shim-std/tests/leaks.rs:29"),
        "{message}"
    );
    assert!(again.contains(&message), "{again}");
}

#[test]
fn blocks_are_grouped_by_their_places() {
    let (message, _) = failure(|| {
        for i in 0..20u8 {
            std::mem::forget(black_box(Box::new([i; 3])));
        }
        std::mem::forget(black_box(Box::new(1u64)));
    });
    let lines: Vec<_> = message.lines().collect();
    assert_eq!(lines.len(), 3, "{message}");
    assert!(
        lines[0].starts_with("21 blocks (68 bytes) of the heap are neither freed"),
        "{message}"
    );
    assert!(lines[1].starts_with("20 blocks (60 bytes), allocated in "), "{message}");
    assert!(lines[2].starts_with("1 block (8 bytes), allocated in "), "{message}");
}

#[test]
fn nobody_looks_for_leaks_unasked() {
    Model::new().check(cycle);
}

#[test]
fn equal_states_have_equal_leaks() {
    for strategy in [
        "source",
        "states",
        "context",
        "context:lazy",
        "cdpor1",
        "cdpor3",
        "exhaustive",
    ] {
        let model = Model::new().leaks(true).strategy(strategy.parse().unwrap());
        // The orders of the two additions commute; the leak is in the one that comes last.
        let outcome = model.explore(|| {
            let count = Arc::new(Mutex::new(0));
            let add = |count: &Mutex<u32>| {
                let mut count = count.lock().unwrap();
                *count += 1;
                if *count == 2 {
                    std::mem::forget(black_box(Box::new(7)));
                }
            };
            let other = Arc::clone(&count);
            let handle = thread::spawn(move || add(&other));
            add(&count);
            handle.join().unwrap();
        });
        assert!(
            matches!(&outcome.report.verdict, Verdict::Failed { failure, .. } if failure.kind == "leak"),
            "{strategy}: {outcome}"
        );
    }
}

#[test]
fn memory_out_of_sight_may_hold_references() {
    let outcome = Model::new().leaks(true).explore(|| {
        // SAFETY: the block is written to, and freed.
        unsafe {
            let block = libc::malloc(8).cast::<*mut u32>();
            *block = Box::into_raw(black_box(Box::new(1)));
            drop(Box::from_raw(*block));
            libc::free(block.cast());
        }
    });
    let Verdict::Incomplete { reason } = &outcome.report.verdict else {
        panic!("{outcome}")
    };
    assert!(
        reason.starts_with("leaks were not looked for: malloc (called by thread t0"),
        "{reason}"
    );
}
