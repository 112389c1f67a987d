//! Runs a test under the explorer: for `cargo dpor` (one test per process, which reports to its parent), in a plain run
//! of a binary built by it, and for explicit use by [`model`].

mod body;
mod child;
mod coverage;
mod describe;
mod difference;
mod execution_log;
mod journal;
mod saving;
mod sharing;
mod simplify;

use body::Body;
use dpor_explorer::{Explorer, Limits, Report, Sharded, Statistics, Strategy, System, Verdict};
use dpor_protocol::{Config, Creation, FailureKind, ModelOption, Seed, SeedStep, ValueBytes, test_hash};
use dpor_scheduler::label::Label;
use dpor_scheduler::{Memory, OperationKind, Options, Program, Timeouts};
use journal::{Journaled, unshared};
use std::fmt;
use std::process::{ExitCode, Termination};
use std::time::Duration;

/// Whether explored programs are built as usual, and not by `cargo dpor`: their plain accesses are not seen, but for
/// those to [cells](crate::cell).
const EXPLICIT: bool = cfg!(not(dpor_facade));

/// The kinds of failures by an access to memory.
const ACCESSES: [FailureKind; 3] = [
    FailureKind::DataRace,
    FailureKind::UseAfterFree,
    FailureKind::OutOfBounds,
];

/// Explores every interleaving that matters of `test`, which may use what this crate offers in place of `std`.
///
/// This is the explicit use, for a crate that is not built by `cargo dpor`: the test calls `model` itself, and uses
/// `shim_std::sync`, `shim_std::thread` and so on where it would use `std`. Data races are looked for in
/// [cells](crate::cell), if there are some.
///
/// What `test` allocates lives in memory that is wiped after each execution. To carry something out of the executions,
/// use memory that was there before and does not grow, such as an `Arc` of atomics of std, or fill a collection by way
/// of [`outside`](crate::outside); one that is made outside and just filled inside would end up pointing to memory that
/// is gone.
///
/// Statics of the executable are part of the explored program, and get their first values back before each execution.
/// While a model runs, no other thread of the process may use them (but std's): let the tests of such an executable run
/// one after the other (`--test-threads=1`), each in a process of its own (cargo-nextest), or let every one of them
/// begin with `model`, which waits for its turn.
///
/// Inside of a model, which a test under `cargo dpor test` is, `test` runs once, as part of the exploration that goes
/// on.
///
/// # Panics
/// If an execution fails, with the report of that execution and the seed that [`Model::replay`] takes; if the
/// exploration is incomplete; and if this process cannot hold a model.
pub fn model<T: Termination>(test: impl Fn() -> T + 'static) {
    Model::new().check(test);
}

/// An exploration with options. See [`model`].
#[derive(Clone, Debug)]
pub struct Model {
    name: String,
    strategy: Strategy,
    limits: Limits,
    options: Options,
    rewinds: bool,
}

impl Default for Model {
    fn default() -> Self {
        Self::new()
    }
}

impl Model {
    /// Creates the exploration that [`model`] makes: under `states`, without limits.
    pub fn new() -> Model {
        Model {
            name: crate::thread::current().name().unwrap_or("model").to_owned(),
            strategy: Strategy::default(),
            limits: Limits::default(),
            options: Options::default(),
            rewinds: false,
        }
    }

    /// Sets the strategy, such as [`Strategy::Source`] or `Strategy::Context(Context::CDPOR3)`; its text forms can be
    /// parsed: `"context:lazy".parse()`. A random walk goes on until a failure or a limit ends it.
    #[must_use]
    pub fn strategy(mut self, strategy: Strategy) -> Model {
        self.strategy = strategy;
        self
    }

    /// Gives up after this many executions.
    #[must_use]
    pub fn max_executions(mut self, executions: u64) -> Model {
        self.limits.executions = Some(executions);
        self
    }

    /// Gives up after this many steps of all executions together.
    #[must_use]
    pub fn max_steps(mut self, steps: u64) -> Model {
        self.limits.steps = Some(steps);
        self
    }

