//! Tests with the files of a made-up workspace.

use super::*;
use cargo_metadata::MetadataCommand;
use dpor_protocol::{Memory, Timeouts};
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

    fn load(&self, file: Option<&Path>) -> Result<ConfigFiles, Error> {
        self.load_profile(file, None)
    }

    fn load_profile(&self, file: Option<&Path>, profile: Option<&str>) -> Result<ConfigFiles, Error> {
        let mut command = MetadataCommand::new();
        command.current_dir(self.folder.path()).no_deps();
        ConfigFiles::load(&command.exec().unwrap(), file, profile)
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn config(&self) -> ConfigFiles {
        self.load(None).unwrap()
    }

    fn error(&self) -> String {
        let error = self.load(None).unwrap_err();
        assert_eq!(error.exit(), crate::error::Exit::Usage);
        error.to_string()
    }
}

/// A key's value and its origin.
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
        "strategy = \"source\"\nmax-time = \"30s\"\n\n[[overrides]]\nfilter = \"long\"\n\
         max-time = \"5m\"\nleaks = true\n",
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
    let text = "strategy = \"context:lazy\"\nseed = 5\nmax-executions = 6\nmax-time = 1.5\nmax-steps = \"none\"\n\
                preemptions = 2\nmax-depth = 7\nstall = \"500ms\"\ntimeouts = \"never\"\nmemory = \"sc\"\n\
                spurious-wakeups = true\nspurious-cas = true\nleaks = true\nexact-states = true\n\
                data-races = false\nsuppressed-races = [\"a::b\", \"c.rs\"]\nsimplify = 0\n\
                incomplete = \"ok\"\nvacuous = \"fail\"\nweak-orderings = \"fail\"\n\
                fail-fast = true\ntest-jobs = 2\nas-written = true\njunit = \"target/junit.xml\"\nreport = \"out\"\n";
    let workspace = Workspace::new(text, "", "");
    let config = workspace.config();
    let settings = config.of_package("bank");
    assert_eq!(settings.max_time.value, Limit(Some(Duration::from_millis(1500))));
    assert_eq!(settings.stall.value, Duration::from_millis(500));
    assert_eq!(settings.max_steps.value, Limit(None));
    assert_eq!(settings.incomplete.value, Policy::Ok);
    assert_eq!(settings.model_options().timeouts(), Timeouts::Never);
    assert_eq!(settings.model_options().memory(), Memory::Sc);
    let suppressed = settings.suppressed_races.value.0.iter().map(ToString::to_string);
    assert!(suppressed.eq(["a::b", "c.rs"]));
    let run = config.of_run();
    assert_eq!((run.fail_fast.value, run.test_jobs.value), (true, Jobs(2)));
    assert!(run.junit.value.is_absolute() && run.junit.value.ends_with("target/junit.xml"));
    assert!(run.report.value.is_absolute() && run.report.value.ends_with("out"));
    // Every setting there is was set.
    let default = |row: &Row<'_>| *row.origin == Origin::Default;
    assert!(!settings.rows().iter().any(default) && !run.rows().iter().any(default));
}

#[test]
fn the_unfolding_cannot_let_timeouts_fire_last() {
    for (text, fits) in [
        ("timeouts = \"last\"\n", true),
        ("timeouts = \"last\"\nstrategy = \"random\"\n", true),
        ("timeouts = \"never\"\nstrategy = \"unfolding\"\n", true),
        ("timeouts = \"last\"\nstrategy = \"unfolding\"\n", false),
    ] {
        let mut settings = Workspace::new(text, "", "").config().of_package("bank");
        settings.settle(false);
        let judged = settings.judge();
        assert_eq!(judged.is_ok(), fits, "{text}: {judged:?}");
        assert!(fits || judged.is_err_and(|what| what.contains("cannot let timeouts fire last")));
    }
}

