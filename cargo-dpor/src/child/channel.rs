//! What a test process inherits: the writing end of a pipe, the file of the shared schedule, and a file with its task.

use dpor_protocol::SharedSchedule;
use memmap2::{MmapOptions, MmapRaw};
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The shared schedule, mapped.
pub struct Channel {
    file: File,
    map: MmapRaw,
}

/// Both ends of the pipe; the writing end is only for the child.
pub struct Pipe {
    reader: PipeReader,
    writer: PipeWriter,
}

impl Channel {
    /// Creates a new shared schedule and a pipe. No process inherits them by itself.
    pub fn open() -> io::Result<(Channel, Pipe)> {
        let (reader, writer) = io::pipe()?;
        let file = anonymous_file(c"cargo-dpor schedule")?;
        file.set_len(SharedSchedule::size() as u64)?;
        let map = MmapOptions::new().len(SharedSchedule::size()).map_raw(&file)?;
        // SAFETY: the mapping is page-aligned, of this size, zeroed as a new file is, and lives as long as the
        // references handed out, which borrow `Channel`; this one ends here.
        unsafe { SharedSchedule::create(map.as_mut_ptr()) };
        Ok((Channel { file, map }, Pipe { reader, writer }))
    }

    pub fn map_number(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    pub fn shared(&self) -> &SharedSchedule {
        // SAFETY: as in `open`; the result borrows `self`, which owns the mapping.
        unsafe { SharedSchedule::attach(self.map.as_mut_ptr(), self.map.len()) }.expect("made by `create`")
    }
}

impl Pipe {
    pub fn number(&self) -> RawFd {
        self.writer.as_raw_fd()
    }

    /// The reading end. The writing end is closed here, so that reading ends when the child does.
    pub fn into_reader(self) -> PipeReader {
        self.reader
    }
}

/// A file with this text.
pub fn file_with(text: &str) -> io::Result<File> {
    let mut file = anonymous_file(c"cargo-dpor orders")?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}

fn anonymous_file(name: &CStr) -> io::Result<File> {
    // SAFETY: the name is a C string; the call has no other precondition.
    let number = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) };
    if number < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is open, new, and owned by nothing else.
    Ok(unsafe { File::from_raw_fd(number) })
}

/// Makes the process that `command` starts inherit these descriptors, and end with this process. Processes that other
/// threads start meanwhile do not inherit them.
pub fn inherit(command: &mut Command, descriptors: [RawFd; 3]) {
    let parent = std::process::id();
    // SAFETY: between fork and exec only async-signal-safe functions may be called; these are system calls, and
    // making an `io::Error` of a number does not allocate.
    unsafe {
        command.pre_exec(move || {
            for descriptor in descriptors {
                if libc::fcntl(descriptor, libc::F_SETFD, 0) < 0 {
                    return Err(io::Error::last_os_error());
                }
            }
            // Locations of statics are part of seeds, so they must not depend on the process.
            libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
            // A terminal sends these to all processes that it runs. This one is told to end by the parent.
            libc::signal(libc::SIGINT, libc::SIG_IGN);
            libc::signal(libc::SIGHUP, libc::SIG_IGN);
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) < 0 {
                return Err(io::Error::last_os_error());
            }
            // The parent may have ended before the call.
            if libc::getppid() as u32 != parent {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
            Ok(())
        });
    }
}
