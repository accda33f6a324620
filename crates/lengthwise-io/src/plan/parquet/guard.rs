//! A file that checks what its headers declare before the library reserves memory for it.

use std::{
    fs::File,
    io::{Cursor, Read as _, Seek as _, SeekFrom},
    sync::{Mutex, PoisonError},
};

use ::parquet::{
    errors::{ParquetError, Result as ParquetResult},
    file::{
        metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData},
        reader::{ChunkReader, Length},
    },
};
use bytes::Bytes;

use crate::guard::thrift::{INT, STRUCT, Stop, Walk, check_schema, positive};

use super::super::document::Wrong;

const MAGIC: &[u8] = b"PAR1";

/// What every row takes at least: the number of its sequence is not packed.
const BYTES_PER_ROW: u64 = 4;

/// The numbers of the encodings in full and by dictionary.
const IN_PLACE: [u64; 3] = [0, 2, 8];

/// The content of a file, or a file that is read bit by bit.
pub(super) enum Guarded {
    Bytes(Bytes),
    File(Mutex<File>, u64),
}

/// No page header is longer than this.
const LONGEST_HEADER: u64 = 1 << 16;

impl Guarded {
    pub(super) fn new(bytes: &[u8]) -> Self {
        Self::Bytes(Bytes::copy_from_slice(bytes))
    }

    /// A file of so many bytes.
    pub(super) fn of_file(file: File, size: u64) -> Self {
        Self::File(Mutex::new(file), size)
    }

    /// Some bytes of it.
    fn some(&self, start: u64, length: u64) -> ParquetResult<Bytes> {
        let end = start.checked_add(length).filter(|&end| end <= self.len()).ok_or_else(beyond)?;
        match self {
            Guarded::Bytes(bytes) => Ok(bytes.slice(start as usize..end as usize)),
            Guarded::File(file, _) => {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.seek(SeekFrom::Start(start))?;
                let mut bytes = vec![0; length as usize];
                file.read_exact(&mut bytes)?;
                Ok(bytes.into())
            }
        }
    }

    /// The metadata at the end of the file, if nothing about it is absurd.
    pub(super) fn metadata(&self) -> Result<ParquetMetaData, Wrong> {
        const ENDS: u64 = 4;
        let no_table = || "it does not begin and end as a Parquet file".to_owned();
        let some = |start: u64, length: u64| self.some(start, length).map_err(|_| no_table());
        let size = self.len();
        let inner = size.checked_sub(3 * ENDS).ok_or_else(no_table)?;
        let last = some(size - 2 * ENDS, 2 * ENDS)?;
        let length = last.strip_suffix(MAGIC).and_then(<[u8]>::first_chunk).ok_or_else(no_table)?;
        if some(0, ENDS)? != MAGIC {
            return Err(no_table());
        }
        let length = u64::from(u32::from_le_bytes(*length));
        let start = (ENDS + inner).checked_sub(length).filter(|&start| start >= ENDS);
        let start = start.ok_or("its metadata has more bytes than the file")?;
        let footer = &some(start, length)?[..];
        check_schema(footer).map_err(|_| "its metadata is damaged")?;
        let metadata =
            ParquetMetaDataReader::decode_metadata(footer).map_err(|error| error.to_string())?;
        let rows = |group: &RowGroupMetaData| u64::try_from(group.num_rows()).ok();
        let total = metadata
            .row_groups()
            .iter()
            .try_fold(0_u64, |sum, group| sum.checked_add(rows(group)?))
            .ok_or("its groups of rows cannot be counted")?;
        if total > self.len() / BYTES_PER_ROW {
            return Err(format!("it claims {total} rows in {} bytes", self.len()));
        }
        let declared = metadata.file_metadata().num_rows();
        if u64::try_from(declared) != Ok(total) {
            return Err(format!("it claims {declared} rows, and its groups {total}"));
        }
        Ok(metadata)
    }
}

impl Length for Guarded {
    fn len(&self) -> u64 {
        match self {
            Guarded::Bytes(bytes) => bytes.len() as u64,
            Guarded::File(_, size) => *size,
        }
    }
}

impl ChunkReader for Guarded {
    type T = Cursor<Bytes>;

