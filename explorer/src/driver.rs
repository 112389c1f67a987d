//! The depth-first search that all strategies share.
//!
//! Exploration is stateless (Godefroid 1997): to go back to a state, the program is restarted and the
//! transitions that led there are run again. The search keeps one `State` for each step of the current
//! execution.

use crate::context::{Rarity, Sequence};
use crate::footprint::Footprint;
use crate::keys::KeySet;
use crate::learned::Learned;
use crate::statistics::Statistics;
use crate::strategy::{Check, Context, Race, Refusal, Rules, StepName, Strategy};
use crate::system::{Failure, Fingerprint, Outlook, Step, Stop, System, Transition};
use crate::thread::{BitSet, Status, ThreadId};
use crate::trace::{Event, EventIndex, Removed, Trace};
use crate::unfolding::Unfolding;
use smallvec::SmallVec;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Bounds on an exploration. Reaching one makes the verdict [`Verdict::Incomplete`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// At most this many executions.
    pub executions: Option<u64>,
    /// At most this many steps in all.
    pub steps: Option<u64>,
    /// At most this long.
    pub time: Option<Duration>,
    /// At most this many steps in one execution; a longer one is cut, or ends the exploration if it was fair.
    pub depth: u32,
}

/// After how many executions the explored part is estimated again.
const ESTIMATE_INTERVAL: u64 = 64;

const MILLION: u32 = 1_000_000;

/// How many steps of one execution run between two looks at the clock: one execution can take longer than the time limit.
const CLOCK_INTERVAL: usize = 64;

impl Default for Limits {
    fn default() -> Self {
        Limits {
            executions: None,
            steps: None,
            time: None,
            depth: 100_000,
        }
    }
}

/// How an execution ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// No thread was enabled, and the program is content with that.
    Complete,
    /// The program failed.
    Failed(Failure),
    /// All enabled transitions were asleep: what follows has been explored.
    Blocked,
    /// Its state was reached before by other steps: what follows has been explored.
    Pruned,
    /// It reached the bound on an execution's length, or it is unclear whether it could go on.
    Cut,
}

/// What the exploration can say about the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The tree of executions is exhausted, and no execution failed.
    Complete,
    /// An execution failed.
    Failed {
        /// The first failure that was found.
        failure: Failure,
        /// The transitions that lead to it.
        schedule: Vec<Transition>,
    },
    /// Something is left unexplored.
    Incomplete {
        /// What stopped the exploration.
        reason: String,
    },
}

/// An exploration's result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// What can be said about the program.
    pub verdict: Verdict,
    /// What was counted.
    pub statistics: Statistics,
}

/// Hears of each execution when it has ended.
pub trait Observer<S: System> {
    /// An execution has ended. `system` is still in its last state. Breaking off makes the verdict
    /// incomplete.
    fn execution(&mut self, system: &mut S, end: &End, trace: &Trace, statistics: &Statistics) -> ControlFlow<()>;

    /// The orders `first` and `second` of the same steps, of which `first` is the current execution, were run, and their
    /// last states compared ([`Check::Eager`]). Breaking off makes the verdict incomplete.
    fn compared(&mut self, _first: &[Transition], _second: &[Transition], _equal: bool) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// The strategy refuses the program for this reason. The verdict is incomplete, or a failure that was found before.
    fn refused(&mut self, _reason: &str) {}

    /// Exploration starts again, with more scheduling points; all that was reported before is void.
    fn refined(&mut self) {}
}

