//! Surveys as printed.

use super::*;
use dpor_protocol::DifferenceReport;

fn shown(survey: &SurveyReport) -> String {
    let text = Survey {
        test: "bank tests::push",
        survey,
    };
    anstream::adapter::strip_str(&text.render()).to_string()
}

#[test]
fn parts_and_places_are_shown_with_their_numbers() {
    let part = |name: &str, without, without_all| PartReport {
        name: name.into(),
        without,
        without_all,
    };
    let place = |owner: &str, offset, first: &[u8], second: &[u8], hint: Option<&str>| PlaceReport {
        pairs: 90,
        only: 7,
        example: DifferenceReport {
            owner: owner.into(),
            address: None,
            offset,
            length: first.len().max(second.len()) as u64,
            first: first.into(),
            second: second.into(),
            hint: hint.map(str::to_owned),
        },
    };
    insta::assert_snapshot!(shown(&SurveyReport {
        states: 81_424,
        parts: vec![part("order of accesses", 41_388, 41_388), part("heap", 48_168, 7_815)],
        compared: 65,
        alone: 80,
        places: vec![
            place(
                "t0: heap block",
                16,
                &[1, 0, 0, 0, 0, 0, 0, 0],
                &[2, 0, 0, 0, 0, 0, 0, 0],
                None
            ),
            place("t1: newest block", 0, &[7; 12], &[], Some("only in the first state")),
        ],
    }));
}

#[test]
fn one_state_is_not_compared() {
    insta::assert_snapshot!(shown(&SurveyReport {
        states: 1,
        parts: vec![],
        compared: 0,
        alone: 1,
        places: vec![],
    }));
}
