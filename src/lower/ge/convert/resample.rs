//! Resampling by cubic and smooth filters.

use super::args::Args;
use super::cx::{Cx, ints};
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, In, Refusal};
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::{TensorId, Value};

use Rule::By;

pub(super) const TABLE: &[Entry] = &[
    ("aten.upsample_bicubic2d.default", By(bicubic)),
    ("aten._upsample_bicubic2d_aa.default", By(|cx| smooth(cx, Filter { reach: 2.0, of: cubic }))),
    ("aten._upsample_bilinear2d_aa.default", By(|cx| smooth(cx, Filter { reach: 1.0, of: linear }))),
    ("aten._upsample_bicubic2d_aa.vec", By(|cx| smooth(cx, Filter { reach: 2.0, of: cubic }))),
    ("aten._upsample_bilinear2d_aa.vec", By(|cx| smooth(cx, Filter { reach: 1.0, of: linear }))),
];

const RESAMPLED: &str = "self output_size align_corners scales_h scales_w";

fn fixed(cx: &Cx, t: TensorId) -> Result<Vec<i64>, Refusal> {
    cx.fixed_sizes(t)?.ok_or_else(|| Refusal("sizes that are not fixed are not supported".into()))
}

/// The sizes before and after; a scale that is not their ratio is refused, since GE has none.
#[allow(clippy::cast_precision_loss)] // Sizes of images.
fn resampled(cx: &Cx, args: &Args) -> Result<([i64; 4], [i64; 2]), Refusal> {
    let from: [i64; 4] = fixed(cx, args.tensor("self")?)?
        .try_into()
        .map_err(|_| Refusal("only images of four dimensions are supported".into()))?;
    let to: Option<Vec<i64>> = cx.out_sizes()?.iter().skip(2).map(|d| d.fixed()).collect();
    let to: [i64; 2] = to
        .and_then(|t| t.try_into().ok())
        .ok_or_else(|| Refusal("sizes that are not fixed are not supported".into()))?;
    for (name, before, after) in [("scales_h", from[2], to[0]), ("scales_w", from[3], to[1])] {
        let given = match args.get("scale_factors") {
            Value::List(both) => both.get(usize::from(name == "scales_w")).cloned().unwrap_or(Value::None),
            _ => args.get(name),
        };
        let scale = match given {
            Value::Float(f) => f,
            Value::Int(i) => i as f64,
            _ => continue,
        };
        #[allow(clippy::float_cmp)] // Another one than the ratio moves every sample.
        if before as f64 * scale != after as f64 {
            return Err(Refusal(format!("argument {name} is not the ratio of the sizes")));
        }
    }
    Ok((from, to))
}

fn bicubic(cx: &mut Cx) -> Made {
    let args = Args::of(cx, RESAMPLED)?;
    let (from, to) = resampled(cx, &args)?;
    let places = if args.flag("align_corners")? { "align_corners" } else { "half_pixel" };
    let attrs = [
        ("coordinate_transformation_mode", Attr::Str(places.into())),
        ("cubic_coeff_a", Attr::Float(-0.75)),
        ("mode", Attr::Str("cubic".into())),
    ];
    let sizes = ints(&[from[0], from[1], to[0], to[1]]);
    cx.ge("Resize", vec![args.input("self")?, In::None, In::None, sizes], &attrs)
}

/// A filter by distance, and how far it reaches.
struct Filter {
    reach: f64,
    of: fn(f64) -> f64,
}

fn linear(x: f64) -> f64 {
    (1.0 - x.abs()).max(0.0)
}

fn cubic(x: f64) -> f64 {
    let (x, a) = (x.abs(), -0.5);
    if x < 1.0 {
        ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        (((x - 5.0) * x + 8.0) * x - 4.0) * a
    } else {
        0.0
    }
}

