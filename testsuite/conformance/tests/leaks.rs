//! Leaks and non-leaks for `--leaks`. Under it, tests called `leak_…` must fail, and all others must not.

use std::cell::{Cell, RefCell};
use std::hint::black_box;
use std::panic;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, LazyLock, Mutex, OnceLock, RwLock, Weak, mpsc};
use std::thread;
use std::time::Duration;

#[derive(Default)]
struct Node {
    next: Mutex<Option<Arc<Node>>>,
}

#[test]
fn leak_of_a_forgotten_box() {
    std::mem::forget(black_box(Box::new([1u64; 3])));
}

#[test]
fn leak_of_a_cycle() {
    let (a, b) = (Arc::new(Node::default()), Arc::new(Node::default()));
    *a.next.lock().unwrap() = Some(Arc::clone(&b));
    *b.next.lock().unwrap() = Some(a);
}

#[test]
fn leak_of_what_a_leaked_block_refers_to() {
    std::mem::forget(black_box(vec![String::from("one"), String::from("two")]));
}

#[test]
fn leak_in_one_order_only() {
    let slot = Arc::new(AtomicPtr::new(std::ptr::null_mut()));
    let other = Arc::clone(&slot);
    let handle = thread::spawn(move || other.store(Box::into_raw(Box::new(1)), SeqCst));
    // If the other thread comes first, this takes its block away.
    slot.swap(std::ptr::null_mut(), SeqCst);
    handle.join().unwrap();
    let last = slot.load(SeqCst);
    if !last.is_null() {
        // SAFETY: made by `into_raw`, and taken away by nobody.
        drop(unsafe { Box::from_raw(last) });
    }
}

#[test]
fn leak_by_a_thread() {
    thread::spawn(|| std::mem::forget(black_box(Arc::new(5))))
        .join()
        .unwrap();
}

#[test]
fn leak_of_what_only_an_ended_thread_knew() {
    thread::spawn(|| {
        let known = Box::leak(black_box(Box::new(7)));
        assert_eq!(*known, 7);
    })
    .join()
    .unwrap();
}

#[test]
fn leak_of_a_result_that_nobody_takes() {
    let handle = thread::spawn(|| vec![1, 2, 3]);
    std::mem::forget(handle);
}

#[test]
fn statics_keep_what_they_refer_to() {
    static CELL: OnceLock<&'static str> = OnceLock::new();
    static LAZY: LazyLock<Mutex<Vec<Box<u32>>>> = LazyLock::new(|| Mutex::new(vec![Box::new(1)]));
    static RAW: AtomicPtr<u64> = AtomicPtr::new(std::ptr::null_mut());
    CELL.set(Box::leak(String::from("kept").into_boxed_str())).unwrap();
    let other = thread::spawn(|| LAZY.lock().unwrap().push(Box::new(2)));
    LAZY.lock().unwrap().push(Box::new(3));
    // In the middle of the block.
    let block: &'static mut [u64] = Box::leak(Box::new([0; 8]));
    RAW.store(&raw mut block[5], SeqCst);
    other.join().unwrap();
}

#[test]
fn threads_that_wait_for_ever_keep_what_is_on_their_stacks() {
    let (sender, receiver) = mpsc::channel::<()>();
    thread::spawn(move || {
        let kept = Box::new([3u64; 4]);
        let _ = receiver.recv();
        drop(kept);
    });
    let lock = Arc::new((Mutex::new(()), Condvar::new()));
    thread::spawn(move || drop(lock.1.wait(lock.0.lock().unwrap()).unwrap()));
    thread_local!(static OWN: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) });
    thread::spawn(|| {
        OWN.with_borrow_mut(|own| own.extend([1; 100]));
        thread::park();
    });
    static SENDER: OnceLock<mpsc::Sender<()>> = OnceLock::new();
    SENDER.set(sender).unwrap();
}

#[test]
fn what_the_library_keeps_for_itself_is_no_leak() {
    thread_local!(static OWN: Cell<Option<Box<u8>>> = const { Cell::new(None) });
    let body = |i: usize| {
        OWN.set(Some(Box::new(i as u8)));
        thread::current().id()
    };
    let named = thread::Builder::new()
        .name("named".into())
        .spawn(move || body(1))
        .unwrap();
    drop(thread::spawn(move || body(2)));
    thread::scope(|scope| {
        scope.spawn(|| body(3));
    });
    body(4);
    named.join().unwrap();
    let (sender, receiver) = mpsc::sync_channel(1);
    let third = thread::spawn(move || sender.send(vec![1]));
    drop(receiver);
    let _ = third.join().unwrap();
}

#[test]
fn what_is_dropped_late_is_no_leak() {
    // Nobody joins these: their results go with them.
    drop(thread::spawn(|| String::from("result")));
    let lock = Arc::new(RwLock::new(vec![1]));
    let weak: Weak<_> = Arc::downgrade(&lock);
    thread::spawn(move || lock.write().unwrap().push(2));
    if let Some(lock) = weak.upgrade() {
        assert!(lock.read().unwrap().len() < 3);
    }
    let _ = Condvar::new().wait_timeout(Mutex::new(()).lock().unwrap(), Duration::from_millis(1));
}

#[test]
#[should_panic(expected = "as it should")]
fn payloads_are_no_leak() {
    let _ = thread::spawn(|| panic!("of {}", "a thread")).join().unwrap_err();
    drop(thread::spawn(|| panic!("of {}", "another")));
    let count = AtomicUsize::new(0);
    panic!("as it should, {}", count.into_inner());
}

#[test]
fn hooks_are_no_leak() {
    let text = String::from("first");
    panic::set_hook(Box::new(move |_| drop(text.clone())));
    let text = String::from("second");
    panic::set_hook(Box::new(move |_| drop(text.clone())));
    let caught = panic::catch_unwind(|| panic!("caught"));
    assert!(caught.is_err());
    let text = String::from("third");
    drop(panic::take_hook());
    panic::set_hook(Box::new(move |_| drop(text.clone())));
}

#[test]
fn what_is_printed_and_formatted_is_no_leak() {
    println!("{:?}", vec![Some(1), None]);
    eprintln!("{}", String::from("two"));
    dbg!(3);
}
