//! What padding must not change: losses, gradients and results, whatever its numbers are. On the processor, and on
//! a CUDA device where there is one.
#![expect(clippy::unwrap_used, reason = "the sizes are ours")]
#![expect(clippy::print_stderr, reason = "says how far apart results are, and what is left out")]

#[cfg(feature = "cuda")]
use std::sync::OnceLock;

use lengthwise_nn::{Attention, Cpu, Embedding, Engine, Frame, Linear, Recurrent, Tape};
#[cfg(feature = "cuda")]
use lengthwise_nn::{Cuda, EngineError};

/// One device for all tests, if there is one: a program should not have two.
#[cfg(feature = "cuda")]
fn shared() -> &'static Result<Cuda, EngineError> {
    static SHARED: OnceLock<Result<Cuda, EngineError>> = OnceLock::new();
    SHARED.get_or_init(|| Cuda::new(0))
}

/// Calls a function with the processor, and with a CUDA device if there is one. After the engine comes how far results
/// of sums in another order may be apart, as a share of the largest.
macro_rules! on_engines {
    ($function:ident) => {
        $function(&Cpu, 2e-6);
        #[cfg(feature = "cuda")]
        match shared() {
            Ok(cuda) => $function(cuda, 1e-5),
            Err(error) => eprintln!("not on a CUDA device: {error}"),
        }
    };
}

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

