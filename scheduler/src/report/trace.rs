//! The record of a traced execution.

use super::{Source, StepReport, Value};
use crate::operation::OperationKind;
// The standard maps keep their seeds in a thread-local, which is the explored program's.
use dpor_explorer::keys::KeyMap;
use dpor_explorer::{AccessKind, Footprint, Location, ThreadId};
use std::panic::Location as Caller;

/// The time and place of an event in the history of a heap block.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    pub step: u32,
    pub thread: ThreadId,
    /// The place in the source, if whoever made the call has told it.
    pub place: Option<&'static Caller<'static>>,
    /// Return addresses, innermost first.
    pub callers: Box<[usize]>,
}

/// Details of the steps of a traced execution.
#[derive(Default, Debug)]
pub(crate) struct StepTrace {
    notes: Vec<String>,
    /// What comes after the notes.
    remark: Option<String>,
    holders: Vec<(Location, ThreadId, Option<Source>)>,
    /// Releases by the current step of locks that the same step has acquired.
    released_at_once: Vec<(Location, ThreadId)>,
    /// Locks that the current step has acquired besides its object.
    taken: Vec<Location>,
    /// The locks that the current step has released.
    released: Vec<Location>,
    values: Vec<Value>,
    freed: Vec<usize>,
    /// The last known value of each object.
    known: KeyMap<Location, String>,
    /// The step whose message the current step has taken, if that is not the last one: `None` within if it is older
    /// than the record.
    message: Option<Option<u32>>,
    /// The last step that changed a location, and its kind.
    writers: KeyMap<Location, (u32, OperationKind)>,
    /// Locations that stand for threads.
    threads: KeyMap<Location, ThreadId>,
    pub last: Option<StepReport>,
}

impl StepTrace {
    pub fn note(&mut self, detail: String) {
        // A copy of the checker's own: the note was made by the explored program's code.
        self.notes.push(detail.as_str().to_owned());
        std::mem::forget(detail);
    }

    /// Adds something of the checker's own, which comes after all notes of the step.
    pub fn remark(&mut self, remark: String) {
        self.remark = Some(remark);
    }

    pub fn take_notes(&mut self) -> String {
        self.notes.extend(self.remark.take());
        let notes = self.notes.join(", ");
        self.notes.clear();
        notes
    }

    /// Records the present value of the object.
    pub fn value(&mut self, object: Location, text: String) {
        // As above.
        let now = text.as_str().to_owned();
        std::mem::forget(text);
        match self.values.iter_mut().find(|value| value.object == object) {
            Some(value) => value.after.clone_from(&now),
            None => self.values.push(Value {
                object,
                before: self.known.get(&object).unwrap_or(&now).clone(),
                after: now.clone(),
            }),
        }
        self.known.insert(object, now);
    }

