//! The settings in one file, or in one profile of it.

use regex::Regex;
use std::path::PathBuf;
use std::sync::Arc;

/// The settings in one file, or in one profile of it.
#[derive(Debug)]
pub struct Layer {
    pub name: Arc<str>,
    /// The folder to which paths in it are relative.
    pub folder: PathBuf,
    /// The package to which it applies; `None` for all packages.
    pub package: Option<String>,
    /// The profile to which it belongs. Only those of the selected profile apply.
    pub profile: Option<Arc<str>>,
    pub entries: Vec<Entry>,
    pub overrides: Vec<Override>,
}

/// A setting in a file.
#[derive(Debug)]
pub struct Entry {
    pub key: String,
    pub text: String,
    pub line: usize,
}

/// Settings for some tests.
#[derive(Debug)]
pub struct Override {
    /// Its line in the file.
    pub line: usize,
    pub filter: Option<(String, Filter)>,
    pub package: Option<String>,
    pub entries: Vec<Entry>,
}

/// Selects tests by their names.
#[derive(Debug)]
pub enum Filter {
    Contains(String),
    Is(String),
    Matches(Regex),
}

impl Filter {
    pub fn read(text: &str) -> Result<Filter, String> {
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

    pub fn chooses(&self, name: &str) -> bool {
        match self {
            Filter::Contains(part) => name.contains(part),
            Filter::Is(whole) => name == whole,
            Filter::Matches(regex) => regex.is_match(name),
        }
    }
}

impl Override {
    pub fn chooses(&self, package: &str, name: &str) -> bool {
        self.package.as_ref().is_none_or(|own| own == package)
            && self.filter.as_ref().is_none_or(|(_, filter)| filter.chooses(name))
    }

    /// The tests to which it applies.
    pub fn description(&self) -> Arc<str> {
        let filter = self.filter.as_ref().map(|(text, _)| format!("filter = {text:?}"));
        let package = self.package.as_ref().map(|package| format!("package = {package:?}"));
        let parts: Vec<_> = filter.into_iter().chain(package).collect();
        parts.join(", ").into()
    }
}

impl Layer {
    /// The part of the file to which an entry belongs, if it is not the file as a whole.
    pub fn described(&self, choice: Option<&Override>) -> Option<Arc<str>> {
        let profile = self.profile.as_ref().map(|name| format!("profile {name}"));
        let choice = choice.map(|choice| format!("override for {}", choice.description()));
        let parts: Vec<_> = profile.into_iter().chain(choice).collect();
        (!parts.is_empty()).then(|| parts.join(", ").into())
    }
}
