//! Reading and writing by index: `index`, `gather`, `scatter`, masks, embeddings.

use smallvec::SmallVec;

use crate::graph::{Dtype, TensorType, ValueType};
use crate::ops::error::CallFault;
use crate::ops::families::Entry;
use crate::ops::typing::call::{Call, Operand};
use crate::ops::typing::layout;
use crate::ops::typing::out;
use crate::ops::typing::sizes;
use crate::ops::typing::sizes::Sizes;
use crate::ops::typing::viewed::{self, Viewed};
use crate::sym::Dim;

type Typed = Result<ValueType, CallFault>;

pub(in crate::ops) const RULES: &[Entry] = &[
    (index, &["aten.index.Tensor", "aten._unsafe_index.Tensor"]),
    (
        put,
        &[
            "aten.index_put.default",
            "aten._unsafe_index_put.default",
            "aten._index_put_impl.default",
            "aten._unsafe_masked_index_put_accumulate.default",
        ],
    ),
    (masked_index, &["aten._unsafe_masked_index.default"]),
    (select, &["aten.index_select.default"]),
    (like_self, &["aten.index_fill.int_Scalar", "aten.index_fill.int_Tensor", "aten.put.default"]),
    (
        plain_self,
        &[
            "aten.index_copy.default",
            "aten.index_add.default",
            "aten.index_reduce.default",
            "aten.scatter.value",
            "aten.scatter.src",
            "aten.scatter.reduce",
            "aten.scatter.value_reduce",
            "aten.scatter_add.default",
            "aten.scatter_reduce.two",
        ],
    ),
    (gather, &["aten.gather.default"]),
    (take_along_dim, &["aten.take_along_dim.default"]),
    (masked_fill, &["aten.masked_fill.Scalar", "aten.masked_fill.Tensor"]),
    (masked_scatter, &["aten.masked_scatter.default"]),
    (masked_select, &["aten.masked_select.default"]),
    (take, &["aten.take.default"]),
    (embedding, &["aten.embedding.default"]),
    (
        embedding_bag,
        &[
            "aten.embedding_bag.default",
            "aten.embedding_bag.padding_idx",
            "aten._embedding_bag.default",
            "aten._embedding_bag_forward_only.default",
        ],
    ),
    (embedding_gradient, &["aten.embedding_dense_backward.default"]),
    (one_hot, &["aten.one_hot.default"]),
];

fn size(t: &TensorType, d: usize) -> Dim {
    t.sizes.get(d).copied().unwrap_or(Dim::Fixed(1))
}

fn plain(c: &mut Call<'_>, dtype: Dtype, t: &TensorType, dims: Sizes) -> Typed {
    out::contiguous(c.symbols, dtype, dims, t.device.clone())
}

/// Masks count as one index tensor a dimension that they cover, all of one size that only running it tells.
fn without_masks(
    c: &mut Call<'_>,
    t: &TensorType,
    indices: Vec<Option<&TensorType>>,
) -> Result<Vec<Option<TensorType>>, CallFault> {
    let mut found: Option<Dim> = None;
    let mut all = Vec::new();
    for one in indices {
        match one {
            Some(mask) if matches!(mask.dtype, Dtype::Bool | Dtype::U8) => {
                for (d, wanted) in mask.sizes.iter().enumerate() {
                    if sizes::differ(c.symbols, *wanted, size(t, all.len().saturating_add(d))) {
                        let expected = format!("a mask that fits {}", sizes::show(c.symbols, &t.sizes));
                        return Err(c.bad(1, expected, sizes::show(c.symbols, &mask.sizes)));
                    }
                }
                let place = all.len();
                let count = *found.get_or_insert_with(|| c.unbacked(0, place));
                let places = out::tensor(
                    Dtype::I64,
                    smallvec::smallvec![count],
                    Some(smallvec::smallvec![Dim::Fixed(1)]),
                    mask.device.clone(),
                );
                all.extend(std::iter::repeat_n(Some(places), mask.rank()));
            }
            other => all.push(other.cloned()),
        }
    }
    if all.len() > t.rank() {
        return Err(c.bad(1, format!("at most {} indices", t.rank()), all.len().to_string()));
    }
    all.resize(t.rank(), None);
    Ok(all)
}

fn indexed(c: &mut Call<'_>, t: &TensorType, indices: Vec<Option<&TensorType>>) -> Typed {
    let indices = without_masks(c, t, indices)?;
    let shapes: SmallVec<[&[Dim]; 4]> = indices.iter().flatten().map(|i| i.sizes.as_slice()).collect();
    let joint = out::broadcast(c, 1, &shapes)?;
    let at: SmallVec<[usize; 4]> = indices.iter().enumerate().filter_map(|(d, i)| i.as_ref().map(|_| d)).collect();
    let (Some(&first), Some(&last)) = (at.first(), at.last()) else { return out::like(c, t.dtype, t) };
    let adjacent = last.saturating_sub(first).saturating_add(1) == at.len();
    let front = if adjacent { first } else { 0 };
    let kept: SmallVec<[usize; 4]> = (0..t.rank()).filter(|d| !at.contains(d)).collect();
    let (before, after) = kept.split_at(kept.len().min(front));
    let mut dims: Sizes = before.iter().map(|d| size(t, *d)).collect();
    dims.extend(joint.iter().copied());
    dims.extend(after.iter().map(|d| size(t, *d)));
    let strides = index_strides(c, t, (before, after), &joint, &dims, indices.iter().flatten())?;
    Ok(out::strided(t.dtype, dims, strides, t.device.clone()))
}

