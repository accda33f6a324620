//! What models learn from: sequences, and what is said about each.

mod align;
mod check;
pub mod documents;
mod draw;
mod error;
pub mod flat;
pub mod handwriting;
mod lexicon;
pub mod mfcc;
mod npy;
mod pieces;
mod source;
pub mod speech;
mod split;
mod table;
pub mod tags;
pub mod text;
pub mod voice;
pub mod wav;

pub use self::check::steps_needed;
pub use self::error::Error;
pub(crate) use self::error::count;
pub use self::pieces::Join;
pub use self::source::{KINDS, Source, load};
pub use self::split::{Groups, HoldOut, Split};

/// Sequences of rows, one after another, and where each ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Ragged<T> {
    width: usize,
    values: Vec<T>,
    ends: Vec<usize>,
}

impl<T> Ragged<T> {
    /// No sequences yet; every row of those to come has this width.
    ///
    /// # Panics
    ///
    /// When rows have no width.
    pub fn new(width: usize) -> Self {
        assert!(width > 0, "rows without width");
        Self { width, values: Vec::new(), ends: Vec::new() }
    }

    /// Adds a sequence.
    ///
    /// # Panics
    ///
    /// When the values do not make whole rows.
    pub fn push(&mut self, sequence: impl IntoIterator<Item = T>) {
        self.values.extend(sequence);
        assert!(self.values.len().is_multiple_of(self.width), "a row is not whole");
        self.ends.push(self.values.len() / self.width);
    }

    /// The width of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The number of sequences.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// How many rows all sequences have together.
    pub fn rows(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// How many rows a sequence has.
    pub fn length(&self, sequence: usize) -> usize {
        self.ends[sequence] - self.start(sequence)
    }

    /// The rows of a sequence.
    pub fn get(&self, sequence: usize) -> &[T] {
        &self.values[self.start(sequence) * self.width..self.ends[sequence] * self.width]
    }

    /// All values, one sequence after another.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// All values, to change in place.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// The sequence and the row in it that hold a value.
    pub(crate) fn place(&self, value: usize) -> (usize, usize) {
        let row = value / self.width;
        let sequence = self.ends.partition_point(|&end| end <= row);
        (sequence, row - self.start(sequence))
    }

    fn start(&self, sequence: usize) -> usize {
        sequence.checked_sub(1).map_or(0, |before| self.ends[before])
    }
}

/// What a model is shown.
#[derive(Clone, Debug, PartialEq)]
pub enum Inputs {
    /// A vector of features at every position.
    Frames(Ragged<f32>),
    /// A symbol at every position.
    Symbols {
        /// What the symbols are called.
        names: Vec<String>,
        /// The symbols, as places in the names.
        values: Ragged<u32>,
    },
}

/// What it is to say.
#[derive(Clone, Debug, PartialEq)]
pub enum Targets {
    /// A label at every position of the input.
    Labels {
        /// What the labels are called.
        names: Vec<String>,
        /// The labels, as places in the names; as many as the input has positions.
        values: Ragged<u32>,
        /// What the labels are states of, for decoding.
        words: Option<Words>,
    },
    /// A few symbols in order, not aligned with the input.
    Transcripts {
        /// What the symbols are called.
        names: Vec<String>,
        /// The symbols, as places in the names.
        values: Ragged<u32>,
    },
    /// One class for the whole sequence.
    Classes {
        /// What the classes are called.
        names: Vec<String>,
        /// The class of every sequence.
        values: Vec<u32>,
    },
    /// Vectors in order, more than the input has positions.
    Frames(Ragged<f32>),
}

/// Words whose states the labels of a task are, from left to right.
#[derive(Clone, Debug, PartialEq)]
pub struct Words {
    /// What the words are called.
    pub names: Vec<String>,
    /// The labels of each word's states, in the order they are passed.
    pub states: Vec<Vec<u32>>,
    /// The words of every sequence.
    pub spoken: Ragged<u32>,
}

/// Sequences with what is said about each.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// What a model is shown.
    pub inputs: Inputs,
    /// What it is to say.
    pub targets: Targets,
}

/// What to learn, and what to be examined on.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// What it is called.
    pub name: String,
    /// Where it is from, for people: a path, or that it was made.
    pub source: String,
    /// What to learn from.
    pub training: Dataset,
    /// What to be examined on.
    pub validation: Dataset,
}

impl Dataset {
    /// The number of sequences.
    pub fn len(&self) -> usize {
        match &self.inputs {
            Inputs::Frames(frames) => frames.len(),
            Inputs::Symbols { values, .. } => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many positions of a sequence a model is shown.
    pub fn input_length(&self, sequence: usize) -> usize {
        match &self.inputs {
            Inputs::Frames(frames) => frames.length(sequence),
            Inputs::Symbols { values, .. } => values.length(sequence),
        }
    }

    /// How long a sequence is for the planner: where it says vectors there are more of those.
    pub fn length(&self, sequence: usize) -> usize {
        match &self.targets {
            Targets::Frames(frames) => frames.length(sequence),
            _ => self.input_length(sequence),
        }
    }
}
