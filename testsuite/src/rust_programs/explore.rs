//! Programs under the explorer, with a record of their observations.

use super::interpret::{Shared, run_main};
use super::outcome::{Finals, Outcome, Seen};
use super::{LINES, Program, THREADS};
use crate::erased::Erased;
use crate::generated::QUANTUM;
use dpor_explorer::{
    End, Explorer, Limits, Observer, Part, Shard, Sharded, Statistics, Step, Strategy, System, Trace, Transition,
    Verdict,
};
use dpor_scheduler::{FailureKind, ModelOption, Options, Program as Model};
use shim_std::thread;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Duration;

/// Room for the log of a thread: its lines, and the joins of the main thread.
const ROOM: usize = LINES + THREADS;

/// The observations of the current execution. Lies in the program's memory, so that it is part of the state: executions
/// with different observations are not taken for one.
#[derive(Default)]
pub(super) struct Recorder {
    pub at: [Cell<u8>; THREADS],
    pub len: [Cell<u8>; THREADS],
    pub log: [[Cell<u8>; ROOM]; THREADS],
    pub finals: Cell<Finals>,
}

impl Recorder {
    fn new() -> Recorder {
        let recorder = Recorder::default();
        recorder.at.iter().for_each(|at| at.set(Seen::UNBORN));
        recorder
    }

    pub fn push(&self, thread: usize, value: u8) {
        let len = self.len[thread].get();
        self.log[thread][usize::from(len)].set(value);
        self.len[thread].set(len + 1);
    }

    fn outcome(&self, threads: usize, stuck: bool) -> Outcome {
        let seen = |thread: usize| {
            let log = &self.log[thread][..usize::from(self.len[thread].get())];
            Seen {
                at: self.at[thread].get(),
                log: log.iter().map(Cell::get).collect(),
            }
        };
        let finals = if stuck { Finals::default() } else { self.finals.get() };
        Outcome {
            stuck,
            threads: (0..threads).map(seen).collect(),
            finals,
        }
    }
}

/// The findings of the exploration of a program.
pub struct Found {
    /// The outcomes, each with the first schedule that led to it.
    pub outcomes: BTreeMap<Outcome, Vec<Transition>>,
    /// The exploration's verdict.
    pub verdict: Verdict,
    /// The exploration's counters.
    pub statistics: Statistics,
    /// The number of executions after which it gave up, if it came to that.
    pub limit: u64,
    /// The error, if there was one other than a deadlock.
    pub error: Option<String>,
}

struct Collector {
    recorder: &'static Cell<Option<&'static Recorder>>,
    threads: usize,
    outcomes: BTreeMap<Outcome, Vec<Transition>>,
    error: Option<String>,
}

impl Found {
    /// Says whether an execution was too long.
    pub fn is_unending(&self) -> bool {
        self.statistics.cut > 0
    }
}

impl Observer<Sharded<Erased>> for Collector {
    fn execution(&mut self, _: &mut Sharded<Erased>, end: &End, trace: &Trace, _: &Statistics) -> ControlFlow<()> {
        let stuck = match end {
            End::Blocked | End::Pruned => return ControlFlow::Continue(()),
            End::Complete => false,
            End::Failed(failure) if is_stuck(failure.kind) => true,
            End::Failed(failure) => {
                self.error = Some(failure.to_string());
                return ControlFlow::Break(());
            }
            End::Cut => return ControlFlow::Break(()),
        };
        // The program is still in its last state.
        let outcome = last_outcome(self.recorder, self.threads, stuck);
        self.outcomes.entry(outcome).or_insert_with(|| trace.schedule());
        ControlFlow::Continue(())
    }

    fn refined(&mut self) {
        self.outcomes.clear();
    }
}

/// Explores a program and returns its outcomes. With `replay`, runs the schedule of each outcome again, and checks that
/// the same transitions lead to the same states, that states with the same fingerprint have the same bytes, and that
/// nothing depends on whether the search goes back to saved states.
///
/// # Panics
/// If this process cannot hold a model.
pub fn explore(program: &Program, strategy: Strategy, executions: u64, replay: bool) -> Found {
    explore_part(program, strategy, executions, replay, None).unwrap_or_else(|| unreachable!("it is the whole"))
}

