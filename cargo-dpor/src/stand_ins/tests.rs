use super::*;

const PACKAGE: &str = "/registry/parking_lot-0.12.5";

fn call(version: &str, flags: &str) -> Option<Call> {
    let arguments: Vec<_> = flags.split_whitespace().map(OsString::from).collect();
    Call::of("parking_lot".into(), version.into(), PACKAGE.into(), &arguments)
}

fn library(more: &str) -> String {
    format!("--crate-name parking_lot --edition=2021 {PACKAGE}/src/lib.rs --extern dpor_shim=/libshim.rlib {more}")
}

#[test]
fn a_known_version_has_a_stand_in() {
    let call = |version, more| call(version, &library(more));
    let found = call("0.12.5", "--cfg feature=\"arc_lock\"").unwrap();
    assert_eq!(found.features, ["arc_lock"]);
    assert_eq!(found.stand_in(&[]).unwrap().folder, "parking_lot-0.12");
    assert!(call("0.12.99", "").unwrap().stand_in(&[]).is_none());
    assert!(found.stand_in(&[PACKAGE.into()]).is_none(), "it is under test itself");
    let detects = call("0.12.5", "--cfg feature=\"deadlock_detection\"").unwrap();
    assert!(detects.stand_in(&[]).is_none(), "its detection looks into its locks");
    assert!(call("0.12.5", "--test").is_none());
}

#[test]
fn what_is_not_compiled_against_the_facades_is_left_alone() {
    let flags = library("");
    assert!(call("0.12.5", &flags.replace("dpor_shim", "other")).is_none());
    assert!(call("0.12.5", &flags.replace("lib.rs", "build.rs")).is_none());
    assert!(call("0.12.5", "-vV").is_none());
}

#[test]
fn fences_that_nobody_sees_are_left_out() {
    let flags = |package: &str| {
        let library = library("").replace("parking_lot", package);
        let arguments: Vec<_> = library.split_whitespace().map(OsString::from).collect();
        let folder = PACKAGE.replace("parking_lot", package);
        let call = Call::of(package.into(), "5.4.2".into(), folder.into(), &arguments).unwrap();
        call.flags().collect::<Vec<_>>()
    };
    assert_eq!(flags("event-listener"), ["--cfg", "miri"]);
    assert!(flags("event-listener-strategy").is_empty());
}

#[test]
fn only_the_root_file_is_another() {
    let flags = library("");
    let arguments: Vec<_> = flags.split_whitespace().map(OsString::from).collect();
    let changed = call("0.12.5", &flags)
        .unwrap()
        .with_root(arguments.clone(), "/copy/lib.rs".into());
    let others: Vec<_> = arguments
        .iter()
        .zip(&changed)
        .filter(|(before, after)| before != after)
        .collect();
    let root = OsString::from(format!("{PACKAGE}/src/lib.rs"));
    assert_eq!(others, [(&root, &OsString::from("/copy/lib.rs"))]);
}

#[test]
fn a_copy_has_the_files_of_the_stand_in() {
    let folder = tempfile::tempdir().unwrap();
    let file = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    file("package/README.md", "read me");
    file("package/src/lib.rs", "mod lock;");
    file("package/src/lock.rs", "written");
    file("package/src/inner/more.rs", "more");
    file("own/lock.rs", "specified");
    let at = |path: &str| folder.path().join(path);
    make(&at("copies/one"), &at("package"), &at("own")).unwrap();
    let read = |path: &str| fs::read_to_string(at("copies/one/src").join(path)).unwrap();
    assert_eq!(read("../README.md"), "read me");
    assert_eq!([read("lock.rs"), read("inner/more.rs")], ["specified", "more"]);
    let own = format!("include_bytes!({:?})", at("package/src/lock.rs"));
    assert!(read("lib.rs").starts_with("mod lock;") && read("lib.rs").contains(&own));
    let age = |path: &str| fs::metadata(at(path)).unwrap().modified().unwrap();
    for copied in ["README.md", "src/lib.rs", "src/lock.rs", "src/inner/more.rs"] {
        assert_eq!(
            age(&format!("copies/one/{copied}")),
            age("package/src/lib.rs"),
            "{copied}"
        );
    }
    // What another process has made stays.
    make(&at("copies/one"), &at("package"), &at("own")).unwrap();

    let before = digest(&at("package/src")).unwrap();
    file("package/src/lock.rs", "changed");
    assert_ne!(digest(&at("package/src")).unwrap(), before);
}

#[test]
fn lines_are_the_stand_ins() {
    let folder = tempfile::tempdir().unwrap();
    let (package, own) = (folder.path().join("package"), folder.path().join("own"));
    let edit = |file: &str, text: &str| {
        let edits = format!("[[edits]]\nfile = {file:?}\ntext = {text:?}\nby = \"once\"\n");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join(EDITS), edits).unwrap();
    };
    fs::create_dir_all(package.join("src")).unwrap();
    fs::write(package.join("src/lib.rs"), "mod wait;\n").unwrap();
    fs::write(package.join("src/wait.rs"), "a(often); b(often);").unwrap();
    edit("wait.rs", "often");
    let copy = folder.path().join("copies/one");
    make(&copy, &package, &own).unwrap();
    assert_eq!(
        fs::read_to_string(copy.join("src/wait.rs")).unwrap(),
        "a(once); b(once);"
    );
    assert!(!copy.join("src").join(EDITS).exists());

    let fails = |at: &str| make(&folder.path().join(at), &package, &own).unwrap_err().to_string();
    edit("wait.rs", "seldom");
    assert!(fails("copies/two").contains("wait.rs has no \"seldom\""));
    edit("other.rs", "often");
    assert!(fails("copies/two").contains("other.rs"));
    assert!(!folder.path().join("copies/two").exists());
}

#[test]
fn each_version_is_known_once_and_its_stand_in_is_there() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sources/shim-std/stand-ins");
    for (at, known) in KNOWN.iter().enumerate() {
        assert!(folder.join(known.folder).is_dir(), "{}", known.folder);
        let again = |other: &StandIn| (other.package, other.version) == (known.package, known.version);
        assert!(!KNOWN[..at].iter().any(again), "{} {}", known.package, known.version);
    }
}

#[test]
fn the_users_wrapper_is_found() {
    let config = |name: &str| configured_wrapper(&serde_json::json!({ "build": { "rustc-wrapper": name } }));
    assert_eq!(config("sccache"), Some("sccache".into()));
    assert_eq!(config("/bin/wrap"), Some("/bin/wrap".into()));
    assert_eq!(config(""), None);
    assert_eq!(configured_wrapper(&Value::Null), None);
    // This package's folder, in which its tests run, stands for that of a project.
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/main.rs");
    assert_eq!(config("src/main.rs"), Some(own));
}
