//! What the policy keeps for each node, and its hooks.

use super::futures::{FutureAccess, FutureId, Futures, Moved};
use super::table::{Known, Likeness, StateTable};
use crate::bits::BitSet;
use crate::codec::{Codec, to_bytes};
use crate::execution::{Follows, Trace, UseOfGraph};
use crate::search::exploration::Exploration;
use crate::search::faults::Faults;
use crate::search::node::{Node, PerNode, Stack};
use crate::search::policy::{Conduct, Policy};
use crate::strategy::source::open_awake;
use crate::strategy::wait::Wait;
use crate::system::{AccessKind, Awaits, Footprint, Label, Pending, Status, System, ThreadId};

/// Where the search is with a node.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Stage {
    /// It has been left, or was never reached.
    #[default]
    Left,
    /// The step that leads to it has run. If the program failed in it, it is not reached.
    Ahead,
    /// It has been reached.
    Reached,
    /// It has the state of another node, and nothing is explored from it.
    Met,
}

crate::codec!(enum Stage { 0 => Left, 1 => Ahead, 2 => Reached, 3 => Met });

/// What the policy keeps for a node.
#[derive(Clone, Default, Debug)]
struct Visit {
    stage: Stage,
    /// The state's key, if it is kept in the table.
    key: Option<u128>,
    /// What it has in common with those that it covers.
    likeness: Option<Likeness>,
    /// What was found to follow.
    future: FutureId,
    /// The blocked threads, with the footprints of their operations.
    blocked: Vec<(ThreadId, Footprint)>,
    /// The lowest node on the present way with a state that can be reached again, as far as is known.
    low: Option<u32>,
    /// Whether something leads out of the cycles that the node is in.
    is_left: bool,
    /// Whether the main thread has left the others behind: they may go on for as long as they like.
    left_behind: bool,
    /// Number of steps before the node since more than one transition was enabled.
    alone: u32,
    /// Number of states in open cycles when the node was reached.
    open: u32,
}

crate::codec!(struct Visit { stage, key, future, blocked, low, is_left, left_behind, alone, open } skip { likeness });

impl Visit {
    /// Notes that the state of the `to`-th node can be reached again.
    fn leads_back(&mut self, to: u32) {
        self.low = Some(self.low.map_or(to, |low| low.min(to)));
    }
}

pub(in crate::strategy) struct States {
    visits: PerNode<Visit>,
    table: StateTable,
    futures: Futures,
    /// The creator of each thread; `None` for one that exists from the start, or is not known.
    creators: Vec<Option<ThreadId>>,
    /// Whether there are states that the program never leaves again.
    is_endless: bool,
    /// Whether states are told apart by how many steps each thread has made, so that there are no cycles.
    unrolled: bool,
    resumable: bool,
    faults: Faults,
}

/// Number of steps without branches after which states are looked up all the same.
const LONG: u32 = 200;

/// Races are not looked for: what must be explored follows from what can happen after each step.
const CONDUCT: Conduct = Conduct {
    wants_pending: true,
    saves_ahead: true,
    // With what can follow, which may be much.
    leaves_slowly: true,
    follows: Follows {
        graph: UseOfGraph::Beside,
        ..Follows::NOTHING
    },
    ..Conduct::EVERYTHING
};

impl States {
    pub(in crate::strategy) fn new(resumable: bool, faults: Faults) -> Self {
        States {
            visits: PerNode::default(),
            table: StateTable::new(resumable),
            futures: Futures::new(faults),
            creators: Vec::new(),
            is_endless: false,
            unrolled: false,
            resumable,
            faults,
        }
    }

    fn creator(&self, thread: ThreadId) -> Option<ThreadId> {
        self.creators.get(thread.index()).copied().flatten()
    }

