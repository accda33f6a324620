//! The way forward through time: at each step the recurrent product and the gates in one go.
#![expect(clippy::inline_always, reason = "compiled again for each kind of processor")]

use super::{
    panels::Panels,
    product::{blocks, product},
    time::{Direction, order, places, two, zeros},
};
use crate::{
    batch::Frame,
    simd::{Job, Processor, sigmoid, tanh},
};

/// All steps of a layer. The gates come in as products of the input, and go out after their functions.
/// States are all written, with a step of zeros before the first.
pub(super) struct Forward<'a> {
    pub(super) units: usize,
    pub(super) frame: &'a Frame,
    pub(super) direction: Direction,
    pub(super) recurrent: &'a [f32],
    pub(super) bias: &'a [f32],
    pub(super) gates: &'a mut [f32],
    pub(super) cells: &'a mut [f32],
    pub(super) outputs: &'a mut [f32],
}

impl Job for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<P: Processor>(self, p: P) {
        let Self { units, frame, direction, bias, .. } = self;
        let panels = Panels::of_gates(self.recurrent, units, P::LANES);
        let rows = frame.rows();
        let size = rows * units;
        let zeros = zeros(frame.steps(), direction) * size;
        self.cells[zeros..zeros + size].fill(0.0);
        self.outputs[zeros..zeros + size].fill(0.0);
        for time in order(frame.steps(), direction) {
            let (before, now) = places(time, direction);
            let (previous_cells, cells) = two(self.cells, size, before, now);
            let (previous, outputs) = two(self.outputs, size, before, now);
            let gates = &mut self.gates[time * 4 * size..(time + 1) * 4 * size];
            let mut step = Step { units, bias, gates, previous_cells, cells, previous, outputs };
            for (panel, weights) in panels.iter().enumerate() {
                let first = panel * P::LANES;
                blocks!(P, rows, row => block(p, &mut step, row, first, weights));
            }
            for row in (0..rows).filter(|&row| !frame.holds(time, row)) {
                step.cells[row * units..(row + 1) * units].fill(0.0);
                step.outputs[row * units..(row + 1) * units].fill(0.0);
            }
        }
    }
}

/// One time step.
struct Step<'a> {
    units: usize,
    bias: &'a [f32],
    gates: &'a mut [f32],
    previous_cells: &'a [f32],
    cells: &'a mut [f32],
    previous: &'a [f32],
    outputs: &'a mut [f32],
}

/// Some rows from `row` on, and as many units from `first` on as there are lanes.
#[inline(always)]
fn block<P: Processor, const N: usize>(
    p: P,
    step: &mut Step,
    row: usize,
    first: usize,
    weights: &[f32],
) {
    let units = step.units;
    let count = P::LANES.min(units - first);
    let mut sums = [[p.all(0.0); 4]; N];
    for (at, sums) in sums.iter_mut().enumerate() {
        for (gate, sum) in sums.iter_mut().enumerate() {
            let from = gate * units + first;
            let place = (row + at) * 4 * units + from;
            let of_input = p.load(&step.gates[place..place + count]);
            *sum = p.add(of_input, p.load(&step.bias[from..from + count]));
        }
    }
    let sums = product(p, sums, &step.previous[row * units..], units, weights);
    for (at, sums) in sums.iter().enumerate() {
        let place = (row + at) * units + first;
        let place = place..place + count;
        let i = sigmoid(p, sums[0]);
        let f = sigmoid(p, sums[1]);
        let g = tanh(p, sums[2]);
        let o = sigmoid(p, sums[3]);
        let before = p.load(&step.previous_cells[place.clone()]);
        let c = p.mul_add(f, before, p.mul(i, g));
        p.store(&mut step.cells[place.clone()], c);
        p.store(&mut step.outputs[place], p.mul(o, tanh(p, c)));
        for (gate, values) in [i, f, g, o].into_iter().enumerate() {
            let place = (row + at) * 4 * units + gate * units + first;
            p.store(&mut step.gates[place..place + count], values);
        }
    }
}
