//! The project on which a command works.

use crate::build::{self, Build, Variant};
use crate::cli::{CargoArgs, ConfigArgs, ExploreArgs};
use crate::config::ConfigFiles;
use crate::error::Error;
use crate::facades::Facades;
use crate::report::{Event, Listeners, Reporter};
use crate::toolchain::Toolchain;
use cargo_metadata::Metadata;
use dpor_protocol::ModelOption;
use owo_colors::OwoColorize;
use std::path::PathBuf;

/// The project on which a command works.
pub struct Project {
    toolchain: Toolchain,
    pub metadata: Metadata,
}

impl Project {
    pub fn find(args: &CargoArgs) -> Result<Project, Error> {
        let toolchain = Toolchain::find()?;
        let metadata = build::metadata(args, &toolchain)?;
        build::check_names(args, &metadata)?;
        Ok(Project { toolchain, metadata })
    }

    /// Loads the project and its configuration: errors there should be reported before anything is built.
    pub fn with_config(cargo: &CargoArgs, config: &ConfigArgs) -> Result<(Project, ConfigFiles), Error> {
        let project = Project::find(cargo)?;
        let (file, profile) = (config.config_file.as_deref(), config.config_profile.as_deref());
        let config = ConfigFiles::load(&project.metadata, file, profile)?;
        Ok((project, config))
    }

    /// The default folder of pages that are to be opened.
    pub fn report_folder(&self, args: &CargoArgs) -> PathBuf {
        build::folder(args, &self.metadata).join("report")
    }

    /// The names of the selected packages; all of them, if none is selected.
    pub fn packages(&self, args: &CargoArgs) -> impl Iterator<Item = &str> {
        let names = self.metadata.packages.iter().map(|package| package.name.as_str());
        names.filter(|name| args.package.is_empty() || args.package.iter().any(|own| own == name))
    }

    /// How the tests are compiled, by configuration and by the command line. They are instrumented if one of them looks
    /// for data races.
    pub fn variant(&self, config: &ConfigFiles, args: &CargoArgs, explore: Option<&ExploreArgs>) -> Variant {
        let mut run = config.of_run();
        args.set(&mut run);
        let given = explore.and_then(|explore| explore.checks.given(ModelOption::DataRaces));
        let mut packages = self.packages(args);
        Variant {
            as_written: run.as_written.value,
            instrumented: given
                .unwrap_or_else(|| packages.any(|package| config.has_somewhere(package, ModelOption::DataRaces))),
        }
    }

    /// Builds the facades and the tests.
    pub fn build(self, args: &CargoArgs, variant: Variant, listeners: &mut Listeners) -> Result<Build, Error> {
        let Project { toolchain, metadata } = self;
        // What cannot be built should be known before anything is.
        let wishes = build::Wishes::read(args, &toolchain, &metadata)?;
        let facades = Facades::ensure(&toolchain, &args.network(), args.quiet, || {
            listeners.event(&Event::FacadesBuilding)
        })?;
        let build = build::build(args, &toolchain, &facades, wishes, metadata, variant)?;
        listeners.event(&Event::Built {
            folders: &build.source_folders(),
        });
        Ok(build)
    }
}

pub fn warn(text: &str) {
    anstream::eprintln!("{} {text}", "warning:".yellow().bold());
}
