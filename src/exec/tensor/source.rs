//! Sources: an operand read chunk by chunk in lanes, broadcast and in any order of dimensions.
//!
//! Promises: a chunk that lies in memory as the lane itself is lent, not copied; conjugation, negation and the cast to a common dtype
//! are done here. What kernels see is values.

use std::sync::RwLockReadGuard;

use crate::exec::tensor::Tensor;
use crate::exec::tensor::element;
use crate::exec::tensor::lane::{C128, Lane, with_lane};
use crate::exec::tensor::shape;
use crate::exec::tensor::shape::{Runs, Shape};
use crate::exec::tensor::storage::Content;
use crate::exec::tensor::value::{Operand, Scalar};
use crate::graph::Dtype;
use crate::ops::CallFault;

/// How many elements are read at once: a few operands of this many lanes stay in the nearest cache.
pub const CHUNK: usize = 1024;

/// Room for the elements of a chunk that do not lie in memory as lanes; it is made when they are read.
pub struct Buffer<L>(Option<[L; CHUNK]>);

impl<L> Default for Buffer<L> {
    fn default() -> Self {
        Buffer(None)
    }
}

/// An operand to be read in lanes.
pub struct Source<'a, L: Lane>(Kind<'a, L>);

enum Kind<'a, L: Lane> {
    Constant(L),
    Memory(Placed<'a>),
}

struct Placed<'a> {
    content: RwLockReadGuard<'a, Content>,
    dtype: Dtype,
    sizes: Shape,
    strides: Shape,
    /// In bytes.
    base: usize,
    conj: bool,
    neg: bool,
    /// The dtype that values are cast to before they become lanes.
    through: Option<Dtype>,
    /// Whether elements are lanes, one behind another.
    direct: bool,
}

impl<'a, L: Lane> Source<'a, L> {
    /// Opens a tensor as it stands, in row-major order of its sizes.
    pub fn of(t: &'a Tensor) -> Result<Self, CallFault> {
        Self::open(t, t, None)
    }

    /// Opens an operand for a result of `sizes` whose dimensions are visited in `order`, cast to `through` first.
    pub fn broadcast(
        operand: &Operand<'a>,
        sizes: &[usize],
        order: &[usize],
        through: Option<Dtype>,
    ) -> Result<Self, CallFault> {
        match operand {
            Operand::Tensor(t) => Self::open(t, &t.broadcast(sizes)?.permute(order), through),
            Operand::Number(n) => Ok(Source(Kind::Constant(number(*n, through)))),
        }
    }

    /// `owner` holds the memory, `view` says how it is read.
    fn open(owner: &'a Tensor, view: &Tensor, through: Option<Dtype>) -> Result<Self, CallFault> {
        let dtype = view.dtype();
        if !element::has_arithmetic(dtype) {
            return Err(CallFault::Unsupported { what: format!("arithmetic on {}", dtype.long()) });
        }
        let through = through.filter(|d| *d != dtype);
        let (sizes, strides) = shape::collapsed(&view.meta.sizes, &view.meta.strides);
        let in_line = sizes.len() <= 1 && strides.last().is_none_or(|s| *s == 1);
        let direct = in_line && dtype == L::DTYPE && through.is_none() && !view.conj && !view.neg;
        let base = view.meta.offset.saturating_mul(dtype.bytes());
        let content = owner.storage.read()?;
        let (conj, neg) = (view.conj, view.neg);
        Ok(Source(Kind::Memory(Placed { content, dtype, sizes, strides, base, conj, neg, through, direct })))
    }

    /// Returns elements `start..start + len`: lent where they lie so in memory, otherwise read into `buffer`.
    pub fn chunk<'b>(&'b self, start: usize, len: usize, buffer: &'b mut Buffer<L>) -> &'b [L] {
        if let Some(lent) = self.lent(start, len) {
            return lent;
        }
        let buffer = buffer.0.get_or_insert_with(|| [L::default(); CHUNK]);
        let Some(out) = buffer.get_mut(..len.min(CHUNK)) else { return &[] };
        self.load(start, out);
        out
    }

    /// Returns elements where they lie in memory as lanes.
    pub fn lent(&self, start: usize, len: usize) -> Option<&[L]> {
        let Kind::Memory(placed) = &self.0 else { return None };
        if !placed.direct {
            return None;
        }
        let size = std::mem::size_of::<L>();
        let from = placed.base.checked_add(start.checked_mul(size)?)?;
        let bytes = placed.content.bytes().get(from..from.checked_add(len.checked_mul(size)?)?)?;
        bytemuck::try_cast_slice(bytes).ok()
    }

    /// Reads elements from number `start` on.
    pub fn load(&self, start: usize, out: &mut [L]) {
        match &self.0 {
            Kind::Constant(value) => out.fill(*value),
            Kind::Memory(placed) => placed.load(start, out),
        }
    }
}

impl Placed<'_> {
    fn load<L: Lane>(&self, start: usize, out: &mut [L]) {
        match self.through {
            None => self.read(start, out),
            Some(through) => self.read_through(through, start, out),
        }
    }

    fn read<L: Lane>(&self, start: usize, out: &mut [L]) {
        let size = self.dtype.bytes();
        let mut rest: &mut [L] = out;
        for run in Runs::new(&self.sizes, &self.strides, start, rest.len()) {
            let (now, later) = rest.split_at_mut(run.len.min(rest.len()));
            let from = self.base.saturating_add(run.offset.saturating_mul(size));
            element::read(self.dtype, self.content.bytes().get(from..).unwrap_or(&[]), run.step, now);
            rest = later;
        }
        if self.conj {
            out.iter_mut().for_each(|v| *v = v.conj());
        }
        if self.neg {
            out.iter_mut().for_each(|v| *v = v.negate());
        }
    }

    /// Reads in the lane of the source, casts, and reads again: every cast rounds or wraps as storing would.
    fn read_through<L: Lane>(&self, through: Dtype, start: usize, out: &mut [L]) {
        let mut bytes = [0_u8; 64 * 16];
        with_lane!(self.dtype, S => {
            let mut own = [S::default(); 64];
            for (k, part) in out.chunks_mut(64).enumerate() {
                let Some(own) = own.get_mut(..part.len()) else { return };
                self.read(start.saturating_add(k.saturating_mul(64)), own);
                element::write(through, own, 1, &mut bytes);
                element::read(through, &bytes, 1, part);
            }
        });
    }
}

/// A number as a lane, cast to a dtype first where one is given.
pub fn number<L: Lane>(n: Scalar, through: Option<Dtype>) -> L {
    let plain = match n {
        Scalar::Bool(v) => L::from_i64(i64::from(v)),
        Scalar::Int(v) => L::from_i64(v),
        Scalar::Float(v) => L::from_f64(v),
        Scalar::Complex(re, im) => L::from_complex(C128::new(re, im)),
    };
    let Some(through) = through else { return plain };
    if through == Dtype::Bool {
        let truth = match n {
            Scalar::Complex(re, im) => re != 0.0 || im != 0.0,
            other => other.to_f64() != 0.0,
        };
        return L::from_i64(i64::from(truth));
    }
    let (mut bytes, mut out) = ([0_u8; 16], [plain]);
    element::write(through, &out, 1, &mut bytes);
    element::read(through, &bytes, 1, &mut out);
    let [value] = out;
    value
}
