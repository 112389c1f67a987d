//! `futex(2)` and descriptors as crates call them, for the tests.

pub mod descriptors;

use std::io::Error;
use std::ptr;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// The result of a call: what it returns, or the error's number.
pub type Called = Result<i64, i32>;

fn called(result: libc::c_long) -> Called {
    match result {
        -1 => Err(Error::last_os_error().raw_os_error().unwrap()),
        result => Ok(result),
    }
}

/// Waits while the word has this value.
pub fn wait(word: &AtomicU32, value: u32) -> Called {
    // SAFETY: the word is borrowed, and there is no timeout.
    called(unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            value,
            ptr::null::<libc::timespec>(),
        )
    })
}

/// Waits while the word has this value, for at most this time.
pub fn wait_for(word: &AtomicU32, value: u32, timeout: Duration) -> Called {
    let timeout = libc::timespec {
        tv_sec: timeout.as_secs() as i64,
        tv_nsec: i64::from(timeout.subsec_nanos()),
    };
    // SAFETY: the word and the timeout are borrowed.
    called(unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT,
            value,
            &raw const timeout,
        )
    })
}

/// Waits while the word has this value, for someone with a bit of the mask.
pub fn wait_bits(word: &AtomicU32, value: u32, bits: u32, until: Option<libc::timespec>) -> Called {
    let until = until.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: the word and the timeout are borrowed.
    called(unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT_BITSET,
            value,
            until,
            ptr::null::<u32>(),
            bits,
        )
    })
}

/// Wakes up to `count` waiters.
pub fn wake(word: &AtomicU32, count: i32) -> Called {
    // SAFETY: the word is borrowed.
    called(unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, count) })
}

/// Wakes up to `count` waiters for a bit of the mask.
pub fn wake_bits(word: &AtomicU32, count: i32, bits: u32) -> Called {
    // SAFETY: the word is borrowed.
    called(unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAKE_BITSET,
            count,
            0usize,
            0usize,
            bits,
        )
    })
}

/// If the word has this value, wakes waiters, and makes others wait at another word.
pub fn requeue(word: &AtomicU32, value: u32, wake: i32, other: &AtomicU32, moved: i32) -> Called {
    // SAFETY: the words are borrowed.
    called(unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_CMP_REQUEUE,
            wake,
            moved as usize,
            other.as_ptr(),
            value,
        )
    })
}

/// Sets the second word; wakes one at the first, and one at the second if that was 0.
pub fn set_and_wake(word: &AtomicU32, other: &AtomicU32, value: u32) -> Called {
    // FUTEX_OP_SET, FUTEX_OP_CMP_EQ, with the operand and the value that is compared.
    let operation = value << 12;
    // SAFETY: the words are borrowed.
    called(unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAKE_OP,
            1,
            1usize,
            other.as_ptr(),
            operation,
        )
    })
}
