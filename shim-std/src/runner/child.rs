//! The test process's end of the protocol with `cargo dpor`.

use super::body::Body;
use super::describe::{self, Objects, Panics};
use super::journal::{Explored, Journaled};
use super::record::Record;
use super::saving::Saving;
use super::sharing::Sharing;
use super::simplify::{self, Task};
use super::{coverage, difference, needs_states, out_of_sight, seed_of, unless_unseen};
use dpor_explorer::keys::KeyHasher;
use dpor_explorer::{
    End, Explorer, Limits, Observer, Part, Report, Shard, Sharded, Statistics, Status, Step, Stop, Strategy, System,
    ThreadId, Trace, Verdict,
};
use dpor_protocol::{
    Config, Counts, FailureReport, Message, Mode, OutputStream, Phase, Seed, SeedStep, SharedSchedule, SourceLocation,
    StepReport, ThreadReport, WHERE_SIGNAL, test_hash,
};
use dpor_scheduler::output::Stream;
use dpor_scheduler::{Crash, OperationKind, Options, Place, Program, program};
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::io::Write;
use std::ops::ControlFlow;
use std::os::fd::FromRawFd;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The exit code after a fatal signal, whose description the process has left in the shared mapping.
const CRASHED: i32 = 70;
/// The exit code if the process cannot communicate with its parent at all.
const NO_CONVERSATION: i32 = 71;

/// The mapping in which the crash handler leaves its description.
static MAP: OnceLock<&'static SharedSchedule> = OnceLock::new();

/// Executes the configuration, and ends the process.
pub(crate) fn serve(config: Result<Config, String>, test: &str, place: &std::panic::Location<'_>, body: Body) -> ! {
    let config = config.unwrap_or_else(|error| give_up(&error));
    let map = attach(config.map).unwrap_or_else(|error| give_up(&error));
    // SAFETY: the parent handed the descriptor to us for this purpose.
    let pipe = unsafe { File::from_raw_fd(config.pipe) };
    let mut parent = Parent { pipe };
    parent.send(&Message::Started {
        test: test.to_owned(),
        location: Some(SourceLocation::from(place)),
    });
    let _ = MAP.set(map);
    let _watch = program::watch(crashed, WHERE_SIGNAL, asked);
    // SAFETY: takes no arguments, and cannot fail.
    map.set_runner(unsafe { libc::gettid() }.unsigned_abs());
    let finished = match &config.mode {
        Mode::Locate { callers } => locate(callers, &mut parent),
        Mode::Explore => explore(&config, map, body, &mut parent),
        Mode::DiffStates { pair } => diff_states(&config, *pair, map, body, &mut parent),
        Mode::Replay { seed } => replay(&config, seed, map, body, &mut parent),
        Mode::Simplify {
            seed,
            kind,
            millis,
            shorten,
        } => {
            let task = Task {
                seed,
                kind,
                time: Duration::from_millis(*millis),
                shorten: *shorten,
            };
            simplify::serve(&config, task, map, body, &mut parent)
        }
    };
    parent.send(&finished);
    map.set_phase(Phase::Done);
    leave(0)
}

fn give_up(error: &str) -> ! {
    eprintln!("{error}");
    leave(NO_CONVERSATION)
}

pub(super) fn leave(code: i32) -> ! {
    // SAFETY: ends the process without running destructors: the explored program's memory is gone.
    unsafe { libc::_exit(code) }
}

fn crashed(crash: Crash) {
    // In the order of importance, as each may be too much for a damaged program.
    if let Some(map) = MAP.get() {
        map.set_crash(dpor_protocol::Crash {
            signal: crash.signal.unsigned_abs(),
            address: crash.address as u64,
            thread: crash.thread,
            stack_overflow: crash.stack_overflow,
        });
    }
    dpor_scheduler::output::dump(libc::STDERR_FILENO);
    if let Some(map) = MAP.get() {
        crash.place.callers(|address| map.add_caller(address));
    }
    leave(CRASHED)
}

fn asked(place: Place) {
    if let Some(map) = MAP.get() {
        place.callers(|address| map.add_caller(address));
        map.set_located();
    }
}

/// Names the functions of the program at these return addresses.
fn locate(callers: &[u64], parent: &mut Parent) -> Message {
    let callers = program::functions_at(callers)
        .into_iter()
        .map(describe::caller)
        .collect();
    parent.send(&Message::Callers { callers });
    done()
}

