//! Matrix products by `mm`, `bmm`, `mv`, `dot`.

use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Real, scaled, &["aten._scaled_mm.default"]),
    (Exact, matmul, &["aten.matmul.default", "aten.linalg_matmul.default"]),
    (Exact, linear, &["aten.linear.default"]),
    (Exact, inner, &["aten.inner.default"]),
    (Exact, outer, &["aten.outer.default"]),
    (Exact, bilinear, &["aten.bilinear.default"]),
    (Real, trilinear, &["aten._trilinear.default"]),
    (Exact, tensordot, &["aten.tensordot.default"]),
    (Exact, kron, &["aten.kron.default"]),
    (Exact, eight_bits, &["aten._int_mm.default"]),
    (Exact, |b| done![b.op("_cdist_forward", args![b.t(0)?, b.t(1)?, b.arg(2), b.arg(3)])], &["aten.cdist.default"]),
    (Real, distances, &["aten._cdist_forward.default"]),
    (Exact, cosine_similarity, &["aten.cosine_similarity.default"]),
    (Real, |b| with_addend(b, "mm"), &["aten.addmm.default"]),
    (Real, |b| with_addend(b, "bmm"), &["aten.baddbmm.default"]),
    (Real, |b| with_addend(b, "mv"), &["aten.addmv.default"]),
    (Real, addr, &["aten.addr.default"]),
    (Real, mv, &["aten.mv.default"]),
    (Real, dot, &["aten.dot.default", "aten.vdot.default"]),
    (Real, cross, &["aten.linalg_cross.default"]),
    (Real, addbmm, &["aten.addbmm.default"]),
    (Exact, matrix_power, &["aten.matrix_power.default", "aten.linalg_matrix_power.default"]),
    (Exact, pairwise_distance, &["aten.pairwise_distance.default"]),
    (Exact, |b| done![b.t(0)?.contiguous().call("_pdist_forward", args![b.arg(1)])], &["aten.pdist.default"]),
    (Exact, cross_along, &["aten.cross.default"]),
    (Exact, vecdot, &["aten.linalg_vecdot.default"]),
    (Real, matmul_backward, &["aten.matmul_backward.default"]),
    (Exact, matrix_h, &["aten.matrix_H.default"]),
];

/// The norms of all differences of rows.
fn distances(b: &Builder<'_>) -> Made {
    let (x, y, p) = (b.t(0)?, b.t(1)?, b.float(2)?);
    b.only(x.dims() >= 2 && x.size(-1) != Arg::Int(0), "rows of nothing")?;
    // By products, which round otherwise, where there are many rows or somebody asks for it.
    let few = |t: T<'_>| t.fixed(-2).is_ok_and(|rows| rows <= 25);
    let by_differences = match b.opt_int(3)? {
        None | Some(0) => few(x) && few(y),
        Some(mode) => mode == 2,
    };
    b.only(p != 2.0 || by_differences, "distances by products")?;
    let apart = (x.unsqueeze(-2) - y.unsqueeze(-3)).op("abs");
    done![match p {
        1.0 => apart.sum(&[-1], false),
        2.0 => apart.pow(2).sum(&[-1], false).op("sqrt"),
        // The greatest difference leaves a NaN out in one kernel, and not in another.
        _ => return Err(b.unsupported("this norm")),
    }]
}

fn matmul(b: &Builder<'_>) -> Made {
    done![product(b, b.t(0)?, b.t(1)?)?]
}

/// `a @ b` as PyTorch folds it.
pub(super) fn product<'b>(b: &'b Builder<'_>, x: T<'b>, y: T<'b>) -> Result<T<'b>, CallFault> {
    match (x.rank(), y.rank()) {
        (0, _) | (_, 0) => Err(b.unsupported("a scalar")),
        (1, 1) => Ok(b.op("dot", args![x, y])),
        (2, 1) => Ok(b.op("mv", args![x, y])),
        (1, 2) => Ok(b.op("mm", args![x.unsqueeze(0), y]).squeeze(0)),
        (2, 2) => Ok(b.op("mm", args![x, y])),
        (rank, 1 | 2) => folded(b, x, y, rank),
        _ => batched(b, x, y),
    }
}

/// Leading dimensions of the first become rows.
fn folded<'b>(b: &'b Builder<'_>, x: T<'b>, y: T<'b>, rank: usize) -> Result<T<'b>, CallFault> {
    let mut lead = x.shape();
    let width = lead.pop().unwrap_or(Arg::Int(1));
    b.only(rank > 2, "this rank")?;
    let rows = b.size_product(&lead);
    let flat = x.reshape(vec![rows, width]);
    if y.rank() == 1 {
        return Ok(b.op("mv", args![flat, y]).call("_unsafe_view", args![lead]));
    }
    lead.push(y.size(1));
    Ok(b.op("mm", args![flat, y]).call("_unsafe_view", args![lead]))
}

