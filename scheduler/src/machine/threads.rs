//! Threads of the explored program: their records, stacks and thread-locals.

use super::clock::nanoseconds;
use super::panics::PanicRecord;
use crate::detect::spin::Spin;
use crate::failure::failure;
use crate::image::part::{self, Extent, Memory, Owner, Part, Visitor};
use crate::image::region;
use crate::image::registers::Registers;
use crate::image::stacks::{self, DEFAULT_SIZE, ModelStack};
use crate::image::switch::{ModelCoroutine, SavedCoroutine};
use crate::image::tls::TlsImage;
use crate::operation::{Operation, OperationKind, Variables, access_of, add_values_now, holds_now};
use corosensei::{Coroutine, Yielder};
use dpor_explorer::keys::KeyHasher;
use dpor_explorer::{
    Access, AccessKind, BitSet, Failure, Guard, Location, Pending, SplitMix64, Status, ThreadId, Values, Variable,
};
use dpor_protocol::FailureKind;
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::mem;
use std::ops::{Index, IndexMut, Range};
use std::panic::Location as Caller;
use std::ptr;
use std::rc::Rc;
use std::time::Duration;

/// The threads of the program, those of earlier executions included: a thread's id is its index.
#[derive(Default)]
pub(crate) struct Threads {
    records: Vec<Record>,
    statuses: Vec<Status>,
    /// What each status depends on while the thread does not move. Apart from the records, so that those of threads that
    /// are not concerned need not be looked at.
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

    /// Number of thread ids.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Says whether the status of each thread is known.
    pub fn is_stale(&self) -> bool {
        self.stale
    }

