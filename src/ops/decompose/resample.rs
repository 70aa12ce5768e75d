//! Resampling: forms with a size or scales by those with both.

use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Exact, |b| by_sizes(b, "upsample_nearest1d.default", 1), &["aten.upsample_nearest1d.vec"]),
    (Exact, |b| by_sizes(b, "upsample_nearest2d.default", 2), &["aten.upsample_nearest2d.vec"]),
    (Exact, |b| by_sizes(b, "_upsample_nearest_exact2d.default", 2), &["aten._upsample_nearest_exact2d.vec"]),
    (Exact, |b| by_sizes(b, "upsample_linear1d.default", 1), &["aten.upsample_linear1d.vec"]),
    (Exact, |b| by_sizes(b, "upsample_bilinear2d.default", 2), &["aten.upsample_bilinear2d.vec"]),
    (Exact, |b| by_sizes(b, "upsample_bicubic2d.default", 2), &["aten.upsample_bicubic2d.vec"]),
    (Exact, |b| by_sizes(b, "_upsample_nearest_exact1d.default", 1), &["aten._upsample_nearest_exact1d.vec"]),
    (Exact, |b| by_sizes(b, "upsample_nearest3d.default", 3), &["aten.upsample_nearest3d.vec"]),
    (Exact, |b| by_sizes(b, "upsample_trilinear3d.default", 3), &["aten.upsample_trilinear3d.vec"]),
    (Exact, |b| by_sizes(b, "_upsample_nearest_exact3d.default", 3), &["aten._upsample_nearest_exact3d.vec"]),
    (Exact, |b| nearest(b, 1, 0.0), &["aten.upsample_nearest1d.default"]),
    (Exact, |b| nearest(b, 2, 0.0), &["aten.upsample_nearest2d.default"]),
    (Exact, |b| nearest(b, 3, 0.0), &["aten.upsample_nearest3d.default"]),
    (Exact, |b| nearest(b, 1, 0.5), &["aten._upsample_nearest_exact1d.default"]),
    (Exact, |b| nearest(b, 2, 0.5), &["aten._upsample_nearest_exact2d.default"]),
    (Exact, |b| nearest(b, 3, 0.5), &["aten._upsample_nearest_exact3d.default"]),
    (Real, affine_grid, &["aten.affine_grid_generator.default"]),
    (Real, linear1d, &["aten.upsample_linear1d.default"]),
    (Real, |b| linear(b, 2), &["aten.upsample_bilinear2d.default"]),
    (Real, |b| linear(b, 3), &["aten.upsample_trilinear3d.default"]),
    (Real, cubic, &["aten.upsample_bicubic2d.default"]),
    (Exact, grid_sampler, &["aten.grid_sampler.default"]),
];

/// Sizes as given, or the input's times the scales, rounded down. Scales are passed on where they say something else than the sizes do.
fn by_sizes(b: &Builder<'_>, target: &str, spatial: usize) -> Made {
    let x = b.t(0)?;
    let scales: Option<Vec<Arg>> = b.arg("scale_factors").items().map(<[Arg]>::to_vec);
    let sizes: Vec<Arg> = match &scales {
        None => b.sizes("output_size"),
        Some(scales) => {
            let mut sizes = Vec::new();
            for (d, scale) in scales.iter().enumerate() {
                let Arg::Float(scale) = scale else { return Err(b.unsupported("a scale that is not known")) };
                let axis = signed(d.saturating_add(2));
                sizes.push(match (x.size(axis), whole(*scale)) {
                    (Arg::Int(size), _) => Arg::Int(scaled(b, size, *scale)?),
                    (size, Some(times)) => b.size_op("mul", size, times),
                    _ => return Err(b.unsupported("a symbolic size by a scale that is no whole number")),
                });
            }
            sizes
        }
    };
    b.only(sizes.len() == spatial, "this number of sizes")?;
    let to = sizes.clone();
    let mut given = vec![Arg::from(x), Arg::from(sizes)];
    if b.operator().schema.param_index("align_corners").is_some() {
        given.push(b.arg("align_corners"));
    }
    let said =
        scales.filter(|scales| !scales.iter().zip(&to).enumerate().all(|(d, (scale, to))| is_ratio(x, d, scale, to)));
    given.extend(said.unwrap_or_else(|| vec![Arg::None; spatial]));
    done![b.op(target, super::builder::Actual::new(given, Vec::new()))]
}

/// Whether one over a scale is the ratio of two sizes, in each of the dtypes in which kernels compute that.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // As kernels do.
fn is_ratio(x: T<'_>, d: usize, scale: &Arg, to: &Arg) -> bool {
    let (Arg::Float(scale), Arg::Int(from), Arg::Int(to)) = (scale, x.size(signed(d.saturating_add(2))), to) else {
        return false;
    };
    let step = 1.0 / scale;
    *scale > 0.0
        && step.to_bits() == (from as f64 / *to as f64).to_bits()
        && (step as f32).to_bits() == (from as f32 / *to as f32).to_bits()
}

