//! Small programs, and how their threads interact.

use super::*;
use crate::runner::body::Body;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Arc, Mutex, mpsc};
use crate::thread;
use dpor_explorer::{End, Explorer, Limits, Observer, Statistics, Strategy, Verdict};
use dpor_scheduler::{Memory, Options};
use std::ops::ControlFlow;

struct Looking(Sharing);

impl Observer<Program> for Looking {
    fn execution(&mut self, program: &mut Program, _: &End, trace: &Trace, _: &Statistics) -> ControlFlow<()> {
        self.0.look(program, trace);
        ControlFlow::Continue(())
    }
}

fn explored(test: fn(), strategy: &str, memory: Memory) -> SharingReport {
    let strategy: Strategy = strategy.parse().unwrap();
    let body = Body::new("test".to_owned(), None, test);
    let mut program = Program::new(Options::default().with_memory(memory), move || body.run()).unwrap();
    program.compare_states(strategy.compares_states());
    let mut explorer = Explorer::new(program, strategy, Limits::default());
    let mut looking = Looking(Sharing::default());
    assert_eq!(explorer.run(&mut looking).verdict, Verdict::Complete);
    looking.0.report(explorer.system())
}

/// Whether there is a conflict, and the racing operations with weak orderings. The same under all strategies; and under
/// weak memory there is a conflict, too.
fn sharing(test: fn()) -> (bool, Vec<String>) {
    const STRATEGIES: [&str; 4] = ["context", "states", "source", "exhaustive"];
    let all = STRATEGIES.map(|strategy| explored(test, strategy, Memory::Sc));
    let [report, others @ ..] = &all;
    assert!(others.iter().all(|other| other == report), "{all:?}");
    for strategy in STRATEGIES {
        let weak = explored(test, strategy, Memory::Rc11);
        assert_eq!((weak.conflict, weak.weak.len()), (report.conflict, 0), "{strategy}");
    }
    let weak = report.weak.iter().map(|weak| {
        let place = weak.location.as_ref().expect("the place is known");
        assert!(place.file.ends_with("sharing/tests.rs") && place.line > 0 && place.column > 0);
        format!("{} {}", weak.operation, weak.orderings)
    });
    (report.conflict, weak.collect())
}

fn two_threads(left: impl FnOnce() + Send + 'static, right: impl FnOnce() + Send + 'static) {
    let threads = [thread::spawn(left), thread::spawn(right)];
    for thread in threads {
        thread.join().unwrap();
    }
}

fn with_atomic(left: fn(&AtomicUsize), right: fn(&AtomicUsize)) {
    let atomic = Arc::new(AtomicUsize::new(0));
    let (first, second) = (Arc::clone(&atomic), Arc::clone(&atomic));
    two_threads(move || left(&first), move || right(&second));
}

#[test]
fn threads_that_are_only_waited_for_share_nothing() {
    assert_eq!(sharing(|| {}), (false, vec![]));
    assert_eq!(sharing(|| two_threads(|| {}, || {})), (false, vec![]));
    let scoped = || {
        thread::scope(|scope| {
            scope.spawn(|| Mutex::new(1).lock().is_ok());
            scope.spawn(|| AtomicUsize::new(1).store(2, Ordering::Relaxed));
        });
    };
    assert_eq!(sharing(scoped), (false, vec![]));
    // A handle whose result has a destructor.
    assert_eq!(sharing(|| drop(thread::spawn(|| vec![1]))), (false, vec![]));
}

#[test]
fn reading_alone_is_no_conflict() {
    fn read() {
        static ATOMIC: AtomicUsize = AtomicUsize::new(0);
        assert_eq!(ATOMIC.load(Ordering::Relaxed), 0);
    }
    assert_eq!(sharing(|| two_threads(read, read)), (false, vec![]));
}

#[test]
fn what_is_shared_is_found() {
    let (conflict, weak) = sharing(|| {
        let number = Arc::new(Mutex::new(0));
        let other = Arc::clone(&number);
        two_threads(
            move || *number.lock().unwrap() += 1,
            move || *other.lock().unwrap() += 1,
        );
    });
    assert_eq!((conflict, weak), (true, vec![]));
    let (conflict, weak) = sharing(|| {
        let (sender, receiver) = mpsc::channel();
        two_threads(
            move || sender.send(1).unwrap(),
            move || assert_eq!(receiver.recv(), Ok(1)),
        );
    });
    assert_eq!((conflict, weak), (true, vec![]));
}

#[test]
fn racing_operations_with_weak_orderings_are_listed() {
    let (conflict, weak) = sharing(|| {
        with_atomic(
            |atomic| atomic.store(1, Ordering::Release),
            |atomic| {
                atomic.load(Ordering::SeqCst);
                let _ = atomic.compare_exchange(1, 2, Ordering::AcqRel, Ordering::Relaxed);
            },
        );
    });
    assert!(conflict);
    assert_eq!(weak, ["store Release", "compare-exchange AcqRel, Relaxed"]);
    let strong = || {
        with_atomic(
            |atomic| atomic.store(1, Ordering::SeqCst),
            |atomic| assert!(atomic.fetch_add(1, Ordering::SeqCst) < 2),
        );
    };
    assert_eq!(sharing(strong), (true, vec![]));
}

#[test]
fn what_does_not_race_is_not_listed() {
    // Before the threads begin, after they have ended, and on what only one of them has.
    let (_, weak) = sharing(|| {
        let atomic = Arc::new(AtomicUsize::new(0));
        atomic.store(1, Ordering::Relaxed);
        let (first, second) = (Arc::clone(&atomic), Arc::clone(&atomic));
        two_threads(
            move || {
                first.fetch_add(1, Ordering::SeqCst);
                AtomicUsize::new(1).store(2, Ordering::Relaxed);
            },
            move || {
                second.fetch_add(1, Ordering::SeqCst);
            },
        );
        assert_eq!(atomic.load(Ordering::Relaxed), 3);
    });
    assert_eq!(weak, [""; 0]);
}

#[test]
fn what_a_lock_orders_does_not_race() {
    let (conflict, weak) = sharing(|| {
        let shared = Arc::new((Mutex::new(()), AtomicUsize::new(0)));
        let add = |shared: Arc<(Mutex<()>, AtomicUsize)>| {
            let guard = shared.0.lock().unwrap();
            shared.1.fetch_add(1, Ordering::Relaxed);
            drop(guard);
        };
        let other = Arc::clone(&shared);
        two_threads(move || add(shared), move || add(other));
    });
    assert!(conflict);
    assert_eq!(weak, [""; 0]);
}
