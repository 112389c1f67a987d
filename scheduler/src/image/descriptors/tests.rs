use super::*;
use dpor_explorer::SplitMix64;
use std::mem::MaybeUninit;

/// The descriptors of the kernel and the model that were made by the same calls.
struct Both {
    table: Table,
    /// What both have given for the same call.
    open: Vec<(c_int, Number)>,
    draws: SplitMix64,
}

/// What a call returns, in words that are the same for both: errors are negative.
type Returned = (i64, Vec<u8>, Vec<(u32, u64)>);

fn called(result: i64) -> i64 {
    match result {
        -1 => -i64::from(std::io::Error::last_os_error().raw_os_error().unwrap()),
        result => result,
    }
}

fn number(result: Result<usize>) -> i64 {
    result.map_or_else(|error| -i64::from(error), |result| result as i64)
}

/// The calls that the test makes.
#[derive(Clone, Copy, Debug)]
enum Call {
    Counter(u32, c_int),
    Epoll,
    Pipe,
    Sockets,
    Duplicate(usize),
    Close(usize),
    Read(usize, usize),
    Peek(usize, usize),
    Write(usize, u64, usize),
    ShutDown(usize, c_int),
    Error(usize),
    Control(usize, c_int, usize, u32),
    Wait(usize, usize),
    Poll(usize, u32),
    Unread(usize),
    Flags(usize),
}

impl Both {
    fn below(&mut self, bound: usize) -> usize {
        (self.draws.draw() % bound as u64) as usize
    }

    fn any(&mut self) -> usize {
        // Mostly one of the newest.
        let count = self.open.len();
        let among = if self.below(4) == 0 { count } else { count.min(6) };
        count - 1 - self.below(among)
    }

    fn draw(&mut self) -> Call {
        if self.open.is_empty() {
            return Call::Epoll;
        }
        match self.below(32) {
            0 => Call::Counter(self.below(3) as u32, [0, libc::EFD_SEMAPHORE][self.below(2)]),
            1 => Call::Epoll,
            2 => Call::Pipe,
            3 | 4 => Call::Sockets,
            5 => Call::Duplicate(self.any()),
            6 | 7 => Call::Close(self.any()),
            8..12 => Call::Read(self.any(), [0, 1, 3, 8, 20][self.below(5)]),
            12 => Call::Peek(self.any(), [0, 1, 8][self.below(3)]),
            13..18 => {
                let word = [0, 1, 2, u64::MAX - 2, u64::MAX - 1, u64::MAX][self.below(6)];
                Call::Write(self.any(), word, [0, 3, 8][self.below(3)])
            }
            18 => Call::ShutDown(self.any(), self.below(4) as c_int),
            19 => Call::Error(self.any()),
            20..25 => {
                let how = [
                    libc::EPOLL_CTL_ADD,
                    libc::EPOLL_CTL_ADD,
                    libc::EPOLL_CTL_MOD,
                    libc::EPOLL_CTL_DEL,
                ];
                let events = [IN, OUT, IN | OUT, IN | RDHUP, 0][self.below(5)];
                let ways = [0, EDGE, EDGE, ONCE, EDGE | ONCE][self.below(5)];
                Call::Control(self.any(), how[self.below(4)], self.any(), events | ways)
            }
            25..29 => Call::Wait(self.any(), 64),
            29 => Call::Poll(self.any(), [IN, OUT, IN | OUT | RDHUP, 0][self.below(4)]),
            30 => Call::Unread(self.any()),
            _ => Call::Flags(self.any()),
        }
    }