impl<S: System> Observer<S> for () {
    fn execution(&mut self, _: &mut S, _: &End, _: &Trace, _: &Statistics) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// A transition that need not be explored from a state, with the footprint that it had when it was.
#[derive(Clone, Debug)]
pub(crate) struct Sleeping {
    pub transition: Transition,
    pub footprint: Footprint,
    /// It sleeps as the last step of a sequence.
    pub by_context: bool,
}

/// A state of the current execution: what can be and what must be explored from it.
#[derive(Clone, Default, Debug)]
pub(crate) struct State {
    pub enabled: SmallVec<[(ThreadId, BitSet); 4]>,
    pub backtrack: BitSet,
    /// Races add nothing to the backtrack set until another transition is chosen from here.
    pub frozen: bool,
    /// Transitions explored from here, and those inherited from the state before.
    pub sleep: Vec<Sleeping>,
    /// So many of them are inherited.
    pub inherited: usize,
    /// Sequences that need not be explored from here, of two transitions and more (one and more if they are stored with
    /// the state to which they lead).
    pub sequences: Vec<Sequence>,
    /// The digest of the state, where states are stored.
    pub fingerprint: Option<Fingerprint>,
    /// What the state is stored under when all that follows it is explored.
    pub key: Option<u128>,
    /// The transition that the current execution takes from here.
    pub current: Option<Transition>,
}

impl State {
    /// Forgets everything, but for the storage.
    fn clear(&mut self) {
        self.enabled.clear();
        self.backtrack.clear();
        self.frozen = false;
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

    /// What sleeps here because of an earlier state.
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

/// Seeded faults of the exploration, for the tests that show that the oracle catches them.
#[cfg(feature = "faults")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Every n-th race is dropped.
    DropRace(u64),
    /// Every n-th entry of a sleep set stays although a dependent step ran.
    KeepSleeping(u64),
    /// Blocked threads' operations are forgotten at the end of an execution.
    SkipBlockedAtEnd,
    /// An operation that can block races like one that cannot: with the last dependent event.
    IgnoreGuards,
    /// Alternatives of an operation but the first are not explored.
    IgnoreAlternatives,
    /// Where a context-sensitive search is cut, races of what is cut off are not looked for: Algorithm 1 as published.
    SkipCutRaces,
    /// A sleeping sequence stays although a dependent step ran.
    LooseSequences,
    /// A backtrack set that is frozen stays so.
    KeepFrozen,
}

/// Counts the race and says whether it is one that the fault drops.
#[cfg(feature = "faults")]
fn drops_race(fault: Option<Fault>, occasions: &mut u64) -> bool {
    *occasions += 1;
    matches!(fault, Some(Fault::DropRace(n)) if occasions.is_multiple_of(n))
}

/// The races of an operation, latest event first, and what must be left out of each reversal.
type Races = SmallVec<[(EventIndex, Removed); 4]>;

/// How the search goes on after an execution.
pub(crate) enum Next {
    Explore,
    Restart,
    Done(Verdict),
}

/// Explores the executions of a [`System`].
///
/// How much of the search tree is explored is estimated as in Knuth, *Estimating the Efficiency of Backtrack Programs* (1975), and
/// Kilby, Slaney, Thiébaux and Walsh, *Estimating Search Tree Size* (2006): the present execution tells how many transitions
/// are to be explored from each state on its way, and how many of them are, and the trees below the transitions from one state are taken to be of one size.
/// Races that are not found yet make the tree larger than that.
pub struct Explorer<S> {
    pub(crate) system: S,
    rules: Box<dyn Rules>,
    strategy: Strategy,
    pub(crate) limits: Limits,
    pub(crate) keep_going: bool,
    verify_states: bool,
    pub(crate) states: Vec<State>,
    /// The first `depth` states belong to the current execution; the rest is kept for its storage.
    pub(crate) depth: usize,
    pub(crate) trace: Trace,
    pub(crate) statistics: Statistics,
    first_failure: Option<(Failure, Vec<Transition>)>,
    /// So many executions were cut because it is unclear whether they could go on.
    unclear: u64,
    started: Instant,
    pub(crate) learned: Learned,
    pub(crate) rarity: Rarity,
    /// The newest event is in a race with an earlier one.
    pub(crate) raced: bool,
    /// The races of steps that have run and that the strategy is told of when the execution has ended.
    deferred: Vec<(EventIndex, Races)>,
    /// The states of nodes that are explored completely.
    pub(crate) stored: KeySet<u128>,
    /// The state of the search, if it goes through configurations of the unfolding.
    pub(crate) unfolding: Option<Unfolding>,
    #[cfg(feature = "faults")]
    pub(crate) fault: Option<Fault>,
    #[cfg(feature = "faults")]
    pub(crate) occasions: u64,
}

impl<S: System> Explorer<S> {
    /// An exploration of `system`, not yet begun.
    pub fn new(system: S, strategy: Strategy, limits: Limits) -> Self {
        Explorer {
            system,
            rules: strategy.rules(),
            strategy,
            limits,
            keep_going: false,
            verify_states: false,
            states: Vec::new(),
            depth: 0,
            trace: Trace::following_waits(matches!(strategy, Strategy::Context(_))),
            statistics: Statistics::default(),
            first_failure: None,
            unclear: 0,
            started: Instant::now(),
            learned: Learned::default(),
            rarity: Rarity::default(),
            raced: false,
            deferred: Vec::new(),
            stored: KeySet::default(),
            unfolding: None,
            #[cfg(feature = "faults")]
            fault: None,
            #[cfg(feature = "faults")]
            occasions: 0,
        }
    }

