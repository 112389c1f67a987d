//! When waits with a timeout time out: at once, last, or never.

use dpor_explorer::{Strategy, Verdict};
use shim_std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use shim_std::sync::mpsc::{RecvTimeoutError, channel, sync_channel};
use shim_std::sync::{Arc, Condvar, Mutex, RwLock};
use shim_std::thread;
use shim_std::time::{Duration, Instant};
use shim_std::{Model, Outcome, Timeouts};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The first is brute force. The last one is refused where timeouts fire last.
const STRATEGIES: [&str; 12] = [
    "exhaustive",
    "states",
    "source",
    "optimal",
    "dpor",
    "dpor:nosleep",
    "context",
    "context:lazy",
    "cdpor1",
    "cdpor2",
    "cdpor3",
    "unfolding",
];

const SECOND: Duration = Duration::from_secs(1);

fn model(strategy: &str, timeouts: Timeouts) -> Model {
    Model::new().strategy(strategy.parse().unwrap()).timeouts(timeouts)
}

/// The strategies that can be used.
fn strategies(timeouts: Timeouts) -> impl Iterator<Item = &'static str> {
    let able = move |name: &&str| timeouts != Timeouts::Last || name.parse::<Strategy>().unwrap().can_let_time_pass();
    STRATEGIES.into_iter().filter(able)
}

/// Checks that every strategy finds these values of the test, and that it is complete.
#[track_caller]
fn finds(timeouts: Timeouts, test: impl Fn() -> usize + Copy + 'static, expected: impl IntoIterator<Item = usize>) {
    let expected: BTreeSet<usize> = expected.into_iter().collect();
    for strategy in strategies(timeouts) {
        let seen = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
        let inner = std::sync::Arc::clone(&seen);
        let outcome = model(strategy, timeouts).explore(move || {
            let value = test();
            shim_std::outside(|| {
                inner.lock().unwrap().insert(value);
            });
        });
        assert_eq!(
            outcome.report.verdict,
            Verdict::Complete,
            "{strategy} {timeouts}: {outcome}"
        );
        assert_eq!(*seen.lock().unwrap(), expected, "{strategy} {timeouts}");
    }
}

/// Checks that every strategy finds the failure, which a replay of its seed ends in as well. Returns its message.
#[track_caller]
fn fails(timeouts: Timeouts, kind: &str, test: impl Fn() + Copy + 'static) -> String {
    let mut message = String::new();
    for strategy in strategies(timeouts) {
        let outcome = model(strategy, timeouts).explore(test);
        let Verdict::Failed { failure, .. } = &outcome.report.verdict else {
            panic!("{strategy} {timeouts}: {outcome}")
        };
        assert_eq!(failure.kind, kind, "{strategy} {timeouts}: {outcome}");
        let seed = outcome.seed.clone().expect("a failure of one execution has a seed");
        // The seed knows when timeouts fire.
        let again = catch_unwind(AssertUnwindSafe(move || Model::new().replay(&seed, test))).unwrap_err();
        message = *again.downcast::<String>().expect("a replay panics with a message");
        assert!(message.starts_with(kind), "{strategy} {timeouts}: {message}");
    }
    message
}

/// Number of complete executions under `source`, which gives none up.
#[track_caller]
fn traces(timeouts: Timeouts, test: impl Fn() -> usize + 'static) -> u64 {
    let outcome = model("source", timeouts).explore(move || {
        test();
    });
    assert_eq!(outcome.report.verdict, Verdict::Complete, "{outcome}");
    assert_eq!(outcome.report.statistics.blocked, 0, "{outcome}");
    outcome.report.statistics.complete
}

/// A sender and a receiver with a timeout, on a channel with this bound; 0 if the message came.
fn message(bound: Option<usize>) -> impl Fn() -> usize + Copy {
    move || {
        let (sender, rx) = match bound {
            None => {
                let (tx, rx) = channel();
                (thread::spawn(move || tx.send(1).is_ok()), rx)
            }
            Some(bound) => {
                let (tx, rx) = sync_channel(bound);
                (thread::spawn(move || tx.send(1).is_ok()), rx)
            }
        };
        let received = rx.recv_timeout(30 * SECOND);
        drop(rx);
        sender.join().unwrap();
        usize::from(received == Err(RecvTimeoutError::Timeout))
    }
}

