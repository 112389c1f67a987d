//! The tool used wrongly, and on projects that it can do nothing with: what it says, and its exit code. Also what becomes of the exit
//! code when it is configured, and that every way to print a run says the same of it.
//!
//! The projects are small and made here. The tool is the one that `CARGO_DPOR_BIN` names, or else is built first.

use dpor_testsuite::project::Project;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// Exit codes that `cargo dpor --help` documents.
const COMPLETE: i32 = 0;
const FAILED: i32 = 1;
const USAGE: i32 = 2;
const INCOMPLETE: i32 = 3;
const BUILD: i32 = 4;
const INTERNAL: i32 = 5;
const DOUBTFUL: i32 = 6;

/// A test of each kind.
const TESTS: &str = r#"
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread;

#[test]
fn alone() {}

#[test]
fn apart() {
    let child = thread::spawn(|| AtomicUsize::new(0).fetch_add(1, Ordering::Relaxed));
    child.join().unwrap();
}

#[test]
fn in_turn() {
    let number = Arc::new(AtomicUsize::new(0));
    let other = Arc::clone(&number);
    thread::spawn(move || other.store(1, Ordering::Relaxed)).join().unwrap();
    assert_eq!(number.load(Ordering::Relaxed), 1);
}

fn together(ordering: Ordering) {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let child = thread::spawn(move || NUMBER.fetch_add(1, ordering));
    NUMBER.fetch_add(1, ordering);
    child.join().unwrap();
}

#[test]
fn weakly() {
    together(Ordering::Relaxed);
}

#[test]
fn strongly() {
    together(Ordering::SeqCst);
}

#[test]
fn wrong() {
    let number = Arc::new(AtomicUsize::new(0));
    let other = Arc::clone(&number);
    let child = thread::spawn(move || other.store(1, Ordering::SeqCst));
    assert_eq!(number.load(Ordering::SeqCst), 0, "a store: came first");
    child.join().unwrap();
}
"#;

#[test]
fn what_is_wrong_is_said() {
    let project = Project::new("wrong", TESTS);
    project.refuses(&["tset"], USAGE, &["unrecognized subcommand 'tset'", "test"]);
    project.refuses(
        &["test", "--max-tmie", "5s"],
        USAGE,
        &["unexpected argument '--max-tmie'", "--max-time"],
    );
    project.refuses(
        &["test", "--max-time", "5y"],
        USAGE,
        &["`5y`: unknown unit `y`: use ms, s, m or h"],
    );
    project.refuses(
        &["test", "--strategy", "magic"],
        USAGE,
        &["unknown strategy `magic`; there are `context`"],
    );
    project.refuses(&["replay", "dpor1-AAAA"], USAGE, &["error: this seed is "]);
    project.refuses(
        &["replay", "nonsense"],
        USAGE,
        &["error: this is not a seed: seeds begin with `dpor1-`"],
    );
    project.refuses(
        &["man", "tset"],
        USAGE,
        &["there is no command `tset`, but test, replay"],
    );
    project.refuses(
        &["show-config", "-p", "mode"],
        USAGE,
        &["there is no package `mode` in the workspace, but made"],
    );
    project.refuses(
        &["test", "--junit", "Cargo.toml/x.xml"],
        INTERNAL,
        &["cannot write the JUnit report Cargo.toml/x.xml"],
    );
    project.refuses(
        &["test", "--config-file", "no.toml"],
        USAGE,
        &["there is no configuration file no.toml"],
    );
    project.write("dpor.toml", "seed = 1\nstrategi = \"source\"\n");
    for command in [&["test"][..], &["show-config"]] {
        project.refuses(
            command,
            USAGE,
            &["error: dpor.toml:2: unknown key `strategi`; there are `strategy`"],
        );
    }
    // What is told to programs is the same.
    let run = project.run(&["test", "--message-format", "json"]).ends(USAGE);
    let stopped = run.events("stopped");
    assert_eq!(stopped[0]["exit_code"], USAGE);
    assert!(
        stopped[0]["message"]
            .as_str()
            .is_some_and(|text| text.starts_with("dpor.toml:2: ")),
        "{stopped:?}"
    );
    let run = project.run(&["test", "--message-format", "github"]).ends(USAGE);
    assert!(
        run.stdout
            .contains("::error title=cargo dpor::dpor.toml:2: unknown key"),
        "{run:?}"
    );
}

