//! Reductions and scans. Results are contiguous.

use smallvec::SmallVec;

use crate::graph::{Dtype, TensorType, ValueType};
use crate::ops::error::CallFault;
use crate::ops::families::Entry;
use crate::ops::typing::call::Call;
use crate::ops::typing::layout;
use crate::ops::typing::out;
use crate::ops::typing::promote::{Promotion, float_of, to_real};
use crate::ops::typing::sizes;
use crate::ops::typing::sizes::Sizes;
use crate::sym::Dim;

type Typed = Result<ValueType, CallFault>;
type Axes = SmallVec<[usize; 4]>;

pub(in crate::ops) const RULES: &[Entry] = &[
    (
        sum,
        &[
            "aten.sum.default",
            "aten.sum.dim_IntList",
            "aten.prod.default",
            "aten.prod.dim_int",
            "aten.nansum.default",
            "aten.trace.default",
            "prims.sum.default",
        ],
    ),
    (mean, &["aten.mean.default", "aten.mean.dim", "aten.nanmean.default"]),
    (
        same,
        &[
            "aten.amax.default",
            "aten.amin.default",
            "aten.max.default",
            "aten.min.default",
            "aten.median.default",
            "aten.nanmedian.default",
            "prims.amax.default",
            "prims.amin.default",
        ],
    ),
    (
        truth,
        &["aten.any.default", "aten.any.dim", "aten.any.dims", "aten.all.default", "aten.all.dim", "aten.all.dims"],
    ),
    (index, &["aten.argmax.default", "aten.argmin.default"]),
    (count, &["aten.count_nonzero.default", "aten.count_nonzero.dim_IntList"]),
    (
        with_indices,
        &[
            "aten.max.dim",
            "aten.min.dim",
            "aten.median.dim",
            "aten.nanmedian.dim",
            "aten.mode.default",
            "aten.kthvalue.default",
        ],
    ),
    (both_ends, &["aten.aminmax.default"]),
    (
        spread,
        &[
            "aten.var.default",
            "aten.var.dim",
            "aten.var.correction",
            "aten.std.default",
            "aten.std.dim",
            "aten.std.correction",
            "prims.var.default",
        ],
    ),
    (spread_and_mean, &["aten.var_mean.correction", "aten.var_mean.dim", "aten.std_mean.correction"]),
    (
        norm,
        &["aten.norm.Scalar", "aten.norm.ScalarOpt_dim", "aten.linalg_vector_norm.default", "aten.logsumexp.default"],
    ),
    (other, &["aten.max.other", "aten.min.other"]),
    (distance, &["aten.dist.default"]),
    (scan, &["aten.cumsum.default", "aten.cumprod.default"]),
    (scan_same, &["aten.logcumsumexp.default"]),
    (scan_with_indices, &["aten.cummax.default", "aten.cummin.default"]),
    (product_over, &["prims.prod.default"]),
    (|c| out::loosely(difference(c), c), &["aten.diff.default"]),
    (
        loss,
        &[
            "aten.mse_loss.default",
            "aten.l1_loss.default",
            "aten.smooth_l1_loss.default",
            "aten.huber_loss.default",
            "aten.binary_cross_entropy.default",
            "aten.kl_div.default",
        ],
    ),
    (logits_loss, &["aten.binary_cross_entropy_with_logits.default"]),
    (class_loss, &["aten.nll_loss_nd.default", "aten.cross_entropy_loss.default"]),
    (class_loss_and_weight, &["aten.nll_loss_forward.default", "aten.nll_loss2d_forward.default"]),
];

/// Returns the reduced dimensions: of parameter `dim` or `dims`; all where it is absent, `None` or empty.
fn axes(c: &Call<'_>, rank: usize) -> Result<Axes, CallFault> {
    let params = &c.operator.schema;
    let all = (0..rank).collect();
    match params.param_index("dim").or_else(|| params.param_index("dims")) {
        None => Ok(all),
        Some(i) => Ok(c.axes(i, rank)?.filter(|d| !d.is_empty()).unwrap_or(all)),
    }
}

fn keepdim(c: &Call<'_>) -> Result<bool, CallFault> {
    c.operator.schema.param_index("keepdim").map_or(Ok(false), |i| c.bool(i))
}

fn dtype_of(c: &Call<'_>) -> Result<Option<Dtype>, CallFault> {
    let place = c.operator.schema.param_index("dtype").or_else(|| c.operator.schema.param_index("output_dtype"));
    place.map_or(Ok(None), |i| c.dtype(i))
}

