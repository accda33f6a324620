//! The processor as an engine.

use crate::{
    attention,
    batch::Frame,
    blstm::{Blstm, BlstmTrace},
    buffer,
    buffer::Buffer,
    check, embedding,
    engine::{Attention, Embedding, Engine, EngineError, Loss, Recurrent, Rule},
    linear::Linear,
    loss,
    lstm::{Direction, Lstm, LstmTrace},
    mean, optimizer,
};

/// The processor, with the threads of the rayon pool it is called in.
///
/// All of a program share its memory: bytes in use are those of all threads. They are those of buffers,
/// without what an operation needs for a moment.
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

impl CpuTrace {
    /// Whether it is of such a layer, and of a batch of such rows.
    fn is_of(&self, layer: Recurrent, frame: &Frame) -> Result<(), EngineError> {
        let Recurrent { inputs, units, both } = layer;
        let same = match &self.0 {
            Kind::One(trace) => {
                !both && trace.is_of(Lstm { inputs, units, direction: Direction::Forward }, frame)
            }
            Kind::Both(trace) => both && trace.is_of(Blstm { inputs, units }, frame),
        };
        let error = || EngineError::new("the trace is of another layer or batch");
        same.then_some(()).ok_or_else(error)
    }
}

/// So many of the parameters from a place on.
fn part(parameters: &[f32], at: usize, count: usize) -> Result<&[f32], EngineError> {
    check::holds(parameters.len(), at, count, "parameters")?;
    Ok(&parameters[at..at + count])
}

/// So many of the gradients from a place on.
fn part_mut(gradient: &mut [f32], at: usize, count: usize) -> Result<&mut [f32], EngineError> {
    check::holds(gradient.len(), at, count, "gradients")?;
    Ok(&mut gradient[at..at + count])
}

impl Engine for Cpu {
    type Buffer = Buffer;
    type Trace = CpuTrace;

    fn name(&self) -> String {
        match rayon::current_num_threads() {
            1 => "the processor, 1 thread".to_owned(),
            threads => format!("the processor, {threads} threads"),
        }
    }

    fn peak_bytes(&self) -> u64 {
        buffer::peak_bytes()
    }

    fn reset_peak(&self) {
        buffer::reset_peak();
    }

    fn has_memory(&self, bytes: u64) -> bool {
        let mut probe: Vec<u8> = Vec::new();
        let had = usize::try_from(bytes).is_ok_and(|bytes| probe.try_reserve_exact(bytes).is_ok());
        // Otherwise the compiler may leave out an allocation that nothing uses, and assume that it succeeds.
        std::hint::black_box(&mut probe);
        had
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
        check::count(add.len(), sum.len(), "what is added")?;
        for (sum, add) in sum.iter_mut().zip(add.iter()) {
            *sum += add;
        }
        Ok(())
    }

