//! What gradients need.

use crate::graph::Dtype;
use crate::ops::typing::call::Call;
use crate::ops::typing::require::{Entry, Needed, is_long};
use crate::sym::Dim;

pub(in crate::ops) const NEEDS: &[Entry] = &[
    (of_one_dtype, &["aten._prelu_kernel_backward.default", "aten.log_sigmoid_backward.default"]),
    (classes, &["aten.nll_loss_backward.default"]),
    (noise, &["aten.rrelu_with_noise.default"]),
    (halves, &["aten.glu_backward.default"]),
];

fn of_one_dtype(c: &Call<'_>) -> Needed {
    c.need_same_dtype(1, 0)?;
    c.need_same_dtype(2, 0)
}

fn classes(c: &Call<'_>) -> Needed {
    c.need_dtype(2, "int64 or uint8", |d| is_long(d) || d == Dtype::U8)?;
    c.need_same_dtype(1, 0)
}

/// What is halved has an even size, and its gradient the half.
fn halves(c: &Call<'_>) -> Needed {
    let t = c.tensor(1)?;
    let d = c.axis(2, t.rank())?;
    let mut sizes = t.sizes.clone();
    let Some((slot, size)) = sizes.get_mut(d).and_then(|s| s.fixed().map(|n| (s, n))) else { return Ok(()) };
    if size.checked_rem(2) != Some(0) {
        return Err(c.bad(1, "an even size to halve", size.to_string()));
    }
    *slot = Dim::Fixed(size.div_euclid(2));
    c.need_sizes(0, &sizes)
}

fn noise(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    c.need_sizes(1, &t.sizes)?;
    match (c.bool(4)?, c.float(2), c.float(3)) {
        (true, Some(low), Some(high)) if low > high => Err(c.bad(3, format!("{low} or more"), high.to_string())),
        _ => c.need_same_dtype(1, 0),
    }
}
