//! Bytes that are read and written.

use super::{AGAIN, LOST, Target, acquire, release, returned, timers};
use crate::api::{Touch, is_observed, note, observe, perform_call, time};
use crate::image::descriptors::{ATOMIC, How, IN, Number, Sort, VariableKind as V, table};
use crate::image::switch::in_checker;
use crate::operation::{Operation, OperationKind as K, access_of};
use crate::platform::interpose::{clock, failed, unsupported};
use dpor_explorer::{AccessKind, Condition, Guard};
use libc::{c_int, c_long};
use std::time::Duration;

/// Bytes of the caller.
#[derive(Clone, Copy)]
pub(super) struct Buffers {
    single: libc::iovec,
    list: *const libc::iovec,
    count: usize,
}

impl Buffers {
    pub fn one(address: usize, size: usize) -> Buffers {
        let single = libc::iovec {
            iov_base: address as *mut _,
            iov_len: size,
        };
        Buffers {
            single,
            list: std::ptr::null(),
            count: 1,
        }
    }

    pub fn of(list: usize, count: usize) -> Buffers {
        Buffers {
            list: list as *const _,
            count,
            ..Buffers::one(0, 0)
        }
    }

    fn each(&self) -> impl Iterator<Item = libc::iovec> + '_ {
        (0..self.count).map(|at| match self.list.is_null() {
            true => self.single,
            // SAFETY: the caller of the system call promises a list of this length.
            false => unsafe { self.list.add(at).read() },
        })
    }

    /// Their size, or the kernel's error.
    fn size(&self) -> Result<usize, c_int> {
        /// The maximum length of a list, as in the kernel.
        const LONGEST: usize = 1024;
        if self.count > LONGEST {
            return Err(libc::EINVAL);
        }
        let mut sum = 0usize;
        for buffer in self.each() {
            if buffer.iov_base.is_null() && buffer.iov_len > 0 {
                return Err(libc::EFAULT);
            }
            let added = sum.checked_add(buffer.iov_len);
            sum = added.filter(|&sum| isize::try_from(sum).is_ok()).ok_or(libc::EINVAL)?;
        }
        Ok(sum)
    }

    /// The bytes, without the first ones.
    fn gathered(&self, from: usize) -> Vec<u8> {
        let mut all = Vec::new();
        for buffer in self.each().filter(|buffer| buffer.iov_len > 0) {
            // SAFETY: the caller of the system call promises that they can be read.
            all.extend_from_slice(unsafe { std::slice::from_raw_parts(buffer.iov_base.cast(), buffer.iov_len) });
        }
        all.split_off(from)
    }

    /// Writes bytes after the first ones.
    fn scatter(&self, mut from: usize, mut bytes: &[u8]) {
        for buffer in self.each() {
            let skipped = from.min(buffer.iov_len);
            from -= skipped;
            let (now, rest) = bytes.split_at(bytes.len().min(buffer.iov_len - skipped));
            bytes = rest;
            // SAFETY: the caller of the system call promises that they can be written.
            unsafe {
                std::ptr::copy_nonoverlapping(now.as_ptr(), buffer.iov_base.cast::<u8>().add(skipped), now.len())
            };
        }
    }
}

/// How bytes are read or written.
#[derive(Clone, Copy)]
pub(super) struct Flags {
    how: How,
    returns_at_once: bool,
    waits_for_all: bool,
}

impl Flags {
    pub const NONE: Flags = Flags {
        how: How::Read,
        returns_at_once: false,
        waits_for_all: false,
    };

    /// Those of `recv` and `send`, if there are no others.
    fn of(flags: c_int) -> Option<Flags> {
        let known = libc::MSG_DONTWAIT | libc::MSG_PEEK | libc::MSG_WAITALL | libc::MSG_NOSIGNAL;
        let known = known | libc::MSG_CMSG_CLOEXEC | libc::MSG_MORE;
        (flags & !known == 0).then_some(Flags {
            how: if flags & libc::MSG_PEEK != 0 {
                How::Peek
            } else {
                How::Receive
            },
            returns_at_once: flags & libc::MSG_DONTWAIT != 0,
            waits_for_all: flags & libc::MSG_WAITALL != 0,
        })
    }
}

/// What makes a wait end besides what it is for.
#[derive(Clone, Copy, Default)]
struct Patience {
    /// A socket's own timeout, or the time until a timer expires.
    timeout: Option<Duration>,
    /// The value of [`V::Timeouts`] to which that belongs.
    set: i64,
    /// When the timer expires.
    expires: Option<Duration>,
}

impl Patience {
    /// Looks at the target, in a step of its own, if it has a timeout. That a socket has one is known from the start.
    fn of(target: Target, which: usize) -> Patience {
        if target.sort == Sort::Timer {
            let next = timers::next(target, &[]);
            return Patience {
                timeout: next.expires.map(clock::until),
                set: next.set,
                expires: next.expires,
            };
        }
        if target.sort != Sort::Socket || !is_observed(target.file.timeout()) {
            return Patience::default();
        }
        let accesses = [access_of(target.home, AccessKind::Read)];
        let operation = Operation::always(K::ControlDescriptor, target.home, &accesses);
        let [nanoseconds, set] = perform_call(&operation, |_, touch| {
            touch.relaxed().read(target.home);
            in_checker(|| [table().timeouts(target.file)[which], target.value(V::Timeouts) as u64])
        });
        Patience {
            timeout: (nanoseconds != 0).then(|| Duration::from_nanos(nanoseconds)),
            set: set as i64,
            expires: None,
        }
    }
}

