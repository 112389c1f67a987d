//! Descriptors that are the model's own: counters (`eventfd`), timers (`timerfd`), pipes, pairs of sockets, and sets of
//! descriptors that are watched (`epoll`).
//!
//! What the kernel keeps of them would be out of sight. Here it is data, and a part of the program's state like any
//! other. This module is the kernel without its waiting: each call takes effect at once, or says that it would have to
//! wait (`EAGAIN`). Who waits, and what conflicts with what, is in `platform::interpose::descriptors`.
//!
//! The rules are those of Linux (`fs/eventfd.c`, `fs/timerfd.c`, `fs/pipe.c`, `net/unix/af_unix.c`, `fs/eventpoll.c`).
//! Differences:
//!
//! * A pipe has room for 64 KiB, and a socket for as many bytes as it would without the kernel's bookkeeping.
//! * `epoll_wait` tells of descriptors in the order of their numbers, and not in that in which they became ready. That
//!   differs only if there are more than it is asked for.
//! * The value of a counter is only kept once somebody has read it. Before that, all that can be told is whether it is
//!   zero.
//!
//! Invariant: a number belongs to the thread that has got it, and is never used again within an execution. So the
//! numbers of different threads do not depend on each other, and what a number meant before it was closed stays known.

mod ends;
mod epoll;
mod timers;
mod variables;

use super::part::{Extent, Owner, Part, Visitor};
use dpor_explorer::{Effect, Location, Variable};
pub(crate) use ends::How;
use ends::{End, Pair};
pub(crate) use epoll::Event;
use epoll::Watch;
use libc::c_int;
use std::cell::UnsafeCell;
use std::time::Duration;
pub(crate) use timers::Timer;
pub(crate) use variables::VariableKind;

/// The lowest of the model's descriptors: above all that the kernel gives out.
const FIRST: usize = 1 << 24;
/// Maximum number of descriptors that a thread gets in an execution, as of `ulimit -n`.
const MOST: u32 = 1 << THREAD_SHIFT;
const THREAD_SHIFT: u32 = 10;
const NUMBER_BITS: u32 = 22;

/// The tag of locations.
const LOCATIONS: u64 = 0xF0DE;
/// The tag of variables.
const VARIABLES: u64 = 0xF0DF;

pub(crate) const IN: u32 = libc::EPOLLIN as u32;
pub(crate) const OUT: u32 = libc::EPOLLOUT as u32;
const RDNORM: u32 = libc::EPOLLRDNORM as u32;
const WRNORM: u32 = libc::EPOLLWRNORM as u32;
const WRBAND: u32 = libc::EPOLLWRBAND as u32;
pub(crate) const RDHUP: u32 = libc::EPOLLRDHUP as u32;
/// What is told whether it was asked for or not.
pub(crate) const ALWAYS: u32 = (libc::EPOLLERR | libc::EPOLLHUP) as u32;
const ERR: u32 = libc::EPOLLERR as u32;
const HUP: u32 = libc::EPOLLHUP as u32;
const EDGE: u32 = libc::EPOLLET as u32;
const ONCE: u32 = libc::EPOLLONESHOT as u32;
/// How a descriptor is watched, besides for what.
const HOW: u32 = EDGE | ONCE | (libc::EPOLLWAKEUP | libc::EPOLLEXCLUSIVE) as u32;

/// Number of bytes for which a pipe has room.
const PIPE: usize = 1 << 16;
/// The same of a socket.
const SOCKET: usize = 212_992;
/// Maximum number of bytes that a pipe takes as a whole or not at all.
pub(crate) const ATOMIC: usize = libc::PIPE_BUF;
/// The greatest value of a counter.
const GREATEST: u64 = u64::MAX - 1;

/// A descriptor, or what was opened by it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Number(u32);

impl Number {
    /// The number of no descriptor.
    pub const NONE: Number = Number(u32::MAX);

    /// The number of a descriptor, if it can be the model's.
    #[inline]
    pub fn of(descriptor: usize) -> Option<Number> {
        let number = (descriptor as c_int as usize).wrapping_sub(FIRST);
        (number >> NUMBER_BITS == 0).then_some(Number(number as u32))
    }

    /// The descriptor.
    pub fn descriptor(self) -> c_int {
        (FIRST + self.0 as usize) as c_int
    }

    /// Where what was opened by this descriptor is accessed.
    pub fn location(self) -> Location {
        Location(LOCATIONS << 48 | u64::from(self.0) << 3)
    }

