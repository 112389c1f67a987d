//! The explored program as a [`System`].

mod crash;
mod reports;
mod step;
mod stuck;

pub use crash::{Crash, Place, Watch, watch};
pub use reports::functions_at;

use crate::api;
use crate::detect::leaks::{self, Roots};
use crate::detect::suppressed::{Suppressed, SuppressedRaces};
use crate::failure::{self, failure};
use crate::image::arena::{self, HeapFault};
use crate::image::executable::Executable;
use crate::image::region;
use crate::image::statics::Statics;
use crate::image::tls::TlsBlock;
use crate::machine::Machine;
use crate::machine::cell;
use crate::machine::checkpoint::Checkpoints;
use crate::machine::execution::Execution;
use crate::machine::learnt::Learnt;
use crate::machine::refinements::{Refinements, Sequential, Values};
use crate::machine::timeouts;
use crate::machine::traced::Traced;
#[cfg(feature = "faults")]
use crate::memory_model::happens_before::RaceFault;
use crate::memory_model::orderings::WeakOrderings;
use crate::memory_model::rc11::{FEWEST, LearntOrderings};
use crate::memory_model::stronger::Stronger;
use crate::operation::OperationKind;
use crate::platform::interpose;
use crate::report::difference::{Copying, StateImage};
use crate::report::survey::{Survey, Surveyor};
use crate::report::{self, Source};
use dpor_explorer::{
    Asked, BitSet, Checkpoint, Failure, Fingerprint, Knowledge, Limits, Location, Outlook, Pending, Rewindable, Status,
    Step, Stop, Strategy, System, ThreadId, Transition,
};
use dpor_protocol::{
    FailureKind, Memory, ModelOption, Options, RaceSuppression, StrongerOrdering, Timeouts, WeakPlace,
};
use std::num::NonZeroU32;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, Location as Caller, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fmt, mem};

/// Allows one model at a time in a process: its memory lies at fixed addresses.
static MODEL: Mutex<()> = Mutex::new(());

/// The error for a model that cannot be set up in this process.
#[derive(Debug)]
pub struct SetupError(String);

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SetupError {}

/// A concurrent program, run step by step in this process.
///
/// Its main thread runs `body`; all others are created by it. While a `Program` exists, no other can be made.
pub struct Program {
    body: Box<dyn Fn() -> Result<(), Failure>>,
    checkpoints: Checkpoints,
    _model: MutexGuard<'static, ()>,
}

impl Program {
    /// Sets up a model whose main thread runs `body`: its error is the execution's failure, and so is its panic. Waits
    /// until no other model exists in the process.
    ///
    /// # Errors
    /// The process cannot hold a model: addresses are taken, or the executable has no symbols.
    pub fn new(options: Options, body: impl Fn() -> Result<(), Failure> + 'static) -> Result<Program, SetupError> {
        let model = MODEL.lock().unwrap_or_else(PoisonError::into_inner);
        let setup = |error: &dyn fmt::Display| SetupError(error.to_string());
        region::reserve().map_err(|error| setup(error))?;
        let statics = Statics::of_executable().map_err(|error| setup(error))?;
        let tls = TlsBlock::of_this_thread(statics.panic_counts()).map_err(|error| setup(&error))?;
        api::panic::install_hook();
        arena::set_fault_hook(heap_fault);
        interpose::set_unsupported_hook(|what| api::unsupported(what));
        interpose::set_out_of_sight_hook(api::out_of_sight);
        interpose::set_exit_hook(|code| api::fail(FailureKind::Exit, format!("the program called exit({code})")));
        // So that their lazy initialisation does not fall into an execution, whose memory goes away.
        let _ = (
            std::io::stdin(),
            std::io::stdout(),
            std::io::stderr(),
            std::thread::current(),
        );
        // SAFETY: we hold `MODEL`, no model thread exists, and the model has not run.
        unsafe { cell::install(Some(Machine::new(options, statics, tls))) };
        let machine = Self::machine();
        machine.execution.threads.intern(ThreadId::MAIN, 0);
        if options.has(ModelOption::DataRaces) {
            machine.execution.races.switch_on().map_err(|error| setup(&error))?;
            arena::set_use_hook(Some(api::plain::heap));
        }
        Ok(Program {
            body: Box::new(body),
            checkpoints: Checkpoints::default(),
            _model: model,
        })
    }

