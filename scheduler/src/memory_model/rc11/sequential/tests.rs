mod random;
mod ways;

use super::super::psc::{Newcomers, Psc};
use super::*;

/// For each event, those that come after it in some relation.
type Relation = Vec<BitSet>;

impl Log {
    /// Whether the first happens before the second.
    fn happens_before(&self, first: usize, second: usize) -> bool {
        first < second && self.events[second].comes_after(&self.events[first])
    }

    /// Whether the first comes before the second by what they have read or written of one atomic, by RC11's `eco`.
    /// The position of each event is given.
    fn precedes(&self, position: &[usize], first: usize, second: usize) -> bool {
        let [one, other] = [first, second].map(|event| &self.events[event]);
        let same = one.atomic().is_some() && one.atomic() == other.atomic();
        let reads = one.kind.writes() && !other.kind.writes();
        same && (position[first] < position[second] || reads && position[first] == position[second])
    }

    /// Whether `psc` has no cycle with this event as well.
    fn allows(&self, event: &Event) -> bool {
        Newcomers::new(&Psc::new(self)).allow(event)
    }

    fn relation(&self, holds: impl Fn(usize, usize) -> bool) -> Relation {
        let count = self.events.len();
        let after = |first: usize| {
            let others = (0..count).filter(|&second| second != first && holds(first, second));
            others.map(|second| second as u32).collect()
        };
        (0..count).map(after).collect()
    }

    /// Whether RC11's `psc`, by its definition, has a cycle:
    ///
    /// ```text
    /// scb = sb ∪ sb≠loc;hb;sb≠loc ∪ hb=loc ∪ mo ∪ rb
    /// psc = ([Esc] ∪ [Fsc];hb?) ; scb ; ([Esc] ∪ hb?;[Fsc])  ∪  [Fsc] ; (hb ∪ hb;eco;hb) ; [Fsc]
    /// ```
    fn has_cycle(&self) -> bool {
        let events = &self.events;
        let hb = self.relation(|one, other| self.happens_before(one, other));
        let sb = |one: usize, other: usize| one < other && events[one].thread == events[other].thread;
        let same = |one: usize, other: usize| events[one].at.is_some() && events[one].at == events[other].at;
        let elsewhere = self.relation(|one, other| sb(one, other) && !same(one, other));
        let position = self.positions();
        // `mo` and `rb`.
        let overwritten = |one: usize, other: usize| {
            same(one, other) && events[other].kind.writes() && position[one] < position[other]
        };
        let eco = self.relation(|one, other| self.precedes(&position, one, other));
        let mut scb = self.relation(|one, other| {
            sb(one, other) || same(one, other) && hb[one].contains(other as u32) || overwritten(one, other)
        });
        for (one, after) in scb.iter_mut().enumerate() {
            let far = follow(&follow(&elsewhere[one], &hb), &elsewhere);
            after.extend_from(&far);
        }
        let is_fence = |event: usize| events[event].kind == EventKind::Fence;
        let sequential: Vec<usize> = (0..events.len()).filter(|&event| events[event].is_sequential).collect();
        let psc: Vec<Vec<usize>> = sequential
            .iter()
            .map(|&one| {
                let mut ends = scb[one].clone();
                let mut between = BitSet::new();
                if is_fence(one) {
                    ends.extend_from(&follow(&hb[one], &scb));
                    between.extend_from(&hb[one]);
                    between.extend_from(&follow(&follow(&hb[one], &eco), &hb));
                }
                let reaches = |other: usize| {
                    let (fence, other) = (is_fence(other), other as u32);
                    let comes_after_an_end = || ends.iter().any(|end| hb[end as usize].contains(other));
                    ends.contains(other) || fence && (between.contains(other) || comes_after_an_end())
                };
                let reached = sequential.iter().enumerate().filter(|&(_, &other)| reaches(other));
                reached.map(|(index, _)| index).collect()
            })
            .collect();
        is_cyclic(&psc)
    }
}

/// What comes after some event of the set.
fn follow(set: &BitSet, relation: &Relation) -> BitSet {
    let mut after = BitSet::new();
    set.iter()
        .for_each(|event| after.extend_from(&relation[event as usize]));
    after
}