    /// The values that the step which has just ended found and left.
    pub fn take_values(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.values)
    }

    /// Records that the current step has freed a heap block.
    pub fn frees(&mut self, block: usize) {
        self.freed.push(block);
    }

    /// The blocks freed by the step that has just ended.
    pub fn take_freed(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.freed)
    }

    /// Records that the current step acquires something other than its object.
    pub fn takes(&mut self, object: Location) {
        self.taken.push(object);
    }

    /// Records that the location stands for a thread.
    pub fn stands_for(&mut self, object: Location, thread: ThreadId) {
        self.threads.insert(object, thread);
    }

    /// The thread that the location stands for.
    pub fn thread_of(&self, object: Location) -> Option<ThreadId> {
        self.threads.get(&object).copied()
    }

    /// Records that the current step reads what that step has stored, or what was there before.
    pub fn took_message(&mut self, of: Option<u32>) {
        self.message = Some(of);
    }

    /// Records the change made by the step that has just ended; returns the step that wrote what it read.
    pub fn wrote(&mut self, step: u32, kind: OperationKind, object: Location, footprint: &Footprint) -> Option<u32> {
        let accesses = footprint.accesses();
        let sources = accesses.iter().filter_map(|access| {
            let &(writer, by) = self.writers.get(&access.location)?;
            (kind.takes_from(by) && (!kind.is_atomic() || access.location == object)).then_some(writer)
        });
        let last = sources.max();
        let reads_from = self.message.take().unwrap_or(last);
        for access in accesses.iter().filter(|access| access.kind != AccessKind::Read) {
            self.writers.insert(access.location, (step, kind));
        }
        reads_from
    }

    /// Records what the step that has just ended acquired besides its object; returns the locks that it released.
    pub fn end_step(&mut self, thread: ThreadId, source: Option<&Source>) -> Vec<Location> {
        for object in std::mem::take(&mut self.taken) {
            self.acquired(thread, object, source.cloned());
        }
        std::mem::take(&mut self.released)
    }

    /// Records what the step that has just ended acquired.
    pub fn acquired(&mut self, thread: ThreadId, object: Location, source: Option<Source>) {
        match self
            .released_at_once
            .iter()
            .position(|&release| release == (object, thread))
        {
            Some(at) => {
                self.released_at_once.remove(at);
            }
            None => self.holders.push((object, thread, source)),
        }
    }

    pub fn released(&mut self, thread: ThreadId, object: Location) {
        self.released.push(object);
        match self.holders.iter().rposition(|&(o, t, _)| o == object && t == thread) {
            Some(at) => {
                self.holders.remove(at);
            }
            None => self.released_at_once.push((object, thread)),
        }
    }

    pub fn holders(&self, object: Location) -> Vec<(ThreadId, Option<Source>)> {
        let of_it = self.holders.iter().filter(|&&(o, _, _)| o == object);
        of_it.map(|(_, thread, source)| (*thread, source.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use OperationKind as K;

    fn footprint(accesses: &[(u64, AccessKind)]) -> Footprint {
        accesses
            .iter()
            .map(|&(location, kind)| (Location(location), kind))
            .collect()
    }

    #[test]
    fn a_value_is_told_as_it_was_before_the_step_and_after() {
        let mut trace = StepTrace::default();
        let value = |before: &str, after: &str| Value {
            object: Location(1),
            before: before.into(),
            after: after.into(),
        };
        trace.value(Location(1), "0".into());
        assert_eq!(trace.take_values(), [value("0", "0")]);
        trace.value(Location(1), "0".into());
        trace.value(Location(1), "1".into());
        assert_eq!(trace.take_values(), [value("0", "1")]);
        // It has changed since, in a step that said nothing of it.
        trace.value(Location(1), "2".into());
        assert_eq!(trace.take_values(), [value("1", "2")]);
        assert_eq!(trace.take_values(), []);
    }

    #[test]
    fn what_is_read_is_from_the_last_step_that_wrote_it() {
        let mut trace = StepTrace::default();
        let (word, queue) = (
            footprint(&[(1, AccessKind::Write)]),
            footprint(&[(2, AccessKind::Write), (3, AccessKind::Write)]),
        );
        let read = footprint(&[(1, AccessKind::Read)]);
        assert_eq!(trace.wrote(0, K::Load, Location(1), &read), None);
        assert_eq!(trace.wrote(1, K::Store, Location(1), &word), None);
        assert_eq!(trace.wrote(2, K::Load, Location(1), &read), Some(1));
        assert_eq!(trace.wrote(3, K::Rmw, Location(1), &word), Some(1));
        assert_eq!(trace.wrote(4, K::Load, Location(1), &read), Some(3));
        assert_eq!(trace.wrote(5, K::Send, Location(9), &queue), None);
        // A receive takes its slot; what another receive did to the head is not what it reads.
        let slot = footprint(&[(3, AccessKind::Write), (4, AccessKind::Write)]);
        assert_eq!(trace.wrote(6, K::Recv, Location(9), &slot), Some(5));
        assert_eq!(
            trace.wrote(7, K::Recv, Location(9), &footprint(&[(4, AccessKind::Write)])),
            None
        );
    }

    #[test]
    fn who_waits_on_a_condition_gives_its_lock_back_and_takes_it_again() {
        let mut trace = StepTrace::default();
        let (waiter, lock) = (ThreadId(1), Location(1));
        trace.acquired(waiter, lock, None);
        trace.released(waiter, lock);
        assert_eq!(trace.end_step(waiter, None), [lock]);
        assert_eq!(trace.holders(lock), []);
        trace.takes(lock);
        assert_eq!(trace.end_step(waiter, None), []);
        assert_eq!(trace.holders(lock), [(waiter, None)]);
    }
}
