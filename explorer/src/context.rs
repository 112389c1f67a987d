//! What context-sensitive strategies add to the search (Albert et al., CAV 2017).
//!
//! Two steps that conflict may commute in the state in which they meet: then the state after them is the same in both
//! orders, and what follows need be explored once. Depending on [`Check`], that is found out by running the reversal of
//! a race at once (Algorithm 1, lines 11 to 16), by storing the state with the reversal (§6.2), or by storing the
//! states of all nodes of the search. In each case the search is cut at a state `s` that was explored completely
//! elsewhere.
//!
//! # Races of what is cut off
//!
//! Theorem 1 of the paper compares the cut tree with the tree that Source-DPOR would explore. But that tree's backtrack
//! sets come from races, also from those between the steps before a cut and those after it, and these are not seen if
//! the cut is made: in another order of the same steps, what happens after `s` can race with an earlier step with which
//! it does not race where it was explored, because there it was ordered after it by steps between. With
//! `A: y = 1; x = 5` and `P: x = 5; r = y` and both orders of the `x = 5` found equal, `r = y` is ordered after `y = 1`
//! where it is explored, and in the other order it would be in a race with it whose reversal ends with `r == 0`; an
//! anticipating cut loses that. Without any optimisation a program can lose one if it lets the first of two commuting
//! steps wake a third thread; and a search that stores states loses the deadlock of the dining philosophers
//! (tests/regressions.rs of the testsuite has all of them).
//!
//! So at each cut we look for all races that steps after it *could* have with steps before it, as stateful searches
//! must (Yang, Chen, Gopalakrishnan and Kirby 2008). What can come after the cut is known: from equal states the same
//! steps are possible, with the same footprints, and all that is possible from `s` has been run, or has been pending at
//! the end of an execution, in an order equivalent to one of `s`, or from a state that is equal in turn. `Learned`
//! keeps for each thread which location its steps were seen to access and which step was the last.
//!
//! Let `f` be a step of thread `t` in the future of the cut, and `g` one before it, from node `N`, that conflicts with
//! `f` and need not come before it. Source sets ask for an initial of the reversal `notdep(g, F.w).f`. Steps of
//! `notdep(g, F)` that have run before the cut are part of that whatever `w` is, so the first of them will do. If there
//! are none, the initial depends on what runs between, so all are added that can be one: `t`, the threads that can have
//! a step from `N` on that is independent of `g` (else it is no part of `notdep`) and conflicts with a later one of
//! these, and those that create them (`Learned::may_happen_before`). Less will not do: with `t` alone, if it can move
//! at `N` (the rule for persistent sets), two senders and two receivers of one channel lose an outcome.
//!
//! Why that is enough: let `w` be an execution from `N` none of whose weak initials is explored from `N` or asleep
//! there. The proof for Source-DPOR (Abdulla et al. 2017) takes a thread `p` that is explored from `N` and the first
//! step `f` of `w` that conflicts with `p`'s, and shows that the exploration of `N.p` comes to the race of the two, so
//! that an initial of what precedes `f` in `w` is added: against the choice of `w`. If a cut is in the way, it is made
//! where the steps after `p` are some of those of `w` up to `f`, and others that are independent of those; so nothing
//! orders `p` before `t`'s next step there, `f` is in the future of the cut, and the same initial is among those that
//! are added. That is an argument and no full proof; the oracle of the testsuite checks it on generated programs.
//!
//! What is *not* possible is left out: a step that waits for something cannot come before it ([`Awaits`],
//! `Trace::waited`), and one that waits for a lock cannot come inside a critical section (`Wait`).
//!
//! # Ends from which the program goes on
//!
//! An execution can end where threads are held back that repeat themselves, and the program would go on if they did
//! ([`Outlook::GoesOn`]). That state is stored like any other, although nothing that follows it was run from there, and
//! others that reach it are cut. Who is held back, and by what, is part of the state, and how many steps each thread
//! has made is part of what it is stored under. So every execution that reaches it has made an idle round of that kind,
//! and was in the state before the round, where the thread was not held back. What follows is reached from there,
//! because of the races that the operations that are pending at the end have with steps of the round. These operations
//! are learnt (`Explorer::detect_pending`), so that a cut at the stored state finds the same races as the end itself.
//! More rounds of the thread would be copies of the one that it has made, and what races with a copy races with that.
//! The thread's later steps may be learnt with smaller numbers, as it has made them with a round less; but they are
//! looked for where they are made. This is an argument, too; generated programs with such loops are compared with brute
//! force in the testsuite.
//!
//! [`Awaits`]: crate::footprint::Awaits
//! [`Outlook::GoesOn`]: crate::system::Outlook::GoesOn

