//! The tool used wrongly, and on projects that it cannot handle: its messages, and its exit code. Also the exit code
//! when it is configured, and that all output formats agree on a run.
//!
//! The projects are small and made here. The tool is the one that `CARGO_DPOR_BIN` names, or else is built first.

use dpor_testsuite::project::{Project, Run};
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
            "#!/bin/sh\ncase \"$*\" in\n-vV) printf 'release: {release}\\nhost: x86_64-unknown-linux-gnu\\n' ;;\n\
             *sysroot) pwd ;;\n\
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
fn builds_that_cannot_be_had_are_refused() {
    let project = Project::new("refused", "#[test]\nfn one() {}\n");
    let elsewhere = "wasm32-unknown-unknown, but tests run on this machine";
    let abort = "have `-C panic=abort`, with which tests cannot be built";
    project.refuses(
        &["test", "--target", "wasm32-unknown-unknown"],
        USAGE,
        &["`--target` asks for", elsewhere],
    );
    for (variable, value, words) in [
        (
            "CARGO_BUILD_TARGET",
            "wasm32-unknown-unknown",
            ["CARGO_BUILD_TARGET asks for", elsewhere],
        ),
        ("RUSTFLAGS", "-Copt-level=1 -C panic=abort", ["the rustflags", abort]),
        ("CARGO_ENCODED_RUSTFLAGS", "-Cpanic=abort", ["the rustflags", abort]),
    ] {
        project.run_with(&["test"], &[(variable, value)]).refused(USAGE, &words);
    }
    project.write(".cargo/config.toml", "[build]\ntarget = \"wasm32-unknown-unknown\"\n");
    for command in ["test", "list"] {
        project.refuses(
            &[command],
            USAGE,
            &["`build.target` in a configuration file of Cargo asks for", elsewhere],
        );
    }
    project
        .run(&["test", "--target", "x86_64-unknown-linux-gnu"])
        .ends(COMPLETE);
    project.write(".cargo/config.toml", "[build]\nrustflags = [\"-C\", \"panic=abort\"]\n");
    project.refuses(&["test"], USAGE, &[abort]);
}

#[test]
fn optimisation_at_link_time_and_aborts_are_not_followed() {
    let project = Project::new("optimised", TESTS);
    let manifest = "[package]\nname = \"made\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
                    [profile.small]\n\
                    inherits = \"release\"\n\n[profile.release]\nlto = \"fat\"\npanic = \"abort\"\n";
    project.write("Cargo.toml", manifest);
    project.write("src/main.rs", "fn main() {}\n");
    project.write(
        "tests/it.rs",
        "#[test]\nfn unwinds() {\n    std::panic::catch_unwind(|| panic!()).unwrap_err();\n}\n",
    );
    let arguments = ["test", "--profile", "small", "strongly", "wrong", "unwinds"];
    let run = project.run_with(&arguments, &[("RUSTFLAGS", "-C lto=thin -Clinker-plugin-lto")]);
    run.refused(
        FAILED,
        &[
            "warning: `-C lto=thin -Clinker-plugin-lto` of the rustflags is ignored",
            "warning: `lto = \"fat\"` of the profile `small` is not followed",
            "warning: `panic = \"abort\"` of the profile `small` is not followed",
        ],
    );
    let run = run.ends(FAILED);
    assert!(run.stdout.contains("3 tests, 2 complete, 1 failed"), "{run:?}");
}