/// The last word of a process that has nothing more to say than it has said.
pub(crate) fn done() -> Message {
    Message::Finished {
        verdict: dpor_protocol::Verdict::Complete,
        reason: None,
        note: None,
        counts: Counts::default(),
        failure: None,
        seed: None,
    }
}

fn attach(descriptor: i32) -> Result<&'static SharedSchedule, String> {
    let size = SharedSchedule::size();
    // SAFETY: a new mapping of the file that the parent handed to us.
    let memory = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            descriptor,
            0,
        )
    };
    if memory == libc::MAP_FAILED {
        return Err(format!(
            "cannot map the shared schedule: {}",
            std::io::Error::last_os_error()
        ));
    }
    // SAFETY: the mapping has this size and stays until the process ends.
    unsafe { SharedSchedule::attach(memory.cast(), size) }.map_err(|error| error.to_string())
}

pub(super) struct Parent {
    pipe: File,
}

impl Parent {
    pub fn send(&mut self, message: &Message) {
        // A parent that has gone away needs no answer.
        if self.pipe.write_all(message.to_line().as_bytes()).is_err() {
            leave(NO_CONVERSATION);
        }
    }
}

pub(super) fn counts(statistics: &Statistics, threads: usize, time: Duration) -> Counts {
    Counts {
        complete: statistics.complete,
        blocked: statistics.blocked,
        pruned: statistics.pruned,
        cut: statistics.cut,
        steps: statistics.steps,
        states: statistics.states,
        compared: statistics.compared,
        equal: statistics.equal,
        checks: statistics.checks,
        races: statistics.races,
        refinements: statistics.refinements,
        peak_depth: statistics.peak_depth,
        explored: statistics.explored,
        threads: threads as u64,
        millis: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
    }
}

/// Sends progress, about ten times a second.
struct Progress<'a> {
    parent: &'a mut Parent,
    sharing: &'a mut Sharing,
    saving: Option<&'a mut Saving>,
    /// The record of executions, if requested.
    record: Option<Record>,
    /// Whether to report what the next execution prints.
    printed: bool,
    started: Instant,
    sent: Instant,
    executions: u32,
}

impl Observer<Explored> for Progress<'_> {
    fn execution(
        &mut self,
        system: &mut Explored,
        end: &End,
        trace: &Trace,
        statistics: &Statistics,
    ) -> ControlFlow<()> {
        coverage::count(&mut system.program, end);
        self.sharing.look(&system.program, trace);
        if let Some(record) = &mut self.record
            && let Some(message) = record.tell(&system.program, end, trace, statistics)
        {
            self.parent.send(&message);
        }
        if std::mem::take(&mut self.printed) {
            for piece in system.program.output() {
                self.parent.send(&Message::Printed {
                    stream: match piece.stream {
                        Stream::Out => OutputStream::Out,
                        Stream::Err => OutputStream::Err,
                    },
                    text: piece.text.clone(),
                });
            }
        }
        let &Statistics {
            complete,
            blocked,
            pruned,
            cut,
            ..
        } = statistics;
        system.map.set_ended([complete, blocked, pruned, cut]);
        self.executions += 1;
        // Reading the clock costs about as much as a short execution.
        if self.executions.is_multiple_of(64) && self.sent.elapsed() >= Duration::from_millis(100) {
            self.sent = Instant::now();
            let threads = system.threads().len();
            self.parent
                .send(&Message::Progress(counts(statistics, threads, self.started.elapsed())));
        }
        ControlFlow::Continue(())
    }

    fn refined(&mut self) {
        if let Some(record) = &mut self.record {
            record.start_again();
        }
    }

    fn at_rest(&mut self, explorer: &mut Explorer<Explored>) -> ControlFlow<String> {
        // It is saved in the end.
        if explorer.system().map.is_asked_to_stop() {
            return ControlFlow::Break("interrupted".to_owned());
        }
        if let Some(saving) = &mut self.saving {
            saving.look(explorer, self.sharing);
        }
        ControlFlow::Continue(())
    }
}

pub(super) fn incomplete(reason: String) -> Message {
    Message::Finished {
        verdict: dpor_protocol::Verdict::Incomplete,
        reason: Some(reason),
        note: None,
        counts: Counts::default(),
        failure: None,
        seed: None,
    }
}

