//! The pages that `cargo dpor test --report` writes, in a headless Chromium: used by keyboard only, as somebody would
//! who wants to know what has happened.
//!
//! The browser is the one that `CHROMIUM` names, or one on the path; where there is none, the test fails, unless
//! `WITHOUT_BROWSER=1` says that it is to be left out. The tool is the one that `CARGO_DPOR_BIN` names, or else is
//! built first.

mod browser;
mod layout;

use browser::Browser;
use dpor_testsuite::project::Project;
use dpor_testsuite::tool;
use serde_json::{Value, json};
use std::fs;
use std::io::{Write, stderr};
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn pages_in_a_browser() {
    if std::env::var_os("WITHOUT_BROWSER").is_some_and(|set| set == "1") {
        // What is printed by a macro is kept back where a test passes.
        let said = writeln!(stderr(), "NOT TESTED: pages in a browser, because of WITHOUT_BROWSER=1");
        said.expect("somebody hears it");
        return;
    }
    let program = browser::find().expect(
        "no Chromium on the path: install it, name it in CHROMIUM, or set WITHOUT_BROWSER=1 to leave this test out",
    );
    let report = explored(
        &["--strategy", "source", "--exact"],
        &[DEADLOCK, LOST_UPDATE, RIGHT, ASLEEP],
    );
    let sampled = explored(
        &["--strategy", "exhaustive", "--max-executions", "1200", "--exact"],
        &[LARGE],
    );
    let profile = scratch().join("profile");
    let mut browser = Browser::start(&program, &profile);
    deadlock(&mut browser, &page(&report, "classics", DEADLOCK));
    lost_update(&mut browser, &page(&report, "classics", LOST_UPDATE));
    complete(&mut browser, &page(&report, "classics", RIGHT));
    asleep(&mut browser, &page(&report, "classics.counts", ASLEEP));
    large(&mut browser, &page(&sampled, "classics.counts", LARGE));
    index(&mut browser, &report);
    made(&mut browser);
}

const DEADLOCK: &str = "abba::tests::wrong_two_orders";
const LOST_UPDATE: &str = "lost_update::tests::wrong_two_steps";
/// A test with four executions.
const RIGHT: &str = "lost_update::tests::right_compare_exchange";
/// A test with 15 abandoned executions, under `source`.
const ASLEEP: &str = "lastzero_5";
const LARGE: &str = "writers_5";

fn scratch() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages")
}

/// The folder of the pages of these tests of the classics, which are built as the suites build them.
fn explored(flags: &[&str], tests: &[&str]) -> PathBuf {
    let folder = scratch().join(flags[1]);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("the folder is ours");
    }
    let output = Command::new(tool::path())
        .args(["dpor", "test", "--color", "never", "--report"])
        .arg(&folder)
        .arg("--target-dir")
        .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("suites/target/classics"))
        .args(flags)
        .args(tests)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("classics"))
        .output()
        .expect("the tool can be started");
    let text = String::from_utf8_lossy(&output.stdout);
    let summary = format!("summary: {} tests, ", tests.len());
    assert!(
        text.contains(&summary) || tests.len() == 1 && text.contains("summary: 1 test, "),
        "{output:?}"
    );
    folder
}

/// The address of a test's page.
fn page(folder: &Path, target: &str, test: &str) -> String {
    let file = folder.join(format!("{target}-{}.html", test.replace("::", ".")));
    assert!(file.is_file(), "{}", file.display());
    format!("file://{}", file.display())
}

/// The text for those who do not look.
const SAID: &str = "document.getElementById('say').textContent";

/// Opens a page in light and in dark, and leaves it in dark. Nothing is fetched and nothing goes wrong, and everything
/// can be read: also in a narrow window.
fn open(browser: &mut Browser, address: &str) {
    let mut grounds = Vec::new();
    for scheme in ["light", "dark"] {
        browser.prefer(scheme);
        browser.open(address);
        let faint = browser.value(FAINT);
        assert_eq!(faint, json!([]), "{scheme}: too faint to read on {address}");
        layout::narrow(browser, address);
        layout::wide(browser, address);
        grounds.push(browser.text("getComputedStyle(document.body).backgroundColor"));
    }
    assert_ne!(grounds[0], grounds[1], "light and dark are the same");
}

