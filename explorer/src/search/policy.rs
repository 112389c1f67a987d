//! The hooks by which a policy decides what the depth-first search explores.
//!
//! A node's life: [`Policy::reach`], [`Policy::inherit`], [`Policy::open`], [`Policy::opened`]; then [`Policy::pick`]
//! for each transition that is explored from it; then [`Policy::leave`]. A step's: [`Policy::ran`],
//! [`Policy::committed`], [`Policy::settle`]. An execution ends with [`Policy::pending`] for its operations that never
//! ran, and [`Policy::ended`].
//!
//! Whatever only one policy needs is its own: for each node in a [`PerNode`](super::node::PerNode), and saved by
//! itself.
//!
//! Invariant: a policy changes no more of the [`Stack`] than backtrack sets, sleep sets, and the order of the threads
//! that are enabled in the reached node.
//!
//! Deliberately absent are races: which of them a policy looks for, and when, is its own business (see
//! `crate::strategy::reversal`).

use super::exploration::{Exploration, Halt};
use super::node::{Node, Stack};
use super::outcome::{End, Observer};
use crate::execution::Follows;
use crate::system::{Pending, System, ThreadId, Transition};

/// How the search proceeds under a policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conduct {
    /// Whether the search goes back to earlier nodes; otherwise every execution starts afresh.
    pub backtracks: bool,
    /// Whether explored transitions sleep in the nodes below their siblings.
    pub sleeps: bool,
    /// Whether the policy is told the operations that are pending at the end of an execution.
    pub wants_pending: bool,
    /// Whether states are saved where an execution comes to them first: where executions are short, because they end in
    /// states that are known, the search goes back a few steps mostly.
    pub saves_ahead: bool,
    /// Whether it can take long to leave a node: the time limit is looked at then, too.
    pub leaves_slowly: bool,
    /// What the trace records besides.
    pub follows: Follows,
}

impl Conduct {
    /// Explores everything in the backtrack sets.
    pub const EVERYTHING: Conduct = Conduct {
        backtracks: true,
        sleeps: false,
        wants_pending: false,
        saves_ahead: false,
        leaves_slowly: false,
        follows: Follows::NOTHING,
    };

    /// Runs executions independently of each other.
    pub const SAMPLES: Conduct = Conduct {
        backtracks: false,
        ..Conduct::EVERYTHING
    };

    /// Reverses races, with sleep sets.
    pub const REVERSALS: Conduct = Conduct {
        sleeps: true,
        wants_pending: true,
        ..Conduct::EVERYTHING
    };
}

/// Decides what a depth-first search explores.
pub(crate) trait Policy<S: System> {
    /// How the search proceeds; always the same.
    fn conduct(&self) -> Conduct;

    /// The search has reached a node, of which only what is enabled is known. Says whether the execution can stop there
    /// because what follows has been explored.
    fn reach(&mut self, _stack: &mut Stack, _exploration: &mut Exploration<S>) -> bool {
        false
    }

    /// The reached node has inherited what sleeps. Says whether the execution can stop there because what follows has
    /// been explored.
    fn inherit(&mut self, _stack: &mut Stack, _exploration: &mut Exploration<S>) -> bool {
        false
    }

    /// The thread with which to go on from the reached node, if that makes a difference.
    fn prefers(&self, _node: &Node, _exploration: &Exploration<S>) -> Option<ThreadId> {
        None
    }

    /// Fills the backtrack set of the reached node, which is the `at`-th. `next` is the thread to go on with, if that
    /// makes no difference: the one that moved last, or another one whose turn it is. It may not be enabled.
    fn open(&mut self, node: &mut Node, at: usize, next: Option<ThreadId>);

    /// The reached node is open. Ends the execution if all that follows has been explored.
    fn opened(&mut self, _stack: &mut Stack, _exploration: &mut Exploration<S>) -> Option<End> {
        None
    }

    /// Picks the next transition from the `at`-th node, among those that are neither asleep nor explored.
    fn pick(&mut self, node: &Node, _at: usize) -> Option<Transition> {
        node.first_awake()
    }

    /// The thread has made a step. It is not yet an event of the trace.
    fn ran(&mut self, _stack: &mut Stack, _exploration: &mut Exploration<S>, _thread: ThreadId) {}

    /// The step has become the newest event of the trace.
    fn committed(&mut self, _stack: &mut Stack, _exploration: &mut Exploration<S>) {}

    /// The execution goes on after the newest event. The system may be moved, and must be brought back.
    fn settle(
        &mut self,
        _stack: &mut Stack,
        _exploration: &mut Exploration<S>,
        _observer: &mut dyn Observer<S>,
    ) -> Result<(), Halt> {
        Ok(())
    }

    /// The execution has ended with this operation of the thread pending.
    fn pending(
        &mut self,
        _stack: &mut Stack,
        _exploration: &mut Exploration<S>,
        _thread: ThreadId,
        _operation: &Pending,
    ) {
    }

    /// The execution has ended, and all its races are known.
    fn ended(&mut self, _stack: &mut Stack, _exploration: &mut Exploration<S>) {}

    /// All that follows from the `at`-th node has been explored. The trace ends with the step that leads there.
    fn leave(&mut self, _stack: &mut Stack, _exploration: &mut Exploration<S>, _at: usize) {}

    /// The search is exhausted. Says whether another one is to follow, of more executions.
    fn widen(&mut self) -> bool {
        false
    }

    /// The present bound on preemptions, if any.
    fn bound(&self) -> Option<u32> {
        None
    }

    /// What the finished search has left out, if anything.
    fn left_out(&self) -> Option<String> {
        None
    }

    /// Why the policy cannot explore the program, if so.
    fn refusal(&self, _system: &S) -> Option<String> {
        None
    }

    /// Saves what the policy has learnt, and what it keeps for the `depth` nodes of the stack.
    fn save(&self, _depth: usize) -> Vec<u8> {
        Vec::new()
    }

    /// Restores what [`Policy::save`] has saved; `None` if it is of another policy.
    fn restore(&mut self, saved: &[u8]) -> Option<()> {
        saved.is_empty().then_some(())
    }

    /// Takes the keys of the states that were explored since the last call, if they are to be saved.
    fn take_keys(&mut self) -> Vec<u128> {
        Vec::new()
    }

    /// Adds keys of states that were explored before.
    fn add_keys(&mut self, _keys: &mut dyn Iterator<Item = u128>) {}
}
