//! Optimal-DPOR with wakeup trees: Abdulla, Aronis, Jonsson and Sagonas, *Source Sets: A Foundation for Optimal Dynamic
//! Partial Order Reduction* (JACM 2017), Algorithm 2.
//!
//! Source sets say with which threads to go on from a node. An execution that begins so can turn out to be equivalent
//! to one that was explored: then all that is enabled sleeps, and the execution is given up. So a *wakeup tree* says
//! how to go on after that: the whole reversal of the race, `notdep(e, E).p`, is run, unless what is in the tree, or
//! has been explored, covers it. That is so if it could begin with a step that is there or asleep: a *weak initial*,
//! which is one of its own steps that no other one has to come before, or one that is independent of all of them.
//!
//! Deviations:
//!
//! * A tree is the list of the sequences from its root to its leaves, from left to right.
//! * Alternatives of an operation are transitions that depend on each other. Where a thread is chosen freely, all of
//!   its alternatives are explored. Where a sequence asks for one of them, each other one is in a race with it, which
//!   is reversed like any race. The later step of a race may take any of them: a sequence that has this step asks for
//!   each of them, and one alternative alone does not cover it.
//! * A thread that sleeps covers what is independent of it only if that is so of all its alternatives: another one,
//!   which does depend on it, can come after it, and where both are explored freely, no race tells of that.
//! * The algorithm takes it that each step is known, the last one of a reversal too, which has only run after the
//!   race's first step. Here it is taken to touch what it has touched there, and what its operation has declared. If
//!   that is too much, a sequence can leave threads asleep that it was to wake. They are not trusted
//!   ([`Point::mistrusted`]) in what is explored freely from there: they cover only reversals with a step of theirs, as
//!   in `source`, which explores all from there that does not begin with what sleeps. The same holds where a sequence
//!   cannot be followed. That may run an execution that is given up.
//! * Races are looked for when a step runs, and reversed at the end of each execution that has them.
//! * The algorithm knows no operations that several independent steps disable, each of them alone (`crate::execution`).
//!   What is left out of their reversals can be part of what must be explored. So as soon as there is one, the search
//!   begins again, and is that of `source`.
//!
//! Invariant: of a thread that sleeps at a node and is trusted there, the reversals that its own exploration has found
//! are in the trees of the nodes above, and so in those of the nodes that are reached by their sequences.

use super::reversal::{Race, Reverses};
use super::source::{Source, open_awake};
use crate::bits::BitSet;
use crate::codec::{Codec, from_bytes};
use crate::execution::{EventIndex, Removed, Trace, VectorClock};
use crate::search::exploration::Exploration;
use crate::search::faults::Faults;
use crate::search::node::{Node, PerNode, Stack};
use crate::search::policy::{Conduct, Policy};
use crate::statistics::Statistics;
use crate::system::{Footprint, Pending, System, ThreadId, Transition};
use std::ops::Range;
use std::rc::Rc;

pub(super) struct Optimal {
    points: PerNode<Point>,
    way: Way,
    faults: Faults,
}

/// How the search proceeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// With wakeup trees.
    Trees,
    /// Not at all, until it begins again.
    Ending,
    /// Like `source`.
    Source,
}

crate::codec!(enum Way { 0 => Trees, 1 => Ending, 2 => Source });

impl Way {
    /// Ends the search unless a race can be reversed as the algorithm does.
    fn go_on(&mut self, reversible: bool, statistics: &mut Statistics) {
        if !reversible && *self == Way::Trees {
            statistics.fallbacks += 1;
            *self = Way::Ending;
        }
    }
}

impl Optimal {
    pub(super) fn new(faults: Faults) -> Self {
        Optimal {
            points: PerNode::default(),
            way: Way::Trees,
            faults,
        }
    }
}

