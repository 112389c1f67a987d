//! Cells of the explicit use: which accesses are in a race, and what looking for races changes.

use dpor_explorer::{Statistics, Strategy, Verdict};
use dpor_protocol::{ModelOption, Seed};
use shim_std::cell::UnsafeCell;
use shim_std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, fence};
use shim_std::sync::{Arc, Barrier, Mutex, RwLock, mpsc};
use shim_std::{Model, Outcome, thread};
use std::cell::RefCell;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, panic_any};

/// A cell that threads share.
#[derive(Default)]
struct Shared<T: ?Sized>(UnsafeCell<T>);

// SAFETY: none. Where threads race, the model ends.
unsafe impl<T: ?Sized> Sync for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized> Send for Shared<T> {}

impl Shared<u64> {
    #[track_caller]
    fn read(&self) -> u64 {
        // SAFETY: the model ends where another thread writes meanwhile.
        self.0.with(|value| unsafe { *value })
    }

    #[track_caller]
    fn write(&self, value: u64) {
        // SAFETY: the model ends where another thread uses it meanwhile.
        self.0.with_mut(|place| unsafe { *place = value });
    }
}

const STRATEGIES: [&str; 5] = ["states", "context", "source", "exhaustive", "random:1"];

/// The model fails by a race under every strategy, and so does the replay of its seed, with the same accesses. Returns
/// the message.
#[track_caller]
fn races(test: impl Fn() + Copy + 'static) -> String {
    fails("data-race", test)
}

#[track_caller]
fn fails(kind: &str, test: impl Fn() + Copy + 'static) -> String {
    let mut message = String::new();
    for strategy in STRATEGIES {
        let model = Model::new().strategy(strategy.parse().unwrap()).max_executions(10_000);
        let outcome = model.explore(test);
        let Verdict::Failed { failure, .. } = &outcome.report.verdict else {
            panic!("{strategy}: {outcome}")
        };
        assert_eq!(failure.kind, kind, "{strategy}: {outcome}");
        let seed = outcome.seed.as_deref().unwrap();
        let parsed: Seed = seed.parse().unwrap();
        assert!(parsed.options.has(ModelOption::DataRaces), "{strategy}: {outcome}");
        let again = catch_unwind(AssertUnwindSafe(|| Model::new().replay(seed, test))).unwrap_err();
        let again = again.downcast::<String>().unwrap();
        for line in failure.message.lines() {
            assert!(again.contains(line), "{strategy}: {line}\n---\n{again}");
        }
        message = failure.message.clone();
    }
    message
}

/// The model is complete under every strategy that can say so. Returns the outcome under `source`.
#[track_caller]
fn is_complete(test: impl Fn() + Copy + 'static) -> Outcome {
    let explore = |strategy: Strategy| {
        let outcome = Model::new().strategy(strategy).explore(test);
        assert_eq!(outcome.report.verdict, Verdict::Complete, "{strategy}: {outcome}");
        outcome
    };
    for strategy in ["states", "context", "exhaustive"] {
        explore(strategy.parse().unwrap());
    }
    explore(Strategy::Source)
}

fn shared() -> (Arc<Shared<u64>>, Arc<Shared<u64>>) {
    let cell = Arc::new(Shared::default());
    (Arc::clone(&cell), cell)
}

#[test]
fn a_read_and_a_write_race() {
    let line = Location::caller().line();
    let message = races(|| {
        let (cell, other) = shared();
        let writer = thread::spawn(move || other.write(1));
        cell.read();
        writer.join().unwrap();
    });
    let (write, read) = (line + 3, line + 4);
    // Whichever comes first.
    let told = [
        (
            "t1 writes 8 bytes of a block of 24, from byte 16, which t0 has read",
            [("read", 0, read), ("written", 1, write)],
        ),
        (
            "t0 reads 8 bytes of a block of 24, from byte 16, which t1 has written",
            [("written", 1, write), ("read", 0, read)],
        ),
    ];
    let found = told.iter().find(|(sentence, _)| message.starts_with(sentence));
    let (_, accesses) = found.unwrap_or_else(|| panic!("{message}"));
    let mut lines = message.lines().skip(1).filter(|line| !line.contains("allocated"));
    for (what, thread, at) in accesses {
        let line = lines.next().unwrap_or_default();
        assert!(line.trim_start().starts_with(&format!("{what} in step ")), "{message}");
        assert!(line.contains(&format!("by t{thread}")), "{message}");
        assert!(line.contains(&format!("at {}:{at}", file!())), "{message}");
    }
}

