//! Blank lines in files of values. They are left out, but not in silence: one that lost its value
//! shifts the index of every sequence behind it. Those at the end of a file shift nothing.

use crate::error::Error;
use crate::read::column::Column;

/// No file has this many bytes of blank lines in a row. A packed one of ten megabytes can have ten
/// gigabytes, which take minutes to pass over.
pub(crate) const MOST_BYTES: u64 = 64 << 20;

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
}