/// What is kept for a node.
#[derive(Clone, Default, Debug)]
struct Point {
    /// The wakeup tree.
    tree: Vec<Sequence>,
    /// The operations that are pending there, of the threads that are enabled: what they have declared.
    declared: Vec<(ThreadId, Footprint)>,
    /// The races of the step that the present execution makes from there.
    races: Vec<Found>,
    /// The threads of which all alternatives are explored, without a sequence.
    free: BitSet,
    /// Threads that sleep there and do not count where a reversal makes no step of them.
    mistrusted: BitSet,
}

crate::codec!(struct Point { tree, declared, races, free, mistrusted });

/// A race of a step with an event before it.
#[derive(Clone, Debug)]
struct Found {
    event: EventIndex,
    /// Whether its reversals are covered by a step of theirs that has been explored, whatever comes after the race.
    settled: bool,
}

crate::codec!(struct Found { event, settled });

/// A sequence of steps, from the root of a tree to a leaf.
#[derive(Clone, Debug)]
struct Sequence {
    steps: Rc<[Guide]>,
    /// Number of steps that lead to the root.
    from: usize,
}

crate::codec!(struct Sequence { steps, from });

impl Sequence {
    fn steps(&self) -> &[Guide] {
        &self.steps[self.from..]
    }

    fn head(&self) -> &Guide {
        &self.steps[self.from]
    }

    /// What comes after the head.
    fn rest(&self) -> Sequence {
        Sequence {
            steps: Rc::clone(&self.steps),
            from: self.from + 1,
        }
    }
}

/// A step that is to be made.
#[derive(Clone, Debug)]
struct Guide {
    thread: ThreadId,
    /// The alternative that is to be taken; `None` for each of them.
    alternative: Option<u32>,
    footprint: Footprint,
}

crate::codec!(struct Guide { thread, alternative, footprint });

impl Guide {
    fn continues(&self, alternative: u32) -> bool {
        self.alternative.is_none_or(|own| own == alternative)
    }

    fn is(&self, transition: Transition) -> bool {
        self.thread == transition.thread && self.continues(transition.alternative)
    }

    fn is_enabled(&self, node: &Node) -> bool {
        let alternatives = node.alternatives(self.thread);
        alternatives.is_some_and(|all| self.alternative.is_none_or(|own| all.contains(own)))
    }

    /// The transitions that are meant and not asleep.
    fn all_awake(&self, node: &Node) -> impl Iterator<Item = Transition> {
        let awake = node.awake_transitions(self.thread);
        awake.filter(|&transition| self.is(transition))
    }

    /// The first of them.
    fn awake(&self, node: &Node) -> Option<Transition> {
        self.all_awake(node).next()
    }

    /// Says whether all that is meant is enabled and not asleep.
    fn is_fully_awake(&self, node: &Node) -> bool {
        match self.alternative {
            Some(_) => self.awake(node).is_some(),
            None => node.is_fully_awake(self.thread),
        }
    }

    /// Says whether some of what is meant is still to be explored.
    fn is_left(&self, node: &Node) -> bool {
        self.all_awake(node).any(|transition| node.current != Some(transition))
    }
}

impl<S: System> Policy<S> for Optimal {
    fn conduct(&self) -> Conduct {
        Conduct::REVERSALS
    }

    fn reach(&mut self, stack: &mut Stack, exploration: &mut Exploration<S>) -> bool {
        if self.way == Way::Source {
            return false;
        }
        let at = stack.depth();
        let below = at.checked_sub(1).map(|below| (&stack[below], &mut self.points[below]));
        let tree = below.and_then(|(node, point)| Some(point.descend(node, node.current?)));
        let point = self.points.reach(at);
        point.tree = tree.unwrap_or_default();
        point.races.clear();
        point.declared.clear();
        let threads = stack.reached().enabled.iter().map(|&(thread, _)| thread);
        let system = &exploration.cursor.system;
        let declared = threads.map(|thread| (thread, system.pending(thread).footprint));
        point.declared.extend(declared);
        false
    }

