//! Resampling: forms with a size or scales by those with both.

use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Exact, |b| by_sizes(b, "upsample_nearest1d.default", 1), &["aten.upsample_nearest1d.vec"]),
    (Exact, |b| by_sizes(b, "upsample_nearest2d.default", 2), &["aten.upsample_nearest2d.vec"]),
    (Exact, |b| by_sizes(b, "_upsample_nearest_exact2d.default", 2), &["aten._upsample_nearest_exact2d.vec"]),
    (Exact, |b| by_sizes(b, "upsample_linear1d.default", 1), &["aten.upsample_linear1d.vec"]),
    (Exact, |b| by_sizes(b, "upsample_bilinear2d.default", 2), &["aten.upsample_bilinear2d.vec"]),
    (Exact, |b| by_sizes(b, "upsample_bicubic2d.default", 2), &["aten.upsample_bicubic2d.vec"]),
    (Real, linear1d, &["aten.upsample_linear1d.default"]),
    (Exact, grid_sampler, &["aten.grid_sampler.default"]),
];

/// Sizes as given, or the input's times the scales, rounded down. Scales are passed on.
fn by_sizes(b: &Builder<'_>, target: &str, spatial: usize) -> Made {
    let x = b.t(0)?;
    let scales: Option<Vec<Arg>> = b.arg("scale_factors").items().map(<[Arg]>::to_vec);
    let sizes: Vec<Arg> = match &scales {
        None => b.sizes("output_size"),
        Some(scales) => {
            let mut sizes = Vec::new();
            for (d, scale) in scales.iter().enumerate() {
                let Arg::Float(scale) = scale else { return Err(b.unsupported("a scale that is not known")) };
                sizes.push(Arg::Int(scaled(b, x.fixed(signed(d.saturating_add(2)))?, *scale)?));
            }
            sizes
        }
    };
    b.only(sizes.len() == spatial, "this number of sizes")?;
    let mut given = vec![Arg::from(x), Arg::from(sizes)];
    if b.operator().schema.param_index("align_corners").is_some() {
        given.push(b.arg("align_corners"));
    }
    given.extend(scales.unwrap_or_else(|| vec![Arg::None; spatial]));
    done![b.op(target, super::builder::Actual::new(given, Vec::new()))]
}

#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // Sizes are far below 2^53.
fn scaled(b: &Builder<'_>, size: i64, scale: f64) -> Result<i64, Fault> {
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

fn grid_sampler(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let given = args![x, b.t(1)?, b.arg(2), b.arg(3), b.arg(4)];
    match x.rank() {
        4 => done![b.op("grid_sampler_2d", given)],
        5 => done![b.op("grid_sampler_3d", given)],
        _ => Err(b.unsupported("this rank")),
    }
}
