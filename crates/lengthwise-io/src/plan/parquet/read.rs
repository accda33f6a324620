//! Reading Parquet files, column by column.

use std::{fmt, fs::File, sync::Arc};

use ::parquet::basic::Compression;
use ::parquet::column::reader::ColumnReaderImpl;
use ::parquet::data_type::{ByteArrayType, DataType, Int32Type, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use ::parquet::file::reader::Length;
use ::parquet::file::serialized_reader::SerializedPageReader;
use lengthwise::Chunks;
use xxhash_rust::xxh3::Xxh3;

use crate::error::Error;
use crate::guard::guarded;
use crate::guard::parquet::{Guarded, Pages, Refused};
use crate::ids::Ids;
use crate::plan::batchwise::Xxh3Debug;
use crate::plan::content::{Batches, Seconds};
use crate::plan::file::PlanFile;
use crate::plan::header::Unchecked;
use crate::plan::parquet::columns::{Column, schema};
use crate::plan::parquet::ids;
use crate::plan::pieces::piece_at;
use crate::plan::table::{self, Indices};

/// How many rows are read at a time.
const BLOCK: usize = 1 << 14;

/// What every row takes at least: the number of its sequence is not packed.
const BYTES_PER_ROW: u64 = 4;

/// The name of the header in the metadata.
pub(super) const KEY: &str = "lengthwise";

/// What comes before the version of the release that wrote a file.
pub(super) const CREATED_BY: &str = "lengthwise version ";

pub(in crate::plan) fn read(bytes: &[u8]) -> Result<PlanFile, Error> {
    guarded(
        || {
            let table = Table::open(bytes)?;
            // The version first: columns of another one may be others.
            let header = Unchecked::new(table.header()?)?;
            let wrong = |why: String| Error::not_a_plan(&why);
            let (columns, named) = table.columns().map_err(wrong)?;
            let (mut rows, mut hash) = (Rows::default(), Xxh3::new());
            table.rows(columns, &mut rows, &mut hash).map_err(wrong)?;
            let ids =
                named.then(|| table.ids(columns.len(), &mut hash)).transpose().map_err(wrong)?;
            let mut content = header.content(hash)?;
            content.ids = ids;
            let chunks = content.chunks.as_ref();
            content.seconds = rows.seconds.take();
            (content.batches, content.batch_lengths, content.positions) =
                rows.batches(chunks).map_err(wrong)?;
            content.file()
        },
        Error::gave_up,
    )
}

/// How many bytes it takes to open a file to be read batch by batch: its batches are counted, and not
/// kept. Lists of them grow, and have up to three times their bytes while they do.
pub(in crate::plan) fn memory_of(file: File) -> Result<u64, Error> {
    let table = Table::open_file(file)?;
    let header = table.header()?.len() as u64;
    let wrong = |why: String| Error::not_a_plan(&why);
    let (columns, _) = table.columns().map_err(wrong)?;
    let (mut batches, mut before) = (0_u64, None);
    if let Some(at) = columns.iter().position(|&column| column == Column::Batch) {
        let count = |numbers: &[u64]| {
            for &number in numbers {
                batches += u64::from(before.replace(number) != Some(number));
            }
            Ok(())
        };
        table.numbers(at, Column::Batch, count).map_err(wrong)?;
    }
    // The header lists the over-long sequences, which takes less in numbers than in text.
    Ok(batches.saturating_mul(3 * 16).saturating_add(3 * header))
}

/// Opens a file to be read batch by batch.
pub(in crate::plan) fn stream(file: File) -> Result<table::Table, Error> {
    let table = Table::open_file(file)?;
    let header = table.header()?.to_vec();
    Unchecked::new(&header)?.check_one_length()?;
    let wrong = |why: String| Error::not_a_plan(&why);
    let (columns, named) = table.columns().map_err(wrong)?;
    let Some((&sequences, of_batches)) = columns.split_last().filter(|_| !named) else {
        let what = "has ids, and does not come batch by batch";
        return Err(Error::of_plan(what).hint_to("read it as a whole"));
    };
    if sequences != Column::Sequence {
        let what = "is of pieces, and does not come batch by batch";
        return Err(Error::of_plan(what).hint_to("read it as a whole"));
    }
    if of_batches.contains(&Column::SecondLength) {
        return Err(Error::not_a_plan("it has second batch lengths, against its version"));
    }
    let (mut rows, mut hash) = (Rows::default(), Xxh3::new());
    let count = table.rows(of_batches, &mut rows, &mut hash).map_err(wrong)?;
    let Rows { ends, batch_lengths: lengths, positions, .. } = rows;
    let at = of_batches.len();
    Ok(table::Table {
        header,
        indices: Box::new(Streamed { table, at, group: 0 }),
        count,
        ends,
        lengths,
        positions,
        over_long: Vec::new(),
        hash: Xxh3Debug(hash),
        behind: |_, _| {},
        digest: Xxh3Debug(Xxh3::new()),
        waiting: Vec::new(),
        start: 0,
        next: 0,
    })
}

/// The sequences, a group of rows at a time.
struct Streamed {
    table: Table,
    at: usize,
    group: usize,
}

impl fmt::Debug for Streamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streamed").field("group", &self.group).finish_non_exhaustive()
    }
}

