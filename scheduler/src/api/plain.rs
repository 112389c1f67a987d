//! Plain accesses to memory, as instrumented code reports them.
//!
//! While nobody looks for data races, or while an operation of the facades takes effect, which is the checker's work and
//! not the program's, an access costs one look at a byte. Otherwise it is judged on the checker's stack
//! (`image::switch`): nothing of that is left on the thread's own stack, nor in registers, that would make equal states
//! look different.

use super::{fail, mark, on_model};
use crate::image::region::{self, CHECKER_STACK};
use crate::machine::Machine;
use crate::machine::cell;
use crate::memory_model::races::Race;
use crate::memory_model::shadow::Kind;
use dpor_explorer::ThreadId;
use dpor_protocol::FailureKind;
use std::arch::naked_asm;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Whether plain accesses of the running code are looked at.
#[unsafe(link_section = ".dpor.data")]
static WATCHING: AtomicBool = AtomicBool::new(false);

/// Sets whether plain accesses of the code that runs next are looked at.
#[inline]
pub(crate) fn watch(watching: bool) {
    WATCHING.store(watching, Relaxed);
}

/// Runs the effect of an operation, whose own accesses to memory are not the program's.
#[inline(always)]
pub(crate) fn quietly<R>(effect: impl FnOnce() -> R) -> R {
    let before = WATCHING.load(Relaxed);
    WATCHING.store(false, Relaxed);
    let result = effect();
    WATCHING.store(before, Relaxed);
    result
}

const READ: usize = 0;
const WRITE: usize = 1;
const FREE: usize = 2;

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

/// The program is about to free a block of this size.
pub(crate) fn free(block: usize, size: usize) {
    access(block, size, FREE);
}

#[inline(always)]
fn access(address: usize, size: usize, kind: usize) {
    if WATCHING.load(Relaxed) {
        // SAFETY: it is only watched while a model thread runs, so that the region is reserved.
        unsafe { judge_from_thread(address, size, kind) };
    }
}

/// Calls [`judge`] on the checker's stack, if the caller is on a model thread's; then [`fail_by_race`] on the caller's
/// own, if it returns true. Leaves nothing in the registers.
///
/// # Safety
///
/// The region is reserved, and the caller is the model's thread of the operating system.
#[unsafe(naked)]
unsafe extern "C" fn judge_from_thread(address: usize, size: usize, kind: usize) {
    naked_asm!(
        ".cfi_startproc",
        "mov rax, rsp",
        "shr rax, {area_bits}",
        "cmp rax, {stacks}",
        "jne 2f",
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
        "jne {race}",
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
        top = const CHECKER_STACK.1,
        judge = sym judge,
        race = sym fail_by_race,
    )
}

/// Notes the access. Returns true if it is in a race, which the machine then knows.
extern "C" fn judge(address: usize, size: usize, kind: usize) -> bool {
    let Some(machine) = cell::installed() else {
        return false;
    };
    // SAFETY: only on the way from a model thread's own code, where the scheduler is suspended in `resume` and nobody
    // else has the machine: what the checker does for the thread is not watched.
    let Machine {
        session,
        execution,
        step,
        ..
    } = unsafe { &mut *machine };
    if !region::in_stacks(address) && !region::in_arena(address) && !session.statics.contains(address) {
        return false;
    }
    let kind = [Kind::Read, Kind::Write, Kind::Free][kind];
    let judged = match kind {
        Kind::Free => execution.races.free(step.thread, address, size),
        _ => execution.races.access(step.thread, address, size, kind),
    };
    step.race = judged.err();
    let is_race = step.race.is_some();
    // SAFETY: as above; the borrow above has ended.
    trace(unsafe { &mut *machine }, address, size, kind);
    is_race
}

/// Records in a traced execution where an access was made, and the race in which it is.
pub(super) fn trace(machine: &mut Machine, address: usize, size: usize, kind: Kind) {
    if machine.traced.is_none() {
        return;
    }
    let (mark, race) = (mark(machine), machine.step.race);
    let Some(traced) = &mut machine.traced else { return };
    match race {
        Some(race) => traced.race = Some((race, mark)),
        None => traced.accessed(address, size, kind, &mark),
    }
}

/// Ends the execution by the race that the machine knows, on a model thread.
pub(super) extern "C" fn fail_by_race() {
    watch(false);
    let mut message = String::new();
    let mut freed = false;
    on_model(|machine| {
        if let Some(race) = machine.step.race {
            message = describe(&race, machine);
            freed = race.earlier.kind == Kind::Free;
        }
    });
    let kind = if freed {
        FailureKind::UseAfterFree
    } else {
        FailureKind::DataRace
    };
    fail(kind, message)
}

/// The race in a sentence.
fn describe(race: &Race, machine: &Machine) -> String {
    let Race {
        thread,
        address,
        size,
        kind,
        earlier,
    } = *race;
    let plural = if size == 1 { "" } else { "s" };
    let object = machine
        .session
        .symbols()
        .item(address)
        .map_or_else(String::new, |(name, _)| format!(" in {name}"));
    let verb = kind.words().0;
    let other = ThreadId(earlier.epoch.thread.into());
    let did = earlier.kind.words().1;
    let what = format!("{thread} {verb} {size} byte{plural} at {address:#x}{object}");
    match earlier.kind {
        Kind::Free => format!("{what}, in a block that {other} has freed"),
        _ => format!("{what}, which {other} has {did}, and nothing orders the two accesses"),
    }
}
