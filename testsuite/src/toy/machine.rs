//! Runs the instructions of toy programs.

use super::operation::{WRITER, guarded};
use super::program::{Instruction, Operand};
use super::state::{Phase, Thread};
use super::{Toy, names};
use dpor_explorer::{Access, AccessKind, Awaits, Effect, Failure, Location, Step, Stop, ThreadId};

use AccessKind::{Read, Update, Write};

fn change(step: &mut Step, object: Location, before: i64, after: i64) {
    step.effects.push(Effect {
        variable: guarded(object),
        before,
        after,
    });
}

impl Toy {
    /// Brings an initial thread to its first scheduling point.
    pub(super) fn begin(&mut self, id: ThreadId) {
        let mut step = Step::default();
        // Without a step there is nobody to fail or to create threads.
        let stopped =
            |instruction: &Instruction| matches!(instruction, Instruction::Spawn(_) | Instruction::Assert { .. });
        while let Some(instruction) = self.local(id) {
            if stopped(&instruction) {
                self.state.thread_mut(id).phase = Phase::Begin;
                return;
            }
            self.run_one(id, instruction, &mut step).expect("nothing stops here");
        }
        self.end_if_done(id, &mut step);
    }

    /// Runs the thread's pending operation and what follows up to the next scheduling point.
    pub(super) fn execute(&mut self, id: ThreadId, alternative: u32, step: &mut Step) -> Result<(), Stop> {
        if self.state.thread(id).phase == Phase::Begin {
            self.state.thread_mut(id).phase = Phase::Ready;
        } else if let Instruction::Atomic(_) = self.instruction(id) {
            self.run_section(id, step)?;
        } else if !self.operate(id, alternative, step)? {
            return Ok(());
        }
        self.run_local(id, step)
    }

    fn run_section(&mut self, id: ThreadId, step: &mut Step) -> Result<(), Stop> {
        let thread = self.state.thread(id);
        let section = self.program.section(thread.body, thread.counter);
        let foreseen = self.operation(id).footprint;
        let is_notification = |i: &Instruction| matches!(i, Instruction::NotifyOne(_) | Instruction::NotifyAll(_));
        let notifies = self.program.bodies[thread.body][section.clone()]
            .iter()
            .any(is_notification);
        self.state.thread_mut(id).counter = section.start;
        // Branches only lead forward.
        while !self.state.thread(id).ended() && self.state.thread(id).counter < section.end {
            let instruction = self.instruction(id);
            if instruction.is_point() {
                self.operate(id, 0, step)?;
            } else {
                self.run_one(id, instruction, step)?;
            }
        }
        for access in step.footprint.accesses() {
            let covers = |a: &Access| a.location == access.location && a.kind.join(access.kind) == a.kind;
            assert!(
                foreseen.accesses().iter().any(covers) || access.location == names::exit(id),
                "a section touches what was not foreseen: {access:?}"
            );
        }
        // Whether a step depends on another one must not change with a third one that is independent of the other (the
        // seventh condition on happens-before in Abdulla et al. 2014). It would, if what a section reads at one
        // location decided whether it touches a second one. A notification touches more locations if somebody waits.
        if foreseen.accesses().len() > 1 || notifies {
            for access in foreseen.accesses() {
                step.footprint.add(access.location, access.kind);
            }
        }
        Ok(())
    }

    fn run_local(&mut self, id: ThreadId, step: &mut Step) -> Result<(), Stop> {
        while let Some(instruction) = self.local(id) {
            self.run_one(id, instruction, step)?;
        }
        self.end_if_done(id, step);
        Ok(())
    }

    /// The thread's next instruction, if it belongs to the current step.
    fn local(&self, id: ThreadId) -> Option<Instruction> {
        let thread = self.state.thread(id);
        if thread.ended() {
            return None;
        }
        let instruction = *self.program.bodies[thread.body].get(thread.counter)?;
        let held = |mutex: usize| self.state.mutexes[mutex] == Some(id);
        let local = match instruction {
            Instruction::Unlock(mutex) => !held(mutex) || !self.observed[mutex],
            Instruction::Wait { mutex, .. } => !held(mutex) && thread.phase != Phase::Waiting,
            Instruction::Join(child) => child >= thread.children.len(),
            instruction => !instruction.is_point(),
        };
        local.then_some(instruction)
    }

