//! What the machine offers, step by step.

use super::*;
use Ordering::{Acquire, Relaxed, Release, SeqCst};

/// A machine with three threads that know nothing of each other, and atomics.
struct Bench {
    rc11: Rc11,
    order: HappensBefore,
    memory: Box<[u64; 2]>,
}

impl Bench {
    fn new(learnt: LearntOrderings) -> Bench {
        let mut rc11 = Rc11::default();
        rc11.begins(true, learnt, None);
        let mut order = HappensBefore::default();
        (0..3).for_each(|thread| {
            order.view(thread);
        });
        Bench {
            rc11,
            order,
            memory: Box::new([0; 2]),
        }
    }

    fn request(&mut self, at: usize, ask: Ask) -> Request {
        Request {
            ask,
            address: (&raw mut self.memory[at]).addr(),
            size: 8,
        }
    }

    fn choices(&mut self, thread: usize, at: usize, ask: Ask) -> Vec<u32> {
        let request = self.request(at, ask);
        self.rc11.choices(&self.order, thread, &request).iter().collect()
    }

    /// Makes the operation by this choice, which stores a value if it stores one. Returns what it finds.
    fn run(&mut self, thread: usize, at: usize, ask: Ask, choice: u32, value: u64) -> u64 {
        assert!(self.choices(thread, at, ask).contains(&choice));
        let request = self.request(at, ask);
        self.rc11.place(&mut self.order, &request, choice);
        let found = self.memory[at];
        let access = ask.on(found, choice % request.kinds() == 1);
        self.rc11.loaded(&mut self.order, thread, &request, choice, access);
        if access.writes() {
            self.memory[at] = value;
        }
        self.rc11.stored(&mut self.order, thread, &request, choice, access, 0);
        found
    }
}

const LOAD: fn(Ordering) -> Ask = |order| Ask::Access(AtomicAccess::Load(order));
const STORE: fn(Ordering) -> Ask = |order| Ask::Access(AtomicAccess::Store(order));
const MODIFY: fn(Ordering) -> Ask = |order| Ask::Access(AtomicAccess::Modify(order));

const MIXED: LearntOrderings = LearntOrderings {
    weak: true,
    mixed: true,
    fences: false,
};

const ALL: LearntOrderings = LearntOrderings { fences: true, ..MIXED };

fn weak() -> Bench {
    Bench::new(LearntOrderings {
        weak: true,
        ..LearntOrderings::default()
    })
}

#[test]
fn a_thread_does_not_go_back() {
    let mut bench = weak();
    bench.run(0, 0, STORE(Relaxed), 0, 1);
    bench.run(0, 0, STORE(Relaxed), 0, 2);
    assert_eq!(bench.choices(0, 0, LOAD(Relaxed)), [0]);
    assert_eq!(bench.choices(1, 0, LOAD(Relaxed)), [0, 1, 2]);
    assert_eq!(bench.run(1, 0, LOAD(Relaxed), 1, 0), 1);
    assert_eq!(bench.choices(1, 0, LOAD(Relaxed)), [0, 1]);
    assert_eq!(bench.choices(2, 0, LOAD(Relaxed)), [0, 1, 2]);
}

#[test]
fn who_acquires_does_not_go_back_behind_what_was_released() {
    let mut bench = weak();
    bench.run(0, 0, STORE(Relaxed), 0, 1);
    bench.run(0, 1, STORE(Release), 0, 1);
    assert_eq!(bench.run(1, 1, LOAD(Relaxed), 0, 0), 1);
    assert_eq!(bench.choices(1, 0, LOAD(Relaxed)), [0, 1]);
    assert_eq!(bench.run(2, 1, LOAD(Acquire), 0, 0), 1);
    assert_eq!(bench.choices(2, 0, LOAD(Relaxed)), [0]);
    bench.order.fence_acquires(1, Acquire);
    assert_eq!(bench.choices(1, 0, LOAD(Relaxed)), [0]);
}

#[test]
fn a_store_may_come_before_another_and_memory_holds_the_last() {
    let mut bench = weak();
    bench.run(0, 0, STORE(Relaxed), 0, 1);
    bench.run(1, 0, STORE(Relaxed), 1, 2);
    assert_eq!(bench.memory[0], 1);
    // It has not seen the other one.
    assert_eq!(bench.choices(1, 0, LOAD(Relaxed)), [0, 1]);
    assert_eq!(bench.choices(0, 0, LOAD(Relaxed)), [0]);
}

