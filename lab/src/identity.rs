//! What tells one task from another.

use xxhash_rust::xxh3::Xxh3;

use crate::data::{Dataset, Inputs, Ragged, Targets, Task};

impl Task {
    /// A number that another task, or the same one with anything changed, does not have.
    pub fn digest(&self) -> u64 {
        let mut hash = Xxh3::new();
        for data in [&self.training, &self.validation] {
            add(&mut hash, data);
        }
        hash.digest()
    }
}

fn add(hash: &mut Xxh3, data: &Dataset) {
    match &data.inputs {
        Inputs::Frames(frames) => floats(hash, frames),
        Inputs::Symbols { names, values } => {
            count(hash, names.len());
            whole(hash, values);
        }
    }
    match &data.targets {
        Targets::Labels { names, values, .. } | Targets::Transcripts { names, values } => {
            count(hash, names.len());
            whole(hash, values);
        }
        Targets::Classes { names, values } => {
            count(hash, names.len());
            for value in values {
                hash.update(&value.to_le_bytes());
            }
        }
        Targets::Frames(frames) => floats(hash, frames),
    }
}

fn count(hash: &mut Xxh3, number: usize) {
    hash.update(&(number as u64).to_le_bytes());
}

fn lengths<T>(hash: &mut Xxh3, sequences: &Ragged<T>) {
    count(hash, sequences.width());
    count(hash, sequences.len());
    for sequence in 0..sequences.len() {
        count(hash, sequences.length(sequence));
    }
}

fn floats(hash: &mut Xxh3, sequences: &Ragged<f32>) {
    lengths(hash, sequences);
    for value in sequences.values() {
        hash.update(&value.to_le_bytes());
    }
}

fn whole(hash: &mut Xxh3, sequences: &Ragged<u32>) {
    lengths(hash, sequences);
    for value in sequences.values() {
        hash.update(&value.to_le_bytes());
    }
}
