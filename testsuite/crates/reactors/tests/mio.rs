//! mio.

use mio::net::UnixStream;
use mio::{Events, Interest, Poll, Token, Waker};
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

fn told(poll: &mut Poll, timeout: Option<Duration>) -> Vec<usize> {
    let mut events = Events::with_capacity(4);
    poll.poll(&mut events, timeout).unwrap();
    events.iter().map(|event| event.token().0).collect()
}

#[test]
fn a_waker_ends_the_wait() {
    let mut poll = Poll::new().unwrap();
    let waker = Arc::new(Waker::new(poll.registry(), Token(1)).unwrap());
    let other = Arc::clone(&waker);
    let wakes = thread::spawn(move || other.wake().unwrap());
    assert_eq!(told(&mut poll, None), [1]);
    wakes.join().unwrap();
    assert_eq!(told(&mut poll, Some(Duration::ZERO)), []);
}

#[test]
fn two_wake_ups_are_one_or_two() {
    let mut poll = Poll::new().unwrap();
    let waker = Arc::new(Waker::new(poll.registry(), Token(1)).unwrap());
    let other = Arc::clone(&waker);
    let wakes = thread::spawn(move || {
        other.wake().unwrap();
        other.wake().unwrap();
    });
    assert_eq!(told(&mut poll, None), [1]);
    let again = told(&mut poll, Some(Duration::from_millis(1)));
    assert!(again.is_empty() || again == [1]);
    wakes.join().unwrap();
}

#[test]
fn a_message_is_read() {
    let mut poll = Poll::new().unwrap();
    let (mut reader, mut writer) = UnixStream::pair().unwrap();
    poll.registry()
        .register(&mut reader, Token(1), Interest::READABLE)
        .unwrap();
    let writes = thread::spawn(move || writer.write_all(b"ab").unwrap());
    let mut all = Vec::new();
    loop {
        assert_eq!(told(&mut poll, None), [1]);
        match reader.read_to_end(&mut all) {
            Ok(_) => break,
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
    }
    assert_eq!(all, b"ab");
    writes.join().unwrap();
}
