//! Alternatives: Nguyen et al. (CAV 2018), definition 5 and its computation with combs.
//!
//! An alternative to `D` after `C` is a set `J` of events with which `C` can be extended and that is in conflict with
//! all of `D`: what follows `C ∪ J` is not among what has been explored. A k-partial alternative is in conflict with k
//! of them at least. To find one that is in conflict with all is NP-complete; for each event of `D` the *spike* of the
//! comb lists the events that are in conflict with it, and one of each spike is chosen so that they go together.

use super::events::{EventId, Events};
use crate::bits::BitSet;

/// Number of choices tried between two looks at the clock.
const INTERVAL: u32 = 4096;

pub(super) enum Found {
    /// The events of the alternative that are not in `C`.
    Alternative(BitSet),
    Nothing,
    /// The search took too long.
    GaveUp,
}

/// Finds an alternative to `disabled` after the configuration, of which the last event of `disabled` is the newest: in
/// conflict with the `most` newest of them, or with all.
pub(super) fn find(
    events: &Events,
    configuration: &BitSet,
    disabled: &[EventId],
    most: Option<usize>,
    out_of_time: &mut dyn FnMut() -> bool,
) -> Found {
    let forbidden: BitSet = disabled.iter().map(|event| event.0).collect();
    // What is in conflict with the configuration will not be run.
    let possible = |event: &&EventId| !events[**event].conflicts.intersects(configuration);
    let avoided = disabled.iter().rev().filter(possible).take(most.unwrap_or(usize::MAX));
    let fits = |&event: &EventId| {
        let local = events.local(event);
        #[cfg(feature = "faults")]
        if events.dropped.intersects(&local) {
            return false;
        }
        !local.intersects(&forbidden) && events.compatible(event, configuration)
    };
    let mut comb: Vec<(EventId, Vec<EventId>)> = avoided
        .map(|&event| {
            (
                event,
                events[event].conflicts.iter().map(EventId).filter(fits).collect(),
            )
        })
        .collect();
    // What leaves least choice first; small alternatives first.
    comb.sort_by_key(|(_, spike)| spike.len());
    for (_, spike) in &mut comb {
        spike.sort_by_key(|&event| events[event].history.len());
    }
    let mut search = CombSearch {
        events,
        comb: &comb,
        tried: 0,
        out_of_time,
    };
    match search.choose(0, configuration) {
        Some(Some(mut found)) => {
            for event in configuration.iter() {
                found.remove(event);
            }
            Found::Alternative(found)
        }
        Some(None) => Found::Nothing,
        None => Found::GaveUp,
    }
}

struct CombSearch<'a> {
    events: &'a Events,
    comb: &'a [(EventId, Vec<EventId>)],
    tried: u32,
    out_of_time: &'a mut dyn FnMut() -> bool,
}

impl CombSearch<'_> {
    /// Extends a configuration by one event of each spike from the given one on; returns `None` if that takes too long.
    fn choose(&mut self, from: usize, configuration: &BitSet) -> Option<Option<BitSet>> {
        let events = self.events;
        let open = |(avoided, _): &&(EventId, Vec<EventId>)| !events[*avoided].conflicts.intersects(configuration);
        let Some(at) = (from..self.comb.len()).find(|&at| open(&&self.comb[at])) else {
            return Some(Some(configuration.clone()));
        };
        for &event in &self.comb[at].1 {
            if !events.compatible(event, configuration) {
                continue;
            }
            self.tried += 1;
            if self.tried.is_multiple_of(INTERVAL) && (self.out_of_time)() {
                return None;
            }
            let mut extended = events.local(event);
            extended.extend_from(configuration);
            if let Some(found) = self.choose(at + 1, &extended)? {
                return Some(Some(found));
            }
        }
        Some(None)
    }
}
