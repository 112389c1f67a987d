//! What the context-sensitive policy keeps, and its hooks.
//!
//! Lines 3 to 10 of Algorithm 1 are those of Source-DPOR. With *guiding* (§5.3, optimisation 2), each choice is for the
//! thread with which the shortest sleeping sequence begins, so that the sequence is followed while nothing has woken
//! it.

use super::super::reversal::{Race, Reverses};
use super::super::source::{missing_initial, open_awake};
use super::super::{Check, Context};
use super::sequence::{After, Sequence};
use super::summary::AccessSummary;
use crate::bits::BitSet;
use crate::codec::{Codec, to_bytes};
use crate::execution::{Follows, Races, Trace};
use crate::keys::KeySet;
use crate::search::exploration::{Exploration, Halt};
use crate::search::node::{Node, PerNode, Stack};
use crate::search::outcome::{End, Observer};
use crate::search::policy::{Conduct, Policy};
use crate::statistics::Statistics;
use crate::system::{Fingerprint, Pending, System, ThreadId, Transition};
use smallvec::SmallVec;
use std::mem::take;

/// Maximum number of stored states, of 32 bytes each. States beyond it are explored again.
const MOST_STORED: usize = 1 << 25;

/// For how long no two states have been equal.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Rarity {
    different: u64,
}

crate::codec!(struct Rarity { different });

impl Rarity {
    /// Number of states without an equal one after which only half of them are looked at; after twice as many, a
    /// quarter.
    const PATIENCE: u64 = 256;
    /// At least one state in 2 to this power is looked at.
    const MOST: u32 = 6;

    fn add(&mut self, equal: bool) {
        self.different = if equal { 0 } else { self.different + 1 };
    }

    /// Number of trailing zero bits that the progress of a state must have for the state to be looked at.
    fn trailing_zeros_looked_at(self) -> u32 {
        let doublings = (self.different / Self::PATIENCE)
            .checked_ilog2()
            .map_or(0, |log| log + 1);
        doublings.min(Self::MOST)
    }
}

/// What the policy keeps for a node.
#[derive(Clone, Default, Debug)]
pub(super) struct Known {
    /// Sequences of at least two transitions that need not be explored from here (at least one if they are stored with
    /// the state to which they lead).
    pub sequences: Vec<Sequence>,
    /// The key under which the state is stored once everything that follows it is explored.
    key: Option<u128>,
}

crate::codec!(struct Known { sequences, key });

pub(in crate::strategy) struct ContextSensitive {
    pub(super) context: Context,
    pub(super) known: PerNode<Known>,
    pub(super) summary: AccessSummary,
    rarity: Rarity,
    /// The states of completely explored nodes.
    stored: KeySet<u128>,
    /// Those of them that are not yet in a snapshot, if there are snapshots.
    unsaved: Option<Vec<u128>>,
    /// The races of the newest step with earlier ones.
    pub(super) races: Races,
}

impl ContextSensitive {
    pub(in crate::strategy) fn new(context: Context, resumable: bool) -> Self {
        ContextSensitive {
            context,
            known: PerNode::default(),
            summary: AccessSummary::default(),
            rarity: Rarity::default(),
            stored: KeySet::default(),
            unsaved: resumable.then(Vec::new),
            races: Races::new(),
        }
    }

    /// The awake transition with which the shortest sleeping sequence begins.
    fn guide(&self, node: &Node, at: usize) -> Option<Transition> {
        if !self.context.guide {
            return None;
        }
        let enabled = |transition: &Transition| {
            let alternatives = node.alternatives(transition.thread);
            alternatives.is_some_and(|alternatives| alternatives.contains(transition.alternative))
        };
        let sequences = self.known[at]
            .sequences
            .iter()
            .map(|sequence| (sequence.len(), sequence.first()));
        let possible = sequences.filter(|(_, first)| enabled(first) && !node.is_asleep(*first));
        possible.min_by_key(|&(length, _)| length).map(|(_, first)| first)
    }