    /// The machine, while no model thread runs.
    fn machine<'a>() -> &'a mut Machine {
        // SAFETY: called by the scheduler between resumptions only, on the model's OS thread; callers drop the
        // borrow before they resume a coroutine.
        unsafe { &mut *cell::machine() }
    }

    /// Records the steps of the next executions. Loops are watched from where they are noticed, and threads that only
    /// repeat themselves are not held back, so that a schedule can be followed that was found under other
    /// circumstances; [`Program::hold_spinning`] ends that.
    pub fn trace(&mut self) {
        let machine = Self::machine();
        machine.traced = Some(Traced::default());
        machine.session.learn_in_place = true;
        machine.session.refinements.hashing = true;
        machine.session.spin_blocks = false;
        machine.execution.races.leave_out_private(false);
        arena::set_trace_hook(Some(api::note_block));
    }

    /// Takes it that schedules are followed that were found under other circumstances, and nothing is explored: a
    /// thread only repeats itself where it leaves the same values behind in each round, although others can choose from
    /// more and more of them. An exploration that has bounded their number has found it so.
    pub fn follow_schedules(&mut self) {
        Self::machine().session.follows = true;
    }

    /// Has plain accesses of threads to their own stacks left out where no other thread uses the stack, from the next
    /// restart on. That is for explorations, which start again when one does ([`System::starts_again`]), and not for
    /// whoever runs a schedule once.
    pub fn leave_out_private_stacks(&mut self) {
        Self::machine().execution.races.leave_out_private(true);
    }

    /// Lets operations on locations that only one thread uses belong to that thread's step before, as soon as this
    /// number of executions has shown which locations these are. Exploration starts again then, and when another thread
    /// comes to one of them.
    ///
    /// `tell` is told of each such operation before it takes effect. A schedule in which they are steps of their own
    /// leads to the same states where all operations are scheduling points.
    pub fn join_what_is_unshared(&mut self, after: u64, tell: impl Fn(Transition, OperationKind) + 'static) {
        let session = &mut Self::machine().session;
        session.refinements.unshared.look_for(after);
        session.joined = Some(Box::new(tell));
    }

    /// Makes all operations scheduling points again. Comes between two executions.
    pub fn join_nothing(&mut self) {
        let session = &mut Self::machine().session;
        session.refinements.unshared.forget();
        session.recall.forget();
    }

    /// Makes the program ready to be explored, before the first execution: [has states
    /// compared](Program::compare_states), and loops watched from where they are noticed instead of starting again, if
    /// the strategy is such. Where preemptions are bounded, it does neither.
    ///
    /// Under weak memory, if the strategy compares states, operations choose from the last 8 values of their atomic,
    /// then from twice as many, and so on, until there are no more to choose from: otherwise a loop that stores has no
    /// end of states. That holds where preemptions are bounded, too. It is not for a strategy that always goes by
    /// execution graphs, which would miss what a thread does before its value is too old; `states` goes by them until a
    /// value is left out.
    pub fn prepare_for(&mut self, strategy: Strategy, limits: &Limits) {
        let values = strategy.compares_states().then_some(Values::FIRST);
        let unbounded = limits.preemptions.is_none();
        let refinements = &mut Self::machine().session.refinements;
        refinements.values.most = values;
        // Of those with a bound, this one knows execution graphs.
        let by_graphs = strategy == Strategy::States && unbounded;
        refinements.values.go_by_order = values.is_some() && !by_graphs;
        self.compare_states(strategy.compares_states() && unbounded);
        Self::machine().session.learn_loops_in_place = strategy.learns_in_place() && unbounded;
    }

