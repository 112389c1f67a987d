//! Small programs that the oracle found and that were once explored wrongly.

use dpor_testsuite::oracle::{Comparison, compare};
use dpor_testsuite::toy::Instruction::*;
use dpor_testsuite::toy::{Instruction, Operand, Program};

/// All strategies agree on the program, which has so many traces.
#[track_caller]
fn agree(program: Program, expected: u64) {
    match compare(&program, 5000, None, true) {
        Ok(Comparison::Agreed { traces, source, .. }) => {
            assert_eq!((traces, source), (expected, expected), "{program}")
        }
        Ok(Comparison::Skipped) => panic!("too large:\n{program}"),
        Err(mismatch) => panic!("{mismatch}\n{program}"),
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
    agree(
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
    let load = |variable, into| Load { variable, into };
    let store = |variable, n| Store {
        variable,
        value: Operand::Constant(n),
    };
    let (expected, new) = (Operand::Constant(1), Operand::Register(1));
    let exchange = CompareExchange {
        variable: 0,
        expected,
        new,
        into: 1,
        weak: true,
    };
    agree(
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
    agree(Program::of(vec![read.clone(), write.clone(), read.clone()]), 2);
    agree(
        Program::of(vec![read.clone(), read.clone(), write.clone(), read.clone()]),
        2,
    );
    // One more reader gives its lock up and must do so first.
    let passing = vec![ReadLock(0), Load { variable: 0, into: 0 }, ReadWriteUnlock(0)];
    agree(Program::of(vec![passing.clone(), read.clone(), write.clone()]), 3);
    agree(Program::of(vec![passing, read.clone(), read, write]), 3);
}
