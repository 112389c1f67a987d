//! `reach!` and `must_reach!`: the labels that executions reach, their counts, and the message if none does.

use dpor_explorer::{Strategy, Verdict};
use shim_std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use shim_std::sync::{Arc, Mutex};
use shim_std::{Model, Outcome, Reached, choose, must_reach, reach, thread};

const STRATEGIES: [&str; 8] = [
    "source",
    "exhaustive",
    "context",
    "context:lazy",
    "context:eager,guide",
    "cdpor1",
    "cdpor2",
    "cdpor3",
];

fn model(strategy: &str) -> Model {
    Model::new().strategy(strategy.parse().unwrap())
}

/// Two threads; the second one sees 0, 1 or 2 and forgets it.
fn observer() {
    let x = Arc::new(AtomicUsize::new(0));
    let other = Arc::clone(&x);
    let handle = thread::spawn(move || {
        other.store(1, SeqCst);
        other.store(2, SeqCst);
    });
    let seen = x.load(SeqCst);
    reach!(["nothing", "one", "two"][seen]);
    handle.join().unwrap();
    reach!("end");
}

fn counts(outcome: &Outcome, label: &str) -> (u64, u64) {
    let Reached { complete, all } = outcome.reached(label);
    (complete, all)
}

#[test]
fn executions_are_counted() {
    let outcome = model("source").explore(observer);
    for label in ["nothing", "one", "two"] {
        assert_eq!(counts(&outcome, label), (1, 1), "{label}: {outcome}");
    }
    assert_eq!(counts(&outcome, "end"), (3, 3));
    assert_eq!(outcome.reached("elsewhere"), Reached::default());
}

#[test]
fn a_label_is_counted_once_in_an_execution() {
    let outcome = model("source").explore(|| (0..choose(0..3)).for_each(|_| reach!("round")));
    assert_eq!(counts(&outcome, "round"), (2, 2));
}

#[test]
fn what_a_pruned_execution_did_counts() {
    for strategy in STRATEGIES {
        let outcome = model(strategy).explore(observer);
        assert_eq!(outcome.report.verdict, Verdict::Complete);
        let statistics = outcome.report.statistics;
        for label in ["nothing", "one", "two", "end"] {
            let Reached { complete, all } = outcome.reached(label);
            assert!(all >= 1, "{strategy}: {label}: {outcome}");
            let begun = statistics.executions() + statistics.checks;
            assert!(
                complete <= statistics.complete && all <= begun,
                "{strategy}: {label}: {outcome}"
            );
        }
        assert_eq!(outcome.reached("end").complete, statistics.complete, "{strategy}");
    }
}

#[test]
fn counts_begin_anew_with_an_exploration() {
    // `try_lock` makes unlocks of the mutex points, which is found out on the way.
    let outcome = model("source").explore(|| {
        let lock = Arc::new(Mutex::new(0));
        let other = Arc::clone(&lock);
        let handle = thread::spawn(move || *other.lock().unwrap() += 1);
        match lock.try_lock() {
            Ok(_) => reach!("free"),
            Err(_) => reach!("held"),
        }
        handle.join().unwrap();
        reach!("end");
    });
    let statistics = outcome.report.statistics;
    assert!(statistics.refinements > 0);
    assert_eq!(outcome.reached("end").complete, statistics.complete, "{outcome}");
    assert!(outcome.reached("free").all > 0 && outcome.reached("held").all > 0);
}

#[test]
fn what_must_be_reached_and_is_not_is_a_failure() {
    for strategy in STRATEGIES {
        let outcome = model(strategy).explore(|| {
            must_reach!("two", "three");
            must_reach!("four");
            observer();
        });
        let Verdict::Failed { failure, .. } = &outcome.report.verdict else {
            panic!("{outcome}")
        };
        assert_eq!(failure.kind, "never-reached");
        let lines: Vec<_> = failure.message.lines().collect();
        let [three, four] = lines[..] else { panic!("{failure}") };
        assert!(three.starts_with(
            "no execution reaches the label \"three\", as is required at shim-std/tests/models/labels.rs:"
        ));
        assert!(four.starts_with(
            "no execution reaches the label \"four\", as is required at shim-std/tests/models/labels.rs:"
        ));
        assert_eq!(outcome.seed, None);
    }
}

#[test]
fn what_is_reached_somewhere_is_enough() {
    for strategy in STRATEGIES {
        model(strategy).check(|| {
            must_reach!("nothing", "one", "two", "end",);
            observer();
        });
    }
}

#[test]
fn an_incomplete_exploration_does_not_fail_for_it() {
    let random = Strategy::Random { seed: 1 };
    let outcome = Model::new().strategy(random).max_executions(20).explore(|| {
        must_reach!("three");
        observer();
    });
    assert!(
        matches!(outcome.report.verdict, Verdict::Incomplete { .. }),
        "{outcome}"
    );
    let note = outcome.note.unwrap();
    assert_eq!(note, "required labels that were not reached so far: \"three\"");
}

#[test]
fn a_failure_comes_first() {
    let outcome = Model::new().explore(|| {
        must_reach!("three");
        reach!("start");
        assert_eq!(choose(0..2), 0);
    });
    let Verdict::Failed { failure, .. } = &outcome.report.verdict else {
        panic!("{outcome}")
    };
    assert_eq!(failure.kind, "panic");
    assert_eq!(counts(&outcome, "start"), (2, 2));
}

#[test]
fn off_model_threads_nothing_happens() {
    must_reach!("anything");
    reach!("something else");
}

#[test]
fn a_replay_shows_where_labels_were_reached() {
    let test = || {
        observer();
        reach!("failing");
        panic!("now");
    };
    let seed = Model::new().explore(test).seed.unwrap();
    let again = std::panic::catch_unwind(move || Model::new().replay(&seed, test)).unwrap_err();
    let again = *again.downcast::<String>().unwrap();
    assert!(again.contains("reached \"end\", reached \"failing\""), "{again}");
}
