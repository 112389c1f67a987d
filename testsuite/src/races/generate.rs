//! Generates programs.
//!
//! A program of the first sort has a palette of a few groups of operations, so that its threads meet at the same
//! objects, and few plain accesses, so that a race is not certain. One of the second sort is a *relay*: an access, a
//! message about it, which may go through another thread, and an access of whoever gets the message. It is right but
//! for some ordering, fence or operation that may be another one.

use super::{LINES, Op, Place, Program, THREADS};
use dpor_explorer::SplitMix64;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

#[derive(Clone, Copy, PartialEq, Debug)]
enum Group {
    /// Single operations on atomics.
    Atomic,
    /// A message by an atomic: what is written before, and a read after it.
    Message,
    /// The same with fences.
    Fences,
    /// Modifications of an atomic, as counters and locks make them.
    Modify,
    Mutex,
    RwLock,
    Channel,
    Park,
    Barrier,
    Once,
    /// Plain accesses of atomics.
    Mixed,
}

const GROUPS: [Group; 16] = [
    Group::Atomic,
    Group::Atomic,
    Group::Message,
    Group::Message,
    Group::Fences,
    Group::Fences,
    Group::Modify,
    Group::Modify,
    Group::Mutex,
    Group::RwLock,
    Group::RwLock,
    Group::Channel,
    Group::Park,
    Group::Barrier,
    Group::Once,
    Group::Mixed,
];

struct Generator {
    random: SplitMix64,
    threads: usize,
    /// The ranges that most plain accesses are to.
    ranges: [(u8, u8); 2],
    /// The atomic that most operations are on.
    atomic: u8,
    receiver: usize,
    /// The two threads that wait at the barrier.
    pair: [usize; 2],
    /// Whether plain accesses are mostly reads.
    reads: bool,
    /// Whether orderings are mostly strong enough.
    strong: bool,
}

impl Generator {
    fn below(&mut self, bound: usize) -> u8 {
        self.random.below(bound) as u8
    }

