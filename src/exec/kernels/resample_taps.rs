//! Which elements of a dimension a resampled one is made of, and with which weights.
//!
//! Promises: numbers are PyTorch's, operation by operation: in `f32`, or in `f64` where the span says so. (`f32` operations are done in `f64` and
//! rounded, which gives the same.)

use crate::exec::tensor::lane::round_f32;
use crate::graph::Dtype;

/// One dimension before and after.
#[derive(Clone, Copy)]
pub struct Span {
    /// How many elements there are.
    pub from: usize,
    /// How many there are to be.
    pub to: usize,
    /// By which factor, where one was given.
    pub factor: Option<f64>,
    /// Whether the first and last elements keep their places, or the borders do.
    pub align_corners: bool,
    /// Whether numbers are `f64`.
    pub wide: bool,
}

/// How neighbours are weighed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    /// Two neighbours.
    Linear,
    /// Four neighbours.
    Cubic,
    /// All that a triangle covers, which widens where there are to be fewer elements.
    SmoothLinear,
    /// The same with a cubic curve, twice as wide.
    SmoothCubic,
}

impl Filter {
    /// How far a filter that widens reaches to each side, where it does not; 0 for one that does not widen.
    fn reach(self) -> f64 {
        match self {
            Filter::Linear | Filter::Cubic => 0.0,
            Filter::SmoothLinear => 1.0,
            Filter::SmoothCubic => 2.0,
        }
    }
}

#[allow(clippy::cast_precision_loss)]
fn float(n: usize) -> f64 {
    n as f64
}

/// Cuts off what is behind the point, at most `last`.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn index(v: f64, last: usize) -> usize {
    (v as usize).min(last)
}

impl Span {
    /// Rounds the result of one operation.
    #[allow(clippy::cast_possible_truncation)]
    fn round(&self, v: f64) -> f64 {
        if self.wide { v } else { f64::from(v as f32) }
    }

    /// How far one step in the result is in the input.
    fn scale(&self) -> f64 {
        if self.align_corners {
            let steps = self.to.saturating_sub(1);
            return if steps == 0 { 0.0 } else { self.round(float(self.from.saturating_sub(1)) / float(steps)) };
        }
        self.ratio()
    }

    fn ratio(&self) -> f64 {
        match self.factor {
            Some(f) if f > 0.0 => self.round(1.0 / f),
            _ => self.round(float(self.from) / float(self.to)),
        }
    }

    /// Where the centre of element `at` of the result lies.
    fn centre(&self, scale: f64, at: usize, may_be_negative: bool) -> f64 {
        if self.align_corners {
            return self.round(scale * float(at));
        }
        let place = self.round(self.round(scale * (float(at) + 0.5)) - 0.5);
        if may_be_negative { place } else { place.max(0.0) }
    }

    /// Returns the element that each one of the result is taken from; `exact` looks at centres, `direct` is single precision and
    /// takes no factor where elements stay or double.
    pub fn nearest(&self, exact: bool, direct: bool) -> Vec<usize> {
        let span = Span { wide: self.wide && !direct, ..*self };
        let (scale, last) = (span.ratio(), span.from.saturating_sub(1));
        let place = |at: usize| match (exact, direct) {
            (true, _) => index(span.round((float(at) + 0.5) * scale).floor(), last),
            (false, true) if span.to == span.from => at,
            (false, true) if span.to == span.from.saturating_mul(2) => at / 2,
            (false, _) => index(span.round(float(at) * scale).floor(), last),
        };
        (0..self.to).map(place).collect()
    }
}

/// For each element of the result, equally many places in the input and their weights.
#[derive(Clone, Debug)]
pub struct Taps<T = f64> {
    places: Vec<usize>,
    shares: Vec<T>,
    width: usize,
    count: usize,
    /// Bits behind the point of weights in fixed point.
    precision: u32,
    /// Whether weights of 0 only fill up.
    filled: bool,
}

impl<T> Taps<T> {
    /// Returns how many elements the result has.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns places and weights, element by element.
    pub fn iter(&self) -> impl Iterator<Item = (&[usize], &[T])> + Clone {
        self.places.chunks(self.width.max(1)).zip(self.shares.chunks(self.width.max(1)))
    }
}

impl Taps {
    /// Returns the weights of a dimension of one element that stays.
    pub fn only() -> Taps {
        Taps { places: vec![0], shares: vec![1.0], width: 1, count: 1, precision: 0, filled: false }
    }

