//! How the pen goes to write each letter.

/// A letter: its strokes, and whether the pen may go on to the next letter without being lifted.
pub(super) struct Letter {
    /// Points that the pen passes, x and y in turn. The base line is at 0, small letters are 10
    /// high, tall ones 20, and tails reach down to -10.
    pub(super) strokes: &'static [&'static [i8]],
    pub(super) joins: bool,
}

impl Letter {
    /// How far it reaches to the right.
    pub(super) fn width(&self) -> f64 {
        let xs = self.strokes.iter().flat_map(|stroke| stroke.iter().step_by(2));
        f64::from(xs.max().copied().unwrap_or(0))
    }
}

const fn joined(strokes: &'static [&'static [i8]]) -> Letter {
    Letter { strokes, joins: true }
}

const fn lifted(strokes: &'static [&'static [i8]]) -> Letter {
    Letter { strokes, joins: false }
}

/// The letters from a to z.
pub(super) const LETTERS: [Letter; 26] = [
    joined(&[&[9, 9, 5, 10, 1, 7, 1, 3, 4, 0, 8, 4, 9, 9, 9, 3, 11, 0, 13, 2]]),
    lifted(&[&[0, 20, 0, 10, 0, 1, 1, 6, 5, 10, 8, 7, 8, 3, 5, 0, 1, 1]]),
    joined(&[&[9, 8, 6, 10, 2, 8, 0, 4, 2, 1, 6, 0, 10, 3]]),
    joined(&[&[9, 9, 5, 10, 1, 7, 1, 3, 4, 0, 8, 4, 9, 12, 9, 20, 9, 10, 9, 3, 11, 0, 13, 2]]),
    joined(&[&[0, 4, 5, 5, 9, 7, 6, 10, 2, 8, 0, 4, 2, 1, 6, 0, 10, 3]]),
    lifted(&[&[9, 18, 6, 20, 4, 16, 4, 8, 4, 0], &[0, 10, 8, 10]]),
    lifted(&[&[9, 9, 5, 10, 1, 7, 1, 3, 4, 1, 8, 4, 9, 9, 9, 0, 8, -8, 4, -10, 0, -8]]),
    joined(&[&[0, 20, 0, 10, 0, 0, 1, 6, 5, 10, 8, 7, 8, 2, 10, 0, 12, 2]]),
    joined(&[&[0, 10, 0, 5, 1, 1, 3, 0, 5, 2], &[1, 15, 2, 14]]),
    lifted(&[&[4, 10, 4, 0, 3, -8, 0, -9], &[4, 15, 5, 14]]),
    joined(&[&[0, 20, 0, 10, 0, 0], &[8, 10, 4, 7, 1, 5, 4, 3, 7, 0, 10, 2]]),
    joined(&[&[0, 4, 4, 12, 5, 19, 2, 19, 1, 11, 2, 2, 4, 0, 7, 2]]),
    joined(&[&[
        0, 10, 0, 5, 0, 0, 1, 7, 4, 10, 6, 7, 6, 0, 7, 7, 10, 10, 12, 7, 12, 2, 14, 0, 16, 2,
    ]]),
    joined(&[&[0, 10, 0, 5, 0, 0, 1, 7, 5, 10, 8, 7, 8, 2, 10, 0, 12, 2]]),
    joined(&[&[5, 10, 1, 8, 0, 4, 3, 0, 7, 1, 9, 5, 7, 9, 4, 10, 8, 8, 12, 9]]),
    lifted(&[&[0, 10, 0, 0, 0, -10, 0, -2, 1, 7, 5, 10, 8, 7, 8, 3, 5, 0, 1, 2]]),
    lifted(&[&[9, 9, 5, 10, 1, 7, 1, 3, 4, 0, 8, 4, 9, 9, 9, 0, 9, -10, 12, -7]]),
    joined(&[&[0, 10, 0, 5, 0, 0, 1, 7, 4, 10, 8, 9]]),
    lifted(&[&[7, 9, 4, 10, 1, 8, 3, 6, 6, 4, 7, 1, 3, 0, 0, 1]]),
    joined(&[&[3, 17, 3, 8, 3, 2, 5, 0, 8, 2], &[0, 11, 7, 12]]),
    joined(&[&[0, 10, 0, 4, 2, 0, 6, 1, 8, 6, 8, 10, 8, 3, 10, 0, 12, 2]]),
    joined(&[&[0, 10, 2, 5, 4, 0, 6, 5, 8, 10, 11, 9]]),
    joined(&[&[0, 10, 1, 4, 3, 0, 5, 4, 6, 8, 7, 3, 9, 0, 11, 5, 12, 10, 15, 9]]),
    lifted(&[&[0, 10, 4, 5, 8, 0], &[8, 10, 4, 5, 0, 0]]),
    lifted(&[&[0, 10, 1, 5, 4, 3, 7, 6, 9, 10, 8, 2, 6, -6, 3, -10, 0, -8]]),
    joined(&[&[0, 10, 4, 10, 8, 10, 4, 5, 0, 0, 4, 0, 10, 1]]),
];
