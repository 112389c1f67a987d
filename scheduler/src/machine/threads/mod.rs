//! Threads of the explored program: their records, stacks and thread-locals.

mod record;
mod saved;

pub(crate) use record::Record;

use crate::image::part::{self, Extent, Owner, Part, Visitor};
use crate::image::region;
use crate::image::stacks::{DEFAULT_SIZE, ModelStack};
use crate::image::tls::TlsImage;
use crate::machine::timeouts;
use crate::memory_model::races::DataRaces;
use crate::operation::{OperationKind, Variables};
use corosensei::{Coroutine, Yielder};
use dpor_explorer::{BitSet, Location, Status, ThreadId, Variable};
use record::START;
use saved::SavedThread;
pub(crate) use saved::clear_leftovers;
use std::mem;
use std::ops::{Index, IndexMut};
use std::panic::Location as Caller;
use std::ptr;
use std::rc::Rc;
use std::time::Duration;

/// The threads of the program, those of earlier executions included: a thread's id is its index.
#[derive(Default)]
pub(crate) struct Threads {
    records: Vec<Record>,
    statuses: Vec<Status>,
    /// What each status depends on while the thread does not move. Apart from the records, so that those of threads
    /// that are not concerned need not be looked at.
    dependencies: Vec<Variables>,
    /// Whether threads of this execution began on stacks without leftovers of earlier executions.
    pub clean: bool,
    /// Whether a thread has moved since the statuses were evaluated.
    stale: bool,
    /// Variables that have changed since the statuses were evaluated.
    changed: Variables,
}

impl Index<ThreadId> for Threads {
    type Output = Record;

    #[inline]
    fn index(&self, thread: ThreadId) -> &Record {
        &self.records[thread.index()]
    }
}

impl IndexMut<ThreadId> for Threads {
    #[inline]
    fn index_mut(&mut self, thread: ThreadId) -> &mut Record {
        &mut self.records[thread.index()]
    }
}

fn id(index: usize) -> ThreadId {
    ThreadId(index as u32)
}

impl Threads {
    /// The threads with their ids, in order.
    pub fn iter(&self) -> impl Iterator<Item = (ThreadId, &Record)> {
        self.records
            .iter()
            .enumerate()
            .map(|(index, record)| (id(index), record))
    }

