//! Boxes of detectors: those that are kept, and what lies in them.

use crate::graph::{Dtype, ValueType};
use crate::ops::error::CallFault;
use crate::ops::families::Entry;
use crate::ops::typing::call::Call;
use crate::ops::typing::out;
use crate::ops::typing::sizes;
use crate::sym::Dim;

type Typed = Result<ValueType, CallFault>;

pub(in crate::ops) const RULES: &[Entry] = &[
    (nms, &["torchvision.nms.default"]),
    (roi_align, &["torchvision.roi_align.default"]),
    (roi_pool, &["torchvision.roi_pool.default"]),
    (by_parts, &["torchvision.ps_roi_pool.default", "torchvision.ps_roi_align.default"]),
];

fn columns(c: &Call<'_>, i: usize, wanted: i64) -> Result<Dim, CallFault> {
    match c.tensor(i)?.sizes.as_slice() {
        [rows, columns] if !sizes::differ(c.symbols, *columns, Dim::Fixed(wanted)) => Ok(*rows),
        found => Err(c.bad(i, format!("rows of {wanted}"), sizes::show(c.symbols, found))),
    }
}

/// Places of the boxes that are kept: how many, only running tells.
fn nms(c: &mut Call<'_>) -> Typed {
    let rows = columns(c, 0, 4)?;
    let (boxes, scores) = (c.tensor(0)?, c.tensor(1)?);
    let one_each = matches!(scores.sizes.as_slice(), [n] if !sizes::differ(c.symbols, *n, rows));
    if !one_each || boxes.dtype != scores.dtype {
        return Err(c.bad(1, "one score a box, of its dtype", sizes::show(c.symbols, &scores.sizes)));
    }
    let kept = c.unbacked(0, 0);
    out::contiguous(c.symbols, Dtype::I64, smallvec::smallvec![kept], boxes.device.clone())
}

fn roi_align(c: &mut Call<'_>) -> Typed {
    let rows = columns(c, 1, 5)?;
    let (x, boxes, height, width) = (c.tensor(0)?, c.tensor(1)?, c.dim(3)?, c.dim(4)?);
    let [_, channels, _, _] = *x.sizes.as_slice() else {
        return Err(c.bad(0, "4 dimensions", sizes::show(c.symbols, &x.sizes)));
    };
    if x.dtype != boxes.dtype {
        return Err(c.bad(1, format!("dtype {}", x.dtype.long()), boxes.dtype.long()));
    }
    out::contiguous(c.symbols, x.dtype, smallvec::smallvec![rows, channels, height, width], x.device.clone())
}

/// Results, and in whole numbers where each comes from.
fn with_places(c: &mut Call<'_>, of_parts: bool) -> Typed {
    let rows = columns(c, 1, 5)?;
    let (x, boxes, height, width) = (c.tensor(0)?, c.tensor(1)?, c.dim(3)?, c.dim(4)?);
    let [_, channels, _, _] = *x.sizes.as_slice() else {
        return Err(c.bad(0, "4 dimensions", sizes::show(c.symbols, &x.sizes)));
    };
    if x.dtype != boxes.dtype {
        return Err(c.bad(1, format!("dtype {}", x.dtype.long()), boxes.dtype.long()));
    }
    let bins = sizes::mul(c.symbols, height, width)?;
    if bins.fixed().is_some_and(|n| n < 1) {
        return Err(c.bad(3, "1 bin or more", c.symbols.print_python(bins)));
    }
    let made = if of_parts { sizes::floordiv(c.symbols, channels, bins)? } else { channels };
    if let (true, Some(channels), Some(bins)) = (of_parts, channels.fixed(), bins.fixed())
        && channels.checked_rem(bins) != Some(0)
    {
        return Err(c.bad(0, format!("a multiple of {bins} channels"), channels.to_string()));
    }
    let dims: sizes::Sizes = smallvec::smallvec![rows, made, height, width];
    let one = |c: &mut Call<'_>, dtype| out::contiguous(c.symbols, dtype, dims.clone(), x.device.clone());
    Ok(out::many([one(c, x.dtype)?, one(c, Dtype::I32)?]))
}

fn roi_pool(c: &mut Call<'_>) -> Typed {
    with_places(c, false)
}

fn by_parts(c: &mut Call<'_>) -> Typed {
    with_places(c, true)
}
