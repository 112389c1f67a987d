//! What hashing memory has told the spin detector, for reuse when the same steps run again.
//!
//! To go back to a state, the explorer runs the steps that lead there once more. What memory holds after them is the
//! same each time, so that the answers to what the detector asks are the same as well. Most steps are such, and hashing
//! all of memory takes much longer than a step.

use super::spin::{Around, Arrival};
use dpor_explorer::{SplitMix64, ThreadId, Transition};
use smallvec::SmallVec;

/// A step, and what the detector asked about it.
#[derive(Debug)]
struct Recorded {
    transition: Transition,
    /// The digest of the transitions up to this one.
    digest: u128,
    around: Option<Around>,
    /// The arrivals of threads in the step: the one that moved, and those that it created.
    arrivals: SmallVec<[(ThreadId, Arrival); 1]>,
}

/// The digest of transitions, given the digest `before` of all but the last.
fn following(before: u128, transition: Transition) -> u128 {
    let step = u64::from(transition.thread.0) << 32 | u64::from(transition.alternative);
    let [low, high] = [before as u64, (before >> 64) as u64];
    let mix = |half: u64, salt: u64| u128::from(SplitMix64::mix(half.wrapping_mul(salt).wrapping_add(step) ^ salt));
    mix(low, SplitMix64::GAMMA) | mix(high, 0xD1B5_4A32_D192_ED03) << 64
}

/// The steps of an execution, followed by those with which an earlier execution went on from there.
///
/// What is on record of a step holds as long as the steps before it are the same, and end in the same places of the
/// program.
#[derive(Default, Debug)]
pub(crate) struct Recall {
    steps: Vec<Recorded>,
    /// Whether somebody has asked.
    wanted: bool,
    /// Whether all steps of this execution are recorded.
    on: bool,
    /// The index of the step being run, if it is recorded.
    current: Option<usize>,
    contradicted: bool,
}

impl Recall {
    /// Begins a new execution. If it is not `allowed`, nothing is recalled.
    pub fn restart(&mut self, allowed: bool) {
        self.on = self.wanted && allowed;
        self.current = None;
        self.contradicted = false;
    }

    /// The argument for [`Recall::go_on`] when the execution resumes from here, after `length` steps. `None` if its
    /// steps are not recorded.
    pub fn mark(&self, length: usize) -> Option<u128> {
        match length.checked_sub(1) {
            _ if !self.on => None,
            None => Some(0),
            Some(last) => Some(self.steps.get(last)?.digest),
        }
    }

    /// Whether resuming from a mark would lack something that an execution from the start would have.
    pub fn falls_short(&self, mark: Option<u128>) -> bool {
        self.wanted && mark.is_none()
    }

    /// Resumes an execution from where the mark was made, after `length` steps. Steps are recorded if the earlier ones
    /// are still on record.
    pub fn go_on(&mut self, length: usize, mark: Option<u128>) {
        self.on = true;
        self.on = mark.is_some() && mark == self.mark(length);
        self.current = None;
        self.contradicted = false;
    }

    /// Forgets everything: steps end elsewhere, or begin with other stacks.
    pub fn forget(&mut self) {
        self.steps.clear();
        self.on = false;
        self.current = None;
    }

    /// Begins the step with this number.
    pub fn begin(&mut self, number: usize, transition: Transition) {
        self.current = None;
        if !self.on {
            return;
        }
        let known = self.steps.get(number).map(|recorded| recorded.transition);
        if known != Some(transition) {
            self.steps.truncate(number);
            let before = self.steps.last().map_or(0, |step| step.digest);
            self.steps.push(Recorded {
                transition,
                digest: following(before, transition),
                around: None,
                arrivals: SmallVec::new(),
            });
        }
        self.current = Some(number);
    }

    fn current(&mut self) -> Option<&mut Recorded> {
        self.steps.get_mut(self.current?)
    }

    /// What the step has changed, if known.
    pub fn around(&mut self) -> Option<Around> {
        self.current()?.around
    }

    /// Records what the step has changed.
    pub fn note_around(&mut self, around: Around) {
        let Some(step) = self.current() else { return };
        let known = *step.around.get_or_insert(around);
        self.contradicted |= known != around;
    }

