//! Losses, and how long a gradient is.
#![expect(unsafe_code, reason = "kernels are launched on memory whose sizes are checked")]

use std::sync::Arc;

use super::{
    base::Cuda,
    device::Device,
    kernels::{Kernel, arguments},
    memory::{CudaBuffer, Memory},
};
use crate::{
    batch::Frame,
    check,
    engine::{EngineError, Loss},
};

/// The most blocks that leave a sum each.
const BLOCKS: usize = 1024;

/// Sums of blocks, which become one.
struct Sums {
    blocks: usize,
    totals: Memory,
    counts: Memory,
}

impl Sums {
    fn new(cuda: &Cuda, blocks: usize) -> Result<Self, EngineError> {
        let blocks = blocks.clamp(1, BLOCKS);
        let totals = Memory::new(&cuda.device, 2 * blocks)?;
        let counts = Memory::new(&cuda.device, blocks)?;
        Ok(Self { blocks, totals, counts })
    }

    /// The sum of all totals, and of all counts.
    fn read(self, cuda: &Cuda) -> Result<(f64, usize), EngineError> {
        let result = Memory::new(&cuda.device, 4)?;
        // SAFETY: there is a total and a count for every block, and two numbers of eight bytes for the result.
        unsafe {
            cuda.device.launch(
                Kernel::Finish,
                [1, 1, 1],
                [256, 1],
                0,
                arguments![self.blocks, self.totals.at(), self.counts.at(), result.at()],
            )
        }?;
        let found: Vec<f64> = cuda.device.read(result.at(), 2)?;
        Ok((found[0], found[1] as usize))
    }
}

impl Cuda {
    pub(super) fn classify(
        &self,
        frame: &Frame,
        scores: &CudaBuffer,
        classes: usize,
        labels: &[u32],
    ) -> Result<Loss<CudaBuffer>, EngineError> {
        let places = frame.cells();
        scores.is(places * classes, "scores")?;
        check::labels(frame, classes, labels)?;
        let device = &self.device;
        let (lengths, labels) = (self.lengths(frame)?, Memory::upload(device, labels)?);
        let gradient = CudaBuffer::new(device, scores.count())?;
        let sums = Sums::new(self, places.div_ceil(8))?;
        let share = 1.0 / frame.positions() as f32;
        // SAFETY: scores and gradient have a row of `classes` for every place, and every place has a label.
        // Labels at positions are below `classes`.
        unsafe {
            device.launch(
                Kernel::CrossEntropy,
                [sums.blocks, 1, 1],
                [256, 1],
                0,
                arguments![
                    places,
                    frame.rows(),
                    classes,
                    share,
                    scores.at(),
                    labels.at(),
                    lengths.at(),
                    gradient.at(),
                    sums.totals.at(),
                    sums.counts.at(),
                ],
            )
        }?;
        let (total, correct) = sums.read(self)?;
        Ok(Loss { total, count: frame.positions(), correct, gradient })
    }

    pub(super) fn differ(
        &self,
        frame: &Frame,
        values: &CudaBuffer,
        width: usize,
        targets: &CudaBuffer,
    ) -> Result<Loss<CudaBuffer>, EngineError> {
        let places = frame.cells();
        values.is(places * width, "values")?;
        targets.is(places * width, "targets")?;
        let (device, lengths) = (&self.device, self.lengths(frame)?);
        let gradient = CudaBuffer::new(device, values.count())?;
        let sums = Sums::new(self, values.count().div_ceil(256))?;
        let count = frame.positions() * width;
        // SAFETY: values, targets and gradient have as many numbers.
        unsafe {
            device.launch(
                Kernel::SquaredError,
                [sums.blocks, 1, 1],
                [256, 1],
                0,
                arguments![
                    values.count(),
                    frame.rows(),
                    width,
                    (1.0 / count as f64) as f32,
                    values.at(),
                    targets.at(),
                    lengths.at(),
                    gradient.at(),
                    sums.totals.at(),
                    sums.counts.at(),
                ],
            )
        }?;
        let (total, _) = sums.read(self)?;
        Ok(Loss { total, count, correct: 0, gradient })
    }

    /// How long a gradient is, all of it together.
    pub(super) fn length_of(&self, gradient: &CudaBuffer) -> Result<f32, EngineError> {
        let count = gradient.count();
        let sums = Sums::new(self, count.div_ceil(256))?;
        // SAFETY: the gradient has `count` numbers.
        unsafe {
            self.device.launch(
                Kernel::Squares,
                [sums.blocks, 1, 1],
                [256, 1],
                0,
                arguments![count, gradient.at(), sums.totals.at(), sums.counts.at()],
            )
        }?;
        let (total, _) = sums.read(self)?;
        Ok(total.sqrt() as f32)
    }

