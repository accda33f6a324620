//! Arrow arrays by type: which of them have lengths, and what ids they give.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, PrimitiveArray};
use arrow_schema::{DataType, Field};

use crate::cells::{Cells, wrong_type};
use crate::error::{Error, quote};

/// Refuses a column before anything of it is read.
pub(super) fn check(field: &Field) -> Result<(), Error> {
    use DataType as D;
    let kind = match field.data_type() {
        D::Int8
        | D::Int16
        | D::Int32
        | D::Int64
        | D::UInt8
        | D::UInt16
        | D::UInt32
        | D::UInt64
        | D::Float32
        | D::Float64
        | D::Utf8
        | D::LargeUtf8
        | D::Utf8View
        | D::Binary
        | D::LargeBinary
        | D::BinaryView => return Ok(()),
        D::List(_) | D::LargeList(_) | D::FixedSizeList(_, _) => {
            return plain(field.data_type(), field);
        }
        D::Dictionary(_, _) => {
            return Err(Error::new(format!("column {} is a dictionary", quote(field.name())))
                .hint_to("write the column with its values in full"));
        }
        D::Boolean => "booleans",
        D::Null => "nulls",
        D::Struct(_) => "structures",
        D::Float16 => "floats of 16 bits",
        _ => "values of another type",
    };
    Err(wrong_type(field.name(), kind))
}

/// A list may not hold dictionaries at any depth: they are in messages that are passed over.
fn plain(data_type: &DataType, field: &Field) -> Result<(), Error> {
    match data_type {
        DataType::List(inner) | DataType::LargeList(inner) | DataType::FixedSizeList(inner, _) => {
            plain(inner.data_type(), field)
        }
        DataType::Struct(fields) => {
            fields.iter().try_for_each(|inner| plain(inner.data_type(), field))
        }
        data_type if data_type.is_nested() => {
            Err(wrong_type(field.name(), "lists of another type"))
        }
        DataType::Dictionary(_, _) => Err(wrong_type(field.name(), "lists of dictionaries")),
        _ => Ok(()),
    }
}

pub(super) fn lengths(array: &dyn Array, name: &str, cells: &mut Cells) -> Result<(), Error> {
    use DataType as D;
    match array.data_type() {
        D::Int8 => numbers::<Int8Type>(array, cells, |cells, v| cells.signed(i64::from(v))),
        D::Int16 => numbers::<Int16Type>(array, cells, |cells, v| cells.signed(i64::from(v))),
        D::Int32 => numbers::<Int32Type>(array, cells, |cells, v| cells.signed(i64::from(v))),
        D::Int64 => numbers::<Int64Type>(array, cells, Cells::signed),
        D::UInt8 => numbers::<UInt8Type>(array, cells, |cells, v| cells.unsigned(u64::from(v))),
        D::UInt16 => numbers::<UInt16Type>(array, cells, |cells, v| cells.unsigned(u64::from(v))),
        D::UInt32 => numbers::<UInt32Type>(array, cells, |cells, v| cells.unsigned(u64::from(v))),
        D::UInt64 => numbers::<UInt64Type>(array, cells, Cells::unsigned),
        D::Float32 => numbers::<Float32Type>(array, cells, |cells, v| cells.real(f64::from(v))),
        D::Float64 => numbers::<Float64Type>(array, cells, Cells::real),
        D::Utf8 => texts(array.as_string::<i32>().iter(), cells),
        D::LargeUtf8 => texts(array.as_string::<i64>().iter(), cells),
        D::Utf8View => texts(array.as_string_view().iter(), cells),
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
        D::FixedSizeList(_, size) => {
            let size = u64::from(size.cast_unsigned());
            lists(array, cells, |_| size)
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
        _ => Err(Error::new(format!("column {} cannot name sequences", quote(name)))
            .hint_to("choose a column of strings or whole numbers with `--ids`")),
    }
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

fn numbers<'a, T: ArrowPrimitiveType>(
    array: &dyn Array,
    cells: &mut Cells<'a>,
    keep: impl Fn(&mut Cells<'a>, T::Native) -> Result<(), Error>,
) -> Result<(), Error> {
    let values: &PrimitiveArray<T> = array.as_primitive();
    for value in values {
        match value {
            Some(value) => keep(cells, value)?,
            None => return Err(cells.null()),
        }
    }
    Ok(())
}

fn texts<'a>(
    mut values: impl Iterator<Item = Option<&'a str>>,
    cells: &mut Cells,
) -> Result<(), Error> {
    values.try_for_each(|value| match value {
        Some(text) => cells.text(text),
        None => Err(cells.null()),
    })
}

fn bytes<'a>(
    mut values: impl Iterator<Item = Option<&'a [u8]>>,
    cells: &mut Cells,
) -> Result<(), Error> {
    values.try_for_each(|value| match value {
        Some(bytes) => cells.count(bytes.len() as u64, "binary data"),
        None => Err(cells.null()),
    })
}

fn lists(array: &dyn Array, cells: &mut Cells, count: impl Fn(usize) -> u64) -> Result<(), Error> {
    (0..array.len()).try_for_each(|row| {
        if array.is_null(row) { Err(cells.null()) } else { cells.count(count(row), "lists") }
    })
}
