use super::*;

fn source(name: &str, functions: &[&str]) -> Source {
    Source {
        name: name.into(),
        functions: functions.iter().map(ToString::to_string).collect(),
    }
}

fn names(number: usize) -> Vec<String> {
    (1..=number).map(|n| format!("f{n}")).collect()
}

#[test]
fn what_is_not_seen_in_a_line() {
    assert_eq!(Unseen::default().told(false), "");
    let unseen = Unseen {
        sources: vec![
            source("/zstd/lib/zstd.c", &["one", "two"]),
            source("helper.S", &["three"]),
        ],
        crates: vec![source("elsewhere", &["elsewhere::four"])],
        functions: vec!["five".into()],
        unknown: vec![],
        libraries: vec!["libz.so.1".into()],
    };
    assert_eq!(
        unseen.told(false),
        "accesses of code that was not compiled for this are not seen: 2 functions of zstd.c, 1 function of helper.S, \
         1 function of the crate elsewhere, which Cargo has not compiled here, five, libz.so.1"
    );
    let unknown = Unseen {
        unknown: names(2),
        ..Unseen::default()
    };
    assert_eq!(
        unknown.told(false),
        "without debug information, nobody can tell whether accesses are seen of f1, f2"
    );
}

#[test]
fn a_line_names_a_few() {
    let told = |number, all| {
        let functions = names(number);
        let unseen = Unseen {
            functions,
            ..Unseen::default()
        };
        unseen.told(all)
    };
    assert!(told(7, false).ends_with("f5, f6, f7"));
    assert!(told(8, false).ends_with("f5, f6, 2 more functions"));
    assert!(told(8, true).ends_with("f6, f7, f8"));
    assert_eq!(named(names(9), NAMED, "library").last().unwrap(), "3 more libraries");
}

/// The executable of these tests has neither hooks nor anything of another language that is not always there.
#[test]
fn crates_that_cargo_has_not_compiled_are_told() {
    let path = std::env::current_exe().unwrap();
    let read = |crates: &[&str]| {
        let crates = crates.iter().map(ToString::to_string).collect();
        let compiled = Compiled {
            crates,
            ..Compiled::default()
        };
        Unseen::read(&path, &compiled).unwrap()
    };
    let is_told = |unseen: &Unseen, name: &str| unseen.crates.iter().any(|own| own.name == name);
    let unseen = read(&[]);
    assert!(is_told(&unseen, "cargo_dpor") && is_told(&unseen, "clap_builder"));
    let unseen = read(&["cargo_dpor"]);
    assert!(!is_told(&unseen, "cargo_dpor") && is_told(&unseen, "clap_builder"));
    assert_eq!((unseen.sources, unseen.libraries), (vec![], vec![]));
    let always = unseen.functions.iter().any(|name| ALWAYS.contains(&&**name));
    assert!(!always, "{:?}", unseen.functions);
}

#[test]
fn what_is_no_executable_is_an_error() {
    let text = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    assert!(Unseen::read(Path::new(text), &Compiled::default()).is_err());
    assert!(Unseen::read(Path::new("/nowhere"), &Compiled::default()).is_err());
}
