//! The replay of a seed: its schedule is followed step by step, and each step is reported.

use super::last_word::{LastWord, incomplete};
use super::parent::Parent;
use crate::runner::EXPLICIT;
use crate::runner::body::Body;
use crate::runner::describe::{self, Objects, Panics};
use dpor_explorer::{Failure, Status, Step, Stop, System, ThreadId, Transition};
use dpor_protocol::{
    Config, Counts, FailureReport, Message, ModelOption, OutputStream, Phase, Seed, SeedStep, SharedSchedule,
    StepReport, ThreadReport, WeakPlace,
};
use dpor_scheduler::{OperationKind, Program};

/// What a replay tells.
pub(crate) enum Told {
    /// The execution has failed, and has requested weak orderings at these places.
    Weak(Vec<WeakPlace>),
    /// A step is about to run.
    Next(StepReport),
    /// A step has run; it replaces the announcement.
    Step(StepReport),
    /// A thread was created.
    Thread(ThreadReport),
}

/// Why a schedule could not be followed.
#[derive(Debug)]
pub(crate) enum Astray {
    /// The process cannot hold a model.
    Setup(String),
    /// The program does something else than before.
    Diverged { step: u64, expected: String, met: String },
    /// The schedule ended without a failure.
    NoFailure,
}

impl std::fmt::Display for Astray {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Astray::Setup(error) => f.write_str(error),
            Astray::Diverged { step, expected, met } => write!(
                f,
                "the seed does not fit this test any more: at step {step} it expects {expected}, but met {met}"
            ),
            Astray::NoFailure => f.write_str("the schedule of the seed ends without a failure"),
        }
    }
}

impl Astray {
    /// The program is not at a step of the seed, but at something else.
    fn diverged(index: u64, step: &SeedStep, met: String) -> Astray {
        let expected = OperationKind::from_code(step.operation).map_or("an operation", OperationKind::name);
        Astray::Diverged {
            step: index,
            expected: format!("`{expected}` by {}", step.transition.thread),
            met,
        }
    }
}

/// Decodes a seed, and creates the program for its schedule.
///
/// # Errors
/// It is no seed, or that of another test, or no model can be set up.
pub(crate) fn of_seed(printed: &str, config: &Config, body: Body) -> Result<(Seed, Program), String> {
    let seed: Seed = printed.parse().map_err(|error| format!("{error}"))?;
    seed.check_test(&config.test).map_err(|error| error.to_string())?;
    let mut program = Program::new(seed.options, move || body.run()).map_err(|error| error.to_string())?;
    program.suppress_races(&config.suppressions);
    program.strengthen(&config.stronger);
    Ok((seed, program))
}

/// Runs the schedule of a seed; returns the failure in which it ends.
pub(crate) fn follow(seed: &Seed, body: Body, tell: &mut dyn FnMut(Told)) -> Result<FailureReport, Box<Astray>> {
    let mut program =
        Program::new(seed.options, move || body.run()).map_err(|error| Box::new(Astray::Setup(error.to_string())))?;
    if EXPLICIT {
        program.expect_cells_only();
    }
    Follower::new(program, seed, tell).follow(seed, |program, transition, _, step| program.step(transition, step))
}

/// Sets a program up for the schedule of a seed.
pub(crate) fn prepare(program: &mut Program, seed: &Seed) {
    program.follow_schedules();
    program.find_leaks(seed.options.has(ModelOption::Leaks));
    program.intern_threads(&seed.threads.iter().map(|c| (c.parent, c.nth)).collect::<Vec<_>>());
    program.observe(
        &seed
            .refinements
            .iter()
            .map(|&location| dpor_scheduler::Location(location))
            .collect::<Vec<_>>(),
    );
}

/// A program that follows a schedule.
struct Follower<'a> {
    program: Program,
    objects: Objects,
    panics: Panics,
    /// Number of threads that were told.
    threads: usize,
    /// The thread of the last step.
    previous: Option<ThreadId>,
    step: Step,
    tell: &'a mut dyn FnMut(Told),
}

