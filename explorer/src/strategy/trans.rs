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
use super::dpor::{RacesOfExecution, Rank, leading_to, races_of_pending};
use super::reversal::{Operation, Race};
use super::source::open_awake;
use crate::bits::BitSet;
use crate::codec::{Codec, to_bytes};
use crate::execution::{EventIndex, Races, Trace};
use crate::keys::KeyMap;
use crate::search::exploration::Exploration;
use crate::search::faults::Faults;
use crate::search::node::{Node, PerNode, Stack};
use crate::search::policy::{Conduct, Policy};
use crate::statistics::Statistics;
use crate::system::{AccessKind, Footprint, Pending, Status, System, ThreadId, Transition};
use smallvec::SmallVec;

pub(super) struct TransDpor {
    options: Dpor,
    faults: Faults,
    races: RacesOfExecution,
    leads: Vec<Lead>,
    sets: BacktrackSets,
    relation: RaceRelation,
    refusal: Option<Refusal>,
}

/// The first step of a reversed race whose later operation was blocked at some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Lead {
    event: EventIndex,
    thread: ThreadId,
    /// The event of this execution in which the thread makes the step; `None` for the racing operation itself.
    first: Option<EventIndex>,
}

/// The addition that has frozen a backtrack set.
#[derive(Clone, Copy, Debug)]
struct Added {
    thread: ThreadId,
    /// Whether it is the race's own thread, and not one that has to move before.
    direct: bool,
    /// Number of steps run by then, in all executions: the same for everything that is added after one execution.
    steps: u64,
}

crate::codec!(struct Added { thread, direct, steps });

/// The backtrack sets, which are frozen by an addition until another transition is chosen from the node.
struct BacktrackSets {
    frozen: PerNode<Option<Added>>,
    sleep: bool,
}

/// A step, for reports.
#[derive(Clone, Copy, Debug)]
struct StepName {
    thread: ThreadId,
    /// The step's index among its thread's steps, counted from 1.
    index: u32,
    signature: u64,
}

crate::codec!(struct StepName { thread, index, signature });

/// Why the strategy gives up: two independent steps that are both in a race with a third.
#[derive(Clone, Copy, Debug)]
struct Refusal {
    independent: [StepName; 2],
    shared: StepName,
}

impl TransDpor {
    pub(super) fn new(options: Dpor, faults: Faults) -> Self {
        TransDpor {
            options,
            faults,
            races: RacesOfExecution::default(),
            leads: Vec::new(),
            sets: BacktrackSets {
                frozen: PerNode::default(),
                sleep: options.sleep,
            },
            relation: RaceRelation::default(),
            refusal: None,
        }
    }

    /// Notes the first steps of reversals of races with operations that are blocked after the newest step. When such an
    /// operation runs, or at the end, it may be another operation, and steps in between may seem to have to come first.
    fn follow_blocked<S: System>(&mut self, exploration: &Exploration<S>) {
        let cursor = &exploration.cursor;
        let trace = &cursor.trace;
        for (thread, status) in (0..).map(ThreadId).zip(cursor.system.threads()) {
            if *status != Status::Blocked {
                continue;
            }
            let pending = cursor.system.pending(thread);
            // Guards are never ignored here.
            let operation = Operation::pending(thread, &pending, &Faults::default());
            // Without what it has done itself, it would not be blocked there.
            let own = trace.thread_clock(thread);
            let Operation { footprint, guards, .. } = operation;
            let races = trace.dependent_pairs(thread, footprint, guards, |v| operation.value(v), &own);
            add_leads(&mut self.leads, self.options.sleep, trace, &races, thread, footprint);
        }
    }

    fn handle(&mut self, stack: &mut Stack, trace: &Trace, race: Race<'_>, new: bool, statistics: &mut Statistics) {
        if race.at < trace.len() && self.refusal.is_none() {
            self.refusal = self.relation.add(trace, &race);
        }
        self.sets.reverse(stack, trace, race, new, statistics);
    }
}

/// Notes the first steps of the reversals of an operation's races: with sleep sets only those of this execution, since
/// nothing that is asleep comes first in it.
fn add_leads(
    leads: &mut Vec<Lead>,
    sleep: bool,
    trace: &Trace,
    races: &Races,
    thread: ThreadId,
    footprint: &Footprint,
) {
    let most = if sleep { 1 } else { usize::MAX };
    for &(event, ref removed) in races {
        let firsts = trace.firsts_of_reversal(event, removed, thread, footprint);
        let firsts = firsts
            .into_iter()
            .map(|first| (trace.events()[first].thread(), Some(first)));
        for (thread, first) in firsts.chain([(thread, None)]).take(most) {
            let lead = Lead { event, thread, first };
            if !leads.contains(&lead) {
                leads.push(lead);
            }
        }
    }
}

impl BacktrackSets {
    /// Says whether another thread may replace the one that has frozen a backtrack set.
    fn gives_way(&self, added: Added, new: bool, statistics: &Statistics) -> bool {
        let earlier = added.steps < statistics.steps;
        earlier && new && (added.direct || !self.sleep)
    }

    fn reverse(&mut self, stack: &mut Stack, trace: &Trace, race: Race<'_>, new: bool, statistics: &mut Statistics) {
        let node = &mut stack[race.event];
        let frozen = self.frozen[race.event];
        if frozen.is_some_and(|added| !self.gives_way(added, new, statistics)) {
            return;
        }
        match leading_to(node, trace, &race) {
            Some((_, None)) if frozen.is_some() => {}
            Some((thread, event)) => {
                if node.backtrack.contains(thread.0) || is_asleep(node, trace, thread, event) {
                    return;
                }
                if let Some(added) = frozen {
                    node.backtrack.remove(added.thread.0);
                }
                self.freeze_with(race.event, node, thread, event, statistics);
            }
            None if frozen.is_some() => {}
            None => {
                if !writes_all(&trace.events()[race.event].step().footprint, race.footprint) {
                    statistics.fallbacks += 1;
                    node.backtrack = node.all_enabled();
                }
            }
        }
    }

