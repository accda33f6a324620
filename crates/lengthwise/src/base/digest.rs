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
    bytes: Vec<u8>,
}

impl Digest {
    pub(crate) fn update(&mut self, numbers: &[u32]) {
        for chunk in numbers.chunks(CHUNK) {
            self.bytes.clear();
            self.bytes.extend(chunk.iter().flat_map(|number| number.to_le_bytes()));
            self.hash.update(&self.bytes);
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
