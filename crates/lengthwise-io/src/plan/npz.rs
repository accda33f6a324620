//! NPZ files: arrays in a zip.
//!
//! Nothing in it is packed. Numbers in random order pack by a quarter at best; the bytes depend on no
//! packer's version; and no array can unpack to more than the file has.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom, Write};

use xxhash_rust::xxh3::Xxh3;
use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter, read::ZipFile, result::ZipError};

use crate::error::Error;
use crate::ids::Ids;
use crate::npy::{self, Number};
use crate::plan::batchwise::{About, Rows, Table};
use crate::plan::content::{Batches, Content, Seconds, Sheet};
use crate::plan::file::{Pieces, PlanFile};
use crate::plan::header::{self, Remaining, Unchecked};
use crate::text::{quote, shortened};

/// All arrays that there may be, in the order of the checksum.
const ARRAYS: [&str; 13] = [
    "indices",
    "ends",
    "batch_lengths",
    "positions",
    "second_batch_lengths",
    "second_positions",
    "piece_sequences",
    "piece_offsets",
    "piece_lengths",
    "over_long",
    "id_bytes",
    "id_ends",
    HEADER,
];

const HEADER: &str = "header";

pub(super) fn write(file: &Sheet, output: &mut impl Write) -> io::Result<()> {
    let mut output = Output { output, failed: None };
    let written = || -> Result<(), ZipError> {
        let mut arrays = Arrays { zip: ZipWriter::new_stream(&mut output), hash: Xxh3::new() };
        let lengths = file.all().map(|(_, length)| [length]);
        arrays.write_all("indices", file.sequences, file.all().map(|(batch, _)| batch))?;
        arrays.write_all("ends", file.len, file.ends().map(|end| [end]))?;
        arrays.write_all("batch_lengths", file.len, lengths)?;
        arrays.write("positions", file.positions)?;
        if let Some(Seconds { batch_lengths, positions }) = file.seconds {
            arrays.write("second_batch_lengths", batch_lengths)?;
            arrays.write("second_positions", positions)?;
        }
        if let Some(pieces) = file.chunks.map(Pieces::new) {
            arrays.write("piece_sequences", &pieces.sequences)?;
            arrays.write("piece_offsets", &pieces.offsets)?;
            arrays.write("piece_lengths", &pieces.lengths)?;
        }
        if let (_, over_long @ [_, ..]) = file.over_long {
            arrays.write("over_long", over_long)?;
        }
        if let Some(ids) = file.ids {
            arrays.write("id_bytes", ids.bytes())?;
            arrays.write("id_ends", ids.ends())?;
        }
        let header = header::text(file, Remaining::default(), arrays.hash.clone());
        arrays.write(HEADER, header.map_err(io::Error::from)?.as_bytes())?;
        arrays.zip.finish()?;
        Ok(())
    }();
    output.failed.map_or(Ok(()), Err)?;
    written.map_err(io::Error::from)
}

/// Keeps the first error to itself. The zip's writer would otherwise try to finish the file when it
/// is dropped, and print that it could not.
struct Output<'a, W> {
    output: &'a mut W,
    failed: Option<io::Error>,
}

impl<W: Write> Write for Output<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.failed.is_none() {
            self.failed = self.output.write_all(bytes).err();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.failed.is_none() {
            self.failed = self.output.flush().err();
        }
        Ok(())
    }
}

struct Arrays<W: Write> {
    zip: ZipWriter<StreamWriter<W>>,
    hash: Xxh3,
}

/// How many numbers are passed on at once.
const BLOCK: usize = 1 << 14;

impl<W: Write> Arrays<W> {
    fn write<N: Number>(&mut self, name: &str, numbers: &[N]) -> Result<(), ZipError> {
        self.write_all(name, numbers.len(), std::iter::once(numbers))
    }

    /// `count` numbers, some at a time.
    fn write_all<N: Number>(
        &mut self,
        name: &str,
        count: usize,
        numbers: impl Iterator<Item = impl AsRef<[N]>>,
    ) -> Result<(), ZipError> {
        let header = npy::header::<N>(count);
        let size = (header.len() + count * N::SIZE) as u64;
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            // Equal plans are equal files, whenever they are written.
            .last_modified_time(DateTime::default())
            .large_file(size >= u64::from(u32::MAX));
        self.zip.start_file(format!("{name}.npy"), options)?;
        self.zip.write_all(&header)?;
        let mut bytes = Vec::with_capacity(2 * BLOCK * N::SIZE);
        for some in numbers {
            for block in some.as_ref().chunks(BLOCK) {
                for number in block {
                    number.put(&mut bytes);
                }
                if bytes.len() >= BLOCK * N::SIZE {
                    self.pass_on(&mut bytes)?;
                }
            }
        }
        self.pass_on(&mut bytes)
    }

    fn pass_on(&mut self, bytes: &mut Vec<u8>) -> Result<(), ZipError> {
        self.hash.update(bytes);
        self.zip.write_all(bytes)?;
        bytes.clear();
        Ok(())
    }
}

