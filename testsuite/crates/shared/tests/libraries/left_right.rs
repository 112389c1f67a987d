//! left-right.

use left_right::Absorb;
use std::thread;

#[derive(Clone)]
struct Count(i32);
struct Add(i32);

impl Absorb<Add> for Count {
    fn absorb_first(&mut self, add: &mut Add, _: &Self) {
        self.0 += add.0;
    }

    fn sync_with(&mut self, first: &Self) {
        self.0 = first.0;
    }
}

#[test]
fn a_reader_sees_whole_publications() {
    let (mut writer, reader) = left_right::new_from_empty(Count(0));
    let child = thread::spawn(move || reader.enter().map(|count| count.0));
    writer.append(Add(1)).append(Add(1)).publish();
    assert!(matches!(child.join().unwrap(), Some(0 | 2)));
}

#[test]
fn a_writer_that_is_gone_leaves_nothing() {
    let (mut writer, reader) = left_right::new_from_empty(Count(0));
    writer.append(Add(1)).publish();
    let child = thread::spawn(move || drop(writer));
    assert!(matches!(reader.enter().map(|count| count.0), None | Some(1)));
    child.join().unwrap();
    assert!(reader.enter().is_none());
}
