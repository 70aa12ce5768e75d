//! Ranges of integers, and arithmetic on them.
//!
//! Promise: the result of each operation holds every value that the operation gives for operands in the given ranges (it may hold more).
//! An open end is `None`; a bound beyond 64 bits becomes an open end, or the nearest bound that still holds.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The integers from `min` to `max`, both included; `None` is unbounded. Prints as PyTorch prints it: `VR[0, int_oo]`.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Range {
    /// The least value.
    pub min: Option<i64>,
    /// The greatest value.
    pub max: Option<i64>,
}

/// Stands for an infinite bound in [`Wide`]; beyond every 64-bit value.
const INFINITE: i128 = 1 << 64;

impl Range {
    /// All integers.
    pub const ALL: Range = Range { min: None, max: None };
    /// What a size may be when nothing is said: `VR[0, int_oo]`.
    pub const SIZE: Range = Range { min: Some(0), max: None };

    /// The range from `min` to `max`.
    pub fn new(min: impl Into<Option<i64>>, max: impl Into<Option<i64>>) -> Range {
        Range { min: min.into(), max: max.into() }
    }

    /// The range of one value.
    pub fn only(value: i64) -> Range {
        Range { min: Some(value), max: Some(value) }
    }

    /// The value, where there is only one.
    pub fn single(&self) -> Option<i64> {
        if self.min == self.max { self.min } else { None }
    }

    /// Whether the range holds no integer.
    pub fn is_empty(&self) -> bool {
        matches!((self.min, self.max), (Some(min), Some(max)) if min > max)
    }

    /// Whether `value` is in the range.
    pub fn contains(&self, value: i64) -> bool {
        self.min.is_none_or(|min| min <= value) && self.max.is_none_or(|max| value <= max)
    }

    /// Whether every value is at least `bound`.
    pub fn at_least(&self, bound: i64) -> bool {
        self.min.is_some_and(|min| min >= bound)
    }

    /// Whether every value is at most `bound`.
    pub fn at_most(&self, bound: i64) -> bool {
        self.max.is_some_and(|max| max <= bound)
    }

    /// The values that are in both; of two contradicting ranges it is empty.
    pub fn intersect(&self, other: &Range) -> Range {
        Range {
            min: match (self.min, other.min) {
                (Some(a), Some(b)) => Some(a.max(b)),
                (a, b) => a.or(b),
            },
            max: match (self.max, other.max) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            },
        }
    }

    /// The smallest range that holds both.
    pub fn union(&self, other: &Range) -> Range {
        Range {
            min: self.min.zip(other.min).map(|(a, b)| a.min(b)),
            max: self.max.zip(other.max).map(|(a, b)| a.max(b)),
        }
    }

    /// The sums.
    pub fn plus(&self, other: &Range) -> Range {
        let (a, b) = (Wide::of(self), Wide::of(other));
        let low = if a.low <= -INFINITE || b.low <= -INFINITE { -INFINITE } else { a.low.saturating_add(b.low) };
        let high = if a.high >= INFINITE || b.high >= INFINITE { INFINITE } else { a.high.saturating_add(b.high) };
        Wide { low, high }.range()
    }

    /// The negated values.
    pub fn negated(&self) -> Range {
        let a = Wide::of(self);
        Wide { low: a.high.saturating_neg(), high: a.low.saturating_neg() }.range()
    }

    /// The products.
    pub fn times(&self, other: &Range) -> Range {
        let (a, b) = (Wide::of(self), Wide::of(other));
        Wide::hull(corners(a, b).map(|(x, y)| x.saturating_mul(y)))
    }

    /// The powers with one exponent.
    pub fn power(&self, exponent: u32) -> Range {
        if exponent == 0 {
            return Range::only(1);
        }
        let a = Wide::of(self);
        let raise =
            |x: i128| (0..exponent).fold(1i128, |product, _| product.saturating_mul(x).clamp(-INFINITE, INFINITE));
        let ends = Wide::hull([raise(a.low), raise(a.high)]);
        if exponent % 2 == 1 {
            return ends;
        }
        let low = if a.low <= 0 && a.high >= 0 { Some(0) } else { ends.min.or(Some(0)) };
        Range { min: low, max: ends.max }
    }

    /// The quotients, rounded down; all integers if the divisor may be zero.
    pub fn floor_divided(&self, divisor: &Range) -> Range {
        if divisor.contains(0) {
            return Range::ALL;
        }
        let (a, b) = (Wide::of(self), Wide::of(divisor));
        Wide::hull(corners(a, b).map(|(x, y)| {
            if x.abs() >= INFINITE {
                x.signum().saturating_mul(y.signum()).saturating_mul(INFINITE)
            } else {
                floor_div_wide(x, y)
            }
        }))
    }

    /// The remainders as Python has them (sign of the divisor); all integers if the divisor may be zero.
    pub fn remainder(&self, divisor: &Range) -> Range {
        if divisor.contains(0) {
            return Range::ALL;
        }
        if divisor.at_least(1) {
            let largest = divisor.max.map(|max| max.saturating_sub(1));
            if !self.at_least(0) {
                return Range { min: Some(0), max: largest };
            }
            let below = self.max.zip(divisor.min).is_some_and(|(max, least)| max < least);
            return if below {
                *self
            } else {
                Range { min: Some(0), max: largest }.intersect(&Range { min: None, max: self.max })
            };
        }
        Range { min: divisor.min.map(|min| min.saturating_add(1)), max: Some(0) }
    }

    /// The greater of two values.
    pub fn maximum(&self, other: &Range) -> Range {
        Range {
            min: match (self.min, other.min) {
                (Some(a), Some(b)) => Some(a.max(b)),
                (a, b) => a.or(b),
            },
            max: self.max.zip(other.max).map(|(a, b)| a.max(b)),
        }
    }

    /// The lesser of two values.
    pub fn minimum(&self, other: &Range) -> Range {
        Range {
            min: self.min.zip(other.min).map(|(a, b)| a.min(b)),
            max: match (self.max, other.max) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            },
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.min {
            Some(min) => write!(f, "VR[{min}, ")?,
            None => write!(f, "VR[-int_oo, ")?,
        }
        match self.max {
            Some(max) => write!(f, "{max}]"),
            None => write!(f, "int_oo]"),
        }
    }
}

