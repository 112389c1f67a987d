//! Model threads: their records, and their creation by the explored program.

use crate::memory::region;
use crate::memory::stacks::{DEFAULT_SIZE, ModelStack};
use crate::memory::switch::{ModelCoroutine, in_checker};
use crate::memory::tls::TlsImage;
use crate::operation::{Operation, OperationKind, Variables, access_of, add_values_now, holds_now};
use crate::ownership;
use crate::panic::PanicRecord;
use crate::runtime::{self, Request, Runtime, of_model, on_model, on_model_in_place};
use crate::spin::{Registers, Spin};
use corosensei::{Coroutine, Yielder};
use dpor_explorer::keys::KeyHasher;
use dpor_explorer::{
    Access, AccessKind, BitSet, Failure, Guard, Location, Pending, SplitMix64, Status, Stop, ThreadId, Values,
};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::panic::Location as Caller;
use std::ptr;
use std::rc::Rc;
use std::time::Duration;

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
    /// Whether it has moved since its status was evaluated.
    pub moved: bool,
    /// What its status depends on while it does not move.
    pub depends_on: Variables,
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
            moved: true,
            depends_on: Variables::NONE,
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
    pub fn discard(&mut self) {
        if let Some(mut coroutine) = self.coroutine.take() {
            // SAFETY: everything on the coroutine's stack belongs to the explored program, whose heap is reset and
            // whose statics are restored before another thread runs. Nothing of the checker's is kept there.
            unsafe { coroutine.force_reset() };
        }
        self.alive = false;
        self.created = false;
        self.moved = true;
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

/// Interns the id of a thread by its creation path.
pub(crate) fn intern(runtime: &mut Runtime, parent: ThreadId, nth: u32) -> ThreadId {
    if let Some(&known) = runtime
        .threads
        .get(parent.index())
        .and_then(|p| p.children.get(nth as usize))
    {
        return known;
    }
    let id = ThreadId(runtime.threads.len() as u32);
    runtime.threads.push(Record::new(parent, nth));
    runtime.statuses.push(Status::Finished);
    if id != ThreadId::MAIN {
        runtime.threads[parent.index()].children.push(id);
    }
    id
}

/// Makes the thread exist in this execution, with only its start pending.
///
/// # Errors
/// There is no room for it.
pub(crate) fn create(
    runtime: &mut Runtime,
    id: ThreadId,
    body: impl FnOnce() + 'static,
    name: Option<String>,
    stack_size: Option<usize>,
    base_tls: &TlsImage,
    caller: Option<&'static Caller<'static>>,
) -> Result<(), String> {
    // SAFETY: the region is reserved while a model is set up, we are its OS thread, and the thread's coroutine
    // of the execution before was dropped at the restart.
    let stack = unsafe { ModelStack::new(id.index(), stack_size.unwrap_or(DEFAULT_SIZE)) };
    let stack = stack.map_err(|error| error.to_string())?;
    if runtime.clean {
        // SAFETY: no coroutine runs on the stack yet.
        unsafe { stack.clear() };
    }
    let record = &mut runtime.threads[id.index()];
    match &mut record.tls {
        Some(image) => image.copy_from(base_tls),
        None => record.tls = Some(base_tls.clone()),
    }
    // Its captures stay on the new stack, so they are of words: padding would be of any value.
    let index = id.index();
    *record.coroutine = Some(Coroutine::with_stack(stack, move |yielder, ()| {
        on_model_in_place(|runtime| runtime.threads[index].yielder = yielder);
        body();
    }));
    // SAFETY: as above.
    unsafe { (*region::record(index)).local_root = ptr::null_mut() };
    record.alive = true;
    record.moved = true;
    record.spawned = 0;
    record.pending = &raw const START;
    record.caller = caller;
    record.registers = ptr::null();
    record.name = name.map(Rc::from);
    record.created = true;
    record.created_at = caller;
    record.panic = None;
    record.panicked = false;
    record.unwinds = false;
    record.clock_reads = 0;
    Spin::forget(&mut record.spin);
    Ok(())
}

/// Creates a model thread and runs it to its first scheduling point, as part of the current step. `body` catches
/// its own panics.
///
/// # Panics
/// Off model threads.
#[track_caller]
pub fn spawn(body: Box<dyn FnOnce() + 'static>, name: Option<String>, stack_size: Option<usize>) -> ThreadId {
    assert!(runtime::on_model_thread(), "only a model thread creates model threads");
    let caller = Caller::caller();
    ownership::visible();
    let child = on_model(|runtime| {
        let parent = runtime.current;
        let record = &mut runtime.threads[parent.index()];
        let nth = record.spawned;
        record.spawned += 1;
        let time = record.time;
        let id = intern(runtime, parent, nth);
        let Some(base) = runtime.base_tls.take() else {
            unreachable!("a running model has a base image")
        };
        let name = name.as_deref().map(str::to_owned);
        let created = create(runtime, id, body, name, stack_size, &base, Some(caller));
        runtime.base_tls = Some(base);
        runtime.threads[id.index()].time = time;
        runtime.shares.spawned(parent, id);
        runtime.step.spawned.push(id);
        runtime.request = Some(match created {
            Ok(()) => Request::Spawn(id),
            Err(message) => Request::Stop(Stop::Unsupported(Failure {
                kind: "unsupported",
                message,
            })),
        });
        id.0
    });
    runtime::suspend();
    ThreadId(child)
}

/// The id of the current model thread.
///
/// # Panics
/// Off model threads.
pub fn current() -> ThreadId {
    assert!(runtime::on_model_thread(), "only a model thread has an id");
    ownership::visible();
    of_model(|runtime| runtime.current)
}

/// One pointer for each model thread, for the facades to use; null when the thread starts.
///
/// # Panics
/// Off model threads.
pub fn local_root() -> *mut *mut u8 {
    assert!(runtime::on_model_thread(), "only a model thread has a root");
    ownership::visible();
    let record = region::record(region::stack_thread(region::stack_pointer()));
    // SAFETY: a model thread runs, so the region is reserved.
    unsafe { &raw mut (*record).local_root }
}

/// Records for reports that the current model thread ends by a panic.
pub fn set_panicked() {
    if runtime::on_model_thread() {
        on_model(|runtime| runtime.threads[runtime.current.index()].panicked = true);
    }
}

/// Fails the execution with the last panic of the current model thread, for a thread that nobody joins. Nothing
/// unwinds.
///
/// # Panics
/// Off model threads.
pub fn fail_by_panic() -> ! {
    assert!(runtime::on_model_thread(), "only a model thread fails an execution");
    let failure = in_checker(|| {
        // SAFETY: on a model thread the scheduler is suspended and holds no borrow.
        let runtime = unsafe { &*runtime::runtime() };
        crate::program::panic_failure(&runtime.threads[runtime.current.index()])
    });
    runtime::stop(Stop::Failed(failure))
}
