//! Threads: spawn, join, scopes, park, names, ids, many.

use conformance::unless;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

#[test]
fn spawn_happens_before_and_join_after() {
    let x = Arc::new(AtomicUsize::new(0));
    x.store(1, SeqCst);
    let child = {
        let x = Arc::clone(&x);
        thread::spawn(move || x.swap(2, SeqCst))
    };
    assert_eq!(child.join().unwrap(), 1);
    assert_eq!(x.load(SeqCst), 2);
}

#[test]
fn eight_threads() {
    let handles: Vec<_> = (0..8)
        .map(|i| {
            thread::spawn(move || {
                let own = Mutex::new(i);
                *own.lock().unwrap() += 1;
                own.into_inner().unwrap()
            })
        })
        .collect();
    assert_eq!(
        handles.into_iter().map(|handle| handle.join().unwrap()).sum::<i32>(),
        36
    );
}

#[test]
fn six_threads_on_one_lock() {
    let sum = Arc::new(Mutex::new(0));
    let handles: Vec<_> = (0..6)
        .map(|i| {
            let sum = Arc::clone(&sum);
            thread::spawn(move || *sum.lock().unwrap() += i)
        })
        .collect();
    handles.into_iter().for_each(|handle| handle.join().unwrap());
    assert_eq!(*sum.lock().unwrap(), 15);
}

#[test]
fn a_hundred_threads_one_after_another() {
    let sum: usize = (0..100).map(|i| thread::spawn(move || i).join().unwrap()).sum();
    assert_eq!(sum, 4950);
}

#[test]
fn threads_start_threads() {
    fn tree(depth: u32) -> u32 {
        if depth == 0 {
            return 1;
        }
        let children = [(); 2].map(|()| thread::spawn(move || tree(depth - 1)));
        children.into_iter().map(|child| child.join().unwrap()).sum()
    }
    assert_eq!(tree(3), 8);
}

#[test]
fn detached_thread_runs_on() {
    static DONE: AtomicBool = AtomicBool::new(false);
    thread::spawn(|| DONE.store(true, SeqCst));
}

#[test]
fn detached_thread_may_block_for_ever() {
    thread::spawn(thread::park);
}

#[test]
fn fail_join_of_a_blocked_thread_deadlocks() {
    thread::spawn(|| {
        loop {
            thread::park();
        }
    })
    .join()
    .unwrap()
}

fn is_finished_early() -> bool {
    let child = thread::spawn(|| ());
    let finished = child.is_finished();
    child.join().unwrap();
    finished
}

#[test]
fn reach_is_finished() {
    unless(is_finished_early());
}

#[test]
fn reach_is_not_finished() {
    unless(!is_finished_early());
}

#[test]
fn waiting_for_is_finished_ends() {
    let child = thread::spawn(|| 5);
    while !child.is_finished() {
        thread::yield_now();
    }
    assert_eq!(child.join().unwrap(), 5);
}

#[test]
fn names_and_ids() {
    let named = Builder::new().name("worker".into()).stack_size(256 * 1024);
    let named = named
        .spawn(|| (thread::current().name().map(String::from), thread::current().id()))
        .unwrap();
    let id = named.thread().id();
    assert_eq!(named.thread().name(), Some("worker"));
    assert_eq!(named.join().unwrap(), (Some("worker".into()), id));
    assert_eq!(
        thread::spawn(|| thread::current().name().map(String::from))
            .join()
            .unwrap(),
        None
    );
    let ids: HashSet<_> = (0..4)
        .map(|_| thread::spawn(|| thread::current().id()).join().unwrap())
        .collect();
    assert_eq!(ids.len(), 4);
    assert!(!ids.contains(&thread::current().id()));
    assert_eq!(thread::current().id(), thread::current().id());
}

#[test]
fn there_is_parallelism() {
    assert!(thread::available_parallelism().unwrap().get() >= 1);
}

#[test]
fn unpark_before_park_is_kept() {
    thread::current().unpark();
    thread::park();
}

#[test]
fn unpark_is_not_lost() {
    let flag = Arc::new(AtomicBool::new(false));
    let child = {
        let flag = Arc::clone(&flag);
        thread::spawn(move || {
            while !flag.load(SeqCst) {
                thread::park();
            }
        })
    };
    flag.store(true, SeqCst);
    child.thread().unpark();
    child.join().unwrap();
}

