//! Depth-first search along a stack of nodes.
//!
//! An execution begins with the transitions on the stack. Then a policy chooses among those that are enabled and not
//! asleep, until no thread is enabled, or what follows has been explored. The search goes back to the last node from
//! which something is left to explore.
//!
//! Sleep sets are those of Godefroid, *Partial-Order Methods for the Verification of Concurrent Systems* (LNCS 1032,
//! 1996): a transition that was explored from a node sleeps in the nodes below its siblings, until a dependent step
//! runs.
//!
//! How much of the search tree is explored is estimated as in Knuth, *Estimating the Efficiency of Backtrack Programs*
//! (1975), and Kilby, Slaney, Thiébaux and Walsh, *Estimating Search Tree Size* (2006): the present execution tells how
//! many transitions are to be explored from each node on its way, and how many of them are, and the trees below the
//! transitions from one node are taken to be of one size. Races that are not found yet make the tree larger than that.
//!
//! # Turns
//!
//! Which thread is explored first from a node makes no difference to what is explored in the end. It is mostly the one
//! that moved last. But a thread may go on for ever, until another one moves: it sends until the receiver has gone, or
//! waits with a timeout, again and again, where time has passed each time. Then the first execution would not end. So
//! after 200 steps, a *quantum*, another thread has its turn, and goes on from there. The next turn is longer by a
//! quantum, and so on: whatever a thread does in one go, it can do within one turn.

use super::Search;
use super::exploration::{Exploration, Halt, Ran, turn_beginning};
use super::faults::Faults;
use super::node::{Node, Sleeping, Stack};
use super::outcome::{End, MILLION, Observer};
use super::policy::{Conduct, Policy};
use crate::bits::BitSet;
use crate::codec::{Codec, from_bytes};
use crate::execution::{Event, Follows, Trace};
use crate::keys::KeySet;
use crate::system::{Pending, Status, System, ThreadId, Transition};
use smallvec::SmallVec;
use std::num::NonZeroUsize;

/// Number of steps of one execution between two looks at the clock, and of nodes that are left: one execution can take
/// longer than the time limit.
const CLOCK_INTERVAL: usize = 64;

/// A depth-first search, under a policy.
pub(crate) struct DepthFirst<P> {
    stack: Stack,
    conduct: Conduct,
    policy: P,
}

/// The first byte of what is saved.
const KIND: u8 = 0;

impl<P> DepthFirst<P> {
    pub fn new<S: System>(policy: P) -> Self
    where
        P: Policy<S>,
    {
        DepthFirst {
            stack: Stack::default(),
            conduct: policy.conduct(),
            policy,
        }
    }

    /// Runs new transitions until the execution ends.
    fn extend<S: System>(
        &mut self,
        exploration: &mut Exploration<S>,
        observer: &mut dyn Observer<S>,
    ) -> Result<End, Halt>
    where
        P: Policy<S>,
    {
        loop {
            if exploration.cursor.trace.len() == self.stack.depth()
                && let Some(end) = self.reach(exploration)?
            {
                return Ok(end);
            }
            let at = exploration.cursor.trace.len();
            if at % CLOCK_INTERVAL == CLOCK_INTERVAL - 1 {
                exploration.in_time()?;
            }
            let Some(transition) = self.stack[at].current else {
                unreachable!("a node below the top of the stack has a current transition")
            };
            let result = exploration.run_next(transition);
            if matches!(result, Err(Halt::Refine)) {
                // The step has not ended, and what is on record of it does not count.
                return Err(Halt::Refine);
            }
            self.policy.ran(&mut self.stack, exploration, transition.thread);
            exploration.cursor.trace.commit(transition);
            self.policy.committed(&mut self.stack, exploration);
            match result {
                Ok(Ran::On) => self.policy.settle(&mut self.stack, exploration, observer)?,
                Err(Halt::Incomplete(reason)) => {
                    let end = exploration.cut(reason)?;
                    // What else could have happened before the step, and what else waits, comes to nothing after it.
                    self.stack[at].backtrack = self.stack[at].all_enabled();
                    self.tell_pending(exploration, |status| *status != Status::Finished);
                    return Ok(end);
                }
                Err(halt) => return Err(halt),
                Ok(Ran::Failed(failure)) => {
                    self.tell_pending(exploration, |status| *status != Status::Finished);
                    return Ok(End::Failed(failure));
                }
            }
        }
    }

