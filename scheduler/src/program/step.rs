//! One step.

use super::Program;
use crate::api::plain;
use crate::failure::failure;
use crate::image::{stacks, switch};
use crate::machine::Machine;
use crate::machine::execution::Execution;
use crate::machine::step::Request;
use crate::machine::threads::clear_leftovers;
use crate::machine::{timeouts, watch};
use crate::operation::{OperationKind, add_values_now};
use crate::report::{Source, StepReport};
use corosensei::CoroutineResult;
use dpor_explorer::{AccessKind, Location, Stop, ThreadId, Transition};
use dpor_protocol::{FailureKind, Timeouts};
use smallvec::SmallVec;

impl Program {
    /// Runs the transition, and leaves the record of the step in the machine.
    pub(super) fn advance(&mut self, transition: Transition, repeating: bool) -> Result<(), Stop> {
        let thread = transition.thread;
        let machine = Self::machine();
        if machine.execution.threads[thread].lets_time_pass(transition.alternative) {
            self.let_time_pass(transition, repeating);
            return Ok(());
        }
        let source = machine.traced.is_some().then(|| self.source_of(thread)).flatten();
        let Machine {
            session,
            execution,
            step,
            ..
        } = machine;
        session.refinements.loops.begin_step();
        step.repeating = repeating;
        (step.of, step.alternative) = (thread, transition.alternative);
        step.chosen = transition.alternative;
        execution.length.0 += 1;
        let record = &execution.threads[thread];
        step.places.clear();
        step.places.push(record.place());
        let own = &mut step.record;
        debug_assert!(own.footprint.accesses().is_empty() && own.guards.is_empty() && own.signature == 0);
        own.signature = record.signature();
        step.signature = own.signature;
        let operation = record.operation();
        let (kind, object) = (operation.kind, operation.object);
        if !operation.alternatives.is_empty() || record.spin.awaiting().is_some() {
            for access in record.enabling_accesses() {
                own.footprint.add(access.location, access.kind);
            }
            if !repeating {
                record.add_guards(&mut own.guards);
                add_values_now(&own.guards, &mut own.values);
            }
        }
        let lateness = record.lateness_access();
        let main_ran_before = execution.outcome.of_main.is_some();
        watch::begins(machine, transition);
        machine.execution.threads.note_move(thread);
        Self::end_wait(machine, thread);
        // Last, because the memory is not that of the program from here until the thread has made its operation.
        let Execution { threads, races, .. } = &mut machine.execution;
        if let Some(request) = &threads[thread].request {
            races.foresee(threads.waiting_for_ends());
            races.place(request, transition.alternative);
        }
        let result = Self::run(thread);
        let machine = Self::machine();
        if !repeating && machine.session.options.timeouts() == Timeouts::Last {
            let passed = machine.execution.clock.passed;
            timeouts::add_accesses(&mut machine.step.record.footprint, passed, lateness);
        }
        if machine.traced.is_some() {
            report_step(machine, thread, kind, object, source);
        }
        let Machine { session, execution, .. } = machine;
        if matches!(result, Err(Stop::Refine)) {
            session.recall.forget();
            if !execution.watch.trying_out {
                execution.races.start_again();
                session.labels.start_again();
                session.start_survey_again();
            }
        }
        result?;
        debug_assert!(
            kind != OperationKind::Join || execution.races.has_waited(thread, object),
            "who waits for an end knows what was published there"
        );
        // Where states are compared exactly; otherwise it is relied upon.
        if session.recall.is_contradicted() {
            let message = "memory is not as it was after the same steps before";
            return Err(Stop::Failed(failure(FailureKind::Nondeterminism, message)));
        }
        match &execution.outcome.of_main {
            Some(Err(failed)) if !main_ran_before => Err(Stop::Failed(failed.clone())),
            _ => Ok(()),
        }
    }

    /// Ends the wait of a thread that goes on.
    fn end_wait(machine: &mut Machine, thread: ThreadId) {
        let Machine { execution, step, .. } = machine;
        let Some(effect) = execution.threads[thread].ends_wait() else {
            return;
        };
        execution.threads.note_change(effect.variable);
        if !step.repeating {
            step.record.effects.push(effect);
        }
    }