#[test]
fn a_message_that_comes_is_received() {
    for bound in [None, Some(0), Some(1)] {
        finds(Timeouts::Fire, message(bound), [0, 1]);
        finds(Timeouts::Last, message(bound), [0]);
        finds(Timeouts::Never, message(bound), [0]);
    }
    assert_eq!(traces(Timeouts::Last, message(None)), 1);
    assert_eq!(traces(Timeouts::Never, message(None)), 1);
}

/// Waits for a message from a thread that sends none while there is somebody to receive it.
fn silence() -> usize {
    let (tx, rx) = channel::<()>();
    let received = rx.recv_timeout(SECOND);
    drop(tx);
    usize::from(received == Err(RecvTimeoutError::Timeout))
}

#[test]
fn a_message_that_does_not_come_times_out_or_is_waited_for() {
    finds(Timeouts::Last, silence, [1]);
    assert_eq!(traces(Timeouts::Last, silence), 1);
    let message = fails(Timeouts::Never, "deadlock", || {
        silence();
    });
    assert!(message.contains("for 1s"), "{message}");
}

#[test]
fn a_note_tells_on_what_the_verdict_rests() {
    let note = |timeouts, test: fn() -> usize| {
        let outcome: Outcome = model("source", timeouts).explore(move || {
            test();
        });
        outcome.note.unwrap_or_default()
    };
    assert!(note(Timeouts::Last, silence).contains("--timeouts last"));
    assert!(note(Timeouts::Never, silence).contains("--timeouts never"));
    assert!(!note(Timeouts::Fire, silence).contains("--timeouts"));
    assert!(!note(Timeouts::Last, || 1).contains("--timeouts"));
}

/// A condition variable that is notified, or not; 1 if the wait timed out.
fn condition<const NOTIFIED: bool>() -> usize {
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let other = pair.clone();
    let notifier = thread::spawn(move || {
        if NOTIFIED {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        }
    });
    let guard = pair.0.lock().unwrap();
    let waited = pair.1.wait_timeout_while(guard, 30 * SECOND, |done| !*done).unwrap();
    let timed_out = waited.1.timed_out();
    drop(waited);
    notifier.join().unwrap();
    usize::from(timed_out)
}

#[test]
fn conditions_that_come_true_are_waited_for() {
    finds(Timeouts::Fire, condition::<true>, [0, 1]);
    finds(Timeouts::Last, condition::<true>, [0]);
    finds(Timeouts::Never, condition::<true>, [0]);
    finds(Timeouts::Last, condition::<false>, [1]);
    fails(Timeouts::Never, "deadlock", || {
        condition::<false>();
    });
}

/// The thread that waits on a condition variable is to take the mutex back, which another one holds while it waits for
/// a message that the first would have to send: it is late, and stays blocked until the other one is.
fn late_but_locked_out() -> usize {
    let pair = Arc::new((Mutex::new(0), Condvar::new()));
    let other = pair.clone();
    let (tx, rx) = channel::<()>();
    let holder = thread::spawn(move || {
        let guard = other.0.lock().unwrap();
        let late = rx.recv_timeout(3 * SECOND).is_err();
        drop(guard);
        usize::from(late)
    });
    let guard = pair.0.lock().unwrap();
    let (guard, waited) = pair.1.wait_timeout(guard, SECOND).unwrap();
    drop(guard);
    drop(tx);
    usize::from(waited.timed_out()) << 1 | holder.join().unwrap()
}

#[test]
fn a_timeout_passes_while_a_mutex_is_held() {
    finds(Timeouts::Last, late_but_locked_out, [3]);
    fails(Timeouts::Never, "deadlock", || {
        late_but_locked_out();
    });
}

/// Parks; the token comes if the other thread is `GENEROUS`.
fn parked<const GENEROUS: bool>() -> usize {
    let main = thread::current();
    let ran = Arc::new(AtomicUsize::new(0));
    let seen = ran.clone();
    let other = thread::spawn(move || {
        seen.store(1, SeqCst);
        if GENEROUS {
            main.unpark();
        }
    });
    thread::park_timeout(SECOND);
    let value = ran.load(SeqCst);
    other.join().unwrap();
    value
}

#[test]
fn tokens_come_before_timeouts() {
    finds(Timeouts::Fire, parked::<true>, [0, 1]);
    finds(Timeouts::Last, parked::<true>, [1]);
    finds(Timeouts::Never, parked::<true>, [1]);
    finds(Timeouts::Last, parked::<false>, [1]);
    fails(Timeouts::Never, "deadlock", || {
        parked::<false>();
    });
}

