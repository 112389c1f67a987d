//! Pending operations of toy programs as data: their footprints and guards.

use super::program::Instruction;
use super::state::Phase;
use super::{Toy, names};
use dpor_explorer::{AccessKind, BitSet, Condition, Footprint, Guard, Location, Pending, ThreadId, Values, Variable};
use smallvec::{SmallVec, smallvec};

use AccessKind::{Read, Update, Write};

/// The amount that a writer adds to the guard variable of a read-write lock.
pub(super) const WRITER: i64 = 1 << 20;

impl Toy {
    /// The pending operation of a thread that has not ended.
    pub(super) fn operation(&self, id: ThreadId) -> Pending {
        let mut pending = Pending {
            footprint: Footprint::new(),
            guards: SmallVec::new(),
            values: Values::new(),
            graph: None,
        };
        let thread = self.state.thread(id);
        let code = &self.program.bodies[thread.body];
        let Some(&instruction) = code.get(thread.counter) else {
            unreachable!("a thread at the end of its body has ended");
        };
        match instruction {
            _ if thread.phase == Phase::Begin => {}
            Instruction::Atomic(_) => {
                let section = self.program.section(thread.body, thread.counter);
                // A section may leave out parts of itself: it touches some of this. Only its first instruction has a
                // guard.
                for at in section.clone() {
                    self.add_operation(id, code[at], &code[section.start..at], &mut pending);
                }
            }
            instruction => self.add_operation(id, instruction, &[], &mut pending),
        }
        pending
    }

    /// Adds the footprint and the guard of the instruction after those `ahead` of it in its section.
    fn add_operation(&self, id: ThreadId, instruction: Instruction, ahead: &[Instruction], pending: &mut Pending) {
        let Pending { footprint, guards, .. } = pending;
        let state = &self.state;
        let thread = state.thread(id);
        match instruction {
            Instruction::Load { variable, .. } => footprint.add(names::variable(variable), Read),
            Instruction::SpinUntil { variable, .. } => {
                footprint.add(names::variable(variable), Read);
                if let Phase::Spinning(_) = thread.phase {
                    let (location, steps) = (names::variable(variable), self.looked[id.index()]);
                    *guards = smallvec![Guard::when(Condition::ChangedSince { location, steps })];
                }
            }
            Instruction::Store { variable, .. }
            | Instruction::FetchAdd { variable, .. }
            | Instruction::Swap { variable, .. }
            | Instruction::CompareExchange { variable, .. } => footprint.add(names::variable(variable), Write),
            Instruction::Lock(mutex) => {
                footprint.add(names::mutex(mutex), Write);
                *guards = smallvec![free(names::mutex(mutex))];
            }
            Instruction::TryLock { mutex, .. } | Instruction::Unlock(mutex) => {
                footprint.add(names::mutex(mutex), Write);
            }
            Instruction::ReadLock(lock) => {
                footprint.add(names::rwlock(lock), Update);
                *guards = smallvec![Guard::when(Condition::LessThan(guarded(names::rwlock(lock)), WRITER))];
            }
            Instruction::WriteLock(lock) => {
                footprint.add(names::rwlock(lock), Write);
                *guards = smallvec![free(names::rwlock(lock))];
            }
            Instruction::Acquire(semaphore) => {
                footprint.add(names::semaphore(semaphore), Write);
                *guards = smallvec![Guard::when(self.has_permit(semaphore))];
            }
            Instruction::AcquireBoth(one, other) => {
                let both = [one, other];
                both.iter()
                    .for_each(|&semaphore| footprint.add(names::semaphore(semaphore), Write));
                let free = both.map(|semaphore| [self.has_permit(semaphore)]);
                *guards = smallvec![free.into_iter().fold(Guard::always(), Guard::and)];
            }
            Instruction::Release(semaphore) => footprint.add(names::semaphore(semaphore), Update),
            Instruction::Send { channel, .. } => {
                let sent = |i: &&Instruction| matches!(i, Instruction::Send { channel: c, .. } if *c == channel);
                let message = state.channels[channel].sent + ahead.iter().filter(sent).count() as u64;
                footprint.add(names::tail(channel), Write);
                footprint.add(self.slot(channel, message), Write);
                if let Some(capacity) = self.program.channels[channel] {
                    let count = guarded(names::count(channel));
                    *guards = smallvec![Guard::when(Condition::LessThan(count, capacity as i64))];
                }
            }
            Instruction::Receive { channel, .. } => {
                footprint.add(names::head(channel), Write);
                footprint.add(self.slot(channel, state.channels[channel].received), Read);
                *guards = smallvec![Guard::when(Condition::AtLeast(guarded(names::count(channel)), 1))];
            }
            Instruction::TryReceive { channel, .. } => {
                // Those ahead may each have found a message, or not.
                let tried = |i: &&Instruction| match **i {
                    Instruction::Receive { channel: c, .. } | Instruction::TryReceive { channel: c, .. } => {
                        c == channel
                    }
                    _ => false,
                };
                let message = state.channels[channel].received + ahead.iter().filter(tried).count() as u64;
                footprint.add(names::head(channel), Write);
                footprint.add(self.slot(channel, message), Read);
            }
            Instruction::Wait {
                condvar,
                mutex,
                timeout,
            } if thread.phase == Phase::Waiting => {
                footprint.add(names::mutex(mutex), Write);
                footprint.add(names::waiter(id), Write);
                let free = free(names::mutex(mutex));
                let notified = |n| Condition::Equals(guarded(names::waiter(id)), n);
                guards.push(free.clone().and([notified(1)]));
                if timeout.is_some() {
                    footprint.add(names::condvar(condvar), Write);
                    guards.push(free.and([notified(0)]));
                }
            }
            Instruction::Wait { condvar, mutex, .. } => {
                footprint.add(names::mutex(mutex), Write);
                footprint.add(names::condvar(condvar), Write);
            }
            Instruction::NotifyOne(condvar) | Instruction::NotifyAll(condvar) => {
                footprint.add(names::condvar(condvar), Write);
                for &waiter in &state.waiters[condvar] {
                    footprint.add(names::waiter(waiter), Write);
                }
            }
            Instruction::Join(child) => {
                let exit = names::exit(thread.children[child]);
                footprint.add(exit, Read);
                *guards = smallvec![Guard::when(Condition::Equals(guarded(exit), 1))];
            }
            Instruction::ReadWriteUnlock(lock) => footprint.add(names::rwlock(lock), Write),
            Instruction::SkipUnless { .. }
            | Instruction::Assert { .. }
            | Instruction::Compute { .. }
            | Instruction::Repeat { .. }
            | Instruction::Choose { .. } => {}
            Instruction::Spawn(_) | Instruction::Atomic(_) => unreachable!("a thread does not stop at {instruction}"),
        }
    }

