//! bytes.

use bytes::{Bytes, BytesMut};
use std::thread;

#[test]
fn two_share_what_one_allocated() {
    let bytes = Bytes::from(vec![1, 2, 3]);
    let child = {
        let bytes = bytes.clone();
        thread::spawn(move || bytes.slice(1..).len())
    };
    assert_eq!(bytes.slice(..1), [1][..]);
    drop(bytes);
    assert_eq!(child.join().unwrap(), 2);
}

#[test]
fn who_is_alone_gets_the_buffer_back() {
    let bytes = Bytes::from(vec![1, 2]);
    let child = {
        let bytes = bytes.clone();
        thread::spawn(move || drop(bytes))
    };
    match bytes.try_into_mut() {
        Ok(mut buffer) => buffer[0] = 3,
        Err(shared) => assert_eq!(shared[0], 1),
    }
    child.join().unwrap();
}

#[test]
fn halves_of_a_buffer_are_written_apart() {
    let mut left = BytesMut::from(&[0, 0][..]);
    let mut right = left.split_off(1);
    let child = thread::spawn(move || {
        right[0] = 2;
        right
    });
    left[0] = 1;
    left.unsplit(child.join().unwrap());
    assert_eq!(left, [1, 2][..]);
}
