//! What a file or a stream without a telling name holds, by how it begins. Only what cannot be mistaken is
//! taken for a table or an array; whatever else there is goes to the reader of plain text, which takes the
//! least for granted.

use std::io::{self, Cursor, Read};

use crate::error::Error;
use crate::read::{format::Format, number::is_number, records::Dialect};

/// How much is looked at: the first lines of most tables.
const START: usize = 1 << 14;

/// How many lines are looked at. Empty ones do not count.
const LINES: usize = 4;

/// The beginning of what a reader has, and all that it has, with this beginning before the rest. At most a
/// few lines are waited for, and in which pieces they come does not matter.
pub(crate) fn peeked<R: Read>(mut reader: R) -> io::Result<(Vec<u8>, impl Read + use<R>)> {
    let mut start = Vec::new();
    let mut piece = [0; 1024];
    while start.len() < START {
        let read = match reader.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => read,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
            Err(cause) if start.is_empty() => return Err(cause),
            // What was read so far comes first; the reader says the rest once more.
            Err(_) => break,
        };
        start.extend_from_slice(&piece[..read]);
        if piece[..read].contains(&b'\n') && is_enough(&start) {
            break;
        }
    }
    let looked_at = start[..start.len().min(START)].to_vec();
    Ok((looked_at, Cursor::new(start).chain(reader)))
}

/// Whether more lines would not tell more.
fn is_enough(start: &[u8]) -> bool {
    let mut lines = lines(start);
    // Most streams are numbers, and need no second line.
    lines.next().is_some_and(|line| is_number(line.as_bytes())) || lines.count() + 1 >= LINES
}

/// The first lines that are there as a whole; one that has no end is the last of its file, or long.
fn lines(start: &[u8]) -> impl Iterator<Item = &str> {
    let end = start.iter().rposition(|&byte| byte == b'\n').map_or(start.len(), |at| at + 1);
    let text = match str::from_utf8(&start[..end]) {
        Ok(text) => text,
        Err(error) => str::from_utf8(&start[..error.valid_up_to()]).unwrap_or_default(),
    };
    let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
    lines.filter(|line| !line.is_empty()).take(LINES)
}

/// The format of what begins like this.
pub(crate) fn format(start: &[u8]) -> Result<Format, Error> {
    let magic = [
        (&b"\x93NUMPY"[..], Format::Npy),
        (b"PAR1", Format::Parquet),
        (b"ARROW1", Format::Arrow),
        (b"\xff\xff\xff\xff", Format::Arrow),
        (b"fLaC", Format::Audio),
    ];
    if let Some((_, format)) = magic.into_iter().find(|(magic, _)| start.starts_with(magic)) {
        return Ok(format);
    }
    if start.starts_with(b"RIFF") && start.get(8..12) == Some(b"WAVE") {
        return Ok(Format::Audio);
    }
    if start.starts_with(b"PK\x03\x04") {
        return Err(Error::new("is an archive (.npz, .zip or .xlsx), not a file of lengths")
            .hint_to(
                "save the lengths alone: `numpy.save(\"lengths.npy\", lengths)`, or as a .csv file",
            ));
    }
    let Some(first) = lines(start).next() else { return Ok(Format::Text) };
    if first.starts_with(['{', '[']) {
        return Ok(Format::Jsonl);
    }
    let words: Vec<&str> = first.split_ascii_whitespace().collect();
    match (table(start), &words[..]) {
        (Some(Dialect::Tsv), _) => Ok(Format::Tsv),
        (Some(_), _) => Ok(Format::Csv),
        (None, [name, number]) if !is_number(name.as_bytes()) => match number.parse::<f64>() {
            Ok(seconds) if seconds.fract() != 0.0 => Ok(Format::Utt2Dur),
            // Frames, or whole seconds.
            Ok(_) => Err(Error::new("has a name and a number on each line")
                .hint_to("say what the numbers are: {format=utt2num_frames} or {format=utt2dur}")),
            Err(_) => Ok(Format::Text),
        },
        _ => Ok(Format::Text),
    }
}

/// How the fields of a table are separated: by what its first line has most of, outside quotes.
pub(crate) fn dialect(start: &[u8]) -> Dialect {
    let first = lines(start).next().unwrap_or_default();
    let count = |separator: char| {
        let outside = first.split('"').step_by(2);
        outside.map(|text| text.matches(separator).count()).sum::<usize>()
    };
    let (commas, semicolons, tabs) = (count(','), count(';'), count('\t'));
    if semicolons > commas && semicolons >= tabs {
        Dialect::Semicolon
    } else if tabs > commas {
        Dialect::Tsv
    } else {
        Dialect::Csv
    }
}

