//! Small programs that the oracle found and that were once explored wrongly.

use dpor_explorer::{Context, Fault};
use dpor_testsuite::oracle::{Agreement, Settings, compare};
use dpor_testsuite::toy::Instruction::*;
use dpor_testsuite::toy::{Instruction, Operand, Program, Test};

/// All strategies agree on the program, the context-sensitive one in all its configurations.
#[track_caller]
fn agree(program: Program) -> Agreement {
    let settings = Settings {
        brute_force: true,
        ..Settings::new(5000)
    };
    match compare(&program, &settings) {
        Ok(Some(agreement)) => agreement,
        Ok(None) => panic!("too large:\n{program}"),
        Err(mismatch) => panic!("{mismatch}\n{program}"),
    }
}

/// All strategies agree on the program, which has this number of traces.
#[track_caller]
fn agree_on_traces(program: Program, expected: u64) {
    let text = program.to_string();
    let Agreement { traces, source, .. } = agree(program);
    assert_eq!((traces, source.complete), (expected, expected), "{text}");
}

/// What a thread has done itself is never left out, so that one of its later operations could have come first.
#[test]
fn own_read_lock_before_the_write_lock() {
    let agreement = agree(Program::new(
        vec![
            vec![ReadLock(0), WriteLock(0)],
            vec![WriteLock(0), ReadWriteUnlock(0), ReadLock(0)],
        ],
        2,
    ));
    assert_eq!((agreement.traces, agreement.source.blocked), (2, 0));
}

fn load(variable: usize, into: u8) -> Instruction {
    Load { variable, into }
}

fn store(variable: usize, value: i64) -> Instruction {
    Store {
        variable,
        value: Operand::Constant(value),
    }
}

fn send(value: i64) -> Instruction {
    Send {
        channel: 0,
        value: Operand::Constant(value),
    }
}

/// A thread that is blocked where sleep sets end an execution races as one that is blocked at its end does: what
/// is asleep would have enabled it, but with other footprints.
#[test]
fn blocked_where_the_rest_sleeps() {
    let receive = |into| Receive { channel: 0, into };
    agree_on_traces(
        Program::new(
            vec![
                vec![receive(0)],
                vec![send(0), send(0)],
                vec![Spawn(3)],
                vec![receive(0), TryReceive { channel: 0, into: 1 }],
            ],
            3,
        ),
        4,
    );
}

/// Where one alternative of a thread is asleep and another is not, the thread is no sufficient choice: the races
/// of the one that sleeps are not seen.
#[test]
fn one_alternative_sleeps() {
    let (expected, new) = (Operand::Constant(1), Operand::Register(1));
    let exchange = CompareExchange {
        variable: 0,
        expected,
        new,
        into: 1,
        weak: true,
    };
    agree_on_traces(
        Program::new(
            vec![
                vec![store(1, 0), Spawn(2)],
                vec![load(1, 1), store(0, 1), exchange],
                vec![load(0, 0)],
            ],
            2,
        ),
        10,
    );
}

/// Two readers, independent of each other, each keep a writer out: no single reversal lets it in.
#[test]
fn readers_that_keep_a_writer_out() {
    let (read, write) = (vec![ReadLock(0)], vec![WriteLock(0)]);
    agree_on_traces(Program::of(vec![read.clone(), write.clone(), read.clone()]), 2);
    agree_on_traces(
        Program::of(vec![read.clone(), read.clone(), write.clone(), read.clone()]),
        2,
    );
    // One more reader gives its lock up and must do so first.
    let passing = vec![ReadLock(0), Load { variable: 0, into: 0 }, ReadWriteUnlock(0)];
    agree_on_traces(Program::of(vec![passing.clone(), read.clone(), write.clone()]), 3);
    agree_on_traces(Program::of(vec![passing, read.clone(), read, write]), 3);
}

/// The program with its threads in every order, for what an exploration meets first depends on that.
fn orders(bodies: &[Vec<Instruction>]) -> Vec<Vec<Vec<Instruction>>> {
    if bodies.is_empty() {
        return vec![Vec::new()];
    }
    let mut orders = Vec::new();
    for i in 0..bodies.len() {
        let mut rest = bodies.to_vec();
        let first = rest.remove(i);
        orders.extend(
            self::orders(&rest)
                .into_iter()
                .map(|rest| [vec![first.clone()], rest].concat()),
        );
    }
    orders
}