#[test]
fn where_nothing_can_be_built() {
    let project = Project::new("unbuilt", TESTS);
    let none = project.run_with(&["test"], &[("RUSTC", "/nowhere/rustc")]);
    none.refused(
        INTERNAL,
        &["`/nowhere/rustc --print sysroot` failed", "is Rust installed"],
    );
    let broken = project.run_with(&["test"], &[("RUSTC", "/bin/false")]);
    broken.refused(INTERNAL, &["`/bin/false --print sysroot` failed", "is Rust installed"]);
    let with_compiler = |release: &str| {
        let path = project.folder.join("rustc");
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in\n-vV) printf 'release: {release}\\nhost: x86_64-unknown-linux-gnu\\n' ;;\n*sysroot) pwd ;;\n\
             *) echo /nowhere ;;\nesac\n"
        );
        fs::write(&path, script).expect("the folder is ours");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("the folder is ours");
        project.run_with(&["test"], &[("RUSTC", path.to_str().expect("it is Unicode"))])
    };
    with_compiler("1.80.0").refused(
        INTERNAL,
        &[
            "the compiler here is Rust 1.80.0, and cargo-dpor needs 1.95 or later",
            "rustup update",
        ],
    );
    with_compiler("1.95.0").refused(
        INTERNAL,
        &[
            "standard library for x86_64-unknown-linux-gnu is not in /nowhere",
            "rustup component add rust-std",
        ],
    );

    let home = project.run_with(&["test"], &[("CARGO_DPOR_HOME", "/proc/dpor")]);
    home.refused(INTERNAL, &["cannot create /proc/dpor"]);
    // Not even the superuser can write there.
    project.refuses(
        &["test", "--target-dir", "/proc/target"],
        INTERNAL,
        &["cannot write to the target folder /proc/target/dpor"],
    );
    project.write("file", "");
    project.refuses(
        &["test", "--target-dir", "file"],
        INTERNAL,
        &["cannot write to the target folder file/dpor"],
    );

    project.refuses(
        &["test", "--manifest-path", "no/Cargo.toml"],
        BUILD,
        &["`cargo metadata` failed"],
    );
    project.write("src/lib.rs", "fn f() -> u8 { \"\" }");
    project.refuses(
        &["test"],
        BUILD,
        &["mismatched types", "error: the code to test does not build"],
    );
}

#[test]
fn where_there_is_nothing_to_run() {
    let project = Project::new("empty", "");
    project.refuses(
        &["test"],
        USAGE,
        &["no tests to run: the targets that were built have none"],
    );
    project.write("src/lib.rs", "#[test]\nfn one() {}\n#[test]\n#[ignore]\nfn two() {}\n");
    let words = "no tests to run: none of the 2 tests that there are was asked for";
    for command in ["test", "list"] {
        project.refuses(&[command, "three"], USAGE, &[words]);
    }
    project.run(&["list"]).ends(COMPLETE);
    project.refuses(
        &["diff-states", "three"],
        USAGE,
        &["none of the 2 tests found here is `three`"],
    );
    // A whole seed, of another test.
    let seed = "dpor1-KmHruVoA_wEHY29udGV4dAEAAAAAAwABAQEAAgUAAAIBBAFGAAIAIMjejQ";
    project.refuses(
        &["replay", seed],
        USAGE,
        &["this seed belongs to none of the 2 tests found here"],
    );
}