/// Whether a number is zero, of whatever sign.
fn is_zero(value: f32) -> bool {
    value.to_bits() << 1 == 0
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

const INPUTS: usize = 5;
const CLASSES: usize = 7;

/// The loss of two layers and a linear one, and the gradient of each of their parts.
struct Pass {
    loss: f64,
    gradient: Vec<(String, Vec<f32>)>,
}

impl Pass {
    fn new<E: Engine>(engine: &E, both: bool, frame: &Frame, x: Vec<f32>, labels: &[u32]) -> Self {
        let units = 19;
        let one = Recurrent { inputs: INPUTS, units, both };
        let two = Recurrent { inputs: one.outputs(), units, both };
        let head = Linear { inputs: two.outputs(), outputs: CLASSES };
        let third = one.parameters() + two.parameters();
        let count = third + head.parameters();
        let parameters = engine.upload(wave(count, 0.37)).unwrap();
        let mut tape = Tape::new(engine, &parameters);
        let value = tape.given(x).unwrap();
        let value = tape.recurrent(one, 0, frame, value).unwrap();
        let value = tape.recurrent(two, one.parameters(), frame, value).unwrap();
        let scores = tape.linear(head, third, frame, value).unwrap();
        let mut loss = engine.cross_entropy(frame, tape.get(scores), CLASSES, labels).unwrap();
        engine.scale(&mut loss.gradient, loss.count as f32).unwrap();
        let mut gradient = engine.zeros(count).unwrap();
        tape.backward(scores, loss.gradient, &mut gradient).unwrap();
        let mut rest = engine.download(&gradient).unwrap().into_iter();
        let mut gradient = Vec::new();
        let mut part = |name: String, count: usize| {
            gradient.push((name, rest.by_ref().take(count).collect()));
        };
        for (name, layer) in [("first", one), ("second", two)] {
            for direction in ["forward", "backward"].into_iter().take(1 + usize::from(both)) {
                part(format!("{name} layer, {direction}, input"), layer.inputs * 4 * units);
                part(format!("{name} layer, {direction}, recurrent"), units * 4 * units);
                part(format!("{name} layer, {direction}, bias"), 4 * units);
            }
        }
        part("linear layer, weight".to_owned(), head.inputs * CLASSES);
        part("linear layer, bias".to_owned(), CLASSES);
        assert_eq!(rest.next(), None);
        Self { loss: loss.total, gradient }
    }

    fn bits(&self) -> Vec<Vec<u32>> {
        self.gradient.iter().map(|(_, values)| bits(values)).collect()
    }
}

/// Whether each part of a gradient is near what is expected, as a share of the largest of all.
fn near(what: &str, found: &Pass, expected: &[Vec<f64>], tolerance: f64) {
    let all = expected.iter().flatten();
    let largest = all.fold(0.0_f64, |most, value| most.max(value.abs()));
    let errors: Vec<f64> = found
        .gradient
        .iter()
        .zip(expected)
        .map(|((_, found), expected)| {
            let apart = found.iter().zip(expected).map(|(&one, two)| (f64::from(one) - two).abs());
            // A number that is none is further than any.
            apart.fold(0.0, |most, apart| if apart <= most { most } else { apart }) / largest
        })
        .collect();
    if errors.iter().all(|error| *error <= tolerance) {
        return;
    }
    for ((name, _), error) in found.gradient.iter().zip(&errors) {
        eprintln!("{error:9.1e}  {name}");
    }
    panic!("{what}: gradients are more than {tolerance:.0e} apart");
}

/// Unequal lengths in no order, with a row of no length, so that rows begin and end at different steps.
fn frames() -> [Frame; 3] {
    [
        Frame::new(40, vec![40, 4, 31, 0, 13, 40, 22, 31, 1, 9, 38]),
        Frame::new(60, vec![3, 50, 50, 17, 2, 49]),
        Frame::new(9, vec![9; 4]),
    ]
}

/// The frames, each with layers forward only and in both directions.
fn cases() -> impl Iterator<Item = (bool, Frame)> {
    [false, true].into_iter().flat_map(|both| frames().map(|of| (both, of)))
}

fn labels_of(frame: &Frame) -> Vec<u32> {
    (0..frame.cells()).map(|at| (at * at % CLASSES) as u32).collect()
}

fn rows_alone<E: Engine>(engine: &E, tolerance: f64) {
    for (both, frame) in cases() {
        let (x, labels) = (padded(&frame, INPUTS, 0.7, 9.0), labels_of(&frame));
        let together = Pass::new(engine, both, &frame, x.clone(), &labels);
        let mut sum = 0.0;
        let mut sums: Vec<Vec<f64>> =
            together.gradient.iter().map(|(_, values)| vec![0.0; values.len()]).collect();
        for (row, &length) in frame.lengths().iter().enumerate().filter(|&(_, &length)| length > 0)
        {
            let (x, labels) = (of_row(&frame, &x, INPUTS, row), of_row(&frame, &labels, 1, row));
            let alone = Pass::new(engine, both, &Frame::new(length, vec![length]), x, &labels);
            sum += alone.loss;
            for (sums, (_, values)) in sums.iter_mut().zip(&alone.gradient) {
                for (sum, &add) in sums.iter_mut().zip(values) {
                    *sum += f64::from(add);
                }
            }
        }
        assert!((together.loss - sum).abs() <= 1e-6 * sum, "{} for {sum}", together.loss);
        near(&format!("{both} {frame:?}"), &together, &sums, tolerance);
    }
}

#[test]
fn a_batch_has_the_loss_and_gradient_of_its_rows_alone() {
    on_engines!(rows_alone);
}

fn computed<E: Engine>(engine: &E, tolerance: f64) {
    for (both, frame) in cases() {
        let (x, labels) = (padded(&frame, INPUTS, 0.7, 9.0), labels_of(&frame));
        let skipped = Pass::new(engine, both, &frame, x.clone(), &labels);
        let computed = Pass::new(engine, both, &frame.clone().with_padding(), x, &labels);
        let (one, other) = (skipped.loss, computed.loss);
        assert!((one - other).abs() <= 0.1 * tolerance * one, "{one} and {other}");
        let expected: Vec<Vec<f64>> = computed
            .gradient
            .iter()
            .map(|(_, values)| values.iter().copied().map(f64::from).collect())
            .collect();
        near(&format!("{both} {frame:?}"), &skipped, &expected, tolerance);
    }
}

#[test]
fn padding_that_is_computed_changes_nothing() {
    on_engines!(computed);
}

fn garbage<E: Engine>(engine: &E, _: f64) {
    for (both, frame) in cases() {
        let run = |padding: f32, label: u32| {
            let labels: Vec<u32> = (0..frame.cells())
                .map(|at| {
                    let holds = at / frame.rows() < frame.lengths()[at % frame.rows()];
                    if holds { (at % CLASSES) as u32 } else { label }
                })
                .collect();
            let pass =
                Pass::new(engine, both, &frame, padded(&frame, INPUTS, 0.7, padding), &labels);
            let finite = |(name, values): &(String, Vec<f32>)| {
                let of = values.iter().filter(|value| !value.is_finite()).count();
                assert!(of == 0, "{both} {frame:?}: {of} of {} in {name}", values.len());
            };
            pass.gradient.iter().for_each(finite);
            assert!(pass.loss.is_finite());
            (pass.loss.to_bits(), pass.bits())
        };
        assert!(run(0.0, 0) == run(f32::NAN, 99), "{both} {frame:?}");
    }
}

#[test]
fn numbers_in_the_padding_are_never_used() {
    on_engines!(garbage);
}

fn more<E: Engine>(engine: &E, _: f64) {
    for lengths in [vec![40, 4, 31, 0, 13, 40, 22, 31, 1, 9, 38], vec![17; 5]] {
        let run = |steps: usize| {
            let frame = Frame::new(steps, lengths.clone());
            let labels: Vec<u32> = (0..frame.cells()).map(|at| (at % CLASSES) as u32).collect();
            let pass = Pass::new(engine, true, &frame, padded(&frame, INPUTS, 0.7, 3.0), &labels);
            (pass.loss, pass.bits())
        };
        let (short, long) = (run(40), run(71));
        // Losses are added in groups of places, which padding moves.
        assert!((short.0 - long.0).abs() <= 1e-12 * short.0, "{} and {}", short.0, long.0);
        assert!(short.1 == long.1, "{lengths:?}");
    }
}

#[test]
fn more_padding_changes_no_bit() {
    on_engines!(more);
}

fn operations<E: Engine>(engine: &E, _: f64) {
    // Attention on a CUDA device computes padding, which must be numbers.
    let reads = engine.name() != Cpu.name();
    for frame in frames() {
        let keys = Frame::new(8, (0..frame.rows()).map(|row| row * 3 % 9).collect());
        let run = |padding: f32| {
            let given = |frame: &Frame, width: usize, speed: f32| {
                engine.upload(padded(frame, width, speed, padding)).unwrap()
            };
            let mut all: Vec<(usize, Frame, E::Buffer)> = Vec::new();
            let mut gradients = Vec::new();
            for both in [false, true] {
                let layer = Recurrent { inputs: 3, units: 6, both };
                let parameters = engine.upload(wave(layer.parameters(), 0.3)).unwrap();
                let mut gradient = engine.zeros(layer.parameters()).unwrap();
                let x = given(&frame, 3, 0.7);
                let (y, trace) = engine.recurrent(layer, &parameters, 0, &frame, &x).unwrap();
                let dy = given(&frame, layer.outputs(), 0.9);
                let dx = engine.recurrent_backward(
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
            let parameters = engine.upload(wave(layer.parameters(), 0.3)).unwrap();
            let mut gradient = engine.zeros(layer.parameters()).unwrap();
            let (x, dy) = (given(&frame, 3, 0.7), given(&frame, 4, 0.9));
            let y = engine.linear_batch(layer, &parameters, 0, &frame, &x).unwrap();
            let dx = engine
                .linear_batch_backward(layer, &parameters, &mut gradient, 0, &frame, &x, &dy)
                .unwrap();
            all.push((4, frame.clone(), y));
            all.push((3, frame.clone(), dx));
            gradients.push(gradient);
            let layer = Embedding { symbols: 5, width: 4 };
            let mut gradient = engine.zeros(layer.parameters()).unwrap();
            let symbols: Vec<u32> = (0..frame.cells()).map(|at| (at % 5) as u32).collect();
            engine.embed_backward(layer, &mut gradient, 0, &frame, &symbols, &dy).unwrap();
            gradients.push(gradient);
            gradients.push(engine.mean(&frame, 4, &dy).unwrap());
            let shape =
                Attention { queries: frame.clone(), keys: keys.clone(), width: 3, value_width: 4 };
            let given = |frame: &Frame, width: usize, speed: f32| {
                let padding = if reads && padding.is_nan() { 9.0 } else { padding };
                engine.upload(padded(frame, width, speed, padding)).unwrap()
            };
            let (x, dy) = (given(&frame, 3, 0.7), given(&frame, 4, 0.9));
            let (key, value) = (given(&keys, 3, 0.8), given(&keys, 4, 0.6));
            let (found, weights) = engine.attend(&shape, &x, &key, &value).unwrap();
            let [dq, dk, dv] =
                engine.attend_backward(&shape, &x, &key, &value, &weights, &dy).unwrap();
            all.push((4, frame.clone(), found));
            all.push((3, frame.clone(), dq));
            all.push((3, keys.clone(), dk));
            all.push((4, keys.clone(), dv));
            gradients.push(weights);
            let mut results: Vec<Vec<f32>> =
                gradients.iter().map(|values| engine.download(values).unwrap()).collect();
            for (width, frame, values) in &all {
                let values = engine.download(values).unwrap();
                for (place, values) in values.chunks_exact(*width).enumerate() {
                    let holds = place / frame.rows() < frame.lengths()[place % frame.rows()];
                    let at = results.len();
                    assert!(holds || values.iter().all(|value| is_zero(*value)), "result {at}");
                }
                results.push(values);
            }
            for (at, values) in results.iter().enumerate() {
                assert!(values.iter().all(|value| value.is_finite()), "result {at} of {frame:?}");
            }
            results
        };
        let (zeros, garbage) = (run(0.0), run(f32::NAN));
        for (at, (zeros, garbage)) in zeros.iter().zip(&garbage).enumerate() {
            let same = |(one, other): (&f32, &f32)| {
                one.to_bits() == other.to_bits() || is_zero(*one) && is_zero(*other)
            };
            assert!(zeros.iter().zip(garbage).all(same), "result {at} of {frame:?}");
        }
    }
}

/// Each operation alone: numbers and gradients in the padding change no result, and results are zero there.
#[test]
fn operations_neither_read_nor_fill_the_padding() {
    on_engines!(operations);
}
