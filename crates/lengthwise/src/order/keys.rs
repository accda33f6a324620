//! What sequences are sorted by.

use crate::base::rng::{CHUNK, Purpose, Rng};

/// What sequences are sorted by.
pub(crate) trait Keys: Sync {
    /// The keys of the sequences from `first` on, which have these lengths. It must be
    /// `#[inline(always)]`, so that it is compiled for every kind of processor.
    fn fill(&self, first: u32, lengths: &[u32; CHUNK], keys: &mut [u32; CHUNK]);

    /// The order of sequences whose keys are equal; the index decides between equals.
    fn tie(&self, sequence: u32) -> u32;
}

/// Places of lengths, and a random order among those of one place.
pub(crate) struct Random<'a, F> {
    rng: &'a Rng,
    purpose: Purpose,
    place: F,
    /// How many bits places take.
    bits: u32,
}

impl<'a, F: Fn(u32) -> u32 + Sync> Random<'a, F> {
    /// By the place of each length, which is at most `most`.
    pub(crate) fn within(most: u32, place: F, rng: &'a Rng, purpose: Purpose) -> Self {
        Self { rng, purpose, place, bits: u32::BITS - most.leading_zeros() }
    }
}

impl<F: Fn(u32) -> u32 + Sync> Keys for Random<'_, F> {
    #[inline(always)]
    fn fill(&self, first: u32, lengths: &[u32; CHUNK], keys: &mut [u32; CHUNK]) {
        let mut words = [0; CHUNK];
        self.rng.fill(self.purpose, first, &mut words);
        for ((key, word), &length) in keys.iter_mut().zip(words).zip(lengths) {
            // As much of the word as there is room for below the place.
            let both = u64::from((self.place)(length)) << 32 | u64::from(word);
            *key = (both >> self.bits) as u32;
        }
    }

    fn tie(&self, sequence: u32) -> u32 {
        self.rng.word(self.purpose, sequence)
    }
}

/// The lengths in chunks, each with its first index and how many of it there are; the rest of the
/// last chunk is filled up.
pub(crate) fn chunks(
    lengths: &[u32],
    first: u32,
) -> impl Iterator<Item = (u32, [u32; CHUNK], usize)> {
    (first..).step_by(CHUNK).zip(lengths.chunks(CHUNK)).map(|(first, lengths)| {
        let mut chunk = [lengths[0]; CHUNK];
        chunk[..lengths.len()].copy_from_slice(lengths);
        (first, chunk, lengths.len())
    })
}
