//! Products of matrices and vectors. Operands have one dtype; results are contiguous.

use crate::graph::{Dtype, TensorType, ValueType};
use crate::ops::error::CallFault;
use crate::ops::families::Entry;
use crate::ops::typing::call::Call;
use crate::ops::typing::out;
use crate::ops::typing::promote::{Promotion, float_of};
use crate::ops::typing::sizes;
use crate::ops::typing::sizes::Sizes;
use crate::sym::Dim;

type Typed = Result<ValueType, CallFault>;

pub(in crate::ops) const RULES: &[Entry] = &[
    (mm, &["aten.mm.default"]),
    (int_mm, &["aten._int_mm.default"]),
    (grouped, &["aten._grouped_mm.default", "transformers.grouped_mm_fallback.default"]),
    (bmm, &["aten.bmm.default"]),
    (addmm, &["aten.addmm.default"]),
    (baddbmm, &["aten.baddbmm.default"]),
    (addbmm, &["aten.addbmm.default"]),
    (addmv, &["aten.addmv.default"]),
    (addr, &["aten.addr.default"]),
    (mv, &["aten.mv.default"]),
    (dot, &["aten.dot.default", "aten.vdot.default"]),
    (outer, &["aten.outer.default"]),
    (matmul, &["aten.matmul.default", "aten.linalg_matmul.default"]),
    (inner, &["aten.inner.default"]),
    (linear, &["aten.linear.default"]),
    (bilinear, &["aten.bilinear.default"]),
    (trilinear, &["aten._trilinear.default"]),
    (tensordot, &["aten.tensordot.default"]),
    (cdist, &["aten.cdist.default", "aten._cdist_forward.default"]),
    (pdist, &["aten._pdist_forward.default"]),
    (cross, &["aten.linalg_cross.default"]),
    (|c| out::loosely(kron(c), c), &["aten.kron.default"]),
    (cosine_similarity, &["aten.cosine_similarity.default"]),
    (int8_mm, &["aten._weight_int8pack_mm.default"]),
];

fn rank(c: &Call<'_>, i: usize, t: &TensorType, wanted: usize) -> Result<(), CallFault> {
    if t.rank() == wanted {
        return Ok(());
    }
    Err(c.bad(i, format!("{wanted} dimensions"), sizes::show(c.symbols, &t.sizes)))
}

fn size(t: &TensorType, d: usize) -> Dim {
    t.sizes.get(d).copied().unwrap_or(Dim::Fixed(1))
}

fn equal(c: &Call<'_>, i: usize, what: &str, a: Dim, b: Dim) -> Result<(), CallFault> {
    if !sizes::differ(c.symbols, a, b) {
        return Ok(());
    }
    Err(c.bad(i, format!("{what} {}", c.symbols.print_python(a)), c.symbols.print_python(b)))
}

fn one_dtype(c: &Call<'_>, i: usize, a: &TensorType, b: &TensorType) -> Result<(), CallFault> {
    if a.dtype == b.dtype {
        return Ok(());
    }
    Err(c.bad(i, format!("dtype {}", a.dtype.long()), b.dtype.long()))
}

fn made(c: &mut Call<'_>, t: &TensorType, dtype: Dtype, dims: &[Dim]) -> Typed {
    out::contiguous(c.symbols, dtype, dims.iter().copied().collect(), t.device.clone())
}

fn product(c: &mut Call<'_>, i: usize, j: usize) -> Result<(Sizes, Dtype), CallFault> {
    let (a, b) = (c.tensor(i)?, c.tensor(j)?);
    one_dtype(c, j, a, b)?;
    Ok((shapes(c, i, j)?, a.dtype))
}

fn shapes(c: &mut Call<'_>, i: usize, j: usize) -> Result<Sizes, CallFault> {
    let (a, b) = (c.tensor(i)?, c.tensor(j)?);
    rank(c, i, a, 2)?;
    rank(c, j, b, 2)?;
    equal(c, j, "as many rows as the first has columns:", size(a, 1), size(b, 0))?;
    Ok(smallvec::smallvec![size(a, 0), size(b, 1)])
}

fn mm(c: &mut Call<'_>) -> Typed {
    let (dims, dtype) = product(c, 0, 1)?;
    let t = c.tensor(0)?;
    made(c, t, dtype, &dims)
}