/// Leading dimensions broadcast and become one.
fn batched<'b>(b: &'b Builder<'_>, x: T<'b>, y: T<'b>) -> Result<T<'b>, CallFault> {
    let column = y.rank() == 1;
    let row = x.rank() == 1;
    let (x, y) = (if row { x.unsqueeze(0) } else { x }, if column { y.unsqueeze(1) } else { y });
    let parts = |t: T<'b>| {
        let (shape, at) = (t.shape(), t.rank().saturating_sub(2));
        (shape.get(..at).unwrap_or(&[]).to_vec(), tail(&shape, at))
    };
    let ((lead_x, tail_x), (lead_y, tail_y)) = (parts(x), parts(y));
    let lead = broadcast(b, &lead_x, &lead_y)?;
    let together = |lead: &[Arg], tail: &[Arg]| -> Vec<Arg> { lead.iter().chain(tail).cloned().collect() };
    let batch = b.size_product(&lead);
    let flat =
        |t: T<'b>, tail: &[Arg]| t.expand(together(&lead, tail)).reshape(together(std::slice::from_ref(&batch), tail));
    let z = b.op("bmm", args![flat(x, &tail_x), flat(y, &tail_y)]);
    let mut sizes = lead.clone();
    sizes.extend((!row).then(|| tail_x.first().cloned()).flatten());
    sizes.extend((!column).then(|| tail_y.get(1).cloned()).flatten());
    Ok(z.call("_unsafe_view", args![sizes]))
}

/// The sizes that both broadcast to; unlike symbols are refused.
pub(super) fn broadcast(b: &Builder<'_>, x: &[Arg], y: &[Arg]) -> Result<Vec<Arg>, CallFault> {
    let rank = x.len().max(y.len());
    let at = |v: &[Arg], d: usize| d.checked_sub(rank.saturating_sub(v.len())).and_then(|d| v.get(d).cloned());
    (0..rank)
        .map(|d| match (at(x, d), at(y, d)) {
            (Some(p), Some(q)) if p == q || q == Arg::Int(1) => Ok(p),
            (Some(Arg::Int(1)), Some(q)) => Ok(q),
            (Some(p), None) | (None, Some(p)) => Ok(p),
            // Each operand is asked for its own size: the same one, in two calls.
            (Some(Arg::Node(p)), Some(Arg::Node(q))) if b.ty(p) == b.ty(q) => Ok(Arg::Node(p)),
            _ => Err(b.unsupported("sizes of which it is not known how they broadcast")),
        })
        .collect()
}

fn linear(b: &Builder<'_>) -> Made {
    done![linear_of(b, b.t(0)?, b.t(1)?, b.opt(2)?)?]
}

/// `x @ weight.T + bias`: `addmm` where there are two dimensions.
pub(super) fn linear_of<'b>(
    b: &'b Builder<'_>,
    x: T<'b>,
    weight: T<'b>,
    bias: Option<T<'b>>,
) -> Result<T<'b>, CallFault> {
    let turned = if weight.rank() == 2 { weight.op("t") } else { weight };
    let narrow = matches!(x.dtype(), Dtype::F16 | Dtype::Bf16);
    b.only(!(narrow && x.rank() == 1 && bias.is_some()), "a vector of narrow floats, which its kernel rounds once")?;
    match (bias, x.rank(), weight.rank()) {
        (Some(bias), 2, 2) => Ok(b.op("addmm", args![bias, x, turned])),
        (Some(bias), rank, 2) if rank > 2 && x.is_contiguous() => {
            let mut lead = x.shape();
            let width = lead.pop().unwrap_or(Arg::Int(1));
            let flat = x.view(vec![b.size_product(&lead), width]);
            lead.push(weight.size(0));
            Ok(b.op("addmm", args![bias, flat, turned]).view(lead))
        }
        (bias, ..) => {
            let y = product(b, x, turned)?;
            Ok(bias.map_or(y, |v| y + v))
        }
    }
}

