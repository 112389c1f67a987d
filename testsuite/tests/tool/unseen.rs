//! What a run says of code whose accesses to memory it does not see, and of suppressions of data races that apply to
//! nothing.
//!
//! The projects are small and made here; a C compiler, `cc`, is what rustc links with, too.

use dpor_testsuite::project::{Project, Run};
use serde_json::{Value, json};

const COMPLETE: i32 = 0;
const FAILED: i32 = 1;

/// Two functions in C: one that others can call, and one for that.
const C: &str = r#"
__attribute__((noinline)) static void NAME_add(int *number) { *number += 1; }
void NAME_twice(int *number) { NAME_add(number); NAME_add(number + 1); }
"#;

/// Two functions in assembly, one of which says what it is, and how long.
const ASSEMBLY: &str = r#"
.text
.globl NAME_load
.type NAME_load, @function
NAME_load:
    mov (%rdi), %eax
    ret
.size NAME_load, .-NAME_load
.globl NAME_next
NAME_next:
    mov 4(%rdi), %eax
    ret
.section .note.GNU-stack, "", @progbits
"#;

/// A build script that runs `cc` and `ar`, with flags and a file to compile in each of its lines.
const BUILD: &str = r#"
use std::process::Command;

fn main() {
    let out = std::env::var("OUT_DIR").unwrap();
    let mut objects = Vec::new();
    for line in "LINES".lines() {
        let object = format!("{out}/{}.o", objects.len());
        let words = line.split(' ').map(String::from);
        run("cc", words.chain(["-O1", "-fPIC", "-c", "-o", &object].map(String::from)).collect());
        objects.push(object);
    }
    let archive = format!("{out}/libnative.a");
    let words = ["crs".into(), archive].into_iter().chain(objects).collect();
    run("ar", words);
    println!("cargo:rustc-link-search=native={out}");
    println!("cargo:rustc-link-lib=static=native");
}

fn run(program: &str, arguments: Vec<String>) {
    assert!(Command::new(program).args(&arguments).status().unwrap().success(), "{program} {arguments:?}");
}
"#;

/// A test in which two threads race where nobody sees it, if `CALL` is not seen.
const RACES: &str = r#"
#[test]
fn races() {
    struct Pointer(*mut i32);
    unsafe impl Send for Pointer {}
    fn call(numbers: *mut i32) {
        unsafe { CALL };
    }
    let numbers = Box::into_raw(Box::new([0, 0])).cast::<i32>();
    let pointer = Pointer(numbers);
    let thread = std::thread::spawn(move || {
        let pointer = pointer;
        call(pointer.0)
    });
    call(numbers);
    thread.join().unwrap();
}
"#;

fn racing(before: &str, call: &str) -> String {
    format!("{before}\n{}", RACES.replace("CALL", call))
}

fn build(lines: &[&str]) -> String {
    BUILD.replace("LINES", &lines.join("\\n"))
}

/// Runs all tests; what is said to people must be what is said to programs.
fn test(project: &Project, more: &[&str], environment: &[(&str, &str)]) -> Run {
    let json = [&["test", "--message-format", "json"], more].concat();
    let run = project.run_with(&json, environment);
    let told = project.run_with(&[&["test"], more].concat(), environment);
    assert_eq!(told.code, run.code, "{told:?}");
    let unseen = run.events("unseen");
    let notes = told.stderr.lines().filter(|line| line.starts_with("note: "));
    let messages = unseen.iter().map(|event| {
        let target = event["target"].as_str().unwrap();
        assert!(target == "made" || event["kind"] == "test", "{event}");
        format!("note: made: {}", event["message"].as_str().unwrap())
    });
    assert!(notes.eq(messages), "{told:?} {unseen:?}");
    run
}

/// The one event on code that is not seen.
#[track_caller]
fn unseen(run: &Run) -> Value {
    let events = run.events("unseen");
    assert_eq!(events.len(), 1, "{run:?}");
    events[0].clone()
}

/// The names of sources or crates, without folders, and of their functions.
fn functions(sources: &Value) -> Vec<(&str, &Value)> {
    let sources = sources.as_array().unwrap().iter();
    let mut all: Vec<_> = sources
        .map(|source| {
            let name = source["name"].as_str().unwrap();
            (name.rsplit('/').next().unwrap(), &source["functions"])
        })
        .collect();
    all.sort_by_key(|(name, _)| *name);
    all
}

