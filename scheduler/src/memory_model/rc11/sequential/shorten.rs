//! Events of which little counts, in a shorter record.
//!
//! A cycle of `psc` through a new event leads from it to an *entry*, a store before which a new event can come, and from
//! there over sequentially consistent events. So of an event that is not sequentially consistent it counts:
//!
//! 1. of an entry, where it is in modification order;
//! 2. of a load, that a sequentially consistent fence after it comes by `eco` after a new event, or after one before
//!    which there is such a fence. It is enough to know of the first load of a message by a thread; and of none if the
//!    message is no entry, so that nothing new comes before it, and nothing is on record of its atomic before which there
//!    is such a fence;
//! 3. of a load, that a sequentially consistent fence before it comes before the later stores to its atomic. It is
//!    enough to know of the last load of a message by a thread, and of none before which there is no such fence. The
//!    last one before each sequentially consistent event of the thread is kept, too, so that the rounds of a loop that
//!    waits look the same ([`Log::needless_round`]);
//! 4. of a store that is no entry, how it is ordered with the sequentially consistent accesses to its atomic, and with
//!    accesses before which there is a sequentially consistent fence. If none of them is on record, nothing of its order
//!    counts, as nothing new comes before it, and a way of `psc` neither comes to the atomic nor begins there;
//! 5. of each event, that it is one of its thread: what happens before and after it, and whether it is of the same atomic
//!    as its neighbours, for `sb≠loc;hb;sb≠loc`.
//!
//! An event of which only the last counts is *past*: what was read or written is forgotten, and of those that follow each
//! other in a thread the ones are forgotten that lie between others. A way that comes from a sequentially consistent
//! event of the thread leaves by the first one, or by the first of another atomic, because who knows of a later one
//! knows of that. A way that goes on to a later event of the thread comes in by the last one, or by the last of another
//! atomic, because that knows of all that an earlier one knows of. There is no such way if the thread has made no
//! sequentially consistent event before, or if the last one knows of none of another thread. What is in one epoch of the
//! thread and knows the same of others is one event, of no atomic if it is several.

use super::{Event, EventKind, Log, Numbers};
use dpor_explorer::{BitSet, Location};
use smallvec::SmallVec;

/// An atomic with accesses that `psc` orders.
struct Ordered {
    at: Location,
    /// Whether one of them comes after a sequentially consistent fence.
    by_fences: bool,
}

/// A past event, or several.
#[derive(Clone, Copy)]
struct Past {
    number: u32,
    at: Option<Location>,
}

impl Past {
    /// Whether it is of another atomic, or of none.
    fn is_elsewhere(&self, other: &Past) -> bool {
        self.at.is_none() || self.at != other.at
    }
}

impl Log {
    /// Forgets what does not count of the events, in a record with its entries. `None` if nothing is forgotten.
    pub(super) fn shorten(&mut self) -> Option<Numbers> {
        let after_fences = self.after_fences();
        let ordered = self.ordered(&after_fences);
        let is_past: Vec<bool> = (0..self.events.len())
            .map(|number| self.is_past(number, &after_fences, &ordered))
            .collect();
        // What is left of each event: nothing, or its atomic if it is past.
        let mut left: Vec<Option<Option<Location>>> = self.events.iter().map(|event| Some(event.at)).collect();
        let mut is_shorter = false;
        let threads = self
            .events
            .iter()
            .map(|event| event.thread)
            .max()
            .map_or(0, |last| last + 1);
        let mut run: SmallVec<[Past; 16]> = SmallVec::new();
        for thread in 0..threads {
            let mut follows_sequential = false;
            for number in 0..=self.events.len() {
                let event = self.events.get(number);
                if event.is_some_and(|event| event.thread != thread) {
                    continue;
                }
                if let Some(event) = event.filter(|_| is_past[number]) {
                    left[number] = None;
                    self.add_past(&mut run, number as u32, event);
                    continue;
                }
                for past in self.needed(&run, follows_sequential) {
                    left[past.number as usize] = Some(past.at);
                }
                run.clear();
                follows_sequential |= event.is_some_and(|event| event.is_sequential);
            }
        }
        for (number, event) in self.events.iter().enumerate().filter(|&(number, _)| is_past[number]) {
            is_shorter |= left[number].is_none_or(|at| (past_kind(at), at) != (event.kind, event.at));
        }
        is_shorter.then(|| {
            self.rebuild(|number, event| {
                let at = left[number as usize]?;
                Some(match is_past[number as usize] {
                    false => event,
                    true => Event {
                        at,
                        kind: past_kind(at),
                        publishes: false,
                        source: None,
                        ..event
                    },
                })
            })
        })
    }

