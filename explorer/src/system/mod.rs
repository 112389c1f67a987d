//! The contract: the program under exploration, as the explorer sees it.
//!
//! [`System`] is all that the explorer knows of a program: it runs step by step, and again from the start. What a step
//! did is data ([`Step`]): the locations that it touched ([`Footprint`]), when it could run ([`Guard`]), the threads
//! that it created. The explorer knows no coroutine, no memory and no `std::sync`; this module imports nothing of the
//! search.
//!
//! Invariant: the same transitions from the initial state give the same steps, in every execution and every process.
//!
//! Invariant: whatever enables or disables the operation of another thread is in the footprint of a step.

mod footprint;
mod graph;
mod guard;
mod layer;
mod thread;

use crate::bits::BitSet;
use crate::codec::Codec;
pub use crate::vocabulary::Transition;
pub use footprint::{Access, AccessKind, Awaits, Footprint, Location};
pub use graph::{GraphEvent, Label};
pub use guard::{Condition, Effect, Guard, Variable};
pub use layer::Layer;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::fmt;
pub use thread::{Status, ThreadId};

impl Transition {
    /// The enabled transitions of threads with these statuses, in order of threads.
    pub fn enabled(statuses: &[Status]) -> impl Iterator<Item = Transition> + '_ {
        (0..).map(ThreadId).zip(statuses).flat_map(|(thread, status)| {
            let alternatives = status.alternatives().into_iter().flat_map(BitSet::iter);
            alternatives.map(move |alternative| Transition { thread, alternative })
        })
    }

    /// Says whether it is enabled where threads have these statuses.
    #[inline]
    pub fn is_enabled(self, statuses: &[Status]) -> bool {
        let status = statuses.get(self.thread.index());
        let alternatives = status.and_then(Status::alternatives);
        alternatives.is_some_and(|alternatives| alternatives.contains(self.alternative))
    }
}

/// What one step did; known only after it ran.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Step {
    /// The locations that it touched. They must include whatever can disable or enable the operation of another thread,
    /// so that the two steps are dependent.
    pub footprint: Footprint,
    /// The guards of the operation's alternatives, of which the step took one. Empty for an operation that never
    /// blocks.
    pub guards: SmallVec<[Guard; 1]>,
    /// The values of the variables in `guards`, in the state before the step.
    pub values: Values,
    /// Its effects on variables that guards depend on.
    pub effects: SmallVec<[Effect; 2]>,
    /// The threads that it created. Their first steps happen after it.
    pub spawned: SmallVec<[ThreadId; 1]>,
    /// What it did to an atomic of which it has chosen what it found.
    pub graph: Option<GraphEvent>,
    /// A digest of the operation (what, where). A re-execution that meets another one has diverged: the program is not
    /// deterministic.
    pub signature: u64,
}

crate::codec!(struct Step { footprint, guards, values, effects, spawned, graph, signature });

impl Step {
    /// How the step has touched the location of one of its accesses. Where steps are dependent by their execution
    /// graph, the footprint does not say so.
    pub fn kind_of(&self, access: &Access) -> AccessKind {
        match self.graph.filter(|graph| graph.location == access.location) {
            Some(graph) if graph.label.writes() => AccessKind::Write,
            Some(_) => AccessKind::Read,
            None => access.kind,
        }
    }

    /// Forgets everything, for reuse.
    pub fn clear(&mut self) {
        self.footprint.clear();
        // Most steps have none of these.
        if !self.guards.is_empty() {
            self.guards.clear();
        }
        self.values.clear();
        self.effects.clear();
        self.spawned.clear();
        self.graph = None;
        self.signature = 0;
    }
}

/// A thread's next operation, seen without running it.
#[derive(Clone, Debug)]
pub struct Pending {
    /// The footprint of the operation if it ran now. It must contain the locations whose change enables the operation.
    pub footprint: Footprint,
    /// The guards of its alternatives; empty if it never blocks.
    pub guards: SmallVec<[Guard; 1]>,
    /// The values of the variables in `guards` now.
    pub values: Values,
    /// What it will do to an atomic of which it chooses what it finds. [`Label::Update`] if that is to be seen.
    pub graph: Option<GraphEvent>,
}

/// Values of variables.
pub type Values = SmallVec<[(Variable, i64); 2]>;

