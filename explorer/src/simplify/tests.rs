//! Simplification of schedules of a program of counters and locks.

use super::*;
use crate::system::{Fingerprint, Pending, Status};
use std::time::Duration;

/// The next operation of a thread of the program.
#[derive(Clone, Copy)]
enum Op {
    /// Reads the variable into the thread's register.
    Load(usize),
    /// Writes the thread's register, plus 1.
    Store(usize),
    /// Touches nothing shared.
    Local,
    Lock(usize),
    Unlock(usize),
    /// Lets others run.
    Yield,
    /// Adds 1 to the variable.
    Add(usize),
    /// Waits until the variable has the value.
    Await(usize, i64),
    /// Fails if the variable has another value.
    Expect(usize, i64),
}

use Op::*;

/// Threads that all exist from the start.
struct Toy {
    code: Vec<Vec<Op>>,
    next: Vec<usize>,
    registers: Vec<i64>,
    variables: [i64; 4],
    held: [bool; 4],
    statuses: Vec<Status>,
}

impl Toy {
    fn new(code: &[&[Op]]) -> Toy {
        Toy {
            code: code.iter().map(|ops| ops.to_vec()).collect(),
            next: vec![],
            registers: vec![],
            variables: [0; 4],
            held: [false; 4],
            statuses: vec![],
        }
    }

    fn op(&self, thread: usize) -> Option<Op> {
        self.code[thread].get(self.next[thread]).copied()
    }

    fn refresh(&mut self) {
        self.statuses = (0..self.code.len())
            .map(|thread| match self.op(thread) {
                None => Status::Finished,
                Some(Lock(lock)) if self.held[lock] => Status::Blocked,
                Some(Await(variable, value)) if self.variables[variable] != value => Status::Blocked,
                Some(_) => Status::Enabled(BitSet::of(0)),
            })
            .collect();
    }
}

impl System for Toy {
    fn restart(&mut self) {
        self.next = vec![0; self.code.len()];
        self.registers = vec![0; self.code.len()];
        (self.variables, self.held) = ([0; 4], [false; 4]);
        self.refresh();
    }

    fn threads(&self) -> &[Status] {
        &self.statuses
    }

    fn step(&mut self, transition: Transition, _: &mut Step) -> Result<(), Stop> {
        let thread = transition.thread.index();
        let op = self.op(thread).expect("the thread is enabled");
        self.next[thread] += 1;
        match op {
            Load(variable) => self.registers[thread] = self.variables[variable],
            Store(variable) => self.variables[variable] = self.registers[thread] + 1,
            Lock(lock) => self.held[lock] = true,
            Unlock(lock) => self.held[lock] = false,
            Add(variable) => self.variables[variable] += 1,
            Local | Yield | Await(..) => {}
            Expect(variable, value) if self.variables[variable] != value => {
                return Err(Stop::Failed(Failure {
                    kind: "panic",
                    message: format!("{} is not {value}", self.variables[variable]),
                }));
            }
            Expect(..) => {}
        }
        self.refresh();
        Ok(())
    }

    fn pending(&self, _: ThreadId) -> Pending {
        unreachable!("nobody looks ahead")
    }

    fn finish(&mut self) -> Result<(), Failure> {
        match self.statuses.contains(&Status::Blocked) {
            false => Ok(()),
            true => Err(Failure {
                kind: "deadlock",
                message: String::new(),
            }),
        }
    }

    fn fingerprint(&mut self) -> Option<Fingerprint> {
        None
    }

    fn gives_way(&self, thread: ThreadId) -> bool {
        matches!(self.op(thread.index()), Some(Yield))
    }
}

