//! Resampling by cubic and smooth filters, and by scales that are not the ratios of the sizes.

use super::args::Args;
use super::cx::{Cx, int, ints};
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, In, Refusal};
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::{TensorId, Value};
use crate::sym::Dim;

use Rule::By;

pub(super) const TABLE: &[Entry] = &[
    ("aten.upsample_bicubic2d.default", By(bicubic)),
    ("aten.upsample_trilinear3d.default", By(trilinear)),
    ("aten._upsample_bicubic2d_aa.default", By(|cx| smooth(cx, Filter { reach: 2.0, of: cubic }))),
    ("aten._upsample_bilinear2d_aa.default", By(|cx| smooth(cx, Filter { reach: 1.0, of: linear }))),
    ("aten._upsample_bicubic2d_aa.vec", By(|cx| smooth(cx, Filter { reach: 2.0, of: cubic }))),
    ("aten._upsample_bilinear2d_aa.vec", By(|cx| smooth(cx, Filter { reach: 1.0, of: linear }))),
];

const RESAMPLED: &str = "self output_size align_corners scales_h scales_w";

/// The sizes of images; -1 for their number where that is a symbol.
fn fixed(cx: &Cx, t: TensorId) -> Result<Vec<i64>, Refusal> {
    let sizes = cx.sizes(t)?;
    let each = sizes.iter().enumerate().map(|(axis, d)| d.fixed().or((axis == 0).then_some(-1)));
    each.collect::<Option<_>>().ok_or_else(|| Refusal("sizes that are not fixed are not supported".into()))
}

/// The sizes of images before and after, and the scales that are not their ratios, by which samples are then placed.
struct Resampled {
    from: [i64; 4],
    to: [i64; 2],
    scales: [Option<f64>; 2],
}

impl Resampled {
    /// A matrix for each dimension, of its size before and after and its scale.
    fn along(
        &self,
        matrix: impl Fn(i64, i64, Option<f64>) -> Result<Vec<f32>, Refusal>,
    ) -> Result<[Vec<f32>; 2], Refusal> {
        let ([.., high, wide], [to_high, to_wide], [down, across]) = (self.from, self.to, self.scales);
        Ok([matrix(high, to_high, down)?, matrix(wide, to_wide, across)?])
    }
}

#[allow(clippy::cast_precision_loss, clippy::float_cmp)] // Sizes of images; another scale than the ratio moves every sample.
fn resampled(cx: &Cx, args: &Args) -> Result<Resampled, Refusal> {
    let from: [i64; 4] = fixed(cx, args.tensor("self")?)?
        .try_into()
        .map_err(|_| Refusal("only images of four dimensions are supported".into()))?;
    let to: Option<Vec<i64>> = cx.out_sizes()?.iter().skip(2).map(|d| d.fixed()).collect();
    let to: [i64; 2] = to
        .and_then(|t| t.try_into().ok())
        .ok_or_else(|| Refusal("sizes that are not fixed are not supported".into()))?;
    let corners = args.flag("align_corners")?;
    let given = |place: usize, name: &str| {
        let scale = match args.get("scale_factors") {
            Value::List(both) => both.get(place).cloned().unwrap_or(Value::None),
            _ => args.get(name),
        };
        let scale = match scale {
            Value::Float(f) => f,
            Value::Int(i) => i as f64,
            _ => return None,
        };
        let (before, after) = (*from.get(place.saturating_add(2))? as f64, *to.get(place)? as f64);
        (!corners && scale > 0.0 && before * scale != after).then_some(scale)
    };
    Ok(Resampled { from, to, scales: [given(0, "scales_h"), given(1, "scales_w")] })
}

/// How far samples of the result lie apart among those before.
#[allow(clippy::cast_precision_loss)] // Sizes of images.
fn step(before: i64, after: i64, corners: bool, scale: Option<f64>) -> f64 {
    match (corners, after, scale) {
        (true, 1, _) => 0.0,
        (true, ..) => (before as f64 - 1.0) / (after as f64 - 1.0),
        (false, _, Some(scale)) => 1.0 / scale,
        (false, ..) => before as f64 / after as f64,
    }
}

