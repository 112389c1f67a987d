//! TransDPOR: Tasharofi, Karmani, Lauterburg, Legay, Marinov and Agha, *TransDPOR: A Novel Dynamic Partial-Order
//! Reduction Technique for Testing Actor Programs* (FMOODS/FORTE 2012), Figure 2, with and without sleep sets.
//!
//! The algorithm is that of `super::dpor` with a flag for each state: when a race has added a thread to the backtrack
//! set, the set is *frozen*, and further races add nothing until the next thread is explored from there (lines 4', 6
//! and 14').
//!
//! Deviations, besides those of `super::dpor`:
//!
//! * Messages are threads with one step. Nothing else is special about actors.
//! * Figure 2, read literally, looks at each pending message in each state, so that in state 8 of the paper's example
//!   `r1` would be added before `w2`, and 13 paths be explored. The text says that `w2` comes first. Whichever comes
//!   first is right, and the paper's figures come out with the order of the authors' tool, Basset, whose sources are
//!   public: a message that was sent after the race's event, for which one must be processed that *leads to* it, comes
//!   before one that was there, and was added itself, *directly*. Without sleep sets, the message that was sent last
//!   has what leads to it added, and takes the place of what an earlier execution has added, as long as that is not
//!   explored. With sleep sets it is the one that was sent first, and it takes the place only of a message that was
//!   added directly. (Basset's public version does there as without sleep sets, and does not have the paper's figures.)
//! * What is asleep is not added and does not freeze. The paper does not say how its sleep sets work together with the
//!   flag; if a sleeping message froze the set, the flag would not be reset (nothing new is explored from there), and
//!   traces would be lost.
//! * Figure 2 looks in each state at each thread's next operation, be it blocked or not. For DPOR it is enough to look
//!   at what has run, and at what is blocked in the end. Where races are left out it is not: of the race of what is
//!   explored last with an operation that it blocks, all reversals count, and not only those that still show when that
//!   operation has run, has become another one (a wait that was notified), or when others have run that it depends on
//!   and that could as well come later. So what is blocked is looked at after each step. What is found so is taken up
//!   after all races, so that it does not change what is added first. With sleep sets it is enough to add what comes
//!   first in this execution, since nothing that is asleep comes first in it. Without, this may have been explored, and
//!   so all that can come first is added, one at a time: in programs with locks that can be more than DPOR explores.
//! * Line 7 adds nothing if E is empty, since what enables a message belongs to the same actor as the race's event.
//!   Here that is not taken for granted: unless the event writes all that the blocked operation touches (so that
//!   whatever enables it depends on the event), all that is enabled is added, as DPOR does.
//! * The paper proves that actors' race relation is transitive (Proposition 2). Here it is observed: two steps are *in
//!   race* if they were found in a reversible race in some execution. As soon as a step is in race with two others, of
//!   different threads, that are independent of each other, the program is refused, and the exploration is incomplete.
//!   What was seen up to then holds all the same. That a program is not refused need not mean that its relation
//!   is transitive in orders that were not explored; `complete` does not depend on it, because the last thread
//!   explored from a state had all its races followed up, and so the backtrack set is a source set.

use super::Dpor;
use super::dpor::leading_to;
use super::source::open_awake;
use super::{Lead, Race, Refusal, Rules, Search, StepName, all_enabled};
use crate::codec::{from_bytes, to_bytes};
use crate::driver::{Added, State};
use crate::footprint::{AccessKind, Footprint};
use crate::keys::KeyMap;
use crate::statistics::Statistics;
use crate::system::Transition;
use crate::thread::{BitSet, ThreadId};
use crate::trace::{EventIndex, Trace};
use smallvec::SmallVec;

pub(super) struct TransDpor {
    options: Dpor,
    relation: RaceRelation,
    refusal: Option<Refusal>,
}

impl TransDpor {
    pub(super) fn new(options: Dpor) -> Self {
        TransDpor {
            options,
            relation: RaceRelation::default(),
            refusal: None,
        }
    }

    /// Says whether another thread may replace the one that has frozen a backtrack set.
    fn gives_way(&self, added: Added, race: &Race<'_>, statistics: &Statistics) -> bool {
        let earlier = added.steps < statistics.steps;
        earlier && race.new && (added.direct || !self.options.sleep)
    }
}

impl Rules for TransDpor {
    fn search(&self) -> Search {
        Search {
            watches_blocked: true,
            ..self.options.search()
        }
    }

    fn open(&mut self, state: &mut State, _previous: Option<ThreadId>) {
        open_awake(state, None);
    }

    fn pick(&mut self, state: &State) -> Option<Transition> {
        let threads = state.enabled.iter().map(|&(thread, _)| thread);
        threads
            .filter(|thread| state.backtrack.contains(thread.0))
            .find_map(|thread| state.awake_transitions(thread).next())
    }

    fn rank(&self, event: EventIndex, at: EventIndex, pending_since: (usize, usize)) -> (usize, usize, usize) {
        let (step, number) = pending_since;
        if step <= event {
            return (1, at, 0);
        }
        match self.options.sleep {
            true => (0, step, number),
            false => (0, usize::MAX - step, usize::MAX - number),
        }
    }