#[test]
#[allow(deprecated)]
fn waits_in_milliseconds_are_the_same() {
    let test = || {
        let pair = (Mutex::new(()), Condvar::new());
        let (guard, notified) = pair.1.wait_timeout_ms(pair.0.lock().unwrap(), 10).unwrap();
        drop(guard);
        thread::park_timeout_ms(10);
        usize::from(notified)
    };
    finds(Timeouts::Last, test, [0]);
    fails(Timeouts::Never, "deadlock", move || {
        test();
    });
}

/// A wait without time is a try, whatever else goes on.
fn no_time() -> usize {
    let (tx, rx) = channel();
    let sender = thread::spawn(move || tx.send(1).unwrap());
    let tried = rx.recv_timeout(Duration::ZERO).is_ok();
    thread::park_timeout(Duration::ZERO);
    let pair = (Mutex::new(()), Condvar::new());
    let late = pair.1.wait_timeout(pair.0.lock().unwrap(), Duration::ZERO).unwrap().1;
    assert!(late.timed_out());
    sender.join().unwrap();
    usize::from(tried)
}

#[test]
fn a_wait_without_time_ends_at_once() {
    for timeouts in Timeouts::ALL {
        finds(timeouts, no_time, [0, 1]);
    }
}

/// Two threads wait for so many seconds, and say in which order they went on.
fn order<const ONE: u32, const OTHER: u32>() -> usize {
    let (tx, rx) = channel();
    let other = tx.clone();
    let first = thread::spawn(move || {
        thread::park_timeout(ONE * SECOND);
        tx.send(1).unwrap();
    });
    let second = thread::spawn(move || {
        thread::park_timeout(OTHER * SECOND);
        other.send(2).unwrap();
    });
    let order = rx.recv().unwrap() * 10 + rx.recv().unwrap();
    first.join().unwrap();
    second.join().unwrap();
    order
}

#[test]
fn the_earliest_deadline_comes_first() {
    finds(Timeouts::Fire, order::<1, 2>, [12, 21]);
    finds(Timeouts::Last, order::<1, 2>, [12]);
    finds(Timeouts::Last, order::<2, 1>, [21]);
    finds(Timeouts::Last, order::<1, 1>, [12, 21]);
    assert_eq!(traces(Timeouts::Last, order::<1, 2>), 1);
    assert_eq!(traces(Timeouts::Last, order::<1, 1>), 2);
}

/// Whoever asks for the time often is a little later, which is no order.
fn asked_for_the_time() -> usize {
    let (tx, rx) = channel();
    let other = tx.clone();
    let first = thread::spawn(move || {
        (0..40).for_each(|_| _ = Instant::now());
        thread::park_timeout(SECOND);
        tx.send(1).unwrap();
    });
    let second = thread::spawn(move || {
        thread::park_timeout(SECOND);
        other.send(2).unwrap();
    });
    let order = rx.recv().unwrap();
    first.join().unwrap();
    second.join().unwrap();
    order
}

#[test]
fn deadlines_that_are_nearly_the_same_have_no_order() {
    finds(Timeouts::Last, asked_for_the_time, [1, 2]);
}

/// The second wait begins when the first has passed, so that its deadline is later than that of the other thread.
fn one_after_the_other() -> usize {
    let (tx, rx) = channel();
    let other = tx.clone();
    let first = thread::spawn(move || {
        thread::park_timeout(2 * SECOND);
        thread::park_timeout(2 * SECOND);
        tx.send(1).unwrap();
    });
    let second = thread::spawn(move || {
        thread::park_timeout(3 * SECOND);
        other.send(2).unwrap();
    });
    let order = rx.recv().unwrap();
    first.join().unwrap();
    second.join().unwrap();
    order
}

#[test]
fn time_goes_on_from_deadline_to_deadline() {
    finds(Timeouts::Last, one_after_the_other, [2]);
}