/// The failure that the search is about, and the cost of the best schedule so far.
struct Kind(&'static str, Cost);

impl Judge<Toy> for Kind {
    fn same(&mut self, _: &mut Toy, failure: &Failure) -> bool {
        failure.kind == self.0
    }

    fn found(&mut self, _: &mut Toy, run: &Run) {
        assert!(run.cost < self.1, "each that is told of is better");
        self.1 = run.cost;
    }
}

fn schedule(threads: &str) -> Vec<Transition> {
    let transition = |c: char| Transition {
        thread: ThreadId(c.to_digit(10).expect("a digit")),
        alternative: 0,
    };
    threads.chars().map(transition).collect()
}

fn text(run: &Run) -> String {
    run.points
        .iter()
        .map(|point| point.taken.thread.0.to_string())
        .collect()
}

fn later() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

/// Finds the simplest schedule of the program that fails as the given one does, and where it parts from a passing one.
fn simplified(code: &[&[Op]], kind: &'static str, found: &str) -> (Simplest, Parting) {
    let mut trials = InPlace::new(Toy::new(code), Kind(kind, Cost::MAX));
    let simplest = simplest(&mut trials, &schedule(found), later());
    let simplest = simplest.expect("the given schedule fails");
    let parting = parting(&mut trials, &simplest.run, later());
    (simplest, parting)
}

const INCREMENT: &[Op] = &[Local, Load(0), Local, Store(0), Local, Add(1)];
const BOTH_ADDED: &[Op] = &[Await(1, 2), Expect(0, 2)];

#[test]
fn a_lost_update_is_one_preemption() {
    let code = [INCREMENT, INCREMENT, BOTH_ADDED];
    let (simplest, parting) = simplified(&code, "panic", "01010101010122");
    assert!(simplest.proven);
    let cost = simplest.run.cost;
    assert_eq!((cost.preemptions, cost.switches, cost.steps), (1, 3, 14));
    // Had the thread that was preempted gone on before the other one loads, nothing would be lost.
    let steps = text(&simplest.run);
    let (first, second) = if steps.starts_with('0') { ("0", "1") } else { ("1", "0") };
    let (load, _) = steps.match_indices(second).nth(1).expect("it runs");
    let instead = schedule(first)[0];
    assert_eq!(parting, Parting::At { at: load, instead });
}

#[test]
fn a_deadlock_ends_as_soon_as_it_can() {
    let code: [&[Op]; 3] = [
        &[Local, Lock(0), Local, Lock(1), Unlock(1), Unlock(0)],
        &[Local, Local, Lock(1), Lock(0), Unlock(0), Unlock(1)],
        &[Local, Local],
    ];
    let (simplest, parting) = simplified(&code, "deadlock", "20110210");
    assert!(simplest.proven);
    // The third thread must run as well: an execution ends when nobody can go on.
    assert_eq!((simplest.run.cost.preemptions, simplest.run.cost.switches), (1, 2));
    assert_eq!(simplest.run.points.len(), 8);
    assert!(matches!(parting, Parting::At { .. }), "{parting:?}");
}

#[test]
fn who_gives_way_is_not_preempted() {
    let yielding: &[Op] = &[Load(0), Yield, Store(0), Add(1)];
    let (simplest, _) = simplified(&[yielding, INCREMENT, BOTH_ADDED], "panic", "0110011101122");
    assert_eq!((simplest.run.cost.preemptions, simplest.run.cost.switches), (0, 3));
}

#[test]
fn without_a_bounded_search_long_schedules_get_simpler_too() {
    let long: Vec<Op> = [Local; 40].iter().chain(INCREMENT).copied().collect();
    let code = [&long[..], &long, BOTH_ADDED];
    let found = format!("{}22", "01".repeat(46));
    let mut trials = InPlace::new(Toy::new(&code), Kind("panic", Cost::MAX));
    let found = schedule(&found);
    let mut search = Simplification::begin(&mut trials, &found, later()).expect("it fails");
    assert!(search.best.cost.preemptions > 80);
    search.improve(later());
    assert_eq!(search.best.cost.preemptions, 1);
}

#[test]
fn a_failure_of_every_schedule_parts_from_none() {
    let (simplest, parting) = simplified(&[&[Local, Expect(0, 1)], &[Local]], "panic", "1001");
    assert_eq!(text(&simplest.run), "00");
    assert_eq!((simplest.proven, parting), (true, Parting::Nowhere));
}

#[test]
fn a_schedule_that_does_not_fail_is_refused() {
    let mut trials = InPlace::new(Toy::new(&[INCREMENT, INCREMENT, BOTH_ADDED]), Kind("panic", Cost::MAX));
    let fine = schedule("00000011111122");
    assert!(super::simplest(&mut trials, &fine, later()).is_none());
}

#[test]
fn when_time_is_up_the_best_so_far_stands() {
    let mut trials = InPlace::new(Toy::new(&[INCREMENT, INCREMENT, BOTH_ADDED]), Kind("panic", Cost::MAX));
    let found = schedule("01010101010122");
    let simplest = super::simplest(&mut trials, &found, Instant::now()).expect("it fails");
    assert!(!simplest.proven);
    assert_eq!(simplest.run.schedule(), found);
    assert_eq!(trials.judge.1, Cost::MAX, "the given schedule is no finding");
    assert_eq!(parting(&mut trials, &simplest.run, Instant::now()), Parting::Unknown);
}

#[test]
fn a_schedule_without_the_steps_that_cannot_run_is_told() {
    let code: [&[Op]; 2] = [
        &[Lock(0), Lock(1), Unlock(1), Unlock(0)],
        &[Lock(1), Lock(0), Unlock(0), Unlock(1)],
    ];
    let mut trials = InPlace::new(Toy::new(&code), Kind("deadlock", Cost::MAX));
    let simplest = super::simplest(&mut trials, &schedule("010011"), later()).expect("it fails");
    assert_eq!(text(&simplest.run), "01");
    assert_eq!((simplest.proven, trials.judge.1), (true, simplest.run.cost));
}
