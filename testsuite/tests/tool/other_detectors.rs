//! The page on the tests of other detectors has, for each, the verdict of the program of ours that it names, and says
//! why where that is not the other detector's.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// A row of one of the page's tables.
struct Row {
    /// The other detector's test.
    theirs: String,
    their_verdict: String,
    our_verdict: String,
    /// Target and name of our test.
    ours: (String, String),
    /// The name of the reason why the verdicts differ.
    reason: Option<String>,
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

fn page() -> String {
    fs::read_to_string(root().join("docs/src/other-detectors.md")).unwrap()
}

fn rows(text: &str) -> Vec<Row> {
    let lines = text.lines().filter(|line| line.starts_with("| `"));
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let [_, theirs, _, their_verdict, our_verdict, ours, reason, _] = cells[..] else {
                panic!("six cells in {line}");
            };
            let (target, name) = ours.trim_matches('`').split_once("::").expect("target::name");
            Row {
                theirs: theirs.to_owned(),
                their_verdict: their_verdict.to_owned(),
                our_verdict: our_verdict.to_owned(),
                ours: (target.to_owned(), name.to_owned()),
                reason: (!reason.is_empty()).then(|| reason.to_owned()),
            }
        })
        .collect()
}

/// By target and name, the verdict on each test of `conformance`, or the kind of its failure.
fn verdicts() -> BTreeMap<(String, String), String> {
    let text = fs::read_to_string(root().join("testsuite/conformance/expected.toml")).unwrap();
    let table: toml::Table = toml::from_str(&text).unwrap();
    let mut verdicts = BTreeMap::new();
    for (target, tests) in table["conformance"].as_table().unwrap() {
        for (name, expected) in tests.as_table().unwrap() {
            let verdict = expected.get("kind").unwrap_or(&expected["verdict"]);
            let test = (target.clone(), name.clone());
            verdicts.insert(test, verdict.as_str().unwrap().to_owned());
        }
    }
    verdicts
}

#[test]
fn each_row_has_the_verdict_of_its_test() {
    let verdicts = verdicts();
    for row in rows(&page()) {
        let Row { theirs, ours, .. } = &row;
        let verdict = verdicts
            .get(ours)
            .unwrap_or_else(|| panic!("{theirs}: there is no {ours:?}"));
        assert_eq!(&row.our_verdict, verdict, "{theirs}");
    }
}

#[test]
fn where_verdicts_differ_the_page_says_why() {
    let page = page();
    let mut used = BTreeSet::new();
    for row in rows(&page) {
        let differ = row.their_verdict != row.our_verdict;
        assert_eq!(row.reason.is_some(), differ, "{}", row.theirs);
        used.extend(row.reason);
    }
    let told = page
        .lines()
        .filter_map(|line| line.strip_prefix("* **")?.split_once("**: "));
    let told: BTreeSet<String> = told.map(|(reason, _)| reason.to_owned()).collect();
    assert_eq!(used, told);
}

#[test]
fn no_row_is_there_twice_and_no_test_is_left_out() {
    let rows = rows(&page());
    let theirs: BTreeSet<&str> = rows.iter().map(|row| row.theirs.as_str()).collect();
    assert_eq!(theirs.len(), rows.len());
    let named: BTreeSet<&(String, String)> = rows.iter().map(|row| &row.ours).collect();
    for test in verdicts().keys().filter(|(target, _)| target == "other_detectors") {
        assert!(named.contains(test), "no row names {test:?}");
    }
}

#[test]
fn the_page_counts_its_rows() {
    let page = page();
    let miri = page.split("\n## ").find(|part| part.starts_with("Miri\n")).unwrap();
    let rows = rows(miri);
    let same = rows.iter().filter(|row| row.reason.is_none()).count();
    let sentence = format!("\n{} programs, of which {same} come to the same", rows.len());
    assert!(miri.contains(&sentence), "the page does not say:{sentence}");
}
