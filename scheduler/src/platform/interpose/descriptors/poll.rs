//! `poll`.

use super::{AGAIN, Deadline, LOST, MOST, Target, acquire, begins_again, returned, timers, value};
use crate::api::{note, perform_call, time};
use crate::image::descriptors::{ALWAYS, IN, Number, OUT, RDHUP, Sort, VariableKind as V, table};
use crate::image::switch::in_checker;
use crate::operation::{Operation, OperationKind as K, access_of};
use crate::platform::interpose::{failed, raw, unsupported};
use dpor_explorer::{AccessKind, Condition, Guard, Location};
use libc::{c_int, c_long};
use std::time::Duration;

/// The entries of `poll`.
unsafe fn entries<'a>(list: usize, count: usize) -> &'a mut [libc::pollfd] {
    // SAFETY: the caller of the system call promises that many.
    unsafe { std::slice::from_raw_parts_mut(std::ptr::with_exposed_provenance_mut(list), count) }
}

/// Number of entries that no system allows.
const MANY: usize = 1 << 24;

/// `poll`, if one of the descriptors is the model's.
pub(super) unsafe fn poll(
    list: usize,
    count: usize,
    timeout: impl FnOnce() -> Result<Option<Duration>, c_int>,
) -> Option<c_long> {
    // Too many are refused by the kernel.
    if count == 0 || count > MANY {
        return None;
    }
    // SAFETY: the caller's promise.
    let entries = unsafe { entries(list, count) };
    let count = entries.iter().filter_map(ours).count();
    if count == 0 {
        return None;
    }
    if count > MOST {
        return Some(unsupported("poll for more than 32 pipes, sockets and eventfds"));
    }
    let timeout = match timeout() {
        Ok(timeout) => timeout,
        Err(error) => return Some(failed(error)),
    };
    let of_epoll = |number| Target::of(number).is_some_and(|target| target.sort == Sort::Epoll);
    if entries.iter().filter_map(ours).any(of_epoll) {
        return Some(unsupported("poll for a descriptor of epoll"));
    }
    let deadline = Deadline::of(timeout);
    loop {
        let result = poll_once(entries, deadline);
        if result != AGAIN {
            return Some(result);
        }
    }
}

/// The model's descriptor of an entry, if it is one.
fn ours(entry: &libc::pollfd) -> Option<Number> {
    Number::of(entry.fd as usize).filter(|_| entry.fd >= 0)
}

