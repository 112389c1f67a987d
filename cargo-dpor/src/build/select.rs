//! The tests that the user selects, and why there are none.

use crate::build::binary::Test;
use crate::cli::Names;
use crate::near;

/// The selected tests.
#[derive(Debug, Default)]
pub struct Selection {
    pub tests: Vec<Test>,
    /// Number of tests that were not selected.
    pub left_out: usize,
    /// Why none is selected, although there are tests.
    pub none: Option<String>,
    /// Complaints about filters that match nothing, while others match something.
    pub idle: Vec<String>,
}

/// Selects tests.
pub fn select(tests: Vec<Test>, names: &Names) -> Selection {
    let count = tests.len();
    let finds = |filter: &&String| tests.iter().any(|test| matches(test, filter, names));
    let (_, idle): (Vec<_>, Vec<_>) = names.filters.iter().partition(finds);
    let idle: Vec<String> = idle
        .into_iter()
        .map(|filter| finds_nothing(filter, &tests, names))
        .collect();
    let none = (count > 0 && !tests.iter().any(|test| is_wanted(test, names))).then(|| why_none(&tests, names, &idle));
    let tests: Vec<Test> = tests.into_iter().filter(|test| is_wanted(test, names)).collect();
    Selection {
        left_out: count - tests.len(),
        tests,
        none,
        idle,
    }
}

fn matches(test: &Test, filter: &str, names: &Names) -> bool {
    if names.exact {
        test.name == filter
    } else {
        test.name.contains(filter)
    }
}

fn is_wanted(test: &Test, names: &Names) -> bool {
    (names.include_ignored || test.ignored == names.ignored) && is_named(test, names)
}

fn is_named(test: &Test, names: &Names) -> bool {
    let any = |filters: &[String]| filters.iter().any(|filter| matches(test, filter, names));
    (names.filters.is_empty() || any(&names.filters)) && !any(&names.skip)
}

/// Says that a filter matches nothing, and what may have been meant.
fn finds_nothing(filter: &str, tests: &[Test], names: &Names) -> String {
    let count = tests.len();
    let all = || tests.iter().map(|test| test.name.as_str());
    let parts = all().filter(|name| name.contains(filter)).count();
    let question = match parts {
        0 => near::question(&near::tests(filter, all())),
        parts => format!("; without `--exact`, {parts} would be found"),
    };
    match names.exact {
        true => format!("none of the {count} tests found here is called `{filter}`{question}"),
        false => format!("none of the {count} tests found here has `{filter}` in its name{question}"),
    }
}

/// Why no test is selected.
fn why_none(tests: &[Test], names: &Names, idle: &[String]) -> String {
    let named = tests.iter().filter(|test| is_named(test, names)).count();
    if !idle.is_empty() && idle.len() == names.filters.len() {
        return idle.join("\n  ");
    }
    match (named, names.ignored) {
        (0, _) => format!(
            "`--skip` leaves out all selected ones of the {} tests found here",
            tests.len()
        ),
        (_, true) => {
            format!("none of the {named} selected tests is ignored, and `--ignored` explores no others")
        }
        (_, false) => {
            format!("all {named} selected tests are ignored: `--ignored` or `--include-ignored` explores them")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::list::tests::tests;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn selection(names: Names) -> Selection {
        select(tests(), &names)
    }

    fn selected(names: Names) -> Vec<String> {
        selection(names).tests.iter().map(Test::id).collect()
    }

    #[test]
    fn names_choose_tests() {
        let all = selection(Names::default());
        assert_eq!((all.left_out, all.none, all.idle), (1, None, vec![]));
        assert_eq!(
            selected(Names::default()),
            ["p/lib/p tests::one", "p/test/it tests::one"]
        );
        let ignored = Names {
            ignored: true,
            filters: words(&["tests::one"]),
            ..Names::default()
        };
        assert_eq!(selected(ignored.clone()), ["p/lib/p tests::one_more"]);
        assert!(selected(Names { exact: true, ..ignored }).is_empty());
        let all = Names {
            include_ignored: true,
            skip: words(&["more"]),
            ..Names::default()
        };
        assert_eq!(selected(all.clone()).len(), 2);
        let whole = Names {
            exact: true,
            skip: words(&["tests::one"]),
            ..all
        };
        assert_eq!(selected(whole), ["p/lib/p tests::one_more"]);
    }

    #[test]
    fn filters_that_find_nothing_are_told() {
        let of = |filters: &[&str], exact| {
            selection(Names {
                filters: words(filters),
                exact,
                ..Names::default()
            })
        };
        let nothing = of(&["tests::too", "oen"], false);
        assert_eq!(
            nothing.none.unwrap(),
            "none of the 3 tests found here has `tests::too` in its name; did you mean `tests::one` or \
             `tests::one_more`?\n  none of the 3 tests found here has `oen` in its name; did you mean `tests::one` or \
             `tests::one_more`?"
        );
        assert_eq!(
            of(&["one"], true).none.unwrap(),
            "none of the 3 tests found here is called `one`; without `--exact`, 3 would be found"
        );
        let some = of(&["one", "unrelated"], false);
        assert_eq!((some.tests.len(), some.none), (2, None));
        assert_eq!(
            some.idle,
            ["none of the 3 tests found here has `unrelated` in its name"]
        );
    }

    #[test]
    fn why_there_are_none_is_told() {
        let none = |names| selection(names).none.unwrap();
        let more = || words(&["more"]);
        let names = Names {
            filters: more(),
            ..Names::default()
        };
        assert!(none(names.clone()).starts_with("all 1 selected tests are ignored: `--ignored`"));
        let skip = words(&["one"]);
        assert!(none(Names { skip, ..names }).starts_with("`--skip` leaves out all"));
        let ignored = Names {
            ignored: true,
            skip: more(),
            ..Names::default()
        };
        assert!(none(ignored).starts_with("none of the 2 selected tests is ignored"));
    }
}
