//! The way back through time: at each step through the gates, and to the step before.
#![expect(clippy::inline_always, reason = "compiled again for each kind of processor")]

use super::{
    panels::Panels,
    product::{blocks, product},
    time::Steps,
};
use crate::simd::{Job, Processor, tanh};

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

/// All steps of a layer, each for the rows that are running. The gates come in after their functions, and go
/// out as the gradient of what they were before, and their sums are added to `dbias`. The gradient of the
/// output is that of the whole batch.
pub(super) struct Backward<'a> {
    pub(super) units: usize,
    pub(super) steps: Steps<'a>,
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
        let Self { units, steps, cells, dy, .. } = self;
        let panels = Panels::of_units(self.recurrent, units, P::LANES);
        let all_rows = steps.packing.frame().rows();
        // Of every row of the batch: zero until the way back comes to its last step.
        let (mut dcells, mut dprevious) =
            (vec![0.0; all_rows * units], vec![0.0; all_rows * units]);
        let mut cells_before = vec![0.0; all_rows * units];
        for time in steps.order().rev() {
            let places = steps.packing.step(time);
            let (rows, now) = (places.len(), steps.after(time));
            let previous_cells = if let Some(before) = steps.before(time) {
                &cells[before.start * units..before.end * units]
            } else {
                steps.copy_before(time, cells, &mut cells_before, units);
                &cells_before
            };
            let gates = &mut self.gates[places.start * 4 * units..places.end * 4 * units];
            let places = &steps.packing.places()[places];
            for (at, (gates, &place)) in gates.chunks_exact_mut(4 * units).zip(places).enumerate() {
                let begin = place * dy.width + dy.first;
                let row = place - time * all_rows;
                let holds = steps.packing.frame().holds(time, row);
                let row = row * units..(row + 1) * units;
                if !holds {
                    // Its states are zeros, whatever came before.
                    gates.fill(0.0);
                    dcells[row].fill(0.0);
                    continue;
                }
                Row {
                    gates,
                    previous_cells: &previous_cells[at * units..(at + 1) * units],
                    cells: &cells[(now.start + at) * units..(now.start + at + 1) * units],
                    dy: &dy.values[begin..begin + units],
                    dh: &dprevious[row.clone()],
                    dcells: &mut dcells[row],
                    dbias: self.dbias,
                }
                .through_gates(p);
            }
            let first_place = time * all_rows;
            for (panel, weights) in panels.iter().enumerate() {
                let first = panel * 4 * P::LANES;
                blocks!(P, rows, row => to_previous(
                    p, units, row, places, first_place, first, weights, gates, &mut dprevious
                ));
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

/// From the gradient of the gates to that of the outputs of the step before: some of the step's `places`
/// from `row` on, whose rows are counted from `first_place`, and four times as many units from `first` on as
/// there are lanes.
#[expect(clippy::too_many_arguments, reason = "where the rows are, and where they go")]
#[inline(always)]
fn to_previous<P: Processor, const N: usize>(
    p: P,
    units: usize,
    row: usize,
    places: &[usize],
    first_place: usize,
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
            let place = (places[row + at] - first_place) * units;
            p.store(&mut dprevious[place + from..place + end], sum);
        }
    }
}