/// Says whether Algorithm 1 as published goes wrong on the program.
fn wrong_as_published(program: &Program, contexts: &'static [Context]) -> bool {
    let settings = Settings {
        fault: Some(Fault::SkipCutRaces),
        contexts,
        ..Settings::new(5000)
    };
    compare(program, &settings).is_err()
}

/// `A: y = 1; x = 5 | P: x = 5; r = y`. Both orders of the `x = 5` lead to one state. Where nothing that is to come
/// would wake the second one, the load is not explored any more in the second order; but only there it races with
/// `y = 1`.
#[test]
fn a_cut_that_is_anticipated_hides_a_race() {
    let bodies = [vec![store(1, 1), store(0, 5)], vec![store(0, 5), load(1, 0)]];
    for bodies in orders(&bodies) {
        let agreement = agree(Program::of(bodies));
        assert_eq!(agreement.terminals, 2, "the load may see the store, or not");
    }
    let program = Program::of(bodies.to_vec());
    assert!(!wrong_as_published(&program, &[Context::CDPOR1]));
    assert!(wrong_as_published(&program, &[Context::CDPOR2]));
}

/// `A: y = 1; e | P: e | L: wait for the signal; r = y`, where the first e to come signals. `e.L.L.e` leads to one
/// state whoever comes first, so the reversal of A's before P's sleeps, up to the load. But only in the reversal the
/// load races with `y = 1`: A's e, which comes after that, is not what L waited for.
#[track_caller]
fn the_first_one_signals(signal: &[Instruction], wait: Instruction) {
    let bodies = [
        [&[store(1, 1)], signal].concat(),
        signal.to_vec(),
        vec![wait, load(1, 0)],
    ];
    for bodies in orders(&bodies) {
        let mut program = Program::of(bodies);
        program.semaphores.fill(0);
        let agreement = agree(program);
        assert_eq!(agreement.terminals, 2, "the load may see the store, or not");
    }
}

const FORGET: Instruction = Compute {
    into: 3,
    factor: 0,
    value: Operand::Constant(0),
};

#[test]
fn the_first_exchange_signals() {
    let exchange = CompareExchange {
        variable: 0,
        expected: Operand::Constant(0),
        new: Operand::Constant(5),
        into: 3,
        weak: false,
    };
    let wait = SpinUntil { variable: 0, value: 5 };
    the_first_one_signals(&[exchange, FORGET], wait);
    let program = Program::of(vec![
        vec![store(1, 1), exchange, FORGET],
        vec![wait, load(1, 0)],
        vec![exchange, FORGET],
    ]);
    assert!(wrong_as_published(&program, &[Context::CDPOR1]));
}

#[test]
fn the_first_section_signals() {
    let unless_signalled = SkipUnless {
        register: 3,
        test: Test::Equal(0),
        count: 1,
    };
    let section = [Atomic(5), load(0, 3), unless_signalled, Release(0), store(0, 5), FORGET];
    the_first_one_signals(&section, Acquire(0));
}

/// What a section touches is fixed, or independence would come and go with a third step: here that of the section and
/// the acquisition, with the store.
#[test]
fn a_section_that_skips_a_release() {
    let unless_stored = SkipUnless {
        register: 3,
        test: Test::Equal(0),
        count: 1,
    };
    let section = [Atomic(3), load(0, 3), unless_stored, Release(0)];
    let bodies = [
        vec![store(1, 1), store(0, 1)],
        vec![Acquire(0)],
        [&[load(1, 1)], &section[..]].concat(),
    ];
    for bodies in orders(&bodies) {
        agree(Program::of(bodies));
    }
}

