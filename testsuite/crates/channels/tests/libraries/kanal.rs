//! kanal.

use std::thread;

#[test]
#[ignore = "takes long to explore"]
fn a_bounded_channel_hands_over() {
    let (sender, receiver) = kanal::bounded(0);
    let child = thread::spawn(move || sender.send(1).unwrap());
    assert_eq!(receiver.recv(), Ok(1));
    child.join().unwrap();
}

#[test]
#[ignore = "takes long to explore"]
fn a_full_channel_refuses_one_of_two() {
    let (sender, receiver) = kanal::bounded(1);
    let child = {
        let sender = sender.clone();
        thread::spawn(move || sender.try_send(1).unwrap())
    };
    let mine = sender.try_send(2).unwrap();
    assert!(mine != child.join().unwrap());
    assert!(receiver.recv().is_ok());
}

#[test]
#[ignore = "takes long to explore"]
fn an_unbounded_channel_keeps_the_order() {
    let (sender, receiver) = kanal::unbounded();
    let child = thread::spawn(move || {
        sender.send(1).unwrap();
        sender.send(2).unwrap();
    });
    assert_eq!((receiver.recv(), receiver.recv()), (Ok(1), Ok(2)));
    child.join().unwrap();
}
