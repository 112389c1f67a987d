//! Small programs over atomics.

use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

/// Maximum number of threads, and of the registers of each: their numbers have one digit in print.
const MOST: usize = 10;

/// An instruction. A number of a register counts the thread's own; all begin as 0, and so do locations.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Instruction {
    /// `register = location.load(ordering)`.
    Load {
        /// Receives the value.
        register: usize,
        /// Which atomic.
        location: usize,
        /// Its ordering.
        ordering: Ordering,
    },
    /// `location.store(value, ordering)`.
    Store {
        /// Which atomic.
        location: usize,
        /// The value.
        value: u32,
        /// Its ordering.
        ordering: Ordering,
    },
    /// `register = location.fetch_add(operand, ordering)`.
    Add {
        /// Receives the old value.
        register: usize,
        /// Which atomic.
        location: usize,
        /// The summand.
        operand: u32,
        /// Its ordering.
        ordering: Ordering,
    },
    /// `register = location.swap(value, ordering)`.
    Swap {
        /// Receives the old value.
        register: usize,
        /// Which atomic.
        location: usize,
        /// The new value.
        value: u32,
        /// Its ordering.
        ordering: Ordering,
    },
    /// `register = location.compare_exchange(expected, new, success, failure)`, the old value in either case.
    CompareExchange {
        /// Receives the old value.
        register: usize,
        /// Which atomic.
        location: usize,
        /// The value that is replaced.
        expected: u32,
        /// The value that replaces it.
        new: u32,
        /// The ordering of the modification.
        success: Ordering,
        /// The ordering of the load, if the value is another one.
        failure: Ordering,
    },
    /// `fence(ordering)`.
    Fence(Ordering),
    /// `if register == equals { then }`.
    If {
        /// Which register.
        register: usize,
        /// The value that it is compared with.
        equals: u32,
        /// What runs if they are equal.
        then: Vec<Instruction>,
    },
    /// Locks the mutex.
    Lock(usize),
    /// Unlocks it.
    Unlock(usize),
    /// Spawns the thread, which otherwise the main thread does before all else.
    Spawn(usize),
    /// Waits for the end of a thread that this one has spawned.
    Join(usize),
}

/// Where an ordering stands; not all orderings may stand everywhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slot {
    /// That of a load, or of a failed exchange.
    Load,
    Store,
    Modify,
    Fence,
}

impl Slot {
    /// The orderings that may stand there.
    pub(super) fn allowed(self) -> &'static [Ordering] {
        match self {
            Slot::Load => &[Relaxed, Acquire, SeqCst],
            Slot::Store => &[Relaxed, Release, SeqCst],
            Slot::Modify => &[Relaxed, Acquire, Release, AcqRel, SeqCst],
            Slot::Fence => &[Acquire, Release, AcqRel, SeqCst],
        }
    }
}

/// Whether something with this ordering acquires.
pub(super) fn acquires(ordering: Ordering) -> bool {
    matches!(ordering, Acquire | AcqRel | SeqCst)
}

/// Whether something with this ordering releases.
pub(super) fn releases(ordering: Ordering) -> bool {
    matches!(ordering, Release | AcqRel | SeqCst)
}

/// Whether the one ordering promises all that the other does, and more.
fn stronger(one: Ordering, other: Ordering) -> bool {
    let rank = |ordering| (acquires(ordering), releases(ordering), ordering == SeqCst);
    let ((a, r, s), (acquire, release, sc)) = (rank(one), rank(other));
    one != other && a >= acquire && r >= release && s >= sc
}

/// Runs an instruction on atomics of any crate that has them with std's interface. The arms in braces are those for
/// instructions that are about something else.
#[macro_export]
macro_rules! run_on_atomics {
    ($instruction:expr, $registers:expr, $atomics:expr, $fence:path, { $($others:tt)* }) => {
        match $instruction {
            $crate::weak::Instruction::Load {
                register,
                location,
                ordering,
            } => $registers[register] = $atomics[location].load(ordering),
            $crate::weak::Instruction::Store {
                location,
                value,
                ordering,
            } => $atomics[location].store(value, ordering),
            $crate::weak::Instruction::Add {
                register,
                location,
                operand,
                ordering,
            } => $registers[register] = $atomics[location].fetch_add(operand, ordering),
            $crate::weak::Instruction::Swap {
                register,
                location,
                value,
                ordering,
            } => $registers[register] = $atomics[location].swap(value, ordering),
            $crate::weak::Instruction::CompareExchange {
                register,
                location,
                expected,
                new,
                success,
                failure,
            } => {
                let result = $atomics[location].compare_exchange(expected, new, success, failure);
                $registers[register] = result.unwrap_or_else(|found| found);
            }
            $crate::weak::Instruction::Fence(ordering) => $fence(ordering),
            $($others)*
        }
    };
}

