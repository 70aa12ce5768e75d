//! What operators that take indices need.

use super::shared::first;
use crate::graph::{Arg, Dtype, TensorType};
use crate::ops::error::CallFault;
use crate::ops::typing::call::{Call, Operand};
use crate::ops::typing::require::{Entry, Needed, is_bool, is_empty, is_index, is_inexact, is_long, size};
use crate::ops::typing::sizes;
use crate::sym::Dim;

pub(in crate::ops) const NEEDS: &[Entry] = &[
    (|c| first(c, "of floats or complex numbers", is_inexact), &["aten.embedding_renorm_.default"]),
    (select, &["aten.index_select.default"]),
    (gather, &["aten.gather.default"]),
    (
        scatter_value,
        &["aten.scatter.value", "aten.scatter_.value", "aten.scatter.value_reduce", "aten.scatter_.value_reduce"],
    ),
    (
        scatter_source,
        &[
            "aten.scatter.src",
            "aten.scatter_.src",
            "aten.scatter.reduce",
            "aten.scatter_.reduce",
            "aten.scatter_add.default",
            "aten.scatter_add_.default",
            "aten.scatter_reduce.two",
            "aten.scatter_reduce_.two",
        ],
    ),
    (
        |c| word(c, &["add", "multiply"]),
        &["aten.scatter.reduce", "aten.scatter_.reduce", "aten.scatter.value_reduce", "aten.scatter_.value_reduce"],
    ),
    (|c| word(c, &["sum", "prod", "mean", "amax", "amin"]), &["aten.scatter_reduce.two", "aten.scatter_reduce_.two"]),
    (|c| word(c, &["prod", "mean", "amax", "amin"]), &["aten.index_reduce.default"]),
    (add, &["aten.index_add.default", "aten.index_reduce.default"]),
    (|c| c.need_number_of(4, c.tensor(0)?.dtype), &["aten.index_add.default"]),
    (copy, &["aten.index_copy.default"]),
    (fill, &["aten.index_fill.int_Scalar", "aten.index_fill.int_Tensor"]),
    (put_flat, &["aten.put.default"]),
    (|c| c.need_dtype(1, "int64", is_long), &["aten.take.default"]),
    (taken, &["aten.take.default"]),
    (|c| c.need_number_of(2, c.tensor(0)?.dtype), &["aten.masked_fill.Scalar"]),
    (masked_fill, &["aten.masked_fill.Tensor"]),
    (masked_scatter, &["aten.masked_scatter.default"]),
    (masked_select, &["aten.masked_select.default"]),
    (index, &["aten.index.Tensor", "aten._unsafe_index.Tensor"]),
    (|c| index_dtypes(c, 1, long_or_mask), &["aten._unsafe_index.Tensor"]),
    (
        |c| index_dtypes(c, 2, is_index),
        &["aten._unsafe_masked_index.default", "aten._unsafe_masked_index_put_accumulate.default"],
    ),
    (
        |c| index_dtypes(c, 1, any_index),
        &[
            "aten.index.Tensor",
            "aten.index_put.default",
            "aten._unsafe_index_put.default",
            "aten._index_put_impl.default",
        ],
    ),
    (put_dtype, &["aten.index_put.default", "aten._unsafe_index_put.default", "aten._index_put_impl.default"]),
    (masked_index, &["aten._unsafe_masked_index.default"]),
    (take_along_dim, &["aten.take_along_dim.default"]),
    (embedding, &["aten.embedding.default"]),
    (renorm, &["aten.embedding_renorm_.default"]),
    (
        bag,
        &[
            "aten.embedding_bag.default",
            "aten.embedding_bag.padding_idx",
            "aten._embedding_bag.default",
            "aten._embedding_bag_forward_only.default",
        ],
    ),
    (gradient, &["aten.embedding_dense_backward.default"]),
    (one_hot, &["aten.one_hot.default"]),
];

