//! Brute force: all interleavings, and in each the graph of its events.
//!
//! An *event* is an operation that has happened, or a part of one. The graph has an edge to it from the event before in
//! its thread, and from each event that synchronises with it. A state holds the whole graph. An event has a name that
//! does not depend on the interleaving, so that interleavings which lead to the same graph, the same memory and the
//! same locks lead to the same state, from which the search goes on once.

use super::{ATOMICS, MEMORY, Op, Program, THREADS};
use std::collections::HashSet;
use std::sync::atomic::Ordering;

/// The program has more states than the search was allowed to visit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge;

/// What can happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Judgement {
    /// Two accesses are in a race, in some interleaving.
    pub race: bool,
    /// Threads can be left waiting for ever. Not looked for where there is a race.
    pub deadlock: bool,
    /// The number of states that were visited.
    pub states: usize,
}

/// Maximum number of events of a thread.
const ROOM: usize = 32;

/// A set of events, by their numbers.
type Events = u128;

fn number(thread: usize, index: usize) -> usize {
    assert!(index < ROOM, "no thread has so many events");
    thread * ROOM + index
}

fn members(mut events: Events) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let next = (events != 0).then(|| events.trailing_zeros() as usize)?;
        events &= events - 1;
        Some(next)
    })
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Access {
    at: u8,
    size: u8,
    writes: bool,
    atomic: bool,
}

impl Access {
    fn plain(at: u8, size: u8, writes: bool) -> Access {
        Access {
            at,
            size,
            writes,
            atomic: false,
        }
    }

    fn atomic(x: u8, writes: bool) -> Access {
        let (at, size) = ATOMICS[usize::from(x)];
        Access {
            at: at as u8,
            size: size as u8,
            writes,
            atomic: true,
        }
    }