    fn reverse(&mut self, states: &mut [State], trace: &Trace, race: Race<'_>, statistics: &mut Statistics) {
        if race.at < trace.len() && self.refusal.is_none() {
            self.refusal = self.relation.add(trace, &race);
        }
        let state = &mut states[race.event];
        let frozen = state.frozen;
        if frozen.is_some_and(|added| !self.gives_way(added, &race, statistics)) {
            return;
        }
        match leading_to(state, trace, &race) {
            Some((_, None)) if frozen.is_some() => {}
            Some((thread, event)) => {
                if state.backtrack.contains(thread.0) || is_asleep(state, trace, thread, event) {
                    return;
                }
                if let Some(added) = frozen {
                    state.backtrack.remove(added.thread.0);
                }
                freeze_with(state, thread, event, statistics);
            }
            None if frozen.is_some() => {}
            None => {
                if !writes_all(&trace.events()[race.event].step().footprint, race.footprint) {
                    statistics.fallbacks += 1;
                    state.backtrack = all_enabled(state);
                }
            }
        }
    }

    fn lead(&mut self, state: &mut State, trace: &Trace, lead: Lead, statistics: &mut Statistics) {
        let Lead { thread, first, .. } = lead;
        let wanted = state.frozen.is_none() && state.alternatives(thread).is_some();
        if wanted && !state.backtrack.contains(thread.0) && !is_asleep(state, trace, thread, first) {
            freeze_with(state, thread, first, statistics);
        }
    }

    fn refusal(&self) -> Option<&Refusal> {
        self.refusal.as_ref()
    }

    fn save(&self) -> Vec<u8> {
        to_bytes(&self.relation)
    }

    fn restore(&mut self, saved: &[u8]) -> Option<()> {
        self.relation = from_bytes(saved)?;
        Some(())
    }
}

/// Adds the thread to the backtrack set, and lets nothing else be added until it has been explored. In `event`, if
/// given, the thread makes its step.
fn freeze_with(state: &mut State, thread: ThreadId, event: Option<EventIndex>, statistics: &mut Statistics) {
    statistics.backtracks += 1;
    state.backtrack.insert(thread.0);
    state.frozen = Some(Added {
        thread,
        direct: event.is_none(),
        steps: statistics.steps,
    });
}

/// Says whether the transition that the thread takes in the event is asleep; without an event, whether all of its
/// transitions are.
fn is_asleep(state: &State, trace: &Trace, thread: ThreadId, event: Option<EventIndex>) -> bool {
    match event {
        Some(event) => state.is_asleep(trace.events()[event].transition()),
        None => state.awake_transitions(thread).next().is_none(),
    }
}

/// Says whether everything that conflicts with `touched` conflicts with `writer`.
fn writes_all(writer: &Footprint, touched: &Footprint) -> bool {
    touched.accesses().iter().all(|access| {
        let mut accesses = writer.accesses().iter();
        accesses.any(|a| a.location == access.location && a.kind == AccessKind::Write)
    })
}

/// Which steps were found to race with which others.
#[derive(Default)]
struct RaceRelation {
    steps: Vec<KnownStep>,
    /// The steps with the same thread and number, which differ in their footprints.
    variants: KeyMap<u64, SmallVec<[u32; 1]>>,
}

crate::codec!(struct RaceRelation { steps, variants });

struct KnownStep {
    name: StepName,
    footprint: Footprint,
    /// The steps that race with this one.
    races: BitSet,
}

crate::codec!(struct KnownStep { name, footprint, races });

impl RaceRelation {
    /// Adds the race of a step that has run. Returns two independent steps that this shows to race with a third.
    fn add(&mut self, trace: &Trace, race: &Race<'_>) -> Option<Refusal> {
        let event = &trace.events()[race.event];
        let earlier = StepName {
            thread: event.thread(),
            index: event.index(),
            signature: event.step().signature,
        };
        let later = StepName {
            thread: race.thread,
            index: trace.events()[race.at].index(),
            signature: trace.events()[race.at].step().signature,
        };
        let earlier = self.intern(earlier, &event.step().footprint);
        let later = self.intern(later, race.footprint);
        if !self.steps[earlier as usize].races.insert(later) {
            return None;
        }
        self.steps[later as usize].races.insert(earlier);
        let refusal = self.independent_of(earlier, later);
        refusal.or_else(|| self.independent_of(later, earlier))
    }

    /// Finds a step that races with `shared` and is independent of `step`, which races with it, too.
    fn independent_of(&self, shared: u32, step: u32) -> Option<Refusal> {
        let known = |step: u32| &self.steps[step as usize];
        let independent = |&other: &u32| {
            let (one, other) = (known(step), known(other));
            one.name.thread != other.name.thread && !one.footprint.conflicts_with(&other.footprint)
        };
        let other = known(shared).races.iter().find(independent)?;
        Some(Refusal {
            independent: [known(other).name, known(step).name],
            shared: known(shared).name,
        })
    }

    fn intern(&mut self, name: StepName, footprint: &Footprint) -> u32 {
        let key = u64::from(name.thread.0) << 32 | u64::from(name.index);
        let variants = self.variants.entry(key).or_default();
        let same = |&&step: &&u32| self.steps[step as usize].footprint == *footprint;
        if let Some(&step) = variants.iter().find(same) {
            return step;
        }
        let step = self.steps.len() as u32;
        variants.push(step);
        self.steps.push(KnownStep {
            name,
            footprint: footprint.clone(),
            races: BitSet::new(),
        });
        step
    }
}
