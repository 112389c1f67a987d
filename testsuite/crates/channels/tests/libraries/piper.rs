//! piper.

use std::task::{Context, Poll, Waker};
use std::thread;

#[test]
fn bytes_arrive_in_order_or_not_yet() {
    let (mut reader, mut writer) = piper::pipe(2);
    let child = thread::spawn(move || {
        let mut context = Context::from_waker(Waker::noop());
        assert!(matches!(writer.poll_fill_bytes(&mut context, &[1, 2]), Poll::Ready(2)));
    });
    let mut bytes = [0; 2];
    let mut context = Context::from_waker(Waker::noop());
    match reader.poll_drain_bytes(&mut context, &mut bytes) {
        Poll::Ready(2) => assert_eq!(bytes, [1, 2]),
        Poll::Ready(count) => assert_eq!(count, 0),
        Poll::Pending => {}
    }
    child.join().unwrap();
}

#[test]
fn a_closed_pipe_ends() {
    let (mut reader, writer) = piper::pipe(1);
    let child = thread::spawn(move || drop(writer));
    child.join().unwrap();
    let mut context = Context::from_waker(Waker::noop());
    assert!(matches!(
        reader.poll_drain_bytes(&mut context, &mut [0]),
        Poll::Ready(0)
    ));
}
