//! Matrix products.
//!
//! Operands keep their strides; narrow floats are multiplied and added in `f32` and rounded once, `f16` in the order of PyTorch's loops;
//! integers wrap.

use crate::exec::call::cx::Cx;
use crate::exec::dense::gemm::gemm_batch;
use crate::exec::dense::half::{self, Order};
use crate::exec::dense::widened::gemm_wrapping;
use crate::exec::dense::{Batch, BatchMut, DenseError, MatMut};
use crate::exec::kernels::Entry;
use crate::exec::tensor::lane::{C64, C128, Lane, with_lane};
use crate::exec::tensor::shape::Shape;
use crate::exec::tensor::source::number;
use crate::exec::tensor::span::Span;
use crate::exec::tensor::storage::Meter;
use crate::exec::tensor::value::{Scalar, Value};
use crate::exec::tensor::{Meta, Tensor};
use crate::graph::Dtype;
use crate::ops::CallFault;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (mm, &["aten.mm.default", "aten.bmm.default", "aten._int_mm.default"]),
    (grouped, &["aten._grouped_mm.default", "transformers.grouped_mm_fallback.default"]),
    (addmm, &["aten.addmm.default", "aten.baddbmm.default"]),
    (addmv, &["aten.addmv.default"]),
    (matmul, &["aten.matmul.default", "aten.linalg_matmul.default", "aten.mv.default"]),
    (linear, &["aten.linear.default"]),
];

type Made = Result<Value, CallFault>;

/// A lane that matrices are multiplied in.
pub(in crate::exec) trait Product: Lane {
    /// `c = alpha * a * b + beta * c`, matrix by matrix.
    fn product(
        alpha: Self,
        a: &Batch<'_, Self>,
        b: &Batch<'_, Self>,
        beta: Self,
        c: BatchMut<'_, Self>,
    ) -> Result<(), DenseError>;
}

macro_rules! floating {
    ($($t:ty),*) => {$(
        impl Product for $t {
            fn product(
                alpha: Self,
                a: &Batch<'_, Self>,
                b: &Batch<'_, Self>,
                beta: Self,
                c: BatchMut<'_, Self>,
            ) -> Result<(), DenseError> {
                gemm_batch(alpha, a, b, beta, c)
            }
        }
    )*};
}

floating!(f32, f64, C64, C128);

impl Product for i64 {
    fn product(
        alpha: i64,
        a: &Batch<'_, i64>,
        b: &Batch<'_, i64>,
        beta: i64,
        mut c: BatchMut<'_, i64>,
    ) -> Result<(), DenseError> {
        let matrices = a.matrices().zip(b.matrices()).zip(c.matrices_mut());
        for ((a, b), mut c) in matrices {
            let mut sums = vec![0; a.rows().saturating_mul(b.cols())];
            gemm_wrapping(&a, &b, MatMut::row_major(&mut sums, a.rows(), b.cols())?)?;
            c.update(&sums, |sum, old| sum.wrapping_mul(alpha).wrapping_add(old.wrapping_mul(beta)));
        }
        Ok(())
    }
}

/// Says what the number crunching refuses. Types were checked before: what is left is what it cannot hold.
pub(in crate::exec) fn refused(e: DenseError) -> CallFault {
    CallFault::Unsupported { what: e.to_string() }
}

/// What is added to a product: `beta * added`, and the factor of the product itself.
pub(in crate::exec) struct Plus<'a> {
    pub alpha: Scalar,
    pub beta: Scalar,
    pub added: Option<&'a Tensor>,
}

impl Plus<'_> {
    /// Nothing.
    pub(in crate::exec) const NOTHING: Plus<'static> =
        Plus { alpha: Scalar::Int(1), beta: Scalar::Int(0), added: None };
}

/// Returns `alpha * a * b + beta * added` as `meta` says; `a` and `b` are views of tensors, of rank 3 (batch, rows, columns).
pub(in crate::exec) fn product(
    cx: &Cx<'_, '_, '_>,
    meta: &Meta,
    (a, a_view): (&Tensor, &Tensor),
    (b, b_view): (&Tensor, &Tensor),
    plus: &Plus<'_>,
) -> Result<Tensor, CallFault> {
    if meta.dtype == Dtype::F16 {
        let values = product_of_halves(meta, a_view, b_view, plus, cx.meter())?;
        return crate::exec::tensor::fill::from_lanes(meta, values, cx.meter());
    }
    with_lane!(meta.dtype, L => {
        let values = product_lanes::<L>(meta, (a, a_view), (b, b_view), plus, cx.meter())?;
        crate::exec::tensor::fill::from_lanes(meta, values, cx.meter())
    })
}

