//! The oracle: what strategies find in a toy program, compared with all its interleavings.

use crate::actors::{self, Actors};
use crate::enumerate::enumerate;
use crate::erased::Erased;
use crate::mazurkiewicz::{canonical_form, happens_before};
use crate::toy::{Part, Program, Terminal, Toy};
use dpor_explorer::{
    Check, Context, Dpor, End, Explorer, Fault, Limits, Observer, Order, Statistics, Step, Stop, Strategy, System,
    ThreadId, Trace, Transition, Verdict,
};
use std::any::Any;
use std::collections::HashSet;
use std::fmt;
use std::hash::Hash;
use std::num::{NonZeroU32, NonZeroUsize};
use std::ops::ControlFlow;

/// Every configuration of the context-sensitive strategy.
pub const CONTEXTS: [Context; 12] = {
    let mut contexts = [Context::CDPOR1; 12];
    let mut i = 0;
    while i < contexts.len() {
        contexts[i] = Context {
            check: [Check::Eager, Check::Lazy, Check::Stored][i / 4],
            anticipate: i & 1 != 0,
            guide: i & 2 != 0,
        };
        i += 1;
    }
    contexts
};

/// Configurations of `dpor` and `trans`: every order with sleep sets, and every order without.
pub const DPORS: [Dpor; 6] = {
    let mut dpors = [Dpor {
        sleep: true,
        order: Order::Fifo,
    }; 6];
    let mut i = 0;
    while i < dpors.len() {
        dpors[i] = Dpor {
            sleep: i < 3,
            order: [Order::Fifo, Order::Eca, Order::Lca][i % 3],
        };
        i += 1;
    }
    dpors
};
/// The unfolding-based strategy: with alternatives to everything explored, and with k-partial ones.
pub const UNFOLDINGS: [Strategy; 3] = [
    Strategy::Unfolding { partial: None },
    Strategy::Unfolding {
        partial: NonZeroU32::new(1),
    },
    Strategy::Unfolding {
        partial: NonZeroU32::new(2),
    },
];

/// A toy machine: its states are exact.
pub trait Exact: System + Any {
    /// The end of an execution, without regard to the numbers of threads.
    type Terminal: Clone + Eq + Hash + fmt::Debug + fmt::Display;

    /// The current state.
    fn terminal(&self) -> Self::Terminal;

    /// The thread's creation path.
    fn path(&self, thread: ThreadId) -> &[u8];

    /// Whether an execution that ends like this has failed.
    fn fails(terminal: &Self::Terminal) -> bool;
}

impl Exact for Toy {
    type Terminal = Terminal;

    fn terminal(&self) -> Terminal {
        Toy::terminal(self)
    }

    fn path(&self, thread: ThreadId) -> &[u8] {
        Toy::path(self, thread)
    }

    fn fails(terminal: &Terminal) -> bool {
        terminal.blocked().next().is_some() || terminal.failed().next().is_some()
    }
}

/// The findings of an exploration.
#[derive(Clone, Debug)]
pub struct Found<S: Exact> {
    /// The ends of executions.
    pub terminals: HashSet<S::Terminal>,
    /// The canonical forms of the complete executions.
    pub traces: HashSet<u64>,
    /// Whether an execution was cut short by a failed assertion.
    pub stopped: bool,
    /// Whether the strategy has refused the program.
    pub refused: bool,
    /// The explorer's counters.
    pub statistics: Statistics,
    /// The explorer's conclusion; `None` if it was not the explorer.
    pub verdict: Option<Verdict>,
    /// The first thing about the explorer's own data that is wrong.
    pub defect: Option<String>,
}

impl<S: Exact> Default for Found<S> {
    fn default() -> Self {
        Found {
            terminals: HashSet::new(),
            traces: HashSet::new(),
            stopped: false,
            refused: false,
            statistics: Statistics::default(),
            verdict: None,
            defect: None,
        }
    }
}

impl<S: Exact> Found<S> {
    /// Whether some execution fails.
    pub(crate) fn fails(&self) -> bool {
        self.stopped || self.terminals.iter().any(S::fails)
    }
}

struct Collector<S: Exact> {
    found: Found<S>,
    limit: u64,
}

