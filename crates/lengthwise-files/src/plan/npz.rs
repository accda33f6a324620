//! NPZ files: arrays in a zip.
//!
//! Nothing in it is packed. Numbers in random order pack by a quarter at best; the bytes depend on no
//! packer's version; and no array can unpack to more than the file has.

mod npy;

use std::io::{self, Cursor, Read, Write};

use xxhash_rust::xxh3::Xxh3;
use zip::{
    CompressionMethod, DateTime, ZipArchive, ZipWriter, result::ZipError, write::SimpleFileOptions,
    write::StreamWriter,
};

use self::npy::Number;
use super::{
    PlanFile,
    content::Seconds,
    document::Pieces,
    header::{self, Rest, Unchecked},
    ids::Ids,
    read::not_a_plan,
};
use crate::{Error, error::shortened, fence};

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

pub(super) fn write(file: &PlanFile, output: &mut impl Write) -> io::Result<()> {
    let PlanFile { plan, positions, second_positions, ids, chunks, .. } = file;
    let mut output = Output { output, failed: None };
    let written = || -> Result<(), ZipError> {
        let mut arrays = Arrays { zip: ZipWriter::new_stream(&mut output), hash: Xxh3::new() };
        arrays.write("indices", plan.indices())?;
        arrays.write("ends", plan.ends())?;
        arrays.write("batch_lengths", plan.batch_lengths())?;
        arrays.write("positions", positions)?;
        if let Some(lengths) = plan.second_batch_lengths() {
            arrays.write("second_batch_lengths", lengths)?;
            arrays.write("second_positions", second_positions)?;
        }
        if let Some(pieces) = chunks.as_ref().map(Pieces::new) {
            arrays.write("piece_sequences", &pieces.sequences)?;
            arrays.write("piece_offsets", &pieces.offsets)?;
            arrays.write("piece_lengths", &pieces.lengths)?;
        }
        if let (_, over_long @ [_, ..]) = plan.over_long() {
            arrays.write("over_long", over_long)?;
        }
        if let Some(ids) = ids {
            arrays.write("id_bytes", ids.bytes())?;
            arrays.write("id_ends", ids.ends())?;
        }
        let header = header::text(file, Rest::Nothing, arrays.hash.clone());
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
        let header = npy::header::<N>(numbers.len());
        let size = (header.len() + numbers.len() * N::SIZE) as u64;
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            // Equal plans are equal files, whenever they are written.
            .last_modified_time(DateTime::default())
            .large_file(size >= u64::from(u32::MAX));
        self.zip.start_file(format!("{name}.npy"), options)?;
        self.zip.write_all(&header)?;
        let mut bytes = Vec::with_capacity(BLOCK * N::SIZE);
        for block in numbers.chunks(BLOCK) {
            bytes.clear();
            for number in block {
                number.put(&mut bytes);
            }
            self.hash.update(&bytes);
            self.zip.write_all(&bytes)?;
        }
        Ok(())
    }
}

pub(super) fn read(bytes: &[u8]) -> Result<PlanFile, Error> {
    fence::guard(|| {
        let mut archive = Archive::open(bytes)?;
        // The version first: arrays of another one may be others.
        let header = archive.needed::<u8>(HEADER)?;
        let header = Unchecked::new(&header)?;
        archive.refuse_others()?;
        // The header is hashed without its checksum, and last.
        archive.hash = Xxh3::new();
        let indices = archive.needed("indices")?;
        let ends = archive.needed("ends")?;
        let batch_lengths = archive.needed("batch_lengths")?;
        let positions = archive.needed("positions")?;
        let seconds = (archive.array("second_batch_lengths")?, archive.array("second_positions")?);
        let pieces = archive.pieces()?;
        let over_long = archive.array("over_long")?.unwrap_or_default();
        let ids = archive.ids()?;
        let mut content = header.content(archive.hash)?;
        let chunks = pieces.map(Pieces::chunks).transpose();
        content.chunks = chunks.map_err(|why| not_a_plan(&why))?;
        content.over_long = over_long;
        // Not before the checksum is right: what is wrong then is not by chance.
        let ids = ids.map(|(bytes, ends)| Ids::of_bytes(bytes, ends)).transpose();
        content.ids = ids.map_err(|why| not_a_plan(&why))?;
        content.batches.all = indices;
        content.batches.ends = ends;
        content.batch_lengths = batch_lengths;
        content.positions = positions;
        content.seconds = Seconds::of(seconds.0, seconds.1)?;
        content.file()
    })
}