    fn open(&mut self, node: &mut Node, at: usize, next: Option<ThreadId>) {
        if self.way == Way::Source {
            open_awake(node, next);
            return;
        }
        let (below, point) = self.points.last_two(at);
        let sleepers = || node.inherited_sleep().map(|entry| entry.transition.thread.0);
        let was_mistrusted = |thread: u32| below.is_some_and(|below| below.mistrusted.contains(thread));
        let is_awake = |sequence: &Sequence| sequence.head().awake(node).is_some();
        let can_be_followed = |sequence: &Sequence| {
            let head = sequence.head();
            head.is_fully_awake(node) || (head.is_enabled(node) && !was_mistrusted(head.thread.0))
        };
        if point.tree.iter().all(can_be_followed) {
            point.tree.retain(is_awake);
        } else {
            point.tree.clear();
        }
        point.free.clear();
        if point.tree.is_empty() {
            let doubted = |_: &u32| !self.faults.trust_sleepers();
            point.mistrusted = sleepers().filter(doubted).collect();
            open_awake(node, next);
            point.free = node.backtrack.clone();
        } else {
            point.mistrusted = sleepers().filter(|&thread| was_mistrusted(thread)).collect();
            node.backtrack = point.tree.iter().map(|sequence| sequence.head().thread.0).collect();
        }
    }

    fn pick(&mut self, node: &Node, at: usize) -> Option<Transition> {
        match self.way {
            Way::Trees => {}
            Way::Ending => return None,
            Way::Source => return node.first_awake(),
        }
        let Point { tree, free, .. } = &self.points[at];
        let mut free = free.iter().map(ThreadId);
        let mut heads = tree.iter().map(Sequence::head);
        free.find_map(|thread| node.first_awake_of(thread))
            .or_else(|| heads.find_map(|head| head.awake(node)))
    }

    fn ran(&mut self, stack: &mut Stack, exploration: &mut Exploration<S>, thread: ThreadId) {
        if self.way == Way::Source {
            Source.reverse_races_of_step(stack, exploration, thread);
            return;
        }
        let found = &mut self.points[exploration.cursor.trace.len()].races;
        found.clear();
        let way = &mut self.way;
        Finding { found, way }.reverse_races_of_step(stack, exploration, thread);
    }

    fn pending(&mut self, stack: &mut Stack, exploration: &mut Exploration<S>, thread: ThreadId, pending: &Pending) {
        if self.way == Way::Source {
            Source.reverse_races_of_pending(stack, exploration, thread, pending);
        } else {
            self.reverse_races_of_pending(stack, exploration, thread, pending);
        }
    }

    /// What a race's reversal is made of can be different in each execution with that race.
    fn ended(&mut self, stack: &mut Stack, exploration: &mut Exploration<S>) {
        if self.way != Way::Trees {
            return;
        }
        let Exploration { cursor, statistics, .. } = exploration;
        let trace = &cursor.trace;
        for (at, step) in trace.events().iter().enumerate() {
            let mut races = std::mem::take(&mut self.points[at].races);
            for Found { event, settled } in races.iter_mut().filter(|race| !race.settled) {
                let thread = step.thread();
                let mut may_touch = step.step().footprint.clone();
                self.points[at].add_declared(thread, &mut may_touch);
                let later = Item::later(thread, None, &may_touch);
                let reversal = Reversal::of(stack, trace, *event, later, at);
                *settled = self.add(stack, *event, reversal, statistics);
            }
            self.points[at].races = races;
            self.add_alternatives(stack, trace, at, statistics);
        }
    }

    fn widen(&mut self) -> bool {
        let ended = self.way == Way::Ending;
        self.way = if ended { Way::Source } else { self.way };
        ended
    }

    fn save(&self, depth: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.way.encode(&mut bytes);
        let kept = if self.way == Way::Source { 0 } else { depth };
        self.points.encode(kept, &mut bytes);
        bytes
    }

    fn restore(&mut self, saved: &[u8]) -> Option<()> {
        let (way, points) = from_bytes::<(Way, Vec<Point>)>(saved)?;
        (self.way, self.points) = (way, PerNode::from(points));
        Some(())
    }
}

/// Notes the races of a step, which are reversed when the execution has ended.
struct Finding<'a> {
    found: &'a mut Vec<Found>,
    way: &'a mut Way,
}