    fn end_if_done(&mut self, id: ThreadId, step: &mut Step) {
        let thread = self.state.thread(id);
        if !thread.ended() && thread.counter >= self.program.bodies[thread.body].len() {
            self.end(id, false, step);
        }
    }

    fn end(&mut self, id: ThreadId, failed: bool, step: &mut Step) {
        self.state.thread_mut(id).phase = Phase::Ended { failed };
        step.footprint.add(names::exit(id), Write);
        change(step, names::exit(id), 0, 1);
    }

    fn operand(&self, id: ThreadId, operand: Operand) -> i64 {
        match operand {
            Operand::Constant(n) => n,
            Operand::Register(r) => self.state.thread(id).registers[usize::from(r)],
        }
    }

    fn set(&mut self, id: ThreadId, register: u8, value: i64) {
        self.state.thread_mut(id).registers[usize::from(register)] = value;
    }

    /// Runs an instruction that is not a scheduling point.
    fn run_one(&mut self, id: ThreadId, instruction: Instruction, step: &mut Step) -> Result<(), Stop> {
        self.state.thread_mut(id).counter += 1;
        match instruction {
            Instruction::Unlock(mutex) if self.state.mutexes[mutex] == Some(id) => self.unlock(mutex, step),
            Instruction::Unlock(_) | Instruction::Wait { .. } | Instruction::Join(_) => {}
            Instruction::ReadWriteUnlock(lock) => self.unlock_rwlock(id, lock, step),
            Instruction::Spawn(body) => {
                let child = self.intern(id);
                let parent = self.state.thread_mut(id);
                let mut path = parent.path.clone();
                path.push(parent.children.len() as u8);
                parent.children.push(child);
                self.state.threads[child.index()] = Some(Thread::new(body, path));
                step.spawned.push(child);
                self.run_local(child, step)?;
            }
            Instruction::SkipUnless { register, test, count } => {
                let thread = self.state.thread_mut(id);
                if !test.holds(thread.registers[usize::from(register)]) {
                    thread.counter += count;
                }
            }
            Instruction::Assert { register, test } => {
                if !test.holds(self.state.thread(id).registers[usize::from(register)]) {
                    self.end(id, true, step);
                    if self.program.failures_stop {
                        let message = format!("thread {:?} at {}", self.path(id), self.state.thread(id).counter - 1);
                        return Err(Stop::Failed(Failure {
                            kind: "assertion",
                            message,
                        }));
                    }
                }
            }
            Instruction::Compute { into, factor, value } => {
                let value = self.operand(id, value);
                let old = self.state.thread(id).registers[usize::from(into)];
                self.set(id, into, old.wrapping_mul(factor).wrapping_add(value));
            }
            _ => unreachable!("{instruction} is a scheduling point"),
        }
        Ok(())
    }

    fn unlock(&mut self, mutex: usize, step: &mut Step) {
        self.state.mutexes[mutex] = None;
        step.footprint.add(names::mutex(mutex), Write);
        change(step, names::mutex(mutex), 1, 0);
    }

    fn lock(&mut self, id: ThreadId, mutex: usize, step: &mut Step) {
        self.state.mutexes[mutex] = Some(id);
        step.footprint.add(names::mutex(mutex), Write);
        change(step, names::mutex(mutex), 0, 1);
    }

    fn lock_rwlock(&mut self, id: ThreadId, lock: usize, writing: bool, step: &mut Step) {
        let state = &mut self.state.rwlocks[lock];
        let before = state.readers;
        let after = if writing {
            state.writer = true;
            before + WRITER
        } else {
            state.readers += 1;
            before + 1
        };
        step.footprint
            .add(names::rwlock(lock), if writing { Write } else { Update });
        change(step, names::rwlock(lock), before, after);
        self.state.thread_mut(id).rwlocks.push((lock, writing));
    }

