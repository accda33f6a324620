//! Reading Parquet files, column by column.

use std::{fmt::Display, fs::File, sync::Arc};

use ::parquet::data_type::{ByteArrayType, DataType, Int32Type, Int64Type};
use ::parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use ::parquet::{basic::Compression, file::reader::Length};
use lengthwise::Chunks;
use xxhash_rust::xxh3::Xxh3;

use crate::error::Error;
use crate::guard::parquet::{Guarded, Pages, Refused, records};
use crate::ids::Ids;
use crate::plan::batchwise::{self, About};
use crate::plan::content::{Batches, Seconds};
use crate::plan::file::{PlanFile, piece_at};
use crate::plan::header::Unchecked;
use crate::plan::parquet::{CREATED_BY, Column, IDS, KEY, hash_id, schema};

/// How many rows are read at a time.
const BLOCK: usize = 1 << 14;

/// What every row takes at least: the number of its sequence is not packed.
const BYTES_PER_ROW: u64 = 4;

pub(in crate::plan) fn read(bytes: &[u8]) -> Result<PlanFile, Error> {
    let table = Table::open(bytes)?;
    // The version first: columns of another one may be others.
    let header = Unchecked::new(table.header()?)?;
    let (columns, named) = table.columns().map_err(Error::not_a_plan)?;
    let (mut rows, mut hash) = (Rows::default(), Xxh3::new());
    table.rows(&columns, &mut rows, &mut hash).map_err(Error::not_a_plan)?;
    let ids = named.then(|| table.ids(columns.len(), &mut hash)).transpose();
    let ids = ids.map_err(Error::not_a_plan)?;
    let mut content = header.content(hash)?;
    content.ids = ids;
    content.seconds = rows.seconds.take();
    (content.batches, content.batch_lengths, content.positions) =
        rows.batches(content.chunks.as_ref()).map_err(Error::not_a_plan)?;
    content.file()
}

/// How many bytes it takes to open a file to be read batch by batch: its batches are counted, and not
/// kept. Lists of them grow, and have up to three times their bytes while they do.
pub(in crate::plan) fn memory_of(file: File) -> Result<u64, Error> {
    let table = Table::open_file(file)?;
    let header = table.header()?.len() as u64;
    table.columns().map_err(Error::not_a_plan)?;
    let (mut batches, mut before) = (0_u64, None);
    // The batches are the first column.
    let count = |numbers: &[u64]| {
        for &number in numbers {
            batches += u64::from(before.replace(number) != Some(number));
        }
        Ok(())
    };
    table.numbers(0, Column::Batch, count).map_err(Error::not_a_plan)?;
    // The header lists the over-long sequences, which takes less in numbers than in text.
    Ok(batches.saturating_mul(3 * 16).saturating_add(3 * header))
}

/// Opens a file to be read batch by batch.
pub(in crate::plan) fn stream(file: File) -> Result<(About, batchwise::Table), Error> {
    let table = Table::open_file(file)?;
    let header = table.header()?.to_vec();
    Unchecked::new(&header)?.check_one_length()?;
    let whole = |what: &str| Err(Error::of_plan(what).hint_to("read it as a whole"));
    let (columns, named) = table.columns().map_err(Error::not_a_plan)?;
    let Some((&sequences, of_batches)) = columns.split_last().filter(|_| !named) else {
        return whole("has ids, and cannot be read batch by batch");
    };
    if sequences != Column::Sequence {
        return whole("has chunks, and cannot be read batch by batch");
    }
    if of_batches.contains(&Column::SecondLength) {
        return Err(Error::not_a_plan("it has second batch lengths, against its version"));
    }
    let (mut rows, mut hash) = (Rows::default(), Xxh3::new());
    let count = table.rows(of_batches, &mut rows, &mut hash).map_err(Error::not_a_plan)?;
    let Rows { ends, batch_lengths: lengths, positions, .. } = rows;
    let at = of_batches.len();
    // The sequences, a group of rows at a time.
    let indices = (0..table.metadata.num_row_groups()).map(move |group| {
        let (group, mut indices) = (table.metadata.row_group(group), Vec::new());
        let read = table.blocks_of_group::<Int32Type>(group, at, sequences.name(), &mut |block| {
            indices.extend(block.iter().map(|number| number.cast_unsigned()));
            Ok(())
        });
        read.map(|()| indices).map_err(Error::not_a_plan)
    });
    let rows = batchwise::Rows { ends, lengths, positions };
    batchwise::Table::open(header, (count, Box::new(indices)), rows, Vec::new(), Some(hash))
}

