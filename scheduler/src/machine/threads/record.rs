//! The record of a thread: what the checker knows of it, and what of that is state of the program.

use crate::detect::spin::{Passage, Spin};
use crate::failure::failure;
use crate::image::part::{Extent, Memory, Owner, Visitor};
use crate::image::region;
use crate::image::registers::Registers;
use crate::image::switch::ModelCoroutine;
use crate::image::tls::TlsImage;
use crate::machine::clock::nanoseconds;
use crate::machine::panics::PanicRecord;
use crate::memory_model::races::DataRaces;
use crate::memory_model::rc11::Request;
use crate::operation::{Operation, OperationKind, Variables, access_of, add_values_now, holds_now};
use corosensei::Yielder;
use dpor_explorer::keys::KeyHasher;
use dpor_explorer::{
    Access, AccessKind, BitSet, Failure, Guard, Location, Pending, SplitMix64, Status, ThreadId, Values,
};
use dpor_protocol::FailureKind;
use smallvec::SmallVec;
use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::panic::Location as Caller;
use std::ptr;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// The record of a model thread. Records outlive executions; `alive` says whether the thread exists now.
pub(crate) struct Record {
    /// The thread's id is the index of its record.
    pub index: usize,
    /// The creator, and the thread's index among its children. The main thread is its own parent.
    pub parent: ThreadId,
    pub nth: u32,
    /// The ids of its children, in order of creation, over all executions.
    pub children: Vec<ThreadId>,
    /// Number of them created in this execution.
    pub spawned: u32,
    /// The coroutine, at an address that stays the same while the list of threads grows.
    pub coroutine: Box<Option<ModelCoroutine>>,
    pub yielder: *const Yielder<(), ()>,
    pub tls: Option<TlsImage>,
    pub alive: bool,
    /// The pending operation, on the thread's own stack.
    pub pending: *const Operation<'static>,
    /// What the pending operation asks of an atomic, if it chooses what it finds there. Its alternatives are then those
    /// choices.
    pub request: Option<Request>,
    pub caller: Option<&'static Caller<'static>>,
    /// In a traced execution, the callers of an operation that does not say where it was called.
    pub callers: Box<[usize]>,
    /// The suspended thread's registers, on its own stack; null before its first scheduling point.
    pub registers: *const Registers,
    /// The address below which the thread's stack is zero, if that is known: from when it was looked for until the
    /// thread runs again. Only where threads begin on clean stacks.
    pub lowest: Cell<Option<usize>>,
    pub name: Option<Rc<str>>,
    /// Whether it was created in this execution, and where (the main thread: nowhere in the program).
    pub created: bool,
    pub created_at: Option<&'static Caller<'static>>,
    pub time: Duration,
    /// Number of times that it has asked for the time.
    pub clock_reads: u32,
    /// The time of its own clock at which the pending wait times out, where timeouts fire last.
    pub deadline: Option<Duration>,
    pub panic: Option<PanicRecord>,
    pub panicked: bool,
    /// Whether it is suspended while a panic of its own unwinds its stack.
    pub unwinds: bool,
    pub passage: Passage,
    /// Shared with saved states until it changes.
    pub spin: Rc<Spin>,
}

impl Record {
    pub(super) fn new(index: usize, parent: ThreadId, nth: u32) -> Record {
        Record {
            index,
            parent,
            nth,
            children: Vec::new(),
            spawned: 0,
            coroutine: Box::new(None),
            yielder: ptr::null(),
            tls: None,
            alive: false,
            pending: ptr::null(),
            request: None,
            caller: None,
            callers: Box::default(),
            registers: ptr::null(),
            lowest: Cell::default(),
            name: None,
            created: false,
            created_at: None,
            time: Duration::ZERO,
            clock_reads: 0,
            deadline: None,
            panic: None,
            panicked: false,
            unwinds: false,
            passage: Passage::default(),
            spin: Rc::default(),
        }
    }

    /// Abandons a thread that was stopped in the middle of a step and will not go on.
    pub fn abandon(&mut self) {
        self.pending = &raw const START;
        (self.request, self.deadline) = (None, None);
        self.registers = ptr::null();
    }

    /// Drops the rest of the thread when its execution is abandoned. Nothing unwinds.
    ///
    /// # Safety
    /// That of [`Part::reset`](crate::image::part::Part::reset).
    pub(super) unsafe fn discard(&mut self) {
        if let Some(mut coroutine) = self.coroutine.take() {
            // SAFETY: everything on the coroutine's stack belongs to the explored program, whose heap is reset and
            // whose statics are restored before another thread runs. Nothing of the checker's is kept there.
            unsafe { coroutine.force_reset() };
        }
        (self.alive, self.created) = (false, false);
    }