/// Why an execution ended early.
#[derive(Clone, Debug)]
pub enum Stop {
    /// The program failed in this step.
    Failed(Failure),
    /// The system learnt that it needs more scheduling points, and has noted which: everything explored is void, and
    /// exploration starts again.
    Refine,
    /// The step left what the system can model. No verdict of completeness is possible.
    Unsupported(Failure),
}

/// A failure of the explored program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// A short, stable name of the kind of failure, such as `panic` or `deadlock`.
    pub kind: &'static str,
    /// What happened, in a sentence or a few lines.
    pub message: String,
}

impl Codec for Failure {
    fn encode(&self, out: &mut Vec<u8>) {
        Cow::Borrowed(self.kind).encode(out);
        self.message.encode(out);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        let (kind, message): (String, String) = Codec::decode(from)?;
        // It stays for as long as the process: few failures are read.
        let kind = kind.leak();
        Some(Failure { kind, message })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.message)
    }
}

/// A digest of the whole program state. Equal states have equal fingerprints; different states have different ones,
/// except for a collision of 128 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Fingerprint(pub u128);

crate::codec!(struct Fingerprint { 0 });

/// Name of a state that a system has saved. Later ones have larger numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Checkpoint(pub u64);

/// Whether a program can still go on when no thread is enabled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outlook {
    /// It is stuck for ever.
    Stuck,
    /// Only spin detection blocks progress: the program could go on if threads that repeat themselves were not held
    /// back, and another execution covers the rest. No thread waits for more than that one of them goes on with a round
    /// that it has made in this execution, and instead of which others could have moved.
    GoesOn,
    /// The system cannot tell.
    Unclear,
}

/// A program that can be run step by step, and restarted.
///
/// It must be deterministic: the same transitions from the initial state give the same steps.
pub trait System {
    /// Goes to the initial state.
    fn restart(&mut self);

    /// The statuses of all threads in the current state, indexed by [`ThreadId`]. A thread id that is interned but was
    /// not created in this execution is [`Status::Finished`].
    fn threads(&self) -> &[Status];

    /// Runs the thread to its next scheduling point and records in `step` (cleared by the caller) what
    /// it did. The transition is enabled.
    ///
    /// What a step touches may depend on the state, but not so that it hides a conflict: if another step would depend
    /// on this one right after it, it must do so as well if steps come between that are independent of this one
    /// (Abdulla et al. 2017, property 7 of happens-before). A step that touches a second location only if it finds a
    /// certain value at the first may do so if no step that conflicts there can come before it, as with the unlock that
    /// belongs to the step that it follows; otherwise it must have the second location in its footprint in any case.
    ///
    /// # Errors
    /// A [`Stop`] if the execution cannot go on. `step` then holds what was recorded until then.
    fn step(&mut self, transition: Transition, step: &mut Step) -> Result<(), Stop>;

    /// Runs a transition again that an earlier execution took from the same state. The explorer needs no more than the
    /// step's signature, so a system can do less than in [`System::step`]. Returns `None` if the transition is not
    /// enabled.
    ///
    /// # Errors
    /// As [`System::step`].
    fn repeat(&mut self, transition: Transition, scratch: &mut Step) -> Result<Option<u64>, Stop> {
        if !transition.is_enabled(self.threads()) {
            return Ok(None);
        }
        scratch.clear();
        self.step(transition, scratch)?;
        Ok(Some(scratch.signature))
    }

    /// Whether the present execution can be given up where it is: it leaves nothing behind that others would find.
    fn leaves_nothing(&self) -> bool {
        true
    }

    /// Which part of all executions is explored, if the system has left some out by a bound of its own: an adverbial,
    /// such as "with less than three mistakes". If it does not [start again](System::starts_again) when there is
    /// nothing left to explore, the verdict is incomplete.
    fn part(&self) -> Option<String> {
        None
    }

    /// Number of things that the system has learnt and that make nothing void. What it has learnt can change which
    /// threads are enabled after a step, so a step that is run again has to go by what was known when it ran first.
    fn lessons(&self) -> u32 {
        0
    }

    /// Lets only so many of the first lessons count in the steps that follow; all, if there are no more.
    fn recollect(&mut self, lessons: u32) {
        let _ = lessons;
    }

    /// The pending operation of a thread that has not finished.
    fn pending(&self, thread: ThreadId) -> Pending;

