//! The small programs with which Miri is tested, as of its commit 990706977: those of `tests/genmc/pass/litmus`, which
//! are GenMC's, with the number of executions that GenMC has for each there, and those of `tests/pass/0weak_memory`.
//! Left out are those that [`litmus`](super::litmus) has. A loop that waits is a load here, and what follows is in an
//! `If` or not: the graphs in which the load finds something else are more, and the outcome in question is the same.

use super::litmus::{List, Litmus, W, X, Y, Z, add, exchange, fence, if_equal, independent, load, store, swap};
use super::program::Instruction;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

/// `y = value` for each of these values of the register.
fn pass_on(register: usize, location: usize, values: &[u32], ordering: Ordering) -> Vec<Instruction> {
    let store = |&value: &u32| if_equal(register, value, vec![store(location, value, ordering)]);
    values.iter().map(store).collect()
}

/// `x = 1; y = 0 rel; y = 1`.
fn released() -> Vec<Instruction> {
    vec![store(X, 1, Relaxed), store(Y, 0, Release), store(Y, 1, Relaxed)]
}

/// A store with release of each of these values, by a thread of its own.
fn writers(values: &[u32]) -> Vec<Vec<Instruction>> {
    values.iter().map(|&value| vec![store(X, value, Release)]).collect()
}

/// This number of loads of `x` with acquire.
fn reads(number: usize) -> Vec<Instruction> {
    (0..number).map(|register| load(register, X, Acquire)).collect()
}

