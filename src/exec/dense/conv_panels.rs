//! Convolutions by windows in panels, which are filled straight from the image.
//!
//! Strip by strip of output positions: a small padded copy of the lines that some channels' windows read is made, in which every tap is
//! the same line moved by some elements; from it the panels are copied, and all output channels multiplied with them. The weight stays as
//! it lies. Promises: the order of additions that [`Order`] says, whatever the strips and threads.

use std::ops::Range;

use ndarray::{ArrayView2, ArrayViewMut2, Axis};
use rayon::prelude::*;

use super::im2col::{Order, Part, copy_every, runs, tap_of};
use super::panels::{DEPTH, Line, Panels, REACH, Tiler, WIDE, multiply};
use super::simd::{Kernel, vectorised};
use super::{ConvShape, Scalar, Volume};

/// Positions of a strip, at most.
const STRIP: usize = 256;
/// Elements of panels that a thread multiplies at once: they stay in the second cache.
const LAID: usize = 1 << 17;
/// Elements of panels that threads multiply together: they wait for each other after each.
const SHARED: usize = 1 << 20;

/// Whether what is summed together is near enough in a row of the weight to be copied at once.
pub(super) fn fits_panels(shape: &ConvShape, order: Order) -> bool {
    match order {
        Order::ChannelOuter => true,
        Order::ChannelInner => false,
        Order::Blocks(channels) => channels.min(shape.group_in).saturating_mul(shape.taps()) <= REACH,
    }
}

/// One group of one image.
pub(super) struct Paneled<'a, T> {
    pub(super) shape: &'a ConvShape,
    pub(super) order: Order,
    pub(super) input: &'a Volume<'a, T>,
    pub(super) part: Part,
    pub(super) tiler: Tiler<T>,
    /// Output channels x (channel, tap).
    pub(super) weight: ArrayView2<'a, T>,
    pub(super) beta: T,
}

impl<T: Scalar> Paneled<'_, T> {
    /// Computes the output channels x positions.
    pub(super) fn run(&self, threads: usize, mut out: ArrayViewMut2<'_, T>) {
        let positions = self.shape.positions();
        // Threads take positions of their own, where there are enough.
        let apart = threads > 1 && positions >= threads.saturating_mul(STRIP / 2);
        let strips = positions.div_ceil(STRIP).max(1);
        let strips = if apart { strips.checked_next_multiple_of(threads).unwrap_or(strips) } else { strips };
        let columns = positions.div_ceil(strips).checked_next_multiple_of(WIDE / 2).unwrap_or(STRIP).max(1);
        let strips = out.axis_chunks_iter_mut(Axis(1), columns).enumerate();
        let strip = |threads: usize, laid: &mut Vec<Laid<T>>, (strip, out): (usize, ArrayViewMut2<'_, T>)| {
            self.strip(threads, laid, strip.saturating_mul(columns), out);
        };
        if apart {
            let strips = strips.collect::<Vec<_>>().into_par_iter();
            strips.for_each_init(Vec::new, |laid, some| strip(1, laid, some));
        } else {
            let mut laid = Vec::new();
            strips.for_each(|some| strip(threads, &mut laid, some));
        }
    }

    /// The output at the positions from `first` on, which are the columns of `out`.
    fn strip(&self, threads: usize, laid: &mut Vec<Laid<T>>, first: usize, mut out: ArrayViewMut2<'_, T>) {
        let positions = first..first.saturating_add(out.ncols());
        let chunks: Vec<_> = self.chunks().collect();
        let one = chunks.first().map_or(1, |(_, rows)| rows.len()).saturating_mul(positions.len());
        let together = if threads > 1 { SHARED } else { LAID };
        let mut beta = self.beta;
        for some in chunks.chunks(together.checked_div(one).unwrap_or(1).max(1)) {
            laid.resize_with(some.len(), Laid::new);
            let lay = |(laid, (terms, rows)): (&mut Laid<T>, &(Range<usize>, Range<usize>))| {
                self.lay(terms, rows, &positions, laid);
            };
            if threads > 1 {
                laid.par_iter_mut().zip(some).for_each(lay);
            } else {
                laid.iter_mut().zip(some).for_each(lay);
            }
            let panels = laid.iter().map(|laid| &laid.panels).collect::<Vec<_>>();
            multiply((threads, self.tiler), T::one(), self.weight, &panels, beta, out.view_mut());
            beta = T::one();
        }
    }

    /// What is summed from 0, in order: elements of the window, and the terms of the weight's rows among which theirs are.
    fn chunks(&self) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + use<T> {
        let depth = self.shape.depth();
        let block = match self.order {
            Order::Blocks(channels) => channels.saturating_mul(self.shape.taps()),
            Order::ChannelOuter | Order::ChannelInner => DEPTH,
        };
        let cut = |whole: Range<usize>, by: usize| {
            let end = whole.end;
            whole.step_by(by.max(1)).map(move |first| first..first.saturating_add(by).min(end))
        };
        cut(0..depth, block).flat_map(move |terms| cut(terms.clone(), DEPTH).map(move |rows| (terms.clone(), rows)))
    }

    /// Lays out some elements of the windows at `positions`.
    fn lay(&self, terms: &Range<usize>, rows: &Range<usize>, positions: &Range<usize>, laid: &mut Laid<T>) {
        let taps = self.shape.taps().max(1);
        let channels = terms.start.div_euclid(taps)..terms.end.div_ceil(taps);
        let patch = Patch::new(self.shape, positions);
        patch.fill(self.shape, self.input, self.part, &channels, &mut laid.patch);
        let moved: Vec<usize> = (0..taps).map(|tap| patch.moved(self.shape, tap)).collect();
        let (mut places, mut sources) = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
        for (channel, tap) in rows.clone().filter_map(|row| self.order.place(self.shape, row)) {
            let term = channel.saturating_mul(taps).saturating_add(tap).saturating_sub(terms.start);
            places.push(u16::try_from(term).unwrap_or(u16::MAX));
            let plane = channel.saturating_sub(channels.start).saturating_mul(patch.plane());
            sources.push(plane.saturating_add(moved.get(tap).copied().unwrap_or(0)));
        }
        let panels = laid.panels.of(terms.clone(), places, positions.len());
        for (first, lines) in positions.clone().step_by(WIDE).zip(panels) {
            let panel = first..positions.end.min(first.saturating_add(WIDE));
            let pieces = patch.pieces(self.shape, panel);
            vectorised::<Rows, _>((&*laid.patch, &sources, &pieces, lines));
        }
    }
}