#[test]
fn two_writes_race() {
    let message = races(|| {
        let (cell, other) = shared();
        let writer = thread::spawn(move || other.write(1));
        cell.write(2);
        writer.join().unwrap();
    });
    assert!(message.contains(" writes 8 bytes"), "{message}");
    assert!(
        message.contains(" has written, and nothing orders the two accesses"),
        "{message}"
    );
}

#[test]
fn reads_do_not_race() {
    let outcome = is_complete(|| {
        let (cell, other) = shared();
        cell.write(7);
        let reader = thread::spawn(move || other.read());
        assert_eq!((cell.read(), reader.join().unwrap()), (7, 7));
        cell.write(8);
    });
    assert_eq!(outcome.report.statistics.complete, 1, "{outcome}");
}

/// Main uses the cell only if it comes second.
#[test]
fn a_race_in_one_order_only_is_found() {
    races(|| {
        let (cell, other) = shared();
        let turn = Arc::new(AtomicUsize::new(0));
        let next = Arc::clone(&turn);
        let second = thread::spawn(move || {
            if next.fetch_add(1, Ordering::SeqCst) == 0 {
                other.write(1);
            }
        });
        if turn.fetch_add(1, Ordering::Relaxed) == 1 {
            cell.write(2);
        }
        second.join().unwrap();
    });
}

/// The lock is given back and taken again within the access, of which nothing is left to see in either of its ends.
#[test]
fn an_access_lasts_as_long_as_its_guard() {
    fn test(guarded: bool) {
        let cell = Arc::new((Mutex::new(0), Shared(UnsafeCell::new(0))));
        let other = Arc::clone(&cell);
        let reader = thread::spawn(move || {
            let _locked = other.0.lock().unwrap();
            other.1.read();
        });
        let use_lock = || drop(cell.0.lock().unwrap());
        if guarded {
            let pointer = cell.1.0.get_mut();
            // SAFETY: the model ends where another thread uses it meanwhile.
            unsafe { *pointer.deref() += 1 };
            use_lock();
            drop(pointer);
        } else {
            let locked = cell.0.lock().unwrap();
            cell.1.write(1);
            drop(locked);
            use_lock();
        }
        reader.join().unwrap();
    }
    let message = races(|| test(true));
    assert!(message.contains("written in step"), "{message}");
    is_complete(|| test(false));
    // As a closure.
    races(|| {
        let cell = Arc::new((Mutex::new(()), Shared(UnsafeCell::new(0_u64))));
        let other = Arc::clone(&cell);
        let writer = thread::spawn(move || {
            let _locked = other.0.lock().unwrap();
            other.1.write(1);
        });
        cell.1.0.with(|_| drop(cell.0.lock().unwrap()));
        writer.join().unwrap();
    });
}

/// The other thread's access comes after the begin of the first one and before its end, and so is in no race with
/// either.
#[test]
fn what_an_access_asks_for_and_awaits_does_not_race() {
    fn test(awaits: bool) {
        let (cell, other) = shared();
        let (to_other, inbox) = mpsc::channel();
        let (to_main, answers) = mpsc::channel();
        let writer = thread::spawn(move || {
            inbox.recv().unwrap();
            other.write(1);
            let _ = to_main.send(());
        });
        let pointer = cell.0.get();
        to_other.send(()).unwrap();
        if awaits {
            answers.recv().unwrap();
        }
        drop(pointer);
        writer.join().unwrap();
    }
    is_complete(|| test(true));
    races(|| test(false));
}

