//! Whatever can be done in a state can be done in one that covers it, with other ways of `psc` through another record.

use super::super::super::psc::ways::{KnownExits, Ways};
use super::super::super::psc::{Newcomers, Psc};
use super::*;
use crate::memory_model::clocks::join;
use crate::memory_model::holders::{HolderSets, Holders, Scratch};
use crate::memory_model::shadow::Epoch;
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
    /// An access to an atomic that takes the message to which there are so many later ones.
    Access {
        at: usize,
        older: usize,
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

/// Number of messages of each atomic.
type Lengths = [usize; ATOMICS];

/// What is known in a state.
struct Known {
    /// By holder and atomic, the first message that can be taken by who knows what this one knows.
    floors: Vec<usize>,
    /// By entrance.
    exits: HashMap<[u64; 2], KnownExits>,
}

/// Number of fixed holders that each thread is.
const OF_THREAD: usize = 3;

impl Known {
    /// Whether a state covers another one, with as many messages.
    fn covers(&self, other: &Known, sets: &HolderSets) -> bool {
        let mut floors = self.floors.iter().zip(&other.floors);
        floors.all(|(floor, other)| floor <= other)
            && self.exits.iter().all(|(entrance, exits)| {
                let others = other.exits.get(entrance);
                others.is_some_and(|others| exits.lead_no_further(others, sets, |thread| thread as usize * OF_THREAD))
            })
    }
}

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
                older,
                kind,
                is_sequential,
                synchronizes,
            } => {
                let floor = self.floor(at, &self.clocks[thread], Some(thread));
                let message = (self.messages[at].len() - 1).checked_sub(older);
                let Some(message) = message.filter(|&message| message >= floor) else {
                    return false;
                };
                let (store, learnt) = self.messages[at][message].clone();
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

    fn lengths(&self) -> Lengths {
        self.messages.each_ref().map(Vec::len)
    }

    /// What is known in the state, if of each atomic only so many last messages count.
    fn known(&self, lengths: Lengths, sets: &mut HolderSets) -> Known {
        let others = |thread| (0..THREADS).filter(move |&other| other != thread);
        let known = |thread| others(thread).map(|other| self.clocks[other][thread]).min();
        let known: Vec<u32> = (0..THREADS).filter_map(known).collect();
        let counting: Vec<&[Stored]> = self
            .messages
            .iter()
            .zip(lengths)
            .map(|(all, count)| &all[all.len() - count..])
            .collect();
        let histories = (0..).zip(&counting).filter(|(_, messages)| messages.len() > 1);
        let histories = histories.map(|(at, messages)| (Location(at), messages.iter().map(|&(store, _)| store)));
        let ways = Ways::new(&self.log, &known, histories);
        let mut holders = Holders::default();
        holders.start_again(THREADS);
        let mut floors = Vec::new();
        let mut note = |clock: &[u32], thread: Option<usize>| {
            floors.extend((0..ATOMICS).map(|at| {
                let forgotten = self.messages[at].len() - lengths[at];
                self.floor(at, clock, thread).saturating_sub(forgotten)
            }));
        };
        for thread in 0..THREADS {
            let [current, found, published] =
                [&self.clocks, &self.found, &self.published].map(|of| of[thread].as_slice());
            let mut with_found = self.clocks[thread].clone();
            join(&mut with_found, found);
            holders.add_acting(current);
            holders.add(&[current, found]);
            holders.add(&[published]);
            note(current, Some(thread));
            note(&with_found, Some(thread));
            note(published, None);
        }
        for (_, published) in counting.iter().copied().flatten() {
            holders.add(&[published]);
            note(published, None);
        }
        holders.end_fixed();
        holders.add_named(7, &[&self.lock]);
        note(&self.lock, None);
        ways.add_epochs(|epoch| holders.ask(epoch));
        holders.find();
        let mut of_each = Vec::new();
        let who = |epochs: &[Epoch]| holders.of_any(epochs, &mut Scratch::default(), |words| sets.number(words));
        ways.each_exits(&[0, 1, 2], who, |known| of_each.push(known.cloned()));
        let entrances = ways.entrances().flat_map(|([at, message], of)| {
            let named = |by_eco: usize| ([at, 2 * message + by_eco as u64], of[by_eco]);
            [0, 1].map(named)
        });
        let exits = entrances.filter_map(|(name, of)| Some((name, of_each[of].clone()?)));
        Known {
            floors,
            exits: exits.collect(),
        }
    }
}

/// What is done often in an execution.
#[derive(Clone, Copy)]
struct Habits {
    /// Whether threads make fences for their accesses, which are weak.
    fences: bool,
    /// Whether no fence is sequentially consistent.
    without_sequential_fences: bool,
    /// Whether a thread mostly goes on, with the same atomic.
    runs: Option<(usize, usize)>,
}