    /// Returns the weights of a dimension.
    pub fn of(span: &Span, filter: Filter) -> Taps {
        let width = match filter {
            Filter::Linear => 2,
            Filter::Cubic => 4,
            Filter::SmoothLinear | Filter::SmoothCubic => smooth_width(span, filter),
        };
        let mut taps = Taps {
            places: Vec::with_capacity(span.to.saturating_mul(width)),
            shares: Vec::with_capacity(span.to.saturating_mul(width)),
            width,
            count: span.to,
            precision: 0,
            filled: filter.reach() > 0.0,
        };
        let scale = span.scale();
        for at in 0..span.to {
            match filter {
                Filter::Linear => taps.push_linear(span, scale, at),
                Filter::Cubic => taps.push_cubic(span, scale, at),
                Filter::SmoothLinear | Filter::SmoothCubic => taps.push_smooth(span, scale, at, filter),
            }
        }
        taps
    }

    /// Returns weights as `dtype` keeps them; of two, the first is what the second leaves of 1.
    #[allow(clippy::cast_possible_truncation)]
    pub fn stored(self, dtype: Dtype) -> Taps<f32> {
        let Taps { places, shares, width, count, precision, filled } = self;
        let mut shares: Vec<f32> = shares.into_iter().map(|w| round_f32(dtype, w as f32)).collect();
        if width == 2 {
            for pair in shares.as_chunks_mut::<2>().0 {
                let [first, second] = pair;
                *first = round_f32(dtype, 1.0 - *second);
            }
        }
        Taps { places, shares, width, count, precision, filled }
    }

    fn push(&mut self, place: usize, share: f64) {
        self.places.push(place);
        self.shares.push(share);
    }

    fn push_linear(&mut self, span: &Span, scale: f64, at: usize) {
        let last = span.from.saturating_sub(1);
        if span.from == span.to {
            self.push(at, 1.0);
            self.push(at, 0.0);
            return;
        }
        let place = span.centre(scale, at, false);
        let first = index(place, last);
        let share = span.round(place - float(first)).clamp(0.0, 1.0);
        self.push(first, span.round(1.0 - share));
        self.push(first.saturating_add(1).min(last), share);
    }

    fn push_cubic(&mut self, span: &Span, scale: f64, at: usize) {
        let last = span.from.saturating_sub(1);
        let place = span.centre(scale, at, true);
        let first = place.floor();
        let share = span.round(place - first).clamp(0.0, 1.0);
        let weights = cubic(share).map(|w| span.round(w));
        for (step, weight) in [-1.0, 0.0, 1.0, 2.0].into_iter().zip(weights) {
            self.push(index((first + step).max(0.0), last), weight);
        }
    }

    fn push_smooth(&mut self, span: &Span, scale: f64, at: usize, filter: Filter) {
        let support = filter.reach() * scale.max(1.0);
        let centre = span.round(scale * (float(at) + 0.5));
        let first = index((centre - support + 0.5).max(0.0), span.from);
        let end = index((centre + support + 0.5).max(0.0), span.from);
        let count = end.saturating_sub(first).min(self.width);
        let narrowing = if scale >= 1.0 { span.round(1.0 / scale) } else { 1.0 };
        let weight = |k: usize| {
            let away = (float(first.saturating_add(k)) - centre + 0.5) * narrowing;
            span.round(match filter {
                Filter::SmoothCubic => smooth_cubic(away.abs()),
                _ => (1.0 - away.abs()).max(0.0),
            })
        };
        let total: f64 = (0..count).map(weight).sum();
        for k in 0..self.width {
            let share = if k < count && total != 0.0 { span.round(weight(k) / total) } else { 0.0 };
            self.push(first.saturating_add(k).min(span.from.saturating_sub(1)), share);
        }
    }

    /// Returns weights in fixed point: as many bits as keep the largest one within 15.
    #[allow(clippy::cast_possible_truncation)]
    pub fn fixed_point(self) -> Taps<i64> {
        // Weights that meet at a border act as one.
        let mut largest = 0.0_f64;
        for (places, shares) in self.iter() {
            for place in places {
                let of = places.iter().zip(shares).filter(|(p, _)| *p == place);
                largest = largest.max(of.map(|(_, w)| *w).sum());
            }
        }
        let fits = |bits: &u32| 0.5 + largest * f64::from(1_u32 << bits.saturating_add(1)) < 32768.0;
        let precision = (0..22_u32).take_while(fits).count() as u32;
        let unit = f64::from(1_u32 << precision);
        let rounded = |w: f64| if w < 0.0 { (w * unit - 0.5) as i64 } else { (w * unit + 0.5) as i64 };
        let mut merged = Vec::with_capacity(self.shares.len());
        for (places, shares) in self.iter() {
            for (k, place) in places.iter().enumerate() {
                let first = places.iter().position(|p| p == place) == Some(k);
                let sum: f64 = places.iter().zip(shares).filter(|(p, _)| *p == place).map(|(_, w)| *w).sum();
                merged.push(if first { rounded(sum) } else { 0 });
            }
        }
        let Taps { places, width, count, filled, .. } = self;
        Taps { places, shares: merged, width, count, precision, filled }
    }
}

