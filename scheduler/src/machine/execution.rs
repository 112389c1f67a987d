//! The state of the explored program: everything that decides how it goes on, as a list of parts.
//!
//! Some of what a program can change is out of sight: blocks of the C library's heap, mappings, files. Where a program
//! makes such a thing (see `platform::interpose`), states are not compared from then on; while it only reads a file,
//! until it has closed it. Left alone is what was there before the first execution, and what the C library keeps
//! without asking for memory, such as the seed of `rand`: it carries over from one execution to the next, so that a
//! program that depends on it cannot be explored by running it again anyway. Not noticed are system calls that the
//! program makes by instructions of its own.
//!
//! Invariant: whatever belongs to an execution and lives longer than a step is a part. Deliberately no part are the
//! record of a traced execution, which is neither compared nor saved, and where the next hash finds its memory.

use super::clock::VirtualClock;
use super::logs::{Log, Output, Unseen};
use super::outcome::Outcome;
use super::panics::PanicHook;
use super::threads::Threads;
use super::watch::Watch;
use crate::detect::shares::Shares;
use crate::image::arena::Heaps;
use crate::image::descriptors::Descriptors;
use crate::image::files::OpenFiles;
use crate::image::part::{Errno, Extent, Part, Visitor};
use crate::image::queues::WaitQueues;
use crate::image::signals::SignalActions;
use crate::image::statics::{ProgramStatics, Statics};
use crate::memory_model::races::DataRaces;
use dpor_explorer::BitSet;

macro_rules! parts {
    ($(#[$doc:meta])* pub(crate) struct $name:ident { $($(#[$field_doc:meta])* pub $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        pub(crate) struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        /// What is kept of each part in a saved state, besides bytes.
        #[derive(Default)]
        pub(crate) struct SavedParts {
            $(pub $field: <$type as Part>::Saved,)*
        }

        impl Part for $name {
            type Saved = SavedParts;

            unsafe fn reset(&mut self) {
                // SAFETY: the caller's promise.
                unsafe { $(self.$field.reset();)* }
            }

            fn visit(&self, extent: Extent, visitor: &mut impl Visitor) {
                $(self.$field.visit(extent, visitor);)*
            }

            fn size(&self) -> usize {
                0 $(+ self.$field.size())*
            }

            unsafe fn save(&self, saved: &mut SavedParts, bytes: &mut Vec<u8>) {
                // SAFETY: the caller's promise.
                unsafe { $(self.$field.save(&mut saved.$field, bytes);)* }
            }

            unsafe fn load(&mut self, saved: &SavedParts, bytes: &mut &[u8]) {
                // SAFETY: the caller's promise.
                unsafe { $(self.$field.load(&saved.$field, bytes);)* }
            }
        }
    };
}

parts! {
    /// The state of the program in the current execution.
    pub(crate) struct Execution {
        /// Threads, with their stacks and thread-locals.
        pub threads: Threads,
        pub clock: VirtualClock,
        pub shares: Shares,
        /// What happens before what, and who has accessed which memory.
        pub races: DataRaces,
        pub queues: WaitQueues,
        pub outcome: Outcome,
        pub hook: PanicHook,
        pub heaps: Heaps,
        pub statics: ProgramStatics,
        pub files: OpenFiles,
        pub descriptors: Descriptors,
        pub signals: SignalActions,
        pub errno: Errno,
        /// What the spin detector has to know of the step before.
        pub watch: Watch,
        /// Number of steps begun.
        pub length: Unseen<u32>,
        pub output: Log<Output>,
        /// The numbers of the labels that were reached.
        pub reached: Unseen<BitSet>,
        /// Addresses that the checker holds for the program.
        pub held: Log<usize>,
    }
}

impl Execution {
    /// The state before the first execution.
    ///
    /// # Safety
    /// The statics hold what the program begins with, and nobody writes them meanwhile.
    pub unsafe fn new(statics: &'static Statics) -> Execution {
        Execution {
            threads: Threads::default(),
            clock: VirtualClock::default(),
            shares: Shares::default(),
            races: DataRaces::default(),
            queues: WaitQueues,
            outcome: Outcome::default(),
            hook: PanicHook::default(),
            heaps: Heaps,
            // SAFETY: the caller's promise.
            statics: unsafe { ProgramStatics::capture(statics) },
            files: OpenFiles,
            descriptors: Descriptors,
            signals: SignalActions,
            errno: Errno,
            watch: Watch::default(),
            length: Unseen::default(),
            output: Log::default(),
            reached: Unseen::default(),
            held: Log::default(),
        }
    }
}