/// Each operand's gradient is a product with the other, turned, where both have as many matrices.
fn matmul_backward(b: &Builder<'_>) -> Made {
    let (g, x, y) = (b.t(0)?, b.t(1)?, b.t(2)?);
    let both = matches!(b.arg(3).items(), Some([Arg::Bool(true), Arg::Bool(true)]));
    let rows = |t: T<'_>| t.shape().into_iter().take(t.rank().saturating_sub(2)).collect::<Vec<_>>();
    b.only(both && x.rank() >= 2 && rows(x) == rows(y), "one gradient, or a product that repeats matrices")?;
    let turned = |t: T<'_>| t.call("transpose.int", args![-2, -1]).id();
    done![b.op("matmul", args![g, turned(y)]), b.op("matmul", args![turned(x), g])]
}

fn inner(b: &Builder<'_>) -> Made {
    let (x, y) = (b.t(0)?, b.t(1)?);
    if x.rank() == 0 || y.rank() == 0 {
        return done![x * y];
    }
    done![b.op("tensordot", args![x, y, ints(&[-1]), ints(&[-1])])]
}

fn outer(b: &Builder<'_>) -> Made {
    done![b.t(0)?.unsqueeze(1) * b.t(1)?]
}

fn bilinear(b: &Builder<'_>) -> Made {
    let (x, y, weight) = (b.t(0)?, b.t(1)?, b.t(2)?);
    let width = |t: T<'_>| t.size(-1);
    let ahead = |t: T<'_>| t.sizes().into_iter().rev().skip(1).collect::<Vec<_>>();
    b.only(ahead(x) == ahead(y), "batches that may not be one")?;
    let lead: Vec<Arg> = x.shape().into_iter().take(x.rank().saturating_sub(1)).collect();
    let rows = b.size_product(&lead);
    let flat = |t: T<'_>| t.reshape(vec![rows.clone(), width(t)]).id();
    let given = args![flat(x), weight, flat(y), ints(&[1, 3]), ints(&[0]), ints(&[1, 2]), ints(&[2, 3])];
    let z = b.op("_trilinear", given);
    let mut sizes = lead;
    sizes.push(weight.size(0));
    let z = z.reshape(sizes);
    done![b.opt(3)?.map_or(z, |v| z + v)]
}

/// The product of all three, each with more dimensions of 1, summed over some.
fn trilinear(b: &Builder<'_>) -> Made {
    let operand = |at: usize, dims: usize| -> Result<T<'_>, CallFault> {
        let mut dims = b.ints(dims)?;
        dims.sort_unstable();
        b.only(dims.iter().all(|d| *d >= 0), "dimensions counted from the last")?;
        Ok(dims.into_iter().fold(b.t(at)?, |t, d| t.unsqueeze(d)))
    };
    let over = b.ints(6)?;
    b.only(!over.is_empty(), "no dimensions to sum over")?;
    done![(operand(0, 3)? * operand(1, 4)? * operand(2, 5)?).sum(&over, false)]
}

/// The contracted dimensions last in one and first in the other, then one product.
fn tensordot(b: &Builder<'_>) -> Made {
    let (x, y) = (b.t(0)?, b.t(1)?);
    let (over_x, over_y) = (b.axes(2, x.rank())?, b.axes(3, y.rank())?);
    b.only(!b.ints(2)?.is_empty() && over_x.len() == over_y.len(), "no dimensions to contract")?;
    let agree = over_x.iter().zip(&over_y).all(|(p, q)| x.dim(*p) == y.dim(*q));
    b.only(agree, "contracted sizes of 1 against others")?;
    let kept =
        |t: T<'_>, over: &[i64]| -> Vec<i64> { range(t.rank()).into_iter().filter(|d| !over.contains(d)).collect() };
    let (rows, columns) = (kept(x, &over_x), kept(y, &over_y));
    let sizes = |t: T<'_>, dims: &[i64]| -> Vec<Arg> { dims.iter().map(|d| t.size(*d)).collect() };
    let (m, n) = (sizes(x, &rows), sizes(y, &columns));
    let k = b.size_product(&sizes(x, &over_x));
    let left = x.permute(&[rows, over_x].concat()).reshape(vec![b.size_product(&m), k.clone()]);
    let right = y.permute(&[over_y, columns].concat()).reshape(vec![k, b.size_product(&n)]);
    done![b.op("mm", args![left, right]).reshape([m, n].concat())]
}

/// Products of integers of eight bits are added up in four times as many.
fn eight_bits(b: &Builder<'_>) -> Made {
    let (x, y) = (b.t(0)?, b.t(1)?);
    b.only(x.dtype() == Dtype::I8 && y.dtype() == Dtype::I8, "integers without sign")?;
    done![b.op("mm", args![x.to(Dtype::I32), y.to(Dtype::I32)])]
}

