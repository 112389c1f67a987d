//! Finds the simplest schedule that ends in the same failure as a given one, and where it parts from one that passes.
//!
//! Few bugs need more than two preemptions (Musuvathi and Qadeer, *Iterative Context Bounding for Systematic Testing of
//! Multithreaded Programs*, PLDI 2007), and a schedule with few of them is one that people can follow. So the search
//! has two parts. The first works on the schedule that was found, whatever its length: runs of steps of one thread are
//! moved together or left out, and what still fails is kept, as in delta debugging. The second is iterative context
//! bounding, from no preemption on, best first: if it comes to its end, no schedule is simpler. Deviation from the
//! paper: no state is remembered.
//!
//! Every schedule that is given out was run, and failed.

use crate::bits::BitSet;
use crate::system::{Failure, Outlook, Step, Stop, System, ThreadId, Transition};
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::rc::Rc;
use std::time::Instant;

/// How hard a schedule is to follow; less is simpler.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Cost {
    /// Number of switches away from a thread that could have gone on.
    pub preemptions: u32,
    /// Number of all switches.
    pub switches: u32,
    /// Number of steps.
    pub steps: u32,
    /// Number of steps that did not take the first enabled alternative.
    pub unusual: u32,
}

impl Cost {
    /// More than any schedule costs.
    pub const MAX: Cost = Cost {
        preemptions: u32::MAX,
        switches: u32::MAX,
        steps: u32::MAX,
        unusual: u32::MAX,
    };
}

/// A state of a [`Run`], and how the run went on.
#[derive(Clone, Debug)]
pub struct Point {
    /// The enabled threads and their alternatives.
    pub enabled: SmallVec<[(ThreadId, BitSet); 4]>,
    /// The transition that ran.
    pub taken: Transition,
    /// The cost of the steps so far.
    pub before: Cost,
    /// The thread that moved last, if it could go on and was not about to yield.
    pub holding: Option<ThreadId>,
    /// The thread that moved last.
    pub last: Option<ThreadId>,
}

impl Point {
    /// The cost after a transition from here.
    pub fn after(&self, transition: Transition) -> Cost {
        let switches = self.last.is_some_and(|last| last != transition.thread);
        let preempts = self.holding.is_some_and(|thread| thread != transition.thread);
        let usual = self.alternatives(transition.thread).and_then(|set| set.iter().next());
        Cost {
            preemptions: self.before.preemptions + u32::from(preempts),
            switches: self.before.switches + u32::from(switches),
            steps: self.before.steps + 1,
            unusual: self.before.unusual + u32::from(usual != Some(transition.alternative)),
        }
    }

    fn alternatives(&self, thread: ThreadId) -> Option<&BitSet> {
        let found = self.enabled.iter().find(|(enabled, _)| *enabled == thread);
        found.map(|(_, alternatives)| alternatives)
    }

    /// The transitions that could have run instead, those of the thread that moved last first.
    fn others(&self) -> impl Iterator<Item = Transition> + '_ {
        let of = |&(thread, ref alternatives): &'_ (ThreadId, BitSet)| -> SmallVec<[Transition; 4]> {
            let all = alternatives.iter();
            all.map(|alternative| Transition { thread, alternative }).collect()
        };
        let is_last = |entry: &&(ThreadId, BitSet)| self.last == Some(entry.0);
        let first = self.enabled.iter().filter(is_last).flat_map(of);
        let rest = self.enabled.iter().filter(move |entry| !is_last(entry)).flat_map(of);
        first.chain(rest).filter(|&transition| transition != self.taken)
    }
}

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// In the failure that the search is about.
    Same,
    /// Without a failure.
    Passed,
    /// In another failure, or abandoned because it cost too much.
    Other,
    /// Abandoned because it was too long.
    Long,
}

/// One execution.
#[derive(Clone, Debug)]
pub struct Run {
    /// All of its states but the last.
    pub points: Vec<Point>,
    /// How it ended.
    pub ending: Ending,
    /// The cost of all of its steps.
    pub cost: Cost,
}

impl Run {
    /// The transitions that ran.
    pub fn schedule(&self) -> Vec<Transition> {
        self.points.iter().map(|point| point.taken).collect()
    }
}

/// When to abandon a run.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// The cost at which a run is abandoned.
    pub cost: Cost,
    /// The number of steps at which a run is abandoned.
    pub steps: u32,
}

