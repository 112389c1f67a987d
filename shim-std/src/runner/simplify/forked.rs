//! Trials of schedules in which the process dies: each runs in a copy of this process.

use super::{InProcess, Reach};
use crate::runner::child::leave;
use dpor_explorer::Transition;
use dpor_explorer::simplify::{Bound, Cost, Ending, Run, Trials};
use dpor_protocol::{Phase, SeedStep};

/// How a process died.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Death {
    /// The fatal signal as its handler saw it, and whether a stack had overflowed.
    crash: Option<(u32, bool)>,
    /// The status that `waitpid` returns.
    status: i32,
    /// The kind of operation in which it died.
    operation: u8,
}

pub(super) struct Forked<'a> {
    in_process: InProcess<'a>,
    /// The death to look for: the first.
    wanted: Option<Death>,
    /// The steps of the last run.
    steps: Vec<SeedStep>,
}

impl<'a> Forked<'a> {
    pub fn new(in_process: InProcess<'a>) -> Forked<'a> {
        Forked {
            in_process,
            wanted: None,
            steps: Vec::new(),
        }
    }

    /// Runs the plan in a copy of this process; returns what it ran and how it died, if it did.
    fn try_out(&mut self, plan: &[Transition], bound: Bound) -> Option<(Vec<SeedStep>, Death)> {
        let map = self.in_process.system.map;
        map.clear_crash();
        map.set_phase(Phase::Exploring);
        // SAFETY: a copy of the one thread that the process has but for those of the test harness, which hold no lock
        // that it needs: it waits for this one.
        let copy = unsafe { libc::fork() };
        if copy == 0 {
            // SAFETY: only says what is to be done when the parent dies.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            self.in_process.run(plan, bound);
            map.set_phase(Phase::Done);
            leave(0);
        }
        let mut status = 0;
        // SAFETY: waits for a process of our own, and writes its status.
        while copy > 0 && unsafe { libc::waitpid(copy, &raw mut status, 0) } < 0 {
            if std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
                break;
            }
        }
        let survived = map.phase() == Phase::Done;
        map.set_phase(Phase::Exploring);
        let steps = map.snapshot().steps;
        let last = steps.last().filter(|_| copy > 0 && !survived)?;
        let death = Death {
            crash: map.crash().map(|crash| (crash.signal, crash.stack_overflow)),
            status,
            operation: last.operation,
        };
        Some((steps, death))
    }
}

impl Trials for Forked<'_> {
    fn run(&mut self, plan: &[Transition], bound: Bound) -> Run {
        let Some((steps, death)) = self.try_out(plan, bound) else {
            let run = self.in_process.run(plan, bound);
            self.steps = self.in_process.system.map.snapshot().steps;
            return run;
        };
        // All steps but the last are harmless.
        let mut schedule: Vec<_> = steps.iter().map(|step| step.transition).collect();
        let last = schedule.pop();
        let harmless = Bound {
            cost: Cost::MAX,
            steps: u32::try_from(schedule.len()).unwrap_or(u32::MAX),
        };
        let mut run = self.in_process.run(&schedule, harmless);
        let thread = run.points.last().map(|point| point.taken.thread);
        if let (Some(mut point), Some(last)) = (self.in_process.point(thread, run.cost), last) {
            point.taken = last;
            run.cost = point.after(last);
            run.points.push(point);
        }
        let same = *self.wanted.get_or_insert_with(|| death.clone()) == death;
        run.ending = if same { Ending::Same } else { Ending::Other };
        self.steps = steps;
        run
    }

    fn refined(&mut self) -> bool {
        self.in_process.refined()
    }

    fn found(&mut self, run: &Run) {
        let steps = self.steps.clone();
        self.in_process
            .judge
            .tell(&self.in_process.system.program, steps, run.cost);
    }
}

impl<'a> Reach<'a> for Forked<'a> {
    fn in_process(&mut self) -> &mut InProcess<'a> {
        &mut self.in_process
    }
}
