//! What windows, pooling and resampling need.

use super::shared::{has_places, place, space};
use crate::graph::Dtype;
use crate::ops::typing::call::Call;
use crate::ops::typing::require::{Entry, Needed, size};
use crate::ops::typing::sizes;
use crate::sym::Dim;

pub(in crate::ops) const NEEDS: &[Entry] = &[
    (larger_than_kernel, &["aten.avg_pool3d.default"]),
    (
        pooled,
        &[
            "aten.max_pool1d.default",
            "aten.max_pool1d_with_indices.default",
            "aten.max_pool2d.default",
            "aten.max_pool2d_with_indices.default",
            "aten.max_pool3d.default",
            "aten.max_pool3d_with_indices.default",
            "aten.avg_pool1d.default",
            "aten.avg_pool2d.default",
            "aten.avg_pool3d.default",
        ],
    ),
    (
        adaptive,
        &[
            "aten.adaptive_avg_pool1d.default",
            "aten.adaptive_avg_pool2d.default",
            "aten.adaptive_avg_pool3d.default",
            "aten._adaptive_avg_pool2d.default",
            "aten._adaptive_avg_pool3d.default",
            "aten.adaptive_max_pool1d.default",
            "aten.adaptive_max_pool2d.default",
        ],
    ),
    (unpool, &["aten.max_unpool2d.default"]),
    (
        upsampled,
        &[
            "aten.upsample_nearest1d.default",
            "aten.upsample_nearest2d.default",
            "aten._upsample_nearest_exact2d.default",
            "aten.upsample_nearest3d.default",
            "aten._upsample_nearest_exact1d.default",
            "aten._upsample_nearest_exact3d.default",
            "aten.upsample_linear1d.default",
            "aten.upsample_bilinear2d.default",
            "aten.upsample_trilinear3d.default",
            "aten.upsample_bicubic2d.default",
            "aten._upsample_bilinear2d_aa.default",
            "aten._upsample_bicubic2d_aa.default",
            "aten.upsample_nearest1d.vec",
            "aten.upsample_nearest2d.vec",
            "aten.upsample_nearest3d.vec",
            "aten._upsample_nearest_exact1d.vec",
            "aten._upsample_nearest_exact2d.vec",
            "aten._upsample_nearest_exact3d.vec",
            "aten.upsample_linear1d.vec",
            "aten.upsample_bilinear2d.vec",
            "aten.upsample_trilinear3d.vec",
            "aten.upsample_bicubic2d.vec",
            "aten._upsample_bilinear2d_aa.vec",
            "aten._upsample_bicubic2d_aa.vec",
        ],
    ),
    (sampled, &["aten.grid_sampler.default", "aten.grid_sampler_2d.default", "aten.grid_sampler_3d.default"]),
    (grid, &["aten.affine_grid_generator.default"]),
    (pool_gradient, &["aten.max_pool2d_with_indices_backward.default", "aten.avg_pool2d_backward.default"]),
    (adaptive_gradient, &["aten._adaptive_avg_pool2d_backward.default"]),
];

fn pooled(c: &Call<'_>) -> Needed {
    let n = space(c);
    let lengths: &[usize] = if n == 1 { &[1] } else { &[1, n] };
    let strides: Vec<usize> = std::iter::once(0).chain(lengths.iter().copied()).collect();
    c.need_rank(0, n.saturating_add(1)..=n.saturating_add(2))?;
    c.need_length(1, lengths)?;
    c.need_length(2, &strides)?;
    c.need_length(3, lengths)?;
    if let Some(i) = c.operator.schema.param_index("dilation") {
        c.need_length(i, lengths)?;
    }
    if let Some(i) = c.operator.schema.param_index("divisor_override")
        && c.opt_int(i)? == Some(0)
    {
        return Err(c.bad(i, "another divisor than 0", "0"));
    }
    has_places(c, 0, n, 0)
}