pub(super) fn read(bytes: &[u8]) -> Result<PlanFile, Error> {
    let mut archive = Archive::open(Cursor::new(bytes), bytes.len() as u64)?;
    // The version first: arrays of another one may be others.
    let header = archive.needed::<u8>(HEADER)?;
    let header = Unchecked::new(&header)?;
    archive.refuse_others()?;
    // The header is hashed without its checksum, and last.
    archive.hash = Xxh3::new();
    let (indices, ends) = (archive.needed("indices")?, archive.needed("ends")?);
    let batch_lengths = archive.needed("batch_lengths")?;
    let positions = archive.needed("positions")?;
    let seconds = (archive.array("second_batch_lengths")?, archive.array("second_positions")?);
    let pieces = archive.pieces()?;
    let over_long = archive.array("over_long")?.unwrap_or_default();
    let ids = archive.ids()?;
    let content = header.content(archive.hash)?;
    // Not before the checksum is right: what is wrong then is not by chance.
    let ids = ids.map(|(bytes, ends)| Ids::of_bytes(bytes, ends)).transpose();
    let content = Content {
        chunks: pieces.map(Pieces::chunks).transpose()?,
        over_long,
        ids: ids.map_err(Error::not_a_plan)?,
        batches: Batches { all: indices, ends },
        batch_lengths,
        positions,
        seconds: Seconds::of(seconds.0, seconds.1)?,
        ..content
    };
    content.file()
}

/// How many bytes it takes to open a file to be read batch by batch, by its directory: all arrays but the
/// indices, the over-long sequences twice, and one array as it is read.
pub(super) fn memory_of(file: File) -> Result<u64, Error> {
    let mut zip = ZipArchive::new(BufReader::new(file)).map_err(|error| refused(&error))?;
    let (mut all, mut largest) = (0_u64, 0);
    for name in [HEADER, "ends", "batch_lengths", "positions", "over_long"] {
        // What is missing is refused where it is read.
        let Ok(entry) = zip.by_name(&format!("{name}.npy")) else { continue };
        let size = entry.size();
        all = all.saturating_add(if name == "over_long" { 2 * size } else { size });
        largest = largest.max(size);
    }
    Ok(all.saturating_add(largest))
}

/// Opens a file to be read batch by batch.
pub(super) fn stream(file: File) -> Result<(About, Table), Error> {
    let failed = |error: io::Error| Error::not_a_plan(format!("it cannot be read: {error}"));
    let size = file.metadata().map_err(failed)?.len();
    let whole = file.try_clone().map_err(failed)?;
    let mut archive = Archive::open(BufReader::new(file), size)?;
    let header = archive.needed::<u8>(HEADER)?;
    archive.refuse_others()?;
    Unchecked::new(&header)?.check_one_length()?;
    if archive.ids()?.is_some() || archive.pieces()?.is_some() {
        return Err(Error::of_plan("has ids or chunks, and cannot be read batch by batch")
            .hint_to("read it as a whole"));
    }
    let (ends, lengths) = (archive.needed("ends")?, archive.needed("batch_lengths")?);
    let rows = Rows { ends, lengths, positions: archive.needed("positions")? };
    let over_long = archive.array("over_long")?.unwrap_or_default();
    let (start, size) = archive.place("indices")?;
    let mut indices = BufReader::with_capacity(1 << 20, whole);
    indices.seek(SeekFrom::Start(start)).map_err(failed)?;
    let mut indices = indices.take(size);
    let count = count::<u32>(&mut indices, size)
        .map_err(|why| Error::not_a_plan(format!("array `indices` {why}")))?;
    let some = move || {
        let mut bytes = Vec::with_capacity(4 * BLOCK);
        match indices.by_ref().take(4 * BLOCK as u64).read_to_end(&mut bytes) {
            Ok(0) => None,
            Ok(_) => Some(Ok(bytes.chunks_exact(4).map(u32::get).collect())),
            Err(error) => Some(Err(Error::unreadable("plan", &error))),
        }
    };
    Table::open(header, (count, Box::new(std::iter::from_fn(some))), rows, over_long, None)
}

/// The bytes of all ids, and where each ends.
type IdArrays = (Vec<u8>, Vec<u64>);

struct Archive<R> {
    zip: ZipArchive<R>,
    /// How many bytes the arrays may still have: each is in the file, and in no other.
    left: u64,
    hash: Xxh3,
}

impl<R: Read + Seek> Archive<R> {
    fn open(file: R, size: u64) -> Result<Self, Error> {
        let zip = ZipArchive::new(file).map_err(|error| refused(&error))?;
        Ok(Self { zip, left: size, hash: Xxh3::new() })
    }

