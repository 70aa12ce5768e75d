//! Products of `f32` matrices whose second operand lies in panels: for windows of images, and for products with few columns.
//!
//! The matrix kernel of `matrixmultiply` packs both operands. Windows of an image would be written twice, and what is multiplied by a
//! matrix of few columns would be written once for each few multiplications. Here the second operand alone is laid out: panels of [`WIDE`]
//! columns, row by row, which whoever has windows fills straight from the image. Of the first one, some rows at a time are copied as they lie.
//!
//! Promises: the sums of `matrixmultiply`, bit for bit: [`DEPTH`] terms are added from 0 on, each product fused, and that sum is added to
//! those before. What is run for which machine is found out by [`Scalar::tiler`].

use std::ops::Range;

use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis};
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::Scalar;
use super::simd::{Kernel, vectorised};

/// Terms that are summed from 0.
pub(super) const DEPTH: usize = 256;
/// Columns of a panel.
pub(super) const WIDE: usize = 32;
/// Terms of a row that are copied at once, at most.
pub(super) const REACH: usize = 512;
/// Most rows of a tile: with two vectors each, what the registers hold.
const TALL: usize = 12;
/// Elements from one copied row to the next: rows apart from each other in the first cache.
const PITCH: usize = REACH + 16;
/// Elements of the second operand that are laid out at once.
const BLOCK: usize = 1 << 18;

/// A row of a panel, or of a tile's sums: lines of cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Line<T>(pub(super) [T; WIDE]);

/// Copied rows of the first operand.
type Rows<T> = [[T; PITCH]; TALL];
/// The sums of a tile.
type Sums<T> = [Line<T>; TALL];

/// Some rows times one panel.
#[derive(Clone, Copy)]
pub struct Tile<'a, T> {
    rows: &'a Rows<T>,
    /// How many of the rows there are.
    count: usize,
    panel: &'a [Line<T>],
    /// Which term of the rows belongs to each row of the panel.
    places: &'a [u16],
    /// Columns of the panel that are asked for.
    columns: usize,
}

/// Computes the sums of a tile.
pub type Tiler<T> = fn(Tile<'_, T>, &mut [Line<T>; TALL]);

/// The kernel for this machine, if it fuses products with sums.
pub(super) fn tiler() -> Option<Tiler<f32>> {
    match Arch::new() {
        Arch::Scalar => None,
        _ => Some(|tile, sums| Arch::new().dispatch(Summed(tile, sums))),
    }
}

struct Summed<'a, 's>(Tile<'a, f32>, &'s mut Sums<f32>);

impl WithSimd for Summed<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Summed(tile, sums) = self;
        let wide = S::F32_LANES.saturating_mul(2);
        if wide == WIDE {
            match tile.columns <= S::F32_LANES {
                true => by_height::<S, 1>(simd, tile, sums),
                false => by_height::<S, 2>(simd, tile, sums),
            }
            return;
        }
        // Half the registers, and shorter ones.
        for at in (0..tile.columns).step_by(wide) {
            for first in (0..tile.count).step_by(4) {
                sum::<S, 4, 2>(simd, tile, sums, [first, at]);
            }
        }
    }
}

#[inline(always)]
fn by_height<S: Simd, const V: usize>(simd: S, tile: Tile<'_, f32>, sums: &mut Sums<f32>) {
    match tile.count {
        1 => sum::<S, 1, V>(simd, tile, sums, [0; 2]),
        2 => sum::<S, 2, V>(simd, tile, sums, [0; 2]),
        3 => sum::<S, 3, V>(simd, tile, sums, [0; 2]),
        4 => sum::<S, 4, V>(simd, tile, sums, [0; 2]),
        5 => sum::<S, 5, V>(simd, tile, sums, [0; 2]),
        6 => sum::<S, 6, V>(simd, tile, sums, [0; 2]),
        7 => sum::<S, 7, V>(simd, tile, sums, [0; 2]),
        8 => sum::<S, 8, V>(simd, tile, sums, [0; 2]),
        9 => sum::<S, 9, V>(simd, tile, sums, [0; 2]),
        10 => sum::<S, 10, V>(simd, tile, sums, [0; 2]),
        11 => sum::<S, 11, V>(simd, tile, sums, [0; 2]),
        _ => sum::<S, 12, V>(simd, tile, sums, [0; 2]),
    }
}

