//! Pairs as printed.

use super::*;
use dpor_protocol::{SourceLocation, StepReport};

fn step(index: u64, thread: u32) -> StepReport {
    StepReport {
        index,
        thread,
        thread_name: (thread == 1).then(|| "left".into()),
        operation: "lock".into(),
        object: "mutex#1".into(),
        location: Some(SourceLocation {
            file: "src/lib.rs".into(),
            line: 7,
            column: 5,
        }),
        detail: None,
        switched: true,
        ..StepReport::default()
    }
}

fn pair(differences: Vec<DifferenceReport>) -> String {
    let pair = PairReport {
        common: 3,
        first: vec![step(3, 1), step(4, 2)],
        second: vec![step(3, 2), step(4, 1)],
        differences,
    };
    let text = Pair {
        test: "bank tests::push",
        number: 2,
        pair: &pair,
        sources: &SourceTree::new(Vec::new()),
    };
    anstream::adapter::strip_str(&text.render()).to_string()
}

#[test]
fn differences_are_shown_with_their_owners() {
    let difference = |owner: &str, first: &[u8], second: &[u8]| DifferenceReport {
        owner: owner.into(),
        address: None,
        offset: 0,
        length: first.len().max(second.len()) as u64,
        first: first.into(),
        second: second.into(),
        hint: None,
    };
    insta::assert_snapshot!(pair(vec![
        difference("t1: time", &[1, 0], &[2, 0]),
        difference("t1: time", &[9, 4], &[9, 5]),
        DifferenceReport {
            address: Some(0x7000_1000),
            offset: 16,
            length: 4096,
            hint: Some("only in the first state".into()),
            ..difference("t2: heap block", &[7; 64], &[])
        },
    ]));
}

#[test]
fn a_difference_that_is_not_found_again() {
    insta::assert_snapshot!(pair(Vec::new()));
}
