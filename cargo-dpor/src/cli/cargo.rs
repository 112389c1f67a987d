//! Cargo's own flags.

use crate::cli::output::Color;
use crate::config::RunSettings;
use clap::{ArgAction, Args};
use std::ffi::OsString;
use std::path::PathBuf;

/// Cargo's own flags, with Cargo's meaning.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Cargo options")]
pub struct CargoArgs {
    /// Package to test
    #[arg(short, long, value_name = "SPEC")]
    pub package: Vec<String>,
    /// All packages of the workspace
    #[arg(long, alias = "all")]
    pub workspace: bool,
    /// Leave out a package
    #[arg(long, value_name = "SPEC", requires = "workspace")]
    pub exclude: Vec<String>,
    /// The library's unit tests
    #[arg(long)]
    pub lib: bool,
    /// The unit tests of all binaries
    #[arg(long)]
    pub bins: bool,
    /// The unit tests of a binary
    #[arg(long, value_name = "NAME")]
    pub bin: Vec<String>,
    /// All targets that are tested by default
    #[arg(long)]
    pub tests: bool,
    /// An integration test
    #[arg(long, value_name = "NAME")]
    pub test: Vec<String>,
    /// The tests of all examples
    #[arg(long)]
    pub examples: bool,
    /// The tests of an example
    #[arg(long, value_name = "NAME")]
    pub example: Vec<String>,
    /// The tests of all benchmark targets
    #[arg(long)]
    pub benches: bool,
    /// The tests of a benchmark target
    #[arg(long, value_name = "NAME")]
    pub bench: Vec<String>,
    /// All targets
    #[arg(long)]
    pub all_targets: bool,
    /// Features to activate
    #[arg(short = 'F', long, value_name = "FEATURES")]
    pub features: Vec<String>,
    /// All features
    #[arg(long)]
    pub all_features: bool,
    /// Without the default feature
    #[arg(long)]
    pub no_default_features: bool,
    /// Path to Cargo.toml
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
    /// Build with the release profile
    #[arg(short, long, conflicts_with = "profile")]
    pub release: bool,
    /// Build with this profile
    #[arg(long, value_name = "NAME", alias = "cargo-profile")]
    pub profile: Option<String>,
    /// Build for this target, which must be this machine's, whatever `build.target` is
    #[arg(long, value_name = "TRIPLE")]
    pub target: Vec<String>,
    /// Folder for everything built, in its subfolder `dpor`
    #[arg(long, value_name = "FOLDER")]
    pub target_dir: Option<PathBuf>,
    /// Do not change Cargo.lock
    #[arg(long)]
    pub locked: bool,
    /// Do not use the network
    #[arg(long)]
    pub offline: bool,
    /// Both --locked and --offline
    #[arg(long)]
    pub frozen: bool,
    /// Ignore the Rust version that packages require
    #[arg(long)]
    pub ignore_rust_version: bool,
    /// Override a value of Cargo's configuration, or read another configuration file
    #[arg(long, value_name = "KEY=VALUE|PATH")]
    pub config: Vec<String>,
    /// Compile all libraries as they are written, also the parts that are taken as specified otherwise, such as
    /// parking_lot's locks
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        help_heading = "Exploration"
    )]
    pub as_written: Option<bool>,
    /// Build jobs
    #[arg(short, long, value_name = "N", alias = "build-jobs", allow_hyphen_values = true)]
    pub jobs: Option<String>,
    /// Write a page with the duration of each part of the build
    #[arg(long)]
    pub timings: bool,
    /// Report code that later compilers will reject
    #[arg(long)]
    pub future_incompat_report: bool,
    /// Print more; twice for very much
    #[arg(short, long, action = ArgAction::Count, conflicts_with = "quiet")]
    pub verbose: u8,
    /// Print only failures and the summary
    #[arg(short, long)]
    pub quiet: bool,
    /// Colours
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub color: Color,
}

impl CargoArgs {
    /// Copies the values given on the command line into the settings of a run.
    pub fn set(&self, settings: &mut RunSettings) {
        settings.as_written.command_line(self.as_written);
    }

    /// The flags that select what is built, which the `replay` of a failure needs again.
    pub fn selection(&self) -> Vec<OsString> {
        let mut out: Vec<OsString> = Vec::new();
        let mut flag = |given: bool, name: &str| {
            if given {
                out.push(name.into());
            }
        };
        flag(self.workspace, "--workspace");
        flag(self.lib, "--lib");
        flag(self.bins, "--bins");
        flag(self.tests, "--tests");
        flag(self.examples, "--examples");
        flag(self.benches, "--benches");
        flag(self.all_targets, "--all-targets");
        flag(self.all_features, "--all-features");
        flag(self.no_default_features, "--no-default-features");
        flag(self.release, "--release");
        flag(self.ignore_rust_version, "--ignore-rust-version");
        let lists = [
            ("--package", &self.package),
            ("--exclude", &self.exclude),
            ("--bin", &self.bin),
            ("--test", &self.test),
            ("--example", &self.example),
            ("--bench", &self.bench),
            ("--features", &self.features),
            ("--config", &self.config),
            ("--target", &self.target),
        ];
        for (name, values) in lists {
            for value in values {
                out.extend([name.into(), value.into()]);
            }
        }
        if let Some(profile) = &self.profile {
            out.extend(["--profile".into(), profile.into()]);
        }
        if let Some(path) = &self.manifest_path {
            out.extend(["--manifest-path".into(), path.into()]);
        }
        out
    }

    /// Whether only some of a package's targets are selected.
    pub fn selects_targets(&self) -> bool {
        let lists = [&self.bin, &self.test, &self.example, &self.bench];
        self.lib
            || self.bins
            || self.tests
            || self.examples
            || self.benches
            || lists.iter().any(|list| !list.is_empty())
    }

    /// The flags for the lock file and the network.
    pub fn network(&self) -> Vec<&'static str> {
        [
            (self.locked, "--locked"),
            (self.offline, "--offline"),
            (self.frozen, "--frozen"),
        ]
        .into_iter()
        .filter_map(|(given, name)| given.then_some(name))
        .collect()
    }
}