    /// Sets up the node that the execution has just reached, and goes on from it. Ends the execution if nothing is to
    /// be explored from there.
    fn reach<S: System>(&mut self, exploration: &mut Exploration<S>) -> Result<Option<End>, Halt>
    where
        P: Policy<S>,
    {
        exploration.statistics.states += 1;
        let depth = self.stack.depth();
        if let Some(end) = self.open(exploration) {
            self.policy.leave(&mut self.stack, exploration, depth);
            return Ok(Some(end));
        }
        if depth >= exploration.limits.depth as usize {
            return self.too_long(exploration).map(Some);
        }
        match self.policy.pick(&self.stack[depth], depth) {
            Some(chosen) => {
                if self.conduct.saves_ahead && self.stack[depth].transitions() > 1 {
                    exploration.cursor.save_ahead();
                }
                self.stack.descend(chosen);
                Ok(None)
            }
            None => {
                // What sleeps may still race, by its execution graph, with what it could not read from where it was put
                // to sleep.
                let all = self.conduct.follows.depends_by_graph();
                self.tell_pending(exploration, |status| match status {
                    Status::Blocked => true,
                    Status::Enabled(_) => all,
                    Status::Finished => false,
                });
                self.policy.leave(&mut self.stack, exploration, depth);
                Ok(Some(End::Blocked))
            }
        }
    }

    /// Sets up the node that the execution has just reached. Ends the execution if no thread is enabled, or if what
    /// follows has been explored.
    fn open<S: System>(&mut self, exploration: &mut Exploration<S>) -> Option<End>
    where
        P: Policy<S>,
    {
        let node = self.stack.reach();
        note_enabled(node, exploration);
        let pruned = self.policy.reach(&mut self.stack, exploration);
        if pruned {
            return Some(End::Pruned);
        }
        if self.stack.reached().enabled.is_empty() {
            let verdict = exploration.cursor.system.finish();
            self.tell_pending(exploration, |status| *status == Status::Blocked);
            return Some(exploration.end_with(verdict));
        }
        if self.conduct.sleeps {
            self.inherit_sleep(exploration);
        }
        if self.policy.inherit(&mut self.stack, exploration) {
            return Some(End::Pruned);
        }
        let depth = self.stack.depth();
        let node = self.stack.reached();
        let statistics = &mut exploration.statistics;
        statistics.peak_sleeping = statistics.peak_sleeping.max(node.sleep().len() as u64);
        let previous = exploration.cursor.trace.events().last().map(Event::thread);
        let turn = whose_turn(depth, exploration.quantum, &node.enabled);
        // Once turns change, whose turn it is stays so.
        let is_early = depth < exploration.quantum.get();
        let preferred = || is_early.then(|| self.policy.prefers(node, exploration)).flatten();
        let next = turn.or_else(preferred).or(previous);
        self.policy.open(node, depth, next);
        self.policy.opened(&mut self.stack, exploration)
    }

    /// Lets entries of the previous node sleep on if they are independent of the newest event.
    fn inherit_sleep<S: System>(&mut self, exploration: &mut Exploration<S>)
    where
        P: Policy<S>,
    {
        let (Some(parent), node) = self.stack.last_two() else {
            return;
        };
        let Exploration { cursor, faults, .. } = exploration;
        let Some(event) = cursor.trace.events().last() else {
            return;
        };
        for entry in parent.sleep() {
            let independent = entry.known.is_none() && is_independent(entry, event);
            if independent || faults.keep_sleeping() {
                node.put_to_sleep(entry.clone());
            }
        }
        if parent.sleep().iter().any(|entry| entry.known.is_some()) {
            inherit_choices(parent, node, event, &cursor.system, faults);
        }
        node.inherited = node.sleep().len();
    }

    /// Tells the policy the pending operations of these threads: an operation that is blocked at the end of an
    /// execution never becomes an event.
    fn tell_pending<S: System>(&mut self, exploration: &mut Exploration<S>, which: impl Fn(&Status) -> bool)
    where
        P: Policy<S>,
    {
        if !self.conduct.wants_pending || exploration.faults.skip_blocked() {
            return;
        }
        for i in 0..exploration.cursor.system.threads().len() {
            if which(&exploration.cursor.system.threads()[i]) {
                let thread = ThreadId(i as u32);
                let mut operation = exploration.cursor.system.pending(thread);
                let Pending {
                    footprint,
                    guards,
                    graph,
                    ..
                } = &mut operation;
                exploration.cursor.trace.follows().shape(footprint, guards, graph);
                self.policy.pending(&mut self.stack, exploration, thread, &operation);
            }
        }
    }

