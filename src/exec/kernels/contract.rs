//! Contractions: products of tensors whose dimensions have labels, summed over those that nobody keeps.
//!
//! Einstein sums, `tensordot` and the bilinear forms are this. A pair is multiplied as batched matrices, without copies where strides
//! allow; operands are taken from the left, and each step is rounded to the dtype, as PyTorch does it.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::matmul::{Plus, product};
use crate::exec::tensor::shape;
use crate::exec::tensor::shape::Shape;
use crate::exec::tensor::value::Value;
use crate::exec::tensor::{Meta, Tensor};
use crate::graph::Dtype;
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (einsum, &["aten.einsum.default"]),
    (tensordot, &["aten.tensordot.default"]),
    (inner, &["aten.inner.default"]),
    (outer, &["aten.outer.default"]),
    (kron, &["aten.kron.default"]),
    (bilinear, &["aten.bilinear.default"]),
    (trilinear, &["aten._trilinear.default"]),
];

/// A tensor with a label for each dimension, no two the same.
#[derive(Clone)]
struct Labelled {
    tensor: Tensor,
    labels: Shape,
}

impl Labelled {
    /// Labels a tensor; of dimensions with the same label the diagonal is taken.
    fn new(tensor: &Tensor, labels: &[usize]) -> Labelled {
        let mut out = Labelled { tensor: tensor.clone(), labels: Shape::new() };
        let (mut sizes, mut strides) = (Shape::new(), Shape::new());
        for ((label, size), stride) in labels.iter().zip(&tensor.meta.sizes).zip(&tensor.meta.strides) {
            match out.labels.iter().position(|l| l == label).and_then(|k| strides.get_mut(k)) {
                Some(step) => *step = step.saturating_add(*stride),
                None => {
                    out.labels.push(*label);
                    sizes.push(*size);
                    strides.push(*stride);
                }
            }
        }
        (out.tensor.meta.sizes, out.tensor.meta.strides) = (sizes, strides);
        out
    }

    fn has(&self, label: usize) -> bool {
        self.labels.contains(&label)
    }

    fn size(&self, label: usize) -> usize {
        self.labels.iter().position(|l| *l == label).map_or(1, |d| self.tensor.meta.size(d))
    }

    /// Drops a dimension of size 1.
    fn drop(&mut self, label: usize) -> Result<(), CallFault> {
        if let Some(d) = self.labels.iter().position(|l| *l == label) {
            self.tensor = self.tensor.select(d, 0)?;
            self.labels.remove(d);
        }
        Ok(())
    }

    /// Sums over these labels.
    fn summed(self, cx: &mut Cx<'_, '_, '_>, over: &[usize]) -> Result<Labelled, CallFault> {
        let dims: Vec<i64> = self
            .labels
            .iter()
            .enumerate()
            .filter(|(_, l)| over.contains(l))
            .filter_map(|(d, _)| i64::try_from(d).ok())
            .collect();
        if dims.is_empty() {
            return Ok(self);
        }
        let dims = Value::List(dims.into_iter().map(Value::Int).collect());
        let tensor = cx.run_tensor("aten.sum.dim_IntList", &[self.tensor.clone().into(), dims])?;
        Ok(Labelled { tensor, labels: self.labels.into_iter().filter(|l| !over.contains(l)).collect() })
    }

    /// The dimensions with these labels, each group as one.
    fn grouped(&self, groups: [&[usize]; 3]) -> Result<Tensor, CallFault> {
        let places = groups.iter().flat_map(|g| g.iter());
        let order: Shape = places.filter_map(|l| self.labels.iter().position(|x| x == l)).collect();
        let view = self.tensor.permute(&order);
        match folded(&view, groups.map(<[usize]>::len)) {
            Some(view) => Ok(view),
            None => {
                let whole = view.resolved(&crate::exec::tensor::storage::Meter::default())?;
                folded(&whole, groups.map(<[usize]>::len))
                    .ok_or_else(|| CallFault::Unsupported { what: "a contraction of this layout".into() })
            }
        }
    }

