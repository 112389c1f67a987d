//! Atomics: litmus tests under sequential consistency, and what each method does.

use conformance::{race, unless};
use std::sync::Arc;
use std::sync::atomic::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16, AtomicU32,
    AtomicU64, AtomicUsize, Ordering::*, compiler_fence, fence,
};
use std::{mem, ptr, thread};

type Two = (AtomicUsize, AtomicUsize);

#[test]
fn store_buffering_never_reads_two_zeros() {
    let seen = race(
        Two::default(),
        |(x, y)| {
            x.store(1, SeqCst);
            y.load(SeqCst)
        },
        |(x, y)| {
            y.store(1, SeqCst);
            x.load(SeqCst)
        },
    );
    assert_ne!(seen, (0, 0));
}

fn message_passing() -> (usize, usize) {
    race(
        Two::default(),
        |(data, flag)| {
            data.store(1, Relaxed);
            flag.store(1, Release);
        },
        |(data, flag)| (flag.load(Acquire), data.load(Relaxed)),
    )
    .1
}

#[test]
fn message_passing_is_in_order() {
    assert_ne!(message_passing(), (1, 0));
}

#[test]
fn reach_message_passing_0_0() {
    unless(message_passing() == (0, 0));
}

#[test]
fn reach_message_passing_0_1() {
    unless(message_passing() == (0, 1));
}

#[test]
fn reach_message_passing_1_1() {
    unless(message_passing() == (1, 1));
}

#[test]
fn load_buffering_never_reads_two_ones() {
    let seen = race(
        Two::default(),
        |(x, y)| {
            let seen = x.load(SeqCst);
            y.store(1, SeqCst);
            seen
        },
        |(x, y)| {
            let seen = y.load(SeqCst);
            x.store(1, SeqCst);
            seen
        },
    );
    assert_ne!(seen, (1, 1));
}

#[test]
fn readers_agree_on_the_order_of_writes() {
    let pair = Arc::new(Two::default());
    let spawn = |body: fn(&Two) -> (usize, usize)| {
        let pair = Arc::clone(&pair);
        thread::spawn(move || body(&pair))
    };
    let handles = [
        spawn(|(x, _)| (x.swap(1, SeqCst), 0)),
        spawn(|(_, y)| (y.swap(1, SeqCst), 0)),
        spawn(|(x, y)| (x.load(SeqCst), y.load(SeqCst))),
        spawn(|(x, y)| (y.load(SeqCst), x.load(SeqCst))),
    ];
    let seen = handles.map(|handle| handle.join().unwrap());
    assert!(!(seen[2] == (1, 0) && seen[3] == (1, 0)));
}

#[test]
fn one_variable_never_goes_back() {
    let (_, seen) = race(
        AtomicUsize::new(0),
        |x| {
            x.store(1, Relaxed);
            x.store(2, Relaxed);
        },
        |x| (x.load(Relaxed), x.load(Relaxed)),
    );
    assert!(seen.0 <= seen.1);
}

#[test]
fn fences_order_relaxed_accesses() {
    let (_, seen) = race(
        Two::default(),
        |(data, flag)| {
            data.store(1, Relaxed);
            fence(Release);
            flag.store(1, Relaxed);
        },
        |(data, flag)| {
            let set = flag.load(Relaxed);
            fence(Acquire);
            compiler_fence(SeqCst);
            (set, data.load(Relaxed))
        },
    );
    assert_ne!(seen, (1, 0));
}

#[test]
fn swap_and_store_are_atomic() {
    let (swapped, _) = race(
        AtomicUsize::new(0),
        |x| (x.swap(1, SeqCst), x.load(SeqCst)),
        |x| x.store(2, SeqCst),
    );
    assert!([(0, 1), (2, 1), (0, 2)].contains(&swapped));
}

#[test]
fn swaps_form_a_chain() {
    let x = Arc::new(AtomicUsize::new(0));
    let swap = |value| {
        let x = Arc::clone(&x);
        thread::spawn(move || x.swap(value, SeqCst))
    };
    let mut seen: Vec<_> = [swap(1), swap(2), swap(3)]
        .into_iter()
        .map(|handle| handle.join().unwrap())
        .collect();
    seen.push(x.load(SeqCst));
    seen.sort();
    assert_eq!(seen, [0, 1, 2, 3]);
}