use crate::clock::VectorClock;
#[cfg(feature = "faults")]
use crate::driver::Fault;
use crate::driver::{End, Explorer, Next, Observer, Sleeping, Verdict};
use crate::footprint::{AccessKind, Footprint};
use crate::learned::Wait;
use crate::strategy::Check;
use crate::system::{Failure, Fingerprint, Step, Stop, System, Transition};
use crate::thread::{Status, ThreadId};
use crate::trace::{EventIndex, Removed};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::ops::ControlFlow;
use std::rc::Rc;

/// A sequence of transitions that need not be explored from a state, because it leads to a state that has been
/// explored.
#[derive(Clone, Debug)]
pub(crate) struct Sequence {
    steps: Rc<[Sleeping]>,
    /// The indices of the steps that have not been taken.
    left: SmallVec<[u32; 8]>,
    /// The state that the sequence must lead to in order to be blocked; `None` if that has been checked, and the steps'
    /// footprints in this order are those stored here.
    target: Option<Fingerprint>,
}

crate::codec!(struct Sequence { steps, left, target });

/// Maximum number of stored states, of 32 bytes each. States beyond it are explored again.
const MOST_STORED: usize = 1 << 25;

/// For how long no two states have been equal.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Rarity {
    different: u64,
}

crate::codec!(struct Rarity { different });

impl Rarity {
    /// Number of states without an equal one after which only half of them are looked at; after twice as many, a
    /// quarter.
    const PATIENCE: u64 = 256;
    /// At least one state in 2 to this power is looked at.
    const MOST: u32 = 6;

    fn add(&mut self, equal: bool) {
        self.different = if equal { 0 } else { self.different + 1 };
    }

    /// Number of trailing zero bits that the progress of a state must have for the state to be looked at.
    fn trailing_zeros_looked_at(self) -> u32 {
        let doublings = (self.different / Self::PATIENCE)
            .checked_ilog2()
            .map_or(0, |log| log + 1);
        doublings.min(Self::MOST)
    }
}

/// A race that a step after the present state may have with a step before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct UnseenRace {
    /// The earlier step, and so the node from which the other order starts.
    event: EventIndex,
    /// The thread of the later step.
    later: ThreadId,
    /// Whether the later step can come before the event as far as it depends on the event and its successors; nothing
    /// else has to be left out.
    possible_at_once: bool,
}

/// What a step does to a sequence.
enum After {
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

    fn remaining(&self) -> impl ExactSizeIterator<Item = &Sleeping> {
        self.left.iter().map(|&i| &self.steps[i as usize])
    }

    fn without(&self, at: usize) -> Sequence {
        let mut rest = self.clone();
        rest.left.remove(at);
        rest
    }

