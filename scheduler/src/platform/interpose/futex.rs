//! `futex(2)` on model threads: waits and wake-ups are operations of the model.
//!
//! A wait compares the word and enters the queue in one step, which reads the word's location: that of the atomic
//! there. It touches the queue in any case, as what a step touches must not depend on a value that it has read
//! elsewhere. So do the other calls that look at a word first.
//!
//! Differences from the kernel: any waiter may be woken, in no order; a timeout can always come before a wake-up.

use super::{clock, failed, is_programs, unsupported};
use crate::api::atomics;
use crate::api::queue::{Choices, End, Waiter, queue_location, with_guards};
use crate::api::time;
use crate::api::{Touch, note, perform_call};
use crate::operation::{Operation, OperationKind, access_of};
use dpor_explorer::{Access, AccessKind, Location};
use libc::{c_int, c_long};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

/// The size of a futex.
const WORD: usize = size_of::<u32>();

/// The mask that wakes, and is woken by, everybody.
const EVERYBODY: u32 = libc::FUTEX_BITSET_MATCH_ANY as u32;

/// Handles the call on a model thread; `None` if it does not concern the model.
///
/// # Safety
///
/// That of the system call.
pub(super) unsafe fn call([word, operation, value, timeout, other, last]: [usize; 6]) -> Option<c_long> {
    let operation = operation as c_int;
    let command = operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    let waits = matches!(command, libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET);
    if !is_programs(word) {
        // A wake-up never blocks, and someone beside the model may wait.
        return is_wait(command).then(|| unsupported("futex wait outside of the program's own memory"));
    }
    if !word.is_multiple_of(4) {
        return Some(failed(libc::EINVAL));
    }
    let until = match waits && timeout != 0 {
        // SAFETY: the caller's promise.
        true => match unsafe { clock::duration(timeout) } {
            Err(error) => return Some(failed(error)),
            Ok(after) if command == libc::FUTEX_WAIT => Some(Timeout::After(after)),
            Ok(shown) => Some(Timeout::At(clock::since_start(shown))),
        },
        false => None,
    };
    // At least one is woken, whatever the number.
    let number = (value as c_int).max(1) as u64;
    let second_number = timeout as c_int;
    let mask = last as u32;
    let result = match command {
        libc::FUTEX_WAIT => wait(word, value as u32, EVERYBODY, until),
        libc::FUTEX_WAIT_BITSET | libc::FUTEX_WAKE_BITSET if mask == 0 => Err(libc::EINVAL),
        libc::FUTEX_WAIT_BITSET => wait(word, value as u32, mask, until),
        libc::FUTEX_WAKE => Ok(wake(word, number, EVERYBODY)),
        libc::FUTEX_WAKE_BITSET => Ok(wake(word, number, mask)),
        libc::FUTEX_REQUEUE | libc::FUTEX_CMP_REQUEUE if (value as c_int) < 0 || second_number < 0 => Err(libc::EINVAL),
        libc::FUTEX_REQUEUE | libc::FUTEX_CMP_REQUEUE | libc::FUTEX_WAKE_OP if !is_programs(other) => {
            return Some(unsupported(
                "futex call that is half outside of the program's own memory",
            ));
        }
        libc::FUTEX_REQUEUE => requeue(word, [value as c_int, second_number], other, None),
        libc::FUTEX_CMP_REQUEUE => requeue(word, [value as c_int, second_number], other, Some(last as u32)),
        libc::FUTEX_WAKE_OP => wake_op(word, number, other, second_number.max(1) as u64, last as u32),
        _ => return Some(unsupported("futex call other than wait, wake and requeue")),
    };
    Some(result.unwrap_or_else(failed))
}

fn is_wait(command: c_int) -> bool {
    matches!(
        command,
        libc::FUTEX_WAIT
            | libc::FUTEX_WAIT_BITSET
            | libc::FUTEX_LOCK_PI
            | libc::FUTEX_LOCK_PI2
            | libc::FUTEX_WAIT_REQUEUE_PI
    )
}