#[test]
fn what_the_crate_orders_does_not_race() {
    is_complete(|| {
        let cell = Arc::new((Mutex::new(()), Shared::<u64>::default()));
        let other = Arc::clone(&cell);
        let add = |(lock, cell): &(Mutex<()>, Shared<u64>)| {
            let _locked = lock.lock().unwrap();
            // SAFETY: under the lock.
            cell.0.with_mut(|value| unsafe { *value += 1 });
        };
        let child = thread::spawn(move || add(&other));
        add(&cell);
        child.join().unwrap();
        assert_eq!(cell.1.read(), 2);
    });
    is_complete(|| {
        let cell = Arc::new((RwLock::new(()), Shared::<u64>::default()));
        let other = Arc::clone(&cell);
        let writer = thread::spawn(move || {
            let _locked = other.0.write().unwrap();
            other.1.write(1);
        });
        let locked = cell.0.read().unwrap();
        assert!(cell.1.read() < 2);
        drop(locked);
        writer.join().unwrap();
    });
    is_complete(|| {
        let (cell, other) = shared();
        let (sender, receiver) = mpsc::channel();
        let writer = thread::spawn(move || {
            other.write(5);
            sender.send(()).unwrap();
        });
        receiver.recv().unwrap();
        assert_eq!(cell.read(), 5);
        writer.join().unwrap();
    });
    is_complete(|| {
        let cell = Arc::new((Barrier::new(2), Shared::<u64>::default()));
        let other = Arc::clone(&cell);
        let writer = thread::spawn(move || {
            other.1.write(5);
            other.0.wait();
        });
        cell.0.wait();
        assert_eq!(cell.1.read(), 5);
        writer.join().unwrap();
    });
    is_complete(|| {
        let cell = Shared::<u64>::default();
        thread::scope(|scope| {
            scope.spawn(|| cell.write(1));
        });
        assert_eq!(cell.read(), 1);
    });
}

fn publish(stored: Ordering, loaded: Ordering, fenced: bool) {
    let data = Arc::new((AtomicBool::new(false), Shared::<u64>::default()));
    let other = Arc::clone(&data);
    let writer = thread::spawn(move || {
        other.1.write(5);
        if fenced {
            fence(Ordering::Release);
        }
        other.0.store(true, stored);
    });
    if data.0.load(loaded) {
        if fenced {
            fence(Ordering::Acquire);
        }
        assert_eq!(data.1.read(), 5);
    }
    writer.join().unwrap();
}

#[test]
fn release_and_acquire_order() {
    use Ordering::{Acquire, Relaxed, Release, SeqCst};
    is_complete(|| publish(Release, Acquire, false));
    is_complete(|| publish(SeqCst, SeqCst, false));
    is_complete(|| publish(Relaxed, Relaxed, true));
    let message = races(|| publish(Relaxed, Acquire, false));
    assert!(
        message.contains("stored with Relaxed, which publishes nothing; Release would in step"),
        "{message}"
    );
    let message = races(|| publish(Release, Relaxed, false));
    assert!(
        message.contains("loaded with Relaxed, which orders nothing"),
        "{message}"
    );
}

/// Nothing says that the cell was initialised, and nothing has to.
#[test]
fn who_uses_a_cell_comes_after_its_allocation() {
    fn test(order: Ordering) {
        let place = Arc::new(AtomicPtr::new(std::ptr::null_mut::<Shared<u64>>()));
        let other = Arc::clone(&place);
        let maker = thread::spawn(move || other.store(Box::into_raw(Box::new(Shared(UnsafeCell::new(3)))), order));
        // SAFETY: null, or a box that nobody frees.
        if let Some(cell) = unsafe { place.load(Ordering::Acquire).as_ref() } {
            assert_eq!(cell.read(), 3);
        }
        maker.join().unwrap();
    }
    is_complete(|| test(Ordering::Release));
    let message = races(|| test(Ordering::Relaxed));
    assert!(message.contains("which t1 has allocated"), "{message}");
}

/// Atomics are in no memory of which the allocation, the end, or another use is known.
#[test]
fn only_cells_are_in_races() {
    use std::sync::atomic::AtomicPtr as RealPtr;
    static PLACE: RealPtr<AtomicUsize> = RealPtr::new(std::ptr::null_mut());
    is_complete(|| {
        let cell = Shared::<u64>::default();
        let maker = thread::spawn(|| {
            PLACE.store(Box::into_raw(Box::new(AtomicUsize::new(1))), Ordering::Release);
        });
        cell.write(1);
        thread::yield_now();
        // SAFETY: null, or a box that nobody frees, made known by the real std.
        if let Some(number) = unsafe { PLACE.load(Ordering::Acquire).as_ref() } {
            assert_eq!(number.fetch_add(1, Ordering::SeqCst), 1);
        }
        maker.join().unwrap();
    });
}

