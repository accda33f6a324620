//! The messages of an Arrow stream, each with its body. Bytes are read before memory is reserved
//! for them, never on the word of a header alone.

use std::io::Read;

use arrow_buffer::Buffer;
use arrow_ipc::{Message, RecordBatch, root_as_message};
use arrow_schema::ArrowError;

use crate::error::Error;

const MAGIC: &[u8] = b"ARROW1\0\0";
const CONTINUE: [u8; 4] = [0xff; 4];

/// Descriptions of tables have kilobytes, and bodies megabytes.
const LARGEST_HEAD: u64 = 1 << 26;
const LARGEST_BODY: u64 = 1 << 32;
/// No description is as small as this.
const SMALLEST_HEAD: u64 = 16;
/// The most that one packed buffer may unpack to, and the most rows that a byte can stand for.
const LARGEST_BUFFER: u64 = 1 << 30;
const ROWS_PER_BYTE: u64 = 1 << 10;

pub(super) struct Frames<R> {
    reader: R,
    /// What was read to look for the magic, or for the next message, and belongs to it.
    head: Vec<u8>,
    /// Whether the next message is the first after the magic of a file.
    first: bool,
}

pub(super) struct Frame {
    head: Vec<u8>,
    pub(super) body: Buffer,
}

impl<R: Read> Frames<R> {
    pub(super) fn new(mut reader: R) -> Result<Self, Error> {
        let mut head = Vec::new();
        take(&mut reader, MAGIC.len() as u64, &mut head)?;
        if head.is_empty() {
            return Err(Error::no_lengths());
        }
        if head.starts_with(b"FEA1") {
            return Err(Error::new("is a Feather file of version 1")
                .hint_to("write it again as version 2, such as with `pyarrow.feather`"));
        }
        let first = head == MAGIC;
        if first {
            head.clear();
        }
        Ok(Self { reader, head, first })
    }

    /// The next message, or `None` at the mark of the end. A stream that ends without the mark may
    /// have lost its last rows.
    pub(super) fn next(&mut self) -> Result<Option<Frame>, Error> {
        let first = std::mem::replace(&mut self.first, false);
        let mut size = self.word()?;
        if size == CONTINUE {
            size = self.word()?;
        } else if first && u64::from(u32::from_le_bytes(size)) < SMALLEST_HEAD {
            let head = self.bare(size)?;
            return Ok(Some(Frame { head, body: Buffer::from_vec(Vec::<u8>::new()) }));
        }
        let size = u64::from(u32::from_le_bytes(size));
        if size == 0 {
            return Ok(None);
        }
        if size > LARGEST_HEAD {
            return Err(not_arrow());
        }
        let head = self.exactly(size)?;
        let length = root_as_message(&head).map_err(|_| not_arrow())?.bodyLength();
        let length = u64::try_from(length).ok().filter(|&length| length <= LARGEST_BODY);
        let body = self.exactly(length.ok_or_else(damaged)?)?;
        Ok(Some(Frame { head, body: Buffer::from_vec(body) }))
    }

    /// The schema of a file by Polars, which does not say how long it is: most readers take it from
    /// the end of the file, and never look. It reaches to the mark of the next message, which begins
    /// at a multiple of eight bytes.
    fn bare(&mut self, start: [u8; 4]) -> Result<Vec<u8>, Error> {
        let mut head = start.to_vec();
        head.extend(self.exactly(4)?);
        loop {
            let next = self.exactly(8)?;
            if next.starts_with(&CONTINUE) {
                self.head = next;
                return Ok(head);
            }
            head.extend(next);
            if head.len() as u64 > LARGEST_HEAD {
                return Err(not_arrow());
            }
        }
    }

    fn word(&mut self) -> Result<[u8; 4], Error> {
        let bytes = self.exactly(4)?;
        bytes.try_into().map_err(|_| damaged())
    }

    fn exactly(&mut self, count: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        let early = self.head.len().min(count as usize);
        bytes.extend(self.head.drain(..early));
        take(&mut self.reader, count - early as u64, &mut bytes)?;
        if bytes.len() as u64 == count { Ok(bytes) } else { Err(damaged()) }
    }
}

/// Reads up to `count` bytes; fewer only where the input ends.
fn take<R: Read>(reader: &mut R, count: u64, into: &mut Vec<u8>) -> Result<(), Error> {
    let read = reader.take(count).read_to_end(into);
    read.map(|_| ()).map_err(Error::io)
}

pub(super) fn damaged() -> Error {
    Error::damaged_data("Arrow")
}

fn not_arrow() -> Error {
    Error::new("is not an Arrow file, or is damaged")
        .hint_to("write it again, or give the file its right extension")
}

/// What the library complains about. Packing that this build cannot read is not damage.
pub(super) fn refuse(cause: &ArrowError) -> Error {
    if cause.to_string().contains("zstd") && cfg!(not(feature = "zstd")) {
        return Error::not_built("read Arrow files that are packed by zstd", "zstd");
    }
    damaged()
}

impl Frame {
    pub(super) fn message(&self) -> Result<Message<'_>, Error> {
        root_as_message(&self.head).map_err(|_| damaged())
    }

    /// Whether what the message declares can be true.
    pub(super) fn check(&self, batch: &RecordBatch) -> Result<(), Error> {
        let size = self.body.len() as u64;
        let rows = |rows: i64| {
            u64::try_from(rows).is_ok_and(|rows| rows <= size.saturating_mul(ROWS_PER_BYTE))
        };
        let nodes = batch.nodes().is_some_and(|nodes| nodes.iter().all(|node| rows(node.length())));
        let packed = batch.compression().is_some();
        let buffers = batch.buffers().is_some_and(|buffers| {
            buffers.iter().all(|buffer| self.fits(buffer.offset(), buffer.length(), packed))
        });
        if !(rows(batch.length()) && nodes && buffers) {
            return Err(damaged());
        }
        let largest = match batch.buffers().filter(|_| packed) {
            Some(all) => all.iter().map(|buffer| self.unpacked(buffer.offset())).max(),
            None => None,
        };
        match largest.filter(|&bytes| !crate::guard::room(bytes)) {
            Some(bytes) => Err(Error::no_room("a column of a batch of rows needs", bytes)),
            None => Ok(()),
        }
    }

    /// How many bytes a packed buffer that fits says it has.
    fn unpacked(&self, offset: i64) -> u64 {
        let bytes = usize::try_from(offset).ok().and_then(|at| self.body.as_slice().get(at..));
        let size = bytes.and_then(<[u8]>::first_chunk::<8>).copied().map_or(0, i64::from_le_bytes);
        u64::try_from(size).unwrap_or(0).min(LARGEST_BUFFER)
    }

    /// Whether a buffer lies inside the body, and if it is packed, whether the size that it begins
    /// with is likely. -1 stands for a buffer that was not worth packing.
    fn fits(&self, offset: i64, length: i64, packed: bool) -> bool {
        let bytes = usize::try_from(offset).ok().zip(usize::try_from(length).ok());
        let bytes =
            bytes.and_then(|(offset, length)| self.body.as_slice().get(offset..)?.get(..length));
        let Some(bytes) = bytes else { return false };
        if !packed || bytes.is_empty() {
            return true;
        }
        let Some(&size) = bytes.first_chunk::<8>() else { return false };
        let size = i64::from_le_bytes(size);
        let most = (1 << 20) + (bytes.len() as u64).saturating_mul(1 << 15);
        size == -1 || u64::try_from(size).is_ok_and(|size| size <= most.min(LARGEST_BUFFER))
    }
}
