//! The lines of a text file, one buffer for all of them. A line comes without its end, without
//! surrounding white space and without the byte order mark that some editors put before the
//! first; blank lines are counted but do not appear.

use std::io::{BufRead, BufReader, Read};

use crate::error::Error;
use crate::read::blanks::Blanks;

/// No line of lengths is near this long. The limit keeps a wrong file, or a device that never
/// sends a newline, from filling the memory.
const LONGEST: usize = 64 << 20;

const BOM: &[u8] = b"\xef\xbb\xbf";

pub(crate) struct Lines<R> {
    reader: BufReader<R>,
    buffer: Vec<u8>,
    number: u64,
    /// Those that [`next`](Self::next) has left out.
    pub(crate) blanks: Blanks,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(reader: R) -> Self {
        let (reader, buffer) = (BufReader::with_capacity(1 << 16, reader), Vec::new());
        Self { reader, buffer, number: 0, blanks: Blanks::default() }
    }

    /// The next line that is not blank, with its number from 1.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, &[u8])>, Error> {
        let start = loop {
            if !self.fill()? {
                return Ok(None);
            }
            let start =
                if self.number == 1 && self.buffer.starts_with(BOM) { BOM.len() } else { 0 };
            if !self.buffer[start..].trim_ascii().is_empty() {
                break start;
            }
            self.blanks.add(self.number, 1, self.buffer.len() as u64)?;
        };
        self.blanks.end();
        Ok(Some((self.number, self.buffer[start..].trim_ascii())))
    }

    /// The next line as it is, without its end; blank ones too.
    pub(crate) fn next_whole(&mut self) -> Result<Option<(u64, &[u8])>, Error> {
        if !self.fill()? {
            return Ok(None);
        }
        let line = self.buffer.strip_suffix(b"\n").unwrap_or(&self.buffer);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let marked = if self.number == 1 { line.strip_prefix(BOM) } else { None };
        Ok(Some((self.number, marked.unwrap_or(line))))
    }

    /// Reads one more line into the buffer; false at the end of the file.
    fn fill(&mut self) -> Result<bool, Error> {
        self.buffer.clear();
        self.number += 1;
        let mut bounded = self.reader.by_ref().take(LONGEST as u64);
        let read = bounded.read_until(b'\n', &mut self.buffer);
        let read = read.map_err(|cause| Error::io(cause).at(self.number))?;
        if read == LONGEST && !self.buffer.ends_with(b"\n") {
            return Err(Error::new("the line is longer than 64 MiB")
                .at(self.number)
                .hint_to("check that this is a text file, with one sequence a line"));
        }
        Ok(read > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let mut lines = Lines::new(text);
        let mut found = Vec::new();
        while let Some((number, line)) = lines.next().unwrap() {
            found.push((number, line.to_vec()));
        }
        found
    }

    #[test]
    fn ends_blanks_and_the_mark() {
        let expected = [(1, b"1".to_vec()), (3, b"2 3".to_vec()), (5, b"4".to_vec())];
        assert_eq!(all(b"1\n\n2 3\n\n4"), expected);
        assert_eq!(all(b"\xef\xbb\xbf 1\r\n \t\r\n2 3 \r\n\r\n4\r\n\r\n"), expected);
        assert_eq!(all(b""), []);
        assert_eq!(all(b"\xef\xbb\xbf"), []);
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let error = Lines::new(std::io::repeat(b'1')).next().unwrap_err().in_source("zero");
        assert_eq!(error.to_string(), "zero:1: the line is longer than 64 MiB");
    }
}
