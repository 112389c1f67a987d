//! Parts of programs together, compared with the whole.

use crate::erased::Erased;
use crate::generated::QUANTUM;
use crate::mazurkiewicz::canonical_form;
use crate::oracle::{enumerate_all, fails};
use crate::toy::{Instruction, Program, Terminal, Toy};
use dpor_explorer::{
    End, Explorer, Footprint, Limits, Observer, Part, Shard, ShardFault, Sharded, Statistics, Step, Strategy, System,
    Trace, Verdict,
};
use std::collections::HashSet;
use std::ops::ControlFlow;

/// The coverage of the comparison of one program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Covered {
    /// Explorations of shards for which there was something to explore, and for which there was not.
    pub parts: [u64; 2],
    /// Executions of all shards, for each number of shards complete and given up.
    pub executions: [u64; 2],
    /// Pairs of operations in all parts.
    pub pairs: u64,
    /// Whether some execution fails.
    pub fails: bool,
}

/// The findings of the shards so far.
#[derive(Default)]
struct Union {
    terminals: HashSet<Terminal>,
    traces: HashSet<u64>,
    fails: bool,
    defect: Option<String>,
}

/// The findings of one shard.
#[derive(Default)]
struct Collector(Union);

/// The step as the program makes it, without its part in pairs.
pub(crate) fn unsharded(step: &Step) -> Step {
    let own = step
        .footprint
        .accesses()
        .iter()
        .filter(|access| access.location.0 < u64::MAX - u64::from(Shard::MOST));
    let footprint: Footprint = own.map(|access| (access.location, access.kind)).collect();
    Step {
        footprint,
        ..step.clone()
    }
}

impl Observer<Sharded<Erased>> for Collector {
    fn execution(&mut self, system: &mut Sharded<Erased>, end: &End, trace: &Trace, _: &Statistics) -> ControlFlow<()> {
        if !matches!(end, End::Complete | End::Failed(_)) {
            return ControlFlow::Continue(());
        }
        let steps: Vec<_> = trace
            .events()
            .iter()
            .map(|event| (event.transition(), unsharded(event.step())))
            .collect();
        let steps = steps.iter().map(|(transition, step)| (*transition, step));
        // The program itself, without waits for pairs.
        let program: &mut Toy = system.get();
        self.0
            .traces
            .insert(canonical_form(steps, |thread| program.path(thread)));
        self.0.terminals.insert(program.terminal());
        let goes_on = program.threads().iter().any(|status| status.alternatives().is_some());
        match end {
            End::Complete if goes_on || program.finish().is_err() => {
                self.0
                    .defect
                    .get_or_insert("an execution that has not ended well is complete".into());
            }
            End::Failed(failure) if goes_on && failure.kind != "assertion" => {
                self.0
                    .defect
                    .get_or_insert(format!("the program could go on after a {}", failure.kind));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn refined(&mut self) {
        *self = Collector::default();
    }
}

/// Explores the parts for this number of shards, each as on a separate machine, and compares the findings with brute
/// force; `None` if that has more than `limit` executions. With `opaque`, some states have no fingerprint.
///
/// # Errors
/// What is wrong.
pub fn compare(
    program: &Program,
    strategy: Strategy,
    count: u32,
    opaque: bool,
    limit: u64,
    fault: Option<ShardFault>,
) -> Result<Option<Covered>, String> {
    let Some(all) = enumerate_all(Toy::new(program.clone()), limit) else {
        return Ok(None);
    };
    // Then steps of the parts may be longer than those of the whole.
    let refines = program
        .bodies
        .iter()
        .flatten()
        .any(|i| matches!(i, Instruction::TryLock { .. }));
    let mut union = Union::default();
    let mut covered = Covered {
        fails: all.fails(),
        ..Covered::default()
    };
    let mut walks = None;
    for number in 1..=count {
        let shard = Shard::new(number, count).expect("there is such a shard");
        let whole = Erased::new(Toy::new(program.clone()).opaque(opaque));
        let whole = Sharded::whole(whole).fault(fault);
        let (system, part) = whole.narrow(shard, limit + all.traces.len() as u64, None);
        if *walks.get_or_insert(system.walks()) != system.walks() {
            return Err(format!(
                "{strategy}, shard {shard}: other walks than those of the shards before"
            ));
        }
        match part {
            Part::TimeUp => unreachable!("there is no limit"),
            Part::One { pairs } => covered.pairs += pairs as u64,
            Part::Elsewhere => {
                covered.parts[1] += 1;
                continue;
            }
        }
        covered.parts[0] += 1;
        let limits = Limits {
            depth: 120,
            ..Limits::default()
        };
        let mut explorer = Explorer::new(system, strategy, limits)
            .keep_going(true)
            .quantum(QUANTUM);
        let mut collector = Collector::default();
        let report = explorer.run(&mut collector);
        let Collector(found) = collector;
        let wrong = |what: String| Err(format!("{strategy}, shard {shard}: {what}"));
        if let Some(defect) = found.defect {
            return wrong(defect);
        }
        if let Some(invented) = found.terminals.difference(&all.terminals).next() {
            return wrong(format!("invents a terminal state: {invented}"));
        }
        if !refines && !found.traces.is_subset(&all.traces) {
            return wrong("invents a trace".into());
        }
        covered.executions[0] += report.statistics.complete;
        covered.executions[1] += report.statistics.executions() - report.statistics.complete;
        match report.verdict {
            Verdict::Complete => {}
            Verdict::Incomplete { reason } => return wrong(reason),
            Verdict::Failed { schedule, .. } => {
                // As whoever replays it knows the threads and the scheduling points.
                if !fails(&mut **explorer.system(), &schedule) {
                    return wrong("the schedule of its failure does not fail without shards".into());
                }
                union.fails = true;
            }
        }
        union.terminals.extend(found.terminals);
        union.traces.extend(found.traces);
    }
    let wrong = |what: String| Err(format!("{strategy}, {count} shards: {what}"));
    if union.fails != all.fails() {
        return wrong("miss all failures".into());
    }
    // After a failure that ends the execution, not all orders are explored.
    let stopped = program.failures_stop && all.terminals.iter().any(|end| end.failed().next().is_some());
    if !stopped {
        if let Some(missed) = all.terminals.difference(&union.terminals).next() {
            return wrong(format!("miss a terminal state: {missed}"));
        }
        if !refines && !strategy.compares_states() && union.traces != all.traces {
            let missed = all.traces.difference(&union.traces).count();
            return wrong(format!("miss {missed} of {} traces", all.traces.len()));
        }
    }
    Ok(Some(covered))
}