/// The first use of a cell is met where it is only tried out how a loop goes on that holds a lock.
#[test]
fn loops_are_held_back_with_cells_as_well() {
    fn with_lock<R>(lock: &AtomicBool, f: impl FnOnce() -> R) -> R {
        while lock.swap(true, Ordering::Acquire) {
            std::hint::spin_loop();
        }
        let result = f();
        lock.store(false, Ordering::Release);
        result
    }
    fn test(sets: bool) {
        let (lock, set, cell) = (AtomicBool::new(false), AtomicBool::new(false), Shared::default());
        thread::scope(|scope| {
            scope.spawn(|| {
                with_lock(&lock, || {
                    cell.write(1);
                    set.store(sets, Ordering::Relaxed);
                })
            });
            while !with_lock(&lock, || set.load(Ordering::Relaxed)) {}
            assert_eq!(cell.read(), 1);
        });
    }
    for strategy in ["states", "context", "source"] {
        let model = Model::new().strategy(strategy.parse().unwrap()).max_executions(50);
        let outcome = model.explore(|| test(false));
        assert!(
            matches!(&outcome.report.verdict, Verdict::Failed { failure, .. } if failure.kind == "livelock"),
            "{strategy}: {outcome}"
        );
        let outcome = model.explore(|| test(true));
        assert!(
            !matches!(outcome.report.verdict, Verdict::Failed { .. }),
            "{strategy}: {outcome}"
        );
        assert!(outcome.report.statistics.refinements > 0, "{strategy}: {outcome}");
    }
}

/// The thread that drops the real `Arc` last is ordered after the others, which nobody sees here.
#[test]
fn the_end_of_a_life_is_no_access() {
    fn leaves(finish: fn(Arc<Shared<u64>>)) {
        let (cell, other) = shared();
        let done = Arc::new(AtomicBool::new(false));
        let tells = Arc::clone(&done);
        let _detached = thread::spawn(move || {
            other.write(1);
            drop(other);
            tells.store(true, Ordering::Relaxed);
        });
        if done.load(Ordering::Relaxed) {
            finish(cell);
        }
    }
    is_complete(|| leaves(drop));
    is_complete(|| leaves(|cell| assert_eq!(Arc::into_inner(cell).unwrap().0.into_inner(), 1)));
    is_complete(|| {
        leaves(|mut cell| {
            let contents = Arc::get_mut(&mut cell).unwrap().0.exclusive();
            assert_eq!(*contents, 1);
            *contents = 2;
            assert_eq!(cell.read(), 2);
        })
    });
    // It is the exclusive borrow that says so.
    races(|| {
        leaves(|cell| {
            cell.read();
        })
    });
}

#[test]
fn an_exclusive_use_is_a_write() {
    races(|| {
        let mut cell = Box::new(Shared(UnsafeCell::new(0_u64)));
        let pointer = AtomicUsize::new(std::ptr::from_mut(&mut *cell).expose_provenance());
        thread::scope(|scope| {
            scope.spawn(|| {
                let pointer = pointer.load(Ordering::Relaxed);
                let cell = std::ptr::with_exposed_provenance::<Shared<u64>>(pointer);
                // SAFETY: the box lives as long as the scope.
                unsafe { &*cell }.read();
            });
            *cell.0.exclusive() = 1;
        });
    });
}