fn int_mm(c: &mut Call<'_>) -> Typed {
    let dims = shapes(c, 0, 1)?;
    let t = c.tensor(0)?;
    made(c, t, Dtype::I32, &dims)
}

fn int8_mm(c: &mut Call<'_>) -> Typed {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    rank(c, 0, a, 2)?;
    rank(c, 1, b, 2)?;
    equal(c, 1, "as many columns as the first has:", size(a, 1), size(b, 1))?;
    made(c, a, a.dtype, &[size(a, 0), size(b, 0)])
}

fn batched(c: &mut Call<'_>, i: usize, j: usize) -> Result<Sizes, CallFault> {
    let (a, b) = (c.tensor(i)?, c.tensor(j)?);
    rank(c, i, a, 3)?;
    rank(c, j, b, 3)?;
    one_dtype(c, j, a, b)?;
    equal(c, j, "as many batches as the first has:", size(a, 0), size(b, 0))?;
    equal(c, j, "as many rows as the first has columns:", size(a, 2), size(b, 1))?;
    Ok(smallvec::smallvec![size(a, 0), size(a, 1), size(b, 2)])
}

/// Groups of rows, of columns or of what is summed, which end where `offs` says, each by a matrix of its own.
///
/// Follows PyTorch's `GroupedMMUtils.h`: rows of `_grouped_mm`'s result are 16 bytes apart or a multiple of that.
fn grouped(c: &mut Call<'_>) -> Typed {
    let (a, b, ends) = (c.tensor(0)?, c.tensor(1)?, c.opt_tensor(2)?);
    let own = &*c.operator.schema.namespace == "aten";
    if own {
        let told = c.dtype(4)?.unwrap_or(a.dtype);
        if told != a.dtype || !c.is_none(3) {
            return Err(CallFault::Unsupported { what: "another dtype, or a bias".into() });
        }
    }
    one_dtype(c, 1, a, b)?;
    let groups = match ends {
        Some(ends) => {
            rank(c, 2, ends, 1)?;
            Some(size(ends, 0))
        }
        None => None,
    };
    let (dims, each): (Sizes, Option<Dim>) = match (a.rank(), b.rank(), groups) {
        (2, 3, Some(_)) => (smallvec::smallvec![size(a, 0), size(b, 2)], Some(size(b, 0))),
        (2, 2, Some(n)) if own => (smallvec::smallvec![n, size(a, 0), size(b, 1)], None),
        (3, 2, Some(_)) if own => (smallvec::smallvec![size(a, 1), size(b, 1)], Some(size(a, 0))),
        (3, 3, None) if own => (smallvec::smallvec![size(a, 0), size(a, 1), size(b, 2)], None),
        _ => return Err(c.bad(1, "matrices, of which one or both go by groups", sizes::show(c.symbols, &b.sizes))),
    };
    if let (Some(n), Some(each)) = (groups, each) {
        equal(c, 2, "as many groups as matrices:", each, n)?;
    }
    let inner = |t: &TensorType, back: usize| size(t, t.rank().saturating_sub(back));
    equal(c, 1, "as many rows as the first has columns:", inner(a, 1), inner(b, 2))?;
    if !own {
        return made(c, a, a.dtype, &dims);
    }
    let bytes = i64::try_from(a.dtype.bytes()).unwrap_or(1).max(1);
    let strides = match dims.last().and_then(|d| d.fixed()) {
        None => None,
        Some(last) => {
            let step = 16_i64.wrapping_div(bytes).max(1);
            let row = Dim::Fixed(
                last.saturating_add(step).saturating_sub(1).checked_div(step).unwrap_or(0).saturating_mul(step),
            );
            Some(match dims.as_slice() {
                [_, rows, _] => smallvec::smallvec![sizes::mul(c.symbols, *rows, row)?, row, Dim::Fixed(1)],
                _ => smallvec::smallvec![row, Dim::Fixed(1)],
            })
        }
    };
    Ok(out::strided(a.dtype, dims, strides, a.device.clone()))
}

fn bmm(c: &mut Call<'_>) -> Typed {
    let dims = batched(c, 0, 1)?;
    let t = c.tensor(0)?;
    made(c, t, t.dtype, &dims)
}

