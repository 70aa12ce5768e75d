//! Convolutions by `convolution`.

use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Exact, |b| conv(b, 1), &["aten.conv1d.default", "aten.conv1d.padding"]),
    (Exact, |b| conv(b, 2), &["aten.conv2d.default", "aten.conv2d.padding"]),
    (Exact, |b| conv(b, 3), &["aten.conv3d.padding"]),
    (Exact, |b| conv(b, 3), &["aten.conv3d.default"]),
    (Exact, |b| transposed(b, 1), &["aten.conv_transpose1d.default"]),
    (Exact, |b| transposed(b, 2), &["aten.conv_transpose2d.input"]),
    (Exact, |b| transposed(b, 3), &["aten.conv_transpose3d.input"]),
    (Real, deformable, &["torchvision.deform_conv2d.default"]),
    (Exact, full_convolution, &["aten._convolution.default"]),
];

/// The input with a batch, and whether one was added.
fn with_batch<'b>(x: T<'b>, spatial: usize) -> (T<'b>, bool) {
    if x.rank() == spatial.saturating_add(1) { (x.unsqueeze(0), true) } else { (x, false) }
}

fn conv(b: &Builder<'_>, spatial: usize) -> Made {
    let (mut x, added) = with_batch(b.t(0)?, spatial);
    let weight = b.t(1)?;
    b.only(!x.dtype().is_complex(), "complex numbers")?;
    b.only(b.opt(2)?.is_none_or(|t| t.dtype() == x.dtype()), "a bias of another dtype")?;
    let (stride, dilation) = (b.ints_of(3, spatial)?, b.ints_of(5, spatial)?);
    let padding = match b.text(4).as_str() {
        "" => b.ints_of(4, spatial)?,
        "valid" => vec![0; spatial],
        "same" => {
            let (sides, before) = same_padding(b, weight, &dilation)?;
            if before.iter().any(|n| *n != 0) {
                x = x.call("constant_pad_nd", args![ints(&before), 0]);
            }
            sides
        }
        other => return Err(b.unsupported(format!("padding='{other}'"))),
    };
    let none = vec![0; spatial];
    let given =
        args![x, weight, b.arg(2), ints(&stride), ints(&padding), ints(&dilation), false, ints(&none), b.arg(6)];
    let y = b.op("convolution", given);
    done![if added { y.squeeze(0) } else { y }]
}

/// `same`: padding of both sides, and what is to be padded after in front where the sides differ (last dimension first).
fn same_padding(b: &Builder<'_>, weight: T<'_>, dilation: &[i64]) -> Result<(Vec<i64>, Vec<i64>), CallFault> {
    let (mut sides, mut more) = (Vec::new(), Vec::new());
    for (d, dilation) in dilation.iter().enumerate() {
        let kernel = weight.fixed(signed(d.saturating_add(2)))?;
        let total = kernel.saturating_sub(1).saturating_mul(*dilation);
        sides.push(total.div_euclid(2));
        more.push(total.rem_euclid(2));
    }
    let pairs = more.iter().rev().flat_map(|right| [0, *right]).collect();
    b.only(!sides.is_empty(), "no dimensions")?;
    Ok((sides, pairs))
}

fn transposed(b: &Builder<'_>, spatial: usize) -> Made {
    let (x, added) = with_batch(b.t(0)?, spatial);
    let list = |i: usize| b.ints_of(i, spatial).map(|v| ints(&v));
    b.only(!x.dtype().is_complex(), "complex numbers")?;
    let given = args![x, b.t(1)?, b.arg(2), list(3)?, list(4)?, list(7)?, true, list(5)?, b.arg(6)];
    let y = b.op("convolution", given);
    done![if added { y.squeeze(0) } else { y }]
}

/// The last parameters choose kernels only.
fn full_convolution(b: &Builder<'_>) -> Made {
    let given: Vec<Arg> = (0..9_usize).map(|i| b.arg(i)).collect();
    done![b.op("convolution", super::builder::Actual::new(given, Vec::new()))]
}

