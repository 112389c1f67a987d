//! The oracle of weak memory: known programs, and what must hold of generated ones.
//!
//! `DPOR_WEAK_PROGRAMS` sets how many programs are generated (1,000 by default), `DPOR_WEAK_SEED` which ones.

use dpor_testsuite::generated::setting;
use dpor_testsuite::weak::{
    Axioms, Instruction, Outcome, Program, Psc, ReleaseSequence, enumerate, generate, graphs, interleave, litmus, miri,
    outcomes, render,
};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering::{self, Acquire, Relaxed, Release, SeqCst};

/// Release sequences as they were before C++20.
const OLD_RELEASE_SEQUENCES: Axioms = Axioms {
    release_sequence: ReleaseSequence::Cpp11,
    ..Axioms::RC11
};
const GENMC: Axioms = Axioms {
    psc: Psc::GenMc,
    ..Axioms::RC11
};
const NO_PSC: Axioms = Axioms {
    psc: Psc::None,
    ..Axioms::RC11
};

fn programs() -> impl Iterator<Item = Program> {
    let seed = setting("DPOR_WEAK_SEED", 2017);
    (0..setting("DPOR_WEAK_PROGRAMS", 1000)).map(move |number| {
        let operations = 4 + (number % 4) as usize;
        generate(seed.wrapping_add(number), operations)
    })
}

/// The names of the programs that have other graphs under these axioms than in RC11, and how many.
fn differing(axioms: Axioms) -> Vec<(&'static str, usize)> {
    let counts = litmus::all().into_iter().map(|litmus| {
        let count = enumerate(&litmus.program, axioms).graphs.len();
        (litmus, count)
    });
    counts
        .filter(|(litmus, count)| litmus.graphs != *count)
        .map(|(litmus, count)| (litmus.name, count))
        .collect()
}

/// The known programs, and Miri's.
fn known() -> Vec<litmus::Litmus> {
    [litmus::all(), miri::all()].concat()
}

#[test]
fn known_programs_have_the_known_numbers_of_graphs() {
    for litmus in known() {
        assert_eq!(graphs(&litmus.program), litmus.graphs, "{}", litmus.name);
        let sequential = interleave(&litmus.program).graphs.len();
        assert_eq!(sequential, litmus.sequential, "{}", litmus.name);
    }
}

#[test]
fn weak_outcomes_are_allowed_as_known() {
    for litmus in known().into_iter().filter(|litmus| !litmus.weak.is_empty()) {
        let shown = |outcomes: &BTreeSet<Outcome>| outcomes.iter().any(|outcome| litmus.is_weak(outcome));
        assert_eq!(shown(&outcomes(&litmus.program)), litmus.allowed, "{}", litmus.name);
        let sequential = interleave(&litmus.program).outcomes();
        assert!(!shown(&sequential), "{} is not weak", litmus.name);
        // An assignment to something else would never be shown.
        let text = sequential.first().unwrap().to_string();
        for assignment in litmus.weak.split(' ') {
            let name = assignment.split_inclusive('=').next().unwrap();
            assert!(text.split(' ').any(|word| word.starts_with(name)), "{}", litmus.name);
        }
    }
}

#[test]
fn release_sequences_of_cpp11_are_noticed() {
    assert_eq!(differing(OLD_RELEASE_SEQUENCES), [("relseq", 16)]);
}

#[test]
fn genmc_s_psc_is_noticed() {
    assert_eq!(differing(GENMC), [("Z6.U", 22), ("WWmerge1", 17)]);
}

#[test]
fn lack_of_psc_is_noticed() {
    assert_eq!(
        differing(NO_PSC),
        [
            ("SB+scfs", 4),
            ("SB+4sc", 4),
            ("SB+2sc+scf", 4),
            ("IRIW+sc", 16),
            ("IRIW+scfs", 16),
            ("2+2W+4sc", 4),
            ("2+2W+scfs", 4),
            ("W+RWC", 8),
            ("RWC+syncs", 8),
            ("miri#5104", 18),
            ("miri#4057, first", 8),
            ("miri#4057, second", 16),
        ]
    );
    let caught = programs().any(|program| {
        let program = program.sequentially_consistent();
        enumerate(&program, NO_PSC) != interleave(&program)
    });
    assert!(caught, "no generated program shows it");
}

#[test]
fn interleavings_are_allowed() {
    let (mut generated, mut weak) = (0, 0);
    for program in programs() {
        let all = enumerate(&program, Axioms::RC11);
        let sequential = interleave(&program);
        for (graph, outcome) in &sequential.graphs {
            assert_eq!(all.graphs.get(graph), Some(outcome), "{}", render(&program));
        }
        generated += 1;
        weak += u32::from(all.outcomes() != sequential.outcomes());
    }
    assert!(weak > generated / 10, "only {weak} of {generated} programs are weak");
}