/// Whether the graph has a cycle, by removing what nothing leads to.
fn is_cyclic(graph: &[Vec<usize>]) -> bool {
    let mut incoming = vec![0; graph.len()];
    graph.iter().flatten().for_each(|&to| incoming[to] += 1);
    let mut free: Vec<usize> = (0..graph.len()).filter(|&node| incoming[node] == 0).collect();
    let mut removed = 0;
    while let Some(node) = free.pop() {
        removed += 1;
        for &to in &graph[node] {
            incoming[to] -= 1;
            if incoming[to] == 0 {
                free.push(to);
            }
        }
    }
    removed < graph.len()
}

/// Whether `psc` has no cycle with this event as well, by the definition.
fn allows_by_definition(log: &Log, event: &Event) -> bool {
    let mut with = Log::default();
    with.copy_from(log);
    with.add(event.clone());
    !with.has_cycle()
}

/// The entries and all that comes after them, by the definition.
fn after_by_definition(log: &Log, entries: &BitSet) -> BitSet {
    let position = log.positions();
    let mut kept = entries.clone();
    let mut next: Vec<u32> = kept.iter().collect();
    while let Some(one) = next.pop() {
        for other in (0..log.events.len() as u32).filter(|&other| other != one) {
            let (first, second) = (one as usize, other as usize);
            let comes_after = log.happens_before(first, second) || log.precedes(&position, first, second);
            if comes_after && !kept.contains(other) {
                kept.insert(other);
                next.push(other);
            }
        }
    }
    kept
}

#[test]
fn what_was_on_record_before_does_not_show() {
    let event = |thread: u16| Event {
        thread,
        epoch: 1,
        clock: Clock::from_elem(1, 3),
        at: Some(Location(thread.into())),
        kind: EventKind::Store,
        is_sequential: true,
        publishes: false,
        source: None,
    };
    let mut log = Log::default();
    log.add(event(2));
    log.settle(BitSet::of(0));
    assert_eq!(log.events.len(), 1);
    log.clear();
    log.add(event(0));
    log.add(event(1));
    // The first one comes after nothing, and so not after the first one that was on record before.
    log.settle(BitSet::of(1));
    assert_eq!(log.events.iter().map(|event| event.thread).collect::<Vec<_>>(), [1]);
}

#[test]
fn only_a_load_between_two_of_the_same_is_needless() {
    let load = Event {
        thread: 1,
        epoch: 2,
        clock: Clock::from_slice(&[0, 2]),
        at: Some(Location(8)),
        kind: EventKind::Load,
        is_sequential: true,
        publishes: false,
        source: None,
    };
    let needless = |before: &[Event]| {
        let mut log = Log::default();
        before.iter().for_each(|event| _ = log.add(event.clone()));
        log.needless(&load)
    };
    let other = |change: fn(&mut Event)| {
        let mut event = load.clone();
        change(&mut event);
        event
    };
    assert_eq!(needless(std::slice::from_ref(&load)), None);
    assert_eq!(needless(&[load.clone(), load.clone()]), Some(1));
    let of_others = other(|event| event.thread = 0);
    assert_eq!(needless(&[load.clone(), load.clone(), of_others]), Some(1));
    for change in [
        |event: &mut Event| event.epoch = 1,
        |event: &mut Event| event.clock[0] = 1,
        |event: &mut Event| event.at = Some(Location(16)),
        |event: &mut Event| event.is_sequential = false,
        |event: &mut Event| event.source = Some(0),
        |event: &mut Event| event.kind = EventKind::Store,
    ] {
        let changed = other(change);
        assert_eq!(needless(&[changed.clone(), load.clone()]), None, "{changed:?}");
        assert_eq!(needless(&[load.clone(), changed.clone()]), None, "{changed:?}");
    }
    // What comes before the epoch, and before the thread has learnt something, is not looked at.
    for change in [
        |event: &mut Event| event.epoch = 1,
        |event: &mut Event| event.clock[0] = 1,
    ] {
        assert_eq!(needless(&[load.clone(), other(change), load.clone()]), None);
    }
}

