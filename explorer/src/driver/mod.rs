//! The depth-first search that all strategies share.
//!
//! Exploration is stateless (Godefroid 1997): to go back to a state, the program is restarted and the
//! transitions that led there are run again. The search keeps one `State` for each step of the current
//! execution.

mod bound;
mod cursor;
mod ends;
mod races;
mod save;
mod state;

use crate::context::Rarity;
use crate::keys::KeySet;
use crate::learned::Learned;
use crate::statistics::Statistics;
use crate::strategy::{Check, Context, Lead, Rules, Search, Strategy};
use crate::system::{Checkpoint, Failure, Step, Stop, System, Transition};
use crate::thread::{Status, ThreadId};
use crate::trace::{Event, EventIndex, Races, Trace};
use crate::unfolding::Unfolding;
use save::Unsaved;
pub use save::{CannotResume, Snapshot};
pub(crate) use state::{Added, Sleeping, State};
use std::ops::{ControlFlow, Range};
use std::time::{Duration, Instant};

/// Bounds on an exploration. Reaching one makes the verdict [`Verdict::Incomplete`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Maximum number of executions.
    pub executions: Option<u64>,
    /// Maximum number of steps in all executions together.
    pub steps: Option<u64>,
    /// Maximum duration.
    pub time: Option<Duration>,
    /// Maximum number of preemptions in one execution. The search tries 0 first, then 1, and so on, until nothing is
    /// left out. Only some strategies support it ([`Strategy::can_be_bounded`]).
    pub preemptions: Option<u32>,
    /// Maximum number of steps in one execution; a longer one is cut, or ends the exploration if it was fair.
    pub depth: u32,
}

/// Number of executions between two estimates of the explored part.
const ESTIMATE_INTERVAL: u64 = 64;

const MILLION: u32 = 1_000_000;

/// Number of steps of one execution between two looks at the clock: one execution can take longer than the time limit.
const CLOCK_INTERVAL: usize = 64;

impl Default for Limits {
    fn default() -> Self {
        Limits {
            executions: None,
            steps: None,
            time: None,
            preemptions: None,
            depth: 100_000,
        }
    }
}

/// How an execution ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// No thread was enabled, and the program accepts that.
    Complete,
    /// The program failed.
    Failed(Failure),
    /// All enabled transitions were asleep: the rest has been explored.
    Blocked,
    /// Other steps have reached its state before: the rest has been explored.
    Pruned,
    /// It reached the bound on an execution's length, or it is unclear whether it could go on.
    Cut,
}

/// What an exploration says about the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The tree of executions is exhausted, and no execution failed.
    Complete,
    /// An execution failed.
    Failed {
        /// The first failure found.
        failure: Failure,
        /// The transitions that lead to it.
        schedule: Vec<Transition>,
    },
    /// Part of the executions is unexplored.
    Incomplete {
        /// What stopped the exploration.
        reason: String,
    },
}

/// An exploration's result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// What the exploration says about the program.
    pub verdict: Verdict,
    /// The exploration's counters.
    pub statistics: Statistics,
    /// The bound on preemptions under which the exploration ended, if any: all executions with fewer have been
    /// explored, and did not fail.
    pub preemptions: Option<u32>,
}

/// Receives each execution when it has ended.
pub trait Observer<S: System> {
    /// An execution has ended. `system` is still in its last state. Breaking makes the verdict incomplete.
    fn execution(&mut self, system: &mut S, end: &End, trace: &Trace, statistics: &Statistics) -> ControlFlow<()>;

    /// Two orders of the same steps, `first` and `second`, were run and their last states compared ([`Check::Eager`]);
    /// `first` is the current execution. Breaking makes the verdict incomplete.
    fn compared(&mut self, _first: &[Transition], _second: &[Transition], _equal: bool) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// The strategy refuses the program for this reason. The verdict is incomplete, or an earlier failure.
    fn refused(&mut self, _reason: &str) {}