/// Runs schedules.
pub trait Trials {
    /// Runs a plan and skips its transitions that cannot run. After its end, the thread that moved last goes on as long
    /// as it can, then the first enabled one.
    fn run(&mut self, plan: &[Transition], bound: Bound) -> Run;

    /// Says, once, whether scheduling points were added, so that earlier runs would now differ.
    fn refined(&mut self) -> bool;

    /// Called with the last run if it is better than all before.
    fn found(&mut self, run: &Run);
}

/// Tells a search about a system's failures.
pub trait Judge<S> {
    /// Says whether the execution has ended in the failure that the search is about.
    fn same(&mut self, system: &mut S, failure: &Failure) -> bool;

    /// Called with the last run if it is better than all before; the system is still in its last state.
    fn found(&mut self, system: &mut S, run: &Run);
}

/// Runs schedules of a system in place.
pub struct InPlace<S, J> {
    /// The system.
    pub system: S,
    /// The judge of the system's failures.
    pub judge: J,
    refined: bool,
}

impl<S: System, J: Judge<S>> InPlace<S, J> {
    /// Creates trials of this system.
    pub fn new(system: S, judge: J) -> Self {
        InPlace {
            system,
            judge,
            refined: false,
        }
    }

    /// The system's present state, where `last` made the last step; `None` if no thread is enabled. The `taken`
    /// transition is a placeholder.
    pub fn point(&self, last: Option<ThreadId>, before: Cost) -> Option<Point> {
        let enabled: SmallVec<[(ThreadId, BitSet); 4]> = (0..)
            .zip(self.system.threads())
            .filter_map(|(thread, status)| Some((ThreadId(thread), status.alternatives()?.clone())))
            .collect();
        let goes_on = last.filter(|thread| enabled.iter().any(|(enabled, _)| enabled == thread));
        Some(Point {
            taken: usual(enabled.first()?),
            before,
            holding: goes_on.filter(|&thread| !self.system.gives_way(thread)),
            last,
            enabled,
        })
    }

    /// Runs the plan; returns `Err` if exploration has to begin again.
    fn attempt(&mut self, plan: &[Transition], bound: Bound) -> Result<Run, ()> {
        self.system.restart();
        let mut step = Step::default();
        let (mut points, mut cost) = (Vec::new(), Cost::default());
        let mut plan = plan.iter().copied();
        let mut last: Option<ThreadId> = None;
        let ending = loop {
            if cost >= bound.cost {
                break Ending::Other;
            }
            if cost.steps >= bound.steps {
                break Ending::Long;
            }
            let Some(mut point) = self.point(last, cost) else {
                break self.finish();
            };
            point.taken = plan
                .find_map(|planned| fitting(&point, planned))
                .unwrap_or_else(|| by_default(&point));
            cost = point.after(point.taken);
            last = Some(point.taken.thread);
            let taken = point.taken;
            points.push(point);
            step.clear();
            match self.system.step(taken, &mut step) {
                Ok(()) => {}
                Err(Stop::Failed(failure)) => {
                    break match self.judge.same(&mut self.system, &failure) {
                        true => Ending::Same,
                        false => Ending::Other,
                    };
                }
                Err(Stop::Unsupported(_)) => break Ending::Other,
                Err(Stop::Refine) => return Err(()),
            }
        };
        Ok(Run { points, ending, cost })
    }

    fn finish(&mut self) -> Ending {
        match self.system.finish() {
            Ok(()) => Ending::Passed,
            Err(failure) => {
                let same = self.judge.same(&mut self.system, &failure);
                match same && self.system.outlook() == Outlook::Stuck {
                    true => Ending::Same,
                    false => Ending::Other,
                }
            }
        }
    }
}

/// The first alternative of a thread.
fn usual((thread, alternatives): &(ThreadId, BitSet)) -> Transition {
    Transition {
        thread: *thread,
        alternative: alternatives.iter().next().unwrap_or(0),
    }
}

/// The planned transition if the thread is enabled, with another alternative if necessary.
fn fitting(point: &Point, planned: Transition) -> Option<Transition> {
    let alternatives = point.alternatives(planned.thread)?;
    Some(match alternatives.contains(planned.alternative) {
        true => planned,
        false => usual(&(planned.thread, alternatives.clone())),
    })
}

