//! Poolings by those of two and three dimensions.

use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Exact, |b| done![max_pool(b, 1)?[0]], &["aten.max_pool1d.default"]),
    (Exact, |b| max_pool(b, 1).map(|[y, at]| vec![y.into(), at.into()]), &["aten.max_pool1d_with_indices.default"]),
    (Exact, |b| done![max_pool(b, 2)?[0]], &["aten.max_pool2d.default"]),
    (Exact, |b| done![max_pool(b, 3)?[0]], &["aten.max_pool3d.default"]),
    (Exact, avg_pool1d, &["aten.avg_pool1d.default"]),
    (Exact, |b| adaptive_avg(b, 1), &["aten.adaptive_avg_pool1d.default"]),
    (Exact, |b| adaptive_avg(b, 2), &["aten.adaptive_avg_pool2d.default"]),
    (Exact, |b| adaptive_avg(b, 3), &["aten.adaptive_avg_pool3d.default"]),
    (Exact, |b| max_unpool(b, 2), &["aten.max_unpool2d.default"]),
    (Exact, |b| max_unpool(b, 3), &["aten.max_unpool3d.default"]),
    (Real, adaptive_avg3d, &["aten._adaptive_avg_pool3d.default"]),
    (Exact, adaptive_max1d, &["aten.adaptive_max_pool1d.default"]),
    (Exact, adaptive_max3d, &["aten.adaptive_max_pool3d.default"]),
];

/// Values and places; one dimension is two of which the first has size 1.
fn max_pool<'b>(b: &'b Builder<'_>, spatial: usize) -> Result<[T<'b>; 2], CallFault> {
    let x = b.t(0)?;
    let kernel = b.ints_of(1, spatial)?;
    let stride = if b.ints(2)?.is_empty() { kernel.clone() } else { b.ints_of(2, spatial)? };
    let (padding, dilation, ceil) = (b.ints_of(3, spatial)?, b.ints_of(4, spatial)?, b.flag(5)?);
    let list = |first: i64, v: &[i64]| if spatial == 1 { ints(&[&[first], v].concat()) } else { ints(v) };
    let target = if spatial == 3 { "max_pool3d_with_indices" } else { "max_pool2d_with_indices" };
    let input = if spatial == 1 { x.unsqueeze(-2) } else { x };
    let given = args![input, list(1, &kernel), list(1, &stride), list(0, &padding), list(1, &dilation), ceil];
    let [y, at] = b.many(target, given)?;
    Ok(if spatial == 1 { [y.squeeze(-2), at.squeeze(-2)] } else { [y, at] })
}

fn avg_pool1d(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let kernel = b.ints_of(1, 1)?;
    let stride = if b.ints(2)?.is_empty() { kernel.clone() } else { b.ints_of(2, 1)? };
    let padding = b.ints_of(3, 1)?;
    let list = |first: i64, v: &[i64]| ints(&[&[first], v].concat());
    let given = args![x.unsqueeze(-2), list(1, &kernel), list(1, &stride), list(0, &padding), b.arg(4), b.arg(5)];
    done![b.op("avg_pool2d", given).squeeze(-2)]
}

/// To size 1 it is the mean.
fn adaptive_avg(b: &Builder<'_>, spatial: usize) -> Made {
    let x = b.t(0)?;
    let sizes = b.sizes(1);
    b.only(!sizes.iter().any(|s| matches!(s, Arg::Int(..0))), "a negative size")?;
    if spatial == 1 {
        let two = [vec![Arg::Int(1)], sizes].concat();
        return done![b.op("adaptive_avg_pool2d", args![x.unsqueeze(-2), two]).squeeze(-2)];
    }
    let to_one = sizes.iter().all(|s| *s == Arg::Int(1));
    if to_one && sizes.len() == spatial {
        let dims: Vec<i64> = (1..=signed(spatial)).rev().map(i64::wrapping_neg).collect();
        return done![x.mean(&dims, true)];
    }
    let target = if spatial == 2 { "_adaptive_avg_pool2d" } else { "_adaptive_avg_pool3d" };
    done![b.op(target, args![x, sizes])]
}

fn adaptive_max1d(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let two = [vec![Arg::Int(1)], b.sizes(1)].concat();
    let [y, at] = b.many("adaptive_max_pool2d", args![x.unsqueeze(-2), two])?;
    done![y.squeeze(-2), at.squeeze(-2)]
}

/// Windows of one length that meet are those of a pool that is moved by its length; its results lie row by row.
fn adaptive_max3d(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let wanted = b.ints_of(1, 3)?;
    let outer = x.rank().saturating_sub(3);
    let mut window = Vec::new();
    for (axis, count) in wanted.iter().enumerate() {
        let size = x.fixed(signed(outer.saturating_add(axis)))?;
        let length = size.checked_div(*count).unwrap_or(0);
        b.only(*count > 0 && length.saturating_mul(*count) == size, "windows of more than one length")?;
        window.push(length);
    }
    let given = args![x, ints(&window), ints(&window), ints(&[0, 0, 0]), ints(&[1, 1, 1]), false];
    let [y, at] = b.many("max_pool3d_with_indices", given)?;
    done![y.op("contiguous"), at.op("contiguous")]
}

/// Each to the place that the pool found it at, in zeros.
fn max_unpool(b: &Builder<'_>, spatial: usize) -> Made {
    let (x, at) = (b.t(0)?, b.t(1)?);
    let sizes = b.ints_of(2, spatial)?;
    let outer = x.rank().saturating_sub(spatial);
    b.only(matches!(outer, 1 | 2), "this number of dimensions")?;
    let shape = x.shape();
    let lead: Vec<Arg> = shape.iter().take(outer).cloned().collect();
    let plane = sizes.iter().fold(1_i64, |p, s| p.saturating_mul(*s));
    let count = b.size_product(&tail(&shape, outer));
    let flat = |t: T<'_>| t.reshape([lead.clone(), vec![count.clone()]].concat()).id();
    let zeros = b.full(x, [lead.clone(), vec![Arg::Int(plane)]].concat(), 0, x.dtype());
    let made = zeros.call("scatter.src", args![signed(outer), flat(at), flat(x)]);
    done![made.view([lead.clone(), sizes.into_iter().map(Arg::Int).collect()].concat())]
}

/// Over two dimensions, then over the third: windows of three dimensions are products of both, and means of equal parts the mean.
fn adaptive_avg3d(b: &Builder<'_>) -> Made {
    let (x, to) = (b.t(0)?, b.ints_of(1, 3)?);
    b.only(matches!(x.rank(), 4 | 5), "this number of dimensions")?;
    let [deep, high, wide] = <[i64; 3]>::try_from(to).map_err(|_| b.unsupported("these sizes"))?;
    let own = x.shape();
    let spatial = own.len().saturating_sub(3);
    let planes = b.size_product(own.get(..spatial).unwrap_or(&[]));
    let depth = x.size(signed(spatial));
    let images = b.size_op("mul", planes.clone(), depth.clone());
    let flat = x.reshape([vec![Arg::Int(1), images], tail(&own, spatial.saturating_add(1))].concat());
    let flat = b.op("_adaptive_avg_pool2d", args![flat, ints(&[high, wide])]);
    let area = high.saturating_mul(wide);
    let planes = flat.reshape(vec![Arg::Int(1), planes, depth, Arg::Int(area)]);
    let flat = b.op("_adaptive_avg_pool2d", args![planes, ints(&[deep, area])]);
    let out: Vec<Arg> = own.iter().take(spatial).cloned().chain([deep, high, wide].map(Arg::Int)).collect();
    done![flat.reshape(out)]
}
