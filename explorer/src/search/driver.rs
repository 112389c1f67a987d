//! The loop over executions, which all strategies share.
//!
//! Invariant: [`Explorer`] knows no strategy but by the name that it hands to the registry, and no stack. Between two
//! executions it is at rest, and can be saved.

use super::aside::Turn;
use super::beside::{Beside, Turns};
use super::exploration::{Cuts, Exploration, Halt};
#[cfg(feature = "faults")]
use super::faults::Fault;
use super::outcome::{End, Limits, MILLION, Observer, Report, Verdict, within};
use super::save::{CannotResume, Saved, Snapshot};
use super::scouts::Scouts;
use super::{Named, Search, Settings};
use crate::codec::{from_bytes, to_bytes};
use crate::statistics::Statistics;
use crate::system::{Asked, Failure, System, Transition};
use crate::vocabulary::Strategy;
use std::mem::take;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Number of executions between two estimates of the explored part.
const ESTIMATE_INTERVAL: u64 = 64;

/// Explores the executions of a [`System`].
///
/// How much of the search tree is explored is estimated after Knuth (1975): the trees below the transitions from one
/// state are taken to be of one size. Races that are not found yet make the tree larger than that.
pub struct Explorer<S> {
    exploration: Exploration<S>,
    search: Box<dyn Search<S>>,
    strategy: Strategy,
    /// When a second search goes on, if there is to be one.
    looks_beside: Option<Turns>,
    /// The second search, under a bound on preemptions.
    beside: Option<Beside<S>>,
    /// Whether the second search has found the failure.
    failed_beside: bool,
    /// The number of states before the first random executions ahead, if there are to be some.
    sends_scouts: Option<u64>,
    scouts: Option<Scouts<S>>,
    first_failure: Option<(Failure, Vec<Transition>)>,
    /// Time spent before the coming run.
    spent: Duration,
    /// Whether the search is between two executions, and the second is known.
    at_rest: bool,
    /// Whether there are snapshots.
    resumable: bool,
    /// Whether the keys of earlier snapshots are void.
    anew: bool,
}

impl<S: System> Explorer<S> {
    /// Creates an exploration of `system`.
    pub fn new(system: S, strategy: Strategy, limits: Limits) -> Self {
        let exploration = Exploration::new(system, limits);
        let settings = Settings {
            limits,
            resumable: false,
            faults: exploration.faults,
        };
        Explorer {
            exploration,
            search: strategy.search(&settings),
            strategy,
            looks_beside: None,
            beside: None,
            failed_beside: false,
            sends_scouts: None,
            scouts: None,
            first_failure: None,
            spent: Duration::ZERO,
            at_rest: false,
            resumable: false,
            anew: false,
        }
    }

    /// Sets whether to explore the rest after a failure. The verdict is the first failure all the same.
    #[must_use]
    pub fn keep_going(mut self, keep_going: bool) -> Self {
        self.exploration.keep_going = keep_going;
        self
    }

    /// Sets whether to compare states that the same transitions reach again: they must be equal. For tests of systems;
    /// it costs a fingerprint per step. Only [`Check::Stored`](crate::Check::Stored) knows the states.
    #[must_use]
    pub fn verify_states(mut self, verify_states: bool) -> Self {
        self.exploration.cursor.verifies = verify_states;
        self
    }

    /// Sets whether to go back to saved states, if the system can save them; the default. The explored executions do
    /// not depend on it.
    #[must_use]
    pub fn rewinds(mut self, rewinds: bool) -> Self {
        self.exploration.cursor.rewinds = rewinds;
        self
    }

    /// Sets after how many steps of an execution it is another thread's turn to go on, for the first time. That makes
    /// no difference to what there is to explore, but to what is explored first: a thread may go on for ever until
    /// another one moves. Random strategies do not go by it.
    #[must_use]
    pub fn quantum(mut self, steps: NonZeroUsize) -> Self {
        self.exploration.quantum = steps;
        self
    }

