//! Proposals for a misspelt name.

use std::collections::BTreeSet;

/// Maximum number of proposed names.
const MOST: usize = 3;

/// Maximum part of a name that may be wrong.
const WRONG: f64 = 0.34;

/// Names that are similar to this one, the most similar first.
pub fn names<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    ranked(candidates, |candidate| distance(word, candidate))
}

/// Names of tests with a part that is similar to this one, the most similar first. Parts begin and end where words do.
pub fn tests<'a>(part: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    ranked(candidates, |candidate| {
        let of_parts = parts(candidate, part.len()).into_iter().map(|own| distance(part, own));
        of_parts.fold(distance(part, candidate), f64::min)
    })
}

/// A question that proposes these names; empty if there are none.
pub fn question(names: &[&str]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((only, [])) => format!("; did you mean {only}?"),
        Some((last, others)) => format!("; did you mean {} or {last}?", others.join(", ")),
    }
}

fn ranked<'a>(candidates: impl IntoIterator<Item = &'a str>, distance: impl Fn(&str) -> f64) -> Vec<&'a str> {
    let candidates: BTreeSet<&str> = candidates.into_iter().collect();
    let far = candidates.into_iter().map(|candidate| (distance(candidate), candidate));
    let mut near: Vec<_> = far.filter(|(distance, _)| *distance <= WRONG).collect();
    // Names as far away as each other stay in their order.
    near.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    near.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// From 0, for names that differ at most in the case of letters, to 1.
fn distance(word: &str, candidate: &str) -> f64 {
    1.0 - strsim::normalized_damerau_levenshtein(&word.to_lowercase(), &candidate.to_lowercase())
}

/// Parts of a name that consist of whole words and are together about as long.
fn parts(name: &str, length: usize) -> Vec<&str> {
    let boundary = |at: &usize| {
        let bytes = name.as_bytes();
        let ends = |at: usize| bytes.get(at).is_none_or(|byte| b":_".contains(byte));
        name.is_char_boundary(*at) && (*at == 0 || ends(*at) || ends(*at - 1))
    };
    let boundaries: Vec<usize> = (0..=name.len()).filter(boundary).collect();
    let mut parts = Vec::new();
    for (index, &from) in boundaries.iter().enumerate() {
        let spans = boundaries[index..].iter().map(|&to| &name[from..to]);
        parts.extend(spans.filter(|part| (length.div_ceil(2)..=length * 2).contains(&part.len())));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_proposed() {
        let all = ["queue", "quote", "bank", "bank-core"];
        assert_eq!(names("queu", all), ["queue"]);
        assert_eq!(names("Bank_core", all), ["bank-core"]);
        assert_eq!(names("qeuue", all), ["queue"]);
        assert!(names("tokio", all).is_empty());
        assert!(names("", all).is_empty());
    }

    #[test]
    fn parts_of_tests_are_compared() {
        let all = [
            "tests::transfers_are_counted",
            "tests::transfers_keep_the_sum",
            "tests::waits",
            "stress::drains",
        ];
        assert_eq!(super::tests("tranfers", all), [all[0], all[1]]);
        assert_eq!(super::tests("transfers_keep_sum", all)[0], all[1]);
        assert_eq!(super::tests("test::waits", all), [all[2]]);
        assert_eq!(super::tests("STRESS", all), [all[3]]);
        assert_eq!(super::tests("Drains", all), [all[3]]);
        assert!(super::tests("unrelated", all).is_empty());
        // Parts begin and end between characters.
        assert!(super::tests("häuser", ["größe_ä::ö"]).is_empty());
    }

    #[test]
    fn names_are_proposed_in_a_question() {
        assert_eq!(question(&[]), "");
        assert_eq!(question(&["a"]), "; did you mean `a`?");
        assert_eq!(question(&["a", "b", "c"]), "; did you mean `a`, `b` or `c`?");
    }
}
