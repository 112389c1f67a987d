//! Runs one test in its own process.
//!
//! The process is the test's binary, asked for this one test, with a [`Config`] in a file that it inherits. What it
//! says on the pipe is followed here; what it cannot say any more, because it has died or hangs, is made out from its
//! exit status and from the schedule that it shares.

mod channel;
mod death;
mod lines;
#[cfg(test)]
mod tests;

use crate::build::Test;
use crate::error::Error;
use crate::interrupt;
use crate::report::printed_whole;
use crate::values::Values;
use channel::Channel;
use dpor_explorer::Shard;
use dpor_protocol::{
    CallerReport, Config, Counts, EndReport, ExecutionReport, FailureReport, LabelReport, Limits, Message, Mode,
    OutputStream, PairReport, Phase, Save, Seed, SeedStep, SharedSchedule, SharingReport, Simplified, SiteReport,
    SourceLocation, StepReport, Taken, ThreadReport, Verdict, WHERE_SIGNAL,
};
use lines::{Lines, Next};
use std::borrow::Cow;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The task of a test process, except for the test.
#[derive(Clone, Debug)]
pub struct Order {
    pub mode: Mode,
    pub strategy: String,
    pub random_seed: u64,
    pub limits: Limits,
    pub spurious_wakeups: bool,
    pub spurious_cas: bool,
    pub leaks: bool,
    pub exact_states: bool,
    /// Whether to report each execution, up to a bound.
    pub executions: bool,
    /// Whether to report what the first execution prints.
    pub printed: bool,
    /// The place where to save the exploration, if it can be resumed.
    pub save: Option<Save>,
    /// The part to explore; `None` for the whole.
    pub shard: Option<Shard>,
    /// Maximum duration of a step.
    pub stall: Duration,
}

/// How a test process ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub verdict: Verdict,
    /// The reason why it is incomplete.
    pub reason: Option<String>,
    /// A further note, in a line.
    pub note: Option<String>,
    pub counts: Counts,
    pub failure: Option<FailureReport>,
    /// The seed of the failing schedule.
    pub seed: Option<String>,
    /// For a replay: what happened.
    pub account: Account,
    /// The requested two orders that lead to different states.
    pub pair: Option<PairReport>,
    /// The labels that the test has reached, or should have reached.
    pub labels: Vec<LabelReport>,
    /// The simplest schedule that fails, if requested.
    pub simplified: Option<Simplified>,
    /// How its threads interacted, unless the process died before reporting it.
    pub sharing: Option<SharingReport>,
    /// Its executions, if requested: the first ones, and the failing one.
    pub executions: Vec<ExecutionReport>,
    /// The part that was explored; `None` for the whole.
    pub shard: Option<Shard>,
    /// The fingerprint that all shards of the test share; `None` for the whole, or if the process died before reporting
    /// it.
    pub fingerprint: Option<u64>,
    /// Time from the start to the end of the process.
    pub time: Duration,
    /// The messages of the process on which the outcome depends, for [`recorded`].
    pub record: String,
}

/// What a test process reports while it runs (little, for an exploration), and what is known about its last step.
#[derive(Clone, Debug, Default)]
pub struct Account {
    pub location: Option<SourceLocation>,
    pub threads: Vec<ThreadReport>,
    pub steps: Vec<StepReport>,
    pub output: Vec<(OutputStream, String)>,
    /// For an exploration: what its first execution has printed, if requested.
    pub printed: Vec<(OutputStream, String)>,
    /// The step, the seed's operation, and the program's operation.
    pub diverged: Option<(u64, String, String)>,
    /// If the process died or was ended in a step: the functions of the program that were running, innermost first.
    pub callers: Vec<CallerReport>,
    /// The end of what the process itself wrote to its standard error, bypassing the model.
    pub stderr: String,
    /// All of that, if it is longer.
    pub stderr_whole: Option<Arc<File>>,
    /// The files with the whole output and standard error, if a report has no room for them.
    pub output_file: Option<PathBuf>,
    pub stderr_file: Option<PathBuf>,
}

