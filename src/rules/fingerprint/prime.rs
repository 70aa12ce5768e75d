//! Arithmetic modulo a prime that nobody knew before.
//!
//! Promises: a prime is drawn uniformly from those between 2^60 and 2^61; numbers are below it.

use crate::rules::fingerprint::Secret;

/// The least prime that may be drawn, as a power of two; the greatest is below twice that.
pub(super) const LEAST_LOG2: u32 = 60;
/// How many primes there are to draw from, at least, as a power of two: 2^61 / ln 2^61 less 2^60 / ln 2^60.
pub(super) const PRIMES_LOG2: f64 = 54.5;

/// What decides for every number below 2^64 whether it is prime (Sorenson and Webster, "Strong pseudoprimes to twelve prime bases").
const WITNESSES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];

/// A prime.
#[derive(Copy, Clone, Debug)]
pub(super) struct Prime(u64);

impl Prime {
    /// Draws a prime; `None` where none was met.
    pub(super) fn draw(secret: &mut Secret) -> Option<Self> {
        (0..10_000).find_map(|_| {
            let one = (1 << LEAST_LOG2) | (secret.next()? >> 4) | 1;
            Prime(one).is_prime().then_some(Prime(one))
        })
    }

    fn is_prime(self) -> bool {
        let odd = self.0.wrapping_sub(1);
        let twos = odd.trailing_zeros();
        WITNESSES.iter().all(|base| {
            let mut x = self.power(*base, odd.wrapping_shr(twos));
            if x == 1 || x == odd {
                return true;
            }
            (1..twos).any(|_| {
                x = self.times(x, x);
                x == odd
            })
        })
    }

    /// Returns the remainder of a number.
    pub(super) fn of(self, v: u128) -> u64 {
        u64::try_from(v.checked_rem(u128::from(self.0)).unwrap_or(0)).unwrap_or(0)
    }

    /// Returns a number that may be negative.
    pub(super) fn whole(self, v: i64) -> u64 {
        let far = self.of(u128::from(v.unsigned_abs()));
        if v < 0 { self.minus(far) } else { far }
    }

    pub(super) fn plus(self, a: u64, b: u64) -> u64 {
        let sum = a.wrapping_add(b);
        if sum >= self.0 { sum.wrapping_sub(self.0) } else { sum }
    }

    pub(super) fn minus(self, a: u64) -> u64 {
        if a == 0 { 0 } else { self.0.wrapping_sub(a) }
    }

    pub(super) fn times(self, a: u64, b: u64) -> u64 {
        self.of(u128::from(a).wrapping_mul(u128::from(b)))
    }

    /// Returns a power.
    pub(super) fn power(self, base: u64, exponent: u64) -> u64 {
        let (mut out, mut square, mut left) = (1, self.of(u128::from(base)), exponent);
        while left != 0 {
            if left & 1 == 1 {
                out = self.times(out, square);
            }
            square = self.times(square, square);
            left >>= 1;
        }
        out
    }

    /// Returns what gives 1 with a number that is not 0: its power by two less than the prime (Fermat).
    pub(super) fn inverse(self, a: u64) -> Option<u64> {
        (a != 0).then(|| self.power(a, self.0.wrapping_sub(2)))
    }

    /// Whether a number is in the upper half: the opposite of one that is not.
    pub(super) fn is_negative(self, a: u64) -> bool {
        a > self.0 >> 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes_are_told_from_what_is_none() {
        let prime = |v| Prime(v).is_prime();
        assert!(prime((1 << 61) - 1) && prime(1_152_921_504_606_847_009));
        // The last is the product of two primes near 2^30.5, the others pass the test for some bases.
        assert!(!prime((1 << 61) + 1) && !prime(3_825_123_056_546_413_051) && !prime(1_518_500_249 * 1_518_500_213));
    }

    #[test]
    fn what_is_divided_is_multiplied_back() {
        let p = Prime::draw(&mut Secret::fixed(7)).unwrap();
        for a in [1, 2, 3, 1 << 50, p.0 - 1] {
            assert_eq!(p.times(a, p.inverse(a).unwrap()), 1);
            assert_eq!(p.plus(a, p.minus(a)), 0);
        }
        assert_eq!((p.inverse(0), p.whole(-1)), (None, p.0 - 1));
        assert!(p.0 >> 60 == 1 && p.is_negative(p.whole(-5)) && !p.is_negative(5));
    }
}
