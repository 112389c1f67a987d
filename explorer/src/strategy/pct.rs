//! Probabilistic concurrency testing: Burckhardt, Kothari, Musuvathi and Nagarakatte, *A Randomized Scheduler with
//! Probabilistic Guarantees of Finding Bugs* (ASPLOS 2010).
//!
//! Every execution gives each thread a random priority and always runs the enabled one with the highest. At `depth − 1`
//! random steps the thread that would run falls below all others. A failure that needs `depth` ordering constraints
//! among `n` threads and `k` steps is found by an execution with a probability of at least `1 / (n · k^(depth − 1))`.
//! It never proves anything.
//!
//! Deviations: the number of steps, which the paper takes as given, is that of the longest execution so far; threads
//! that are created later draw their priority then; alternatives of an operation are drawn uniformly; and where it is
//! another thread's turn (`search::depth_first`), the one that would run falls below all others, or an execution in
//! which it goes on until another one moves would not end. So the probability is that of executions without turns, of
//! up to 200 steps.

use crate::codec::{from_bytes, to_bytes};
use crate::random::SplitMix64;
use crate::search::exploration::{QUANTUM, turn_beginning};
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
    /// The lowest priority that a thread has got because it went on for too long, or the one above all of these.
    lowest: u64,
}

/// Random priorities are at least this value. Priorities of threads that have fallen at random steps are below, and
/// those of threads that went on for too long are below these.
const LOWEST_RANDOM: u64 = 1 << 63;
const LOWEST_FALLEN: u64 = 1 << 32;

impl Pct {
    pub(super) fn new(depth: u32, seed: u64) -> Self {
        Pct {
            numbers: SplitMix64::new(seed),
            depth,
            longest: 0,
            steps: 0,
            priorities: Vec::new(),
            falls: Vec::new(),
            lowest: LOWEST_FALLEN,
        }
    }

    fn begin(&mut self) {
        self.steps = 0;
        self.priorities.clear();
        self.falls.clear();
        self.lowest = LOWEST_FALLEN;
        if self.longest > 0 {
            let falls =
                (1..self.depth).map(|priority| (self.numbers.below(self.longest), LOWEST_FALLEN + u64::from(priority)));
            self.falls.extend(falls);
            self.falls.sort_unstable_by(|one, other| other.cmp(one));
        }
    }

    /// The enabled thread with the highest priority.
    fn highest(&mut self, node: &Node) -> Option<ThreadId> {
        let last = node.enabled.iter().map(|(thread, _)| thread.index()).max()?;
        while self.priorities.len() <= last {
            self.priorities.push(LOWEST_RANDOM | self.numbers.draw());
        }
        let enabled = node.enabled.iter().map(|&(thread, _)| thread);
        enabled.max_by_key(|thread| self.priorities[thread.index()])
    }
}

impl<S: System> Policy<S> for Pct {
    fn conduct(&self) -> Conduct {
        Conduct::SAMPLES
    }

    fn open(&mut self, node: &mut Node, at: usize, _next: Option<ThreadId>) {
        if at == 0 {
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
        if turn_beginning(self.steps, QUANTUM).is_some() {
            self.lowest -= 1;
            self.priorities[thread.index()] = self.lowest;
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
