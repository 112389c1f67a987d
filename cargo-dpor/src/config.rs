//! Configuration files: `dpor.toml` beside the workspace's `Cargo.toml`, and the metadata tables of the packages and
//! the workspace.
//!
//! Files are layers. A later one covers what earlier ones say of the same setting, an override covers what is said of
//! all tests, and the command line covers everything.

mod layer;
mod settings;
mod source;

pub use layer::Entry;
pub use settings::{Jobs, KeyDoc, Limit, Origin, Policy, Row, RunSettings, Settings, Value};

use crate::error::Error;
use cargo_metadata::Metadata;
use dpor_protocol::ModelOption;
use layer::Layer;
use source::{NO_PROFILE, Source, get, kind};
use std::path::Path;
use std::sync::Arc;

/// The name of the workspace's own file.
pub const FILE: &str = "dpor.toml";

/// The settings in all files.
#[derive(Debug, Default)]
pub struct ConfigFiles {
    /// The layers, from the lowest to the highest precedence. Those of profiles come last.
    layers: Vec<Layer>,
    /// The selected profile.
    profile: Option<Arc<str>>,
}

/// An override, in readable form.
pub struct Told<'a> {
    pub file: &'a str,
    /// The profile to which it belongs.
    pub profile: Option<&'a str>,
    /// The tests to which it applies.
    pub of: Arc<str>,
    pub entries: &'a [Entry],
}

impl ConfigFiles {
    /// Reads the files of a workspace. `file` replaces [`FILE`], and the settings of `profile` apply, too.
    ///
    /// # Errors
    /// [`Error::Config`] with the file, the line and the key if one of them is not understood; [`Error::Usage`] if
    /// there is no such file or no such profile; [`Error::Io`] if a file cannot be read.
    pub fn load(metadata: &Metadata, file: Option<&Path>, profile: Option<&str>) -> Result<ConfigFiles, Error> {
        let root = metadata.workspace_root.as_std_path();
        let mut config = ConfigFiles::default();
        if !metadata.workspace_metadata["dpor"].is_null() {
            config.add_manifest(root, &root.join("Cargo.toml"), None)?;
        }
        let own = root.join(FILE);
        match file {
            Some(file) if file.symlink_metadata().is_err() => {
                return Err(Error::Usage(format!(
                    "there is no configuration file {}",
                    file.display()
                )));
            }
            Some(file) => config.add_file(&file.display().to_string(), file)?,
            None if own.symlink_metadata().is_ok() => config.add_file(FILE, &own)?,
            None => {}
        }
        for package in metadata
            .packages
            .iter()
            .filter(|package| !package.metadata["dpor"].is_null())
        {
            config.add_manifest(root, package.manifest_path.as_std_path(), Some(&package.name))?;
        }
        config.choose(profile.filter(|&name| !name.is_empty() && name != NO_PROFILE))?;
        Ok(config)
    }

    /// Keeps only the layers of this profile and those of none; the former take precedence.
    fn choose(&mut self, profile: Option<&str>) -> Result<(), Error> {
        let mut known: Vec<Arc<str>> = self.layers.iter().filter_map(|layer| layer.profile.clone()).collect();
        known.sort();
        known.dedup();
        self.profile = known.iter().find(|known| Some(&***known) == profile).cloned();
        if let (Some(unknown), None) = (profile, &self.profile) {
            let known: Vec<_> = known.iter().map(|name| format!("`{name}`")).collect();
            let known = match known.is_empty() {
                true => format!("no profile at all: `[profile.{unknown}]` in {FILE} begins one"),
                false => format!("only {}", known.join(", ")),
            };
            return Err(Error::Usage(format!(
                "there is no profile `{unknown}` in the configuration, {known}"
            )));
        }
        let chosen = self.profile.clone();
        self.layers
            .retain(|layer| layer.profile.is_none() || layer.profile == chosen);
        self.layers.sort_by_key(|layer| layer.profile.is_some());
        Ok(())
    }

    /// The name of the selected profile.
    pub fn profile(&self) -> Option<&str> {
        self.profile.as_deref()
    }

    fn add_file(&mut self, name: &str, path: &Path) -> Result<(), Error> {
        let source = Source::read(name, path)?;
        let table = source.table()?;
        self.layers.extend(source.layers(table.get_ref(), None)?);
        Ok(())
    }

    /// Adds the settings of a package, or of the workspace, in a `Cargo.toml`.
    fn add_manifest(&mut self, root: &Path, path: &Path, package: Option<&str>) -> Result<(), Error> {
        let name = path.strip_prefix(root).unwrap_or(path).display().to_string();
        let source = Source::read(&name, path)?;
        let table = source.table()?;
        let outer = if package.is_some() { "package" } else { "workspace" };
        let mut found = Some(table.get_ref());
        for key in [outer, "metadata"] {
            found = found
                .and_then(|table| get(table, key))
                .and_then(|value| value.get_ref().as_table());
        }
        let Some(section) = found.and_then(|table| get(table, "dpor")) else {
            return Ok(());
        };
        let Some(table) = section.get_ref().as_table() else {
            let what = format!(
                "`{outer}.metadata.dpor` must be a table, and is {}",
                kind(section.get_ref())
            );
            return Err(source.error(section.span().start, what));
        };
        self.layers.extend(source.layers(table, package)?);
        Ok(())
    }

