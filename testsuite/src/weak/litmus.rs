//! Known small programs: what RC11 and sequential consistency make of them.
//!
//! Most are GenMC's (`tests/correct/litmus`), with its numbers of graphs, but for Z6.U and WWmerge1, where GenMC's psc
//! is stronger than the paper's. porf-psc shows that SC fences need not take effect in the order of an execution.
//! LWG3941 is what x86 does by forwarding a store, and C++20 forbids. The others are from issues of Miri.

use super::graph::Outcome;
use super::program::{Instruction, Program};
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

/// A small program, and what is known of it.
#[derive(Clone, Debug)]
pub struct Litmus {
    /// Its name in the literature.
    pub name: &'static str,
    /// The program.
    pub program: Program,
    /// Number of its execution graphs in RC11.
    pub graphs: usize,
    /// Number of those that are sequentially consistent.
    pub sequential: usize,
    /// What sequential consistency forbids: assignments that an outcome may show, as outcomes are printed. Empty if
    /// there is nothing, or nothing is said.
    pub weak: &'static str,
    /// Whether RC11 allows it.
    pub allowed: bool,
}

impl Litmus {
    /// Whether the outcome is a weak one.
    pub fn is_weak(&self, outcome: &Outcome) -> bool {
        let text = outcome.to_string();
        let mut assignments = self.weak.split(' ');
        !self.weak.is_empty() && assignments.all(|assignment| text.split(' ').any(|word| word == assignment))
    }
}

/// Programs, as they are written down.
#[derive(Default)]
pub(super) struct List(pub(super) Vec<Litmus>);

impl List {
    /// Adds a program: its name, its threads, and the numbers and the outcome as [`Litmus`] has them.
    pub(super) fn add(
        &mut self,
        name: &'static str,
        threads: Vec<Vec<Instruction>>,
        graphs: usize,
        sequential: usize,
        weak: &'static str,
        allowed: bool,
    ) {
        self.0.push(Litmus {
            name,
            program: Program::new(threads),
            graphs,
            sequential,
            weak,
            allowed,
        });
    }
}

pub(super) const X: usize = 0;
pub(super) const Y: usize = 1;
pub(super) const Z: usize = 2;
pub(super) const W: usize = 3;

/// A load into a register.
pub fn load(register: usize, location: usize, ordering: Ordering) -> Instruction {
    Instruction::Load {
        register,
        location,
        ordering,
    }
}

/// A store of a value.
pub fn store(location: usize, value: u32, ordering: Ordering) -> Instruction {
    Instruction::Store {
        location,
        value,
        ordering,
    }
}

pub(super) fn add(register: usize, location: usize, operand: u32, ordering: Ordering) -> Instruction {
    Instruction::Add {
        register,
        location,
        operand,
        ordering,
    }
}

pub(super) fn swap(register: usize, location: usize, value: u32, ordering: Ordering) -> Instruction {
    Instruction::Swap {
        register,
        location,
        value,
        ordering,
    }
}

/// Instructions that run if the register has the value.
pub fn if_equal(register: usize, equals: u32, then: Vec<Instruction>) -> Instruction {
    Instruction::If { register, equals, then }
}

pub(super) fn exchange(register: usize, location: usize, expected: u32, new: u32) -> Instruction {
    Instruction::CompareExchange {
        register,
        location,
        expected,
        new,
        success: Relaxed,
        failure: Relaxed,
    }
}

pub(super) fn fence(ordering: Ordering) -> Instruction {
    Instruction::Fence(ordering)
}

/// Store buffering: `x = 1; fence; y ∥ y = 1; fence; x`, with the orderings of the stores, fences and loads.
fn store_buffering(one: [Option<Ordering>; 3], other: [Option<Ordering>; 3]) -> Vec<Vec<Instruction>> {
    let thread = |[write, between, read]: [Option<Ordering>; 3], mine, others| {
        let write = write.map(|ordering| store(mine, 1, ordering));
        let read = read.map(|ordering| load(0, others, ordering));
        write.into_iter().chain(between.map(fence)).chain(read).collect()
    };
    vec![thread(one, X, Y), thread(other, Y, X)]
}

/// Message passing: `x = 1; y = 1 ∥ y; x`.
fn message_passing(
    between: Option<Ordering>,
    write: Ordering,
    read: Ordering,
    after: Option<Ordering>,
) -> Vec<Vec<Instruction>> {
    let sender = [store(X, 1, Relaxed)].into_iter().chain(between.map(fence));
    let receiver = [load(0, Y, read)].into_iter().chain(after.map(fence));
    vec![
        sender.chain([store(Y, 1, write)]).collect(),
        receiver.chain([load(1, X, Relaxed)]).collect(),
    ]
}

/// Independent reads of independent writes: `x = 1 ∥ x; y ∥ y; x ∥ y = 1`.
pub(super) fn independent(
    write: Ordering,
    first: Ordering,
    between: Option<Ordering>,
    second: Ordering,
) -> Vec<Vec<Instruction>> {
    let reader = |one, other| {
        let start = [load(0, one, first)].into_iter().chain(between.map(fence));
        start.chain([load(1, other, second)]).collect()
    };
    vec![
        vec![store(X, 1, write)],
        reader(X, Y),
        reader(Y, X),
        vec![store(Y, 1, write)],
    ]
}

