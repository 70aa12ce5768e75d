//! Distinct values: of all elements, of neighbours, and of slices along a dimension.
//!
//! A NaN equals nothing, so that each counts.

use std::cmp::Ordering;

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::kernels::reduce::Made;
use crate::exec::kernels::sort::{Pair, ask_to_sort, less, order, pairs};
use crate::exec::loops::rows;
use crate::exec::loops::rows::with_order;
use crate::exec::numbers::introsort;
use crate::exec::tensor::Tensor;
use crate::exec::tensor::lane::Lane;
use crate::exec::tensor::value::Value;
use crate::graph::Dtype;
use crate::ops::CallFault;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (unique, &["aten._unique2.default"]),
    (consecutive, &["aten.unique_consecutive.default"]),
    (along, &["aten.unique_dim.default"]),
];

/// Groups of equals: the place of each one's first member, which group each place belongs to, and how many there are in each.
#[derive(Default)]
struct Groups {
    first: Vec<usize>,
    group_of: Vec<i64>,
    counts: Vec<i64>,
}

/// Forms groups of neighbours in `order` that are the same.
fn groups(order: &[usize], same: impl Fn(usize, usize) -> bool) -> Groups {
    let mut out = Groups { group_of: vec![0; order.len()], ..Groups::default() };
    let mut last: Option<usize> = None;
    for place in order {
        if last.is_none_or(|l| !same(l, *place)) {
            out.first.push(*place);
            out.counts.push(0);
        }
        last = Some(*place);
        if let Some(n) = out.counts.last_mut() {
            *n = n.saturating_add(1);
        }
        if let Some(g) = out.group_of.get_mut(*place) {
            *g = i64::try_from(out.first.len()).unwrap_or(i64::MAX).saturating_sub(1);
        }
    }
    out
}

fn flag(cx: &Cx<'_, '_, '_>, name: &str) -> Result<bool, CallFault> {
    cx.operator.schema.param_index(name).map_or(Ok(false), |i| cx.bool(i))
}

/// Makes the three results of values that are looked at one by one.
fn flat_results<L: Lane>(cx: &Cx<'_, '_, '_>, t: &Tensor, values: &[L], found: Groups) -> Made {
    let distinct: Vec<L> = found.first.iter().filter_map(|k| values.get(*k).copied()).collect();
    let number = distinct.len();
    let none = || cx.make(Dtype::I64, &[0], Vec::<i64>::new());
    let inverse = if flag(cx, "return_inverse")? { cx.make(Dtype::I64, t.sizes(), found.group_of)? } else { none()? };
    let counts = if flag(cx, "return_counts")? { cx.make(Dtype::I64, &[number], found.counts)? } else { none()? };
    Ok(vec![cx.make(t.dtype(), &[number], distinct)?, inverse, counts].into())
}

fn unique(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    ask_to_sort(cx, t, t.numel())?;
    with_order!(t.dtype(), L => {
        let values = t.lanes::<L>()?;
        let mut sorted = pairs(&values);
        // Of equals, of zeros of both signs for one, the first stays: not of a stable sort.
        introsort::sort(&mut sorted, &|a: &Pair<L>, b: &Pair<L>| less(a.0, b.0));
        let places: Vec<usize> = sorted.iter().filter_map(|(_, k)| usize::try_from(*k).ok()).collect();
        flat_results(cx, t, &values, groups(&places, |a, b| values.get(a) == values.get(b)))
    })
}

fn consecutive(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    // Along the only dimension, if it is called 0, values are looked at one by one.
    let flat = cx.is_none(3) || (cx.int(3)? == 0 && t.rank() == 1);
    if !flat {
        return slices(cx, t, cx.axis(3, t.rank())?, false);
    }
    with_order!(t.dtype(), L => {
        let values = t.lanes::<L>()?;
        let places: Vec<usize> = (0..values.len()).collect();
        flat_results(cx, t, &values, groups(&places, |a, b| values.get(a) == values.get(b)))
    })
}

fn along(cx: &mut Cx<'_, '_, '_>) -> Made {
    let t = cx.tensor(0)?;
    slices(cx, t, cx.axis(1, t.rank())?, true)
}

/// Slices are compared element by element in row-major order.
fn slices(cx: &Cx<'_, '_, '_>, t: &Tensor, d: usize, sorted: bool) -> Made {
    let count = t.meta.size(d);
    let rest: Vec<usize> = (0..t.rank()).filter(|k| *k != d).collect();
    let each = rows::length(t, &rest);
    if each == 0 && count > 0 || count == 0 && t.sizes().iter().enumerate().any(|(k, s)| k != d && *s == 0) {
        return Err(cx.bad(0, "slices with elements", format!("the sizes {:?}", t.sizes())));
    }
    with_order!(t.dtype(), L => {
        let view = rows::dims_last(t, &rest);
        let values = view.lanes::<L>()?;
        let slice = |k: usize| values.get(k.saturating_mul(each)..).and_then(|v| v.get(..each)).unwrap_or(&[]);
        let mut places: Vec<usize> = (0..count).collect();
        if sorted {
            places.sort_by(|a, b| {
                let mut both = slice(*a).iter().zip(slice(*b)).map(|(a, b)| order(*a, *b));
                both.find(|o| *o != Ordering::Equal).unwrap_or(Ordering::Equal)
            });
        }
        let found = groups(&places, |a, b| slice(a) == slice(b));
        let number = found.first.len();
        let mut distinct: Vec<L> = Vec::with_capacity(number.saturating_mul(each));
        found.first.iter().for_each(|k| distinct.extend_from_slice(slice(*k)));
        // Slices stand first in memory, and at `d` in the result.
        let lead: Vec<usize> = std::iter::once(number).chain(rest.iter().map(|k| t.meta.size(*k))).collect();
        let lead = if t.rank() == 0 { vec![] } else { lead };
        let made = cx.make(t.dtype(), &lead, distinct)?;
        let back: Vec<usize> = (0..t.rank()).map(|k| match k.cmp(&d) {
            Ordering::Less => k.saturating_add(1),
            Ordering::Equal => 0,
            Ordering::Greater => k,
        }).collect();
        let whole = made.permute(&back);
        let inverse = cx.make(Dtype::I64, &[count], found.group_of)?;
        let counts = cx.make(Dtype::I64, &[number], found.counts)?;
        Ok(Value::from(vec![whole, inverse, counts]))
    })
}

#[cfg(test)]
mod tests {
    use crate::exec::Value;
    use crate::exec::loops::rows::testing::{call, tensor};
    use crate::graph::Dtype;

    #[test]
    fn each_nan_is_a_value_of_its_own() {
        let t = Value::from(tensor(Dtype::F32, &[4], &[2.0, f64::NAN, 2.0, f64::NAN]));
        let yes = Value::Bool(true);
        let found = call("aten._unique2.default", &[t, yes.clone(), yes.clone(), yes]).unwrap();
        assert_eq!(
            (found[0].len(), &found[1][..], &found[2][..]),
            (3, &[0.0, 1.0, 0.0, 2.0][..], &[2.0, 1.0, 1.0][..])
        );
    }

    #[test]
    fn slices_are_told_apart_along_a_dimension() {
        let t = Value::from(tensor(Dtype::I64, &[2, 3], &[5.0, 1.0, 5.0, 6.0, 2.0, 6.0]));
        let found = call("aten.unique_dim.default", &[t, Value::Int(1)]).unwrap();
        assert_eq!((&found[0][..], &found[1][..]), (&[1.0, 5.0, 2.0, 6.0][..], &[1.0, 0.0, 1.0][..]));
    }
}
