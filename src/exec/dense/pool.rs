//! Pooling of up to three spatial dimensions: maxima with their places, and averages.
//!
//! Input planes are dense, one after the other (batch and channels in one); so are output planes. Sizes come from [`PoolShape`]. A
//! NaN in a window is its maximum, and the first of equal maxima is the one whose place is told.

use rayon::prelude::*;

use super::DenseError;
use super::simd::{Kernel, vectorised};

/// A pooling's sizes; up to three dimensions, right-aligned, missing ones of size 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolShape {
    /// Input sizes.
    pub input: [usize; 3],
    /// Window sizes.
    pub kernel: [usize; 3],
    /// Steps between windows.
    pub stride: [usize; 3],
    /// Places on either side that are no part of a maximum, and zeros of an average.
    pub padding: [usize; 3],
    /// Steps between a window's elements.
    pub dilation: [usize; 3],
    /// Output sizes.
    pub output: [usize; 3],
}

/// How an average counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Divisor {
    /// Elements of the window within the padded input.
    WithPadding,
    /// Elements of the window within the input.
    WithoutPadding,
    /// This number.
    Fixed(f64),
}

/// A real number that is pooled.
pub trait Pooled: Copy + Send + Sync {
    /// Less than all numbers.
    const LOWEST: Self;
    /// Whether `self` takes the place of the maximum so far.
    fn replaces(self, max: Self) -> bool;
}

macro_rules! pooled {
    (float $($f:ty),*; integer $($i:ty),*) => {
        $(impl Pooled for $f {
            const LOWEST: Self = <$f>::NEG_INFINITY;
            #[inline(always)]
            fn replaces(self, max: Self) -> bool {
                self > max || self.is_nan()
            }
        })*
        $(impl Pooled for $i {
            const LOWEST: Self = <$i>::MIN;
            #[inline(always)]
            fn replaces(self, max: Self) -> bool {
                self > max
            }
        })*
    };
}

pooled!(float f32, f64; integer u8, i8, i16, i32, i64);

/// The indices of the input that one window covers in one dimension.
fn window(shape: &PoolShape, axis: usize, position: usize) -> impl Iterator<Item = usize> + Clone + use<> {
    let of = |values: &[usize; 3]| values.get(axis).copied().unwrap_or(1);
    let (size, dilation, padding) = (of(&shape.input), of(&shape.dilation), of(&shape.padding));
    let first = position.saturating_mul(of(&shape.stride));
    let (from, to) = taps_within(size, of(&shape.kernel), first, dilation, padding);
    (from..to).filter_map(move |tap| {
        first.saturating_add(tap.saturating_mul(dilation)).checked_sub(padding).filter(|at| *at < size)
    })
}

/// The taps of a window that begins at `first` that lie within `size` elements: a window may be far larger than what it is over.
fn taps_within(size: usize, kernel: usize, first: usize, dilation: usize, padding: usize) -> (usize, usize) {
    if dilation == 0 {
        // All taps are one.
        return (0, kernel.min(1));
    }
    let from = padding.saturating_sub(first).div_ceil(dilation);
    let end = size.saturating_add(padding).saturating_sub(first).div_ceil(dilation);
    (from.min(kernel), end.min(kernel))
}

fn count(sizes: &[usize; 3]) -> usize {
    sizes.iter().fold(1, |p, &s| p.saturating_mul(s))
}

/// (elements of an input plane, of an output plane), if the slices are whole numbers of them.
fn planes(shape: &PoolShape, input: usize, outputs: &[usize]) -> Result<(usize, usize), DenseError> {
    if shape.stride.contains(&0) {
        return Err(DenseError::Zero { what: "a stride" });
    }
    let (plane, result) = (count(&shape.input), count(&shape.output));
    let planes = match (input.checked_div(plane), outputs.first().and_then(|o| o.checked_div(result))) {
        (Some(planes), _) | (None, Some(planes)) => planes,
        (None, None) => 0,
    };
    DenseError::expect("the number of input elements", planes.saturating_mul(plane), input)?;
    for &output in outputs {
        DenseError::expect("the number of output elements", planes.saturating_mul(result), output)?;
    }
    Ok((plane, result))
}

