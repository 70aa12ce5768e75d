//! Fake quantisation: values rounded to a grid of integers and scaled back, with a mask of those that the grid holds.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::tensor::lane::{Lane, with_float_lane};
use crate::exec::tensor::shape;
use crate::exec::tensor::value::Value;
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (per_tensor, &["aten.fake_quantize_per_tensor_affine.default"]),
    (per_tensor_with_mask, &["aten.fake_quantize_per_tensor_affine_cachemask.default"]),
    (per_channel_with_mask, &["aten.fake_quantize_per_channel_affine_cachemask.default"]),
];

/// A grid: integers from `least` to `most`, of which `zero` stands for 0, `scale` apart.
#[derive(Clone, Copy)]
struct Grid {
    scale: f32,
    zero: f64,
    least: i64,
    most: i64,
}

/// A lane that is quantised.
trait Quantised: Lane {
    /// The nearest value of the grid, and whether it lies inside.
    fn on_grid(self, grid: &Grid) -> (Self, bool);
    /// The same by way of an integer: what none holds, NaN and infinity too, becomes the lowest one.
    fn on_integer_grid(self, grid: &Grid) -> (Self, bool);
}

macro_rules! quantised {
    ($($t:ty),*) => {$(
        impl Quantised for $t {
            #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_lossless)]
            fn on_grid(self, grid: &Grid) -> (Self, bool) {
                let level = (self * (1.0 / grid.scale) as $t).round_ties_even() + grid.zero as $t;
                let (least, most) = (grid.least as $t, grid.most as $t);
                // `max` first: NaN becomes the least.
                let kept = level.max(least).min(most).trunc();
                ((kept - grid.zero as $t) * grid.scale as $t, level >= least && level <= most)
            }

            #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_lossless)]
            fn on_integer_grid(self, grid: &Grid) -> (Self, bool) {
                let level = ((self * (1.0 / grid.scale) as $t).round_ties_even() + grid.zero as $t).to_i64();
                let kept = level.max(grid.least).min(grid.most);
                ((kept as $t - grid.zero as $t) * grid.scale as $t, (grid.least..=grid.most).contains(&level))
            }
        }
    )*};
}

quantised!(f32, f64);

#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
fn grid(cx: &Cx<'_, '_, '_>) -> Result<Grid, CallFault> {
    Ok(Grid { scale: cx.f64(1)? as f32, zero: cx.int(2)? as f64, least: cx.int(3)?, most: cx.int(4)? })
}

fn ordered(cx: &Cx<'_, '_, '_>, i: usize, grid: &Grid) -> Result<(), CallFault> {
    if grid.least <= grid.most {
        Ok(())
    } else {
        Err(cx.bad(i, format!("at most {}", grid.most), grid.least.to_string()))
    }
}

fn per_tensor(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, grid) = (cx.tensor(0)?, grid(cx)?);
    ordered(cx, 3, &grid)?;
    with_float_lane!(t.dtype(), "fake quantisation", L => cx.emit(t.lanes::<L>()?.iter().map(|v| v.on_grid(&grid).0).collect()))
}

fn per_tensor_with_mask(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, grid) = (cx.tensor(0)?, grid(cx)?);
    ordered(cx, 3, &grid)?;
    with_float_lane!(t.dtype(), "fake quantisation", L => {
        let pairs = t.lanes::<L>()?.iter().map(|v| v.on_grid(&grid)).collect();
        both::<L>(cx, pairs)
    })
}

fn both<L: Lane>(cx: &Cx<'_, '_, '_>, pairs: Vec<(L, bool)>) -> Made {
    let (values, inside): (Vec<L>, Vec<bool>) = pairs.into_iter().unzip();
    let inside: Vec<i64> = inside.into_iter().map(i64::from).collect();
    Ok(vec![cx.emit_at(0, values)?, cx.emit_at(1, inside)?].into())
}

#[allow(clippy::cast_possible_truncation)]
fn per_channel_with_mask(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, scales, zeros) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    let (axis, least, most) = (cx.axis(3, t.rank())?, cx.int(4)?, cx.int(5)?);
    let (scales, zeros) = (scales.lanes::<f32>()?, zeros.lanes::<f64>()?);
    let channels = t.meta.size(axis);
    if scales.len() != channels || zeros.len() != channels {
        return Err(cx.bad(
            1,
            format!("{channels} scales and zero points"),
            format!("{}, {}", scales.len(), zeros.len()),
        ));
    }
    let each = scales.iter().zip(zeros.iter());
    let grids: Vec<Grid> = each.map(|(scale, zero)| Grid { scale: *scale, zero: *zero, least, most }).collect();
    grids.first().map_or(Ok(()), |g| ordered(cx, 4, g))?;
    let inner = shape::numel(t.sizes().get(axis.saturating_add(1)..).unwrap_or(&[]));
    with_float_lane!(t.dtype(), "fake quantisation", L => {
        let values = t.lanes::<L>()?;
        let lines = values.chunks(inner.max(1)).zip(grids.iter().cycle());
        both::<L>(cx, lines.flat_map(|(line, grid)| line.iter().map(|v| v.on_integer_grid(grid))).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_grid_does_not_hold_is_its_end_and_masked() {
        let grid = Grid { scale: 0.5, zero: 3.0, least: 0, most: 255 };
        assert_eq!(1.3_f32.on_grid(&grid), (1.5, true));
        assert_eq!(f32::INFINITY.on_grid(&grid), (126.0, false));
        assert_eq!(f32::NAN.on_grid(&grid), (-1.5, false));
        assert_eq!((-9.0_f64).on_grid(&grid), (-1.5, false));
    }
}