    /// Makes the call of the kernel.
    #[expect(
        clippy::undocumented_unsafe_blocks,
        reason = "all are calls of the kernel with room for what it writes"
    )]
    fn kernels(&self, call: Call) -> (Returned, Vec<c_int>) {
        let at = |at: usize| self.open[at].0;
        let mut made = Vec::new();
        let mut bytes = vec![0u8; 64];
        let mut events = Vec::new();
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        let mut make = |descriptor: c_int| {
            assert!(descriptor >= 0);
            made.push(descriptor);
            0
        };
        let result = unsafe {
            match call {
                Call::Counter(value, kind) => make(libc::eventfd(value, kind | libc::EFD_NONBLOCK | libc::EFD_CLOEXEC)),
                Call::Epoll => make(libc::epoll_create1(libc::EPOLL_CLOEXEC)),
                Call::Pipe => {
                    let mut both = [0; 2];
                    assert_eq!(libc::pipe2(both.as_mut_ptr(), libc::O_NONBLOCK | libc::O_CLOEXEC), 0);
                    made.extend(both);
                    0
                }
                Call::Sockets => {
                    let mut both = [0; 2];
                    let kind = libc::SOCK_STREAM | flags;
                    assert_eq!(libc::socketpair(libc::AF_UNIX, kind, 0, both.as_mut_ptr()), 0);
                    made.extend(both);
                    0
                }
                Call::Duplicate(of) => make(libc::fcntl(at(of), libc::F_DUPFD_CLOEXEC, 0)),
                Call::Close(of) => i64::from(libc::close(at(of))),
                Call::Read(of, size) => libc::read(at(of), bytes.as_mut_ptr().cast(), size) as i64,
                Call::Peek(of, size) => libc::recv(at(of), bytes.as_mut_ptr().cast(), size, libc::MSG_PEEK) as i64,
                Call::Write(of, word, size) => {
                    let word = word.to_ne_bytes();
                    match self.table.sort(self.open[of].1.opened(&self.table)) == Sort::Socket {
                        true => libc::send(at(of), word.as_ptr().cast(), size, libc::MSG_NOSIGNAL) as i64,
                        false => libc::write(at(of), word.as_ptr().cast(), size) as i64,
                    }
                }
                Call::ShutDown(of, how) => i64::from(libc::shutdown(at(of), how)),
                Call::Error(of) => {
                    let (mut error, mut size) = (0i32, 4);
                    let (level, option) = (libc::SOL_SOCKET, libc::SO_ERROR);
                    match libc::getsockopt(at(of), level, option, (&raw mut error).cast(), &raw mut size) {
                        0 => i64::from(error),
                        failed => i64::from(failed),
                    }
                }
                Call::Control(of, how, watched, asked) => {
                    let mut event = libc::epoll_event {
                        events: asked,
                        u64: watched as u64,
                    };
                    i64::from(libc::epoll_ctl(at(of), how, at(watched), &raw mut event))
                }
                Call::Wait(of, most) => {
                    let mut room = [MaybeUninit::<libc::epoll_event>::zeroed(); 64];
                    let found = libc::epoll_wait(at(of), room.as_mut_ptr().cast(), most as c_int, 0);
                    for event in &room[..found.max(0) as usize] {
                        let event = event.assume_init();
                        events.push(({ event.events }, { event.u64 }));
                    }
                    i64::from(found)
                }
                Call::Poll(of, asked) => {
                    let mut entry = libc::pollfd {
                        fd: at(of),
                        events: asked as i16,
                        revents: 0,
                    };
                    assert!(libc::poll(&raw mut entry, 1, 0) >= 0);
                    i64::from(entry.revents)
                }
                Call::Unread(of) => {
                    let mut unread = 0i32;
                    match libc::ioctl(at(of), libc::FIONREAD, &raw mut unread) {
                        0 => i64::from(unread),
                        failed => i64::from(failed),
                    }
                }
                Call::Flags(of) => i64::from(libc::fcntl(at(of), libc::F_GETFL)),
            }
        };
        let result = called(result);
        let is_read = matches!(call, Call::Read(..) | Call::Peek(..));
        bytes.truncate(if is_read { result.max(0) as usize } else { 0 });
        events.sort();
        ((result, bytes, events), made)
    }

    /// Makes the call of the model.
    fn models(&mut self, call: Call) -> (Returned, Vec<Number>) {
        let open: Vec<Number> = self.open.iter().map(|&(_, number)| number).collect();
        let (mut made, mut bytes, mut events) = (Vec::new(), Vec::new(), Vec::new());
        let flags = libc::O_NONBLOCK | libc::O_CLOEXEC;
        let result = self.table.change(|table| match call {
            Call::Counter(value, kind) => {
                made.push(table.counter(0, value, kind | flags)?);
                Ok(0)
            }
            Call::Epoll => {
                made.push(table.epoll(0, libc::EPOLL_CLOEXEC)?);
                Ok(0)
            }
            Call::Pipe | Call::Sockets => {
                made.extend(table.pair_of(0, flags, matches!(call, Call::Sockets))?);
                Ok(0)
            }
            Call::Duplicate(of) => {
                made.push(table.duplicate(0, open[of], true)?);
                Ok(0)
            }
            Call::Close(of) => table.close(0, open[of]).map(|()| 0),
            Call::Read(of, size) | Call::Peek(of, size) => {
                let file = table.opened(open[of])?;
                let how = if matches!(call, Call::Peek(..)) {
                    How::Peek
                } else {
                    How::Read
                };
                if how == How::Peek && table.sort(file) != Sort::Socket {
                    return Err(libc::ENOTSOCK);
                }
                bytes = table.read(file, size, how)?;
                Ok(bytes.len())
            }
            Call::Write(of, word, size) => {
                let file = table.opened(open[of])?;
                table.write(file, &word.to_ne_bytes()[..size], true)
            }
            Call::ShutDown(of, how) => {
                let file = table.opened(open[of])?;
                table.shut_down(file, how).map(|()| 0)
            }
            Call::Error(of) => {
                let file = table.opened(open[of])?;
                match table.sort(file) == Sort::Socket {
                    true => Ok(table.take_error(file) as usize),
                    false => Err(libc::ENOTSOCK),
                }
            }
            Call::Control(of, how, watched, asked) => {
                let epoll = table.opened(open[of])?;
                table
                    .control(epoll, how, open[watched], asked, watched as u64)
                    .map(|()| 0)
            }
            Call::Wait(of, most) => {
                let told = table.wait(table.opened(open[of])?, most)?;
                events = told.iter().map(|event| (event.events, event.data)).collect();
                Ok(told.len())
            }
            Call::Poll(of, asked) => Ok(table.poll(open[of], asked) as usize),
            Call::Unread(of) => table.unread(table.opened(open[of])?),
            Call::Flags(of) => Ok(table.flags(table.opened(open[of])?) as usize),
        });
        events.sort();
        ((number(result), bytes, events), made)
    }
}