/// The sums of `R` rows from `first` on, in `V` vectors of columns from `at` on.
///
/// Sums stay in registers only where loops count to constants: what is indexed is as long as those, or checked.
#[inline(always)]
#[allow(clippy::indexing_slicing, clippy::needless_range_loop)]
fn sum<S: Simd, const R: usize, const V: usize>(
    simd: S,
    tile: Tile<'_, f32>,
    sums: &mut Sums<f32>,
    [first, at]: [usize; 2],
) {
    let Some(rows) = tile.rows.get(first..).and_then(|rows| rows.first_chunk::<R>()) else { return };
    let mut all = [[simd.splat_f32s(0.0); V]; R];
    for (line, place) in tile.panel.iter().zip(tile.places) {
        let place = usize::from(*place);
        let (vectors, _) = S::as_simd_f32s(line.0.get(at..).unwrap_or(&[]));
        let Some(vectors) = vectors.first_chunk::<V>() else { return };
        if place >= PITCH {
            return;
        }
        for r in 0..R {
            let factor = simd.splat_f32s(rows[r][place]);
            for v in 0..V {
                all[r][v] = simd.mul_add_f32s(factor, vectors[v], all[r][v]);
            }
        }
    }
    for (to, sums) in sums.iter_mut().skip(first).zip(all) {
        let (vectors, _) = S::as_mut_simd_f32s(to.0.get_mut(at..).unwrap_or(&mut []));
        vectors.iter_mut().zip(sums).for_each(|(to, sum)| *to = sum);
    }
}

/// Some rows of the second operand, in panels, and the terms of the first one that they belong to.
pub(super) struct Panels<T> {
    lines: Vec<Line<T>>,
    /// What is copied of each row of the first operand.
    terms: Range<usize>,
    /// Of each row here: its term, counted from the first that is copied.
    places: Vec<u16>,
}

impl<T: Scalar> Panels<T> {
    /// No panels yet.
    pub(super) fn new() -> Self {
        Self { lines: Vec::new(), terms: 0..0, places: Vec::new() }
    }

    /// Makes them panels of terms at these places from `terms.start` on, in the same memory, and returns them to be filled, one after the
    /// other; none if the terms are apart too far, or too many to be summed at once.
    pub(super) fn of(
        &mut self,
        terms: Range<usize>,
        places: Vec<u16>,
        columns: usize,
    ) -> impl Iterator<Item = &mut [Line<T>]> {
        let inside = terms.len() <= REACH && places.iter().all(|place| usize::from(*place) < terms.len());
        let rows = places.len().saturating_mul(columns.div_ceil(WIDE));
        let lines = if inside && places.len() <= DEPTH { rows } else { 0 };
        self.lines.resize(lines, Line([T::zero(); WIDE]));
        (self.terms, self.places) = (terms, places);
        self.lines.chunks_mut(self.places.len().max(1))
    }

    /// Panels of the rows of a matrix, of terms one after the other from `first` on.
    fn of_matrix(first: usize, b: ArrayView2<'_, T>) -> Self {
        let mut made = Self::new();
        let terms = first..first.saturating_add(b.nrows());
        let panels = made.of(terms, (0..).take(b.nrows()).collect(), b.ncols());
        panels.zip(b.axis_chunks_iter(Axis(1), WIDE)).for_each(|(lines, b)| lay_out(b, lines));
        made
    }
}

/// The rows of a matrix of at most [`WIDE`] columns.
fn lay_out<T: Scalar>(b: ArrayView2<'_, T>, lines: &mut [Line<T>]) {
    if b.strides().first() == Some(&1) && b.nrows() > 1 {
        for (j, column) in b.columns().into_iter().enumerate() {
            let slots = lines.iter_mut().filter_map(|line| line.0.get_mut(j));
            slots.zip(column).for_each(|(to, v)| *to = *v);
        }
        return;
    }
    for (Line(line), row) in lines.iter_mut().zip(b.rows()) {
        match row.to_slice().and_then(|row| row.first_chunk::<WIDE>()) {
            Some(whole) => *line = *whole,
            None => line.iter_mut().zip(row).for_each(|(to, v)| *to = *v),
        }
    }
}

/// `c = alpha * a * b + beta * c` by at most `threads` threads, where `b` is what all the panels hold, one below the other.
pub(super) fn multiply<T: Scalar>(
    (threads, tiler): (usize, Tiler<T>),
    alpha: T,
    a: ArrayView2<'_, T>,
    b: &[&Panels<T>],
    beta: T,
    mut c: ArrayViewMut2<'_, T>,
) {
    // Bands of about the same height, for a whole number of them to each thread where there are few.
    let bands = c.nrows().div_ceil(TALL).max(1);
    let even = bands.checked_next_multiple_of(threads.max(1)).unwrap_or(bands);
    let bands = if bands > threads.saturating_mul(4) { bands } else { even };
    let tall = c.nrows().div_ceil(bands).max(1);
    let band = |scratch: &mut Scratch<T>, (a, c): (ArrayView2<'_, T>, ArrayViewMut2<'_, T>)| {
        scratch.band(tiler, alpha, a, b, beta, c);
    };
    let mut all = a.axis_chunks_iter(Axis(0), tall).zip(c.axis_chunks_iter_mut(Axis(0), tall));
    if threads > 1 {
        all.collect::<Vec<_>>().into_par_iter().for_each_init(Scratch::new, band);
    } else {
        let mut scratch = Scratch::new();
        all.by_ref().for_each(|some| band(&mut scratch, some));
    }
}

