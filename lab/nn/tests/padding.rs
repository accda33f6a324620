//! What padding must not change: losses, gradients and results, whatever its numbers are.
#![expect(clippy::unwrap_used, reason = "the sizes are ours")]

use lengthwise_nn::{
    Attention, Buffer, Cpu, Embedding, Engine as _, Frame, Linear, Recurrent, Tape,
};

fn wave(count: usize, speed: f32) -> Vec<f32> {
    (0..count).map(|at| 0.5 * (speed * at as f32 + 0.1 * (at as f32).sqrt()).sin()).collect()
}

/// Numbers for every place, with `padding` where there is padding.
fn padded(frame: &Frame, width: usize, speed: f32, padding: f32) -> Vec<f32> {
    let mut values = wave(frame.cells() * width, speed);
    for (place, values) in values.chunks_exact_mut(width).enumerate() {
        if place / frame.rows() >= frame.lengths()[place % frame.rows()] {
            values.fill(padding);
        }
    }
    values
}

/// The numbers of one row, as a batch of its own.
fn of_row<T: Copy>(frame: &Frame, values: &[T], width: usize, row: usize) -> Vec<T> {
    (0..frame.lengths()[row])
        .flat_map(|step| &values[(step * frame.rows() + row) * width..][..width])
        .copied()
        .collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

const INPUTS: usize = 5;
const CLASSES: usize = 7;

/// The sum of the losses of two layers and a linear one, and its gradient.
fn pass(both: bool, frame: &Frame, x: Vec<f32>, labels: &[u32]) -> (f64, Buffer) {
    let units = 19;
    let one = Recurrent { inputs: INPUTS, units, both };
    let two = Recurrent { inputs: one.outputs(), units, both };
    let head = Linear { inputs: two.outputs(), outputs: CLASSES };
    let third = one.parameters() + two.parameters();
    let parameters = Buffer::from(wave(third + head.parameters(), 0.37));
    let mut tape = Tape::new(&Cpu, &parameters);
    let value = tape.given(x).unwrap();
    let value = tape.recurrent(one, 0, frame, value).unwrap();
    let value = tape.recurrent(two, one.parameters(), frame, value).unwrap();
    let scores = tape.linear(head, third, frame, value).unwrap();
    let mut loss = Cpu.cross_entropy(frame, tape.get(scores), CLASSES, labels).unwrap();
    Cpu.scale(&mut loss.gradient, loss.count as f32).unwrap();
    let mut gradient = Cpu.zeros(parameters.len()).unwrap();
    tape.backward(scores, loss.gradient, &mut gradient).unwrap();
    (loss.total, gradient)
}

/// Unequal lengths in no order, with a row of no length, so that rows begin and end at different steps.
fn frames() -> [Frame; 3] {
    [
        Frame::new(40, vec![40, 4, 31, 0, 13, 40, 22, 31, 1, 9, 38]),
        Frame::new(60, vec![3, 50, 50, 17, 2, 49]),
        Frame::new(9, vec![9; 4]),
    ]
}

#[test]
fn a_batch_has_the_loss_and_gradient_of_its_rows_alone() {
    for (both, frame) in [false, true].into_iter().flat_map(|both| frames().map(|of| (both, of))) {
        let x = padded(&frame, INPUTS, 0.7, 9.0);
        let labels: Vec<u32> = (0..frame.cells()).map(|at| (at * at % CLASSES) as u32).collect();
        let (together, gradient) = pass(both, &frame, x.clone(), &labels);
        let (mut sum, mut sums) = (0.0, vec![0.0_f64; gradient.len()]);
        for (row, &length) in frame.lengths().iter().enumerate().filter(|&(_, &length)| length > 0)
        {
            let (x, labels) = (of_row(&frame, &x, INPUTS, row), of_row(&frame, &labels, 1, row));
            let (loss, gradient) = pass(both, &Frame::new(length, vec![length]), x, &labels);
            sum += loss;
            for (sum, &add) in sums.iter_mut().zip(gradient.iter()) {
                *sum += f64::from(add);
            }
        }
        assert!((together - sum).abs() <= 1e-6 * sum, "{together} for {sum}");
        let largest = sums.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        for (at, (&found, sum)) in gradient.iter().zip(sums).enumerate() {
            let error = (f64::from(found) - sum).abs();
            assert!(error <= 2e-6 * largest, "{both} {frame:?} at {at}: {found} for {sum}");
        }
    }
}

#[test]
fn padding_that_is_computed_changes_nothing() {
    for (both, frame) in [false, true].into_iter().flat_map(|both| frames().map(|of| (both, of))) {
        let x = padded(&frame, INPUTS, 0.7, 9.0);
        let labels: Vec<u32> = (0..frame.cells()).map(|at| (at * at % CLASSES) as u32).collect();
        let (loss, gradient) = pass(both, &frame, x.clone(), &labels);
        let (same, computed) = pass(both, &frame.clone().with_padding(), x, &labels);
        assert!((loss - same).abs() <= 1e-9 * loss, "{loss} and {same}");
        let largest = gradient.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        for (one, other) in gradient.iter().zip(computed.iter()) {
            assert!((one - other).abs() <= 2e-6 * largest, "{both} {frame:?}: {one} and {other}");
        }
    }
}

#[test]
fn numbers_in_the_padding_are_never_used() {
    for (both, frame) in [false, true].into_iter().flat_map(|both| frames().map(|of| (both, of))) {
        let run = |padding: f32, label: u32| {
            let labels: Vec<u32> = (0..frame.cells())
                .map(|at| {
                    let holds = at / frame.rows() < frame.lengths()[at % frame.rows()];
                    if holds { (at % CLASSES) as u32 } else { label }
                })
                .collect();
            let x = padded(&frame, INPUTS, 0.7, padding);
            let (loss, gradient) = pass(both, &frame, x, &labels);
            assert!(loss.is_finite() && gradient.iter().all(|value| value.is_finite()));
            (loss.to_bits(), bits(&gradient))
        };
        assert!(run(0.0, 0) == run(f32::NAN, 99), "{both} {frame:?}");
    }
}

#[test]
fn more_padding_changes_no_bit() {
    let lengths = vec![40, 4, 31, 0, 13, 40, 22, 31, 1, 9, 38];
    let labels = |steps: usize| -> Vec<u32> {
        (0..steps * lengths.len()).map(|at| (at % CLASSES) as u32).collect()
    };
    let run = |steps: usize| {
        let frame = Frame::new(steps, lengths.clone());
        let (loss, gradient) = pass(true, &frame, padded(&frame, INPUTS, 0.7, 3.0), &labels(steps));
        (loss, bits(&gradient))
    };
    let (short, long) = (run(40), run(71));
    // Losses are added in groups of places, which padding moves.
    assert!((short.0 - long.0).abs() <= 1e-12 * short.0 && short.1 == long.1);
}

/// Each operation alone: numbers and gradients in the padding change no result, and results are zero there.
#[test]
fn operations_neither_read_nor_fill_the_padding() {
    for frame in frames() {
        let keys = Frame::new(8, (0..frame.rows()).map(|row| row * 3 % 9).collect());
        let run = |padding: f32| {
            let given = |frame: &Frame, width: usize, speed: f32| {
                Buffer::from(padded(frame, width, speed, padding))
            };
            let mut all: Vec<(usize, Frame, Buffer)> = Vec::new();
            let mut gradients = Vec::new();
            for both in [false, true] {
                let layer = Recurrent { inputs: 3, units: 6, both };
                let parameters = Buffer::from(wave(layer.parameters(), 0.3));
                let mut gradient = Cpu.zeros(parameters.len()).unwrap();
                let x = given(&frame, 3, 0.7);
                let (y, trace) = Cpu.recurrent(layer, &parameters, 0, &frame, &x).unwrap();
                let dy = given(&frame, layer.outputs(), 0.9);
                let dx = Cpu.recurrent_backward(
                    layer,
                    &parameters,
                    &mut gradient,
                    0,
                    &frame,
                    &x,
                    trace,
                    &dy,
                    true,
                );
                all.push((layer.outputs(), frame.clone(), y));
                all.push((3, frame.clone(), dx.unwrap().unwrap()));
                gradients.push(gradient);
            }
            let layer = Linear { inputs: 3, outputs: 4 };
            let parameters = Buffer::from(wave(layer.parameters(), 0.3));
            let mut gradient = Cpu.zeros(parameters.len()).unwrap();
            let (x, dy) = (given(&frame, 3, 0.7), given(&frame, 4, 0.9));
            let y = Cpu.linear_batch(layer, &parameters, 0, &frame, &x).unwrap();
            let dx = Cpu
                .linear_batch_backward(layer, &parameters, &mut gradient, 0, &frame, &x, &dy)
                .unwrap();
            all.push((4, frame.clone(), y));
            all.push((3, frame.clone(), dx));
            gradients.push(gradient);
            let layer = Embedding { symbols: 5, width: 4 };
            let mut gradient = Cpu.zeros(layer.parameters()).unwrap();
            let symbols: Vec<u32> = (0..frame.cells()).map(|at| (at % 5) as u32).collect();
            Cpu.embed_backward(layer, &mut gradient, 0, &frame, &symbols, &dy).unwrap();
            gradients.push(gradient);
            gradients.push(Cpu.mean(&frame, 4, &dy).unwrap());
            let shape =
                Attention { queries: frame.clone(), keys: keys.clone(), width: 3, value_width: 4 };
            let (key, value) = (given(&keys, 3, 0.8), given(&keys, 4, 0.6));
            let (found, weights) = Cpu.attend(&shape, &x, &key, &value).unwrap();
            let [dq, dk, dv] =
                Cpu.attend_backward(&shape, &x, &key, &value, &weights, &dy).unwrap();
            all.push((4, frame.clone(), found));
            all.push((3, frame.clone(), dq));
            all.push((3, keys.clone(), dk));
            all.push((4, keys.clone(), dv));
            gradients.push(weights);
            for (width, frame, values) in &all {
                for (place, values) in values.chunks_exact(*width).enumerate() {
                    let holds = place / frame.rows() < frame.lengths()[place % frame.rows()];
                    assert!(holds || values.iter().all(|value| value.to_bits() == 0));
                }
            }
            gradients.extend(all.into_iter().map(|(_, _, values)| values));
            let all: Vec<Vec<u32>> = gradients.iter().map(|values| bits(values)).collect();
            assert!(gradients.iter().flat_map(|of| of.iter()).all(|value| value.is_finite()));
            all
        };
        let (zeros, garbage) = (run(0.0), run(f32::NAN));
        for (at, (zeros, garbage)) in zeros.iter().zip(&garbage).enumerate() {
            assert!(zeros == garbage, "result {at} of {frame:?}");
        }
    }
}