/// TensorIterator's order over the source with its indexed dimensions still, and the index tensors.
fn index_strides<'t>(
    c: &mut Call<'_>,
    t: &TensorType,
    (before, after): (&[usize], &[usize]),
    joint: &[Dim],
    dims: &Sizes,
    indices: impl Iterator<Item = &'t TensorType>,
) -> Result<Option<Sizes>, CallFault> {
    let Some(own) = &t.strides else { return Ok(None) };
    let of = |list: &[usize]| list.iter().filter_map(|d| own.get(*d)).copied().collect::<Sizes>();
    let mut strides = of(before);
    strides.extend(std::iter::repeat_n(Dim::Fixed(0), joint.len()));
    strides.extend(of(after));
    let mut operands = vec![TensorType { sizes: dims.clone(), strides: Some(strides), ..t.clone() }];
    for i in indices {
        let mut seen = i.clone();
        seen.sizes.extend(std::iter::repeat_n(Dim::Fixed(1), after.len()));
        if let Some(s) = &mut seen.strides {
            s.extend(std::iter::repeat_n(Dim::Fixed(0), after.len()));
        }
        operands.push(seen);
    }
    let refs: Vec<&TensorType> = operands.iter().collect();
    layout::pointwise(c.symbols, dims, &refs)
}

fn index(c: &mut Call<'_>) -> Typed {
    let (t, indices) = (c.tensor(0)?, c.opt_tensors(1)?);
    indexed(c, t, indices)
}

fn masked_index(c: &mut Call<'_>) -> Typed {
    let (t, indices) = (c.tensor(0)?, c.opt_tensors(2)?);
    let read = indexed(c, t, indices)?;
    if let Some(read) = read.as_tensor() {
        out::broadcast(c, 1, &[&read.sizes, &c.tensor(1)?.sizes])?;
    }
    Ok(read)
}

/// Values broadcast to what reading at the same indices gives.
fn put(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let place = c.operator.schema.param_index("indices").unwrap_or(1);
    let indices = c.opt_tensors(place)?;
    let read = indexed(c, t, indices)?;
    if let Some(read) = read.as_tensor() {
        c.need_broadcast_to(place.saturating_add(1), &read.sizes)?;
    }
    out::like(c, t.dtype, t)
}

fn like_self(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    if c.operator.schema.params.get(1).is_some_and(|p| &*p.name == "dim") {
        c.axis(1, t.rank())?;
    }
    out::like(c, t.dtype, t)
}

/// As `like_self`, but contiguous.
fn plain_self(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    c.axis(1, t.rank())?;
    plain(c, t.dtype, t, t.sizes.clone())
}

fn select(c: &mut Call<'_>) -> Typed {
    let (t, i) = (c.tensor(0)?, c.tensor(2)?);
    let d = c.axis(1, t.rank())?;
    if i.rank() > 1 {
        return Err(c.bad(2, "at most 1 dimension", i.rank().to_string()));
    }
    let mut dims = t.sizes.clone();
    if let Some(slot) = dims.get_mut(d) {
        *slot = size(i, 0);
    }
    plain(c, t.dtype, t, dims)
}

fn gather(c: &mut Call<'_>) -> Typed {
    let (t, i) = (c.tensor(0)?, c.tensor(2)?);
    c.axis(1, t.rank())?;
    if i.rank().max(1) != t.rank().max(1) && !i.sizes.contains(&Dim::Fixed(0)) {
        return Err(c.bad(2, format!("{} dimensions", t.rank()), i.rank().to_string()));
    }
    plain(c, t.dtype, t, i.sizes.clone())
}

fn take_along_dim(c: &mut Call<'_>) -> Typed {
    let (t, i) = (c.tensor(0)?, c.tensor(1)?);
    let Some(d) = c.opt_int(2)? else {
        let all = sizes::product(c.symbols, &i.sizes)?;
        for (place, of) in [(0, t), (1, i)] {
            let whole = sizes::product(c.symbols, &of.sizes)?;
            if viewed::view(c.symbols, of, &[whole])? == Viewed::Never {
                return Err(c.bad(place, "a tensor that can be seen as one row", sizes::show(c.symbols, &of.sizes)));
            }
        }
        return plain(c, t.dtype, t, smallvec::smallvec![all]);
    };
    let d = c.wrap(2, d, t.rank())?;
    let own: Sizes = t.sizes.iter().enumerate().map(|(k, s)| if k == d { size(i, d) } else { *s }).collect();
    let dims = out::broadcast(c, 1, &[&own, &i.sizes])?;
    plain(c, t.dtype, t, dims)
}