/// A place in which one cell comes after another, as those of a slab do.
#[test]
fn a_cell_in_the_place_of_another_is_a_new_one() {
    type Slot = Shared<MaybeUninit<Shared<u64>>>;
    fn test(drops: bool) {
        let slot = Arc::new(Slot::default_slot());
        let (user, freer) = (Arc::clone(&slot), slot);
        let count = Arc::new(());
        let share = Arc::clone(&count);
        let _detached = thread::spawn(move || {
            user.cell().write(1);
            drop(share);
        });
        // Ordered by the real `Arc`, which nobody sees.
        thread::yield_now();
        if Arc::into_inner(count).is_some() {
            // SAFETY: the other thread does not use it any more.
            unsafe {
                if drops {
                    freer.place().drop_in_place();
                }
                freer.place().write(Shared(UnsafeCell::new(2)));
            }
            freer.cell().write(3);
        }
    }
    impl Slot {
        fn default_slot() -> Slot {
            Shared(UnsafeCell::new(MaybeUninit::new(Shared(UnsafeCell::new(0)))))
        }

        /// Not by an access to the slot, which is not what this is about.
        fn place(&self) -> *mut Shared<u64> {
            std::ptr::from_ref(self).cast_mut().cast()
        }

        fn cell(&self) -> &Shared<u64> {
            // SAFETY: it is always initialised.
            unsafe { &*self.place() }
        }
    }
    is_complete(|| test(true));
    races(|| test(false));
}

#[test]
fn a_freed_cell_is_not_used() {
    fails("use-after-free", || {
        let cell = Box::into_raw(Box::new(Shared::<u64>::default()));
        // SAFETY: it is alive, and freed once.
        unsafe {
            (*cell).write(1);
            drop(Box::from_raw(cell));
            (*cell).read();
        }
    });
    // A pointer may outlive the cell, if nobody uses it.
    is_complete(|| {
        let cell = Box::into_raw(Box::new(Shared::<u64>::default()));
        // SAFETY: it is alive, and freed once.
        unsafe {
            let pointer = (*cell).0.get_mut();
            drop(Box::from_raw(cell));
            drop(pointer);
        }
    });
}

#[test]
fn all_bytes_of_a_cell_count_and_no_others() {
    races(|| {
        let cell = Arc::new(Shared(UnsafeCell::new([0_u8; 3])));
        let other = Arc::clone(&cell);
        let child = thread::spawn(move || {
            // SAFETY: the model ends where another thread uses it meanwhile.
            other.0.with_mut(|bytes| unsafe { (*bytes)[0] = 1 });
        });
        // SAFETY: as above.
        cell.0.with_mut(|bytes| unsafe { (*bytes)[2] = 1 });
        child.join().unwrap();
    });
    is_complete(|| {
        let cells = Arc::new([0_u8; 3].map(|byte| Shared(UnsafeCell::new(byte))));
        let other = Arc::clone(&cells);
        let child = thread::spawn(move || {
            // SAFETY: each thread has a byte of its own.
            other[0].0.with_mut(|byte| unsafe { *byte = 1 });
        });
        // SAFETY: as above.
        cells[1].0.with_mut(|byte| unsafe { *byte = 1 });
        child.join().unwrap();
    });
    // Of a slice.
    let message = races(|| {
        let cell: Arc<Shared<[u32]>> = Arc::new(Shared(UnsafeCell::new([0; 3])));
        let other = Arc::clone(&cell);
        // SAFETY: as above.
        let child = thread::spawn(move || other.0.with_mut(|numbers| unsafe { (&mut *numbers)[2] = 1 }));
        // SAFETY: as above.
        cell.0.with(|numbers| unsafe { assert!((&*numbers).len() == 3) });
        child.join().unwrap();
    });
    assert!(message.contains(" 12 bytes of a block of "), "{message}");
}

#[test]
fn nothing_races_in_a_cell_without_bytes() {
    let outcome = is_complete(|| {
        let cell = Arc::new(Shared(UnsafeCell::new(())));
        let other = Arc::clone(&cell);
        let child = thread::spawn(move || other.0.with_mut(|nothing| assert!(!nothing.is_null())));
        // SAFETY: nothing is read.
        unsafe { *cell.0.get_mut().deref() };
        child.join().unwrap();
    });
    assert_eq!(outcome.report.statistics.refinements, 0, "{outcome}");
}

#[test]
fn statics_and_stacks_are_looked_at() {
    static CELL: Shared<u64> = Shared(UnsafeCell::new(0));
    let message = races(|| {
        let child = thread::spawn(|| CELL.write(1));
        CELL.write(2);
        child.join().unwrap();
    });
    assert!(message.contains("CELL"), "{message}");
    let message = races(|| {
        let cell = Shared::<u64>::default();
        thread::scope(|scope| {
            scope.spawn(|| cell.write(1));
            cell.write(2);
        });
    });
    assert!(message.contains(" on the stack of t0"), "{message}");
}