/// A program that ends in every execution.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Program {
    threads: Vec<Vec<Instruction>>,
    /// Number of atomics.
    locations: usize,
    /// Number of mutexes.
    mutexes: usize,
    /// By thread: number of its registers.
    registers: Vec<usize>,
    /// By thread: who spawns it, unless it is the main thread.
    spawners: Vec<Option<usize>>,
}

impl Program {
    /// The program of these threads. A thread is spawned by one of a lower number, or by the main thread; who has not
    /// joined a thread that it spawned does so at its end.
    ///
    /// # Panics
    /// If std would refuse an ordering, or the program might not end: if mutexes are not locked in the order of their
    /// numbers and unlocked, or a thread is joined under one; if a thread is spawned or joined twice, or joined by
    /// another one than its parent; or if mutexes or threads are used under a condition.
    pub fn new(threads: Vec<Vec<Instruction>>) -> Program {
        let mut program = Program {
            locations: 0,
            mutexes: 0,
            registers: vec![0; threads.len()],
            spawners: vec![None; threads.len()],
            threads: Vec::new(),
        };
        assert!(threads.len() <= MOST, "a thread's number has one digit");
        for (thread, instructions) in threads.iter().enumerate() {
            program.count(thread, instructions);
            let mut held: Vec<usize> = Vec::new();
            let mut children = Vec::new();
            for instruction in instructions {
                match *instruction {
                    Instruction::Lock(mutex) => {
                        assert!(held.iter().all(|&other| other < mutex), "mutexes are locked in order");
                        program.mutexes = program.mutexes.max(mutex + 1);
                        held.push(mutex);
                    }
                    Instruction::Unlock(mutex) => {
                        let at = held.iter().position(|&other| other == mutex);
                        held.remove(at.expect("who unlocks a mutex holds it"));
                    }
                    Instruction::Spawn(child) => {
                        assert!(thread < child, "children have higher numbers");
                        let before = program.spawners[child].replace(thread);
                        assert_eq!(before, None, "a thread is spawned once");
                        children.push(child);
                    }
                    Instruction::Join(child) => {
                        assert!(held.is_empty(), "the child may need the mutex");
                        let at = children.iter().position(|&other| other == child);
                        children.remove(at.expect("a parent joins its child, once"));
                    }
                    _ => {}
                }
            }
            assert!(held.is_empty(), "every mutex is unlocked");
        }
        program.threads = threads;
        for (slot, ordering) in program.orderings() {
            assert!(
                slot.allowed().contains(ordering),
                "std refuses {ordering:?} for {slot:?}"
            );
        }
        program
    }

    /// Counts the locations and registers of the instructions, and looks at those under conditions.
    fn count(&mut self, thread: usize, instructions: &[Instruction]) {
        for instruction in instructions {
            let (register, location) = match *instruction {
                Instruction::Load { register, location, .. }
                | Instruction::Add { register, location, .. }
                | Instruction::Swap { register, location, .. }
                | Instruction::CompareExchange { register, location, .. } => (Some(register), Some(location)),
                Instruction::Store { location, .. } => (None, Some(location)),
                Instruction::If { register, ref then, .. } => {
                    assert!(
                        then.iter().all(|inner| !matches!(
                            inner,
                            Instruction::Lock(_)
                                | Instruction::Unlock(_)
                                | Instruction::Spawn(_)
                                | Instruction::Join(_)
                        )),
                        "mutexes and threads are used in every execution"
                    );
                    self.count(thread, then);
                    (Some(register), None)
                }
                _ => (None, None),
            };
            if let Some(register) = register {
                assert!(register < MOST, "a register's number has one digit");
                self.registers[thread] = self.registers[thread].max(register + 1);
            }
            if let Some(location) = location {
                self.locations = self.locations.max(location + 1);
            }
        }
    }

    /// Whether explorations of it join operations on what only one thread uses to other steps. Half of the programs
    /// are explored so.
    pub fn joins(&self) -> bool {
        self.threads.iter().map(Vec::len).sum::<usize>().is_multiple_of(2)
    }

    /// The instructions of each thread.
    pub fn threads(&self) -> &[Vec<Instruction>] {
        &self.threads
    }

    /// Number of atomics.
    pub fn locations(&self) -> usize {
        self.locations
    }

    /// Number of mutexes.
    pub fn mutexes(&self) -> usize {
        self.mutexes
    }

    /// Number of registers of the thread.
    pub fn registers(&self, thread: usize) -> usize {
        self.registers[thread]
    }

