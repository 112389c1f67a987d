//! The names of strategies, and their options.

use super::Dpor;
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// A strategy: how to explore.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Strategy {
    /// Every interleaving of steps.
    Exhaustive,
    /// Source-DPOR with sleep sets: at least one execution of every Mazurkiewicz trace.
    Source,
    /// Optimal-DPOR: like `Source`, with wakeup trees, by which no execution is given up if operations touch what they
    /// have declared, whatever they find.
    Optimal,
    /// The DPOR of Flanagan and Godefroid, with or without sleep sets.
    Dpor(Dpor),
    /// TransDPOR: explores less than `Dpor` where the dependency of steps is transitive, and refuses other programs.
    Trans(Dpor),
    /// Context-sensitive DPOR over `Source`: explores orders of steps that lead to the same state only once.
    Context(Context),
    /// Search over states: expands each state once, and from it only what can come into conflict. The default.
    #[default]
    States,
    /// Unfolding-based DPOR: exactly one execution of every Mazurkiewicz trace, with alternatives to everything
    /// explored; with k-partial alternatives perhaps more executions, found faster.
    Unfolding {
        /// Minimum number of explored events with which an alternative must be in conflict (k); `None` for all.
        partial: Option<NonZeroU32>,
    },
    /// Probabilistic concurrency testing: random priorities; never complete.
    Pct {
        /// Number of ordering constraints of the failures to look for.
        depth: u32,
        /// The seed of the first execution.
        seed: u64,
    },
    /// A seeded random walk; never complete.
    Random {
        /// The seed of the first execution.
        seed: u64,
    },
}

/// How [`Strategy::Context`] finds orders that lead to the same state, and which optimisations of CAV 2017, §5.3 it
/// uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Context {
    /// When states are compared.
    pub check: Check,
    /// Optimisation 1, *anticipating cuts*: an execution ends as soon as nothing that can still happen would wake what
    /// is asleep.
    pub anticipate: bool,
    /// Optimisation 2, *guiding with sleep sequences*: the search explores the shortest sleeping sequence first.
    pub guide: bool,
}

/// When states are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Check {
    /// Algorithm 1, line 13: as soon as a race is found, its reversal is run to see whether it leads to the same state.
    Eager,
    /// §6.2: the state is stored with the reversal, and compared if the exploration reaches it.
    Lazy,
    /// The state of every node of the search is stored; an execution that reaches an explored one ends there.
    Stored,
}

impl Context {
    /// The paper's basic algorithm.
    pub const CDPOR1: Context = Context {
        check: Check::Eager,
        anticipate: false,
        guide: false,
    };
    /// With the first optimisation.
    pub const CDPOR2: Context = Context {
        anticipate: true,
        ..Context::CDPOR1
    };
    /// With both optimisations.
    pub const CDPOR3: Context = Context {
        guide: true,
        ..Context::CDPOR2
    };
}

impl Default for Context {
    fn default() -> Self {
        Context {
            check: Check::Stored,
            anticipate: false,
            guide: false,
        }
    }
}

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Context::CDPOR1 => return f.write_str("cdpor1"),
            Context::CDPOR2 => return f.write_str("cdpor2"),
            Context::CDPOR3 => return f.write_str("cdpor3"),
            context if context == Context::default() => return f.write_str("context"),
            _ => {}
        }
        let check = match self.check {
            Check::Eager => "eager",
            Check::Lazy => "lazy",
            Check::Stored => "stored",
        };
        write!(f, "context:{check}")?;
        if self.anticipate {
            f.write_str(",anticipate")?;
        }
        if self.guide {
            f.write_str(",guide")?;
        }
        Ok(())
    }
}

impl Context {
    /// Reads a list such as `eager,guide`.
    fn from_options(options: &str) -> Option<Context> {
        let mut context = Context::default();
        for option in options.split(',') {
            match option {
                "eager" => context.check = Check::Eager,
                "lazy" => context.check = Check::Lazy,
                "stored" => context.check = Check::Stored,
                "anticipate" => context.anticipate = true,
                "guide" => context.guide = true,
                _ => return None,
            }
        }
        Some(context)
    }
}

impl Strategy {
    /// Default depth of [`Strategy::Pct`]: most failures need less.
    pub const PCT_DEPTH: u32 = 3;

    /// Whether the strategy draws executions at random: it is then never complete, and executions may repeat.
    pub fn is_random(self) -> bool {
        matches!(self, Strategy::Random { .. } | Strategy::Pct { .. })
    }

    /// Whether the strategy compares states, so that the system has to give their fingerprints.
    pub fn compares_states(self) -> bool {
        matches!(self, Strategy::Context(_) | Strategy::States)
    }

    /// Whether it makes no difference to the strategy from which round on a thread is held back that only repeats
    /// itself, so that a system can learn in place where threads do so (`System::lessons`).
    pub fn learns_in_place(self) -> bool {
        matches!(self, Strategy::States)
    }

    /// The strategy with this seed instead of 0, if it draws at random and has no seed of its own.
    #[must_use]
    pub fn seeded(self, seed: u64) -> Strategy {
        match self {
            Strategy::Random { seed: 0 } => Strategy::Random { seed },
            Strategy::Pct { depth, seed: 0 } => Strategy::Pct { depth, seed },
            other => other,
        }
    }