    /// Gives up after this time.
    #[must_use]
    pub fn max_time(mut self, time: Duration) -> Model {
        self.limits.time = Some(time);
        self
    }

    /// Bounds the length of each execution, in steps.
    #[must_use]
    pub fn max_depth(mut self, steps: u32) -> Model {
        self.limits.depth = steps;
        self
    }

    /// Explores executions with at most this number of preemptions: first without any, then with one, and so on, until
    /// nothing is left out. A preemption is a switch away from a thread that could have gone on. If the strategy is
    /// `context`, states are not compared.
    #[must_use]
    pub fn preemptions(mut self, most: u32) -> Model {
        self.limits.preemptions = Some(most);
        self
    }

    /// Lets waits on condition variables and `park` end without a wake-up.
    #[must_use]
    pub fn spurious_wakeups(self, allowed: bool) -> Model {
        self.option(ModelOption::SpuriousWakeups, allowed)
    }

    /// Lets `compare_exchange_weak` fail without a reason.
    #[must_use]
    pub fn spurious_cas(self, allowed: bool) -> Model {
        self.option(ModelOption::SpuriousCas, allowed)
    }

    /// Sets when a wait with a timeout may time out: at once, unless this says otherwise.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Model {
        self.options = self.options.with_timeouts(timeouts);
        self
    }

    /// Sets what atomics promise: sequential consistency, unless this says otherwise.
    #[must_use]
    pub fn memory(mut self, memory: Memory) -> Model {
        self.options = self.options.with_memory(memory);
        self
    }

    /// Makes it a failure, of kind `leak`, if an execution succeeds but leaves memory that is neither freed nor
    /// reachable from statics or from the stack of a thread that waits for ever.
    #[must_use]
    pub fn leaks(self, leaks: bool) -> Model {
        self.option(ModelOption::Leaks, leaks)
    }

    /// Checks the checker: keeps states whole, compares them byte by byte where their digests agree, and expects each
    /// to be the same where the same steps lead to it again.
    #[must_use]
    pub fn exact_states(self, exact: bool) -> Model {
        self.option(ModelOption::ExactStates, exact)
    }

    /// Lets the exploration copy saved states back instead of running the steps again that lead there, which is faster.
    ///
    /// For tests that write to no memory that is older than the execution, except for counters that need not be exact:
    /// what the steps before have written there is not written again. `cargo dpor test`, where all memory is the
    /// model's, does so by itself.
    #[must_use]
    pub fn rewinds(mut self, rewinds: bool) -> Model {
        self.rewinds = rewinds;
        self
    }

    /// Explores, and returns the result. About memory that outlives an execution, see [`model`].
    ///
    /// Inside of a model, which a test under `cargo dpor test` is, there can be no second exploration: the verdict on
    /// the test is then `incomplete`.
    ///
    /// # Panics
    /// If this process cannot hold a model, or if the strategy cannot explore what the options ask for: timeouts that
    /// fire last, or weak memory.
    pub fn explore<T: Termination>(&self, test: impl Fn() -> T + 'static) -> Outcome {
        refuse_in_model("explore");
        let body = Body::new(self.name.clone(), None, test);
        match self.run(body) {
            Ok(outcome) => outcome,
            Err(error) => panic!("{error}"),
        }
    }

    /// Explores, and requires that the result is [`Verdict::Complete`].
    ///
    /// Inside of a model, `test` runs once, as part of the exploration that goes on; of the options, those of that
    /// exploration hold.
    ///
    /// # Panics
    /// If it is not, or if this process cannot hold a model.
    pub fn check<T: Termination>(&self, test: impl Fn() -> T + 'static) {
        if dpor_scheduler::on_model_thread() {
            assert!(test().report() == ExitCode::SUCCESS, "the test returned an error");
            return;
        }
        let outcome = self.explore(test);
        assert!(outcome.report.verdict == Verdict::Complete, "{outcome}");
    }

    /// Runs the schedule of a seed that a failed exploration of the same test has printed, and ends in the same
    /// failure.
    ///
    /// # Panics
    /// With the failure; and if the seed is damaged or does not fit the test. Inside of a model as [`Model::explore`].
    pub fn replay<T: Termination>(&self, seed: &str, test: impl Fn() -> T + 'static) {
        refuse_in_model("replay");
        let seed: Seed = seed.parse().unwrap_or_else(|error| panic!("{error}"));
        if let Err(error) = seed.check_test(&self.name) {
            panic!("{error}");
        }
        let body = Body::new(self.name.clone(), None, test);
        let mut steps = Vec::new();
        let ended = child::follow(&seed, body, &mut |event| {
            if let child::Told::Step(mut step) = event {
                // Nobody here can make words of bytes.
                step.detail = step.detail.map(|detail| ValueBytes::replaced(&detail, |_| None));
                steps.push(format!("  {:>3}  {step}", step.index));
            }
        });
        match ended {
            Ok(failure) => panic!("{failure}\n{}", steps.join("\n")),
            Err(error) => panic!("{error}"),
        }
    }

    fn option(mut self, option: ModelOption, on: bool) -> Model {
        self.options = self.options.with(option, on);
        self
    }

    fn run(&self, body: Body) -> Result<Outcome, dpor_scheduler::SetupError> {
        if let Err(error) = judge_strategy(self.strategy, self.options) {
            panic!("{error}");
        }
        let mut program = Program::new(self.options, move || body.run())?;
        if EXPLICIT {
            program.expect_cells_only();
        }
        program.leave_out_private_stacks();
        program.prepare_for(self.strategy, &self.limits);
        program.exact_states(self.options.has(ModelOption::ExactStates));
        program.find_leaks(self.options.has(ModelOption::Leaks));
        let whole = Sharded::whole(Journaled::new(program, unshared()));
        let mut explorer = Explorer::new(whole, self.strategy, self.limits)
            .verify_states(self.options.has(ModelOption::ExactStates))
            .rewinds(self.rewinds);
        let mut watching = coverage::Watching::default();
        let mut report = explorer.run(&mut watching);
        let program = &mut explorer.system().program;
        let labels = program.labels();
        let sharing = watching.sharing.report(program);
        let counts = child::counts(&report.statistics, program.threads().len(), report.statistics.time);
        let seed = match &mut report.verdict {
            Verdict::Failed { failure, schedule } => {
                let leak = self.options.has(ModelOption::Leaks) && FailureKind::Leak.is(failure.kind);
                let race = program.looks_for_races() && ACCESSES.iter().any(|kind| kind.is(failure.kind));
                if leak || race {
                    // So that it is known where blocks are allocated, and memory is accessed.
                    program.trace();
                }
                let steps = recorded(program, schedule);
                if leak && let Err(traced) = program.finish() {
                    *failure = traced;
                }
                for event in program.misuse() {
                    let event = describe::block_report(program, event);
                    failure.message.push_str(&format!("\n  {event}"));
                }
                let options = self.options.with(ModelOption::Leaks, leak);
                let options = options.with(ModelOption::DataRaces, program.looks_for_races());
                Some(seed_of(program, &self.name, self.strategy, options, steps))
            }
            _ => None,
        };
        report.verdict = unless_unseen(program, report.verdict);
        let note = coverage::both(
            out_of_sight(program, self.strategy),
            coverage::note(&labels, &report.verdict),
        );
        let note = coverage::both(report.about_preemptions(), note);
        let note = coverage::both(coverage::together(program.conditions()), note);
        let complete = report.verdict == Verdict::Complete;
        let vacuous = sharing.vacuous(&counts).filter(|_| complete);
        let weak_orderings = sharing.weak.into_iter().map(|weak| WeakOrdering {
            operation: weak.operation,
            orderings: weak.orderings,
            place: weak.location.map(|place| place.to_string()),
        });
        let output = program.output().iter().map(|piece| piece.text.as_str()).collect();
        if let Some(shortfall) = coverage::shortfall(&labels, &report.verdict) {
            report.verdict = Verdict::Failed {
                failure: shortfall.failure,
                schedule: Vec::new(),
            };
        }
        Ok(Outcome {
            report,
            seed: seed.map(|seed| seed.encode()),
            output,
            note,
            vacuous,
            weak_orderings: weak_orderings.collect(),
            labels,
        })
    }
}