fn any_index(d: Dtype) -> bool {
    matches!(d, Dtype::I64 | Dtype::I32 | Dtype::U8 | Dtype::Bool)
}

fn long_or_mask(d: Dtype) -> bool {
    is_index(d) || d == Dtype::Bool
}

fn rank(t: &TensorType) -> usize {
    t.rank().max(1)
}

fn word(c: &Call<'_>, words: &[&str]) -> Needed {
    let place = c.operator.schema.param_index("reduce").unwrap_or(usize::MAX);
    c.need_word(place, words)
}

fn select(c: &Call<'_>) -> Needed {
    let (t, i) = (c.tensor(0)?, c.tensor(2)?);
    c.need_dtype(2, "int32 or int64", is_index)?;
    if t.rank() > 0 {
        return Ok(());
    }
    c.need_equal(2, "as many indices into a scalar as", Dim::Fixed(1), size(i, 0))
}

/// No index size may exceed that of the tensor, but along the dimension.
fn within(c: &Call<'_>, index: &TensorType, of: &TensorType, along: Option<usize>) -> Needed {
    for d in 0..rank(index) {
        if Some(d) != along && sizes::less(c.symbols, size(of, d), size(index, d)) == Some(true) {
            let expected = format!("at most {} indices in dimension {d}", c.symbols.print_python(size(of, d)));
            return Err(c.bad(2, expected, sizes::show(c.symbols, &index.sizes)));
        }
    }
    Ok(())
}

fn gather(c: &Call<'_>) -> Needed {
    let (t, index) = (c.tensor(0)?, c.tensor(2)?);
    if is_empty(index) {
        return Ok(());
    }
    c.need_dtype(2, "int32 or int64", is_index)?;
    let d = c.axis(1, t.rank())?;
    within(c, index, t, Some(d))
}

fn scattered(c: &Call<'_>) -> Result<Option<usize>, CallFault> {
    let (t, index) = (c.tensor(0)?, c.tensor(2)?);
    let d = c.axis(1, t.rank())?;
    if is_empty(index) {
        return Ok(None);
    }
    c.need_dtype(2, "int32 or int64", is_index)?;
    if rank(index) != rank(t) {
        return Err(c.bad(2, format!("{} dimensions", t.rank()), index.rank().to_string()));
    }
    within(c, index, t, Some(d))?;
    Ok(Some(d))
}

fn scatter_value(c: &Call<'_>) -> Needed {
    let on = scattered(c)?.is_some();
    if on { c.need_number_of(3, c.tensor(0)?.dtype) } else { Ok(()) }
}

fn scatter_source(c: &Call<'_>) -> Needed {
    c.need_same_dtype(3, 0)?;
    if scattered(c)?.is_none() {
        return Ok(());
    }
    let (index, source) = (c.tensor(2)?, c.tensor(3)?);
    if rank(index) != rank(source) {
        return Err(c.bad(3, format!("{} dimensions", index.rank()), source.rank().to_string()));
    }
    within(c, index, source, None)
}

/// One index an element of the source along the dimension.
fn one_each(c: &Call<'_>) -> Needed {
    let (index, source) = (c.tensor(2)?, c.tensor(3)?);
    let count = index.sizes.first().copied().unwrap_or(Dim::Fixed(1));
    let along = if source.rank() == 0 { Dim::Fixed(1) } else { size(source, c.axis(1, source.rank())?) };
    c.need_equal(2, "as many indices as the source has elements along the dimension,", along, count)
}