/// Before it is padded, too.
fn larger_than_kernel(c: &Call<'_>) -> Needed {
    let (t, kernel) = (c.tensor(0)?, c.ints(1)?);
    let outer = t.rank().saturating_sub(3);
    for d in 0..3 {
        let k = kernel.get(d).or(kernel.first()).copied().unwrap_or(1);
        if size(t, outer.saturating_add(d)).fixed().is_some_and(|n| n < k) {
            return Err(c.bad(1, "a window within the input", k.to_string()));
        }
    }
    Ok(())
}

fn adaptive(c: &Call<'_>) -> Needed {
    let n = space(c);
    c.need_rank(0, n.saturating_add(1)..=n.saturating_add(2))?;
    c.need_length(1, &[n])?;
    if c.dims(1)?.iter().any(|d| d.fixed().is_some_and(|n| n < 0)) {
        return Err(c.bad(1, "sizes of 0 or more", sizes::show(c.symbols, &c.dims(1)?)));
    }
    let max = c.operator.schema.name.contains("max");
    let t = c.tensor(0)?;
    let inner = c.operator.schema.name.starts_with('_');
    // To one place it is a mean, also of nothing.
    if !max && !inner && c.dims(1)?.iter().all(|d| *d == Dim::Fixed(1)) {
        return Ok(());
    }
    has_places(c, 0, n, if max || n == 3 { 1 } else { t.rank().saturating_sub(n) })
}

fn unpool(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    c.need_dtype(1, "int64", |d| d == Dtype::I64)?;
    c.need_rank(0, 3..=4)?;
    c.need_length(2, &[2])?;
    c.need_sizes(1, &t.sizes)?;
    if c.dims(2)?.iter().any(|d| d.fixed().is_some_and(|n| n < 0)) {
        return Err(c.bad(2, "sizes of 0 or more", sizes::show(c.symbols, &c.dims(2)?)));
    }
    has_places(c, 0, 2, usize::from(t.rank() == 4))
}

fn upsampled(c: &Call<'_>) -> Needed {
    let n = space(c);
    let t = c.tensor(0)?;
    c.need_rank(0, n.saturating_add(2)..=n.saturating_add(2))?;
    if t.sizes.iter().skip(1).any(|d| *d == Dim::Fixed(0)) {
        return Err(c.bad(0, "elements in every dimension but the batch", sizes::show(c.symbols, &t.sizes)));
    }
    let factors = place(c, "scale_factors");
    if c.is_none(1) {
        if c.is_none(factors) {
            return Err(c.bad(1, "sizes or factors", "neither"));
        }
        return c.need_length(factors, &[n]);
    }
    if factors != usize::MAX && !c.is_none(factors) {
        return Err(c.bad(factors, "sizes or factors", "both"));
    }
    c.need_length(1, &[n])?;
    if c.dims(1)?.iter().any(|d| d.fixed().is_some_and(|n| n < 1)) {
        return Err(c.bad(1, "sizes of 1 or more", sizes::show(c.symbols, &c.dims(1)?)));
    }
    Ok(())
}

fn sampled(c: &Call<'_>) -> Needed {
    let (t, grid) = (c.tensor(0)?, c.tensor(1)?);
    let ranks = match &*c.operator.schema.name {
        "grid_sampler_2d" => 4..=4,
        "grid_sampler_3d" => 5..=5,
        _ => 4..=5,
    };
    c.need_rank(0, ranks)?;
    c.need_rank(1, t.rank()..=t.rank())?;
    c.need_same_dtype(1, 0)?;
    c.need_equal(1, "a batch of", size(t, 0), size(grid, 0))?;
    let ways = Dim::Fixed(i64::try_from(t.rank().saturating_sub(2)).unwrap_or(0));
    c.need_equal(1, "a last size of", ways, size(grid, grid.rank().saturating_sub(1)))?;
    if t.sizes.iter().skip(2).any(|d| *d == Dim::Fixed(0)) {
        return Err(c.bad(0, "elements in every spatial dimension", sizes::show(c.symbols, &t.sizes)));
    }
    if t.rank() == 5 && c.opt_int(2)? == Some(2) {
        return Err(c.bad(2, "no bicubic interpolation of volumes", "2"));
    }
    Ok(())
}

