//! Weak memory: RC11 (Lahav, Vafeiadis, Kang, Hur and Dreyer, *Repairing Sequential Consistency in C/C++11*, PLDI 2017,
//! in the form of herd's `rc11.cat`), with the release sequences of C++20. Load buffering is excluded, as RC11 does.
//!
//! Each atomic has a *history*: the messages that were stored to it, in modification order. Which of them an operation
//! may take is its choice, an alternative of its step: alternative 0 is the last message, and `k` the `k`-th before it.
//! The memory itself holds the last one.
//!
//! | module | what |
//! |---|---|
//! | `request` | what a pending operation asks of its atomic |
//! | `history` | the messages of an atomic, and which of them a thread may take |
//! | `sequential` | the record of operations that may matter for the order of sequentially consistent ones |
//! | `psc` | whether a new one fits into that order |
//!
//! There are no views beside happens-before. A thread may not take a message if it knows of an operation that has read,
//! or written, a later one (coherence): each message has with it who has taken it, and in which epoch.
//!
//! An operation is added to the execution graph after all that comes before it by program order or reads-from, and a
//! prefix of a consistent graph is consistent. So all graphs are made in this way. A message that is not the last adds
//! edges to later messages, by which the graph may become inconsistent where operations are sequentially consistent:
//! such a choice is not offered. The last message is always allowed.
//!
//! A history of one message, from which nobody can learn anything, is none. So most atomics have no history, and where
//! one thread runs alone from the start there is none at all.
//!
//! Invariant: what is forgotten (messages that nobody may take, histories, the record of sequentially consistent
//! operations) changes no choice of any thread that lives, or will be created by one.
//!
//! Where a thread goes round a loop that stores, a history grows with each round, and so there is no end of states. So
//! histories can be [narrow](Rc11::begins): of the messages of each atomic, operations take only the last ones. What is
//! explored then is a part of all executions, and all of them unless some operation [has more](Rc11::has_more) messages
//! to choose from.
//!
//! Invariant: under narrow histories, too, what an operation may do depends only on what is known in its state, and on
//! earlier operations on its atomic, with which it conflicts by its footprint. But not so by the execution graph: which
//! messages are too old depends on when the operation runs. So a strategy that goes by graphs explores all that can be
//! done under narrow histories only if no operation has more.

mod by_location;
#[cfg(feature = "faults")]
mod faults;
mod history;
mod psc;
mod request;
mod sequential;

use super::atomics;
use super::clocks::{Clock, entry, join};
#[cfg(feature = "faults")]
use super::happens_before::RaceFault;
use super::happens_before::{AtomicAccess, HappensBefore};
use super::shadow::Epoch;
use crate::operation::address_of;
use by_location::ByLocation;
use dpor_explorer::{BitSet, Location};
use dpor_protocol::WEAK_ORDERINGS;
use history::{History, Message};
pub(crate) use psc::ways::{KnownExits, Ways};
use psc::{Newcomers, Psc};
pub(crate) use request::{Ask, Request};
use sequential::{Event, EventKind, Log};
use smallvec::SmallVec;
use std::cell::{Cell, OnceCell};
use std::num::NonZeroU32;
use std::ops::Range;
use std::rc::Rc;
use std::sync::atomic::Ordering;

/// What exploration has learnt about the orderings that the program requests while it has several threads.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct LearntOrderings {
    /// Whether some are weaker than sequential consistency. Otherwise histories would offer no choice.
    pub weak: bool,
    /// Whether there are sequentially consistent ones beside them, so that their order matters.
    pub mixed: bool,
    /// Whether some of these are fences, by which weaker operations are ordered as well.
    pub fences: bool,
}

dpor_explorer::codec!(struct LearntOrderings { weak, mixed, fences });

impl LearntOrderings {
    /// What is known after an operation with these orderings, if it succeeds or fails.
    pub fn with(mut self, success: Ordering, failure: Ordering) -> LearntOrderings {
        let both = [success, failure];
        self.weak |= both.iter().any(|&order| order != Ordering::SeqCst);
        self.mixed |= self.weak && both.contains(&Ordering::SeqCst);
        self
    }

