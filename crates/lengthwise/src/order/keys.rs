//! What sequences are sorted by.

use crate::base::rng::{CHUNK, Purpose, Rng};
use crate::base::simd::Job;
use crate::math::whole;

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

/// Places of lengths on a scale, plus noise that is made of a random word; both stretched to 32 bits.
pub(crate) struct Noisy<'a, F, G> {
    pub(crate) rng: &'a Rng,
    pub(crate) place: F,
    pub(crate) noise: G,
    pub(crate) stretch: f64,
}

impl<F, G> Keys for Noisy<'_, F, G>
where
    F: Fn(u32) -> f64 + Sync,
    G: Fn(u32) -> f64 + Sync,
{
    #[inline(always)]
    fn fill(&self, first: u32, lengths: &[u32; CHUNK], keys: &mut [u32; CHUNK]) {
        let mut words = [0; CHUNK];
        self.rng.fill(Purpose::Noise, first, &mut words);
        // Looking up comes first: what follows then has no branch, and becomes vectors.
        let mut places = [0.0; CHUNK];
        for (place, &length) in places.iter_mut().zip(lengths) {
            *place = (self.place)(length);
        }
        for ((key, &word), place) in keys.iter_mut().zip(&words).zip(&places) {
            *key = whole((place + (self.noise)(word)) * self.stretch);
        }
    }

    fn tie(&self, sequence: u32) -> u32 {
        self.rng.word(Purpose::Shuffle, sequence)
    }
}

/// The lengths in chunks, each with its first index and its size; the last one is filled up.
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

/// What becomes of the sequences of a chunk, once their keys are known.
pub(crate) trait Place {
    /// The first `used` sequences from `first` on. It must be `#[inline(never)]`: it is called once a chunk, and what
    /// is inlined here is compiled for every kind of keys and of processors.
    fn place(&mut self, first: u32, lengths: &[u32; CHUNK], keys: &[u32; CHUNK], used: usize);
}

/// Computes the keys of all sequences from `first` on, and hands them over chunk by chunk.
pub(crate) struct Keyed<'a, K, P> {
    pub(crate) lengths: &'a [u32],
    pub(crate) first: u32,
    pub(crate) keys: &'a K,
    pub(crate) to: P,
}

impl<K: Keys, P: Place> Keyed<'_, K, P> {
    #[inline(always)]
    fn chunk(&mut self, first: u32, lengths: &[u32; CHUNK], used: usize) {
        let mut keys = [0; CHUNK];
        self.keys.fill(first, lengths, &mut keys);
        self.to.place(first, lengths, &keys, used.min(CHUNK));
    }
}

impl<K: Keys, P: Place> Job for Keyed<'_, K, P> {
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        let (whole, rest) = self.lengths.as_chunks::<CHUNK>();
        let mut first = self.first;
        for lengths in whole {
            self.chunk(first, lengths, CHUNK);
            first += CHUNK as u32;
        }
        for (first, lengths, used) in chunks(rest, first) {
            self.chunk(first, &lengths, used);
        }
    }
}