    fn unlock_rwlock(&mut self, id: ThreadId, lock: usize, step: &mut Step) {
        let held = &mut self.state.thread_mut(id).rwlocks;
        let Some(at) = held.iter().position(|&(l, _)| l == lock) else {
            return;
        };
        let (_, writing) = held.remove(at);
        let state = &mut self.state.rwlocks[lock];
        let before = state.readers + if state.writer { WRITER } else { 0 };
        let after = if writing {
            state.writer = false;
            before - WRITER
        } else {
            state.readers -= 1;
            before - 1
        };
        step.footprint
            .add(names::rwlock(lock), if writing { Write } else { Update });
        change(step, names::rwlock(lock), before, after);
    }

    /// Runs an operation at a scheduling point. Says whether the thread goes on to what follows it.
    fn operate(&mut self, id: ThreadId, alternative: u32, step: &mut Step) -> Result<bool, Stop> {
        let instruction = self.instruction(id);
        match instruction {
            Instruction::Load { variable, into } => {
                step.footprint.add(names::variable(variable), Read);
                self.set(id, into, self.state.variables[variable]);
            }
            Instruction::SpinUntil { variable, value } => {
                step.footprint.add(names::variable(variable), Read);
                if self.state.variables[variable] != value {
                    // The version is filled in when the step is complete.
                    self.state.thread_mut(id).phase = Phase::Spinning(u64::MAX);
                    return Ok(false);
                }
                self.state.thread_mut(id).phase = Phase::Ready;
            }
            Instruction::Store { variable, value } => {
                step.footprint.add(names::variable(variable), Write);
                self.state.variables[variable] = self.operand(id, value);
            }
            Instruction::FetchAdd { variable, value, into } => {
                let old = self.state.variables[variable];
                let new = old.wrapping_add(self.operand(id, value));
                self.modify(variable, new, step);
                if let Some(into) = into {
                    self.set(id, into, old);
                }
            }
            Instruction::Swap { variable, value, into } => {
                let old = self.state.variables[variable];
                self.modify(variable, self.operand(id, value), step);
                self.set(id, into, old);
            }
            Instruction::CompareExchange { variable, into, .. } if alternative == 1 => {
                step.footprint.add(names::variable(variable), Read);
                self.set(id, into, -1);
            }
            Instruction::CompareExchange {
                variable,
                expected,
                new,
                into,
                ..
            } => {
                let old = self.state.variables[variable];
                let new = if old == self.operand(id, expected) {
                    self.operand(id, new)
                } else {
                    old
                };
                self.modify(variable, new, step);
                self.set(id, into, old);
            }
            Instruction::Lock(mutex) => self.lock(id, mutex, step),
            Instruction::TryLock { mutex, into } => {
                if !self.observed[mutex] {
                    self.observed[mutex] = true;
                    return Err(Stop::Refine);
                }
                let free = self.state.mutexes[mutex].is_none();
                if free {
                    self.lock(id, mutex, step);
                } else {
                    step.footprint.add(names::mutex(mutex), Read);
                }
                self.set(id, into, i64::from(free));
            }
            Instruction::Unlock(mutex) => self.unlock(mutex, step),
            Instruction::ReadLock(lock) => self.lock_rwlock(id, lock, false, step),
            Instruction::WriteLock(lock) => self.lock_rwlock(id, lock, true, step),
            Instruction::Acquire(semaphore) => self.take(semaphore, 1, step),
            Instruction::AcquireBoth(one, other) => [one, other]
                .into_iter()
                .for_each(|semaphore| self.take(semaphore, 1, step)),
            Instruction::Release(semaphore) => self.take(semaphore, -1, step),
            Instruction::Send { channel, value } => {
                let value = self.operand(id, value);
                let slot = self.slot(channel, self.state.channels[channel].sent);
                let state = &mut self.state.channels[channel];
                let count = state.queue.len() as i64;
                state.queue.push_back(value);
                state.sent += 1;
                step.footprint.add(names::tail(channel), Write);
                step.footprint.add(slot, Write);
                change(step, names::count(channel), count, count + 1);
            }
            Instruction::Receive { channel, into } | Instruction::TryReceive { channel, into } => {
                let slot = self.slot(channel, self.state.channels[channel].received);
                let state = &mut self.state.channels[channel];
                let count = state.queue.len() as i64;
                let blocking = matches!(instruction, Instruction::Receive { .. });
                step.footprint.insert(Access {
                    location: slot,
                    kind: Read,
                    awaits: if blocking { Awaits::FirstWrite } else { Awaits::Nothing },
                });
                if let Some(value) = state.queue.pop_front() {
                    state.received += 1;
                    step.footprint.add(names::head(channel), Write);
                    change(step, names::count(channel), count, count - 1);
                    self.set(id, into, value);
                } else {
                    step.footprint.add(names::head(channel), Read);
                    self.set(id, into, -1);
                }
            }
            Instruction::Wait {
                condvar,
                mutex,
                timeout,
            } => {
                return Ok(self.wait(id, condvar, mutex, timeout, alternative, step));
            }
            Instruction::NotifyOne(condvar) => {
                let woken = self.state.waiters[condvar].get(alternative as usize).copied();
                self.notify(condvar, woken.as_slice(), step);
            }
            Instruction::NotifyAll(condvar) => {
                let woken = self.state.waiters[condvar].clone();
                self.notify(condvar, &woken, step);
            }
            Instruction::Choose { into, .. } => self.set(id, into, i64::from(alternative)),
            Instruction::Repeat { register, test, count } => {
                let thread = self.state.thread_mut(id);
                if test.holds(thread.registers[usize::from(register)]) {
                    thread.counter = thread.counter.saturating_sub(count);
                    return Ok(true);
                }
            }
            Instruction::Join(child) => step.footprint.insert(Access {
                location: names::exit(self.state.thread(id).children[child]),
                kind: Read,
                awaits: Awaits::AllWrites,
            }),
            Instruction::ReadWriteUnlock(_)
            | Instruction::Spawn(_)
            | Instruction::SkipUnless { .. }
            | Instruction::Assert { .. }
            | Instruction::Compute { .. }
            | Instruction::Atomic(_) => unreachable!("{instruction} is not a scheduling point"),
        }
        self.state.thread_mut(id).counter += 1;
        Ok(true)
    }