#[test]
fn of_four_rounds_that_are_the_same_one_is_needless() {
    let fence = |epoch: u32, publishes: bool| Event {
        thread: 1,
        epoch,
        clock: Clock::from_slice(&[3, epoch]),
        at: None,
        kind: EventKind::Fence,
        is_sequential: false,
        publishes,
        source: None,
    };
    let load = |epoch: u32| Event {
        at: Some(Location(8)),
        kind: EventKind::Load,
        ..fence(epoch, false)
    };
    let needless = |events: &[Event]| {
        let mut log = Log::default();
        events.iter().for_each(|event| _ = log.add(event.clone()));
        log.needless_round().to_vec()
    };
    let rounds = |count: u32| (0..count).flat_map(|epoch| [fence(epoch, true), load(epoch + 1)]);
    assert_eq!(needless(&rounds(3).collect::<Vec<_>>()), [0; 0]);
    assert_eq!(needless(&rounds(4).collect::<Vec<_>>()), [5, 4]);
    let changed = |at: usize, change: fn(&mut Event)| {
        let mut events: Vec<_> = rounds(4).collect();
        change(&mut events[at]);
        needless(&events)
    };
    // What one fence publishes, others would not; what somebody has learnt, they would not have known.
    for change in [
        |event: &mut Event| event.publishes = !event.publishes,
        |event: &mut Event| event.clock[0] += 1,
        |event: &mut Event| event.source = Some(0),
        |event: &mut Event| event.is_sequential = true,
        |event: &mut Event| event.kind = EventKind::Store,
    ] {
        (0..8).for_each(|at| assert_eq!(changed(at, change), [0; 0], "{at}"));
    }
    // A clock that has an entry more knows no more.
    assert_eq!(changed(2, |event| event.clock.push(0)), [5, 4]);
}

/// An event of a thread that knows what is in the clock.
fn event(thread: u16, clock: &[u32], at: Option<Location>, kind: EventKind, is_sequential: bool) -> Event {
    Event {
        thread,
        epoch: clock[usize::from(thread)],
        clock: Clock::from_slice(clock),
        at,
        kind,
        is_sequential,
        publishes: kind == EventKind::Fence,
        source: None,
    }
}

#[test]
fn the_order_is_always_that_of_the_present_events() {
    fn is_present(log: &Log) {
        assert_eq!(format!("{:?}", log.psc()), format!("{:?}", Psc::new(log)));
    }
    let at = Some(Location(8));
    let (mut log, mut other) = (Log::default(), Log::default());
    is_present(&log);
    other.add(event(1, &[0, 1], at, EventKind::Load, true));
    is_present(&other);
    for epoch in 1..4 {
        log.add(Event {
            source: log.last_store(Location(8)),
            ..event(0, &[epoch], at, EventKind::Store, true)
        });
        is_present(&log);
    }
    let load = log.add(event(1, &[0, 1], at, EventKind::Load, false));
    is_present(&log);
    log.remove(load, [].into_iter());
    is_present(&log);
    log.settle(BitSet::of(2));
    assert_eq!(log.events.len(), 1);
    is_present(&log);
    // Each of the two has what belongs to it, whichever was asked for.
    log.add(event(1, &[0, 1], None, EventKind::Fence, true));
    is_present(&log);
    log.copy_from(&other);
    is_present(&log);
    log.add(event(0, &[5], at, EventKind::Store, true));
    is_present(&log);
    is_present(&other);
    log.clear();
    is_present(&log);
}

