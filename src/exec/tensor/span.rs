//! Tensors as lanes with strides: where they lie if that is possible, so that a transposed operand costs nothing.

use crate::exec::tensor::Tensor;
use crate::exec::tensor::flat::Flat;
use crate::exec::tensor::lane::Lane;
use crate::exec::tensor::shape;
use crate::exec::tensor::shape::Shape;
use crate::ops::CallFault;

/// Lanes and how they are laid out; strides count elements.
pub struct Span<'a, L: Lane> {
    /// From the first element on.
    pub data: Flat<'a, L>,
    /// One size a dimension.
    pub sizes: Shape,
    /// One stride a dimension.
    pub strides: Shape,
}

impl<'a, L: Lane> Span<'a, L> {
    /// Opens a tensor. `owner` holds the memory of `view`, which says how it is read.
    pub fn open(owner: &'a Tensor, view: &Tensor) -> Result<Self, CallFault> {
        let sizes = view.meta.sizes.clone();
        if let Some(data) = owner.lend_span(view)? {
            return Ok(Span { data, sizes, strides: view.meta.strides.clone() });
        }
        let data = Flat::Own(view.lanes::<L>()?.into_vec());
        Ok(Span { data, strides: shape::contiguous(&sizes), sizes })
    }
}
