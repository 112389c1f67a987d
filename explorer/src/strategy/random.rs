//! A seeded random walk: every execution chooses uniformly among the enabled transitions of each node. For programs
//! that are too large to explore exhaustively; it can find failures and never proves anything.

use crate::codec::{from_bytes, to_bytes};
use crate::random::SplitMix64;
use crate::search::node::Node;
use crate::search::policy::{Conduct, Policy};
use crate::system::{System, ThreadId, Transition};

pub(super) struct Random {
    numbers: SplitMix64,
}

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Random {
            numbers: SplitMix64::new(seed),
        }
    }
}

impl<S: System> Policy<S> for Random {
    fn conduct(&self) -> Conduct {
        Conduct::SAMPLES
    }

    fn open(&mut self, node: &mut Node, _at: usize, _next: Option<ThreadId>) {
        node.backtrack = node.all_enabled();
    }

    fn pick(&mut self, node: &Node, _at: usize) -> Option<Transition> {
        let thread = self.numbers.below(node.enabled.len());
        let (thread, alternatives) = &node.enabled[thread];
        let alternative = self.numbers.below(alternatives.len());
        let alternative = alternatives.iter().nth(alternative)?;
        Some(Transition {
            thread: *thread,
            alternative,
        })
    }

    fn save(&self, _depth: usize) -> Vec<u8> {
        to_bytes(&self.numbers)
    }

    fn restore(&mut self, saved: &[u8]) -> Option<()> {
        self.numbers = from_bytes(saved)?;
        Some(())
    }
}
