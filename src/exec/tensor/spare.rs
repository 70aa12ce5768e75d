//! Spare memory: what tensors released, for the next tensors of the same size.
//!
//! A model asks for the same sizes again and again, layer by layer; pages that the system gave once are not asked for again, nor zeroed.
//! Promises: spare memory is never more than its owner allows, which forgets the oldest first. Small pieces are left to the allocator.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytemuck::Pod;

/// Elements of some type, as bytes.
pub(super) trait Memory: Any + Send + Sync {
    fn bytes(&self) -> &[u8];
    fn bytes_mut(&mut self) -> &mut [u8];
}

impl<T: Pod + Send + Sync> Memory for Vec<T> {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(self)
    }
}

/// Fewer bytes than this are not kept.
const LEAST: usize = 1 << 15;

/// Released memory, the oldest first.
#[derive(Default)]
pub(super) struct Spare {
    all: Mutex<VecDeque<Box<dyn Memory>>>,
    bytes: AtomicUsize,
}

impl Spare {
    fn open(&self) -> MutexGuard<'_, VecDeque<Box<dyn Memory>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns `count` elements of whatever values.
    pub fn take<T: Pod + Send + Sync>(&self, count: usize) -> Vec<T> {
        let bytes = count.saturating_mul(size_of::<T>());
        let kept = if bytes < LEAST { None } else { self.find::<T>(count, bytes) };
        let mut out = kept.unwrap_or_else(|| vec![T::zeroed(); count]);
        // Whoever does not write all of it is found out by tests.
        if cfg!(debug_assertions) {
            bytemuck::cast_slice_mut::<T, u8>(&mut out).fill(0xff);
        }
        out
    }

    fn find<T: Pod + Send + Sync>(&self, count: usize, bytes: usize) -> Option<Vec<T>> {
        if self.bytes.load(Ordering::Relaxed) < bytes {
            return None;
        }
        let mut all = self.open();
        let fits = |m: &dyn Any| m.downcast_ref::<Vec<T>>().is_some_and(|v| v.len() == count);
        let found: Box<dyn Any> = all.iter().rposition(|m| fits(&**m)).and_then(|k| all.remove(k))?;
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        found.downcast::<Vec<T>>().ok().map(|v| *v)
    }

    /// Keeps released memory, of all of it at most `limit` bytes.
    pub fn keep(&self, memory: Box<dyn Memory>, limit: usize) {
        let bytes = memory.bytes().len();
        if bytes < LEAST || bytes > limit {
            return;
        }
        self.shrink(limit.saturating_sub(bytes));
        self.open().push_back(memory);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Forgets what is beyond `limit` bytes.
    pub fn shrink(&self, limit: usize) {
        while self.bytes.load(Ordering::Relaxed) > limit {
            let Some(oldest) = self.open().pop_front() else { return };
            self.bytes.fetch_sub(oldest.bytes().len(), Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for Spare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Spare({})", self.bytes.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use crate::exec::tensor::storage::{Meter, Storage};

    const MANY: usize = 1 << 14;

    /// Where the memory of a storage lies.
    fn place(storage: &Storage) -> usize {
        storage.read().unwrap().bytes().as_ptr().addr()
    }

    #[test]
    fn released_memory_is_taken_by_the_next_of_its_type_and_length() {
        let meter = Meter::default();
        let first = Storage::new(vec![0_f32; MANY], &meter);
        let at = place(&first);
        drop(first);
        let other = meter.unset::<f32>(MANY + 1);
        let bytes = meter.unset::<u32>(MANY);
        let again = meter.unset::<f32>(MANY);
        assert_eq!(again.as_ptr().addr(), at);
        assert_eq!((other.len(), bytes.len(), again.len()), (MANY + 1, MANY, MANY));
    }

    #[test]
    fn live_and_spare_memory_together_are_never_more_than_lived_at_once() {
        let meter = Meter::default();
        let (a, b) = (Storage::new(vec![0_f32; MANY], &meter), Storage::new(vec![0_f64; MANY], &meter));
        let peak = meter.peak();
        drop((a, b));
        // As much as both were lives now: nothing of them may be left.
        let whole = Storage::new(vec![0_u8; peak], &meter);
        assert_eq!((meter.peak(), meter.live()), (peak, peak));
        assert!(format!("{meter:?}").contains("Spare(0)"), "{meter:?}");
        drop(whole);
        assert!(format!("{meter:?}").contains(&format!("Spare({peak})")), "{meter:?}");
    }

    #[test]
    fn small_pieces_are_not_kept() {
        let meter = Meter::default();
        drop(Storage::new(vec![0_f32; 8], &meter));
        assert!(format!("{meter:?}").contains("Spare(0)"), "{meter:?}");
    }
}
