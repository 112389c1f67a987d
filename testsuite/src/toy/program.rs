//! Toy programs: their parts, and how they are printed.

use std::fmt;
use std::ops::Range;

/// A register of a thread.
pub type Register = u8;

/// The number of registers that each thread has.
pub const REGISTERS: usize = 4;

/// A value that an instruction uses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    /// This number.
    Constant(i64),
    /// The value of the register.
    Register(Register),
}

/// A comparison of a register with a number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Test {
    /// They are equal.
    Equal(i64),
    /// They are not equal.
    NotEqual(i64),
}

impl Test {
    /// Decides the comparison.
    pub fn holds(self, value: i64) -> bool {
        match self {
            Test::Equal(n) => value == n,
            Test::NotEqual(n) => value != n,
        }
    }
}

/// One instruction. Objects are named by their index among the objects of their kind.
///
/// All instructions are total: releasing what the thread does not hold, waiting without holding the
/// mutex and joining a child that was never spawned do nothing. A section ends before an instruction that cannot be
/// in it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Instruction {
    /// `into = variable`
    Load {
        /// The shared variable.
        variable: usize,
        /// Receives its value.
        into: Register,
    },
    /// `variable = value`
    Store {
        /// The shared variable.
        variable: usize,
        /// Its new value.
        value: Operand,
    },
    /// `into = variable; variable += value` in one go
    FetchAdd {
        /// The shared variable.
        variable: usize,
        /// The value to add.
        value: Operand,
        /// Receives the value before, if it is kept.
        into: Option<Register>,
    },
    /// `into = variable; variable = value` in one go
    Swap {
        /// The shared variable.
        variable: usize,
        /// Its new value.
        value: Operand,
        /// Receives the value before.
        into: Register,
    },
    /// `into = variable; if into == expected { variable = new }` in one go
    CompareExchange {
        /// The shared variable.
        variable: usize,
        /// The value at which the exchange succeeds.
        expected: Operand,
        /// The new value then.
        new: Operand,
        /// Receives the value before.
        into: Register,
        /// Whether it may fail for no reason, as an alternative: `into = -1`.
        weak: bool,
    },
    /// Loads until the variable has the value. A load that finds another one blocks the thread until
    /// the variable is written again.
    SpinUntil {
        /// The shared variable.
        variable: usize,
        /// The value that ends the loop.
        value: i64,
    },
    /// Locks a mutex; blocks while it is held.
    Lock(usize),
    /// Locks a mutex if it is free: `into = 1`, else `into = 0`.
    TryLock {
        /// The mutex.
        mutex: usize,
        /// Says whether it is held now.
        into: Register,
    },
    /// Unlocks a mutex. Part of the step before it, unless some `TryLock` observes the mutex.
    Unlock(usize),
    /// Locks a read-write lock for reading.
    ReadLock(usize),
    /// Locks a read-write lock for writing.
    WriteLock(usize),
    /// Gives up a read-write lock, however it is held. Part of the step before it.
    ReadWriteUnlock(usize),
    /// Takes a permit of a semaphore; blocks while there is none.
    Acquire(usize),
    /// Takes a permit from each of two different semaphores at once; blocks while one of them has none.
    AcquireBoth(usize, usize),
    /// Gives a permit to a semaphore.
    Release(usize),
    /// Sends to a channel; blocks while it is full.
    Send {
        /// The channel.
        channel: usize,
        /// The message.
        value: Operand,
    },
    /// Receives from a channel; blocks while it is empty.
    Receive {
        /// The channel.
        channel: usize,
        /// Receives the message.
        into: Register,
    },
    /// Receives from a channel, or finds it empty: `into = -1`.
    TryReceive {
        /// The channel.
        channel: usize,
        /// Receives the message.
        into: Register,
    },
    /// Unlocks the mutex and waits, in one go; locks it again when notified.
    Wait {
        /// The condition variable.
        condvar: usize,
        /// The mutex.
        mutex: usize,
        /// For a wait that may time out: whether it did.
        timeout: Option<Register>,
    },
    /// Wakes one of the waiting threads, any one.
    NotifyOne(usize),
    /// Wakes all waiting threads.
    NotifyAll(usize),
    /// Creates a thread that runs the body. Part of the step before it.
    Spawn(usize),
    /// Waits for the end of the n-th thread that this one created.
    Join(usize),
    /// Leaves out the next instructions unless the test holds.
    SkipUnless {
        /// The tested register.
        register: Register,
        /// The test.
        test: Test,
        /// Number of instructions to skip.
        count: usize,
    },
    /// Ends the thread as failed unless the test holds.
    Assert {
        /// The tested register.
        register: Register,
        /// The test.
        test: Test,
    },
    /// `into = into * factor + value`, a local computation.
    Compute {
        /// The register.
        into: Register,
        /// The factor.
        factor: i64,
        /// The value to add.
        value: Operand,
    },
    /// `into` is any number below `count`: each is an alternative. Touches nothing.
    Choose {
        /// Number of alternatives.
        count: u32,
        /// Receives the number.
        into: Register,
    },
    /// Goes back by so many instructions if the test holds. Touches nothing, but is a step, so that no step is without
    /// end.
    Repeat {
        /// The tested register.
        register: Register,
        /// The test.
        test: Test,
        /// Number of instructions to go back by.
        count: usize,
    },
    /// Makes one step of the next instructions, at most this number. Only the first of them may block; none may have
    /// alternatives, wait for a notification, spin, or create or join a thread. If they access several locations, the
    /// step's footprint has all that they may touch, whatever they skip.
    Atomic(usize),
}

