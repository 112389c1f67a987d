//! What is said of weak orderings: that what they allow was not explored, and where they are.

use crate::report::source::short;
use dpor_protocol::WeakReport;

/// A line, with the first of the places.
pub fn sequential(weak: &[WeakReport], shown: usize) -> String {
    let place = |weak: &WeakReport| {
        let place = weak.location.as_ref().map_or_else(|| "an unknown place".into(), short);
        format!("{place} ({} {})", weak.operation, weak.orderings)
    };
    let mut places: Vec<String> = weak.iter().take(shown).map(place).collect();
    if weak.len() > shown {
        places.push(format!("and {} more", weak.len() - shown));
    }
    format!(
        "only sequentially consistent behaviours were explored, and racing atomics allow others: {}",
        places.join(", ")
    )
}