    /// The view whose dimensions have these labels; those that it lacks are of size 1.
    fn ordered(&self, labels: &[usize]) -> Tensor {
        let mut out = self.tensor.clone();
        let place = |l: &usize| self.labels.iter().position(|x| x == l);
        out.meta.sizes = labels.iter().map(|l| place(l).map_or(1, |d| self.tensor.meta.size(d))).collect();
        out.meta.strides = labels.iter().map(|l| place(l).map_or(0, |d| self.tensor.meta.stride(d))).collect();
        out
    }
}

/// The view in which the dimensions of each group are one, if strides allow.
fn folded(view: &Tensor, counts: [usize; 3]) -> Option<Tensor> {
    let (mut sizes, mut strides) = (Shape::new(), Shape::new());
    let mut start = 0_usize;
    for count in counts {
        let end = start.checked_add(count)?;
        let (own, steps) = (view.meta.sizes.get(start..end)?, view.meta.strides.get(start..end)?);
        let (size, step) = if own.contains(&0) {
            (0, 0)
        } else {
            let (size, step) = shape::collapsed(own, steps);
            match (size.as_slice(), step.as_slice()) {
                ([], _) => (1, 0),
                ([one], [step]) => (*one, *step),
                _ => return None,
            }
        };
        sizes.push(size);
        strides.push(step);
        start = end;
    }
    let mut out = view.clone();
    (out.meta.sizes, out.meta.strides) = (sizes, strides);
    Some(out)
}

/// Multiplies a pair, and sums over what is not in `keep`.
fn pair(
    cx: &mut Cx<'_, '_, '_>,
    mut a: Labelled,
    mut b: Labelled,
    keep: &[usize],
    dtype: Dtype,
) -> Result<Labelled, CallFault> {
    // A dimension of size 1 stands for as many as the other has.
    for label in a.labels.clone() {
        if b.has(label) {
            match (a.size(label), b.size(label)) {
                (x, y) if x == y => {}
                (1, _) => a.drop(label)?,
                (_, 1) => b.drop(label)?,
                (x, y) => return Err(CallFault::mismatch("tensors", format!("a size of {x}"), y.to_string())),
            }
        }
    }
    let alone = |of: &Labelled, other: &Labelled| -> Shape {
        of.labels.iter().copied().filter(|l| !other.has(*l) && !keep.contains(l)).collect()
    };
    let (of_a, of_b) = (alone(&a, &b), alone(&b, &a));
    let (a, b) = (a.summed(cx, &of_a)?, b.summed(cx, &of_b)?);
    let group = |f: &dyn Fn(usize) -> bool| a.labels.iter().copied().filter(|l| f(*l)).collect::<Shape>();
    let both = group(&|l| b.has(l) && keep.contains(&l));
    let over = group(&|l| b.has(l) && !keep.contains(&l));
    let left = group(&|l| !b.has(l));
    let right: Shape = b.labels.iter().copied().filter(|l| !a.has(*l)).collect();
    let labels: Shape = both.iter().chain(&left).chain(&right).copied().collect();
    let sizes: Shape = labels.iter().map(|l| if a.has(*l) { a.size(*l) } else { b.size(*l) }).collect();
    let (x, y) = (a.grouped([&both, &left, &over])?, b.grouped([&both, &over, &right])?);
    let meta = Meta::contiguous(dtype, &sizes);
    let tensor = product(cx, &meta, (&x, &x), (&y, &y), &Plus::NOTHING)?;
    Ok(Labelled { tensor, labels })
}

/// Contracts operands from the left to these labels.
fn contract(
    cx: &mut Cx<'_, '_, '_>,
    operands: Vec<Labelled>,
    result: &[usize],
    dtype: Dtype,
) -> Result<Tensor, CallFault> {
    let later: Vec<Shape> = operands.iter().map(|o| o.labels.clone()).collect();
    let mut rest = operands.into_iter().enumerate();
    let Some((_, mut whole)) = rest.next() else { return Err(CallFault::mismatch("tensors", "a tensor", "none")) };
    for (k, next) in rest {
        let after = later.iter().skip(k.saturating_add(1)).flatten();
        let keep: Shape = result.iter().chain(after).copied().collect();
        whole = pair(cx, whole, next, &keep, dtype)?;
    }
    let left: Shape = whole.labels.iter().copied().filter(|l| !result.contains(l)).collect();
    let whole = whole.summed(cx, &left)?;
    Ok(whole.ordered(result))
}