/// The dialect of a table with a column of numbers. A sentence may have commas too.
fn table(start: &[u8]) -> Option<Dialect> {
    let dialect = dialect(start);
    let rows: Vec<Vec<&str>> = lines(start)
        .map(|line| {
            line.split(dialect.separator() as char).map(|field| field.trim_matches([' ', '"']))
        })
        .map(Iterator::collect)
        .collect();
    let width = rows.first()?.len();
    // The first line may be a header.
    let body = if rows.len() > 1 { &rows[1..] } else { &rows[..] };
    let same =
        rows.iter().all(|row| row.len() == width) || lines(start).any(|line| line.contains('"'));
    let number =
        |row: &Vec<&str>, at: usize| row.get(at).is_some_and(|field| is_number(field.as_bytes()));
    let numbers = (0..width).any(|at| body.iter().all(|row| number(row, at)));
    (width > 1 && same && numbers).then_some(dialect)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_by_how_they_begin() {
        let guesses = [
            (&b"utt,frames\na,3\n"[..], "csv"),
            (b"utt;frames\na;3\n", "csv"),
            (b"\xef\xbb\xbfa,3", "csv"),
            (b"\"a, b\",frames\n\"c, d\",3\n", "csv"),
            (b"utt\tframes\na\t3\n", "tsv"),
            (b"{\"duration\": 1}\n", "jsonl"),
            (b"[1, 2]", "jsonl"),
            (b"\x93NUMPY\x01\0", "npy"),
            (b"ARROW1\0\0", "arrow"),
            (b"PAR1", "parquet"),
            (b"RIFF....WAVE", "audio"),
            (b"a 1.5\nb 3\n", "utt2dur"),
            (b"12\n30\n", "txt"),
            (b"12 30\n13 31\n", "txt"),
            (b"some words of text\n", "txt"),
            (b"Hello, world\nSo, it ends\n", "txt"),
            (b"", "txt"),
        ];
        for (start, expected) in guesses {
            assert_eq!(format(start).unwrap().to_string(), expected, "{start:?}");
        }
        for (start, expected) in [(&b"PK\x03\x04"[..], "an archive"), (b"a 12\nb 3\n", "a name")] {
            let error = format(start).unwrap_err().in_source("f").to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn nothing_is_lost_by_looking() {
        for text in ["", "1", "12\n3\n", "a,b\n1,2\n3,4\n5,6\n7,8\n9,10\n"] {
            let (start, mut whole) = peeked(text.as_bytes()).unwrap();
            assert!(text.as_bytes().starts_with(&start));
            let mut read = String::new();
            whole.read_to_string(&mut read).unwrap();
            assert_eq!(read, text);
        }
    }

    /// Gives one byte at a time, as a slow pipe may.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let one = buffer.len().min(1);
            self.0.read(&mut buffer[..one])
        }
    }

    #[test]
    fn pieces_of_a_stream_do_not_matter() {
        let long = format!("{};{}\n1;2\n", "a".repeat(START - 1), "b,".repeat(600));
        let texts = [
            "12;30\n13;31\n",
            "\r\r0\rc;\n",
            "\n\n \n\n\nutt;frames\na;3\n",
            "utt,frames\n\n\n\na,3\nb,4\nc,5\nd,\"e\n\n\"\n",
            "RIFF\n\n\n\nWAVE",
            "3",
            long.as_str(),
        ];
        for text in texts {
            let (start, _) = peeked(text.as_bytes()).unwrap();
            let (slowly, _) = peeked(Slow(text.as_bytes())).unwrap();
            let guesses =
                [&start, &slowly].map(|start| (dialect(start), format(start).unwrap().to_string()));
            assert_eq!(guesses[0], guesses[1], "{text:?}");
        }
    }

    #[test]
    fn a_stream_is_waited_for_no_longer_than_needed() {
        let waited = |text: &'static str| peeked(Slow(text.as_bytes())).unwrap().0.len();
        assert_eq!(waited("12\n30\n"), 3);
        assert_eq!(waited("a,b\n1,2\n\n3,4\n5,6\n7,8\n"), 17);
    }

    #[test]
    fn separators_in_quotes_do_not_count() {
        let names = ["a,b", "a;b", "a\tb", "\"a;b;c\",d", "a", ""];
        let dialects = names.map(|first| dialect(first.as_bytes()).separator());
        assert_eq!(dialects, [b',', b';', b'\t', b',', b',', b',']);
    }
}