/// Which message a receiver takes depends on the other one, and so does which sender it waits for.
#[test]
fn two_senders_and_two_receivers() {
    let try_receive = TryReceive { channel: 0, into: 3 };
    let bodies = [
        vec![send(0)],
        vec![send(0), try_receive],
        vec![Receive { channel: 0, into: 2 }],
    ];
    for bodies in orders(&bodies) {
        for capacity in [Some(2), None] {
            let mut program = Program::of(bodies.clone());
            program.channels = vec![capacity];
            agree(program);
        }
    }
    let receive = Receive { channel: 0, into: 2 };
    let spawned = vec![vec![Spawn(2), receive], vec![send(0), try_receive], vec![send(0)]];
    agree(Program::new(spawned, 2));
}

/// A loop that waits for the flag, besides a load of it.
#[test]
fn swaps_and_a_loop() {
    let swap = Swap {
        variable: 0,
        value: Operand::Constant(1),
        into: 3,
    };
    let add = FetchAdd {
        variable: 0,
        value: Operand::Constant(1),
        into: None,
    };
    let unless_set = SkipUnless {
        register: 0,
        test: Test::Equal(1),
        count: 1,
    };
    let bodies = [
        vec![swap, FORGET],
        vec![SpinUntil { variable: 2, value: 1 }],
        vec![swap, FORGET, load(2, 0), unless_set, add],
        vec![store(2, 1)],
    ];
    for bodies in orders(&bodies) {
        agree(Program::of(bodies));
    }
}

/// Where one alternative of a thread is asleep, the others are not.
#[test]
fn a_weak_exchange_and_an_increment() {
    let exchange = CompareExchange {
        variable: 0,
        expected: Operand::Constant(1),
        new: Operand::Constant(1),
        into: 0,
        weak: true,
    };
    let increment = FetchAdd {
        variable: 0,
        value: Operand::Constant(1),
        into: Some(1),
    };
    for bodies in orders(&[vec![exchange], vec![increment]]) {
        agree(Program::of(bodies));
    }
}

/// The alternatives of a weak exchange, guided by stored states.
#[test]
fn a_weak_exchange_and_a_spawned_thread() {
    let exchange = CompareExchange {
        variable: 1,
        expected: Operand::Constant(0),
        new: Operand::Constant(3),
        into: 1,
        weak: true,
    };
    let add = FetchAdd {
        variable: 0,
        value: Operand::Constant(3),
        into: Some(1),
    };
    let unless_added = SkipUnless {
        register: 2,
        test: Test::NotEqual(0),
        count: 1,
    };
    let first = vec![Spawn(2), exchange, load(0, 3), load(0, 2), unless_added, load(1, 0)];
    agree(Program::new(vec![first, vec![store(1, 2)], vec![store(1, 0), add]], 2));
}

/// The future load of `x1` comes after the child's store only if the thread has joined the child, and in the first
/// execution it has: that does not hold for the others. Where the load of `x2` comes first, the reversal of the two
/// `x0 = 5` is cut with the store before it, with which the load is in a race there.
#[test]
fn a_child_that_is_joined_only_now_and_then() {
    let unless_set = SkipUnless {
        register: 0,
        test: Test::Equal(1),
        count: 1,
    };
    let thread = vec![
        Spawn(2),
        load(2, 0),
        unless_set,
        Join(0),
        store(0, 5),
        load(2, 0),
        load(1, 1),
    ];
    let child = [store(1, 1), store(0, 5)];
    for child in [
        [&[load(0, 3)], &child[..]].concat(),
        [&child[..], &[store(2, 1)]].concat(),
    ] {
        agree(Program::new(vec![vec![store(2, 1)], thread.clone(), child], 2));
    }
}

/// Where a cut hides a race, it is not enough to let the thread that makes the later step go first: what lets it run,
/// here the release, is another thread's.
#[test]
fn a_release_before_the_last_acquisition() {
    let add = FetchAdd {
        variable: 1,
        value: Operand::Constant(1),
        into: None,
    };
    let bodies = [
        vec![Release(0), load(1, 0), Acquire(0)],
        vec![Acquire(0)],
        vec![Acquire(0), add],
    ];
    for bodies in orders(&bodies) {
        agree(Program::of(bodies));
    }
}

