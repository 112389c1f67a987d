//! Exploration in parts that make up the whole, for machines that do not communicate.
//!
//! A part is a [`System`] of its own, [`Sharded`]: the program, in which some pairs of operations may come in one order
//! only. The search knows nothing of it. Say that `a` is the first operation of a thread at one place of the program,
//! and `b` that of another thread at another place. In one part, `b` waits until `a` has happened; in the other, `a`
//! waits until `b` has.
//!
//! # Why nothing is lost
//!
//! Every execution of the program, up to its end, is one of a part: if `b` happens and `a` does not happen before it,
//! of the second; otherwise of the first. (If neither happens it is one of both.) Whether `a` has happened depends on
//! nothing but what its thread has done, so that equivalent executions belong to the same part. And a part is a system
//! as any other: the wait is a semaphore, a variable that `a` writes and `b` reads, with the [`Effect`] and the
//! [`Guard`] that tell the explorer of it. So a search that runs each class of executions of any system runs each of
//! the part, and the classes are those of the program, or finer. Nothing needs to be known of `a` and `b` for that,
//! neither that they are dependent nor that they happen at all; it only decides how much work is saved. Parts are
//! parted again in the same way, with other pairs.
//!
//! All parts of the whole must be made with the same pairs. Pairs are looked for in some random walks, which are the
//! same in every process; machines choose the same pairs as long as they have taken the same sides of all earlier ones.
//! A part may learn that it needs more scheduling points than another ([`Stop::Refine`]), so operations are told by
//! [`System::place`], and not by how many steps their threads have made. That suffices: what each part proves is that
//! no execution of the program in which the pairs come in its order fails, with as many scheduling points as it takes.
//! Likewise with loops that wait: take the executions in which no thread goes round once more than it has to, whatever
//! part has noticed the loop. They end in all the ways in which the program can end, each is one of a part, and none of
//! them is held back there.
//!
//! Parts of different programs are not all of either. The first walks are those of the whole, and the same for all
//! shards, so that a digest of them tells most mistakes ([`Sharded::walks`]).
//!
//! # Ends that are none
//!
//! Where no thread can go on, but one could if it did not wait for its pair, the program has not ended: that is no
//! failure and no complete execution, whatever others wait for. What follows belongs to another part. It is reported as
//! [`Outlook::GoesOn`]. For a search that stores states it is the end of the part's system, from where nothing is
//! possible: who waits for its pair is part of the state. An end at which no thread of the program itself can go on is
//! judged by the program.
//!
//! # Limits
//!
//! A thread that waits for its pair does not count as one that could run, in the judgement of very long executions. It
//! cannot be preempted. Under a bound on preemptions, a part so has all executions of its side that the program has
//! under that bound, and some more. An order that is not possible makes for a part in which little or nothing happens,
//! and a pair that happens in few executions for work that is done twice.

mod choose;

use crate::random::SplitMix64;
use crate::system::{
    Access, AccessKind, Awaits, Condition, Effect, Failure, Fingerprint, Footprint, Guard, Layer, Location, Outlook,
    Pending, Rewindable, Status, Step, Stop, System, ThreadId, Transition, Values, Variable,
};
pub use crate::vocabulary::Shard;
pub use choose::Part;
use smallvec::SmallVec;
use std::cell::OnceCell;
use std::ops::{Deref, DerefMut};

/// The n-th operation of a thread at a place, in whichever execution.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Mark {
    thread: ThreadId,
    place: u64,
    /// Counted from 1.
    nth: u32,
}

/// A pair of operations of which the second waits for the first.
#[derive(Clone, Debug)]
struct Precedence {
    marks: [Mark; 2],
    /// Number of operations of each mark's thread at its place in this execution, up to the marked one.
    seen: [u32; 2],
    /// Is 1 when the first operation has happened.
    variable: Variable,
}

const FIRST: usize = 0;
const SECOND: usize = 1;

impl Precedence {
    fn has_happened(&self, which: usize) -> bool {
        self.seen[which] == self.marks[which].nth
    }

    /// Whether an operation of the thread at the place would be the marked one.
    fn is_next(&self, which: usize, thread: ThreadId, place: Option<u64>) -> bool {
        let mark = self.marks[which];
        mark.thread == thread && Some(mark.place) == place && self.seen[which] + 1 == mark.nth
    }

