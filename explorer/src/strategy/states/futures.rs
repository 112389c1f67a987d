//! What can still happen after a state: which accesses, by which threads, and what has always happened before them.
//!
//! The *past* of an access is what comes before its thread gets to it, in the order of dependency, in each execution
//! from the state on: the threads that make a step before it, and the accesses that are before it, however the
//! execution goes. An access that races with a step of another thread has that step not in its past.
//!
//! Of the accesses, a past holds those that conflict with one of another thread, as far as is known when it is made.
//! Where operations choose what they find in an atomic, it holds the stores from which was read instead.
//! That a step is before later ones of its thread is told by the threads. So a thread that works on what is its own
//! for hundreds of steps does not make as many pasts.
//!
//! Sets are kept once, and have numbers, as few of them are different. What comes before a step is made of the same
//! sets again and again, from different states: what came of it is kept, too.
//!
//! Invariant: numbers are given in the order in which things were first met, and stay, but for those of steps.
//!
//! Invariant: a past may lack accesses and threads, and a future may have some that cannot happen. Both make the
//! search explore more, never less.

use super::numbered::Numbered;
use super::pasts::{Past, PastId, Pasts};
use crate::bits::BitSet;
use crate::codec::Codec;
use crate::keys::KeyMap;
use crate::search::faults::Faults;
use crate::strategy::wait::Wait;
use crate::system::{
    Access, AccessKind, Awaits, Footprint, GraphEvent, Guard, Label, Location, Pending, Step, ThreadId,
};
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// An access that a thread may still make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FutureAccess {
    pub thread: ThreadId,
    pub location: Location,
    pub kind: AccessKind,
    pub awaits: Awaits,
    /// What its operation waits for.
    pub wait: Wait,
    /// What it does in the execution graph, if the location is an atomic of which its operation chooses what it finds.
    pub label: Option<Label>,
}

crate::codec!(struct FutureAccess { thread, location, kind, awaits, wait, label });

impl FutureAccess {
    /// The access of an operation of the thread, with the operation's guards, and what it does in the execution graph.
    fn of(
        thread: ThreadId,
        &Access { location, kind, awaits }: &Access,
        guards: &[Guard],
        graph: Option<GraphEvent>,
    ) -> Self {
        let label = |graph: GraphEvent| match graph.excluded {
            // It would write if it came first.
            true => Label::Update,
            false => graph.label,
        };
        FutureAccess {
            label: graph.filter(|graph| graph.location == location).map(label),
            thread,
            location,
            kind,
            awaits,
            wait: Wait::of(guards, location),
        }
    }

    /// Whether the two are dependent by their locations, whatever they find.
    fn depends_on(&self, other: &FutureAccess) -> bool {
        self.kind.conflicts_with(other.kind) && (self.label.is_none() || other.label.is_none())
    }

    /// Whether the access cannot come after the other one, by another thread, which would come first, and have the same
    /// outcome: it could find what the other one writes.
    fn is_stopped_by(&self, other: &FutureAccess) -> bool {
        match (self.label, other.label) {
            (Some(own), Some(other)) => own.reads() && other.writes(),
            _ => self.kind.conflicts_with(other.kind),
        }
    }
}

/// Accesses that may still be made, by their numbers, in ascending order, each with its past.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
struct Future(Vec<(u32, PastId)>);

crate::codec!(struct Future { 0 });

impl Hash for Future {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for &(number, past) in &self.0 {
            state.write_u64(pair(number, past.0));
        }
    }
}

/// The number of a set of accesses that may still be made. The default is that of none.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct FutureId(pub u32);

crate::codec!(struct FutureId { 0 });

/// Maximum number of accesses in all futures together, of 8 bytes each. Where there are more, new futures have no
/// pasts.
const MOST_ENTRIES: usize = 1 << 27;
/// Maximum number of results that are kept, of each kind.
const MOST_RESULTS: usize = 1 << 22;

/// The place of a store in the order of its atomic in a state: the atomic, and how many stores are later.
#[derive(Clone, Copy, Debug)]
struct StoreAt {
    location: Location,
    older: u32,
}

crate::codec!(struct StoreAt { location, older });

/// What makes a step another one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct StepKey {
    thread: ThreadId,
    own: BitSet,
    followers: BitSet,
    /// How many stores are later than the one that it reads from, or comes right after.
    older: Option<u32>,
}