/// The result for a shard that has no part of the test.
fn nothing_to_explore() -> Message {
    Message::Finished {
        verdict: dpor_protocol::Verdict::Complete,
        reason: None,
        note: Some("there is nothing to explore for this shard: the test has fewer parts than there are shards".into()),
        counts: Counts::default(),
        failure: None,
        seed: None,
    }
}

fn strategy(config: &Config) -> Result<Strategy, String> {
    let strategy = config.strategy.parse();
    strategy
        .map(|strategy: Strategy| strategy.seeded(config.random_seed))
        .map_err(|error: dpor_explorer::strategy::UnknownStrategy| error.to_string())
}

fn options(config: &Config) -> Options {
    Options {
        spurious_wakeups: config.spurious_wakeups,
        spurious_cas: config.spurious_cas,
    }
}

fn limits(config: &Config) -> Limits {
    Limits {
        executions: config.limits.executions,
        steps: config.limits.steps,
        time: config
            .limits
            .seconds
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
        preemptions: config.limits.preemptions,
        depth: config.limits.depth,
    }
}

/// Creates an exploration of the body.
fn explorer(
    config: &Config,
    map: &'static SharedSchedule,
    body: Body,
) -> Result<(Explorer<Explored>, Part, Strategy, Options), String> {
    let strategy = strategy(config)?;
    let shard = config.shard.as_deref().map(str::parse::<Shard>).transpose()?;
    if shard.is_some() && !strategy.can_be_sharded() {
        return Err(format!("`{strategy}` cannot explore a shard"));
    }
    let options = options(config);
    let mut program = Program::new(options, move || body.run()).map_err(|error| error.to_string())?;
    program.compare_states(needs_states(strategy) && config.limits.preemptions.is_none());
    program.exact_states(config.exact_states);
    program.find_leaks(config.leaks);
    program.save_states(program.hidden_import().is_none());
    let whole = Sharded::whole(Journaled::new(program, map));
    let (limits, started) = (limits(config), Instant::now());
    let (system, part) = match shard {
        Some(shard) => whole.narrow(shard, test_hash(&config.test).into(), limits.time),
        None => (whole, Part::One { pairs: 0 }),
    };
    let explorer = Explorer::new(system, strategy, limits)
        .spent(started.elapsed())
        .verify_states(config.exact_states)
        .resumable(config.save.is_some());
    Ok((explorer, part, strategy, options))
}

/// The fingerprint that all shards of a test share, of the behaviour of the test and the settings.
fn shard_fingerprint(config: &Config, walks: u64) -> u64 {
    let mut hasher = KeyHasher::default();
    let rules = (config.spurious_wakeups, config.spurious_cas, config.leaks);
    (walks, rules, config.limits.preemptions).hash(&mut hasher);
    hasher.finish()
}

