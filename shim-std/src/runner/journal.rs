//! Records the schedule of the current execution in memory that outlives the process.
//!
//! Invariant: what is on record are the steps that lead to where the program is, also after it has gone back to a saved
//! state.

use dpor_explorer::{Asked, Checkpoint, Layer, Rewindable, Sharded, Step, Stop, System, Transition};
use dpor_protocol::{Creation, Phase, SharedSchedule};
use dpor_scheduler::{Learnt, OperationKind, Program};
use std::alloc::{Layout, alloc_zeroed};
use std::sync::OnceLock;

/// A program that writes each transition to a shared mapping before it runs it.
pub(crate) struct Journaled {
    pub program: Program,
    pub map: &'static SharedSchedule,
    /// Number of recorded threads.
    threads: usize,
    /// Number of recorded refinements.
    refinements: usize,
    kept: Kept,
}

/// The steps that lead to saved states. The states are on one way: the steps before one are the first of those before
/// each later one.
#[derive(Default)]
struct Kept {
    steps: Vec<u64>,
    /// The number of steps before each saved state.
    lengths: Vec<(Checkpoint, usize)>,
    /// Number of the first of these steps that are still on record.
    on_record: usize,
}

impl Kept {
    /// Keeps what is on record, for a state that has just been saved.
    fn keep(&mut self, map: &SharedSchedule, checkpoint: Checkpoint) {
        let before = self.lengths.last().map_or(0, |&(_, length)| length);
        self.steps.truncate(before);
        self.steps.extend(map.recorded(before));
        self.on_record = self.steps.len();
        self.lengths.push((checkpoint, self.steps.len()));
    }

    /// Puts the steps before a saved state on record.
    fn put_back(&mut self, map: &SharedSchedule, checkpoint: Checkpoint) {
        let at = self.lengths.binary_search_by_key(&checkpoint, |&(saved, _)| saved);
        let length = at.map_or(0, |at| self.lengths[at].1);
        let from = self.on_record.min(length);
        map.replace(from, &self.steps[from..length]);
        self.on_record = length;
    }

    fn forget_from(&mut self, checkpoint: Checkpoint) {
        let left = self.lengths.partition_point(|&(saved, _)| saved < checkpoint);
        self.lengths.truncate(left);
        self.steps
            .truncate(self.lengths.last().map_or(0, |&(_, length)| length));
        self.on_record = self.on_record.min(self.steps.len());
    }
}

/// The explored system: a part of such a program, or all of it.
pub(crate) type Explored = Sharded<Journaled>;

/// A mapping for a process that shares it with nobody. So only [`Explored`] is ever explored, and the search is
/// compiled once. Models of one process take turns.
pub(crate) fn unshared() -> &'static SharedSchedule {
    static MAP: OnceLock<&SharedSchedule> = OnceLock::new();
    MAP.get_or_init(fresh)
}

fn fresh() -> &'static SharedSchedule {
    // SAFETY: the layout is not empty.
    let memory = unsafe { alloc_zeroed(Layout::new::<SharedSchedule>()) };
    assert!(!memory.is_null(), "there is no memory for a schedule");
    // SAFETY: the memory is zeroed, has this layout, and is never freed.
    unsafe { SharedSchedule::create(memory) }
}

impl Journaled {
    pub fn new(program: Program, map: &'static SharedSchedule) -> Journaled {
        // The main thread needs no record.
        Journaled {
            program,
            map,
            threads: 1,
            refinements: 0,
            kept: Kept::default(),
        }
    }

    /// Resumes with what another process has learnt, before the first execution.
    pub fn go_on_from(&mut self, learnt: Learnt) {
        self.program.go_on_from(learnt);
        self.note_threads();
        self.note_refinements();
    }

    /// Records the transition that is about to run.
    fn begin(&self, transition: Transition) {
        let kind = self.program.pending_kind(transition.thread);
        let kind = kind.unwrap_or(OperationKind::Start);
        self.map.push(transition, kind as u8);
        self.map.set_phase(Phase::Running);
    }