    pub(super) fn spread(
        &self,
        frame: &Frame,
        scores: &CudaBuffer,
        classes: usize,
        targets: &[Vec<u32>],
    ) -> Result<Loss<CudaBuffer>, EngineError> {
        let (places, rows) = (frame.cells(), frame.rows());
        scores.is(places * classes, "scores")?;
        check::targets(frame, classes, targets)?;
        let labels = Labels::new(classes, targets);
        let (device, widest) = (&self.device, labels.widest);
        let count = targets.iter().map(Vec::len).sum::<usize>();
        if labels.shared() > device.shared {
            return Err(EngineError::new(format!(
                "a row has {} labels, where this device can take {}",
                widest / 2,
                (device.shared / 16 - 1) / 2
            )));
        }
        let lengths = self.lengths(frame)?;
        let chances = Memory::new(device, scores.count())?;
        let all = Memory::new(device, 2 * rows)?;
        // SAFETY: scores and chances have a row of `classes` for every place, and there is a length for
        // every row.
        unsafe {
            device.launch(
                Kernel::LogSoftmax,
                [places.div_ceil(8), 1, 1],
                [256, 1],
                0,
                arguments![places, rows, classes, scores.at(), lengths.at(), chances.at()],
            )
        }?;
        let gradient = self.paths(frame, classes, &labels, count, &chances, &all)?;
        let all: Vec<f64> = device.read(all.at(), rows)?;
        let total = all.iter().map(|row| -row).sum();
        Ok(Loss { total, count, correct: 0, gradient })
    }

    /// Sums over the paths of CTC: writes the logarithm of each row's to `all`, and gives the gradient.
    fn paths(
        &self,
        frame: &Frame,
        classes: usize,
        labels: &Labels,
        count: usize,
        chances: &Memory,
        all: &Memory,
    ) -> Result<CudaBuffer, EngineError> {
        let (places, rows, steps) = (frame.cells(), frame.rows(), frame.steps());
        let (device, widest, shared) = (&self.device, labels.widest, labels.shared());
        let (lengths, share) = (self.lengths(frame)?, 1.0 / count.max(1) as f32);
        let labels = labels.upload(device)?;
        let [begins, next, first, labels] = labels.each_ref().map(Memory::at);
        let before = Memory::new(device, 2 * rows * steps * widest)?;
        let after = Memory::new(device, 2 * rows * steps * widest)?;
        let gradient = CudaBuffer::new(device, places * classes)?;
        let (lengths, chances, all) = (lengths.at(), chances.at(), all.at());
        let (before, after, out) = (before.at(), after.at(), gradient.at());
        // SAFETY: chances and the gradient have a row of `classes` for every place, `before` and `after` one
        // of `widest` numbers of eight bytes, and `all` has one number for every row.
        unsafe {
            device.launch(
                Kernel::CtcPaths,
                [rows, 2, 1],
                [widest.next_multiple_of(32).min(256), 1],
                shared,
                arguments![
                    steps, rows, classes, widest, chances, lengths, begins, labels, before, after,
                    all,
                ],
            )?;
            device.launch(
                Kernel::CtcGradient,
                [places.div_ceil(8), 1, 1],
                [256, 1],
                0,
                arguments![
                    steps, rows, classes, widest, share, chances, lengths, begins, labels, next,
                    first, before, after, all, out,
                ],
            )
        }?;
        Ok(gradient)
    }
}

/// The labels of all rows, one row after another.
#[derive(Debug, PartialEq, Eq)]
struct Labels {
    /// Where those of each row begin, and after the last, where they end.
    begins: Vec<u32>,
    all: Vec<u32>,
    /// For each, which one after it in its row is the same; beyond them when there is none.
    next: Vec<u32>,
    /// For each, whether none before it in its row is the same.
    first: Vec<u32>,
    /// The places of the longest path: the labels of a row, and a blank around each.
    widest: usize,
}

impl Labels {
    /// Where the rows begin, what is next, what is first, and the labels.
    fn upload(&self, device: &Arc<Device>) -> Result<[Memory; 4], EngineError> {
        let [begins, next, first, all] = [&self.begins, &self.next, &self.first, &self.all]
            .map(|words| Memory::upload(device, words));
        Ok([begins?, next?, first?, all?])
    }

    /// Two lines of the path in shared memory, in bytes.
    fn shared(&self) -> usize {
        2 * self.widest * 8
    }

    fn new(classes: usize, targets: &[Vec<u32>]) -> Self {
        let mut this = Self {
            begins: vec![0],
            all: Vec::new(),
            next: Vec::new(),
            first: Vec::new(),
            widest: 0,
        };
        // Where each class was last, in the present row.
        let mut last = vec![None; classes];
        for target in targets {
            let begin = this.all.len();
            for (at, &label) in target.iter().enumerate() {
                let before = last[label as usize].replace(at);
                if let Some(before) = before {
                    this.next[begin + before] = at as u32;
                }
                this.first.push(u32::from(before.is_none()));
                this.next.push(u32::MAX);
                this.all.push(label);
            }
            for &label in target {
                last[label as usize] = None;
            }
            this.begins.push(this.all.len() as u32);
            this.widest = this.widest.max(2 * target.len() + 1);
        }
        this
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_labels_of_a_row_are_linked() {
        let labels = Labels::new(5, &[vec![2, 3, 2, 2], vec![], vec![2, 4]]);
        let none = u32::MAX;
        let expected = Labels {
            begins: vec![0, 4, 4, 6],
            all: vec![2, 3, 2, 2, 2, 4],
            next: vec![2, none, 3, none, none, none],
            first: vec![1, 1, 0, 0, 1, 1],
            widest: 9,
        };
        assert_eq!(labels, expected);
    }
}