#[test]
fn nothing_comes_between_a_modification_and_what_it_has_found() {
    let mut bench = weak();
    assert_eq!(bench.run(0, 0, MODIFY(Relaxed), 0, 1), 0);
    for ask in [STORE(Relaxed), MODIFY(Relaxed)] {
        assert_eq!(bench.choices(1, 0, ask), [0]);
    }
    let exchange = |expected| Ask::Exchange {
        expected,
        success: Relaxed,
        failure: Relaxed,
        spuriously: false,
    };
    // It cannot replace the first value, and may find it.
    assert_eq!(bench.choices(1, 0, exchange(0)), [0]);
    assert_eq!(bench.choices(1, 0, exchange(5)), [0, 1]);
}

#[test]
fn an_exchange_that_fails_without_a_reason_is_a_kind_of_its_own() {
    let mut bench = weak();
    bench.run(0, 0, MODIFY(Relaxed), 0, 1);
    let ask = Ask::Exchange {
        expected: 0,
        success: Relaxed,
        failure: Relaxed,
        spuriously: true,
    };
    // The last value by both kinds, the first by the second only, as it was modified.
    assert_eq!(bench.choices(1, 0, ask), [0, 1, 3]);
    assert_eq!(bench.run(1, 0, ask, 3, 9), 0);
    assert_eq!(bench.memory[0], 1);
}

#[test]
fn sequentially_consistent_operations_are_not_buffered() {
    let mut bench = Bench::new(ALL);
    bench.run(0, 0, STORE(SeqCst), 0, 1);
    bench.run(1, 1, STORE(SeqCst), 0, 1);
    assert_eq!(bench.choices(0, 1, LOAD(SeqCst)), [0, 1]);
    assert_eq!(bench.run(0, 1, LOAD(SeqCst), 1, 0), 0);
    assert_eq!(bench.choices(1, 0, LOAD(SeqCst)), [0]);
    assert_eq!(bench.choices(1, 0, LOAD(Acquire)), [0, 1]);
}

#[test]
fn who_waits_for_something_new_leaves_no_longer_record() {
    let mut bench = Bench::new(ALL);
    bench.run(0, 0, STORE(SeqCst), 0, 1);
    bench.run(0, 1, STORE(Relaxed), 0, 1);
    let mut lengths = Vec::new();
    for _ in 0..6 {
        bench.run(1, 0, LOAD(SeqCst), 1, 0);
        bench.run(1, 1, LOAD(Acquire), 0, 0);
        bench.run(1, 1, LOAD(Relaxed), 0, 0);
        lengths.push(bench.rc11.log.events.len());
    }
    assert_eq!(lengths[2..], [lengths[1]; 4]);
}

#[test]
fn what_all_know_is_forgotten() {
    let mut bench = Bench::new(ALL);
    bench.run(0, 0, STORE(SeqCst), 0, 1);
    bench.run(0, 0, STORE(SeqCst), 0, 2);
    let live = [0, 1];
    bench.rc11.settle(&bench.order, &live);
    assert_eq!(bench.choices(1, 0, LOAD(Relaxed)), [0, 1, 2]);
    bench.run(1, 0, LOAD(Relaxed), 0, 0);
    bench.rc11.settle(&bench.order, &live);
    // What is learnt by acquiring it is not known yet.
    assert!(!bench.rc11.histories.is_empty() && bench.rc11.log.is_empty());
    bench.run(1, 0, LOAD(Acquire), 0, 0);
    bench.rc11.settle(&bench.order, &live);
    assert!(bench.rc11.histories.is_empty() && bench.rc11.log.is_empty());
}

#[test]
fn memory_that_was_changed_otherwise_has_no_history() {
    let mut bench = weak();
    bench.run(0, 0, STORE(Relaxed), 0, 1);
    bench.memory[0] = 7;
    assert_eq!(bench.choices(1, 0, LOAD(Relaxed)), [0]);
    assert_eq!(bench.run(1, 0, LOAD(Relaxed), 0, 0), 7);
}