    /// What is known after a sequentially consistent fence.
    pub fn with_fence(self) -> LearntOrderings {
        LearntOrderings {
            fences: self.fences || self.weak,
            ..self.with(Ordering::SeqCst, Ordering::SeqCst)
        }
    }

    /// What is to be assumed where nothing is learnt any more, and others may have learnt more.
    pub fn for_good(self) -> LearntOrderings {
        LearntOrderings {
            fences: self.mixed,
            ..self
        }
    }

    /// Where no object is, so that they can stand for what was learnt among the locations that are learnt.
    const PLACES: [Location; 3] = [Location(WEAK_ORDERINGS), Location(2), Location(3)];

    /// What was learnt, as locations.
    pub fn as_locations(self) -> impl Iterator<Item = Location> {
        let [weak, mixed, fences] = LearntOrderings::PLACES;
        let learnt = [(self.weak, weak), (self.mixed, mixed), (self.fences, fences)];
        learnt
            .into_iter()
            .filter_map(|(is_learnt, place)| is_learnt.then_some(place))
    }

    /// Whether the location stands for something to learn.
    pub fn is_place(location: Location) -> bool {
        LearntOrderings::PLACES.contains(&location)
    }

    /// Learns what the location stands for. Says whether that is news.
    pub fn learn(&mut self, location: Location) -> bool {
        let before = *self;
        let [weak, mixed, fences] = LearntOrderings::PLACES;
        self.weak |= location == weak;
        self.mixed |= location == mixed;
        self.fences |= location == fences;
        *self != before
    }
}

/// The atomics of the current execution, and their histories.
#[derive(Default)]
pub(crate) struct Rc11 {
    /// Whether the program is explored under weak memory.
    pub is_on: bool,
    /// What is known of the orderings, the same throughout an execution.
    learnt: LearntOrderings,
    /// Maximum number of messages of an atomic from which operations choose; `None` if they choose from all of them.
    most: Option<NonZeroU32>,
    /// Whether some operation would choose from more than that number if there were none.
    has_more: Cell<bool>,
    histories: ByLocation<History>,
    /// The operations that may matter for sequential consistency.
    log: Log,
}

/// What is kept of it in a saved state.
#[derive(Default)]
pub(crate) struct SavedRc11 {
    histories: ByLocation<History>,
    log: Log,
}

/// The smallest number of messages of an atomic from which operations choose: with the last one alone, there is no
/// choice.
pub(crate) const FEWEST: NonZeroU32 = NonZeroU32::new(2).unwrap();

impl Rc11 {
    /// Forgets the execution.
    pub fn reset(&mut self) {
        self.histories.clear();
        self.log.clear();
    }

    /// An execution begins, in which operations choose from the last `most` messages of their atomic, which are the
    /// [`FEWEST`] at least, or from all of them.
    pub fn begins(&mut self, is_on: bool, learnt: LearntOrderings, most: Option<NonZeroU32>) {
        (self.is_on, self.learnt, self.most) = (is_on, learnt, most);
        self.log.without_fences = !learnt.fences;
    }

    /// Exploration starts again.
    pub fn start_again(&mut self) {
        self.has_more.set(false);
    }

    /// Exploration goes on after another process, in which operations had more messages to choose from, or not.
    pub fn go_on(&mut self, has_more: bool) {
        self.has_more.set(has_more);
    }

    /// Whether, since exploration started, some operation would have chosen from more messages than it could. It may
    /// say so of an operation that would not, but not the other way round.
    pub fn has_more(&self) -> bool {
        self.has_more.get()
    }

    /// Whether operations choose their messages.
    #[inline]
    pub fn chooses(&self) -> bool {
        self.is_on && self.learnt.weak
    }

    fn logs(&self) -> bool {
        self.chooses() && self.learnt.mixed
    }

    pub fn save(&self, saved: &mut SavedRc11) {
        saved.histories.clone_from(&self.histories);
        saved.log.copy_from(&self.log);
    }

    pub fn load(&mut self, saved: &SavedRc11) {
        self.histories.clone_from(&saved.histories);
        self.log.copy_from(&saved.log);
    }

