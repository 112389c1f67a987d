//! Which locations threads have been seen to access, and after how many steps.
//!
//! An execution that is given up because its state has been explored before is not run on. What could have happened in
//! it has happened elsewhere: from equal states the same steps are possible, with the same footprints. So this table,
//! filled from every step that runs, is an over-approximation of the futures of all states that are completely
//! explored.

use crate::bits::BitSet;
use crate::execution::VectorClock;
use crate::keys::KeyMap;
use crate::strategy::wait::Wait;
use crate::system::{AccessKind, Awaits, Footprint, Guard, Location, Step, ThreadId};

const KINDS: [AccessKind; 3] = [AccessKind::Read, AccessKind::Update, AccessKind::Write];

/// For each of [`KINDS`], the index of a thread's last step (counted from 1) with such an access; 0 for none.
#[derive(Clone, Copy, Default, Debug)]
struct LastSteps([u32; 3]);

crate::codec!(struct LastSteps { 0 });

impl LastSteps {
    fn add(&mut self, kind: AccessKind, index: u32) {
        let last = &mut self.0[kind as usize];
        *last = (*last).max(index);
    }

    /// The kinds of accesses made after the first `steps` steps.
    fn after(self, steps: u32) -> impl Iterator<Item = AccessKind> {
        (0..KINDS.len())
            .filter(move |&kind| self.0[kind] > steps)
            .map(|kind| KINDS[kind])
    }
}

/// The accesses of one thread to one location.
#[derive(Clone, Default, Debug)]
struct Accesses {
    all: LastSteps,
    /// Accesses that can come before all other threads' writes of the location.
    first: LastSteps,
    /// Accesses that nothing has to come before.
    free: LastSteps,
    /// What these steps wait for.
    wait: Wait,
    /// The clock that each of these steps comes after in every execution, because its thread has waited for it.
    after: VectorClock,
}

crate::codec!(struct Accesses { all, first, free, wait, after });

/// An access that a thread may still make, and that nothing has to come before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Future<'a> {
    pub location: Location,
    pub kind: AccessKind,
    /// What the access's step waits for.
    pub wait: Wait,
    /// The clock that it comes after in every execution.
    pub after: &'a VectorClock,
}

#[derive(Clone, Default, Debug)]
struct Thread {
    creator: Option<ThreadId>,
    accesses: KeyMap<Location, Accesses>,
}

crate::codec!(struct Thread { creator, accesses });

/// Number of steps that each thread has made.
pub(super) trait Progress: Fn(ThreadId) -> u32 {}

impl<F: Fn(ThreadId) -> u32> Progress for F {}

#[derive(Clone, Default, Debug)]
pub(super) struct AccessSummary {
    threads: Vec<Thread>,
}

crate::codec!(struct AccessSummary { threads });

impl AccessSummary {
    fn thread_mut(&mut self, thread: ThreadId) -> &mut Thread {
        if self.threads.len() <= thread.index() {
            self.threads.resize_with(thread.index() + 1, Thread::default);
        }
        &mut self.threads[thread.index()]
    }

    /// The threads of which something was learnt.
    pub fn threads(&self) -> impl Iterator<Item = ThreadId> + use<> {
        (0..self.threads.len() as u32).map(ThreadId)
    }

    /// Adds the `index`-th step of the thread, which ran or was pending. `after` is the clock that it comes after
    /// because of what its thread has waited for.
    pub fn add(&mut self, thread: ThreadId, index: u32, footprint: &Footprint, guards: &[Guard], after: &VectorClock) {
        let known = &mut self.thread_mut(thread).accesses;
        for access in footprint.accesses() {
            let wait = Wait::of(guards, access.location);
            let accesses = known.entry(access.location).or_insert_with(|| Accesses {
                wait,
                after: after.clone(),
                ..Accesses::default()
            });
            if accesses.wait != wait {
                accesses.wait = Wait::Other;
            }
            accesses.all.add(access.kind, index);
            if !matches!(access.awaits, Awaits::AllWrites | Awaits::LastWrite) {
                accesses.first.add(access.kind, index);
            }
            if access.awaits == Awaits::Nothing {
                accesses.free.add(access.kind, index);
            }
            accesses.after.meet(after);
        }
    }