/// A thread has loaded what `a` stored to `x`, and waits with a sequentially consistent fence and a lock in each round.
/// Another one has learnt of the first round only, by the lock: it comes after that fence, and after no later one. So it
/// cannot load an older value of `y` than that of `b`, who has stored to `x` after that, but before `a`.
#[test]
fn who_has_learnt_of_the_first_of_many_rounds_comes_after_its_fence() {
    let [a, waits, learns, b] = [0u16, 1, 2, 3];
    let [x, y] = [8, 16].map(Location);
    let log = |fenced: u32, shortens: bool| {
        let mut log = Log::default();
        log.add(event(b, &[0, 0, 0, 1], Some(y), EventKind::Store, true));
        let of_b = log.add(event(b, &[0, 0, 0, 2], Some(x), EventKind::Store, true));
        let of_a = log.add(Event {
            source: Some(of_b),
            ..event(a, &[1], Some(x), EventKind::Store, true)
        });
        log.add(Event {
            source: Some(of_a),
            ..event(waits, &[1, 1], Some(x), EventKind::Load, false)
        });
        for round in 0..6 {
            let (before, after) = ([1, 2 * round + 1], [1, 2 * round + 2]);
            if round >= fenced {
                log.add(event(waits, &before, None, EventKind::Fence, true));
            }
            log.add(event(waits, &after, None, EventKind::Other, false));
            if shortens {
                let needless = log.needless_round().into_iter();
                needless.for_each(|event| log.remove(event, std::iter::empty()));
            }
            if round == 0 {
                log.add(event(learns, &[1, 2, 1], None, EventKind::Other, false));
            }
        }
        log
    };
    let load = event(learns, &[1, 2, 1], Some(y), EventKind::Load, true);
    let (whole, short) = (log(0, false), log(0, true));
    assert!(short.events.len() < whole.events.len());
    assert!(!allows_by_definition(&whole, &load));
    assert!(!short.allows(&load));
    // Without the first fence there is no cycle.
    assert!(log(1, false).allows(&load) && log(1, true).allows(&load));
}

/// One thread stores to `y`, makes a fence, and stores to `z` and to `x`. Another one overwrites the latter, and a
/// third one has loaded that before a fence of its own, and knows of nobody. What it loads after that must not be an
/// older value of `y`: its fence comes after the other one by what `eco` leads to from the second store after that.
#[test]
fn a_fence_comes_before_what_reads_a_later_store_than_those_of_its_thread() {
    let [stores, overwrites, loads] = [0u16, 1, 2];
    let [x, y, z] = [8, 16, 24].map(Location);
    let allows = |loads_it: bool| {
        let mut log = Log::default();
        log.add(event(stores, &[1], Some(y), EventKind::Store, false));
        log.add(event(stores, &[1], None, EventKind::Fence, true));
        log.add(event(stores, &[2], Some(z), EventKind::Store, false));
        let of_x = log.add(event(stores, &[2], Some(x), EventKind::Store, false));
        let later = log.add(Event {
            source: Some(of_x),
            ..event(overwrites, &[0, 1], Some(x), EventKind::Store, false)
        });
        log.add(Event {
            source: loads_it.then_some(later),
            ..event(loads, &[0, 0, 1], Some(x), EventKind::Load, false)
        });
        log.add(event(loads, &[0, 0, 1], None, EventKind::Fence, true));
        let load = event(loads, &[0, 0, 2], Some(y), EventKind::Load, false);
        let allows = log.allows(&load);
        assert_eq!(allows, allows_by_definition(&log, &load));
        allows
    };
    assert!(!allows(true) && allows(false));
}

