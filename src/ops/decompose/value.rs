//! Values of a decomposition: handles whose arithmetic and methods emit calls, so that a formula reads as one.
//!
//! Promises: nothing is computed here; `x + 1.0` is a call of `aten.add.Tensor`. After a fault values have no type: rank 0, f32.

use std::ops::{Add, Div, Mul, Neg, Sub};
use std::sync::Arc;

use super::builder::{Actual, Builder, args, signed};
use crate::graph::{Arg, Dtype, MemoryFormat, NodeId, TensorType};
use crate::ops::error::CallFault;
use crate::ops::typing::layout;
use crate::ops::typing::sizes;
use crate::ops::typing::sizes::Sizes;
use crate::ops::typing::viewed::{self, Viewed};
use crate::sym::Dim;

/// A value that was emitted or is an operand.
#[derive(Clone, Copy)]
pub struct T<'b> {
    b: &'b Builder<'b>,
    id: NodeId,
}

impl From<T<'_>> for Arg {
    fn from(t: T<'_>) -> Self {
        Arg::Node(t.id)
    }
}

macro_rules! arithmetic {
    ($($name:ident $method:ident $target:literal;)*) => { $(
        impl<'b, A: Into<Arg>> $name<A> for T<'b> {
            type Output = T<'b>;

            fn $method(self, other: A) -> T<'b> {
                self.b.op($target, args![self, other.into()])
            }
        }
    )* };
}

arithmetic! {
    Add add "add.Tensor";
    Sub sub "sub.Tensor";
    Mul mul "mul.Tensor";
    Div div "div.Tensor";
}

impl<'b> Neg for T<'b> {
    type Output = T<'b>;

    fn neg(self) -> T<'b> {
        self.op("neg")
    }
}

