//! Recurrent weights in the order that the kernels read them.

use std::ops::Range;

use crate::buffer::Buffer;

/// What a processor reads at a time, in bytes.
const LINE: usize = 64;

/// Columns of a matrix in panels of four times the lanes of the processor, each row of a panel after the
/// other; what does not fill a panel is zero.
#[derive(Debug)]
pub(super) struct Panels {
    values: Buffer,
    /// Where the panels are, so that no line is read twice.
    place: Range<usize>,
    /// The values of one panel.
    size: usize,
}

impl Panels {
    /// The columns that make the four gates of as many units as there are lanes, one panel after
    /// another.
    pub(super) fn of_gates(recurrent: &[f32], units: usize, lanes: usize) -> Self {
        let mut panels = Self::zeros(units, 4 * lanes, units.div_ceil(lanes));
        for (panel, out) in panels.iter_mut().enumerate() {
            let first = panel * lanes;
            let count = lanes.min(units - first);
            for (row, weights) in recurrent.chunks_exact(4 * units).enumerate() {
                for gate in 0..4 {
                    let at = (4 * row + gate) * lanes;
                    let from = gate * units + first;
                    out[at..at + count].copy_from_slice(&weights[from..from + count]);
                }
            }
        }
        panels
    }

    /// The transpose, whose rows are gates and whose columns are units.
    pub(super) fn of_units(recurrent: &[f32], units: usize, lanes: usize) -> Self {
        // Rows that are turned together, which fit in a cache.
        const TOGETHER: usize = 64;
        let width = 4 * lanes;
        let mut panels = Self::zeros(4 * units, width, units.div_ceil(width));
        for (out, units_of_panel) in panels.iter_mut().zip(recurrent.chunks(width * 4 * units)) {
            for (block, out) in out.chunks_mut(TOGETHER * width).enumerate() {
                let first = block * TOGETHER;
                for (lane, weights) in units_of_panel.chunks_exact(4 * units).enumerate() {
                    for (out, &weight) in out.chunks_exact_mut(width).zip(&weights[first..]) {
                        out[lane] = weight;
                    }
                }
            }
        }
        panels
    }

    fn zeros(depth: usize, width: usize, panels: usize) -> Self {
        let spare = LINE / size_of::<f32>();
        let all = depth * width * panels;
        let values = Buffer::passing_zeros(all + spare);
        let begin = values.as_ptr().align_offset(LINE).min(spare);
        Self { values, place: begin..begin + all, size: depth * width }
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = &mut [f32]> {
        self.values[self.place.clone()].chunks_exact_mut(self.size)
    }

    /// All panels, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[f32]> {
        self.values[self.place.clone()].chunks_exact(self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_weight_is_where_kernels_look() {
        for (units, lanes) in [(1, 4), (21, 4), (21, 16), (70, 16), (64, 8), (100, 8)] {
            let recurrent: Vec<f32> = (1..=4 * units * units).map(|i| i as f32).collect();
            let weight = |unit: usize, gate: usize| recurrent[unit * 4 * units + gate];
            let gates = Panels::of_gates(&recurrent, units, lanes);
            assert_eq!(gates.iter().count(), units.div_ceil(lanes));
            for (panel, values) in gates.iter().enumerate() {
                for (at, &value) in values.iter().enumerate() {
                    let (row, gate) = (at / (4 * lanes), at / lanes % 4);
                    let unit = panel * lanes + at % lanes;
                    let expected =
                        if unit < units { weight(row, gate * units + unit) } else { 0.0 };
                    assert_eq!(value.to_bits(), f32::to_bits(expected));
                }
            }
            let of_units = Panels::of_units(&recurrent, units, lanes);
            assert_eq!(of_units.iter().count(), units.div_ceil(4 * lanes));
            for (panel, values) in of_units.iter().enumerate() {
                for (at, &value) in values.iter().enumerate() {
                    let (gate, unit) = (at / (4 * lanes), panel * 4 * lanes + at % (4 * lanes));
                    let expected = if unit < units { weight(unit, gate) } else { 0.0 };
                    assert_eq!(value.to_bits(), expected.to_bits());
                }
            }
        }
    }
}
