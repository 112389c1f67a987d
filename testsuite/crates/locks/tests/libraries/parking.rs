//! parking.

use std::thread;

#[test]
fn a_token_is_waited_for() {
    let (parker, unparker) = parking::pair();
    let child = thread::spawn(move || unparker.unpark());
    parker.park();
    child.join().unwrap();
}

#[test]
fn one_of_two_tokens_is_new() {
    let (parker, unparker) = parking::pair();
    let child = {
        let unparker = unparker.clone();
        thread::spawn(move || unparker.unpark())
    };
    let mine = unparker.unpark();
    assert!(mine != child.join().unwrap());
    parker.park();
}
