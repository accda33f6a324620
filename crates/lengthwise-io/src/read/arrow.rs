//! Arrow files and streams: one column of them, and the one with the ids. A file is a stream with a magic before
//! it and an index after it, so both are read from the front, and may come from a pipe. The library reserves
//! memory for whatever a message declares, so it only sees messages whose sizes are true.

mod arrays;
mod frames;

use std::{collections::HashMap, io::Read};

use arrow_array::ArrayRef;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_ipc::{MessageHeader, convert::try_fb_to_schema};
use arrow_schema::{DataType, FieldRef, Fields, Schema, SchemaRef};

use self::frames::{Frame, Frames, damaged, refuse};
use crate::error::Error;
use crate::guard::guarded;
use crate::read::{cells::Cells, column::Column, columns, request::Request};

pub(crate) fn read<R: Read>(reader: R, request: &Request) -> Result<Column, Error> {
    guarded(
        || {
            let mut frames = Frames::new(reader)?;
            let schema = schema(&mut frames)?;
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

/// The schema, which is the first message.
fn schema<R: Read>(frames: &mut Frames<R>) -> Result<SchemaRef, Error> {
    let frame = frames.next()?.ok_or_else(damaged)?;
    let message = frame.message()?;
    let schema = message.header_as_schema().ok_or_else(damaged)?;
    try_fb_to_schema(schema).map(Into::into).map_err(|_| damaged())
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
