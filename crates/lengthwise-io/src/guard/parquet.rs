//! A Parquet file that checks what its headers declare before the library reserves memory for it.

use std::io::{self, Cursor, Read, Seek as _, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};
use std::{error::Error, fmt, fs::File, iter::successors};

use ::parquet::errors::{ParquetError, Result as ParquetResult};
use ::parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader};
use ::parquet::file::reader::{ChunkReader, Length};
use ::parquet::{
    column::reader::ColumnReaderImpl, data_type::DataType,
    file::serialized_reader::SerializedPageReader,
};
use bytes::Bytes;

use crate::guard::fits_in_memory;

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

/// The content of a file, or a file that is read bit by bit. Clones share it.
#[derive(Clone)]
pub(crate) struct Guarded {
    source: Source,
    size: u64,
    pages: Pages,
}

#[derive(Clone)]
enum Source {
    Bytes(Bytes),
    File(Arc<Mutex<File>>),
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

    pub(crate) fn of_file(file: File, pages: Pages) -> io::Result<Self> {
        let size = file.metadata()?.len();
        Ok(Self { size, source: Source::File(Arc::new(Mutex::new(file))), pages })
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
                Ok(unpacked) if fits_in_memory(unpacked) => return Ok(bytes),
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
    type T = PageHeader;

    /// Only page headers are read this way.
    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(PageHeader { file: self.clone(), start, bytes: None })
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        self.range(start, length as u64)
    }
}

/// A page header, checked when its first byte is read and not before. For a list the library looks ahead at the
/// next header. It then asks for a reader where the data of that page begins, and reads nothing from it: the data
/// is no header, and must not be checked as one.
pub(crate) struct PageHeader {
    file: Guarded,
    start: u64,
    bytes: Option<Cursor<Bytes>>,
}

impl Read for PageHeader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = match &mut self.bytes {
            Some(bytes) => bytes,
            none => none.insert(Cursor::new(self.file.page_header(self.start)?)),
        };
        bytes.read(into)
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
pub(crate) struct NoRoom(u64);

impl NoRoom {
    /// How many bytes a page needs, if that is what the library complains about, in whatever it wraps that.
    pub(crate) fn bytes_in(cause: &ParquetError) -> Option<u64> {
        let mut causes = successors(Some(cause as &(dyn Error + 'static)), |&cause| cause.source());
        causes.find_map(|cause| cause.downcast_ref()).map(|&Self(bytes)| bytes)
    }
}

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a page needs {} bytes of memory", self.0)
    }
}

impl Error for NoRoom {}

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

/// No metadata nests near this deep, and hardly any table.
pub(crate) const DEEPEST: usize = 64;

/// Why a walk ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// More bytes may make it whole.
    Short,
    /// No bytes can.
    Wrong,
    /// It may be whole, but is nested too deeply to be read.
    Deep,
}

/// A walk over Thrift's compact encoding that believes nothing, from here in the bytes on. The library
/// reserves memory for whatever a header declares, before it looks for it; a few damaged bytes can ask for
/// more than any machine has, which ends the process. Here every declared size must fit into the bytes that
/// are left, and nothing nests deeply.
struct Walk<'a> {
    bytes: &'a [u8],
}

/// The kinds of whole numbers, lists and structures.
const INT: u8 = 5;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

impl<'a> Walk<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    fn byte(&mut self) -> Result<u8, Stop> {
        let (&first, rest) = self.bytes.split_first().ok_or(Stop::Short)?;
        self.bytes = rest;
        Ok(first)
    }

    fn advance(&mut self, count: u64) -> Result<(), Stop> {
        let count = usize::try_from(count).map_err(|_| Stop::Short)?;
        self.bytes = self.bytes.get(count..).ok_or(Stop::Short)?;
        Ok(())
    }

    fn varint(&mut self) -> Result<u64, Stop> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Stop::Wrong)
    }

    /// A whole number, whose sign is in the last bit.
    fn int(&mut self) -> Result<i64, Stop> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// The size of a list and the kind of its elements.
    fn list(&mut self) -> Result<(u64, u8), Stop> {
        let head = self.byte()?;
        let size = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        if size > self.bytes.len() as u64 { Err(Stop::Short) } else { Ok((size, head & 15)) }
    }

    /// Walks a structure. `visit` is asked about every field, by number and kind, and says
    /// whether it has walked over the value itself.
    fn structure(
        &mut self,
        depth: usize,
        visit: &mut dyn FnMut(&mut Self, i64, u8) -> Result<bool, Stop>,
    ) -> Result<(), Stop> {
        let mut field = 0_i64;
        loop {
            let head = self.byte()?;
            let kind = head & 15;
            if kind == 0 {
                return Ok(());
            }
            field = if head >> 4 == 0 { self.int()? } else { field + i64::from(head >> 4) };
            if !(0..1 << 15).contains(&field) {
                return Err(Stop::Wrong);
            }
            // The truth of a boolean field is its kind; nothing follows.
            if kind > 2 && !visit(self, field, kind)? {
                self.skip(kind, depth + 1)?;
            }
        }
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Result<(), Stop> {
        if depth > DEEPEST {
            return Err(Stop::Wrong);
        }
        match kind {
            1..=3 => self.advance(1),
            4..=6 => self.varint().map(|_| ()),
            7 => self.advance(8),
            8 => {
                let length = self.varint()?;
                self.advance(length)
            }
            LIST | 10 => {
                let (size, kind) = self.list()?;
                (0..size).try_for_each(|_| self.skip(kind, depth + 1))
            }
            11 => {
                let size = self.varint()?;
                if size > self.bytes.len() as u64 {
                    return Err(Stop::Short);
                }
                let kinds = if size == 0 { 0 } else { self.byte()? };
                (0..size).try_for_each(|_| {
                    self.skip(kinds >> 4, depth + 1)?;
                    self.skip(kinds & 15, depth + 1)
                })
            }
            STRUCT => self.structure(depth, &mut |_, _, _| Ok(false)),
            13 => self.advance(16),
            _ => Err(Stop::Wrong),
        }
    }
}

