//! Writing Parquet files, a group of rows at a time.

use std::io::{self, Write};
use std::{ops::Range, sync::Arc};

use ::parquet::data_type::{Int32Type, Int64Type};
use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::{file::metadata::KeyValue, schema::types::ColumnPath};
use lengthwise::Chunk;
use xxhash_rust::xxh3::Xxh3;

use crate::error::Error;
use crate::plan::header::{self, Remaining};
use crate::plan::parquet::columns::{
    Column, IDS, check_ids, hash_id, next_column, schema, write_ids,
};
use crate::plan::parquet::read::{CREATED_BY, KEY};
use crate::plan::sheet::Sheet;

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

pub(in crate::plan) fn write(file: &Sheet, output: &mut (impl Write + Send)) -> io::Result<()> {
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
        let what = format!(
            "does not fit into a Parquet file: {} bytes are about pieces, over-long sequences and \
             steps, and readers allow {MOST_HEADER}",
            header.len()
        );
        return Err(io::Error::other(Error::of_plan(what).hint_to("name the file .npz")));
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
