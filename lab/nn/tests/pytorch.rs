//! Losses, gradients and optimizer steps against PyTorch's, on numbers that both make from a formula.
//! `reference/make.py` computed what is expected.
#![expect(clippy::unwrap_used, reason = "the reference is ours")]

use lengthwise_nn::{
    Attention, Blstm, Cpu, Embedding, Engine as _, Frame, Linear, Recurrent, Rule, Tape,
    loss::{cross_entropy, ctc, squared_error},
    optimizer::update,
};
use serde_json::Value;

fn wave(count: usize, seed: f64, scale: f64) -> Vec<f32> {
    let at = |i: usize| scale * (seed * (i + 1) as f64 + 0.1 * (i as f64).sqrt()).sin();
    (0..count).map(|i| at(i) as f32).collect()
}

fn numbers() -> Value {
    serde_json::from_str(include_str!("reference/numbers.json")).unwrap()
}

fn floats(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

/// Equal to a part of 10⁵ of the largest.
fn assert_near(found: &[f32], expected: &Value, what: &str) {
    let expected = floats(expected);
    assert_eq!(found.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    for (place, (&found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (f64::from(found) - expected).abs();
        assert!(error <= 1e-5 * largest, "{what} at {place}: {found} for {expected}");
    }
}

fn assert_loss(found: f64, expected: &Value) {
    let expected = expected.as_f64().unwrap();
    assert!((found / expected - 1.0).abs() < 1e-5, "loss {found} for {expected}");
}

/// A stack of two layers and a linear one, with its gradients: each layer's, the head's and the
/// input's.
struct Passed {
    loss: f64,
    correct: usize,
    gradients: [Vec<f32>; 3],
    dx: Vec<f32>,
}

fn pass(units: usize, frame: &Frame, x: &[f32], labels: &[u32]) -> Passed {
    let (inputs, classes) = (5, 6);
    let first = Blstm { inputs, units };
    let second = Blstm { inputs: 2 * units, units };
    let head = Linear { inputs: 2 * units, outputs: classes };
    let both = |layer: Blstm, seeds: [f64; 2]| -> Vec<f32> {
        seeds.iter().flat_map(|&seed| wave(layer.parameters() / 2, seed, 0.5)).collect()
    };
    let parameters =
        [both(first, [0.31, 0.37]), both(second, [0.41, 0.43]), wave(head.parameters(), 0.53, 0.5)];
    let one = first.forward(&parameters[0], frame, x);
    let two = second.forward(&parameters[1], frame, one.output());
    let scores = head.forward_batch(&parameters[2], frame, two.output());
    let classified = cross_entropy(frame, &scores, classes, labels);
    let mut gradients = parameters.clone().map(|part| vec![0.0; part.len()]);
    let [d_first, d_second, d_head] = &mut gradients;
    let dy = head.backward_batch(&parameters[2], d_head, frame, two.output(), &classified.gradient);
    let middle = one.output().to_vec();
    let dy = second.backward(&parameters[1], d_second, frame, &middle, two, &dy);
    let dx = first.backward(&parameters[0], d_first, frame, x, one, &dy);
    Passed { loss: classified.loss, correct: classified.correct, gradients, dx: dx.to_vec() }
}

const LENGTHS: [usize; 4] = [7, 3, 5, 1];

fn data(steps: usize) -> (Vec<f32>, Vec<u32>) {
    let rows = LENGTHS.len();
    let (mut x, mut labels) = (wave(7 * rows * 5, 0.7, 0.5), Vec::new());
    labels.extend((0..7 * rows).map(|i| ((3 * i + i / 5) % 6) as u32));
    // What is beyond is padding, and may be anything.
    x.resize(steps * rows * 5, 123.0);
    labels.resize(steps * rows, 3);
    (x, labels)
}

#[test]
fn stacks_of_layers_have_the_losses_and_gradients_of_pytorch() {
    let (x, labels) = data(7);
    let frame = Frame::new(7, LENGTHS.to_vec());
    for expected in numbers()["stacks"].as_array().unwrap() {
        let units = expected["units"].as_u64().unwrap() as usize;
        let passed = pass(units, &frame, &x, &labels);
        assert_loss(passed.loss, &expected["loss"]);
        assert_eq!(passed.correct as u64, expected["correct"].as_u64().unwrap());
        for (layer, gradient) in passed.gradients[..2].iter().enumerate() {
            let (forward, backward) = gradient.split_at(gradient.len() / 2);
            let expected = &expected["gradients"];
            assert_near(forward, &expected[2 * layer], &format!("forward {layer} of {units}"));
            assert_near(
                backward,
                &expected[2 * layer + 1],
                &format!("backward {layer} of {units}"),
            );
        }
        assert_near(&passed.gradients[2], &expected["head"], "head");
        assert_near(&passed.dx, &expected["input"], "input");
    }
}

#[test]
fn more_padding_changes_nothing() {
    let (x, labels) = data(7);
    let short = pass(21, &Frame::new(7, LENGTHS.to_vec()), &x, &labels);
    let (x, labels) = data(12);
    let long = pass(21, &Frame::new(12, LENGTHS.to_vec()), &x, &labels);
    assert_eq!((short.loss.to_bits(), short.correct), (long.loss.to_bits(), long.correct));
    for (short, long) in short.gradients.iter().zip(&long.gradients) {
        let largest = short.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        for (short, long) in short.iter().zip(long) {
            // Sums over more zeros may be rounded elsewhere.
            assert!((short - long).abs() <= 1e-6 * largest);
        }
    }
    assert!(long.dx[short.dx.len()..].iter().all(|&value| value == 0.0));
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let (x, labels) = data(7);
    let frame = Frame::new(7, LENGTHS.to_vec());
    let bits = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let passed = pool.install(|| pass(21, &frame, &x, &labels));
        let all = passed.gradients.concat();
        all.iter().map(|value| value.to_bits()).collect::<Vec<_>>()
    };
    assert!(bits(1) == bits(2) && bits(2) == bits(5));
}

#[test]
fn ctc_has_the_losses_and_gradients_of_pytorch() {
    let expected = &numbers()["ctc"];
    let frame = Frame::new(9, vec![9, 4, 7]);
    let scores = wave(9 * 3 * 5, 0.9, 2.0);
    let targets = [vec![1, 1, 3], vec![2, 4], vec![]];
    let (loss, gradient) = ctc(&frame, &scores, 5, &targets).unwrap();
    assert_loss(loss, &expected["loss"]);
    assert_near(&gradient, &expected["gradient"], "gradient");
}

#[test]
fn labels_that_do_not_fit_their_row_are_refused() {
    let frame = Frame::new(3, vec![3, 2]);
    let scores = vec![0.0; 3 * 2 * 4];
    let error = ctc(&frame, &scores, 4, &[vec![1, 2, 3], vec![1, 1]]).unwrap_err();
    assert_eq!(error.to_string(), "the labels of row 1 need 3 steps, and it has 2");
    assert!(ctc(&frame, &scores, 4, &[vec![1, 2, 3], vec![1, 2]]).is_ok());
}

#[test]
fn squared_error_has_the_loss_and_gradient_of_pytorch() {
    let expected = &numbers()["squared_error"];
    let frame = Frame::new(4, vec![2, 4]);
    let (loss, gradient) = squared_error(&frame, &wave(24, 0.6, 0.5), 3, &wave(24, 0.8, 0.5));
    assert_loss(loss, &expected["loss"]);
    assert_near(&gradient, &expected["gradient"], "gradient");
}

#[test]
fn attention_has_the_results_and_gradients_of_pytorch() {
    let expected = &numbers()["attention"];
    let (rows, width, value_width) = (3, 4, 3);
    let shape = Attention {
        queries: Frame::new(6, vec![6, 2, 4]),
        keys: Frame::new(5, vec![3, 5, 1]),
        width,
        value_width,
    };
    let upload = |values: Vec<f32>| Cpu.upload(values).unwrap();
    let q = upload(wave(6 * rows * width, 0.61, 2.0));
    let k = upload(wave(5 * rows * width, 0.67, 2.0));
    let v = upload(wave(5 * rows * value_width, 0.71, 0.5));
    let (y, weights) = Cpu.attend(&shape, &q, &k, &v).unwrap();
    assert_near(&y, &expected["output"], "output");
    let dy = upload(wave(y.len(), 0.83, 0.5));
    let gradients = Cpu.attend_backward(&shape, &q, &k, &v, &weights, &dy).unwrap();
    for (gradient, name) in gradients.iter().zip(["queries", "keys", "values"]) {
        assert_near(gradient, &expected[name], name);
    }
}

#[test]
fn a_tape_goes_back_to_symbols_over_a_mean() {
    let expected = &numbers()["text_classifier"];
    let frame = Frame::new(5, vec![4, 2, 5]);
    let symbols: Vec<u32> = (0..15).map(|i| (5 * i + i / 3) % 7).collect();
    let table = Embedding { symbols: 7, width: 3 };
    let layer = Recurrent { inputs: 3, units: 2, both: true };
    let head = Linear { inputs: 4, outputs: 4 };
    let half = layer.parameters() / 2;
    let parts = [
        wave(table.parameters(), 0.37, 0.5),
        wave(half, 0.41, 0.5),
        wave(half, 0.43, 0.5),
        wave(head.parameters(), 0.53, 0.5),
    ];
    let parameters = lengthwise_nn::Buffer::from(parts.concat());
    let mut tape = Tape::new(&Cpu, &parameters);
    let x = tape.embed(table, 0, &frame, symbols).unwrap();
    let y = tape.recurrent(layer, table.parameters(), &frame, x).unwrap();
    let mean = tape.mean(&frame, 4, y).unwrap();
    let one = Frame::new(1, vec![1; 3]);
    let scores = tape.linear(head, table.parameters() + 2 * half, &one, mean).unwrap();
    let loss = Cpu.cross_entropy(&one, tape.get(scores), 4, &[2, 0, 3]).unwrap();
    assert_loss(loss.total, &expected["loss"]);
    let mut gradient = Cpu.zeros(parameters.len()).unwrap();
    tape.backward(scores, loss.gradient, &mut gradient).unwrap();
    assert_near(&gradient, &expected["gradient"], "gradient");
}

#[test]
fn optimizers_take_the_steps_of_pytorch() {
    let expected = numbers();
    let after = |rule: Rule, rate: f32| {
        let mut parameters = wave(10, 0.2, 0.5);
        let (mut first, mut second) = ([0.0; 10], [0.0; 10]);
        for step in 0..5 {
            let gradient = wave(10, 0.3 + 0.1 * step as f64, 0.5);
            update(rule, rate, step + 1, &mut parameters, &gradient, [&mut first, &mut second]);
        }
        parameters
    };
    assert_near(&after(Rule::ADAM, 0.01), &expected["adam"], "adam");
    assert_near(&after(Rule::ADADELTA, 1.0), &expected["adadelta"], "adadelta");
}