    /// The thread that spawns it; `None` if the main thread does.
    pub fn spawner(&self, thread: usize) -> Option<usize> {
        self.spawners[thread]
    }

    /// The threads that the main thread spawns.
    pub fn spawned_by_main(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.threads.len()).filter(|&thread| self.spawners[thread].is_none())
    }

    /// The threads that this one spawns and joins at its end.
    pub fn joined_at_the_end(&self, thread: usize) -> impl Iterator<Item = usize> + '_ {
        let instructions = &self.threads[thread];
        let spawned = instructions.iter().filter_map(|instruction| match *instruction {
            Instruction::Spawn(child) => Some(child),
            _ => None,
        });
        spawned.filter(|&child| !instructions.contains(&Instruction::Join(child)))
    }

    /// Whether no thread waits for another one: there are no mutexes, and the main thread has spawned them all.
    pub fn never_waits(&self) -> bool {
        self.mutexes == 0 && self.spawners.iter().all(Option::is_none)
    }

    /// All orderings, in the order of the text.
    fn orderings(&mut self) -> Vec<(Slot, &mut Ordering)> {
        fn gather<'p>(instructions: &'p mut [Instruction], all: &mut Vec<(Slot, &'p mut Ordering)>) {
            for instruction in instructions {
                match instruction {
                    Instruction::Load { ordering, .. } => all.push((Slot::Load, ordering)),
                    Instruction::Store { ordering, .. } => all.push((Slot::Store, ordering)),
                    Instruction::Add { ordering, .. } | Instruction::Swap { ordering, .. } => {
                        all.push((Slot::Modify, ordering));
                    }
                    Instruction::CompareExchange { success, failure, .. } => {
                        all.push((Slot::Modify, success));
                        all.push((Slot::Load, failure));
                    }
                    Instruction::Fence(ordering) => all.push((Slot::Fence, ordering)),
                    Instruction::If { then, .. } => gather(then, all),
                    Instruction::Lock(_) | Instruction::Unlock(_) | Instruction::Spawn(_) | Instruction::Join(_) => {}
                }
            }
        }
        let mut all = Vec::new();
        for thread in &mut self.threads {
            gather(thread, &mut all);
        }
        all
    }

    /// The program with `SeqCst` everywhere.
    #[must_use]
    pub fn sequentially_consistent(&self) -> Program {
        let mut program = self.clone();
        for (_, ordering) in program.orderings() {
            *ordering = SeqCst;
        }
        program
    }

    /// The programs with one ordering stronger than here.
    pub fn strengthened(&self) -> Vec<Program> {
        let mut programs = Vec::new();
        let mut program = self.clone();
        let count = program.orderings().len();
        for at in 0..count {
            let (slot, &mut before) = program.orderings().remove(at);
            for &after in slot.allowed() {
                if stronger(after, before) {
                    let mut other = self.clone();
                    *other.orderings().remove(at).1 = after;
                    programs.push(other);
                }
            }
        }
        programs
    }
}

/// What a thread does next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action<'p> {
    /// A thread that another one spawned starts.
    Start,
    /// An instruction, which is no condition.
    Run(&'p Instruction),
    /// Such a thread ends.
    End,
}

/// Where a thread is, and what its registers hold.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'p> {
    /// The actions at the thread's start and end that are still to come.
    start: bool,
    end: bool,
    /// What is left of the thread's instructions, and of the conditional ones that it is in.
    rest: Vec<&'p [Instruction]>,
    pub(super) registers: Vec<u32>,
}

impl<'p> Cursor<'p> {
    /// The start of each thread.
    pub(super) fn all(program: &'p Program) -> Vec<Cursor<'p>> {
        let threads = program.threads.iter().enumerate();
        let cursors = threads.map(|(thread, instructions)| Cursor {
            start: program.spawners[thread].is_some(),
            end: program.spawners[thread].is_some(),
            rest: vec![instructions],
            registers: vec![0; program.registers[thread]],
        });
        cursors.collect()
    }

    /// Takes the next action; `None` at the end.
    pub(super) fn advance(&mut self) -> Option<Action<'p>> {
        if std::mem::take(&mut self.start) {
            return Some(Action::Start);
        }
        while let Some(&instructions) = self.rest.last() {
            let Some((first, after)) = instructions.split_first() else {
                self.rest.pop();
                continue;
            };
            *self.rest.last_mut().expect("it is not empty") = after;
            match first {
                Instruction::If { register, equals, then } => {
                    if self.registers[*register] == *equals {
                        self.rest.push(then);
                    }
                }
                instruction => return Some(Action::Run(instruction)),
            }
        }
        std::mem::take(&mut self.end).then_some(Action::End)
    }
}