/// `x = 1; y = 2 ∥ y = 1; x = 2`.
fn writes(orderings: [Ordering; 4], between: Option<Ordering>) -> Vec<Vec<Instruction>> {
    let [a, b, c, d] = orderings;
    let thread = |first, second| {
        [Some(first), between.map(fence), Some(second)]
            .into_iter()
            .flatten()
            .collect()
    };
    vec![
        thread(store(X, 1, a), store(Y, 2, b)),
        thread(store(Y, 1, c), store(X, 2, d)),
    ]
}

/// `x = 1; y = 1 rel ∥ y; z = 1 rel ∥ z acq; x`, with the ordering of the load of `y`.
fn isa2(link: Ordering) -> Vec<Vec<Instruction>> {
    vec![
        vec![store(X, 1, Relaxed), store(Y, 1, Release)],
        vec![load(0, Y, link), store(Z, 1, Release)],
        vec![load(0, Z, Acquire), load(1, X, Relaxed)],
    ]
}

/// All of them.
pub fn all() -> Vec<Litmus> {
    let (rlx, acq, rel, sc) = (Some(Relaxed), Some(Acquire), Some(Release), Some(SeqCst));
    let both = |orderings| store_buffering(orderings, orderings);
    let mut all = List::default();

    let weak = "r00=0 r10=0";
    all.add("SB", both([rlx, None, rlx]), 4, 3, weak, true);
    all.add("SB+rel+acq", both([rel, None, acq]), 4, 3, weak, true);
    all.add("SB+scfs", both([rlx, sc, rlx]), 3, 3, weak, false);
    all.add("SB+4sc", both([sc, None, sc]), 3, 3, weak, false);
    all.add(
        "SB+3sc+acq",
        store_buffering([sc, None, acq], [sc, None, sc]),
        4,
        3,
        weak,
        true,
    );
    all.add(
        "SB+2sc+scf",
        store_buffering([sc, None, sc], [rlx, sc, rlx]),
        3,
        3,
        weak,
        false,
    );

    let weak = "r10=1 r11=0";
    all.add("MP", message_passing(None, Relaxed, Relaxed, None), 4, 3, weak, true);
    all.add(
        "MP+rel+acq",
        message_passing(None, Release, Acquire, None),
        3,
        3,
        weak,
        false,
    );
    all.add(
        "MP+relf+acqf",
        message_passing(rel, Relaxed, Relaxed, acq),
        3,
        3,
        weak,
        false,
    );

    all.add(
        "LB",
        vec![
            vec![load(0, X, Relaxed), store(Y, 1, Relaxed)],
            vec![load(0, Y, Relaxed), store(X, 1, Relaxed)],
        ],
        3,
        3,
        "r00=1 r10=1",
        false,
    );

    let weak = "r10=1 r11=0 r20=1 r21=0";
    all.add("IRIW", independent(Relaxed, Relaxed, None, Relaxed), 16, 15, weak, true);
    all.add(
        "IRIW+sc",
        independent(SeqCst, SeqCst, None, SeqCst),
        15,
        15,
        weak,
        false,
    );
    all.add(
        "IRIW+scfs",
        independent(Relaxed, Relaxed, sc, Relaxed),
        15,
        15,
        weak,
        false,
    );
    all.add(
        "IRIW-acq-sc",
        independent(SeqCst, Acquire, None, SeqCst),
        16,
        15,
        weak,
        true,
    );

    let weak = "x=1 y=1";
    all.add("2+2W", writes([Release; 4], None), 4, 3, weak, true);
    all.add("2+2W+4sc", writes([SeqCst; 4], None), 3, 3, weak, false);
    all.add("2+2W+scfs", writes([Relaxed; 4], sc), 3, 3, weak, false);
    all.add(
        "2+2W+3sc+rel",
        writes([SeqCst, SeqCst, SeqCst, Release], None),
        4,
        3,
        weak,
        true,
    );

    all.add(
        "CoRR",
        vec![
            vec![store(X, 1, Relaxed)],
            vec![load(0, X, Relaxed), load(1, X, Relaxed)],
        ],
        3,
        3,
        "r10=1 r11=0",
        false,
    );
    all.add(
        "CoWR",
        vec![
            vec![store(X, 1, Relaxed), load(0, X, Relaxed)],
            vec![store(X, 2, Relaxed)],
        ],
        3,
        3,
        "r00=2 x=1",
        false,
    );

    let weak = "r10=1 r20=1 r21=0";
    all.add("ISA2", isa2(Acquire), 7, 7, weak, false);
    all.add("ISA2+rlx", isa2(Relaxed), 8, 7, weak, true);

    all.add(
        "Z6.U",
        vec![
            vec![store(X, 1, SeqCst), store(Y, 1, Release)],
            vec![add(0, Y, 1, SeqCst), load(1, Y, Relaxed)],
            vec![store(Y, 3, SeqCst), load(0, X, SeqCst)],
        ],
        24,
        18,
        "r10=1 r11=3 r20=0",
        true,
    );
    all.add(
        "W+RWC",
        vec![
            vec![store(X, 1, Relaxed), store(Z, 1, Release)],
            vec![load(0, Z, Acquire), fence(SeqCst), load(1, Y, Relaxed)],
            vec![store(Y, 1, Relaxed), fence(SeqCst), load(0, X, Relaxed)],
        ],
        7,
        7,
        "r10=1 r11=0 r20=0",
        false,
    );
    all.add(
        "RWC+syncs",
        vec![
            vec![store(X, 1, Relaxed)],
            vec![load(0, X, Relaxed), fence(SeqCst), load(1, Y, Relaxed)],
            vec![store(Y, 1, Relaxed), fence(SeqCst), load(0, X, Relaxed)],
        ],
        7,
        7,
        "r10=1 r11=0 r20=0",
        false,
    );
    all.add(
        "relseq",
        vec![
            vec![store(X, 1, Relaxed), store(Y, 1, Release), store(Y, 2, Relaxed)],
            vec![swap(0, Y, 3, Relaxed)],
            vec![load(0, Y, Relaxed), fence(AcqRel), load(1, X, Relaxed)],
        ],
        20,
        16,
        "r10=2 r20=3 r21=0",
        true,
    );
    all.add(
        "WWmerge1",
        vec![
            vec![load(0, X, Acquire), load(1, Y, SeqCst)],
            vec![store(X, 1, SeqCst), store(X, 2, SeqCst)],
            vec![store(Y, 1, SeqCst), load(0, X, SeqCst)],
        ],
        18,
        15,
        "r00=2 r01=0 r20=0",
        true,
    );
    all.add(
        "WWmerge2",
        vec![
            vec![load(0, X, Acquire), load(1, Y, SeqCst)],
            vec![store(X, 2, SeqCst)],
            vec![store(Y, 1, SeqCst), load(0, X, SeqCst)],
        ],
        8,
        7,
        "r00=2 r01=0 r20=0",
        true,
    );
    all.add(
        "porf-psc",
        vec![
            vec![load(0, W, Relaxed), fence(SeqCst), load(1, X, Relaxed)],
            vec![store(X, 1, Relaxed), fence(SeqCst), store(Z, 1, Relaxed)],
            vec![load(0, Z, Relaxed), store(W, 1, Relaxed)],
        ],
        8,
        7,
        "r00=1 r01=0 r20=1",
        true,
    );
    all.add(
        "LWG3941",
        vec![
            vec![store(Y, 1, SeqCst), store(X, 1, SeqCst)],
            vec![store(X, 2, Relaxed), load(0, X, SeqCst), load(1, Y, SeqCst)],
        ],
        5,
        4,
        "r10=2 r11=0 x=2",
        true,
    );
    all.add(
        "miri#5104",
        vec![
            vec![store(X, 1, Release)],
            vec![load(0, X, Relaxed), store(X, 2, SeqCst), load(1, Y, SeqCst)],
            vec![store(Y, 1, SeqCst), load(0, X, SeqCst)],
        ],
        13,
        13,
        "r10=1 r11=0 r20=1",
        false,
    );
    all.add(
        "miri#4057, first",
        vec![
            vec![store(X, 1, SeqCst), load(0, Y, SeqCst)],
            vec![store(Y, 1, Relaxed), store(Z, 1, Release)],
            vec![load(0, Z, Acquire), fence(SeqCst), load(1, X, Relaxed)],
        ],
        7,
        7,
        "r00=0 r20=1 r21=0",
        false,
    );
    all.add(
        "miri#4057, second",
        vec![
            vec![store(X, 1, SeqCst), load(0, Y, SeqCst)],
            vec![store(Y, 1, Relaxed), fence(SeqCst), load(0, Z, Relaxed)],
            vec![store(Z, 1, Relaxed)],
            vec![load(0, Z, Relaxed), fence(SeqCst), load(1, X, Relaxed)],
        ],
        15,
        15,
        "r00=0 r10=0 r30=1 r31=0",
        false,
    );
    all.add(
        "SB of failing exchanges",
        vec![
            vec![store(X, 1, Relaxed), exchange(0, Y, 5, 2)],
            vec![store(Y, 1, Relaxed), exchange(0, X, 5, 2)],
        ],
        4,
        3,
        "r00=0 r10=0",
        true,
    );
    all.add(
        "acquire fence of another's read",
        vec![
            vec![store(W, 1, Relaxed), store(X, 1, Release)],
            vec![load(0, X, Relaxed), if_equal(0, 1, vec![store(Y, 1, Release)])],
            vec![load(0, Y, Acquire), fence(Acquire), load(1, W, Relaxed)],
        ],
        6,
        5,
        "r20=1 r21=0",
        true,
    );
    all.add(
        "2+2W with a modification",
        vec![
            vec![add(0, X, 1, Relaxed), store(Y, 2, Relaxed)],
            vec![store(Y, 1, Relaxed), store(X, 5, Relaxed)],
        ],
        4,
        3,
        "r00=5 y=1",
        true,
    );
    all.0
}
