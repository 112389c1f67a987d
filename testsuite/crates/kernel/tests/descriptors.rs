//! Pipes, pairs of sockets, counters and `epoll`, by which threads wait for each other.

use kernel::descriptors::{Epoll, EventFd, Timer, poll};
use libc::{EFD_NONBLOCK, EFD_SEMAPHORE, EPOLLET, EPOLLIN, EPOLLONESHOT, EPOLLOUT, EPOLLRDHUP, TFD_NONBLOCK};
use std::cell::UnsafeCell;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// Memory that only descriptors order.
struct Plain(UnsafeCell<u32>);

// SAFETY: the tests are about whether accesses are ordered.
unsafe impl Sync for Plain {}

impl Plain {
    const fn new() -> Plain {
        Plain(UnsafeCell::new(0))
    }

    fn set(&self, value: u32) {
        // SAFETY: the checker tells if it is not.
        unsafe { *self.0.get() = value };
    }

    fn get(&self) -> u32 {
        // SAFETY: the checker tells if it is not.
        unsafe { *self.0.get() }
    }
}

// Counters.

#[test]
fn a_reader_waits_for_a_writer() {
    let (counter, plain) = (EventFd::new(0, 0), Plain::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            plain.set(1);
            counter.write(3).unwrap();
        });
        assert_eq!(counter.read().unwrap(), 3);
        assert_eq!(plain.get(), 1);
    });
}

fn two_write(counter: &EventFd) -> u64 {
    thread::scope(|scope| {
        scope.spawn(|| counter.write(1).unwrap());
        scope.spawn(|| counter.write(1).unwrap());
        counter.read().unwrap()
    })
}

#[test]
fn what_two_write_is_added_or_not_yet_there() {
    let counter = EventFd::new(0, EFD_NONBLOCK);
    let found = two_write(&EventFd::new(0, 0));
    assert!(found == 1 || found == 2);
    assert_eq!(counter.read().unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn reach_one_of_two_writes_is_read() {
    assert_ne!(two_write(&EventFd::new(0, 0)), 1);
}

#[test]
fn reach_both_writes_are_read() {
    assert_ne!(two_write(&EventFd::new(0, 0)), 2);
}

#[test]
fn each_of_two_readers_takes_one() {
    let counter = EventFd::new(2, EFD_SEMAPHORE);
    thread::scope(|scope| {
        scope.spawn(|| assert_eq!(counter.read().unwrap(), 1));
        assert_eq!(counter.read().unwrap(), 1);
    });
}

#[test]
fn one_of_two_readers_waits_for_ever() {
    let counter = EventFd::new(2, 0);
    thread::scope(|scope| {
        scope.spawn(|| counter.read().unwrap());
        counter.read().unwrap();
    });
}

#[test]
fn a_writer_waits_for_room() {
    let counter = EventFd::new(0, 0);
    counter.write(u64::MAX >> 2).unwrap();
    counter.write(u64::MAX >> 2).unwrap();
    counter.write(u64::MAX >> 2).unwrap();
    counter.write(u64::MAX >> 3).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| counter.write(u64::MAX >> 2).unwrap());
        assert!(counter.read().unwrap() > u64::MAX >> 1);
    });
    assert_eq!(counter.read().unwrap(), u64::MAX >> 2);
}

#[test]
fn a_counter_that_is_not_read_orders_nothing() {
    let (counter, plain) = (EventFd::new(1, 0), Plain::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            plain.set(1);
            counter.write(1).unwrap();
        });
        assert!(counter.read().unwrap() > 0);
        plain.get();
    });
}

/// Closes a descriptor by its number, of which an owner is forgotten.
fn close(owned: std::os::fd::OwnedFd) -> i32 {
    // SAFETY: nobody else closes it.
    unsafe { libc::close(std::os::fd::IntoRawFd::into_raw_fd(owned)) }
}

#[test]
fn a_closed_copy_is_an_error() {
    let counter = EventFd::new(1, 0);
    let copy = counter.0.try_clone().unwrap();
    let number = copy.as_raw_fd();
    assert_eq!(close(copy), 0);
    let mut value = 0u64;
    // SAFETY: there is room for a number.
    assert_eq!(unsafe { libc::read(number, (&raw mut value).cast(), 8) }, -1);
    assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EBADF));
    assert_eq!(counter.read().unwrap(), 1);
}