fn kron(b: &Builder<'_>) -> Made {
    let (x, y) = (b.t(0)?, b.t(1)?);
    let rank = x.rank().max(y.rank());
    let padded = |t: T<'_>| -> Vec<Arg> {
        let missing = rank.saturating_sub(t.rank());
        std::iter::repeat_n(Arg::Int(1), missing).chain(t.shape()).collect()
    };
    let (p, q) = (padded(x), padded(y));
    let one = Arg::Int(1);
    let left: Vec<Arg> = p.iter().flat_map(|s| [s.clone(), one.clone()]).collect();
    let right: Vec<Arg> = q.iter().flat_map(|s| [one.clone(), s.clone()]).collect();
    let sizes: Vec<Arg> = p.into_iter().zip(q).map(|(s, t)| b.size_op("mul", s, t)).collect();
    done![(x.reshape(left) * y.reshape(right)).reshape(sizes)]
}

/// The product of the vectors, each divided by its norm or by eps.
fn cosine_similarity(b: &Builder<'_>) -> Made {
    let (x, y, eps) = (b.t(0)?, b.t(1)?, b.float(3)?);
    let dtype = b.own_tensor()?.dtype;
    let rank = x.rank().max(y.rank());
    let axis = b.axis(2, rank)?;
    let sizes = broadcast(b, &x.shape(), &y.shape())?;
    let (x, y) = (x.to(dtype).expand(sizes.clone()), y.to(dtype).expand(sizes));
    let unit = |t: T<'_>| {
        let norm = t.call("linalg_vector_norm", args![2, ints(&[axis]), true]);
        (t / norm.call("clamp_min", args![eps])).id()
    };
    done![b.op("mul.Tensor", args![unit(x), unit(y)]).sum(&[axis], false)]
}

/// `beta * self + alpha * product`.
fn with_addend(b: &Builder<'_>, target: &str) -> Made {
    let (addend, beta, alpha) = (b.t(0)?, b.float(3)?, b.float(4)?);
    let dtype = addend.dtype();
    b.only(dtype.is_float() && addend.dtype() == b.t(1)?.dtype(), "integers")?;
    b.only(alpha != 0.0, "a product times zero, which is not computed")?;
    let z = b.op(target, args![b.t(1)?.wide(), b.t(2)?.wide()]);
    let z = if alpha == 1.0 { z } else { z * alpha };
    let sum = if beta == 0.0 {
        z
    } else if beta == 1.0 {
        z + addend.wide()
    } else {
        z + addend.wide() * beta
    };
    done![sum.to(dtype)]
}

fn addr(b: &Builder<'_>) -> Made {
    let (addend, beta, alpha) = (b.t(0)?, b.float(3)?, b.float(4)?);
    let dtype = b.own_tensor()?.dtype;
    b.only(dtype.is_float(), "integers")?;
    let z = b.t(1)?.to(wide(dtype)).unsqueeze(1) * b.t(2)?.to(wide(dtype));
    let z = if alpha == 1.0 { z } else { z * alpha };
    let sum = match beta {
        0.0 => z,
        1.0 => z + addend.to(wide(dtype)),
        _ => z + addend.to(wide(dtype)) * beta,
    };
    done![sum.to(dtype)]
}

fn mv(b: &Builder<'_>) -> Made {
    let (x, y) = (b.t(0)?, b.t(1)?);
    b.only(x.dtype() == wide(x.dtype()), "f16 or bf16, which its kernel sums in steps")?;
    done![x.call("mm", args![y.unsqueeze(1)]).call("squeeze.dim", args![1])]
}

fn dot(b: &Builder<'_>) -> Made {
    let (x, y) = (b.t(0)?, b.t(1)?);
    b.only(!x.dtype().is_complex(), "complex numbers")?;
    let dtype = b.own_tensor()?.dtype;
    done![(x.wide() * y.wide()).sum(&[0], false).to(dtype)]
}

fn cross(b: &Builder<'_>) -> Made {
    let (x, y, axis) = (b.t(0)?, b.t(1)?, b.int("dim")?);
    b.only(x.rank() == y.rank(), "unlike ranks")?;
    let [around, back] = [ints(&[-1]), ints(&[1])];
    let roll = |t: T<'_>, by: &Arg| t.call("roll", args![by.clone(), ints(&[axis])]).id();
    let first = b.op("mul.Tensor", args![roll(x, &around), roll(y, &back)]);
    let second = b.op("mul.Tensor", args![roll(x, &back), roll(y, &around)]);
    done![first - second]
}

