//! Fingerprints of numbers that other programs can compute too: XXH3.

use xxhash_rust::xxh3::Xxh3;

/// XXH3 of numbers as little-endian `u32`.
pub(crate) fn digest(parts: &[&[u32]]) -> u64 {
    let mut hash = Digest::default();
    for part in parts {
        hash.update(part);
    }
    hash.finish()
}

/// The same, bit by bit.
#[derive(Default)]
pub(crate) struct Digest {
    hash: Xxh3,
}

impl Digest {
    pub(crate) fn update(&mut self, numbers: &[u32]) {
        let mut bytes = [[0; 4]; CHUNK];
        for chunk in numbers.chunks(CHUNK) {
            // All of a chunk at once, which is a copy on most machines.
            for (place, number) in bytes.iter_mut().zip(chunk) {
                *place = number.to_le_bytes();
            }
            self.hash.update(bytes[..chunk.len()].as_flattened());
        }
    }

    pub(crate) fn finish(&self) -> u64 {
        self.hash.digest()
    }
}

const CHUNK: usize = 1024;

/// A fingerprint as text.
pub(crate) fn hex(digest: u64) -> String {
    format!("{digest:016x}")
}