    /// Where what is written into one direction of a pair is ordered before what is read.
    fn stream(self, stream: usize) -> Location {
        Location(self.location().0 | (stream as u64 + 1))
    }

    /// What is observed if somebody reads the value of a counter.
    pub fn count(self) -> Location {
        Location(self.location().0 | 3)
    }

    /// What is observed if somebody sets a timeout of a socket.
    pub fn timeout(self) -> Location {
        Location(self.location().0 | 4)
    }

    /// A variable of guards.
    pub fn variable(self, kind: VariableKind) -> Variable {
        Variable(VARIABLES << 48 | (kind as u64) << NUMBER_BITS | u64::from(self.0))
    }
}

/// A descriptor that was given to the program.
#[derive(Clone, Copy, Debug)]
struct Descriptor {
    number: Number,
    /// The descriptor by which what it stands for was opened.
    file: Number,
    is_open: bool,
    /// The thread that has closed it, if one has.
    closed_by: usize,
    closes_on_exec: bool,
}

/// What was opened.
#[derive(Clone, Debug)]
struct File {
    number: Number,
    /// What it is, or was before it was closed.
    sort: Sort,
    nonblocking: bool,
    kind: Kind,
}

/// What it is that was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sort {
    Counter,
    Pipe,
    Socket,
    Epoll,
    Timer,
}

impl Sort {
    pub const ALL: [Sort; 5] = [Sort::Counter, Sort::Pipe, Sort::Socket, Sort::Epoll, Sort::Timer];
}

#[derive(Clone, Debug)]
enum Kind {
    Counter {
        value: u64,
        is_semaphore: bool,
    },
    End(End),
    Timer(Timer),
    Epoll {
        watches: Vec<Watch>,
        /// The kernel's own, for descriptors that are the kernel's.
        kernels: Option<c_int>,
    },
    /// No descriptor of it is open any more.
    Closed,
}

/// All descriptors.
#[derive(Clone, Default, Debug)]
pub(crate) struct Table {
    /// Number of descriptors that each thread has got.
    given: Vec<u32>,
    /// All that were given out, also those that are closed, in order.
    descriptors: Vec<Descriptor>,
    /// What was opened, in order.
    files: Vec<File>,
    pairs: Vec<Pair>,
    /// Changes of variables that the present step has not noted yet.
    changes: Vec<Effect>,
}

type Result<T> = std::result::Result<T, c_int>;

impl Table {
    const fn new() -> Table {
        Table {
            given: Vec::new(),
            descriptors: Vec::new(),
            files: Vec::new(),
            pairs: Vec::new(),
            changes: Vec::new(),
        }
    }

    fn entry(&self, number: Number) -> Option<&Descriptor> {
        let at = self.descriptors.binary_search_by_key(&number, |other| other.number);
        at.ok().map(|at| &self.descriptors[at])
    }

    fn entry_mut(&mut self, number: Number) -> Option<&mut Descriptor> {
        let at = self.descriptors.binary_search_by_key(&number, |other| other.number);
        at.ok().map(|at| &mut self.descriptors[at])
    }

    /// What the descriptor stands for, or has stood for before it was closed: always the same.
    pub fn file_of(&self, number: Number) -> Option<Number> {
        self.entry(number).map(|entry| entry.file)
    }

    /// What the descriptor stands for, if it is open.
    pub fn opened(&self, number: Number) -> Result<Number> {
        let entry = self.entry(number).filter(|entry| entry.is_open);
        entry.map(|entry| entry.file).ok_or(libc::EBADF)
    }

    fn file(&self, number: Number) -> &File {
        let at = self.files.binary_search_by_key(&number, |file| file.number);
        &self.files[at.expect("descriptors stand for files")]
    }

    fn file_mut(&mut self, number: Number) -> &mut File {
        let at = self.files.binary_search_by_key(&number, |file| file.number);
        &mut self.files[at.expect("descriptors stand for files")]
    }

    /// Where the file is accessed. Both ends of a pair are accessed at one location.
    pub fn location_of(&self, file: Number) -> Location {
        let pair = self.pairs.iter().find(|pair| {
            // The second end gets the number after the first.
            pair.number == file || pair.number.0 + 1 == file.0
        });
        pair.map_or(file, |pair| pair.number).location()
    }

