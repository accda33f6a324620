//! Files that are damaged, or made to do harm: refused, without a panic.

use crate::files::common::{FORMS, TEXTS, kinds, named, refusal, said, small, written};
use expect_test::expect;
use lengthwise_io::{Exact, Form, PlanFile, read_plan_exact_from, read_plan_from};
use proptest::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

#[test]
fn every_truncation_is_refused() {
    for file in [small(), named(small())] {
        for &form in FORMS {
            let bytes = written(&file, form);
            for end in 0..bytes.len() {
                refusal(&bytes[..end], form);
            }
        }
    }
}

/// Every single bit, and every byte added or left out.
#[test]
fn every_alteration_is_refused() {
    for file in [small(), named(small())] {
        for form in TEXTS {
            let bytes = written(&file, form);
            for (at, altered) in alterations(&bytes) {
                let read = read_plan_from(&altered, form);
                assert!(read.is_err(), "{form:?} at {at}: {}", String::from_utf8_lossy(&altered));
            }
        }
    }
}

/// A zip and a table say things besides, such as a date: there the plan is refused, or is the same.
#[test]
fn no_alteration_makes_another_plan() {
    for file in [small(), named(small())] {
        no_alteration_makes_another(&file);
    }
}

fn no_alteration_makes_another(file: &PlanFile) {
    for &form in FORMS.iter().filter(|form| !TEXTS.contains(form)) {
        let bytes = written(file, form);
        let mut same = 0;
        let all = alterations(&bytes);
        let count = all.len();
        for (at, altered) in all {
            match read_plan_from(&altered, form) {
                Ok(read) => {
                    assert_eq!(&read, file, "{form:?} at {at}");
                    same += 1;
                }
                Err(error) => {
                    said(&error);
                }
            }
        }
        assert!(same * 3 < count, "{form:?}: {same} of {count} were not noticed");
    }
}

/// Nothing in a file can be altered unseen, if every byte is looked at. A version of another release is
/// no proof of damage, as that release may write other bytes; it is told.
#[test]
fn no_alteration_is_exact() {
    for file in [small(), named(small())] {
        for &form in FORMS {
            let bytes = written(&file, form);
            let (read, exact) = read_plan_exact_from(&bytes, form).unwrap();
            let known = if TEXTS.contains(&form) { Exact::Checksum } else { Exact::Bytes };
            assert_eq!((read, exact), (file.clone(), known));
            for (at, altered) in alterations(&bytes) {
                match read_plan_exact_from(&altered, form) {
                    Ok((read, Exact::Content { version })) => {
                        assert_eq!(read, file, "{form:?} at {at}");
                        assert_ne!(version, env!("CARGO_PKG_VERSION"));
                        let digits = bytes[at].is_ascii_digit() && altered.len() == bytes.len();
                        assert!(digits, "{form:?} at {at}");
                    }
                    Ok(_) => panic!("{form:?} at {at} was not noticed"),
                    Err(error) => _ = said(&error),
                }
            }
        }
    }
}