    /// Looks the reached state up. Says whether nothing has to be explored from it.
    fn is_known<S: System>(&mut self, stack: &mut Stack, exploration: &mut Exploration<S>) -> bool {
        let at = stack.depth();
        // Along a way without branches, its first states will do, where two orders of the last steps before it can
        // meet, unless a thread goes round for ever.
        let alone = match stack.reached().transitions() {
            0 | 1 => at.checked_sub(1).map_or(1, |before| self.visits[before].alone) + 1,
            _ => 0,
        };
        self.visits[at].alone = alone;
        if (3..LONG).contains(&alone) {
            return false;
        }
        let Exploration { cursor, statistics, .. } = exploration;
        let Some(fingerprint) = cursor.fingerprint() else {
            return false;
        };
        let knowledge = cursor.system.knowledge();
        let key_of = |fingerprint: u128| match self.unrolled {
            false => fingerprint,
            true => fingerprint.rotate_left(64) ^ cursor.trace.progress(),
        };
        let (key, rest) = (key_of(fingerprint.0), key_of(fingerprint.0 ^ knowledge.digest.0));
        statistics.compared += 1;
        let on_the_way = |node: u32| (node as usize) < at && self.visits[node as usize].key == Some(key);
        // A thread that goes round may be held back after one more round, if it has come to where it is, before, when
        // the system knew less than now.
        let may_be_held = |node: u32| {
            let lessons = cursor.system.lessons();
            let mut round = node as usize..at;
            round.any(|event| cursor.trace.lessons_before(event, node as usize) < lessons)
        };
        match self.table.get(key) {
            Some(Known::Explored(future)) if self.futures.check(future).is_some() => {
                self.visits[at].future = future;
            }
            Some(Known::OnTheWay(node)) if on_the_way(node) && !may_be_held(node) => {
                self.close_cycle(stack, at, node);
            }
            Some(Known::InCycle(open)) => {
                // It was left below the last node that was there before it. That one is in its cycle, as both lead to
                // the first one of the cycle, which is still on the way.
                let from = (0..at).rev().find(|&node| self.visits[node].open <= open);
                self.close_cycle(stack, at, from.unwrap_or(0) as u32);
            }
            _ => {
                let faulty = self.faults.cover_all();
                let covers = |known: &[u64], present: &[u64]| faulty || cursor.system.covers(known, present);
                let covering = self.table.covering(rest, knowledge.words, covers);
                let Some(future) = covering else {
                    self.table.enter(key, at);
                    let visit = &mut self.visits[at];
                    visit.key = Some(key);
                    visit.likeness = self.table.likeness(rest, knowledge);
                    return false;
                };
                self.visits[at].future = future;
            }
        }
        statistics.equal += 1;
        self.visits[at].stage = Stage::Met;
        true
    }

    /// The state of the `to`-th node can be reached from the one at `at`, which has been met again: what follows is not
    /// known yet, so everything is explored from the nodes between.
    fn close_cycle(&mut self, stack: &mut Stack, at: usize, to: u32) {
        if self.faults.forget_cycles() {
            return;
        }
        for node in to as usize..at {
            stack[node].backtrack = stack[node].all_enabled();
        }
        self.visits[at].leads_back(to);
    }

    /// Adds to the backtrack set of the node before the newest event what can come into conflict with that event's step
    /// if it comes first. `future` is what follows the step.
    fn want_what_races(&self, stack: &mut Stack, trace: &Trace, step: &Moved, future: FutureId) -> u64 {
        let at = trace.len() - 1;
        let node = &mut stack[at];
        let mut wanted = BitSet::new();
        for access in self.futures.races(future, step, &node.backtrack) {
            let comes_later =
                node.backtrack.contains(access.thread.0) || self.waits(access, trace, (step, future), &node.backtrack);
            if !comes_later {
                self.want(node, trace, access.thread, (step, future), &mut wanted);
            }
        }
        let new = wanted.difference(&node.backtrack).count();
        node.backtrack.extend_from(&wanted);
        new as u64
    }

    /// Says whether an access that conflicts with the newest event's step cannot come before it, unless one of some
    /// threads moves, because its operation waits for something that the step does, or that nobody else does.
    fn waits(
        &self,
        access: &FutureAccess,
        trace: &Trace,
        (step, future): (&Moved, FutureId),
        without: &BitSet,
    ) -> bool {
        let at = trace.len() - 1;
        let location = access.location;
        let mut own = trace.events()[at].step().footprint.accesses().iter();
        let writes = own.any(|own| own.location == location && own.kind == AccessKind::Write);
        let is_first_write = || {
            let mut earlier = trace.conflicts(location, AccessKind::Read);
            writes && earlier.all(|write| write.event >= at)
        };
        match access.awaits {
            Awaits::AllWrites | Awaits::LastWrite => return true,
            Awaits::FirstWrite if is_first_write() => return true,
            Awaits::FirstWrite | Awaits::Nothing => {}
        }
        let Wait::For { condition, .. } = access.wait else {
            return false;
        };
        trace.holds_before(condition, at) == Some(false) && !self.futures.can_change(future, location, step, without)
    }

