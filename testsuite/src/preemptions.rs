//! The search under a bound on preemptions, compared with all interleavings and the preemptions in each.

use crate::enumerate::enumerate;
use crate::erased::Erased;
use crate::mazurkiewicz::canonical_form;
use crate::shards::unsharded;
use crate::toy::{Program, Terminal, Toy};
use dpor_explorer::{
    End, Explorer, Fault, Limits, Observer, Part, Report, Rewindable, Shard, Sharded, SplitMix64, Statistics, Status,
    Step, Stop, Strategy, System, ThreadId, Trace, Transition, Verdict,
};
use std::collections::HashMap;
use std::hash::Hash;
use std::ops::ControlFlow;

/// A toy that counts preemptions, and some of whose operations count as such that give way to others.
#[derive(Clone, Debug)]
pub struct Counting {
    toy: Toy,
    /// About every n-th operation gives way; none, if it is 0.
    yields: u64,
    steps: Vec<u64>,
    last: Option<ThreadId>,
    preemptions: u32,
}

impl Counting {
    /// Creates a toy in which about every n-th operation yields; none, if `yields` is 0.
    pub fn new(program: Program, yields: u64) -> Counting {
        Counting {
            toy: Toy::new(program),
            yields,
            steps: Vec::new(),
            last: None,
            preemptions: 0,
        }
    }
}

impl Counting {
    /// Counts a step that is about to run.
    fn count(&mut self, thread: ThreadId) {
        let holds = |last: &ThreadId| {
            let goes_on = matches!(self.threads()[last.index()], Status::Enabled(_));
            goes_on && !self.gives_way(*last) && *last != thread
        };
        self.preemptions += u32::from(self.last.as_ref().is_some_and(holds));
        self.last = Some(thread);
        if self.steps.len() <= thread.index() {
            self.steps.resize(thread.index() + 1, 0);
        }
        self.steps[thread.index()] += 1;
    }
}

// Not imported: the names of its methods are those of `System`.
impl dpor_explorer::Layer for Counting {
    type Inner = Toy;

    fn inner(&self) -> &Toy {
        &self.toy
    }

    fn inner_mut(&mut self) -> &mut Toy {
        &mut self.toy
    }

    fn restart(&mut self) {
        self.toy.restart();
        self.steps.clear();
        (self.last, self.preemptions) = (None, 0);
    }

    fn step(&mut self, transition: Transition, step: &mut Step) -> Result<(), Stop> {
        self.count(transition.thread);
        self.toy.step(transition, step)
    }

    fn repeat(&mut self, transition: Transition, scratch: &mut Step) -> Result<Option<u64>, Stop> {
        self.count(transition.thread);
        self.toy.repeat(transition, scratch)
    }

    fn gives_way(&self, thread: ThreadId) -> bool {
        let made = self.steps.get(thread.index()).copied().unwrap_or(0);
        self.yields > 0 && SplitMix64::mix(u64::from(thread.0) << 32 | made).is_multiple_of(self.yields)
    }

    fn rewindable(&mut self) -> Option<&mut dyn Rewindable> {
        None
    }
}

/// The findings, with the minimum number of preemptions for each.
#[derive(Clone, Debug, Default)]
struct Found {
    terminals: HashMap<Terminal, u32>,
    traces: HashMap<u64, u32>,
    /// For each class, an execution with so few.
    schedules: HashMap<u64, Vec<Transition>>,
    /// Minimum number of preemptions in an execution that fails.
    failing: Option<u32>,
    /// Some execution was cut short by a failure.
    stopped: bool,
    most: u32,
}

impl Found {
    fn add<'a>(&mut self, system: &mut Counting, steps: impl Iterator<Item = (Transition, &'a Step)>) {
        let preemptions = system.preemptions;
        let steps: Vec<_> = steps.collect();
        let schedule = steps.iter().map(|&(transition, _)| transition).collect();
        let trace = canonical_form(steps.iter().copied(), |thread| system.toy.path(thread));
        if self.traces.get(&trace).is_none_or(|&known| preemptions < known) {
            self.schedules.insert(trace, schedule);
        }
        least(&mut self.traces, trace, preemptions);
        least(&mut self.terminals, system.toy.terminal(), preemptions);
        let stopped = system.threads().iter().any(|status| status.alternatives().is_some());
        if stopped || system.finish().is_err() {
            self.failing = Some(self.failing.map_or(preemptions, |least| least.min(preemptions)));
        }
        self.stopped |= stopped;
        self.most = self.most.max(preemptions);
    }
}

fn least<K: Eq + Hash>(found: &mut HashMap<K, u32>, key: K, preemptions: u32) {
    let known = found.entry(key).or_insert(preemptions);
    *known = preemptions.min(*known);
}