    /// Whether the strategy supports a bound on preemptions. `context` and `states` then explore like `source`: states
    /// are not compared.
    pub fn can_be_bounded(self) -> bool {
        match self {
            Strategy::Exhaustive | Strategy::Source | Strategy::States => true,
            Strategy::Context(context) => context == Context::default(),
            _ => false,
        }
    }

    /// Whether the strategy can explore programs with steps that come after all other steps before them, in which time
    /// passes. The unfolding-based one would run such a step after each history that could come before it, of which
    /// there are exponentially many.
    pub fn can_let_time_pass(self) -> bool {
        !matches!(self, Strategy::Unfolding { .. })
    }

    /// Whether the strategy can explore programs in which the value that an operation finds is one of several, and
    /// which ones there are depends on steps that are independent of it, as with weak memory. `optimal`, `unfolding`
    /// and `trans` take it that what a thread can do after the steps that it depends on is always the same.
    pub fn can_choose_values(self) -> bool {
        !matches!(
            self,
            Strategy::Optimal | Strategy::Unfolding { .. } | Strategy::Trans(_)
        )
    }

    /// Whether the strategy explores a part of a program like a whole one (`Sharded` of the explorer). Random walks are
    /// never complete; a part of a program with transitive dependency may have a dependency that is not; and what
    /// `optimal` does at a node follows from what was explored elsewhere, which may be in another part.
    pub fn can_be_sharded(self) -> bool {
        !self.is_random() && !matches!(self, Strategy::Optimal | Strategy::Trans(_))
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Strategy::Exhaustive => f.write_str("exhaustive"),
            Strategy::Source => f.write_str("source"),
            Strategy::Optimal => f.write_str("optimal"),
            Strategy::Dpor(options) => options.write("dpor", f),
            Strategy::Trans(options) => options.write("trans", f),
            Strategy::Context(context) => context.fmt(f),
            Strategy::States => f.write_str("states"),
            Strategy::Unfolding { partial: None } => f.write_str("unfolding"),
            Strategy::Unfolding { partial: Some(k) } => write!(f, "unfolding:k={k}"),
            Strategy::Pct { depth, seed: 0 } => write!(f, "pct:{depth}"),
            Strategy::Pct { depth, seed } => write!(f, "pct:{depth}:{seed}"),
            Strategy::Random { seed: 0 } => f.write_str("random"),
            Strategy::Random { seed } => write!(f, "random:{seed}"),
        }
    }
}

/// The error for a strategy's name that was not understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownStrategy(String);

impl fmt::Display for UnknownStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "unknown strategy `{}`; there are `context`, `context:OPTIONS` (of eager, lazy, stored, anticipate, \
             guide), `cdpor1`, `cdpor2`, `cdpor3`, `source`, `optimal`, `dpor`, `trans`, `dpor:OPTIONS` and `trans:OPTIONS` (of \
             sleep, nosleep, fifo, eca, lca), `states`, `unfolding`, `unfolding:k=NUMBER`, `exhaustive`, `random`, \
             `random:SEED`, `pct`, `pct:DEPTH` and `pct:DEPTH:SEED`",
            self.0
        )
    }
}

impl std::error::Error for UnknownStrategy {}

impl FromStr for Strategy {
    type Err = UnknownStrategy;

    fn from_str(name: &str) -> Result<Self, UnknownStrategy> {
        match name {
            "exhaustive" => Ok(Strategy::Exhaustive),
            "source" => Ok(Strategy::Source),
            "optimal" => Ok(Strategy::Optimal),
            "dpor" => Ok(Strategy::Dpor(Dpor::default())),
            "trans" => Ok(Strategy::Trans(Dpor::default())),
            "context" => Ok(Strategy::Context(Context::default())),
            "cdpor1" => Ok(Strategy::Context(Context::CDPOR1)),
            "cdpor2" => Ok(Strategy::Context(Context::CDPOR2)),
            "cdpor3" => Ok(Strategy::Context(Context::CDPOR3)),
            "states" => Ok(Strategy::States),
            "unfolding" => Ok(Strategy::Unfolding { partial: None }),
            "random" => Ok(Strategy::Random { seed: 0 }),
            "pct" => Ok(Strategy::Pct {
                depth: Strategy::PCT_DEPTH,
                seed: 0,
            }),
            other => match other.split_once(':') {
                Some(("pct", numbers)) => {
                    let (depth, seed) = numbers.split_once(':').unwrap_or((numbers, "0"));
                    let numbers = depth.parse().ok().zip(seed.parse().ok());
                    numbers
                        .filter(|&(depth, _)| depth > 0)
                        .map(|(depth, seed)| Strategy::Pct { depth, seed })
                }
                Some(("random", seed)) => seed.parse().ok().map(|seed| Strategy::Random { seed }),
                Some(("dpor", options)) => Dpor::from_options(options).map(Strategy::Dpor),
                Some(("trans", options)) => Dpor::from_options(options).map(Strategy::Trans),
                Some(("unfolding", k)) => {
                    let k = k.strip_prefix("k=").and_then(|k| k.parse().ok());
                    k.map(|k| Strategy::Unfolding { partial: Some(k) })
                }
                Some(("context", options)) => Context::from_options(options).map(Strategy::Context),
                _ => None,
            }
            .ok_or_else(|| UnknownStrategy(name.to_owned())),
        }
    }
}
