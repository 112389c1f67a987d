//! Programs under the explorer, on the facades of std.

use super::graph::Outcome;
use super::program::{Instruction, Program};
use crate::erased::Erased;
use crate::generated::QUANTUM;
use crate::races::Seeded;
use crate::run_on_atomics;
use dpor_explorer::{
    End, Event, Explorer, Limits, Location, Observer, Part, Report, Shard, Sharded, Statistics, Strategy, System,
    ThreadId, Trace, Verdict,
};
use dpor_scheduler::{Memory, Options, Program as Model};
use shim_std::hint::spin_loop;
use shim_std::sync::atomic::{AtomicU32, fence};
use shim_std::sync::{Mutex, MutexGuard};
use shim_std::thread::{self, JoinHandle};
use std::cell::UnsafeCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::slice;
use std::sync::{Arc, PoisonError};

/// The findings of an exploration.
#[derive(Debug)]
pub struct Explored {
    /// The outcomes of all executions that came to their end.
    pub outcomes: BTreeSet<Outcome>,
    /// Number of different execution graphs among them, for a strategy that goes by these.
    pub graphs: usize,
    /// The verdict.
    pub verdict: Verdict,
    /// The counters.
    pub statistics: Statistics,
}

/// Those of the executions so far.
type Outcomes = Arc<std::sync::Mutex<BTreeSet<Outcome>>>;

/// A load that is repeated until it finds something else than 0: the thread, and the index of its instruction.
pub type Wait = (usize, usize);

/// What the threads share.
struct Shared {
    program: &'static Program,
    wait: Option<Wait>,
    atomics: Box<[AtomicU32]>,
    mutexes: Box<[Mutex<()>]>,
    /// By thread: its registers when it has ended.
    registers: Box<[UnsafeCell<Vec<u32>>]>,
}

// SAFETY: each thread writes its own registers, and the main thread reads them when all have ended.
unsafe impl Sync for Shared {}

impl Shared {
    fn new(program: &'static Program, wait: Option<Wait>) -> Shared {
        let registers = (0..program.threads().len()).map(|thread| vec![0; program.registers(thread)]);
        Shared {
            program,
            wait,
            atomics: (0..program.locations()).map(|_| AtomicU32::new(0)).collect(),
            mutexes: (0..program.mutexes()).map(|_| Mutex::new(())).collect(),
            registers: registers.map(UnsafeCell::new).collect(),
        }
    }

    fn spawn(&'static self, thread: usize) -> JoinHandle<()> {
        thread::spawn(move || Running::new(self).thread(thread))
    }

    /// The outcome, when all threads have ended.
    fn outcome(&self) -> Outcome {
        // SAFETY: nobody changes them any more.
        let registers = self
            .registers
            .iter()
            .map(|registers| unsafe { &*registers.get() }.clone());
        // SAFETY: as above. To load them would be an operation.
        let finals = self.atomics.iter().map(|atomic| unsafe { *atomic.as_ptr() });
        Outcome {
            registers: registers.collect(),
            finals: finals.collect(),
        }
    }
}

/// A thread.
struct Running {
    shared: &'static Shared,
    registers: Vec<u32>,
    held: Vec<(usize, MutexGuard<'static, ()>)>,
    children: Vec<(usize, JoinHandle<()>)>,
}

impl Running {
    fn new(shared: &'static Shared) -> Running {
        Running {
            shared,
            registers: Vec::new(),
            held: Vec::new(),
            children: Vec::new(),
        }
    }

    fn thread(mut self, thread: usize) {
        let program = self.shared.program;
        self.registers = vec![0; program.registers(thread)];
        for (index, instruction) in program.threads()[thread].iter().enumerate() {
            match *instruction {
                Instruction::Load { register, .. } if self.shared.wait == Some((thread, index)) => loop {
                    self.run(slice::from_ref(instruction));
                    if self.registers[register] != 0 {
                        break;
                    }
                    spin_loop();
                },
                _ => self.run(slice::from_ref(instruction)),
            }
        }
        self.join_all();
        // SAFETY: nobody else uses them before this thread has ended.
        unsafe { *self.shared.registers[thread].get() = self.registers };
    }

    fn join_all(&mut self) {
        for (child, handle) in self.children.drain(..) {
            join(child, handle);
        }
    }

