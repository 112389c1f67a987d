//! Descriptors of the system that std has no types for.

use std::io::Error;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// The result of a call.
pub type Result<T> = std::result::Result<T, Error>;

fn checked(result: libc::c_int) -> Result<libc::c_int> {
    if result < 0 {
        Err(Error::last_os_error())
    } else {
        Ok(result)
    }
}

fn owned(result: libc::c_int) -> OwnedFd {
    // SAFETY: just made, and nobody else's.
    unsafe { OwnedFd::from_raw_fd(checked(result).unwrap()) }
}

/// A counter that is read and written by way of a descriptor.
pub struct EventFd(pub OwnedFd);

impl EventFd {
    /// A counter with this value, and these of the flags `EFD_…`.
    pub fn new(value: u32, flags: libc::c_int) -> EventFd {
        // SAFETY: makes a descriptor.
        EventFd(owned(unsafe { libc::eventfd(value, flags) }))
    }

    /// Takes the value, or 1 of it; waits until it is not zero.
    pub fn read(&self) -> Result<u64> {
        let mut value = 0u64;
        // SAFETY: there is room for a number.
        let read = unsafe { libc::read(self.0.as_raw_fd(), (&raw mut value).cast(), 8) };
        checked(read as libc::c_int).map(|_| value)
    }

    /// Adds to the value.
    pub fn write(&self, value: u64) -> Result<()> {
        // SAFETY: reads a number.
        let written = unsafe { libc::write(self.0.as_raw_fd(), (&raw const value).cast(), 8) };
        checked(written as libc::c_int).map(|_| ())
    }
}

/// A set of watched descriptors.
pub struct Epoll(pub OwnedFd);

impl Epoll {
    /// An empty set.
    #[expect(clippy::new_without_default, reason = "it makes a call of the system")]
    pub fn new() -> Epoll {
        // SAFETY: makes a descriptor.
        Epoll(owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) }))
    }

    fn control(&self, how: libc::c_int, watched: &impl AsRawFd, events: libc::c_int, data: u64) -> Result<()> {
        let mut event = libc::epoll_event {
            events: events as u32,
            u64: data,
        };
        // SAFETY: the event is one.
        checked(unsafe { libc::epoll_ctl(self.0.as_raw_fd(), how, watched.as_raw_fd(), &raw mut event) }).map(|_| ())
    }

    /// Watches a descriptor.
    pub fn add(&self, watched: &impl AsRawFd, events: libc::c_int, data: u64) -> Result<()> {
        self.control(libc::EPOLL_CTL_ADD, watched, events, data)
    }

    /// Watches it for other events.
    pub fn change(&self, watched: &impl AsRawFd, events: libc::c_int, data: u64) -> Result<()> {
        self.control(libc::EPOLL_CTL_MOD, watched, events, data)
    }

    /// Watches it no more.
    pub fn delete(&self, watched: &impl AsRawFd) -> Result<()> {
        self.control(libc::EPOLL_CTL_DEL, watched, 0, 0)
    }

    /// The data of descriptors that are ready, once there are some; none after the timeout in milliseconds.
    pub fn wait(&self, timeout: libc::c_int) -> Vec<u64> {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 8];
        // SAFETY: there is room for as many events.
        let found = unsafe { libc::epoll_wait(self.0.as_raw_fd(), events.as_mut_ptr(), 8, timeout) };
        let found = checked(found).unwrap() as usize;
        events[..found].iter().map(|event| event.u64).collect()
    }
}

/// What `poll` tells of descriptors, once there is something; nothing after the timeout.
pub fn poll<const N: usize>(asked: [(&dyn AsRawFd, i16); N], timeout: Option<Duration>) -> [i16; N] {
    let mut entries = asked.map(|(descriptor, events)| libc::pollfd {
        fd: descriptor.as_raw_fd(),
        events,
        revents: 0,
    });
    let timeout = timeout.map_or(-1, |timeout| timeout.as_millis() as libc::c_int);
    // SAFETY: there are as many entries.
    checked(unsafe { libc::poll(entries.as_mut_ptr(), N as libc::nfds_t, timeout) }).unwrap();
    entries.map(|entry| entry.revents)
}

/// A timer that is read by way of a descriptor.
pub struct Timer(pub OwnedFd);

impl Timer {
    /// A timer that is not set, with these of the flags `TFD_…`.
    pub fn new(flags: libc::c_int) -> Timer {
        // SAFETY: makes a descriptor.
        Timer(owned(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) }))
    }

    /// Has it expire after a time, and then again and again if there is an interval. Zero is never.
    pub fn set(&self, after: Duration, interval: Duration) {
        let spec = |time: Duration| libc::timespec {
            tv_sec: time.as_secs() as i64,
            tv_nsec: i64::from(time.subsec_nanos()),
        };
        let new = libc::itimerspec {
            it_interval: spec(interval),
            it_value: spec(after),
        };
        // SAFETY: the new setting is one, and the old one is not asked for.
        checked(unsafe { libc::timerfd_settime(self.0.as_raw_fd(), 0, &raw const new, std::ptr::null_mut()) }).unwrap();
    }

    /// The time until it expires; zero if it is not set.
    pub fn left(&self) -> Duration {
        // SAFETY: zeros are times.
        let mut now: libc::itimerspec = unsafe { std::mem::zeroed() };
        // SAFETY: there is room for a setting.
        checked(unsafe { libc::timerfd_gettime(self.0.as_raw_fd(), &raw mut now) }).unwrap();
        Duration::new(now.it_value.tv_sec as u64, now.it_value.tv_nsec as u32)
    }

    /// The number of times that it has expired; waits until it has.
    pub fn read(&self) -> Result<u64> {
        let mut times = 0u64;
        // SAFETY: there is room for a number.
        let read = unsafe { libc::read(self.0.as_raw_fd(), (&raw mut times).cast(), 8) };
        checked(read as libc::c_int).map(|_| times)
    }
}
