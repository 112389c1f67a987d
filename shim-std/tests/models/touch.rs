//! Operations touch what they have declared. One that touches something else ends the exploration: nobody would notice
//! the outcomes that are missing.

use dpor_explorer::Verdict;
use dpor_scheduler::ordering::Orderings;
use dpor_scheduler::{
    AccessKind, AtomicAccess, Awaits, Location, Operation, OperationKind, Touch, Word, access_of, awaiting, location,
    observe, perform, perform_atomic, release, release_all,
};
use shim_std::Model;
use std::sync::atomic::Ordering;

/// Two locations, of which an operation declares the first.
struct Pair([Word; 2]);

impl Pair {
    const fn new() -> Pair {
        Pair([Word::new(0), Word::new(0)])
    }

    fn locations(&self) -> [Location; 2] {
        [location(&self.0[0]), location(&self.0[1])]
    }
}

/// Performs an operation that declares an access of this kind to the first location.
fn declaring(kind: AccessKind, apply: impl Fn(Touch<'_>, [Location; 2]) + 'static) -> impl Fn() + 'static {
    move || {
        let pair = Pair::new();
        let locations = pair.locations();
        let accesses = [access_of(locations[0], kind)];
        let operation = Operation::always(OperationKind::SendMessage, locations[0], &accesses);
        perform(&operation, |_, touch| apply(touch, locations));
    }
}

#[track_caller]
fn passes(test: impl Fn() + 'static) {
    let outcome = Model::new().explore(test);
    assert_eq!(outcome.report.verdict, Verdict::Complete, "{outcome}");
}

/// Checks that the exploration ends with a message that has both parts.
#[track_caller]
fn is_noticed(touched: &str, declared: &str, test: impl Fn() + 'static) {
    let outcome = Model::new().explore(test);
    let Verdict::Incomplete { reason } = &outcome.report.verdict else {
        panic!("{outcome}")
    };
    assert!(reason.starts_with("unsupported: the operation "), "{reason}");
    assert!(reason.contains(&format!(" makes {touched} at location 0x")), "{reason}");
    assert!(
        reason.contains(&format!(", where it has declared {declared} (")),
        "{reason}"
    );
}

#[test]
fn a_location_that_was_not_declared() {
    is_noticed(
        "a read",
        "no access",
        declaring(AccessKind::Write, |t, [_, other]| t.read(other)),
    );
    is_noticed(
        "a write",
        "no access",
        declaring(AccessKind::Write, |t, [_, other]| t.write(other)),
    );
    is_noticed("an update", "no access", || {
        let operation = Operation::always(OperationKind::Look, Location(0), &[]);
        perform(&operation, |_, touch| touch.update(Location(1)));
    });
}

#[test]
fn a_kind_that_was_not_declared() {
    use AccessKind::{Read, Update, Write};
    for (declared, words) in [(Read, "a read"), (Update, "an update"), (Write, "a write")] {
        for (kind, touched) in [(Read, "a read"), (Update, "an update"), (Write, "a write")] {
            let test = declaring(declared, move |touch, [one, _]| touch.access(one, kind));
            if kind == declared || declared == Write {
                passes(test);
            } else {
                is_noticed(touched, words, test);
            }
        }
    }
}

#[test]
fn the_message_names_the_operation() {
    let test = declaring(AccessKind::Read, |touch, [one, _]| touch.write(one));
    let outcome = Model::new().explore(test).to_string();
    assert!(
        outcome.contains("the operation send-message makes a write"),
        "{outcome}"
    );
}

#[test]
fn an_access_that_waits() {
    let waits = |touch: Touch<'_>, at| touch.awaiting(at, AccessKind::Read, Awaits::FirstWrite);
    passes(declaring(AccessKind::Read, move |touch, [one, _]| waits(touch, one)));
    is_noticed(
        "a read",
        "no access",
        declaring(AccessKind::Read, move |touch, [_, other]| waits(touch, other)),
    );
}

#[test]
fn what_is_found_at_a_location_that_was_declared() {
    let finds = |touch: Touch<'_>, at, found| touch.found(at, awaiting(found, AccessKind::Write, Awaits::Nothing));
    passes(declaring(AccessKind::Read, move |t, [one, other]| finds(t, one, other)));
    passes(declaring(AccessKind::Write, move |t, [one, other]| {
        finds(t, one, other)
    }));
    // Updates of others could replace what is found, without a conflict.
    let updating = declaring(AccessKind::Update, move |t, [one, other]| finds(t, one, other));
    is_noticed("a read", "an update", updating);
    is_noticed(
        "a read",
        "no access",
        declaring(AccessKind::Write, move |t, [one, other]| finds(t, other, one)),
    );
}

#[test]
fn all_that_was_declared() {
    passes(declaring(AccessKind::Update, |touch, _| touch.all()));
}

#[test]
fn atomics() {
    let operate = |declared, kind| {
        move || {
            let word = Word::new(0);
            let order = Orderings::from(Ordering::SeqCst);
            perform_atomic(OperationKind::Load, location(&word), 8, declared, |touch| {
                touch.atomic(kind, order, AtomicAccess::Load(Ordering::SeqCst), 4)
            });
        }
    };
    passes(operate(AccessKind::Read, AccessKind::Read));
    passes(operate(AccessKind::Write, AccessKind::Read));
    is_noticed("a write", "a read", operate(AccessKind::Read, AccessKind::Write));
    is_noticed("a write", "no access", || {
        let operation = Operation::always(OperationKind::Store, Location(8), &[]);
        perform(&operation, |_, touch| {
            touch.atomic(
                AccessKind::Write,
                Orderings::from(Ordering::SeqCst),
                AtomicAccess::Store(Ordering::SeqCst),
                4,
            )
        });
    });
}

#[test]
fn releases() {
    /// Releases the first location of a pair, as a step of its own if it is observed, and touches the second.
    fn test(observed: bool, declared: bool) -> impl Fn() {
        move || {
            let pair = Pair::new();
            let [one, other] = pair.locations();
            if observed {
                observe(one);
            }
            if !declared {
                release(OperationKind::Unlock, one, |touch| touch.read(other));
                return;
            }
            let accesses = [access_of(one, AccessKind::Write), access_of(other, AccessKind::Read)];
            release_all(&Operation::always(OperationKind::Unlock, one, &accesses), |touch| {
                touch.all()
            });
        }
    }
    for observed in [false, true] {
        passes(test(observed, true));
        is_noticed("a read", "no access", test(observed, false));
    }
}

#[test]
fn it_is_noticed_whatever_the_strategy() {
    for strategy in [
        "exhaustive",
        "source",
        "optimal",
        "dpor",
        "context",
        "states",
        "unfolding",
        "random",
    ] {
        let test = declaring(AccessKind::Read, |touch, [_, other]| touch.write(other));
        let outcome = Model::new().strategy(strategy.parse().unwrap()).explore(test);
        assert!(
            matches!(outcome.report.verdict, Verdict::Incomplete { .. }),
            "{strategy}: {outcome}"
        );
    }
}

#[test]
fn off_model_threads_nothing_is_checked() {
    declaring(AccessKind::Read, |touch, [one, other]| {
        touch.write(one);
        touch.update(other);
        touch.found(other, access_of(one, AccessKind::Write));
    })();
}
