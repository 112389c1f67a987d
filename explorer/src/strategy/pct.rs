//! Probabilistic concurrency testing: Burckhardt, Kothari, Musuvathi and Nagarakatte, *A Randomized Scheduler with
//! Probabilistic Guarantees of Finding Bugs* (ASPLOS 2010).
//!
//! Every execution gives each thread a random priority and always runs the enabled one with the highest. At `depth − 1`
//! random steps the thread that would run falls below all others. A failure that needs `depth` ordering constraints
//! among `n` threads and `k` steps is found by an execution with a probability of at least `1 / (n · k^(depth − 1))`.
//! It never proves anything.
//!
//! Deviations: the number of steps, which the paper takes as given, is that of the longest execution so far; threads
//! that are created later draw their priority then; alternatives of an operation are drawn uniformly.

use crate::codec::{from_bytes, to_bytes};
use crate::random::SplitMix64;
use crate::search::node::Node;
use crate::search::policy::{Conduct, Policy};
use crate::system::{System, ThreadId, Transition};

pub(super) struct Pct {
    numbers: SplitMix64,
    depth: u32,
    /// Number of steps of the longest execution so far.
    longest: usize,
    /// Number of steps of the present execution.
    steps: usize,
    /// The priorities of the threads in the present execution; the thread with the highest runs.
    priorities: Vec<u64>,
    /// The steps before which the thread about to run loses its priority, and the priority that it then gets; latest
    /// first.
    falls: Vec<(usize, u64)>,
}

/// Random priorities are above this value, priorities of threads that have fallen are below.
const LOWEST_RANDOM: u64 = 1 << 32;

impl Pct {
    pub(super) fn new(depth: u32, seed: u64) -> Self {
        Pct {
            numbers: SplitMix64::new(seed),
            depth,
            longest: 0,
            steps: 0,
            priorities: Vec::new(),
            falls: Vec::new(),
        }
    }

    fn begin(&mut self) {
        self.steps = 0;
        self.priorities.clear();
        self.falls.clear();
        if self.longest > 0 {
            let falls = (1..self.depth).map(|priority| (self.numbers.below(self.longest), u64::from(priority)));
            self.falls.extend(falls);
            self.falls.sort_unstable_by(|one, other| other.cmp(one));
        }
    }

    /// The enabled thread with the highest priority.
    fn highest(&mut self, node: &Node) -> Option<ThreadId> {
        let last = node.enabled.iter().map(|(thread, _)| thread.index()).max()?;
        while self.priorities.len() <= last {
            self.priorities.push(LOWEST_RANDOM | self.numbers.draw() >> 1);
        }
        let enabled = node.enabled.iter().map(|&(thread, _)| thread);
        enabled.max_by_key(|thread| self.priorities[thread.index()])
    }
}

impl<S: System> Policy<S> for Pct {
    fn conduct(&self) -> Conduct {
        Conduct::SAMPLES
    }

    fn open(&mut self, node: &mut Node, _at: usize, previous: Option<ThreadId>) {
        if previous.is_none() {
            self.begin();
        }
        node.backtrack = node.all_enabled();
    }

    fn pick(&mut self, node: &Node, _at: usize) -> Option<Transition> {
        let mut thread = self.highest(node)?;
        while let Some((_, priority)) = self.falls.pop_if(|(at, _)| *at <= self.steps) {
            self.priorities[thread.index()] = priority;
            thread = self.highest(node)?;
        }
        self.steps += 1;
        self.longest = self.longest.max(self.steps);
        let alternatives = node.alternatives(thread)?;
        let alternative = alternatives.iter().nth(self.numbers.below(alternatives.len()))?;
        Some(Transition { thread, alternative })
    }

    fn save(&self, _depth: usize) -> Vec<u8> {
        to_bytes(&(self.numbers.clone(), self.longest))
    }

    fn restore(&mut self, saved: &[u8]) -> Option<()> {
        (self.numbers, self.longest) = from_bytes(saved)?;
        Some(())
    }
}
