//! Connectionist temporal classification: a cost a sequence, and a table of its prefixes.

use crate::graph::{Dtype, ValueType};
use crate::ops::error::CallFault;
use crate::ops::families::Entry;
use crate::ops::typing::call::Call;
use crate::ops::typing::out;
use crate::ops::typing::sizes;
use crate::sym::Dim;

type Typed = Result<ValueType, CallFault>;

pub(in crate::ops) const RULES: &[Entry] =
    &[(costs, &["aten._ctc_loss.default"]), (gradient, &["aten._ctc_loss_backward.default"])];

fn costs(c: &mut Call<'_>) -> Typed {
    let (x, labels, lengths) = (c.tensor(0)?, c.tensor(1)?, c.ints(3)?);
    let [steps, batch, _] = *x.sizes.as_slice() else {
        return Err(c.bad(0, "steps, a batch and classes", sizes::show(c.symbols, &x.sizes)));
    };
    if !matches!(x.dtype, Dtype::F32 | Dtype::F64) {
        return Err(c.bad(0, "f32 or f64", x.dtype.long()));
    }
    if !matches!(labels.dtype, Dtype::I64 | Dtype::I32) || !matches!(labels.rank(), 1 | 2) {
        return Err(c.bad(1, "labels in int64 or int32, in one list or rows", labels.dtype.long()));
    }
    for i in [2, 3] {
        let given = c.ints(i)?.len();
        if batch.fixed().is_some_and(|n| usize::try_from(n) != Ok(given)) {
            return Err(c.bad(i, format!("{} lengths", c.symbols.print_python(batch)), given.to_string()));
        }
    }
    let longest = lengths.iter().copied().max().unwrap_or(0).max(0);
    let places = Dim::Fixed(longest.saturating_mul(2).saturating_add(1));
    let cost = out::contiguous(c.symbols, x.dtype, smallvec::smallvec![batch], x.device.clone())?;
    let table = out::contiguous(c.symbols, x.dtype, smallvec::smallvec![batch, steps, places], x.device.clone())?;
    Ok(out::many([cost, table]))
}

fn gradient(c: &mut Call<'_>) -> Typed {
    let x = c.tensor(1)?;
    if x.rank() != 3 || !matches!(x.dtype, Dtype::F32 | Dtype::F64) {
        return Err(c.bad(1, "f32 or f64 of steps, a batch and classes", sizes::show(c.symbols, &x.sizes)));
    }
    out::contiguous(c.symbols, x.dtype, x.sizes.clone(), x.device.clone())
}