/// Reads a whole number that is not below 0.
fn positive(walk: &mut Walk, into: &mut u64) -> Result<bool, Stop> {
    *into = u64::try_from(walk.int()?).map_err(|_| Stop::Wrong)?;
    Ok(true)
}

/// Refuses the metadata of a Parquet file whose schema is no tree that its bytes can hold.
///
/// Field 2 of the metadata lists the schema, parents before children; field 5 of an element is
/// how many children it has.
fn check_schema(bytes: &[u8]) -> Result<(), Stop> {
    let mut children: Vec<u64> = Vec::new();
    Walk::new(bytes).structure(0, &mut |walk, field, kind| {
        if (field, kind) != (2, LIST) {
            return Ok(false);
        }
        let (size, kind) = walk.list()?;
        if kind != STRUCT {
            return Err(Stop::Wrong);
        }
        for _ in 0..size {
            let mut count = 0;
            walk.structure(2, &mut |walk, field, kind| match (field, kind) {
                (5, INT) => positive(walk, &mut count),
                _ => Ok(false),
            })?;
            children.push(count);
        }
        Ok(true)
    })?;
    // How many children are still to come at every level of the tree.
    let mut open: Vec<u64> = Vec::new();
    for (index, &count) in children.iter().enumerate() {
        if count > (children.len() - index - 1) as u64 {
            return Err(Stop::Wrong);
        }
        if open.len() > DEEPEST {
            return Err(Stop::Deep);
        }
        if let Some(last) = open.last_mut() {
            *last -= 1;
        }
        if count > 0 {
            open.push(count);
        }
        while open.last() == Some(&0) {
            open.pop();
        }
    }
    Ok(())
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

    #[test]
    fn a_header_is_checked_when_it_is_read() {
        let file = |bytes: &[u8]| Guarded::of_bytes(bytes, Pages::Packed);
        let absurd = [0x15, 0, 0x15, 0x80, 1, 0x15, 0x40, 0x2c, 0x15, 1, 0, 0];
        let mut header = file(&absurd).get_read(0).expect("nothing is read");
        let refused = header.read(&mut [0]).unwrap_err();
        assert!(refused.to_string().contains("absurd page header"), "{refused}");
        let mut empty = [0x15, 0, 0x15, 0, 0x15, 0, 0x2c, 0x15, 6, 0, 0];
        let mut bytes = Vec::new();
        file(&empty).get_read(0).unwrap().read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, empty);
        empty[9] = 1;
        assert!(file(&empty).get_read(0).unwrap().read_to_end(&mut bytes).is_err());
    }

    #[test]
    fn no_room_is_known_however_it_is_wrapped() {
        let wrapped = ParquetError::from(io::Error::from(no_room(7)));
        assert_eq!([no_room(7), wrapped].map(|error| NoRoom::bytes_in(&error)), [Some(7); 2]);
        assert_eq!(NoRoom::bytes_in(&ParquetError::General(String::new())), None);
    }

    fn walk(bytes: &[u8]) -> Result<(), Stop> {
        Walk::new(bytes).structure(0, &mut |_, _, _| Ok(false))
    }

    #[test]
    fn whole_and_cut() {
        // Field 1: 300; field 2: `ab`; field 3: a list of two numbers; field 4: a structure.
        let whole = [0x15, 0xd8, 4, 0x18, 2, b'a', b'b', 0x19, 0x25, 2, 4, 0x1c, 0x11, 0, 0];
        assert_eq!(walk(&whole), Ok(()));
        for cut in 0..whole.len() {
            assert_eq!(walk(&whole[..cut]), Err(Stop::Short), "{cut}");
        }
        assert_eq!(Walk::new(&[0xd8, 4]).int(), Ok(300));
        assert_eq!(Walk::new(&[3]).int(), Ok(-2));
    }

    #[test]
    fn absurd_sizes_and_depths() {
        let huge = [0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0];
        assert_eq!(walk(&huge), Err(Stop::Short));
        assert_eq!(walk(&[0x19, 0xf5, 0xff, 0xff, 0xff, 0xff, 7, 0, 0]), Err(Stop::Short));
        assert_eq!(walk(&[0x1c; 10_000]), Err(Stop::Wrong));
        assert_eq!(walk(&[0x19; 10_000]), Err(Stop::Wrong));
        assert_eq!(
            walk(&[0x15, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
            Err(Stop::Wrong)
        );
    }

    #[test]
    fn schemas() {
        let schema = |children: &[u8]| {
            let mut bytes = vec![0x29, (children.len() as u8) << 4 | STRUCT];
            bytes.extend(children.iter().flat_map(|count| [0x55, count * 2, 0]));
            bytes.push(0);
            check_schema(&bytes)
        };
        assert_eq!(schema(&[2, 0, 1, 0]), Ok(()));
        assert_eq!(schema(&[2, 0, 60, 0]), Err(Stop::Wrong));
        let mut deep = vec![0x29, 0xfc, 0xe8, 7];
        deep.extend([0x55, 2, 0].repeat(1000));
        deep.push(0);
        assert_eq!(check_schema(&deep), Err(Stop::Deep));
    }
}