/// A step, in terms of numbers of accesses.
#[derive(Debug)]
pub(super) struct Moved {
    /// Its number among those that were met since the last access was.
    id: u32,
    own: BitSet,
    /// What is in a past if the step is.
    past: PastId,
    /// Its thread, and those that it creates: it comes before their accesses.
    followers: BitSet,
    /// Accesses of other threads that depend on it, or it on them, whatever they find.
    dependent: BitSet,
    /// Accesses of other threads that it cannot come before with the same outcome, if they come first.
    stopping: BitSet,
    /// What it stores, by number of the place after it.
    store: Option<u32>,
    /// Of each store that can have been read from after it, by number of the place, the number of the place before it,
    /// where that is another one, or not known.
    places_before: SmallVec<[(u32, Option<u32>); 4]>,
}

/// All accesses, pasts and futures that were met.
#[derive(Default, Debug)]
pub(super) struct Futures {
    accesses: Vec<FutureAccess>,
    by_location: KeyMap<Location, Vec<u32>>,
    pasts: Pasts,
    sets: Numbered<Future>,
    entries: usize,
    /// The places of stores, by number.
    stores: Vec<StoreAt>,
    /// The numbers of an atomic's places, by how many stores are later.
    stores_of: KeyMap<Location, Vec<u32>>,
    /// The steps that were met since the last access or store was.
    steps: KeyMap<StepKey, Rc<Moved>>,
    /// The futures before steps, by the number of the future after the step and that of the step.
    befores: KeyMap<u64, FutureId>,
    /// What was merged, by pairs of numbers.
    merged: KeyMap<u64, FutureId>,
    faults: Faults,
}

impl Futures {
    pub fn new(faults: Faults) -> Futures {
        Futures {
            faults,
            ..Futures::default()
        }
    }

    /// The number of an access.
    fn number(&mut self, access: FutureAccess) -> u32 {
        let known = self.by_location.entry(access.location).or_default();
        if let Some(&number) = known.iter().find(|&&number| self.accesses[number as usize] == access) {
            return number;
        }
        let number = self.accesses.len() as u32;
        known.push(number);
        self.accesses.push(access);
        // It can conflict with those of steps.
        self.forget_steps();
        number
    }

    /// Notes the accesses of a step that the thread has made. Pasts that are made from now on take into account that
    /// they can conflict with others.
    pub fn note(&mut self, thread: ThreadId, step: &Step) {
        for access in step.footprint.accesses() {
            self.number(FutureAccess::of(thread, access, &step.guards, step.graph));
        }
    }

    fn numbers(
        &mut self,
        thread: ThreadId,
        footprint: &Footprint,
        guards: &[Guard],
        graph: Option<GraphEvent>,
    ) -> BitSet {
        let mut numbers = BitSet::new();
        for access in footprint.accesses() {
            numbers.insert(self.number(FutureAccess::of(thread, access, guards, graph)));
        }
        numbers
    }

    /// The numbers of the accesses by other threads to the location of an access that are related to it.
    fn related(
        &self,
        access: FutureAccess,
        is_related: impl Fn(&FutureAccess, &FutureAccess) -> bool,
    ) -> impl Iterator<Item = u32> {
        let known = self.by_location.get(&access.location).into_iter().flatten().copied();
        known.filter(move |&number| {
            let other = &self.accesses[number as usize];
            other.thread != access.thread && is_related(&access, other)
        })
    }

    /// The same for each access with a number.
    fn related_to_any(&self, numbers: &BitSet, is_related: impl Fn(&FutureAccess, &FutureAccess) -> bool) -> BitSet {
        let of = |number: u32| self.related(self.accesses[number as usize], &is_related);
        numbers.iter().flat_map(of).collect()
    }

    /// The number of the place of a store.
    fn store_at(&mut self, at: StoreAt) -> u32 {
        let known = self.stores_of.entry(at.location).or_default();
        if let Some(&number) = known.get(at.older as usize) {
            return number;
        }
        while known.len() <= at.older as usize {
            known.push(self.stores.len() as u32);
            let older = known.len() as u32 - 1;
            self.stores.push(StoreAt { older, ..at });
        }
        // They can be those that steps move.
        self.forget_steps();
        self.stores.len() as u32 - 1
    }

    fn forget_steps(&mut self) {
        self.steps.clear();
        self.befores.clear();
    }