#[test]
fn with_seq_cst_everywhere_only_interleavings_are_left() {
    for program in programs() {
        let program = program.sequentially_consistent();
        assert_eq!(
            enumerate(&program, Axioms::RC11),
            interleave(&program),
            "{}",
            render(&program)
        );
    }
}

#[test]
fn under_a_mutex_only_interleavings_are_left() {
    for program in programs() {
        if !program.never_waits() {
            continue;
        }
        let locked = program.threads().iter().map(|instructions| {
            let sections = instructions
                .iter()
                .flat_map(|inner| [Instruction::Lock(0), inner.clone(), Instruction::Unlock(0)]);
            sections.collect()
        });
        let program = Program::new(locked.collect());
        assert_eq!(
            enumerate(&program, Axioms::RC11),
            interleave(&program),
            "{}",
            render(&program)
        );
    }
}

/// RC11 is monotone: a stronger ordering adds to `sw`, and so to `hb`, or to the ends of `psc`, all of which occur in
/// the axioms without negation; and it changes neither the events nor `rf`, `mo` and `rb`.
#[test]
fn stronger_orderings_add_no_graph() {
    let mut fewer = 0;
    for program in programs() {
        let all = enumerate(&program, Axioms::RC11);
        for stronger in program.strengthened() {
            let left = enumerate(&stronger, Axioms::RC11);
            for graph in left.graphs.keys() {
                assert!(
                    all.graphs.contains_key(graph),
                    "{}{graph:?} is new in\n{}",
                    render(&program),
                    render(&stronger)
                );
            }
            fewer += usize::from(left.graphs.len() < all.graphs.len());
        }
    }
    assert!(fewer > 0, "strengthening never mattered");
}

fn load(register: usize, location: usize, ordering: Ordering) -> Instruction {
    Instruction::Load {
        register,
        location,
        ordering,
    }
}

fn store(location: usize, value: u32, ordering: Ordering) -> Instruction {
    Instruction::Store {
        location,
        value,
        ordering,
    }
}

/// What is printed for each outcome.
fn shown(threads: Vec<Vec<Instruction>>) -> Vec<String> {
    outcomes(&Program::new(threads))
        .iter()
        .map(Outcome::to_string)
        .collect()
}

#[test]
fn a_spawned_thread_sees_what_came_before_and_who_joins_it_sees_what_it_did() {
    let child = vec![load(0, 0, Relaxed), store(0, 2, Relaxed)];
    let parent = |last| {
        let mut parent = vec![store(0, 1, Relaxed), Instruction::Spawn(1)];
        parent.extend(last);
        parent
    };
    let joined = parent(vec![Instruction::Join(1), load(0, 0, Relaxed)]);
    assert_eq!(shown(vec![joined, child.clone()]), ["r00=2 r10=1 | x=2"]);
    let unjoined = parent(vec![load(0, 0, Relaxed)]);
    assert_eq!(shown(vec![unjoined, child]), ["r00=1 r10=1 | x=2", "r00=2 r10=1 | x=2"]);
}

/// Store buffering in which one side is spread over a parent and its child: `scb` goes through `sb`, the spawn or the
/// join, and `sb` again.
#[test]
fn spawn_and_join_carry_sequential_consistency() {
    let (x, y) = (0, 1);
    let other = || vec![store(y, 1, SeqCst), load(0, x, SeqCst)];
    let started = vec![
        vec![store(x, 1, SeqCst), Instruction::Spawn(1)],
        vec![load(0, y, SeqCst)],
        other(),
    ];
    let ended = vec![
        vec![Instruction::Spawn(1), Instruction::Join(1), load(0, y, SeqCst)],
        vec![store(x, 1, SeqCst)],
        other(),
    ];
    for threads in [started, ended] {
        let program = Program::new(threads);
        assert_eq!(enumerate(&program, Axioms::RC11), interleave(&program));
        assert_eq!(interleave(&program).graphs.len(), 3);
        assert_eq!(enumerate(&program, NO_PSC).graphs.len(), 4);
    }
}

/// Store buffering with a critical section between a store and a load.
#[test]
fn critical_sections_order_only_those_of_one_mutex() {
    let both_zero = |mutexes: [usize; 2]| {
        let thread = |mutex, one, other| {
            vec![
                store(one, 1, Relaxed),
                Instruction::Lock(mutex),
                Instruction::Unlock(mutex),
                load(0, other, Relaxed),
            ]
        };
        let program = Program::new(vec![thread(mutexes[0], 0, 1), thread(mutexes[1], 1, 0)]);
        outcomes(&program).iter().any(|outcome| outcome.registers == [[0], [0]])
    };
    assert!(!both_zero([0, 0]));
    assert!(both_zero([0, 1]));
}

