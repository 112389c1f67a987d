//! `Arc` and `Weak`: what threads see of each other in the counts, and who destroys the value.

use conformance::unless;
use std::cell::Cell;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, LazyLock, Mutex, Weak};
use std::thread;

/// Gives each of two threads its share, and returns their results.
fn give<S, A, B>(
    first: S,
    second: S,
    a: impl FnOnce(S) -> A + Send + 'static,
    b: impl FnOnce(S) -> B + Send + 'static,
) -> (A, B)
where
    S: Send + 'static,
    A: Send + 'static,
    B: Send + 'static,
{
    let a = thread::spawn(move || a(first));
    let b = thread::spawn(move || b(second));
    (a.join().unwrap(), b.join().unwrap())
}

/// Two shares of a value.
fn two<T>(value: T) -> (Arc<T>, Arc<T>) {
    let first = Arc::new(value);
    (Arc::clone(&first), first)
}

thread_local! {
    static ME: Cell<usize> = const { Cell::new(0) };
}

/// Nobody has been the last so far.
static LAST: AtomicUsize = AtomicUsize::new(0);

/// Leaves the number of the thread that destroys it.
struct Tells;

impl Drop for Tells {
    fn drop(&mut self) {
        LAST.store(ME.get(), SeqCst);
    }
}

/// Does an operation where it is destroyed, and nothing that tells where that is.
struct Counts<'a>(&'a AtomicUsize);

impl Drop for Counts<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

static DESTROYED: AtomicUsize = AtomicUsize::new(0);

/// Drops one share in each of this number of threads, numbered from 1.
fn drop_in_threads<T: Send + Sync + 'static>(threads: usize, value: T) {
    let arc = Arc::new(value);
    let shares: Vec<_> = (0..threads).map(|_| Arc::clone(&arc)).collect();
    drop(arc);
    let threads: Vec<_> = (1..)
        .zip(shares)
        .map(|(me, share)| {
            thread::spawn(move || {
                ME.set(me);
                drop(share);
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn drops_are_in_one_order_if_nothing_tells_them_apart() {
    drop_in_threads(4, vec![1, 2, 3]);
}

#[test]
fn drops_are_in_every_order_if_the_destructor_acts() {
    drop_in_threads(3, Counts(&DESTROYED));
    assert_eq!(DESTROYED.load(SeqCst), 1);
}

#[test]
fn drops_are_in_every_order_if_a_nested_destructor_acts() {
    drop_in_threads(3, Box::new(Arc::new(Some(Counts(&DESTROYED)))));
    assert_eq!(DESTROYED.load(SeqCst), 1);
}

#[test]
fn drops_are_in_every_order_if_the_destructor_of_a_trait_object_acts() {
    trait Any: Send + Sync {}
    impl Any for Counts<'static> {}
    let arc: Arc<dyn Any> = Arc::new(Counts(&DESTROYED));
    give(arc.clone(), arc, drop, drop);
    assert_eq!(DESTROYED.load(SeqCst), 1);
}

#[test]
fn drops_are_in_every_order_if_the_destructor_acts_when_another_is_through() {
    struct Both(Option<Arc<String>>);
    impl Drop for Both {
        fn drop(&mut self) {
            self.0 = None;
            DESTROYED.fetch_add(1, SeqCst);
        }
    }
    drop_in_threads(2, Both(Some(Arc::default())));
    assert_eq!(DESTROYED.load(SeqCst), 1);
}

#[test]
fn reach_the_first_of_three_is_the_last() {
    drop_in_threads(3, Tells);
    unless(LAST.load(SeqCst) == 1);
}

#[test]
fn reach_the_second_of_three_is_the_last() {
    drop_in_threads(3, Tells);
    unless(LAST.load(SeqCst) == 2);
}

#[test]
fn reach_the_third_of_three_is_the_last() {
    drop_in_threads(3, Tells);
    unless(LAST.load(SeqCst) == 3);
}

#[test]
fn joined_threads_have_dropped_their_shares() {
    let arc = Arc::new(Counts(&DESTROYED));
    let share = || {
        let share = Arc::clone(&arc);
        thread::spawn(move || drop(share))
    };
    let threads = [share(), share()];
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(DESTROYED.load(SeqCst), 0);
    drop(arc);
    assert_eq!(DESTROYED.load(SeqCst), 1);
}

#[test]
fn threads_of_a_scope_have_dropped_their_shares() {
    let arc = Arc::new(Counts(&DESTROYED));
    thread::scope(|scope| {
        for share in [arc.clone(), arc.clone()] {
            scope.spawn(move || drop(share));
        }
    });
    drop(arc);
    assert_eq!(DESTROYED.load(SeqCst), 1);
}

#[test]
fn whoever_is_spawned_comes_after_what_the_parent_has_dropped() {
    let (first, second) = two(Counts(&DESTROYED));
    drop(first);
    thread::spawn(move || drop(second)).join().unwrap();
    assert_eq!(DESTROYED.load(SeqCst), 1);
}

thread_local! {
    static KEPT: Cell<Option<Arc<Tells>>> = const { Cell::new(None) };
}

/// The scope ends before its threads' locals do, so the thread may be last.
fn drop_by_local_of_a_scoped_thread() -> usize {
    let (first, second) = two(Tells);
    let (told, tell) = channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            thread_local! {
                static END: Cell<Option<End>> = const { Cell::new(None) };
            }
            struct End(std::sync::mpsc::Sender<()>);
            impl Drop for End {
                fn drop(&mut self) {
                    self.0.send(()).unwrap();
                }
            }
            ME.set(1);
            END.set(Some(End(told)));
            KEPT.set(Some(first));
        });
    });
    ME.set(2);
    drop(second);
    tell.recv().unwrap();
    LAST.load(SeqCst)
}