    /// Takes it that plain memory does not tell threads in which order others have used atomics, although data races are
    /// not looked for. For tests of programs that share none.
    pub fn trust_plain_memory(&mut self) {
        Self::machine().session.trusts_plain_memory = true;
    }

    /// Sets whether states are comparable: threads then start on clean stacks, so that leftovers of earlier executions
    /// do not count. Takes effect at the next restart; a strategy that asks for fingerprints needs it before the first.
    pub fn compare_states(&mut self, comparing: bool) {
        Self::machine().session.comparing = comparing;
    }

    /// Sets whether all states with a fingerprint are kept, to check that equal fingerprints mean equal states. For
    /// tests: it takes the memory of all states together.
    ///
    /// # Panics
    /// [`System::fingerprint`] then panics if two different states have the same.
    pub fn exact_states(&mut self, exact: bool) {
        Self::machine().session.exact = exact.then(Default::default);
    }

    /// Records each state that has a fingerprint from now on, for [`Program::survey`], up to a million of them. It takes
    /// the memory of all different contents of their parts, of 512 MB at most, and of a table.
    pub fn record_states(&mut self) {
        Self::machine().session.surveyor = Some(Default::default());
    }

    /// What keeps the states apart that were recorded since exploration began for the last time.
    pub fn survey(&self) -> Survey {
        let surveyor = &Self::machine().session.surveyor;
        surveyor
            .as_ref()
            .map_or_else(|| Surveyor::default().survey(), Surveyor::survey)
    }

    /// Sets whether states are saved, so that going back to one does not run the steps again that lead there. They are,
    /// unless this says otherwise.
    pub fn save_states(&mut self, save: bool) {
        Self::machine().session.replays = !save;
    }

    /// A function of a library that the executable imports and that may keep state out of sight, such as `rand`: a
    /// program that calls it may depend on its being called again in each execution.
    pub fn hidden_import(&self) -> Option<&str> {
        Self::machine().session.statics.hidden()
    }

    /// Sets whether it is a failure if an execution succeeds but leaves blocks on the heap that it can no longer free.
    pub fn find_leaks(&mut self, find: bool) {
        Self::machine().session.find_leaks = find;
    }

    /// Why leaks are not (or no longer) looked for, if they should be: the program has memory that the checker does not
    /// see, in which there may be references.
    pub fn leaks_out_of_sight(&self) -> Option<String> {
        self.state_out_of_sight().filter(|_| Self::machine().session.find_leaks)
    }

    /// The conditions on which what was explored rests: that timeouts do not fire at once, if a wait with one has been
    /// met, that libraries are as specified, and what atomics with weak
    /// orderings do not show, if there are some.
    pub fn conditions(&self) -> Vec<String> {
        let session = &Self::machine().session;
        let timeouts = session.options.timeouts().condition();
        let timeouts = timeouts.filter(|_| session.timeouts_matter).map(str::to_owned);
        let memory = session.options.memory().condition();
        let memory = memory.filter(|_| session.refinements.orderings.weak).map(str::to_owned);
        let libraries = session.libraries.condition();
        timeouts.into_iter().chain(libraries).chain(memory).collect()
    }

    /// Why states are not (or no longer) compared: something of the program that the checker does not see.
    pub fn state_out_of_sight(&self) -> Option<String> {
        Self::machine().session.out_of_sight.clone()
    }

    /// Number of bytes hashed for all fingerprints so far. The same in every process that asks for the same ones.
    pub fn fingerprint_cost(&self) -> u64 {
        Self::machine().session.hashed
    }

    /// Leaves the stacks out of fingerprints, so that different states look equal. For tests of tests.
    #[cfg(feature = "faults")]
    pub fn coarse_fingerprints(&mut self) {
        Self::machine().session.coarse = true;
    }

