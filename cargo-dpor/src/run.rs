//! The commands.

mod diff_states;
mod explore;
mod init;
mod list;
mod mend;
mod order;
mod outputs;
mod overrides;
mod pages;
mod plan;
mod project;
mod replay;
mod resume;
mod seeds;
mod sequential;
mod show_config;
mod simplify;
mod suppressions;
mod test;

use crate::cli::{Color, Command, MessageFormat};
use crate::error::Exit;
use crate::interrupt::{self, Signal};
use crate::report::{Amount, Event, GitHub, Human, Json, Listeners, Reporter};
use std::path::PathBuf;

/// The colours for a command.
pub fn color(command: &Command) -> Color {
    command.cargo().map_or(Color::Auto, |args| args.color)
}

/// The receivers of a command's events, according to its flags.
fn listeners(command: &Command) -> Listeners {
    let format = command.message_format();
    let mut listeners = Listeners::default();
    match format {
        MessageFormat::Human | MessageFormat::Github => {
            let amount = command.cargo().map_or(Amount::Usual, Amount::of);
            let mut human = Human::new(anstream::stdout(), amount);
            human.set_width(|| terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| width.0.into()));
            listeners.add(human);
        }
        MessageFormat::Json => listeners.add(Json::new(std::io::stdout())),
    }
    if format == MessageFormat::Github {
        let repository = std::env::var_os("GITHUB_WORKSPACE").map(PathBuf::from);
        listeners.add(GitHub::new(std::io::stdout(), repository));
    }
    listeners
}

/// Runs a command; returns its exit code.
pub fn run(command: &Command) -> Exit {
    let mut listeners = listeners(command);
    let result = match command {
        Command::Test(args) if args.list => list::print_list(
            &args.cargo,
            &args.config,
            Some(&args.explore),
            &args.select,
            &mut listeners,
        ),
        Command::Test(args) if args.no_run => list::build_only(args, &mut listeners),
        Command::Test(args) => test::test(args, &mut listeners),
        Command::Replay(args) => replay::replay(args, &mut listeners),
        Command::DiffStates(args) if args.all_states => diff_states::survey(args, &mut listeners),
        Command::DiffStates(args) => diff_states::diff_states(args, &mut listeners),
        Command::List(args) => list::print_list(&args.cargo, &args.config, None, &args.select, &mut listeners),
        Command::ShowConfig(args) => show_config::show_config(args, &mut listeners),
        Command::Init(args) => init::init(args),
        Command::Completions(args) => pages::completions(args),
        Command::Man(args) => pages::man(args),
    };
    let interrupted = interrupt::received();
    match (&result, interrupted) {
        (_, Some(signal)) => {
            interrupt::end_descendants();
            let resumable = result.is_ok() && matches!(command, Command::Test(_));
            listeners.event(&Event::Interrupted { signal, resumable });
        }
        (Err(error), None) => listeners.event(&Event::Stopped { error }),
        (Ok(_), None) => {}
    }
    match (result, listeners.close()) {
        (Err(error), _) => interrupted.map_or(error.exit(), Signal::exit),
        (Ok(exit), Ok(())) => interrupted.map_or(exit, Signal::exit),
        (Ok(_), Err(error)) => {
            listeners.event(&Event::Stopped { error: &error });
            error.exit()
        }
    }
}

#[cfg(test)]
mod tests;
