//! The examples on the pages of the book, done as a reader would do them.
//!
//! The info string of a fence says what is to be done with a block. `file=PATH` writes a file of the page's own folder,
//! and `function=PATH` puts a function in the place of the one of that name in such a file; `in=FOLDER` runs the
//! commands of a console there, and `at=FOLDER` runs them in a folder of the repository; `exit=N` is the exit code of
//! each command but `echo`, if it is not 0. What is printed must be what the page shows. Times may differ; `…` in a
//! line stands for any text, and as a line for any lines. In a command, `dpor1-…` is the seed that was printed last. A
//! block inside of an HTML comment is one that readers do not see.

use regex::Regex;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// A block of a page to execute.
#[derive(Debug, PartialEq, Eq)]
enum Block {
    File {
        path: String,
        text: String,
    },
    /// A function that takes the place of one with the same signature.
    Function {
        path: String,
        text: String,
    },
    Console {
        place: Place,
        exit: i32,
        commands: Vec<Shown>,
    },
}

/// The place where commands are run.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Page(String),
    Repository(String),
}

/// A command, and its output on the page.
#[derive(Debug, PartialEq, Eq)]
struct Shown {
    command: String,
    /// The line after the command, from 0, and the one after the output.
    lines: (usize, usize),
    output: String,
}

/// The result of following a page.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Commands that were run.
    pub commands: usize,
    /// The differences from the page.
    pub differences: Vec<String>,
    /// The page with the printed outputs.
    pub text: String,
}

/// The folder of the repository.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the testsuite is in the repository")
}

/// The pages that have something to do, by name.
///
/// # Panics
/// If the book cannot be read.
pub fn pages() -> Vec<(String, PathBuf)> {
    let folder = repository().join("docs/src");
    let entries = fs::read_dir(folder).expect("the book is in the repository");
    let mut pages: Vec<PathBuf> = entries
        .map(|entry| entry.expect("the book can be read").path())
        .collect();
    pages.retain(|page| {
        page.extension().is_some_and(|extension| extension == "md") && !read(&page_text(page)).is_empty()
    });
    pages.sort();
    let name = |page: &PathBuf| {
        page.file_stem()
            .expect("a page has a name")
            .to_string_lossy()
            .into_owned()
    };
    pages.into_iter().map(|page| (name(&page), page)).collect()
}

fn page_text(page: &Path) -> String {
    fs::read_to_string(page).expect("the page can be read")
}

/// Follows a page in a new folder. The tool is `tool`, and builds go to `target`.
///
/// # Panics
/// If the folder cannot be made, or a command cannot be started.
pub fn follow(page: &Path, folder: &Path, tool: &Path, target: &Path) -> Outcome {
    if folder.exists() {
        fs::remove_dir_all(folder).expect("the folder is ours");
    }
    fs::create_dir_all(folder).expect("the target folder is writable");
    let text = page_text(page);
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    let mut outcome = Outcome::default();
    let mut seeds: Vec<String> = Vec::new();
    // From the end of the page its lines can be replaced without moving others.
    let mut replacements = Vec::new();
    for block in read(&text) {
        match block {
            Block::File { path, text } => {
                let path = folder.join(path);
                fs::create_dir_all(path.parent().expect("it is in a folder")).expect("the target folder is writable");
                fs::write(path, text).expect("the target folder is writable");
            }
            Block::Function { path, text } => {
                let file = folder.join(&path);
                let old = fs::read_to_string(&file).unwrap_or_default();
                match with_function(&old, &text) {
                    Some(new) => fs::write(file, new).expect("the target folder is writable"),
                    None => outcome
                        .differences
                        .push(format!("{path} has no function to put this in the place of:\n{text}")),
                }
            }
            Block::Console { place, exit, commands } => {
                let place = match place {
                    Place::Page(place) => folder.join(place),
                    Place::Repository(place) => repository().join(place),
                };
                let mut last = 0;
                for shown in commands {
                    let command = with_seed(&shown.command, &seeds);
                    let (code, printed) = run(&command, last, &place, tool, target);
                    outcome.commands += 1;
                    let expected = if command.starts_with("echo") { 0 } else { exit };
                    if code != expected {
                        outcome
                            .differences
                            .push(format!("`{command}` ended with {code}, not {expected}:\n{printed}"));
                    }
                    last = code;
                    seeds.extend(SEED.find_iter(&printed).map(|seed| seed.as_str().to_string()));
                    if !is_shown(&shown.output, &printed) {
                        outcome.differences.push(format!(
                            "`{command}` printed\n{printed}\nand the page says\n{}",
                            shown.output
                        ));
                        replacements.push((shown.lines, shorten(&printed)));
                    }
                }
            }
        }
    }
    for ((from, to), printed) in replacements.into_iter().rev() {
        lines.splice(from..to, printed.lines().map(String::from));
    }
    outcome.text = lines.join("\n") + "\n";
    outcome
}

