//! `cargo dpor init`: a configuration file that shows every key, and a workflow.

use crate::cli::{CargoArgs, Ci, InitArgs};
use crate::config::{FILE, KeyDoc, Row, RunSettings, Settings};
use crate::error::{Error, Exit};
use crate::run::pages::print;
use crate::run::project::Project;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

/// The workflow, with placeholders.
const WORKFLOW: &str = include_str!("init/github.yml");
/// Its place in a repository.
const WORKFLOW_FILE: &str = ".github/workflows/dpor.yml";
/// The expected place of cargo-dpor's repository in this one.
const SUBMODULE: &str = "tools/cargo-dpor";

/// Writes the requested files, and says so.
pub fn init(args: &InitArgs) -> Result<Exit, Error> {
    let project = Project::find(&CargoArgs {
        manifest_path: args.manifest_path.clone(),
        ..CargoArgs::default()
    })?;
    let root = project.metadata.workspace_root.as_std_path();
    let mut said = String::new();
    let own = root.join(FILE);
    if args.ci.is_some() && !args.force && own.exists() {
        // Who has one may still want a workflow.
        said += &format!("{} already exists, and is kept\n", own.display());
    } else {
        write(&own, &configuration(), args.force)?;
        said += &format!("wrote {}: every key with its default, as a comment\n", own.display());
    }
    match args.ci {
        Some(Ci::Github) => {
            let repository = repository(root);
            let file = repository.join(WORKFLOW_FILE);
            write(
                &file,
                &workflow(root.strip_prefix(repository).unwrap_or(root)),
                args.force,
            )?;
            said += &format!("wrote {}: it explores the tests of each push\n", file.display());
            if !repository.join(SUBMODULE).exists() {
                said += &format!(
                    "it takes cargo-dpor from a submodule: `git submodule add \"$(git -C ../cargo-dpor remote get-url \
                     origin)\" {SUBMODULE}`, where ../cargo-dpor is your clone of its repository\n"
                );
            }
        }
        None => said += "`cargo dpor init --ci github` writes a workflow for GitHub as well\n",
    }
    print(said.as_bytes())
}

/// Writes a file and its folder; overwrites an old one only with `force`.
fn write(path: &Path, text: &str, force: bool) -> Result<(), Error> {
    let what = || format!("cannot write {}", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(Error::io(what()))?;
    }
    let mut options = File::options();
    options.write(true).create(true).truncate(true).create_new(!force);
    let mut file = options.open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Error::Usage(format!("{} already exists; --force overwrites it", path.display()))
        }
        _ => Error::io(what())(error),
    })?;
    file.write_all(text.as_bytes()).map_err(Error::io(what()))
}

/// The repository that contains this folder; the folder itself if there is none.
fn repository(folder: &Path) -> &Path {
    let mut all = folder.ancestors();
    all.find(|folder| folder.join(".git").exists()).unwrap_or(folder)
}

/// The workflow for a workspace in this folder of its repository.
fn workflow(folder: &Path) -> String {
    let folder = match folder.as_os_str().is_empty() {
        true => String::new(),
        // In single quotes, YAML knows no escapes but for the quote itself.
        false => format!(
            "          working-directory: '{}'\n",
            folder.display().to_string().replace('\'', "''")
        ),
    };
    WORKFLOW
        .replace("@SUBMODULE@", SUBMODULE)
        .replace("@FOLDER@\n", &folder)
}

/// A configuration file that changes nothing, and shows what can be changed.
fn configuration() -> String {
    let mut out = String::from(
        "# How `cargo dpor` explores the tests of this workspace. This file has every key with its default: remove\n\
         # the `#` before a key to change it. `cargo dpor show-config` prints the settings and where they come from;\n\
         # `cargo dpor help test` explains them.\n",
    );
    keys(&mut out, &Settings::docs(), &Settings::default().rows());
    out += "\n# The rest is for a run as a whole.\n";
    keys(&mut out, &RunSettings::docs(), &RunSettings::default().rows());
    out += OTHERS;
    out
}

/// Tables without defaults, with examples.
const OTHERS: &str = "
# For some tests only: those whose name contains the filter, is it (\"=name\"), or matches it (\"/regex/\"), of one
# package or of all.
#[[overrides]]
#filter = \"stress::\"
#package = \"queue\"
#max-time = \"5m\"