#[test]
fn tests_of_all_kinds_of_harnesses_go_beside_each_other() {
    let generics = "
        #[test]
        fn plain() {}
        #[test]
        fn none_of_them<>() {
            let number = std::sync::atomic::AtomicU8::new(0);
            std::thread::scope(|scope| {
                for value in 1..3 {
                    let number = &number;
                    scope.spawn(move || number.store(value, std::sync::atomic::Ordering::SeqCst));
                }
            });
        }
        #[test]
        fn a_lifetime<'a>() -> Result<(), &'a str> {
            Ok(())
        }
        #[test]
        fn with_a_comma<'a,>() {}
    ";
    let project = Project::new("harnesses", generics);
    let manifest = "[package]\nname = \"made\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n";
    let target = |name: &str| format!("\n[[test]]\nname = \"{name}\"\nharness = false\n");
    project.write(
        "Cargo.toml",
        &(manifest.to_owned() + &target("mimic") + &target("broken")),
    );
    let mimic = "fn main() {
        let asked = |flag: &str| std::env::args().any(|argument| argument == flag);
        if asked(\"--list\") && !asked(\"--ignored\") {
            println!(\"mimicked: test\");
        }
    }";
    project.write("tests/mimic.rs", mimic);
    project.write("tests/broken.rs", "fn main() {}\n");
    // Of a harness that only looks like libtest's, the test cannot be explored.
    let run = project.run(&["test"]).ends(INCOMPLETE);
    assert!(
        run.stdout.contains("5 tests, 4 complete, 0 failed, 1 incomplete"),
        "{run:?}"
    );
    let what_to_do = "it ran without the model, so nothing was explored";
    assert!(run.stdout.contains(what_to_do) && run.stdout.contains("call its body from a function with `#[test]`"));
    let of_none = run
        .stdout
        .lines()
        .find(|line| line.contains(" none_of_them "))
        .expect("it is told");
    assert!(of_none.contains(" 2 executions"), "{of_none}");
    // One that cannot be listed does not stop the others, but the exit code tells.
    project.write("tests/broken.rs", "fn main() {\n    std::process::exit(127);\n}\n");
    let run = project.run(&["test", "--incomplete", "ok"]);
    run.refused(INTERNAL, &["warning: made::broken is left out: exit status: 127"]);
    assert!(run.stdout.contains("5 tests, 4 complete"), "{run:?}");
    project.run(&["list"]).refused(INTERNAL, &["made::broken is left out"]);
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
    let words = "no tests to run: none of the 2 tests found here has `three` in its name\n";
    for command in ["test", "list"] {
        project.refuses(&[command, "three"], USAGE, &[words]);
    }
    project.refuses(&["test", "oen"], USAGE, &["has `oen` in its name; did you mean `one`?"]);
    project.refuses(
        &["test", "two"],
        USAGE,
        &["all 1 selected tests are ignored: `--ignored`"],
    );
    let run = project
        .run(&["test", "three", "--no-tests", "pass", "--junit", "none.xml"])
        .ends(COMPLETE);
    assert!(
        run.stdout.contains("summary: 0 tests") && !run.stderr.contains("warning"),
        "{run:?}"
    );
    project
        .run(&["test", "three", "--no-tests", "warn"])
        .ends(COMPLETE)
        .refused(COMPLETE, &["warning: no tests to run: none of"]);
    let run = project.run(&["list", "one", "three"]).ends(COMPLETE);
    assert!(
        run.stderr
            .contains("warning: none of the 2 tests found here has `three` in its name"),
        "{run:?}"
    );
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

/// Two threads draw numbers, and keep what they have drawn on their stacks, or in one static.
const DRAWN: &str = r#"
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

static NEXT: AtomicUsize = AtomicUsize::new(0);

fn both(draw: fn()) {
    let child = thread::spawn(draw);
    draw();
    child.join().unwrap();
}

#[test]
fn kept_on_stacks() {
    both(|| {
        let mut drawn = black_box([0; 3]);
        for number in &mut drawn {
            *number = NEXT.fetch_add(1, SeqCst);
        }
        black_box(&drawn);
    });
}

#[test]
fn not_kept() {
    both(|| {
        for _ in 0..3 {
            NEXT.fetch_add(1, SeqCst);
        }
    });
}

#[test]
fn fails() {
    both(|| assert_eq!(NEXT.fetch_add(1, SeqCst), 0));
}
"#;

#[test]
fn what_keeps_all_states_apart_is_told() {
    let project = Project::new("apart", DRAWN);
    let survey = |test: &str| {
        let run = project.run(&["diff-states", test, "--all-states", "--message-format", "json"]);
        let [event] = &run.ends(COMPLETE).events("surveyed")[..] else {
            panic!("a survey of {test}")
        };
        event["survey"].clone()
    };
    let (kept, not) = (survey("kept_on_stacks"), survey("not_kept"));
    let states = |survey: &Value| survey["states"].as_u64().expect("a number");
    assert!(states(&kept) > states(&not), "{kept} {not}");
    let first = &kept["parts"][0];
    assert_eq!(first["name"], "stacks and registers", "{kept}");
    let without = first["without"].as_u64().expect("a number");
    assert!(without < states(&kept), "{kept}");
    let places = kept["places"].as_array().expect("a list");
    let is_drawn = |place: &&Value| {
        let owner = place["example"]["owner"].as_str().expect("a text");
        owner.contains("stack, in or below")
    };
    assert!(places.iter().any(|place| is_drawn(&place)), "{kept}");
    let run = project
        .run(&["diff-states", "kept_on_stacks", "--all-states"])
        .ends(COMPLETE);
    for text in ["stacks and registers", "compared with the nearest one"] {
        assert!(run.stdout.contains(text), "{run:?}");
    }
    // A failing test has states as well.
    assert!(states(&survey("fails")) > 1);
    // Cut short, it tells of the states so far.
    let run = project.run(&["diff-states", "kept_on_stacks", "--all-states", "--max-executions", "2"]);
    let run = run.ends(INCOMPLETE);
    assert!(
        run.stdout.contains(" states: ") && run.stdout.contains("limit of 2 executions"),
        "{run:?}"
    );
}

#[test]
fn what_was_explored_is_said_and_counts_as_configured() {
    let project = Project::new("verdicts", TESTS);
    // Where weak memory is explored, weak orderings leave nothing to be said.
    let judged = |arguments: &[&str]| {
        let first = ["test", "--memory", "sc", "--message-format", "json"];
        let run = project.run(&[&first[..], arguments].concat());
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
    let run = project
        .run(&["test", "alone", "weakly", "--memory", "sc"])
        .ends(COMPLETE);
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
        &["error: strongly: the strategy `random` cannot bound preemptions"],
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
        "strategy = \"exhaustive\"\njunit = \"out/junit.xml\"\n[[overrides]]\nfilter = \"strongly\"\n\
         max-executions = 1\n\
         [[overrides]]\nfilter = \"=stongly\"\nseed = 1\n[profile.ci]\nmax-executions = 1\nstrategy = \"source\"\n",
    );
    let run = project.run(&["test", "strongly", "weakly"]).ends(INCOMPLETE);
    let idle = "dpor.toml:6: the override for filter = \"=stongly\" chooses no test";
    assert!(run.stderr.contains(&format!("warning: {idle}\n")), "{run:?}");
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
    assert_eq!(event["profile"], Value::Null);
    assert_eq!(event["tests"][0]["settings"]["strategy"]["origin"], "dpor.toml:1");
    assert_eq!(event["overrides"][0]["settings"]["max-executions"], "1");

    // Only some of the targets are built: the test that is meant may be in another one.
    let run = project.run(&["test", "--lib", "weakly", "--message-format", "json"]);
    assert_eq!(run.ends(COMPLETE).events("warning"), Vec::<Value>::new());
    // A profile, chosen by the flag or by the environment.
    let run = project.run(&["test", "weakly", "--config-profile", "ci", "--message-format", "json"]);
    let run = run.ends(INCOMPLETE);
    assert_eq!(run.events("warning")[0]["message"], idle);
    let reason = &run.events("test-finished")[0]["reason"];
    assert_eq!(reason, "the limit of 1 executions was reached");
    let by_environment = [("CARGO_DPOR_PROFILE", "ci")];
    let shown = project.run_with(&["show-config", "--message-format", "json"], &by_environment);
    let event = &shown.events("configured")[0];
    assert_eq!(event["profile"], "ci");
    assert_eq!(
        event["tests"][0]["settings"]["strategy"]["origin"],
        "dpor.toml:11, profile ci"
    );
    let without = project.run_with(&["show-config", "--config-profile", "default"], &by_environment);
    assert!(!without.ends(COMPLETE).stdout.contains("profile"));
    let unknown = ["test", "--config-profile", "cii"];
    project.refuses(
        &unknown,
        USAGE,
        &["there is no profile `cii` in the configuration, only `ci`"],
    );
}

#[test]
fn init_writes_what_is_not_there() {
    let project = Project::new("init", TESTS);
    // Otherwise the repository is that of this test.
    fs::create_dir(project.folder.join(".git")).expect("the folder is ours");
    let run = project.run(&["init"]).ends(COMPLETE);
    assert!(run.stdout.contains("cargo dpor init --ci github"), "{run:?}");
    let read = |file: &str| fs::read_to_string(project.folder.join(file)).expect("it was written");
    let written = read("dpor.toml");
    assert!(written.contains("\n#max-time = "), "{written}");
    assert!(!project.folder.join(".github").exists());
    // It changes nothing.
    let shown = project.run(&["show-config", "--message-format", "json"]).ends(COMPLETE);
    let event = &shown.events("configured")[0];
    assert_eq!(event["files"][0], "dpor.toml");
    let settings = event["tests"][0]["settings"].as_object().expect("there are some");
    assert!(
        settings.values().all(|set| set["origin"]
            .as_str()
            .is_some_and(|origin| origin.starts_with("default"))),
        "{settings:?}"
    );

    project.write("dpor.toml", "seed = 3\n");
    project.refuses(&["init"], USAGE, &["dpor.toml already exists; --force overwrites it"]);
    let run = project.run(&["init", "--ci", "github"]).ends(COMPLETE);
    assert!(run.stdout.contains("dpor.toml already exists, and is kept"), "{run:?}");
    assert!(run.stdout.contains("git submodule add "), "{run:?}");
    assert_eq!(read("dpor.toml"), "seed = 3\n");
    let workflow = read(".github/workflows/dpor.yml");
    assert!(workflow.contains("args: --workspace"), "{workflow}");
    project.refuses(&["init", "--ci", "github"], USAGE, &["dpor.yml already exists"]);
    project.run(&["init", "--ci", "github", "--force"]).ends(COMPLETE);
    assert_eq!(read("dpor.toml"), written);
    project.refuses(
        &["init", "--ci", "gitlab"],
        USAGE,
        &["invalid value 'gitlab'", "github"],
    );
    project.refuses(
        &["init", "--manifest-path", "no/Cargo.toml"],
        BUILD,
        &["`cargo metadata` failed"],
    );
}

#[test]
fn a_configuration_that_is_no_text_is_refused() {
    let project = Project::new("no-text", TESTS);
    let own = project.folder.join("dpor.toml");
    fs::write(&own, b"seed = 1\n# caf\xe9\n").expect("the folder is ours");
    project.refuses(&["test"], USAGE, &["error: dpor.toml:2: the byte 0xe9 is no UTF-8"]);
    fs::remove_file(&own).expect("it is ours");
    fs::create_dir(&own).expect("the folder is ours");
    project.refuses(&["test"], USAGE, &["error: dpor.toml is a folder"]);
    fs::remove_dir(&own).expect("it is ours");
    for (text, words) in [
        (
            "max-time = true",
            "`true` is not a duration: a number of seconds, or one with a unit such as 500ms, 30s",
        ),
        ("max-time = 1e9", "write `max-time = \"30s\"`"),
        ("max-executions = 1e9", "write `max-executions = 100000`"),
    ] {
        project.write("dpor.toml", text);
        project.refuses(&["show-config"], USAGE, &["error: dpor.toml:1: ", words]);
    }
    project.write("dpor.toml", "[[overrides]]\npackage = \"mode\"\nseed = 1\n");
    let shown = project.run(&["show-config"]).ends(COMPLETE);
    let words = "warning: dpor.toml:1: the override for package = \"mode\" chooses no test: there is no such package";
    assert!(shown.stderr.contains(words), "{shown:?}");
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

/// Messages by way of a flag, and loops that wait for one.
const STALE: &str = r#"
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::{self, *}};
use std::sync::Arc;
use std::thread;

fn message(data: Ordering, store: Ordering, load: Ordering) {
    let shared = Arc::new((AtomicU32::new(0), AtomicBool::new(false)));
    let other = shared.clone();
    let sender = thread::spawn(move || {
        other.0.store(42, data);
        other.1.store(true, store);
    });
    if shared.1.load(load) {
        assert_eq!(shared.0.load(data), 42);
    }
    sender.join().unwrap();
}

#[test]
fn relaxed() {
    message(Relaxed, Relaxed, Relaxed);
}

#[test]
fn ordered() {
    message(Relaxed, Release, Acquire);
}

#[test]
fn sequential() {
    message(SeqCst, SeqCst, SeqCst);
}

#[test]
fn waiting() {
    let shared = Arc::new((AtomicU32::new(0), AtomicBool::new(false)));
    let other = shared.clone();
    let sender = thread::spawn(move || {
        other.0.store(42, Relaxed);
        other.1.store(true, Release);
    });
    while !shared.1.load(Acquire) {}
    assert_eq!(shared.0.load(Relaxed), 42);
    sender.join().unwrap();
}

struct Fenced;

impl Drop for Fenced {
    fn drop(&mut self) {
        std::sync::atomic::fence(Acquire);
    }
}

// Whoever drops the last share makes a fence: another thread may not have made it.
#[test]
fn fenced() {
    let (shared, fence) = (Arc::new((AtomicU32::new(0), AtomicBool::new(false))), Arc::new(Fenced));
    let (others, fences) = (shared.clone(), fence.clone());
    let writer = thread::spawn(move || {
        shared.0.store(42, Relaxed);
        shared.1.store(true, Release);
    });
    let reader = thread::spawn(move || {
        let ready = others.1.load(Relaxed);
        drop(fences);
        assert!(!ready || others.0.load(Relaxed) == 42);
    });
    drop(fence);
    reader.join().unwrap();
    writer.join().unwrap();
}

#[test]
fn endless() {
    let flag = Arc::new(AtomicBool::new(false));
    let other = flag.clone();
    let sender = thread::spawn(move || {
        other.store(true, Relaxed);
        other.store(false, Relaxed);
    });
    sender.join().unwrap();
    while !flag.load(Relaxed) {}
}

#[test]
fn gone() {
    use std::sync::atomic::AtomicPtr;
    fn publish(slot: &AtomicPtr<AtomicU32>) {
        let local = AtomicU32::new(1);
        slot.store(std::hint::black_box(&raw const local).cast_mut(), Release);
    }
    let slot = Arc::new(AtomicPtr::new(std::ptr::null_mut()));
    let other = slot.clone();
    let first = thread::spawn(move || publish(&other));
    let found = slot.load(Acquire);
    if !found.is_null() {
        unsafe { (*found).store(2, Relaxed) };
    }
    first.join().unwrap();
}

#[test]
fn racing() {
    struct Shared(std::cell::UnsafeCell<u32>, AtomicU32, AtomicU32);
    unsafe impl Sync for Shared {}
    unsafe impl Send for Shared {}
    // Peterson's algorithm without its fences: sequential consistency keeps the two apart.
    let shared = Arc::new(Shared(std::cell::UnsafeCell::new(0), AtomicU32::new(0), AtomicU32::new(0)));
    let other = shared.clone();
    let second = thread::spawn(move || {
        other.2.store(1, Release);
        if other.1.load(Acquire) == 0 {
            unsafe { *other.0.get() += 1 };
        }
    });
    shared.1.store(1, Release);
    if shared.2.load(Acquire) == 0 {
        unsafe { *shared.0.get() += 1 };
    }
    second.join().unwrap();
}
"#;

#[test]
fn weak_memory_is_explored_unless_it_is_ruled_out() {
    let project = Project::new("stale", STALE);
    let test = |name: &str, more: &[&str]| {
        let arguments = ["test", name, "--exact", "--message-format", "json"];
        project.run(&[&arguments[..], more].concat())
    };
    let finished = |run: &Run| run.events("test-finished")[0].clone();
    for strategy in ["states", "context", "source", "exhaustive"] {
        let sc = ["--strategy", strategy, "--memory", "sc"];
        let weak = ["--strategy", strategy];
        for name in ["relaxed", "ordered", "sequential", "waiting", "racing"] {
            let note = finished(&test(name, &sc).ends(COMPLETE))["note"].to_string();
            assert!(!note.contains("weak memory"), "{name}: {note}");
        }
        for (name, told) in [("ordered", true), ("sequential", false), ("waiting", true)] {
            let test = finished(&test(name, &weak).ends(COMPLETE));
            assert_eq!(
                test["note"].to_string().contains("weak memory without load buffering"),
                told,
                "{test}"
            );
            assert_eq!(test["weak_orderings"].as_array().map_or(0, Vec::len), 0, "{test}");
        }
        for (name, kind) in [
            ("relaxed", "panic"),
            ("fenced", "panic"),
            ("racing", "data-race"),
            ("endless", "livelock"),
            ("gone", "use-after-free"),
        ] {
            let test = finished(&test(name, &weak).ends(FAILED));
            assert_eq!(test["failure"]["kind"], kind, "{name} {strategy}: {test}");
            // The seed says what atomics promise.
            let seed = test["seed"].as_str().expect("a failure has a seed");
            let again = project.run(&["replay", seed, "--message-format", "json"]).ends(FAILED);
            assert_eq!(again.events("replayed")[0]["failure"]["kind"], kind, "{name}");
        }
    }
    // Whether it fails without weak memory is known beforehand, or told if there is time for it.
    let only = "no sequentially consistent execution fails; weak memory";
    let too = "a sequentially consistent execution fails, too: livelock; weak memory";
    let source = ["--strategy", "source"];
    let random = ["--strategy", "random", "--max-executions", "1000"];
    for (name, more, told) in [
        ("relaxed", &[][..], Some(only)),
        ("relaxed", &["--simplify", "0"], Some(only)),
        ("relaxed", &["--max-executions", "1000"], Some(only)),
        ("relaxed", &["--max-executions", "1000", "--simplify", "0"], None),
        ("relaxed", &source, Some(only)),
        ("relaxed", &[&source[..], &["--simplify", "0"]].concat(), None),
        ("relaxed", &random, Some(only)),
        ("endless", &[], None),
        ("endless", &source, Some(too)),
    ] {
        let run = test(name, more).ends(FAILED);
        let note = finished(&run)["note"].to_string();
        assert_eq!(note.contains("sequentially"), told.is_some(), "{name} {more:?}: {note}");
        assert!(told.is_none_or(|told| note.contains(told)), "{name}: {note}");
    }
    let shown = project.run(&["test", "relaxed"]).ends(FAILED);
    assert!(
        shown.stdout.contains("0, old: t0 does not know of t1's store"),
        "{shown:?}"
    );
    for strategy in ["optimal", "unfolding", "trans"] {
        let unable = format!("the strategy `{strategy}");
        project.refuses(
            &["test", "relaxed", "--memory", "rc11", "--strategy", strategy],
            USAGE,
            &[&unable, "cannot explore weak memory"],
        );
        // Where nobody asks for it, it is as if each atomic had been asked for `SeqCst`.
        let met = finished(&test("relaxed", &["--strategy", strategy]).ends(COMPLETE));
        assert!(
            met["weak_orderings"].as_array().is_some_and(|all| !all.is_empty()),
            "{met}"
        );
    }
    project.refuses(
        &["test", "--memory", "tso"],
        USAGE,
        &["it is `sc` or `rc11`", "--memory"],
    );
    project.write("dpor.toml", "[[overrides]]\nfilter = \"relaxed\"\nmemory = \"sc\"\n");
    test("relaxed", &[]).ends(COMPLETE);
    test("racing", &[]).ends(FAILED);
}

/// What is large with weak memory, or without it.
const LARGE: &str = r#"
use std::os::unix::thread::JoinHandleExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

type Shared = Arc<([AtomicU64; 4], AtomicBool)>;

// When all is written, few values are left, unless old ones are found: a million ways, with two values of each.
#[test]
fn old_values() {
    let shared = Shared::default();
    let other = shared.clone();
    let writer = thread::spawn(move || {
        for value in 0..64 {
            other.0[value % 4].store(value as u64, Relaxed);
        }
        other.1.store(true, Relaxed);
    });
    while !shared.1.load(Relaxed) {}
    let read = |seen: u128, at: usize| seen * 64 + u128::from(shared.0[at % 4].load(Relaxed));
    std::hint::black_box((0..20).fold(0, read));
    writer.join().unwrap();
}

fn many_orders(shared: &Shared) {
    let add = |own: u64| {
        let all = shared.clone();
        move || (0..6).for_each(|at| all.0[at % 4].store(all.0[(at + 1) % 4].load(Relaxed) * 5 + own, Relaxed))
    };
    let threads: Vec<_> = (1..5).map(|own| thread::spawn(add(own))).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

// What comes last is changed first.
#[test]
fn fails_late() {
    let shared = Shared::default();
    many_orders(&shared);
    let other = shared.clone();
    let sender = thread::spawn(move || {
        other.0[0].store(u64::MAX, Relaxed);
        other.1.store(true, Relaxed);
    });
    assert!(!shared.1.load(Relaxed) || shared.0[0].load(Relaxed) == u64::MAX);
    sender.join().unwrap();
}

#[test]
fn unsupported() {
    let shared = Shared::default();
    let other = shared.clone();
    let thread = thread::spawn(move || other.1.store(true, Relaxed));
    shared.1.load(Relaxed);
    std::hint::black_box(thread.as_pthread_t());
    thread.join().unwrap();
}
"#;

#[test]
fn sequentially_consistent_executions_come_first_and_take_half_of_the_time() {
    let project = Project::new("large", LARGE);
    let test = |name: &str, memory: &str, more: &[&str]| {
        let arguments = ["test", name, "--message-format", "json", "--memory", memory];
        let run = project.run(&[&arguments[..], more].concat());
        run.events("test-finished")[0].clone()
    };
    let says = |test: &Value, words: &str| {
        let note = test["note"].to_string();
        assert!(note.contains(words), "no `{words}`: {test}");
    };
    assert_eq!(test("old_values", "sc", &[])["verdict"], "complete");
    // It is known to those who go on with it, too.
    for more in [&["--max-time", "2s"][..], &["--max-time", "2s", "--resume"]] {
        let met = test("old_values", "rc11", more);
        assert_eq!(met["verdict"], "incomplete", "{met}");
        says(
            &met,
            "weak memory without load buffering; under sequential consistency, the test is complete",
        );
    }
    assert_eq!(test("fails_late", "sc", &["--max-time", "2s"])["verdict"], "incomplete");
    let met = test("fails_late", "rc11", &["--max-time", "8s", "--simplify", "0"]);
    assert_eq!(
        (met["verdict"].as_str(), met["failure"]["kind"].as_str()),
        (Some("failed"), Some("panic")),
        "{met}"
    );
    let note = met["note"].to_string();
    assert!(
        note.contains("weak memory without") && !note.contains("sequentially"),
        "{note}"
    );
    let met = test("unsupported", "rc11", &[]);
    assert_eq!(met["verdict"], "incomplete", "{met}");
    says(&met, "weak memory has not been explored");
}

/// Two threads that must not both miss the other's store, with a fence between store and load.
const FENCED: &str = r#"
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::Arc;

#[test]
fn one_of_two_sees_the_other() {
    let shared = Arc::new((AtomicBool::new(false), AtomicBool::new(false)));
    let other = shared.clone();
    let thread = std::thread::spawn(move || {
        other.0.store(true, Relaxed);
        LIBRARY::full_fence();
        other.1.load(Relaxed)
    });
    shared.1.store(true, Relaxed);
    LIBRARY::full_fence();
    let own = shared.0.load(Relaxed);
    assert!(thread.join().unwrap() || own);
}
"#;

#[test]
fn libraries_whose_fences_nobody_sees_are_compiled_as_for_miri() {
    for (library, code) in [("event-listener", COMPLETE), ("another", FAILED)] {
        let project = Project::new(library, &FENCED.replace("LIBRARY", &library.replace('-', "_")));
        let package = |name: &str, more: &str| {
            format!("[package]\nname = \"{name}\"\nversion = \"5.0.0\"\nedition = \"2024\"\n\n{more}")
        };
        let dependency = format!("[dependencies]\n{library} = {{ path = \"fences\" }}\n\n[workspace]\n");
        project.write("Cargo.toml", &package("made", &dependency));
        project.write("fences/Cargo.toml", &package(library, ""));
        project.write(
            "fences/src/lib.rs",
            r#"
pub fn full_fence() {
    #[cfg(not(miri))]
    {
        let own = std::cell::UnsafeCell::new(0_usize);
        unsafe { std::arch::asm!("lock not qword ptr [{0}]", in(reg) own.get(), options(nostack, preserves_flags)) };
    }
    #[cfg(miri)]
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}
"#,
        );
        project.run(&["test"]).ends(code);
    }
}

/// Two threads that each add to a number, in a program that calls a function of the C library before.
const FOREIGN: &str = r#"
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

unsafe extern "C" {
    fn FUNCTION;
}

#[test]
fn both_add() {
    unsafe { CALL };
    let number = Arc::new(AtomicU32::new(0));
    let other = number.clone();
    let thread = std::thread::spawn(move || (0..3).for_each(|_| _ = other.fetch_add(1, SeqCst)));
    (0..3).for_each(|_| _ = number.fetch_or(8, SeqCst));
    thread.join().unwrap();
    assert_eq!(number.load(SeqCst) & 7, 3);
}
"#;

#[test]
fn a_function_that_keeps_something_makes_steps_run_again_and_is_named() {
    let foreign = |name: &str, function: &str, call: &str, flags: &[&str]| {
        let project = Project::new(name, &FOREIGN.replace("FUNCTION", function).replace("CALL", call));
        let run = project.run(&[&["test", "--message-format", "json"], flags].concat());
        let event = run.events("test-finished").remove(0);
        (event["verdict"].to_string(), event["note"].to_string())
    };
    let note = "no state was saved, so that the steps that lead to each were run again: the test imports `srand` from";
    let seeds = ("seeds", "srand(seed: u32)", "srand(1)");
    let (verdict, said) = foreign(seeds.0, seeds.1, seeds.2, &["--max-executions", "1"]);
    assert!(
        verdict.contains("incomplete") && said.contains(note),
        "{verdict}: {said}"
    );
    let (verdict, said) = foreign(seeds.0, seeds.1, seeds.2, &[]);
    assert!(
        verdict.contains("\"complete") && !said.contains(note),
        "{verdict}: {said}"
    );
    // What would be called when the process is copied is forgotten, as the program cannot copy it; the C library would
    // allocate memory for it out of sight.
    let copied = "pthread_atfork(prepare: usize, parent: usize, child: usize) -> i32";
    let (verdict, said) = foreign("copies", copied, "pthread_atfork(0, 0, 0)", &["--max-executions", "1"]);
    assert!(verdict.contains("incomplete"), "{verdict}: {said}");
    assert!(!said.contains("saved") && !said.contains("compared"), "{said}");
}

/// A message that comes, one that does not, and a thread that does not wait.
const TIMED: &str = r#"
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);

#[test]
fn answered() {
    let (tx, rx) = channel();
    let other = thread::spawn(move || tx.send(1).is_ok());
    rx.recv_timeout(LONG).expect("thirty seconds are enough");
    other.join().unwrap();
}

#[test]
fn silent() {
    let (tx, rx) = channel::<()>();
    rx.recv_timeout(LONG).expect("nobody answers");
    drop(tx);
}

#[test]
fn timeless() {}
"#;

#[test]
fn timeouts_fire_when_they_are_told_to() {
    let project = Project::new("timed", TIMED);
    let test = |more: &[&str]| project.run(&[&["test"], more].concat());
    test(&["answered"]).ends(FAILED);
    for timeouts in ["last", "never"] {
        for strategy in ["context", "source", "exhaustive"] {
            let run = test(&["answered", "--timeouts", timeouts, "--strategy", strategy]).ends(COMPLETE);
            assert!(run.stdout.contains(&format!("(--timeouts {timeouts})")), "{run:?}");
        }
        let run = test(&["timeless", "--timeouts", timeouts]).ends(COMPLETE);
        assert!(!run.stdout.contains("--timeouts"), "{run:?}");
        let run = test(&[
            "answered",
            "--exact",
            "--timeouts",
            timeouts,
            "--message-format",
            "json",
        ])
        .ends(COMPLETE);
        let note = &run.events("test-finished")[0]["note"];
        assert!(note.as_str().is_some_and(|note| note.contains(timeouts)), "{note}");
    }
    let kind = |arguments: &[&str]| {
        let run = project
            .run(&[arguments, &["--message-format", "json"]].concat())
            .ends(FAILED);
        let event = match arguments[0] {
            "replay" => "replayed",
            _ => "test-finished",
        };
        let event = &run.events(event)[0];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (text(&event["failure"]["kind"]), text(&event["seed"]))
    };
    // The seed says when timeouts fire.
    let (panic, last) = kind(&["test", "silent", "--timeouts", "last"]);
    let (deadlock, never) = kind(&["test", "silent", "--timeouts", "never"]);
    assert_eq!((&*panic, &*deadlock), ("panic", "deadlock"));
    assert_eq!(kind(&["replay", &last]).0, "panic");
    assert_eq!(kind(&["replay", &never]).0, "deadlock");
    let shown = project.run(&["replay", &never]).ends(FAILED);
    assert!(shown.stdout.contains("for 30s, and timeouts do not fire"), "{shown:?}");
    let shown = project.run(&["replay", &last]).ends(FAILED);
    assert!(shown.stdout.contains("the timeouts of"), "{shown:?}");
}

#[test]
fn when_timeouts_fire_is_configured() {
    let project = Project::new("timed-configured", TIMED);
    let names = "it is `fire`, `last` or `never`";
    project.refuses(&["test", "--timeouts", "seldom"], USAGE, &[names, "--timeouts"]);
    project.write("dpor.toml", "timeouts = \"seldom\"\n");
    project.refuses(&["test"], USAGE, &[names, "dpor.toml:1", "`timeouts`"]);
    let unable = "answered: the strategy `unfolding` cannot let timeouts fire last";
    project.write("dpor.toml", "timeouts = \"last\"\n");
    project.refuses(&["test", "answered", "--strategy", "unfolding"], USAGE, &[unable]);
    project.run(&["test", "answered"]).ends(COMPLETE);
    // The command line is nearer, and so is an override.
    project.run(&["test", "answered", "--timeouts", "fire"]).ends(FAILED);
    project.write(
        "dpor.toml",
        "timeouts = \"fire\"\n[[overrides]]\nfilter = \"answered\"\ntimeouts = \"last\"\n",
    );
    project.run(&["test", "answered"]).ends(COMPLETE);
    let shown = project.run(&["show-config", "--message-format", "json"]).ends(COMPLETE);
    assert_eq!(
        shown.events("configured")[0]["overrides"][0]["settings"]["timeouts"],
        "last"
    );
}

/// Everything that must be the same for all shards shows in their fingerprints; where they are built, and for how long
/// they run, does not.
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
        &["--timeouts", "last"],
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
                    for _ in 0..100_000 {
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

/// Tests that print, in orders that differ, and one that fails.
const TALKING: &str = r#"
#[test]
fn says() {
    println!("before");
    std::thread::scope(|scope| {
        scope.spawn(|| eprintln!("beside"));
    });
}

#[test]
fn fails() {
    let number = std::sync::atomic::AtomicUsize::new(0);
    let order = std::sync::atomic::Ordering::SeqCst;
    std::thread::scope(|scope| {
        scope.spawn(|| number.store(1, order));
        println!("seen {}", number.load(order));
        assert_eq!(number.load(order), 0);
    });
}

#[test]
#[ignore]
fn later() {}
"#;

#[test]
fn flags_of_cargo_and_libtest_do_what_they_do_there() {
    let project = Project::new("habits", TALKING);
    project.write("tests/outer.rs", "#[test]\nfn outside() {}\n");

    // Names.
    project.refuses(
        &["test", "-p", "maed"],
        USAGE,
        &["no package `maed` in the workspace, but made; did you mean `made`?"],
    );
    project.refuses(
        &["test", "--test", "outr"],
        USAGE,
        &["no target `outr` for `--test`; there are outer; did you mean `outer`?"],
    );
    project.refuses(
        &["list", "--bin", "x"],
        USAGE,
        &["no target `x` for `--bin`; there are none"],
    );

    // What needs no exploration.
    let listed = |arguments: &[&str]| project.run(arguments).ends(COMPLETE).stdout;
    let all = "made fails\nmade says\nmade::outer outside\n";
    assert_eq!(listed(&["list"]), all);
    assert_eq!(listed(&["test", "--list"]), all);
    assert_eq!(
        listed(&["test", "--", "--list", "--skip", "says"]),
        "made fails\nmade::outer outside\n"
    );
    assert_eq!(
        listed(&["test", "--", "--list", "--exact", "says", "later", "--include-ignored"]),
        "made later\nmade says\n"
    );
    assert_eq!(listed(&["test", "--list", "--run-ignored", "only"]), "made later\n");
    let events = project
        .run(&["test", "--list", "--message-format", "json", "says"])
        .ends(COMPLETE)
        .events("listed");
    assert_eq!((&events[0]["tests"][0]["name"], events.len()), (&"says".into(), 1));
    let built = listed(&["test", "--no-run"]);
    let paths: Vec<_> = built
        .lines()
        .filter_map(|line| Some(line.split_once("  ")?.1))
        .collect();
    assert!(
        paths.len() == 2 && paths.iter().all(|path| fs::metadata(path).is_ok()),
        "{built}"
    );
    let events = project
        .run(&["test", "--no-run", "--test", "outer", "--message-format", "json"])
        .ends(COMPLETE)
        .events("executables");
    assert_eq!(events[0]["executables"][0]["target"], "outer");

    // Output.
    let run = project.run(&["test", "says", "--", "--nocapture"]).ends(COMPLETE);
    let printed = "printed in the first execution:\n               before\n               beside\n";
    assert!(run.stdout.contains(printed), "{run:?}");
    assert!(!project.run(&["test", "says"]).ends(COMPLETE).stdout.contains("before"));
    let run = project
        .run(&["test", "--no-capture", "--message-format", "json"])
        .ends(FAILED);
    let tests = run.events("test-finished");
    let of = |name: &str| {
        tests
            .iter()
            .find(|test| test["test"]["name"] == name)
            .expect("each has ended")
    };
    assert_eq!(of("says")["printed"][1]["text"], "beside\n");
    assert_eq!(of("outside")["printed"], Value::Null);
    assert_eq!(
        of("fails")["schedule"]["output"][0]["text"]
            .as_str()
            .map(|text| text.contains("seen")),
        Some(true)
    );

    // How many may fail.
    let left = |arguments: &[&str]| {
        let run = project.run(
            &[
                &["test", "--message-format", "json", "fails", "says", "outside"],
                arguments,
            ]
            .concat(),
        );
        run.ends(FAILED).events("run-finished")[0]["not_run"].as_u64()
    };
    assert_eq!(left(&["--max-fail", "1"]), Some(2));
    assert_eq!(left(&["--max-fail", "2"]), Some(0));
}

#[test]
fn pages_are_opened_and_a_replay_has_one() {
    let project = Project::new("opened", TALKING);
    // A browser that keeps what it is given.
    let browser = project.folder.join("browser");
    fs::write(
        &browser,
        "#!/bin/sh\necho \"$1\" > opened.tmp && mv opened.tmp opened\n",
    )
    .expect("the folder is ours");
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).expect("the folder is ours");
    let browser = browser.to_str().expect("it is Unicode");
    let opened = || {
        let file = project.folder.join("opened");
        let start = std::time::Instant::now();
        while !file.exists() && start.elapsed().as_secs() < 30 {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let page = fs::read_to_string(&file).expect("the browser was started");
        fs::remove_file(file).expect("the folder is ours");
        page
    };
    let run = project
        .run_with(&["test", "--open", "--message-format", "json"], &[("BROWSER", browser)])
        .ends(FAILED);
    assert!(opened().ends_with("target/dpor/report/index.html\n"));
    let page = |folder: &str| {
        let page = fs::read_to_string(project.folder.join(folder).join("made-fails.html")).expect("it was written");
        let json = page
            .split_once("id=\"data\">")
            .and_then(|(_, rest)| rest.split_once("</script>"))
            .expect("it has data")
            .0;
        serde_json::from_str::<Value>(json).expect("they are JSON")
    };
    let tests = run.events("test-finished");
    let seed = tests
        .iter()
        .find_map(|test| test["seed"].as_str())
        .expect("one has failed");
    let replay = ["replay", seed, "--report", "replayed", "--open"];
    project.run_with(&replay, &[("BROWSER", browser)]).ends(FAILED);
    assert!(opened().ends_with("/replayed/made-fails.html\n"));
    let (explored, replayed) = (page("target/dpor/report"), page("replayed"));
    for part in [
        "test", "verdict", "failure", "threads", "steps", "decisive", "instead", "sources", "again",
    ] {
        assert_eq!(replayed[part], explored[part], "{part}");
    }
    assert_eq!(replayed["tree"], Value::Null);

    // Without a screen.
    let none = [
        ("BROWSER", ""),
        ("DISPLAY", ""),
        ("WAYLAND_DISPLAY", ""),
        ("WSL_DISTRO_NAME", ""),
    ];
    let run = project.run_with(&["test", "says", "--open"], &none).ends(COMPLETE);
    run.refused(
        COMPLETE,
        &[
            "warning: cannot open a browser: there is no screen",
            "the report is /",
            "made-says.html",
        ],
    );
    let run = project.run_with(&["test", "says", "--open"], &[("BROWSER", "/no/browser")]);
    run.refused(COMPLETE, &["warning: cannot open a browser: /no/browser (`BROWSER`): "]);
}

/// The job that the book has for bacon: its keys are bacon's, and its command is one of ours.
#[test]
fn the_job_of_bacon_is_one_that_can_be_run() {
    let page =
        fs::read_to_string(dpor_testsuite::book::repository().join("docs/src/watch.md")).expect("the page is there");
    let (_, rest) = page
        .split_once("```toml,file=bacon.toml\n")
        .expect("it has the configuration");
    let (configuration, _) = rest.split_once("```").expect("it ends");
    let table: toml::Table = configuration.parse().expect("it is TOML");
    let job = table["jobs"]["dpor"].as_table().expect("the job is a table");
    // Those of bacon 3.26.
    let known = [
        "command",
        "need_stdout",
        "allow_warnings",
        "on_change_strategy",
        "watch",
    ];
    assert!(job.keys().all(|key| known.contains(&key.as_str())), "{job:?}");
    let words: Vec<&str> = job["command"]
        .as_array()
        .expect("it is a list")
        .iter()
        .filter_map(|word| word.as_str())
        .collect();
    let ["cargo", "dpor", arguments @ ..] = &words[..] else {
        panic!("{words:?}")
    };
    let project = Project::new("watched", TALKING);
    let run = project.run(&[arguments, &["--list"]].concat()).ends(COMPLETE);
    assert!(run.stdout.ends_with("made fails\nmade says\n"), "{run:?}");
    project.refuses(
        &["test", "--watch"],
        USAGE,
        &["cargo dpor has no `--watch`", "docs/src/watch.md"],
    );
}

/// Tests that end their process in a function of their own, and one whose step takes longer than it may.
const ENDS: &str = r#"
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::{process, ptr, thread};

#[inline(never)]
pub fn reads() -> usize {
    let wild: *const usize = black_box(ptr::without_provenance(8));
    unsafe { wild.read_volatile() } // reads
}

#[inline(never)]
pub fn divides() -> usize {
    unsafe { std::arch::asm!("xor ecx, ecx", "div ecx", out("eax") _, out("ecx") _, inout("edx") 0 => _) }; // divides
    0
}

#[inline(never)]
pub fn aborts() -> usize {
    unsafe extern "C" {
        fn abort() -> !;
    }
    unsafe { abort() } // aborts
}

#[inline(never)]
pub fn refuses() -> usize {
    extern "C" fn callback() -> usize {
        panic!("must not unwind")
    }
    callback()
}

#[inline(never)]
pub fn exits() -> usize {
    process::exit(black_box(3)) // exits
}

#[inline(never)]
pub fn leaves() -> usize {
    unsafe extern "C" {
        fn exit(code: i32) -> !;
    }
    unsafe { exit(black_box(0)) } // leaves
}

#[inline(never)]
pub fn deepens(depth: usize) -> usize {
    let frame = black_box([depth; 64]);
    if frame[0] == usize::MAX { 0 } else { deepens(depth + 1) + frame[1] }
}

#[inline(never)]
pub fn computes() -> usize {
    let mut sum: usize = 0;
    while black_box(sum) < usize::MAX {
        sum = black_box(sum ^ 1); // computes
    }
    sum
}

/// Runs it in the second of two threads, if that one comes first.
#[cfg(test)]
fn if_second_is_first(end: fn() -> usize) {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let child = thread::spawn(move || if NEXT.fetch_add(1, SeqCst) == 0 { end() } else { 0 });
    NEXT.fetch_add(1, SeqCst);
    child.join().unwrap();
}

#[test]
fn crash() {
    if_second_is_first(reads);
}

#[test]
fn arithmetic() {
    if_second_is_first(divides);
}

#[test]
fn abort() {
    if_second_is_first(aborts);
}

#[test]
fn panic_in_c() {
    if_second_is_first(refuses);
}

#[test]
fn exit() {
    if_second_is_first(exits);
}

#[test]
fn exit_of_c() {
    if_second_is_first(leaves);
}

#[test]
fn overflow() {
    if_second_is_first(|| deepens(0));
}

#[test]
fn long() {
    if_second_is_first(computes);
}
"#;

/// The report on a test in this run.
fn finished(run: &Run, test: &str) -> Value {
    let events = run.events("test-finished");
    let of_test = |event: &&Value| event["test"]["name"] == test;
    events.iter().find(of_test).expect("each test ends").clone()
}

/// Flags, and environment variables.
type Profile<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)]);

