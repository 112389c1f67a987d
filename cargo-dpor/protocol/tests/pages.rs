//! The tables and the book's pages about them.

use dpor_protocol::{FailureKind, ModelOption};
use std::path::Path;

fn page(name: &str) -> String {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src");
    std::fs::read_to_string(pages.join(name)).unwrap()
}

#[test]
fn each_kind_of_failure_is_explained() {
    let page = page("reports.md").replace("[`--leaks`](commands.md#leaks)", "`--leaks`");
    // What is unsupported is no failure of a test: the verdict is `incomplete`.
    for kind in FailureKind::ALL
        .iter()
        .filter(|&&kind| kind != FailureKind::Unsupported)
    {
        let row = format!("| `{kind}` | {} |", kind.meaning());
        assert!(page.lines().any(|line| line == row), "{row}");
    }
}

#[test]
fn each_option_is_a_key_and_a_flag() {
    let (keys, flags) = (page("configuration.md"), page("commands.md"));
    for option in ModelOption::ALL {
        assert!(keys.contains(&format!("`{option}`")), "{option}");
        assert!(flags.contains(&format!("`--{option}")), "{option}");
    }
}
