// Included twice, with `lib` being std and the shim.

use lib::sync::Mutex;
use lib::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use lib::sync::mpsc::channel;
use lib::thread::{self, Builder};
use lib::time::{Duration, Instant};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

#[test]
fn join() {
    let thread = thread::spawn(|| thread::current().id());
    let id = thread.thread().id();
    assert_eq!(format!("{thread:?}"), "JoinHandle { .. }");
    assert_eq!(thread.join().unwrap(), id);
    assert_ne!(id, thread::current().id());
    let payload = thread::spawn(|| -> u8 { std::panic::panic_any(7u8) })
        .join()
        .unwrap_err();
    assert_eq!(*payload.downcast::<u8>().unwrap(), 7);
}

#[test]
fn names() {
    let name = || thread::current().name().map(String::from);
    assert_eq!(thread::spawn(name).join().unwrap(), None);
    let builder = Builder::new().name("worker".to_string()).stack_size(1 << 16);
    assert!(format!("{builder:?}").starts_with("Builder { name: Some(\"worker\"), stack_size: Some(65536)"));
    let thread = builder.spawn(name).unwrap();
    assert_eq!(thread.thread().name(), Some("worker"));
    assert!(format!("{:?}", thread.thread()).ends_with("name: Some(\"worker\"), .. }"));
    assert_eq!(thread.join().unwrap().unwrap(), "worker");
    assert!(catch_unwind(|| Builder::new().name("a\0b".to_string()).spawn(|| {})).is_err());
}

#[test]
fn parking() {
    let (tx, rx) = channel();
    let thread = thread::spawn(move || {
        thread::park();
        tx.send(()).unwrap();
    });
    thread.thread().unpark();
    rx.recv().unwrap();
    thread.join().unwrap();
    thread::current().unpark();
    thread::current().unpark();
    thread::park();
    let start = Instant::now();
    thread::park_timeout(Duration::from_millis(5));
    #[allow(deprecated)]
    thread::park_timeout_ms(1);
    assert!(start.elapsed() >= Duration::from_millis(5));
    #[allow(deprecated)]
    thread::sleep_ms(1);
    assert!(thread::available_parallelism().is_ok() && !thread::panicking());
}

#[test]
fn finished() {
    let (tx, rx) = channel::<()>();
    let thread = thread::spawn(move || _ = rx.recv());
    assert!(!thread.is_finished());
    drop(tx);
    while !thread.is_finished() {
        thread::yield_now();
    }
    thread.join().unwrap();
}

#[test]
fn detached_results_are_dropped() {
    struct Tells(Arc<AtomicBool>);
    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let dropped = Arc::new(AtomicBool::new(false));
    let tells = Tells(dropped.clone());
    drop(thread::spawn(move || tells));
    while !dropped.load(Ordering::SeqCst) {
        thread::yield_now();
    }
}

#[test]
fn scopes() {
    let mut text = "a".to_string();
    let count = AtomicUsize::new(0);
    let (sum, name) = thread::scope(|scope| {
        let first = scope.spawn(|| {
            text.push('b');
            text.len()
        });
        scope.spawn(|| scope.spawn(|| count.fetch_add(1, Ordering::SeqCst)));
        let named = Builder::new().name("named".into());
        let second = named
            .spawn_scoped(scope, || thread::current().name().map(String::from))
            .unwrap();
        assert!(format!("{scope:?}").starts_with("Scope { num_running_threads: "));
        assert_eq!(
            (format!("{second:?}").as_str(), second.thread().name()),
            ("ScopedJoinHandle { .. }", Some("named"))
        );
        while !second.is_finished() {
            thread::yield_now();
        }
        (first.join().unwrap() + 1, second.join().unwrap())
    });
    assert_eq!((sum, name.as_deref(), text.as_str()), (3, Some("named"), "ab"));
    assert_eq!(count.into_inner(), 1);
}

#[test]
fn scopes_panic() {
    let message = |result: thread::Result<()>| {
        let payload = result.unwrap_err();
        payload.downcast_ref::<&str>().unwrap().to_string()
    };
    let unjoined = catch_unwind(|| {
        thread::scope(|scope| {
            scope.spawn(|| panic!("not joined"));
        });
    });
    assert_eq!(message(unjoined), "a scoped thread panicked");
    assert!(thread::scope(|scope| scope.spawn(|| panic!("joined")).join()).is_err());
    let itself = catch_unwind(|| {
        thread::scope(|scope| {
            scope.spawn(|| thread::sleep(Duration::from_millis(1)));
            panic!("itself");
        });
    });
    assert_eq!(message(itself), "itself");
}

static LOG: Mutex<Vec<&str>> = Mutex::new(Vec::new());

struct Logs(&'static str);

impl Drop for Logs {
    fn drop(&mut self) {
        LOG.lock().unwrap().push(self.0);
        if self.0 == "first" {
            // A value that a destructor initialises is destroyed too; one that is gone is refused.
            LATE.with(|_| {});
            assert!(SECOND.try_with(|_| {}).is_err());
            assert!(catch_unwind(|| SECOND.with(|_| {})).is_err());
            assert!(FIRST.try_with(|_| {}).is_err());
            assert_eq!(PLAIN.get(), 5);
        }
    }
}

lib::thread_local! {
    /// With a comment.
    static FIRST: Logs = Logs("first");
    pub(crate) static SECOND: Logs = const { Logs("second") };
    static LATE: Logs = Logs("late");
    static UNUSED: Logs = const { Logs("unused") };
    static PLAIN: Cell<u8> = const { Cell::new(4) };
    static LIST: RefCell<Vec<u8>> = RefCell::new(vec![1]);
    static TEXT: &'static str = "text"
}

#[test]
fn thread_locals_are_destroyed() {
    thread::spawn(|| {
        PLAIN.set(5);
        FIRST.with(|value| assert_eq!(value.0, "first"));
        SECOND.with(|_| {});
    })
    .join()
    .unwrap();
    assert_eq!(*LOG.lock().unwrap(), ["second", "first", "late"]);
}

#[test]
fn thread_locals_have_methods() {
    assert_eq!((PLAIN.get(), PLAIN.replace(6), PLAIN.take(), PLAIN.get()), (4, 4, 6, 0));
    thread::spawn(|| assert_eq!(PLAIN.get(), 4)).join().unwrap();
    LIST.with_borrow_mut(|list| list.push(2));
    assert_eq!(LIST.with_borrow(Vec::len), 2);
    assert_eq!(LIST.replace(vec![]), [1, 2]);
    LIST.set(vec![3]);
    assert_eq!(LIST.take(), [3]);
    assert_eq!(TEXT.with(|text| text.len()), 4);
    assert_eq!(format!("{TEXT:?}"), "LocalKey { .. }");
    assert!(catch_unwind(AssertUnwindSafe(|| LIST.with_borrow(|_| LIST.set(vec![])))).is_err());
    lib::thread_local!();
    lib::thread_local!(static INNER: u8 = 1);
    assert_eq!(INNER.try_with(|value| *value), Ok(1));
    assert!(format!("{UNUSED:?}").starts_with("LocalKey"));
}

#[test]
fn printing() {
    lib::print!("");
    lib::println!("{} {x}", 1, x = 2);
    lib::println!();
    lib::eprint!("{}", 0);
    lib::eprintln!("text");
    assert_eq!(lib::dbg!(1 + 1), 2);
    assert_eq!(lib::dbg!(1, "two"), (1, "two"));
    lib::dbg!();
}
