//! The explicit use, `shim_std::model` under plain `cargo test`: number of executions, failures, replay.

use dpor_explorer::{Context, Strategy, Verdict};
use dpor_scheduler::OperationKind;
use shim_std::specified::pinnings_of_crossbeam_epoch;
use shim_std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use shim_std::sync::mpsc::channel;
use shim_std::sync::{Condvar, Mutex, RwLock};
use shim_std::{Model, Outcome, thread};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// Number of complete executions under `source`: of Mazurkiewicz traces.
fn complete(test: impl Fn() + 'static) -> u64 {
    let outcome = Model::new().strategy(Strategy::Source).explore(test);
    assert_eq!(outcome.report.verdict, Verdict::Complete, "{outcome}");
    outcome.report.statistics.complete
}

fn failing(test: impl Fn() + Copy + 'static) -> (&'static str, Outcome) {
    let outcome = Model::new().explore(test);
    let Verdict::Failed { failure, .. } = &outcome.report.verdict else {
        panic!("{outcome}")
    };
    let seed = outcome.seed.clone().unwrap();
    // A reported failure is replayable.
    let again = catch_unwind(AssertUnwindSafe(move || Model::new().replay(&seed, test))).unwrap_err();
    let again = again.downcast::<String>().unwrap();
    assert!(
        again.contains(failure.message.lines().next().unwrap()),
        "{failure}\n---\n{again}"
    );
    (failure.kind, outcome)
}

fn spawn_all(n: usize, body: impl Fn(usize) + Send + Sync + 'static) {
    let body = Arc::new(body);
    let spawn = |i| {
        let body = Arc::clone(&body);
        thread::spawn(move || body(i))
    };
    let handles: Vec<_> = (0..n).map(spawn).collect();
    handles.into_iter().for_each(|handle| handle.join().unwrap());
}

#[test]
fn writers_have_factorially_many_traces() {
    for (n, expected) in [(3, 24), (4, 120)] {
        let executions = complete(move || {
            let x = AtomicUsize::new(0);
            spawn_all(n + 1, move |i| {
                if i == n {
                    assert!(x.load(SeqCst) < n)
                } else {
                    x.store(i, SeqCst)
                }
            });
        });
        assert_eq!(executions, expected);
    }
}

#[test]
fn mutex_counter() {
    for (threads, rounds, expected) in [(2, 2, 6), (2, 4, 70), (3, 2, 90)] {
        let executions = complete(move || {
            let counter = Arc::new(Mutex::new(0));
            let inner = Arc::clone(&counter);
            spawn_all(threads, move |_| (0..rounds).for_each(|_| *inner.lock().unwrap() += 1));
            assert_eq!(*Arc::try_unwrap(counter).unwrap().get_mut().unwrap(), threads * rounds);
        });
        assert_eq!(executions, expected);
    }
}

#[test]
fn producer_and_consumer() {
    for (n, expected) in [(3, 20), (5, 252)] {
        let executions = complete(move || {
            let queue = Mutex::new(VecDeque::new());
            spawn_all(2, move |i| {
                (0..n).for_each(|item| match i {
                    0 => queue.lock().unwrap().push_back(item),
                    _ => drop(queue.lock().unwrap().pop_front()),
                });
            });
        });
        assert_eq!(executions, expected);
    }
}

#[test]
fn channel_of_two_senders() {
    for (k, expected) in [(1, 2), (2, 6), (3, 20)] {
        let outcome = Model::new().strategy(Strategy::Source).explore(move || {
            let (tx, rx) = channel();
            let tx2 = tx.clone();
            let a = thread::spawn(move || (0..k).for_each(|i| tx.send(i).unwrap()));
            let b = thread::spawn(move || (0..k).for_each(|i| tx2.send(i).unwrap()));
            assert_eq!(rx.iter().count(), 2 * k);
            a.join().unwrap();
            b.join().unwrap();
        });
        assert_eq!(outcome.report.verdict, Verdict::Complete, "{outcome}");
        assert_eq!(
            (outcome.report.statistics.complete, outcome.report.statistics.blocked),
            (expected, 0)
        );
    }
}

fn philosophers(n: usize, ordered: bool) {
    let forks: Vec<_> = (0..n).map(|_| Mutex::new(())).collect();
    spawn_all(n, move |i| {
        let (a, b) = (i, (i + 1) % n);
        let (a, b) = if ordered { (a.min(b), a.max(b)) } else { (a, b) };
        let _left = forks[a].lock().unwrap();
        let _right = forks[b].lock().unwrap();
    });
}

#[test]
fn ordered_philosophers_eat() {
    for n in 2..5 {
        assert_eq!(complete(move || philosophers(n, true)), (1 << n) - 2);
    }
}

