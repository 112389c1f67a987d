//! The tests in test binaries, as libtest lists them.

use crate::build::binary::{Binary, Test};
use crate::error::Error;
use crate::near;
use dpor_protocol::Seed;
use owo_colors::OwoColorize;
use std::iter;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

/// The tests of several binaries.
#[derive(Debug)]
pub struct Listing {
    /// All tests.
    pub tests: Vec<Test>,
    /// Whether the tests of a binary are missing that should have listed them.
    pub broken: bool,
}

/// Lists the tests of all binaries, including ignored ones. A binary that cannot be listed, or has no test that could
/// be explored, is named on standard error and left out, if there are others.
///
/// # Errors
/// [`Error::Listing`] if all are left out.
pub fn list(binaries: &[Binary]) -> Result<Listing, Error> {
    let mut listing = Listing {
        tests: Vec::new(),
        broken: false,
    };
    let (mut left_out, mut last_error) = (0, None);
    for (binary, tests) in binaries.iter().zip(of_binaries(binaries)) {
        match tests {
            Ok(tests) => listing.tests.extend(tests),
            Err(LeftOut { why, broken }) => {
                let name = &binary.name;
                anstream::eprintln!("{} {name} is left out: {why}", "warning:".yellow().bold());
                listing.broken |= broken;
                left_out += 1;
                last_error = Some(Error::Listing {
                    binary: binary.path.clone(),
                    why,
                });
            }
        }
    }
    match last_error {
        Some(error) if left_out == binaries.len() => Err(error),
        _ => Ok(listing),
    }
}

/// Why the tests of a binary cannot be explored.
struct LeftOut {
    why: String,
    /// Whether this was not to be expected of the binary.
    broken: bool,
}

/// The tests of each binary, in the order of the binaries. As many binaries are listed at a time as there are
/// processors.
fn of_binaries(binaries: &[Binary]) -> Vec<Result<Vec<Test>, LeftOut>> {
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    let next = AtomicUsize::new(0);
    let work = || {
        iter::from_fn(|| {
            let index = next.fetch_add(1, Relaxed);
            Some((index, of_binary(binaries.get(index)?)))
        })
        .collect::<Vec<_>>()
    };
    let mut all: Vec<_> = thread::scope(|scope| {
        let others: Vec<_> = (1..workers.min(binaries.len())).map(|_| scope.spawn(work)).collect();
        let own = work();
        let others = others
            .into_iter()
            .flat_map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        own.into_iter().chain(others).collect()
    });
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, tests)| tests).collect()
}

/// The tests of one binary.
fn of_binary(binary: &Binary) -> Result<Vec<Test>, LeftOut> {
    let all = names(binary, &[])?;
    if binary.is_proc_macro && !all.is_empty() {
        let tests = match all.len() {
            1 => "its test".into(),
            number => format!("its {number} tests"),
        };
        let why = format!(
            "only `cargo test` can run {tests}: a procedural macro runs in the compiler, with the real standard library"
        );
        return Err(LeftOut { why, broken: false });
    }
    let ignored = if all.is_empty() {
        Vec::new()
    } else {
        names(binary, &["--ignored"])?
    };
    let binary = Arc::new(binary.clone());
    let test = |name: String| Test {
        binary: binary.clone(),
        ignored: ignored.contains(&name),
        name,
    };
    Ok(all.into_iter().map(test).collect())
}

/// The names of the tests of a binary.
fn names(binary: &Binary, flags: &[&str]) -> Result<Vec<String>, LeftOut> {
    let failed = |why: String| LeftOut { why, broken: true };
    let output = Command::new(&binary.path)
        .args(["--list", "--format", "terse"])
        .args(flags)
        .current_dir(&binary.folder)
        .envs(binary.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_string();
        return Err(failed(format!("{} {said}", output.status).trim_end().into()));
    }
    parse(&String::from_utf8_lossy(&output.stdout)).map_err(|line| LeftOut {
        why: format!(
            "it printed `{line}`, which libtest would not (targets with `harness = false` cannot be explored)"
        ),
        broken: false,
    })
}

