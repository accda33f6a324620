//! Rectangles that a model is shown.

use lengthwise_nn::Frame;

use crate::data::{Dataset, Inputs, Targets};

/// A sequence, or a piece of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The sequence.
    pub sequence: usize,
    /// Where the piece begins in it.
    pub offset: usize,
    /// How long it is.
    pub length: usize,
}

/// Sequences as rows of a rectangle, in the order of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The shape of the input.
    pub frame: Frame,
    /// What the model is shown.
    pub shown: Shown,
    /// What it is to say.
    pub wanted: Wanted,
}

/// What a model is shown, place by place; zero where there is padding.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    /// Features.
    Frames(Vec<f32>),
    /// Symbols.
    Symbols(Vec<u32>),
}

/// What it is to say.
#[derive(Clone, Debug, PartialEq)]
pub enum Wanted {
    /// A label for every place.
    Labels(Vec<u32>),
    /// Symbols for every row, counted from 1: 0 is the blank.
    Transcripts(Vec<Vec<u32>>),
    /// A class for every row.
    Classes(Vec<u32>),
    /// A rectangle of vectors.
    Frames {
        /// Its shape.
        frame: Frame,
        /// The vectors.
        values: Vec<f32>,
    },
}

impl Batch {
    /// Puts sequences, or pieces of them, into a rectangle of so many steps. The steps are those of what
    /// is planned: the output where the model says vectors, and the input otherwise.
    ///
    /// # Panics
    ///
    /// When a sequence is longer than there are steps, or there are none.
    pub fn new(data: &Dataset, pieces: &[Piece], steps: usize) -> Self {
        let planned = Frame::new(steps, pieces.iter().map(|piece| piece.length).collect());
        let frame = match &data.targets {
            Targets::Frames(_) => {
                let lengths: Vec<usize> =
                    pieces.iter().map(|piece| data.input_length(piece.sequence)).collect();
                Frame::new(lengths.iter().copied().max().unwrap_or(1), lengths)
            }
            _ => planned.clone(),
        };
        // Where the output is planned, pieces are whole sequences, and all of the input is shown.
        let shown_pieces: Vec<Piece> = pieces
            .iter()
            .zip(frame.lengths())
            .map(|(&piece, &length)| Piece { length, ..piece })
            .collect();
        let shown = match &data.inputs {
            Inputs::Frames(frames) => {
                Shown::Frames(rectangle(&frame, &shown_pieces, frames.width(), |s| frames.get(s)))
            }
            Inputs::Symbols { values, .. } => {
                Shown::Symbols(rectangle(&frame, &shown_pieces, 1, |s| values.get(s)))
            }
        };
        let wanted = match &data.targets {
            Targets::Labels { values, .. } => {
                Wanted::Labels(rectangle(&frame, pieces, 1, |s| values.get(s)))
            }
            Targets::Transcripts { values, .. } => {
                let of =
                    |piece: &Piece| values.get(piece.sequence).iter().map(|&s| s + 1).collect();
                Wanted::Transcripts(pieces.iter().map(of).collect())
            }
            Targets::Classes { values, .. } => {
                Wanted::Classes(pieces.iter().map(|piece| values[piece.sequence]).collect())
            }
            Targets::Frames(frames) => {
                let values = rectangle(&planned, pieces, frames.width(), |s| frames.get(s));
                Wanted::Frames { frame: planned, values }
            }
        };
        Self { frame, shown, wanted }
    }
}

/// Rows side by side in the order of time.
fn rectangle<'a, T: Copy + Default + 'a>(
    frame: &Frame,
    pieces: &[Piece],
    width: usize,
    sequence: impl Fn(usize) -> &'a [T],
) -> Vec<T> {
    let mut out = vec![T::default(); frame.cells() * width];
    let step = frame.rows() * width;
    for (row, piece) in pieces.iter().enumerate() {
        let values = &sequence(piece.sequence)[piece.offset * width..][..piece.length * width];
        for (time, values) in values.chunks_exact(width).enumerate() {
            out[time * step + row * width..][..width].copy_from_slice(values);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Ragged;

    fn ragged<T>(width: usize, sequences: impl IntoIterator<Item = Vec<T>>) -> Ragged<T> {
        let mut ragged = Ragged::new(width);
        sequences.into_iter().for_each(|sequence| ragged.push(sequence));
        ragged
    }

    #[test]
    fn pieces_stand_side_by_side_in_the_order_of_time() {
        let data = Dataset {
            inputs: Inputs::Frames(ragged(2, [vec![1., 2., 3., 4., 5., 6.], vec![7., 8.]])),
            targets: Targets::Labels {
                names: vec!["a".into(), "b".into()],
                values: ragged(1, [vec![0, 1, 1], vec![1]]),
                words: None,
            },
        };
        let pieces = [
            Piece { sequence: 0, offset: 1, length: 2 },
            Piece { sequence: 1, offset: 0, length: 1 },
        ];
        let batch = Batch::new(&data, &pieces, 3);
        let zeros = [0.0; 4];
        assert_eq!(
            batch.shown,
            Shown::Frames([&[3., 4., 7., 8.][..], &[5., 6., 0., 0.], &zeros].concat())
        );
        assert_eq!(batch.wanted, Wanted::Labels(vec![1, 1, 1, 0, 0, 0]));
        assert_eq!(batch.frame, Frame::new(3, vec![2, 1]));
    }

    #[test]
    fn what_is_said_may_be_longer_than_what_is_shown() {
        let data = Dataset {
            inputs: Inputs::Symbols {
                names: vec!["x".into(), "y".into()],
                values: ragged(1, [vec![1], vec![0, 1]]),
            },
            targets: Targets::Frames(ragged(1, [vec![0.5, 0.25], vec![1.0, 2.0, 3.0]])),
        };
        let whole = |sequence, length| Piece { sequence, offset: 0, length };
        let batch = Batch::new(&data, &[whole(0, 2), whole(1, 3)], 4);
        assert_eq!(batch.shown, Shown::Symbols(vec![1, 0, 0, 1]));
        assert_eq!(batch.frame, Frame::new(2, vec![1, 2]));
        let values = vec![0.5, 1.0, 0.25, 2.0, 0.0, 3.0, 0.0, 0.0];
        assert_eq!(batch.wanted, Wanted::Frames { frame: Frame::new(4, vec![2, 3]), values });
    }
}