impl Reverses for Finding<'_> {
    fn reverse(&mut self, _stack: &mut Stack, _trace: &Trace, race: Race<'_>, statistics: &mut Statistics) {
        self.found.push(Found {
            event: race.event,
            settled: false,
        });
        self.way.go_on(race.removed.is_empty(), statistics);
    }
}

/// Reverses a race at the end of the execution.
impl Reverses for Optimal {
    fn reverse(&mut self, stack: &mut Stack, trace: &Trace, race: Race<'_>, statistics: &mut Statistics) {
        self.way.go_on(race.removed.is_empty(), statistics);
        let later = Item::later(race.thread, None, race.footprint);
        let reversal = Reversal::of(stack, trace, race.event, later, race.at);
        self.add(stack, race.event, reversal, statistics);
    }
}

/// The reversal of a race: `notdep(e, E).p`.
struct Reversal<'a> {
    trace: &'a Trace,
    steps: Vec<Item<'a>>,
    /// What is ordered before the race's later step in its own thread.
    before: Option<&'a VectorClock>,
    /// The race's first event.
    event: EventIndex,
    /// Index of the race's later step in the execution.
    at: EventIndex,
}

/// A step of a reversal.
#[derive(Clone, Copy)]
struct Item<'a> {
    thread: ThreadId,
    /// `None` for the later step of the race, which comes last.
    event: Option<EventIndex>,
    /// `None` if it may be any, or was the only one.
    alternative: Option<u32>,
    footprint: &'a Footprint,
}

impl<'a> Item<'a> {
    /// The later step of a race.
    fn later(thread: ThreadId, alternative: Option<u32>, footprint: &'a Footprint) -> Self {
        Item {
            thread,
            event: None,
            alternative,
            footprint,
        }
    }
}

impl<'a> Reversal<'a> {
    fn of(stack: &Stack, trace: &'a Trace, event: EventIndex, later: Item<'a>, at: EventIndex) -> Self {
        let events = trace.events();
        let steps = trace.notdep(event).map(|f| {
            let Transition { thread, alternative } = events[f].transition();
            let has_others = stack[f].alternatives(thread).is_some_and(|all| all.len() > 1);
            Item {
                thread,
                event: Some(f),
                alternative: has_others.then_some(alternative),
                footprint: &events[f].step().footprint,
            }
        });
        Reversal {
            trace,
            steps: steps.chain([later]).collect(),
            event,
            before: trace.clock_before(later.thread, at),
            at,
        }
    }

    /// Says whether the first of the two steps, which comes earlier, is ordered before the other one.
    fn precedes(&self, earlier: &Item<'_>, later: &Item<'_>) -> bool {
        let events = self.trace.events();
        let Some(earlier) = earlier.event.map(|event| &events[event]) else {
            return false;
        };
        match later.event {
            Some(event) => events[event].ordered_after(earlier),
            None => {
                let known = |before: &VectorClock| before.get(earlier.thread()) >= earlier.index();
                self.before.is_some_and(known) || earlier.step().footprint.conflicts_with(later.footprint)
            }
        }
    }

    /// Says whether no other step is ordered before this one.
    fn is_initial(&self, at: usize) -> bool {
        let step = &self.steps[at];
        !self.steps[..at].iter().any(|earlier| self.precedes(earlier, step))
    }

    /// The index of the thread's first step.
    fn first_of(&self, thread: ThreadId) -> Option<usize> {
        self.steps.iter().position(|step| step.thread == thread)
    }

