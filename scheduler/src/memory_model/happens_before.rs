//! Happens-before: which accesses to plain memory come before which, by what Rust documents of each operation.
//!
//! It is weaker than the explorer's order of dependency: two steps may have to come one after the other, as those of
//! two relaxed stores, although neither happens before the other. Release and acquire are those of C++20 (intro.races,
//! atomics.order, atomics.fences) over sequentially consistent executions: a load reads the latest store; a release
//! sequence goes on through read-modify-writes only.
//!
//! An access belongs to an *epoch*: its thread, and a number that grows whenever the thread has published what it
//! knows. So an epoch is known to another thread as a whole or not at all (Flanagan and Freund, *FastTrack*, PLDI
//! 2009).
//!
//! Invariant: a thread's own entry is at least 1 and greater than what anybody else knows of the thread.

use super::clocks::{Clock, Published, entry, join};
use crate::operation::address_of;
use dpor_explorer::{Location, ThreadId};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// An access to an atomic, with the ordering that counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtomicAccess {
    /// A load, or a read-modify-write that has failed.
    Load(Ordering),
    /// A store.
    Store(Ordering),
    /// A read-modify-write.
    Modify(Ordering),
}

impl AtomicAccess {
    /// Whether it writes.
    pub(crate) const fn writes(self) -> bool {
        !matches!(self, AtomicAccess::Load(_))
    }

    /// Whether it reads.
    pub(crate) const fn reads(self) -> bool {
        !matches!(self, AtomicAccess::Store(_))
    }

    /// The ordering.
    pub(crate) const fn ordering(self) -> Ordering {
        let (AtomicAccess::Load(order) | AtomicAccess::Store(order) | AtomicAccess::Modify(order)) = self;
        order
    }

    /// Whether what was published where it has read is known to its thread from then on.
    pub(crate) fn acquires(self) -> bool {
        self.reads() && acquires(self.ordering())
    }

    const fn words(self) -> (&'static str, Ordering) {
        match self {
            AtomicAccess::Load(order) => ("loaded", order),
            AtomicAccess::Store(order) => ("stored", order),
            AtomicAccess::Modify(order) => ("modified", order),
        }
    }

    /// What it publishes, for reports.
    pub(crate) fn as_release(self) -> String {
        let (verb, order) = self.words();
        match (releases(order), self) {
            (true, _) => format!("{verb} with {order:?}"),
            (false, AtomicAccess::Modify(Ordering::Acquire)) => {
                format!("{verb} with Acquire, which publishes nothing; AcqRel would")
            }
            _ => format!("{verb} with {order:?}, which publishes nothing; Release would"),
        }
    }

    /// What it makes known to its thread, for reports.
    pub(crate) fn as_acquire(self) -> String {
        let (verb, order) = self.words();
        match (acquires(order), self) {
            (true, _) => format!("{verb} with {order:?}"),
            (false, AtomicAccess::Modify(Ordering::Release)) => {
                format!("{verb} with Release, which orders nothing before what follows; AcqRel would")
            }
            _ => format!("{verb} with {order:?}, which orders nothing before what follows; Acquire would"),
        }
    }
}

/// What a thread knows.
#[derive(Default, Debug)]
pub(crate) struct View {
    /// What happens before its next access.
    pub current: Clock,
    /// What an acquire fence would add: what was published by the stores that its relaxed loads have read.
    pub acquired: Clock,
    /// What a relaxed store publishes: what happened before the last release fence.
    pub released: Clock,
    /// What also happens before its accesses while it runs destructors, by destructor, each with those before: what
    /// others have done before they dropped their shares.
    pub lent: Vec<Clock>,
}

/// By whole slices: that of `SmallVec` goes item by item, and this is done for each saved state.
impl Clone for View {
    fn clone(&self) -> Self {
        View {
            current: Clock::from_slice(&self.current),
            acquired: Clock::from_slice(&self.acquired),
            released: Clock::from_slice(&self.released),
            lent: self.lent.clone(),
        }
    }
}

impl View {
    /// The view of a thread among those of all.
    #[inline]
    fn of(thread: usize, views: &mut Vec<View>) -> &mut View {
        if views.len() <= thread {
            views.resize_with(thread + 1, View::default);
        }
        let view = &mut views[thread];
        if view.current.len() <= thread {
            view.current.resize(thread + 1, 0);
        }
        view.current[thread] = view.current[thread].max(1);
        view
    }

    /// What an access that stores publishes.
    fn published_by(&self, access: AtomicAccess) -> &Clock {
        match releases(access.ordering()) {
            true => &self.current,
            false => &self.released,
        }
    }