    /// Makes the search for data races faulty. For tests of tests.
    #[cfg(feature = "faults")]
    pub fn race_fault(&mut self, fault: RaceFault) {
        let Machine { session, execution, .. } = Self::machine();
        session.refinements.unshared.is_faulty = fault == RaceFault::KeepUnshared;
        execution.races.fault(fault);
    }

    /// Copies the current state, between two steps. In a traced execution, the copy knows where blocks were allocated.
    pub fn capture(&mut self) -> StateImage {
        let machine = Self::machine();
        machine.bring_up_to_date();
        let mut copying = Copying::default();
        machine.visit(&mut copying);
        let allocations = machine.traced.iter().flat_map(|traced| &traced.allocations);
        let allocations = allocations.map(|(block, mark)| (*block, mark.callers.clone()));
        StateImage::of(copying, allocations.collect())
    }

    /// The places at which the program requests weaker orderings than it gets.
    pub fn weak_orderings(&self) -> &WeakOrderings {
        &Self::machine().session.weak_orderings
    }

    /// The creation path of every thread id, in order of ids: its creator, and its index among the creator's children.
    pub fn thread_table(&self) -> Vec<(ThreadId, u32)> {
        let threads = Self::machine().execution.threads.iter();
        threads.map(|(_, record)| (record.parent, record.nth)).collect()
    }

    /// Number of thread ids.
    pub fn known_threads(&self) -> usize {
        Self::machine().execution.threads.len()
    }

    /// Assigns thread ids as in an earlier exploration. Must come before the first execution.
    pub fn intern_threads(&mut self, table: &[(ThreadId, u32)]) {
        for &(parent, nth) in table {
            let threads = &mut Self::machine().execution.threads;
            let known = threads.get(parent).map(|record| record.children.len());
            if known.is_some_and(|known| nth as usize <= known) {
                threads.intern(parent, nth);
            }
        }
    }

    /// The locations whose releases are observed, and those that stand for what is known of orderings, in the order in
    /// which they were learnt.
    pub fn observed(&self) -> Vec<Location> {
        Self::machine().session.refinements.observed_in_order.clone()
    }

    /// Makes releases of these locations scheduling points from the start, and takes what is known of orderings.
    pub fn observe(&mut self, locations: &[Location]) {
        let session = &mut Self::machine().session;
        for &location in locations {
            session.refinements.observe(location);
        }
        session.recall.forget();
    }

    /// What exploration has learnt about the program.
    pub fn learnt(&mut self) -> Learnt {
        let labels = self.labels();
        let Machine { session, execution, .. } = Self::machine();
        Learnt {
            threads: self.thread_table(),
            refinements: session.refinements.clone(),
            labels,
            weak_orderings: session.weak_orderings.clone(),
            out_of_sight: session.out_of_sight.clone(),
            timeouts_matter: session.timeouts_matter,
            libraries: session.libraries,
            races: execution.races.learnt(),
            suppressed: session.suppressed.counts(),
        }
    }

    /// Resumes with what exploration of the same program has learnt in another process. Must come before the first
    /// execution.
    pub fn go_on_from(&mut self, learnt: Learnt) {
        self.intern_threads(&learnt.threads);
        let Machine { session, execution, .. } = Self::machine();
        execution.races.go_on_from(&learnt.races);
        session.refinements = learnt.refinements;
        session.labels.go_on_from(learnt.labels);
        session.weak_orderings = learnt.weak_orderings;
        session.out_of_sight = learnt.out_of_sight;
        session.timeouts_matter = learnt.timeouts_matter;
        session.libraries = learnt.libraries;
        session.suppressed.go_on_from(&learnt.suppressed);
    }

    /// Takes it that the program is not built with hooks before its plain accesses, so that those to
    /// [cells](crate::cells) are all that is told of. The first of them has data races looked for, unless they are from
    /// the start. Must come before the first execution.
    pub fn expect_cells_only(&mut self) {
        Self::machine().execution.races.expect_cells_only();
    }