/// How many times a scale says, if it is a small whole number.
#[allow(clippy::cast_possible_truncation)] // Small.
fn whole(scale: f64) -> Option<i64> {
    (scale.fract() == 0.0 && (1.0..4096.0).contains(&scale)).then_some(scale as i64)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // Sizes are far below 2^53.
fn scaled(b: &Builder<'_>, size: i64, scale: f64) -> Result<i64, CallFault> {
    let product = (size as f64 * scale).floor();
    b.only((0.0..9e15).contains(&product), "this scale")?;
    Ok(product as i64)
}

/// As an image of one row.
fn linear1d(b: &Builder<'_>) -> Made {
    let x = b.t(0)?.unsqueeze(2);
    let mut sizes = vec![Arg::Int(1)];
    sizes.extend(b.sizes(1));
    let given = args![x, sizes, b.arg(2), Arg::None, b.arg(3)];
    done![b.op("upsample_bilinear2d.default", given).squeeze(2)]
}

/// Where along a dimension behind batch and channels each place of the result is read, lying along the first of the dimensions that are left.
#[allow(clippy::cast_precision_loss)] // Sizes are far below 2^53.
fn read_at<'b>(b: &'b Builder<'_>, x: T<'b>, sizes: &[i64], d: usize) -> Result<T<'b>, CallFault> {
    let own = x.fixed(signed(d.saturating_add(2)))?;
    let size = sizes.get(d).copied().unwrap_or(0);
    b.only(own > 0 && size > 0, "nothing to choose from")?;
    let corners = b.flag("align_corners")?;
    let step = match b.opt_float(d.saturating_add(3))? {
        _ if corners && size > 1 => own.saturating_sub(1) as f64 / size.saturating_sub(1) as f64,
        _ if corners => 0.0,
        Some(scale) if scale > 0.0 => 1.0 / scale,
        _ => own as f64 / size as f64,
    };
    let device = x.ty().map_or(Arg::None, |t| Arg::Device(t.device.clone()));
    let line = b.op("arange.default", args![size; dtype = x.dtype(), device = device]);
    let line = if corners { line * step } else { (line + 0.5) * step - 0.5 };
    Ok(line.pad_rank(sizes.len().saturating_sub(d).saturating_sub(1)))
}

/// Elements at places along the dimensions behind batch and channels.
fn looked_up<'b>(x: T<'b>, places: &[T<'b>]) -> T<'b> {
    let indices: Vec<Arg> = [Arg::None, Arg::None].into_iter().chain(places.iter().map(|p| Arg::from(*p))).collect();
    x.call("index.Tensor", args![indices])
}

/// Between the samples on both sides along each dimension, by how far a place is from the first.
fn linear<'b>(b: &'b Builder<'_>, spatial: usize) -> Made {
    let x = b.t(0)?;
    b.only(matches!(x.dtype(), Dtype::F32 | Dtype::F64), "this dtype")?;
    let sizes = b.ints_of(1, spatial)?;
    let (mut places, mut shares) = (vec![Vec::new()], Vec::new());
    for d in 0..spatial {
        let line = read_at(b, x, &sizes, d)?.call("clamp_min", args![0.0]);
        let first = line.to(Dtype::I64);
        let last = x.fixed(signed(d.saturating_add(2)))?.saturating_sub(1);
        let mut sides = vec![first];
        // One sample has none beside it.
        if last > 0 || !b.is_none(d.saturating_add(3)) {
            sides.push((first + 1).call("clamp_max", args![last]));
            shares.push((line - first).clamp(0.0, 1.0));
        }
        let with = |at: &Vec<T<'b>>| sides.iter().map(|side| [at.as_slice(), &[*side]].concat()).collect::<Vec<_>>();
        places = places.iter().flat_map(with).collect();
    }
    let mut values: Vec<T<'_>> = places.iter().map(|at| looked_up(x, at)).collect();
    for share in shares.iter().rev() {
        let pairs = values.chunks_exact(2);
        values = pairs.filter_map(|p| p.first().zip(p.last())).map(|(p, q)| *p + (*q - *p) * *share).collect();
    }
    values.first().map(|v| vec![(*v).into()]).ok_or_else(|| b.unsupported("this number of dimensions"))
}

/// How much of each of the four samples around a place that lies so far behind the second.
fn cubic_weights<'b>(t: T<'b>) -> [T<'b>; 4] {
    const A: f64 = -0.75;
    let near = |t: T<'b>| (t * (A + 2.0) - (A + 3.0)) * t * t + 1.0;
    let far = |t: T<'b>| ((t * A - 5.0 * A) * t + 8.0 * A) * t - 4.0 * A;
    [far(t + 1.0), near(t), near(t.minus_from(1.0)), far(t.minus_from(2.0))]
}

