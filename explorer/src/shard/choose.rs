//! How a program is divided: the pairs of operations, chosen in random walks.

#[cfg(feature = "faults")]
use super::ShardFault;
use super::{Mark, Precedence, Shard, Sharded};
use crate::execution::Trace;
use crate::keys::KeyHasher;
use crate::search::{End, Explorer, Limits, Observer};
use crate::statistics::Statistics;
use crate::strategy::Strategy;
use crate::system::{System, ThreadId, Variable};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::mem::discriminant;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Number of random walks for each pair.
const WALKS: u64 = 32;
/// Maximum number of steps of a walk; a longer one is cut.
const LONGEST: u32 = 10_000;
/// Number of steps in all walks after which no new walk begins.
const STEPS: u64 = 100_000;
/// Maximum number of operations of a walk in which pairs are searched for.
const LOOKED_AT: usize = 256;

/// The part of a program that a shard explores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// One part of the program.
    One {
        /// Number of pairs of operations that the part has in one order only; if 0, it is the whole program.
        pairs: usize,
    },
    /// Nothing: there are more shards than parts, and another shard explores this part.
    Elsewhere,
    /// Unknown: the time was up before all pairs were found.
    TimeUp,
}

impl<S: System> Sharded<S> {
    /// Narrows the system down to the part of this shard. If there are fewer parts than shards, `salt` decides who
    /// explores a part, and must be the same for all of them.
    ///
    /// The program is run some times, until it has ended so often or has done what the system cannot model. That
    /// depends on nothing but the program and the shard, so that all who explore a part of the program agree on what
    /// the parts are. It is given up when it takes longer than `time`, if there is such a limit.
    #[must_use]
    pub fn narrow(mut self, shard: Shard, salt: u64, time: Option<Duration>) -> (Self, Part) {
        let started = Instant::now();
        let (mut index, mut count) = (shard.number() - 1, shard.count());
        while count > 1 {
            // The larger half of the shards takes the order that is met more often.
            let (most, least) = (count.div_ceil(2), count / 2);
            let left = time.map(|time| time.saturating_sub(started.elapsed()));
            let (narrowed, pairs) = self.find_pairs(left);
            self = narrowed;
            // What was cut short elsewhere or not at all would give other pairs.
            if time.is_some_and(|time| started.elapsed() >= time) {
                return (self, Part::TimeUp);
            }
            self.walks.get_or_insert(pairs.walks);
            let pair = pairs.best(most, least);
            let mut marks = match pair {
                Some(marks) => marks,
                None if salt % u64::from(count) == u64::from(index) => break,
                None => return (self, Part::Elsewhere),
            };
            let turned = index >= most;
            if turned {
                marks.reverse();
                (index, count) = (index - most, least);
            } else {
                count = most;
            }
            #[cfg(feature = "faults")]
            if turned && self.is_faulty(ShardFault::SameSide) {
                marks.reverse();
            }
            // No system has a location with such a number: the highest ones, which are no addresses either.
            let variable = Variable(u64::MAX - self.orders.len() as u64);
            self.orders.push(Precedence {
                marks,
                seen: [0, 0],
                variable,
            });
        }
        let pairs = self.orders.len();
        (self, Part::One { pairs })
    }

    /// Finds the pairs of operations in the walks; not all of them if the time is up.
    fn find_pairs(mut self, time: Option<Duration>) -> (Self, Pairs) {
        self.places = Some(Vec::new());
        let limits = Limits {
            executions: Some(WALKS),
            steps: Some(STEPS),
            time,
            depth: LONGEST,
            ..Limits::default()
        };
        // A failure is left to those in whose part it is.
        let mut explorer = Explorer::new(self, Strategy::Random { seed: 0 }, limits).keep_going(true);
        let mut pairs = Pairs::default();
        explorer.run(&mut pairs);
        self = explorer.into_system();
        self.places = None;
        (self, pairs)
    }
}

/// Pairs of dependent operations of different threads.
#[derive(Default)]
struct Pairs {
    /// The index of the pair in the list.
    known: BTreeMap<[Mark; 2], usize>,
    /// The pairs in the order in which they were met, so that ties are broken in the same way everywhere.
    met: Vec<Met>,
    /// A digest of the walks.
    walks: u64,
}

struct Met {
    marks: [Mark; 2],
    /// How often the pair was met in this order and in the other.
    times: [u32; 2],
}

impl Pairs {
    fn add(&mut self, first: Mark, second: Mark) {
        let marks = [first, second];
        let turned = [second, first];
        if let Some(&at) = self.known.get(&turned) {
            self.met[at].times[1] += 1;
            return;
        }
        let at = *self.known.entry(marks).or_insert_with(|| {
            self.met.push(Met { marks, times: [0, 0] });
            self.met.len() - 1
        });
        self.met[at].times[0] += 1;
    }

    /// The pair with the largest minimum, over its two orders, of meetings per shard.
    fn best(self, most: u32, least: u32) -> Option<[Mark; 2]> {
        let both = self.met.into_iter().filter_map(|Met { mut marks, times }| {
            let (often, seldom) = (times[0].max(times[1]), times[0].min(times[1]));
            if times[0] < times[1] {
                marks.reverse();
            }
            (seldom > 0).then_some(((often * least).min(seldom * most), marks))
        });
        // The first of equals.
        let better = |best: (u32, [Mark; 2]), next: (u32, [Mark; 2])| if next.0 > best.0 { next } else { best };
        both.reduce(better).map(|(_, marks)| marks)
    }
}

impl<S: System> Observer<Sharded<S>> for Pairs {
    fn execution(&mut self, system: &mut Sharded<S>, end: &End, trace: &Trace, _: &Statistics) -> ControlFlow<()> {
        let Some(places) = &system.places else {
            unreachable!("places are noted while pairs are looked for")
        };
        let mut hasher = KeyHasher::default();
        let done = trace.events().iter().zip(places);
        let done = done.map(|(event, place)| (event.thread(), place));
        (self.walks, discriminant(end)).hash(&mut hasher);
        done.for_each(|operation| operation.hash(&mut hasher));
        self.walks = hasher.finish();
        if !matches!(end, End::Complete | End::Failed(_)) {
            return ControlFlow::Continue(());
        }
        let mut times: BTreeMap<(ThreadId, u64), u32> = BTreeMap::new();
        let mut operations = Vec::new();
        for (event, place) in trace.events().iter().zip(places) {
            let thread = event.thread();
            let Some(place) = *place else { continue };
            let times = times.entry((thread, place)).or_default();
            *times += 1;
            let nth = *times;
            operations.push((Mark { thread, place, nth }, &event.step().footprint));
            if operations.len() == LOOKED_AT {
                break;
            }
        }
        for (at, (second, footprint)) in operations.iter().enumerate() {
            for (first, earlier) in &operations[..at] {
                if first.thread != second.thread && footprint.conflicts_with(earlier) {
                    self.add(*first, *second);
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn refined(&mut self) {
        *self = Pairs::default();
    }
}
