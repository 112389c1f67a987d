//! The abstract machine, and the search through all its states.

use super::outcome::{Finals, Outcome, Seen};
use super::parking::Selected;
use super::{LINES, Op, POISONED, Program, THREADS};
use dpor_scheduler::Timeouts;
use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use std::collections::{BTreeSet, HashMap};

const ROOM: usize = LINES + THREADS;

/// A bounded list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct List {
    pub len: u8,
    pub items: [u8; ROOM],
}

impl List {
    pub fn push(&mut self, item: u8) {
        self.items[usize::from(self.len)] = item;
        self.len += 1;
    }

    /// Takes the first element that is `wanted`.
    pub fn take(&mut self, wanted: impl Fn(u8) -> bool) -> Option<u8> {
        let at = self.as_slice().iter().position(|&item| wanted(item))?;
        let item = self.items[at];
        self.items.copy_within(at + 1.., at);
        self.items[ROOM - 1] = 0;
        self.len -= 1;
        Some(item)
    }

    pub fn as_slice(&self) -> &[u8] {
        &self.items[..usize::from(self.len)]
    }
}

/// The phase of a thread's life. The order is that of time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Phase {
    Unborn,
    /// The main thread has made this number of the steps that create the others.
    Creating(u8),
    Lines,
    /// It drops its locals, and has reached this one.
    Dropping(u8),
    /// The main thread joins the threads from this one on.
    Joining(u8),
    /// The main thread drops the handles of the scope's threads, and has reached this one.
    Handles(u8),
    /// The main thread waits for the end of the scope.
    Scope,
    /// It is parked in its scope.
    ScopeParked,
    /// Its function has returned.
    Returned,
    /// `is_finished` says so.
    Finished,
    /// Its scope does not count it any more, next.
    Over,
    /// It unparks the owner of its scope.
    Unparking,
    /// It can be joined.
    Gone,
}