/// The maximum of each window, and its index in its input plane. A window without an element gives the lowest number and index 0.
pub fn max_pool<T: Pooled>(
    shape: &PoolShape,
    input: &[T],
    out: &mut [T],
    places: &mut [i64],
) -> Result<(), DenseError> {
    let (plane, result) = planes(shape, input.len(), &[out.len(), places.len()])?;
    if result == 0 || plane == 0 {
        out.fill(T::LOWEST);
        places.fill(0);
        return Ok(());
    }
    out.par_chunks_mut(result)
        .zip(places.par_chunks_mut(result))
        .zip(input.par_chunks(plane))
        .for_each(|((out, places), input)| max_plane(shape, input, out, places));
    Ok(())
}

/// Row by row of the output, tap by tap of the window: the inner loop runs along the row.
fn max_plane<T: Pooled>(shape: &PoolShape, input: &[T], out: &mut [T], places: &mut [i64]) {
    let [_, height, width] = shape.input;
    let [_, rows, columns] = shape.output;
    let [.., stride] = shape.stride;
    let [.., kernel] = shape.kernel;
    let [.., dilation] = shape.dilation;
    let [.., padding] = shape.padding;
    let lines = out.chunks_mut(columns.max(1)).zip(places.chunks_mut(columns.max(1)));
    for (line, (out, places)) in lines.enumerate() {
        let (depth, row) = (line.checked_div(rows).unwrap_or(0), line.checked_rem(rows).unwrap_or(0));
        out.fill(T::LOWEST);
        let mut fresh = true;
        for d in window(shape, 0, depth) {
            for h in window(shape, 1, row) {
                let at = d.saturating_mul(height).saturating_add(h).saturating_mul(width);
                let source = input.get(at..at.saturating_add(width)).unwrap_or(&[]);
                if fresh {
                    // Until a greater one is found, the first element of the window is the place of the maximum.
                    for (column, place) in places.iter_mut().enumerate() {
                        *place = window(shape, 2, column).next().map_or(0, |first| as_place(at.saturating_add(first)));
                    }
                    fresh = false;
                }
                // No column begins further left than the first or further right than the last.
                let last = columns.saturating_sub(1).saturating_mul(stride);
                let (from, _) = taps_within(width, kernel, last, dilation, padding);
                let (_, to) = taps_within(width, kernel, 0, dilation, padding);
                for tap in from..to {
                    let offset = tap.saturating_mul(dilation);
                    let skip = padding.saturating_sub(offset).div_ceil(stride.max(1));
                    let first = skip.saturating_mul(stride).saturating_add(offset).saturating_sub(padding);
                    let from = source.get(first..).unwrap_or(&[]);
                    let place = as_place(at.saturating_add(first));
                    let out = out.get_mut(skip..).unwrap_or(&mut []);
                    let places = places.get_mut(skip..).unwrap_or(&mut []);
                    match stride {
                        1 => vectorised::<Maxima<1>, _>((from, out, places, place)),
                        2 => vectorised::<Maxima<2>, _>((from, out, places, place)),
                        3 => vectorised::<Maxima<3>, _>((from, out, places, place)),
                        _ => {
                            let from = from.iter().step_by(stride.max(1));
                            let step = as_place(stride);
                            for (n, ((max, index), &v)) in out.iter_mut().zip(places).zip(from).enumerate() {
                                take(v, place.wrapping_add(step.wrapping_mul(as_place(n))), max, index);
                            }
                        }
                    }
                }
            }
        }
        if fresh {
            places.fill(0);
        }
    }
}

/// Takes a value in.
#[inline(always)]
fn take<T: Pooled>(value: T, place: i64, max: &mut T, index: &mut i64) {
    let replaces = value.replaces(*max);
    *max = if replaces { value } else { *max };
    *index = if replaces { place } else { *index };
}

