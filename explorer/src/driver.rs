//! The depth-first search that all strategies share.
//!
//! Exploration is stateless (Godefroid 1997): to go back to a state, the program is restarted and the
//! transitions that led there are run again. The search keeps one `State` for each step of the current
//! execution.

use crate::footprint::Footprint;
use crate::statistics::Statistics;
use crate::strategy::{Race, Rules, Strategy};
use crate::system::{Failure, Step, Stop, System, Transition};
use crate::thread::{BitSet, Status, ThreadId};
use crate::trace::Trace;
use smallvec::SmallVec;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// The kind of the failure of an execution that reached the bound on its length although it was fair.
pub const NO_TERMINATION: &str = "no-termination";

/// Bounds on an exploration. Reaching one makes the verdict [`Verdict::Incomplete`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// At most this many executions.
    pub executions: Option<u64>,
    /// At most this many steps in all.
    pub steps: Option<u64>,
    /// At most this long.
    pub time: Option<Duration>,
    /// At most this many steps in one execution; a longer one is cut, or is a failure if it was fair.
    pub depth: u32,
}

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
    /// It reached the bound on an execution's length.
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
}

/// A state of the current execution: what can be and what must be explored from it.
#[derive(Clone, Default, Debug)]
pub(crate) struct State {
    pub enabled: SmallVec<[(ThreadId, BitSet); 4]>,
    pub backtrack: BitSet,
    /// Transitions explored from here, and those inherited from the state before.
    pub sleep: Vec<Sleeping>,
    /// The transition that the current execution takes from here.
    pub current: Option<Transition>,
}

impl State {
    pub fn alternatives(&self, thread: ThreadId) -> Option<&BitSet> {
        self.enabled
            .iter()
            .find(|(t, _)| *t == thread)
            .map(|(_, alternatives)| alternatives)
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
}

/// How the search goes on after an execution.
enum Next {
    Explore,
    Restart,
    Done(Verdict),
}

/// Explores the executions of a [`System`].
pub struct Explorer<S> {
    system: S,
    rules: Box<dyn Rules>,
    strategy: Strategy,
    limits: Limits,
    keep_going: bool,
    states: Vec<State>,
    /// The first `depth` states belong to the current execution; the rest is kept for its storage.
    depth: usize,
    trace: Trace,
    statistics: Statistics,
    first_failure: Option<(Failure, Vec<Transition>)>,
    started: Instant,
    #[cfg(feature = "faults")]
    fault: Option<Fault>,
    #[cfg(feature = "faults")]
    occasions: u64,
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
            states: Vec::new(),
            depth: 0,
            trace: Trace::new(),
            statistics: Statistics::default(),
            first_failure: None,
            started: Instant::now(),
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
            match self.execute(observer) {
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
        Report {
            verdict,
            statistics: self.statistics,
        }
    }

    fn forget(&mut self) {
        self.trace.truncate(0);
        self.depth = 0;
        self.first_failure = None;
    }

    fn exhausted(&mut self) -> Verdict {
        if let Some((failure, schedule)) = self.first_failure.take() {
            return Verdict::Failed { failure, schedule };
        }
        match self.statistics.cut {
            0 => Verdict::Complete,
            n => Verdict::Incomplete {
                reason: format!("{n} executions were cut at the bound of {} steps", self.limits.depth),
            },
        }
    }

    fn incomplete(&mut self, reason: String) -> Verdict {
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
        if statistics.executions().is_multiple_of(16)
            && let Some(limit) = self.limits.time.filter(|&limit| self.started.elapsed() >= limit)
        {
            return Some(format!("the time limit of {limit:?} was reached"));
        }
        None
    }

    /// Runs one execution to its end: first the transitions of the states on the stack, then new ones.
    fn execute(&mut self, observer: &mut dyn Observer<S>) -> Next {
        self.system.restart();
        let mut scratch = Step::default();
        for i in 0..self.trace.len() {
            let event = &self.trace.events()[i];
            let (transition, expected) = (event.transition(), event.step().signature);
            if let Err(diverged) = self.repeat(i, transition, expected, &mut scratch) {
                return diverged;
            }
        }
        let end = match self.extend() {
            Ok(end) => end,
            Err(next) => return next,
        };
        match &end {
            End::Complete | End::Failed(_) => self.statistics.complete += 1,
            End::Blocked => self.statistics.blocked += 1,
            End::Cut => self.statistics.cut += 1,
        }
        self.statistics.peak_depth = self.statistics.peak_depth.max(self.trace.len() as u64);
        let flow = observer.execution(&mut self.system, &end, &self.trace, &self.statistics);
        if let End::Failed(failure) = end {
            let schedule = self.trace.schedule();
            if !self.keep_going {
                return Next::Done(Verdict::Failed { failure, schedule });
            }
            self.first_failure.get_or_insert((failure, schedule));
        }
        match flow {
            ControlFlow::Continue(()) => Next::Explore,
            ControlFlow::Break(()) => Next::Done(self.incomplete("exploration was broken off".to_owned())),
        }
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
        let schedule = self.trace.schedule();
        Err(Next::Done(Verdict::Failed {
            failure: Failure {
                kind: "nondeterminism",
                message,
            },
            schedule,
        }))
    }

