//! Whole files as written.

use super::*;
use crate::report::samples::{self, failed_in_full};

#[test]
fn a_run() {
    let mut reporter = Junit::new(Vec::new(), Path::new("junit.xml"));
    samples::run(&mut reporter, failed_in_full());
    reporter.close().unwrap();
    insta::assert_snapshot!(String::from_utf8(reporter.out).unwrap());
}

#[test]
fn a_file_is_made_with_its_folder_or_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/junit.xml");
    let mut reporter = Junit::create(&path).unwrap();
    reporter.close().unwrap();
    assert!(std::fs::read_to_string(&path).unwrap().contains("<testsuites"));
    let error = Junit::create(&path.join("x.xml")).err().unwrap();
    assert!(
        error.to_string().starts_with("cannot write the JUnit report "),
        "{error}"
    );
}
