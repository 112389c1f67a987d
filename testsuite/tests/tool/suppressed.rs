//! Data races that are suppressed: which accesses rules cover, what a run says of them, and what is explored all the
//! same.
//!
//! The projects are small and made here. The tool is the one that `CARGO_DPOR_BIN` names, or else is built first.

use dpor_testsuite::project::{Project, Run};

const COMPLETE: i32 = 0;
const FAILED: i32 = 1;
const USAGE: i32 = 2;

/// A pair that is read without a lock, by code that means it, and a block that is used after it was freed.
const SEQUENCED: &str = r#"
pub mod sequenced {
    use std::cell::UnsafeCell;
    use std::ptr;
    use std::sync::atomic::{AtomicUsize, Ordering::*};

    pub struct Pair {
        version: AtomicUsize,
        value: UnsafeCell<[u32; 2]>,
    }

    unsafe impl Sync for Pair {}

    impl Pair {
        pub const fn new() -> Pair {
            Pair { version: AtomicUsize::new(0), value: UnsafeCell::new([0; 2]) }
        }

        pub fn write(&self, value: [u32; 2]) {
            self.version.fetch_add(1, SeqCst);
            unsafe { *self.value.get() = value };
            self.version.fetch_add(1, SeqCst);
        }

        /// Once only, whatever it finds.
        pub fn read(&self) -> Option<[u32; 2]> {
            let version = self.version.load(SeqCst);
            let value = unsafe { ptr::read_volatile(self.value.get()) };
            (self.version.load(SeqCst) == version && version % 2 == 0).then_some(value)
        }
    }
}

#[test]
fn pairs() {
    static PAIR: sequenced::Pair = sequenced::Pair::new();
    let writer = std::thread::spawn(|| PAIR.write([1, 1]));
    if let Some([one, other]) = PAIR.read() {
        assert_eq!(one, other);
    }
    writer.join().unwrap();
}

#[test]
fn freed() {
    let block = Box::into_raw(Box::new(1));
    // The compiler must not see what it may throw away.
    let same = std::hint::black_box(block);
    unsafe {
        drop(Box::from_raw(block));
        assert_eq!(same.read(), 1);
    }
}
"#;

#[test]
fn data_races_are_suppressed_by_functions_and_files() {
    let project = Project::new("sequenced", SEQUENCED);
    let test = |config: &str, name: &str| {
        project.write("dpor.toml", config);
        project.run(&["test", name, "--exact", "--message-format", "json"])
    };
    let kind = |run: &Run| run.events("test-finished")[0]["failure"]["kind"].clone();
    let fails = |config: &str| {
        let run = test(config, "pairs").ends(FAILED);
        assert_eq!(kind(&run), "data-race", "{config}");
        let seed = run.events("test-finished")[0]["seed"].clone();
        seed.as_str().expect("a failure has a seed").to_owned()
    };
    let seed = fails("");
    fails("suppressed-races = [\"made::freed\"]\n");
    fails("[[overrides]]\nfilter = \"freed\"\nsuppressed-races = [\"src/lib.rs\"]\n");
    for rule in ["made::sequenced::Pair::read", "*::Pair::write", "src/lib.rs", "made"] {
        for strategy in ["states", "context", "source"] {
            let config = format!("strategy = \"{strategy}\"\nsuppressed-races = [{rule:?}]\n");
            let run = test(&config, "pairs").ends(COMPLETE);
            let note = &run.events("test-finished")[0]["note"];
            let told = format!("data races of {rule} are suppressed: ");
            assert!(note.as_str().is_some_and(|note| note.contains(&told)), "{note}");
        }
    }
    // The reader's accesses are no longer in a race, so the schedule passes.
    let run = project.run(&["replay", &seed]).ends(USAGE);
    assert!(
        run.stdout.contains("the schedule of the seed ends without a failure"),
        "{run:?}"
    );
    // What is covered, and does not apply, is not told; and what is no race is told.
    let rule = "suppressed-races = [\"made::freed\", \"nowhere\"]\n";
    let run = test(rule, "freed").ends(FAILED);
    assert_eq!(kind(&run), "use-after-free");
    let note = run.events("test-finished")[0]["note"].to_string();
    assert!(note.contains("made::freed") && !note.contains("nowhere"), "{note}");
    let shown = project.run(&["show-config"]).ends(COMPLETE);
    assert!(shown.stdout.contains("[\"made::freed\", \"nowhere\"]"), "{shown:?}");
}

/// Plain memory says whether the load came before the store. An execution graph does not, as the load may find the
/// older value after the store, too.
const TOLD_BY_PLAIN_MEMORY: &str = r#"
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

struct Told(AtomicU32, UnsafeCell<u32>);
unsafe impl Sync for Told {}

impl Told {
    fn store(&self) {
        self.0.store(1, Relaxed);
        unsafe { self.1.get().write_volatile(1) };
    }

    fn load(&self) -> u32 {
        self.0.load(Relaxed);
        unsafe { self.1.get().read_volatile() }
    }
}

fn told() -> u32 {
    static TOLD: Told = Told(AtomicU32::new(0), UnsafeCell::new(0));
    let reader = std::thread::spawn(|| TOLD.load());
    TOLD.store();
    reader.join().unwrap()
}

#[test]
fn before() {
    assert_ne!(told(), 0);
}

#[test]
fn after() {
    assert_ne!(told(), 1);
}
"#;

#[test]
fn where_races_are_suppressed_the_order_counts_that_graphs_do_not_tell() {
    let project = Project::new("told-by-plain-memory", TOLD_BY_PLAIN_MEMORY);
    for strategy in ["states", "context", "exhaustive"] {
        let config = format!("strategy = \"{strategy}\"\nsuppressed-races = [\"made::Told\"]\n");
        project.write("dpor.toml", &config);
        // With a limit of executions, the sequentially consistent ones are not explored first.
        let flags = ["--no-fail-fast", "--max-executions", "1000", "--message-format", "json"];
        let run = project.run(&[&["test"], &flags[..]].concat()).ends(FAILED);
        let tests = run.events("test-finished");
        let kinds: Vec<_> = tests.iter().map(|test| test["failure"]["kind"].as_str()).collect();
        assert_eq!(kinds, [Some("panic"); 2], "{strategy}: {run:?}");
    }
}