    /// Judges an execution that has reached the bound on its length. If its second half was fair (every thread enabled
    /// in it ran in it, twice, and took each of its alternatives), the program is long or does not terminate: other
    /// executions would be as long, so the exploration ends here. Otherwise a fair scheduler might have ended it.
    fn too_long<S: System>(&mut self, exploration: &mut Exploration<S>) -> Result<End, Halt>
    where
        P: Policy<S>,
    {
        if exploration.main_has_ended() || !is_fair(self.stack.chosen(), &exploration.cursor.trace) {
            return Ok(End::Cut);
        }
        exploration.statistics.cut += 1;
        let len = exploration.cursor.trace.len();
        Err(Halt::Incomplete(format!(
            "an execution did not end within {len} steps, although every thread that could run did run: the test is \
             long (--max-depth), or does not end"
        )))
    }
}

/// The thread whose turn it is at the `at`-th node, if turns change there.
fn whose_turn(at: usize, quantum: NonZeroUsize, enabled: &[(ThreadId, BitSet)]) -> Option<ThreadId> {
    let turn = turn_beginning(at, quantum)?;
    let of_enabled = turn % enabled.len().max(1);
    enabled.get(of_enabled).map(|&(thread, _)| thread)
}

/// Says whether the event, the newest one, leaves what sleeps asleep.
fn is_independent(entry: &Sleeping, event: &Event) -> bool {
    entry.transition.thread != event.thread() && !entry.footprint.conflicts_with(&event.step().footprint)
}

/// Lets threads that have chosen what they find in an atomic sleep on, but for what they find of stores that were not
/// there when they were explored. Their alternatives have other numbers then.
fn inherit_choices<S: System>(parent: &Node, node: &mut Node, event: &Event, system: &S, faults: &Faults) {
    let mut asleep: SmallVec<[Sleeping; 8]> = SmallVec::new();
    for (thread, alternatives) in &node.enabled {
        let of_thread = parent.sleep_of(*thread);
        // If some were explored from the parent, all that were awake there were.
        let latest = of_thread.clone().max_by_key(|entry| entry.known);
        let Some(latest) = latest.filter(|latest| latest.known.is_some()) else {
            continue;
        };
        if !of_thread.clone().all(|entry| is_independent(entry, event)) {
            continue;
        }
        // What one of its choices touches, later ones stand for.
        let mut footprint = latest.footprint.clone();
        for access in of_thread.flat_map(|entry| entry.footprint.accesses()) {
            footprint.insert(*access);
        }
        let transitions = alternatives.iter().map(|alternative| Transition {
            thread: *thread,
            alternative,
        });
        let known = transitions.filter(|&transition| {
            let source = system.source(transition);
            latest.knows(source) && !(source.is_some() && faults.forget_stores_known())
        });
        asleep.extend(known.map(|transition| Sleeping {
            transition,
            footprint: footprint.clone(),
            ..*latest
        }));
    }
    for entry in asleep {
        node.put_to_sleep(entry);
    }
}

/// Notes what is enabled in the present state, in the order of threads.
fn note_enabled<S: System>(node: &mut Node, exploration: &Exploration<S>) {
    for (i, status) in exploration.cursor.system.threads().iter().enumerate() {
        if let Some(alternatives) = status.alternatives() {
            node.enabled.push((ThreadId(i as u32), alternatives.clone()));
        }
    }
    if exploration.faults.ignore_alternatives() {
        for (_, alternatives) in &mut node.enabled {
            let first = alternatives.iter().next();
            *alternatives = first.into_iter().collect();
        }
    }
}

