//! Sorting and what picks from it.

use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Exact, argsort, &["aten.argsort.default"]),
    (Exact, argsort_stable, &["aten.argsort.stable"]),
    (Exact, |b| done![b.pick("sort.default", args![b.t(0)?, 0], 0)], &["aten.msort.default"]),
    (Exact, nonzero_numpy, &["aten.nonzero_numpy.default", "aten.where.default"]),
];

fn argsort(b: &Builder<'_>) -> Made {
    done![b.pick("sort.default", args![b.t(0)?, b.arg(1), b.arg(2)], 1)]
}

fn argsort_stable(b: &Builder<'_>) -> Made {
    let (x, stable, dim, down) = (b.t(0)?, b.arg("stable"), b.arg("dim"), b.arg("descending"));
    done![b.pick("sort.stable", args![x; stable = stable, dim = dim, descending = down], 1)]
}

/// The columns of `nonzero`.
fn nonzero_numpy(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let x = if x.rank() == 0 { x.unsqueeze(0) } else { x };
    let found = x.op("nonzero");
    let columns = b.list("unbind.int", args![found, 1]);
    Ok(vec![Arg::List(columns.into_iter().map(Arg::from).collect())])
}
