//! left-right: a writer that is dropped waits for readers that were there at the swap before its last one, and makes its
//! fence after that, so that a reader may still use what is freed.

use left_right::Absorb;
use std::thread;

#[derive(Clone)]
struct Number(u32);

impl Absorb<u32> for Number {
    fn absorb_first(&mut self, operation: &mut u32, _: &Self) {
        self.0 += *operation;
    }

    fn sync_with(&mut self, first: &Self) {
        self.0 = first.0;
    }
}

#[test]
fn a_reader_keeps_what_it_reads() {
    let (writer, reader) = left_right::new_from_empty::<Number, u32>(Number(1));
    let thread = thread::spawn(move || assert!(reader.enter().is_none_or(|number| number.0 == 1)));
    drop(writer);
    thread.join().unwrap();
}
