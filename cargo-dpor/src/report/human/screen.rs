//! The terminal that shows progress.

use indicatif::TermLike;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

/// A line on a terminal that may get narrower while the line is there. Most terminals then wrap it, so that it takes
/// several rows, all of which have to go when the line is drawn again: a progress bar itself clears only as many rows
/// as it has written.
pub struct Screen<T> {
    terminal: T,
    /// The text written since the last row was cleared, without the spaces at its end.
    drawn: Mutex<String>,
}

/// The terminal on which a screen draws.
pub trait Terminal: Send + Sync {
    /// Its present width in columns.
    fn width(&self) -> usize;

    /// Whether it wraps existing lines when it gets narrower; otherwise it cuts them off.
    fn wraps(&self) -> bool;

    /// Prints text and control sequences.
    ///
    /// # Errors
    /// If they cannot be.
    fn print(&self, text: &str) -> io::Result<()>;
}

/// Standard error.
pub struct StandardError;

impl Terminal for StandardError {
    fn width(&self) -> usize {
        let size = terminal_size::terminal_size_of(io::stderr());
        size.map_or(80, |(width, _)| width.0.into())
    }

    fn wraps(&self) -> bool {
        // xterm, the Linux console and GNU screen do not.
        let is = |name: &str| std::env::var_os(name).is_some();
        !is("XTERM_VERSION") && !is("STY") && std::env::var_os("TERM").is_none_or(|name| name != "linux")
    }

    fn print(&self, text: &str) -> io::Result<()> {
        let mut out = io::stderr().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }
}

impl<T: Terminal> Screen<T> {
    pub fn new(terminal: T) -> Screen<T> {
        Screen {
            terminal,
            drawn: Mutex::default(),
        }
    }
}

impl<T> std::fmt::Debug for Screen<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Screen")
    }
}

impl<T: Terminal> TermLike for Screen<T> {
    fn width(&self) -> u16 {
        u16::try_from(self.terminal.width()).unwrap_or(u16::MAX).max(1)
    }

    // There is one line, which is never longer than the screen is wide when it is drawn.
    fn move_cursor_up(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_down(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_right(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn move_cursor_left(&self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write_str(text)
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        if text == "\r" {
            return self.clear_line();
        }
        // Spaces up to the last column would be wrapped as well.
        let text = text.trim_end();
        if text.is_empty() {
            return Ok(());
        }
        self.drawn.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
        self.terminal.print(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        let drawn = std::mem::take(&mut *self.drawn.lock().unwrap_or_else(PoisonError::into_inner));
        let columns = textwrap::core::display_width(&drawn);
        let rows = match self.terminal.wraps() {
            true => columns.div_ceil(self.terminal.width().max(1)).max(1),
            false => 1,
        };
        let up = match rows {
            1 => String::new(),
            rows => format!("\x1b[{}A", rows - 1),
        };
        // From the first of its rows to the end of the screen.
        self.terminal.print(&format!("\r{up}\x1b[J"))
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    struct Fake {
        width: AtomicUsize,
        wraps: bool,
        printed: Mutex<String>,
    }

    impl Terminal for Arc<Fake> {
        fn width(&self) -> usize {
            self.width.load(Relaxed)
        }

        fn wraps(&self) -> bool {
            self.wraps
        }

        fn print(&self, text: &str) -> io::Result<()> {
            self.printed.lock().unwrap().push_str(text);
            Ok(())
        }
    }

    /// What is printed for a line of 20 columns, drawn on 30, when the terminal has got this width.
    fn redrawn(wraps: bool, width: usize) -> String {
        let fake = Arc::new(Fake {
            width: AtomicUsize::new(30),
            wraps,
            printed: Mutex::default(),
        });
        let target = ProgressDrawTarget::term_like(Box::new(Screen::new(fake.clone())));
        let bar = ProgressBar::with_draw_target(Some(3), target);
        bar.set_style(ProgressStyle::with_template("{wide_msg}").unwrap());
        bar.set_message("x".repeat(20));
        bar.tick();
        assert!(fake.printed.lock().unwrap().ends_with(&"x".repeat(20)));
        fake.printed.lock().unwrap().clear();
        fake.width.store(width, Relaxed);
        bar.suspend(|| ());
        let printed = fake.printed.lock().unwrap();
        let (cleared, drawn) = printed.split_once("\x1b[J").unwrap();
        assert_eq!(drawn, "x".repeat(20.min(width)));
        cleared.to_owned()
    }

    #[test]
    fn a_line_that_was_wrapped_is_cleared_whole() {
        assert_eq!(redrawn(true, 30), "\r");
        assert_eq!(redrawn(true, 20), "\r");
        assert_eq!(redrawn(true, 19), "\r\x1b[1A");
        assert_eq!(redrawn(true, 6), "\r\x1b[3A");
    }

    #[test]
    fn where_lines_are_cut_off_nothing_above_is_cleared() {
        assert_eq!(redrawn(false, 6), "\r");
    }
}