/// Takes in every `STEP`th element of a slice, the first of which is at a place.
struct Maxima<const STEP: usize>;

impl<const STEP: usize, T: Pooled> Kernel<(&[T], &mut [T], &mut [i64], i64)> for Maxima<STEP> {
    type Output = ();

    #[inline(always)]
    fn run((from, out, places, mut place): (&[T], &mut [T], &mut [i64], i64)) {
        let (whole, last) = from.as_chunks::<STEP>();
        let (most, rest) = out.split_at_mut(whole.len().min(out.len()));
        let (most_places, rest_places) = places.split_at_mut(whole.len().min(places.len()));
        for ((max, index), chunk) in most.iter_mut().zip(most_places).zip(whole.iter()) {
            if let Some(value) = chunk.first() {
                take(*value, place, max, index);
            }
            place = place.wrapping_add(STEP as i64);
        }
        if let (Some(max), Some(index), Some(value)) = (rest.first_mut(), rest_places.first_mut(), last.first()) {
            take(*value, place, max, index);
        }
    }
}

fn as_place(index: usize) -> i64 {
    i64::try_from(index).unwrap_or(i64::MAX)
}

/// A real number that is averaged.
pub trait Averaged: Copy + Send + Sync {
    /// The sum of some numbers, left to right, divided.
    fn mean(values: impl Iterator<Item = Self>, divisor: f64) -> Self;
}

macro_rules! averaged {
    ($($t:ty),*) => {$(
        impl Averaged for $t {
            fn mean(values: impl Iterator<Item = Self>, divisor: f64) -> Self {
                values.fold(0.0, |s, v| s + v) / divisor as $t
            }
        }
    )*};
}

averaged!(f32, f64);

impl Averaged for i64 {
    /// The quotient is cut off, and the sum wraps, as integers do.
    #[allow(clippy::cast_possible_truncation)]
    fn mean(values: impl Iterator<Item = Self>, divisor: f64) -> Self {
        values.fold(0_i64, |s, v| s.wrapping_add(v)).checked_div(divisor as i64).unwrap_or(0)
    }
}

/// The average of each window; dilation is 1.
pub fn avg_pool<T: Averaged>(
    shape: &PoolShape,
    divisor: Divisor,
    input: &[T],
    out: &mut [T],
) -> Result<(), DenseError> {
    let (plane, result) = planes(shape, input.len(), &[out.len()])?;
    if result == 0 || plane == 0 {
        return Ok(());
    }
    out.par_chunks_mut(result).zip(input.par_chunks(plane)).for_each(|(out, input)| {
        let spots = spots(&shape.output);
        for (out, spot) in out.iter_mut().zip(spots) {
            let divisor = match divisor {
                Divisor::Fixed(divisor) => divisor,
                Divisor::WithPadding => elements(spot.map_axes(|axis, at| padded_extent(shape, axis, at))),
                Divisor::WithoutPadding => elements(spot.map_axes(|axis, at| window(shape, axis, at).count())),
            };
            *out = average(input, &shape.input, spot.map_axes(|axis, at| window(shape, axis, at)), divisor);
        }
    });
    Ok(())
}

/// The average of each of `output` nearly equal parts of the input, which may overlap by one.
pub fn adaptive_avg_pool<T: Averaged>(
    input_sizes: [usize; 3],
    output_sizes: [usize; 3],
    input: &[T],
    out: &mut [T],
) -> Result<(), DenseError> {
    let unit = [1; 3];
    let shape = PoolShape {
        input: input_sizes,
        kernel: unit,
        stride: unit,
        padding: [0; 3],
        dilation: unit,
        output: output_sizes,
    };
    let (plane, result) = planes(&shape, input.len(), &[out.len()])?;
    if result == 0 || plane == 0 {
        return Ok(());
    }
    let part = |axis: usize, at: usize| {
        let of = |values: &[usize; 3]| values.get(axis).copied().unwrap_or(1);
        let (from, to) = (of(&input_sizes), of(&output_sizes));
        let start = at.saturating_mul(from).checked_div(to).unwrap_or(0);
        start..at.saturating_add(1).saturating_mul(from).div_ceil(to.max(1))
    };
    out.par_chunks_mut(result).zip(input.par_chunks(plane)).for_each(|(out, input)| {
        for (out, spot) in out.iter_mut().zip(spots(&output_sizes)) {
            let ranges = spot.map_axes(part);
            let divisor = elements(ranges.clone().map(|r| r.len()));
            *out = average(input, &input_sizes, ranges, divisor);
        }
    });
    Ok(())
}