    /// The index in the execution of the step that has stored what the enabled transition would read from, if its
    /// thread chooses what it finds in an atomic, as in [`GraphEvent::source`].
    fn source(&self, _transition: Transition) -> Option<u32> {
        None
    }

    /// A number for the place in the program of the thread's pending operation. Equality of these numbers must be the
    /// same in every process that runs the program. An operation with a number is always a scheduling point: it did not
    /// become one because of [`Stop::Refine`]. `None` if that is not known, or if the thread has ended.
    ///
    /// Only the operations that have one can be chosen to part the program ([`Sharded`](crate::Sharded)).
    fn place(&self, _thread: ThreadId) -> Option<u64> {
        None
    }

    /// Whether the thread's pending operation is there to let others run: switching away from it is no preemption.
    fn gives_way(&self, _thread: ThreadId) -> bool {
        false
    }

    /// A number for the time at which the thread was created, or, if the thread stands for a message, its receiver:
    /// larger for what was created later in the same execution. For exploration orders.
    fn created(&self, thread: ThreadId) -> u64 {
        u64::from(thread.0)
    }

    /// Describes the operation with this step signature, for reports of a divergence.
    fn describe(&self, signature: u64) -> String {
        format!("operation {signature:#018x}")
    }

    /// Called when no thread is enabled: judges the execution.
    ///
    /// # Errors
    /// The failure in which it ended, such as a deadlock.
    fn finish(&mut self) -> Result<(), Failure>;

    /// Called last, when an execution has ended in a failure because no thread is enabled: says whether that is only
    /// because threads are held back that would repeat themselves. The state may be lost.
    fn outlook(&mut self) -> Outlook {
        Outlook::Stuck
    }

    /// Says whether executions have shown that what was explored is void: that states were compared that may differ, or
    /// that something was not looked at. Exploration then starts again, and the system has noted what to compare, and
    /// where to look. It may put that off to learn more, but not beyond the end of exploration, or a failure that may
    /// not be what it seems.
    fn starts_again(&mut self, asked: Asked) -> bool {
        let _ = asked;
        false
    }

    /// The fingerprint of the current state; `None` if the system cannot see part of it.
    fn fingerprint(&mut self) -> Option<Fingerprint>;

    /// The part of the state whose fingerprint was taken last that is ordered by [`System::covers`].
    fn knowledge(&self) -> Knowledge<'_> {
        Knowledge::default()
    }

    /// Says whether all steps and failures that can follow a state with the `present` knowledge can follow one with the
    /// `known` knowledge and otherwise the same.
    fn covers(&self, known: &[u64], present: &[u64]) -> bool {
        known == present
    }

    /// The same system, if it can save states: going back to a saved state is cheaper than repeating the steps that
    /// lead there.
    fn rewindable(&mut self) -> Option<&mut dyn Rewindable> {
        None
    }
}

/// When a system is asked whether exploration starts again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asked {
    /// An execution has ended, and others may follow.
    Between,
    /// An execution has ended in a failure, or something else by which exploration ends, and which is told next.
    BeforeFailure,
    /// Random executions have looked ahead for what makes exploration start again.
    Ahead,
    /// There is nothing left to explore.
    AtTheEnd {
        /// Whether all has been explored, and nothing has failed.
        complete: bool,
    },
}

/// What threads know in a state of what others have done: a part of the state that makes no difference to how the
/// program goes on, but to whether it is right.
#[derive(Clone, Copy, Default, Debug)]
pub struct Knowledge<'a> {
    /// What it is, in words of the system. Empty if there is nothing to know.
    pub words: &'a [u64],
    /// The fingerprint of all else is that of the state, in exclusive disjunction with this one.
    pub digest: Fingerprint,
}

/// A [`System`] that can save its state, and restore it.
///
/// Checkpoints are kept in the order in which they were made. They outlive [`System::restart`], since the same steps
/// lead to the same states in every execution.
pub trait Rewindable {
    /// Saves the current state, between two steps. `None` if the system does not save this state.
    fn checkpoint(&mut self) -> Option<Checkpoint>;

    /// Restores a saved state. Everything then goes on as after the steps that led there, in a separate execution.
    /// Returns false, and leaves the system as it is, if the state is no longer kept.
    fn rewind(&mut self, to: Checkpoint) -> bool;

    /// Forgets this checkpoint and all later ones.
    fn forget_from(&mut self, from: Checkpoint);
}
