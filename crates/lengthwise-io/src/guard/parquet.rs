//! A Parquet file that checks what its headers declare before the library reserves memory for it.

use std::io::{Cursor, Read as _, Seek as _, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fmt, fs::File};

use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader};
use ::parquet::file::reader::{ChunkReader, Length};
use ::parquet::{
    column::reader::ColumnReaderImpl, data_type::DataType,
    file::serialized_reader::SerializedPageReader,
};
use bytes::Bytes;

use crate::guard::room;
use crate::guard::thrift::{INT, STRUCT, Stop, Walk, check_schema, positive};

const MAGIC: &[u8] = b"PAR1";

/// How much of a page header is read at first, and at most. Most have some dozen bytes; some
/// repeat the least and the largest value, which can be long strings.
const FIRST: u64 = 1 << 10;
const MOST: u64 = 1 << 24;

/// The most that one page may unpack to, and the most values that a byte of the file can stand
/// for. A column that repeats one value packs well; what packs better than this is no column.
const LARGEST_PAGE: u64 = 1 << 30;
pub(crate) const VALUES_PER_BYTE: u64 = 1 << 16;

/// The numbers of the encodings in full and by dictionary.
const IN_PLACE: [u64; 3] = [0, 2, 8];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pages {
    /// Packed, within reason.
    Packed,
    /// Not packed, with values in full or as words of a dictionary: other ways of writing could make a
    /// few bytes into gigabytes.
    Plain,
}

/// The content of a file, or a file that is read bit by bit.
pub(crate) struct Guarded {
    source: Source,
    size: u64,
    pages: Pages,
}

enum Source {
    Bytes(Bytes),
    File(Mutex<File>),
}

/// Why a file has no metadata that can be believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Beginning,
    End,
    /// The metadata has more bytes than the file.
    TooLong,
    /// The schema is damaged, or nested too deeply.
    Schema(Stop),
    /// What the library says.
    Metadata(String),
    Rows,
}

impl Guarded {
    pub(crate) fn of_bytes(bytes: &[u8], pages: Pages) -> Self {
        let bytes = Bytes::copy_from_slice(bytes);
        Self { size: bytes.len() as u64, source: Source::Bytes(bytes), pages }
    }

    pub(crate) fn of_file(file: File, pages: Pages) -> std::io::Result<Self> {
        let size = file.metadata()?.len();
        Ok(Self { size, source: Source::File(Mutex::new(file)), pages })
    }

    /// The metadata at the end of the file, if nothing about it is absurd, and how many rows its groups
    /// claim.
    pub(crate) fn metadata(&self) -> Result<(ParquetMetaData, u64), Refused> {
        const ENDS: u64 = MAGIC.len() as u64;
        let some = |start, length| self.range(start, length).map_err(|_| Refused::End);
        if self.size < 3 * ENDS || some(0, ENDS)? != MAGIC {
            return Err(Refused::Beginning);
        }
        let last = some(self.size - 2 * ENDS, 2 * ENDS)?;
        let length = last.strip_suffix(MAGIC).and_then(<[u8]>::first_chunk).ok_or(Refused::End)?;
        let length = u64::from(u32::from_le_bytes(*length));
        let start = (self.size - 2 * ENDS).checked_sub(length).filter(|&start| start >= ENDS);
        let footer = some(start.ok_or(Refused::TooLong)?, length)?;
        check_schema(&footer).map_err(Refused::Schema)?;
        let metadata = ParquetMetaDataReader::decode_metadata(&footer)
            .map_err(|error| Refused::Metadata(error.to_string()))?;
        let mut rows =
            metadata.row_groups().iter().map(|group| u64::try_from(group.num_rows()).ok());
        let rows = rows.try_fold(0_u64, |sum, rows| sum.checked_add(rows?)).ok_or(Refused::Rows)?;
        Ok((metadata, rows))
    }

