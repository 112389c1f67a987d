//! Configuration files: `dpor.toml` beside the workspace's `Cargo.toml`, and the metadata tables of the packages and
//! the workspace.
//!
//! Files are layers. A later one covers what earlier ones say of the same setting, an override covers what is said of
//! all tests, and the command line covers everything.

mod settings;

pub use settings::{Jobs, KeyDoc, Limit, Origin, Policy, Row, RunSettings, Settings, Value};

use crate::error::Error;
use cargo_metadata::Metadata;
use regex::Regex;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The name of the workspace's own file.
pub const FILE: &str = "dpor.toml";

/// The name for settings outside of profiles.
const NO_PROFILE: &str = "default";

/// The settings in all files.
#[derive(Debug, Default)]
pub struct Config {
    /// The layers, from the lowest to the highest precedence. Those of profiles come last.
    layers: Vec<Layer>,
    /// The selected profile.
    profile: Option<Arc<str>>,
}

/// The settings in one file, or in one profile of it.
#[derive(Debug)]
struct Layer {
    name: Arc<str>,
    /// The folder to which paths in it are relative.
    folder: PathBuf,
    /// The package to which it applies; `None` for all packages.
    package: Option<String>,
    /// The profile to which it belongs. Only those of the selected profile apply.
    profile: Option<Arc<str>>,
    entries: Vec<Entry>,
    overrides: Vec<Override>,
}

/// A setting in a file.
#[derive(Debug)]
pub struct Entry {
    pub key: String,
    pub text: String,
    pub line: usize,
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

/// Settings for some tests.
#[derive(Debug)]
struct Override {
    /// Its line in the file.
    line: usize,
    filter: Option<(String, Filter)>,
    package: Option<String>,
    entries: Vec<Entry>,
}

/// Selects tests by their names.
#[derive(Debug)]
enum Filter {
    Contains(String),
    Is(String),
    Matches(Regex),
}

impl Filter {
    fn read(text: &str) -> Result<Filter, String> {
        if let Some(name) = text.strip_prefix('=') {
            return Ok(Filter::Is(name.into()));
        }
        match text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
            Some(regex) => Regex::new(regex)
                .map(Filter::Matches)
                .map_err(|error| error.to_string()),
            None => Ok(Filter::Contains(text.into())),
        }
    }

    fn chooses(&self, name: &str) -> bool {
        match self {
            Filter::Contains(part) => name.contains(part),
            Filter::Is(whole) => name == whole,
            Filter::Matches(regex) => regex.is_match(name),
        }
    }
}

impl Override {
    fn chooses(&self, package: &str, name: &str) -> bool {
        self.package.as_ref().is_none_or(|own| own == package)
            && self.filter.as_ref().is_none_or(|(_, filter)| filter.chooses(name))
    }

    /// The tests to which it applies.
    fn description(&self) -> Arc<str> {
        let filter = self.filter.as_ref().map(|(text, _)| format!("filter = {text:?}"));
        let package = self.package.as_ref().map(|package| format!("package = {package:?}"));
        let parts: Vec<_> = filter.into_iter().chain(package).collect();
        parts.join(", ").into()
    }
}

impl Config {
    /// Reads the files of a workspace. `file` replaces [`FILE`], and the settings of `profile` apply, too.
    ///
    /// # Errors
    /// [`Error::Config`] with the file, the line and the key if one of them is not understood; [`Error::Usage`] if
    /// there is no such file or no such profile; [`Error::Io`] if a file cannot be read.
    pub fn load(metadata: &Metadata, file: Option<&Path>, profile: Option<&str>) -> Result<Config, Error> {
        let root = metadata.workspace_root.as_std_path();
        let mut config = Config::default();
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
                    Settings::KEYS,
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
                Settings::KEYS,
                |key, text, origin| settings.set(key, text, origin),
            );
        }
        settings
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
                RunSettings::KEYS,
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

impl Layer {
    /// The part of the file to which an entry belongs, if it is not the file as a whole.
    fn described(&self, choice: Option<&Override>) -> Option<Arc<str>> {
        let profile = self.profile.as_ref().map(|name| format!("profile {name}"));
        let choice = choice.map(|choice| format!("override for {}", choice.description()));
        let parts: Vec<_> = profile.into_iter().chain(choice).collect();
        (!parts.is_empty()).then(|| parts.join(", ").into())
    }
}