#[test]
fn a_wait_for_what_another_closes() {
    let counter = EventFd::new(0, 0);
    let number = counter.0.as_raw_fd();
    let closes = thread::spawn(move || close(counter.0));
    let mut value = 0u64;
    // SAFETY: there is room for a number.
    unsafe { libc::read(number, (&raw mut value).cast(), 8) };
    closes.join().unwrap();
}

// Pipes and sockets.

#[test]
fn bytes_come_in_order() {
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    thread::scope(|scope| {
        scope.spawn(move || {
            writer.write_all(b"ab").unwrap();
            writer.write_all(b"c").unwrap();
        });
        let mut all = Vec::new();
        reader.read_to_end(&mut all).unwrap();
        assert_eq!(all, b"abc");
    });
}

fn first_of_two() -> u8 {
    let (mut reader, writer) = std::io::pipe().unwrap();
    let mut other = writer.try_clone().unwrap();
    let mut writer = writer;
    thread::scope(|scope| {
        scope.spawn(move || writer.write_all(b"a").unwrap());
        scope.spawn(move || other.write_all(b"b").unwrap());
        let mut all = Vec::new();
        reader.read_to_end(&mut all).unwrap();
        assert_eq!(all.len(), 2);
        all[0]
    })
}

#[test]
fn reach_the_first_writer_is_first() {
    assert_ne!(first_of_two(), b'a');
}

#[test]
fn reach_the_second_writer_is_first() {
    assert_ne!(first_of_two(), b'b');
}

#[test]
fn nobody_writes() {
    let (mut reader, _writer) = std::io::pipe().unwrap();
    let _ = reader.read(&mut [0; 2]);
}

#[test]
fn who_has_a_copy_of_the_writer_waits_for_ever() {
    let (mut reader, writer) = std::io::pipe().unwrap();
    let copy = writer.try_clone().unwrap();
    drop(writer);
    let _ = reader.read(&mut [0; 2]);
    drop(copy);
}

#[test]
fn nobody_reads_any_more() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let reads = thread::spawn(move || drop(reader));
    let written = writer.write(b"a");
    reads.join().unwrap();
    if let Err(error) = written {
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    }
    assert_eq!(writer.write(b"a").unwrap_err().kind(), ErrorKind::BrokenPipe);
}

#[test]
fn a_full_pipe_makes_its_writer_wait() {
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(&[1; 1 << 16]).unwrap();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut all = Vec::new();
            reader.read_to_end(&mut all).unwrap();
            assert_eq!(all.len(), (1 << 16) + 2);
        });
        writer.write_all(&[2; 2]).unwrap();
        drop(writer);
    });
}

/// Writes a byte on another thread.
fn writes(mut other: UnixStream) -> thread::JoinHandle<UnixStream> {
    thread::spawn(move || {
        other.write_all(b"a").unwrap();
        other
    })
}

#[test]
fn both_sockets_speak() {
    let (mut one, mut other) = UnixStream::pair().unwrap();
    let echo = thread::spawn(move || {
        let mut byte = [0];
        other.read_exact(&mut byte).unwrap();
        other.write_all(&[byte[0] + 1]).unwrap();
    });
    one.write_all(&[4]).unwrap();
    let mut byte = [0];
    one.read_exact(&mut byte).unwrap();
    assert_eq!(byte, [5]);
    assert_eq!(one.read(&mut byte).unwrap(), 0);
    echo.join().unwrap();
}

#[test]
fn a_socket_that_is_shut_down_is_at_its_end() {
    let (mut one, other) = UnixStream::pair().unwrap();
    let writer = thread::spawn(move || {
        other.shutdown(Shutdown::Write).unwrap();
        other
    });
    assert_eq!(one.read(&mut [0]).unwrap(), 0);
    let mut other = writer.join().unwrap();
    one.write_all(b"a").unwrap();
    assert_eq!(other.read(&mut [0; 2]).unwrap(), 1);
    assert_eq!(other.write(b"a").unwrap_err().kind(), ErrorKind::BrokenPipe);
    drop(other);
    assert!(one.take_error().unwrap().is_none());
}

