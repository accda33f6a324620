//! The records of a table, with the line that each begins on.
//!
//! In CSV, quotes enclose fields that hold commas or newlines. In TSV they are plain characters,
//! as most tools that write TSV take them to be: one lone quote in a transcript would otherwise
//! swallow the rows up to the next one. Quotes round a whole field are taken off all the same.

use std::io::Read;

use csv::{ByteRecord, ReaderBuilder, Terminator};

use crate::error::Error;
use crate::read::lines::{Blanks, Tail, too_many};
use crate::text::quote;

/// What separates the fields of a table, and whether quotes do anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Csv,
    Tsv,
    /// A CSV file as spreadsheets write it where a comma stands in numbers.
    Semicolon,
}

impl Dialect {
    pub(crate) fn separator(self) -> u8 {
        match self {
            Dialect::Csv => b',',
            Dialect::Tsv => b'\t',
            Dialect::Semicolon => b';',
        }
    }
}

/// A field without white space and without quotes round it.
pub(crate) fn clean(field: &[u8]) -> &[u8] {
    let field = field.trim_ascii();
    match field {
        [b'"', inner @ .., b'"'] => inner.trim_ascii(),
        _ => field,
    }
}

/// Records are checked as they are read, so this never falls back.
pub(crate) fn text(field: &[u8]) -> &str {
    str::from_utf8(field).unwrap_or_default()
}

/// The records of a table, one at a time, with the line each begins on.
pub(crate) struct Records<R> {
    reader: csv::Reader<Tail<R>>,
    pub(crate) fields: ByteRecord,
    /// Those before the record, and between all records so far.
    pub(crate) blanks: Blanks,
}

impl<R: Read> Records<R> {
    pub(crate) fn new(reader: R, dialect: Dialect) -> Result<Self, Error> {
        let tail = Tail::new(reader).map_err(|cause| Error::io(cause).at(1))?;
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(dialect.separator())
            .quoting(dialect != Dialect::Tsv)
            // A return before the newline stays in the last field, where `clean` drops it; the
            // reader's own rule for it would leave the line numbers one behind.
            .terminator(Terminator::Any(b'\n'))
            .buffer_capacity(1 << 16)
            .from_reader(tail);
        Ok(Self { reader, fields: ByteRecord::new(), blanks: Blanks::default() })
    }

    /// Reads the next record that is not blank; false at the end of the file.
    pub(crate) fn advance(&mut self) -> Result<bool, Error> {
        let start = self.reader.position().byte();
        self.reader.get_mut().done(start);
        loop {
            let next = self.reader.position().line();
            let read = self.reader.read_byte_record(&mut self.fields);
            if !read.map_err(|error| self.io(error))? {
                return Ok(false);
            }
            if self.unclosed() {
                return Err(Error::new("a quoted field begins in this record and never ends")
                    .at(self.line())
                    .hint_to("close the quote; a quote inside a quoted field is written twice"));
            }
            let bytes = self.fields.as_slice();
            if !bytes.is_ascii() && self.fields.iter().any(|field| str::from_utf8(field).is_err()) {
                return Err(Error::not_utf8(self.line()));
            }
            let blank = self.blank();
            // Most records are the next line. Empty lines before one are passed over by the parser; how
            // many bytes of them it may pass is up to the reader below it.
            if blank || self.reader.position().line() > next + 1 {
                let before = self.line().saturating_sub(next);
                self.blanks.add(next, before + u64::from(blank), 0)?;
            }
            if !blank {
                self.blanks.end();
                return Ok(true);
            }
        }
    }

    /// Whether this is a line of white space, such as a lone return, and not a field of it in
    /// quotes: that one is a cell without a length. Quotes show in the number of bytes taken,
    /// without the newlines, each of which began a line.
    fn blank(&self) -> bool {
        let bytes = self.fields.as_slice();
        if self.fields.len() != 1 || !bytes.trim_ascii().is_empty() {
            return false;
        }
        let (Some(start), end) = (self.fields.position(), self.reader.position()) else {
            return false;
        };
        let taken = (end.byte() - start.byte()).saturating_sub(end.line() - start.line());
        taken == bytes.len() as u64
    }