#[test]
fn what_was_explored_is_said_and_counts_as_configured() {
    let project = Project::new("verdicts", TESTS);
    let judged = |arguments: &[&str]| {
        let run = project.run(&[&["test", "--message-format", "json"], arguments].concat());
        let finished = run.events("test-finished");
        (run, finished)
    };
    let (run, finished) = judged(&[]);
    let run = run.ends(FAILED);
    let of = |name: &str| {
        finished
            .iter()
            .find(|event| event["test"]["name"] == name)
            .expect("each test has ended")
    };
    assert_eq!(of("alone")["vacuous"], "one thread, and nothing to choose");
    assert_eq!(of("apart")["vacuous"], "its 2 threads never touch the same thing");
    assert_eq!(
        of("in_turn")["vacuous"],
        "its 2 threads take turns, so that there is one order only"
    );
    for name in ["weakly", "strongly", "wrong"] {
        assert_eq!(of(name)["vacuous"], Value::Null, "{name}");
    }
    for name in ["alone", "apart", "in_turn", "strongly", "wrong"] {
        assert_eq!(of(name)["weak_orderings"], Value::Array(vec![]), "{name}");
    }
    let weak = of("weakly")["weak_orderings"].as_array().expect("it is a list");
    let lines: Vec<_> = weak.iter().map(|weak| weak["location"]["line"].as_u64()).collect();
    let line = |text: &str| {
        TESTS
            .lines()
            .position(|line| line.contains(text))
            .map(|line| line as u64 + 1)
    };
    assert_eq!(
        lines,
        [line("thread::spawn(move || NUMBER"), line("    NUMBER.fetch_add")]
    );
    assert!(
        weak.iter()
            .all(|weak| weak["operation"] == "read-modify-write" && weak["orderings"] == "Relaxed")
    );
    assert_eq!(of("wrong")["failure"]["kind"], "panic");
    assert_eq!(of("wrong")["fault"], "failed");
    let end = &run.events("run-finished")[0];
    let number = |key: &str| end[key].as_u64();
    assert_eq!(
        (number("vacuous"), number("weak_orderings"), number("threaded")),
        (Some(3), Some(1), Some(5))
    );
    assert_eq!(
        (number("failed"), number("complete"), &end["fault"]),
        (Some(1), Some(5), &"failed".into())
    );

    for (arguments, code) in [
        (&["strongly", "alone"][..], COMPLETE),
        (&["--vacuous", "fail", "strongly"], COMPLETE),
        (&["--vacuous", "fail", "strongly", "alone"], DOUBTFUL),
        (&["--weak-orderings", "fail", "strongly"], COMPLETE),
        (&["--weak-orderings", "fail", "weakly"], DOUBTFUL),
        (
            &["--strategy", "source", "--max-executions", "1", "strongly"],
            INCOMPLETE,
        ),
        (
            &[
                "--strategy",
                "source",
                "--max-executions",
                "1",
                "--incomplete",
                "ok",
                "strongly",
            ],
            COMPLETE,
        ),
        (&["--vacuous", "fail", "alone", "wrong"], FAILED),
    ] {
        let (run, _) = judged(arguments);
        assert_eq!(run.code, Some(code), "{arguments:?}: {run:?}");
    }

    // For people: a mark, a line, and one if nothing at all was interleaved.
    let run = project.run(&["test", "alone", "weakly"]).ends(COMPLETE);
    assert!(
        run.stdout.contains("  vacuous? one thread, and nothing to choose\n"),
        "{run:?}"
    );
    assert!(
        run.stdout
            .contains("only sequentially consistent behaviours were explored"),
        "{run:?}"
    );
    assert!(!run.stdout.contains("no test used"), "{run:?}");
    let run = project.run(&["test", "alone"]).ends(COMPLETE);
    assert!(
        run.stdout.contains("warning: no test used more than one thread"),
        "{run:?}"
    );

    // Under a bound on preemptions.
    let (run, _) = judged(&["strongly", "--preemptions", "0"]);
    let reason = run.events("test-finished")[0]["reason"].clone();
    assert_eq!(run.code, Some(INCOMPLETE), "{run:?}");
    assert!(
        reason
            .as_str()
            .is_some_and(|reason| reason.contains("without preemptions")),
        "{reason}"
    );
    assert_eq!(judged(&["strongly", "--preemptions", "5"]).0.code, Some(COMPLETE));
    project.refuses(
        &["test", "strongly", "--preemptions", "5", "--strategy", "random"],
        USAGE,
        &["error: strongly: preemptions cannot be bounded with the strategy `random`"],
    );

    // As configured for one test only.
    project.write("dpor.toml", "[[overrides]]\nfilter = \"=alone\"\nvacuous = \"fail\"\n");
    assert_eq!(judged(&["apart"]).0.code, Some(COMPLETE));
    assert_eq!(judged(&["alone"]).0.code, Some(DOUBTFUL));
    // The command line is nearer.
    assert_eq!(judged(&["alone", "--vacuous", "ok"]).0.code, Some(COMPLETE));
}