/// Returns the sizes that are left.
pub(in crate::ops) fn reduced_sizes(t: &TensorType, over: &[usize], keep: bool) -> Sizes {
    let mut out = Sizes::new();
    for (d, size) in t.sizes.iter().enumerate() {
        match (over.contains(&d), keep) {
            (false, _) => out.push(*size),
            (true, true) => out.push(Dim::Fixed(1)),
            (true, false) => {}
        }
    }
    out
}

fn reduced(c: &mut Call<'_>, t: &TensorType, dtype: Dtype) -> Typed {
    let over = axes(c, t.rank())?;
    let left = reduced_sizes(t, &over, keepdim(c)?);
    out::contiguous(c.symbols, dtype, left, t.device.clone())
}

fn widened(d: Dtype) -> Dtype {
    if d == Dtype::Bool || d.is_integer() { Dtype::I64 } else { d }
}

fn sum(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let dtype = dtype_of(c)?.unwrap_or_else(|| widened(t.dtype));
    reduced(c, t, dtype)
}

/// Reduced one dimension after another: over none nothing is.
fn product_over(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    if !c.is_none(1) && c.dims(1)?.is_empty() {
        return out::like(c, dtype_of(c)?.unwrap_or(t.dtype), t);
    }
    sum(c)
}

fn mean(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let dtype = dtype_of(c)?.unwrap_or(t.dtype);
    if !dtype.is_float() && !dtype.is_complex() {
        return Err(c.bad(0, "a floating point or complex dtype", dtype.long()));
    }
    reduced(c, t, dtype)
}

fn same(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    reduced(c, t, t.dtype)
}

/// An empty list of `any.dims` reduces nothing.
fn truth(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let dtype = if t.dtype == Dtype::U8 { Dtype::U8 } else { Dtype::Bool };
    if c.operator.schema.params.len() > 1 && c.arg(1).items().is_some_and(<[_]>::is_empty) {
        return out::contiguous(c.symbols, dtype, t.sizes.clone(), t.device.clone());
    }
    reduced(c, t, dtype)
}

fn index(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    if c.is_none(1) && c.bool(2)? {
        let ones = SmallVec::from_elem(Dim::Fixed(1), t.rank());
        return out::contiguous(c.symbols, Dtype::I64, ones, t.device.clone());
    }
    reduced(c, t, Dtype::I64)
}

fn count(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    reduced(c, t, Dtype::I64)
}

fn with_indices(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    Ok(out::many([reduced(c, t, t.dtype)?, reduced(c, t, Dtype::I64)?]))
}

fn both_ends(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let one = reduced(c, t, t.dtype)?;
    Ok(out::many([one.clone(), one]))
}

fn spread(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let dtype = dtype_of(c)?.unwrap_or_else(|| to_real(t.dtype));
    reduced(c, t, dtype)
}

fn spread_and_mean(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    Ok(out::many([reduced(c, t, to_real(t.dtype))?, reduced(c, t, t.dtype)?]))
}

fn norm(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let complex_sum = &*c.operator.schema.name == "logsumexp";
    let own = if complex_sum { float_of(t.dtype) } else { to_real(t.dtype) };
    let stated = dtype_of(c)?;
    if let Some(to) = stated
        && !(to.is_complex() || to.is_float() && (t.dtype == to || t.dtype.bytes() < to.bytes()))
    {
        let at = c.operator.schema.param_index("dtype").unwrap_or(0);
        return Err(c.bad(at, format!("a dtype of floats that holds {}", t.dtype.long()), to.long()));
    }
    reduced(c, t, stated.map_or(own, to_real))
}

fn other(c: &mut Call<'_>) -> Typed {
    let (operands, promotion) = crate::ops::families::pointwise::operands(c, &[0, 1])?;
    out::pointwise(c, promotion.dtype()?, &operands)
}

fn distance(c: &mut Call<'_>) -> Typed {
    let (_, promotion) = crate::ops::families::pointwise::operands(c, &[0, 1])?;
    let dtype = to_real(promotion.dtype()?);
    let device = c.tensor(0)?.device.clone();
    out::contiguous(c.symbols, dtype, Sizes::new(), device)
}

fn scan(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    c.axis(1, t.rank())?;
    let dtype = dtype_of(c)?.unwrap_or_else(|| widened(t.dtype));
    out::contiguous(c.symbols, dtype, t.sizes.clone(), t.device.clone())
}

fn scan_same(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    c.axis(1, t.rank())?;
    out::contiguous(c.symbols, t.dtype, t.sizes.clone(), t.device.clone())
}

fn scan_with_indices(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    c.axis(1, t.rank())?;
    let one = |c: &mut Call<'_>, dtype| out::contiguous(c.symbols, dtype, t.sizes.clone(), t.device.clone());
    Ok(out::many([one(c, t.dtype)?, one(c, Dtype::I64)?]))
}

