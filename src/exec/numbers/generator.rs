//! Random numbers of a run: drawn from a seed, the same on every machine.
//!
//! Not PyTorch's stream: results of random operators are compared by shape and dtype only.

/// A generator (xoshiro256**, D. Blackman and S. Vigna), seeded by splitmix64.
#[derive(Clone, Debug)]
pub struct Generator([u64; 4]);

impl Generator {
    /// Returns a generator of that seed.
    pub fn new(seed: u64) -> Self {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        Generator([next(), next(), next(), next()])
    }

    /// Returns 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = self.0;
        let out = b.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let (c, d) = (c ^ a, d ^ b);
        self.0 = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        out
    }

    /// Returns a number from 0 inclusive to 1 exclusive.
    #[allow(clippy::cast_precision_loss)]
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Returns a number of the standard normal distribution (Box-Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Returns an integer from `low` inclusive to `high` exclusive; `low` where there is none.
    pub fn integer(&mut self, low: i64, high: i64) -> i64 {
        let span = u64::try_from(i128::from(high).saturating_sub(i128::from(low))).unwrap_or(0);
        let offset = u128::from(self.bits()).wrapping_mul(u128::from(span)) >> 64;
        low.wrapping_add(i64::try_from(offset).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_in_their_ranges() {
        let (mut a, mut b) = (Generator::new(7), Generator::new(7));
        for _ in 0..1000 {
            let u = a.uniform();
            assert!((0.0..1.0).contains(&u));
            assert_eq!(u.to_bits(), b.uniform().to_bits());
            let n = a.integer(-3, 4);
            assert!((-3..4).contains(&n));
            b.integer(-3, 4);
        }
    }
}
