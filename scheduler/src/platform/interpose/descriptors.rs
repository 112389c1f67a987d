//! Calls on descriptors that are the model's own: what they do is in [`crate::image::descriptors`]; here they are
//! operations of the model, which wait, and conflict.
//!
//! A call is one step, on the location of what its descriptor stands for; both ends of a pipe or a pair share one.
//! `epoll_wait` is two: the first looks which descriptors are watched, and the second waits, on the locations of these.
//! If others are watched when the second takes effect, it does nothing, and both are made again. Where timers are
//! watched, a step between the two looks when they expire.
//!
//! Invariant: what an operation declares does not depend on when its thread arrives at it. What a descriptor stands for
//! never changes, and everything else that decides what is declared is looked at in a step before.
//!
//! What a thread has done before it writes, closes or shuts down happens before what another does after it has read
//! that, or was told of it by `epoll_wait` or `poll`.
//!
//! Descriptors of other kinds (files, sockets of the network) are the kernel's, as are those that were there before the
//! test. A set of descriptors can watch both: for the kernel's, the kernel is asked, without waiting.
//!
//! Deliberately absent: sets of descriptors that watch others, descriptors that are sent through a socket, and `dup2`,
//! which would change what a descriptor stands for: such a call ends the execution as unsupported. So does a wait for
//! a descriptor that another thread has closed. On Linux, a call that has begun goes on with what it has been opened
//! by, and whether it has begun would depend on when its thread arrived. Absent are signals: `SIGPIPE` is one that
//! Rust's runtime ignores.

mod bytes;
mod control;
mod epoll;
mod poll;
mod timers;

use super::{clock, failed, interposed, unsupported};
use crate::api::{effect, order, ownership, perform_call, time};
use crate::image::arena::in_program;
use crate::image::descriptors::{Number, Sort, Table, VariableKind as V, table};
use crate::image::region;
use crate::image::switch::in_checker;
use crate::image::variables::value_of;
use crate::operation::{Operation, OperationKind as K, access_of};
use bytes::{Buffers, Flags};
use dpor_explorer::{AccessKind, Condition, Effect, Location, Variable};
use libc::{c_int, c_long};
use std::time::Duration;

/// The result of a step that must be made again.
const AGAIN: i64 = i64::MIN;
/// Maximum number of descriptors at which a call looks.
const MOST: usize = 32;

