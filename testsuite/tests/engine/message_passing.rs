//! The model of FORTE 2019: its independence theorems (§3.3) and its persistence (Lemma 1) against the definitions, in
//! states of generated programs; and the unfolding-based strategy against `exhaustive` on such programs.

use dpor_explorer::{
    End, Explorer, Fault, Footprint, Limits, Observer, Report, Statistics, Status, Step, Strategy as Exploration,
    System, ThreadId, Trace, Transition, Verdict,
};
use dpor_testsuite::enumerate::enabled;
use dpor_testsuite::erased::Erased;
use dpor_testsuite::mazurkiewicz::canonical_form;
use dpor_testsuite::message_passing::{Action, Machine, Program, State, generate, interleavings};
use dpor_testsuite::oracle::UNFOLDINGS;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;

/// The next actions of two actors in a state.
struct Pair<'a> {
    program: &'a Program,
    state: &'a State,
    actors: [usize; 2],
}

impl<'a> Pair<'a> {
    fn action(&self, side: usize) -> &'a Action {
        self.state
            .next(self.program, self.actors[side])
            .expect("both have a next action")
    }

    /// The pair and its mirror image: the theorems are about unordered pairs.
    fn both(self) -> [Pair<'a>; 2] {
        let [a, b] = self.actors;
        [Pair { ..self }, Pair { actors: [b, a], ..self }]
    }

    fn tested(&self, side: usize) -> Option<&'a [usize]> {
        match self.action(side) {
            Action::TestAny { handles, .. } | Action::WaitAny { handles } => Some(handles),
            _ => None,
        }
    }

    fn probed(&self, side: usize) -> Option<&'a [usize]> {
        match self.action(side) {
            Action::MutexTest { mutexes, .. } | Action::MutexWait { mutexes } => Some(mutexes),
            _ => None,
        }
    }

    /// The mailboxes that a communication action concerns.
    fn mailboxes(&self, side: usize) -> Vec<usize> {
        if let Some(handles) = self.tested(side) {
            let communications = self.state.communications(self.actors[side], handles);
            return communications.map(|((mailbox, _), _)| mailbox).collect();
        }
        self.state
            .posts(self.program, self.actors[side])
            .into_iter()
            .map(|(mailbox, _)| mailbox)
            .collect()
    }

    /// The mutexes that a synchronization action concerns.
    fn mutexes(&self, side: usize) -> Vec<usize> {
        match self.action(side) {
            Action::Lock(mutex) | Action::Unlock(mutex) => vec![*mutex],
            _ => self.probed(side).unwrap_or_default().to_vec(),
        }
    }

    /// The theorem of §3.3 that says that the two are independent, if the first is `a` of the text and the second is
    /// `b`.
    fn theorem(&self) -> Option<u8> {
        use Action::*;
        let (a, b) = (self.action(0), self.action(1));
        let disjoint = |a: Vec<usize>, b: Vec<usize>| a.iter().all(|x| !b.contains(x));
        if matches!(a, Compare { .. }) {
            return Some(1);
        }
        if a.synchronizes() && b.communicates() {
            return Some(2);
        }
        if a.communicates() && b.communicates() && disjoint(self.mailboxes(0), self.mailboxes(1)) {
            return Some(3);
        }
        if a.synchronizes() && b.synchronizes() && disjoint(self.mutexes(0), self.mutexes(1)) {
            return Some(7);
        }
        match (a, b) {
            (Send { .. }, Receive { .. }) => Some(4),
            (TestAny { .. } | WaitAny { .. }, TestAny { .. } | WaitAny { .. }) => Some(5),
            (TestAny { .. } | WaitAny { .. }, Send { .. } | Receive { .. }) => (!self.completes_first()).then_some(6),
            (Lock(_), Unlock(_)) => Some(8),
            (MutexWait { .. } | MutexTest { .. }, MutexWait { .. } | MutexTest { .. }) => Some(9),
            (&Unlock(mutex), MutexWait { .. } | MutexTest { .. }) => {
                let owned = self.actors.iter().any(|&actor| self.state.owns(actor, mutex));
                (!owned).then_some(10)
            }
            (Lock(_), MutexWait { .. } | MutexTest { .. }) => Some(11),
            _ => None,
        }
    }

    /// For a test or wait and a send or receive: whether the latter completes the first communication of the former's
    /// set. Where one is done already, that is the first.
    fn completes_first(&self) -> bool {
        let handles = self.tested(0).expect("the first is a test or wait");
        let posted = self.state.posts(self.program, self.actors[1]);
        let mut communications = self.state.communications(self.actors[0], handles);
        !self.state.communications(self.actors[0], handles).any(|(_, done)| done)
            && communications.any(|(communication, _)| Some(communication) == posted)
    }

    /// Whether the second completes one of the first's communications that comes before one that is done: the case in
    /// which the model is coarser than theorem 6.
    fn completes_earlier(&self) -> bool {
        let Some(handles) = self.tested(0) else { return false };
        let posted = self.state.posts(self.program, self.actors[1]);
        let mut communications = self
            .state
            .communications(self.actors[0], handles)
            .take_while(|(_, done)| !done);
        communications.any(|(communication, _)| Some(communication) == posted)
    }

    /// The kind of pair of which this is an example, if no theorem says that it is independent.
    fn kind(&self) -> Option<&'static str> {
        use Action::*;
        Some(match (self.action(0), self.action(1)) {
            (Send { .. }, Send { .. }) => "two sends to a mailbox",
            (Receive { .. }, Receive { .. }) => "two receives from a mailbox",
            (TestAny { .. }, Send { .. } | Receive { .. }) => "a test and what completes its first communication",
            (WaitAny { .. }, Send { .. } | Receive { .. }) => "a wait and what completes its first communication",
            (&Lock(mutex), Lock(_)) if !self.actors.iter().any(|&actor| self.state.requests(actor, mutex)) => {
                "two requests of a mutex"
            }
            (&Unlock(mutex), MutexTest { .. }) if self.state.owns(self.actors[0], mutex) => {
                "the owner's unlock and another's test"
            }
            (&Unlock(mutex), MutexWait { .. }) if self.state.owns(self.actors[0], mutex) => {
                "the owner's unlock and another's wait"
            }
            _ => return None,
        })
    }
}

