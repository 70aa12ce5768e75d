//! Windows of an image as columns, and back.

use super::prelude::*;

pub(super) const TABLE: &[Line] =
    &[(Exact, im2col, &["aten.im2col.default"]), (Exact, col2im, &["aten.col2im.default"])];

/// Windows in more places than this are not written out.
const PLACES: i64 = 1024;

/// The windows of an image.
struct Windows {
    kernel: Vec<i64>,
    dilation: Vec<i64>,
    padding: Vec<i64>,
    stride: Vec<i64>,
    /// How many there are, along both dimensions.
    count: [i64; 2],
}

impl Windows {
    /// Of an image of these sizes; the arguments begin at `first`.
    fn of(b: &Builder<'_>, first: usize, image: [i64; 2]) -> Result<Self, CallFault> {
        let at = |i: usize| b.ints_of(first.saturating_add(i), 2);
        let (kernel, dilation, padding, stride) = (at(0)?, at(1)?, at(2)?, at(3)?);
        let mut count = [0; 2];
        for (d, count) in count.iter_mut().enumerate() {
            let get = |all: &[i64]| all.get(d).copied().unwrap_or(1);
            let reach = get(&kernel).saturating_sub(1).saturating_mul(get(&dilation));
            let room =
                get(&image).saturating_add(get(&padding).saturating_mul(2)).saturating_sub(reach).saturating_sub(1);
            b.only(room >= 0 && get(&stride) > 0, "windows that do not fit")?;
            *count = room.div_euclid(get(&stride).max(1)).saturating_add(1);
        }
        let places = kernel.iter().fold(1_i64, |n, k| n.saturating_mul(*k));
        b.only((1..=PLACES).contains(&places), "windows of so many elements")?;
        Ok(Self { kernel, dilation, padding, stride, count })
    }

    /// The places in a window, row by row.
    fn places(&self) -> impl Iterator<Item = [i64; 2]> + '_ {
        let size = |d: usize| self.kernel.get(d).copied().unwrap_or(1);
        (0..size(0)).flat_map(move |i| (0..size(1)).map(move |j| [i, j]))
    }

    /// Dimension, first, last and step of the elements that all windows have at a place, for both dimensions.
    fn bounds(&self, place: [i64; 2], rank: usize) -> [[i64; 4]; 2] {
        [0_usize, 1].map(|d| {
            let get = |all: &[i64]| all.get(d).copied().unwrap_or(1);
            let (start, step) = (get(&place).saturating_mul(get(&self.dilation)), get(&self.stride));
            let end = start.saturating_add(get(&self.count).saturating_sub(1).saturating_mul(step)).saturating_add(1);
            [signed(rank.saturating_sub(2).saturating_add(d)), start, end, step]
        })
    }
}

/// Each place of a window is a slice of the padded image; side by side they are the columns.
fn im2col(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let rank = x.rank();
    let windows = Windows::of(b, 1, [x.fixed(-2)?, x.fixed(-1)?])?;
    let sides = |d: usize| windows.padding.get(d).copied().unwrap_or(0);
    let padded = if windows.padding.iter().any(|p| *p != 0) {
        x.call("constant_pad_nd", args![ints(&[sides(1), sides(1), sides(0), sides(0)])])
    } else {
        x
    };
    let slices: Vec<T<'_>> = windows
        .places()
        .map(|place| {
            windows
                .bounds(place, rank)
                .into_iter()
                .fold(padded, |x, [d, start, end, step]| x.call("slice.Tensor", args![d, start, end, step]))
        })
        .collect();
    let channels = signed(rank.saturating_sub(3));
    let stacked =
        b.op("stack", args![Arg::List(slices.into_iter().map(Arg::from).collect()), channels.saturating_add(1)]);
    let mut sizes: Vec<Arg> = x.shape().into_iter().take(rank.saturating_sub(3)).collect();
    let all = |factors: &[i64]| factors.iter().fold(1_i64, |n, k| n.saturating_mul(*k));
    sizes.push(Arg::Int(x.fixed(channels)?.saturating_mul(all(&windows.kernel))));
    sizes.push(Arg::Int(all(&windows.count)));
    done![stacked.reshape(sizes)]
}

/// Each place of all windows is put into an image of zeros, and these are added up in order.
fn col2im(b: &Builder<'_>) -> Made {
    let x = b.t(0)?;
    let image = b.ints_of(1, 2)?;
    let image = [0, 1].map(|d: usize| image.get(d).copied().unwrap_or(1));
    let windows = Windows::of(b, 2, image)?;
    let (places, outer) = (windows.places().count(), x.rank().saturating_sub(2));
    let channels = x.fixed(signed(outer))?.div_euclid(signed(places).max(1));
    let batch: Vec<Arg> = x.shape().into_iter().take(outer).collect();
    let sized = |more: &[i64]| batch.iter().cloned().chain(more.iter().map(|n| Arg::Int(*n))).collect::<Vec<Arg>>();
    let parts = x.reshape(sized(&[channels, signed(places), windows.count[0], windows.count[1]]));
    let sides = |d: usize| windows.padding.get(d).copied().unwrap_or(0);
    let padded = [0, 1].map(|d: usize| image.get(d).copied().unwrap_or(1).saturating_add(sides(d).saturating_mul(2)));
    let empty = |rows: i64, columns: i64| b.full(x, sized(&[channels, rows, columns]), 0, x.dtype());
    let rank = outer.saturating_add(3);
    let mut sum = empty(padded[0], padded[1]);
    for (k, place) in windows.places().enumerate() {
        let part = parts.select(signed(outer.saturating_add(1)), signed(k));
        let [rows, columns] = windows.bounds(place, rank);
        let wide = empty(windows.count[0], padded[1])
            .call("slice_scatter", args![part, columns[0], columns[1], columns[2], columns[3]]);
        let whole = empty(padded[0], padded[1]).call("slice_scatter", args![wide, rows[0], rows[1], rows[2], rows[3]]);
        sum = sum + whole;
    }
    for (d, at) in [(0_usize, -2), (1, -1)] {
        if sides(d) != 0 {
            sum = sum.slice(at, sides(d), sides(d).saturating_add(image.get(d).copied().unwrap_or(1)));
        }
    }
    done![sum.call("clone", args![; memory_format = Arg::MemoryFormat(crate::graph::MemoryFormat::Contiguous)])]
}
