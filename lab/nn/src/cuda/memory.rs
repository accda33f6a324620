//! Memory of the device that is in use.
#![expect(unsafe_code, reason = "the owner of the memory says how much of it there is")]

use std::sync::Arc;

use super::{
    device::{Device, Plain},
    span::Span,
};
use crate::{check, engine::EngineError};

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

    /// These values, brought to the device without waiting.
    pub(super) fn upload<T: Plain>(
        device: &Arc<Device>,
        values: &[T],
    ) -> Result<Self, EngineError> {
        let memory = Self::new(device, size_of_val(values).div_ceil(4))?;
        device.write(memory.at(), values)?;
        Ok(memory)
    }

    /// All of it.
    pub(super) fn at(&self) -> Span<'_> {
        // SAFETY: so much was taken, and it is given back only when this is dropped.
        unsafe { Span::new(self.address, self.count()) }
    }

    /// How many numbers of four bytes it holds.
    pub(super) fn count(&self) -> usize {
        self.bytes / 4
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.device.give_back(self.address, self.bytes);
    }
}

/// Numbers in the device's memory, for the engine that made it.
///
/// A layer keeps its output for the way back, so memory may have two owners; one that changes it then has
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

    /// All of it, to be read.
    pub(super) fn at(&self) -> Span<'_> {
        self.0.at()
    }

    /// All of it, to be changed.
    pub(super) fn change(&mut self, device: &Arc<Device>) -> Result<Span<'_>, EngineError> {
        if Arc::get_mut(&mut self.0).is_none() {
            let copy = Memory::new(device, self.count())?;
            device.copy(copy.at(), self.at())?;
            self.0 = Arc::new(copy);
        }
        Ok(self.0.at())
    }

    /// Whether it has so many numbers.
    pub(super) fn is(&self, count: usize, what: &str) -> Result<(), EngineError> {
        check::count(self.count(), count, what)
    }

    /// Whether it has so many numbers from a place on.
    pub(super) fn holds(&self, at: usize, count: usize, what: &str) -> Result<(), EngineError> {
        check::holds(self.count(), at, count, what)
    }
}
