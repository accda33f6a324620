//! Writing JSON and JSON lines, bit by bit: the text is never in memory as a whole.

use std::io::{self, Write};
use std::ops::Range;

use lengthwise::{Chunks, OverLong, Provenance};
use serde::{Serialize, Serializer};
use xxhash_rust::xxh3::Xxh3;

use crate::hex::hex;
use crate::ids::Ids;
use crate::plan::header::{Remaining, unsealed};
use crate::plan::{file::Ranks, pieces::Pieces, sheet::Sheet};

/// The whole of a JSON file but for its checksum.
#[derive(Serialize)]
struct Document<'a, 's> {
    version: u32,
    digest: String,
    #[serde(serialize_with = "batches")]
    batches: &'a Sheet<'s>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<OfBatches<'a>>,
    #[serde(serialize_with = "batch_lengths")]
    batch_lengths: &'a Sheet<'s>,
    #[serde(skip_serializing_if = "Option::is_none")]
    second_batch_lengths: Option<&'a [u32]>,
    #[serde(skip_serializing_if = "<[u32]>::is_empty")]
    left_out: &'a [u32],
    #[serde(skip_serializing_if = "<[u32]>::is_empty")]
    truncated: &'a [u32],
    /// Over-long sequences in batches of their own, which exceed the budget.
    #[serde(skip_serializing_if = "<[u32]>::is_empty")]
    alone: &'a [u32],
    #[serde(skip_serializing_if = "Option::is_none")]
    chunks: Option<Pieces>,
    positions: &'a [u64],
    #[serde(skip_serializing_if = "Option::is_none")]
    second_positions: Option<&'a [u64]>,
    made: &'a Provenance,
    #[serde(skip_serializing_if = "Option::is_none")]
    ranks: Option<&'a Ranks>,
}

fn batches<S: Serializer>(sheet: &Sheet, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(sheet.all().map(|(batch, _)| batch))
}

fn batch_lengths<S: Serializer>(sheet: &Sheet, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(sheet.all().map(|(_, length)| length))
}

/// The ids of each batch, as lists in a list; and where the batches end.
struct OfBatches<'a>(&'a Ids, Vec<u32>);

impl Serialize for OfBatches<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut start = 0;
        serializer.collect_seq(self.1.iter().map(|&end| {
            let places = start..end as usize;
            start = places.end;
            OfBatch(self.0, places)
        }))
    }
}

/// The ids of one batch, as a list.
struct OfBatch<'a>(&'a Ids, Range<usize>);

impl Serialize for OfBatch<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.range(self.1.clone()))
    }
}

/// A line of JSON lines. Of pieces it names the sequences they are from, and where they begin.
#[derive(Default, Serialize)]
#[expect(clippy::struct_field_names, reason = "the names of the JSON")]
struct Batch<'a> {
    sequences: Vec<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<OfBatch<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offsets: Option<Vec<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lengths: Option<Vec<u32>>,
    batch_length: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    second_batch_length: Option<u32>,
    positions: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    second_positions: Option<u64>,
}

/// The line after the batches, where sequences exceed the budget alone.
#[derive(Serialize)]
struct OverLongs<'a> {
    over_long: String,
    sequences: &'a [u32],
}

pub(in crate::plan) fn json(file: &Sheet, output: &mut impl Write) -> io::Result<()> {
    let &Sheet { seconds, over_long: (treatment, over_long), .. } = file;
    let if_treated = |by| if treatment == by { over_long } else { &[] };
    let document = Document {
        version: file.version().number(),
        digest: hex(file.digest),
        batches: file,
        ids: file.ids.map(|ids| OfBatches(ids, file.ends().collect())),
        batch_lengths: file,
        second_batch_lengths: seconds.map(|seconds| seconds.batch_lengths),
        left_out: if_treated(OverLong::Drop),
        truncated: if_treated(OverLong::Truncate),
        alone: if_treated(OverLong::Alone),
        chunks: file.chunks.map(Pieces::new),
        positions: file.positions,
        second_positions: seconds.map(|seconds| seconds.positions),
        made: file.made,
        ranks: file.ranks,
    };
    let mut output = Sealing::new(output);
    serde_json::to_writer(&mut output, &document)?;
    output.seal()
}

pub(in crate::plan) fn json_lines(file: &Sheet, output: &mut impl Write) -> io::Result<()> {
    let &Sheet { positions, seconds, ids, chunks, over_long: (treatment, over_long), .. } = file;
    let mut output = Sealing::new(output);
    let mut start = 0;
    for (at, ((batch, batch_length), &positions)) in file.all().zip(positions).enumerate() {
        let places = start..start + batch.len();
        start = places.end;
        let mut line = Batch::new(batch, batch_length, positions, chunks);
        line.second_batch_length = seconds.map(|seconds| seconds.batch_lengths[at]);
        line.second_positions = seconds.and_then(|seconds| seconds.positions.get(at).copied());
        line.ids = ids.map(|ids| OfBatch(ids, places));
        serde_json::to_writer(&mut output, &line)?;
        writeln!(output)?;
    }
    if !over_long.is_empty() {
        let line = OverLongs { over_long: treatment.to_string(), sequences: over_long };
        serde_json::to_writer(&mut output, &line)?;
        writeln!(output)?;
    }
    let last = unsealed(file, Remaining { over_long: false, chunks: true });
    serde_json::to_writer(&mut output, &last)?;
    output.seal()
}

impl Batch<'_> {
    fn new(batch: &[u32], batch_length: u32, positions: u64, chunks: Option<&Chunks>) -> Self {
        let mut line = Self { batch_length, positions, ..Self::default() };
        let Some(chunks) = chunks else {
            line.sequences = batch.to_vec();
            return line;
        };
        let pieces = batch.iter().filter_map(|&piece| chunks.get(piece));
        line.sequences = pieces.clone().map(|piece| piece.sequence).collect();
        line.offsets = Some(pieces.clone().map(|piece| piece.offset).collect());
        line.lengths = Some(pieces.map(|piece| piece.length).collect());
        line
    }
}

/// Hashes what it passes on, and adds the checksum to the object that comes last. So the last byte
/// stays here until it is known whether it closes that object.
struct Sealing<W> {
    output: W,
    hash: Xxh3,
    waiting: Vec<u8>,
}

/// How much is passed on at once.
const BUFFER: usize = 1 << 16;

impl<W: Write> Sealing<W> {
    fn new(output: W) -> Self {
        Self { output, hash: Xxh3::new(), waiting: Vec::with_capacity(2 * BUFFER) }
    }

    /// Passes on all but the last byte.
    fn pass_on(&mut self) -> io::Result<()> {
        let Some(last) = self.waiting.pop() else { return Ok(()) };
        self.hash.update(&self.waiting);
        self.output.write_all(&self.waiting)?;
        self.waiting.clear();
        self.waiting.push(last);
        Ok(())
    }

    fn seal(mut self) -> io::Result<()> {
        self.pass_on()?;
        writeln!(self.output, ",\"checksum\":\"{}\"}}", hex(self.hash.digest()))
    }
}

impl<W: Write> Write for Sealing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() > BUFFER {
            self.pass_on()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}