    /// Says whether the execution can stop because the reached state is stored as explored; otherwise notes
    /// the key to store it under.
    ///
    /// Where no two states have been equal for long, only some are looked at, to save the fingerprints: which ones, how
    /// many steps each thread has made decides, and that is the same for equal states. Two executions whose states have
    /// become equal stay so, step by step, and meet at the next one.
    fn is_explored<S: System>(&mut self, stack: &mut Stack, exploration: &mut Exploration<S>) -> bool {
        if self.context.check != Check::Stored {
            return false;
        }
        let Exploration { cursor, statistics, .. } = exploration;
        let progress = cursor.trace.progress();
        if progress.trailing_zeros() < self.rarity.trailing_zeros_looked_at() {
            return false;
        }
        let Some(fingerprint) = cursor.fingerprint() else {
            return false;
        };
        // With how many steps each thread has made, so that what was learnt by numbers of steps holds for both of two
        // equal states.
        let key = fingerprint.0.rotate_left(64) ^ progress;
        let explored = self.stored.contains(&key);
        statistics.compared += 1;
        statistics.equal += u64::from(explored);
        self.known[stack.depth()].key = (!explored).then_some(key);
        // Two executions that differ can end alike, because what they differed in is forgotten in the end: both are
        // complete. That they end alike because steps commute shows in a race of the last step.
        let redundant = explored && (!self.races.is_empty() || !stack.reached().enabled.is_empty());
        self.rarity.add(redundant);
        redundant
    }

    /// Stores the state of a node that is explored completely, or of an end from which the program goes on.
    fn store(&mut self, at: usize) {
        if let Some(key) = self.known[at].key
            && self.stored.len() < MOST_STORED
        {
            self.stored.insert(key);
            if let Some(unsaved) = &mut self.unsaved {
                unsaved.push(key);
            }
        }
    }

    /// Inherits the sequences that slept in the previous node. Says whether one that was stored with its state leads to
    /// the new state.
    fn inherit_sequences<S: System>(&mut self, stack: &mut Stack, exploration: &mut Exploration<S>) -> bool {
        let (parent, known) = self.known.last_two(stack.depth());
        let (Some(parent), Some(event)) = (parent, exploration.cursor.trace.events().last()) else {
            return false;
        };
        let node = stack.reached();
        let mut led = SmallVec::<[Fingerprint; 2]>::new();
        for sequence in &parent.sequences {
            let after = sequence.after(event.transition(), &event.step().footprint);
            match after {
                After::Awake if exploration.faults.loose_sequences() && sequence.target.is_none() => {
                    known.sequences.push(sequence.clone());
                }
                After::Awake => {}
                After::Asleep => known.sequences.push(sequence.clone()),
                After::Rest(rest) => match (rest.len(), rest.target) {
                    (0, Some(target)) => led.push(target),
                    (1, None) => {
                        let last = rest.remaining().next().expect("one step is left");
                        if !node.is_asleep(last.transition) {
                            node.put_to_sleep(last.clone());
                        }
                    }
                    _ => known.sequences.push(rest),
                },
            }
        }
        if led.is_empty() {
            return false;
        }
        let here = exploration.cursor.system.fingerprint();
        exploration.statistics.compared += 1;
        let equal = here.is_some_and(|here| led.contains(&here));
        exploration.statistics.equal += u64::from(equal);
        equal
    }
}

impl Reverses for ContextSensitive {
    fn reverse(&mut self, stack: &mut Stack, trace: &Trace, race: Race<'_>, statistics: &mut Statistics) {
        let prefer = if self.context.guide {
            // What the reversal begins with, so that its sequence, if it sleeps, can be followed.
            trace
                .notdep(race.event)
                .find(|f| !race.removed.contains(f))
                .map_or(race.thread, |first| trace.events()[first].thread())
        } else {
            race.thread
        };
        missing_initial(stack, trace, race, prefer, statistics);
    }
}

impl<S: System> Policy<S> for ContextSensitive {
    fn conduct(&self) -> Conduct {
        Conduct {
            follows: Follows {
                waits: true,
                ..Follows::NOTHING
            },
            ..Conduct::REVERSALS
        }
    }

    fn reach(&mut self, stack: &mut Stack, exploration: &mut Exploration<S>) -> bool {
        let known = self.known.reach(stack.depth());
        known.sequences.clear();
        known.key = None;
        let explored = self.is_explored(stack, exploration);
        if explored {
            self.reverse_unseen_races(stack, exploration, None);
        }
        explored
    }

