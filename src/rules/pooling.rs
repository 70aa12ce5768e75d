//! What is taken over windows: means and the greatest.
//!
//! ## What it says
//! A mean over a window counts what lies beside the input as 0; beside the greatest stands -inf, wherever the window lies. Windows that adapt to a size that does not
//! divide begin at a quotient rounded down, and end at one rounded up. The greatest of windows of the greatest is that of one window as long as both, where the first ones lie
//! at each place: what a window meets beside the input is beside it for the longer one, too.
//!
//! ## When it is wrong
//! What a mean is divided by is no one number where windows end beyond the input, or what lies beside does not count: as many as are counted there. Windows whose elements lie apart may hold none: their greatest is -inf, whatever bounds them before. Bit by bit: the order in which a kernel sums is its own.

use smallvec::SmallVec;

use crate::graph::{Arg, Dtype};
use crate::rules::element::arena::{ExprId, Fold, Form, Op};
use crate::rules::element::index::{IndexId, Place};
use crate::rules::meaning::{Array, Said, Speaker};
use crate::rules::table::{Real, real};
use crate::sym::Dim;

/// How many places a dimension may have that is cut into windows of different sizes.
const WIDEST: i64 = 1 << 12;

/// Windows along the last dimensions, side by side or one into another.
#[derive(Clone, Debug)]
pub struct Windows {
    kernel: Vec<i64>,
    strides: Vec<i64>,
    pads: Vec<i64>,
    /// How far elements of a window lie apart.
    steps: Vec<i64>,
    /// Whether the last window may end beyond what lies beside the input.
    overhangs: bool,
}

impl Windows {
    /// Whether every window holds an element: where its elements lie apart, all of them may lie beside the input.
    fn hold_elements(&self) -> bool {
        self.steps.iter().zip(&self.pads).all(|(step, pad)| *step == 1 || *pad == 0)
    }

    /// Returns the windows of what is in the windows of these, if those are windows again: these lie at each place, and all elements of both side by side.
    fn then(&self, next: &Windows) -> Option<Windows> {
        let is_whole = |w: &Windows| {
            let half = |(kernel, pad): (&i64, &i64)| pad.checked_mul(2).is_some_and(|both| both <= *kernel);
            !w.overhangs && w.steps.iter().all(|n| *n == 1) && w.kernel.iter().zip(&w.pads).all(half)
        };
        let at_each = self.strides.iter().all(|n| *n == 1);
        if !at_each || !is_whole(self) || !is_whole(next) || self.kernel.len() != next.kernel.len() {
            return None;
        }
        let sums = |a: &[i64], b: &[i64], less: i64| -> Option<Vec<i64>> {
            a.iter().zip(b).map(|(a, b)| a.checked_add(*b)?.checked_sub(less)).collect()
        };
        Some(Windows {
            kernel: sums(&self.kernel, &next.kernel, 1)?,
            strides: next.strides.clone(),
            pads: sums(&self.pads, &next.pads, 0)?,
            steps: next.steps.clone(),
            overhangs: false,
        })
    }
}

/// What stands in a window.
struct Within {
    /// The element, something else where it lies beside.
    element: ExprId,
    /// The dimensions of the window.
    sizes: Vec<Dim>,
}