    /// Only page headers are read this way.
    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        let rest = self.len().checked_sub(start).ok_or_else(beyond)?;
        let header = match self {
            Guarded::Bytes(_) => self.some(start, rest)?,
            Guarded::File(..) => self.some(start, rest.min(LONGEST_HEADER))?,
        };
        let absurd = |_| ParquetError::General("absurd page header".to_owned());
        check_page(&header, rest).map_err(absurd)?;
        Ok(Cursor::new(header))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        self.some(start, length as u64)
    }
}

fn beyond() -> ParquetError {
    ParquetError::EOF("past the end of the file".to_owned())
}

/// Fields 2 and 3 of a page header are its sizes, unpacked and packed, which are the same here. The
/// structures in fields 5, 7 and 8, for the three kinds of page, begin with the number of values; in
/// a dictionary, which is field 7, every value takes four bytes or more. How values are written is
/// field 4 in the second kind of data page, which is field 8, and field 2 in the others. In full or
/// as words of a dictionary they stay where they are; other ways could make a few bytes into ids of
/// gigabytes. `rest` is how many bytes the file has from the header on.
fn check_page(bytes: &[u8], rest: u64) -> Result<(), Stop> {
    let (mut unpacked, mut packed, mut words) = (0, 0, 0);
    Walk::new(bytes).structure(0, &mut |walk, field, kind| match (field, kind) {
        (2, INT) => positive(walk, &mut unpacked),
        (3, INT) => positive(walk, &mut packed),
        (5 | 7 | 8, STRUCT) => {
            let (mut count, mut encoding) = (0, 0);
            walk.structure(1, &mut |walk, inner, kind| match (inner, kind) {
                (1, INT) => positive(walk, &mut count),
                (2, INT) if field != 8 => positive(walk, &mut encoding),
                (4, INT) if field == 8 => positive(walk, &mut encoding),
                _ => Ok(false),
            })?;
            if !IN_PLACE.contains(&encoding) {
                return Err(Stop::Wrong);
            }
            if field == 7 {
                words = count;
            }
            Ok(true)
        }
        _ => Ok(false),
    })?;
    let likely = packed <= rest && unpacked == packed && words <= packed / 4;
    if likely { Ok(()) } else { Err(Stop::Wrong) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_page(bytes: &[u8]) -> Result<(), Stop> {
        super::check_page(bytes, bytes.len() as u64)
    }

    #[test]
    fn page_headers() {
        // Kind 0, unpacked and packed 8 bytes, and a data page of 3 values.
        let page = |packed: u8, values: u8| {
            let header = [0x15, 0, 0x15, 16, 0x15, packed, 0x2c, 0x15, values, 0, 0];
            [&header[..], &[0; 8]].concat()
        };
        assert_eq!(check_page(&page(16, 6)), Ok(()));
        assert_eq!(check_page(&page(16, 1)), Err(Stop::Wrong), "a count below 0");
        assert_eq!(check_page(&page(14, 6)), Err(Stop::Wrong), "packed");
        let long = [0x15, 0, 0x15, 80, 0x15, 80, 0];
        assert_eq!(check_page(&long), Err(Stop::Wrong), "beyond the file");
        // Differences to the value before, in both kinds of data page.
        let one = [0x15, 0, 0x15, 0, 0x15, 0, 0x2c, 0x15, 0, 0x15, 14, 0, 0];
        let two = [0x15, 6, 0x15, 0, 0x15, 0, 0x5c, 0x15, 0, 0x35, 14, 0, 0];
        for mut page in [one, two] {
            assert_eq!(check_page(&page), Err(Stop::Wrong));
            page[10] = 16;
            assert_eq!(check_page(&page), Ok(()));
        }
        let dictionary = |words: u8| {
            let header = [0x15, 4, 0x15, 16, 0x15, 16, 0x4c, 0x15, words, 0, 0];
            [&header[..], &[0; 8]].concat()
        };
        assert_eq!(check_page(&dictionary(4)), Ok(()));
        assert_eq!(check_page(&dictionary(6)), Err(Stop::Wrong), "3 words in 8 bytes");
        assert_eq!(check_page(&page(16, 6)[..8]), Err(Stop::Short));
    }
}
