//! What a program has taught the scheduler: it outlives executions, and can be carried over to another process that
//! runs the same program.

use super::labels::Label;
use super::libraries::Libraries;
use super::refinements::Refinements;
use crate::memory_model::orderings::WeakOrderings;
use crate::memory_model::races::LearntRaces;
use dpor_explorer::ThreadId;

/// What exploration has learnt about a program, except for what the explorer knows itself.
#[derive(Clone, Debug)]
pub struct Learnt {
    /// The creation path of every thread id.
    pub(crate) threads: Vec<(ThreadId, u32)>,
    pub(crate) refinements: Refinements,
    pub(crate) labels: Vec<Label>,
    pub(crate) weak_orderings: WeakOrderings,
    pub(crate) out_of_sight: Option<String>,
    pub(crate) timeouts_matter: bool,
    pub(crate) libraries: Libraries,
    pub(crate) races: LearntRaces,
    /// How often which suppression of data races applied.
    pub(crate) suppressed: Vec<(u64, u64)>,
}

dpor_explorer::codec!(struct Learnt {
    threads, refinements, labels, weak_orderings, out_of_sight, timeouts_matter, libraries,
    races, suppressed,
});