/// A program's state, reached by a schedule.
fn at(machine: &mut Machine, schedule: &[Transition]) {
    machine.restart();
    for &transition in schedule {
        machine
            .step(transition, &mut Step::default())
            .expect("nothing stops here");
    }
}

/// The footprint of the thread's next action, and the state and the statuses after it if it is enabled.
fn after(machine: &Machine, thread: ThreadId) -> (Footprint, Option<Machine>) {
    let mut next = machine.clone();
    if machine.threads()[thread.index()].alternatives().is_none() {
        return (machine.pending(thread).footprint, None);
    }
    let mut step = Step::default();
    next.step(transition(thread), &mut step).expect("nothing stops here");
    assert_eq!(step.footprint, machine.pending(thread).footprint);
    (step.footprint, Some(next))
}

fn transition(thread: ThreadId) -> Transition {
    Transition { thread, alternative: 0 }
}

fn is_enabled(machine: &Machine, thread: ThreadId) -> bool {
    machine.threads()[thread.index()].alternatives().is_some()
}

/// Whether the next actions of the two threads commute in the state: definition 2.
fn commute(machine: &Machine, [a, b]: [ThreadId; 2]) -> bool {
    let (_, after_a) = after(machine, a);
    let (_, after_b) = after(machine, b);
    let unmoved = |after: &Option<Machine>, other| {
        after
            .as_ref()
            .is_none_or(|after| is_enabled(after, other) == is_enabled(machine, other))
    };
    if !unmoved(&after_a, b) || !unmoved(&after_b, a) {
        return false;
    }
    let (Some(after_a), Some(after_b)) = (after_a, after_b) else {
        return true;
    };
    let (_, both) = after(&after_a, b);
    let (_, other_way) = after(&after_b, a);
    let end = |machine: Option<Machine>| {
        let machine = machine.expect("it is still enabled");
        (machine.state().clone(), machine.threads().to_vec())
    };
    end(both) == end(other_way)
}