    /// Counts time that was spent on the program before, for the limit and the statistics.
    #[must_use]
    pub fn spent(mut self, time: Duration) -> Self {
        self.spent = time;
        self
    }

    /// Sets whether the exploration is to be saved. Failures then end it.
    #[must_use]
    pub fn resumable(mut self, resumable: bool) -> Self {
        self.resumable = resumable;
        self
    }

    /// Lets a second search explore the executions with few preemptions beside, so that something is known of a part
    /// that one can name when time runs out. Its executions are counted only if one of them fails.
    ///
    /// Only a search without a bound, of a strategy that [can have one](Strategy::can_be_bounded), and that ends with
    /// the first failure, has a second one.
    #[must_use]
    pub fn looks_beside(mut self, turns: Option<Turns>) -> Self {
        self.looks_beside = turns;
        self
    }

    /// Lets random executions find early what makes exploration start again, where it takes more than so many states.
    /// They are counted only if one of them fails.
    ///
    /// Only a search that ends with the first failure has them.
    #[must_use]
    pub fn sends_scouts(mut self, after: Option<u64>) -> Self {
        self.sends_scouts = after;
        self
    }

    /// Makes the exploration faulty.
    #[cfg(feature = "faults")]
    #[must_use]
    pub fn fault(mut self, fault: Fault) -> Self {
        self.exploration.faults.fault = Some(fault);
        self
    }

    /// The explored program.
    pub fn system(&mut self) -> &mut S {
        &mut self.exploration.cursor.system
    }

    /// The counters so far, without the time.
    pub fn statistics(&self) -> &Statistics {
        &self.exploration.statistics
    }

    /// The explored program, which outlives the exploration.
    pub fn into_system(mut self) -> S {
        self.exploration.cursor.forget_checkpoints(0);
        self.exploration.cursor.system
    }

    /// Explores until the tree is exhausted, a failure is found or a limit is reached.
    pub fn run(&mut self, observer: &mut dyn Observer<S>) -> Report {
        let now = Instant::now();
        self.exploration.started = now.checked_sub(take(&mut self.spent)).unwrap_or(now);
        if !self.at_rest {
            self.start_over();
        }
        let bounded = self.exploration.limits.preemptions.is_some();
        let verdict = if bounded && !self.strategy.can_be_bounded() {
            let reason = format!("`{}` cannot bound preemptions", self.strategy);
            Verdict::Incomplete { reason }
        } else {
            self.executions(observer)
        };
        let explores_a_part = self.exploration.cursor.system.part().is_some();
        self.exploration.statistics.time = self.exploration.time();
        self.exploration.statistics.explored = match verdict {
            Verdict::Complete => MILLION,
            _ if explores_a_part => 0,
            _ => self.search.explored(false),
        };
        Report {
            verdict,
            statistics: self.exploration.statistics,
            preemptions: match &self.beside {
                // What has fewer may be in another part.
                _ if explores_a_part => None,
                _ if bounded => Some(self.search.bound().unwrap_or(0)),
                Some(beside) if self.failed_beside => Some(beside.bound()),
                _ => None,
            },
        }
    }

    /// The settings of a search that is not saved, within these limits.
    fn settings(&self, limits: Limits) -> Settings {
        Settings {
            limits,
            resumable: false,
            faults: self.exploration.faults,
        }
    }

    /// The second search, if there is to be one.
    fn second_search(&self) -> Option<Beside<S>> {
        let exploration = &self.exploration;
        let can = self.strategy.can_be_bounded() && exploration.limits.preemptions.is_none() && !exploration.keep_going;
        let turns = self.looks_beside.filter(|_| can)?;
        let settings = self.settings(Limits {
            preemptions: Some(u32::MAX),
            ..exploration.limits
        });
        Some(Beside::new(self.strategy.search(&settings), turns))
    }