fn smooth_width(span: &Span, filter: Filter) -> usize {
    let support = filter.reach() * span.scale().max(1.0);
    index(support.ceil(), span.from).saturating_mul(2).saturating_add(1)
}

/// The weight at a distance (a = -0.5).
fn smooth_cubic(x: f64) -> f64 {
    let a = -0.5;
    match x {
        x if x < 1.0 => ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0,
        x if x < 2.0 => (((x - 5.0) * x + 8.0) * x - 4.0) * a,
        _ => 0.0,
    }
}

/// The weights of four neighbours, the second of which lies `t` before the place (a = -0.75).
fn cubic(t: f64) -> [f64; 4] {
    let a = -0.75;
    let near = |x: f64| ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
    let far = |x: f64| ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a;
    [far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)]
}

/// A number that weighted sums are made of.
pub trait Weighing: Copy + Send + Sync {
    /// `self * share`.
    fn times(self, share: Self) -> Self;
    /// `self + other`.
    fn plus(self, other: Self) -> Self;
    /// The weight of two weights at once. Of bytes, which have no third dimension, the first one is 1.
    fn joint(first: Self, second: Self) -> Self;
    /// What a sum is in the end.
    fn finish(self, precision: u32) -> Self;
}

macro_rules! weighing {
    ($($t:ty),*) => {$(
        impl Weighing for $t {
            fn times(self, share: Self) -> Self {
                self * share
            }

            fn plus(self, other: Self) -> Self {
                self + other
            }

            fn joint(first: Self, second: Self) -> Self {
                first * second
            }

            fn finish(self, _: u32) -> Self {
                self
            }
        }
    )*};
}

weighing!(f32, f64);

impl Weighing for i64 {
    fn times(self, share: Self) -> Self {
        self.wrapping_mul(share)
    }

    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    fn joint(first: Self, second: Self) -> Self {
        if first == 0 { 0 } else { second }
    }

    fn finish(self, precision: u32) -> Self {
        let half = 1_i64 << precision.saturating_sub(1);
        (self.wrapping_add(half) >> precision).clamp(0, 255)
    }
}

impl<T: Weighing + PartialEq + Default> Taps<T> {
    /// Returns whether an element with this weight counts at all.
    pub fn counts(&self, share: T) -> bool {
        !self.filled || share != T::default()
    }

    /// Returns what a sum with these weights is in the end.
    pub fn finish(&self, sum: T) -> T {
        sum.finish(self.precision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(from: usize, to: usize, align_corners: bool) -> Span {
        Span { from, to, factor: None, align_corners, wide: false }
    }

    #[test]
    fn weights_of_an_element_sum_to_one() {
        for filter in [Filter::Linear, Filter::Cubic, Filter::SmoothLinear] {
            for (from, to) in [(1, 4), (5, 3), (7, 13), (9, 9), (20, 3)] {
                let taps = Taps::of(&span(from, to, false), filter);
                assert_eq!(taps.iter().count(), to);
                for (places, shares) in taps.iter() {
                    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-6);
                    assert!(places.iter().all(|p| *p < from));
                }
            }
        }
    }

    #[test]
    fn the_nearest_element_is_the_one_before_or_the_one_whose_centre_is_near() {
        assert_eq!(span(3, 7, false).nearest(false, false), [0, 0, 0, 1, 1, 2, 2]);
        assert_eq!(span(5, 3, false).nearest(false, false), [0, 1, 3]);
        assert_eq!(span(5, 3, false).nearest(true, false), [0, 2, 4]);
    }

    #[test]
    fn fixed_point_weights_keep_fifteen_bits() {
        let taps = Taps::of(&span(5, 9, false), Filter::Linear).fixed_point();
        assert!(taps.iter().all(|(_, shares)| shares.iter().all(|w| *w < 1 << 15)));
        assert_eq!(taps.finish(200 << taps.precision), 200);
    }
}
