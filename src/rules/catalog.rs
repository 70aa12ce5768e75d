//! All rules, by family: what `airlock rules` tells and `docs/rules.md` holds.
//!
//! Promises: a family's text is the head of the file that applies its rules, so that what is told is what stands beside the code; every name that
//! evidence may state is listed (`tests/it/rules_doc.rs`).

use super::Level;

/// Rules that stand in one file.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// How equal its rules show values to be.
    pub level: Level,
    /// Names that evidence states; a family of normal forms, which are applied everywhere, has none.
    pub rules: &'static [&'static str],
    /// Its file below `src/rules`.
    pub file: &'static str,
    source: &'static str,
}

macro_rules! families {
    ($($name:literal $level:ident $file:literal [$($rule:literal)*])*) => {
        /// Every family.
        pub const FAMILIES: &[Family] = &[$(Family {
            name: $name,
            level: Level::$level,
            rules: &[$($rule),*],
            file: $file,
            source: include_str!($file),
        }),*];
    };
}

families! {
    "arithmetic" Exact "element/arith.rs" ["abs-of-positive" "abs-of-product" "abs-of-sign" "add-itself" "add-negative" "add-negative-zero" "arithmetic-of-numbers" "div-power-of-two" "mul-minus-one" "mul-one" "neg-neg" "opposite-numbers" "round-of-sign" "round-within-integers" "sign-of-product" "sign-of-quotient" "sub-number" "zero-scaled"]
    "scales" Exact "element/scales.rs" ["power-of-divisor" "power-within" "whole-again"]
    "casts" Exact "element/cast.rs" ["bits-of-integers" "bound-before-cast" "cast-of-cast" "cast-of-integer-sum" "cast-of-quotient" "cast-of-sign" "choose-before-cast" "floor-of-integers" "integers-as-floats" "integers-between" "nan-to-few-bits" "quotient-in-floats" "round-once" "sign-bit" "trunc-before-integers" "upper-half" "zero-before-integers"]
    "choices" Exact "element/choose.rs" ["bound-by-assumption" "bound-by-range" "bound-itself" "bound-of-quotient" "bound-of-sum" "bound-past-all" "bounds-together" "choose-either" "choose-equal" "choose-not" "choose-truth" "greater-of-opposites" "greatest-beside" "magnitude-with-sign" "not-less"]
    "picks" Exact "element/pick.rs" ["choose-greater" "choose-greater-number" "greatest-magnitude" "remainder-of-cut"]
    "held integers" Exact "element/held.rs" ["held-before-integers"]
    "quantised" Exact "element/quantised.rs" ["bound-of-cut" "greatest-of-cuts" "sign-of-cut"]
    "comparisons" Exact "element/compare.rs" ["compare-before-cast" "compare-bits" "compare-bound" "compare-by-comparison" "compare-indices" "compare-magnitude" "compare-opposites" "compare-product" "compare-ranges" "count-is-any" "difference-is-zero" "finite-by-nothing" "greater-is-itself" "not-less-than-itself" "product-is-zero"]
    "numbers" Exact "element/numbers.rs" ["compare-numbers"]
    "integers in order" Exact "element/lattice.rs" ["order-of-integers"]
    "integers" Exact "element/integer.rs" ["bits-apart" "bound-of-sums" "compare-sums" "division-by-range" "division-is-shift" "divisions-compose" "integer-ring" "lowest-bits" "quotient-of-index" "quotient-of-opposite" "quotient-rounded-up" "remainder-by-quotient"]
    "ranges" Exact "element/bounds.rs" []
    "order" Exact "element/order.rs" []
    "indices" Exact "element/index.rs" []
    "cases" Exact "element/equal.rs" ["by-cases" "few-numbers"]
    "places" Exact "element/places.rs" ["at-each-place"]
    "bits" Exact "element/bits/mod.rs" ["bit-by-bit"]
    "few bits" Exact "element/exhaust.rs" ["exhausted" "exhausted-integers"]
    "reductions" Exact "element/reduce.rs" ["any-of-either" "any-of-places" "bound-of-greatest" "count-of-opposites" "fold-of-equal" "greatest-of-numbers" "greatest-of-truths" "infinite-beside" "integer-sum-in-parts" "product-of-truths" "sum-of-indices" "sum-of-nothing" "sum-up-to-an-index"]
    "dimensions in a row" Exact "element/divided.rs" ["dimensions-in-a-row"]
    "sorted" Exact "element/sorted.rs" ["end-of-sorted" "one-of-few-in-order" "sort-before-cast" "sort-of-sorted"]
    "rising" Exact "element/rising.rs" ["order-kept"]
    "permutations" Exact "element/permutation.rs" ["fold-backwards" "places-counted" "places-exchanged" "places-undone"]
    "own places" Exact "ordered.rs" ["own-place"]
    "movement" Exact "movement.rs" []
    "writes" Exact "writes.rs" []
    "pointwise" Exact "pointwise.rs" []
    "complex numbers" Exact "complex.rs" []
    "definitions" Exact "meaning.rs" ["decomposition" "operands-exchanged"]
    "field" Real "field/mod.rs" []
    "bounds that never bite" Real "field/extent.rs" []
    "steps along sums" Real "field/steps.rs" []
    "labels" Real "field/labels.rs" []
    "chosen elements" Real "field/chosen.rs" []
    "sums of integers" Exact "field/ring.rs" ["ring-of-sums"]
    "sums" Real "real_sums.rs" []
    "windows" Real "pooling.rs" []
    "floats over sizes" Real "scalars.rs" []
    "parts of sums" Real "field/parts.rs" []
    "contractions" Real "contract.rs" []
    "definedness" Real "definedness.rs" []
    "rounding" Real "rounding/mod.rs" []
    "guards" Real "guards.rs" []
    "known ends" Real "rounding/known.rs" []
    "masks" Real "masks.rs" []
    "fingerprints" Real "fingerprint/mod.rs" ["fingerprints"]
    "values as they are chosen" Real "rounding/within.rs" []
    "absorption" Real "rounding/absorb.rs" []
    "what comes together" Real "rounding/together.rs" []
}

impl Family {
    /// Returns the head of its file: what it says, and when it is wrong.
    pub fn text(&self) -> String {
        let head = self.source.lines().map_while(|line| line.strip_prefix("//!"));
        let lines: Vec<&str> = head.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
        lines.join("\n").trim().to_string()
    }

    /// Returns the first sentence of its text.
    pub fn title(&self) -> String {
        let text = self.text();
        text.split("\n\n").next().unwrap_or("").replace('\n', " ")
    }
}

/// Returns the family of that name, or the one that has a rule of that name.
pub fn find(name: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|f| f.name == name || f.rules.contains(&name))
}
