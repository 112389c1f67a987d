//! bus.

use bus::Bus;
use std::thread;

#[test]
#[ignore = "takes long to explore"]
fn a_message_reaches_the_reader() {
    let mut bus = Bus::new(1);
    let mut reader = bus.add_rx();
    let child = thread::spawn(move || reader.recv());
    bus.broadcast(1);
    assert_eq!(child.join().unwrap(), Ok(1));
}

#[test]
fn a_message_that_is_there_is_read_by_both() {
    let mut bus = Bus::new(1);
    let mut readers = [bus.add_rx(), bus.add_rx()];
    bus.broadcast(1);
    let [mine, theirs] = &mut readers;
    thread::scope(|scope| {
        let child = scope.spawn(|| theirs.try_recv());
        assert_eq!(mine.try_recv(), Ok(1));
        assert_eq!(child.join().unwrap(), Ok(1));
    });
}
