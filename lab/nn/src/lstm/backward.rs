//! The way back through time: at each step through the gates, and to the step before.
#![expect(clippy::inline_always, reason = "compiled again for each kind of processor")]

use super::{
    panels::Panels,
    product::{blocks, product},
    time::{Direction, order, places},
};
use crate::{
    batch::Frame,
    simd::{Job, Processor, tanh},
};

/// The gradient of an output, as columns of wider rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns<'a> {
    /// All rows.
    pub(crate) values: &'a [f32],
    /// How wide they are.
    pub(crate) width: usize,
    /// The first of the columns.
    pub(crate) first: usize,
}

/// All steps of a layer. The gates come in after their functions, and go out as the gradient of what
/// they were before, and their sums are added to `dbias`.
pub(super) struct Backward<'a> {
    pub(super) units: usize,
    pub(super) frame: &'a Frame,
    pub(super) direction: Direction,
    pub(super) recurrent: &'a [f32],
    pub(super) gates: &'a mut [f32],
    pub(super) cells: &'a [f32],
    pub(super) dy: Columns<'a>,
    pub(super) dbias: &'a mut [f32],
}

impl Job for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<P: Processor>(self, p: P) {
        let Self { units, frame, direction, cells, dy, .. } = self;
        let panels = Panels::of_units(self.recurrent, units, P::LANES);
        let rows = frame.rows();
        let size = rows * units;
        let (mut dcells, mut dprevious) = (vec![0.0; size], vec![0.0; size]);
        for time in order(frame.steps(), direction).rev() {
            let (before, now) = places(time, direction);
            let gates = &mut self.gates[time * 4 * size..(time + 1) * 4 * size];
            for (row, gates) in gates.chunks_exact_mut(4 * units).enumerate() {
                let at = row * units..(row + 1) * units;
                if !frame.holds(time, row) {
                    gates.fill(0.0);
                    dcells[at].fill(0.0);
                    continue;
                }
                let begin = (time * rows + row) * dy.width + dy.first;
                Row {
                    gates,
                    previous_cells: &cells[before * size..][at.clone()],
                    cells: &cells[now * size..][at.clone()],
                    dy: &dy.values[begin..begin + units],
                    dh: &dprevious[at.clone()],
                    dcells: &mut dcells[at],
                    dbias: self.dbias,
                }
                .through_gates(p);
            }
            for (panel, weights) in panels.iter().enumerate() {
                let first = panel * 4 * P::LANES;
                blocks!(P, rows, row => to_previous(p, units, row, first, weights, gates, &mut dprevious));
            }
        }
    }
}

/// One row at one time step.
struct Row<'a> {
    gates: &'a mut [f32],
    previous_cells: &'a [f32],
    cells: &'a [f32],
    dy: &'a [f32],
    dh: &'a [f32],
    dcells: &'a mut [f32],
    dbias: &'a mut [f32],
}

impl Row<'_> {
    /// From the gradient of the outputs to that of the gates before their functions, in place.
    #[inline(always)]
    fn through_gates<P: Processor>(self, p: P) {
        let one = p.all(1.0);
        let units = self.cells.len();
        let mut first = 0;
        while first < units {
            let end = units.min(first + P::LANES);
            let i = p.load(&self.gates[first..end]);
            let f = p.load(&self.gates[units + first..units + end]);
            let g = p.load(&self.gates[2 * units + first..2 * units + end]);
            let o = p.load(&self.gates[3 * units + first..3 * units + end]);
            let before = p.load(&self.previous_cells[first..end]);
            let t = tanh(p, p.load(&self.cells[first..end]));
            let dh = p.add(p.load(&self.dy[first..end]), p.load(&self.dh[first..end]));
            let dc = p.load(&self.dcells[first..end]);
            let dc = p.mul_add(p.mul(dh, o), p.take(t, t, one), dc);
            let di = p.mul(p.mul(dc, g), p.mul(i, p.sub(one, i)));
            let df = p.mul(p.mul(dc, before), p.mul(f, p.sub(one, f)));
            let dg = p.mul(p.mul(dc, i), p.take(g, g, one));
            let d_o = p.mul(p.mul(dh, t), p.mul(o, p.sub(one, o)));
            for (gate, d) in [di, df, dg, d_o].into_iter().enumerate() {
                let place = gate * units + first..gate * units + end;
                let sum = p.add(p.load(&self.dbias[place.clone()]), d);
                p.store(&mut self.dbias[place.clone()], sum);
                p.store(&mut self.gates[place], d);
            }
            p.store(&mut self.dcells[first..end], p.mul(dc, f));
            first = end;
        }
    }
}

/// From the gradient of the gates to that of the outputs of the step before: some rows from `row` on,
/// and four times as many units from `first` on as there are lanes.
#[inline(always)]
fn to_previous<P: Processor, const N: usize>(
    p: P,
    units: usize,
    row: usize,
    first: usize,
    weights: &[f32],
    dgates: &[f32],
    dprevious: &mut [f32],
) {
    let sums = [[p.all(0.0); 4]; N];
    let sums = product(p, sums, &dgates[row * 4 * units..], 4 * units, weights);
    for (at, sums) in sums.into_iter().enumerate() {
        for (part, sum) in sums.into_iter().enumerate() {
            let from = (first + part * P::LANES).min(units);
            let end = units.min(from + P::LANES);
            let place = (row + at) * units;
            p.store(&mut dprevious[place + from..place + end], sum);
        }
    }
}
