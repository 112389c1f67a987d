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
    /// With `--strategy states`, if it comes to a failure of another kind first.
    states: Option<String>,
    /// With `--strategy context`, if it comes to a failure of another kind first.
    context: Option<String>,
    sc: String,
}

/// A table of `expected.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Library {
    before: Results,
    after: Option<Results>,
    /// By test, the orderings with which it is complete: the operation, what it requests, what it would have to, and
    /// where.
    #[serde(default)]
    mends: BTreeMap<String, Vec<String>>,
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
    let of = |version: &str, result: fn(&Results) -> Option<&String>| -> BTreeMap<String, String> {
        let results = expected.iter().filter_map(|(name, library)| match version {
            "before" => Some((name, &library.before)),
            _ => Some((name, library.after.as_ref()?)),
        });
        let told = |(name, results): (&String, _)| (name.clone(), result(results).unwrap_or(&results.rc11).clone());
        results.map(told).collect()
    };
    for version in ["before", "after"] {
        let met = explore(version, &["--strategy", "states"]);
        assert_eq!(met, of(version, |results| results.states.as_ref()), "{version}, states");
        let met = explore(version, &["--strategy", "context"]);
        assert_eq!(
            met,
            of(version, |results| results.context.as_ref()),
            "{version}, context"
        );
        let met = explore(version, &["--memory", "sc"]);
        assert_eq!(met, of(version, |results| Some(&results.sc)), "{version}, sc");
    }
}

/// The path of a source file from the folder of its package on.
fn in_package(file: &str) -> &str {
    let registry = file.split_once("/registry/src/");
    registry.map_or(file, |(_, path)| path.split_once('/').unwrap().1)
}

#[test]
fn the_orderings_that_are_missing_are_found() {
    let project = Project::of(folder().join("before"));
    let target = tool::target_folder().join("tmp/orderings/before");
    let mut expected = expected();
    expected.retain(|_, library| !library.mends.is_empty());
    let targets = expected.keys().flat_map(|name| ["--test", name]);
    let flags = ["test", "--max-time", "none", "--simplify", "10m"];
    let output = ["--target-dir", target.to_str().unwrap(), "--message-format", "json"];
    let arguments: Vec<_> = flags.into_iter().chain(targets).chain(output).collect();
    let mut met: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    let run = project.run(&arguments);
    for event in run.events("test-finished") {
        let text = |value: &serde_json::Value| value.as_str().expect("it is a text").to_owned();
        let mends = &event["mends"];
        assert!(mends.is_null() || mends["all_needed"] == true, "{event}");
        let told = |mend: &serde_json::Value| {
            let [operation, orderings, mended] = ["operation", "orderings", "mended"].map(|name| text(&mend[name]));
            let place = &mend["location"];
            let file = text(&place["file"]);
            format!(
                "{operation} {orderings} -> {mended} {}:{}",
                in_package(&file),
                place["line"]
            )
        };
        let all = mends["orderings"].as_array().into_iter().flatten().map(told).collect();
        let test = &event["test"];
        met.entry(text(&test["target"]))
            .or_default()
            .insert(text(&test["name"]), all);
    }
    let expected: BTreeMap<_, _> = expected
        .into_iter()
        .map(|(name, library)| (name, library.mends))
        .collect();
    assert_eq!(met, expected, "{run:?}");
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
        let Results { rc11, sc, .. } = &library.before;
        let mended = after.get(&name).map_or("—", |(_, version)| version);
        assert_eq!(library.after.is_some(), after.contains_key(&name), "{name}");
        let (own, version) = &before[&name];
        let row = format!("| {own} | {version} | {rc11} | {sc} | {mended} |\n");
        assert!(page.contains(&row), "the page has no row {row}");
    }
}
