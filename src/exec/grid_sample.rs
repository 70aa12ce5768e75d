//! Sampling images at given places, and grids of places from affine maps.
//!
//! Places are in units of half the image, as in PyTorch; what lies outside is zero, the border, or the reflected image. Narrow floats are computed in
//! `f32` and rounded once.

use rayon::prelude::*;

use super::cx::Cx;
use super::kernels::Entry;
use super::lane::{Lane, LaneKind};
use super::matmul::{Plus, product};
use super::shape;
use super::value::Value;
use crate::ops::Fault;

type Made = Result<Value, Fault>;

pub(super) const KERNELS: &[Entry] = &[
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

/// A lane that places are computed in.
trait Sampled: Lane + std::ops::Add<Output = Self> + std::ops::Mul<Output = Self> {}

impl Sampled for f32 {}
impl Sampled for f64 {}

/// What a call says, beside image and grid.
#[derive(Clone, Copy)]
struct Rules {
    mode: Mode,
    outside: Outside,
    align_corners: bool,
    /// Whether numbers are `f32`.
    single: bool,
}

#[allow(clippy::cast_precision_loss)]
fn float(n: usize) -> f64 {
    n as f64
}

impl Rules {
    fn of(cx: &Cx<'_, '_, '_>) -> Result<Rules, Fault> {
        let mode = match cx.int(2)? {
            0 => Mode::Linear,
            1 => Mode::Nearest,
            2 if cx.tensor(0)?.rank() == 4 => Mode::Cubic,
            other => return Err(cx.bad(2, "interpolation 0, 1 or, of images, 2", other.to_string())),
        };
        let outside = match cx.int(3)? {
            0 => Outside::Zeros,
            1 => Outside::Border,
            2 => Outside::Reflection,
            other => return Err(cx.bad(3, "padding 0, 1 or 2", other.to_string())),
        };
        let single = LaneKind::of(cx.tensor(0)?.dtype()) == LaneKind::F32;
        Ok(Rules { mode, outside, align_corners: cx.bool(4)?, single })
    }

    /// Rounds the result of one operation.
    #[allow(clippy::cast_possible_truncation)]
    fn round(&self, v: f64) -> f64 {
        if self.single { f64::from(v as f32) } else { v }
    }

    /// From -1 .. 1 to places of elements.
    fn place(&self, v: f64, size: usize) -> f64 {
        let moved = self.round(v + 1.0);
        if self.align_corners {
            self.round(self.round(moved / 2.0) * float(size.saturating_sub(1)))
        } else {
            self.round(self.round(self.round(moved * float(size)) - 1.0) / 2.0)
        }
    }

    /// Brings a place into the image.
    fn brought_in(&self, v: f64, size: usize) -> f64 {
        let last = float(size.saturating_sub(1));
        // A NaN comes in too, as PyTorch's loops have it.
        let clip = |v: f64| if v > 0.0 { v.min(last) } else { 0.0 };
        match self.outside {
            Outside::Zeros => v,
            Outside::Border => clip(v),
            Outside::Reflection => clip(self.reflected(v, size)),
        }
    }

    fn reflected(&self, v: f64, size: usize) -> f64 {
        let (low, high) = if self.align_corners {
            (0.0, 2.0 * float(size.saturating_sub(1)))
        } else {
            (-1.0, 2.0 * float(size) - 1.0)
        };
        if low == high {
            return 0.0;
        }
        let (least, span) = (low / 2.0, (high - low) / 2.0);
        let away = self.round(v - least).abs();
        let rest = away % span;
        let even = self.round(away / span).floor() % 2.0 == 0.0;
        if even { self.round(rest + least) } else { self.round(self.round(span - rest) + least) }
    }

    /// The elements of one dimension that a place is made of, and their weights; `None` stands for zero.
    fn taps(&self, v: f64, size: usize) -> [(Option<usize>, f64); 4] {
        let place = self.place(v, size);
        let mut taps = [(None, 0.0); 4];
        match self.mode {
            Mode::Nearest => {
                let [first, ..] = &mut taps;
                *first = (inside(self.brought_in(place, size).round_ties_even(), size), 1.0);
            }
            Mode::Linear => {
                let place = self.brought_in(place, size);
                let low = place.floor();
                let share = self.round(place - low);
                let [first, second, ..] = &mut taps;
                *first = (inside(low, size), self.round(self.round(low + 1.0) - place));
                *second = (inside(low + 1.0, size), share);
            }
            Mode::Cubic => {
                let low = place.floor();
                let weights = cubic(self.round(place - low)).map(|w| self.round(w));
                for (k, (tap, weight)) in taps.iter_mut().zip(weights).enumerate() {
                    let at = low + float(k) - 1.0;
                    *tap = (inside(self.brought_in(at, size), size), weight);
                }
            }
        }
        taps
    }

    fn width(&self) -> usize {
        match self.mode {
            Mode::Nearest => 1,
            Mode::Linear => 2,
            Mode::Cubic => 4,
        }
    }
}

/// The element at a place, if there is one.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn inside(place: f64, size: usize) -> Option<usize> {
    (place >= 0.0 && place < float(size)).then_some(place as usize)
}

/// The weights of four neighbours, the second of which lies `t` before the place (a = -0.75).
fn cubic(t: f64) -> [f64; 4] {
    let a = -0.75;
    let near = |x: f64| ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
    let far = |x: f64| ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a;
    [far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)]
}

fn sample(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (dtype, rules) = (cx.tensor(0)?.dtype(), Rules::of(cx)?);
    match LaneKind::of(dtype) {
        LaneKind::F32 => sampled::<f32>(cx, rules),
        LaneKind::F64 => sampled::<f64>(cx, rules),
        _ => Err(Fault::Unsupported { what: format!("sampling of {}", dtype.long()) }),
    }
}

fn sampled<L: Sampled>(cx: &Cx<'_, '_, '_>, rules: Rules) -> Made {
    let (image, grid, meta) = (cx.tensor(0)?, cx.tensor(1)?, cx.meta()?);
    let space = image.rank().saturating_sub(2);
    let sizes: Vec<usize> = image.sizes().iter().skip(2).copied().collect();
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
            // The last coordinate of a place is that of the first dimension.
            let taps: Vec<_> = place.iter().rev().zip(&sizes).map(|(v, size)| rules.taps(v.to_f64(), *size)).collect();
            let terms = terms(&taps, &sizes, rules);
            for (out, plane) in out.chunks_mut(result).zip(image.chunks(plane)) {
                let term = |(at, w): &(usize, f64)| plane.get(*at).copied().unwrap_or_default() * L::from_f64(*w);
                let sum = terms.iter().fold(L::default(), |sum, t| sum + term(t));
                if let Some(slot) = out.get_mut(k) {
                    *slot = sum;
                }
            }
        }
    });
    cx.emit(out)
}

/// Every element of a plane that counts, with the product of its weights.
fn terms(taps: &[[(Option<usize>, f64); 4]], sizes: &[usize], rules: Rules) -> Vec<(usize, f64)> {
    let mut all = vec![(0_usize, 1.0_f64)];
    for (taps, size) in taps.iter().zip(sizes) {
        let inner = taps.iter().take(rules.width()).filter_map(|(at, w)| at.map(|at| (at, *w)));
        let step = |(start, share): (usize, f64)| {
            inner.clone().map(move |(at, w)| (start.saturating_mul(*size).saturating_add(at), rules.round(share * w)))
        };
        all = all.into_iter().flat_map(step).collect();
    }
    all
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
