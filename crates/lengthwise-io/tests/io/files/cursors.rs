//! Cursors as JSON: small, read back, and refused where they are not what they should be.

use std::fs;

use crate::files::common::said;
use expect_test::expect;
use lengthwise::{Budget, Cursor, Example, Planner, Segment, Shapes, Strategy};
use lengthwise_io::{from_json, read_cursor, save_cursor, to_json};
use proptest::prelude::*;
use tempfile::TempDir;

fn cursor() -> Cursor {
    Cursor {
        settings: "strategy=sorted budget=sequences:2".to_owned(),
        lengths: 0x0123_4567_89ab_cdef,
        seed: u64::MAX,
        epoch: 3,
        plan: 7,
        segments: vec![Segment { ranks: 8, steps: 30 }, Segment { ranks: 6, steps: u32::MAX }],
    }
}

#[test]
fn a_cursor_is_one_line() {
    expect![[r#"{"version":1,"settings":"strategy=sorted budget=sequences:2","lengths":"0123456789abcdef","seed":18446744073709551615,"epoch":3,"plan":"0000000000000007","segments":[[8,30],[6,4294967295]],"checksum":"919f20acff81791b"}"#]].assert_eq(&to_json(&cursor()));
}

#[test]
fn cursors_are_small() {
    let lengths = Example::Documents.lengths();
    let segments = vec![Segment { ranks: 1024, steps: 1_000_000 }; 5];
    let mut largest = 0;
    for strategy in Strategy::all_of_one_length() {
        for (budget, shapes) in [
            ("padded:16384,at-most=512,multiple-of=8", "ladder:16"),
            ("cost:encoder,limit=0.25", "multiple:64"),
            ("cost:a=0.0024051234,b=1.23456e-7,c=6.03812e-7,d=2.36012e-10,limit=0.25", "exact"),
            ("sequences:64", "ladder:128/256/512/1024/2048/4096/8192/16384/32768/65536"),
        ] {
            let budget: Budget = budget.parse().unwrap();
            let shapes: Shapes = shapes.parse().unwrap();
            let planner = Planner::new(strategy.clone(), budget)
                .shapes(shapes)
                .over_long(lengthwise::OverLong::Truncate)
                .seed(u64::MAX);
            let plan = planner.plan(&lengths, 1_000_000).unwrap();
            let cursor = plan.schedule(2).unwrap().cursor(1).unwrap();
            let cursor = Cursor { segments: segments.clone(), ..cursor };
            let text = to_json(&cursor);
            largest = largest.max(text.len());
            assert!(!text.contains('\n'));
            assert_eq!(from_json(&text).unwrap(), cursor);
        }
    }
    assert!(largest <= 512, "{largest}");
}

#[test]
fn cursors_are_saved_and_read() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("cursor.json");
    save_cursor(&path, &cursor()).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), to_json(&cursor()) + "\n");
    assert_eq!(read_cursor(&path).unwrap(), cursor());
    save_cursor(&path, &Cursor { segments: Vec::new(), ..cursor() }).unwrap();
    assert_eq!(read_cursor(&path).unwrap().segments, []);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left behind");

    fs::write(folder.path().join("huge"), vec![b'['; 2 << 20]).unwrap();
    fs::write(folder.path().join("binary"), b"\xff\x00\xfe").unwrap();
    fs::write(folder.path().join("empty"), b"").unwrap();
    let said: String = ["huge", "binary", "empty", "missing", "."]
        .map(|name| said(&read_cursor(&folder.path().join(name)).unwrap_err()))
        .concat();
    expect![[r#"
        huge: has more than 1048576 bytes, the most that a cursor can have
          use the cursor of another checkpoint
        binary: is cut off or not a cursor: it is not valid UTF-8
          use the cursor of another checkpoint
        empty: is cut off or not a cursor: EOF while parsing a value at line 1 column 0
          use the cursor of another checkpoint
        missing: there is no such file
          check the path
        .: cannot be read: is a directory
          name a file in it
    "#]]
    .assert_eq(&said.replace(&format!("{}/", folder.path().display()), ""));
}

#[test]
fn what_is_wrong_is_said() {
    let text = to_json(&cursor());
    let with = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    };
    let deep = "[".repeat(100_000);
    let refused: String = [
        "",
        "null",
        "[]",
        "{}",
        "{\"version\":1}",
        "{\"version\":2}",
        "{\"version\":\"1\",\"seed\":-1}",
        "{\"version\":1e300}",
        &deep,
        &text[..text.len() - 1],
        &with("\"version\":1,", ""),
        &with("\"settings\":\"", "\"setting\":\""),
        &with("\"lengths\":\"0123456789abcdef\"", "\"lengths\":81985529216486895"),
        &with("0123456789abcdef", "0123456789ABCDEF"),
        &with("0123456789abcdef", "é"),
        &with("18446744073709551615", "18446744073709551616"),
        &with("18446744073709551615", "-1"),
        &with("\"epoch\":3", "\"epoch\":3.5"),
        &with("\"plan\":\"0000000000000007\"", "\"plan\":null"),
        &with("[[8,30]", "[8,[30]"),
        &with("[[8,30]", "[[8,30,1]"),
        &with("[[8,30]", "[[4294967296,30]"),
    ]
    .map(|text| said(&from_json(text).unwrap_err()))
    .concat();
    expect![[r#"
        the cursor is cut off or not a cursor: EOF while parsing a value at line 1 column 0
          use the cursor of another checkpoint
        the cursor is cut off or not a cursor: it is not a JSON object
          use the cursor of another checkpoint
        the cursor is cut off or not a cursor: it is not a JSON object
          use the cursor of another checkpoint
        the cursor is cut off or not a cursor: it has no version
          use the cursor of another checkpoint
        the cursor has no `settings`, expected a text
          use the cursor of another checkpoint
        the cursor has version 2, but this release reads version 1
          use the release of lengthwise that wrote it
        the cursor has version "1", but this release reads version 1
          use the release of lengthwise that wrote it
        the cursor has version 1e+300, but this release reads version 1
          use the release of lengthwise that wrote it
        the cursor is cut off or not a cursor: recursion limit exceeded at line 1 column 128
          use the cursor of another checkpoint
        the cursor is cut off or not a cursor: EOF while parsing an object at line 1 column 218
          use the cursor of another checkpoint
        the cursor is cut off or not a cursor: it has no version
          use the cursor of another checkpoint
        the cursor has no `settings`, expected a text
          use the cursor of another checkpoint
        the cursor has `lengths` 81985529216486895, expected sixteen hexadecimal digits
          use the cursor of another checkpoint
        the cursor has `lengths` "0123456789ABCDEF", expected sixteen hexadecimal digits
          use the cursor of another checkpoint
        the cursor has `lengths` "é", expected sixteen hexadecimal digits
          use the cursor of another checkpoint
        the cursor has `seed` 1.8446744073709552e+19, expected a whole number from 0 to 18446744073709551615
          use the cursor of another checkpoint
        the cursor has `seed` -1, expected a whole number from 0 to 18446744073709551615
          use the cursor of another checkpoint
        the cursor has `epoch` 3.5, expected a whole number from 0 to 18446744073709551615
          use the cursor of another checkpoint
        the cursor has `plan` null, expected sixteen hexadecimal digits
          use the cursor of another checkpoint
        the cursor has `segments` [8,[30],[6,4294967295]], expected a list of pairs of whole numbers
          use the cursor of another checkpoint
        the cursor has `segments` [[8,30,1],[6,4294967295]], expected a list of pairs of whole numbers
          use the cursor of another checkpoint
        the cursor has `segments` [[4294967296,30],[6,4294967295]], expected a list of pairs of whole numbers
          use the cursor of another checkpoint
    "#]].assert_eq(&refused);
}

proptest! {
    #[test]
    fn any_cursor_is_read_back(
        (lengths, seed, epoch, plan) in any::<(u64, u64, u64, u64)>(),
        settings in ".{0,60}",
        segments in prop::collection::vec(any::<(u32, u32)>(), 0..6),
    ) {
        let segments =
            segments.into_iter().map(|(ranks, steps)| Segment { ranks, steps }).collect();
        let cursor = Cursor { settings, lengths, seed, epoch, plan, segments };
        prop_assert_eq!(from_json(&to_json(&cursor)).unwrap(), cursor);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "(\\{\"version\":1,)?[\\[\\]{}\",:0-9a-z]{0,60}") {
        _ = from_json(&text);
    }
}
