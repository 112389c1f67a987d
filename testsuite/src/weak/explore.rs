//! Programs under the explorer, on the facades of std.

use super::graph::Outcome;
use super::program::{Instruction, Program};
use crate::run_on_atomics;
use dpor_explorer::{End, Explorer, Limits, Observer, Statistics, Strategy, Trace, Verdict};
use dpor_scheduler::{Memory, Options, Program as Model, RaceFault};
use shim_std::sync::atomic::{AtomicU32, fence};
use shim_std::sync::{Mutex, MutexGuard};
use shim_std::thread::{self, JoinHandle};
use std::cell::UnsafeCell;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::{Arc, PoisonError};

/// The findings of an exploration.
#[derive(Debug)]
pub struct Explored {
    /// The outcomes of all executions that came to their end.
    pub outcomes: BTreeSet<Outcome>,
    /// The verdict.
    pub verdict: Verdict,
    /// The counters.
    pub statistics: Statistics,
}

/// Those of the executions so far.
type Outcomes = Arc<std::sync::Mutex<BTreeSet<Outcome>>>;

/// What the threads share.
struct Shared {
    program: &'static Program,
    atomics: Box<[AtomicU32]>,
    mutexes: Box<[Mutex<()>]>,
    /// By thread: its registers when it has ended.
    registers: Box<[UnsafeCell<Vec<u32>>]>,
}

// SAFETY: each thread writes its own registers, and the main thread reads them when all have ended.
unsafe impl Sync for Shared {}

impl Shared {
    fn new(program: &'static Program) -> Shared {
        let registers = (0..program.threads().len()).map(|thread| vec![0; program.registers(thread)]);
        Shared {
            program,
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
        self.run(&program.threads()[thread]);
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
fn main(program: &'static Program, outcomes: &Outcomes) {
    let shared: &'static Shared = Box::leak(Box::new(Shared::new(program)));
    let mut running = Running::new(shared);
    for thread in 0..program.threads().len() {
        if program.spawner(thread).is_none() {
            running.children.push((thread, shared.spawn(thread)));
        }
    }
    running.join_all();
    shim_std::outside(|| {
        let outcome = shared.outcome();
        outcomes.lock().unwrap_or_else(PoisonError::into_inner).insert(outcome);
    });
}

struct Collector(Outcomes);

impl Observer<Model> for Collector {
    fn execution(&mut self, _: &mut Model, _: &End, _: &Trace, _: &Statistics) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn refined(&mut self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
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
pub fn explore_with(program: &Program, strategy: Strategy, memory: Memory, fault: Option<RaceFault>) -> Explored {
    let outcomes = Outcomes::default();
    // A model keeps no memory of the checker's but what is never freed.
    let program: &'static Program = Box::leak(Box::new(program.clone()));
    let own = outcomes.clone();
    let body = move || {
        main(program, &own);
        Ok(())
    };
    let mut model = match Model::new(Options::NONE.with_memory(memory), body) {
        Ok(model) => model,
        Err(error) => panic!("{error}"),
    };
    model.compare_states(strategy.compares_states());
    if strategy == Strategy::States {
        // As `cargo dpor` does with it.
        model.put_weak_memory_off();
    }
    if let Some(fault) = fault {
        model.race_fault(fault);
    }
    let limits = Limits {
        depth: 1000,
        ..Limits::default()
    };
    let mut explorer = Explorer::new(model, strategy, limits);
    let report = explorer.run(&mut Collector(outcomes.clone()));
    let outcomes = outcomes.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Explored {
        outcomes,
        verdict: report.verdict,
        statistics: report.statistics,
    }
}
