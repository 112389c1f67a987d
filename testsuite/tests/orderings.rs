//! Published libraries whose orderings were too weak, and the versions that mend them, with weak memory and without.
//! Each failure is found again from its seed.
//!
//! The tool is the one that `CARGO_DPOR_BIN` names, or else is built first.

use dpor_testsuite::project::Project;
use dpor_testsuite::tool;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What a version comes to: `complete`, or the kind of failure.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Results {
    rc11: String,
    sc: String,
}

/// A table of `expected.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Library {
    before: Results,
    after: Option<Results>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("orderings")
}

fn expected() -> BTreeMap<String, Library> {
    let text = fs::read_to_string(folder().join("expected.toml")).unwrap();
    toml::from_str(&text).unwrap()
}

/// What all tests of each library come to; each failure is replayed.
fn explore(version: &str, flags: &[&str]) -> BTreeMap<String, String> {
    let project = Project::of(folder().join(version));
    let target = tool::target_folder().join("tmp/orderings").join(version);
    let target = ["--target-dir", target.to_str().unwrap(), "--message-format", "json"];
    let run = project.run(&[&["test", "--max-time", "none"], flags, &target].concat());
    let mut met = BTreeMap::new();
    for test in run.events("test-finished") {
        let text = |value: &serde_json::Value| value.as_str().expect("it is a text").to_owned();
        let kind = &test["failure"]["kind"];
        let result = text(if kind.is_null() { &test["verdict"] } else { kind });
        if !kind.is_null() {
            let seed = text(&test["seed"]);
            let replayed = project.run(&[&["replay", &seed], &target[..]].concat()).ends(1);
            assert_eq!(&replayed.events("replayed")[0]["failure"]["kind"], kind, "{replayed:?}");
        }
        let library = text(&test["test"]["target"]);
        let same = met.entry(library.clone()).or_insert_with(|| result.clone());
        assert_eq!(*same, result, "{library}, {version}: {test}");
    }
    assert!(!met.is_empty(), "{run:?}");
    met
}

#[test]
fn versions_are_told_apart() {
    let expected = expected();
    let of = |version: &str, result: fn(&Results) -> &String| -> BTreeMap<String, String> {
        let results = expected.iter().filter_map(|(name, library)| match version {
            "before" => Some((name, &library.before)),
            _ => Some((name, library.after.as_ref()?)),
        });
        let told = |(name, results): (&String, _)| (name.clone(), result(results).clone());
        results.map(told).collect()
    };
    for version in ["before", "after"] {
        for strategy in ["states", "context"] {
            let met = explore(version, &["--strategy", strategy]);
            assert_eq!(met, of(version, |results| &results.rc11), "{version}, {strategy}");
        }
        let met = explore(version, &["--memory", "sc"]);
        assert_eq!(met, of(version, |results| &results.sc), "{version}, sc");
    }
}

/// The table of the page.
#[test]
fn the_page_tells_of_them() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/weak-memory.md");
    let page = fs::read_to_string(page).unwrap();
    // By name of the library in Rust: its own, and the version.
    let versions = |version: &str| -> BTreeMap<String, (String, String)> {
        let text = fs::read_to_string(folder().join(version).join("Cargo.toml")).unwrap();
        let manifest: toml::Table = toml::from_str(&text).unwrap();
        let version = |value: &toml::Value| {
            let value = value.get("version").unwrap_or(value);
            value.as_str().unwrap().trim_start_matches('=').to_owned()
        };
        let dependencies = manifest["dependencies"].as_table().unwrap();
        let named = |(name, value): (&String, &toml::Value)| (name.replace('-', "_"), (name.clone(), version(value)));
        dependencies.iter().map(named).collect()
    };
    let (before, after) = (versions("before"), versions("after"));
    for (name, library) in expected() {
        let Results { rc11, sc } = &library.before;
        let mended = after.get(&name).map_or("—", |(_, version)| version);
        assert_eq!(library.after.is_some(), after.contains_key(&name), "{name}");
        let (own, version) = &before[&name];
        let row = format!("| {own} | {version} | {rc11} | {sc} | {mended} |\n");
        assert!(page.contains(&row), "the page has no row {row}");
    }
}