/// Texts whose colour has a contrast to the ground behind it of less than 4.5, as the WCAG compute it.
const FAINT: &str = r"(() => {
  const part = c => { c /= 255; return c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4; };
  const light = colour => {
    const [r, g, b] = colour.match(/[\d.]+/g).map(Number);
    return .2126 * part(r) + .7152 * part(g) + .0722 * part(b);
  };
  const ground = node => {
    for (; node; node = node.parentElement) {
      const c = getComputedStyle(node).backgroundColor;
      if (c !== 'rgba(0, 0, 0, 0)') return c;
    }
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), faint = [];
  for (let text; (text = texts.nextNode());) {
    const node = text.parentElement;
    if (!text.data.trim() || node.closest('script, .gone') || node.getClientRects().length === 0) continue;
    const [a, b] = [light(getComputedStyle(node).color), light(ground(node))];
    if ((Math.max(a, b) + .05) / (Math.min(a, b) + .05) < 4.5) faint.push(text.data);
  }
  return faint;
})()";

/// Nothing went wrong on this page, and nothing but the page was asked for.
fn close(browser: &mut Browser, address: &str) {
    // What has happened so far is told before the answer.
    browser.value("0");
    assert_eq!(browser.complaints(), Vec::<String>::new(), "{address}");
    assert_eq!(browser.requests(), [address], "nothing is fetched");
}

/// Checks the effect of a key press.
#[track_caller]
fn said(browser: &mut Browser, key: &str, expected: &str) {
    browser.press(&[key]);
    assert_eq!(browser.text(SAID), expected, "after {key}");
}

fn deadlock(browser: &mut Browser, address: &str) {
    open(browser, address);
    assert_eq!(browser.text("document.title"), format!("classics {DEADLOCK}: failed"));
    assert_eq!(
        browser.text("document.querySelector('.message').textContent"),
        "deadlock: 2 threads wait for each other"
    );
    // From the first step to the last one, where it has come to.
    let steps = [
        "Step 1 of 3: t0 (main): start",
        "Step 2 of 3: t1: lock a = 0, at src/abba.rs:17",
        "Step 3 of 3: t2: lock b = 0, at src/abba.rs:30",
    ];
    said(browser, "Home", steps[0]);
    said(browser, "ArrowDown", steps[1]);
    said(browser, "j", steps[2]);
    said(browser, "ArrowDown", steps[2]);
    said(browser, "p", steps[1]);
    said(browser, "ArrowUp", steps[0]);
    said(browser, "n", steps[1]);
    said(browser, "d", steps[2]);
    assert_eq!(browser.value("document.activeElement.className"), "step decisive here");
    assert_eq!(
        browser.text("document.querySelector('#lanes tr.note').textContent"),
        "▶decisive switch: if t1 goes on here (lock at src/abba.rs:18), the test can pass"
    );
    let line = browser.text("document.querySelector('#source .here').textContent");
    assert_eq!(line, "30        let mut b = self.b.lock().expect(\"not poisoned\");");
    let waits = browser.value("[...document.querySelectorAll('#waits tr')].slice(1).map(row => row.textContent)");
    let expected = [
        "t0 (main)join t1src/threads.rs:25t1",
        "t1lock bsrc/abba.rs:18t2since src/abba.rs:30",
        "t2lock asrc/abba.rs:31t1since src/abba.rs:17",
    ];
    assert_eq!(waits, json!(expected));
    // The link to the list of tests, colours of Rust.
    let list = browser.text("document.querySelector('nav a').href");
    assert_eq!(list, address.replace("classics-abba.tests.wrong_two_orders", "index"));
    let words = browser
        .value("[...document.querySelectorAll('#source .here .k, #source .here .s')].map(word => word.textContent)");
    assert_eq!(words, json!(["let", "mut", "self", "\"not poisoned\""]));
    // The tree: two executions, the second of which fails.
    browser.press(&["t"]);
    assert_eq!(browser.text("document.activeElement.getAttribute('role')"), "treeitem");
    let chosen = "document.querySelector('[aria-selected=true]').innerText";
    assert_eq!(browser.text(chosen), "t2lock b\n✗ deadlock");
    let shown = browser.text("document.getElementById('path').innerText");
    assert!(
        shown.contains("Execution 2 fails: deadlock. Its schedule is the one above."),
        "{shown}"
    );
    browser.press(&["ArrowUp"]);
    assert!(
        browser.text(chosen).ends_with("✓ ends well"),
        "{}",
        browser.text(chosen)
    );
    browser.press(&["ArrowLeft"]);
    assert!(
        browser
            .text(SAID)
            .ends_with("2 executions: 1 ✗ 1 ✓. After step 2: 2 ways to go on"),
        "{}",
        browser.text(SAID)
    );
    browser.press(&["ArrowLeft"]);
    assert_eq!(
        browser.value("document.querySelectorAll('[role=treeitem]:not([hidden] *)').length"),
        1
    );
    browser.press(&["x"]);
    assert_eq!(browser.text(chosen), "t2lock b\n✗ deadlock");
    said(browser, "Escape", steps[2]);
    assert_eq!(browser.value("document.activeElement.className"), "step decisive here");
    // Everything that does something is reached by the tabulator.
    browser.open(address);
    let mut reached = Vec::new();
    for _ in 0..6 {
        browser.press(&["Tab"]);
        reached.push(browser.text(
            "document.activeElement.getAttribute('aria-label') || document.activeElement.className || \
             document.activeElement.textContent",
        ));
    }
    assert_eq!(
        reached,
        [
            "All tests",
            "Copy",
            "step decisive here",
            "Source of src/abba.rs",
            "failing",
            "t1 lock b"
        ]
    );
    browser.press(&["Enter"]);
    assert!(
        browser.text(chosen).ends_with("✓ ends well"),
        "{}",
        browser.text(chosen)
    );
    close(browser, address);
}

