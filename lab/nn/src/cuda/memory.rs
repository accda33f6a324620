//! Memory of the device: taken once, and used again.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError},
};

use super::device::Device;
use crate::engine::EngineError;

/// An address on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pointer(pub(super) u64);

impl Pointer {
    /// So many numbers of four bytes further.
    pub(super) fn skip(self, numbers: usize) -> Self {
        Self(self.0 + 4 * numbers as u64)
    }
}

/// The size that is taken for so many bytes: eight sizes to a doubling, so that memory of one batch
/// serves the next of about its size, and a batch of a shape seen before finds all it needs.
pub(super) fn size_class(bytes: usize) -> usize {
    let bytes = bytes.max(512);
    let step = (1 << bytes.ilog2() >> 3).max(512);
    bytes.next_multiple_of(step)
}

/// What is free, by size, and what is in use.
#[derive(Debug, Default)]
pub(super) struct Pool {
    free: BTreeMap<usize, Vec<u64>>,
    /// Bytes that were asked for and are in use.
    live: u64,
    /// The most of them at a time.
    peak: u64,
    /// How often nothing free was found.
    misses: u64,
}

impl Pool {
    /// A free address of this size.
    pub(super) fn take(&mut self, class: usize) -> Option<u64> {
        let found = self.free.get_mut(&class).and_then(Vec::pop);
        self.misses += u64::from(found.is_none());
        found
    }

    /// Gives an address back.
    pub(super) fn put(&mut self, class: usize, address: u64) {
        self.free.entry(class).or_default().push(address);
    }

    /// All free addresses, which are no longer the pool's.
    pub(super) fn drain(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.free).into_values().flatten().collect()
    }

    /// Counts bytes that come into use.
    pub(super) fn count(&mut self, bytes: usize) {
        self.live += bytes as u64;
        self.peak = self.peak.max(self.live);
    }

    /// Counts bytes that are no longer in use.
    pub(super) fn discount(&mut self, bytes: usize) {
        self.live -= bytes as u64;
    }

    pub(super) fn live(&self) -> u64 {
        self.live
    }

    /// How often nothing free was found.
    #[cfg(test)]
    pub(super) fn misses(&self) -> u64 {
        self.misses
    }

    pub(super) fn peak(&self) -> u64 {
        self.peak
    }

    pub(super) fn reset_peak(&mut self) {
        self.peak = self.live;
    }
}

/// A piece of the device's memory, which goes back to the pool in the end.
///
/// Everything happens in one order on the device, so what comes after may use it at once.
#[derive(Debug)]
pub(super) struct Memory {
    device: Arc<Device>,
    address: u64,
    bytes: usize,
}

impl Memory {
    /// So many numbers of four bytes; they may be anything.
    pub(super) fn new(device: &Arc<Device>, numbers: usize) -> Result<Self, EngineError> {
        let bytes = 4 * numbers;
        let address = device.take(bytes)?;
        Ok(Self { device: Arc::clone(device), address, bytes })
    }

    /// Where it begins.
    pub(super) fn at(&self) -> Pointer {
        Pointer(self.address)
    }

    /// How many numbers of four bytes it holds.
    pub(super) fn count(&self) -> usize {
        self.bytes / 4
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let mut pool = self.device.pool.lock().unwrap_or_else(PoisonError::into_inner);
        pool.put(size_class(self.bytes), self.address);
        pool.discount(self.bytes);
    }
}

/// Numbers in the device's memory, for the engine that made it.
///
/// A layer keeps its output for the way back, so memory may have two owners; who changes it then has
/// a copy made.
#[derive(Debug)]
pub struct CudaBuffer(pub(super) Arc<Memory>);

impl CudaBuffer {
    /// So many numbers, which may be anything.
    pub(super) fn new(device: &Arc<Device>, count: usize) -> Result<Self, EngineError> {
        Ok(Self(Arc::new(Memory::new(device, count)?)))
    }

    /// How many numbers it has.
    pub(super) fn count(&self) -> usize {
        self.0.count()
    }

    /// Where it is, to be read.
    pub(super) fn at(&self) -> Pointer {
        self.0.at()
    }

    /// Where it is, to be changed.
    pub(super) fn change(&mut self, device: &Arc<Device>) -> Result<Pointer, EngineError> {
        if Arc::get_mut(&mut self.0).is_none() {
            let copy = Memory::new(device, self.count())?;
            device.copy(copy.at(), self.at(), self.count())?;
            self.0 = Arc::new(copy);
        }
        Ok(self.0.at())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_room_and_waste_little() {
        for bytes in (1..5000).chain([1 << 20, (1 << 20) + 1, 123_456_789]) {
            let class = size_class(bytes);
            assert!(class >= bytes && class.is_multiple_of(512), "{bytes}");
            assert!(class <= (bytes + 511).max(bytes + bytes / 8 + 1), "{bytes}: {class}");
            assert_eq!(size_class(class), class, "{bytes}");
        }
    }

    #[test]
    fn what_is_given_back_is_found_again() {
        let mut pool = Pool::default();
        assert_eq!(pool.take(512), None);
        pool.put(512, 7);
        pool.put(1024, 8);
        assert_eq!(pool.take(512), Some(7));
        assert_eq!(pool.take(512), None);
        assert_eq!(pool.misses(), 2);
        assert_eq!(pool.drain(), [8]);
        pool.count(10);
        pool.count(20);
        pool.discount(20);
        assert_eq!((pool.live(), pool.peak()), (10, 30));
        pool.reset_peak();
        assert_eq!(pool.peak(), 10);
    }
}