    fn run(&mut self, instructions: &'static [Instruction]) {
        let atomics = &self.shared.atomics;
        for instruction in instructions {
            run_on_atomics!(*instruction, self.registers, atomics, fence, {
                Instruction::If {
                    register,
                    equals,
                    ref then,
                } => {
                    if self.registers[register] == equals {
                        self.run(then);
                    }
                }
                Instruction::Lock(mutex) => {
                    let guard = self.shared.mutexes[mutex].lock();
                    self.held
                        .push((mutex, guard.unwrap_or_else(|poison| poison.into_inner())));
                }
                Instruction::Unlock(mutex) => self.held.retain(|&(held, _)| held != mutex),
                Instruction::Spawn(child) => self.children.push((child, self.shared.spawn(child))),
                Instruction::Join(child) => {
                    if let Some(at) = self.children.iter().position(|&(other, _)| other == child) {
                        let (_, handle) = self.children.remove(at);
                        join(child, handle);
                    }
                }
            });
        }
    }
}

fn join(child: usize, handle: JoinHandle<()>) {
    assert!(handle.join().is_ok(), "thread {child} has panicked");
}

/// The main thread.
fn main(program: &'static Program, wait: Option<Wait>, outcomes: &Outcomes) {
    let shared: &'static Shared = Box::leak(Box::new(Shared::new(program, wait)));
    let mut running = Running::new(shared);
    for thread in program.spawned_by_main() {
        running.children.push((thread, shared.spawn(thread)));
    }
    running.join_all();
    shim_std::outside(|| {
        let outcome = shared.outcome();
        outcomes.lock().unwrap_or_else(PoisonError::into_inner).insert(outcome);
    });
}

/// A step, by its thread and its number there.
type Name = (ThreadId, u32);

/// What an execution graph has of a step.
#[derive(PartialEq, Eq, Hash)]
struct GraphStep {
    /// The step from which it reads.
    source: Option<Name>,
    /// How many steps of each thread it comes after, by program order, reads-from, and the use of mutexes.
    before: Vec<u32>,
}

/// The execution graph of an execution.
#[derive(PartialEq, Eq, Hash)]
struct ExecutionGraph {
    /// The steps of each thread.
    steps: BTreeMap<ThreadId, Vec<GraphStep>>,
    /// The modification order of each atomic.
    orders: BTreeMap<Location, Vec<Name>>,
}

impl ExecutionGraph {
    fn of(trace: &Trace) -> ExecutionGraph {
        let name = |event: &Event| (event.thread(), event.index());
        let threads = trace.events().iter().map(|event| event.thread().0 + 1).max();
        let mut steps: BTreeMap<ThreadId, Vec<GraphStep>> = BTreeMap::new();
        let mut orders: BTreeMap<Location, Vec<Name>> = BTreeMap::new();
        for event in trace.events() {
            let graph = event.step().graph;
            let source = graph.and_then(|graph| graph.source);
            let source = source.map(|source| name(&trace.events()[source as usize]));
            let clock = (0..threads.unwrap_or(0)).map(|thread| event.clock().get(ThreadId(thread)));
            steps.entry(event.thread()).or_default().push(GraphStep {
                source,
                before: clock.collect(),
            });
            if let Some(graph) = graph.filter(|graph| graph.label.writes()) {
                let order = orders.entry(graph.location).or_default();
                // The alternative is the number of later stores.
                let later = event.transition().alternative as usize;
                order.insert(order.len().saturating_sub(later), name(event));
            }
        }
        ExecutionGraph { steps, orders }
    }
}

#[derive(Default)]
struct Collector {
    outcomes: Outcomes,
    graphs: HashSet<ExecutionGraph>,
}

impl Collector {
    /// The outcomes so far. Forgets them.
    fn take_outcomes(&mut self) -> BTreeSet<Outcome> {
        std::mem::take(&mut *self.outcomes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn explored(mut self, report: Report) -> Explored {
        Explored {
            outcomes: self.take_outcomes(),
            graphs: self.graphs.len(),
            verdict: report.verdict,
            statistics: report.statistics,
        }
    }
}

impl<S: System> Observer<S> for Collector {
    fn execution(&mut self, _: &mut S, end: &End, trace: &Trace, _: &Statistics) -> ControlFlow<()> {
        if *end == End::Complete {
            self.graphs.insert(ExecutionGraph::of(trace));
        }
        ControlFlow::Continue(())
    }

    fn refined(&mut self) {
        self.take_outcomes();
        self.graphs.clear();
    }
}

/// Collects what is explored with few values of atomics, and with more and more of them.
#[derive(Default)]
struct Narrowing {
    collector: Collector,
    /// The outcomes since exploration started for the last time but one.
    last: BTreeSet<Outcome>,
    /// The outcomes with these numbers of values.
    outcomes: BTreeMap<u32, BTreeSet<Outcome>>,
}

impl Observer<Erased> for Narrowing {
    fn execution(&mut self, system: &mut Erased, end: &End, trace: &Trace, counts: &Statistics) -> ControlFlow<()> {
        if let Some(values) = system.get::<Model>().explored_with_values() {
            // That is known when exploration has started again after it.
            let last = std::mem::take(&mut self.last);
            self.outcomes.entry(values.get()).or_insert(last);
        }
        self.collector.execution(system, end, trace, counts)
    }

    fn refined(&mut self) {
        self.last = self.collector.take_outcomes();
        Observer::<Erased>::refined(&mut self.collector);
    }
}

/// Explores the program under this memory model.
///
/// # Panics
/// If this process cannot hold a model.
pub fn explore(program: &Program, strategy: Strategy, memory: Memory) -> Explored {
    explore_with(program, strategy, memory, None)
}

/// Explores the program under this memory model, with this fault.
///
/// # Panics
/// If this process cannot hold a model.
pub fn explore_with(program: &Program, strategy: Strategy, memory: Memory, fault: Option<Seeded>) -> Explored {
    let how = How {
        fault,
        ..How::by(strategy, memory)
    };
    explore_system(program, how, Erased::new)
}

/// Explores the program under weak memory, where threads take short turns.
///
/// # Panics
/// If this process cannot hold a model.
pub fn explore_turns(program: &Program, strategy: Strategy) -> Explored {
    let how = How {
        turns: true,
        ..How::by(strategy, Memory::Rc11)
    };
    explore_system(program, how, Erased::new)
}

/// Explores the program under weak memory, where operations choose from two values of their atomic at first, and then
/// from more and more of them. Returns the outcomes of executions with these numbers of values, too, each of which is
/// less than all.
///
/// # Panics
/// If this process cannot hold a model.
pub fn explore_narrowly(
    program: &Program,
    strategy: Strategy,
    fault: Option<Seeded>,
) -> (Explored, BTreeMap<u32, BTreeSet<Outcome>>) {
    let how = How {
        fault,
        values: NonZeroU32::new(2),
        ..How::by(strategy, Memory::Rc11)
    };
    let mut narrowing = Narrowing::default();
    let outcomes = narrowing.collector.outcomes.clone();
    let report = run(program, how, Erased::new, &outcomes, &mut narrowing);
    (narrowing.collector.explored(report), narrowing.outcomes)
}

/// Explores the program under weak memory, where one of its loads is repeated until it finds something else than 0.
///
/// # Panics
/// If this process cannot hold a model.
pub fn explore_waiting(program: &Program, wait: Wait, strategy: Strategy) -> Explored {
    let how = How {
        wait: Some(wait),
        ..How::by(strategy, Memory::Rc11)
    };
    explore_system(program, how, Erased::new)
}

/// Explores the parts of the program for this number of shards, one after the other, under this memory model. Returns
/// the outcomes of all of them, and the number of parts.
///
/// # Panics
/// If this process cannot hold a model, or a part is not complete.
pub fn explore_parts(program: &Program, strategy: Strategy, memory: Memory, count: u32) -> (BTreeSet<Outcome>, usize) {
    let (mut outcomes, mut parts) = (BTreeSet::new(), 0);
    for number in 1..=count {
        let Some(shard) = Shard::new(number, count) else {
            unreachable!("shards are numbered from 1")
        };
        let mut elsewhere = false;
        let explored = explore_system(program, How::by(strategy, memory), |model| {
            let (system, part) = Sharded::whole(Erased::new(model)).narrow(shard, 0, None);
            elsewhere = part == Part::Elsewhere;
            system
        });
        if !elsewhere {
            assert_eq!(explored.verdict, Verdict::Complete);
            outcomes.extend(explored.outcomes);
            parts += 1;
        }
    }
    (outcomes, parts)
}

/// How a program is explored.
struct How {
    strategy: Strategy,
    memory: Memory,
    fault: Option<Seeded>,
    wait: Option<Wait>,
    /// Whether threads take short turns.
    turns: bool,
    /// From how many values operations choose at first, if that is to be told.
    values: Option<NonZeroU32>,
}

impl How {
    fn by(strategy: Strategy, memory: Memory) -> How {
        How {
            strategy,
            memory,
            fault: None,
            wait: None,
            turns: false,
            values: None,
        }
    }
}

fn explore_system<S: System>(program: &Program, how: How, system: impl FnOnce(Model) -> S) -> Explored {
    let mut collector = Collector::default();
    let outcomes = collector.outcomes.clone();
    let report = run(program, how, system, &outcomes, &mut collector);
    collector.explored(report)
}

fn run<S: System>(
    program: &Program,
    how: How,
    system: impl FnOnce(Model) -> S,
    outcomes: &Outcomes,
    observer: &mut dyn Observer<S>,
) -> Report {
    let How {
        strategy,
        memory,
        fault,
        wait,
        turns,
        values,
    } = how;
    // A model keeps no memory of the checker's but what is never freed.
    let program: &'static Program = Box::leak(Box::new(program.clone()));
    let own = outcomes.clone();
    let body = move || {
        main(program, wait, &own);
        Ok(())
    };
    let mut model = match Model::new(Options::NONE.with_memory(memory), body) {
        Ok(model) => model,
        Err(error) => panic!("{error}"),
    };
    let limits = Limits {
        depth: 1000,
        ..Limits::default()
    };
    model.prepare_for(strategy, &limits);
    model.trust_plain_memory();
    // As `cargo dpor` does with `states`.
    if strategy == Strategy::States || values.is_some() {
        model.put_weak_memory_off();
    }
    if let Some(values) = values {
        model.choose_first_from(values);
    }
    if strategy == Strategy::States && program.joins() {
        model.join_what_is_unshared(1, |_, _| ());
    }
    if let Some(Seeded::Races(fault)) = fault {
        model.race_fault(fault);
    }
    let mut explorer = Explorer::new(system(model), strategy, limits);
    if turns {
        explorer = explorer.quantum(QUANTUM);
    }
    if let Some(Seeded::Search(fault)) = fault {
        explorer = explorer.fault(fault);
    }
    explorer.run(observer)
}
