//! The processor as an engine.

use crate::{
    Attention, Blstm, BlstmTrace, Direction, Embedding, Engine, EngineError, Frame, Linear, Loss,
    Lstm, LstmTrace, Recurrent, Rule, attention, embedding, loss, mean, optimizer,
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
    type Buffer = Vec<f32>;
    type Trace = CpuTrace;

    fn name(&self) -> String {
        format!("the processor, {} threads", rayon::current_num_threads())
    }

    fn peak_bytes(&self) -> Option<u64> {
        None
    }

    fn reset_peak(&self) {}

    fn upload(&self, values: Vec<f32>) -> Result<Vec<f32>, EngineError> {
        Ok(values)
    }

    fn zeros(&self, count: usize) -> Result<Vec<f32>, EngineError> {
        Ok(vec![0.0; count])
    }

    fn download(&self, buffer: &Vec<f32>) -> Result<Vec<f32>, EngineError> {
        Ok(buffer.clone())
    }

    fn clear(&self, buffer: &mut Vec<f32>) -> Result<(), EngineError> {
        buffer.fill(0.0);
        Ok(())
    }

    fn add(&self, sum: &mut Vec<f32>, add: &Vec<f32>) -> Result<(), EngineError> {
        for (sum, add) in sum.iter_mut().zip(add) {
            *sum += add;
        }
        Ok(())
    }

    fn recurrent(
        &self,
        layer: Recurrent,
        parameters: &Vec<f32>,
        at: usize,
        frame: &Frame,
        x: &Vec<f32>,
    ) -> Result<(Vec<f32>, CpuTrace), EngineError> {
        let parameters = &parameters[at..at + layer.parameters()];
        let Recurrent { inputs, units, both } = layer;
        Ok(if both {
            let trace = Blstm { inputs, units }.forward(parameters, frame, x);
            (trace.output().to_vec(), CpuTrace(Kind::Both(trace)))
        } else {
            let layer = Lstm { inputs, units, direction: Direction::Forward };
            let trace = layer.forward(parameters, frame, x);
            (trace.output().to_vec(), CpuTrace(Kind::One(trace)))
        })
    }

    fn recurrent_backward(
        &self,
        layer: Recurrent,
        parameters: &Vec<f32>,
        gradient: &mut Vec<f32>,
        at: usize,
        frame: &Frame,
        x: &Vec<f32>,
        trace: CpuTrace,
        dy: &Vec<f32>,
        wanted: bool,
    ) -> Result<Option<Vec<f32>>, EngineError> {
        let range = at..at + layer.parameters();
        let (parameters, gradient) = (&parameters[range.clone()], &mut gradient[range]);
        let Recurrent { inputs, units, .. } = layer;
        let dx = match trace.0 {
            Kind::Both(trace) => {
                Blstm { inputs, units }.backward(parameters, gradient, frame, x, trace, dy)
            }
            Kind::One(trace) => {
                let layer = Lstm { inputs, units, direction: Direction::Forward };
                layer.backward(parameters, gradient, frame, x, trace, dy)
            }
        };
        Ok(wanted.then_some(dx))
    }

    fn linear(
        &self,
        layer: Linear,
        parameters: &Vec<f32>,
        at: usize,
        x: &Vec<f32>,
    ) -> Result<Vec<f32>, EngineError> {
        Ok(layer.forward(&parameters[at..at + layer.parameters()], x))
    }

    fn linear_backward(
        &self,
        layer: Linear,
        parameters: &Vec<f32>,
        gradient: &mut Vec<f32>,
        at: usize,
        x: &Vec<f32>,
        dy: &Vec<f32>,
    ) -> Result<Vec<f32>, EngineError> {
        let range = at..at + layer.parameters();
        Ok(layer.backward(&parameters[range.clone()], &mut gradient[range], x, dy))
    }

    fn embed(
        &self,
        layer: Embedding,
        parameters: &Vec<f32>,
        at: usize,
        frame: &Frame,
        symbols: &[u32],
    ) -> Result<Vec<f32>, EngineError> {
        Ok(embedding::embed(layer, &parameters[at..at + layer.parameters()], frame, symbols))
    }

    fn embed_backward(
        &self,
        layer: Embedding,
        gradient: &mut Vec<f32>,
        at: usize,
        frame: &Frame,
        symbols: &[u32],
        dy: &Vec<f32>,
    ) -> Result<(), EngineError> {
        let gradient = &mut gradient[at..at + layer.parameters()];
        embedding::embed_backward(layer, gradient, frame, symbols, dy);
        Ok(())
    }

    fn join(
        &self,
        one: &Vec<f32>,
        other: &Vec<f32>,
        widths: (usize, usize),
    ) -> Result<Vec<f32>, EngineError> {
        let rows = one.chunks_exact(widths.0).zip(other.chunks_exact(widths.1));
        let mut both = Vec::with_capacity(one.len() + other.len());
        for (one, other) in rows {
            both.extend_from_slice(one);
            both.extend_from_slice(other);
        }
        Ok(both)
    }

    fn split(
        &self,
        both: &Vec<f32>,
        widths: (usize, usize),
    ) -> Result<(Vec<f32>, Vec<f32>), EngineError> {
        let rows = both.len() / (widths.0 + widths.1);
        let (mut one, mut other) =
            (Vec::with_capacity(rows * widths.0), Vec::with_capacity(rows * widths.1));
        for row in both.chunks_exact(widths.0 + widths.1) {
            one.extend_from_slice(&row[..widths.0]);
            other.extend_from_slice(&row[widths.0..]);
        }
        Ok((one, other))
    }

    fn attend(
        &self,
        shape: &Attention,
        queries: &Vec<f32>,
        keys: &Vec<f32>,
        values: &Vec<f32>,
    ) -> Result<(Vec<f32>, Vec<f32>), EngineError> {
        Ok(attention::attend(shape, queries, keys, values))
    }

    fn attend_backward(
        &self,
        shape: &Attention,
        queries: &Vec<f32>,
        keys: &Vec<f32>,
        values: &Vec<f32>,
        weights: &Vec<f32>,
        dy: &Vec<f32>,
    ) -> Result<[Vec<f32>; 3], EngineError> {
        Ok(attention::attend_backward(shape, queries, keys, values, weights, dy))
    }

    fn mean(&self, frame: &Frame, width: usize, x: &Vec<f32>) -> Result<Vec<f32>, EngineError> {
        Ok(mean::mean(frame, width, x))
    }

    fn mean_backward(
        &self,
        frame: &Frame,
        width: usize,
        dy: &Vec<f32>,
    ) -> Result<Vec<f32>, EngineError> {
        Ok(mean::mean_backward(frame, width, dy))
    }

    fn cross_entropy(
        &self,
        frame: &Frame,
        scores: &Vec<f32>,
        classes: usize,
        labels: &[u32],
    ) -> Result<Loss<Vec<f32>>, EngineError> {
        let loss::Classified { loss, correct, gradient } =
            loss::cross_entropy(frame, scores, classes, labels);
        Ok(Loss { total: loss, count: frame.positions(), correct, gradient })
    }

    fn ctc(
        &self,
        frame: &Frame,
        scores: &Vec<f32>,
        classes: usize,
        targets: &[Vec<u32>],
    ) -> Result<Loss<Vec<f32>>, EngineError> {
        let (total, mut gradient) = loss::ctc(frame, scores, classes, targets)
            .map_err(|error| EngineError::new(error.to_string()))?;
        let symbols: usize = targets.iter().map(Vec::len).sum();
        let scale = frame.rows() as f32 / symbols.max(1) as f32;
        for value in &mut gradient { *value *= scale; }
        Ok(Loss { total, count: symbols, correct: 0, gradient })
    }

    fn squared_error(
        &self,
        frame: &Frame,
        values: &Vec<f32>,
        width: usize,
        targets: &Vec<f32>,
    ) -> Result<Loss<Vec<f32>>, EngineError> {
        let (mean, gradient) = loss::squared_error(frame, values, width, targets);
        let count = frame.positions() * width;
        Ok(Loss { total: mean * count as f64, count, correct: 0, gradient })
    }

    fn clip(&self, gradient: &mut Vec<f32>, most: f32) -> Result<f32, EngineError> {
        Ok(optimizer::clip(gradient, most))
    }

    fn update(
        &self,
        rule: Rule,
        rate: f32,
        steps: u64,
        parameters: &mut Vec<f32>,
        gradient: &Vec<f32>,
        state: &mut [Vec<f32>; 2],
    ) -> Result<(), EngineError> {
        optimizer::update(rule, rate, steps, parameters, gradient, state);
        Ok(())
    }
}
