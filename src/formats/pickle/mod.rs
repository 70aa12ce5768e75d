//! Pickles as `torch.save` writes them: tensors, the containers around them, and nothing else.
//!
//! A pickle is a program for a stack machine that may call anything in Python. [`read`] runs that machine over the opcodes that
//! `torch.save` writes (protocol 2) and knows a short table of names: the functions that rebuild a tensor or a parameter, the storage types, the
//! dtypes, and `OrderedDict`. Any other name, call or opcode is a [`PickleError`] that says which.
//!
//! Promises:
//! - nothing is executed, imported or looked up outside the tables of `global`;
//! - time and memory are linear in the pickle, which is at most [`LARGEST`] bytes; there is no recursion, so nesting costs nothing;
//! - what is given has the form that it claims: a tensor has as many sizes as strides, none of them negative.
//!
//! Leaves to others: the bytes of storages, which lie beside the pickle and are named here by key, and whether a tensor lies inside
//! its storage.

mod call;
mod error;
mod global;
mod machine;
mod value;

pub use error::PickleError;
pub use machine::{LARGEST, read};
pub use value::{Pickle, Storage, Tensor, Value, ValueId};
