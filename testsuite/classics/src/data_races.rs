//! Plain memory that threads share: what orders their accesses, and what seems to.
//!
//! All of this works under sequential consistency: what is wrong is that two accesses race, or that memory is used
//! after its end, so that the program has no meaning.

use std::cell::UnsafeCell;
use std::hint;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering, fence};
use std::thread::{self, JoinHandle};

use Ordering::{Acquire, Relaxed, Release, SeqCst};

/// Memory without any protection.
#[derive(Default)]
pub struct Plain<T = u32>(UnsafeCell<T>);

// SAFETY: whoever has one orders the accesses. The wrong programs do not.
unsafe impl<T: Send> Sync for Plain<T> {}

impl<T: Copy> Plain<T> {
    /// Memory that holds a value.
    pub const fn new(value: T) -> Self {
        Plain(UnsafeCell::new(value))
    }

    /// Reads it.
    pub fn get(&self) -> T {
        // SAFETY: the promise of whoever shares it.
        hint::black_box(unsafe { *self.0.get() })
    }

    /// Writes it.
    pub fn set(&self, value: T) {
        // SAFETY: as above.
        unsafe { *self.0.get() = value };
    }
}

/// A counter under a spin lock.
#[derive(Default)]
pub struct SpinLocked {
    locked: AtomicBool,
    count: Plain,
}

impl SpinLocked {
    /// Adds 1. Right if `lock` is an acquire and `unlock` a release.
    pub fn add(&self, lock: Ordering, unlock: Ordering) {
        while self.locked.compare_exchange(false, true, lock, Relaxed).is_err() {
            hint::spin_loop();
        }
        self.count.set(self.count.get() + 1);
        self.locked.store(false, unlock);
    }
}

/// Peterson's lock around a counter.
#[derive(Default)]
pub struct Peterson {
    interested: [AtomicBool; 2],
    turn: AtomicUsize,
    count: Plain,
}

impl Peterson {
    /// Adds 1, as thread 0 or 1. Right if the ordering of all accesses is `SeqCst`; with weaker ones the lock may keep
    /// the threads apart, but nothing orders what they do.
    pub fn add(&self, me: usize, load: Ordering, store: Ordering) {
        let other = 1 - me;
        self.interested[me].store(true, store);
        self.turn.store(other, store);
        while self.interested[other].load(load) && self.turn.load(load) == other {
            hint::spin_loop();
        }
        self.count.set(self.count.get() + 1);
        self.interested[me].store(false, store);
    }
}

/// Double-checked initialisation of a plain value.
#[derive(Default)]
pub struct Lazy {
    ready: AtomicBool,
    plain_ready: Plain<bool>,
    value: Plain,
    lock: Mutex<()>,
}

impl Lazy {
    /// The value. Right if the orderings are acquire and release.
    pub fn get(&self, load: Ordering, store: Ordering) -> u32 {
        if !self.ready.load(load) {
            let _guard = self.lock.lock().expect("not poisoned");
            if !self.ready.load(Relaxed) {
                self.value.set(42);
                self.ready.store(true, store);
            }
        }
        self.value.get()
    }

    /// Wrong: the flag is plain memory, too.
    pub fn get_by_plain_flag(&self) -> u32 {
        if !self.plain_ready.get() {
            let _guard = self.lock.lock().expect("not poisoned");
            if !self.plain_ready.get() {
                self.value.set(42);
                self.plain_ready.set(true);
            }
        }
        self.value.get()
    }

    /// Wrong: whoever comes first initialises, with nothing to keep others from it.
    pub fn get_without_lock(&self) -> u32 {
        if self.value.get() == 0 {
            self.value.set(42);
        }
        self.value.get()
    }
}

/// A message that a flag announces.
#[derive(Default)]
pub struct Message {
    text: Plain,
    sent: AtomicBool,
}

impl Message {
    /// Writes the message, and announces it. Right if the ordering is a release.
    pub fn send(&self, store: Ordering) {
        self.text.set(7);
        self.sent.store(true, store);
    }

