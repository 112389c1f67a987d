//! Completions and manual pages, generated from the definition of the command line.

use crate::cli::{Cli, CompletionsArgs, ManArgs};
use crate::error::{Error, Exit};
use clap::CommandFactory;
use clap_complete::Shell;
use std::io::Write;

/// The program's name in shells.
const NAME: &str = "cargo-dpor";

pub fn completions(args: &CompletionsArgs) -> Result<Exit, Error> {
    print(script(args.shell).as_bytes())
}

/// The script for a shell: clap's, which completes `cargo-dpor`, and a part that makes `cargo dpor` the same.
fn script(shell: Shell) -> String {
    let generated = |name: &str| {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut Cli::command(), name, &mut script);
        String::from_utf8(script).expect("clap writes text")
    };
    let own = match shell {
        // In its script for bash, clap has two ways to write a name with a hyphen, and finds no command below it.
        Shell::Bash => {
            let plain = NAME.replace('-', "_");
            generated(&plain).replace(&format!("default {plain}"), &format!("default {NAME}"))
        }
        _ => generated(NAME),
    };
    own + as_subcommand(shell)
}

/// Passes words after `cargo dpor` to clap's script, and all others to the previous completion of `cargo`.
fn as_subcommand(shell: Shell) -> &'static str {
    match shell {
        Shell::Bash => include_str!("completions/cargo.bash"),
        Shell::Fish => include_str!("completions/cargo.fish"),
        // Cargo's own script for zsh calls `_cargo-dpor`. There is none of Cargo's for the others.
        _ => "",
    }
}

pub fn man(args: &ManArgs) -> Result<Exit, Error> {
    print(&page(args.command.as_deref())?)
}

/// The page of a command, or of all of them.
fn page(name: Option<&str>) -> Result<Vec<u8>, Error> {
    let mut all = Cli::command();
    all.build();
    let (command, title) = match name {
        None => (all, NAME.to_owned()),
        Some(name) => {
            let found = all.find_subcommand(name).filter(|found| found.get_name() != "help");
            let found = found.ok_or_else(|| {
                let names = all.get_subcommands().map(clap::Command::get_name);
                let names: Vec<_> = names.filter(|&name| name != "help").collect();
                Error::Usage(format!("there is no command `{name}`, but {}", names.join(", ")))
            })?;
            (found.clone(), format!("{NAME}-{name}"))
        }
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .title(title)
        .render(&mut page)
        .map_err(Error::io("cannot write a manual page"))?;
    Ok(page)
}

/// Prints a command's whole output.
pub fn print(text: &[u8]) -> Result<Exit, Error> {
    let mut out = std::io::stdout();
    // Whoever closed the output does not want the rest of it.
    let _ = out.write_all(text).and_then(|()| out.flush());
    Ok(Exit::Complete)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_page_for_all_and_for_each() {
        let text = |name| String::from_utf8(page(name).unwrap()).unwrap();
        assert!(text(None).contains(".TH cargo-dpor 1"), "{}", text(None));
        let test = text(Some("test"));
        assert!(test.contains(".TH cargo-dpor-test 1"), "{test}");
        assert!(
            test.contains("max\\-executions") && test.contains("Exit codes"),
            "{test}"
        );
        let error = page(Some("tset")).unwrap_err();
        assert_eq!(error.exit(), Exit::Usage);
        assert!(
            error
                .to_string()
                .starts_with("there is no command `tset`, but test, replay, "),
            "{error}"
        );
    }

    #[test]
    fn there_are_completions_for_every_shell() {
        use clap::ValueEnum;
        for shell in Shell::value_variants() {
            let script = script(*shell);
            assert!(
                script.contains("show-config") && script.contains("max-executions"),
                "{shell}"
            );
        }
    }

    /// What bash offers to complete the last of these words, with a script of Cargo's that knows only `build`.
    fn offered_by_bash(words: &[&str]) -> String {
        const TRY: &str = r#"
            _cargo() { COMPREPLY=(build); }
            complete -F _cargo cargo
            eval "$SCRIPT"
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
            set -- "$1" "${@: -1}" "${@: -2:1}"
            $(complete -p "$1" | sed 's/.* -F \([^ ]*\) .*/\1/') "$@"
            echo "${COMPREPLY[*]}"
        "#;
        let output = std::process::Command::new("bash")
            .args(["-c", TRY, "bash"])
            .args(words)
            .env("SCRIPT", script(Shell::Bash))
            .output()
            .unwrap();
        assert!(output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    #[test]
    fn bash_completes_both_forms() {
        for form in [&["cargo", "dpor"][..], &["cargo-dpor"]] {
            let offered = |words: &[&str]| offered_by_bash(&[form, words].concat());
            assert_eq!(offered(&["te"]), "test");
            assert_eq!(
                offered(&["test", "--max-"]),
                "--max-executions --max-time --max-steps --max-depth --max-fail"
            );
            assert_eq!(offered(&["diff-states", "--pai"]), "--pair");
            assert_eq!(offered(&["test", "--color", "al"]), "always");
            assert_eq!(offered(&["completions", "z"]), "zsh");
        }
        assert_eq!(offered_by_bash(&["cargo", "d"]), "build dpor");
        assert_eq!(offered_by_bash(&["cargo", "build", "--rel"]), "build");
    }
}