const NATIVE: &str = r#"
unsafe extern "C" {
    fn one_twice(numbers: *mut i32);
    fn two_twice(numbers: *mut i32);
    fn three_load(numbers: *mut i32) -> i32;
    fn three_next(numbers: *mut i32) -> i32;
    fn four_load(numbers: *mut i32) -> i32;
    fn four_next(numbers: *mut i32) -> i32;
}
"#;

#[test]
fn c_and_assembly_are_named() {
    let call = "one_twice(numbers); two_twice(numbers); three_load(numbers); three_next(numbers); \
                four_load(numbers); four_next(numbers)";
    let project = Project::new("unseen-native", &racing(NATIVE, call));
    project.write("native/one.c", &C.replace("NAME", "one"));
    project.write("native/two.c", &C.replace("NAME", "two"));
    project.write("native/three.S", &ASSEMBLY.replace("NAME", "three"));
    project.write("native/four.S", &ASSEMBLY.replace("NAME", "four"));
    let lines = [
        "-g native/one.c",
        "-g0 native/two.c",
        "-g native/three.S",
        "-g0 native/four.S",
    ];
    project.write("build.rs", &build(&lines));
    // The race is in C.
    let run = test(&project, &[], &[]).ends(COMPLETE);
    let told = unseen(&run);
    assert_eq!((&told["package"], &told["kind"]), (&json!("made"), &json!("lib")));
    assert_eq!(
        functions(&told["sources"]),
        [
            ("one.c", &json!(["one_add", "one_twice"])),
            ("three.S", &json!(["three_load", "three_next"]))
        ]
    );
    let mut bare: Vec<_> = told["functions"].as_array().unwrap().clone();
    bare.sort_by_key(|name| name.to_string());
    assert_eq!(bare, ["four_load", "four_next", "two_add", "two_twice"]);
    let nothing = json!([]);
    for kind in ["crates", "unknown", "libraries"] {
        assert_eq!(told[kind], nothing, "{told}");
    }
    let message = told["message"].as_str().unwrap();
    assert!(
        message.starts_with("accesses of code that was not compiled for this are not seen: 2 functions of "),
        "{message}"
    );
    // Nothing was to be seen.
    assert!(test(&project, &["--data-races=false"], &[]).events("unseen").is_empty());
    project.write("dpor.toml", "[[overrides]]\nfilter = \"races\"\ndata-races = false\n");
    assert!(test(&project, &[], &[]).events("unseen").is_empty());
    let annotated = project.run(&["test", "--data-races=true", "--message-format", "github"]);
    assert!(
        annotated
            .stdout
            .contains("::notice title=not seen%3A made::accesses of code"),
        "{annotated:?}"
    );
}