/// Each step subtracts neighbours: one element less a step.
fn difference(c: &mut Call<'_>) -> Typed {
    let (t, times) = (c.tensor(0)?, c.int(1)?);
    if times == 0 {
        return out::like(c, t.dtype, t);
    }
    let d = c.axis(2, t.rank())?;
    let mut size = t.sizes.get(d).copied().unwrap_or(Dim::Fixed(1));
    let mut joined = false;
    let mut p = Promotion::default();
    p.tensor(t.dtype, t.rank())?;
    for i in [3, 4] {
        if let Some(more) = c.opt_tensor(i)? {
            joined = true;
            p.tensor(more.dtype, more.rank())?;
            size = sizes::add(c.symbols, size, more.sizes.get(d).copied().unwrap_or(Dim::Fixed(1)))?;
        }
    }
    let left = sizes::sub(c.symbols, size, Dim::Fixed(times))?;
    let left = sizes::max(c.symbols, left, Dim::Fixed(0))?;
    let mut wanted = t.sizes.clone();
    if let Some(slot) = wanted.get_mut(d) {
        *slot = left;
    }
    let narrow = TensorType { sizes: wanted.clone(), ..t.clone() };
    let strides = if joined {
        Some(layout::contiguous(c.symbols, &wanted)?)
    } else {
        layout::pointwise(c.symbols, &wanted, &[&narrow])?
    };
    Ok(out::strided(p.dtype()?, wanted, strides, t.device.clone()))
}

/// A mean.
const MEAN: i64 = 1;

/// A sum. What is neither keeps all elements.
const SUM: i64 = 2;

fn reduction(c: &Call<'_>) -> Result<i64, CallFault> {
    c.operator.schema.param_index("reduction").map_or(Ok(1), |i| c.int(i))
}

fn loss(c: &mut Call<'_>) -> Typed {
    // The divergence is computed from the target on.
    let places: &[usize] = if &*c.operator.schema.name == "kl_div" { &[1, 0] } else { &[0, 1] };
    let (operands, promotion) = crate::ops::families::pointwise::operands(c, places)?;
    let dtype = if &*c.operator.schema.name == "l1_loss" { to_real(promotion.dtype()?) } else { promotion.dtype()? };
    let dtype = if &*c.operator.schema.name == "huber_loss" { c.tensor(0)?.dtype } else { dtype };
    let whole = out::pointwise(c, dtype, &operands)?;
    let dtype = match reduction(c)? {
        MEAN => dtype,
        SUM => widened(dtype),
        _ => return Ok(whole),
    };
    let device = c.tensor(0)?.device.clone();
    out::contiguous(c.symbols, dtype, Sizes::new(), device)
}

/// Computed in place of 1 less the target, whose sizes and dtype it has.
fn logits_loss(c: &mut Call<'_>) -> Typed {
    let (t, target) = (c.tensor(0)?, c.tensor(1)?);
    let (_, promotion) = crate::ops::families::pointwise::operands(c, &[0, 1])?;
    let dtype = if target.dtype == Dtype::Bool { Dtype::I64 } else { target.dtype };
    if crate::ops::typing::promote::category(promotion.dtype()?) > crate::ops::typing::promote::category(dtype) {
        return Err(c.bad(1, format!("a dtype that holds {}", t.dtype.long()), target.dtype.long()));
    }
    if matches!(reduction(c)?, MEAN | SUM) {
        return out::contiguous(c.symbols, dtype, Sizes::new(), t.device.clone());
    }
    out::pointwise(c, dtype, &[crate::ops::typing::call::Operand::Tensor(target)])
}

fn class_loss_type(c: &mut Call<'_>) -> Typed {
    let (t, target) = (c.tensor(0)?, c.tensor(1)?);
    let mut p = Promotion::default();
    p.tensor(t.dtype, t.rank())?;
    let probabilities = target.dtype.is_float() && target.rank() == t.rank();
    if probabilities {
        p.tensor(target.dtype, target.rank())?;
    }
    // Here all but 0 is reduced.
    if reduction(c)? != 0 {
        return out::contiguous(c.symbols, p.dtype()?, Sizes::new(), t.device.clone());
    }
    // Targets that are probabilities have the input's shape; classes lack its second dimension.
    let left = if probabilities { reduced_sizes(t, &[usize::from(t.rank() > 1)], false) } else { target.sizes.clone() };
    out::contiguous(c.symbols, p.dtype()?, left, t.device.clone())
}

fn class_loss(c: &mut Call<'_>) -> Typed {
    class_loss_type(c)
}

fn class_loss_and_weight(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let first = class_loss_type(c)?;
    Ok(out::many([first, out::contiguous(c.symbols, t.dtype, Sizes::new(), t.device.clone())?]))
}