    fn range(&self, start: u64, length: u64) -> ParquetResult<Bytes> {
        let beyond = || ParquetError::EOF("past the end of the file".to_owned());
        let end = start.checked_add(length).filter(|&end| end <= self.size).ok_or_else(beyond)?;
        match &self.source {
            Source::Bytes(bytes) => Ok(bytes.slice(start as usize..end as usize)),
            Source::File(file) => {
                // Nothing is left half-done by a panic while the lock is held.
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.seek(SeekFrom::Start(start))?;
                let mut bytes = Vec::new();
                bytes.try_reserve_exact(length as usize).map_err(|_| no_room(length))?;
                bytes.resize(length as usize, 0);
                file.read_exact(&mut bytes)?;
                Ok(bytes.into())
            }
        }
    }

    /// The bytes from `start` on that hold a whole page header with nothing absurd in it.
    fn page_header(&self, start: u64) -> ParquetResult<Bytes> {
        let left = self.size.saturating_sub(start);
        let mut length = FIRST;
        loop {
            let bytes = self.range(start, left.min(length))?;
            match Page::read(&bytes).and_then(|page| page.check(self.pages, left)) {
                Ok(unpacked) if room(unpacked) => return Ok(bytes),
                Ok(unpacked) => return Err(no_room(unpacked)),
                Err(Stop::Short) if length < MOST && length < left => length *= 4,
                Err(_) => return Err(ParquetError::General("absurd page header".to_owned())),
            }
        }
    }
}

impl Length for Guarded {
    fn len(&self) -> u64 {
        self.size
    }
}

impl ChunkReader for Guarded {
    type T = Cursor<Bytes>;

    /// Only page headers are read this way.
    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        self.page_header(start).map(Cursor::new)
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        self.range(start, length as u64)
    }
}

/// Hands on the column of a group of rows, `most` whole rows at a time: levels, repetitions and values.
/// `refuse` gives the error for what the library complains about.
pub(crate) fn records<T: DataType, E>(
    file: &Arc<Guarded>,
    chunk: &ColumnChunkMetaData,
    (rows, most): (usize, usize),
    refuse: impl Fn(&ParquetError) -> E,
    mut each: impl FnMut(&[i16], &[i16], &[T::T]) -> Result<(), E>,
) -> Result<(), E> {
    let pages = SerializedPageReader::new(Arc::clone(file), chunk, rows, None);
    let pages = Box::new(pages.map_err(|cause| refuse(&cause))?);
    let mut reader = ColumnReaderImpl::<T>::new(chunk.column_descr_ptr(), pages);
    let (mut levels, mut repeats, mut values) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        levels.clear();
        repeats.clear();
        values.clear();
        let read = reader.read_records(most, Some(&mut levels), Some(&mut repeats), &mut values);
        if read.map_err(|cause| refuse(&cause))?.0 == 0 {
            return Ok(());
        }
        each(&levels, &repeats, &values)?;
    }
}

/// A page that there is no memory for. It travels through the library, which knows of no such error.
#[derive(Debug)]
pub(crate) struct NoRoom(pub(crate) u64);

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a page needs {} bytes of memory", self.0)
    }
}

impl std::error::Error for NoRoom {}

fn no_room(bytes: u64) -> ParquetError {
    ParquetError::External(Box::new(NoRoom(bytes)))
}

/// What a page header declares.
#[derive(Default)]
struct Page {
    unpacked: u64,
    packed: u64,
    /// Of a dictionary.
    words: u64,
    values: u64,
    encoding: u64,
}

impl Page {
    /// Fields 2 and 3 of a page header are its sizes, unpacked and packed. The structures in fields 5,
    /// 7 and 8, for the three kinds of page, begin with the number of values; field 7 is a dictionary. How
    /// values are written is field 4 in the second kind of data page, which is field 8, and field 2 in the
    /// others.
    fn read(bytes: &[u8]) -> Result<Self, Stop> {
        let mut page = Self::default();
        Walk::new(bytes).structure(0, &mut |walk, field, kind| match (field, kind) {
            (2, INT) => positive(walk, &mut page.unpacked),
            (3, INT) => positive(walk, &mut page.packed),
            (5 | 7 | 8, STRUCT) => {
                let Self { words, values, encoding, .. } = &mut page;
                let count = if field == 7 { words } else { values };
                walk.structure(1, &mut |walk, inner, kind| match (inner, kind) {
                    (1, INT) => positive(walk, count),
                    (2, INT) if field != 8 => positive(walk, encoding),
                    (4, INT) if field == 8 => positive(walk, encoding),
                    _ => Ok(false),
                })?;
                Ok(true)
            }
            _ => Ok(false),
        })?;
        Ok(page)
    }

