//! Random bytes that are the same in every execution.

use super::system_call;
use crate::api::ownership;
use crate::image::arena::in_program;
use crate::image::region;
use crate::machine::cell;
use dpor_explorer::SplitMix64;
use libc::c_long;

/// The seed of the next random bytes, if they are to be the same in every execution: it depends on the thread and on
/// its number of draws so far.
fn draw() -> Option<u64> {
    if in_program() {
        if cell::installed().is_some() {
            ownership::visible();
        }
        let thread = region::stack_thread(region::stack_pointer());
        // SAFETY: a model thread runs, so the region is reserved and its record is not used by anyone else.
        let draws = unsafe { &mut (*region::record(thread)).draws };
        if *draws == 0 {
            region::mark_used(thread);
        }
        *draws += 1;
        return Some((thread as u64 + 1) << 40 ^ *draws);
    }
    None
}

/// Fills `size` bytes from the stream of `seed`.
///
/// # Safety
///
/// The bytes can be written.
unsafe fn fill(buffer: *mut u8, size: usize, seed: u64) {
    let mut stream = SplitMix64::new(seed.wrapping_mul(0xD1B5_4A32_D192_ED03));
    for start in (0..size).step_by(8) {
        let word = stream.draw();
        // SAFETY: the caller's promise; no more than the rest is written.
        unsafe { std::ptr::copy_nonoverlapping((&raw const word).cast(), buffer.add(start), (size - start).min(8)) };
    }
}

/// Draws random bytes for a model thread.
///
/// # Safety
///
/// `size` bytes at `buffer` can be written.
pub(super) unsafe fn get(buffer: usize, size: usize) -> Option<c_long> {
    let seed = draw()?;
    // SAFETY: the caller's promise.
    unsafe { fill(buffer as *mut u8, size, seed) };
    Some(size as c_long)
}

/// `getrandom(2)`.
///
/// # Safety
///
/// As for the C library's function: `size` bytes at `buffer` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getrandom(buffer: usize, size: usize, flags: usize) -> c_long {
    // SAFETY: the caller's promise.
    unsafe { get(buffer, size).unwrap_or_else(|| system_call(libc::SYS_getrandom, [buffer, size, flags].into_iter())) }
}