/// Of the four samples around a place along both dimensions, the first one of the nearest outside.
fn cubic(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    b.only(matches!(x.dtype(), Dtype::F32 | Dtype::F64), "this dtype")?;
    let sizes = b.ints_of(1, 2)?;
    let (mut places, mut weights) = (Vec::new(), Vec::new());
    for d in 0..2 {
        let line = read_at(b, x, &sizes, d)?;
        let below = line.op("floor");
        let last = x.fixed(signed(d.saturating_add(2)))?.saturating_sub(1);
        let first = below.to(Dtype::I64);
        places.push([first - 1, first, first + 1, first + 2].map(|at| at.clamp(0, last)));
        weights.push(cubic_weights((line - below).clamp(0.0, 1.0)));
    }
    let ([rows, columns], [down, across]) = (places.as_slice(), weights.as_slice()) else {
        return Err(b.unsupported("this number of dimensions"));
    };
    let weighed = |values: Vec<T<'_>>, by: &[T<'_>; 4]| {
        values.into_iter().zip(by).map(|(v, w)| v * *w).reduce(|sum, v| sum + v).map(T::id)
    };
    let row = |at: &T<'_>| weighed(columns.iter().map(|column| looked_up(x, &[*at, *column])).collect(), across);
    let rows = rows.iter().map(row).collect::<Option<Vec<_>>>();
    let made = rows.and_then(|rows| weighed(rows.into_iter().map(|id| b.value(id)).collect(), down));
    made.map(|id| vec![id.into()]).ok_or_else(|| b.unsupported("nothing to choose from"))
}

fn grid_sampler(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let given = args![x, b.t(1)?, b.arg(2), b.arg(3), b.arg(4)];
    match x.rank() {
        4 => done![b.op("grid_sampler_2d", given)],
        5 => done![b.op("grid_sampler_3d", given)],
        _ => Err(b.unsupported("this rank")),
    }
}

/// Of each dimension the sample that stands nearest: a place times the ratio of the sizes, or one over the scale, rounded down.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // PyTorch computes places as f32.
fn nearest(b: &Builder<'_>, spatial: usize, offset: f64) -> Made {
    let mut x = b.t(0)?;
    let sizes = b.ints_of(1, spatial)?;
    let device = x.ty().map_or(Arg::None, |t| Arg::Device(t.device.clone()));
    for (d, size) in sizes.into_iter().enumerate() {
        let axis = signed(d.saturating_add(2));
        let own = x.fixed(axis)?;
        b.only(own > 0 && size > 0, "nothing to choose from")?;
        let ratio = match b.opt_float(d.saturating_add(2))? {
            Some(scale) if scale > 0.0 => (1.0 / scale) as f32,
            _ => own as f32 / size as f32,
        };
        let line = b.op("arange.default", args![size; dtype = Dtype::F32, device = device.clone()]);
        let line = if offset == 0.0 { line } else { line + offset };
        let line = (line * f64::from(ratio)).to(Dtype::I64).clamp(0, own.saturating_sub(1));
        x = x.call("index_select", args![axis, line]);
    }
    done![x]
}

/// A grid of places between -1 and 1, by the matrix of each image.
fn affine_grid(b: &Builder<'_>) -> Made {
    let (theta, corners) = (b.t(0)?, b.flag(2)?);
    let sizes = b.ints(1)?;
    let (Some(images), Some(spatial)) = (sizes.first().copied(), sizes.get(2..)) else {
        return Err(b.unsupported("these sizes"));
    };
    let (rank, dtype) = (signed(spatial.len()), theta.dtype());
    b.only(matches!(rank, 2 | 3), "this number of dimensions")?;
    let device = theta.ty().map_or(Arg::None, |t| Arg::Device(t.device.clone()));
    let whole: Vec<Arg> = spatial.iter().copied().map(Arg::Int).collect();
    let mut columns = Vec::new();
    for (d, size) in spatial.iter().copied().enumerate().rev() {
        let line = b.op("linspace", args![-1, 1, size; dtype = dtype, device = device.clone()]);
        #[allow(clippy::cast_precision_loss)] // A size.
        let line = match (corners, size) {
            (_, ..=1) => line * 0.0,
            (true, _) => line,
            (false, _) => line * ((size as f64 - 1.0) / size as f64),
        };
        let mut lying = vec![Arg::Int(1); spatial.len()];
        if let Some(slot) = lying.get_mut(d) {
            *slot = Arg::Int(size);
        }
        columns.push(Arg::from(line.reshape(lying).expand(whole.clone())));
    }
    columns.push(b.full(theta, whole.clone(), 1, dtype).into());
    let count = b.size_product(&whole);
    let wide = Arg::Int(rank.saturating_add(1));
    let places = b.op("stack", args![columns, rank]).reshape(vec![Arg::Int(1), count.clone(), wide.clone()]);
    let made = b.op("bmm", args![places.expand(vec![Arg::Int(images), count, wide]), theta.transpose(1, 2)]);
    let out = [vec![Arg::Int(images)], whole, vec![Arg::Int(rank)]].concat();
    done![made.view(out)]
}
