//! The tree of the reported executions: the steps that they share, up to the points where they part.

use crate::outcome::Outcome;
use crate::report::story::objects::word;
use crate::report::story::source::{SourceTree, short};
use dpor_protocol::{EndReport, ExecutionReport, Seed, SiteReport, Taken, ThreadReport};
use serde::Serialize;

/// The exploration as a page shows it.
#[derive(Serialize)]
pub struct Tree<'a> {
    /// Number of executions in it, and number of all executions.
    told: usize,
    all: u64,
    /// The number of the first of them: earlier ones are not recorded if the exploration was interrupted.
    from: u64,
    threads: Vec<&'a ThreadReport>,
    sites: Vec<Site<'a>>,
    /// The root first, and each branch after the node from which it branches off, in the order of exploration.
    nodes: Vec<Node<'a>>,
    /// Whether the page shows the schedule of the failing execution; `None` if unknown.
    shown: Option<bool>,
}

/// An operation.
#[derive(Serialize)]
struct Site<'a> {
    operation: &'a str,
    /// The object as the source calls it.
    object: Option<String>,
    place: Option<String>,
    /// The line of source.
    line: Option<String>,
}

/// Steps taken one after the other without a choice, or with a choice of which nothing else was explored.
#[derive(Serialize)]
struct Node<'a> {
    parent: Option<usize>,
    /// Thread, alternative, and index in the list of operations.
    steps: Vec<[u32; 3]>,
    /// The executions that end here; several only if the same schedule ran more than once.
    ends: Vec<End<'a>>,
}

/// How an execution ended.
#[derive(Serialize)]
struct End<'a> {
    execution: u64,
    kind: &'static str,
    /// The kind of failure.
    failure: Option<&'a str>,
    /// The transitions that were asleep.
    asleep: Vec<[u32; 3]>,
}

/// A state that steps reach.
#[derive(Default)]
struct State {
    step: [u32; 3],
    next: Vec<usize>,
    /// The reports of the executions that end here.
    ends: Vec<usize>,
}

impl<'a> Tree<'a> {
    /// The tree of an outcome's reported executions, if there are any.
    pub fn of(outcome: &'a Outcome, sources: &SourceTree) -> Option<Self> {
        let executions = &outcome.executions;
        let sites = executions.iter().flat_map(|report| &report.sites);
        let tree = Tree {
            told: executions.len(),
            all: outcome.counts.executions().max(executions.last()?.number),
            from: executions.first()?.number,
            threads: executions.iter().flat_map(|report| &report.threads).collect(),
            sites: sites.map(|site| self::site(site, sources)).collect(),
            nodes: nodes(&states(executions), executions),
            shown: None,
        };
        let shown = outcome
            .seed
            .as_deref()
            .and_then(|seed| tree.is_failing(&Seed::decode(seed).ok()?));
        Some(Tree { shown, ..tree })
    }

    /// Whether the seed's schedule is that of the failing execution, if there is one.
    fn is_failing(&self, seed: &Seed) -> Option<bool> {
        let failing = |node: &Node<'_>| node.ends.iter().any(|end| end.failure.is_some());
        let mut at = Some(self.nodes.iter().position(failing)?);
        let mut steps = Vec::new();
        while let Some(node) = at {
            steps.extend(self.nodes[node].steps.iter().rev().map(|step| [step[0], step[1]]));
            at = self.nodes[node].parent;
        }
        let of_seed = seed.steps.iter().rev();
        Some(
            of_seed
                .map(|step| [step.transition.thread.0, step.transition.alternative])
                .eq(steps),
        )
    }
}

fn site<'a>(site: &'a SiteReport, sources: &SourceTree) -> Site<'a> {
    let at = site.location.as_ref();
    Site {
        operation: &site.operation,
        object: at.and_then(|at| word(at, sources)),
        place: at.map(short),
        line: at.and_then(|at| sources.line(at)),
    }
}

fn numbers(taken: &Taken) -> [u32; 3] {
    [taken.thread, taken.alternative, taken.site]
}

/// The states of the executions, the initial one first. Each lists what was explored from it, in order.
fn states(executions: &[ExecutionReport]) -> Vec<State> {
    let mut states = vec![State::default()];
    let mut path = vec![0];
    for (number, report) in executions.iter().enumerate() {
        path.truncate(1 + usize::try_from(report.common).unwrap_or(usize::MAX));
        for step in report.steps.iter().map(numbers) {
            let at = path.last().copied().unwrap_or(0);
            let mut known = states[at].next.iter().copied();
            let next = known.find(|&next| states[next].step[..2] == step[..2]);
            path.push(next.unwrap_or(states.len()));
            if next.is_none() {
                let new = states.len();
                states[at].next.push(new);
                states.push(State {
                    step,
                    ..State::default()
                });
            }
        }
        states[path.last().copied().unwrap_or(0)].ends.push(number);
    }
    states
}

