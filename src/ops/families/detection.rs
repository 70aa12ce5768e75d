//! Boxes of detectors: those that are kept, and what lies in them.

use crate::graph::{Dtype, ValueType};
use crate::ops::error::CallFault;
use crate::ops::families::Entry;
use crate::ops::typing::call::Call;
use crate::ops::typing::out;
use crate::ops::typing::sizes;
use crate::sym::Dim;

type Typed = Result<ValueType, CallFault>;

pub(in crate::ops) const RULES: &[Entry] =
    &[(nms, &["torchvision.nms.default"]), (roi_align, &["torchvision.roi_align.default"])];

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
