use super::*;
use clap::CommandFactory;

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
    assert_eq!(args.model.max_time, Some(Duration::from_secs(5)));
    assert_eq!(args.cargo.package, ["x"]);
}

#[test]
fn filters_and_flags_mix() {
    let args = test_args("cargo-dpor test one --exact -p a -p b two --max-time 5m --strategy random --seed 7 -j -1");
    assert_eq!(args.select.filters, ["one", "two"]);
    assert!(args.select.exact);
    assert_eq!(args.cargo.package, ["a", "b"]);
    assert_eq!(args.explore.model.max_time, Some(Duration::from_secs(300)));
    assert_eq!(
        (args.explore.strategy, args.explore.seed),
        (Strategy::Random { seed: 0 }, 7)
    );
    assert_eq!(args.cargo.jobs.as_deref(), Some("-1"));
}

#[test]
fn simpler_schedules_are_looked_for_unless_told_otherwise() {
    let time = |line| test_args(line).explore.simplify;
    assert_eq!(time("cargo-dpor test"), Duration::from_secs(2));
    assert_eq!(time("cargo-dpor test --simplify 300ms"), Duration::from_millis(300));
    assert_eq!(time("cargo-dpor test --simplify 0"), Duration::ZERO);
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
        assert_eq!(args.explore.strategy.to_string(), name);
    }
    assert_eq!(test_args("cargo-dpor test").explore.strategy.to_string(), "context");
    let error = cli("cargo-dpor test --strategy context:slow").unwrap_err().to_string();
    assert!(
        error.contains("unknown strategy `context:slow`; there are `context`"),
        "{error}"
    );
}

#[test]
fn durations() {
    assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
    assert_eq!(duration("1.5"), Ok(Duration::from_millis(1500)));
    assert_eq!(duration("2h"), Ok(Duration::from_secs(7200)));
    assert!(duration("s").is_err() && duration("-1s").is_err() && duration("nan").is_err());
}

#[test]
fn help_names_every_exit_code() {
    let help = cli("cargo-dpor test --help").unwrap_err().to_string();
    assert!((0..=5).all(|code| help.contains(&format!("\n  {code}  "))), "{help}");
}

#[test]
fn leaks_are_looked_for_on_demand() {
    assert!(!test_args("cargo-dpor test").explore.leaks);
    assert!(test_args("cargo-dpor test --leaks a").explore.leaks);
    assert!(cli("cargo-dpor replay dpor1-abc --leaks").is_err());
}
