//! Arrow files and streams: one column of them, and the one with the ids. A file is a stream with a magic before
//! it and an index after it, so both are read from the front, and may come from a pipe. The library reserves
//! memory for whatever a message declares, so it only sees messages whose sizes are true.

mod arrays;

use std::{collections::HashMap, io::Read};

use arrow_array::ArrayRef;
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_ipc::{Message, MessageHeader, RecordBatch, root_as_message};
use arrow_schema::{ArrowError, DataType, FieldRef, Fields, Schema, SchemaRef};

use crate::error::Error;
use crate::guard::guarded;
use crate::read::{cells::Cells, column::Column, columns, request::Request};

pub(crate) fn read<R: Read>(reader: R, request: &Request) -> Result<Column, Error> {
    guarded(
        || {
            let mut frames = Frames::new(reader)?;
            // The schema is the first message.
            let first = frames.next()?.ok_or_else(damaged)?;
            let schema = first.message()?.header_as_schema().ok_or_else(damaged)?;
            let schema: SchemaRef = try_fb_to_schema(schema).map_err(|_| damaged())?.into();
            let choice = Choice::new(&schema, request)?;
            let read = schema.project(&choice.columns).map_err(|_| damaged())?;
            let mut words = HashMap::new();
            let mut cells = Cells::new(request, &choice.length.name);
            // Polars writes dictionaries behind the rows that need them.
            let mut waiting = Vec::new();
            while let Some(frame) = frames.next()? {
                match frame.message()?.header_type() {
                    MessageHeader::RecordBatch => waiting.push(frame),
                    MessageHeader::DictionaryBatch => dictionary(&frame, &read, &mut words)?,
                    _ => return Err(damaged()),
                }
                if !lacks(read.fields(), &words) {
                    for frame in waiting.drain(..) {
                        rows(&frame, &schema, &choice, &words, &mut cells)?;
                    }
                }
            }
            match waiting.first() {
                None => Ok(cells.column),
                Some(_) => Err(damaged()),
            }
        },
        damaged,
    )
}

fn rows(
    frame: &Frame,
    schema: &SchemaRef,
    choice: &Choice,
    words: &HashMap<i64, ArrayRef>,
    cells: &mut Cells,
) -> Result<(), Error> {
    let message = frame.message()?;
    let batch = message.header_as_record_batch().ok_or_else(damaged)?;
    frame.check(&batch)?;
    let columns = Some(&choice.columns[..]);
    let version = message.version();
    let batch = read_record_batch(&frame.body, batch, schema.clone(), words, columns, &version);
    let batch = batch.map_err(|cause| refuse(&cause))?;
    let inside = |place: &Place| {
        arrays::inside(batch.column(choice.read_as(place)), &place.path).ok_or_else(damaged)
    };
    let (array, cut) = inside(&choice.length)?;
    arrays::lengths(array.as_ref(), &choice.length.name, cells)?;
    if cut {
        return Err(cells.null());
    }
    if let Some(id) = &choice.id {
        let (array, cut) = inside(id)?;
        arrays::ids(array.as_ref(), &id.name, cells)?;
        if cut {
            return cells.id(&id.name, None);
        }
    }
    Ok(())
}

/// Whether one of the columns, or what is in their lists, has a dictionary that was not there yet.
fn lacks(fields: &Fields, words: &HashMap<i64, ArrayRef>) -> bool {
    fields.iter().any(|field| match field.data_type() {
        DataType::List(inner) | DataType::LargeList(inner) | DataType::FixedSizeList(inner, _) => {
            lacks(&Fields::from(vec![inner.clone()]), words)
        }
        DataType::Struct(inner) => lacks(inner, words),
        DataType::Dictionary(_, _) => {
            #[expect(deprecated, reason = "the library has no other way to tell its dictionary")]
            let id = field.dict_id();
            id.is_some_and(|id| !words.contains_key(&id))
        }
        _ => false,
    })
}