/// The version of the release that a file says it is from, if it is another: its Parquet library may
/// write the same in other bytes.
pub(in crate::plan) fn other_release(bytes: &[u8]) -> Option<String> {
    let table = Table::open(bytes).ok()?;
    let version = table.metadata.file_metadata().created_by()?.strip_prefix(CREATED_BY)?;
    let numbers: Vec<_> = version.split('.').map(str::parse::<u32>).collect();
    let is_version = numbers.len() == 3 && numbers.iter().all(Result::is_ok);
    (is_version && version != env!("CARGO_PKG_VERSION")).then(|| version.to_owned())
}

/// A file whose metadata is not absurd.
struct Table {
    file: Arc<Guarded>,
    metadata: ParquetMetaData,
}

impl Table {
    fn open(bytes: &[u8]) -> Result<Self, Error> {
        Self::of(Guarded::of_bytes(bytes, Pages::Plain))
    }

    fn open_file(file: File) -> Result<Self, Error> {
        let file = Guarded::of_file(file, Pages::Plain);
        Self::of(file.map_err(|error| Error::unreadable("plan", &error))?)
    }

    /// With the metadata, if it does not claim more rows than the file can have.
    fn of(file: Guarded) -> Result<Self, Error> {
        let (metadata, rows) = file.metadata().map_err(|refused| {
            Error::not_a_plan(match &refused {
                Refused::Beginning | Refused::End => "it does not begin and end as a Parquet file",
                Refused::TooLong => "its metadata has more bytes than the file",
                Refused::Schema(_) => "its metadata is damaged",
                Refused::Metadata(why) => why,
                Refused::Rows => "its groups of rows cannot be counted",
            })
        })?;
        let (size, declared) = (file.len(), metadata.file_metadata().num_rows());
        if rows > size / BYTES_PER_ROW {
            return Err(Error::not_a_plan(format!("it claims {rows} rows in {size} bytes")));
        }
        if u64::try_from(declared) != Ok(rows) {
            let why = format!("it claims {declared} rows, and its groups {rows}");
            return Err(Error::not_a_plan(why));
        }
        Ok(Self { file: Arc::new(file), metadata })
    }

    fn header(&self) -> Result<&[u8], Error> {
        let all = self.metadata.file_metadata().key_value_metadata();
        let header = all.and_then(|all| all.iter().find(|pair| pair.key == KEY));
        let text = header.and_then(|header| header.value.as_deref());
        let missing = || Error::not_a_plan(format!("its metadata has no `{KEY}`"));
        Ok(text.ok_or_else(missing)?.as_bytes())
    }

    /// The columns of numbers, if they are those of a plan, and whether ids come behind them.
    fn columns(&self) -> Result<(Vec<Column>, bool), String> {
        let found = self.metadata.file_metadata().schema_descr().root_schema().get_fields();
        let pairs = found.iter().any(|field| field.name() == Column::SecondLength.name());
        let kinds = [(false, false), (false, true), (true, false), (true, true)];
        let mut kinds = kinds.iter().map(|&(pieces, ids)| (Column::all(pieces, pairs), ids));
        let fits = |kind: &(Vec<Column>, bool)| kind.0.len() + usize::from(kind.1) == found.len();
        let Some((columns, ids)) = kinds.find(fits) else {
            return Err(format!("it has {} columns", found.len()));
        };
        let expected = schema(&columns, ids).map_err(|error| error.to_string())?;
        for (found, expected) in found.iter().zip(expected.get_fields()) {
            if found != expected {
                let name = expected.name();
                return Err(format!("column `{name}` is missing, or not as plans have it"));
            }
        }
        Ok((columns, ids))
    }

