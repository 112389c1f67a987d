//! Calls that run on another stack than the caller's, so that what they leave behind is in nobody's state.
//!
//! What the checker does for a running model thread handles addresses of the checker's own heap, which depend on what
//! was explored before. On the thread's own stack they would stay behind below its frames, and later frames of the
//! program that do not write all of their bytes would show them. So the checker has a stack of its own.
//!
//! Likewise a coroutine's first frame saves registers of whoever resumes it, and its base holds the resumer's stack
//! pointer (corosensei, `arch/x86_64.rs`). So coroutines are resumed from one place, on one stack, with the same
//! registers.

use super::region::{self, CHECKER_STACK, RESUMER_STACK};
use super::stacks::ModelStack;
use corosensei::{Coroutine, CoroutineResult};
use std::arch::naked_asm;
use std::cell::UnsafeCell;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::Range;
use std::ptr;

pub(crate) type ModelCoroutine = Coroutine<(), (), (), ModelStack>;

/// Calls `function` with `data` on the checker's stack. Leaves nothing in the registers.
///
/// # Safety
///
/// The region is reserved, and the caller is the model's thread of the operating system but not on the checker's stack.
#[unsafe(naked)]
unsafe extern "C" fn call_on_checker_stack(data: *mut u8, function: extern "C" fn(*mut u8)) {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "movabs rsp, {top}",
        "call rsi",
        "mov rsp, rbp",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        // `push rax` is how compilers make room for a word.
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
        top = const CHECKER_STACK.1,
    )
}

/// Calls `function` with `data` on the stack from which coroutines are resumed, with zero in all other registers except
/// `rbp`.
///
/// # Safety
///
/// As for [`call_on_checker_stack`], with the resumer's stack.
#[unsafe(naked)]
unsafe extern "C" fn call_on_resumer_stack(data: *mut u8, function: extern "C" fn(*mut u8)) {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        ".cfi_offset rbx, -24",
        ".cfi_offset r12, -32",
        ".cfi_offset r13, -40",
        ".cfi_offset r14, -48",
        ".cfi_offset r15, -56",
        "movabs rsp, {top}",
        "xor eax, eax",
        "xor ebx, ebx",
        "xor ecx, ecx",
        "xor edx, edx",
        "xor r8d, r8d",
        "xor r9d, r9d",
        "xor r10d, r10d",
        "xor r11d, r11d",
        "xor r12d, r12d",
        "xor r13d, r13d",
        "xor r14d, r14d",
        "xor r15d, r15d",
        "xorps xmm0, xmm0",
        "xorps xmm1, xmm1",
        "xorps xmm2, xmm2",
        "xorps xmm3, xmm3",
        "xorps xmm4, xmm4",
        "xorps xmm5, xmm5",
        "xorps xmm6, xmm6",
        "xorps xmm7, xmm7",
        "xorps xmm8, xmm8",
        "xorps xmm9, xmm9",
        "xorps xmm10, xmm10",
        "xorps xmm11, xmm11",
        "xorps xmm12, xmm12",
        "xorps xmm13, xmm13",
        "xorps xmm14, xmm14",
        "xorps xmm15, xmm15",
        "call rsi",
        "lea rsp, [rbp - 40]",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
        top = const RESUMER_STACK.1,
    )
}

/// Types without padding or other bytes left as they were, which would carry something of the checker's stack onto the
/// model thread's.
pub(crate) trait Plain: Copy {}

impl Plain for () {}
impl Plain for bool {}
impl Plain for u32 {}
impl Plain for i64 {}
impl Plain for [u64; 2] {}
impl Plain for [u64; 3] {}
impl Plain for [u64; 4] {}
impl Plain for [usize; 2] {}
impl<T> Plain for *const T {}

/// Runs `f`, on the checker's stack if the caller runs on a model thread's. There it allocates from the system.
///
/// `f` must not suspend the model thread. If it panics, the process aborts. A result that is not [`Plain`] is for
/// executions that end with it.
#[inline(always)]
pub(crate) fn in_checker<R, F: FnOnce() -> R>(f: F) -> R {
    struct Call<F, R> {
        function: ManuallyDrop<F>,
        result: MaybeUninit<R>,
    }
    extern "C" fn run<R, F: FnOnce() -> R>(call: *mut u8) {
        // SAFETY: called once, with the value below.
        unsafe {
            let call = &mut *call.cast::<Call<F, R>>();
            call.result.write(ManuallyDrop::take(&mut call.function)());
        }
    }
    let mut call = Call {
        function: ManuallyDrop::new(f),
        result: MaybeUninit::uninit(),
    };
    let data = (&raw mut call).cast();
    if region::on_model_thread() {
        // SAFETY: model threads run on the model's thread of the operating system, and we are on the stack of one.
        unsafe { call_on_checker_stack(data, run::<R, F>) };
    } else {
        run::<R, F>(data);
    }
    // SAFETY: `run` has written it.
    unsafe { call.result.assume_init() }
}

