//! The running executable as the dynamic linker loaded it.

use libc::{Elf64_Phdr, c_int, c_void, dl_phdr_info, size_t};

/// The place of the executable in memory, and its program headers.
#[derive(Clone, Copy)]
pub(crate) struct Executable {
    /// The offset that the linker added to every address in the file.
    pub bias: usize,
    /// The program headers, which stay in memory as long as the process does.
    pub headers: &'static [Elf64_Phdr],
    /// The calling thread's block of the executable's thread-locals; null when there is none.
    pub tls: *mut u8,
}

impl Executable {
    /// The executable of this process, seen from the calling thread.
    pub(crate) fn running() -> Executable {
        let mut found = Executable {
            bias: 0,
            headers: &[],
            tls: std::ptr::null_mut(),
        };
        // SAFETY: the callback matches the signature and `found` outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(first_object), (&raw mut found).cast()) };
        found
    }

    /// The program headers of type `kind`.
    pub(crate) fn segments(&self, kind: u32) -> impl Iterator<Item = &'static Elf64_Phdr> {
        self.headers.iter().filter(move |header| header.p_type == kind)
    }
}

/// Notes the first object, which is always the executable itself, and ends the iteration.
unsafe extern "C" fn first_object(info: *mut dl_phdr_info, _size: size_t, found: *mut c_void) -> c_int {
    // SAFETY: the linker passes a valid object, and `running` a valid `Executable`; the program headers of the
    // executable are never unmapped.
    unsafe {
        let info = &*info;
        *found.cast::<Executable>() = Executable {
            bias: info.dlpi_addr as usize,
            headers: std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize),
            tls: info.dlpi_tls_data.cast(),
        };
    }
    1
}
