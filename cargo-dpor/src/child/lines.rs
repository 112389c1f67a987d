//! The lines that a test process writes on its pipe.

use std::io::{self, ErrorKind, PipeReader, Read};
use std::os::fd::AsRawFd;
use std::time::Duration;

/// Reads lines, and waits for each only for a given time.
///
/// Whatever a process wrote before its end is in the pipe when the process has been waited for, so that lines without
/// patience until [`Next::Silence`] are all that it wrote, also while another process holds the pipe open.
pub struct Lines {
    pipe: PipeReader,
    read: Vec<u8>,
    /// Length of the part that was returned.
    taken: usize,
    /// Length of the part that was returned, or is known to contain no end of a line.
    searched: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// A line, without its end.
    Line(String),
    /// No line came in time.
    Silence,
    /// Nobody holds the pipe open any more. An unfinished line is left out: its writer has died.
    Closed,
}

impl Lines {
    pub fn of(pipe: PipeReader) -> io::Result<Lines> {
        // SAFETY: the descriptor is open, and belongs to `pipe`.
        let failed = unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) } < 0;
        if failed {
            return Err(io::Error::last_os_error());
        }
        Ok(Lines {
            pipe,
            read: Vec::new(),
            taken: 0,
            searched: 0,
        })
    }

    /// Reads the next line. `patience` is the time until the next part of a line, if a process writes it in parts.
    ///
    /// # Errors
    /// If the pipe cannot be read, or a line is not UTF-8.
    pub fn next(&mut self, patience: Duration) -> io::Result<Next> {
        /// Default capacity of a pipe, in bytes.
        const AT_ONCE: usize = 64 << 10;
        loop {
            if let Some(length) = self.read[self.searched..].iter().position(|&byte| byte == b'\n') {
                let end = self.searched + length;
                let line = self.read[self.taken..end].to_vec();
                (self.taken, self.searched) = (end + 1, end + 1);
                let line = String::from_utf8(line).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
                return Ok(Next::Line(line));
            }
            self.read.drain(..self.taken);
            self.taken = 0;
            self.searched = self.read.len();
            self.read.resize(self.searched + AT_ONCE, 0);
            let outcome = self.pipe.read(&mut self.read[self.searched..]);
            let length = *outcome.as_ref().unwrap_or(&0);
            self.read.truncate(self.searched + length);
            match outcome {
                Ok(0) => return Ok(Next::Closed),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if !self.wait(patience)? {
                        return Ok(Next::Silence);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits for input, and says whether there is any. A signal ends the wait.
    fn wait(&self, patience: Duration) -> io::Result<bool> {
        let mut descriptor = libc::pollfd {
            fd: self.pipe.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let millis = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: one descriptor, which lives here.
        match unsafe { libc::poll(&raw mut descriptor, 1, millis) } {
            0 => Ok(false),
            1.. => Ok(true),
            _ => {
                let error = io::Error::last_os_error();
                (error.kind() == ErrorKind::Interrupted).then_some(false).ok_or(error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::thread;

    const SOON: Duration = Duration::from_millis(1);
    const LONG: Duration = Duration::from_secs(60);

    fn line(text: &str) -> Next {
        Next::Line(text.to_string())
    }

    #[test]
    fn lines_come_whole() {
        let (reader, mut writer) = io::pipe().unwrap();
        let mut lines = Lines::of(reader).unwrap();
        assert_eq!(lines.next(SOON).unwrap(), Next::Silence);
        writer.write_all(b"one\n\ntw").unwrap();
        assert_eq!(lines.next(SOON).unwrap(), line("one"));
        assert_eq!(lines.next(Duration::ZERO).unwrap(), line(""));
        assert_eq!(lines.next(SOON).unwrap(), Next::Silence);
        writer.write_all(b"o\nthr").unwrap();
        assert_eq!(lines.next(SOON).unwrap(), line("two"));
        drop(writer);
        assert_eq!(
            lines.next(LONG).unwrap(),
            Next::Closed,
            "a line that was not ended is none"
        );
        assert_eq!(lines.next(LONG).unwrap(), Next::Closed);
    }

    #[test]
    fn a_line_may_be_longer_than_the_pipe() {
        let (reader, mut writer) = io::pipe().unwrap();
        let mut lines = Lines::of(reader).unwrap();
        let long = "0123456789".repeat(100_000);
        let text = format!("{long}\nend\n");
        let writing = thread::spawn(move || writer.write_all(text.as_bytes()).unwrap());
        let first = loop {
            match lines.next(LONG).unwrap() {
                Next::Silence => {}
                next => break next,
            }
        };
        assert!(first == line(&long));
        writing.join().unwrap();
        assert_eq!(lines.next(Duration::ZERO).unwrap(), line("end"));
        assert_eq!(lines.next(LONG).unwrap(), Next::Closed);
    }

    #[test]
    fn what_is_no_text_is_an_error() {
        let (reader, mut writer) = io::pipe().unwrap();
        let mut lines = Lines::of(reader).unwrap();
        writer.write_all(b"\xff\n").unwrap();
        assert_eq!(lines.next(SOON).unwrap_err().kind(), ErrorKind::InvalidData);
    }
}
