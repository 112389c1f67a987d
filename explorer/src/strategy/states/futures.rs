//! What can still happen after a state: which accesses, by which threads, and what has always happened before them.
//!
//! The *past* of an access is what comes before its thread gets to it, in the order of dependency, in each execution
//! from the state on: the threads that make a step before it, and the accesses that are before it, however the
//! execution goes. An access that races with a step of another thread has that step not in its past.
//!
//! Of the accesses, a past holds those that conflict with one of another thread, as far as is known when it is made.
//! That a step is before later ones of its thread is told by the threads. So a thread that works on what is its own
//! for hundreds of steps does not make as many pasts.
//!
//! Sets are kept once, and have numbers, as few of them are different.
//!
//! Invariant: numbers are given in the order in which things were first met, and stay.
//!
//! Invariant: a past may lack accesses and threads, and a future may have some that cannot happen. Both make the search explore
//! more, never less.

use crate::bits::BitSet;
use crate::codec::Codec;
use crate::keys::KeyMap;
use crate::search::faults::Faults;
use crate::strategy::wait::Wait;
use crate::system::{Access, AccessKind, Awaits, Footprint, Guard, Location, Pending, Step, ThreadId};
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
}

crate::codec!(struct FutureAccess { thread, location, kind, awaits, wait });

impl FutureAccess {
    /// The access of an operation of the thread, with the operation's guards.
    fn of(thread: ThreadId, &Access { location, kind, awaits }: &Access, guards: &[Guard]) -> Self {
        FutureAccess {
            thread,
            location,
            kind,
            awaits,
            wait: Wait::of(guards, location),
        }
    }
}

/// The number of a past.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct PastId(u32);

crate::codec!(struct PastId { 0 });

impl PastId {
    /// Nothing is known to come before.
    const EMPTY: PastId = PastId(0);
}

/// Accesses that may still be made, by their numbers, in ascending order, each with its past.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Future(Vec<(u32, PastId)>);

crate::codec!(struct Future { 0 });

impl Hash for Future {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for &(number, past) in &self.0 {
            state.write_u64(pair(number, past.0));
        }
    }
}

/// The number of a [`Future`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FutureId(pub u32);

#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
struct Past {
    /// Accesses that conflict with others.
    accesses: BitSet,
    threads: BitSet,
}

crate::codec!(struct Past { accesses, threads });

/// Maximum number of pasts. Where there are more, some stay smaller than they could be.
const MOST_PASTS: usize = 1 << 20;
/// Maximum number of accesses in all futures together, of 8 bytes each. Where there are more, new futures have no
/// pasts.
const MOST_ENTRIES: usize = 1 << 27;

/// A step, in terms of numbers of accesses.
pub(super) struct Moved {
    own: BitSet,
    /// What is in a past if the step is.
    past: PastId,
    /// Its thread, and those that it creates: it comes before their accesses.
    followers: BitSet,
    /// Accesses of other threads that conflict with it.
    conflicts: BitSet,
}

/// All accesses, pasts and futures that were met.
#[derive(Debug)]
pub(super) struct Futures {
    accesses: Vec<FutureAccess>,
    by_location: KeyMap<Location, Vec<u32>>,
    pasts: Vec<Rc<Past>>,
    past_ids: KeyMap<Rc<Past>, PastId>,
    /// The common parts of pasts, by pairs of their numbers.
    intersections: KeyMap<u64, PastId>,
    /// The unions of pasts, by pairs of their numbers.
    unions: KeyMap<u64, PastId>,
    sets: Vec<Rc<Future>>,
    set_ids: KeyMap<Rc<Future>, FutureId>,
    entries: usize,
    faults: Faults,
}

