//! One step.

use super::Program;
use crate::memory::{stacks, switch};
use crate::operation::{OperationKind, add_values_now};
use crate::report::{Source, StepReport};
use crate::runtime::{Request, Runtime};
use crate::spin;
use corosensei::CoroutineResult;
use dpor_explorer::{AccessKind, Failure, Location, Stop, ThreadId, Transition};
use smallvec::SmallVec;

impl Program {
    /// Invariant: the record in the runtime is empty between steps.
    ///
    /// Runs the transition, and leaves the record of the step in the runtime.
    pub(super) fn advance(&mut self, transition: Transition, repeating: bool) -> Result<(), Stop> {
        let thread = transition.thread;
        let runtime = Self::runtime();
        runtime.repeating = repeating;
        runtime.stale = true;
        let source = runtime
            .trace
            .is_some()
            .then(|| runtime.source(&runtime.threads[thread.index()]))
            .flatten();
        let Runtime { threads, step: own, .. } = runtime;
        let record = &mut threads[thread.index()];
        record.moved = true;
        debug_assert!(own.footprint.accesses().is_empty() && own.guards.is_empty() && own.signature == 0);
        own.signature = record.signature();
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
        runtime.chosen = transition.alternative;
        runtime.steps += 1;
        let main_ran_before = runtime.main_result.is_some();
        spin::begins(runtime, transition);
        let result = Self::run(thread);
        let runtime = Self::runtime();
        if runtime.trace.is_some() {
            report_step(runtime, thread, kind, object, source);
        }
        if matches!(result, Err(Stop::Refine)) {
            runtime.recall.forget();
            if !runtime.trying_out {
                runtime.labels.start_again();
            }
        }
        result?;
        // Where states are compared exactly; otherwise it is relied upon.
        if runtime.recall.is_contradicted() {
            return Err(Stop::Failed(Failure {
                kind: "nondeterminism",
                message: "memory is not as it was after the same steps before".to_owned(),
            }));
        }
        match &runtime.main_result {
            Some(Err(failed)) if !main_ran_before => Err(Stop::Failed(failed.clone())),
            _ => Ok(()),
        }
    }

    /// Runs the thread and the threads that it creates until all of them are at scheduling points.
    fn run(thread: ThreadId) -> Result<(), Stop> {
        let mut running: SmallVec<[ThreadId; 2]> = SmallVec::from_iter([thread]);
        while let Some(&top) = running.last() {
            let runtime = Self::runtime();
            runtime.current = top;
            // They hold for a suspended thread only.
            runtime.threads[top.index()].registers = std::ptr::null();
            runtime.switch_tls(Some(top));
            let coroutine = &raw mut *runtime.threads[top.index()].coroutine;
            // SAFETY: a model is set up, the scheduler runs on no model thread's stack, and a live thread has a
            // coroutine. It stays in its box while the list of threads grows.
            let result = unsafe { switch::resume(coroutine, runtime.clean) };
            let runtime = Self::runtime();
            match result {
                CoroutineResult::Return(()) => {
                    runtime.threads[top.index()].alive = false;
                    running.pop();
                    if running.is_empty() {
                        spin::stepped(runtime, top);
                    }
                }
                CoroutineResult::Yield(()) => match runtime.request.take() {
                    Some(Request::Point) => {
                        // SAFETY: the thread is suspended in `arrive`, whose caller holds the registers.
                        if let Some(registers) = unsafe { runtime.threads[top.index()].registers.as_ref() } {
                            stacks::note_depth(registers.stack().start);
                        }
                        running.pop();
                        if running.is_empty() {
                            spin::stepped(runtime, top);
                        }
                        if spin::arrived(runtime, top) {
                            for stopped in running {
                                runtime.threads[stopped.index()].abandon();
                            }
                            return Err(Stop::Refine);
                        }
                    }
                    Some(Request::Spawn(child)) => running.push(child),
                    Some(Request::Stop(stop)) => {
                        // What they had pending at the start of the step is gone from their stacks.
                        for stopped in running {
                            runtime.threads[stopped.index()].abandon();
                        }
                        return Err(stop);
                    }
                    None => unreachable!("a coroutine suspends with a request"),
                },
            }
        }
        Ok(())
    }
}

fn report_step(runtime: &mut Runtime, thread: ThreadId, kind: OperationKind, object: Location, source: Option<Source>) {
    use OperationKind as K;
    let touched = runtime
        .step
        .footprint
        .accesses()
        .iter()
        .find(|access| access.location == object);
    let changes = touched.is_some_and(|access| access.kind != AccessKind::Read);
    let acquires = matches!(
        kind,
        K::Lock | K::TryLock | K::ReadLock | K::TryReadLock | K::WriteLock | K::TryWriteLock
    );
    let index = runtime.steps.saturating_sub(1);
    let Some(trace) = &mut runtime.trace else { return };
    let reads_from = trace.wrote(index, kind, object, &runtime.step.footprint);
    if acquires && changes {
        trace.acquired(thread, object, source.clone());
    }
    let released = trace.end_step(thread, source.as_ref());
    let (values, freed) = (trace.take_values(), trace.take_freed());
    let detail = trace.take_notes();
    let spawned = runtime.step.spawned.to_vec();
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
