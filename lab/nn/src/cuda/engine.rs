//! What the engine does on a CUDA device.
#![expect(unsafe_code, reason = "kernels are launched on memory whose sizes are checked")]

use std::sync::Arc;

use super::{
    base::Cuda,
    kernels::{Kernel, arguments},
    memory::{CudaBuffer, Memory},
    recurrent::CudaTrace,
    span::{Matrix, Span},
};
use crate::{
    batch::Frame,
    check,
    engine::{Attention, Embedding, Engine, EngineError, Loss, Recurrent, Rule},
    linear::Linear,
};

impl Engine for Cuda {
    type Buffer = CudaBuffer;
    type Trace = CudaTrace;

    fn name(&self) -> String {
        self.device.name().to_owned()
    }

    fn peak_bytes(&self) -> u64 {
        self.device.pool().peak()
    }

    fn reset_peak(&self) {
        self.device.pool().reset_peak();
    }

    /// An allocation that fails says so itself.
    fn has_memory(&self, _: u64) -> bool {
        true
    }

    fn wait(&self) -> Result<(), EngineError> {
        self.device.wait()
    }

    fn upload(&self, values: Vec<f32>) -> Result<CudaBuffer, EngineError> {
        Ok(CudaBuffer(Arc::new(Memory::upload(&self.device, &values)?)))
    }

    fn zeros(&self, count: usize) -> Result<CudaBuffer, EngineError> {
        let buffer = CudaBuffer::new(&self.device, count)?;
        self.device.fill(buffer.at(), 0)?;
        Ok(buffer)
    }

    fn download(&self, buffer: &CudaBuffer) -> Result<Vec<f32>, EngineError> {
        self.device.read(buffer.at(), buffer.count())
    }

    fn clear(&self, buffer: &mut CudaBuffer) -> Result<(), EngineError> {
        self.device.fill(buffer.change(&self.device)?, 0)
    }

    fn add(&self, sum: &mut CudaBuffer, add: &CudaBuffer) -> Result<(), EngineError> {
        let count = sum.count();
        add.is(count, "what is added")?;
        let sum = sum.change(&self.device)?;
        // SAFETY: both have `count` numbers.
        unsafe { self.device.each(Kernel::Add, count, arguments![count, sum, add.at()]) }
    }

    fn scale(&self, buffer: &mut CudaBuffer, factor: f32) -> Result<(), EngineError> {
        let count = buffer.count();
        let buffer = buffer.change(&self.device)?;
        // SAFETY: the buffer has `count` numbers.
        unsafe { self.device.each(Kernel::Scale, count, arguments![count, buffer, factor]) }
    }

    fn recurrent(
        &self,
        layer: Recurrent,
        parameters: &CudaBuffer,
        at: usize,
        frame: &Frame,
        x: &CudaBuffer,
    ) -> Result<(CudaBuffer, CudaTrace), EngineError> {
        self.recurrent_forward(layer, parameters, at, frame, x)
    }

    fn recurrent_backward(
        &self,
        layer: Recurrent,
        parameters: &CudaBuffer,
        gradient: &mut CudaBuffer,
        at: usize,
        frame: &Frame,
        x: &CudaBuffer,
        trace: CudaTrace,
        dy: &CudaBuffer,
        wanted: bool,
    ) -> Result<Option<CudaBuffer>, EngineError> {
        self.recurrent_back(layer, parameters, gradient, at, frame, x, trace, dy, wanted)
    }

    fn linear(
        &self,
        layer: Linear,
        parameters: &CudaBuffer,
        at: usize,
        x: &CudaBuffer,
    ) -> Result<CudaBuffer, EngineError> {
        parameters.holds(at, layer.parameters(), "parameters")?;
        let rows = check::rows(x.count(), layer.inputs, "the input of a linear layer")?;
        let y = CudaBuffer::new(&self.device, rows * layer.outputs)?;
        self.linear_rows(layer, parameters.at().skip(at), x.at(), y.at())?;
        Ok(y)
    }

