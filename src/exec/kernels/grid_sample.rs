//! Sampling images at given places, and grids of places from affine maps.
//!
//! Places are in units of half the image, as in PyTorch; what lies outside is zero, the border, or the reflected image. Each operation is
//! rounded to the image's dtype.

use rayon::prelude::*;
use smallvec::{SmallVec, smallvec};

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::matmul::{Plus, product};
use crate::exec::tensor::lane::{Lane, LaneKind, round_f32};
use crate::exec::tensor::shape;
use crate::exec::tensor::shape::Shape;
use crate::exec::tensor::value::Value;
use crate::graph::Dtype;
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (sample, &["aten.grid_sampler.default", "aten.grid_sampler_2d.default", "aten.grid_sampler_3d.default"]),
    (affine_grid, &["aten.affine_grid_generator.default"]),
];

/// How neighbours are weighed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Linear,
    Nearest,
    Cubic,
}

/// What lies outside.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outside {
    Zeros,
    Border,
    Reflection,
}

/// What a call says, beside image and grid.
#[derive(Clone, Copy)]
struct Rules {
    mode: Mode,
    outside: Outside,
    align_corners: bool,
    /// Whether the image has depth: PyTorch's loops over those compute places differently.
    deep: bool,
    dtype: Dtype,
}

#[allow(clippy::cast_precision_loss)]
fn float(n: usize) -> f64 {
    n as f64
}

/// Some elements of a dimension and their weights; `None` stands for one outside, which is zero.
type Taps = SmallVec<[(Option<usize>, f64); 4]>;

impl Rules {
    fn of(cx: &Cx<'_, '_, '_>) -> Result<Rules, CallFault> {
        let image = cx.tensor(0)?;
        let mode = match cx.int(2)? {
            0 => Mode::Linear,
            1 => Mode::Nearest,
            2 if image.rank() == 4 => Mode::Cubic,
            other => return Err(cx.bad(2, "interpolation 0, 1 or, of images, 2", other.to_string())),
        };
        let outside = match cx.int(3)? {
            0 => Outside::Zeros,
            1 => Outside::Border,
            2 => Outside::Reflection,
            other => return Err(cx.bad(3, "padding 0, 1 or 2", other.to_string())),
        };
        Ok(Rules { mode, outside, align_corners: cx.bool(4)?, deep: image.rank() == 5, dtype: image.dtype() })
    }

    /// Rounds the result of one operation to the image's dtype.
    #[allow(clippy::cast_possible_truncation)]
    fn round(&self, v: f64) -> f64 {
        if self.dtype == Dtype::F64 { v } else { f64::from(round_f32(self.dtype, v as f32)) }
    }

    /// From -1 .. 1 to places of elements.
    fn place(&self, v: f64, size: usize) -> f64 {
        let (moved, size) = (self.round(v + 1.0), float(size));
        match (self.deep, self.align_corners) {
            (false, true) => self.round(moved * self.round((size - 1.0) / 2.0)),
            (false, false) => self.round(self.round(moved * (size / 2.0)) - 0.5),
            (true, true) => self.round(self.round(moved / 2.0) * (size - 1.0)),
            (true, false) => self.round(self.round(self.round(moved * size) - 1.0) / 2.0),
        }
    }

    /// Brings a place into the image.
    fn brought_in(&self, v: f64, size: usize) -> f64 {
        match self.outside {
            Outside::Zeros => v,
            Outside::Border => self.clipped(v, size),
            Outside::Reflection if self.deep => self.clipped(self.reflected_deep(v, size), size),
            Outside::Reflection => self.clipped(self.reflected(v, size), size),
        }
    }

    /// NaN comes in at the first element, and in images with depth at the last, as PyTorch's loops have it.
    fn clipped(&self, v: f64, size: usize) -> f64 {
        let last = float(size.saturating_sub(1));
        match v {
            _ if v > 0.0 => v.min(last),
            _ if v.is_nan() && self.deep => last,
            _ => 0.0,
        }
    }

    fn reflected(&self, v: f64, size: usize) -> f64 {
        let (low, twice) =
            if self.align_corners { (0.0, 2.0 * float(size.saturating_sub(1))) } else { (-0.5, 2.0 * float(size)) };
        if twice == 0.0 {
            return 0.0;
        }
        let away = self.round(v - low).abs();
        let flips = self.round(away / twice).trunc();
        let rest = self.round(away - self.round(flips * twice));
        self.round(rest.min(self.round(twice - rest)) + low)
    }

    fn reflected_deep(&self, v: f64, size: usize) -> f64 {
        let (low, span) = if self.align_corners { (0.0, float(size.saturating_sub(1))) } else { (-0.5, float(size)) };
        if span == 0.0 {
            return 0.0;
        }
        let away = self.round(v - low).abs();
        let rest = self.round(away % span);
        let even = self.round(away / span).floor() % 2.0 == 0.0;
        if even { self.round(rest + low) } else { self.round(self.round(span - rest) + low) }
    }

