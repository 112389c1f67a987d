//! async-channel.

use std::thread;

#[test]
#[ignore = "takes long to explore"]
fn messages_of_two_producers_arrive() {
    let (sender, receiver) = async_channel::unbounded();
    let children = [1, 2].map(|message| {
        let sender = sender.clone();
        thread::spawn(move || sender.send_blocking(message).unwrap())
    });
    let (first, second) = (receiver.recv_blocking().unwrap(), receiver.recv_blocking().unwrap());
    assert_eq!(first + second, 3);
    children.into_iter().for_each(|child| child.join().unwrap());
}