/// `tests/genmc/pass/litmus`. Where nothing is said of a weak outcome, the number of graphs is what is compared.
pub fn genmc() -> Vec<Litmus> {
    let mut all = List::default();
    all.add(
        "2cowr",
        vec![
            vec![load(0, Y, Acquire)],
            vec![load(0, X, Acquire)],
            vec![store(X, 1, Release)],
            vec![store(Y, 1, Release)],
        ],
        4,
        4,
        "",
        false,
    );
    all.add(
        "corr",
        vec![vec![store(X, 1, Release), store(X, 2, Release)], reads(2)],
        6,
        6,
        "r10=2 r11=1",
        false,
    );
    all.add(
        "corr0",
        vec![vec![store(X, 1, Release)], reads(1), reads(1)],
        4,
        4,
        "",
        false,
    );
    all.add(
        "corr1",
        [writers(&[1, 2]), vec![reads(2), reads(1)]].concat(),
        36,
        36,
        "r20=1 r21=0",
        false,
    );
    all.add(
        "corr2",
        [writers(&[1, 2]), vec![reads(2), reads(2)]].concat(),
        72,
        72,
        "r20=1 r21=2 r30=2 r31=1",
        false,
    );
    all.add(
        "corw",
        vec![
            vec![load(0, X, Acquire), store(X, 1, Release)],
            vec![store(X, 2, Release)],
        ],
        3,
        3,
        "r00=1",
        false,
    );
    all.add(
        "default",
        [vec![reads(2)], writers(&[1, 2])].concat(),
        12,
        12,
        "r00=1 r01=0",
        false,
    );
    all.add(
        "MP_incMPs",
        vec![
            vec![load(0, Y, Acquire), add(1, Z, 1, AcqRel)],
            vec![add(0, Z, 1, AcqRel), load(1, X, Acquire)],
            vec![store(X, 1, Release), store(Y, 1, Release)],
        ],
        7,
        7,
        "r00=1 r10=1 r11=0",
        false,
    );
    all.add(
        "LB_incMPs",
        vec![
            vec![load(0, X, Acquire), add(1, Z, 1, AcqRel)],
            vec![add(0, Z, 1, AcqRel), store(Y, 1, Release)],
            vec![load(0, Y, Acquire), add(1, W, 1, AcqRel)],
            vec![add(0, W, 1, AcqRel), store(X, 1, Release)],
        ],
        15,
        15,
        "r00=1 r10=1 r20=1 r30=1",
        false,
    );
    all.add(
        "MP_rels_acqf",
        vec![
            released(),
            vec![
                load(0, Y, Relaxed),
                if_equal(0, 1, vec![fence(Acquire), load(1, X, Relaxed)]),
            ],
        ],
        4,
        3,
        "r10=1 r11=0",
        true,
    );
    all.add(
        "MPU_rels_acq",
        vec![
            released(),
            vec![add(0, Y, 1, Relaxed)],
            vec![load(0, Y, Acquire), if_equal(0, 2, vec![store(X, 2, Relaxed)])],
        ],
        13,
        12,
        "r20=2 x=1",
        true,
    );
    all.add(
        "MPU2_rels_acqf",
        vec![
            released(),
            vec![exchange(0, Y, 2, 3)],
            vec![exchange(0, Y, 1, 2)],
            vec![
                load(0, Y, Acquire),
                if_equal(0, 3, vec![fence(Acquire), store(X, 2, Relaxed)]),
            ],
        ],
        36,
        35,
        "r30=3 x=1",
        true,
    );
    all.add(
        "Z6_acq",
        vec![
            vec![store(X, 1, Relaxed), fence(SeqCst), store(Y, 1, Relaxed)],
            vec![load(0, Y, Acquire), store(Z, 1, Relaxed)],
            vec![store(Z, 2, Relaxed), fence(SeqCst), load(0, X, Relaxed)],
        ],
        7,
        7,
        "r10=1 r20=0 z=2",
        false,
    );
    all.add(
        "IRIWish",
        vec![
            vec![store(X, 1, Relaxed)],
            [vec![load(0, X, Relaxed)], pass_on(0, Y, &[0, 1], Release)].concat(),
            vec![load(0, X, Relaxed), fence(AcqRel), load(1, Y, Relaxed)],
            vec![load(0, Y, Relaxed), fence(AcqRel), load(1, X, Relaxed)],
        ],
        28,
        27,
        "",
        false,
    );
    all.add(
        "atomicpo",
        vec![
            vec![store(X, 1, Relaxed), fence(AcqRel), store(Y, 1, Relaxed)],
            vec![swap(0, Y, 1, Relaxed), swap(1, X, 1, Relaxed)],
        ],
        4,
        3,
        "r10=1 r11=0",
        true,
    );
    all.add(
        "casdep",
        vec![
            vec![load(0, X, Relaxed), exchange(1, Y, 0, 1), store(Z, 0, Relaxed)],
            vec![store(Y, 2, Relaxed)],
        ],
        2,
        2,
        "",
        false,
    );
    all.add(
        "ccr",
        vec![
            vec![exchange(0, X, 0, 42)],
            vec![exchange(0, X, 0, 17), load(1, X, Relaxed)],
        ],
        2,
        2,
        "",
        false,
    );
    all.add(
        "cii",
        vec![
            vec![exchange(0, X, 1, 2)],
            vec![add(0, X, 1, Relaxed)],
            vec![add(0, X, 1, Relaxed)],
        ],
        6,
        6,
        "",
        false,
    );
    all.add(
        "cumul-release",
        vec![
            vec![store(X, 1, Relaxed), store(Y, 1, Release)],
            [vec![load(0, Y, Relaxed)], pass_on(0, Z, &[0, 1], Relaxed)].concat(),
            vec![load(0, Z, Relaxed), fence(AcqRel), load(1, X, Relaxed)],
        ],
        8,
        7,
        "r20=1 r21=0",
        true,
    );
    all.add(
        "detour",
        vec![
            vec![store(X, 1, Relaxed)],
            [
                vec![load(0, Z, Relaxed), store(X, 9, Relaxed), load(1, X, Relaxed)],
                pass_on(1, Y, &[1, 9], Relaxed),
            ]
            .concat(),
            [vec![load(0, Y, Relaxed)], pass_on(0, Z, &[0, 1, 9], Relaxed)].concat(),
        ],
        9,
        9,
        "r10=1 r20=1",
        false,
    );
    let write = |value| vec![store(X, value, Relaxed)];
    let read_often = (0..4).map(|register| load(register, X, Relaxed)).collect();
    all.add(
        "fr_w_w_w_reads",
        vec![write(1), write(2), write(3), read_often],
        210,
        210,
        "r30=1 r31=2 r32=1",
        false,
    );
    all.add(
        "inc2w",
        vec![
            vec![add(0, X, 1, Relaxed)],
            vec![store(X, 4, Release)],
            vec![add(0, X, 2, Relaxed)],
        ],
        6,
        6,
        "",
        false,
    );
    let increment = || vec![add(0, X, 1, Relaxed)];
    let read_twice = || vec![load(0, X, Relaxed), load(1, X, Relaxed)];
    all.add(
        "inc_inc_RR_W_RR",
        vec![increment(), increment(), read_twice(), write(42), read_twice()],
        600,
        600,
        "r20=1 r21=42 r40=42 r41=1",
        false,
    );
    all.add(
        "riwi",
        vec![
            vec![load(0, Y, Relaxed), add(1, X, 1, Relaxed)],
            vec![add(0, X, 1, Relaxed), store(Y, 1, Release)],
        ],
        3,
        3,
        "r00=1 r01=0",
        false,
    );
    let add_one = |register, ordering| add(register, X, 1, ordering);
    all.add(
        "viktor-relseq",
        vec![
            vec![add_one(0, Acquire), add_one(1, Relaxed)],
            vec![add_one(0, Relaxed), add_one(1, Relaxed)],
            vec![add_one(0, Release)],
            vec![add_one(0, Relaxed)],
        ],
        180,
        180,
        "",
        false,
    );
    all.0
}