/// One thread stores to `z` and to `x`. Another one overwrites the latter, and a third one learns of that by a lock, and
/// not of the former. If something of another atomic lies between on either side, `psc` leads from the second store to
/// `x` to what the third one does next, which must not be a load of an older value of `z`.
#[test]
fn what_is_past_stands_between_others() {
    let [stores, overwrites, learns] = [0u16, 1, 2];
    let [x, y, z] = [8, 16, 24].map(Location);
    let plain = |thread, clock: &[u32], at: Option<Location>| {
        let kind = at.map_or(EventKind::Other, |_| EventKind::Load);
        event(thread, clock, at, kind, false)
    };
    let load = event(learns, &[0, 1, 1, 1], Some(z), EventKind::Load, true);
    // What lies between, of the second and of the third thread.
    let allows = |after: &[&Event], before: &[&Event]| {
        let mut whole = Log::default();
        // What comes after it stays on record.
        let of_y = whole.add(event(learns, &[0, 0, 1], Some(y), EventKind::Store, false));
        let of_z = whole.add(event(stores, &[1], Some(z), EventKind::Store, true));
        let of_x = whole.add(event(stores, &[2], Some(x), EventKind::Store, true));
        whole.add(Event {
            source: Some(of_x),
            ..event(overwrites, &[0, 1], Some(x), EventKind::Store, true)
        });
        let between = after.iter().chain(before);
        between.for_each(|&event| _ = whole.add(event.clone()));
        let mut short = Log::default();
        short.copy_from(&whole);
        short.settle([of_y, of_z].into_iter().collect());
        let allows = allows_by_definition(&whole, &load);
        assert_eq!(short.allows(&load), allows, "{:?}", short.events);
        allows
    };
    let [of_x, of_none] = [Some(x), None].map(|at| plain(overwrites, &[0, 1], at));
    let [of_z, by_lock] = [Some(z), None].map(|at| plain(learns, &[0, 1, 1], at));
    assert!(allows(&[], &[]));
    assert!(allows(&[&of_x, &of_x], &[&by_lock]));
    assert!(allows(&[&of_none], &[&of_z, &of_z]));
    // One event, of no atomic.
    assert!(!allows(&[&of_x, &of_none], &[&by_lock]));
    assert!(!allows(&[&of_none], &[&of_z, &by_lock]));
    // Nobody knows of what is of another atomic.
    let unknown = plain(overwrites, &[0, 2], None);
    assert!(allows(&[&of_x, &unknown], &[&by_lock]));
    // It has learnt something of another thread meanwhile.
    let none_later = plain(overwrites, &[0, 1, 0, 1], None);
    let x_later = plain(overwrites, &[0, 1, 0, 2], Some(x));
    assert!(!allows(&[&of_x, &none_later, &x_later], &[&by_lock]));
    let z_later = plain(learns, &[0, 1, 1, 1], Some(z));
    assert!(!allows(&[&of_none], &[&of_z, &by_lock, &z_later]));
    let before = plain(learns, &[0, 0, 1], None);
    assert!(!allows(&[&of_none], &[&before, &by_lock]));
}

/// A thread waits for another store to `x` with a sequentially consistent fence, an unlocking and a load in each round.
/// Another one has learnt of the first two rounds, and has overlooked what a third one has stored to `y` before a fence.
/// Between the first round's load and that it has learnt of the thread, only the second fence lies.
#[test]
fn who_has_learnt_of_the_second_of_many_rounds_comes_after_its_fence() {
    let [stores, learns, waits] = [0u16, 1, 2];
    let [x, y, z] = [8, 16, 24].map(Location);
    let log = |known: u32, shortens: bool| {
        let mut log = Log::default();
        log.add(event(stores, &[1], Some(y), EventKind::Store, false));
        log.add(event(stores, &[1], None, EventKind::Fence, true));
        let of_x = log.add(event(learns, &[0, 1], Some(x), EventKind::Store, false));
        // What comes after it stays on record.
        let of_z = log.add(event(waits, &[0, 0, 1], Some(z), EventKind::Store, false));
        for round in 0..4 {
            let epoch = 2 * round + 1;
            log.add(event(waits, &[0, 0, epoch], None, EventKind::Fence, true));
            log.add(event(waits, &[0, 0, epoch + 1], None, EventKind::Other, false));
            log.add(Event {
                source: Some(of_x),
                ..event(waits, &[0, 0, epoch + 2], Some(x), EventKind::Load, true)
            });
            if shortens {
                let needless = log.needless_round().into_iter();
                needless.for_each(|event| log.remove(event, std::iter::empty()));
            }
            if round < known {
                log.add(event(learns, &[0, 1, epoch + 1], None, EventKind::Other, false));
            }
            if round + 1 == known {
                log.add(event(learns, &[0, 1, epoch + 1], Some(y), EventKind::Load, false));
            }
        }
        if shortens {
            log.settle([of_x, of_z].into_iter().collect());
        }
        log
    };
    let load = event(stores, &[2], Some(x), EventKind::Load, false);
    for known in 1..4 {
        let (whole, short) = (log(known, false), log(known, true));
        assert!(short.events.len() < whole.events.len());
        assert_eq!(allows_by_definition(&whole, &load), known < 2);
        assert_eq!(short.allows(&load), known < 2, "{known}");
    }
}

