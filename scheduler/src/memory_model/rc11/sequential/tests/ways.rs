//! States with the same ways of `psc` through different records go on in the same way.

use super::super::super::psc::ways::{Holder, Ways};
use super::super::super::psc::{Newcomers, Psc};
use super::*;
use crate::memory_model::clocks::join;
use dpor_explorer::SplitMix64;
use std::collections::HashMap;

const THREADS: usize = 3;
const ATOMICS: usize = 2;

/// What a thread can do.
#[derive(Clone, Copy, Debug)]
enum What {
    Fence(Ordering),
    Lock,
    Unlock,
    /// An access to an atomic that takes one of its messages.
    Access {
        at: usize,
        message: usize,
        kind: EventKind,
        is_sequential: bool,
        /// Whether it learns and publishes.
        synchronizes: bool,
    },
}

/// A message: its store, and what is learnt by acquiring it.
type Stored = (Option<u32>, Clock);

/// A state with a record of all operations.
#[derive(Default)]
struct State {
    log: Log,
    clocks: Vec<Clock>,
    /// By thread, what its relaxed stores publish, and what it learns by a fence.
    published: Vec<Clock>,
    found: Vec<Clock>,
    lock: Clock,
    /// By atomic, the messages that some thread can take.
    messages: [Vec<Stored>; ATOMICS],
}

/// What is the same in states that go on in the same way.
type Shown = Vec<u64>;

impl State {
    fn new() -> State {
        let clock = |thread| (0..THREADS).map(|of| u32::from(of == thread)).collect();
        State {
            clocks: (0..THREADS).map(clock).collect(),
            published: vec![Clock::new(); THREADS],
            found: vec![Clock::new(); THREADS],
            messages: [vec![(None, Clock::new())], vec![(None, Clock::new())]],
            ..State::default()
        }
    }

    fn copy(&self) -> State {
        let mut log = Log::default();
        log.copy_from(&self.log);
        State {
            log,
            clocks: self.clocks.clone(),
            published: self.published.clone(),
            found: self.found.clone(),
            lock: self.lock.clone(),
            messages: self.messages.clone(),
        }
    }

    /// The index of the first message of an atomic that can be taken by who knows this, and is this thread or another.
    fn floor(&self, at: usize, clock: &[u32], thread: Option<usize>) -> usize {
        let positions = self.log.positions();
        let known = self.log.events.iter().zip(&positions).filter(|(event, _)| {
            let known = entry(clock, event.thread.into()) >= event.epoch || thread == Some(event.thread.into());
            event.at == Some(Location(at as u64)) && known
        });
        let known = known.map(|(_, &position)| position).max().unwrap_or(0);
        let position = |stored: &Stored| stored.0.map_or(0, |store| positions[store as usize]);
        self.messages[at].partition_point(|stored| position(stored) < known)
    }

    fn event(&self, thread: usize, kind: EventKind, is_sequential: bool) -> Event {
        Event {
            thread: thread as u16,
            epoch: self.clocks[thread][thread],
            clock: self.clocks[thread].clone(),
            at: None,
            kind,
            is_sequential,
            publishes: false,
            source: None,
        }
    }

    /// Does something. Says whether that was possible.
    fn run(&mut self, thread: usize, what: What) -> bool {
        match what {
            What::Fence(order) => {
                if order != Ordering::Release {
                    join(&mut self.clocks[thread], &self.found[thread]);
                }
                self.log
                    .add(self.event(thread, EventKind::Fence, order == Ordering::SeqCst));
                if order != Ordering::Acquire {
                    self.published[thread] = self.clocks[thread].clone();
                    self.clocks[thread][thread] += 1;
                }
            }
            What::Lock | What::Unlock => {
                join(&mut self.clocks[thread], &self.lock);
                self.log.add(self.event(thread, EventKind::Other, false));
                if matches!(what, What::Unlock) {
                    join(&mut self.lock, &self.clocks[thread]);
                    self.clocks[thread][thread] += 1;
                }
            }
            What::Access {
                at,
                message,
                kind,
                is_sequential,
                synchronizes,
            } => {
                let floor = self.floor(at, &self.clocks[thread], Some(thread));
                let Some((store, learnt)) = self.messages[at].get(message).cloned().filter(|_| message >= floor) else {
                    return false;
                };
                let mut event = self.event(thread, kind, is_sequential);
                (event.at, event.source) = (Some(Location(at as u64)), store);
                let synchronizes = synchronizes || is_sequential;
                if kind != EventKind::Store && synchronizes {
                    join(&mut event.clock, &learnt);
                }
                if !Newcomers::new(&Psc::new(&self.log)).allow(&event) {
                    return false;
                }
                self.clocks[thread] = event.clock.clone();
                if kind != EventKind::Store {
                    join(&mut self.found[thread], &learnt);
                }
                let number = self.log.add(event);
                if kind.writes() {
                    let published = if synchronizes { &self.clocks } else { &self.published };
                    let mut published = published[thread].clone();
                    if kind == EventKind::Modify {
                        join(&mut published, &learnt);
                    }
                    self.messages[at].insert(message + 1, (Some(number), published));
                    self.clocks[thread][thread] += u32::from(synchronizes);
                }
            }
        }
        for at in 0..ATOMICS {
            let floors = (0..THREADS).map(|thread| self.floor(at, &self.clocks[thread], Some(thread)));
            let floor = floors.min().unwrap_or(0);
            self.messages[at].drain(..floor);
        }
        true
    }