/// `tests/pass/0weak_memory`: what must not come out of `consistency.rs` and `consistency_sc.rs`, and what `weak.rs`
/// wants to be seen, or not. Of `test_iriw_sc_rlx`, Miri says that the weak outcome must not come out, as C++20 does.
/// RC11 allows it: two sequentially consistent loads are in no order because of a relaxed store between them.
pub fn weak_memory() -> Vec<Litmus> {
    let mut all = List::default();
    all.add(
        "test_corr",
        vec![
            vec![store(X, 1, Relaxed), store(X, 2, Relaxed)],
            vec![load(0, X, Relaxed), store(Y, 1, Release)],
            vec![load(0, Y, Acquire), load(1, X, Relaxed)],
        ],
        15,
        15,
        "r10=2 r20=1 r21=1",
        false,
    );
    all.add(
        "test_wrc",
        vec![
            vec![store(X, 1, Release)],
            vec![load(0, X, Acquire), if_equal(0, 1, vec![store(Y, 1, Release)])],
            vec![load(0, Y, Acquire), load(1, X, Relaxed)],
        ],
        5,
        5,
        "r20=1 r21=0",
        false,
    );
    all.add(
        "test_load_buffering_acq_rel",
        vec![
            vec![load(0, X, Acquire), store(Y, 1, Release)],
            vec![load(0, Y, Acquire), store(X, 1, Release)],
        ],
        3,
        3,
        "r00=1 r10=1",
        false,
    );
    let through = |middle: Instruction, mine, others| {
        vec![
            store(mine, 1, Relaxed),
            fence(Release),
            middle,
            fence(Acquire),
            load(1, others, Relaxed),
        ]
    };
    let modify = || add(0, X, 0, Relaxed);
    all.add(
        "test_sync_through_rmw_and_fences",
        vec![through(modify(), Y, Z), through(modify(), Z, Y)],
        4,
        4,
        "r01=0 r11=0",
        false,
    );
    let read = || load(0, X, Relaxed);
    all.add(
        "faa_replaced_by_load",
        vec![through(read(), Y, Z), through(read(), Z, Y)],
        4,
        3,
        "r01=0 r11=0",
        true,
    );
    all.add(
        "test_iriw_sc_rlx",
        independent(Relaxed, SeqCst, None, SeqCst),
        16,
        15,
        "r10=1 r11=0 r20=1 r21=0",
        true,
    );
    let fenced = |first, second| vec![store(first, 1, Relaxed), fence(SeqCst), store(second, 1, Relaxed)];
    all.add(
        "test_sc_fence_release",
        vec![
            fenced(X, W),
            fenced(Y, Z),
            vec![load(0, W, Acquire), load(1, Y, Relaxed)],
            vec![load(0, Z, Acquire), load(1, X, Relaxed)],
        ],
        15,
        15,
        "r20=1 r21=0 r30=1 r31=0",
        false,
    );
    all.add(
        "test_sc_relaxed",
        vec![
            vec![
                store(Y, 1, Relaxed),
                fence(SeqCst),
                load(0, X, Relaxed),
                fence(Acquire),
                load(1, Z, Relaxed),
            ],
            vec![store(Z, 1, Relaxed), store(X, 1, SeqCst), load(0, Y, SeqCst)],
        ],
        4,
        4,
        "r01=0 r10=0",
        false,
    );
    all.add(
        "test_cob_due_to_mo_hb",
        vec![
            vec![store(X, 1, Release)],
            vec![load(0, X, Acquire), store(Z, 1, Release)],
            vec![
                load(0, Z, Acquire),
                if_equal(0, 1, vec![store(X, 2, SeqCst), load(1, Y, SeqCst)]),
            ],
            vec![store(Y, 1, SeqCst), load(0, X, SeqCst)],
        ],
        17,
        17,
        "r10=1 r20=1 r21=0 r30=1",
        false,
    );
    all.add(
        "weaker_release_sequences",
        vec![
            vec![store(X, 2, Relaxed)],
            vec![store(Y, 1, Relaxed), store(X, 1, Release), store(X, 3, Relaxed)],
            vec![load(0, X, Acquire), load(1, Y, Relaxed)],
        ],
        21,
        16,
        "r20=3 r21=0",
        true,
    );
    all.add(
        "release_sequence",
        vec![
            vec![store(Y, 1, Relaxed), store(X, 1, Release), swap(0, X, 3, Relaxed)],
            vec![load(0, X, Acquire), load(1, Y, Relaxed)],
        ],
        4,
        4,
        "r10=3 r11=0",
        false,
    );
    all.add(
        "old_release_store",
        vec![
            vec![store(Y, 1, Relaxed), store(X, 1, Release), store(X, 3, Relaxed)],
            vec![load(0, X, Acquire), load(1, Y, Relaxed)],
        ],
        5,
        4,
        "r10=1 r11=0",
        false,
    );
    all.0
}

/// All of them.
pub fn all() -> Vec<Litmus> {
    [genmc(), weak_memory()].concat()
}
