//! The effect of each operation in the abstract machine.

use super::reference::{Cell, Machine, Move, Phase, State, Within};
use super::{ABSENT, DISCONNECTED, Op, POISONED, TIMED_OUT, Under, WOULD_BLOCK};

impl Machine<'_> {
    /// A step of an operation; nothing if it is blocked.
    pub fn perform(&self, mut m: Move, op: Op, next: &mut Vec<State>) {
        let me = m.s.threads[m.t];
        let again = |m: &Move| Move { s: m.s, t: m.t };
        let spurious = self.program.spurious_wakeups;
        let state = match op {
            Op::Load(a) => {
                let value = m.s.x[usize::from(a)];
                m.log(value)
            }
            Op::Store(a, v) => {
                m.s.x[usize::from(a)] = v;
                m.log(0)
            }
            Op::Swap(a, v) => {
                let old = std::mem::replace(&mut m.s.x[usize::from(a)], v);
                m.log(old)
            }
            Op::Add(a) => {
                let old = m.s.x[usize::from(a)];
                m.s.x[usize::from(a)] += 1;
                m.log(old)
            }
            Op::Cas(a, expected, new) | Op::CasWeak(a, expected, new) => {
                let old = m.s.x[usize::from(a)];
                if old != expected {
                    m.log(old | WOULD_BLOCK)
                } else {
                    if matches!(op, Op::CasWeak(..)) && self.program.spurious_cas {
                        next.extend(again(&m).log(old | WOULD_BLOCK));
                    }
                    m.s.x[usize::from(a)] = new;
                    m.log(old)
                }
            }
            Op::Update(a) => {
                let old = m.s.x[usize::from(a)];
                if old < 2 {
                    m.s.x[usize::from(a)] += 1;
                    m.log(old)
                } else {
                    m.log(old | WOULD_BLOCK)
                }
            }
            Op::Await(a, _) => match m.s.x[usize::from(a)] {
                0 => None,
                value => m.log(value),
            },
            Op::AwaitCas(a) => {
                if m.s.x[usize::from(a)] == 0 {
                    m.s.x[usize::from(a)] = 1;
                    m.log(0)
                } else {
                    None
                }
            }
            Op::AwaitUnder(under, a) => match me.within {
                Within::Nothing if m.holds(under) => m.log(ABSENT),
                Within::Nothing => m.acquire(under),
                Within::Acquired(flags) => {
                    let value = m.s.x[usize::from(a)];
                    m.within(Within::Polled(value | flags))
                }
                Within::Polled(value) => {
                    m.release(under);
                    m.go_round_unless(value)
                }
                _ => None,
            },
            Op::Poll(a, rounds) => {
                let round = if let Within::Round(round) = me.within { round } else { 0 };
                match m.s.x[usize::from(a)] {
                    _ if rounds == 0 => m.log(0),
                    0 if round + 1 == rounds => m.log(rounds << 4),
                    0 => m.within(Within::Round(round + 1)),
                    value => m.log(round << 4 | value),
                }
            }
            Op::Lock(i) | Op::TryLock(i) | Op::AwaitTryLock(i) => {
                let i = usize::from(i);
                if me.m[i] {
                    m.log(ABSENT)
                } else if !m.s.m_held[i] {
                    m.keep(i, 0)
                } else if matches!(op, Op::TryLock(_)) {
                    m.log(WOULD_BLOCK)
                } else {
                    None
                }
            }
            Op::AwaitLocked(i) => match me.within {
                Within::Nothing if me.m[usize::from(i)] => m.log(ABSENT),
                Within::Nothing => m.acquire(Under::Lock(i)),
                Within::Acquired(flags) => {
                    let value = m.s.m[usize::from(i)];
                    m.release(Under::Lock(i));
                    m.go_round_unless(value | flags)
                }
                _ => None,
            },
            Op::Unlock(i) => {
                let i = usize::from(i);
                if me.m[i] {
                    m.me().m[i] = false;
                    m.s.m_held[i] = false;
                }
                m.log(0)
            }
            Op::IsPoisoned(i) => {
                let value = m.s.m_poisoned[usize::from(i)];
                m.log(value.into())
            }
            Op::ClearPoison(i) => {
                m.s.m_poisoned[usize::from(i)] = false;
                m.log(0)
            }
            Op::Panic => {
                m.me().panicked = true;
                m.me().phase = Phase::Dropping(0);
                Some(m.s)
            }
            Op::Read | Op::TryRead | Op::Write | Op::TryWrite if me.r || me.w => m.log(ABSENT),
            Op::Read if !m.s.written => m.keep_read(),
            Op::TryRead if !m.s.written => m.keep_read(),
            Op::Write | Op::TryWrite if !m.s.written && m.s.readers == 0 => m.keep_write(),
            Op::TryRead | Op::TryWrite => m.log(WOULD_BLOCK),
            Op::Read | Op::Write => None,
            Op::ReadUnlock => {
                if me.r {
                    m.me().r = false;
                    m.s.readers -= 1;
                }
                m.log(0)
            }
            Op::WriteUnlock => {
                if me.w {
                    m.me().w = false;
                    m.s.written = false;
                }
                m.log(0)
            }
            Op::Downgrade if me.w => {
                m.me().w = false;
                m.me().r = true;
                m.s.written = false;
                m.s.readers += 1;
                let value = m.s.rw;
                m.log(value)
            }
            Op::Downgrade => m.log(ABSENT),
            Op::Wait | Op::WaitTimeout => match me.within {
                Within::Nothing if !me.m[0] => m.log(ABSENT),
                Within::Nothing => {
                    m.me().m[0] = false;
                    m.me().notified = false;
                    m.s.m_held[0] = false;
                    m.within(Within::Queued)
                }
                Within::Queued if me.notified => {
                    m.me().notified = false;
                    m.within(Within::Woken(0))
                }
                Within::Queued => {
                    if spurious {
                        next.extend(again(&m).within(Within::Woken(0)));
                    }
                    if op == Op::WaitTimeout && self.times_out(&me) {
                        m.within(Within::Woken(TIMED_OUT))
                    } else {
                        None
                    }
                }
                Within::Woken(flags) if !m.s.m_held[0] => m.keep(0, flags),
                _ => None,
            },
            Op::NotifyOne => {
                let mut waits = false;
                for t in 0..self.count {
                    if m.s.threads[t].within == Within::Queued && !m.s.threads[t].notified {
                        waits = true;
                        let mut m = again(&m);
                        m.s.threads[t].notified = true;
                        next.extend(m.log(0));
                    }
                }
                if waits { None } else { m.log(0) }
            }
            Op::NotifyAll => {
                for thread in &mut m.s.threads {
                    thread.notified |= thread.within == Within::Queued;
                }
                m.log(0)
            }
            Op::Park | Op::ParkTimeout => {
                if me.token {
                    m.me().token = false;
                    m.log(0)
                } else if spurious || op == Op::ParkTimeout && self.times_out(&me) {
                    m.log(0)
                } else {
                    None
                }
            }
            Op::Unpark(t) => {
                let t = usize::from(t);
                let known = t == 0 || t < m.t || (m.t == 0 && t < self.count && !m.s.threads[t].joined);
                if known {
                    m.s.threads[t].token = true;
                }
                m.log(if known { 0 } else { ABSENT })
            }
            Op::Send(_) | Op::TrySend(_) | Op::Recv | Op::TryRecv | Op::AwaitTryRecv | Op::RecvTimeout
                if self.channel_parks() =>
            {
                self.communicate_parking(m, op, next);
                None
            }
            Op::Send(_) | Op::TrySend(_) | Op::Recv | Op::TryRecv | Op::AwaitTryRecv | Op::RecvTimeout => {
                self.communicate(m, op)
            }
            Op::DropTx | Op::DropRx if !self.can_disconnect(&m.s) => None,
            Op::DropTx => {
                if me.tx || me.tx2 {
                    self.drop_sender(&mut m.s);
                }
                if me.tx2 {
                    m.me().tx2 = false;
                } else {
                    m.me().tx = false;
                }
                m.log(0)
            }
            Op::CloneTx if me.tx && !me.tx2 => {
                m.me().tx2 = true;
                m.s.senders += 1;
                m.log(0)
            }
            Op::CloneTx => m.log(ABSENT),
            Op::DropRx => {
                if me.rx {
                    m.me().rx = false;
                    self.drop_receiver(&mut m);
                }
                m.log(0)
            }
            Op::CallOnce(panics) => match (m.s.once, me.within) {
                (_, Within::Running(false)) => {
                    m.s.x[0] += 1;
                    m.within(Within::Running(true))
                }
                (_, Within::Running(true)) => {
                    m.s.once = if panics { Cell::Poisoned } else { Cell::Full(0) };
                    m.log(if panics { 1 } else { 2 })
                }
                (Cell::Running, _) => None,
                (Cell::Poisoned, _) => m.log(1),
                (Cell::Full(_), _) => m.log(0),
                (Cell::Empty, _) => {
                    m.s.once = Cell::Running;
                    m.within(Within::Running(false))
                }
            },
            Op::OnceDone => {
                let done = matches!(m.s.once, Cell::Full(_));
                m.log(done.into())
            }
            Op::OnceWait => match m.s.once {
                Cell::Empty | Cell::Running => None,
                Cell::Poisoned => m.log(1),
                Cell::Full(_) => m.log(0),
            },
            Op::CellInit(v) => match (m.s.cell, me.within) {
                (_, Within::Running(false)) => {
                    m.s.x[1] += 1;
                    m.within(Within::Running(true))
                }
                (_, Within::Running(true)) => {
                    m.s.cell = Cell::Full(v);
                    m.log(v)
                }
                (Cell::Full(value), _) => m.log(value),
                (Cell::Empty, _) => {
                    m.s.cell = Cell::Running;
                    m.within(Within::Running(false))
                }
                _ => None,
            },
            Op::CellSet(v) => match m.s.cell {
                Cell::Full(_) => m.log(1),
                Cell::Empty => {
                    m.s.cell = Cell::Full(v);
                    m.log(0)
                }
                _ => None,
            },
            Op::CellGet => match m.s.cell {
                Cell::Full(value) => m.log(value),
                _ => m.log(WOULD_BLOCK),
            },
            Op::CellWait => match m.s.cell {
                Cell::Full(value) => m.log(value),
                _ => None,
            },
            Op::Barrier => match me.within {
                Within::AtBarrier(generation) if generation == m.s.generation => None,
                Within::AtBarrier(_) => m.log(0),
                _ if m.s.arrived == 1 => {
                    m.s.arrived = 0;
                    m.s.generation += 1;
                    m.log(1)
                }
                _ => {
                    m.s.arrived += 1;
                    let generation = m.s.generation;
                    m.within(Within::AtBarrier(generation))
                }
            },
            Op::IsFinished(t) | Op::AwaitFinished(t) | Op::Join(t) => {
                let thread = m.s.threads[usize::from(t)];
                let finished = thread.phase >= Phase::Finished;
                match op {
                    _ if usize::from(t) >= self.count || thread.joined => m.log(ABSENT),
                    Op::IsFinished(_) => m.log(finished.into()),
                    Op::AwaitFinished(_) if finished => m.log(1),
                    Op::Join(_) if thread.phase == Phase::Gone => {
                        m.s.threads[usize::from(t)].joined = true;
                        if self.scope_parks() {
                            self.drop_handle(&mut m.s, usize::from(t));
                        }
                        m.log(thread.panicked.into())
                    }
                    _ => None,
                }
            }
        };
        next.extend(state);
    }

    fn communicate(&self, mut m: Move, op: Op) -> Option<State> {
        let me = m.s.threads[m.t];
        let Some(channel) = self.program.channel else {
            return m.log(ABSENT);
        };
        let rendezvous = channel.capacity == Some(0);
        match op {
            Op::Send(_) | Op::TrySend(_) if !me.tx => m.log(ABSENT),
            Op::TrySend(_) if channel.capacity.is_none() => m.log(ABSENT),
            Op::Send(v) | Op::TrySend(v) => {
                if let Within::Offering(_) = me.within {
                    if me.taken {
                        m.me().taken = false;
                        return m.log(0);
                    }
                    if m.s.receiver {
                        return None;
                    }
                    m.s.offers.take(|t| usize::from(t) == m.t);
                    return m.log(DISCONNECTED);
                }
                if !m.s.receiver {
                    return m.log(DISCONNECTED);
                }
                let patient = matches!(op, Op::Send(_));
                if rendezvous {
                    let receiver = &mut m.s.threads[usize::from(channel.receiver)];
                    if receiver.within == Within::Receiving && receiver.handed.is_none() {
                        receiver.handed = Some(v);
                        return m.log(0);
                    }
                    if patient {
                        m.s.offers.push(m.t as u8);
                        return m.within(Within::Offering(v));
                    }
                    return m.log(WOULD_BLOCK);
                }
                if channel.capacity.is_some_and(|capacity| m.s.queue.len >= capacity) {
                    return if patient { None } else { m.log(WOULD_BLOCK) };
                }
                m.s.queue.push(v);
                m.log(0)
            }
            _ if !me.rx => m.log(ABSENT),
            _ => {
                if me.within == Within::Receiving {
                    if let Some(value) = me.handed {
                        m.me().handed = None;
                        return m.log(value);
                    }
                    if m.s.senders == 0 {
                        return m.log(DISCONNECTED);
                    }
                    return if op == Op::RecvTimeout && self.times_out(&me) {
                        m.log(WOULD_BLOCK)
                    } else {
                        None
                    };
                }
                if let Some(sender) = m.s.offers.take(|_| true) {
                    let sender = &mut m.s.threads[usize::from(sender)];
                    sender.taken = true;
                    let Within::Offering(value) = sender.within else {
                        unreachable!("who is queued has an offer")
                    };
                    return m.log(value);
                }
                if let Some(value) = m.s.queue.take(|_| true) {
                    return m.log(value);
                }
                match op {
                    _ if m.s.senders == 0 => m.log(DISCONNECTED),
                    Op::TryRecv => m.log(WOULD_BLOCK),
                    Op::AwaitTryRecv => None,
                    Op::Recv | Op::RecvTimeout if rendezvous => m.within(Within::Receiving),
                    Op::RecvTimeout if self.times_out(&me) => m.log(WOULD_BLOCK),
                    _ => None,
                }
            }
        }
    }
}