    /// Whether data races are looked for.
    pub fn looks_for_races(&self) -> bool {
        Self::machine().execution.races.is_on()
    }

    /// Lets plain accesses of this code be in no data race. Must come before the first execution.
    pub fn suppress_races(&mut self, rules: &[RaceSuppression]) {
        Self::machine().session.suppressed = Suppressed::new(rules);
    }

    /// Gives operations at these places stronger orderings than they request. Must come before the first execution.
    pub fn strengthen(&mut self, rules: &[StrongerOrdering]) {
        let session = &mut Self::machine().session;
        session.stronger = Stronger::new(rules);
        if !rules.is_empty() && session.options.memory() == Memory::Rc11 {
            // Those that are requested do not tell any more.
            let after = |known: LearntOrderings| known.with(Ordering::Relaxed, Ordering::SeqCst).with_fence();
            session.refinements.note_orderings(after);
        }
    }

    /// Puts weak memory off, if the options ask for it: the sequentially consistent executions are explored first, and
    /// exploration starts again at their end, if the program has requested weak orderings. Must come before the first
    /// execution, and before [`Program::strengthen`].
    pub fn put_weak_memory_off(&mut self) {
        let session = &mut Self::machine().session;
        session.refinements.put_off.now = session.options.memory() == Memory::Rc11;
    }

    /// Puts weak memory off no longer: exploration starts again after the present execution.
    pub fn turn_to_weak_memory(&mut self) {
        Self::machine().session.refinements.put_off.is_due = true;
    }

    /// Whether weak memory is put off, and would show more than what was explored so far.
    pub fn puts_weak_memory_off(&self) -> bool {
        Self::machine().session.refinements.put_off.is_needed()
    }

    /// What was explored of the sequentially consistent executions before weak memory.
    pub fn explored_first(&self) -> Sequential {
        Self::machine().session.refinements.put_off.explored
    }

    /// Has operations choose from this number of values of their atomic at first. For tests; after
    /// [`Program::prepare_for`].
    ///
    /// # Panics
    /// If it is less than 2: with the last value alone, there is no choice.
    pub fn choose_first_from(&mut self, values: NonZeroU32) {
        assert!(values >= FEWEST, "there is nothing to choose from");
        Self::machine().session.refinements.values.most = Some(values);
    }

    /// The largest number of values of each atomic from which operations have chosen in an exploration that has come to
    /// its end, and in which nothing has failed, if they could have chosen from more.
    pub fn explored_with_values(&self) -> Option<NonZeroU32> {
        Self::machine().session.refinements.values.explored
    }

    /// Where the present, traced execution has requested orderings weaker than sequential consistency and has not got
    /// them, by place.
    pub fn weak_places(&self) -> Vec<WeakPlace> {
        let traced = Self::machine().traced.as_ref();
        traced.map(|traced| traced.weak_places.clone()).unwrap_or_default()
    }

    /// How often each suppression of data races applied.
    pub fn suppressed_races(&self) -> Vec<SuppressedRaces> {
        Self::machine().session.suppressed.all()
    }

    /// Whether a transition that was possible in this state is so now. Whether threads are held back is not judged
    /// again: when it ran first, this one was not, and those were that had to be for time to pass.
    pub fn can_repeat(&self, transition: Transition) -> bool {
        Self::repeatable(transition).is_some()
    }

    /// The status of a thread that can take this transition again.
    fn repeatable(Transition { thread, alternative }: Transition) -> Option<Status> {
        let Execution { threads, races, .. } = &Self::machine().execution;
        let record = threads.alive(thread)?;
        let status = record.status(false, races);
        let enabled = status.alternatives().is_some_and(|all| all.contains(alternative));
        (enabled || record.lets_time_pass(alternative)).then_some(status)
    }