    /// Hands on the numbers of a column, a block at a time.
    fn numbers(
        &self,
        at: usize,
        column: Column,
        mut each: impl FnMut(&[u64]) -> Result<(), String>,
    ) -> Result<(), String> {
        if column.size() == 8 {
            self.blocks::<Int64Type>(at, column.name(), |block| {
                each(&block.iter().map(|number| number.cast_unsigned()).collect::<Vec<_>>())
            })
        } else {
            self.blocks::<Int32Type>(at, column.name(), |block| {
                each(&block.iter().map(|number| number.cast_unsigned().into()).collect::<Vec<_>>())
            })
        }
    }

    /// Adds the numbers of the first columns to the rows and to the checksum; says how many rows there are.
    fn rows(&self, columns: &[Column], rows: &mut Rows, hash: &mut Xxh3) -> Result<usize, String> {
        let mut row = 0;
        for (at, &column) in columns.iter().enumerate() {
            row = 0;
            self.numbers(at, column, |numbers| {
                column.hash(numbers, hash);
                rows.add(column, row, numbers)?;
                row += numbers.len();
                Ok(())
            })?;
        }
        Ok(row)
    }

    /// The ids, in the last column. All together they have no more bytes than the file: in those that we
    /// write each is there in full, and words that are written once and meant often could be any number.
    fn ids(&self, at: usize, hash: &mut Xxh3) -> Result<Ids, String> {
        let (mut ids, mut left) = (Ids::default(), self.file.len());
        self.blocks::<ByteArrayType>(at, IDS, |block| {
            for id in block.iter().map(::parquet::data_type::ByteArray::data) {
                hash_id(id, hash);
                let rest = left.checked_sub(id.len() as u64);
                left = rest.ok_or("its ids have more bytes than the file")?;
                ids.push(str::from_utf8(id).map_err(|_| "an id is not valid UTF-8")?);
            }
            Ok(())
        })?;
        Ok(ids)
    }

    /// Hands on what a column has in all groups of rows, a block at a time.
    fn blocks<T: DataType>(
        &self,
        at: usize,
        name: &str,
        mut each: impl FnMut(&[T::T]) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut groups = self.metadata.row_groups().iter();
        groups.try_for_each(|group| self.blocks_of_group::<T>(group, at, name, &mut each))
    }

    fn blocks_of_group<T: DataType>(
        &self,
        group: &RowGroupMetaData,
        at: usize,
        name: &str,
        each: &mut impl FnMut(&[T::T]) -> Result<(), String>,
    ) -> Result<(), String> {
        let chunk = group.columns().get(at).ok_or("a column is missing")?;
        if chunk.compression() != Compression::UNCOMPRESSED {
            return Err("it is packed".to_owned());
        }
        let total = usize::try_from(group.num_rows()).map_err(|error| error.to_string())?;
        let mut rows = 0;
        let count = |_: &[i16], _: &[i16], values: &[T::T]| {
            rows += values.len();
            if rows > total {
                return Err(format!("a column has more than {total} rows"));
            }
            each(values)
        };
        records::<T, _>(&self.file, chunk, (total, BLOCK), ToString::to_string, count)?;
        if rows == total {
            Ok(())
        } else {
            Err(format!("column `{name}` has {rows} rows of {total}"))
        }
    }
}

