//! The search over states against all states, on toy programs that can come to a state again.
//!
//! `DPOR_ORACLE_PROGRAMS` sets how many programs (8,000 by default), `DPOR_ORACLE_SEED` which ones.

use dpor_explorer::{End, Explorer, Fault, Fingerprint, Limits, Observer, Statistics, Step, Stop, Strategy, System};
use dpor_explorer::{Status, Trace, Transition, Verdict};
use dpor_testsuite::erased::Erased;
use dpor_testsuite::generated::{QUANTUM, first_caught, setting};
use dpor_testsuite::oracle::minimise;
use dpor_testsuite::toy::{Program, Terminal, Toy, looping};
use proptest::strategy::{Strategy as _, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

/// Programs with more states than this are left out.
const MOST_STATES: usize = 600;

/// All states of a program, found without the explorer.
#[derive(Default)]
struct Graph {
    numbers: HashMap<Fingerprint, usize>,
    successors: Vec<Vec<usize>>,
    /// The states in which no thread is enabled or the main thread has ended.
    ends: HashSet<usize>,
    terminals: HashSet<Terminal>,
    fails: bool,
    /// Whether a step has failed: what else could have followed is not explored then.
    stopped: bool,
}

impl Graph {
    /// `None` if there are too many states.
    fn of(program: &Program) -> Option<Graph> {
        let mut initial = Toy::new(program.clone());
        loop {
            match Graph::from(&initial) {
                Ok(graph) => return graph,
                // The machine has learnt where more scheduling points are needed.
                Err(mut refined) => {
                    refined.restart();
                    initial = *refined;
                }
            }
        }
    }

    fn from(initial: &Toy) -> Result<Option<Graph>, Box<Toy>> {
        let mut graph = Graph::default();
        let mut toy = initial.clone();
        let mut todo = vec![(graph.number(&mut toy), toy)];
        while let Some((number, toy)) = todo.pop() {
            let enabled: Vec<Transition> = Transition::enabled(toy.threads()).collect();
            if enabled.is_empty() {
                graph.terminals.insert(toy.terminal());
                graph.fails |= toy.clone().finish().is_err();
            }
            if enabled.is_empty() || toy.threads()[0] == Status::Finished {
                graph.ends.insert(number);
            }
            for transition in enabled {
                let mut next = toy.clone();
                match next.step(transition, &mut Step::default()) {
                    Ok(()) => {}
                    Err(Stop::Refine) => return Err(Box::new(next)),
                    Err(_) => {
                        (graph.fails, graph.stopped) = (true, true);
                        graph.ends.insert(number);
                        continue;
                    }
                }
                let known = graph.successors.len();
                let to = graph.number(&mut next);
                graph.successors[number].push(to);
                if to == known {
                    todo.push((to, next));
                }
            }
            if graph.successors.len() > MOST_STATES {
                return Ok(None);
            }
        }
        Ok(Some(graph))
    }

    /// The number of the state that the machine is in.
    fn number(&mut self, toy: &mut Toy) -> usize {
        let fingerprint = toy.fingerprint().expect("nothing is hidden");
        let new = self.successors.len();
        let number = *self.numbers.entry(fingerprint).or_insert(new);
        if number == new {
            self.successors.push(Vec::new());
        }
        number
    }

    /// Whether a state can be reached from itself.
    fn is_cyclic(&self) -> bool {
        // What is left when states without successors are taken away, again and again.
        let mut left: HashSet<usize> = (0..self.successors.len()).collect();
        loop {
            let before = left.len();
            let kept = left.clone();
            left.retain(|&state| self.successors[state].iter().any(|to| kept.contains(to)));
            if left.len() == before {
                return before > 0;
            }
        }
    }

    /// Whether the program can come to a state from which it never ends, although the main thread has not ended.
    fn is_endless(&self) -> bool {
        let mut ending = self.ends.clone();
        loop {
            let before = ending.len();
            for (state, successors) in self.successors.iter().enumerate() {
                if successors.iter().any(|to| ending.contains(to)) {
                    ending.insert(state);
                }
            }
            if ending.len() == before {
                return ending.len() < self.successors.len();
            }
        }
    }
}

/// What the search over states finds.
struct Found {
    terminals: HashSet<Terminal>,
    /// Maximum number of executions: each ends with another step from another state, until it is known that the program
    /// does not end.
    most: u64,
}

impl Observer<Erased> for Found {
    fn execution(&mut self, system: &mut Erased, end: &End, _: &Trace, statistics: &Statistics) -> ControlFlow<()> {
        let toy: &mut Toy = system.get();
        let enabled = toy.threads().iter().any(|status| status.alternatives().is_some());
        if matches!(end, End::Complete | End::Failed(_)) && !enabled {
            self.terminals.insert(toy.terminal());
        }
        match statistics.executions() > self.most {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn refined(&mut self) {
        self.terminals.clear();
    }
}

/// A program's properties that generators should bring about.
#[derive(Default)]
struct Kind {
    endless: bool,
    fails: bool,
    cyclic: bool,
}

/// Compares the search with all states; `None` if there are too many.
fn compare(program: &Program, fault: Option<Fault>) -> Result<Option<Kind>, String> {
    let Some(graph) = Graph::of(program) else {
        return Ok(None);
    };
    let limits = Limits {
        // Few states are not looked up, along ways without branches.
        depth: 2 * graph.successors.len() as u32 + 300,
        ..Limits::default()
    };
    let explorer = Explorer::new(Erased::new(Toy::new(program.clone())), Strategy::States, limits);
    let explorer = explorer.keep_going(true).quantum(QUANTUM);
    let mut explorer = match fault {
        Some(fault) => explorer.fault(fault),
        None => explorer,
    };
    let steps: usize = graph.successors.iter().map(Vec::len).sum();
    let mut found = Found {
        terminals: HashSet::new(),
        most: steps as u64 + 1,
    };
    let verdict = explorer.run(&mut found).verdict;
    let endless = graph.is_endless();
    let expected = match (graph.fails, endless) {
        (true, _) => matches!(verdict, Verdict::Failed { .. }),
        (false, true) => matches!(verdict, Verdict::Incomplete { .. }),
        (false, false) => verdict == Verdict::Complete,
    };
    if !expected {
        return Err(format!("fails: {}, endless: {endless}, but {verdict:?}", graph.fails));
    }
    if !graph.stopped && found.terminals != graph.terminals {
        let missed: Vec<_> = graph
            .terminals
            .difference(&found.terminals)
            .map(ToString::to_string)
            .collect();
        return Err(format!(
            "{} of {} ends are found, not {missed:?}",
            found.terminals.len(),
            graph.terminals.len()
        ));
    }
    Ok(Some(Kind {
        endless,
        fails: graph.fails,
        cyclic: graph.is_cyclic(),
    }))
}

fn runner() -> TestRunner {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&setting("DPOR_ORACLE_SEED", 1996).to_le_bytes());
    TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

#[test]
fn programs_with_cycles_come_to_the_same_ends() {
    let programs = setting("DPOR_ORACLE_PROGRAMS", 8_000);
    let (mut runner, generator) = (runner(), looping::programs());
    let (mut compared, mut endless, mut failing, mut cyclic) = (0u64, 0u64, 0u64, 0u64);
    for count in 1..=programs {
        let program = generator
            .new_tree(&mut runner)
            .expect("programs can be generated")
            .current();
        match compare(&program, None) {
            Ok(None) => {}
            Ok(Some(kind)) => {
                compared += 1;
                endless += u64::from(kind.endless);
                failing += u64::from(kind.fails);
                cyclic += u64::from(kind.cyclic);
            }
            Err(_) => {
                let smallest = minimise(program, |program| compare(program, None).is_err());
                let what = compare(&smallest, None).err().unwrap_or_default();
                panic!("program {count}:\n{smallest}{what}");
            }
        }
    }
    println!("{compared} of {programs} programs compared: {cyclic} have cycles, {endless} never end, {failing} fail");
    assert!(cyclic > programs / 4 && endless > programs / 50 && failing > programs / 50);
}

/// The number of generated programs after which the fault shows.
#[track_caller]
fn caught_within(fault: Fault, budget: u32) {
    first_caught(
        &format!("{fault:?}"),
        budget,
        &looping::programs(),
        |program, faulty| compare(program, faulty.then_some(fault)).map(drop),
    );
}

#[test]
fn cycles_that_are_taken_for_explored() {
    caught_within(Fault::ForgetCycles, 200);
}

#[test]
fn cuts_whose_races_are_not_looked_for() {
    caught_within(Fault::SkipCutRaces, 500);
}

#[test]
fn pasts_that_are_too_long() {
    caught_within(Fault::LongPasts, 2000);
}