impl<S: Exact> Collector<S> {
    fn add<'a>(&mut self, system: &S, steps: impl Iterator<Item = (Transition, &'a Step)>) {
        let trace = canonical_form(steps, |thread| system.path(thread));
        self.found.traces.insert(trace);
        self.found.terminals.insert(system.terminal());
    }
}

impl<S: Exact> Observer<Erased> for Collector<S> {
    fn execution(&mut self, system: &mut Erased, end: &End, trace: &Trace, statistics: &Statistics) -> ControlFlow<()> {
        let system: &mut S = system.get();
        if matches!(end, End::Complete | End::Failed(_)) {
            self.add(
                system,
                trace.events().iter().map(|event| (event.transition(), event.step())),
            );
            let judged = system.finish();
            match end {
                End::Complete if judged.is_err() => {
                    self.found
                        .defect
                        .get_or_insert_with(|| format!("reported as complete: {judged:?}"));
                }
                End::Failed(_) => self.found.stopped |= system.threads().iter().any(|s| s.alternatives().is_some()),
                _ => {}
            }
        }
        if self.found.defect.is_none() {
            self.found.defect = wrong_clock(trace);
        }
        if statistics.executions() > self.limit {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn refused(&mut self, _: &str) {
        self.found.refused = true;
    }

    fn refined(&mut self) {
        self.found = Found::default();
    }
}

/// Compares the trace's clocks with happens-before as it follows from the footprints.
fn wrong_clock(trace: &Trace) -> Option<String> {
    let events = trace.events();
    let sets = happens_before(events.iter().map(|event| (event.transition(), event.step())));
    for (later, set) in sets.iter().enumerate() {
        for earlier in 0..later {
            let expected = set >> earlier & 1 == 1;
            if events[later].ordered_after(&events[earlier]) != expected {
                let schedule = trace.schedule();
                return Some(format!(
                    "happens-before of events {earlier} and {later} is not {expected}: {schedule:?}"
                ));
            }
        }
    }
    None
}

/// Explores the program; breaks off after `limit` executions.
pub fn explore<S: Exact>(system: S, strategy: Strategy, limit: u64, fault: Option<Fault>) -> Found<S> {
    collect(explorer(system, strategy, limit, fault), limit)
}

fn collect<S: Exact>(explorer: Explorer<Erased>, limit: u64) -> Found<S> {
    let mut explorer = explorer.keep_going(true);
    let mut collector = Collector {
        found: Found::default(),
        limit,
    };
    let report = explorer.run(&mut collector);
    let mut found = collector.found;
    if let Verdict::Failed { schedule, .. } = &report.verdict
        && !fails(explorer.system(), schedule)
    {
        found
            .defect
            .get_or_insert_with(|| format!("the schedule of its failure does not fail: {schedule:?}"));
    }
    Found {
        statistics: report.statistics,
        verdict: Some(report.verdict),
        ..found
    }
}

fn explorer(system: impl Exact, strategy: Strategy, limit: u64, fault: Option<Fault>) -> Explorer<Erased> {
    let executions = strategy.is_random().then_some(limit);
    let limits = Limits {
        depth: 120,
        executions,
        ..Limits::default()
    };
    let explorer = Explorer::new(Erased::new(system), strategy, limits);
    match fault {
        Some(fault) => explorer.fault(fault),
        None => explorer,
    }
}

/// Explores a program that fails up to its first failure, which may be met while states are compared.
fn judge_first_failure(strategy: Strategy, mut explorer: Explorer<Erased>) -> Result<(), Mismatch> {
    let what = match explorer.run(&mut ()).verdict {
        Verdict::Failed { schedule, .. } if fails(explorer.system(), &schedule) => return Ok(()),
        Verdict::Failed { schedule, .. } => format!("the schedule of its first failure does not fail: {schedule:?}"),
        verdict => format!("stops without a failure: {verdict:?}"),
    };
    Err(Mismatch { strategy, what })
}

/// Finds everything by brute force; `None` if that takes more than `limit` executions.
pub fn enumerate_all<S: Exact>(mut system: S, limit: u64) -> Option<Found<S>> {
    let fresh = || Collector {
        found: Found::default(),
        limit,
    };
    let visit = |collector: &mut Collector<S>, system: &mut S, steps: &[(Transition, Step)]| {
        collector.add(system, steps.iter().map(|(transition, step)| (*transition, step)));
    };
    let (executions, collector) = enumerate(&mut system, limit, fresh, visit).ok()?;
    let mut found = collector.found;
    found.statistics.complete = executions;
    Some(found)
}

/// The strategies and configurations to compare.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Programs with more interleavings than this are left out.
    pub limit: u64,
    /// Whether to compare `exhaustive` with an enumeration that does not use the driver.
    pub brute_force: bool,
    /// The configurations of the context-sensitive strategy.
    pub contexts: &'static [Context],
    /// The configurations of `dpor` and `trans`.
    pub dpors: &'static [Dpor],
    /// A fault of `source` and those that are built on it, and of `dpor` and `trans`.
    pub fault: Option<Fault>,
    /// A fault of `optimal`.
    pub optimal_fault: Option<Fault>,
    /// A fault of the unfolding-based strategy.
    pub unfolding_fault: Option<Fault>,
    /// A fault of the search over states.
    pub states_fault: Option<Fault>,
    /// A part of the state on which fingerprints do not depend under the context-sensitive strategy.
    pub unseen: Option<Part>,
    /// The same, under the search over states.
    pub unseen_by_states: Option<Part>,
    /// Whether some states have no fingerprint.
    pub opaque: bool,
}

impl Settings {
    /// Compares everything, without a fault.
    pub fn new(limit: u64) -> Settings {
        Settings {
            limit,
            brute_force: false,
            contexts: &CONTEXTS,
            dpors: &DPORS,
            fault: None,
            optimal_fault: None,
            unfolding_fault: None,
            states_fault: None,
            unseen: None,
            unseen_by_states: None,
            opaque: false,
        }
    }
}

/// The findings of strategies that agree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Agreement {
    /// The counters of `exhaustive`.
    pub exhaustive: Statistics,
    /// The counters of `source`.
    pub source: Statistics,
    /// The counters of `optimal`.
    pub optimal: Statistics,
    /// The counters of each configuration of the context-sensitive strategy, in the order of the settings.
    pub contexts: Vec<Statistics>,
    /// The counters of the search over states.
    pub states: Statistics,
    /// The counters of each configuration of `dpor`, in the order of the settings.
    pub dpors: Vec<Statistics>,
    /// The counters of each configuration of `trans`, unless it has refused the program.
    pub trans: Vec<Option<Statistics>>,
    /// The counters of each of [`UNFOLDINGS`].
    pub unfoldings: Vec<Statistics>,
    /// The number of Mazurkiewicz traces.
    pub traces: u64,
    /// The number of terminal states.
    pub terminals: u64,
    /// Whether some execution deadlocks.
    pub deadlock: bool,
    /// Whether some execution fails an assertion.
    pub failure: bool,
}

