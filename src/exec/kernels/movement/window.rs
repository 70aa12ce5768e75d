//! Windows over images as columns, and columns summed back into images.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::numbers::accumulate::Ring;
use crate::exec::tensor::flat::with_width;
use crate::exec::tensor::lane::with_lane;
use crate::exec::tensor::shape;
use crate::exec::tensor::value::Value;
use crate::exec::tensor::{Meta, Tensor};
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[(im2col, &["aten.im2col.default"]), (col2im, &["aten.col2im.default"])];

/// One direction of a sliding window.
#[derive(Clone, Copy)]
struct Axis {
    size: usize,
    kernel: usize,
    dilation: usize,
    padding: usize,
    stride: usize,
}

impl Axis {
    fn of(cx: &Cx<'_, '_, '_>, first: usize, k: usize, size: usize) -> Result<Axis, CallFault> {
        let number = |i: usize, least: i64| -> Result<usize, CallFault> {
            let all = cx.ints(first.saturating_add(i))?;
            let n = all.get(k).or(all.first()).copied().unwrap_or(1);
            let fits = usize::try_from(n).ok().filter(|_| n >= least);
            fits.ok_or_else(|| cx.bad(first.saturating_add(i), format!("{least} or more"), n.to_string()))
        };
        let axis = Axis {
            size,
            kernel: number(0, 1)?,
            dilation: number(1, 1)?,
            padding: number(2, 0)?,
            stride: number(3, 1)?,
        };
        if axis.padded() < axis.reach() {
            return Err(cx.bad(first, format!("a window within {}", axis.padded()), axis.reach().to_string()));
        }
        Ok(axis)
    }

    fn padded(self) -> usize {
        self.size.saturating_add(self.padding.saturating_mul(2))
    }

    fn reach(self) -> usize {
        self.kernel.saturating_sub(1).saturating_mul(self.dilation).saturating_add(1)
    }

    fn windows(self) -> usize {
        self.padded().saturating_sub(self.reach()).checked_div(self.stride).unwrap_or(0).saturating_add(1)
    }
}

/// Returns a padded, row-major image of zeros, `[planes, height, width]`, and its view `[planes, kernel rows, kernel columns, windows down,
/// windows across]`.
fn windowed(cx: &Cx<'_, '_, '_>, t: &Tensor, planes: usize, axes: [Axis; 2]) -> Result<(Tensor, Meta), CallFault> {
    let [down, across] = axes;
    let padded = Meta::contiguous(t.dtype(), &[planes, down.padded(), across.padded()]);
    let (plane, row) = (padded.stride(0), padded.stride(1));
    let sizes = [planes, down.kernel, across.kernel, down.windows(), across.windows()];
    let strides =
        [plane, down.dilation.saturating_mul(row), across.dilation, down.stride.saturating_mul(row), across.stride];
    let seen = Meta { sizes: sizes.as_slice().into(), strides: strides.as_slice().into(), ..padded.clone() };
    Ok((crate::exec::tensor::fill::empty(&padded, cx.meter())?, seen))
}

fn inside(image: &Tensor, axes: [Axis; 2]) -> Result<Tensor, CallFault> {
    let [down, across] = axes;
    image.narrow(1, down.padding, down.size)?.narrow(2, across.padding, across.size)
}

/// Returns the tensor as `[planes, rest...]`: batch and channels together.
fn planes(cx: &Cx<'_, '_, '_>, t: &Tensor, inner: usize) -> Result<Tensor, CallFault> {
    let Some(lead) = t.rank().checked_sub(inner) else {
        return Err(cx.bad(0, format!("{} or more dimensions", inner.saturating_add(1)), t.rank().to_string()));
    };
    let (outer, rest) = t.sizes().split_at(lead);
    let sizes: Vec<usize> = std::iter::once(shape::numel(outer)).chain(rest.iter().copied()).collect();
    crate::exec::kernels::movement::rows_of(cx, t, &sizes)
}

fn im2col(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = planes(cx, cx.tensor(0)?, 2)?;
    let axes = [Axis::of(cx, 1, 0, t.meta.size(1))?, Axis::of(cx, 1, 1, t.meta.size(2))?];
    let (image, seen) = windowed(cx, &t, t.meta.size(0), axes)?;
    inside(&image, axes)?.copy_from(&t)?;
    let columns = image.with_meta(seen)?;
    with_width!(t.dtype().bytes(), U => cx.emit_raw(columns.raw::<U>()?.into_vec()))
}

/// Sums in the lane of the dtype and rounds at the end.
fn col2im(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, wanted) = (cx.tensor(0)?, cx.ints(1)?);
    let size = |k: usize| usize::try_from(wanted.get(k).copied().unwrap_or(0)).unwrap_or(0);
    let axes = [Axis::of(cx, 2, 0, size(0))?, Axis::of(cx, 2, 1, size(1))?];
    let [down, across] = axes;
    let area = down.kernel.saturating_mul(across.kernel);
    let (count, windows) = (t.numel(), down.windows().saturating_mul(across.windows()));
    let rows = t.rank().checked_sub(2).map_or(0, |d| t.meta.size(d));
    if t.rank() < 2 || t.sizes().last() != Some(&windows) || rows.checked_rem(area) != Some(0) {
        let expected = format!("rows that are a multiple of {area}, and {windows} columns");
        return Err(cx.bad(0, expected, format!("sizes {:?}", t.sizes())));
    }
    let planes = count.checked_div(area.saturating_mul(windows)).unwrap_or(0);
    let (image, seen) = windowed(cx, t, planes, axes)?;
    with_lane!(t.dtype(), L => {
        let values = t.lanes::<L>()?;
        let mut sums = vec![L::default(); image.numel()];
        let runs = shape::Runs::new(&seen.sizes, &seen.strides, 0, count);
        let places = runs.flat_map(|r| (0..r.len).map(move |k| r.offset.wrapping_add(k.wrapping_mul(r.step))));
        for (at, v) in places.zip(values.iter()) {
            if let Some(sum) = sums.get_mut(at) {
                *sum = Ring::plus(*sum, *v);
            }
        }
        let summed = cx.make::<L>(t.dtype(), image.sizes(), sums)?;
        let kept = inside(&summed, axes)?;
        with_width!(t.dtype().bytes(), U => cx.emit_raw(kept.raw::<U>()?.into_vec()))
    })
}
