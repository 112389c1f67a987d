//! Wait queues named by an address: the waiters of a futex, or of a condition variable of the C library.
//!
//! A wait is two steps: one enters the queue, the other is enabled when the thread was woken. A timeout (and, by
//! option, a spurious wakeup) is another alternative of the second step: it leaves the queue. Nothing promises an
//! order, so each choice of those who are woken is an alternative of the step that wakes.
//!
//! The list of waiting threads is `image::queues`.

use super::word::Word;
use super::{Touch, effect, note, options, perform_call, time};
use crate::image::queues::{self, PART, length};
use crate::image::switch::in_checker;
use crate::operation::{Operation, OperationKind, access_of, location, sub_location};
use dpor_explorer::{AccessKind, Condition, Effect, Guard, Location, Variable};
use dpor_protocol::ModelOption;
use std::cell::Cell;
use std::ptr;
use std::time::Duration;

/// The location of the queue at an address.
pub(crate) fn queue_location(queue: usize) -> Location {
    sub_location(Location(queue as u64), PART)
}

/// The variable of guards that holds the length of the queue.
fn length_variable(queue: usize) -> Variable {
    Variable(queue_location(queue).0)
}

/// The nth waiter in the queue whom the mask concerns; null if there are not that many.
fn nth(queue: usize, mask: u64, nth: u64) -> *const Waiter {
    queues::nodes(queue)
        .map(ptr::with_exposed_provenance::<Waiter>)
        // SAFETY: a node in the list is alive: its owner waits.
        .filter(|&node| unsafe { (*node).mask } & mask != 0)
        .nth(nth as usize)
        .unwrap_or_default()
}

/// Changes the list, and records the change of the queue's length.
fn change(queue: usize, edit: impl FnOnce(&mut Vec<(usize, usize)>)) {
    let before = length(queue);
    in_checker(|| edit(queues::list()));
    effect(Effect {
        variable: length_variable(queue),
        before,
        after: length(queue),
    });
}

const WAITS: i64 = 0;
const WOKEN: i64 = 1;
/// The waiter was moved to another queue, and does not know it yet.
const MOVED: i64 = 2;

/// A thread in a queue, or about to enter one.
pub(crate) struct Waiter {
    state: Word,
    queue: Cell<usize>,
    /// Only a wake-up whose mask has a bit in common with this one concerns it.
    mask: u64,
    /// Not 0 if it may stop waiting by itself, and so has to know in which queue it is. Not a `bool`, which would leave
    /// bytes of the stack as they were.
    may_leave: u64,
}

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Woken,
    TimedOut,
    Spurious,
}

impl Waiter {
    /// Creates a waiter in no queue. It may stop waiting by itself if it is `timed`, or if the options say so.
    pub fn new(mask: u32, timed: bool) -> Waiter {
        Waiter {
            may_leave: u64::from(timed || options().has(ModelOption::SpuriousWakeups)),
            ..Waiter::patient(mask)
        }
    }

    /// Creates a waiter in no queue, which waits until it is woken.
    pub fn patient(mask: u32) -> Waiter {
        Waiter {
            state: Word::new(WAITS),
            queue: Cell::new(0),
            mask: u64::from(mask),
            may_leave: 0,
        }
    }

    fn location(&self) -> Location {
        location(&self.state)
    }

    fn entry(&self) -> (usize, usize) {
        (self.queue.get(), ptr::from_ref(self).expose_provenance())
    }

    /// Enters a queue, in the current step.
    pub fn enter(&self, queue: usize, touch: Touch<'_>) {
        self.queue.set(queue);
        let entry = self.entry();
        change(queue, |list| {
            let at = list.partition_point(|&other| other < entry);
            list.insert(at, entry);
        });
        touch.relaxed().update(queue_location(queue));
    }

    /// Takes the waiter out of its queue, in the current step.
    fn remove(&self) {
        let entry = self.entry();
        change(entry.0, |list| list.retain(|&other| other != entry));
    }

    /// Leaves the queue without being woken, in the current step.
    fn leave(&self, touch: Touch<'_>) {
        self.remove();
        touch.relaxed().update(queue_location(self.queue.get()));
        touch.relaxed().read(self.location());
    }

    /// Wakes the waiter, which was found in its queue, in the current step.
    fn wake(&self, touch: Touch<'_>) {
        self.remove();
        self.found(touch, self.queue.get());
        self.state.set(WOKEN);
    }