    /// The message, if it is there. Right if the ordering is an acquire.
    pub fn look(&self, load: Ordering) -> Option<u32> {
        self.sent.load(load).then(|| self.text.get())
    }
}

/// A ring of `N` plain slots for one producer and one consumer. `head` counts the elements taken, `tail` those put in.
pub struct Ring<const N: usize> {
    slots: [Plain<MaybeUninit<u32>>; N],
    head: AtomicUsize,
    tail: AtomicUsize,
}

impl<const N: usize> Default for Ring<N> {
    fn default() -> Self {
        Ring {
            slots: [const { Plain::new(MaybeUninit::uninit()) }; N],
            head: AtomicUsize::new(0),
            tail: AtomicUsize::new(0),
        }
    }
}

impl<const N: usize> Ring<N> {
    /// Puts an element in, unless the ring is full. Right if the orderings are acquire and release.
    pub fn push(&self, value: u32, load: Ordering, store: Ordering) -> bool {
        let tail = self.tail.load(Relaxed);
        if tail - self.head.load(load) == N {
            return false;
        }
        self.slots[tail % N].set(MaybeUninit::new(value));
        self.tail.store(tail + 1, store);
        true
    }

    /// Wrong: announces the element before it is there.
    pub fn push_announce_first(&self, value: u32) -> bool {
        let tail = self.tail.load(Relaxed);
        if tail - self.head.load(Acquire) == N {
            return false;
        }
        self.tail.store(tail + 1, Release);
        self.slots[tail % N].set(MaybeUninit::new(value));
        true
    }

    /// Takes the oldest element, unless the ring is empty. Right if the orderings are acquire and release.
    pub fn pop(&self, load: Ordering, store: Ordering) -> Option<u32> {
        let head = self.head.load(Relaxed);
        if self.tail.load(load) == head {
            return None;
        }
        // SAFETY: there is an element, if all is right.
        let value = unsafe { self.slots[head % N].get().assume_init() };
        self.head.store(head + 1, store);
        Some(value)
    }
}

/// Shared ownership of a value, counted by hand.
pub struct Counted<T> {
    shared: NonNull<(AtomicUsize, T)>,
    drop: Ordering,
    fence: bool,
}

// SAFETY: as for `Arc`, if the ordering is right.
unsafe impl<T: Send + Sync> Send for Counted<T> {}

impl<T> Counted<T> {
    /// Takes ownership. The count goes down with the given ordering, which must be acquire and release; or it is a
    /// release, and the last owner makes an acquire `fence`.
    pub fn new(value: T, drop: Ordering, fence: bool) -> Self {
        Counted {
            shared: NonNull::from(Box::leak(Box::new((AtomicUsize::new(1), value)))),
            drop,
            fence,
        }
    }
}

impl<T> Clone for Counted<T> {
    fn clone(&self) -> Self {
        // SAFETY: the block lives as long as an owner does.
        unsafe { self.shared.as_ref() }.0.fetch_add(1, Relaxed);
        Counted { ..*self }
    }
}

impl<T> Deref for Counted<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: as above.
        unsafe { &self.shared.as_ref().1 }
    }
}

impl<T> Drop for Counted<T> {
    fn drop(&mut self) {
        // SAFETY: as above.
        if unsafe { self.shared.as_ref() }.0.fetch_sub(1, self.drop) == 1 {
            if self.fence {
                fence(Acquire);
            }
            // SAFETY: this was the last owner.
            drop(unsafe { Box::from_raw(self.shared.as_ptr()) });
        }
    }
}

/// Wrong: an `Rc` that claims to be `Send`.
#[derive(Clone, Default)]
pub struct SendRc(pub Rc<u32>);

// SAFETY: there is none, which is what the test is about.
unsafe impl Send for SendRc {}

/// A pair of numbers under a sequence lock, for one writer: the sequence is odd while it writes.
#[derive(Default)]
pub struct SeqLock {
    sequence: AtomicU32,
    pair: [AtomicU32; 2],
    plain_pair: Plain<[u32; 2]>,
}