#[test]
fn reach_local_of_a_scoped_thread_is_the_last() {
    unless(drop_by_local_of_a_scoped_thread() == 1);
}

#[test]
fn reach_owner_of_a_scope_is_the_last() {
    unless(drop_by_local_of_a_scoped_thread() == 2);
}

/// Two threads race for a share to drop; one of them is joined before the other share goes.
fn one_of_two_drops(joined: usize) -> usize {
    let (share, kept) = two(Tells);
    let slot = Arc::new(Mutex::new(Some(share)));
    let taker = |me| {
        let slot = Arc::clone(&slot);
        thread::spawn(move || {
            ME.set(me);
            let share = slot.lock().unwrap().take();
            drop(share);
        })
    };
    let mut threads = vec![taker(1), taker(2)];
    threads.remove(joined - 1).join().unwrap();
    ME.set(3);
    drop(kept);
    threads.remove(0).join().unwrap();
    LAST.load(SeqCst)
}

#[test]
fn reach_first_taker_is_the_last() {
    unless(one_of_two_drops(2) == 1);
}

#[test]
fn reach_second_taker_is_the_last() {
    unless(one_of_two_drops(1) == 2);
}

#[test]
fn joined_taker_is_never_the_last() {
    assert_ne!(one_of_two_drops(1), 1);
}

/// Whether the panic of the destructor came to the first thread.
fn panic_came_to_the_first() -> bool {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("in drop");
        }
    }
    let drops = |share| catch_unwind(AssertUnwindSafe(|| drop::<Arc<Panics>>(share))).is_err();
    let (first, second) = two(Panics);
    let (first, second) = give(first, second, drops, drops);
    assert_ne!(first, second);
    first
}

#[test]
fn reach_panic_comes_to_the_first() {
    unless(panic_came_to_the_first());
}

#[test]
fn reach_panic_comes_to_the_second() {
    unless(!panic_came_to_the_first());
}

