//! `NumPy` arrays: headers, types and values.

use super::{MISSING, NOTHING, RANGE, SECONDS, check};
use lengthwise_io::Format;

fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n");
    let size = u16::try_from(header.len()).expect("a short header").to_le_bytes();
    [b"\x93NUMPY\x01\x00", &size[..], header.as_bytes(), data].concat()
}

#[test]
fn headers() {
    let again = "copy the file again, or save it again with `numpy.save`";
    check(
        Format::Npy,
        &[
            ("", b"", "f: holds no lengths", NOTHING),
            ("", &npy("'<i8'", "(0,)", b""), "f: holds no lengths", NOTHING),
            (
                "",
                b"PK\x03\x04........",
                "f: is not a NumPy file: it does not begin with the NumPy magic",
                "save the array with `numpy.save`, or give the file its right extension",
            ),
            ("", b"\x93NUMPY", "f: the NumPy header is cut short or damaged", again),
            (
                "",
                b"\x93NUMPY\x01\x00\x20\x00{'descr",
                "f: the NumPy header is cut short or damaged",
                again,
            ),
            (
                "",
                b"\x93NUMPY\x04\x00",
                "f: NumPy format 4.0 is not known",
                "save the array again with `numpy.save`",
            ),
            (
                "",
                b"\x93NUMPY\x02\x00\xff\xff\xff\xff",
                "f: the NumPy header has 4294967295 bytes, which is too long",
                "save a plain array of whole numbers with `numpy.save`",
            ),
        ],
    );
}

#[test]
fn types_and_shapes() {
    let whole = "save the lengths as whole numbers, such as `lengths.astype(\"int64\")`";
    let flat = "save one length per sequence, as an array of shape (N,)";
    check(
        Format::Npy,
        &[
            (
                "",
                &npy("'|b1'", "(1,)", b"\x01"),
                "f: the array has dtype `|b1` (booleans), which cannot hold lengths",
                whole,
            ),
            (
                "",
                &npy("'|O'", "(1,)", b""),
                "f: the array has dtype `|O` (Python objects), which cannot hold lengths",
                whole,
            ),
            (
                "",
                &npy("'<f2'", "(1,)", b""),
                "f: the array has dtype `<f2`, which cannot hold lengths",
                whole,
            ),
            (
                "",
                &npy("[('a', '<i4')]", "(1,)", b""),
                "f: the array has a structured dtype, not one number a value",
                "save the field that holds the lengths as an array of its own",
            ),
            (
                "",
                &npy("'<i8'", "(2, 3)", b""),
                "f: the array has shape `(2, 3)`, not one dimension",
                flat,
            ),
            ("", &npy("'<i8'", "()", b""), "f: the array has shape `()`, not one dimension", flat),
            (
                "",
                &npy("'<i8'", "(1000000000000000000,)", b""),
                "f: holds more than 4294967295 lengths",
                "split the file into parts",
            ),
        ],
    );
}

#[test]
fn values() {
    let nan = f64::NAN.to_le_bytes();
    check(
        Format::Npy,
        &[
            (
                "",
                &npy("'<u2'", "(3,)", b"\x01\x00\x01\x00\x01"),
                "f: the header promises 3 values but only 2 are there",
                "the file is cut short: copy or save it again",
            ),
            (
                "",
                &npy("'|u1'", "(2,)", b"\x01\x01\x01\x01\x01"),
                "f: the header promises 2 values and after them 3 more bytes follow",
                "save one array to a file of its own with `numpy.save`",
            ),
            (
                "",
                &npy("'<i2'", "(2,)", b"\x01\x00\xff\xff"),
                "f: index 1 holds `-1`, which is negative",
                RANGE,
            ),
            (
                "",
                &npy("'<f8'", "(1,)", &nan),
                "f: index 0 holds `NaN`, which is not a finite number",
                MISSING,
            ),
            (
                "",
                &npy("'<f4'", "(1,)", &12.5_f32.to_le_bytes()),
                "f: index 0 holds `12.5`, which is not a whole number",
                SECONDS,
            ),
            (
                "x",
                &npy("'|u1'", "(1,)", b"\x01"),
                "f: a NumPy array has no columns to choose from",
                super::TABLE,
            ),
        ],
    );
}