    /// The settings of a test.
    pub fn of_test(&self, package: &str, name: &str) -> Settings {
        let mut settings = self.of_package(package);
        for layer in self.layers_of(package) {
            // Of the overrides of one file, the first counts.
            for choice in layer
                .overrides
                .iter()
                .rev()
                .filter(|choice| choice.chooses(package, name))
            {
                let of = layer.described(Some(choice));
                apply(
                    &choice.entries,
                    layer,
                    of.as_ref(),
                    Settings::has,
                    |key, text, origin| settings.set(key, text, origin),
                );
            }
        }
        settings
    }

    /// The settings of all tests of a package without overrides.
    pub fn of_package(&self, package: &str) -> Settings {
        let mut settings = Settings::default();
        for layer in self.layers_of(package) {
            let of = layer.described(None);
            apply(
                &layer.entries,
                layer,
                of.as_ref(),
                Settings::has,
                |key, text, origin| settings.set(key, text, origin),
            );
        }
        settings
    }

    /// Whether an option of the model is on for some test that the package may have.
    pub fn has_somewhere(&self, package: &str, option: ModelOption) -> bool {
        let overrides = self.layers_of(package).flat_map(|layer| &layer.overrides);
        let mut entries = overrides.flat_map(|choice| &choice.entries);
        self.of_package(package).options[option].value
            || entries.any(|entry| entry.key == option.name() && bool::read(&entry.text) == Ok(true))
    }

    /// The settings of a whole run.
    pub fn of_run(&self) -> RunSettings {
        let mut settings = RunSettings::default();
        for layer in &self.layers {
            let of = layer.described(None);
            apply(
                &layer.entries,
                layer,
                of.as_ref(),
                RunSettings::has,
                |key, text, origin| settings.set(key, text, origin),
            );
            for path in [&mut settings.junit, &mut settings.report] {
                let own =
                    matches!(&path.origin, Origin::File { name, of: own, .. } if *name == layer.name && *own == of);
                if own && !path.value.as_os_str().is_empty() {
                    path.value = layer.folder.join(&path.value);
                }
            }
        }
        settings
    }

    fn layers_of(&self, package: &str) -> impl Iterator<Item = &Layer> {
        let about = move |layer: &&Layer| layer.package.as_ref().is_none_or(|own| own == package);
        self.layers.iter().filter(about)
    }

    /// The overrides, in readable form.
    pub fn overrides(&self) -> impl Iterator<Item = Told<'_>> {
        self.layers.iter().flat_map(|layer| {
            layer.overrides.iter().map(|choice| Told {
                file: &layer.name,
                profile: layer.profile.as_deref(),
                of: choice.description(),
                entries: &choice.entries,
            })
        })
    }

    /// Complaints about overrides that select none of these tests, which are given by package and name. `packages` are
    /// those of the workspace; there is no complaint about an override for a package that is not `whole`, because not
    /// all of its tests are there.
    pub fn idle(&self, packages: &[&str], tests: &[(&str, &str)], whole: &dyn Fn(&str) -> bool) -> Vec<String> {
        let mut complaints = Vec::new();
        for layer in &self.layers {
            for choice in &layer.overrides {
                let about = choice.package.as_deref().or(layer.package.as_deref());
                let unknown = about.is_some_and(|package| !packages.contains(&package));
                let all = match about {
                    Some(package) => whole(package),
                    None => packages.iter().all(|package| whole(package)),
                };
                let in_layer = |package: &str| layer.package.as_ref().is_none_or(|own| own == package);
                let chosen = |&&(package, name): &&(&str, &str)| in_layer(package) && choice.chooses(package, name);
                if unknown || (all && !tests.iter().any(|test| chosen(&test))) {
                    let why = match unknown {
                        true => ": there is no such package in the workspace",
                        false => "",
                    };
                    let (file, line, of) = (&layer.name, choice.line, choice.description());
                    complaints.push(format!("{file}:{line}: the override for {of} chooses no test{why}"));
                }
            }
        }
        complaints
    }

    /// The names of all files with settings.
    pub fn files(&self) -> Vec<&str> {
        let own = self.layers.iter().filter(|layer| layer.profile.is_none());
        own.map(|layer| &*layer.name).collect()
    }
}

/// Applies the entries that are settings of this kind.
fn apply(
    entries: &[Entry],
    layer: &Layer,
    of: Option<&Arc<str>>,
    has: fn(&str) -> bool,
    mut set: impl FnMut(&str, &str, &Origin) -> Result<(), String>,
) {
    for entry in entries.iter().filter(|entry| has(&entry.key)) {
        let origin = Origin::File {
            name: layer.name.clone(),
            line: entry.line,
            of: of.cloned(),
        };
        set(&entry.key, &entry.text, &origin).expect("it was tried when the file was read");
    }
}

#[cfg(test)]
mod tests;
