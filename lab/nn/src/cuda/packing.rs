//! The places of a batch that are computed, one after another.
#![expect(unsafe_code, reason = "kernels are launched on memory whose sizes are checked")]

use std::{cmp::Reverse, sync::Arc};

use super::{
    device::Device,
    kernels::{Kernel, arguments},
    memory::{CudaBuffer, Memory},
    span::Span,
};
use crate::{batch::Frame, engine::EngineError};

/// The order of the places of a batch that are computed: those that are not padding, unless the [`Frame`] says that
/// padding is computed too. They are in the order of time, and at each step the longest rows come first, so
/// that the rows which are running are always the first.
#[derive(Debug, PartialEq, Eq)]
struct Order {
    /// The rows, the longest first; of equally long ones, in the order of the batch.
    rows: Vec<usize>,
    /// Where each step that is computed begins among the places, and where the last one ends.
    begins: Vec<usize>,
}

impl Order {
    fn new(frame: &Frame) -> Self {
        let mut rows: Vec<usize> = (0..frame.rows()).collect();
        rows.sort_by_key(|&row| Reverse(frame.computed_length(row)));
        let mut begins = vec![0];
        let (mut running, mut places) = (rows.len(), 0);
        for step in 0..frame.computed_steps() {
            while running > 0 && !frame.computes(step, rows[running - 1]) {
                running -= 1;
            }
            places += running;
            begins.push(places);
        }
        Self { rows, begins }
    }

    /// How many steps are computed.
    fn steps(&self) -> usize {
        self.begins.len() - 1
    }

    /// How many places there are.
    fn places(&self) -> usize {
        self.begins[self.steps()]
    }

    /// Whether all rows are computed at all of its steps, so that its places are the first of the batch.
    fn is_even(&self) -> bool {
        self.places() == self.steps() * self.rows.len()
    }

    /// The rows, where each is among them, and where the steps begin.
    fn words(&self) -> Vec<u32> {
        let mut ranks = vec![0; self.rows.len()];
        for (rank, &row) in self.rows.iter().enumerate() {
            ranks[row] = rank;
        }
        [&self.rows, &ranks, &self.begins].into_iter().flatten().map(|&word| word as u32).collect()
    }
}

/// The places of a batch that are computed, and where they are, on the device.
#[derive(Debug)]
pub(super) struct Packing {
    device: Arc<Device>,
    frame: Frame,
    order: Order,
    lengths: Arc<Memory>,
    words: Memory,
}

/// Values of all places of a packing: those given, where they are one after another already, or a copy.
#[derive(Debug)]
pub(super) enum Packed<'a> {
    Given(Span<'a>),
    Copied(Memory),
}

impl Packed<'_> {
    pub(super) fn at(&self) -> Span<'_> {
        match self {
            Self::Given(values) => *values,
            Self::Copied(values) => values.at(),
        }
    }
}

impl Packing {
    /// The places of such a batch.
    pub(super) fn new(device: &Arc<Device>, frame: &Frame) -> Result<Self, EngineError> {
        let order = Order::new(frame);
        let lengths: Vec<u32> = frame.lengths().iter().map(|&length| length as u32).collect();
        Ok(Self {
            lengths: Arc::new(Memory::upload(device, &lengths)?),
            words: Memory::upload(device, &order.words())?,
            device: Arc::clone(device),
            frame: frame.clone(),
            order,
        })
    }

    /// The batch that it is of.
    pub(super) fn frame(&self) -> &Frame {
        &self.frame
    }

    /// The length of each row.
    pub(super) fn lengths(&self) -> &Arc<Memory> {
        &self.lengths
    }

