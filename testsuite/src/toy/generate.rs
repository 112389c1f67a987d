//! Generates toy programs: of all kinds, and of steps that often conflict and commute all the same.
//!
//! A program is built from *genes*, four small numbers each: a gene becomes a short, well-formed piece
//! of code (a critical section, a wait in a critical section, a spawn with its join …). The kind of
//! piece is drawn from the program's palette of a few kinds, so that threads meet at the same objects.
//! proptest shrinks the genes: smaller numbers stand for simpler pieces.

use super::program::{Instruction, Operand, Program, Test};
use crate::enumerate::multinomial;
use proptest::collection::vec;
use proptest::prelude::*;
use std::ops::{Range, RangeInclusive};

/// Kinds of pieces that go together; a program has one to three of these groups. Those that few threads of a
/// program can take part in come twice.
const GROUPS: [&[u8]; 15] = [
    &[SIMPLE],
    &[CRITICAL],
    &[CRITICAL, CROSSING],
    &[CRITICAL, TRYING],
    &[READING, READING, WRITING],
    &[PERMIT],
    &[CHANNEL],
    &[WAITING, WAITING, NOTIFYING, NOTIFYING],
    &[CHANNEL],
    &[WAITING, WAITING, NOTIFYING],
    &[BRANCHING],
    &[ASSERTING],
    &[SPINNING],
    &[SECTION],
    &[SECTION, SECTION, PERMIT, CHANNEL],
];

const SIMPLE: u8 = 0;
const CRITICAL: u8 = 1;
const CROSSING: u8 = 2;
const TRYING: u8 = 3;
const READING: u8 = 4;
const WRITING: u8 = 5;
const PERMIT: u8 = 6;
const CHANNEL: u8 = 7;
const WAITING: u8 = 8;
const NOTIFYING: u8 = 9;
const BRANCHING: u8 = 10;
const ASSERTING: u8 = 11;
const SPINNING: u8 = 12;
const SECTION: u8 = 13;
const CHOOSING: u8 = 14;

/// Maximum number of operations in a program.
const MOST_OPERATIONS: usize = 12;

/// The raw material of a piece: kind, and three choices.
pub(super) type Gene = (u8, u8, u8, u8);

/// Programs of up to 12 operations in 2 to 4 threads whose interleavings, if nothing blocked, would be
/// about `most` at most; most programs have far fewer.
pub fn programs(most: u64) -> impl Strategy<Value = Program> {
    programs_with(&[], most)
}

/// Like [`programs`] and [`commuting_programs`], with threads that choose values.
pub fn choosing_programs(most: u64) -> impl Strategy<Value = Program> {
    prop_oneof![
        2 => programs_with(&[CHOOSING], most),
        1 => chains(most, 2..=4, [Just(CHOICE), Just(CHOICE)], false),
        1 => chains(most, 2..=4, (0..COMMUTING).prop_map(|kind| [kind, CHOICE]), false),
    ]
}

