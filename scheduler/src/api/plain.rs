//! Plain accesses to memory, as instrumented code reports them.
//!
//! While nobody looks for data races, or while an operation of the facades takes effect, which is the checker's work
//! and not the program's, an access costs one look at a byte. Otherwise it is judged on the checker's stack
//! (`image::switch`): nothing of that is left on the thread's own stack, nor in registers, that would make equal states
//! look different.

use super::{backtrace, fail, mark, on_model};
use crate::detect::suppressed::Covering;
use crate::image::arena::{self, HeapUse};
use crate::image::region::{self, CHECKER_STACK};
use crate::machine::Machine;
use crate::machine::cell;
use crate::machine::execution::Execution;
use crate::machine::session::Session;
use crate::memory_model::exposure;
use crate::memory_model::happens_before::AtomicAccess;
use crate::memory_model::races::{BadAccess, Fault};
use crate::memory_model::shadow::{Conflict, Kind};
use crate::report::trace::Mark;
use dpor_explorer::ThreadId;
use dpor_protocol::FailureKind;
use std::arch::naked_asm;
use std::panic::Location as Caller;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::{iter, mem};

/// Whether plain accesses of the running code are looked at.
#[unsafe(link_section = ".dpor.data")]
pub(crate) static WATCHING: AtomicBool = AtomicBool::new(false);

/// Whether they are in the program's own code.
#[unsafe(link_section = ".dpor.data")]
static WATCHED: AtomicBool = AtomicBool::new(false);

/// Sets whether plain accesses of the program's code, which runs next, are looked at.
#[inline]
pub(crate) fn watch(watched: bool) {
    WATCHED.store(watched, Relaxed);
    WATCHING.store(watched, Relaxed);
}

/// Runs the effect of an operation, whose own accesses to memory are not the program's. Nothing of that is kept in the
/// caller's frame, which counts as the thread's state.
#[inline(always)]
pub(crate) fn quietly<R>(effect: impl FnOnce() -> R) -> R {
    WATCHING.store(false, Relaxed);
    let result = effect();
    WATCHING.store(WATCHED.load(Relaxed), Relaxed);
    result
}

pub(crate) const READ: usize = 0;
pub(crate) const WRITE: usize = 1;
const FREE: usize = 2;
const ALLOCATE: usize = 3;
const SHRINK: usize = 4;
/// The life of a cell ends, and what uses its memory later comes after that.
pub(super) const FORGET: usize = 5;

/// Beside `READ` and `WRITE`: of a cell (`api::cells`). The place of the call is given instead of a return address.
pub(super) const OF_CELL: usize = 1 << 4;
/// Beside `OF_CELL`: the access has ended. Its memory may be gone.
pub(super) const ENDS: usize = 1 << 5;

/// Instead of the return address into the code that makes an access.
pub(super) const UNKNOWN: usize = 0;

/// The program is about to read `size` bytes.
#[inline(always)]
pub(crate) fn read(address: usize, size: usize) {
    access(address, size, READ);
}

/// The program is about to write `size` bytes.
#[inline(always)]
pub(crate) fn write(address: usize, size: usize) {
    access(address, size, WRITE);
}

/// The program changes its heap.
pub(crate) fn heap(change: HeapUse, address: usize, size: usize) {
    match change {
        // Also for the checker's work: the program may use the block later.
        HeapUse::Allocate => {
            // SAFETY: only model threads allocate on the program's heap, so that the region is reserved.
            unsafe { judge_from_thread(address, size, ALLOCATE, UNKNOWN) }
        }
        HeapUse::Shrink => access(address, size, SHRINK),
        HeapUse::Free => access(address, size, FREE),
    }
}

#[inline(always)]
fn access(address: usize, size: usize, kind: usize) {
    if WATCHING.load(Relaxed) && size != 0 {
        // SAFETY: it is only watched while a model thread runs, so that the region is reserved.
        unsafe { judge_from_thread(address, size, kind, UNKNOWN) };
    }
}

