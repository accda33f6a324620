//! Arrays that `NumPy` saved: numbers of every type, in one dimension or two, in either order.

use std::{fs, path::Path};

use super::error::{Error, quote};

/// An array of one dimension or two.
#[derive(Debug, PartialEq)]
pub(crate) struct Array {
    /// How many rows there are, and how wide they are; an array of one dimension has no width.
    pub(crate) rows: usize,
    pub(crate) width: Option<usize>,
    /// Whether the values are whole numbers.
    pub(crate) whole: bool,
    /// The values, row by row.
    pub(crate) values: Vec<f64>,
}

const MAGIC: &[u8] = b"\x93NUMPY";

/// Reads a file.
pub(crate) fn read(path: &Path) -> Result<Array, Error> {
    let bytes = fs::read(path).map_err(|cause| Error::io(path, &cause))?;
    parse(&bytes).map_err(|error| error.in_file(path))
}

fn parse(bytes: &[u8]) -> Result<Array, Error> {
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        return Err(Error::new(
            "is not a NumPy array: it does not begin with the NumPy magic",
            "save the array with `numpy.save`",
        ));
    };
    // Version 1 counts the bytes of the header in 16 bits, 2 and 3 count them in 32.
    let (width, rest) = match rest {
        [1, 0, rest @ ..] => (2, rest),
        [2 | 3, 0, rest @ ..] => (4, rest),
        _ => return Err(damaged()),
    };
    let (size, rest) = rest.split_at_checked(width).ok_or_else(damaged)?;
    let size = size.iter().rev().fold(0, |sum, &byte| sum << 8 | usize::from(byte));
    let (header, data) = rest.split_at_checked(size).ok_or_else(damaged)?;
    let header = String::from_utf8_lossy(header);
    let kind = Kind::parse(&header)?;
    let (rows, width) = shape(&header)?;
    let columns = width.unwrap_or(1);
    let promised = rows.checked_mul(columns).and_then(|count| count.checked_mul(kind.size));
    if promised != Some(data.len()) {
        return Err(Error::new(
            format!(
                "the header promises {rows} by {columns} values of {} bytes, and there are {} bytes",
                kind.size,
                data.len()
            ),
            "copy the file again, or save the array again with `numpy.save`",
        ));
    }
    let mut values: Vec<f64> =
        data.chunks_exact(kind.size).map(|bytes| kind.value(bytes)).collect();
    if columns > 1 && entry(&header, "fortran_order").is_some_and(|is| is.starts_with("True")) {
        values = (0..rows * columns)
            .map(|place| values[place % columns * rows + place / columns])
            .collect();
    }
    Ok(Array { rows, width, whole: kind.letter != b'f', values })
}

/// How the bytes of a value make a number.
struct Kind {
    letter: u8,
    size: usize,
    big: bool,
}

impl Kind {
    fn parse(header: &str) -> Result<Self, Error> {
        let text = entry(header, "descr").ok_or_else(damaged)?;
        let code =
            text.get(1..).and_then(|code| code.split(['\'', '"']).next()).unwrap_or_default();
        let wrong = || {
            Error::new(
                format!("the array is of type {}, which is not read", quote(code)),
                "save it as whole numbers or floats, such as `array.astype(\"float32\")`",
            )
        };
        let (&[order, letter], size) = code.as_bytes().split_first_chunk().ok_or_else(wrong)?;
        let known = matches!(
            (letter, size),
            (b'i' | b'u', b"1" | b"2" | b"4" | b"8") | (b'f', b"4" | b"8")
        );
        if !known || !matches!(order, b'<' | b'>' | b'|') {
            return Err(wrong());
        }
        Ok(Self { letter, size: usize::from(size[0] - b'0'), big: order == b'>' })
    }

    fn value(&self, bytes: &[u8]) -> f64 {
        let add = |bits: u64, byte: &u8| bits << 8 | u64::from(*byte);
        let bits =
            if self.big { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) };
        match (self.letter, self.size) {
            (b'f', 4) => f64::from(f32::from_bits(bits as u32)),
            (b'f', _) => f64::from_bits(bits),
            (b'i', size) => {
                // Up and down again, to repeat the sign bit.
                let unused = 64 - 8 * size;
                ((bits << unused).cast_signed() >> unused) as f64
            }
            _ => bits as f64,
        }
    }
}