/// Programs with pieces of these kinds and of some groups.
fn programs_with(kinds: &'static [u8], most: u64) -> impl Strategy<Value = Program> {
    let gene = (any::<u8>(), any::<u8>(), any::<u8>(), any::<u8>());
    let threads = vec(vec(gene, 1..=4), 2..=4);
    let palette = vec(0..GROUPS.len(), 1..=3);
    // A body that is spawned, the objects' sizes, what a failed assertion does.
    let interleavings = prop_oneof![5 => Just(most.min(100)), 4 => Just(most.min(400)), 1 => Just(most)];
    let rest = (
        vec(gene, 1..=2),
        any::<[u8; 4]>(),
        prop::bool::weighted(0.1),
        interleavings,
    );
    (threads, palette, rest).prop_map(
        move |(threads, palette, (child, sizes, failures_stop, interleavings))| {
            let groups = palette.iter().flat_map(|&group| GROUPS[group]);
            let palette = groups.chain(kinds).copied().collect();
            let mut builder = Builder {
                palette,
                points: Vec::new(),
                interleavings,
            };
            // Children make no children, and each thread has at most one: their code is the last body.
            let child_code = builder.children(&child);
            let mut bodies = vec![Vec::new(); threads.len()];
            builder.points = vec![0; threads.len()];
            // In turn, so that each thread gets its share of the operations.
            for round in 0..threads.iter().map(Vec::len).max().unwrap_or(0) {
                for (thread, genes) in threads.iter().enumerate() {
                    if let Some(&gene) = genes.get(round) {
                        builder.append(gene, thread, &child_code, &mut bodies);
                    }
                }
            }
            if bodies
                .iter()
                .flatten()
                .any(|instruction| matches!(instruction, Instruction::Spawn(_)))
            {
                bodies.push(child_code);
            }
            let mut program = Program::new(bodies, threads.len());
            for (permits, size) in program.semaphores.iter_mut().zip(sizes) {
                *permits = i64::from(size % 3);
            }
            for (capacity, size) in program.channels.iter_mut().zip(&sizes[2..]) {
                *capacity = Some(usize::from(size % 4)).filter(|&n| n > 0);
            }
            program.failures_stop = failures_stop;
            program
        },
    )
}

/// Programs of two to four threads of short chains: steps on one variable, semaphore, channel or mutex that often
/// conflict and yet lead to the same state in either order, and before or after them accesses that tell in which order
/// threads ran. In some of them, threads create others. About `most` interleavings at most.
pub fn commuting_programs(most: u64) -> impl Strategy<Value = Program> {
    let kind = || prop_oneof![1 => Just(0), 2 => SIGNALLING, 5 => 0..COMMUTING];
    // Few kinds of commuting steps, so that threads meet.
    prop_oneof![
        3 => chains(most, 2..=4, [kind(), kind()], false),
        1 => chains(most, 3..=4, kind().prop_map(|kind| [kind; 2]), true),
    ]
}

fn chains(
    most: u64,
    threads: RangeInclusive<usize>,
    palette: impl Strategy<Value = [u8; 2]>,
    created: bool,
) -> impl Strategy<Value = Program> {
    let gene = (any::<u8>(), any::<u8>(), any::<u8>());
    // Where threads create others, short ones, or there would be too many operations.
    let shapes = if created { SHAPES.len() / 2 } else { SHAPES.len() };
    let threads = vec((0..shapes, [gene, gene, gene]), threads);
    let rest = (any::<[u8; 4]>(), any::<[u8; 4]>(), prop::bool::weighted(0.1));
    (threads, palette, rest).prop_map(move |(threads, palette, (sizes, births, failures_stop))| {
        let chains = Chains {
            palette,
            signal: sizes[0],
        };
        let mut bodies: Vec<Vec<Instruction>> = Vec::new();
        // Where links begin and end.
        let mut ends: Vec<Vec<usize>> = Vec::new();
        for (shape, genes) in threads {
            let mut body = Vec::new();
            let mut places = vec![0];
            for (&link, gene) in SHAPES[shape].iter().zip(genes) {
                let before = body.len();
                chains.link(link, gene, &mut body);
                let counts: Vec<_> = bodies.iter().chain([&body]).map(|code| points(code)).collect();
                if counts.iter().sum::<usize>() > MOST_OPERATIONS || multinomial(&counts) > most {
                    body.truncate(before);
                }
                places.push(body.len());
            }
            bodies.push(body);
            ends.push(places);
        }
        let started = match (created, sizes[1] % 2) {
            (true, 0) => create_one(&mut bodies, &ends, births),
            (true, _) => create_two(&mut bodies, &ends, births),
            (false, _) => bodies.len(),
        };
        let mut program = Program::new(bodies, started);
        for (permits, size) in program
            .semaphores
            .iter_mut()
            .zip([sizes[3] % 4 / 3, 1 + sizes[3] / 32 % 2])
        {
            *permits = i64::from(size);
        }
        for capacity in &mut program.channels {
            *capacity = (sizes[3] / 4 % 8 == 0).then_some(1);
        }
        program.failures_stop = failures_stop;
        program
    })
}