    /// Handles a race of a blocked operation when the execution has ended and all other races are known.
    fn follow(&mut self, stack: &mut Stack, trace: &Trace, lead: Lead, statistics: &mut Statistics) {
        let Lead { event, thread, first } = lead;
        let node = &mut stack[event];
        let wanted = self.frozen[event].is_none() && node.alternatives(thread).is_some();
        if wanted && !node.backtrack.contains(thread.0) && !is_asleep(node, trace, thread, first) {
            self.freeze_with(event, node, thread, first, statistics);
        }
    }

    /// Adds the thread to the backtrack set of the `at`-th node, and lets nothing else be added until it has been
    /// explored. In `event`, if given, the thread makes its step.
    fn freeze_with(
        &mut self,
        at: usize,
        node: &mut Node,
        thread: ThreadId,
        event: Option<EventIndex>,
        statistics: &mut Statistics,
    ) {
        statistics.backtracks += 1;
        node.backtrack.insert(thread.0);
        self.frozen[at] = Some(Added {
            thread,
            direct: event.is_none(),
            steps: statistics.steps,
        });
    }
}

impl<S: System> Policy<S> for TransDpor {
    fn conduct(&self) -> Conduct {
        self.options.conduct()
    }

    fn reach(&mut self, stack: &mut Stack, exploration: &mut Exploration<S>) -> bool {
        self.options.sort(stack, exploration);
        *self.sets.frozen.reach(stack.depth()) = None;
        false
    }

    fn open(&mut self, node: &mut Node, _at: usize, _next: Option<ThreadId>) {
        open_awake(node, None);
    }

    fn pick(&mut self, node: &Node, at: usize) -> Option<Transition> {
        let mut threads = node.enabled.iter().map(|&(thread, _)| thread);
        let picked = threads
            .by_ref()
            .filter(|thread| node.backtrack.contains(thread.0))
            .find_map(|thread| node.awake_transitions(thread).next())?;
        if !self.faults.keep_frozen() {
            self.sets.frozen[at] = None;
        }
        Some(picked)
    }

    fn ran(&mut self, _stack: &mut Stack, exploration: &mut Exploration<S>, thread: ThreadId) {
        let races = self.races.add_step(exploration, thread);
        let trace = &exploration.cursor.trace;
        let Operation { footprint, guards, .. } = Operation::just_run(trace, thread, &exploration.faults);
        // What it waits for may have come in another way than where the race is reversed.
        if !self.options.sleep && !guards.is_empty() {
            add_leads(&mut self.leads, self.options.sleep, trace, races, thread, footprint);
        }
    }

    fn committed(&mut self, _stack: &mut Stack, exploration: &mut Exploration<S>) {
        if !exploration.faults.skip_blocked() {
            self.follow_blocked(exploration);
        }
    }

    fn pending(&mut self, stack: &mut Stack, exploration: &mut Exploration<S>, thread: ThreadId, pending: &Pending) {
        races_of_pending(exploration, thread, pending, |trace, race, new, statistics| {
            self.handle(stack, trace, race, new, statistics);
        });
    }

    fn ended(&mut self, stack: &mut Stack, exploration: &mut Exploration<S>) {
        let sleep = self.options.sleep;
        let rank = |event: EventIndex, at: EventIndex, (step, number): (usize, usize)| -> Rank {
            match sleep {
                _ if step <= event => (1, at, 0),
                true => (0, step, number),
                false => (0, usize::MAX - step, usize::MAX - number),
            }
        };
        let mut races = std::mem::take(&mut self.races);
        races.hand_over(exploration, rank, |trace, race, new, statistics| {
            self.handle(stack, trace, race, new, statistics);
        });
        for lead in std::mem::take(&mut self.leads) {
            let Exploration { cursor, statistics, .. } = exploration;
            self.sets.follow(stack, &cursor.trace, lead, statistics);
        }
    }

    fn refusal(&self, system: &S) -> Option<String> {
        let Refusal { independent, shared } = self.refusal?;
        let name = |step: &StepName| {
            let operation = system.describe(step.signature);
            format!("step {} of {} (`{operation}`)", step.index, step.thread)
        };
        let [one, other] = independent.each_ref().map(name);
        Some(format!(
            "`{}` requires a transitive dependency: {one} and {other} are independent, but both race with {}",
            super::Strategy::Trans(self.options),
            name(&shared)
        ))
    }

    fn save(&self, depth: usize) -> Vec<u8> {
        let mut bytes = to_bytes(&self.relation);
        self.sets.frozen.encode(depth, &mut bytes);
        bytes
    }

    fn restore(&mut self, mut saved: &[u8]) -> Option<()> {
        self.relation = Codec::decode(&mut saved)?;
        self.sets.frozen = PerNode::from(Vec::decode(&mut saved)?);
        saved.is_empty().then_some(())
    }
}

/// Says whether the transition that the thread takes in the event is asleep; without an event, whether all of its
/// transitions are.
fn is_asleep(node: &Node, trace: &Trace, thread: ThreadId, event: Option<EventIndex>) -> bool {
    match event {
        Some(event) => node.is_asleep(trace.events()[event].transition()),
        None => node.awake_transitions(thread).next().is_none(),
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