/// Its memory is not the model's, and other executions use it.
#[test]
fn what_is_older_than_the_model_is_not_looked_at() {
    let cell = Arc::new(Shared::<u64>::default());
    let outcome = Model::new().explore(move || {
        let child = {
            let cell = std::ptr::from_ref(&*cell).expose_provenance();
            thread::spawn(move || {
                // SAFETY: it outlives the model.
                unsafe { &*std::ptr::with_exposed_provenance::<Shared<u64>>(cell) }.write(1);
            })
        };
        cell.write(2);
        child.join().unwrap();
    });
    assert_eq!(outcome.report.verdict, Verdict::Complete, "{outcome}");
    assert_eq!(outcome.report.statistics.refinements, 0, "{outcome}");
}

fn count(with_cells: bool) {
    let counter = Arc::new((Mutex::new(0_u64), Shared::<u64>::default()));
    let add = move |counter: &(Mutex<u64>, Shared<u64>)| {
        for _ in 0..2 {
            let mut locked = counter.0.lock().unwrap();
            *locked += 1;
            if with_cells {
                // SAFETY: under the lock.
                counter.1.0.with_mut(|value| unsafe { *value += 1 });
            }
        }
    };
    let other = Arc::clone(&counter);
    let child = thread::spawn(move || add(&other));
    add(&counter);
    child.join().unwrap();
    if with_cells {
        assert_eq!(counter.1.read(), 4);
    }
}

/// Nobody looks for races where there is no cell, and cells are no scheduling points.
#[test]
fn cells_add_no_executions_and_others_see_nothing_of_them() {
    let explore = |strategy: &str, with_cells| {
        let outcome = Model::new()
            .strategy(strategy.parse().unwrap())
            .explore(move || count(with_cells));
        assert_eq!(outcome.report.verdict, Verdict::Complete, "{strategy}: {outcome}");
        outcome.report.statistics
    };
    for strategy in ["source", "exhaustive"] {
        let (without, with) = (explore(strategy, false), explore(strategy, true));
        assert_eq!((without.refinements, with.refinements), (0, 1), "{strategy}");
        let counts = |statistics: Statistics| (statistics.complete, statistics.blocked);
        assert_eq!(counts(without), counts(with), "{strategy}");
    }
    assert_eq!(explore("source", false).complete, 6);
    assert_eq!(explore("states", false).refinements, 0);
    // A failure without cells has the seed that it always had.
    let outcome = Model::new().explore(|| {
        count(false);
        panic_any("over");
    });
    let seed: Seed = outcome.seed.as_deref().unwrap().parse().unwrap();
    assert!(!seed.options.has(ModelOption::DataRaces), "{outcome}");
}

/// Who of two threads was the last to use a cell makes no state of its own where all who do not know of it wait for them
/// to end.
#[test]
fn who_waits_for_ends_knows_what_the_others_know() {
    let states = |with_cells: bool| {
        let outcome = Model::new().strategy("states".parse().unwrap()).explore(move || {
            let (lock, cell) = (Mutex::new(()), Shared::<u64>::default());
            let add = || {
                let _locked = lock.lock().unwrap();
                match with_cells {
                    true => cell.write(cell.read() + 1),
                    false => drop(Box::new(0)),
                }
            };
            thread::scope(|scope| {
                scope.spawn(add);
                scope.spawn(add);
            });
        });
        assert_eq!(outcome.report.verdict, Verdict::Complete, "{outcome}");
        outcome.report.statistics.states
    };
    assert_eq!(states(true), states(false));
}

/// The destructors of its thread-locals run when a thread counts as ended for its scope.
#[test]
fn what_a_thread_does_after_its_scope_is_over_may_race() {
    struct WritesAtTheEnd(Arc<Shared<u64>>);

    impl Drop for WritesAtTheEnd {
        fn drop(&mut self) {
            self.0.write(2);
        }
    }

    shim_std::thread_local! {
        static LAST: RefCell<Option<WritesAtTheEnd>> = const { RefCell::new(None) };
    }

    let test = |joins: bool| {
        let (cell, other) = shared();
        thread::scope(|scope| {
            let handle = scope.spawn(move || LAST.set(Some(WritesAtTheEnd(other))));
            if joins {
                handle.join().unwrap();
            }
        });
        cell.write(1);
    };
    races(move || test(false));
    is_complete(move || test(true));
}