    /// The rows in their order.
    pub(super) fn rows(&self) -> Span<'_> {
        self.words.at().first(self.frame.rows())
    }

    /// Where each row is in the order.
    fn ranks(&self) -> Span<'_> {
        self.words.at().skip(self.frame.rows()).first(self.frame.rows())
    }

    /// Where each step begins among the places, and where the last one ends.
    pub(super) fn begins(&self) -> Span<'_> {
        self.words.at().skip(2 * self.frame.rows())
    }

    /// How many steps are computed.
    pub(super) fn steps(&self) -> usize {
        self.order.steps()
    }

    /// How many places there are.
    pub(super) fn len(&self) -> usize {
        self.order.places()
    }

    /// Whether its places are the first of the batch.
    pub(super) fn is_even(&self) -> bool {
        self.order.is_even()
    }

    /// Where a step begins among the places.
    pub(super) fn begin(&self, step: usize) -> usize {
        self.order.begins[step]
    }

    /// How many rows are running at a step; they are the first in the order.
    pub(super) fn running(&self, step: usize) -> usize {
        self.begin(step + 1) - self.begin(step)
    }

    /// The values at all places, out of those of the whole batch.
    ///
    /// # Panics
    ///
    /// When the values are of another batch.
    pub(super) fn pack<'a>(
        &self,
        values: Span<'a>,
        width: usize,
    ) -> Result<Packed<'a>, EngineError> {
        assert_eq!(values.count(), self.frame.cells() * width, "values of another batch");
        if self.is_even() {
            return Ok(Packed::Given(values.first(self.len() * width)));
        }
        let packed = Memory::new(&self.device, self.len() * width)?;
        // SAFETY: `values` has a row of `width` for every place of the batch, and `packed` for every computed one.
        unsafe { self.launch(Kernel::Pack, width, values, packed.at()) }?;
        Ok(Packed::Copied(packed))
    }

    /// The values of the whole batch, of which `write` writes those at all places; zero elsewhere.
    pub(super) fn spread_from(
        &self,
        width: usize,
        write: impl FnOnce(Span<'_>) -> Result<(), EngineError>,
    ) -> Result<CudaBuffer, EngineError> {
        let out = CudaBuffer::new(&self.device, self.frame.cells() * width)?;
        let count = self.len() * width;
        if self.is_even() {
            self.device.fill(out.at().skip(count), 0)?;
            write(out.at().first(count))?;
            return Ok(out);
        }
        let packed = Memory::new(&self.device, count)?;
        write(packed.at())?;
        // SAFETY: `out` has a row of `width` for every place of the batch, and `packed` for every computed one.
        unsafe { self.launch(Kernel::Spread, width, packed.at(), out.at()) }?;
        Ok(out)
    }

    /// Sets all bits of the values at all places, and none elsewhere.
    ///
    /// # Panics
    ///
    /// When the values are of another batch.
    pub(super) fn unset(&self, values: Span<'_>, width: usize) -> Result<(), EngineError> {
        let (device, cells) = (&self.device, self.frame.cells());
        assert_eq!(values.count(), cells * width, "values of another batch");
        if self.is_even() {
            let count = self.len() * width;
            device.fill(values.first(count), 0xff)?;
            return device.fill(values.skip(count), 0);
        }
        let lengths = self.lengths.at();
        // SAFETY: `values` has a row of `width` for every place of the batch.
        unsafe {
            device.launch(
                Kernel::UnsetPlaces,
                [cells.div_ceil(8), 1, 1],
                [256, 1],
                0,
                arguments![cells, self.frame.rows(), width, lengths, values],
            )
        }
    }

    /// The outputs of the step before each place, which is the step after it for the backward direction; zero
    /// where there is none. One direction after the other.
    ///
    /// # Panics
    ///
    /// When the outputs are of another batch.
    pub(super) fn pack_previous(
        &self,
        outputs: Span<'_>,
        units: usize,
        directions: usize,
    ) -> Result<Memory, EngineError> {
        let (cells, places) = (self.frame.cells(), self.len());
        assert_eq!(outputs.count(), cells * directions * units, "outputs of another batch");
        let packed = Memory::new(&self.device, directions * places * units)?;
        // SAFETY: `outputs` has `units` for every place of the batch and direction, and `packed` for every
        // computed one.
        unsafe {
            self.device.launch(
                Kernel::PackPrevious,
                [cells.div_ceil(8), 1, 1],
                [256, 1],
                0,
                arguments![
                    cells,
                    self.frame.rows(),
                    units,
                    directions,
                    places,
                    self.lengths.at(),
                    self.ranks(),
                    self.begins(),
                    outputs,
                    packed.at(),
                ],
            )
        }?;
        Ok(packed)
    }

    /// Runs a kernel that copies between the whole batch and all places.
    ///
    /// # Safety
    ///
    /// Both must have the numbers that the kernel reads and writes.
    unsafe fn launch(
        &self,
        kernel: Kernel,
        width: usize,
        from: Span<'_>,
        to: Span<'_>,
    ) -> Result<(), EngineError> {
        let (cells, rows) = (self.frame.cells(), self.frame.rows());
        let (lengths, ranks, begins) = (self.lengths.at(), self.ranks(), self.begins());
        // SAFETY: as the caller says. There is a length and a rank for every row, and a beginning for every step
        // that is computed.
        unsafe {
            self.device.launch(
                kernel,
                [cells.div_ceil(8), 1, 1],
                [256, 1],
                0,
                arguments![cells, rows, width, lengths, ranks, begins, from, to],
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_run_are_the_first() {
        for lengths in [vec![3, 0, 1, 3, 2], vec![3, 3], vec![0, 0], vec![1, 2], vec![2, 2]] {
            let frame = Frame::new(3, lengths);
            let order = Order::new(&frame);
            assert_eq!(order.places(), frame.positions());
            assert_eq!(order.steps(), frame.computed_steps());
            for step in 0..order.steps() {
                let (first, last) = (order.begins[step], order.begins[step + 1]);
                for (rank, &row) in order.rows.iter().enumerate() {
                    assert_eq!(rank < last - first, frame.holds(step, row));
                }
            }
            let equal = frame.lengths().iter().all(|length| *length == frame.lengths()[0]);
            assert_eq!(order.is_even(), equal);
        }
    }

    #[test]
    fn words_say_where_every_place_is() {
        let order = Order::new(&Frame::new(5, vec![1, 3, 0, 3]));
        assert_eq!(order, Order { rows: vec![1, 3, 0, 2], begins: vec![0, 3, 5, 7] });
        assert_eq!(order.words(), [1, 3, 0, 2, 2, 0, 3, 1, 0, 3, 5, 7]);
    }

    #[test]
    fn padding_that_is_computed_stays_where_it_is() {
        let order = Order::new(&Frame::new(3, vec![1, 3]).with_padding());
        assert_eq!(order, Order { rows: vec![0, 1], begins: vec![0, 2, 4, 6] });
        assert!(order.is_even());
    }
}