/// A range with room for products of 64-bit values, and numbers for its open ends.
#[derive(Copy, Clone)]
struct Wide {
    low: i128,
    high: i128,
}

impl Wide {
    fn of(range: &Range) -> Wide {
        Wide { low: range.min.map_or(-INFINITE, i128::from), high: range.max.map_or(INFINITE, i128::from) }
    }

    fn hull(values: impl IntoIterator<Item = i128>) -> Range {
        let mut wide: Option<Wide> = None;
        for value in values {
            let value = value.clamp(-INFINITE, INFINITE);
            let seen = wide.unwrap_or(Wide { low: value, high: value });
            wide = Some(Wide { low: seen.low.min(value), high: seen.high.max(value) });
        }
        wide.map_or(Range::ALL, |wide| wide.range())
    }

    /// Rounds outwards: a bound that 64 bits cannot hold becomes open, or the last value before it.
    fn range(self) -> Range {
        let min =
            if self.low < i128::from(i64::MIN) { None } else { Some(i64::try_from(self.low).unwrap_or(i64::MAX)) };
        let max =
            if self.high > i128::from(i64::MAX) { None } else { Some(i64::try_from(self.high).unwrap_or(i64::MIN)) };
        Range { min, max }
    }
}

fn corners(a: Wide, b: Wide) -> [(i128, i128); 4] {
    [(a.low, b.low), (a.low, b.high), (a.high, b.low), (a.high, b.high)]
}

fn floor_div_wide(a: i128, b: i128) -> i128 {
    let quotient = a.checked_div(b).unwrap_or(0);
    let exact = quotient.saturating_mul(b) == a;
    if !exact && ((a < 0) != (b < 0)) { quotient.saturating_sub(1) } else { quotient }
}

/// Python's `a // b`; `None` on division by zero or overflow.
pub fn floor_div(a: i64, b: i64) -> Option<i64> {
    let quotient = a.checked_div(b)?;
    let remainder = a.checked_rem(b)?;
    if remainder != 0 && ((remainder < 0) != (b < 0)) { quotient.checked_sub(1) } else { Some(quotient) }
}

/// Python's `a % b`: the sign of the result is that of `b`; `None` on division by zero.
pub fn floor_mod(a: i64, b: i64) -> Option<i64> {
    if b == -1 {
        return Some(0);
    }
    let remainder = a.checked_rem(b)?;
    if remainder != 0 && ((remainder < 0) != (b < 0)) { remainder.checked_add(b) } else { Some(remainder) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn range() -> impl Strategy<Value = Range> {
        (-12i64..12, 0i64..12, any::<bool>(), any::<bool>()).prop_map(|(low, length, open_low, open_high)| Range {
            min: (!open_low).then_some(low),
            max: (!open_high).then_some(low + length),
        })
    }

    proptest! {
        #[test]
        fn every_operation_holds_the_values_it_can_give(a in range(), b in range(), x in -30i64..30, y in -30i64..30) {
            prop_assume!(a.contains(x) && b.contains(y));
            prop_assert!(a.plus(&b).contains(x + y));
            prop_assert!(a.times(&b).contains(x * y));
            prop_assert!(a.negated().contains(-x));
            prop_assert!(a.maximum(&b).contains(x.max(y)));
            prop_assert!(a.minimum(&b).contains(x.min(y)));
            prop_assert!(a.power(2).contains(x * x));
            prop_assert!(a.power(3).contains(x * x * x));
            prop_assert!(a.union(&b).contains(x) && a.union(&b).contains(y));
            if y != 0 {
                prop_assert!(a.floor_divided(&b).contains(floor_div(x, y).unwrap()));
                prop_assert!(a.remainder(&b).contains(floor_mod(x, y).unwrap()));
            }
        }
    }

    #[test]
    fn bounds_beyond_64_bits_are_open() {
        let large = Range::new(0, i64::MAX);
        assert_eq!(large.times(&large), Range::SIZE);
        assert_eq!(large.plus(&Range::only(1)), Range::new(1, None));
        assert_eq!(Range::only(i64::MIN).negated(), Range::new(i64::MAX, None));
        assert_eq!(Range::SIZE.floor_divided(&Range::only(1 << 40)), Range::SIZE);
    }

    #[test]
    fn division_and_remainder_are_those_of_python() {
        assert_eq!((floor_div(-7, 2), floor_mod(-7, 2)), (Some(-4), Some(1)));
        assert_eq!((floor_div(7, -2), floor_mod(7, -2)), (Some(-4), Some(-1)));
        assert_eq!((floor_div(1, 0), floor_mod(1, 0)), (None, None));
        assert_eq!((floor_div(i64::MIN, -1), floor_mod(i64::MIN, -1)), (None, Some(0)));
    }
}