    /// The events that come after a sequentially consistent fence by happens-before.
    fn after_fences(&self) -> BitSet {
        // By thread, the first one.
        let mut fences: SmallVec<[usize; 8]> = SmallVec::new();
        let mut after = BitSet::new();
        for (number, event) in self.events.iter().enumerate() {
            if fences.iter().any(|&fence| event.comes_after(&self.events[fence])) {
                after.insert(number as u32);
            }
            let is_of_thread = |&fence: &usize| self.events[fence].thread == event.thread;
            if event.is_sequential_fence() && !fences.iter().any(is_of_thread) {
                fences.push(number);
            }
        }
        after
    }

    /// The atomics with accesses that are sequentially consistent or come after a fence that is.
    fn ordered(&self, after_fences: &BitSet) -> SmallVec<[Ordered; 8]> {
        let mut all: SmallVec<[Ordered; 8]> = SmallVec::new();
        for (number, event) in (0..).zip(&self.events) {
            let by_fences = after_fences.contains(number);
            if let Some(at) = event.atomic()
                && (event.is_sequential || by_fences)
            {
                match all.iter_mut().find(|ordered| ordered.at == at) {
                    Some(ordered) => ordered.by_fences |= by_fences,
                    None => all.push(Ordered { at, by_fences }),
                }
            }
        }
        all
    }

    /// Whether it counts of the event only where it was.
    fn is_past(&self, number: usize, after_fences: &BitSet, ordered: &[Ordered]) -> bool {
        let event = &self.events[number];
        if event.is_sequential {
            return false;
        }
        let ordered = ordered.iter().find(|ordered| Some(ordered.at) == event.at);
        match event.kind {
            EventKind::Fence | EventKind::Other | EventKind::Past => true,
            EventKind::Store | EventKind::Modify => !self.entries.contains(number as u32) && ordered.is_none(),
            EventKind::Load => {
                let loads_the_same = |other: &&Event| {
                    (other.thread, other.at, other.source) == (event.thread, event.at, event.source)
                        && other.kind == EventKind::Load
                };
                let is_first = event.source.is_some_and(|source| {
                    let comes_after_some =
                        self.entries.contains(source) || ordered.is_some_and(|ordered| ordered.by_fences);
                    comes_after_some
                        && self.events[source as usize].thread != event.thread
                        && !self.events[..number].iter().any(|other| loads_the_same(&other))
                });
                let is_last = || {
                    let own = |other: &&Event| other.thread == event.thread;
                    let mut later = self.events[number + 1..].iter().filter(own);
                    let next = later.find(|other| other.is_sequential || loads_the_same(other));
                    next.is_none_or(|next| next.is_sequential)
                };
                !(is_first || after_fences.contains(number as u32) && is_last())
            }
        }
    }

    /// Adds a past event to those before it in its thread.
    fn add_past(&self, run: &mut SmallVec<[Past; 16]>, number: u32, event: &Event) {
        if let Some(last) = run.last_mut() {
            let other = &self.events[last.number as usize];
            if other.epoch == event.epoch && other.knows_as_much_as(event) {
                last.at = last.at.filter(|_| last.at == event.at);
                return;
            }
        }
        run.push(Past { number, at: event.at });
    }

    /// Of past events that follow each other, those by which ways come in or leave.
    fn needed<'a>(&self, run: &'a [Past], follows_sequential: bool) -> impl Iterator<Item = &'a Past> {
        let mut needed: SmallVec<[usize; 4]> = SmallVec::new();
        if follows_sequential && let Some(first) = run.first() {
            needed.push(0);
            needed.extend(run.iter().position(|past| past.is_elsewhere(first)));
        }
        if let Some(last) = run.last() {
            let lasts = [
                run.len() - 1,
                run.iter()
                    .rposition(|past| past.is_elsewhere(last))
                    .unwrap_or(run.len() - 1),
            ];
            let knows = |&past: &usize| self.knows_of_sequential(run[past].number as usize);
            needed.extend(lasts.into_iter().filter(knows));
        }
        run.iter()
            .enumerate()
            .filter(move |(at, _)| needed.contains(at))
            .map(|(_, past)| past)
    }

    /// Whether a sequentially consistent event of another thread happens before this one.
    fn knows_of_sequential(&self, number: usize) -> bool {
        let event = &self.events[number];
        let mut earlier = self.events[..number].iter();
        earlier.any(|other| other.is_sequential && other.thread != event.thread && event.comes_after(other))
    }
}

/// The kind of a past event.
fn past_kind(at: Option<Location>) -> EventKind {
    match at {
        Some(_) => EventKind::Past,
        None => EventKind::Other,
    }
}
