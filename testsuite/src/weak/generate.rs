//! Generates programs.
//!
//! Drawn evenly, few programs would show anything. So in most of them, each thread accesses an atomic that it has in
//! common with one neighbour and later one that it has in common with the other, as in store buffering, message passing
//! and their like, with other operations in between. And a program has a style, which tells the orderings that most of
//! its operations have, so that there are cycles of `SeqCst` operations, and chains of releases and acquires.

use super::program::{Instruction, Program, Slot};
use dpor_explorer::SplitMix64;
use std::sync::atomic::Ordering::{self, Relaxed, SeqCst};

/// Maximum number of operations of a generated program.
const MOST_OPERATIONS: usize = 10;

#[derive(Clone, Copy)]
enum Style {
    /// All orderings.
    Even,
    /// `Relaxed` operations, and fences.
    Fences,
    /// `SeqCst` and others.
    Sequential,
    /// What acquires and releases.
    Synchronising,
}

struct Generator {
    random: SplitMix64,
    style: Style,
    locations: usize,
    /// By thread: number of registers that were used.
    registers: Vec<usize>,
}

/// The program of this seed: so many operations on one to three atomics, in two to four threads, some of them under a
/// condition. One in six has a mutex, in one in six a thread spawns another one.
///
/// # Panics
/// If there are to be fewer than 2 operations, or more than 10.
pub fn generate(seed: u64, operations: usize) -> Program {
    assert!((2..=MOST_OPERATIONS).contains(&operations), "programs are small");
    let mut random = SplitMix64::new(SplitMix64::mix(seed));
    let style = [Style::Even, Style::Fences, Style::Sequential, Style::Synchronising][random.below(4)];
    let cyclic = operations >= 4 && random.below(4) > 0;
    let most = if cyclic { operations / 2 } else { operations };
    let threads = 2 + random.below(most.min(4) - 1);
    let locations = if cyclic { threads.min(3) } else { 1 + random.below(3) };
    // By thread: the operations, some of them accesses of certain atomics.
    let mut plan: Vec<Vec<Option<usize>>> = (0..threads)
        .map(|thread| {
            if cyclic {
                vec![Some(thread % locations), Some((thread + 1) % locations)]
            } else {
                vec![None]
            }
        })
        .collect();
    for _ in plan.iter().map(Vec::len).sum()..operations {
        let thread = random.below(threads);
        let place = random.below(plan[thread].len() + 1);
        plan[thread].insert(place, None);
    }
    let mut generator = Generator {
        random,
        style,
        locations,
        registers: vec![0; threads],
    };
    let mut code: Vec<Vec<Instruction>> = plan
        .iter()
        .enumerate()
        .map(|(thread, plan)| plan.iter().map(|&place| generator.instruction(thread, place)).collect())
        .collect();
    match generator.random.below(6) {
        0 => generator.lock(&mut code),
        1 => generator.spawn(&mut code),
        _ => {}
    }
    Program::new(code)
}

/// The program of this seed, in which there are many values to choose from: a thread stores a few times to an atomic,
/// and then to another one; a second thread begins with that one, and looks for the others. Each of them may do more, and
/// there may be a third one.
pub fn generate_long_histories(seed: u64) -> Program {
    let mut random = SplitMix64::new(SplitMix64::mix(seed));
    let style = [Style::Even, Style::Fences, Style::Sequential, Style::Synchronising][random.below(4)];
    let threads = 2 + usize::from(random.below(3) == 0);
    let mut generator = Generator {
        random,
        style,
        locations: 2,
        registers: vec![0; threads],
    };
    let stores = 2 + generator.random.below(2);
    let mut writer: Vec<Instruction> = (1..=stores)
        .map(|value| Instruction::Store {
            location: 0,
            value: value as u32,
            ordering: generator.ordering(Slot::Store),
        })
        .collect();
    writer.push(Instruction::Store {
        location: 1,
        value: 1,
        ordering: generator.ordering(Slot::Store),
    });
    let mut code = vec![writer];
    code.push(
        [1, 0, 0]
            .map(|location| generator.instruction(1, Some(location)))
            .into(),
    );
    code.extend((2..threads).map(|thread| vec![generator.instruction(thread, Some(0))]));
    for _ in 0..generator.random.below(3) {
        let thread = generator.random.below(threads);
        let place = generator.random.below(code[thread].len() + 1);
        let instruction = match generator.percent(50) {
            true => Instruction::Fence(generator.ordering(Slot::Fence)),
            false => Instruction::Store {
                location: generator.random.below(2),
                value: 4,
                ordering: generator.ordering(Slot::Store),
            },
        };
        code[thread].insert(place, instruction);
    }
    Program::new(code)
}

