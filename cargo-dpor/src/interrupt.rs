//! Signals that ask the command to end: Ctrl-C, `kill`, a closed terminal.
//!
//! The first one is put on record ([`received`]). What follows a test process looks at it now and then, and has the
//! process end with what is done so far (`child`). Before tests are run, other programs do the work, Cargo
//! above all: they are ended, and whoever waited for them finds them failed. A second signal ends the command at once.
//! Nothing that it has started is left behind in either case.

use crate::error::Exit;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// A signal that asks the command to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM, which `kill` sends, and a job's time limit.
    Terminate,
    /// SIGHUP: the terminal was closed.
    HangUp,
}

/// Two signals within this time count as one: `timeout` sends its own both to the process and to its group.
const AT_ONCE: Duration = Duration::from_millis(250);
/// Time that a program has to end before it is killed.
const MERCY: Duration = Duration::from_millis(200);
/// Interval between looks for remaining processes.
const LOOK: Duration = Duration::from_millis(5);

/// The first signal's number; 0 until there is one.
static FIRST: AtomicI32 = AtomicI32::new(0);
/// Whether test processes run, which are ended by those who follow them.
static FOLLOWED: AtomicBool = AtomicBool::new(false);

impl Signal {
    const ALL: [Signal; 3] = [Signal::Interrupt, Signal::Terminate, Signal::HangUp];

    fn number(self) -> i32 {
        match self {
            Signal::Interrupt => SIGINT,
            Signal::Terminate => SIGTERM,
            Signal::HangUp => SIGHUP,
        }
    }

    fn of(number: i32) -> Option<Signal> {
        Self::ALL.into_iter().find(|signal| signal.number() == number)
    }

    /// The exit of a command that this signal has ended: with 128 plus its number, like shells.
    pub fn exit(self) -> Exit {
        match self {
            Signal::Interrupt => Exit::Interrupted,
            Signal::Terminate => Exit::Terminated,
            Signal::HangUp => Exit::HungUp,
        }
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Signal::Interrupt => "SIGINT",
            Signal::Terminate => "SIGTERM",
            Signal::HangUp => "SIGHUP",
        })
    }
}

/// Listens to signals from now on. Ignored signals stay ignored: `nohup` ignores SIGHUP, and a shell SIGINT for what
/// runs in the background of a script.
///
/// # Errors
/// If the system does not allow it.
pub fn listen() -> std::io::Result<()> {
    // SAFETY: the call changes an attribute of this process, and takes no pointers. Who has lost its own parent becomes
    // a child of this process, so that it is found in the end.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
    let numbers = Signal::ALL.map(Signal::number).into_iter();
    let mut signals = Signals::new(numbers.filter(|&number| !is_ignored(number)))?;
    std::thread::spawn(move || {
        let mut since = None;
        for number in signals.forever() {
            match since {
                None => {
                    since = Some(Instant::now());
                    FIRST.store(number, SeqCst);
                    if !FOLLOWED.load(SeqCst) {
                        end_descendants();
                    }
                }
                Some(first) if first.elapsed() < AT_ONCE => {}
                Some(_) => {
                    signal_descendants(libc::SIGKILL);
                    signal_hook::low_level::exit(128 + number);
                }
            }
        }
    });
    Ok(())
}

fn is_ignored(number: i32) -> bool {
    // SAFETY: all-zero bytes are a value of the type; the call writes to it and changes nothing else, since it is given
    // no new action.
    let action = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(number, std::ptr::null(), &raw mut action);
        action
    };
    action.sa_sigaction == libc::SIG_IGN
}

/// The signal that has asked the command to end, if any.
pub fn received() -> Option<Signal> {
    Signal::of(FIRST.load(SeqCst))
}

/// Like [`received`], for a signal that is about to come: somebody else has already received it.
pub fn soon_received() -> Option<Signal> {
    let started = Instant::now();
    while received().is_none() && started.elapsed() < AT_ONCE {
        std::thread::sleep(LOOK);
    }
    received()
}

/// From now on, those who follow test processes handle a signal.
pub fn is_seen_to() {
    FOLLOWED.store(true, SeqCst);
}

/// Ends all processes that this one has started, and their descendants.
pub fn end_descendants() {
    let started = Instant::now();
    // Some are left only if the system does not let them be killed.
    while started.elapsed() < MERCY * 5 {
        let signal = if started.elapsed() < MERCY {
            libc::SIGTERM
        } else {
            libc::SIGKILL
        };
        if signal_descendants(signal) == 0 {
            return;
        }
        std::thread::sleep(LOOK);
    }
}

/// Sends a signal to all descendants, parents first, so that they start no others. Returns their number.
fn signal_descendants(signal: i32) -> usize {
    let all = descendants();
    for &process in &all {
        // SAFETY: the call has no precondition. The number is that of a descendant, or was so just now.
        unsafe { libc::kill(process, signal) };
    }
    all.len()
}

/// A process that has not ended.
struct Process {
    id: i32,
    parent: i32,
    session: i32,
}

/// The processes that live below this one, parents first. Those with a session of their own are left out: a compiler
/// cache's server, for example, is meant to stay.
fn descendants() -> Vec<i32> {
    let own = std::process::id().cast_signed();
    let living = processes();
    let session = living.iter().find(|process| process.id == own).map(|own| own.session);
    let mut found = vec![own];
    let mut at = 0;
    while let Some(&parent) = found.get(at) {
        let children = living
            .iter()
            .filter(|process| process.parent == parent && Some(process.session) == session);
        found.extend(children.map(|process| process.id));
        at += 1;
    }
    found.split_off(1)
}

fn processes() -> Vec<Process> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let process = |entry: std::fs::DirEntry| {
        let id = entry.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        // State, parent, group and session come after the name, which stands in parentheses and may hold some itself.
        let (_, rest) = stat.rsplit_once(") ")?;
        let fields: Vec<_> = rest.splitn(5, ' ').collect();
        let [state, parent, _, session, ..] = fields[..] else {
            return None;
        };
        let (parent, session) = (parent.parse().ok()?, session.parse().ok()?);
        (!matches!(state, "Z" | "X")).then_some(Process { id, parent, session })
    };
    entries.filter_map(process).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn exit_codes_are_those_of_shells() {
        for signal in Signal::ALL {
            assert_eq!(signal.exit() as i32, 128 + signal.number(), "{signal}");
        }
        assert_eq!(Signal::of(0), None);
    }

    #[test]
    fn descendants_are_found_through_others() {
        let mut shell = Command::new("sh")
            .args(["-c", "sleep 1000 & echo $!; wait"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let output = shell.stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).unwrap();
        let (id, below): (i32, i32) = (shell.id().cast_signed(), line.trim().parse().unwrap());
        let all = descendants();
        let place = |wanted: i32| all.iter().position(|&process| process == wanted).unwrap();
        assert!(place(id) < place(below), "{all:?}");
        // Only these two: other tests have processes as well.
        for process in [id, below] {
            // SAFETY: the call has no precondition, and both are ours.
            unsafe { libc::kill(process, libc::SIGKILL) };
        }
        shell.wait().unwrap();
        assert!(!descendants().contains(&id));
    }

    #[test]
    fn what_is_ignored_is_known() {
        // Rust's runtime ignores it in every program.
        assert!(is_ignored(libc::SIGPIPE));
        assert!(!is_ignored(libc::SIGUSR1));
    }
}