/// The bytes of all ids, and where each ends.
type IdArrays = (Vec<u8>, Vec<u64>);

struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    /// How many bytes the arrays may still have: each is in the file, and in no other.
    left: u64,
    hash: Xxh3,
}

impl<'a> Archive<'a> {
    fn open(bytes: &'a [u8]) -> Result<Self, Error> {
        let zip = ZipArchive::new(Cursor::new(bytes)).map_err(|error| refused(&error))?;
        Ok(Self { zip, left: bytes.len() as u64, hash: Xxh3::new() })
    }

    fn refuse_others(&self) -> Result<(), Error> {
        for name in self.zip.file_names() {
            let name = name.map_err(|error| refused(&error))?;
            if !name.strip_suffix(".npy").is_some_and(|name| ARRAYS.contains(&name)) {
                let name = shortened(&name, 40);
                return Err(not_a_plan(&format!("it has `{name}`, which no plan has")));
            }
        }
        Ok(())
    }

    fn needed<N: Number>(&mut self, name: &str) -> Result<Vec<N>, Error> {
        self.array(name)?.ok_or_else(|| not_a_plan(&format!("it has no array `{name}`")))
    }

    fn array<N: Number>(&mut self, name: &str) -> Result<Option<Vec<N>>, Error> {
        let wrong = |why: String| not_a_plan(&format!("array `{name}` {why}"));
        let entry = match self.zip.by_name(&format!("{name}.npy")) {
            Ok(entry) => entry,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(error) => return Err(refused(&error)),
        };
        let size = entry.size();
        if entry.compression() != CompressionMethod::Stored {
            return Err(wrong("is packed".to_owned()));
        }
        let Some(left) = self.left.checked_sub(size) else {
            return Err(wrong("has more bytes than the file".to_owned()));
        };
        self.left = left;
        let mut bytes = Vec::with_capacity(size as usize);
        // One byte more than there should be, so that the zip's own checksum is looked at.
        let read = entry.take(size + 1).read_to_end(&mut bytes);
        read.map_err(|error| wrong(format!("cannot be read: {error}")))?;
        let numbers = npy::numbers::<N>(&bytes).map_err(wrong)?;
        self.hash.update(numbers);
        Ok(Some(numbers.chunks_exact(N::SIZE).map(N::get).collect()))
    }

    /// Both arrays of the ids, or none.
    fn ids(&mut self) -> Result<Option<IdArrays>, Error> {
        match (self.array("id_bytes")?, self.array("id_ends")?) {
            (None, None) => Ok(None),
            (Some(bytes), Some(ends)) => Ok(Some((bytes, ends))),
            (bytes, _) => {
                let missing = if bytes.is_none() { "id_bytes" } else { "id_ends" };
                Err(not_a_plan(&format!("it has no array `{missing}`")))
            }
        }
    }

    /// All arrays of the pieces, or none.
    fn pieces(&mut self) -> Result<Option<Pieces>, Error> {
        let Some(sequences) = self.array("piece_sequences")? else {
            let others = [self.array::<u32>("piece_offsets")?, self.array("piece_lengths")?];
            return match others {
                [None, None] => Ok(None),
                _ => Err(not_a_plan("it has no array `piece_sequences`")),
            };
        };
        let (offsets, lengths) = (self.needed("piece_offsets")?, self.needed("piece_lengths")?);
        Ok(Some(Pieces { sequences, offsets, lengths }))
    }
}

fn refused(error: &ZipError) -> Error {
    not_a_plan(match error {
        ZipError::UnsupportedArchive(_) => "its zip is packed or encrypted",
        _ => "its zip is cut off or damaged",
    })
}
