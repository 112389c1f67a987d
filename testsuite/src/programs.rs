//! Programs whose number of executions is published or can be derived by hand.
//!
//! Where a source says "each thread spawned by main, which joins all", main is left out: spawning and
//! joining are ordered with everything and add no trace.

use crate::toy::{Instruction, Operand, Program, Register, Test};
use Instruction::*;

fn load(variable: usize, into: Register) -> Instruction {
    Load { variable, into }
}

fn store(variable: usize, value: usize) -> Instruction {
    Store {
        variable,
        value: Operand::Constant(value as i64),
    }
}

fn increment(variable: usize, into: Option<Register>) -> Instruction {
    FetchAdd {
        variable,
        value: Operand::Constant(1),
        into,
    }
}

fn times(n: usize, body: &[Instruction]) -> Vec<Instruction> {
    body.repeat(n)
}

/// `n` threads store their number in one variable: n!.
pub fn lastwrite(n: usize) -> Program {
    Program::of((0..n).map(|i| vec![store(0, i + 1)]).collect())
}

/// `n` threads store their number in one variable, one loads it: (n + 1)!.
pub fn writers(n: usize) -> Program {
    let mut program = lastwrite(n);
    program.bodies.push(vec![load(0, 0)]);
    program.started += 1;
    program
}

/// [`writers`] with a main thread that spawns all others and joins them.
pub fn writers_spawned(n: usize) -> Program {
    let workers = writers(n).bodies;
    let mut main: Vec<_> = (1..=workers.len()).map(Spawn).collect();
    main.extend((0..workers.len()).map(Join));
    Program::new([vec![main], workers].concat(), 1)
}

/// One thread stores, `n` load once: 2^n.
pub fn readers(n: usize) -> Program {
    let mut bodies = vec![vec![load(0, 0)]; n];
    bodies.push(vec![store(0, 1)]);
    Program::of(bodies)
}

/// A failure that needs two switches, each after `n` steps and at no other place: one thread stores `n` times, another
/// must see the last value to store `n` times in its turn, and the first fails if it then finds the last of these.
pub fn narrow(n: usize) -> Program {
    let stores = |variable| (1..=n).map(move |value| store(variable, value));
    let last = n as i64;
    let mut first: Vec<_> = stores(0).chain([load(1, 0)]).collect();
    first.push(Assert {
        register: 0,
        test: Test::NotEqual(last),
    });
    let mut second = vec![load(0, 0)];
    second.push(SkipUnless {
        register: 0,
        test: Test::Equal(last),
        count: n,
    });
    second.extend(stores(1));
    Program::of(vec![first, second])
}

/// `n` threads add 1 and keep the previous value: n!.
pub fn counterobs(n: usize) -> Program {
    Program::of(vec![vec![increment(0, Some(0))]; n])
}

/// `n` threads add 1 and drop the result: n! where equal states are not recognised.
pub fn counter(n: usize) -> Program {
    Program::of(vec![vec![increment(0, None)]; n])
}

/// Abdulla et al. 2014: thread 0 looks for the highest zero of an array downwards from `n`, thread `i` stores
/// `array[i] = array[i - 1] + 1`. Their publication counts 2^(n-2) (n + 3) traces.
pub fn lastzero(n: usize) -> Program {
    let mut search = Vec::new();
    for i in (0..=n).rev() {
        search.push(load(i, 0));
        // A zero ends the loop: leave out the rest of it.
        search.push(SkipUnless {
            register: 0,
            test: Test::NotEqual(0),
            count: 2 * i,
        });
    }
    let mut bodies = vec![search];
    for i in 1..=n {
        bodies.push(vec![
            load(i - 1, 0),
            Compute {
                into: 0,
                factor: 1,
                value: Operand::Constant(1),
            },
            Store {
                variable: i,
                value: Operand::Register(0),
            },
        ]);
    }
    Program::of(bodies)
}

/// Flanagan and Godefroid 2005: thread `i` puts 4 messages into a hash table of 128 slots, and tries the next
/// slot where it finds one taken.
pub fn indexer(n: usize) -> Program {
    const SIZE: usize = 128;
    let bodies = (0..n)
        .map(|thread| {
            let mut code = Vec::new();
            for message in 1..=4 {
                let word = message * 11 + thread;
                // As many tries as can be needed; the first success leaves out the rest.
                for attempt in 0..n {
                    let slot = (word * 7 + attempt) % SIZE;
                    code.push(CompareExchange {
                        variable: slot,
                        expected: Operand::Constant(0),
                        new: Operand::Constant(word as i64),
                        into: 0,
                        weak: false,
                    });
                    code.push(SkipUnless {
                        register: 0,
                        test: Test::NotEqual(0),
                        count: 2 * (n - 1 - attempt),
                    });
                }
            }
            code
        })
        .collect();
    Program::of(bodies)
}

