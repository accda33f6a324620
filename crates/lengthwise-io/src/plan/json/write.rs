//! Writing JSON and JSON lines, bit by bit: the text is never in memory as a whole.

use std::io::{self, Write};

use lengthwise::Provenance;
use lengthwise::{Chunks, OverLong};
use serde::{Serialize, Serializer};
use xxhash_rust::xxh3::Xxh3;

use crate::hex::hex;
use crate::plan::document::Assigned;
use crate::plan::header::{Remaining, unsealed};
use crate::plan::ids::{OfBatch, OfBatches};
use crate::plan::pieces::Pieces;
use crate::plan::sheet::{Batches, Sheet};

/// The whole of a JSON file but for its checksum.
#[derive(Serialize)]
struct Document<'a, P: Batches> {
    version: u32,
    digest: String,
    #[serde(serialize_with = "batches")]
    batches: &'a P,
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<OfBatches<'a>>,
    #[serde(serialize_with = "batch_lengths")]
    batch_lengths: &'a P,
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
    ranks: Option<Assigned<'a>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn batches<P: Batches, S: Serializer>(plan: &&P, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(plan.all().map(|(batch, _)| batch))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn batch_lengths<P: Batches, S: Serializer>(plan: &&P, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(plan.all().map(|(_, length)| length))
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

pub(in crate::plan) fn json<P: Batches>(
    file: &Sheet<P>,
    output: &mut impl Write,
) -> io::Result<()> {
    let Sheet { plan, positions, seconds, ids, chunks, ranks } = *file;
    let (treatment, over_long) = plan.over_long();
    let if_treated = |by| if treatment == by { over_long } else { &[] };
    let ends: Vec<u32> = if ids.is_some() { plan.ends().collect() } else { Vec::new() };
    let document = Document {
        version: file.version().number(),
        digest: hex(plan.digest()),
        batches: plan,
        ids: ids.map(|ids| OfBatches(ids, &ends)),
        batch_lengths: plan,
        second_batch_lengths: seconds.map(|seconds| seconds.batch_lengths),
        left_out: if_treated(OverLong::Drop),
        truncated: if_treated(OverLong::Truncate),
        alone: if_treated(OverLong::Alone),
        chunks: chunks.map(Pieces::new),
        positions,
        second_positions: seconds.map(|seconds| seconds.positions),
        made: plan.provenance(),
        ranks: ranks.map(Assigned::new),
    };
    let mut output = Sealing::new(output);
    serde_json::to_writer(&mut output, &document)?;
    output.seal()
}

pub(in crate::plan) fn json_lines<P: Batches>(
    file: &Sheet<P>,
    output: &mut impl Write,
) -> io::Result<()> {
    let Sheet { plan, positions, seconds, ids, chunks, .. } = *file;
    let mut output = Sealing::new(output);
    let mut start = 0;
    for (at, ((batch, batch_length), &positions)) in plan.all().zip(positions).enumerate() {
        let places = start..start + batch.len();
        start = places.end;
        let mut line = Batch::new(batch, batch_length, positions, chunks);
        line.second_batch_length = seconds.map(|seconds| seconds.batch_lengths[at]);
        line.second_positions = seconds.and_then(|seconds| seconds.positions.get(at).copied());
        line.ids = ids.map(|ids| OfBatch(ids, places));
        serde_json::to_writer(&mut output, &line)?;
        writeln!(output)?;
    }
    let (treatment, over_long) = plan.over_long();
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
