//! The folders of a package import in one direction: in the order of the tables on the page on architecture.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The folders, or modules without one, in the first column of the table under this title, in order.
fn layers(title: &str) -> Vec<String> {
    let page = fs::read_to_string(root().join("docs/src/architecture.md")).unwrap();
    let (_, section) = page.split_once(&format!("## {title}\n")).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split('`').next().unwrap().to_owned()).collect()
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let all = entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
    all.filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

/// The identifier at the start of the text.
fn identifier(text: &str) -> String {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    text[..end.unwrap_or(text.len())].to_owned()
}

/// The identifiers with which the items of a list in braces begin, whose opening brace is the first character.
fn items(list: &str) -> Vec<String> {
    let (mut names, mut depth) = (Vec::new(), 0);
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        match depth {
            0 => break,
            1 if matches!(c, '{' | ',') => names.push(identifier(list[at + 1..].trim_start())),
            _ => {}
        }
    }
    names
}

/// The modules of the crate that the source names in paths from the crate's root, but for its tests.
fn imported(source: &str) -> BTreeSet<String> {
    let source = source.split("#[cfg(test)]\nmod ").next().unwrap();
    let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = code.collect::<Vec<_>>().join("\n");
    let paths = code.split("crate::").skip(1);
    let named = paths.flat_map(|path| match path.starts_with('{') {
        true => items(path),
        false => vec![identifier(path)],
    });
    named.collect()
}

/// The module from which the crate's root hands on the name.
fn handed_on(root: &str, name: &str) -> Option<String> {
    let lines = root.lines().filter_map(|line| line.strip_prefix("pub use "));
    let mut paths = lines.filter_map(|path| path.strip_suffix(&format!("::{name};")));
    paths.next().map(identifier)
}

fn check(package: &str, title: &str) {
    let layers = layers(title);
    let folder = root().join(package).join("src");
    let root = fs::read_to_string(folder.join("lib.rs")).unwrap();
    let place_of = |name: &str| layers.iter().position(|layer| layer == name);
    let mut files = 0;
    for path in sources(&folder) {
        let inside = path.strip_prefix(&folder).unwrap();
        let module = inside.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        if module == "lib" {
            continue;
        }
        let place = place_of(module);
        let place = place.unwrap_or_else(|| panic!("`{module}` of {package} is not on the page on architecture"));
        for name in imported(&fs::read_to_string(&path).unwrap()) {
            let other = place_of(&name).or_else(|| place_of(&handed_on(&root, &name)?));
            let other = other.unwrap_or_else(|| panic!("{}: `{name}` is no folder", path.display()));
            assert!(
                other <= place,
                "{} imports from `{name}`, which is below `{module}` on the page on architecture",
                path.display()
            );
        }
        files += 1;
    }
    assert!(files >= layers.len(), "{package} has fewer sources than layers");
}

#[test]
fn modules_of_the_explorer_import_in_one_direction() {
    check("explorer", "Folders of the explorer");
}

#[test]
fn folders_of_the_scheduler_import_in_one_direction() {
    check("scheduler", "Folders of the scheduler");
}

#[test]
fn imports_are_recognised() {
    let source = "use crate::a::b;\nuse crate::{c, d::{e, f}, g};\n// crate::h\nfn x() { crate::i::y() }\n\
                  #[cfg(test)]\nmod tests { use crate::z; }";
    let expected = ["a", "c", "d", "g", "i"].map(str::to_owned);
    assert_eq!(imported(source), BTreeSet::from(expected));
}