/// Functions with names like those of C, which have hooks or need none.
const EXPORTED: &str = r#"
#[unsafe(no_mangle)]
pub extern "C" fn exported_pure(number: i32) -> i32 {
    number.wrapping_mul(3)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn exported_add(number: *mut i32) {
    let pure = std::hint::black_box(exported_pure as extern "C" fn(i32) -> i32);
    unsafe { *number += pure(1) }
}
"#;

const ADDS: &str = r#"std::hint::black_box(exported_add as unsafe extern "C" fn(*mut i32))(numbers)"#;

#[test]
fn nothing_is_said_where_all_is_seen() {
    let project = Project::new("unseen-none", &racing(EXPORTED, ADDS));
    let run = test(&project, &[], &[]).ends(FAILED);
    assert!(run.events("unseen").is_empty(), "{run:?}");
    // One that was compiled with hooks cannot be told from C's without debug information, if it does not use any.
    for debug in ["0", "line-tables-only"] {
        let run = test(&project, &[], &[("CARGO_PROFILE_TEST_DEBUG", debug)]).ends(FAILED);
        match debug {
            "0" => {
                let told = unseen(&run);
                assert_eq!(told["unknown"], json!(["exported_pure"]));
                let nothing = json!([]);
                for kind in ["sources", "crates", "functions", "libraries"] {
                    assert_eq!(told[kind], nothing, "{told}");
                }
            }
            _ => assert!(run.events("unseen").is_empty(), "{run:?}"),
        }
    }
}

/// C that is compiled with debug information is told in any case.
#[test]
fn crates_may_have_no_debug_information() {
    let native = r#"unsafe extern "C" { fn one_twice(numbers: *mut i32); fn two_twice(numbers: *mut i32); }"#;
    let source = racing(&format!("{EXPORTED}{native}"), "one_twice(numbers); two_twice(numbers)");
    let seen = "\n#[test]\nfn seen() { let mut number = 1; let numbers = &raw mut number; unsafe { ADDS } }\n";
    let project = Project::new("unseen-bare", &format!("{source}{}", seen.replace("ADDS", ADDS)));
    project.write("one.c", &C.replace("NAME", "one"));
    project.write("two.c", &C.replace("NAME", "two"));
    project.write("build.rs", &build(&["-g one.c", "-g0 two.c"]));
    let run = test(&project, &[], &[("CARGO_PROFILE_TEST_DEBUG", "0")]).ends(COMPLETE);
    let told = unseen(&run);
    assert_eq!(
        functions(&told["sources"]),
        [("one.c", &json!(["one_add", "one_twice"]))]
    );
    let unknown: Vec<_> = told["unknown"].as_array().unwrap().iter().collect();
    assert!(
        unknown.contains(&&json!("two_add")) && unknown.contains(&&json!("two_twice")),
        "{told}"
    );
    assert!(unknown.contains(&&json!("exported_pure")), "{told}");
    assert!(!unknown.contains(&&json!("exported_add")), "{told}");
    assert_eq!(told["functions"], json!([]));
}

/// A dependency whose only function needs no hooks.
#[test]
fn one_crate_may_have_no_debug_information() {
    let source = "#[test]\nfn calls() { assert_eq!(std::hint::black_box(pure::pure_times)(2), 6); }\n";
    let project = Project::new("unseen-one-bare", source);
    let package = "[package]\nname = \"made\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n";
    let more = "[dependencies]\npure.path = \"pure\"\n\n[profile.dev.package.pure]\ndebug = 0\n";
    project.write("Cargo.toml", &format!("{package}{more}"));
    project.write(
        "pure/Cargo.toml",
        &package.replace("made", "pure").replace("[workspace]\n", ""),
    );
    let pure = "#[unsafe(no_mangle)]\npub extern \"C\" fn pure_times(number: i32) -> i32 { number.wrapping_mul(3) }\n";
    project.write("pure/src/lib.rs", pure);
    let told = unseen(&test(&project, &[], &[]).ends(COMPLETE));
    assert_eq!(
        (&told["unknown"], &told["functions"]),
        (&json!(["pure_times"]), &json!([]))
    );
}

#[test]
fn libraries_that_are_loaded_are_named() {
    let native = r#"unsafe extern "C" { fn one_twice(numbers: *mut i32); }"#;
    let project = Project::new("unseen-shared", &racing(native, "one_twice(numbers)"));
    project.write("one.c", &C.replace("NAME", "one"));
    let script = r#"
fn main() {
    let out = std::env::var("OUT_DIR").unwrap();
    let library = format!("{out}/libmade_shared.so");
    let done = std::process::Command::new("cc").args(["-shared", "-fPIC", "one.c", "-o", &library]).status();
    assert!(done.unwrap().success());
    println!("cargo:rustc-link-search=native={out}");
    println!("cargo:rustc-link-lib=dylib=made_shared");
}
"#;
    project.write("build.rs", script);
    let told = unseen(&test(&project, &[], &[]).ends(COMPLETE));
    assert_eq!(told["libraries"], json!(["libmade_shared.so"]));
    assert_eq!(
        told["message"],
        "accesses of code that was not compiled for this are not seen: libmade_shared.so"
    );
}

/// A crate of its own, which the build script compiles, as archives from elsewhere were.
const ELSEWHERE: &str = r#"
#![no_std]

#[inline(never)]
fn add(number: &mut i32) {
    *number = number.wrapping_add(1);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn elsewhere_twice(numbers: *mut i32) {
    unsafe {
        add(&mut *numbers);
        add(&mut *numbers.add(1));
    }
}
"#;

#[test]
fn crates_that_cargo_has_not_compiled_are_named() {
    let native = r#"unsafe extern "C" { fn elsewhere_twice(numbers: *mut i32); }"#;
    let project = Project::new("unseen-elsewhere", &racing(native, "elsewhere_twice(numbers)"));
    project.write("elsewhere.rs", ELSEWHERE);
    for debug in ["0", "1", "2"] {
        let script = r#"
use std::process::Command;

fn main() {
    let out = std::env::var("OUT_DIR").unwrap();
    let (object, archive) = (format!("{out}/elsewhere.o"), format!("{out}/libelsewhere.a"));
    let mut rustc = Command::new(std::env::var("RUSTC").unwrap());
    rustc.args(["--edition", "2024", "--crate-type", "lib", "--emit", "obj", "-O", "-C", "codegen-units=1"]);
    let done = rustc.args(["-C", "panic=abort", "-C", "debuginfo=DEBUG", "elsewhere.rs", "-o", &object]).status();
    assert!(done.unwrap().success());
    assert!(Command::new("ar").args(["crs", &archive, &object]).status().unwrap().success());
    println!("cargo:rustc-link-search=native={out}");
    println!("cargo:rustc-link-lib=static=elsewhere");
}
"#;
        project.write("build.rs", &script.replace("DEBUG", debug));
        let told = unseen(&test(&project, &[], &[]).ends(COMPLETE));
        let crates = told["crates"].as_array().unwrap();
        assert_eq!(crates[0]["name"], "elsewhere", "{told}");
        // What is exported has no crate in its name.
        let (number, exported) = match debug {
            "0" => (1, json!(["elsewhere_twice"])),
            _ => (2, json!([])),
        };
        assert_eq!(crates[0]["functions"].as_array().map(Vec::len), Some(number), "{told}");
        assert_eq!(told["functions"], exported, "{told}");
        assert_eq!(crates.len(), 1, "{told}");
    }
}

/// Assembly in a crate is not seen. Code that asks for no sanitizer is.
#[test]
fn assembly_in_crates_is_named_and_what_wants_no_sanitizer_is_seen() {
    let assembly = r#"
core::arch::global_asm!(
    ".globl global_load", ".type global_load, @function", "global_load:", "mov eax, [rdi]", "ret",
    ".size global_load, .-global_load",
);

unsafe extern "C" { fn global_load(number: *mut i32) -> i32; }

pub mod deep {
    #[unsafe(naked)]
    pub extern "C" fn naked_add(number: *mut i32) {
        core::arch::naked_asm!("inc dword ptr [rdi]", "ret")
    }

    pub struct Adder;

    impl Adder {
        #[unsafe(naked)]
        pub extern "C" fn naked_add(number: *mut i32) {
            core::arch::naked_asm!("add dword ptr [rdi], 1", "ret")
        }
    }
}
"#;
    let project = Project::new(
        "unseen-asm",
        &racing(
            assembly,
            "global_load(numbers); deep::naked_add(numbers); deep::Adder::naked_add(numbers)",
        ),
    );
    let told = unseen(&test(&project, &[], &[]).ends(COMPLETE));
    let bare = told["functions"].as_array().unwrap().iter();
    // Both ways to mangle names are fine.
    let mut bare: Vec<_> = bare
        .map(|name| name.as_str().unwrap().replace(['<', '>'], ""))
        .collect();
    bare.sort();
    let all = ["global_load", "made::deep::Adder::naked_add", "made::deep::naked_add"];
    assert_eq!(bare, all);
    // That they are assembly is known without debug information, too.
    let told = unseen(&test(&project, &[], &[("CARGO_PROFILE_TEST_DEBUG", "0")]).ends(COMPLETE));
    assert_eq!(told["functions"].as_array().map(Vec::len), Some(all.len()), "{told}");
    let unsanitized = r#"
#![feature(sanitize)]

#[sanitize(thread = "off")]
#[inline(never)]
unsafe fn add(number: *mut i32) {
    unsafe { *number += 1 }
}
"#;
    let project = Project::new("unseen-sanitize", &racing(unsanitized, "add(numbers)"));
    let run = test(&project, &[], &[("RUSTC_BOOTSTRAP", "made")]).ends(FAILED);
    assert!(run.events("unseen").is_empty(), "{run:?}");
    assert_eq!(run.events("test-finished")[0]["failure"]["kind"], "data-race");
}

/// A function with a race that is meant, one that only uses its own stack, and two tests.
const MEANT: &str = r#"
use std::hint::black_box;

pub mod meant {
    pub unsafe fn add(number: *mut i32) {
        unsafe { *number += 1 }
    }
}

#[inline(never)]
pub fn private() -> i32 {
    let mut numbers = [1, 2, 3];
    std::hint::black_box(&mut numbers)[1] += 1;
    black_box(&numbers)[1]
}

#[test]
fn alone() {
    std::thread::spawn(private).join().unwrap();
}
"#;

#[test]
fn suppressions_that_apply_to_nothing_are_told() {
    let project = Project::new("unseen-suppressions", &racing(MEANT, "meant::add(numbers)"));
    let warnings = |config: &str, more: &[&str], code| {
        project.write("dpor.toml", config);
        let run = test(&project, more, &[]).ends(code);
        let messages = run.events("warning");
        let messages = messages
            .iter()
            .map(|event| event["message"].as_str().unwrap().to_owned());
        (messages.collect::<Vec<_>>(), run)
    };
    let told = |line: usize, entry: &str| {
        format!(
            "dpor.toml:{line}: `suppressed-races`: `{entry}` covers no access that another thread could see: \
             correct or remove it"
        )
    };
    let used = r#"suppressed-races = ["made::meant::add"]"#;
    let (messages, run) = warnings(used, &[], COMPLETE);
    assert_eq!(messages, [""; 0]);
    let tests = run.events("test-finished");
    let of = |name: &str| tests.iter().find(|event| event["test"]["name"] == name).unwrap();
    let races = &of("races")["suppressed_races"][0];
    assert_eq!(races["entry"], "made::meant::add");
    assert!(races["accesses"].as_u64() > Some(1), "{races}");
    assert_eq!(of("alone")["suppressed_races"][0]["accesses"], 0);

    // Whatever is covered by another one as well is covered; what is on a private stack is not looked at.
    let config = "leaks = false\nsuppressed-races = [\"made::meant\", \"src/lib.rs\", \"made::meant::ad\", \
                  \"made::private\"]";
    let (messages, _) = warnings(config, &[], COMPLETE);
    assert_eq!(messages, [told(2, "made::meant::ad"), told(2, "made::private")]);
    // The command is the same for people.
    let told_people = project.run(&["test"]).ends(COMPLETE);
    let lines = told_people
        .stderr
        .lines()
        .filter(|line| line.starts_with("warning: dpor.toml"));
    assert_eq!(lines.count(), 2, "{told_people:?}");

    // Of what is only for tests that are not selected, nothing is known; nor if a test has failed, or was stopped.
    let config = format!("{used}\n[[overrides]]\nfilter = \"alone\"\nsuppressed-races = [\"nowhere\"]\n");
    assert_eq!(warnings(&config, &["races"], COMPLETE).0, [""; 0]);
    let of_override = "dpor.toml:4, override for filter = \"alone\": `suppressed-races`: `nowhere` covers no access";
    let (messages, _) = warnings(&config, &[], COMPLETE);
    assert!(
        messages.len() == 1 && messages[0].starts_with(of_override),
        "{messages:?}"
    );
    let misspelt = r#"suppressed-races = ["made::ment::add"]"#;
    assert_eq!(warnings(misspelt, &[], FAILED).0, [""; 0]);
    assert_eq!(warnings(misspelt, &["--shard", "1/2", "alone"], COMPLETE).0, [""; 0]);
    assert_eq!(warnings(misspelt, &["--data-races=false"], COMPLETE).0, [""; 0]);
    let (messages, _) = warnings(misspelt, &["alone"], COMPLETE);
    assert!(
        messages.len() == 1 && messages[0].ends_with("remove it, unless it is for tests that were left out"),
        "{messages:?}"
    );

    // What was explored before an interruption counts.
    assert_eq!(warnings(used, &[], COMPLETE).0, [""; 0]);
    let resumed = project
        .run(&["test", "--resume", "--message-format", "json"])
        .ends(COMPLETE);
    assert!(resumed.events("warning").is_empty(), "{resumed:?}");
}