    /// A step of the thread, in terms of numbers.
    pub fn moved(&mut self, thread: ThreadId, step: &Step) -> Rc<Moved> {
        let own = self.numbers(thread, &step.footprint, &step.guards, step.graph);
        let followers: BitSet = step.spawned.iter().chain([&thread]).map(|thread| thread.0).collect();
        let place = |GraphEvent { location, older, .. }: GraphEvent| StoreAt { location, older };
        let number = step.graph.map(|graph| self.store_at(place(graph)));
        let read_from = number.filter(|_| step.graph.is_some_and(|graph| graph.label.reads()));
        let stored = step.graph.filter(|graph| graph.label.writes()).map(place);
        let key = StepKey {
            thread,
            own,
            followers,
            older: step.graph.map(|graph| graph.older),
        };
        if let Some(known) = self.steps.get(&key) {
            return known.clone();
        }
        let StepKey { own, followers, .. } = key.clone();
        let has_conflicts = |&number: &u32| {
            let access = self.accesses[number as usize];
            self.related(access, FutureAccess::depends_on).next().is_some()
        };
        let past = Past {
            accesses: own.iter().filter(has_conflicts).collect(),
            threads: BitSet::of(thread.0),
            stores: read_from.into_iter().collect(),
        };
        let dependent = self.related_to_any(&own, FutureAccess::depends_on);
        let moved = Rc::new(Moved {
            id: self.steps.len() as u32,
            past: self.pasts.intern(past).unwrap_or(PastId::EMPTY),
            dependent,
            stopping: self.related_to_any(&own, |own, other| {
                let passes = self.faults.pass_stores() && own.label.is_some() && other.label.is_some();
                own.is_stopped_by(other) && !passes
            }),
            store: number.filter(|_| stored.is_some()),
            places_before: self.places_before(&own, stored),
            own,
            followers,
        });
        debug_assert!(moved.dependent.is_subset(&moved.stopping));
        self.steps.insert(key, moved.clone());
        moved
    }

    /// Where stores were before a step with these accesses, which has `stored` or not: those after which they are
    /// elsewhere.
    fn places_before(&self, own: &BitSet, stored: Option<StoreAt>) -> SmallVec<[(u32, Option<u32>); 4]> {
        let mut before = SmallVec::new();
        for number in own.iter() {
            let FutureAccess {
                location, kind, label, ..
            } = self.accesses[number as usize];
            let places = self.stores_of.get(&location).map_or(&[][..], Vec::as_slice);
            match stored.filter(|stored| stored.location == location) {
                Some(StoreAt { older, .. }) => {
                    let older = older as usize;
                    before.push((places[older], None));
                    let earlier = places[older..].windows(2);
                    before.extend(earlier.map(|pair| (pair[1], Some(pair[0]))));
                }
                // It is not known what else it stores.
                None if label.is_none() && kind != AccessKind::Read => {
                    before.extend(places.iter().map(|&place| (place, None)));
                }
                None => {}
            }
        }
        before
    }

    /// The past of an access after a step, as it is before it, without the step.
    fn without(&mut self, step: &Moved, past: PastId) -> PastId {
        let stores = &self.pasts.get(past).stores;
        if stores.is_empty() || !step.places_before.iter().any(|&(after, _)| stores.contains(after)) {
            return past;
        }
        let mut before = self.pasts.get(past).clone();
        let after = std::mem::take(&mut before.stores);
        for store in after.iter() {
            let moved = step.places_before.iter().find(|&&(place, _)| place == store);
            if let Some(place) = moved.map_or(Some(store), |&(_, before)| before) {
                before.stores.insert(place);
            }
        }
        self.pasts.intern(before).unwrap_or(PastId::EMPTY)
    }

    /// The future with the accesses of an operation of the thread, which comes next.
    pub fn with(&mut self, future: FutureId, thread: ThreadId, pending: &Pending) -> FutureId {
        let next = self.numbers(thread, &pending.footprint, &pending.guards, pending.graph);
        let mut future = Future::clone(self.sets.get(future.0));
        self.add_next(&mut future, &next);
        self.intern(future)
    }

    fn add_next(&mut self, future: &mut Future, next: &BitSet) {
        for number in next.iter() {
            match future.0.binary_search_by_key(&number, |&(known, _)| known) {
                Ok(at) => future.0[at].1 = self.in_both(future.0[at].1, PastId::EMPTY),
                Err(at) => future.0.insert(at, (number, PastId::EMPTY)),
            }
        }
    }