/// The result of an exploration by [`Model`].
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The verdict and the counts.
    pub report: Report,
    /// The seed of the failing schedule.
    pub seed: Option<String>,
    /// What the failing execution printed.
    pub output: String,
    /// A further note, in a line: why states were not compared, if they should have been.
    pub note: Option<String>,
    /// Why a complete exploration may have tested nothing: there was nothing to interleave.
    pub vacuous: Option<String>,
    /// Racing atomic operations that request an ordering weaker than `SeqCst`. All operations have `SeqCst` here: other
    /// effects of the hardware and the compiler may not have been explored.
    pub weak_orderings: Vec<WeakOrdering>,
    labels: Vec<Label>,
}

/// An atomic operation with an ordering weaker than `SeqCst`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WeakOrdering {
    /// The kind of operation, such as `load`.
    pub operation: String,
    /// The orderings that it requests, such as `Relaxed`, or `AcqRel, Relaxed` if it can fail.
    pub orderings: String,
    /// File, line and column, if known.
    pub place: Option<String>,
}

impl fmt::Display for WeakOrdering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.operation, self.orderings)?;
        match &self.place {
            Some(place) => write!(f, " at {place}"),
            None => Ok(()),
        }
    }
}

/// Numbers of executions that reached a label.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Reached {
    /// Number of complete ones.
    pub complete: u64,
    /// Number of all, however they ended: including those that were pruned, blocked, run only for a comparison of
    /// states, or thrown away because exploration started again.
    pub all: u64,
}