#[test]
fn the_end_of_a_process_is_located_in_the_program() {
    let project = Project::new("ends", ENDS);
    let line = |marker: &str| {
        ENDS.lines()
            .position(|line| line.ends_with(marker))
            .expect("it is there")
            + 1
    };
    let arguments = ["test", "--stall", "1", "--message-format", "json", "--simplify", "0"];
    // All debug information, that of a release profile, and names of functions only.
    let profiles: [Profile<'_>; 3] = [
        (&[], &[]),
        (&["--release"], &[]),
        (&[], &[("CARGO_PROFILE_TEST_DEBUG", "0")]),
    ];
    for (flags, environment) in profiles {
        let run = project
            .run_with(&[&arguments[..], flags].concat(), environment)
            .ends(FAILED);
        for (test, kind, function, marker) in [
            ("crash", "crash", "made::reads", "// reads"),
            ("arithmetic", "crash", "made::divides", "// divides"),
            ("abort", "abort", "made::aborts", "// aborts"),
            ("panic_in_c", "abort", "made::refuses::callback", ""),
            ("exit", "exit", "made::exits", "// exits"),
            ("exit_of_c", "exit", "made::leaves", "// leaves"),
            ("overflow", "stack-overflow", "made::deepens", ""),
            ("long", "", "made::computes", ""),
        ] {
            let finished = finished(&run, test);
            let (verdict, callers) = match kind {
                "" => ("incomplete", &finished["callers"]),
                _ => ("failed", &finished["failure"]["callers"]),
            };
            assert_eq!(finished["verdict"], verdict, "{test}: {finished}");
            let seed = finished["seed"].as_str();
            assert!(seed.is_some(), "{test}: {finished}");
            assert_eq!(
                callers[0]["function"], function,
                "{test} with {flags:?} {environment:?}: {callers}"
            );
            let place = &callers[0]["location"];
            if !environment.is_empty() {
                assert_eq!(place, &Value::Null, "{test}: {callers}");
            } else if !marker.is_empty() {
                assert_eq!(
                    (&place["file"], &place["line"]),
                    (&"src/lib.rs".into(), &line(marker).into())
                );
            } else {
                assert_eq!(place["file"], "src/lib.rs", "{test}: {callers}");
            }
            if !kind.is_empty() {
                assert_eq!(
                    (&finished["failure"]["kind"], &finished["failure"]["thread"]),
                    (&kind.into(), &1.into())
                );
                assert_eq!(&finished["failure"]["location"], place);
            }
        }
    }
    let run = project.run(&["test", "--stall", "1", "long"]).ends(INCOMPLETE);
    let told = "thread t1 ran for 1 s without reaching a scheduling point: unless it is an endless loop, \
        `--stall` gives it more time";
    assert!(
        run.stdout.contains(told) && run.stdout.contains("  in made::computes (src/lib.rs:"),
        "{run:?}"
    );
    let again = run
        .stdout
        .lines()
        .find_map(|line| line.trim().strip_prefix("again: cargo dpor "));
    let again: Vec<_> = again.expect("the schedule can be run again").split(' ').collect();
    let replay = project.run(&[&again[..], &["--stall", "1"]].concat()).ends(INCOMPLETE);
    assert!(
        replay
            .stdout
            .starts_with("incomplete: made long\n\n  thread t1 ran for 1 s")
            && replay.stdout.contains("schedule ("),
        "{replay:?}"
    );
}

