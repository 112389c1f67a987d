use super::*;
use crate::config::{Jobs, Limit, Origin, RunSettings, Settings};
use clap::CommandFactory;
use clap::error::ErrorKind;
use dpor_explorer::Strategy;
use dpor_protocol::ModelOption;
use std::time::Duration;

fn cli(line: &str) -> Result<Cli, clap::Error> {
    parse(line.split(' ').map(OsString::from))
}

fn test_args(line: &str) -> TestArgs {
    match cli(line).unwrap().command {
        Command::Test(args) => args,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_definition_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn both_ways_to_be_called_are_understood() {
    assert!(matches!(cli("cargo-dpor dpor test").unwrap().command, Command::Test(_)));
    assert!(matches!(cli("cargo-dpor test").unwrap().command, Command::Test(_)));
    let Command::Replay(args) = cli("cargo-dpor dpor replay dpor1-abc -p x").unwrap().command else {
        panic!()
    };
    assert_eq!(
        (args.seed.as_str(), args.cargo.package),
        ("dpor1-abc", vec!["x".to_string()])
    );
}

#[test]
fn diff_states_takes_a_test_and_a_number() {
    let Command::DiffStates(args) = cli("cargo-dpor diff-states a::b --pair 3 --max-time 5s -p x")
        .unwrap()
        .command
    else {
        panic!()
    };
    assert_eq!((args.name.as_str(), args.pair), ("a::b", 3));
    assert_eq!(args.model.max_time, Some(Limit(Some(Duration::from_secs(5)))));
    assert_eq!(args.cargo.package, ["x"]);
    assert!(!args.all_states);
    let Command::DiffStates(args) = cli("cargo-dpor diff-states a --all-states").unwrap().command else {
        panic!()
    };
    assert!(args.all_states);
    let error = cli("cargo-dpor diff-states a --all-states --pair 3").unwrap_err();
    assert!(error.to_string().contains("cannot be used with"), "{error}");
}

#[test]
fn shards_are_numbered_from_one() {
    assert_eq!(test_args("cargo-dpor test --shard 2/4").shard, "2/4".parse().ok());
    for (wrong, why) in [
        ("0/4", "counted from 1"),
        ("5/4", "no shard 5 of 4"),
        ("2", "written K/N"),
        ("1/0", "at least one"),
        ("1/9999", "at most 4096"),
    ] {
        let error = cli(&format!("cargo-dpor test --shard {wrong}"))
            .unwrap_err()
            .to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn filters_and_flags_mix() {
    let args = test_args("cargo-dpor test one --exact -p a -p b two --max-time 5m --strategy random --seed 7 -j -1");
    assert_eq!(args.select.names.filters, ["one", "two"]);
    assert!(args.select.names.exact);
    assert_eq!(args.cargo.package, ["a", "b"]);
    assert_eq!(args.explore.model.max_time, Some(Limit(Some(Duration::from_secs(300)))));
    assert_eq!(
        (args.explore.strategy, args.explore.seed),
        (Some(Strategy::Random { seed: 0 }), Some(7))
    );
    assert_eq!(args.cargo.jobs.as_deref(), Some("-1"));
}

#[test]
fn simpler_schedules_are_looked_for_unless_told_otherwise() {
    let time = |line| test_args(line).explore.simplify;
    assert_eq!(time("cargo-dpor test"), None);
    assert_eq!(
        time("cargo-dpor test --simplify 300ms"),
        Some(Duration::from_millis(300))
    );
    assert_eq!(time("cargo-dpor test --simplify 0"), Some(Duration::ZERO));
    assert!(cli("cargo-dpor test --simplify soon").is_err());
}

#[test]
fn what_a_replay_needs_again_is_kept() {
    let args = test_args("cargo-dpor test --workspace --exclude z --test it -F a,b --release --offline -v x");
    let line: Vec<_> = args
        .cargo
        .selection()
        .into_iter()
        .map(|a| a.into_string().unwrap())
        .collect();
    assert_eq!(
        line.join(" "),
        "--workspace --release --exclude z --test it --features a,b"
    );
    assert_eq!(args.cargo.network(), ["--offline"]);
}

#[test]
fn contradictions_are_refused() {
    for line in [
        "cargo-dpor test --ignored --include-ignored",
        "cargo-dpor test --fail-fast --no-fail-fast",
        "cargo-dpor test --release --profile x",
        "cargo-dpor test --exclude x",
        "cargo-dpor test --test-jobs 0",
        "cargo-dpor test --max-time 5y",
        "cargo-dpor test --max-time -5s",
        "cargo-dpor test --max-executions many",
        "cargo-dpor test --leaks=perhaps",
        "cargo-dpor test --vacuous perhaps",
        "cargo-dpor test --message-format xml",
        "cargo-dpor test --no-such-flag",
        "cargo-dpor tset",
        "cargo-dpor completions magic",
        "cargo-dpor test --strategy magic",
        "cargo-dpor replay",
        "cargo-dpor diff-states",
        "cargo-dpor diff-states a --pair 0",
        "cargo-dpor diff-states a --strategy source",
        "cargo-dpor",
    ] {
        assert!(cli(line).is_err(), "{line}");
    }
}

#[test]
fn strategies_are_those_of_the_explorer() {
    for name in [
        "context",
        "context:lazy,guide",
        "cdpor1",
        "cdpor2",
        "cdpor3",
        "source",
        "optimal",
        "dpor",
        "dpor:nosleep",
        "trans",
        "trans:eca",
        "trans:nosleep,lca",
        "unfolding",
        "unfolding:k=4",
        "pct:3",
        "pct:5:7",
        "exhaustive",
        "random",
        "random:5",
    ] {
        let args = test_args(&format!("cargo-dpor test --strategy {name}"));
        assert_eq!(args.explore.strategy.unwrap().to_string(), name);
    }
    assert_eq!(test_args("cargo-dpor test").explore.strategy, None);
    let error = cli("cargo-dpor test --strategy context:slow").unwrap_err().to_string();
    assert!(
        error.contains("unknown strategy `context:slow`; there are `context`"),
        "{error}"
    );
}

#[test]
fn help_names_every_exit_code() {
    let help = cli("cargo-dpor test --help").unwrap_err().to_string();
    assert!((0..=6).all(|code| help.contains(&format!("\n  {code}  "))), "{help}");
}

#[test]
fn leaks_are_looked_for_on_demand() {
    let leaks = |line: &str| {
        let mut settings = Settings::default();
        test_args(line).explore.set(&mut settings);
        let leaks = &settings.options[ModelOption::Leaks];
        (leaks.origin == Origin::CommandLine).then_some(leaks.value)
    };
    assert_eq!(leaks("cargo-dpor test"), None);
    assert_eq!(leaks("cargo-dpor test --leaks a"), Some(true));
    assert_eq!(leaks("cargo-dpor test --leaks=false a"), Some(false));
    assert!(cli("cargo-dpor replay dpor1-abc --leaks").is_err());
}

#[test]
fn a_list_has_no_results_to_write() {
    assert!(test_args("cargo-dpor test --list").list);
    for flags in ["--list --report r", "--junit j.xml -- --list", "--list --open"] {
        let error = cli(&format!("cargo-dpor test {flags}")).unwrap_err();
        assert!(error.to_string().contains("--list explores no test"), "{error}");
    }
    assert!(cli("cargo-dpor test --list --no-run").is_err());
}

/// For each command, a line with all of its flags, none of them with its default value.
const ALL_FLAGS: [&str; 7] = [
    "test f --exact --include-ignored --ignored --run-ignored all --skip s --list --no-run --no-capture --no-tests \
     warn --max-fail 3 --open --resume --shard 2/4 --strategy source --preemptions 8 --seed 7 --max-executions 1 \
     --max-time 2s --max-steps 3 --max-depth 4 --stall 5s --timeouts last --memory sc \
     --spurious-wakeups --spurious-cas --leaks \
     --exact-states --data-races=false --simplify 300ms \
     --fail-fast --no-fail-fast --test-jobs 6 --incomplete ok --vacuous fail \
     --weak-orderings fail --message-format json --junit j.xml --report r --config-file c.toml --config-profile ci",
    "replay dpor1-A --stall 5s --report r --open --message-format json --config-file c.toml --config-profile ci",
    "diff-states t --pair 2 --all-states --max-executions 1 --max-time 2s --max-steps 3 --max-depth 4 --stall 5s \
     --timeouts last --memory sc --spurious-wakeups --spurious-cas --message-format json --config-file c.toml \
     --config-profile ci",
    "list f --exact --include-ignored --ignored --run-ignored all --skip s --message-format json --config-file c.toml \
     --config-profile ci",
    "show-config t --strategy source --preemptions 8 --seed 7 --max-executions 1 --max-time 2s --max-steps 3 \
     --max-depth 4 --stall 5s --timeouts last --memory sc --spurious-wakeups --spurious-cas --leaks \
     --exact-states \
     --data-races=false --simplify 300ms --fail-fast --no-fail-fast --test-jobs 6 --incomplete ok --vacuous fail \
     --weak-orderings fail --message-format json --junit j.xml --report r --config-file c.toml --config-profile ci",
    "init --force --ci github",
    "completions bash",
];

/// Cargo's flags, which most commands have.
const CARGO_FLAGS: &str = "--package p --workspace --exclude e --lib --bins --bin b --tests --test t --examples \
     --example x --benches --bench y --all-targets --features f --all-features --no-default-features --manifest-path m \
     --release --profile r --target t --target-dir d --locked --offline --frozen --ignore-rust-version --config k=1 \
     --timings --future-incompat-report --jobs 2 --as-written --verbose --quiet --color never";

/// Flags that exclude each other: each line is parsed without the first, and without the second.
const EXCLUSIVE: [(&str, &str); 7] = [
    (" --ignored", " --include-ignored"),
    (" --fail-fast", " --no-fail-fast"),
    (" --max-fail 3", " --max-fail 3"),
    (" --run-ignored all", " --run-ignored all"),
    (" --release", " --profile r"),
    (" --quiet", " --verbose"),
    (" --pair 2", " --all-states"),
];

fn all_flags(command: &str, without: impl Fn(&(&'static str, &'static str)) -> &'static str) -> Command {
    let line = ALL_FLAGS
        .iter()
        .find(|line| line.split(' ').next() == Some(command))
        .unwrap();
    // With `--list`, there are no results for `--junit` and others; a test of its own tries it.
    let mut line = format!("cargo-dpor {line} {CARGO_FLAGS}").replace(" --list", "");
    for pair in &EXCLUSIVE {
        line = line.replace(without(pair), "");
    }
    let words: Vec<_> = line.split_whitespace().collect();
    cli(&words.join(" ")).unwrap().command
}

#[test]
fn every_flag_is_tried() {
    let mut definition = Cli::command();
    definition.build();
    for command in definition
        .get_subcommands()
        .filter(|command| !["help", "man"].contains(&command.get_name()))
    {
        let line = ALL_FLAGS
            .iter()
            .find(|line| line.split(' ').next() == Some(command.get_name()));
        let line = line.unwrap_or_else(|| panic!("no flags of {} are tried", command.get_name()));
        let tried: Vec<_> = line.split_whitespace().chain(CARGO_FLAGS.split_whitespace()).collect();
        for argument in command.get_arguments().filter_map(|argument| argument.get_long()) {
            let flag = format!("--{argument}");
            let is_flag = |tried: &&str| tried.split('=').next() == Some(&flag);
            let known = ["help", "version"].contains(&argument) || tried.iter().any(is_flag);
            assert!(known, "--{argument} of {}", command.get_name());
        }
    }
}

#[test]
fn the_help_names_the_default_strategy() {
    let mut definition = Cli::command();
    definition.build();
    let test = definition.find_subcommand("test").expect("there is a subcommand");
    let strategy = test
        .get_arguments()
        .find(|argument| argument.get_long() == Some("strategy"));
    let help = strategy
        .and_then(|argument| argument.get_help())
        .expect("it has a help");
    let default = format!("[default: {}]", Strategy::default());
    assert!(help.to_string().contains(&default), "{help}");
}

#[test]
fn flags_of_test_reach_the_settings() {
    let Command::Test(args) = all_flags("test", |pair| pair.1) else {
        panic!()
    };
    let mut settings = Settings::default();
    args.explore.set(&mut settings);
    let mut run = RunSettings::default();
    args.explore.set_run(&mut run);
    args.cargo.set(&mut run);
    let rows = settings.rows().into_iter().chain(run.rows());
    // A seed does not carry what is suppressed, so that a flag would be missing where its schedule runs again.
    let shown: Vec<_> = rows
        .filter(|row| row.key != "suppressed-races")
        .map(|row| format!("{}={} ({})", row.key, row.value, row.origin))
        .collect();
    let expected = [
        "strategy=source",
        "seed=7",
        "max-executions=1",
        "max-time=2s",
        "max-steps=3",
        "preemptions=8",
        "max-depth=4",
        "stall=5s",
        "timeouts=last",
        "memory=sc",
        "spurious-wakeups=true",
        "spurious-cas=true",
        "leaks=true",
        "exact-states=true",
        "data-races=false",
        "simplify=300ms",
        "incomplete=ok",
        "vacuous=fail",
        "weak-orderings=fail",
        "fail-fast=true",
        "test-jobs=6",
        "as-written=true",
    ]
    .map(|setting| format!("{setting} (command line)"));
    assert_eq!(shown[..expected.len()], expected);
    assert!(args.select.names.exact && args.select.names.ignored && !args.select.names.include_ignored);
    assert_eq!(
        (args.select.names.filters, args.select.names.skip),
        (vec!["f".to_owned()], vec!["s".to_owned()])
    );
    assert!(args.no_capture && args.open.open && args.no_tests == NoTests::Warn);
    assert_eq!(args.report.message_format, MessageFormat::Json);
    assert_eq!(
        (args.files.junit, args.files.html, args.config.config_file),
        (Some("j.xml".into()), Some("r".into()), Some("c.toml".into()))
    );
    assert_eq!(args.config.config_profile.as_deref(), Some("ci"));
    let Command::Test(args) = all_flags("test", |pair| pair.0) else {
        panic!()
    };
    let mut run = RunSettings::default();
    args.explore.set_run(&mut run);
    assert_eq!(
        (run.fail_fast.value, run.fail_fast.origin),
        (false, crate::config::Origin::CommandLine)
    );
    assert!(args.select.names.include_ignored && args.no_run && !args.list);
}

#[test]
fn flags_of_other_commands_are_understood() {
    let Command::Replay(args) = all_flags("replay", |pair| pair.1) else {
        panic!()
    };
    assert_eq!(
        (args.seed.as_str(), args.stall, args.html, args.open.open),
        ("dpor1-A", Some(Duration::from_secs(5)), Some("r".into()), true)
    );
    let Command::DiffStates(args) = all_flags("diff-states", |pair| pair.1) else {
        panic!()
    };
    let mut settings = Settings::default();
    args.model.set(&mut settings);
    assert_eq!(
        (
            args.pair,
            settings.max_depth.value,
            settings.options[ModelOption::SpuriousCas].value
        ),
        (2, 4, true)
    );
    let Command::List(args) = all_flags("list", |pair| pair.1) else {
        panic!()
    };
    assert!(args.select.names.ignored && args.select.names.exact);
    let Command::ShowConfig(args) = all_flags("show-config", |pair| pair.1) else {
        panic!()
    };
    assert_eq!((args.name.as_deref(), args.explore.seed), (Some("t"), Some(7)));
    let Command::Init(args) = cli("cargo-dpor init --force --ci github --manifest-path m")
        .unwrap()
        .command
    else {
        panic!()
    };
    assert_eq!(
        (args.force, args.ci, args.manifest_path),
        (true, Some(Ci::Github), Some("m".into()))
    );
    let Command::Completions(args) = cli("cargo-dpor completions fish").unwrap().command else {
        panic!()
    };
    assert_eq!(args.shell, clap_complete::Shell::Fish);
    let Command::Man(args) = cli("cargo-dpor man test").unwrap().command else {
        panic!()
    };
    assert_eq!(args.command.as_deref(), Some("test"));
}

#[test]
fn flags_of_cargo_are_passed_on() {
    let line = |without: fn(&(&'static str, &'static str)) -> &'static str| {
        let command = all_flags("list", without);
        let args = command.cargo().unwrap().clone();
        let selection: Vec<_> = args
            .selection()
            .into_iter()
            .map(|word| word.into_string().unwrap())
            .collect();
        (selection.join(" "), args)
    };
    let (words, args) = line(|pair| pair.1);
    assert_eq!(
        words,
        "--workspace --lib --bins --tests --examples --benches --all-targets --all-features --no-default-features \
         --release --ignore-rust-version --package p --exclude e --bin b --test t --example x --bench y --features f \
         --config k=1 --target t --manifest-path m"
    );
    assert_eq!(args.network(), ["--locked", "--offline", "--frozen"]);
    assert_eq!((args.jobs.as_deref(), args.target_dir), (Some("2"), Some("d".into())));
    assert!(args.quiet && args.color == Color::Never);
    assert!(args.timings && args.future_incompat_report && args.config == ["k=1"]);
    let (words, args) = line(|pair| pair.0);
    assert!(words.contains("--profile r") && args.verbose == 1, "{words}");
}

#[test]
fn help_has_examples() {
    for command in [
        "",
        "test ",
        "replay ",
        "diff-states ",
        "list ",
        "show-config ",
        "completions ",
        "man ",
    ] {
        let help = cli(&format!("cargo-dpor {command}--help")).unwrap_err().to_string();
        assert!(help.contains("\nExamples:\n  cargo dpor "), "{command}: {help}");
    }
}

#[test]
fn arguments_of_libtest_are_those_before() {
    let args = test_args(
        "cargo-dpor test one -p p --skip a -- two --exact --nocapture --skip b --include-ignored --test-threads 3 \
         --color=never --format terse --test",
    );
    let names = &args.select.names;
    assert_eq!(
        (&names.filters[..], &names.skip[..]),
        (&["one".into(), "two".into()][..], &["a".into(), "b".into()][..])
    );
    assert!(
        names.exact && names.include_ignored && !names.ignored && args.no_capture && args.cargo.quiet && !args.list
    );
    assert_eq!(
        (args.explore.test_jobs, args.cargo.color),
        (Some(Jobs(3)), Color::Never)
    );
    assert!(test_args("cargo-dpor test -- --list").list);
    assert!(test_args("cargo-dpor test -- --show-output").no_capture);
    // What was said before stays.
    let args = test_args("cargo-dpor test --test-jobs 2 --color always -- x");
    assert_eq!(
        (args.explore.test_jobs, args.cargo.color),
        (Some(Jobs(2)), Color::Always)
    );
    let Command::List(args) = cli("cargo-dpor list -- --ignored x").unwrap().command else {
        panic!()
    };
    assert!(args.select.names.ignored && args.select.names.filters == ["x"]);
    for (wrong, why) in [
        (
            "--shuffle",
            "cargo dpor has no `--shuffle`: each test has a process of its own",
        ),
        ("--report-time", "the line of a test has its time"),
        ("--logfile=x", "cargo dpor has no `--logfile`: `--junit FILE`"),
        ("-Zunstable-options", "cargo dpor has no `-Z`: libtest's unstable"),
        ("--bench", "benchmarks are not explored"),
        ("--format json", "invalid value 'json' for '--format <FORMAT>'"),
        ("--ignored --include-ignored", "cannot be used with"),
        ("--test-threads 0", "there must be at least 1"),
        ("--no-such-flag", "unexpected argument '--no-such-flag'"),
    ] {
        let error = cli(&format!("cargo-dpor test -- {wrong}")).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
    let error = cli("cargo-dpor test --ignored -- --include-ignored").unwrap_err();
    assert!(error.to_string().contains("but not both"), "{error}");
}

/// The flags that `cargo test --help` (1.95) and `cargo nextest run --help` (0.9.143) show, except those that only
/// print help.
const OF_OTHERS: &str = "--no-run --no-fail-fast --future-incompat-report --message-format= --quiet --verbose --color= \
     --config= -Z= --package= --workspace --exclude= --all --lib --bins --bin= --examples --example= --tests --test= \
     --benches --bench= --all-targets --doc --features= --all-features --no-default-features --jobs= --release \
     --profile= --target= --target-dir= --unit-graph --timings --manifest-path= --ignore-rust-version --locked \
     --offline --frozen --no-pager --build-jobs= --cargo-profile= --cargo-message-format= --cargo-quiet \
     --cargo-verbose --rerun= -R= --run-ignored= --partition= --platform-filter= --filterset= -E= \
     --ignore-default-filter --test-threads= --retries= --flaky-result= --fail-fast --ff --nff --max-fail= --debugger= \
     --tracer= --no-tests= --no-capture --stress-count= --stress-duration= --failure-output= --success-output= \
     --status-level= --final-status-level= --no-output-indent --show-progress= --hide-progress-bar --no-input-handler \
     --max-progress-running= --message-format-version= --archive-file= --archive-format= --extract-to= \
     --extract-overwrite --persist-extract-tempdir --cargo-metadata= --workspace-remap= --binaries-metadata= \
     --target-dir-remap= --build-dir-remap= --config-file= --user-config-file= --tool-config-file= \
     --override-version-check";

#[test]
fn flags_of_cargo_and_nextest_are_there_or_it_is_said_what_is() {
    for flag in OF_OTHERS.split_whitespace() {
        let line = match flag.strip_suffix('=') {
            Some(flag) => format!("cargo-dpor test --workspace {flag} 1"),
            None => format!("cargo-dpor test {flag}"),
        };
        let Err(error) = cli(&line) else { continue };
        let said = error.to_string();
        let understood = match error.kind() {
            ErrorKind::UnknownArgument => said.contains(": cargo dpor has no `"),
            // The value is none of those that there are, or the flag is one that must not be given twice.
            ErrorKind::InvalidValue | ErrorKind::ValueValidation | ErrorKind::ArgumentConflict => true,
            _ => false,
        };
        assert!(understood, "{line}: {said}");
    }
    let error = cli("cargo-dpor test --retries 3").unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("error: cargo dpor has no `--retries`: an exploration always"),
        "{error}"
    );
}

#[test]
fn words_of_nextest_are_understood() {
    let args = test_args(
        "cargo-dpor test --run-ignored only --cargo-profile fast --nff --test-threads num-cpus --build-jobs 1",
    );
    assert!(args.select.names.ignored && args.explore.no_fail_fast);
    assert_eq!(
        (args.cargo.profile.as_deref(), args.cargo.jobs.as_deref()),
        (Some("fast"), Some("1"))
    );
    assert!(args.explore.test_jobs.is_some_and(|jobs| jobs.0 > 0));
    assert_eq!(
        test_args("cargo-dpor test --max-fail 2").max_fail,
        Some(MaxFail(Some(2)))
    );
    assert_eq!(
        test_args("cargo-dpor test --max-fail all").max_fail,
        Some(MaxFail(None))
    );
    assert!(
        test_args("cargo-dpor test --run-ignored all")
            .select
            .names
            .include_ignored
    );
    assert!(test_args("cargo-dpor test --ff").explore.fail_fast);
    assert_eq!(test_args("cargo-dpor test --no-tests auto").no_tests, NoTests::Fail);
    for wrong in [
        "--max-fail 0",
        "--max-fail 2:immediate",
        "--run-ignored all --ignored",
        "--max-fail 1 --fail-fast",
    ] {
        assert!(cli(&format!("cargo-dpor test {wrong}")).is_err(), "{wrong}");
    }
}
