//! Programs of any size, to compare what checkers take for them.

use super::litmus::{load, store};
use super::program::{Instruction, Program};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// A program for each number of threads.
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// The threads, and what they do.
    pub threads: fn(u32) -> Vec<Vec<Instruction>>,
    /// Numbers of threads to compare.
    pub sizes: [u32; 3],
}

impl Family {
    /// The program of this size.
    pub fn program(&self, size: u32) -> Program {
        Program::new((self.threads)(size))
    }
}

/// All of them.
pub const ALL: [Family; 5] = [
    Family {
        name: "each stores, and loads what the next one stores",
        threads: |size| {
            let next = |thread| (thread + 1) % size as usize;
            (0..size as usize)
                .map(|thread| vec![store(thread, 1, Relaxed), load(0, next(thread), Relaxed)])
                .collect()
        },
        sizes: [5, 7, 9],
    },
    Family {
        name: "each adds to one atomic",
        threads: |size| {
            let add = Instruction::Add {
                register: 0,
                location: 0,
                operand: 1,
                ordering: AcqRel,
            };
            vec![vec![add]; size as usize]
        },
        sizes: [5, 6, 7],
    },
    Family {
        name: "each stores to one atomic",
        threads: |size| (1..=size).map(|value| vec![store(0, value, Release)]).collect(),
        sizes: [5, 6, 7],
    },
    Family {
        name: "one stores two values, the others load",
        threads: |size| {
            let writer = vec![store(0, 1, Release), store(0, 2, Release)];
            let readers = (1..size).map(|_| vec![load(0, 0, Acquire)]);
            std::iter::once(writer).chain(readers).collect()
        },
        sizes: [5, 7, 9],
    },
    Family {
        name: "each exchanges its number for the next one",
        threads: |size| {
            let exchange = |thread| Instruction::CompareExchange {
                register: 0,
                location: 0,
                expected: thread,
                new: thread + 1,
                success: AcqRel,
                failure: Acquire,
            };
            (0..size).map(|thread| vec![exchange(thread)]).collect()
        },
        sizes: [5, 6, 7],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::weak::graphs;

    #[test]
    fn small_ones_have_as_many_graphs_as_they_should() {
        let numbers = ALL.map(|family| graphs(&family.program(3)));
        // Each load finds one of two values; three factorial twice; each of two loads one of three values. Of the
        // exchanges, the first one succeeds; if the second one does not, the third one finds one of two values, and
        // else of three.
        assert_eq!(numbers, [8, 6, 6, 9, 5]);
    }
}