/// Labels of a term: letters, and dimensions that `...` stands for, counted from the last.
fn labels(term: &str, rank: Option<usize>, covered: usize) -> Vec<usize> {
    let (before, after) = term.split_once("...").map_or((term, None), |(b, a)| (b, Some(a)));
    let letters = |part: &str| part.chars().map(|c| (c as usize).saturating_add(ELLIPSIS)).collect::<Vec<_>>();
    let mut all = letters(before);
    if let Some(after) = after {
        let rest = letters(after);
        let own = rank.map_or(covered, |r| r.saturating_sub(all.len().saturating_add(rest.len())));
        all.extend((0..own).rev());
        all.extend(rest);
    }
    all
}

/// Labels below stand for dimensions of `...`.
const ELLIPSIS: usize = 1 << 16;

fn einsum(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (equation, tensors, meta) = (cx.text(0).replace(' ', ""), cx.tensors(1)?, cx.meta()?);
    let (inputs, result) = equation.split_once("->").map_or((equation.as_str(), None), |(i, r)| (i, Some(r)));
    let terms: Vec<Vec<usize>> = inputs.split(',').zip(&tensors).map(|(t, x)| labels(t, Some(x.rank()), 0)).collect();
    let all: Vec<usize> = terms.iter().flatten().copied().collect();
    let covered = all.iter().filter(|l| **l < ELLIPSIS).max().map_or(0, |l| l.saturating_add(1));
    let wanted = match result {
        Some(text) => labels(text, None, covered),
        None => {
            let mut once: Vec<usize> = all.iter().copied().filter(|l| *l >= ELLIPSIS).collect();
            once.sort_unstable();
            once.retain(|l| all.iter().filter(|x| *x == l).count() == 1);
            (0..covered).rev().chain(once).collect()
        }
    };
    let operands: Vec<Labelled> = terms.iter().zip(&tensors).map(|(term, t)| Labelled::new(t, term)).collect();
    if let ([one], [first]) = (tensors.as_slice(), operands.as_slice())
        && first.labels.iter().all(|l| wanted.contains(l))
    {
        return one.with_meta(meta).map(Value::Tensor);
    }
    let whole = contract(cx, operands, &wanted, meta.dtype)?;
    cx.laid_out(0, whole.broadcast(&meta.sizes)?).map(Value::Tensor)
}

fn tensordot(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (a, b, meta) = (cx.tensor(0)?, cx.tensor(1)?, cx.meta()?);
    let over_a = cx.axes(2, a.rank())?.unwrap_or_default();
    let over_b = cx.axes(3, b.rank())?.unwrap_or_default();
    let of_a: Shape = (0..a.rank()).collect();
    let of_b: Shape = (0..b.rank())
        .map(|d| {
            let met = over_b.iter().position(|x| *x == d).and_then(|k| over_a.get(k)).copied();
            met.unwrap_or_else(|| a.rank().saturating_add(d))
        })
        .collect();
    let left = of_a.iter().filter(|l| !over_a.contains(l));
    let result: Shape = left.chain(of_b.iter().filter(|l| **l >= a.rank())).copied().collect();
    let whole = contract(cx, vec![Labelled::new(a, &of_a), Labelled::new(b, &of_b)], &result, meta.dtype)?;
    cx.laid_out(0, whole).map(Value::Tensor)
}