fn add(c: &Call<'_>) -> Needed {
    let (t, source) = (c.tensor(0)?, c.tensor(3)?);
    let d = c.axis(1, t.rank())?;
    c.need_rank(2, 0..=1)?;
    c.need_dtype(2, "int32 or int64", is_index)?;
    c.need_same_dtype(3, 0)?;
    if d > 0 && d >= source.rank() {
        return Err(c.bad(3, format!("more than {d} dimensions"), source.rank().to_string()));
    }
    one_each(c)?;
    if t.rank() == 0 && source.rank() > 0 {
        return Ok(());
    }
    let others =
        |t: &TensorType| t.sizes.iter().enumerate().filter(|(k, _)| *k != d).map(|(_, s)| *s).collect::<Vec<_>>();
    if !c.can_equal(&others(t), &others(source)) {
        let expected = format!("sizes like {} but in dimension {d}", sizes::show(c.symbols, &t.sizes));
        return Err(c.bad(3, expected, sizes::show(c.symbols, &source.sizes)));
    }
    Ok(())
}

fn copy(c: &Call<'_>) -> Needed {
    let (t, index, source) = (c.tensor(0)?, c.tensor(2)?, c.tensor(3)?);
    let d = c.axis(1, t.rank())?;
    c.need_rank(2, 0..=1)?;
    if source.rank() == 0 {
        c.need_equal(2, "as many indices into a scalar as", Dim::Fixed(1), size(index, 0))?;
    } else if t.rank() > 0 && source.rank() != t.rank() {
        return Err(c.bad(3, format!("{} dimensions", t.rank()), source.rank().to_string()));
    }
    c.need_dtype(2, "int64", is_long)?;
    c.need_same_dtype(3, 0)?;
    if source.rank() > 0 {
        one_each(c)?;
    }
    if t.rank() > 0 && source.rank() > 0 {
        for k in (0..t.rank()).filter(|k| *k != d) {
            c.need_equal(3, &format!("in dimension {k} a size of"), size(t, k), size(source, k))?;
        }
    }
    Ok(())
}

fn fill(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    c.axis(1, t.rank())?;
    c.need_dtype(2, "int64", is_long)?;
    c.need_rank(2, 0..=1)?;
    match c.operand(3)? {
        Operand::Tensor(_) => c.need_rank(3, 0..=0),
        Operand::Number(_) => c.need_number_of(3, t.dtype),
    }
}

fn put_flat(c: &Call<'_>) -> Needed {
    let (t, index, source) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    c.need_same_dtype(2, 0)?;
    c.need_dtype(1, "int64", is_long)?;
    let count = |t: &TensorType| t.sizes.iter().try_fold(1_i64, |n, d| n.checked_mul(d.fixed()?));
    if let (Some(a), Some(b)) = (count(index), count(source))
        && a != b
    {
        return Err(c.bad(2, format!("{a} elements, one an index"), b.to_string()));
    }
    if is_empty(t) && !is_empty(index) {
        return Err(c.bad(0, "a tensor with elements", sizes::show(c.symbols, &t.sizes)));
    }
    Ok(())
}

fn taken(c: &Call<'_>) -> Needed {
    let (t, index) = (c.tensor(0)?, c.tensor(1)?);
    if is_empty(t) && index.sizes.iter().all(|d| d.fixed().is_some_and(|n| n > 0)) {
        return Err(c.bad(0, "a tensor with elements", sizes::show(c.symbols, &t.sizes)));
    }
    Ok(())
}

fn masked_fill(c: &Call<'_>) -> Needed {
    match c.operand(2)? {
        Operand::Tensor(v) if v.dtype.is_complex() && !c.tensor(0)?.dtype.is_complex() => c.need_same_dtype(2, 0),
        Operand::Tensor(_) => Ok(()),
        Operand::Number(_) => c.need_number_of(2, c.tensor(0)?.dtype),
    }
}

fn masked_scatter(c: &Call<'_>) -> Needed {
    c.need_dtype(1, "bool", is_bool)?;
    c.need_same_dtype(2, 0)
}

fn masked_select(c: &Call<'_>) -> Needed {
    c.need_dtype(1, "bool", is_bool)?;
    let (t, mask) = (c.tensor(0)?, c.tensor(1)?);
    crate::ops::typing::out::broadcast(c, 1, &[&t.sizes, &mask.sizes]).map(|_| ())
}