/// However many rounds a loop has made that waits, a few are on record.
#[test]
fn rounds_are_few_where_little_counts_of_their_events() {
    let [x, y, z] = [8, 16, 24].map(Location);
    let fence = |epoch: u32| Event {
        thread: 0,
        epoch,
        clock: Clock::from_slice(&[epoch]),
        at: None,
        kind: EventKind::Fence,
        is_sequential: true,
        publishes: true,
        source: None,
    };
    let load = |epoch: u32, at: Location, is_sequential: bool| Event {
        at: Some(at),
        kind: EventKind::Load,
        is_sequential,
        publishes: false,
        ..fence(epoch)
    };
    let unlock = |epoch: u32| Event {
        kind: EventKind::Other,
        is_sequential: false,
        publishes: false,
        ..fence(epoch)
    };
    let rounds: [&dyn Fn(u32) -> Vec<Event>; 5] = [
        &|round| vec![fence(round), load(round + 1, x, false)],
        &|round| vec![load(round, x, false), fence(round), load(round + 1, x, false)],
        &|round| vec![fence(round), load(round + 1, y, false), load(round + 1, x, false)],
        &|round| vec![load(round, x, true), unlock(round), load(round + 1, y, false)],
        &|round| vec![load(round, x, false), unlock(round), load(round + 1, y, false)],
    ];
    for (which, of_round) in rounds.iter().enumerate() {
        let mut log = Log::default();
        let mut of_z = log.add(Event {
            at: Some(z),
            kind: EventKind::Store,
            is_sequential: false,
            ..fence(1)
        });
        // Before it, or not.
        log.add(fence(1));
        for event in (0..60).flat_map(|round| of_round(round + 2)) {
            if let Some(needless) = log.needless(&event) {
                log.remove(needless, [&mut of_z].into_iter());
            }
            log.add(event);
            for needless in log.needless_round() {
                log.remove(needless, [&mut of_z].into_iter());
            }
            if let Some(numbers) = log.settle(BitSet::of(of_z)) {
                of_z = numbers.of(of_z).unwrap();
            }
        }
        assert!(log.events.len() < 24, "{which}: {}", log.events.len());
    }
}

/// Store buffering with fences, in which one thread has read what was stored. Whichever load comes last must not find the
/// initial value.
#[test]
fn the_first_load_of_a_message_counts() {
    let [stores, reads, looks] = [0u16, 1, 2];
    let [x, y, z] = [8, 16, 24].map(Location);
    let event = |thread: u16, at: Option<Location>, kind: EventKind, source: Option<u32>| Event {
        thread,
        epoch: 1,
        clock: (0..=thread).map(|of| u32::from(of == thread)).collect(),
        at,
        kind,
        is_sequential: kind == EventKind::Fence,
        publishes: false,
        source,
    };
    let [load_x, load_z] = [(looks, x), (reads, z)].map(|(thread, at)| event(thread, Some(at), EventKind::Load, None));
    let is_refused = |last: &Event, older: bool, again: bool| {
        let mut whole = Log::default();
        // What comes after it stays on record.
        let of_y = whole.add(event(reads, Some(y), EventKind::Store, None));
        let of_z = whole.add(event(looks, Some(z), EventKind::Store, None));
        whole.add(event(looks, None, EventKind::Fence, None));
        if last.at != Some(x) {
            whole.add(load_x.clone());
        }
        let of_x = whole.add(event(stores, Some(x), EventKind::Store, None));
        if older {
            whole.add(event(reads, Some(x), EventKind::Load, None));
        }
        whole.add(event(reads, Some(x), EventKind::Load, Some(of_x)));
        whole.add(event(reads, None, EventKind::Fence, None));
        if last.at != Some(z) {
            whole.add(load_z.clone());
        }
        if again {
            whole.add(event(reads, Some(x), EventKind::Load, Some(of_x)));
        }
        let mut short = Log::default();
        short.copy_from(&whole);
        let of_last = if last.at == Some(x) { of_x } else { of_z };
        short.settle([of_y, of_last].into_iter().collect());
        assert!(!allows_by_definition(&whole, last));
        assert!(!short.allows(last), "{:?}", short.events);
    };
    for last in [&load_x, &load_z] {
        for (older, again) in [(false, false), (false, true), (true, false)] {
            is_refused(last, older, again);
        }
    }
}
