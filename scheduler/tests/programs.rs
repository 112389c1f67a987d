//! Explores small programs written directly against the scheduler.

mod common;

use common::{Handle, Lock, Register, spawn};
use dpor_explorer::{Explorer, Failure, Limits, Report, Strategy, Verdict};
use dpor_scheduler::{Options, Program};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};

fn explore(strategy: Strategy, body: impl Fn() -> Result<(), Failure> + 'static) -> Report {
    let program = Program::new(Options::default(), body).unwrap();
    Explorer::new(program, strategy, Limits::default()).run(&mut ())
}

fn complete(strategy: Strategy, body: impl Fn() + 'static) -> u64 {
    let report = explore(strategy, move || {
        body();
        Ok(())
    });
    assert_eq!(report.verdict, Verdict::Complete, "{:?}", report.statistics);
    assert_eq!(report.statistics.cut, 0);
    report.statistics.complete
}

fn writers(n: i64) -> impl Fn() + 'static {
    move || {
        let x = Register::new();
        let handles: Vec<_> = (0..n)
            .map(|i| {
                let x = Rc::clone(&x);
                spawn(move || x.store(i))
            })
            .collect();
        handles.into_iter().for_each(Handle::join);
    }
}

#[test]
fn last_write_has_factorially_many_traces() {
    for (n, expected) in [(1, 1), (2, 2), (3, 6), (4, 24), (5, 120)] {
        assert_eq!(complete(Strategy::Source, writers(n)), expected, "n = {n}");
    }
}

/// Three threads with two critical sections each.
fn counter() -> impl Fn() + 'static {
    || {
        let lock = Lock::new();
        let count = Rc::new(Cell::new(0));
        let handles: Vec<_> = (0..3)
            .map(|_| {
                let (lock, count) = (Rc::clone(&lock), Rc::clone(&count));
                spawn(move || {
                    for _ in 0..2 {
                        lock.lock();
                        count.set(count.get() + 1);
                        lock.unlock();
                    }
                })
            })
            .collect();
        handles.into_iter().for_each(Handle::join);
        assert_eq!(count.get(), 6);
    }
}

#[test]
fn critical_sections_are_single_steps() {
    assert_eq!(complete(Strategy::Source, counter()), 90);
}

const UNFOLDING: Strategy = Strategy::Unfolding { partial: None };

#[test]
fn an_unfolding_has_each_trace_once() {
    for (n, expected) in [(1, 1), (2, 2), (3, 6), (4, 24)] {
        assert_eq!(complete(UNFOLDING, writers(n)), expected, "n = {n}");
    }
    assert_eq!(complete(UNFOLDING, counter()), 90);
    assert_eq!(complete(UNFOLDING, spinning), 2);
    assert_eq!(complete(UNFOLDING, allocating), 2);
}

#[test]
fn an_unfolding_finds_failures() {
    for body in [opposite_locks, lost_update, counted_looks] {
        let [source, unfolding] = [Strategy::Source, UNFOLDING].map(|strategy| explore(strategy, body).verdict);
        let kind = |verdict| match verdict {
            Verdict::Failed { failure, .. } => failure.kind,
            verdict => panic!("{verdict:?}"),
        };
        assert_eq!(kind(unfolding), kind(source));
    }
}

fn opposite_locks() -> Result<(), Failure> {
    let (a, b) = (Lock::new(), Lock::new());
    let (a2, b2) = (Rc::clone(&a), Rc::clone(&b));
    let other = spawn(move || {
        b2.lock();
        a2.lock();
        a2.unlock();
        b2.unlock();
    });
    a.lock();
    b.lock();
    b.unlock();
    a.unlock();
    other.join();
    Ok(())
}

#[test]
fn opposite_lock_order_deadlocks() {
    let report = explore(Strategy::Source, opposite_locks);
    let Verdict::Failed { failure, .. } = report.verdict else {
        panic!("{report:?}")
    };
    assert_eq!(failure.kind, "deadlock");
    assert!(failure.message.contains("tests/programs.rs"), "{}", failure.message);
}

fn lost_update() -> Result<(), Failure> {
    let x = Register::new();
    let y = Rc::clone(&x);
    let other = spawn(move || y.store(y.load() + 1));
    x.store(x.load() + 1);
    other.join();
    assert_eq!(x.load(), 2, "lost");
    Ok(())
}

#[test]
fn a_lost_update_is_found_and_a_panic_names_its_place() {
    let report = explore(Strategy::Source, lost_update);
    let Verdict::Failed { failure, .. } = report.verdict else {
        panic!("{report:?}")
    };
    assert_eq!(failure.kind, "panic");
    assert!(
        failure.message.contains("lost") && failure.message.contains("programs.rs"),
        "{}",
        failure.message
    );
}

fn spinning() {
    let flag = Register::new();
    let set = Rc::clone(&flag);
    let other = spawn(move || set.store(1));
    while flag.load() == 0 {}
    other.join();
}

#[test]
fn a_spin_loop_is_a_wait() {
    // The store before the first look, after it, and (held back) no further.
    assert_eq!(complete(Strategy::Source, spinning), 2);
}

/// A thread spins on two registers, while another writes one that it does not look at, and then these.
fn spinning_on_two() {
    let [a, b, unseen] = [(); 3].map(|()| Register::new());
    let (set_a, set_b) = (Rc::clone(&a), Rc::clone(&b));
    let other = spawn(move || {
        unseen.store(1);
        set_a.store(1);
        set_b.store(1);
    });
    loop {
        scrub();
        if both_set(&a, &b) {
            break;
        }
    }
    other.join();
}