    /// The random executions ahead, if there are to be some. They are others after each start.
    fn scouts(&self) -> Option<Scouts<S>> {
        let exploration = &self.exploration;
        let first = self.sends_scouts.filter(|_| !exploration.keep_going)?;
        let settings = self.settings(exploration.limits);
        Some(Scouts::new(exploration.statistics.refinements, first, &settings))
    }

    /// Runs random executions if it is time for some. Returns the verdict if one of them fails.
    fn look_ahead(&mut self, observer: &mut dyn Observer<S>) -> Result<Option<Verdict>, Halt> {
        let statistics = &self.exploration.statistics;
        let Some(mut scouts) = self.scouts.take_if(|scouts| scouts.are_due(statistics)) else {
            return Ok(None);
        };
        let verdict = self.give_turn(Asked::Ahead, |explorer| scouts.turn(explorer, observer));
        if matches!(verdict, Ok(Some(_))) {
            scouts.add_to(&mut self.exploration.statistics);
        }
        self.scouts = Some(scouts);
        verdict
    }

    /// Lets the second search go on if it is its turn. Returns the verdict if it finds a failure.
    fn look_beside(&mut self, observer: &mut dyn Observer<S>) -> Result<Option<Verdict>, Halt> {
        let statistics = &self.exploration.statistics;
        let Some(mut beside) = self.beside.take_if(|beside| beside.is_due(statistics)) else {
            return Ok(None);
        };
        let verdict = self.give_turn(Asked::BeforeFailure, |explorer| beside.turn(explorer, observer));
        if matches!(verdict, Ok(Some(_))) {
            self.failed_beside = true;
            self.exploration.statistics.add(beside.statistics());
        }
        self.beside = Some(beside);
        verdict
    }

    /// Lets another search take its turn, and returns the verdict if it finds a failure. If it does not, `asked` is
    /// what the system is asked about starting again.
    fn give_turn(
        &mut self,
        asked: Asked,
        turn: impl FnOnce(&mut Self) -> Result<Turn, Halt>,
    ) -> Result<Option<Verdict>, Halt> {
        self.at_rest = false;
        let turn = turn(self);
        self.at_rest = true;
        let asked = match turn {
            Ok(Turn::Over) => asked,
            _ => Asked::BeforeFailure,
        };
        if self.exploration.cursor.system.starts_again(asked) {
            return Err(Halt::Refine);
        }
        Ok(turn?.verdict())
    }

    pub(super) fn exploration(&mut self) -> &mut Exploration<S> {
        &mut self.exploration
    }

    /// Runs one execution after the other.
    fn executions(&mut self, observer: &mut dyn Observer<S>) -> Verdict {
        loop {
            match self.next(observer).map_err(|halt| self.unless_void(halt)) {
                Ok(None) => {}
                Ok(Some(verdict)) => return verdict,
                Err(Halt::Refine) => {
                    self.refine();
                    observer.refined();
                }
                Err(halt) => return self.verdict(halt),
            }
        }
    }

    /// Runs an execution, and goes to where the next one begins. Returns the verdict if there is none.
    fn next(&mut self, observer: &mut dyn Observer<S>) -> Result<Option<Verdict>, Halt> {
        self.at_rest = false;
        let end = self.search.execute(&mut self.exploration, observer)?;
        self.conclude(end, observer)?;
        if !self.search.advance(&mut self.exploration) {
            let complete = self.left_out().is_none() && self.first_failure.is_none();
            let asked = Asked::AtTheEnd { complete };
            return match self.exploration.cursor.system.starts_again(asked) {
                true => Err(Halt::Refine),
                false => Ok(Some(self.exhausted())),
            };
        }
        self.at_rest = true;
        if let ControlFlow::Break(reason) = observer.at_rest(self) {
            return Ok(Some(self.incomplete(reason)));
        }
        if let Some(verdict) = self.look_ahead(observer)? {
            return Ok(Some(verdict));
        }
        if let Some(verdict) = self.look_beside(observer)? {
            return Ok(Some(verdict));
        }
        self.exploration.limit_reached().map_or(Ok(None), Err)
    }