fn shape(header: &str) -> Result<(usize, Option<usize>), Error> {
    let text = entry(header, "shape").ok_or_else(damaged)?;
    let inner = text.strip_prefix('(').and_then(|rest| rest.split_once(')')).ok_or_else(damaged)?.0;
    let sizes = inner.split(',').map(str::trim).filter(|size| !size.is_empty());
    let sizes: Option<Vec<usize>> = sizes.map(|size| size.parse().ok()).collect();
    match sizes.ok_or_else(damaged)?[..] {
        [rows] => Ok((rows, None)),
        [rows, width] => Ok((rows, Some(width))),
        _ => Err(Error::new(
            format!(
                "the array has shape {}, not one dimension or two",
                quote(&format!("({inner})"))
            ),
            "put all sequences one after another, one row a position",
        )),
    }
}

/// What follows `'key':` in the header, which is a Python dictionary.
fn entry<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let after = ['\'', '"'].into_iter().find_map(|mark| {
        let key = format!("{mark}{key}{mark}");
        header.find(&key).map(|at| &header[at + key.len()..])
    });
    after?.trim_start().strip_prefix(':').map(str::trim_start)
}

fn damaged() -> Error {
    Error::new(
        "the NumPy header is cut short or damaged",
        "copy the file again, or save the array again with `numpy.save`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let header =
            format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend((header.len() as u16).to_le_bytes());
        file.extend(header.as_bytes());
        file.extend(data);
        file
    }

    fn values(descr: &str, data: &[u8]) -> Vec<f64> {
        parse(&file(descr, "False", "(2,)", data)).unwrap().values
    }

    fn said(bytes: &[u8]) -> String {
        parse(bytes).unwrap_err().to_string()
    }

    #[test]
    fn every_type_in_both_orders() {
        assert_eq!(values("|u1", &[1, 255]), [1.0, 255.0]);
        assert_eq!(values("|i1", &[1, 255]), [1.0, -1.0]);
        assert_eq!(values("<i2", &[1, 0, 254, 255]), [1.0, -2.0]);
        assert_eq!(values(">u2", &[1, 0, 0, 2]), [256.0, 2.0]);
        let floats = [1.5_f32.to_le_bytes(), (-2.0_f32).to_le_bytes()].concat();
        assert_eq!(values("<f4", &floats), [1.5, -2.0]);
        let floats = [1.5_f64.to_be_bytes(), (-2.0_f64).to_be_bytes()].concat();
        assert_eq!(values(">f8", &floats), [1.5, -2.0]);
    }

    #[test]
    fn columns_one_after_another_become_rows() {
        let rows = parse(&file("|u1", "False", "(2, 3)", &[1, 2, 3, 4, 5, 6])).unwrap();
        let columns = parse(&file("|u1", "True", "(2, 3)", &[1, 4, 2, 5, 3, 6])).unwrap();
        assert_eq!(rows, columns);
        assert_eq!((rows.rows, rows.width, rows.whole), (2, Some(3), true));
    }

    #[test]
    fn what_is_not_an_array_of_numbers_is_refused() {
        assert_eq!(
            said(b"offset,frames"),
            ": is not a NumPy array: it does not begin with the NumPy magic"
        );
        let whole = file("<f4", "False", "(2, 1)", &[0; 8]);
        for cut in 6..whole.len() {
            assert!(parse(&whole[..cut]).is_err(), "{cut}");
        }
        assert_eq!(
            said(&whole[..whole.len() - 1]),
            ": the header promises 2 by 1 values of 4 bytes, and there are 7 bytes"
        );
        assert_eq!(
            said(&file("<U7", "False", "(2,)", &[])),
            ": the array is of type `<U7`, which is not read"
        );
        assert_eq!(
            said(&file("<f4", "False", "(2, 1, 1)", &[0; 8])),
            ": the array has shape `(2, 1, 1)`, not one dimension or two"
        );
        let absurd = format!("({}, {})", usize::MAX, usize::MAX);
        assert!(said(&file("<f8", "False", &absurd, &[])).contains("promises"));
    }
}
