//! Reports on values of a crate's own types, with and without debug information.
//!
//! The tool is the one that `CARGO_DPOR_BIN` names, or else is built first.

use dpor_testsuite::tool;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A test that fails, with values of types of its own.
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

/// Names of memory that is accessed wrongly. Each test of [`ACCESSES`] ends with such an access.
const ACCESSES: &str = r#"
#![cfg(test)]
use std::cell::UnsafeCell;
use std::sync::Arc;
use std::thread;

struct Raw<T>(UnsafeCell<T>);
unsafe impl<T> Sync for Raw<T> {}
unsafe impl<T> Send for Raw<T> {}

struct Pointer<T>(*mut T);
unsafe impl<T> Send for Pointer<T> {}
impl<T> Copy for Pointer<T> {}
impl<T> Clone for Pointer<T> {
    fn clone(&self) -> Self {
        *self
    }
}

fn twice<T: Clone + Send + 'static>(shared: T, access: fn(&T)) {
    let other = shared.clone();
    let child = thread::spawn(move || access(&other));
    access(&shared);
    child.join().unwrap();
}

enum Shape {
    Square(u64),
    Circle { radius: u64 },
}

struct Stats {
    name: &'static str,
    hits: [u32; 4],
    pair: (u8, u64),
    last: Option<u64>,
    shape: Shape,
}

static STATS: Raw<Stats> = Raw(UnsafeCell::new(Stats {
    name: "",
    hits: [0; 4],
    pair: (1, 2),
    last: Some(3),
    shape: Shape::Square(4),
}));

fn stats() -> *mut Stats {
    std::hint::black_box(STATS.0.get())
}

#[test]
fn element_of_a_static() {
    twice((), |()| unsafe { (*stats()).hits[2] += 1 });
}

#[test]
fn tuple() {
    twice((), |()| unsafe { (*stats()).pair.1 += 1 });
}

#[test]
fn field_of_the_library() {
    twice((), |()| unsafe { (*stats()).name = "x" });
}

#[test]
fn one_variant() {
    twice((), |()| unsafe {
        let Some(last) = (&raw mut (*stats()).last).as_mut().unwrap() else { return };
        *last += 1;
    });
}

#[test]
fn several_variants() {
    twice((), |()| unsafe {
        let (Shape::Square(size) | Shape::Circle { radius: size }) = &mut (*stats()).shape;
        *size += 1;
    });
    unsafe { (*stats()).shape = Shape::Circle { radius: 1 } };
}

struct Shared {
    open: bool,
    counter: u64,
}

fn shared() -> Shared {
    Shared { open: false, counter: std::hint::black_box(0) }
}

#[test]
fn arc() {
    let shared = Arc::new(Raw(UnsafeCell::new(shared())));
    twice(shared, |shared| unsafe { (*shared.0.get()).counter += 1 });
}

#[test]
fn boxed() {
    let shared = Pointer(Box::into_raw(Box::new(shared())));
    twice(shared, |shared| unsafe { (*shared.0).counter += 1 });
}

#[test]
fn vector() {
    let mut all = Vec::new();
    for _ in 0..3 {
        all.push(shared());
    }
    let first = Pointer(all.as_mut_ptr());
    twice(first, |first| unsafe { (*first.0.add(1)).counter += 1 });
    std::hint::black_box(all[1].open);
}

struct Old(u64);
struct New(u64);

/// The elements of the second vector are where those of the first one were.
#[test]
fn collected_in_place() {
    let mut all: Vec<New> = vec![Old(1), Old(2), Old(3)].into_iter().map(|old| New(old.0 + 1)).collect();
    let first = Pointer(all.as_mut_ptr());
    twice(first, |first| unsafe { (*first.0.add(1)).0 += 1 });
    std::hint::black_box(all[1].0);
}

#[test]
fn freed() {
    let shared = Box::into_raw(Box::new(shared()));
    let same = std::hint::black_box(shared);
    unsafe {
        drop(Box::from_raw(shared));
        println!("{}", (&raw const (*same).counter).read_volatile());
    }
}

#[test]
fn beyond() {
    let numbers = vec![1u64, 2, 3];
    println!("{}", unsafe { *numbers.as_ptr().add(std::hint::black_box(3)) });
}

struct Feet(u64, u64);
struct Miles(u64, u64);

#[inline(never)]
fn feet() -> Box<Feet> {
    Box::new(Feet(1, 2))
}

#[inline(never)]
fn miles() -> Box<Miles> {
    Box::new(Miles(1, 2))
}

/// LLVM makes the two functions one.
#[test]
fn made_by_functions_with_the_same_code() {
    let (feet, miles) = (Pointer(Box::into_raw(feet())), Pointer(Box::into_raw(miles())));
    twice(miles, |miles| unsafe { (*miles.0).1 += 1 });
    println!("{} {}", unsafe { (*feet.0).0 }, unsafe { (*feet.0).1 + (*miles.0).0 });
}