enum Timeout {
    After(Duration),
    /// At this time since the start of the execution.
    At(Duration),
}

impl Timeout {
    /// The time until it fires.
    fn left(&self) -> Duration {
        match *self {
            Timeout::After(after) => after,
            Timeout::At(at) => clock::until(at),
        }
    }
}

fn load(word: usize) -> u32 {
    atomic(word).load(SeqCst)
}

fn atomic<'a>(word: usize) -> &'a AtomicU32 {
    // SAFETY: aligned, and in the program's memory, which stays mapped; the caller of the system call promises a word
    // there.
    unsafe { &*std::ptr::with_exposed_provenance::<AtomicU32>(word) }
}

fn wait(word: usize, expected: u32, mask: u32, timeout: Option<Timeout>) -> Result<c_long, c_int> {
    let object = Location(word as u64);
    let looked_at = atomics::used(object, WORD);
    let left = timeout.as_ref().map(Timeout::left);
    let waiter = Waiter::new(mask, time::firing(left).is_some());
    let accesses = [
        access_of(looked_at, AccessKind::Read),
        access_of(queue_location(word), AccessKind::Update),
    ];
    let entered = perform_call(
        &Operation::always(OperationKind::FutexWait, object, &accesses),
        |_, touch| {
            touch.relaxed().read(looked_at);
            let found = load(word);
            if found == expected {
                waiter.enter(word, touch);
            } else {
                touch.relaxed().update(queue_location(word));
                note(|| format!("{found} is not {expected}"));
            }
            found == expected
        },
    );
    if !entered {
        return Err(libc::EAGAIN);
    }
    match waiter.wait(OperationKind::FutexWoken, object, left, None, |_| {}) {
        End::Woken => Ok(0),
        End::Spurious => Err(libc::EINTR),
        End::TimedOut => {
            match timeout {
                Some(Timeout::After(after)) => time::timed_out(after),
                Some(Timeout::At(at)) => time::advance_to(at),
                None => {}
            }
            Err(libc::ETIMEDOUT)
        }
    }
}

/// Wakes up to `number` waiters whom the mask concerns; returns how many there were.
pub(super) fn wake_queue(kind: OperationKind, object: Location, queue: usize, number: u64, mask: u32) -> u64 {
    let accesses = [access_of(queue_location(queue), AccessKind::Write)];
    choose(
        kind,
        object,
        &accesses,
        || Choices::new(queue, mask, number, 0),
        |choices, way, touch| {
            let [woken, _] = choices.apply(way, queue, touch);
            note(|| format!("{woken} woken"));
            woken
        },
    )
}

