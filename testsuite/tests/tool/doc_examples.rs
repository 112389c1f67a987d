//! A part of std's own examples under the tool: those of the locks, of what is initialised once, and of channels. All
//! of them: `cargo run -p dpor-testsuite --bin doc-examples`.

use dpor_testsuite::examples::{self, Verdict};
use dpor_testsuite::surface::{self, Item, decisions, docs};
use std::path::Path;

/// The items whose examples are run.
fn is_in_part(item: &Item) -> bool {
    let names = [
        "Mutex",
        "RwLock",
        "RwLockWriteGuard",
        "Condvar",
        "Once",
        "OnceState",
        "OnceLock",
        "LazyLock",
    ];
    item.module == "sync::mpsc" || (item.module == "sync" && names.contains(&item.name.as_str()))
}

#[test]
fn locks_and_channels() {
    let Some(folder) = docs::of_listed_std() else {
        return;
    };
    let decisions = decisions::checked_in();
    let wanted = |item: &Item| is_in_part(item) && examples::is_wanted(item, &decisions);
    let found = examples::read(&folder, &surface::checked_in(), wanted).unwrap();
    let exceptions = examples::exceptions();
    let complete: Vec<_> = found
        .tests
        .iter()
        .filter(|example| !exceptions.contains_key(&example.name))
        .collect();
    assert!(complete.len() > 70, "only {} examples", complete.len());
    let project = Path::new(env!("CARGO_TARGET_TMPDIR")).join("doc-examples-part");
    examples::write_project(&project, complete.iter().copied()).unwrap();
    let met =
        examples::run(&project, &["--max-time", "60s", "--stall", "10"]).unwrap_or_else(|error| panic!("{error}"));
    for example in complete {
        let verdict = met.get(&example.name);
        assert_eq!(
            verdict,
            Some(&Verdict::Complete),
            "{}: see {}/log.txt",
            example.name,
            project.display()
        );
    }
}
