//! Programs whose threads make calls on the same descriptors: a counter, the two ends of a pipe, and a set that `epoll`
//! watches. Each strategy must show the outcomes that brute force shows, which takes every operation for one that
//! conflicts with all others.

use crate::erased::Erased;
use crate::generated::QUANTUM;
use dpor_explorer::{End, Explorer, Limits, Observer, Statistics, Strategy, Trace, Verdict};
use dpor_scheduler::{FailureKind, Options, Program as Model};
use libc::{c_int, c_short, c_void};
use proptest::collection::vec;
use proptest::prelude::{Strategy as Generator, any, prop_oneof};
use proptest::sample::select;
use shim_std::thread;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::ControlFlow;

/// Maximum number of threads besides the main thread.
const THREADS: usize = 3;
/// Maximum number of calls of a thread.
const CALLS: usize = 3;

/// Something that all threads have a descriptor of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Object {
    /// A counter.
    Counter,
    /// The end of a pipe that is read.
    Reader,
    /// The end that is written.
    Writer,
    /// A second descriptor of that.
    Copy,
}

const OBJECTS: [Object; 4] = [Object::Counter, Object::Reader, Object::Writer, Object::Copy];

/// A call. Each logs what it returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// Reads a number from the counter, or a byte from the pipe.
    Read(Object),
    /// Adds to the counter, or writes a byte into the pipe.
    Write(Object, u8),
    /// Makes calls return instead of waiting, or wait again.
    Nonblocking(Object, bool),
    /// Closes a descriptor.
    Close(Object),
    /// Asks what has happened, and waits for something to happen, or not.
    Poll(Object, c_short, bool),
    /// Has `epoll` watch a descriptor, or watch it in another way, or no more.
    Control(c_int, Object, c_int),
    /// Waits for what is watched, or only looks.
    Wait(bool),
}

/// The calls of each thread.
#[derive(Clone, Debug)]
pub struct Program {
    /// Whether reading the counter takes one.
    pub is_semaphore: bool,
    /// The counter's value from the start.
    pub counter: u32,
    /// What is watched from the start.
    pub watched: Vec<(Object, c_int)>,
    /// The threads that the main thread starts and waits for.
    pub threads: Vec<Vec<Call>>,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Program {
            is_semaphore,
            counter,
            watched,
            ..
        } = self;
        writeln!(f, "semaphore: {is_semaphore}, counter: {counter}, watched: {watched:?}")?;
        self.threads.iter().try_for_each(|calls| writeln!(f, "  {calls:?}"))
    }
}

const EDGE: c_int = libc::EPOLLET;
const ONCE: c_int = libc::EPOLLONESHOT;
const IN: c_int = libc::EPOLLIN;
const OUT: c_int = libc::EPOLLOUT;

fn events() -> impl Generator<Value = c_int> {
    select(&[IN, IN | EDGE, IN | EDGE, IN | ONCE, OUT, OUT | EDGE, IN | OUT | EDGE][..])
}

/// Calls on some of the objects.
fn calls(objects: &'static [Object]) -> impl Generator<Value = Call> {
    let object = || select(objects);
    prop_oneof![
        4 => object().prop_map(|object| match object {
            Object::Writer | Object::Copy => Call::Write(object, 1),
            _ => Call::Read(object),
        }),
        3 => (object(), 1..3u8).prop_map(|(object, value)| match object {
            Object::Reader => Call::Write(Object::Writer, value),
            _ => Call::Write(object, value),
        }),
        1 => (object(), any::<bool>()).prop_map(|(object, on)| Call::Nonblocking(object, on)),
        1 => object().prop_map(Call::Close),
        1 => (object(), select(&[libc::POLLIN, libc::POLLOUT, 0][..]), any::<bool>())
            .prop_map(|(object, events, waits)| Call::Poll(object, events, waits)),
        2 => (select(&[libc::EPOLL_CTL_ADD, libc::EPOLL_CTL_MOD, libc::EPOLL_CTL_DEL][..]), object(), events())
            .prop_map(|(how, object, events)| Call::Control(how, object, events)),
        3 => any::<bool>().prop_map(Call::Wait),
    ]
}

