//! Tensors: a dtype, a shape and a place in a storage.
//!
//! Promises: a tensor lies inside its storage (checked when it is made); clones and views share memory. `conj` and `neg` mark lazy
//! views, which every reader in lanes resolves. Leaves reading and making them to `flat`, `source` and `fill`.

pub(in crate::exec) mod element;
pub(in crate::exec) mod fill;
pub(in crate::exec) mod flat;
pub(in crate::exec) mod lane;
pub(in crate::exec) mod shape;
pub(in crate::exec) mod source;
pub(in crate::exec) mod span;
mod spare;
pub(in crate::exec) mod storage;
pub(in crate::exec) mod strided;
pub(in crate::exec) mod value;

use smallvec::SmallVec;

use crate::exec::tensor::shape::Shape;
use crate::exec::tensor::storage::Storage;
use crate::graph::{Device, Dtype, TensorType};
use crate::ops::CallFault;
use crate::sym::Dim;

/// Dtype, sizes, strides and offset; strides and offset count elements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Meta {
    /// Element type.
    pub dtype: Dtype,
    /// One size a dimension.
    pub sizes: Shape,
    /// One stride a dimension.
    pub strides: Shape,
    /// Where the first element lies.
    pub offset: usize,
}

impl Meta {
    /// Returns a row-major tensor's description.
    pub fn contiguous(dtype: Dtype, sizes: &[usize]) -> Meta {
        Meta { dtype, sizes: sizes.into(), strides: shape::contiguous(sizes), offset: 0 }
    }

    /// Reads a type all of whose numbers are known.
    pub fn of(ty: &TensorType) -> Result<Meta, CallFault> {
        let number = |d: &Dim| d.fixed().and_then(|n| usize::try_from(n).ok());
        let all = |dims: &[Dim]| dims.iter().map(number).collect::<Option<Shape>>();
        let open = || CallFault::Unsupported {
            what: "a size that the type rule leaves open, where a number is needed".into(),
        };
        let sizes = all(&ty.sizes).ok_or_else(open)?;
        let strides = match &ty.strides {
            Some(strides) => all(strides).ok_or_else(open)?,
            None => shape::contiguous(&sizes),
        };
        Ok(Meta { dtype: ty.dtype, strides, offset: number(&ty.offset).ok_or_else(open)?, sizes })
    }

    /// Returns this description as a type.
    pub fn ty(&self, device: &Device) -> TensorType {
        #[allow(clippy::cast_possible_wrap)]
        let dims = |v: &[usize]| v.iter().map(|n| Dim::Fixed(*n as i64)).collect::<SmallVec<[Dim; 4]>>();
        let mut ty = TensorType::new(self.dtype, dims(&self.sizes), device.clone());
        ty.strides = Some(dims(&self.strides));
        #[allow(clippy::cast_possible_wrap)]
        {
            ty.offset = Dim::Fixed(self.offset as i64);
        }
        ty
    }

    /// Returns the number of elements.
    pub fn numel(&self) -> usize {
        shape::numel(&self.sizes)
    }

    /// Returns the number of dimensions.
    pub fn rank(&self) -> usize {
        self.sizes.len()
    }

    /// Returns the size of dimension `d`; 1 where there is none.
    pub fn size(&self, d: usize) -> usize {
        self.sizes.get(d).copied().unwrap_or(1)
    }

    /// Returns the stride of dimension `d`; 0 where there is none.
    pub fn stride(&self, d: usize) -> usize {
        self.strides.get(d).copied().unwrap_or(0)
    }

    /// Returns whether elements lie in row-major order without gaps.
    pub fn is_contiguous(&self) -> bool {
        shape::is_contiguous(&self.sizes, &self.strides)
    }

    /// Returns whether elements fill their memory without gaps or overlap, in some order of dimensions.
    pub fn is_dense(&self) -> bool {
        let order = shape::memory_order(&self.sizes, &self.strides);
        shape::is_contiguous(&shape::permuted(&self.sizes, &order), &shape::permuted(&self.strides, &order))
    }

    /// Returns how many elements of storage are needed, from its start.
    pub fn needed(&self) -> Result<usize, CallFault> {
        shape::count(&self.sizes)?;
        let extent = shape::extent(&self.sizes, &self.strides)?;
        extent
            .checked_add(self.offset)
            .ok_or_else(|| CallFault::mismatch("offset", "a place in memory", self.offset.to_string()))
    }
}