    /// Stores what a read-modify-write computed; one that changes nothing is a read.
    fn modify(&mut self, variable: usize, new: i64, step: &mut Step) {
        let value = &mut self.state.variables[variable];
        step.footprint
            .add(names::variable(variable), if *value == new { Read } else { Write });
        *value = new;
    }

    fn take(&mut self, semaphore: usize, permits: i64, step: &mut Step) {
        let taken = &mut self.state.taken[semaphore];
        step.footprint
            .add(names::semaphore(semaphore), if permits > 0 { Write } else { Update });
        change(step, names::semaphore(semaphore), *taken, *taken + permits);
        *taken += permits;
    }

    /// One of the two halves of a wait. Says whether it is over.
    fn wait(
        &mut self,
        id: ThreadId,
        condvar: usize,
        mutex: usize,
        timeout: Option<u8>,
        alternative: u32,
        step: &mut Step,
    ) -> bool {
        if self.state.thread(id).phase != Phase::Waiting {
            self.unlock(mutex, step);
            step.footprint.add(names::condvar(condvar), Write);
            self.state.waiters[condvar].push(id);
            self.state.thread_mut(id).phase = Phase::Waiting;
            return false;
        }
        self.lock(id, mutex, step);
        step.footprint.add(names::waiter(id), Write);
        if alternative == 0 {
            self.state.thread_mut(id).notified = false;
            change(step, names::waiter(id), 1, 0);
        } else {
            step.footprint.add(names::condvar(condvar), Write);
            self.state.waiters[condvar].retain(|&waiter| waiter != id);
        }
        if let Some(register) = timeout {
            self.set(id, register, i64::from(alternative));
        }
        let thread = self.state.thread_mut(id);
        thread.phase = Phase::Ready;
        thread.counter += 1;
        true
    }

    fn notify(&mut self, condvar: usize, woken: &[ThreadId], step: &mut Step) {
        step.footprint
            .add(names::condvar(condvar), if woken.is_empty() { Read } else { Write });
        for &id in woken {
            self.state.waiters[condvar].retain(|&waiter| waiter != id);
            self.state.thread_mut(id).notified = true;
            step.footprint.add(names::waiter(id), Write);
            change(step, names::waiter(id), 0, 1);
        }
    }
}
