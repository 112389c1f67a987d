//! `cargo dpor show-config`.

use crate::cli::ShowConfigArgs;
use crate::config::Settings;
use crate::error::{Error, Exit};
use crate::report::{Configuration, Event, Listeners, Reporter};
use crate::run::overrides;
use crate::run::project::Project;

pub fn show_config(args: &ShowConfigArgs, listeners: &mut Listeners) -> Result<Exit, Error> {
    let (project, config) = Project::with_config(&args.cargo, &args.config)?;
    overrides::Packages::of(&project.metadata).warn_of_names(&config, listeners);
    let mut run = config.of_run();
    args.explore.set_run(&mut run);
    args.cargo.set(&mut run);
    args.files.set(&mut run);
    let mut tests: Vec<(Vec<String>, Settings)> = Vec::new();
    for package in project.packages(&args.cargo) {
        let mut settings = match &args.name {
            Some(name) => config.of_test(package, name),
            None => config.of_package(package),
        };
        args.explore.set(&mut settings);
        settings.settle(false);
        match tests.iter_mut().find(|(_, known)| *known == settings) {
            Some((packages, _)) => packages.push(package.into()),
            None => tests.push((vec![package.into()], settings)),
        }
    }
    listeners.event(&Event::Configured {
        configuration: &Configuration {
            config: &config,
            run,
            test: args.name.as_deref(),
            tests,
        },
    });
    Ok(Exit::Complete)
}