impl Account {
    /// What the program printed; if this is not of a replay, as its failure's report says.
    pub fn output_text<'a>(&self, failure: Option<&'a FailureReport>) -> Cow<'a, str> {
        match (self.output.is_empty(), failure) {
            (true, Some(failure)) => Cow::Borrowed(&failure.output),
            _ => self.output.iter().map(|(_, text)| text.as_str()).collect(),
        }
    }
}

/// Runs a test process to its end. Calls `progress` with counts now and then.
///
/// # Errors
/// If the process cannot be started or followed. Whatever the test does is an [`Outcome`].
pub fn run(test: &Test, order: &Order, progress: &mut dyn FnMut(Counts)) -> Result<Outcome, Error> {
    interrupt::is_seen_to();
    let started = Instant::now();
    let mut process = Process::start(test, order)?;
    let mut state = State {
        values: Values::of(&test.binary.path),
        ..State::default()
    };
    let end = process.follow(order, &mut state, progress)?;
    if let (Some(why), Some(save)) = (state.cannot_resume.take(), &order.save) {
        let save = Some(Save {
            resume: false,
            ..save.clone()
        });
        let order = Order { save, ..order.clone() };
        return Ok(run(test, &order, progress)?.with_note(format!("explored from the start: {why}")));
    }
    (state.account.stderr, state.account.stderr_whole) = process.stderr();
    let mut outcome = match state.finished.take() {
        Some(finished) => finished,
        None => {
            state.account.callers = functions_at(test, order, process.shared().callers());
            death::outcome(test, order, end, &state, process.shared())
        }
    };
    state.complete(&mut outcome);
    if order.executions && matches!(order.mode, Mode::Explore) {
        tell_failing(&mut outcome);
    }
    outcome.shard = order.shard;
    outcome.time = started.elapsed();
    Ok(outcome)
}

/// The functions of the program at return addresses in a test's binary; another process of the binary names them.
fn functions_at(test: &Test, order: &Order, callers: Vec<u64>) -> Vec<CallerReport> {
    /// Maximum time: the process reads all debug information.
    const MOST: Duration = Duration::from_secs(60);
    if callers.is_empty() {
        return Vec::new();
    }
    let order = Order {
        mode: Mode::Locate { callers },
        save: None,
        shard: None,
        stall: MOST,
        ..order.clone()
    };
    let mut state = State::default();
    // Without it, less can be said of how the first process ended.
    let _ = Process::start(test, &order).and_then(|mut process| process.follow(&order, &mut state, &mut |_| {}));
    state.account.callers
}

/// The outcome of an exploration with this record.
pub fn recorded(record: &str) -> Option<Outcome> {
    let mut state = State::default();
    for line in record.lines() {
        state.take(Message::from_line(line).ok()?, &mut |_| {});
    }
    let mut outcome = state.finished.take()?;
    state.complete(&mut outcome);
    outcome.time = Duration::from_millis(outcome.counts.millis);
    Some(outcome)
}

/// Adds the failing execution to the reported ones if it is missing: the process died in it, or it was run only to
/// compare states.
fn tell_failing(outcome: &mut Outcome) {
    let told = |report: &ExecutionReport| matches!(report.end, EndReport::Failed(_));
    let (Some(failure), Some(seed)) = (&outcome.failure, &outcome.seed) else {
        return;
    };
    let Some(seed) = Seed::decode(seed).ok().filter(|_| !outcome.executions.iter().any(told)) else {
        return;
    };
    let known: usize = outcome.executions.iter().map(|report| report.sites.len()).sum();
    let site = u32::try_from(known).unwrap_or(u32::MAX);
    let taken = |step: &SeedStep| Taken {
        thread: step.transition.thread.0,
        alternative: step.transition.alternative,
        site,
    };
    outcome.executions.push(ExecutionReport {
        number: outcome.counts.executions(),
        anew: false,
        common: 0,
        steps: seed.steps.iter().map(taken).collect(),
        end: EndReport::Failed(failure.kind.clone()),
        // What the steps were is not on record.
        sites: vec![SiteReport {
            operation: String::new(),
            location: None,
        }],
        threads: Vec::new(),
    });
}