    /// Counts an operation.
    fn count(&mut self, which: usize, thread: ThreadId, place: Option<u64>) {
        let mark = self.marks[which];
        self.seen[which] += u32::from(mark.thread == thread && Some(mark.place) == place && !self.has_happened(which));
    }

    fn location(&self) -> Location {
        Location(self.variable.0)
    }

    fn signal(&self) -> Access {
        Access {
            location: self.location(),
            kind: AccessKind::Write,
            awaits: Awaits::Nothing,
        }
    }

    fn wait(&self) -> Access {
        Access {
            location: self.location(),
            kind: AccessKind::Read,
            awaits: Awaits::FirstWrite,
        }
    }

    /// Adds the wait to the guards of an operation.
    fn guard(&self, guards: &mut SmallVec<[Guard; 1]>) {
        let condition = Condition::AtLeast(self.variable, 1);
        if guards.is_empty() {
            guards.push(Guard::when(condition));
            return;
        }
        for guard in guards {
            *guard = guard.clone().and([condition]);
        }
    }
}

/// Seeded faults, for tests which show that the oracle catches them.
#[cfg(feature = "faults")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShardFault {
    /// Gives both sides of a pair the same order.
    SameSide,
    /// Does not tell the explorer what the second operation of a pair waits for.
    HideWait,
    /// Judges an end at which threads wait for their pairs like any other end.
    JudgeHeld,
}

/// A part of a program's executions: those in which certain pairs of operations come in a given order. Without pairs,
/// the whole program.
#[derive(Clone, Debug)]
pub struct Sharded<S> {
    system: S,
    orders: Vec<Precedence>,
    /// The statuses of the program's threads together with the waits, once computed.
    statuses: OnceCell<Vec<Status>>,
    /// The places of the execution's operations, while pairs are searched for.
    places: Option<Vec<Option<u64>>>,
    /// A digest of the first random walks in which pairs were searched for.
    walks: Option<u64>,
    #[cfg(feature = "faults")]
    fault: Option<ShardFault>,
}

impl<S> Deref for Sharded<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.system
    }
}

impl<S> DerefMut for Sharded<S> {
    fn deref_mut(&mut self) -> &mut S {
        &mut self.system
    }
}

impl<S: System> Sharded<S> {
    /// All executions of the program.
    pub fn whole(system: S) -> Self {
        Sharded {
            system,
            orders: Vec::new(),
            statuses: OnceCell::new(),
            places: None,
            walks: None,
            #[cfg(feature = "faults")]
            fault: None,
        }
    }

    /// A number by which shards can be compared after [`Sharded::narrow`]: shards of one program and one count have the
    /// same. Shards with different numbers come from different programs, and need not cover either. `None` if there is
    /// only one shard.
    pub fn walks(&self) -> Option<u64> {
        self.walks
    }

    /// Makes the part faulty.
    #[cfg(feature = "faults")]
    #[must_use]
    pub fn fault(mut self, fault: Option<ShardFault>) -> Self {
        self.fault = fault;
        self
    }

    #[cfg(feature = "faults")]
    fn is_faulty(&self, fault: ShardFault) -> bool {
        self.fault == Some(fault)
    }

    /// Whether the part is the whole program, and no places are noted: then there is nothing to do around a step.
    fn is_whole(&self) -> bool {
        self.orders.is_empty() && self.places.is_none()
    }

    /// The place of the thread's next operation, if it is of interest.
    fn place_of(&self, thread: ThreadId) -> Option<u64> {
        let of_interest = |order: &Precedence| order.marks.iter().any(|mark| mark.thread == thread);
        let wanted = self.places.is_some() || self.orders.iter().any(of_interest);
        wanted.then(|| self.system.place(thread))?
    }

    /// Whether the thread waits for the first operation of a pair.
    fn is_held(&self, thread: ThreadId) -> bool {
        let mut waits = self.orders.iter().filter(|order| !order.has_happened(FIRST));
        waits.any(|order| order.marks[SECOND].thread == thread && order.is_next(SECOND, thread, self.place_of(thread)))
    }

    /// Whether a thread of the program itself could go on.
    fn goes_on(&self) -> bool {
        #[cfg(feature = "faults")]
        if self.is_faulty(ShardFault::JudgeHeld) {
            return false;
        }
        Transition::enabled(self.system.threads()).next().is_some()
    }

