//! Intervals of real numbers.
//!
//! Promises: the result of an operation holds every result of numbers of the operands, up to the last places of an `f64`.

/// Numbers from `low` to `high`.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Interval {
    /// The least.
    pub low: f64,
    /// The greatest.
    pub high: f64,
}

impl Interval {
    /// Returns the interval between two numbers; `None` where there is none, or one is not finite.
    pub fn new(low: f64, high: f64) -> Option<Interval> {
        (low <= high && low.is_finite() && high.is_finite()).then_some(Interval { low, high })
    }

    /// Returns one number.
    pub fn point(v: f64) -> Option<Interval> {
        Interval::new(v, v)
    }

    /// Returns the largest magnitude.
    pub fn most(self) -> f64 {
        self.low.abs().max(self.high.abs())
    }

    /// Returns the least interval that holds both.
    pub fn with(self, other: Interval) -> Interval {
        Interval { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// Returns sums.
    pub fn plus(self, other: Interval) -> Option<Interval> {
        Interval::new(self.low + other.low, self.high + other.high)
    }

    /// Returns numbers of the other sign.
    pub fn minus(self) -> Interval {
        Interval { low: -self.high, high: -self.low }
    }

    /// Returns products.
    pub fn times(self, other: Interval) -> Option<Interval> {
        let all = [self.low * other.low, self.low * other.high, self.high * other.low, self.high * other.high];
        Interval::new(all.into_iter().fold(f64::INFINITY, f64::min), all.into_iter().fold(f64::NEG_INFINITY, f64::max))
    }

    /// Returns multiples.
    pub fn scaled(self, by: f64) -> Option<Interval> {
        self.times(Interval { low: by, high: by })
    }

    /// Returns squares.
    pub fn squared(self) -> Option<Interval> {
        let whole = self.times(self)?;
        let low =
            if self.low <= 0.0 && self.high >= 0.0 { 0.0 } else { (self.low * self.low).min(self.high * self.high) };
        Interval::new(low, whole.high)
    }

    /// Returns `1 / x`; `None` where 0 is one of them.
    pub fn inverse(self) -> Option<Interval> {
        (self.low > 0.0 || self.high < 0.0).then(|| Interval::new(1.0 / self.high, 1.0 / self.low))?
    }

    /// Returns magnitudes.
    pub fn magnitude(self) -> Interval {
        let low = if self.low <= 0.0 && self.high >= 0.0 { 0.0 } else { self.low.abs().min(self.high.abs()) };
        Interval { low, high: self.most() }
    }

    /// Returns values of a function that does not fall.
    pub fn rising(self, f: impl Fn(f64) -> f64) -> Option<Interval> {
        Interval::new(f(self.low), f(self.high))
    }

    /// Returns values of a function that does not rise.
    pub fn falling(self, f: impl Fn(f64) -> f64) -> Option<Interval> {
        Interval::new(f(self.high), f(self.low))
    }

    /// Returns this interval and 0: what is taken or not.
    pub fn or_nothing(self) -> Interval {
        self.with(Interval { low: 0.0, high: 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_are_not_negative_and_products_of_the_same_interval_may_be() {
        let x = Interval::new(-2.0, 3.0).unwrap();
        assert_eq!(x.squared(), Interval::new(0.0, 9.0));
        assert_eq!(x.times(x), Interval::new(-6.0, 9.0));
        assert_eq!(Interval::new(-3.0, -2.0).unwrap().squared(), Interval::new(4.0, 9.0));
    }

    #[test]
    fn nothing_bounds_a_quotient_by_what_may_be_zero() {
        assert_eq!(Interval::new(-1.0, 1.0).unwrap().inverse(), None);
        assert_eq!(Interval::new(0.0, 1.0).unwrap().inverse(), None);
        assert_eq!(Interval::new(2.0, 4.0).unwrap().inverse(), Interval::new(0.25, 0.5));
    }
}