/// Programs of two or three threads.
pub fn programs() -> impl Generator<Value = Program> {
    let themes: [&'static [Object]; 3] = [
        &[Object::Counter],
        &[Object::Reader, Object::Writer],
        &[Object::Counter, Object::Reader, Object::Writer, Object::Copy],
    ];
    let theme = select(themes.to_vec());
    theme.prop_flat_map(|objects| {
        let threads = prop_oneof![
            vec(vec(calls(objects), 1..=CALLS), 2),
            vec(vec(calls(objects), 1..=2), THREADS),
        ];
        let watched = vec((select(objects), events()), 0..3);
        (any::<bool>(), 0..3u32, watched, threads).prop_map(|(is_semaphore, counter, watched, threads)| Program {
            is_semaphore,
            counter,
            watched,
            threads: without_lost_waits(threads),
        })
    })
}

/// Has no thread wait for a descriptor that another one closes, which is not supported.
fn without_lost_waits(mut threads: Vec<Vec<Call>>) -> Vec<Vec<Call>> {
    for closer in 0..threads.len() {
        let closed: Vec<Object> = threads[closer]
            .iter()
            .filter_map(|call| match call {
                Call::Close(object) => Some(*object),
                _ => None,
            })
            .collect();
        for (_, calls) in threads.iter_mut().enumerate().filter(|(thread, _)| *thread != closer) {
            for call in calls {
                if let Call::Read(object) | Call::Write(object, _) | Call::Poll(object, _, true) = *call
                    && closed.contains(&object)
                {
                    *call = Call::Poll(object, libc::POLLIN, false);
                }
            }
        }
    }
    threads
}

/// What a thread has seen: a value for each call.
type Seen = Vec<u8>;

/// What the threads of an execution have seen, and whether some are left over.
pub type Outcome = (bool, Vec<Seen>);

/// The observations of the current execution. Lies in the program's memory, so that it is part of the state.
#[derive(Default)]
struct Recorder {
    lengths: [Cell<u8>; THREADS],
    values: [[Cell<u8>; CALLS]; THREADS],
}

#[derive(Clone, Copy)]
struct Shared {
    recorder: &'static Recorder,
    program: &'static Program,
    objects: [c_int; OBJECTS.len()],
    epoll: c_int,
}

// SAFETY: all threads of a model run on one thread of the operating system.
unsafe impl Send for Shared {}

impl Shared {
    /// Makes a call; returns its result in a byte, with the highest bit set if it is an error.
    #[expect(
        clippy::undocumented_unsafe_blocks,
        reason = "all are calls of the system with room for what it writes"
    )]
    fn call(&self, call: Call) -> u8 {
        let at = |object: Object| self.objects[object as usize];
        let mut seen = 0;
        let result = unsafe {
            match call {
                Call::Read(object) => {
                    let mut bytes = [0u8; 8];
                    let size = if object == Object::Counter { 8 } else { 1 };
                    let read = libc::read(at(object), bytes.as_mut_ptr().cast(), size) as c_int;
                    seen = if read == 0 { 0x70 } else { bytes[0] };
                    read
                }
                Call::Write(object, value) => {
                    let value = u64::from(value);
                    let size = if object == Object::Counter { 8 } else { 1 };
                    libc::write(at(object), (&raw const value).cast::<c_void>(), size) as c_int
                }
                Call::Nonblocking(object, on) => {
                    libc::fcntl(at(object), libc::F_SETFL, if on { libc::O_NONBLOCK } else { 0 })
                }
                Call::Close(object) => libc::close(at(object)),
                Call::Poll(object, events, waits) => {
                    let mut entry = libc::pollfd {
                        fd: at(object),
                        events,
                        revents: 0,
                    };
                    let found = libc::poll(&raw mut entry, 1, if waits { -1 } else { 0 });
                    seen = entry.revents as u8;
                    found
                }
                Call::Control(how, object, events) => {
                    let mut event = libc::epoll_event {
                        events: events as u32,
                        u64: object as u64,
                    };
                    libc::epoll_ctl(self.epoll, how, at(object), &raw mut event)
                }
                Call::Wait(waits) => {
                    let mut events = [libc::epoll_event { events: 0, u64: 0 }; OBJECTS.len()];
                    let room = events.len() as c_int;
                    let found = libc::epoll_wait(self.epoll, events.as_mut_ptr(), room, if waits { -1 } else { 0 });
                    let told = events[..found.max(0) as usize].iter();
                    seen = told.map(|event| 1u8 << event.u64).sum();
                    found
                }
            }
        };
        match result {
            // SAFETY: the C library's own place for the number.
            ..0 => unsafe { *libc::__errno_location() as u8 | 0x80 },
            _ => seen,
        }
    }

    fn run(&self, thread: usize) {
        for (at, &call) in self.program.threads[thread].iter().enumerate() {
            let seen = self.call(call);
            self.recorder.values[thread][at].set(seen);
            self.recorder.lengths[thread].set(at as u8 + 1);
        }
    }
}