fn grid(c: &Call<'_>) -> Needed {
    let (t, wanted) = (c.tensor(0)?, c.dims(1)?);
    if !(4..=5).contains(&wanted.len()) {
        return Err(c.bad(1, "4 or 5 sizes", wanted.len().to_string()));
    }
    if wanted.iter().any(|d| d.fixed().is_some_and(|n| n < 0)) {
        return Err(c.bad(1, "sizes of 0 or more", sizes::show(c.symbols, &wanted)));
    }
    let ways = Dim::Fixed(i64::try_from(wanted.len().saturating_sub(2)).unwrap_or(0));
    let batch = wanted.first().copied().unwrap_or(Dim::Fixed(1));
    c.need_rank(0, 3..=3)?;
    c.need_equal(0, "a batch of", batch, size(t, 0))?;
    let columns = sizes::same(c.symbols, ways, Dim::Fixed(2)).unwrap_or(false);
    c.need_equal(0, "rows:", ways, size(t, 1))?;
    c.need_equal(0, "columns:", Dim::Fixed(if columns { 3 } else { 4 }), size(t, 2))
}

/// The gradient has the sizes of the pooled result, and its dtype.
fn pool_gradient(c: &Call<'_>) -> Needed {
    let t = c.tensor(1)?;
    c.need_rank(1, 3..=4)?;
    c.need_same_dtype(0, 1)?;
    for i in [2, 4] {
        c.need_length(i, &[1, 2])?;
    }
    c.need_length(3, &[0, 1, 2])?;
    has_places(c, 1, 2, 0)?;
    let max = c.operator.schema.name.contains("max");
    if !max && c.opt_int(7)? == Some(0) {
        return Err(c.bad(7, "another divisor than 0", "0"));
    }
    let (kernel, stride, padding) = (c.ints(2)?, c.ints(3)?, c.ints(4)?);
    let dilation = if max { c.ints(5)? } else { smallvec::smallvec![1] };
    let ceil = c.bool(if max { 6 } else { 5 })?;
    let at = |list: &[i64], d: usize, other: i64| list.get(d).or(list.first()).copied().unwrap_or(other);
    let outer = t.rank().saturating_sub(2);
    let mut wanted: Vec<Dim> = t.sizes.iter().take(outer).copied().collect();
    for d in 0..2 {
        let k = at(&kernel, d, 1);
        let (s, p, wide) = (at(&stride, d, k), at(&padding, d, 0), at(&dilation, d, 1));
        if k < 1 || s < 1 || wide < 1 || p < 0 || p > k / 2 {
            return Err(c.bad(2, "a window of 1 or more with at most half of it as padding", k.to_string()));
        }
        let Some(n) = size(t, outer.saturating_add(d)).fixed() else { return Ok(()) };
        let reach = wide.saturating_mul(k.saturating_sub(1)).saturating_add(1);
        let room = n.saturating_add(p.saturating_mul(2)).saturating_sub(reach);
        let rounded = if ceil { room.saturating_add(s).saturating_sub(1) } else { room };
        let mut count = rounded.div_euclid(s).saturating_add(1);
        if ceil && count.saturating_sub(1).saturating_mul(s) >= n.saturating_add(p) {
            count = count.saturating_sub(1);
        }
        if count < 1 {
            return Err(c.bad(2, "a window within the padded input", k.to_string()));
        }
        wanted.push(Dim::Fixed(count));
    }
    if max {
        c.need_dtype(7, "int64", |d| d == Dtype::I64)?;
        c.need_sizes(7, &wanted)?;
    }
    c.need_sizes(0, &wanted)
}

fn adaptive_gradient(c: &Call<'_>) -> Needed {
    let (gradient, t) = (c.tensor(0)?, c.tensor(1)?);
    c.need_same_dtype(0, 1)?;
    c.need_rank(1, 3..=4)?;
    c.need_rank(0, t.rank()..=t.rank())?;
    if gradient.sizes.iter().skip(1).any(|d| *d == Dim::Fixed(0)) {
        return Err(c.bad(0, "elements in every dimension but the batch", sizes::show(c.symbols, &gradient.sizes)));
    }
    Ok(())
}
