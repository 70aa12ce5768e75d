//! Distances between rows, and products of vectors that are no sums: cross and outer products with an addend.
//!
//! Leaves matrix products to `matmul` and contractions to `contract`.

use rayon::prelude::*;

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::matmul::{Plus, matrices, product, product_lanes};
use crate::exec::loops::pointwise::map3;
use crate::exec::numbers::accumulate::Ring;
use crate::exec::tensor::lane::{Lane, rounding, with_float_lane, with_lane};
use crate::exec::tensor::shape;
use crate::exec::tensor::shape::Shape;
use crate::exec::tensor::source::number;
use crate::exec::tensor::value::{Operand, Scalar, Value};
use crate::exec::tensor::{Meta, Tensor};
use crate::graph::Dtype;
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (cdist, &["aten.cdist.default", "aten._cdist_forward.default"]),
    (pdist, &["aten._pdist_forward.default"]),
    (cross, &["aten.linalg_cross.default"]),
    (addbmm, &["aten.addbmm.default"]),
    (addr, &["aten.addr.default"]),
    (dot, &["aten.dot.default", "aten.vdot.default"]),
    (int8_mm, &["aten._weight_int8pack_mm.default"]),
];

/// What is made of the differences of two rows.
#[derive(Clone, Copy)]
enum Norm {
    /// How many there are.
    Count,
    Sum,
    Euclid,
    Largest,
    Power(f64),
}

impl Norm {
    fn of(p: f64) -> Norm {
        match p {
            _ if p == 0.0 => Norm::Count,
            _ if p == 1.0 => Norm::Sum,
            _ if p == 2.0 => Norm::Euclid,
            _ if p.is_infinite() => Norm::Largest,
            _ => Norm::Power(p),
        }
    }
}

/// A lane that distances are computed in.
trait Far: Lane {
    fn distance(a: &[Self], b: &[Self], norm: Norm) -> Self;
}

macro_rules! far {
    ($($t:ty),*) => {$(
        impl Far for $t {
            #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
            fn distance(a: &[Self], b: &[Self], norm: Norm) -> Self {
                let far = a.iter().zip(b).map(|(a, b)| (a - b).abs());
                match norm {
                    Norm::Count => far.filter(|d| *d != 0.0).count() as $t,
                    Norm::Sum => far.sum(),
                    Norm::Euclid => far.map(|d| d * d).sum::<$t>().sqrt(),
                    Norm::Largest => far.fold(0.0, |max: $t, d| if d > max || d.is_nan() { d } else { max }),
                    Norm::Power(p) => {
                        let p = p as $t;
                        far.map(|d| d.powf(p)).sum::<$t>().powf(1.0 / p)
                    }
                }
            }
        }
    )*};
}

far!(f32, f64);

/// The same matrices for each position of a batch.
fn repeated(t: &Tensor, batch: &[usize]) -> Result<Tensor, CallFault> {
    let matrix = t.sizes().iter().skip(t.rank().saturating_sub(2));
    t.broadcast(&batch.iter().chain(matrix).copied().collect::<Shape>())
}

fn cdist(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (a, b, meta, norm) = (cx.tensor(0)?, cx.tensor(1)?, cx.meta()?, Norm::of(cx.f64(2)?));
    let batch = meta.sizes.get(..meta.rank().saturating_sub(2)).unwrap_or(&[]);
    let (a, b) = (repeated(a, batch)?, repeated(b, batch)?);
    let width = a.meta.size(a.rank().saturating_sub(1));
    let rows = |t: &Tensor| t.meta.size(t.rank().saturating_sub(2));
    let (of_a, of_b) = (rows(&a), rows(&b));
    with_float_lane!(meta.dtype, "distances", L => {
        let (x, y) = (a.lanes::<L>()?, b.lanes::<L>()?);
        let mut out = vec![L::default(); shape::count(&meta.sizes)?];
        if width > 0 {
            out.par_chunks_mut(of_b.max(1)).enumerate().for_each(|(row, out)| {
                let image = row.checked_div(of_a).unwrap_or(0);
                let row = x.chunks(width).nth(row).unwrap_or(&[]);
                let others = y.chunks(width).skip(image.saturating_mul(of_b));
                out.iter_mut().zip(others).for_each(|(o, other)| *o = L::distance(row, other, norm));
            });
        }
        cx.emit(out)
    })
}

fn pdist(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, meta, norm) = (cx.tensor(0)?, cx.meta()?, Norm::of(cx.f64(1)?));
    let (rows, width) = (t.meta.size(0), t.meta.size(1));
    with_float_lane!(meta.dtype, "distances", L => {
        let x = t.lanes::<L>()?;
        let row = |k: usize| {
            let start = k.saturating_mul(width);
            x.get(start..start.saturating_add(width)).unwrap_or(&[])
        };
        let pairs = (0..rows).flat_map(|i| (i.saturating_add(1)..rows).map(move |j| (i, j)));
        cx.emit(pairs.map(|(i, j)| L::distance(row(i), row(j), norm)).collect())
    })
}

