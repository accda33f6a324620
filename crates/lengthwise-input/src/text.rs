//! Plain text: one length a line and nothing else. There are no comments and no headers, because
//! a reader that skips what it does not understand would also skip a mistyped length.

use std::io::Read;

use crate::error::Error;
use crate::lines::Lines;
use crate::{Column, number};

pub(crate) fn read<R: Read>(reader: R, wanted: Option<&str>) -> Result<Column, Error> {
    if wanted.is_some() {
        return Err(Error::no_columns("a text file"));
    }
    let mut lines = Lines::new(reader);
    let mut lengths = Vec::new();
    while let Some((line, text)) = lines.next()? {
        let length = number::from_bytes(text).map_err(|reason| refuse(line, text, reason))?;
        number::push(&mut lengths, length)?;
    }
    Ok(Column { name: None, lengths })
}

/// Digits are valid UTF-8, so only a line that is refused anyway needs the check.
#[cold]
fn refuse(line: u64, text: &[u8], reason: number::Reason) -> Error {
    match str::from_utf8(text) {
        Ok(text) => reason.error("", text).at(line),
        Err(_) => Error::not_utf8(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_length_a_line() {
        let column = read(&b"\xef\xbb\xbf12\r\n\n 7.0 \n4294967295"[..], None).unwrap();
        assert_eq!(column, Column { name: None, lengths: vec![12, 7, u32::MAX] });
    }

    #[test]
    fn the_line_of_a_mistake_counts_blank_lines() {
        let error = read(&b"12\n\n\n12 13\n"[..], None).unwrap_err().in_source("a.txt");
        assert_eq!(error.to_string(), "a.txt:4: `12 13` is not a number");
    }

    #[test]
    fn a_broken_reader_is_an_error() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                Err(std::io::Error::other("The cable is out"))
            }
        }
        let error = read(Broken, None).unwrap_err().in_source("pipe");
        assert_eq!(error.to_string(), "pipe:1: the cable is out");
    }
}