    /// Gives a descriptor to the thread, which stands for `file`, or for itself.
    fn give(&mut self, thread: usize, file: Option<Number>, closes_on_exec: bool) -> Result<Number> {
        if self.given.len() <= thread {
            self.given.resize(thread + 1, 0);
        }
        let given = &mut self.given[thread];
        let number = (thread as u32) << THREAD_SHIFT | *given;
        if *given == MOST || number >> NUMBER_BITS != 0 {
            return Err(libc::EMFILE);
        }
        *given += 1;
        let number = Number(number);
        let at = self.descriptors.partition_point(|other| other.number < number);
        let entry = Descriptor {
            number,
            file: file.unwrap_or(number),
            is_open: true,
            closed_by: 0,
            closes_on_exec,
        };
        self.descriptors.insert(at, entry);
        Ok(number)
    }

    fn open(&mut self, thread: usize, sort: Sort, flags: c_int, kind: impl FnOnce(Number) -> Kind) -> Result<Number> {
        let number = self.give(thread, None, flags & libc::O_CLOEXEC != 0)?;
        let file = File {
            number,
            sort,
            nonblocking: flags & libc::O_NONBLOCK != 0,
            kind: kind(number),
        };
        let at = self.files.partition_point(|other| other.number < number);
        self.files.insert(at, file);
        Ok(number)
    }

    /// `eventfd`.
    pub fn counter(&mut self, thread: usize, value: u32, flags: c_int) -> Result<Number> {
        let known = libc::EFD_CLOEXEC | libc::EFD_NONBLOCK | libc::EFD_SEMAPHORE;
        if flags & !known != 0 {
            return Err(libc::EINVAL);
        }
        self.open(thread, Sort::Counter, flags, |_| Kind::Counter {
            value: u64::from(value),
            is_semaphore: flags & libc::EFD_SEMAPHORE != 0,
        })
    }

    /// `dup`.
    pub fn duplicate(&mut self, thread: usize, number: Number, closes_on_exec: bool) -> Result<Number> {
        let file = self.opened(number)?;
        self.give(thread, Some(file), closes_on_exec)
    }

    /// `close`.
    pub fn close(&mut self, thread: usize, number: Number) -> Result<()> {
        let file = self.opened(number)?;
        let entry = self.entry_mut(number).expect("an open descriptor has an entry");
        (entry.is_open, entry.closed_by) = (false, thread);
        if self.is_open(file) {
            return Ok(());
        }
        let kind = &mut self.file_mut(file).kind;
        // What was watched goes on to change: the steps that do so need not wait for this one.
        if let Kind::Epoll { kernels, .. } = kind {
            close_kernels(kernels.take());
        } else if let Kind::End(end) = std::mem::replace(kind, Kind::Closed) {
            self.close_end(end);
        }
        Ok(())
    }

    /// Whether some descriptor of the file is open.
    fn is_open(&self, file: Number) -> bool {
        self.descriptors.iter().any(|other| other.is_open && other.file == file)
    }

    /// Whether another thread than this one has closed the descriptor.
    pub fn is_closed_by_another(&self, number: Number, thread: usize) -> bool {
        let closed = self.entry(number).filter(|entry| !entry.is_open);
        closed.is_some_and(|entry| entry.closed_by != thread)
    }

    /// What `poll` tells of the file.
    fn mask(&self, file: Number) -> u32 {
        match &self.file(file).kind {
            &Kind::Counter { value, .. } => {
                let readable = if value > 0 { IN } else { 0 };
                let writable = if value < GREATEST { OUT } else { 0 };
                readable | writable
            }
            Kind::Timer(timer) => {
                if timer.expired > 0 {
                    IN
                } else {
                    0
                }
            }
            &Kind::End(end) => self.mask_of_end(end),
            Kind::Epoll { watches, .. } => {
                let is_ready = watches.iter().any(|watch| watch.is_ready);
                if is_ready { IN | RDNORM } else { 0 }
            }
            Kind::Closed => 0,
        }
    }

    /// What `poll` tells of an open descriptor, of these events.
    pub fn poll(&self, number: Number, events: u32) -> u32 {
        match self.opened(number) {
            Ok(file) => self.mask(file) & (events | ALWAYS),
            Err(_) => libc::POLLNVAL as u32,
        }
    }