    /// Runs new transitions until the execution ends.
    fn extend(&mut self) -> Result<End, Next> {
        loop {
            let fresh = self.trace.len() == self.depth;
            if fresh {
                if let Some(end) = self.open() {
                    return Ok(end);
                }
                if self.trace.len() >= self.limits.depth as usize {
                    return Ok(self.too_long());
                }
                let state = &mut self.states[self.depth];
                state.current = self.rules.pick(state);
                if state.current.is_none() {
                    self.detect_pending(|status| *status == Status::Blocked);
                    return Ok(End::Blocked);
                }
                self.depth += 1;
            }
            let at = self.trace.len();
            let Some(transition) = self.states[at].current else {
                unreachable!("a state below the top of the stack has a current transition")
            };
            self.statistics.steps += 1;
            let result = self.system.step(transition, self.trace.scratch());
            if matches!(result, Err(Stop::Refine)) {
                // The step has not ended, and what is on record of it does not count.
                return Err(Next::Restart);
            }
            self.detect(transition.thread, None);
            self.trace.commit(transition);
            match result {
                Ok(()) => {}
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
        if self.states.len() == self.depth {
            self.states.push(State::default());
        }
        let (below, above) = self.states.split_at_mut(self.depth);
        let state = &mut above[0];
        state.enabled.clear();
        state.backtrack.clear();
        state.sleep.clear();
        state.current = None;
        for (i, status) in self.system.threads().iter().enumerate() {
            if let Some(alternatives) = status.alternatives() {
                state.enabled.push((ThreadId(i as u32), alternatives.clone()));
            }
        }
        #[cfg(feature = "faults")]
        if self.fault == Some(Fault::IgnoreAlternatives) {
            for (_, alternatives) in &mut state.enabled {
                let first = alternatives.iter().next();
                *alternatives = first.into_iter().collect();
            }
        }
        if state.enabled.is_empty() {
            let verdict = self.system.finish();
            self.detect_pending(|status| *status == Status::Blocked);
            return Some(verdict.map_or_else(End::Failed, |()| End::Complete));
        }
        let mut previous = None;
        if let (Some(parent), Some(event)) = (below.last(), self.trace.events().last()) {
            previous = Some(event.thread());
            if self.rules.sleeps() {
                for entry in &parent.sleep {
                    let independent = entry.transition.thread != event.thread()
                        && !entry.footprint.conflicts_with(&event.step().footprint);
                    #[cfg(feature = "faults")]
                    let independent = independent || {
                        self.occasions += 1;
                        matches!(self.fault, Some(Fault::KeepSleeping(n)) if self.occasions.is_multiple_of(n))
                    };
                    if independent {
                        state.sleep.push(entry.clone());
                    }
                }
            }
        }
        self.statistics.peak_sleeping = self.statistics.peak_sleeping.max(state.sleep.len() as u64);
        self.rules.open(state, previous);
        None
    }

    /// Judges an execution that has reached the bound on its length. If its second half was fair (every
    /// thread that was enabled in it ran in it, twice over), the program does not end by itself: that is a
    /// failure. Otherwise a fair scheduler might have ended it.
    fn too_long(&self) -> End {
        let len = self.trace.len();
        // Threads that the main thread has left behind may run as long as they like.
        if self.system.threads().first() == Some(&Status::Finished) {
            return End::Cut;
        }
        let windows = [len / 2..len * 3 / 4, len * 3 / 4..len];
        let fair = windows.into_iter().all(|window| {
            let ran: BitSet = self.trace.events()[window.clone()]
                .iter()
                .map(|e| e.thread().0)
                .collect();
            self.states[window]
                .iter()
                .all(|state| state.enabled.iter().all(|(thread, _)| ran.contains(thread.0)))
        });
        if !fair {
            return End::Cut;
        }
        let message = format!(
            "the execution did not end within {len} steps, although every thread that could run did run; if that is \
             no endless loop, raise the bound (--max-depth)"
        );
        End::Failed(Failure {
            kind: NO_TERMINATION,
            message,
        })
    }

    /// Finds the races of the step that has just run, or of a pending operation.
    fn detect(&mut self, thread: ThreadId, pending: Option<&crate::system::Pending>) {
        if !self.rules.detects_races() {
            return;
        }
        let (footprint, guards, values) = match pending {
            Some(pending) => (&pending.footprint, pending.guards.as_slice(), &pending.values),
            None => {
                let step = self.trace.uncommitted();
                (&step.footprint, step.guards.as_slice(), &step.values)
            }
        };
        if footprint.accesses().is_empty() {
            return;
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
        let races = self.trace.races(thread, footprint, guards, value);
        for (event, removed) in races {
            #[cfg(feature = "faults")]
            {
                self.occasions += 1;
                if matches!(self.fault, Some(Fault::DropRace(n)) if self.occasions.is_multiple_of(n)) {
                    continue;
                }
            }
            self.statistics.races += 1;
            let race = Race {
                event,
                removed: &removed,
                thread,
                footprint,
            };
            self.rules
                .reverse(&mut self.states, &self.trace, race, &mut self.statistics);
        }
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
                self.detect(thread, Some(&pending));
            }
        }
    }

    /// Goes back to the deepest state from which something is left to explore, and chooses it. Says
    /// whether there is one.
    fn backtrack(&mut self) -> bool {
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
                });
            }
            self.trace.truncate(at);
            state.current = self.rules.pick(state);
            if state.current.is_some() {
                return true;
            }
            self.depth = at;
        }
        false
    }
}
