//! Generates toy programs.
//!
//! A program is built from *genes*, four small numbers each: a gene becomes a short, well-formed piece
//! of code (a critical section, a wait in a critical section, a spawn with its join …). The kind of
//! piece is drawn from the program's palette of a few kinds, so that threads meet at the same objects.
//! proptest shrinks the genes: smaller numbers stand for simpler pieces.

use super::program::{Instruction, Operand, Program, Test};
use proptest::collection::vec;
use proptest::prelude::*;

/// Kinds of pieces that go together; a program has one to three of these groups. Those that few threads of a
/// program can take part in come twice.
const GROUPS: [&[u8]; 13] = [
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

/// At most this many operations in a program.
const MOST_OPERATIONS: usize = 12;

/// What a piece is made from: kind, and three choices.
type Gene = (u8, u8, u8, u8);

/// Programs of up to 12 operations in 2 to 4 threads whose interleavings, if nothing blocked, would be
/// about `most` at most; most programs have far fewer.
pub fn programs(most: u64) -> impl Strategy<Value = Program> {
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
            let palette = palette.iter().flat_map(|&group| GROUPS[group]).copied().collect();
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

fn points(code: &[Instruction]) -> usize {
    let waits = code
        .iter()
        .filter(|instruction| matches!(instruction, Instruction::Wait { .. }))
        .count();
    code.iter().filter(|instruction| instruction.is_point()).count() + waits
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
                    code.push(Acquire(0));
                }
                inner(code);
                if c & 3 != 2 {
                    code.push(Release(0));
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

/// The number of interleavings of threads with so many steps, at most `u64::MAX`.
fn multinomial(counts: &[usize]) -> u64 {
    let mut result: u64 = 1;
    let mut total = 0u64;
    for &count in counts {
        for i in 1..=count as u64 {
            total += 1;
            // Exact: the running product is a product of binomial coefficients and a partial one.
            result = match result.checked_mul(total) {
                Some(product) => product / i,
                None => return u64::MAX,
            };
        }
    }
    result
}