    fn make_main(&mut self) {
        let Machine { session, execution, .. } = Self::machine();
        // Not a share of it: an execution that is given up drops nothing that its stacks hold.
        let body = &raw const *self.body;
        let main = move || {
            // SAFETY: the execution is discarded before the program is dropped, which owns the body.
            let result = catch_unwind(AssertUnwindSafe(|| unsafe { (*body)() }));
            api::on_model(|machine| {
                let execution = &mut machine.execution;
                execution.outcome.of_main = Some(match &result {
                    Ok(Ok(())) => Ok(()),
                    Ok(Err(failed)) => Err(failure::owned(failed.kind, &failed.message)),
                    Err(_) => Err(execution.threads[ThreadId::MAIN].panic_failure()),
                });
            });
            // The payload is the program's; its destructor is not part of the test.
            mem::forget(result);
        };
        let main = api::thread::begin(ThreadId::MAIN, main);
        let (name, initial) = (Some("main".to_owned()), &session.tls.initial);
        let created = execution
            .threads
            .create(ThreadId::MAIN, main, name, None, initial, None);
        let weak = session.options.memory() == Memory::Rc11;
        let Refinements { orderings, values, .. } = &session.refinements;
        let orderings = match session.follows {
            true => orderings.for_good(),
            false => *orderings,
        };
        execution.races.begins(weak, orderings, values.most);
        api::atomics::set_weak(weak);
        if let Err(message) = created {
            execution.outcome.of_main = Some(Err(failure(FailureKind::Unsupported, message)));
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: no model thread runs, or will go on, and what the program left in its memory is unreachable, because
        // its statics get their contents from before the first execution.
        unsafe {
            Self::machine().restart();
            arena::set_trace_hook(None);
            arena::set_use_hook(None);
            api::atomics::set_weak(false);
            cell::install(None);
        }
    }
}

impl System for Program {
    fn restart(&mut self) {
        // SAFETY: as in `drop`.
        unsafe { Self::machine().restart() };
        self.make_main();
    }

    fn threads(&self) -> &[Status] {
        let Machine { session, execution, .. } = Self::machine();
        execution.threads.refresh(session.spin_blocks, &execution.races);
        execution.threads.statuses()
    }

    fn step(&mut self, transition: Transition, step: &mut Step) -> Result<(), Stop> {
        let result = self.advance(transition, false);
        mem::swap(step, &mut Self::machine().step.record);
        result
    }

    fn repeat(&mut self, transition: Transition, _scratch: &mut Step) -> Result<Option<u64>, Stop> {
        let Some(status) = Self::repeatable(transition) else {
            return Ok(None);
        };
        let Machine { execution, step, .. } = Self::machine();
        step.has_choice = Some(execution.threads[transition.thread].has_choice(&status));
        let result = self.advance(transition, true);
        let Machine { step, .. } = Self::machine();
        // No thread has taken it, if time has passed.
        step.has_choice = None;
        let step = &mut step.record;
        let signature = step.signature;
        step.clear();
        result.map(|()| Some(signature))
    }

    fn lessons(&self) -> u32 {
        let session = &Self::machine().session;
        match session.learn_loops_in_place {
            true => session.refinements.loops.len(),
            false => 0,
        }
    }

    fn recollect(&mut self, lessons: u32) {
        let session = &mut Self::machine().session;
        if session.learn_loops_in_place {
            session.refinements.loops.recollect(lessons);
        }
    }

    fn pending(&self, thread: ThreadId) -> Pending {
        let machine = Self::machine();
        let Machine { session, execution, .. } = &*machine;
        let record = &execution.threads[thread];
        let mut pending = record.look_ahead();
        if session.options.timeouts() == Timeouts::Last {
            timeouts::add_accesses(&mut pending.footprint, execution.clock.passed, None);
        }
        pending.graph = record.request.and_then(|request| {
            let excluded = execution.races.is_excluded(thread, &request);
            machine.graph_event(&request, None, (None, 0), excluded)
        });
        pending
    }