#[test]
fn memory_is_freed_after_a_panic_in_the_destructor() {
    struct Panics(#[expect(dead_code, reason = "dropped")] Counts<'static>);
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("in drop");
        }
    }
    let arc = Arc::new(Panics(Counts(&DESTROYED)));
    let weak = Arc::downgrade(&arc);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(arc))).is_err());
    assert_eq!((weak.strong_count(), weak.upgrade().is_none()), (0, true));
    assert_eq!(DESTROYED.load(SeqCst), 1);
}

/// Whether the destructor has run while its thread was panicking.
fn unwinding_was_last() -> bool {
    static PANICKING: AtomicUsize = AtomicUsize::new(0);
    struct Asks;
    impl Drop for Asks {
        fn drop(&mut self) {
            if thread::panicking() {
                PANICKING.store(1, SeqCst);
            }
        }
    }
    let (first, second) = two(Asks);
    let panics = thread::spawn(move || {
        let _share = first;
        panic!("with a share");
    });
    let drops = thread::spawn(move || drop(second));
    assert!(panics.join().is_err());
    drops.join().unwrap();
    PANICKING.load(SeqCst) == 1
}

#[test]
fn reach_destroyed_by_unwinding() {
    unless(unwinding_was_last());
}

#[test]
fn reach_not_destroyed_by_unwinding() {
    unless(!unwinding_was_last());
}

/// Whether the thread that spawned first was the first to run its child.
fn spawned_by_the_first() -> bool {
    static PARENT: Mutex<Option<thread::ThreadId>> = Mutex::new(None);
    struct Asks;
    impl Drop for Asks {
        fn drop(&mut self) {
            *PARENT.lock().unwrap() = Some(thread::current().id());
        }
    }
    let (first, second) = two(Asks);
    let id = |share| {
        drop::<Arc<Asks>>(share);
        thread::current().id()
    };
    let (first, second) = give(first, second, id, id);
    let parent = PARENT.lock().unwrap().unwrap();
    assert!(parent == first || parent == second);
    parent == first
}

#[test]
fn reach_destructor_finds_itself_in_the_first_thread() {
    unless(spawned_by_the_first());
}

#[test]
fn reach_destructor_finds_itself_in_the_second_thread() {
    unless(!spawned_by_the_first());
}

