//! How the threads of the explored program interact: whether they share anything at all, and which of their racing
//! atomic operations have orderings that allow more than was explored.
//!
//! Two events race if they conflict, and the later one's thread had not come after the earlier one before (Abdulla et
//! al. 2017). Reversible or not does not matter here: atomic operations never block.

use super::describe;
use dpor_explorer::keys::{KeyMap, KeySet};
use dpor_explorer::{AccessKind, Event, Location, ThreadId, Trace};
use dpor_protocol::{SharingReport, WeakReport};
use dpor_scheduler::{OperationKind, Program, WeakOrderings, program};

/// The findings in the executions so far.
#[derive(Clone, Default)]
pub(crate) struct Sharing {
    conflict: bool,
    /// Places of racing operations with weak orderings, with a signature of each.
    racing: KeyMap<u64, u64>,
}

dpor_explorer::codec!(struct Sharing { conflict, racing });

/// Maximum number of earlier accesses of a location that are compared with one that they conflict with.
const LOOK_BACK: usize = 64;

impl Sharing {
    /// Adds an execution, of which the part is new that earlier executions do not begin with.
    pub fn look(&mut self, program: &Program, trace: &Trace) {
        self.conflict = self.conflict || conflict(trace.events());
        let weak = program.weak_orderings();
        // In the long run, there is nothing new.
        if self.racing.len() < weak.sites() {
            self.find_races(trace, weak);
        }
    }

    fn find_races(&mut self, trace: &Trace, weak: &WeakOrderings) {
        let mut found = Vec::new();
        let unknown = |event: &&Event| {
            weak.of(event.step().signature)
                .is_some_and(|(site, _)| !self.racing.contains_key(&site))
        };
        for (at, event) in trace.events().iter().enumerate().skip(trace.fresh()) {
            let thread = event.thread();
            let before = trace.predecessor(at);
            for access in event.step().footprint.accesses() {
                if !weak.touched(access.location) {
                    continue;
                }
                let conflicts = trace.conflicts_before(at, access.location, access.kind);
                for (earlier, kind) in conflicts.take(LOOK_BACK) {
                    let known =
                        earlier.thread() == thread || before.is_some_and(|before| before.ordered_after(earlier));
                    if !known {
                        let both = [event, earlier].into_iter();
                        found.extend(both.filter(unknown).map(|event| event.step().signature));
                    }
                    // Everything before a write comes before it.
                    if known && kind == AccessKind::Write {
                        break;
                    }
                }
            }
        }
        for signature in found {
            if let Some((site, _)) = weak.of(signature) {
                self.racing.insert(site, signature);
            }
        }
    }

    /// The final report, in the order of the source.
    pub fn report(&self, program: &Program) -> SharingReport {
        let weak = program.weak_orderings();
        let report = |&signature: &u64| {
            let (_, orderings) = weak.of(signature)?;
            let (kind, place) = program::operation_of(signature);
            Some(WeakReport {
                operation: kind.map_or("", OperationKind::name).to_owned(),
                orderings: orderings.to_string(),
                location: describe::location(place),
            })
        };
        let mut reports: Vec<WeakReport> = self.racing.values().filter_map(report).collect();
        reports.sort_by(|a, b| {
            let key = |report: &WeakReport| {
                let place = report.location.as_ref();
                place.map(|place| (place.file.clone(), place.line, place.column))
            };
            key(a).cmp(&key(b)).then_with(|| a.operation.cmp(&b.operation))
        });
        SharingReport {
            conflict: self.conflict,
            weak: reports,
        }
    }
}

/// Says whether two threads access the same object and one of them changes it.
fn conflict(events: &[Event]) -> bool {
    // What threads announce their ends by.
    let ends = events.iter().filter(|event| awaits_end(event.step().signature));
    let ends: KeySet<Location> = ends
        .filter_map(|event| event.step().footprint.accesses().first())
        .map(|access| access.location)
        .collect();
    let mut seen: KeyMap<Location, Vec<(ThreadId, AccessKind)>> = KeyMap::default();
    for event in events {
        for access in event.step().footprint.accesses() {
            if ends.contains(&access.location) {
                continue;
            }
            let seen = seen.entry(access.location).or_default();
            let own = (event.thread(), event.step().kind_of(access));
            if seen
                .iter()
                .any(|&(thread, kind)| thread != own.0 && kind.conflicts_with(own.1))
            {
                return true;
            }
            if !seen.contains(&own) {
                seen.push(own);
            }
        }
    }
    false
}

/// Says whether an operation only waits for a thread to end.
fn awaits_end(signature: u64) -> bool {
    let (kind, _) = program::operation_of(signature);
    matches!(kind, Some(OperationKind::Join | OperationKind::Detach))
}

#[cfg(test)]
mod tests;