    /// Whether to explore the rest after a failure. The verdict is the first failure all the same.
    #[must_use]
    pub fn keep_going(mut self, keep_going: bool) -> Self {
        self.keep_going = keep_going;
        self
    }

    /// Whether to compare states each time they are reached again by the same transitions: they must be the same. For tests
    /// of systems; it costs a fingerprint a step. Only [`Check::Stored`] knows the states.
    #[must_use]
    pub fn verify_states(mut self, verify_states: bool) -> Self {
        self.verify_states = verify_states;
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

    /// Explores until the tree is exhausted, a failure is found or a limit is reached.
    pub fn run(&mut self, observer: &mut dyn Observer<S>) -> Report {
        self.started = Instant::now();
        self.forget();
        let verdict = loop {
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
                    self.rules = self.strategy.rules();
                    observer.refined();
                }
                Next::Explore => {
                    if !self.backtrack() {
                        break self.exhausted();
                    }
                    if let Some(reason) = self.limit_reached() {
                        break self.incomplete(reason);
                    }
                }
            }
        };
        self.statistics.time = self.started.elapsed();
        self.statistics.explored = match verdict {
            Verdict::Complete => MILLION,
            _ => self.explored(false),
        };
        Report {
            verdict,
            statistics: self.statistics,
        }
    }

    pub(crate) fn context(&self) -> Option<Context> {
        self.rules.context()
    }

    fn forget(&mut self) {
        self.trace.truncate(0);
        self.depth = 0;
        self.deferred.clear();
        self.first_failure = None;
        self.unclear = 0;
        self.learned = Learned::default();
        self.stored.clear();
        self.unfolding = self.strategy.unfolding();
        self.rarity = Rarity::default();
    }

    fn exhausted(&mut self) -> Verdict {
        if let Some((failure, schedule)) = self.first_failure.take() {
            return Verdict::Failed { failure, schedule };
        }
        match self.statistics.cut {
            0 => Verdict::Complete,
            _ if self.unclear > 0 => Verdict::Incomplete {
                reason: format!(
                    "in {} executions, threads repeat themselves, and it is unclear whether they would do so for ever",
                    self.unclear
                ),
            },
            n => Verdict::Incomplete {
                reason: format!("{n} executions were cut at the bound of {} steps", self.limits.depth),
            },
        }
    }

    pub(crate) fn incomplete(&mut self, reason: String) -> Verdict {
        match self.first_failure.take() {
            Some((failure, schedule)) => Verdict::Failed { failure, schedule },
            None => Verdict::Incomplete { reason },
        }
    }

    fn limit_reached(&self) -> Option<String> {
        let statistics = &self.statistics;
        if self
            .limits
            .executions
            .is_some_and(|limit| statistics.executions() >= limit)
        {
            return Some(format!(
                "the limit of {} executions was reached",
                statistics.executions()
            ));
        }
        if let Some(limit) = self.limits.steps.filter(|&limit| statistics.steps >= limit) {
            return Some(format!("the limit of {limit} steps was reached"));
        }
        // Reading the clock costs as much as a short execution.
        if statistics.executions().is_multiple_of(16) {
            return self.out_of_time();
        }
        None
    }

    pub(crate) fn out_of_time(&self) -> Option<String> {
        let limit = self.limits.time.filter(|&limit| self.started.elapsed() >= limit)?;
        Some(format!("the time limit of {limit:?} was reached"))
    }

