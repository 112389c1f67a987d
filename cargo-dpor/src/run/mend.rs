//! Looks for stronger orderings with which a failing test is complete.
//!
//! All weak orderings in the failing execution are made `SeqCst`, and the test is explored again. If it fails still, in
//! an execution with others, these are added. Then each is put back, one after the other, and stays so if the test is
//! complete without it; and each of those that are left gets the weakest ordering with which the test is complete. So
//! none of the orderings that are found can be left out, or be weaker, unless time was short; there may be other ones,
//! and fewer.

use crate::build::Test;
use crate::child::{self, Order};
use crate::error::Error;
use crate::interrupt;
use crate::outcome::{Mend, Mends, Outcome};
use dpor_protocol::{
    AtomicOperation, FailureKind, LeastOrderings, MemoryOrdering, Mode, StrongerOrdering, Verdict, WeakPlace,
};
use std::time::{Duration, Instant};

/// Maximum number of places to tell if there could be fewer.
const MOST: usize = 6;

/// The orderings, if they are found within this time; `None` if the failure is not about orderings. `run` is a run of
/// the failing schedule.
///
/// # Errors
/// If a test process cannot be started or followed.
pub fn look(
    test: &Test,
    order: &Order,
    time: Duration,
    outcome: &Outcome,
    run: &Outcome,
) -> Result<Option<Mends>, Error> {
    let kind = outcome.failure.as_ref().and_then(|failure| failure.known_kind());
    let by_orderings = kind == Some(FailureKind::DataRace) || outcome.is_under_weak_memory();
    if !by_orderings || time.is_zero() || order.shard.is_some() || !outcome.fails_again() {
        return Ok(None);
    }
    let search = Search {
        test,
        order,
        until: Instant::now() + time,
        all_needed: true,
    };
    search.mends(&run.account.weak_places)
}

struct Search<'a> {
    test: &'a Test,
    order: &'a Order,
    until: Instant,
    /// Whether the test is known to fail if any of the orderings is left out, or weaker.
    all_needed: bool,
}

/// A place, and the orderings that it gets.
type Chosen = (WeakPlace, LeastOrderings);

