//! CSV and TSV: values, records and columns.

use super::{MISSING, NAME, NOTHING, RANGE, SECONDS, UTF8, ZERO, check};
use lengthwise_io::Format;

const OTHER: &str =
    "lengths are whole numbers from 1 to 4294967295; choose another column with `Reader::column`";

#[test]
fn values_in_tables() {
    check(
        Format::Csv,
        &[
            ("", b"", "f: holds no lengths", NOTHING),
            ("", b"id,frames\n\n", "f: holds no lengths", NOTHING),
            (
                "",
                b"id,frames\r\na,abc",
                "f:2: column `frames` holds `abc`, which is not a number",
                OTHER,
            ),
            (
                "",
                b"frames\nabc\n",
                "f:2: column `frames` holds `abc`, which is not a number",
                RANGE,
            ),
            ("", b"id,frames\na,1\n\nb,\n", "f:4: column `frames` is empty", MISSING),
            ("", b"frames\n1\n\"\"\n", "f:3: column `frames` is empty", MISSING),
            ("", b"NaN\n1\n", "f:1: column 1 holds `NaN`, which is not a finite number", MISSING),
            (
                "",
                b"id,duration\na,12.5\n",
                "f:2: column `duration` holds `12.5`, which is not a whole number",
                SECONDS,
            ),
            ("2", b"1,0\n", "f:1: column 2 holds `0`, which is less than 1", ZERO),
            (
                "",
                b"text,len\n\"a\nb\n\",3\n\n\"c\nd\",-4",
                "f:6: column `len` holds `-4`, which is negative",
                RANGE,
            ),
            (
                "",
                b"len\n4294967296\n",
                "f:2: column `len` holds `4294967296`, which is more than 4294967295",
                RANGE,
            ),
            ("", b"id,len\n\xff,3\n", "f:2: the line is not valid UTF-8", UTF8),
            ("", b"id,len\n\na\xc3,\xa93\n", "f:3: the line is not valid UTF-8", UTF8),
        ],
    );
}

#[test]
fn records_of_tables() {
    let short = "complete the record, or leave it out";
    let close = "close the quote; a quote inside a quoted field is written twice";
    check(
        Format::Csv,
        &[
            ("", b"id,len\na,1\n\nb\n", "f:4: the record has 1 field, but the first has 2", short),
            (
                "",
                b"id,len\na,b,1\n",
                "f:2: the record has 3 fields, but the first has 2",
                "put quotes round fields that hold the separator",
            ),
            (
                "",
                b"len,text\n1,\"a\n2,b\n3,c\n",
                "f:2: a quoted field begins in this record and never ends",
                close,
            ),
        ],
    );
    check(
        Format::Tsv,
        &[(
            "",
            b"id\tlen\n\"a\nb\"\t3\n",
            "f:2: the record has 1 field, but the first has 2",
            short,
        )],
    );
}

#[test]
fn columns_of_tables() {
    check(
        Format::Csv,
        &[
            (
                "frame",
                b"id,frames,words\n",
                "f: there is no column `frame`; the columns are `id`, `frames`, `words`",
                "did you mean `frames`? choose it with `Reader::column`",
            ),
            (
                "9",
                b"id,frames\n",
                "f: there is no column `9`; the columns are `id`, `frames`",
                NAME,
            ),
            ("x", b"frames\n", "f: there is no column `x`; the only column is `frames`", NAME),
            (
                "",
                b"id,text\na,b\n",
                "f: no column is known to hold lengths; the columns are `id`, `text`",
                NAME,
            ),
            (
                "",
                b"a,470\nb,312\n",
                "f: no column is known to hold lengths; the columns are `a`, `470`",
                "choose one with `Reader::column(\"NAME\")`, or by its number if the first line is not a header",
            ),
            (
                "",
                b"1,2,3\n",
                "f: there are 3 columns and no header to choose by",
                "choose one by its number, from `Reader::column(\"1\")` to `Reader::column(\"3\")`",
            ),
            (
                "len",
                b"1,2\n",
                "f: there is no column `len`, only 2 columns without a header",
                "choose one by its number, from `Reader::column(\"1\")` to `Reader::column(\"2\")`",
            ),
            (
                "2",
                b"1\n",
                "f: there is no column `2`, only 1 column without a header",
                "leave out `Reader::column`",
            ),
            (
                "",
                b"len,id,len\n1,2,3\n",
                "f: columns 1 and 3 are both named `len`",
                "choose one by its number, such as `Reader::column(\"3\")`",
            ),
        ],
    );
}
