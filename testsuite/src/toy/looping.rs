//! Generates toy programs with loops.

use super::generate::{Gene, store};
use super::program::{Instruction, Operand, Program, Test};
use proptest::collection::vec;
use proptest::prelude::*;

/// Programs of two or three threads with loops: threads wait for values, try locks again and again, go to and fro
/// between values. They can come to a state again, and some never end.
pub fn programs() -> impl Strategy<Value = Program> {
    let gene = (any::<u8>(), any::<u8>(), any::<u8>(), any::<u8>());
    (vec(vec(gene, 1..=3), 2..=3), prop::bool::weighted(0.2)).prop_map(|(threads, failures_stop)| {
        let body = |genes: &Vec<Gene>| {
            let mut code = Vec::new();
            genes.iter().for_each(|&gene| piece(gene, &mut code));
            code
        };
        let bodies: Vec<_> = threads.iter().map(body).collect();
        let mut program = Program::new(bodies, threads.len());
        program.failures_stop = failures_stop;
        program
    })
}

fn piece((kind, a, b, c): Gene, code: &mut Vec<Instruction>) {
    use Instruction::*;
    let (variable, value, register) = (usize::from(a % 2), i64::from(b % 3), c % 2);
    let loops = |count, test| Repeat { register, test, count };
    let load = Load {
        variable,
        into: register,
    };
    match kind % 9 {
        0 => code.push(store(variable, value)),
        1 => code.push(load),
        2 => code.extend([load, loops(1, Test::NotEqual(value))]),
        3 => code.extend([load, store(1 - variable, value), loops(2, Test::Equal(value))]),
        4 => code.extend([
            Swap {
                variable,
                value: Operand::Constant(value),
                into: register,
            },
            loops(1, Test::NotEqual(0)),
        ]),
        5 => code.extend([
            TryLock {
                mutex: 0,
                into: register,
            },
            loops(1, Test::Equal(0)),
            store(variable, value),
            Unlock(0),
        ]),
        6 => code.extend([Lock(usize::from(b % 2)), load, Unlock(usize::from(b % 2))]),
        7 => code.extend([
            CompareExchange {
                variable,
                expected: Operand::Constant(value),
                new: Operand::Constant(i64::from(c % 3)),
                into: register,
                weak: b % 5 == 0,
            },
            loops(1, Test::NotEqual(value)),
        ]),
        _ => code.extend([
            load,
            Assert {
                register,
                test: Test::NotEqual(value),
            },
        ]),
    }
}