    /// The initials of the whole reversal, in the order of the steps.
    fn initials(&self) -> impl Iterator<Item = &Item<'a>> {
        static NONE: Removed = Removed::new_const();
        let Item { thread, footprint, .. } = *self.steps.last().expect("the race's later step is there");
        let initials = self.trace.initials(self.event, &NONE, thread, footprint, self.at);
        initials.filter_map(|(thread, _)| self.steps.get(self.first_of(thread)?))
    }

    /// Says whether the thread makes no step here, and its next one is independent of all that are made.
    fn is_independent_of(&self, thread: ThreadId, footprint: &Footprint) -> bool {
        let depends = |step: &Item<'_>| step.thread == thread || step.footprint.conflicts_with(footprint);
        !self.steps.iter().any(depends)
    }

    /// Says whether the step is a weak initial: one of these that none has to come before, or one that is independent
    /// of all of them.
    fn can_begin_with(&self, guide: &Guide) -> bool {
        match self.first_of(guide.thread) {
            Some(at) => {
                let own = self.steps[at].alternative;
                (guide.alternative.is_none() || guide.alternative == own) && self.is_initial(at)
            }
            None => self.is_independent_of(guide.thread, &guide.footprint),
        }
    }

    /// Takes the thread's first step out, if there is one.
    fn take(&mut self, thread: ThreadId) {
        if let Some(at) = self.first_of(thread) {
            self.steps.remove(at);
        }
    }

    fn guides(&self) -> impl Iterator<Item = Guide> {
        self.steps.iter().map(|step| Guide {
            thread: step.thread,
            alternative: step.alternative,
            footprint: step.footprint.clone(),
        })
    }
}

/// What covers a reversal.
enum Covered {
    /// A step that has been explored, and comes in the reversal before the race's later step: it covers all reversals
    /// of the race in executions that begin in the same way.
    Always,
    /// Something else: what comes after the race counts.
    Here,
    /// Nothing but perhaps the tree; with the thread of the initial with which the reversal can begin, if there is one.
    Not(Option<ThreadId>),
}

impl Point {
    /// Takes the tree below the transition that is explored now: none if a sequence ends with it. One that begins with
    /// each alternative stays for the others.
    fn descend(&mut self, node: &Node, taken: Transition) -> Vec<Sequence> {
        let through = self.tree.iter().filter(|sequence| sequence.head().is(taken));
        let below: Vec<_> = through.map(Sequence::rest).collect();
        let stays = |head: &Guide| !head.is(taken) || head.is_left(node);
        self.tree.retain(|sequence| stays(sequence.head()));
        let ends = below.iter().any(|sequence| sequence.steps().is_empty());
        if ends { Vec::new() } else { below }
    }

    /// Adds what the thread's pending operation has declared.
    fn add_declared(&self, thread: ThreadId, to: &mut Footprint) {
        if let Some((_, declared)) = self.declared.iter().find(|&&(other, _)| other == thread) {
            declared.accesses().iter().for_each(|&access| to.insert(access));
        }
    }

    /// What covers the reversal, of all that is not in the tree.
    fn covered(&self, node: &Node, reversal: &Reversal<'_>) -> Covered {
        let mut first = None;
        for &Item {
            thread,
            event,
            alternative,
            ..
        } in reversal.initials()
        {
            let Some(alternatives) = node.alternatives(thread) else {
                continue;
            };
            let is_asleep = |alternative| node.is_asleep(Transition { thread, alternative });
            // In the reversed order the race's later operation may take any of its alternatives.
            let asleep = match alternative {
                Some(alternative) => is_asleep(alternative),
                None => alternatives.iter().all(is_asleep),
            };
            if asleep {
                return match event {
                    Some(event) if event < reversal.at => Covered::Always,
                    _ => Covered::Here,
                };
            }
            if self.free.contains(thread.0) {
                return Covered::Here;
            }
            first = first.or(Some(thread));
        }
        let mut sleepers = node.sleep().iter().map(|entry| entry.transition.thread);
        if sleepers.any(|thread| self.sleeper_covers(node, reversal, thread)) {
            Covered::Here
        } else {
            Covered::Not(first)
        }
    }