/// Inside an operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Within {
    Nothing,
    /// In the queue of the condition variable.
    Queued,
    /// Woken from it, with what it will log apart from the value.
    Woken(u8),
    /// It has offered this message to the receiver, and waits.
    Offering(u8),
    /// The receiver waits, with open hands.
    Receiving,
    /// It waits for the barrier to leave this generation.
    AtBarrier(u8),
    /// It is in the closure of a `Once` or `OnceLock`, at its first or its last step.
    Running(bool),
    /// It has polled this number of times.
    Round(u8),
    /// It has acquired a lock for a moment, with what it will log apart from the value.
    Acquired(u8),
    /// It has polled under the lock, and will log this if it need not poll again.
    Polled(u8),
    /// It tries again to send or receive.
    Again,
    /// It tries again after the deadline.
    Late,
    /// It has found that it has to wait.
    Register,
    /// It waits, and will see whether it still has to.
    Check,
    /// It looks whether its wait is over.
    Look,
    /// It looks after the deadline.
    LookLate,
    /// It is parked.
    Parked,
    /// Its wait is over, perhaps because of the deadline.
    Left(bool),
    /// It has sent or received, will log this, and wakes a waiter on the other side.
    Notify(u8),
    /// It will unpark the thread with the second number.
    Wake(u8, u8),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Thread {
    pub phase: Phase,
    pub line: u8,
    pub within: Within,
    pub log: List,
    pub panicked: bool,
    pub m: [bool; 2],
    pub r: bool,
    pub w: bool,
    pub tx: bool,
    pub tx2: bool,
    pub rx: bool,
    pub token: bool,
    pub notified: bool,
    /// The message that was handed to it.
    pub handed: Option<u8>,
    /// Its offer was taken.
    pub taken: bool,
    /// The deadline of its wait has passed, where timeouts fire last.
    pub late: bool,
    /// The event that ended its wait in a channel.
    pub selected: Selected,
    pub joined: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Cell {
    Empty,
    Running,
    Poisoned,
    Full(u8),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub threads: [Thread; THREADS],
    pub x: [u8; 2],
    pub m: [u8; 2],
    pub m_held: [bool; 2],
    pub m_poisoned: [bool; 2],
    pub rw: u8,
    pub readers: u8,
    pub written: bool,
    pub rw_poisoned: bool,
    pub queue: List,
    pub senders: u8,
    pub receiver: bool,
    /// The threads with an offer, in order of arrival.
    pub offers: List,
    /// The threads that are registered as waiting to receive, and to send, in order of arrival.
    pub waiting: [List; 2],
    /// The locks of these lists.
    pub waking: [bool; 2],
    /// Number of threads that the scope counts.
    pub running: u8,
    /// For each thread of the scope, the number of holders of its result: the thread, and the owner of its handle.
    pub shares: [u8; THREADS],
    pub once: Cell,
    pub cell: Cell,
    pub arrived: u8,
    pub generation: u8,
}

const THREAD: Thread = Thread {
    phase: Phase::Unborn,
    line: 0,
    within: Within::Nothing,
    log: List {
        len: 0,
        items: [0; ROOM],
    },
    panicked: false,
    m: [false; 2],
    r: false,
    w: false,
    tx: false,
    tx2: false,
    rx: false,
    token: false,
    notified: false,
    handed: None,
    taken: false,
    late: false,
    selected: Selected::Waiting,
    joined: false,
};

/// The program has more states than the search was allowed to visit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge;

/// Every outcome of the program: where it can end, or loop for ever. The latter is a strongly connected component of
/// the graph of states without a way out; all its states look alike, as what a thread logs stays.
///
/// # Errors
/// If it has more than `limit` states.
pub fn enumerate(program: &Program, limit: usize) -> Result<BTreeSet<Outcome>, TooLarge> {
    let mut initial = State {
        threads: [THREAD; THREADS],
        x: [0; 2],
        m: [0; 2],
        m_held: [false; 2],
        m_poisoned: [false; 2],
        rw: 0,
        readers: 0,
        written: false,
        rw_poisoned: false,
        queue: List::default(),
        senders: 1,
        receiver: true,
        offers: List::default(),
        waiting: [List::default(); 2],
        waking: [false; 2],
        running: 0,
        shares: [0; THREADS],
        once: Cell::Empty,
        cell: Cell::Empty,
        arrived: 0,
        generation: 0,
    };
    let main = &mut initial.threads[0];
    main.phase = Phase::Creating(0);
    if let Some(channel) = program.channel {
        main.tx = true;
        main.rx = channel.receiver == 0;
    }
    let machine = Machine {
        program,
        count: program.threads.len(),
    };
    machine.settle(&mut initial, 0);
    let mut graph: DiGraph<State, ()> = DiGraph::new();
    let first = graph.add_node(initial);
    let mut known = HashMap::from([(initial, first)]);
    let mut open = vec![first];
    let mut next = Vec::new();
    while let Some(at) = open.pop() {
        for t in 0..machine.count {
            let before = next.len();
            machine.step(&graph[at], t, &mut next);
            next[before..].iter_mut().for_each(|state| machine.settle(state, t));
        }
        if next.is_empty() {
            next.extend(machine.let_time_pass(&graph[at]));
        }
        for state in next.drain(..) {
            let to = *known.entry(state).or_insert_with(|| {
                let new = graph.add_node(state);
                open.push(new);
                new
            });
            graph.update_edge(at, to, ());
        }
        if graph.node_count() > limit {
            return Err(TooLarge);
        }
    }
    let has_way_out = |component: &[NodeIndex]| {
        let mut targets = component.iter().flat_map(|&at| graph.neighbors(at));
        targets.any(|to| !component.contains(&to))
    };
    let components = tarjan_scc(&graph);
    let ends = components.iter().filter(|component| !has_way_out(component));
    Ok(ends.map(|end| machine.outcome(&graph[end[0]])).collect())
}

pub(super) struct Machine<'a> {
    pub program: &'a Program,
    pub count: usize,
}

impl Machine<'_> {
    /// Says whether the thread's wait with a timeout may time out.
    pub fn times_out(&self, thread: &Thread) -> bool {
        match self.program.timeouts {
            Timeouts::Fire => true,
            Timeouts::Last => thread.late,
            Timeouts::Never => false,
        }
    }

    /// The state after all deadlines have passed, where no thread can go on: they are all the same. `None` if no thread
    /// waits for one.
    fn let_time_pass(&self, state: &State) -> Option<State> {
        let mut later = *state;
        if self.program.timeouts == Timeouts::Last {
            for (t, thread) in later.threads.iter_mut().enumerate().take(self.count) {
                let lines = self.program.threads[t].get(usize::from(thread.line));
                let op = lines.filter(|_| thread.phase == Phase::Lines).map(|line| line.op);
                thread.late |= match op {
                    Some(Op::WaitTimeout) => thread.within == Within::Queued && !thread.notified,
                    Some(Op::ParkTimeout) => true,
                    Some(Op::RecvTimeout) => {
                        matches!(thread.within, Within::Nothing | Within::Receiving | Within::Parked)
                    }
                    _ => false,
                };
            }
        }
        (later != *state).then_some(later)
    }
}

/// A state that is being made, and the thread that moves.
pub(super) struct Move {
    pub s: State,
    pub t: usize,
}

