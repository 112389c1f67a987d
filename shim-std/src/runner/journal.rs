//! Records the schedule of the current execution in memory that outlives the process.

use dpor_explorer::{
    Checkpoint, Failure, Fingerprint, Outlook, Pending, Rewindable, Sharded, Status, Step, Stop, System, ThreadId,
    Transition,
};
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
}

/// The explored system: a part of such a program, or all of it.
pub(crate) type Explored = Sharded<Journaled>;

/// A mapping for a process that shares it with nobody. So only [`Explored`] is ever explored, and the search is
/// compiled once. Models of one process take turns.
pub(crate) fn unshared() -> &'static SharedSchedule {
    static MAP: OnceLock<&SharedSchedule> = OnceLock::new();
    MAP.get_or_init(|| {
        // SAFETY: the layout is not empty.
        let memory = unsafe { alloc_zeroed(Layout::new::<SharedSchedule>()) };
        assert!(!memory.is_null(), "there is no memory for a schedule");
        // SAFETY: the memory is zeroed, has this layout, and is never freed.
        unsafe { SharedSchedule::create(memory) }
    })
}

impl Journaled {
    pub fn new(program: Program, map: &'static SharedSchedule) -> Journaled {
        // The main thread needs no record.
        Journaled {
            program,
            map,
            threads: 1,
            refinements: 0,
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

impl System for Journaled {
    fn restart(&mut self) {
        self.map.begin_execution();
        self.program.restart();
    }

    fn threads(&self) -> &[Status] {
        self.program.threads()
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

    fn pending(&self, thread: ThreadId) -> Pending {
        self.program.pending(thread)
    }

    fn place(&self, thread: ThreadId) -> Option<u64> {
        self.program.place(thread)
    }

    fn gives_way(&self, thread: ThreadId) -> bool {
        self.program.gives_way(thread)
    }

    fn describe(&self, signature: u64) -> String {
        self.program.describe(signature)
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.program.finish()
    }

    fn outlook(&mut self) -> Outlook {
        // What it tries is no part of the execution.
        self.program.outlook()
    }

    fn fingerprint(&mut self) -> Option<Fingerprint> {
        self.program.fingerprint()
    }

    fn rewindable(&mut self) -> Option<&mut dyn Rewindable> {
        Some(self)
    }
}

impl Rewindable for Journaled {
    fn checkpoint(&mut self) -> Option<Checkpoint> {
        self.program.checkpoint()
    }

    fn rewind(&mut self, to: Checkpoint) -> bool {
        let rewound = self.program.rewind(to);
        if rewound {
            // The steps before are the same as in the execution that is on record.
            self.map.truncate(self.program.length());
        }
        rewound
    }

    fn forget_from(&mut self, from: Checkpoint) {
        self.program.forget_from(from);
    }
}
