//! Calls that would block the model's only OS thread until somebody else acts: recognised when a model thread makes
//! one.
//!
//! What would not block is passed on. A descriptor that is ready when it is asked for stays so: between two steps of
//! one model thread no other thread takes anything from it. So what is read next is what others have written, and their
//! accesses to memory before that happen before those of the reader after it.

use super::descriptors::modelled;
use super::{interposed, raw, unsupported};
use crate::api::order;
use crate::image::arena::in_program;
use dpor_explorer::Location;
use libc::{c_int, c_long, pollfd};

/// Where threads publish what they know when they write to any descriptor: which of them share a pipe, a socket or a
/// file is not known.
const DESCRIPTORS: Location = Location(0xF0D5 << 48);

/// Says whether the descriptor is ready for `events`, or in an error; and orders the call on it that follows: who finds
/// something to read comes after those who have written. Nobody in the program reads what is printed.
fn is_ready(descriptor: usize, events: i16) -> bool {
    let mut asked = pollfd {
        fd: descriptor as c_int,
        events,
        revents: 0,
    };
    // SAFETY: one entry is read and written, without waiting.
    let ready = unsafe { raw(libc::SYS_poll, [(&raw mut asked).expose_provenance(), 1, 0, 0, 0, 0]) };
    if events == libc::POLLIN {
        if ready > 0 {
            order::acquire(DESCRIPTORS);
        }
    } else if descriptor > libc::STDERR_FILENO as usize {
        order::release(DESCRIPTORS);
    }
    ready != 0
}

/// Recognises a call on a descriptor that would block.
fn on_descriptor(name: &'static str, descriptor: usize, events: i16) -> Option<c_long> {
    if !in_program() || is_ready(descriptor, events) {
        return None;
    }
    // SAFETY: reads the flags of the descriptor.
    let flags = unsafe { raw(libc::SYS_fcntl, [descriptor, libc::F_GETFL as usize, 0, 0, 0, 0]) };
    let waits = flags >= 0 && flags as c_int & libc::O_NONBLOCK == 0;
    waits.then(|| unsupported(name))
}

/// Recognises a call on a descriptor that would block, unless its flags forbid that.
fn on_socket(name: &'static str, descriptor: usize, events: i16, flags: usize) -> Option<c_long> {
    if flags as c_int & libc::MSG_DONTWAIT == 0 {
        return on_descriptor(name, descriptor, events);
    }
    if in_program() {
        is_ready(descriptor, events);
    }
    None
}

/// Recognises a call that would wait: made without waiting, it finds nothing. `waits` says whether it may wait.
fn on_nothing(name: &'static str, waits: bool, number: c_long, arguments: [usize; 6]) -> Option<c_long> {
    if !waits || !in_program() {
        return None;
    }
    // SAFETY: the caller's call, but for its timeout.
    let found = unsafe { raw(number, arguments) };
    match found {
        0 => Some(unsupported(name)),
        error @ ..0 => Some(super::failed(-error as c_int)),
        found => Some(found),
    }
}

/// A timespec or timeval of zero: do not wait.
static NOW: [i64; 2] = [0; 2];

fn now() -> usize {
    (&raw const NOW).expose_provenance()
}

/// Whether the timeout at the address is longer than zero.
fn is_long(timeout: usize) -> bool {
    // SAFETY: a timespec or a timeval is two words, and the caller of the function promises one, or none.
    timeout == 0 || unsafe { *(timeout as *const [i64; 2]) } != [0; 2]
}

fn poll_call([list, count, timeout, ..]: [usize; 6]) -> Option<c_long> {
    on_nothing("poll", timeout as c_int != 0, libc::SYS_poll, [list, count, 0, 0, 0, 0])
}

fn ppoll_call([list, count, timeout, mask, size, _]: [usize; 6]) -> Option<c_long> {
    let arguments = [list, count, now(), mask, size, 0];
    on_nothing("ppoll", is_long(timeout), libc::SYS_ppoll, arguments)
}

/// Tries `select` without waiting. It empties the sets if it finds nothing, which is harmless in a call that ends the
/// test.
fn select_call([count, read, write, error, timeout, _]: [usize; 6]) -> Option<c_long> {
    let mut zero = NOW;
    let arguments = [count, read, write, error, (&raw mut zero).expose_provenance(), 0];
    on_nothing("select", is_long(timeout), libc::SYS_select, arguments)
}

fn epoll_call(name: &'static str, [epoll, events, count, timeout, mask, size]: [usize; 6]) -> Option<c_long> {
    let (number, arguments) = match name {
        "epoll_wait" => (libc::SYS_epoll_wait, [epoll, events, count, 0, 0, 0]),
        _ => (libc::SYS_epoll_pwait, [epoll, events, count, 0, mask, size]),
    };
    on_nothing(name, timeout as c_int != 0, number, arguments)
}

fn child_call(name: &'static str, number: c_long, arguments: [usize; 6], options: usize) -> Option<c_long> {
    let waits = options as c_int & libc::WNOHANG == 0;
    let place = if number == libc::SYS_waitid { 3 } else { 2 };
    let mut now = arguments;
    now[place] |= libc::WNOHANG as usize;
    on_nothing(name, waits, number, now)
}

