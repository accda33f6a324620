//! Parquet files: one column of them, and the one with the ids. Pages of other columns are never
//! read. The footer and every page header are [guarded](Guarded) before the library sees them.

use std::{collections::HashMap, fs::File, sync::Arc};

use ::parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArrayType, FloatType,
    Int32Type, Int64Type, Int96Type,
};
use ::parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use ::parquet::schema::types::{ColumnDescPtr, SchemaDescriptor, Type};
use ::parquet::{errors::ParquetError, file::reader::Length as _};

use crate::error::Error;
use crate::guard::guarded;
use crate::guard::parquet::{
    DEEPEST, Guarded, NoRoom, Pages, Refused, Stop, VALUES_PER_BYTE, records,
};
use crate::read::cells::{Cells, no_names, wrong_type};
use crate::read::request::{Measure, Request};
use crate::read::{column::Column, columns, open::Progress};

/// How many rows are read at a time.
const PIECE: usize = 4096;

pub(crate) fn read(
    file: File,
    request: &Request,
    progress: &mut dyn FnMut(Progress),
) -> Result<Column, Error> {
    guarded(
        || {
            let file = Guarded::of_file(file, Pages::Packed);
            let file = Arc::new(file.map_err(Error::io)?);
            let metadata = metadata(&file)?;
            columns_of(&file, &metadata, request, progress)
        },
        damaged,
    )
}

/// The metadata of the file, if it does not claim more rows than its bytes can stand for.
fn metadata(file: &Guarded) -> Result<ParquetMetaData, Error> {
    if file.len() == 0 {
        return Err(Error::no_lengths());
    }
    match file.metadata() {
        Ok((metadata, rows)) if rows <= file.len().saturating_mul(VALUES_PER_BYTE) => Ok(metadata),
        Err(Refused::Beginning) => {
            Err(Error::new("is not a Parquet file: it does not begin with `PAR1`")
                .hint_to("give the file its right extension, or say {format}"))
        }
        Err(Refused::Schema(Stop::Deep)) => {
            Err(Error::new(format!("its columns are nested more than {DEEPEST} deep"))
                .hint_to("write a file with the column of lengths alone"))
        }
        _ => Err(damaged()),
    }
}

fn columns_of(
    file: &Arc<Guarded>,
    metadata: &ParquetMetaData,
    request: &Request,
    progress: &mut dyn FnMut(Progress),
) -> Result<Column, Error> {
    let leaves = Leaf::all(metadata.file_metadata().schema_descr());
    let names: Vec<&str> = leaves.iter().map(|leaf| leaf.name.as_str()).collect();
    let index = columns::choose(&names, names.len(), request.column, request.measure.habit())?;
    let id = request.ids.map(|wanted| columns::ids("column", &names, wanted)).transpose()?;
    let mut cells = Cells::new(request, names[index]);
    let read = [Some(index), id].map(|leaf| leaf.map(|leaf| leaves[leaf].index));
    let size = |group: &RowGroupMetaData| -> u64 {
        let columns = read.iter().flatten().filter_map(|&column| group.columns().get(column));
        columns.map(|column| column.compressed_size().max(0).cast_unsigned()).sum()
    };
    let of = metadata.row_groups().iter().map(size).fold(0, u64::saturating_add);
    let rows = |group: &RowGroupMetaData| u64::try_from(group.num_rows()).unwrap_or(u64::MAX);
    let all = metadata.row_groups().iter().map(rows).fold(0, u64::saturating_add);
    let mut done = 0_u64;
    for group in metadata.row_groups() {
        let before = cells.column.count();
        cells.column.make_room(rows(group), all)?;
        Part { file, group, leaf: &leaves[index] }.lengths(&mut cells)?;
        if (cells.column.count() - before) as u64 != rows(group) {
            return Err(damaged());
        }
        if let Some(id) = id {
            Part { file, group, leaf: &leaves[id] }.ids(&mut cells)?;
        }
        // Bytes of the columns that are read; a group is some tens of megabytes.
        done = done.saturating_add(size(group));
        progress(Progress::Bytes { done, of });
    }
    if cells.column.ids.as_ref().is_some_and(|ids| ids.len() != cells.column.count()) {
        return Err(damaged());
    }
    Ok(cells.column)
}

