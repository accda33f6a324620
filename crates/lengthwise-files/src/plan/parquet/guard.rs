//! A file that checks what its headers declare before the library reserves memory for it.

use std::io::Cursor;

use ::parquet::{
    errors::{ParquetError, Result as ParquetResult},
    file::{
        metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData},
        reader::{ChunkReader, Length},
    },
};
use bytes::Bytes;

use lengthwise_fence::thrift::{INT, STRUCT, Stop, Walk, check_schema, positive};

use super::super::document::Wrong;

const MAGIC: &[u8] = b"PAR1";

/// What every row takes at least: the number of its sequence is not packed.
const BYTES_PER_ROW: u64 = 4;

/// The numbers of the encodings in full and by dictionary.
const IN_PLACE: [u64; 3] = [0, 2, 8];

pub(super) struct Guarded(Bytes);

impl Guarded {
    pub(super) fn new(bytes: &[u8]) -> Self {
        Self(Bytes::copy_from_slice(bytes))
    }

    /// The metadata at the end of the file, if nothing about it is absurd.
    pub(super) fn metadata(&self) -> Result<ParquetMetaData, Wrong> {
        let no_table = || "it does not begin and end as a Parquet file".to_owned();
        let inner = self.0.strip_prefix(MAGIC).and_then(|bytes| bytes.strip_suffix(MAGIC));
        let (inner, length) = inner.and_then(<[u8]>::split_last_chunk).ok_or_else(no_table)?;
        let start = inner.len().checked_sub(u32::from_le_bytes(*length) as usize);
        let footer = &inner[start.ok_or("its metadata has more bytes than the file")?..];
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
        self.0.len() as u64
    }
}

impl ChunkReader for Guarded {
    type T = Cursor<Bytes>;

    /// Only page headers are read this way.
    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        let start = usize::try_from(start).ok().filter(|&start| start <= self.0.len());
        let rest = self.0.slice(start.ok_or_else(beyond)?..);
        check_page(&rest).map_err(|_| ParquetError::General("absurd page header".to_owned()))?;
        Ok(Cursor::new(rest))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let start = usize::try_from(start).map_err(|_| beyond())?;
        let end = start.checked_add(length).filter(|&end| end <= self.0.len());
        Ok(self.0.slice(start..end.ok_or_else(beyond)?))
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
/// gigabytes.
fn check_page(bytes: &[u8]) -> Result<(), Stop> {
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
    let likely = packed <= bytes.len() as u64 && unpacked == packed && words <= packed / 4;
    if likely { Ok(()) } else { Err(Stop::Wrong) }
}

#[cfg(test)]
mod tests {
    use super::*;

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