#[test]
fn a_socket_gives_up_after_a_time() {
    let (mut one, other) = UnixStream::pair().unwrap();
    one.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
    assert_eq!(one.read_timeout().unwrap(), Some(Duration::from_millis(5)));
    let writer = writes(other);
    match one.read(&mut [0; 2]) {
        Ok(read) => assert_eq!(read, 1),
        Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
    }
    writer.join().unwrap();
}

#[test]
fn reach_a_socket_gives_up() {
    let (mut one, other) = UnixStream::pair().unwrap();
    one.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
    let writer = writes(other);
    assert_eq!(one.read(&mut [0; 2]).unwrap(), 1);
    writer.join().unwrap();
}

#[test]
fn a_nonblocking_read_finds_a_byte_or_would_wait() {
    let (mut one, other) = UnixStream::pair().unwrap();
    one.set_nonblocking(true).unwrap();
    let writer = writes(other);
    match one.read(&mut [0; 2]) {
        Ok(read) => assert_eq!(read, 1),
        Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
    }
    writer.join().unwrap();
    assert!(one.local_addr().unwrap().is_unnamed() && one.peer_addr().unwrap().is_unnamed());
}

#[test]
fn who_makes_it_nonblocking_may_come_first() {
    let (mut one, other) = UnixStream::pair().unwrap();
    let copy = one.try_clone().unwrap();
    let setter = thread::spawn(move || copy.set_nonblocking(true).unwrap());
    // Otherwise it waits for ever.
    assert_eq!(one.read(&mut [0; 2]).unwrap_err().kind(), ErrorKind::WouldBlock);
    setter.join().unwrap();
    drop(other);
}

#[test]
fn a_byte_that_is_only_looked_at_stays() {
    let (mut one, mut other) = UnixStream::pair().unwrap();
    other.write_all(b"ab").unwrap();
    let mut byte = [0];
    // SAFETY: there is room for a byte.
    let peeked = unsafe { libc::recv(one.as_raw_fd(), byte.as_mut_ptr().cast(), 1, libc::MSG_PEEK) };
    assert_eq!((peeked, byte), (1, *b"a"));
    let mut parts = [std::io::IoSliceMut::new(&mut []), std::io::IoSliceMut::new(&mut byte)];
    assert_eq!(one.read_vectored(&mut parts).unwrap(), 1);
    assert_eq!(byte, *b"a");
    // Unread bytes are lost with their reader, and the other end is told so.
    drop(one);
    assert_eq!(other.take_error().unwrap().unwrap().kind(), ErrorKind::ConnectionReset);
    assert_eq!(other.take_error().unwrap().map(|error| error.kind()), None);
    assert_eq!(other.read(&mut byte).unwrap(), 0);
}

#[test]
fn bytes_order_what_was_written_before() {
    let (plain, other_plain) = (Plain::new(), Plain::new());
    let (mut one, mut other) = UnixStream::pair().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            plain.set(1);
            other.write_all(b"a").unwrap();
            other.read_exact(&mut [0]).unwrap();
            assert_eq!(other_plain.get(), 2);
        });
        one.read_exact(&mut [0]).unwrap();
        assert_eq!(plain.get(), 1);
        other_plain.set(2);
        one.write_all(b"a").unwrap();
    });
}

#[test]
fn bytes_do_not_order_what_is_written_after() {
    let plain = Plain::new();
    let (mut one, mut other) = UnixStream::pair().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            other.write_all(b"a").unwrap();
            plain.set(1);
        });
        one.read_exact(&mut [0]).unwrap();
        plain.get();
    });
}

#[test]
fn a_broken_pipe_orders_what_was_written_before() {
    let plain = Plain::new();
    let (reader, mut writer) = std::io::pipe().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            plain.set(1);
            drop(reader);
        });
        if writer.write(b"a").is_err() {
            assert_eq!(plain.get(), 1);
        }
    });
}

// poll.

#[test]
fn either_of_two_pipes_is_ready() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let (other_reader, mut other_writer) = std::io::pipe().unwrap();
    thread::scope(|scope| {
        scope.spawn(move || writer.write_all(b"a").unwrap());
        scope.spawn(move || other_writer.write_all(b"b").unwrap());
        let told = poll([(&reader, libc::POLLIN), (&other_reader, libc::POLLIN)], None);
        assert!(told.iter().any(|told| told & libc::POLLIN != 0), "{told:?}");
    });
}

