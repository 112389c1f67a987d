//! The options of the model as flags: one for each row of their table.

use crate::config::Settings;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use dpor_protocol::{ModelOption, OptionGroup};
use std::marker::PhantomData;

/// A group of options that some commands have.
pub trait Group {
    const GROUP: OptionGroup;
}

/// Those about the program's environment.
#[derive(Clone, Debug, Default)]
pub struct EnvironmentOptions;

impl Group for EnvironmentOptions {
    const GROUP: OptionGroup = OptionGroup::Environment;
}

/// Checks.
#[derive(Clone, Debug, Default)]
pub struct CheckOptions;

impl Group for CheckOptions {
    const GROUP: OptionGroup = OptionGroup::Checks;
}

/// The options of a group that the command line sets.
#[derive(Clone, Debug, Default)]
pub struct OptionArgs<G> {
    given: Vec<(ModelOption, bool)>,
    group: PhantomData<G>,
}

impl<G: Group> OptionArgs<G> {
    /// Copies the values given on the command line into settings.
    pub fn set(&self, settings: &mut Settings) {
        for &(option, on) in &self.given {
            settings.options[option].command_line(Some(on));
        }
    }

    /// The value given on the command line.
    pub fn given(&self, option: ModelOption) -> Option<bool> {
        self.given.iter().find(|(other, _)| *other == option).map(|&(_, on)| on)
    }

    fn all() -> impl Iterator<Item = ModelOption> {
        let all = ModelOption::ALL.iter().copied();
        all.filter(|option| option.group() == G::GROUP)
    }
}

impl<G: Group> Args for OptionArgs<G> {
    fn augment_args(command: Command) -> Command {
        let flag = |option: ModelOption| {
            Arg::new(option.name())
                .long(option.name())
                .help(option.help())
                .value_name("BOOL")
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("true")
                .value_parser(clap::value_parser!(bool))
                .action(ArgAction::Set)
        };
        command.args(Self::all().map(flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<G: Group> FromArgMatches for OptionArgs<G> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let given = Self::all().filter_map(|option| Some((option, *matches.get_one(option.name())?)));
        Ok(OptionArgs {
            given: given.collect(),
            group: PhantomData,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