#[test]
fn some_strategies_cannot_explore_weak_memory() {
    for (strategy, fits) in [
        ("source", true),
        ("context", true),
        ("pct", true),
        ("optimal", false),
        ("unfolding", false),
        ("trans", false),
    ] {
        let settled = |memory: &str| {
            let text = format!("{memory}strategy = \"{strategy}\"\n");
            let mut settings = Workspace::new(&text, "", "").config().of_package("bank");
            settings.settle(false);
            settings
        };
        let judged = settled("memory = \"rc11\"\n").judge();
        assert_eq!(judged.is_ok(), fits, "{strategy}: {judged:?}");
        assert!(fits || judged.is_err_and(|what| what.contains("cannot explore weak memory")));
        // By default they do what they can.
        let by_default = settled("");
        assert_eq!(by_default.judge(), Ok(()));
        let expected = match fits {
            true => "rc11 from default",
            false => "sc from default; the strategy cannot explore weak memory",
        };
        assert_eq!(shown(&by_default, "memory"), expected);
        assert_eq!(shown(&settled("memory = \"sc\"\n"), "memory"), "sc from dpor.toml:1");
    }
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
        let named = |what: String| what.contains("cannot bound preemptions");
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

const PROFILES: &str = "\
max-time = \"30s\"
seed = 1
junit = \"a.xml\"

[[overrides]]
filter = \"long\"
max-time = \"5m\"

[profile.ci]
max-time = \"1m\"
leaks = true
test-jobs = 2
junit = \"b.xml\"

[[profile.ci.overrides]]
filter = \"very_long\"
max-time = \"10m\"

[profile.other]
seed = 9
";

#[test]
fn a_profile_covers_what_holds_without_it() {
    let workspace = Workspace::new(
        PROFILES,
        "[workspace.metadata.dpor.profile.nightly]\nseed = 5\n",
        "[package.metadata.dpor]\nseed = 4\nleaks = false\n[package.metadata.dpor.profile.ci]\nseed = 6\n",
    );
    let with = |profile| workspace.load_profile(None, profile).unwrap();
    let config = with(Some("ci"));
    assert_eq!(config.profile(), Some("ci"));
    assert_eq!(config.files(), ["Cargo.toml", "dpor.toml", "bank/Cargo.toml"]);
    let bank = config.of_test("bank", "a");
    assert_eq!(shown(&bank, "max-time"), "60s from dpor.toml:10, profile ci");
    // Those who chose it want what it says, also where a package says something else for all runs.
    assert_eq!(shown(&bank, "leaks"), "true from dpor.toml:11, profile ci");
    assert_eq!(shown(&bank, "seed"), "6 from bank/Cargo.toml:9, profile ci");
    assert_eq!(shown(&config.of_test("till", "a"), "seed"), "1 from dpor.toml:2");
    // An override is for a test, and so nearer to it than a profile.
    let long = config.of_test("till", "long");
    assert_eq!(
        shown(&long, "max-time"),
        "300s from dpor.toml:7, override for filter = \"long\""
    );
    let very = config.of_test("till", "very_long");
    assert_eq!(
        shown(&very, "max-time"),
        "600s from dpor.toml:17, profile ci, override for filter = \"very_long\""
    );
    let run = config.of_run();
    assert_eq!(run.test_jobs.value, Jobs(2));
    assert!(run.junit.value.ends_with("b.xml") && run.junit.value.parent() == Some(workspace.root()));
    let overrides: Vec<_> = config.overrides().map(|told| (told.profile, told.of)).collect();
    assert_eq!(overrides.len(), 2);
    assert_eq!(overrides[1].0, Some("ci"));

    for none in [None, Some(""), Some("default")] {
        let config = with(none);
        assert_eq!(config.profile(), None);
        assert_eq!(shown(&config.of_test("bank", "a"), "seed"), "4 from bank/Cargo.toml:6");
        assert_eq!(config.of_run().test_jobs.value, Jobs(1));
        assert!(config.of_run().junit.value.ends_with("a.xml"));
    }
    assert_eq!(with(Some("nightly")).of_test("till", "a").seed.value, 5);
    let error = workspace.load_profile(None, Some("cii")).unwrap_err();
    assert_eq!(error.exit(), crate::error::Exit::Usage);
    assert_eq!(
        error.to_string(),
        "there is no profile `cii` in the configuration, only `ci`, `nightly`, `other`"
    );
    let error = Workspace::new("", "", "").load_profile(None, Some("ci")).unwrap_err();
    assert!(
        error.to_string().ends_with("`[profile.ci]` in dpor.toml begins one"),
        "{error}"
    );
}

#[test]
fn time_is_limited_where_nothing_else_is() {
    let settled = |text: &str, alone: bool| {
        let mut settings = Workspace::new(text, "", "").config().of_package("bank");
        settings.settle(alone);
        (shown(&settings, "max-time"), settings.has_default_time())
    };
    for (text, alone, expected, by_default) in [
        (
            "",
            false,
            "60s from default; none for a test that is run alone, by its name",
            true,
        ),
        ("", true, "none from default; the test is run alone, by its name", false),
        (
            "max-executions = 5",
            false,
            "none from default; `max-executions` is the limit",
            false,
        ),
        (
            "max-steps = 5",
            false,
            "none from default; `max-steps` is the limit",
            false,
        ),
        (
            "max-steps = \"none\"",
            false,
            "60s from default; none for a test that is run alone, by its name",
            true,
        ),
        ("max-time = \"none\"", false, "none from dpor.toml:1", false),
        // What is configured holds in any case.
        ("max-time = 60", true, "60s from dpor.toml:1", false),
    ] {
        assert_eq!(
            settled(text, alone),
            (expected.to_owned(), by_default),
            "{text} {alone}"
        );
    }
}

#[test]
fn paths_are_relative_to_the_file_once() {
    let workspace = Workspace::new("", "", "");
    fs::create_dir(workspace.root().join("sub")).unwrap();
    fs::write(
        workspace.root().join("sub/own.toml"),
        "report = \"out\"\n[profile.ci]\nseed = 1\n",
    )
    .unwrap();
    let file = workspace.root().join("sub/own.toml");
    let run = workspace.load_profile(Some(&file), Some("ci")).unwrap().of_run();
    assert_eq!(run.report.value, workspace.root().join("sub/out"));
    // A relative path must not be joined twice.
    let layer = Source::read("sub/own.toml", &file).unwrap();
    let source = Source {
        folder: "sub".into(),
        ..layer
    };
    let table = source.table().unwrap();
    let config = ConfigFiles {
        layers: source.layers(table.get_ref(), None).unwrap(),
        profile: None,
    };
    assert_eq!(config.of_run().report.value, Path::new("sub/out"));
}

#[test]
fn overrides_for_nothing_are_said() {
    let text = "[[overrides]]\nfilter = \"a\"\nseed = 1\n[[overrides]]\nfilter = \"=b\"\nseed = 1\n\
                [[overrides]]\npackage = \"till\"\nseed = 1\n[[overrides]]\npackage = \"tlil\"\nseed = 1\n\
                [profile.ci]\n[[profile.ci.overrides]]\nfilter = \"/^x/\"\nseed = 1\n";
    let in_bank = "[[package.metadata.dpor.overrides]]\nfilter = \"c\"\nseed = 1\n";
    let workspace = Workspace::new(text, "", in_bank);
    let config = workspace.load_profile(None, Some("ci")).unwrap();
    let both = ["bank", "till"];
    let idle =
        |tests: &[(&str, &str)], whole: &[&str]| config.idle(&both, tests, &|package: &str| whole.contains(&package));
    assert_eq!(
        idle(&[("bank", "tests::a"), ("till", "c")], &both),
        [
            "dpor.toml:4: the override for filter = \"=b\" chooses no test",
            "dpor.toml:10: the override for package = \"tlil\" chooses no test: there is no such package in the \
             workspace",
            "bank/Cargo.toml:5: the override for filter = \"c\" chooses no test",
            "dpor.toml:14: the override for filter = \"/^x/\" chooses no test",
        ]
    );
    // A test that it is for may be among those that were not built.
    assert_eq!(
        idle(&[("bank", "tests::a")], &["bank"]),
        [
            "dpor.toml:10: the override for package = \"tlil\" chooses no test: there is no such package in the \
             workspace",
            "bank/Cargo.toml:5: the override for filter = \"c\" chooses no test",
        ]
    );
}

#[test]
fn what_is_no_text_file_is_said() {
    let workspace = Workspace::new("", "", "");
    let own = workspace.root().join(FILE);
    fs::write(&own, b"seed = 1\n# caf\xe9\n").unwrap();
    assert_eq!(
        workspace.error(),
        "dpor.toml:2: the byte 0xe9 is no UTF-8: TOML files are UTF-8"
    );
    fs::remove_file(&own).unwrap();
    fs::create_dir(&own).unwrap();
    assert_eq!(
        workspace.error(),
        "dpor.toml is a folder, and should be a file with the configuration"
    );
    let error = workspace.load(Some(workspace.root())).unwrap_err();
    assert!(
        error.to_string().contains(" is a folder, and should be a file"),
        "{error}"
    );
    fs::remove_dir(&own).unwrap();
    std::os::unix::fs::symlink("nowhere", &own).unwrap();
    let error = workspace.load(None).unwrap_err().to_string();
    assert!(
        error.starts_with("cannot read ") && error.contains("dpor.toml"),
        "{error}"
    );
}

#[test]
fn every_key_has_an_example() {
    for doc in Settings::docs() {
        let config = Workspace::new(&format!("{} = {}\n", doc.key, doc.example), "", "").config();
        let settings = config.of_package("bank");
        let rows = settings.rows();
        let row = rows.iter().find(|row| row.key == doc.key).unwrap();
        assert_ne!(*row.origin, Origin::Default, "{}", doc.key);
    }
    let same = |docs: Vec<KeyDoc>, rows: Vec<Row<'_>>, has: fn(&str) -> bool| {
        assert!(docs.iter().map(|doc| doc.key).eq(rows.iter().map(|row| row.key)));
        assert!(docs.iter().all(|doc| has(doc.key)));
    };
    same(Settings::docs(), Settings::default().rows(), Settings::has);
    same(RunSettings::docs(), RunSettings::default().rows(), RunSettings::has);
    assert!(!Settings::has("jobs") && !RunSettings::has("leaks"));
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
            "dpor.toml:1: `max-executions`: `-1` is not a whole number in digits; write `max-executions = 100000`, for \
             example",
        ),
        (
            "max-executions = 1e9",
            "dpor.toml:1: `max-executions`: `1e9` is not a whole number in digits; write `max-executions = 100000`",
        ),
        (
            "max-depth = 5_000_000_000",
            "dpor.toml:1: `max-depth`: `5000000000` is too large: 4294967295 is the most",
        ),
        (
            "\nmax-time = true",
            "dpor.toml:2: `max-time`: `true` is not a duration: a number of seconds, or one with a unit such as 500ms, \
             30s, 5m or 1h; write `max-time = \"30s\"`, for example",
        ),
        ("max-time = 1e9", "dpor.toml:1: `max-time`: `1e9` is not a duration: "),
        (
            "max-time = \"-3s\"",
            "dpor.toml:1: `max-time`: `-3s` is not a duration: ",
        ),
        (
            "profile = \"ci\"",
            "dpor.toml:1: `profile` must be a table of profiles, and is a string: write `[profile.ci]`",
        ),
        (
            "profile.ci = 1",
            "dpor.toml:1: `profile.ci` must be a table, and is an integer: write `[profile.ci]`",
        ),
        (
            "[profile.default]\nseed = 1",
            "dpor.toml:1: a profile cannot be called `default`",
        ),
        // Profiles are read also where none of them is chosen.
        (
            "[profile.ci]\nsede = 1",
            "dpor.toml:2: unknown key `sede`; there are `strategy`",
        ),
        (
            "[profile.ci]\n[[profile.ci.overrides]]\nfilter = \"x\"\nfail-fast = true",
            "dpor.toml:4: `fail-fast` is for a whole run",
        ),
        (
            "max-depth = [1]",
            "dpor.toml:1: `max-depth`: an array cannot be its value",
        ),
        (
            "suppressed-races = [\"a\", 1]",
            "dpor.toml:1: `suppressed-races`: an array has strings, and not an integer",
        ),
        (
            "suppressed-races = [\"*\"]",
            "dpor.toml:1: `suppressed-races`: `*`: this would suppress every data race: `data-races = false`",
        ),
        (
            "suppressed-races = [\"\"]",
            "dpor.toml:1: `suppressed-races`: ``: a function or a file is missing",
        ),
        (
            "leaks = 1",
            "dpor.toml:1: `leaks`: `1` is neither `true` nor `false`; write `leaks = true`",
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