    fn source(&self, transition: Transition) -> Option<u32> {
        let Execution { threads, races, .. } = &Self::machine().execution;
        let request = threads[transition.thread].request.as_ref()?;
        races.store_taken(request, transition.alternative)
    }

    fn place(&self, thread: ThreadId) -> Option<u64> {
        let record = Self::machine().execution.threads.alive(thread)?;
        // If it is to let time pass, its operation comes after that.
        let mut passing = self.threads()[thread.index()]
            .alternatives()
            .into_iter()
            .flat_map(BitSet::iter);
        let lets_time_pass = passing.any(|alternative| record.lets_time_pass(alternative));
        record.named_site().filter(|_| !lets_time_pass)
    }

    fn gives_way(&self, thread: ThreadId) -> bool {
        self.pending_kind(thread).is_some_and(OperationKind::gives_way)
    }

    fn describe(&self, signature: u64) -> String {
        let (kind, source) = operation_of(signature);
        let kind = kind.map_or("unknown operation", OperationKind::name);
        match source {
            Some(source) => format!("{kind} at {source}"),
            None => kind.to_owned(),
        }
    }

    fn finish(&mut self) -> Result<(), Failure> {
        let Machine {
            session,
            execution,
            traced,
            ..
        } = Self::machine();
        session.tls.switch(None, &mut execution.threads);
        match &execution.outcome.of_main {
            Some(Ok(())) if session.find_leaks && session.out_of_sight.is_none() => {
                let leaked = leaked(execution);
                let allocations = traced.as_ref().map(|traced| &traced.allocations);
                match leaked.is_empty() {
                    true => Ok(()),
                    false => Err(report::leaks::failure_of(&leaked, allocations)),
                }
            }
            Some(result) => result.clone(),
            None => Err(stuck::failure_of(&self.blocked())),
        }
    }

    fn outlook(&mut self) -> Outlook {
        self.outlook_of_held()
    }

    fn starts_again(&mut self, asked: Asked) -> bool {
        let machine = Self::machine();
        let by_graphs = machine.leaves_order_to_graphs();
        let Machine { session, execution, .. } = machine;
        let follows = session.refinements.put_off.is_needed();
        let mut again = execution.races.starts_again(asked, session.comparing, follows);
        let unshared = &mut session.refinements.unshared;
        again |= asked == Asked::Between && unshared.ends_execution();
        let overlooks_races = execution.races.leaves_out_knowledge();
        if !again && session.refinements.turns_to_weak(asked, overlooks_races) {
            execution.races.turn_to_weak_memory();
            // All that use them have been seen by now.
            session.refinements.unshared.choose();
            again = true;
        }
        let has_more = execution.races.have_more_values();
        let values = &mut session.refinements.values;
        // What was explored by graphs is void as soon as a value is left out.
        if !again && (by_graphs && values.turn_to_order(asked, has_more) || values.become_more(asked, has_more)) {
            execution.races.start_again();
            again = true;
        }
        if again {
            execution.races.start_again_with_values();
            session.recall.forget();
            session.labels.start_again();
            session.start_survey_again();
        }
        again
    }

    fn fingerprint(&mut self) -> Option<Fingerprint> {
        let machine = Self::machine();
        if !machine.execution.threads.clean {
            // Equal states would look different. From the next execution on they do not.
            machine.session.comparing = true;
            return None;
        }
        if !machine.session.sees_all() {
            return None;
        }
        machine.bring_up_to_date();
        Some(Fingerprint(machine.fingerprint()))
    }

    fn leaves_nothing(&self) -> bool {
        Self::machine().session.sees_all()
    }

    fn part(&self) -> Option<String> {
        let Machine { session, execution, .. } = Self::machine();
        let most = session.refinements.values.most?;
        let has_more = execution.races.have_more_values();
        has_more.then(|| format!("with the last {most} values of each atomic to choose from"))
    }