/// Calls `visit` with states of generated programs.
fn each_state(programs: usize, mut visit: impl FnMut(&Program, &Machine)) {
    let mut runner = TestRunner::new_with_rng(Default::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &[19; 32]));
    let generator = generate::programs(u64::MAX);
    let choices = proptest::collection::vec(proptest::num::usize::ANY, 12);
    for _ in 0..programs {
        let program = generator
            .new_tree(&mut runner)
            .expect("programs can be generated")
            .current();
        let choices = choices
            .new_tree(&mut runner)
            .expect("numbers can be generated")
            .current();
        let mut machine = Machine::new(program.clone());
        let mut schedule = Vec::new();
        for choice in choices {
            at(&mut machine, &schedule);
            visit(&program, &machine);
            let enabled = enabled(&machine);
            match enabled.len() {
                0 => break,
                n => schedule.push(enabled[choice % n]),
            }
        }
    }
}

/// The pairs of actors that have not ended.
fn pairs(machine: &Machine) -> impl Iterator<Item = [usize; 2]> {
    let alive = |&actor: &usize| machine.threads()[actor] != Status::Finished;
    let all = (0..machine.threads().len()).filter(alive);
    all.flat_map(move |a| (0..a).filter(alive).map(move |b| [b, a]))
}

#[test]
fn independence_theorems() {
    let mut theorems: BTreeMap<u8, u64> = BTreeMap::new();
    let mut dependent: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
    let mut coarser = 0;
    each_state(20_000, |program, machine| {
        for actors in pairs(machine) {
            let threads = actors.map(|actor| ThreadId(actor as u32));
            let [first, second] = threads.map(|thread| after(machine, thread).0);
            let independent = !first.conflicts_with(&second);
            let commutes = commute(machine, threads);
            let state = machine.state();
            let pair = Pair { program, state, actors };
            let what = || {
                let pair = Pair { program, state, actors };
                format!("{program}{state:?}\n{} and {}", pair.action(0), pair.action(1))
            };
            // The footprints give a valid independence relation.
            assert!(commutes || !independent, "independent, and do not commute: {}", what());
            let both = pair.both();
            let theorem = both.iter().find_map(Pair::theorem);
            if let Some(theorem) = theorem {
                *theorems.entry(theorem).or_default() += 1;
                assert!(commutes, "theorem {theorem} does not hold: {}", what());
                if both.iter().any(Pair::completes_earlier) {
                    assert_eq!(theorem, 6, "{}", what());
                    assert!(!independent, "{}", what());
                    coarser += 1;
                } else {
                    assert!(
                        independent,
                        "theorem {theorem} does not follow from the footprints: {}",
                        what()
                    );
                }
            } else if let Some(kind) = both.iter().find_map(Pair::kind) {
                let [all, commuting] = dependent.entry(kind).or_default();
                (*all, *commuting) = (*all + 1, *commuting + u64::from(commutes));
                assert!(!independent || commutes, "{kind}: {}", what());
                if kind.starts_with("two") || kind.contains("completes") {
                    assert!(!independent, "{kind}: {}", what());
                }
            }
        }
    });
    println!("states in which each theorem applies: {theorems:?}\ncoarser than theorem 6: {coarser}");
    println!("dependent pairs, and those of them that commute: {dependent:?}");
    assert_eq!(
        theorems.keys().copied().collect::<Vec<_>>(),
        (1..=11).collect::<Vec<_>>()
    );
    assert!(coarser > 0);
    assert_eq!(dependent.len(), 7, "{dependent:?}");
    assert!(
        dependent.values().all(|[all, commuting]| all > commuting),
        "{dependent:?}"
    );
}

#[test]
fn persistence() {
    let mut disabled = 0;
    each_state(5_000, |program, machine| {
        for transition in enabled(machine) {
            let (_, next) = after(machine, transition.thread);
            let next = next.expect("it is enabled");
            for other in enabled(machine)
                .into_iter()
                .filter(|other| other.thread != transition.thread)
            {
                disabled += 1;
                assert!(
                    is_enabled(&next, other.thread),
                    "{} disables {}: {program}",
                    transition.thread,
                    other.thread
                );
            }
        }
    });
    assert!(disabled > 10_000);
}

/// The findings of an exploration.
#[derive(Default)]
struct Found {
    /// The canonical forms of the executions that ran to their end.
    traces: HashSet<u64>,
    /// The states in which they ended.
    ends: HashSet<State>,
}