fn bicubic(cx: &mut Cx) -> Made {
    let args = Args::of(cx, RESAMPLED)?;
    let images = resampled(cx, &args)?;
    if images.scales != [None, None] {
        return between(cx, &args, &images, Between { reach: 2, of: |x| convolved(x, -0.75) });
    }
    let places = if args.flag("align_corners")? { "align_corners" } else { "half_pixel" };
    let attrs = [
        ("coordinate_transformation_mode", Attr::Str(places.into())),
        ("cubic_coeff_a", Attr::Float(-0.75)),
        ("mode", Attr::Str("cubic".into())),
    ];
    let ([count, channels, ..], [high, wide]) = (images.from, images.to);
    let sizes = if count < 0 {
        let shape = cx.shape(args.tensor("self")?)?;
        let count = cx.element(shape, 0)?;
        let sizes = cx.pack(vec![count.into(), int(channels), int(high), int(wide)])?;
        cx.b.mark(sizes, "_force_unknown_shape");
        sizes.into()
    } else {
        ints(&[count, channels, high, wide])
    };
    cx.ge("Resize", vec![args.input("self")?, In::None, In::None, sizes], &attrs)
}

/// GE takes the sizes; a scale that is not their ratio would move every sample.
#[allow(clippy::cast_precision_loss, clippy::float_cmp)] // Sizes of images.
fn trilinear(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self output_size align_corners scales_d scales_h scales_w")?;
    let corners = args.flag("align_corners")?;
    let inner = |sizes: &[Dim]| sizes.iter().skip(2).map(|d| d.fixed()).collect::<Option<Vec<i64>>>();
    let (from, to) = (inner(&cx.sizes(args.tensor("self")?)?), inner(&cx.out_sizes()?));
    let (Some(from), Some(to)) = (from, to) else {
        return Err(Refusal("sizes that are not fixed are not supported".into()));
    };
    for (name, (from, to)) in ["scales_d", "scales_h", "scales_w"].into_iter().zip(from.iter().zip(&to)) {
        let is_ratio = match args.get(name) {
            Value::Float(scale) => *from as f64 * scale == *to as f64,
            _ => true,
        };
        if !corners && !is_ratio {
            return Err(Refusal(format!("{name} is not the ratio of the sizes, which is not supported")));
        }
    }
    let attrs = [("output_size", Attr::Ints(to)), ("align_corners", Attr::Bool(corners))];
    cx.ge("UpsampleTrilinear3d", vec![args.input("self")?], &attrs)
}

/// Lines between samples, placed by scales that are not the ratios of the sizes.
pub(super) fn bilinear_by_scales(cx: &mut Cx, args: &Args) -> Made {
    let images = resampled(cx, args)?;
    between(cx, args, &images, Between { reach: 1, of: linear })
}

/// Which sample each result is: the one below its place, in single precision as PyTorch has it.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)] // Sizes of images.
fn nearest(before: i64, after: i64, scale: Option<f64>) -> Vec<i64> {
    let step = scale.map_or_else(|| before as f32 / after as f32, |s| (1.0 / s) as f32);
    let last = before.saturating_sub(1);
    (0..after).map(|at| ((at as f32 * step).floor() as i64).min(last)).collect()
}

/// Refuses a scale that places samples otherwise than the ratio of the sizes, which is all that GE's gradient knows.
pub(super) fn refuse_other_places(args: &Args, name: &str, before: i64, after: Option<i64>) -> Result<(), Refusal> {
    let Value::Float(scale) = args.get(name) else { return Ok(()) };
    let is_ratio = match after {
        _ if scale <= 0.0 => true,
        Some(after) => nearest(before, after, Some(scale)) == nearest(before, after, None),
        None => scale >= 1.0 && scale.fract() == 0.0,
    };
    match is_ratio {
        true => Ok(()),
        false => Err(Refusal(format!("argument {name} is not the ratio of the sizes, which GE's gradient takes"))),
    }
}

