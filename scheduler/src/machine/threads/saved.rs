//! A thread in a saved state.

use super::Record;
use crate::detect::spin::{Passage, Spin};
use crate::image::part;
use crate::image::registers::Registers;
use crate::image::switch::SavedCoroutine;
use crate::image::{region, stacks};
use crate::machine::panics::PanicRecord;
use crate::memory_model::rc11::Request;
use crate::operation::Operation;
use corosensei::Yielder;
use std::ops::Range;
use std::panic::Location as Caller;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// A thread that exists, or has existed, in the execution.
pub(crate) struct SavedThread {
    pub(super) index: usize,
    spawned: u32,
    coroutine: SavedCoroutine,
    yielder: *const Yielder<(), ()>,
    alive: bool,
    pending: *const Operation<'static>,
    request: Option<Request>,
    caller: Option<&'static Caller<'static>>,
    registers: *const Registers,
    name: Option<Rc<str>>,
    created_at: Option<&'static Caller<'static>>,
    time: Duration,
    clock_reads: u32,
    deadline: Option<Duration>,
    late: i64,
    panic: Option<PanicRecord>,
    panicked: bool,
    /// Empty unless the thread is alive.
    passage: Passage,
    spin: Rc<Spin>,
    /// The copied part of its stack, up to the end; empty unless the thread is alive.
    pub(super) stack: Range<usize>,
    local_root: *mut u8,
}

/// The accessible addresses of a thread's stack.
fn stack_of(thread: usize) -> Range<usize> {
    // SAFETY: a model exists, so the region is reserved; its only OS thread is the caller.
    let limit = unsafe { (*region::record(thread)).stack_limit };
    limit..region::stack_slot(thread).1
}

/// The stack pointer of a thread that is suspended.
fn pointer_of(index: usize, record: &Record, coroutine: &SavedCoroutine) -> Option<usize> {
    coroutine.stack_pointer(stack_of(index)).filter(|_| record.alive)
}

/// Zeroes what the thread, if it is suspended with a pending operation, has left below its stack pointer, on a stack
/// that was cleared before it began. Later frames that do not write all of their bytes would show it, so that states
/// which no program can tell apart would be different.
///
/// # Safety
///
/// No thread of the program runs.
pub unsafe fn clear_leftovers(index: usize, record: &Record) {
    // A thread that has switched to another stack has its registers there.
    let frames = |&pointer: &usize| (pointer..stack_of(index).end).contains(&record.registers.addr());
    let pointer = pointer_of(index, record, &SavedCoroutine::of(&record.coroutine));
    if let Some(pointer) = pointer.filter(frames) {
        // SAFETY: the caller's promise; nobody uses what is below the pointer of a suspended thread.
        unsafe {
            let lowest = stacks::lowest_used(pointer);
            std::ptr::write_bytes(lowest as *mut u8, 0, pointer - lowest);
        }
        record.lowest.set(Some(pointer));
    }
}

impl SavedThread {
    /// Saves a thread that exists, or has existed, in this execution, without the bytes.
    pub(super) fn of(index: usize, record: &Record, clean: bool) -> SavedThread {
        let Record {
            spawned,
            coroutine,
            yielder,
            alive,
            pending,
            request,
            caller,
            registers,
            name,
            created_at,
            time,
            clock_reads,
            deadline,
            panic,
            panicked,
            passage,
            spin,
            // It is so of all that are saved, or of none.
            created: _,
            unwinds: _,
            // The start of what is copied.
            lowest,
            // Saved with the bytes.
            tls: _,
            // Of the exploration.
            index: _,
            parent: _,
            nth: _,
            children: _,
            // Of traced executions.
            callers: _,
        } = record;
        let coroutine = SavedCoroutine::of(coroutine);
        let whole = stack_of(index);
        let pointer = pointer_of(index, record, &coroutine);
        let lowest = pointer.map_or(whole.end, |pointer| match clean {
            true => {
                // SAFETY: the thread is suspended, and its stack was cleared before it began.
                let look = || unsafe { stacks::lowest_used(pointer) };
                let found = lowest.get().unwrap_or_else(look);
                debug_assert_eq!(found, look(), "only the thread itself writes below its stack pointer");
                lowest.set(Some(found));
                found
            }
            false => pointer,
        });
        let stack = lowest..whole.end;
        SavedThread {
            index,
            spawned: *spawned,
            coroutine,
            yielder: *yielder,
            alive: *alive,
            pending: *pending,
            request: *request,
            caller: *caller,
            registers: *registers,
            name: name.clone(),
            created_at: *created_at,
            time: *time,
            clock_reads: *clock_reads,
            deadline: *deadline,
            late: region::late(index).load(Relaxed),
            panic: panic.clone(),
            panicked: *panicked,
            passage: if *alive { passage.clone() } else { Passage::default() },
            spin: spin.clone(),
            stack,
            // SAFETY: a model exists, so the region is reserved; its only OS thread is the caller.
            local_root: unsafe { (*region::record(index)).local_root },
        }
    }

    /// Restores the thread.
    ///
    /// # Safety
    ///
    /// That of [`Part::load`](part::Part::load); the record is that of the thread.
    pub(super) unsafe fn put_back(&self, record: &mut Record, bytes: &mut &[u8], clean: bool) {
        // SAFETY: nobody uses the thread's stack, and the coroutine is where it was, as a record's coroutine stays
        // where it is.
        unsafe {
            if self.alive && clean {
                // What the thread, or an earlier one with its index, has left there since. One that has not run since
                // its stack was looked at has left no more.
                let start = self.stack.start;
                let lowest = record.lowest.get().unwrap_or_else(|| stacks::lowest_used(start));
                let lowest = lowest.min(start);
                std::ptr::write_bytes(lowest as *mut u8, 0, start - lowest);
                record.lowest.set(Some(start));
            }
            part::copy_back(bytes, self.stack.clone());
            self.coroutine.restore(&mut record.coroutine);
            (*region::record(self.index)).local_root = self.local_root;
        }
        if let Some(image) = record.tls.as_mut().filter(|_| self.alive) {
            let (saved, rest) = bytes.split_at(image.bytes().len());
            image.bytes_mut().copy_from_slice(saved);
            *bytes = rest;
        }
        record.spawned = self.spawned;
        record.yielder = self.yielder;
        record.alive = self.alive;
        record.pending = self.pending;
        record.request = self.request;
        record.caller = self.caller;
        record.registers = self.registers;
        record.name.clone_from(&self.name);
        record.created = true;
        record.created_at = self.created_at;
        record.time = self.time;
        record.clock_reads = self.clock_reads;
        record.deadline = self.deadline;
        region::late(self.index).store(self.late, Relaxed);
        record.panic.clone_from(&self.panic);
        record.panicked = self.panicked;
        record.passage.clone_from(&self.passage);
        record.spin.clone_from(&self.spin);
        record.unwinds = false;
    }
}