    /// Exploration starts again, with more scheduling points; everything reported before is void.
    fn refined(&mut self) {}

    /// An execution has ended, and another one follows: the exploration can be saved here. Breaking makes the verdict
    /// incomplete for this reason; the explored part can then still be saved.
    fn at_rest(&mut self, _explorer: &mut Explorer<S>) -> ControlFlow<String> {
        ControlFlow::Continue(())
    }
}

impl<S: System> Observer<S> for () {
    fn execution(&mut self, _: &mut S, _: &End, _: &Trace, _: &Statistics) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Seeded faults of the exploration, for tests which show that the oracle catches them.
#[cfg(feature = "faults")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Drops every n-th race.
    DropRace(u64),
    /// Keeps every n-th sleep-set entry although a dependent step ran.
    KeepSleeping(u64),
    /// Forgets the operations of blocked threads.
    SkipBlocked,
    /// Treats an operation that can block like one that cannot: it races with the last dependent event.
    IgnoreGuards,
    /// Explores only the first alternative of each operation.
    IgnoreAlternatives,
    /// Does not look for races of what a context-sensitive search cuts off: Algorithm 1 as published.
    SkipCutRaces,
    /// Keeps a sleeping sequence although a dependent step ran.
    LooseSequences,
    /// Keeps a frozen backtrack set frozen.
    KeepFrozen,
    /// Under a bound on preemptions, adds no backtracking points where threads took control.
    SkipBlockStarts,
}

/// How the search goes on after an execution.
pub(crate) enum Next {
    Explore,
    Restart,
    Done(Verdict),
}

/// Explores the executions of a [`System`].
///
/// How much of the search tree is explored is estimated as in Knuth, *Estimating the Efficiency of Backtrack Programs*
/// (1975), and Kilby, Slaney, Thiébaux and Walsh, *Estimating Search Tree Size* (2006): the present execution tells how
/// many transitions are to be explored from each state on its way, and how many of them are, and the trees below the
/// transitions from one state are taken to be of one size. Races that are not found yet make the tree larger than that.
pub struct Explorer<S> {
    pub(crate) system: S,
    rules: Box<dyn Rules>,
    search: Search,
    strategy: Strategy,
    pub(crate) limits: Limits,
    /// The present bound on preemptions, if any.
    preemptions: Option<u32>,
    pub(crate) keep_going: bool,
    verify_states: bool,
    rewinds: bool,
    /// The states saved on the way to the current one, with the numbers of steps before them, in ascending order.
    checkpoints: Vec<(usize, Checkpoint)>,
    pub(crate) states: Vec<State>,
    /// Number of states of the current execution; the rest of `states` is kept for its storage.
    pub(crate) depth: usize,
    pub(crate) trace: Trace,
    pub(crate) statistics: Statistics,
    first_failure: Option<(Failure, Vec<Transition>)>,
    /// Number of executions that were cut because it is unclear whether they could go on.
    unclear: u64,
    started: Instant,
    /// Time spent before the coming run.
    spent: Duration,
    /// The counters from before the exploration was interrupted.
    earlier: Statistics,
    /// Whether the search is between two executions, and the second is known.
    at_rest: bool,
    /// What the next snapshot is to save, if there are snapshots.
    pub(crate) unsaved: Option<Unsaved>,
    pub(crate) learned: Learned,
    pub(crate) rarity: Rarity,
    /// Whether the newest event is in a race with an earlier one.
    pub(crate) raced: bool,
    /// The races of steps that have run, for the strategy when the execution has ended.
    deferred: Vec<(EventIndex, Races)>,
    /// The first steps of reversals of races with blocked operations, also for the strategy then.
    leads: Vec<Lead>,
    /// The states of completely explored nodes.
    pub(crate) stored: KeySet<u128>,
    /// The state of the search if it explores configurations of the unfolding.
    pub(crate) unfolding: Option<Unfolding>,
    #[cfg(feature = "faults")]
    pub(crate) fault: Option<Fault>,
    #[cfg(feature = "faults")]
    pub(crate) occasions: u64,
}

