//! The registers of a suspended thread, which lie on its own stack.

use super::stacks;
use std::arch::asm;
use std::mem::{MaybeUninit, offset_of};
use std::ops::Range;

/// The registers that survive a call, with the places in the code and on the stack where a thread requests an
/// operation: together with the stack above, all that decides how it goes on.
#[repr(C)]
pub struct Registers {
    stack_pointer: u64,
    preserved: [u64; 6],
    /// The only place that holds the count of an unrolled loop.
    instruction_pointer: u64,
}

impl Registers {
    /// Offset of the instruction pointer in bytes.
    pub(crate) const INSTRUCTION_POINTER: usize = offset_of!(Registers, instruction_pointer);

    /// The caller's registers.
    #[inline(always)]
    pub(crate) fn save() -> Registers {
        let mut registers = MaybeUninit::<Registers>::uninit();
        // SAFETY: writes the eight words of the value.
        unsafe {
            asm!(
                "mov [{0}], rsp", "mov [{0} + 8], rbx", "mov [{0} + 16], rbp", "mov [{0} + 24], r12",
                "mov [{0} + 32], r13", "mov [{0} + 40], r14", "mov [{0} + 48], r15",
                "lea rax, [rip]", "mov [{0} + 56], rax",
                in(reg) registers.as_mut_ptr(), out("rax") _,
                // So that whatever the caller still needs is in a preserved register or on the stack by now.
                clobber_abi("C"), options(nostack, preserves_flags)
            );
            registers.assume_init()
        }
    }

    /// Their contents.
    pub(crate) fn words(&self) -> impl Iterator<Item = u64> + '_ {
        [self.stack_pointer, self.instruction_pointer]
            .into_iter()
            .chain(self.preserved)
    }

    /// The live part of the stack of a suspended thread with these registers.
    pub(crate) fn stack(&self) -> Range<usize> {
        stacks::live(self.stack_pointer as usize)
    }

    /// The name of the register at this offset, and the offset of its word.
    pub(crate) fn name_at(offset: usize) -> (&'static str, usize) {
        const NAMES: [&str; size_of::<Registers>() / 8] = ["rsp", "rbx", "rbp", "r12", "r13", "r14", "r15", "rip"];
        (NAMES[offset / 8], offset & !7)
    }
}