/// What the columns have come to so far. Each relies on those before it.
#[derive(Default)]
struct Rows {
    ends: Vec<u32>,
    batch_lengths: Vec<u32>,
    positions: Vec<u64>,
    /// Of two lengths.
    seconds: Option<Seconds>,
    sequences: Vec<u32>,
    /// Of pieces.
    offsets: Vec<u32>,
    lengths: Vec<u32>,
}

impl Rows {
    /// Adds the next numbers of a column, which begin at `row`.
    fn add(&mut self, column: Column, row: usize, numbers: &[u64]) -> Result<(), String> {
        let wide = numbers.iter().copied();
        let narrow = wide.clone().map(|number| number as u32);
        match column {
            Column::Batch => self.add_batches(row, numbers)?,
            Column::BatchLength => same(&self.ends, &mut self.batch_lengths, column, row, narrow)?,
            Column::BatchPositions => same(&self.ends, &mut self.positions, column, row, wide)?,
            Column::SecondLength => {
                let seconds = self.seconds.get_or_insert_default();
                same(&self.ends, &mut seconds.batch_lengths, column, row, narrow)?;
            }
            Column::SecondPositions => {
                let seconds = self.seconds.get_or_insert_default();
                same(&self.ends, &mut seconds.positions, column, row, wide)?;
            }
            Column::Sequence => self.sequences.extend(narrow),
            Column::Offset => self.offsets.extend(narrow),
            Column::Length => self.lengths.extend(narrow),
        }
        Ok(())
    }

    /// Batches are numbered from 0, and no number is left out.
    fn add_batches(&mut self, row: usize, numbers: &[u64]) -> Result<(), String> {
        for (row, &number) in (row..).zip(numbers) {
            let end = u32::try_from(row + 1).map_err(|_| "too many sequences".to_owned())?;
            let count = self.ends.len() as u64;
            match self.ends.last_mut() {
                Some(last) if number + 1 == count => *last = end,
                _ if number == count => self.ends.push(end),
                _ => return Err(format!("row {row} has batch {number}, after {count} batches")),
            }
        }
        Ok(())
    }

    /// The batches, what they are padded to, and their positions.
    fn batches(self, chunks: Option<&Chunks>) -> Result<(Batches, Vec<u32>, Vec<u64>), String> {
        let Self { ends, batch_lengths, positions, sequences, offsets, lengths, .. } = self;
        let indices = match chunks {
            None if offsets.is_empty() => sequences,
            Some(chunks) if offsets.len() == sequences.len() => {
                let piece = |((sequence, offset), length)| {
                    piece_at(chunks, (sequence, offset))
                        .filter(|&piece| chunks.get(piece).is_some_and(|it| it.length == length))
                        .ok_or_else(|| {
                            "a batch has a chunk that is not in the list of chunks".to_owned()
                        })
                };
                sequences
                    .into_iter()
                    .zip(offsets)
                    .zip(lengths)
                    .map(piece)
                    .collect::<Result<_, _>>()?
            }
            _ => {
                let what = "a batch has chunks, or sequences, against the list of chunks";
                return Err(what.to_owned());
            }
        };
        Ok((Batches { all: indices, ends }, batch_lengths, positions))
    }
}

/// Adds what is said of batches, once for each of its rows from `row` on: all rows of a batch say the same.
fn same<N: Copy + PartialEq + Display>(
    ends: &[u32],
    all: &mut Vec<N>,
    column: Column,
    row: usize,
    numbers: impl Iterator<Item = N>,
) -> Result<(), String> {
    let mut batch = ends.partition_point(|&end| end as usize <= row);
    for (row, number) in (row..).zip(numbers) {
        batch += usize::from(ends.get(batch).is_some_and(|&end| end as usize <= row));
        match all.get(batch) {
            Some(&known) if known == number => {}
            Some(known) => {
                let name = column.name();
                return Err(format!("batch {batch} has `{name}` {known} and {number}"));
            }
            None => all.push(number),
        }
    }
    Ok(())
}