/// The samples that scales choose, where these are others than the ratios of the sizes would: GE knows only the latter.
pub(super) fn nearest_by_scales(cx: &mut Cx, args: &Args) -> Result<Option<Value>, Refusal> {
    let x = args.tensor("self")?;
    let (from, to) = (cx.sizes(x)?, cx.out_sizes()?);
    let (mut chosen, mut differ) = (Vec::new(), false);
    for (name, axis) in [("scales_h", 2_usize), ("scales_w", 3)] {
        let scale = match args.get(name) {
            Value::Float(f) if f > 0.0 => Some(f),
            _ => None,
        };
        let known = |sizes: &[Dim]| sizes.get(axis).and_then(|d| d.fixed());
        let Some((before, after)) = known(&from).zip(known(&to)) else {
            if scale.is_some_and(|s| s < 1.0 || s.fract() != 0.0) {
                return Err(Refusal("a scale that is no whole number, of sizes that are not fixed".into()));
            }
            continue;
        };
        let places = nearest(before, after, scale);
        differ |= places != nearest(before, after, None);
        chosen.push((super::cx::signed(axis), places));
    }
    if !differ {
        return Ok(None);
    }
    let mut picked = x;
    for (axis, places) in chosen {
        picked = cx.op("GatherV2", vec![picked.into(), ints(&places), int(axis)], &[])?;
    }
    Ok(Some(picked.into()))
}

/// What samples weigh by distance, and how many on each side of a place count.
struct Between {
    reach: i64,
    of: fn(f64) -> f64,
}

/// What each sample weighs in each result: the border's stand for those beyond it.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)] // Sizes of images; places are of single precision, as PyTorch's are.
fn placed(by: &Between, before: i64, after: i64, step: f64) -> Result<Vec<f32>, Refusal> {
    let beyond = || Refusal("sizes are beyond 64 bits".into());
    let count = before.checked_mul(after).and_then(|n| usize::try_from(n).ok()).ok_or_else(beyond)?;
    let columns = usize::try_from(after).map_err(|_| beyond())?;
    let mut all = vec![0_f32; count];
    for at in 0..columns {
        let place = (step as f32) * (at as f32 + 0.5) - 0.5;
        let place = if by.reach == 1 { place.max(0.0) } else { place };
        let first = place.floor() as i64;
        for tap in 1_i64.saturating_sub(by.reach)..=by.reach {
            let from = first.saturating_add(tap);
            let row = usize::try_from(from.clamp(0, before.saturating_sub(1))).unwrap_or(0);
            let slot = row.checked_mul(columns).and_then(|r| r.checked_add(at)).and_then(|p| all.get_mut(p));
            if let Some(slot) = slot {
                *slot += (by.of)(from as f64 - f64::from(place)) as f32;
            }
        }
    }
    Ok(all)
}

fn between(cx: &mut Cx, args: &Args, images: &Resampled, by: Between) -> Made {
    if !matches!(cx.out_type()?, DataType::Float | DataType::Float16 | DataType::Bf16) {
        return Err(Refusal("scales that are not the ratios of the sizes are supported for floats only".into()));
    }
    let corners = args.flag("align_corners")?;
    let matrices =
        images.along(|before, after, scale| placed(&by, before, after, step(before, after, corners, scale)))?;
    products(cx, args, images, matrices)
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
    convolved(x, -0.5)
}