/// Some windows, and what they were taken from.
struct Laid<T> {
    panels: Panels<T>,
    patch: Vec<T>,
}

impl<T: Scalar> Laid<T> {
    fn new() -> Self {
        Self { panels: Panels::new(), patch: Vec::new() }
    }
}

/// The rows of a panel: each from where its source lies in the patch, in pieces of (columns, distance from the source). The first is
/// copied as if it were whole, which takes no loop; the others overwrite what is too much.
struct Rows;

impl<T: Scalar> Kernel<(&[T], &[usize], &[(Range<usize>, usize)], &mut [Line<T>])> for Rows {
    type Output = ();

    #[inline(always)]
    fn run((patch, sources, pieces, lines): (&[T], &[usize], &[(Range<usize>, usize)], &mut [Line<T>])) {
        let Some(((_, first), others)) = pieces.split_first() else { return };
        for (Line(line), source) in lines.iter_mut().zip(sources) {
            let from = patch.get(source.saturating_add(*first)..).and_then(|p| p.first_chunk::<WIDE>());
            let Some(from) = from else { continue };
            *line = *from;
            for (to, from) in others {
                let from = patch.get(source.saturating_add(*from)..).unwrap_or(&[]);
                if let (Some(to), Some(from)) = (line.get_mut(to.clone()), from.get(..to.len())) {
                    to.copy_from_slice(from);
                }
            }
        }
    }
}

/// The lines of the padded image that windows at some positions read: `depths` planes of `heights` lines. In a line, pixels that are a
/// stride apart follow each other.
struct Patch {
    /// First plane and first line, in the padded image.
    first: [usize; 2],
    depths: usize,
    heights: usize,
    /// Elements of a line with the same remainder by the stride.
    phase: usize,
    pitch: usize,
}