/// What one thread keeps of a tile.
struct Scratch<T> {
    rows: Rows<T>,
    sums: Sums<T>,
}

impl<T: Scalar> Scratch<T> {
    fn new() -> Self {
        Self { rows: [[T::zero(); PITCH]; TALL], sums: [Line([T::zero(); WIDE]); TALL] }
    }

    /// As many rows as a tile has.
    fn band(
        &mut self,
        tiler: Tiler<T>,
        alpha: T,
        a: ArrayView2<'_, T>,
        b: &[&Panels<T>],
        mut beta: T,
        mut c: ArrayViewMut2<'_, T>,
    ) {
        let mut copy = copied(&c, beta);
        for b in b {
            copy_rows(a.slice_axis(Axis(1), b.terms.clone().into()), &mut self.rows);
            let mut rest = match &mut copy {
                Some(copy) => copy.view_mut(),
                None => c.view_mut(),
            };
            for lines in b.lines.chunks(b.places.len().max(1)) {
                let columns = rest.ncols().min(WIDE);
                let (to, later) = rest.split_at(Axis(1), columns);
                rest = later;
                let tile = Tile { rows: &self.rows, count: to.nrows(), panel: lines, places: &b.places, columns };
                tiler(tile, &mut self.sums);
                vectorised::<Add, _>((alpha, &self.sums, beta, to));
            }
            beta = T::one();
        }
        if let Some(copy) = copy {
            // Column by column, which is how the result lies.
            c.columns_mut().into_iter().zip(copy.columns()).for_each(|(mut to, from)| to.assign(&from));
        }
    }
}

/// A copy of a result whose rows do not lie in one piece; what is there matters unless `beta` is 0.
fn copied<T: Scalar>(c: &ArrayViewMut2<'_, T>, beta: T) -> Option<Array2<T>> {
    let apart = c.ncols() > 1 && c.strides().get(1) != Some(&1);
    let copy =
        || if beta == T::zero() { Array2::from_elem(c.dim(), beta) } else { c.as_standard_layout().into_owned() };
    apart.then(copy)
}

/// Copies rows of terms.
fn copy_rows<T: Scalar>(a: ArrayView2<'_, T>, rows: &mut Rows<T>) {
    if a.strides().first() == Some(&1) && a.ncols() > 1 {
        for (k, column) in a.columns().into_iter().enumerate() {
            let slots = rows.iter_mut().filter_map(|row| row.get_mut(k));
            slots.zip(column).for_each(|(to, v)| *to = *v);
        }
        return;
    }
    for (to, row) in rows.iter_mut().zip(a.rows()) {
        match (row.to_slice(), to.get_mut(..row.len())) {
            (Some(row), Some(to)) => to.copy_from_slice(row),
            _ => to.iter_mut().zip(row).for_each(|(to, v)| *to = *v),
        }
    }
}

/// `c = alpha * sums + beta * c`, without reading `c` if `beta` is 0.
struct Add;

