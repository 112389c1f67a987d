//! Saved states: copying one back takes less time than repeating the steps that lead there.
//!
//! Invariant: an execution that goes on from a saved state is, byte for byte, the one that goes on after the steps that
//! lead there. Where states are compared, this includes what calls have left on stacks below the stack pointers, since
//! later frames can show it. Elsewhere nobody looks at that.
//!
//! Not saved, and replayed instead: a traced execution, one with a panic hook of the program's or an open file, one
//! with memory out of sight, and a state that is so large that copying it is no cheaper than running. Nor one in which
//! a panic unwinds a stack: std counts those of all threads, in a static that is none of the program's, and would count
//! the end of one panic more than once.

use super::Machine;
use super::execution::SavedParts;
use crate::image::part::Part;
use dpor_explorer::Checkpoint;

/// Maximum size of a saved state, in bytes. Copying this many takes about as long as ten steps.
const LARGEST: usize = 256 << 10;
/// Maximum number of forgotten states that are kept for their storage.
const SPARE: usize = 16;
/// Maximum size of all saved states, in bytes.
const LARGEST_TOTAL: usize = 64 << 20;

/// The saved states, in the order in which they were saved.
#[derive(Default)]
pub(crate) struct Checkpoints {
    kept: Vec<Saved>,
    /// Forgotten states, kept for their storage.
    spare: Vec<Saved>,
    /// Total size of the kept states, in bytes.
    size: usize,
    next: u64,
}

#[derive(Default)]
struct Saved {
    name: u64,
    /// Whether threads began on clean stacks.
    clean: bool,
    /// The mark in the record of these steps, if there is one.
    recall: Option<u128>,
    parts: SavedParts,
    /// The program's memory.
    bytes: Vec<u8>,
}

impl Checkpoints {
    /// Saves the present state of the machine, on which no thread runs. `None` if it is none of those that are saved.
    pub fn save(&mut self, machine: &mut Machine) -> Option<Checkpoint> {
        let Machine {
            session,
            execution,
            // Nothing of a step is left between two.
            step: _,
            traced,
        } = machine;
        let out_of_sight = session.replays || !session.sees_all() || execution.hook.0.is_some();
        let unwinds = execution
            .threads
            .iter()
            .any(|(_, record)| record.alive && record.unwinds);
        if out_of_sight || unwinds || traced.is_some() || self.size >= LARGEST_TOTAL || execution.size() > LARGEST {
            return None;
        }
        session.tls.save(&mut execution.threads);
        let mut saved = self.spare.pop().unwrap_or_default();
        saved.bytes.clear();
        // SAFETY: no thread runs, and we are on the model's OS thread.
        unsafe { execution.save(&mut saved.parts, &mut saved.bytes) };
        saved.clean = execution.threads.clean;
        saved.recall = session.recall.mark(execution.length.0 as usize);
        self.next += 1;
        self.size += saved.bytes.len();
        saved.name = self.next;
        self.kept.push(saved);
        Some(Checkpoint(self.next))
    }

    /// Goes to a saved state. Returns false, and leaves the machine as it is, if the steps that lead there have to be
    /// run again.
    pub fn load(&self, to: Checkpoint, machine: &mut Machine) -> bool {
        let Ok(at) = self.kept.binary_search_by_key(&to.0, |saved| saved.name) else {
            return false;
        };
        let saved = &self.kept[at];
        let Machine {
            session,
            execution,
            step,
            traced,
        } = machine;
        // What is out of sight would not be where it is after the steps that lead there.
        if session.replays || session.out_of_sight.is_some() || traced.is_some() {
            return false;
        }
        // Whether threads begin on clean stacks, and whether steps are recorded, changes with a restart only.
        let wants_restart = session.wants_clean_stacks() != saved.clean || session.recall.falls_short(saved.recall);
        if !execution.races.can_go_back_to(&saved.parts.races) {
            return false;
        }
        if wants_restart || saved.clean != execution.threads.clean {
            return false;
        }
        session.labels.count(&mut execution.reached.0);
        session.tls.switch(None, &mut execution.threads);
        // SAFETY: no thread runs, the thread-locals in place are the OS thread's own, and the state is of this program,
        // whose parts stay where they are.
        unsafe { execution.load(&saved.parts, &mut saved.bytes.as_slice()) };
        session.recall.go_on(execution.length.0 as usize, saved.recall);
        step.clear();
        true
    }

    /// Forgets this state and all later ones.
    pub fn forget_from(&mut self, from: Checkpoint) {
        let kept = self.kept.partition_point(|saved| saved.name < from.0);
        for saved in self.kept.drain(kept..).rev() {
            self.size -= saved.bytes.len();
            if self.spare.len() < SPARE {
                self.spare.push(saved);
            }
        }
    }
}