/// Makes a system call of a model thread, if it is one on descriptors of the model.
///
/// # Safety
///
/// That of the system call.
pub(super) unsafe fn call(number: c_long, arguments: [usize; 6]) -> Option<c_long> {
    if !in_program() {
        return None;
    }
    let [a, b, c, d, e, _] = arguments;
    // SAFETY: the caller's promise.
    unsafe {
        match number {
            libc::SYS_eventfd => Some(create(|table, thread| table.counter(thread, a as u32, 0))),
            libc::SYS_eventfd2 => Some(create(|table, thread| table.counter(thread, a as u32, b as c_int))),
            libc::SYS_timerfd_create => Some(create(|table, thread| table.timer(thread, b as c_int))),
            libc::SYS_epoll_create if a as c_int <= 0 => Some(failed(libc::EINVAL)),
            libc::SYS_epoll_create => Some(create(|table, thread| table.epoll(thread, 0))),
            libc::SYS_epoll_create1 => Some(create(|table, thread| table.epoll(thread, a as c_int))),
            libc::SYS_pipe => pipe(a, 0),
            libc::SYS_pipe2 => pipe(a, b as c_int),
            libc::SYS_socketpair => socket_pair([a, b, c], d),
            libc::SYS_epoll_ctl => epoll::control(a, b as c_int, c, d),
            libc::SYS_epoll_wait | libc::SYS_epoll_pwait => {
                Number::of(a).map(|epoll| epoll::wait(epoll, b, c as c_int, milliseconds(d)))
            }
            libc::SYS_epoll_pwait2 => {
                let epoll = Number::of(a)?;
                Some(with_timeout(d, |timeout| epoll::wait(epoll, b, c as c_int, timeout)))
            }
            libc::SYS_poll => poll::poll(a, b, || Ok(milliseconds(c))),
            libc::SYS_ppoll => poll::poll(a, b, || timespec(c)),
            libc::SYS_dup2 | libc::SYS_dup3 => {
                of_either([a, b]).then(|| unsupported("dup2 of a pipe, socket or eventfd"))
            }
            // These move bytes between descriptors of certain kinds only, and callers do without.
            libc::SYS_splice | libc::SYS_copy_file_range if of_either([a, c]) => Some(failed(libc::EINVAL)),
            libc::SYS_sendfile | libc::SYS_tee if of_either([a, b]) => Some(failed(libc::EINVAL)),
            libc::SYS_vmsplice if of_either([a, a]) => Some(failed(libc::EINVAL)),
            _ => {
                let descriptor = Number::of(a)?;
                match number {
                    libc::SYS_read => Some(bytes::read(descriptor, Buffers::one(b, c), Flags::NONE)),
                    libc::SYS_readv => Some(bytes::read(descriptor, Buffers::of(b, c), Flags::NONE)),
                    libc::SYS_recvfrom => Some(bytes::receive(
                        descriptor,
                        Buffers::one(b, c),
                        d as c_int,
                        [e, arguments[5]],
                    )),
                    libc::SYS_recvmsg => Some(bytes::receive_message(descriptor, b, c as c_int)),
                    libc::SYS_write => Some(bytes::write(descriptor, Buffers::one(b, c), Flags::NONE)),
                    libc::SYS_writev => Some(bytes::write(descriptor, Buffers::of(b, c), Flags::NONE)),
                    libc::SYS_sendto if e != 0 => Some(failed(libc::EISCONN)),
                    libc::SYS_sendto => Some(bytes::send(descriptor, Buffers::one(b, c), d as c_int)),
                    libc::SYS_sendmsg => Some(bytes::send_message(descriptor, b, c as c_int)),
                    libc::SYS_timerfd_settime => Some(timers::set(descriptor, b as c_int, c, d)),
                    libc::SYS_timerfd_gettime => Some(timers::get(descriptor, b)),
                    libc::SYS_close => Some(close(descriptor)),
                    libc::SYS_dup => Some(duplicate(descriptor, false)),
                    libc::SYS_fcntl => Some(control::file_control(descriptor, b as c_int, c)),
                    libc::SYS_ioctl => Some(control::device_control(descriptor, b, c)),
                    libc::SYS_shutdown => Some(control::shut_down(descriptor, b as c_int)),
                    libc::SYS_getsockopt => Some(control::option(descriptor, [b, c], d, e)),
                    libc::SYS_setsockopt => Some(control::set_option(descriptor, [b, c], d, e)),
                    libc::SYS_getsockname | libc::SYS_getpeername => Some(control::name(descriptor, [b, c])),
                    // The kernel would say that there is no such descriptor.
                    libc::SYS_fstat | libc::SYS_statx | libc::SYS_newfstatat => {
                        Some(unsupported("fstat of a pipe, socket or eventfd"))
                    }
                    libc::SYS_lseek | libc::SYS_pread64 | libc::SYS_pwrite64 => {
                        Some(unsupported("lseek, pread or pwrite of a pipe, socket or eventfd"))
                    }
                    libc::SYS_fsync | libc::SYS_fdatasync | libc::SYS_ftruncate => {
                        Some(unsupported("fsync or ftruncate of a pipe, socket or eventfd"))
                    }
                    _ => None,
                }
            }
        }
    }
}

fn of_either(descriptors: [usize; 2]) -> bool {
    descriptors.iter().any(|&descriptor| Number::of(descriptor).is_some())
}

/// The result of a call: `result`, or the error that it is the negative of.
fn returned(result: i64) -> c_long {
    if result < 0 { failed(-result as c_int) } else { result }
}

/// A result of the table as one number.
fn encoded(result: Result<usize, c_int>) -> i64 {
    result.map_or_else(|error| -i64::from(error), |value| value as i64)
}

