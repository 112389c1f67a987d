//! Values that are kept once, and have numbers.

use crate::codec::put_all;
use crate::keys::KeyMap;
use std::hash::Hash;
use std::rc::Rc;

/// Different values with numbers, which are given in the order in which they come, and stay. The default value has
/// number 0.
#[derive(Debug)]
pub(super) struct Numbered<T> {
    all: Vec<Rc<T>>,
    numbers: KeyMap<Rc<T>, u32>,
}

impl<T: Default + Eq + Hash> Default for Numbered<T> {
    fn default() -> Self {
        let mut numbered = Numbered {
            all: Vec::new(),
            numbers: KeyMap::default(),
        };
        numbered.add(T::default());
        numbered
    }
}

impl<T: Eq + Hash> Numbered<T> {
    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn number(&self, value: &T) -> Option<u32> {
        self.numbers.get(value).copied()
    }

    /// Adds a value that has no number yet, and returns its number.
    pub fn add(&mut self, value: T) -> u32 {
        let number = self.all.len() as u32;
        let value = Rc::new(value);
        self.all.push(value.clone());
        self.numbers.insert(value, number);
        number
    }

    /// The value with this number, which was given here.
    pub fn get(&self, number: u32) -> &Rc<T> {
        &self.all[number as usize]
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &T> {
        self.all.iter().map(|value| &**value)
    }
}

impl<T: crate::codec::Codec + Eq + Hash> Numbered<T> {
    /// Encodes the values, from which a vector of them can be decoded.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_all(self.iter(), out);
    }
}