/// Calls [`judge`] on the checker's stack, if the caller is on a model thread's; then [`fail_by_access`] on the
/// caller's own, if it returns true. Does neither for a thread's plain access to its own stack, unless that is exposed
/// ([`exposure`]). Leaves nothing in the registers. `caller` is a return address into the code that makes the access,
/// or [`UNKNOWN`].
///
/// # Safety
///
/// The region is reserved, and the caller is the model's thread of the operating system. For an access that is
/// [`OF_CELL`], `caller` is the address of a `Location<'static>`.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn judge_from_thread(address: usize, size: usize, kind: usize, caller: usize) {
    naked_asm!(
        ".cfi_startproc",
        "mov rax, rsp",
        "shr rax, {area_bits}",
        "cmp rax, {stacks}",
        "jne 2f",
        // A plain access to the thread's own stack is looked at only if that is exposed.
        "mov rax, rsp",
        "xor rax, rdi",
        "shr rax, {stack_bits}",
        "jne 3f",
        "cmp rdx, {write}",
        "ja 3f",
        "cmp byte ptr [rip + {records_all}], 0",
        "jne 3f",
        "mov rax, rdi",
        "shr rax, {stack_bits}",
        "movzx eax, ax",
        "lea r11, [rip + {exposed}]",
        "cmp byte ptr [r11 + rax], 0",
        "je 2f",
        "3:",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "movabs rsp, {top}",
        "call {judge}",
        "mov rsp, rbp",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "test al, al",
        "jne {fail}",
        "2:",
        "xor eax, eax",
        "xor ecx, ecx",
        "xor edx, edx",
        "xor esi, esi",
        "xor edi, edi",
        "xor r8d, r8d",
        "xor r9d, r9d",
        "xor r10d, r10d",
        "xor r11d, r11d",
        "ret",
        ".cfi_endproc",
        area_bits = const region::AREA_BITS,
        stacks = const region::STACKS >> region::AREA_BITS,
        stack_bits = const region::STACK_BITS,
        write = const WRITE,
        records_all = sym exposure::RECORDS_ALL,
        exposed = sym exposure::EXPOSED,
        top = const CHECKER_STACK.1,
        judge = sym judge,
        fail = sym fail_by_access,
    )
}

/// Says whether threads can share the memory at the address: each thread has its own thread-locals at the same
/// addresses, and of other memory nothing is known.
pub(super) fn is_shareable(session: &Session, address: usize) -> bool {
    region::in_stacks(address) || region::in_arena(address) || session.statics.contains(address)
}

/// The access of the running thread to these bytes, if they are in a frame of another one from which that has returned.
pub(super) fn in_returned_frame(
    execution: &mut Execution,
    running: ThreadId,
    bytes: (usize, usize),
    kind: Kind,
) -> Option<BadAccess> {
    let returned = execution.threads.has_returned(running, bytes.0);
    returned.then(|| execution.races.returned(running, bytes, kind))
}

