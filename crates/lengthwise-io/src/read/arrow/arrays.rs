//! Arrow arrays by type: which of them have lengths, and what ids they give.

use std::{collections::HashMap, fmt::Display};

use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray, cast::AsArray};
use arrow_schema::{DataType, Field};

use crate::error::Error;
use crate::read::cells::{Cells, no_names, wrong_type};
use crate::read::{number::Reason, request::Measure};

/// What is inside of structures, by the places of its fields, up to the first row that one of them has
/// not; and whether there is such a row.
pub(super) fn inside(array: &ArrayRef, path: &[usize]) -> Option<(ArrayRef, bool)> {
    let mut array = array.clone();
    let mut rows = array.len();
    for &place in path {
        let structure = array.as_struct_opt()?;
        rows = (0..rows).find(|&row| structure.is_null(row)).unwrap_or(rows);
        array = structure.columns().get(place)?.clone();
    }
    let cut = rows < array.len();
    Some((array.slice(0, rows), cut))
}

/// Refuses a column before anything of it is read.
pub(super) fn check(data_type: &DataType, field: &Field) -> Result<(), Error> {
    use DataType as D;
    let kind = match data_type {
        D::Float32 | D::Float64 | D::Binary | D::LargeBinary | D::BinaryView => return Ok(()),
        whole_or_text if whole_or_text.is_integer() || whole_or_text.is_string() => return Ok(()),
        D::List(_) | D::LargeList(_) | D::FixedSizeList(_, _) => {
            return plain(data_type, field);
        }
        D::Dictionary(_, values) if matches!(**values, D::Dictionary(_, _)) => {
            "dictionaries of dictionaries"
        }
        // The length of a row is that of the value it means.
        D::Dictionary(_, values) => return check(values, field),
        D::Boolean => "booleans",
        D::Null => "nulls",
        D::Struct(_) => "structures",
        D::Float16 => "floats of 16 bits",
        _ => "values of another type",
    };
    Err(wrong_type(field.name(), kind))
}

/// What a list holds, and what is beside a field in a structure, is not looked at, but the library must
/// be able to read it.
pub(super) fn plain(data_type: &DataType, field: &Field) -> Result<(), Error> {
    match data_type {
        DataType::List(inner) | DataType::LargeList(inner) | DataType::FixedSizeList(inner, _) => {
            plain(inner.data_type(), field)
        }
        DataType::Struct(fields) => {
            fields.iter().try_for_each(|inner| plain(inner.data_type(), field))
        }
        DataType::Dictionary(_, values) => plain(values, field),
        other if other.is_nested() => Err(wrong_type(field.name(), "lists of another type")),
        _ => Ok(()),
    }
}

pub(super) fn lengths(array: &dyn Array, name: &str, cells: &mut Cells) -> Result<(), Error> {
    use DataType as D;
    match array.data_type() {
        D::Int8 => numbers::<Int8Type, _>(array, cells, Measure::signed),
        D::Int16 => numbers::<Int16Type, _>(array, cells, Measure::signed),
        D::Int32 => numbers::<Int32Type, _>(array, cells, Measure::signed),
        D::Int64 => numbers::<Int64Type, _>(array, cells, Measure::signed),
        D::UInt8 => numbers::<UInt8Type, _>(array, cells, Measure::unsigned),
        D::UInt16 => numbers::<UInt16Type, _>(array, cells, Measure::unsigned),
        D::UInt32 => numbers::<UInt32Type, _>(array, cells, Measure::unsigned),
        D::UInt64 => numbers::<UInt64Type, _>(array, cells, Measure::unsigned),
        D::Float32 => numbers::<Float32Type, _>(array, cells, Measure::real),
        D::Float64 => numbers::<Float64Type, _>(array, cells, Measure::real),
        D::Utf8 => array.as_string::<i32>().iter().try_for_each(|text| cells.text(text)),
        D::LargeUtf8 => array.as_string::<i64>().iter().try_for_each(|text| cells.text(text)),
        D::Utf8View => array.as_string_view().iter().try_for_each(|text| cells.text(text)),
        D::Binary => bytes(array.as_binary::<i32>().iter(), cells),
        D::LargeBinary => bytes(array.as_binary::<i64>().iter(), cells),
        D::BinaryView => bytes(array.as_binary_view().iter(), cells),
        D::List(_) => {
            let list = array.as_list::<i32>();
            lists(array, cells, |row| u64::from(list.value_length(row).cast_unsigned()))
        }
        D::LargeList(_) => {
            let list = array.as_list::<i64>();
            lists(array, cells, |row| list.value_length(row).cast_unsigned())
        }
        D::FixedSizeList(_, size) => lists(array, cells, |_| u64::from(size.cast_unsigned())),
        D::Dictionary(_, _) => {
            // A value may be long, and any number of rows may mean it.
            let mut known: HashMap<usize, u32> = HashMap::new();
            looked_up(array, |value| {
                let Some((key, value)) = value else { return Err(cells.null()) };
                if let Some(&length) = known.get(&key) {
                    return cells.column.push(length);
                }
                lengths(value().as_ref(), name, cells)?;
                known.extend(cells.column.lengths.last().map(|&length| (key, length)));
                Ok(())
            })
        }
        _ => Err(wrong_type(name, "values of another type")),
    }
}