/// Flanagan and Godefroid 2005: each thread locks an inode of 32 and, if it has no block yet, takes the first
/// free one of 26 by the locks of those.
pub fn filesystem(n: usize) -> Program {
    const INODES: usize = 32;
    const BLOCKS: usize = 26;
    let (inode, busy) = (|i: usize| i, |b: usize| INODES + b);
    let lock_block = |b: usize| INODES + b;
    let bodies = (0..n)
        .map(|thread| {
            let i = thread % INODES;
            let mut search = Vec::new();
            for attempt in (0..n).rev() {
                let b = (i * 2 + attempt) % BLOCKS;
                // if !busy[b] { busy[b] = true; inode[i] = b + 1; unlock; break } unlock; try the next
                let take = [store(busy(b), 1), store(inode(i), b + 1), Unlock(lock_block(b))];
                let rest = std::mem::take(&mut search);
                search.extend([Lock(lock_block(b)), load(busy(b), 1)]);
                search.push(SkipUnless {
                    register: 1,
                    test: Test::Equal(0),
                    count: take.len() + 1,
                });
                search.extend(take);
                // The register is 0 here: leaves out the rest of the search.
                search.push(SkipUnless {
                    register: 1,
                    test: Test::NotEqual(0),
                    count: rest.len() + 1,
                });
                search.push(Unlock(lock_block(b)));
                search.extend(rest);
            }
            let mut code = vec![Lock(i), load(inode(i), 0)];
            code.push(SkipUnless {
                register: 0,
                test: Test::Equal(0),
                count: search.len(),
            });
            code.extend(search);
            code.push(Unlock(i));
            code
        })
        .collect();
    Program::of(bodies)
}

fn philosopher(first: usize, second: usize) -> Vec<Instruction> {
    vec![Lock(first), Lock(second), Unlock(second), Unlock(first)]
}

/// `n` philosophers who all take the left fork first: 2^n - 1, of which 1 deadlocks.
pub fn philosophers(n: usize) -> Program {
    Program::of((0..n).map(|i| philosopher(i, (i + 1) % n)).collect())
}

/// `n` philosophers who take the fork with the lower number first: 2^n - 2.
pub fn ordered_philosophers(n: usize) -> Program {
    Program::of(
        (0..n)
            .map(|i| (i, (i + 1) % n))
            .map(|(l, r)| philosopher(l.min(r), l.max(r)))
            .collect(),
    )
}

/// `threads` threads of `k` increments under a mutex each, one step each: (t k)! / (k!)^t.
pub fn mutexcounter(threads: usize, k: usize) -> Program {
    // The counter is plain memory under the mutex: nothing but the lock is a scheduling point.
    Program::of(vec![times(k, &[Lock(0), Unlock(0)]); threads])
}

/// [`mutexcounter`] with an atomic load and an atomic store in each critical section: as many.
pub fn mutexcounter_atomic(threads: usize, k: usize) -> Program {
    let add = Compute {
        into: 0,
        factor: 1,
        value: Operand::Constant(1),
    };
    let section = [
        Lock(0),
        load(0, 0),
        add,
        Store {
            variable: 0,
            value: Operand::Register(0),
        },
        Unlock(0),
    ];
    Program::of(vec![times(k, &section); threads])
}

/// A producer and a consumer with `n` critical sections around a queue each, of one step: C(2n, n). The consumer goes
/// on where the queue is empty, and remembers that it was: 2^n different ends.
pub fn prodcons(n: usize) -> Program {
    let send = Send {
        channel: 0,
        value: Operand::Constant(1),
    };
    let receive = TryReceive { channel: 0, into: 0 };
    let remember = Compute {
        into: 1,
        factor: 3,
        value: Operand::Register(0),
    };
    let produce = [Atomic(3), Lock(0), send, Unlock(0)];
    let consume = [Atomic(3), Lock(0), receive, Unlock(0), remember];
    Program::of(vec![times(n, &produce), times(n, &consume)])
}

/// Two senders of `k` messages each and one receiver of all: C(2k, k).
pub fn mpsc(k: usize) -> Program {
    let sender = |first: usize| {
        (0..k)
            .map(|i| Send {
                channel: 0,
                value: Operand::Constant((first + i) as i64),
            })
            .collect::<Vec<_>>()
    };
    Program::of(vec![
        sender(100),
        sender(200),
        times(2 * k, &[Receive { channel: 0, into: 0 }]),
    ])
}

/// CAV 2017, section 3: `x = 5 | x = 5 | read x`.
pub fn cav17() -> Program {
    Program::of(vec![vec![store(0, 5)], vec![store(0, 5)], vec![load(0, 0)]])
}