impl<S: System> Explorer<S> {
    /// Creates an exploration of `system`.
    pub fn new(system: S, strategy: Strategy, limits: Limits) -> Self {
        let rules = strategy.rules();
        Explorer {
            system,
            search: rules.search(),
            rules,
            strategy,
            limits,
            preemptions: limits.preemptions.map(|_| 0),
            keep_going: false,
            verify_states: false,
            rewinds: true,
            checkpoints: Vec::new(),
            states: Vec::new(),
            depth: 0,
            trace: Trace::following_waits(matches!(strategy, Strategy::Context(_))),
            statistics: Statistics::default(),
            first_failure: None,
            unclear: 0,
            started: Instant::now(),
            spent: Duration::ZERO,
            earlier: Statistics::default(),
            at_rest: false,
            unsaved: None,
            learned: Learned::default(),
            rarity: Rarity::default(),
            raced: false,
            deferred: Vec::new(),
            leads: Vec::new(),
            stored: KeySet::default(),
            unfolding: None,
            #[cfg(feature = "faults")]
            fault: None,
            #[cfg(feature = "faults")]
            occasions: 0,
        }
    }

    /// Sets whether to explore the rest after a failure. The verdict is the first failure all the same.
    #[must_use]
    pub fn keep_going(mut self, keep_going: bool) -> Self {
        self.keep_going = keep_going;
        self
    }

    /// Sets whether to compare states that the same transitions reach again: they must be equal. For tests of systems;
    /// it costs a fingerprint per step. Only [`Check::Stored`] knows the states.
    #[must_use]
    pub fn verify_states(mut self, verify_states: bool) -> Self {
        self.verify_states = verify_states;
        self
    }

    /// Sets whether to go back to saved states, if the system can save them; the default. The explored executions do
    /// not depend on it.
    #[must_use]
    pub fn rewinds(mut self, rewinds: bool) -> Self {
        self.rewinds = rewinds;
        self
    }

    /// Counts time that was spent on the program before, for the limit and the statistics.
    #[must_use]
    pub fn spent(mut self, time: Duration) -> Self {
        self.spent = time;
        self
    }

    /// Makes the exploration faulty.
    #[cfg(feature = "faults")]
    #[must_use]
    pub fn fault(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        self
    }

    /// The explored program.
    pub fn system(&mut self) -> &mut S {
        &mut self.system
    }

    /// The counters so far, without the time.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// The explored program, which outlives the exploration.
    pub fn into_system(mut self) -> S {
        self.forget_checkpoints(0);
        self.system
    }

    /// Explores until the tree is exhausted, a failure is found or a limit is reached.
    pub fn run(&mut self, observer: &mut dyn Observer<S>) -> Report {
        let now = Instant::now();
        self.started = now.checked_sub(std::mem::take(&mut self.spent)).unwrap_or(now);
        if !self.at_rest {
            self.start_over();
        }
        let refused = self.limits.preemptions.is_some() && !self.strategy.can_be_bounded();
        let verdict = loop {
            if refused {
                let reason = format!("`{}` cannot bound preemptions", self.strategy);
                break Verdict::Incomplete { reason };
            }
            self.at_rest = false;
            let next = match self.unfolding {
                Some(_) => self.unfold(observer),
                None => self.execute(observer),
            };
            match next {
                Next::Done(verdict) => break verdict,
                Next::Restart => {
                    let refinements = self.statistics.refinements + 1;
                    let steps = self.statistics.steps;
                    self.forget();
                    self.statistics = Statistics {
                        refinements,
                        steps,
                        ..Statistics::default()
                    };
                    self.preemptions = self.preemptions.map(|_| 0);
                    self.rules = self.fresh_rules();
                    self.earlier = Statistics {
                        time: self.earlier.time,
                        ..Statistics::default()
                    };
                    observer.refined();
                }
                Next::Explore => {
                    if !self.backtrack() && !self.widen() {
                        break self.exhausted();
                    }
                    self.at_rest = true;
                    if let ControlFlow::Break(reason) = observer.at_rest(self) {
                        break self.incomplete(reason);
                    }
                    if let Some(reason) = self.limit_reached() {
                        break self.incomplete(reason);
                    }
                }
            }
        };
        self.statistics.time = self.earlier.time + self.started.elapsed();
        self.statistics.explored = match verdict {
            Verdict::Complete => MILLION,
            _ => self.explored(false),
        };
        Report {
            verdict,
            statistics: self.statistics,
            preemptions: self.preemptions,
        }
    }