fn flock_call(descriptor: usize, operation: usize) -> Option<c_long> {
    let try_it = [descriptor, operation | libc::LOCK_NB as usize, 0, 0, 0, 0];
    if !in_program() || operation as c_int & (libc::LOCK_NB | libc::LOCK_UN) != 0 {
        return None;
    }
    // SAFETY: takes the lock that the caller asks for.
    match unsafe { raw(libc::SYS_flock, try_it) } {
        error if error == -c_long::from(libc::EWOULDBLOCK) => Some(unsupported("flock")),
        error @ ..0 => Some(super::failed(-error as c_int)),
        done => Some(done),
    }
}

fn always(name: &'static str) -> Option<c_long> {
    in_program().then(|| unsupported(name))
}

/// Recognises a system call of a model thread that would block.
pub(super) fn call(number: c_long, arguments: [usize; 6]) -> Option<c_long> {
    let [a, b, c, d, ..] = arguments;
    match number {
        libc::SYS_read | libc::SYS_readv => on_descriptor("read", a, libc::POLLIN),
        libc::SYS_write | libc::SYS_writev => on_descriptor("write", a, libc::POLLOUT),
        libc::SYS_recvfrom => on_socket("recv", a, libc::POLLIN, d),
        libc::SYS_recvmsg => on_socket("recvmsg", a, libc::POLLIN, c),
        libc::SYS_sendto => on_socket("send", a, libc::POLLOUT, d),
        libc::SYS_sendmsg => on_socket("sendmsg", a, libc::POLLOUT, c),
        libc::SYS_accept | libc::SYS_accept4 => on_descriptor("accept", a, libc::POLLIN),
        libc::SYS_poll => poll_call(arguments),
        libc::SYS_ppoll => ppoll_call(arguments),
        libc::SYS_select => select_call(arguments),
        libc::SYS_epoll_wait => epoll_call("epoll_wait", arguments),
        libc::SYS_epoll_pwait => epoll_call("epoll_pwait", arguments),
        libc::SYS_wait4 => child_call("wait4", number, arguments, c),
        libc::SYS_waitid => child_call("waitid", number, arguments, d),
        libc::SYS_flock => flock_call(a, b),
        libc::SYS_pause | libc::SYS_rt_sigsuspend | libc::SYS_rt_sigtimedwait => always("a wait for a signal"),
        _ => None,
    }
}

interposed! {
    read(descriptor, buffer, size) = SYS_read => on_descriptor("read", descriptor, libc::POLLIN);
    readv(descriptor, buffers, count) = SYS_readv => on_descriptor("readv", descriptor, libc::POLLIN);
    write(descriptor, buffer, size) = SYS_write => on_descriptor("write", descriptor, libc::POLLOUT);
    writev(descriptor, buffers, count) = SYS_writev => on_descriptor("writev", descriptor, libc::POLLOUT);
    recv(socket, buffer, size, flags) = SYS_recvfrom => on_socket("recv", socket, libc::POLLIN, flags);
    recvfrom(socket, buffer, size, flags, address, length) = SYS_recvfrom =>
        on_socket("recvfrom", socket, libc::POLLIN, flags);
    recvmsg(socket, message, flags) = SYS_recvmsg => on_socket("recvmsg", socket, libc::POLLIN, flags);
    send(socket, buffer, size, flags) = SYS_sendto => on_socket("send", socket, libc::POLLOUT, flags);
    sendto(socket, buffer, size, flags, address, length) = SYS_sendto =>
        on_socket("sendto", socket, libc::POLLOUT, flags);
    sendmsg(socket, message, flags) = SYS_sendmsg => on_socket("sendmsg", socket, libc::POLLOUT, flags);
    accept(socket, address, length) = SYS_accept => on_descriptor("accept", socket, libc::POLLIN);
    accept4(socket, address, length, flags) = SYS_accept4 => on_descriptor("accept", socket, libc::POLLIN);
    poll(list, count, timeout) = SYS_poll => poll_call([list, count, timeout, 0, 0, 0]);
    select(count, read, write, error, timeout) = SYS_select => select_call([count, read, write, error, timeout, 0]);
    epoll_wait(epoll, events, count, timeout) = SYS_epoll_wait =>
        epoll_call("epoll_wait", [epoll, events, count, timeout, 0, 0]);
    waitpid(child, status, options) = SYS_wait4 =>
        child_call("waitpid", libc::SYS_wait4, [child, status, options, 0, 0, 0], options);
    wait4(child, status, options, usage) = SYS_wait4 =>
        child_call("wait4", libc::SYS_wait4, [child, status, options, usage, 0, 0], options);
    waitid(kind, id, information, options) = SYS_waitid =>
        child_call("waitid", libc::SYS_waitid, [kind, id, information, options, 0, 0], options);
    flock(descriptor, operation) = SYS_flock => flock_call(descriptor, operation);
    pause() = SYS_pause => always("pause");
}

interposed! {
    ppoll(list, count, timeout, mask) => modelled(libc::SYS_ppoll, [list, count, timeout, mask, 8, 0])
        .or_else(|| ppoll_call([list, count, timeout, mask, 8, 0]));
    epoll_pwait(epoll, events, count, timeout, mask) =>
        modelled(libc::SYS_epoll_pwait, [epoll, events, count, timeout, mask, 8])
            .or_else(|| epoll_call("epoll_pwait", [epoll, events, count, timeout, mask, 8]));
    epoll_pwait2(epoll, events, count, timeout, mask) =>
        modelled(libc::SYS_epoll_pwait2, [epoll, events, count, timeout, mask, 8]);
    sigwait(set, signal) => always("sigwait");
    sigwaitinfo(set, information) => always("sigwaitinfo");
    sigtimedwait(set, information, timeout) => always("sigtimedwait");
    sigsuspend(set) => always("sigsuspend");
}
