//! Pipes, and pairs of sockets.

use super::{
    ATOMIC, ERR, HUP, IN, Kind, MOST, Number, OUT, PIPE, RDHUP, RDNORM, Result, SOCKET, Sort, Table, WRBAND, WRNORM,
};
use libc::c_int;

/// An end of a pipe, or one of a pair of sockets.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub(super) pair: Number,
    pub(super) side: usize,
    /// Whether the other end was closed with something in it that it had not read, which nobody was told yet.
    pub(super) is_reset: bool,
    /// The timeouts of reading and writing, in nanoseconds; 0 for none.
    pub(super) timeouts: [u64; 2],
}

/// A pipe, or a pair of sockets. A pipe uses the first stream only: from its second end to its first.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub(super) number: Number,
    pub(super) is_socket: bool,
    /// What each side reads.
    pub(super) streams: [Stream; 2],
}

#[derive(Clone, Default, Debug)]
pub(super) struct Stream {
    pub(super) bytes: Vec<u8>,
    /// Of a socket: the number of bytes of each write that are left. There is room for others when all of one are read.
    pub(super) writes: Vec<usize>,
    /// Whether one of its ends is closed, or shut down.
    pub(super) is_shut: bool,
}

/// How bytes are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum How {
    /// As by `read`: no bytes can always be read.
    Read,
    /// As by `recv`: who wants no bytes waits for some all the same.
    Receive,
    /// As by `recv`, and they can be read again.
    Peek,
}

impl Stream {
    /// Notes that bytes were read. Says whether all of some write are.
    pub(super) fn takes_a_whole_write(&mut self, mut count: usize) -> bool {
        let whole = self.writes.iter().scan(0, |sum, &write| {
            *sum += write;
            Some(*sum)
        });
        let whole = whole.take_while(|&sum| sum <= count).count();
        count -= self.writes.drain(..whole).sum::<usize>();
        if let Some(next) = self.writes.first_mut() {
            *next -= count;
        }
        whole > 0
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.writes.clear();
    }
}

impl Pair {
    pub(super) fn capacity(&self) -> usize {
        if self.is_socket { SOCKET } else { PIPE }
    }

    pub(super) fn read_by(&self, side: usize) -> Option<usize> {
        (self.is_socket || side == 0).then_some(side)
    }

    pub(super) fn written_by(&self, side: usize) -> Option<usize> {
        (self.is_socket || side == 1).then_some(1 - side)
    }
}

impl Table {
    pub(super) fn pair(&self, number: Number) -> &Pair {
        let at = self.pairs.binary_search_by_key(&number, |pair| pair.number);
        &self.pairs[at.expect("an end has its pair")]
    }

    pub(super) fn pair_mut(&mut self, number: Number) -> &mut Pair {
        let at = self.pairs.binary_search_by_key(&number, |pair| pair.number);
        &mut self.pairs[at.expect("an end has its pair")]
    }

    pub(super) fn end(&self, file: Number) -> Option<End> {
        match self.file(file).kind {
            Kind::End(end) => Some(end),
            _ => None,
        }
    }

    /// `pipe2`, or `socketpair` for a stream of local sockets.
    pub fn pair_of(&mut self, thread: usize, flags: c_int, is_socket: bool) -> Result<[Number; 2]> {
        if self.given.get(thread).is_some_and(|&given| given + 2 > MOST) {
            return Err(libc::EMFILE);
        }
        let end = |pair, side| {
            Kind::End(End {
                pair,
                side,
                is_reset: false,
                timeouts: [0; 2],
            })
        };
        let sort = if is_socket { Sort::Socket } else { Sort::Pipe };
        let first = self.open(thread, sort, flags, |number| end(number, 0))?;
        let second = self.open(thread, sort, flags, |_| end(first, 1))?;
        let at = self.pairs.partition_point(|other| other.number < first);
        let pair = Pair {
            number: first,
            is_socket,
            streams: Default::default(),
        };
        self.pairs.insert(at, pair);
        Ok([first, second])
    }

    pub(super) fn close_end(&mut self, end: End) {
        let pair = self.pair_mut(end.pair);
        let unread = pair
            .read_by(end.side)
            .is_some_and(|at| !pair.streams[at].bytes.is_empty());
        let resets = pair.is_socket && unread;
        let is_socket = pair.is_socket;
        for (at, stream) in pair.streams.iter_mut().enumerate() {
            stream.is_shut = true;
            if is_socket && at == end.side {
                stream.clear();
            }
        }
        let other = Number(end.pair.0 + 1 - end.side as u32);
        match &mut self.file_mut(other).kind {
            Kind::End(other) => other.is_reset |= resets,
            _ => self.pair_mut(end.pair).streams.iter_mut().for_each(Stream::clear),
        }
        self.tell(other, 0);
    }