    pub(crate) fn context(&self) -> Option<Context> {
        self.search.context
    }

    /// Goes back to an entirely unexplored tree.
    fn start_over(&mut self) {
        self.preemptions = self.limits.preemptions.map(|_| 0);
        self.forget();
        self.statistics = Statistics::default();
        self.earlier = Statistics::default();
        self.rules = self.fresh_rules();
        self.search = self.rules.search();
    }

    fn forget(&mut self) {
        self.forget_checkpoints(0);
        self.trace.truncate(0);
        self.depth = 0;
        self.deferred.clear();
        self.leads.clear();
        self.first_failure = None;
        self.unclear = 0;
        self.learned = Learned::default();
        self.stored.clear();
        if let Some(unsaved) = &mut self.unsaved {
            *unsaved = Unsaved {
                anew: true,
                ..Unsaved::default()
            };
        }
        self.unfolding = self.strategy.unfolding();
        self.rarity = Rarity::default();
    }

    /// Runs one execution to its end: first the transitions on the stack, then new ones.
    fn execute(&mut self, observer: &mut dyn Observer<S>) -> Next {
        if let Err(diverged) = self.go_back() {
            return diverged;
        }
        match self.extend(observer) {
            Ok(end) => {
                self.follow_up();
                self.conclude(end, observer)
            }
            Err(next) => next,
        }
    }

    /// Counts the execution in the trace, which has ended, and reports it.
    pub(crate) fn conclude(&mut self, end: End, observer: &mut dyn Observer<S>) -> Next {
        match &end {
            End::Complete | End::Failed(_) => self.statistics.complete += 1,
            End::Blocked => self.statistics.blocked += 1,
            End::Pruned => self.statistics.pruned += 1,
            End::Cut => self.statistics.cut += 1,
        }
        self.statistics.peak_depth = self.statistics.peak_depth.max(self.trace.len() as u64);
        if self.statistics.executions().is_multiple_of(ESTIMATE_INTERVAL) {
            self.statistics.explored = self.explored(true);
        }
        let flow = observer.execution(&mut self.system, &end, &self.trace, &self.statistics);
        if let End::Failed(failure) = end {
            let schedule = self.trace.schedule();
            if !self.keep_going {
                return Next::Done(Verdict::Failed { failure, schedule });
            }
            self.first_failure.get_or_insert((failure, schedule));
        }
        if let Some(reason) = self.refusal() {
            observer.refused(&reason);
            return Next::Done(self.incomplete(reason));
        }
        match flow {
            ControlFlow::Continue(()) => Next::Explore,
            ControlFlow::Break(()) => self.broken_off(),
        }
    }

    /// Runs the first `len` transitions of the current execution again.
    pub(crate) fn repeat_trace(&mut self, len: usize) -> Result<(), Next> {
        self.repeat_steps(0..len)
    }

    /// Runs these transitions of the current execution again.
    fn repeat_steps(&mut self, steps: Range<usize>) -> Result<(), Next> {
        let mut scratch = Step::default();
        for i in steps {
            let event = &self.trace.events()[i];
            let (transition, expected) = (event.transition(), event.step().signature);
            self.repeat(i, transition, expected, &mut scratch)?;
            self.verify_state(i + 1)?;
        }
        Ok(())
    }

