//! The memory that a test finds: statics, thread-locals, hash maps, output.

use conformance::race;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, LazyLock, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

#[test]
fn statics_start_from_their_initial_values() {
    static COUNTER: AtomicUsize = AtomicUsize::new(3);
    static LIST: Mutex<Vec<u32>> = Mutex::new(Vec::new());
    static CELL: OnceLock<String> = OnceLock::new();
    static LAZY: LazyLock<Mutex<HashMap<u32, u32>>> = LazyLock::new(Default::default);
    assert_eq!(COUNTER.load(SeqCst), 3);
    assert!(LIST.lock().unwrap().is_empty());
    assert!(CELL.get().is_none());
    assert!(LAZY.lock().unwrap().is_empty());
    let body = |id| {
        COUNTER.fetch_add(1, SeqCst);
        LIST.lock().unwrap().push(id);
        LAZY.lock().unwrap().insert(id, id);
    };
    race((), move |()| body(1), move |()| body(2));
    CELL.set("set".into()).unwrap();
    assert_eq!(COUNTER.load(SeqCst), 5);
    assert_eq!(LIST.lock().unwrap().len(), 2);
}

#[test]
fn plain_statics_start_from_their_initial_values() {
    struct Plain(std::cell::UnsafeCell<[u32; 3]>);
    // SAFETY: only the test's first thread uses it.
    unsafe impl Sync for Plain {}
    static PLAIN: Plain = Plain(std::cell::UnsafeCell::new([1, 2, 3]));
    // SAFETY: as above.
    let plain = unsafe { &mut *PLAIN.0.get() };
    assert_eq!(*plain, [1, 2, 3]);
    plain[1] = 7;
    race(
        AtomicUsize::new(0),
        |x| x.fetch_add(1, SeqCst),
        |x| x.fetch_add(1, SeqCst),
    );
    assert_eq!(*plain, [1, 7, 3]);
}

thread_local! {
    static NUMBER: Cell<u32> = const { Cell::new(1) };
    static LIST: RefCell<Vec<u32>> = RefCell::new(vec![NUMBER.get()]);
}

#[test]
fn each_thread_has_its_own_locals() {
    NUMBER.set(10);
    let child = thread::spawn(|| {
        assert_eq!(NUMBER.get(), 1);
        NUMBER.set(2);
        LIST.with_borrow_mut(|list| list.push(5));
        LIST.take()
    });
    LIST.with_borrow(|list| assert_eq!(*list, [10]));
    assert_eq!(child.join().unwrap(), [2, 5]);
    assert_eq!(NUMBER.replace(0), 10);
}

#[test]
fn locals_of_two_threads_do_not_mix() {
    let body = |x: &AtomicUsize| {
        for _ in 0..2 {
            x.fetch_add(1, SeqCst);
            NUMBER.set(NUMBER.get() + 1);
        }
        NUMBER.get()
    };
    assert_eq!(race(AtomicUsize::new(0), body, body), (3, 3));
}

struct OnExit(Arc<AtomicUsize>);

impl Drop for OnExit {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

thread_local! {
    static ON_EXIT: RefCell<Option<OnExit>> = const { RefCell::new(None) };
}

#[test]
fn destructors_of_locals_run_before_join_returns() {
    let exits = Arc::new(AtomicUsize::new(0));
    let children = [(); 2].map(|()| {
        let exits = Arc::clone(&exits);
        thread::spawn(move || ON_EXIT.set(Some(OnExit(exits))))
    });
    children.into_iter().for_each(|child| child.join().unwrap());
    assert_eq!(exits.load(SeqCst), 2);
}

#[test]
fn destructors_of_locals_run_after_a_panic() {
    let exits = Arc::new(AtomicUsize::new(0));
    let child = {
        let exits = Arc::clone(&exits);
        thread::spawn(move || {
            ON_EXIT.set(Some(OnExit(exits)));
            panic!("after initialisation");
        })
    };
    assert!(child.join().is_err());
    assert_eq!(exits.load(SeqCst), 1);
}

#[test]
fn local_in_destruction_is_not_there() {
    struct Looks(Arc<AtomicUsize>);
    impl Drop for Looks {
        fn drop(&mut self) {
            let gone = LOOKS.try_with(|_| ()).is_err();
            self.0.store(1 + usize::from(gone), SeqCst);
        }
    }
    thread_local!(static LOOKS: RefCell<Option<Looks>> = const { RefCell::new(None) });
    let seen = Arc::new(AtomicUsize::new(0));
    let child = {
        let seen = Arc::clone(&seen);
        thread::spawn(move || LOOKS.set(Some(Looks(seen))))
    };
    child.join().unwrap();
    assert_eq!(seen.load(SeqCst), 2);
}

#[test]
fn hash_maps_iterate_the_same_way_in_every_execution() {
    // The order of iteration decides the order of operations: if it changed, executions could not be repeated.
    let bits: HashSet<usize> = (0..4).map(|i| 1 << i).collect();
    let shared = Arc::new([const { AtomicUsize::new(0) }; 2]);
    let child = {
        let shared = Arc::clone(&shared);
        thread::spawn(move || shared[0].fetch_add(1, SeqCst))
    };
    for bit in bits {
        shared[usize::from(bit > 2)].fetch_add(bit << 1, SeqCst);
    }
    child.join().unwrap();
    assert_eq!(shared[0].load(SeqCst) + shared[1].load(SeqCst), 31);
}

#[test]
fn hash_maps_in_every_thread() {
    let (a, b) = race(
        Mutex::new(HashMap::new()),
        |map| map.lock().unwrap().insert("a", 1),
        |map| map.lock().unwrap().insert("b", 2),
    );
    assert_eq!((a, b), (None, None));
}

#[test]
fn output_is_allowed() {
    print!("begin ");
    println!("of the output");
    eprint!("begin ");
    eprintln!("of the errors");
    let value = dbg!(1 + 1);
    race(
        AtomicUsize::new(0),
        move |x| println!("first {value} {}", x.fetch_add(1, SeqCst)),
        |x| println!("second {}", x.fetch_add(1, SeqCst)),
    );
}

#[test]
fn time_goes_on() {
    let start = Instant::now();
    let wall = SystemTime::now();
    thread::sleep(Duration::from_millis(2));
    assert!(Instant::now().duration_since(start) >= Duration::from_millis(2));
    assert!(wall.elapsed().is_ok());
    assert!(wall > SystemTime::UNIX_EPOCH);
    assert!(start.checked_add(Duration::from_secs(1)).unwrap() > start);
}

#[test]
fn time_is_passed_on_with_messages() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let child = thread::spawn(move || sender.send(Instant::now()).unwrap());
    let sent = receiver.recv().unwrap();
    assert!(Instant::now() >= sent);
    child.join().unwrap();
}

#[test]
fn deadline_loop_ends() {
    let deadline = Instant::now() + Duration::from_millis(5);
    let child = thread::spawn(move || {
        while Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
    });
    child.join().unwrap();
}

#[test]
fn large_and_zeroed_allocations() {
    let zeroes = vec![0_u8; 1 << 20];
    assert!(zeroes.iter().all(|byte| *byte == 0));
    let mut grown = Vec::new();
    (0..10_000_u32).for_each(|i| grown.push(i));
    let sum = thread::spawn(move || grown.iter().map(|i| u64::from(*i)).sum::<u64>())
        .join()
        .unwrap();
    assert_eq!(sum, 49_995_000);
}