/// Applies the entries that are settings of this kind.
fn apply(
    entries: &[Entry],
    layer: &Layer,
    of: Option<&Arc<str>>,
    keys: &[&str],
    mut set: impl FnMut(&str, &str, &Origin) -> Result<(), String>,
) {
    for entry in entries.iter().filter(|entry| keys.contains(&entry.key.as_str())) {
        let origin = Origin::File {
            name: layer.name.clone(),
            line: entry.line,
            of: of.cloned(),
        };
        set(&entry.key, &entry.text, &origin).expect("it was tried when the file was read");
    }
}

/// A file, for errors with lines.
struct Source {
    name: Arc<str>,
    folder: PathBuf,
    text: String,
}

impl Source {
    fn read(name: &str, path: &Path) -> Result<Source, Error> {
        if path.is_dir() {
            return Err(Error::Usage(format!(
                "{name} is a folder, and should be a file with the configuration"
            )));
        }
        let bytes = std::fs::read(path).map_err(Error::io(format!("cannot read {}", path.display())))?;
        let mut source = Source {
            name: name.into(),
            folder: path.parent().unwrap_or(Path::new("")).into(),
            text: String::new(),
        };
        match String::from_utf8(bytes) {
            Ok(text) => source.text = text,
            Err(error) => {
                let (at, bytes) = (error.utf8_error().valid_up_to(), error.into_bytes());
                source.text = String::from_utf8_lossy(&bytes[..at]).into_owned();
                let what = format!("the byte {:#04x} is no UTF-8: TOML files are UTF-8", bytes[at]);
                return Err(source.error(at, what));
            }
        }
        Ok(source)
    }

