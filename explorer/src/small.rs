//! [`Codec`] for small vectors.

use crate::codec::{Codec, put_all, take_all};
use smallvec::{Array, SmallVec};

impl<A: Array<Item: Codec>> Codec for SmallVec<A> {
    fn encode(&self, out: &mut Vec<u8>) {
        put_all(self.iter(), out);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        take_all(from, SmallVec::push)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{from_bytes, to_bytes};

    #[test]
    fn small_vectors_survive_the_journey() {
        for items in [&[][..], &[1], &[1, 2, 300]] {
            let value = SmallVec::<[u32; 2]>::from_slice(items);
            let bytes = to_bytes(&value);
            assert_eq!(bytes, to_bytes(&items.to_vec()), "it is written as any other vector");
            assert_eq!(from_bytes(&bytes), Some(value));
        }
    }
}
