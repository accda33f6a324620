//! Recurrent weights in the order that the kernels read them.

use crate::lanes::{LANES, Lanes};

/// Columns of a matrix in panels of four times [`LANES`], each row of a panel after the other; what
/// does not fill a panel is zero.
#[derive(Debug)]
pub(super) struct Panels {
    /// For every panel, and every row of the matrix, four lanes.
    values: Vec<[Lanes; 4]>,
    /// The rows of the matrix.
    depth: usize,
}

impl Panels {
    /// The columns that make the four gates of 16 units, one panel after another.
    pub(super) fn of_gates(recurrent: &[f32], units: usize) -> Self {
        Self::new(units, units.div_ceil(LANES), |row, panel, part, lane| {
            let unit = panel * LANES + lane;
            if unit < units { recurrent[row * 4 * units + part * units + unit] } else { 0.0 }
        })
    }

    /// The transpose, whose rows are gates and whose columns are units, 64 to a panel.
    pub(super) fn of_units(recurrent: &[f32], units: usize) -> Self {
        Self::new(4 * units, units.div_ceil(4 * LANES), |gate, panel, part, lane| {
            let unit = (panel * 4 + part) * LANES + lane;
            if unit < units { recurrent[unit * 4 * units + gate] } else { 0.0 }
        })
    }

    fn new(depth: usize, panels: usize, value: impl Fn(usize, usize, usize, usize) -> f32) -> Self {
        let mut values = Vec::with_capacity(depth * panels);
        for panel in 0..panels {
            for row in 0..depth {
                let mut parts = [[0.0; LANES]; 4];
                for (part, lanes) in parts.iter_mut().enumerate() {
                    for (lane, out) in lanes.iter_mut().enumerate() {
                        *out = value(row, panel, part, lane);
                    }
                }
                values.push(parts);
            }
        }
        Self { values, depth }
    }

    /// All panels, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[[Lanes; 4]]> {
        self.values.chunks_exact(self.depth)
    }
}