    fn learns(&mut self, access: AtomicAccess, released: &[u32]) {
        let into = match access.acquires() {
            true => &mut self.current,
            false => &mut self.acquired,
        };
        join(into, released);
    }
}

/// What each thread knows, and what was published at each location.
#[derive(Default, Debug)]
pub(crate) struct HappensBefore {
    /// By index of the thread.
    pub views: Vec<View>,
    /// A location at which nothing was published may be missing.
    pub published: Published,
    /// The threads that will publish at a location what they know, before anybody has waited there for ends, each with
    /// that location.
    ends: Vec<(u16, Location)>,
    /// What threads that wait for the ends of others know at least once they have waited.
    foreseen: SmallVec<[(u16, Clock); 2]>,
    /// What is wrong on purpose.
    #[cfg(feature = "faults")]
    pub fault: Option<RaceFault>,
}

/// A fault that can be seeded into the search for data races, or into weak memory.
#[cfg(feature = "faults")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RaceFault {
    /// Fences release nothing.
    IgnoreReleaseFences,
    /// A read-modify-write ends the release sequence.
    EndReleaseSequences,
    /// Plain reads are judged, but not noted.
    ForgetReads,
    /// What was accessed, and who knows of it, is no part of a state.
    IgnoreInStates,
    /// A read-modify-write that leaves the value as it was publishes nothing for the explorer.
    ModifyLikeReads,
    /// Accesses of threads to their own stacks are left out, whoever else uses these.
    KeepPrivate,
    /// Locations that only one thread uses are taken for such ones when another thread has come.
    KeepUnshared,
    /// An acquire fence acquires what any thread has read.
    AcquireForAll,
    /// A thread may find a value though it knows that another has read or written a later one.
    ForgetWhatOthersHave,
    /// A store may come between a read-modify-write and what that has read.
    SplitModifications,
    /// A store always comes last.
    StoreLast,
    /// A read-modify-write always finds the last value.
    ModifyLast,
    /// A `compare_exchange` never fails by an old value.
    FailByLast,
    /// A sequentially consistent access always finds the last value.
    OrderByExecution,
    /// Sequentially consistent accesses are in no order.
    IgnorePsc,
    /// Values that were left out are forgotten.
    ForgetCuts,
}

fn acquires(order: Ordering) -> bool {
    matches!(order, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst)
}

fn releases(order: Ordering) -> bool {
    matches!(order, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst)
}

impl HappensBefore {
    /// Becomes a copy. Keeps the storage, as this is done for each saved state.
    pub fn copy_from(&mut self, other: &Self) {
        let HappensBefore {
            views,
            published,
            ends,
            // It is told anew before anybody looks at it.
            foreseen: _,
            // It is the same in all states.
            #[cfg(feature = "faults")]
                fault: _,
        } = other;
        self.views.clone_from(views);
        self.published.copy_from(published);
        self.ends.clone_from(ends);
        self.foreseen.clear();
    }

    /// Forgets everything but the first thread.
    pub fn reset(&mut self) {
        self.views.clear();
        self.published.clear();
        self.ends.clear();
        self.foreseen.clear();
    }

    /// What the thread knows.
    #[inline]
    pub fn view(&mut self, thread: usize) -> &mut View {
        View::of(thread, &mut self.views)
    }

    /// The present epoch of the thread.
    #[inline]
    pub fn epoch(&mut self, thread: usize) -> u32 {
        self.view(thread).current[thread]
    }

    /// Says whether the thread's access publishes something.
    pub fn publishes(&mut self, thread: usize, access: AtomicAccess) -> bool {
        #[cfg(feature = "faults")]
        if self.fault == Some(RaceFault::ModifyLikeReads) {
            return false;
        }
        match access {
            AtomicAccess::Load(_) => false,
            AtomicAccess::Store(order) | AtomicAccess::Modify(order) => {
                releases(order) || !self.view(thread).released.is_empty()
            }
        }
    }

    /// Says whether the epoch of a thread happens before what this other thread does next.
    #[inline]
    pub fn knows(&self, thread: usize, of: usize, epoch: u32) -> bool {
        self.views.get(thread).is_some_and(|view| {
            let lent = || view.lent.last().is_some_and(|lent| entry(lent, of) >= epoch);
            entry(&view.current, of) >= epoch || lent()
        })
    }

    /// The thread will [release](Self::release) at the location, after all that it does until it [leaves](Self::leaves),
    /// and before anybody has waited there for ends.
    pub fn will_end_at(&mut self, thread: ThreadId, location: Location) {
        self.ends.push((thread.0 as u16, location));
    }