    /// The elements of one dimension that a place is made of.
    fn taps(&self, v: f64, size: usize) -> Taps {
        let place = self.place(v, size);
        match self.mode {
            Mode::Nearest => smallvec![(inside(self.brought_in(place, size).round_ties_even(), size), 1.0)],
            Mode::Linear => {
                let place = self.brought_in(place, size);
                let low = place.floor();
                let high = self.round(low + 1.0);
                let share = self.round(place - low);
                let rest = if self.deep { self.round(high - place) } else { self.round(1.0 - share) };
                smallvec![(inside(low, size), rest), (inside(high, size), share)]
            }
            Mode::Cubic => {
                let low = place.floor();
                let weights = self.cubic(self.round(place - low));
                let at = |step: f64| inside(self.brought_in(self.round(low + step), size), size);
                [-1.0, 0.0, 1.0, 2.0].into_iter().map(at).zip(weights).collect()
            }
        }
    }

    /// The weights of four neighbours, the second of which lies `t` before the place (a = -0.75).
    fn cubic(&self, t: f64) -> [f64; 4] {
        let (a, r) = (-0.75, |v: f64| self.round(v));
        let near = |x: f64| r(r(r(r(r((a + 2.0) * x) - (a + 3.0)) * x) * x) + 1.0);
        let far = |x: f64| r(r(r(r(r(r(a * x) - 5.0 * a) * x) + 8.0 * a) * x) - 4.0 * a);
        [far(r(t + 1.0)), near(t), near(r(1.0 - t)), far(r(2.0 - t))]
    }

    /// The sum of products, each of which is rounded.
    fn sum(&self, terms: impl Iterator<Item = (f64, f64)>) -> f64 {
        terms.map(|(v, w)| self.round(v * w)).reduce(|a, b| self.round(a + b)).unwrap_or(0.0)
    }
}

/// The element at a place, if there is one.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn inside(place: f64, size: usize) -> Option<usize> {
    (place >= 0.0 && place < float(size)).then_some(place as usize)
}

fn sample(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (dtype, rules) = (cx.tensor(0)?.dtype(), Rules::of(cx)?);
    match LaneKind::of(dtype) {
        LaneKind::F32 => sampled::<f32>(cx, rules),
        LaneKind::F64 => sampled::<f64>(cx, rules),
        _ => Err(CallFault::Unsupported { what: format!("sampling of {}", dtype.long()) }),
    }
}

fn sampled<L: Lane>(cx: &Cx<'_, '_, '_>, rules: Rules) -> Made {
    let (image, grid, meta) = (cx.tensor(0)?, cx.tensor(1)?, cx.meta()?);
    let space = image.rank().saturating_sub(2);
    // A place names the last dimension first.
    let sizes: Shape = image.sizes().iter().skip(2).rev().copied().collect();
    let (plane, result) = (shape::numel(&sizes), shape::numel(meta.sizes.get(2..).unwrap_or(&[])));
    let channels = image.meta.size(1);
    let (values, places) = (image.lanes::<L>()?, grid.lanes::<L>()?);
    let mut out = vec![L::default(); shape::count(&meta.sizes)?];
    if plane == 0 || result == 0 || channels == 0 {
        return cx.emit(out);
    }
    let each = result.saturating_mul(channels);
    let images = values.par_chunks(plane.saturating_mul(channels));
    let grids = places.par_chunks(result.saturating_mul(space));
    out.par_chunks_mut(each).zip(images).zip(grids).for_each(|((out, image), grid)| {
        for (k, place) in grid.chunks(space).enumerate() {
            let taps: SmallVec<[Taps; 3]> =
                place.iter().zip(&sizes).map(|(v, size)| rules.taps(v.to_f64(), *size)).collect();
            let spot = Spot::new(&rules, &taps, &sizes);
            for (out, plane) in out.chunks_mut(result).zip(image.chunks(plane)) {
                let value = |at: Option<usize>| at.and_then(|k| plane.get(k)).map_or(0.0, |v| v.to_f64());
                if let Some(slot) = out.get_mut(k) {
                    *slot = L::from_f64(spot.value(&rules, value));
                }
            }
        }
    });
    cx.emit(out)
}

/// Elements of a plane with their weights; `None` stands for one outside.
type Terms = Vec<(Option<usize>, f64)>;

/// What one element of the result is made of.
enum Spot {
    /// Elements with their weights.
    Flat(Terms),
    /// Rows of weighted elements, each with its weight.
    Rows(Vec<(Terms, f64)>),
}

