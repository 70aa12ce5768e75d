//! Whether windows slide over sizes that are symbols.
//!
//! Promises: "yes" only where every size behind batch and channels holds a kernel, as far as it is spread, once with its padding, and is at least 1, for all
//! values of its symbols; all that is said of windows must be numbers.

use crate::graph::{Arg, TensorType};
use crate::ops::{Bound, Grid, Operator};
use crate::sym::Dim;
use crate::term::sizes::Sizes;

/// Whether the sizes of a grid behind batch and channels fit, whatever their symbols are.
pub(super) fn grid_fits(
    sizes: &Sizes<'_>,
    operator: &Operator,
    bound: &Bound<'_>,
    (from, result): (&TensorType, Option<&TensorType>),
    types: &[&TensorType],
) -> bool {
    let grid = from.sizes.get(2..).unwrap_or(&[]);
    let filled = |t: &TensorType| t.sizes.iter().skip(2).all(|d| sizes.at_most(Dim::Fixed(1), *d));
    if operator.facts.grid == Some(Grid::Scaled) && !result.is_some_and(filled) {
        return false;
    }
    let least = match operator.facts.grid {
        None => return false,
        Some(Grid::Any | Grid::Filled | Grid::Scaled) => Some(vec![1; grid.len()]),
        Some(Grid::Slides) => least_sizes(operator, bound, grid.len(), types),
    };
    let channels = from.sizes.get(1).is_some_and(|d| d.fixed().is_some());
    channels && least.is_some_and(|all| all.iter().zip(grid).all(|(least, d)| sizes.at_most(Dim::Fixed(*least), *d)))
}

/// Returns the least size of each dimension over which windows slide.
fn least_sizes(operator: &Operator, bound: &Bound<'_>, rank: usize, types: &[&TensorType]) -> Option<Vec<i64>> {
    let given = |name: &str| operator.schema.param_index(name).map(|i| bound.get(i));
    if given("transposed").is_some_and(|t| *t != Arg::Bool(false)) {
        return None;
    }
    let numbers = |arg: Option<&Arg>, otherwise: i64| -> Option<Vec<i64>> {
        let Some(arg) = arg else { return Some(vec![otherwise; rank]) };
        let all: Vec<i64> = match arg.items() {
            Some(items) => {
                items.iter().map(|a| if let Arg::Int(v) = a { Some(*v) } else { None }).collect::<Option<_>>()?
            }
            None => vec![if let Arg::Int(v) = arg { *v } else { return None }],
        };
        match all.as_slice() {
            [one] => Some(vec![*one; rank]),
            all => (all.len() == rank).then(|| all.to_vec()),
        }
    };
    let kernel = match given("kernel_size") {
        Some(arg) => numbers(Some(arg), 1)?,
        None => types.get(1)?.sizes.get(2..)?.iter().map(|d| d.fixed()).collect::<Option<Vec<i64>>>()?,
    };
    let (padding, dilation) = (numbers(given("padding"), 0)?, numbers(given("dilation"), 1)?);
    if kernel.len() != rank {
        return None;
    }
    let each = kernel.iter().zip(padding).zip(dilation).map(|((kernel, padding), dilation)| {
        let spread = kernel.checked_sub(1)?.checked_mul(dilation)?.checked_add(1)?;
        Some(spread.checked_sub(padding.checked_mul(2)?)?.max(1))
    });
    each.collect()
}
