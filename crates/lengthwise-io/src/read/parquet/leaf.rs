//! The columns of a Parquet file. A file keeps leaves of a tree; what a person calls a column is a
//! leaf, a leaf inside a structure (`features.num_frames`), or a list with leaves inside.

use ::parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use ::parquet::schema::types::{ColumnDescPtr, SchemaDescriptor, Type};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
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

/// One column.
pub(super) struct Leaf {
    pub(super) name: String,
    pub(super) index: usize,
    /// The definition level of a value that is there.
    pub(super) present: i16,
    pub(super) physical: Physical,
    pub(super) kind: Kind,
    /// Of a list, the definition level from which on it has elements.
    pub(super) repeated: Option<i16>,
}

impl Leaf {
    /// All columns in order. Of a list of structures the first leaf stands for all of them.
    pub(super) fn all(schema: &SchemaDescriptor) -> Vec<Leaf> {
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
