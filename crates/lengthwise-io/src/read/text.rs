//! Plain text. Without a unit it holds one length a line and nothing else: there are no comments
//! and no headers, because a reader that skips what it does not understand would also skip a
//! mistyped length. With a unit it holds one sequence a line, whose length is counted.

use std::io::Read;

use crate::error::Error;
use crate::read::lines::{Blanks, Lines};
use crate::read::request::{BlankLines, Measure, Request};
use crate::read::{column::Column, columns::IdColumn, number, unit::Counter};

pub(crate) fn read<R: Read>(reader: R, request: &Request) -> Result<Column, Error> {
    request.refuse_column("a text file")?;
    if let Some(IdColumn::Named(_)) = request.ids {
        return Err(Error::no_ids("a text file").also("without a name, ids are the line numbers"));
    }
    let lines = Lines::new(reader);
    match &request.measure {
        Measure::Texts(counter) => texts(lines, counter, request),
        measure => numbers(lines, measure, request),
    }
}

fn numbers<R: Read>(
    mut lines: Lines<R>,
    measure: &Measure,
    request: &Request,
) -> Result<Column, Error> {
    let mut column = request.column(None);
    while let Some((line, text)) = lines.next()? {
        let length = measure.bytes(text).map_err(|reason| refuse(line, text, reason))?;
        column.push(length)?;
        name(&mut column, line)?;
    }
    lines.blanks.note(&mut column);
    Ok(column)
}

/// Digits are valid UTF-8, so only a line that is refused anyway needs the check.
#[cold]
fn refuse(line: u64, text: &[u8], reason: number::Reason) -> Error {
    match str::from_utf8(text) {
        Ok(text) if reason == number::Reason::NotNumber => {
            let error = reason.error("", text).at(line);
            let is_number = |field: &str| number::is_number(field.trim().as_bytes());
            let fields = text.split([',', ';', '\t']);
            if fields.clone().count() > 1 && fields.clone().any(is_number) {
                error.also("for a table, say {format=csv} or {format=tsv}")
            } else if text.split_ascii_whitespace().all(is_number) {
                error.also("write one on each line")
            } else {
                error.also("for a file of texts, choose what to count, such as {unit=words}")
            }
        }
        Ok(text) => reason.error("", text).at(line),
        Err(_) => Error::not_utf8(line),
    }
}

fn texts<R: Read>(
    mut lines: Lines<R>,
    counter: &Counter,
    request: &Request,
) -> Result<Column, Error> {
    let mut column = request.column(None);
    let mut blanks = Blanks::default();
    while let Some((line, text)) = lines.next_whole()? {
        let text = str::from_utf8(text).map_err(|_| Error::not_utf8(line))?;
        if text.trim().is_empty() {
            match request.blank_lines {
                BlankLines::Skip => blanks.add(line, 1, text.len() as u64 + 1)?,
                BlankLines::Refuse => {
                    return Err(Error::new("the line is empty and should hold a sequence")
                        .at(line)
                        .hint_to(
                            "if empty lines only separate, leave them out with {skip-blank}",
                        ));
                }
            }
            continue;
        }
        blanks.end();
        column.push(counter.length(text, "the line").map_err(|error| error.at(line))?)?;
        name(&mut column, line)?;
    }
    blanks.note(&mut column);
    Ok(column)
}

/// The id of a line is its number: with blank lines left out, it says which line a sequence is.
fn name(column: &mut Column, line: u64) -> Result<(), Error> {
    if column.ids.is_some() { column.push_id(&line.to_string()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_length_a_line() {
        let text = &b"\xef\xbb\xbf12\r\n\n 7.0 \n4294967295"[..];
        let column = read(text, &Request::plain(None)).unwrap();
        assert_eq!(column.lengths, [12, 7, u32::MAX]);
        assert_eq!((column.skipped, column.first_skipped), (1, Some(2)));
    }

    #[test]
    fn blank_lines_at_the_end_shift_nothing() {
        for (text, skipped) in [("1\n2\n\n \n", (0, None)), ("\n\n1\n\n2\n\n", (3, Some(1)))] {
            let column = read(text.as_bytes(), &Request::plain(None)).unwrap();
            assert_eq!((column.skipped, column.first_skipped), skipped, "{text:?}");
        }
    }

    #[test]
    fn blank_lines_without_end_are_refused() {
        let counted = Measure::Texts(Counter::Words);
        let kibibyte = format!("{:1023}\n", "");
        for measure in [Measure::Numbers, counted] {
            let blank_lines = BlankLines::Skip;
            let request = Request { measure, blank_lines, ..Request::plain(None) };
            let blank = kibibyte.repeat((64 << 10) + 1);
            let error = read(blank.as_bytes(), &request).unwrap_err().in_source("f");
            let text = "f:65537: more than 64 MiB of blank lines follow one another";
            assert_eq!(error.to_string(), text);
        }
    }

    #[test]
    fn the_line_of_a_mistake_counts_blank_lines() {
        let text = &b"12\n\n\n12 13\n"[..];
        let error = read(text, &Request::plain(None)).unwrap_err().in_source("a.txt");
        assert_eq!(error.to_string(), "a.txt:4: `12 13` is not a number");
    }

    #[test]
    fn one_sequence_a_line() {
        let text = "\u{feff}Ein Satz.\r\n\n  zwei\u{a0}Sätze \n \t\nEnde".as_bytes();
        let mut request = Request::plain(None);
        request.ids = Some(&IdColumn::Usual);
        request.blank_lines = BlankLines::Skip;
        for (counter, lengths) in [
            (Counter::Words, [2, 2, 1]),
            (Counter::Characters, [9, 13, 4]),
            (Counter::Bytes, [9, 15, 4]),
        ] {
            request.measure = Measure::Texts(counter);
            let column = read(text, &request).unwrap();
            assert_eq!((column.lengths, column.skipped), (lengths.to_vec(), 2));
            assert!(column.ids.unwrap().iter().eq(["1", "3", "5"]));
        }
        request.blank_lines = BlankLines::Refuse;
        let error = read(text, &request).unwrap_err().in_source("f");
        assert_eq!(error.to_string(), "f:2: the line is empty and should hold a sequence");
    }

    #[test]
    fn a_broken_reader_is_an_error() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                Err(std::io::Error::other("The cable is out"))
            }
        }
        let error = read(Broken, &Request::plain(None)).unwrap_err().in_source("pipe");
        assert_eq!(error.to_string(), "pipe:1: the cable is out");
    }
}
