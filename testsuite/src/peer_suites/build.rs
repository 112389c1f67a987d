//! Fetches the tests of a suite and builds them.

use super::plan::{Plan, Treatment};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A suite, built.
#[derive(Debug)]
pub struct Suite {
    /// What is to be done with it.
    pub plan: Plan,
    /// The executables with their targets' names.
    pub(super) executables: BTreeMap<String, PathBuf>,
    /// The tests that are not built, each with its target's name.
    pub(super) cut: Vec<String>,
}

/// A line of `cargo test --message-format json`.
#[derive(Deserialize)]
struct Message {
    executable: Option<PathBuf>,
    target: Option<Target>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

/// `cargo metadata`.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    manifest_path: PathBuf,
}

impl Suite {
    /// Fetches, changes and builds the tests, in a folder of the target folder.
    ///
    /// # Errors
    /// In words.
    pub fn build(package: &str) -> Result<Suite, String> {
        let plan = Plan::of(package)?;
        let work = crate::tool::target_folder().join("tmp/peer-suites");
        let source = fetch(&plan, &work)?;
        let project = work.join(package);
        let said = |error| format!("{}: {error}", project.display());
        if project.exists() {
            fs::remove_dir_all(project.join("tests")).map_err(said)?;
        }
        fs::create_dir_all(project.join("src")).map_err(said)?;
        write(&project.join("src/lib.rs"), "")?;
        write(&project.join("Cargo.toml"), &manifest(&plan))?;
        let mut copy = Copy {
            plan: &plan,
            cut: Vec::new(),
        };
        copy.folder(&source.join("tests"), &project.join("tests"), "")?;
        let Copy { cut, .. } = copy;
        check_substitutions(&plan, &source)?;
        let executables = compile(&project, &work.join("target"))?;
        Ok(Suite { plan, executables, cut })
    }
}

/// The folder of the package's sources, in Cargo's registry.
fn fetch(plan: &Plan, work: &Path) -> Result<PathBuf, String> {
    let Plan { package, version, .. } = plan;
    let project = work.join(format!("fetch-{package}"));
    fs::create_dir_all(project.join("src")).map_err(|error| format!("{}: {error}", project.display()))?;
    write(&project.join("src/lib.rs"), "")?;
    let manifest = format!(
        "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n{package} = \"={version}\"\n"
    );
    write(&project.join("Cargo.toml"), &manifest)?;
    let output = cargo(&project)
        .args(["metadata", "--format-version", "1"])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| error.to_string())?;
    let metadata: Metadata = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{package} {version} cannot be fetched: {error}"))?;
    let found = metadata
        .packages
        .into_iter()
        .find(|found| found.name == *package && found.version == *version)
        .ok_or(format!("{package} {version} was not fetched"))?;
    let folder = found.manifest_path.parent().map(Path::to_path_buf);
    folder.ok_or(format!("{package} has no folder"))
}

fn cargo(project: &Path) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(project);
    cargo
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    // Cargo goes by the time of change.
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn manifest(plan: &Plan) -> String {
    let mut dependencies = toml::Table::new();
    for (name, value) in &plan.dependencies {
        dependencies.insert(name.clone(), value.clone());
    }
    let stand_in = super::folder(&plan.package).display().to_string();
    let stand_in = toml::Table::from_iter([("path".to_owned(), toml::Value::String(stand_in))]);
    dependencies.insert(plan.package.clone(), toml::Value::Table(stand_in));
    let dependencies = toml::Table::from_iter([("dev-dependencies".to_owned(), toml::Value::Table(dependencies))]);
    let edition = &plan.edition;
    format!(
        "[package]\nname = \"suite\"\nversion = \"0.0.0\"\nedition = \"{edition}\"\n\n[workspace]\n\n\
         [features]\ndefault = [\"futures\"]\nfutures = []\n\n\
         {}\n[profile.dev]\nopt-level = 2\ndebug = \"line-tables-only\"\n",
        toml::to_string(&dependencies).unwrap_or_default()
    )
}

/// Copies the tests that are built, as they are to be.
struct Copy<'a> {
    plan: &'a Plan,
    cut: Vec<String>,
}

impl Copy<'_> {
    fn folder(&mut self, from: &Path, to: &Path, prefix: &str) -> Result<(), String> {
        let said = |error| format!("{}: {error}", from.display());
        fs::create_dir_all(to).map_err(said)?;
        let mut entries: Vec<_> = fs::read_dir(from).map_err(said)?.flatten().collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            let module = format!("{prefix}{}", name.strip_suffix(".rs").unwrap_or(&name));
            if path.is_dir() {
                self.folder(&path, &to.join(&name), &format!("{module}/"))?;
            } else if name.ends_with(".rs") {
                let text = fs::read_to_string(&path).map_err(said)?;
                let built = self.plan.files.contains(&module);
                let changed = self.file(&format!("{prefix}{name}"), &module.replace('/', "::"), text, built);
                if built {
                    write(&to.join(&name), &changed)?;
                }
            }
        }
        Ok(())
    }

    /// The text with its substitutions, and without the tests that are cut.
    fn file(&mut self, file: &str, module: &str, mut text: String, built: bool) -> String {
        for change in &self.plan.substitutions {
            if change.files.iter().any(|name| name == file) {
                text = text.replace(&change.find, &change.replace);
            }
        }
        let mut kept: Vec<&str> = Vec::new();
        // The line at which the item begins that the present line belongs to.
        let mut item = 0;
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if line.is_empty() {
                item = kept.len() + 1;
            }
            let name = line.strip_prefix("fn ").and_then(|rest| rest.split(['(', '<']).next());
            let is_test = kept[item.min(kept.len())..].contains(&"#[test]");
            let Some(name) = name.filter(|_| is_test) else {
                kept.push(line);
                continue;
            };
            let test = format!("{module}::{name}");
            let cut = self
                .plan
                .exception(&test)
                .is_some_and(|exception| exception.treatment == Treatment::Cut);
            if !cut && built {
                kept.push(line);
                continue;
            }
            self.cut.push(test);
            kept.truncate(item);
            if line.ends_with('}') {
                continue;
            }
            for line in lines.by_ref() {
                if line == "}" {
                    break;
                }
            }
        }
        kept.join("\n") + "\n"
    }
}

/// Says which substitution has nothing to do.
fn check_substitutions(plan: &Plan, source: &Path) -> Result<(), String> {
    for change in &plan.substitutions {
        for file in &change.files {
            let path = source.join("tests").join(file);
            let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            // It may be about what another one has made.
            let made = plan
                .substitutions
                .iter()
                .any(|other| other.replace.contains(&change.find));
            if !made && !text.contains(&change.find) {
                return Err(format!("{file} does not contain {:?}", change.find));
            }
        }
    }
    Ok(())
}

fn compile(project: &Path, target: &Path) -> Result<BTreeMap<String, PathBuf>, String> {
    let output = cargo(project)
        .args([
            "test",
            "--no-run",
            "--message-format",
            "json-render-diagnostics",
            "--target-dir",
        ])
        .arg(target)
        // What lints say of the tests is none of our business, and a test may deny all warnings.
        .env("RUSTFLAGS", "--cap-lints=allow")
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(format!("the tests in {} do not build", project.display()));
    }
    let lines = String::from_utf8_lossy(&output.stdout);
    let messages = lines
        .lines()
        .filter_map(|line| serde_json::from_str::<Message>(line).ok());
    let executables = messages.filter_map(|message| {
        let target = message.target.filter(|target| target.kind == ["test"])?;
        Some((target.name, message.executable?))
    });
    Ok(executables.collect())
}
