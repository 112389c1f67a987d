//! Brute force: every consistent execution graph of a program.
//!
//! First, every way in which reads can read from writes, with the values and the control flow that follow: events are
//! added in any order in which each comes after those before it in its thread and after what it reads from, which all
//! graphs without a cycle of `sb ∪ rf` have. Then every modification order of each location, and all their
//! combinations. Axioms are checked on complete graphs, but for two things: two modifications do not read from one
//! write, and modification orders follow happens-before.

use super::axioms::{Axioms, Event, Frame, Kind};
use super::graph::{self, Graph, Name, Outcome, Reads};
use super::program::{Action, Cursor, Instruction, Program};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::atomic::Ordering::{self, Acquire, Relaxed, Release};

/// The consistent execution graphs of a program, each with its outcome.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Executions {
    /// The graphs, with their outcomes.
    pub graphs: BTreeMap<Graph, Outcome>,
}

impl Executions {
    /// All outcomes.
    pub fn outcomes(&self) -> BTreeSet<Outcome> {
        self.graphs.values().cloned().collect()
    }
}

/// Every execution graph of the program that satisfies the axioms.
///
/// # Panics
/// If an execution has more than 32 events, with an initial write for each atomic and mutex.
pub fn enumerate(program: &Program, axioms: Axioms) -> Executions {
    let mut enumerator = Enumerator {
        program,
        axioms,
        seen: HashSet::new(),
        graphs: BTreeMap::new(),
    };
    let initial = (0..program.locations() + program.mutexes()).map(|location| {
        let event = Event {
            thread: None,
            kind: Kind::Write,
            location: Some(location),
            ordering: Relaxed,
            source: None,
        };
        (event, Values::default())
    });
    let (events, values) = initial.unzip();
    enumerator.extend(&Partial {
        cursors: Cursor::all(program),
        events,
        values,
    });
    Executions {
        graphs: enumerator.graphs,
    }
}

/// What an event reads and writes.
#[derive(Clone, Copy, Default)]
struct Values {
    read: u32,
    written: u32,
}

/// A graph without modification orders that may grow.
#[derive(Clone)]
struct Partial<'p> {
    cursors: Vec<Cursor<'p>>,
    events: Vec<Event>,
    values: Vec<Values>,
}

/// An access that is to be added.
struct Access {
    location: usize,
    ordering: Ordering,
    kind: Kind,
    written: u32,
}

impl Partial<'_> {
    /// By event: its name, unless it is an initial write.
    fn names(&self) -> Vec<Option<Name>> {
        let mut counts = vec![0; self.cursors.len()];
        let names = self.events.iter().map(|event| {
            event.thread.map(|thread| {
                counts[thread] += 1;
                Name {
                    thread,
                    index: counts[thread] - 1,
                }
            })
        });
        names.collect()
    }

    /// What each thread's events read from: it determines all else.
    fn key(&self) -> Vec<Vec<Option<Option<Name>>>> {
        let names = self.names();
        let mut key = vec![Vec::new(); self.cursors.len()];
        for event in &self.events {
            if let Some(thread) = event.thread {
                key[thread].push(event.source.map(|source| names[source]));
            }
        }
        key
    }

    fn has(&self, thread: usize, kind: Kind) -> bool {
        let mut events = self.events.iter();
        events.any(|event| event.thread == Some(thread) && event.kind == kind)
    }

    fn was_spawned(&self, thread: usize) -> bool {
        self.events.iter().any(|event| event.kind == Kind::Spawn(thread))
    }

    fn push(&mut self, event: Event, values: Values) {
        self.events.push(event);
        self.values.push(values);
    }

    /// Adds an event that is no access.
    fn push_other(&mut self, thread: usize, kind: Kind, ordering: Ordering) {
        let event = Event {
            thread: Some(thread),
            kind,
            location: None,
            ordering,
            source: None,
        };
        self.push(event, Values::default());
    }

    fn push_access(&mut self, thread: usize, access: &Access, source: Option<usize>) {
        let event = Event {
            thread: Some(thread),
            kind: access.kind,
            location: Some(access.location),
            ordering: access.ordering,
            source,
        };
        let values = Values {
            read: source.map_or(0, |source| self.values[source].written),
            written: access.written,
        };
        self.push(event, values);
    }

    /// The writes of the location.
    fn writes(&self, location: usize) -> Vec<usize> {
        let events = 0..self.events.len();
        let here = |&event: &usize| self.events[event].location == Some(location) && self.events[event].writes();
        events.filter(here).collect()
    }

    /// Whether a modification reads from the write.
    fn is_taken(&self, write: usize) -> bool {
        let mut events = self.events.iter();
        events.any(|event| event.kind == Kind::Update && event.source == Some(write))
    }
}