/// The message must be sent first, by a third thread, if the increment that follows its receipt is to come before the
/// load.
#[test]
fn a_message_before_an_increment() {
    let add = |value, into| FetchAdd {
        variable: 1,
        value,
        into,
    };
    let receiver = [
        add(Operand::Register(0), Some(0)),
        Receive { channel: 0, into: 2 },
        add(Operand::Constant(1), None),
    ];
    let bodies = [vec![load(1, 0)], receiver.to_vec(), vec![send(3)]];
    for bodies in orders(&bodies) {
        agree(Program::of(bodies));
    }
    let section = [Atomic(2), add(Operand::Register(0), Some(0)), load(0, 1)];
    let receiver = [&section[..], &receiver[1..]].concat();
    for bodies in orders(&[vec![load(1, 0)], receiver, vec![send(3)]]) {
        let mut program = Program::of(bodies);
        program.channels = vec![Some(3)];
        agree(program);
    }
}

/// A thread that may come first if only the one that creates it moves first.
#[test]
fn a_thread_that_is_created_after_a_lock() {
    let locked = [Lock(0), Unlock(0)];
    let creator = [&locked[..], &[store(0, 0), Spawn(2)]].concat();
    let bodies = [locked.to_vec(), creator];
    for bodies in orders(&bodies) {
        agree(Program::new([&bodies[..], &[vec![Lock(0)]]].concat(), 2));
    }
}

/// A thread that may come first if only the one that creates it moves first, which waits for a third one's end.
#[test]
fn a_thread_that_is_created_after_a_join() {
    let exchange = Swap {
        variable: 0,
        value: Operand::Constant(0),
        into: 0,
    };
    let add = FetchAdd {
        variable: 0,
        value: Operand::Register(0),
        into: Some(0),
    };
    let bodies = [vec![Spawn(3), Join(0), Spawn(2)], vec![Atomic(2), Acquire(0), add]];
    for last in [store(0, 5), Acquire(0)] {
        for bodies in orders(&bodies) {
            let created = [vec![last], vec![exchange, load(1, 1)]];
            let mut program = Program::new([&bodies[..], &created].concat(), 2);
            program.semaphores = vec![1];
            agree(program);
        }
    }
}

/// `trans` explores one reversal of a race at a time. Whoever is blocked in the last subtree can come before what runs
/// meanwhile, or after it, and both are to be explored.
#[test]
fn blocked_while_another_thread_stores() {
    let add = FetchAdd {
        variable: 0,
        value: Operand::Constant(1),
        into: None,
    };
    let bodies = [
        vec![Acquire(0)],
        vec![Atomic(2), Acquire(0), add],
        vec![Acquire(0), add],
        vec![store(0, 1)],
    ];
    for bodies in orders(&bodies) {
        agree(Program::of(bodies));
    }
}

/// Whoever is blocked at last can come first, or after another step of its thread, or after what another one does
/// meanwhile that it conflicts with: without sleep sets, what has been explored tells nothing of the others.
#[test]
fn blocked_after_another_step() {
    let add = |variable, value| FetchAdd {
        variable,
        value: Operand::Constant(value),
        into: None,
    };
    let section = |semaphore, instruction| [Atomic(2), Acquire(semaphore), instruction];
    let after = |step, section: [Instruction; 3]| [&[step], &section[..]].concat();
    let programs = [
        [
            vec![store(0, 2)],
            after(load(0, 1), section(0, store(1, 1))),
            vec![Acquire(0), store(0, 1)],
            vec![load(1, 1)],
        ],
        [
            vec![load(2, 1)],
            vec![Acquire(0), add(1, 1)],
            after(store(1, 2), section(0, store(2, 2))),
            vec![load(1, 1)],
        ],
        [
            section(1, store(0, 1)).to_vec(),
            after(store(5, 1), section(0, store(0, 2))),
            vec![Acquire(0), Acquire(1)],
            vec![add(0, 2)],
        ],
    ];
    for bodies in programs.iter().flat_map(|bodies| orders(bodies)) {
        agree(Program::of(bodies));
    }
}

/// While the mutex is held, a wait with a timeout is blocked, and depends on who waits; notified, it does not any more.
#[test]
fn blocked_before_it_is_notified() {
    let wait = |mutex| Wait {
        condvar: 0,
        mutex,
        timeout: Some(2),
    };
    let waits = |mutex| vec![Lock(mutex), wait(mutex)];
    let notifies = vec![Lock(0), NotifyAll(0), Unlock(0)];
    agree(Program::new(
        vec![[vec![Spawn(2)], waits(0)].concat(), notifies.clone(), waits(1)],
        2,
    ));
    for bodies in orders(&[waits(0), notifies, waits(1)]) {
        agree(Program::of(bodies));
    }
}