impl Speaker<'_> {
    /// Returns the sizes of windows side by side that make up the last two dimensions.
    fn even_windows(&self, c: &Said<'_, '_>) -> Option<Vec<i64>> {
        let (from, to) = (&c.array(0)?.sizes, &c.result.sizes);
        let ahead = from.len().checked_sub(2)?;
        let each = from.iter().zip(to).skip(ahead).map(|(old, new)| {
            let (old, new) = (old.fixed()?, new.fixed()?);
            (new > 0 && old.checked_rem(new)? == 0).then(|| old.checked_div(new))?
        });
        each.collect()
    }

    /// Whether windows that adapt to the size of the result are not all alike.
    fn is_uneven(&self, c: &Said<'_, '_>) -> bool {
        c.named("kernel_size").is_none() && self.even_windows(c).is_none()
    }

    /// What is taken over windows of different sizes: each begins at a quotient rounded down, and ends at one rounded up. Returns the element of a window,
    /// `beside` where the window is shorter than the longest, the level and the sizes of that one, and how many elements each window has.
    fn in_uneven_windows(
        &mut self,
        c: &Said<'_, '_>,
        x: &Array,
        beside: ExprId,
    ) -> Option<(ExprId, Vec<Dim>, Vec<IndexId>)> {
        let ahead = x.sizes.len().checked_sub(2)?;
        let level = self.e.highest_level(x.expr).map_or(0, |l| l.saturating_add(1));
        let vars = self.vars(&c.result.sizes);
        let mut at: SmallVec<[IndexId; 4]> = vars.iter().take(ahead).copied().collect();
        let (mut sizes, mut inside, mut counts) = (Vec::new(), Vec::new(), Vec::new());
        for dim in ahead..x.sizes.len() {
            let (from, to) = (x.sizes.get(dim)?.fixed()?, c.result.sizes.get(dim)?.fixed()?);
            if from < 1 || to < 1 || from > WIDEST || to > WIDEST {
                return None;
            }
            let length = |k: i64| {
                let end = k.checked_add(1)?.checked_mul(from)?.checked_add(to)?.checked_sub(1)?.checked_div(to)?;
                end.checked_sub(k.checked_mul(from)?.checked_div(to)?)
            };
            let longest = (0..to).filter_map(length).max()?;
            let name = level.checked_add(u32::try_from(sizes.len()).ok()?)?;
            sizes.push(Dim::Fixed(longest));
            let bound = self.e.place(Place::Bound(name, Dim::Fixed(longest)));
            let var = *vars.get(dim)?;
            let begin = self.e.scale(var, Dim::Fixed(from))?;
            let end = self.e.shift(begin, Dim::Fixed(from.checked_add(to)?.checked_sub(1)?))?;
            let (begin, end) = (self.e.quotient(begin, Dim::Fixed(to))?, self.e.quotient(end, Dim::Fixed(to))?);
            let place = self.e.sum(begin, bound)?;
            let left = self.e.difference(end, place)?;
            inside.push(self.e.shift(left, Dim::Fixed(-1))?);
            counts.push(self.e.difference(end, begin)?);
            at.push(place);
        }
        let mut element = self.within(&inside.clone(), |s| s.at(x, at))?;
        for fact in inside {
            let holds = self.e.at_least_zero_expr(fact)?;
            element = self.e.op(Op::Choose, x.dtype, &[holds, element, beside])?;
        }
        Some((element, sizes, counts))
    }

    /// The mean over windows of different sizes.
    fn pooled_unevenly(&mut self, c: &Said<'_, '_>, x: &Array, wide: Dtype) -> Option<ExprId> {
        let level = self.e.highest_level(x.expr).map_or(0, |l| l.saturating_add(1));
        let zero = self.e.rounded(wide, 0.0)?;
        let (element, sizes, counts) = self.in_uneven_windows(c, x, zero)?;
        let mut mean = self.e.reduced(Fold::Sum, level, &sizes, element)?;
        for count in counts {
            let count = self.e.index_value(Dtype::I64, count)?;
            let count = self.e.op(Op::Cast, wide, &[count])?;
            mean = self.e.op(Op::Div, wide, &[mean, count])?;
        }
        Some(mean)
    }

    /// Returns the windows of a call; `None` where there are none of this rank.
    fn windows(&self, c: &Said<'_, '_>, rank: usize) -> Option<Windows> {
        let list = |a: &Arg| -> Option<Vec<i64>> {
            let int = |a: &Arg| if let Arg::Int(v) = a { Some(*v) } else { None };
            let all: Vec<i64> = match a {
                Arg::Int(one) => vec![*one],
                a => a.items()?.iter().map(int).collect::<Option<_>>()?,
            };
            Some(if let [one] = all.as_slice() { vec![*one; rank] } else { all })
        };
        let given = |name: &str| c.named(name).and_then(list).filter(|l| !l.is_empty());
        let found = match c.named("kernel_size").and_then(list) {
            None => {
                let kernel = self.even_windows(c)?;
                let (pads, steps) = (vec![0; rank], vec![1; rank]);
                Windows { strides: kernel.clone(), kernel, pads, steps, overhangs: false }
            }
            Some(kernel) => Windows {
                strides: list(c.arg(2)).filter(|l| !l.is_empty()).unwrap_or_else(|| kernel.clone()),
                pads: given("padding").unwrap_or_else(|| vec![0; rank]),
                steps: given("dilation").unwrap_or_else(|| vec![1; rank]),
                overhangs: c.named("ceil_mode").is_some_and(|a| *a != Arg::Bool(false)),
                kernel,
            },
        };
        let all = [&found.kernel, &found.strides, &found.pads, &found.steps];
        let fits = all.iter().all(|l| l.len() == rank)
            && found.kernel.iter().all(|n| *n > 0)
            && found.pads.iter().all(|p| *p >= 0);
        fits.then_some(found)
    }

    /// Returns how far the last window along a dimension ends beyond what lies beside the input, where that is known to be 0 or not.
    fn overhangs(&self, c: &Said<'_, '_>, windows: &Windows, k: usize, dim: usize) -> Option<bool> {
        if !windows.overhangs {
            return Some(false);
        }
        let (from, to) = (c.array(0)?.sizes.get(dim)?.fixed(), c.result.sizes.get(dim)?.fixed());
        let (Some(from), Some(to)) = (from, to) else { return Some(true) };
        let last = to.checked_sub(1)?.checked_mul(*windows.strides.get(k)?)?;
        let reach = windows.kernel.get(k)?.checked_sub(1)?.checked_mul(*windows.steps.get(k)?)?;
        let end = from.checked_add(*windows.pads.get(k)?)?;
        Some(last.checked_sub(*windows.pads.get(k)?)?.checked_add(reach)? >= end)
    }

    /// Returns what stands in the windows of a call, `beside` where that is no element.
    fn in_windows(&mut self, c: &Said<'_, '_>, x: &Array, windows: &Windows, beside: ExprId) -> Option<Within> {
        let ahead = x.sizes.len().checked_sub(windows.kernel.len())?;
        let level = self.e.highest_level(x.expr).map_or(0, |l| l.saturating_add(1));
        let vars = self.vars(&c.result.sizes);
        let mut at: SmallVec<[IndexId; 4]> = vars.iter().take(ahead).copied().collect();
        let (mut sizes, mut inside) = (Vec::new(), Vec::new());
        for (k, dim) in (ahead..x.sizes.len()).enumerate() {
            let bound = match *windows.kernel.get(k)? {
                1 => self.e.at(Dim::Fixed(0)),
                n => {
                    let name = level.checked_add(u32::try_from(sizes.len()).ok()?)?;
                    sizes.push(Dim::Fixed(n));
                    self.e.place(Place::Bound(name, Dim::Fixed(n)))
                }
            };
            let begin = self.e.scale(*vars.get(dim)?, Dim::Fixed(*windows.strides.get(k)?))?;
            let step = self.e.scale(bound, Dim::Fixed(*windows.steps.get(k)?))?;
            let place = self.e.sum(begin, step)?;
            let pad = *windows.pads.get(k)?;
            let place = self.e.shift(place, Dim::Fixed(pad.checked_neg()?))?;
            if pad > 0 || self.overhangs(c, windows, k, dim)? {
                let left = self.e.scale(place, Dim::Fixed(-1))?;
                let last = self.e.plus(*x.sizes.get(dim)?, Dim::Fixed(-1))?;
                // The last dimension first, as padding has it.
                inside.splice(0..0, [place, self.e.shift(left, last)?]);
            }
            at.push(place);
        }
        let mut element = self.within(&inside.clone(), |s| s.at(x, at))?;
        for fact in inside {
            let holds = self.e.at_least_zero_expr(fact)?;
            element = self.e.op(Op::Choose, x.dtype, &[holds, element, beside])?;
        }
        Some(Within { element, sizes })
    }

    /// The greatest over a window, beside which -inf stands.
    pub(super) fn greatest_in_window(&mut self, c: &Said<'_, '_>, rank: usize) -> Option<ExprId> {
        let x = c.array(0)?.clone();
        // What keeps order may come after where a window holds an element.
        let filled = self.is_uneven(c) || self.windows(c, rank)?.hold_elements();
        let bound = self.e.expr(x.expr).cloned().and_then(|expr| {
            let inner = *expr.kids.first()?;
            let relu = matches!(&expr.form, Form::Named(target, _) if real(target) == Some(Real::Relu));
            let number = expr.kids.get(1).is_some_and(|k| self.e.float(*k).is_some_and(|v| !v.is_nan()));
            let bounds = matches!(expr.form, Form::Op(Op::AtLeast | Op::AtMost | Op::Max | Op::Min)) && number;
            (filled && (relu || bounds && self.e.float(inner).is_none())).then_some((expr, inner))
        });
        let Some((expr, inner)) = bound else { return self.windowed(c, &x, rank) };
        let most = self.windowed(c, &Array { expr: inner, ..x }, rank)?;
        let kids: SmallVec<[ExprId; 3]> = expr.kids.iter().map(|k| if *k == inner { most } else { *k }).collect();
        self.e.again(&expr, &kids)
    }

    fn windowed(&mut self, c: &Said<'_, '_>, x: &Array, rank: usize) -> Option<ExprId> {
        if x.dtype != c.result.dtype || !x.dtype.is_float() {
            return None;
        }
        let least = self.e.rounded(x.dtype, f64::NEG_INFINITY)?;
        if self.is_uneven(c) {
            let level = self.e.highest_level(x.expr).map_or(0, |l| l.saturating_add(1));
            let (element, sizes, _) = (rank == 2).then(|| self.in_uneven_windows(c, x, least))??;
            return self.e.reduced(Fold::Most, level, &sizes, element);
        }
        let windows = self.windows(c, rank)?;
        let (x, windows) = match self.pools.get(&x.expr) {
            // What begins alike may be shorter.
            Some((sizes, of, first))
                if *sizes == x.sizes
                    && let Some(both) = first.then(&windows) =>
            {
                (of.clone(), both)
            }
            _ => (x.clone(), windows),
        };
        let level = self.e.highest_level(x.expr).map_or(0, |l| l.saturating_add(1));
        let within = self.in_windows(c, &x, &windows, least)?;
        let greatest = self.e.reduced(Fold::Most, level, &within.sizes, within.element)?;
        self.pools.insert(greatest, (c.result.sizes.clone(), x, windows));
        Some(greatest)
    }

    /// The mean over a window; what lies beside counts as 0.
    pub(super) fn pooled(&mut self, c: &Said<'_, '_>, rank: usize) -> Option<ExprId> {
        let x = c.array(0)?.clone();
        let to = c.result.dtype;
        if x.dtype != to || !to.is_float() {
            return None;
        }
        let wide = if matches!(to, Dtype::F16 | Dtype::Bf16) { Dtype::F32 } else { to };
        let expr = self.e.op(Op::Cast, wide, &[x.expr])?;
        let x = Array { dtype: wide, expr, ..x };
        let mean = match self.is_uneven(c) {
            true => (rank == 2).then(|| self.pooled_unevenly(c, &x, wide))??,
            false => self.mean_in_windows(c, &x, rank)?,
        };
        self.e.op(Op::Cast, to, &[mean])
    }

    fn mean_in_windows(&mut self, c: &Said<'_, '_>, x: &Array, rank: usize) -> Option<ExprId> {
        let windows = self.windows(c, rank)?;
        let divisor = match c.named("divisor_override") {
            None | Some(Arg::None) => None,
            Some(Arg::Int(n)) if *n > 0 => Some(*n),
            Some(_) => return None,
        };
        let ahead = x.sizes.len().checked_sub(rank)?;
        let mut overhangs = false;
        for (k, dim) in (ahead..x.sizes.len()).enumerate() {
            overhangs |= self.overhangs(c, &windows, k, dim)?;
        }
        let padded = windows.pads.iter().any(|p| *p != 0);
        let alike = !overhangs && (!padded || c.named("count_include_pad") == Some(&Arg::Bool(true)));
        let level = self.e.highest_level(x.expr).map_or(0, |l| l.saturating_add(1));
        let zero = self.e.rounded(x.dtype, 0.0)?;
        let within = self.in_windows(c, x, &windows, zero)?;
        let sum = self.e.reduced(Fold::Sum, level, &within.sizes, within.element)?;
        if !alike && divisor.is_none() {
            let mut mean = sum;
            for (k, dim) in (ahead..x.sizes.len()).enumerate() {
                let count = self.count_in_window(c, x, &windows, (k, dim))?;
                let count = self.e.op(Op::Cast, x.dtype, &[count])?;
                mean = self.e.op(Op::Div, x.dtype, &[mean, count])?;
            }
            return Some(mean);
        }
        let count = match divisor {
            Some(n) => Dim::Fixed(n),
            None => self.e.product(&windows.kernel.iter().map(|n| Dim::Fixed(*n)).collect::<Vec<_>>())?,
        };
        let count = self.number_of(x.dtype, count)?;
        self.e.op(Op::Div, x.dtype, &[sum, count])
    }

    /// How many places a window has along a dimension: up to what lies beside the input, or of the input alone.
    fn count_in_window(
        &mut self,
        c: &Said<'_, '_>,
        x: &Array,
        windows: &Windows,
        (k, dim): (usize, usize),
    ) -> Option<ExprId> {
        let (kernel, stride, pad) = (*windows.kernel.get(k)?, *windows.strides.get(k)?, *windows.pads.get(k)?);
        let beside = c.named("count_include_pad") == Some(&Arg::Bool(true));
        let var = *self.vars(&c.result.sizes).get(dim)?;
        let begin = self.e.scale(var, Dim::Fixed(stride))?;
        let begin = self.e.shift(begin, Dim::Fixed(pad.checked_neg()?))?;
        let end = self.e.shift(begin, Dim::Fixed(kernel))?;
        let last = self.e.plus(*x.sizes.get(dim)?, Dim::Fixed(if beside { pad } else { 0 }))?;
        let last = self.e.at(last);
        let mut ends = Vec::new();
        for at in [begin, end, last] {
            ends.push(self.e.index_value(Dtype::I64, at)?);
        }
        let &[mut begin, end, last] = ends.as_slice() else { return None };
        if !beside {
            let zero = self.e.integer(Dtype::I64, 0)?;
            begin = self.e.op(Op::Max, Dtype::I64, &[begin, zero])?;
        }
        let end = self.e.op(Op::Min, Dtype::I64, &[end, last])?;
        self.e.op(Op::Sub, Dtype::I64, &[end, begin])
    }
}
