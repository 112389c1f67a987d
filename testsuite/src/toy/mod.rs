//! Interpreted toy programs: a `System` whose whole state is small and exact.
//!
//! A step is one operation at a scheduling point, or a section of several, and what follows up to the next
//! point: local instructions, unlocks, the creation of threads. Unlocks become points of their own once a
//! `TryLock` has observed the mutex.
//!
//! The interpreter does not trust its own data: after every step it compares each thread's enabledness
//! with that of its guards, the folded effects with the state of the objects, and demands that a step
//! that enabled or disabled another thread's operation is dependent with it.

pub mod generate;
pub mod looping;
mod machine;
mod names;
mod operation;
mod program;
mod state;

pub use program::{Instruction, Operand, Program, REGISTERS, Register, Test};
pub use state::{Phase, Terminal, ThreadEnd};

use dpor_explorer::{
    AccessKind, Condition, Failure, Fingerprint, Guard, Pending, Status, Step, Stop, System, ThreadId, Transition,
    Values, Variable,
};
use state::{Channel, State, Thread};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

/// A part of the state that a fingerprint can be made not to depend on, for the tests that show that the oracle catches
/// a fingerprint that is too coarse.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The values of shared variables.
    Variables,
    /// The messages in channels.
    Messages,
    /// The threads' registers.
    Registers,
}

/// A toy program that can be run.
#[derive(Clone, Debug)]
pub struct Toy {
    program: Rc<Program>,
    state: State,
    statuses: Vec<Status>,
    /// The operations of threads that have not ended.
    operations: Vec<Option<Pending>>,
    /// The effects so far, folded.
    folded: Vec<(Variable, i64)>,
    steps: u32,
    /// Number of writes of each shared variable.
    versions: Vec<u64>,
    /// The step after which each shared variable was last written.
    written: Vec<u32>,
    /// The length of the execution when each thread last looked at the variable of its spin loop.
    looked: Vec<u32>,
    /// Ids of threads by parent and number; kept over restarts.
    interned: HashMap<(ThreadId, usize), ThreadId>,
    /// Number of ids assigned.
    ids: usize,
    /// The mutexes whose unlocks are scheduling points; kept over restarts.
    observed: Vec<bool>,
    /// The part of the state on which fingerprints do not depend, although they should.
    unseen: Option<Part>,
    /// Whether a third of the states has no fingerprint.
    opaque: bool,
}

impl Toy {
    /// The program in its initial state.
    pub fn new(program: Program) -> Toy {
        let mut toy = Toy {
            state: State::default(),
            statuses: Vec::new(),
            operations: Vec::new(),
            folded: Vec::new(),
            steps: 0,
            versions: Vec::new(),
            written: Vec::new(),
            looked: Vec::new(),
            interned: HashMap::new(),
            ids: program.started,
            observed: vec![false; program.mutexes],
            unseen: None,
            opaque: false,
            program: Rc::new(program),
        };
        toy.restart();
        toy
    }

    /// Makes fingerprints too coarse.
    #[must_use]
    pub fn unseen(mut self, part: Option<Part>) -> Toy {
        self.unseen = part;
        self
    }