    fn table(&self) -> Result<Spanned<DeTable<'_>>, Error> {
        DeTable::parse(&self.text)
            .map_err(|error| self.error(error.span().map_or(0, |span| span.start), error.message().to_owned()))
    }

    fn line(&self, at: usize) -> usize {
        self.text.bytes().take(at).filter(|&byte| byte == b'\n').count() + 1
    }

    fn error(&self, at: usize, what: String) -> Error {
        Error::Config {
            file: self.name.to_string(),
            line: self.line(at),
            what,
        }
    }

    /// The settings of a table itself, and then those of each of its profiles.
    fn layers(&self, table: &DeTable<'_>, package: Option<&str>) -> Result<Vec<Layer>, Error> {
        let mut layers = vec![self.layer(table, package, None)?];
        let Some(profiles) = get(table, "profile") else {
            return Ok(layers);
        };
        let at = profiles.span().start;
        let Some(profiles) = profiles.get_ref().as_table() else {
            let what = format!(
                "`profile` must be a table of profiles, and is {}: write `[profile.ci]`, with its settings below \
                 (--config-profile chooses one)",
                kind(profiles.get_ref())
            );
            return Err(self.error(at, what));
        };
        for (name, profile) in profiles {
            let (at, name) = (name.span().start, name.get_ref());
            let Some(table) = profile.get_ref().as_table() else {
                let what = format!(
                    "`profile.{name}` must be a table, and is {}: write `[profile.{name}]`, with its settings below",
                    kind(profile.get_ref())
                );
                return Err(self.error(at, what));
            };
            if name == NO_PROFILE || name.is_empty() {
                let what =
                    format!("a profile cannot be called `{name}`: what holds without one stands outside of profiles");
                return Err(self.error(at, what));
            }
            layers.push(self.layer(table, package, Some(name))?);
        }
        Ok(layers)
    }

    fn layer(&self, table: &DeTable<'_>, package: Option<&str>, profile: Option<&str>) -> Result<Layer, Error> {
        let mut layer = Layer {
            name: self.name.clone(),
            folder: self.folder.clone(),
            package: package.map(String::from),
            profile: profile.map(Arc::from),
            entries: Vec::new(),
            overrides: Vec::new(),
        };
        for (key, value) in table {
            if key.get_ref() == "profile" && profile.is_none() {
                continue;
            }
            if key.get_ref() == "overrides" {
                let tables = value
                    .get_ref()
                    .as_array()
                    .map(|array| array.iter())
                    .into_iter()
                    .flatten();
                let tables: Vec<_> = tables.map(|item| (item, item.get_ref().as_table())).collect();
                if !value.get_ref().is_array() || tables.iter().any(|(_, table)| table.is_none()) {
                    let what = "`overrides` must be an array of tables: write `[[overrides]]`".to_owned();
                    return Err(self.error(key.span().start, what));
                }
                for (item, table) in tables {
                    layer
                        .overrides
                        .extend(table.map(|table| self.choice(item, table)).transpose()?);
                }
            } else {
                layer
                    .entries
                    .push(self.entry(key.get_ref(), key.span().start, value, package.is_none())?);
            }
        }
        layer.entries.sort_by_key(|entry| entry.line);
        Ok(layer)
    }

    fn choice(&self, item: &Spanned<DeValue<'_>>, table: &DeTable<'_>) -> Result<Override, Error> {
        let mut choice = Override {
            line: self.line(item.span().start),
            filter: None,
            package: None,
            entries: Vec::new(),
        };
        for (key, value) in table {
            let at = key.span().start;
            match (key.get_ref().as_ref(), value.get_ref().as_str()) {
                (key @ ("filter" | "package"), None) => {
                    let what = format!("`{key}` must be a string, and is {}", kind(value.get_ref()));
                    return Err(self.error(at, what));
                }
                ("filter", Some(text)) => {
                    let filter = Filter::read(text).map_err(|what| self.error(at, format!("`filter`: {what}")))?;
                    choice.filter = Some((text.into(), filter));
                }
                ("package", Some(text)) => choice.package = Some(text.into()),
                (key, _) => choice.entries.push(self.entry(key, at, value, false)?),
            }
        }
        if choice.filter.is_none() && choice.package.is_none() {
            let what = "an override must have a `filter` or a `package`, which say for which tests it is".to_owned();
            return Err(self.error(item.span().start, what));
        }
        choice.entries.sort_by_key(|entry| entry.line);
        Ok(choice)
    }

    /// Reads a setting. Settings of a whole run are not allowed everywhere.
    fn entry(&self, key: &str, at: usize, value: &Spanned<DeValue<'_>>, run: bool) -> Result<Entry, Error> {
        let text = match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str().to_owned()),
            DeValue::Float(number) => Ok(number.as_str().to_owned()),
            DeValue::Boolean(value) => Ok(value.to_string()),
            other => Err(format!("{} cannot be its value", kind(other))),
        };
        let error = |what: String| self.error(at, what);
        let advised = |what: String| match example(key) {
            Some(example) => error(format!("`{key}`: {what}; write `{key} = {example}`, for example")),
            None => error(format!("`{key}`: {what}")),
        };
        let judged = match (Settings::KEYS.contains(&key), RunSettings::KEYS.contains(&key)) {
            (true, _) => text.and_then(|text| Settings::default().set(key, &text, &Origin::Default).map(|()| text)),
            (_, true) if run => {
                text.and_then(|text| RunSettings::default().set(key, &text, &Origin::Default).map(|()| text))
            }
            (_, true) => {
                return Err(error(format!(
                    "`{key}` is for a whole run, and can only be set for the workspace"
                )));
            }
            _ if ["filter", "package"].contains(&key) => {
                return Err(error(format!("`{key}` belongs into a table of `[[overrides]]`")));
            }
            _ => {
                let known = Settings::KEYS.iter().chain(RunSettings::KEYS.iter().filter(|_| run));
                let known: Vec<_> = known.map(|key| format!("`{key}`")).collect();
                return Err(error(format!("unknown key `{key}`; there are {}", known.join(", "))));
            }
        };
        let text = judged.map_err(advised)?;
        let (key, line) = (key.to_owned(), self.line(at));
        Ok(Entry { key, text, line })
    }
}

/// A value for the setting of this name, as it is written in a file.
fn example(key: &str) -> Option<&'static str> {
    let mut all = Settings::DOCS.iter().chain(RunSettings::DOCS);
    all.find_map(|doc| (doc.key == key).then_some(doc.example))
}

/// The kind of value, with its article.
fn kind(value: &DeValue<'_>) -> String {
    let name = value.type_str();
    let article = if name.starts_with(['a', 'i']) { "an" } else { "a" };
    format!("{article} {name}")
}

fn get<'a, 'i>(table: &'a DeTable<'i>, key: &str) -> Option<&'a Spanned<DeValue<'i>>> {
    table
        .iter()
        .find_map(|(own, value)| (own.get_ref() == key).then_some(value))
}

#[cfg(test)]
mod tests;
