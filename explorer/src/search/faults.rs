//! Seeded faults of the exploration, for tests which show that the oracle catches them.
//!
//! Without the feature `faults` all questions have a constant answer, and nothing is left of them.

/// Seeded faults of the exploration, for tests which show that the oracle catches them.
#[cfg(feature = "faults")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Drops every n-th race.
    DropRace(u64),
    /// Keeps every n-th sleep-set entry although a dependent step ran.
    KeepSleeping(u64),
    /// Forgets the operations of blocked threads.
    SkipBlocked,
    /// Treats an operation that can block like one that cannot: it races with the last dependent event.
    IgnoreGuards,
    /// Explores only the first alternative of each operation.
    IgnoreAlternatives,
    /// Does not look for races of what a context-sensitive search cuts off: Algorithm 1 as published.
    SkipCutRaces,
    /// Takes it that whatever sleeps covers all that is independent of it.
    TrustSleepers,
    /// Keeps a sleeping sequence although a dependent step ran.
    LooseSequences,
    /// Keeps a frozen backtrack set frozen.
    KeepFrozen,
    /// Takes states for explored that can be reached from themselves.
    ForgetCycles,
    /// Takes what may come before an access for what always does.
    LongPasts,
    /// Takes states for covered whatever is known in them.
    CoverAll,
    /// Under a bound on preemptions, adds no backtracking points where threads took control.
    SkipBlockStarts,
    /// Looks for no races of read-modify-writes that could have read from the same store.
    ShareStores,
    /// Lets reads sleep on although there are stores that they have not read from.
    SleepThroughStores,
    /// Wakes reads for stores from which they have read.
    ForgetStoresKnown,
    /// Takes it that a read finds the same if a store comes before it.
    PassStores,
}

/// The seeded fault, if any, and how often it could have occurred.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Faults {
    #[cfg(feature = "faults")]
    pub fault: Option<Fault>,
    #[cfg(feature = "faults")]
    occasions: u64,
}

/// Defines questions about faults that are always or never there.
macro_rules! questions {
    ($($(#[$doc:meta])* $name:ident: $fault:ident;)*) => {
        $($(#[$doc])*
        #[inline]
        pub fn $name(&self) -> bool {
            #[cfg(feature = "faults")]
            return self.fault == Some(Fault::$fault);
            #[cfg(not(feature = "faults"))]
            false
        })*
    };
}

impl Faults {
    /// Counts a place at which some fault can occur.
    #[cfg(feature = "faults")]
    fn is_occasion(&mut self, every: u64) -> bool {
        self.occasions += 1;
        self.occasions.is_multiple_of(every)
    }

    /// Counts a race; says whether it is dropped.
    #[inline]
    pub fn drop_race(&mut self) -> bool {
        #[cfg(feature = "faults")]
        if let Some(fault) = self.fault {
            let every = if let Fault::DropRace(n) = fault { n } else { 0 };
            return self.is_occasion(every);
        }
        false
    }

    /// Counts an entry that a step wakes; says whether it sleeps on.
    #[inline]
    pub fn keep_sleeping(&mut self) -> bool {
        #[cfg(feature = "faults")]
        if let Some(fault) = self.fault {
            let every = if let Fault::KeepSleeping(n) = fault { n } else { 0 };
            return self.is_occasion(every);
        }
        false
    }

    /// Counts an extension of a configuration that is in conflict with it; says whether it is dropped.
    #[cfg(feature = "faults")]
    pub fn drop_extension(&mut self) -> bool {
        matches!(self.fault, Some(Fault::DropRace(_))) && self.drop_race()
    }

    /// Counts an event of a configuration that is left; says whether what was avoided in it stays so.
    #[inline]
    pub fn keep_avoiding(&mut self) -> bool {
        #[cfg(feature = "faults")]
        if matches!(self.fault, Some(Fault::KeepSleeping(_))) {
            return self.keep_sleeping();
        }
        false
    }
}

impl Faults {
    questions! {
        /// Whether the operations of blocked threads are forgotten.
        skip_blocked: SkipBlocked;
        /// Whether guards are ignored.
        ignore_guards: IgnoreGuards;
        /// Whether only first alternatives are explored.
        ignore_alternatives: IgnoreAlternatives;
        /// Whether a cut by the context looks for no races.
        skip_cut_races: SkipCutRaces;
        /// Whether whatever sleeps covers all that is independent of it.
        trust_sleepers: TrustSleepers;
        /// Whether sequences sleep on.
        loose_sequences: LooseSequences;
        /// Whether frozen backtrack sets stay frozen.
        keep_frozen: KeepFrozen;
        /// Whether cycles of states are not looked after.
        forget_cycles: ForgetCycles;
        /// Whether pasts have what only may be in them.
        long_pasts: LongPasts;
        /// Whether states are covered whatever is known in them.
        cover_all: CoverAll;
        /// Whether no backtracking points are added where threads took control.
        skip_block_starts: SkipBlockStarts;
        /// Whether read-modify-writes do not exclude each other.
        share_stores: ShareStores;
        /// Whether reads sleep on although there are new stores.
        sleep_through_stores: SleepThroughStores;
        /// Whether reads wake for stores from which they have read.
        forget_stores_known: ForgetStoresKnown;
        /// Whether reads find the same if a store comes before them.
        pass_stores: PassStores;
    }
}
