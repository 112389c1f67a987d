//! Random records, judged by the definition.

use super::super::super::psc::Newcomers;
use super::super::super::psc::ways::Ways;
use super::*;
use crate::memory_model::clocks::join;
use crate::memory_model::holders::{HolderSets, Holders, Scratch};
use crate::memory_model::shadow::Epoch;
use dpor_explorer::SplitMix64;
use std::cmp::Reverse;

/// The same events in a log that keeps all of them, and in one without those that are needless.
struct Both {
    random: SplitMix64,
    random_of_turns: SplitMix64,
    whole: Log,
    short: Log,
    clocks: Vec<Clock>,
    /// By thread, what its relaxed stores publish, because of a fence.
    published: Vec<Clock>,
    /// And what it learns by the next fence that acquires.
    found: Vec<Clock>,
    /// What was published by locks.
    locks: [Clock; 2],
    /// The stores: atomic, numbers in the two logs, and what is learnt by acquiring them.
    stores: Vec<(u64, [Option<u32>; 2], Clock)>,
    /// Of each atomic, how many of the first messages cannot be taken any more.
    floors: [usize; 2],
    /// What each thread loads again and again: atomic, index of the store, and whether sequentially consistent.
    loaded: Vec<[(u64, Option<usize>, bool); 3]>,
    /// Of four accesses, how many are sequentially consistent.
    sequential: u64,
    /// Whether there are sequentially consistent fences.
    fences: bool,
    /// Whether there are loops that wait, and else more fences.
    waiting: bool,
    /// Out of how many times one message cannot be taken any more.
    forgets: u64,
    /// Whether there are locks beside those of loops that wait.
    locking: bool,
    removed: usize,
    /// Those of rounds of loops.
    rounds: usize,
    /// Those of them that are of locks.
    locked_rounds: usize,
    forgotten: usize,
    /// Those of which it counts only where they were, each time that they are met.
    past: usize,
    refused: usize,
    /// How often the ways through the two were not shown alike, and how often they were.
    shown_alike: [usize; 2],
    /// Messages that were judged one after the other, and not allowed.
    refused_in_turn: usize,
}

impl Both {
    fn new(seed: u64) -> Both {
        let clock = |thread: usize| (0..3).map(|of| u32::from(of == thread)).collect();
        let fences = !seed.is_multiple_of(5);
        let log = || Log {
            without_fences: !fences,
            ..Log::default()
        };
        Both {
            random: SplitMix64::new(seed),
            random_of_turns: SplitMix64::new(!seed),
            whole: log(),
            short: log(),
            clocks: (0..3).map(clock).collect(),
            published: vec![Clock::new(); 3],
            found: vec![Clock::new(); 3],
            locks: [Clock::new(), Clock::new()],
            stores: Vec::new(),
            floors: [0; 2],
            loaded: vec![[(0, None, true); 3]; 3],
            sequential: [3, 1, 0][(seed / 2 % 3) as usize],
            fences,
            waiting: (seed / 16).is_multiple_of(2),
            forgets: [4, 16][(seed / 8 % 2) as usize],
            locking: seed % 7 > 3,
            removed: 0,
            rounds: 0,
            locked_rounds: 0,
            forgotten: 0,
            past: 0,
            refused: 0,
            shown_alike: [0; 2],
            refused_in_turn: 0,
        }
    }

    /// The position of what a store has written, or of what was there before, in the modification order of an
    /// atomic.
    fn position(&self, at: u64, store: Option<usize>) -> usize {
        let order = self.whole.orders.get(Location(at));
        let number = store.and_then(|store| self.stores[store].1[0]);
        number.map_or(0, |number| {
            let place = order.and_then(|order| order.iter().position(|&other| other == number));
            place.expect("nothing is forgotten of the whole log") + 1
        })
    }

