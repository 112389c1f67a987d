//! The stack of the search, and its nodes.
//!
//! A node is a state of the current execution, with what can and what must be explored from it. (*State* is what the
//! program is in; several nodes can have the same one.)
//!
//! Invariant: the nodes of the stack are those of the trace's events, one for each, before its step. The node that the
//! search has reached is above them, until a transition is chosen from it.
//!
//! Deliberately absent is whatever only some policies need of a node: they keep it themselves, in a [`PerNode`].

use crate::bits::BitSet;
use crate::codec::Codec;
use crate::execution::Event;
use crate::system::{Footprint, ThreadId, Transition};
use smallvec::SmallVec;
use std::ops::{Index, IndexMut};

/// A transition that need not be explored from a state, with the footprint that it had when it was explored.
#[derive(Clone, Debug)]
pub(crate) struct Sleeping {
    pub transition: Transition,
    pub footprint: Footprint,
    /// Whether it sleeps as the last step of a sequence that leads to an explored state.
    pub by_context: bool,
    /// If it chooses what it finds in an atomic, by its execution graph: then all sleeps that its thread can read from
    /// stores of the first so many events. All of them have been explored.
    pub known: Option<u32>,
}

crate::codec!(struct Sleeping { transition, footprint, by_context, known });

impl Sleeping {
    /// `known` of a transition which reads nothing: its thread sleeps whatever it chooses.
    pub const ALL_KNOWN: u32 = u32::MAX;

    /// Whether what the thread can read from the store of this event sleeps; `None` stands for a store before all
    /// events.
    pub fn knows(&self, source: Option<u32>) -> bool {
        self.known
            .is_some_and(|known| source.is_none_or(|source| source < known))
    }
}

/// A state of the current execution, with what can and what must be explored from it.
#[derive(Clone, Default, Debug)]
pub(crate) struct Node {
    pub enabled: SmallVec<[(ThreadId, BitSet); 4]>,
    pub backtrack: BitSet,
    /// Transitions explored from here, and those inherited from the node before.
    sleep: Vec<Sleeping>,
    /// The threads of the transitions in `sleep`.
    sleepers: BitSet,
    /// Number of inherited entries in `sleep`.
    pub inherited: usize,
    /// The transition that the current execution takes from here.
    pub current: Option<Transition>,
}

crate::codec!(struct Node { enabled, backtrack, sleep, sleepers, inherited, current });

impl Node {
    /// Forgets everything except the storage.
    fn clear(&mut self) {
        self.enabled.clear();
        self.backtrack.clear();
        self.sleep.clear();
        self.sleepers.clear();
        self.inherited = 0;
        self.current = None;
    }

    pub fn alternatives(&self, thread: ThreadId) -> Option<&BitSet> {
        self.enabled
            .iter()
            .find(|(t, _)| *t == thread)
            .map(|(_, alternatives)| alternatives)
    }

    /// Number of enabled transitions.
    pub fn transitions(&self) -> usize {
        self.enabled.iter().map(|(_, alternatives)| alternatives.len()).sum()
    }

    /// All that sleeps here.
    pub fn sleep(&self) -> &[Sleeping] {
        &self.sleep
    }

    /// What sleeps here of the thread.
    pub fn sleep_of(&self, thread: ThreadId) -> impl Iterator<Item = &Sleeping> + Clone {
        self.sleep.iter().filter(move |entry| entry.transition.thread == thread)
    }

    /// Puts a transition to sleep.
    pub fn put_to_sleep(&mut self, entry: Sleeping) {
        self.sleepers.insert(entry.transition.thread.0);
        self.sleep.push(entry);
    }

    /// The entries that sleep here because of an earlier node.
    pub fn inherited_sleep(&self) -> impl Iterator<Item = &Sleeping> {
        self.sleep[..self.inherited].iter()
    }

    /// Says whether the thread is enabled and none of its alternatives is asleep.
    pub fn is_fully_awake(&self, thread: ThreadId) -> bool {
        let asleep = self.sleepers.contains(thread.0);
        self.alternatives(thread)
            .is_some_and(|all| !asleep || all.len() == self.awake_transitions(thread).count())
    }

    /// The first enabled thread none of whose alternatives is asleep.
    pub fn first_fully_awake(&self) -> Option<ThreadId> {
        let mut threads = self.enabled.iter().map(|&(thread, _)| thread);
        threads.find(|&thread| !self.sleepers.contains(thread.0) || self.is_fully_awake(thread))
    }

    /// The first thread that is awake for some of what it can find in an atomic, by its execution graph, and asleep for
    /// the rest.
    pub fn first_partly_awake_reader(&self) -> Option<ThreadId> {
        let is_reader = |thread: ThreadId| {
            self.sleep_of(thread).all(|entry| entry.known.is_some()) && self.first_awake_of(thread).is_some()
        };
        let mut threads = self.enabled.iter().map(|&(thread, _)| thread);
        threads.find(|&thread| is_reader(thread))
    }

    pub fn is_asleep(&self, transition: Transition) -> bool {
        self.sleepers.contains(transition.thread.0) && self.sleep.iter().any(|entry| entry.transition == transition)
    }

