//! Gradients of sampling images between elements.

use super::prelude::*;

pub(super) const TABLE: &[Line] = &[(Real, images, &["aten.grid_sampler_2d_backward.default"])];

/// Places along one dimension, how fast they move with the grid, and how many elements there are.
struct Along<'b> {
    at: T<'b>,
    speed: T<'b>,
    size: i64,
}

/// From -1 to 1 over the image to places of elements; where the border holds a place, it does not move.
fn along<'b>(b: &'b Builder<'_>, grid: T<'b>, k: i64, size: i64) -> Result<Along<'b>, CallFault> {
    #[allow(clippy::cast_precision_loss)] // A size.
    let (span, corners) = (size as f64, b.flag("align_corners")?);
    let scale = if corners { (span - 1.0) / 2.0 } else { span / 2.0 };
    let moved = (grid.select(-1, k) + 1) * scale;
    let at = if corners { moved } else { moved - 0.5 };
    let speed = b.full(at, at.shape(), scale, at.dtype());
    match b.int("padding_mode")? {
        0 => Ok(Along { at, speed, size }),
        1 => {
            let last = size.saturating_sub(1);
            let held = at.call("le", args![0]).call("logical_or", args![at.call("ge", args![last])]);
            Ok(Along { at: at.clamp(0, last), speed: speed.fill_where(held, 0), size })
        }
        _ => Err(b.unsupported("reflections")),
    }
}

/// Each of the four neighbours of a place gives to the gradient of the image by its share, and to that of the place by what it holds.
fn images(b: &Builder<'_>) -> Made {
    let (g, x, grid) = (b.t(0)?, b.t(1)?, b.t(2)?);
    b.only(b.int("interpolation_mode")? == 0 && x.dtype().is_float(), "other than linear interpolation")?;
    b.only(x.rank() == 4 && b.arg("output_mask").items().is_some_and(|m| m.len() == 2), "other than images")?;
    let [n, channels, high, wide] = [x.fixed(0)?, x.fixed(1)?, x.fixed(2)?, x.fixed(3)?];
    b.only(high > 0 && wide > 0, "an empty image")?;
    let (across, down) = (along(b, grid, 0, wide)?, along(b, grid, 1, high)?);
    let count = grid.fixed(1)?.saturating_mul(grid.fixed(2)?);
    let lines = ints(&[n, channels, count]);
    let flat_g = g.reshape(vec![Arg::Int(n), Arg::Int(channels), Arg::Int(count)]);
    let image = x.reshape(vec![Arg::Int(n), Arg::Int(channels), Arg::Int(high.saturating_mul(wide))]);
    let mut of_image = image.op("zeros_like");
    let (mut of_x, mut of_y) = (across.at.op("zeros_like"), across.at.op("zeros_like"));
    let (left, top) = (across.at.op("floor"), down.at.op("floor"));
    for (right, lower) in [(false, false), (true, false), (false, true), (true, true)] {
        let (column, row) = (left + i64::from(right), top + i64::from(lower));
        let share = |a: &Along<'_>, low: T<'_>, far: bool| {
            let rest = a.at - low;
            if far { rest.id() } else { rest.minus_from(1).id() }
        };
        let (by_x, by_y) = (b.value(share(&across, left, right)), b.value(share(&down, top, lower)));
        let outside =
            |t: T<'_>, size: i64| t.call("lt", args![0]).call("logical_or", args![t.call("ge", args![size])]).id();
        let outside = b.value(outside(column, across.size)).call("logical_or", args![b.value(outside(row, down.size))]);
        let place = row.clamp(0, high.saturating_sub(1)) * wide + column.clamp(0, wide.saturating_sub(1));
        let spread = |t: T<'_>| {
            t.reshape(vec![Arg::Int(n), Arg::Int(1), Arg::Int(count)]).call("expand", args![lines.clone()]).id()
        };
        let place = b.value(spread(place.to(Dtype::I64)));
        let weighed = flat_g * b.value(spread((by_x * by_y).fill_where(outside, 0)));
        of_image = of_image.call("scatter_add", args![-1, place, weighed]);
        let held = (image.call("gather", args![-1, place]) * flat_g).sum(&[1], false);
        let held = held.reshape(across.at.shape()).fill_where(outside, 0);
        let signed = |far: bool, t: T<'_>| if far { t.id() } else { (-t).id() };
        of_x = of_x + b.value(signed(right, held * by_y));
        of_y = of_y + b.value(signed(lower, held * by_x));
    }
    let both: Arg = Arg::list([(of_x * across.speed).id(), (of_y * down.speed).id()]);
    done![of_image.reshape(x.shape()), b.op("stack", args![both, -1])]
}