    /// Forgets what comes after no store before which a new event can come.
    fn forget(&mut self) {
        let at = self.below(2);
        let most = self.whole.orders.get(Location(at)).map_or(0, Vec::len);
        let floor = &mut self.floors[at as usize];
        *floor = (*floor + usize::from(self.random.below(self.forgets as usize) == 0)).min(most);
        let later = (0..self.stores.len()).filter(|&store| {
            let at = self.stores[store].0;
            self.position(at, Some(store)) > self.floors[at as usize]
        });
        let entries: BitSet = later.filter_map(|store| self.stores[store].1[1]).collect();
        let letting_in: BitSet = entries.iter().filter(|&entry| self.short.lets_in(entry)).collect();
        assert_eq!(
            self.short.after(&letting_in),
            after_by_definition(&self.short, &letting_in)
        );
        let before = self.short.events.len();
        let numbers = self.short.settle(entries.clone());
        let number = |entry: u32| numbers.as_ref().map_or(Some(entry), |numbers| numbers.of(entry));
        let entries: BitSet = entries.iter().filter_map(number).collect();
        let mut kept = self.short.after(&self.short.entries_of_ways());
        kept.extend_from(&entries);
        assert_eq!(kept.len(), self.short.events.len());
        // Which events are known to be kept makes no difference.
        let mut at_once = Log::default();
        at_once.copy_from(&self.short);
        at_once.entries.clear();
        at_once.kept.truncate(0);
        assert!(at_once.settle(entries).is_none());
        if let Some(numbers) = numbers {
            let own = self.stores.iter_mut().map(|(_, numbers, _)| &mut numbers[1]);
            own.for_each(|own| *own = own.and_then(|own| numbers.of(own)));
        }
        if self.random_of_turns.below(8) == 0 {
            self.shown_alike[usize::from(self.ways(0) == self.ways(1))] += 1;
        }
        self.forgotten += before - self.short.events.len();
        let past = self.short.events.iter().filter(|event| event.kind == EventKind::Past);
        self.past += past.count();
    }