    /// The history of the atomic, unless its memory was changed otherwise: then it is over.
    fn history(&self, request: &Request) -> Option<&History> {
        let history = self.histories.get(request.location())?;
        (history.last().value == request.present()).then_some(history)
    }

    /// The alternatives of a thread's pending operation.
    pub fn choices(&self, order: &HappensBefore, thread: usize, request: &Request) -> BitSet {
        let kinds = request.kinds();
        let last = || (0..kinds).collect();
        let Some(history) = self.history(request) else {
            return last();
        };
        let mut choices: BitSet = last();
        let knows = |of, epoch| order.knows(thread, of, epoch);
        #[cfg(feature = "faults")]
        let knows = faults::knowing(order, thread, knows);
        let floor = history.last_known(knows);
        if floor.is_none() && history.may_take_what_is_cut(request.ask) {
            self.has_more.set(true);
        }
        let floor = floor.unwrap_or(0);
        let first = self
            .most
            .map_or(0, |most| history.len().saturating_sub(most.get() as usize));
        let psc = OnceCell::new();
        let mut newcomers = None;
        // Whether ways of `psc` come in at a later message.
        let mut come_in = false;
        for older in 1..history.len() - floor {
            let at = history.len() - 1 - older;
            come_in |= history.messages[at + 1]
                .event
                .is_some_and(|store| self.log.lets_in(store));
            for kind in 0..kinds {
                let allowed = history.allows(at, request.ask, kind == 1);
                #[cfg(feature = "faults")]
                let allowed = faults::allows(order.fault, request.ask, history.messages[at].value, allowed);
                if !allowed {
                    continue;
                }
                if at < first {
                    self.has_more.set(true);
                    continue;
                }
                let message = &history.messages[at];
                let is_consistent = !come_in
                    || self.is_consistent(order, thread, request, (message, kind == 1), (&psc, &mut newcomers));
                if is_consistent {
                    choices.insert(older as u32 * kinds + kind);
                }
            }
        }
        choices
    }

