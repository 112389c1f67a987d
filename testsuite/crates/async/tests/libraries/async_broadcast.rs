//! async-broadcast.

use pollster::block_on;
use std::thread;

#[test]
#[ignore = "takes long to explore"]
fn a_message_reaches_both() {
    let (sender, receiver) = async_broadcast::broadcast(1);
    let children = [receiver.clone(), receiver].map(|mut receiver| thread::spawn(move || block_on(receiver.recv())));
    block_on(sender.broadcast(1)).unwrap();
    children
        .into_iter()
        .for_each(|child| assert_eq!(child.join().unwrap(), Ok(1)));
}

#[test]
fn a_message_reaches_one() {
    let (sender, mut receiver) = async_broadcast::broadcast(1);
    let child = thread::spawn(move || block_on(receiver.recv()));
    block_on(sender.broadcast(1)).unwrap();
    assert_eq!(child.join().unwrap(), Ok(1));
}