    /// Whether the event, which is enabled here, is asleep. Its alternative may have another number here.
    pub fn is_event_asleep(&self, event: &Event) -> bool {
        let Transition { thread, .. } = event.transition();
        let Some(graph) = event.step().graph else {
            return self.is_asleep(event.transition());
        };
        self.sleep_of(thread).any(|entry| entry.knows(graph.source))
    }

    /// The enabled transitions of the thread that are not asleep.
    pub fn awake_transitions(&self, thread: ThreadId) -> impl Iterator<Item = Transition> + '_ {
        self.alternatives(thread)
            .into_iter()
            .flat_map(BitSet::iter)
            .map(move |alternative| Transition { thread, alternative })
            .filter(|&transition| !self.is_asleep(transition))
    }

    /// All threads that are enabled here.
    pub fn all_enabled(&self) -> BitSet {
        self.enabled.iter().map(|(thread, _)| thread.0).collect()
    }

    /// The first of the thread's transitions that is not asleep.
    pub fn first_awake_of(&self, thread: ThreadId) -> Option<Transition> {
        // Like `awake_transitions`, which takes longer for the sake of all of them.
        let alternatives = self.alternatives(thread)?.iter();
        let mut transitions = alternatives.map(|alternative| Transition { thread, alternative });
        transitions.find(|&transition| !self.is_asleep(transition))
    }

    /// The first transition that is neither asleep nor explored of the thread that was explored last from here, if it
    /// is one of those of which all must be explored before another thread is: what sleeps says that they were.
    pub fn next_choice(&self) -> Option<Transition> {
        let last = self.sleep[self.inherited..].last()?;
        last.known?;
        self.first_awake_of(last.transition.thread)
    }

    /// The first transition of the backtrack set that is neither asleep nor explored, in the order of threads.
    pub fn first_awake(&self) -> Option<Transition> {
        let mut threads = self.backtrack.iter().map(ThreadId);
        threads.find_map(|thread| self.first_awake_of(thread))
    }
}

/// The nodes of the current execution.
#[derive(Default, Debug)]
pub(crate) struct Stack {
    /// The nodes, the one that was reached last, and others that are kept for their storage.
    nodes: Vec<Node>,
    depth: usize,
}

impl Stack {
    /// Number of nodes from which a transition has been chosen.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The nodes from which a transition has been chosen.
    pub fn chosen(&self) -> &[Node] {
        &self.nodes[..self.depth]
    }

    /// Clears the node that the search has just reached.
    pub fn reach(&mut self) -> &mut Node {
        if self.nodes.len() == self.depth {
            self.nodes.push(Node::default());
        }
        let node = &mut self.nodes[self.depth];
        node.clear();
        node
    }

    /// The node that the search has reached, from which no transition has been chosen yet.
    pub fn reached(&mut self) -> &mut Node {
        &mut self.nodes[self.depth]
    }

    /// The node below the reached one, if any, and the reached one.
    pub fn last_two(&mut self) -> (Option<&Node>, &mut Node) {
        let (below, above) = self.nodes.split_at_mut(self.depth);
        (below.last(), &mut above[0])
    }

    /// Goes on from the reached node by a transition that was chosen.
    pub fn descend(&mut self, chosen: Transition) {
        self.nodes[self.depth].current = Some(chosen);
        self.depth += 1;
    }

    /// Drops all nodes but the first `depth`.
    pub fn truncate(&mut self, depth: usize) {
        self.depth = self.depth.min(depth);
    }

    /// Restores saved nodes.
    pub fn restore(&mut self, nodes: Vec<Node>) {
        self.depth = nodes.len();
        self.nodes = nodes;
    }
}

impl Index<usize> for Stack {
    type Output = Node;

    #[inline]
    fn index(&self, at: usize) -> &Node {
        &self.nodes[at]
    }
}

impl IndexMut<usize> for Stack {
    #[inline]
    fn index_mut(&mut self, at: usize) -> &mut Node {
        &mut self.nodes[at]
    }
}

/// What a policy keeps for each node of the stack.
#[derive(Default, Debug)]
pub(crate) struct PerNode<T>(Vec<T>);

impl<T: Default + Codec> PerNode<T> {
    /// The entry of a node that has just been reached, which may still hold that of an earlier one.
    pub fn reach(&mut self, at: usize) -> &mut T {
        if self.0.len() <= at {
            self.0.resize_with(at + 1, T::default);
        }
        &mut self.0[at]
    }

    /// The entry of the node below the reached one at `at`, if there is one, and that of the reached one.
    pub fn last_two(&mut self, at: usize) -> (Option<&T>, &mut T) {
        let (below, above) = self.0.split_at_mut(at);
        (below.last(), &mut above[0])
    }

    /// Writes the entries of the first `depth` nodes, as a vector.
    pub fn encode(&self, depth: usize, out: &mut Vec<u8>) {
        crate::codec::put_all(self.0[..depth].iter(), out);
    }
}

/// The entries that [`PerNode::encode`] has written.
impl<T> From<Vec<T>> for PerNode<T> {
    fn from(entries: Vec<T>) -> Self {
        PerNode(entries)
    }
}

impl<T> Index<usize> for PerNode<T> {
    type Output = T;

    #[inline]
    fn index(&self, at: usize) -> &T {
        &self.0[at]
    }
}

impl<T> IndexMut<usize> for PerNode<T> {
    #[inline]
    fn index_mut(&mut self, at: usize) -> &mut T {
        &mut self.0[at]
    }
}
