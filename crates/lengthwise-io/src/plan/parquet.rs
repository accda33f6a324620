//! Parquet files: a row for each sequence.
//!
//! Nothing in them is packed. What repeats from row to row, the format writes once; snappy packs the
//! sequences, which are in random order, by a hundredth. So each takes four bytes, and no file can
//! claim more rows than that.

pub(super) mod read;

use std::io::{self, Write};
use std::{ops::Range, sync::Arc};

use ::parquet::basic::{LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::writer::{
    SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter,
};
use ::parquet::schema::types::{ColumnPath, Type};
use lengthwise::Chunk;
use xxhash_rust::xxh3::Xxh3;

use crate::error::Error;
use crate::ids::Ids;
use crate::plan::content::Sheet;
use crate::plan::header::{self, Remaining};

/// The name of the header in the metadata.
const KEY: &str = "lengthwise";

/// What comes before the version of the release that wrote a file.
const CREATED_BY: &str = "lengthwise version ";

/// The column of ids, which comes last.
const IDS: &str = "id";

/// The columns of numbers, in order. The last two are there if pieces were planned, and the second ones
/// of a batch if sequences have two lengths.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Batch,
    BatchLength,
    BatchPositions,
    SecondLength,
    SecondPositions,
    Sequence,
    Offset,
    Length,
}

const ALL: [(Column, &str); 8] = [
    (Column::Batch, "batch"),
    (Column::BatchLength, "batch_length"),
    (Column::BatchPositions, "batch_positions"),
    (Column::SecondLength, "second_batch_length"),
    (Column::SecondPositions, "second_batch_positions"),
    (Column::Sequence, "sequence"),
    (Column::Offset, "offset"),
    (Column::Length, "length"),
];

impl Column {
    fn all(pieces: bool, pairs: bool) -> Vec<Column> {
        let there = |column: &Column| match column {
            Column::SecondLength | Column::SecondPositions => pairs,
            Column::Offset | Column::Length => pieces,
            _ => true,
        };
        ALL.into_iter().map(|(column, _)| column).filter(there).collect()
    }

    fn name(self) -> &'static str {
        ALL[self as usize].1
    }

    /// How many bytes its numbers have.
    fn size(self) -> usize {
        if matches!(self, Column::BatchPositions | Column::SecondPositions) { 8 } else { 4 }
    }

    fn hash(self, numbers: &[u64], hash: &mut Xxh3) {
        let mut bytes = Vec::with_capacity(numbers.len() * self.size());
        for number in numbers {
            bytes.extend_from_slice(&number.to_le_bytes()[..self.size()]);
        }
        hash.update(&bytes);
    }
}

/// The type of a row: whole numbers from 0 on, and behind them an id, which is text, if there are ids.
fn schema(columns: &[Column], ids: bool) -> ParquetResult<Type> {
    let field = |name: &str, physical, logical| {
        let field = Type::primitive_type_builder(name, physical);
        let field = field.with_repetition(Repetition::REQUIRED).with_logical_type(Some(logical));
        field.build().map(Arc::new)
    };
    let numbers = columns.iter().map(|column| {
        let physical = if column.size() == 8 { Physical::INT64 } else { Physical::INT32 };
        field(column.name(), physical, LogicalType::integer(8 * column.size() as i8, false))
    });
    let ids = ids.then(|| field(IDS, Physical::BYTE_ARRAY, LogicalType::String));
    let fields = numbers.chain(ids).collect::<Result<_, _>>()?;
    Type::group_type_builder("plan").with_fields(fields).build()
}

/// The column that is to be written next.
fn next_column<'a, W: Write + Send>(
    into: &'a mut SerializedRowGroupWriter<'_, W>,
) -> ParquetResult<SerializedColumnWriter<'a>> {
    let missing = || ParquetError::General("a column is missing".to_owned());
    into.next_column()?.ok_or_else(missing)
}

/// A page counts its bytes in 31 bits.
const MOST_BYTES: usize = 1 << 30;

/// How many bytes, or a few more, and how many ids go into a page: the writer looks only after it has
/// taken all that it is given.
const PAGE: usize = 1 << 20;
const PAGE_ROWS: usize = 1 << 14;

/// Adds an id to the checksum, behind its length in four bytes, as the format has it in a page.
fn hash_id(id: &[u8], hash: &mut Xxh3) {
    hash.update(&(id.len() as u32).to_le_bytes());
    hash.update(id);
}

fn does_not_fit(why: &str) -> io::Error {
    let error = Error::of_plan(format!("does not fit into a Parquet file: {why}"));
    io::Error::other(error.hint_to("name the file .npz"))
}

/// Refuses an id that no page can hold.
fn check_ids(ids: &Ids) -> io::Result<()> {
    match ids.iter().map(str::len).max() {
        Some(bytes) if bytes > MOST_BYTES => Err(does_not_fit(&format!("an id has {bytes} bytes"))),
        _ => Ok(()),
    }
}

fn write_ids<W: Write + Send>(
    ids: &Ids,
    rows: Range<usize>,
    into: &mut SerializedRowGroupWriter<'_, W>,
) -> ParquetResult<()> {
    let mut writer = next_column(into)?;
    let (mut page, mut bytes) = (Vec::new(), 0);
    let last = rows.len();
    for (row, id) in (1..).zip(ids.range(rows)) {
        bytes += id.len();
        page.push(ByteArray::from(id));
        if bytes >= PAGE || page.len() == PAGE_ROWS || row == last {
            writer.typed::<ByteArrayType>().write_batch(&page, None, None)?;
            page.clear();
            bytes = 0;
        }
    }
    writer.close()
}

/// Readers refuse metadata with longer texts, unless they are told not to.
const MOST_HEADER: usize = 100_000_000;