#[test]
fn the_failure_ordering_is_that_of_the_load() {
    let exchange = |success, failure| Instruction::CompareExchange {
        register: 0,
        location: 1,
        expected: 0,
        new: 2,
        success,
        failure,
    };
    let sender = vec![store(0, 1, Relaxed), store(1, 1, Release)];
    let missed = |exchange| {
        let program = Program::new(vec![sender.clone(), vec![exchange, load(1, 0, Relaxed)]]);
        outcomes(&program).iter().any(|outcome| outcome.registers[1] == [1, 0])
    };
    assert!(!missed(exchange(Relaxed, Acquire)));
    assert!(missed(exchange(Acquire, Relaxed)));
}

#[test]
fn conditions_decide_by_what_was_read() {
    let reader = vec![
        load(0, 0, Relaxed),
        Instruction::If {
            register: 0,
            equals: 1,
            then: vec![store(1, 7, Relaxed), store(1, 8, Relaxed)],
        },
    ];
    assert_eq!(
        shown(vec![vec![store(0, 1, Relaxed)], reader]),
        ["r10=0 | x=1 y=0", "r10=1 | x=1 y=8"]
    );
}

#[test]
fn generated_programs_have_everything_and_are_the_same_again() {
    let programs: Vec<Program> = programs().collect();
    assert_eq!(programs, self::programs().collect::<Vec<_>>());
    let texts: Vec<String> = programs.iter().map(render).collect();
    let orderings = [
        "load(Relaxed",
        "load(Acquire",
        "load(SeqCst",
        "1, Relaxed",
        "1, Release",
        "1, SeqCst",
        "fence(Acquire",
        "fence(Release",
        "fence(AcqRel",
        "fence(SeqCst",
        "AcqRel, Acquire",
    ];
    let others = [
        "fetch_add",
        "swap",
        "if r",
        "lock()",
        "static Z",
        "let t3",
        "    let t1",
        "let r1 = t1.join()",
    ];
    for part in orderings.iter().chain(&others) {
        assert!(texts.iter().any(|text| text.contains(part)), "no program has {part}");
    }
    assert!(
        programs
            .iter()
            .all(|program| (2..=4).contains(&program.threads().len()))
    );
}

#[test]
fn programs_are_printed_as_rust() {
    let program = Program::new(vec![
        vec![
            Instruction::Lock(0),
            store(0, 1, Release),
            Instruction::Unlock(0),
            Instruction::Spawn(2),
            Instruction::Fence(SeqCst),
            load(0, 1, Acquire),
            Instruction::Spawn(3),
            Instruction::Join(2),
        ],
        vec![
            Instruction::CompareExchange {
                register: 0,
                location: 0,
                expected: 1,
                new: 3,
                success: Relaxed,
                failure: Acquire,
            },
            Instruction::If {
                register: 0,
                equals: 1,
                then: vec![Instruction::Swap {
                    register: 1,
                    location: 1,
                    value: 4,
                    ordering: Relaxed,
                }],
            },
        ],
        vec![Instruction::Add {
            register: 0,
            location: 1,
            operand: 2,
            ordering: Relaxed,
        }],
        vec![store(1, 9, Relaxed)],
    ]);
    assert_eq!(render(&program), PRINTED);
    let outcome = outcomes(&program).pop_first().unwrap().to_string();
    assert_eq!(outcome, "r00=0 r10=0 r11=0 r20=0 | x=1 y=9");
}

const PRINTED: &str = r#"use std::sync::atomic::{AtomicU32, Ordering::*};
static X: AtomicU32 = AtomicU32::new(0);
static Y: AtomicU32 = AtomicU32::new(0);
static M0: std::sync::Mutex<()> = std::sync::Mutex::new(());
let t0 = std::thread::spawn(|| {
    let mut r0 = [0u32; 1];
    let g0 = M0.lock().unwrap();
    X.store(1, Release);
    drop(g0);
    let t2 = std::thread::spawn(|| {
        let mut r2 = [0u32; 1];
        r2[0] = Y.fetch_add(2, Relaxed);
        r2
    });
    std::sync::atomic::fence(SeqCst);
    r0[0] = Y.load(Acquire);
    let t3 = std::thread::spawn(|| {
        let r3 = [0u32; 0];
        Y.store(9, Relaxed);
        r3
    });
    let r2 = t2.join().unwrap();
    let r3 = t3.join().unwrap();
    (r0, r2, r3)
});
let t1 = std::thread::spawn(|| {
    let mut r1 = [0u32; 2];
    r1[0] = X.compare_exchange(1, 3, Relaxed, Acquire).unwrap_or_else(|old| old);
    if r1[0] == 1 {
        r1[1] = Y.swap(4, Relaxed);
    }
    r1
});
let (r0, r2, _) = t0.join().unwrap();
let r1 = t1.join().unwrap();
println!("outcome: r00={} r10={} r11={} r20={} | x={} y={}", r0[0], r1[0], r1[1], r2[0], X.load(Relaxed), Y.load(Relaxed));
"#;