fn within<K>(found: &HashMap<K, u32>, bound: u32) -> impl Iterator<Item = &K> {
    found
        .iter()
        .filter(move |&(_, &preemptions)| preemptions <= bound)
        .map(|(key, _)| key)
}

struct Collector(Found);

impl Observer<Erased> for Collector {
    fn execution(&mut self, system: &mut Erased, end: &End, trace: &Trace, _: &Statistics) -> ControlFlow<()> {
        if matches!(end, End::Complete | End::Failed(_)) {
            let steps = trace.events().iter().map(|event| (event.transition(), event.step()));
            self.0.add(system.get(), steps);
        }
        ControlFlow::Continue(())
    }

    fn refined(&mut self) {
        self.0 = Found::default();
    }
}

impl Observer<Sharded<Erased>> for Collector {
    fn execution(&mut self, system: &mut Sharded<Erased>, end: &End, trace: &Trace, _: &Statistics) -> ControlFlow<()> {
        if matches!(end, End::Complete | End::Failed(_)) {
            let steps = trace
                .events()
                .iter()
                .map(|event| (event.transition(), unsharded(event.step())));
            let steps: Vec<_> = steps.collect();
            self.0
                .add(system.get(), steps.iter().map(|(transition, step)| (*transition, step)));
        }
        ControlFlow::Continue(())
    }

    fn refined(&mut self) {
        self.0 = Found::default();
    }
}

/// The coverage of the comparison of one program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Covered {
    /// Executions without a bound, each interleaving of steps.
    pub exhaustive: u64,
    /// Maximum, over the classes of executions, of the preemptions in the class's simplest member.
    pub needed: u32,
    /// Executions of the searches under each bound.
    pub bounded: u64,
    /// The bound under which nothing was left out.
    pub complete_at: u32,
    /// Whether some execution fails.
    pub fails: bool,
}

/// Compares the search under each bound with an enumeration; `None` if that has more than `limit` executions.
///
/// # Errors
/// What is wrong.
pub fn compare(
    program: &Program,
    yields: u64,
    strategy: Strategy,
    limit: u64,
    fault: Option<Fault>,
) -> Result<Option<Covered>, String> {
    let mut system = Counting::new(program.clone(), yields);
    let visit = |found: &mut Found, system: &mut Counting, steps: &[(Transition, Step)]| {
        found.add(system, steps.iter().map(|(transition, step)| (*transition, step)));
    };
    let Ok((executions, all)) = enumerate(&mut system, limit, Found::default, visit) else {
        return Ok(None);
    };
    let mut covered = Covered {
        exhaustive: executions,
        needed: all.traces.values().copied().max().unwrap_or(0),
        fails: all.failing.is_some(),
        ..Covered::default()
    };
    for bound in 0.. {
        // With all scheduling points that there will ever be: they are known to the system by now.
        let (report, found) = explore(system.clone(), bound, strategy, fault);
        judge(&all, &found, &report, bound)
            .map_err(|what| format!("{strategy}, at most {bound} preemptions: {what}"))?;
        covered.bounded += report.statistics.executions();
        let ended = match report.verdict {
            Verdict::Complete => true,
            Verdict::Incomplete { .. } => false,
            Verdict::Failed { .. } => report.preemptions < Some(bound),
        };
        if ended {
            covered.complete_at = report.preemptions.unwrap_or(bound);
            return Ok(Some(covered));
        }
        if bound > all.most {
            return Err(format!(
                "{strategy}: something is left out with {bound} preemptions, where there are never more than {}",
                all.most
            ));
        }
    }
    unreachable!("there is a bound under which nothing is left out")
}