    fn conflicts(self, other: Access) -> bool {
        let overlap = self.at < other.at + other.size && other.at < self.at + self.size;
        overlap && (self.writes || other.writes) && !(self.atomic && other.atomic)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
struct Event {
    /// The event before in the thread, and those that synchronise with this one.
    after: Events,
    /// The accesses to memory; a copy makes two.
    accesses: [Option<Access>; 2],
    /// Of an atomic access that reads: the events that synchronise with an acquire operation that reads this value.
    offers: Events,
    /// It is a fence that releases.
    release_fence: bool,
    /// It is an atomic write that releases.
    releases: bool,
}

/// How far a thread is in its operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Within {
    Nothing,
    /// Its message waits for a receiver.
    Sending,
    /// It was received, by this event.
    Received(usize),
    /// It waits at the barrier.
    Arrived,
    /// The barrier has opened, after these events.
    Opened(Events),
    /// It runs the initialisation, and has made no access yet.
    Initialising,
    /// It has made the access.
    Initialised,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Phase {
    Unborn,
    Lines,
    /// After the last line.
    Ending,
    Ended,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Thread {
    phase: Phase,
    line: u8,
    within: Within,
    last: u8,
    m: [bool; 2],
    shared: bool,
    alone: bool,
    /// The threads whose handles it has for `unpark`.
    known: u8,
    /// Those that it has created and not joined.
    children: u8,
    token: bool,
    events: Vec<Event>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    threads: Vec<Thread>,
    memory: [u8; MEMORY],
    /// For each atomic, the write that would be read and those before it, from the last one that is no modification.
    sequence: [Events; 2],
    locked: [bool; 2],
    unlocks: [Events; 2],
    written: bool,
    readers: u8,
    read_unlocks: Events,
    write_unlocks: Events,
    /// Messages: the value, and the event that has sent it.
    queue: Vec<(u8, usize)>,
    /// Messages of senders that wait: the value, the event, the thread.
    offers: Vec<(u8, usize, usize)>,
    sent: usize,
    receives: Vec<usize>,
    unparks: [Events; THREADS],
    /// The thread that waits at the barrier, and its event.
    arrived: Option<(usize, usize)>,
    initialising: bool,
    initialised: Option<usize>,
}

/// Two accesses are in a race.
struct Race;

/// A thread makes a move.
struct Move<'a> {
    program: &'a Program,
    s: State,
    t: usize,
}

fn acquires(order: Ordering) -> bool {
    matches!(order, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst)
}

fn releases(order: Ordering) -> bool {
    matches!(order, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst)
}

impl State {
    fn event(&self, event: usize) -> &Event {
        &self.threads[event / ROOM].events[event % ROOM]
    }

    /// The events from which a path leads to one after these.
    fn before(&self, mut found: Events) -> Events {
        let mut open = found;
        while open != 0 {
            let next = members(open).fold(0, |next, event| next | self.event(event).after);
            open = next & !found;
            found |= next;
        }
        found
    }
}

impl Move<'_> {
    fn me(&mut self) -> &mut Thread {
        &mut self.s.threads[self.t]
    }

    /// Adds an event of the thread that comes after these.
    fn event(&mut self, after: Events, accesses: [Option<Access>; 2]) -> Result<usize, Race> {
        let t = self.t;
        let index = self.s.threads[t].events.len();
        let previous = index.checked_sub(1).map_or(0, |last| 1 << number(t, last));
        let after = after | previous;
        let before = self.s.before(after);
        for access in accesses.into_iter().flatten() {
            for (other, thread) in self.s.threads.iter().enumerate().filter(|&(other, _)| other != t) {
                for (index, event) in thread.events.iter().enumerate() {
                    let ordered = before >> number(other, index) & 1 != 0;
                    let mut conflicts = event.accesses.iter().flatten();
                    if !ordered && conflicts.any(|&other| other.conflicts(access)) {
                        return Err(Race);
                    }
                }
            }
        }
        self.me().events.push(Event {
            after,
            accesses,
            ..Event::default()
        });
        Ok(number(t, index))
    }

    fn last_event(&mut self, event: usize) -> &mut Event {
        &mut self.me().events[event % ROOM]
    }

    fn sync(&mut self, after: Events) -> Result<usize, Race> {
        self.event(after, [None, None])
    }

    fn next_line(&mut self) {
        let me = self.me();
        me.within = Within::Nothing;
        me.line += 1;
    }

    /// What synchronises with an acquire operation that reads the atomic now, as far as it comes before these writes.
    fn offered(&self, x: usize) -> Events {
        let mut offered = 0;
        for write in members(self.s.sequence[x]) {
            if self.s.event(write).releases {
                offered |= 1 << write;
            }
            let thread = write / ROOM;
            for (index, event) in self.s.threads[thread].events[..write % ROOM].iter().enumerate() {
                if event.release_fence {
                    offered |= 1 << number(thread, index);
                }
            }
        }
        offered
    }

    fn value(&self, x: u8) -> u8 {
        self.s.memory[ATOMICS[usize::from(x)].0]
    }

    fn set_value(&mut self, x: u8, value: u8) {
        self.s.memory[ATOMICS[usize::from(x)].0] = value;
    }

    /// An atomic access.
    fn atomic(&mut self, x: u8, reads: Option<Ordering>, writes: Option<(u8, Ordering)>) -> Result<(), Race> {
        let at = usize::from(x);
        let offers = if reads.is_some() { self.offered(at) } else { 0 };
        let after = if reads.is_some_and(acquires) { offers } else { 0 };
        let event = self.event(after, [Some(Access::atomic(x, writes.is_some())), None])?;
        self.last_event(event).offers = offers;
        if reads.is_some() {
            self.me().last = self.value(x);
        }
        if let Some((value, order)) = writes {
            self.last_event(event).releases = releases(order);
            if reads.is_none() {
                self.s.sequence[at] = 0;
            }
            self.s.sequence[at] |= 1 << event;
            self.set_value(x, value);
        }
        Ok(())
    }

    fn plain_write(&mut self, at: u8, size: u8, value: u8) -> Result<(), Race> {
        self.event(0, [Some(Access::plain(at, size, true)), None])?;
        self.s.memory[usize::from(at)..][..usize::from(size)].fill(value);
        Ok(())
    }

    /// The thread has the mutex.
    fn lock(&mut self, m: usize) -> Result<(), Race> {
        self.sync(self.s.unlocks[m])?;
        self.s.locked[m] = true;
        self.me().m[m] = true;
        Ok(())
    }

    fn unlock(&mut self, m: usize) -> Result<(), Race> {
        let event = self.sync(0)?;
        self.s.unlocks[m] |= 1 << event;
        self.s.locked[m] = false;
        self.me().m[m] = false;
        Ok(())
    }

    fn lock_shared(&mut self) -> Result<(), Race> {
        self.sync(self.s.write_unlocks)?;
        self.s.readers += 1;
        self.me().shared = true;
        Ok(())
    }

    fn lock_alone(&mut self) -> Result<(), Race> {
        self.sync(self.s.write_unlocks | self.s.read_unlocks)?;
        self.s.written = true;
        self.me().alone = true;
        Ok(())
    }

    fn unlock_rw(&mut self) -> Result<(), Race> {
        let event = self.sync(0)?;
        let me = self.me();
        if std::mem::take(&mut me.shared) {
            self.s.readers -= 1;
            self.s.read_unlocks |= 1 << event;
        } else {
            me.alone = false;
            self.s.written = false;
            self.s.write_unlocks |= 1 << event;
        }
        Ok(())
    }

    /// The operation on which the thread is.
    fn op(&self) -> Op {
        let thread = &self.s.threads[self.t];
        self.program.threads[self.t][usize::from(thread.line)]
    }

    /// Makes the move; `false` if the thread has to wait.
    fn make(&mut self) -> Result<bool, Race> {
        match self.s.threads[self.t].phase {
            Phase::Unborn | Phase::Ended => Ok(false),
            Phase::Ending => self.end(),
            Phase::Lines => {
                let done = match self.s.threads[self.t].within {
                    Within::Nothing => self.perform(self.op())?,
                    within => self.go_on(within)?,
                };
                if done {
                    self.settle();
                }
                Ok(done)
            }
        }
    }

    /// The end of a thread, one thing at a time.
    fn end(&mut self) -> Result<bool, Race> {
        let me = &self.s.threads[self.t];
        if let Some(m) = me.m.iter().position(|&held| held) {
            self.unlock(m)?;
        } else if me.shared || me.alone {
            self.unlock_rw()?;
        } else if me.children != 0 {
            return self.join(me.children.trailing_zeros() as usize);
        } else {
            self.sync(0)?;
            self.me().phase = Phase::Ended;
        }
        Ok(true)
    }

    fn join(&mut self, child: usize) -> Result<bool, Race> {
        let thread = &self.s.threads[child];
        if thread.phase != Phase::Ended {
            return Ok(false);
        }
        let last = number(child, thread.events.len() - 1);
        self.sync(1 << last)?;
        self.me().children &= !(1 << child);
        Ok(true)
    }

    /// The rest of an operation.
    fn go_on(&mut self, within: Within) -> Result<bool, Race> {
        match within {
            Within::Nothing | Within::Sending | Within::Arrived => return Ok(false),
            Within::Received(by) => {
                self.sync(1 << by)?;
                self.next_line();
            }
            Within::Opened(after) => {
                self.sync(after)?;
                self.next_line();
            }
            Within::Initialising => {
                if let Op::Once(at, size, value) = self.op() {
                    self.plain_write(at, size, value)?;
                }
                self.me().within = Within::Initialised;
            }
            Within::Initialised => {
                let event = self.sync(0)?;
                self.s.initialising = false;
                self.s.initialised = Some(event);
                self.next_line();
            }
        }
        Ok(true)
    }

    fn perform(&mut self, op: Op) -> Result<bool, Race> {
        match op {
            Op::Read(at, size) => {
                self.event(0, [Some(Access::plain(at, size, false)), None])?;
                self.me().last = self.s.memory[usize::from(at)];
            }
            Op::Write(at, size, value) => self.plain_write(at, size, value)?,
            Op::Copy(to, from, size) => {
                let accesses = [Access::plain(from, size, false), Access::plain(to, size, true)];
                self.event(0, accesses.map(Some))?;
                let from = usize::from(from);
                self.s
                    .memory
                    .copy_within(from..from + usize::from(size), usize::from(to));
            }
            Op::PlainLoad(x) => {
                let (at, size) = ATOMICS[usize::from(x)];
                self.event(0, [Some(Access::plain(at as u8, size as u8, false)), None])?;
                self.me().last = self.value(x);
            }
            Op::PlainStore(x, value) => {
                let (at, size) = ATOMICS[usize::from(x)];
                self.event(0, [Some(Access::plain(at as u8, size as u8, true)), None])?;
                self.set_value(x, value);
                // Who reads this value reads none of an atomic access.
                self.s.sequence[usize::from(x)] = 0;
            }
            Op::Load(x, order) => self.atomic(x, Some(order), None)?,
            Op::Store(x, value, order) => self.atomic(x, None, Some((value, order)))?,
            Op::Swap(x, value, order) => self.atomic(x, Some(order), Some((value, order)))?,
            Op::Add(x, value, order) => self.atomic(x, Some(order), Some((self.value(x) + value, order)))?,
            Op::Or(x, order) => self.atomic(x, Some(order), Some((self.value(x), order)))?,
            Op::Exchange(x, old, new, success, failure) => {
                if self.value(x) == old {
                    self.atomic(x, Some(success), Some((new, success)))?;
                } else {
                    self.atomic(x, Some(failure), None)?;
                }
            }
            Op::Fence(order) => {
                let reads = self.s.threads[self.t].events.iter();
                let offers = reads.fold(0, |offers, event| offers | event.offers);
                let event = self.sync(if acquires(order) { offers } else { 0 })?;
                self.last_event(event).release_fence = releases(order);
            }
            Op::Lock(m) => {
                if self.s.locked[usize::from(m)] {
                    return Ok(false);
                }
                self.lock(m.into())?;
            }
            Op::TryLock(m) => {
                let free = !self.s.locked[usize::from(m)];
                if free {
                    self.lock(m.into())?;
                } else {
                    self.sync(0)?;
                }
                self.me().last = free.into();
            }
            Op::Unlock(m) => self.unlock(m.into())?,
            Op::LockShared => {
                if self.s.written {
                    return Ok(false);
                }
                self.lock_shared()?;
            }
            Op::TryLockShared => {
                let free = !self.s.written;
                if free {
                    self.lock_shared()?;
                } else {
                    self.sync(0)?;
                }
                self.me().last = free.into();
            }
            Op::LockAlone => {
                if self.s.written || self.s.readers > 0 {
                    return Ok(false);
                }
                self.lock_alone()?;
            }
            Op::TryLockAlone => {
                let free = !self.s.written && self.s.readers == 0;
                if free {
                    self.lock_alone()?;
                } else {
                    self.sync(0)?;
                }
                self.me().last = free.into();
            }
            Op::UnlockRw => self.unlock_rw()?,
            Op::Send(value) => return self.send(value),
            Op::Recv | Op::TryRecv => {
                if !self.receive()? {
                    if op == Op::Recv {
                        return Ok(false);
                    }
                    self.sync(0)?;
                    self.me().last = 0;
                }
            }
            Op::Park => {
                if !self.s.threads[self.t].token {
                    return Ok(false);
                }
                self.sync(self.s.unparks[self.t])?;
                self.me().token = false;
            }
            Op::Unpark(other) => {
                let event = self.sync(0)?;
                self.s.threads[usize::from(other)].token = true;
                self.s.unparks[usize::from(other)] |= 1 << event;
            }
            Op::Barrier => {
                let event = self.sync(0)?;
                self.me().within = match self.s.arrived.take() {
                    None => {
                        self.s.arrived = Some((self.t, event));
                        Within::Arrived
                    }
                    Some((other, arrived)) => {
                        let both = 1 << event | 1 << arrived;
                        self.s.threads[other].within = Within::Opened(both);
                        Within::Opened(both)
                    }
                };
                return Ok(true);
            }
            Op::Once(..) => {
                if self.s.initialising {
                    return Ok(false);
                }
                let after = self.s.initialised.map(|event| 1 << event);
                self.sync(after.unwrap_or(0))?;
                if after.is_none() {
                    self.s.initialising = true;
                    self.me().within = Within::Initialising;
                    return Ok(true);
                }
            }
            Op::Spawn(child) => {
                let event = self.sync(0)?;
                let me = self.me();
                me.children |= 1 << child;
                let known = me.known;
                me.known |= 1 << child;
                let mut first = Move {
                    program: self.program,
                    s: self.s.clone(),
                    t: child.into(),
                };
                first.sync(1 << event)?;
                let born = first.me();
                born.phase = Phase::Lines;
                born.known = known;
                first.settle();
                self.s = first.s;
            }
            Op::Join(child) => {
                if !self.join(child.into())? {
                    return Ok(false);
                }
            }
            Op::Unless(..) => unreachable!("it is no event"),
        }
        self.next_line();
        Ok(true)
    }

    fn send(&mut self, value: u8) -> Result<bool, Race> {
        if self.program.capacity == Some(0) {
            let event = self.sync(0)?;
            self.s.offers.push((value, event, self.t));
            self.me().within = Within::Sending;
            return Ok(true);
        }
        let mut after = 0;
        if let Some(capacity) = self.program.capacity.map(usize::from) {
            if self.s.queue.len() == capacity {
                return Ok(false);
            }
            if let Some(gone) = self.s.sent.checked_sub(capacity) {
                after = 1 << self.s.receives[gone];
            }
        }
        let event = self.sync(after)?;
        self.s.queue.push((value, event));
        self.s.sent += 1;
        self.next_line();
        Ok(true)
    }

    /// Receives a message, if there is one.
    fn receive(&mut self) -> Result<bool, Race> {
        let (value, sent, waiting) = if self.s.queue.is_empty() {
            if self.s.offers.is_empty() {
                return Ok(false);
            }
            let (value, sent, sender) = self.s.offers.remove(0);
            (value, sent, Some(sender))
        } else {
            let (value, sent) = self.s.queue.remove(0);
            (value, sent, None)
        };
        let event = self.sync(1 << sent)?;
        match waiting {
            Some(sender) => self.s.threads[sender].within = Within::Received(event),
            None => self.s.receives.push(event),
        }
        self.me().last = value;
        Ok(true)
    }

    /// Brings the thread to its next event, over what does nothing.
    fn settle(&mut self) {
        let ops = &self.program.threads[self.t];
        let me = &mut self.s.threads[self.t];
        if me.within != Within::Nothing {
            return;
        }
        while let Some(&op) = ops.get(usize::from(me.line)) {
            let has = me.shared || me.alone;
            let nothing = match op {
                Op::Unless(value, count) => {
                    if me.last != value {
                        me.line += count;
                    }
                    true
                }
                Op::Lock(m) | Op::TryLock(m) => me.m[usize::from(m)],
                Op::Unlock(m) => !me.m[usize::from(m)],
                Op::LockShared | Op::TryLockShared | Op::LockAlone | Op::TryLockAlone => has,
                Op::UnlockRw => !has,
                Op::Unpark(other) => me.known & 1 << other == 0,
                Op::Join(child) => me.children & 1 << child == 0,
                _ => false,
            };
            if !nothing {
                return;
            }
            me.line += 1;
        }
        me.phase = Phase::Ending;
    }
}

fn initial(program: &Program) -> State {
    let thread = Thread {
        phase: Phase::Unborn,
        line: 0,
        within: Within::Nothing,
        last: 0,
        m: [false; 2],
        shared: false,
        alone: false,
        known: 0,
        children: 0,
        token: false,
        events: Vec::new(),
    };
    let s = State {
        threads: vec![thread; program.threads.len()],
        memory: [0; MEMORY],
        sequence: [0; 2],
        locked: [false; 2],
        unlocks: [0; 2],
        written: false,
        readers: 0,
        read_unlocks: 0,
        write_unlocks: 0,
        queue: Vec::new(),
        offers: Vec::new(),
        sent: 0,
        receives: Vec::new(),
        unparks: [0; THREADS],
        arrived: None,
        initialising: false,
        initialised: None,
    };
    let mut main = Move { program, s, t: 0 };
    main.me().phase = Phase::Lines;
    main.me().known = 1;
    main.settle();
    main.s
}

/// Says whether a race or a deadlock can happen.
///
/// # Errors
/// If there are more than `limit` states.
pub fn judge(program: &Program, limit: usize) -> Result<Judgement, TooLarge> {
    let first = initial(program);
    let mut known = HashSet::from([first.clone()]);
    let mut open = vec![first];
    let mut deadlock = false;
    while let Some(state) = open.pop() {
        let mut stuck = true;
        for t in 0..state.threads.len() {
            let mut next = Move {
                program,
                s: state.clone(),
                t,
            };
            match next.make() {
                Ok(false) => continue,
                Ok(true) => {}
                Err(Race) => {
                    return Ok(Judgement {
                        race: true,
                        deadlock: false,
                        states: known.len(),
                    });
                }
            }
            stuck = false;
            if known.insert(next.s.clone()) {
                open.push(next.s);
            }
            if known.len() > limit {
                return Err(TooLarge);
            }
        }
        let over = |thread: &Thread| matches!(thread.phase, Phase::Unborn | Phase::Ended);
        deadlock |= stuck && !state.threads.iter().all(over);
    }
    Ok(Judgement {
        race: false,
        deadlock,
        states: known.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Op, Place, Program};
    use super::{Judgement, judge};
    use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

    fn race(child: &[Op], main: &[Op]) -> bool {
        let program = Program {
            threads: vec![[&[Op::Spawn(1)], main].concat(), child.to_vec()],
            capacity: None,
            place: Place::Static,
        };
        let Ok(Judgement { race, .. }) = judge(&program, 10_000) else {
            panic!("it is small")
        };
        race
    }

    #[test]
    fn messages_order_what_is_written_before() {
        let write = Op::Write(0, 8, 1);
        let read = Op::Read(4, 2);
        for (store, load, racy) in [
            (Release, Acquire, false),
            (Relaxed, Acquire, true),
            (Release, Relaxed, true),
        ] {
            let child = [write, Op::Store(0, 1, store)];
            let main = [Op::Load(0, load), Op::Unless(1, 1), read];
            assert_eq!(race(&child, &main), racy);
            assert!(race(&child, &[Op::Load(0, load), read]));
        }
        let child = [write, Op::Fence(Release), Op::Store(0, 1, Relaxed)];
        let main = [Op::Load(0, Relaxed), Op::Unless(1, 2), Op::Fence(Acquire), read];
        assert!(!race(&child, &main));
        assert!(race(&child, &[Op::Load(0, Relaxed), Op::Unless(1, 1), read]));
    }

    #[test]
    fn locks_and_joins_order() {
        let locked = [Op::Lock(0), Op::Write(0, 8, 1), Op::Unlock(0)];
        assert!(!race(&locked, &locked));
        assert!(race(&locked, &[Op::LockAlone, Op::Write(3, 1, 1)]));
        assert!(!race(&locked, &[Op::Join(1), Op::Write(3, 1, 1)]));
        assert!(!race(&locked, &[Op::Write(8, 8, 1)]));
    }
}
