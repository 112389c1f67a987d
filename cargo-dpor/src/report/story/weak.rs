//! The note on weak orderings: what they allow was not explored; and their places.

use crate::report::story::source::short;
use dpor_protocol::WeakReport;

/// A line with the first places. Each is named once, with all weak operations there.
pub fn sequential(weak: &[WeakReport], shown: usize) -> String {
    let mut places: Vec<(String, Vec<String>)> = Vec::new();
    for report in weak {
        let place = report.location.as_ref();
        let place = place.map_or_else(|| "an unknown place".into(), short);
        let what = format!("{} {}", report.operation, report.orderings);
        match places.iter_mut().find(|(known, _)| *known == place) {
            Some((_, all)) if all.contains(&what) => {}
            Some((_, all)) => all.push(what),
            None => places.push((place, vec![what])),
        }
    }
    let more = places.len().saturating_sub(shown);
    let named = places.iter().take(shown);
    let mut parts: Vec<String> = named
        .map(|(place, all)| format!("{place} ({})", all.join("; ")))
        .collect();
    if more > 0 {
        parts.push(format!("and {more} more"));
    }
    format!(
        "only sequentially consistent behaviours were explored, and racing atomics allow others: {}",
        parts.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use dpor_protocol::SourceLocation;

    #[test]
    fn a_place_is_named_once() {
        let report = |operation: &str, line, column| WeakReport {
            operation: operation.into(),
            orderings: "Relaxed".into(),
            location: Some(SourceLocation {
                file: "src/lib.rs".into(),
                line,
                column,
            }),
        };
        let all = [
            report("load", 3, 5),
            report("load", 3, 5),
            report("load", 3, 20),
            report("store", 3, 40),
            report("swap", 7, 1),
            report("load", 9, 1),
            report("load", 9, 7),
        ];
        let line = sequential(&all, 2);
        let places = line.split_once("others: ").unwrap().1;
        assert_eq!(
            places,
            "src/lib.rs:3 (load Relaxed; store Relaxed), src/lib.rs:7 (swap Relaxed), and 1 more"
        );
        assert!(sequential(&all, 3).ends_with("src/lib.rs:9 (load Relaxed)"));
    }
}
