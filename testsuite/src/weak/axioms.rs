//! RC11 as axioms on execution graphs, by relation algebra.
//!
//! The model is that of Lahav, Vafeiadis, Kang, Hur, Dreyer, *Repairing Sequential Consistency in C/C++11*, PLDI 2017,
//! as `rc11.cat` of herd has it, with these differences:
//!
//! * Release sequences are those of C++20 (P0982R1): stores of the same thread do not continue them.
//! * A modification is one event, so that `rmw` is the identity on it, and atomicity is `irreflexive(rb;mo)`.
//! * Mutexes and threads: each has a location of its own, that locks modify and acquire, and unlocks write and release;
//!   the order of critical sections follows from coherence and atomicity. `asw` orders a spawn before the start of the
//!   thread, and the end before the join. Start and end are events, since `sb;hb;sb` goes through them.
//! * No-thin-air, `acyclic(sb ∪ rf)`, is left to whoever builds the graph: events are numbered in such an order.
//!
//! Names are those of the paper: `sb`, `rf`, `mo`, `rb`, `eco`, `rs`, `sw`, `hb`, `scb`, `psc`.

use super::program::{acquires, releases};
use super::relation::{Relation, Set};
use std::sync::atomic::Ordering::{self, SeqCst};

/// What an event is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Read,
    Write,
    /// A read-modify-write.
    Update,
    Fence,
    /// Of the thread.
    Spawn(usize),
    /// Of the thread.
    Join(usize),
    Start,
    End,
}

/// An event, numbered after those that it reads from and those before it in its thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    /// `None` for the initial writes.
    pub(super) thread: Option<usize>,
    pub(super) kind: Kind,
    pub(super) location: Option<usize>,
    pub(super) ordering: Ordering,
    /// The event that it reads from.
    pub(super) source: Option<usize>,
}

impl Event {
    pub(super) fn writes(&self) -> bool {
        matches!(self.kind, Kind::Write | Kind::Update)
    }

    fn is_fence(&self) -> bool {
        self.kind == Kind::Fence
    }

    fn acquires(&self) -> bool {
        matches!(self.kind, Kind::Read | Kind::Update | Kind::Fence) && acquires(self.ordering)
    }

    fn releases(&self) -> bool {
        matches!(self.kind, Kind::Write | Kind::Update | Kind::Fence) && releases(self.ordering)
    }
}

/// What continues a release sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReleaseSequence {
    /// Modifications; and stores of the thread that began it.
    Cpp11,
    /// Modifications.
    Cpp20,
}

/// What is demanded of `SeqCst`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Psc {
    /// Nothing beyond acquiring and releasing.
    None,
    /// That psc has no cycle.
    Rc11,
    /// The same with `sb;hb;sb` for `sb|≠loc;hb;sb|≠loc`, and modifications that are two events: what GenMC demands.
    GenMc,
}

/// Which axioms hold. Others than [`Axioms::RC11`] serve to show what a test would notice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Axioms {
    /// What continues a release sequence.
    pub release_sequence: ReleaseSequence,
    /// What is demanded of `SeqCst`.
    pub psc: Psc,
}

impl Axioms {
    /// The model.
    pub const RC11: Axioms = Axioms {
        release_sequence: ReleaseSequence::Cpp20,
        psc: Psc::Rc11,
    };
}

/// Events, and the relations between them that do not depend on `mo`.
pub(super) struct Frame<'e> {
    events: &'e [Event],
    axioms: Axioms,
    sb: Relation,
    rf: Relation,
    same_location: Relation,
    hb: Relation,
}