/// One step of `poll`. Where there are several descriptors, its guards have too many conditions to be kept without
/// allocating.
fn poll_once(entries: &mut [libc::pollfd], deadline: Deadline) -> c_long {
    // Those of the kernel, without waiting.
    let mut kernels = 0u32;
    let found = in_checker(|| {
        let others: Vec<_> = (0..entries.len()).filter(|&at| ours(&entries[at]).is_none()).collect();
        let mut asked: Vec<_> = others.iter().map(|&at| entries[at]).collect();
        kernels = asked.iter().filter(|entry| entry.fd >= 0).count() as u32;
        // SAFETY: reads and writes these entries, without waiting.
        let found = unsafe { raw(libc::SYS_poll, [asked.as_mut_ptr() as usize, asked.len(), 0, 0, 0, 0]) };
        others
            .iter()
            .zip(asked)
            .for_each(|(&at, entry)| entries[at].revents = entry.revents);
        found
    });
    if found < 0 {
        return returned(found);
    }
    let mut accesses = [access_of(Location(0), AccessKind::Read); MOST];
    let (mut timers, mut timer_count) = ([(Number::NONE, 0); MOST], 0);
    let mut next = None;
    let mut conditions = Guard::always();
    let mut ready = Vec::new();
    let mut count = 0;
    for entry in entries.iter() {
        let Some(number) = ours(entry) else { continue };
        // One that never was is told of at once.
        let Some(target) = Target::of(number) else { continue };
        accesses[count] = access_of(target.home, AccessKind::Read);
        if target.sort == Sort::Timer {
            // When it expires is looked at in a step before.
            let timers::Next { expires, set, .. } = timers::next(target, &[]);
            next = next.into_iter().chain(expires).min();
            accesses[count].kind = AccessKind::Write;
            timers[timer_count] = (target.file, set);
            timer_count += 1;
            ready.extend(target.differs(V::Timeouts, set));
            conditions = conditions.and([Condition::Equals(target.file.variable(V::Timeouts), set)]);
        }
        count += 1;
        let mut asked = entry.events as u16 as u32;
        if matches!(target.sort, Sort::Counter | Sort::Timer) {
            asked &= IN | OUT;
        }
        ready.push(target.is_open(false));
        conditions = conditions.and([target.is_open(true)]);
        let kinds = [
            (V::In, IN | libc::EPOLLRDNORM as u32),
            (V::Out, OUT | libc::EPOLLWRNORM as u32),
            (V::HalfGone, RDHUP),
            (V::Gone, u32::MAX),
        ];
        for (kind, events) in kinds {
            if (asked | ALWAYS) & events != 0 {
                let variable = target.file.variable(kind);
                ready.push(Condition::AtLeast(variable, 1));
                conditions = conditions.and([Condition::LessThan(variable, 1)]);
            }
        }
    }
    let never_was = count < entries.iter().filter(|entry| ours(entry).is_some()).count();
    let waits = !deadline.is_now() && kernels == 0 && !never_was;
    let timers = &timers[..timer_count];
    let (timeout, expires) = deadline.with(next);
    let fires = time::firing(timeout).is_some();
    let alternatives = [Guard::always().and(ready), conditions];
    let object = accesses[0].location;
    let operation = match waits {
        true => Operation {
            timeout: time::alternative(1, timeout),
            ..Operation::guarded(
                K::PollDescriptors,
                object,
                &accesses[..count],
                &alternatives[..1 + usize::from(fires)],
            )
        },
        false => Operation::always(K::PollDescriptors, object, &accesses[..count]),
    };
    let mut orders = [0; MOST];
    let [told, timed_out] = perform_call(&operation, |alternative, touch| {
        let timed_out = alternative == 1;
        touch.relaxed().all();
        let is_stale = timers.iter().any(|&(timer, set)| value(timer, V::Timeouts) != set);
        if is_stale {
            return [AGAIN, 0];
        }
        for &(timer, _) in timers {
            timers::pass(&[timer], expires.filter(|_| timed_out));
        }
        let told = in_checker(|| {
            let table = table();
            let mut told = 0;
            for entry in entries.iter_mut() {
                let Some(number) = ours(entry) else { continue };
                let events = table.poll(number, entry.events as u16 as u32);
                entry.revents = events as u16 as i16;
                if events != 0 {
                    let opened = table.opened(number).ok();
                    let ordered = opened.and_then(|file| table.ordered(file, events));
                    orders[told as usize] = ordered.map_or(0, |location| location.0);
                    told += 1;
                }
            }
            told
        });
        orders.chunks_exact(2).for_each(|both| acquire([both[0], both[1]]));
        note(|| match told {
            0 if timed_out => "timed out".to_string(),
            1 => "1 descriptor".to_string(),
            told => format!("{told} descriptors"),
        });
        [told, i64::from(timed_out)]
    });
    if told == AGAIN || timed_out != 0 && begins_again(told, timeout, expires) {
        return AGAIN;
    }
    let is_lost = |entry: &libc::pollfd| {
        let gone = entry.revents & libc::POLLNVAL != 0;
        gone && ours(entry).and_then(Target::of).is_some_and(|target| target.is_lost())
    };
    if waits && entries.iter().any(is_lost) {
        return unsupported(LOST);
    }
    match told {
        0 if found == 0 && kernels > 0 && !deadline.is_now() => unsupported("poll"),
        told => found + told,
    }
}