#[test]
fn one_compare_exchange_of_two_wins() {
    let one = |x: &AtomicUsize| x.compare_exchange(0, 1, AcqRel, Acquire);
    let seen = race(AtomicUsize::new(0), one, one);
    assert!(seen == (Ok(0), Err(1)) || seen == (Err(1), Ok(0)));
}

/// The smallest program whose outcomes a well-known checker misses: does the first thread ever read 1?
fn load_against_load_load_add() -> (usize, (usize, usize)) {
    let (first, second) = race(
        Two::default(),
        |(_, y)| y.load(SeqCst),
        |(x, y)| {
            let seen = (x.load(SeqCst), y.load(SeqCst));
            y.fetch_add(1, SeqCst);
            seen
        },
    );
    (first, second)
}

#[test]
fn load_against_load_load_add_has_two_outcomes() {
    assert!([(0, (0, 0)), (1, (0, 0))].contains(&load_against_load_load_add()));
}

#[test]
fn reach_load_reads_0() {
    unless(load_against_load_load_add().0 == 0);
}

#[test]
fn reach_load_reads_1() {
    unless(load_against_load_load_add().0 == 1);
}

#[test]
fn reach_main_first_operation_matters() {
    let x = Arc::new(AtomicUsize::new(0));
    let y = Arc::new(AtomicUsize::new(0));
    let child = {
        let (x, y) = (Arc::clone(&x), Arc::clone(&y));
        thread::spawn(move || {
            x.load(SeqCst);
            y.store(1, SeqCst);
        })
    };
    let seen = y.load(SeqCst);
    child.join().unwrap();
    unless(seen == 1);
}

macro_rules! integers {
    ($($test:ident: $atomic:ty, $int:ty;)*) => {
        $(
            #[test]
            fn $test() {
                static X: $atomic = <$atomic>::new(5);
                assert_eq!(X.load(SeqCst), 5);
                X.store(6, Release);
                assert_eq!(X.swap(7, AcqRel), 6);
                assert_eq!(X.compare_exchange(7, 8, SeqCst, Relaxed), Ok(7));
                assert_eq!(X.compare_exchange(7, 9, SeqCst, Relaxed), Err(8));
                assert_eq!(X.compare_exchange_weak(7, 9, SeqCst, Relaxed), Err(8));
                assert_eq!(X.fetch_add(2, Relaxed), 8);
                assert_eq!(X.fetch_sub(1, Relaxed), 10);
                assert_eq!(X.fetch_and(0b1000, Relaxed), 9);
                assert_eq!(X.fetch_or(0b0011, Relaxed), 8);
                assert_eq!(X.fetch_xor(0b0001, Relaxed), 11);
                assert_eq!(X.fetch_nand(0b0010, Relaxed), 10);
                assert_eq!(X.swap(3, Relaxed), !2);
                assert_eq!(X.fetch_max(4, Relaxed), 3);
                assert_eq!(X.fetch_min(2, Relaxed), 4);
                assert_eq!(X.fetch_update(SeqCst, Relaxed, |x| x.checked_mul(3)), Ok(2));
                assert_eq!(X.fetch_update(SeqCst, Relaxed, |_| None), Err(6));
                assert_eq!(X.swap(<$int>::MAX, Relaxed), 6);
                assert_eq!(X.fetch_add(1, Relaxed), <$int>::MAX);
                assert_eq!(X.fetch_sub(1, Relaxed), <$int>::MIN);
                let mut owned = <$atomic>::from(1);
                *owned.get_mut() += 1;
                // SAFETY: nobody else has it.
                unsafe { *owned.as_ptr() += 1 };
                assert_eq!(format!("{owned:?}"), "3");
                assert_eq!(owned.into_inner() + <$atomic>::default().into_inner(), 3);
                let mut plain: $int = 4;
                // SAFETY: it is aligned, alive and used by nobody else.
                unsafe { <$atomic>::from_ptr(&mut plain) }.fetch_add(1, SeqCst);
                assert_eq!(plain, 5);
                let size = mem::size_of::<$int>();
                assert_eq!((mem::size_of::<$atomic>(), mem::align_of::<$atomic>()), (size, size));
            }
        )*
    };
}