/// The index of the current thread.
fn this_thread() -> usize {
    region::stack_thread(region::stack_pointer())
}

/// The result of a call that makes a descriptor. A number is not used again after it was closed.
fn made(result: i64) -> c_long {
    match result == -i64::from(libc::EMFILE) {
        true => unsupported("more than 1,024 pipes, sockets, eventfds and the like of one thread"),
        false => returned(result),
    }
}

/// Makes a descriptor, which concerns no other thread yet.
fn create(make: impl FnOnce(&mut Table, usize) -> Result<Number, c_int>) -> c_long {
    ownership::visible();
    let thread = this_thread();
    made(in_checker(|| {
        encoded(make(table(), thread).map(|number| number.descriptor() as usize))
    }))
}

/// Makes two, and writes them where the caller asks for them.
unsafe fn create_two(descriptors: usize, flags: c_int, is_socket: bool) -> c_long {
    ownership::visible();
    let thread = this_thread();
    made(in_checker(|| match table().pair_of(thread, flags, is_socket) {
        Ok(both) => {
            // SAFETY: the caller of the system call promises room for two.
            unsafe { (descriptors as *mut [c_int; 2]).write(both.map(Number::descriptor)) };
            0
        }
        Err(error) => -i64::from(error),
    }))
}

unsafe fn pipe(descriptors: usize, flags: c_int) -> Option<c_long> {
    // Packets (`O_DIRECT`) are left to the kernel.
    let plain = flags & !(libc::O_CLOEXEC | libc::O_NONBLOCK) == 0;
    // SAFETY: the caller's promise.
    plain.then(|| unsafe { create_two(descriptors, flags, false) })
}

unsafe fn socket_pair([domain, kind, protocol]: [usize; 3], descriptors: usize) -> Option<c_long> {
    let flags = kind as c_int & (libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK);
    let is_stream = domain as c_int == libc::AF_UNIX && kind as c_int & !flags == libc::SOCK_STREAM && protocol == 0;
    // SAFETY: the caller's promise.
    is_stream.then(|| unsafe { create_two(descriptors, flags, true) })
}

/// The value of a variable. The table is looked at on the checker's stack: this one would keep where it lies.
fn value(file: Number, kind: V) -> i64 {
    in_checker(|| value_of(file.variable(kind)))
}

/// What a call is about: what its descriptor stands for, and where that is accessed.
#[derive(Clone, Copy)]
struct Target {
    number: Number,
    file: Number,
    home: Location,
    sort: Sort,
}

impl Target {
    /// `None` if there never was such a descriptor. One that is closed still names its target.
    fn of(number: Number) -> Option<Target> {
        let [file, home, sort] = in_checker(|| match table().file_of(number) {
            Some(file) => [
                file.descriptor() as u64,
                table().location_of(file).0,
                table().sort(file) as u64,
            ],
            None => [u64::MAX; 3],
        });
        let file = Number::of(usize::try_from(file).ok().filter(|_| file != u64::MAX)?)?;
        Some(Target {
            number,
            file,
            home: Location(home),
            sort: Sort::ALL[sort as usize],
        })
    }

    /// Makes a call that takes effect at once, if the descriptor is still open.
    fn now(&self, call: impl FnOnce(&mut Table, Number) -> Result<usize, c_int>) -> i64 {
        let result = in_checker(|| match table().opened(self.number) {
            Ok(file) => encoded(table().change(|table| call(table, file))),
            Err(error) => -i64::from(error),
        });
        note_changes();
        result
    }

    fn value(&self, kind: V) -> i64 {
        value(self.file, kind)
    }

    /// The condition that a variable still has this value, as its opposite.
    fn differs(&self, kind: V, value: i64) -> [Condition; 2] {
        let variable = self.file.variable(kind);
        [
            Condition::LessThan(variable, value),
            Condition::AtLeast(variable, value + 1),
        ]
    }

    /// The condition that the descriptor is open, or not.
    fn is_open(&self, open: bool) -> Condition {
        Condition::Equals(self.number.variable(V::Open), i64::from(open))
    }