    /// Records what else is needed to run it again.
    fn end<T>(&mut self, result: &Result<T, Stop>) {
        self.map.set_phase(Phase::Exploring);
        self.note_threads();
        if matches!(result, Err(Stop::Refine)) {
            self.note_refinements();
        }
    }

    fn note_threads(&mut self) {
        let known = self.program.known_threads();
        if known > self.threads {
            let table = self.program.thread_table();
            for &(parent, nth) in &table[self.threads..] {
                self.map.intern_thread(Creation { parent, nth });
            }
            self.threads = known;
        }
    }

    fn note_refinements(&mut self) {
        let observed = self.program.observed();
        for location in &observed[self.refinements..] {
            self.map.add_refinement(location.0);
        }
        self.refinements = observed.len();
    }
}

impl Layer for Journaled {
    type Inner = Program;

    fn inner(&self) -> &Program {
        &self.program
    }

    fn inner_mut(&mut self) -> &mut Program {
        &mut self.program
    }

    fn restart(&mut self) {
        self.map.begin_execution();
        self.kept.on_record = 0;
        self.program.restart();
    }

    fn starts_again(&mut self, asked: Asked) -> bool {
        let again = self.program.starts_again(asked);
        if again {
            self.note_refinements();
        }
        again
    }

    fn step(&mut self, transition: Transition, step: &mut Step) -> Result<(), Stop> {
        self.begin(transition);
        let result = self.program.step(transition, step);
        self.end(&result);
        result
    }

    fn repeat(&mut self, transition: Transition, scratch: &mut Step) -> Result<Option<u64>, Stop> {
        self.begin(transition);
        let result = self.program.repeat(transition, scratch);
        self.end(&result);
        result
    }

    fn rewindable(&mut self) -> Option<&mut dyn Rewindable> {
        Some(self)
    }
}

impl Rewindable for Journaled {
    fn checkpoint(&mut self) -> Option<Checkpoint> {
        let checkpoint = self.program.checkpoint()?;
        self.kept.keep(self.map, checkpoint);
        Some(checkpoint)
    }

    fn rewind(&mut self, to: Checkpoint) -> bool {
        let rewound = self.program.rewind(to);
        if rewound {
            self.kept.put_back(self.map, to);
        }
        rewound
    }

    fn forget_from(&mut self, from: Checkpoint) {
        self.program.forget_from(from);
        self.kept.forget_from(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dpor_explorer::ThreadId;

    fn run(map: &SharedSchedule, threads: &[u32]) {
        for &thread in threads {
            let thread = ThreadId(thread);
            map.push(Transition { thread, alternative: 0 }, 1);
        }
    }

    fn threads(map: &SharedSchedule) -> Vec<u32> {
        map.snapshot()
            .steps
            .iter()
            .map(|step| step.transition.thread.0)
            .collect()
    }

    #[test]
    fn other_steps_do_not_stay_on_record() {
        let (map, mut kept) = (fresh(), Kept::default());
        run(map, &[1, 2]);
        kept.keep(map, Checkpoint(5));
        run(map, &[3]);
        kept.keep(map, Checkpoint(7));
        run(map, &[4]);
        kept.put_back(map, Checkpoint(5));
        run(map, &[8, 9]);
        kept.put_back(map, Checkpoint(7));
        assert_eq!(threads(map), [1, 2, 3]);
        map.begin_execution();
        kept.on_record = 0;
        run(map, &[6, 6, 6, 6]);
        kept.put_back(map, Checkpoint(7));
        run(map, &[4]);
        assert_eq!(threads(map), [1, 2, 3, 4]);
        kept.forget_from(Checkpoint(7));
        kept.put_back(map, Checkpoint(5));
        assert_eq!(threads(map), [1, 2]);
    }
}