/// A position of the output.
#[derive(Clone, Copy)]
struct Spot([usize; 3]);

impl Spot {
    fn map_axes<U>(self, f: impl Fn(usize, usize) -> U) -> [U; 3] {
        let Spot([depth, row, column]) = self;
        [f(0, depth), f(1, row), f(2, column)]
    }
}

fn spots(sizes: &[usize; 3]) -> impl Iterator<Item = Spot> + use<> {
    let [depths, rows, columns] = *sizes;
    (0..depths).flat_map(move |d| (0..rows).flat_map(move |h| (0..columns).map(move |w| Spot([d, h, w]))))
}

fn elements([d, h, w]: [usize; 3]) -> f64 {
    d as f64 * h as f64 * w as f64
}

/// How many elements of a window are within the padded input.
fn padded_extent(shape: &PoolShape, axis: usize, position: usize) -> usize {
    let of = |values: &[usize; 3]| values.get(axis).copied().unwrap_or(1);
    let start = position.saturating_mul(of(&shape.stride));
    let end = of(&shape.input).saturating_add(of(&shape.padding).saturating_mul(2));
    start.saturating_add(of(&shape.kernel)).min(end).saturating_sub(start)
}

fn average<T: Averaged, I: Iterator<Item = usize> + Clone>(
    input: &[T],
    [_, height, width]: &[usize; 3],
    [depths, rows, columns]: [I; 3],
    divisor: f64,
) -> T {
    let values = depths.flat_map(|d| {
        let columns = columns.clone();
        rows.clone().flat_map(move |h| {
            let at = d.saturating_mul(*height).saturating_add(h).saturating_mul(*width);
            columns.clone().filter_map(move |w| input.get(at.saturating_add(w)).copied())
        })
    });
    T::mean(values, divisor)
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects)]
mod tests {
    use super::*;

    fn one_dimension(input: usize, kernel: usize, stride: usize, padding: usize, output: usize) -> PoolShape {
        PoolShape {
            input: [1, 1, input],
            kernel: [1, 1, kernel],
            stride: [1, 1, stride],
            padding: [0, 0, padding],
            dilation: [1; 3],
            output: [1, 1, output],
        }
    }

    #[test]
    fn a_nan_is_the_maximum_and_the_first_of_equals_is_its_place() {
        let x = [1.0_f32, 3.0, 3.0, f32::NAN, 2.0, f32::NEG_INFINITY, f32::NEG_INFINITY];
        let (mut out, mut places) = ([0.0; 6], [0; 6]);
        max_pool(&one_dimension(7, 2, 1, 0, 6), &x, &mut out, &mut places).unwrap();
        assert_eq!(places, [1, 1, 3, 3, 4, 5]);
        assert!(out[2].is_nan() && out[3].is_nan());
        assert_eq!((out[0], out[4], out[5]), (3.0, 2.0, f32::NEG_INFINITY));
    }