/// The names of the tests in a listing, or the first line that does not belong to a listing.
fn parse(listing: &str) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for line in listing.lines().filter(|line| !line.is_empty()) {
        match line.rsplit_once(": ") {
            Some((name, "test")) => names.push(name.to_string()),
            Some((_, "benchmark")) => {}
            _ => return Err(line.to_string()),
        }
    }
    Ok(names)
}

/// The one test with this name, or with its target's name before it; or the one whose name contains it.
///
/// # Errors
/// [`Error::Usage`] if there is none, or more than one.
pub fn named(tests: Vec<Test>, name: &str) -> Result<Test, Error> {
    let count = tests.len();
    let names: Vec<_> = tests.iter().map(|test| test.name.clone()).collect();
    let whole = |test: &Test| test.name == name || test.display_name() == name;
    let part = |test: &Test| test.display_name().contains(name);
    let (mut matching, rest): (Vec<_>, Vec<_>) = tests.into_iter().partition(whole);
    if matching.is_empty() {
        matching = rest.into_iter().filter(part).collect();
    }
    match <[Test; 1]>::try_from(matching) {
        Ok([test]) => Ok(test),
        Err(none) if none.is_empty() => Err(Error::Usage(format!(
            "none of the {count} tests found here is `{name}`{}",
            near::question(&near::tests(name, names.iter().map(String::as_str)))
        ))),
        Err(several) => {
            let names: Vec<_> = several
                .iter()
                .map(|test| format!("\n  {}", test.display_name()))
                .collect();
            Err(Error::Usage(format!(
                "`{name}` is not one test, but {}:{}",
                names.len(),
                names.concat()
            )))
        }
    }
}