struct Enumerator<'p> {
    program: &'p Program,
    axioms: Axioms,
    seen: HashSet<Vec<Vec<Option<Option<Name>>>>>,
    graphs: BTreeMap<Graph, Outcome>,
}

impl<'p> Enumerator<'p> {
    /// Adds each possible next event of each thread.
    fn extend(&mut self, partial: &Partial<'p>) {
        if !self.seen.insert(partial.key()) {
            return;
        }
        let mut ended = true;
        for thread in 0..partial.cursors.len() {
            let mut next = partial.clone();
            if let Some(action) = next.cursors[thread].advance() {
                ended = false;
                self.act(next, thread, action);
            }
        }
        if ended {
            self.order(partial);
        }
    }

    /// Adds the action of the thread, if it can be now.
    fn act(&mut self, mut next: Partial<'p>, thread: usize, action: Action<'p>) {
        let instruction = match action {
            Action::Start => {
                if next.was_spawned(thread) {
                    next.push_other(thread, Kind::Start, Relaxed);
                    self.extend(&next);
                }
                return;
            }
            Action::End => {
                next.push_other(thread, Kind::End, Relaxed);
                self.extend(&next);
                return;
            }
            Action::Run(instruction) => instruction,
        };
        match *instruction {
            Instruction::Store {
                location,
                value,
                ordering,
            } => {
                self.write(next, thread, location, value, ordering);
            }
            Instruction::Unlock(mutex) => self.write(next, thread, self.program.locations() + mutex, 0, Release),
            Instruction::Fence(ordering) => {
                next.push_other(thread, Kind::Fence, ordering);
                self.extend(&next);
            }
            Instruction::Spawn(child) => {
                next.push_other(thread, Kind::Spawn(child), Relaxed);
                self.extend(&next);
            }
            Instruction::Join(child) => {
                if next.has(child, Kind::End) {
                    next.push_other(thread, Kind::Join(child), Relaxed);
                    self.extend(&next);
                }
            }
            Instruction::Load {
                register,
                location,
                ordering,
            } => {
                self.read(&next, thread, Some(register), location, |_| (Kind::Read, ordering, 0));
            }
            Instruction::Add {
                register,
                location,
                operand,
                ordering,
            } => {
                self.read(&next, thread, Some(register), location, |old| {
                    (Kind::Update, ordering, old.wrapping_add(operand))
                });
            }
            Instruction::Swap {
                register,
                location,
                value,
                ordering,
            } => {
                self.read(&next, thread, Some(register), location, |_| {
                    (Kind::Update, ordering, value)
                });
            }
            Instruction::CompareExchange {
                register,
                location,
                expected,
                new,
                success,
                failure,
            } => {
                self.read(&next, thread, Some(register), location, |old| {
                    if old == expected {
                        (Kind::Update, success, new)
                    } else {
                        (Kind::Read, failure, 0)
                    }
                });
            }
            Instruction::Lock(mutex) => {
                let location = self.program.locations() + mutex;
                self.read(&next, thread, None, location, |_| (Kind::Update, Acquire, 1));
            }
            Instruction::If { .. } => unreachable!("a cursor decides conditions"),
        }
    }

    fn write(&mut self, mut next: Partial<'p>, thread: usize, location: usize, written: u32, ordering: Ordering) {
        let access = Access {
            location,
            ordering,
            kind: Kind::Write,
            written,
        };
        next.push_access(thread, &access, None);
        self.extend(&next);
    }