impl SeqLock {
    /// Writes, as the only writer.
    pub fn write(&self, pair: [u32; 2]) {
        let before = self.sequence.load(Relaxed);
        self.sequence.store(before + 1, Relaxed);
        fence(Release);
        self.pair[0].store(pair[0], Relaxed);
        self.pair[1].store(pair[1], Relaxed);
        self.sequence.store(before + 2, Release);
    }

    /// Reads, unless the writer gets in between.
    pub fn read(&self) -> Option<[u32; 2]> {
        let before = self.sequence.load(Acquire);
        let pair = [self.pair[0].load(Relaxed), self.pair[1].load(Relaxed)];
        fence(Acquire);
        (before.is_multiple_of(2) && self.sequence.load(Relaxed) == before).then_some(pair)
    }

    /// Wrong together with `read_plainly`: what is written is plain memory.
    pub fn write_plainly(&self, pair: [u32; 2]) {
        let before = self.sequence.load(SeqCst);
        self.sequence.store(before + 1, SeqCst);
        self.plain_pair.set(pair);
        self.sequence.store(before + 2, SeqCst);
    }

    /// Wrong: reads at the same time as the writer may write, and finds out only afterwards.
    pub fn read_plainly(&self) -> Option<[u32; 2]> {
        let before = self.sequence.load(SeqCst);
        let pair = self.plain_pair.get();
        (before.is_multiple_of(2) && self.sequence.load(SeqCst) == before).then_some(pair)
    }
}

/// A thread that looks at a buffer until it is told to stop, and what its owner does at the end.
pub struct Worker {
    shared: &'static (AtomicPtr<u32>, AtomicBool),
    thread: Option<JoinHandle<u32>>,
}

impl Worker {
    /// Starts the thread.
    pub fn start() -> Worker {
        let buffer = Box::into_raw(Box::new(5));
        let shared: &(AtomicPtr<u32>, AtomicBool) =
            Box::leak(Box::new((AtomicPtr::new(buffer), AtomicBool::new(false))));
        let thread = thread::spawn(|| {
            while !shared.1.load(Acquire) {
                hint::spin_loop();
            }
            // SAFETY: the buffer is freed after the thread has ended, if all is right.
            unsafe { *shared.0.load(Relaxed) }
        });
        Worker {
            shared,
            thread: Some(thread),
        }
    }

    fn free(&self) {
        // SAFETY: called once, at the end.
        drop(unsafe { Box::from_raw(self.shared.0.load(Relaxed)) });
    }

    fn stop(&mut self) {
        self.shared.1.store(true, Release);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the thread does not panic");
        }
    }

    /// Stops the thread, and frees the buffer.
    pub fn end(mut self) {
        self.stop();
        self.free();
    }

    /// Wrong: frees the buffer, and stops the thread.
    pub fn end_free_first(mut self) {
        self.free();
        self.stop();
    }
}

/// The sum of some numbers. Wrong if `count` is more than there are.
pub fn sum(numbers: &[u32], count: usize) -> u32 {
    // SAFETY: the caller's, by mistake not checked here.
    (0..count).map(|i| unsafe { *numbers.as_ptr().add(i) }).sum()
}

/// The address of a local that is gone when the function returns.
#[inline(never)]
pub fn address_of_a_local(value: u32) -> *mut u32 {
    let mut local = hint::black_box(value);
    hint::black_box(&raw mut local)
}

/// An address that a thread gets to know.
#[derive(Default)]
pub struct Address(AtomicPtr<u32>);

impl Address {
    /// Wrong: tells the address of a local, and then calls another function, which uses the same memory.
    pub fn tell(&self) {
        self.0.store(address_of_a_local(1), Release);
        hint::black_box(address_of_a_local(2));
    }