/// The test that a seed was made for.
///
/// # Errors
/// [`Error::SeedWithoutTest`] if it is not among them.
pub fn of_seed(tests: Vec<Test>, seed: &Seed) -> Result<Test, Error> {
    let count = tests.len();
    tests
        .into_iter()
        .find(|test| seed.check_test(&test.id()).is_ok())
        .ok_or(Error::SeedWithoutTest { count })
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use dpor_protocol::{Options, test_hash};
    use std::path::Path;

    /// Two tests of one binary, the second of which is ignored, and one of another binary.
    pub fn tests() -> Vec<Test> {
        let binary = |id: &str| {
            let (id, name) = (id.to_string(), id.to_string());
            Arc::new(Binary {
                path: "x".into(),
                id,
                name,
                folder: "".into(),
                is_proc_macro: false,
                environment: vec![],
            })
        };
        let test = |binary: &Arc<Binary>, name: &str, ignored| Test {
            binary: binary.clone(),
            name: name.into(),
            ignored,
        };
        let (a, b) = (binary("p/lib/p"), binary("p/test/it"));
        vec![
            test(&a, "tests::one", false),
            test(&a, "tests::one_more", true),
            test(&b, "tests::one", false),
        ]
    }

    #[test]
    fn listings() {
        assert_eq!(parse("a::b: test\nc: benchmark\nd: test\n").unwrap(), ["a::b", "d"]);
        assert_eq!(parse("a: test\nhello\n"), Err("hello".into()));
        assert!(parse("").unwrap().is_empty());
    }

    /// A binary that prints this whatever it is asked.
    fn printing(folder: &Path, name: &str, text: &str) -> Binary {
        let path = folder.join(name);
        let script = format!("#!/bin/sh\ncat <<'END'\n{text}\nEND\n");
        // Another process writes it: no process that a test starts meanwhile inherits the open file, which could not be
        // run then.
        let written = Command::new("sh")
            .args(["-c", "printf %s \"$1\" >\"$0\" && chmod 755 \"$0\""])
            .args([path.as_os_str(), script.as_ref()])
            .status();
        assert!(written.unwrap().success());
        Binary {
            path,
            id: name.into(),
            name: name.into(),
            folder: folder.into(),
            is_proc_macro: false,
            environment: vec![],
        }
    }

    #[test]
    fn many_binaries_are_listed_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let binaries: Vec<_> = (0..5)
            .map(|n| printing(folder.path(), &format!("binary{n}"), "a: test\nb: test"))
            .collect();
        let ids: Vec<_> = list(&binaries).unwrap().tests.iter().map(Test::id).collect();
        let expected: Vec<_> = (0..5)
            .flat_map(|n| [format!("binary{n} a"), format!("binary{n} b")])
            .collect();
        assert_eq!(ids, expected);
    }

    #[test]
    fn a_target_with_a_harness_of_its_own_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let own = printing(folder.path(), "own", "a: test");
        let other = printing(folder.path(), "other", "hello");
        let listing = list(&[other.clone(), own]).unwrap();
        assert_eq!(listing.tests.iter().map(Test::id).collect::<Vec<_>>(), ["own a"]);
        assert!(!listing.broken);
        let error = list(&[other]).unwrap_err();
        assert!(error.to_string().contains("`hello`"), "{error}");
    }

    #[test]
    fn procedural_macros_are_left_out_if_they_have_tests() {
        let folder = tempfile::tempdir().unwrap();
        let of_macro = |binary| Binary {
            is_proc_macro: true,
            ..binary
        };
        let tested = of_macro(printing(folder.path(), "tested", "a: test"));
        let untested = of_macro(printing(folder.path(), "untested", ""));
        let own = printing(folder.path(), "own", "a: test");
        let listing = list(&[tested.clone(), untested.clone(), own]).unwrap();
        assert_eq!(listing.tests.iter().map(Test::id).collect::<Vec<_>>(), ["own a"]);
        assert!(!listing.broken);
        let error = list(&[tested]).unwrap_err();
        assert!(
            error.to_string().contains("only `cargo test` can run its test"),
            "{error}"
        );
        assert!(list(&[untested]).unwrap().tests.is_empty());
    }

    #[test]
    fn a_target_that_cannot_be_listed_does_not_stop_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let own = printing(folder.path(), "own", "a: test");
        let broken = printing(folder.path(), "broken", "END\nexit 127");
        let missing = Binary {
            path: folder.path().join("missing"),
            ..own.clone()
        };
        for bad in [broken, missing] {
            let listing = list(&[bad.clone(), own.clone()]).unwrap();
            assert_eq!(listing.tests.len(), 1);
            assert!(listing.broken, "the exit code has to tell");
            assert!(list(&[bad]).is_err());
        }
    }

    #[test]
    fn a_name_finds_one_test() {
        let found = |name| {
            named(tests(), name)
                .map(|test| test.id())
                .map_err(|error| error.to_string())
        };
        assert_eq!(found("tests::one_more").unwrap(), "p/lib/p tests::one_more");
        assert_eq!(found("p/lib/p tests::one").unwrap(), "p/lib/p tests::one");
        assert_eq!(found("more").unwrap(), "p/lib/p tests::one_more");
        assert_eq!(
            found("tests::one").unwrap_err(),
            "`tests::one` is not one test, but 2:\n  p/lib/p tests::one\n  p/test/it tests::one"
        );
        assert_eq!(found("two").unwrap_err(), "none of the 3 tests found here is `two`");
    }

    #[test]
    fn a_seed_finds_its_test_only() {
        let seed = |name: &str| Seed {
            test: test_hash(name),
            strategy: "source".into(),
            options: Options::NONE,
            threads: vec![],
            refinements: vec![],
            steps: vec![],
        };
        assert_eq!(
            of_seed(tests(), &seed("p/test/it tests::one")).unwrap().binary.id,
            "p/test/it"
        );
        let error = of_seed(tests(), &seed("q/lib/q tests::one")).unwrap_err();
        assert!(error.to_string().contains("none of the 3 tests"), "{error}");
    }
}