/// Checks that argument 0 is one that is added: it broadcasts to the product's sizes.
fn added(c: &mut Call<'_>, dims: &[Dim]) -> Typed {
    let (t, other) = (c.tensor(0)?, c.tensor(1)?);
    let both = out::broadcast(c, 0, &[dims, &t.sizes])?;
    if both.len() != dims.len() || both.iter().zip(dims).any(|(a, b)| sizes::differ(c.symbols, *a, *b)) {
        let expected = format!("sizes that broadcast to {}", sizes::show(c.symbols, dims));
        return Err(c.bad(0, expected, sizes::show(c.symbols, &t.sizes)));
    }
    one_dtype(c, 0, other, t)?;
    made(c, t, t.dtype, dims)
}

fn addmm(c: &mut Call<'_>) -> Typed {
    let (dims, _) = product(c, 1, 2)?;
    added(c, &dims)
}

fn baddbmm(c: &mut Call<'_>) -> Typed {
    let dims = batched(c, 1, 2)?;
    added(c, &dims)
}

fn addbmm(c: &mut Call<'_>) -> Typed {
    let dims = batched(c, 1, 2)?;
    added(c, dims.get(1..).unwrap_or_default())
}

fn vector_product(c: &mut Call<'_>, i: usize, j: usize) -> Result<Dim, CallFault> {
    let (a, b) = (c.tensor(i)?, c.tensor(j)?);
    rank(c, i, a, 2)?;
    rank(c, j, b, 1)?;
    one_dtype(c, j, a, b)?;
    equal(c, j, "as many elements as the matrix has columns:", size(a, 1), size(b, 0))?;
    Ok(size(a, 0))
}

fn mv(c: &mut Call<'_>) -> Typed {
    let rows = vector_product(c, 0, 1)?;
    let t = c.tensor(0)?;
    made(c, t, t.dtype, &[rows])
}

fn addmv(c: &mut Call<'_>) -> Typed {
    let rows = vector_product(c, 1, 2)?;
    // Where there is nothing to multiply, what is added is given back as it is, not broadcast.
    let (t, columns) = (c.tensor(0)?, size(c.tensor(2)?, 0));
    if rows == Dim::Fixed(0) || columns == Dim::Fixed(0) {
        added(c, &[rows])?;
        return made(c, t, t.dtype, &t.sizes);
    }
    added(c, &[rows])
}

fn addr(c: &mut Call<'_>) -> Typed {
    let (t, a, b) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    rank(c, 1, a, 1)?;
    rank(c, 2, b, 1)?;
    let mut p = Promotion::default();
    // What is added is broadcast first: a scalar counts as a matrix.
    for (one, rank) in [(t, 2), (a, 1), (b, 1)] {
        p.tensor(one.dtype, rank)?;
    }
    c.need_broadcast_to(0, &[size(a, 0), size(b, 0)])?;
    out::row_or_open(c, p.dtype()?, smallvec::smallvec![size(a, 0), size(b, 0)], &[Some(t), Some(a), Some(b)])
}

fn dot(c: &mut Call<'_>) -> Typed {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    rank(c, 0, a, 1)?;
    rank(c, 1, b, 1)?;
    one_dtype(c, 1, a, b)?;
    equal(c, 1, "as many elements as the first has:", size(a, 0), size(b, 0))?;
    made(c, a, a.dtype, &[])
}

fn outer(c: &mut Call<'_>) -> Typed {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    rank(c, 0, a, 1)?;
    rank(c, 1, b, 1)?;
    let mut p = Promotion::default();
    p.tensor(a.dtype, 1)?;
    p.tensor(b.dtype, 1)?;
    made(c, a, p.dtype()?, &[size(a, 0), size(b, 0)])
}

/// Vectors are rows on the left and columns on the right; what is left of the others broadcasts.
fn matmul(c: &mut Call<'_>) -> Typed {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    for (i, t) in [(0, a), (1, b)] {
        if t.rank() == 0 {
            return Err(c.bad(i, "a tensor with dimensions", "a scalar"));
        }
    }
    one_dtype(c, 1, a, b)?;
    let inner_b = b.rank().saturating_sub(2);
    equal(c, 1, "a contracted size of", size(a, a.rank().saturating_sub(1)), size(b, inner_b))?;
    let batch = |t: &TensorType| t.sizes.iter().take(t.rank().saturating_sub(2)).copied().collect::<Sizes>();
    let (batch_a, batch_b) = (batch(a), batch(b));
    let mut dims = out::broadcast(c, 1, &[&batch_a, &batch_b])?;
    if a.rank() > 1 {
        dims.push(size(a, a.rank().saturating_sub(2)));
    }
    if b.rank() > 1 {
        dims.push(size(b, b.rank().saturating_sub(1)));
    }
    made(c, a, a.dtype, &dims)
}

