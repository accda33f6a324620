//! A CUDA device, and sums and products that several operations need.
#![expect(unsafe_code, reason = "kernels are launched on memory whose sizes are checked")]

use std::sync::{Arc, Mutex, PoisonError};

use super::{
    device::Device,
    kernels::{Kernel, arguments},
    memory::Memory,
    packing::Packing,
    span::{Matrix, Span},
};
use crate::{batch::Frame, engine::EngineError};

/// How many batches' lengths and places stay on the device.
const FRAMES: usize = 8;

/// A CUDA device.
///
/// Threads may share one. A program should not have two for the same device: blocks of a recurrent
/// layer wait for each other, and want the device to themselves.
#[derive(Debug)]
pub struct Cuda {
    pub(super) device: Arc<Device>,
    /// The lengths and places of the last batches, on the device.
    frames: Mutex<Vec<Arc<Packing>>>,
}

impl Cuda {
    /// The device of this number, counted from 0.
    ///
    /// # Errors
    ///
    /// When there is no driver, no such device, or no cuBLAS.
    pub fn new(ordinal: usize) -> Result<Self, EngineError> {
        Ok(Self { device: Arc::new(Device::new(ordinal)?), frames: Mutex::default() })
    }

    /// How many devices there are.
    ///
    /// # Errors
    ///
    /// When there is no driver.
    pub fn count() -> Result<usize, EngineError> {
        Device::count()
    }

    /// The lengths of a batch on the device.
    pub(super) fn lengths(&self, frame: &Frame) -> Result<Arc<Memory>, EngineError> {
        Ok(Arc::clone(self.packing(frame)?.lengths()))
    }

    /// The places of a batch that are computed.
    pub(super) fn packing(&self, frame: &Frame) -> Result<Arc<Packing>, EngineError> {
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match frames.iter().position(|packing| packing.frame() == frame) {
            Some(at) => frames.remove(at),
            None => Arc::new(Packing::new(&self.device, frame)?),
        };
        if frames.len() == FRAMES {
            frames.remove(0);
        }
        frames.push(Arc::clone(&found));
        Ok(found)
    }

    /// `out += a · b` for a few small matrices with a long inner size, where `a` is transposed. Shares
    /// of the inner size are multiplied at the same time, and added in order.
    pub(super) fn add_product(
        &self,
        (m, k, n): (usize, usize, usize),
        a: Matrix<'_>,
        b: Matrix<'_>,
        out: Matrix<'_>,
        count: usize,
    ) -> Result<(), EngineError> {
        let device = &self.device;
        if k == 0 {
            return Ok(());
        }
        // About as many blocks as run at the same time, each of which makes a square of the product.
        let squares = m.div_ceil(128) * n.div_ceil(128) * count;
        let shares = (2 * device.blocks / squares).min(k / 128).max(1);
        if shares == 1 {
            return device.product((m, k, n), a, b, out, 1.0, count);
        }
        let share = k / shares;
        let parts = Memory::new(device, count * shares * m * n)?;
        for which in 0..count {
            device.product(
                (m, share, n),
                a.skip(which * a.stride).every(share * a.apart),
                b.skip(which * b.stride).every(share * b.apart),
                Matrix::new(parts.at().skip(which * shares * m * n), n).every(m * n),
                0.0,
                shares,
            )?;
        }
        let done = share * shares;
        let (a, b) = (a.skip(done * a.apart), b.skip(done * b.apart));
        device.product((m, k - done, n), a, b, out, 1.0, count)?;
        assert!(out.apart == n && out.holds(m, n, count), "a product beyond the end");
        // SAFETY: there are `shares` parts of `m * n` numbers for each product, which are `out.stride` apart.
        unsafe {
            device.launch(
                Kernel::AddParts,
                [(m * n).div_ceil(256), 1, count],
                [256, 1],
                0,
                arguments![shares, m * n, parts.at(), out.at, out.stride],
            )
        }
    }

    /// Adds the sum over all rows of matrices to vectors, which are so many numbers apart.
    pub(super) fn add_rows(
        &self,
        (out, apart): (Span<'_>, usize),
        values: Span<'_>,
        rows: usize,
        width: usize,
        count: usize,
    ) -> Result<(), EngineError> {
        if rows == 0 {
            return Ok(());
        }
        let share = rows.div_ceil(64).max(32);
        let shares = rows.div_ceil(share);
        let parts = Memory::new(&self.device, count * shares * width)?;
        assert!(count * rows * width <= values.count(), "rows beyond the end");
        assert!(out.holds_rows(count, width, apart), "sums beyond the end");
        // SAFETY: there are `rows` rows of `width` numbers for each matrix, `shares` sums of them, and a
        // vector of `width` numbers for each, `apart` numbers after the one before.
        unsafe {
            self.device.launch(
                Kernel::SumRows,
                [width.div_ceil(32), shares, count],
                [32, 8],
                0,
                arguments![rows, width, share, values, parts.at()],
            )?;
            self.device.launch(
                Kernel::AddParts,
                [width.div_ceil(256), 1, count],
                [256, 1],
                0,
                arguments![shares, width, parts.at(), out, apart],
            )
        }
    }
}
