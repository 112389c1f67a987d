//! The commands that end before anything is explored: lists of tests and of executables.

use crate::build::{self, Build, Listing, Selection, Test, list};
use crate::cli::{CargoArgs, ConfigArgs, ExploreArgs, SelectArgs, TestArgs};
use crate::error::{Error, Exit};
use crate::report::{Event, Listeners, Reporter};
use crate::run::project::{Project, warn};

pub fn print_list(
    cargo: &CargoArgs,
    config: &ConfigArgs,
    explore: Option<&ExploreArgs>,
    select: &SelectArgs,
    listeners: &mut Listeners,
) -> Result<Exit, Error> {
    let (project, config) = Project::with_config(cargo, config)?;
    let variant = project.variant(&config, cargo, explore);
    let build = project.build(cargo, variant, listeners)?;
    let Listing { tests: all, broken } = list(&build.binaries)?;
    let tests = selected(&build, all, select)?.tests;
    listeners.event(&Event::Listed { tests: &tests });
    Ok(if broken { Exit::Internal } else { Exit::Complete })
}

pub fn build_only(args: &TestArgs, listeners: &mut Listeners) -> Result<Exit, Error> {
    let (project, config) = Project::with_config(&args.cargo, &args.config)?;
    let variant = project.variant(&config, &args.cargo, Some(&args.explore));
    let build = project.build(&args.cargo, variant, listeners)?;
    listeners.event(&Event::Executables {
        binaries: &build.binaries,
    });
    Ok(Exit::Complete)
}

/// The selected tests among those that were built.
pub fn selected(build: &Build, all: Vec<Test>, args: &SelectArgs) -> Result<Selection, Error> {
    if all.is_empty() {
        return Err(Error::NoTests(match build.binaries.len() {
            0 => "no target with tests was built".into(),
            _ => "the targets that were built have none".into(),
        }));
    }
    let mut selection = build::select(all, &args.names);
    match selection.none.take() {
        Some(why) => Err(Error::NoTests(why)),
        None => {
            selection.idle.iter().for_each(|idle| warn(idle));
            Ok(selection)
        }
    }
}
