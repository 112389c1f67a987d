//! The model of asynchronous distributed programs of Pham, Jéron and Quinson, *Unfolding-Based Dynamic Partial Order
//! Reduction of Asynchronous Distributed Programs* (FORTE 2019), §3, as a `System` whose whole state is small and
//! exact.
//!
//! Actors post sends and receives to mailboxes, where the n-th send meets the n-th receive, and test or wait for the
//! communications that they are part of; they request mutexes, and test or wait for owning one. Each action is a step.
//!
//! The independence theorems of §3.3 follow from the footprints (`tests/engine/message_passing.rs` holds them against
//! the definition). Locations are finer than objects:
//!
//! | location | touched by |
//! |---|---|
//! | the sends of a mailbox | each send writes |
//! | the receives of a mailbox | each receive writes |
//! | the n-th communication of a mailbox | its two halves update; who tests or waits for it reads |
//! | the requests of a mutex | each request writes |
//! | the n-th request's release, of a mutex | the unlock writes; who tests or waits for a later request reads |
//!
//! Deviations:
//! * `TestAny` and `WaitAny` look at their communications in the order in which they are given, up to the first that is
//!   done, and so are dependent with what completes an earlier one. Theorem 6 has them depend on the communication that
//!   was *paired* first. But where two of them are paired independently of each other, each can be the first, and the
//!   same interleaving would belong to two configurations: an event that happens after one *or* the other is none of a
//!   prime event structure. The programs of the paper's Table 1 wait for one communication at a time, which makes no
//!   difference.
//! * `MutexTest` and `MutexWait` likewise.
//! * Two unlocks of one mutex are independent: they commute. The theorems do not say so.
//! * What is received is seen when a test of, or a wait for, that communication alone finds that it is done. To copy it
//!   into the actor's memory as soon as the communication is paired would be to let local computations race with it.

pub mod generate;
mod program;
mod state;

pub use program::{Action, Program};
pub use state::State;

use dpor_explorer::{
    BitSet, Failure, Fingerprint, Pending, Status, Step, Stop, System, ThreadId, Transition, Variable,
};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

/// A program that can be run.
#[derive(Clone, Debug)]
pub struct Machine {
    program: Rc<Program>,
    state: State,
    statuses: Vec<Status>,
    /// The effects so far, folded.
    folded: HashMap<Variable, i64>,
}

impl Machine {
    /// The program in its initial state.
    pub fn new(program: Program) -> Machine {
        let mut machine = Machine {
            state: State::new(&program),
            program: Rc::new(program),
            statuses: Vec::new(),
            folded: HashMap::new(),
        };
        machine.restart();
        machine
    }

    /// The current state.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Finds out who can move, and compares this with the guards.
    fn refresh(&mut self) {
        self.statuses.clear();
        for actor in 0..self.program.actors.len() {
            let status = match self.state.enabled(&self.program, actor) {
                None => Status::Finished,
                Some(false) => Status::Blocked,
                Some(true) => Status::Enabled(BitSet::of(0)),
            };
            if let Some(enabled) = self.state.enabled(&self.program, actor) {
                let guards = self.state.guards(&self.program, actor);
                let value = |variable| self.folded.get(&variable).copied().unwrap_or(0);
                let met = guards.iter().all(|guard| {
                    guard.holds(|condition| condition.holds_for(value).expect("all conditions are about variables"))
                });
                assert_eq!(met, enabled, "enabledness of actor {actor} differs from {guards:?}");
            }
            self.statuses.push(status);
        }
    }
}

impl System for Machine {
    fn restart(&mut self) {
        self.state = State::new(&self.program);
        self.folded.clear();
        self.refresh();
    }

    fn threads(&self) -> &[Status] {
        &self.statuses
    }

    fn step(&mut self, transition: Transition, step: &mut Step) -> Result<(), Stop> {
        let actor = transition.thread.index();
        assert!(
            self.statuses[actor].alternatives().is_some(),
            "{transition} is not enabled"
        );
        let Pending {
            footprint,
            guards,
            values,
            ..
        } = self.pending(transition.thread);
        (step.footprint, step.guards, step.values) = (footprint, guards, values);
        let mut hasher = DefaultHasher::new();
        (actor, self.state.counter(actor)).hash(&mut hasher);
        step.signature = hasher.finish();
        self.state.run(&self.program, actor, &mut step.effects);
        for effect in &step.effects {
            let value = self.folded.entry(effect.variable).or_insert(0);
            assert_eq!(*value, effect.before, "an effect starts from another value: {effect:?}");
            *value = effect.after;
        }
        self.refresh();
        Ok(())
    }

    fn pending(&self, thread: ThreadId) -> Pending {
        let guards = self.state.guards(&self.program, thread.index());
        let variables = guards.iter().flat_map(|guard| guard.variables());
        let values = variables
            .map(|v| (v, self.folded.get(&v).copied().unwrap_or(0)))
            .collect();
        Pending {
            footprint: self.state.footprint(&self.program, thread.index()),
            guards,
            values,
            graph: None,
        }
    }

    fn finish(&mut self) -> Result<(), Failure> {
        let blocked = (0..self.statuses.len()).filter(|&actor| self.statuses[actor] != Status::Finished);
        let blocked: Vec<_> = blocked
            .map(|actor| {
                format!(
                    "actor {actor} at {}",
                    self.program.actors[actor][self.state.counter(actor)]
                )
            })
            .collect();
        if blocked.is_empty() {
            return Ok(());
        }
        Err(Failure {
            kind: "deadlock",
            message: blocked.join(", "),
        })
    }

    fn fingerprint(&mut self) -> Option<Fingerprint> {
        let half = |salt: u64| {
            let mut hasher = DefaultHasher::new();
            (salt, &self.state).hash(&mut hasher);
            u128::from(hasher.finish())
        };
        Some(Fingerprint(half(0) << 64 | half(1)))
    }
}

/// The number of interleavings of the program's actions, counted as the paths through its graph of states, which is far
/// smaller than their number.
pub fn interleavings(program: &Program) -> u128 {
    fn from(state: &State, program: &Program, known: &mut HashMap<State, u128>) -> u128 {
        if let Some(&paths) = known.get(state) {
            return paths;
        }
        let enabled = (0..program.actors.len()).filter(|&actor| state.enabled(program, actor) == Some(true));
        let next = enabled.map(|actor| {
            let mut next = state.clone();
            next.run(program, actor, &mut Default::default());
            next
        });
        let next: Vec<_> = next.collect();
        let paths = match next.len() {
            0 => 1,
            _ => next.iter().map(|next| from(next, program, known)).sum(),
        };
        known.insert(state.clone(), paths);
        paths
    }
    from(&State::new(program), program, &mut HashMap::new())
}
