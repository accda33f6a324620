//! The shape of a padded batch.

/// How many time steps a batch has, how many rows, and how long each row is.
///
/// Values of a batch are in the order of time: all rows of the first step, then all of the second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    steps: usize,
    lengths: Vec<usize>,
    /// Whether layers compute padding too.
    padding_too: bool,
}

impl Frame {
    /// A frame of so many steps for rows of these lengths.
    ///
    /// # Panics
    ///
    /// When a row is longer than there are steps, or there are no rows or steps.
    pub fn new(steps: usize, lengths: Vec<usize>) -> Self {
        assert!(steps > 0 && !lengths.is_empty(), "a frame without steps or rows");
        assert!(lengths.iter().all(|&length| length <= steps), "a row is longer than the frame");
        Self { steps, lengths, padding_too: false }
    }

    /// The same, of which layers compute the padding too, as frameworks do that do not know the lengths of rows.
    /// The results are the same, and take longer.
    #[must_use]
    pub fn with_padding(self) -> Self {
        Self { padding_too: true, ..self }
    }

    /// The number of time steps.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.lengths.len()
    }

    /// How long each row is.
    pub fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    /// The places of the rectangle, padding and all.
    pub fn cells(&self) -> usize {
        self.steps * self.rows()
    }

    /// The places that are not padding.
    pub fn positions(&self) -> usize {
        self.lengths.iter().sum()
    }

    /// How many steps are computed: all, or those at which rows are running.
    pub(crate) fn computed_steps(&self) -> usize {
        (0..self.rows()).map(|row| self.computed_length(row)).max().unwrap_or(0)
    }

    /// How many steps of a row are computed.
    pub(crate) fn computed_length(&self, row: usize) -> usize {
        if self.padding_too { self.steps } else { self.lengths[row] }
    }

    /// Whether a row is computed at this step.
    pub(crate) fn computes(&self, step: usize, row: usize) -> bool {
        step < self.computed_length(row)
    }

    /// Whether a row has something at this step.
    pub(crate) fn holds(&self, step: usize, row: usize) -> bool {
        step < self.lengths[row]
    }

    /// Whether there is something at this place, counted over all steps and rows.
    pub(crate) fn fills(&self, place: usize) -> bool {
        self.holds(place / self.rows(), place % self.rows())
    }
}