    /// Adds a step that has run, like [`AccessSummary::add`], with the threads that it has created.
    pub fn add_step(&mut self, thread: ThreadId, index: u32, step: &Step, after: &VectorClock) {
        self.add(thread, index, &step.footprint, &step.guards, after);
        for &child in &step.spawned {
            self.thread_mut(child).creator = Some(thread);
        }
    }

    /// The thread whose steps create this thread; `None` for one that exists from the start.
    pub fn creator(&self, thread: ThreadId) -> Option<ThreadId> {
        self.threads.get(thread.index())?.creator
    }

    /// What the thread may access after its first `steps` steps.
    pub fn future(&self, thread: ThreadId, steps: u32) -> impl Iterator<Item = Future<'_>> {
        let accesses = self.threads.get(thread.index()).into_iter().flat_map(|t| &t.accesses);
        accesses.flat_map(move |(&location, accesses)| {
            accesses.free.after(steps).map(move |kind| Future {
                location,
                kind,
                wait: accesses.wait,
                after: &accesses.after,
            })
        })
    }

    /// Says whether a step of the thread after its first `steps` steps may conflict with the footprint.
    pub fn may_conflict(&self, thread: ThreadId, steps: u32, footprint: &Footprint) -> bool {
        let Some(known) = self.threads.get(thread.index()) else {
            return false;
        };
        footprint.accesses().iter().any(|access| {
            let accesses = known.accesses.get(&access.location);
            accesses.is_some_and(|a| a.all.after(steps).any(|kind| kind.conflicts_with(access.kind)))
        })
    }

    /// The threads that may have a step, after the given progress, that is independent of `event` and happens before a
    /// step of one of the `later` threads. Of a later thread with a footprint, only its next step counts, which has
    /// that footprint.
    pub fn may_come_before(
        &self,
        later: impl IntoIterator<Item = (ThreadId, Option<Footprint>)>,
        steps: impl Progress,
        event: (ThreadId, &Footprint),
    ) -> BitSet {
        let (mut cone, mut followed) = (BitSet::new(), BitSet::new());
        let mut todo: Vec<(ThreadId, Option<Footprint>)> = later.into_iter().collect();
        while let Some((later, next)) = todo.pop() {
            cone.insert(later.0);
            if next.is_none() && !followed.insert(later.0) {
                continue;
            }
            let others = self.threads().filter(|&other| other != event.0 && other != later);
            let earlier = others.filter(|&earlier| {
                let known = &self.threads[earlier.index()];
                !followed.contains(earlier.0)
                    && known.accesses.iter().any(|(&location, accesses)| {
                        let mut kinds = accesses.first.after(steps(earlier)).filter(|&kind| {
                            let mut touched = event.1.accesses().iter();
                            !touched.any(|a| a.location == location && a.kind.conflicts_with(kind))
                        });
                        kinds.any(|kind| match &next {
                            Some(next) => {
                                let mut accesses = next.accesses().iter();
                                accesses.any(|a| a.location == location && a.kind.conflicts_with(kind))
                            }
                            None => self.may_access(later, steps(later), location, kind),
                        })
                    })
            });
            todo.extend(earlier.chain(self.creator(later)).map(|thread| (thread, None)));
        }
        cone
    }

    /// Says whether the thread may make an access after its first `steps` steps that conflicts with one of this kind.
    fn may_access(&self, thread: ThreadId, steps: u32, location: Location, kind: AccessKind) -> bool {
        let accesses = self
            .threads
            .get(thread.index())
            .and_then(|known| known.accesses.get(&location));
        accesses.is_some_and(|accesses| accesses.all.after(steps).any(|other| other.conflicts_with(kind)))
    }
}