    pub(super) fn mask_of_end(&self, end: End) -> u32 {
        let pair = self.pair(end.pair);
        let mut mask = if end.is_reset { ERR } else { 0 };
        if let Some(stream) = pair.read_by(end.side).map(|at| &pair.streams[at]) {
            if !stream.bytes.is_empty() || pair.is_socket && stream.is_shut {
                mask |= IN | RDNORM;
            }
            if stream.is_shut {
                mask |= if pair.is_socket { RDHUP } else { HUP };
            }
        }
        if let Some(stream) = pair.written_by(end.side).map(|at| &pair.streams[at]) {
            mask |= match pair.is_socket {
                // A socket can be written as long as three quarters of its room are left.
                true if stream.bytes.len() * 4 <= SOCKET => OUT | WRNORM | WRBAND,
                false if stream.bytes.len() < PIPE => OUT | WRNORM,
                _ => 0,
            };
            if !pair.is_socket && stream.is_shut {
                mask |= ERR;
            }
        }
        if pair.is_socket && pair.streams.iter().all(|stream| stream.is_shut) {
            mask |= HUP;
        }
        mask
    }

    pub(super) fn read_end(&mut self, file: Number, end: End, size: usize, how: How) -> Result<Vec<u8>> {
        let pair = self.pair_mut(end.pair);
        let at = pair.read_by(end.side).ok_or(libc::EBADF)?;
        let (is_socket, capacity) = (pair.is_socket, pair.capacity());
        let stream = &mut pair.streams[at];
        if stream.bytes.is_empty() {
            if size == 0 && how == How::Read {
                return Ok(Vec::new());
            }
            if end.is_reset {
                self.take_error(file);
                return Err(libc::ECONNRESET);
            }
            return if stream.is_shut {
                Ok(Vec::new())
            } else {
                Err(libc::EAGAIN)
            };
        }
        let was_full = stream.bytes.len() == capacity;
        let count = size.min(stream.bytes.len());
        if how == How::Peek {
            return Ok(stream.bytes[..count].to_vec());
        }
        let read = stream.bytes.drain(..count).collect();
        let makes_room = match is_socket {
            true => stream.takes_a_whole_write(count),
            false => was_full && count > 0,
        };
        if makes_room {
            self.tell(Number(end.pair.0 + 1 - end.side as u32), OUT | WRNORM | WRBAND);
        }
        Ok(read)
    }

    pub(super) fn write_end(&mut self, end: End, bytes: &[u8]) -> Result<usize> {
        let pair = self.pair_mut(end.pair);
        let at = pair.written_by(end.side).ok_or(libc::EBADF)?;
        let (is_socket, capacity) = (pair.is_socket, pair.capacity());
        let stream = &mut pair.streams[at];
        if bytes.is_empty() && !is_socket {
            return Ok(0);
        }
        if stream.is_shut {
            return Err(libc::EPIPE);
        }
        let room = capacity - stream.bytes.len();
        let is_whole = !is_socket && bytes.len() <= ATOMIC;
        let count = bytes.len().min(room);
        if count < bytes.len() && (is_whole || room == 0) {
            return Err(libc::EAGAIN);
        }
        stream.bytes.extend_from_slice(&bytes[..count]);
        if is_socket && count > 0 {
            stream.writes.push(count);
        }
        if count > 0 {
            self.tell(Number(end.pair.0 + 1 - end.side as u32), IN | RDNORM);
        }
        Ok(count)
    }

    /// `shutdown`.
    pub fn shut_down(&mut self, file: Number, how: c_int) -> Result<()> {
        let end = self.socket(file)?;
        let pair = self.pair_mut(end.pair);
        let (reads, writes) = match how {
            libc::SHUT_RD => (true, false),
            libc::SHUT_WR => (false, true),
            libc::SHUT_RDWR => (true, true),
            _ => return Err(libc::EINVAL),
        };
        pair.streams[end.side].is_shut |= reads;
        pair.streams[1 - end.side].is_shut |= writes;
        self.tell(end.pair, 0);
        self.tell(Number(end.pair.0 + 1), 0);
        Ok(())
    }

    pub(super) fn socket(&self, file: Number) -> Result<End> {
        let end = self.end(file).filter(|end| self.pair(end.pair).is_socket);
        end.ok_or(libc::ENOTSOCK)
    }

    /// The error of a socket, which it has from now on no more.
    pub fn take_error(&mut self, file: Number) -> c_int {
        match &mut self.file_mut(file).kind {
            Kind::End(end) if end.is_reset => {
                end.is_reset = false;
                libc::ECONNRESET
            }
            _ => 0,
        }
    }

    /// The timeouts of a socket's reads and writes, in nanoseconds; 0 for none.
    pub fn timeouts(&self, file: Number) -> [u64; 2] {
        self.end(file).map_or([0; 2], |end| end.timeouts)
    }

    /// Sets the timeout of a socket's reads (0) or writes (1).
    pub fn set_timeout(&mut self, file: Number, of: usize, timeout: u64) -> Result<()> {
        self.socket(file)?;
        if let Kind::End(end) = &mut self.file_mut(file).kind {
            end.timeouts[of] = timeout;
        }
        Ok(())
    }

    /// Number of bytes that can be read from an end.
    pub fn unread(&self, file: Number) -> Result<usize> {
        let end = self.end(file).ok_or(libc::ENOTTY)?;
        let pair = self.pair(end.pair);
        // Linux tells both ends of a pipe.
        let at = pair.read_by(end.side).unwrap_or(0);
        Ok(pair.streams[at].bytes.len())
    }
}