/// A failure of another kind in a model with cells, and one before the first cell is used.
#[test]
fn other_failures_replay_as_well() {
    for cell_first in [true, false] {
        let test = move || {
            let (cell, other) = shared();
            let flag = Arc::new(AtomicBool::new(false));
            let set = Arc::clone(&flag);
            let child = thread::spawn(move || {
                set.store(true, Ordering::SeqCst);
                drop(other);
            });
            if cell_first {
                cell.write(1);
            }
            assert!(!flag.load(Ordering::SeqCst), "set early");
            cell.write(2);
            child.join().unwrap();
        };
        let outcome = Model::new().explore(test);
        let seed = outcome.seed.clone().unwrap_or_else(|| panic!("{outcome}"));
        let again = catch_unwind(AssertUnwindSafe(|| Model::new().replay(&seed, test))).unwrap_err();
        assert!(again.downcast::<String>().unwrap().contains("set early"), "{outcome}");
    }
}

/// The end of an access is recorded when a panic leaves it.
#[test]
fn a_panic_ends_an_access() {
    is_complete(|| {
        let cell = Arc::new((Mutex::new(()), Shared::<u64>::default()));
        let other = Arc::clone(&cell);
        let child = thread::spawn(move || {
            let _locked = other.0.lock().unwrap();
            other.1.0.with_mut(|_| panic_any("on purpose"))
        });
        let locked = cell.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        cell.1.write(1);
        drop(locked);
        assert!(child.join().is_err());
    });
    races(|| {
        let cell = Arc::new((Mutex::new(()), Shared::<u64>::default()));
        let other = Arc::clone(&cell);
        let child = thread::spawn(move || {
            other.1.0.with_mut(|_| {
                let _locked = other.0.lock();
                panic_any("on purpose")
            })
        });
        let locked = cell.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        cell.1.read();
        drop(locked);
        assert!(child.join().is_err());
    });
}

/// Going back to saved states goes back to what was known of accesses.
#[test]
fn saved_states_know_of_accesses() {
    let outcome = Model::new().rewinds(true).explore(|| count(true));
    assert_eq!(outcome.report.verdict, Verdict::Complete, "{outcome}");
    let plain = Model::new().explore(|| count(true));
    assert_eq!(outcome.report.statistics.complete, plain.report.statistics.complete);
    let outcome = Model::new()
        .rewinds(true)
        .explore(|| publish(Ordering::Relaxed, Ordering::Acquire, false));
    assert!(
        matches!(&outcome.report.verdict, Verdict::Failed { failure, .. } if failure.kind == "data-race"),
        "{outcome}"
    );
}

/// Off models it is a cell as any other.
#[test]
fn it_is_a_cell_without_a_model() {
    let mut cell = UnsafeCell::from(String::from("a"));
    // SAFETY: nobody else has it.
    unsafe {
        cell.with_mut(|text| (*text).push('b'));
        cell.get_mut().deref().push('c');
        cell.get_mut().with(|text| (*text).push('d'));
        assert_eq!(cell.with(|text| (&*text).len()), 4);
        assert_eq!(cell.get().deref(), "abcd");
        assert_eq!(cell.get().with(|text| (*text).clone()), "abcd");
    }
    cell.exclusive().push('e');
    assert_eq!(format!("{cell:?}"), "UnsafeCell { .. }");
    assert_eq!(cell.into_inner(), "abcde");
    let dropped = Arc::new(());
    drop(UnsafeCell::new(Arc::clone(&dropped)));
    assert_eq!(Arc::strong_count(&dropped), 1);
    assert_eq!(UnsafeCell::new(Arc::clone(&dropped)).into_inner(), dropped);
    assert_eq!(Arc::strong_count(&dropped), 1);
    assert_eq!(size_of::<UnsafeCell<[u8; 3]>>(), 3);
    const _: UnsafeCell<u8> = UnsafeCell::new(1);
}