impl<'b> T<'b> {
    pub(super) fn new<'s: 'b>(b: &'s Builder<'_>, id: NodeId) -> T<'b> {
        T { b, id }
    }

    /// Returns the node.
    pub fn id(self) -> NodeId {
        self.id
    }

    /// Returns the tensor's type.
    pub fn ty(self) -> Option<Arc<TensorType>> {
        self.b.tensor_type(self.id)
    }

    /// Returns the dtype.
    pub fn dtype(self) -> Dtype {
        self.ty().map_or(Dtype::F32, |t| t.dtype)
    }

    /// Returns the number of dimensions.
    pub fn rank(self) -> usize {
        self.ty().map_or(0, |t| t.rank())
    }

    /// Returns the number of dimensions, at least 1: what dimension arguments count by.
    pub fn dims(self) -> i64 {
        signed(self.rank().max(1))
    }

    /// Returns the sizes, symbolic or not.
    pub fn sizes(self) -> Sizes {
        self.ty().map(|t| t.sizes.clone()).unwrap_or_default()
    }

    fn at(self, d: i64) -> usize {
        let d = if d < 0 { d.saturating_add(signed(self.rank())) } else { d };
        usize::try_from(d).unwrap_or(usize::MAX)
    }

    /// Returns the size of a dimension (negative: from the back) at the level of types.
    pub fn dim(self, d: i64) -> Dim {
        self.sizes().get(self.at(d)).copied().unwrap_or(Dim::Fixed(1))
    }

    /// Returns the size of a dimension, which must be known.
    pub fn fixed(self, d: i64) -> Result<i64, CallFault> {
        self.b.fixed(self.dim(d))
    }

    /// Returns the size of a dimension as an argument: a number, or the call that asks for it.
    pub fn size(self, d: i64) -> Arg {
        match self.dim(d) {
            Dim::Fixed(n) => Arg::Int(n),
            Dim::Expr(_) => Arg::Node(self.b.emit("sym_size.int", args![self, signed(self.at(d))])),
        }
    }

    /// Returns all sizes as arguments.
    pub fn shape(self) -> Vec<Arg> {
        (0..signed(self.rank())).map(|d| self.size(d)).collect()
    }

    /// Returns the number of elements as an argument.
    pub fn numel(self) -> Arg {
        self.b.size_product(&self.shape())
    }

    /// Returns the number of elements, which must be known.
    pub fn count(self) -> Result<i64, CallFault> {
        let sizes = self.sizes();
        let product = self.b.decide(|s| sizes::product(s, &sizes))?;
        self.b.fixed(product)
    }

    /// Emits a call of one argument.
    pub fn op(self, name: &str) -> T<'b> {
        self.b.op(name, args![self])
    }

    /// Emits a call whose first argument is this value.
    pub fn call(self, name: &str, rest: Actual) -> T<'b> {
        self.b.op(name, rest.after(self.into()))
    }

    /// Returns the value in a dtype: itself where it has that.
    pub fn to(self, dtype: Dtype) -> T<'b> {
        if self.dtype() == dtype { self } else { self.call("_to_copy", args![; dtype = dtype]) }
    }

    /// Returns the value in the dtype in which PyTorch computes: f32 for f16 and bf16.
    pub fn wide(self) -> T<'b> {
        self.to(wide(self.dtype()))
    }

    /// Returns `n - self`.
    pub fn minus_from(self, n: impl Into<Arg>) -> T<'b> {
        self.call("rsub", args![n.into()])
    }

    /// Returns 1 / self.
    pub fn recip(self) -> T<'b> {
        self.op("reciprocal")
    }

    /// Returns the value to a known power.
    pub fn pow(self, exponent: impl Into<Arg>) -> T<'b> {
        self.call("pow.Tensor_Scalar", args![exponent.into()])
    }

    /// Returns the sum over dimensions.
    pub fn sum(self, dims: &[i64], keep: bool) -> T<'b> {
        self.call("sum.dim_IntList", args![ints(dims), keep])
    }

    /// Returns the mean over dimensions.
    pub fn mean(self, dims: &[i64], keep: bool) -> T<'b> {
        self.call("mean.dim", args![ints(dims), keep])
    }

    /// Returns the greatest over dimensions.
    pub fn amax(self, dims: &[i64], keep: bool) -> T<'b> {
        self.call("amax", args![ints(dims), keep])
    }

    /// Returns the least within bounds.
    pub fn clamp(self, low: impl Into<Arg>, high: impl Into<Arg>) -> T<'b> {
        self.call("clamp", args![low.into(), high.into()])
    }

    /// Replaces elements where `mask` holds.
    pub fn fill_where(self, mask: T<'b>, value: impl Into<Arg>) -> T<'b> {
        self.call("masked_fill.Scalar", args![mask, value.into()])
    }

    /// Returns the value in other sizes, a view where there can be one.
    pub fn reshape(self, sizes: impl Into<Vec<Arg>>) -> T<'b> {
        self.call("reshape", args![sizes.into()])
    }

    /// Returns a view in other sizes.
    pub fn view(self, sizes: impl Into<Vec<Arg>>) -> T<'b> {
        self.call("view", args![sizes.into()])
    }

    /// Returns whether there is a view in these sizes, where that is known.
    pub fn viewable(self, sizes: &[Dim]) -> Result<Option<bool>, CallFault> {
        let Some(ty) = self.ty() else { return Ok(None) };
        Ok(match self.b.decide(|s| viewed::view(s, &ty, sizes))? {
            Viewed::As(_) => Some(true),
            Viewed::Never => Some(false),
            Viewed::Unknown => None,
        })
    }

    /// Returns a broadcast view.
    pub fn expand(self, sizes: impl Into<Vec<Arg>>) -> T<'b> {
        self.call("expand", args![sizes.into()])
    }

    /// Returns a view with dimensions in another order.
    pub fn permute(self, dims: &[i64]) -> T<'b> {
        self.call("permute", args![ints(dims)])
    }

    /// Returns a view with two dimensions exchanged.
    pub fn transpose(self, a: i64, b: i64) -> T<'b> {
        self.call("transpose.int", args![a, b])
    }

    /// Returns a view with a dimension of size 1 more.
    pub fn unsqueeze(self, d: i64) -> T<'b> {
        self.call("unsqueeze", args![d])
    }

    /// Returns a view with as many dimensions of size 1 more at the end.
    pub fn pad_rank(self, count: usize) -> T<'b> {
        (0..count).fold(self, |x, _| x.unsqueeze(-1))
    }

    /// Returns a view without a dimension of size 1.
    pub fn squeeze(self, d: i64) -> T<'b> {
        self.call("squeeze.dim", args![d])
    }

    /// Returns a view of one index of a dimension.
    pub fn select(self, d: i64, at: impl Into<Arg>) -> T<'b> {
        self.call("select.int", args![d, at.into()])
    }

    /// Returns a view of a range of a dimension.
    pub fn slice(self, d: i64, start: impl Into<Arg>, end: impl Into<Arg>) -> T<'b> {
        self.call("slice.Tensor", args![d, start.into(), end.into()])
    }

    /// Returns a view of every second index from `start` on.
    pub fn every_second(self, d: i64, start: i64) -> T<'b> {
        self.call("slice.Tensor", args![d, start, i64::MAX, 2])
    }

    /// Returns the two halves of a dimension, the first one longer where it is odd.
    pub fn halves(self, d: i64) -> Result<(T<'b>, T<'b>), CallFault> {
        let n = self.fixed(d)?;
        let half = n.saturating_add(1).div_euclid(2);
        self.b.only(n >= 2, "a dimension that has no halves")?;
        Ok((self.slice(d, 0, half), self.slice(d, half, n)))
    }

    /// Returns a contiguous copy.
    pub fn copy(self) -> T<'b> {
        self.call("clone", args![; memory_format = Arg::MemoryFormat(MemoryFormat::Contiguous)])
    }

    /// Returns a copy with the strides that `empty_like` gives.
    pub fn duplicate(self) -> T<'b> {
        self.op("clone")
    }

    /// Returns whether it is surely contiguous.
    pub fn is_contiguous(self) -> bool {
        self.ty().is_some_and(|t| self.b.decide(|s| layout::is_contiguous(s, &t)) == Some(true))
    }

    /// Returns itself where it surely is contiguous, else a contiguous copy.
    pub fn contiguous(self) -> T<'b> {
        if self.is_contiguous() { self } else { self.copy() }
    }
}

/// The dtype in which PyTorch computes on that one.
pub fn wide(dtype: Dtype) -> Dtype {
    match dtype {
        Dtype::F16 | Dtype::Bf16 => Dtype::F32,
        Dtype::C32 => Dtype::C64,
        other => other,
    }
}

/// A list of integers as an argument.
pub fn ints(values: &[i64]) -> Arg {
    Arg::list(values.iter().copied())
}