    /// How many bytes it unpacks to, if that can be. `left` is how many bytes the file has from the header
    /// on. In a dictionary every value takes four bytes or more.
    fn check(&self, pages: Pages, left: u64) -> Result<u64, Stop> {
        let Self { unpacked, packed, words, values, encoding } = *self;
        let likely = match pages {
            Pages::Packed => {
                unpacked <= LARGEST_PAGE
                    && unpacked <= (1 << 20) + packed.saturating_mul(1 << 15)
                    && values <= left.saturating_mul(VALUES_PER_BYTE)
            }
            Pages::Plain => unpacked == packed && IN_PLACE.contains(&encoding),
        };
        if likely && packed <= left && words <= unpacked / 4 {
            Ok(unpacked)
        } else {
            Err(Stop::Wrong)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], pages: Pages, left: u64) -> Result<u64, Stop> {
        Page::read(bytes)?.check(pages, left)
    }

    #[test]
    fn headers_of_packed_pages() {
        let check = |bytes: &[u8], left| check(bytes, Pages::Packed, left);
        // Kind 0, unpacked 64, packed 32, and a data page of 3 values.
        let page = |values: u8| [0x15, 0, 0x15, 0x80, 1, 0x15, 0x40, 0x2c, 0x15, values, 0, 0];
        assert_eq!(check(&page(6), 100), Ok(64));
        assert_eq!(check(&page(1), 100), Err(Stop::Wrong), "a count below 0");
        assert_eq!(check(&page(6), 31), Err(Stop::Wrong), "packed beyond the file");
        let dictionary = |words: u8| [0x15, 4, 0x15, 0x80, 1, 0x15, 0x40, 0x4c, 0x15, words, 0, 0];
        assert_eq!(check(&dictionary(32), 100), Ok(64));
        assert_eq!(check(&dictionary(34), 100), Err(Stop::Wrong), "17 words in 64 bytes");
        assert_eq!(check(&page(6)[..8], 100), Err(Stop::Short));
    }

    #[test]
    fn headers_of_plain_pages() {
        let check = |bytes: &[u8]| check(bytes, Pages::Plain, bytes.len() as u64);
        // Kind 0, unpacked and packed 8 bytes, and a data page of 3 values.
        let page = |packed: u8, values: u8| {
            let header = [0x15, 0, 0x15, 16, 0x15, packed, 0x2c, 0x15, values, 0, 0];
            [&header[..], &[0; 8]].concat()
        };
        assert_eq!(check(&page(16, 6)), Ok(8));
        assert_eq!(check(&page(16, 1)), Err(Stop::Wrong), "a count below 0");
        assert_eq!(check(&page(14, 6)), Err(Stop::Wrong), "packed");
        let long = [0x15, 0, 0x15, 80, 0x15, 80, 0];
        assert_eq!(check(&long), Err(Stop::Wrong), "beyond the file");
        // Differences to the value before, in both kinds of data page.
        let one = [0x15, 0, 0x15, 0, 0x15, 0, 0x2c, 0x15, 0, 0x15, 14, 0, 0];
        let two = [0x15, 6, 0x15, 0, 0x15, 0, 0x5c, 0x15, 0, 0x35, 14, 0, 0];
        for mut page in [one, two] {
            assert_eq!(check(&page), Err(Stop::Wrong));
            page[10] = 16;
            assert_eq!(check(&page), Ok(0));
        }
        let dictionary = |words: u8| {
            let header = [0x15, 4, 0x15, 16, 0x15, 16, 0x4c, 0x15, words, 0, 0];
            [&header[..], &[0; 8]].concat()
        };
        assert_eq!(check(&dictionary(4)), Ok(8));
        assert_eq!(check(&dictionary(6)), Err(Stop::Wrong), "3 words in 8 bytes");
        assert_eq!(check(&page(16, 6)[..8]), Err(Stop::Short));
    }
}