    /// Whether the descriptor was closed by another thread. Whoever waits for it then would go on to wait, or would
    /// not, by whether its call had begun.
    fn is_lost(&self) -> bool {
        let thread = this_thread();
        in_checker(|| table().is_closed_by_another(self.number, thread))
    }

    /// Where something of the target is ordered.
    fn ordered(&self, which: impl FnOnce(&Table, Number) -> [Option<Location>; 2]) -> [u64; 2] {
        in_checker(|| which(table(), self.file).map(|location| location.map_or(0, |location| location.0)))
    }
}

/// Notes the changes of variables in the present step.
fn note_changes() {
    loop {
        // As plain numbers, for an absent value has whatever was in the checker's registers.
        let [variable, before, after] = in_checker(|| match table().next_change() {
            Some(change) => [change.variable.0, change.before as u64, change.after as u64],
            None => [0; 3],
        });
        if variable == 0 {
            break;
        }
        effect(Effect {
            variable: Variable(variable),
            before: before as i64,
            after: after as i64,
        });
    }
}

fn acquire(locations: [u64; 2]) {
    locations
        .iter()
        .filter(|&&location| location != 0)
        .for_each(|&location| order::acquire(Location(location)));
}

fn release(locations: [u64; 2]) {
    locations
        .iter()
        .filter(|&&location| location != 0)
        .for_each(|&location| order::release(Location(location)));
}

/// What is told to a thread that waits for a descriptor which another one has closed.
const LOST: &str = "a wait for a descriptor that another thread closes";

/// The end of a wait in absolute time, since a wait may begin again.
#[derive(Clone, Copy)]
struct Deadline {
    timeout: Option<Duration>,
    at: Duration,
}

impl Deadline {
    fn of(timeout: Option<Duration>) -> Deadline {
        Deadline {
            timeout,
            at: timeout.map_or(Duration::ZERO, |timeout| time::passed().saturating_add(timeout)),
        }
    }

    /// Whether the call is not to wait.
    fn is_now(&self) -> bool {
        self.timeout == Some(Duration::ZERO)
    }

    /// The time that is left, and when the first of what ends the wait comes: this, or a timer that expires.
    fn with(&self, expires: Option<Duration>) -> (Option<Duration>, Option<Duration>) {
        let ends = self.timeout.map(|_| self.at);
        match expires.filter(|&expires| !self.is_now() && ends.is_none_or(|ends| expires <= ends)) {
            Some(expires) => (Some(clock::until(expires)), Some(expires)),
            // One that is longer than any run stays so.
            None => (self.timeout.map(|_| clock::until(self.at)), None),
        }
    }
}

/// Lets the time pass of a wait that has timed out. Says whether it begins again: a timer of which nobody is told ends
/// no wait.
fn begins_again(told: i64, timeout: Option<Duration>, expires: Option<Duration>) -> bool {
    if expires.is_none() {
        timeout.into_iter().for_each(time::timed_out);
    }
    expires.is_some() && told == 0
}

/// Whether a step with this result has changed anything.
fn kind_of(result: i64) -> AccessKind {
    if result < 0 {
        AccessKind::Read
    } else {
        AccessKind::Write
    }
}

/// What a call orders that never waits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Orders {
    Nothing,
    /// It comes before what the other end finds.
    OtherEnd,
    /// The same, if no other descriptor of it is open.
    OtherEndIfLast,
}

/// Makes a call that never waits.
fn at_once(
    kind: K,
    number: Number,
    access: AccessKind,
    orders: Orders,
    call: impl Fn(&mut Table, Number) -> Result<usize, c_int>,
) -> c_long {
    returned(step(kind, number, access, orders, call))
}