    /// The thread is about to release at the location, and may go on after that.
    pub fn leaves(&mut self, thread: ThreadId, location: Location) {
        self.ends.retain(|end| *end != (thread.0 as u16, location));
    }

    /// The thread does nothing any more.
    pub fn ended(&mut self, thread: ThreadId) {
        self.ends.retain(|&(ending, _)| ending != thread.0 as u16);
    }

    /// Notes what threads that wait for others to end, each with the location at which the others publish, will know
    /// before they do anything else: what is published there and what the others know, or more.
    pub fn foresee(&mut self, waiting: impl Iterator<Item = (ThreadId, Location)>) {
        self.foreseen.clear();
        for (thread, location) in waiting {
            let Some(view) = self.views.get(thread.index()) else {
                continue;
            };
            let mut known = Clock::from_slice(&view.current);
            join(&mut known, self.published.get(location).unwrap_or_default());
            for &(ending, _) in self.ends.iter().filter(|&&(_, at)| at == location) {
                if let Some(view) = self.views.get(usize::from(ending)) {
                    join(&mut known, &view.current);
                }
            }
            self.foreseen.push((thread.0 as u16, known));
        }
    }

    /// Whether a thread that has waited for others to end knows what it was [foreseen](Self::foresee) to know.
    pub fn has_waited(&self, thread: usize, location: Location) -> bool {
        let published = self.published.get(location).unwrap_or_default();
        let view = self.views.get(thread);
        let mut each = published.iter().enumerate();
        let knows = each.all(|(of, &known)| view.is_some_and(|view| entry(&view.current, of) >= known));
        knows && self.ends.iter().all(|&(_, at)| at != location)
    }

    /// What the thread knows at least before it does anything but its pending operation. `None` if nothing is known of
    /// it.
    pub fn foreseen(&self, thread: usize) -> Option<&Clock> {
        let mut waiting = self.foreseen.iter();
        match waiting.find(|(waiting, _)| usize::from(*waiting) == thread) {
            Some((_, known)) => Some(known),
            None => self.views.get(thread).map(|view| &view.current),
        }
    }

    /// Forgets what was published at a location at which nobody looks any more.
    pub fn settle(&mut self, location: Location) {
        self.published.take(location);
    }

    /// Forgets what was published at the locations, and at parts of objects, in these addresses: they hold something
    /// else from now on.
    pub fn forget(&mut self, addresses: Range<usize>) {
        self.published
            .retain(|location| !addresses.contains(&address_of(location)));
    }

    /// A thread has created another one.
    pub fn spawned(&mut self, parent: usize, child: usize) {
        let known = self.view(parent).current.clone();
        self.view(parent).current[parent] += 1;
        join(&mut self.view(child).current, &known);
    }

    /// The thread comes after all that was published at the location.
    pub fn acquire(&mut self, thread: usize, location: Location) {
        let view = View::of(thread, &mut self.views);
        if let Some(known) = self.published.get(location) {
            join(&mut view.current, known);
        }
    }

    /// What was published at the location happens before what the thread does until it [gives it
    /// back](Self::give_back), and before what it publishes by [`release`](Self::release) meanwhile: the drops of other
    /// shares, which whichever thread runs the destructor makes. The thread begins a new epoch.
    pub fn lend(&mut self, thread: usize, location: Location) {
        let mut lent = self.view(thread).lent.last().cloned().unwrap_or_default();
        if let Some(known) = self.published.get(location) {
            join(&mut lent, known);
        }
        let view = self.view(thread);
        view.lent.push(lent);
        view.current[thread] += 1;
    }

    /// Ends the last [`lend`](Self::lend). The thread begins a new epoch.
    pub fn give_back(&mut self, thread: usize) {
        let view = self.view(thread);
        view.lent.pop();
        view.current[thread] += 1;
    }

    /// The thread publishes all that it knows at the location, beside what was published there before.
    pub fn release(&mut self, thread: usize, location: Location) {
        let view = View::of(thread, &mut self.views);
        self.published.publish(location, &view.current, true);
        if let Some(lent) = view.lent.last() {
            self.published.publish(location, lent, true);
        }
        view.current[thread] += 1;
    }

    /// What an access to an atomic makes known to its thread. Comes before the access itself.
    pub fn loaded(&mut self, thread: usize, location: Location, access: AtomicAccess) {
        let view = View::of(thread, &mut self.views);
        if access.reads()
            && let Some(known) = self.published.get(location)
        {
            view.learns(access, known);
        }
    }

    /// What was published at the location, which from now on is kept elsewhere.
    pub fn take_published(&mut self, location: Location) -> Clock {
        self.published.take(location)
    }