    fn knowledge(&self) -> Knowledge<'_> {
        let (words, digest) = &Self::machine().session.knowledge;
        Knowledge {
            words,
            digest: Fingerprint(*digest),
        }
    }

    fn covers(&self, known: &[u64], present: &[u64]) -> bool {
        Self::machine().execution.races.covers(known, present)
    }

    fn rewindable(&mut self) -> Option<&mut dyn Rewindable> {
        Some(self)
    }
}

impl Rewindable for Program {
    fn checkpoint(&mut self) -> Option<Checkpoint> {
        self.checkpoints.save(Self::machine())
    }

    fn rewind(&mut self, to: Checkpoint) -> bool {
        self.checkpoints.load(to, Self::machine())
    }

    fn forget_from(&mut self, from: Checkpoint) {
        self.checkpoints.forget_from(from);
    }
}

/// The heap blocks that the program can no longer free, at the end of an execution.
fn leaked(execution: &Execution) -> Vec<Range<usize>> {
    let mut roots = Roots::default();
    let executable = Executable::running();
    // The machine knows objects of the program by their addresses, which holds none of them.
    let own = cell::place();
    for segment in executable.segments(libc::PT_LOAD) {
        if segment.p_flags & libc::PF_W != 0 {
            let start = executable.bias + segment.p_vaddr as usize;
            let end = start + segment.p_memsz as usize;
            roots
                .memory
                .extend([start..end.min(own.start), start.max(own.end)..end]);
        }
    }
    roots.addresses.extend(&execution.held.0);
    roots
        .addresses
        .extend(execution.hook.0.as_ref().map(|hook| (&raw const **hook).addr()));
    for (id, record) in execution.threads.created() {
        // SAFETY: the region is reserved while a model exists.
        roots
            .addresses
            .push(unsafe { (*region::record(id.index())).local_root }.addr());
        // What std keeps for itself it keeps when a model thread has ended.
        roots.bytes.extend(record.tls.as_ref().map(|image| image.bytes()));
        // SAFETY: a live thread is suspended in `arrive`, whose caller holds the registers.
        let registers = unsafe { record.registers.as_ref() }.filter(|_| record.alive);
        // The registers are on it.
        roots.memory.extend(registers.map(|registers| registers.stack()));
    }
    // SAFETY: no model thread runs. The writable segments of the executable and the stacks of suspended threads are
    // mapped.
    unsafe { leaks::find(&roots) }
}

/// The kind and place of the operation with which a step of this signature begins.
pub fn operation_of(signature: u64) -> (Option<OperationKind>, Option<Source>) {
    let caller = std::ptr::with_exposed_provenance::<Caller<'static>>((signature & 0xFFFF_FFFF_FFFF) as usize);
    // SAFETY: signatures are made by `Record::signature` from the address of a `&'static Location`, or from 0.
    let caller = unsafe { caller.as_ref() };
    (
        OperationKind::from_code((signature >> 48) as u8),
        caller.map(Source::from),
    )
}

fn heap_fault(fault: HeapFault, address: usize) {
    let (kind, message) = match fault {
        HeapFault::DoubleFree => (
            FailureKind::DoubleFree,
            format!("the block at {address:#x} is freed a second time"),
        ),
        HeapFault::InvalidFree => (
            FailureKind::InvalidFree,
            format!("{address:#x} is freed, but no block starts there"),
        ),
        HeapFault::Exhausted => (
            FailureKind::Unsupported,
            "a thread has used up its part of the address space; memory is not reused within an execution".to_owned(),
        ),
    };
    if !api::on_model_thread() {
        return;
    }
    match fault {
        HeapFault::Exhausted => api::unsupported(&message),
        _ => {
            api::note_wrong_free(address);
            api::fail(kind, message)
        }
    }
}

#[cfg(test)]
mod tests;