# For runs with `--config-profile ci`, or with CARGO_DPOR_PROFILE=ci in the environment. A profile can have
# overrides, too.
#[profile.ci]
#max-time = \"10m\"
#[[profile.ci.overrides]]
#filter = \"stress::\"
#max-time = \"30m\"
";

fn keys(out: &mut String, docs: &[KeyDoc], rows: &[Row<'_>]) {
    for (doc, row) in docs.iter().zip(rows) {
        let such_as = match row.value.as_str() {
            "none" | "[]" => format!("  # such as {}", doc.example),
            _ => String::new(),
        };
        let default = literal(&row.value);
        let _ = write!(out, "\n# {}\n#{} = {default}{such_as}\n", doc.meaning, doc.key);
    }
}

/// A value as it is written in a file.
fn literal(value: &str) -> String {
    let bare = value.parse::<u64>().is_ok() || value.parse::<bool>().is_ok() || value.starts_with('[');
    if bare { value.into() } else { format!("{value:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ConfigFiles, Origin};
    use cargo_metadata::MetadataCommand;

    /// The configuration of a workspace with this file.
    fn load(text: &str) -> ConfigFiles {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| write(&folder.path().join(path), text, false).unwrap();
        write(
            "Cargo.toml",
            "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
        );
        write("src/lib.rs", "");
        write(FILE, text);
        let mut command = MetadataCommand::new();
        let metadata = command.current_dir(folder.path()).no_deps().exec().unwrap();
        ConfigFiles::load(&metadata, None, Some("ci")).unwrap()
    }

    #[test]
    fn the_file_shows_every_key_with_its_default() {
        let text = configuration();
        assert!(
            text.lines().all(|line| line.is_empty() || line.starts_with('#')),
            "{text}"
        );
        let plain = |line: &str| match line.strip_prefix('#') {
            Some(rest) if !rest.starts_with(' ') => format!("{rest}\n"),
            _ => format!("{line}\n"),
        };
        let text: String = text.lines().map(plain).collect();
        let config = load(&text);
        assert_eq!(config.profile(), Some("ci"));
        let (settings, run) = (config.of_package("a"), config.of_run());
        let defaults = (Settings::default(), RunSettings::default());
        for (row, default) in settings.rows().iter().zip(defaults.0.rows()) {
            let in_file = matches!(row.origin, Origin::File { .. });
            assert!(in_file, "{} is in the file", row.key);
            // The profile changes one of them.
            assert!(row.value == default.value || row.key == "max-time", "{}", row.key);
        }
        for (row, default) in run.rows().iter().zip(defaults.1.rows()) {
            assert!(matches!(row.origin, Origin::File { .. }), "{} is in the file", row.key);
            assert_eq!(row.value, default.value, "{}", row.key);
        }
        assert_eq!(config.overrides().count(), 2);
    }

    #[test]
    fn the_workflow_has_no_places_left() {
        let plain = workflow(Path::new(""));
        let action = "      - uses: ./tools/cargo-dpor/.github/actions/cargo-dpor\n";
        assert!(
            plain.contains(action) && plain.ends_with("          args: --workspace\n"),
            "{plain}"
        );
        let nested = workflow(Path::new("rust/it's"));
        assert!(
            nested.ends_with("workspace\n          working-directory: 'rust/it''s'\n"),
            "{nested}"
        );
        assert_eq!(nested.matches('@').count(), 1, "that of actions/checkout@v4: {nested}");
    }

    #[test]
    fn a_file_is_replaced_on_demand_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b.yml");
        write(&path, "long text", false).unwrap();
        let error = write(&path, "other", false).unwrap_err();
        assert_eq!(error.exit(), Exit::Usage);
        assert!(
            error
                .to_string()
                .ends_with("b.yml already exists; --force overwrites it"),
            "{error}"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "long text");
        write(&path, "short", true).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "short");
        // Something is in the way that is no file.
        assert_eq!(write(&path.join("c"), "", true).unwrap_err().exit(), Exit::Internal);
    }

    #[test]
    fn the_repository_is_that_of_git() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        fs::create_dir(folder.path().join(".git")).unwrap();
        assert_eq!(repository(&inner), folder.path());
    }
}