/// Like [`explore`], but only for the part of a shard, if given; `None` if there is nothing to explore for the shard.
pub fn explore_part(
    program: &Program,
    strategy: Strategy,
    executions: u64,
    replay: bool,
    shard: Option<Shard>,
) -> Option<Found> {
    let program = kept(program);
    let mut found = explore_once(program, strategy, executions, replay, shard, true)?;
    if replay && found.error.is_none() {
        let other = explore_once(program, strategy, executions, replay, shard, false)?;
        let counted = |found: &Found| Statistics {
            skipped: 0,
            time: Duration::ZERO,
            ..found.statistics
        };
        if counted(&found) != counted(&other) || found.outcomes != other.outcomes || found.verdict != other.verdict {
            found.error = Some(format!(
                "without saved states, the exploration is another one:\n{:?}\n{:?}\n{:?}\n{:?}\n{}",
                counted(&found),
                found.verdict,
                counted(&other),
                other.verdict,
                other.error.as_deref().unwrap_or_default()
            ));
        }
    }
    Some(found)
}

/// The record of the model's current execution.
fn recorder() -> &'static Cell<Option<&'static Recorder>> {
    thread_local! {
        static RECORDER: &'static Cell<Option<&'static Recorder>> = Box::leak(Box::default());
    }
    RECORDER.with(|recorder| *recorder)
}

fn is_stuck(kind: &str) -> bool {
    FailureKind::named(kind).is_some_and(FailureKind::is_stuck)
}

/// A copy of the program for its models, which keep no memory of the checker's but what is never freed.
///
/// Models that are compared need the same one. Its address is in the registers and on the stacks of the threads that
/// interpret it: where only the lowest byte of a register changes from round to round of a loop, that of the address
/// can decide which rounds are alike.
pub fn kept(program: &Program) -> &'static Program {
    Box::leak(Box::new(program.clone()))
}

/// A model of the program.
///
/// # Panics
/// If this process cannot hold one.
pub fn model(program: &'static Program) -> Model {
    let recorder = recorder();
    let options = Options::NONE
        .with(ModelOption::SpuriousWakeups, program.spurious_wakeups)
        .with(ModelOption::SpuriousCas, program.spurious_cas)
        .with_timeouts(program.timeouts);
    let wrapped = program.parks_main();
    let body = move || {
        let inside: &'static Recorder = Box::leak(Box::new(Recorder::new()));
        recorder.set(Some(inside));
        let shared = Shared {
            recorder: inside,
            program,
        };
        if wrapped {
            // The model's own main thread is not one of the facade's.
            let main = thread::spawn(move || run_main(shared));
            if main.join().is_err() {
                panic!("the main thread panicked");
            }
        } else {
            run_main(shared);
        }
        Ok(())
    };
    match Model::new(options, body) {
        Ok(model) => model,
        Err(error) => panic!("{error}"),
    }
}

