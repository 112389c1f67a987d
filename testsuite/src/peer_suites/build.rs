//! Fetches the tests of a suite and builds them.

use super::SC;
use super::plan::{Plan, Treatment};
use crate::registry;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A suite, built.
#[derive(Debug)]
pub struct Suite {
    /// The plan for the suite.
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

impl Suite {
    /// Fetches, changes and builds the tests, in a folder of the target folder.
    ///
    /// # Errors
    /// In words.
    pub fn build(package: &str) -> Result<Suite, String> {
        let plan = Plan::of(package)?;
        let work = crate::tool::target_folder().join("tmp/peer-suites");
        let source = registry::source(&plan.package, &plan.version)?;
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
            changed: 0,
        };
        copy.folder(&source.join("tests"), &project.join("tests"), "")?;
        let Copy { cut, changed, .. } = copy;
        if changed
            != plan
                .substitutions
                .iter()
                .map(|change| change.files.len())
                .sum::<usize>()
        {
            return Err("a substitution is about a file that there is not".to_owned());
        }
        if let Some(test) = cut.iter().find(|test| plan.exception(test, SC).is_none()) {
            return Err(format!("{test} is not built, and no exception says why"));
        }
        let executables = compile(&project, &work.join("target"))?;
        Ok(Suite { plan, executables, cut })
    }
}

fn cargo(project: &Path) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(project);
    cargo
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    registry::write(path, text.as_bytes()).map_err(|error| format!("{}: {error}", path.display()))
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
         {}\n[profile.dev]\nopt-level = 1\ndebug = \"line-tables-only\"\n",
        toml::to_string(&dependencies).unwrap_or_default()
    )
}

/// Copies the tests to build, with their changes.
struct Copy<'a> {
    plan: &'a Plan,
    cut: Vec<String>,
    /// Number of changes in the text.
    changed: usize,
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
                let text = self.substitute(&format!("{prefix}{name}"), text)?;
                let changed = self.cut(&module, &text, built);
                let text = self.plan.replacements.get(&module).or(built.then_some(&changed));
                if let Some(text) = text {
                    write(&to.join(&name), text)?;
                }
            }
        }
        Ok(())
    }

    /// The text with its substitutions, each of which must change something.
    fn substitute(&mut self, file: &str, mut text: String) -> Result<String, String> {
        for change in &self.plan.substitutions {
            if change.files.iter().any(|name| name == file) {
                if !text.contains(&change.find) {
                    return Err(format!("{file} does not contain {:?}", change.find));
                }
                text = text.replace(&change.find, &change.replace);
                self.changed += 1;
            }
        }
        Ok(text)
    }

    /// The text without the tests that are cut, which are noted; all are if it is not built.
    ///
    /// Goes by how rustfmt lays out items.
    fn cut(&mut self, module: &str, text: &str, built: bool) -> String {
        let mut path: Vec<&str> = module.split('/').filter(|&part| part != "mod").collect();
        let outermost = path.len();
        let mut kept: Vec<&str> = Vec::new();
        // Where the attributes begin that belong to the present line.
        let mut item = 0;
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let code = line.trim_start();
            let indent = &line[..line.len() - code.len()];
            let depth = outermost + indent.len() / 4;
            if !code.starts_with("#[") && !code.starts_with("//") {
                if let Some(name) = code.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(" {")) {
                    path.truncate(depth);
                    path.push(name);
                }
                let name = code.strip_prefix("fn ").and_then(|rest| rest.split(['(', '<']).next());
                let is_test = kept[item..].iter().any(|line| line.trim_start() == "#[test]");
                if let Some(name) = name.filter(|_| is_test) {
                    path.truncate(depth);
                    let test = [&path[..], &[name]].concat().join("::");
                    let exception = self.plan.exception(&test, SC);
                    if !built || exception.is_some_and(|exception| exception.treatment == Treatment::Cut) {
                        self.cut.push(test);
                        kept.truncate(item);
                        let end = format!("{indent}}}");
                        if !line.ends_with('}') {
                            let _ = lines.by_ref().find(|line| *line == end);
                        }
                        continue;
                    }
                }
                item = kept.len() + 1;
            }
            kept.push(line);
        }
        kept.join("\n") + "\n"
    }
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