fn inner(c: &mut Call<'_>) -> Typed {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    if a.rank() == 0 || b.rank() == 0 {
        let (operands, promotion) = crate::ops::families::pointwise::operands(c, &[0, 1])?;
        return out::pointwise(c, promotion.dtype()?, &operands);
    }
    let last = |t: &TensorType| size(t, t.rank().saturating_sub(1));
    one_dtype(c, 1, a, b)?;
    equal(c, 1, "a last size of", last(a), last(b))?;
    let rest = |t: &TensorType| t.sizes.iter().take(t.rank().saturating_sub(1)).copied().collect::<Sizes>();
    let mut dims = rest(a);
    dims.extend(rest(b));
    made(c, a, a.dtype, &dims)
}

fn linear(c: &mut Call<'_>) -> Typed {
    let (t, weight) = (c.tensor(0)?, c.tensor(1)?);
    if t.rank() == 0 || weight.rank() == 0 || weight.rank() > 2 {
        return Err(c.bad(1, "1 or 2 dimensions", sizes::show(c.symbols, &weight.sizes)));
    }
    one_dtype(c, 1, t, weight)?;
    let inside = weight.rank().saturating_sub(1);
    equal(
        c,
        1,
        "as many columns as the input's last size:",
        size(t, t.rank().saturating_sub(1)),
        size(weight, inside),
    )?;
    let mut dims: Sizes = t.sizes.iter().take(t.rank().saturating_sub(1)).copied().collect();
    if weight.rank() == 2 {
        dims.push(size(weight, 0));
    }
    if let Some(bias) = c.opt_tensor(2)? {
        // With a bias it is a product of matrices and a sum in one, or what such a one is made of.
        if t.rank() == 2 || bias.rank() > 0 {
            rank(c, 1, weight, 2)?;
        }
        if t.rank() != 2 && bias.rank() > 1 {
            rank(c, 2, bias, 1)?;
        }
        one_dtype(c, 2, t, bias)?;
        out::broadcast(c, 2, &[&dims, &bias.sizes])?;
        // It is repeated, and nothing is repeated to it.
        let ends = dims.iter().rev().zip(bias.sizes.iter().rev());
        if bias.rank() > dims.len() || ends.into_iter().any(|(d, b)| *d == Dim::Fixed(1) && *b != Dim::Fixed(1)) {
            return Err(c.bad(2, "a tensor that repeats to the result", sizes::show(c.symbols, &bias.sizes)));
        }
    }
    made(c, t, t.dtype, &dims)
}

fn bilinear(c: &mut Call<'_>) -> Typed {
    let (a, _, weight) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let mut dims: Sizes = a.sizes.iter().take(a.rank().saturating_sub(1)).copied().collect();
    dims.push(size(weight, 0));
    made(c, a, a.dtype, &dims)
}

/// Three operands with dimensions of size 1 put in, multiplied and summed over `sumdim`.
fn trilinear(c: &mut Call<'_>) -> Typed {
    let operands = [c.tensor(0)?, c.tensor(1)?, c.tensor(2)?];
    let [first, ..] = operands;
    let total = first.rank().saturating_add(c.ints(3)?.len());
    let unrolled = c.int(7)?;
    if usize::try_from(unrolled).map_or(true, |d| d >= total) {
        return Err(c.bad(7, format!("a dimension from 0 to {}", total.saturating_sub(1)), unrolled.to_string()));
    }
    let summed = c.axes(6, total)?.unwrap_or_default();
    let mut dims: Sizes = smallvec::SmallVec::from_elem(Dim::Fixed(0), total);
    let mut known: smallvec::SmallVec<[bool; 6]> = smallvec::SmallVec::from_elem(false, total);
    for (i, t) in operands.into_iter().enumerate() {
        let place = i.saturating_add(3);
        one_dtype(c, i, first, t)?;
        let put_in = c.axes(place, total)?.unwrap_or_default();
        if put_in.len().saturating_add(t.rank()) != total {
            return Err(c.bad(place, format!("dimensions that make {total}"), put_in.len().to_string()));
        }
        let own = (0..total).filter(|d| !put_in.contains(d)).zip(&t.sizes);
        for (d, size) in own {
            let (Some(slot), Some(seen)) = (dims.get_mut(d), known.get_mut(d)) else { continue };
            if *seen && sizes::differ(c.symbols, *slot, *size) {
                let expected = format!("a size of {}", c.symbols.print_python(*slot));
                return Err(c.bad(i, expected, sizes::show(c.symbols, &t.sizes)));
            }
            (*slot, *seen) = (*size, true);
        }
    }
    let left: Sizes = dims.iter().enumerate().filter(|(d, _)| !summed.contains(d)).map(|(_, size)| *size).collect();
    made(c, first, first.dtype, &left)
}

