//! What a file of any form holds, before it is a plan.

use std::fmt;

use lengthwise::{Chunks, Made, Plan};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, SeqAccess, Visitor},
};

use super::{
    PlanFile,
    document::{DealtRead, Wrong, digest},
    read::not_a_plan,
};
use crate::{Error, hex::hex};

/// What a file of any form holds.
pub(super) struct Content {
    pub(super) digest: String,
    pub(super) made: Made,
    pub(super) batches: Batches,
    pub(super) batch_lengths: Vec<u32>,
    pub(super) positions: Vec<u64>,
    pub(super) over_long: Vec<u32>,
    pub(super) chunks: Option<Chunks>,
    pub(super) ranks: Option<DealtRead>,
}

impl Content {
    pub(super) fn file(self) -> Result<PlanFile, Error> {
        let Self { made, batches, batch_lengths, positions, over_long, chunks, .. } = self;
        if let Some(chunks) = &chunks {
            let beyond = |&&piece: &&u32| piece as usize >= chunks.len();
            if let Some(piece) = batches.indices.iter().chain(&over_long).find(beyond) {
                let of = chunks.len();
                return Err(not_a_plan(&format!("it has piece {piece}, and chunks of {of}")));
            }
        }
        let plan = Plan::restore(made, batches.indices, batches.ends, batch_lengths, over_long)
            .map_err(|error| not_a_plan(&error.to_string()))?;
        if plan.len() != positions.len() {
            let (batches, counted) = (plan.len(), positions.len());
            return Err(not_a_plan(&format!("{batches} batches and positions of {counted}")));
        }
        let written = digest("digest", &self.digest).map_err(|why| not_a_plan(&why))?;
        if plan.digest() != written {
            let (written, actual) = (hex(written), hex(plan.digest()));
            let what =
                format!("has been altered: its digest is {written}, its batches have {actual}");
            return Err(Error::damaged("plan", what));
        }
        let ranks = self.ranks.map(|ranks| ranks.ranks(plan.len())).transpose()?;
        Ok(PlanFile { plan, positions, chunks, ranks })
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

/// Batches one after another, as a plan keeps them: a list for each would take more room than what
/// is in it.
#[derive(Default)]
pub(super) struct Batches {
    pub(super) indices: Vec<u32>,
    pub(super) ends: Vec<u32>,
}

impl Batches {
    /// Ends a batch with what is there.
    pub(super) fn end(&mut self) -> Result<(), Wrong> {
        let end = u32::try_from(self.indices.len()).map_err(|_| "too many sequences".to_owned())?;
        self.ends.push(end);
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Batches {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(All)
    }
}

struct All;

impl<'de> Visitor<'de> for All {
    type Value = Batches;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list of batches")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Batches, A::Error> {
        let mut batches = Batches::default();
        while list.next_element_seed(Next(&mut batches))?.is_some() {}
        Ok(batches)
    }
}

/// Reads one batch behind those that are there.
struct Next<'a>(&'a mut Batches);

impl<'de> DeserializeSeed<'de> for Next<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Next<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list of sequences")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(sequence) = list.next_element()? {
            self.0.indices.push(sequence);
        }
        self.0.end().map_err(serde::de::Error::custom)
    }
}