    /// The statuses as they were last evaluated.
    pub fn statuses(&self) -> &[Status] {
        debug_assert!(!self.stale);
        &self.statuses
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
    pub fn refresh(&mut self, spin_blocks: bool) {
        self.stale = false;
        let changed = mem::take(&mut self.changed);
        debug_assert_eq!(self.records.len(), self.statuses.len());
        for (index, dependencies) in self.dependencies.iter_mut().enumerate() {
            let record = &self.records[index];
            if !dependencies.may_be_among(changed) {
                debug_assert_eq!(
                    self.statuses[index],
                    record.status(spin_blocks),
                    "nothing else has changed"
                );
                continue;
            }
            *dependencies = record.dependencies();
            let new = record.status(spin_blocks);
            if self.statuses[index] != new {
                self.statuses[index] = new;
            }
        }
    }

    /// The id that belongs to the creation path.
    pub fn intern(&mut self, parent: ThreadId, nth: u32) -> ThreadId {
        let known = self.get(parent).and_then(|p| p.children.get(nth as usize));
        if let Some(&known) = known {
            return known;
        }
        let new = id(self.records.len());
        self.records.push(Record::new(parent, nth));
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

/// The record of a model thread. Records outlive executions; `alive` says whether the thread exists now.
pub(crate) struct Record {
    /// The creator, and the thread's index among its children. The main thread is its own parent.
    pub parent: ThreadId,
    pub nth: u32,
    /// The ids of its children, in order of creation, over all executions.
    pub children: Vec<ThreadId>,
    /// Number of them created in this execution.
    pub spawned: u32,
    /// The coroutine, at an address that is the same in all executions.
    pub coroutine: Box<Option<ModelCoroutine>>,
    pub yielder: *const Yielder<(), ()>,
    pub tls: Option<TlsImage>,
    pub alive: bool,
    /// The pending operation, on the thread's own stack.
    pub pending: *const Operation<'static>,
    pub caller: Option<&'static Caller<'static>>,
    /// In a traced execution, the callers of an operation that does not say where it was called.
    pub callers: Box<[usize]>,
    /// The suspended thread's registers, on its own stack; null before its first scheduling point.
    pub registers: *const Registers,
    pub name: Option<Rc<str>>,
    /// Whether it was created in this execution, and where (the main thread: nowhere in the program).
    pub created: bool,
    pub created_at: Option<&'static Caller<'static>>,
    pub time: Duration,
    /// Number of times that it has asked for the time.
    pub clock_reads: u32,
    pub panic: Option<PanicRecord>,
    pub panicked: bool,
    /// Whether it is suspended while a panic of its own unwinds its stack.
    pub unwinds: bool,
    /// Shared with saved states until it changes.
    pub spin: Rc<Spin>,
}

impl Record {
    fn new(parent: ThreadId, nth: u32) -> Record {
        Record {
            parent,
            nth,
            children: Vec::new(),
            spawned: 0,
            coroutine: Box::new(None),
            yielder: ptr::null(),
            tls: None,
            alive: false,
            pending: ptr::null(),
            caller: None,
            callers: Box::default(),
            registers: ptr::null(),
            name: None,
            created: false,
            created_at: None,
            time: Duration::ZERO,
            clock_reads: 0,
            panic: None,
            panicked: false,
            unwinds: false,
            spin: Rc::default(),
        }
    }

    /// Abandons a thread that was stopped in the middle of a step and will not go on.
    pub fn abandon(&mut self) {
        self.pending = &raw const START;
        self.registers = ptr::null();
    }

    /// Drops the rest of the thread when its execution is abandoned. Nothing unwinds.
    ///
    /// # Safety
    /// That of [`Part::reset`].
    unsafe fn discard(&mut self) {
        if let Some(mut coroutine) = self.coroutine.take() {
            // SAFETY: everything on the coroutine's stack belongs to the explored program, whose heap is reset and
            // whose statics are restored before another thread runs. Nothing of the checker's is kept there.
            unsafe { coroutine.force_reset() };
        }
        (self.alive, self.created) = (false, false);
    }

    /// Goes to what is known of a thread that has not been created in this execution.
    fn forget_execution(&mut self) {
        let Record {
            // Of all executions.
            parent: _,
            nth: _,
            children: _,
            // Set when the thread is created.
            coroutine: _,
            tls: _,
            spawned,
            yielder,
            alive,
            pending,
            caller,
            callers,
            registers,
            name,
            created,
            created_at,
            time,
            clock_reads,
            panic,
            panicked,
            unwinds,
            spin,
        } = self;
        (*spawned, *yielder, *alive) = (0, ptr::null(), false);
        (*pending, *caller, *callers, *registers) = (ptr::null(), None, Box::default(), ptr::null());
        (*name, *created, *created_at) = (None, false, None);
        (*time, *clock_reads) = (Duration::ZERO, 0);
        (*panic, *panicked, *unwinds) = (None, false, false);
        Spin::forget(spin);
    }

    /// The failure of an execution that ends with the thread's panic.
    pub fn panic_failure(&self) -> Failure {
        let message = match &self.panic {
            Some(panic) => match &panic.location {
                Some((file, line, _)) => format!("{}\n  at {file}:{line}", panic.message),
                None => panic.message.clone(),
            },
            None => "a panic whose hook did not run (resume_unwind)".to_owned(),
        };
        failure(FailureKind::Panic, message)
    }

    /// The name for reports: the program's name for it, or one made of the id.
    pub fn display_name(&self) -> String {
        self.name.as_deref().unwrap_or("<unnamed>").to_owned()
    }

    /// The pending operation of a thread that is alive and suspended.
    pub fn operation(&self) -> Operation<'_> {
        // SAFETY: a live thread is suspended in `arrive`, whose caller keeps the operation on its stack, or has
        // not started and has `START` pending.
        unsafe { *self.pending }
    }

    /// The place in the program of the pending operation, and its kind, as one number that is the same whenever the
    /// thread comes back to it.
    pub fn site(&self) -> u64 {
        let caller = self.caller.map_or(0, |caller| ptr::from_ref(caller).addr() as u64);
        (caller & 0xFFFF_FFFF_FFFF) | u64::from(self.operation().kind as u8) << 48
    }

    /// The site together with the object: a thread in a loop comes back to it.
    pub fn place(&self) -> u64 {
        self.site() ^ self.operation().object.0.wrapping_mul(SplitMix64::GAMMA)
    }

    /// The digest of the pending operation: place, kind, and eight bits of the object.
    pub fn signature(&self) -> u64 {
        let object = self.operation().object.0.wrapping_mul(SplitMix64::GAMMA) >> 56;
        self.site() | object << 56
    }

    /// The place in the source, and the kind, of a pending operation that is a scheduling point in every exploration.
    /// Made of names and not of addresses, which differ where the same program is built elsewhere; and only of the
    /// names of a file and its folder, because Cargo's home differs on another machine.
    pub fn named_site(&self) -> Option<u64> {
        let kind = self.operation().kind;
        let mut hasher = KeyHasher::default();
        (kind as u8).hash(&mut hasher);
        if let Some(caller) = self.caller {
            let file = caller.file().rsplit('/').take(2);
            file.for_each(|name| name.hash(&mut hasher));
            (caller.line(), caller.column()).hash(&mut hasher);
        }
        kind.is_always_point().then(|| hasher.finish())
    }

    /// What the thread can do now.
    pub fn status(&self, spin_blocks: bool) -> Status {
        if !self.alive {
            return Status::Finished;
        }
        let operation = self.operation();
        let free = |alternative| !(spin_blocks && self.spin.holds_back(alternative));
        let enabled: BitSet = match operation.alternatives {
            [] if free(0) => BitSet::of(0),
            [guard] if free(0) && holds_now(guard) => BitSet::of(0),
            [] | [_] => return Status::Blocked,
            several => {
                let alternatives = several.iter().zip(0u32..);
                alternatives
                    .filter(|&(guard, i)| free(i) && holds_now(guard))
                    .map(|(_, i)| i)
                    .collect()
            }
        };
        if enabled.is_empty() {
            Status::Blocked
        } else {
            Status::Enabled(enabled)
        }
    }

    /// What the status depends on, until the thread moves.
    pub fn dependencies(&self) -> Variables {
        if !self.alive {
            return Variables::NONE;
        }
        if self.spin.awaiting().is_some() {
            return Variables::AND_MORE;
        }
        let mut variables = Variables::NONE;
        let guards = self.operation().alternatives.iter();
        guards
            .flat_map(Guard::variables)
            .for_each(|variable| variables.add(variable));
        variables
    }

    /// Says whether more than one alternative of the pending operation is enabled.
    pub fn has_choice(&self) -> bool {
        let alternatives = self.operation().alternatives.iter().zip(0u32..);
        let mut enabled = alternatives.filter(|&(guard, i)| !self.spin.holds_back(i) && holds_now(guard));
        enabled.nth(1).is_some()
    }

    /// Adds the guards of the pending operation's alternatives, with what a spinning thread waits for. Adds none if all
    /// of them are always enabled.
    pub fn add_guards(&self, guards: &mut SmallVec<[Guard; 1]>) {
        let operation = self.operation();
        let Some(awaiting) = self.spin.awaiting().filter(|awaiting| !awaiting.touched.is_empty()) else {
            if !operation.alternatives.iter().all(Guard::is_always) {
                operation
                    .alternatives
                    .iter()
                    .for_each(|guard| guards.push(guard.clone()));
            }
            return;
        };
        let always = [Guard::always()];
        let alternatives = if operation.alternatives.is_empty() {
            &always
        } else {
            operation.alternatives
        };
        for (guard, i) in alternatives.iter().zip(0u32..) {
            guards.push(match awaiting.concerns(i) {
                true => guard.clone().and(awaiting.conditions()),
                false => guard.clone(),
            });
        }
    }

    /// The accesses that decide whether the pending operation, or one of its alternatives, is enabled.
    pub fn enabling_accesses(&self) -> impl Iterator<Item = Access> + '_ {
        let operation = self.operation();
        let guarding: &[Access] = if operation.alternatives.len() > 1 {
            operation.accesses
        } else {
            &[]
        };
        let awaited = self
            .spin
            .awaiting()
            .into_iter()
            .flat_map(|awaiting| awaiting.touched.iter().map(|touched| touched.location));
        let locations = guarding.iter().map(|access| access.location).chain(awaited);
        locations.map(|location| access_of(location, AccessKind::Read))
    }

    /// The pending operation, seen without running it.
    pub fn look_ahead(&self) -> Pending {
        let accesses = self
            .operation()
            .accesses
            .iter()
            .copied()
            .chain(self.enabling_accesses());
        let mut guards = SmallVec::new();
        self.add_guards(&mut guards);
        let mut values = Values::new();
        add_values_now(&guards, &mut values);
        Pending {
            footprint: accesses.map(|access| (access.location, access.kind)).collect(),
            values,
            guards,
        }
    }
}

/// The operation of a thread that has not started.
pub(crate) static START: Operation<'static> = Operation {
    kind: OperationKind::Start,
    object: Location(0),
    accesses: &[],
    alternatives: &[],
    timeout: None,
};

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