    /// Adds to `wanted` the threads that can move at the node and without which `thread` makes no further step before
    /// the newest event's, unless one in the backtrack set moves.
    fn want(
        &self,
        node: &Node,
        trace: &Trace,
        thread: ThreadId,
        (step, future): (&Moved, FutureId),
        wanted: &mut BitSet,
    ) {
        let at = trace.len() - 1;
        let mut seen = BitSet::of(thread.0);
        let mut todo = vec![thread];
        while let Some(thread) = todo.pop() {
            if node.backtrack.contains(thread.0) {
                continue;
            }
            if node.alternatives(thread).is_some() {
                wanted.insert(thread.0);
                continue;
            }
            if let Some(creator) = self.creator(thread)
                && trace.creation(thread).is_none_or(|creation| creation >= at)
            {
                if seen.insert(creator.0) {
                    todo.push(creator);
                }
                continue;
            }
            let mut blocked = self.visits[at].blocked.iter();
            let Some((_, operation)) = blocked.find(|(blocked, _)| *blocked == thread) else {
                continue;
            };
            let movers = self.futures.movers(future, (thread, operation), step, &node.backtrack);
            todo.extend(movers.filter(|mover| seen.insert(mover.0)));
        }
    }

    /// Closes the cycles of a state that is left, or leaves them open.
    fn leave_state<S: System>(&mut self, visit: &mut Visit, at: usize, system: &S) {
        let in_cycle = visit.low.is_some();
        if visit.low.is_some_and(|low| (low as usize) < at) {
            if let Some(key) = visit.key {
                self.table.leave_in_cycle(key);
            }
            return;
        }
        if in_cycle {
            visit.future = self.futures.loosened(visit.future);
            self.is_endless |= !visit.is_left && !visit.left_behind;
        }
        if let Some(key) = visit.key {
            self.table.close(visit.open as usize, visit.future);
            self.table.explored(key, visit.future);
            if let Some(likeness) = visit.likeness {
                let covers = |known: &[u64], present: &[u64]| system.covers(known, present);
                self.table.stands_for_others(likeness, visit.future, covers);
            }
        }
    }
}

impl<S: System> Policy<S> for States {
    fn conduct(&self) -> Conduct {
        CONDUCT
    }

    fn reach(&mut self, stack: &mut Stack, exploration: &mut Exploration<S>) -> bool {
        let at = stack.depth();
        *self.visits.reach(at) = Visit {
            stage: Stage::Reached,
            left_behind: exploration.main_has_ended(),
            open: self.table.open() as u32,
            ..Visit::default()
        };
        let known = self.is_known(stack, exploration);
        if !known {
            let system = &exploration.cursor.system;
            let threads = (0..system.threads().len() as u32).map(ThreadId);
            let blocked = threads.filter(|thread| system.threads()[thread.index()] == Status::Blocked);
            let operations = blocked.map(|thread| (thread, system.pending(thread).footprint));
            self.visits[at].blocked = operations.collect();
        }
        known
    }

    /// A thread that stores to an atomic, whatever it finds there: nothing that others do needs to come before that.
    fn prefers(&self, node: &Node, exploration: &Exploration<S>) -> Option<ThreadId> {
        if node.enabled.len() < 2 {
            return None;
        }
        let stores = |&thread: &ThreadId| {
            let pending = exploration.cursor.system.pending(thread);
            pending.guards.is_empty() && pending.graph.is_some_and(|graph| graph.label == Label::Write)
        };
        node.enabled.iter().map(|&(thread, _)| thread).find(stores)
    }

    fn open(&mut self, node: &mut Node, _at: usize, next: Option<ThreadId>) {
        open_awake(node, next);
    }