/// Makes a call that never waits. The result is negative if it is an error.
fn step(
    kind: K,
    number: Number,
    access: AccessKind,
    orders: Orders,
    call: impl Fn(&mut Table, Number) -> Result<usize, c_int>,
) -> i64 {
    let Some(target) = Target::of(number) else {
        return -i64::from(libc::EBADF);
    };
    let accesses = [access_of(target.home, access)];
    perform_call(&Operation::always(kind, target.home, &accesses), |_, touch| {
        match orders {
            Orders::Nothing => {}
            Orders::OtherEnd => release(target.ordered(Table::orders)),
            Orders::OtherEndIfLast => release(target.ordered(|table, _| table.orders_of_close(number))),
        }
        let result = target.now(&call);
        let done = if access == AccessKind::Read {
            access
        } else {
            kind_of(result)
        };
        touch.relaxed().access(target.home, done);
        result
    })
}

fn close(number: Number) -> c_long {
    let thread = this_thread();
    let access = AccessKind::Write;
    at_once(
        K::CloseDescriptor,
        number,
        access,
        Orders::OtherEndIfLast,
        |table, _| table.close(thread, number).map(|()| 0),
    )
}

fn duplicate(number: Number, closes_on_exec: bool) -> c_long {
    let thread = this_thread();
    let access = AccessKind::Write;
    made(step(
        K::ControlDescriptor,
        number,
        access,
        Orders::Nothing,
        |table, _| {
            let other = table.duplicate(thread, number, closes_on_exec)?;
            Ok(other.descriptor() as usize)
        },
    ))
}

fn milliseconds(timeout: usize) -> Option<Duration> {
    u64::try_from(timeout as c_int).ok().map(Duration::from_millis)
}

/// The timeout at the address; none if there is no address.
fn timespec(timeout: usize) -> Result<Option<Duration>, c_int> {
    if timeout == 0 {
        return Ok(None);
    }
    // SAFETY: the caller of the system call promises a time.
    unsafe { clock::duration(timeout) }.map(Some)
}

fn with_timeout(timeout: usize, call: impl FnOnce(Option<Duration>) -> c_long) -> c_long {
    timespec(timeout).map_or_else(failed, call)
}

/// Makes the call for a function of the C library, whose caller promises what that of the system call does.
pub(super) fn modelled(number: c_long, arguments: [usize; 6]) -> Option<c_long> {
    // SAFETY: the caller's promise.
    unsafe { call(number, arguments) }
}

interposed! {
    timerfd_settime(timer, flags, new, old) = SYS_timerfd_settime => None;
    timerfd_gettime(timer, shown) = SYS_timerfd_gettime => None;
    epoll_ctl(epoll, how, descriptor, event) = SYS_epoll_ctl => None;
    ioctl(descriptor, request, argument) = SYS_ioctl => None;
    fstat(descriptor, shown) = SYS_fstat => None;
    fstat64(descriptor, shown) = SYS_fstat => None;
    statx(folder, path, flags, mask, shown) = SYS_statx => None;
    lseek(descriptor, offset, from) = SYS_lseek => None;
    lseek64(descriptor, offset, from) = SYS_lseek => None;
    pread(descriptor, buffer, size, offset) = SYS_pread64 => None;
    pread64(descriptor, buffer, size, offset) = SYS_pread64 => None;
    pwrite(descriptor, buffer, size, offset) = SYS_pwrite64 => None;
    pwrite64(descriptor, buffer, size, offset) = SYS_pwrite64 => None;
    fsync(descriptor) = SYS_fsync => None;
    fdatasync(descriptor) = SYS_fdatasync => None;
    ftruncate(descriptor, size) = SYS_ftruncate => None;
    ftruncate64(descriptor, size) = SYS_ftruncate => None;
    shutdown(socket, how) = SYS_shutdown => None;
    getsockopt(socket, level, option, value, length) = SYS_getsockopt => None;
    setsockopt(socket, level, option, value, length) = SYS_setsockopt => None;
    getsockname(socket, address, length) = SYS_getsockname => None;
    getpeername(socket, address, length) = SYS_getpeername => None;
    splice(from, offset, to, other_offset, count, flags) = SYS_splice => None;
    copy_file_range(from, offset, to, other_offset, count, flags) = SYS_copy_file_range => None;
    sendfile(to, from, offset, count) = SYS_sendfile => None;
    sendfile64(to, from, offset, count) = SYS_sendfile => None;
}