impl Record {
    /// Shows all that decides how the thread goes on.
    fn visit(&self, id: ThreadId, status: &Status, extent: Extent, visitor: &mut impl Visitor) {
        let owner = Owner::Thread(id);

        let Record {
            // They follow from the id.
            parent: _,
            nth: _,
            // Over all executions.
            children: _,
            spawned,
            // The coroutine is its stack, whose base it keeps at a fixed place, as it is kept itself.
            coroutine: _,
            yielder: _,
            tls,
            alive,
            pending,
            // In the site.
            caller: _,
            // For reports.
            callers: _,
            registers,
            name,
            created: _,
            // The creator's stack told where it was.
            created_at: _,
            time,
            clock_reads,
            panic,
            panicked,
            // Shows in the thread-locals, where std counts the thread's panics.
            unwinds: _,
            spin,
        } = self;
        visitor.number(owner, "id", u64::from(id.0));
        visitor.number(owner, "alive", u64::from(*alive));
        visitor.number(
            owner,
            "panicked",
            u64::from(*panicked) | u64::from(panic.is_some()) << 1,
        );
        // What is known of a panic may be the failure of an execution.
        if let Some(panic) = panic {
            visitor.bytes(owner, "panic message", panic.message.as_bytes());
            let (file, line, column) = panic
                .location
                .as_ref()
                .map_or(("", 0, 0), |(f, l, c)| (f.as_str(), *l, *c));
            visitor.bytes(owner, "panicked in", file.as_bytes());
            visitor.number(owner, "panicked at", u64::from(line) << 32 | u64::from(column));
        }
        if extent.questions {
            visitor.number(owner, "questions for the time", u64::from(*clock_reads));
        }
        if !alive {
            return;
        }
        visitor.number(owner, "threads created", u64::from(*spawned));
        visitor.number(owner, "pending operation", self.site());
        visitor.number(owner, "object of the operation", self.operation().object.0);
        // Its accesses and guards are on the thread's stack, or constant: their addresses stand for them.
        visitor.number(owner, "address of the operation", pending.addr() as u64);
        match status {
            Status::Enabled(alternatives) => {
                visitor.number(owner, "enabled alternatives", alternatives.len() as u64);
                for alternative in alternatives.iter() {
                    visitor.number(owner, "enabled alternative", u64::from(alternative));
                }
            }
            _ => visitor.number(owner, "enabled alternatives", 0),
        }
        spin.numbers(|name, number| visitor.number(owner, name, number));
        if extent.time {
            visitor.number(owner, "time", nanoseconds(*time));
            visitor.number(owner, "questions for the time", u64::from(*clock_reads));
        }
        visitor.bytes(owner, "name", name.as_deref().unwrap_or_default().as_bytes());
        visitor.number(owner, "random draws", region::draws(id.index()));
        // SAFETY: the region is reserved while a model exists, and no model thread runs.
        let root = unsafe { (*region::record(id.index())).local_root };
        visitor.number(owner, "root of thread-locals", root.addr() as u64);
        visitor.bytes(owner, "thread-locals", tls.as_ref().map_or(&[], |image| image.bytes()));
        visitor.number(owner, "address of the registers", registers.addr() as u64);
        // SAFETY: the thread is suspended in `arrive`, whose caller holds the registers; null for a thread that has not
        // started.
        if let Some(registers) = unsafe { registers.as_ref() }
            && extent.stacks
        {
            // The registers are on it. SAFETY: it is mapped, and its thread suspended.
            unsafe { visitor.memory(owner, Memory::Stack, registers.stack()) };
        }
    }
}

