//! The columns of a table: a row for each sequence.

use std::io::{self, Write};
use std::{ops::Range, sync::Arc};

use ::parquet::basic::{LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{ByteArray, ByteArrayType};
use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::writer::{SerializedColumnWriter, SerializedRowGroupWriter};
use ::parquet::schema::types::Type;
use xxhash_rust::xxh3::Xxh3;

use crate::error::Error;
use crate::ids::Ids;

/// The columns of numbers, in order. The last two are there if pieces were planned, and the second ones
/// of a batch if sequences have two lengths.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
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
    pub(super) fn all(pieces: bool, pairs: bool) -> Vec<Column> {
        let there = |column: &Column| match column {
            Column::SecondLength | Column::SecondPositions => pairs,
            Column::Offset | Column::Length => pieces,
            _ => true,
        };
        ALL.into_iter().map(|(column, _)| column).filter(there).collect()
    }

    pub(super) fn name(self) -> &'static str {
        ALL[self as usize].1
    }

    /// How many bytes its numbers have.
    pub(super) fn size(self) -> usize {
        if matches!(self, Column::BatchPositions | Column::SecondPositions) { 8 } else { 4 }
    }

    pub(super) fn hash(self, numbers: &[u64], hash: &mut Xxh3) {
        let mut bytes = Vec::with_capacity(numbers.len() * self.size());
        for number in numbers {
            bytes.extend_from_slice(&number.to_le_bytes()[..self.size()]);
        }
        hash.update(&bytes);
    }
}

/// The type of a row: whole numbers from 0 on, and behind them an id, which is text, if there are ids.
pub(super) fn schema(columns: &[Column], ids: bool) -> ParquetResult<Type> {
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
pub(super) fn next_column<'a, W: Write + Send>(
    into: &'a mut SerializedRowGroupWriter<'_, W>,
) -> ParquetResult<SerializedColumnWriter<'a>> {
    let missing = || ParquetError::General("a column is missing".to_owned());
    into.next_column()?.ok_or_else(missing)
}

pub(super) const IDS: &str = "id";

/// A page counts its bytes in 31 bits.
const MOST_BYTES: usize = 1 << 30;

/// How many bytes, or a few more, and how many ids go into a page: the writer looks only after it has
/// taken all that it is given.
const PAGE: usize = 1 << 20;
const PAGE_ROWS: usize = 1 << 14;

/// Adds an id to the checksum, behind its length in four bytes, as the format has it in a page.
pub(super) fn hash_id(id: &[u8], hash: &mut Xxh3) {
    hash.update(&(id.len() as u32).to_le_bytes());
    hash.update(id);
}

/// Refuses an id that no page can hold.
pub(super) fn check_ids(ids: &Ids) -> io::Result<()> {
    match ids.iter().map(str::len).max() {
        Some(bytes) if bytes > MOST_BYTES => {
            let what = format!("does not fit into a Parquet file: an id has {bytes} bytes");
            Err(io::Error::other(Error::of_plan(what).hint_to("name the file .npz")))
        }
        _ => Ok(()),
    }
}

pub(super) fn write_ids<W: Write + Send>(
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
