//! The states of the current execution.

use crate::context::Sequence;
use crate::footprint::Footprint;
use crate::system::{Fingerprint, Transition};
use crate::thread::{BitSet, ThreadId};
use smallvec::SmallVec;

/// A transition that need not be explored from a state, with the footprint that it had when it was explored.
#[derive(Clone, Debug)]
pub(crate) struct Sleeping {
    pub transition: Transition,
    pub footprint: Footprint,
    /// Whether it sleeps as the last step of a sequence.
    pub by_context: bool,
}

crate::codec!(struct Sleeping { transition, footprint, by_context });

/// The addition that has frozen a backtrack set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Added {
    pub thread: ThreadId,
    /// Whether it is the race's own thread, and not one that has to move before.
    pub direct: bool,
    /// Number of steps run by then, in all executions: the same for everything that is added after one execution.
    pub steps: u64,
}

crate::codec!(struct Added { thread, direct, steps });

/// A state of the current execution, with what can and what must be explored from it.
#[derive(Clone, Default, Debug)]
pub(crate) struct State {
    pub enabled: SmallVec<[(ThreadId, BitSet); 4]>,
    /// Under an order: the time at which each enabled thread was created, or, for a message, its receiver.
    pub created: Vec<u64>,
    pub backtrack: BitSet,
    /// Under `dpor`: the backtrack set in the order of insertion.
    pub queue: Vec<ThreadId>,
    /// Under a bound on preemptions: the thread that moved last, if it can go on and is not about to yield.
    pub holding: Option<ThreadId>,
    /// Under a bound on preemptions: the number of preemptions on the way to this state.
    pub preemptions: u32,
    /// The addition by a race, until another transition is chosen from here.
    pub frozen: Option<Added>,
    /// Transitions explored from here, and those inherited from the state before.
    pub sleep: Vec<Sleeping>,
    /// Number of inherited entries in `sleep`.
    pub inherited: usize,
    /// Sequences of at least two transitions that need not be explored from here (at least one if they are stored with
    /// the state to which they lead).
    pub sequences: Vec<Sequence>,
    /// The fingerprint of the state, where states are stored.
    pub fingerprint: Option<Fingerprint>,
    /// The key under which the state is stored once everything that follows it is explored.
    pub key: Option<u128>,
    /// The transition that the current execution takes from here.
    pub current: Option<Transition>,
}

crate::codec!(struct State {
    enabled, created, backtrack, queue, holding, preemptions, frozen, sleep, inherited, sequences, fingerprint,
    key, current,
});

impl State {
    /// Forgets everything except the storage.
    pub fn clear(&mut self) {
        self.enabled.clear();
        self.created.clear();
        self.backtrack.clear();
        self.queue.clear();
        self.frozen = None;
        self.sleep.clear();
        self.inherited = 0;
        self.sequences.clear();
        (self.fingerprint, self.key, self.current) = (None, None, None);
    }

    pub fn alternatives(&self, thread: ThreadId) -> Option<&BitSet> {
        self.enabled
            .iter()
            .find(|(t, _)| *t == thread)
            .map(|(_, alternatives)| alternatives)
    }

    /// The entries that sleep here because of an earlier state.
    pub fn inherited_sleep(&self) -> impl Iterator<Item = &Sleeping> {
        self.sleep[..self.inherited].iter()
    }

    /// Says whether the thread is enabled and none of its alternatives is asleep.
    pub fn is_fully_awake(&self, thread: ThreadId) -> bool {
        self.alternatives(thread)
            .is_some_and(|all| all.len() == self.awake_transitions(thread).count())
    }

    pub fn is_asleep(&self, transition: Transition) -> bool {
        self.sleep.iter().any(|entry| entry.transition == transition)
    }

    /// The enabled transitions of the thread that are not asleep.
    pub fn awake_transitions(&self, thread: ThreadId) -> impl Iterator<Item = Transition> + '_ {
        self.alternatives(thread)
            .into_iter()
            .flat_map(BitSet::iter)
            .map(move |alternative| Transition { thread, alternative })
            .filter(|&transition| !self.is_asleep(transition))
    }
}