/// A tensor. Cheap to clone; clones share memory.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Dtype, shape, place.
    pub meta: Meta,
    /// Memory.
    pub storage: Storage,
    /// Whether the values are the conjugates of what lies in memory.
    pub conj: bool,
    /// Whether the values are the negatives of what lies in memory.
    pub neg: bool,
}

impl Tensor {
    /// Returns a tensor in a storage.
    ///
    /// Errors: a place that does not lie in the storage.
    pub fn new(meta: Meta, storage: Storage) -> Result<Tensor, CallFault> {
        let needed = meta.needed()?.checked_mul(meta.dtype.bytes());
        let found = storage.len();
        if meta.numel() > 0 && needed.is_none_or(|n| n > found) {
            return Err(CallFault::mismatch(
                "storage",
                format!(
                    "{} bytes for sizes {:?} and strides {:?}",
                    needed.unwrap_or(usize::MAX),
                    meta.sizes,
                    meta.strides
                ),
                format!("{found} bytes"),
            ));
        }
        Ok(Tensor { meta, storage, conj: false, neg: false })
    }

    /// Returns another view of this tensor's memory, with its lazy marks.
    pub fn with_meta(&self, meta: Meta) -> Result<Tensor, CallFault> {
        Ok(Tensor { conj: self.conj, neg: self.neg, ..Tensor::new(meta, self.storage.clone())? })
    }

    /// Returns the element type.
    pub fn dtype(&self) -> Dtype {
        self.meta.dtype
    }

    /// Returns the sizes.
    pub fn sizes(&self) -> &[usize] {
        &self.meta.sizes
    }

    /// Returns the number of dimensions.
    pub fn rank(&self) -> usize {
        self.meta.sizes.len()
    }

    /// Returns the number of elements.
    pub fn numel(&self) -> usize {
        self.meta.numel()
    }

    /// Returns the bytes that its elements take.
    pub fn byte_count(&self) -> usize {
        self.numel().saturating_mul(self.dtype().bytes())
    }

    /// Returns the view with its dimensions in this order.
    pub fn permute(&self, order: &[usize]) -> Tensor {
        let mut out = self.clone();
        out.meta.sizes = shape::permuted(&self.meta.sizes, order);
        out.meta.strides = shape::permuted(&self.meta.strides, order);
        out
    }

    /// Returns the view in which dimension `d` stands last.
    pub fn with_last(&self, d: usize) -> Tensor {
        let order: Shape = (0..self.rank()).filter(|k| *k != d).chain((d < self.rank()).then_some(d)).collect();
        self.permute(&order)
    }

    /// Returns the view of these larger sizes: new and size-1 dimensions are repeated without copying.
    pub fn broadcast(&self, sizes: &[usize]) -> Result<Tensor, CallFault> {
        let lead = sizes.len().checked_sub(self.rank());
        let no =
            || CallFault::mismatch("self", format!("sizes that broadcast to {sizes:?}"), format!("{:?}", self.sizes()));
        let lead = lead.ok_or_else(no)?;
        let mut strides: Shape = SmallVec::from_elem(0, lead);
        for ((own, stride), wanted) in self.meta.sizes.iter().zip(&self.meta.strides).zip(sizes.iter().skip(lead)) {
            match own {
                _ if own == wanted => strides.push(*stride),
                1 => strides.push(0),
                _ => return Err(no()),
            }
        }
        let mut out = self.clone();
        out.meta.sizes = sizes.into();
        out.meta.strides = strides;
        Ok(out)
    }

    /// Returns the part of dimension `d` from `start` on, `len` long.
    pub fn narrow(&self, d: usize, start: usize, len: usize) -> Result<Tensor, CallFault> {
        let fits = start.checked_add(len).is_some_and(|end| end <= self.meta.size(d)) && d < self.rank();
        if !fits {
            let expected = format!("a part of dimension {d}, which has {}", self.meta.size(d));
            return Err(CallFault::mismatch("self", expected, format!("{len} from {start} on")));
        }
        let mut out = self.clone();
        out.meta.offset = out.meta.offset.saturating_add(start.saturating_mul(self.meta.stride(d)));
        if let Some(size) = out.meta.sizes.get_mut(d) {
            *size = len;
        }
        Ok(out)
    }

    /// Returns the view at position `at` of dimension `d`, which is dropped.
    pub fn select(&self, d: usize, at: usize) -> Result<Tensor, CallFault> {
        let mut out = self.narrow(d, at, 1)?;
        out.meta.sizes.remove(d);
        out.meta.strides.remove(d);
        Ok(out)
    }

    /// Returns whether both tensors have the same memory.
    pub fn shares_storage(&self, other: &Tensor) -> bool {
        self.storage.is(&other.storage)
    }
}
