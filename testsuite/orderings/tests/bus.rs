//! bus: a reader finds the bus closed, but not the message that was sent before.

use bus::Bus;
use std::thread;

#[test]
fn a_message_is_read_before_the_end() {
    let mut bus = Bus::new(1);
    let mut reader = bus.add_rx();
    let writer = thread::spawn(move || bus.broadcast(1));
    assert_eq!(reader.recv(), Ok(1));
    writer.join().unwrap();
}