fn explore(config: &Config, map: &'static SharedSchedule, body: Body, parent: &mut Parent) -> Message {
    let (mut explorer, part, strategy, options) = match explorer(config, map, body) {
        Ok(explorer) => explorer,
        Err(error) => return incomplete(error),
    };
    let sharded = config.shard.is_some();
    if let Some(walks) = explorer.system().walks() {
        parent.send(&Message::Shard {
            fingerprint: shard_fingerprint(config, walks),
        });
    }
    let note = match part {
        Part::TimeUp => {
            let reason = "the time limit was reached while the test was parted: it needs more, or no `--shard`";
            return incomplete(reason.to_owned());
        }
        Part::Elsewhere => return nothing_to_explore(),
        Part::One { pairs: 0 } if sharded => Some("no other shard has anything to explore of this test".to_owned()),
        Part::One { .. } => None,
    };
    let now = Instant::now();
    let mut sharing = Sharing::default();
    let mut saving = config.save.clone().map(Saving::new);
    let mut resumed = None;
    if let Some(saving) = saving.as_mut().filter(|saving| saving.resumes()) {
        match saving.resume(&mut explorer, &mut sharing) {
            Ok(executions) => resumed = Some(executions),
            // Some of it may have been taken over: the parent starts another process.
            Err(reason) => return Message::CannotResume { reason },
        }
    }
    let report = explorer.run(&mut Progress {
        parent,
        sharing: &mut sharing,
        saving: saving.as_mut(),
        record: config.executions.then(Record::default),
        printed: config.printed,
        started: now,
        sent: now,
        executions: 0,
    });
    if let Some(saving) = &mut saving {
        match report.verdict {
            Verdict::Complete => saving.forget(),
            // If that is where the failure was found, going on finds it soon.
            Verdict::Failed { .. } => {}
            Verdict::Incomplete { .. } => saving.save(&mut explorer, &sharing),
        }
    }
    let system = explorer.system();
    let counts = counts(&report.statistics, system.threads().len(), report.statistics.time);
    parent.send(&Message::Sharing(sharing.report(&system.program)));
    let labels = system.program.labels();
    let note = coverage::both(note, out_of_sight(&system.program, strategy));
    // What is said of all executions cannot be said of those of a shard.
    let (note, shortfall) = match sharded {
        true => (coverage::both(note, coverage::shard_note(&labels)), None),
        false => {
            let note = coverage::both(note, coverage::note(&labels, &report.verdict));
            let shortfall = coverage::shortfall(&labels, &report.verdict);
            (coverage::both(report.about_preemptions(), note), shortfall)
        }
    };
    let note = coverage::both(note, resumed.map(went_on));
    let note = coverage::both(note, saving.and_then(|saving| saving.note()));
    if !labels.is_empty() {
        let labels = labels.into_iter().map(describe::label).collect();
        parent.send(&Message::Labels { labels });
    }
    let (verdict, reason, failure, seed) = match unless_unseen(&system.program, report.verdict) {
        Verdict::Complete => match shortfall {
            Some(shortfall) => {
                let failure = Some(Box::new(describe::shortfall(shortfall)));
                (dpor_protocol::Verdict::Failed, None, failure, None)
            }
            None => (dpor_protocol::Verdict::Complete, None, None, None),
        },
        Verdict::Incomplete { reason } => (dpor_protocol::Verdict::Incomplete, Some(reason), None, None),
        Verdict::Failed { failure, .. } => {
            // The mapping holds the kinds of operation as well. What ran last is the failing schedule, also if that was
            // a check of the explorer's.
            let steps = map.snapshot().steps;
            let leak = config.leaks && failure.kind == "leak";
            let seed = seed_of(&system.program, &config.test, strategy, options, leak, steps);
            let failure = describe::failure(&system.program, &failure, &mut Objects::default());
            (
                dpor_protocol::Verdict::Failed,
                None,
                Some(Box::new(failure)),
                Some(seed.encode()),
            )
        }
    };
    Message::Finished {
        verdict,
        reason,
        note,
        counts,
        failure,
        seed,
    }
}

fn went_on(executions: u64) -> String {
    match executions {
        1 => "went on after 1 execution".to_owned(),
        executions => format!("went on after {executions} executions"),
    }
}

/// Finds a pair of orders that lead to different states, and reports the differences.
fn diff_states(config: &Config, number: u64, map: &'static SharedSchedule, body: Body, parent: &mut Parent) -> Message {
    let (explorer, _, strategy, options) = match explorer(config, map, body) {
        Ok(explorer) => explorer,
        Err(error) => return incomplete(error),
    };
    // A failing test has states as well.
    let mut explorer = explorer.keep_going(true);
    let mut pairs = difference::Pairs::up_to(number);
    let Report {
        verdict, statistics, ..
    } = explorer.run(&mut pairs);
    let system = explorer.system();
    let counts = counts(&statistics, system.threads().len(), statistics.time);
    let note = out_of_sight(&system.program, strategy);
    let finished = |verdict, reason, failure, seed| Message::Finished {
        verdict,
        reason,
        note: note.clone(),
        counts,
        failure,
        seed,
    };
    if let Some((first, second)) = pairs.last_found() {
        return match difference::report(system, first, second) {
            Ok(report) => {
                parent.send(&Message::Pair(report));
                finished(dpor_protocol::Verdict::Complete, None, None, None)
            }
            Err(why) => finished(dpor_protocol::Verdict::Incomplete, Some(why), None, None),
        };
    }
    match verdict {
        Verdict::Failed { failure, .. } if failure.kind == "nondeterminism" => {
            let steps = map.snapshot().steps;
            let seed = seed_of(&system.program, &config.test, strategy, options, false, steps);
            let failure = describe::failure(&system.program, &failure, &mut Objects::default());
            finished(
                dpor_protocol::Verdict::Failed,
                None,
                Some(Box::new(failure)),
                Some(seed.encode()),
            )
        }
        Verdict::Complete | Verdict::Failed { .. } => finished(dpor_protocol::Verdict::Complete, None, None, None),
        Verdict::Incomplete { reason } => finished(dpor_protocol::Verdict::Incomplete, Some(reason), None, None),
    }
}

