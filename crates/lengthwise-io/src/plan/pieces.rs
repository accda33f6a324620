//! The pieces of sequences, where sequences were cut.

use lengthwise::{Chunks, Lengths};
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// Where the pieces are from that the batches name by index.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pieces {
    pub(super) sequences: Vec<u32>,
    pub(super) offsets: Vec<u32>,
    pub(super) lengths: Vec<u32>,
}

impl Pieces {
    pub(super) fn new(chunks: &Chunks) -> Self {
        let pieces = (0..chunks.len() as u32).filter_map(|piece| chunks.get(piece));
        Self {
            sequences: pieces.clone().map(|piece| piece.sequence).collect(),
            offsets: pieces.map(|piece| piece.offset).collect(),
            lengths: chunks.lengths().as_slice().to_vec(),
        }
    }

    /// The sequences are cut once more, and must come to the same pieces.
    pub(super) fn chunks(self) -> Result<Chunks, Error> {
        let wrong = || Error::not_a_plan("the chunks are not sequences cut into pieces");
        let mut whole: Vec<u32> = Vec::new();
        for (&sequence, &length) in self.sequences.iter().zip(&self.lengths) {
            if sequence as usize == whole.len() {
                whole.push(0);
            }
            let count = whole.len();
            match whole.last_mut() {
                Some(last) if sequence as usize + 1 == count => {
                    *last = last.checked_add(length).ok_or_else(wrong)?;
                }
                _ => return Err(wrong()),
            }
        }
        // A sequence of several pieces begins with one of full size. If there is none, any size
        // that is long enough does.
        let size = self.lengths.iter().copied().max().unwrap_or_default();
        let cut = |lengths: Lengths| Chunks::new(&lengths, size);
        let chunks = Lengths::new(whole).and_then(cut).map_err(|_| wrong())?;
        if Pieces::new(&chunks) == self { Ok(chunks) } else { Err(wrong()) }
    }
}

/// The piece of a sequence that begins at an offset. Pieces rise by sequence, then by offset.
pub(super) fn piece_at(chunks: &Chunks, at: (u32, u32)) -> Option<u32> {
    let of = |piece: u32| chunks.get(piece).map(|piece| (piece.sequence, piece.offset));
    let (mut low, mut high) = (0, chunks.len() as u32);
    while low < high {
        let middle = low + (high - low) / 2;
        if of(middle)? < at {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    (of(low) == Some(at)).then_some(low)
}