    fn linear_backward(
        &self,
        layer: Linear,
        parameters: &CudaBuffer,
        gradient: &mut CudaBuffer,
        at: usize,
        x: &CudaBuffer,
        dy: &CudaBuffer,
    ) -> Result<CudaBuffer, EngineError> {
        parameters.holds(at, layer.parameters(), "parameters")?;
        gradient.holds(at, layer.parameters(), "gradients")?;
        let rows = check::rows(x.count(), layer.inputs, "the input of a linear layer")?;
        dy.is(rows * layer.outputs, "the gradient of a linear layer")?;
        let dx = CudaBuffer::new(&self.device, x.count())?;
        let gradient = gradient.change(&self.device)?.skip(at);
        let parameters = parameters.at().skip(at);
        self.linear_rows_backward(layer, parameters, gradient, x.at(), dy.at(), dx.at())?;
        Ok(dx)
    }

    fn linear_batch(
        &self,
        layer: Linear,
        parameters: &CudaBuffer,
        at: usize,
        frame: &Frame,
        x: &CudaBuffer,
    ) -> Result<CudaBuffer, EngineError> {
        parameters.holds(at, layer.parameters(), "parameters")?;
        x.is(frame.cells() * layer.inputs, "the input of a linear layer")?;
        let (packing, parameters) = (self.packing(frame)?, parameters.at().skip(at));
        let x = packing.pack(x.at(), layer.inputs)?;
        packing.spread_from(layer.outputs, |y| self.linear_rows(layer, parameters, x.at(), y))
    }

    fn linear_batch_backward(
        &self,
        layer: Linear,
        parameters: &CudaBuffer,
        gradient: &mut CudaBuffer,
        at: usize,
        frame: &Frame,
        x: &CudaBuffer,
        dy: &CudaBuffer,
    ) -> Result<CudaBuffer, EngineError> {
        let Linear { inputs, outputs } = layer;
        parameters.holds(at, layer.parameters(), "parameters")?;
        gradient.holds(at, layer.parameters(), "gradients")?;
        x.is(frame.cells() * inputs, "the input of a linear layer")?;
        dy.is(frame.cells() * outputs, "the gradient of a linear layer")?;
        let packing = self.packing(frame)?;
        let (x, dy) = (packing.pack(x.at(), inputs)?, packing.pack(dy.at(), outputs)?);
        let gradient = gradient.change(&self.device)?.skip(at);
        let parameters = parameters.at().skip(at);
        packing.spread_from(inputs, |dx| {
            self.linear_rows_backward(layer, parameters, gradient, x.at(), dy.at(), dx)
        })
    }

    fn embed(
        &self,
        layer: Embedding,
        parameters: &CudaBuffer,
        at: usize,
        frame: &Frame,
        symbols: &[u32],
    ) -> Result<CudaBuffer, EngineError> {
        self.embed_forward(layer, parameters, at, frame, symbols)
    }

    fn embed_backward(
        &self,
        layer: Embedding,
        gradient: &mut CudaBuffer,
        at: usize,
        frame: &Frame,
        symbols: &[u32],
        dy: &CudaBuffer,
    ) -> Result<(), EngineError> {
        self.embed_back(layer, gradient, at, frame, symbols, dy)
    }

    fn join(
        &self,
        one: &CudaBuffer,
        other: &CudaBuffer,
        widths: (usize, usize),
    ) -> Result<CudaBuffer, EngineError> {
        let (first, second) = widths;
        let rows = check::rows(one.count(), first, "what is joined")?;
        other.is(rows * second, "what is joined")?;
        let both = CudaBuffer::new(&self.device, rows * (first + second))?;
        let wide = first + second;
        self.device.copy_rows((both.at(), wide), (one.at(), first), rows, first)?;
        self.device.copy_rows((both.at().skip(first), wide), (other.at(), second), rows, second)?;
        Ok(both)
    }

    fn split(
        &self,
        both: &CudaBuffer,
        widths: (usize, usize),
    ) -> Result<(CudaBuffer, CudaBuffer), EngineError> {
        let (first, second) = widths;
        let wide = first + second;
        let rows = check::rows(both.count(), wide, "what is split")?;
        let one = CudaBuffer::new(&self.device, rows * first)?;
        let other = CudaBuffer::new(&self.device, rows * second)?;
        self.device.copy_rows((one.at(), first), (both.at(), wide), rows, first)?;
        self.device.copy_rows((other.at(), second), (both.at().skip(first), wide), rows, second)?;
        Ok((one, other))
    }