    /// The state but for the record, and the ways through that.
    fn shown(&self) -> (Shown, Shown) {
        let others = |thread| (0..THREADS).filter(move |&other| other != thread);
        let known = |thread| others(thread).map(|other| self.clocks[other][thread]).min();
        let known: Vec<u32> = (0..THREADS).filter_map(known).collect();
        let histories = (0..).zip(&self.messages).filter(|(_, messages)| messages.len() > 1);
        let histories = histories.map(|(at, messages)| (Location(at), messages.iter().map(|&(store, _)| store)));
        let ways = Ways::new(&self.log, &known, histories);
        let mut holders = ways.holders();
        let mut rest = Vec::new();
        let mut note = |holder: Holder, clock: &[u32], thread: Option<usize>| {
            ways.note(&mut holders, holder, clock);
            rest.extend((0..ATOMICS).map(|at| self.floor(at, clock, thread) as u64));
        };
        for thread in 0..THREADS {
            let number = thread as u16;
            note(Holder::Thread(number), &self.clocks[thread], Some(thread));
            note(Holder::View(number, 0), &self.found[thread], None);
            note(Holder::View(number, 1), &self.published[thread], None);
        }
        note(Holder::Place(Location(7)), &self.lock, None);
        for (at, messages) in (0..).zip(&self.messages) {
            for (number, (_, published)) in (0..).zip(messages) {
                note(Holder::Message(Location(at), number), published, None);
            }
        }
        rest.extend(self.messages.iter().map(|messages| messages.len() as u64));
        let mut shown = Vec::new();
        ways.show(holders, &[0, 1, 2], |word| shown.push(word));
        (rest, shown)
    }
}

fn anything(random: &mut SplitMix64) -> (usize, What) {
    const ORDERS: [Ordering; 5] = [
        Ordering::SeqCst,
        Ordering::SeqCst,
        Ordering::SeqCst,
        Ordering::AcqRel,
        Ordering::Acquire,
    ];
    let thread = random.below(THREADS);
    let what = match random.below(8) {
        0 | 1 => What::Fence(ORDERS[random.below(ORDERS.len())]),
        2 if random.below(2) == 0 => What::Lock,
        2 => What::Unlock,
        _ => What::Access {
            at: random.below(ATOMICS),
            message: random.below(3),
            kind: [EventKind::Load, EventKind::Store, EventKind::Modify][random.below(3)],
            is_sequential: random.below(2) == 0,
            synchronizes: random.below(2) == 0,
        },
    };
    (thread, what)
}

/// What was done to come to a state is another thing, and the record with it. Whatever can be done in one of two states
/// that are shown alike can be done in the other one, and they are shown alike afterwards.
#[test]
fn states_with_the_same_ways_go_on_in_the_same_way() {
    let executions = std::env::var("DPOR_ORACLE_PROGRAMS").map_or(1_500, |number| number.parse().expect("a number"));
    let mut random = SplitMix64::new(2017);
    let mut met: HashMap<(Shown, Shown), State> = HashMap::new();
    let (mut compared, mut refused) = (0, 0);
    for _ in 0..executions {
        let mut state = State::new();
        for _ in 0..random.below(14) {
            let (thread, what) = anything(&mut random);
            if !state.run(thread, what) {
                continue;
            }
            let key = state.shown();
            // Of those through which no way leads, there are many.
            let leads_through = key.1.len() > 2;
            let Some(other) = met.get(&key) else {
                met.insert(key, state.copy());
                continue;
            };
            if !leads_through || other.log.events.len() == state.log.events.len() {
                continue;
            }
            for _ in 0..12 {
                let (thread, what) = anything(&mut random);
                let mut both = [other.copy(), state.copy()];
                let possible = both.each_mut().map(|state| state.run(thread, what));
                let shown = both.each_ref().map(State::shown);
                assert!(
                    possible[0] == possible[1] && shown[0] == shown[1],
                    "{what:?} by thread {thread} after\n{:#?}\nand after\n{:#?}",
                    other.log.events,
                    state.log.events
                );
                compared += 1;
                refused += usize::from(!possible[0]);
            }
        }
    }
    assert!(
        compared > executions && refused > executions / 8,
        "{compared} {refused}"
    );
}