#[test]
fn configuration_reaches_the_tests_and_is_shown() {
    let project = Project::new("configured", TESTS);
    project.write(
        "dpor.toml",
        "strategy = \"exhaustive\"\njunit = \"out/junit.xml\"\n[[overrides]]\nfilter = \"strongly\"\nmax-executions = 1\n",
    );
    let run = project.run(&["test", "strongly", "weakly"]).ends(INCOMPLETE);
    assert!(run.stdout.contains("the limit of 1 executions was reached"), "{run:?}");
    let junit = fs::read_to_string(project.folder.join("out/junit.xml")).expect("it was written");
    assert!(
        junit.contains("<error message=\"the limit of 1 executions was reached\" type=\"incomplete\"/>"),
        "{junit}"
    );
    let shown = project
        .run(&["show-config", "tests::strongly", "--seed", "3", "--color", "never"])
        .ends(COMPLETE);
    let words: Vec<Vec<_>> = shown
        .stdout
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert!(
        words.contains(&vec!["strategy", "exhaustive", "dpor.toml:1"]),
        "{shown:?}"
    );
    assert!(words.contains(&vec!["seed", "3", "command", "line"]), "{shown:?}");
    assert!(
        words
            .iter()
            .any(|words| words.starts_with(&["max-executions", "1", "dpor.toml:5,"])),
        "{shown:?}"
    );
    let shown = project.run(&["show-config", "--message-format", "json"]).ends(COMPLETE);
    let event = &shown.events("configured")[0];
    assert_eq!(event["tests"][0]["settings"]["strategy"]["origin"], "dpor.toml:1");
    assert_eq!(event["overrides"][0]["settings"]["max-executions"], "1");
}

#[test]
fn github_finds_what_failed_where_it_is() {
    let project = Project::new("github", TESTS);
    let run = project.run(&["test", "--message-format", "github"]).ends(FAILED);
    let line = TESTS
        .lines()
        .position(|line| line.contains("came first"))
        .expect("it is there")
        + 1;
    let start = format!("::error file=src/lib.rs,line={line},col=5,title=panic%3A made wrong::");
    assert!(run.stdout.lines().any(|line| line.starts_with(&start)), "{run:?}");
    assert!(
        run.stdout.contains("\nfailure: made wrong\n"),
        "people read the log as well: {run:?}"
    );
}

/// Tests that can be parted, one that cannot, and one that fails in some of its executions.
const PARTED: &str = r#"
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::Mutex;
use std::thread;

#[test]
fn alone() {}

#[test]
fn pushes() {
    let order = Mutex::new(Vec::new());
    let order = &order;
    thread::scope(|scope| {
        for id in 0..3 {
            scope.spawn(move || order.lock().unwrap().push(id));
        }
    });
    assert_eq!(order.lock().unwrap().len(), 3);
}

#[test]
fn tries() {
    let (lock, taken) = (Mutex::new(0), AtomicUsize::new(0));
    let (lock, taken) = (&lock, &taken);
    thread::scope(|scope| {
        scope.spawn(move || *lock.lock().unwrap() += 1);
        for _ in 0..2 {
            scope.spawn(move || taken.fetch_add(usize::from(lock.try_lock().is_ok()), SeqCst));
        }
    });
    assert!(taken.load(SeqCst) <= 2);
}

#[test]
fn waits() {
    let (flag, number) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (flag, number) = (&flag, &number);
    thread::scope(|scope| {
        scope.spawn(move || {
            while flag.load(SeqCst) < 2 {
                thread::yield_now();
            }
            number.load(SeqCst)
        });
        for _ in 0..2 {
            scope.spawn(move || {
                number.fetch_add(1, SeqCst);
                flag.fetch_add(1, SeqCst);
            });
        }
    });
}

#[test]
fn loses() {
    let number = AtomicUsize::new(0);
    let number = &number;
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(move || number.store(number.load(SeqCst) + 1, SeqCst));
        }
    });
    assert_eq!(number.load(SeqCst), 2);
}
"#;

