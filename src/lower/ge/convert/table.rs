//! The tables of all families as one: lookup by target, and what a line of a table means.
//!
//! Promise: a target stands in one family only.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::cx::{self, Cx};
use super::{
    activation, batch_norm, beyond, comm, conv, create, detection, direct, foreach, fourier, group_norm, index, linalg,
    logic, loss, matmul, movement, norm, npu, npu_attention, npu_cache, npu_comm, npu_dequant, npu_grouped, npu_matmul,
    npu_moe, npu_quant, pad, pointwise, pool, random, reduce, resample, slices, sort, split, stream, symbolic, view,
};
use crate::lower::ge::builder::Refusal;
use crate::lower::ge::value::Value;
use crate::ops::Lowering;

/// What a converter gives: the node's value, or why it refuses.
pub(in crate::lower::ge) type Made = Result<Value, Refusal>;

/// How an FX operator is converted.
#[derive(Clone, Copy)]
pub(in crate::lower::ge) enum Rule {
    /// One GE operator of one tensor, with default attributes.
    Unary(&'static str),
    /// One GE operator of two arguments, both cast to the result's type.
    Promoted(&'static str),
    /// One GE operator of two arguments, both cast to their common type; the result has its own (comparisons).
    Compared(&'static str),
    /// One GE operator that takes the arguments: the operator's signature (see `args`), then the line (see `direct`).
    Direct(&'static str, &'static str),
    /// Anything else.
    By(fn(&mut Cx) -> Made),
}

/// One line of a family's table.
pub(in crate::lower::ge) type Entry = (&'static str, Rule);

const FAMILIES: [&[Entry]; 38] = [
    activation::TABLE,
    batch_norm::TABLE,
    beyond::TABLE,
    comm::TABLE,
    conv::TABLE,
    create::TABLE,
    foreach::TABLE,
    fourier::TABLE,
    group_norm::TABLE,
    index::TABLE,
    linalg::TABLE,
    logic::TABLE,
    matmul::TABLE,
    norm::TABLE,
    npu::TABLE,
    npu_attention::TABLE,
    npu_cache::TABLE,
    npu_comm::TABLE,
    npu_dequant::TABLE,
    npu_grouped::TABLE,
    npu_matmul::TABLE,
    npu_moe::TABLE,
    npu_quant::TABLE,
    pad::TABLE,
    pointwise::TABLE,
    pool::TABLE,
    random::TABLE,
    reduce::TABLE,
    loss::TABLE,
    movement::TABLE,
    sort::TABLE,
    split::TABLE,
    slices::TABLE,
    stream::TABLE,
    symbolic::TABLE,
    view::TABLE,
    resample::TABLE,
    detection::TABLE,
];

static TABLE: LazyLock<FxHashMap<&'static str, Rule>> =
    LazyLock::new(|| FAMILIES.into_iter().flatten().copied().collect());

/// Returns how a target is converted; `None` where it has no GE form.
pub(in crate::lower::ge) fn rule(target: &str) -> Option<Rule> {
    TABLE.get(target).copied()
}

/// Converts a call of a user's operator as its file says.
pub(in crate::lower::ge) fn apply_described(lowering: &Lowering, cx: &mut Cx) -> Made {
    direct::described(cx, lowering)
}

/// Returns every target that has a GE form, sorted.
pub fn targets() -> Vec<&'static str> {
    let mut targets: Vec<_> = TABLE.keys().copied().collect();
    targets.sort_unstable();
    targets
}

/// Applies a rule to a call.
pub(in crate::lower::ge) fn apply(rule: Rule, cx: &mut Cx) -> Made {
    match rule {
        Rule::By(converter) => converter(cx),
        Rule::Unary(kind) => {
            // GE's operators of one operand give its type; PyTorch makes floats of integers.
            if let (Ok(x), Ok(dtype)) = (cx.tensor(0, "self"), cx.out_type())
                && cx::is_float(dtype)
                && !cx::is_float(cx.dtype(x))
                && !cx::is_complex(cx.dtype(x))
            {
                let x = cx.promoted(0, dtype)?;
                return cx.ge(kind, vec![x.into()], &[]);
            }
            let x = cx.any(0)?;
            cx.ge(kind, vec![x], &[])
        }
        Rule::Promoted(kind) => {
            let dtype = cx.out_type()?;
            let (a, b) = (cx.promoted(0, dtype)?, cx.promoted(1, dtype)?);
            cx.ge(kind, vec![a.into(), b.into()], &[])
        }
        Rule::Compared(kind) => cx.compared(kind),
        Rule::Direct(params, line) => direct::convert(cx, params, line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_target_stands_in_two_families() {
        let count: usize = FAMILIES.iter().map(|f| f.len()).sum();
        assert_eq!(count, targets().len());
    }
}