    /// Compares the state after `steps` steps with the one at the first visit, if states are verified.
    fn verify_state(&mut self, steps: usize) -> Result<(), Next> {
        let known = self.states.get(steps).and_then(|state| state.fingerprint);
        let Some(expected) = known.filter(|_| self.verify_states && 0 < steps && steps < self.depth) else {
            return Ok(());
        };
        if self.system.fingerprint() == Some(expected) {
            return Ok(());
        }
        let message = format!(
            "the program is not deterministic: run again with the same schedule, the state after step {steps} ({}) is \
             another",
            self.trace.events()[steps - 1].thread()
        );
        Err(self.not_deterministic(message))
    }

    /// Repeats a transition of an earlier execution.
    fn repeat(&mut self, i: usize, transition: Transition, expected: u64, step: &mut Step) -> Result<(), Next> {
        self.statistics.steps += 1;
        let met = match self.system.repeat(transition, step) {
            Ok(Some(signature)) if signature == expected => return Ok(()),
            Ok(Some(signature)) => self.system.describe(signature),
            Ok(None) => format!("{} cannot run", transition.thread),
            Err(Stop::Refine) => return Err(Next::Restart),
            Err(Stop::Failed(failure) | Stop::Unsupported(failure)) => failure.to_string(),
        };
        let expected = self.system.describe(expected);
        let message = format!(
            "the program is not deterministic: run again with the same schedule, step {} ({}) was expected to be \
             `{expected}`, and was `{met}`",
            i + 1,
            transition.thread
        );
        Err(self.not_deterministic(message))
    }

    /// Runs new transitions until the execution ends.
    fn extend(&mut self, observer: &mut dyn Observer<S>) -> Result<End, Next> {
        loop {
            let fresh = self.trace.len() == self.depth;
            if fresh {
                self.statistics.states += 1;
                if let Some(end) = self.open() {
                    self.store(self.depth);
                    return Ok(end);
                }
                if self.trace.len() >= self.limits.depth as usize {
                    return self.too_long();
                }
                let state = &mut self.states[self.depth];
                state.current = self.rules.pick(state);
                if state.current.is_none() {
                    self.detect_pending(|status| *status == Status::Blocked);
                    self.store(self.depth);
                    return Ok(End::Blocked);
                }
                self.depth += 1;
            }
            let at = self.trace.len();
            if at % CLOCK_INTERVAL == CLOCK_INTERVAL - 1
                && let Some(reason) = self.out_of_time()
            {
                return Err(Next::Done(self.incomplete(reason)));
            }
            let Some(transition) = self.states[at].current else {
                unreachable!("a state below the top of the stack has a current transition")
            };
            self.statistics.steps += 1;
            let result = self.system.step(transition, self.trace.scratch());
            if matches!(result, Err(Stop::Refine)) {
                // The step has not ended, and what is on record of it does not count.
                return Err(Next::Restart);
            }
            let races = self.detect(transition.thread, None);
            self.raced = !races.is_empty();
            self.trace.commit(transition);
            if self.context().is_some() {
                self.learn();
            }
            if self.search.watches_blocked {
                self.follow_blocked();
            }
            match result {
                Ok(()) => {
                    if let Some(context) = self.context().filter(|context| context.check != Check::Stored) {
                        self.let_reversals_sleep(&races, context.check, observer)?;
                    }
                }
                Err(Stop::Failed(failure)) => {
                    self.detect_pending(|status| *status != Status::Finished);
                    return Ok(End::Failed(failure));
                }
                Err(Stop::Unsupported(failure)) => {
                    let reason = format!("unsupported: {}", failure.message);
                    return Err(Next::Done(self.incomplete(reason)));
                }
                Err(Stop::Refine) => return Err(Next::Restart),
            }
        }
    }

