//! The state of a toy program: objects, threads, and their final state.

use super::program::{Program, REGISTERS};
use dpor_explorer::ThreadId;
use std::collections::VecDeque;
use std::fmt;

/// The whole state.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct State {
    pub variables: Vec<i64>,
    /// The owner of each mutex.
    pub mutexes: Vec<Option<ThreadId>>,
    pub rwlocks: Vec<ReadWrite>,
    /// Number of permits taken from each semaphore.
    pub taken: Vec<i64>,
    pub channels: Vec<Channel>,
    /// The threads that wait for each condition variable and were not notified, in order of arrival.
    pub waiters: Vec<Vec<ThreadId>>,
    /// Indexed by thread; `None` for a thread that was not created in this execution.
    pub threads: Vec<Option<Thread>>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct ReadWrite {
    pub readers: i64,
    pub writer: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Channel {
    pub queue: VecDeque<i64>,
    pub sent: u64,
    pub received: u64,
}

/// The next action of a thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Phase {
    /// The first step of a thread that exists from the start and spawns others right away.
    Begin,
    /// The instruction at the program counter.
    Ready,
    /// Between the two halves of a wait.
    Waiting,
    /// It looked at the variable of a spin loop in vain, when the variable had this version.
    Spinning(u64),
    /// It has ended; whether by a failed assertion.
    Ended {
        /// Whether an assertion failed.
        failed: bool,
    },
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Thread {
    pub body: usize,
    pub counter: usize,
    pub registers: [i64; REGISTERS],
    pub phase: Phase,
    /// Whether the wait was notified.
    pub notified: bool,
    /// The read-write locks held, and whether for writing.
    pub rwlocks: Vec<(usize, bool)>,
    pub children: Vec<ThreadId>,
    /// Creation path: the index of the initial thread, then which child of its parent each one is.
    pub path: Vec<u8>,
}

impl Thread {
    pub fn new(body: usize, path: Vec<u8>) -> Thread {
        Thread {
            body,
            counter: 0,
            registers: [0; REGISTERS],
            phase: Phase::Ready,
            notified: false,
            rwlocks: Vec::new(),
            children: Vec::new(),
            path,
        }
    }

    pub fn ended(&self) -> bool {
        matches!(self.phase, Phase::Ended { .. })
    }
}

impl State {
    pub fn new(program: &Program) -> State {
        State {
            variables: vec![0; program.variables],
            mutexes: vec![None; program.mutexes],
            rwlocks: vec![ReadWrite::default(); program.rwlocks],
            taken: vec![0; program.semaphores.len()],
            channels: vec![Channel::default(); program.channels.len()],
            waiters: vec![Vec::new(); program.condvars],
            threads: (0..program.started)
                .map(|body| Some(Thread::new(body, vec![body as u8])))
                .collect(),
        }
    }

    pub fn thread(&self, id: ThreadId) -> &Thread {
        self.threads[id.index()].as_ref().expect("the thread exists")
    }

    pub fn thread_mut(&mut self, id: ThreadId) -> &mut Thread {
        self.threads[id.index()].as_mut().expect("the thread exists")
    }

    /// The final state of an execution, whatever numbers threads have.
    pub fn terminal(&self) -> Terminal {
        let path = |id: ThreadId| self.thread(id).path.clone();
        let mut threads: Vec<_> = self
            .threads
            .iter()
            .flatten()
            .map(|thread| ThreadEnd {
                path: thread.path.clone(),
                counter: thread.counter,
                phase: match thread.phase {
                    Phase::Spinning(_) => Phase::Spinning(0),
                    phase => phase,
                },
                notified: thread.notified,
                registers: thread.registers,
            })
            .collect();
        threads.sort();
        Terminal {
            variables: self.variables.clone(),
            mutexes: self.mutexes.iter().map(|holder| holder.map(path)).collect(),
            rwlocks: self.rwlocks.iter().map(|lock| (lock.readers, lock.writer)).collect(),
            taken: self.taken.clone(),
            channels: self
                .channels
                .iter()
                .map(|channel| channel.queue.iter().copied().collect())
                .collect(),
            waiters: self
                .waiters
                .iter()
                .map(|queue| queue.iter().map(|&id| path(id)).collect())
                .collect(),
            threads,
        }
    }
}

/// The final state of an execution of a toy program.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Terminal {
    /// The values of the shared variables.
    pub variables: Vec<i64>,
    /// The owner of each mutex.
    pub mutexes: Vec<Option<Vec<u8>>>,
    /// The number of readers and whether there is a writer.
    pub rwlocks: Vec<(i64, bool)>,
    /// The permits taken.
    pub taken: Vec<i64>,
    /// The messages left.
    pub channels: Vec<Vec<i64>>,
    /// The waiters for each condition variable.
    pub waiters: Vec<Vec<Vec<u8>>>,
    /// The threads, by creation path.
    pub threads: Vec<ThreadEnd>,
}

/// The end of a thread, or where it is blocked.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ThreadEnd {
    /// Its creation path.
    pub path: Vec<u8>,
    /// The index of its next instruction.
    pub counter: usize,
    /// Its next action.
    pub phase: Phase,
    /// Whether it is notified.
    pub notified: bool,
    /// Its registers.
    pub registers: [i64; REGISTERS],
}

impl Terminal {
    /// The threads that are blocked for ever.
    pub fn blocked(&self) -> impl Iterator<Item = &ThreadEnd> {
        self.threads
            .iter()
            .filter(|thread| !matches!(thread.phase, Phase::Ended { .. }))
    }

    /// The threads in which an assertion failed.
    pub fn failed(&self) -> impl Iterator<Item = &ThreadEnd> {
        self.threads
            .iter()
            .filter(|thread| thread.phase == Phase::Ended { failed: true })
    }
}

impl fmt::Display for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "variables {:?}", self.variables)?;
        if !self.channels.is_empty() {
            write!(f, " channels {:?}", self.channels)?;
        }
        for thread in &self.threads {
            let how = match thread.phase {
                Phase::Ended { failed: false } => "ended".to_owned(),
                Phase::Ended { failed: true } => "failed".to_owned(),
                _ => format!("blocked ({:?})", thread.phase),
            };
            write!(
                f,
                "; thread {:?} {how} at {} with {:?}",
                thread.path, thread.counter, thread.registers
            )?;
        }
        Ok(())
    }
}