/// A strategy that does not agree with `exhaustive`.
#[derive(Clone, Debug)]
pub struct Mismatch {
    /// The strategy.
    pub strategy: Strategy,
    /// The error.
    pub what: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.strategy, self.what)
    }
}

/// The findings of strategies that agree on an actor program.
#[derive(Clone, Debug)]
pub struct ActorAgreement {
    /// The counters of `exhaustive`.
    pub exhaustive: Statistics,
    /// The counters of `source`.
    pub source: Statistics,
    /// The counters of each configuration of `dpor` and of `trans`, in the order of the settings.
    pub dpors: Vec<[Statistics; 2]>,
    /// Whether some execution fails.
    pub fails: bool,
}

/// Compares strategies on an actor program, in which dependency is transitive; `None` if it has too many interleavings.
///
/// # Errors
/// The first difference.
pub fn compare_actors(program: &actors::Program, settings: &Settings) -> Result<Option<ActorAgreement>, Mismatch> {
    let limit = settings.limit;
    let system = Actors::new(program.clone());
    let exhaustive = explore(system.clone(), Strategy::Exhaustive, limit, None);
    if exhaustive.statistics.executions() > limit {
        return Ok(None);
    }
    if settings.brute_force {
        compare_enumeration(system.clone(), limit, &exhaustive)?;
    }
    judge(Strategy::Exhaustive, &exhaustive, &exhaustive)?;
    let source = explore(system.clone(), Strategy::Source, limit, None);
    judge(Strategy::Source, &source, &exhaustive)?;
    let optimal = explore(system.clone(), Strategy::Optimal, limit, None);
    judge(Strategy::Optimal, &optimal, &exhaustive)?;
    for &context in settings.contexts {
        let strategy = Strategy::Context(context);
        judge(strategy, &explore(system.clone(), strategy, limit, None), &exhaustive)?;
    }
    let strategy = UNFOLDINGS[0];
    let unfolding = explore(system.clone(), strategy, limit, None);
    judge(strategy, &unfolding, &exhaustive)?;
    let (run, most) = (unfolding.statistics.executions(), source.statistics.executions());
    if !exhaustive.stopped && run > most {
        let what = format!("runs {run} executions, source only {most}");
        return Err(Mismatch { strategy, what });
    }
    let mut dpors = Vec::new();
    for &options in settings.dpors {
        let [Some(dpor), Some(trans)] = compare_dpor(&system, options, settings, &exhaustive)? else {
            return Err(Mismatch {
                strategy: Strategy::Trans(options),
                what: "refuses an actor program".to_owned(),
            });
        };
        // With locks, what is blocked can ask for more than DPOR explores.
        if !options.sleep && trans.states > dpor.states {
            return Err(Mismatch {
                strategy: Strategy::Trans(options),
                what: format!("visits {} states, dpor only {}", trans.states, dpor.states),
            });
        }
        dpors.push([dpor, trans]);
    }
    Ok(Some(ActorAgreement {
        exhaustive: exhaustive.statistics,
        source: source.statistics,
        dpors,
        fails: exhaustive.fails(),
    }))
}