#[test]
fn fail_two_unparks_are_one() {
    let main = thread::current();
    main.unpark();
    main.unpark();
    thread::park();
    thread::park();
}

#[test]
fn fail_unparks_may_merge() {
    let main = thread::current();
    let child = thread::spawn(move || {
        main.unpark();
        main.unpark();
    });
    thread::park();
    thread::park();
    child.join().unwrap();
}

#[test]
fn unparks_between_parks_do_not_merge() {
    let main = thread::current();
    let (ask, asked) = std::sync::mpsc::channel();
    let child = thread::spawn(move || asked.iter().for_each(|()| main.unpark()));
    for _ in 0..2 {
        ask.send(()).unwrap();
        thread::park();
    }
    drop(ask);
    child.join().unwrap();
}

#[test]
fn fail_sleeping_for_ever_is_a_deadlock() {
    thread::sleep(Duration::from_secs(u64::MAX));
}

#[test]
fn who_sleeps_for_ever_is_left_behind() {
    thread::spawn(|| thread::sleep(Duration::MAX));
}

#[test]
fn park_with_an_endless_timeout_waits_for_unpark() {
    let main = thread::current();
    let unparked = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&unparked);
    let child = thread::spawn(move || {
        set.store(true, SeqCst);
        main.unpark();
    });
    thread::park_timeout(Duration::MAX);
    assert!(unparked.load(SeqCst));
    child.join().unwrap();
}

#[test]
fn park_timeout_ends() {
    thread::park_timeout(Duration::from_millis(5));
}

#[test]
fn sleep_takes_time() {
    let start = Instant::now();
    thread::sleep(Duration::from_millis(20));
    assert!(start.elapsed() >= Duration::from_millis(20));
}

fn sleeper_first() -> bool {
    let slept = Arc::new(AtomicBool::new(false));
    let child = {
        let slept = Arc::clone(&slept);
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(5));
            slept.store(true, SeqCst);
        })
    };
    let first = slept.load(SeqCst);
    child.join().unwrap();
    first
}

#[test]
fn reach_sleeper_comes_first() {
    unless(sleeper_first());
}

#[test]
fn reach_sleeper_comes_last() {
    unless(!sleeper_first());
}

#[test]
fn scope_borrows_and_joins() {
    let mut numbers = vec![1, 2];
    let counter = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            counter.fetch_add(numbers.len(), SeqCst);
            scope.spawn(|| counter.fetch_add(1, SeqCst));
        });
        scope.spawn(|| counter.fetch_add(1, SeqCst));
    });
    numbers.push(3);
    assert_eq!(counter.into_inner(), 4);
}

#[test]
fn scoped_threads_give_results() {
    let text = String::from("text");
    let (a, b) = thread::scope(|scope| {
        let a = scope.spawn(|| text.len());
        let b = Builder::new()
            .name("b".into())
            .spawn_scoped(scope, || thread::current().name().map(str::len))
            .unwrap();
        assert_eq!(b.thread().name(), Some("b"));
        (a.join().unwrap(), b.join().unwrap())
    });
    assert_eq!((a, b), (4, Some(1)));
}

#[test]
#[should_panic(expected = "a scoped thread panicked")]
fn panic_in_a_scope_comes_out() {
    thread::scope(|scope| {
        scope.spawn(|| panic!("inside"));
    });
}

#[test]
fn panic_in_a_scope_is_taken_by_join() {
    thread::scope(|scope| {
        assert!(scope.spawn(|| panic!("inside")).join().is_err());
    });
}

#[test]
fn scope_waits_though_its_body_panics() {
    let done = AtomicBool::new(false);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        thread::scope(|scope| {
            scope.spawn(|| done.store(true, SeqCst));
            panic!("body");
        })
    }));
    assert!(result.is_err());
    assert!(done.load(SeqCst));
}

#[test]
fn results_are_dropped_with_the_handle() {
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let drops = Arc::new(AtomicUsize::new(0));
    let child = {
        let drops = Arc::clone(&drops);
        thread::spawn(move || Counted(drops))
    };
    drop(child.join().unwrap());
    assert_eq!(drops.load(SeqCst), 1);
}