    /// Reads up to `size` bytes.
    pub fn read(&mut self, file: Number, size: usize, how: How) -> Result<Vec<u8>> {
        match &mut self.file_mut(file).kind {
            Kind::Counter { .. } if size < 8 => Err(libc::EINVAL),
            Kind::Counter { value: 0, .. } => Err(libc::EAGAIN),
            Kind::Counter { value, is_semaphore } => {
                let read = if *is_semaphore { 1 } else { *value };
                *value -= read;
                self.tell(file, OUT);
                Ok(read.to_ne_bytes().to_vec())
            }
            Kind::Timer(_) if size < 8 => Err(libc::EINVAL),
            Kind::Timer(timer) => match std::mem::take(&mut timer.expired) {
                0 => Err(libc::EAGAIN),
                expired => Ok(expired.to_ne_bytes().to_vec()),
            },
            &mut Kind::End(end) => self.read_end(file, end, size, how),
            Kind::Epoll { .. } => Err(libc::EINVAL),
            Kind::Closed => Err(libc::EBADF),
        }
    }

    /// Writes bytes: all, or as many as there is room for. Of a counter, the value is kept if it `counts`.
    pub fn write(&mut self, file: Number, bytes: &[u8], counts: bool) -> Result<usize> {
        match &mut self.file_mut(file).kind {
            Kind::Counter { value, .. } => {
                let written = u64::from_ne_bytes(*bytes.first_chunk().ok_or(libc::EINVAL)?);
                if written == u64::MAX {
                    return Err(libc::EINVAL);
                }
                let sum = value.checked_add(written).filter(|&sum| sum <= GREATEST);
                let sum = sum.ok_or(libc::EAGAIN)?;
                *value = if counts { sum } else { sum.min(1) };
                self.tell(file, IN);
                Ok(8)
            }
            &mut Kind::End(end) => self.write_end(end, bytes),
            Kind::Epoll { .. } | Kind::Timer(_) => Err(libc::EINVAL),
            Kind::Closed => Err(libc::EBADF),
        }
    }

    /// What the file is, or was before it was closed.
    pub fn sort(&self, file: Number) -> Sort {
        self.file(file).sort
    }

    /// The flags of what was opened, as of `F_GETFL`.
    pub fn flags(&self, file: Number) -> c_int {
        let opened = self.file(file);
        let mode = match opened.kind {
            Kind::End(end) if !self.pair(end.pair).is_socket => [libc::O_RDONLY, libc::O_WRONLY][end.side],
            _ => libc::O_RDWR,
        };
        mode | if opened.nonblocking { libc::O_NONBLOCK } else { 0 }
    }

    /// Sets whether calls return instead of waiting.
    pub fn set_nonblocking(&mut self, file: Number, nonblocking: bool) {
        self.file_mut(file).nonblocking = nonblocking;
    }

    /// Whether the descriptor is closed when another program is executed.
    pub fn closes_on_exec(&self, number: Number) -> bool {
        self.entry(number).is_some_and(|entry| entry.closes_on_exec)
    }

    /// Sets that.
    pub fn set_closes_on_exec(&mut self, number: Number, closes: bool) {
        if let Some(entry) = self.entry_mut(number) {
            entry.closes_on_exec = closes;
        }
    }

    /// Where what was written to the file, closed or shut down is ordered before what is read from it, or told of it.
    /// Of these events: that there is room orders nothing, and an error at the end that is written is that the other
    /// end was closed.
    pub fn ordered(&self, file: Number, events: u32) -> Option<Location> {
        match self.file(file).kind {
            Kind::Counter { .. } if events & IN != 0 => Some(file.location()),
            Kind::End(end) if events & !(OUT | WRNORM | WRBAND) != 0 => {
                let pair = self.pair(end.pair);
                let at = pair.read_by(end.side).or(pair.written_by(end.side))?;
                Some(end.pair.stream(at))
            }
            _ => None,
        }
    }

    /// Where closing the descriptor is ordered before what the other end finds: nowhere, if another one stays open.
    pub fn orders_of_close(&self, number: Number) -> [Option<Location>; 2] {
        let Some(entry) = self.entry(number) else {
            return [None; 2];
        };
        let others = |other: &&Descriptor| other.is_open && other.file == entry.file && other.number != number;
        match self.descriptors.iter().find(others) {
            Some(_) => [None; 2],
            None => self.orders(entry.file),
        }
    }

