//! Reads configuration files. Errors have the file, the line and the key.

use crate::config::layer::{Entry, Filter, Layer, Override};
use crate::config::settings::{Origin, RunSettings, Settings};
use crate::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// The name for settings outside of profiles.
pub const NO_PROFILE: &str = "default";

/// A file, for errors with lines.
pub struct Source {
    pub name: Arc<str>,
    pub folder: PathBuf,
    pub text: String,
}

impl Source {
    pub fn read(name: &str, path: &Path) -> Result<Source, Error> {
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

    pub fn table(&self) -> Result<Spanned<DeTable<'_>>, Error> {
        DeTable::parse(&self.text)
            .map_err(|error| self.error(error.span().map_or(0, |span| span.start), error.message().to_owned()))
    }

    pub fn line(&self, at: usize) -> usize {
        self.text.bytes().take(at).filter(|&byte| byte == b'\n').count() + 1
    }

    pub fn error(&self, at: usize, what: String) -> Error {
        Error::Config {
            file: self.name.to_string(),
            line: self.line(at),
            what,
        }
    }

    /// The settings of a table itself, and then those of each of its profiles.
    pub fn layers(&self, table: &DeTable<'_>, package: Option<&str>) -> Result<Vec<Layer>, Error> {
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

    pub fn layer(&self, table: &DeTable<'_>, package: Option<&str>, profile: Option<&str>) -> Result<Layer, Error> {
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

    pub fn choice(&self, item: &Spanned<DeValue<'_>>, table: &DeTable<'_>) -> Result<Override, Error> {
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
    pub fn entry(&self, key: &str, at: usize, value: &Spanned<DeValue<'_>>, run: bool) -> Result<Entry, Error> {
        let text = match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str().to_owned()),
            DeValue::Float(number) => Ok(number.as_str().to_owned()),
            DeValue::Boolean(value) => Ok(value.to_string()),
            DeValue::Array(items) if example(key).is_some_and(|example| example.starts_with('[')) => lines(items),
            other => Err(format!("{} cannot be its value", kind(other))),
        };
        let error = |what: String| self.error(at, what);
        let advised = |what: String| match example(key) {
            Some(example) => error(format!("`{key}`: {what}; write `{key} = {example}`, for example")),
            None => error(format!("`{key}`: {what}")),
        };
        let judged = match (Settings::has(key), RunSettings::has(key)) {
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
                let known = Settings::docs()
                    .into_iter()
                    .chain(RunSettings::docs().into_iter().filter(|_| run));
                let known: Vec<_> = known.map(|doc| format!("`{}`", doc.key)).collect();
                return Err(error(format!("unknown key `{key}`; there are {}", known.join(", "))));
            }
        };
        let text = judged.map_err(advised)?;
        let (key, line) = (key.to_owned(), self.line(at));
        Ok(Entry { key, text, line })
    }
}

/// The strings of an array, one a line.
fn lines(items: &DeArray<'_>) -> Result<String, String> {
    let line = |item: &Spanned<DeValue<'_>>| match item.get_ref().as_str() {
        Some(text) if text.contains('\n') => Err("a string of an array cannot have several lines".to_owned()),
        Some(text) => Ok(format!("{text}\n")),
        None => Err(format!("an array has strings, and not {}", kind(item.get_ref()))),
    };
    items.iter().map(line).collect()
}

/// A value for the setting of this name, as it is written in a file.
fn example(key: &str) -> Option<&'static str> {
    let mut all = Settings::docs().into_iter().chain(RunSettings::docs());
    all.find_map(|doc| (doc.key == key).then_some(doc.example))
}

/// The kind of value, with its article.
pub fn kind(value: &DeValue<'_>) -> String {
    let name = value.type_str();
    let article = if name.starts_with(['a', 'i']) { "an" } else { "a" };
    format!("{article} {name}")
}

pub fn get<'a, 'i>(table: &'a DeTable<'i>, key: &str) -> Option<&'a Spanned<DeValue<'i>>> {
    table
        .iter()
        .find_map(|(own, value)| (own.get_ref() == key).then_some(value))
}
