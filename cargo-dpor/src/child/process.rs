//! A test process: how it is started, followed, and ended.

use crate::build::Test;
use crate::child::channel::{self, Channel};
use crate::child::heard::Heard;
use crate::child::lines::{Lines, Next};
use crate::child::order::Order;
use crate::error::Error;
use crate::interrupt;
use crate::report::story::output::printed_whole;
use dpor_protocol::{Counts, Mode, Phase, SharedSchedule, WHERE_SIGNAL};
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How following a process ended without its last message.
#[derive(Clone, Debug)]
pub enum End {
    Exited(ExitStatus),
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

/// A test process.
pub struct Process {
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
    pub fn start(test: &Test, order: &Order) -> Result<Process, Error> {
        let (channel, writer) = Channel::open().map_err(Error::io("cannot make a channel to a test process"))?;
        let config = order.config(test, writer.number(), channel.map_number());
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

    pub fn shared(&self) -> &SharedSchedule {
        self.channel.shared()
    }

    /// Reads the messages of the process until it has ended, or has to be ended.
    pub fn follow(&mut self, order: &Order, heard: &mut Heard, progress: &mut dyn FnMut(Counts)) -> Result<End, Error> {
        let (stall, started) = (order.stall, Instant::now());
        let end = order.overtime(started);
        let mut beat = (self.shared().heartbeat(), started);
        let mut last = None;
        loop {
            if interrupt::received().is_some() && heard.finished.is_none() {
                self.shared().ask_to_stop();
                let last = *last.get_or_insert_with(|| Instant::now() + order.grace());
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
                    if let Err(error) = heard.hear(&line, progress) {
                        self.kill();
                        return Ok(End::Garbled(error.to_string()));
                    }
                    continue;
                }
                // The process has closed the pipe; without its last message it is about to end.
                Next::Closed if heard.finished.is_some() => self.end_within(LOOK * 20),
                Next::Closed => std::thread::sleep(Duration::from_millis(1)),
                Next::Silence => {}
            }
            let status = self.child.try_wait();
            if let Some(status) = status.map_err(Error::io("cannot wait for a test process"))? {
                return Ok(self.exited(status, heard, progress));
            }
            if heard.finished.is_none() && end.is_some_and(|end| Instant::now() >= end) {
                self.kill();
                return Ok(End::Overtime);
            }
            let now = self.shared().heartbeat();
            if now != beat.0 {
                beat = (now, Instant::now());
            } else if heard.finished.is_some() {
                self.end_within(LOOK * 20);
            } else if beat.1.elapsed() >= stall {
                let running = self.is_running();
                self.ask_where();
                self.kill();
                return Ok(End::Stalled { limit: stall, running });
            }
        }
    }

    /// Reads what the process wrote before its end.
    fn exited(&mut self, status: ExitStatus, heard: &mut Heard, progress: &mut dyn FnMut(Counts)) -> End {
        while let Ok(Next::Line(line)) = self.lines.next(Duration::ZERO) {
            // A line that was cut off says nothing.
            let _ = heard.hear(&line, progress);
        }
        // Whoever ends all processes of a job has ended this one first.
        let asked = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP]
            .map(Some)
            .contains(&status.signal());
        match asked && heard.finished.is_none() && interrupt::soon_received().is_some() {
            true => End::Interrupted,
            false => End::Exited(status),
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
    pub fn stderr(&mut self) -> (String, Option<Arc<File>>) {
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