impl Number {
    fn opened(self, table: &Table) -> Number {
        table.opened(self).unwrap()
    }
}

impl Drop for Both {
    fn drop(&mut self) {
        for (descriptor, _) in &self.open {
            // SAFETY: the test has made it.
            unsafe { libc::close(*descriptor) };
        }
    }
}

/// Random calls that do not wait return the same of the kernel and of the model.
#[test]
fn calls_do_what_those_of_the_kernel_do() {
    for seed in 0..2_000 {
        let mut both = Both {
            table: Table::default(),
            open: Vec::new(),
            draws: SplitMix64::new(seed),
        };
        let mut script = Vec::new();
        for _ in 0..60 {
            let call = both.draw();
            if let Call::Control(_, _, watched, _) = call
                && both.table.sort(both.open[watched].1.opened(&both.table)) == Sort::Epoll
            {
                // One set that watches another is not supported.
                continue;
            }
            if let Call::Unread(of) = call
                && both.table.end(both.open[of].1.opened(&both.table)).is_none()
            {
                // Which error there is depends on the kernel's version.
                continue;
            }
            script.push(call);
            let (expected, descriptors) = both.kernels(call);
            let (found, numbers) = both.models(call);
            assert_eq!(found, expected, "seed {seed}: {script:?}");
            if let Call::Close(of) = call {
                both.open.remove(of);
            }
            both.open.extend(descriptors.into_iter().zip(numbers));
        }
    }
}
