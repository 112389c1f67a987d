//! Sets of descriptors that `epoll` watches.

use super::timers::{self, Next};
use super::{AGAIN, Deadline, LOST, MOST, Orders, Target, acquire, at_once, begins_again, kind_of, returned};
use crate::api::{note, order, perform_call, time};
use crate::image::descriptors::{Event, Number, Sort, VariableKind as V, table};
use crate::image::switch::in_checker;
use crate::operation::{Operation, OperationKind as K, access_of};
use crate::platform::interpose::{failed, note_out_of_sight, raw, unsupported};
use dpor_explorer::{Access, AccessKind, Condition, Guard, Location};
use libc::{c_int, c_long};
use std::time::Duration;

/// `epoll_ctl`.
pub(super) unsafe fn control(epoll: usize, how: c_int, watched: usize, event: usize) -> Option<c_long> {
    let Some(number) = Number::of(epoll) else {
        return Number::of(watched).map(|_| unsupported("epoll_ctl of the kernel on a descriptor of the model"));
    };
    let Some(watched_number) = Number::of(watched) else {
        // SAFETY: the caller's promise.
        return Some(unsafe { control_kernels(number, how, watched, event) });
    };
    let (events, data) = match how {
        libc::EPOLL_CTL_DEL => (0, 0),
        _ => {
            // SAFETY: the caller of the system call promises an event.
            let event = unsafe { (event as *const libc::epoll_event).read_unaligned() };
            (event.events, event.u64)
        }
    };
    let (Some(target), Some(watched)) = (Target::of(number), Target::of(watched_number)) else {
        return Some(failed(libc::EBADF));
    };
    if watched.sort == Sort::Epoll && target.sort == Sort::Epoll && target.file != watched.file {
        return Some(unsupported("epoll_ctl for a descriptor of epoll"));
    }
    let accesses = [
        access_of(target.home, AccessKind::Write),
        access_of(watched.home, AccessKind::Read),
    ];
    let operation = Operation::always(K::EpollControl, target.home, &accesses);
    Some(returned(perform_call(&operation, |_, touch| {
        let result = target.now(|table, file| table.control(file, how, watched_number, events, data).map(|()| 0));
        if result == 0 && how != libc::EPOLL_CTL_DEL {
            // What the data stand for is there when somebody is told of them.
            order::release(target.home);
        }
        touch.relaxed().access(target.home, kind_of(result));
        touch.relaxed().read(watched.home);
        result
    })))
}

/// Watches a descriptor of the kernel: by the kernel's own `epoll`, which is behind the model's.
unsafe fn control_kernels(number: Number, how: c_int, watched: usize, event: usize) -> c_long {
    note_out_of_sight("epoll_ctl");
    at_once(
        K::EpollControl,
        number,
        AccessKind::Write,
        Orders::Nothing,
        |table, epoll| {
            if table.sort(epoll) != Sort::Epoll {
                return Err(libc::EINVAL);
            }
            let checked = |result: c_long| usize::try_from(result).map_err(|_| -result as c_int);
            let kernels = match table.kernels_epoll(epoll) {
                Some(kernels) => kernels as usize,
                None => {
                    // SAFETY: makes a descriptor.
                    let made = unsafe { raw(libc::SYS_epoll_create1, [libc::EPOLL_CLOEXEC as usize, 0, 0, 0, 0, 0]) };
                    let made = checked(made)?;
                    table.set_kernels_epoll(epoll, made as c_int);
                    made
                }
            };
            // SAFETY: the promise of the caller of the system call.
            checked(unsafe { raw(libc::SYS_epoll_ctl, [kernels, how as usize, watched, event, 0, 0]) })
        },
    )
}

/// Looks for events of the kernel's descriptors, without waiting. `None` if there are no such descriptors.
fn kernels_events(target: Target, events: usize, most: c_int) -> Option<i64> {
    let found = in_checker(|| {
        table().kernels_epoll(target.file).map_or(i64::MIN, |kernels| {
            // SAFETY: the caller of the system call promises room for that many events.
            unsafe { raw(libc::SYS_epoll_wait, [kernels as usize, events, most as usize, 0, 0, 0]) }
        })
    });
    (found != i64::MIN).then_some(found)
}

/// `epoll_wait`.
pub(super) fn wait(number: Number, events: usize, most: c_int, timeout: Option<Duration>) -> c_long {
    if most <= 0 {
        return failed(libc::EINVAL);
    }
    let Some(target) = Target::of(number) else {
        return failed(libc::EBADF);
    };
    if target.sort != Sort::Epoll {
        return failed(libc::EINVAL);
    }
    let deadline = Deadline::of(timeout);
    let mut found = None;
    loop {
        let mut watched = Watched {
            homes: [target.home; MOST],
            timers: [target.file; MOST],
            count: 1,
            timer_count: 0,
            set: 0,
            next: Next {
                expires: None,
                set: 0,
                watched: 0,
            },
        };
        let accesses = [access_of(target.home, AccessKind::Read)];
        let operation = Operation::always(K::EpollLook, target.home, &accesses);
        let is_open = perform_call(&operation, |_, touch| {
            touch.relaxed().read(target.home);
            in_checker(|| watched.look(target))
        });
        if !is_open {
            return failed(libc::EBADF);
        }
        if watched.count > MOST {
            return unsupported("epoll_wait for more than 31 pipes, sockets and eventfds");
        }
        if watched.timer_count > 0 {
            watched.next = timers::next(target, &watched.homes[1..watched.count]);
            if watched.next.watched != watched.set {
                continue;
            }
        }
        // What was found stays so, and need not be found again.
        if found.is_none_or(|found| found == 0) {
            found = match kernels_events(target, events, most) {
                Some(error @ ..0) => return returned(error),
                found => found,
            };
        }
        let result = wait_once(target, &watched, found, [events, most as usize], deadline);
        if result != AGAIN {
            return result;
        }
    }
}