/// How following a process ended without its last message.
#[derive(Clone, Debug)]
enum End {
    Exited(std::process::ExitStatus),
    /// It was killed because it made no progress.
    Stalled {
        /// The limit.
        limit: Duration,
        /// Whether it was running all the time; otherwise it waited in the kernel.
        running: bool,
    },
    /// It was killed because it went on long after its time was up: it looks at the clock only between steps, now and
    /// then.
    Overtime,
    /// It was killed because it wrote something that is no message.
    Garbled(String),
    /// It was killed because the command ends.
    Interrupted,
}

/// The time that a process has to end by itself when the command ends. An exploration is saved meanwhile, and a replay
/// is short, and shows how the test fails; anything else is no longer of use.
fn grace(mode: &Mode) -> Duration {
    match mode {
        Mode::Explore => Duration::from_secs(5),
        Mode::Replay { .. } => Duration::from_secs(1),
        Mode::Simplify { .. } | Mode::DiffStates { .. } | Mode::Locate { .. } => Duration::ZERO,
    }
}

#[derive(Default)]
struct State {
    values: Values,
    started: bool,
    counts: Counts,
    account: Account,
    pair: Option<PairReport>,
    labels: Vec<LabelReport>,
    simplified: Option<Simplified>,
    sharing: Option<SharingReport>,
    fingerprint: Option<u64>,
    executions: Vec<ExecutionReport>,
    record: String,
    cannot_resume: Option<String>,
    finished: Option<Outcome>,
}

struct Process {
    child: Child,
    channel: Channel,
    lines: Lines,
    stderr: File,
}

/// Maximum number of bytes that are kept of a process's own standard error.
const STDERR_KEPT: u64 = 16 << 10;
/// Interval between looks at a silent process.
const LOOK: Duration = Duration::from_millis(50);

impl Process {
    fn start(test: &Test, order: &Order) -> Result<Process, Error> {
        let (channel, writer) = Channel::open().map_err(Error::io("cannot make a channel to a test process"))?;
        let config = Config {
            test: test.id(),
            mode: order.mode.clone(),
            strategy: order.strategy.clone(),
            random_seed: order.random_seed,
            limits: order.limits,
            spurious_wakeups: order.spurious_wakeups,
            spurious_cas: order.spurious_cas,
            leaks: order.leaks,
            exact_states: order.exact_states,
            executions: order.executions,
            printed: order.printed,
            save: order.save.clone(),
            shard: order.shard.map(|shard| shard.to_string()),
            pipe: writer.number(),
            map: channel.map_number(),
        };
        let config_file =
            channel::file_with(&config.to_text()).map_err(Error::io("cannot write a test process's orders"))?;
        let stderr = tempfile::tempfile().map_err(Error::io("cannot make a temporary file"))?;
        let stderr_copy = stderr.try_clone().map_err(Error::io("cannot use a temporary file"))?;
        let mut command = Command::new(&test.binary.path);
        command
            .args([
                "--exact",
                &test.name,
                "--nocapture",
                "--test-threads=1",
                "--include-ignored",
            ])
            .current_dir(&test.binary.folder)
            .envs(test.binary.environment.iter().map(|(name, value)| (name, value)))
            .env(dpor_protocol::ENV, config_file.as_raw_fd().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr_copy);
        if !matches!(order.mode, Mode::Replay { .. }) {
            // A backtrace for each panic of each execution takes longer than the execution.
            command.env("RUST_BACKTRACE", "0");
        }
        channel::inherit(
            &mut command,
            [writer.number(), channel.map_number(), config_file.as_raw_fd()],
        );
        let program = test.binary.path.display().to_string();
        let child = command.spawn().map_err(Error::io(format!("cannot start {program}")))?;
        let lines = Lines::of(writer.into_reader()).map_err(Error::io("cannot use the channel to a test process"))?;
        Ok(Process {
            child,
            channel,
            lines,
            stderr,
        })
    }

