//! Sequential consistency: every interleaving of a program on a memory that has one value for each atomic.

use super::enumerate::Executions;
use super::graph::{Event, Graph, Name, Outcome, Reads};
use super::program::{Action, Cursor, Instruction, Program};
use std::collections::BTreeMap;

/// Every execution of the program in which each read sees the last write: as a graph, whose modification orders are
/// those of the interleaving.
pub fn interleave(program: &Program) -> Executions {
    let mut graphs = BTreeMap::new();
    let machine = Machine {
        cursors: Cursor::all(program),
        memory: vec![0; program.locations()],
        mutexes: vec![Mutex::default(); program.mutexes()],
        graph: Graph::new(program.threads().len(), program.locations()),
    };
    machine.run(&mut graphs);
    Executions { graphs }
}

#[derive(Clone, Default)]
struct Mutex {
    locked: bool,
    unlocked_by: Option<Name>,
}

#[derive(Clone)]
struct Machine<'p> {
    cursors: Vec<Cursor<'p>>,
    memory: Vec<u32>,
    mutexes: Vec<Mutex>,
    graph: Graph,
}

impl Machine<'_> {
    fn run(&self, graphs: &mut BTreeMap<Graph, Outcome>) {
        let mut ended = true;
        for thread in 0..self.cursors.len() {
            let mut next = self.clone();
            if let Some(action) = next.cursors[thread].advance() {
                ended = false;
                if next.step(thread, action) {
                    next.run(graphs);
                }
            }
        }
        if ended {
            let registers = self.cursors.iter().map(|cursor| cursor.registers.clone());
            let outcome = Outcome {
                registers: registers.collect(),
                finals: self.memory.clone(),
            };
            graphs.insert(self.graph.clone(), outcome);
        }
    }

    /// Runs the thread's action; `false` if it has to wait.
    fn step(&mut self, thread: usize, action: Action<'_>) -> bool {
        let instruction = match action {
            Action::Start => {
                let spawned = self
                    .graph
                    .threads
                    .iter()
                    .flatten()
                    .any(|event| *event == Event::Spawn(thread));
                self.graph.push(thread, Event::Start);
                return spawned;
            }
            Action::End => {
                self.graph.push(thread, Event::End);
                return true;
            }
            Action::Run(instruction) => instruction,
        };
        match *instruction {
            Instruction::Load { register, location, .. } => {
                let value = self.memory[location];
                self.access(thread, location, true, None);
                self.cursors[thread].registers[register] = value;
            }
            Instruction::Store { location, value, .. } => self.access(thread, location, false, Some(value)),
            Instruction::Add {
                register,
                location,
                operand,
                ..
            } => {
                let value = self.memory[location];
                self.access(thread, location, true, Some(value.wrapping_add(operand)));
                self.cursors[thread].registers[register] = value;
            }
            Instruction::Swap {
                register,
                location,
                value: new,
                ..
            } => {
                let value = self.memory[location];
                self.access(thread, location, true, Some(new));
                self.cursors[thread].registers[register] = value;
            }
            Instruction::CompareExchange {
                register,
                location,
                expected,
                new,
                ..
            } => {
                let value = self.memory[location];
                self.access(thread, location, true, (value == expected).then_some(new));
                self.cursors[thread].registers[register] = value;
            }
            Instruction::Fence(_) => {
                self.graph.push(thread, Event::Fence);
            }
            Instruction::Lock(mutex) => {
                if self.mutexes[mutex].locked {
                    return false;
                }
                self.mutexes[mutex].locked = true;
                self.graph
                    .push(thread, Event::Lock(mutex, self.mutexes[mutex].unlocked_by));
            }
            Instruction::Unlock(mutex) => {
                self.mutexes[mutex].locked = false;
                self.mutexes[mutex].unlocked_by = Some(self.graph.push(thread, Event::Unlock(mutex)));
            }
            Instruction::Spawn(child) => {
                self.graph.push(thread, Event::Spawn(child));
            }
            Instruction::Join(child) => {
                let ended = self.graph.threads[child].last() == Some(&Event::End);
                self.graph.push(thread, Event::Join(child));
                return ended;
            }
            Instruction::If { .. } => unreachable!("a cursor decides conditions"),
        }
        true
    }

    fn access(&mut self, thread: usize, location: usize, reads: bool, writes: Option<u32>) {
        let reads = reads.then(|| Reads {
            from: self.graph.orders[location].last().copied(),
            value: self.memory[location],
        });
        let event = Event::Access {
            location,
            reads,
            writes,
        };
        let name = self.graph.push(thread, event);
        if let Some(value) = writes {
            self.memory[location] = value;
            self.graph.orders[location].push(name);
        }
    }
}