/// Says whether in each of the last two quarters of an execution every thread that was enabled ran, and took each of
/// its alternatives.
fn is_fair(nodes: &[Node], trace: &Trace) -> bool {
    let len = trace.len();
    let mut windows = [len / 2..len * 3 / 4, len * 3 / 4..len].into_iter();
    windows.all(|window| {
        let (nodes, events) = (&nodes[window.clone()], &trace.events()[window]);
        let ran: BitSet = events.iter().map(|e| e.thread().0).collect();
        let operation = |event: &Event, alternative: u32| (event.step().signature, alternative);
        let taken: KeySet<_> = events
            .iter()
            .map(|e| operation(e, e.transition().alternative))
            .collect();
        nodes.iter().zip(events).all(|(node, event)| {
            let mut alternatives = node.alternatives(event.thread()).into_iter().flat_map(BitSet::iter);
            node.enabled.iter().all(|(thread, _)| ran.contains(thread.0))
                && alternatives.all(|alternative| taken.contains(&operation(event, alternative)))
        })
    })
}

impl<S: System, P: Policy<S>> Search<S> for DepthFirst<P> {
    fn execute(&mut self, exploration: &mut Exploration<S>, observer: &mut dyn Observer<S>) -> Result<End, Halt> {
        let Exploration { cursor, statistics, .. } = exploration;
        cursor.go_to(cursor.trace.len(), statistics)?;
        let end = self.extend(exploration, observer)?;
        self.policy.ended(&mut self.stack, exploration);
        Ok(end)
    }

    /// Goes back to the deepest node with something left to explore, and chooses it.
    fn advance(&mut self, exploration: &mut Exploration<S>) -> bool {
        if !self.conduct.backtracks {
            exploration.cursor.truncate(0);
            self.stack.truncate(0);
            return true;
        }
        while self.stack.depth() > 0 {
            let at = self.stack.depth() - 1;
            let looks = self.conduct.leaves_slowly && at % CLOCK_INTERVAL == CLOCK_INTERVAL - 1;
            if looks && exploration.in_time().is_err() {
                // The exploration ends before what the node has chosen is run again. If it is resumed, that step leads
                // to what is known.
                exploration.cursor.truncate(at);
                return true;
            }
            let node = &mut self.stack[at];
            exploration.cursor.truncate(at);
            if let Some(transition) = node.current.take() {
                let through = exploration.faults.sleep_through_stores();
                let trace = &mut exploration.cursor.trace;
                let known = trace
                    .dropped_graph()
                    .map(|graph| match graph.label.reads() && !through {
                        true => at as u32,
                        false => Sleeping::ALL_KNOWN,
                    });
                node.put_to_sleep(Sleeping {
                    transition,
                    footprint: trace.take_footprint(),
                    by_context: false,
                    known,
                });
            }
            node.current = self.policy.pick(node, at);
            if node.current.is_some() {
                return true;
            }
            self.policy.leave(&mut self.stack, exploration, at);
            self.stack.truncate(at);
        }
        self.policy.widen()
    }

    fn explored(&self, with_present: bool) -> u32 {
        if !self.conduct.backtracks {
            return 0;
        }
        let (mut explored, mut share) = (0.0, 1.0);
        for node in self.stack.chosen() {
            let done = node.sleep().len() - node.inherited;
            let wanted = node.backtrack.iter();
            let left = wanted.flat_map(|thread| node.awake_transitions(ThreadId(thread)));
            let left = left.filter(|&transition| Some(transition) != node.current).count();
            share /= (done + left + 1) as f64;
            explored += share * done as f64;
        }
        let present = if with_present { share } else { 0.0 };
        ((explored + present) * f64::from(MILLION)) as u32
    }

    fn refusal(&self, system: &S) -> Option<String> {
        self.policy.refusal(system)
    }

    fn bound(&self) -> Option<u32> {
        self.policy.bound()
    }

    fn left_out(&self) -> Option<String> {
        self.policy.left_out()
    }

    fn follows(&self) -> Follows {
        self.conduct.follows
    }

    fn save(&self) -> Option<Vec<u8>> {
        let mut bytes = vec![KIND];
        crate::codec::put_all(self.stack.chosen().iter(), &mut bytes);
        self.policy.save(self.stack.depth()).encode(&mut bytes);
        Some(bytes)
    }

    fn restore(&mut self, saved: &[u8]) -> Option<()> {
        let (nodes, policy): (Vec<Node>, Vec<u8>) = from_bytes(saved.strip_prefix(&[KIND])?)?;
        self.stack.restore(nodes);
        self.policy.restore(&policy)
    }

    fn take_keys(&mut self) -> Vec<u128> {
        self.policy.take_keys()
    }

    fn add_keys(&mut self, keys: &mut dyn Iterator<Item = u128>) {
        self.policy.add_keys(keys);
    }
}