/// Runs an operation whose alternatives are the ways to choose who is woken. If more threads wait than it provides for,
/// it has no effect, and is tried again with more alternatives.
fn choose<R>(
    kind: OperationKind,
    object: Location,
    accesses: &[Access],
    choices: impl Fn() -> Choices,
    apply: impl Fn(&Choices, usize, Touch<'_>) -> R,
) -> R {
    loop {
        let choices = choices();
        let done = with_guards(
            choices.count(),
            |way| choices.guard(way),
            |guards| {
                perform_call(&Operation::guarded(kind, object, accesses, guards), |way, touch| {
                    if choices.enough() {
                        return Some(apply(&choices, way as usize, touch));
                    }
                    for each in accesses {
                        touch.relaxed().read(each.location);
                    }
                    None
                })
            },
        );
        if let Some(result) = done {
            return result;
        }
    }
}

fn wake(word: usize, number: u64, mask: u32) -> c_long {
    wake_queue(OperationKind::FutexWake, Location(word as u64), word, number, mask) as c_long
}

fn requeue(word: usize, numbers: [c_int; 2], other: usize, expected: Option<u32>) -> Result<c_long, c_int> {
    let object = Location(word as u64);
    let [woken, moved] = numbers.map(|number| number as u64);
    let looked_at = match expected {
        Some(_) => atomics::used(object, WORD),
        None => object,
    };
    let accesses = [
        access_of(queue_location(word), AccessKind::Write),
        access_of(queue_location(other), AccessKind::Write),
        access_of(looked_at, AccessKind::Read),
    ];
    let accesses = &accesses[..2 + usize::from(expected.is_some())];
    choose(
        OperationKind::FutexRequeue,
        object,
        accesses,
        || Choices::new(word, EVERYBODY, woken, moved),
        |choices, way, touch| {
            touch.relaxed().update(queue_location(other));
            if let Some(expected) = expected {
                touch.relaxed().read(looked_at);
                let found = load(word);
                if found != expected {
                    touch.relaxed().read(queue_location(word));
                    note(|| format!("{found} is not {expected}"));
                    return Err(libc::EAGAIN);
                }
            }
            let [woken, moved] = choices.apply(way, other, touch);
            note(|| format!("{woken} woken, {moved} moved"));
            Ok((woken + moved) as c_long)
        },
    )
}

/// `FUTEX_WAKE_OP`: changes the second word, wakes waiters of the first, and of the second if that had a certain value.
fn wake_op(word: usize, number: u64, other: usize, second_number: u64, encoded: u32) -> Result<c_long, c_int> {
    if !other.is_multiple_of(4) {
        return Err(libc::EINVAL);
    }
    let sign_extended = |shift: u32| ((encoded << shift) as i32 >> 20) as u32;
    let (arithmetic, comparison) = (encoded >> 28 & 7, encoded >> 24 & 15);
    let (operand, compared) = (sign_extended(8), sign_extended(20) as i32);
    // The highest bit asks for a shifted operand.
    let operand = if encoded >> 31 == 1 {
        1 << (operand & 31)
    } else {
        operand
    };
    if arithmetic > 4 || comparison > 5 {
        return Err(libc::ENOSYS);
    }
    let object = Location(word as u64);
    let second = atomics::used(Location(other as u64), WORD);
    let accesses = [
        access_of(second, AccessKind::Write),
        access_of(queue_location(word), AccessKind::Write),
        access_of(queue_location(other), AccessKind::Write),
    ];
    loop {
        let choices = [
            Choices::new(word, EVERYBODY, number, 0),
            Choices::new(other, EVERYBODY, second_number, 0),
        ];
        let ways = choices[1].count();
        let guard = |way: usize| {
            let second = choices[1].guard(way % ways);
            let clauses = second.clauses().map(|clause| clause.iter().copied());
            clauses.fold(choices[0].guard(way / ways), |guard, clause| guard.and(clause))
        };
        let done = with_guards(choices[0].count() * ways, guard, |guards| {
            let operation = Operation::guarded(OperationKind::FutexWake, object, &accesses, guards);
            perform_call(&operation, |way, touch| {
                if !choices.iter().all(Choices::enough) {
                    accesses.iter().for_each(|each| touch.relaxed().read(each.location));
                    return None;
                }
                let way = way as usize;
                let update = |old: u32| match arithmetic {
                    0 => operand,
                    1 => old.wrapping_add(operand),
                    2 => old | operand,
                    3 => old & !operand,
                    _ => old ^ operand,
                };
                let old = load(other);
                atomic(other).store(update(old), SeqCst);
                touch.relaxed().write(second);
                let [first_woken, _] = choices[0].apply(way / ways, word, touch);
                let holds = match comparison {
                    0 => old as i32 == compared,
                    1 => old as i32 != compared,
                    2 => (old as i32) < compared,
                    3 => old as i32 <= compared,
                    4 => old as i32 > compared,
                    _ => old as i32 >= compared,
                };
                let [second_woken, _] = match holds {
                    true => choices[1].apply(way % ways, other, touch),
                    false => {
                        touch.relaxed().read(queue_location(other));
                        [0, 0]
                    }
                };
                note(|| format!("{old} → {}, {first_woken} + {second_woken} woken", update(old)));
                Some((first_woken + second_woken) as c_long)
            })
        });
        if let Some(woken) = done {
            return Ok(woken);
        }
    }
}