    /// Lines 14 and 16 of Algorithm 1.
    fn after(&self, transition: Transition, footprint: &Footprint) -> After {
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

impl<S: System> Explorer<S> {
    /// Says whether the execution can stop because the state on top of the stack is stored as explored; otherwise notes
    /// the key to store it under.
    ///
    /// Where no two states have been equal for long, only some are looked at, to save the fingerprints: which ones, how
    /// many steps each thread has made decides, and that is the same for equal states. Two executions whose states have
    /// become equal stay so, step by step, and meet at the next one.
    pub(crate) fn is_explored(&mut self) -> bool {
        if !self.context().is_some_and(|context| context.check == Check::Stored) {
            return false;
        }
        let progress = self.trace.progress();
        if progress.trailing_zeros() < self.rarity.trailing_zeros_looked_at() {
            return false;
        }
        let Some(fingerprint) = self.system.fingerprint() else {
            return false;
        };
        // With how many steps each thread has made, so that what was learnt by numbers of steps holds for both of two
        // equal states.
        let key = fingerprint.0.rotate_left(64) ^ progress;
        let explored = self.stored.contains(&key);
        self.statistics.compared += 1;
        self.statistics.equal += u64::from(explored);
        let state = &mut self.states[self.depth];
        (state.fingerprint, state.key) = (Some(fingerprint), (!explored).then_some(key));
        // Two executions that differ can end alike, because what they differed in is forgotten in the end: both are
        // complete. That they end alike because steps commute shows in a race of the last step.
        let redundant = explored && (self.raced || !state.enabled.is_empty());
        self.rarity.add(redundant);
        redundant
    }

    /// Stores the state of a node that is explored completely, or of an end from which the program goes on (see above).
    pub(crate) fn store(&mut self, node: usize) {
        if let Some(key) = self.states[node].key
            && self.stored.len() < MOST_STORED
        {
            self.stored.insert(key);
            if let Some(unsaved) = &mut self.unsaved {
                unsaved.keys.push(key);
            }
        }
    }

    /// Inherits the sequences that slept in the previous state. Says whether one that was stored with its state leads
    /// to the new state.
    pub(crate) fn inherit_sequences(&mut self) -> bool {
        let (below, above) = self.states.split_at_mut(self.depth);
        let (Some(parent), Some(event)) = (below.last(), self.trace.events().last()) else {
            return false;
        };
        let state = &mut above[0];
        let mut led = SmallVec::<[Fingerprint; 2]>::new();
        for sequence in &parent.sequences {
            let after = sequence.after(event.transition(), &event.step().footprint);
            #[cfg(feature = "faults")]
            let after = match after {
                After::Awake if self.fault == Some(Fault::LooseSequences) && sequence.target.is_none() => After::Asleep,
                after => after,
            };
            match after {
                After::Awake => {}
                After::Asleep => state.sequences.push(sequence.clone()),
                After::Rest(rest) => match (rest.len(), rest.target) {
                    (0, Some(target)) => led.push(target),
                    (1, None) => {
                        let last = rest.remaining().next().expect("one step is left");
                        if !state.is_asleep(last.transition) {
                            state.sleep.push(last.clone());
                        }
                    }
                    _ => state.sequences.push(rest),
                },
            }
        }
        if led.is_empty() {
            return false;
        }
        let here = self.system.fingerprint();
        self.statistics.compared += 1;
        let equal = here.is_some_and(|here| led.contains(&here));
        self.statistics.equal += u64::from(equal);
        equal
    }

    /// Reverses the unseen races of what the context cuts off from the state that has just been opened. Ends the
    /// execution if that is everything.
    pub(crate) fn cut_by_context(&mut self) -> Option<End> {
        let context = self.context()?;
        let state = &mut self.states[self.depth];
        let new = state.inherited..state.sleep.len();
        state.inherited = state.sleep.len();
        for i in new {
            let last = self.states[self.depth].sleep[i].clone();
            self.reverse_unseen_races(Some(&last));
        }
        if context.anticipate && self.nothing_wakes() {
            self.reverse_unseen_races(None);
            return Some(End::Blocked);
        }
        None
    }

    /// Lines 11 to 13 of Algorithm 1 for the step that was just added to the trace: puts those reversals of its races
    /// to sleep that lead to the same state.
    pub(crate) fn let_reversals_sleep(
        &mut self,
        races: &[(EventIndex, Removed)],
        check: Check,
        observer: &mut dyn Observer<S>,
    ) -> Result<(), Next> {
        if races.is_empty() {
            return Ok(());
        }
        let Some(target) = self.system.fingerprint() else {
            return Ok(());
        };
        let mut moved = false;
        for (event, removed) in races {
            let reversal = self.reversal(*event, removed);
            let state = &self.states[*event];
            let covered = state.is_asleep(reversal[0])
                || state.sequences.iter().any(|known| {
                    let known = known.remaining().map(|step| step.transition);
                    known.len() <= reversal.len() && known.zip(&reversal).all(|(a, &b)| a == b)
                });
            if covered {
                continue;
            }
            let steps = match check {
                Check::Eager => {
                    moved = true;
                    match self.run_reversal(*event, &reversal, target, observer)? {
                        Some(footprints) => footprints,
                        None => continue,
                    }
                }
                Check::Lazy | Check::Stored => vec![Footprint::new(); reversal.len()],
            };
            let steps: Rc<[Sleeping]> = reversal
                .into_iter()
                .zip(steps)
                .map(|(transition, footprint)| Sleeping {
                    transition,
                    footprint,
                    by_context: true,
                })
                .collect();
            self.states[*event].sequences.push(Sequence {
                left: (0..steps.len() as u32).collect(),
                steps,
                target: (check == Check::Lazy).then_some(target),
            });
        }
        if moved {
            self.system.restart();
            self.repeat_trace(self.trace.len())?;
        }
        Ok(())
    }

    /// `v.u` for the race of the event with the newest one: what does not depend on the event, then the rest.
    fn reversal(&self, event: EventIndex, removed: &Removed) -> Vec<Transition> {
        let events = self.trace.events();
        let newest = events.len() - 1;
        let independent =
            |f: EventIndex| f == newest || (!events[f].happens_after(&events[event]) && !removed.contains(&f));
        let (first, then): (Vec<_>, Vec<_>) = (event..=newest).partition(|&f| f != event && independent(f));
        first.into_iter().chain(then).map(|f| events[f].transition()).collect()
    }

    /// Runs a reversal from the state before the event. Returns the footprints of its steps if it can run and leads to
    /// the state.
    fn run_reversal(
        &mut self,
        event: EventIndex,
        reversal: &[Transition],
        target: Fingerprint,
        observer: &mut dyn Observer<S>,
    ) -> Result<Option<Vec<Footprint>>, Next> {
        self.statistics.checks += 1;
        self.system.restart();
        self.repeat_trace(event)?;
        let mut footprints = Vec::with_capacity(reversal.len());
        let mut step = Step::default();
        for (i, &transition) in reversal.iter().enumerate() {
            let alternatives = self
                .system
                .threads()
                .get(transition.thread.index())
                .and_then(Status::alternatives);
            if !alternatives.is_some_and(|alternatives| alternatives.contains(transition.alternative)) {
                return Ok(None);
            }
            step.clear();
            self.statistics.steps += 1;
            let result = self.system.step(transition, &mut step);
            match result {
                Ok(()) => {}
                Err(Stop::Failed(failure)) => return self.failed_in_check(event, &reversal[..=i], failure),
                Err(Stop::Refine) => return Err(Next::Restart),
                Err(Stop::Unsupported(failure)) => {
                    let reason = format!("unsupported: {}", failure.message);
                    return Err(Next::Done(self.incomplete(reason)));
                }
            }
            let thread = transition.thread;
            let earlier = reversal[..=i].iter().filter(|earlier| earlier.thread == thread).count();
            let index = self.trace.steps_before(thread, event) + earlier as u32;
            // What the thread has waited for in this order is not kept track of.
            let after = VectorClock::new();
            self.learned.add_step(thread, index, &step, &after);
            footprints.push(step.footprint.clone());
        }
        self.statistics.compared += 1;
        let equal = self.system.fingerprint() == Some(target);
        self.statistics.equal += u64::from(equal);
        let first = self.trace.schedule();
        let second = [&first[..event], reversal].concat();
        match observer.compared(&first, &second, equal) {
            ControlFlow::Continue(()) => Ok(equal.then_some(footprints)),
            ControlFlow::Break(()) => Err(self.broken_off()),
        }
    }

    /// Notes a reversal that fails, which is a failure of the program. If the exploration goes on after failures, it
    /// reaches this one by itself, as nothing sleeps because of it.
    fn failed_in_check(
        &mut self,
        event: EventIndex,
        reversal: &[Transition],
        failure: Failure,
    ) -> Result<Option<Vec<Footprint>>, Next> {
        if self.keep_going {
            return Ok(None);
        }
        self.statistics.complete += 1;
        let mut schedule = self.trace.schedule();
        schedule.truncate(event);
        schedule.extend(reversal);
        Err(Next::Done(Verdict::Failed { failure, schedule }))
    }

    /// Adds to the backtrack sets of the current execution what reverses the races that steps after the present state
    /// may have with steps before it (see the head of this module). Called where the exploration is cut because what
    /// follows, possibly after `last`, has been explored elsewhere. `last` would be the next step.
    pub(crate) fn reverse_unseen_races(&mut self, last: Option<&Sleeping>) {
        #[cfg(feature = "faults")]
        if self.fault == Some(Fault::SkipCutRaces) {
            return;
        }
        let mut unseen = self.unseen_races(last);
        unseen.sort_unstable();
        unseen.dedup();
        for races in unseen.chunk_by(|one, other| one.event == other.event) {
            let node = races[0].event;
            let settled = node < self.trace.len() && self.want_first_of_notdep(node);
            let rest = races.iter().filter(|race| !(settled && race.possible_at_once));
            let mut later = rest.map(|race| race.later).peekable();
            let state = &self.states[node];
            let known = |thread: ThreadId| state.backtrack.contains(thread.0);
            if later.peek().is_none() || state.enabled.iter().all(|&(thread, _)| known(thread)) {
                continue;
            }
            let event = match last {
                Some(last) if node == self.trace.len() => (last.transition.thread, &last.footprint),
                _ => (
                    self.trace.events()[node].thread(),
                    &self.trace.events()[node].step().footprint,
                ),
            };
            let later = later.map(|thread| (thread, self.next_that_conflicts(thread, event.1)));
            let steps = |thread| self.trace.steps_before(thread, node);
            let cone = self.learned.may_happen_before(later, steps, event);
            let state = &mut self.states[node];
            for &(thread, _) in &state.enabled {
                if cone.contains(thread.0) && state.backtrack.insert(thread.0) {
                    self.statistics.backtracks += 1;
                }
            }
        }
    }

    /// Ensures that the backtrack set of the state before an event contains one of the threads that come first in what
    /// does not depend on the event, or that one of them is asleep there. Says whether there is one.
    fn want_first_of_notdep(&mut self, event: EventIndex) -> bool {
        let state = &self.states[event];
        let mut candidate = None;
        for first in self.trace.first_events(event) {
            let transition = self.trace.events()[first].transition();
            if state.backtrack.contains(transition.thread.0) || state.is_asleep(transition) {
                return true;
            }
            if state.alternatives(transition.thread).is_some() {
                candidate = Some(transition.thread);
            }
        }
        if let Some(thread) = candidate {
            self.statistics.backtracks += 1;
            self.states[event].backtrack.insert(thread.0);
        }
        candidate.is_some()
    }

    /// The footprint of the thread's next step, if that surely conflicts with the event wherever it runs, because it
    /// touches one location and the event writes it. The race is then with this step and with no later one of the
    /// thread.
    fn next_that_conflicts(&self, thread: ThreadId, event: &Footprint) -> Option<Footprint> {
        let status = self.system.threads().get(thread.index())?;
        let next = (*status != Status::Finished).then(|| self.system.pending(thread).footprint)?;
        let [access] = next.accesses() else {
            return None;
        };
        let mut writes = event.accesses().iter().filter(|a| a.kind == AccessKind::Write);
        writes.any(|a| a.location == access.location).then_some(next)
    }

    /// The races that steps after the present state may have with those before it, and with `last`.
    fn unseen_races(&self, last: Option<&Sleeping>) -> Vec<UnseenRace> {
        let len = self.trace.len();
        let mut unseen = Vec::new();
        for thread in self.learned.threads().filter(|&thread| !self.has_ended(thread)) {
            let clock = self.trace.thread_clock(thread);
            for future in self.learned.future(thread, self.trace.steps_before(thread, len)) {
                if let Some(last) = last.filter(|last| last.transition.thread != thread) {
                    let mut accesses = last.footprint.accesses().iter();
                    if accesses.any(|a| a.location == future.location && a.kind.conflicts_with(future.kind)) {
                        unseen.push(UnseenRace {
                            event: len,
                            later: thread,
                            possible_at_once: false,
                        });
                    }
                }
                let mut before = Cow::Borrowed(&clock);
                for earlier in self.trace.conflicts(future.location, future.kind) {
                    let (g, kind) = (earlier.event, earlier.kind);
                    let event = &self.trace.events()[g];
                    let ordered = |clock: &VectorClock| clock.get(event.thread()) >= event.index();
                    let conflict = event.thread() != thread;
                    // Whether the future step is in a race with this one that hides those with what comes before it.
                    let hides = match future.wait {
                        Wait::Nothing => true,
                        // All that changes the variable after a write depends on the write: as long as that has not
                        // happened, the variable has the value that it has before it.
                        Wait::For { condition, only } if kind == AccessKind::Write => {
                            match self.trace.holds_before(condition, g) {
                                Some(false) => continue,
                                Some(true) => only,
                                None => false,
                            }
                        }
                        _ => false,
                    };
                    if conflict && !ordered(&before) && !ordered(future.after) {
                        unseen.push(UnseenRace {
                            event: g,
                            later: thread,
                            possible_at_once: hides,
                        });
                        if hides {
                            before.to_mut().join(event.clock());
                        }
                    }
                    if kind == AccessKind::Write && hides {
                        break;
                    }
                }
            }
        }
        unseen
    }

    fn has_ended(&self, thread: ThreadId) -> bool {
        let created = self.trace.creation(thread).is_some() || self.learned.creator(thread).is_none();
        created && self.system.threads().get(thread.index()) == Some(&Status::Finished)
    }

    /// Optimisation 1 of §5.3, *anticipating cuts*: says whether a step that sleeps because of the context can no
    /// longer be woken, as nothing that may still happen conflicts with it.
    ///
    /// What may happen is over-approximated by what threads were seen to access after as many steps, and by what they
    /// are about to do. As long as nothing conflicts with the sleeping step, the others go on as they would after it,
    /// and the state after it is explored completely; the first that conflicts would be pending or have run there too.
    pub(crate) fn nothing_wakes(&self) -> bool {
        let state = &self.states[self.depth];
        let len = self.trace.len();
        // A thread that could also take an alternative that is awake goes on.
        let settled = |entry: &&Sleeping| {
            let alternatives = state.alternatives(entry.transition.thread);
            entry.by_context && alternatives.is_some_and(|all| all.len() == 1)
        };
        let nothing_conflicts = |entry: &Sleeping| {
            self.system.threads().iter().enumerate().all(|(i, status)| {
                let thread = ThreadId(i as u32);
                if thread == entry.transition.thread || self.has_ended(thread) {
                    return true;
                }
                let exists = *status != Status::Finished;
                let steps = self.trace.steps_before(thread, len);
                let about_to = exists && self.system.pending(thread).footprint.conflicts_with(&entry.footprint);
                !about_to && !self.learned.may_conflict(thread, steps, &entry.footprint)
            })
        };
        state.inherited_sleep().filter(settled).any(nothing_conflicts)
    }
}