pub(in crate::exec) fn product_lanes<L: Product>(
    meta: &Meta,
    (a, a_view): (&Tensor, &Tensor),
    (b, b_view): (&Tensor, &Tensor),
    plus: &Plus<'_>,
    meter: &Meter,
) -> Result<Vec<L>, CallFault> {
    let (alpha, beta): (L, L) = (number(plus.alpha, None), number(plus.beta, None));
    let (a, b) = (Span::<L>::open(a, a_view)?, Span::<L>::open(b, b_view)?);
    let out_sizes = [size(&a.sizes, 0), size(&a.sizes, 1), size(&b.sizes, 2)];
    let strides = [out_sizes[1].saturating_mul(out_sizes[2]), out_sizes[2], 1];
    // Without anything to add, what the result holds before is not looked at.
    let mut out = meter.unset::<L>(meta.numel());
    let beta = match plus.added.filter(|_| beta != L::default()) {
        Some(added) => {
            added.broadcast(&meta.sizes)?.load(&mut out)?;
            beta
        }
        None => L::default(),
    };
    {
        let a = Batch::new(&a.data, three(&a.sizes), three(&a.strides)).map_err(refused)?;
        let b = Batch::new(&b.data, three(&b.sizes), three(&b.strides)).map_err(refused)?;
        let c = BatchMut::new(&mut out, out_sizes, strides).map_err(refused)?;
        L::product(alpha, &a, &b, beta, c).map_err(refused)?;
    }
    Ok(out)
}

/// As [`product_lanes`], in the order of PyTorch's loops.
fn product_of_halves(
    meta: &Meta,
    a: &Tensor,
    b: &Tensor,
    plus: &Plus<'_>,
    meter: &Meter,
) -> Result<Vec<f32>, CallFault> {
    let (alpha, beta): (f32, f32) = (number(plus.alpha, None), number(plus.beta, None));
    let order = order(a, b);
    let sizes = [a.meta.size(0), a.meta.size(1), b.meta.size(2)];
    let [batch, inner, columns] = [a.meta.size(0), a.meta.size(2), b.meta.size(2)];
    // Where columns are read one by one, they are laid out so.
    let (turned, b_strides) = match order {
        Order::Lanes => (b.permute(&[0, 2, 1]), [inner.saturating_mul(columns), 1, inner]),
        _ => (b.clone(), [inner.saturating_mul(columns), columns, 1]),
    };
    let (left, right) = (a.lanes::<f32>()?, turned.lanes::<f32>()?);
    let mut out = meter.unset::<f32>(meta.numel());
    let beta = match plus.added.filter(|_| beta != 0.0) {
        Some(added) => {
            added.broadcast(&meta.sizes)?.load(&mut out)?;
            beta
        }
        None => 0.0,
    };
    let row_major = |[_, rows, columns]: [usize; 3]| [rows.saturating_mul(columns), columns, 1];
    let left_sizes = [batch, a.meta.size(1), inner];
    let a = Batch::new(&left, left_sizes, row_major(left_sizes)).map_err(refused)?;
    let b = Batch::new(&right, [batch, inner, columns], b_strides).map_err(refused)?;
    let c = BatchMut::new(&mut out, sizes, row_major(sizes)).map_err(refused)?;
    half::product(order, alpha, &a, &b, beta, c).map_err(refused)?;
    Ok(out)
}

/// The order in which PyTorch adds the terms of a product of `f16`: by whether rows or columns of the operands lie in one piece, of what
/// lies otherwise a copy in rows is taken. Small matrices of a batch are not seen as matrices.
fn order(a: &Tensor, b: &Tensor) -> Order {
    let [batch, rows, inner, columns] = [a.meta.size(0), a.meta.size(1), a.meta.size(2), b.meta.size(2)];
    if batch > 1 && rows.saturating_mul(inner).saturating_mul(columns) < FEW {
        return Order::One;
    }
    let stride = |t: &Tensor, d: usize| t.meta.strides.get(d).copied().unwrap_or(0);
    let by_rows = |t: &Tensor, width: usize| stride(t, 2) == 1 && stride(t, 1) >= width.max(1);
    let by_columns = |t: &Tensor, height: usize, width: usize| {
        !by_rows(t, width) && stride(t, 1) == 1 && stride(t, 2) >= height.max(1)
    };
    match (by_columns(a, rows, inner), by_columns(b, inner, columns)) {
        (false, true) => Order::Lanes,
        (true, false) => Order::One,
        _ => Order::Four,
    }
}

/// Multiplications of one matrix of a batch below which PyTorch does them element by element.
const FEW: usize = 400;

fn size(sizes: &Shape, d: usize) -> usize {
    sizes.get(d).copied().unwrap_or(1)
}