fn inner(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (a, b, meta) = (cx.tensor(0)?, cx.tensor(1)?, cx.meta()?);
    let of_a: Shape = (0..a.rank()).collect();
    let mut of_b: Shape = (0..b.rank()).map(|d| a.rank().saturating_add(d)).collect();
    let mut result: Shape = of_a.iter().chain(&of_b).copied().collect();
    if let (Some(over), Some(last)) = (of_a.last(), of_b.last_mut()) {
        result.retain(|l| *l != *over && *l != *last);
        *last = *over;
    }
    let whole = contract(cx, vec![Labelled::new(a, &of_a), Labelled::new(b, &of_b)], &result, meta.dtype)?;
    cx.laid_out(0, whole).map(Value::Tensor)
}

fn outer(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (a, b, meta) = (cx.tensor(0)?, cx.tensor(1)?, cx.meta()?);
    let whole = contract(cx, vec![Labelled::new(a, &[0]), Labelled::new(b, &[1])], &[0, 1], meta.dtype)?;
    cx.laid_out(0, whole).map(Value::Tensor)
}

fn kron(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (a, b, meta) = (cx.tensor(0)?, cx.tensor(1)?, cx.meta()?);
    let rank = meta.rank();
    let lead = |t: &Tensor| rank.saturating_sub(t.rank());
    let of = |t: &Tensor, odd: usize| -> Shape {
        (lead(t)..rank).map(|d| d.saturating_mul(2).saturating_add(odd)).collect()
    };
    let result: Shape = (0..rank.saturating_mul(2)).collect();
    let (a, b) = (Labelled::new(a, &of(a, 0)).ordered(&result), Labelled::new(b, &of(b, 1)).ordered(&result));
    let whole = cx.run_tensor("aten.mul.Tensor", &[a.into(), b.into()])?;
    // Neighbours become one where strides allow; a product that lies otherwise is refused.
    let sizes = meta.sizes.iter().filter_map(|n| i64::try_from(*n).ok()).map(Value::Int).collect();
    let flat = cx.run_tensor("aten._unsafe_view.default", &[whole.into(), Value::List(sizes)])?;
    cx.laid_out(0, flat).map(Value::Tensor)
}

fn bilinear(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (a, b, weight, meta) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?, cx.meta()?);
    let lead = a.rank().saturating_sub(1);
    // Labels of leading dimensions, then of the result, of the first input, and of the second.
    let (gives, first, second) = (lead, lead.saturating_add(1), lead.saturating_add(2));
    let with = |last: usize| (0..lead).chain([last]).collect::<Shape>();
    let operands = vec![
        Labelled::new(a, &with(first)),
        Labelled::new(weight, &[gives, first, second]),
        Labelled::new(b, &with(second)),
    ];
    let mut whole = contract(cx, operands, &with(gives), meta.dtype)?;
    if let Some(bias) = cx.opt_tensor(3)? {
        whole = cx.run_tensor("aten.add.Tensor", &[whole.into(), bias.clone().into()])?;
    }
    cx.laid_out(0, whole).map(Value::Tensor)
}

fn trilinear(cx: &mut Cx<'_, '_, '_>) -> Made {
    let meta = cx.meta()?;
    let operands = [cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?];
    let [first, ..] = operands;
    let total = first.rank().saturating_add(cx.ints(3)?.len());
    let summed = cx.axes(6, total)?.unwrap_or_default();
    let mut labelled = Vec::with_capacity(operands.len());
    for (k, t) in operands.into_iter().enumerate() {
        let put_in = cx.axes(k.saturating_add(3), total)?.unwrap_or_default();
        let own: Shape = (0..total).filter(|d| !put_in.contains(d)).collect();
        labelled.push(Labelled::new(t, &own));
    }
    let result: Shape = (0..total).filter(|d| !summed.contains(d)).collect();
    let whole = contract(cx, labelled, &result, meta.dtype)?;
    cx.laid_out(0, whole.broadcast(&meta.sizes)?).map(Value::Tensor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_stand_for_dimensions_counted_from_the_last() {
        let letter = |c: char| c as usize + ELLIPSIS;
        assert_eq!(labels("i...j", Some(4), 0), [letter('i'), 1, 0, letter('j')]);
        assert_eq!(labels("...", None, 2), [1, 0]);
        assert_eq!(labels("ij", Some(2), 0), [letter('i'), letter('j')]);
    }
}
