//! One time step of an LSTM layer for all rows: the recurrent product and the gates in one go.
//!
//! A few rows and one panel of weights at a time, so that sums stay in registers.
#![expect(clippy::inline_always, reason = "compiled again for each kind of processor")]

use super::panels::Panels;
use crate::lanes::{LANES, Lanes, for_this_processor, sigmoid, tanh};

/// Rows whose sums fit in the registers of a wide processor, with four lanes each.
const ROWS: usize = 6;

/// States before a step, and after it.
type States<'a> = (&'a [f32], &'a mut [f32]);

for_this_processor!(forward_step => fn forward(
    units: usize, panels: &Panels, gates: &mut [f32], cells: States, outputs: States,
));
for_this_processor!(gates_step => fn through_gates(
    units: usize, gates: &mut [f32], cells: (&[f32], &[f32]), dy: &[f32], d: (&mut [f32], &[f32]),
));
for_this_processor!(previous_step => fn to_previous(
    units: usize, panels: &Panels, dgates: &[f32], dprevious: &mut [f32],
));

/// `sums[row] += rows[row] · panel`, where each row is `width` apart.
#[inline(always)]
fn product<const N: usize>(
    sums: &mut [[Lanes; 4]; N],
    rows: &[f32],
    width: usize,
    panel: &[[Lanes; 4]],
) {
    let rows: [&[f32]; N] = std::array::from_fn(|row| &rows[row * width..][..panel.len()]);
    // A copy of its own, which can stay in registers.
    let mut local = *sums;
    for (at, weights) in panel.iter().enumerate() {
        for row in 0..N {
            let value = rows[row][at];
            for part in 0..4 {
                let (sum, weight) = (&mut local[row][part], &weights[part]);
                *sum = std::array::from_fn(|lane| value.mul_add(weight[lane], sum[lane]));
            }
        }
    }
    *sums = local;
}

/// The lanes from a place on; zero beyond the end.
#[inline(always)]
fn load(from: &[f32], count: usize) -> Lanes {
    let mut lanes = [0.0; LANES];
    if count == LANES {
        lanes.copy_from_slice(&from[..LANES]);
    } else {
        lanes[..count].copy_from_slice(&from[..count]);
    }
    lanes
}

#[inline(always)]
fn store(to: &mut [f32], lanes: &Lanes, count: usize) {
    if count == LANES {
        to[..LANES].copy_from_slice(lanes);
    } else {
        to[..count].copy_from_slice(&lanes[..count]);
    }
}

/// The gates come in as sums over the input, and go out after their functions.
#[inline(always)]
fn forward_step(
    units: usize,
    panels: &Panels,
    gates: &mut [f32],
    (previous_cells, cells): States,
    (previous, outputs): States,
) {
    let rows = cells.len() / units;
    for (panel, weights) in panels.iter().enumerate() {
        let first = panel * LANES;
        let count = LANES.min(units - first);
        let mut row = 0;
        while row < rows {
            let block = ROWS.min(rows - row);
            let previous = &previous[row * units..];
            let mut sums = [[[0.0; LANES]; 4]; ROWS];
            for (sums, gates) in sums.iter_mut().zip(gates[row * 4 * units..].chunks(4 * units)) {
                for (gate, sum) in sums.iter_mut().enumerate() {
                    *sum = load(&gates[gate * units + first..], count);
                }
            }
            blocks(block, &mut sums, previous, units, weights);
            for (at, sums) in sums.iter().enumerate().take(block) {
                let place = (row + at) * units + first;
                let [i, f, o] = [0, 1, 3].map(|gate| sigmoid(sums[gate]));
                let g = tanh(sums[2]);
                let before = load(&previous_cells[place..], count);
                let c: Lanes = std::array::from_fn(|k| f[k].mul_add(before[k], i[k] * g[k]));
                let t = tanh(c);
                let h: Lanes = std::array::from_fn(|k| o[k] * t[k]);
                store(&mut cells[place..], &c, count);
                store(&mut outputs[place..], &h, count);
                let gates = &mut gates[(row + at) * 4 * units..];
                for (gate, values) in [i, f, g, o].iter().enumerate() {
                    store(&mut gates[gate * units + first..], values, count);
                }
            }
            row += block;
        }
    }
}

/// The product for as many rows as there are.
#[inline(always)]
fn blocks(
    block: usize,
    sums: &mut [[Lanes; 4]; ROWS],
    rows: &[f32],
    width: usize,
    panel: &[[Lanes; 4]],
) {
    if block == ROWS {
        product::<ROWS>(sums, rows, width, panel);
        return;
    }
    let mut at = 0;
    while at < block {
        let rows = &rows[at * width..];
        if block - at >= 4 {
            let mut part: [[Lanes; 4]; 4] = std::array::from_fn(|row| sums[at + row]);
            product::<4>(&mut part, rows, width, panel);
            sums[at..at + 4].copy_from_slice(&part);
            at += 4;
        } else {
            let mut part = [sums[at]];
            product::<1>(&mut part, rows, width, panel);
            sums[at] = part[0];
            at += 1;
        }
    }
}

/// From the gradient of the outputs to that of the gates before their functions, in place.
#[inline(always)]
fn gates_step(
    units: usize,
    gates: &mut [f32],
    (previous_cells, cells): (&[f32], &[f32]),
    dy: &[f32],
    (dcells, dprevious): (&mut [f32], &[f32]),
) {
    for (row, gates) in gates.chunks_exact_mut(4 * units).enumerate() {
        let mut first = 0;
        while first < units {
            let count = LANES.min(units - first);
            let place = row * units + first;
            let [i, f, g, o] = [0, 1, 2, 3].map(|gate| load(&gates[gate * units + first..], count));
            let [before, c, dy, dh, dc] = [previous_cells, cells, dy, dprevious, &*dcells]
                .map(|of| load(&of[place..], count));
            let t = tanh(c);
            let mut out = [[0.0; LANES]; 5];
            for k in 0..LANES {
                let dh = dy[k] + dh[k];
                let dc = (dh * o[k]).mul_add(1.0 - t[k] * t[k], dc[k]);
                out[0][k] = dc * g[k] * i[k] * (1.0 - i[k]);
                out[1][k] = dc * before[k] * f[k] * (1.0 - f[k]);
                out[2][k] = dc * i[k] * (1.0 - g[k] * g[k]);
                out[3][k] = dh * t[k] * o[k] * (1.0 - o[k]);
                out[4][k] = dc * f[k];
            }
            for (gate, values) in out.iter().take(4).enumerate() {
                store(&mut gates[gate * units + first..], values, count);
            }
            store(&mut dcells[place..], &out[4], count);
            first += LANES;
        }
    }
}

/// From the gradient of the gates to that of the outputs of the step before.
#[inline(always)]
fn previous_step(units: usize, panels: &Panels, dgates: &[f32], dprevious: &mut [f32]) {
    let rows = dprevious.len() / units;
    for (panel, weights) in panels.iter().enumerate() {
        let mut row = 0;
        while row < rows {
            let block = ROWS.min(rows - row);
            let mut sums = [[[0.0; LANES]; 4]; ROWS];
            blocks(block, &mut sums, &dgates[row * 4 * units..], 4 * units, weights);
            for (at, sums) in sums.iter().enumerate().take(block) {
                for (part, sum) in sums.iter().enumerate() {
                    let first = (panel * 4 + part) * LANES;
                    if first < units {
                        let place = (row + at) * units + first;
                        store(&mut dprevious[place..], sum, LANES.min(units - first));
                    }
                }
            }
            row += block;
        }
    }
}