impl Move {
    pub fn me(&mut self) -> &mut Thread {
        &mut self.s.threads[self.t]
    }

    /// The operation has not ended.
    pub fn within(mut self, within: Within) -> Option<State> {
        let me = self.me();
        (me.within, me.late) = (within, false);
        Some(self.s)
    }

    /// The operation has ended and logs a value.
    pub fn log(mut self, value: u8) -> Option<State> {
        let me = self.me();
        (me.within, me.late) = (Within::Nothing, false);
        me.log.push(value);
        me.line += 1;
        Some(self.s)
    }

    pub fn keep(mut self, m: usize, flags: u8) -> Option<State> {
        self.me().m[m] = true;
        self.s.m_held[m] = true;
        let value = self.s.m[m];
        self.s.m[m] += 1;
        let poisoned = if self.s.m_poisoned[m] { POISONED } else { 0 };
        self.log(value | flags | poisoned)
    }

    pub fn keep_read(mut self) -> Option<State> {
        self.me().r = true;
        self.s.readers += 1;
        let value = self.s.rw | if self.s.rw_poisoned { POISONED } else { 0 };
        self.log(value)
    }

    pub fn keep_write(mut self) -> Option<State> {
        self.me().w = true;
        self.s.written = true;
        let value = self.s.rw | if self.s.rw_poisoned { POISONED } else { 0 };
        self.s.rw += 1;
        self.log(value)
    }

    pub fn drop_receiver(&mut self) {
        self.s.receiver = false;
        self.s.queue = List::default();
    }
}