/// Looks once at each. Not inlined, or the loop may keep what it has loaded in a register while it loads anew: a round
/// that comes after other values would begin differently.
#[inline(never)]
fn both_set(a: &Register, b: &Register) -> bool {
    a.load() + b.load() == 2
}

/// Overwrites what calls have left on the stack, for the same reason.
#[inline(never)]
fn scrub() {
    std::hint::black_box([0_u8; 4096]);
}

#[test]
fn what_a_spin_loop_waits_for_does_not_depend_on_the_order_of_independent_steps() {
    // A round is a look at `a` and one at `b`. The first finds 11, or 10, after which the thread waits for `b`, or 01,
    // after which it is done in another, or 00. Then it waits for a change of either, and what it does next is in order
    // with both writes: it finds 11 after both, or 11 after the first, or 10.
    let [source, unfolding] = [Strategy::Source, UNFOLDING].map(|strategy| complete(strategy, spinning_on_two));
    assert_eq!((source, unfolding), (6, 6));
}

#[test]
fn a_spin_loop_that_nobody_ends_is_a_livelock() {
    let report = explore(Strategy::Source, || {
        let flag = Register::new();
        while flag.load() == 0 {}
        Ok(())
    });
    let Verdict::Failed { failure, .. } = report.verdict else {
        panic!("{report:?}")
    };
    assert_eq!(failure.kind, "livelock");
}

fn counted_looks() -> Result<(), Failure> {
    let flag = Register::new();
    let set = Rc::clone(&flag);
    let other = spawn(move || set.store(1));
    let looks = (0..5).take_while(|_| flag.load() == 0).count();
    other.join();
    assert_ne!(looks, 5);
    Ok(())
}

#[test]
fn a_counted_loop_is_no_spin_loop() {
    // The thread gives up after five looks: that outcome must not be lost.
    let report = explore(Strategy::Source, counted_looks);
    assert!(matches!(report.verdict, Verdict::Failed { .. }), "{report:?}");
}

fn allocating() {
    let x = Register::new();
    let y = Rc::clone(&x);
    let other = spawn(move || y.store(7));
    let block = std::hint::black_box(vec![0u8; 100]);
    assert!(block.iter().all(|&byte| byte == 0));
    x.store(1);
    other.join();
    let text = format!("{}", x.load());
    assert!(["1", "7"].contains(&text.as_str()));
}

#[test]
fn memory_is_fresh_in_every_execution() {
    assert_eq!(complete(Strategy::Source, allocating), 2);
    assert_eq!(complete(Strategy::Exhaustive, allocating), 2);
}

static COUNTER: AtomicI64 = AtomicI64::new(5);
static LATE: OnceLock<Vec<i64>> = OnceLock::new();

#[test]
fn statics_have_their_first_value_in_every_execution() {
    let body = || {
        let x = Register::new();
        let y = Rc::clone(&x);
        let other = spawn(move || y.store(1));
        x.store(2);
        assert_eq!(COUNTER.fetch_add(1, Ordering::Relaxed), 5);
        assert!(LATE.get().is_none());
        assert_eq!(LATE.get_or_init(|| vec![3; 50])[49], 3);
        other.join();
    };
    assert_eq!(complete(Strategy::Source, body), 2);
    assert_eq!(COUNTER.load(Ordering::Relaxed), 5);
}

#[test]
fn freeing_twice_is_a_failure() {
    let report = explore(Strategy::Source, || {
        let block = std::hint::black_box(Box::into_raw(Box::new(7u64)));
        // SAFETY: none; the point is that the second free is reported.
        unsafe {
            drop(Box::from_raw(block));
            drop(Box::from_raw(block));
        }
        Ok(())
    });
    let Verdict::Failed { failure, .. } = report.verdict else {
        panic!("{report:?}")
    };
    assert_eq!(failure.kind, "double-free");
}

#[test]
fn a_suspended_unwind_does_not_make_other_threads_look_panicking() {
    struct Stores(Rc<Register>);
    impl Drop for Stores {
        fn drop(&mut self) {
            assert!(std::thread::panicking());
            self.0.store(1);
            assert!(std::thread::panicking());
        }
    }
    let body = || {
        let x = Register::new();
        let y = Rc::clone(&x);
        let other = spawn(move || {
            let guard = Stores(y);
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
                let _guard = guard;
                panic!("on purpose");
            }));
            assert!(caught.is_err());
        });
        assert!(!std::thread::panicking());
        x.store(2);
        assert!(!std::thread::panicking());
        other.join();
    };
    assert_eq!(complete(Strategy::Source, body), 2);
}

#[test]
fn a_hash_map_iterates_alike_in_every_execution() {
    let orders: Rc<RefCell<Vec<Vec<u64>>>> = Rc::default();
    let seen = Rc::clone(&orders);
    let body = move || {
        let x = Register::new();
        let y = Rc::clone(&x);
        let other = spawn(move || y.store(1));
        x.store(2);
        other.join();
        let map: HashMap<u32, u32> = (0..20).map(|i| (i, i)).collect();
        let order = map
            .into_keys()
            .fold(0u64, |hash, key| hash.wrapping_mul(31) + u64::from(key));
        seen.borrow_mut()[0].push(order);
    };
    orders.borrow_mut().push(Vec::with_capacity(8));
    assert_eq!(complete(Strategy::Source, body), 2);
    let orders = &orders.borrow()[0];
    assert_eq!(orders.len(), 2);
    assert_eq!(orders[0], orders[1]);
}
