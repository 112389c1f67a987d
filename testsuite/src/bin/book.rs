//! Follows the pages of the book and writes the printed outputs into them:
//! `cargo run -p dpor-testsuite --bin book [PAGE]`.

use dpor_testsuite::{book, tool};
use std::process::ExitCode;

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let folder = tool::target_folder().join("tmp/book");
    for (name, page) in book::pages() {
        if !wanted.is_empty() && !wanted.contains(&name) {
            continue;
        }
        let outcome = book::follow(&page, &folder.join(&name), tool::path(), &folder.join("target"));
        for difference in &outcome.differences {
            println!("{name}: {difference}\n");
        }
        if let Err(error) = std::fs::write(&page, outcome.text) {
            eprintln!("{}: {error}", page.display());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
