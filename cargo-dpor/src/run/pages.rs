//! What is made of the definition of the command line: completions and manual pages.

use crate::cli::{Cli, CompletionsArgs, ManArgs};
use crate::error::{Error, Exit};
use clap::CommandFactory;
use std::io::Write;

/// The name of the program, under which shells know it.
const NAME: &str = "cargo-dpor";

pub fn completions(args: &CompletionsArgs) -> Result<Exit, Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), NAME, &mut script);
    print(&script)
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

fn print(text: &[u8]) -> Result<Exit, Error> {
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
        for shell in clap_complete::Shell::value_variants() {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), NAME, &mut script);
            let script = String::from_utf8(script).unwrap();
            assert!(
                script.contains("show-config") && script.contains("max-executions"),
                "{shell}"
            );
        }
    }
}