    fn shared(&self) -> &SharedSchedule {
        self.channel.shared()
    }

    /// Reads the messages of the process until it has ended, or has to be ended.
    fn follow(&mut self, order: &Order, state: &mut State, progress: &mut dyn FnMut(Counts)) -> Result<End, Error> {
        let (stall, started) = (order.stall, Instant::now());
        let end = match order.mode {
            // It gets half as much again, and what a step may take.
            Mode::Explore => order.limits.seconds.and_then(|seconds| {
                let limit = Duration::try_from_secs_f64(seconds * 1.5).ok()?;
                started.checked_add(limit.checked_add(stall)?)
            }),
            _ => None,
        };
        let mut beat = (self.shared().heartbeat(), started);
        let mut last = None;
        loop {
            if interrupt::received().is_some() && state.finished.is_none() {
                self.shared().ask_to_stop();
                let last = *last.get_or_insert_with(|| Instant::now() + grace(&order.mode));
                if Instant::now() >= last {
                    self.kill();
                    return Ok(End::Interrupted);
                }
            }
            let next = self
                .lines
                .next(LOOK)
                .map_err(Error::io("cannot read from a test process"))?;
            match next {
                Next::Line(line) => {
                    beat.1 = Instant::now();
                    match Message::from_line(&line) {
                        Ok(message) => {
                            state.note(&line, &message);
                            state.take(message, progress);
                        }
                        Err(error) => {
                            self.kill();
                            return Ok(End::Garbled(error.to_string()));
                        }
                    }
                    continue;
                }
                Next::Closed => {
                    // The process has closed the pipe; without its last message it is about to end.
                    if state.finished.is_some() {
                        self.end_within(LOOK * 20);
                    } else {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                }
                Next::Silence => {}
            }
            if let Some(status) = self
                .child
                .try_wait()
                .map_err(Error::io("cannot wait for a test process"))?
            {
                // What it wrote before its end.
                while let Ok(Next::Line(line)) = self.lines.next(Duration::ZERO) {
                    if let Ok(message) = Message::from_line(&line) {
                        state.note(&line, &message);
                        state.take(message, progress);
                    }
                }
                // Whoever ends all processes of a job has ended this one first.
                let asked = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP]
                    .map(Some)
                    .contains(&status.signal());
                if asked && state.finished.is_none() && interrupt::soon_received().is_some() {
                    return Ok(End::Interrupted);
                }
                return Ok(End::Exited(status));
            }
            if state.finished.is_none() && end.is_some_and(|end| Instant::now() >= end) {
                self.kill();
                return Ok(End::Overtime);
            }
            let now = self.shared().heartbeat();
            if now != beat.0 {
                beat = (now, Instant::now());
            } else if state.finished.is_some() {
                self.end_within(LOOK * 20);
            } else if beat.1.elapsed() >= stall {
                let running = self.is_running();
                self.ask_where();
                self.kill();
                return Ok(End::Stalled { limit: stall, running });
            }
        }
    }