    /// What is at the address, if it is known.
    ///
    /// # Safety
    ///
    /// The address must be of something that is still there.
    pub unsafe fn look(&self) -> Option<u32> {
        let at = self.0.load(Acquire);
        // SAFETY: promised by the caller.
        (!at.is_null()).then(|| unsafe { ptr::read_volatile(at) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads;
    use std::sync::Arc;
    use std::sync::atomic::Ordering::AcqRel;

    #[test]
    fn right_spin_lock() {
        let counter = Arc::new(SpinLocked::default());
        threads::run(2, &counter, |counter, _| counter.add(Acquire, Release));
        assert_eq!(counter.count.get(), 2);
    }

    #[test]
    fn wrong_relaxed_lock() {
        let counter = Arc::new(SpinLocked::default());
        threads::run(2, &counter, |counter, _| counter.add(Relaxed, Release));
    }

    #[test]
    fn wrong_relaxed_unlock() {
        let counter = Arc::new(SpinLocked::default());
        threads::run(2, &counter, |counter, _| counter.add(Acquire, Relaxed));
    }

    #[test]
    fn right_peterson() {
        let counter = Arc::new(Peterson::default());
        threads::run(2, &counter, |counter, i| counter.add(i, SeqCst, SeqCst));
        assert_eq!(counter.count.get(), 2);
    }

    #[test]
    fn wrong_relaxed_peterson() {
        let counter = Arc::new(Peterson::default());
        threads::run(2, &counter, |counter, i| counter.add(i, Relaxed, Relaxed));
    }

    #[test]
    fn right_double_check() {
        let lazy = Arc::new(Lazy::default());
        assert_eq!(threads::run(2, &lazy, |lazy, _| lazy.get(Acquire, Release)), [42, 42]);
    }

    #[test]
    fn wrong_relaxed_check() {
        let lazy = Arc::new(Lazy::default());
        threads::run(2, &lazy, |lazy, _| lazy.get(Relaxed, Release));
    }

    #[test]
    fn wrong_relaxed_ready() {
        let lazy = Arc::new(Lazy::default());
        threads::run(2, &lazy, |lazy, _| lazy.get(Acquire, Relaxed));
    }

    #[test]
    fn wrong_plain_flag() {
        let lazy = Arc::new(Lazy::default());
        threads::run(2, &lazy, |lazy, _| lazy.get_by_plain_flag());
    }

    #[test]
    fn wrong_lazy_static() {
        static LAZY: Lazy = Lazy {
            ready: AtomicBool::new(false),
            plain_ready: Plain::new(false),
            value: Plain::new(0),
            lock: Mutex::new(()),
        };
        threads::run(2, &Arc::new(()), |_, _| LAZY.get_without_lock());
    }

    #[test]
    fn right_publication() {
        let message = Arc::new(Message::default());
        let seen = threads::run(2, &message, |message, i| match i {
            0 => {
                message.send(Release);
                None
            }
            _ => message.look(Acquire),
        });
        assert!(matches!(seen[1], None | Some(7)));
    }

    #[test]
    fn wrong_relaxed_publication() {
        let message = Arc::new(Message::default());
        threads::run(2, &message, |message, i| match i {
            0 => message.send(Relaxed),
            _ => _ = message.look(Acquire),
        });
    }

    #[test]
    fn wrong_relaxed_look() {
        let message = Arc::new(Message::default());
        threads::run(2, &message, |message, i| match i {
            0 => message.send(Release),
            _ => _ = message.look(Relaxed),
        });
    }

    /// Sends 1, 2, … through a ring of one slot, and returns what arrived.
    fn transfer(push: fn(&Ring<1>, u32) -> bool, pop: fn(&Ring<1>) -> Option<u32>) -> Vec<u32> {
        let ring = Arc::new(Ring::default());
        let producer = {
            let ring = Arc::clone(&ring);
            thread::spawn(move || {
                for value in 1..=2 {
                    while !push(&ring, value) {
                        hint::spin_loop();
                    }
                }
            })
        };
        let received = (0..2).map(|_| {
            loop {
                match pop(&ring) {
                    Some(value) => return value,
                    None => hint::spin_loop(),
                }
            }
        });
        let received = received.collect();
        producer.join().unwrap();
        received
    }

    #[test]
    fn right_ring() {
        let push = |ring: &Ring<1>, value| ring.push(value, Acquire, Release);
        assert_eq!(transfer(push, |ring| ring.pop(Acquire, Release)), [1, 2]);
    }

    #[test]
    fn wrong_ring_announces_first() {
        transfer(Ring::push_announce_first, |ring| ring.pop(Acquire, Release));
    }

    #[test]
    fn wrong_ring_publishes_elements_relaxed() {
        let push = |ring: &Ring<1>, value| ring.push(value, Acquire, Relaxed);
        transfer(push, |ring| ring.pop(Acquire, Release));
    }

    #[test]
    fn wrong_ring_gives_slots_back_relaxed() {
        let push = |ring: &Ring<1>, value| ring.push(value, Acquire, Release);
        transfer(push, |ring| ring.pop(Acquire, Relaxed));
    }

    /// Two owners of a number, each of which reads it and goes.
    fn share(drop: Ordering, fence: bool) {
        let first = Counted::new(5, drop, fence);
        let second = first.clone();
        let child = thread::spawn(move || *second);
        let read = *first;
        std::mem::drop(first);
        assert_eq!(read + child.join().unwrap(), 10);
    }

    #[test]
    fn right_count() {
        share(AcqRel, false);
    }

    #[test]
    fn right_count_with_a_fence() {
        share(Release, true);
    }

    #[test]
    fn wrong_relaxed_count() {
        share(Relaxed, true);
    }

    #[test]
    fn wrong_releasing_count() {
        share(Release, false);
    }

    #[test]
    fn wrong_rc() {
        let first = SendRc::default();
        let second = first.clone();
        let child = thread::spawn(move || drop(second));
        drop(first);
        child.join().unwrap();
    }

    #[test]
    fn right_mutable_static() {
        static mut COUNT: u32 = 0;
        static LOCK: Mutex<()> = Mutex::new(());
        threads::run(2, &Arc::new(()), |_, _| {
            let _guard = LOCK.lock().unwrap();
            // SAFETY: under the lock.
            unsafe { COUNT += 1 };
        });
        // SAFETY: there are no other threads any more.
        assert_eq!(unsafe { COUNT }, 2);
    }

    #[test]
    fn wrong_mutable_static() {
        static mut COUNT: u32 = 0;
        // SAFETY: there is none, which is what the test is about.
        threads::run(2, &Arc::new(()), |_, _| unsafe { COUNT += 1 });
    }

    #[test]
    fn right_sequence_lock() {
        let lock = Arc::new(SeqLock::default());
        let seen = threads::run(2, &lock, |lock, i| match i {
            0 => {
                lock.write([1, 1]);
                None
            }
            _ => lock.read(),
        });
        assert!(matches!(seen[1], None | Some([0, 0] | [1, 1])));
    }

    #[test]
    fn wrong_sequence_lock_of_plain_memory() {
        let lock = Arc::new(SeqLock::default());
        threads::run(2, &lock, |lock, i| match i {
            0 => lock.write_plainly([1, 1]),
            _ => _ = lock.read_plainly(),
        });
    }

    #[test]
    fn right_end_of_a_worker() {
        Worker::start().end();
    }

    #[test]
    fn wrong_end_of_a_worker() {
        Worker::start().end_free_first();
    }

    #[test]
    fn right_sum() {
        let numbers = hint::black_box(Box::new([1, 2, 3]));
        assert_eq!(sum(&numbers[..], 3), 6);
    }

    #[test]
    fn wrong_one_past_the_end() {
        let numbers = hint::black_box(Box::new([1, 2, 3]));
        hint::black_box(sum(&numbers[..], 4));
    }

    #[test]
    fn wrong_local_that_is_gone() {
        let address = Arc::new(Address::default());
        threads::run(2, &address, |address, i| match i {
            0 => address.tell(),
            // SAFETY: there is none, which is what the test is about.
            _ => _ = unsafe { address.look() },
        });
    }
}