    /// Leaves about a third of the states without a fingerprint.
    #[must_use]
    pub fn opaque(mut self, opaque: bool) -> Toy {
        self.opaque = opaque;
        self
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The current state, without regard to the numbers that threads were given.
    pub fn terminal(&self) -> Terminal {
        self.state.terminal()
    }

    /// The thread's creation path: the index of the initial thread, then which child of its parent each
    /// one is.
    pub fn path(&self, thread: ThreadId) -> &[u8] {
        &self.state.thread(thread).path
    }

    fn refresh(&mut self) {
        self.statuses.clear();
        self.operations.clear();
        for index in 0..self.ids {
            let id = ThreadId(index as u32);
            let alive = self.state.threads[index].as_ref().is_some_and(|thread| !thread.ended());
            self.operations.push(alive.then(|| self.operation(id)));
            self.statuses.push(match alive.then(|| self.enabled(id)) {
                None => Status::Finished,
                Some(enabled) if enabled.is_empty() => Status::Blocked,
                Some(enabled) => Status::Enabled(enabled),
            });
        }
    }

    /// The id of the thread's next child.
    fn intern(&mut self, parent: ThreadId) -> ThreadId {
        let number = self.state.thread(parent).children.len();
        let ids = &mut self.ids;
        let id = *self.interned.entry((parent, number)).or_insert_with(|| {
            *ids += 1;
            ThreadId(*ids as u32 - 1)
        });
        if self.state.threads.len() < self.ids {
            self.state.threads.resize(self.ids, None);
            self.looked.resize(self.ids, 0);
        }
        id
    }

    fn holds(&self, condition: Condition) -> bool {
        condition
            .holds_for(|variable| self.folded_value(variable))
            .unwrap_or_else(|| match condition {
                Condition::ChangedSince { location, steps } => self.written[names::parts(location).1] > steps,
                _ => unreachable!("all others are about a variable"),
            })
    }

    fn folded_value(&self, variable: Variable) -> i64 {
        self.folded
            .iter()
            .find(|(v, _)| *v == variable)
            .map_or(0, |&(_, value)| value)
    }

    /// Folds the step's effects and compares with the state.
    fn check_effects(&mut self, step: &Step) {
        for effect in &step.effects {
            let at = match self.folded.iter().position(|(v, _)| *v == effect.variable) {
                Some(at) => at,
                None => {
                    self.folded.push((effect.variable, 0));
                    self.folded.len() - 1
                }
            };
            assert_eq!(
                self.folded[at].1, effect.before,
                "an effect starts from another value: {effect:?}"
            );
            self.folded[at].1 = effect.after;
        }
        for &(variable, value) in &self.folded {
            assert_eq!(
                self.guard_value(variable),
                value,
                "an effect on {variable:?} was not recorded"
            );
        }
    }

    /// The values of the variables of guards.
    fn values(&self, guards: &[Guard]) -> Values {
        let variables = guards.iter().flat_map(Guard::variables);
        variables
            .map(|variable| (variable, self.guard_value(variable)))
            .collect()
    }

    /// Compares guards with enabledness.
    fn check_guards(&self) {
        for (operation, (status, id)) in self.operations.iter().zip(self.statuses.iter().zip(0..)) {
            let Some(Pending { guards, .. }) = operation else {
                continue;
            };
            let enabled = status.alternatives();
            if guards.is_empty() {
                assert!(enabled.is_some(), "{} has no guard and is blocked", ThreadId(id));
                continue;
            }
            for (guard, alternative) in guards.iter().zip(0..) {
                let met = enabled.is_some_and(|set| set.contains(alternative));
                let expected = guard.holds(|condition| self.holds(condition));
                assert_eq!(
                    met,
                    expected,
                    "enabledness of {}/{alternative} differs from {guard:?}",
                    ThreadId(id)
                );
            }
        }
    }

    /// Checks that the step is dependent with the steps that it enabled or disabled.
    fn check_dependency(&self, moved: ThreadId, before: &[Status], operations: &[Option<Pending>], step: &Step) {
        for (index, (status, operation)) in before.iter().zip(operations).enumerate() {
            if index != moved.index()
                && let Some(operation) = operation
                && self.statuses[index] != *status
            {
                assert!(
                    step.footprint.conflicts_with(&operation.footprint),
                    "{moved} changed whether thread {index} is enabled but is independent of it"
                );
            }
        }
    }
}

impl System for Toy {
    fn restart(&mut self) {
        self.state = State::new(&self.program);
        self.state.threads.resize(self.ids, None);
        self.folded.clear();
        self.steps = 0;
        self.versions = vec![0; self.program.variables];
        self.written = vec![0; self.program.variables];
        self.looked = vec![0; self.ids];
        for index in 0..self.program.started {
            self.begin(ThreadId(index as u32));
        }
        self.refresh();
        self.check_guards();
    }

    fn threads(&self) -> &[Status] {
        &self.statuses
    }