    /// The ways through one of the logs, as a state shows them.
    fn ways(&self, which: usize) -> Vec<u64> {
        let log = [&self.whole, &self.short][which];
        let messages = [0, 1].map(|at: u64| {
            let stores = (0..self.stores.len()).filter(|&store| self.stores[store].0 == at);
            let mut messages: Vec<Option<usize>> = stores.map(Some).chain([None]).collect();
            messages.retain(|&store| self.position(at, store) >= self.floors[at as usize]);
            messages.sort_by_key(|&store| self.position(at, store));
            messages
        });
        let others = |thread| (0..3).filter(move |&other| other != thread);
        let known = |thread| others(thread).map(|other| self.clocks[other][thread]).min();
        let known: Vec<u32> = (0..3).filter_map(known).collect();
        let event = |&store: &Option<usize>| store.and_then(|store| self.stores[store].1[which]);
        let histories = (0..).zip(&messages).filter(|(_, messages)| messages.len() > 1);
        let histories = histories.map(|(at, messages)| (Location(at), messages.iter().map(event)));
        let ways = Ways::new(log, &known, histories);
        let mut holders = Holders::default();
        holders.start_again(3);
        for thread in 0..3 {
            holders.add_acting(&self.clocks[thread]);
            holders.add(&[&self.found[thread]]);
            holders.add(&[&self.published[thread]]);
        }
        for store in messages.iter().flatten() {
            holders.add(&[store.map_or(&[], |store| &self.stores[store].2)]);
        }
        holders.end_fixed();
        for (lock, published) in (0..).zip(&self.locks) {
            holders.add_named(lock, &[published]);
        }
        ways.add_epochs(|epoch| holders.ask(epoch));
        holders.find();
        let (mut sets, mut exits) = (HolderSets::default(), Vec::new());
        let who = |epochs: &[Epoch]| holders.of_any(epochs, &mut Scratch::default(), |words| sets.number(words));
        ways.each_exits(&[0, 1, 2], who, |known| {
            exits.push(known.map_or(Vec::new(), |known| known.words().to_vec()));
        });
        let entrances = ways
            .entrances()
            .filter(|&(_, of)| of.iter().any(|&of| !exits[of].is_empty()));
        let words = entrances.map(|(name, of)| [&name, &*exits[of[0]], &[u64::MAX], &*exits[of[1]]].concat());
        words.flatten().collect()
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound as usize) as u64
    }

    fn event(&self, thread: usize, at: Option<u64>, kind: EventKind, is_sequential: bool) -> Event {
        Event {
            thread: thread as u16,
            epoch: self.clocks[thread][thread],
            clock: self.clocks[thread].clone(),
            at: at.map(Location),
            kind,
            is_sequential,
            publishes: false,
            source: None,
        }
    }

    /// Adds an event that takes a store's message to both, if there is no cycle by it.
    fn add(&mut self, event: &Event, source: Option<usize>) -> Option<[Option<u32>; 2]> {
        let numbers = source.map(|source| self.stores[source].1);
        let of = |log: usize| Event {
            source: numbers.and_then(|numbers| numbers[log]),
            ..event.clone()
        };
        let mut event = of(1);
        let allows = allows_by_definition(&self.whole, &of(0));
        assert_eq!(self.whole.allows(&of(0)), allows, "{event:?} {:?}", self.whole.events);
        assert_eq!(self.short.allows(&event), allows, "{event:?} {:?}", self.whole.events);
        // Where nothing may be ordered, nobody asks.
        assert!(allows || self.whole.may_order(&of(0)) && self.short.may_order(&event));
        if !allows {
            self.refused += 1;
            return None;
        }
        let whole = self.whole.add(of(0));
        if let Some(needless) = self.short.needless(&event) {
            self.removed += 1;
            let stores = self.stores.iter_mut().filter_map(|(_, numbers, _)| numbers[1].as_mut());
            self.short.remove(needless, stores.chain(&mut event.source));
        }
        let mut short = self.short.add(event);
        for needless in self.short.needless_round() {
            self.rounds += 1;
            let kind = self.short.events[needless as usize].kind;
            self.locked_rounds += usize::from(kind == EventKind::Other);
            let stores = self.stores.iter_mut().filter_map(|(_, numbers, _)| numbers[1].as_mut());
            self.short.remove(needless, stores.chain([&mut short]));
        }
        Some([Some(whole), Some(short)])
    }

    /// Judges what the thread could do with each message of an atomic, from the newest one on and one after the other, as
    /// each by itself: store after it, and take it only. Now and then, the first are judged again after the last.
    fn judge_in_turn(&mut self) {
        let mut below = |bound: usize| self.random_of_turns.below(bound);
        let (thread, at) = (below(3), below(2) as u64);
        let writes = [EventKind::Store, EventKind::Modify][below(2)];
        let again = below(4);
        let sequential = below(1 << 20);
        let known = (0..self.stores.len()).filter(|&of| self.stores[of].0 == at);
        let can_be_taken = |&source: &_| self.position(at, source) >= self.floors[at as usize];
        let mut sources: Vec<_> = known.map(Some).chain([None]).filter(can_be_taken).collect();
        sources.sort_by_key(|&source| Reverse(self.position(at, source)));
        let kinds = |source: Option<usize>| [(writes, source), (EventKind::Load, source)];
        let mut turns: Vec<_> = sources.into_iter().flat_map(kinds).collect();
        turns.extend_from_within(..again.min(turns.len()));
        let events = (0..).zip(turns).map(|(turn, (kind, source))| {
            let is_sequential = sequential >> (turn % 20) & 1 == 1;
            let mut event = self.event(thread, Some(at), kind, is_sequential);
            let store = source.map(|source| &self.stores[source]);
            if let Some((.., published)) = store.filter(|_| is_sequential) {
                join(&mut event.clock, published);
            }
            [0, 1].map(|log| Event {
                source: store.and_then(|(_, numbers, _)| numbers[log]),
                ..event.clone()
            })
        });
        let events: Vec<_> = events.collect();
        for (log, which) in [(&self.whole, 0), (&self.short, 1)] {
            // That of the record, which has changed since it was last asked for.
            let psc = log.psc();
            let mut newcomers = Newcomers::new(&psc);
            for event in events.iter().map(|both| &both[which]) {
                let allows = log.allows(event);
                assert_eq!(newcomers.allow(event), allows, "{event:?} {:?}", log.events);
                self.refused_in_turn += usize::from(!allows);
            }
        }
    }

    fn fence(&mut self, thread: usize, order: Ordering) {
        let order = match order {
            Ordering::SeqCst if !self.fences => Ordering::AcqRel,
            _ => order,
        };
        if !matches!(order, Ordering::Release) {
            join(&mut self.clocks[thread], &self.found[thread]);
        }
        let fence = Event {
            publishes: order != Ordering::Acquire,
            ..self.event(thread, None, EventKind::Fence, order == Ordering::SeqCst)
        };
        self.add(&fence, None);
        if fence.publishes {
            self.published[thread] = self.clocks[thread].clone();
            self.clocks[thread][thread] += 1;
        }
    }

    fn load(&mut self, thread: usize, which: usize) {
        let (at, source, is_sequential) = self.loaded[thread][which];
        if self.position(at, source) < self.floors[at as usize] {
            return;
        }
        let mut event = self.event(thread, Some(at), EventKind::Load, is_sequential);
        if let Some(source) = source.filter(|_| is_sequential) {
            join(&mut event.clock, &self.stores[source].2);
        }
        if self.add(&event, source).is_some() {
            self.clocks[thread] = event.clock;
            if let Some(source) = source {
                join(&mut self.found[thread], &self.stores[source].2);
            }
        }
    }

    /// Comes after all who have unlocked one of two locks.
    fn look(&mut self, thread: usize, which: usize) {
        join(&mut self.clocks[thread], &self.locks[which]);
        let event = self.event(thread, None, EventKind::Other, false);
        self.add(&event, None);
    }

    /// Locks one of two locks and unlocks it.
    fn lock(&mut self, thread: usize, which: usize) {
        self.look(thread, which);
        self.look(thread, which);
        join(&mut self.locks[which], &self.clocks[thread]);
        self.clocks[thread][thread] += 1;
    }

    /// A loop of some rounds, with fences in most of them, one of which differs now and then. Between rounds, another
    /// thread may learn of those before.
    fn wait(&mut self, thread: usize) {
        const FENCES: [Ordering; 5] = [
            Ordering::SeqCst,
            Ordering::SeqCst,
            Ordering::AcqRel,
            Ordering::Release,
            Ordering::Acquire,
        ];
        let round: Vec<usize> = (0..1 + self.below(4)).map(|_| self.below(10) as usize).collect();
        for _ in 0..2 + self.below(6) {
            for &what in &round {
                match what.checked_sub(3) {
                    None => self.load(thread, what),
                    Some(_) if self.below(16) == 0 => self.fence(thread, Ordering::Release),
                    Some(fence) if fence < FENCES.len() => self.fence(thread, FENCES[fence]),
                    Some(lock) => self.lock(thread, lock - FENCES.len()),
                }
            }
            if self.below(4) == 0 {
                let (other, which) = ((thread + 1) % 3, self.below(2) as usize);
                self.look(other, which);
                match self.below(2) {
                    0 => self.fence(other, Ordering::SeqCst),
                    _ => self.load(other, which),
                }
            }
        }
    }

    fn step(&mut self) {
        let thread = self.below(3) as usize;
        let is_sequential = self.below(4) < self.sequential;
        match self.below(10) {
            0 => match self.below(3) {
                0 => self.fence(thread, Ordering::SeqCst),
                1 => {
                    let which = self.below(2) as usize;
                    self.lock(thread, which);
                }
                _ if self.waiting => self.wait(thread),
                _ => self.fence(thread, Ordering::SeqCst),
            },
            7 if !self.waiting => self.fence(thread, Ordering::SeqCst),
            8 | 9 if self.locking => {
                let which = self.below(2) as usize;
                match self.below(2) {
                    0 => self.lock(thread, which),
                    _ => self.look(thread, which),
                }
            }
            1 | 2 => {
                let at = self.below(2);
                let known = (0..self.stores.len()).filter(|&of| self.stores[of].0 == at);
                let floor = self.floors[at as usize];
                let can_be_taken = |&source: &_| self.position(at, source) >= floor;
                let sources: Vec<_> = known.map(Some).chain([None]).filter(can_be_taken).collect();
                let source = sources[self.below(sources.len() as u64) as usize];
                let kind = match self.below(3) {
                    0 => EventKind::Modify,
                    _ => EventKind::Store,
                };
                let event = self.event(thread, Some(at), kind, is_sequential);
                let Some(numbers) = self.add(&event, source) else {
                    return;
                };
                let releases = is_sequential || self.below(2) == 0;
                let released = match releases {
                    true => self.clocks[thread].clone(),
                    false => self.published[thread].clone(),
                };
                self.stores.push((at, numbers, released));
                self.clocks[thread][thread] += u32::from(releases);
            }
            // Mostly the same again.
            kind => {
                if kind < 5 {
                    let store = self.below(1 + self.stores.len() as u64) as usize;
                    let (at, source) = match self.stores.get(store) {
                        Some((at, ..)) => (*at, Some(store)),
                        None => (self.below(2), None),
                    };
                    let which = self.below(3) as usize;
                    self.loaded[thread][which] = (at, source, is_sequential);
                }
                let which = self.below(3) as usize;
                self.load(thread, which);
            }
        }
    }
}