fn tensordot(c: &mut Call<'_>) -> Typed {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    let (over_a, over_b) = (c.axes(2, a.rank())?.unwrap_or_default(), c.axes(3, b.rank())?.unwrap_or_default());
    if over_a.len() != over_b.len() {
        return Err(c.bad(3, format!("{} dimensions", over_a.len()), over_b.len().to_string()));
    }
    for (x, y) in over_a.iter().zip(&over_b) {
        // A size of 1 is summed over the other's.
        if !sizes::is(c.symbols, size(a, *x), 1) && !sizes::is(c.symbols, size(b, *y), 1) {
            equal(c, 1, "a contracted size of", size(a, *x), size(b, *y))?;
        }
    }
    let mut dims = crate::ops::families::reduce::reduced_sizes(a, &over_a, false);
    dims.extend(crate::ops::families::reduce::reduced_sizes(b, &over_b, false));
    made(c, a, a.dtype, &dims)
}

fn cdist(c: &mut Call<'_>) -> Typed {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    let batch = |t: &TensorType| t.sizes.iter().take(t.rank().saturating_sub(2)).copied().collect::<Sizes>();
    let mut dims = out::broadcast(c, 1, &[&batch(a), &batch(b)])?;
    dims.push(size(a, a.rank().saturating_sub(2)));
    dims.push(size(b, b.rank().saturating_sub(2)));
    let mut p = Promotion::default();
    p.tensor(a.dtype, 1)?;
    p.tensor(b.dtype, 1)?;
    made(c, a, float_of(p.dtype()?), &dims)
}

fn pdist(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let rows = size(t, 0);
    let less = sizes::sub(c.symbols, rows, Dim::Fixed(1))?;
    let twice = sizes::mul(c.symbols, rows, less)?;
    let pairs = sizes::floordiv(c.symbols, twice, Dim::Fixed(2))?;
    made(c, t, t.dtype, &[pairs])
}

fn cross(c: &mut Call<'_>) -> Typed {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    let dims = out::broadcast(c, 1, &[&a.sizes, &b.sizes])?;
    made(c, a, a.dtype, &dims)
}

fn kron(c: &mut Call<'_>) -> Typed {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    let rank = a.rank().max(b.rank());
    let mut dims = Sizes::new();
    for d in 0..rank {
        let at = |t: &TensorType| {
            d.checked_sub(rank.saturating_sub(t.rank())).and_then(|d| t.sizes.get(d)).copied().unwrap_or(Dim::Fixed(1))
        };
        dims.push(sizes::mul(c.symbols, at(a), at(b))?);
    }
    // Both are seen in as many dimensions before they are multiplied.
    let mut p = Promotion::default();
    p.tensor(a.dtype, rank)?;
    p.tensor(b.dtype, rank)?;
    made(c, a, p.dtype()?, &dims)
}

fn cosine_similarity(c: &mut Call<'_>) -> Typed {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    let both = out::broadcast(c, 1, &[&a.sizes, &b.sizes])?;
    let d = c.axis(2, both.len())?;
    let dims: Sizes = both.iter().enumerate().filter(|(i, _)| *i != d).map(|(_, s)| *s).collect();
    let mut p = Promotion::default();
    p.tensor(a.dtype, both.len())?;
    p.tensor(b.dtype, both.len())?;
    made(c, a, float_of(p.dtype()?), &dims)
}