#[test]
fn reach_only_the_second_pipe_is_ready() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let (other_reader, mut other_writer) = std::io::pipe().unwrap();
    thread::scope(|scope| {
        scope.spawn(move || writer.write_all(b"a").unwrap());
        scope.spawn(move || other_writer.write_all(b"b").unwrap());
        let told = poll([(&reader, libc::POLLIN), (&other_reader, libc::POLLIN)], None);
        assert_ne!(told[0] & libc::POLLIN, 0);
    });
}

#[test]
fn poll_gives_up_after_a_time() {
    let (reader, _writer) = std::io::pipe().unwrap();
    let begin = Instant::now();
    assert_eq!(poll([(&reader, libc::POLLIN)], Some(Duration::from_millis(7))), [0]);
    assert!(begin.elapsed() >= Duration::from_millis(7));
}

#[test]
fn poll_waits_for_ever() {
    let (reader, _writer) = std::io::pipe().unwrap();
    poll([(&reader, libc::POLLIN)], None);
}

#[test]
fn poll_sees_that_the_writer_is_gone() {
    let (reader, writer) = std::io::pipe().unwrap();
    let dropper = thread::spawn(move || drop(writer));
    assert_eq!(poll([(&reader, 0)], None), [libc::POLLHUP]);
    dropper.join().unwrap();
}

#[test]
fn a_descriptor_of_epoll_is_not_supported() {
    poll([(&Epoll::new().0, libc::POLLIN)], Some(Duration::ZERO));
}

/// And not found wrong.
#[test]
fn what_is_known_of_a_pipe_as_a_file_is_not_supported() {
    let (reader, _writer) = std::io::pipe().unwrap();
    std::fs::File::from(OwnedFd::from(reader)).metadata().unwrap();
}

// epoll.

#[test]
fn a_wake_up_ends_the_wait() {
    let (epoll, waker) = (Epoll::new(), EventFd::new(0, EFD_NONBLOCK));
    let plain = Plain::new();
    epoll.add(&waker.0, EPOLLIN | EPOLLET, 7).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            plain.set(1);
            waker.write(1).unwrap();
        });
        assert_eq!(epoll.wait(-1), [7]);
        assert_eq!(plain.get(), 1);
    });
    assert_eq!(epoll.wait(0), []);
}

#[test]
fn a_level_is_told_to_both() {
    let (epoll, waker) = (Epoll::new(), EventFd::new(0, 0));
    epoll.add(&waker.0, EPOLLIN, 7).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| assert_eq!(epoll.wait(-1), [7]));
        scope.spawn(|| assert_eq!(epoll.wait(-1), [7]));
        waker.write(1).unwrap();
    });
}

#[test]
fn an_edge_is_told_to_one_of_two() {
    let (epoll, waker) = (Epoll::new(), EventFd::new(0, 0));
    epoll.add(&waker.0, EPOLLIN | EPOLLET, 7).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| epoll.wait(-1));
        scope.spawn(|| epoll.wait(-1));
        waker.write(1).unwrap();
    });
}

#[test]
fn two_edges_are_told_to_both_or_to_one() {
    let (epoll, waker) = (Epoll::new(), EventFd::new(0, 0));
    let told = AtomicU32::new(0);
    epoll.add(&waker.0, EPOLLIN | EPOLLET, 7).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            waker.write(1).unwrap();
            waker.write(1).unwrap();
        });
        assert_eq!(epoll.wait(-1), [7]);
        told.fetch_add(epoll.wait(0).len() as u32, Relaxed);
    });
    told.fetch_add(epoll.wait(0).len() as u32, Relaxed);
    assert!(told.into_inner() <= 1);
}

#[test]
fn who_is_told_once_is_told_no_more() {
    let (epoll, waker) = (Epoll::new(), EventFd::new(0, 0));
    epoll.add(&waker.0, EPOLLIN | EPOLLONESHOT, 7).unwrap();
    assert_eq!(epoll.wait(3), []);
    waker.write(1).unwrap();
    assert_eq!(epoll.wait(-1), [7]);
    assert_eq!(epoll.wait(3), []);
    epoll.change(&waker.0, EPOLLIN, 8).unwrap();
    assert_eq!(epoll.wait(-1), [8]);
    epoll.delete(&waker.0).unwrap();
    assert_eq!(epoll.wait(0), []);
}