    /// Nested loops, as the definition reads.
    fn plain_max(shape: &PoolShape, x: &[f32]) -> (Vec<f32>, Vec<i64>) {
        let at = |axis: usize, o: usize, k: usize| {
            (o * shape.stride[axis] + k * shape.dilation[axis])
                .checked_sub(shape.padding[axis])
                .filter(|i| *i < shape.input[axis])
        };
        let (mut out, mut places) = (Vec::new(), Vec::new());
        for (row, column) in (0..shape.output[1]).flat_map(|h| (0..shape.output[2]).map(move |w| (h, w))) {
            let (mut max, mut place) = (f32::NEG_INFINITY, None);
            for (kh, kw) in (0..shape.kernel[1]).flat_map(|h| (0..shape.kernel[2]).map(move |w| (h, w))) {
                if let (Some(h), Some(w)) = (at(1, row, kh), at(2, column, kw)) {
                    let i = h * shape.input[2] + w;
                    place = place.or(Some(i));
                    if x[i] > max || x[i].is_nan() {
                        (max, place) = (x[i], Some(i));
                    }
                }
            }
            out.push(max);
            places.push(place.unwrap_or(0) as i64);
        }
        (out, places)
    }

    #[test]
    fn maxima_are_those_of_the_definition() {
        for (stride, padding, dilation, kernel) in [
            (1, 0, 1, 2),
            (1, 1, 1, 3),
            (2, 1, 1, 3),
            (2, 1, 2, 3),
            (3, 1, 1, 2),
            (3, 0, 2, 3),
            (4, 2, 1, 5),
            (5, 0, 1, 1),
        ] {
            for (height, width) in [(9, 40), (11, 41), (10, 17)] {
                let out = |n: usize| (n + 2 * padding - dilation * (kernel - 1) - 1).div_ceil(stride) + 1;
                let shape = PoolShape {
                    input: [1, height, width],
                    kernel: [1, kernel, kernel],
                    stride: [1, stride, stride],
                    padding: [0, padding, padding],
                    dilation: [1, dilation, dilation],
                    output: [1, out(height), out(width)],
                };
                let mut x: Vec<f32> = (0..height * width).map(|i| ((i * 7919) % 23) as f32).collect();
                x[width + 3] = f32::NAN;
                x[2 * width + 5] = f32::NEG_INFINITY;
                let count = out(height) * out(width);
                let (mut got, mut places) = (vec![0.0; count], vec![0; count]);
                max_pool(&shape, &x, &mut got, &mut places).unwrap();
                let (want, want_places) = plain_max(&shape, &x);
                let bits = |v: &[f32]| v.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                assert_eq!((bits(&got), places), (bits(&want), want_places), "{shape:?}");
            }
        }
    }

    #[test]
    fn padding_is_no_part_of_a_maximum() {
        let x = [-1.0_f32, -2.0, -3.0];
        let (mut out, mut places) = ([0.0; 2], [0; 2]);
        max_pool(&one_dimension(3, 3, 2, 1, 2), &x, &mut out, &mut places).unwrap();
        assert_eq!((out, places), ([-1.0, -2.0], [0, 1]));
    }

    #[test]
    fn averages_count_padding_as_told() {
        let x = [1.0_f32; 3];
        let mut out = [0.0; 2];
        let shape = one_dimension(3, 3, 2, 1, 2);
        avg_pool(&shape, Divisor::WithPadding, &x, &mut out).unwrap();
        assert_eq!(out, [2.0 / 3.0; 2]);
        avg_pool(&shape, Divisor::WithoutPadding, &x, &mut out).unwrap();
        assert_eq!(out, [1.0; 2]);
        avg_pool(&shape, Divisor::Fixed(4.0), &x, &mut out).unwrap();
        assert_eq!(out, [0.5; 2]);
    }

    #[test]
    fn adaptive_parts_cover_the_input() {
        let x = [1.0_f32, 2.0, 3.0, 4.0, 5.0];
        let mut out = [0.0; 3];
        adaptive_avg_pool([1, 1, 5], [1, 1, 3], &x, &mut out).unwrap();
        assert_eq!(out, [1.5, 3.0, 4.5]);
        assert!(adaptive_avg_pool([1, 1, 4], [1, 1, 3], &x, &mut out).is_err());
    }
}
