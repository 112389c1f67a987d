//! The tests in test binaries, as libtest lists them.

use crate::build::Binary;
use crate::cli::SelectArgs;
use crate::error::Error;
use dpor_protocol::Seed;
use owo_colors::OwoColorize;
use std::process::{Command, Stdio};
use std::sync::Arc;

/// One test.
#[derive(Clone, Debug)]
pub struct Test {
    /// Where it is.
    pub binary: Arc<Binary>,
    /// Its name there.
    pub name: String,
    /// It has `#[ignore]`.
    pub ignored: bool,
}

impl Test {
    /// The name that seeds know it by.
    pub fn id(&self) -> String {
        format!("{} {}", self.binary.id, self.name)
    }

    /// The name of its package.
    pub fn package(&self) -> &str {
        self.binary.id.split('/').next().unwrap_or_default()
    }

    /// The name for people.
    pub fn display_name(&self) -> String {
        format!("{} {}", self.binary.name, self.name)
    }
}

/// Lists the tests of all binaries, ignored ones included. A binary that prints something else than libtest does is named on standard
/// error and left out, if there are others.
///
/// # Errors
/// [`Error::Listing`] if a binary fails to answer, or if none answers as libtest does.
pub fn list(binaries: &[Binary]) -> Result<Vec<Test>, Error> {
    let mut tests = Vec::new();
    let mut foreign = Vec::new();
    for binary in binaries {
        let binary_tests = match names(binary, &[])? {
            Ok(names) => names,
            Err(error) => {
                anstream::eprintln!("{} {} is left out: {error}", "warning:".yellow().bold(), binary.name);
                foreign.push(error);
                continue;
            }
        };
        let ignored = names(binary, &["--ignored"])??;
        let binary = Arc::new(binary.clone());
        tests.extend(binary_tests.into_iter().map(|name| {
            let ignored = ignored.contains(&name);
            Test {
                binary: binary.clone(),
                name,
                ignored,
            }
        }));
    }
    match foreign.pop() {
        Some(error) if foreign.len() + 1 == binaries.len() => Err(error),
        _ => Ok(tests),
    }
}

/// The names of the tests of a binary; the inner error says that it is no libtest.
fn names(binary: &Binary, flags: &[&str]) -> Result<Result<Vec<String>, Error>, Error> {
    let error = |why: String| Error::Listing {
        binary: binary.path.clone(),
        why,
    };
    let output = Command::new(&binary.path)
        .args(["--list", "--format", "terse"])
        .args(flags)
        .current_dir(&binary.folder)
        .envs(binary.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .output()
        .map_err(|e| error(e.to_string()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_string();
        return Err(error(format!("{} {said}", output.status)));
    }
    let listing = parse(&String::from_utf8_lossy(&output.stdout));
    Ok(listing.map_err(|line| {
        error(format!(
            "it printed `{line}`, which libtest would not (targets with `harness = false` cannot be explored)"
        ))
    }))
}

/// The names of the tests in a listing; the first line that is none of a listing otherwise.
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

/// The tests that the user wants.
pub fn select(tests: Vec<Test>, args: &SelectArgs) -> Vec<Test> {
    let matches = |test: &Test, filter: &String| {
        if args.exact {
            test.name == *filter
        } else {
            test.name.contains(filter.as_str())
        }
    };
    tests
        .into_iter()
        .filter(|test| args.include_ignored || test.ignored == args.ignored)
        .filter(|test| args.filters.is_empty() || args.filters.iter().any(|filter| matches(test, filter)))
        .filter(|test| !args.skip.iter().any(|filter| matches(test, filter)))
        .collect()
}

/// The one test of this name, as the test or its target's name with it; or the one whose name contains it.
///
/// # Errors
/// [`Error::Usage`] if there is none, or more than one.
pub fn named(tests: Vec<Test>, name: &str) -> Result<Test, Error> {
    let count = tests.len();
    let whole = |test: &Test| test.name == name || test.display_name() == name;
    let part = |test: &Test| test.display_name().contains(name);
    let (mut matching, rest): (Vec<_>, Vec<_>) = tests.into_iter().partition(whole);
    if matching.is_empty() {
        matching = rest.into_iter().filter(part).collect();
    }
    match <[Test; 1]>::try_from(matching) {
        Ok([test]) => Ok(test),
        Err(none) if none.is_empty() => Err(Error::Usage(format!(
            "none of the {count} tests found here is `{name}`"
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
mod tests {
    use super::*;
    use dpor_protocol::test_hash;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    fn tests() -> Vec<Test> {
        let binary = |id: &str| {
            let (id, name) = (id.to_string(), id.to_string());
            Arc::new(Binary {
                path: "x".into(),
                id,
                name,
                folder: "".into(),
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

    fn selected(args: SelectArgs) -> Vec<String> {
        select(tests(), &args).iter().map(Test::id).collect()
    }

    #[test]
    fn listings() {
        assert_eq!(parse("a::b: test\nc: benchmark\nd: test\n").unwrap(), ["a::b", "d"]);
        assert_eq!(parse("a: test\nhello\n"), Err("hello".into()));
        assert!(parse("").unwrap().is_empty());
    }

    #[test]
    fn selection() {
        assert_eq!(
            selected(SelectArgs::default()),
            ["p/lib/p tests::one", "p/test/it tests::one"]
        );
        let one = || vec!["tests::one".to_string()];
        let ignored = SelectArgs {
            ignored: true,
            filters: one(),
            ..SelectArgs::default()
        };
        assert_eq!(selected(ignored.clone()), ["p/lib/p tests::one_more"]);
        assert!(selected(SelectArgs { exact: true, ..ignored }).is_empty());
        let all = SelectArgs {
            include_ignored: true,
            skip: vec!["more".into()],
            ..SelectArgs::default()
        };
        assert_eq!(selected(all.clone()).len(), 2);
        let whole = SelectArgs {
            exact: true,
            skip: vec!["tests::one".into()],
            ..all
        };
        assert_eq!(selected(whole), ["p/lib/p tests::one_more"]);
    }

    /// A binary that prints this when it is asked for anything.
    fn printing(folder: &Path, name: &str, text: &str) -> Binary {
        let path = folder.join(name);
        let script = format!("#!/bin/sh\ncat <<'END'\n{text}\nEND\n");
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Binary {
            path,
            id: name.into(),
            name: name.into(),
            folder: folder.into(),
            environment: vec![],
        }
    }

    #[test]
    fn a_target_with_a_harness_of_its_own_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let own = printing(folder.path(), "own", "a: test");
        let other = printing(folder.path(), "other", "hello");
        let tests = list(&[other.clone(), own]).unwrap();
        assert_eq!(tests.iter().map(Test::id).collect::<Vec<_>>(), ["own a"]);
        let error = list(&[other]).unwrap_err();
        assert!(error.to_string().contains("`hello`"), "{error}");
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
            spurious_wakeups: false,
            spurious_cas: false,
            leaks: false,
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
