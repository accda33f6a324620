//! The header of a `NumPy` file. It is the text of a Python dictionary with three entries, of
//! which two matter here: `descr`, the type of the values, and `shape`. In one dimension the
//! third, the order of the axes, makes no difference. The text is searched for the two entries
//! rather than parsed in full: whatever else Python could write there is refused anyway.

use std::io::Read;

use super::{Dtype, Kind, take};
use crate::error::Error;
use crate::text::quote;

const MAGIC: &[u8] = b"\x93NUMPY";

/// Headers of arrays of numbers are a hundred bytes long. The length field can promise 4 GiB.
const LONGEST: u64 = 1 << 16;

/// What a header says about the values that follow it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) dtype: Dtype,
    pub(super) count: u64,
}

impl Header {
    pub(super) fn read<R: Read>(reader: &mut R) -> Result<Self, Error> {
        let mut start = Vec::new();
        take(reader, 8, &mut start)?;
        if start.is_empty() {
            return Err(Error::no_lengths());
        }
        if !start.starts_with(MAGIC) {
            return Err(Error::new("is not a NumPy file: it does not begin with the NumPy magic")
                .hint_to(
                    "save the array with `numpy.save`, or give the file its right extension",
                ));
        }
        let [_, _, _, _, _, _, major, minor] = start[..] else { return Err(broken()) };
        // Version 1 counts the bytes of the header in 16 bits, 2 and 3 count them in 32.
        let width = match (major, minor) {
            (1, 0) => 2,
            (2 | 3, 0) => 4,
            _ => {
                return Err(Error::new(format!("NumPy format {major}.{minor} is not known"))
                    .hint_to("save the array again with `numpy.save`"));
            }
        };
        let length = exactly(reader, width)?;
        let length = length.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        if length > LONGEST {
            return Err(Error::new(format!(
                "the NumPy header has {length} bytes, which is too long"
            ))
            .hint_to("save a plain array of whole numbers with `numpy.save`"));
        }
        Self::parse(&String::from_utf8_lossy(&exactly(reader, length)?))
    }

    fn parse(text: &str) -> Result<Self, Error> {
        let descr = entry(text, "descr").ok_or_else(broken)?;
        let dtype = dtype(descr)?;
        let shape = entry(text, "shape").ok_or_else(broken)?;
        let count = count(shape)?;
        Ok(Self { dtype, count })
    }
}

/// Bytes of the header, none of which may be missing.
fn exactly<R: Read>(reader: &mut R, bytes: u64) -> Result<Vec<u8>, Error> {
    let mut found = Vec::new();
    take(reader, bytes, &mut found)?;
    if found.len() as u64 == bytes { Ok(found) } else { Err(broken()) }
}

fn broken() -> Error {
    Error::new("the NumPy header is cut short or damaged")
        .hint_to("copy the file again, or save it again with `numpy.save`")
}

/// What follows `'key':` in the dictionary, up to the end of the text.
fn entry<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let after = ['\'', '"'].into_iter().find_map(|mark| {
        let key = format!("{mark}{key}{mark}");
        text.find(&key).map(|at| &text[at + key.len()..])
    });
    after?.trim_start().strip_prefix(':').map(str::trim_start)
}

/// The type that a `descr` stands for, such as `'<i8'`: byte order, kind, size in bytes.
fn dtype(descr: &str) -> Result<Dtype, Error> {
    let Some(mark @ ('\'' | '"')) = descr.chars().next() else {
        return Err(Error::new("the array has a structured dtype, not one number a value")
            .hint_to("save the field that holds the lengths as an array of its own"));
    };
    let (code, _) = descr[1..].split_once(mark).ok_or_else(broken)?;
    let (kind, size) = match code.get(1..) {
        Some("i1") => (Kind::Signed, 1),
        Some("i2") => (Kind::Signed, 2),
        Some("i4") => (Kind::Signed, 4),
        Some("i8") => (Kind::Signed, 8),
        Some("u1") => (Kind::Unsigned, 1),
        Some("u2") => (Kind::Unsigned, 2),
        Some("u4") => (Kind::Unsigned, 4),
        Some("u8") => (Kind::Unsigned, 8),
        Some("f4") => (Kind::Float, 4),
        Some("f8") => (Kind::Float, 8),
        _ => return Err(wrong_dtype(code)),
    };
    match code.as_bytes()[0] {
        b'<' => Ok(Dtype { kind, size, big_endian: false }),
        b'>' => Ok(Dtype { kind, size, big_endian: true }),
        // A single byte has no order.
        b'|' if size == 1 => Ok(Dtype { kind, size, big_endian: false }),
        _ => Err(wrong_dtype(code)),
    }
}

fn wrong_dtype(code: &str) -> Error {
    let what = match code.get(1..2) {
        Some("b") => " (booleans)",
        Some("O") => " (Python objects)",
        Some("U" | "S") => " (strings)",
        Some("c") => " (complex numbers)",
        Some("m" | "M") => " (dates or times)",
        _ => "",
    };
    Error::new(format!("the array has dtype {}{what}, which cannot hold lengths", quote(code)))
        .hint_to("save the lengths as whole numbers, such as `lengths.astype(\"int64\")`")
}

/// How many values an array has, if it is a list of values: (N,), (N, 1) or (1, N).
fn count(shape: &str) -> Result<u64, Error> {
    let inner = shape.strip_prefix('(').and_then(|rest| rest.split_once(')')).ok_or_else(broken)?.0;
    // Python 2 wrote long integers as `3L`.
    let sizes = inner.split(',').map(|size| size.trim().trim_end_matches('L'));
    let sizes: Option<Vec<u64>> =
        sizes.filter(|size| !size.is_empty()).map(|size| size.parse().ok()).collect();
    let ([count] | [count, 1] | [1, count]) = sizes.ok_or_else(broken)?[..] else {
        let shape = quote(&format!("({})", inner.trim()));
        return Err(Error::new(format!("the array has shape {shape}, not one dimension"))
            .hint_to("save one length per sequence, as an array of shape (N,)"));
    };
    if count > u64::from(u32::MAX) { Err(Error::too_many()) } else { Ok(count) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_of_one_dimension() {
        let counts = ["(3,)", "(3L,)", "( 3 , 1 )", "(1, 3)", "(0,)", "(1,)", "(1, 1)"]
            .map(|shape| count(shape).unwrap());
        assert_eq!(counts, [3, 3, 3, 3, 0, 1, 1]);
        for shape in ["()", "(2, 3)", "(1, 1, 3)", "(3", "(-3,)", "(99999999999999999999,)", "3"] {
            assert!(count(shape).is_err(), "{shape}");
        }
    }

    #[test]
    fn versions_differ_in_the_width_of_the_length() {
        let text = b"{\"shape\": (3,), \"descr\": \"<i4\"}";
        let dtype = Dtype { kind: Kind::Signed, size: 4, big_endian: false };
        let size = text.len() as u8;
        for start in [&[1, 0, size, 0][..], &[2, 0, size, 0, 0, 0], &[3, 0, size, 0, 0, 0]] {
            let file = [MAGIC, start, text].concat();
            let header = Header::read(&mut file.as_slice()).unwrap();
            assert_eq!(header, Header { dtype, count: 3 });
            for cut in 1..file.len() {
                assert!(Header::read(&mut &file[..cut]).is_err());
            }
        }
    }

    #[test]
    fn orders_that_do_not_fit_the_size() {
        for descr in ["'|i4'", "'=i4'", "'<i3'", "'é4'", "''", "'<i4", "i4", ""] {
            assert!(dtype(descr).is_err(), "{descr}");
        }
    }
}