static SEED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"dpor1-[A-Za-z0-9_-]{20,}").expect("it is one"));

fn with_seed(command: &str, seeds: &[String]) -> String {
    match seeds.last() {
        Some(seed) => command.replace("dpor1-…", seed),
        None => command.to_string(),
    }
}

/// The file with the function replaced that has the same signature, together with the lines above it.
fn with_function(file: &str, function: &str) -> Option<String> {
    let of_signature = |line: &str| line.trim_start().split(' ').any(|word| word == "fn");
    let signature = function.lines().find(|line| of_signature(line))?;
    let lines: Vec<&str> = file.lines().collect();
    let at = lines.iter().position(|&line| line == signature)?;
    let above = |line: &&&str| ["///", "#["].iter().any(|start| line.trim_start().starts_with(start));
    let from = at - lines[..at].iter().rev().take_while(above).count();
    let end = format!("{}}}", &signature[..signature.len() - signature.trim_start().len()]);
    let to = at + lines[at..].iter().position(|&line| line == end)?;
    let new: Vec<&str> = lines[..from]
        .iter()
        .copied()
        .chain(function.lines())
        .chain(lines[to + 1..].iter().copied())
        .collect();
    Some(new.join("\n") + "\n")
}

/// A command's exit code, and its standard output.
fn run(command: &str, last: i32, place: &Path, tool: &Path, target: &Path) -> (i32, String) {
    let folder = tool.parent().expect("the tool is in a folder");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("bash")
        .args(["-c", &format!("(exit {last})\n{command}")])
        .current_dir(place)
        .env("PATH", path)
        .env("CARGO_TARGET_DIR", target)
        .env_remove("GITHUB_WORKSPACE")
        .output()
        .expect("there is a shell");
    let mut printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() && printed.is_empty() {
        printed = String::from_utf8_lossy(&output.stderr).into_owned();
    }
    (output.status.code().unwrap_or(-1), printed)
}

/// Whether an output is the one that a page shows.
fn is_shown(shown: &str, printed: &str) -> bool {
    static TIME: LazyLock<Regex> = LazyLock::new(|| Regex::new(r" *\b\d+\.\d\ds\b").expect("it is one"));
    let plain = |text: &str| {
        let text = TIME.replace_all(text, " 0.00s");
        text.lines()
            .map(str::trim_end)
            .collect::<Vec<_>>()
            .join("\n")
            .trim_matches('\n')
            .to_string()
    };
    let mut pattern = String::from(r"\A");
    for line in plain(shown).lines() {
        if line.trim() == "…" {
            pattern.push_str(r"(?:[^\n]*\n)*?");
        } else {
            let parts: Vec<String> = line.split('…').map(regex::escape).collect();
            pattern.push_str(&parts.join(r"[^\n]*"));
            pattern.push('\n');
        }
    }
    pattern.push_str(r"\z");
    let printed = match plain(printed) {
        printed if printed.is_empty() => printed,
        printed => printed + "\n",
    };
    Regex::new(&pattern).expect("it is one").is_match(&printed)
}