fn by_default(point: &Point) -> Transition {
    let thread = |wanted: ThreadId| point.enabled.iter().find(|(thread, _)| *thread == wanted);
    let next = || {
        let after = |last: ThreadId| point.enabled.iter().find(move |(thread, _)| *thread > last);
        // Who gives way, gives way to all others in turn.
        point.last.and_then(after).unwrap_or(&point.enabled[0])
    };
    let chosen = match point.holding.and_then(thread) {
        Some(entry) => entry,
        None if point.last.and_then(thread).is_some() => next(),
        None => &point.enabled[0],
    };
    usual(chosen)
}

impl<S: System, J: Judge<S>> Trials for InPlace<S, J> {
    fn run(&mut self, plan: &[Transition], bound: Bound) -> Run {
        loop {
            match self.attempt(plan, bound) {
                Ok(run) => return run,
                Err(()) => self.refined = true,
            }
        }
    }

    fn refined(&mut self) -> bool {
        std::mem::take(&mut self.refined)
    }

    fn found(&mut self, run: &Run) {
        self.judge.found(&mut self.system, run);
    }
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Simplest {
    /// The simplest schedule that ends in the failure.
    pub run: Run,
    /// Whether it is proven that no schedule is simpler.
    pub proven: bool,
}

/// Where a failing schedule parts from a passing one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parting {
    /// At the state before the step `at`, the last such state that was found: had `instead` run, the execution could
    /// have passed.
    At {
        /// The number of the step.
        at: usize,
        /// The transition that would have run in its place.
        instead: Transition,
    },
    /// No run with a different choice at one point passed.
    Nowhere,
    /// The time was up.
    Unknown,
}

/// A run to make: an earlier run up to a point, and another transition there.
struct Candidate {
    run: Rc<Vec<Transition>>,
    at: usize,
    instead: Transition,
}

/// Maximum number of runs that are remembered. With more, the search cannot finish anyway.
const CANDIDATES: usize = 1 << 20;

/// Maximum length of a run for a schedule of `steps` steps: a program that does not terminate reaches no end, and a run
/// that was held back where it repeated itself may go on for a while.
fn longest(steps: usize) -> u32 {
    u32::try_from(steps).map_or(u32::MAX, |steps| steps.saturating_mul(4).saturating_add(2000))
}

/// Finds the simplest schedule that ends as `schedule` does. Returns `None` if `schedule` does not end in the failure.
pub fn simplest(trials: &mut impl Trials, schedule: &[Transition], deadline: Instant) -> Option<Simplest> {
    let mut search = Simplification::begin(trials, schedule, deadline)?;
    let start = Instant::now();
    // The second part finds what the first cannot, if there is time.
    let half = start + deadline.saturating_duration_since(start) / 2;
    search.improve(half);
    let proven = search.bounded();
    Some(Simplest {
        run: search.best,
        proven,
    })
}

struct Simplification<'a, T> {
    trials: &'a mut T,
    deadline: Instant,
    longest: u32,
    best: Run,
}

impl<'a, T: Trials> Simplification<'a, T> {
    fn begin(trials: &'a mut T, schedule: &[Transition], deadline: Instant) -> Option<Self> {
        let longest = longest(schedule.len());
        let best = trials.run(
            schedule,
            Bound {
                cost: Cost::MAX,
                steps: longest,
            },
        );
        // Scheduling points that have come to be on the way are of no concern: nothing else is known yet.
        trials.refined();
        if best.ending != Ending::Same {
            return None;
        }
        // Of steps that ran before a loop was known to go round, some cannot run any more.
        if best.schedule() != schedule {
            trials.found(&best);
        }
        Some(Simplification {
            trials,
            deadline,
            longest,
            best,
        })
    }

    /// Runs a plan; says whether it is better than the best so far, which it then replaces.
    fn improves(&mut self, plan: &[Transition]) -> bool {
        let run = self.run(plan, self.best.cost);
        self.take(&run)
    }

    fn run(&mut self, plan: &[Transition], cost: Cost) -> Run {
        let steps = self.longest;
        self.trials.run(plan, Bound { cost, steps })
    }

    fn take(&mut self, run: &Run) -> bool {
        let better = run.ending == Ending::Same && run.cost < self.best.cost;
        if better {
            self.best = run.clone();
            self.trials.found(run);
        }
        better
    }