    fn attend(
        &self,
        shape: &Attention,
        queries: &CudaBuffer,
        keys: &CudaBuffer,
        values: &CudaBuffer,
    ) -> Result<(CudaBuffer, CudaBuffer), EngineError> {
        self.attend_forward(shape, queries, keys, values)
    }

    fn attend_backward(
        &self,
        shape: &Attention,
        queries: &CudaBuffer,
        keys: &CudaBuffer,
        values: &CudaBuffer,
        weights: &CudaBuffer,
        dy: &CudaBuffer,
    ) -> Result<[CudaBuffer; 3], EngineError> {
        self.attend_back(shape, queries, keys, values, weights, dy)
    }

    fn mean(&self, frame: &Frame, width: usize, x: &CudaBuffer) -> Result<CudaBuffer, EngineError> {
        x.is(frame.cells() * width, "what has a mean")?;
        let lengths = self.lengths(frame)?;
        let out = CudaBuffer::new(&self.device, frame.rows() * width)?;
        // SAFETY: `x` has a row of `width` for every cell, and there is a length and a result for every row.
        unsafe {
            self.device.launch(
                Kernel::Mean,
                [width.div_ceil(128), frame.rows(), 1],
                [128, 1],
                0,
                arguments![frame.steps(), frame.rows(), width, x.at(), lengths.at(), out.at()],
            )
        }?;
        Ok(out)
    }

    fn mean_backward(
        &self,
        frame: &Frame,
        width: usize,
        dy: &CudaBuffer,
    ) -> Result<CudaBuffer, EngineError> {
        dy.is(frame.rows() * width, "the gradient of a mean")?;
        let lengths = self.lengths(frame)?;
        let count = frame.cells() * width;
        let dx = CudaBuffer::new(&self.device, count)?;
        // SAFETY: `dy` has a row of `width` for every row of the batch, and `dx` for every cell.
        unsafe {
            self.device.each(
                Kernel::MeanBackward,
                count,
                arguments![count, frame.rows(), width, dy.at(), lengths.at(), dx.at()],
            )
        }?;
        Ok(dx)
    }

    fn cross_entropy(
        &self,
        frame: &Frame,
        scores: &CudaBuffer,
        classes: usize,
        labels: &[u32],
    ) -> Result<Loss<CudaBuffer>, EngineError> {
        self.classify(frame, scores, classes, labels)
    }

    fn ctc(
        &self,
        frame: &Frame,
        scores: &CudaBuffer,
        classes: usize,
        targets: &[Vec<u32>],
    ) -> Result<Loss<CudaBuffer>, EngineError> {
        self.spread(frame, scores, classes, targets)
    }

    fn squared_error(
        &self,
        frame: &Frame,
        values: &CudaBuffer,
        width: usize,
        targets: &CudaBuffer,
    ) -> Result<Loss<CudaBuffer>, EngineError> {
        self.differ(frame, values, width, targets)
    }

    fn clip(&self, gradient: &mut CudaBuffer, most: f32) -> Result<f32, EngineError> {
        let length = self.length_of(gradient)?;
        if length > most {
            self.scale(gradient, most / length)?;
        }
        Ok(length)
    }

    fn update(
        &self,
        rule: Rule,
        rate: f32,
        steps: u64,
        parameters: &mut CudaBuffer,
        gradient: &CudaBuffer,
        state: &mut [CudaBuffer; 2],
    ) -> Result<(), EngineError> {
        let count = parameters.count();
        gradient.is(count, "the gradient")?;
        let [first, second] = state;
        first.is(count, "the state")?;
        second.is(count, "the state")?;
        let device = &self.device;
        let parameters = parameters.change(device)?;
        let (first, second) = (first.change(device)?, second.change(device)?);
        match rule {
            Rule::Adam { betas: (one, two), epsilon } => {
                let power = |beta: f32| (1.0 - f64::from(beta).powf(steps as f64)) as f32;
                let (rate, scale) = (rate / power(one), power(two).sqrt());
                let gradient = gradient.at();
                // SAFETY: all four have `count` numbers.
                unsafe {
                    device.each(
                        Kernel::Adam,
                        count,
                        arguments![
                            count, rate, scale, one, two, epsilon, parameters, gradient, first,
                            second
                        ],
                    )
                }
            }
            Rule::Adadelta { decay, epsilon } => {
                let gradient = gradient.at();
                // SAFETY: all four have `count` numbers.
                unsafe {
                    device.each(
                        Kernel::Adadelta,
                        count,
                        arguments![
                            count, rate, decay, epsilon, parameters, gradient, first, second
                        ],
                    )
                }
            }
        }
    }
}