    fn committed(&mut self, _stack: &mut Stack, exploration: &mut Exploration<S>) {
        let trace = &exploration.cursor.trace;
        *self.visits.reach(trace.len()) = Visit {
            stage: Stage::Ahead,
            ..Visit::default()
        };
        if let Some(event) = trace.events().last() {
            self.futures.note(event.thread(), event.step());
            for child in &event.step().spawned {
                if self.creators.len() <= child.index() {
                    self.creators.resize(child.index() + 1, None);
                }
                self.creators[child.index()] = Some(event.thread());
            }
        }
    }

    fn pending(&mut self, _stack: &mut Stack, exploration: &mut Exploration<S>, thread: ThreadId, pending: &Pending) {
        let visit = &mut self.visits[exploration.cursor.trace.len()];
        visit.future = self.futures.with(visit.future, thread, pending);
    }

    fn ended(&mut self, stack: &mut Stack, exploration: &mut Exploration<S>) {
        let at = exploration.cursor.trace.len();
        if self.visits[at].stage == Stage::Ahead {
            // The program has failed in the last step, and what else could have followed is not known.
            stack[at - 1].backtrack = stack[at - 1].all_enabled();
            self.leave(stack, exploration, at);
        }
    }

    fn leave(&mut self, stack: &mut Stack, exploration: &mut Exploration<S>, at: usize) {
        let mut visit = std::mem::take(&mut self.visits[at]);
        if visit.stage == Stage::Reached {
            self.leave_state(&mut visit, at, &exploration.cursor.system);
        }
        if at == 0 {
            return;
        }
        let trace = &exploration.cursor.trace;
        let event = &trace.events()[at - 1];
        let step = self.futures.moved(event.thread(), event.step());
        if !self.faults.skip_cut_races() || visit.stage != Stage::Met {
            exploration.statistics.backtracks += self.want_what_races(stack, trace, &step, visit.future);
        }
        let before = self.futures.before(&step, visit.future);
        let parent = &mut self.visits[at - 1];
        parent.future = self.futures.merge(parent.future, before);
        match visit.low.filter(|&low| (low as usize) < at) {
            Some(low) => {
                parent.leads_back(low);
                parent.is_left |= visit.is_left;
            }
            None => parent.is_left = true,
        }
    }

    /// Where the program does not end, it is explored again without cycles: the system then finds out who goes round
    /// for ever, and the failure has a schedule.
    fn widen(&mut self) -> bool {
        if !self.is_endless || self.unrolled {
            return false;
        }
        *self = States {
            is_endless: true,
            unrolled: true,
            ..States::new(self.resumable, self.faults)
        };
        true
    }

    fn left_out(&self) -> Option<String> {
        self.is_endless.then(|| {
            "the program can come to states that it never leaves again, although threads move, and it is unclear who \
             goes round for ever"
                .to_owned()
        })
    }

    fn save(&self, depth: usize) -> Vec<u8> {
        let mut bytes = to_bytes(&self.futures);
        self.creators.encode(&mut bytes);
        self.is_endless.encode(&mut bytes);
        self.unrolled.encode(&mut bytes);
        self.visits.encode(depth, &mut bytes);
        bytes
    }

    fn restore(&mut self, mut saved: &[u8]) -> Option<()> {
        self.futures = Codec::decode(&mut saved)?;
        self.creators = Codec::decode(&mut saved)?;
        self.is_endless = Codec::decode(&mut saved)?;
        self.unrolled = Codec::decode(&mut saved)?;
        let mut visits: Vec<Visit> = Codec::decode(&mut saved)?;
        for (at, visit) in visits.iter_mut().enumerate() {
            // States of cycles that are not closed are not saved.
            visit.open = 0;
            self.futures.check(visit.future)?;
            if let Some(key) = visit.key {
                self.table.enter(key, at);
            }
        }
        self.visits = PerNode::from(visits);
        saved.is_empty().then_some(())
    }

    fn take_keys(&mut self) -> Vec<u128> {
        self.table.take_unsaved()
    }

    fn add_keys(&mut self, keys: &mut dyn Iterator<Item = u128>) {
        self.table.restore(keys);
    }
}