/// Lets one of the threads create the last one, between two links, and perhaps join it, whatever it has read or only if
/// it has read that another one was there. Says how many threads exist from the start.
fn create_one(bodies: &mut [Vec<Instruction>], ends: &[Vec<usize>], [creator, at, join, variable]: [u8; 4]) -> usize {
    let started = bodies.len() - 1;
    let creator = usize::from(creator) % started;
    let places = &ends[creator];
    // Half of them at the end.
    let at = (usize::from(at) % (2 * places.len())).min(places.len() - 1);
    let body = &mut bodies[creator];
    if join % 4 < 2 {
        let variable = 1 + usize::from(variable & 1);
        body.push(Instruction::Load { variable, into: 2 });
        let place = places[at + usize::from(join / 4) % (places.len() - at)];
        body.insert(place, Instruction::Join(0));
        if join % 4 == 0 {
            let test = Test::Equal(1);
            body.insert(
                place,
                Instruction::SkipUnless {
                    register: 0,
                    test,
                    count: 1,
                },
            );
        }
    }
    body.insert(places[at], Instruction::Spawn(started));
    started
}

/// Lets one of the threads create the last two, the second one between two links or when the first one has ended. Says
/// how many threads exist from the start.
fn create_two(bodies: &mut [Vec<Instruction>], ends: &[Vec<usize>], [creator, one, two, join]: [u8; 4]) -> usize {
    let started = bodies.len() - 2;
    let creator = usize::from(creator) % started;
    let place = |at: u8| ends[creator][usize::from(at) % ends[creator].len()];
    let (first, second) = (place(one).min(place(two)), place(one).max(place(two)));
    let body = &mut bodies[creator];
    body.insert(second, Instruction::Spawn(started + 1));
    if join & 1 == 0 {
        body.insert(second, Instruction::Join(0));
    }
    body.insert(first, Instruction::Spawn(started));
    started
}

/// The actions of a thread of [`commuting_programs`], link by link.
const SHAPES: [&[Link]; 14] = [
    &[Link::Commute],
    &[Link::Write, Link::Commute],
    &[Link::Commute, Link::Read],
    &[Link::Await, Link::Read],
    &[Link::Read, Link::Commute],
    &[Link::Commute, Link::Write],
    &[Link::Commute, Link::Commute],
    &[Link::Await, Link::Write],
    &[Link::Await, Link::Commute],
    &[Link::Write, Link::Commute, Link::Read],
    &[Link::Commute, Link::Await, Link::Read],
    &[Link::Commute, Link::Commute, Link::Read],
    &[Link::Write, Link::Commute, Link::Commute],
    &[Link::Any, Link::Any, Link::Any],
];

#[derive(Clone, Copy)]
enum Link {
    Commute,
    Write,
    Read,
    Await,
    Any,
}

/// The kinds of commuting steps one of which signals: only those can go wrong in some searches.
const SIGNALLING: Range<u8> = 1..6;

/// The number of kinds of commuting steps.
const COMMUTING: u8 = 20;
/// The kind that makes choices, for [`choosing_programs`].
const CHOICE: u8 = COMMUTING;

struct Chains {
    palette: [u8; 2],
    /// How threads wake those that wait for something.
    signal: u8,
}

