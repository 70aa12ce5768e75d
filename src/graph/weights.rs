//! Weights: bytes by name, mapped and shared, never decoded without need.

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;

use super::{Span, TensorType};

/// Bytes that somebody owns: a mapped file, or memory. Cheap to clone and to cut.
#[derive(Clone)]
pub struct Bytes {
    owner: Arc<dyn AsRef<[u8]> + Send + Sync>,
    start: usize,
    len: usize,
}

impl Bytes {
    /// Returns all bytes of `owner`.
    pub fn new(owner: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        let len = owner.as_ref().len();
        Self { owner: Arc::new(owner), start: 0, len }
    }

    /// Returns `len` bytes from `start`, sharing the owner; `None` where they do not lie inside.
    pub fn cut(&self, start: usize, len: usize) -> Option<Self> {
        let end = start.checked_add(len)?;
        if end > self.len {
            return None;
        }
        Some(Self { owner: self.owner.clone(), start: self.start.checked_add(start)?, len })
    }

    /// Returns the bytes of a span.
    pub fn slice(&self, span: Span) -> Option<&[u8]> {
        let start = usize::try_from(span.start).ok()?;
        self.as_slice().get(start..start.checked_add(span.len as usize)?)
    }

    /// Returns the bytes.
    pub fn as_slice(&self) -> &[u8] {
        let whole: &[u8] = (*self.owner).as_ref();
        whole.get(self.start..self.start.saturating_add(self.len)).unwrap_or(&[])
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bytes({})", self.len)
    }
}

/// One named tensor: its place in a storage.
#[derive(Clone, Debug)]
pub struct Weight {
    /// Type: sizes, strides and offset place the tensor in its storage.
    pub ty: TensorType,
    /// Which storage; names with one storage share memory.
    pub storage: Arc<str>,
    /// Whether it is a parameter.
    pub is_param: bool,
}

/// What is wrong with weights.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum WeightError {
    /// A name without data.
    #[error("no weight named `{name}`; give the file that holds it with --weights")]
    Missing {
        /// Fully qualified name.
        name: String,
    },
    /// A storage that ends before its tensor does.
    #[error("weight `{name}` needs {needed} bytes of storage `{storage}`, which has {found}")]
    TooShort {
        /// Fully qualified name.
        name: String,
        /// Storage.
        storage: String,
        /// Bytes needed, from the storage's start.
        needed: u64,
        /// Bytes there.
        found: u64,
    },
}

/// Parameters, buffers and lifted constants by fully qualified name, and the storages that they lie in.
#[derive(Clone, Debug, Default)]
pub struct Weights {
    /// Parameters and persistent buffers.
    pub state: IndexMap<Box<str>, Weight>,
    /// Non-persistent buffers and lifted constants.
    pub constants: IndexMap<Box<str>, Weight>,
    /// Bytes by storage name, little endian, unpadded.
    pub storages: IndexMap<Arc<str>, Bytes>,
}

impl Weights {
    /// Returns the tensor of that name and its storage's bytes.
    pub fn find(&self, name: &str) -> Result<(&Weight, &Bytes), WeightError> {
        let missing = || WeightError::Missing { name: name.to_string() };
        let weight = self.state.get(name).or_else(|| self.constants.get(name)).ok_or_else(missing)?;
        let bytes = self.storages.get(&weight.storage).ok_or_else(missing)?;
        Ok((weight, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_outside_is_refused() {
        let bytes = Bytes::new(vec![1_u8, 2, 3, 4]);
        assert_eq!(bytes.cut(1, 2).unwrap().as_slice(), [2, 3]);
        assert!(bytes.cut(3, 2).is_none());
        assert!(bytes.cut(usize::MAX, 2).is_none());
        assert_eq!(bytes.cut(1, 3).unwrap().cut(1, 2).unwrap().as_slice(), [3, 4]);
    }
}