impl Default for Futures {
    fn default() -> Self {
        let empty = Rc::new(Past::default());
        Futures {
            accesses: Vec::new(),
            by_location: KeyMap::default(),
            pasts: vec![empty.clone()],
            past_ids: [(empty, PastId::EMPTY)].into_iter().collect(),
            intersections: KeyMap::default(),
            unions: KeyMap::default(),
            sets: Vec::new(),
            set_ids: KeyMap::default(),
            entries: 0,
            faults: Faults::default(),
        }
    }
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
        number
    }

    /// Notes the accesses of a step that the thread has made. Pasts that are made from now on take into account that
    /// they can conflict with others.
    pub fn note(&mut self, thread: ThreadId, step: &Step) {
        for access in step.footprint.accesses() {
            self.number(FutureAccess::of(thread, access, &step.guards));
        }
    }

    fn numbers(&mut self, thread: ThreadId, footprint: &Footprint, guards: &[Guard]) -> BitSet {
        let mut numbers = BitSet::new();
        for access in footprint.accesses() {
            numbers.insert(self.number(FutureAccess::of(thread, access, guards)));
        }
        numbers
    }

    /// The numbers of accesses by other threads that conflict with one of the thread.
    fn conflicts(&self, thread: ThreadId, location: Location, kind: AccessKind) -> impl Iterator<Item = u32> {
        let known = self.by_location.get(&location).into_iter().flatten().copied();
        known.filter(move |&number| {
            let other = &self.accesses[number as usize];
            other.thread != thread && other.kind.conflicts_with(kind)
        })
    }

    /// The numbers of accesses by other threads that conflict with these.
    fn conflicting(&self, thread: ThreadId, accesses: &[Access]) -> BitSet {
        let of = |access: &Access| self.conflicts(thread, access.location, access.kind);
        accesses.iter().flat_map(of).collect()
    }

    /// A step of the thread, in terms of numbers.
    pub fn moved(&mut self, thread: ThreadId, step: &Step) -> Moved {
        let own = self.numbers(thread, &step.footprint, &step.guards);
        let has_conflicts = |&number: &u32| {
            let FutureAccess { location, kind, .. } = self.accesses[number as usize];
            self.conflicts(thread, location, kind).next().is_some()
        };
        let past = Past {
            accesses: own.iter().filter(has_conflicts).collect(),
            threads: BitSet::of(thread.0),
        };
        Moved {
            past: self.past(past).unwrap_or(PastId::EMPTY),
            own,
            followers: step.spawned.iter().chain([&thread]).map(|thread| thread.0).collect(),
            conflicts: self.conflicting(thread, step.footprint.accesses()),
        }
    }

    /// Adds the accesses of an operation of the thread, which comes next.
    pub fn add(&mut self, future: &mut Future, thread: ThreadId, pending: &Pending) {
        let next = self.numbers(thread, &pending.footprint, &pending.guards);
        self.add_next(future, &next);
    }

    fn add_next(&mut self, future: &mut Future, next: &BitSet) {
        for number in next.iter() {
            match future.0.binary_search_by_key(&number, |&(known, _)| known) {
                Ok(at) => future.0[at].1 = self.in_both(future.0[at].1, PastId::EMPTY),
                Err(at) => future.0.insert(at, (number, PastId::EMPTY)),
            }
        }
    }

    /// Adds another future: either may come.
    pub fn merge(&mut self, future: &mut Future, other: Future) {
        if future.0.is_empty() {
            *future = other;
            return;
        }
        let mut merged = Vec::with_capacity(future.0.len().max(other.0.len()));
        let (mut mine, mut theirs) = (future.0.iter().copied().peekable(), other.0.into_iter().peekable());
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
        future.0 = merged;
    }

    /// The past that is common to two.
    fn in_both(&mut self, a: PastId, b: PastId) -> PastId {
        if a == b || self.faults.long_pasts() {
            return a;
        }
        if a == PastId::EMPTY || b == PastId::EMPTY {
            return PastId::EMPTY;
        }
        let key = pair(a.0.min(b.0), a.0.max(b.0));
        if let Some(&known) = self.intersections.get(&key) {
            return known;
        }
        let mut common = (*self.pasts[a.0 as usize]).clone();
        common.accesses.retain_in(&self.pasts[b.0 as usize].accesses);
        common.threads.retain_in(&self.pasts[b.0 as usize].threads);
        let common = self.past(common).unwrap_or(PastId::EMPTY);
        self.intersections.insert(key, common);
        common
    }

    /// The number of a past; `None` if there are too many.
    fn past(&mut self, past: Past) -> Option<PastId> {
        if let Some(&id) = self.past_ids.get(&past) {
            return Some(id);
        }
        if self.pasts.len() >= MOST_PASTS {
            return None;
        }
        let id = PastId(self.pasts.len() as u32);
        let past = Rc::new(past);
        self.past_ids.insert(past.clone(), id);
        self.pasts.push(past);
        Some(id)
    }

    /// The future before a step, of what follows it: with the step in the pasts to which it belongs, and itself next.
    pub fn before(&mut self, step: &Moved, future: &Future) -> Future {
        // Accesses that come one after the other often have the same past.
        let mut extended: Option<(PastId, PastId)> = None;
        let mut judged: Option<(PastId, bool)> = None;
        let mut before = Vec::with_capacity(future.0.len() + 2);
        for &(number, past) in &future.0 {
            let is_in_past = match judged {
                Some((known, is_in_past)) if known == past => is_in_past,
                _ => self.is_in_past(step, past),
            };
            judged = Some((past, is_in_past));
            if !is_in_past && !self.follows(number, step) {
                before.push((number, past));
                continue;
            }
            let with_step = match extended {
                Some((from, to)) if from == past => to,
                _ => self.with(past, step),
            };
            extended = Some((past, with_step));
            before.push((number, with_step));
        }
        let mut before = Future(before);
        self.add_next(&mut before, &step.own);
        before
    }

    /// Says whether the step is before the access because of whose it is.
    fn follows(&self, number: u32, step: &Moved) -> bool {
        step.followers.contains(self.accesses[number as usize].thread.0)
    }

    /// The past with the step, or as it is if there are too many pasts.
    fn with(&mut self, past: PastId, step: &Moved) -> PastId {
        if step.past == PastId::EMPTY {
            return past;
        }
        if let Some(&known) = self.unions.get(&pair(past.0, step.past.0)) {
            return known;
        }
        let mut with_step = (*self.pasts[past.0 as usize]).clone();
        let own = &self.pasts[step.past.0 as usize];
        with_step.accesses.extend_from(&own.accesses);
        with_step.threads.extend_from(&own.threads);
        let with_step = self.past(with_step).unwrap_or(past);
        self.unions.insert(pair(past.0, step.past.0), with_step);
        with_step
    }

    /// Says whether the step is in a past that follows it.
    fn is_in_past(&self, step: &Moved, past: PastId) -> bool {
        let past = &self.pasts[past.0 as usize];
        past.threads.intersects(&step.followers) || past.accesses.intersects(&step.conflicts)
    }

    /// The accesses of a future that race with the step before it, and need no step of these threads.
    pub fn races<'a>(
        &'a self,
        future: &'a Future,
        step: &'a Moved,
        without: &'a BitSet,
    ) -> impl Iterator<Item = &'a FutureAccess> {
        let racing = future.0.iter().filter(move |&&(number, past)| {
            step.conflicts.contains(number)
                && !self.follows(number, step)
                && !self.is_in_past(step, past)
                && !self.pasts[past.0 as usize].threads.intersects(without)
        });
        racing.map(|&(number, _)| &self.accesses[number as usize])
    }

    /// The threads other than `thread` of accesses that conflict with its operation's, are independent of the step, and
    /// need no step of some threads.
    pub fn movers<'a>(
        &'a self,
        future: &'a Future,
        (thread, operation): (ThreadId, &Footprint),
        step: &'a Moved,
        without: &'a BitSet,
    ) -> impl Iterator<Item = ThreadId> + use<'a> {
        let conflicts = self.conflicting(thread, operation.accesses());
        let possible = future.0.iter().filter(move |&&(number, past)| {
            conflicts.contains(number)
                && !step.conflicts.contains(number)
                && !self.pasts[past.0 as usize].threads.intersects(without)
        });
        possible.map(|&(number, _)| self.accesses[number as usize].thread)
    }

    /// Says whether the location can be changed by what follows the step, is independent of it and needs no step of
    /// some threads.
    pub fn can_change(&self, future: &Future, location: Location, step: &Moved, without: &BitSet) -> bool {
        let numbers = self.by_location.get(&location).into_iter().flatten();
        numbers
            .filter(|&&number| {
                let access = &self.accesses[number as usize];
                access.kind != AccessKind::Read
                    && !step.conflicts.contains(number)
                    && !without.contains(access.thread.0)
            })
            .filter_map(|number| future.0.binary_search_by_key(number, |&(known, _)| known).ok())
            .any(|at| !self.pasts[future.0[at].1.0 as usize].threads.intersects(without))
    }

    /// The future, with nothing known of what comes before its accesses.
    pub fn loosened(future: &Future) -> Future {
        Future(future.0.iter().map(|&(number, _)| (number, PastId::EMPTY)).collect())
    }

    /// The number of a future, or of one with fewer pasts if there are too many.
    pub fn intern(&mut self, future: &Future) -> FutureId {
        if let Some(&id) = self.set_ids.get(future) {
            return id;
        }
        if self.entries > MOST_ENTRIES && future.0.iter().any(|&(_, past)| past != PastId::EMPTY) {
            return self.intern(&Futures::loosened(future));
        }
        self.entries += future.0.len();
        let id = FutureId(self.sets.len() as u32);
        let future = Rc::new(future.clone());
        self.sets.push(future.clone());
        self.set_ids.insert(future, id);
        id
    }

    /// The future with this number; `None` if there is none.
    pub fn get(&self, id: FutureId) -> Option<Rc<Future>> {
        self.sets.get(id.0 as usize).cloned()
    }
}

fn pair(a: u32, b: u32) -> u64 {
    u64::from(a) << 32 | u64::from(b)
}

impl Codec for Futures {
    fn encode(&self, out: &mut Vec<u8>) {
        self.accesses.encode(out);
        crate::codec::put_all(self.pasts.iter().map(|past| &**past), out);
        crate::codec::put_all(self.sets.iter().map(|set| &**set), out);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        let mut futures = Futures::default();
        for access in Vec::<FutureAccess>::decode(from)? {
            futures.number(access);
        }
        let known = futures.accesses.len();
        for past in Vec::<Past>::decode(from)? {
            if past.accesses.iter().any(|number| number as usize >= known) {
                return None;
            }
            futures.past(past)?;
        }
        for set in Vec::<Future>::decode(from)? {
            futures.check(&set)?;
            futures.intern(&set);
        }
        Some(futures)
    }
}

impl Futures {
    /// `None` if the future is none of accesses and pasts that are known.
    pub fn check(&self, future: &Future) -> Option<()> {
        let known = |&(number, past): &(u32, PastId)| {
            (number as usize) < self.accesses.len() && (past.0 as usize) < self.pasts.len()
        };
        future.0.iter().all(known).then_some(())
    }
}
