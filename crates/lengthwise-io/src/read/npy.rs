//! Lengths in `NumPy` arrays of whole numbers or floats, in one dimension. How many there are is not
//! believed of the header: values are read piece by piece, and what is missing or left over is reported
//! with its size.

use std::fs::File;
use std::io::{self, Read};

use crate::error::Error;
use crate::npy::{Header, Stop};
use crate::read::request::{Measure, Request};
use crate::read::{column::Column, number::Reason};
use crate::system::Map;
use crate::text::quote;

/// How many values are read at a time, and the most that are reserved on the header's word.
const PIECE: usize = 8192;

/// How far what follows the array is counted; the input may never end.
const COUNTED: u64 = 1 << 20;

/// How the bytes of a value make a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Signed,
    Unsigned,
    Float,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dtype {
    kind: Kind,
    size: usize,
    big_endian: bool,
}

pub(crate) fn read<R: Read>(mut reader: R, request: &Request) -> Result<Column, Error> {
    request.refuse_column("a NumPy array")?;
    if request.ids.is_some() {
        return Err(Error::no_ids("a NumPy array"));
    }
    request.refuse_texts("a NumPy array")?;
    let header = Header::read(&mut reader).map_err(no_header)?;
    let (dtype, count) = values(&header)?;
    let mut column = request.column(None);
    let mut piece = Vec::with_capacity(PIECE * dtype.size);
    let mut left = count;
    while left > 0 {
        let values = left.min(PIECE as u64);
        piece.clear();
        let read = reader.by_ref().take(values * dtype.size as u64).read_to_end(&mut piece);
        read.map_err(Error::io)?;
        column.make_room(values, count)?;
        for value in piece.chunks_exact(dtype.size) {
            let length = dtype
                .length(value, &request.measure)
                .map_err(|reason| refuse(dtype, value, column.count(), reason))?;
            column.push(length)?;
        }
        left -= (piece.len() / dtype.size) as u64;
        if piece.len() as u64 != values * dtype.size as u64 {
            let (present, are) = (count - left, if count - left == 1 { "is" } else { "are" });
            let message =
                format!("the header promises {count} values but only {present} {are} there");
            return Err(Error::new(message).hint_to("the file is cut short: copy or save it again"));
        }
    }
    let after = io::copy(&mut reader.take(COUNTED), &mut io::sink());
    match after.map_err(Error::io)? {
        0 => Ok(column),
        after => Err(left_over(count, after)),
    }
}

/// The lengths of a file that can be used where they are: little-endian `uint32`, all of them there and
/// nothing else, in a file that is not packed. Nothing for all other files, right or wrong.
pub(crate) fn in_place(file: &File, request: &Request) -> Result<Option<Map>, Error> {
    const U32: Dtype = Dtype { kind: Kind::Unsigned, size: 4, big_endian: false };
    let asked = request.column.is_some() || request.ids.is_some();
    if asked || !matches!(request.measure, Measure::Numbers) {
        return Ok(None);
    }
    let Ok(header) = Header::read(&mut &*file) else { return Ok(None) };
    let (Ok((U32, count)), offset) = (values(&header), header.size) else { return Ok(None) };
    let about = file.metadata().map_err(Error::io)?;
    let end = count.checked_mul(4).and_then(|size| size.checked_add(offset));
    let whole = offset.is_multiple_of(4) && end == Some(about.len());
    if count == 0 || !about.is_file() || !whole {
        return Ok(None);
    }
    let map = Map::new(file, offset, count).map_err(Error::io)?;
    match map.as_slice().iter().position(|&length| length == 0) {
        None => Ok(Some(map)),
        Some(index) => Err(refuse(U32, &[0; 4], index, Reason::Zero)),
    }
}

fn values(header: &Header) -> Result<(Dtype, u64), Error> {
    let dtype = dtype(header.entry("descr").ok_or_else(broken)?)?;
    Ok((dtype, count(header.entry("shape").ok_or_else(broken)?)?))
}

fn no_header(stop: Stop) -> Error {
    match stop {
        Stop::Empty => Error::no_lengths(),
        Stop::CutShort => broken(),
        Stop::Io(cause) => Error::io(cause),
        Stop::NoMagic => Error::new("is not a NumPy file: it does not begin with the NumPy magic")
            .hint_to("save the array with `numpy.save`, or give the file its right extension"),
        Stop::Version(major, minor) => {
            Error::new(format!("NumPy format {major}.{minor} is not known"))
                .hint_to("save the array again with `numpy.save`")
        }
        Stop::Long(length) => {
            Error::new(format!("the NumPy header has {length} bytes, which is too long"))
                .hint_to("save a plain array of whole numbers with `numpy.save`")
        }
    }
}

fn broken() -> Error {
    Error::new("the NumPy header is cut short or damaged")
        .hint_to("copy the file again, or save it again with `numpy.save`")
}