/// The alternatives of a call that waits.
const READY: u32 = 0;
const TIMED_OUT: u32 = 2;

/// Makes a call that waits until a variable of its target has at least a value, unless the descriptor's flags forbid
/// that. The result is `EAGAIN` if they do, or the time is up. `call` takes effect, and notes what it has touched.
fn wait_for(
    kind: K,
    target: Target,
    (variable, least): (V, i64),
    returns_at_once: bool,
    call: impl Fn(Touch<'_>) -> i64,
) -> i64 {
    let patience = match returns_at_once {
        true => Patience::default(),
        false => Patience::of(target, usize::from(variable == V::Room)),
    };
    let accesses = [access_of(target.home, AccessKind::Write)];
    let [ready, nonblocking, timeouts] =
        [variable, V::Nonblocking, V::Timeouts].map(|variable| target.file.variable(variable));
    let differs = target.differs(V::Timeouts, patience.set);
    let not_ready = || {
        Guard::when(Condition::LessThan(ready, least))
            .and([Condition::Equals(timeouts, patience.set)])
            .and([target.is_open(true)])
    };
    let is_ready = Condition::AtLeast(ready, least);
    let alternatives = [
        Guard::always().and([is_ready, differs[0], differs[1], target.is_open(false)]),
        not_ready().and([Condition::AtLeast(nonblocking, 1)]),
        not_ready().and([Condition::LessThan(nonblocking, 1)]),
    ];
    let count = match returns_at_once {
        true => 0,
        false => 2 + usize::from(time::firing(patience.timeout).is_some()),
    };
    let operation = Operation {
        timeout: time::alternative(TIMED_OUT, patience.timeout),
        ..Operation::guarded(kind, target.home, &accesses, &alternatives[..count])
    };
    let [result, timed_out] = perform_call(&operation, |alternative, touch| {
        let timed_out = alternative == TIMED_OUT;
        let is_stale = !returns_at_once && target.value(V::Timeouts) != patience.set;
        let result = if is_stale {
            touch.relaxed().read(target.home);
            AGAIN
        } else if alternative == READY || target.sort == Sort::Timer {
            if target.sort == Sort::Timer {
                timers::pass(&[target.file], patience.expires.filter(|_| timed_out));
            }
            call(touch)
        } else {
            touch.relaxed().read(target.home);
            -i64::from(libc::EAGAIN)
        };
        if result == -i64::from(libc::EAGAIN) {
            note(|| if timed_out { "timed out" } else { "would block" }.to_string());
        }
        [result, i64::from(timed_out)]
    });
    if timed_out != 0 && patience.expires.is_none() {
        patience.timeout.into_iter().for_each(time::timed_out);
    }
    // Only who may wait can have been there before it was closed.
    if result == -i64::from(libc::EBADF) && !returns_at_once && target.is_lost() {
        unsupported(LOST);
    }
    result
}

/// Reads bytes.
pub(super) fn read(number: Number, buffers: Buffers, flags: Flags) -> c_long {
    let size = match buffers.size() {
        Ok(size) => size,
        Err(error) => return failed(error),
    };
    let mut done = 0;
    loop {
        let Some(target) = Target::of(number) else {
            return failed(libc::EBADF);
        };
        let is_counter = target.sort == Sort::Counter;
        if is_counter {
            observe(target.file.count());
        }
        let is_number = matches!(target.sort, Sort::Counter | Sort::Timer);
        let least = match is_number {
            // Too little room is an error, for which nobody waits.
            true => i64::from(size >= 8),
            false => i64::from(size > done || flags.how != How::Read),
        };
        let result = wait_for(
            K::ReadDescriptor,
            target,
            (V::Available, least),
            flags.returns_at_once,
            |touch| {
                let result = target.now(|table, file| {
                    let read = table.read(file, size - done, flags.how)?;
                    buffers.scatter(done, &read);
                    Ok(read.len())
                });
                let is_reset = result == -i64::from(libc::ECONNRESET);
                if is_reset || result >= 0 && size > done {
                    acquire(target.ordered(|table, file| [table.ordered(file, IN), None]));
                }
                if result >= 0 {
                    note(|| format!("{result} bytes"));
                }
                let is_change = result > 0 && flags.how != How::Peek || is_reset;
                // A timer that expires has changed, whatever is read.
                let is_change = is_change || target.sort == Sort::Timer;
                let kind = if is_change { AccessKind::Write } else { AccessKind::Read };
                touch.relaxed().access(target.home, kind);
                result
            },
        );
        if result == AGAIN {
            continue;
        }
        match result {
            // What was read before is returned; an error will be found by the next call.
            ..=0 if done > 0 => return done as c_long,
            1.. if flags.waits_for_all && flags.how != How::Peek && done + (result as usize) < size => {
                done += result as usize
            }
            ..0 => return returned(result),
            _ => return done as c_long + result,
        }
    }
}

/// Writes bytes: all of them, unless that would have to wait and must not.
pub(super) fn write(number: Number, buffers: Buffers, flags: Flags) -> c_long {
    /// The value from which on a counter is kept exactly, as it may be full.
    const GREAT: u64 = 1 << 32;
    let size = match buffers.size() {
        Ok(size) => size,
        Err(error) => return failed(error),
    };
    let mut done = 0;
    loop {
        let Some(target) = Target::of(number) else {
            return failed(libc::EBADF);
        };
        let is_counter = target.sort == Sort::Counter;
        let [added, _] = in_checker(|| {
            let bytes = if is_counter { buffers.gathered(0) } else { Vec::new() };
            [bytes.first_chunk().map_or(0, |word| u64::from_ne_bytes(*word)), 0]
        });
        if is_counter && added >= GREAT {
            observe(target.file.count());
        }
        let counts = is_observed(target.file.count());
        let left = size - done;
        let least = match target.sort {
            // The greatest value of all is an error, for which nobody waits.
            Sort::Counter if added == u64::MAX || size < 8 => 0,
            Sort::Counter => match i64::try_from(added) {
                Ok(added) => added,
                Err(_) => return unsupported("write of a great number to an eventfd"),
            },
            Sort::Pipe if left <= ATOMIC => left as i64,
            _ => i64::from(left > 0),
        };
        let result = wait_for(
            K::WriteDescriptor,
            target,
            (V::Room, least),
            flags.returns_at_once,
            |touch| {
                let orders = target.ordered(|table, file| [table.orders(file)[0], None]);
                let result = target.now(|table, file| table.write(file, &buffers.gathered(done), counts));
                if result > 0 {
                    release(orders);
                    note(|| format!("{result} bytes"));
                }
                if result == -i64::from(libc::EPIPE) {
                    acquire(orders);
                }
                let kind = if result > 0 {
                    AccessKind::Write
                } else {
                    AccessKind::Read
                };
                touch.relaxed().access(target.home, kind);
                result
            },
        );
        if result == AGAIN {
            continue;
        }
        match result {
            ..0 if done > 0 => return done as c_long,
            ..0 => return returned(result),
            _ => {
                done += result as usize;
                if done >= size || is_counter {
                    return done as c_long;
                }
            }
        }
    }
}

/// The target's error if it is no socket.
pub(super) fn not_a_socket(number: Number) -> Option<c_long> {
    match Target::of(number) {
        Some(target) => (target.sort != Sort::Socket).then(|| failed(libc::ENOTSOCK)),
        None => Some(failed(libc::EBADF)),
    }
}

/// Receives bytes of a socket. `name` is where its other end's name and the length of that are wanted: it has none.
pub(super) unsafe fn receive(number: Number, buffers: Buffers, flags: c_int, [name, length]: [usize; 2]) -> c_long {
    if let Some(error) = not_a_socket(number) {
        return error;
    }
    let Some(flags) = Flags::of(flags) else {
        return unsupported("recv with flags other than MSG_DONTWAIT, MSG_PEEK, MSG_WAITALL");
    };
    let received = read(number, buffers, flags);
    if name != 0 && length != 0 && received >= 0 {
        // SAFETY: the caller of the system call promises room for the length.
        unsafe { (length as *mut libc::socklen_t).write(0) };
    }
    received
}

pub(super) unsafe fn receive_message(number: Number, message: usize, flags: c_int) -> c_long {
    // SAFETY: the caller of the system call promises a header, to which it writes.
    let header = unsafe { &mut *(message as *mut libc::msghdr) };
    let buffers = Buffers::of(header.msg_iov as usize, header.msg_iovlen);
    // SAFETY: no name is asked for.
    let received = unsafe { receive(number, buffers, flags, [0; 2]) };
    if received >= 0 {
        (header.msg_namelen, header.msg_controllen, header.msg_flags) = (0, 0, 0);
    }
    received
}

pub(super) fn send(number: Number, buffers: Buffers, flags: c_int) -> c_long {
    if let Some(error) = not_a_socket(number) {
        return error;
    }
    match Flags::of(flags) {
        Some(flags) => write(number, buffers, flags),
        None => unsupported("send with flags other than MSG_DONTWAIT, MSG_NOSIGNAL"),
    }
}

pub(super) unsafe fn send_message(number: Number, message: usize, flags: c_int) -> c_long {
    // SAFETY: the caller of the system call promises a header.
    let header = unsafe { &*(message as *const libc::msghdr) };
    if header.msg_controllen != 0 {
        return unsupported("sendmsg with more than bytes");
    }
    if header.msg_namelen != 0 {
        return failed(libc::EISCONN);
    }
    send(number, Buffers::of(header.msg_iov as usize, header.msg_iovlen), flags)
}
