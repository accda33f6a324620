//! The processor as an engine.

use crate::{
    Attention, Blstm, BlstmTrace, Buffer, Direction, Embedding, Engine, EngineError, Frame, Linear,
    Loss, Lstm, LstmTrace, Recurrent, Rule, attention, buffer, embedding, loss, mean, optimizer,
};

/// The processor, with the threads of the rayon pool it is called in.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu;

/// What the forward pass of a recurrent layer leaves for its backward pass.
#[derive(Debug)]
pub struct CpuTrace(Kind);

#[derive(Debug)]
enum Kind {
    One(LstmTrace),
    Both(BlstmTrace),
}

impl Engine for Cpu {
    type Buffer = Buffer;
    type Trace = CpuTrace;

    fn name(&self) -> String {
        format!("the processor, {} threads", rayon::current_num_threads())
    }

    fn peak_bytes(&self) -> u64 {
        buffer::peak_bytes()
    }

    fn reset_peak(&self) {
        buffer::reset_peak();
    }

    fn room(&self, bytes: u64) -> bool {
        lengthwise_fence::room(bytes)
    }

    fn upload(&self, values: Vec<f32>) -> Result<Buffer, EngineError> {
        Ok(values.into())
    }

    fn zeros(&self, count: usize) -> Result<Buffer, EngineError> {
        Ok(Buffer::zeros(count))
    }

    fn download(&self, buffer: &Buffer) -> Result<Vec<f32>, EngineError> {
        Ok(buffer.to_vec())
    }

    fn clear(&self, buffer: &mut Buffer) -> Result<(), EngineError> {
        buffer.fill(0.0);
        Ok(())
    }

    fn add(&self, sum: &mut Buffer, add: &Buffer) -> Result<(), EngineError> {
        for (sum, add) in sum.iter_mut().zip(add.iter()) {
            *sum += add;
        }
        Ok(())
    }

    fn recurrent(
        &self,
        layer: Recurrent,
        parameters: &Buffer,
        at: usize,
        frame: &Frame,
        x: &Buffer,
    ) -> Result<(Buffer, CpuTrace), EngineError> {
        let parameters = &parameters[at..at + layer.parameters()];
        let Recurrent { inputs, units, both } = layer;
        Ok(if both {
            let mut trace = Blstm { inputs, units }.forward(parameters, frame, x);
            (trace.take_output(), CpuTrace(Kind::Both(trace)))
        } else {
            let layer = Lstm { inputs, units, direction: Direction::Forward };
            let trace = layer.forward(parameters, frame, x);
            (trace.output().into(), CpuTrace(Kind::One(trace)))
        })
    }

    fn recurrent_backward(
        &self,
        layer: Recurrent,
        parameters: &Buffer,
        gradient: &mut Buffer,
        at: usize,
        frame: &Frame,
        x: &Buffer,
        trace: CpuTrace,
        dy: &Buffer,
        wanted: bool,
    ) -> Result<Option<Buffer>, EngineError> {
        let range = at..at + layer.parameters();
        let (parameters, gradient) = (&parameters[range.clone()], &mut gradient[range]);
        let Recurrent { inputs, units, .. } = layer;
        let forward = Lstm { inputs, units, direction: Direction::Forward };
        let both = Blstm { inputs, units };
        Ok(match (trace.0, wanted) {
            (Kind::Both(trace), true) => {
                Some(both.backward(parameters, gradient, frame, x, trace, dy))
            }
            (Kind::One(trace), true) => {
                Some(forward.backward(parameters, gradient, frame, x, trace, dy))
            }
            (Kind::Both(trace), false) => {
                both.backward_parameters(parameters, gradient, frame, x, trace, dy);
                None
            }
            (Kind::One(trace), false) => {
                forward.backward_parameters(parameters, gradient, frame, x, trace, dy);
                None
            }
        })
    }

    fn linear(
        &self,
        layer: Linear,
        parameters: &Buffer,
        at: usize,
        x: &Buffer,
    ) -> Result<Buffer, EngineError> {
        Ok(layer.forward(&parameters[at..at + layer.parameters()], x))
    }

    fn linear_backward(
        &self,
        layer: Linear,
        parameters: &Buffer,
        gradient: &mut Buffer,
        at: usize,
        x: &Buffer,
        dy: &Buffer,
    ) -> Result<Buffer, EngineError> {
        let range = at..at + layer.parameters();
        Ok(layer.backward(&parameters[range.clone()], &mut gradient[range], x, dy))
    }