    /// What an access that reads makes known to its thread, if this was published by what it has read.
    pub fn learns(&mut self, thread: usize, access: AtomicAccess, released: &[u32]) {
        self.view(thread).learns(access, released);
    }

    /// What an access that stores publishes. If it releases, the thread begins a new epoch.
    pub fn publishes_now(&mut self, thread: usize, access: AtomicAccess) -> Clock {
        let view = self.view(thread);
        let known = view.published_by(access).clone();
        view.current[thread] += u32::from(releases(access.ordering()));
        known
    }

    /// What an access to an atomic publishes. Comes after the access itself.
    pub fn stored(&mut self, thread: usize, location: Location, access: AtomicAccess) {
        if !access.writes() {
            return;
        }
        let goes_on = matches!(access, AtomicAccess::Modify(_));
        #[cfg(feature = "faults")]
        let goes_on = goes_on && self.fault != Some(RaceFault::EndReleaseSequences);
        let view = View::of(thread, &mut self.views);
        let known = view.published_by(access);
        if !known.is_empty() || self.published.get(location).is_some() {
            self.published.publish(location, known, goes_on);
        }
        view.current[thread] += u32::from(releases(access.ordering()));
    }

    /// What a fence makes known to its thread.
    pub fn fence_acquires(&mut self, thread: usize, order: Ordering) {
        if acquires(order) {
            #[cfg(feature = "faults")]
            if self.fault == Some(RaceFault::AcquireForAll) {
                let all: Vec<Clock> = self.views.iter().map(|view| view.acquired.clone()).collect();
                all.iter()
                    .for_each(|other| join(&mut self.view(thread).acquired, other));
            }
            let view = self.view(thread);
            let acquired = std::mem::take(&mut view.acquired);
            join(&mut view.current, &acquired);
        }
    }

