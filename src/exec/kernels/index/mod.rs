//! Reading and writing by index.
//!
//! - `cells`: elements at places of a storage: read, overwritten, accumulated into;
//! - `advanced`: index lists (`x[i, :, j]`), masks among them;
//! - `lines`: `gather` and `scatter`: an index for every element, along one dimension;
//! - `rows`: `index_select`, `index_add` and the like: an index for every slice of a dimension; `take` and `put`;
//! - `reduction`: which accumulation a name means, means among them;
//! - `masked`: where a mask is true;
//! - `embedding`: rows of a table, alone and in bags.
//!
//! Promises: negative and outlying indices are taken or refused as PyTorch's kernel of that operator does; duplicates act in row-major order;
//! accumulation rounds to the dtype at each step; forms in place touch only what they write.

mod advanced;
mod bag;
mod cells;
mod embedding;
mod lines;
mod masked;
mod reduction;
mod rows;

pub(in crate::exec) use crate::exec::kernels::index::advanced::KERNELS as ADVANCED;
pub(in crate::exec) use crate::exec::kernels::index::bag::KERNELS as BAGS;
pub(in crate::exec) use crate::exec::kernels::index::embedding::KERNELS as EMBEDDING;
pub(in crate::exec) use crate::exec::kernels::index::lines::KERNELS as LINES;
pub(in crate::exec) use crate::exec::kernels::index::masked::KERNELS as MASKED;
pub(in crate::exec) use crate::exec::kernels::index::rows::KERNELS as ROWS;