    /// Moves the waiter, which was found in its queue, to another one, in the current step.
    fn change_to(&self, queue: usize, touch: Touch<'_>) {
        let before = self.queue.get();
        self.remove();
        self.enter(queue, touch);
        self.found(touch, before);
        if self.may_leave != 0 {
            self.state.set(MOVED);
        }
    }

    /// Notes that the step changes the waiter, which it has found in the queue. Who enters or leaves updates that,
    /// and the waiter itself goes on only after it was woken, or by leaving.
    fn found(&self, touch: Touch<'_>, queue: usize) {
        touch
            .relaxed()
            .found(queue_location(queue), access_of(self.location(), AccessKind::Write));
    }

    /// Waits in the queue that was entered until the thread is woken and `needs` holds of its location, then takes
    /// effect by `take`; not if the wait ends in another way.
    pub fn wait(
        &self,
        kind: OperationKind,
        object: Location,
        timeout: Option<Duration>,
        needs: Option<(Location, Condition)>,
        take: impl Fn(Touch<'_>),
    ) -> End {
        let timed = time::firing(timeout).is_some();
        let spurious = options().has(ModelOption::SpuriousWakeups);
        let state = self.state.variable();
        let in_state = |value| Guard::when(Condition::Equals(state, value));
        let mut woken = in_state(WOKEN);
        if let Some((_, condition)) = needs {
            woken = woken.and([condition]);
        }
        let alternatives = [woken, in_state(MOVED), in_state(WAITS), in_state(WAITS)];
        let several = if self.may_leave != 0 {
            2 + usize::from(timed) + usize::from(spurious)
        } else {
            1
        };
        loop {
            let own = access_of(self.location(), AccessKind::Write);
            let accesses = [
                own,
                needs.map_or(own, |(location, _)| access_of(location, AccessKind::Write)),
                access_of(queue_location(self.queue.get()), AccessKind::Update),
            ];
            let operation = Operation {
                kind,
                object,
                accesses: &accesses[..2 + self.may_leave as usize],
                alternatives: &alternatives[..several],
                timeout: time::alternative(2, timeout),
            };
            let end = perform_call(&operation, |alternative, touch| match alternative {
                0 => {
                    touch.relaxed().read(self.location());
                    take(touch);
                    Some(End::Woken)
                }
                1 => {
                    touch.relaxed().write(self.location());
                    self.state.set(WAITS);
                    None
                }
                2 if timed => {
                    self.leave(touch);
                    note(|| "timed out".to_string());
                    Some(End::TimedOut)
                }
                _ => {
                    self.leave(touch);
                    note(|| "woke spuriously".to_string());
                    Some(End::Spurious)
                }
            });
            if let Some(end) = end {
                return end;
            }
        }
    }
}

/// Wakes all waiters in a queue, in the current step.
pub(crate) fn wake_all(queue: usize, touch: Touch<'_>) {
    loop {
        let waiter = nth(queue, u64::MAX, 0);
        if waiter.is_null() {
            break;
        }
        // SAFETY: a node in the list is alive: its owner waits.
        unsafe { (*waiter).wake(touch) };
    }
    touch.relaxed().write(queue_location(queue));
}

/// `n` over `k`.
fn binomial(n: u64, k: u64) -> u64 {
    (1..=k).fold(1, |product, i| product * (n + 1 - i) / i)
}

/// The position of `element` in the subset of `size` numbers with this rank, if it is a member. Subsets are ranked by
/// their greatest elements (colexicographic order), so that those of 0, …, n - 1 come before all others.
fn place_in_subset(mut rank: u64, size: u64, element: u64) -> Option<u64> {
    for place in (1..=size).rev() {
        let mut greatest = place - 1;
        while binomial(greatest + 1, place) <= rank {
            greatest += 1;
        }
        if greatest == element {
            return Some(place - 1);
        }
        rank -= binomial(greatest, place);
    }
    None
}

/// What happens to a waiter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Woken,
    Moved,
    Stays,
}

/// Number of guards that are made without allocating.
pub(crate) const FEW: usize = 8;

/// The ways to choose which waiters of a queue are woken and which are moved.
#[derive(Clone, Copy)]
pub(crate) struct Choices {
    queue: usize,
    mask: u64,
    /// Number of waiters that are woken, and then of those woken or moved, out of those provided for.
    woken: u64,
    chosen: u64,
    provided: u64,
}

