//! Sets of descriptors that `epoll` watches.

use super::{ALWAYS, EDGE, HOW, Kind, Number, ONCE, Result, Sort, Table};
use dpor_explorer::Location;
use libc::c_int;

/// A descriptor that `epoll` watches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watch {
    pub(super) number: Number,
    pub(super) file: Number,
    pub(super) events: u32,
    pub(super) data: u64,
    /// Whether `epoll_wait` would tell of it.
    pub(super) is_ready: bool,
}

/// What `epoll_wait` tells of a descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Event {
    pub events: u32,
    pub data: u64,
    /// Where what has happened is ordered before.
    pub ordered: Option<Location>,
}

impl Table {
    /// `epoll_create1`.
    pub fn epoll(&mut self, thread: usize, flags: c_int) -> Result<Number> {
        if flags & !libc::EPOLL_CLOEXEC != 0 {
            return Err(libc::EINVAL);
        }
        self.open(thread, Sort::Epoll, flags, |_| Kind::Epoll {
            watches: Vec::new(),
            kernels: None,
        })
    }

    /// Tells those who watch the file that something has happened to it; 0 for something that concerns all of them.
    pub(super) fn tell(&mut self, file: Number, events: u32) {
        for epoll in &mut self.files {
            if let Kind::Epoll { watches, .. } = &mut epoll.kind {
                let concerned = |watch: &&mut Watch| watch.file == file && (events == 0 || watch.events & events != 0);
                // Whether there is anything to tell is found out at the end of the call.
                watches
                    .iter_mut()
                    .filter(concerned)
                    .for_each(|watch| watch.is_ready = true);
            }
        }
    }

    /// Finds out of which descriptors there is nothing to tell, and of which there always is as long as they are ready.
    pub(super) fn settle_watches(&mut self) {
        for at in 0..self.files.len() {
            let Kind::Epoll { watches, .. } = &self.files[at].kind else {
                continue;
            };
            for watch_at in 0..watches.len() {
                let Kind::Epoll { watches, .. } = &self.files[at].kind else {
                    unreachable!("just seen")
                };
                let watch = watches[watch_at];
                let some = self.mask(watch.file) & watch.events & !HOW != 0;
                let is_ready = some && (watch.is_ready || watch.events & EDGE == 0);
                let Kind::Epoll { watches, .. } = &mut self.files[at].kind else {
                    unreachable!("just seen")
                };
                watches[watch_at].is_ready = is_ready;
            }
        }
    }

    /// `epoll_ctl`, for one of the model's descriptors.
    pub fn control(&mut self, epoll: Number, how: c_int, number: Number, events: u32, data: u64) -> Result<()> {
        let file = self.opened(number)?;
        let Kind::Epoll { watches, .. } = &self.file(epoll).kind else {
            return Err(libc::EINVAL);
        };
        if file == epoll || matches!(self.file(file).kind, Kind::Epoll { .. }) {
            return Err(libc::EINVAL);
        }
        let at = watches
            .iter()
            .position(|watch| watch.number == number && watch.file == file);
        let is_ready = self.mask(file) & (events | ALWAYS) != 0;
        let Kind::Epoll { watches, .. } = &mut self.file_mut(epoll).kind else {
            unreachable!("just seen")
        };
        match (how, at) {
            (libc::EPOLL_CTL_ADD, None) => {
                let at = watches.partition_point(|watch| (watch.number, watch.file) < (number, file));
                let events = events | ALWAYS;
                watches.insert(
                    at,
                    Watch {
                        number,
                        file,
                        events,
                        data,
                        is_ready,
                    },
                );
                Ok(())
            }
            (libc::EPOLL_CTL_MOD, Some(at)) => {
                let watch = &mut watches[at];
                (watch.events, watch.data) = (events | ALWAYS, data);
                watch.is_ready |= is_ready;
                Ok(())
            }
            (libc::EPOLL_CTL_DEL, Some(at)) => {
                watches.remove(at);
                Ok(())
            }
            (libc::EPOLL_CTL_ADD, Some(_)) => Err(libc::EEXIST),
            (libc::EPOLL_CTL_MOD | libc::EPOLL_CTL_DEL, None) => Err(libc::ENOENT),
            _ => Err(libc::EINVAL),
        }
    }

    /// The kernel's own `epoll` behind the model's, if there is one.
    pub fn kernels_epoll(&self, epoll: Number) -> Option<c_int> {
        match self.file(epoll).kind {
            Kind::Epoll { kernels, .. } => kernels,
            _ => None,
        }
    }

    /// Sets the kernel's own `epoll` behind the model's.
    pub fn set_kernels_epoll(&mut self, epoll: Number, descriptor: c_int) {
        if let Kind::Epoll { kernels, .. } = &mut self.file_mut(epoll).kind {
            *kernels = Some(descriptor);
        }
    }

    /// The files that are watched, each once, in order. Also those that are closed: that nothing is told of them
    /// depends on it.
    pub fn watched(&self, epoll: Number) -> Vec<Number> {
        let Kind::Epoll { watches, .. } = &self.file(epoll).kind else {
            return Vec::new();
        };
        let mut files: Vec<_> = watches.iter().map(|watch| watch.file).collect();
        files.sort();
        files.dedup();
        files
    }

    /// `epoll_wait`: tells of up to `most` descriptors.
    pub fn wait(&mut self, epoll: Number, most: usize) -> Result<Vec<Event>> {
        let Kind::Epoll { watches, .. } = &self.file(epoll).kind else {
            return Err(libc::EINVAL);
        };
        let mut told = Vec::new();
        for at in 0..watches.len() {
            let Kind::Epoll { watches, .. } = &self.file(epoll).kind else {
                unreachable!("just seen")
            };
            let watch = watches[at];
            if !watch.is_ready || told.len() == most {
                continue;
            }
            let events = self.mask(watch.file) & watch.events & !HOW;
            told.push(Event {
                events,
                data: watch.data,
                ordered: self.ordered(watch.file, events),
            });
            let Kind::Epoll { watches, .. } = &mut self.file_mut(epoll).kind else {
                unreachable!("just seen")
            };
            let watch = &mut watches[at];
            if watch.events & ONCE != 0 {
                watch.events &= HOW;
            }
            watch.is_ready = false;
        }
        Ok(told)
    }
}