    /// Goes to what is known of a thread that has not been created in this execution.
    pub(super) fn forget_execution(&mut self) {
        let Record {
            index,
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
            request,
            caller,
            callers,
            registers,
            lowest,
            name,
            created,
            created_at,
            time,
            clock_reads,
            deadline,
            panic,
            panicked,
            unwinds,
            passage,
            spin,
        } = self;
        region::late(*index).store(0, Relaxed);
        (*spawned, *yielder, *alive, *request) = (0, ptr::null(), false, None);
        (*pending, *caller, *callers, *registers) = (ptr::null(), None, Box::default(), ptr::null());
        lowest.set(None);
        (*name, *created, *created_at) = (None, false, None);
        (*time, *clock_reads, *deadline) = (Duration::ZERO, 0, None);
        (*panic, *panicked, *unwinds) = (None, false, false);
        passage.clear();
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

    /// Whether it has not come to its first scheduling point in this execution.
    pub fn has_not_arrived(&self) -> bool {
        ptr::eq(self.pending, &raw const START)
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
        self.site_as(self.operation().kind)
    }

    fn site_as(&self, kind: OperationKind) -> u64 {
        let caller = self.caller.map_or(0, |caller| ptr::from_ref(caller).addr() as u64);
        (caller & 0xFFFF_FFFF_FFFF) | u64::from(kind as u8) << 48
    }

    /// The site together with the object: a thread in a loop comes back to it.
    pub fn place(&self) -> u64 {
        self.site() ^ self.operation().object.0.wrapping_mul(SplitMix64::GAMMA)
    }

    /// The digest of the pending operation: place, kind, and eight bits of the object.
    pub fn signature(&self) -> u64 {
        self.signature_as(self.operation().kind)
    }

    /// The digest of a step of another kind, in the same place and of the same object.
    pub fn signature_as(&self, kind: OperationKind) -> u64 {
        let object = self.operation().object.0.wrapping_mul(SplitMix64::GAMMA) >> 56;
        self.site_as(kind) | object << 56
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

    /// The alternatives of an operation that chooses what it finds in its atomic.
    fn choices(&self, races: &DataRaces) -> Option<BitSet> {
        let request = self.request.as_ref()?;
        Some(races.choices(ThreadId(self.index as u32), request))
    }

    /// What the thread can do now.
    pub fn status(&self, spin_blocks: bool, races: &DataRaces) -> Status {
        if !self.alive {
            return Status::Finished;
        }
        let operation = self.operation();
        let held = |alternative| spin_blocks && self.spin.holds_back(alternative);
        let free = |alternative| !held(alternative) && !self.is_early(alternative);
        if let Some(choices) = self.choices(races) {
            let enabled: BitSet = choices.iter().filter(|&choice| !held(choice)).collect();
            return match enabled.is_empty() {
                true => Status::Blocked,
                false => Status::Enabled(enabled),
            };
        }
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
        if self.spin.awaiting().is_some() || self.request.is_some() {
            return Variables::AND_MORE;
        }
        let mut variables = Variables::NONE;
        if self.deadline.is_some() {
            variables.add(self.lateness());
        }
        let guards = self.operation().alternatives.iter();
        guards
            .flat_map(Guard::variables)
            .for_each(|variable| variables.add(variable));
        variables
    }

    /// Says whether more than one of the alternatives that this status has is not held back.
    pub fn has_choice(&self, status: &Status) -> bool {
        let enabled = status.alternatives().into_iter().flat_map(BitSet::iter);
        let mut free = enabled.filter(|&alternative| !self.spin.holds_back(alternative));
        free.nth(1).is_some()
    }

    /// Adds the guards of the pending operation's alternatives, with what a spinning thread waits for. Adds none if all
    /// of them are always enabled.
    pub fn add_guards(&self, guards: &mut SmallVec<[Guard; 1]>) {
        let operation = self.operation();
        let Some(awaiting) = self.spin.awaiting().filter(|awaiting| !awaiting.touched.is_empty()) else {
            if self.deadline.is_some() || !operation.alternatives.iter().all(Guard::is_always) {
                let alternatives = operation.alternatives.iter().zip(0u32..);
                alternatives.for_each(|(guard, i)| guards.push(self.when_late(guard.clone(), i)));
            }
            return;
        };
        let always = [Guard::always()];
        // An operation that chooses what it finds waits where it would find the last message again.
        let alternatives = if operation.alternatives.is_empty() || self.request.is_some() {
            &always
        } else {
            operation.alternatives
        };
        for (guard, i) in alternatives.iter().zip(0u32..) {
            let guard = self.when_late(guard.clone(), i);
            guards.push(match awaiting.concerns(i) {
                true => guard.and(awaiting.conditions()),
                false => guard,
            });
        }
    }

    /// The accesses that decide whether the pending operation, or one of its alternatives, is enabled.
    pub fn enabling_accesses(&self) -> impl Iterator<Item = Access> + '_ {
        let operation = self.operation();
        let possible = (0..operation.alternatives.len() as u32).filter(|&alternative| !self.is_early(alternative));
        let guarding: &[Access] = if possible.count() > 1 { operation.accesses } else { &[] };
        let awaited = self
            .spin
            .awaiting()
            .into_iter()
            .flat_map(|awaiting| awaiting.touched.iter().map(|touched| touched.location));
        let locations = guarding.iter().map(|access| access.location).chain(awaited);
        locations.map(|location| access_of(location, AccessKind::Read))
    }

    /// The pending operation, seen without running it, but for its event in the execution graph.
    pub fn look_ahead(&self) -> Pending {
        let accesses = self
            .operation()
            .accesses
            .iter()
            .copied()
            .chain(self.enabling_accesses());
        let lateness = self.lateness_access();
        let mut guards = SmallVec::new();
        self.add_guards(&mut guards);
        let mut values = Values::new();
        add_values_now(&guards, &mut values);
        Pending {
            footprint: accesses
                .map(|access| (access.location, access.kind))
                .chain(lateness)
                .collect(),
            values,
            guards,
            graph: None,
        }
    }
}

/// The operation of a thread that has not started.
pub(super) static START: Operation<'static> = Operation {
    kind: OperationKind::Start,
    object: Location(0),
    accesses: &[],
    alternatives: &[],
    timeout: None,
};