fn cross(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (a, b, meta) = (cx.tensor(0)?, cx.tensor(1)?, cx.meta()?);
    let d = cx.axis(2, meta.rank())?;
    if meta.size(d) != 3 {
        return Err(cx.bad(2, "a dimension of size 3", meta.size(d).to_string()));
    }
    let (a, b) = (a.broadcast(&meta.sizes)?.with_last(d), b.broadcast(&meta.sizes)?.with_last(d));
    with_lane!(meta.dtype, L => {
        let (x, y) = (a.lanes::<L>()?, b.lanes::<L>()?);
        let round = rounding::<L>(meta.dtype);
        let times = |a: L, b: L| round(a.times(b));
        let mut out = Vec::with_capacity(x.len());
        for (a, b) in x.as_chunks::<3>().0.iter().zip(y.as_chunks::<3>().0) {
            let ([a, b, c], [x, y, z]) = (*a, *b);
            out.push(times(b, z).plus(times(c, y).negate()));
            out.push(times(c, x).plus(times(a, z).negate()));
            out.push(times(a, y).plus(times(b, x).negate()));
        }
        let whole = cx.make(meta.dtype, a.sizes(), out)?;
        let last = meta.rank().saturating_sub(1);
        let back: Shape = (0..meta.rank())
            .map(|k| match k {
                _ if k == d => last,
                _ if k > d => k.saturating_sub(1),
                _ => k,
            })
            .collect();
        cx.laid_out(0, whole.permute(&back)).map(Value::Tensor)
    })
}

/// Adds the products of all pairs of matrices, one after the other.
fn addbmm(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, a, b, meta) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?, cx.meta()?);
    let (mut beta, alpha) = (cx.scalar(3)?, cx.scalar(4)?);
    let plain = Meta::contiguous(meta.dtype, &meta.sizes);
    let mut pairs = Vec::new();
    for k in 0..a.meta.size(0) {
        pairs.push((a.narrow(0, k, 1)?, b.narrow(0, k, 1)?));
    }
    if pairs.is_empty() {
        // What is added is scaled all the same: by a product over nothing.
        let none = |rows: usize, columns: usize| cx.make(meta.dtype, &[1, rows, columns], Vec::<i64>::new());
        pairs.push((none(meta.size(0), 0)?, none(0, meta.size(1))?));
    }
    let mut sum = t.clone();
    for (a, b) in pairs {
        sum = product(cx, &plain, (&a, &a), (&b, &b), &Plus { alpha, beta, added: Some(&sum) })?;
        beta = Scalar::Int(1);
    }
    cx.laid_out(0, sum).map(Value::Tensor)
}

/// `beta * self + alpha * a * b^T`, rounded after each operation.
fn addr(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, a, b, meta) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?, cx.meta()?);
    let (beta, alpha) = (cx.scalar(3)?, cx.scalar(4)?);
    let mut column = a.clone();
    column.meta.sizes.push(1);
    column.meta.strides.push(0);
    let operands = [Operand::Tensor(t), Operand::Tensor(&column), Operand::Tensor(b)];
    with_lane!(meta.dtype, L => {
        let round = rounding::<L>(meta.dtype);
        let (beta, alpha): (L, L) = (number(beta, Some(meta.dtype)), number(alpha, Some(meta.dtype)));
        map3(cx, &meta, operands, meta.dtype, |t: L, a: L, b: L| {
            let product = round(round(alpha.times(a)).times(b));
            if beta == L::default() { product } else { round(beta.times(t)).plus(product) }
        })
        .map(Value::Tensor)
    })
}

/// `dot`, and `vdot`, which conjugates the first. Where both of a product's operands are conjugates, the result is a lazy one.
fn dot(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (meta, conjugates) = (cx.meta()?, &*cx.call.operator.schema.name == "vdot");
    let (mut a, mut b) = (cx.tensor(0)?.clone(), cx.tensor(1)?.clone());
    a.conj ^= conjugates && a.dtype().is_complex();
    let lazy = a.conj && b.conj;
    if lazy {
        (a.conj, b.conj) = (false, false);
    }
    let mut out = matrices(cx, &meta, &a, &b)?;
    out.conj = lazy;
    Ok(Value::Tensor(out))
}

/// A product with a weight of bytes, each row of which has its factor.
fn int8_mm(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (a, b, scales, meta) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?, cx.meta()?);
    let batched = |t: &Tensor| {
        let mut t = t.clone();
        t.meta.sizes.insert(0, 1);
        t.meta.strides.insert(0, 0);
        t
    };
    let wide = Meta::contiguous(Dtype::F32, &meta.sizes);
    let (left, right) = (batched(a), batched(&b.permute(&[1, 0])));
    let mut values = product_lanes::<f32>(&wide, (a, &left), (b, &right), &Plus::NOTHING, cx.meter())?;
    let scales = scales.lanes::<f32>()?;
    let lines = values.chunks_mut(scales.len().max(1));
    lines.for_each(|line| line.iter_mut().zip(scales.iter()).for_each(|(v, s)| *v *= s));
    cx.emit(values)
}