fn recorder() -> &'static Cell<Option<&'static Recorder>> {
    thread_local! {
        static RECORDER: &'static Cell<Option<&'static Recorder>> = Box::leak(Box::default());
    }
    RECORDER.with(|recorder| *recorder)
}

/// A model of the program.
///
/// # Panics
/// If this process cannot hold one.
pub fn model(program: &Program) -> Model {
    let program: &'static Program = Box::leak(Box::new(program.clone()));
    let recorder = recorder();
    let body = move || {
        let inside: &'static Recorder = Box::leak(Box::default());
        recorder.set(Some(inside));
        let mut pipe = [0; 2];
        let semaphore = if program.is_semaphore { libc::EFD_SEMAPHORE } else { 0 };
        // SAFETY: makes descriptors; there is room for two.
        let (counter, copy, epoll) = unsafe {
            assert_eq!(libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC), 0);
            (
                libc::eventfd(program.counter, semaphore),
                libc::dup(pipe[1]),
                libc::epoll_create1(0),
            )
        };
        let shared = Shared {
            recorder: inside,
            program,
            objects: [counter, pipe[0], pipe[1], copy],
            epoll,
        };
        for &(object, events) in &program.watched {
            shared.call(Call::Control(libc::EPOLL_CTL_ADD, object, events));
        }
        let threads: Vec<_> = (0..program.threads.len())
            .map(|thread| {
                thread::spawn(move || {
                    let shared = shared;
                    shared.run(thread);
                })
            })
            .collect();
        threads
            .into_iter()
            .for_each(|thread| thread.join().expect("it makes calls only"));
        Ok(())
    };
    Model::new(Options::NONE, body).unwrap_or_else(|error| panic!("{error}"))
}

struct Collector {
    recorder: &'static Cell<Option<&'static Recorder>>,
    threads: usize,
    outcomes: BTreeSet<Outcome>,
    error: Option<String>,
}

impl Observer<Erased> for Collector {
    fn execution(&mut self, _: &mut Erased, end: &End, _: &Trace, _: &Statistics) -> ControlFlow<()> {
        let stuck = match end {
            End::Blocked | End::Pruned => return ControlFlow::Continue(()),
            End::Complete => false,
            End::Failed(failure) if FailureKind::named(failure.kind).is_some_and(FailureKind::is_stuck) => true,
            End::Failed(failure) => {
                self.error = Some(failure.to_string());
                return ControlFlow::Break(());
            }
            End::Cut => return ControlFlow::Break(()),
        };
        let recorder = self
            .recorder
            .get()
            .expect("an execution begins with making its recorder");
        let seen = |thread: usize| {
            let values = &recorder.values[thread][..usize::from(recorder.lengths[thread].get())];
            values.iter().map(Cell::get).collect()
        };
        self.outcomes.insert((stuck, (0..self.threads).map(seen).collect()));
        ControlFlow::Continue(())
    }

    fn refined(&mut self) {
        self.outcomes.clear();
    }
}

/// The outcomes of a program; `None` if there are more than `executions`.
///
/// # Errors
/// If an execution fails in another way than by waiting for ever, or states that should be the same are not.
pub fn explore(program: &Program, strategy: Strategy, executions: u64) -> Result<Option<BTreeSet<Outcome>>, String> {
    let mut model = model(program);
    let limits = Limits {
        executions: Some(executions),
        depth: 1000,
        ..Limits::default()
    };
    model.prepare_for(strategy, &limits);
    if strategy == Strategy::States {
        model.join_what_is_unshared(1, |_, _| ());
    }
    model.exact_states(true);
    let mut explorer = Explorer::new(Erased::new(model), strategy, limits)
        .keep_going(true)
        .quantum(QUANTUM)
        .verify_states(true);
    let mut collector = Collector {
        recorder: recorder(),
        threads: program.threads.len(),
        outcomes: BTreeSet::new(),
        error: None,
    };
    let report = explorer.run(&mut collector);
    match (collector.error, report.verdict) {
        (Some(error), _) => Err(error),
        (None, Verdict::Incomplete { .. }) => Ok(None),
        (None, Verdict::Failed { failure, .. }) if failure.kind == "nondeterminism" => Err(failure.message),
        (None, _) => Ok(Some(collector.outcomes)),
    }
}
