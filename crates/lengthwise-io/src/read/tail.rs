//! A reader for tables that remembers how the input ends. The CSV parser takes a quote that is
//! never closed for the rest of the file without complaint, rows and all; and it does not tell
//! whether the last record had a newline. Both can be told from the last bytes. The byte order
//! mark goes here as well, because the parser only sees it when the first read is long enough.

use std::io::{self, Read};

use crate::read::blanks::MOST_BYTES;

const BOM: [u8; 3] = [0xef, 0xbb, 0xbf];

pub(crate) struct Tail<R> {
    reader: R,
    /// What was read to look for the mark and is still to be handed on.
    head: Vec<u8>,
    /// How many bytes were handed on.
    pub(crate) seen: u64,
    limit: u64,
    /// The last of them, and the last that was not white space; 0 before any.
    pub(crate) last: u8,
    pub(crate) last_visible: u8,
    /// How many bytes there were up to that one.
    visible: u64,
}

/// No record is near this long, with the blank lines before it. The limit keeps a quote that is never
/// closed from filling the memory, which a small compressed file could do.
const LONGEST: u64 = MOST_BYTES;

impl<R: Read> Tail<R> {
    pub(crate) fn new(mut reader: R) -> io::Result<Self> {
        let mut head = Vec::with_capacity(BOM.len());
        reader.by_ref().take(BOM.len() as u64).read_to_end(&mut head)?;
        if head == BOM {
            head.clear();
        }
        Ok(Self { reader, head, seen: 0, limit: LONGEST, last: 0, last_visible: 0, visible: 0 })
    }

    /// Says that everything before this byte is done with.
    pub(crate) fn done(&mut self, byte: u64) {
        self.limit = byte + LONGEST;
    }

    /// Whether the record that is being read has become too long.
    pub(crate) fn exceeded(&self) -> bool {
        self.seen >= self.limit
    }

    /// Whether it has become too long, and nothing is in it but white space.
    pub(crate) fn only_blank(&self) -> bool {
        self.exceeded() && self.visible + LONGEST <= self.limit
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
        self.last = new.last().copied().unwrap_or(self.last);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!((tail.seen, tail.last, tail.last_visible), (8, b'\n', b'"'));
    }
}