impl Spot {
    fn new(rules: &Rules, taps: &[Taps], sizes: &[usize]) -> Spot {
        let width = sizes.first().copied().unwrap_or(1);
        let below = |at: Option<usize>, line: Option<usize>, stride: usize| {
            Some(at?.saturating_add(line?.saturating_mul(stride)))
        };
        if let (Mode::Cubic, [across, down]) = (rules.mode, taps) {
            let row = |line: Option<usize>| across.iter().map(|(at, w)| (below(*at, line, width), *w)).collect();
            return Spot::Rows(down.iter().map(|(line, w)| (row(*line), *w)).collect());
        }
        let mut all = vec![(Some(0_usize), 1.0_f64)];
        let mut stride = 1_usize;
        for (taps, size) in taps.iter().zip(sizes) {
            let inner = &all;
            let step = |(line, w): &(Option<usize>, f64)| {
                let (line, w) = (*line, *w);
                inner.iter().map(move |(at, share)| (below(*at, line, stride), rules.round(share * w)))
            };
            all = taps.iter().flat_map(step).collect();
            stride = stride.saturating_mul(*size);
        }
        if rules.deep {
            all.retain(|(at, _)| at.is_some());
        }
        Spot::Flat(all)
    }

    fn value(&self, rules: &Rules, value: impl Fn(Option<usize>) -> f64) -> f64 {
        let line = |all: &[(Option<usize>, f64)]| rules.sum(all.iter().map(|(at, w)| (value(*at), *w)));
        match self {
            Spot::Flat(all) if rules.mode == Mode::Nearest => all.first().map_or(0.0, |(at, _)| value(*at)),
            Spot::Flat(all) => line(all),
            Spot::Rows(rows) => rules.sum(rows.iter().map(|(row, w)| (line(row), *w))),
        }
    }
}

/// Steps from -1 to 1: as many as the dimension has elements, at corners or at centres.
fn steps(size: usize, align_corners: bool, single: bool) -> Vec<f64> {
    #[allow(clippy::cast_possible_truncation)]
    let round = |v: f64| if single { f64::from(v as f32) } else { v };
    if size <= 1 {
        return vec![0.0; size];
    }
    let step = round(2.0 / float(size.saturating_sub(1)));
    let line = |k: usize| {
        // Both halves are counted from their own end.
        if k < size / 2 {
            round(-1.0 + round(step * float(k)))
        } else {
            round(1.0 - round(step * float(size.saturating_sub(k).saturating_sub(1))))
        }
    };
    let inward = |v: f64| round(round(v * float(size.saturating_sub(1))) / float(size));
    (0..size).map(|k| if align_corners { line(k) } else { inward(line(k)) }).collect()
}

fn affine_grid(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (theta, meta) = (cx.tensor(0)?, cx.meta()?);
    let (sizes, align_corners) = (cx.ints(1)?, cx.bool(2)?);
    let single = LaneKind::of(theta.dtype()) == LaneKind::F32;
    let spatial = sizes.iter().skip(2).map(|n| usize::try_from(*n).unwrap_or(0));
    let lines: Vec<Vec<f64>> = spatial.map(|n| steps(n, align_corners, single)).collect();
    let mut places: Vec<Vec<f64>> = vec![Vec::new()];
    for line in &lines {
        places = places.iter().flat_map(|p| line.iter().map(move |v| [&[*v], p.as_slice()].concat())).collect();
    }
    let width = lines.len().saturating_add(1);
    let values: Vec<f64> = places.iter().flat_map(|p| p.iter().copied().chain([1.0])).collect();
    let base = cx.make(theta.dtype(), &[1, places.len(), width], values)?;
    let base = base.broadcast(&[theta.meta.size(0), places.len(), width])?;
    let turned = theta.permute(&[0, 2, 1]);
    product(cx, &meta, (&base, &base), (theta, &turned), &Plus::NOTHING).map(Value::Tensor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(outside: Outside, align_corners: bool) -> Rules {
        Rules { mode: Mode::Linear, outside, align_corners, deep: false, dtype: Dtype::F32 }
    }

    #[test]
    fn corners_are_elements_or_borders() {
        assert_eq!(rules(Outside::Zeros, true).place(1.0, 5), 4.0);
        assert_eq!(rules(Outside::Zeros, false).place(1.0, 5), 4.5);
        assert_eq!(rules(Outside::Zeros, false).place(-1.0, 5), -0.5);
        assert_eq!(steps(3, true, true), [-1.0, 0.0, 1.0]);
        assert_eq!(steps(2, false, true), [-0.5, 0.5]);
    }

    #[test]
    fn what_lies_outside_is_clipped_or_reflected() {
        assert_eq!(rules(Outside::Border, true).brought_in(7.0, 5), 4.0);
        assert_eq!(rules(Outside::Border, true).brought_in(f64::NAN, 5), 0.0);
        assert_eq!(rules(Outside::Reflection, true).brought_in(5.0, 5), 3.0);
        assert_eq!(rules(Outside::Reflection, false).brought_in(-1.0, 5), 0.0);
        assert_eq!(rules(Outside::Reflection, true).brought_in(3.0, 1), 0.0);
    }
}