    /// Two futures of which either may come.
    pub fn merge(&mut self, future: FutureId, other: FutureId) -> FutureId {
        let none = FutureId::default();
        if future == other || other == none {
            return future;
        }
        if future == none {
            return other;
        }
        let key = pair(future.0.min(other.0), future.0.max(other.0));
        if let Some(&known) = self.merged.get(&key) {
            return known;
        }
        let [mine, theirs] = [future, other].map(|id| self.sets.get(id.0).clone());
        let mut merged = Vec::with_capacity(mine.0.len().max(theirs.0.len()));
        let (mut mine, mut theirs) = (mine.0.iter().copied().peekable(), theirs.0.iter().copied().peekable());
        while let (Some(&(a, past)), Some(&(b, other))) = (mine.peek(), theirs.peek()) {
            match a.cmp(&b) {
                Ordering::Less => merged.extend(mine.next()),
                Ordering::Greater => merged.extend(theirs.next()),
                Ordering::Equal => {
                    merged.push((a, self.in_both(past, other)));
                    mine.next();
                    theirs.next();
                }
            }
        }
        merged.extend(mine);
        merged.extend(theirs);
        let merged = self.intern(Future(merged));
        keep(&mut self.merged, key, merged);
        merged
    }

    /// The past that is common to two.
    fn in_both(&mut self, a: PastId, b: PastId) -> PastId {
        match self.faults.long_pasts() {
            true => a,
            false => self.pasts.in_both(a, b),
        }
    }

    /// The future before a step, of what follows it: with the step in the pasts to which it belongs, and itself next.
    pub fn before(&mut self, step: &Moved, future: FutureId) -> FutureId {
        let key = pair(future.0, step.id);
        if let Some(&known) = self.befores.get(&key) {
            return known;
        }
        let after = self.sets.get(future.0).clone();
        // Accesses that come one after the other often have the same past.
        let mut shortened: Option<(PastId, PastId)> = None;
        let mut extended: Option<(PastId, PastId)> = None;
        let mut judged: Option<(PastId, bool)> = None;
        let mut before = Vec::with_capacity(after.0.len() + 2);
        for &(number, past) in &after.0 {
            let is_in_past = match judged {
                Some((known, is_in_past)) if known == past => is_in_past,
                _ => self.is_in_past(step, past),
            };
            judged = Some((past, is_in_past));
            let without_step = match shortened {
                Some((from, to)) if from == past => to,
                _ => self.without(step, past),
            };
            shortened = Some((past, without_step));
            if !is_in_past && !self.follows(number, step) {
                before.push((number, without_step));
                continue;
            }
            let with_step = match extended {
                Some((from, to)) if from == without_step => to,
                _ => self.pasts.in_either(without_step, step.past),
            };
            extended = Some((without_step, with_step));
            before.push((number, with_step));
        }
        let mut before = Future(before);
        self.add_next(&mut before, &step.own);
        let before = self.intern(before);
        keep(&mut self.befores, key, before);
        before
    }

    /// Says whether the step is before the access because of whose it is.
    fn follows(&self, number: u32, step: &Moved) -> bool {
        step.followers.contains(self.accesses[number as usize].thread.0)
    }

    /// Says whether the step is in a past that follows it.
    fn is_in_past(&self, step: &Moved, past: PastId) -> bool {
        let past = self.pasts.get(past);
        past.threads.intersects(&step.followers)
            || past.accesses.intersects(&step.dependent)
            || step.store.is_some_and(|store| past.stores.contains(store))
    }

