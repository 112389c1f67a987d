//! Atomics of different sizes at one address.

use dpor_testsuite::project::Project;

/// In each round, one of two blocks is made, of which one or the other is at the address of the next.
const TESTS: &str = r#"
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::thread;

#[test]
fn blocks_are_of_one_kind_or_another() {
    static FLAG: AtomicBool = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| FLAG.store(true, SeqCst));
        for _ in 0..6 {
            if FLAG.load(SeqCst) {
                let halves: Box<[AtomicU32; 3]> = Box::default();
                halves[1].store(1, SeqCst);
                std::mem::forget(halves);
            } else {
                let whole: Box<[AtomicU64; 1]> = Box::default();
                whole[0].store(1, SeqCst);
                std::mem::forget(whole);
            }
        }
    });
}
"#;

/// Where uses of freed memory are found, no exploration starts again for what is in another block. Otherwise it may be
/// the same atomics.
#[test]
fn atomics_in_other_blocks_do_not_overlap() {
    let project = Project::new("overlap", TESTS);
    let restarts = |flags: &[&str]| {
        let run = project
            .run(&[&["test", "--message-format", "json"], flags].concat())
            .ends(0);
        let finished = run.events("test-finished").remove(0);
        finished["counts"]["refinements"].as_u64().unwrap()
    };
    let apart = restarts(&[]);
    // One of them turns to weak memory.
    assert!(apart <= 1, "{apart}");
    let together = restarts(&["--data-races=false"]);
    assert!(together >= apart + 4, "{apart} {together}");
}
