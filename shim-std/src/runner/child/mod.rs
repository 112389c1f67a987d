//! The test process's end of the protocol with `cargo dpor`: it takes the orders, does what they say, and reports it.

mod diff_states;
mod explore;
mod last_word;
mod parent;
mod replay;

pub(crate) use last_word::{counts, done, incomplete};
pub(crate) use parent::{NO_CONVERSATION, Parent, leave};
pub(crate) use replay::{Told, follow, of_seed, prepare};

use super::body::Body;
use super::describe;
use super::simplify::{self, Task};
use dpor_protocol::{Config, Message, Mode, Phase, SharedSchedule, SourceLocation, WHERE_SIGNAL};
use dpor_scheduler::{Crash, Place, program};
use std::fs::File;
use std::os::fd::FromRawFd;
use std::sync::OnceLock;
use std::time::Duration;

/// The exit code after a fatal signal, whose description the process has left in the shared mapping.
const CRASHED: i32 = 70;

/// The mapping in which the crash handler leaves its description.
static MAP: OnceLock<&'static SharedSchedule> = OnceLock::new();

/// Executes the configuration, and ends the process.
pub(crate) fn serve(config: Result<Config, String>, test: &str, place: &std::panic::Location<'_>, body: Body) -> ! {
    let config = config.unwrap_or_else(|error| give_up(&error));
    let map = attach(config.map).unwrap_or_else(|error| give_up(&error));
    // SAFETY: the parent handed the descriptor to us for this purpose.
    let pipe = unsafe { File::from_raw_fd(config.pipe) };
    let mut parent = Parent::on(pipe);
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
        Mode::Explore => explore::explore(&config, map, body, &mut parent),
        Mode::DiffStates { pair } => diff_states::diff_states(&config, *pair, map, body, &mut parent),
        Mode::Survey => diff_states::survey(&config, map, body, &mut parent),
        Mode::Replay { seed } => replay::replay(&config, seed, map, body, &mut parent),
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
