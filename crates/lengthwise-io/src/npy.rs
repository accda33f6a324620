//! The header of `NumPy` arrays, format versions 1.0 to 3.0: a magic string, and the text of a Python
//! dictionary with the type of the values, their order and their shape. The values follow it.
//!
//! The text is searched for its entries rather than parsed in full: whatever else Python could write there
//! is refused anyway.

use std::io::{self, Read};

const MAGIC: &[u8] = b"\x93NUMPY";

/// Headers of arrays of numbers are a hundred bytes long. The length field can promise 4 GiB.
const LONGEST: u64 = 1 << 16;

/// Values begin at a multiple of this in what is written, so that they can be used in place.
const ALIGNMENT: usize = 64;

/// Why there is no header.
#[derive(Debug)]
pub(crate) enum Stop {
    Empty,
    NoMagic,
    Version(u8, u8),
    /// So many bytes, which is too long.
    Long(u64),
    CutShort,
    Io(io::Error),
}

/// What comes before the values.
#[derive(Debug)]
pub(crate) struct Header {
    pub(crate) version: (u8, u8),
    pub(crate) text: String,
    /// How many bytes come before the values.
    pub(crate) size: u64,
}

impl Header {
    /// Reads up to where the values begin.
    pub(crate) fn read(reader: &mut impl Read) -> Result<Self, Stop> {
        let mut start = Vec::new();
        reader.by_ref().take(8).read_to_end(&mut start).map_err(Stop::Io)?;
        if start.is_empty() {
            return Err(Stop::Empty);
        }
        if !start.starts_with(MAGIC) {
            return Err(Stop::NoMagic);
        }
        let &[_, _, _, _, _, _, major, minor] = start.as_slice() else {
            return Err(Stop::CutShort);
        };
        // Version 1 counts the bytes of the header in 16 bits, 2 and 3 count them in 32.
        let width = match (major, minor) {
            (1, 0) => 2,
            (2 | 3, 0) => 4,
            _ => return Err(Stop::Version(major, minor)),
        };
        let length = exactly(reader, width)?;
        let length = length.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        if length > LONGEST {
            return Err(Stop::Long(length));
        }
        let text = String::from_utf8_lossy(&exactly(reader, length)?).into_owned();
        Ok(Self { version: (major, minor), text, size: 8 + width + length })
    }

    /// The value of an entry, as it is written.
    pub(crate) fn entry(&self, key: &str) -> Option<&str> {
        let after = ['\'', '"'].into_iter().find_map(|mark| {
            let key = format!("{mark}{key}{mark}");
            self.text.find(&key).map(|at| &self.text[at + key.len()..])
        });
        after?.trim_start().strip_prefix(':').map(|rest| value(rest.trim_start()))
    }
}

/// Bytes of the header, none of which may be missing.
fn exactly(reader: &mut impl Read, bytes: u64) -> Result<Vec<u8>, Stop> {
    let mut found = Vec::new();
    reader.by_ref().take(bytes).read_to_end(&mut found).map_err(Stop::Io)?;
    if found.len() as u64 == bytes { Ok(found) } else { Err(Stop::CutShort) }
}

/// The text up to the comma or the brace that ends a value.
fn value(text: &str) -> &str {
    let (mut depth, mut quoted) = (0_u32, None);
    for (at, letter) in text.char_indices() {
        match (quoted, letter) {
            (Some(mark), _) if letter == mark => quoted = None,
            (None, '\'' | '"') => quoted = Some(letter),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => depth = depth.saturating_sub(1),
            (None, ',' | '}') if depth == 0 => return text[..at].trim_end(),
            _ => {}
        }
    }
    text.trim_end()
}

/// A number that is written to arrays.
pub(crate) trait Number: Copy {
    /// What NumPy calls it.
    const TYPE: &'static str;
    const SIZE: usize;

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

/// The dictionary that is written for a list of numbers.
pub(crate) fn dictionary<N: Number>(count: usize) -> String {
    format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({count},), }}", N::TYPE)
}

/// All that comes before a list of numbers, in version 1.0.
pub(crate) fn header<N: Number>(count: usize) -> Vec<u8> {
    let about = dictionary::<N>(count);
    // Magic and version, the length of the rest in two bytes, and a line end.
    let start = MAGIC.len() + 2 + 2;
    let size = (start + about.len() + 1).next_multiple_of(ALIGNMENT);
    let mut bytes = [MAGIC, &[1, 0], &((size - start) as u16).to_le_bytes()[..]].concat();
    bytes.extend(about.as_bytes());
    bytes.resize(size - 1, b' ');
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_differ_in_the_width_of_the_length() {
        let text = b"{\"shape\": (3,), \"descr\": \"<i4\"}";
        let size = text.len() as u8;
        for start in [&[1, 0, size, 0][..], &[2, 0, size, 0, 0, 0], &[3, 0, size, 0, 0, 0]] {
            let file = [MAGIC, start, text].concat();
            let header = Header::read(&mut file.as_slice()).unwrap();
            assert_eq!((header.version.0, header.size), (start[0], file.len() as u64));
            let entries = ["descr", "shape", "order"].map(|key| header.entry(key));
            assert_eq!(entries, [Some("\"<i4\""), Some("(3,)"), None]);
            for cut in 1..file.len() {
                assert!(Header::read(&mut &file[..cut]).is_err());
            }
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = header::<u64>(12);
        assert_eq!(bytes.len(), 128);
        let read = Header::read(&mut bytes.as_slice()).unwrap();
        assert_eq!((read.version, read.size), ((1, 0), 128));
        assert_eq!(read.text.trim_end(), dictionary::<u64>(12));
        let fields =
            Header { text: "{'descr': [('a', '<u4', (2,)), ('}', '|u1')], }".into(), ..read };
        assert_eq!(fields.entry("descr"), Some("[('a', '<u4', (2,)), ('}', '|u1')]"));
    }
}
