//! Numbers that look random and are the same in every run: SplitMix64 (Steele, Lea, Flood, *Fast Splittable
//! Pseudorandom Number Generators*, OOPSLA 2014).

/// The stream of numbers of a seed.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

crate::codec!(struct SplitMix64 { 0 });

impl SplitMix64 {
    /// The increment of the state from one number to the next: 2⁶⁴ over the golden ratio.
    pub const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

    /// The stream of the seed.
    pub const fn new(seed: u64) -> Self {
        SplitMix64(seed)
    }

    /// The next number.
    pub const fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(Self::GAMMA);
        Self::mix(self.0)
    }

    /// Draws a number below the bound, practically uniform if the bound is small.
    ///
    /// # Panics
    /// If the bound is 0.
    pub const fn below(&mut self, bound: usize) -> usize {
        (self.draw() % bound as u64) as usize
    }

    /// The finaliser alone: a bijection after which near numbers are far apart.
    pub const fn mix(z: u64) -> u64 {
        let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::SplitMix64;

    /// The first numbers of the authors' `splitmix64.c` for this seed.
    #[test]
    fn gives_the_published_numbers() {
        let mut random = SplitMix64::new(1_234_567);
        let first = [(); 3].map(|()| random.draw());
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }
}
