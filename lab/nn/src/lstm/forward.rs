//! The way forward through time: at each step the recurrent product and the gates in one go.
#![expect(clippy::inline_always, reason = "compiled again for each kind of processor")]

use std::ops::Range;

use super::{
    panels::Panels,
    product::{blocks, product},
    time::{Steps, two},
};
use crate::simd::{Job, Processor, sigmoid, tanh};

/// All steps of a layer, each for the rows that are running. The gates come in as products of the input, and
/// go out after their functions. States are all written, with a step of zeros before the first.
pub(super) struct Forward<'a> {
    pub(super) units: usize,
    pub(super) steps: Steps<'a>,
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
        let Self { units, steps, bias, .. } = self;
        let panels = Panels::of_gates(self.recurrent, units, P::LANES);
        let of = |states: Range<usize>| states.start * units..states.end * units;
        for states in [&mut *self.cells, &mut *self.outputs] {
            states[of(steps.zeros())].fill(0.0);
        }
        let most = steps.packing.frame().rows() * units;
        let (mut cells_before, mut outputs_before) = (vec![0.0; most], vec![0.0; most]);
        for time in steps.order() {
            let places = steps.packing.step(time);
            let (rows, now) = (places.len(), of(steps.after(time)));
            let ((previous_cells, cells), (previous, outputs)) =
                if let Some(before) = steps.before(time) {
                    let two_of = |states| two(states, of(before.clone()), now.clone());
                    (two_of(self.cells), two_of(self.outputs))
                } else {
                    steps.copy_before(time, self.cells, &mut cells_before, units);
                    steps.copy_before(time, self.outputs, &mut outputs_before, units);
                    let all = rows * units;
                    (
                        (&cells_before[..all], &mut self.cells[now.clone()]),
                        (&outputs_before[..all], &mut self.outputs[now]),
                    )
                };
            let gates = &mut self.gates[places.start * 4 * units..places.end * 4 * units];
            let mut step = Step { units, bias, gates, previous_cells, cells, previous, outputs };
            for (panel, weights) in panels.iter().enumerate() {
                let first = panel * P::LANES;
                blocks!(P, rows, row => block(p, &mut step, row, first, weights));
            }
            // If padding is computed, all rows are there.
            for row in steps.padded(time) {
                let place = row * units..(row + 1) * units;
                step.cells[place.clone()].fill(0.0);
                step.outputs[place].fill(0.0);
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
