//! The machine that runs the explored program: what the model threads and the scheduler share.
//!
//! | module | what | ends with |
//! |---|---|---|
//! | `session` | options, and what exploration has learnt | the exploration |
//! | `execution` | the state of the program, as a list of parts | the execution |
//! | `step` | the step being run | the step |
//! | `traced` | what reports need of a traced execution | the execution |
//! | `threads` | a part: threads with their stacks, thread-locals and pending operations | |
//! | `timeouts` | when time passes for all threads, where timeouts fire last | |
//! | `clock`, `logs`, `outcome`, `panics`, `watch` | the other parts that are data of the checker's | |
//! | `fingerprint`, `checkpoint` | the walks over the parts | |
//! | `cell` | the place of the machine, and a model thread's way to it | |
//!
//! Invariant: nothing here calls back into the explored program, and nothing suspends a thread but
//! [`OnModel::suspend`](cell::OnModel::suspend).

pub(crate) mod cell;
pub(crate) mod checkpoint;
pub(crate) mod clock;
pub(crate) mod execution;
pub(crate) mod fingerprint;
pub(crate) mod labels;
pub(crate) mod learnt;
pub(crate) mod libraries;
pub(crate) mod logs;
pub(crate) mod outcome;
pub(crate) mod panics;
pub(crate) mod refinements;
pub(crate) mod session;
pub(crate) mod step;
pub(crate) mod threads;
pub(crate) mod timeouts;
pub(crate) mod traced;
pub(crate) mod watch;

use crate::image::part::Part;
use crate::image::statics::Statics;
use crate::image::tls::TlsBlock;
use crate::memory_model::atomics::InBlock;
use crate::memory_model::happens_before::AtomicAccess;
use crate::memory_model::rc11::Request;
use dpor_explorer::{GraphEvent, Location};
use dpor_protocol::Options;
use execution::Execution;
use session::Session;
use step::CurrentStep;
use traced::Traced;

/// The state of the current execution, and what surrounds it.
pub(crate) struct Machine {
    pub session: Session,
    pub execution: Execution,
    pub step: CurrentStep,
    /// `None` unless executions are traced.
    pub traced: Option<Traced>,
}

impl Machine {
    /// A machine on which nothing has run.
    ///
    /// # Safety
    /// The statics hold what the program begins with, and nobody writes them meanwhile.
    pub unsafe fn new(options: Options, statics: &'static Statics, tls: TlsBlock) -> Machine {
        Machine {
            session: Session::new(options, statics, tls),
            // SAFETY: the caller's promise.
            execution: unsafe { Execution::new(statics) },
            step: CurrentStep::default(),
            traced: None,
        }
    }

    /// Drops the rest of the execution without unwinding it, and goes to the start of the next.
    ///
    /// # Safety
    /// That of [`Part::reset`].
    pub unsafe fn restart(&mut self) {
        let session = &mut self.session;
        session.labels.count(&mut self.execution.reached.0);
        session.tls.switch(None, &mut self.execution.threads);
        let clean = session.wants_clean_stacks();
        if clean != self.execution.threads.clean {
            session.recall.forget();
        }
        // SAFETY: the caller's promise.
        unsafe { self.execution.reset() };
        self.execution.threads.clean = clean;
        self.step.clear();
        // What is out of sight may be elsewhere each time, and there may be references to it in what can be seen.
        session.recall.restart(session.out_of_sight.is_none());
        if let Some(traced) = &mut self.traced {
            *traced = Traced::default();
        }
    }

    /// The event of a requested operation in the execution graph: of one that has made this access, and read from the
    /// store of step `source`, to which there are `older` later ones, or of one that is pending; `excluded` or not by
    /// others from a store.
    ///
    /// There is none where more than the graph tells in which order operations ran
    /// ([`Machine::leaves_order_to_graphs`]); nor once there are times: a store passes on those of the stores before
    /// it, whoever reads from it; nor where atomics of several sizes overlap: what is done to one of them is done to
    /// others. All operations on these are dependent by the location that they have in common, and on no other
    /// operation.
    pub fn graph_event(
        &self,
        request: &Request,
        access: Option<AtomicAccess>,
        (source, older): (Option<u32>, u32),
        excluded: bool,
    ) -> Option<GraphEvent> {
        let is_told = self.leaves_order_to_graphs()
            && !self.execution.clock.has_passed
            && !self
                .session
                .refinements
                .is_part_of_word(Location(request.address as u64));
        is_told.then(|| GraphEvent {
            location: Location(request.address as u64),
            label: request.ask.label(access),
            source,
            older,
            excluded,
        })
    }

    /// Whether, as far as is known, execution graphs tell all that depends on the order of operations on atomics that
    /// overlap no others. Where states are compared, which users' tests are by default, they are not relied upon unless
    /// all data races are found: plain memory might tell the order. Nor where values are left out: those that are too
    /// old.
    pub fn leaves_order_to_graphs(&self) -> bool {
        let session = &self.session;
        !session.refinements.values.go_by_order
            && (self.finds_all_races() || session.trusts_plain_memory || !session.comparing)
    }

    /// Whether each data race of plain memory, and each use of freed memory, is found and told.
    fn finds_all_races(&self) -> bool {
        let races = &self.execution.races;
        races.is_on() && !races.are_of_cells() && self.session.suppressed.is_empty()
    }

    /// The block by which an atomic is known besides its address.
    pub fn block_of_atomic(&self, address: Location) -> InBlock {
        let blocks_are_told_apart = self.finds_all_races();
        let block = blocks_are_told_apart.then(|| self.execution.races.block_of_atomic(address.0 as usize));
        block.flatten().unwrap_or_default()
    }
}
