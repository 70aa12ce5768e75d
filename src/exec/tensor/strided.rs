//! Copies of elements between two places of the same sizes: rows, transposed blocks, threads.
//!
//! Promises: bits are kept; elements are copied in the order in which the destination lies; what lies outside either memory is skipped, so that
//! a place that was checked once (`Tensor::new`) is copied whole. The two memories are different ones.

use bytemuck::Pod;
use rayon::prelude::*;
use smallvec::SmallVec;

use crate::exec::tensor::shape::Shape;

/// Below this many elements threads cost more than they save.
const ALONE: usize = 1 << 15;
/// Side of a block that is transposed in registers and the nearest cache.
const TILE: usize = 16;

/// Where elements lie: offset of the first, and one stride a dimension, in elements.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// Of the first element.
    pub offset: usize,
    /// One a dimension.
    pub strides: &'a [usize],
}

/// One dimension of a copy.
#[derive(Clone, Copy)]
struct Dim {
    size: usize,
    from: usize,
    to: usize,
}

type Dims = SmallVec<[Dim; 6]>;

/// Copies elements of `width` bytes between two memories.
pub fn copy(width: usize, sizes: &[usize], from: (&[u8], Place<'_>), to: (&mut [u8], Place<'_>)) {
    if sizes.contains(&0) {
        return;
    }
    let dims = plan(sizes, from.1.strides, to.1.strides);
    let (start, end) = (from.1.offset, to.1.offset);
    // Arrays of bytes have no alignment: the bytes of a weight lie where its file has them.
    macro_rules! each {
        ($n:literal) => {{
            let source = from.0.as_chunks::<$n>().0.get(start..).unwrap_or(&[]);
            let target = to.0.as_chunks_mut::<$n>().0.get_mut(end..).unwrap_or(&mut []);
            whole(source, target, &dims);
        }};
    }
    match width {
        1 => each!(1),
        2 => each!(2),
        4 => each!(4),
        8 => each!(8),
        _ => each!(16),
    }
}

/// Returns the dimensions as the destination has them in memory, outermost first; those that lie behind one another in both places are one.
fn plan(sizes: &[usize], from: &[usize], to: &[usize]) -> Dims {
    let all = sizes.iter().zip(from).zip(to).map(|((size, from), to)| Dim { size: *size, from: *from, to: *to });
    let mut dims: Dims = all.filter(|d| d.size != 1).collect();
    dims.sort_by_key(|d| std::cmp::Reverse(d.to));
    let mut joined = Dims::new();
    for d in dims {
        let inside = |outer: usize, inner: usize| outer == inner.saturating_mul(d.size);
        match joined.last_mut() {
            Some(last) if inside(last.from, d.from) && inside(last.to, d.to) => {
                *last = Dim { size: last.size.saturating_mul(d.size), ..d };
            }
            _ => joined.push(d),
        }
    }
    joined
}

/// Shares the outermost dimension out to threads where its parts lie apart in the destination.
fn whole<T: Pod + Send + Sync>(from: &[T], to: &mut [T], dims: &[Dim]) {
    let total = dims.iter().fold(1_usize, |n, d| n.saturating_mul(d.size));
    let Some((outer, inner)) = dims.split_first() else { return part(from, to, dims) };
    let reach = inner.iter().fold(1_usize, |n, d| n.saturating_add(d.size.saturating_sub(1).saturating_mul(d.to)));
    if total < ALONE || outer.to < reach {
        return part(from, to, dims);
    }
    let rows = (ALONE / 2).checked_div(total.checked_div(outer.size).unwrap_or(1)).unwrap_or(1);
    // A multiple of a block's side: the blocks of a transposed matrix stay whole.
    let rows = rows.max(1).next_multiple_of(if inner.is_empty() { 1 } else { TILE.min(outer.size) });
    let used = outer.size.saturating_sub(1).saturating_mul(outer.to).saturating_add(reach);
    let used = to.len().min(used);
    let Some(to) = to.get_mut(..used) else { return };
    to.par_chunks_mut(rows.saturating_mul(outer.to)).enumerate().for_each(|(k, piece)| {
        let first = k.saturating_mul(rows);
        let mut own: Dims = dims.into();
        if let Some(d) = own.first_mut() {
            d.size = rows.min(outer.size.saturating_sub(first));
        }
        part(from.get(first.saturating_mul(outer.from)..).unwrap_or(&[]), piece, &own);
    });
}