#[test]
fn philosophers_who_all_begin_on_their_left_starve() {
    let (kind, outcome) = failing(|| philosophers(3, false));
    assert_eq!(kind, "deadlock", "{outcome}");
}

#[test]
fn any_waiter_can_be_chosen() {
    let (kind, outcome) = failing(|| {
        let pair = Arc::new((Mutex::new(0), Condvar::new()));
        let waiters: Vec<_> = (0..2)
            .map(|_| {
                let pair = Arc::clone(&pair);
                thread::spawn(move || {
                    let mut guard = pair.0.lock().unwrap();
                    *guard += 10;
                    while *guard < 100 {
                        guard = pair.1.wait(guard).unwrap();
                    }
                    *guard += 1;
                    *guard == 121
                })
            })
            .collect();
        loop {
            let mut guard = pair.0.lock().unwrap();
            if *guard == 20 {
                *guard += 100;
                break;
            }
        }
        pair.1.notify_one();
        pair.1.notify_one();
        let first: Vec<_> = waiters.into_iter().map(|waiter| waiter.join().unwrap()).collect();
        assert_eq!(first, [true, false], "the second waiter was woken first");
    });
    assert_eq!(kind, "panic", "{outcome}");
}

#[test]
fn a_loop_of_timeouts_ends() {
    let executions = complete(|| {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let inner = Arc::clone(&pair);
        let setter = thread::spawn(move || *inner.0.lock().unwrap() = true);
        let mut guard = pair.0.lock().unwrap();
        while !*guard {
            guard = pair.1.wait_timeout(guard, Duration::from_secs(1)).unwrap().0;
        }
        drop(guard);
        setter.join().unwrap();
    });
    assert!(executions < 20, "{executions}");
}

#[test]
fn readers_do_not_conflict() {
    let executions = complete(|| {
        let lock = RwLock::new(1);
        spawn_all(3, move |_| assert_eq!(*lock.read().unwrap(), 1));
    });
    assert_eq!(executions, 1);
}

#[test]
fn strategies_agree_on_a_lost_update() {
    let named = |name: &str| name.parse::<Strategy>().unwrap();
    for strategy in [
        "context",
        "context:lazy",
        "context:lazy,guide",
        "cdpor1",
        "cdpor2",
        "cdpor3",
        "source",
        "dpor",
        "dpor:nosleep,lca",
        "exhaustive",
        "random:1",
    ]
    .map(named)
    {
        let outcome = Model::new().strategy(strategy).max_executions(1000).explore(|| {
            let x = Arc::new(AtomicUsize::new(0));
            let inner = Arc::clone(&x);
            spawn_all(2, move |_| inner.store(inner.load(SeqCst) + 1, SeqCst));
            assert_eq!(x.load(SeqCst), 2);
        });
        assert!(
            matches!(outcome.report.verdict, Verdict::Failed { .. }),
            "{strategy}: {outcome}"
        );
    }
}

/// Fails if the first thread comes second, which an eager check discovers before the exploration reaches it.
fn late_reader() {
    let x = Arc::new(AtomicUsize::new(0));
    let inner = Arc::clone(&x);
    let writer = thread::spawn(move || inner.store(1, SeqCst));
    shim_std::println!("about to look");
    assert_eq!(x.load(SeqCst), 0, "came late");
    writer.join().unwrap();
}

#[test]
fn a_failure_within_a_check_is_reported_like_any_other() {
    let checked = Model::new()
        .strategy(Strategy::Context(Context::CDPOR1))
        .explore(late_reader);
    let usual = Model::new().strategy(Strategy::Source).explore(late_reader);
    let statistics = checked.report.statistics;
    assert_eq!(statistics.checks, 1, "{checked}");
    assert_eq!(
        (statistics.complete, statistics.blocked),
        (1, 0),
        "the failing check is the first execution that comes to an end: {checked}"
    );
    let (Verdict::Failed { failure, schedule }, Verdict::Failed { failure: same, .. }) =
        (&checked.report.verdict, &usual.report.verdict)
    else {
        panic!("{checked}\n{usual}")
    };
    assert_eq!(failure, same);
    assert_eq!(checked.output, usual.output);
    assert!(checked.output.starts_with("about to look\n"), "{}", checked.output);
    let seed: dpor_protocol::Seed = checked.seed.as_deref().unwrap().parse().unwrap();
    let steps: Vec<_> = seed.steps.iter().map(|step| step.transition).collect();
    assert_eq!(&steps, schedule);
    let kinds = seed.steps.iter().map(|step| OperationKind::from_code(step.operation));
    assert_eq!(
        kinds.map(|kind| kind.map(OperationKind::name)).collect::<Vec<_>>(),
        [Some("start"), Some("store"), Some("load")]
    );
    for outcome in [checked, usual] {
        let seed = outcome.seed.unwrap();
        let again = catch_unwind(AssertUnwindSafe(|| Model::new().replay(&seed, late_reader))).unwrap_err();
        let again = again.downcast::<String>().unwrap();
        assert!(again.contains("came late"), "{again}");
        assert!(again.contains("t1  store"), "{again}");
    }
}