#[test]
fn shards_prove_together_what_one_run_proves() {
    let project = Project::new("parted", PARTED);
    project.refuses(&["test", "--shard", "4/3"], USAGE, &["there is no shard 4 of 3"]);
    project.refuses(&["test", "--shard", "third"], USAGE, &["a shard is written K/N"]);
    let random = ["test", "--shard", "1/3", "--strategy", "random"];
    project.refuses(&random, USAGE, &["`random` cannot explore a shard"]);
    for strategy in ["context", "source", "unfolding"] {
        let arguments = ["test", "--strategy", strategy, "--message-format", "json"];
        let whole = project.run(&arguments).ends(FAILED).events("test-finished");
        let mut fingerprints = BTreeSet::new();
        let parts = ["1/3", "2/3", "3/3"].map(|shard| {
            let run = project.run(&[&arguments[..], &["--shard", shard]].concat());
            let summary = &run.events("run-finished")[0];
            assert_eq!(summary["shard"], shard);
            fingerprints.insert(summary["fingerprint"].as_str().expect("there is one").to_owned());
            let tests = run.events("test-finished");
            assert!(tests.iter().all(|test| test["shard"] == shard));
            tests
        });
        assert_eq!(fingerprints.len(), 1, "{fingerprints:?}");
        for (at, test) in whole.iter().enumerate() {
            let name = test["test"]["name"].as_str().expect("tests have names");
            let parts: Vec<&Value> = parts.iter().map(|tests| &tests[at]).collect();
            assert!(parts.iter().all(|part| part["test"] == test["test"]));
            assert!(parts.iter().all(|part| part["fingerprint"] == parts[0]["fingerprint"]));
            assert!(test["fingerprint"].is_null() && parts[0]["fingerprint"].is_string());
            let count = |test: &Value| test["counts"]["complete"].as_u64().expect("a number");
            let (all, each): (u64, Vec<u64>) = (count(test), parts.iter().map(|part| count(part)).collect());
            println!("{strategy} {name}: {all} executions as a whole, {each:?} in parts");
            match name {
                "loses" => {
                    let seeds = parts.iter().filter_map(|part| part["seed"].as_str());
                    let replays = seeds.map(|seed| project.run(&["replay", seed]).ends(FAILED));
                    assert!(replays.count() > 0, "{parts:?}");
                }
                // Somebody explores it, and the others have nothing to explore.
                "alone" => assert_eq!((each.iter().sum::<u64>(), each.iter().max()), (1, Some(&1))),
                _ => {
                    assert!(parts.iter().all(|part| part["verdict"] == "complete"), "{parts:?}");
                    assert!(
                        each.iter().filter(|&&count| count > 0).count() > 1,
                        "{name} can be parted"
                    );
                    let classes = strategy != "context";
                    assert!(!classes || each.iter().sum::<u64>() >= all, "{name}: {each:?}");
                }
            }
        }
    }
    let part = project.run(&["test", "--shard", "2/3", "pushes"]).ends(COMPLETE);
    assert!(part.stdout.contains("complete 2/3 made"), "{part:?}");
    assert!(part.stdout.contains("summary of shard 2/3: 1 test"), "{part:?}");
}

/// What must not differ between shards shows in their fingerprints; where they are built, and for how long they run, does not.
#[test]
fn shards_of_different_tests_have_different_fingerprints() {
    let fingerprint = |project: &Project, more: &[&str]| {
        let arguments = ["test", "--shard", "1/2", "pushes", "--message-format", "json"];
        let run = project.run(&[&arguments[..], more].concat()).ends(COMPLETE);
        let summary = &run.events("run-finished")[0];
        summary["fingerprint"].as_str().expect("there is one").to_owned()
    };
    let project = Project::new("fingerprints", PARTED);
    let first = fingerprint(&project, &[]);
    assert_eq!(
        fingerprint(&project, &["--max-time", "1h", "--max-executions", "none"]),
        first
    );
    let printed = project.run(&["test", "--shard", "2/2", "pushes"]).ends(COMPLETE);
    let told = format!("a test is complete if all shards say so, and all have the fingerprint {first}\n");
    assert!(printed.stdout.contains(&told), "{printed:?}");
    for different in [
        &["--spurious-cas"][..],
        &["--leaks"],
        &["--preemptions", "1"],
        &["waits"],
    ] {
        assert_ne!(fingerprint(&project, different), first, "{different:?}");
    }
    let elsewhere = Project::new("fingerprints-elsewhere", &PARTED.replace("0..3", "0..2 + 1"));
    assert_eq!(fingerprint(&elsewhere, &[]), first);
    elsewhere.write(
        "src/lib.rs",
        &PARTED.replace(
            "order.lock().unwrap().push(id)",
            "{ drop(order.lock()); order.lock().unwrap().push(id) }",
        ),
    );
    assert_ne!(fingerprint(&elsewhere, &[]), first);
}

/// Parting a test counts as exploring it: time limits hold for it, too.
#[test]
fn parting_a_test_ends_when_its_time_is_up() {
    let slow = r#"
#[test]
fn slow() {
    let number = std::sync::Mutex::new(0_u64);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let mut number = number.lock().unwrap();
                    for _ in 0..3_000_000 {
                        *number = std::hint::black_box(*number + 1);
                    }
                }
            });
        }
    });
}
"#;
    let run = Project::new("slow", slow).run(&["test", "--shard", "1/2", "--max-time", "300ms"]);
    let run = run.ends(INCOMPLETE);
    let reason = "the time limit was reached while the test was parted";
    assert!(run.stdout.contains(reason), "{run:?}");
}
