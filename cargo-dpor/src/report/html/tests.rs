//! Pages of made-up tests.

use super::*;
use crate::report::samples::{self, failed_in_full, finish, incomplete, test};

/// The JSON in a page.
fn data(page: &str) -> serde_json::Value {
    let (_, rest) = page.split_once("id=\"data\">").expect("there are data");
    let (json, _) = rest.split_once("</script>").expect("they end");
    serde_json::from_str(json).expect("they are JSON")
}

#[test]
fn each_test_has_a_page_and_the_list_names_them() {
    let folder = tempfile::tempdir().unwrap();
    let mut html = Html::create(&folder.path().join("deep/report"), false).unwrap();
    samples::run(&mut html, failed_in_full());
    html.close().unwrap();
    let folder = folder.path().join("deep/report");
    let list = data(&fs::read_to_string(folder.join("index.html")).unwrap());
    let pages: Vec<_> = list["tests"].as_array().unwrap().iter().collect();
    assert!(list["totals"]["seconds"].is_number(), "{list}");
    let verdicts: Vec<_> = pages.iter().map(|page| page["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["complete", "failed", "incomplete"]);
    for page in pages {
        let text = fs::read_to_string(folder.join(page["file"].as_str().unwrap())).unwrap();
        assert_eq!(data(&text)["test"], page["test"]);
        assert!(!text.contains("src=\"") && !text.contains("http://") || text.matches("http://").count() == 1);
    }
}

#[test]
fn a_failure_in_full() {
    let outcome = failed_in_full();
    let result = samples::result(outcome.clone(), Some(outcome), Some("cargo dpor replay x".into()));
    let page = page(
        &test("tests::a"),
        &result,
        &SourceTree::new(vec![env!("CARGO_MANIFEST_DIR").into()]),
    );
    let json = serde_json::to_value(&page).unwrap();
    assert_eq!(json["steps"].as_array().unwrap().len(), 2);
    assert_eq!(json["steps"][1]["reads_from"], 0);
    assert_eq!(json["steps"][1]["values"][0]["object"], "balance");
    assert_eq!(json["failure"]["output"], "seen 1\n");
    assert!(json["sources"]["src/main.rs"][0].is_string());
}

#[test]
fn text_of_a_test_cannot_end_the_data() {
    let mut outcome = incomplete();
    outcome.reason = Some("</script><script>alert(1)</script>".into());
    let folder = tempfile::tempdir().unwrap();
    let mut html = Html::create(folder.path(), false).unwrap();
    finish(&mut html, &test("a<b>::c d"), outcome);
    html.close().unwrap();
    let page = fs::read_to_string(folder.path().join("bank-a-b-.c-d.html")).unwrap();
    assert_eq!(data(&page)["reason"], "</script><script>alert(1)</script>");
}

#[test]
fn names_that_look_alike_as_files_are_kept_apart() {
    let folder = tempfile::tempdir().unwrap();
    let mut html = Html::create(folder.path(), false).unwrap();
    for name in ["a b", "a-b"] {
        finish(&mut html, &test(name), incomplete());
    }
    html.close().unwrap();
    assert_eq!(html.index.tests[0].file, "bank-a-b.html");
    assert_eq!(html.index.tests[1].file, "bank-a-b-2.html");
    let list = data(&fs::read_to_string(folder.path().join("index.html")).unwrap());
    assert!(list["totals"].is_null(), "the run did not end");
}

#[test]
fn a_folder_that_cannot_be_is_named_at_once() {
    let error = Html::create(Path::new("/proc/report"), false)
        .err()
        .expect("nothing can be made there");
    assert!(error.to_string().contains("/proc/report"), "{error}");
}

#[test]
fn a_replay_has_the_page_of_the_failure_that_it_shows() {
    let (outcome, test) = (failed_in_full(), test("tests::a"));
    let (folder, again) = (tempfile::tempdir().unwrap(), "cargo dpor replay dpor1-AAAA");
    let page = |tell: &dyn Fn(&mut Html)| {
        let mut html = Html::create(folder.path(), false).unwrap();
        tell(&mut html);
        html.close().unwrap();
        data(&fs::read_to_string(folder.path().join("bank-tests.a.html")).unwrap())
    };
    let explored = page(&|html| finish(html, &test, outcome.clone()));
    let replayed = page(&|html| {
        html.event(&Event::Replayed {
            test: &test,
            seed: "dpor1-AAAA",
            outcome: &outcome,
            again,
        });
    });
    assert_eq!(replayed, explored);
    assert_eq!(replayed["again"], again);
}