    /// Whether the graph with this operation of the thread is consistent, which takes this message, and not the last
    /// one, and may fail spuriously. `psc` is that of the record, and judges the operation's messages, if they were
    /// needed so far.
    fn is_consistent<'psc>(
        &self,
        order: &HappensBefore,
        thread: usize,
        request: &Request,
        (message, spuriously): (&Message, bool),
        (psc, newcomers): (&'psc OnceCell<Rc<Psc>>, &mut Option<Newcomers<'psc>>),
    ) -> bool {
        if self.log.is_empty() {
            return true;
        }
        #[cfg(feature = "faults")]
        if order.fault == Some(RaceFault::IgnorePsc) {
            return true;
        }
        let Some(view) = order.views.get(thread) else {
            return true;
        };
        let access = request.ask.on(message.value, spuriously);
        let mut clock = view.current.clone();
        if access.acquires() {
            join(&mut clock, &message.released);
        }
        let who = (thread, entry(&view.current, thread).max(1), clock);
        let event = Event::of(who, request.location(), access, message.event);
        if !self.log.may_order(&event) {
            return true;
        }
        newcomers
            .get_or_insert_with(|| Newcomers::new(psc.get_or_init(|| self.log.psc())))
            .allow(&event)
    }

    /// The thread's operation goes on by this choice: memory holds what it has taken, until it has
    /// [stored](Rc11::stored).
    pub fn place(&mut self, order: &mut HappensBefore, request: &Request, chosen: u32) {
        let location = request.location();
        if self.history(request).is_none() {
            let mut initial = Message::initial(request.present(), order.take_published(location));
            // Whatever is on record comes before it.
            initial.event = self.log.last_store(location);
            self.histories.insert(location, History::new(initial));
        }
        let older = request.older(chosen);
        if older > 0 {
            request.put(self.histories[location].before_last(older).value);
        }
    }

    /// The thread's operation has read what it has taken. Comes after [`Rc11::place`].
    pub fn loaded(
        &mut self,
        order: &mut HappensBefore,
        thread: usize,
        request: &Request,
        chosen: u32,
        access: AtomicAccess,
    ) {
        let location = request.location();
        let Some(history) = self.histories.get_mut(location) else {
            unreachable!("the operation has taken a message of it")
        };
        let at = history.len() - 1 - request.older(chosen);
        let message = &history.messages[at];
        let source = message.event;
        if access.reads() {
            order.learns(thread, access, &message.released);
        }
        if !access.writes() {
            history.taken(at, thread, order.epoch(thread));
            if self.logs() {
                self.log_access(order, thread, location, access, source);
            }
        }
    }

    /// The thread's operation has stored what memory holds, after the message that it has taken. Comes after
    /// [`Rc11::loaded`]. From here on, memory holds the last message.
    pub fn stored(
        &mut self,
        order: &mut HappensBefore,
        thread: usize,
        request: &Request,
        chosen: u32,
        access: AtomicAccess,
        step: u32,
    ) {
        let (location, older) = (request.location(), request.older(chosen));
        if access.writes() {
            let source = self.histories[location].before_last(older).event;
            let event = self
                .logs()
                .then(|| self.log_access(order, thread, location, access, source));
            let epoch = order.epoch(thread);
            let mut released = order.publishes_now(thread, access);
            let Some(history) = self.histories.get_mut(location) else {
                unreachable!("the operation has taken a message of it")
            };
            let at = history.len() - 1 - older;
            let modifies = access.reads();
            if modifies {
                // The release sequence goes on.
                join(&mut released, &history.messages[at].released);
            }
            let message = Message {
                value: request.present(),
                modifies,
                released,
                taken: SmallVec::new(),
                event,
                writer: Some((thread as u16, step)),
            };
            history.messages.insert(at + 1, message);
            history.taken(at + 1, thread, epoch);
        }
        if older > 0 {
            request.put(self.histories[location].last().value);
        }
    }

    fn log_access(
        &mut self,
        order: &mut HappensBefore,
        thread: usize,
        location: Location,
        access: AtomicAccess,
        source: Option<u32>,
    ) -> u32 {
        let who = (thread, order.epoch(thread), order.view(thread).current.clone());
        self.record(Event::of(who, location, access, source))
    }

    /// Puts an event on record, and forgets what is needless because of it.
    fn record(&mut self, mut event: Event) -> u32 {
        if let Some(needless) = self.log.needless(&event) {
            self.forget_event(needless, event.source.as_mut());
        }
        let mut number = self.log.add(event);
        for needless in self.log.needless_round() {
            self.forget_event(needless, Some(&mut number));
        }
        number
    }

    /// Removes an event that is no store. The number `elsewhere` is one of an event as well.
    fn forget_event(&mut self, needless: u32, elsewhere: Option<&mut u32>) {
        let messages = self.histories.values_mut().flat_map(|history| &mut history.messages);
        let stores = messages.filter_map(|message| message.event.as_mut());
        self.log.remove(needless, stores.chain(elsewhere));
    }

    /// The step that has stored the message that the running operation takes by this choice, and the thread that has
    /// stored the next later one.
    pub fn source(&self, request: &Request, chosen: u32) -> (Option<u32>, Option<u16>) {
        let Some(history) = self.histories.get(request.location()) else {
            return (None, None);
        };
        let older = request.older(chosen);
        let later = older.checked_sub(1).and_then(|older| history.before_last(older).writer);
        (history.before_last(older).step(), later.map(|(thread, _)| thread))
    }

    /// The step that has stored the message that the pending operation would take by this choice; `None` if it is older
    /// than all steps, or known to all threads.
    pub fn store_taken(&self, request: &Request, chosen: u32) -> Option<u32> {
        self.history(request)?.before_last(request.older(chosen)).step()
    }

    /// Whether there is a message which the thread could take by this operation, and after which it would write, if no
    /// read-modify-write had taken it.
    pub fn is_excluded(&self, order: &HappensBefore, thread: usize, request: &Request) -> bool {
        if !request.ask.may_modify() {
            return false;
        }
        // Memory may hold the message that the running operation has taken, and not the last one.
        let Some(history) = self.histories.get(request.location()) else {
            return false;
        };
        let floor = history.floor(|of, epoch| order.knows(thread, of, epoch));
        let pairs = history.messages[floor..].windows(2);
        let mut taken = pairs.filter(|pair| pair[1].modifies).map(|pair| pair[0].value);
        taken.any(|value| request.ask.on(value, false).writes())
    }

    /// Notes an operation that is none of an atomic's, after it has learnt something, or before it publishes something.
    pub fn passes(&mut self, order: &mut HappensBefore, thread: usize, fence: Option<Ordering>) {
        if !self.logs() || self.log.is_empty() && fence != Some(Ordering::SeqCst) {
            return;
        }
        debug_assert!(
            self.learnt.fences || fence != Some(Ordering::SeqCst),
            "nobody has learnt that there are fences"
        );
        let epoch = order.epoch(thread);
        self.record(Event {
            thread: thread as u16,
            epoch,
            clock: order.view(thread).current.clone(),
            at: None,
            kind: if fence.is_some() {
                EventKind::Fence
            } else {
                EventKind::Other
            },
            is_sequential: fence == Some(Ordering::SeqCst),
            publishes: fence.is_some_and(|order| !matches!(order, Ordering::Relaxed | Ordering::Acquire)),
            source: None,
        });
    }

    /// Whether more operations are on record than can be judged.
    pub fn is_too_long(&self) -> bool {
        self.log.is_too_long()
    }

    /// The memory holds something else from now on.
    pub fn forget(&mut self, range: Range<usize>) {
        if !self.histories.is_empty() {
            self.histories
                .retain(|location, _| !range.contains(&address_of(location)));
        }
    }

    /// The thread's operation, which `writes` or not, is in no race with accesses to atomics that overlap its own one,
    /// of another size or shifted against it. Says whether that is so: the thread knows of the last value of each.
    ///
    /// What it writes ends their histories. Who uses one of them later knows of that, and can find no older value, or
    /// is in a race.
    pub fn passes_overlapping(
        &mut self,
        order: &HappensBefore,
        thread: usize,
        request: &Request,
        writes: bool,
    ) -> bool {
        let mut knows_all = true;
        self.histories.retain(|location, history| {
            if !overlaps(request, location) {
                return true;
            }
            let floor = history.floor(|of, epoch| order.knows(thread, of, epoch));
            knows_all &= floor + 1 == history.len();
            !writes
        });
        knows_all
    }

    /// Whether the operation's atomic overlaps one of another size, or shifted against it, of which older values may be
    /// found.
    pub fn overlaps_another(&self, request: &Request) -> bool {
        self.histories.locations().any(|location| overlaps(request, location))
    }

    /// Forgets what no live thread can choose or learn any more.
    pub fn settle(&mut self, order: &HappensBefore, live: &[u16]) {
        let most = self.most;
        self.histories.retain(|_, history| {
            if history.len() == 1 {
                history.forget_before(0);
                return !history.is_known(order, live);
            }
            let floors = live.iter().map(|&thread| {
                // What is lent to it for a destructor is not the thread's for good.
                let known = order.foreseen(thread.into());
                let knows = |of, epoch| known.is_some_and(|known| entry(known, of) >= epoch);
                #[cfg(feature = "faults")]
                let knows = faults::knowing(order, thread.into(), knows);
                history.floor(knows)
            });
            let floor = floors.min().unwrap_or(0);
            history.forget_before(floor);
            if let Some(most) = most {
                history.keep_last(most.get() as usize);
                #[cfg(feature = "faults")]
                history.forget_cut_if(order.fault == Some(RaceFault::ForgetCuts));
            }
            history.len() > 1 || !history.is_known(order, live)
        });
        self.settle_log();
    }

    /// Forgets the operations on record that are in no new cycle, once there are many new ones: all, if no atomic has
    /// two messages.
    fn settle_log(&mut self) {
        if self.log.is_empty() {
            return;
        }
        let later = self.histories.values().flat_map(|history| &history.messages[1..]);
        let entries: BitSet = later.filter_map(|message| message.event).collect();
        if !entries.is_empty() && !self.log.has_grown() {
            return;
        }
        if let Some(numbers) = self.log.settle(entries) {
            for message in self.histories.values_mut().flat_map(|history| &mut history.messages) {
                message.event = message.event.and_then(|event| numbers.of(event));
            }
        }
    }

    /// Whether operations have messages to choose from.
    pub fn has_choices(&self) -> bool {
        self.histories.values().any(|history| history.len() > 1)
    }

    /// What is learnt from each of the messages that there are to choose from, in the order of atomics.
    pub fn released(&self) -> impl Iterator<Item = &Clock> {
        let histories = self.histories.values().filter(|history| history.len() > 1);
        histories.flat_map(|history| history.messages.iter().map(|message| &message.released))
    }

    /// The atomics with one message, each with its value and what is learnt from it. If memory holds another value,
    /// nobody finds it any more.
    pub fn alone(&self) -> impl Iterator<Item = (Location, u64, &Clock)> {
        let histories = self.histories.iter().filter(|(_, history)| history.len() == 1);
        histories.map(|(at, history)| (at, history.last().value, &history.last().released))
    }

    /// For each message but the first that an operation may take, last ones first: its atomic, its number, and who has
    /// taken it in which epoch. Also for the first one, if others came before it.
    pub fn takers(&self) -> impl Iterator<Item = (Location, usize, impl Iterator<Item = Epoch>)> {
        self.histories.iter().flat_map(|(at, history)| {
            let first = usize::from(!history.is_cut());
            let messages = history.messages.iter().enumerate().skip(first).rev();
            messages.map(move |(number, message)| (at, number, message.takers()))
        })
    }

    /// What the operations on record decide about new ones. `known` is the last epoch of each thread of which all live
    /// threads know.
    pub fn ways(&self, known: &[u32]) -> Ways {
        let histories = self.histories.iter().filter(|(_, history)| history.len() > 1);
        let events = histories.map(|(at, history)| (at, history.messages.iter().map(|message| message.event)));
        Ways::new(&self.log, known, events)
    }

    /// What the last messages of each atomic hold, where there is a choice.
    pub fn last_values(&self) -> impl Iterator<Item = u64> {
        /// Number of messages of an atomic: more than one stores in the rounds of a short schedule.
        const LAST: usize = 64;
        let histories = self.histories.iter().filter(|(_, history)| history.len() > 1);
        histories.flat_map(|(location, history)| {
            let last = &history.messages[history.len().saturating_sub(LAST)..];
            let values = last.iter().map(|message| message.value);
            [location.0, last.len() as u64].into_iter().chain(values)
        })
    }

    /// Shows what there is to choose from. Who may choose it, and what is learnt from it, is [known](Self::takers) to
    /// somebody.
    pub fn visit(&self, mut show: impl FnMut(&'static str, u64)) {
        for (location, history) in self.histories.iter().filter(|(_, history)| history.len() > 1) {
            show(HISTORIES, location.0);
            show(HISTORIES, history.len() as u64);
            for mark in history.marks() {
                show(HISTORIES, u64::from(mark));
            }
            for message in &history.messages {
                show(HISTORIES, message.value);
                show(HISTORIES, u64::from(message.modifies));
            }
        }
    }
}

/// What there is to choose from, in a state that is shown.
const HISTORIES: &str = "what atomics hold";

/// Whether the operation's atomic overlaps the one at the location, and is another one.
fn overlaps(request: &Request, location: Location) -> bool {
    let end = request.address + usize::from(request.size);
    let (start, size) = atomics::extent(location);
    location != request.location() && start < end && request.address < start + size
}

/// Whether the clock knows no more than each of the live threads does, or will where it waits.
fn is_known_to_all(clock: &Clock, order: &HappensBefore, live: &[u16]) -> bool {
    live.iter().all(|&thread| {
        let known = order.foreseen(thread.into());
        clock
            .iter()
            .enumerate()
            .all(|(of, &epoch)| epoch <= known.map_or(0, |known| entry(known, of)))
    })
}

#[cfg(test)]
mod tests;