/// What each place of the kernel sees is sampled between elements, at its own place and the offset that the call gives it; then a product.
fn deformable(b: &Builder<'_>) -> Made {
    let (x, weight, offset) = (b.t(0)?, b.t(1)?, b.t(2)?);
    let [stride, padding, dilation] = [5_usize, 7, 9].map(|i| [b.int(i), b.int(i.saturating_add(1))]);
    let (groups, parts) = (b.int("groups")?, b.int("offset_groups")?);
    b.only(x.rank() == 4 && groups > 0 && parts > 0 && x.dtype().is_float(), "this form of a convolution")?;
    let [high, wide, rows, columns] = [weight.fixed(2)?, weight.fixed(3)?, offset.fixed(2)?, offset.fixed(3)?];
    let (n, kernel, area) = (x.size(0), high.saturating_mul(wide), rows.saturating_mul(columns));
    let channels = x.fixed(1)?;
    let per = channels.checked_div(parts).unwrap_or(0);
    let batch = b.size_product(&[n.clone(), Arg::Int(parts)]);
    let device = x.ty().map_or(Arg::None, |t| Arg::Device(t.device.clone()));
    let line = |count: i64, step: i64, first: i64| {
        let places = b.op("arange.default", args![count; dtype = x.dtype(), device = device.clone()]);
        places * step - first
    };
    let moved = offset.reshape(vec![batch.clone(), Arg::Int(kernel), Arg::Int(2), Arg::Int(rows), Arg::Int(columns)]);
    let own = |axis: usize, steps: i64, taps: i64| -> Result<(T<'_>, T<'_>), CallFault> {
        let at = |list: &[Result<i64, CallFault>; 2]| list.get(axis).cloned().unwrap_or(Ok(1));
        Ok((line(steps, at(&stride)?, at(&padding)?), line(taps, at(&dilation)?, 0)))
    };
    let ((down, taps_down), (across, taps_across)) = (own(0, rows, high)?, own(1, columns, wide)?);
    let spread = |t: T<'_>| t.reshape(vec![Arg::Int(kernel), Arg::Int(1), Arg::Int(1)]).id();
    let taps_down = spread(taps_down.unsqueeze(1).expand(vec![Arg::Int(high), Arg::Int(wide)]));
    let taps_across = spread(taps_across.unsqueeze(0).expand(vec![Arg::Int(high), Arg::Int(wide)]));
    let y = moved.select(2, 0) + b.value(taps_down) + down.unsqueeze(1);
    let x_at = moved.select(2, 1) + b.value(taps_across) + across;
    // The sampler's places run from -1 to 1 over the whole image.
    let scaled = |t: T<'_>, size: i64| ((t * 2 + 1) / size - 1).unsqueeze(-1).id();
    let grid = [scaled(x_at, x.fixed(3)?), scaled(y, x.fixed(2)?)].map(Arg::Node);
    let lines = Arg::Int(kernel.saturating_mul(rows));
    let grid = b.op("cat", args![grid.to_vec(), -1]).reshape(vec![
        batch.clone(),
        lines.clone(),
        Arg::Int(columns),
        Arg::Int(2),
    ]);
    let image = x.reshape(vec![batch.clone(), Arg::Int(per), x.size(2), x.size(3)]);
    let mut seen = image.call("grid_sampler_2d", args![grid, 0, 0, false]);
    if b.flag("use_mask")? {
        seen = seen * b.t(3)?.reshape(vec![batch, Arg::Int(1), lines, Arg::Int(columns)]);
    }
    let inner = channels.checked_div(groups).unwrap_or(0).saturating_mul(kernel);
    let seen = seen.reshape(vec![n.clone(), Arg::Int(groups), Arg::Int(inner), Arg::Int(area)]);
    let outer = weight.fixed(0)?.checked_div(groups).unwrap_or(0);
    let made = weight.reshape(vec![Arg::Int(groups), Arg::Int(outer), Arg::Int(inner)]).call("matmul", args![seen]);
    let made = made.reshape(vec![n, weight.size(0), Arg::Int(rows), Arg::Int(columns)]);
    done![made + b.t(4)?.reshape(vec![Arg::Int(-1), Arg::Int(1), Arg::Int(1)])]
}