/// A test that prints two megabytes, and fails; and one that does so past the model.
const PRINTS: &str = r#"
#[test]
fn prints() {
    for number in 0..40_000 {
        println!("this is line {number:>8} of all that is printed here");
    }
    panic!("enough");
}

#[test]
fn writes() {
    unsafe extern "C" {
        fn write(descriptor: i32, bytes: *const u8, length: usize) -> isize;
    }
    let line = b"a line of a library\n".repeat(50_000);
    unsafe { write(2, line.as_ptr(), line.len()) };
    panic!("enough");
}
"#;

#[test]
fn a_long_output_is_shown_by_its_end_and_kept() {
    let project = Project::new("prints", PRINTS);
    let run = project.run(&["test"]).ends(FAILED);
    assert!(run.stdout.len() < 100_000, "{}", run.stdout.len());
    let kept = |title: &str| {
        let (_, rest) = run.stdout.split_once(title).expect("it is named");
        let (path, _) = rest.split_once("):\n").expect("it is named");
        fs::read_to_string(path).expect("it is there")
    };
    let output = kept("  output, the end of it (all of it is in ");
    // What the panic says has two lines.
    assert_eq!(output.lines().count(), 40_002);
    assert!(output.len() > 2_000_000 && output.starts_with("this is line        0 of all"));
    assert!(run.stdout.contains("    │ this is line    39902 of all") && !run.stdout.contains("line    39901 of"));
    let stderr = kept("  the process's own standard error, the end of it (all of it is in ");
    assert!(stderr.matches("a line of a library\n").count() >= 50_000);
    // Both are named once more at the end.
    let (_, end) = run.stdout.split_once("\nfailed:\n").expect("failures are listed");
    assert!(
        end.contains("    made prints  panic at src/lib.rs:7\n") && end.contains("    made writes  panic at"),
        "{end}"
    );
}