impl<'a> Follower<'a> {
    fn new(mut program: Program, seed: &Seed, tell: &'a mut dyn FnMut(Told)) -> Follower<'a> {
        program.trace();
        prepare(&mut program, seed);
        program.restart();
        Follower {
            program,
            objects: Objects::default(),
            panics: Panics::default(),
            threads: 0,
            previous: None,
            step: Step::default(),
            tell,
        }
    }

    /// Follows the schedule by `run`, and then goes on until the execution ends; returns its failure.
    fn follow(
        mut self,
        seed: &Seed,
        mut run: impl FnMut(&mut Program, Transition, u8, &mut Step) -> Result<(), Stop>,
    ) -> Result<FailureReport, Box<Astray>> {
        for (index, step) in (0u64..).zip(&seed.steps) {
            let transition = step.transition;
            let diverged = |met: String| Box::new(Astray::diverged(index, step, met));
            self.check(step).map_err(diverged)?;
            let switched = self.previous != Some(transition.thread);
            let preempted = switched && self.previous_could_go_on();
            let next = describe::next(&self.program, transition.thread, index, switched);
            (self.tell)(Told::Next(next));
            self.step.clear();
            let result = run(&mut self.program, transition, step.operation, &mut self.step);
            self.tell_step(index, switched, preempted);
            match result {
                Ok(()) => {}
                Err(Stop::Failed(failure) | Stop::Unsupported(failure)) => return Ok(self.failed(&failure)),
                Err(Stop::Refine) => return Err(diverged("a release that had not been observed".to_owned())),
            }
            self.previous = Some(transition.thread);
        }
        self.go_on()
    }

    /// Checks that the program is at a step of the seed.
    ///
    /// # Errors
    /// What it is at instead.
    fn check(&mut self, step: &SeedStep) -> Result<(), String> {
        let &SeedStep { transition, operation } = step;
        let Some((kind, source)) = self.program.pending_operation(transition.thread) else {
            return Err(format!("no thread {}", transition.thread));
        };
        let place = source.map_or_else(String::new, |source| format!(" at {source}"));
        if operation != 0 && kind as u8 != operation {
            return Err(format!("`{kind}`{place}"));
        }
        match self.program.can_repeat(transition) {
            true => Ok(()),
            false => Err(format!("`{kind}`{place}, which cannot go on")),
        }
    }

    /// Says whether the thread of the last step can run, and does not just yield.
    fn previous_could_go_on(&mut self) -> bool {
        let Some(thread) = self.previous else {
            return false;
        };
        let enabled = matches!(self.program.threads().get(thread.index()), Some(Status::Enabled(_)));
        enabled && !self.program.gives_way(thread)
    }

    /// Tells the step that has just run, and the threads that it has created.
    fn tell_step(&mut self, index: u64, switched: bool, preempted: bool) {
        let threads = self.program.thread_reports();
        let count = threads.len();
        for thread in threads.into_iter().skip(self.threads) {
            (self.tell)(Told::Thread(describe::thread(thread)));
        }
        self.threads = self.threads.max(count);
        self.panics.look(&self.program, index);
        if let Some(report) = describe::step(&self.program, &mut self.objects, index, switched) {
            (self.tell)(Told::Step(StepReport { preempted, ..report }));
        }
    }

    /// The report of a failure, with all panics before it.
    fn failed(&mut self, failure: &Failure) -> FailureReport {
        (self.tell)(Told::Weak(self.program.weak_places()));
        FailureReport {
            panics: self.panics.take(),
            ..describe::failure(&self.program, failure, &mut self.objects)
        }
    }

    /// Goes on from the end of the schedule until the execution ends. Loops are watched here from where they are
    /// noticed, and so are held back later than in the exploration.
    fn go_on(mut self) -> Result<FailureReport, Box<Astray>> {
        self.program.hold_spinning();
        for _ in 0..MORE_ROUNDS {
            let Some(transition) = Transition::enabled(self.program.threads()).next() else {
                return match self.program.finish() {
                    Err(failure) => Ok(self.failed(&failure)),
                    Ok(()) => Err(Box::new(Astray::NoFailure)),
                };
            };
            self.step.clear();
            if let Err(Stop::Failed(failure) | Stop::Unsupported(failure)) =
                self.program.step(transition, &mut self.step)
            {
                return Ok(self.failed(&failure));
            }
        }
        Err(Box::new(Astray::NoFailure))
    }
}

/// Number of steps that may run after the end of a schedule.
const MORE_ROUNDS: usize = 1_000;

/// Runs the schedule of a seed, and reports its steps.
pub(super) fn replay(
    config: &Config,
    seed: &str,
    map: &'static SharedSchedule,
    body: Body,
    parent: &mut Parent,
) -> Message {
    let (seed, program) = match of_seed(seed, config, body) {
        Ok(prepared) => prepared,
        Err(reason) => return incomplete(reason),
    };
    map.begin_execution();
    let run = |program: &mut Program, transition, operation, step: &mut Step| {
        map.push(transition, operation);
        map.set_phase(Phase::Running);
        let result = program.step(transition, step);
        map.set_phase(Phase::Exploring);
        result
    };
    let mut tell = |told| {
        parent.send(&match told {
            Told::Next(step) | Told::Step(step) => Message::Step(step),
            Told::Thread(thread) => Message::Thread(thread),
            Told::Weak(places) => Message::WeakPlaces(places),
        });
    };
    let failure = match Follower::new(program, &seed, &mut tell).follow(&seed, run) {
        Ok(failure) => failure,
        Err(astray) => {
            let reason = astray.to_string();
            if let Astray::Diverged { step, expected, met } = *astray {
                parent.send(&Message::Diverged { step, expected, met });
            }
            return incomplete(reason);
        }
    };
    if !failure.output.is_empty() {
        parent.send(&Message::Output {
            stream: OutputStream::Err,
            text: failure.output.clone(),
        });
    }
    let counts = Counts {
        steps: seed.steps.len() as u64,
        complete: 1,
        ..Counts::default()
    };
    LastWord {
        counts,
        ..LastWord::failed(failure, Some(seed.encode()))
    }
    .into()
}