impl Observer<Erased> for Found {
    fn execution(&mut self, system: &mut Erased, end: &End, trace: &Trace, _: &Statistics) -> ControlFlow<()> {
        let system: &mut Machine = system.get();
        const PATHS: [[u8; 1]; 4] = [[0], [1], [2], [3]];
        if matches!(end, End::Complete | End::Failed(_)) {
            let steps = trace.events().iter().map(|event| (event.transition(), event.step()));
            self.traces
                .insert(canonical_form(steps, |thread| &PATHS[thread.index()]));
            self.ends.insert(system.state().clone());
        }
        ControlFlow::Continue(())
    }
}

fn explore(program: &Program, strategy: Exploration, fault: Option<Fault>) -> (Found, Report) {
    let explorer =
        Explorer::new(Erased::new(Machine::new(program.clone())), strategy, Limits::default()).keep_going(true);
    let mut explorer = match fault {
        Some(fault) => explorer.fault(fault),
        None => explorer,
    };
    let mut found = Found::default();
    let report = explorer.run(&mut found);
    (found, report)
}

/// The error of the unfolding-based strategy, which may be faulty, or of `optimal` on the program.
fn wrong(program: &Program, fault: Option<Fault>) -> Option<String> {
    let (all, exhaustive) = explore(program, Exploration::Exhaustive, None);
    let (_, source) = explore(program, Exploration::Source, None);
    let unfoldings = UNFOLDINGS.map(|strategy| (strategy, fault)).into_iter();
    let mut strategies = unfoldings.chain([(Exploration::Optimal, None)]);
    strategies.find_map(|(strategy, fault)| {
        let (found, report) = explore(program, strategy, fault);
        let statistics = report.statistics;
        let what = if std::mem::discriminant(&report.verdict) != std::mem::discriminant(&exhaustive.verdict) {
            format!("says {:?}", report.verdict)
        } else if found.traces != all.traces || found.ends != all.ends {
            format!("finds {} traces of {}", found.traces.len(), all.traces.len())
        } else if statistics.complete != all.traces.len() as u64 {
            format!("runs {} executions of {} traces", statistics.complete, all.traces.len())
        } else if strategy == UNFOLDINGS[0] && statistics.blocked > 0 {
            format!("gives up {} executions", statistics.blocked)
        } else if strategy == UNFOLDINGS[0] && statistics.executions() > source.statistics.executions() {
            format!(
                "runs {} executions, source {}",
                statistics.executions(),
                source.statistics.executions()
            )
        } else {
            return None;
        };
        Some(format!("{strategy} {what}:\n{program}"))
    })
}

/// Generated programs whose interleavings can all be run.
fn small_programs(most: u64) -> impl Iterator<Item = Program> {
    let mut runner = TestRunner::new_with_rng(Default::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &[20; 32]));
    let generator = generate::programs(most);
    std::iter::from_fn(move || {
        Some(
            generator
                .new_tree(&mut runner)
                .expect("programs can be generated")
                .current(),
        )
    })
}

#[test]
fn an_unfolding_has_each_trace_once() {
    let (mut reduced, mut deadlocks) = (0, 0);
    for program in small_programs(1000).take(3000) {
        if let Some(wrong) = wrong(&program, None) {
            panic!("{wrong}");
        }
        let (found, report) = explore(&program, UNFOLDINGS[0], None);
        reduced += u64::from(u128::from(report.statistics.complete) < interleavings(&program));
        deadlocks += u64::from(matches!(report.verdict, Verdict::Failed { .. }));
        assert!(!found.ends.is_empty());
    }
    println!("programs reduced: {reduced}, that deadlock: {deadlocks}");
    assert!(reduced > 1000 && deadlocks > 500, "{reduced} {deadlocks}");
}

#[test]
fn faults_of_the_unfolding_are_caught() {
    for fault in [Fault::DropRace(1), Fault::DropRace(3), Fault::KeepSleeping(1)] {
        let caught = small_programs(500)
            .take(200)
            .position(|program| wrong(&program, Some(fault)).is_some());
        println!("{fault:?} is caught by program {caught:?}");
        assert!(caught.is_some(), "{fault:?}");
    }
}