    fn embed(
        &self,
        layer: Embedding,
        parameters: &Buffer,
        at: usize,
        frame: &Frame,
        symbols: &[u32],
    ) -> Result<Buffer, EngineError> {
        Ok(embedding::embed(layer, &parameters[at..at + layer.parameters()], frame, symbols))
    }

    fn embed_backward(
        &self,
        layer: Embedding,
        gradient: &mut Buffer,
        at: usize,
        frame: &Frame,
        symbols: &[u32],
        dy: &Buffer,
    ) -> Result<(), EngineError> {
        let gradient = &mut gradient[at..at + layer.parameters()];
        embedding::embed_backward(layer, gradient, frame, symbols, dy);
        Ok(())
    }

    fn join(
        &self,
        one: &Buffer,
        other: &Buffer,
        widths: (usize, usize),
    ) -> Result<Buffer, EngineError> {
        let mut both = Buffer::any(one.len() + other.len());
        let rows = one.chunks_exact(widths.0).zip(other.chunks_exact(widths.1));
        for (both, (one, other)) in both.chunks_exact_mut(widths.0 + widths.1).zip(rows) {
            both[..widths.0].copy_from_slice(one);
            both[widths.0..].copy_from_slice(other);
        }
        Ok(both)
    }

    fn split(
        &self,
        both: &Buffer,
        widths: (usize, usize),
    ) -> Result<(Buffer, Buffer), EngineError> {
        let rows = both.len() / (widths.0 + widths.1);
        let (mut one, mut other) = (Buffer::any(rows * widths.0), Buffer::any(rows * widths.1));
        let rows = one.chunks_exact_mut(widths.0).zip(other.chunks_exact_mut(widths.1));
        for (both, (one, other)) in both.chunks_exact(widths.0 + widths.1).zip(rows) {
            one.copy_from_slice(&both[..widths.0]);
            other.copy_from_slice(&both[widths.0..]);
        }
        Ok((one, other))
    }

    fn attend(
        &self,
        shape: &Attention,
        queries: &Buffer,
        keys: &Buffer,
        values: &Buffer,
    ) -> Result<(Buffer, Buffer), EngineError> {
        Ok(attention::attend(shape, queries, keys, values))
    }

    fn attend_backward(
        &self,
        shape: &Attention,
        queries: &Buffer,
        keys: &Buffer,
        values: &Buffer,
        weights: &Buffer,
        dy: &Buffer,
    ) -> Result<[Buffer; 3], EngineError> {
        Ok(attention::attend_backward(shape, queries, keys, values, weights, dy))
    }

    fn mean(&self, frame: &Frame, width: usize, x: &Buffer) -> Result<Buffer, EngineError> {
        Ok(mean::mean(frame, width, x))
    }

    fn mean_backward(
        &self,
        frame: &Frame,
        width: usize,
        dy: &Buffer,
    ) -> Result<Buffer, EngineError> {
        Ok(mean::mean_backward(frame, width, dy))
    }

    fn cross_entropy(
        &self,
        frame: &Frame,
        scores: &Buffer,
        classes: usize,
        labels: &[u32],
    ) -> Result<Loss<Buffer>, EngineError> {
        let loss::Classified { loss, correct, gradient } =
            loss::cross_entropy(frame, scores, classes, labels);
        Ok(Loss { total: loss, count: frame.positions(), correct, gradient })
    }

    fn ctc(
        &self,
        frame: &Frame,
        scores: &Buffer,
        classes: usize,
        targets: &[Vec<u32>],
    ) -> Result<Loss<Buffer>, EngineError> {
        let (total, gradient) = loss::ctc(frame, scores, classes, targets)
            .map_err(|error| EngineError::new(error.to_string()))?;
        let count = targets.iter().map(Vec::len).sum();
        Ok(Loss { total, count, correct: 0, gradient })
    }

    fn squared_error(
        &self,
        frame: &Frame,
        values: &Buffer,
        width: usize,
        targets: &Buffer,
    ) -> Result<Loss<Buffer>, EngineError> {
        let (mean, gradient) = loss::squared_error(frame, values, width, targets);
        let count = frame.positions() * width;
        Ok(Loss { total: mean * count as f64, count, correct: 0, gradient })
    }

    fn clip(&self, gradient: &mut Buffer, most: f32) -> Result<f32, EngineError> {
        Ok(optimizer::clip(gradient, most))
    }

    fn update(
        &self,
        rule: Rule,
        rate: f32,
        steps: u64,
        parameters: &mut Buffer,
        gradient: &Buffer,
        state: &mut [Buffer; 2],
    ) -> Result<(), EngineError> {
        let [first, second] = state;
        optimizer::update(rule, rate, steps, parameters, gradient, [first, second]);
        Ok(())
    }
}