impl Choices {
    /// Wakes `woken` waiters whom the mask concerns, and moves `moved` others. Provides for the present waiters and,
    /// where that is cheap, for more.
    pub fn new(queue: usize, mask: u32, woken: u64, moved: u64) -> Choices {
        let wanted = woken.saturating_add(moved);
        let provide = |provided: u64| Choices {
            queue,
            mask: u64::from(mask),
            woken: woken.min(provided),
            chosen: wanted.min(provided),
            provided,
        };
        let mut choices = provide(length(queue).unsigned_abs());
        while choices.provided < FEW as u64 && provide(choices.provided + 1).count() <= FEW {
            choices = provide(choices.provided + 1);
        }
        choices
    }

    /// Number of ways, for the number of waiters provided for.
    pub fn count(&self) -> usize {
        let ways = self.ways() * binomial(self.provided, self.chosen);
        ways as usize
    }

    /// Number of ways to divide the chosen waiters into woken and moved ones.
    fn ways(&self) -> u64 {
        binomial(self.chosen, self.woken)
    }

    /// The fate of the nth waiter, in the way with this number.
    fn fate(&self, way: u64, nth: u64) -> Fate {
        match place_in_subset(way / self.ways(), self.chosen, nth) {
            None => Fate::Stays,
            Some(place) if place_in_subset(way % self.ways(), self.woken, place).is_some() => Fate::Woken,
            Some(_) => Fate::Moved,
        }
    }

    /// Number of waiters for which the way differs from those before it.
    fn demand(&self, way: u64) -> u64 {
        let concerned = |fate| match way < self.ways() {
            true => fate == Fate::Woken,
            false => fate != Fate::Stays,
        };
        let last = (0..self.provided).rev().find(|&nth| concerned(self.fate(way, nth)));
        if way == 0 { 0 } else { last.map_or(0, |nth| nth + 1) }
    }

    /// The guard of a way.
    pub fn guard(&self, way: usize) -> Guard {
        match self.demand(way as u64) {
            0 => Guard::always(),
            demand => Guard::when(Condition::AtLeast(length_variable(self.queue), demand as i64)),
        }
    }

    /// Whether there are at most as many waiters as provided for. Otherwise do nothing, and make new choices.
    pub fn enough(&self) -> bool {
        length(self.queue).unsigned_abs() <= self.provided
    }

    /// Wakes and moves waiters, in the current step; returns the number of each.
    pub fn apply(&self, way: usize, target: usize, touch: Touch<'_>) -> [u64; 2] {
        let concerned = (0..).take_while(|&i| !nth(self.queue, self.mask, i).is_null()).count() as u64;
        let demand = self.demand(way as u64);
        // The mask may leave fewer than the guard has counted; then it is one of the ways before.
        let way = if demand > concerned { 0 } else { way as u64 };
        let (mut woken, mut moved, mut passed) = (0, 0, 0);
        for i in 0..concerned {
            // SAFETY: a node in the list is alive: its owner waits. There are so many, less those who were taken out.
            let waiter = unsafe { &*nth(self.queue, self.mask, passed) };
            match self.fate(way, i) {
                Fate::Woken => {
                    waiter.wake(touch);
                    woken += 1;
                }
                Fate::Moved if target != self.queue => {
                    waiter.change_to(target, touch);
                    moved += 1;
                }
                Fate::Moved => {
                    passed += 1;
                    moved += 1;
                }
                Fate::Stays => passed += 1,
            }
        }
        let kind = if woken + moved == 0 {
            AccessKind::Read
        } else {
            AccessKind::Write
        };
        touch.relaxed().access(queue_location(self.queue), kind);
        [woken, moved]
    }
}

/// Runs `f` with `count` guards.
pub(crate) fn with_guards<R>(count: usize, guard: impl Fn(usize) -> Guard, f: impl FnOnce(&[Guard]) -> R) -> R {
    match count {
        0..2 => f(&[]),
        2..=FEW => {
            let few: [Guard; FEW] = std::array::from_fn(|way| if way < count { guard(way) } else { Guard::always() });
            f(&few[..count])
        }
        _ => f(&(0..count).map(guard).collect::<Vec<_>>()),
    }
}