fn convolved(x: f64, a: f64) -> f64 {
    let x = x.abs();
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
fn weights(filter: &Filter, before: i64, after: i64, scale: f64) -> Result<Vec<f32>, Refusal> {
    let count = before.checked_mul(after).and_then(|n| usize::try_from(n).ok());
    let (Some(count), Ok(columns)) = (count, usize::try_from(after)) else {
        return Err(Refusal("sizes are beyond 64 bits".into()));
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
    let (images, corners) = (resampled(cx, &args)?, args.flag("align_corners")?);
    let matrices =
        images.along(|before, after, scale| weights(&filter, before, after, step(before, after, corners, scale)))?;
    products(cx, &args, &images, matrices)
}

/// Resamples by a matrix for each of two dimensions: what each sample weighs in each result.
fn products(cx: &mut Cx, args: &Args, images: &Resampled, [down, across]: [Vec<f32>; 2]) -> Made {
    let ([count, channels, high, wide], [to_high, to_wide]) = (images.from, images.to);
    let dtype = cx.out_type()?;
    // Whatever is left over.
    let of_planes = |each: i64| if count < 0 { -1 } else { count.saturating_mul(channels).saturating_mul(each) };
    let mut x = cx.cast(args.get("self"), DataType::Float)?;
    for (own, other, to, matrix) in [(wide, high, to_wide, across), (high, to_wide, to_high, down)] {
        let bytes = matrix.iter().flat_map(|w| w.to_le_bytes()).collect();
        let matrix = cx.b.raw_constant(DataType::Float, vec![own, to], bytes, None);
        let rows = ints(&[of_planes(other), own]);
        x = cx.op("Reshape", vec![x.into(), rows], &[])?;
        x = cx.op("MatMul", vec![x.into(), matrix.into()], &[])?;
        x = cx.op("Reshape", vec![x.into(), ints(&[of_planes(1), other, to])], &[])?;
        x = cx.op("Transpose", vec![x.into(), ints(&[0, 2, 1])], &[])?;
    }
    x = cx.op("Reshape", vec![x.into(), ints(&[count, channels, to_high, to_wide])], &[])?;
    Ok(cx.cast(x, dtype)?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_result_is_an_average_and_a_filter_that_grows_reaches_no_farther() {
        for (before, after) in [(6, 3), (3, 6), (5, 4), (7, 1)] {
            for filter in [Filter { reach: 1.0, of: linear }, Filter { reach: 2.0, of: cubic }] {
                let all = weights(&filter, before, after, step(before, after, false, None)).unwrap();
                for at in 0..usize::try_from(after).unwrap() {
                    let sum: f32 = all.iter().skip(at).step_by(usize::try_from(after).unwrap()).sum();
                    assert!((sum - 1.0).abs() < 1e-6, "{before} to {after}: {sum}");
                }
            }
        }
        assert_eq!(weights(&Filter { reach: 1.0, of: linear }, 2, 4, 0.5).unwrap()[..4], [1.0, 0.75, 0.25, 0.0]);
    }

    #[test]
    fn the_nearest_sample_is_below_its_place_by_the_scale_where_one_is_given() {
        assert_eq!(nearest(4, 6, Some(1.7)), [0, 0, 1, 1, 2, 2]);
        assert_eq!(nearest(4, 6, None), [0, 0, 1, 2, 2, 3]);
        assert_eq!(nearest(4, 8, Some(2.0)), nearest(4, 8, None));
        assert_eq!(nearest(2, 3, Some(0.5)), [0, 1, 1]);
    }

    #[test]
    fn samples_are_placed_by_the_scale_and_the_border_stands_for_what_is_beyond() {
        // Of 3 samples 7 are made with a scale of 2.5: the second lies at 0.4 * 1.5 - 0.5 = 0.1.
        let all = placed(&Between { reach: 1, of: linear }, 3, 7, step(3, 7, false, Some(2.5))).unwrap();
        assert_eq!([all[0], all[7], all[14]], [1.0, 0.0, 0.0]);
        assert!((all[1] - 0.9).abs() < 1e-6 && (all[8] - 0.1).abs() < 1e-6, "{all:?}");
        let cubic = placed(&Between { reach: 2, of: |x| convolved(x, -0.75) }, 3, 7, 0.4).unwrap();
        for at in 0..7 {
            let sum: f32 = cubic.iter().skip(at).step_by(7).sum();
            assert!((sum - 1.0).abs() < 1e-6, "{sum}");
        }
        // By the ratio of the sizes they would lie elsewhere.
        let ratio = placed(&Between { reach: 1, of: linear }, 3, 7, step(3, 7, false, None)).unwrap();
        assert!((all[1] - ratio[1]).abs() > 1e-2);
    }
}