#[test]
fn orderings_are_learnt_when_they_matter() {
    let known = |orderings: &[(Ordering, Ordering)]| {
        let all = orderings.iter();
        all.fold(LearntOrderings::default(), |known, &(success, failure)| {
            known.with(success, failure)
        })
    };
    assert_eq!(known(&[(SeqCst, SeqCst)]), LearntOrderings::default());
    assert_eq!(
        known(&[(Release, Relaxed)]),
        LearntOrderings {
            weak: true,
            ..LearntOrderings::default()
        }
    );
    assert_eq!(known(&[(Relaxed, Relaxed), (SeqCst, SeqCst)]), MIXED);
    // An exchange can be both.
    assert_eq!(known(&[(SeqCst, Relaxed)]), MIXED);
    assert_eq!(known(&[(Relaxed, Relaxed)]).with_fence(), ALL);
    assert_eq!(LearntOrderings::default().with_fence(), LearntOrderings::default());
    assert_eq!(MIXED.for_good(), ALL);
    assert_eq!(known(&[(Relaxed, Relaxed)]).for_good(), known(&[(Relaxed, Relaxed)]));
    // As in seeds.
    let mut again = LearntOrderings::default();
    assert!(
        ALL.as_locations()
            .all(|location| LearntOrderings::is_place(location) && again.learn(location))
    );
    assert!(again == ALL && !ALL.as_locations().any(|location| again.learn(location)));
    assert!(!LearntOrderings::is_place(Location(8)));
}

#[test]
fn atomics_of_different_sizes_overlap_where_an_old_value_is_in_reach() {
    let mut bench = weak();
    bench.run(0, 0, STORE(Relaxed), 0, 1);
    let mut half = bench.request(0, LOAD(Relaxed));
    (half.address, half.size) = (half.address + 4, 4);
    assert!(bench.rc11.overlaps_another(&half));
    let beside = bench.request(1, LOAD(Relaxed));
    assert!(!bench.rc11.overlaps_another(&beside));
    bench.rc11.settle(&bench.order, &[0]);
    assert!(!bench.rc11.overlaps_another(&half));
}

#[test]
fn who_writes_part_of_an_atomic_ends_its_history() {
    let mut bench = weak();
    bench.run(0, 0, STORE(Release), 0, 1);
    let mut half = bench.request(0, STORE(Relaxed));
    (half.address, half.size) = (half.address + 4, 4);
    let passes = |bench: &mut Bench, thread, writes| bench.rc11.passes_overlapping(&bench.order, thread, &half, writes);
    // Another thread, which does not know of the store, is in a race with it.
    assert!(!passes(&mut bench, 1, false));
    assert!(passes(&mut bench, 0, false) && bench.rc11.overlaps_another(&half));
    assert_eq!(bench.choices(1, 0, LOAD(Acquire)), [0, 1]);
    assert!(passes(&mut bench, 0, true) && !bench.rc11.overlaps_another(&half));
    assert_eq!(bench.choices(1, 0, LOAD(Acquire)), [0]);
}

#[test]
fn of_many_messages_operations_take_the_last_ones() {
    let mut bench = weak();
    bench.rc11.most = Some(FEWEST);
    let live = [0, 1, 2];
    for value in 1..=2 {
        bench.run(0, 0, STORE(Relaxed), 0, value);
    }
    // Who has stored them has no more to choose from.
    assert_eq!(bench.choices(0, 0, LOAD(Relaxed)), [0]);
    assert!(!bench.rc11.has_more());
    assert_eq!(bench.choices(1, 0, LOAD(Relaxed)), [0, 1]);
    assert!(bench.rc11.has_more());
    // What is forgotten is not forgotten to have been there, until all know that it is over.
    bench.rc11.settle(&bench.order, &live);
    bench.rc11.start_again();
    assert_eq!(bench.choices(1, 0, LOAD(Relaxed)), [0, 1]);
    assert!(bench.rc11.has_more());
    bench.rc11.start_again();
    for thread in 1..3 {
        assert_eq!(bench.run(thread, 0, LOAD(Relaxed), 0, 0), 2);
    }
    assert!(bench.rc11.has_more());
    bench.rc11.settle(&bench.order, &live);
    bench.rc11.start_again();
    bench.run(0, 0, STORE(Relaxed), 0, 3);
    assert_eq!(bench.choices(1, 0, LOAD(Relaxed)), [0, 1]);
    assert!(!bench.rc11.has_more());
}