    /// Holds while not all permits of the semaphore are taken.
    fn has_permit(&self, semaphore: usize) -> Condition {
        Condition::LessThan(guarded(names::semaphore(semaphore)), self.program.semaphores[semaphore])
    }

    /// The enabled alternatives of a thread's next operation, from the state of the objects and not from
    /// guards.
    pub(super) fn enabled(&self, id: ThreadId) -> BitSet {
        let state = &self.state;
        let thread = state.thread(id);
        let available = |semaphore: usize| state.taken[semaphore] < self.program.semaphores[semaphore];
        let only = |enabled: bool| if enabled { BitSet::of(0) } else { BitSet::new() };
        if thread.ended() {
            return BitSet::new();
        }
        if thread.phase == Phase::Begin {
            return BitSet::of(0);
        }
        let code = &self.program.bodies[thread.body];
        let instruction = match self.program.section(thread.body, thread.counter) {
            section if section.is_empty() => code[thread.counter],
            section => code[section.start],
        };
        match instruction {
            Instruction::Lock(mutex) => only(state.mutexes[mutex].is_none()),
            Instruction::ReadLock(lock) => only(!state.rwlocks[lock].writer),
            Instruction::WriteLock(lock) => only(!state.rwlocks[lock].writer && state.rwlocks[lock].readers == 0),
            Instruction::Acquire(semaphore) => only(available(semaphore)),
            Instruction::AcquireBoth(one, other) => only(available(one) && available(other)),
            Instruction::Send { channel, .. } => {
                only(self.program.channels[channel].is_none_or(|n| state.channels[channel].queue.len() < n))
            }
            Instruction::Receive { channel, .. } => only(!state.channels[channel].queue.is_empty()),
            Instruction::Wait { mutex, timeout, .. } if thread.phase == Phase::Waiting => {
                let mut alternatives = BitSet::new();
                if state.mutexes[mutex].is_none() {
                    if thread.notified {
                        alternatives.insert(0);
                    } else if timeout.is_some() {
                        alternatives.insert(1);
                    }
                }
                alternatives
            }
            Instruction::NotifyOne(condvar) => (0..(state.waiters[condvar].len() as u32).max(1)).collect(),
            Instruction::CompareExchange { weak: true, .. } => [0, 1].into_iter().collect(),
            Instruction::Choose { count, .. } => (0..count).collect(),
            Instruction::Join(child) => only(state.thread(thread.children[child]).ended()),
            Instruction::SpinUntil { variable, .. } => match thread.phase {
                Phase::Spinning(version) => only(self.versions[variable] != version),
                _ => only(true),
            },
            _ => only(true),
        }
    }

    /// The value of a guard variable, from the state of the objects.
    pub(super) fn guard_value(&self, variable: Variable) -> i64 {
        let state = &self.state;
        let (kind, index) = names::parts(Location(variable.0));
        match kind {
            names::MUTEX => i64::from(state.mutexes[index].is_some()),
            names::RWLOCK => {
                let lock = &state.rwlocks[index];
                lock.readers + if lock.writer { WRITER } else { 0 }
            }
            names::SEMAPHORE => state.taken[index],
            names::COUNT => state.channels[index].queue.len() as i64,
            names::CONDVAR => state.waiters[index].len() as i64,
            names::WAITER => i64::from(state.threads[index].as_ref().is_some_and(|thread| thread.notified)),
            names::EXIT => i64::from(state.threads[index].as_ref().is_some_and(|thread| thread.ended())),
            _ => unreachable!("no guard is about {variable:?}"),
        }
    }

    /// The location of the n-th message's slot.
    pub(super) fn slot(&self, channel: usize, message: u64) -> Location {
        names::slot(
            channel,
            self.program.channels[channel].map_or(message, |capacity| message % capacity as u64),
        )
    }
}

/// The guard variable of an object that has one location.
pub(super) fn guarded(object: Location) -> Variable {
    Variable(object.0)
}

fn free(object: Location) -> Guard {
    Guard::when(Condition::Equals(guarded(object), 0))
}
