//! Resampling: images of other sizes, by the nearest element or by a few weighted ones a dimension.
//!
//! Coordinates are computed as PyTorch computes them, in `f32` except for `f64` images, with the given factors where there are any. Whichever
//! element is nearest keeps its bits. Narrow floats are summed in `f32`; bytes in fixed point, one dimension after the other.

use rayon::prelude::*;

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::resample_taps::{Filter, Span, Taps, Weighing};
use crate::exec::tensor::flat::with_width;
use crate::exec::tensor::lane::{Lane, LaneKind};
use crate::exec::tensor::shape;
use crate::exec::tensor::shape::Shape;
use crate::exec::tensor::value::Value;
use crate::graph::{Arg, Dtype};
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (
        nearest,
        &[
            "aten.upsample_nearest1d.default",
            "aten.upsample_nearest1d.vec",
            "aten.upsample_nearest2d.default",
            "aten.upsample_nearest2d.vec",
            "aten.upsample_nearest3d.vec",
            "aten._upsample_nearest_exact1d.vec",
            "aten._upsample_nearest_exact2d.default",
            "aten.upsample_nearest3d.default",
            "aten._upsample_nearest_exact1d.default",
            "aten._upsample_nearest_exact3d.default",
            "aten._upsample_nearest_exact2d.vec",
        ],
    ),
    (
        linear,
        &[
            "aten.upsample_linear1d.default",
            "aten.upsample_linear1d.vec",
            "aten.upsample_bilinear2d.default",
            "aten.upsample_bilinear2d.vec",
            "aten.upsample_trilinear3d.default",
            "aten.upsample_trilinear3d.vec",
        ],
    ),
    (cubic, &["aten.upsample_bicubic2d.default", "aten.upsample_bicubic2d.vec"]),
    (
        |cx| weighted(cx, Filter::SmoothLinear),
        &["aten._upsample_bilinear2d_aa.default", "aten._upsample_bilinear2d_aa.vec"],
    ),
    (
        |cx| weighted(cx, Filter::SmoothCubic),
        &["aten._upsample_bicubic2d_aa.default", "aten._upsample_bicubic2d_aa.vec"],
    ),
];

/// The three spatial dimensions of a call, those that it lacks of size 1, and the sizes of a plane before and after.
struct Resized {
    spans: [Span; 3],
    from: [usize; 3],
    to: [usize; 3],
    /// How many of the three the call lacks.
    absent: usize,
}

impl Resized {
    fn of(cx: &Cx<'_, '_, '_>) -> Result<Resized, CallFault> {
        let (input, result) = (cx.tensor(0)?, cx.meta()?);
        let space = input.rank().saturating_sub(2).min(3);
        let align_corners = match cx.call.operator.schema.param_index("align_corners") {
            Some(i) => cx.bool(i)?,
            None => false,
        };
        let wide = input.dtype() == Dtype::F64;
        let (mut from, mut to) = ([1; 3], [1; 3]);
        let mut spans = [Span { from: 1, to: 1, factor: None, align_corners, wide }; 3];
        for d in 0..space {
            let slot = d.saturating_add(3_usize.saturating_sub(space));
            let (before, after) = (input.meta.size(d.saturating_add(2)), result.size(d.saturating_add(2)));
            let (Some(f), Some(t), Some(span)) = (from.get_mut(slot), to.get_mut(slot), spans.get_mut(slot)) else {
                continue;
            };
            (*f, *t) = (before, after);
            *span = Span { from: before, to: after, factor: factor(cx, d), align_corners, wide };
        }
        Ok(Resized { spans, from, to, absent: 3_usize.saturating_sub(space) })
    }

    /// The weights of each dimension; `wide` computes them in `f64` whatever the image is.
    fn taps(&self, filter: Filter, wide: bool) -> [Taps; 3] {
        let mut left = self.absent;
        self.spans.map(|s| {
            let absent = left > 0;
            left = left.saturating_sub(1);
            if absent { Taps::only() } else { Taps::of(&Span { wide: s.wide || wide, ..s }, filter) }
        })
    }
}

/// Returns the factor of spatial dimension `d`: an entry of `scale_factors`, or the argument behind the sizes and `align_corners`.
fn factor(cx: &Cx<'_, '_, '_>, d: usize) -> Option<f64> {
    let schema = &cx.call.operator.schema;
    if let Some(i) = schema.param_index("scale_factors") {
        return match cx.arg(i).items()?.get(d)? {
            Arg::Float(f) => Some(*f),
            #[allow(clippy::cast_precision_loss)]
            Arg::Int(n) => Some(*n as f64),
            _ => None,
        };
    }
    let first = schema.params.iter().position(|p| p.name.starts_with("scales"))?;
    cx.float(first.saturating_add(d))
}

fn product(sizes: [usize; 3]) -> usize {
    shape::numel(&sizes)
}

