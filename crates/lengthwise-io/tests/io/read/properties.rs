//! Whatever the bytes, a reader returns; and what is written comes back.

use lengthwise_io::{Format, Options, read_from};
use proptest::prelude::*;

/// Reads in every format, with and without a column, and looks at the error if there is one.
fn survive(input: &[u8], column: &str) {
    for format in Format::ALL {
        for column in [None, Some(column.to_owned())] {
            match read_from(input, "f", format, &Options { column, format: None }) {
                Ok(column) => assert!(!column.lengths.is_empty() && !column.lengths.contains(&0)),
                Err(error) => {
                    let text = error.to_string();
                    assert!(text.starts_with("f:") && !text.contains(char::is_control), "{text:?}");
                    assert!(!error.hint().is_some_and(|hint| hint.contains(char::is_control)));
                }
            }
        }
    }
}

fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}}}");
    let size = u32::try_from(header.len()).expect("a short header").to_le_bytes();
    [b"\x93NUMPY\x03\x00", &size[..], header.as_bytes(), data].concat()
}

proptest! {
    #[test]
    fn random_bytes_never_panic(
        input in prop::collection::vec(any::<u8>(), 0..200),
        column in ".{0,4}",
    ) {
        survive(&input, &column);
    }

    /// Bytes that mean something to the formats go deeper than random ones.
    #[test]
    fn likely_bytes_never_panic(
        input in "(\u{feff})?([0-9]|[,\t\n\r\" .{}\\[\\]:ae-]|\"len\":|len|null|é){0,60}",
        column in "(len|[0-9]|a\\.len|)",
    ) {
        survive(input.as_bytes(), &column);
    }

    #[test]
    fn likely_arrays_never_panic(
        descr in "[<>|=]?[iufbcOUé][0-9]{0,2}",
        shape in "\\(?[0-9L]{0,21}(, ?[0-9]{0,3}){0,2}\\)?",
        data in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        survive(&npy(&descr, &shape, &data), "1");
    }

    #[test]
    fn what_is_written_comes_back(lengths in prop::collection::vec(1_u32.., 1..100)) {
        let lines = |line: &dyn Fn(u32) -> String| {
            lengths.iter().map(|&length| line(length)).collect::<String>().into_bytes()
        };
        let data: Vec<u8> = lengths.iter().flat_map(|length| length.to_be_bytes()).collect();
        let files = [
            (Format::Text, lines(&|length| format!("{length}\r\n"))),
            (Format::Csv, lines(&|length| format!("{length}\n"))),
            (Format::Csv, lines(&|length| format!("\n\"a,\n{length}\",{length}.0\r\n"))),
            (Format::Tsv, lines(&|length| format!("\"\t{length}\n"))),
            (Format::Jsonl, lines(&|length| format!("{length}\n"))),
            (Format::Jsonl, lines(&|length| format!("{{\"2\": {length}}}\n"))),
            (Format::Npy, npy(">u4", &format!("({},)", lengths.len()), &data)),
        ];
        for (index, (format, file)) in files.into_iter().enumerate() {
            let column = [2, 3, 5].contains(&index).then(|| "2".to_owned());
            let column = read_from(&file[..], "f", format, &Options { column, format: None });
            prop_assert_eq!(&column.unwrap().lengths, &lengths);
        }
    }
}