/// An event of a replay.
pub(crate) enum Event {
    /// A step is about to run.
    Next(StepReport),
    /// A step has run; it replaces the announcement.
    Step(StepReport),
    /// A thread was created.
    Thread(ThreadReport),
}

/// Why a schedule could not be followed.
#[derive(Debug)]
pub(crate) enum Astray {
    /// The process cannot hold a model.
    Setup(String),
    /// The program does something else than before.
    Diverged { step: u64, expected: String, met: String },
    /// The schedule ended without a failure.
    NoFailure,
}

impl std::fmt::Display for Astray {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Astray::Setup(error) => f.write_str(error),
            Astray::Diverged { step, expected, met } => write!(
                f,
                "the seed does not fit this test any more: at step {step} it expects {expected}, but met {met}"
            ),
            Astray::NoFailure => f.write_str("the schedule of the seed ends without a failure"),
        }
    }
}

/// The options with which a seed was found.
pub(super) fn options_of(seed: &Seed) -> Options {
    Options {
        spurious_wakeups: seed.spurious_wakeups,
        spurious_cas: seed.spurious_cas,
    }
}

/// Decodes a seed, and creates the program for its schedule.
///
/// # Errors
/// It is no seed, or that of another test, or no model can be set up.
pub(super) fn of_seed(printed: &str, test: &str, body: Body) -> Result<(Seed, Program), String> {
    let seed: Seed = printed.parse().map_err(|error| format!("{error}"))?;
    seed.check_test(test).map_err(|error| error.to_string())?;
    let program = Program::new(options_of(&seed), move || body.run()).map_err(|error| error.to_string())?;
    Ok((seed, program))
}

/// Runs the schedule of a seed; returns the failure in which it ends.
pub(crate) fn follow(seed: &Seed, body: Body, tell: &mut dyn FnMut(Event)) -> Result<FailureReport, Box<Astray>> {
    let program = Program::new(options_of(seed), move || body.run())
        .map_err(|error| Box::new(Astray::Setup(error.to_string())))?;
    follow_in(
        seed,
        program,
        |program, transition, _, step| program.step(transition, step),
        tell,
    )
}