fn explore_once(
    program: &'static Program,
    strategy: Strategy,
    executions: u64,
    replay: bool,
    shard: Option<Shard>,
    rewinds: bool,
) -> Option<Found> {
    let (recorder, threads) = (recorder(), program.threads.len());
    let mut model = model(program);
    let limits = Limits {
        executions: Some(executions),
        depth: 1000,
        ..Limits::default()
    };
    model.prepare_for(strategy, &limits);
    let joined = Joined::default();
    // Half of the programs.
    let joins = strategy == Strategy::States && program.threads.iter().flatten().count().is_multiple_of(2);
    if joins {
        let joined = Rc::clone(&joined);
        model.join_what_is_unshared(1, move |transition, _| joined.borrow_mut().push(transition));
    }
    model.exact_states(replay);
    let model = Erased::new(model);
    let (model, part) = match shard {
        Some(shard) => Sharded::whole(model).narrow(shard, 0, None),
        None => (Sharded::whole(model), Part::One { pairs: 0 }),
    };
    if part == Part::Elsewhere {
        return None;
    }
    let mut explorer = Explorer::new(model, strategy, limits)
        .keep_going(true)
        .quantum(QUANTUM)
        .verify_states(replay)
        .rewinds(rewinds);
    let mut collector = Collector {
        recorder,
        threads,
        outcomes: BTreeMap::new(),
        error: None,
    };
    let report = explorer.run(&mut collector);
    let Collector {
        outcomes, mut error, ..
    } = collector;
    let over = matches!(&report.verdict, Verdict::Incomplete { .. });
    if replay && error.is_none() && !over {
        let mut again = |outcome: &Outcome, schedule: &[Transition], apart| {
            joined.borrow_mut().clear();
            let repeated = repeat(
                explorer.system(),
                schedule,
                (strategy.learns_in_place(), apart),
                &joined,
            );
            match repeated.map(|stuck| last_outcome(recorder, threads, stuck)) {
                Ok(repeated) if repeated == *outcome => None,
                Ok(repeated) => Some(format!("the schedule of {outcome}\nrun again gives {repeated}")),
                Err(error) => Some(format!("the schedule of {outcome}\ncannot be run again: {error}")),
            }
        };
        let mut apart = Vec::new();
        error = outcomes.iter().find_map(|(outcome, schedule)| {
            let wrong = again(outcome, schedule, false);
            apart.push((outcome, joined.borrow().clone()));
            wrong
        });
        if joins && error.is_none() {
            error = apart
                .iter()
                .find_map(|(outcome, schedule)| again(outcome, schedule, true));
        }
    }
    Some(Found {
        outcomes,
        verdict: report.verdict,
        statistics: report.statistics,
        limit: executions,
        error,
    })
}

/// The steps of a schedule, with the operations that belong to them as steps of their own.
type Joined = Rc<RefCell<Vec<Transition>>>;

/// Number of steps that may run after the end of a schedule.
const MORE_ROUNDS: usize = 100;

fn last_outcome(recorder: &Cell<Option<&'static Recorder>>, threads: usize, stuck: bool) -> Outcome {
    let recorder = recorder.get().expect("an execution begins with making its recorder");
    recorder.outcome(threads, stuck)
}

fn model_in(system: &mut Sharded<Erased>) -> &mut Model {
    use dpor_explorer::Layer;
    system.inner_mut().get()
}

/// Runs a schedule again; says whether threads are left over in the end.
///
/// If loops are learnt `in_place`, it does not know any from the start, so that threads are held back where they were
/// when the schedule ran first, or later. The steps are added to `joined`, in which are then all operations of the
/// schedule. If they are to be steps of their own (`apart`), the schedule is followed as that of a seed.
fn repeat(
    model: &mut Sharded<Erased>,
    schedule: &[Transition],
    (in_place, apart): (bool, bool),
    joined: &Joined,
) -> Result<bool, String> {
    if apart {
        let program = model_in(model);
        program.join_nothing();
        program.trace();
    }
    model.restart();
    model.recollect(0);
    let mut step = Step::default();
    for (number, &transition) in schedule.iter().enumerate() {
        if !transition.is_enabled(model.threads()) {
            return Err(format!("step {number}, {transition}, is not enabled"));
        }
        step.clear();
        joined.borrow_mut().push(transition);
        if let Err(stop) = model.step(transition, &mut step) {
            return Err(format!("step {number}, {transition}: {stop:?}"));
        }
    }
    if apart {
        model_in(model).hold_spinning();
    }
    let more = if in_place { MORE_ROUNDS } else { 0 };
    for _ in 0..more {
        let Some(transition) = Transition::enabled(model.threads()).next() else {
            break;
        };
        step.clear();
        if let Err(stop) = model.step(transition, &mut step) {
            return Err(format!("{transition}, after the end: {stop:?}"));
        }
    }
    if model.threads().iter().any(|status| status.alternatives().is_some()) {
        return Err("it does not end".to_owned());
    }
    match model.finish() {
        Ok(()) => Ok(false),
        Err(failure) if is_stuck(failure.kind) => Ok(true),
        Err(failure) => Err(failure.to_string()),
    }
}