/// Two threads, independent of each other, each take a permit without which the third one is blocked: no single
/// reversal lets it in.
#[test]
fn two_semaphores_at_once() {
    let both = vec![AcquireBoth(0, 1)];
    let programs = [
        vec![vec![Acquire(0)], vec![Acquire(1)], both.clone()],
        vec![
            vec![store(0, 1), Acquire(0)],
            vec![store(0, 2), Acquire(1)],
            both.clone(),
        ],
        vec![vec![Acquire(0), Release(0)], vec![Acquire(1)], both.clone()],
        vec![vec![Acquire(0)], vec![Acquire(1)], both.clone(), vec![Acquire(0)]],
        vec![
            vec![Acquire(0)],
            vec![Acquire(1)],
            both.clone(),
            vec![Release(0), Release(1)],
        ],
        vec![
            vec![Acquire(0)],
            vec![Acquire(1)],
            vec![store(0, 1), AcquireBoth(0, 1), Release(1)],
            vec![load(0, 1)],
        ],
    ];
    for bodies in programs.iter().flat_map(|bodies| orders(bodies)) {
        agree(Program::of(bodies));
    }
}

/// Each of the holders of permits disables the last thread alone. What is left out of the reversal of a race with it is
/// part of what must be explored, which wakeup trees do not know.
#[test]
fn several_holders_of_what_one_thread_takes_at_once() {
    let mut program = Program::new(
        vec![
            vec![Acquire(1)],
            vec![Acquire(1)],
            vec![Acquire(0)],
            vec![AcquireBoth(0, 1)],
        ],
        4,
    );
    program.semaphores = vec![1, 2];
    let agreement = agree(program);
    assert_eq!((agreement.traces, agreement.optimal.fallbacks), (6, 1));
}

/// `x.compare_exchange_weak(0, new)`.
fn weak_exchange(variable: usize, new: Operand, into: u8) -> Instruction {
    CompareExchange {
        variable,
        expected: Operand::Constant(0),
        new,
        into,
        weak: true,
    }
}

/// The weak exchange of `x0` that fails for no reason is independent of what the others do, but the one that succeeds,
/// which comes after that, is not: that one alternative was explored first does not make up for the reversal.
#[test]
fn another_alternative_than_the_one_that_sleeps() {
    let added = FetchAdd {
        variable: 1,
        value: Operand::Register(0),
        into: None,
    };
    let bodies = [
        vec![weak_exchange(0, Operand::Constant(1), 1)],
        vec![Atomic(2), load(0, 0), added],
        vec![load(0, 0), weak_exchange(1, Operand::Register(0), 0)],
    ];
    for bodies in orders(&bodies) {
        agree_on_traces(Program::of(bodies), 18);
    }
    let bodies = [
        vec![weak_exchange(0, Operand::Constant(1), 1)],
        vec![Lock(0)],
        vec![weak_exchange(0, Operand::Register(1), 0), Lock(0), load(0, 1)],
    ];
    for bodies in orders(&bodies) {
        agree(Program::of(bodies));
    }
}

/// Where the exchange of `x1` is to come before the load of it, all its alternatives are: a reversal that begins with
/// one is not covered by a sequence that is followed with another.
#[test]
fn a_reversal_that_begins_with_another_alternative() {
    let add = FetchAdd {
        variable: 0,
        value: Operand::Constant(1),
        into: None,
    };
    let exchange = CompareExchange {
        variable: 0,
        expected: Operand::Register(0),
        new: Operand::Register(0),
        into: 1,
        weak: false,
    };
    let bodies = [
        vec![load(1, 1)],
        vec![weak_exchange(1, Operand::Constant(2), 1), add],
        vec![exchange, store(1, 2)],
    ];
    for bodies in orders(&bodies) {
        agree_on_traces(Program::of(bodies), 14);
    }
}
