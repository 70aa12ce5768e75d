//! Whole tensors as slices in row-major order: in lanes, or as raw elements of a width.
//!
//! Promises: what lies so in memory is lent; everything else is gathered once. Raw elements keep every bit.

use std::ops::Deref;
use std::sync::RwLockReadGuard;

use bytemuck::Pod;
use rayon::prelude::*;

use crate::exec::tensor::lane::{C128, Lane, with_lane};
use crate::exec::tensor::shape;
use crate::exec::tensor::shape::Runs;
use crate::exec::tensor::source::{CHUNK, Source};
use crate::exec::tensor::storage::{Content, Meter, Storage};
use crate::exec::tensor::strided;
use crate::exec::tensor::strided::Place;
use crate::exec::tensor::{Meta, Tensor};
use crate::ops::CallFault;

/// Elements in row-major order: lent from a storage, or gathered.
pub enum Flat<'a, T: Pod> {
    /// Lent.
    Lent {
        /// The open storage.
        content: RwLockReadGuard<'a, Content>,
        /// First byte.
        start: usize,
        /// How many bytes.
        len: usize,
    },
    /// Gathered.
    Own(Vec<T>),
}

impl<T: Pod> Deref for Flat<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Flat::Own(all) => all,
            Flat::Lent { content, start, len } => {
                let bytes = content.bytes().get(*start..start.saturating_add(*len)).unwrap_or(&[]);
                bytemuck::try_cast_slice(bytes).unwrap_or(&[])
            }
        }
    }
}

impl<T: Pod> Flat<'_, T> {
    /// Returns the elements as a vector; copied only where they are lent.
    pub fn into_vec(self) -> Vec<T> {
        match self {
            Flat::Own(all) => all,
            lent => lent.to_vec(),
        }
    }
}

/// Runs `$body` with `$U` as the unsigned integer of that many bytes, or gives a fault.
macro_rules! with_width {
    ($bytes:expr, $U:ident => $body:expr) => {
        match $bytes {
            1 => {
                type $U = u8;
                $body
            }
            2 => {
                type $U = u16;
                $body
            }
            4 => {
                type $U = u32;
                $body
            }
            8 => {
                type $U = u64;
                $body
            }
            _ => {
                type $U = u128;
                $body
            }
        }
    };
}
pub(in crate::exec) use with_width;