    fn inherit(&mut self, stack: &mut Stack, exploration: &mut Exploration<S>) -> bool {
        if self.inherit_sequences(stack, exploration) {
            self.reverse_unseen_races(stack, exploration, None);
            return true;
        }
        let sequences = self.known[stack.depth()].sequences.len();
        let asleep = (stack.reached().sleep().len() + sequences) as u64;
        exploration.statistics.peak_sleeping = exploration.statistics.peak_sleeping.max(asleep);
        false
    }

    fn open(&mut self, node: &mut Node, at: usize, next: Option<ThreadId>) {
        let guided = self.guide(node, at).map(|transition| transition.thread);
        match guided.filter(|&thread| node.is_fully_awake(thread)) {
            Some(thread) => node.backtrack = BitSet::of(thread.0),
            None => open_awake(node, next),
        }
    }

    /// Reverses the unseen races of what the context cuts off from the node. Ends the execution if that is everything.
    fn opened(&mut self, stack: &mut Stack, exploration: &mut Exploration<S>) -> Option<End> {
        let node = stack.reached();
        let new = node.inherited..node.sleep().len();
        node.inherited = node.sleep().len();
        for i in new {
            let last = stack.reached().sleep()[i].clone();
            self.reverse_unseen_races(stack, exploration, Some(&last));
        }
        if self.context.anticipate && self.nothing_wakes(stack, exploration) {
            self.reverse_unseen_races(stack, exploration, None);
            return Some(End::Blocked);
        }
        None
    }

    fn pick(&mut self, node: &Node, at: usize) -> Option<Transition> {
        let guided = self.guide(node, at);
        guided
            .filter(|transition| node.backtrack.contains(transition.thread.0))
            .or_else(|| node.first_awake())
    }

    fn ran(&mut self, stack: &mut Stack, exploration: &mut Exploration<S>, thread: ThreadId) {
        self.races = self.reverse_races_of_step(stack, exploration, thread);
    }

    fn committed(&mut self, _stack: &mut Stack, exploration: &mut Exploration<S>) {
        let trace = &exploration.cursor.trace;
        if let Some(event) = trace.events().last() {
            let after = trace.waited(event.thread());
            self.summary
                .add_step(event.thread(), event.index(), event.step(), after);
        }
    }

    fn settle(
        &mut self,
        stack: &mut Stack,
        exploration: &mut Exploration<S>,
        observer: &mut dyn Observer<S>,
    ) -> Result<(), Halt> {
        match self.context.check {
            Check::Stored => Ok(()),
            Check::Eager | Check::Lazy => self.let_reversals_sleep(stack, exploration, observer),
        }
    }

    fn pending(&mut self, stack: &mut Stack, exploration: &mut Exploration<S>, thread: ThreadId, pending: &Pending) {
        let trace = &exploration.cursor.trace;
        let index = trace.steps_before(thread, trace.len()) + 1;
        let after = trace.waited(thread);
        self.summary
            .add(thread, index, &pending.footprint, &pending.guards, after);
        self.reverse_races_of_pending(stack, exploration, thread, pending);
    }

    fn leave(&mut self, _stack: &mut Stack, _exploration: &mut Exploration<S>, at: usize) {
        self.store(at);
    }

    fn save(&self, depth: usize) -> Vec<u8> {
        let mut bytes = to_bytes(&self.summary);
        self.rarity.encode(&mut bytes);
        self.known.encode(depth, &mut bytes);
        bytes
    }

    fn restore(&mut self, mut saved: &[u8]) -> Option<()> {
        self.summary = Codec::decode(&mut saved)?;
        self.rarity = Codec::decode(&mut saved)?;
        self.known = PerNode::from(Vec::decode(&mut saved)?);
        saved.is_empty().then_some(())
    }

    fn take_keys(&mut self) -> Vec<u128> {
        self.unsaved.as_mut().map(take).unwrap_or_default()
    }

    fn add_keys(&mut self, keys: &mut dyn Iterator<Item = u128>) {
        self.stored.extend(keys);
    }
}
