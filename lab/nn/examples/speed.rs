//! Times a training step of a stack of two BLSTM layers:
//! `speed STEPS ROWS UNITS [REPEATS] [SHORTEST]`. Rows are all of one length, or evenly from `STEPS` down
//! to `SHORTEST`. Prints the median and the least, in milliseconds.

use std::{env, hint::black_box, time::Instant};

use lengthwise_nn::{Blstm, Frame, Linear, Rule, loss::cross_entropy, optimizer::update};

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "its result")]
fn main() {
    let given: Vec<usize> = env::args().skip(1).filter_map(|text| text.parse().ok()).collect();
    let [steps, rows, units] = *given.get(..3).unwrap_or_default() else {
        eprintln!("speed STEPS ROWS UNITS [REPEATS] [SHORTEST]");
        return;
    };
    let repeats = given.get(3).copied().unwrap_or(20);
    let shortest = given.get(4).copied().unwrap_or(steps);
    let length = |row: usize| steps - (steps - shortest) * row / (rows - 1).max(1);
    let (inputs, classes) = (16, 64);
    let layers = [Blstm { inputs, units }, Blstm { inputs: 2 * units, units }];
    let head = Linear { inputs: 2 * units, outputs: classes };
    let sizes = [layers[0].parameters(), layers[1].parameters(), head.parameters()];
    let count = sizes.iter().sum();
    let mut parameters: Vec<f32> = (0..count).map(|i| 0.08 * (i as f32 * 0.37).sin()).collect();
    let mut state = [vec![0.0; count], vec![0.0; count]];
    let frame = Frame::new(steps, (0..rows).map(length).collect());
    let x: Vec<f32> = (0..frame.cells() * inputs).map(|i| (i as f32 * 0.7).sin()).collect();
    let labels: Vec<u32> = (0..frame.cells()).map(|i| (i % classes) as u32).collect();
    let mut gradient = vec![0.0; count];
    let mut times = Vec::new();
    for step in 0..repeats {
        let start = Instant::now();
        let (first, rest) = parameters.split_at(sizes[0]);
        let (second, third) = rest.split_at(sizes[1]);
        let one = layers[0].forward(first, &frame, &x);
        let two = layers[1].forward(second, &frame, one.output());
        let scores = head.forward_batch(third, &frame, two.output());
        let loss = cross_entropy(&frame, &scores, classes, &labels);
        gradient.fill(0.0);
        let (d_first, rest) = gradient.split_at_mut(sizes[0]);
        let (d_second, d_third) = rest.split_at_mut(sizes[1]);
        let dy = head.backward_batch(third, d_third, &frame, two.output(), &loss.gradient);
        let dy = layers[1].backward(second, d_second, &frame, one.output(), two, &dy);
        layers[0].backward_parameters(first, d_first, &frame, &x, one, &dy);
        let [means, squares] = &mut state;
        let step = step as u64 + 1;
        update(Rule::ADAM, 1e-3, step, &mut parameters, &gradient, [means, squares]);
        black_box(&parameters);
        times.push(1e3 * start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    println!("{:.2} {:.2}", times[times.len() / 2], times[0]);
}