    /// Where what is written to the file now is ordered before what is read at the other end. For closing and shutting
    /// down, at both.
    pub fn orders(&self, file: Number) -> [Option<Location>; 2] {
        match self.file(file).kind {
            Kind::Counter { .. } => [Some(file.location()), None],
            Kind::End(end) => {
                let pair = self.pair(end.pair);
                let at = |at: Option<usize>| at.map(|at| end.pair.stream(at));
                [at(pair.written_by(end.side)), at(pair.read_by(end.side))]
            }
            _ => [None; 2],
        }
    }
}

fn close_kernels(descriptor: Option<c_int>) {
    if let Some(descriptor) = descriptor {
        // SAFETY: the model has opened it, and nobody else knows of it.
        unsafe { libc::syscall(libc::SYS_close, descriptor) };
    }
}

struct Shared(UnsafeCell<Table>);

// SAFETY: the table is touched only by the OS thread that runs the model, in functions that call nobody else meanwhile.
unsafe impl Sync for Shared {}

#[unsafe(link_section = ".dpor.data")]
static TABLE: Shared = Shared(UnsafeCell::new(Table::new()));

/// The table of the current execution. Borrows must end before a model thread goes on.
pub(crate) fn table<'a>() -> &'a mut Table {
    // SAFETY: see `Shared`.
    unsafe { &mut *TABLE.0.get() }
}

/// The table as a part of the state.
pub(crate) struct Descriptors;

impl Part for Descriptors {
    type Saved = Table;

    unsafe fn reset(&mut self) {
        for file in &table().files {
            if let Kind::Epoll { kernels, .. } = file.kind {
                close_kernels(kernels);
            }
        }
        table().clone_from(&Table::default());
    }

    fn visit(&self, _: Extent, visitor: &mut impl Visitor) {
        let owner = Owner::Program;
        let table = table();
        let mut add = |name, number: u64| visitor.number(owner, name, number);
        add("descriptors", table.descriptors.len() as u64);
        for entry in &table.descriptors {
            add("descriptor", u64::from(entry.number.0) << 32 | u64::from(entry.file.0));
            let flags = u64::from(entry.is_open) << 1 | u64::from(entry.closes_on_exec);
            add("descriptor's flags", (entry.closed_by as u64) << 2 | flags);
        }
        for file in &table.files {
            let is_closed = !table.is_open(file.number);
            let flags = u64::from(file.nonblocking) << 1 | u64::from(is_closed);
            add("kind of a descriptor", (file.sort as u64) << 2 | flags);
            match &file.kind {
                Kind::Counter { value, is_semaphore } => {
                    add("whether a counter is a semaphore", u64::from(*is_semaphore));
                    add("counter", *value);
                }
                Kind::End(end) => {
                    add("error of a socket", u64::from(end.is_reset));
                    end.timeouts
                        .iter()
                        .for_each(|&timeout| add("timeout of a socket", timeout));
                }
                Kind::Epoll { watches, .. } => {
                    add("watched descriptors", watches.len() as u64);
                    for watch in watches {
                        add(
                            "watched descriptor",
                            u64::from(watch.number.0) << 32 | u64::from(watch.file.0),
                        );
                        add("events of a watched descriptor", u64::from(watch.events));
                        add("data of a watched descriptor", watch.data);
                        add("whether a watched descriptor is ready", u64::from(watch.is_ready));
                    }
                }
                Kind::Timer(timer) => {
                    add("expirations of a timer", timer.expired);
                    for time in [timer.deadline.unwrap_or(Duration::MAX), timer.interval] {
                        add("time of a timer", time.as_secs());
                        add("time of a timer", u64::from(time.subsec_nanos()));
                    }
                }
                Kind::Closed => {}
            }
        }
        for pair in &table.pairs {
            for stream in &pair.streams {
                let flags = u64::from(pair.is_socket) << 1 | u64::from(stream.is_shut);
                visitor.number(owner, "bytes on their way", (stream.bytes.len() as u64) << 2 | flags);
                visitor.bytes(owner, "bytes on their way", &stream.bytes);
                visitor.number(owner, "writes on their way", stream.writes.len() as u64);
                for &write in &stream.writes {
                    visitor.number(owner, "bytes left of a write", write as u64);
                }
            }
        }
    }

    unsafe fn save(&self, saved: &mut Table, _: &mut Vec<u8>) {
        saved.clone_from(table());
    }

    unsafe fn load(&mut self, saved: &Table, _: &mut &[u8]) {
        table().clone_from(saved);
    }
}

#[cfg(test)]
mod tests;