    fn percent(&mut self, chance: usize) -> bool {
        self.random.below(100) < chance
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.random.below(from.len())]
    }

    fn range(&mut self) -> (u8, u8) {
        let size = self.pick(&[1, 2, 4, 8, 8]);
        (self.below(16 / size) * size as u8, size as u8)
    }

    fn place(&mut self) -> (u8, u8) {
        match self.percent(80) {
            true => self.pick(&self.ranges.clone()),
            false => self.range(),
        }
    }

    fn value(&mut self) -> u8 {
        1 + self.below(2)
    }

    fn x(&mut self) -> u8 {
        if self.percent(85) { self.atomic } else { 1 - self.atomic }
    }

    fn plain(&mut self) -> Op {
        let (at, size) = self.place();
        let reads = if self.reads { 75 } else { 45 };
        if self.percent(4) {
            let size = 1 + self.below(8);
            let [to, from] = [(); 2].map(|()| self.below(17 - usize::from(size)));
            Op::Copy(to, from, size)
        } else if self.percent(2) {
            // With both atomics.
            Op::Read(16, 8)
        } else if self.percent(reads) {
            Op::Read(at, size)
        } else {
            Op::Write(at, size, self.value())
        }
    }

    fn loads(&mut self) -> Ordering {
        match self.strong && self.percent(80) {
            true => self.pick(&[Acquire, Acquire, SeqCst]),
            false => self.pick(&[Relaxed, Relaxed, Acquire, Acquire, SeqCst]),
        }
    }

    fn stores(&mut self) -> Ordering {
        match self.strong && self.percent(80) {
            true => self.pick(&[Release, Release, SeqCst]),
            false => self.pick(&[Relaxed, Relaxed, Release, Release, SeqCst]),
        }
    }

    fn modifies(&mut self) -> Ordering {
        self.pick(&[Relaxed, Relaxed, Acquire, Release, AcqRel, AcqRel, SeqCst])
    }

    fn fence(&mut self) -> Ordering {
        self.pick(&[Acquire, Acquire, Release, Release, AcqRel, AcqRel, SeqCst])
    }

    fn modification(&mut self) -> Op {
        let (x, order) = (self.x(), self.modifies());
        match self.below(7) {
            0 => Op::Swap(x, self.value(), order),
            1 | 2 => Op::Add(x, 1, order),
            3 => Op::Add(x, 0, order),
            4 => Op::Or(x, order),
            _ => {
                let failure = self.pick(&[Relaxed, Relaxed, Acquire, SeqCst]);
                let old = self.below(2);
                Op::Exchange(x, old, self.below(3), order, failure)
            }
        }
    }

    /// A few operations of a thread that belong together.
    fn piece(&mut self, group: Group, t: usize, ops: &mut Vec<Op>) {
        match group {
            Group::Atomic => {
                let x = self.x();
                match self.below(8) {
                    0 | 1 => ops.push(Op::Load(x, self.loads())),
                    2 | 3 => ops.push(Op::Store(x, self.value(), self.stores())),
                    4 => ops.push(Op::Fence(self.fence())),
                    5 => ops.extend([
                        Op::Load(x, self.loads()),
                        Op::Unless(self.below(3), 1 + self.below(2)),
                        self.plain(),
                    ]),
                    _ => ops.push(self.modification()),
                }
            }
            Group::Message => {
                let x = self.x();
                let first = if self.percent(50) { t == 0 } else { t == 1 };
                match self.below(5) {
                    0 | 1 if first => ops.extend([self.plain(), Op::Store(x, 1, self.stores())]),
                    0..=2 => ops.extend([Op::Load(x, self.loads()), Op::Unless(1, 1), self.plain()]),
                    3 => ops.push(self.modification()),
                    _ => ops.extend([self.plain(), Op::Store(x, 1 + self.below(2), self.stores())]),
                }
            }
            Group::Fences => {
                let x = self.x();
                let order = self.fence();
                match self.below(6) {
                    0 | 1 => ops.extend([self.plain(), Op::Fence(order), Op::Store(x, 1, Relaxed)]),
                    2 | 3 => ops.extend([Op::Load(x, Relaxed), Op::Unless(1, 2), Op::Fence(order), self.plain()]),
                    4 => ops.push(Op::Fence(order)),
                    _ => ops.push(self.modification()),
                }
            }
            Group::Modify => {
                let order = self.modifies();
                let x = self.x();
                match self.below(5) {
                    // Whoever comes last, or first.
                    0 => ops.extend([self.plain(), Op::Add(x, 1, order), Op::Unless(1, 1), self.plain()]),
                    // A lock by hand, which is tried.
                    1 => ops.extend([
                        Op::Exchange(x, 0, 1, order, Relaxed),
                        Op::Unless(0, 2),
                        self.plain(),
                        Op::Store(x, 0, self.stores()),
                    ]),
                    2 => ops.extend([Op::Swap(x, 1, order), Op::Unless(0, 1), self.plain()]),
                    _ => ops.push(self.modification()),
                }
            }
            Group::Mutex => {
                let m = u8::from(self.percent(20));
                match self.below(6) {
                    0..=2 => ops.extend([Op::Lock(m), self.plain(), Op::Unlock(m)]),
                    3 => ops.extend([Op::TryLock(m), Op::Unless(1, 1), self.plain(), Op::Unlock(m)]),
                    4 => ops.extend([Op::Lock(m), self.plain()]),
                    _ => ops.extend([Op::Lock(m), Op::Unlock(m)]),
                }
            }
            Group::RwLock => match self.below(8) {
                0..=2 => ops.extend([Op::LockShared, self.plain(), Op::UnlockRw]),
                3 | 4 => ops.extend([Op::LockAlone, self.plain(), Op::UnlockRw]),
                5 => ops.extend([Op::TryLockShared, Op::Unless(1, 1), self.plain(), Op::UnlockRw]),
                6 => ops.extend([Op::TryLockAlone, Op::Unless(1, 1), self.plain(), Op::UnlockRw]),
                _ => ops.push(self.pick(&[Op::LockShared, Op::LockAlone, Op::UnlockRw])),
            },
            Group::Channel if t == self.receiver => match self.below(4) {
                0 => ops.extend([Op::TryRecv, Op::Unless(1, 1), self.plain()]),
                1 => ops.extend([self.plain(), Op::Recv]),
                _ => ops.extend([Op::Recv, self.plain()]),
            },
            Group::Channel => match self.below(4) {
                0 => ops.push(Op::Send(self.value())),
                1 => ops.extend([Op::Send(self.value()), self.plain()]),
                _ => ops.extend([self.plain(), Op::Send(1)]),
            },
            Group::Park => {
                let other = self.below(self.threads);
                match self.below(5) {
                    0 | 1 => ops.extend([self.plain(), Op::Unpark(other)]),
                    2 | 3 if t == usize::from(self.atomic) => ops.extend([Op::Park, self.plain()]),
                    2 | 3 => ops.extend([self.plain(), Op::Unpark(self.atomic)]),
                    _ => ops.push(Op::Unpark(other)),
                }
            }
            Group::Barrier if self.pair.contains(&t) => ops.extend([self.plain(), Op::Barrier, self.plain()]),
            Group::Once => {
                let (at, size) = self.place();
                ops.push(Op::Once(at, size, self.value()));
                if self.percent(50) {
                    ops.push(self.plain());
                }
            }
            Group::Mixed => {
                let x = self.x();
                match self.below(4) {
                    0 => ops.push(Op::PlainLoad(x)),
                    1 => ops.push(Op::PlainStore(x, self.value())),
                    2 => ops.extend([
                        Op::Load(x, self.loads()),
                        Op::Unless(self.below(2), 1),
                        Op::PlainLoad(x),
                    ]),
                    _ => ops.push(Op::Store(x, 1, self.stores())),
                }
            }
            Group::Barrier => ops.push(self.plain()),
        }
    }
}