fn nearest(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (input, resized) = (cx.tensor(0)?, Resized::of(cx)?);
    let exact = cx.call.operator.schema.name.contains("exact");
    // The same loops double by shifting, and compute in `f32` whatever the image is.
    let direct = input.rank() > 3 && !stores_weights(cx, Filter::Linear)?;
    let [depths, rows, columns] = resized.spans.map(|s| s.nearest(exact, direct));
    let [_, height, width] = resized.from;
    let (plane, result) = (product(resized.from), product(resized.to));
    let count = shape::count(&cx.meta()?.sizes)?;
    with_width!(input.dtype().bytes(), U => {
        let values = input.raw::<U>()?;
        let mut out = vec![U::default(); count];
        let line = columns.len().max(1);
        out.par_chunks_mut(result.max(1)).zip(values.par_chunks(plane.max(1))).for_each(|(out, values)| {
            let lines = depths.iter().flat_map(|d| rows.iter().map(move |r| (*d, *r)));
            for (out, (d, r)) in out.chunks_mut(line).zip(lines) {
                let start = d.saturating_mul(height).saturating_add(r).saturating_mul(width);
                let from = values.get(start..start.saturating_add(width)).unwrap_or(&[]);
                for (o, column) in out.iter_mut().zip(&columns) {
                    *o = from.get(*column).copied().unwrap_or_default();
                }
            }
        });
        cx.emit_raw(out)
    })
}

fn linear(cx: &mut Cx<'_, '_, '_>) -> Made {
    weighted(cx, Filter::Linear)
}

fn cubic(cx: &mut Cx<'_, '_, '_>) -> Made {
    weighted(cx, Filter::Cubic)
}

fn weighted(cx: &Cx<'_, '_, '_>, filter: Filter) -> Made {
    let (input, resized) = (cx.tensor(0)?, Resized::of(cx)?);
    let count = shape::count(&cx.meta()?.sizes)?;
    match (input.dtype(), LaneKind::of(input.dtype())) {
        (Dtype::U8, _) => {
            let taps = resized.taps(filter, true).map(Taps::fixed_point);
            let values: Vec<i64> = input.lanes::<i64>()?.into_vec();
            cx.emit(resampled(&values, &resized, &taps, count))
        }
        (_, LaneKind::F32) => {
            let stored = if stores_weights(cx, filter)? { input.dtype() } else { Dtype::F32 };
            let taps = resized.taps(filter, false).map(|t| t.stored(stored));
            cx.emit(resampled(&input.lanes::<f32>()?, &resized, &taps, count))
        }
        (_, LaneKind::F64) => {
            let taps = resized.taps(filter, false);
            cx.emit(resampled(&input.lanes::<f64>()?, &resized, &taps, count))
        }
        (dtype, _) => Err(CallFault::Unsupported { what: format!("resampling of {}", dtype.long()) }),
    }
}

/// Whether PyTorch keeps the weights in the image's dtype: its loops over channels-last or small images do not.
fn stores_weights(cx: &Cx<'_, '_, '_>, filter: Filter) -> Result<bool, CallFault> {
    let (input, result) = (cx.tensor(0)?, cx.meta()?);
    let space: usize = result.sizes.iter().skip(2).sum();
    let order: Shape = [0].into_iter().chain(2..input.rank()).chain([1]).collect();
    let (sizes, strides) = (shape::permuted(input.sizes(), &order), shape::permuted(&input.meta.strides, &order));
    let channels_last = shape::is_contiguous(&sizes, &strides) && input.meta.size(1) > 3;
    Ok(match (filter, input.rank()) {
        (Filter::Linear, 4) => !channels_last && space > 128,
        (Filter::Linear, 5) => !channels_last,
        (Filter::SmoothLinear | Filter::SmoothCubic, _) => false,
        _ => true,
    })
}

/// Resamples each plane: first along its rows, then rows with rows.
fn resampled<T: Weighing + Lane>(values: &[T], resized: &Resized, taps: &[Taps<T>; 3], count: usize) -> Vec<T> {
    let (plane, result) = (product(resized.from), product(resized.to));
    let [depths, rows, columns] = taps;
    let [_, height, width] = resized.from;
    let line = columns.len();
    let mut out = vec![T::default(); count];
    if plane == 0 || result == 0 {
        return out;
    }
    out.par_chunks_mut(result).zip(values.par_chunks(plane)).for_each(|(out, values)| {
        let mut narrow = vec![T::default(); plane.checked_div(width).unwrap_or(0).saturating_mul(line)];
        for (to, from) in narrow.chunks_mut(line).zip(values.chunks(width)) {
            for (o, (places, shares)) in to.iter_mut().zip(columns.iter()) {
                let counted = places.iter().zip(shares).filter(|(_, w)| columns.counts(**w));
                let terms = counted.map(|(p, w)| from.get(*p).copied().unwrap_or_default().times(*w));
                *o = columns.finish(terms.fold(T::default(), T::plus));
            }
        }
        let pairs = depths.iter().flat_map(|d| rows.iter().map(move |r| (d, r)));
        for (out, ((depths_of, depth_shares), (rows_of, row_shares))) in out.chunks_mut(line).zip(pairs) {
            for (d, dw) in depths_of.iter().zip(depth_shares) {
                for (r, rw) in rows_of.iter().zip(row_shares).filter(|(_, w)| rows.counts(**w)) {
                    let share = T::joint(*dw, *rw);
                    let start = d.saturating_mul(height).saturating_add(*r).saturating_mul(line);
                    let from = narrow.get(start..start.saturating_add(line)).unwrap_or(&[]);
                    out.iter_mut().zip(from).for_each(|(o, v)| *o = o.plus(v.times(share)));
                }
            }
            out.iter_mut().for_each(|o| *o = rows.finish(*o));
        }
    });
    out
}