fn part<T: Pod>(from: &[T], to: &mut [T], dims: &[Dim]) {
    let Some((last, rest)) = dims.split_last() else {
        if let (Some(to), Some(from)) = (to.first_mut(), from.first()) {
            *to = *from;
        }
        return;
    };
    // A row that is gathered across rows of the source: blocks of both are read and written in lines.
    let across = rest.iter().rposition(|d| d.from == 1 && d.size >= 4);
    match across.and_then(|k| Some((k, rest.get(k)?))) {
        Some((k, row)) if last.to == 1 && last.from > 1 && last.size >= 4 => {
            let mut outer: Dims = rest.into();
            outer.remove(k);
            walk(&outer, |a, b| transposed(skip(from, a), skip_mut(to, b), *row, *last));
        }
        _ => walk(rest, |a, b| line(skip(from, a), skip_mut(to, b), *last)),
    }
}

fn skip<T>(all: &[T], n: usize) -> &[T] {
    all.get(n..).unwrap_or(&[])
}

fn skip_mut<T>(all: &mut [T], n: usize) -> &mut [T] {
    all.get_mut(n..).unwrap_or(&mut [])
}

/// Visits every position of these dimensions with its two offsets.
fn walk(dims: &[Dim], mut f: impl FnMut(usize, usize)) {
    let mut index: Shape = SmallVec::from_elem(0, dims.len());
    let (mut a, mut b) = (0_usize, 0_usize);
    loop {
        f(a, b);
        let mut carried = true;
        for (slot, d) in index.iter_mut().zip(dims).rev() {
            *slot = slot.wrapping_add(1);
            (a, b) = (a.wrapping_add(d.from), b.wrapping_add(d.to));
            if *slot < d.size {
                carried = false;
                break;
            }
            a = a.wrapping_sub(d.size.wrapping_mul(d.from));
            b = b.wrapping_sub(d.size.wrapping_mul(d.to));
            *slot = 0;
        }
        if carried {
            return;
        }
    }
}

fn line<T: Pod>(from: &[T], to: &mut [T], d: Dim) {
    match (d.from, d.to) {
        (1, 1) => {
            if let (Some(from), Some(to)) = (from.get(..d.size), to.get_mut(..d.size)) {
                to.copy_from_slice(from);
            }
        }
        (0, 1) => {
            if let (Some(value), Some(to)) = (from.first(), to.get_mut(..d.size)) {
                to.fill(*value);
            }
        }
        (0, step) => {
            if let Some(value) = from.first() {
                to.iter_mut().step_by(step.max(1)).take(d.size).for_each(|o| *o = *value);
            }
        }
        // Nothing but the last element stays where all lie in one place.
        (step, 0) => {
            if let (Some(to), Some(value)) = (to.first_mut(), from.get(step.saturating_mul(d.size.saturating_sub(1)))) {
                *to = *value;
            }
        }
        (step, 1) => to.iter_mut().zip(from.iter().step_by(step)).take(d.size).for_each(|(o, v)| *o = *v),
        (a, b) => {
            let pairs = to.iter_mut().step_by(b).zip(from.iter().step_by(a));
            pairs.take(d.size).for_each(|(o, v)| *o = *v);
        }
    }
}

