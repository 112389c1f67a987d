//! Atomics of different sizes at one address.

use dpor_testsuite::project::Project;

/// In each round of the first, one of two blocks is made, of which one or the other is at the address of the next.
const TESTS: &str = r#"
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
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

#[test]
fn a_byte_is_part_of_a_word() {
    let word = AtomicU64::new(0);
    let byte = unsafe { &*(&raw const word).cast::<AtomicU8>() };
    thread::scope(|scope| {
        let writer = scope.spawn(|| byte.store(1, Relaxed));
        scope.spawn(|| byte.load(Relaxed));
        writer.join().unwrap();
        assert_eq!(word.load(Relaxed), 1);
    });
}
"#;

/// Where data races are found, no exploration starts again for what is in another block. Otherwise it may be the same
/// atomics.
#[test]
fn atomics_in_other_blocks_do_not_overlap() {
    let project = Project::new("overlap", TESTS);
    let restarts = |flags: &[&str]| {
        let test = ["test", "blocks_are", "--message-format", "json"];
        let run = project.run(&[&test, flags].concat()).ends(0);
        let finished = run.events("test-finished").remove(0);
        finished["counts"]["refinements"].as_u64().unwrap()
    };
    let apart = restarts(&[]);
    // One of them turns to weak memory.
    assert!(apart <= 1, "{apart}");
    let together = restarts(&["--data-races=false"]);
    assert!(together >= apart + 4, "{apart} {together}");
}

/// That the byte's values are all known when the word is read, follows from accesses that are followed to find data
/// races: in what `diff-states` explores as well as in what `test` does.
#[test]
fn a_survey_follows_accesses_as_the_test_does() {
    let project = Project::new("survey-overlap", TESTS);
    project.run(&["test", "a_byte"]).ends(0);
    let survey = ["diff-states", "a_byte_is_part_of_a_word", "--all-states"];
    let run = project.run(&survey).ends(0);
    assert!(!run.stdout.contains("unsupported"), "{run:?}");
    project.write("dpor.toml", "data-races = false\n");
    let run = project.run(&survey).ends(3);
    let unsupported = "unsupported: atomics of different sizes overlap";
    assert!(run.stdout.contains(unsupported), "{run:?}");
}