struct Part<'a> {
    file: &'a Arc<Guarded>,
    group: &'a RowGroupMetaData,
    leaf: &'a Leaf,
}

impl Part<'_> {
    fn lengths(&self, cells: &mut Cells) -> Result<(), Error> {
        let leaf = self.leaf;
        if let Some(level) = leaf.repeated {
            return match leaf.physical {
                Physical::BOOLEAN => self.lists::<BoolType>(level, cells),
                Physical::INT32 => self.lists::<Int32Type>(level, cells),
                Physical::INT64 => self.lists::<Int64Type>(level, cells),
                Physical::INT96 => self.lists::<Int96Type>(level, cells),
                Physical::FLOAT => self.lists::<FloatType>(level, cells),
                Physical::DOUBLE => self.lists::<DoubleType>(level, cells),
                Physical::BYTE_ARRAY => self.lists::<ByteArrayType>(level, cells),
                Physical::FIXED_LEN_BYTE_ARRAY => self.lists::<FixedLenByteArrayType>(level, cells),
            };
        }
        match leaf.kind {
            Kind::Signed32 => self.scalars::<Int32Type>(|value| {
                cells.number(value.map(|&value| i64::from(value)), Measure::signed)
            }),
            Kind::Unsigned32 => self.scalars::<Int32Type>(|value| {
                let value = value.map(|value| u64::from(value.cast_unsigned()));
                cells.number(value, Measure::unsigned)
            }),
            Kind::Signed64 => {
                self.scalars::<Int64Type>(|value| cells.number(value.copied(), Measure::signed))
            }
            Kind::Unsigned64 => self.scalars::<Int64Type>(|value| {
                cells.number(value.map(|value| value.cast_unsigned()), Measure::unsigned)
            }),
            Kind::Float => self.scalars::<FloatType>(|value| {
                cells.number(value.map(|&value| f64::from(value)), Measure::real)
            }),
            Kind::Double => {
                self.scalars::<DoubleType>(|value| cells.number(value.copied(), Measure::real))
            }
            Kind::Text => {
                let mut seen = Seen::default();
                self.scalars::<ByteArrayType>(|value| {
                    let value = value.ok_or_else(|| cells.null())?;
                    let length = seen.length(value, |text| cells.length(utf8(text)?))?;
                    cells.column.push(length)
                })
            }
            Kind::Bytes => self.scalars::<ByteArrayType>(|value| {
                cells.count(value.map(|value| value.len() as u64), "binary data")
            }),
            Kind::Other(kind) => Err(wrong_type(&leaf.name, kind)),
        }
    }

    fn ids(&self, cells: &mut Cells) -> Result<(), Error> {
        let name = &self.leaf.name;
        match (self.leaf.repeated, self.leaf.kind) {
            (None, Kind::Text) => self.scalars::<ByteArrayType>(|value| {
                cells.id(name, value.map(|value| utf8(value.data())).transpose()?)
            }),
            (None, Kind::Signed32 | Kind::Unsigned32) => self.scalars::<Int32Type>(|value| {
                cells.id(name, value.map(ToString::to_string).as_deref())
            }),
            (None, Kind::Signed64 | Kind::Unsigned64) => self.scalars::<Int64Type>(|value| {
                cells.id(name, value.map(ToString::to_string).as_deref())
            }),
            _ => Err(no_names(name)),
        }
    }

    /// Hands every value on in turn, and a null as `None`.
    fn scalars<T: DataType>(
        &self,
        mut each: impl FnMut(Option<&T::T>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let present = self.leaf.present;
        self.pieces::<T>(|levels, _, values| {
            let mut values = values.iter();
            for &level in levels {
                each(if level == present { values.next() } else { None })?;
            }
            // A column without nulls has no levels.
            values.try_for_each(|value| each(Some(value)))
        })
    }

    /// Counts the elements of every list. `full` is the level from which on there are elements;
    /// one below it the list is empty, and below that it is null.
    fn lists<T: DataType>(&self, full: i16, cells: &mut Cells) -> Result<(), Error> {
        self.pieces::<T>(|levels, repeats, _| {
            let mut open: Option<u64> = None;
            for (&level, &repeat) in levels.iter().zip(repeats) {
                if repeat == 0 {
                    if let Some(count) = open.take() {
                        cells.count(Some(count), "lists")?;
                    }
                    if level < full - 1 {
                        return Err(cells.null());
                    }
                    open = Some(u64::from(level >= full));
                } else if repeat == 1 {
                    open = open.map(|count| count + 1);
                }
            }
            open.map_or(Ok(()), |count| cells.count(Some(count), "lists"))
        })
    }

    /// Reads a few thousand whole rows at a time: levels, repetitions and values.
    fn pieces<T: DataType>(
        &self,
        each: impl FnMut(&[i16], &[i16], &[T::T]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let chunk = self.group.columns().get(self.leaf.index).ok_or_else(damaged)?;
        let rows = usize::try_from(self.group.num_rows()).map_err(|_| damaged())?;
        records::<T, _>(self.file, chunk, (rows, PIECE), refuse, each)
    }
}

fn damaged() -> Error {
    Error::damaged_data("Parquet")
}

fn utf8(text: &[u8]) -> Result<&str, Error> {
    str::from_utf8(text)
        .map_err(|_| Error::new("a string is not valid UTF-8").hint_to("write the file again"))
}

/// What the library complains about. Packing that this build cannot read is not damage.
fn refuse(cause: &ParquetError) -> Error {
    if let Some(bytes) = NoRoom::bytes_in(cause) {
        return Error::no_room("a page of the column needs", bytes);
    }
    let text = cause.to_string();
    if text.contains("zstd") && cfg!(not(feature = "zstd")) {
        return Error::not_built("read Parquet files compressed with zstd", "zstd");
    }
    if text.contains("feature") {
        return Error::new("the compression of the column is not supported")
            .hint_to("write the file again with snappy, gzip, lz4 or no compression");
    }
    damaged()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Signed32,
    Unsigned32,
    Signed64,
    Unsigned64,
    Float,
    Double,
    Text,
    Bytes,
    /// Something without a length, in words.
    Other(&'static str),
}

/// One column. A file keeps leaves of a tree; what a person calls a column is a leaf, a leaf inside a
/// structure (`features.num_frames`), or a list with leaves inside.
struct Leaf {
    name: String,
    index: usize,
    /// The definition level of a value that is there.
    present: i16,
    physical: Physical,
    kind: Kind,
    /// Of a list, the definition level from which on it has elements.
    repeated: Option<i16>,
}

impl Leaf {
    /// All columns in order. Of a list of structures the first leaf stands for all of them.
    fn all(schema: &SchemaDescriptor) -> Vec<Leaf> {
        let mut all: Vec<Leaf> = Vec::new();
        for (index, column) in schema.columns().iter().enumerate() {
            let (name, repeated) = place(schema.root_schema(), column.path().parts());
            let same = all.last().is_some_and(|last| last.repeated.is_some() && last.name == name);
            if repeated.is_some() && same {
                continue;
            }
            let (present, physical) = (column.max_def_level(), column.physical_type());
            all.push(Leaf { name, index, present, physical, kind: kind(column), repeated });
        }
        all
    }
}

/// The name of a leaf, and its level if it is in a list. A list is named by the group that is
/// marked as one, not by what the writer calls the parts inside.
fn place(root: &Type, parts: &[String]) -> (String, Option<i16>) {
    let mut node = root;
    let mut level = 0;
    for (depth, part) in parts.iter().enumerate() {
        let Some(next) = node.get_fields().iter().find(|field| field.name() == part) else { break };
        let about = next.get_basic_info();
        match about.repetition() {
            Repetition::REQUIRED => {}
            Repetition::OPTIONAL => level += 1,
            Repetition::REPEATED => {
                let around = node.get_basic_info();
                let marked = around.converted_type() == ConvertedType::LIST
                    || matches!(around.logical_type_ref(), Some(LogicalType::List));
                let named = if marked { depth } else { depth + 1 };
                return (parts[..named].join("."), Some(level + 1));
            }
        }
        if next.is_primitive() {
            break;
        }
        node = next;
    }
    (parts.join("."), None)
}

fn kind(column: &ColumnDescPtr) -> Kind {
    use ConvertedType as C;
    let logical = column.logical_type_ref();
    let converted = column.converted_type();
    let unsigned = matches!(converted, C::UINT_8 | C::UINT_16 | C::UINT_32 | C::UINT_64);
    let whole = unsigned
        || matches!(converted, C::NONE | C::INT_8 | C::INT_16 | C::INT_32 | C::INT_64)
            && matches!(logical, None | Some(LogicalType::Integer(_)));
    match column.physical_type() {
        Physical::INT32 if unsigned => Kind::Unsigned32,
        Physical::INT64 if unsigned => Kind::Unsigned64,
        Physical::INT32 if whole => Kind::Signed32,
        Physical::INT64 if whole => Kind::Signed64,
        Physical::INT32 | Physical::INT64 => Kind::Other("dates, times or decimals"),
        Physical::FLOAT => Kind::Float,
        Physical::DOUBLE => Kind::Double,
        Physical::BYTE_ARRAY => match (converted, logical) {
            (C::UTF8 | C::ENUM | C::JSON, _)
            | (_, Some(LogicalType::String | LogicalType::Enum | LogicalType::Json)) => Kind::Text,
            (C::NONE, None) => Kind::Bytes,
            _ => Kind::Other("decimals or other binary values"),
        },
        Physical::BOOLEAN => Kind::Other("booleans"),
        Physical::INT96 => Kind::Other("times"),
        Physical::FIXED_LEN_BYTE_ARRAY => Kind::Other("binary values of one size"),
    }
}

/// Shorter texts are counted sooner than looked up.
const LONG: usize = 1 << 8;

/// How many bytes of texts are remembered, or a few more; those of a dictionary are there anyway.
const MOST_BYTES: usize = 1 << 28;

/// The long texts that came last. A dictionary has each once, and any number of rows may mean it; forty
/// megabytes should not be counted twenty thousand times. By where a text is and how long, it is known
/// again: it is kept, so that nothing else can be there.
#[derive(Default)]
struct Seen {
    now: Generation,
    before: Generation,
}

#[derive(Default)]
struct Generation {
    lengths: HashMap<(usize, usize), (ByteArray, u32)>,
    bytes: usize,
}

impl Seen {
    /// The length of a text, which `count` counts if it is not known.
    fn length(
        &mut self,
        text: &ByteArray,
        count: impl FnOnce(&[u8]) -> Result<u32, Error>,
    ) -> Result<u32, Error> {
        let data = text.data();
        if data.len() < LONG {
            return count(data);
        }
        let key = (data.as_ptr().addr(), data.len());
        if let Some(&(_, length)) = self.now.lengths.get(&key) {
            return Ok(length);
        }
        let length = match self.before.lengths.get(&key) {
            Some(&(_, length)) => length,
            None => count(data)?,
        };
        self.now.bytes += data.len();
        self.now.lengths.insert(key, (text.clone(), length));
        if self.now.bytes > MOST_BYTES {
            self.before = std::mem::take(&mut self.now);
        }
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_counted_once() {
        let mut seen = Seen::default();
        let mut counted = 0;
        let texts = [vec![b'a'; LONG], vec![b'b'; LONG], vec![b'c'; LONG - 1]].map(ByteArray::from);
        for round in 0..3 {
            for (index, text) in texts.iter().enumerate() {
                let length = seen.length(&text.clone(), |_| {
                    counted += 1;
                    Ok(index as u32)
                });
                assert_eq!(length.unwrap(), index as u32);
            }
            assert_eq!(counted, 3 + round, "the short one every time");
        }
        // Another text of the same content is another.
        let other = ByteArray::from(vec![b'a'; LONG]);
        assert_eq!(seen.length(&other, |_| Ok(7)).unwrap(), 7);
    }

    #[test]
    fn not_everything_is_remembered() {
        let mut seen = Seen::default();
        let large = ByteArray::from(vec![b'a'; MOST_BYTES / 2]);
        for _ in 0..5 {
            assert_eq!(seen.length(&ByteArray::from(large.data().to_vec()), |_| Ok(1)).unwrap(), 1);
            assert!(seen.now.bytes <= MOST_BYTES && seen.before.lengths.len() <= 3);
        }
    }
}
