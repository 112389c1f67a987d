//! The fingerprint of a state, and its exact counterpart.

use super::Machine;
use super::execution::Execution;
use crate::image::hash::StateHasher;
use crate::image::part::{Extent, Memory, Owner, Part, Visitor};
use dpor_explorer::keys::KeyMap;
use std::ops::Range;

impl Machine {
    /// Evaluates statuses, and saves the thread-locals in place, before a look at the state.
    pub fn bring_up_to_date(&mut self) {
        let Execution { threads, races, .. } = &mut self.execution;
        races.foresee(threads.waiting_for_ends());
        races.settle_atomics();
        threads.refresh(self.session.spin_blocks, races);
        self.session.tls.save(threads);
    }

    /// Shows the state between two steps. The machine must have been brought up to date.
    pub fn visit(&self, visitor: &mut impl Visitor) {
        self.visit_parts(visitor, true);
    }

    /// Shows the state, with what threads know of each other's accesses only if `knowledge`.
    fn visit_parts(&self, visitor: &mut impl Visitor, knowledge: bool) {
        let Machine {
            session,
            execution,
            // The record of the last step is the explorer's by now, and the next step overwrites the rest.
            step: _,
            // For reports.
            traced: _,
        } = self;
        #[cfg(feature = "faults")]
        let stacks = !session.coarse;
        #[cfg(not(feature = "faults"))]
        let stacks = true;
        let trying_out = execution.watch.trying_out;
        let extent = Extent {
            // Where it is asked whether all is as it was some steps ago, the time has passed; it counts if anybody has
            // looked at it.
            time: (execution.clock.started && !trying_out).then(|| execution.threads.least_time()),
            questions: trying_out,
            knowledge,
            stacks,
        };
        // Of the session only what decides how the program goes on; how states are compared is no part of them. What
        // was learnt decides where scheduling points are. It only grows. Who is watched makes no difference where loops
        // are learnt in place.
        let loops = match session.learn_loops_in_place {
            true => 0,
            false => session.refinements.loops.len(),
        };
        let learnt = [
            ("observed releases", session.refinements.observed_in_order.len() as u64),
            ("noticed loops", u64::from(loops)),
            ("learning in place", u64::from(session.learn_in_place)),
            ("held back when spinning", u64::from(session.spin_blocks)),
        ];
        for (name, number) in learnt {
            visitor.number(Owner::Program, name, number);
        }
        execution.visit(extent, visitor);
    }

    /// The hash of the whole state, under the conditions of [`Machine::visit`].
    ///
    /// # Panics
    /// If states are recorded, and another one has the same hash.
    pub fn fingerprint(&mut self) -> u128 {
        let memory = self.execution.watch.memory(&self.session);
        let mut hashing = Hashing {
            hasher: self.session.hasher.take(),
            memory: 0,
        };
        hashing.hasher.numbers([memory as u64, (memory >> 64) as u64]);
        self.visit_parts(&mut hashing, false);
        let (of_all_else, mut bytes) = hashing.hasher.finish();
        bytes += hashing.memory;
        self.session.hasher.set(hashing.hasher);
        let (words, of_knowledge) = &mut self.session.knowledge;
        *of_knowledge = self.execution.races.knowledge(words);
        self.session.hashed += bytes + size_of_val(&**words) as u64;
        let hash = of_all_else ^ *of_knowledge;
        if let Some(mut exact) = self.session.exact.take() {
            let mut recording = Recording(Vec::new());
            self.visit(&mut recording);
            check(&mut exact, hash, recording.0);
            self.session.exact = Some(exact);
        }
        if let Some(mut surveyor) = self.session.surveyor.take() {
            surveyor.add(hash, |contents| self.visit(contents));
            self.session.surveyor = Some(surveyor);
        }
        hash
    }
}

/// Hashes all but the heap and the statics, which have a [hash of their own](super::watch::Watch::memory).
struct Hashing {
    hasher: StateHasher,
    /// The size of those.
    memory: u64,
}

impl Visitor for Hashing {
    #[inline]
    fn number(&mut self, _: Owner, _: &'static str, number: u64) {
        self.hasher.number(number);
    }

    #[inline]
    fn bytes(&mut self, _: Owner, _: &'static str, bytes: &[u8]) {
        self.hasher.bytes(bytes);
    }

    #[inline]
    unsafe fn memory(&mut self, _: Owner, memory: Memory, range: Range<usize>) {
        match memory {
            Memory::Heap | Memory::Statics => self.memory += range.len() as u64,
            // SAFETY: the caller's promise.
            Memory::Stack => unsafe { self.hasher.range(range) },
        }
    }

    #[inline]
    fn numbers<const N: usize>(&mut self, _: Owner, numbers: [(&'static str, u64); N]) {
        self.hasher.numbers(numbers.map(|(_, number)| number));
    }
}

/// Records everything that is hashed, as it is.
struct Recording(Vec<u8>);

impl Visitor for Recording {
    fn number(&mut self, _: Owner, _: &'static str, number: u64) {
        self.0.extend_from_slice(&number.to_ne_bytes());
    }

    fn bytes(&mut self, owner: Owner, name: &'static str, bytes: &[u8]) {
        self.number(owner, name, bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    unsafe fn memory(&mut self, owner: Owner, _: Memory, range: Range<usize>) {
        self.number(owner, "", range.start as u64);
        // SAFETY: the caller's promise.
        self.bytes(owner, "", unsafe {
            std::slice::from_raw_parts(range.start as *const u8, range.len())
        });
    }
}

/// The exact state behind each fingerprint.
pub(crate) type ExactStates = KeyMap<u128, Box<[u8]>>;

fn check(exact: &mut ExactStates, hash: u128, state: Vec<u8>) {
    let state = state.into_boxed_slice();
    let known = exact.entry(hash).or_insert_with(|| state.clone());
    assert!(
        *known == state,
        "hash collision: two states have the fingerprint {hash:#034x}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "hash collision")]
    fn a_collision_is_noticed() {
        let mut exact = ExactStates::default();
        check(&mut exact, 1, vec![1, 2]);
        check(&mut exact, 2, vec![3]);
        check(&mut exact, 1, vec![1, 2]);
        assert_eq!(exact.len(), 2);
        check(&mut exact, 2, vec![4]);
    }
}
