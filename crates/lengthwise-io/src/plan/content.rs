//! What a file of any form is written from, and what it holds before it is a plan.

use std::{fmt, ops::Range};

use lengthwise::{Chunks, OverLong, Plan, Provenance, SpanPlan, measure::Counts};
use serde::de::{DeserializeSeed, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::cursor;
use crate::error::Error;
use crate::hex::{from_hex, hex};
use crate::ids::Ids;
use crate::plan::file::{Pieces, PlanFile, Ranks, StepCounts};
use crate::text::quote;

/// The version of a file: 1, and 2 with ids; 3 and 4 of sequences with two lengths. A release that knows
/// no ids, or no second lengths, must not take a file that has them for one that has none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) has_pairs: bool,
    pub(super) has_ids: bool,
}

impl Version {
    pub(super) fn number(self) -> u32 {
        1 + u32::from(self.has_ids) + 2 * u32::from(self.has_pairs)
    }
}

/// All that a file is written from: the batches of a plan, wherever they are, and what goes with them.
pub(super) struct Sheet<'a> {
    pub(super) made: &'a Provenance,
    pub(super) digest: u64,
    /// The number of batches, and of the sequences in all of them.
    pub(super) len: usize,
    pub(super) sequences: usize,
    /// The sequences of a batch, and what it is padded to.
    pub(super) batch: Box<dyn Fn(usize) -> (&'a [u32], u32) + 'a>,
    pub(super) over_long: (OverLong, &'a [u32]),
    pub(super) positions: &'a [u64],
    pub(super) seconds: Option<Seconds<&'a [u32], &'a [u64]>>,
    pub(super) ids: Option<&'a Ids>,
    pub(super) chunks: Option<&'a Chunks>,
    pub(super) ranks: Option<&'a Ranks>,
}

impl<'a> Sheet<'a> {
    pub(super) fn of_file(file: &'a PlanFile) -> Self {
        let PlanFile { plan, positions, second_positions, ids, chunks, ranks } = file;
        let seconds = |batch_lengths| Seconds { batch_lengths, positions: &second_positions[..] };
        Self {
            made: plan.provenance(),
            digest: plan.digest(),
            len: plan.len(),
            sequences: plan.indices().len(),
            batch: Box::new(|at| (plan.get(at).unwrap_or_default(), plan.batch_lengths()[at])),
            over_long: plan.over_long(),
            positions,
            seconds: plan.second_batch_lengths().map(seconds),
            ids: ids.as_ref(),
            chunks: chunks.as_ref(),
            ranks: ranks.as_ref(),
        }
    }

    pub(super) fn of_spans(plan: &'a SpanPlan, positions: &'a [u64]) -> Self {
        Self {
            made: plan.provenance(),
            digest: plan.digest(),
            len: plan.len(),
            sequences: plan.sequences(),
            batch: Box::new(|at| plan.get(at).unwrap_or_default()),
            over_long: plan.over_long(),
            positions,
            seconds: None,
            ids: None,
            chunks: None,
            ranks: None,
        }
    }

    pub(super) fn version(&self) -> Version {
        Version { has_pairs: self.seconds.is_some(), has_ids: self.ids.is_some() }
    }

    pub(super) fn all(&self) -> impl ExactSizeIterator<Item = (&'a [u32], u32)> {
        (0..self.len).map(|batch| (self.batch)(batch))
    }

    /// Where each batch is among the sequences of all.
    pub(super) fn places(&self) -> impl Iterator<Item = Range<usize>> {
        self.all().scan(0, |end, (batch, _)| {
            let start = *end;
            *end += batch.len();
            Some(start..*end)
        })
    }

    pub(super) fn ends(&self) -> impl Iterator<Item = u32> {
        self.places().map(|places| places.end as u32)
    }
}

/// All that a file has, before it is a plan.
pub(super) struct Content {
    pub(super) version: Version,
    pub(super) digest: String,
    pub(super) made: Provenance,
    pub(super) batches: Batches,
    pub(super) batch_lengths: Vec<u32>,
    pub(super) positions: Vec<u64>,
    pub(super) seconds: Option<Seconds>,
    pub(super) over_long: Vec<u32>,
    pub(super) ids: Option<Ids>,
    pub(super) chunks: Option<Chunks>,
    pub(super) ranks: Option<AssignedRead>,
}

/// What batches of two lengths have besides.
#[derive(Clone, Copy, Default)]
pub(super) struct Seconds<L = Vec<u32>, P = Vec<u64>> {
    pub(super) batch_lengths: L,
    pub(super) positions: P,
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
    /// What a file says about its batches, and no batches yet.
    pub(super) fn new(
        version: Version,
        digest: String,
        made: Provenance,
        chunks: Option<Pieces>,
        ranks: Option<AssignedRead>,
    ) -> Result<Self, Error> {
        Ok(Self {
            version,
            digest,
            made,
            batches: Batches::default(),
            batch_lengths: Vec::new(),
            positions: Vec::new(),
            seconds: None,
            over_long: Vec::new(),
            ids: None,
            chunks: chunks.map(Pieces::chunks).transpose()?,
            ranks,
        })
    }

    pub(super) fn digest(&self) -> Result<u64, Error> {
        let wrong = || format!("`digest` {} is not a fingerprint", quote(&self.digest));
        from_hex(&self.digest).ok_or_else(|| Error::not_a_plan(wrong()))
    }

    /// The plan, if everything fits together.
    pub(super) fn file(self) -> Result<PlanFile, Error> {
        self.check_ids()?;
        self.check_pieces()?;
        let written = self.digest()?;
        let Self { version, batches, positions, ids, chunks, .. } = self;
        let wrong = |error: lengthwise::Error| Error::not_a_plan(error.to_string());
        let Batches { all, ends } = batches;
        let plan = Plan::restore(self.made, all, ends, self.batch_lengths, self.over_long);
        let mut plan = plan.map_err(wrong)?;
        if version.has_pairs != self.seconds.is_some() {
            let has = if self.seconds.is_some() { "" } else { " no" };
            let number = version.number();
            let why = format!("it has{has} second batch lengths, and version {number}");
            return Err(Error::not_a_plan(why));
        }
        let counted = |what: &str, batches: usize, counted: usize| {
            let why = || format!("{batches} batches and {what} of {counted}");
            if batches == counted { Ok(()) } else { Err(Error::not_a_plan(why())) }
        };
        let mut second_positions = Vec::new();
        if let Some(seconds) = self.seconds {
            plan = plan.with_second_batch_lengths(seconds.batch_lengths).map_err(wrong)?;
            second_positions = seconds.positions;
            counted("second positions", plan.len(), second_positions.len())?;
        }
        counted("positions", plan.len(), positions.len())?;
        check_digest(written, plan.digest())?;
        let ranks = self.ranks.map(|ranks| ranks.ranks(plan.len())).transpose()?;
        Ok(PlanFile { plan, positions, second_positions, ids, chunks, ranks })
    }

    /// Refuses ids where the version has none, and the reverse, and any other number of them than of
    /// sequences.
    fn check_ids(&self) -> Result<(), Error> {
        let (count, number) = (self.batches.all.len(), self.version.number());
        let why = match (self.version.has_ids, self.ids.as_ref().map(Ids::len)) {
            (false, None) => return Ok(()),
            (true, Some(named)) if named == count => return Ok(()),
            (true, Some(named)) => format!("it has {named} ids for {count} sequences"),
            (true, None) => format!("it has no ids, which version {number} has"),
            (false, Some(_)) => format!("it has ids, which version {number} has not"),
        };
        Err(Error::not_a_plan(why))
    }

    fn check_pieces(&self) -> Result<(), Error> {
        let Some(of) = self.chunks.as_ref().map(Chunks::len) else { return Ok(()) };
        let mut all = self.batches.all.iter().chain(&self.over_long);
        all.find(|&&piece| piece as usize >= of)
            .map_or(Ok(()), |piece| Err(Error::not_a_plan(format!("it has chunk {piece} of {of}"))))
    }
}

/// Refuses batches that do not have the digest that was written.
pub(super) fn check_digest(written: u64, actual: u64) -> Result<(), Error> {
    if written == actual {
        return Ok(());
    }
    let [written, actual] = [written, actual].map(hex);
    let what = format!("has been altered: its digest is {written}, its batches have {actual}");
    Err(Error::damaged("plan", what))
}

/// [`Ranks`] as they are read.
#[derive(Deserialize)]
#[serde(expecting = "an object of ranks")]
pub(super) struct AssignedRead {
    world_size: u32,
    rank: Option<u32>,
    accumulate: u32,
    steps: u64,
    #[serde(default)]
    steps_left: u64,
    cursor: Option<serde_json::Value>,
    step_counts: StepCounts,
    step_mix: Option<f64>,
    #[serde(default)]
    dropped: Vec<u32>,
    #[serde(default)]
    repeated: Vec<u32>,
}

impl AssignedRead {
    fn ranks(self, batches: usize) -> Result<Ranks, Error> {
        let Self { world_size, rank, accumulate, steps, steps_left, dropped, repeated, .. } = self;
        let step_mix = self.step_mix;
        let StepCounts { sequences, positions, second_positions } = self.step_counts;
        let counted = sequences.len();
        let second_positions = second_positions.unwrap_or_else(|| vec![0; counted]);
        if counted as u64 != steps || [positions.len(), second_positions.len()] != [counted; 2] {
            return Err(Error::not_a_plan(format!("it counts {counted} steps of {steps}")));
        }
        let counts = sequences.into_iter().zip(positions).zip(second_positions);
        let counts = counts.map(|((sequences, positions), second_positions)| Counts {
            sequences,
            positions,
            second_positions,
        });
        let step_counts = counts.collect();
        let cursor = self.cursor.as_ref().map(cursor::from_value).transpose()?;
        if world_size == 0 || accumulate == 0 {
            return Err(Error::not_a_plan("it has no ranks, or no batches for them"));
        }
        if let Some(rank) = rank.filter(|&rank| rank >= world_size) {
            return Err(Error::not_a_plan(format!("it is of rank {rank} of {world_size}")));
        }
        let ranks = if rank.is_some() { 1 } else { world_size };
        if steps.checked_mul(u64::from(ranks) * u64::from(accumulate)) != Some(batches as u64) {
            return Err(Error::not_a_plan(format!("it has {batches} batches in {steps} steps")));
        }
        Ok(Ranks {
            world_size,
            rank,
            accumulate,
            steps,
            steps_left,
            cursor,
            step_counts,
            step_mix,
            dropped,
            repeated,
        })
    }
}

/// What is in batches, one batch after another, as a plan keeps it: a list for each batch would take
/// more memory than its content.
#[derive(Default)]
pub(super) struct Batches<T = Vec<u32>> {
    pub(super) all: T,
    pub(super) ends: Vec<u32>,
}

/// What is in all batches: the sequences, or their ids.
pub(super) trait All: Default {
    /// What is expected of the lists, and of one of them.
    const EXPECTED: [&str; 2];

    fn len(&self) -> usize;
    /// Reads one more from a list; false at its end.
    fn next<'de, A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<bool, A::Error>;
}

impl All for Vec<u32> {
    const EXPECTED: [&str; 2] = ["a list of batches", "a list of sequences"];

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
    const EXPECTED: [&str; 2] = ["a list of the ids of batches", "a list of ids"];

    fn len(&self) -> usize {
        self.len()
    }

    fn next<'de, A: SeqAccess<'de>>(&mut self, list: &mut A) -> Result<bool, A::Error> {
        Ok(list.next_element_seed(One(self))?.is_some())
    }
}

impl<T: All> Batches<T> {
    /// Ends a batch with what is there.
    pub(super) fn end(&mut self) -> Result<(), &'static str> {
        self.ends.push(u32::try_from(self.all.len()).map_err(|_| "too many sequences")?);
        Ok(())
    }
}