#[test]
fn what_is_needless_or_forgotten_is_in_no_new_cycle_of_its_own() {
    let (mut removed, mut rounds, mut short_rounds, mut locked) = (0, 0, 0, 0);
    let (mut forgotten, mut past, mut refused, mut refused_in_turn) = (0, 0, 0, 0);
    let (mut shown_alike, mut longest) = ([0; 2], 0);
    for seed in 0..20_000 {
        let mut both = Both::new(seed);
        // Some are long, as the definition takes its time.
        let steps = if seed % 500 == 0 { 100 } else { 30 };
        for _ in 0..steps {
            both.step();
            both.judge_in_turn();
            // Little is left to be needless then.
            if seed % 2 == 0 {
                both.forget();
            }
        }
        longest = longest.max(both.whole.events.len());
        removed += both.removed;
        rounds += both.rounds;
        // Where events are forgotten as well.
        short_rounds += if seed % 2 == 0 { both.rounds } else { 0 };
        locked += both.locked_rounds;
        forgotten += both.forgotten;
        past += both.past;
        refused += both.refused;
        (0..2).for_each(|alike| shown_alike[alike] += both.shown_alike[alike]);
        refused_in_turn += both.refused_in_turn;
    }
    assert!(
        removed > 10_000
            && rounds > 10_000
            && short_rounds > 1_000
            && locked > 2_000
            && forgotten > 20_000
            && past > 20_000
            && refused > 20_000
            && refused_in_turn > 20_000,
        "{removed} {rounds} {short_rounds} {locked} {forgotten} {past} {refused} {refused_in_turn}"
    );
    assert!(longest > 128, "of no record do the sets take several words: {longest}");
    // In the short one there may be no event that counts only because it follows another one.
    assert!(shown_alike[1] > 20 * shown_alike[0], "{shown_alike:?}");
}
