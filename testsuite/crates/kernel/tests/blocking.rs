//! Calls that would stop the model's one thread.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (one, listener.accept().unwrap().0)
}

#[test]
fn what_is_there_is_read() {
    let (mut sender, mut receiver) = pair();
    sender.write_all(b"x").unwrap();
    assert_eq!(receiver.read(&mut [0; 2]).unwrap(), 1);
    drop(sender);
    assert_eq!(receiver.read(&mut [0; 2]).unwrap(), 0);
}

#[test]
fn a_read_that_would_block() {
    let (sender, mut receiver) = pair();
    let _ = receiver.read(&mut [0; 2]);
    drop(sender);
}

#[test]
fn a_read_that_is_not_to_block() {
    let (_sender, mut receiver) = pair();
    receiver.set_nonblocking(true).unwrap();
    let error = receiver.read(&mut [0; 2]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn a_poll_that_would_wait() {
    let (_sender, receiver) = pair();
    let mut asked = libc::pollfd {
        fd: std::os::fd::AsRawFd::as_raw_fd(&receiver),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one entry.
    assert_eq!(unsafe { libc::poll(&raw mut asked, 1, 0) }, 0);
    // SAFETY: one entry.
    unsafe { libc::poll(&raw mut asked, 1, -1) };
}

#[test]
fn a_process() {
    let _ = Command::new("true").status();
}

#[test]
fn a_wait_for_a_signal() {
    // SAFETY: waits.
    unsafe { libc::pause() };
}