#[test]
fn what_is_watched_later_ends_the_wait() {
    let (epoll, waker) = (Epoll::new(), EventFd::new(1, 0));
    thread::scope(|scope| {
        scope.spawn(|| epoll.add(&waker.0, EPOLLIN, 7).unwrap());
        assert_eq!(epoll.wait(-1), [7]);
    });
}

#[test]
fn what_is_watched_later_and_written_later_ends_the_wait() {
    let (epoll, waker, other) = (Epoll::new(), EventFd::new(0, 0), EventFd::new(0, 0));
    epoll.add(&other.0, EPOLLIN, 3).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| epoll.add(&waker.0, EPOLLIN, 7).unwrap());
        scope.spawn(|| waker.write(1).unwrap());
        assert_eq!(epoll.wait(-1), [7]);
    });
}

#[test]
fn what_is_closed_is_told_no_more() {
    let (epoll, waker) = (Epoll::new(), EventFd::new(0, 0));
    let (one, other) = UnixStream::pair().unwrap();
    epoll.add(&waker.0, EPOLLIN, 7).unwrap();
    epoll.add(&one, EPOLLIN | EPOLLRDHUP, 8).unwrap();
    thread::scope(|scope| {
        scope.spawn(move || drop(other));
        waker.write(1).unwrap();
        drop(waker);
        assert_eq!(epoll.wait(-1), [8]);
    });
}

#[test]
fn room_in_a_full_pipe_is_told() {
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(&[1; 1 << 16]).unwrap();
    let epoll = Epoll::new();
    epoll.add(&writer, EPOLLOUT | EPOLLET, 7).unwrap();
    assert_eq!(epoll.wait(0), []);
    thread::scope(|scope| {
        scope.spawn(|| assert_eq!(reader.read(&mut [0; 1 << 16]).unwrap(), 1 << 16));
        assert_eq!(epoll.wait(-1), [7]);
    });
}

/// That there is room orders nothing, but who adds the pipe comes before who is told of it.
#[test]
fn what_is_told_was_there_when_it_was_added() {
    let (epoll, plain) = (Epoll::new(), Plain::new());
    let (_reader, writer) = std::io::pipe().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            plain.set(1);
            epoll.add(&writer, EPOLLOUT | EPOLLET, 7).unwrap();
        });
        assert_eq!(epoll.wait(-1), [7]);
        assert_eq!(plain.get(), 1);
    });
}

#[test]
fn nothing_is_watched() {
    Epoll::new().wait(-1);
}

// Timers.

const TICK: Duration = Duration::from_millis(10);

#[test]
fn a_timer_expires() {
    let timer = Timer::new(0);
    assert_eq!(timer.left(), Duration::ZERO);
    let begin = Instant::now();
    timer.set(TICK, Duration::ZERO);
    assert!(timer.left() > Duration::ZERO && timer.left() <= TICK);
    assert_eq!(timer.read().unwrap(), 1);
    assert!(begin.elapsed() >= TICK);
    assert_eq!(timer.left(), Duration::ZERO);
}

#[test]
fn a_timer_expires_again_and_again() {
    let timer = Timer::new(TFD_NONBLOCK);
    timer.set(TICK, TICK);
    assert_eq!(timer.read().unwrap_err().kind(), ErrorKind::WouldBlock);
    thread::sleep(TICK * 7 / 2);
    assert_eq!(timer.read().unwrap(), 3);
    assert_eq!(poll([(&timer.0, libc::POLLIN)], Some(Duration::ZERO)), [0]);
    assert_eq!(poll([(&timer.0, libc::POLLIN)], None), [libc::POLLIN]);
    assert_eq!(timer.read().unwrap(), 1);
}

#[test]
fn a_timer_that_is_not_set_never_expires() {
    let timer = Timer::new(0);
    timer.set(TICK, TICK);
    timer.set(Duration::ZERO, TICK);
    let _ = timer.read();
}