/// The tree without the states from which only one way leads on.
fn nodes<'a>(states: &[State], executions: &'a [ExecutionReport]) -> Vec<Node<'a>> {
    let mut nodes = Vec::new();
    let mut left = vec![(None, 0)];
    while let Some((parent, first)) = left.pop() {
        let mut steps = Vec::new();
        let mut at = first;
        if first != 0 {
            steps.push(states[first].step);
        }
        while let ([next], []) = (&states[at].next[..], &states[at].ends[..]) {
            at = *next;
            steps.push(states[at].step);
        }
        let node = nodes.len();
        nodes.push(Node {
            parent,
            steps,
            ends: states[at].ends.iter().map(|&end| self::end(&executions[end])).collect(),
        });
        left.extend(states[at].next.iter().rev().map(|&next| (Some(node), next)));
    }
    nodes
}

fn end(report: &ExecutionReport) -> End<'_> {
    let (kind, failure, asleep) = match &report.end {
        EndReport::Complete => ("complete", None, &[][..]),
        EndReport::Failed(kind) => ("failed", Some(kind.as_str()), &[][..]),
        EndReport::Blocked { asleep } => ("asleep", None, &asleep[..]),
        EndReport::Pruned => ("known", None, &[][..]),
        EndReport::Cut => ("cut", None, &[][..]),
    };
    End {
        execution: report.number,
        kind,
        failure,
        asleep: asleep.iter().map(numbers).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;
    use dpor_protocol::{Creation, Options, SeedStep, Verdict};

    fn report(number: u64, common: u64, threads: &[u32], end: EndReport) -> ExecutionReport {
        let taken = |&thread| Taken {
            thread,
            alternative: 0,
            site: 0,
        };
        ExecutionReport {
            number,
            anew: false,
            common,
            steps: threads.iter().map(taken).collect(),
            end,
            sites: Vec::new(),
            threads: Vec::new(),
        }
    }

    /// `0 0 1 1`, `0 1 0`, `0 1 1 0`, and the last one again.
    fn outcome() -> Outcome {
        let asleep = vec![Taken {
            thread: 1,
            alternative: 0,
            site: 0,
        }];
        let failed = || EndReport::Failed("panic".into());
        let mut outcome = samples::outcome(Verdict::Failed);
        outcome.counts.complete = 40;
        outcome.executions = vec![
            report(1, 0, &[0, 0, 1, 1], EndReport::Complete),
            report(2, 1, &[1, 0], EndReport::Blocked { asleep }),
            report(3, 2, &[1, 0], failed()),
            report(4, 0, &[0, 1, 1, 0], failed()),
        ];
        outcome
    }

    #[test]
    fn executions_part_where_their_steps_differ() {
        let outcome = outcome();
        let tree = Tree::of(&outcome, &SourceTree::new(Vec::new())).unwrap();
        let nodes = tree.nodes.iter().map(|node| {
            let steps: Vec<_> = node.steps.iter().map(|step| step[0]).collect();
            let ends: Vec<_> = node.ends.iter().map(|end| (end.execution, end.kind)).collect();
            (node.parent, steps, ends)
        });
        assert_eq!(
            nodes.collect::<Vec<_>>(),
            [
                (None, vec![0], vec![]),
                (Some(0), vec![0, 1, 1], vec![(1, "complete")]),
                (Some(0), vec![1], vec![]),
                (Some(2), vec![0], vec![(2, "asleep")]),
                (Some(2), vec![1, 0], vec![(3, "failed"), (4, "failed")]),
            ]
        );
        assert_eq!(tree.nodes[3].ends[0].asleep, [[1, 0, 0]]);
        assert_eq!((tree.told, tree.all), (4, 43));
    }

    #[test]
    fn the_schedule_that_is_shown_is_told_from_the_one_that_was_found() {
        let mut outcome = outcome();
        let mut shown = |threads: &[u32]| {
            let step = |&thread| SeedStep {
                transition: dpor_explorer::Transition {
                    thread: dpor_explorer::ThreadId(thread),
                    alternative: 0,
                },
                operation: 1,
            };
            let seed = Seed {
                test: 0,
                strategy: "source".into(),
                options: Options::NONE,
                threads: vec![Creation {
                    parent: dpor_explorer::ThreadId::MAIN,
                    nth: 0,
                }],
                refinements: Vec::new(),
                steps: threads.iter().map(step).collect(),
            };
            outcome.seed = Some(seed.encode());
            Tree::of(&outcome, &SourceTree::new(Vec::new())).unwrap().shown
        };
        assert_eq!(shown(&[0, 1, 1, 0]), Some(true));
        assert_eq!(shown(&[0, 1, 1]), Some(false));
        assert_eq!(shown(&[1, 1, 0, 0]), Some(false));
    }

    #[test]
    fn nothing_told_is_no_tree() {
        let outcome = samples::outcome(Verdict::Complete);
        assert!(Tree::of(&outcome, &SourceTree::new(Vec::new())).is_none());
    }
}
