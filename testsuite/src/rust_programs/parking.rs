//! std's waits by parking, step by step: in its channels, and at the end of a scope.
//!
//! What others can see of that is the park token of the thread that waits, which only its own `park` looks at. So this
//! is the machine for channels and scopes whose threads park; of others it would show the same as the simpler one. It
//! follows `library/std/src/sync/mpmc` and `library/std/src/thread/scoped.rs` of Rust 1.95.

use super::reference::{Machine, Move, Phase, State, Within};
use super::{ABSENT, Channel, DISCONNECTED, Op, WOULD_BLOCK};

/// The event that has ended a wait.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Selected {
    Waiting,
    Operation,
    Disconnected,
    Aborted,
}

/// The sides of a channel.
pub(super) const RECEIVERS: usize = 0;
const SENDERS: usize = 1;

impl Machine<'_> {
    fn parks(&self, t: usize) -> bool {
        let lines = self.program.threads.get(t).into_iter().flatten();
        lines
            .into_iter()
            .any(|line| matches!(line.op, Op::Park | Op::ParkTimeout))
    }

    /// Whether a thread that has an end of the channel parks.
    pub fn channel_parks(&self) -> bool {
        let ends = |channel: Channel| channel.senders | 1 << channel.receiver;
        let ends = self.program.channel.map_or(0, ends);
        (0..self.count).any(|t| ends & 1 << t != 0 && self.parks(t))
    }

    /// Whether the owner of a scope parks.
    pub fn scope_parks(&self) -> bool {
        self.program.scoped && self.parks(0)
    }

    fn is_rendezvous(&self) -> bool {
        self.program.channel.is_some_and(|channel| channel.capacity == Some(0))
    }

    /// The lock of those who wait on a side. A channel without a buffer has one.
    fn lock(&self, side: usize) -> usize {
        if self.is_rendezvous() { 0 } else { side }
    }

    /// The message that a thread waiting in `send` offers.
    fn offered(&self, s: &State, t: usize) -> u8 {
        match self.program.threads[t][usize::from(s.threads[t].line)].op {
            Op::Send(v) => v,
            _ => unreachable!("who waits to send is in `send`"),
        }
    }

    /// A step of an operation of a channel.
    pub fn communicate_parking(&self, mut m: Move, op: Op, next: &mut Vec<State>) {
        let me = m.s.threads[m.t];
        let again = |m: &Move| Move { s: m.s, t: m.t };
        let sends = matches!(op, Op::Send(_) | Op::TrySend(_));
        let (side, other) = if sends {
            (SENDERS, RECEIVERS)
        } else {
            (RECEIVERS, SENDERS)
        };
        let unlocked = !m.s.waking[self.lock(side)];
        let state = match me.within {
            Within::Nothing | Within::Again | Within::Late => {
                if let (Within::Nothing, Op::RecvTimeout) = (me.within, op)
                    && self.times_out(&me)
                    && !self.is_rendezvous()
                    && me.rx
                    && m.s.queue.len == 0
                    && m.s.senders > 0
                {
                    // The deadline may have passed.
                    next.extend(again(&m).log(WOULD_BLOCK));
                }
                self.attempt(m, op)
            }
            Within::Register => unlocked.then(|| {
                m.s.waiting[side].push(m.t as u8);
                m.me().selected = Selected::Waiting;
                m.me().within = Within::Check;
                m.s
            }),
            Within::Check => {
                let ready = match sends {
                    true => !self.is_full(&m.s) || !m.s.receiver,
                    false => m.s.queue.len > 0 || m.s.senders == 0,
                };
                if ready && me.selected == Selected::Waiting {
                    m.me().selected = Selected::Aborted;
                }
                m.within(Within::Look)
            }
            Within::Look if me.selected != Selected::Waiting => m.within(Within::Left(false)),
            Within::Look => {
                if op == Op::RecvTimeout && self.times_out(&me) {
                    let mut late = again(&m);
                    late.me().selected = Selected::Aborted;
                    next.extend(late.within(Within::Left(true)));
                }
                m.within(Within::Parked)
            }
            Within::LookLate => {
                if me.selected == Selected::Waiting {
                    m.me().selected = Selected::Aborted;
                }
                m.within(Within::Left(true))
            }
            Within::Parked if me.token => {
                m.me().token = false;
                m.within(Within::Look)
            }
            Within::Parked if op == Op::RecvTimeout && self.times_out(&me) => m.within(Within::LookLate),
            Within::Parked => None,
            Within::Left(late) => match me.selected {
                Selected::Operation if !self.is_rendezvous() => {
                    m.within(if late { Within::Late } else { Within::Again })
                }
                Selected::Operation if sends => me.taken.then(|| m.me().taken = false).and_then(|()| m.log(0)),
                Selected::Operation => me.handed.and_then(|value| {
                    m.me().handed = None;
                    m.log(value)
                }),
                _ if !unlocked => None,
                ended => {
                    let t = m.t;
                    m.s.waiting[side].take(|waiting| usize::from(waiting) == t);
                    match ended {
                        _ if !self.is_rendezvous() => m.within(if late { Within::Late } else { Within::Again }),
                        Selected::Disconnected => m.log(DISCONNECTED),
                        _ => m.log(WOULD_BLOCK),
                    }
                }
            },
            Within::Notify(value) => {
                if m.s.waiting[other].len == 0 {
                    m.log(value)
                } else if m.s.waking[self.lock(other)] {
                    None
                } else {
                    match self.select(&mut m.s, other) {
                        Some(waiting) => m.within(Within::Wake(value, waiting)),
                        None => m.log(value),
                    }
                }
            }
            Within::Wake(value, waiting) => {
                let offer = if sends && self.is_rendezvous() {
                    self.offered(&m.s, m.t)
                } else {
                    0
                };
                let thread = &mut m.s.threads[usize::from(waiting)];
                thread.token = true;
                if self.is_rendezvous() {
                    if sends {
                        thread.handed = Some(offer);
                    } else {
                        thread.taken = true;
                    }
                }
                m.s.waking[self.lock(other)] = false;
                m.log(value)
            }
            _ => None,
        };
        next.extend(state);
    }

    fn is_full(&self, s: &State) -> bool {
        let capacity = self.program.channel.and_then(|channel| channel.capacity);
        capacity.is_some_and(|capacity| s.queue.len >= capacity)
    }

    /// Selects the first waiter that was not selected, and takes the lock.
    fn select(&self, s: &mut State, side: usize) -> Option<u8> {
        let threads = &mut s.threads;
        let waiting = s.waiting[side].take(|t| threads[usize::from(t)].selected == Selected::Waiting)?;
        threads[usize::from(waiting)].selected = Selected::Operation;
        s.waking[self.lock(side)] = true;
        Some(waiting)
    }

    /// Sends or receives, if that need not wait.
    fn attempt(&self, mut m: Move, op: Op) -> Option<State> {
        let me = m.s.threads[m.t];
        let bounded = self.program.channel.is_some_and(|channel| channel.capacity.is_some());
        if self.is_rendezvous() && m.s.waking[0] {
            return None;
        }
        let wait = match self.is_rendezvous() {
            true => Within::Look,
            false => Within::Register,
        };
        match op {
            Op::Send(_) | Op::TrySend(_) if !me.tx => m.log(ABSENT),
            Op::TrySend(_) if !bounded => m.log(ABSENT),
            Op::Send(v) | Op::TrySend(v) => {
                if self.is_rendezvous() {
                    if let Some(receiver) = self.select(&mut m.s, RECEIVERS) {
                        if let Op::TrySend(_) = op {
                            // It is not parked, and so does not have to remember what it offers.
                            let receiver = &mut m.s.threads[usize::from(receiver)];
                            receiver.token = true;
                            receiver.handed = Some(v);
                            m.s.waking[0] = false;
                            return m.log(0);
                        }
                        return m.within(Within::Wake(0, receiver));
                    }
                } else if m.s.receiver && !self.is_full(&m.s) {
                    m.s.queue.push(v);
                    return m.within(Within::Notify(0));
                }
                if !m.s.receiver {
                    return m.log(DISCONNECTED);
                }
                if let Op::TrySend(_) = op {
                    return m.log(WOULD_BLOCK);
                }
                if self.is_rendezvous() {
                    m.s.waiting[SENDERS].push(m.t as u8);
                    m.me().selected = Selected::Waiting;
                }
                m.within(wait)
            }
            _ if !me.rx => m.log(ABSENT),
            _ => {
                if self.is_rendezvous() {
                    if let Some(sender) = self.select(&mut m.s, SENDERS) {
                        let value = self.offered(&m.s, usize::from(sender));
                        return m.within(Within::Wake(value, sender));
                    }
                } else if let Some(value) = m.s.queue.take(|_| true) {
                    return match bounded {
                        true => m.within(Within::Notify(value)),
                        false => m.log(value),
                    };
                }
                match op {
                    _ if m.s.senders == 0 => m.log(DISCONNECTED),
                    Op::TryRecv => m.log(WOULD_BLOCK),
                    Op::AwaitTryRecv => None,
                    _ if me.within == Within::Late => m.log(WOULD_BLOCK),
                    _ => {
                        if self.is_rendezvous() {
                            m.s.waiting[RECEIVERS].push(m.t as u8);
                            m.me().selected = Selected::Waiting;
                        }
                        m.within(wait)
                    }
                }
            }
        }
    }

    /// Whether an end of the channel can be dropped now: if it is the last one, the waiters are notified under the
    /// lock.
    pub fn can_disconnect(&self, s: &State) -> bool {
        !s.waking.iter().any(|&waking| waking)
    }

    /// Removes a sender.
    pub fn drop_sender(&self, s: &mut State) {
        s.senders -= 1;
        if s.senders == 0 {
            self.disconnect(s, RECEIVERS);
        }
    }

    /// Removes the receiver.
    pub fn drop_receiver(&self, m: &mut Move) {
        m.drop_receiver();
        self.disconnect(&mut m.s, SENDERS);
    }

    fn disconnect(&self, s: &mut State, side: usize) {
        for &waiting in s.waiting[side].as_slice() {
            let thread = &mut s.threads[usize::from(waiting)];
            if thread.selected == Selected::Waiting {
                thread.selected = Selected::Disconnected;
                thread.token = true;
            }
        }
    }

    /// The result of a thread of a scope loses one of its two shares. Says whether that was the last.
    pub fn lose_share(&self, s: &mut State, child: usize) -> bool {
        s.shares[child] -= 1;
        s.shares[child] == 0
    }

    /// The owner of a scope lets go of the handle of a thread.
    pub fn drop_handle(&self, s: &mut State, child: usize) {
        if self.lose_share(s, child) && self.ends_scope(s) {
            s.threads[0].token = true;
        }
    }

    /// A thread of a scope counts no more. Says whether it was the last.
    pub fn ends_scope(&self, s: &mut State) -> bool {
        s.running -= 1;
        s.running == 0
    }

    /// The owner of a scope is parked at its end.
    pub fn park_in_scope(&self, mut m: Move) -> Option<State> {
        let token = std::mem::take(&mut m.me().token);
        m.me().phase = Phase::Scope;
        token.then_some(m.s)
    }
}
