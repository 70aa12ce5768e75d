//! Taking apart: by `split_with_sizes`, `slice`, `select`.

use super::prelude::*;
use super::view::real;

pub(super) const TABLE: &[Line] = &[
    (Exact, |b| one_list(b.list("split_with_sizes", args![b.t(0)?, b.sizes(1), b.arg(2)])), &["aten.split.sizes"]),
    (Exact, |b| even(b, b.int(1)?), &["aten.split.Tensor", "aten.unsafe_split.Tensor", "aten.split_copy.Tensor"]),
    (Exact, chunk, &["aten.chunk.default", "aten.unsafe_chunk.default"]),
    (
        Exact,
        |b| pieces(b, &b.ints(1)?),
        &[
            "aten.unsafe_split_with_sizes.default",
            "aten.split_with_sizes_copy.default",
            "aten.split_with_sizes.default",
        ],
    ),
    (Exact, unbind, &["aten.unbind.int", "aten.unbind_copy.int"]),
    (Exact, sections, &["aten.tensor_split.sections"]),
    (Exact, indices, &["aten.tensor_split.indices"]),
    (Exact, real, &["aten.real.default"]),
];

fn one_list(items: Vec<T<'_>>) -> Made {
    Ok(vec![Arg::List(items.into_iter().map(Arg::from).collect())])
}

/// Slices of these lengths; of the forms that are no views, copies.
fn pieces(b: &Builder<'_>, lengths: &[i64]) -> Made {
    let x = b.t(0)?;
    let axis = b.axis(2_usize, x.rank())?;
    let copies =
        b.operator().effects.returns.iter().all(|r| r.is_empty()) && b.operator().schema.name.ends_with("_copy");
    let mut start = 0_i64;
    let mut out = Vec::new();
    for length in lengths {
        let end = start.saturating_add(*length);
        let piece = x.slice(axis, start, end);
        out.push(if copies { piece.copy() } else { piece });
        start = end;
    }
    one_list(out)
}

/// Pieces of one length, the last one shorter.
fn even(b: &Builder<'_>, length: i64) -> Made {
    let x = b.t(0)?;
    let axis = b.axis(2_usize, x.rank())?;
    pieces(b, &even_lengths(b, x.fixed(axis)?, length)?)
}

fn even_lengths(b: &Builder<'_>, size: i64, length: i64) -> Result<Vec<i64>, CallFault> {
    b.only(length > 0 || size == 0, "pieces of length 0")?;
    let mut rest = size;
    let mut lengths = Vec::new();
    while rest > 0 && lengths.len() < 4096 {
        lengths.push(rest.min(length));
        rest = rest.saturating_sub(length);
    }
    b.only(rest <= 0, "more than 4096 pieces")?;
    Ok(if lengths.is_empty() { vec![0] } else { lengths })
}

fn chunk(b: &Builder<'_>) -> Made {
    let (x, count) = (b.t(0)?, b.int(1)?);
    let axis = b.axis(2_usize, x.rank())?;
    let size = x.fixed(axis)?;
    b.only(count > 0 && size > 0, "no pieces")?;
    let length = size.saturating_add(count).saturating_sub(1).div_euclid(count.max(1));
    pieces(b, &even_lengths(b, size, length)?)
}

fn unbind(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let axis = b.axis(1_usize, x.rank())?;
    let count = x.fixed(axis)?;
    b.only(count <= 4096, "more than 4096 pieces")?;
    let copies = b.operator().schema.name.ends_with("_copy");
    one_list((0..count).map(|i| if copies { x.select(axis, i).copy() } else { x.select(axis, i) }).collect())
}

/// As equal as can be, the first ones longer by one.
fn sections(b: &Builder<'_>) -> Made {
    let (x, count) = (b.t(0)?, b.int(1)?);
    let axis = b.axis(2_usize, x.rank())?;
    b.only((1..=4096).contains(&count), "this many pieces")?;
    let size = x.fixed(axis)?;
    let (least, longer) = (size.div_euclid(count.max(1)), size.rem_euclid(count.max(1)));
    let lengths: Vec<i64> = (0..count).map(|i| least.saturating_add(i64::from(i < longer))).collect();
    pieces(b, &lengths)
}

/// Cut before each index, counted and clamped as in a slice.
fn indices(b: &Builder<'_>) -> Made {
    let (x, cuts) = (b.t(0)?, b.ints(1)?);
    let axis = b.axis(2_usize, x.rank())?;
    let mut out = Vec::new();
    let mut start = 0;
    for cut in cuts {
        out.push(x.slice(axis, start, cut));
        start = cut;
    }
    out.push(x.slice(axis, start, i64::MAX));
    one_list(out)
}