/// Compares what the shards of a program find under each bound with an enumeration; `None` if that has more than
/// `limit` executions. Otherwise the greatest bound that was needed.
///
/// # Errors
/// What is wrong.
pub fn compare_shards(
    program: &Program,
    yields: u64,
    strategy: Strategy,
    count: u32,
    limit: u64,
) -> Result<Option<u32>, String> {
    let mut system = Counting::new(program.clone(), yields);
    let visit = |found: &mut Found, system: &mut Counting, steps: &[(Transition, Step)]| {
        found.add(system, steps.iter().map(|(transition, step)| (*transition, step)));
    };
    let Ok((_, all)) = enumerate(&mut system, limit, Found::default, visit) else {
        return Ok(None);
    };
    for bound in 0..=all.most + 1 {
        let wrong = |what: String| {
            Err(format!(
                "{strategy}, {count} shards, at most {bound} preemptions: {what}"
            ))
        };
        let (mut together, mut complete) = (Found::default(), true);
        for shard in (1..=count).filter_map(|number| Shard::new(number, count)) {
            let (system, part) = Sharded::whole(Erased::new(system.clone())).narrow(shard, 0, None);
            if part == Part::Elsewhere {
                continue;
            }
            let limits = Limits {
                preemptions: Some(bound),
                depth: 120,
                ..Limits::default()
            };
            let mut collector = Collector(Found::default());
            let report = Explorer::new(system, strategy, limits)
                .keep_going(true)
                .run(&mut collector);
            let fails = collector.0.failing.is_some();
            match report.verdict {
                Verdict::Failed { .. } if !fails => return wrong("a failure is invented".into()),
                Verdict::Complete if fails => return wrong("a failure is not told".into()),
                _ => {}
            }
            complete &= report.preemptions < Some(bound) || report.verdict == Verdict::Complete;
            together.terminals.extend(collector.0.terminals);
            together.traces.extend(collector.0.traces);
            together.failing = together.failing.or(collector.0.failing);
        }
        // Who waits for its pair is not preempted, so that the shards may find more than the whole has under the bound.
        let bound = if complete { u32::MAX } else { bound };
        if all.failing.is_some_and(|least| least <= bound) && together.failing.is_none() {
            return wrong("all failures are missed".into());
        }
        if all.stopped {
            continue;
        }
        if let Some(missed) = within(&all.terminals, bound).find(|end| !together.terminals.contains_key(end)) {
            return wrong(format!("a terminal state is missed: {missed}"));
        }
        if within(&all.traces, bound).any(|trace| !together.traces.contains_key(trace)) {
            return wrong("a class of executions is missed".into());
        }
        if together.traces.keys().any(|trace| !all.traces.contains_key(trace)) {
            return wrong("a class of executions is invented".into());
        }
    }
    Ok(Some(all.most))
}

fn explore(system: Counting, bound: u32, strategy: Strategy, fault: Option<Fault>) -> (Report, Found) {
    let limits = Limits {
        preemptions: Some(bound),
        depth: 120,
        ..Limits::default()
    };
    let faulty = |explorer: Explorer<Erased>| match fault {
        Some(fault) => explorer.fault(fault),
        None => explorer,
    };
    let mut collector = Collector(Found::default());
    let report = faulty(Explorer::new(Erased::new(system), strategy, limits))
        .keep_going(true)
        .run(&mut collector);
    (report, collector.0)
}

fn judge(all: &Found, found: &Found, report: &Report, bound: u32) -> Result<(), String> {
    if found.most > bound {
        return Err(format!("an execution has {} preemptions", found.most));
    }
    let failing = all.failing.is_some_and(|least| least <= bound);
    match &report.verdict {
        Verdict::Failed { .. } if !failing => return Err("invents a failure".into()),
        Verdict::Failed { .. } if found.failing != all.failing => return Err("misses the simplest failure".into()),
        Verdict::Failed { .. } => {}
        verdict if failing => return Err(format!("misses the failures: {verdict:?}")),
        Verdict::Complete if all.failing.is_some() => return Err("calls complete what can fail".into()),
        Verdict::Complete | Verdict::Incomplete { .. } => {}
    }
    // Where the first failure ends an execution, what others would have done after it is not explored in every order.
    if all.stopped {
        return Ok(());
    }
    if let Some(missed) = within(&all.terminals, bound).find(|terminal| !found.terminals.contains_key(terminal)) {
        return Err(format!("misses a terminal state: {missed}"));
    }
    if let Some(missed) = within(&all.traces, bound).find(|trace| !found.traces.contains_key(trace)) {
        let schedule: Vec<_> = all.schedules[missed].iter().map(Transition::to_string).collect();
        return Err(format!("misses the class of {}", schedule.join(" ")));
    }
    if let Some((_, &least)) = found.traces.iter().find(|(trace, _)| !all.traces.contains_key(trace)) {
        return Err(format!("invents a class of executions with {least} preemptions"));
    }
    if report.verdict == Verdict::Complete && found.traces.len() < all.traces.len() {
        return Err("calls complete what is not".into());
    }
    Ok(())
}

/// Runs until the first failure, and says with how many preemptions it was found.
pub fn first_failure(program: &Program, bound: u32, strategy: Strategy) -> Option<u32> {
    let limits = Limits {
        preemptions: Some(bound),
        ..Limits::default()
    };
    let system = Erased::new(Counting::new(program.clone(), 0));
    let report = Explorer::new(system, strategy, limits).run(&mut ());
    matches!(report.verdict, Verdict::Failed { .. }).then_some(report.preemptions)?
}