impl Chains {
    fn link(&self, link: Link, (a, b, c): (u8, u8, u8), code: &mut Vec<Instruction>) {
        use Instruction::*;
        let variable = 1 + usize::from(a & 1);
        let into = a >> 1 & 1;
        match link {
            Link::Commute => self.commute(self.palette[usize::from(a % 4 == 3)], b, c, code),
            Link::Write => code.push(match b % 4 {
                0..3 => store(variable, 1),
                _ => FetchAdd {
                    variable,
                    value: Operand::Constant(1),
                    into: None,
                },
            }),
            Link::Read => {
                code.push(Load { variable, into });
                if b % 8 == 0 {
                    let test = if b & 8 == 0 { Test::Equal(1) } else { Test::NotEqual(1) };
                    code.push(Assert { register: into, test });
                } else if b % 8 < 3 {
                    let test = Test::Equal(i64::from(b >> 3 & 1));
                    let mut then = Vec::new();
                    match b % 8 {
                        1 => self.commute(self.palette[usize::from(b >> 4 & 1)], b, c, &mut then),
                        _ => self.link(Link::Await, (a, b, c), &mut then),
                    }
                    code.push(SkipUnless {
                        register: into,
                        test,
                        count: then.len(),
                    });
                    code.append(&mut then);
                    if b & 32 == 0 {
                        code.push(Load { variable, into });
                    }
                }
            }
            Link::Await => match self.signal % 8 {
                0..2 => code.push(Acquire(0)),
                2 | 3 => code.push(Receive { channel: 0, into: 3 }),
                4 => code.push(SpinUntil { variable: 2, value: 1 }),
                // No more than what commutes at x0 is needed.
                5 | 6 => code.push(SpinUntil { variable: 0, value: 1 }),
                _ => code.extend([
                    Lock(1),
                    Wait {
                        condvar: 0,
                        mutex: 1,
                        timeout: (b & 1 == 0).then_some(2),
                    },
                    Unlock(1),
                ]),
            },
            Link::Any => {
                let links = [Link::Commute, Link::Write, Link::Read, Link::Await];
                self.link(links[usize::from(c >> 6)], (a, b, c), code);
            }
        }
    }

    /// A signal to those that await one.
    fn signal(&self) -> Instruction {
        match self.signal % 8 {
            0..2 => Instruction::Release(0),
            2 | 3 => Instruction::Send {
                channel: 0,
                value: Operand::Constant(1),
            },
            4..7 => store(2, 1),
            _ => Instruction::NotifyAll(0),
        }
    }

