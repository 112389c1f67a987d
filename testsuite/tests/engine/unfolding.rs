//! The unfolding-based strategy where something is wrong or goes on for too long: it must not say that all was
//! explored.

use dpor_explorer::{
    AccessKind, Explorer, Fingerprint, Footprint, Layer, Limits, Pending, Report, Rewindable, Step, Stop, Strategy,
    System, ThreadId, Transition, Verdict,
};
use dpor_testsuite::erased::Erased;
use dpor_testsuite::message_passing::{Action, Machine, Program};
use dpor_testsuite::programs::{lastwrite, readers};
use dpor_testsuite::toy::Toy;

const UNFOLDING: Strategy = Strategy::Unfolding { partial: None };

/// A system that hides what it reads.
struct Lying(Machine);

fn without_reads(footprint: &Footprint) -> Footprint {
    let accesses = footprint
        .accesses()
        .iter()
        .filter(|access| access.kind != AccessKind::Read);
    accesses.map(|access| (access.location, access.kind)).collect()
}

impl Layer for Lying {
    type Inner = Machine;

    fn inner(&self) -> &Machine {
        &self.0
    }

    fn inner_mut(&mut self) -> &mut Machine {
        &mut self.0
    }

    fn step(&mut self, transition: Transition, step: &mut Step) -> Result<(), Stop> {
        self.0.step(transition, step)?;
        step.footprint = without_reads(&step.footprint);
        Ok(())
    }

    fn repeat(&mut self, transition: Transition, scratch: &mut Step) -> Result<Option<u64>, Stop> {
        self.0.repeat(transition, scratch)
    }

    fn pending(&self, thread: ThreadId) -> Pending {
        let pending = self.0.pending(thread);
        Pending {
            footprint: without_reads(&pending.footprint),
            ..pending
        }
    }

    fn fingerprint(&mut self) -> Option<Fingerprint> {
        None
    }

    fn rewindable(&mut self) -> Option<&mut dyn Rewindable> {
        None
    }
}

fn post(receives: bool) -> Action {
    if receives {
        Action::Receive { mailbox: 0, handle: 0 }
    } else {
        Action::Send {
            mailbox: 0,
            value: 0,
            handle: 0,
        }
    }
}

fn reason(report: Report) -> String {
    match report.verdict {
        Verdict::Incomplete { reason } => reason,
        verdict => panic!("{verdict:?}"),
    }
}

/// The write that enables the wait is not in its footprint.
#[test]
fn a_step_that_nothing_led_to_is_noticed() {
    let program = Program::new(vec![vec![post(true), Action::wait(0)], vec![post(false)]]);
    let mut explorer = Explorer::new(Erased::new(Lying(Machine::new(program))), UNFOLDING, Limits::default());
    let reason = reason(explorer.run(&mut ()));
    assert!(
        reason.contains("t0 can go on where no step of it was expected"),
        "{reason}"
    );
}

/// What the test looks at is not in its footprint, and what comes next depends on it.
#[test]
fn a_step_that_does_something_else_is_noticed() {
    let test = Action::TestAny {
        handles: vec![0],
        otherwise_skip: 1,
    };
    let sender = vec![post(false)];
    let receiver = vec![post(true), test, Action::LOCAL, Action::Lock(0), Action::Unlock(0)];
    let program = Program::new(vec![sender, receiver]);
    let mut explorer = Explorer::new(Erased::new(Lying(Machine::new(program))), UNFOLDING, Limits::default());
    let reason = reason(explorer.run(&mut ()));
    assert!(
        reason.contains("of t1 did something else after another order"),
        "{reason}"
    );
}

#[test]
fn limits_leave_it_incomplete() {
    let run = |limits| reason(Explorer::new(Erased::new(Toy::new(lastwrite(4))), UNFOLDING, limits).run(&mut ()));
    let executions = Limits {
        executions: Some(5),
        ..Limits::default()
    };
    assert_eq!(run(executions), "the limit of 5 executions was reached");
    let depth = Limits {
        depth: 3,
        ..Limits::default()
    };
    assert!(run(depth).contains("did not end within 3 steps"));
}

/// One writer has 2^40 histories.
#[test]
fn the_clock_is_looked_at_between_executions() {
    let limits = Limits {
        time: Some(std::time::Duration::from_millis(200)),
        ..Limits::default()
    };
    let reason = reason(Explorer::new(Erased::new(Toy::new(readers(40))), UNFOLDING, limits).run(&mut ()));
    assert_eq!(reason, "the time limit of 200ms was reached");
}

#[test]
fn names() {
    for name in ["unfolding", "unfolding:k=4"] {
        let strategy: Strategy = name.parse().expect("that is a strategy");
        assert_eq!(strategy.to_string(), name);
    }
    for name in ["unfolding:4", "unfolding:k=0", "unfolding:k="] {
        assert!(name.parse::<Strategy>().is_err(), "{name}");
    }
}
