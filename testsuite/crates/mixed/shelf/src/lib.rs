//! Things in numbered places. Without std there is `alloc`, for which std itself can stand in.
#![no_std]

macro_rules! libraries {
    () => {
        extern crate core as std_without_threads;
        extern crate std as alloc;
    };
}
libraries!();

#[cfg(test)]
extern crate crossbeam_utils;

use alloc::sync::Mutex;
use alloc::vec::Vec;
use std_without_threads::mem;

/// A shelf, on which places are filled from the left.
///
/// ```
/// let shelf = shelf::Shelf::default();
/// assert_eq!(shelf.put("book"), 0);
/// ```
pub struct Shelf<T> {
    places: Mutex<Vec<T>>,
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Shelf {
            places: Mutex::new(Vec::new()),
        }
    }
}

impl<T> Shelf<T> {
    /// Puts something into the next place, and says which it is.
    pub fn put(&self, thing: T) -> usize {
        let mut places = self.places.lock().unwrap();
        places.push(thing);
        places.len() - 1
    }

    /// Removes everything.
    pub fn clear(&self) -> Vec<T> {
        mem::replace(&mut *self.places.lock().unwrap(), Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use crossbeam_utils::thread;
    use Shelf;

    #[test]
    fn each_thing_has_a_place() {
        let shelf = Shelf::default();
        thread::scope(|scope| {
            for thing in 0..2 {
                let shelf = &shelf;
                scope.spawn(move |_| shelf.put(thing));
            }
        })
        .unwrap();
        let mut things = shelf.clear();
        things.sort();
        assert_eq!(things, [0, 1]);
    }

    #[test]
    fn the_first_thing_is_in_the_first_place() {
        let shelf = Shelf::default();
        thread::scope(|scope| {
            scope.spawn(|_| shelf.put('a'));
            scope.spawn(|_| shelf.put('b'));
        })
        .unwrap();
        assert_eq!(shelf.clear(), ['a', 'b']);
    }
}
