//! Files of a made-up workspace.

use super::*;
use cargo_metadata::MetadataCommand;
use std::fs;
use std::time::Duration;
use tempfile::TempDir;

/// A workspace of the packages `bank` and `till`, with these texts in its files.
struct Workspace {
    folder: TempDir,
}

impl Workspace {
    fn new(dpor_toml: &str, workspace: &str, bank: &str) -> Workspace {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: String| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            "Cargo.toml",
            format!("[workspace]\nmembers = [\"bank\", \"till\"]\nresolver = \"3\"\n{workspace}"),
        );
        for (name, more) in [("bank", bank), ("till", "")] {
            let manifest = format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{more}");
            write(&format!("{name}/Cargo.toml"), manifest);
            write(&format!("{name}/src/lib.rs"), String::new());
        }
        if !dpor_toml.is_empty() {
            write(FILE, dpor_toml.into());
        }
        Workspace { folder }
    }

    fn load(&self, file: Option<&Path>) -> Result<Config, Error> {
        let mut command = MetadataCommand::new();
        command.current_dir(self.folder.path()).no_deps();
        Config::load(&command.exec().unwrap(), file)
    }

    fn config(&self) -> Config {
        self.load(None).unwrap()
    }

    fn error(&self) -> String {
        let error = self.load(None).unwrap_err();
        assert_eq!(error.exit(), crate::error::Exit::Usage);
        error.to_string()
    }
}

/// A key's value and where it comes from.
fn shown(settings: &Settings, key: &str) -> String {
    let rows = settings.rows();
    let row = rows.iter().find(|row| row.key == key).unwrap();
    format!("{} from {}", row.value, row.origin)
}

#[test]
fn without_files_there_are_defaults() {
    let config = Workspace::new("", "", "").config();
    assert!(config.files().is_empty());
    assert_eq!(config.of_test("bank", "a"), Settings::default());
    assert_eq!(config.of_run(), RunSettings::default());
}

#[test]
fn what_is_nearer_to_a_test_covers_what_is_further_away() {
    let config = Workspace::new(
        "strategy = \"source\"\nmax-time = \"30s\"\n\n[[overrides]]\nfilter = \"long\"\nmax-time = \"5m\"\nleaks = true\n",
        "[workspace.metadata.dpor]\nstrategy = \"exhaustive\"\nmax-depth = 7\nseed = 3\n",
        "[package.metadata.dpor]\nseed = 4\nleaks = false\n",
    )
    .config();
    assert_eq!(config.files(), ["Cargo.toml", "dpor.toml", "bank/Cargo.toml"]);
    let bank = config.of_test("bank", "tests::a_long_one");
    assert_eq!(shown(&bank, "strategy"), "source from dpor.toml:1");
    assert_eq!(shown(&bank, "max-depth"), "7 from Cargo.toml:6");
    assert_eq!(shown(&bank, "seed"), "4 from bank/Cargo.toml:6");
    assert_eq!(
        shown(&bank, "max-time"),
        "300s from dpor.toml:6, override for filter = \"long\""
    );
    // An override covers what is said of all tests, also by a package.
    assert_eq!(
        shown(&bank, "leaks"),
        "true from dpor.toml:7, override for filter = \"long\""
    );
    assert_eq!(shown(&bank, "stall"), "10s from default");
    let other = config.of_test("bank", "tests::short");
    assert_eq!(shown(&other, "max-time"), "30s from dpor.toml:2");
    assert_eq!(shown(&other, "leaks"), "false from bank/Cargo.toml:7");
    assert_eq!(
        shown(&config.of_test("till", "tests::short"), "seed"),
        "3 from Cargo.toml:7"
    );
}

#[test]
fn of_several_overrides_the_first_counts() {
    let config = Workspace::new(
        "[[overrides]]\nfilter = \"=tests::a\"\nmax-depth = 1\n\
         [[overrides]]\nfilter = \"/^tests::[ab]$/\"\nmax-depth = 2\nseed = 2\n\
         [[overrides]]\npackage = \"till\"\nfilter = \"tests\"\nmax-depth = 3\nseed = 3\n",
        "",
        "",
    )
    .config();
    let of = |package, name| {
        let settings = config.of_test(package, name);
        (settings.max_depth.value, settings.seed.value)
    };
    assert_eq!(of("bank", "tests::a"), (1, 2));
    assert_eq!(of("bank", "tests::b"), (2, 2));
    assert_eq!(of("bank", "tests::ab"), (100_000, 0));
    assert_eq!(of("till", "tests::ab"), (3, 3));
    assert_eq!(config.of_package("till").max_depth.value, 100_000);
    let overrides: Vec<_> = config
        .overrides()
        .map(|told| format!("{}: {}", told.file, told.of))
        .collect();
    assert_eq!(overrides[2], "dpor.toml: filter = \"tests\", package = \"till\"");
}

#[test]
fn values_are_read_as_on_the_command_line() {
    let text = "strategy = \"context:lazy\"\nseed = 5\nmax-executions = 6\nmax-time = 1.5\nmax-steps = \"none\"\npreemptions = 2\nmax-depth = 7\n\
                stall = \"500ms\"\nspurious-wakeups = true\nspurious-cas = true\nleaks = true\nexact-states = true\nsimplify = 0\n\
                incomplete = \"ok\"\nvacuous = \"fail\"\nweak-orderings = \"fail\"\n\
                fail-fast = true\ntest-jobs = 2\njunit = \"target/junit.xml\"\nreport = \"out\"\n";
    let workspace = Workspace::new(text, "", "");
    let config = workspace.config();
    let settings = config.of_package("bank");
    assert_eq!(settings.max_time.value, Limit(Some(Duration::from_millis(1500))));
    assert_eq!(settings.stall.value, Duration::from_millis(500));
    assert_eq!(settings.max_steps.value, Limit(None));
    assert_eq!(settings.incomplete.value, Policy::Ok);
    let run = config.of_run();
    assert_eq!((run.fail_fast.value, run.test_jobs.value), (true, Jobs(2)));
    assert!(run.junit.value.is_absolute() && run.junit.value.ends_with("target/junit.xml"));
    assert!(run.report.value.is_absolute() && run.report.value.ends_with("out"));
    // Every setting there is was set.
    let default = |row: &Row<'_>| *row.origin == Origin::Default;
    assert!(!settings.rows().iter().any(default) && !run.rows().iter().any(default));
}