/// Loops that poll under a lock.
impl Move {
    /// Says whether the thread has the lock already.
    fn holds(&mut self, under: Under) -> bool {
        let me = self.me();
        match under {
            Under::Lock(i) | Under::TryLock(i) => me.m[usize::from(i)],
            Under::Read | Under::Write => me.r || me.w,
            Under::Spin(_) => false,
        }
    }

    /// Acquires the lock for a moment; `None` if it is not free.
    fn acquire(mut self, under: Under) -> Option<State> {
        let s = &mut self.s;
        let poisoned = match under {
            Under::Lock(i) | Under::TryLock(i) => {
                let i = usize::from(i);
                if std::mem::replace(&mut s.m_held[i], true) {
                    return None;
                }
                s.m_poisoned[i]
            }
            Under::Read if s.written => return None,
            Under::Read => {
                s.readers += 1;
                s.rw_poisoned
            }
            Under::Write if s.written || s.readers > 0 => return None,
            Under::Write => {
                s.written = true;
                s.rw_poisoned
            }
            Under::Spin(l) => {
                if std::mem::replace(&mut s.x[usize::from(l)], 1) != 0 {
                    return None;
                }
                false
            }
        };
        self.within(Within::Acquired(if poisoned { POISONED } else { 0 }))
    }

    fn release(&mut self, under: Under) {
        let s = &mut self.s;
        match under {
            Under::Lock(i) | Under::TryLock(i) => s.m_held[usize::from(i)] = false,
            Under::Read => s.readers -= 1,
            Under::Write => s.written = false,
            Under::Spin(l) => s.x[usize::from(l)] = 0,
        }
    }

    fn go_round_unless(self, value: u8) -> Option<State> {
        match value & !POISONED {
            0 => self.within(Within::Nothing),
            _ => self.log(value),
        }
    }
}