    /// Moves blocks of steps of one thread together, and drops them, as long as that helps.
    fn improve(&mut self, deadline: Instant) {
        'again: loop {
            let schedule = self.best.schedule();
            for plan in variations(&schedule) {
                if Instant::now() >= deadline {
                    return;
                }
                if self.improves(&plan) {
                    continue 'again;
                }
            }
            return;
        }
    }

    /// Runs all schedules with at most as many preemptions as the best one. Says whether there was time for that.
    fn bounded(&mut self) -> bool {
        loop {
            match self.best_first() {
                Some(exhausted) => return exhausted,
                // Runs so far are no longer what they were.
                None => {
                    let best = self.run(&self.best.schedule(), Cost::MAX);
                    if best.ending != Ending::Same {
                        return false;
                    }
                    self.best = best;
                    self.trials.found(&self.best);
                }
            }
        }
    }

    fn best_first(&mut self) -> Option<bool> {
        let mut candidates: Vec<Option<Candidate>> = vec![None];
        // Cheapest first; of those, the newest.
        let mut queue = BinaryHeap::from([(Reverse(Cost::default()), 0)]);
        let mut exhaustive = true;
        let mut plan = Vec::new();
        while let Some((Reverse(cost), index)) = queue.pop() {
            if cost >= self.best.cost {
                break;
            }
            if Instant::now() >= self.deadline {
                return Some(false);
            }
            plan.clear();
            let mut from = 0;
            if let Some(Candidate { run, at, instead }) = candidates[index].take() {
                plan.extend_from_slice(&run[..at]);
                plan.push(instead);
                from = at + 1;
            }
            let run = self.run(&plan, self.best.cost);
            if self.trials.refined() {
                return None;
            }
            exhaustive &= run.ending != Ending::Long;
            self.take(&run);
            let taken = Rc::new(run.schedule());
            for (at, point) in run.points.iter().enumerate().skip(from) {
                for instead in point.others() {
                    let cost = point.after(instead);
                    if cost >= self.best.cost {
                        continue;
                    }
                    if candidates.len() >= CANDIDATES {
                        exhaustive = false;
                        break;
                    }
                    queue.push((Reverse(cost), candidates.len()));
                    candidates.push(Some(Candidate {
                        run: Rc::clone(&taken),
                        at,
                        instead,
                    }));
                }
            }
        }
        Some(exhaustive)
    }
}

/// Schedules that may have fewer switches than this one.
fn variations(schedule: &[Transition]) -> impl Iterator<Item = Vec<Transition>> + '_ {
    let blocks = blocks(schedule);
    let count = blocks.len();
    (0..count).flat_map(move |first| {
        let block = blocks[first].clone();
        let thread = schedule[block.start].thread;
        let again = (first + 1..count).find(|&later| schedule[blocks[later].start].thread == thread);
        let mut plans = Vec::with_capacity(4);
        let mut plan = |parts: &[&[Transition]]| plans.push(parts.concat());
        let (before, own, after) = (
            &schedule[..block.start],
            &schedule[block.clone()],
            &schedule[block.end..],
        );
        // Left out, and made up for at the end.
        plan(&[before, after, own]);
        if let Some(again) = again {
            let later = blocks[again].clone();
            let between = &schedule[block.end..later.start];
            let (rest, end) = (&schedule[later.clone()], &schedule[later.end..]);
            plan(&[before, own, rest, between, end]);
            plan(&[before, between, own, rest, end]);
            let (mine, others): (Vec<_>, Vec<_>) = after.iter().partition(|transition| transition.thread == thread);
            plan(&[before, own, &mine, &others]);
        }
        plans
    })
}

/// The maximal blocks of steps of one thread.
fn blocks(schedule: &[Transition]) -> Vec<Range<usize>> {
    let mut start = 0;
    schedule
        .chunk_by(|a, b| a.thread == b.thread)
        .map(|block| {
            let range = start..start + block.len();
            start = range.end;
            range
        })
        .collect()
}

/// Finds the last point of a failing run from which another choice leads to a passing execution.
pub fn parting(trials: &mut impl Trials, run: &Run, deadline: Instant) -> Parting {
    let schedule = run.schedule();
    let bound = Bound {
        cost: Cost::MAX,
        steps: longest(schedule.len()),
    };
    for (at, point) in run.points.iter().enumerate().rev() {
        for instead in point.others() {
            let mut plan = schedule[..at].to_vec();
            plan.push(instead);
            // The others' rest right after it, or when it can go no further by itself.
            let mut same_rest = plan.clone();
            same_rest.extend_from_slice(&schedule[at..]);
            for plan in [plan, same_rest] {
                if Instant::now() >= deadline {
                    return Parting::Unknown;
                }
                if trials.run(&plan, bound).ending == Ending::Passed {
                    return Parting::At { at, instead };
                }
            }
        }
    }
    Parting::Nowhere
}

#[cfg(test)]
mod tests;
