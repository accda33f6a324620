//! Times a training step of a stack of two BLSTM layers: `speed STEPS ROWS UNITS [REPEATS]`.

use std::{env, hint::black_box, time::Instant};

use lengthwise_nn::{Blstm, Frame, Linear, loss::cross_entropy, optimizer::Adam};

#[expect(clippy::print_stdout, reason = "its result")]
fn main() {
    let given: Vec<usize> = env::args().skip(1).filter_map(|text| text.parse().ok()).collect();
    let [steps, rows, units] = given[..3] else { return };
    let repeats = given.get(3).copied().unwrap_or(20);
    let (inputs, classes) = (16, 64);
    let layers = [Blstm { inputs, units }, Blstm { inputs: 2 * units, units }];
    let head = Linear { inputs: 2 * units, outputs: classes };
    let sizes = [layers[0].parameters(), layers[1].parameters(), head.parameters()];
    let count = sizes.iter().sum();
    let mut parameters: Vec<f32> = (0..count).map(|i| 0.08 * (i as f32 * 0.37).sin()).collect();
    let mut adam = Adam::new(count, 1e-3);
    let frame = Frame::new(steps, vec![steps; rows]);
    let x: Vec<f32> = (0..frame.cells() * inputs).map(|i| (i as f32 * 0.7).sin()).collect();
    let labels: Vec<u32> = (0..frame.cells()).map(|i| (i % classes) as u32).collect();
    let mut times = Vec::new();
    for _ in 0..repeats {
        let start = Instant::now();
        let (first, rest) = parameters.split_at(sizes[0]);
        let (second, third) = rest.split_at(sizes[1]);
        let one = layers[0].forward(first, &frame, &x);
        let two = layers[1].forward(second, &frame, one.output());
        let scores = head.forward(third, two.output());
        let loss = cross_entropy(&frame, &scores, classes, &labels);
        let mut gradient = vec![0.0; count];
        let (d_first, rest) = gradient.split_at_mut(sizes[0]);
        let (d_second, d_third) = rest.split_at_mut(sizes[1]);
        let dy = head.backward(third, d_third, two.output(), &loss.gradient);
        let middle = one.output().to_vec();
        let dy = layers[1].backward(second, d_second, &frame, &middle, two, &dy);
        layers[0].backward(first, d_first, &frame, &x, one, &dy);
        adam.step(&mut parameters, &gradient);
        black_box(&parameters);
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    println!("median {:.2} ms, least {:.2} ms", 1e3 * times[times.len() / 2], 1e3 * times[0]);
}