    /// Asks the process to record where it is, if it runs a step.
    fn ask_where(&mut self) {
        const PATIENCE: Duration = Duration::from_secs(10);
        let shared = self.channel.shared();
        let Some(runner) = shared.runner().filter(|_| shared.phase() == Phase::Running) else {
            return;
        };
        // SAFETY: sends a signal to a thread of a child that has not been waited for.
        let sent = unsafe { libc::syscall(libc::SYS_tgkill, self.child.id(), runner, WHERE_SIGNAL) };
        let start = Instant::now();
        while sent == 0 && !shared.is_located() && start.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits a little for the process to end by itself, then kills it.
    fn end_within(&mut self, limit: Duration) {
        let start = Instant::now();
        // Most have ended before they can be looked at twice, and there may be many tests.
        let mut pause = Duration::from_micros(50);
        while start.elapsed() < limit {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(pause);
            pause = Duration::from_millis(1).min(pause * 2);
        }
        self.kill();
    }

    /// Says whether a thread of the process runs, or is ready to; otherwise all of them wait in the kernel.
    fn is_running(&self) -> bool {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id()));
        // If nobody can tell, it is taken for running.
        tasks.map_or(true, |tasks| {
            tasks.flatten().any(|task| {
                let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
                // The state comes after the name, which stands in parentheses and may hold some itself.
                stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('R'))
            })
        })
    }

    fn kill(&mut self) {
        // Both fail only if the process has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// The end of what it wrote to its standard error, and all of it, if that is longer.
    fn stderr(&mut self) -> (String, Option<Arc<File>>) {
        let mut bytes = Vec::new();
        let length = self.stderr.metadata().map_or(0, |m| m.len());
        let from = std::io::SeekFrom::Start(length.saturating_sub(STDERR_KEPT));
        if self.stderr.seek(from).is_ok() {
            // An unreadable temporary file is no reason to withhold the verdict.
            let _ = self.stderr.read_to_end(&mut bytes);
        }
        let end = String::from_utf8_lossy(&bytes).trim().to_string();
        let is_all = length <= STDERR_KEPT && printed_whole(&end);
        let whole = (!is_all).then(|| self.stderr.try_clone().ok().map(Arc::new));
        (end, whole.flatten())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Outcome {
    /// Adds a note before all others.
    #[must_use]
    pub fn with_note(mut self, note: String) -> Outcome {
        self.note = Some(match self.note {
            Some(other) => format!("{note}; {other}"),
            None => note,
        });
        self
    }
}

impl State {
    /// Records a message on which the outcome depends.
    fn note(&mut self, line: &str, message: &Message) {
        if !matches!(message, Message::Progress(_)) {
            self.record.push_str(line);
            self.record.push('\n');
        }
    }

    /// Adds what was reported before the last message to the outcome.
    fn complete(self, outcome: &mut Outcome) {
        outcome.account = self.account;
        outcome.pair = self.pair;
        outcome.labels = self.labels;
        outcome.simplified = self.simplified;
        outcome.sharing = self.sharing;
        outcome.fingerprint = self.fingerprint;
        outcome.executions = self.executions;
        outcome.record = self.record;
    }

    fn take(&mut self, mut message: Message, progress: &mut dyn FnMut(Counts)) {
        self.values.tell(&mut message);
        match message {
            Message::Started { location, .. } => {
                self.started = true;
                self.account.location = location;
            }
            Message::Progress(counts) => {
                self.counts = counts;
                progress(counts);
            }
            Message::Thread(thread) => self.account.threads.push(thread),
            Message::Step(step) => {
                // A step is announced before it runs, and told in full after.
                self.account.steps.pop_if(|last| last.index == step.index);
                self.account.steps.push(step);
            }
            Message::Printed { stream, text } => self.account.printed.push((stream, text)),
            Message::Output { stream, text } => self.account.output.push((stream, text)),
            Message::Pair(pair) => self.pair = Some(pair),
            Message::Labels { labels } => self.labels = labels,
            Message::Simplified(simplified) => self.simplified = Some(simplified),
            Message::Sharing(sharing) => self.sharing = Some(sharing),
            Message::Callers { callers } => self.account.callers = callers,
            Message::Shard { fingerprint } => self.fingerprint = Some(fingerprint),
            Message::Execution(execution) => {
                if execution.anew {
                    self.executions.clear();
                }
                self.executions.push(execution);
            }
            Message::CannotResume { reason } => self.cannot_resume = Some(reason),
            Message::Diverged { step, expected, met } => self.account.diverged = Some((step, expected, met)),
            Message::Finished {
                verdict,
                reason,
                note,
                counts,
                failure,
                seed,
            } => {
                self.counts = counts;
                self.finished = Some(Outcome {
                    verdict,
                    reason,
                    note,
                    counts,
                    failure: failure.map(|failure| *failure),
                    seed,
                    account: Account::default(),
                    pair: None,
                    labels: Vec::new(),
                    simplified: None,
                    sharing: None,
                    executions: Vec::new(),
                    shard: None,
                    fingerprint: None,
                    time: Duration::ZERO,
                    record: String::new(),
                });
            }
        }
    }
}