impl Instruction {
    /// Says whether the instruction is (or may be) a scheduling point of its own.
    pub fn is_point(&self) -> bool {
        use Instruction::*;
        !matches!(
            self,
            Unlock(_) | ReadWriteUnlock(_) | Spawn(_) | SkipUnless { .. } | Assert { .. } | Compute { .. }
        )
    }
}

/// A toy program. All shared variables are 0 at first.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Program {
    /// The code of threads.
    pub bodies: Vec<Vec<Instruction>>,
    /// Number of threads at the start; the n-th runs the n-th body.
    pub started: usize,
    /// The number of shared variables.
    pub variables: usize,
    /// The number of mutexes.
    pub mutexes: usize,
    /// The number of read-write locks.
    pub rwlocks: usize,
    /// The permits that each semaphore has at first.
    pub semaphores: Vec<i64>,
    /// The capacity of each channel; `None` for unbounded ones.
    pub channels: Vec<Option<usize>>,
    /// The number of condition variables.
    pub condvars: usize,
    /// Whether a failed assertion ends the execution at once, instead of only the thread.
    pub failures_stop: bool,
}

impl Program {
    /// A program whose threads all exist from the start, with enough objects for its instructions:
    /// semaphores with one permit, unbounded channels.
    pub fn of(bodies: Vec<Vec<Instruction>>) -> Program {
        let started = bodies.len();
        Program::new(bodies, started)
    }

    /// Like [`Program::of`], but only the first `started` bodies run as threads from the start; the others can be
    /// spawned.
    pub fn new(bodies: Vec<Vec<Instruction>>, started: usize) -> Program {
        use Instruction::*;
        let mut program = Program {
            bodies,
            started,
            ..Program::default()
        };
        let need = |n: &mut usize, index: usize| *n = (*n).max(index + 1);
        let (mut semaphores, mut channels) = (0, 0);
        for instruction in program.bodies.iter().flatten() {
            match *instruction {
                Load { variable, .. }
                | Store { variable, .. }
                | FetchAdd { variable, .. }
                | Swap { variable, .. }
                | CompareExchange { variable, .. }
                | SpinUntil { variable, .. } => need(&mut program.variables, variable),
                Lock(m) | Unlock(m) | TryLock { mutex: m, .. } => need(&mut program.mutexes, m),
                ReadLock(l) | WriteLock(l) | ReadWriteUnlock(l) => need(&mut program.rwlocks, l),
                Acquire(s) | Release(s) => need(&mut semaphores, s),
                AcquireBoth(s, t) => [s, t].into_iter().for_each(|s| need(&mut semaphores, s)),
                Send { channel, .. } | Receive { channel, .. } | TryReceive { channel, .. } => {
                    need(&mut channels, channel);
                }
                Wait { condvar, mutex, .. } => {
                    need(&mut program.condvars, condvar);
                    need(&mut program.mutexes, mutex);
                }
                NotifyOne(c) | NotifyAll(c) => need(&mut program.condvars, c),
                Spawn(_) | Join(_) | SkipUnless { .. } | Assert { .. } | Compute { .. } | Choose { .. } => {}
                Repeat { .. } | Atomic(_) => {}
            }
        }
        program.semaphores = vec![1; semaphores];
        program.channels = vec![None; channels];
        program
    }

    /// The indices of the instructions that the `Atomic` at `index` makes one step of.
    pub fn section(&self, body: usize, index: usize) -> Range<usize> {
        let code = &self.bodies[body];
        let Some(&Instruction::Atomic(count)) = code.get(index) else {
            return index..index;
        };
        let first = index + 1;
        let rest = code[first..].iter().take(count);
        let fitting = rest
            .zip(0..)
            .take_while(|&(instruction, at)| self.fits_in_section(instruction, at == 0));
        first..first + fitting.count()
    }

    fn fits_in_section(&self, instruction: &Instruction, first: bool) -> bool {
        use Instruction::*;
        match *instruction {
            Load { .. } | Store { .. } | FetchAdd { .. } | Swap { .. } | CompareExchange { weak: false, .. } => true,
            TryLock { .. } | Unlock(_) | ReadWriteUnlock(_) | Release(_) | TryReceive { .. } | NotifyAll(_) => true,
            SkipUnless { .. } | Assert { .. } | Compute { .. } => true,
            Send { channel, .. } => first || self.channels[channel].is_none(),
            Lock(_) | ReadLock(_) | WriteLock(_) | Acquire(_) | AcquireBoth(..) | Receive { .. } => first,
            CompareExchange { .. } | SpinUntil { .. } | Wait { .. } | NotifyOne(_) => false,
            Spawn(_) | Join(_) | Choose { .. } | Repeat { .. } | Atomic(_) => false,
        }
    }