impl<'de, T: All> Deserialize<'de> for Batches<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut batches = Self::default();
        Lists::<T, 0>(&mut batches).deserialize(deserializer)?;
        Ok(batches)
    }
}

/// The list of a line.
impl<'de> Deserialize<'de> for Ids {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut batches = Batches::default();
        Lists::<Self, 1>(&mut batches).deserialize(deserializer)?;
        Ok(batches.all)
    }
}

impl Serialize for Ids {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

/// Reads batches behind those that are there: a list of lists at depth 0, and one of them at depth 1.
struct Lists<'a, T, const DEPTH: usize>(&'a mut Batches<T>);

impl<'de, T: All, const DEPTH: usize> DeserializeSeed<'de> for Lists<'_, T, DEPTH> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T: All, const DEPTH: usize> Visitor<'de> for Lists<'_, T, DEPTH> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(T::EXPECTED[DEPTH])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        if DEPTH == 0 {
            while list.next_element_seed(Lists::<T, 1>(self.0))?.is_some() {}
            return Ok(());
        }
        while self.0.all.next(&mut list)? {}
        self.0.end().map_err(serde::de::Error::custom)
    }
}

/// Reads one id behind those that are there, without a string of its own.
struct One<'a>(&'a mut Ids);

impl<'de> DeserializeSeed<'de> for One<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for One<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an id")
    }

    fn visit_str<E>(self, id: &str) -> Result<(), E> {
        self.0.push(id);
        Ok(())
    }
}
