//! The lines of text files, the blank ones among them, and how tables end.

use std::io::{self, BufRead, BufReader, Read};

use crate::error::Error;
use crate::read::column::Column;

/// No line is near this long, nor a record with the blank lines before it, nor blank lines in a row. The limit
/// keeps a wrong file, a device that never sends a newline and a quote that is never closed from filling the
/// memory, and a packed file of ten megabytes from having ten gigabytes of blank lines to pass over.
const MOST_BYTES: u64 = 64 << 20;

/// Blank lines in files of values. They are left out, but not in silence: one that lost its value shifts the
/// index of every sequence behind it. Those at the end of a file shift nothing.
#[derive(Debug, Default)]
pub(crate) struct Blanks {
    count: u64,
    first: Option<u64>,
    /// Those behind the last value, and their first, which do not count before another value comes.
    waiting: u64,
    next: Option<u64>,
    bytes: u64,
}

impl Blanks {
    /// So many blank lines from this one on, with so many bytes.
    pub(crate) fn add(&mut self, line: u64, count: u64, bytes: u64) -> Result<(), Error> {
        if count > 0 {
            self.next = self.next.or(Some(line));
        }
        self.waiting += count;
        self.bytes += bytes;
        if self.bytes > MOST_BYTES { Err(too_many(line)) } else { Ok(()) }
    }

    /// A value came behind them.
    #[inline]
    pub(crate) fn end(&mut self) {
        if self.waiting > 0 {
            self.count += self.waiting;
            self.first = self.first.or(self.next);
            (self.waiting, self.next, self.bytes) = (0, None, 0);
        }
    }

    pub(crate) fn note(&self, column: &mut Column) {
        (column.skipped, column.first_skipped) = (self.count, self.first);
    }
}

#[cold]
pub(crate) fn too_many(line: u64) -> Error {
    Error::new("more than 64 MiB of blank lines follow one another")
        .at(line)
        .hint_to("check that this is the right file, and leave its blank lines out")
}

const BOM: &[u8] = b"\xef\xbb\xbf";

/// The lines of a text file, one buffer for all of them. A line comes without its end, without surrounding
/// white space and without the byte order mark that some editors put before the first; blank lines are
/// counted but do not appear.
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
        let mut bounded = self.reader.by_ref().take(MOST_BYTES);
        let read = bounded.read_until(b'\n', &mut self.buffer);
        let read = read.map_err(|cause| Error::io(cause).at(self.number))?;
        if read as u64 == MOST_BYTES && !self.buffer.ends_with(b"\n") {
            return Err(Error::new("the line is longer than 64 MiB")
                .at(self.number)
                .hint_to("check that this is a text file, with one sequence per line"));
        }
        Ok(read > 0)
    }
}

/// A reader for tables that remembers how the input ends. The CSV parser takes a quote that is never closed for
/// the rest of the file without complaint, rows and all; and it does not tell whether the last record had a
/// newline. It asks for more than there is only where it waits for either. The byte order mark goes here as well,
/// because the parser only sees it when the first read is long enough.
pub(crate) struct Tail<R> {
    reader: R,
    /// What was read to look for the mark and is still to be handed on.
    head: Vec<u8>,
    /// How many bytes were handed on.
    pub(crate) seen: u64,
    limit: u64,
    /// Whether there were no more when they were asked for.
    pub(crate) ended: bool,
    /// The last that was not white space; 0 before any.
    pub(crate) last_visible: u8,
    /// How many bytes there were up to that one.
    visible: u64,
}

impl<R: Read> Tail<R> {
    pub(crate) fn new(mut reader: R) -> io::Result<Self> {
        let mut head = Vec::with_capacity(BOM.len());
        reader.by_ref().take(BOM.len() as u64).read_to_end(&mut head)?;
        if head == *BOM {
            head.clear();
        }
        Ok(Self {
            reader,
            head,
            seen: 0,
            limit: MOST_BYTES,
            ended: false,
            last_visible: 0,
            visible: 0,
        })
    }

    /// Says that everything before this byte is done with.
    pub(crate) fn done(&mut self, byte: u64) {
        self.limit = byte + MOST_BYTES;
    }

    /// Whether the record that is being read has become too long.
    pub(crate) fn exceeded(&self) -> bool {
        self.seen >= self.limit
    }

    /// Whether it has become too long, and nothing is in it but white space.
    pub(crate) fn only_blank(&self) -> bool {
        self.exceeded() && self.visible + MOST_BYTES <= self.limit
    }
}

impl<R: Read> Read for Tail<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.exceeded() {
            return Err(io::Error::other("the record is longer than 64 MiB"));
        }
        let read = if self.head.is_empty() {
            self.reader.read(buffer)?
        } else {
            let read = self.head.as_slice().read(buffer)?;
            self.head.drain(..read);
            read
        };
        let new = &buffer[..read];
        if let visible @ [.., last] = new.trim_ascii_end() {
            self.last_visible = *last;
            self.visible = self.seen + visible.len() as u64;
        }
        self.seen += read as u64;
        self.ended = read == 0;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_between_count() {
        let mut blanks = Blanks::default();
        let mut column = Column::default();
        for (line, count) in [(1, 0), (4, 2), (6, 1)] {
            blanks.add(line, count, count).unwrap();
        }
        blanks.note(&mut column);
        assert_eq!((column.skipped, column.first_skipped), (0, None), "no value came yet");
        blanks.end();
        blanks.add(9, 1, 1).unwrap();
        blanks.end();
        blanks.add(20, 7, 7).unwrap();
        blanks.note(&mut column);
        assert_eq!((column.skipped, column.first_skipped), (4, Some(4)));
    }

    #[test]
    fn too_many_in_a_row() {
        let mut blanks = Blanks::default();
        blanks.add(2, 1, MOST_BYTES).unwrap();
        blanks.end();
        blanks.add(2, 1, MOST_BYTES).unwrap();
        let error = blanks.add(7, 1, 1).unwrap_err().in_source("f").to_string();
        assert_eq!(error, "f:7: more than 64 MiB of blank lines follow one another");
    }

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

    fn drained(text: &[u8]) -> (Vec<u8>, Tail<&[u8]>) {
        let mut tail = Tail::new(text).unwrap();
        let mut out = Vec::new();
        tail.read_to_end(&mut out).unwrap();
        (out, tail)
    }

    #[test]
    fn hands_everything_on_but_the_mark() {
        for text in [&b""[..], b"1", b"12", b"1,2\n", b"\xef\xbb", b"\xef\xbb\xbe12"] {
            assert_eq!(drained(text).0, text);
        }
        assert_eq!(drained(b"\xef\xbb\xbf1,2\n").0, b"1,2\n");
        assert_eq!(drained(b"\xef\xbb\xbf").0, b"");
    }

    #[test]
    fn remembers_the_end() {
        let (_, tail) = drained(b"\xef\xbb\xbfa,\"b\" \r\n");
        assert_eq!((tail.seen, tail.ended, tail.last_visible), (8, true, b'"'));
    }
}
