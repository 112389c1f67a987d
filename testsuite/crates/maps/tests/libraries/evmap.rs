//! evmap.

use std::thread;

#[test]
fn what_is_published_is_read_or_not_yet() {
    let (mut writer, reader) = evmap::new();
    let child = thread::spawn(move || reader.get_one(&1).map(|value| *value));
    writer.insert(1, 7);
    writer.publish();
    assert!(matches!(child.join().unwrap(), None | Some(7)));
}

#[test]
fn what_is_not_published_is_not_read() {
    let (mut writer, reader) = evmap::new::<i32, i32>();
    let child = thread::spawn(move || reader.get_one(&1).is_none());
    writer.insert(1, 7);
    assert!(child.join().unwrap());
}