#[test]
fn only_some_strategies_take_a_bound_on_preemptions() {
    for (text, fits) in [
        ("preemptions = 2\n", true),
        ("preemptions = 0\nstrategy = \"source\"\n", true),
        ("preemptions = 2\nstrategy = \"exhaustive\"\n", true),
        ("preemptions = \"none\"\nstrategy = \"random\"\n", true),
        ("preemptions = 2\nstrategy = \"random\"\n", false),
        ("preemptions = 2\nstrategy = \"unfolding\"\n", false),
        ("preemptions = 2\nstrategy = \"cdpor1\"\n", false),
    ] {
        let judged = Workspace::new(text, "", "").config().of_package("bank").judge();
        assert_eq!(judged.is_ok(), fits, "{text}: {judged:?}");
        let named = |what: String| what.starts_with("preemptions cannot be bounded with the strategy `");
        assert!(fits || judged.is_err_and(named));
    }
}

#[test]
fn another_file_is_read_instead() {
    let workspace = Workspace::new("seed = 1\n", "", "");
    let other = workspace.folder.path().join("other.toml");
    fs::write(&other, "seed = 2\n").unwrap();
    assert_eq!(workspace.load(Some(&other)).unwrap().of_package("bank").seed.value, 2);
    let error = workspace.load(Some(Path::new("nowhere.toml"))).unwrap_err().to_string();
    assert!(
        error.starts_with("there is no configuration file nowhere.toml"),
        "{error}"
    );
}

#[test]
fn what_is_wrong_is_named_with_file_line_and_key() {
    let of_file = |text: &str| Workspace::new(text, "", "").error();
    for (text, expected) in [
        (
            "seed = 1\nstrategi = \"x\"\n",
            "dpor.toml:2: unknown key `strategi`; there are `strategy`, `seed`, ",
        ),
        (
            "\n\nstrategy = \"magic\"",
            "dpor.toml:3: `strategy`: unknown strategy `magic`; there are `context`",
        ),
        (
            "max-time = \"5y\"",
            "dpor.toml:1: `max-time`: `5y`: unknown unit `y`: use ms, s, m or h",
        ),
        (
            "max-executions = -1",
            "dpor.toml:1: `max-executions`: `-1`: invalid digit",
        ),
        (
            "max-depth = [1]",
            "dpor.toml:1: `max-depth`: an array cannot be its value",
        ),
        (
            "leaks = 1",
            "dpor.toml:1: `leaks`: `1`: provided string was not `true` or `false`",
        ),
        (
            "vacuous = \"no\"",
            "dpor.toml:1: `vacuous`: `no`: it is either `ok` or `fail`",
        ),
        (
            "test-jobs = 0",
            "dpor.toml:1: `test-jobs`: `0`: there must be at least 1",
        ),
        (
            "filter = \"x\"",
            "dpor.toml:1: `filter` belongs into a table of `[[overrides]]`",
        ),
        (
            "overrides = 1",
            "dpor.toml:1: `overrides` must be an array of tables: write `[[overrides]]`",
        ),
        (
            "\n[[overrides]]\nseed = 1",
            "dpor.toml:2: an override must have a `filter` or a `package`",
        ),
        (
            "[[overrides]]\nfilter = 1",
            "dpor.toml:2: `filter` must be a string, and is an integer",
        ),
        (
            "[[overrides]]\nfilter = \"/(/\"",
            "dpor.toml:2: `filter`: regex parse error",
        ),
        (
            "[[overrides]]\nfilter = \"x\"\nfail-fast = true",
            "dpor.toml:3: `fail-fast` is for a whole run",
        ),
        (
            "[[overrides]]\nfilter = \"x\"\nsede = 1",
            "dpor.toml:3: unknown key `sede`; there are `strategy`",
        ),
        ("seed = 1\nseed = 2", "dpor.toml:2: duplicate key"),
        ("seed =\n", "dpor.toml:1: "),
    ] {
        let error = of_file(text);
        assert!(error.starts_with(expected), "{text:?}: {error}");
    }
    let error = Workspace::new("", "[workspace.metadata]\ndpor = 1\n", "").error();
    assert_eq!(
        error,
        "Cargo.toml:5: `workspace.metadata.dpor` must be a table, and is an integer"
    );
    let error = Workspace::new("", "", "[package.metadata.dpor]\ntest-jobs = 2\n").error();
    assert!(
        error.starts_with("bank/Cargo.toml:6: `test-jobs` is for a whole run"),
        "{error}"
    );
}

#[test]
fn durations() {
    let read = |text| Duration::read(text);
    assert_eq!(read("500ms"), Ok(Duration::from_millis(500)));
    assert_eq!(read("1.5"), Ok(Duration::from_millis(1500)));
    assert_eq!(read("2h"), Ok(Duration::from_secs(7200)));
    assert!(read("s").is_err() && read("-1s").is_err() && read("nan").is_err());
}