fn first_of_timer_and_waker() -> Vec<u64> {
    let (epoll, timer, waker) = (Epoll::new(), Timer::new(0), EventFd::new(0, 0));
    epoll.add(&timer.0, EPOLLIN, 1).unwrap();
    epoll.add(&waker.0, EPOLLIN, 2).unwrap();
    timer.set(TICK, Duration::ZERO);
    thread::scope(|scope| {
        scope.spawn(|| waker.write(1).unwrap());
        epoll.wait(-1)
    })
}

#[test]
fn a_timer_or_a_waker_ends_the_wait() {
    let told = first_of_timer_and_waker();
    assert!(told == [1] || told == [2], "{told:?}");
}

#[test]
fn reach_the_timer_is_first() {
    assert_ne!(first_of_timer_and_waker(), [1]);
}

#[test]
fn reach_the_waker_is_first() {
    assert_ne!(first_of_timer_and_waker(), [2]);
}

#[test]
fn the_end_of_the_wait_comes_before_the_timer() {
    let (epoll, timer) = (Epoll::new(), Timer::new(0));
    epoll.add(&timer.0, EPOLLIN | EPOLLET, 1).unwrap();
    timer.set(TICK * 2, Duration::ZERO);
    assert_eq!(epoll.wait(10), []);
    assert_eq!(epoll.wait(100), [1]);
    assert_eq!(epoll.wait(100), []);
}

#[test]
fn a_timer_that_is_set_meanwhile_ends_the_wait() {
    let (epoll, timer) = (Epoll::new(), Timer::new(0));
    epoll.add(&timer.0, EPOLLIN, 1).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| timer.set(TICK, Duration::ZERO));
        assert_eq!(epoll.wait(-1), [1]);
    });
    thread::scope(|scope| {
        scope.spawn(|| timer.set(TICK, Duration::ZERO));
        assert_eq!(timer.read().unwrap(), 1);
    });
}

#[test]
fn a_timer_of_which_nobody_wants_to_be_told_ends_no_wait() {
    let (epoll, timer) = (Epoll::new(), Timer::new(0));
    epoll.add(&timer.0, EPOLLIN | EPOLLONESHOT, 1).unwrap();
    timer.set(TICK, TICK);
    assert_eq!(epoll.wait(-1), [1]);
    let begin = Instant::now();
    assert_eq!(epoll.wait(100), []);
    assert!(begin.elapsed() >= TICK * 10);
    let begin = Instant::now();
    assert_eq!(poll([(&timer.0, 0)], Some(TICK * 10)), [0]);
    assert!(begin.elapsed() >= TICK * 10);
}

#[test]
fn who_is_told_of_a_timer_comes_after_it() {
    let (epoll, timer) = (Epoll::new(), Timer::new(0));
    epoll.add(&timer.0, EPOLLIN, 1).unwrap();
    let begin = Instant::now();
    timer.set(TICK, Duration::ZERO);
    thread::scope(|scope| {
        scope.spawn(|| epoll.wait(-1));
        timer.read().unwrap();
        assert!(begin.elapsed() >= TICK);
        timer.set(TICK, Duration::ZERO);
    });
}

#[test]
fn another_is_watched_while_a_timer_is_waited_for() {
    let (epoll, timer, waker) = (Epoll::new(), Timer::new(0), EventFd::new(0, 0));
    epoll.add(&timer.0, EPOLLIN, 1).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            epoll.add(&waker.0, EPOLLIN, 2).unwrap();
            waker.write(1).unwrap();
        });
        assert_eq!(epoll.wait(-1), [2]);
    });
}

// The kernel's descriptors beside the model's.

#[test]
fn what_the_kernel_has_ready_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (epoll, waker) = (Epoll::new(), EventFd::new(1, 0));
    epoll.add(&listener, EPOLLIN, 1).unwrap();
    epoll.add(&waker.0, EPOLLIN, 2).unwrap();
    assert_eq!(epoll.wait(-1), [2]);
    let _stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    assert_eq!(epoll.wait(-1), [1, 2]);
    assert_eq!(
        poll([(&listener, libc::POLLIN), (&waker.0, libc::POLLIN)], None),
        [1, 1]
    );
}

#[test]
fn only_the_kernel_could_end_the_wait() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (epoll, waker) = (Epoll::new(), EventFd::new(0, 0));
    epoll.add(&socket, EPOLLIN, 1).unwrap();
    epoll.add(&waker.0, EPOLLIN, 2).unwrap();
    epoll.wait(-1);
}
