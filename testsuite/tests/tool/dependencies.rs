//! The page on dependencies names those that there are, and no others.

use cargo_metadata::{Metadata, MetadataCommand};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

type Names = BTreeSet<String>;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The rows of the page's tables, by the title that they are under; of each, the packages that its cells name.
fn tables() -> BTreeMap<String, Vec<Vec<Names>>> {
    let page = fs::read_to_string(root().join("docs/src/dependencies.md")).unwrap();
    let mut tables: BTreeMap<String, Vec<Vec<Names>>> = BTreeMap::new();
    let mut title = String::new();
    for line in page.lines() {
        if let Some(text) = line.strip_prefix("## ") {
            text.clone_into(&mut title);
        }
        if line.starts_with("| `") {
            let cells = line.split('|').skip(1);
            let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect();
            tables
                .entry(title.clone())
                .or_default()
                .push(cells.map(names).collect());
        }
    }
    tables
}

fn firsts(rows: &[Vec<Names>]) -> Names {
    let all = rows.iter().flat_map(|cells| &cells[0]).cloned();
    let names: Names = all.clone().collect();
    assert_eq!(names.len(), all.count(), "a package has two rows");
    names
}

fn metadata(folder: &str) -> Metadata {
    MetadataCommand::new()
        .manifest_path(root().join(folder).join("Cargo.toml"))
        .other_options(["--locked", "--filter-platform", "x86_64-unknown-linux-gnu"].map(String::from))
        .exec()
        .unwrap()
}

/// What the manifest of a package asks for, but for packages of the project.
fn direct(metadata: &Metadata, package: &str) -> Names {
    let package = metadata.workspace_packages().into_iter().find(|p| *p.name == package);
    let dependencies = package.unwrap().dependencies.iter();
    let others = dependencies.filter(|dependency| dependency.path.is_none());
    others.map(|dependency| dependency.name.clone()).collect()
}

/// What is compiled for a package of the project, but for others of the project. Cargo's metadata has the features of
/// the whole workspace.
fn compiled(package: &str) -> Names {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--locked", "--target", "x86_64-unknown-linux-gnu"])
        .args(["--package", package, "--edges", "normal,build", "--prefix", "none"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let names = text.lines().filter_map(|line| line.split(' ').next());
    names
        .filter(|name| !name.starts_with("dpor-"))
        .map(String::from)
        .collect()
}

/// All packages of a lock file, those for other platforms included.
fn locked(folder: &str) -> Names {
    let text = fs::read_to_string(root().join(folder).join("Cargo.lock")).unwrap();
    let names = text
        .lines()
        .filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    names.map(String::from).collect()
}

#[test]
fn the_page_names_all_dependencies_and_no_others() {
    let tables = tables();
    let (own, peers) = (metadata("."), metadata("testsuite/peers"));
    assert_eq!(firsts(&tables["In a test process"]), compiled("dpor-facade-std"));
    assert_eq!(firsts(&tables["In the tool"]), direct(&own, "cargo-dpor"));
    let tests = &direct(&own, "dpor-testsuite") | &direct(&peers, "peers");
    assert_eq!(firsts(&tables["In tests and benchmarks"]), tests);
    let locked_here = locked(".");
    for cells in &tables["In the tool"] {
        assert!(
            cells[2].is_subset(&locked_here),
            "{:?} brings others than {:?}",
            cells[0],
            cells[2]
        );
    }
}

/// Whatever package is added has its row in one of the tables.
#[test]
fn every_manifest_is_looked_at() {
    let tables = tables();
    let used = tables.iter().filter(|(title, _)| *title != "Asked for, and not used");
    let named: Names = used.flat_map(|(_, rows)| firsts(rows)).collect();
    let own = metadata(".");
    for package in own.workspace_packages() {
        let missing = &direct(&own, &package.name) - &named;
        assert!(missing.is_empty(), "{} depends on {missing:?}", package.name);
    }
}

#[test]
fn what_is_not_used_is_not_there() {
    let there = &firsts(&tables()["Asked for, and not used"]) & &locked(".");
    assert!(there.is_empty(), "{there:?}");
}