fn counting(threads: usize, rounds: usize) {
    let counter = Arc::new(Mutex::new(0));
    let inner = Arc::clone(&counter);
    spawn_all(threads, move |_| (0..rounds).for_each(|_| *inner.lock().unwrap() += 1));
    assert_eq!(*counter.lock().unwrap(), threads * rounds);
}

#[test]
fn additions_commute() {
    let source = Model::new().strategy(Strategy::Source).explore(|| counting(3, 2));
    assert_eq!(source.report.statistics.complete, 90, "{source}");
    assert_eq!(
        source.report.statistics.compared, 0,
        "nothing asks for states under `source`"
    );
    for outcome in [
        Model::new(),
        Model::new().strategy("context:lazy".parse().unwrap()),
        Model::new().strategy(Strategy::Context(Context::CDPOR1)),
        Model::new().strategy(Strategy::Context(Context::CDPOR3)),
    ]
    .map(|model| model.explore(|| counting(3, 2)))
    {
        let statistics = outcome.report.statistics;
        assert_eq!(outcome.report.verdict, Verdict::Complete, "{outcome}");
        assert!(statistics.executions() < 60, "{outcome}");
        assert!(statistics.equal > 0, "{outcome}");
        let pruned = outcome
            .to_string()
            .contains(&format!(", {} pruned, ", statistics.pruned));
        assert_eq!(pruned, statistics.pruned > 0, "{outcome}");
        assert_eq!(outcome.note, None);
    }
}

#[test]
fn what_is_out_of_sight_is_told() {
    let test = || {
        spawn_all(2, |_| {
            // SAFETY: a new block, freed at once.
            unsafe { libc::free(std::hint::black_box(libc::malloc(8))) }
        })
    };
    let outcome = Model::new().explore(test);
    assert_eq!(outcome.report.verdict, Verdict::Complete, "{outcome}");
    let note = outcome.note.clone().unwrap_or_default();
    assert!(note.starts_with("states were not compared: malloc"), "{outcome}");
    assert!(outcome.to_string().contains(&format!(" steps\n{note}")), "{outcome}");
    let outcome = Model::new().strategy(Strategy::Source).explore(test);
    assert_eq!(outcome.note, None, "nobody wanted to compare states");
}

/// Two increments, one of which is lost if the first thread is delayed between its load and its store.
fn loses_an_update(hesitate: fn()) {
    let x = Arc::new(AtomicUsize::new(0));
    let increment = move |x: &AtomicUsize| {
        let value = x.load(SeqCst);
        hesitate();
        x.store(value + 1, SeqCst);
    };
    let other = Arc::clone(&x);
    let child = thread::spawn(move || increment(&other));
    increment(&x);
    child.join().unwrap();
    assert_eq!(x.load(SeqCst), 2, "an update was lost");
}

#[test]
fn preemptions_are_bounded() {
    let explore = |bound: u32, hesitate: fn()| {
        Model::new()
            .preemptions(bound)
            .explore(move || loses_an_update(hesitate))
    };
    let outcome = explore(0, || {});
    let left_out = "executions without preemptions were explored, and there are others (--preemptions)";
    assert_eq!(reason(&outcome), left_out, "{outcome}");
    let outcome = explore(3, || {});
    assert!(matches!(outcome.report.verdict, Verdict::Failed { .. }), "{outcome}");
    assert_eq!(
        outcome.note.as_deref(),
        Some("no execution with fewer than 1 preemption fails")
    );
    // A hint that does not come again is no scheduling point.
    let outcome = explore(3, thread::yield_now);
    assert_eq!(
        outcome.note.as_deref(),
        Some("no execution with fewer than 1 preemption fails")
    );
    let outcome = Model::new().preemptions(9).explore(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&x);
        let child = thread::spawn(move || other.fetch_add(1, SeqCst));
        x.fetch_add(1, SeqCst);
        child.join().unwrap();
    });
    assert_eq!(outcome.report.verdict, Verdict::Complete, "{outcome}");
    assert_eq!(
        outcome.note.as_deref(),
        Some("nothing needs more than 1 preemption"),
        "{outcome}"
    );
    let outcome = Model::new()
        .strategy(Strategy::Random { seed: 1 })
        .preemptions(1)
        .explore(|| {});
    assert_eq!(reason(&outcome), "`random:1` cannot bound preemptions");
}