    /// Runs one execution to its end: first the transitions of the states on the stack, then new ones.
    fn execute(&mut self, observer: &mut dyn Observer<S>) -> Next {
        self.system.restart();
        if let Err(diverged) = self.repeat_trace(self.trace.len()) {
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

    /// The estimate of [`Statistics::explored`], with the present execution or without it; 0 where there is no such tree.
    fn explored(&self, with_present: bool) -> u32 {
        if !self.rules.backtracks() || self.unfolding.is_some() {
            return 0;
        }
        let (mut explored, mut share) = (0.0, 1.0);
        for state in &self.states[..self.depth] {
            let done = state.sleep.len() - state.inherited;
            let wanted = state.backtrack.iter();
            let left = wanted.flat_map(|thread| state.awake_transitions(ThreadId(thread)));
            let left = left.filter(|&transition| Some(transition) != state.current).count();
            share /= (done + left + 1) as f64;
            explored += share * done as f64;
        }
        let present = if with_present { share } else { 0.0 };
        ((explored + present) * f64::from(MILLION)) as u32
    }

    pub(crate) fn broken_off(&mut self) -> Next {
        Next::Done(self.incomplete("exploration was broken off".to_owned()))
    }

    /// Runs the first `len` transitions of the current execution again.
    pub(crate) fn repeat_trace(&mut self, len: usize) -> Result<(), Next> {
        let mut scratch = Step::default();
        for i in 0..len {
            let event = &self.trace.events()[i];
            let (transition, expected) = (event.transition(), event.step().signature);
            self.repeat(i, transition, expected, &mut scratch)?;
            if self.verify_states
                && let Some(expected) = self.states.get(i + 1).and_then(|state| state.fingerprint)
                && i + 1 < self.depth
                && self.system.fingerprint() != Some(expected)
            {
                let message = format!(
                    "the program is not deterministic: run again with the same schedule, the state after step {} ({}) \
                     is another",
                    i + 1,
                    transition.thread
                );
                return Err(self.not_deterministic(message));
            }
        }
        Ok(())
    }

    fn not_deterministic(&self, message: String) -> Next {
        Next::Done(Verdict::Failed {
            failure: Failure {
                kind: "nondeterminism",
                message,
            },
            schedule: self.trace.schedule(),
        })
    }

    /// Runs a transition again that ran in an earlier execution.
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

    /// Sets up the state that the execution has just reached, on top of the stack. Ends the execution if
    /// no thread is enabled.
    fn open(&mut self) -> Option<End> {
        self.enter();
        if self.is_explored() {
            self.reverse_unseen_races(None);
            return Some(End::Pruned);
        }
        if self.states[self.depth].enabled.is_empty() {
            let verdict = self.system.finish();
            self.detect_pending(|status| *status == Status::Blocked);
            return Some(self.end_with(verdict));
        }
        if self.rules.sleeps() {
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

    /// How an execution has ended in which no thread is enabled and that the system judges so. The system's state may be lost.
    pub(crate) fn end_with(&mut self, verdict: Result<(), Failure>) -> End {
        match verdict {
            Ok(()) => End::Complete,
            Err(failure) => match self.system.outlook() {
                Outlook::Stuck => End::Failed(failure),
                Outlook::GoesOn => End::Blocked,
                Outlook::Unclear => {
                    self.unclear += 1;
                    End::Cut
                }
            },
        }
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
        if let Some(order) = self.rules.order() {
            order.sort(&mut state.enabled, |&(thread, _)| thread, &self.trace, &self.system);
        }
        #[cfg(feature = "faults")]
        if self.fault == Some(Fault::IgnoreAlternatives) {
            for (_, alternatives) in &mut state.enabled {
                let first = alternatives.iter().next();
                *alternatives = first.into_iter().collect();
            }
        }
    }

    /// What slept in the state before sleeps on, if it is independent of the newest event.
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

    /// Judges an execution that has reached the bound on its length. If its second half was fair (every
    /// thread that was enabled in it ran in it, twice over, and took each alternative that it had), the program is a long one, or
    /// does not end by itself: others of its executions would be as long, so that the exploration ends here. Otherwise a
    /// fair scheduler might have ended it.
    fn too_long(&mut self) -> Result<End, Next> {
        let len = self.trace.len();
        // Threads that the main thread has left behind may run as long as they like.
        if self.system.threads().first() == Some(&Status::Finished) {
            return Ok(End::Cut);
        }
        let windows = [len / 2..len * 3 / 4, len * 3 / 4..len];
        let fair = windows.into_iter().all(|window| {
            let (states, events) = (&self.states[window.clone()], &self.trace.events()[window]);
            let ran: BitSet = events.iter().map(|e| e.thread().0).collect();
            let operation = |event: &Event, alternative: u32| (event.step().signature, alternative);
            let taken: KeySet<_> = events
                .iter()
                .map(|e| operation(e, e.transition().alternative))
                .collect();
            states.iter().zip(events).all(|(state, event)| {
                let mut alternatives = state.alternatives(event.thread()).into_iter().flat_map(BitSet::iter);
                state.enabled.iter().all(|(thread, _)| ran.contains(thread.0))
                    && alternatives.all(|alternative| taken.contains(&operation(event, alternative)))
            })
        });
        if !fair {
            return Ok(End::Cut);
        }
        let reason = format!(
            "an execution did not end within {len} steps, although every thread that could run did run: the test is a \
             long one (--max-depth), or it does not end"
        );
        self.statistics.cut += 1;
        Err(Next::Done(self.incomplete(reason)))
    }

    /// Finds the races of the step that has just run, or of a pending operation.
    fn detect(&mut self, thread: ThreadId, pending: Option<&crate::system::Pending>) -> Races {
        if !self.rules.detects_races() {
            return Races::new();
        }
        let (footprint, guards, values) = match pending {
            Some(pending) => (&pending.footprint, pending.guards.as_slice(), &pending.values),
            None => {
                let step = self.trace.uncommitted();
                (&step.footprint, step.guards.as_slice(), &step.values)
            }
        };
        if footprint.accesses().is_empty() {
            return Races::new();
        }
        #[cfg(feature = "faults")]
        let guards = if self.fault == Some(Fault::IgnoreGuards) {
            &[]
        } else {
            guards
        };
        let value = |variable| {
            values
                .iter()
                .find(|(v, _)| *v == variable)
                .map_or(0, |&(_, value)| value)
        };
        let defers = self.rules.defers_races();
        let races = if defers {
            self.trace.dependent_pairs(thread, footprint, guards, value)
        } else {
            self.trace.races(thread, footprint, guards, value)
        };
        if defers && pending.is_none() {
            self.deferred.push((self.trace.len(), races));
            return Races::new();
        }
        for (event, removed) in &races {
            #[cfg(feature = "faults")]
            if drops_race(self.fault, &mut self.occasions) {
                continue;
            }
            self.statistics.races += 1;
            let race = Race {
                event: *event,
                removed,
                thread,
                footprint,
                at: self.trace.len(),
            };
            self.rules
                .reverse(&mut self.states, &self.trace, race, &mut self.statistics);
        }
        races
    }

    /// Hands the strategy the races of the steps that have run since the search went back, latest first.
    fn follow_up(&mut self) {
        for (at, races) in std::mem::take(&mut self.deferred).into_iter().rev() {
            for (event, removed) in &races {
                #[cfg(feature = "faults")]
                if drops_race(self.fault, &mut self.occasions) {
                    continue;
                }
                self.statistics.races += 1;
                let later = &self.trace.events()[at];
                let race = Race {
                    event: *event,
                    removed,
                    thread: later.thread(),
                    footprint: &later.step().footprint,
                    at,
                };
                self.rules
                    .reverse(&mut self.states, &self.trace, race, &mut self.statistics);
            }
        }
    }

    /// Why the strategy gives up, if it does.
    fn refusal(&self) -> Option<String> {
        let Refusal { independent, shared } = self.rules.refusal()?;
        let name = |step: &StepName| {
            let operation = self.system.describe(step.signature);
            format!("step {} of {} (`{operation}`)", step.index, step.thread)
        };
        let [one, other] = independent.each_ref().map(name);
        Some(format!(
            "`{}` is for programs in which dependency is transitive: {one} and {other} are independent, but each is in a \
             race with {}",
            self.strategy,
            name(shared)
        ))
    }

    /// Finds the races of pending operations at the end of an execution: what is blocked there never
    /// becomes an event.
    fn detect_pending(&mut self, which: impl Fn(&Status) -> bool) {
        #[cfg(feature = "faults")]
        if self.fault == Some(Fault::SkipBlockedAtEnd) {
            return;
        }
        if !self.rules.detects_races() {
            return;
        }
        for i in 0..self.system.threads().len() {
            if which(&self.system.threads()[i]) {
                let thread = ThreadId(i as u32);
                let pending = self.system.pending(thread);
                if self.context().is_some() {
                    let index = self.trace.steps_before(thread, self.trace.len()) + 1;
                    let after = self.trace.waited(thread);
                    self.learned
                        .add(thread, index, &pending.footprint, &pending.guards, after);
                }
                self.detect(thread, Some(&pending));
            }
        }
    }

    /// Goes back to the deepest state from which something is left to explore, and chooses it. Says
    /// whether there is one.
    fn backtrack(&mut self) -> bool {
        if self.unfolding.is_some() {
            return self.find_alternative();
        }
        if !self.rules.backtracks() {
            self.trace.truncate(0);
            self.depth = 0;
            return true;
        }
        while self.depth > 0 {
            let at = self.depth - 1;
            let state = &mut self.states[at];
            if let Some(explored) = state.current.take() {
                let footprint = self.trace.events()[at].step().footprint.clone();
                state.sleep.push(Sleeping {
                    transition: explored,
                    footprint,
                    by_context: false,
                });
            }
            self.trace.truncate(at);
            state.current = self.rules.pick(state);
            if state.current.is_some() {
                #[cfg(feature = "faults")]
                if self.fault == Some(Fault::KeepFrozen) {
                    return true;
                }
                state.frozen = false;
                return true;
            }
            self.store(at);
            self.depth = at;
        }
        false
    }
}
