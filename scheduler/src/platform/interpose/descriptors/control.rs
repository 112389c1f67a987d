//! Flags and options of descriptors.

use super::bytes::not_a_socket;
use super::{Orders, Target, at_once, duplicate};
use crate::api::observe;
use crate::image::descriptors::{Number, Table};
use crate::operation::OperationKind as K;
use crate::platform::interpose::{failed, unsupported};
use dpor_explorer::AccessKind;
use libc::{c_int, c_long};

pub(super) fn file_control(number: Number, command: c_int, argument: usize) -> c_long {
    let control = |access, call: &dyn Fn(&mut Table, Number) -> Result<usize, c_int>| {
        at_once(K::ControlDescriptor, number, access, Orders::Nothing, call)
    };
    match command {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => duplicate(number, command == libc::F_DUPFD_CLOEXEC),
        libc::F_GETFD => control(AccessKind::Read, &|table, _| {
            Ok(usize::from(table.closes_on_exec(number)))
        }),
        libc::F_SETFD => control(AccessKind::Write, &|table, _| {
            table.set_closes_on_exec(number, argument as c_int & libc::FD_CLOEXEC != 0);
            Ok(0)
        }),
        libc::F_GETFL => control(AccessKind::Read, &|table, file| Ok(table.flags(file) as usize)),
        libc::F_SETFL => control(AccessKind::Write, &|table, file| {
            table.set_nonblocking(file, argument as c_int & libc::O_NONBLOCK != 0);
            Ok(0)
        }),
        _ => unsupported("fcntl on a pipe, socket or eventfd, other than to duplicate it or for its flags"),
    }
}

pub(super) unsafe fn device_control(number: Number, request: usize, argument: usize) -> c_long {
    let control = |access, call: &dyn Fn(&mut Table, Number) -> Result<usize, c_int>| {
        at_once(K::ControlDescriptor, number, access, Orders::Nothing, call)
    };
    match request as libc::c_ulong {
        libc::FIONBIO => {
            // SAFETY: the caller of the system call promises a number.
            let nonblocking = unsafe { (argument as *const c_int).read() } != 0;
            control(AccessKind::Write, &|table, file| {
                table.set_nonblocking(file, nonblocking);
                Ok(0)
            })
        }
        libc::FIONREAD => {
            let unread = control(AccessKind::Read, &|table, file| table.unread(file));
            if unread < 0 {
                return unread;
            }
            // SAFETY: the caller of the system call promises room for a number.
            unsafe { (argument as *mut c_int).write(unread as c_int) };
            0
        }
        libc::FIOCLEX | libc::FIONCLEX => control(AccessKind::Write, &|table, _| {
            table.set_closes_on_exec(number, request as libc::c_ulong == libc::FIOCLEX);
            Ok(0)
        }),
        _ => failed(libc::ENOTTY),
    }
}

pub(super) fn shut_down(number: Number, how: c_int) -> c_long {
    at_once(
        K::ControlDescriptor,
        number,
        AccessKind::Write,
        Orders::OtherEnd,
        |table, file| table.shut_down(file, how).map(|()| 0),
    )
}

/// `getsockopt`.
pub(super) unsafe fn option(number: Number, [level, option]: [usize; 2], value: usize, length: usize) -> c_long {
    if let Some(error) = not_a_socket(number) {
        return error;
    }
    let fixed = match (level as c_int, option as c_int) {
        (libc::SOL_SOCKET, libc::SO_ERROR) => at_once(
            K::ControlDescriptor,
            number,
            AccessKind::Write,
            Orders::Nothing,
            |table, file| Ok(table.take_error(file) as usize),
        ),
        (libc::SOL_SOCKET, libc::SO_TYPE) => c_long::from(libc::SOCK_STREAM),
        (libc::SOL_SOCKET, libc::SO_DOMAIN) => c_long::from(libc::AF_UNIX),
        (libc::SOL_SOCKET, libc::SO_PROTOCOL | libc::SO_ACCEPTCONN) => 0,
        (libc::SOL_SOCKET, libc::SO_RCVTIMEO | libc::SO_SNDTIMEO) => {
            let of = usize::from(option as c_int == libc::SO_SNDTIMEO);
            let nanoseconds = at_once(
                K::ControlDescriptor,
                number,
                AccessKind::Read,
                Orders::Nothing,
                |table, file| Ok(table.timeouts(file)[of] as usize),
            );
            if nanoseconds < 0 {
                return nanoseconds;
            }
            let time = [nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000 / 1_000];
            // SAFETY: the caller's promise.
            unsafe { show(time.map(i64::to_ne_bytes).as_flattened(), value, length) };
            return 0;
        }
        _ => return unsupported("getsockopt for this option of a socketpair"),
    };
    if fixed < 0 {
        return fixed;
    }
    // SAFETY: the caller's promise.
    unsafe { show(&(fixed as c_int).to_ne_bytes(), value, length) };
    0
}

/// Writes the value of an option, as far as there is room.
///
/// # Safety
/// There is room for the length, and for as many bytes as it says.
unsafe fn show(bytes: &[u8], value: usize, length: usize) {
    let length = length as *mut libc::socklen_t;
    // SAFETY: the caller's promise.
    unsafe {
        let shown = bytes.len().min(length.read() as usize);
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), value as *mut u8, shown);
        length.write(shown as libc::socklen_t);
    }
}

/// `setsockopt`.
pub(super) unsafe fn set_option(number: Number, [level, option]: [usize; 2], value: usize, length: usize) -> c_long {
    if let Some(error) = not_a_socket(number) {
        return error;
    }
    let is_timeout = matches!(option as c_int, libc::SO_RCVTIMEO | libc::SO_SNDTIMEO);
    if level as c_int != libc::SOL_SOCKET || !is_timeout || length < size_of::<[i64; 2]>() {
        return unsupported("setsockopt for this option of a socketpair");
    }
    // SAFETY: the caller of the system call promises a time of this length.
    let [seconds, microseconds] = unsafe { (value as *const [i64; 2]).read_unaligned() };
    if !(0..1_000_000).contains(&microseconds) {
        return failed(libc::EDOM);
    }
    let nanoseconds = (seconds.max(0) as u64).saturating_mul(1_000_000_000);
    let nanoseconds = nanoseconds.saturating_add(microseconds as u64 * 1_000);
    let of = usize::from(option as c_int == libc::SO_SNDTIMEO);
    if let Some(target) = Target::of(number) {
        observe(target.file.timeout());
    }
    at_once(
        K::ControlDescriptor,
        number,
        AccessKind::Write,
        Orders::Nothing,
        |table, file| table.set_timeout(file, of, nanoseconds).map(|()| 0),
    )
}

/// `getsockname` and `getpeername`: a pair of sockets has no names.
pub(super) unsafe fn name(number: Number, [address, length]: [usize; 2]) -> c_long {
    if let Some(error) = not_a_socket(number) {
        return error;
    }
    // SAFETY: the caller of the system call promises room for an address, and its size.
    unsafe {
        if (length as *mut libc::socklen_t).read() >= 2 {
            (address as *mut libc::sa_family_t).write(libc::AF_UNIX as libc::sa_family_t);
        }
        (length as *mut libc::socklen_t).write(2);
    }
    0
}
