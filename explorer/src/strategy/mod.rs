//! Strategies: the rules by which the driver chooses what to explore.
//!
//! The driver owns the search (re-execution, the stack of states, limits, statistics); a strategy says
//! which transitions a new state starts with, whether transitions fall asleep, and what a race adds.

mod bounded;
mod context;
mod dpor;
mod exhaustive;
mod order;
mod pct;
mod random;
mod source;
mod trans;

pub use crate::vocabulary::{Check, Context, Dpor, Order, Strategy, UnknownStrategy};

use crate::driver::State;
use crate::footprint::Footprint;
use crate::statistics::Statistics;
use crate::system::Transition;
use crate::thread::{BitSet, ThreadId};
use crate::trace::{EventIndex, Removed, Trace};
use crate::unfolding::Unfolding;

impl Strategy {
    pub(crate) fn rules(self) -> Box<dyn Rules> {
        match self {
            Strategy::Exhaustive => Box::new(exhaustive::Exhaustive),
            Strategy::Source => Box::new(source::Source),
            Strategy::Dpor(options) => Box::new(dpor::FlanaganGodefroid::new(options)),
            Strategy::Trans(options) => Box::new(trans::TransDpor::new(options)),
            Strategy::Context(context) => Box::new(context::ContextSensitive::new(context)),
            // It has a search of its own, which asks for no rules.
            Strategy::Unfolding { .. } => Box::new(exhaustive::Exhaustive),
            Strategy::Pct { depth, seed } => Box::new(pct::Pct::new(depth, seed)),
            Strategy::Random { seed } => Box::new(random::Random::new(seed)),
        }
    }

    /// The rules under a bound on preemptions, if the strategy supports one.
    pub(crate) fn bounded_rules(self, bound: u32, conservative: bool) -> Option<Box<dyn Rules>> {
        let exhaustive = self == Strategy::Exhaustive;
        self.can_be_bounded()
            .then(|| Box::new(bounded::Bounded::new(bound, exhaustive, conservative)) as Box<dyn Rules>)
    }

    /// The state of a search through configurations, for [`Strategy::Unfolding`].
    pub(crate) fn unfolding(self) -> Option<Unfolding> {
        match self {
            Strategy::Unfolding { partial } => Some(Unfolding::new(partial)),
            _ => None,
        }
    }
}

/// An operation that has just run or is pending, and one event with which it is in a reversible race.
pub(crate) struct Race<'a> {
    pub event: EventIndex,
    /// What must be left out of `notdep` of the event.
    pub removed: &'a Removed,
    pub thread: ThreadId,
    pub footprint: &'a Footprint,
    /// The operation's index in the execution; after all events if it has not run or has only just run.
    pub at: EventIndex,
    /// Whether it became pending in the part of the execution that has run since the search went back.
    pub new: bool,
}

/// The first step of a reversed race whose later operation was blocked at some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lead {
    pub event: EventIndex,
    pub thread: ThreadId,
    /// The event of this execution in which the thread makes the step; `None` for the racing operation itself.
    pub first: Option<EventIndex>,
}

/// A step, for reports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepName {
    pub thread: ThreadId,
    /// The step's index among its thread's steps, counted from 1.
    pub index: u32,
    pub signature: u64,
}

crate::codec!(struct StepName { thread, index, signature });

/// Why a strategy gives up: two independent steps that are both in a race with a third.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refusal {
    pub independent: [StepName; 2],
    pub shared: StepName,
}

/// Which races a strategy is told, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RaceReports {
    None,
    /// Each step's races as soon as it has run.
    AtOnce,
    /// The races of all steps when the execution has ended, in the order of [`Rules::rank`], each time with all events
    /// that may be co-enabled with the step, not only with those that no other comes between.
    Deferred,
}

/// How the search proceeds under a strategy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search {
    /// Whether the search goes back to earlier states; otherwise every execution starts afresh.
    pub backtracks: bool,
    /// Whether explored transitions sleep in the states below their siblings.
    pub sleeps: bool,
    pub races: RaceReports,
    /// Whether the search looks at operations after each step by which, or after which, they are blocked, for
    /// [`Rules::lead`].
    pub watches_blocked: bool,
    /// The order of threads in [`State::enabled`]; by their ids if none is given.
    pub order: Option<Order>,
    /// Which states are compared, if any.
    pub context: Option<Context>,
}

impl Search {
    /// Explores everything in the backtrack sets.
    pub const EVERYTHING: Search = Search {
        backtracks: true,
        sleeps: false,
        races: RaceReports::None,
        watches_blocked: false,
        order: None,
        context: None,
    };

    /// Runs executions independently of each other.
    pub const SAMPLES: Search = Search {
        backtracks: false,
        ..Search::EVERYTHING
    };

    /// Reverses races as soon as they are found.
    pub const REVERSALS: Search = Search {
        sleeps: true,
        races: RaceReports::AtOnce,
        ..Search::EVERYTHING
    };
}

/// The rules by which a strategy chooses.
pub(crate) trait Rules {
    /// How the search proceeds; always the same.
    fn search(&self) -> Search;

    /// Fills the backtrack set of a state at its first visit. `previous` is the thread that moved last.
    fn open(&mut self, state: &mut State, previous: Option<ThreadId>);

    /// Picks the next transition from a state, among those that are neither asleep nor explored.
    fn pick(&mut self, state: &State) -> Option<Transition> {
        state
            .backtrack
            .iter()
            .find_map(|t| state.awake_transitions(ThreadId(t)).next())
    }

    /// The rank of a race among those that are [deferred](RaceReports::Deferred): the smallest comes first. The race is
    /// that of an event with the operation at `at`, which became pending when [`Trace::pending_since`] says. By
    /// default, the operation that became pending first comes first.
    fn rank(&self, event: EventIndex, _at: EventIndex, pending_since: (usize, usize)) -> (usize, usize, usize) {
        let (step, number) = pending_since;
        (step, number, event)
    }

    /// Notes in the states of the current execution what must be explored because of a race.
    fn reverse(&mut self, _states: &mut [State], _trace: &Trace, _race: Race<'_>, _statistics: &mut Statistics) {}

    /// Handles a race of a blocked operation when the execution has ended and all other races are known. `state` is the
    /// one before the event.
    fn lead(&mut self, _state: &mut State, _trace: &Trace, _lead: Lead, _statistics: &mut Statistics) {}

    /// Handles each operation that can wait: when it is next in the execution, when it has to wait, and when it is
    /// pending at the end.
    fn may_wait(&mut self, _: &mut [State], _: &Trace, _: ThreadId, _: &Footprint, _: &mut Statistics) {}

    /// Whether the bound has left something out.
    fn left_out(&self) -> bool {
        false
    }

    /// Saves what the rules have learnt, for [`Rules::restore`].
    fn save(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Restores what [`Rules::save`] has saved; `None` if it cannot be read.
    fn restore(&mut self, saved: &[u8]) -> Option<()> {
        saved.is_empty().then_some(())
    }

    /// Why these rules cannot explore the program, if so.
    fn refusal(&self) -> Option<&Refusal> {
        None
    }
}

/// All threads that are enabled in the state.
pub(crate) fn all_enabled(state: &State) -> BitSet {
    state.enabled.iter().map(|(thread, _)| thread.0).collect()
}