    fn scale(&self, buffer: &mut Buffer, factor: f32) -> Result<(), EngineError> {
        for value in buffer.iter_mut() {
            *value *= factor;
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
        let parameters = part(parameters, at, layer.parameters())?;
        let Recurrent { inputs, units, both } = layer;
        check::count(x.len(), frame.cells() * inputs, "the input of a recurrent layer")?;
        Ok(if both {
            let mut trace = Blstm { inputs, units }.forward(parameters, frame, x);
            (trace.take_output(), CpuTrace(Kind::Both(trace)))
        } else {
            let layer = Lstm { inputs, units, direction: Direction::Forward };
            let trace = layer.forward(parameters, frame, x);
            (trace.output(), CpuTrace(Kind::One(trace)))
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
        let parameters = part(parameters, at, layer.parameters())?;
        let gradient = part_mut(gradient, at, layer.parameters())?;
        let (Recurrent { inputs, units, .. }, cells) = (layer, frame.cells());
        check::count(x.len(), cells * inputs, "the input of a recurrent layer")?;
        check::count(dy.len(), cells * layer.outputs(), "the gradient of a recurrent layer")?;
        trace.is_of(layer, frame)?;
        let forward = Lstm { inputs, units, direction: Direction::Forward };
        let both = Blstm { inputs, units };
        Ok(match (trace.0, wanted) {
            (Kind::Both(trace), true) => {
                Some(both.backward(parameters, gradient, frame, x, trace, dy))
            }
            (Kind::One(trace), true) => Some(forward.backward(parameters, gradient, x, trace, dy)),
            (Kind::Both(trace), false) => {
                both.backward_parameters(parameters, gradient, frame, x, trace, dy);
                None
            }
            (Kind::One(trace), false) => {
                forward.backward_parameters(parameters, gradient, x, trace, dy);
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
        let parameters = part(parameters, at, layer.parameters())?;
        check::rows(x.len(), layer.inputs, "the input of a linear layer")?;
        Ok(layer.forward(parameters, x))
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
        let parameters = part(parameters, at, layer.parameters())?;
        let gradient = part_mut(gradient, at, layer.parameters())?;
        let rows = check::rows(x.len(), layer.inputs, "the input of a linear layer")?;
        check::count(dy.len(), rows * layer.outputs, "the gradient of a linear layer")?;
        Ok(layer.backward(parameters, gradient, x, dy))
    }

    fn linear_batch(
        &self,
        layer: Linear,
        parameters: &Buffer,
        at: usize,
        frame: &Frame,
        x: &Buffer,
    ) -> Result<Buffer, EngineError> {
        let parameters = part(parameters, at, layer.parameters())?;
        check::count(x.len(), frame.cells() * layer.inputs, "the input of a linear layer")?;
        Ok(layer.forward_batch(parameters, frame, x))
    }

    fn linear_batch_backward(
        &self,
        layer: Linear,
        parameters: &Buffer,
        gradient: &mut Buffer,
        at: usize,
        frame: &Frame,
        x: &Buffer,
        dy: &Buffer,
    ) -> Result<Buffer, EngineError> {
        let parameters = part(parameters, at, layer.parameters())?;
        let gradient = part_mut(gradient, at, layer.parameters())?;
        let cells = frame.cells();
        check::count(x.len(), cells * layer.inputs, "the input of a linear layer")?;
        check::count(dy.len(), cells * layer.outputs, "the gradient of a linear layer")?;
        Ok(layer.backward_batch(parameters, gradient, frame, x, dy))
    }

    fn embed(
        &self,
        layer: Embedding,
        parameters: &Buffer,
        at: usize,
        frame: &Frame,
        symbols: &[u32],
    ) -> Result<Buffer, EngineError> {
        let table = part(parameters, at, layer.parameters())?;
        check::symbols(layer, frame, symbols)?;
        Ok(embedding::embed(layer, table, frame, symbols))
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
        let gradient = part_mut(gradient, at, layer.parameters())?;
        check::symbols(layer, frame, symbols)?;
        check::count(dy.len(), frame.cells() * layer.width, "the gradient of symbols")?;
        embedding::embed_backward(layer, gradient, frame, symbols, dy);
        Ok(())
    }

    fn join(
        &self,
        one: &Buffer,
        other: &Buffer,
        widths: (usize, usize),
    ) -> Result<Buffer, EngineError> {
        let rows = check::rows(one.len(), widths.0, "what is joined")?;
        check::count(other.len(), rows * widths.1, "what is joined")?;
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
        let rows = check::rows(both.len(), widths.0 + widths.1, "what is split")?;
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
        check::attention(shape, [queries, keys, values].map(|of| of.len()))?;
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
        check::attention(shape, [queries, keys, values].map(|of| of.len()))?;
        let asks = shape.queries.cells();
        check::count(weights.len(), asks * shape.keys.steps(), "weights")?;
        check::count(dy.len(), asks * shape.value_width, "the gradient of attention")?;
        Ok(attention::attend_backward(shape, queries, keys, values, weights, dy))
    }

    fn mean(&self, frame: &Frame, width: usize, x: &Buffer) -> Result<Buffer, EngineError> {
        check::count(x.len(), frame.cells() * width, "what has a mean")?;
        Ok(mean::mean(frame, width, x))
    }

    fn mean_backward(
        &self,
        frame: &Frame,
        width: usize,
        dy: &Buffer,
    ) -> Result<Buffer, EngineError> {
        check::count(dy.len(), frame.rows() * width, "the gradient of a mean")?;
        Ok(mean::mean_backward(frame, width, dy))
    }

    fn cross_entropy(
        &self,
        frame: &Frame,
        scores: &Buffer,
        classes: usize,
        labels: &[u32],
    ) -> Result<Loss<Buffer>, EngineError> {
        check::count(scores.len(), frame.cells() * classes, "scores")?;
        check::labels(frame, classes, labels)?;
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
        check::count(scores.len(), frame.cells() * classes, "scores")?;
        check::targets(frame, classes, targets)?;
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
        check::count(values.len(), frame.cells() * width, "values")?;
        check::count(targets.len(), values.len(), "targets")?;
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
        check::count(gradient.len(), parameters.len(), "the gradient")?;
        let [first, second] = state;
        check::count(first.len(), parameters.len(), "the state")?;
        check::count(second.len(), parameters.len(), "the state")?;
        optimizer::update(rule, rate, steps, parameters, gradient, [first, second]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ones(count: usize) -> Buffer {
        vec![1.0; count].into()
    }

    fn words<T>(result: Result<T, EngineError>) -> String {
        result.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let (frame, cpu) = (Frame::new(2, vec![2, 1]), Cpu);
        assert_eq!(
            words(cpu.add(&mut ones(3), &ones(2))),
            "what is added: 2 numbers, where 3 are needed"
        );
        assert_eq!(
            words(cpu.join(&ones(4), &ones(4), (2, 1))),
            "what is joined: 4 numbers, where 2 are needed"
        );
        assert!(cpu.split(&ones(5), (1, 1)).is_err());
        assert!(cpu.mean(&frame, 1, &ones(5)).is_err());
        assert!(cpu.mean_backward(&frame, 1, &ones(3)).is_err());
        let embedding = Embedding { symbols: 3, width: 2 };
        assert!(cpu.embed(embedding, &ones(6), 0, &frame, &[0, 1, 3, 9]).is_err());
        assert!(cpu.embed(embedding, &ones(6), usize::MAX, &frame, &[0; 4]).is_err());
        let linear = Linear { inputs: 2, outputs: 1 };
        assert!(cpu.linear(linear, &ones(3), 1, &ones(2)).is_err());
        assert!(cpu.linear(linear, &ones(3), 0, &ones(3)).is_err());
        assert_eq!(
            words(cpu.cross_entropy(&frame, &ones(8), 2, &[0, 1, 2, 9])),
            "label 2 at place 2, where there are 2 classes"
        );
        assert!(cpu.ctc(&frame, &ones(8), 2, &[vec![1], vec![2]]).is_err());
        let state = || [ones(2), ones(3)];
        assert!(cpu.update(Rule::ADAM, 0.1, 1, &mut ones(2), &ones(2), &mut state()).is_err());
    }

    #[test]
    fn a_trace_belongs_to_its_layer_and_batch() {
        let layer = Recurrent { inputs: 1, units: 2, both: true };
        let (frame, turned) = (Frame::new(2, vec![2, 1, 1]), Frame::new(3, vec![3, 3]));
        let one = Recurrent { both: false, ..layer };
        let (parameters, x) = (ones(layer.parameters()), ones(6));
        for (layer, of) in [(layer, &turned), (one, &frame)] {
            let before = Recurrent { both: true, ..layer };
            let (_, trace) = Cpu.recurrent(before, &parameters, 0, &frame, &x).unwrap();
            let (mut gradient, dy) = (ones(parameters.len()), ones(6 * layer.outputs()));
            let back = Cpu.recurrent_backward(
                layer,
                &parameters,
                &mut gradient,
                0,
                of,
                &x,
                trace,
                &dy,
                true,
            );
            assert_eq!(words(back), "the trace is of another layer or batch");
        }
    }

    /// Batches of one row, of one step, of one unit, and of rows without length.
    #[test]
    fn the_smallest_batches_give_numbers() {
        let layer = Recurrent { inputs: 1, units: 1, both: true };
        for frame in [Frame::new(1, vec![1]), Frame::new(1, vec![0]), Frame::new(3, vec![0, 0])] {
            let cells = frame.cells();
            let parameters = ones(layer.parameters());
            let mut gradient = Cpu.zeros(layer.parameters()).unwrap();
            let x = ones(cells);
            let (y, trace) = Cpu.recurrent(layer, &parameters, 0, &frame, &x).unwrap();
            let one = Cpu.cross_entropy(&frame, &y, 2, &vec![0; cells]).unwrap();
            let other = Cpu.squared_error(&frame, &y, 2, &ones(2 * cells)).unwrap();
            assert!(one.total.is_finite() && other.total.is_finite());
            assert_eq!(one.count, frame.positions());
            let dx = Cpu.recurrent_backward(
                layer,
                &parameters,
                &mut gradient,
                0,
                &frame,
                &x,
                trace,
                &one.gradient,
                true,
            );
            let dx = dx.unwrap().unwrap();
            let shape =
                Attention { queries: frame.clone(), keys: frame.clone(), width: 1, value_width: 2 };
            let (found, weights) = Cpu.attend(&shape, &x, &x, &y).unwrap();
            let back = Cpu.attend_backward(&shape, &x, &x, &y, &weights, &found).unwrap();
            let mean = Cpu.mean(&frame, 2, &y).unwrap();
            let all = [&y, &one.gradient, &other.gradient, &gradient, &dx, &found, &mean];
            for values in all.into_iter().chain(&back) {
                assert!(values.iter().all(|value| value.is_finite()), "{frame:?}");
            }
            assert!(Cpu.clip(&mut gradient, 1.0).unwrap().is_finite());
        }
        let frame = Frame::new(2, vec![2]);
        let loss = Cpu.ctc(&frame, &ones(2), 1, &[vec![]]).unwrap();
        assert!(loss.total == 0.0 && loss.count == 0 && loss.gradient.iter().all(|&d| d == 0.0));
    }
}