pub(in crate::exec) fn three(values: &Shape) -> [usize; 3] {
    [size(values, 0), size(values, 1), size(values, 2)]
}

/// Returns the view of rank 3 with a batch of 1 before a matrix.
fn batched(t: &Tensor) -> Tensor {
    let mut t = t.clone();
    while t.rank() < 3 {
        t.meta.sizes.insert(0, 1);
        t.meta.strides.insert(0, 0);
    }
    t
}

fn mm(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
    product(cx, &cx.meta()?, (a, &batched(a)), (b, &batched(b)), &Plus::NOTHING).map(Value::Tensor)
}

/// Groups that end where the third operand says; rows of no group are 0.
fn grouped(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
    let out = cx.zeros(0)?;
    let each = |cx: &mut Cx<'_, '_, '_>, a: Tensor, b: Tensor, to: &Tensor| {
        to.copy_from(&cx.run_tensor("aten.mm.default", &[a.into(), b.into()])?)
    };
    let Some(ends) = cx.opt_tensor(2)? else {
        for k in 0..a.meta.size(0) {
            each(cx, a.select(0, k)?, b.select(0, k)?, &out.select(0, k)?)?;
        }
        return Ok(Value::Tensor(out));
    };
    let axis = if a.rank() == 3 { b.meta.size(1) } else { a.meta.size(if b.rank() == 3 { 0 } else { 1 }) };
    let mut start = 0_usize;
    for (k, end) in ends.lanes::<i64>()?.iter().enumerate() {
        let end = usize::try_from(*end).ok().filter(|end| (start..=axis).contains(end));
        let end = end.ok_or_else(|| cx.bad(2, format!("ends that rise up to {axis}"), format!("one after {start}")))?;
        let count = end.saturating_sub(start);
        if count > 0 {
            match (a.rank(), b.rank()) {
                (2, 3) => each(cx, a.narrow(0, start, count)?, b.select(0, k)?, &out.narrow(0, start, count)?)?,
                (3, _) => each(cx, a.select(0, k)?, b.narrow(1, start, count)?, &out.narrow(1, start, count)?)?,
                _ => each(cx, a.narrow(1, start, count)?, b.narrow(0, start, count)?, &out.select(0, k)?)?,
            }
        }
        start = end;
    }
    Ok(Value::Tensor(out))
}

fn addmm(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (a, b) = (cx.tensor(1)?, cx.tensor(2)?);
    let plus = Plus { beta: cx.scalar(3)?, alpha: cx.scalar(4)?, added: Some(cx.tensor(0)?) };
    product(cx, &cx.meta()?, (a, &batched(a)), (b, &batched(b)), &plus).map(Value::Tensor)
}

fn addmv(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (a, b) = (cx.tensor(1)?, cx.tensor(2)?);
    let plus = Plus { beta: cx.scalar(3)?, alpha: cx.scalar(4)?, added: Some(cx.tensor(0)?) };
    product(cx, &cx.meta()?, (a, &batched(a)), (b, &batched(&column(b))), &plus).map(Value::Tensor)
}

/// A vector as a matrix of one column, which lies as a column.
fn column(t: &Tensor) -> Tensor {
    let mut t = t.clone();
    let length = t.numel();
    t.meta.sizes.push(1);
    t.meta.strides.push(length);
    t
}

/// A vector as a matrix of one row.
fn row(t: &Tensor) -> Tensor {
    let mut t = t.clone();
    t.meta.sizes.insert(0, 1);
    t.meta.strides.insert(0, 0);
    t
}

fn matmul(cx: &mut Cx<'_, '_, '_>) -> Made {
    let meta = cx.meta()?;
    let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
    matrices(cx, &meta, a, b).map(Value::Tensor)
}

/// The product of tensors of any rank, batches broadcast.
pub(in crate::exec) fn matrices(cx: &Cx<'_, '_, '_>, meta: &Meta, a: &Tensor, b: &Tensor) -> Result<Tensor, CallFault> {
    let left = if a.rank() == 1 { row(a) } else { a.clone() };
    let right = if b.rank() == 1 { column(b) } else { b.clone() };
    if right.rank() == 2
        && let Some(rows) = folded(&left)
    {
        return product(cx, meta, (a, &batched(&rows)), (b, &batched(&right)), &Plus::NOTHING);
    }
    let batch = broadcast_batch(&left, &right)?;
    let left = with_batch(&left, &batch)?;
    let right = with_batch(&right, &batch)?;
    product(cx, meta, (a, &left), (b, &right), &Plus::NOTHING)
}