/// The operand's dtype, whatever the value's; a contiguous copy is filled.
fn masked_fill(c: &mut Call<'_>) -> Typed {
    let (t, mask) = (c.tensor(0)?, c.tensor(1)?);
    if mask.dtype != Dtype::Bool {
        return Err(c.bad(1, "a mask of bool", mask.dtype.long()));
    }
    if let Operand::Tensor(v) = c.operand(2)?
        && v.rank() > 0
    {
        return Err(c.bad(2, "a tensor without dimensions", sizes::show(c.symbols, &v.sizes)));
    }
    let dims = out::broadcast(c, 1, &[&t.sizes, &mask.sizes])?;
    plain(c, t.dtype, t, dims)
}

fn masked_scatter(c: &mut Call<'_>) -> Typed {
    let (t, mask) = (c.tensor(0)?, c.tensor(1)?);
    let dims = out::broadcast(c, 1, &[&t.sizes, &mask.sizes])?;
    plain(c, t.dtype, t, dims)
}

fn masked_select(c: &mut Call<'_>) -> Typed {
    let t = c.tensor(0)?;
    let found = c.unbacked(0, 0);
    plain(c, t.dtype, t, smallvec::smallvec![found])
}

fn take(c: &mut Call<'_>) -> Typed {
    let (t, i) = (c.tensor(0)?, c.tensor(1)?);
    plain(c, t.dtype, t, i.sizes.clone())
}

fn embedding(c: &mut Call<'_>) -> Typed {
    let (weight, i) = (c.tensor(0)?, c.tensor(1)?);
    if weight.rank() != 2 {
        return Err(c.bad(0, "2 dimensions", sizes::show(c.symbols, &weight.sizes)));
    }
    let mut dims = i.sizes.clone();
    dims.push(size(weight, 1));
    plain(c, weight.dtype, weight, dims)
}

/// Results: sums, which bag an index belongs to, sizes of bags, places of maxima. What a mode does not need is empty.
fn embedding_bag(c: &mut Call<'_>) -> Typed {
    let (weight, i, offsets) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let (mode, last) = (c.int(4)?, c.bool(7)?);
    let mut bags = size(offsets, 0);
    if last {
        bags = sizes::sub(c.symbols, bags, Dim::Fixed(1))?;
    }
    let padding = c.operator.schema.param_index("padding_idx").map_or(Ok(None), |p| c.opt_int(p))?;
    let padded = padding.is_some_and(|p| p >= 0) || &*c.operator.schema.overload == "padding_idx" && padding.is_some();
    let (zero, count) = (Dim::Fixed(0), size(i, 0));
    // The fast path for sums keeps no list of bags.
    let unit = |t: &TensorType, d: usize| t.strides.as_ref().and_then(|s| s.get(d)) == Some(&Dim::Fixed(1));
    let scaled = c.opt_tensor(6)?.is_none_or(|scale| unit(scale, 0));
    let dense = unit(weight, 1) && scaled;
    let fast = mode == 0 && dense && matches!(weight.dtype, Dtype::F32 | Dtype::F16 | Dtype::Bf16) && !padded;
    let index = crate::ops::typing::promote::promote(i.dtype, offsets.dtype).unwrap_or(i.dtype);
    let result = plain(c, weight.dtype, weight, smallvec::smallvec![bags, size(weight, 1)])?;
    let list = if fast { zero } else { count };
    let list = plain(c, index, weight, smallvec::smallvec![list])?;
    // Sums need no sizes of bags, and without gradients not even their number.
    let kept = if mode == 0 && &*c.operator.schema.name != "_embedding_bag" { size(offsets, 0) } else { bags };
    let per_bag = plain(c, index, weight, smallvec::smallvec![kept])?;
    let maxima =
        if mode == 2 { plain(c, index, weight, smallvec::smallvec![bags, size(weight, 1)])? } else { per_bag.clone() };
    // Other devices keep a list for every mode, and of places only those of maxima.
    if &*weight.device.kind != "cpu" {
        let list = plain(c, i.dtype, weight, smallvec::smallvec![count])?;
        let per_offset = plain(c, i.dtype, weight, offsets.sizes.clone())?;
        let places = if mode == 2 { smallvec::smallvec![bags, size(weight, 1)] } else { smallvec::smallvec![zero] };
        let places = plain(c, i.dtype, weight, places)?;
        return Ok(out::many([result, list, per_offset, places]));
    }
    Ok(out::many([result, list, per_bag, maxima]))
}

fn embedding_gradient(c: &mut Call<'_>) -> Typed {
    let (t, rows) = (c.tensor(0)?, c.dim(2)?);
    let width = t.sizes.last().copied().unwrap_or(Dim::Fixed(1));
    plain(c, t.dtype, t, smallvec::smallvec![rows, width])
}

fn one_hot(c: &mut Call<'_>) -> Typed {
    let (t, classes) = (c.tensor(0)?, c.int(1)?);
    let mut dims = t.sizes.clone();
    let rank = t.rank();
    dims.push(if classes >= 0 { Dim::Fixed(classes) } else { c.unbacked(0, rank) });
    plain(c, Dtype::I64, t, dims)
}