impl Machine<'_> {
    fn outcome(&self, s: &State) -> Outcome {
        let stuck = s.threads[..self.count].iter().any(|thread| thread.phase != Phase::Gone);
        let seen = |(t, thread): (usize, &Thread)| Seen {
            at: match thread.phase {
                Phase::Unborn | Phase::Creating(_) => Seen::UNBORN,
                Phase::Joining(child) => Seen::JOINING + child,
                Phase::Scope | Phase::ScopeParked => Seen::SCOPE,
                _ if thread.panicked || thread.phase == Phase::Lines => thread.line,
                _ if t == 0 => Seen::SCOPE,
                _ => Seen::ENDED,
            },
            log: thread.log.as_slice().to_vec(),
        };
        let mut finals = Finals::default();
        if !stuck {
            let poison = |value, poisoned| value | if poisoned { POISONED } else { 0 };
            let m = |i: usize| poison(s.m[i], s.m_poisoned[i]);
            let all = [s.x[0], s.x[1], m(0), m(1), poison(s.rw, s.rw_poisoned)];
            for ((last, value), used) in finals.iter_mut().zip(all).zip(self.program.uses()) {
                *last = if used { value } else { 0 };
            }
        }
        Outcome {
            stuck,
            threads: s.threads[..self.count].iter().enumerate().map(seen).collect(),
            finals,
        }
    }

    /// Every state that one step of the thread leads to.
    fn step(&self, s: &State, t: usize, next: &mut Vec<State>) {
        let mut m = Move { s: *s, t };
        let state = match s.threads[t].phase {
            Phase::Unborn | Phase::Gone => None,
            Phase::Creating(_) | Phase::Dropping(_) if !self.can_disconnect(s) => None,
            Phase::Creating(step) => {
                self.create(&mut m, step);
                Some(m.s)
            }
            Phase::Lines => {
                self.perform(m, self.program.threads[t][usize::from(s.threads[t].line)].op, next);
                None
            }
            Phase::Dropping(local) => {
                self.drop_local(&mut m, local);
                Some(m.s)
            }
            Phase::Joining(child) => {
                if usize::from(child) == self.count {
                    m.me().phase = Phase::Gone;
                    Some(m.s)
                } else {
                    let Thread {
                        joined,
                        phase,
                        panicked,
                        ..
                    } = s.threads[usize::from(child)];
                    (joined || phase == Phase::Gone).then(|| {
                        if !joined {
                            m.me().log.push(panicked.into());
                        }
                        m.me().phase = Phase::Joining(child + 1);
                        m.s
                    })
                }
            }
            Phase::Handles(child) => {
                if usize::from(child) == self.count {
                    m.me().phase = Phase::Scope;
                } else {
                    if !s.threads[usize::from(child)].joined {
                        self.drop_handle(&mut m.s, usize::from(child));
                    }
                    m.me().phase = Phase::Handles(child + 1);
                }
                Some(m.s)
            }
            Phase::Scope if self.scope_parks() && s.running > 0 => {
                m.me().phase = Phase::ScopeParked;
                Some(m.s)
            }
            Phase::ScopeParked => self.park_in_scope(m),
            Phase::Scope => {
                let children = &s.threads[1..self.count];
                children.iter().all(|child| child.phase >= Phase::Finished).then(|| {
                    let panicked = children.iter().any(|child| child.panicked && !child.joined);
                    m.me().log.push(panicked.into());
                    m.me().phase = Phase::Gone;
                    m.s
                })
            }
            Phase::Returned => {
                let over = self.scope_parks() && self.lose_share(&mut m.s, t);
                m.me().phase = if over { Phase::Over } else { Phase::Finished };
                Some(m.s)
            }
            Phase::Over => {
                let last = self.ends_scope(&mut m.s);
                m.me().phase = if last { Phase::Unparking } else { Phase::Gone };
                Some(m.s)
            }
            Phase::Unparking => {
                m.s.threads[0].token = true;
                m.me().phase = Phase::Gone;
                Some(m.s)
            }
            Phase::Finished => {
                m.me().phase = Phase::Gone;
                Some(m.s)
            }
        };
        next.extend(state);
    }

    /// Brings the thread, which has just moved, to its next step: over lines whose condition does not hold, locals that
    /// it does not have, senders that need not be made.
    fn settle(&self, s: &mut State, t: usize) {
        if let Phase::Creating(_) = s.threads[t].phase {
            self.settle_creation(s);
        }
        let me = &mut s.threads[t];
        if me.phase == Phase::Lines {
            let rest = &self.program.threads[t][usize::from(me.line)..];
            let last = me.log.as_slice().last().copied();
            let within = me.within != Within::Nothing;
            match rest
                .iter()
                .position(|line| within || line.when.is_none() || line.when == last)
            {
                Some(skipped) => me.line += skipped as u8,
                None => {
                    me.line += rest.len() as u8;
                    me.phase = Phase::Dropping(0);
                }
            }
        }
        if let Phase::Dropping(local) = me.phase {
            let has = [me.m[0] && me.panicked, me.m[0], me.m[1] && me.panicked, me.m[1]];
            let has = has
                .into_iter()
                .chain([me.r, me.w && me.panicked, me.w, me.tx, me.tx2, me.rx]);
            let held = (0..).zip(has).find(|&(number, held)| number >= local && held);
            me.phase = match held {
                Some((number, _)) => Phase::Dropping(number),
                None if t > 0 => Phase::Returned,
                None if self.scope_parks() => Phase::Handles(1),
                None if self.program.scoped => Phase::Scope,
                None => Phase::Joining(1),
            };
        }
    }

    fn settle_creation(&self, s: &mut State) {
        let senders = self.program.channel.map_or(1, |channel| channel.senders);
        let main = &mut s.threads[0];
        while let Phase::Creating(step) = main.phase {
            let child = usize::from(step / 2) + 1;
            let empty = if child == self.count {
                senders & 1 != 0
            } else {
                step % 2 == 0 && senders & 1 << child == 0
            };
            if !empty {
                return;
            }
            main.phase = if child == self.count {
                Phase::Lines
            } else {
                Phase::Creating(step + 1)
            };
        }
    }

    /// The main thread makes a sender for each thread that has one, and creates the thread; then it drops its own.
    fn create(&self, m: &mut Move, step: u8) {
        let child = usize::from(step / 2) + 1;
        m.me().phase = Phase::Creating(step + 1);
        if child == self.count {
            m.me().tx = false;
            self.drop_sender(&mut m.s);
            m.me().phase = Phase::Lines;
        } else if step.is_multiple_of(2) {
            m.s.threads[child].tx = true;
            m.s.senders += 1;
        } else {
            let thread = &mut m.s.threads[child];
            thread.rx = self
                .program
                .channel
                .is_some_and(|channel| usize::from(channel.receiver) == child);
            thread.phase = Phase::Lines;
            if self.scope_parks() {
                m.s.running += 1;
                m.s.shares[child] = 2;
            }
            self.settle(&mut m.s, child);
        }
    }

    /// The thread drops the local with this number, which it has.
    fn drop_local(&self, m: &mut Move, local: u8) {
        m.me().phase = Phase::Dropping(local + 1);
        let s = &mut m.s;
        match local {
            // A guard is dropped in two steps.
            0 | 2 => s.m_poisoned[usize::from(local / 2)] = true,
            1 | 3 => s.m_held[usize::from(local / 2)] = false,
            4 => s.readers -= 1,
            5 => s.rw_poisoned = true,
            6 => s.written = false,
            7 | 8 => self.drop_sender(s),
            _ => self.drop_receiver(m),
        }
    }
}
