//! Reports on values of a crate's own types, with and without debug information.
//!
//! The tool is the one that `CARGO_DPOR_BIN` names, or else is built first.

use dpor_testsuite::tool;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

const SOURCE: &str = r#"
#![cfg(test)]
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, RwLock, mpsc};
use std::thread;

enum State {
    Idle,
    Working { jobs: u32, owner: String },
}

enum Command {
    Start(Vec<Option<Box<u64>>>),
    Say(&'static str),
    Stop,
}

struct Account {
    id: u64,
    balance: i64,
    history: Vec<(u8, bool)>,
    limits: BTreeMap<u8, u8>,
}

struct Config {
    retries: u8,
}

#[test]
fn fails() {
    static CONFIG: OnceLock<Config> = OnceLock::new();
    let state = Arc::new(Mutex::new(State::Idle));
    let account = Arc::new(RwLock::new(Account { id: 1, balance: 5, history: vec![], limits: BTreeMap::new() }));
    let (commands, inbox) = mpsc::channel();
    let child = {
        let (state, account) = (Arc::clone(&state), Arc::clone(&account));
        thread::spawn(move || {
            commands.send(Command::Start(vec![Some(Box::new(7)), None])).unwrap();
            commands.send(Command::Say("a \"word\"")).unwrap();
            commands.send(Command::Stop).unwrap();
            *state.lock().unwrap() = State::Working { jobs: 2, owner: "Ann".into() };
            let mut account = account.write().unwrap();
            account.balance -= 8;
            account.history.push((1, true));
        })
    };
    CONFIG.get_or_init(|| Config { retries: 3 });
    let mut sum = 0;
    loop {
        match inbox.recv().unwrap() {
            Command::Start(numbers) => sum += numbers.iter().flatten().map(|number| **number).sum::<u64>(),
            Command::Say(word) => sum += word.len() as u64,
            Command::Stop => break,
        }
    }
    child.join().unwrap();
    let account = account.read().unwrap();
    let State::Working { jobs, owner } = &*state.lock().unwrap() else { return };
    let told = (account.id, account.history.len(), account.limits.len(), *jobs, owner.len(), sum);
    assert!(account.balance >= 0 || CONFIG.get().unwrap().retries > 3, "{told:?}");
}
"#;

/// The report on the failing schedule: the details of its steps, and the values before and after them.
fn told(name: &str, environment: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("values").join(name);
    let write = |path: &str, text: &str| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("the target folder is writable");
        fs::write(path, text).expect("the target folder is writable");
    };
    write(
        "Cargo.toml",
        "[package]\nname = \"made\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n",
    );
    write("src/lib.rs", SOURCE);
    let output = Command::new(tool::path())
        .args(["dpor", "test", "--message-format", "json"])
        .current_dir(&folder)
        .env_remove("CARGO_TARGET_DIR")
        .envs(environment.iter().copied())
        .output()
        .expect("the tool can be started");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    let events = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("each line is JSON"));
    let mut finished = events.filter(|event| event["event"] == "test-finished");
    let schedule = finished.next().expect("a test has ended")["schedule"].clone();
    let steps = schedule["steps"].as_array().expect("it failed").clone();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let values = steps
        .iter()
        .flat_map(|step| step["values"].as_array().expect("a list").clone());
    let values = values.map(|value| format!("{} → {}", word(&value["before"]), word(&value["after"])));
    let values = values.collect();
    (steps.iter().map(|step| word(&step["detail"])).collect(), values)
}

#[track_caller]
fn holds(all: &[String], wanted: &[&str]) {
    for wanted in wanted {
        assert!(all.iter().any(|text| text == wanted), "`{wanted}` is not in {all:?}");
    }
}

#[test]
fn values_of_own_types_are_told() {
    let (details, values) = told("with", &[]);
    holds(
        &details,
        &[
            "message 0: Start([Some(7), None])",
            "message 1: Say(\"a \\\"word\\\"\")",
            "message 2: Stop",
        ],
    );
    holds(
        &values,
        &[
            "Idle → Working { jobs: 2, owner: \"Ann\" }",
            "Account { balance: 5, history: [], .. } → Account { balance: -3, history: [(1, true)], .. }",
            "None → Some(Config { retries: 3 })",
        ],
    );
}

#[test]
fn without_debug_information_they_are_left_out() {
    let none = [("CARGO_PROFILE_TEST_DEBUG", "0"), ("CARGO_PROFILE_DEV_DEBUG", "0")];
    let (details, values) = told("without", &none);
    holds(&details, &["message 0", "message 1", "message 2"]);
    assert_eq!(values, [""; 0]);
}
