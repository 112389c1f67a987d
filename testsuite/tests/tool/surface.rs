//! The shim has what std has: by the documentation of both, and by what compiles.
//!
//! After a change that is meant: `cargo run -p dpor-testsuite --bin surface`.

use dpor_testsuite::surface::{self, Item, Surface, compare, decisions, docs, list, page, probe};
use dpor_testsuite::tool;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

const AGAIN: &str = "run `cargo run -p dpor-testsuite --bin surface`, and look at what has changed";

static SHIM: LazyLock<Surface> = LazyLock::new(|| docs::of_shim().unwrap_or_else(|error| panic!("{error}")));

#[test]
fn the_list_is_what_std_documents() {
    let Some(folder) = docs::of_listed_std() else {
        return;
    };
    let std = docs::read(&folder, "std", docs::Whose::All).unwrap();
    let text = fs::read_to_string(surface::list_path()).unwrap();
    assert!(list::print(&std) == text, "the list is not up to date: {AGAIN}");
    assert!(
        list::parse(&text).unwrap() == std,
        "what is printed is not read as what it was"
    );
}

#[test]
fn the_shim_has_all_of_it() {
    let table = compare::compare(&surface::checked_in(), &SHIM, &decisions::checked_in()).unwrap();
    assert!(table.problems.is_empty(), "{:#?}", table.problems);
    let text = fs::read_to_string(surface::page_path()).unwrap();
    assert!(
        page::print(&table) == text,
        "docs/src/surface-table.md is not up to date: {AGAIN}"
    );
}

/// Whatever is taken from the shim is missed, and whatever is given to it is noticed.
#[test]
fn differences_are_found() {
    let (std, decisions) = (surface::checked_in(), decisions::checked_in());
    let problems = |std: &Surface, ours: &Surface| compare::compare(std, ours, &decisions).unwrap().problems;
    let mut found = 0;
    for item in &SHIM.items {
        let path = item.path();
        // Beside the others, it would be the same, and take much longer.
        let of = |items: &[Item]| Surface {
            items: items.iter().filter(|item| item.path() == path).cloned().collect(),
            unstable_traits: std.unstable_traits.clone(),
        };
        let std = of(&std.items);
        let missing = format!("{path} is std's own, without one reason");
        assert!(problems(&std, &of(&[])).contains(&missing), "without {path}");
        for of_trait in [false, true] {
            let impls = if of_trait { &item.traits } else { &item.inherent };
            for (nth, each) in impls.iter().enumerate() {
                if std
                    .unstable_traits
                    .iter()
                    .any(|path| each.header.contains(path.rsplit("::").next().unwrap()))
                    || each.header.contains("Drop for")
                {
                    continue;
                }
                let mut changed = item.clone();
                let impls = if of_trait {
                    &mut changed.traits
                } else {
                    &mut changed.inherent
                };
                impls.remove(nth);
                let problems = problems(&std, &of(&[changed]));
                let lacks = format!("undecided: {path} lacks ");
                assert!(
                    problems.iter().any(|problem| problem.starts_with(&lacks)),
                    "without {each:?}"
                );
                found += 1;
            }
        }
    }
    assert!(found > 300, "only {found} implementations");
    let mut changed = SHIM.clone();
    let mutex = changed
        .items
        .iter_mut()
        .find(|item| item.path() == "sync::Mutex")
        .unwrap();
    mutex.inherent[0].members.push("pub fn more(&self)".into());
    assert_eq!(
        problems(&std, &changed),
        ["undecided: sync::Mutex adds impl<T> Mutex<T> { pub fn more(&self) }"]
    );
}

#[test]
fn what_compiles_against_std_compiles_against_the_facades() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("surface");
    let source = write_probe(&folder, &surface::checked_in());
    let output = check_against_std(&source);
    assert!(output.status.success(), "std lacks something:\n{}", text(&output));
    let output = Command::new(tool::path())
        .args(["dpor", "list", "--color", "never", "--target-dir"])
        .arg(folder.join("target"))
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "the facades lack something:\n{}",
        text(&output)
    );
}

/// The crate does not compile for any reason that there may be.
#[test]
fn what_std_lacks_does_not_compile() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("surface-lacking");
    let mutex = |surface: &mut Surface| {
        surface
            .items
            .iter()
            .position(|item| item.path() == "sync::Mutex")
            .unwrap()
    };
    let changes: [fn(&mut surface::Item); 6] = [
        |mutex| mutex.inherent[0].members.push("pub fn absent(&self)".into()),
        |mutex| {
            mutex.inherent[1].members[0] =
                "pub const fn lock(&self) -> std::sync::LockResult<std::sync::MutexGuard<'_, T>>".into()
        },
        |mutex| mutex.inherent[1].members[0] = "pub fn lock(&self) -> T".into(),
        |mutex| mutex.traits[0].header = "impl<T> std::clone::Clone for std::sync::Mutex<T>".into(),
        |mutex| mutex.traits[0].header = "impl<T> std::marker::Send for std::sync::Mutex<T>".into(),
        |mutex| mutex.traits[0].header = "impl<T> !std::marker::Send for std::sync::Mutex<T>".into(),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut std = surface::checked_in();
        let index = mutex(&mut std);
        change(&mut std.items[index]);
        let output = check_against_std(&write_probe(&folder, &std));
        assert!(!output.status.success(), "change {number} compiles");
        let errors = text(&output);
        assert!(errors.contains("due to 1 previous error"), "change {number}:\n{errors}");
    }
}

fn write_probe(folder: &Path, std: &Surface) -> PathBuf {
    let decisions = decisions::checked_in();
    let ours: Vec<_> = SHIM.items.iter().map(surface::Item::path).collect();
    let source = probe::source(std, |item| {
        let path = item.path();
        assert!(ours.contains(&path) || decisions.std.contains_key(&path) || decisions.holes.contains_key(&path));
        ours.contains(&path)
    });
    let library = folder.join("src/lib.rs");
    fs::create_dir_all(folder.join("src")).unwrap();
    let manifest = "[package]\nname = \"surface-probe\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n";
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::write(&library, source.unwrap()).unwrap();
    library
}

fn check_against_std(source: &Path) -> Output {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    Command::new(rustc)
        .args([
            "--edition",
            "2024",
            "--crate-type",
            "lib",
            "--emit",
            "metadata",
            "--out-dir",
        ])
        .arg(source.parent().unwrap())
        .arg(source)
        .output()
        .unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
