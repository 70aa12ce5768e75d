//! Storages: memory that tensors share, counted while it lives.
//!
//! A storage is memory of the run, or the bytes of a weight, which are copied when they are first written. Promises: bytes are little
//! endian; memory is released with the last tensor in it, and the meter knows how much lives. Leaves places in it to `tensor`, and what
//! becomes of released memory to `spare`.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

use bytemuck::Pod;

use crate::exec::tensor::spare::{Memory, Spare};
use crate::graph::Bytes;
use crate::ops::CallFault;

/// Counts bytes that live, and the most that lived at once.
#[derive(Clone, Debug, Default)]
pub struct Meter(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    live: AtomicUsize,
    peak: AtomicUsize,
    spare: Spare,
}

impl Meter {
    /// Returns how many bytes live now.
    pub fn live(&self) -> usize {
        self.0.live.load(Ordering::Relaxed)
    }

    /// Returns the most bytes that lived at once.
    pub fn peak(&self) -> usize {
        self.0.peak.load(Ordering::Relaxed)
    }

    /// Counts memory in use until the result is dropped.
    pub fn hold(&self, bytes: usize) -> Held {
        let live = self.0.live.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        let peak = self.0.peak.fetch_max(live, Ordering::Relaxed).max(live);
        self.0.spare.shrink(peak.saturating_sub(live));
        Held { meter: self.clone(), bytes }
    }

    /// Returns elements that all are to be written: of whatever values, in memory that was released where there is such.
    pub fn unset<T: Pod + Send + Sync>(&self, count: usize) -> Vec<T> {
        self.0.spare.take(count)
    }

    /// Keeps released memory for the next one of its size, as long as all together is no more than lived at once.
    fn release(&self, memory: Box<dyn Memory>) {
        self.0.spare.keep(memory, self.peak().saturating_sub(self.live()));
    }
}

/// Memory in use, counted until this is dropped.
#[derive(Debug)]
pub struct Held {
    meter: Meter,
    bytes: usize,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.meter.0.live.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

enum Kept {
    Owned(Box<dyn Memory>, Held),
    Mapped(Bytes),
    /// What is left when the storage is dropped.
    Nothing,
}

/// The content of a storage while it is read or written.
pub struct Content(Kept);

impl Content {
    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        match &self.0 {
            Kept::Owned(memory, _) => memory.bytes(),
            Kept::Mapped(bytes) => bytes.as_slice(),
            Kept::Nothing => &[],
        }
    }

    /// Returns the bytes to be written; those of a weight have been copied.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Kept::Owned(memory, _) => memory.bytes_mut(),
            Kept::Mapped(_) | Kept::Nothing => &mut [],
        }
    }
}

struct Inner {
    content: RwLock<Content>,
    meter: Meter,
}

impl Drop for Inner {
    fn drop(&mut self) {
        let content = self.content.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Kept::Owned(memory, held) = std::mem::replace(&mut content.0, Kept::Nothing) {
            drop(held);
            self.meter.release(memory);
        }
    }
}

/// Shared memory. Clones are the same storage.
#[derive(Clone)]
pub struct Storage(Arc<Inner>);

impl Storage {
    /// Returns a storage that holds these elements.
    pub fn new<T: Pod + Send + Sync>(elements: Vec<T>, meter: &Meter) -> Storage {
        let held = meter.hold(std::mem::size_of_val(elements.as_slice()));
        Self::of(Content(Kept::Owned(Box::new(elements), held)), meter)
    }

    /// Returns a storage over bytes that others hold too; the first write copies them.
    pub fn mapped(bytes: Bytes, meter: &Meter) -> Storage {
        Self::of(Content(Kept::Mapped(bytes)), meter)
    }

    fn of(content: Content, meter: &Meter) -> Storage {
        Storage(Arc::new(Inner { content: RwLock::new(content), meter: meter.clone() }))
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.read().map_or(0, |c| c.bytes().len())
    }

    /// Returns whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether both are the same memory.
    pub fn is(&self, other: &Storage) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns a number that differs between storages that live at the same time.
    pub fn identity(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// Returns whether these are a weight's bytes that nobody has written.
    pub fn is_untouched(&self) -> bool {
        self.read().is_ok_and(|c| matches!(c.0, Kept::Mapped(_)))
    }

    /// Opens the storage for reading.
    pub fn read(&self) -> Result<RwLockReadGuard<'_, Content>, CallFault> {
        match self.0.content.try_read() {
            Ok(guard) => Ok(guard),
            Err(TryLockError::Poisoned(broken)) => Ok(broken.into_inner()),
            Err(TryLockError::WouldBlock) => Err(in_use("read", "written")),
        }
    }

    /// Opens the storage for writing.
    pub fn write(&self) -> Result<RwLockWriteGuard<'_, Content>, CallFault> {
        let mut guard = match self.0.content.try_write() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(broken)) => broken.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(in_use("written", "read")),
        };
        if let Kept::Mapped(bytes) = &guard.0 {
            let copy = bytes.as_slice().to_vec();
            let held = self.0.meter.hold(copy.len());
            guard.0 = Kept::Owned(Box::new(copy), held);
        }
        Ok(guard)
    }

    /// Makes the storage at least `len` bytes long, new bytes zero: what `resize_` asks for.
    pub fn grow(&self, len: usize) -> Result<(), CallFault> {
        let mut guard = self.write()?;
        if guard.bytes().len() < len {
            let mut bytes = Vec::with_capacity(len);
            bytes.extend_from_slice(guard.bytes());
            bytes.resize(len, 0_u8);
            let held = self.0.meter.hold(len);
            guard.0 = Kept::Owned(Box::new(bytes), held);
        }
        Ok(())
    }
}

fn in_use(wanted: &str, other: &str) -> CallFault {
    CallFault::Unsupported { what: format!("memory that is to be {wanted} while the same call has it {other}") }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Storage({})", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_counted_while_it_lives_and_weights_when_they_are_written() {
        let meter = Meter::default();
        let weight = Storage::mapped(Bytes::new(vec![1_u8, 2, 3, 4]), &meter);
        assert_eq!((meter.live(), weight.len(), weight.is_untouched()), (0, 4, true));
        weight.write().unwrap().bytes_mut()[0] = 9;
        assert_eq!((meter.live(), weight.is_untouched()), (4, false));
        let other = Storage::new(vec![0_f32; 8], &meter);
        assert_eq!(meter.live(), 36);
        drop((weight, other));
        assert_eq!((meter.live(), meter.peak()), (0, 36));
    }

    #[test]
    fn writing_what_is_being_read_is_an_error_and_never_waits() {
        let storage = Storage::new(vec![0_u8; 4], &Meter::default());
        let reading = storage.read().unwrap();
        assert!(storage.write().is_err());
        drop(reading);
        assert!(storage.write().is_ok());
    }
}