impl Patch {
    fn new(shape: &ConvShape, positions: &Range<usize>) -> Self {
        let ([_, rows, width], [sd, sh, sw]) = (shape.output, shape.stride);
        let ([kd, kh, _], [dd, dh, _]) = (shape.kernel, shape.dilation);
        let line = |position: usize| position.checked_div(width).unwrap_or(0);
        let (first, last) = (line(positions.start), line(positions.end.saturating_sub(1)));
        let split = |line: usize| (line.checked_div(rows).unwrap_or(0), line.checked_rem(rows).unwrap_or(0));
        let ((d0, h0), (d1, h1)) = (split(first), split(last));
        let (h0, h1) = if d0 == d1 { (h0, h1) } else { (0, rows.saturating_sub(1)) };
        let span = |from: usize, to: usize, stride: usize, kernel: usize, dilation: usize| {
            let taps = kernel.saturating_sub(1).saturating_mul(dilation);
            to.saturating_sub(from).saturating_mul(stride).saturating_add(taps).saturating_add(1)
        };
        let [.., input] = shape.input;
        let [.., padding] = shape.padding;
        let phase = padding.saturating_mul(2).saturating_add(input).div_ceil(sw.max(1));
        Self {
            first: [d0.saturating_mul(sd), h0.saturating_mul(sh)],
            depths: span(d0, d1, sd, kd, dd),
            heights: span(h0, h1, sh, kh, dh),
            phase,
            pitch: phase.saturating_mul(sw),
        }
    }

    /// Elements of a channel.
    fn plane(&self) -> usize {
        self.depths.saturating_mul(self.heights).saturating_mul(self.pitch)
    }

    /// How far a tap's elements lie from those of the first tap.
    fn moved(&self, shape: &ConvShape, tap: usize) -> usize {
        let [td, th, tw] = tap_of(shape, tap);
        let ([dd, dh, dw], [.., stride]) = (shape.dilation, shape.stride);
        let line = td.saturating_mul(dd).saturating_mul(self.heights).saturating_add(th.saturating_mul(dh));
        let along = tw.saturating_mul(dw);
        let (steps, phase) = (along.checked_div(stride).unwrap_or(0), along.checked_rem(stride).unwrap_or(0));
        line.saturating_mul(self.pitch).saturating_add(phase.saturating_mul(self.phase)).saturating_add(steps)
    }

    /// Of a panel's positions: which columns lie in one line, and where the first tap reads there.
    fn pieces(&self, shape: &ConvShape, positions: Range<usize>) -> Vec<(Range<usize>, usize)> {
        let ([sd, sh, _], [depth, height]) = (shape.stride, self.first);
        let mut to = 0_usize;
        let piece = |run: super::im2col::Run| {
            let (d, h) = (run.depth.saturating_mul(sd), run.row.saturating_mul(sh));
            let line = d.saturating_sub(depth).saturating_mul(self.heights).saturating_add(h.saturating_sub(height));
            let start = to;
            to = to.saturating_add(run.columns.len());
            (start..to, line.saturating_mul(self.pitch).saturating_add(run.columns.start))
        };
        runs(shape, positions).into_iter().map(piece).collect()
    }

    /// The patch of some channels, with room behind to copy a line too much.
    fn fill<T: Scalar>(
        &self,
        shape: &ConvShape,
        input: &Volume<'_, T>,
        part: Part,
        channels: &Range<usize>,
        data: &mut Vec<T>,
    ) {
        let [pd, ph, pw] = shape.padding;
        let ([.., stride], [.., pixel]) = (shape.stride, input.strides);
        let [depth, height] = self.first;
        data.clear();
        data.resize(self.plane().saturating_mul(channels.len()).saturating_add(WIDE), T::zero());
        let lines = data.chunks_exact_mut(self.pitch.max(1));
        let places = channels
            .clone()
            .flat_map(|c| (0..self.depths).flat_map(move |d| (0..self.heights).map(move |h| (c, d, h))));
        for ((channel, d, h), line) in places.zip(lines) {
            let inside = |first: usize, at: usize, padding: usize, size: usize| {
                first.saturating_add(at).checked_sub(padding).filter(|at| *at < size)
            };
            let [depths, heights, width] = shape.input;
            let (Some(d), Some(h)) = (inside(depth, d, pd, depths), inside(height, h, ph, heights)) else { continue };
            let channel = part.group.saturating_mul(shape.group_in).saturating_add(channel);
            // Pixel w of the image is pixel w + pw of the padded one.
            for (phase, to) in line.chunks_mut(self.phase.max(1)).enumerate() {
                let skipped = pw.saturating_sub(phase).div_ceil(stride.max(1));
                let first = skipped.saturating_mul(stride).saturating_add(phase).saturating_sub(pw);
                let count = width.saturating_sub(first).div_ceil(stride.max(1));
                let from = input.from([part.image, channel, d, h, first]);
                let to = to.get_mut(skipped..skipped.saturating_add(count)).unwrap_or(&mut []);
                copy_every(stride.saturating_mul(pixel), from, to);
            }
        }
    }
}