impl Habits {
    fn any(random: &mut SplitMix64) -> Habits {
        Habits {
            fences: random.below(2) == 0,
            without_sequential_fences: random.below(4) == 0,
            runs: (random.below(2) == 0).then_some((0, 0)),
        }
    }

    fn anything(&mut self, random: &mut SplitMix64) -> (usize, What) {
        const ORDERS: [Ordering; 5] = [
            Ordering::SeqCst,
            Ordering::SeqCst,
            Ordering::SeqCst,
            Ordering::AcqRel,
            Ordering::Acquire,
        ];
        let (mut thread, mut at) = (random.below(THREADS), random.below(ATOMICS));
        if let Some((last, last_at)) = &mut self.runs {
            if random.below(3) > 0 {
                (thread, at) = (*last, *last_at);
            }
            (*last, *last_at) = (thread, at);
        }
        let what = match random.below(8) {
            0 | 1 if self.without_sequential_fences => What::Fence(ORDERS[3 + random.below(2)]),
            0 | 1 => What::Fence(ORDERS[random.below(ORDERS.len())]),
            2 if random.below(2) == 0 => What::Lock,
            2 => What::Unlock,
            _ => What::Access {
                at,
                older: random.below(3),
                kind: [EventKind::Load, EventKind::Store, EventKind::Modify][random.below(3)],
                is_sequential: (!self.fences || self.without_sequential_fences) && random.below(2) == 0,
                synchronizes: random.below(2) == 0,
            },
        };
        (thread, what)
    }
}

/// What was done to come to a state is another thing, and the record with it. Whatever can be done in a state can be
/// done in one that covers it, which covers it afterwards, too.
#[test]
fn states_go_on_like_those_that_they_cover() {
    let executions = std::env::var("DPOR_ORACLE_PROGRAMS").map_or(1_500, |number| number.parse().expect("a number"));
    let mut random = SplitMix64::new(2017);
    let mut sets = HolderSets::default();
    // With the execution in which they were met.
    let mut met: HashMap<Lengths, Vec<(usize, State, Known)>> = HashMap::new();
    // Operations, those that are possible in none of the two, those in one, and pairs of states that differ.
    let (mut compared, mut refused, mut refused_once, mut different) = (0, 0, 0, 0);
    for execution in 0..executions {
        let mut state = State::new();
        let mut habits = Habits::any(&mut random);
        state.log.without_fences = habits.without_sequential_fences;
        for _ in 0..random.below(14) {
            let (thread, what) = habits.anything(&mut random);
            if !state.run(thread, what) {
                continue;
            }
            let known = state.known(state.lengths(), &mut sets);
            let others = met.entry(state.lengths()).or_default();
            // Of those through which no way leads, there are many.
            if !known.exits.is_empty() {
                let first = random.below(others.len().max(1));
                let (before, after) = others.split_at(first);
                let covering = after.iter().chain(before).filter(|(met, other, of_other)| {
                    *met != execution
                        && other.log.without_fences == state.log.without_fences
                        && other.log.events.len() != state.log.events.len()
                        && of_other.covers(&known, &sets)
                });
                let covering: Vec<_> = covering.take(3).collect();
                for (_, other, of_other) in covering {
                    different += usize::from(!known.covers(of_other, &sets));
                    for _ in 0..12 {
                        let (thread, what) = habits.anything(&mut random);
                        let [mut other, mut state] = [other.copy(), state.copy()];
                        let possible = [&mut other, &mut state].map(|state| state.run(thread, what));
                        compared += 1;
                        refused += usize::from(!possible[0]);
                        if !possible[1] {
                            refused_once += usize::from(possible[0]);
                            continue;
                        }
                        let lengths = state.lengths();
                        let longer = other
                            .lengths()
                            .iter()
                            .zip(lengths)
                            .all(|(other, length)| *other >= length);
                        let covers = possible[0] && longer && {
                            let known = [&other, &state].map(|state| state.known(lengths, &mut sets));
                            known[0].covers(&known[1], &sets)
                        };
                        assert!(
                            covers,
                            "{what:?} by thread {thread} after\n{:#?}\nand after\n{:#?}",
                            other.log.events, state.log.events
                        );
                    }
                }
            }
            others.push((execution, state.copy(), known));
            if others.len() > 400 {
                others.swap_remove(random.below(200));
            }
        }
    }
    assert!(
        compared > executions && refused > executions / 8 && refused_once > 0 && different > 0,
        "{compared} {refused} {refused_once} {different}"
    );
}