    /// The accesses of a future that race with the step before it, and need no step of these threads.
    pub fn races<'a>(
        &'a self,
        future: FutureId,
        step: &'a Moved,
        without: &'a BitSet,
    ) -> impl Iterator<Item = &'a FutureAccess> {
        let racing = self.sets.get(future.0).0.iter().filter(move |&&(number, past)| {
            step.stopping.contains(number)
                && !self.follows(number, step)
                && !self.is_in_past(step, past)
                && !self.pasts.get(past).threads.intersects(without)
        });
        racing.map(|&(number, _)| &self.accesses[number as usize])
    }

    /// The threads other than `thread` of accesses that conflict with its operation's, are independent of the step, and
    /// need no step of some threads.
    pub fn movers<'a>(
        &'a self,
        future: FutureId,
        (thread, operation): (ThreadId, &Footprint),
        step: &'a Moved,
        without: &'a BitSet,
    ) -> impl Iterator<Item = ThreadId> + use<'a> {
        // Without a place in the graph: it waits.
        let accesses = operation.accesses().iter();
        let accesses = accesses.map(|access| FutureAccess::of(thread, access, &[], None));
        let conflicts: BitSet = accesses
            .flat_map(|access| self.related(access, FutureAccess::depends_on))
            .collect();
        let possible = self.sets.get(future.0).0.iter().filter(move |&&(number, past)| {
            conflicts.contains(number)
                && !step.stopping.contains(number)
                && !self.pasts.get(past).threads.intersects(without)
        });
        possible.map(|&(number, _)| self.accesses[number as usize].thread)
    }

    /// Says whether the location can be changed by what follows the step, is independent of it and needs no step of
    /// some threads.
    pub fn can_change(&self, future: FutureId, location: Location, step: &Moved, without: &BitSet) -> bool {
        let future = self.sets.get(future.0);
        let numbers = self.by_location.get(&location).into_iter().flatten();
        numbers
            .filter(|&&number| {
                let access = &self.accesses[number as usize];
                access.kind != AccessKind::Read && !step.stopping.contains(number) && !without.contains(access.thread.0)
            })
            .filter_map(|number| future.0.binary_search_by_key(number, |&(known, _)| known).ok())
            .any(|at| !self.pasts.get(future.0[at].1).threads.intersects(without))
    }

    /// The future, with nothing known of what comes before its accesses.
    pub fn loosened(&mut self, future: FutureId) -> FutureId {
        let loosened = self.sets.get(future.0).loosened();
        self.intern(loosened)
    }

    /// The number of a future, or of one with fewer pasts if there are too many.
    fn intern(&mut self, future: Future) -> FutureId {
        if let Some(number) = self.sets.number(&future) {
            return FutureId(number);
        }
        if self.entries > MOST_ENTRIES && future.0.iter().any(|&(_, past)| past != PastId::EMPTY) {
            return self.intern(future.loosened());
        }
        self.entries += future.0.len();
        FutureId(self.sets.add(future))
    }

    /// `None` if there is no future with this number.
    pub fn check(&self, id: FutureId) -> Option<()> {
        ((id.0 as usize) < self.sets.len()).then_some(())
    }
}

impl Future {
    fn loosened(&self) -> Future {
        Future(self.0.iter().map(|&(number, _)| (number, PastId::EMPTY)).collect())
    }
}

/// Keeps a result. If there are too many, the others are forgotten.
fn keep(results: &mut KeyMap<u64, FutureId>, key: u64, result: FutureId) {
    if results.len() >= MOST_RESULTS {
        results.clear();
    }
    results.insert(key, result);
}

/// Two numbers as one.
pub(super) fn pair(a: u32, b: u32) -> u64 {
    u64::from(a) << 32 | u64::from(b)
}

impl Codec for Futures {
    fn encode(&self, out: &mut Vec<u8>) {
        self.accesses.encode(out);
        self.stores.encode(out);
        self.pasts.encode(out);
        self.sets.encode(out);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        let mut futures = Futures::default();
        for access in Vec::<FutureAccess>::decode(from)? {
            futures.number(access);
        }
        for at in Vec::<StoreAt>::decode(from)? {
            let known = futures.stores_of.get(&at.location).map_or(0, Vec::len);
            if at.older as usize != known {
                return None;
            }
            futures.store_at(at);
        }
        futures.pasts = Codec::decode(from)?;
        let known = futures.accesses.len();
        let stores = futures.stores.len();
        let is_unknown = |past: &Past| {
            past.accesses.iter().any(|number| number as usize >= known)
                || past.stores.iter().any(|number| number as usize >= stores)
        };
        if futures.pasts.iter().any(is_unknown) {
            return None;
        }
        for set in Vec::<Future>::decode(from)? {
            let is_known =
                |&(number, past): &(u32, PastId)| (number as usize) < known && (past.0 as usize) < futures.pasts.len();
            if !set.0.iter().all(is_known) {
                return None;
            }
            futures.intern(set);
        }
        Some(futures)
    }
}