/// Keeps the values of a dictionary, or adds to them, if it is one of a column that is read.
fn dictionary(
    frame: &Frame,
    read: &Schema,
    words: &mut HashMap<i64, ArrayRef>,
) -> Result<(), Error> {
    let message = frame.message()?;
    let batch = message.header_as_dictionary_batch().ok_or_else(damaged)?;
    #[expect(deprecated, reason = "the library has no other way to tell whose dictionary it is")]
    if read.fields_with_dict_id(batch.id()).is_empty() {
        return Ok(());
    }
    frame.check(&batch.data().ok_or_else(damaged)?)?;
    read_dictionary(&frame.body, batch, read, words, &message.version())
        .map_err(|cause| refuse(&cause))
}

/// Where a column is: one of the schema, or inside of structures, as `features.num_frames`.
#[derive(Clone)]
struct Place {
    name: String,
    column: usize,
    /// The way through the structures, by the places of their fields.
    path: Vec<usize>,
    field: FieldRef,
}

impl Place {
    /// The columns of the schema, and behind them all that is inside of structures.
    fn all(schema: &Schema) -> Vec<Self> {
        let mut all: Vec<Self> = (schema.fields().iter().enumerate())
            .map(|(column, field)| {
                let (name, field) = (field.name().clone(), field.clone());
                Self { name, column, path: Vec::new(), field }
            })
            .collect();
        let mut at = 0;
        while let Some(around) = all.get(at).cloned() {
            if let DataType::Struct(fields) = around.field.data_type() {
                all.extend(fields.iter().enumerate().map(|(place, field)| Self {
                    name: format!("{}.{}", around.name, field.name()),
                    column: around.column,
                    path: around.path.iter().copied().chain([place]).collect(),
                    field: field.clone(),
                }));
            }
            at += 1;
        }
        all
    }
}

struct Choice {
    length: Place,
    id: Option<Place>,
    /// Those of the schema that they are in, each once.
    columns: Vec<usize>,
}

impl Choice {
    fn new(schema: &Schema, request: &Request) -> Result<Self, Error> {
        let all = Place::all(schema);
        let names: Vec<&str> = all.iter().map(|place| place.name.as_str()).collect();
        let (numbered, habit) = (schema.fields().len(), request.measure.habit());
        let length = columns::choose(&names, numbered, request.column, habit)?;
        let id = request.ids.map(|wanted| columns::ids("column", &names, wanted)).transpose()?;
        let (length, id) = (all[length].clone(), id.map(|id| all[id].clone()));
        for place in [Some(&length), id.as_ref()].into_iter().flatten() {
            arrays::check(place.field.data_type(), &place.field)?;
            if !place.path.is_empty() {
                let around = schema.field(place.column);
                arrays::plain(around.data_type(), around)?;
            }
        }
        let mut columns = vec![length.column];
        columns.extend(id.as_ref().map(|id| id.column).filter(|&id| id != length.column));
        Ok(Self { length, id, columns })
    }

    /// Where a column of the file is in what was read of it.
    fn read_as(&self, place: &Place) -> usize {
        usize::from(self.columns[0] != place.column)
    }
}

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

/// The messages of an Arrow stream, each with its body. Bytes are read before memory is reserved for them,
/// never on the word of a header alone.
struct Frames<R> {
    reader: R,
    /// What was read to look for the magic, or for the next message, and belongs to it.
    head: Vec<u8>,
    /// Whether the next message is the first after the magic of a file.
    first: bool,
}

struct Frame {
    head: Vec<u8>,
    body: Buffer,
}

impl<R: Read> Frames<R> {
    fn new(mut reader: R) -> Result<Self, Error> {
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
    fn next(&mut self) -> Result<Option<Frame>, Error> {
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

fn damaged() -> Error {
    Error::damaged_data("Arrow")
}

fn not_arrow() -> Error {
    Error::new("is not an Arrow file, or is damaged")
        .hint_to("write it again, or give the file its right extension")
}

/// What the library complains about. Packing that this build cannot read is not damage.
fn refuse(cause: &ArrowError) -> Error {
    if cause.to_string().contains("zstd") && cfg!(not(feature = "zstd")) {
        return Error::not_built("read Arrow files compressed with zstd", "zstd");
    }
    damaged()
}

impl Frame {
    fn message(&self) -> Result<Message<'_>, Error> {
        root_as_message(&self.head).map_err(|_| damaged())
    }

    /// Whether what the message declares can be true.
    fn check(&self, batch: &RecordBatch) -> Result<(), Error> {
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
        match largest.filter(|&bytes| !crate::guard::fits_in_memory(bytes)) {
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