fn follow_in(
    seed: &Seed,
    mut program: Program,
    mut run: impl FnMut(&mut Program, dpor_explorer::Transition, u8, &mut Step) -> Result<(), Stop>,
    tell: &mut dyn FnMut(Event),
) -> Result<FailureReport, Box<Astray>> {
    let mut objects = Objects::default();
    program.trace();
    program.find_leaks(seed.leaks);
    program.intern_threads(&seed.threads.iter().map(|c| (c.parent, c.nth)).collect::<Vec<_>>());
    program.observe(
        &seed
            .refinements
            .iter()
            .map(|&location| dpor_scheduler::Location(location))
            .collect::<Vec<_>>(),
    );
    program.restart();
    let mut known = 0;
    let mut announce = |program: &Program, tell: &mut dyn FnMut(Event)| {
        let threads = program.thread_reports();
        let count = threads.len();
        for thread in threads.into_iter().skip(known) {
            tell(Event::Thread(describe::thread(thread)));
        }
        known = known.max(count);
    };
    let mut previous: Option<ThreadId> = None;
    let mut panics = Panics::default();
    let mut step = Step::default();
    for (index, &SeedStep { transition, operation }) in (0u64..).zip(&seed.steps) {
        let switched = previous != Some(transition.thread);
        let diverged = |met: String| {
            let expected = OperationKind::from_code(operation).map_or("an operation", OperationKind::name);
            let expected = format!("`{expected}` by {}", transition.thread);
            Err(Box::new(Astray::Diverged {
                step: index,
                expected,
                met,
            }))
        };
        let Some((kind, source)) = program.pending_operation(transition.thread) else {
            return diverged(format!("no thread {}", transition.thread));
        };
        let place = source.map_or_else(String::new, |source| format!(" at {source}"));
        if operation != 0 && kind as u8 != operation {
            return diverged(format!("`{kind}`{place}"));
        }
        let enabled = program.threads()[transition.thread.index()]
            .alternatives()
            .is_some_and(|alternatives| alternatives.contains(transition.alternative));
        if !enabled {
            return diverged(format!("`{kind}`{place}, which cannot go on"));
        }
        let preempted = previous.is_some_and(|thread| switched && could_go_on(&mut program, thread));
        tell(Event::Next(describe::next(
            &program,
            transition.thread,
            index,
            switched,
        )));
        step.clear();
        let result = run(&mut program, transition, operation, &mut step);
        announce(&program, tell);
        panics.look(&program, index);
        if let Some(report) = describe::step(&program, &mut objects, index, switched) {
            tell(Event::Step(StepReport { preempted, ..report }));
        }
        match result {
            Ok(()) => {}
            Err(Stop::Failed(failure) | Stop::Unsupported(failure)) => {
                return Ok(FailureReport {
                    panics: panics.take(),
                    ..describe::failure(&program, &failure, &mut objects)
                });
            }
            Err(Stop::Refine) => return diverged("a release that had not been observed".to_owned()),
        }
        previous = Some(transition.thread);
    }
    program.hold_spinning();
    // Loops are watched here from where they are noticed, and so are held back later than in the exploration.
    for _ in 0..MORE_ROUNDS {
        let enabled = program
            .threads()
            .iter()
            .position(|status| matches!(status, Status::Enabled(_)));
        let Some((thread, alternative)) = enabled.and_then(|thread| {
            let alternative = program.threads()[thread].alternatives()?.iter().next()?;
            Some((ThreadId(u32::try_from(thread).ok()?), alternative))
        }) else {
            return match program.finish() {
                Err(failure) => Ok(FailureReport {
                    panics: panics.take(),
                    ..describe::failure(&program, &failure, &mut objects)
                }),
                Ok(()) => Err(Box::new(Astray::NoFailure)),
            };
        };
        step.clear();
        let transition = dpor_explorer::Transition { thread, alternative };
        if let Err(Stop::Failed(failure) | Stop::Unsupported(failure)) = program.step(transition, &mut step) {
            return Ok(describe::failure(&program, &failure, &mut objects));
        }
    }
    Err(Box::new(Astray::NoFailure))
}

/// Says whether the thread can run, and does not just yield.
fn could_go_on(program: &mut Program, thread: ThreadId) -> bool {
    let enabled = matches!(program.threads().get(thread.index()), Some(Status::Enabled(_)));
    enabled && !program.gives_way(thread)
}

/// Number of steps that may run after the end of a schedule.
const MORE_ROUNDS: usize = 1_000;

fn replay(config: &Config, seed: &str, map: &'static SharedSchedule, body: Body, parent: &mut Parent) -> Message {
    let (seed, program) = match of_seed(seed, &config.test, body) {
        Ok(prepared) => prepared,
        Err(reason) => return incomplete(reason),
    };
    map.begin_execution();
    let run = |program: &mut Program, transition, operation, step: &mut Step| {
        map.push(transition, operation);
        map.set_phase(Phase::Running);
        let result = program.step(transition, step);
        map.set_phase(Phase::Exploring);
        result
    };
    let ended = follow_in(&seed, program, run, &mut |event| {
        parent.send(&match event {
            Event::Next(step) | Event::Step(step) => Message::Step(step),
            Event::Thread(thread) => Message::Thread(thread),
        });
    });
    let counts = Counts {
        steps: seed.steps.len() as u64,
        complete: 1,
        ..Counts::default()
    };
    let failure = match ended {
        Ok(failure) => failure,
        Err(astray) => {
            if let Astray::Diverged { step, expected, met } = *astray {
                parent.send(&Message::Diverged {
                    step,
                    expected: expected.clone(),
                    met: met.clone(),
                });
                return incomplete(Astray::Diverged { step, expected, met }.to_string());
            }
            return incomplete(astray.to_string());
        }
    };
    if !failure.output.is_empty() {
        parent.send(&Message::Output {
            stream: OutputStream::Err,
            text: failure.output.clone(),
        });
    }
    Message::Finished {
        verdict: dpor_protocol::Verdict::Failed,
        reason: None,
        note: None,
        counts,
        failure: Some(Box::new(failure)),
        seed: Some(seed.encode()),
    }
}