    /// The reason to end the exploration, unless what was explored is void, and the reason may be, too.
    fn unless_void(&mut self, halt: Halt) -> Halt {
        let is_of_the_program = matches!(halt, Halt::Failed(..) | Halt::Incomplete(_));
        match is_of_the_program && self.exploration.cursor.system.starts_again(Asked::BeforeFailure) {
            true => Halt::Refine,
            false => halt,
        }
    }

    /// Counts the execution in the trace, which has ended, and reports it.
    fn conclude(&mut self, end: End, observer: &mut dyn Observer<S>) -> Result<(), Halt> {
        let Exploration {
            cursor,
            statistics,
            keep_going,
            ..
        } = &mut self.exploration;
        statistics.count(&end);
        statistics.peak_depth = statistics.peak_depth.max(cursor.trace.len() as u64);
        if statistics.executions().is_multiple_of(ESTIMATE_INTERVAL) {
            statistics.explored = self.search.explored(true);
        }
        let flow = observer.execution(&mut cursor.system, &end, &cursor.trace, statistics);
        cursor.trace.was_seen();
        if let End::Failed(failure) = end {
            let schedule = cursor.trace.schedule();
            if !*keep_going {
                return Err(Halt::Failed(failure, schedule));
            }
            self.first_failure.get_or_insert((failure, schedule));
        }
        if cursor.system.starts_again(Asked::Between) {
            return Err(Halt::Refine);
        }
        if let Some(reason) = self.search.refusal(&cursor.system) {
            observer.refused(&reason);
            return Err(Halt::Incomplete(reason));
        }
        match flow {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Halt::broken_off()),
        }
    }

    /// Goes back to an entirely unexplored tree.
    fn start_over(&mut self) {
        self.exploration.statistics = Statistics::default();
        self.exploration.earlier = Statistics::default();
        self.forget();
    }

    /// Goes back to an unexplored tree, of executions with more scheduling points.
    fn refine(&mut self) {
        let Exploration {
            statistics, earlier, ..
        } = &mut self.exploration;
        *statistics = Statistics {
            refinements: statistics.refinements + 1,
            steps: statistics.steps,
            ..Statistics::default()
        };
        *earlier = Statistics {
            time: earlier.time,
            ..Statistics::default()
        };
        self.forget();
    }

    fn forget(&mut self) {
        self.exploration.cursor.truncate(0);
        self.exploration.cursor.forget_checkpoints(0);
        self.exploration.cuts = Cuts::default();
        self.first_failure = None;
        self.beside = self.second_search();
        self.failed_beside = false;
        self.scouts = self.scouts();
        self.anew = true;
        self.search = self.strategy.search(&Settings {
            limits: self.exploration.limits,
            resumable: self.resumable,
            faults: self.exploration.faults,
        });
        let follows = self.search.follows();
        self.exploration.cursor.trace.follow(follows);
    }

    /// Why the search has left something out, if it has, when it has come to its end.
    fn left_out(&self) -> Option<String> {
        let exploration = &self.exploration;
        let Cuts { unclear, unsupported } = &exploration.cuts;
        match (exploration.statistics.cut, unsupported) {
            (0, _) => self.search.left_out(),
            (_, Some(reason)) => Some(reason.clone()),
            _ if *unclear > 0 => Some(format!(
                "in {unclear} executions, threads repeat themselves, and it is unclear whether they would do so for \
                 ever",
            )),
            (n, None) => Some(format!(
                "{n} executions were cut at the bound of {} steps",
                exploration.limits.depth
            )),
        }
    }

    /// The verdict when the search has come to its end.
    fn exhausted(&mut self) -> Verdict {
        let left_out = match (self.left_out(), self.exploration.cursor.system.part()) {
            (reason, None) => reason,
            (None, Some(part)) => Some(format!("all executions {part} were explored, and there are others")),
            (Some(reason), Some(part)) => Some(format!("{reason}; only executions {part} were explored")),
        };
        match (left_out, self.first_failure.is_some()) {
            (None, false) => Verdict::Complete,
            (reason, _) => self.incomplete(reason.unwrap_or_default()),
        }
    }

    /// The verdict when the search has stopped for this reason: the first failure, if there was one.
    fn incomplete(&mut self, reason: String) -> Verdict {
        match self.first_failure.take() {
            Some((failure, schedule)) => Verdict::Failed { failure, schedule },
            None => Verdict::Incomplete {
                reason: self.with_cuts(reason),
            },
        }
    }

    fn verdict(&mut self, halt: Halt) -> Verdict {
        match halt {
            Halt::Failed(failure, schedule) => Verdict::Failed { failure, schedule },
            Halt::Incomplete(reason) => self.incomplete(reason),
            Halt::Limit(reason) => {
                let reason = self.under_bound(reason);
                self.incomplete(reason)
            }
            Halt::Refine => unreachable!("the loop starts again with more scheduling points"),
        }
    }

    /// Adds what is not supported of the executions so far to a reason to stop.
    fn with_cuts(&self, reason: String) -> String {
        match &self.exploration.cuts.unsupported {
            Some(unsupported) if *unsupported != reason => format!("{reason}\n{unsupported}"),
            _ => reason,
        }
    }

    /// Adds the part explored under bounds to a reason to stop.
    fn under_bound(&self, reason: String) -> String {
        let all = self.exploration.statistics.cut == 0;
        let beside = self.beside.as_ref().and_then(Beside::explored);
        let part = self.exploration.cursor.system.part();
        let part = part.map_or(String::new(), |part| format!(" and {part}"));
        let within = |bound| format!("{}{part}", within(bound));
        match self.search.bound() {
            None if let Some(bound) = beside => format!("{reason}; all executions {} were explored", within(bound)),
            None => reason,
            Some(bound) if bound == 0 || !all => format!("{reason}, within the executions {}", within(bound)),
            Some(bound) => format!(
                "{reason}, within the executions {}; those with fewer were explored",
                within(bound)
            ),
        }
    }

    /// Saves the exploration. Returns `None` while an execution runs, if nothing is left to explore, and if the
    /// exploration is not [`resumable`](Explorer::resumable) or goes on after failures.
    pub fn save(&mut self) -> Option<Snapshot> {
        if !self.at_rest || self.exploration.keep_going || !self.resumable {
            return None;
        }
        let search = self.search.save()?;
        let saved = Saved::new(&self.exploration, search);
        Some(Snapshot {
            executions: self.exploration.statistics.executions(),
            bytes: to_bytes(&saved),
            keys: self.search.take_keys(),
            anew: take(&mut self.anew),
        })
    }

    /// Makes [`Explorer::run`] resume from a snapshot of an exploration of the same program with the same strategy and
    /// the same bound on an execution's length. Limits of executions, steps and time apply from now on.
    ///
    /// The system must be as it was then, but for the execution: it must know of the threads, and of the scheduling
    /// points that it has learnt to need.
    ///
    /// # Errors
    /// If that is not possible; the exploration will then begin at the beginning.
    pub fn resume(&mut self, bytes: &[u8], keys: impl IntoIterator<Item = u128>) -> Result<(), CannotResume> {
        let saved: Saved = from_bytes(bytes).ok_or(CannotResume::Damaged)?;
        self.start_over();
        let restored = match self.search.restore(&saved.search) {
            Some(()) => saved.restore(&mut self.exploration),
            None => Err(CannotResume::Other),
        };
        restored.inspect_err(|_| self.start_over())?;
        self.search.add_keys(&mut keys.into_iter());
        self.at_rest = true;
        self.anew = false;
        Ok(())
    }
}
