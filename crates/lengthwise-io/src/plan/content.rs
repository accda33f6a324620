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
    ids::One,
    read::Version,
};
use crate::{Error, hex::hex, ids::Ids};

/// What a file of any form holds.
pub(super) struct Content {
    pub(super) version: Version,
    pub(super) digest: String,
    pub(super) made: Made,
    pub(super) batches: Batches,
    pub(super) batch_lengths: Vec<u32>,
    pub(super) positions: Vec<u64>,
    pub(super) seconds: Option<Seconds>,
    pub(super) over_long: Vec<u32>,
    pub(super) ids: Option<Ids>,
    pub(super) chunks: Option<Chunks>,
    pub(super) ranks: Option<DealtRead>,
}

/// What batches of two lengths have besides.
#[derive(Default)]
pub(super) struct Seconds {
    pub(super) batch_lengths: Vec<u32>,
    pub(super) positions: Vec<u64>,
}

impl Seconds {
    /// Both, or none.
    pub(super) fn of(
        batch_lengths: Option<Vec<u32>>,
        positions: Option<Vec<u64>>,
    ) -> Result<Option<Self>, Error> {
        match (batch_lengths, positions) {
            (None, None) => Ok(None),
            (Some(batch_lengths), Some(positions)) => Ok(Some(Self { batch_lengths, positions })),
            (None, _) => Err(Error::not_a_plan("it has no second batch lengths")),
            (_, None) => Err(Error::not_a_plan("it has no second positions")),
        }
    }
}

impl Content {
    pub(super) fn file(self) -> Result<PlanFile, Error> {
        let Self { made, batches, batch_lengths, positions, over_long, ids, chunks, .. } = self;
        let (count, named) = (batches.all.len(), ids.as_ref().map(Ids::len));
        let number = self.version.number();
        match (self.version.has_ids(), named) {
            (false, None) => {}
            (true, Some(named)) if named == count => {}
            (true, Some(named)) => {
                return Err(Error::not_a_plan(&format!(
                    "it has {named} ids for {count} sequences"
                )));
            }
            (true, None) => {
                return Err(Error::not_a_plan(&format!(
                    "it has no ids, which version {number} has"
                )));
            }
            (false, Some(_)) => {
                return Err(Error::not_a_plan(&format!(
                    "it has ids, which version {number} has not"
                )));
            }
        }
        if let Some(chunks) = &chunks {
            let beyond = |&&piece: &&u32| piece as usize >= chunks.len();
            if let Some(piece) = batches.all.iter().chain(&over_long).find(beyond) {
                let of = chunks.len();
                return Err(Error::not_a_plan(&format!(
                    "it has piece {piece}, and chunks of {of}"
                )));
            }
        }
        let mut plan = Plan::restore(made, batches.all, batches.ends, batch_lengths, over_long)
            .map_err(|error| Error::not_a_plan(&error.to_string()))?;
        if self.version.is_of_pairs() != self.seconds.is_some() {
            let has = if self.seconds.is_some() { "" } else { " no" };
            return Err(Error::not_a_plan(&format!(
                "it has{has} second batch lengths, and version {number}"
            )));
        }
        let mut second_positions = Vec::new();
        if let Some(seconds) = self.seconds {
            let paired = plan.with_second_batch_lengths(seconds.batch_lengths);
            plan = paired.map_err(|error| Error::not_a_plan(&error.to_string()))?;
            second_positions = seconds.positions;
            if plan.len() != second_positions.len() {
                let (batches, counted) = (plan.len(), second_positions.len());
                let what = format!("{batches} batches and second positions of {counted}");
                return Err(Error::not_a_plan(&what));
            }
        }
        if plan.len() != positions.len() {
            let (batches, counted) = (plan.len(), positions.len());
            return Err(Error::not_a_plan(&format!(
                "{batches} batches and positions of {counted}"
            )));
        }
        let written = digest("digest", &self.digest).map_err(|why| Error::not_a_plan(&why))?;
        if plan.digest() != written {
            let (written, actual) = (hex(written), hex(plan.digest()));
            let what =
                format!("has been altered: its digest is {written}, its batches have {actual}");
            return Err(Error::damaged("plan", what));
        }
        let ranks = self.ranks.map(|ranks| ranks.ranks(plan.len())).transpose()?;
        Ok(PlanFile { plan, positions, second_positions, ids, chunks, ranks })
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

/// What is in batches, one batch after another, as a plan keeps it: a list for each would take more
/// room than what is in it.
#[derive(Default)]
pub(super) struct Batches<T = Vec<u32>> {
    pub(super) all: T,
    pub(super) ends: Vec<u32>,
}

/// What is in all batches: the sequences, or their ids.
pub(super) trait All: Default {
    const LISTS: &'static str;
    const LIST: &'static str;

    fn len(&self) -> usize;
    /// Reads one more from a list; false at its end.
    fn next<'de, A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<bool, A::Error>;
}

impl All for Vec<u32> {
    const LISTS: &'static str = "a list of batches";
    const LIST: &'static str = "a list of sequences";

    fn len(&self) -> usize {
        self.len()
    }

    fn next<'de, A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<bool, A::Error> {
        let sequence: Option<u32> = list.next_element()?;
        self.extend(sequence);
        Ok(sequence.is_some())
    }
}

impl All for Ids {
    const LISTS: &'static str = "a list of the ids of batches";
    const LIST: &'static str = "a list of ids";

    fn len(&self) -> usize {
        self.len()
    }

    fn next<'de, A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<bool, A::Error> {
        Ok(list.next_element_seed(One(self))?.is_some())
    }
}

impl<T: All> Batches<T> {
    /// Ends a batch with what is there.
    pub(super) fn end(&mut self) -> Result<(), Wrong> {
        let end = u32::try_from(self.all.len()).map_err(|_| "too many sequences".to_owned())?;
        self.ends.push(end);
        Ok(())
    }
}

impl<'de, T: All> Deserialize<'de> for Batches<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut batches = Self::default();
        deserializer.deserialize_seq(Lists(&mut batches))?;
        Ok(batches)
    }
}

struct Lists<'a, T>(&'a mut Batches<T>);

impl<'de, T: All> Visitor<'de> for Lists<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(T::LISTS)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Next(self.0))?.is_some() {}
        Ok(())
    }
}

/// Reads one batch behind those that are there.
struct Next<'a, T>(&'a mut Batches<T>);

impl<'de, T: All> DeserializeSeed<'de> for Next<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T: All> Visitor<'de> for Next<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(T::LIST)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while self.0.all.next(&mut list)? {}
        self.0.end().map_err(serde::de::Error::custom)
    }
}
