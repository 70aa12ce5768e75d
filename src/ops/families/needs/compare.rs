//! What comparisons need.

use super::shared::{alike, tolerances};
use crate::ops::typing::require::{Entry, is_real};

pub(in crate::ops) const NEEDS: &[Entry] = &[
    (
        alike,
        &[
            "prims.eq.default",
            "prims.ge.default",
            "prims.gt.default",
            "prims.le.default",
            "prims.lt.default",
            "prims.ne.default",
        ],
    ),
    (|c| c.need_dtype(0, "of reals", is_real), &["aten.isposinf.default", "aten.isneginf.default"]),
    (|c| c.need_same_dtype(1, 0), &["aten.isclose.default"]),
    (tolerances, &["aten.isclose.default"]),
];
