//! Overrides that select no test: mostly because the name of a test has changed.

use crate::build::{Build, Test};
use crate::cli::CargoArgs;
use crate::config::ConfigFiles;
use crate::report::{Event, Listeners, Reporter};
use cargo_metadata::Metadata;

/// The packages of the workspace.
pub struct Packages {
    all: Vec<String>,
    /// Packages with targets that have tests.
    tested: Vec<String>,
}

impl Packages {
    pub fn of(metadata: &Metadata) -> Packages {
        let name = |package: &cargo_metadata::Package| package.name.to_string();
        let tested = |package: &&cargo_metadata::Package| package.targets.iter().any(|target| target.test);
        Packages {
            all: metadata.packages.iter().map(name).collect(),
            tested: metadata.packages.iter().filter(tested).map(name).collect(),
        }
    }

    /// Warns of overrides that select no test, as far as the built ones can tell.
    pub fn warn(
        &self,
        config: &ConfigFiles,
        args: &CargoArgs,
        build: &Build,
        tests: &[Test],
        listeners: &mut Listeners,
    ) {
        let built = |package: &str| {
            let mut own = build.binaries.iter().map(|binary| binary.id.split('/').next());
            own.any(|own| own == Some(package)) || !self.tested.iter().any(|tested| tested == package)
        };
        let whole = |package: &str| !args.selects_targets() && built(package);
        let tests: Vec<_> = tests.iter().map(|test| (test.package(), test.name.as_str())).collect();
        self.tell(config, &tests, &whole, listeners);
    }

    /// Warns of overrides for packages that do not exist.
    pub fn warn_of_names(&self, config: &ConfigFiles, listeners: &mut Listeners) {
        self.tell(config, &[], &|_| false, listeners);
    }

    fn tell(
        &self,
        config: &ConfigFiles,
        tests: &[(&str, &str)],
        whole: &dyn Fn(&str) -> bool,
        listeners: &mut Listeners,
    ) {
        let all: Vec<&str> = self.all.iter().map(String::as_str).collect();
        for message in config.idle(&all, tests, whole) {
            listeners.event(&Event::Warning { message: &message });
        }
    }
}