impl Generator {
    fn percent(&mut self, chance: usize) -> bool {
        self.random.below(100) < chance
    }

    fn ordering(&mut self, slot: Slot) -> Ordering {
        let allowed = slot.allowed();
        let drawn = allowed[self.random.below(allowed.len())];
        match self.style {
            Style::Even => drawn,
            Style::Fences if slot == Slot::Fence => [drawn, SeqCst][self.random.below(2)],
            Style::Fences => [Relaxed, Relaxed, drawn][self.random.below(3)],
            Style::Sequential => [SeqCst, drawn][self.random.below(2)],
            Style::Synchronising => match slot {
                Slot::Load | Slot::Store => allowed[self.random.below(2)],
                Slot::Modify | Slot::Fence => drawn,
            },
        }
    }

    /// An operation, now and then under a condition on what the thread has read; an access of this atomic, if one is
    /// given.
    fn instruction(&mut self, thread: usize, location: Option<usize>) -> Instruction {
        let used = self.registers[thread];
        let fences = match (location, self.style) {
            (Some(_), _) => 0,
            (None, Style::Fences) => 50,
            (None, _) => 15,
        };
        let instruction = if self.percent(fences) {
            Instruction::Fence(self.ordering(Slot::Fence))
        } else {
            let location = location.unwrap_or_else(|| self.random.below(self.locations));
            self.access(thread, location)
        };
        if used > 0 && self.percent(15) {
            return Instruction::If {
                register: self.random.below(used),
                equals: self.random.below(3) as u32,
                then: vec![instruction],
            };
        }
        instruction
    }

    fn access(&mut self, thread: usize, location: usize) -> Instruction {
        let value = 1 + self.random.below(2) as u32;
        let kind = self.random.below(100);
        if kind < 45 {
            let ordering = self.ordering(Slot::Store);
            return Instruction::Store {
                location,
                value,
                ordering,
            };
        }
        let register = self.registers[thread];
        self.registers[thread] += 1;
        match kind {
            0..85 => Instruction::Load {
                register,
                location,
                ordering: self.ordering(Slot::Load),
            },
            85..89 => Instruction::Add {
                register,
                location,
                operand: 1,
                ordering: self.ordering(Slot::Modify),
            },
            89..92 => Instruction::Swap {
                register,
                location,
                value,
                ordering: self.ordering(Slot::Modify),
            },
            _ => Instruction::CompareExchange {
                register,
                location,
                expected: self.random.below(3) as u32,
                new: value,
                success: self.ordering(Slot::Modify),
                failure: self.ordering(Slot::Load),
            },
        }
    }

    /// Puts a part of two threads in critical sections.
    fn lock(&mut self, code: &mut [Vec<Instruction>]) {
        for instructions in &mut code[..2] {
            let start = self.random.below(instructions.len());
            let end = start + 1 + self.random.below(instructions.len() - start);
            instructions.insert(end, Instruction::Unlock(0));
            instructions.insert(start, Instruction::Lock(0));
        }
    }

    /// Lets a thread spawn the last one, and join it or not.
    fn spawn(&mut self, code: &mut [Vec<Instruction>]) {
        let child = code.len() - 1;
        let parent = self.random.below(child);
        let start = self.random.below(code[parent].len() + 1);
        if self.percent(50) {
            let end = start + self.random.below(code[parent].len() - start + 1);
            code[parent].insert(end, Instruction::Join(child));
        }
        code[parent].insert(start, Instruction::Spawn(child));
    }
}