    /// A step that may commute with others of its kind.
    fn commute(&self, kind: u8, b: u8, c: u8, code: &mut Vec<Instruction>) {
        use Instruction::*;
        let load = Load { variable: 0, into: 3 };
        let forget = Compute {
            into: 3,
            factor: 0,
            value: Operand::Constant(0),
        };
        let add = FetchAdd {
            variable: 0,
            value: Operand::Constant(1),
            into: None,
        };
        // Now and then one that does not commute.
        let value = i64::from(1 + b / 240);
        let section = |parts: &[Instruction], code: &mut Vec<Instruction>| {
            code.push(Atomic(parts.len()));
            code.extend_from_slice(parts);
        };
        let when = |n, then: &[Instruction]| {
            let test = SkipUnless {
                register: 3,
                test: Test::Equal(n),
                count: then.len(),
            };
            [&[load, test], then].concat()
        };
        let mut end = vec![store(0, value)];
        if !c.is_multiple_of(8) {
            end.push(forget);
        }
        match kind {
            0 => code.push(store(0, value)),
            // The first one signals, or the second one.
            1..4 => section(&[when(0, &[self.signal()]), end].concat(), code),
            4 => section(&[when(1, &[self.signal()]), end].concat(), code),
            5 => section(&[when(0, &[store(2, 1)]), end].concat(), code),
            6 => code.push(add),
            7 => code.extend([load, forget]),
            8 => {
                let value = Operand::Constant(value);
                let send = Send { channel: 1, value };
                let receive = TryReceive { channel: 1, into: 3 };
                match b % 4 {
                    0 => code.push(send),
                    1 => section(&[Lock(0), send, Unlock(0)], code),
                    2 => code.extend([receive, forget]),
                    _ => section(&[Lock(0), receive, Unlock(0)], code),
                }
            }
            9 => code.extend([store(0, value), store(0, value)]),
            10 => section(&[Lock(0), add, Unlock(0)], code),
            11 => match b % 2 {
                0 => code.extend([Lock(0), add, Unlock(0)]),
                _ => code.extend([Lock(0), load, store(0, value), Unlock(0), forget]),
            },
            15 => {
                code.push(Lock(0));
                if !b.is_multiple_of(8) {
                    code.push(Unlock(0));
                }
            }
            16 => match b % 8 {
                0 | 4 => code.push(Release(1)),
                1 => code.push(Acquire(1)),
                5 => code.push(AcquireBoth(0, 1)),
                2 | 6 => code.extend([Acquire(1), Release(1)]),
                _ => section(&[Acquire(1), add], code),
            },
            17 => {
                code.push(if b & 1 == 0 { ReadLock(0) } else { WriteLock(0) });
                if c & 1 == 0 {
                    code.push(store(0, value));
                }
                if b % 8 < 6 {
                    code.push(ReadWriteUnlock(0));
                }
            }
            18 => match b % 4 {
                0 | 1 => {
                    let timeout = (b & 4 == 0).then_some(2);
                    code.push(Lock(0));
                    code.push(Wait {
                        condvar: 0,
                        mutex: 0,
                        timeout,
                    });
                    code.push(Unlock(0));
                }
                2 => code.extend([Lock(0), NotifyAll(0), Unlock(0)]),
                _ => code.push(NotifyOne(0)),
            },
            CHOICE => {
                code.push(Choose { count: 2, into: 3 });
                let chosen = SkipUnless {
                    register: 3,
                    test: Test::Equal(1),
                    count: 1,
                };
                match b % 4 {
                    0 => {}
                    1 => code.extend([chosen, add]),
                    2 => code.extend([chosen, self.signal()]),
                    _ => code.push(Store {
                        variable: 0,
                        value: Operand::Register(3),
                    }),
                }
                code.push(forget);
            }
            // The first one writes, the others do not.
            _ => {
                let new = Operand::Constant(value);
                let (variable, into) = (0, 3);
                code.push(match kind {
                    12 => Swap {
                        variable,
                        value: new,
                        into,
                    },
                    _ => CompareExchange {
                        variable,
                        expected: Operand::Constant(0),
                        new,
                        into,
                        weak: false,
                    },
                });
                if !c.is_multiple_of(8) {
                    code.push(forget);
                }
            }
        }
    }
}

pub(super) fn store(variable: usize, value: i64) -> Instruction {
    Instruction::Store {
        variable,
        value: Operand::Constant(value),
    }
}

/// The number of scheduling points in a thread's code.
fn points(code: &[Instruction]) -> usize {
    let program = Program::of(vec![code.to_vec()]);
    let (mut at, mut points) = (0, 0);
    while let Some(instruction) = code.get(at) {
        points += usize::from(instruction.is_point()) + usize::from(matches!(instruction, Instruction::Wait { .. }));
        at = program.section(0, at).end.max(at + 1);
    }
    points
}

struct Builder {
    palette: Vec<u8>,
    /// The scheduling points of each thread so far, those that are created after the others.
    points: Vec<usize>,
    interleavings: u64,
}

impl Builder {
    /// The code of the threads that are created by others.
    fn children(&self, genes: &[Gene]) -> Vec<Instruction> {
        let mut code = Vec::new();
        for &gene in genes {
            self.piece(gene, 1, &mut code);
        }
        if points(&code) > 3 {
            code.clear();
            self.simple(genes[0].1, genes[0].2, &mut code);
        }
        code
    }

    /// Appends the gene's code to the thread's, if there is room for it.
    fn append(&mut self, gene: Gene, thread: usize, child: &[Instruction], bodies: &mut [Vec<Instruction>]) {
        let mut piece = Vec::new();
        self.piece(gene, 0, &mut piece);
        let mut counts = self.points.clone();
        let spawns = |instruction: &Instruction| matches!(instruction, Instruction::Spawn(_));
        if gene.3 % 8 == 7 && !bodies[thread].iter().any(spawns) {
            piece.insert(0, Instruction::Spawn(bodies.len()));
            counts.push(points(child));
            if gene.2 % 4 != 3 {
                piece.push(Instruction::Join(0));
            }
        }
        counts[thread] += points(&piece);
        if counts.iter().sum::<usize>() <= MOST_OPERATIONS && multinomial(&counts) <= self.interleavings {
            self.points = counts;
            bodies[thread].append(&mut piece);
        }
    }