/// A thread that exists, or has existed, in the execution.
pub(crate) struct SavedThread {
    index: usize,
    spawned: u32,
    coroutine: SavedCoroutine,
    yielder: *const Yielder<(), ()>,
    alive: bool,
    pending: *const Operation<'static>,
    caller: Option<&'static Caller<'static>>,
    registers: *const Registers,
    name: Option<Rc<str>>,
    created_at: Option<&'static Caller<'static>>,
    time: Duration,
    clock_reads: u32,
    panic: Option<PanicRecord>,
    panicked: bool,
    spin: Rc<Spin>,
    /// The copied part of its stack, up to the end; empty unless the thread is alive.
    stack: Range<usize>,
    local_root: *mut u8,
}

/// The accessible addresses of a thread's stack.
fn stack_of(thread: usize) -> Range<usize> {
    // SAFETY: a model exists, so the region is reserved; its only OS thread is the caller.
    let limit = unsafe { (*region::record(thread)).stack_limit };
    limit..region::stack_slot(thread).1
}

impl SavedThread {
    /// Saves a thread that exists, or has existed, in this execution, without the bytes.
    fn of(index: usize, record: &Record, clean: bool) -> SavedThread {
        let Record {
            spawned,
            coroutine,
            yielder,
            alive,
            pending,
            caller,
            registers,
            name,
            created_at,
            time,
            clock_reads,
            panic,
            panicked,
            spin,
            // It is so of all that are saved, or of none.
            created: _,
            unwinds: _,
            // Saved with the bytes.
            tls: _,
            // Of the exploration.
            parent: _,
            nth: _,
            children: _,
            // Of traced executions.
            callers: _,
        } = record;
        let coroutine = SavedCoroutine::of(coroutine);
        let whole = stack_of(index);
        let pointer = coroutine.stack_pointer(whole.clone()).filter(|_| *alive);
        let lowest = pointer.map_or(whole.end, |pointer| match clean {
            // SAFETY: the thread is suspended, and its stack was cleared before it began.
            true => unsafe { stacks::lowest_used(pointer) },
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
            caller: *caller,
            registers: *registers,
            name: name.clone(),
            created_at: *created_at,
            time: *time,
            clock_reads: *clock_reads,
            panic: panic.clone(),
            panicked: *panicked,
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
    /// That of [`Part::load`]; the record is that of the thread.
    unsafe fn put_back(&self, record: &mut Record, bytes: &mut &[u8], clean: bool) {
        // SAFETY: nobody uses the thread's stack, and the coroutine is where it was, as a record's coroutine stays
        // where it is.
        unsafe {
            if self.alive && clean {
                // What the thread, or an earlier one with its index, has left there since.
                let lowest = stacks::lowest_used(self.stack.start).min(self.stack.start);
                std::ptr::write_bytes(lowest as *mut u8, 0, self.stack.start - lowest);
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
        record.caller = self.caller;
        record.registers = self.registers;
        record.name.clone_from(&self.name);
        record.created = true;
        record.created_at = self.created_at;
        record.time = self.time;
        record.clock_reads = self.clock_reads;
        record.panic.clone_from(&self.panic);
        record.panicked = self.panicked;
        record.spin.clone_from(&self.spin);
        record.unwinds = false;
    }
}

/// How the execution has ended for the main thread.
#[derive(Default)]
pub(crate) struct Outcome {
    /// The result of the main thread, once it has ended.
    pub of_main: Option<Result<(), Failure>>,
}

impl Part for Outcome {
    type Saved = Option<Result<(), Failure>>;

    unsafe fn reset(&mut self) {
        self.of_main = None;
    }

    fn visit(&self, _: Extent, visitor: &mut impl Visitor) {
        let owner = Owner::Program;
        match &self.of_main {
            None => visitor.number(owner, "main thread's result", 0),
            Some(Ok(())) => visitor.number(owner, "main thread's result", 1),
            Some(Err(failure)) => {
                visitor.number(owner, "main thread's result", 2);
                visitor.bytes(owner, "main thread's failure", failure.kind.as_bytes());
                visitor.bytes(owner, "main thread's failure", failure.message.as_bytes());
            }
        }
    }

    unsafe fn save(&self, saved: &mut Self::Saved, _: &mut Vec<u8>) {
        saved.clone_from(&self.of_main);
    }

    unsafe fn load(&mut self, saved: &Self::Saved, _: &mut &[u8]) {
        self.of_main.clone_from(saved);
    }
}