    /// Sets up the state that the execution has just reached, on top of the stack. Ends the execution if no thread is
    /// enabled.
    fn open(&mut self) -> Option<End> {
        self.enter();
        if self.preemptions.is_some() {
            self.count_preemptions();
            self.tell_of_waits();
        }
        if self.is_explored() {
            self.reverse_unseen_races(None);
            return Some(End::Pruned);
        }
        if self.states[self.depth].enabled.is_empty() {
            let verdict = self.system.finish();
            self.detect_pending(|status| *status == Status::Blocked);
            return Some(self.end_with(verdict));
        }
        if self.search.sleeps {
            self.inherit_sleep();
        }
        if self.inherit_sequences() {
            self.reverse_unseen_races(None);
            return Some(End::Pruned);
        }
        let state = &mut self.states[self.depth];
        let asleep = (state.sleep.len() + state.sequences.len()) as u64;
        self.statistics.peak_sleeping = self.statistics.peak_sleeping.max(asleep);
        let previous = self.trace.events().last().map(Event::thread);
        self.rules.open(state, previous);
        self.cut_by_context()
    }

    /// Clears the record of the state on top of the stack and notes what is enabled.
    fn enter(&mut self) {
        if self.states.len() == self.depth {
            self.states.push(State::default());
        }
        let state = &mut self.states[self.depth];
        state.clear();
        for (i, status) in self.system.threads().iter().enumerate() {
            if let Some(alternatives) = status.alternatives() {
                state.enabled.push((ThreadId(i as u32), alternatives.clone()));
            }
        }
        if let Some(order) = self.search.order {
            order.sort(&mut state.enabled, |&(thread, _)| thread, &self.trace, &self.system);
            let threads = state.enabled.iter().map(|&(thread, _)| thread);
            state.created.extend(threads.map(|thread| self.system.created(thread)));
        }
        #[cfg(feature = "faults")]
        if self.fault == Some(Fault::IgnoreAlternatives) {
            for (_, alternatives) in &mut state.enabled {
                let first = alternatives.iter().next();
                *alternatives = first.into_iter().collect();
            }
        }
    }

    /// Lets entries of the previous state sleep on if they are independent of the newest event.
    fn inherit_sleep(&mut self) {
        let (below, above) = self.states.split_at_mut(self.depth);
        let (Some(parent), Some(event)) = (below.last(), self.trace.events().last()) else {
            return;
        };
        let state = &mut above[0];
        for entry in &parent.sleep {
            let independent =
                entry.transition.thread != event.thread() && !entry.footprint.conflicts_with(&event.step().footprint);
            #[cfg(feature = "faults")]
            let independent = independent || {
                self.occasions += 1;
                matches!(self.fault, Some(Fault::KeepSleeping(n)) if self.occasions.is_multiple_of(n))
            };
            if independent {
                state.sleep.push(entry.clone());
            }
        }
        state.inherited = state.sleep.len();
    }

    /// Learns from the newest event.
    fn learn(&mut self) {
        let Some(event) = self.trace.events().last() else {
            return;
        };
        let after = self.trace.waited(event.thread());
        self.learned
            .add_step(event.thread(), event.index(), event.step(), after);
    }

    /// Goes back to the deepest state with something left to explore, and chooses it. Says whether there is one.
    fn backtrack(&mut self) -> bool {
        if self.unfolding.is_some() {
            return self.find_alternative();
        }
        if !self.search.backtracks {
            self.trace.truncate(0);
            self.depth = 0;
            return true;
        }
        while self.depth > 0 {
            let at = self.depth - 1;
            let state = &mut self.states[at];
            let explored = state.current.take();
            self.trace.truncate(at);
            if let Some(transition) = explored {
                state.sleep.push(Sleeping {
                    transition,
                    footprint: self.trace.take_footprint(),
                    by_context: false,
                });
            }
            state.current = self.rules.pick(state);
            if state.current.is_some() {
                #[cfg(feature = "faults")]
                if self.fault == Some(Fault::KeepFrozen) {
                    return true;
                }
                state.frozen = None;
                return true;
            }
            self.store(at);
            self.depth = at;
        }
        false
    }
}
