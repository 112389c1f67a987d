//! r2d2, with connections that are numbers.

use r2d2::{ManageConnection, Pool};
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

#[derive(Default)]
struct Numbers(AtomicUsize);

impl ManageConnection for Numbers {
    type Connection = usize;
    type Error = Infallible;

    fn connect(&self) -> Result<usize, Infallible> {
        Ok(self.0.fetch_add(1, SeqCst))
    }

    fn is_valid(&self, _: &mut usize) -> Result<(), Infallible> {
        Ok(())
    }

    fn has_broken(&self, _: &mut usize) -> bool {
        false
    }
}

#[test]
#[ignore = "takes long to explore"]
fn one_of_two_gets_the_connection_at_least() {
    let pool = Pool::builder().max_size(1).build_unchecked(Numbers::default());
    let child = {
        let pool = pool.clone();
        thread::spawn(move || pool.try_get().map(|connection| *connection))
    };
    let mine = pool.try_get().map(|connection| *connection);
    let theirs = child.join().unwrap();
    assert!([mine, theirs].into_iter().flatten().all(|number| number == 0));
}