fn lost_update(browser: &mut Browser, address: &str) {
    open(browser, address);
    let failing = "document.querySelector('[aria-selected=true]').textContent";
    assert_eq!(
        browser.text(failing),
        "t2load counter · store countert1store countert0join handle · join handle · load counter✗ panic"
    );
    let decisive = "Step 3 of 8: t2: counter = 0, at src/lost_update.rs:21";
    said(browser, "d", decisive);
    assert_eq!(
        browser.text("document.querySelector('#lanes tr.note').textContent"),
        "▶decisive switch: if t1 goes on here (store at src/lost_update.rs:22), the test can pass"
    );
    assert_eq!(
        browser.text("document.querySelector('#values tr:last-child').innerText"),
        "counter\t0\t0"
    );
    said(
        browser,
        "ArrowDown",
        "Step 4 of 8: t2: counter: 0 → 1, at src/lost_update.rs:22",
    );
    assert_eq!(
        browser.text("document.querySelector('#values tr.changed').innerText"),
        "counter\t1\t0 → 1"
    );
    // The update that is lost: it is made of the value from before.
    said(
        browser,
        "ArrowDown",
        "Step 5 of 8: t1: counter: 1 → 1, at src/lost_update.rs:22",
    );
    assert_eq!(
        browser.value("document.querySelectorAll('#values tr.changed').length"),
        0
    );
    said(
        browser,
        "End",
        "Step 8 of 8: t0 (main): counter = 1 (step 5), at src/lost_update.rs:62",
    );
    // The arrow from the step that has written what it reads, and those to the threads.
    assert_eq!(
        browser.value("document.querySelectorAll('#arrows > path.read:not(.dim)').length"),
        1
    );
    assert_eq!(
        browser.value("document.querySelectorAll('#arrows > path.spawn').length"),
        2
    );
    assert!(
        browser
            .text("document.getElementById('printed').innerText")
            .contains("left: 1")
    );
    close(browser, address);
}

/// The ends of the executions in the tree, by their marks: at its root, and at its leaves.
fn ends(browser: &mut Browser) -> (String, Value) {
    let root = browser.text("document.querySelector('[role=treeitem] .sum').textContent");
    (
        root,
        browser.value("data.tree.nodes.flatMap(node => node.ends.map(end => end.kind))"),
    )
}

