//! Programs under the explorer.

use super::{Program, run};
use crate::erased::Erased;
use crate::generated::QUANTUM;
use dpor_explorer::{
    End, Explorer, Failure, Fault, Limits, Observer, Statistics, Step, Stop, Strategy, System, Trace, Transition,
    Verdict,
};
use dpor_scheduler::{FailureKind, ModelOption, Options, Program as Model, RaceFault};
use shim_std::thread;
use std::ops::ControlFlow;

/// How a program is explored.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// The strategy.
    pub strategy: Strategy,
    /// Number of executions after which exploration is abandoned.
    pub executions: u64,
    /// The bound on preemptions, if there is one.
    pub preemptions: Option<u32>,
    /// Whether exploration goes on after a race, and with which care: all schedules of failures are run again, states
    /// that are reached again are compared byte for byte.
    pub thorough: bool,
    /// What is wrong on purpose.
    pub fault: Option<Seeded>,
}

/// A seeded fault.
#[derive(Clone, Copy, Debug)]
pub enum Seeded {
    /// Of the search for races.
    Races(RaceFault),
    /// Of the exploration.
    Search(Fault),
}

/// The findings of an exploration.
pub struct Found {
    /// The number of executions that ended in a race.
    pub races: u64,
    /// Whether some execution left threads waiting.
    pub deadlock: bool,
    /// The verdict, which is of no account if the exploration ended by a race.
    pub verdict: Verdict,
    /// The counters.
    pub statistics: Statistics,
    /// Something that went wrong.
    pub error: Option<String>,
}

/// Maximum number of failing schedules that are run again.
const REPEATED: usize = 40;

struct Collector {
    thorough: bool,
    races: u64,
    deadlock: bool,
    failures: Vec<(Failure, Vec<Transition>)>,
    error: Option<String>,
}

impl Observer<Erased> for Collector {
    fn execution(&mut self, _: &mut Erased, end: &End, trace: &Trace, _: &Statistics) -> ControlFlow<()> {
        let failure = match end {
            End::Blocked | End::Pruned | End::Complete | End::Cut => return ControlFlow::Continue(()),
            End::Failed(failure) => failure,
        };
        let race = failure.kind == FailureKind::DataRace.name();
        if race {
            self.races += 1;
        } else if failure.kind == FailureKind::Deadlock.name() {
            self.deadlock = true;
        } else {
            self.error = Some(failure.to_string());
            return ControlFlow::Break(());
        }
        if self.failures.len() < REPEATED {
            self.failures.push((failure.clone(), trace.schedule()));
        }
        match race && !self.thorough {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn refined(&mut self) {
        self.races = 0;
        self.deadlock = false;
        self.failures.clear();
    }
}

fn model(program: &Program, fault: Option<Seeded>) -> Model {
    let options = Options::NONE.with(ModelOption::DataRaces, true);
    // A model keeps no memory of the checker's but what is never freed.
    let program: &'static Program = Box::leak(Box::new(program.clone()));
    let body = move || {
        if program.parks() {
            // The model's own main thread is not one of the facade's.
            let main = thread::spawn(move || run::run_main(program));
            if main.join().is_err() {
                panic!("the main thread has panicked");
            }
        } else {
            run::run_main(program);
        }
        Ok(())
    };
    match Model::new(options, body) {
        Ok(mut model) => {
            model.leave_out_private_stacks();
            if let Some(Seeded::Races(fault)) = fault {
                model.race_fault(fault);
            }
            model
        }
        Err(error) => panic!("{error}"),
    }
}

/// Explores a program.
///
/// # Panics
/// If this process cannot hold a model.
pub fn explore(program: &Program, how: How) -> Found {
    let mut model = model(program, how.fault);
    let limits = Limits {
        executions: Some(how.executions),
        preemptions: how.preemptions,
        depth: 1000,
        ..Limits::default()
    };
    model.prepare_for(how.strategy, &limits);
    // Half of the programs.
    if how.strategy == Strategy::States && program.ops().count().is_multiple_of(2) {
        model.join_what_is_unshared(1, |_, _| ());
    }
    model.exact_states(how.thorough);
    let mut explorer = Explorer::new(Erased::new(model), how.strategy, limits)
        .keep_going(true)
        .quantum(QUANTUM)
        .verify_states(how.thorough);
    if let Some(Seeded::Search(fault)) = how.fault {
        explorer = explorer.fault(fault);
    }
    let mut collector = Collector {
        thorough: how.thorough,
        races: 0,
        deadlock: false,
        failures: Vec::new(),
        error: None,
    };
    let report = explorer.run(&mut collector);
    let Collector {
        races,
        deadlock,
        failures,
        mut error,
        ..
    } = collector;
    for (failure, schedule) in failures {
        if error.is_none()
            && let Err(other) = repeat(explorer.system(), &schedule, &failure)
        {
            error = Some(format!(
                "the schedule of {failure}\nrun again does not end so: {other}\n{schedule:?}"
            ));
        }
    }
    Found {
        races,
        deadlock,
        verdict: report.verdict,
        statistics: report.statistics,
        error,
    }
}

/// Runs the schedule of a failure again.
fn repeat(model: &mut impl System, schedule: &[Transition], expected: &Failure) -> Result<(), String> {
    model.restart();
    let mut step = Step::default();
    let compare = |failure: Failure| match failure == *expected {
        true => Ok(()),
        false => Err(failure.to_string()),
    };
    for (number, &transition) in schedule.iter().enumerate() {
        if !transition.is_enabled(model.threads()) {
            return Err(format!("step {number}, {transition}, is not enabled"));
        }
        step.clear();
        match model.step(transition, &mut step) {
            Ok(()) => {}
            Err(Stop::Failed(failure)) if number + 1 == schedule.len() => return compare(failure),
            Err(stop) => return Err(format!("step {number}, {transition}: {stop:?}")),
        }
    }
    if model.threads().iter().any(|status| status.alternatives().is_some()) {
        return Err("it does not end".to_owned());
    }
    match model.finish() {
        Ok(()) => Err("it ends well".to_owned()),
        Err(failure) => compare(failure),
    }
}