    fn step(&mut self, transition: Transition, step: &mut Step) -> Result<(), Stop> {
        let Transition { thread, alternative } = transition;
        assert!(
            self.statuses[thread.index()]
                .alternatives()
                .is_some_and(|set| set.contains(alternative)),
            "{transition} is not enabled"
        );
        let statuses = std::mem::take(&mut self.statuses);
        let operations = std::mem::take(&mut self.operations);
        if let Some(operation) = &operations[thread.index()] {
            step.guards.clone_from(&operation.guards);
            step.values = self.values(&operation.guards);
        }
        step.signature = self.signature(thread);
        let result = self.execute(thread, alternative, step);
        self.steps += 1;
        for access in step.footprint.accesses() {
            if let (names::VARIABLE, index) = names::parts(access.location)
                && access.kind != AccessKind::Read
            {
                self.versions[index] += 1;
                self.written[index] = self.steps;
            }
        }
        if let Phase::Spinning(version) = &mut self.state.thread_mut(thread).phase
            && *version == u64::MAX
        {
            let Instruction::SpinUntil { variable, .. } = self.instruction(thread) else {
                unreachable!("only a spin loop spins");
            };
            self.state.thread_mut(thread).phase = Phase::Spinning(self.versions[variable]);
            self.looked[thread.index()] = self.steps;
        }
        self.refresh();
        if result.is_ok() {
            self.check_effects(step);
            self.check_guards();
            self.check_dependency(thread, &statuses, &operations, step);
        }
        result
    }

    fn pending(&self, thread: ThreadId) -> Pending {
        let mut pending = self.operations[thread.index()]
            .clone()
            .expect("the thread has not ended");
        pending.values = self.values(&pending.guards);
        pending
    }

    fn place(&self, thread: ThreadId) -> Option<u64> {
        self.operations.get(thread.index())?.as_ref()?;
        match self.instruction(thread) {
            // Some are points only where the mutex is observed.
            Instruction::Unlock(_) => None,
            _ => Some(self.signature(thread)),
        }
    }

    fn finish(&mut self) -> Result<(), Failure> {
        let terminal = self.terminal();
        let kind = if terminal.blocked().next().is_some() {
            "deadlock"
        } else if terminal.failed().next().is_some() {
            "assertion"
        } else {
            return Ok(());
        };
        Err(Failure {
            kind,
            message: terminal.to_string(),
        })
    }

    fn fingerprint(&mut self) -> Option<Fingerprint> {
        let half = |salt: u64| {
            let mut hasher = DefaultHasher::new();
            salt.hash(&mut hasher);
            self.hash_state(&mut hasher);
            u128::from(hasher.finish())
        };
        let fingerprint = half(0) << 64 | half(1);
        (!self.opaque || fingerprint % 3 != 0).then_some(Fingerprint(fingerprint))
    }
}

impl Toy {
    /// Hashes all on which the rest of the execution depends, the names of the locations that it will touch included.
    ///
    /// Ids that were interned but do not exist in this execution count for nothing: there are more of them later in the
    /// exploration. How often a channel was used does only as far as it says which slot comes next.
    fn hash_state(&self, hasher: &mut impl Hasher) {
        let state = &self.state;
        let sees = |part| self.unseen != Some(part);
        if sees(Part::Variables) {
            state.variables.hash(hasher);
        }
        (&state.mutexes, &state.rwlocks, &state.taken, &state.waiters).hash(hasher);
        for (channel, Channel { queue, sent, received }) in state.channels.iter().enumerate() {
            if sees(Part::Messages) {
                queue.hash(hasher);
            }
            (self.slot(channel, *sent), self.slot(channel, *received)).hash(hasher);
        }
        for (index, thread) in state.threads.iter().enumerate() {
            let Some(thread) = thread else { continue };
            // In this order: a field that is added later must be thought of here.
            let Thread {
                body,
                counter,
                registers,
                phase,
                notified,
                rwlocks,
                children,
                path: _,
            } = thread;
            (index, body, counter, notified, rwlocks, children).hash(hasher);
            if sees(Part::Registers) {
                registers.hash(hasher);
            }
            // Since when a spin loop waits counts only as far as it says whether it is over.
            let phase = match phase {
                Phase::Spinning(_) => Phase::Spinning(0),
                phase => *phase,
            };
            (phase, self.statuses[index].alternatives()).hash(hasher);
        }
    }

    fn instruction(&self, id: ThreadId) -> Instruction {
        let thread: &Thread = self.state.thread(id);
        self.program.bodies[thread.body][thread.counter]
    }

    fn signature(&self, id: ThreadId) -> u64 {
        let thread = self.state.thread(id);
        let mut hasher = DefaultHasher::new();
        (&thread.path, thread.counter, thread.phase == Phase::Waiting).hash(&mut hasher);
        hasher.finish()
    }
}