integers! {
    methods_of_i8: AtomicI8, i8;
    methods_of_u8: AtomicU8, u8;
    methods_of_i16: AtomicI16, i16;
    methods_of_u16: AtomicU16, u16;
    methods_of_i32: AtomicI32, i32;
    methods_of_u32: AtomicU32, u32;
    methods_of_i64: AtomicI64, i64;
    methods_of_u64: AtomicU64, u64;
    methods_of_isize: AtomicIsize, isize;
    methods_of_usize: AtomicUsize, usize;
}

#[test]
fn methods_of_bool() {
    static X: AtomicBool = AtomicBool::new(true);
    assert!(X.swap(false, SeqCst));
    assert_eq!(X.compare_exchange(true, false, SeqCst, SeqCst), Err(false));
    assert!(!X.fetch_or(true, SeqCst));
    assert!(X.fetch_and(true, SeqCst));
    assert!(X.fetch_xor(true, SeqCst));
    assert!(!X.fetch_nand(false, SeqCst));
    assert!(X.fetch_not(SeqCst));
    assert!(!X.load(SeqCst));
}

#[test]
fn methods_of_pointer() {
    let mut values = [1, 2];
    let (first, second) = (&raw mut values[0], &raw mut values[1]);
    let x = AtomicPtr::new(first);
    assert_eq!(x.swap(second, SeqCst), first);
    assert_eq!(x.compare_exchange(first, ptr::null_mut(), SeqCst, SeqCst), Err(second));
    assert_eq!(x.compare_exchange(second, ptr::null_mut(), SeqCst, SeqCst), Ok(second));
    x.store(first, SeqCst);
    assert_eq!(x.fetch_ptr_add(1, SeqCst), first);
    assert_eq!(x.fetch_ptr_sub(1, SeqCst), first.wrapping_add(1));
    assert_eq!(x.fetch_byte_add(4, SeqCst), first);
    assert_eq!(x.fetch_byte_sub(4, SeqCst), first.wrapping_byte_add(4));
    assert_eq!(x.into_inner(), first);
}

#[test]
fn zeroed_memory_is_a_valid_atomic() {
    // SAFETY: all-zero bytes are a valid atomic.
    let x: AtomicU64 = unsafe { mem::zeroed() };
    assert_eq!(x.fetch_add(1, SeqCst), 0);
    let zeroes = vec![0_u32; 4].into_boxed_slice();
    let atomics = Box::into_raw(zeroes) as *mut [AtomicU32];
    // SAFETY: an atomic has the layout of its integer.
    let atomics = unsafe { Box::from_raw(atomics) };
    assert_eq!(atomics[3].fetch_sub(1, SeqCst), 0);
    assert_eq!(atomics[3].load(SeqCst), u32::MAX);
}

#[test]
fn plain_memory_used_as_an_atomic_is_shared() {
    let words = Arc::new([const { AtomicU32::new(0) }; 2]);
    let child = {
        let words = Arc::clone(&words);
        thread::spawn(move || {
            let plain = words[1].as_ptr();
            // SAFETY: `words` keeps it alive, and it is only used atomically.
            unsafe { AtomicU32::from_ptr(plain) }.fetch_add(1, SeqCst)
        })
    };
    let mine = words[1].fetch_add(1, SeqCst);
    assert_eq!(child.join().unwrap() + mine, 1);
}

#[test]
fn fetch_update_loses_nothing() {
    let double = |x: &AtomicUsize| x.fetch_update(SeqCst, SeqCst, |x| Some(x * 2 + 1)).unwrap();
    let (a, b) = race(AtomicUsize::new(0), double, double);
    assert_eq!(a + b, 1);
}

#[test]
fn six_threads_on_one_variable() {
    let x = Arc::new(AtomicUsize::new(0));
    let handles: Vec<_> = (0..6)
        .map(|_| {
            let x = Arc::clone(&x);
            thread::spawn(move || x.load(SeqCst))
        })
        .collect();
    assert!(handles.into_iter().all(|handle| handle.join().unwrap() == 0));
}

#[test]
#[should_panic(expected = "there is no such thing as an acquire store")]
fn wrong_ordering_panics() {
    let ordering = std::hint::black_box(Acquire);
    AtomicUsize::new(0).store(1, ordering);
}