/// A few megabytes of each column: what a reader can skip, and the writer has in memory.
const ROWS_PER_GROUP: usize = 1 << 20;

/// What a column has in these rows.
fn numbers(column: Column, file: &Sheet, ends: &[u32], rows: Range<usize>) -> Vec<u64> {
    let pieces = || sequences(file, ends, rows.clone());
    let of_pieces = |what: fn(Chunk) -> u32| -> Vec<u64> {
        let piece = |piece: u32| file.chunks.and_then(|chunks| chunks.get(piece));
        pieces().filter_map(piece).map(|piece| what(piece).into()).collect()
    };
    match column {
        Column::Batch => of_batches(ends, rows, |batch| batch as u64),
        Column::BatchLength => of_batches(ends, rows, |batch| (file.batch)(batch).1.into()),
        Column::BatchPositions => of_batches(ends, rows, |batch| file.positions[batch]),
        Column::SecondLength => of_batches(ends, rows, |batch| {
            file.seconds.map_or(0, |seconds| seconds.batch_lengths[batch].into())
        }),
        Column::SecondPositions => of_batches(ends, rows, |batch| {
            file.seconds.map_or(0, |seconds| seconds.positions[batch])
        }),
        Column::Sequence if file.chunks.is_none() => pieces().map(u64::from).collect(),
        Column::Sequence => of_pieces(|piece| piece.sequence),
        Column::Offset => of_pieces(|piece| piece.offset),
        Column::Length => of_pieces(|piece| piece.length),
    }
}

/// The sequences, or pieces, in these rows.
fn sequences(file: &Sheet, ends: &[u32], rows: Range<usize>) -> impl Iterator<Item = u32> {
    let first = ends.partition_point(|&end| end as usize <= rows.start);
    let before = if first == 0 { 0 } else { ends[first - 1] as usize };
    let batches = (first..file.len).flat_map(|batch| (file.batch)(batch).0);
    batches.copied().skip(rows.start - before).take(rows.len())
}

/// What is said of every batch, for each of its rows.
fn of_batches(ends: &[u32], rows: Range<usize>, of: impl Fn(usize) -> u64) -> Vec<u64> {
    let mut batch = ends.partition_point(|&end| end as usize <= rows.start);
    let mut numbers = Vec::with_capacity(rows.len());
    for row in rows {
        if ends[batch] as usize <= row {
            batch += 1;
        }
        numbers.push(of(batch));
    }
    numbers
}

fn groups(rows: usize) -> impl Iterator<Item = Range<usize>> {
    (0..rows).step_by(ROWS_PER_GROUP).map(move |start| start..rows.min(start + ROWS_PER_GROUP))
}

pub(super) fn write(file: &Sheet, output: &mut (impl Write + Send)) -> io::Result<()> {
    let columns = &Column::all(file.chunks.is_some(), file.seconds.is_some());
    let rows = file.sequences;
    let ends: Vec<u32> = file.ends().collect();
    let mut hash = Xxh3::new();
    for &column in columns {
        groups(rows).for_each(|group| column.hash(&numbers(column, file, &ends, group), &mut hash));
    }
    if let Some(ids) = file.ids {
        check_ids(ids)?;
        ids.iter().for_each(|id| hash_id(id.as_bytes(), &mut hash));
    }
    let header = header::text(file, Remaining { over_long: true, chunks: true }, hash)?;
    if header.len() > MOST_HEADER {
        let bytes = header.len();
        return Err(does_not_fit(&format!(
            "{bytes} bytes describe chunks, over-long sequences and steps, and readers allow {MOST_HEADER}"
        )));
    }
    let written = || -> ParquetResult<()> {
        let schema = Arc::new(schema(columns, file.ids.is_some())?);
        let mut writer = SerializedFileWriter::new(output, schema, Arc::new(properties(header)))?;
        for group in groups(rows) {
            let mut into = writer.next_row_group()?;
            for &column in columns {
                write_column(column, &numbers(column, file, &ends, group.clone()), &mut into)?;
            }
            if let Some(ids) = file.ids {
                write_ids(ids, group, &mut into)?;
            }
            into.close()?;
        }
        writer.close()?;
        Ok(())
    }();
    written.map_err(|error| match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(cause) => *cause,
            Err(cause) => io::Error::other(cause),
        },
        other => io::Error::other(other),
    })
}

fn properties(header: String) -> WriterProperties {
    WriterProperties::builder()
        .set_created_by(format!("{CREATED_BY}{}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(vec![KeyValue::new(KEY.to_owned(), header)]))
        // So that readers find the rows of a batch.
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_max_row_group_row_count(None)
        // Every sequence is another, and so is its id, whose least and greatest tell nothing.
        .set_column_dictionary_enabled(ColumnPath::from(Column::Sequence.name()), false)
        .set_column_dictionary_enabled(ColumnPath::from(IDS), false)
        .set_column_statistics_enabled(ColumnPath::from(IDS), EnabledStatistics::None)
        .build()
}

fn write_column<W: Write + Send>(
    column: Column,
    numbers: &[u64],
    into: &mut SerializedRowGroupWriter<'_, W>,
) -> ParquetResult<()> {
    let mut writer = next_column(into)?;
    // The format has signed numbers, and says which are to be taken as unsigned.
    if column.size() == 8 {
        let numbers: Vec<i64> = numbers.iter().map(|number| number.cast_signed()).collect();
        writer.typed::<Int64Type>().write_batch(&numbers, None, None)?;
    } else {
        let numbers: Vec<i32> =
            numbers.iter().map(|&number| (number as u32).cast_signed()).collect();
        writer.typed::<Int32Type>().write_batch(&numbers, None, None)?;
    }
    writer.close()
}
