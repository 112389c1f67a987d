//! Annotations as printed.

use super::*;
use crate::report::samples::{self, failed_in_full};

fn annotations(repository: Option<PathBuf>) -> String {
    let mut reporter = GitHub::new(Vec::new(), repository);
    reporter.event(&Event::Built {
        folders: &[env!("CARGO_MANIFEST_DIR").into()],
    });
    samples::run(&mut reporter, failed_in_full());
    reporter.event(&Event::Stopped {
        error: &samples::error(),
    });
    String::from_utf8(reporter.into_output()).unwrap()
}

#[test]
fn a_run() {
    insta::assert_snapshot!(annotations(None));
}

#[test]
fn a_run_without_threads() {
    let mut reporter = GitHub::new(Vec::new(), None);
    reporter.event(&Event::RunFinished {
        summary: &crate::report::Summary::default(),
        exit: crate::error::Exit::Complete,
    });
    let text = String::from_utf8(reporter.into_output()).unwrap();
    assert_eq!(text, format!("::warning title=cargo dpor::{NO_THREADS}\n"));
}

#[test]
fn paths_are_those_in_the_repository() {
    let parent = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let text = annotations(Some(parent.into()));
    assert!(text.contains("file=cargo-dpor/src/main.rs,line=7,col=5,"), "{text}");
    // What is outside of the repository cannot be annotated there.
    let text = annotations(Some("/elsewhere".into()));
    assert!(!text.contains("file="), "{text}");
}

#[test]
fn what_a_command_is_made_of_is_escaped() {
    assert_eq!(data("50 %\r\na: b, c"), "50 %25%0D%0Aa: b, c");
    assert_eq!(property("a: b, c\n"), "a%3A b%2C c%0A");
}