#[test]
fn of_a_dependency() {
    let counter = Pointer(dependency::counter());
    twice(counter, |counter| unsafe { *counter.0 += 1 });
}
"#;

const DEPENDENCY: &str = "
struct Counter { _open: bool, count: u64 }

#[inline(never)]
pub fn counter() -> *mut u64 {
    let counter = Box::into_raw(Box::new(Counter { _open: false, count: 0 }));
    unsafe { &raw mut (*counter).count }
}
";

/// The events at the ends of the tests of a package.
fn finished(name: &str, source: &str, environment: &[(&str, &str)]) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("values").join(name);
    let write = |path: &str, text: &str| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("the target folder is writable");
        fs::write(path, text).expect("the target folder is writable");
    };
    let manifest = |name: &str| format!("[package]\nname = {name:?}\nversion = \"0.0.0\"\nedition = \"2024\"\n");
    // No member of the workspace, so that its types are not in debug information.
    let dependency = "[workspace]\nexclude = [\"dependency\"]\n\n[dependencies]\ndependency.path = \"dependency\"\n";
    write("Cargo.toml", &format!("{}\n{dependency}", manifest("made")));
    write("src/lib.rs", source);
    write("dependency/Cargo.toml", &manifest("dependency"));
    write("dependency/src/lib.rs", DEPENDENCY);
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
    events.filter(|event| event["event"] == "test-finished").collect()
}

/// The report on the failing schedule: the details of its steps, and the values before and after them.
fn told(name: &str, environment: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
    let mut finished = finished(name, SOURCE, environment).into_iter();
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

/// The name of a test, what the message calls the memory, and what JSON has for it: its name and its type.
type Access = (String, String, Option<(String, String)>);

/// The accesses of [`ACCESSES`].
fn accesses(name: &str, environment: &[(&str, &str)]) -> Vec<Access> {
    let access = |event: Value| {
        let (test, failure) = (&event["test"]["name"], &event["failure"]);
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let message = text(&failure["message"]);
        let memory = message.split_once(' ').expect("a thread").1.split(", which").next();
        let memory = memory
            .expect("a text")
            .split(", and nothing")
            .next()
            .expect("a text")
            .to_owned();
        let memory = match message.split_once("end of ") {
            Some((_, block)) => block.to_owned(),
            None => memory.split_once(' ').expect("a verb").1.to_owned(),
        };
        let found = &failure["memory"];
        let found = (!found.is_null()).then(|| (text(&found["name"]), text(&found["type"])));
        (text(test), memory, found)
    };
    finished(name, ACCESSES, environment).into_iter().map(access).collect()
}

#[test]
fn accessed_memory_has_names() {
    let all = accesses("accesses", &[]);
    for (test, name, ty) in [
        ("arc", "Raw<Shared>.0.counter", "u64"),
        ("boxed", "Shared.counter", "u64"),
        ("element_of_a_static", "made::STATS.0.hits[2]", "u32"),
        ("field_of_the_library", "made::STATS.0.name", "&str"),
        ("one_variant", "made::STATS.0.last.Some.0", "u64"),
        ("several_variants", "made::STATS.0.shape", "Shape"),
        ("tuple", "made::STATS.0.pair.1", "u64"),
        ("vector", "[Shared; 4][1].counter", "u64"),
    ] {
        let (_, told, found) = all.iter().find(|(known, ..)| known == test).expect("it is there");
        assert_eq!(found.as_ref(), Some(&(name.into(), ty.into())), "{test}: {told}");
        // Half of a reference, or of what may be a number.
        let whole = !told.contains(" of ");
        assert_eq!(
            whole,
            !["field_of_the_library", "several_variants"].contains(&test),
            "{test}: {told}"
        );
        assert!(told.contains(&format!("{name} ({ty})")), "{test}: {told}");
    }
    let told = |test: &str| {
        let (_, told, found) = all.iter().find(|(known, ..)| known == test).expect("it is there");
        (told.as_str(), found.is_some())
    };
    assert_eq!(told("freed"), ("Shared.counter (u64) of a block that was freed", true));
    assert_eq!(told("beyond"), ("a block of 24 bytes ([u64; 3])", true));
    // What is not known, or could be something else.
    assert_eq!(
        told("collected_in_place"),
        ("8 bytes of a block of 24, from byte 8", false)
    );
    assert_eq!(
        told("made_by_functions_with_the_same_code"),
        ("8 bytes of a block of 16, from byte 8", false)
    );
    assert!(told("of_a_dependency").0.starts_with("8 bytes of a block of 16"));
    assert!(!told("of_a_dependency").1);
}

#[test]
fn without_debug_information_accessed_memory_has_no_names() {
    let none = [("CARGO_PROFILE_TEST_DEBUG", "0"), ("CARGO_PROFILE_DEV_DEBUG", "0")];
    for (test, told, found) in accesses("accesses-without", &none) {
        assert_eq!(found, None, "{test}: {told}");
        assert!(told.contains("bytes"), "{test}: {told}");
    }
}