fn complete(browser: &mut Browser, address: &str) {
    open(browser, address);
    let heading = browser.text("document.querySelector('h1').textContent");
    assert_eq!(heading, format!("complete classics {RIGHT}"));
    assert_eq!(browser.value("document.getElementById('main')"), Value::Null);
    assert_eq!(
        browser.text("document.querySelector('#statistics div').innerText"),
        "complete executions\n4"
    );
    let well = "complete";
    assert_eq!(
        ends(browser),
        ("4 executions: 4 ✓".into(), json!([well, well, well, well]))
    );
    let note = browser.text("document.getElementById('tree-note').textContent");
    assert!(note.starts_with("All 4 executions. "), "{note}");
    // All of it is there at once, and can be gone through.
    let rows = browser.value("document.querySelectorAll('[role=treeitem]').length");
    let rows = rows.as_u64().expect("it is a number");
    browser.press(&["t", "Home"]);
    let mut seen = vec![browser.text(SAID)];
    for _ in 1..rows {
        browser.press(&["ArrowDown"]);
        seen.push(browser.text(SAID));
    }
    assert_eq!(
        seen.iter().filter(|said| said.contains("✓ ends well. ")).count(),
        4,
        "{seen:#?}"
    );
    browser.press(&["ArrowDown"]);
    assert_eq!(browser.text(SAID), seen[seen.len() - 1]);
    browser.press(&["End"]);
    assert_eq!(browser.text(SAID), seen[seen.len() - 1]);
    close(browser, address);
}

/// An abandoned execution says where the sleeping transitions had been explored.
fn asleep(browser: &mut Browser, address: &str) {
    open(browser, address);
    let (root, ends) = ends(browser);
    let ends = ends.as_array().expect("it is a list").clone();
    let blocked = ends.iter().filter(|end| **end == "asleep").count();
    assert!(blocked > 0 && root.contains(&format!(" {blocked} –")), "{root}");
    browser.press(&["t", "Home"]);
    let row = "document.querySelector('[aria-selected=true]').firstChild.id";
    let (mut found, mut here) = (0, String::new());
    while browser.text(row) != here {
        here = browser.text(row);
        if browser.value("document.querySelector('[aria-selected=true]').ariaExpanded") == "false" {
            browser.press(&["ArrowRight"]);
        }
        if browser.value("document.querySelector('#path .message .asleep') !== null") == true {
            found += 1;
            let places = "[...document.querySelectorAll('#path > div > ul > li')].map(item => item.innerText)";
            let places = browser.value(places);
            let places = places.as_array().expect("it is a list");
            let known = |place: &&Value| {
                place
                    .as_str()
                    .is_some_and(|place| place.contains(": was explored after step "))
            };
            assert!(
                !places.is_empty() && places.iter().all(|place| known(&place)),
                "{places:?}"
            );
        }
        browser.press(&["ArrowDown"]);
    }
    assert_eq!(found, blocked);
    close(browser, address);
}

/// Of many executions, the first ones are shown, with a note that there are more.
fn large(browser: &mut Browser, address: &str) {
    open(browser, address);
    let note = browser.text("document.getElementById('tree-note').textContent");
    assert!(
        note.starts_with("1000 of the 1200 executions that were run: the first ones. The rest is not on record."),
        "{note}"
    );
    let (root, ends) = ends(browser);
    assert!(root.starts_with("1000 executions: "), "{root}");
    assert_eq!(ends.as_array().map(Vec::len), Some(1000));
    let rows = "document.querySelectorAll('[role=treeitem]').length";
    let few = browser.value(rows).as_u64().expect("it is a number");
    assert!((10..200).contains(&few), "{few} rows");
    close(browser, address);
}