/// The program with this number.
pub fn program(seed: u64) -> Program {
    let mut random = SplitMix64::new(seed);
    let threads = [2, 2, 2, 2, 3, 3, 3, 3, 3, 4][random.below(10)];
    let mut new = Generator {
        threads,
        ranges: [(0, 8); 2],
        atomic: random.below(2) as u8,
        receiver: random.below(threads),
        pair: [0, 1],
        reads: false,
        strong: false,
        random,
    };
    new.ranges = [new.range(), new.range()];
    if new.percent(60) {
        // They overlap.
        let (at, size) = new.ranges[0];
        new.ranges[1] = new.pick(&[(at, 1), (at / 8 * 8, 8), (at + size - 1, 1), (at, size)]);
    }
    new.reads = new.percent(40);
    new.strong = new.percent(50);
    let skipped = new.random.below(threads);
    if threads > 2 {
        let others: Vec<usize> = (0..threads).filter(|&t| t != skipped).collect();
        new.pair = [others[0], others[1]];
    }
    let palette: Vec<Group> = (0..1 + new.random.below(2)).map(|_| new.pick(&GROUPS)).collect();
    // A wait in a channel takes tokens, as std's does.
    let parks = palette.contains(&Group::Park);
    let palette: Vec<Group> = palette
        .into_iter()
        .map(|group| match group {
            Group::Channel if parks => Group::Mutex,
            group => group,
        })
        .collect();
    let mut all = match new.percent(60) {
        true => new.relay(),
        false => new.medley(&palette),
    };
    new.create(&mut all);
    Program {
        threads: all,
        capacity: new.pick(&[None, None, Some(0), Some(1), Some(1), Some(2)]),
        place: [Place::Static, Place::Heap, Place::Stack][usize::from(new.below(3))],
    }
}

impl Generator {
    /// Operations from the palette.
    fn medley(&mut self, palette: &[Group]) -> Vec<Vec<Op>> {
        let threads = self.threads;
        let most = [0, 0, 6, 5, 4][threads];
        let mut all: Vec<Vec<Op>> = (0..threads)
            .map(|t| {
                let mut ops = Vec::new();
                let wanted = 1 + self.random.below(most);
                while ops.len() < wanted {
                    if self.percent(20) {
                        ops.push(self.plain());
                    }
                    let group = self.pick(palette);
                    self.piece(group, t, &mut ops);
                }
                ops.truncate(most);
                if self.percent(4) {
                    let at = self.random.below(ops.len());
                    let skip = Op::Unless(self.below(2), 1 + self.below(2));
                    ops.insert(at, skip);
                }
                ops
            })
            .collect();
        self.thin_out(&mut all);
        all
    }