fn counts_for_ever() {
    let x = AtomicUsize::new(0);
    loop {
        x.fetch_add(1, SeqCst);
    }
}

fn reason(outcome: &Outcome) -> &str {
    match &outcome.report.verdict {
        Verdict::Incomplete { reason } => reason,
        verdict => panic!("{verdict:?}"),
    }
}

#[test]
fn a_long_execution_is_no_failure() {
    let outcome = Model::new().max_depth(1_000).explore(counts_for_ever);
    assert!(reason(&outcome).contains("did not end within 1000 steps"), "{outcome}");
}

#[test]
fn time_is_up_within_an_execution() {
    let outcome = Model::new()
        .max_time(Duration::from_millis(200))
        .max_depth(u32::MAX)
        .explore(counts_for_ever);
    assert!(reason(&outcome).contains("time limit"), "{outcome}");
}

fn with_lock<R>(lock: &AtomicBool, f: impl FnOnce() -> R) -> R {
    while lock.compare_exchange(false, true, SeqCst, SeqCst).is_err() {
        while lock.load(SeqCst) {
            std::hint::spin_loop();
        }
    }
    let result = f();
    lock.store(false, SeqCst);
    result
}

/// A loop is held back where it is, here with the lock for which another thread waits; that is no livelock. (There are
/// executions without end, in which the other thread looks at the lock only at the wrong time.)
#[test]
fn a_loop_that_takes_a_lock_does_not_keep_it() {
    let test = |never: bool| {
        move || {
            let (lock, set) = (AtomicBool::new(false), AtomicBool::new(false));
            thread::scope(|scope| {
                scope.spawn(|| with_lock(&lock, || set.store(!never, SeqCst)));
                while !with_lock(&lock, || set.load(SeqCst)) {}
            });
        }
    };
    for strategy in ["source", "context"].map(|name| name.parse::<Strategy>().unwrap()) {
        let model = Model::new().strategy(strategy).max_executions(20);
        let outcome = model.explore(test(false));
        assert!(reason(&outcome).contains("20 executions"), "{outcome}");
        let outcome = model.explore(test(true));
        assert!(matches!(&outcome.report.verdict, Verdict::Failed { failure, .. } if failure.kind == "livelock"));
    }
}

/// Where rounds leave a count out, as a library is specified, it is unclear whether they go on for ever; but it is clear
/// where another thread can go on. The loop is held back with the lock in its hands, for which the other one waits.
#[test]
fn a_loop_that_leaves_a_count_out_is_no_livelock() {
    let test = |never: bool| {
        move || {
            let (set, other) = (Mutex::new(false), AtomicBool::new(false));
            thread::scope(|scope| {
                scope.spawn(|| *set.lock().unwrap() = !never);
                let mut locked = set.lock().unwrap();
                while !*locked {
                    other.load(SeqCst);
                    pinnings_of_crossbeam_epoch(1);
                    drop(locked);
                    locked = set.lock().unwrap();
                }
            });
        }
    };
    for strategy in ["source", "context"].map(|name| name.parse::<Strategy>().unwrap()) {
        let model = Model::new().strategy(strategy);
        let outcome = model.explore(test(false));
        assert_eq!(outcome.report.verdict, Verdict::Complete, "{strategy}: {outcome}");
        assert!(outcome.report.statistics.blocked > 0, "{strategy}: {outcome}");
        let outcome = model.explore(test(true));
        assert!(reason(&outcome).contains("unclear"), "{strategy}: {outcome}");
    }
}

/// A thread that waits for the lock of such a loop may then have much to do before anything ends.
#[test]
fn a_loop_that_takes_a_lock_waits_long() {
    const STEPS: usize = 3000;
    let test = || {
        let (lock, set, count) = (AtomicBool::new(false), AtomicBool::new(false), AtomicUsize::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                with_lock(&lock, || ());
                with_lock(&lock, || {
                    for _ in 0..STEPS {
                        count.fetch_add(1, SeqCst);
                    }
                    set.store(true, SeqCst);
                });
            });
            while !with_lock(&lock, || set.load(SeqCst)) {}
        });
    };
    for strategy in ["source", "context"].map(|name| name.parse::<Strategy>().unwrap()) {
        let outcome = Model::new().strategy(strategy).max_executions(20).explore(test);
        assert!(reason(&outcome).contains("20 executions"), "{outcome}");
    }
}
