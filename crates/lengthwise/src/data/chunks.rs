//! Long sequences cut into chunks, and the way back.

use crate::data::lengths::Lengths;
use crate::error::Error;

/// Sequences cut into chunks of at most a given length (paper 1, Table 1). The chunks are planned as
/// sequences of their own, and each knows which sequence it is from and where it begins.
///
/// Every chunk except the last of its sequence has the full length. O(chunks) time, one `u32` per chunk
/// besides its length.
///
/// ```
/// use lengthwise::{Chunks, Lengths};
///
/// let chunks = Chunks::new(&Lengths::new([250, 40])?, 100)?;
/// assert_eq!(chunks.lengths().as_slice(), [100, 100, 50, 40]);
/// let piece = chunks.get(2).unwrap();
/// assert_eq!((piece.sequence, piece.offset, piece.length), (0, 200, 50));
/// # Ok::<(), lengthwise::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Chunks {
    size: u32,
    lengths: Lengths,
    /// The sequence of every chunk.
    sequences: Vec<u32>,
    /// The first chunk of every sequence.
    firsts: Vec<u32>,
}

/// One chunk of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The sequence it is from.
    pub sequence: u32,
    /// Where it begins in it.
    pub offset: u32,
    /// How long it is.
    pub length: u32,
}

impl Chunks {
    /// Cuts every sequence into chunks of at most `size`.
    pub fn new(lengths: &Lengths, size: u32) -> Result<Self, Error> {
        lengths.only_one("a cut into chunks")?;
        if lengths.units().is_some_and(|units| units.has_groups()) {
            return Err(Error::GroupsUnsupported { what: "a cut into chunks".to_owned() });
        }
        if size == 0 {
            return Err(Error::bad_value("the length of chunks", &0, "a whole number from 1"));
        }
        let count: u64 =
            lengths.as_slice().iter().map(|length| u64::from(length.div_ceil(size))).sum();
        if count > u64::from(u32::MAX) {
            return Err(Error::TooManySequences { count });
        }
        let mut pieces = Vec::with_capacity(count as usize);
        let mut sequences = Vec::with_capacity(count as usize);
        let mut firsts = Vec::with_capacity(lengths.len());
        for (sequence, &length) in (0..).zip(lengths.as_slice()) {
            firsts.push(pieces.len() as u32);
            pieces.extend((0..length / size).map(|_| size));
            pieces.extend(Some(length % size).filter(|&rest| rest > 0));
            sequences.resize(pieces.len(), sequence);
        }
        let mut pieces = Lengths::new(pieces)?;
        if let Some(kinds) = lengths.kind_ids() {
            let of_piece = sequences.iter().map(|&sequence: &u32| kinds[sequence as usize]);
            pieces = pieces.kinds(&of_piece.collect::<Vec<u32>>())?;
        }
        Ok(Self { size, lengths: pieces, sequences, firsts })
    }

    /// The lengths of the chunks, to plan with.
    pub fn lengths(&self) -> &Lengths {
        &self.lengths
    }

    /// The number of chunks.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.sequences.len()
    }

    /// One chunk, by its index in [`lengths`](Chunks::lengths).
    pub fn get(&self, piece: u32) -> Option<Chunk> {
        let sequence = *self.sequences.get(piece as usize)?;
        let offset = (piece - self.firsts[sequence as usize]) * self.size;
        Some(Chunk { sequence, offset, length: self.lengths.of(piece) })
    }
}