pub(super) fn ids(array: &dyn Array, name: &str, cells: &mut Cells) -> Result<(), Error> {
    use DataType as D;
    match array.data_type() {
        D::Utf8 => array.as_string::<i32>().iter().try_for_each(|id| cells.id(name, id)),
        D::LargeUtf8 => array.as_string::<i64>().iter().try_for_each(|id| cells.id(name, id)),
        D::Utf8View => array.as_string_view().iter().try_for_each(|id| cells.id(name, id)),
        D::Int32 => whole::<Int32Type>(array, name, cells),
        D::Int64 => whole::<Int64Type>(array, name, cells),
        D::UInt32 => whole::<UInt32Type>(array, name, cells),
        D::UInt64 => whole::<UInt64Type>(array, name, cells),
        D::Dictionary(_, _) => looked_up(array, |value| match value {
            Some((_, value)) => ids(value().as_ref(), name, cells),
            None => cells.id(name, None),
        }),
        _ => Err(no_names(name)),
    }
}

/// Hands on the key of every row of a dictionary with its value, as an array of one, or nothing if it
/// is null.
fn looked_up(
    array: &dyn Array,
    mut each: impl FnMut(Option<(usize, &dyn Fn() -> ArrayRef)>) -> Result<(), Error>,
) -> Result<(), Error> {
    let dictionary = array.as_any_dictionary();
    let values = dictionary.values();
    // Without values there are no keys but nulls; the library has looked at that.
    let keys = if values.is_empty() { Vec::new() } else { dictionary.normalized_keys() };
    (0..array.len()).try_for_each(|row| match keys.get(row) {
        Some(&key) if !array.is_null(row) => each(Some((key, &|| values.slice(key, 1)))),
        _ => each(None),
    })
}

fn whole<T: ArrowPrimitiveType>(
    array: &dyn Array,
    name: &str,
    cells: &mut Cells,
) -> Result<(), Error>
where
    T::Native: ToString,
{
    let values: &PrimitiveArray<T> = array.as_primitive();
    values.iter().try_for_each(|id| cells.id(name, id.map(|id| id.to_string()).as_deref()))
}

fn numbers<T: ArrowPrimitiveType, N: From<T::Native> + Copy + Display>(
    array: &dyn Array,
    cells: &mut Cells,
    length: impl Fn(&Measure, N) -> Result<u32, Reason>,
) -> Result<(), Error> {
    let values: &PrimitiveArray<T> = array.as_primitive();
    values.iter().try_for_each(|value| cells.number(value.map(N::from), &length))
}

fn bytes<'a>(
    mut values: impl Iterator<Item = Option<&'a [u8]>>,
    cells: &mut Cells,
) -> Result<(), Error> {
    values.try_for_each(|value| cells.count(value.map(|bytes| bytes.len() as u64), "binary data"))
}

fn lists(array: &dyn Array, cells: &mut Cells, count: impl Fn(usize) -> u64) -> Result<(), Error> {
    (0..array.len()).try_for_each(|row| {
        let count = (!array.is_null(row)).then(|| count(row));
        cells.count(count, "lists")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::IdColumn;
    use crate::read::request::Request;
    use arrow_array::{DictionaryArray, Int32Array, StructArray};
    use std::sync::Arc;

    #[test]
    fn inside_of_structures() {
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![Some(3), Some(4), None]));
        let field = Arc::new(Field::new("len", DataType::Int32, true));
        let around = |array: ArrayRef, field: Arc<Field>, valid: Vec<bool>| -> ArrayRef {
            Arc::new(StructArray::new(vec![field].into(), vec![array], Some(valid.into())))
        };
        let inner = around(numbers, field, vec![true, true, true]);
        let field = Arc::new(Field::new("inner", inner.data_type().clone(), true));
        let outer = around(inner.clone(), field, vec![true, false, true]);
        let (whole, cut) = inside(&inner, &[0]).unwrap();
        assert_eq!((whole.len(), cut), (3, false));
        // The second row has a number, in a structure that is not there.
        let (part, cut) = inside(&outer, &[0, 0]).unwrap();
        assert_eq!((part.as_primitive::<Int32Type>().values().to_vec(), cut), (vec![3], true));
        assert_eq!(inside(&inner, &[]).map(|(_, cut)| cut), Some(false));
        assert!(inside(&inner, &[1]).is_none() && inside(&inner, &[0, 0]).is_none());
    }

    #[test]
    fn rows_of_a_dictionary() {
        let request = Request { ids: Some(&IdColumn::Usual), ..Request::plain(Some("text")) };
        let whole: DictionaryArray<Int8Type> = ["bb", "a", "bb"].into_iter().collect();
        let mut cells = Cells::new(&request, "text");
        lengths(&whole, "text", &mut cells).unwrap();
        ids(&whole, "text", &mut cells).unwrap();
        assert_eq!(cells.column.lengths, [2, 1, 2]);
        assert!(cells.column.ids.unwrap().iter().eq(["bb", "a", "bb"]));

        // Without a value, with one, and with none at all.
        for gaps in [vec![None, Some("a")], vec![Some("a"), None], vec![None]] {
            let row = 1 + gaps.iter().position(Option::is_none).unwrap();
            let gaps: DictionaryArray<Int8Type> = gaps.into_iter().collect();
            let mut cells = Cells::new(&request, "text");
            let error = lengths(&gaps, "text", &mut cells).unwrap_err().to_string();
            assert!(error.contains(&format!("row {row} of column `text` is null")), "{error}");
            assert!(ids(&gaps, "text", &mut Cells::new(&request, "text")).is_err());
        }
    }
}
