//! Sleeping sequences: sequences of transitions that need not be explored from a state (lines 14 and 16 of Algorithm
//! 1).

use crate::search::node::Sleeping;
use crate::system::{Fingerprint, Footprint, Transition};
use smallvec::SmallVec;
use std::rc::Rc;

/// A sequence of transitions that need not be explored from a state, because it leads to a state that has been
/// explored.
#[derive(Clone, Debug)]
pub(super) struct Sequence {
    pub steps: Rc<[Sleeping]>,
    /// The indices of the steps that have not been taken.
    pub left: SmallVec<[u32; 8]>,
    /// The state that the sequence must lead to in order to be blocked; `None` if that has been checked, and the steps'
    /// footprints in this order are those stored here.
    pub target: Option<Fingerprint>,
}

crate::codec!(struct Sequence { steps, left, target });

/// What a step does to a sequence.
pub(super) enum After {
    /// The sequence wakes.
    Awake,
    /// The sequence sleeps on: the step is independent of all of it.
    Asleep,
    /// The step is the sequence's next one, and this is the rest.
    Rest(Sequence),
}

impl Sequence {
    /// Number of steps that are left.
    pub fn len(&self) -> usize {
        self.left.len()
    }

    /// Its next transition.
    pub fn first(&self) -> Transition {
        self.steps[self.left[0] as usize].transition
    }

    /// The steps that have not been taken.
    pub fn remaining(&self) -> impl ExactSizeIterator<Item = &Sleeping> {
        self.left.iter().map(|&i| &self.steps[i as usize])
    }

    fn without(&self, at: usize) -> Sequence {
        let mut rest = self.clone();
        rest.left.remove(at);
        rest
    }

    /// What a step that runs does to it.
    pub fn after(&self, transition: Transition, footprint: &Footprint) -> After {
        if self.target.is_some() {
            // Its footprints are those of the other order, and say nothing of what is independent of it in this one.
            return match self.first() == transition {
                true => After::Rest(self.without(0)),
                false => After::Awake,
            };
        }
        let place = self
            .remaining()
            .position(|step| step.transition.thread == transition.thread);
        let before = place.unwrap_or(self.len());
        let independent = self
            .remaining()
            .take(before)
            .all(|step| !step.footprint.conflicts_with(footprint));
        match place {
            _ if !independent => After::Awake,
            None => After::Asleep,
            // A step that is independent of all before it in the sequence can as well come first.
            Some(place) => match self.steps[self.left[place] as usize].transition == transition {
                true => After::Rest(self.without(place)),
                false => After::Awake,
            },
        }
    }
}
