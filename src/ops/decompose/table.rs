//! The tables of all families as one: lookup by target.
//!
//! Promise: a target stands in one family only, and only targets that the registry knows stand in any.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::builder::{Builder, Made};
use super::{
    Exactness, activation, attention, bag, compare, conv, create, ctc, differences, distance, einsum, elementary,
    encoder, fourier, gradient, gradient_norm, gradient_window, histogram, index, linalg, loss, matmul, movement, norm,
    npu, npu_attention, npu_cache, npu_moe, npu_norm, npu_quant, optimizer, pool, quantized, random, recurrent, reduce,
    renamed, resample, sample_back, sort, split, symbolic, ternary, unfold, view, weight_norm,
};

/// A decomposition: emits calls for the call that the builder holds.
pub type Build = fn(&Builder<'_>) -> Made;

/// Lines of a family's table: how exact, by what, for which targets.
pub(super) type Line = (Exactness, Build, &'static [&'static str]);

/// What is known of one operator.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) exactness: Exactness,
    pub(super) build: Build,
}

/// Every line of every family.
pub(super) fn lines() -> impl Iterator<Item = &'static Line> {
    [
        activation::TABLE,
        attention::TABLE,
        bag::TABLE,
        compare::TABLE,
        conv::TABLE,
        create::TABLE,
        ctc::TABLE,
        differences::TABLE,
        distance::TABLE,
        einsum::TABLE,
        elementary::TABLE,
        encoder::TABLE,
        fourier::TABLE,
        gradient::TABLE,
        gradient_norm::TABLE,
        gradient_window::TABLE,
        histogram::TABLE,
        index::TABLE,
        linalg::TABLE,
        loss::TABLE,
        matmul::TABLE,
        movement::TABLE,
        norm::TABLE,
        npu::TABLE,
        npu_attention::TABLE,
        npu_cache::TABLE,
        npu_moe::TABLE,
        npu_norm::TABLE,
        npu_quant::TABLE,
        optimizer::TABLE,
        pool::TABLE,
        quantized::TABLE,
        random::TABLE,
        recurrent::TABLE,
        reduce::TABLE,
        renamed::TABLE,
        resample::TABLE,
        sample_back::TABLE,
        sort::TABLE,
        split::TABLE,
        symbolic::TABLE,
        ternary::TABLE,
        unfold::TABLE,
        view::TABLE,
        weight_norm::TABLE,
    ]
    .into_iter()
    .flatten()
}

static TABLE: LazyLock<FxHashMap<&'static str, Entry>> = LazyLock::new(|| {
    let each = |(exactness, build, targets): &'static Line| {
        targets.iter().map(|t| (*t, Entry { exactness: *exactness, build: *build }))
    };
    lines().flat_map(each).collect()
});

/// Returns the decomposition of a target.
pub(super) fn entry(target: &str) -> Option<Entry> {
    TABLE.get(target).copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::ops::Registry;

    #[test]
    fn every_target_is_known_and_stands_once() {
        let registry = Registry::standard();
        let mut seen = BTreeSet::new();
        for target in lines().flat_map(|(_, _, targets)| targets.iter()) {
            assert!(registry.get(target).is_some_and(|o| *o.target == **target), "no operator {target}");
            assert!(seen.insert(*target), "{target} stands twice");
        }
    }
}