/// What a set watches.
struct Watched {
    /// The location of the set, and those of what it watches.
    homes: [Location; MOST],
    timers: [Number; MOST],
    count: usize,
    timer_count: usize,
    /// The value of [`V::Watched`] to which this belongs.
    set: i64,
    /// When the next timer expires.
    next: Next,
}

impl Watched {
    /// Looks at the set. Says whether it is open.
    fn look(&mut self, target: Target) -> bool {
        let table = table();
        for file in table.watched(target.file) {
            if let Some(home) = self.homes.get_mut(self.count) {
                *home = table.location_of(file);
            }
            self.count += 1;
            if table.sort(file) == Sort::Timer
                && let Some(timer) = self.timers.get_mut(self.timer_count)
            {
                *timer = file;
                self.timer_count += 1;
            }
        }
        self.set = target.value(V::Watched);
        table.opened(target.number).is_ok()
    }
}

/// The last step of `epoll_wait`. `found` is the number of events of the kernel's descriptors that were found.
fn wait_once(
    target: Target,
    watched: &Watched,
    found: Option<i64>,
    [events, most]: [usize; 2],
    deadline: Deadline,
) -> c_long {
    let homes = &watched.homes[..watched.count];
    let timers = &watched.timers[..watched.timer_count];
    let before = found.unwrap_or(0) as usize;
    let waits = !deadline.is_now() && found.is_none();
    let (timeout, expires) = deadline.with(watched.next.expires);
    let fires = time::firing(timeout).is_some();
    let mut accesses = [access_of(target.home, AccessKind::Write); MOST];
    let kind = if timers.is_empty() {
        AccessKind::Read
    } else {
        AccessKind::Write
    };
    for (access, &home) in accesses.iter_mut().zip(homes).skip(1) {
        *access = access_of(home, kind);
    }
    let accesses: &[Access] = &accesses[..homes.len()];
    let (variable, set) = match timers {
        [] => (V::Watched, watched.set),
        _ => (V::Timeouts, watched.next.set),
    };
    let [less, more] = target.differs(variable, set);
    let ready = target.file.variable(V::Ready);
    let same = Condition::Equals(target.file.variable(variable), set);
    // Four conditions are kept without allocating.
    let alternatives = [
        Guard::always().and([Condition::AtLeast(ready, 1), less, more, target.is_open(false)]),
        Guard::when(Condition::LessThan(ready, 1))
            .and([same])
            .and([target.is_open(true)]),
    ];
    let count = 1 + usize::from(fires);
    let operation = match waits {
        true => Operation {
            timeout: time::alternative(1, timeout),
            ..Operation::guarded(K::EpollWait, target.home, accesses, &alternatives[..count])
        },
        false => Operation::always(K::EpollWait, target.home, accesses),
    };
    let mut orders = [0; MOST];
    let [told, timed_out] = perform_call(&operation, |alternative, touch| {
        let timed_out = alternative == 1;
        let told = if target.value(variable) != set {
            AGAIN
        } else {
            if !timers.is_empty() {
                timers::pass(timers, expires.filter(|_| timed_out));
            }
            target.now(|table, file| {
                let told = table.wait(file, most - before)?;
                // SAFETY: the caller of the system call promises room for that many events.
                unsafe { show(&told, events, before) };
                let ordered = told.iter().filter_map(|event| event.ordered);
                orders
                    .iter_mut()
                    .zip(ordered)
                    .for_each(|(order, location)| *order = location.0);
                Ok(told.len())
            })
        };
        touch
            .relaxed()
            .access(target.home, if told > 0 { AccessKind::Write } else { AccessKind::Read });
        // Also if it is made again: it would have done something else before these have changed.
        homes[1..].iter().for_each(|&home| touch.relaxed().access(home, kind));
        if told > 0 {
            order::acquire(target.home);
        }
        orders.chunks_exact(2).for_each(|both| acquire([both[0], both[1]]));
        note(|| match told {
            AGAIN => "another set is watched".to_string(),
            0 if timed_out => "timed out".to_string(),
            1 => "1 event".to_string(),
            told => format!("{told} events"),
        });
        [told, i64::from(timed_out)]
    });
    if told == AGAIN || timed_out != 0 && begins_again(told, timeout, expires) {
        return AGAIN;
    }
    match told {
        ..0 if waits && target.is_lost() => unsupported(LOST),
        ..0 => returned(told),
        // Only the kernel could end the wait.
        0 if before == 0 && found.is_some() && !deadline.is_now() => unsupported("epoll_wait"),
        _ => before as c_long + told,
    }
}

/// Writes events where the caller wants them, after the first ones.
///
/// # Safety
/// There is room for them.
unsafe fn show(told: &[Event], events: usize, before: usize) {
    for (at, event) in told.iter().enumerate() {
        let shown = libc::epoll_event {
            events: event.events,
            u64: event.data,
        };
        // SAFETY: the caller's promise.
        unsafe {
            (events as *mut libc::epoll_event)
                .add(before + at)
                .write_unaligned(shown)
        };
    }
}