    /// Records an operation that has begun.
    fn count(&mut self, thread: ThreadId, place: Option<u64>) {
        self.statuses.take();
        for order in &mut self.orders {
            order.count(FIRST, thread, place);
            order.count(SECOND, thread, place);
        }
        if let Some(places) = &mut self.places {
            places.push(place);
        }
    }

    /// Adds an operation's part in its pairs to what it reports.
    fn tell(
        &self,
        thread: ThreadId,
        place: Option<u64>,
        footprint: &mut Footprint,
        guards: &mut SmallVec<[Guard; 1]>,
        values: &mut Values,
    ) {
        for order in &self.orders {
            if order.is_next(FIRST, thread, place) {
                footprint.insert(order.signal());
            }
            if order.is_next(SECOND, thread, place) {
                #[cfg(feature = "faults")]
                if self.is_faulty(ShardFault::HideWait) {
                    continue;
                }
                footprint.insert(order.wait());
                order.guard(guards);
                values.push((order.variable, i64::from(order.has_happened(FIRST))));
            }
        }
    }
}

impl<S: System> Layer for Sharded<S> {
    type Inner = S;

    fn inner(&self) -> &S {
        &self.system
    }

    fn inner_mut(&mut self) -> &mut S {
        &mut self.system
    }

    fn restart(&mut self) {
        self.system.restart();
        if self.is_whole() {
            return;
        }
        self.statuses.take();
        self.orders.iter_mut().for_each(|order| order.seen = [0, 0]);
        if let Some(places) = &mut self.places {
            places.clear();
        }
    }

    fn threads(&self) -> &[Status] {
        if self.orders.is_empty() {
            return self.system.threads();
        }
        self.statuses.get_or_init(|| {
            let threads = (0..).map(ThreadId).zip(self.system.threads());
            let status = |(thread, status): (ThreadId, &Status)| match status {
                Status::Enabled(_) if self.is_held(thread) => Status::Blocked,
                status => status.clone(),
            };
            threads.map(status).collect()
        })
    }

    fn step(&mut self, transition: Transition, step: &mut Step) -> Result<(), Stop> {
        if self.is_whole() {
            return self.system.step(transition, step);
        }
        let place = self.place_of(transition.thread);
        let result = self.system.step(transition, step);
        let thread = transition.thread;
        self.tell(thread, place, &mut step.footprint, &mut step.guards, &mut step.values);
        let signals = self.orders.iter().filter(|order| order.is_next(FIRST, thread, place));
        step.effects.extend(signals.map(|order| Effect {
            variable: order.variable,
            before: 0,
            after: 1,
        }));
        self.count(transition.thread, place);
        result
    }

    fn repeat(&mut self, transition: Transition, scratch: &mut Step) -> Result<Option<u64>, Stop> {
        if self.is_whole() {
            return self.system.repeat(transition, scratch);
        }
        let place = self.place_of(transition.thread);
        let result = self.system.repeat(transition, scratch);
        self.count(transition.thread, place);
        result
    }

    fn pending(&self, thread: ThreadId) -> Pending {
        let mut pending = self.system.pending(thread);
        if self.is_whole() {
            return pending;
        }
        let place = self.place_of(thread);
        let Pending {
            footprint,
            guards,
            values,
            graph: _,
        } = &mut pending;
        self.tell(thread, place, footprint, guards, values);
        pending
    }

    fn finish(&mut self) -> Result<(), Failure> {
        if !self.is_whole() && self.goes_on() {
            return Err(Failure {
                kind: "held",
                message: "what follows belongs to another part".to_owned(),
            });
        }
        self.system.finish()
    }

    fn outlook(&mut self) -> Outlook {
        match !self.is_whole() && self.goes_on() {
            true => Outlook::GoesOn,
            false => self.system.outlook(),
        }
    }

    fn fingerprint(&mut self) -> Option<Fingerprint> {
        let Fingerprint(system) = self.system.fingerprint()?;
        let seen = self.orders.iter().flat_map(|order| order.seen);
        let digest = seen.fold(0, |digest, seen| {
            SplitMix64::mix(digest ^ u64::from(seen)).wrapping_add(SplitMix64::GAMMA)
        });
        Some(Fingerprint(system ^ u128::from(digest) << 32))
    }

    fn rewindable(&mut self) -> Option<&mut dyn Rewindable> {
        // How far the pairs are would have to be saved as well.
        self.is_whole().then(|| self.system.rewindable())?
    }
}