/// A copy of a suspended, ended or missing coroutine, which can be restored in its place.
pub(crate) struct SavedCoroutine(MaybeUninit<Option<ModelCoroutine>>);

impl SavedCoroutine {
    /// A copy of a coroutine that is not running.
    pub(crate) fn of(coroutine: &Option<ModelCoroutine>) -> SavedCoroutine {
        let mut copy = MaybeUninit::uninit();
        // SAFETY: both are places for one value. The copy is never used as a value, nor dropped.
        unsafe { ptr::copy_nonoverlapping(coroutine, copy.as_mut_ptr(), 1) };
        SavedCoroutine(copy)
    }

    /// Restores the coroutine. Its present value is not dropped: it has the same stack.
    ///
    /// # Safety
    ///
    /// The coroutine is at the place where it was when it was saved, and its stack holds what it held then.
    pub(crate) unsafe fn restore(&self, coroutine: &mut Option<ModelCoroutine>) {
        // SAFETY: the promise of the caller; a coroutine is its stack, where that is suspended, and nothing on the
        // heap.
        unsafe { ptr::copy_nonoverlapping(self.0.as_ptr(), coroutine, 1) };
    }

    /// The stack pointer of the suspended coroutine, whose stack has these accessible addresses.
    ///
    /// corosensei keeps it in the coroutine (`coroutine.rs`), beside the ends of the stack and the stack pointer with
    /// which it began, above which it cannot be.
    pub(crate) fn stack_pointer(&self, stack: Range<usize>) -> Option<usize> {
        const WORDS: usize = size_of::<Option<ModelCoroutine>>() / size_of::<usize>();
        let words = self.0.as_ptr().cast::<MaybeUninit<usize>>();
        // SAFETY: reads as many words as the value has. None of them is padding: they are pointers.
        let words = (0..WORDS).map(|at| unsafe { words.add(at).read().assume_init() });
        words.filter(|word| stack.contains(word)).min()
    }
}

struct Resumption {
    coroutine: MaybeUninit<Option<ModelCoroutine>>,
    result: MaybeUninit<CoroutineResult<(), ()>>,
}

struct Shared(UnsafeCell<Resumption>);

// SAFETY: only the model's thread of the operating system resumes coroutines, one at a time.
unsafe impl Sync for Shared {}

/// The resumption in progress, with the coroutine, at an address that is the same in every process that explores the
/// program: it may get into a register that the coroutine saves.
#[unsafe(link_section = ".dpor.data")]
static RESUMED: Shared = Shared(UnsafeCell::new(Resumption {
    coroutine: MaybeUninit::uninit(),
    result: MaybeUninit::uninit(),
}));

/// Resumes a coroutine. `clean` leaves nothing of the caller on the coroutine's stack; without it, a little time is
/// saved.
///
/// # Safety
///
/// The region is reserved, the caller is the model's thread of the operating system but on no model thread's stack, and
/// there is a coroutine, whose place stays valid, and is not used, until it suspends.
#[inline]
pub(crate) unsafe fn resume(coroutine: *mut Option<ModelCoroutine>, clean: bool) -> CoroutineResult<(), ()> {
    extern "C" fn run(resumption: *mut u8) {
        // SAFETY: called with the static above. The borrow ends before anything else is resumed.
        let resumption = unsafe { &mut *resumption.cast::<Resumption>() };
        // SAFETY: `resume` has written it.
        let Some(coroutine) = (unsafe { resumption.coroutine.assume_init_mut() }) else {
            unreachable!("a live thread has a coroutine")
        };
        resumption.result.write(coroutine.resume(()));
    }
    let shared = RESUMED.0.get();
    // SAFETY: the caller's promise, by which nobody else uses the static, nor the coroutine in its own place while it
    // is moved to the static and back; `run` writes the result.
    unsafe {
        ptr::copy_nonoverlapping(coroutine, (*shared).coroutine.as_mut_ptr(), 1);
        if clean {
            call_on_resumer_stack(shared.cast(), run);
        } else {
            run(shared.cast());
        }
        ptr::copy_nonoverlapping((*shared).coroutine.as_ptr(), coroutine, 1);
        (*shared).result.assume_init_read()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::testing::{Model, on_thread};

    #[test]
    fn the_checker_runs_on_its_own_stack_and_allocates_outside() {
        let _model = Model::enter();
        on_thread(0, || {
            let mut outer = 1;
            let (pointer, block) = in_checker(|| {
                outer += 1;
                // Nested, it stays where it is.
                in_checker(|| outer += 1);
                (region::stack_pointer(), Box::new(5))
            });
            assert_eq!(outer, 3);
            assert!(pointer > CHECKER_STACK.0 && pointer < CHECKER_STACK.1);
            assert!(region::on_model_thread() && !region::in_arena(&raw const *block as usize));
            assert_eq!(*block, 5);
        });
        assert!(in_checker(region::stack_pointer) > CHECKER_STACK.1);
    }
}