/// What each sample weighs in each result: a matrix, column by column a result. A filter that shrinks is spread over what it skips.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Sizes of images.
fn weights(filter: &Filter, before: i64, after: i64, corners: bool) -> Result<Vec<f32>, Refusal> {
    let count = before.checked_mul(after).and_then(|n| usize::try_from(n).ok());
    let (Some(count), Ok(columns)) = (count, usize::try_from(after)) else {
        return Err(Refusal("sizes are beyond 64 bits".into()));
    };
    let scale = match (corners, after) {
        (true, 1) => 0.0,
        (true, _) => (before as f64 - 1.0) / (after as f64 - 1.0),
        (false, _) => before as f64 / after as f64,
    };
    let spread = scale.max(1.0);
    let mut all = vec![0_f32; count];
    for at in 0..after {
        let center = scale * (at as f64 + 0.5);
        let first = ((center - filter.reach * spread + 0.5) as i64).max(0);
        let last = ((center + filter.reach * spread + 0.5) as i64).min(before);
        let own: Vec<f64> = (first..last).map(|i| (filter.of)((i as f64 - center + 0.5) / spread)).collect();
        let sum: f64 = own.iter().sum();
        for (i, weight) in (first..last).zip(own) {
            let place =
                usize::try_from(i).ok().and_then(|r| r.checked_mul(columns)?.checked_add(usize::try_from(at).ok()?));
            if let Some(slot) = place.and_then(|p| all.get_mut(p)) {
                *slot = (weight / sum) as f32;
            }
        }
    }
    Ok(all)
}

/// GE has no such filter: along each of two dimensions it is a product with a matrix that does not depend on the image.
fn smooth(cx: &mut Cx, filter: Filter) -> Made {
    let named = cx.args.len() == 4 && matches!(cx.get(3, "scale_factors"), Value::List(_));
    let args = Args::of(cx, if named { "self output_size align_corners scale_factors" } else { RESAMPLED })?;
    let ([images, channels, high, wide], [to_high, to_wide]) = resampled(cx, &args)?;
    let corners = args.flag("align_corners")?;
    let dtype = cx.out_type()?;
    let planes = images.saturating_mul(channels);
    let mut x = cx.cast(args.get("self"), DataType::Float)?;
    for (own, other, to) in [(wide, high, to_wide), (high, to_wide, to_high)] {
        let matrix = weights(&filter, own, to, corners)?;
        let bytes = matrix.iter().flat_map(|w| w.to_le_bytes()).collect();
        let matrix = cx.b.raw_constant(DataType::Float, vec![own, to], bytes, None);
        let rows = ints(&[planes.saturating_mul(other), own]);
        x = cx.op("Reshape", vec![x.into(), rows], &[])?;
        x = cx.op("MatMul", vec![x.into(), matrix.into()], &[])?;
        x = cx.op("Reshape", vec![x.into(), ints(&[planes, other, to])], &[])?;
        x = cx.op("Transpose", vec![x.into(), ints(&[0, 2, 1])], &[])?;
    }
    x = cx.op("Reshape", vec![x.into(), ints(&[images, channels, to_high, to_wide])], &[])?;
    Ok(cx.cast(x, dtype)?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_result_is_an_average_and_a_filter_that_grows_reaches_no_farther() {
        for (before, after) in [(6, 3), (3, 6), (5, 4), (7, 1)] {
            for filter in [Filter { reach: 1.0, of: linear }, Filter { reach: 2.0, of: cubic }] {
                let all = weights(&filter, before, after, false).unwrap();
                for at in 0..usize::try_from(after).unwrap() {
                    let sum: f32 = all.iter().skip(at).step_by(usize::try_from(after).unwrap()).sum();
                    assert!((sum - 1.0).abs() < 1e-6, "{before} to {after}: {sum}");
                }
            }
        }
        assert_eq!(weights(&Filter { reach: 1.0, of: linear }, 2, 4, false).unwrap()[..4], [1.0, 0.75, 0.25, 0.0]);
    }
}