/// Copies a block whose columns lie in lines in the source, and whose rows lie in lines in the destination.
///
/// `row.from` and `column.to` are 1.
fn transposed<T: Pod>(from: &[T], to: &mut [T], row: Dim, column: Dim) {
    let mut tile = [[T::zeroed(); TILE]; TILE];
    for c in (0..column.size).step_by(TILE) {
        let width = TILE.min(column.size.saturating_sub(c));
        for r in (0..row.size).step_by(TILE) {
            let height = TILE.min(row.size.saturating_sub(r));
            for (k, line) in tile.iter_mut().enumerate().take(width) {
                let at = c.wrapping_add(k).wrapping_mul(column.from).wrapping_add(r);
                let source = from.get(at..at.wrapping_add(height));
                if let (Some(line), Some(source)) = (line.get_mut(..height), source) {
                    line.copy_from_slice(source);
                }
            }
            let mut turned = [[T::zeroed(); TILE]; TILE];
            for (i, out) in turned.iter_mut().enumerate() {
                for (o, line) in out.iter_mut().zip(&tile) {
                    *o = line.get(i).copied().unwrap_or(T::zeroed());
                }
            }
            for (k, line) in turned.iter().enumerate().take(height) {
                let at = r.wrapping_add(k).wrapping_mul(row.to).wrapping_add(c);
                let target = to.get_mut(at..at.wrapping_add(width));
                if let (Some(target), Some(line)) = (target, line.get(..width)) {
                    target.copy_from_slice(line);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::tensor::shape;
    use crate::exec::tensor::shape::Runs;
    use proptest::prelude::*;

    fn offsets(sizes: &[usize], strides: &[usize]) -> Vec<usize> {
        let total = shape::numel(sizes);
        Runs::new(sizes, strides, 0, total).flat_map(|r| (0..r.len).map(move |k| r.offset + k * r.step)).collect()
    }

    /// Both memories are some permutation of a larger dense one.
    fn strides(sizes: &[usize], order: &[usize], gap: usize) -> Vec<usize> {
        let (mut out, mut step) = (vec![0; sizes.len()], gap);
        for d in order {
            out[*d] = step;
            step *= sizes[*d] + gap - 1;
        }
        out
    }

    proptest! {
        #[test]
        fn a_copy_is_what_going_element_by_element_gives(
            (sizes, a, b) in prop::collection::vec(1_usize..22, 0..4).prop_flat_map(|sizes| {
                let order: Vec<usize> = (0..sizes.len()).collect();
                (Just(sizes), Just(order.clone()).prop_shuffle(), Just(order).prop_shuffle())
            }),
            (first, second) in (1_usize..3, 1_usize..3),
        ) {
            let (s, t) = (strides(&sizes, &a, first), strides(&sizes, &b, second));
            let (reads, writes) = (offsets(&sizes, &s), offsets(&sizes, &t));
            let source: Vec<u16> = (0..=*reads.iter().max().unwrap() + 3).map(|v| v as u16 + 7).collect();
            let mut wanted = vec![0_u16; writes.iter().max().unwrap() + 4];
            let mut found = wanted.clone();
            reads.iter().zip(&writes).for_each(|(r, w)| wanted[w + 3] = source[r + 3]);
            let (from, to) = (Place { offset: 3, strides: &s }, Place { offset: 3, strides: &t });
            copy(2, &sizes, (bytemuck::cast_slice(&source), from), (bytemuck::cast_slice_mut(&mut found), to));
            prop_assert_eq!(wanted, found);
        }
    }

    #[test]
    fn threads_change_no_copy() {
        let (rows, columns) = (517, 301);
        let source: Vec<u32> = (0..rows * columns).map(|v| v as u32).collect();
        let mut found = vec![0_u32; source.len()];
        let (from, to) = (Place { offset: 0, strides: &[1, 517] }, Place { offset: 0, strides: &[301, 1] });
        let target = bytemuck::cast_slice_mut(&mut found);
        copy(4, &[rows, columns], (bytemuck::cast_slice(&source), from), (target, to));
        assert!(found.iter().enumerate().all(|(k, v)| *v as usize == (k % columns) * rows + k / columns));
    }
}