    /// An array that is there.
    fn entry(&mut self, name: &str) -> Result<Option<ZipFile<'_, R>>, Error> {
        match self.zip.by_name(&format!("{name}.npy")) {
            Ok(entry) => Ok(Some(entry)),
            Err(ZipError::FileNotFound) => Ok(None),
            Err(error) => Err(refused(&error)),
        }
    }

    /// Where an array begins in the file, and how many bytes it has.
    fn place(&mut self, name: &str) -> Result<(u64, u64), Error> {
        let entry = self.entry(name)?.ok_or_else(|| missing(name))?;
        match (entry.compression(), entry.data_start()) {
            (CompressionMethod::Stored, Some(start)) => Ok((start, entry.size())),
            _ => Err(Error::not_a_plan(format!("array `{name}` is packed"))),
        }
    }

    fn refuse_others(&self) -> Result<(), Error> {
        for name in self.zip.file_names() {
            let name = name.map_err(|error| refused(&error))?;
            if !name.strip_suffix(".npy").is_some_and(|name| ARRAYS.contains(&name)) {
                let name = quote(&name);
                return Err(Error::not_a_plan(format!(
                    "it has {name}, which is not part of a plan"
                )));
            }
        }
        Ok(())
    }

    fn needed<N: Number>(&mut self, name: &str) -> Result<Vec<N>, Error> {
        self.array(name)?.ok_or_else(|| missing(name))
    }

    fn array<N: Number>(&mut self, name: &str) -> Result<Option<Vec<N>>, Error> {
        let wrong = |why: String| Error::not_a_plan(format!("array `{name}` {why}"));
        let left = self.left;
        let Some(entry) = self.entry(name)? else { return Ok(None) };
        let size = entry.size();
        if entry.compression() != CompressionMethod::Stored {
            return Err(wrong("is packed".to_owned()));
        }
        let Some(left) = left.checked_sub(size) else {
            return Err(wrong("has more bytes than the file".to_owned()));
        };
        let mut bytes = Vec::with_capacity(size as usize);
        // One byte more than there should be, so that the zip's own checksum is looked at.
        let read = entry.take(size + 1).read_to_end(&mut bytes);
        read.map_err(|error| wrong(format!("cannot be read: {error}")))?;
        self.left = left;
        let mut numbers = bytes.as_slice();
        count::<N>(&mut numbers, bytes.len() as u64).map_err(wrong)?;
        self.hash.update(numbers);
        Ok(Some(numbers.chunks_exact(N::SIZE).map(N::get).collect()))
    }

    /// Both arrays of the ids, or none.
    fn ids(&mut self) -> Result<Option<IdArrays>, Error> {
        match (self.array("id_bytes")?, self.array("id_ends")?) {
            (None, None) => Ok(None),
            (Some(bytes), Some(ends)) => Ok(Some((bytes, ends))),
            (None, _) => Err(missing("id_bytes")),
            (_, None) => Err(missing("id_ends")),
        }
    }

    /// All arrays of the pieces, or none.
    fn pieces(&mut self) -> Result<Option<Pieces>, Error> {
        let Some(sequences) = self.array("piece_sequences")? else {
            let others = [self.array::<u32>("piece_offsets")?, self.array("piece_lengths")?];
            return match others {
                [None, None] => Ok(None),
                _ => Err(missing("piece_sequences")),
            };
        };
        let (offsets, lengths) = (self.needed("piece_offsets")?, self.needed("piece_lengths")?);
        Ok(Some(Pieces { sequences, offsets, lengths }))
    }
}

/// How many numbers an array of `size` bytes has, if it is written as plans are; reads on to where they
/// begin.
fn count<N: Number>(array: &mut impl Read, size: u64) -> Result<usize, String> {
    let no_array = || "is not an array of version 1.0".to_owned();
    let header = npy::Header::read(array).map_err(|_| no_array())?;
    let entry = |key| header.entry(key).filter(|_| header.version == (1, 0)).ok_or_else(no_array);
    let (name, order, shape) = (entry("descr")?, entry("fortran_order")?, entry("shape")?);
    // A type of several fields is a list, without quotes.
    let name = name.strip_prefix('\'').and_then(|name| name.strip_suffix('\'')).unwrap_or(name);
    if name != N::TYPE {
        return Err(format!("has type {}, expected `{}`", quote(name), N::TYPE));
    }
    if order != "False" {
        return Err("is in Fortran order".to_owned());
    }
    let shape = shape.trim_start_matches('(').trim_end_matches(')');
    // One number and a comma: one dimension.
    let count = shape.strip_suffix(',').and_then(|count| count.parse::<usize>().ok());
    let Some(count) = count else {
        return Err(format!("has shape `({})`, expected one dimension", shortened(shape, 40)));
    };
    let left = size.saturating_sub(header.size);
    if count.checked_mul(N::SIZE).map(|bytes| bytes as u64) != Some(left) {
        return Err(format!("should have {count} numbers, but has {left} bytes"));
    }
    // In another spelling it was not written by NumPy.
    if header.text.trim_end() == npy::dictionary::<N>(count) { Ok(count) } else { Err(no_array()) }
}

fn missing(name: &str) -> Error {
    Error::not_a_plan(format!("it has no array `{name}`"))
}

fn refused(error: &ZipError) -> Error {
    Error::not_a_plan(match error {
        ZipError::UnsupportedArchive(_) => "its zip is packed or encrypted",
        _ => "its zip is cut off or damaged",
    })
}