impl Record {
    /// Shows all that decides how the thread goes on.
    pub(super) fn visit(&self, id: ThreadId, status: &Status, extent: Extent, visitor: &mut impl Visitor) {
        let owner = Owner::Thread(id);

        let Record {
            index,
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
            request,
            // In the site.
            caller: _,
            // For reports.
            callers: _,
            registers,
            // Follows from the stack.
            lowest: _,
            name,
            created: _,
            // The creator's stack told where it was.
            created_at: _,
            time,
            clock_reads,
            deadline,
            panic,
            panicked,
            // Shows in the thread-locals, where std counts the thread's panics.
            unwinds: _,
            passage,
            spin,
        } = self;
        visitor.numbers(
            owner,
            [
                ("id", u64::from(id.0)),
                ("alive", u64::from(*alive)),
                ("panicked", u64::from(*panicked) | u64::from(panic.is_some()) << 1),
            ],
        );
        if let Some(panic) = panic {
            visit_panic(panic, owner, visitor);
        }
        if extent.questions {
            visitor.number(owner, "questions for the time", u64::from(*clock_reads));
        }
        if !alive {
            return;
        }
        visitor.numbers(
            owner,
            [
                ("threads created", u64::from(*spawned)),
                ("pending operation", self.site()),
                ("object of the operation", self.operation().object.0),
                (
                    "choice of a message",
                    request.map_or(0, |request| u64::from(request.size)),
                ),
                // Its accesses and guards are on the thread's stack, or constant: their addresses stand for them.
                ("address of the operation", pending.addr() as u64),
            ],
        );
        visit_status(status, owner, visitor);
        if let Some(request) = request {
            for number in request.ask.numbers() {
                visitor.number(owner, "what is asked of an atomic", number);
            }
        }
        passage.numbers(|name, number| visitor.number(owner, name, number));
        spin.numbers(|name, number| visitor.number(owner, name, number));
        visitor.number(owner, "deadline has passed", region::late(*index).load(Relaxed) as u64);
        if extent.time.is_some() {
            visit_times(*time, *deadline, *clock_reads, owner, visitor);
        }
        visitor.bytes(owner, "name", name.as_deref().unwrap_or_default().as_bytes());
        // SAFETY: the region is reserved while a model exists, and no model thread runs.
        let root = unsafe { (*region::record(id.index())).local_root };
        visitor.numbers(
            owner,
            [
                ("random draws", region::draws(id.index())),
                ("root of thread-locals", root.addr() as u64),
            ],
        );
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

/// Shows which alternatives of the pending operation are enabled.
fn visit_status(status: &Status, owner: Owner, visitor: &mut impl Visitor) {
    match status {
        Status::Enabled(alternatives) => {
            visitor.number(owner, "enabled alternatives", alternatives.len() as u64);
            for alternative in alternatives.iter() {
                visitor.number(owner, "enabled alternative", u64::from(alternative));
            }
        }
        _ => visitor.number(owner, "enabled alternatives", 0),
    }
}

/// Shows what the thread's clock and its pending wait depend on.
fn visit_times(time: Duration, deadline: Option<Duration>, questions: u32, owner: Owner, visitor: &mut impl Visitor) {
    visitor.number(owner, "time", nanoseconds(time));
    visitor.number(owner, "deadline", deadline.map_or(u64::MAX, nanoseconds));
    visitor.number(owner, "questions for the time", u64::from(questions));
}

/// Shows what is known of a panic, which may be the failure of an execution.
fn visit_panic(panic: &PanicRecord, owner: Owner, visitor: &mut impl Visitor) {
    visitor.bytes(owner, "panic message", panic.message.as_bytes());
    let (file, line, column) = panic
        .location
        .as_ref()
        .map_or(("", 0, 0), |(f, l, c)| (f.as_str(), *l, *c));
    visitor.bytes(owner, "panicked in", file.as_bytes());
    visitor.number(owner, "panicked at", u64::from(line) << 32 | u64::from(column));
}