impl<'e> Frame<'e> {
    pub(super) fn new(events: &'e [Event], axioms: Axioms) -> Frame<'e> {
        let size = events.len();
        let sb = Relation::of(size, |from, to| match (events[from].thread, events[to].thread) {
            (None, to) => to.is_some(),
            (from_thread, to_thread) => from_thread == to_thread && from < to,
        });
        let rf = Relation::of(size, |from, to| events[to].source == Some(from));
        let same_location = Relation::of(size, |from, to| {
            events[from].location.is_some() && events[from].location == events[to].location
        });
        let asw = Relation::of(size, |from, to| match (events[from].kind, events[to].kind) {
            (Kind::Spawn(child), Kind::Start) => events[to].thread == Some(child),
            (Kind::End, Kind::Join(child)) => events[from].thread == Some(child),
            _ => false,
        });
        let mut frame = Frame {
            events,
            axioms,
            sb,
            rf,
            same_location,
            hb: Relation::empty(size),
        };
        frame.hb = sb.or(&frame.sw()).or(&asw).closure();
        frame
    }

    pub(super) fn happens_before(&self, one: usize, other: usize) -> bool {
        self.hb.has(one, other)
    }

    /// The events of which this holds.
    fn set(&self, holds: impl Fn(&Event) -> bool) -> Set {
        let events = self.events.iter().enumerate();
        events.fold(0, |set, (number, event)| set | Set::from(holds(event)) << number)
    }

    /// `[events of which this holds]`.
    fn those(&self, holds: impl Fn(&Event) -> bool) -> Relation {
        Relation::identity(self.events.len(), self.set(holds))
    }

    /// `[E ⊒ rel];([F];sb)?;rs;rf;[R ∪ U];(sb;[F])?;[E ⊒ acq]`.
    fn sw(&self) -> Relation {
        let fences = self.those(Event::is_fence);
        let writes = self.those(Event::writes);
        let updates = self.those(|event| event.kind == Kind::Update);
        let start = match self.axioms.release_sequence {
            ReleaseSequence::Cpp20 => writes,
            ReleaseSequence::Cpp11 => {
                let later = self.sb.and(&self.same_location).then(&writes);
                writes.then(&later.or_same())
            }
        };
        let rs = start.then(&self.rf.then(&updates).closure().or_same());
        self.those(Event::releases)
            .then(&fences.then(&self.sb).or_same())
            .then(&rs)
            .then(&self.rf)
            .then(&self.sb.then(&fences).or_same())
            .then(&self.those(Event::acquires))
    }

    /// `mo` of one location, whose writes these are in order.
    fn mo(&self, order: &[usize]) -> Relation {
        let mut mo = Relation::empty(self.events.len());
        for (at, &from) in order.iter().enumerate() {
            for &to in &order[at + 1..] {
                mo.add(from, to);
            }
        }
        mo
    }

    /// `rb = (rf⁻¹;mo) \ id`.
    fn rb(&self, mo: &Relation) -> Relation {
        let id = Relation::identity(self.events.len(), Set::MAX);
        self.rf.inverse().then(mo).without(&id)
    }

    /// Whether a location satisfies coherence and atomicity if its writes are in this order, the initial one first.
    ///
    /// If something is between a modification and what it reads from, it is related to the modification by `mo`, and
    /// the modification to it by `rb`: atomicity is part of `irreflexive(eco)`.
    ///
    /// `eco` relates accesses of one location, so that locations can be judged one by one.
    pub(super) fn coherent(&self, order: &[usize]) -> bool {
        let mo = self.mo(order);
        let here = self.same_location.and(&self.rf);
        let eco = here.or(&mo).or(&self.rb(&mo)).closure();
        eco.irreflexive() && self.hb.then(&eco.or_same()).irreflexive()
    }

    /// Whether `psc` is acyclic if these are the orders of all locations.
    pub(super) fn sequentially_consistent(&self, orders: &[&[usize]]) -> bool {
        let sc = self.those(|event| event.ordering == SeqCst);
        let sc_fences = self.those(|event| event.is_fence() && event.ordering == SeqCst);
        let size = self.events.len();
        let mo = orders
            .iter()
            .fold(Relation::empty(size), |all, order| all.or(&self.mo(order)));
        let rb = self.rb(&mo);
        let around = match self.axioms.psc {
            Psc::None => return true,
            Psc::Rc11 => {
                let elsewhere = self.sb.without(&self.same_location);
                elsewhere.then(&self.hb).then(&elsewhere)
            }
            Psc::GenMc => {
                let within = self.sb.or(&self.those(|event| event.kind == Kind::Update));
                let id = Relation::identity(size, Set::MAX);
                within.then(&self.hb).then(&within).without(&id)
            }
        };
        let scb = self
            .sb
            .or(&around)
            .or(&self.hb.and(&self.same_location))
            .or(&mo)
            .or(&rb);
        let hb_or_same = self.hb.or_same();
        let left = sc.or(&sc_fences.then(&hb_or_same));
        let right = sc.or(&hb_or_same.then(&sc_fences));
        let base = left.then(&scb).then(&right);
        let eco = self.rf.or(&mo).or(&rb).closure();
        let between = self.hb.or(&self.hb.then(&eco).then(&self.hb));
        let fences = sc_fences.then(&between).then(&sc_fences);
        base.or(&fences).acyclic()
    }
}