    /// The threads with their ids, in order.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (ThreadId, &mut Record)> {
        let records = self.records.iter_mut().enumerate();
        records.map(|(index, record)| (id(index), record))
    }

    /// The threads that exist, or have existed, in this execution.
    pub fn created(&self) -> impl Iterator<Item = (ThreadId, &Record)> {
        self.iter().filter(|(_, record)| record.created)
    }

    /// The record of the thread, if its id is known.
    pub fn get(&self, thread: ThreadId) -> Option<&Record> {
        self.records.get(thread.index())
    }

    /// The record of the thread, if it is alive.
    pub fn alive(&self, thread: ThreadId) -> Option<&Record> {
        self.get(thread).filter(|record| record.alive)
    }

    /// The suspended threads whose next step waits for others to end, each with the location at which these others
    /// publish what they know.
    pub fn waiting_for_ends(&self) -> impl Iterator<Item = (ThreadId, Location)> {
        let suspended = self
            .iter()
            .filter(|(_, record)| record.alive && !record.pending.is_null());
        let waiting = suspended.map(|(thread, record)| (thread, record.operation()));
        waiting
            .filter(|(_, operation)| operation.kind == OperationKind::Join)
            .map(|(thread, operation)| (thread, operation.object))
    }

    /// The least time of the threads that are alive.
    pub fn least_time(&self) -> Duration {
        let alive = self.records.iter().filter(|record| record.alive);
        alive.map(|record| record.time).min().unwrap_or_default()
    }

    /// Whether the address, which is not on the stack of the running thread, is on that of one which is suspended or
    /// has ended, below what is in use there. Of a thread that is in the middle of creating the running one nothing is
    /// known.
    pub fn has_returned(&self, running: ThreadId, address: usize) -> bool {
        if !region::in_stacks(address) || region::stack_thread(address) == running.index() {
            return false;
        }
        let owner = self.records.get(region::stack_thread(address));
        owner.filter(|owner| owner.created).is_some_and(|owner| {
            // SAFETY: the thread is suspended in `arrive`, whose caller holds the registers; they are null while it
            // runs.
            let registers = unsafe { owner.registers.as_ref() };
            // Which is elsewhere if the program has switched to a stack of its own.
            let pointer = registers.map(|registers| registers.stack().start);
            let pointer =
                pointer.filter(|&pointer| region::in_stacks(pointer) && region::stack_thread(pointer) == owner.index);
            !owner.alive || pointer.is_some_and(|pointer| address < pointer)
        })
    }

    /// Number of thread ids.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// The statuses as they were last evaluated.
    pub fn statuses(&self) -> &[Status] {
        debug_assert!(!self.stale);
        &self.statuses
    }

    /// Says whether the thread, which has not moved, can go on in more than one way.
    pub fn has_choice(&self, thread: ThreadId, races: &DataRaces) -> bool {
        let record = &self[thread];
        if self.stale {
            return record.has_choice(&record.status(false, races));
        }
        let known = record.has_choice(&self.statuses[thread.index()]);
        debug_assert_eq!(
            known,
            record.has_choice(&record.status(false, races)),
            "statuses are fresh"
        );
        known
    }

    /// Notes that a variable has changed.
    #[inline]
    pub fn note_change(&mut self, variable: Variable) {
        self.changed.add(variable);
    }

    /// Notes that the thread moves.
    #[inline]
    pub fn note_move(&mut self, thread: ThreadId) {
        self.stale = true;
        self.dependencies[thread.index()] = Variables::AND_MORE;
    }

    /// Has all statuses evaluated again.
    pub fn reevaluate(&mut self) {
        self.stale = true;
        self.dependencies.fill(Variables::AND_MORE);
    }

    /// Evaluates the statuses of the threads that have moved since the last time, or that depend on what has changed.
    pub fn refresh(&mut self, spin_blocks: bool, races: &DataRaces) {
        if !mem::take(&mut self.stale) {
            return;
        }
        let changed = mem::take(&mut self.changed);
        debug_assert_eq!(self.records.len(), self.statuses.len());
        for (index, dependencies) in self.dependencies.iter_mut().enumerate() {
            if !dependencies.may_be_among(changed) {
                debug_assert_eq!(
                    self.statuses[index],
                    self.records[index].status(spin_blocks, races),
                    "nothing else has changed"
                );
                continue;
            }
            let record = &self.records[index];
            *dependencies = record.dependencies();
            let new = record.status(spin_blocks, races);
            if self.statuses[index] != new {
                self.statuses[index] = new;
            }
        }
        if !self.statuses.iter().any(|status| status.alternatives().is_some()) {
            self.offer_time();
        }
    }

    /// Enables the first of the threads whose deadlines come next to let time pass, if any thread has one.
    fn offer_time(&mut self) {
        let Some(first) = timeouts::due(self).next() else {
            return;
        };
        let alternative = self[first].operation().time_passes();
        self.statuses[first.index()] = Status::Enabled(BitSet::of(alternative));
        self.dependencies[first.index()] = Variables::AND_MORE;
    }

    /// The id that belongs to the creation path.
    pub fn intern(&mut self, parent: ThreadId, nth: u32) -> ThreadId {
        let known = self.get(parent).and_then(|p| p.children.get(nth as usize));
        if let Some(&known) = known {
            return known;
        }
        let new = id(self.records.len());
        self.records.push(Record::new(new.index(), parent, nth));
        self.statuses.push(Status::Finished);
        self.dependencies.push(Variables::AND_MORE);
        if new != ThreadId::MAIN {
            self[parent].children.push(new);
        }
        new
    }

    /// Makes the thread exist in this execution, with only its start pending. `body` says where the thread keeps its
    /// yielder.
    ///
    /// # Errors
    /// There is no room for it.
    pub fn create(
        &mut self,
        thread: ThreadId,
        body: impl FnOnce(*const Yielder<(), ()>) + 'static,
        name: Option<String>,
        stack_size: Option<usize>,
        initial: &TlsImage,
        caller: Option<&'static Caller<'static>>,
    ) -> Result<(), String> {
        // SAFETY: the region is reserved while a model is set up, we are its OS thread, and the thread's coroutine
        // of the execution before was dropped at the restart.
        let stack = unsafe { ModelStack::new(thread.index(), stack_size.unwrap_or(DEFAULT_SIZE)) };
        let stack = stack.map_err(|error| error.to_string())?;
        if self.clean {
            // SAFETY: no coroutine runs on the stack yet.
            unsafe { stack.clear() };
        }
        let record = &mut self[thread];
        match &mut record.tls {
            Some(image) => image.copy_from(initial),
            None => record.tls = Some(initial.clone()),
        }
        // Its captures stay on the new stack, so they are of words: padding would be of any value.
        *record.coroutine = Some(Coroutine::with_stack(stack, move |yielder, ()| body(yielder)));
        // SAFETY: as above.
        unsafe { (*region::record(thread.index())).local_root = ptr::null_mut() };
        record.forget_execution();
        record.alive = true;
        record.created = true;
        record.pending = &raw const START;
        record.caller = caller;
        record.created_at = caller;
        record.name = name.map(Rc::from);
        self.note_move(thread);
        Ok(())
    }
}

impl Part for Threads {
    type Saved = Vec<SavedThread>;

    unsafe fn reset(&mut self) {
        // SAFETY: the caller's promise.
        self.records.iter_mut().for_each(|record| unsafe { record.discard() });
        self.reevaluate();
        self.changed = Variables::NONE;
    }

    fn visit(&self, extent: Extent, visitor: &mut impl Visitor) {
        debug_assert!(!self.stale);
        for (id, record) in self.created() {
            record.visit(id, &self.statuses[id.index()], extent, visitor);
        }
        visitor.number(Owner::Program, "end of threads", u64::MAX);
    }

    fn size(&self) -> usize {
        let live = self.iter().filter(|(_, record)| record.alive);
        // SAFETY: the thread is suspended in `arrive`, whose caller holds the registers; null for a thread that has not
        // started.
        let registers = live.filter_map(|(_, record)| unsafe { record.registers.as_ref() });
        registers.map(|registers| registers.stack().len()).sum()
    }

    unsafe fn save(&self, saved: &mut Vec<SavedThread>, bytes: &mut Vec<u8>) {
        saved.clear();
        for (id, record) in self.created() {
            let thread = SavedThread::of(id.index(), record, self.clean);
            // SAFETY: the thread is suspended, or the range is empty.
            unsafe { part::copy(bytes, thread.stack.clone()) };
            if record.alive {
                bytes.extend_from_slice(record.tls.as_ref().map_or(&[], |image| image.bytes()));
            }
            saved.push(thread);
        }
    }

    unsafe fn load(&mut self, saved: &Vec<SavedThread>, bytes: &mut &[u8]) {
        let mut saved = saved.iter().peekable();
        for (index, record) in self.records.iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            unsafe {
                match saved.next_if(|saved| saved.index == index) {
                    Some(saved) => saved.put_back(record, bytes, self.clean),
                    None => record.discard(),
                }
            }
        }
        self.reevaluate();
        self.changed = Variables::NONE;
    }
}
