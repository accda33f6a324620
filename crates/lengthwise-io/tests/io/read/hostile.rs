//! Everything that is wrong with a file, and the exact words it gets: one table per format. The
//! words that several formats share stand here.

#[path = "hostile/json.rs"]
mod json;
#[path = "hostile/numpy.rs"]
mod numpy;
#[path = "hostile/tables.rs"]
mod tables;

use lengthwise_io::{Error, Format, Options, read_from};

/// The hint where there are no columns.
pub(crate) const TABLE: &str =
    "leave out `Reader::column`, or say `Reader::format(\"csv\".parse()?)` if it is a table";

const RANGE: &str = "lengths are whole numbers from 1 to 4294967295";
const TEXTS: &str = "lengths are whole numbers from 1 to 4294967295; for a file of texts, choose what \
                     to count, such as `Reader::unit(\"words\".parse()?)`";
const LINES: &str = "lengths are whole numbers from 1 to 4294967295; write one on each line";
const AGAIN: &str = "copy the file again, or compress it again";
const MISSING: &str = "write the length there, or leave out the sequences without one";
const ZERO: &str = "leave empty sequences out: lengths start at 1";
const SECONDS: &str = "lengths are whole numbers; if these are seconds, convert them to frames \
     with `Reader::time(Time::FrameShift(0.01))` or `Reader::time(Time::Rate(100.0))`";
const NOTHING: &str = "write at least one length, or name another file";
const NAME: &str = "choose one with `Reader::column(\"NAME\")`";
const UTF8: &str = "save the file as UTF-8 text; of compressed files, gzip and zstd are read";

fn fail(format: Format, column: &str, input: &[u8]) -> Error {
    let column = (!column.is_empty()).then(|| column.to_owned());
    let options = Options { column, format: None };
    let error = read_from(input, "f", format, &options).expect_err("the input is wrong");
    let text = error.to_string();
    assert!(!text.contains(['\n', '\r', '\u{1b}']), "{text:?}");
    assert!(!text.ends_with('.'), "{text}");
    error
}

fn check(format: Format, cases: &[(&str, &[u8], &str, &str)]) {
    for &(column, input, message, hint) in cases {
        let error = fail(format, column, input);
        assert_eq!(error.to_string(), message);
        assert_eq!(error.hint().as_deref(), Some(hint), "{message}");
    }
}

#[test]
fn text() {
    let long = "x".repeat(1_000_000);
    let shown = format!("f:1: `{}…` is not a number", "x".repeat(40));
    check(
        Format::Text,
        &[
            ("", b"", "f: holds no lengths", NOTHING),
            ("", b"\xef\xbb\xbf\r\n \n", "f: holds no lengths", NOTHING),
            ("", b"1\n# two\n", "f:2: `# two` is not a number", TEXTS),
            ("", b"1\n\n12.5\n", "f:3: `12.5` is not a whole number", SECONDS),
            ("", b"0\n", "f:1: `0` is less than 1", ZERO),
            ("", b"-3\n", "f:1: `-3` is negative", RANGE),
            ("", b"NaN\n", "f:1: `NaN` is not a finite number", MISSING),
            ("", b"inf\n", "f:1: `inf` is not a finite number", MISSING),
            ("", b"8589934592\n", "f:1: `8589934592` is more than 4294967295", RANGE),
            ("", b"1 2\n", "f:1: `1 2` is not a number", LINES),
            ("", b"1\r2\r", "f:1: `1\\r2` is not a number", LINES),
            ("", b"\x1b[2J\n", "f:1: `\\u{1b}[2J` is not a number", TEXTS),
            ("", b"1\n\xff\xfe\n", "f:2: the line is not valid UTF-8", UTF8),
            ("", b"\x1f\x8b\x08\x00", "f:1: the gzip data is cut short or damaged", AGAIN),
            ("", b"(\xb5/\xfd", "f:1: the zstd data is cut short or damaged", AGAIN),
            ("", long.as_bytes(), &shown, TEXTS),
            ("x", b"1\n", "f: a text file has no columns to choose from", TABLE),
        ],
    );
}