    /// Whether the file ended in a quoted field that holds a newline, and not with its closing quote.
    fn unclosed(&self) -> bool {
        let tail = self.reader.get_ref();
        let last = self.fields.iter().next_back().unwrap_or_default();
        tail.ended && last.contains(&b'\n') && tail.last_visible != b'"'
    }

    /// The line this record begins on, from where it ends: the reader notes the beginning before
    /// it skips empty lines.
    pub(crate) fn line(&self) -> u64 {
        let inside = self.fields.as_slice().split(|&byte| byte == b'\n').count() as u64 - 1;
        let newline = !self.reader.get_ref().ended;
        let end = self.reader.position().line() - u64::from(newline);
        end.saturating_sub(inside).max(1)
    }

    #[cold]
    fn io(&self, error: csv::Error) -> Error {
        let line = self.reader.position().line();
        if self.reader.get_ref().only_blank() {
            return too_many(line);
        }
        if self.reader.get_ref().exceeded() {
            return Error::new("the record is longer than 64 MiB")
                .at(line)
                .hint_to("check that this is a table, and that every quote is closed");
        }
        match error.into_kind() {
            csv::ErrorKind::Io(cause) => Error::io(cause).at(line),
            other => {
                Error::new(format!("the record cannot be read: {}", quote(&format!("{other:?}"))))
                    .at(line)
            }
        }
    }

    #[cold]
    pub(crate) fn uneven(&self, width: usize) -> Error {
        let found = self.fields.len();
        let noun = if found == 1 { "field" } else { "fields" };
        let hint = if found < width {
            "complete the record, or leave it out"
        } else {
            "put quotes round fields that hold the separator"
        };
        Error::new(format!("the record has {found} {noun}, but the first has {width}"))
            .at(self.line())
            .hint_to(hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, dialect: Dialect) -> Vec<(u64, usize)> {
        let mut records = Records::new(text.as_bytes(), dialect).unwrap();
        let mut found = Vec::new();
        while records.advance().unwrap() {
            found.push((records.line(), records.fields.len()));
        }
        found
    }

    #[test]
    fn lines_are_those_of_the_file() {
        for end in ["\n", "\r\n"] {
            for last in ["", end] {
                let text =
                    ["", "a,b", "", " ", "\"x", "", "y\",2", "3", "", "4,5"].join(end) + last;
                assert_eq!(
                    lines(&text, Dialect::Csv),
                    [(2, 2), (5, 2), (8, 1), (10, 2)],
                    "{text:?}"
                );
            }
        }
    }

    #[test]
    fn a_quoted_end_keeps_its_line() {
        assert_eq!(lines("1,\"a\nb\"", Dialect::Csv), [(1, 2)]);
        assert_eq!(lines("1,\"a\nb\n\" \r\n", Dialect::Csv), [(1, 2)]);
    }

    #[test]
    fn an_empty_cell_is_not_a_blank_line() {
        for end in ["\n", "\r\n"] {
            let text = ["\"\"", "", " ", "\" \"", "", "", "\"\"", "", "\"\n\"", ""].join(end);
            assert_eq!(lines(&text, Dialect::Csv), [(1, 1), (4, 1), (7, 1), (9, 1)], "{text:?}");
        }
        assert_eq!(lines("\"\"\n\n\"\"", Dialect::Csv), [(1, 1), (3, 1)]);
        assert_eq!(lines("1\n\n \t", Dialect::Csv), [(1, 1)]);
    }

    /// A record that ends with a piece of the file is not the last one for that.
    #[test]
    fn pieces_of_a_file_are_not_its_end() {
        let (first, rest) = ("1,\"a\nb\" c\n", "2,3\n4,\"d\n");
        let mut records =
            Records::new(first.as_bytes().chain(rest.as_bytes()), Dialect::Csv).unwrap();
        for line in [1, 3] {
            assert!(records.advance().unwrap());
            assert_eq!(records.line(), line);
        }
        let error = records.advance().unwrap_err().to_string();
        assert_eq!(error, ":4: a quoted field begins in this record and never ends");
    }

    #[test]
    fn quotes_are_plain_in_tsv() {
        assert_eq!(lines("a\t\"b\n1\t2\n", Dialect::Tsv), [(1, 2), (2, 2)]);
        assert_eq!(clean(b" \" 12\"\r"), b"12");
        assert_eq!(clean(b"\""), b"\"");
    }
}
