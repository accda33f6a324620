//! One array: a line about it, and its numbers, little-endian.

use std::io::Read;

use crate::text::{quote, shortened};

use super::super::document::Wrong;

/// A number that arrays have.
pub(super) trait Number: Copy {
    /// What NumPy calls it.
    const TYPE: &'static str;
    const SIZE: usize;

    /// Adds its bytes.
    fn put(self, bytes: &mut Vec<u8>);
    /// The number that these bytes are, of which there are as many as it has.
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! number {
    ($number:ty, $name:literal) => {
        impl Number for $number {
            const TYPE: &'static str = $name;
            const SIZE: usize = size_of::<$number>();

            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn get(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<$number>()];
                own.copy_from_slice(bytes);
                Self::from_le_bytes(own)
            }
        }
    };
}

number!(u8, "|u1");
number!(u32, "<u4");
number!(u64, "<u8");

const MAGIC: [u8; 8] = *b"\x93NUMPY\x01\x00";

/// Numbers begin at a multiple of this, so that they can be used where they are.
const ALIGNMENT: usize = 64;

/// All that comes before the numbers.
pub(super) fn header<N: Number>(count: usize) -> Vec<u8> {
    let about =
        format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({count},), }}", N::TYPE);
    // Magic, the length of the rest in two bytes, and a line end.
    let size = (MAGIC.len() + 2 + about.len() + 1).next_multiple_of(ALIGNMENT);
    let rest = size - MAGIC.len() - 2;
    let mut bytes = MAGIC.to_vec();
    bytes.extend((rest as u16).to_le_bytes());
    bytes.extend(about.as_bytes());
    bytes.resize(size - 1, b' ');
    bytes.push(b'\n');
    bytes
}

/// The bytes of the numbers, if the array has numbers of this type, and as many as it says.
pub(super) fn numbers<N: Number>(bytes: &[u8]) -> Result<&[u8], Wrong> {
    let mut rest = bytes;
    count::<N>(&mut rest, bytes.len() as u64)?;
    Ok(rest)
}

/// How many numbers an array of `size` bytes has; reads on to where they begin.
pub(super) fn count<N: Number>(array: &mut impl Read, size: u64) -> Result<usize, Wrong> {
    let no_array = || "is no array of version 1.0".to_owned();
    let mut start = [0; MAGIC.len() + 2];
    array.read_exact(&mut start).map_err(|_| no_array())?;
    let [magic @ .., low, high] = start;
    if magic != MAGIC {
        return Err(no_array());
    }
    let mut about = vec![0; u16::from_le_bytes([low, high]).into()];
    array.read_exact(&mut about).map_err(|_| no_array())?;
    let left = size.saturating_sub((start.len() + about.len()) as u64);
    let about = str::from_utf8(&about).map_err(|_| no_array())?;
    let (name, order, shape) = fields(about.trim_end()).ok_or_else(no_array)?;
    if name != N::TYPE {
        let name = quote(name);
        return Err(format!("has type {name}, where plans have `{}`", N::TYPE));
    }
    if order != "False" {
        return Err("is in Fortran order".to_owned());
    }
    // One number and a comma: one dimension.
    let count = shape.strip_suffix(',').and_then(|count| count.parse::<usize>().ok());
    let Some(count) = count else {
        return Err(format!("has shape `({})`, where plans have lists", shortened(shape, 40)));
    };
    if count.checked_mul(N::SIZE).map(|bytes| bytes as u64) != Some(left) {
        return Err(format!("is to have {count} numbers, and has {left} bytes"));
    }
    Ok(count)
}

/// The type, order and shape, in the spelling that NumPy writes.
fn fields(about: &str) -> Option<(&str, &str, &str)> {
    let about = about.strip_prefix("{'descr': ")?.strip_suffix("), }")?;
    let (name, about) = about.split_once(", 'fortran_order': ")?;
    let (order, shape) = about.split_once(", 'shape': (")?;
    // A type of several fields is a list, without quotes.
    let bare = name.strip_prefix('\'').and_then(|name| name.strip_suffix('\''));
    Some((bare.unwrap_or(name), order, shape))
}