impl Outcome {
    /// Number of executions in which the label was [reached](crate::reach!).
    pub fn reached(&self, label: &str) -> Reached {
        let found = self.labels.iter().find(|known| known.name == label);
        found.map_or_else(Reached::default, |&Label { complete, all, .. }| Reached {
            complete,
            all,
        })
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Statistics {
            complete,
            blocked,
            pruned,
            cut,
            steps,
            ..
        } = self.report.statistics;
        match &self.report.verdict {
            Verdict::Complete => writeln!(f, "complete")?,
            Verdict::Failed { failure, .. } => writeln!(f, "{failure}")?,
            Verdict::Incomplete { reason } => writeln!(f, "incomplete: {reason}")?,
        }
        write!(f, "{complete} executions, {blocked} blocked, ")?;
        if pruned > 0 {
            write!(f, "{pruned} pruned, ")?;
        }
        if cut > 0 {
            write!(f, "{cut} cut, ")?;
        }
        write!(f, "{steps} steps")?;
        if let Some(note) = &self.note {
            write!(f, "\n{note}")?;
        }
        if let Some(why) = &self.vacuous {
            write!(f, "\nvacuous? {why}")?;
        }
        if let Some(first) = self.weak_orderings.first() {
            let count = self.weak_orderings.len();
            write!(f, "\nexplored as if SeqCst: {first}")?;
            if count > 1 {
                write!(f, ", and {} more", count - 1)?;
            }
        }
        if !self.output.is_empty() {
            write!(f, "\noutput of this execution:\n{}", self.output)?;
        }
        match &self.seed {
            Some(seed) => write!(f, "\nrun this schedule again with `Model::new().replay(\"{seed}\", …)`"),
            None => Ok(()),
        }
    }
}

/// Rejects an exploration within an exploration.
fn refuse_in_model(what: &str) {
    if dpor_scheduler::on_model_thread() {
        dpor_scheduler::unsupported(&format!(
            "Model::{what} was called inside of a model, as every test is under `cargo dpor test`; `model` and \
             `Model::check` can be"
        ));
    }
}