/// The type that a `descr` stands for, such as `'<i8'`: byte order, kind, size in bytes.
fn dtype(descr: &str) -> Result<Dtype, Error> {
    let Some(mark @ ('\'' | '"')) = descr.chars().next() else {
        return Err(Error::new("the array has a structured dtype, not one number a value")
            .hint_to("save the field that holds the lengths as an array of its own"));
    };
    let (code, _) = descr[1..].split_once(mark).ok_or_else(broken)?;
    let (kind, sizes) = match code.get(1..2) {
        Some("i") => (Kind::Signed, "1248"),
        Some("u") => (Kind::Unsigned, "1248"),
        Some("f") => (Kind::Float, "48"),
        _ => return Err(wrong_dtype(code)),
    };
    let size = code.get(2..).filter(|size| size.len() == 1 && sizes.contains(size));
    let size = size.and_then(|size| size.parse().ok()).ok_or_else(|| wrong_dtype(code))?;
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

impl Dtype {
    /// The bits of a value, widened to 64 by zeros.
    fn bits(self, value: &[u8]) -> u64 {
        let add = |bits: u64, byte: &u8| bits << 8 | u64::from(*byte);
        if self.big_endian { value.iter().fold(0, add) } else { value.iter().rev().fold(0, add) }
    }

    fn signed(self, value: &[u8]) -> i64 {
        // Up and down again, to repeat the sign bit.
        let unused = 64 - 8 * self.size;
        (self.bits(value) << unused).cast_signed() >> unused
    }

    fn float(self, value: &[u8]) -> f64 {
        let bits = self.bits(value);
        if self.size == 4 { f64::from(f32::from_bits(bits as u32)) } else { f64::from_bits(bits) }
    }

    fn length(self, value: &[u8], measure: &Measure) -> Result<u32, Reason> {
        match self.kind {
            Kind::Signed => measure.signed(self.signed(value)),
            Kind::Unsigned => measure.unsigned(self.bits(value)),
            Kind::Float => measure.real(self.float(value)),
        }
    }
}

#[cold]
fn refuse(dtype: Dtype, value: &[u8], index: usize, reason: Reason) -> Error {
    let shown = match dtype.kind {
        Kind::Signed => dtype.signed(value).to_string(),
        Kind::Unsigned => dtype.bits(value).to_string(),
        Kind::Float => dtype.float(value).to_string(),
    };
    reason.error(&format!("index {index}"), &shown)
}

#[cold]
fn left_over(count: u64, after: u64) -> Error {
    let follow = match after {
        1 => "1 more byte follows".to_owned(),
        COUNTED => format!("{after} or more bytes follow"),
        _ => format!("{after} more bytes follow"),
    };
    Error::new(format!("the header promises {count} values and after them {follow}"))
        .hint_to("save one array to a file of its own with `numpy.save`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let header =
            format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend((header.len() as u16).to_le_bytes());
        file.extend(header.as_bytes());
        file.extend(data);
        file
    }

    fn lengths(descr: &str, data: &[u8]) -> Result<Vec<u32>, String> {
        let file = file(descr, "(2,)", data);
        let column =
            read(file.as_slice(), &Request::plain(None)).map_err(|error| error.to_string());
        column.map(|column| column.lengths)
    }

    #[test]
    fn every_dtype_in_both_orders() {
        assert_eq!(lengths("|i1", &[1, 127]).unwrap(), [1, 127]);
        assert_eq!(lengths("|u1", &[1, 255]).unwrap(), [1, 255]);
        assert_eq!(lengths("<u2", &[1, 0, 0, 2]).unwrap(), [1, 512]);
        assert_eq!(lengths(">i2", &[0, 1, 2, 0]).unwrap(), [1, 512]);
        assert_eq!(lengths(">u4", &[0, 0, 0, 1, 255, 255, 255, 255]).unwrap(), [1, u32::MAX]);
        let both = |a: [u8; 8], b: [u8; 8]| [a, b].concat();
        let big = both(7_i64.to_be_bytes(), 8_i64.to_be_bytes());
        assert_eq!(lengths(">i8", &big).unwrap(), [7, 8]);
        let floats = both(7_f64.to_le_bytes(), 1e9_f64.to_le_bytes());
        assert_eq!(lengths("<f8", &floats).unwrap(), [7, 1_000_000_000]);
        let floats = [7_f32.to_be_bytes(), 8_f32.to_be_bytes()].concat();
        assert_eq!(lengths(">f4", &floats).unwrap(), [7, 8]);
    }

    #[test]
    fn the_sign_is_seen_in_every_width() {
        let error = ": index 1 holds `-2`, which is negative";
        assert_eq!(lengths("|i1", &[1, 254]), Err(error.to_owned()));
        assert_eq!(lengths("<i2", &[1, 0, 254, 255]), Err(error.to_owned()));
        assert_eq!(lengths("|u1", &[1, 254]), Ok(vec![1, 254]));
    }

    #[test]
    fn more_than_one_piece() {
        let data: Vec<u8> = (0..3 * PIECE + 5).map(|i| (i % 255) as u8 + 1).collect();
        let file = file("|u1", &format!("({}, 1)", data.len()), &data);
        let column = read(file.as_slice(), &Request::plain(None)).unwrap();
        assert!(column.lengths.iter().map(|&length| length as u8).eq(data));
    }

    #[test]
    fn an_absurd_promise_reserves_nothing() {
        let file = file("<i8", "(4294967295,)", &[1, 0, 0, 0, 0, 0, 0, 0, 2]);
        let error = read(file.as_slice(), &Request::plain(None)).unwrap_err().to_string();
        assert_eq!(error, ": the header promises 4294967295 values but only 1 is there");
    }

    #[test]
    fn an_endless_rest_is_not_read_to_its_end() {
        let file = file("|u1", "(1,)", &[1]);
        let error = read(file.as_slice().chain(io::repeat(1)), &Request::plain(None))
            .unwrap_err()
            .to_string();
        assert!(error.ends_with("after them 1048576 or more bytes follow"), "{error}");
    }

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
    fn orders_that_do_not_fit_the_size() {
        for descr in ["'|i4'", "'=i4'", "'<i3'", "'é4'", "''", "'<i4", "i4", ""] {
            assert!(dtype(descr).is_err(), "{descr}");
        }
    }
}