impl Search<'_> {
    fn mends(mut self, weak: &[WeakPlace]) -> Result<Option<Mends>, Error> {
        let Some(mut chosen) = self.enough(weak)? else {
            return Ok(None);
        };
        for at in (0..chosen.len()).rev() {
            let mut others = chosen.clone();
            others.remove(at);
            if self.is_complete(&others)? {
                chosen = others;
            }
        }
        for at in 0..chosen.len() {
            for least in stronger(&chosen[at].0) {
                let mut weaker = chosen.clone();
                weaker[at].1 = least;
                if self.is_complete(&weaker)? {
                    chosen = weaker;
                    break;
                }
            }
        }
        let all_needed = self.all_needed;
        let mends = chosen.into_iter().map(|(place, least)| Mend {
            mended: place.with(least),
            place,
        });
        let mends = Mends {
            all: mends.collect(),
            all_needed,
        };
        Ok(Some(mends).filter(|mends| all_needed || mends.all.len() <= MOST))
    }

    /// Places that are enough if they have the strongest orderings.
    fn enough(&mut self, weak: &[WeakPlace]) -> Result<Option<Vec<Chosen>>, Error> {
        let mut chosen: Vec<Chosen> = strongest(weak).collect();
        let mut number = 0;
        // As long as there are more.
        while chosen.len() > number {
            number = chosen.len();
            let explored = self.run(Mode::Explore, &chosen, self.left())?;
            match (explored.verdict, explored.seed) {
                (Verdict::Complete, _) => return Ok(Some(chosen)),
                (Verdict::Failed, Some(seed)) => {
                    let failing = self.run(Mode::Replay { seed }, &chosen, self.left())?;
                    // Those that have become strong are not among them.
                    chosen.extend(strongest(&failing.account.weak_places));
                }
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// Whether the test is known to be complete with these orderings. One that is not found to fail in a part of the
    /// time that is left is given up.
    fn is_complete(&mut self, chosen: &[Chosen]) -> Result<bool, Error> {
        let verdict = self.run(Mode::Explore, chosen, self.left() / 4)?.verdict;
        self.all_needed &= verdict != Verdict::Incomplete;
        Ok(verdict == Verdict::Complete)
    }

    fn run(&self, mode: Mode, chosen: &[Chosen], time: Duration) -> Result<Outcome, Error> {
        if time.is_zero() || interrupt::received().is_some() {
            return Ok(Outcome::of(Verdict::Incomplete));
        }
        let stronger = chosen.iter().map(|(place, least)| StrongerOrdering {
            location: place.location.clone(),
            operation: place.operation,
            least: *least,
        });
        let order = Order {
            stronger: stronger.collect(),
            ..self.order.beside(mode, time)
        };
        child::run(self.test, &order, &mut |_| {})
    }
}

/// The places with the strongest orderings.
fn strongest(places: &[WeakPlace]) -> impl Iterator<Item = Chosen> {
    let least = LeastOrderings {
        success: MemoryOrdering::SeqCst,
        failure: MemoryOrdering::SeqCst,
    };
    places.iter().cloned().map(move |place| (place, least))
}

/// The orderings that make the operation stronger, from the weakest ones on, but for the [strongest] ones.
fn stronger(place: &WeakPlace) -> Vec<LeastOrderings> {
    use MemoryOrdering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
    let all: &[_] = match place.operation {
        AtomicOperation::Load => &[(Acquire, Relaxed)],
        AtomicOperation::Store => &[(Release, Relaxed)],
        AtomicOperation::ReadModifyWrite => &[(Acquire, Relaxed), (Release, Relaxed), (AcqRel, Relaxed)],
        AtomicOperation::CompareExchange => &[
            (Acquire, Relaxed),
            (Release, Relaxed),
            (Relaxed, Acquire),
            (AcqRel, Relaxed),
            (Acquire, Acquire),
            (Release, Acquire),
            (AcqRel, Acquire),
            (SeqCst, Relaxed),
            (SeqCst, Acquire),
        ],
        AtomicOperation::Fence => &[(AcqRel, Relaxed)],
    };
    let mut met = vec![place.clone()];
    let mut is_new = |least: &LeastOrderings| {
        let gets = place.with(*least);
        let is_new = !met.contains(&gets);
        met.push(gets);
        is_new
    };
    let all = all
        .iter()
        .map(|&(success, failure)| LeastOrderings { success, failure });
    all.filter(|least| is_new(least)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use MemoryOrdering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
    use dpor_protocol::SourceLocation;

    #[test]
    fn only_stronger_orderings_are_tried() {
        let tried = |operation, success, failure| {
            let location = SourceLocation {
                file: "src/lib.rs".into(),
                line: 1,
                column: 1,
            };
            let place = WeakPlace {
                location,
                operation,
                success,
                failure,
            };
            let tried = stronger(&place).into_iter();
            tried.map(|least| place.with(least).orderings()).collect::<Vec<_>>()
        };
        assert_eq!(tried(AtomicOperation::Load, Relaxed, None), ["Acquire"]);
        assert!(tried(AtomicOperation::Load, Acquire, None).is_empty());
        assert_eq!(tried(AtomicOperation::Store, Relaxed, None), ["Release"]);
        let modify = AtomicOperation::ReadModifyWrite;
        assert_eq!(tried(modify, Relaxed, None), ["Acquire", "Release", "AcqRel"]);
        assert_eq!(tried(modify, Release, None), ["AcqRel"]);
        assert_eq!(tried(AtomicOperation::Fence, Acquire, None), ["AcqRel"]);
        assert!(tried(AtomicOperation::Fence, AcqRel, None).is_empty());
        let exchange = AtomicOperation::CompareExchange;
        assert_eq!(tried(exchange, AcqRel, Some(Acquire)), ["SeqCst, Acquire"]);
        assert_eq!(tried(exchange, SeqCst, Some(Relaxed)), ["SeqCst, Acquire"]);
        assert_eq!(
            tried(exchange, Release, Some(Relaxed)),
            [
                "AcqRel, Relaxed",
                "Release, Acquire",
                "AcqRel, Acquire",
                "SeqCst, Relaxed",
                "SeqCst, Acquire"
            ]
        );
    }
}