fn index(c: &Call<'_>) -> Needed {
    match c.arg(1) {
        Arg::List(items) | Arg::Tuple(items) if items.is_empty() => Err(c.bad(1, "one index or more", "none")),
        _ => Ok(()),
    }
}

fn index_dtypes(c: &Call<'_>, i: usize, fits: fn(Dtype) -> bool) -> Needed {
    match c.opt_tensors(i)?.into_iter().flatten().find(|t| !fits(t.dtype)) {
        Some(t) => Err(c.bad(i, "indices of an integer dtype or masks", t.dtype.long())),
        None => Ok(()),
    }
}

/// One value under masks is filled in, whatever its dtype.
fn put_dtype(c: &Call<'_>) -> Needed {
    let one = c.tensor(2)?.sizes.iter().all(|d| *d == Dim::Fixed(1));
    let masked = c.opt_tensors(1)?.into_iter().flatten().any(|t| is_bool(t.dtype));
    if one && masked { Ok(()) } else { c.need_same_dtype(2, 0) }
}

fn masked_index(c: &Call<'_>) -> Needed {
    c.need_number_of(3, c.tensor(0)?.dtype)
}

fn take_along_dim(c: &Call<'_>) -> Needed {
    let (t, index) = (c.tensor(0)?, c.tensor(1)?);
    if c.is_none(2) {
        return c.need_dtype(1, "int32 or int64", is_index);
    }
    if t.rank() != index.rank() {
        return Err(c.bad(1, format!("{} dimensions", t.rank()), index.rank().to_string()));
    }
    c.need_dtype(1, "int64", is_long)
}

fn embedding(c: &Call<'_>) -> Needed {
    c.need_rank(0, 2..=2)?;
    c.need_dtype(1, "int32 or int64", is_index)
}

fn renorm(c: &Call<'_>) -> Needed {
    embedding(c)
}

fn bag(c: &Call<'_>) -> Needed {
    let index = c.tensor(1)?;
    c.need_rank(0, 2..=2)?;
    c.need_rank(1, 1..=2)?;
    c.need_dtype(0, "of floats", |d| matches!(d, Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64))?;
    c.need_dtype(1, "int32 or int64", is_index)?;
    c.need_rank(2, 1..=1)?;
    c.need_int(4, 0..=2)?;
    let Some(weights) = c.opt_tensor(6)? else { return Ok(()) };
    if c.opt_int(4)? != Some(0) {
        return Err(c.bad(6, "None but for sums", "a tensor"));
    }
    c.need_same_dtype(6, 0)?;
    c.need_rank(6, 1..=1)?;
    c.need_equal(6, "as many weights as indices,", size(index, 0), size(weights, 0))
}

fn gradient(c: &Call<'_>) -> Needed {
    let (t, index) = (c.tensor(0)?, c.tensor(1)?);
    c.need_dtype(1, "int32 or int64", is_index)?;
    if let Arg::Int(rows @ ..0) = c.arg(2) {
        return Err(c.bad(2, "a number of rows", rows.to_string()));
    }
    c.need_rank(0, 1..=usize::MAX)?;
    let count = |sizes: &[Dim]| sizes.iter().try_fold(1_i64, |n, d| n.checked_mul(d.fixed()?));
    let width = size(t, t.rank().saturating_sub(1)).fixed();
    if let (Some(own), Some(rows), Some(width)) = (count(&t.sizes), count(&index.sizes), width)
        && rows.checked_mul(width) != Some(own)
    {
        return Err(c.bad(0, format!("a row of {width} an index, of {rows}"), sizes::show(c.symbols, &t.sizes)));
    }
    Ok(())
}

fn one_hot(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    c.need_dtype(0, "int64", is_long)?;
    match c.int(1)? {
        n if n < -1 => Err(c.bad(1, "a number of classes, or -1", n.to_string())),
        n if n <= 0 && is_empty(t) => Err(c.bad(1, "a number of classes: there is no value to tell it", n.to_string())),
        _ => Ok(()),
    }
}