/// Compares all strategies on a program; `None` if it has too many interleavings.
///
/// # Errors
/// The first difference.
pub fn compare(program: &Program, settings: &Settings) -> Result<Option<Agreement>, Mismatch> {
    let limit = settings.limit;
    let toy = Toy::new(program.clone());
    let exhaustive = explore(toy.clone(), Strategy::Exhaustive, limit, None);
    if exhaustive.statistics.executions() > limit {
        return Ok(None);
    }
    if settings.brute_force {
        compare_enumeration(toy.clone(), limit, &exhaustive)?;
    }
    judge(Strategy::Exhaustive, &exhaustive, &exhaustive)?;
    let source = explore(toy.clone(), Strategy::Source, limit, settings.fault);
    judge(Strategy::Source, &source, &exhaustive)?;
    let optimal = explore(toy.clone(), Strategy::Optimal, limit, settings.optimal_fault);
    judge(Strategy::Optimal, &optimal, &exhaustive)?;
    let seed = exhaustive.statistics.steps;
    for strategy in [Strategy::Random { seed }, Strategy::Pct { depth: 3, seed }] {
        judge(strategy, &explore(toy.clone(), strategy, 10, None), &exhaustive)?;
    }
    let mut unfoldings = Vec::new();
    for strategy in UNFOLDINGS {
        let found = explore(toy.clone(), strategy, limit, settings.unfolding_fault);
        judge(strategy, &found, &exhaustive)?;
        if exhaustive.fails() {
            judge_first_failure(
                strategy,
                explorer(toy.clone(), strategy, limit, settings.unfolding_fault),
            )?;
        }
        // Alternatives to all that was explored lead to nothing that was.
        if strategy == UNFOLDINGS[0] && found.statistics.blocked > 0 {
            let what = format!("gives up {} executions", found.statistics.blocked);
            return Err(Mismatch { strategy, what });
        }
        unfoldings.push(found.statistics);
    }
    let mut contexts = Vec::new();
    for &context in settings.contexts {
        let strategy = Strategy::Context(context);
        let toy = toy.clone().unseen(settings.unseen).opaque(settings.opaque);
        let found = explore(toy.clone(), strategy, limit, settings.fault);
        judge(strategy, &found, &exhaustive)?;
        if exhaustive.fails() {
            judge_first_failure(strategy, explorer(toy, strategy, limit, settings.fault))?;
        }
        // After a failure that ends the execution, not all orders are explored, and which ones may differ.
        if !exhaustive.stopped && found.statistics.complete > source.statistics.complete {
            return Err(Mismatch {
                strategy,
                what: format!(
                    "completes {} executions, source only {}",
                    found.statistics.complete, source.statistics.complete
                ),
            });
        }
        contexts.push(found.statistics);
    }
    let states = compare_states(&toy, settings, &exhaustive)?;
    let (mut dpors, mut trans) = (Vec::new(), Vec::new());
    for &options in settings.dpors {
        let [dpor, tried] = compare_dpor(&toy, options, settings, &exhaustive)?;
        dpors.extend(dpor);
        trans.push(tried);
    }
    Ok(Some(Agreement {
        dpors,
        trans,
        exhaustive: exhaustive.statistics,
        source: source.statistics,
        optimal: optimal.statistics,
        contexts,
        states,
        unfoldings,
        traces: exhaustive.traces.len() as u64,
        terminals: exhaustive.terminals.len() as u64,
        deadlock: exhaustive.terminals.iter().any(|t| t.blocked().next().is_some()),
        failure: exhaustive.terminals.iter().any(|t| t.failed().next().is_some()),
    }))
}