impl<T: Scalar> Kernel<(T, &Sums<T>, T, ArrayViewMut2<'_, T>)> for Add {
    type Output = ();

    #[inline(always)]
    fn run((alpha, sums, beta, mut c): (T, &Sums<T>, T, ArrayViewMut2<'_, T>)) {
        for (mut row, sums) in c.rows_mut().into_iter().zip(sums) {
            let to = row.as_slice_mut().unwrap_or(&mut []);
            match to.first_chunk_mut::<WIDE>() {
                Some(whole) => *whole = added(alpha, &sums.0, beta, whole),
                None => {
                    let mut whole = [T::zero(); WIDE];
                    whole.iter_mut().zip(to.iter()).for_each(|(copy, v)| *copy = *v);
                    let sums = added(alpha, &sums.0, beta, &whole);
                    to.iter_mut().zip(sums).for_each(|(to, sum)| *to = sum);
                }
            }
        }
    }
}

#[inline(always)]
fn added<T: Scalar>(alpha: T, sums: &[T; WIDE], beta: T, to: &[T; WIDE]) -> [T; WIDE] {
    let mut out = *sums;
    if beta == T::zero() {
        out.iter_mut().for_each(|sum| *sum = alpha.times(*sum));
    } else {
        out.iter_mut().zip(to).for_each(|(sum, to)| *sum = alpha.fused(*sum, beta.times(*to)));
    }
    out
}

/// The product of views whose sizes fit: some columns of `b` after the other.
pub(super) fn product<T: Scalar>(
    tiler: Tiler<T>,
    alpha: T,
    a: ArrayView2<'_, T>,
    b: ArrayView2<'_, T>,
    beta: T,
    mut c: ArrayViewMut2<'_, T>,
) {
    let depth = b.nrows();
    let some = BLOCK.checked_div(depth).unwrap_or(1).checked_next_multiple_of(WIDE).unwrap_or(WIDE);
    for (b, c) in b.axis_chunks_iter(Axis(1), some).zip(c.axis_chunks_iter_mut(Axis(1), some)) {
        let rows = (0..depth).step_by(DEPTH).zip(b.axis_chunks_iter(Axis(0), DEPTH));
        let laid: Vec<_> = rows.map(|(first, b)| Panels::of_matrix(first, b)).collect();
        multiply((1, tiler), alpha, a, &laid.iter().collect::<Vec<_>>(), beta, c);
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, clippy::cast_precision_loss)]
mod tests {
    use ndarray::linalg::general_mat_mul;

    use super::*;

    /// Numbers whose products and sums are rounded; the transpose's transpose if it is to lie column by column.
    fn matrix(rows: usize, columns: usize, turned: bool) -> Array2<f32> {
        let number = |(i, j): (usize, usize)| ((i * 7919 + j * 104_729) % 1009) as f32 / 97.0 - 5.0;
        if turned {
            return Array2::from_shape_fn((columns, rows), |(j, i)| number((i, j))).reversed_axes();
        }
        Array2::from_shape_fn((rows, columns), number)
    }

    #[test]
    fn products_are_those_of_the_matrix_kernel_bit_for_bit() {
        let Some(tiler) = tiler() else { return };
        for (m, k, n) in [(1, 1, 2), (5, 700, 3), (12, 256, 32), (13, 257, 33), (37, 300, 45), (100, 8, 130)] {
            for turned in 0..8 {
                let [a, b] = [matrix(m, k, turned & 1 != 0), matrix(k, n, turned & 2 != 0)];
                for (alpha, beta) in [(1.0, 0.0), (0.5, 0.0), (1.0, 1.0)] {
                    let mut expected = matrix(m, n, turned & 4 != 0);
                    if beta == 0.0 {
                        expected.fill(f32::NAN);
                    }
                    let mut found = expected.clone();
                    product(tiler, alpha, a.view(), b.view(), beta, found.view_mut());
                    general_mat_mul(alpha, &a, &b, beta, &mut expected);
                    let same = found.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits());
                    assert!(same, "{m} x {k} x {n}, turned {turned:b}, alpha {alpha}, beta {beta}");
                }
            }
        }
    }

    /// Machines with shorter vectors take other paths through a tile.
    #[test]
    fn vectors_of_every_length_give_the_same_sums() {
        let line = |k: usize| Line(std::array::from_fn(|j| ((k * 31 + j * 7) % 23) as f32 / 3.0));
        let panel: Vec<_> = (0..40).map(line).collect();
        let places: Vec<u16> = (0..40).rev().collect();
        let rows = std::array::from_fn(|r| std::array::from_fn(|k| ((r * 13 + k) % 19) as f32 / 7.0));
        for (count, columns) in [(12, 32), (7, 16), (1, 5), (5, 20)] {
            let tile = Tile { rows: &rows, count, panel: &panel, places: &places, columns };
            let sums = |run: &dyn Fn(Summed<'_, '_>)| {
                let mut sums = [Line([0.0; WIDE]); TALL];
                run(Summed(tile, &mut sums));
                let kept = |line: &Line<f32>| line.0.iter().take(columns).map(|v| v.to_bits()).collect::<Vec<_>>();
                sums.iter().take(count).map(kept).collect::<Vec<_>>()
            };
            let expected = sums(&|tile| tile.with_simd(pulp::Scalar::new()));
            assert_eq!(expected, sums(&|tile| Arch::new().dispatch(tile)));
            #[cfg(target_arch = "x86_64")]
            if let Some(simd) = pulp::x86::V3::try_new() {
                assert_eq!(expected, sums(&|tile| pulp::Simd::vectorize(simd, tile)));
            }
        }
    }

    #[test]
    fn terms_that_lie_too_far_apart_have_no_panels() {
        let mut panels = Panels::<f32>::new();
        assert_eq!(panels.of(0..REACH + 1, vec![0], 1).count(), 0);
        assert_eq!(panels.of(0..4, vec![4], 1).count(), 0);
        assert_eq!(panels.of(0..4, vec![3, 1], WIDE + 1).count(), 2);
    }
}