    /// The program without a thread that exists from the start.
    pub fn without_thread(&self, body: usize) -> Program {
        let mut program = self.clone();
        program.bodies.remove(body);
        program.started -= 1;
        for instruction in program.bodies.iter_mut().flatten() {
            if let Instruction::Spawn(child) = instruction
                && *child > body
            {
                *child -= 1;
            }
        }
        program
    }

    /// The program without one instruction; branches over it and the section that it is in become shorter.
    pub fn without(&self, body: usize, index: usize) -> Program {
        let mut program = self.clone();
        let code = &mut program.bodies[body];
        for (at, instruction) in code.iter_mut().enumerate().take(index) {
            if let Instruction::SkipUnless { count, .. } | Instruction::Atomic(count) = instruction
                && at + *count >= index
            {
                *count -= 1;
            }
        }
        for (at, instruction) in code.iter_mut().enumerate().skip(index + 1) {
            if let Instruction::Repeat { count, .. } = instruction
                && at <= index + *count
            {
                *count -= 1;
            }
        }
        code.remove(index);
        program
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Constant(n) => write!(f, "{n}"),
            Operand::Register(r) => write!(f, "r{r}"),
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Test::Equal(n) => write!(f, "== {n}"),
            Test::NotEqual(n) => write!(f, "!= {n}"),
        }
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use Instruction::*;
        match self {
            Load { variable, into } => write!(f, "r{into} = x{variable}"),
            Store { variable, value } => write!(f, "x{variable} = {value}"),
            FetchAdd {
                variable,
                value,
                into: Some(into),
            } => write!(f, "r{into} = x{variable}.fetch_add({value})"),
            FetchAdd {
                variable,
                value,
                into: None,
            } => write!(f, "x{variable}.fetch_add({value})"),
            Swap { variable, value, into } => write!(f, "r{into} = x{variable}.swap({value})"),
            CompareExchange {
                variable,
                expected,
                new,
                into,
                weak,
            } => {
                let weak = if *weak { "_weak" } else { "" };
                write!(f, "r{into} = x{variable}.compare_exchange{weak}({expected}, {new})")
            }
            SpinUntil { variable, value } => write!(f, "while x{variable} != {value} {{}}"),
            Lock(m) => write!(f, "lock m{m}"),
            TryLock { mutex, into } => write!(f, "r{into} = try_lock m{mutex}"),
            Unlock(m) => write!(f, "unlock m{m}"),
            ReadLock(l) => write!(f, "read w{l}"),
            WriteLock(l) => write!(f, "write w{l}"),
            ReadWriteUnlock(l) => write!(f, "unlock w{l}"),
            Acquire(s) => write!(f, "acquire s{s}"),
            AcquireBoth(s, t) => write!(f, "acquire s{s} and s{t}"),
            Release(s) => write!(f, "release s{s}"),
            Send { channel, value } => write!(f, "c{channel}.send({value})"),
            Receive { channel, into } => write!(f, "r{into} = c{channel}.recv()"),
            TryReceive { channel, into } => write!(f, "r{into} = c{channel}.try_recv()"),
            Wait {
                condvar,
                mutex,
                timeout: None,
            } => write!(f, "v{condvar}.wait(m{mutex})"),
            Wait {
                condvar,
                mutex,
                timeout: Some(r),
            } => write!(f, "r{r} = v{condvar}.wait_timeout(m{mutex})"),
            NotifyOne(c) => write!(f, "v{c}.notify_one()"),
            NotifyAll(c) => write!(f, "v{c}.notify_all()"),
            Spawn(body) => write!(f, "spawn b{body}"),
            Join(child) => write!(f, "join child {child}"),
            SkipUnless { register, test, count } => write!(f, "unless r{register} {test} skip {count}"),
            Assert { register, test } => write!(f, "assert r{register} {test}"),
            Compute { into, factor, value } => write!(f, "r{into} = {factor} * r{into} + {value}"),
            Repeat { register, test, count } => write!(f, "if r{register} {test} repeat {count}"),
            Choose { count, into } => write!(f, "r{into} = choose({count})"),
            Atomic(count) => write!(f, "atomic {count}"),
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.semaphores.is_empty() {
            writeln!(f, "semaphores with {:?} permits", self.semaphores)?;
        }
        if !self.channels.is_empty() {
            writeln!(f, "channels with capacities {:?}", self.channels)?;
        }
        if self.failures_stop {
            writeln!(f, "a failed assertion ends the execution")?;
        }
        for (number, body) in self.bodies.iter().enumerate() {
            let kind = if number < self.started { "thread" } else { "body b" };
            write!(f, "{kind}{number}:")?;
            let mut section = 0..0;
            for (index, instruction) in body.iter().enumerate() {
                write!(f, " {instruction};")?;
                if let Instruction::Atomic(_) = instruction {
                    section = self.section(number, index);
                    write!(f, " [")?;
                }
                if index + 1 == section.end {
                    write!(f, " ]")?;
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
