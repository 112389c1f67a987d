//! The oracle of weak memory on known programs.

use dpor_testsuite::weak::litmus;
use dpor_testsuite::weak::{
    Axioms, Instruction, Outcome, Program, Psc, ReleaseSequence, enumerate, graphs, interleave, outcomes,
};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

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

#[test]
fn known_programs_have_the_known_numbers_of_graphs() {
    for litmus in litmus::all() {
        assert_eq!(graphs(&litmus.program), litmus.graphs, "{}", litmus.name);
        let sequential = interleave(&litmus.program).graphs.len();
        assert_eq!(sequential, litmus.sequential, "{}", litmus.name);
    }
}

#[test]
fn weak_outcomes_are_allowed_as_known() {
    for litmus in litmus::all() {
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
fn genmc_s_relseq_of_modifications_has_its_number_of_graphs() {
    let add = |register, ordering| Instruction::Add {
        register,
        location: 0,
        operand: 1,
        ordering,
    };
    let program = Program::new(vec![
        vec![add(0, Acquire), add(1, Relaxed)],
        vec![add(0, Relaxed), add(1, Relaxed)],
        vec![add(0, Release)],
        vec![add(0, Relaxed)],
    ]);
    assert_eq!(graphs(&program), 180);
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
}