    /// Appends the code that the gene stands for.
    fn piece(&self, (kind, a, b, c): Gene, depth: usize, code: &mut Vec<Instruction>) {
        use Instruction::*;
        let kind = self.palette[usize::from(kind) % self.palette.len()];
        let object = usize::from(a & 1);
        let register = b & 3;
        let value = Operand::Constant(i64::from(c & 3));
        // What a critical section holds: nothing, an access, or another piece.
        let inner = |code: &mut Vec<Instruction>| match b >> 2 & 3 {
            0 => {}
            1 => code.push(FetchAdd {
                variable: object,
                value: Operand::Constant(1),
                into: Some(register),
            }),
            2 => self.simple(b, c, code),
            _ if depth < 2 => self.piece((b >> 4, c, a >> 1, b), depth + 1, code),
            _ => self.simple(c, a, code),
        };
        match kind {
            SIMPLE => self.simple(a, c, code),
            CRITICAL => {
                code.push(Lock(object));
                inner(code);
                code.push(Unlock(object));
            }
            // Locks that overlap without being nested, or are not released in order.
            CROSSING => {
                code.push(Lock(object));
                self.simple(b, c, code);
                code.push(Lock(1 - object));
                code.push(if c & 4 == 0 { Unlock(object) } else { Unlock(1 - object) });
                self.simple(c, b, code);
                code.push(Unlock(object));
                code.push(Unlock(1 - object));
            }
            TRYING => {
                let into = register;
                code.push(TryLock { mutex: object, into });
                if c & 1 == 0 {
                    let mut held = Vec::new();
                    inner(&mut held);
                    held.push(Unlock(object));
                    code.push(SkipUnless {
                        register: into,
                        test: Test::Equal(1),
                        count: held.len(),
                    });
                    code.append(&mut held);
                } else {
                    self.simple(b, c, code);
                    code.push(Unlock(object));
                }
            }
            READING => {
                code.push(ReadLock(object & usize::from(c & 1)));
                inner(code);
                code.push(ReadWriteUnlock(object & usize::from(c & 1)));
            }
            WRITING => {
                code.push(WriteLock(object & usize::from(c & 1)));
                inner(code);
                code.push(ReadWriteUnlock(object & usize::from(c & 1)));
            }
            PERMIT => {
                if c & 3 != 3 {
                    code.push(match c & 12 {
                        12 => AcquireBoth(0, 1),
                        8 => Acquire(1),
                        _ => Acquire(0),
                    });
                }
                inner(code);
                if c & 3 != 2 {
                    match c & 12 {
                        12 => code.extend([Release(0), Release(1)]),
                        8 => code.push(Release(1)),
                        _ => code.push(Release(0)),
                    }
                }
            }
            CHANNEL => {
                let channel = object & usize::from(c & 1);
                match b % 4 {
                    0 | 1 => code.push(Send {
                        channel,
                        value: if c & 4 == 0 { value } else { Operand::Register(register) },
                    }),
                    2 => code.push(Receive {
                        channel,
                        into: register,
                    }),
                    _ => code.push(TryReceive {
                        channel,
                        into: register,
                    }),
                }
            }
            WAITING => {
                code.push(Lock(0));
                let timeout = (c & 3 == 3).then_some(register);
                let wait = Wait {
                    condvar: object & usize::from(c >> 2 & 1),
                    mutex: 0,
                    timeout,
                };
                if c & 16 == 0 {
                    code.push(wait);
                } else {
                    code.push(Load { variable: 0, into: 3 });
                    code.push(SkipUnless {
                        register: 3,
                        test: Test::Equal(0),
                        count: 1,
                    });
                    code.push(wait);
                }
                code.push(Unlock(0));
            }
            NOTIFYING => {
                let condvar = object & usize::from(c >> 2 & 1);
                let notify = if b & 4 == 0 {
                    NotifyOne(condvar)
                } else {
                    NotifyAll(condvar)
                };
                match c & 3 {
                    0 => code.push(notify),
                    1 => code.extend([Lock(0), notify, Unlock(0)]),
                    2 => code.extend([
                        Lock(0),
                        Store {
                            variable: 0,
                            value: Operand::Constant(1),
                        },
                        notify,
                        Unlock(0),
                    ]),
                    _ => code.extend([
                        Store {
                            variable: 0,
                            value: Operand::Constant(1),
                        },
                        notify,
                    ]),
                }
            }
            BRANCHING => {
                code.push(Load {
                    variable: object,
                    into: register,
                });
                let test = if c & 1 == 0 {
                    Test::Equal(i64::from(c >> 2 & 1))
                } else {
                    Test::NotEqual(0)
                };
                let mut then = Vec::new();
                if depth < 2 {
                    self.piece((b >> 2, c, a, b), depth + 1, &mut then);
                } else {
                    self.simple(b, c, &mut then);
                }
                code.push(SkipUnless {
                    register,
                    test,
                    count: then.len(),
                });
                code.append(&mut then);
            }
            ASSERTING => {
                code.push(Load {
                    variable: object,
                    into: register,
                });
                code.push(Compute {
                    into: 2,
                    factor: 2,
                    value: Operand::Register(register),
                });
                let n = i64::from(c >> 1 & 1);
                code.push(Assert {
                    register,
                    test: if c & 3 != 0 {
                        Test::NotEqual(n + 1)
                    } else {
                        Test::Equal(n)
                    },
                });
            }
            SECTION => {
                let mut parts = Vec::new();
                if depth < 2 && b & 4 == 0 {
                    self.piece((b >> 3, c, a, b), depth + 1, &mut parts);
                } else {
                    self.simple(a, c, &mut parts);
                    self.simple(b, a, &mut parts);
                }
                code.push(Atomic(parts.len()));
                code.append(&mut parts);
            }
            CHOOSING => {
                let count = 2 + u32::from(c & 1);
                code.push(Choose { count, into: register });
                let mut then = Vec::new();
                match c >> 1 & 3 {
                    0 => then.push(Store {
                        variable: object,
                        value: Operand::Register(register),
                    }),
                    1 if depth < 2 => self.piece((b >> 2, c, a, b), depth + 1, &mut then),
                    1 | 2 => self.simple(b, c, &mut then),
                    _ => {}
                }
                code.push(SkipUnless {
                    register,
                    test: Test::NotEqual(i64::from(c >> 3 & 1)),
                    count: then.len(),
                });
                code.append(&mut then);
            }
            _ => match b & 1 {
                0 => code.push(SpinUntil {
                    variable: object,
                    value: i64::from(c & 1),
                }),
                _ => code.push(Store {
                    variable: object,
                    value,
                }),
            },
        }
    }

    /// Appends one access of a shared variable.
    fn simple(&self, a: u8, c: u8, code: &mut Vec<Instruction>) {
        use Instruction::*;
        let variable = usize::from(a & 1);
        let into = a >> 1 & 1;
        let value = if c & 8 == 0 {
            Operand::Constant(i64::from(c & 3))
        } else {
            Operand::Register(into)
        };
        code.push(match a >> 3 & 7 {
            0..3 => Store { variable, value },
            3 | 4 => Load { variable, into },
            5 => FetchAdd {
                variable,
                value,
                into: (c & 16 == 0).then_some(into),
            },
            6 => Swap { variable, value, into },
            _ => {
                let expected = Operand::Constant(i64::from(c >> 5 & 1));
                CompareExchange {
                    variable,
                    expected,
                    new: value,
                    into,
                    weak: c & 64 != 0,
                }
            }
        });
    }
}
