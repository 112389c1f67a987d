//! What survives a restart: the options of an exploration, what it has learnt, and its tools.

use super::labels::Labels;
use super::libraries::Libraries;
use super::refinements::Refinements;
use super::threads::Threads;
use crate::detect::recall::Recall;
use crate::detect::suppressed::Suppressed;
use crate::image::files;
use crate::image::hash::StateHasher;
use crate::image::statics::Statics;
use crate::image::tls::{TlsBlock, TlsImage};
use crate::machine::fingerprint::ExactStates;
use crate::memory_model::orderings::WeakOrderings;
use crate::memory_model::stronger::Stronger;
use crate::operation::OperationKind;
use crate::report::survey::Surveyor;
use crate::report::symbols::Symbols;
use dpor_explorer::{ThreadId, Transition};
use dpor_protocol::Options;
use std::cell::{Cell, OnceCell};

/// What survives a restart.
pub(crate) struct Session {
    pub options: Options,
    pub refinements: Refinements,
    /// What earlier executions have shown of the steps of this one.
    pub recall: Recall,
    pub labels: Labels,
    pub weak_orderings: WeakOrderings,
    /// Whether a wait has been met whose timeout would have fired at once with another value of the option.
    pub timeouts_matter: bool,
    /// The libraries that are taken as specified, and that an execution has used.
    pub libraries: Libraries,
    /// Whether it is a failure to leave blocks that the program can no longer free.
    pub find_leaks: bool,
    /// Whether a loop is watched from where it is noticed, instead of starting again.
    pub learn_in_place: bool,
    /// The same for an exploration that does not depend on who is watched: what was explored before stays valid.
    pub learn_loops_in_place: bool,
    /// Whether threads that only repeat themselves are held back.
    pub spin_blocks: bool,
    /// Whether a schedule is followed, and nothing is explored.
    pub follows: bool,
    /// Whether states will be compared.
    pub comparing: bool,
    /// Whether the steps that lead to a state are run again instead of copying it back: they may change what cannot be
    /// seen.
    pub replays: bool,
    /// Why states cannot be compared any more: the checker does not see part of them.
    pub out_of_sight: Option<String>,
    /// The exact state behind each fingerprint so far, if checked.
    pub exact: Option<ExactStates>,
    /// The states so far, if it is asked what keeps them apart.
    pub surveyor: Option<Surveyor>,
    /// Whom to tell of operations that belong to the step before, before they take effect.
    pub joined: Option<Box<dyn Fn(Transition, OperationKind)>>,
    /// Number of bytes hashed for fingerprints.
    pub hashed: u64,
    /// Hashes states, and what detectors compare of them.
    pub hasher: Cell<StateHasher>,
    /// What threads know of each other's accesses in the state that was hashed last, and the part of its fingerprint
    /// that comes from that.
    pub knowledge: (Vec<u64>, u128),
    /// The executable's symbols, after the first lookup.
    symbols: OnceCell<Symbols>,
    /// Whether fingerprints leave out the stacks.
    #[cfg(feature = "faults")]
    pub coarse: bool,
    pub statics: &'static Statics,
    pub tls: ThreadLocals,
    /// The code whose plain accesses are in no data race.
    pub suppressed: Suppressed,
    /// Whether plain memory does not tell in which order atomics were used, although data races are not looked for.
    pub trusts_plain_memory: bool,
    /// The orderings that operations have instead of weaker ones that they request.
    pub stronger: Stronger,
}

impl Session {
    pub fn new(options: Options, statics: &'static Statics, tls: TlsBlock) -> Session {
        Session {
            options,
            refinements: Refinements::default(),
            recall: Recall::default(),
            labels: Labels::default(),
            weak_orderings: WeakOrderings::default(),
            timeouts_matter: false,
            libraries: Libraries::default(),
            find_leaks: false,
            learn_in_place: false,
            learn_loops_in_place: false,
            spin_blocks: true,
            follows: false,
            comparing: false,
            replays: false,
            out_of_sight: None,
            exact: None,
            surveyor: None,
            joined: None,
            hashed: 0,
            hasher: Cell::default(),
            knowledge: (Vec::new(), 0),
            symbols: OnceCell::new(),
            #[cfg(feature = "faults")]
            coarse: false,
            statics,
            tls: ThreadLocals {
                initial: tls.initial(),
                os: tls.initial(),
                block: tls,
                owner: None,
            },
            suppressed: Suppressed::default(),
            trusts_plain_memory: false,
            stronger: Stronger::default(),
        }
    }

    /// Whether the program has made nothing that the checker does not see. Otherwise equal states may differ, and an
    /// execution that is given up leaves something behind.
    pub fn sees_all(&self) -> bool {
        self.out_of_sight.is_none() && !files::are_open()
    }

    /// Whether the next execution will begin its threads on clean stacks, so that states can be compared.
    pub fn wants_clean_stacks(&self) -> bool {
        self.comparing || self.refinements.hashing
    }

    /// Forgets the states on record: all is explored again.
    pub fn start_survey_again(&mut self) {
        if let Some(surveyor) = &mut self.surveyor {
            *surveyor = Surveyor::default();
        }
    }

    /// The symbols of the executable.
    pub fn symbols(&self) -> &Symbols {
        self.symbols.get_or_init(Symbols::of_executable)
    }
}

/// The executable's thread-locals on the model's OS thread, which all model threads use in turn.
pub(crate) struct ThreadLocals {
    block: TlsBlock,
    /// Those of a new model thread.
    pub initial: TlsImage,
    /// The OS thread's own, while those of a model thread are in place.
    os: TlsImage,
    /// The model thread whose thread-locals are in place; `None` if they are the OS thread's own.
    owner: Option<ThreadId>,
}

impl ThreadLocals {
    /// Copies the thread-locals in place to where their owner keeps them.
    pub fn save(&mut self, threads: &mut Threads) {
        let image = match self.owner {
            Some(thread) => threads[thread].tls.as_mut(),
            None => Some(&mut self.os),
        };
        if let Some(image) = image {
            // SAFETY: the block is that of the model's OS thread, on which we run.
            unsafe { self.block.save(image) };
        }
    }

    /// Puts the thread-locals of a model thread in place, or those of the OS thread.
    #[inline]
    pub fn switch(&mut self, to: Option<ThreadId>, threads: &mut Threads) {
        if self.owner == to {
            return;
        }
        self.save(threads);
        self.owner = to;
        let image = match to {
            Some(thread) => threads[thread].tls.as_ref(),
            None => Some(&self.os),
        };
        if let Some(image) = image {
            // SAFETY: as above; the checker holds no references to thread-locals.
            unsafe { self.block.load(image) };
        }
    }
}