#[test]
fn destructor_that_locks_comes_after_all_shares() {
    struct Logs(&'static Mutex<Vec<usize>>);
    impl Drop for Logs {
        fn drop(&mut self) {
            self.0.lock().unwrap().push(0);
        }
    }
    static LOG: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    let (first, second) = two(Logs(&LOG));
    let log = |me| {
        move |share: Arc<Logs>| {
            share.0.lock().unwrap().push(me);
            drop(share);
        }
    };
    give(first, second, log(1), log(2));
    assert_eq!(LOG.lock().unwrap()[2], 0);
}

/// Result of `strong_count` while another thread makes a share.
fn count_against_clone() -> usize {
    let (first, second) = two(1);
    let (count, _) = give(
        first,
        second,
        |share| Arc::strong_count(&share),
        |share| mem::forget((share.clone(), share)),
    );
    count
}

#[test]
fn count_against_clone_has_two_outcomes() {
    // The first thread's share is there, and so are one or two of the second.
    assert!([2, 3].contains(&count_against_clone()));
}

#[test]
fn reach_count_before_clone() {
    unless(count_against_clone() == 2);
}

#[test]
fn reach_count_after_clone() {
    unless(count_against_clone() == 3);
}

/// Result of `strong_count` while another thread drops a share.
fn count_against_drop() -> usize {
    let (first, second) = two(1);
    let child = thread::spawn(move || drop(second));
    let count = Arc::strong_count(&first);
    child.join().unwrap();
    assert_eq!(Arc::strong_count(&first), 1);
    count
}

#[test]
fn count_against_drop_has_two_outcomes() {
    assert!([1, 2].contains(&count_against_drop()));
}

#[test]
fn reach_count_before_drop() {
    unless(count_against_drop() == 2);
}

#[test]
fn reach_count_after_drop() {
    unless(count_against_drop() == 1);
}

#[test]
fn counts_of_one_thread() {
    let arc = Arc::new(5);
    assert_eq!((Arc::strong_count(&arc), Arc::weak_count(&arc)), (1, 0));
    let weak = Arc::downgrade(&arc);
    let weaks = [weak.clone(), weak.clone()];
    let shares = [arc.clone(), weak.upgrade().unwrap()];
    assert_eq!((Arc::strong_count(&arc), Arc::weak_count(&arc)), (3, 3));
    assert_eq!((weak.strong_count(), weak.weak_count()), (3, 3));
    drop((weaks, shares));
    assert_eq!((weak.strong_count(), weak.weak_count()), (1, 1));
    drop(arc);
    assert_eq!((weak.strong_count(), weak.weak_count()), (0, 0));
}

/// Result of `get_mut` while another thread drops the other share.
fn get_mut_against_drop() -> bool {
    let (mut first, second) = two(1);
    let child = thread::spawn(move || drop(second));
    let unique = Arc::get_mut(&mut first).is_some();
    child.join().unwrap();
    assert!(Arc::get_mut(&mut first).is_some());
    unique
}

#[test]
fn get_mut_against_drop_has_two_outcomes() {
    get_mut_against_drop();
}

#[test]
fn reach_get_mut_before_drop() {
    unless(!get_mut_against_drop());
}

#[test]
fn reach_get_mut_after_drop() {
    unless(get_mut_against_drop());
}

/// Result of `get_mut` while another thread drops a weak pointer.
fn get_mut_against_weak() -> bool {
    let mut arc = Arc::new(1);
    let weak = Arc::downgrade(&arc);
    let child = thread::spawn(move || drop(weak));
    let unique = Arc::get_mut(&mut arc).is_some();
    child.join().unwrap();
    assert!(Arc::get_mut(&mut arc).is_some());
    unique
}

#[test]
fn get_mut_against_weak_has_two_outcomes() {
    get_mut_against_weak();
}

#[test]
fn reach_get_mut_before_drop_of_weak() {
    unless(!get_mut_against_weak());
}

#[test]
fn reach_get_mut_after_drop_of_weak() {
    unless(get_mut_against_weak());
}

/// Whether each of two threads has got the value by `try_unwrap`.
fn unwraps() -> (bool, bool) {
    let (first, second) = two(String::from("value"));
    let unwrap = |share| Arc::try_unwrap(share).is_ok();
    give(first, second, unwrap, unwrap)
}

#[test]
fn one_of_two_unwraps_at_most() {
    assert_ne!(unwraps(), (true, true));
}

#[test]
fn reach_neither_unwraps() {
    unless(unwraps() == (false, false));
}

#[test]
fn reach_first_unwraps() {
    unless(unwraps() == (true, false));
}

#[test]
fn reach_second_unwraps() {
    unless(unwraps() == (false, true));
}

/// Says which of two threads gets the value from `into_inner`.
fn inner() -> (bool, bool) {
    let (first, second) = two(String::from("value"));
    let inner = |share| Arc::into_inner(share).is_some();
    give(first, second, inner, inner)
}

#[test]
fn one_of_two_gets_the_inner_value() {
    let (first, second) = inner();
    assert_ne!(first, second);
}

#[test]
fn reach_first_gets_the_inner_value() {
    unless(inner().0);
}

#[test]
fn reach_second_gets_the_inner_value() {
    unless(inner().1);
}

#[test]
fn unwrap_or_clone_leaves_the_value_to_others() {
    let (first, second) = two(String::from("value"));
    let texts = give(first, second, Arc::unwrap_or_clone, Arc::unwrap_or_clone);
    assert_eq!(texts, ("value".into(), "value".into()));
}

/// Whether an upgrade succeeded while another thread dropped the last share.
fn upgrade_against_drop() -> bool {
    let arc = Arc::new(String::from("value"));
    let weak = Arc::downgrade(&arc);
    let child = thread::spawn(move || drop(arc));
    let upgraded = weak.upgrade().is_some_and(|text| *text == "value");
    child.join().unwrap();
    assert!(weak.upgrade().is_none());
    upgraded
}

#[test]
fn upgrade_against_drop_has_two_outcomes() {
    upgrade_against_drop();
}

#[test]
fn reach_upgrade_before_drop() {
    unless(upgrade_against_drop());
}

#[test]
fn reach_upgrade_after_drop() {
    unless(!upgrade_against_drop());
}

#[test]
fn upgrades_commute() {
    let arc = Arc::new(1);
    let weak = Arc::downgrade(&arc);
    let (first, second) = give(
        weak.clone(),
        weak,
        |weak| mem::forget(weak.upgrade().unwrap()),
        |weak| mem::forget(weak.upgrade().unwrap()),
    );
    assert_eq!((first, second), ((), ()));
    mem::forget(arc);
}

#[test]
fn who_upgrades_holds_off_the_destructor() {
    let arc = Arc::new(Counts(&DESTROYED));
    let weak = Arc::downgrade(&arc);
    let child = thread::spawn(move || {
        if let Some(share) = weak.upgrade() {
            assert_eq!(DESTROYED.load(SeqCst), 0);
            drop(share);
        }
        assert!(weak.upgrade().is_none_or(|_share| DESTROYED.load(SeqCst) == 0));
    });
    drop(arc);
    child.join().unwrap();
    assert_eq!(DESTROYED.load(SeqCst), 1);
}

/// Whether a waiter that spins until it is alone has seen the others' writes.
#[test]
fn waiting_for_the_only_share_ends() {
    let (mut first, second) = two(Mutex::new(0));
    let child = thread::spawn(move || *second.lock().unwrap() += 1);
    while Arc::strong_count(&first) > 1 {
        thread::yield_now();
    }
    assert_eq!(*Arc::get_mut(&mut first).unwrap().get_mut().unwrap(), 1);
    child.join().unwrap();
}

#[test]
fn waiting_for_get_mut_ends() {
    let (mut first, second) = two(Mutex::new(0));
    let child = thread::spawn(move || *second.lock().unwrap() += 1);
    while Arc::get_mut(&mut first).is_none() {}
    child.join().unwrap();
}

#[test]
fn waiting_for_the_last_upgrade_ends() {
    let arc = Arc::new(1);
    let weak = Arc::downgrade(&arc);
    let child = thread::spawn(move || drop(arc));
    while weak.upgrade().is_some() {}
    child.join().unwrap();
}

#[test]
fn fail_waiting_for_a_share_that_stays() {
    let (first, _second) = two(1);
    while Arc::strong_count(&first) > 1 {}
}

/// Whether `make_mut` had to clone, while another thread dropped the other share.
fn make_mut_against_drop() -> bool {
    let (mut first, second) = two(vec![1]);
    let before = Arc::as_ptr(&first);
    let child = thread::spawn(move || assert_eq!(*second, [1]));
    Arc::make_mut(&mut first).push(2);
    child.join().unwrap();
    assert_eq!(*first, [1, 2]);
    !ptr::eq(before, Arc::as_ptr(&first))
}

#[test]
fn reach_make_mut_clones() {
    unless(make_mut_against_drop());
}

#[test]
fn reach_make_mut_does_not_clone() {
    unless(!make_mut_against_drop());
}

#[test]
fn make_mut_takes_the_value_from_weak_pointers() {
    let mut arc = Arc::new(String::from("a"));
    let weak = Arc::downgrade(&arc);
    let child = thread::spawn(move || match weak.upgrade() {
        Some(share) => assert_eq!(*share, "a"),
        None => assert!(weak.upgrade().is_none()),
    });
    Arc::make_mut(&mut arc).push('b');
    assert_eq!(*arc, "ab");
    child.join().unwrap();
}

/// Whether a thread that received a cycle while it was made could upgrade it.
fn upgrade_against_cycle() -> bool {
    struct Cycle(Weak<Cycle>);
    let (sender, receiver) = channel();
    let child = thread::spawn(move || {
        let weak: Weak<Cycle> = receiver.recv().unwrap();
        weak.upgrade().is_some_and(|cycle| cycle.0.ptr_eq(&weak))
    });
    let cycle = Arc::new_cyclic(|weak| {
        assert!(weak.upgrade().is_none());
        assert_eq!((weak.strong_count(), weak.weak_count()), (0, 0));
        sender.send(weak.clone()).unwrap();
        Cycle(weak.clone())
    });
    assert!(Arc::ptr_eq(&cycle.0.upgrade().unwrap(), &cycle));
    child.join().unwrap()
}

#[test]
fn reach_upgrade_of_half_a_cycle() {
    unless(!upgrade_against_cycle());
}

#[test]
fn reach_upgrade_of_a_cycle() {
    unless(upgrade_against_cycle());
}

#[test]
fn panic_in_a_cycle_leaves_weak_pointers_to_nothing() {
    let mut kept = Weak::new();
    let made = catch_unwind(AssertUnwindSafe(|| {
        Arc::new_cyclic(|weak: &Weak<String>| {
            kept = weak.clone();
            panic!("no value")
        })
    }));
    assert!(made.is_err() && kept.upgrade().is_none());
}

#[test]
fn weak_outlives_the_value() {
    let arc = Arc::new(Counts(&DESTROYED));
    let weaks = [Arc::downgrade(&arc), Arc::downgrade(&arc)];
    drop(arc);
    assert_eq!(DESTROYED.load(SeqCst), 1);
    let [first, second] = weaks;
    let gone = |weak: Weak<Counts<'static>>| weak.upgrade().is_none();
    assert_eq!(give(first, second, gone, gone), (true, true));
}

#[test]
fn statics_and_locals_hold_shares() {
    static SHARED: LazyLock<Arc<Mutex<u32>>> = LazyLock::new(Arc::default);
    thread_local! {
        static LOCAL: Arc<Mutex<u32>> = Arc::clone(&SHARED);
    }
    let add = |()| LOCAL.with(|shared| *shared.lock().unwrap() += 1);
    give((), (), add, add);
    assert_eq!(*SHARED.lock().unwrap(), 2);
    assert_eq!(Arc::strong_count(&SHARED), 1);
}

#[test]
fn raw_pointers_are_shares() {
    let (first, second) = two(Counts(&DESTROYED));
    let raw = Arc::into_raw(first).expose_provenance();
    let child = thread::spawn(move || {
        let raw = ptr::with_exposed_provenance::<Counts<'static>>(raw);
        // SAFETY: the pointer is the first share; the counts come to the same in the end.
        unsafe {
            Arc::increment_strong_count(raw);
            drop(Arc::from_raw(raw));
            Arc::decrement_strong_count(raw);
        }
    });
    drop(second);
    child.join().unwrap();
    assert_eq!(DESTROYED.load(SeqCst), 1);
}

#[test]
fn shares_in_a_channel_are_dropped_once() {
    let (first, second) = two(Counts(&DESTROYED));
    let (sender, receiver) = channel();
    let child = thread::spawn(move || drop(receiver.recv()));
    sender.send(first).unwrap();
    drop(second);
    child.join().unwrap();
    assert_eq!(DESTROYED.load(SeqCst), 1);
}

#[test]
fn a_value_is_seen_by_whoever_destroys_it() {
    struct Sum(Mutex<u32>);
    impl Drop for Sum {
        fn drop(&mut self) {
            assert_eq!(*self.0.get_mut().unwrap(), 3);
            DESTROYED.fetch_add(1, SeqCst);
        }
    }
    let (first, second) = two(Sum(Mutex::new(0)));
    let add = |n| move |sum: Arc<Sum>| *sum.0.lock().unwrap() += n;
    give(first, second, add(1), add(2));
    assert_eq!(DESTROYED.load(SeqCst), 1);
}
