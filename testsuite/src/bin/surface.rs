//! Reads std's surface from the installed documentation, compares the shim's with it, and writes the list and the page.

use dpor_testsuite::surface::{self, compare, decisions, docs, list, page};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(problems) if problems.is_empty() => ExitCode::SUCCESS,
        Ok(problems) => {
            for problem in problems {
                eprintln!("{problem}");
            }
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The errors in the shim's surface.
fn run() -> Result<Vec<String>, String> {
    match docs::of_std() {
        Some(folder) if docs::version(&folder).as_deref() == Some(surface::VERSION) => {
            let std = docs::read(&folder, "std", docs::Whose::All)?;
            write(&surface::list_path(), &list::print(&std))?;
        }
        Some(_) => eprintln!(
            "the list stays as it is: this toolchain's std is not {}",
            surface::VERSION
        ),
        None => {
            eprintln!("the list stays as it is: std's documentation is not installed (rustup component add rust-docs)")
        }
    }
    let table = compare::compare(&surface::checked_in(), &docs::of_shim()?, &decisions::checked_in())?;
    write(&surface::page_path(), &page::print(&table))?;
    Ok(table.problems)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