/// What races before time passes, and after it, is explored in each order.
fn races() -> usize {
    let cell = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (1..=2)
        .map(|digit| {
            let cell = cell.clone();
            thread::spawn(move || {
                cell.store(cell.load(SeqCst) * 10 + digit, SeqCst);
                thread::park_timeout(SECOND);
                cell.store(cell.load(SeqCst) * 10 + digit, SeqCst);
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    cell.load(SeqCst)
}

#[test]
fn races_before_and_after_time_has_passed_are_reversed() {
    let mut expected = BTreeSet::new();
    // The second round goes on from what the first has left.
    for first in [1, 2, 12, 21] {
        for second in [[1, 2], [2, 1]] {
            expected.extend([first * 10 + second[0], first * 10 + second[1]]);
            expected.insert((first * 10 + second[0]) * 10 + second[1]);
        }
    }
    finds(Timeouts::Last, races, expected);
}

/// What is blocked when time passes depends on the order of what came before, and runs only after it.
fn blocked_meanwhile() -> usize {
    let lock = Arc::new(Mutex::new(0));
    let (a, b) = (lock.clone(), lock.clone());
    let first = thread::spawn(move || {
        let mut guard = a.lock().unwrap();
        thread::park_timeout(SECOND);
        *guard = *guard * 10 + 1;
    });
    let second = thread::spawn(move || {
        let mut guard = b.lock().unwrap();
        *guard = *guard * 10 + 2;
    });
    first.join().unwrap();
    second.join().unwrap();
    *lock.lock().unwrap()
}

#[test]
fn what_is_blocked_while_time_passes_can_come_before() {
    finds(Timeouts::Last, blocked_meanwhile, [12, 21]);
    assert_eq!(traces(Timeouts::Last, blocked_meanwhile), 2);
    fails(Timeouts::Never, "deadlock", || {
        blocked_meanwhile();
    });
}

#[test]
fn a_thread_that_sleeps_can_go_on() {
    let test = || {
        let (tx, rx) = channel();
        let sender = thread::spawn(move || {
            thread::sleep(60 * SECOND);
            tx.send(()).unwrap();
        });
        let received = rx.recv_timeout(SECOND);
        sender.join().unwrap();
        usize::from(received.is_err())
    };
    // The sender may fail to send where the receiver is gone.
    finds(Timeouts::Last, test, [0]);
    finds(Timeouts::Never, test, [0]);
}

/// A thread polls until another one has waited for its timeout.
fn polled() -> usize {
    let done = Arc::new(AtomicUsize::new(0));
    let other = done.clone();
    let waits = thread::spawn(move || {
        thread::park_timeout(SECOND);
        other.store(1, SeqCst);
    });
    while done.load(SeqCst) == 0 {
        thread::park_timeout(SECOND / 10);
    }
    waits.join().unwrap();
    0
}

#[test]
fn who_polls_does_not_keep_time_from_passing() {
    finds(Timeouts::Last, polled, [0]);
    let spins = || {
        let done = Arc::new(AtomicUsize::new(0));
        let other = done.clone();
        let waits = thread::spawn(move || {
            thread::park_timeout(SECOND);
            other.store(1, SeqCst);
        });
        while done.load(SeqCst) == 0 {
            thread::yield_now();
        }
        waits.join().unwrap();
        0
    };
    finds(Timeouts::Last, spins, [0]);
}

#[test]
fn who_polls_for_ever_is_told() {
    let test = || {
        let (tx, rx) = channel::<()>();
        while rx.recv_timeout(SECOND).is_err() {}
        drop(tx);
    };
    fails(Timeouts::Last, "livelock", test);
    fails(Timeouts::Never, "deadlock", test);
}

/// Two threads of which each polls for the other's message, which does not come.
#[test]
fn threads_that_poll_for_each_other_are_told() {
    let test = || {
        let (tx, rx) = channel::<()>();
        let (other_tx, other_rx) = channel::<()>();
        let other = thread::spawn(move || {
            while other_rx.recv_timeout(SECOND).is_err() {}
            drop(tx);
        });
        while rx.recv_timeout(2 * SECOND).is_err() {}
        drop(other_tx);
        other.join().unwrap();
    };
    fails(Timeouts::Last, "livelock", test);
}

#[test]
fn no_other_thread_goes_on_where_a_timeout_fails_the_test() {
    let test = || {
        let (tx, rx) = channel();
        let sender = thread::spawn(move || tx.send(rx_first()).unwrap());
        rx.recv_timeout(SECOND).unwrap();
        sender.join().unwrap();
    };
    // A lost wake-up, which a timeout hides as `never` shows, and at once would blame on anything.
    fails(Timeouts::Never, "deadlock", || {
        condition::<false>();
    });
    for strategy in strategies(Timeouts::Last) {
        let outcome = model(strategy, Timeouts::Last).explore(test);
        assert_eq!(outcome.report.verdict, Verdict::Complete, "{outcome}");
    }
}

fn rx_first() -> usize {
    thread::yield_now();
    1
}

#[test]
fn a_bound_on_preemptions_finds_the_same() {
    for strategy in ["source", "exhaustive", "context"] {
        let outcome = model(strategy, Timeouts::Last).preemptions(6).explore(|| {
            one_after_the_other();
        });
        assert_eq!(outcome.report.verdict, Verdict::Complete, "{outcome}");
    }
}

#[test]
fn random_walks_let_time_pass() {
    for strategy in ["random", "pct"] {
        let outcome = model(strategy, Timeouts::Last).max_executions(200).explore(|| {
            assert_eq!(order::<1, 2>(), 12);
        });
        assert!(
            matches!(outcome.report.verdict, Verdict::Incomplete { .. }),
            "{outcome}"
        );
    }
}

#[test]
fn exact_states_hold_deadlines() {
    for strategy in ["context", "cdpor1"] {
        model(strategy, Timeouts::Last).exact_states(true).check(|| {
            races();
            one_after_the_other();
        });
    }
}

#[test]
fn the_unfolding_is_refused_where_timeouts_fire_last() {
    let refused = catch_unwind(|| model("unfolding", Timeouts::Last).explore(|| ()).report).unwrap_err();
    let message = refused.downcast::<String>().unwrap();
    assert!(
        message.contains("`unfolding` cannot let timeouts fire last"),
        "{message}"
    );
}

/// The time that passes for the main thread while another one sleeps before it reads: none by reading as well, and all
/// by writing after it.
fn beside_a_reader<const WRITES: bool>() -> usize {
    let lock = Arc::new(RwLock::new(()));
    let other = Arc::clone(&lock);
    let sleeper = thread::spawn(move || {
        thread::sleep(SECOND);
        drop(other.read().unwrap());
    });
    let start = Instant::now();
    match WRITES {
        true => drop(lock.write().unwrap()),
        false => drop(lock.read().unwrap()),
    }
    let passed = usize::from(start.elapsed() >= SECOND);
    sleeper.join().unwrap();
    assert!(start.elapsed() >= SECOND);
    passed
}

#[test]
fn time_goes_from_readers_to_writers_and_not_from_readers_to_readers() {
    finds(Timeouts::Fire, beside_a_reader::<false>, [0]);
    finds(Timeouts::Fire, beside_a_reader::<true>, [0, 1]);
}

/// A thread that has slept writes to one of two numbers, by what it has read. The main thread then looks at one of them
/// first: whether it comes to know the time by the first, by the second or not at all.
fn which_carries_the_time<const FIRST: usize>() -> usize {
    let start = Instant::now();
    let numbers = Arc::new([const { AtomicUsize::new(0) }; 3]);
    let others = Arc::clone(&numbers);
    let sleeper = thread::spawn(move || {
        thread::sleep(SECOND);
        let which = others[2].load(SeqCst);
        others[which].store(0, SeqCst);
    });
    numbers[2].store(1, SeqCst);
    numbers[2].store(0, SeqCst);
    let knows_after = [FIRST, 1 - FIRST].map(|number| {
        numbers[number].load(SeqCst);
        usize::from(start.elapsed() >= SECOND)
    });
    sleeper.join().unwrap();
    knows_after.into_iter().sum()
}

#[test]
fn states_differ_by_what_carries_the_time() {
    finds(Timeouts::Fire, which_carries_the_time::<0>, [0, 1, 2]);
    finds(Timeouts::Fire, which_carries_the_time::<1>, [0, 1, 2]);
}

/// A wait times out last when all others are held back, also those of whom it was learnt elsewhere that they go round.
#[test]
fn time_passes_beside_loops_that_wait() {
    let test = || {
        let number = Arc::new(AtomicUsize::new(0));
        let children = [(); 2].map(|()| {
            let number = Arc::clone(&number);
            thread::spawn(move || while number.load(SeqCst) < 2 {})
        });
        number.store(1, SeqCst);
        thread::park_timeout(SECOND);
        number.store(2, SeqCst);
        children.into_iter().for_each(|child| child.join().unwrap());
        0
    };
    finds(Timeouts::Last, test, [0]);
    finds(Timeouts::Fire, test, [0]);
}
