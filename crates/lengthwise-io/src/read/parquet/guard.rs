//! A file that checks what its headers declare before the library reserves memory for it.

use std::fmt;
use std::fs::File;
use std::io::{Cursor, Read, Seek, SeekFrom};
use std::sync::{Mutex, PoisonError};

use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use ::parquet::file::reader::{ChunkReader, Length};

use crate::guard::thrift::{DEEPEST, INT, STRUCT, Stop, Walk, check_schema, positive};

use crate::error::Error;

const MAGIC: &[u8] = b"PAR1";

/// How much of a page header is read at first, and at most. Most have some dozen bytes; some
/// repeat the least and the largest value, which can be long strings.
const FIRST: usize = 1 << 10;
const MOST: usize = 1 << 24;

/// The most that one page may unpack to, and the most values that a byte of the file can stand
/// for. A column that repeats one value packs well; what packs better than this is no column.
const LARGEST_PAGE: u64 = 1 << 30;
const VALUES_PER_BYTE: u64 = 1 << 16;

pub(super) struct Guarded {
    file: Mutex<File>,
    size: u64,
}

impl Guarded {
    pub(super) fn new(file: File) -> Result<Self, Error> {
        let size = file.metadata().map_err(|cause| Error::io(None, cause))?.len();
        Ok(Self { file: Mutex::new(file), size })
    }

    /// The metadata at the end of the file, if nothing about it is absurd.
    pub(super) fn metadata(&self) -> Result<ParquetMetaData, Error> {
        if self.size == 0 {
            return Err(Error::no_lengths());
        }
        let cut = || Error::damaged_data("Parquet");
        if self.size < 12 || self.read(0, 4)? != MAGIC {
            return Err(Error::new("is not a Parquet file: it does not begin with `PAR1`")
                .hint_to("give the file its right extension, or say {format}"));
        }
        let end = self.read(self.size - 8, 8)?;
        if &end[4..] != MAGIC {
            return Err(cut());
        }
        let length = end[..4].iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        let start = (self.size - 8).checked_sub(length).ok_or_else(cut)?;
        let bytes = self.read(start, length as usize)?;
        check_schema(&bytes).map_err(|stop| match stop {
            Stop::Deep => Error::new(format!("its columns are nested more than {DEEPEST} deep"))
                .hint_to("write a file with the column of lengths alone"),
            _ => cut(),
        })?;
        let metadata = ParquetMetaDataReader::decode_metadata(&bytes).map_err(|_| cut())?;
        let most = self.size.saturating_mul(VALUES_PER_BYTE);
        let rows = |rows: i64| u64::try_from(rows).is_ok_and(|rows| rows <= most);
        let all = metadata.row_groups().iter().map(RowGroupMetaData::num_rows);
        let total = all.into_iter().try_fold(0_i64, i64::checked_add);
        if !total.is_some_and(rows) || metadata.row_groups().iter().any(|g| !rows(g.num_rows())) {
            return Err(cut());
        }
        Ok(metadata)
    }

    fn read(&self, start: u64, length: usize) -> Result<Vec<u8>, Error> {
        self.range(start, length).map_err(|_| Error::damaged_data("Parquet"))
    }

    /// Exactly these bytes of the file.
    fn range(&self, start: u64, length: usize) -> ParquetResult<Vec<u8>> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.size) {
            return Err(ParquetError::EOF("past the end of the file".to_owned()));
        }
        // Nothing is left half-done by a panic while the lock is held.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(length).map_err(|_| no_room(length as u64))?;
        bytes.resize(length, 0);
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// The bytes from `start` on that hold a whole page header with nothing absurd in it.
    fn page_header(&self, start: u64) -> ParquetResult<Vec<u8>> {
        let left = self.size.saturating_sub(start);
        let mut length = FIRST;
        loop {
            let bytes = self.range(start, left.min(length as u64) as usize)?;
            match check_page(&bytes, self.size) {
                Ok(unpacked) if crate::guard::room(unpacked) => return Ok(bytes),
                Ok(unpacked) => return Err(no_room(unpacked)),
                Err(Stop::Short) if length < MOST && (length as u64) < left => length *= 4,
                Err(_) => return Err(ParquetError::General("absurd page header".to_owned())),
            }
        }
    }
}

/// A page that there is no memory for. It travels through the library, which knows of no such error.
#[derive(Debug)]
pub(super) struct NoRoom(pub(super) u64);

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a page needs {} bytes of memory", self.0)
    }
}

impl std::error::Error for NoRoom {}

fn no_room(bytes: u64) -> ParquetError {
    ParquetError::External(Box::new(NoRoom(bytes)))
}

impl Length for Guarded {
    fn len(&self) -> u64 {
        self.size
    }
}

impl ChunkReader for Guarded {
    type T = Cursor<Vec<u8>>;

    /// Only page headers are read this way.
    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        self.page_header(start).map(Cursor::new)
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<bytes::Bytes> {
        self.range(start, length).map(Into::into)
    }
}

/// Fields 2 and 3 of a page header are its sizes, unpacked and packed. The structures in fields 5,
/// 7 and 8, for the three kinds of page, begin with the number of values; in a dictionary, which
/// is field 7, every value takes four bytes or more.
/// Says how many bytes the page unpacks to.
fn check_page(bytes: &[u8], size: u64) -> Result<u64, Stop> {
    let (mut unpacked, mut packed, mut words, mut values) = (0, 0, 0, 0);
    Walk::new(bytes).structure(0, &mut |walk, field, kind| match (field, kind) {
        (2, INT) => positive(walk, &mut unpacked),
        (3, INT) => positive(walk, &mut packed),
        (5 | 7 | 8, STRUCT) => {
            let count = if field == 7 { &mut words } else { &mut values };
            walk.structure(1, &mut |walk, inner, kind| match (inner, kind) {
                (1, INT) => positive(walk, count),
                _ => Ok(false),
            })?;
            Ok(true)
        }
        _ => Ok(false),
    })?;
    let likely = packed <= size
        && unpacked <= LARGEST_PAGE
        && unpacked <= (1 << 20) + packed.saturating_mul(1 << 15)
        && words <= unpacked / 4
        && values <= size.saturating_mul(VALUES_PER_BYTE);
    if likely { Ok(unpacked) } else { Err(Stop::Wrong) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_headers() {
        // Kind 0, unpacked 64, packed 32, and a data page of 3 values.
        let page = |values: u8| [0x15, 0, 0x15, 0x80, 1, 0x15, 0x40, 0x2c, 0x15, values, 0, 0];
        assert_eq!(check_page(&page(6), 100), Ok(64));
        assert_eq!(check_page(&page(1), 100), Err(Stop::Wrong), "a count below 0");
        assert_eq!(check_page(&page(6), 31), Err(Stop::Wrong), "packed beyond the file");
        let dictionary = |words: u8| [0x15, 4, 0x15, 0x80, 1, 0x15, 0x40, 0x4c, 0x15, words, 0, 0];
        assert_eq!(check_page(&dictionary(32), 100), Ok(64));
        assert_eq!(check_page(&dictionary(34), 100), Err(Stop::Wrong), "17 words in 64 bytes");
        assert_eq!(check_page(&page(6)[..8], 100), Err(Stop::Short));
    }
}