impl Indices for Streamed {
    fn more(&mut self, into: &mut Vec<u32>) -> Result<bool, Error> {
        let Some(group) = self.table.metadata.row_groups().get(self.group) else {
            return Ok(false);
        };
        self.group += 1;
        let rows = self.table.blocks_of_group::<Int32Type>(group, self.at, &mut |block| {
            into.extend(block.iter().map(|number| number.cast_unsigned()));
            Ok(())
        });
        match rows {
            Ok(rows) if i64::try_from(rows) == Ok(group.num_rows()) => Ok(true),
            Ok(rows) => {
                let of = group.num_rows();
                Err(Error::not_a_plan(&format!("column `sequence` has {rows} rows of {of}")))
            }
            Err(why) => Err(Error::not_a_plan(&why)),
        }
    }
}

/// The version of the release that wrote a file, as far as it says.
pub(in crate::plan) fn version(bytes: &[u8]) -> Option<String> {
    let table = Table::open(bytes).ok()?;
    let writer = table.metadata.file_metadata().created_by()?;
    writer.strip_prefix(CREATED_BY).map(str::to_owned)
}

/// The metadata, if it does not claim more rows than the file can have.
fn metadata(file: &Guarded) -> Result<ParquetMetaData, String> {
    let (metadata, rows) = file.metadata().map_err(|refused| match refused {
        Refused::Beginning | Refused::End => {
            "it does not begin and end as a Parquet file".to_owned()
        }
        Refused::TooLong => "its metadata has more bytes than the file".to_owned(),
        Refused::Schema(_) => "its metadata is damaged".to_owned(),
        Refused::Metadata(why) => why,
        Refused::Rows => "its groups of rows cannot be counted".to_owned(),
    })?;
    if rows > file.len() / BYTES_PER_ROW {
        return Err(format!("it claims {rows} rows in {} bytes", file.len()));
    }
    let declared = metadata.file_metadata().num_rows();
    if u64::try_from(declared) != Ok(rows) {
        return Err(format!("it claims {declared} rows, and its groups {rows}"));
    }
    Ok(metadata)
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

    fn of(file: Guarded) -> Result<Self, Error> {
        let metadata = metadata(&file).map_err(|why| Error::not_a_plan(&why))?;
        Ok(Self { file: Arc::new(file), metadata })
    }

    fn header(&self) -> Result<&[u8], Error> {
        let all = self.metadata.file_metadata().key_value_metadata();
        let header = all.and_then(|all| all.iter().find(|pair| pair.key == KEY));
        let text = header.and_then(|header| header.value.as_deref());
        let missing = || Error::not_a_plan(&format!("its metadata has no `{KEY}`"));
        Ok(text.ok_or_else(missing)?.as_bytes())
    }

    /// The columns of numbers, if they are those of a plan, and whether ids come behind them.
    fn columns(&self) -> Result<(&'static [Column], bool), String> {
        let found = self.metadata.file_metadata().schema_descr().root_schema().get_fields();
        let pairs = found.iter().any(|field| field.name() == Column::SecondLength.name());
        let kinds = [(false, false), (false, true), (true, false), (true, true)];
        let kind = kinds.iter().map(|&(pieces, ids)| (Column::all(pieces, pairs), ids));
        let fits = |kind: &(&[Column], bool)| kind.0.len() + usize::from(kind.1) == found.len();
        let Some((columns, ids)) = kind.clone().find(fits) else {
            return Err(format!("it has {} columns", found.len()));
        };
        let expected = schema(columns, ids).map_err(|error| error.to_string())?;
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

    /// The ids, in the last column.
    fn ids(&self, at: usize, hash: &mut Xxh3) -> Result<Ids, String> {
        let mut read = ids::Read::new(self.file.len());
        self.blocks::<ByteArrayType>(at, ids::NAME, |block| {
            block.iter().try_for_each(|id| {
                ids::hash(id.data(), hash);
                read.add(id.data())
            })
        })?;
        Ok(read.ids)
    }

    /// Hands on what a column has in all groups of rows, a block at a time.
    fn blocks<T: DataType>(
        &self,
        at: usize,
        name: &str,
        mut each: impl FnMut(&[T::T]) -> Result<(), String>,
    ) -> Result<(), String> {
        for group in self.metadata.row_groups() {
            let rows = self.blocks_of_group::<T>(group, at, &mut each)?;
            if i64::try_from(rows) != Ok(group.num_rows()) {
                return Err(format!("column `{name}` has {rows} rows of {}", group.num_rows()));
            }
        }
        Ok(())
    }

    /// The same for a group of rows; says how many there are.
    fn blocks_of_group<T: DataType>(
        &self,
        group: &RowGroupMetaData,
        at: usize,
        each: &mut impl FnMut(&[T::T]) -> Result<(), String>,
    ) -> Result<usize, String> {
        let said = |error: ParquetError| error.to_string();
        let chunk = group.columns().get(at).ok_or("a column is missing")?;
        if chunk.compression() != Compression::UNCOMPRESSED {
            return Err("it is packed".to_owned());
        }
        let total = usize::try_from(group.num_rows()).map_err(|error| error.to_string())?;
        let pages = SerializedPageReader::new(Arc::clone(&self.file), chunk, total, None);
        let pages = Box::new(pages.map_err(said)?);
        let mut reader = ColumnReaderImpl::<T>::new(chunk.column_descr_ptr(), pages);
        let mut values = Vec::with_capacity(BLOCK);
        let mut rows = 0;
        loop {
            values.clear();
            let (read, _, _) = reader.read_records(BLOCK, None, None, &mut values).map_err(said)?;
            if read == 0 || values.is_empty() {
                return Ok(rows);
            }
            rows += values.len();
            if rows > total {
                return Err(format!("a column has more than {total} rows"));
            }
            each(&values)?;
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
    /// The batch of the row before.
    batch: usize,
}

impl Rows {
    /// Adds the next numbers of a column, which begin at `row`.
    fn add(&mut self, column: Column, row: usize, numbers: &[u64]) -> Result<(), String> {
        let narrow = numbers.iter().map(|&number| number as u32);
        match column {
            Column::Batch => return self.add_batches(row, numbers),
            Column::BatchLength
            | Column::BatchPositions
            | Column::SecondLength
            | Column::SecondPositions => {
                return self.add_of_batches(column, row, numbers);
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

    /// All rows of a batch say the same.
    fn add_of_batches(
        &mut self,
        column: Column,
        row: usize,
        numbers: &[u64],
    ) -> Result<(), String> {
        if row == 0 {
            self.batch = 0;
        }
        let had = self.seconds.is_some();
        let mut seconds = self.seconds.take().unwrap_or_default();
        for (row, &number) in (row..).zip(numbers) {
            let ended = |batch: usize| self.ends.get(batch).is_some_and(|&end| end as usize <= row);
            if ended(self.batch) {
                self.batch += 1;
            }
            let batch = self.batch;
            let known = match column {
                Column::BatchLength => self.batch_lengths.get(batch).map(|&known| known.into()),
                Column::BatchPositions => self.positions.get(batch).copied(),
                Column::SecondLength => seconds.batch_lengths.get(batch).map(|&known| known.into()),
                _ => seconds.positions.get(batch).copied(),
            };
            match (known, column) {
                (Some(known), _) if known == number => {}
                (Some(known), _) => {
                    let name = column.name();
                    return Err(format!("batch {batch} has `{name}` {known} and {number}"));
                }
                (None, Column::BatchLength) => self.batch_lengths.push(number as u32),
                (None, Column::BatchPositions) => self.positions.push(number),
                (None, Column::SecondLength) => seconds.batch_lengths.push(number as u32),
                (None, _) => seconds.positions.push(number),
            }
        }
        let of_second = matches!(column, Column::SecondLength | Column::SecondPositions);
        self.seconds = Some(seconds).filter(|_| had || of_second);
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
                        .ok_or_else(|| "a batch has a piece that is not in the chunks".to_owned())
                };
                sequences
                    .into_iter()
                    .zip(offsets)
                    .zip(lengths)
                    .map(piece)
                    .collect::<Result<_, _>>()?
            }
            _ => {
                let what = "a batch has pieces, or sequences, where the chunks say otherwise";
                return Err(what.to_owned());
            }
        };
        Ok((Batches { all: indices, ends }, batch_lengths, positions))
    }
}
