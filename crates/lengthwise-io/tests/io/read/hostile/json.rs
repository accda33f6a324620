//! JSON lines: values, lines and fields.

use super::{MISSING, NAME, NOTHING, RANGE, SECONDS, UTF8, ZERO, check};
use lengthwise_io::Format;

const LINES: &str = "write one JSON object or one number per line";
const LIST: &str =
    "write one JSON object or one number per line; `jq -c '.[]'` makes such lines of a list";
const ARRAY: &str =
    "write one length per line; for a list of tokens, name its field with `Reader::column`";
const FIELD: &str =
    "lengths are whole numbers from 1 to 4294967295; choose another one with `Reader::column`";
const SAME: &str =
    "write every line as an object, or leave out `Reader::column` if all are numbers";

#[test]
fn json_values() {
    check(
        Format::Jsonl,
        &[
            ("", b"\n\n", "f: holds no lengths", NOTHING),
            (
                "",
                b"{\"len\": 1}\n{\"len\": 0}",
                "f:2: field `len` holds `0`, which is less than 1",
                ZERO,
            ),
            ("", b"{\"len\": -1}", "f:1: field `len` holds `-1`, which is negative", RANGE),
            (
                "",
                b"{\"duration\": 1.25}",
                "f:1: field `duration` holds `1.25`, which is not a whole number",
                SECONDS,
            ),
            (
                "",
                b"8589934592",
                "f:1: the line holds `8589934592`, which is more than 4294967295",
                RANGE,
            ),
            ("", b"{\"len\": null}", "f:1: field `len` holds null, not a number", MISSING),
            (
                "",
                b"{\"len\": true}",
                "f:1: field `len` holds the boolean `true`, not a number",
                FIELD,
            ),
            (
                "",
                b"{\"tokens\": [1, 2]}",
                "f:1: field `tokens` holds an array, not a number",
                ARRAY,
            ),
            ("", b"{\"len\": {}}", "f:1: field `len` holds an object, not a number", FIELD),
            (
                "",
                b"{\"len\": \"12\"}",
                "f:1: field `len` holds the string `12`, not a number",
                "write the number without quotes",
            ),
            (
                "",
                b"{\"len\": \"a\\nb\"}",
                "f:1: field `len` holds the string `a\\nb`, not a number",
                FIELD,
            ),
            ("", b"[1, 2, 3]", "f:1: the line holds an array, not a number", LIST),
            ("", b"1\n\xff", "f:2: the line is not valid UTF-8", UTF8),
        ],
    );
}

#[test]
fn json_lines_and_fields() {
    let skip = "f:3: the object has no field `len`";
    check(
        Format::Jsonl,
        &[
            ("", b"{\"len\": 1}\n\n{\"lem\": 1}", skip, MISSING),
            (
                "a.c",
                b"{\"a\": {\"b\": 1}}",
                "f:1: there is no field `a.c`; the only field is `a`",
                NAME,
            ),
            (
                "frame",
                b"{\"frames\": 1, \"id\": 2}",
                "f:1: there is no field `frame`; the fields are `frames`, `id`",
                "did you mean `frames`? choose it with `Reader::column`",
            ),
            (
                "",
                b"{\"text\": \"x\", \"id\": 2}",
                "f:1: no field is known to hold lengths; the fields are `id`, `text`",
                NAME,
            ),
            ("", b"{\"x\": 1}", "f:1: the only field, `x`, is not known to hold lengths", NAME),
            ("", b"{}", "f:1: there are no fields", NAME),
            (
                "len",
                b"12",
                "f:1: the line holds the number `12`, not an object with the field `len`",
                SAME,
            ),
            (
                "",
                b"{\"len\": 1}\n2",
                "f:2: the line holds the number `2`, not an object with the field `len`",
                SAME,
            ),
            (
                "",
                b"1\n{\"len\": 1}",
                "f:2: the line holds an object, but the first holds a number",
                "write every line the same way, as an object or as a number",
            ),
            (
                "",
                b"{\n  \"len\": 1\n}",
                "f:1: the line is not valid JSON: EOF while parsing an object at column 1",
                LINES,
            ),
            (
                "",
                b"{\"len\": NaN}",
                "f:1: the line is not valid JSON: expected value at column 9",
                LINES,
            ),
            ("", b"1 2", "f:1: the line is not valid JSON: trailing characters at column 3", LINES),
        ],
    );
}