    /// Adds the access once for each write that it can read from. `effect` tells, by the value that is read, which sort
    /// of access it is, its ordering and what it writes. Without a register, the location is a mutex, of which only
    /// what unlocked it can be read.
    fn read(
        &mut self,
        partial: &Partial<'p>,
        thread: usize,
        register: Option<usize>,
        location: usize,
        effect: impl Fn(u32) -> (Kind, Ordering, u32),
    ) {
        for source in partial.writes(location) {
            let value = partial.values[source].written;
            let (kind, ordering, written) = effect(value);
            if kind == Kind::Update && partial.is_taken(source) || register.is_none() && value != 0 {
                continue;
            }
            let mut next = partial.clone();
            let access = Access {
                location,
                ordering,
                kind,
                written,
            };
            next.push_access(thread, &access, Some(source));
            if let Some(register) = register {
                next.cursors[thread].registers[register] = value;
            }
            self.extend(&next);
        }
    }

    /// Adds the graph with each combination of modification orders.
    fn order(&mut self, partial: &Partial<'p>) {
        let frame = Frame::new(&partial.events, self.axioms);
        let locations = 0..self.program.locations() + self.program.mutexes();
        // By location: the orders that are coherent.
        let orders: Vec<Vec<Vec<usize>>> = locations
            .map(|location| {
                let mut orders = Vec::new();
                arrange(&frame, &mut partial.writes(location), 0, &mut orders);
                orders
            })
            .collect();
        let mut chosen = Vec::new();
        combine(&orders, &mut chosen, &mut |chosen| {
            if frame.sequentially_consistent(chosen) {
                let graph = self.graph(partial, chosen);
                let outcome = Outcome {
                    registers: partial.cursors.iter().map(|cursor| cursor.registers.clone()).collect(),
                    finals: (0..self.program.locations())
                        .map(|location| graph.last(location))
                        .collect(),
                };
                let known = self.graphs.insert(graph, outcome);
                assert_eq!(known, None, "a graph is found once");
            }
        });
    }

    /// The canonical form.
    fn graph(&self, partial: &Partial<'p>, orders: &[&[usize]]) -> Graph {
        let names = partial.names();
        let locations = self.program.locations();
        let mut graph = Graph::new(partial.cursors.len(), locations);
        for (event, values) in partial.events.iter().zip(&partial.values) {
            let Some(thread) = event.thread else { continue };
            let from = event.source.and_then(|source| names[source]);
            let canonical = match (event.kind, event.location) {
                (Kind::Fence, _) => graph::Event::Fence,
                (Kind::Spawn(child), _) => graph::Event::Spawn(child),
                (Kind::Join(child), _) => graph::Event::Join(child),
                (Kind::Start, _) => graph::Event::Start,
                (Kind::End, _) => graph::Event::End,
                (_, None) => unreachable!("an access is of a location"),
                (Kind::Write, Some(location)) if location >= locations => graph::Event::Unlock(location - locations),
                (_, Some(location)) if location >= locations => graph::Event::Lock(location - locations, from),
                (_, Some(location)) => graph::Event::Access {
                    location,
                    reads: event.source.map(|_| Reads {
                        from,
                        value: values.read,
                    }),
                    writes: event.writes().then_some(values.written),
                },
            };
            graph.push(thread, canonical);
        }
        for (order, writes) in graph.orders.iter_mut().zip(orders) {
            order.extend(writes.iter().filter_map(|&write| names[write]));
        }
        graph
    }
}

/// Adds the coherent orders of the writes that agree with the given one up to a place.
///
/// Coherence makes `hb` between writes of a location part of `mo`, so that only a write which no other one that is left
/// happens before can be next. The initial write happens before all others.
fn arrange(frame: &Frame<'_>, writes: &mut [usize], place: usize, orders: &mut Vec<Vec<usize>>) {
    if place == writes.len() {
        if frame.coherent(writes) {
            orders.push(writes.to_vec());
        }
        return;
    }
    for other in place..writes.len() {
        let next = writes[other];
        if writes[place..].iter().all(|&left| !frame.happens_before(left, next)) {
            writes.swap(place, other);
            arrange(frame, writes, place + 1, orders);
            writes.swap(place, other);
        }
    }
}

/// Visits every choice of one element from each list.
fn combine<'l>(lists: &'l [Vec<Vec<usize>>], chosen: &mut Vec<&'l [usize]>, visit: &mut impl FnMut(&[&[usize]])) {
    let Some(list) = lists.get(chosen.len()) else {
        visit(chosen);
        return;
    };
    for element in list {
        chosen.push(element);
        combine(lists, chosen, visit);
        chosen.pop();
    }
}
