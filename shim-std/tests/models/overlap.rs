//! Atomics of different sizes at one place depend on each other where they overlap. (Such accesses violate Rust's rules
//! if they race; nothing stops a program from making them.)

use crate::outcomes::{all_find, fails, traces};
use shim_std::sync::Arc;
use shim_std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::SeqCst};
use shim_std::thread;

/// Eight bytes that are accessed as atomics of any size.
#[derive(Clone)]
struct Bytes(Arc<AtomicU64>);

impl Bytes {
    fn new() -> Bytes {
        Bytes(Arc::new(AtomicU64::new(0)))
    }

    fn at<A>(&self, offset: usize) -> &A {
        assert!(offset.is_multiple_of(align_of::<A>()) && offset + size_of::<A>() <= 8);
        // SAFETY: within the eight bytes, aligned; an atomic is valid whatever its bytes are, and shared as `self` is.
        // Model threads take turns on one thread of the operating system.
        unsafe { &*self.0.as_ptr().cast::<u8>().add(offset).cast::<A>() }
    }
}

/// What a thread reads while another writes.
fn races(write: fn(&Bytes), read: fn(&Bytes) -> usize) -> impl Fn() -> usize + Copy {
    move || {
        let bytes = Bytes::new();
        let shared = bytes.clone();
        let writer = thread::spawn(move || write(&shared));
        let seen = read(&bytes);
        writer.join().unwrap();
        seen
    }
}

#[test]
fn a_part_and_the_whole_are_dependent() {
    let whole = |bytes: &Bytes| bytes.0.store(u64::MAX, SeqCst);
    all_find(races(whole, |b| b.at::<AtomicU32>(4).load(SeqCst) as usize & 1), [0, 1]);
    all_find(races(whole, |b| b.at::<AtomicU32>(0).load(SeqCst) as usize & 1), [0, 1]);
    all_find(races(whole, |b| b.at::<AtomicU8>(7).load(SeqCst).into()), [0, 255]);
    all_find(
        races(
            |b| b.at::<AtomicU16>(6).store(1, SeqCst),
            |b| (b.0.load(SeqCst) >> 48) as usize,
        ),
        [0, 1],
    );
    all_find(
        races(
            |b| b.at::<AtomicU32>(4).store(1, SeqCst),
            |b| b.at::<AtomicU16>(4).load(SeqCst).into(),
        ),
        [0, 1],
    );
    all_find(
        races(
            |b| b.at::<AtomicU32>(4).store(u32::MAX, SeqCst),
            |b| b.at::<AtomicU16>(6).load(SeqCst).into(),
        ),
        [0, 0xFFFF],
    );
}

/// The two halves are independent neighbours, until a thread accesses both at once.
#[test]
fn neighbours_are_independent() {
    let halves = races(
        |b| b.at::<AtomicU32>(0).store(1, SeqCst),
        |b| b.at::<AtomicU32>(4).load(SeqCst) as usize,
    );
    assert_eq!(traces(halves), 1);
    let bytes = races(
        |b| b.at::<AtomicU8>(3).store(1, SeqCst),
        |b| b.at::<AtomicU8>(2).load(SeqCst).into(),
    );
    assert_eq!(traces(bytes), 1);
}

/// A loop that waits for a half is woken by a store to the whole.
/// Where some words have been used for atomics of different sizes, any other may be: memory is used again.
#[test]
fn after_a_few_words_the_neighbours_in_all_are_dependent() {
    let halves_after = |words: usize| {
        move || {
            let used: Vec<Bytes> = (0..words).map(|_| Bytes::new()).collect();
            for bytes in &used {
                bytes.0.store(1, SeqCst);
                bytes.at::<AtomicU32>(0).load(SeqCst);
            }
            races(
                |b| b.at::<AtomicU32>(0).store(1, SeqCst),
                |b| b.at::<AtomicU32>(4).load(SeqCst) as usize,
            )()
        }
    };
    assert_eq!(traces(halves_after(4)), 1);
    assert_eq!(traces(halves_after(5)), 2);
    all_find(halves_after(5), [0]);
}

#[test]
fn a_loop_waits_for_a_part() {
    let waits = || {
        let bytes = Bytes::new();
        let shared = bytes.clone();
        let writer = thread::spawn(move || shared.0.store(u64::MAX, SeqCst));
        while bytes.at::<AtomicU32>(4).load(SeqCst) == 0 {}
        writer.join().unwrap();
        0
    };
    all_find(waits, [0]);
    let in_vain = || {
        let bytes = Bytes::new();
        let shared = bytes.clone();
        let writer = thread::spawn(move || shared.0.store(u32::MAX.into(), SeqCst));
        while bytes.at::<AtomicU32>(4).load(SeqCst) == 0 {}
        writer.join().unwrap();
    };
    fails("livelock", in_vain);
}