impl Tensor {
    /// Lends the elements if they lie in row-major order, are of `T`'s size and aligned.
    fn lend<T: Pod>(&self) -> Result<Option<Flat<'_, T>>, CallFault> {
        if std::mem::size_of::<T>() != self.dtype().bytes() || !self.meta.is_contiguous() || self.conj || self.neg {
            return Ok(None);
        }
        let content = self.storage.read()?;
        let start = self.meta.offset.saturating_mul(self.dtype().bytes());
        let len = self.byte_count();
        let fits = content
            .bytes()
            .get(start..start.saturating_add(len))
            .is_some_and(|b| bytemuck::try_cast_slice::<u8, T>(b).is_ok());
        Ok(fits.then_some(Flat::Lent { content, start, len }))
    }

    /// Lends the memory of `view`, a view of this tensor, from its first element to its last, if it holds lanes as they are.
    pub fn lend_span<L: Lane>(&self, view: &Tensor) -> Result<Option<Flat<'_, L>>, CallFault> {
        if view.dtype() != L::DTYPE || view.conj || view.neg || !self.shares_storage(view) {
            return Ok(None);
        }
        let size = std::mem::size_of::<L>();
        let content = self.storage.read()?;
        let start = view.meta.offset.saturating_mul(size);
        let len = shape::extent(&view.meta.sizes, &view.meta.strides)?.saturating_mul(size);
        let span = content.bytes().get(start..start.saturating_add(len));
        let fits = span.is_some_and(|b| bytemuck::try_cast_slice::<u8, L>(b).is_ok());
        Ok(fits.then_some(Flat::Lent { content, start, len }))
    }

    /// Returns all values in lanes, in row-major order.
    pub fn lanes<L: Lane>(&self) -> Result<Flat<'_, L>, CallFault> {
        if self.dtype() == L::DTYPE
            && let Some(lent) = self.lend()?
        {
            return Ok(lent);
        }
        let mut out = vec![L::default(); self.numel()];
        self.load(&mut out)?;
        Ok(Flat::Own(out))
    }

    /// Returns all numbers in row-major order; of complex ones both parts, the real one first.
    pub fn parts(&self) -> Result<Vec<f64>, CallFault> {
        if self.dtype().is_complex() {
            return Ok(self.lanes::<C128>()?.iter().flat_map(|z| [z.re, z.im]).collect());
        }
        Ok(self.lanes::<f64>()?.into_vec())
    }

    /// Writes complex numbers by both parts, in the order of [`Tensor::parts`].
    pub fn write_parts(&self, parts: &[f64]) -> Result<(), CallFault> {
        let pairs = parts
            .chunks_exact(2)
            .map(|p| C128::new(p.first().copied().unwrap_or(0.0), p.last().copied().unwrap_or(0.0)));
        self.write(&pairs.collect::<Vec<_>>())
    }

    /// Writes all values in lanes, in row-major order, to as many places.
    pub fn load<L: Lane>(&self, out: &mut [L]) -> Result<(), CallFault> {
        let source = Source::<L>::of(self)?;
        if out.len() <= CHUNK.saturating_mul(16) {
            source.load(0, out);
        } else {
            out.par_chunks_mut(CHUNK).enumerate().for_each(|(k, part)| source.load(k.saturating_mul(CHUNK), part));
        }
        Ok(())
    }

    /// Returns all elements as they are stored, in row-major order. `U` has the dtype's width; lazy marks are resolved first.
    pub fn raw<U: Pod + Default>(&self) -> Result<Flat<'_, U>, CallFault> {
        if self.conj || self.neg {
            let plain = self.resolved(&Meter::default())?;
            return Ok(Flat::Own(plain.raw::<U>()?.to_vec()));
        }
        if let Some(lent) = self.lend()? {
            return Ok(lent);
        }
        let content = self.storage.read()?;
        let mut out = vec![U::default(); self.numel()];
        let strides = shape::contiguous(self.sizes());
        let to = (bytemuck::cast_slice_mut(&mut out), Place { offset: 0, strides: &strides });
        strided::copy(std::mem::size_of::<U>(), self.sizes(), (content.bytes(), self.place()), to);
        drop(content);
        Ok(Flat::Own(out))
    }

    /// Returns a row-major copy without lazy marks.
    pub fn resolved(&self, meter: &Meter) -> Result<Tensor, CallFault> {
        let meta = Meta::contiguous(self.dtype(), self.sizes());
        if self.conj || self.neg {
            let storage = with_lane!(self.dtype(), L => {
                let values = self.lanes::<L>()?.into_vec();
                crate::exec::tensor::fill::stored(self.dtype(), values, meter)
            });
            return Tensor::new(meta, storage);
        }
        let storage = with_width!(self.dtype().bytes(), U => Storage::new(self.raw::<U>()?.into_vec(), meter));
        Tensor::new(meta, storage)
    }

    /// Writes values, given in row-major order of this tensor's sizes.
    pub fn write<L: Lane>(&self, values: &[L]) -> Result<(), CallFault> {
        let size = self.dtype().bytes();
        let (sizes, strides) = shape::collapsed(&self.meta.sizes, &self.meta.strides);
        let base = self.meta.offset.saturating_mul(size);
        let marked: Vec<L>;
        let mut rest = values;
        if self.conj || self.neg {
            let unmark = |v: &L| {
                let v = if self.neg { v.negate() } else { *v };
                if self.conj { v.conj() } else { v }
            };
            marked = values.iter().map(unmark).collect();
            rest = &marked;
        }
        let mut content = self.storage.write()?;
        let bytes = content.bytes_mut();
        for run in Runs::new(&sizes, &strides, 0, self.numel()) {
            let (now, later) = rest.split_at(run.len.min(rest.len()));
            let from = base.saturating_add(run.offset.saturating_mul(size));
            crate::exec::tensor::element::write(self.dtype(), now, run.step, bytes.get_mut(from..).unwrap_or(&mut []));
            rest = later;
        }
        Ok(())
    }

    /// Writes stored elements, given in row-major order of this tensor's sizes; `U` has the dtype's width.
    pub fn write_raw<U: Pod>(&self, values: &[U]) -> Result<(), CallFault> {
        let strides = shape::contiguous(self.sizes());
        let from = (bytemuck::cast_slice(values), Place { offset: 0, strides: &strides });
        let mut content = self.storage.write()?;
        strided::copy(std::mem::size_of::<U>(), self.sizes(), from, (content.bytes_mut(), self.place()));
        Ok(())
    }

    fn place(&self) -> Place<'_> {
        Place { offset: self.meta.offset, strides: &self.meta.strides }
    }

    /// Writes the values of `from`, broadcast and cast: `copy_`.
    pub fn copy_from(&self, from: &Tensor) -> Result<(), CallFault> {
        let from = from.broadcast(self.sizes())?;
        if from.dtype() == self.dtype() && !from.conj && !from.neg && !self.conj && !self.neg {
            if self.shares_storage(&from) {
                return with_width!(self.dtype().bytes(), U => {
                    let values = from.raw::<U>()?.into_vec();
                    self.write_raw(&values)
                });
            }
            let content = from.storage.read()?;
            let mut target = self.storage.write()?;
            let to = (target.bytes_mut(), self.place());
            strided::copy(self.dtype().bytes(), self.sizes(), (content.bytes(), from.place()), to);
            return Ok(());
        }
        with_lane!(from.dtype(), L => {
            let values = from.lanes::<L>()?.into_vec_if_shared(self.shares_storage(&from));
            self.write(&values)
        })
    }
}

impl<'a, T: Pod> Flat<'a, T> {
    /// Lets go of the storage where it is to be written next.
    fn into_vec_if_shared(self, shared: bool) -> Flat<'a, T> {
        if shared { Flat::Own(self.into_vec()) } else { self }
    }
}
