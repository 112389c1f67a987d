//! What `cargo dpor diff-states` shows: two orders of the same steps that lead to different states, and the
//! differences; or what keeps all states of a test apart.

use super::describe::{self, Objects};
use super::journal::{Explored, Journaled};
use dpor_explorer::{End, Observer, Statistics, Step, System, Trace, Transition};
use dpor_protocol::{DifferenceReport, PairReport, PartReport, PlaceReport, StepReport, SurveyReport};
use dpor_scheduler::{Apart, Difference, PlaceApart, StateImage, Survey};
use std::ops::ControlFlow;

/// Counts the pairs of orders that an eager check finds to lead to different states, and keeps the requested one.
pub(crate) struct Pairs {
    wanted: u64,
    met: u64,
    found: Option<(Vec<Transition>, Vec<Transition>)>,
}

impl Pairs {
    /// Breaks off the exploration at the pair with this number, counted from 1.
    pub fn up_to(wanted: u64) -> Pairs {
        Pairs {
            wanted,
            met: 0,
            found: None,
        }
    }

    /// The schedules of the pair, if there are that many.
    pub fn last_found(&self) -> Option<(&[Transition], &[Transition])> {
        let (first, second) = self.found.as_ref()?;
        Some((first, second))
    }
}

impl Observer<Explored> for Pairs {
    fn execution(&mut self, _: &mut Explored, _: &End, _: &Trace, _: &Statistics) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn compared(&mut self, first: &[Transition], second: &[Transition], equal: bool) -> ControlFlow<()> {
        self.met += u64::from(!equal);
        if self.met < self.wanted {
            return ControlFlow::Continue(());
        }
        self.found = Some((first.to_vec(), second.to_vec()));
        ControlFlow::Break(())
    }

    fn refined(&mut self) {
        self.met = 0;
    }
}

/// Runs both schedules once more, and compares their last states.
pub(crate) fn report(
    system: &mut Journaled,
    first: &[Transition],
    second: &[Transition],
) -> Result<PairReport, String> {
    let common = first.iter().zip(second).take_while(|(a, b)| a == b).count();
    // One table of names for both, so that an object has one name.
    let mut objects = Objects::default();
    system.program.trace();
    let (mut first, state) = run(system, first, &mut objects)?;
    let (mut second, other) = run(system, second, &mut objects)?;
    Ok(PairReport {
        common: common as u64,
        first: first.split_off(common),
        second: second.split_off(common),
        differences: state.diff(&other).into_iter().map(difference).collect(),
    })
}

fn run(
    system: &mut Journaled,
    schedule: &[Transition],
    objects: &mut Objects,
) -> Result<(Vec<StepReport>, StateImage), String> {
    system.restart();
    let mut step = Step::default();
    let mut reports = Vec::with_capacity(schedule.len());
    let mut previous = None;
    for (index, &transition) in (0u64..).zip(schedule) {
        step.clear();
        let switched = previous.replace(transition.thread) != Some(transition.thread);
        system.step(transition, &mut step).map_err(|stop| {
            format!(
                "the schedule, run once more, did not lead there again: {stop:?} at step {}",
                index + 1
            )
        })?;
        reports.extend(describe::step(&system.program, objects, index, switched));
    }
    Ok((reports, system.program.capture()))
}

fn difference(difference: Difference) -> DifferenceReport {
    DifferenceReport {
        owner: difference.owner,
        address: difference.address.map(|address| address as u64),
        offset: difference.offset,
        length: difference.len as u64,
        first: difference.first,
        second: difference.second,
        hint: difference.hint.map(str::to_owned),
    }
}

/// What keeps states apart, as it is reported.
pub(crate) fn survey(survey: Survey) -> SurveyReport {
    let part = |part: Apart| PartReport {
        name: part.name.to_owned(),
        without: part.without,
        without_all: part.without_all,
    };
    let place = |place: PlaceApart| PlaceReport {
        pairs: place.pairs,
        only: place.only,
        example: difference(place.example),
    };
    SurveyReport {
        states: survey.states,
        parts: survey.parts.into_iter().map(part).collect(),
        compared: survey.compared,
        alone: survey.alone,
        places: survey.places.into_iter().map(place).collect(),
    }
}

#[cfg(test)]
mod tests;
