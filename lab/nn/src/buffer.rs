//! Large buffers that are used again.
//!
//! A step of training needs the same memory as the step before. Given back to the system, it would come
//! back page by page, each cleared first, which takes a tenth of the time of a large step.

use std::{
    ops::{Deref, DerefMut},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Numbers in memory that others have used before, and will use again.
#[derive(Debug, Default)]
pub struct Buffer {
    values: Vec<f32>,
    /// Not counted among what buffers have.
    passing: bool,
}

/// Memory that waits to be used, and how much there is.
#[derive(Debug)]
struct Store {
    /// What waits, the smallest first.
    free: Vec<Vec<f32>>,
    /// The numbers that wait.
    waiting: usize,
    /// The numbers in use.
    used: usize,
    /// The most that were in use at a time.
    most: usize,
    /// The numbers that buffers have, without what their memory has beyond.
    live: usize,
    /// The most that they had at a time, since it was forgotten.
    peak: usize,
}

static STORE: Mutex<Store> = Mutex::new(Store::new());

impl Store {
    const fn new() -> Self {
        Self { free: Vec::new(), waiting: 0, used: 0, most: 0, live: 0, peak: 0 }
    }

    /// Memory for so many numbers. It may hold fewer, with any values.
    fn take(&mut self, length: usize) -> Vec<f32> {
        let at = self.free.partition_point(|values| values.capacity() < length);
        // Much larger memory waits for others.
        let fits = self.free.get(at).is_some_and(|values| values.capacity() / 2 <= length);
        let values = if fits { self.free.remove(at) } else { Vec::with_capacity(length) };
        if fits {
            self.waiting -= values.capacity();
        }
        self.used += values.capacity();
        self.most = self.most.max(self.used);
        values
    }

    /// Counts the numbers of another buffer.
    fn count(&mut self, length: usize) {
        self.live += length;
        self.peak = self.peak.max(self.live);
    }

    /// Gives the memory back. No more waits than was ever in use at a time.
    fn put(&mut self, values: Vec<f32>) {
        // Nothing to use again, and nothing would ever take it.
        if values.capacity() == 0 {
            return;
        }
        self.used -= values.capacity();
        self.waiting += values.capacity();
        let at = self.free.partition_point(|free| free.capacity() < values.capacity());
        self.free.insert(at, values);
        while self.waiting > self.most {
            // The smallest is the quickest to get again.
            self.waiting -= self.free.remove(0).capacity();
        }
    }
}

fn store() -> MutexGuard<'static, Store> {
    STORE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The most bytes that buffers had at a time, since it was forgotten.
pub(crate) fn peak_bytes() -> u64 {
    4 * store().peak as u64
}

/// Forgets the most bytes, but for those that buffers have now.
pub(crate) fn reset_peak() {
    let mut store = store();
    store.peak = store.live;
}

impl Buffer {
    /// So many numbers, as others left them.
    fn used(length: usize, passing: bool) -> Self {
        let mut values = {
            let mut store = store();
            if !passing {
                store.count(length);
            }
            store.take(length)
        };
        values.resize(length, 0.0);
        Self { values, passing }
    }

    /// So many numbers, which may be any until they are written.
    pub(crate) fn any(length: usize) -> Self {
        let mut buffer = Self::used(length, false);
        if cfg!(debug_assertions) {
            // The tests find code that reads them before it writes them.
            buffer.fill(f32::NAN);
        }
        buffer
    }

    /// So many zeros.
    pub(crate) fn zeros(length: usize) -> Self {
        let mut buffer = Self::used(length, false);
        buffer.fill(0.0);
        buffer
    }

    /// So many numbers, which may be any until they are written, that are needed for a moment and not counted.
    pub(crate) fn passing(length: usize) -> Self {
        let mut buffer = Self::used(length, true);
        if cfg!(debug_assertions) {
            buffer.fill(f32::NAN);
        }
        buffer
    }

    /// So many zeros that are needed for a moment and not counted. Threads need them at the same time or
    /// one after another, as it happens, and the most bytes should be the same in every run.
    pub(crate) fn passing_zeros(length: usize) -> Self {
        let mut buffer = Self::used(length, true);
        buffer.fill(0.0);
        buffer
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let values = std::mem::take(&mut self.values);
        let mut store = store();
        if !self.passing {
            store.live -= values.len();
        }
        store.put(values);
    }
}

impl From<&[f32]> for Buffer {
    fn from(values: &[f32]) -> Self {
        let mut buffer = Self::any(values.len());
        buffer.copy_from_slice(values);
        buffer
    }
}

impl From<Vec<f32>> for Buffer {
    fn from(values: Vec<f32>) -> Self {
        let mut store = store();
        store.count(values.len());
        store.used += values.capacity();
        store.most = store.most.max(store.used);
        Self { values, passing: false }
    }
}

impl Deref for Buffer {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.values
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_if_it_fits() {
        let mut store = Store::new();
        let (small, large) = (store.take(100), store.take(1000));
        let (small_at, large_at) = (small.as_ptr(), large.as_ptr());
        store.put(large);
        store.put(small);
        // Neither fits: one is too small, the other too large.
        let other = store.take(300);
        assert!(other.as_ptr() != small_at && other.as_ptr() != large_at);
        let (large, small) = (store.take(900), store.take(60));
        assert_eq!((large.as_ptr(), small.as_ptr()), (large_at, small_at));
    }

    #[test]
    fn no_more_waits_than_was_in_use() {
        let mut store = Store::new();
        for length in 1..100 {
            let values = store.take(1000 * length);
            store.put(values);
            assert!(store.waiting <= store.most && store.used == 0);
            assert_eq!(store.waiting, store.free.iter().map(Vec::capacity).sum::<usize>());
        }
    }

    #[test]
    fn what_has_no_memory_does_not_wait() {
        let mut store = Store::new();
        for _ in 0..3 {
            store.put(Vec::new());
        }
        assert!(store.free.is_empty());
    }

    #[test]
    fn zeros_are_zero_in_used_memory() {
        Buffer::any(5000).fill(1.0);
        assert!(Buffer::zeros(5000).iter().all(|&value| value == 0.0));
    }
}