fn addbmm(b: &Builder<'_>) -> Made {
    let (addend, beta, alpha) = (b.t(0)?, b.float(3)?, b.float(4)?);
    let dtype = addend.dtype();
    b.only(dtype.is_float() && dtype == wide(dtype), "integers, f16 or bf16")?;
    b.only(alpha != 0.0, "a product times zero, which is not computed")?;
    let z = b.op("bmm", args![b.t(1)?.wide(), b.t(2)?.wide()]).sum(&[0], false) * alpha;
    let sum = if beta == 0.0 { z } else { z + addend.wide() * beta };
    done![sum.to(dtype)]
}

/// By squares and products in the order of PyTorch; no inverses.
fn matrix_power(b: &Builder<'_>) -> Made {
    let (x, n) = (b.t(0)?, b.int(1)?);
    b.only(n >= 1, "an exponent below 1")?;
    let times = |p: T<'_>, q: T<'_>| b.op("matmul", args![p, q]).id();
    match n {
        1 => return done![x.duplicate()],
        2 => return done![b.value(times(x, x))],
        3 => return done![b.value(times(b.value(times(x, x)), x))],
        _ => {}
    }
    let (mut rest, mut square, mut result) = (n, None, None);
    while rest > 0 {
        let z: T<'_> = square.map_or(x, |z| b.value(times(z, z)));
        if rest & 1 == 1 {
            result = Some(result.map_or(z, |r| b.value(times(r, z))));
        }
        square = Some(z);
        rest >>= 1;
    }
    done![result.unwrap_or(x)]
}

fn pairwise_distance(b: &Builder<'_>) -> Made {
    let apart = b.t(0)? - b.t(1)? + b.float(3)?;
    let last = apart.dims().saturating_sub(1);
    b.only(last >= 0, "no dimension")?;
    done![apart.call("norm.ScalarOpt_dim", args![b.arg(2), ints(&[last]), b.flag(4)?])]
}

/// Along the first dimension of three where none is named.
fn cross_along(b: &Builder<'_>) -> Made {
    let (x, y) = (b.t(0)?, b.t(1)?);
    let dim = match b.opt_int(2)? {
        Some(dim) => dim,
        None => {
            let three = range(x.rank()).into_iter().find(|d| x.dim(*d).fixed() == Some(3));
            three.ok_or_else(|| b.unsupported("no dimension of size 3"))?
        }
    };
    done![b.op("linalg_cross", args![x, y; dim = dim])]
}

fn vecdot(b: &Builder<'_>) -> Made {
    let (x, y) = (b.t(0)?, b.t(1)?);
    b.only(!x.dtype().is_complex() && !y.dtype().is_complex(), "complex numbers")?;
    let rank = x.rank().max(y.rank());
    let axis = b.axis("dim", rank)?;
    if axis.saturating_add(1) == signed(rank) && x.rank() > 0 && y.rank() > 0 {
        let row = x.unsqueeze(signed(x.rank()).saturating_sub(1));
        let product = b.op("matmul", args![row, y.unsqueeze(signed(y.rank()))]);
        let last = product.dims().saturating_sub(1);
        return done![product.squeeze(last).squeeze(last.saturating_sub(1))];
    }
    done![(x * y).sum(&[axis], false)]
}

fn matrix_h(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    b.only(x.rank() == 2, "what is no matrix")?;
    done![x.op("adjoint")]
}

/// A product of narrow floats, each row and column with a scale of its own, or one for all.
fn scaled(b: &Builder<'_>) -> Made {
    let (x, y, by_row, by_column) = (b.t(0)?, b.t(1)?, b.t(2)?, b.t(3)?);
    b.only(by_row.dtype() == Dtype::F32 && by_column.dtype() == Dtype::F32, "scales of blocks")?;
    b.only(b.is_none("scale_result"), "a result that is scaled")?;
    let fits = |t: T<'_>, rest: i64| t.count().map(|n| n == 1 || t.rank() == 2 && t.dim(rest).fixed() == Some(1));
    b.only(fits(by_row, 1)? && fits(by_column, 0)?, "scales of blocks")?;
    let flat = |t: T<'_>| if t.dim(0).fixed() == Some(1) && t.rank() == 1 { t.squeeze(0).id() } else { t.id() };
    let product = b.op("mm", args![x.to(Dtype::F32), y.to(Dtype::F32)]);
    let mut made = product * b.value(flat(by_row)) * b.value(flat(by_column));
    if let Some(bias) = b.opt("bias")? {
        made = made + bias.to(Dtype::F32);
    }
    done![made.to(b.dtype("out_dtype")?.unwrap_or(x.dtype()))]
}