    /// An ordering that is mostly one of these.
    fn mostly(&mut self, right: &[Ordering], all: &[Ordering]) -> Ordering {
        if self.percent(80) {
            self.pick(right)
        } else {
            self.pick(all)
        }
    }

    /// Publishes what comes before: `x` is 1 then, or what it was; says which.
    fn publish(&mut self, x: u8, ops: &mut Vec<Op>) -> bool {
        let order = if self.percent(40) {
            ops.push(Op::Fence(self.mostly(&[Release, AcqRel, SeqCst], &[Acquire])));
            Relaxed
        } else {
            self.mostly(&[Release, Release, SeqCst], &[Relaxed])
        };
        let changes = self.percent(80);
        ops.push(match self.below(7) {
            _ if !changes => self.pick(&[Op::Add(x, 0, order), Op::Or(x, order)]),
            0..=3 => Op::Store(x, 1, order),
            4 => Op::Swap(x, 1, order),
            5 => Op::Add(x, 1, order),
            _ => Op::Exchange(x, 0, 1, order, Relaxed),
        });
        changes
    }

    /// Looks whether something was published, and goes on if so, mostly: `x` is this then, if it is known.
    fn look(&mut self, x: u8, expected: Option<u8>, ops: &mut Vec<Op>) {
        let fenced = self.percent(40);
        let order = match fenced {
            true => Relaxed,
            false => self.mostly(&[Acquire, Acquire, SeqCst], &[Relaxed]),
        };
        ops.push(match self.below(8) {
            0..=4 => Op::Load(x, order),
            5 => Op::Add(x, 0, order),
            6 => Op::Swap(x, 2, order),
            _ => Op::Exchange(x, 1, 2, order, self.pick(&[Relaxed, Acquire])),
        });
        if let Some(expected) = expected
            && self.percent(90)
        {
            ops.push(Op::Unless(expected, LINES as u8));
        }
        if fenced {
            ops.push(Op::Fence(self.mostly(&[Acquire, AcqRel, SeqCst], &[Release])));
        }
    }

    /// What a thread does that is neither first nor last. Returns the atomic at which to look, and what it is then.
    fn pass_on(&mut self, x: u8, has_received: bool, expected: Option<u8>, ops: &mut Vec<Op>) -> (u8, Option<u8>) {
        let (order, stores) = (self.modifies(), self.stores());
        let known = expected.is_some();
        match self.below(8) {
            // It goes on with the release sequence, or ends it.
            0 | 1 => {
                ops.push(Op::Add(x, 1, order));
                (x, known.then_some(2))
            }
            2 => {
                ops.push(self.pick(&[Op::Add(x, 0, order), Op::Or(x, order)]));
                (x, expected)
            }
            3 => {
                ops.push(Op::Exchange(x, 1, 2, order, Relaxed));
                (x, known.then_some(2))
            }
            4 => {
                if self.percent(50) {
                    ops.push(Op::Fence(self.fence()));
                }
                ops.push(Op::Store(x, 1, stores));
                (x, known.then_some(1))
            }
            _ => {
                if !has_received {
                    self.look(x, expected, ops);
                }
                let other = 1 - x;
                let changes = self.publish(other, ops);
                (other, changes.then_some(1))
            }
        }
    }

