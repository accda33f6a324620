//! Lengths from binary files: NumPy arrays, Arrow, Parquet and audio.
//!
//! The first byte of an input is the format, the second what is asked for.

use std::path::{Path, PathBuf};
use std::{env, fs, process};

use lengthwise_io::{Column, Error, Format, MappedColumn};

use crate::tables::{check, reader};

pub(crate) fn run(data: &[u8]) {
    let [kind, asked, file @ ..] = data else { return };
    let format = match kind {
        b'n' => Format::Npy,
        b'a' => Format::Arrow,
        b'p' => Format::Parquet,
        b'w' => Format::Audio,
        _ => return,
    };
    let reader = reader(*asked).format(format);
    let path = written(file, "data");
    let column = reader.read_path(&path);
    check(&column, "lengthwise-fuzz");
    agree(&column, &reader.map_path_with(&path, |_| {}));
    if matches!(format, Format::Npy | Format::Arrow) {
        agree(&column, &reader.map_from(file, &path.to_string_lossy(), format));
    }
}

fn agree(column: &Result<Column, Error>, mapped: &Result<MappedColumn, Error>) {
    match (column, mapped) {
        (Ok(column), Ok(mapped)) => assert_eq!(mapped.lengths.as_ref(), &column.lengths[..]),
        (Err(column), Err(mapped)) => assert_eq!(mapped.to_string(), column.to_string()),
        _ => panic!("one reader refuses what the other takes: {column:?} {mapped:?}"),
    }
}

/// A file with this content, the same one each time. `scripts/fuzz` removes its folder.
pub(crate) fn written(content: &[u8], extension: &str) -> PathBuf {
    let path = env::temp_dir().join(format!("lengthwise-fuzz-{}.{extension}", process::id()));
    write(&path, content);
    path
}

fn write(path: &Path, content: &[u8]) {
    fs::write(path, content).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