/// All leading dimensions as one, where they lie so.
fn folded(t: &Tensor) -> Option<Tensor> {
    let (lead, last) = t.meta.sizes.split_at(t.rank().checked_sub(1)?);
    let (lead_strides, last_stride) = t.meta.strides.split_at(t.rank().checked_sub(1)?);
    let (sizes, strides) = crate::exec::tensor::shape::collapsed(lead, lead_strides);
    let (rows, step) = match (sizes.as_slice(), strides.as_slice()) {
        ([], _) => (1, 0),
        ([one], [step]) => (*one, *step),
        _ => return None,
    };
    let mut out = t.clone();
    out.meta.sizes = [rows].iter().chain(last).copied().collect();
    out.meta.strides = [step].iter().chain(last_stride).copied().collect();
    Some(out)
}

fn broadcast_batch(a: &Tensor, b: &Tensor) -> Result<Shape, CallFault> {
    let batch = |t: &Tensor| t.meta.sizes.iter().copied().take(t.rank().saturating_sub(2)).collect::<Shape>();
    let (a, b) = (batch(a), batch(b));
    let rank = a.len().max(b.len());
    let at = |dims: &Shape, d: usize| {
        d.checked_sub(rank.saturating_sub(dims.len())).and_then(|d| dims.get(d)).copied().unwrap_or(1)
    };
    let meet = |d: usize| match (at(&a, d), at(&b, d)) {
        (x, y) if x == y || y == 1 => Ok(x),
        (1, y) => Ok(y),
        (x, y) => Err(CallFault::mismatch("other", format!("{x} matrices in dimension {d}"), y.to_string())),
    };
    (0..rank).map(meet).collect()
}

/// The matrices of a tensor, repeated to a batch, as rank 3; gathered where no strides say so.
pub(in crate::exec) fn with_batch(t: &Tensor, batch: &Shape) -> Result<Tensor, CallFault> {
    let matrix = t.rank().saturating_sub(2);
    let sizes: Shape = batch.iter().chain(t.meta.sizes.iter().skip(matrix)).copied().collect();
    let wide = t.broadcast(&sizes)?;
    let (lead, lead_strides) =
        crate::exec::tensor::shape::collapsed(batch, wide.meta.strides.get(..batch.len()).unwrap_or(&[]));
    let (count, step) = match (lead.as_slice(), lead_strides.as_slice()) {
        ([], _) => (1, 0),
        ([one], [step]) => (*one, *step),
        _ => {
            let whole = wide.resolved(&crate::exec::tensor::storage::Meter::default())?;
            let step = whole.meta.sizes.iter().skip(batch.len()).fold(1_usize, |n, s| n.saturating_mul(*s));
            let count = crate::exec::tensor::shape::numel(batch);
            return three_dims(&whole, batch.len(), count, step);
        }
    };
    three_dims(&wide, batch.len(), count, step)
}

fn three_dims(t: &Tensor, lead: usize, count: usize, step: usize) -> Result<Tensor, CallFault> {
    let mut out = t.clone();
    out.meta.sizes = [count].iter().chain(t.meta.sizes.iter().skip(lead)).copied().collect();
    out.meta.strides = [step].iter().chain(t.meta.strides.iter().skip(lead)).copied().collect();
    Ok(out)
}

fn linear(cx: &mut Cx<'_, '_, '_>) -> Made {
    let meta = cx.meta()?;
    let (input, weight, bias) = (cx.tensor(0)?, cx.tensor(1)?, cx.opt_tensor(2)?);
    let right = if weight.rank() == 1 { column(weight) } else { weight.permute(&[1, 0]) };
    let left = if input.rank() == 1 { row(input) } else { input.clone() };
    // Only where PyTorch has one product with an addend is a narrow float rounded once.
    let joint = input.rank() == 2 || input.meta.is_contiguous();
    if let Some(bias) = bias.filter(|_| !joint && meta.dtype.is_float() && meta.dtype.bytes() < 4) {
        let product = matrices(cx, &meta, input, &weight.permute(if weight.rank() == 2 { &[1, 0] } else { &[0] }))?;
        let sum = cx.run_tensor("aten.add.Tensor", &[product.into(), bias.clone().into()])?;
        return cx.laid_out(0, sum).map(Value::Tensor);
    }
    let plus = Plus { alpha: Scalar::Int(1), beta: Scalar::Int(1), added: bias };
    let rows = match folded(&left) {
        Some(rows) => batched(&rows),
        None => {
            let whole = left.resolved(cx.meter())?;
            let rows = folded(&whole).unwrap_or(whole);
            return product(cx, &meta, (&rows, &batched(&rows)), (weight, &batched(&right)), &plus).map(Value::Tensor);
        }
    };
    product(cx, &meta, (input, &rows), (weight, &batched(&right)), &plus).map(Value::Tensor)
}