/// The list leads to the pages.
fn index(browser: &mut Browser, report: &Path) {
    let address = format!("file://{}", report.join("index.html").display());
    open(browser, &address);
    let links = browser.value("[...document.querySelectorAll('a')].map(link => link.textContent)");
    let expected = [
        format!("classics {DEADLOCK}"),
        format!("classics {LOST_UPDATE}"),
        format!("classics {RIGHT}"),
        format!("classics::counts {ASLEEP}"),
    ];
    assert_eq!(links, json!(expected));
    let totals = browser.text("document.getElementById('totals').textContent");
    let counted = ["4 tests, 2 complete, 2 failed, 0 incomplete, ", " executions, ", " s"];
    assert!(
        totals.starts_with(counted[0]) && totals.contains(counted[1]) && totals.ends_with(counted[2]),
        "{totals}"
    );
    let deadlock = browser.value("[...document.querySelector('#tests tr').cells].map(cell => cell.textContent)");
    assert_eq!(deadlock[0], "failed");
    assert_eq!(deadlock[2], "2 executions");
    assert!(
        deadlock[3].as_str().is_some_and(|time| time.ends_with(" s")),
        "{deadlock}"
    );
    assert_eq!(deadlock[4], "deadlock: 2 threads wait for each other");
    close(browser, &address);
    browser.press(&["Tab"]);
    let link = browser.text("document.activeElement.href");
    assert_eq!(link, page(report, "classics", DEADLOCK));
}

/// A deadlock of many threads with names, many steps and long lines; an exploration that is limited; a test that tests
/// nothing.
const MADE: &str = r#"
#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex};
    use std::thread;

    #[test]
    fn philosophers() {
        let forks: Arc<Vec<Mutex<u32>>> = Arc::new((0..4).map(Mutex::new).collect());
        let thoughts = Arc::new(AtomicUsize::new(0));
        let dine = |number: usize| {
            let (forks, thoughts) = (forks.clone(), thoughts.clone());
            move || {
                for _ in 0..3 { thoughts.fetch_add(1, Ordering::SeqCst); }
                let _left = forks[number].lock().unwrap();
                let _right = forks[(number + 1) % 4].lock().expect("not poisoned, whatever the other philosopher has done with it");
            }
        };
        let sit_down = |number| thread::Builder::new().name(format!("philosopher-{number}")).spawn(dine(number)).unwrap();
        let philosophers: Vec<_> = (0..4).map(sit_down).collect();
        for philosopher in philosophers { philosopher.join().unwrap(); }
    }

    #[test]
    fn several() {
        let number = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..5 { scope.spawn(|| { number.store(1, Ordering::SeqCst); number.load(Ordering::SeqCst) }); }
        });
    }

    #[test]
    fn alone() {
        *Mutex::new(1).lock().unwrap() += 1;
    }
}
"#;

/// The list shows what has limited an exploration, and which tests may have tested nothing. Columns that do not fit
/// scroll.
fn made(browser: &mut Browser) {
    let project = Project::new("pages", MADE);
    project.write(
        "dpor.toml",
        "[[overrides]]\nfilter = \"tests::several\"\nmax-executions = 5\n",
    );
    project.run(&["test", "--report", "pages"]).ends(1);
    let report = project.folder.join("pages");
    let address = format!("file://{}", report.join("index.html").display());
    open(browser, &address);
    let rows = browser.value(
        "[...document.querySelectorAll('#tests tr')].map(row => [row.cells[0].innerText, row.cells[4].innerText])",
    );
    let rows: Vec<[String; 2]> = serde_json::from_value(rows).expect("two texts each");
    let [philosophers, several, alone] = &rows[..] else {
        panic!("{rows:?}")
    };
    assert_eq!(philosophers[0], "failed");
    // How many preemptions it needs may follow.
    let what = "deadlock: 4 threads wait for each other";
    assert_eq!(philosophers[1].lines().next(), Some(what), "{philosophers:?}");
    assert_eq!(several[0], "incomplete");
    let limited = "the limit of 5 executions was reached";
    assert_eq!(several[1].lines().next(), Some(limited), "{several:?}");
    assert_eq!(
        *alone,
        ["complete vacuous?", "vacuous? one thread, and nothing to choose"]
    );
    let totals = browser.text("document.getElementById('totals').textContent");
    let counted = "3 tests, 1 complete, 1 failed, 1 incomplete, 1 vacuous?, ";
    assert!(totals.starts_with(counted), "{totals}");
    close(browser, &address);
    for test in ["philosophers", "several", "alone"] {
        let address = page(&report, "made", &format!("tests::{test}"));
        open(browser, &address);
        close(browser, &address);
    }
}
