//! Finds the races of the current execution and hands them to the strategy.

use super::Explorer;
#[cfg(feature = "faults")]
use super::Fault;
use crate::clock::VectorClock;
use crate::footprint::Footprint;
use crate::guard::Variable;
use crate::strategy::{Lead, Race, RaceReports};
use crate::system::{Pending, System, Values};
use crate::thread::{Status, ThreadId};
use crate::trace::{EventIndex, Races};

/// Counts the race and says whether the fault drops it.
#[cfg(feature = "faults")]
fn drops_race(fault: Option<Fault>, occasions: &mut u64) -> bool {
    *occasions += 1;
    matches!(fault, Some(Fault::DropRace(n)) if occasions.is_multiple_of(n))
}

/// Looks up the values of variables; 0 for one that is not given.
fn look_up(values: &Values) -> impl Fn(Variable) -> i64 + Copy {
    |variable| {
        let mut values = values.iter();
        values.find(|&&(v, _)| v == variable).map_or(0, |&(_, value)| value)
    }
}

impl<S: System> Explorer<S> {
    /// Finds the races of the step that has just run, or of a pending operation.
    pub(super) fn detect(&mut self, thread: ThreadId, pending: Option<&Pending>) -> Races {
        if self.search.races == RaceReports::None {
            return Races::new();
        }
        let (footprint, guards, values) = match pending {
            Some(pending) => (&pending.footprint, pending.guards.as_slice(), &pending.values),
            None => {
                let step = self.trace.uncommitted();
                (&step.footprint, step.guards.as_slice(), &step.values)
            }
        };
        if footprint.accesses().is_empty() {
            return Races::new();
        }
        #[cfg(feature = "faults")]
        let guards = if self.fault == Some(Fault::IgnoreGuards) {
            &[]
        } else {
            guards
        };
        if self.preemptions.is_some() && !guards.is_empty() {
            self.rules
                .may_wait(&mut self.states, &self.trace, thread, footprint, &mut self.statistics);
        }
        let value = look_up(values);
        let defers = self.search.races == RaceReports::Deferred;
        let races = if defers {
            self.trace
                .dependent_pairs(thread, footprint, guards, value, &VectorClock::new())
        } else {
            self.trace.races(thread, footprint, guards, value)
        };
        if defers && pending.is_none() {
            // What it waits for may have come in another way than where the race is reversed.
            if self.search.watches_blocked && !self.search.sleeps && !guards.is_empty() {
                let footprint = footprint.clone();
                self.lead(&races, thread, &footprint);
            }
            self.deferred.push((self.trace.len(), races));
            return Races::new();
        }
        for (event, removed) in &races {
            #[cfg(feature = "faults")]
            if drops_race(self.fault, &mut self.occasions) {
                continue;
            }
            self.statistics.races += 1;
            let race = Race {
                event: *event,
                removed,
                thread,
                footprint,
                at: self.trace.len(),
                new: true,
            };
            self.rules
                .reverse(&mut self.states, &self.trace, race, &mut self.statistics);
        }
        races
    }

    /// Notes the first steps of reversals of races with operations that are blocked after the newest step. When such an
    /// operation runs, or at the end, it may be another operation, and steps in between may seem to have to come first.
    pub(super) fn follow_blocked(&mut self) {
        #[cfg(feature = "faults")]
        if self.fault == Some(Fault::SkipBlocked) {
            return;
        }
        for i in 0..self.system.threads().len() {
            if self.system.threads()[i] != Status::Blocked {
                continue;
            }
            let thread = ThreadId(i as u32);
            let Pending {
                footprint,
                guards,
                values,
            } = self.system.pending(thread);
            let value = look_up(&values);
            // Without what it has done itself, it would not be blocked there.
            let own = self.trace.thread_clock(thread);
            let races = self.trace.dependent_pairs(thread, &footprint, &guards, value, &own);
            self.lead(&races, thread, &footprint);
        }
    }

    /// Notes the first steps of the reversals of an operation's races: with sleep sets only those of this execution,
    /// since nothing that is asleep comes first in it.
    fn lead(&mut self, races: &Races, thread: ThreadId, footprint: &Footprint) {
        let most = if self.search.sleeps { 1 } else { usize::MAX };
        for &(event, ref removed) in races {
            let firsts = self.trace.firsts_of_reversal(event, removed, thread, footprint);
            let firsts = firsts
                .into_iter()
                .map(|first| (self.trace.events()[first].thread(), Some(first)));
            for (thread, first) in firsts.chain([(thread, None)]).take(most) {
                let lead = Lead { event, thread, first };
                if !self.leads.contains(&lead) {
                    self.leads.push(lead);
                }
            }
        }
    }

    /// Hands the strategy the races of the steps that have run since the search went back, in the strategy's order, and
    /// then those of operations that were blocked meanwhile.
    pub(super) fn follow_up(&mut self) {
        self.follow_up_deferred();
        for lead in std::mem::take(&mut self.leads) {
            self.rules
                .lead(&mut self.states[lead.event], &self.trace, lead, &mut self.statistics);
        }
    }

    fn follow_up_deferred(&mut self) {
        let deferred = std::mem::take(&mut self.deferred);
        let Some(&(back, _)) = deferred.first() else {
            return;
        };
        let mut races: Vec<_> = deferred
            .iter()
            .flat_map(|(at, races)| races.iter().map(|(event, removed)| (*at, *event, removed)))
            .collect();
        let since = |at: EventIndex| self.trace.pending_since(self.trace.events()[at].thread(), at);
        races.sort_by_cached_key(|&(at, event, _)| self.rules.rank(event, at, since(at)));
        for (at, event, removed) in races {
            #[cfg(feature = "faults")]
            if drops_race(self.fault, &mut self.occasions) {
                continue;
            }
            self.statistics.races += 1;
            let later = &self.trace.events()[at];
            let race = Race {
                event,
                removed,
                thread: later.thread(),
                footprint: &later.step().footprint,
                at,
                new: self.trace.pending_since(later.thread(), at).0 > back,
            };
            self.rules
                .reverse(&mut self.states, &self.trace, race, &mut self.statistics);
        }
    }

    /// Finds the races of pending operations at the end of an execution: an operation that is blocked there never
    /// becomes an event.
    pub(super) fn detect_pending(&mut self, which: impl Fn(&Status) -> bool) {
        #[cfg(feature = "faults")]
        if self.fault == Some(Fault::SkipBlocked) {
            return;
        }
        if self.search.races == RaceReports::None {
            return;
        }
        for i in 0..self.system.threads().len() {
            if which(&self.system.threads()[i]) {
                let thread = ThreadId(i as u32);
                let pending = self.system.pending(thread);
                if self.context().is_some() {
                    let index = self.trace.steps_before(thread, self.trace.len()) + 1;
                    let after = self.trace.waited(thread);
                    self.learned
                        .add(thread, index, &pending.footprint, &pending.guards, after);
                }
                self.detect(thread, Some(&pending));
            }
        }
    }
}
