//! The search for the simplest schedule that fails as a given one does, and for where it parts from one that passes, in
//! its own process.
//!
//! Each better schedule is told at once: the process may die of another failure that it meets on the way.

mod forked;

use super::body::Body;
use super::child::{self, Parent, incomplete, of_seed, prepare};
use super::describe;
use super::journal::Journaled;
use super::seed_of;
use dpor_explorer::simplify::{self, Bound, Cost, InPlace, Judge, Parting, Run, Trials};
use dpor_explorer::{Failure, Strategy, Transition};
use dpor_protocol::{
    ChoiceReport, Config, FailureKind, Message, PartingReport, Seed, SeedStep, SharedSchedule, Simplified, Wait,
};
use dpor_scheduler::{OperationKind, Program};
use forked::Forked;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// The task of a search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task<'a> {
    /// The schedule, as printed.
    pub seed: &'a str,
    /// The kind of its failure.
    pub kind: &'a str,
    /// Maximum duration of the search.
    pub time: Duration,
    /// Look for a simpler schedule; otherwise only for where the given one parts from one that passes.
    pub shorten: bool,
}

/// Executes the task.
pub(super) fn serve(
    config: &Config,
    task: Task<'_>,
    map: &'static SharedSchedule,
    body: Body,
    parent: &mut Parent,
) -> Message {
    let (seed, mut program) = match of_seed(task.seed, config, body) {
        Ok(prepared) => prepared,
        Err(reason) => return incomplete(reason),
    };
    prepare(&mut program, &seed);
    map.begin_execution();
    let teller = Teller {
        test: &config.test,
        kind: task.kind,
        wanted: None,
        best: task.seed.to_owned(),
        parent,
        given: seed,
    };
    let mut trials = InPlace::new(Journaled::new(program, map), teller);
    let done = match FailureKind::named(task.kind) {
        // The process ends with the execution.
        Some(kind) if kind.ends_process() => search(&mut Forked::new(trials), task),
        _ => search(&mut trials, task),
    };
    if !done {
        return incomplete("the schedule, run once more, did not end in the same failure".to_owned());
    }
    child::done()
}

/// Trials in this process.
type InProcess<'a> = InPlace<Journaled, Teller<'a>>;

/// Trials that end up running in this process.
trait Reach<'a>: Trials {
    fn in_process(&mut self) -> &mut InProcess<'a>;
}

impl<'a> Reach<'a> for InProcess<'a> {
    fn in_process(&mut self) -> &mut InProcess<'a> {
        self
    }
}

/// Searches; returns false if the given schedule does not end in the failure.
fn search<'a>(trials: &mut impl Reach<'a>, task: Task<'_>) -> bool {
    let schedule: Vec<_> = trials
        .in_process()
        .judge
        .given
        .steps
        .iter()
        .map(|step| step.transition)
        .collect();
    let start = Instant::now();
    // What is left for the parting is enough if the schedule is a short one; then the search comes to its end before.
    let time = if task.shorten {
        task.time * 3 / 4
    } else {
        Duration::ZERO
    };
    let Some(simplest) = simplify::simplest(trials, &schedule, start + time) else {
        return false;
    };
    let run = &simplest.run;
    let parting = simplify::parting(trials, run, start + task.time);
    let parting = match parting {
        Parting::At { at, instead } => Some(PartingReport::At(choice(trials, run, at, instead))),
        Parting::Nowhere => Some(PartingReport::Nowhere),
        Parting::Unknown => None,
    };
    let teller = &mut trials.in_process().judge;
    let told = Simplified {
        proven: simplest.proven,
        parting,
        ..teller.simplified(run.cost)
    };
    teller.parent.send(&Message::Simplified(told));
    true
}

/// Describes what else could have run.
fn choice<'a>(trials: &mut impl Reach<'a>, run: &Run, at: usize, instead: Transition) -> ChoiceReport {
    let bound = Bound {
        cost: Cost::MAX,
        steps: u32::try_from(at).unwrap_or(u32::MAX),
    };
    let place = trials.in_process();
    place.run(&run.schedule()[..at], bound);
    let program = &place.system.program;
    let pending = program.pending_operation(instead.thread);
    let (kind, source) = pending.map_or((OperationKind::Start, None), |pending| pending);
    ChoiceReport {
        step: at as u64,
        thread: instead.thread.0,
        thread_name: program.thread_name(instead.thread),
        operation: kind.to_string(),
        location: describe::location_in_program(source),
        alternative: instead.alternative,
        same_thread: instead.thread == run.points[at].taken.thread,
    }
}

/// Judges failures, and reports the findings to the parent.
struct Teller<'a> {
    test: &'a str,
    kind: &'a str,
    /// The signature of the given schedule's failure.
    wanted: Option<Signature>,
    given: Seed,
    /// The seed of the best schedule so far.
    best: String,
    parent: &'a mut Parent,
}

impl Teller<'_> {
    fn tell(&mut self, program: &Program, steps: Vec<SeedStep>, cost: Cost) {
        let seed = Seed {
            strategy: self.given.strategy.clone(),
            ..seed_of(program, self.test, Strategy::default(), self.given.options, steps)
        };
        self.best = seed.encode();
        let told = self.simplified(cost);
        self.parent.send(&Message::Simplified(told));
    }

    fn simplified(&self, cost: Cost) -> Simplified {
        Simplified {
            seed: self.best.clone(),
            preemptions: cost.preemptions.into(),
            switches: cost.switches.into(),
            steps: cost.steps.into(),
            proven: false,
            parting: None,
        }
    }
}

impl Judge<Journaled> for Teller<'_> {
    fn same(&mut self, system: &mut Journaled, failure: &Failure) -> bool {
        let met = Signature::of(&system.program, failure);
        failure.kind == self.kind && *self.wanted.get_or_insert_with(|| met.clone()) == met
    }

    fn found(&mut self, system: &mut Journaled, run: &Run) {
        // The mapping holds the kinds of operation as well, of what has just run.
        self.tell(&system.program, system.map.snapshot().steps, run.cost);
    }
}

/// A file, a line and a column.
type At = (String, u32, u32);

/// The properties by which two failures count as the same.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Signature {
    /// The message of a failure that happens at one place.
    message: Option<String>,
    /// The places of panics.
    panics: BTreeSet<Option<At>>,
    /// The operations for which threads wait, and their places, except for waits for a thread to end.
    waits: BTreeSet<(OperationKind, Option<At>)>,
}

impl Signature {
    fn of(program: &Program, failure: &Failure) -> Signature {
        let threads = program.thread_reports();
        let panics = threads.iter().filter_map(|thread| program.last_panic(thread.id));
        let kind = FailureKind::named(failure.kind);
        let stuck = kind.is_some_and(FailureKind::is_stuck);
        let waits = program
            .blocked()
            .into_iter()
            .filter(|thread| stuck && thread.kind.waits_for() != Some(Wait::End));
        let says = kind.is_none_or(FailureKind::has_message);
        Signature {
            message: says.then(|| failure.message.clone()),
            panics: panics.map(|panic| panic.location).collect(),
            waits: waits
                .map(|thread| {
                    let source = thread
                        .source
                        .map(|place| (place.file.into_owned(), place.line, place.column));
                    (thread.kind, source)
                })
                .collect(),
        }
    }
}