    /// Lets time pass where no thread can go on but by a timeout.
    fn let_time_pass(&mut self, transition: Transition, repeating: bool) {
        let thread = transition.thread;
        let machine = Self::machine();
        let source = machine.traced.is_some().then(|| self.source_of(thread)).flatten();
        let Machine {
            session,
            execution,
            step,
            ..
        } = machine;
        (step.repeating, step.thread) = (repeating, thread);
        session.recall.begin(execution.length.0 as usize, transition);
        execution.length.0 += 1;
        execution.threads.note_move(thread);
        let late = timeouts::pass(machine, thread);
        if let Some(traced) = &mut machine.traced {
            let late: Vec<String> = late.iter().map(ThreadId::to_string).collect();
            traced
                .steps
                .note(format!("the timeouts of {} have passed", late.join(", ")));
            report_step(machine, thread, OperationKind::TimePasses, Location(0), source);
        }
    }

    /// Runs the thread and the threads that it creates until all of them are at scheduling points.
    fn run(thread: ThreadId) -> Result<(), Stop> {
        let mut running: SmallVec<[ThreadId; 2]> = SmallVec::from_iter([thread]);
        while let Some(&top) = running.last() {
            match Self::resume(top) {
                CoroutineResult::Return(()) => {
                    let machine = Self::machine();
                    machine.execution.threads[top].alive = false;
                    machine.execution.races.ended(top);
                    running.pop();
                    if running.is_empty() {
                        watch::stepped(machine, top);
                    }
                }
                CoroutineResult::Yield(()) => {
                    let machine = Self::machine();
                    let stop = match machine.step.request.take() {
                        Some(Request::Point) => {
                            running.pop();
                            if running.is_empty() {
                                watch::stepped(machine, top);
                            }
                            watch::arrived(machine, top).then_some(Stop::Refine)
                        }
                        Some(Request::Spawn(child)) => {
                            running.push(child);
                            None
                        }
                        Some(Request::Stop(stop)) => Some(stop),
                        None => unreachable!("a coroutine suspends with a request"),
                    };
                    if let Some(stop) = stop {
                        // What they had pending at the start of the step is gone from their stacks.
                        for stopped in running {
                            machine.execution.threads[stopped].abandon();
                        }
                        return Err(stop);
                    }
                }
            }
        }
        Ok(())
    }

    /// Resumes the thread's coroutine until it suspends or ends.
    #[inline]
    fn resume(thread: ThreadId) -> CoroutineResult<(), ()> {
        let Machine {
            session,
            execution,
            step,
            ..
        } = Self::machine();
        step.thread = thread;
        execution.watch.program_runs();
        session.tls.switch(Some(thread), &mut execution.threads);
        let clean = execution.threads.clean;
        let watched = execution.races.is_on();
        let record = &mut execution.threads[thread];
        // They hold for a suspended thread only.
        record.registers = std::ptr::null();
        record.lowest.set(None);
        let coroutine = &raw mut *record.coroutine;
        plain::watch(watched);
        // SAFETY: a model is set up, the scheduler runs on no model thread's stack, and a live thread has a
        // coroutine. It stays in its box while the list of threads grows.
        let result = unsafe { switch::resume(coroutine, clean) };
        plain::watch(false);
        let record = &Self::machine().execution.threads[thread];
        // SAFETY: if there are registers, the thread is suspended in `arrive`, whose caller holds them.
        if let Some(registers) = unsafe { record.registers.as_ref() } {
            stacks::note_depth(registers.stack().start);
            if clean {
                // SAFETY: no thread of the program runs.
                unsafe { clear_leftovers(thread.index(), record) };
            }
        }
        result
    }
}

fn report_step(machine: &mut Machine, thread: ThreadId, kind: OperationKind, object: Location, source: Option<Source>) {
    let record = &machine.step.record;
    let mut accesses = record.footprint.accesses().iter();
    let touched = accesses.find(|access| access.location == object);
    let changes = touched.is_some_and(|access| access.kind != AccessKind::Read);
    let index = machine.execution.length.0.saturating_sub(1);
    let Some(traced) = &mut machine.traced else { return };
    let trace = &mut traced.steps;
    let reads_from = trace.wrote(index, kind, object, &record.footprint);
    if kind.acquires() && changes {
        trace.acquired(thread, object, source.clone());
    }
    let released = trace.end_step(thread, source.as_ref());
    let (values, freed) = (trace.take_values(), trace.take_freed());
    let detail = trace.take_notes();
    let spawned = record.spawned.to_vec();
    trace.last = Some(StepReport {
        thread,
        kind,
        object,
        source,
        detail,
        spawned,
        values,
        released,
        freed,
        reads_from,
    });
}