/// The verdict, unless leaks cannot be judged: if some memory cannot be seen, nobody knows whether there are any.
fn unless_unseen(program: &Program, verdict: Verdict) -> Verdict {
    match program.leaks_out_of_sight() {
        Some(what) if verdict == Verdict::Complete => Verdict::Incomplete {
            reason: format!("leaks were not looked for: {what}"),
        },
        _ => verdict,
    }
}

/// Why states were not compared, if the strategy needed that.
fn out_of_sight(program: &Program, strategy: Strategy) -> Option<String> {
    let what = program.state_out_of_sight().filter(|_| strategy.compares_states())?;
    Some(format!("states were not compared: {what}"))
}

/// Checks that the strategy can explore what the options ask for.
///
/// # Errors
/// A sentence.
fn judge_strategy(strategy: Strategy, options: Options) -> Result<(), String> {
    match options.timeouts() {
        Timeouts::Last if !strategy.can_let_time_pass() => Err(format!(
            "`{strategy}` cannot let timeouts fire last; all other strategies can"
        )),
        _ if options.memory() == Memory::Rc11 && !strategy.can_choose_values() => Err(format!(
            "`{strategy}` cannot explore weak memory; all strategies but `optimal`, `unfolding` and `trans` can"
        )),
        _ => Ok(()),
    }
}

/// The steps of a schedule with their kinds of operation, from running it again.
fn recorded(program: &mut Program, schedule: &[dpor_explorer::Transition]) -> Vec<SeedStep> {
    let mut step = dpor_explorer::Step::default();
    program.restart();
    let mut steps = Vec::with_capacity(schedule.len());
    for &transition in schedule {
        let kind = program
            .pending_operation(transition.thread)
            .map_or(OperationKind::Start, |(kind, _)| kind);
        steps.push(SeedStep {
            transition,
            operation: kind as u8,
        });
        step.clear();
        if program.step(transition, &mut step).is_err() {
            break;
        }
    }
    steps
}

/// The seed of a schedule. Of the options, `Leaks` says that its failure is a leak.
fn seed_of(program: &Program, test: &str, strategy: Strategy, options: Options, steps: Vec<SeedStep>) -> Seed {
    let threads = program.thread_table();
    let refinements: Vec<u64> = program.observed().iter().map(|location| location.0).collect();
    Seed {
        test: test_hash(test),
        strategy: strategy.to_string(),
        options: options.with_refinements(&refinements),
        threads: threads
            .iter()
            .skip(1)
            .map(|&(parent, nth)| Creation { parent, nth })
            .collect(),
        refinements,
        steps,
    }
}

/// The function to which the facades' `test` attribute expands.
///
/// Under `cargo dpor` the process ends here. Otherwise the test is explored without limits, and passes if its
/// exploration is complete; the value is that of one more, plain run.
///
/// # Panics
/// As [`model`].
#[track_caller]
pub fn run_test<T: Termination + 'static>(
    name: &'static str,
    should_panic: Option<Option<&'static str>>,
    test: fn() -> T,
) -> T {
    let place = std::panic::Location::caller();
    if dpor_scheduler::on_model_thread() {
        return test();
    }
    let body = Body::new(name.rsplit("::").next().unwrap_or(name).to_owned(), should_panic, test);
    // On a thread that allocates elsewhere. Where this one's allocations lie would otherwise depend on how long the
    // orders are, and states can hold pointers to them.
    let config = std::thread::spawn(Config::inherited).join();
    if let Some(config) = config.unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
        child::serve(config, name, place, body);
    }
    match (Model {
        name: name.to_owned(),
        ..Model::new()
    })
    .run(body)
    {
        Ok(outcome) if outcome.report.verdict == Verdict::Complete => crate::choose::with_first_values(test),
        Ok(outcome) => panic!("{outcome}"),
        Err(error) => panic!("{error}"),
    }
}