/// Notes the access. Returns true if the execution ends by it; the machine then knows why.
extern "C" fn judge(address: usize, size: usize, kind: usize, caller: usize) -> bool {
    let Some(machine) = cell::installed() else {
        return false;
    };
    // SAFETY: only on the way from a model thread's own code, where the scheduler is suspended in `resume` and nobody
    // else has the machine: what the checker does for the thread is not watched.
    let machine = unsafe { &mut *machine };
    let Machine {
        session,
        execution,
        step,
        ..
    } = &mut *machine;
    if !is_shareable(session, address) {
        return false;
    }
    let (races, thread) = (&mut execution.races, step.thread);
    if kind & ENDS != 0 && races.are_gone(address, size) {
        return false;
    }
    let of_cell = kind & OF_CELL != 0;
    // SAFETY: the promise of who calls `judge_from_thread`.
    let place = of_cell.then(|| unsafe { &*(caller as *const Caller<'static>) });
    let caller = if of_cell { UNKNOWN } else { caller };
    let (kind, judged) = match kind & !(OF_CELL | ENDS) {
        ALLOCATE => {
            races.allocate(thread, address);
            return false;
        }
        FREE => (Kind::Free, races.free(thread, address, size)),
        SHRINK => (Kind::Write, races.shrink(thread, address, size)),
        FORGET => {
            if races.are_of_cells() {
                races.forget_accesses(address, size);
            }
            return false;
        }
        access => {
            let kind = if access == READ { Kind::Read } else { Kind::Write };
            let returned = in_returned_frame(execution, thread, (address, size), kind);
            match (returned, suppression(session, caller)) {
                (Some(bad), _) => (kind, Err(bad)),
                (None, None) => (kind, execution.races.access(thread, address, size, kind)),
                (None, Some(covering)) => {
                    let judged = execution.races.try_access(thread, address, size, kind);
                    let is_race = judged.is_err_and(|bad| bad.fault.is_race());
                    session.suppressed.count(covering, is_race);
                    if is_race || judged.is_ok() {
                        return false;
                    }
                    (kind, judged)
                }
            }
        }
    };
    step.bad_access = judged.err();
    let ends = step.bad_access.is_some();
    trace(machine, (address, size), kind, None, place);
    ends
}

/// The suppressions of races that cover the code with this return address, or that which the thread runs.
#[inline]
fn suppression(session: &mut Session, caller: usize) -> Option<Covering> {
    match session.suppressed.is_empty() {
        true => None,
        false => look_for_suppression(session, caller),
    }
}

#[inline(never)]
fn look_for_suppression(session: &mut Session, caller: usize) -> Option<Covering> {
    let mut suppressed = mem::take(&mut session.suppressed);
    let symbols = session.symbols();
    // Mostly the first one tells, and nobody walks the stack.
    let known = Some(caller).filter(|&caller| caller != UNKNOWN);
    let others = iter::once_with(backtrace).flat_map(<[usize]>::into_vec);
    let found = suppressed.covering(known.into_iter().chain(others), |address| symbols.frames(address));
    session.suppressed = suppressed;
    found
}

/// Records in a traced execution where an access was made, and why the execution ends by it.
pub(super) fn trace(
    machine: &mut Machine,
    (address, size): (usize, usize),
    kind: Kind,
    atomic: Option<AtomicAccess>,
    place: Option<&'static Caller<'static>>,
) {
    if machine.traced.is_none() {
        return;
    }
    let (mark, bad) = (Mark { place, ..mark(machine) }, machine.step.bad_access);
    let Some(traced) = &mut machine.traced else { return };
    match bad {
        Some(bad) => traced.bad_access = Some((bad, mark)),
        None => traced.accessed(address, size, kind, atomic, mark),
    }
}

/// Ends the execution by the access that the machine knows of, on a model thread.
pub(super) extern "C" fn fail_by_access() {
    watch(false);
    let mut message = String::new();
    let mut kind = FailureKind::DataRace;
    on_model(|machine| {
        if let Some(bad) = machine.step.bad_access {
            (kind, message) = describe(&bad, machine);
        }
    });
    fail(kind, message)
}

/// Where the bytes of an access are, in words that go on with "8 bytes".
fn place(bad: &BadAccess, machine: &Machine) -> String {
    let address = bad.address;
    if let Some((name, offset)) = machine.session.symbols().item(address) {
        return match offset {
            0 => format!(" of {name}"),
            _ => format!(" of {name}, from byte {offset}"),
        };
    }
    if region::in_stacks(address) {
        let owner = ThreadId(region::stack_thread(address) as u32);
        return format!(" on the stack of {owner}");
    }
    match (bad.block, bad.fault) {
        (Some(block), Fault::Race(_)) => {
            // SAFETY: the access was found to be in a block of the running execution.
            let (size, _) = unsafe { arena::block(block) };
            match address - block {
                0 => format!(" of a block of {size}"),
                offset => format!(" of a block of {size}, from byte {offset}"),
            }
        }
        _ => String::new(),
    }
}

/// `1 byte`, `2 bytes`.
fn bytes(number: usize) -> String {
    format!("{number} byte{}", if number == 1 { "" } else { "s" })
}

/// The words for the memory of an access in the sentence that [`describe`] makes: for one beyond the end of a block,
/// those for the block.
pub(crate) fn words_for_memory(bad: &BadAccess, machine: &Machine) -> String {
    match bad.fault {
        Fault::Beyond { size, .. } => format!("a block of {}", bytes(size)),
        _ => format!("{}{}", bytes(bad.size), place(bad, machine)),
    }
}

/// What is wrong with an access, in a sentence.
fn describe(bad: &BadAccess, machine: &Machine) -> (FailureKind, String) {
    let BadAccess {
        thread,
        address,
        size,
        kind,
        fault,
        ..
    } = *bad;
    let verb = kind.words().0;
    let memory = words_for_memory(bad, machine);
    let what = format!("{thread} {verb} {memory}");
    match fault {
        Fault::Race(Conflict { epoch, kind, .. }) => {
            let other = ThreadId(epoch.thread.into());
            let did = kind.words().1;
            let message = format!("{what}, which {other} has {did}, and nothing orders the two accesses");
            (FailureKind::DataRace, message)
        }
        Fault::Unpublished { by, .. } => {
            let message = format!("{what}, which {by} has allocated, and nothing orders the access after that");
            (FailureKind::DataRace, message)
        }
        Fault::Freed { .. } => (FailureKind::UseAfterFree, format!("{what} of a block that was freed")),
        Fault::Beyond { block, size: holds } => {
            let past = address + size - (block + holds);
            let message = format!(
                "{thread} {verb} {}{}, which end {} beyond the end of {memory}",
                bytes(size),
                place(bad, machine),
                bytes(past)
            );
            (FailureKind::OutOfBounds, message)
        }
        Fault::Returned => (
            FailureKind::UseAfterFree,
            format!("{what}, in a function that has returned"),
        ),
        Fault::NoBlock => (
            FailureKind::OutOfBounds,
            format!("{what} at {address:#x}, where no block of memory is"),
        ),
    }
}
