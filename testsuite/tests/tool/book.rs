//! The book's examples: each file that a page shows is written, each command run, and what is printed is what the page
//! shows. After a change that is meant, `cargo run -p dpor-testsuite --bin book` writes the outputs anew.

use dpor_testsuite::{book, tool};
use std::path::Path;

#[test]
fn pages_show_what_is_printed() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("book");
    let mut commands = 0;
    let mut differences = Vec::new();
    for (name, page) in book::pages() {
        let outcome = book::follow(&page, &folder.join(&name), tool::path(), &folder.join("target"));
        commands += outcome.commands;
        differences.extend(
            outcome
                .differences
                .into_iter()
                .map(|difference| format!("{name}: {difference}")),
        );
    }
    assert!(commands > 15, "only {commands} commands");
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}