    /// Says whether a thread sleeps and may be trusted to cover the reversal, which has no step of it. All of its
    /// alternatives must sleep and be independent of the reversal: one that is not can come after it.
    fn sleeper_covers(&self, node: &Node, reversal: &Reversal<'_>, thread: ThreadId) -> bool {
        let covers = |alternative| {
            let mut asleep = node.sleep_of(thread);
            let own = asleep.find(|entry| entry.transition.alternative == alternative);
            own.is_some_and(|entry| reversal.is_independent_of(thread, &entry.footprint))
        };
        let all_cover = |alternatives: &BitSet| alternatives.iter().all(covers);
        !self.mistrusted.contains(thread.0) && node.alternatives(thread).is_some_and(all_cover)
    }

    /// Adds the reversal to the tree, unless it is covered there. It can begin with the `first` thread.
    fn insert(&mut self, node: &mut Node, mut reversal: Reversal<'_>, first: ThreadId, statistics: &mut Statistics) {
        let (mut among, mut depth) = (0..self.tree.len(), 0);
        while let Some(through) = self.through(among.clone(), depth, |guide| {
            reversal.can_begin_with(guide) && (depth > 0 || guide.is_left(node))
        }) {
            let thread = self.tree[through.start].steps()[depth].thread;
            reversal.take(thread);
            depth += 1;
            let ends = |sequence: &Sequence| sequence.steps().len() == depth;
            if reversal.steps.is_empty() || self.tree[through.clone()].iter().any(ends) {
                return;
            }
            among = through;
        }
        statistics.backtracks += 1;
        let above = match depth {
            0 => {
                if let Some(at) = reversal.first_of(first) {
                    reversal.steps[..=at].rotate_right(1);
                }
                node.backtrack.insert(first.0);
                &[][..]
            }
            _ => &self.tree[among.start].steps()[..depth],
        };
        let steps = above.iter().cloned().chain(reversal.guides()).collect();
        self.tree.insert(among.end, Sequence { steps, from: 0 });
    }

    /// Of these sequences, which have as many steps in common as `depth` says: the first that go on with one step that
    /// is wanted.
    fn through(&self, among: Range<usize>, depth: usize, wanted: impl Fn(&Guide) -> bool) -> Option<Range<usize>> {
        let is_same = |one: &Sequence, other: &Sequence| {
            let [one, other] = [one, other].map(|sequence| &sequence.steps()[depth]);
            (one.thread, one.alternative) == (other.thread, other.alternative)
        };
        let mut start = among.start;
        for group in self.tree[among].chunk_by(is_same) {
            let end = start + group.len();
            if wanted(&group[0].steps()[depth]) {
                return Some(start..end);
            }
            start = end;
        }
        None
    }
}

impl Optimal {
    /// Adds the other alternatives of the step at `at`: each is in a race with the one that was taken. Where the thread
    /// was chosen freely, all of them are explored.
    fn add_alternatives(&mut self, stack: &mut Stack, trace: &Trace, at: EventIndex, statistics: &mut Statistics) {
        let Transition { thread, alternative } = trace.events()[at].transition();
        let guided = !self.points[at].free.contains(thread.0);
        let alternatives = stack[at].alternatives(thread).filter(|all| guided && all.len() > 1);
        let Some(alternatives) = alternatives.cloned() else {
            return;
        };
        let mut declared = Footprint::new();
        self.points[at].add_declared(thread, &mut declared);
        for other in alternatives.iter().filter(|&other| other != alternative) {
            let later = Item::later(thread, Some(other), &declared);
            let reversal = Reversal::of(stack, trace, at, later, at);
            self.add(stack, at, reversal, statistics);
        }
    }

    /// Adds a reversal to the wakeup tree of the node before the event, unless it is covered. Says whether the
    /// reversals of the race will be in all executions that begin in the same way.
    fn add(
        &mut self,
        stack: &mut Stack,
        event: EventIndex,
        reversal: Reversal<'_>,
        statistics: &mut Statistics,
    ) -> bool {
        let (node, point) = (&mut stack[event], &mut self.points[event]);
        match point.covered(node, &reversal) {
            Covered::Always => return true,
            Covered::Here => {}
            Covered::Not(Some(first)) => point.insert(node, reversal, first, statistics),
            Covered::Not(None) => self.way.go_on(false, statistics),
        }
        false
    }
}