    /// A message from one thread to another.
    fn relay(&mut self) -> Vec<Vec<Op>> {
        let threads = self.threads.min(3);
        let mut all = vec![Vec::new(); threads];
        let mut order: Vec<usize> = (0..threads).collect();
        for last in (1..threads).rev() {
            order.swap(last, self.random.below(last + 1));
        }
        let (x, other) = (self.atomic, 1 - self.atomic);
        let (first, last) = (order[0], order[threads - 1]);
        let (at, size) = self.ranges[0];
        let writes = self.percent(60);
        let whole = match writes {
            true => Op::Write(at, size, 1),
            false => Op::Read(at, size),
        };
        all[first].push(whole);
        if self.percent(15) {
            all[first].push(self.plain());
        }
        let by_channel = self.percent(15);
        // Sections that leave no trace but in what is known.
        let sections = match self.below(8) {
            _ if by_channel => None,
            0 => Some([Op::Lock(0), Op::Unlock(0)]),
            1 => Some([self.pick(&[Op::LockShared, Op::LockAlone]), Op::UnlockRw]),
            _ => None,
        };
        let mut look = (x, Some(1));
        match sections {
            _ if by_channel => all[first].push(Op::Send(1)),
            Some(section) => all[first].extend(section),
            None => {
                let changes = self.publish(x, &mut all[first]);
                look.1 = changes.then_some(1);
            }
        }
        if threads == 3 {
            if by_channel {
                self.receiver = order[1];
                all[order[1]].push(Op::Recv);
            }
            look = self.pass_on(x, by_channel, look.1, &mut all[order[1]]);
        }
        match sections {
            Some([Op::Lock(_), unlock]) => all[last].extend([self.pick(&[Op::Lock(0), Op::TryLock(0)]), unlock]),
            Some([_, unlock]) => all[last].extend([self.pick(&[Op::LockShared, Op::LockAlone]), unlock]),
            None if by_channel && threads == 2 => {
                self.receiver = last;
                all[last].push(Op::Recv);
            }
            None => self.look(look.0, look.1, &mut all[last]),
        }
        if self.percent(35) {
            // Others may do something meanwhile.
            let pause = self.pick(&[
                Op::Load(other, Relaxed),
                Op::Store(other, 1, Relaxed),
                Op::Load(x, Relaxed),
                Op::Lock(1),
            ]);
            all[last].push(pause);
        }
        let within = at + self.below(size.into());
        all[last].push(match writes && self.percent(60) {
            true => Op::Read(within, 1),
            false => Op::Write(within, 1, 2),
        });
        if self.percent(15) {
            let t = self.random.below(threads);
            let extra = match self.below(3) {
                0 => Op::Fence(self.fence()),
                1 => self.modification(),
                _ => self.plain(),
            };
            let to = self.random.below(all[t].len() + 1);
            all[t].insert(to, extra);
        }
        all
    }

    /// Leaves few plain accesses in most programs.
    fn thin_out(&mut self, all: &mut [Vec<Op>]) {
        if self.percent(15) {
            return;
        }
        let is_plain = |op: &Op| matches!(op, Op::Read(..) | Op::Write(..) | Op::Copy(..));
        let wanted = 2 + self.random.below(2);
        loop {
            let plain: Vec<(usize, usize)> = all
                .iter()
                .enumerate()
                .flat_map(|(t, ops)| (0..ops.len()).map(move |at| (t, at)))
                .filter(|&(t, at)| is_plain(&all[t][at]))
                .collect();
            if plain.len() <= wanted {
                return;
            }
            let (t, at) = self.pick(&plain);
            all[t].remove(at);
            // What was skipped with it is skipped alone.
            for (before, op) in all[t][..at].iter_mut().enumerate() {
                if let Op::Unless(_, count) = op
                    && before + usize::from(*count) >= at
                    && *count > 1
                {
                    *count -= 1;
                }
            }
        }
    }

    /// Has each thread created, and some joined.
    fn create(&mut self, all: &mut [Vec<Op>]) {
        debug_assert!(all.len() <= THREADS);
        for child in 1..all.len() {
            let parent = if child > 1 && self.percent(20) { child - 1 } else { 0 };
            let ops = &mut all[parent];
            let at = match self.percent(65) {
                true => ops.iter().take_while(|op| matches!(op, Op::Spawn(_))).count(),
                false => self.random.below(ops.len() + 1),
            };
            ops.insert(at, Op::Spawn(child as u8));
            if self.percent(25) && ops.len() < LINES {
                let after = at + 1 + self.random.below(ops.len() - at);
                ops.insert(after, Op::Join(child as u8));
            }
        }
    }
}