/// The output as a page would show it.
fn shorten(printed: &str) -> String {
    let short = SEED.replace_all(printed, |seed: &regex::Captures<'_>| format!("{}…", &seed[0][..14]));
    short.trim_matches('\n').to_string()
}

/// The blocks of a page to execute, in order.
fn read(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((_, line)) = lines.next() {
        let Some(info) = line.strip_prefix("```") else { continue };
        let body: Vec<(usize, &str)> = lines
            .by_ref()
            .take_while(|(_, line)| !line.starts_with("```"))
            .collect();
        let mut attributes = info.split(',');
        // The language.
        attributes.next();
        let attributes: Vec<(&str, &str)> = attributes.filter_map(|attribute| attribute.split_once('=')).collect();
        let find = |name: &str| {
            attributes
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| value.to_string())
        };
        let text = || body.iter().map(|(_, line)| format!("{line}\n")).collect();
        if let Some(path) = find("file") {
            blocks.push(Block::File { path, text: text() });
        } else if let Some(path) = find("function") {
            blocks.push(Block::Function { path, text: text() });
        } else if let Some(place) = find("in")
            .map(Place::Page)
            .or_else(|| find("at").map(Place::Repository))
        {
            let exit = find("exit").map_or(0, |code| code.parse().expect("an exit code is a number"));
            blocks.push(Block::Console {
                place,
                exit,
                commands: commands(&body),
            });
        }
    }
    blocks
}

fn commands(body: &[(usize, &str)]) -> Vec<Shown> {
    let starts: Vec<usize> = (0..body.len())
        .filter(|&index| body[index].1.starts_with("$ "))
        .collect();
    let ends = starts.iter().skip(1).copied().chain([body.len()]);
    let shown = starts.iter().zip(ends).map(|(&start, end)| Shown {
        command: body[start].1[2..].to_string(),
        lines: (body[start].0 + 1, body[start].0 + end - start),
        output: body[start + 1..end]
            .iter()
            .map(|(_, line)| format!("{line}\n"))
            .collect(),
    });
    shown.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_read() {
        let page = "text\n```rust,file=a/src/lib.rs\n#[test]\nfn shown() {}\n```\n```console\n$ nothing\n```\n\
                    ```console,in=a,exit=1\n$ one\noutput\n$ two\n```\n";
        let file = Block::File {
            path: "a/src/lib.rs".into(),
            text: "#[test]\nfn shown() {}\n".into(),
        };
        let console = Block::Console {
            place: Place::Page("a".into()),
            exit: 1,
            commands: vec![
                Shown {
                    command: "one".into(),
                    lines: (10, 11),
                    output: "output\n".into(),
                },
                Shown {
                    command: "two".into(),
                    lines: (12, 12),
                    output: String::new(),
                },
            ],
        };
        assert_eq!(read(page), [file, console]);
    }

    #[test]
    fn functions_are_replaced() {
        let file =
            "impl A {\n    /// Old.\n    pub fn a(&self) {\n        {\n        }\n    }\n\n    fn b() {\n    }\n}\n";
        let replaced = |function| with_function(file, function);
        assert_eq!(
            replaced("    /// New.\n    pub fn a(&self) {\n        new();\n    }\n").as_deref(),
            Some("impl A {\n    /// New.\n    pub fn a(&self) {\n        new();\n    }\n\n    fn b() {\n    }\n}\n")
        );
        assert_eq!(replaced("    fn c() {\n    }\n"), None);
        assert_eq!(replaced("no function\n"), None);
    }

    /// A page that is read in its source form would show mdBook's mark of hidden lines.
    #[test]
    fn pages_hide_no_lines() {
        for page in fs::read_dir(repository().join("docs/src")).unwrap() {
            let page = page.unwrap().path();
            if page.extension().is_some_and(|extension| extension == "md") {
                let text = page_text(&page);
                let blocks = text.split("\n```").skip(1).step_by(2);
                for block in blocks.filter(|block| block.starts_with("rust")) {
                    let hidden = |line: &&str| line.trim() == "#" || line.trim_start().starts_with("# ");
                    assert_eq!(block.lines().find(hidden), None, "{}", page.display());
                }
            }
        }
    }

    #[test]
    fn what_differs_is_noticed() {
        assert!(is_shown(
            "a 1.23s\n…\nseed dpor1-abc…\n",
            "a     4.56s\nb\nc\nseed dpor1-abcdef\n"
        ));
        assert!(is_shown("", ""));
        assert!(is_shown("…\nlast", "last\n"));
        assert!(!is_shown("a 2 steps", "a 3 steps"));
        assert!(!is_shown("a", "a\nb"));
        assert!(!is_shown("a\nb", "a"));
        assert!(!is_shown("", "a"));
    }
}