/// What other bytes of the same plan are called.
#[test]
fn the_same_in_other_bytes_is_said() {
    let mut bytes = written(&small(), Form::Npz);
    // The date of the first array.
    bytes[12] ^= 1;
    assert_eq!(read_plan_from(&bytes, Form::Npz).unwrap(), small());
    let error = read_plan_exact_from(&bytes, Form::Npz).unwrap_err();
    assert!(error.is_damaged());
    expect![[r#"
        the plan has the right content, but other bytes than were written, from byte 12 on: it was altered, or another program has saved it again
          make the plan again, or copy the file again from where it was made
    "#]].assert_eq(&said(&error));
}

/// NPZ files do not say which release wrote them. If this fails, files of releases before are refused
/// by `verify`, and must have another version.
#[test]
fn arrays_are_the_same_in_every_release() {
    let digests = [small(), named(small())].map(|file| xxh3_64(&written(&file, Form::Npz)));
    expect![[r#"
        f892bd6699ce0709 d7a660070f3a6ba8
    "#]]
    .assert_eq(&format!("{:016x} {:016x}\n", digests[0], digests[1]));
}

fn alterations(bytes: &[u8]) -> Vec<(usize, Vec<u8>)> {
    let mut all = Vec::new();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut altered = bytes.to_vec();
            altered[at] ^= 1 << bit;
            all.push((at, altered));
        }
        let mut shorter = bytes.to_vec();
        shorter.remove(at);
        all.push((at, shorter));
        for more in *b" \n0" {
            let mut longer = bytes.to_vec();
            longer.insert(at, more);
            all.push((at, longer));
        }
    }
    all.push((bytes.len(), [bytes, bytes].concat()));
    all
}

/// A file with a right checksum, as anybody can make it.
fn sealed(content: &str) -> Vec<u8> {
    let checksum = xxh3_64(content.as_bytes());
    format!("{content},\"checksum\":\"{checksum:016x}\"}}\n").into_bytes()
}

/// The JSON of a small plan without its checksum, with something in place of something else.
fn changed(form: Form, from: &str, to: &str) -> Vec<u8> {
    changed_in(&small(), form, from, to)
}

fn changed_in(file: &PlanFile, form: Form, from: &str, to: &str) -> Vec<u8> {
    let text = String::from_utf8(written(file, form)).unwrap();
    let content = &text[..text.rfind(",\"checksum\"").unwrap()];
    assert!(content.contains(from), "{from} in {content}");
    sealed(&content.replacen(from, to, 1))
}

#[test]
fn what_is_wrong_is_said() {
    let json = |from: &str, to: &str| changed(Form::Json, from, to);
    assert_eq!(read_plan_from(&json("", ""), Form::Json).unwrap(), small());
    let whole = String::from_utf8(written(&small(), Form::Json)).unwrap();
    let altered = whole.replace("[[", "[[0,");
    let checksum = whole.rfind(",\"checksum\"").unwrap();
    let unsealed = format!("{}}}\n", &whole[..checksum]);
    let deep = format!("{{\"version\":1,\"x\":{}", "[".repeat(1_000_000));
    let deep_batches = json("\"batches\":[", &format!("\"batches\":[{}", "[".repeat(1_000_000)));
    let said: String = [
        altered.into_bytes(),
        unsealed.into_bytes(),
        whole.trim_end().as_bytes().to_vec(),
        b"{\"version\":1,\"checksum\":5}\n".to_vec(),
        b"{}".to_vec(),
        b"[]".to_vec(),
        Vec::new(),
        b"\x00\xff\xfe\x80PK\x03\x04".to_vec(),
        deep.into_bytes(),
        deep_batches,
        sealed("{\"version\":1"),
        json("\"digest\":\"", "\"digest\":\"x"),
        json("\"batches\":[[", "\"batches\":[[],["),
        json("\"batches\":[[", "\"batches\":[[1e999,"),
        json("\"batches\":[[", "\"batches\":[[4294967296,"),
        json("\"batches\":[[", "\"batches\":[[-1,"),
        json("\"batch_lengths\":[", "\"batch_lengths\":[4,"),
        json("\"positions\":[", "\"positions\":[4,"),
        json("padded:5", "padded:\\u0007"),
        json("\"steps\":\"", "\"steps\":\"x"),
        json("\"world_size\":2", "\"world_size\":0"),
        json("\"world_size\":2", "\"world_size\":4294967295"),
        json("\"accumulate\":1,\"steps\"", "\"accumulate\":4294967295,\"steps\""),
        json("\"world_size\":2", "\"world_size\":2,\"rank\":2"),
        json("\"chunks\":{\"sequences\":[0", "\"chunks\":{\"sequences\":[4294967295"),
        json("\"offsets\":[0", "\"offsets\":[1"),
    ]
    .iter()
    .map(|bytes| refusal(bytes, Form::Json))
    .collect();
    expect![[r#"
        the plan has been altered: its checksum is c50605b999646b23, its content has d0928bc5062c4259
          make the plan again, or copy the file again from where it was made
        the plan has no checksum
          make the plan again, or copy the file again from where it was made
        the plan has been altered: it does not end with its checksum
          make the plan again, or copy the file again from where it was made
        the plan has been altered: it does not end with its checksum
          make the plan again, or copy the file again from where it was made
        the plan is cut off or not a plan: its end has no version
          make the plan again, or copy the file again from where it was made
        the plan is cut off or not a plan: invalid length 0, expected struct Header with 2 elements at line 1 column 2
          make the plan again, or copy the file again from where it was made
        the plan is cut off or not a plan: EOF while parsing a value at line 1 column 0
          make the plan again, or copy the file again from where it was made
        the plan is cut off or not a plan: expected value at line 1 column 1
          make the plan again, or copy the file again from where it was made
        the plan is cut off or not a plan: EOF while parsing a list at line 1 column 1000017
          make the plan again, or copy the file again from where it was made
        the plan is cut off or not a plan: expected `,` or `]` at line 1 column 1000105
          make the plan again, or copy the file again from where it was made
        the plan is cut off or not a plan: missing field `digest` at line 1 column 43
          make the plan again, or copy the file again from where it was made
        the plan is cut off or not a plan: `digest` `xba7462e0e9d4c965` is not a fingerprint
          make the plan again, or copy the file again from where it was made
        the plan is cut off or not a plan: the plan is not valid: 9 batches and 8 batch lengths
          make the plan again, or copy the file again from where it was made
        the plan is cut off or not a plan: number out of range at line 1 column 58
          make the plan again, or copy the file again from where it was made
        the plan is cut off or not a plan: invalid value: integer `4294967296`, expected u32 at line 1 column 63
          make the plan again, or copy the file again from where it was made
        the plan is cut off or not a plan: invalid value: integer `-1`, expected u32 at line 1 column 55
          make the plan again, or copy the file again from where it was made
        the plan is cut off or not a plan: the plan is not valid: 8 batches and 9 batch lengths
          make the plan again, or copy the file again from where it was made
        the plan is cut off or not a plan: 8 batches and positions of 9
          make the plan again, or copy the file again from where it was made
        the plan is cut off or not a plan: budget `padded` cannot be `\u{7}` at line 1 column 334
          make the plan again, or copy the file again from where it was made
        the plan is cut off or not a plan: unknown way to make steps `xstratified` at line 1 column 410
          make the plan again, or copy the file again from where it was made
        the plan is cut off or not a plan: it has no ranks, or no batches for them
          make the plan again, or copy the file again from where it was made
        the plan is cut off or not a plan: it has 8 batches in 4 steps
          make the plan again, or copy the file again from where it was made
        the plan is cut off or not a plan: it has 8 batches in 4 steps
          make the plan again, or copy the file again from where it was made
        the plan is cut off or not a plan: it is of rank 2 of 2
          make the plan again, or copy the file again from where it was made
        the plan is cut off or not a plan: the chunks are not parts of the sequences
          make the plan again, or copy the file again from where it was made
        the plan is cut off or not a plan: the chunks are not parts of the sequences
          make the plan again, or copy the file again from where it was made
    "#]].assert_eq(&said);
}

#[test]
fn what_is_wrong_with_lines_is_said() {
    let lines = |from: &str, to: &str| changed(Form::JsonLines, from, to);
    assert_eq!(read_plan_from(&lines("", ""), Form::JsonLines).unwrap(), small());
    let said: String = [
        lines("{\"sequences\"", "{\"sequence\""),
        lines("\"batch_length\"", "\"length\""),
        lines("\"offsets\":[", "\"offsets\":[1,"),
        lines("\"offsets\":[", "\"offset\":["),
        lines("\"offsets\":[0", "\"offsets\":[4294967295"),
        lines("\"truncate\"", "\"drop\""),
        lines("}\n", "}\n\n"),
        lines("}\n", "}\nnull\n"),
        lines("{\"sequences\"", &format!("{}\n{{\"sequences\"", "[".repeat(1_000_000))),
        b"{\"sequences\":[1],\"batch_length\":4,\"positions\":4}\n".to_vec(),
        b"\n\n\n".to_vec(),
    ]
    .iter()
    .map(|bytes| refusal(bytes, Form::JsonLines))
    .collect();
    expect![[r#"
        line 1 of the plan is cut off or not a plan: missing field `sequences` at line 1 column 75
          make the plan again, or copy the file again from where it was made
        line 1 of the plan is cut off or not a plan: a line is neither a batch nor the over-long sequences
          make the plan again, or copy the file again from where it was made
        line 1 of the plan is cut off or not a plan: a batch has chunks, or sequences, against the list of chunks
          make the plan again, or copy the file again from where it was made
        line 1 of the plan is cut off or not a plan: a batch has chunks, or sequences, against the list of chunks
          make the plan again, or copy the file again from where it was made
        line 1 of the plan is cut off or not a plan: a batch has a chunk that is not in the list of chunks
          make the plan again, or copy the file again from where it was made
        line 9 of the plan is cut off or not a plan: its over-long sequences are not treated as it was made
          make the plan again, or copy the file again from where it was made
        line 2 of the plan is cut off or not a plan: EOF while parsing a value at line 1 column 0
          make the plan again, or copy the file again from where it was made
        line 2 of the plan is cut off or not a plan: invalid type: null, expected struct Line at line 1 column 4
          make the plan again, or copy the file again from where it was made
        line 1 of the plan is cut off or not a plan: invalid type: sequence, expected u32 at line 1 column 2
          make the plan again, or copy the file again from where it was made
        the plan is cut off or not a plan: its end has no version
          make the plan again, or copy the file again from where it was made
        the plan is cut off or not a plan: EOF while parsing a value at line 2 column 0
          make the plan again, or copy the file again from where it was made
    "#]].assert_eq(&said);
}

/// Ids have the lists of the batches, and are there if the version says so.
#[test]
fn what_is_wrong_with_ids_is_said() {
    let file = named(small());
    let json = |from: &str, to: &str| changed_in(&file, Form::Json, from, to);
    let lines = |from: &str, to: &str| changed_in(&file, Form::JsonLines, from, to);
    assert_eq!(read_plan_from(&json("", ""), Form::Json).unwrap(), file);
    assert_eq!(read_plan_from(&lines("", ""), Form::JsonLines).unwrap(), file);
    let deep = format!("\"ids\":{}", "[".repeat(1_000_000));
    let texts: String = [
        json("\"version\":2", "\"version\":1"),
        json("\"ids\":", "\"names\":"),
        json("\"ids\":[[", "\"ids\":[[\"more\","),
        json("\"ids\":[[", "\"ids\":[[],["),
        json("\"ids\":[[", "\"ids\":[[7,"),
        json("\"ids\":[[", "\"ids\":[[null,"),
        json("\"ids\":[[\"", "\"ids\":[[\"\\ud800"),
        json("\"ids\":[[\"", "\"ids\":[[\"\n"),
        json("\"ids\":[", &deep),
        changed(Form::Json, "\"version\":1", "\"version\":2"),
        changed(Form::Json, "\"batch_lengths\"", "\"ids\":[],\"batch_lengths\""),
    ]
    .iter()
    .map(|bytes| refusal(bytes, Form::Json))
    .collect();
    let of_lines: String = [
        lines("\"version\":2", "\"version\":1"),
        lines("\"ids\":", "\"names\":"),
        lines("\"ids\":[", "\"ids\":[\"more\","),
        lines("\"ids\":[", "\"ids\":[7,"),
        changed(Form::JsonLines, "\"batch_length\"", "\"ids\":[\"a\"],\"batch_length\""),
    ]
    .iter()
    .map(|bytes| refusal(bytes, Form::JsonLines))
    .collect();
    expect![[r#"
        the plan is cut off or not a plan: it has ids, which version 1 has not
        the plan is cut off or not a plan: it has no ids, which version 2 has
        the plan is cut off or not a plan: its ids are not in lists as long as its batches
        the plan is cut off or not a plan: its ids are not in lists as long as its batches
        the plan is cut off or not a plan: invalid type: integer `7`, expected an id at line 1 column 98
        the plan is cut off or not a plan: invalid type: null, expected an id at line 1 column 101
        the plan is cut off or not a plan: unexpected end of hex escape at line 1 column 106
        the plan is cut off or not a plan: control character (\u0000-\u001F) found while parsing a string at line 1 column 98
        the plan is cut off or not a plan: expected `,` or `]` at line 1 column 1000334
        the plan is cut off or not a plan: it has no ids, which version 2 has
        the plan is cut off or not a plan: its ids are not in lists as long as its batches
        line 1 of the plan is cut off or not a plan: a batch has ids, or none, where its version says otherwise
        line 1 of the plan is cut off or not a plan: a batch has ids, or none, where its version says otherwise
        line 1 of the plan is cut off or not a plan: a batch has 2 ids for 1 sequences
        line 1 of the plan is cut off or not a plan: invalid type: integer `7`, expected an id at line 1 column 25
        line 1 of the plan is cut off or not a plan: a batch has ids, or none, where its version says otherwise
    "#]].assert_eq(
        &(texts + &of_lines)
            .replace("\n  make the plan again, or copy the file again from where it was made", ""),
    );
}

/// Whatever else a later version may hold.
#[test]
fn other_versions_are_refused_by_number() {
    let refused: String = [
        ("{\"version\":5}", Form::Json),
        ("{\"batches\":{},\"version\":18446744073709551616}\n", Form::Json),
        ("what it may be\n{\"version\":0,\"made\":7}\n", Form::JsonLines),
    ]
    .map(|(text, form)| {
        let error = read_plan_from(text.as_bytes(), form).unwrap_err();
        assert!(!error.is_damaged());
        said(&error)
    })
    .concat();
    expect![[r#"
        the plan has version 5, but this release reads versions 1 to 4
          use the release of lengthwise that wrote it
        the plan has version 1.8446744073709552e+19, but this release reads versions 1 to 4
          use the release of lengthwise that wrote it
        the plan has version 0, but this release reads versions 1 to 4
          use the release of lengthwise that wrote it
    "#]]
    .assert_eq(&refused);
}

/// Numbers that are not for arithmetic.
#[test]
fn right_checksums_do_not_make_wrong_plans_right() {
    for file in kinds().iter().step_by(7) {
        for form in TEXTS {
            let text = String::from_utf8(written(file, form)).unwrap();
            let content = &text[..text.rfind(",\"checksum\"").unwrap()];
            let digits: Vec<usize> = content
                .char_indices()
                .filter(|(_, character)| character.is_ascii_digit())
                .map(|(at, _)| at)
                .collect();
            for &at in digits.iter().step_by(1 + digits.len() / 100) {
                let mut other = content.to_owned();
                other.insert_str(at, "9999999");
                _ = read_plan_from(&sealed(&other), form);
            }
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for &form in FORMS {
            prop_assert!(read_plan_from(&bytes, form).is_err());
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(
        text in "(\\{\"version\":1,)?[\\[\\]{}\",:0-9a-z_ \n]{0,60}",
    ) {
        for &form in FORMS {
            prop_assert!(read_plan_from(text.as_bytes(), form).is_err());
            prop_assert!(read_plan_from(&sealed(&text), form).is_err());
        }
    }
}