impl Cuda {
    /// A linear layer for every row of `x`, of which there are as many as of `y`.
    fn linear_rows(
        &self,
        layer: Linear,
        parameters: Span<'_>,
        x: Span<'_>,
        y: Span<'_>,
    ) -> Result<(), EngineError> {
        let Linear { inputs, outputs } = layer;
        let (count, bias) = (y.count(), parameters.skip(inputs * outputs));
        self.device.product(
            (x.count() / inputs, inputs, outputs),
            Matrix::new(x, inputs),
            Matrix::new(parameters, outputs),
            Matrix::new(y, outputs),
            0.0,
            1,
        )?;
        // SAFETY: `y` has `count` numbers in rows of `outputs`, and the bias has as many.
        unsafe { self.device.each(Kernel::AddToRows, count, arguments![count, outputs, y, bias]) }
    }

    /// The way back: adds the gradient of the parameters, and writes that of the input.
    fn linear_rows_backward(
        &self,
        layer: Linear,
        parameters: Span<'_>,
        gradient: Span<'_>,
        x: Span<'_>,
        dy: Span<'_>,
        dx: Span<'_>,
    ) -> Result<(), EngineError> {
        let Linear { inputs, outputs } = layer;
        let rows = x.count() / inputs;
        let dy_of_rows = Matrix::new(dy, outputs);
        let x_of_rows = Matrix::new(x, inputs).transposed();
        let weight = Matrix::new(gradient, outputs);
        self.add_product((inputs, rows, outputs), x_of_rows, dy_of_rows, weight, 1)?;
        self.add_rows((gradient.skip(inputs * outputs), 0), dy, rows, outputs, 1)?;
        self.device.product(
            (rows, outputs, inputs),
            dy_of_rows,
            Matrix::new(parameters, outputs).transposed(),
            Matrix::new(dx, inputs),
            0.0,
            1,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::Tape;

    /// A step for rows of these lengths; the gradient's length.
    fn step(cuda: &Cuda, lengths: &[usize]) -> Result<f32, EngineError> {
        let frame = Frame::new(lengths.iter().copied().max().unwrap_or(1), lengths.to_vec());
        let layer = Recurrent { inputs: 3, units: 20, both: true };
        let head = Linear { inputs: 40, outputs: 5 };
        let count = layer.parameters() + head.parameters();
        let wave = |count: usize| (0..count).map(|i| (i as f32).sin()).collect::<Vec<_>>();
        let parameters = cuda.upload(wave(count))?;
        let mut tape = Tape::new(cuda, &parameters);
        let x = tape.given(wave(frame.cells() * 3))?;
        let y = tape.recurrent(layer, 0, &frame, x)?;
        let scores = tape.linear(head, layer.parameters(), &frame, y)?;
        let labels = vec![2; frame.cells()];
        let loss = cuda.cross_entropy(&frame, tape.get(scores), 5, &labels)?;
        let mut gradient = cuda.zeros(count)?;
        tape.backward(scores, loss.gradient, &mut gradient)?;
        cuda.clip(&mut gradient, 1.0)
    }

    /// Runs where there is a device.
    #[test]
    fn a_shape_seen_before_takes_no_more_memory() {
        let Ok(cuda) = Cuda::new(0) else { return };
        let shapes: [&[usize]; 3] = [&[40, 30, 7], &[200; 9], &[40, 41]];
        let first = shapes.map(|lengths| step(&cuda, lengths).unwrap());
        let misses = cuda.device.pool().misses();
        let second = shapes.map(|lengths| step(&cuda, lengths).unwrap());
        assert_eq!(cuda.device.pool().misses(), misses);
        assert_eq!(first.map(f32::to_bits), second.map(f32::to_bits));
    }
}
