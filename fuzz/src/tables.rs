//! Lengths from text: tables, JSON lines, numbers, words, Kaldi's tables and measured steps, packed or not.
//!
//! The first byte of an input is the format, the second what is asked for.

use std::io::{self, Read};

use lengthwise_io::{
    BlankLines, Column, Error, Format, IdColumn, Reader, Time, Unit, is_packed, read_steps_from,
};

pub(crate) fn run(data: &[u8]) {
    let [kind, asked, file @ ..] = data else { return };
    let format = match kind {
        b'c' => Format::Csv,
        b't' => Format::Tsv,
        b'j' => Format::Jsonl,
        b'x' => Format::Text,
        b'f' => Format::Utt2NumFrames,
        b'd' => Format::Utt2Dur,
        b's' => return steps(file),
        _ => {
            let column = reader(*asked).read_unnamed(file, "input");
            check(&column, "input");
            let pieces = reader(*asked).read_unnamed(in_pieces(file, *asked), "input");
            check_same(&pieces, &column, file);
            return;
        }
    };
    let reader = reader(*asked);
    let column = reader.read_from(file, "input", format);
    check(&column, "input");
    // Nor must it matter where the lengths are kept.
    let pieces = reader.read_from(in_pieces(file, *asked), "input", format);
    check_same(&pieces, &column, file);
    let mapped = reader.map_from(file, "input", format);
    match (&mapped, &column) {
        (Ok(mapped), Ok(column)) => {
            assert_eq!(mapped.lengths.as_ref(), &column.lengths[..]);
        }
        (Err(mapped), Err(column)) => assert_eq!(mapped.to_string(), column.to_string()),
        _ => panic!("one reader refuses what the other takes: {mapped:?} {column:?}"),
    }
    if let Ok(column) = column {
        let lines: Vec<String> = column.lengths.iter().map(ToString::to_string).collect();
        let lines = lines.join("\n");
        let again = Reader::new().read_from(lines.as_bytes(), "lines", Format::Text);
        assert!(again.is_ok_and(|again| again.lengths == column.lengths));
    }
}

/// Where a piece of the file ends must not matter. Only how far a damaged file is unpacked depends on it.
fn check_same(pieces: &Result<Column, Error>, whole: &Result<Column, Error>, file: &[u8]) {
    if is_packed(file) {
        assert_eq!(pieces.as_ref().ok(), whole.as_ref().ok());
    } else {
        assert_eq!(as_text(pieces), as_text(whole));
    }
}

fn steps(file: &[u8]) {
    match read_steps_from(file, "input") {
        Ok(steps) => assert!(steps.iter().all(|step| {
            step.batch_size > 0
                && step.batch_length > 0
                && step.seconds > 0.0
                && step.seconds.is_finite()
        })),
        Err(error) => check_refusal(&error, "input"),
    }
}

/// A reader that is asked for what the bits say.
pub(crate) fn reader(asked: u8) -> Reader {
    let mut reader = Reader::new();
    if asked & 1 > 0 {
        reader = reader.ids(IdColumn::Usual);
    }
    reader = match asked >> 1 & 7 {
        1 => reader.unit(Unit::Words),
        2 => reader.unit(Unit::Characters),
        3 => reader.unit(Unit::Bytes),
        4 => reader.time(Time::FrameShift(0.01)),
        5 => reader.time(Time::Rate(16_000.0)),
        6 => reader.numbers_only(),
        7 => reader.any_name(),
        _ => reader,
    };
    reader = match asked >> 4 & 3 {
        1 => reader.column("1"),
        2 => reader.column("a"),
        3 => reader.column("a.b"),
        _ => reader,
    };
    match asked >> 6 & 3 {
        1 => reader.blank_lines(BlankLines::Refuse),
        2 => reader.own_ids(),
        _ => reader,
    }
}

/// Lengths are from 1, ids are as many, and a refusal says where and what to do.
pub(crate) fn check(read: &Result<Column, Error>, source: &str) {
    match read {
        Ok(column) => {
            assert!(!column.lengths.is_empty() && !column.lengths.contains(&0));
            if let Some(ids) = &column.ids {
                assert_eq!(ids.len(), column.lengths.len());
                assert_eq!(ids.iter().count(), ids.len());
            }
        }
        Err(error) => check_refusal(error, source),
    }
}

/// An error names the file, is one line, and has a hint of one line.
pub(crate) fn check_refusal(error: &Error, source: &str) {
    let message = error.to_string();
    assert!(message.contains(source), "{message}");
    check_line(&message);
    check_line(&error.hint().unwrap_or_else(|| panic!("`{message}` has no hint")));
}

pub(crate) fn check_line(text: &str) {
    assert!(!text.trim().is_empty() && !text.contains(['\n', '\r', '\u{1b}', '\0']), "{text:?}");
    assert!(text.chars().count() < 2000, "{text:?}");
}

fn as_text(read: &Result<Column, Error>) -> String {
    match read {
        Ok(column) => format!("{column:?}"),
        Err(error) => error.to_string(),
    }
}

fn in_pieces(bytes: &[u8], asked: u8) -> Pieces<'_> {
    Pieces { bytes, size: 1 + usize::from(asked % 7) }
}

/// Gives a few bytes at a time, as a pipe may.
struct Pieces<'a> {
    bytes: &'a [u8],
    size: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = self.size.min(buffer.len());
        self.bytes.read(&mut buffer[..most])
    }
}
