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
fn same_padding(b: &Builder<'_>, weight: T<'_>, dilation: &[i64]) -> Result<(Vec<i64>, Vec<i64>), Fault> {
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
    b.only(b.t(0)?.rank() == b.t(1)?.rank(), "an input without a batch")?;
    done![b.op("convolution", super::builder::Actual::new(given, Vec::new()))]
}