    /// Where the thread has arrived in the step, if known.
    pub fn arrival(&mut self, thread: ThreadId) -> Option<Arrival> {
        let arrivals = &self.current()?.arrivals;
        let found = arrivals.iter().find(|&&(arrived, _)| arrived == thread);
        found.map(|&(_, arrival)| arrival)
    }

    /// Records where the thread has arrived.
    pub fn note_arrival(&mut self, thread: ThreadId, arrival: Arrival) {
        self.wanted = true;
        let known = self.arrival(thread);
        self.contradicted |= known.is_some_and(|known| known != arrival);
        if let (Some(step), None) = (self.current(), known) {
            step.arrivals.push((thread, arrival));
        }
    }

    /// Whether this execution has recorded something else than known, so that recalling would have been wrong.
    pub fn is_contradicted(&self) -> bool {
        self.contradicted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::spin::Surroundings;

    const MAIN: Transition = Transition {
        thread: ThreadId(0),
        alternative: 0,
    };
    const OTHER: Transition = Transition {
        thread: ThreadId(1),
        alternative: 0,
    };

    fn arrival(own: u128) -> Arrival {
        Arrival {
            own,
            ..Arrival::default()
        }
    }

    /// Runs the steps, each of which records the given value if nothing is known of it; returns what was known.
    fn run(recall: &mut Recall, transitions: &[Transition], noted: u128) -> Vec<Option<u128>> {
        recall.restart(true);
        let step = |(number, &transition): (usize, &Transition)| {
            recall.begin(number, transition);
            let known = recall.arrival(transition.thread).map(|arrival| arrival.own);
            if known.is_none() {
                recall.note_arrival(transition.thread, arrival(noted + number as u128));
            }
            known
        };
        transitions.iter().enumerate().map(step).collect()
    }

    #[test]
    fn what_holds_is_recalled() {
        let mut recall = Recall::default();
        // From the first question on, but only in executions that are recorded as a whole.
        assert_eq!(run(&mut recall, &[MAIN, MAIN], 10), [None, None]);
        assert_eq!(run(&mut recall, &[MAIN, MAIN, OTHER], 20), [None, None, None]);
        assert_eq!(run(&mut recall, &[MAIN, MAIN], 30), [Some(20), Some(21)]);
        // What came behind is still there, until a step is another one.
        assert_eq!(
            run(&mut recall, &[MAIN, MAIN, OTHER], 40),
            [Some(20), Some(21), Some(22)]
        );
        assert_eq!(run(&mut recall, &[MAIN, OTHER, OTHER], 50), [Some(20), None, None]);
        assert_eq!(run(&mut recall, &[MAIN, MAIN, OTHER], 60), [Some(20), None, None]);
        // Of a child that was created in the step nothing was noted.
        recall.restart(true);
        recall.begin(0, MAIN);
        assert!(recall.arrival(ThreadId(1)).is_none() && recall.around().is_none());
        recall.forget();
        assert_eq!(recall.arrival(ThreadId(0)).map(|arrival| arrival.own), None);
        assert_eq!(run(&mut recall, &[MAIN], 70), [None]);
    }

    #[test]
    fn contradictions_are_noticed() {
        let mut recall = Recall::default();
        recall.note_arrival(ThreadId(0), arrival(0));
        for (own, stirred, contradicted) in [(1, true, false), (1, true, false), (2, true, true), (1, false, true)] {
            recall.restart(true);
            recall.begin(0, MAIN);
            assert!(!recall.is_contradicted());
            let after = Surroundings::default();
            recall.note_around(Around {
                meddled: false,
                stirred,
                after,
            });
            recall.note_arrival(ThreadId(0), arrival(own));
            assert_eq!(recall.is_contradicted(), contradicted, "{own} {stirred}");
        }
    }

    #[test]
    fn an_execution_is_recorded_from_its_start_or_not_at_all() {
        let mut recall = Recall::default();
        run(&mut recall, &[MAIN], 0);
        recall.restart(true);
        recall.begin(0, MAIN);
        recall.forget();
        recall.begin(1, MAIN);
        recall.note_arrival(ThreadId(0), arrival(1));
        assert_eq!(recall.arrival(ThreadId(0)).map(|arrival| arrival.own), None);
    }
}
