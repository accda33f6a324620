//! The column of ids.

use std::io::{self, Write};
use std::ops::Range;

use ::parquet::basic::{LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{ByteArray, ByteArrayType};
use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::writer::SerializedRowGroupWriter;
use ::parquet::schema::types::Type;
use xxhash_rust::xxh3::Xxh3;

use crate::{error::Error, ids::Ids};

pub(super) const NAME: &str = "id";

/// A page counts its bytes in 31 bits.
const MOST_BYTES: usize = 1 << 30;

/// How many bytes, or a few more, go into a page: the writer looks only after it has taken all that
/// it is given.
const PAGE: usize = 1 << 20;

/// And how many ids.
const PAGE_ROWS: usize = 1 << 14;

/// Its type: text.
pub(super) fn schema() -> ParquetResult<Type> {
    Type::primitive_type_builder(NAME, Physical::BYTE_ARRAY)
        .with_repetition(Repetition::REQUIRED)
        .with_logical_type(Some(LogicalType::String))
        .build()
}

/// Adds an id to the checksum, behind its length in four bytes, as the format has it in a page.
pub(super) fn hash(id: &[u8], hash: &mut Xxh3) {
    hash.update(&(id.len() as u32).to_le_bytes());
    hash.update(id);
}

/// Refuses an id that no page can hold.
pub(super) fn check(ids: &Ids) -> io::Result<()> {
    match ids.iter().map(str::len).max() {
        Some(bytes) if bytes > MOST_BYTES => {
            let what = format!("does not fit into a Parquet file: an id has {bytes} bytes");
            Err(io::Error::other(Error::of_plan(what).hint_to("name the file .npz")))
        }
        _ => Ok(()),
    }
}

pub(super) fn write<W: Write + Send>(
    ids: &Ids,
    rows: Range<usize>,
    into: &mut SerializedRowGroupWriter<'_, W>,
) -> ParquetResult<()> {
    let missing = || ParquetError::General("a column is missing".to_owned());
    let mut writer = into.next_column()?.ok_or_else(missing)?;
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

/// The ids that are read. All together they have no more bytes than the file: in those that we write
/// each is there in full, and words that are written once and meant often could be any number.
pub(super) struct Read {
    pub(super) ids: Ids,
    left: u64,
}

impl Read {
    pub(super) fn new(file: u64) -> Self {
        Self { ids: Ids::default(), left: file }
    }

    pub(super) fn add(&mut self, id: &[u8]) -> Result<(), String> {
        let left = self.left.checked_sub(id.len() as u64);
        self.left = left.ok_or("its ids have more bytes than the file")?;
        self.ids.push(str::from_utf8(id).map_err(|_| "an id is no text")?);
        Ok(())
    }
}