    /// What a fence has later stores publish. Comes after what it acquires.
    pub fn fence_releases(&mut self, thread: usize, order: Ordering) {
        let releases = releases(order);
        #[cfg(feature = "faults")]
        let releases = releases && self.fault != Some(RaceFault::IgnoreReleaseFences);
        if releases {
            let view = self.view(thread);
            view.released.clone_from(&view.current);
            view.current[thread] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
    use dpor_explorer::AccessKind;

    const X: Location = Location(8);
    const Y: Location = Location(16);

    /// An operation of a thread.
    type Operation = (usize, fn(&mut HappensBefore, usize));

    /// Whether the first thread's access before these operations happens before the last thread's after them.
    fn orders(operations: &[Operation]) -> bool {
        let mut order = HappensBefore::default();
        for thread in 0..3 {
            order.view(thread);
        }
        let epoch = order.epoch(0);
        for &(thread, operation) in operations {
            operation(&mut order, thread);
        }
        order.knows(operations[operations.len() - 1].0, 0, epoch)
    }

    impl HappensBefore {
        fn order(&mut self, thread: usize, location: Location, kind: AccessKind) {
            if kind != AccessKind::Update {
                self.acquire(thread, location);
            }
            if kind != AccessKind::Read {
                self.release(thread, location);
            }
        }

        fn fence(&mut self, thread: usize, order: Ordering) {
            self.fence_acquires(thread, order);
            self.fence_releases(thread, order);
        }

        fn atomic(&mut self, thread: usize, location: Location, access: AtomicAccess) {
            self.loaded(thread, location, access);
            self.stored(thread, location, access);
        }
    }

    #[test]
    fn release_and_acquire_order_and_relaxed_does_not() {
        let message = |stored: Ordering, loaded: Ordering| {
            let mut order = HappensBefore::default();
            let epoch = order.epoch(0);
            order.atomic(0, X, AtomicAccess::Store(stored));
            order.atomic(1, X, AtomicAccess::Load(loaded));
            order.knows(1, 0, epoch)
        };
        for (stored, loaded, ordered) in [
            (Release, Acquire, true),
            (SeqCst, SeqCst, true),
            (Relaxed, Acquire, false),
            (Release, Relaxed, false),
        ] {
            assert_eq!(message(stored, loaded), ordered, "{stored:?} {loaded:?}");
        }
    }

    #[test]
    fn a_release_sequence_goes_on_through_modifications_only() {
        assert!(orders(&[
            (0, |order, t| order.atomic(t, X, AtomicAccess::Store(Release))),
            (1, |order, t| order.atomic(t, X, AtomicAccess::Modify(Relaxed))),
            (2, |order, t| order.atomic(t, X, AtomicAccess::Load(Acquire))),
        ]));
        assert!(!orders(&[
            (0, |order, t| order.atomic(t, X, AtomicAccess::Store(Release))),
            (1, |order, t| order.atomic(t, X, AtomicAccess::Store(Relaxed))),
            (2, |order, t| order.atomic(t, X, AtomicAccess::Load(Acquire))),
        ]));
    }

    #[test]
    fn fences_order_through_relaxed_accesses() {
        assert!(orders(&[
            (0, |order, t| order.fence(t, Release)),
            (0, |order, t| order.atomic(t, X, AtomicAccess::Store(Relaxed))),
            (1, |order, t| order.atomic(t, X, AtomicAccess::Load(Relaxed))),
            (1, |order, t| order.fence(t, Acquire)),
        ]));
        assert!(!orders(&[
            (0, |order, t| order.fence(t, Release)),
            (0, |order, t| order.atomic(t, X, AtomicAccess::Store(Relaxed))),
            (1, |order, t| order.atomic(t, X, AtomicAccess::Load(Relaxed))),
        ]));
        assert!(!orders(&[
            (0, |order, t| order.atomic(t, X, AtomicAccess::Store(Relaxed))),
            (0, |order, t| order.fence(t, Release)),
            (1, |order, t| order.atomic(t, X, AtomicAccess::Load(Relaxed))),
            (1, |order, t| order.fence(t, AcqRel)),
        ]));
    }

    /// Whether a thread that waits at a location foresees that it will know of another one's present epoch.
    fn is_foreseen(prepare: impl FnOnce(&mut HappensBefore)) -> bool {
        let mut order = HappensBefore::default();
        order.spawned(0, 1);
        prepare(&mut order);
        let epoch = order.epoch(1);
        order.foresee([(ThreadId::MAIN, X)].into_iter());
        assert!(!order.knows(0, 1, epoch), "it has not waited yet");
        entry(order.foreseen(0).unwrap(), 1) >= epoch
    }

    #[test]
    fn who_waits_for_an_end_foresees_what_the_ending_thread_knows() {
        const OTHER: ThreadId = ThreadId(1);
        assert!(is_foreseen(|order| order.will_end_at(OTHER, X)));
        // It does not say that it will end there, or goes on after it has published.
        assert!(!is_foreseen(|_| ()));
        assert!(!is_foreseen(|order| order.will_end_at(OTHER, Y)));
        assert!(!is_foreseen(|order| order.will_end_at(ThreadId(2), X)));
        assert!(!is_foreseen(|order| {
            order.will_end_at(OTHER, X);
            order.leaves(OTHER, X);
            order.release(1, X);
        }));
        assert!(is_foreseen(|order| {
            order.will_end_at(OTHER, X);
            order.will_end_at(OTHER, Y);
            order.leaves(OTHER, Y);
        }));
        assert!(!is_foreseen(|order| {
            order.will_end_at(OTHER, X);
            order.ended(OTHER);
        }));
    }

    #[test]
    fn who_waits_for_an_end_foresees_what_was_published_there() {
        let mut order = HappensBefore::default();
        order.spawned(0, 1);
        let epoch = order.epoch(1);
        order.release(1, X);
        order.foresee([(ThreadId::MAIN, X)].into_iter());
        let foreseen = order.foreseen(0).unwrap();
        assert_eq!(entry(foreseen, 1), epoch);
        // Who does not wait knows what it knows.
        assert_eq!(order.foreseen(1).unwrap(), &order.views[1].current);
        order.foresee([].into_iter());
        assert_eq!(order.foreseen(0).unwrap(), &order.views[0].current);
    }

    #[test]
    fn another_location_does_not_order() {
        assert!(!orders(&[
            (0, |order, t| order.release(t, X)),
            (1, |order, t| order.acquire(t, Y)),
        ]));
        assert!(orders(&[
            (0, |order, t| order.release(t, X)),
            (1, |order, t| order.order(t, X, AccessKind::Write)),
            (2, |order, t| order.order(t, X, AccessKind::Read)),
        ]));
    }

    #[test]
    fn what_comes_after_a_release_is_not_published() {
        let mut order = HappensBefore::default();
        order.release(0, X);
        let after = order.epoch(0);
        order.acquire(1, X);
        assert!(!order.knows(1, 0, after));
    }

    #[test]
    fn a_child_comes_after_what_its_creator_has_done() {
        let mut order = HappensBefore::default();
        let before = order.epoch(0);
        order.spawned(0, 1);
        let after = order.epoch(0);
        assert!(order.knows(1, 0, before) && !order.knows(1, 0, after));
    }
}