/// Compares the strategies that take turns, which change after this number of steps, with `exhaustive`. Says whether the
/// program has few enough interleavings for that.
///
/// # Errors
/// The first difference.
pub fn compare_turns(program: &Program, limit: u64, turn: NonZeroUsize) -> Result<bool, Mismatch> {
    let toy = Toy::new(program.clone());
    let exhaustive = explore(toy.clone(), Strategy::Exhaustive, limit, None);
    if exhaustive.statistics.executions() > limit {
        return Ok(false);
    }
    let contexts = CONTEXTS.map(Strategy::Context);
    let others = [Strategy::Source, Strategy::Optimal, Strategy::States];
    for strategy in others.into_iter().chain(contexts) {
        let found = collect(explorer(toy.clone(), strategy, limit, None).quantum(turn), limit);
        judge(strategy, &found, &exhaustive)?;
    }
    Ok(true)
}

fn compare_enumeration<S: Exact>(system: S, limit: u64, exhaustive: &Found<S>) -> Result<(), Mismatch> {
    let what = match enumerate_all(system, limit) {
        None => "brute force finds more executions",
        Some(all) if all.statistics.complete != exhaustive.statistics.complete => {
            "brute force finds another number of executions"
        }
        Some(all) if all.traces != exhaustive.traces || all.terminals != exhaustive.terminals => {
            "brute force finds other executions"
        }
        Some(_) => return Ok(()),
    };
    Err(Mismatch {
        strategy: Strategy::Exhaustive,
        what: what.to_owned(),
    })
}

/// The counters of the search over states.
fn compare_states(toy: &Toy, settings: &Settings, exhaustive: &Found<Toy>) -> Result<Statistics, Mismatch> {
    let strategy = Strategy::States;
    let toy = toy.clone().unseen(settings.unseen_by_states).opaque(settings.opaque);
    let found = explore(toy.clone(), strategy, settings.limit, settings.states_fault);
    judge(strategy, &found, exhaustive)?;
    if exhaustive.fails() {
        judge_first_failure(strategy, explorer(toy, strategy, settings.limit, settings.states_fault))?;
    }
    Ok(found.statistics)
}

/// The counters of `dpor` and `trans`, the latter only if it does not refuse the program.
fn compare_dpor<S: Exact + Clone>(
    system: &S,
    options: Dpor,
    settings: &Settings,
    exhaustive: &Found<S>,
) -> Result<[Option<Statistics>; 2], Mismatch> {
    let strategy = Strategy::Dpor(options);
    let dpor = explore(system.clone(), strategy, settings.limit, settings.fault);
    judge(strategy, &dpor, exhaustive)?;
    if dpor.statistics.complete > exhaustive.statistics.complete {
        let what = "completes more executions than there are".to_owned();
        return Err(Mismatch { strategy, what });
    }
    let strategy = Strategy::Trans(options);
    let trans = explore(system.clone(), strategy, settings.limit, settings.fault);
    if trans.refused {
        return Ok([Some(dpor.statistics), None]);
    }
    judge(strategy, &trans, exhaustive)?;
    Ok([Some(dpor.statistics), Some(trans.statistics)])
}

fn judge<S: Exact>(strategy: Strategy, found: &Found<S>, exhaustive: &Found<S>) -> Result<(), Mismatch> {
    let wrong = |what: String| Err(Mismatch { strategy, what });
    if let Some(defect) = &found.defect {
        return wrong(defect.clone());
    }
    if let Some(invented) = found.terminals.difference(&exhaustive.terminals).next() {
        return wrong(format!("invents a terminal state: {invented}"));
    }
    // A random walk may not have met all that asks for more scheduling points; its steps are longer then.
    let same_steps = found.statistics.refinements == exhaustive.statistics.refinements;
    if same_steps && !found.traces.is_subset(&exhaustive.traces) {
        return wrong("invents a trace".to_owned());
    }
    let verdict = found.verdict.as_ref().expect("the explorer concludes");
    if strategy.is_random() {
        return match verdict {
            Verdict::Complete => wrong("says it is complete".to_owned()),
            _ => Ok(()),
        };
    }
    let failing = exhaustive.fails();
    match verdict {
        Verdict::Incomplete { reason } => return wrong(format!("incomplete: {reason}")),
        Verdict::Failed { .. } if !failing => return wrong("invents a failure".to_owned()),
        Verdict::Complete if failing => return wrong("misses all failures".to_owned()),
        _ => {}
    }
    // Where the first failure ends an execution, what other threads would have done after it is not
    // explored in every order: only the verdict must be the same.
    if !exhaustive.stopped {
        if let Some(missed) = exhaustive.terminals.difference(&found.terminals).next() {
            return wrong(format!("misses a terminal state: {missed}"));
        }
        // Orders that lead to the same state are one where states are compared.
        let compares = strategy.compares_states();
        if found.traces != exhaustive.traces && !compares {
            let missed = exhaustive.traces.difference(&found.traces).count();
            return wrong(format!("misses {missed} of {} traces", exhaustive.traces.len()));
        }
    }
    let once = match strategy {
        Strategy::Source | Strategy::Optimal | Strategy::Context(_) | Strategy::Unfolding { .. } => true,
        Strategy::Dpor(options) | Strategy::Trans(options) => options.sleep,
        Strategy::Exhaustive | Strategy::States | Strategy::Random { .. } | Strategy::Pct { .. } => false,
    };
    // Executions before such a search begins again are counted.
    if strategy == Strategy::Optimal && found.statistics.fallbacks > 0 {
        return Ok(());
    }
    if once && found.statistics.complete != found.traces.len() as u64 {
        return wrong(format!(
            "completes {} executions of {} traces, although none is to be run twice",
            found.statistics.complete,
            found.traces.len()
        ));
    }
    if found.statistics.complete > exhaustive.statistics.complete {
        return wrong(format!(
            "runs {} executions, exhaustive only {}",
            found.statistics.complete, exhaustive.statistics.complete
        ));
    }
    Ok(())
}

/// Runs the schedule of a reported failure; says whether its last step fails, or else its end.
pub fn fails(system: &mut impl System, schedule: &[Transition]) -> bool {
    let mut step = Step::default();
    system.restart();
    for (at, transition) in schedule.iter().enumerate() {
        if !transition.is_enabled(system.threads()) {
            return false;
        }
        step.clear();
        match system.step(*transition, &mut step) {
            Ok(()) => {}
            Err(Stop::Failed(_)) => return at + 1 == schedule.len(),
            Err(_) => return false,
        }
    }
    system.finish().is_err()
}

/// Makes a program that fails `wrong` as small as single deletions can, for reading.
pub fn minimise(mut program: Program, wrong: impl Fn(&Program) -> bool) -> Program {
    'smaller: loop {
        for body in (0..program.started)
            .rev()
            .filter(|&body| program.bodies[body].is_empty())
        {
            let candidate = program.without_thread(body);
            if wrong(&candidate) {
                program = candidate;
                continue 'smaller;
            }
        }
        for body in (0..program.bodies.len()).rev() {
            for index in (0..program.bodies[body].len()).rev() {
                let candidate = program.without(body, index);
                if wrong(&candidate) {
                    program = candidate;
                    continue 'smaller;
                }
            }
        }
        return program;
    }
}
