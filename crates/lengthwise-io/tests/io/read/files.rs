//! Files and folders on disk: formats by name, and what the operating system refuses.

use std::fs;
use std::path::{Path, PathBuf};

use lengthwise_io::{Format, Options, Progress, Reader, read_path};
use tempfile::TempDir;

fn write(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, text).expect("a temporary file");
    path
}

#[test]
fn the_name_gives_the_format_unless_it_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options::default();
    for (name, text) in [
        ("a.csv", "id,frames\nx,12\n"),
        ("a.TSV", "id\tframes\nx\t12\n"),
        ("manifest.json", "{\"frames\": 12}\n"),
        ("a.ndjson", "12\n"),
        ("a.txt", "12\n"),
        ("lengths", "12\n"),
    ] {
        let column = read_path(&write(&folder, name, text), &options).unwrap();
        assert_eq!(column.lengths, [12], "{name}");
    }
    let table = write(&folder, "table.txt", "id,frames\nx,12\n");
    let given = Options { format: Some(Format::Csv), ..Options::default() };
    assert_eq!(read_path(&table, &given).unwrap().name.as_deref(), Some("frames"));
    let error = read_path(&table, &options).unwrap_err().to_string();
    assert_eq!(error, format!("{}:1: `id,frames` is not a number", table.display()));
}

/// How far it is goes by the bytes of the file, and ends with all of them.
#[test]
fn progress_rises_to_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let table = write(&folder, "a.csv", &format!("id,frames\n{}", "x,12\n".repeat(100_000)));
    let fixture = |name: &str| Path::new("tests/fixtures").join(name);
    let mut paths = vec![table, fixture("table.csv.gz"), fixture("lengths.npy")];
    if cfg!(feature = "parquet") {
        paths.push(fixture("snappy.parquet"));
    }
    if cfg!(feature = "arrow") {
        paths.push(fixture("plain.feather"));
    }
    for path in paths {
        let (mut last, mut whole) = (0, 0);
        let column = Reader::new().read_path_with(&path, |progress| match progress {
            Progress::Bytes { done, of } => {
                assert!(last <= done && done <= of, "{last} {done} {of}");
                (last, whole) = (done, of);
            }
            other => panic!("{other:?}"),
        });
        assert!(column.is_ok() && last > 0, "{}", path.display());
        // Of a table of columns, only those that are read count.
        if path.extension().is_some_and(|form| form != "feather") {
            assert_eq!(last, whole, "{}", path.display());
        }
    }
}

#[test]
fn a_missing_file() {
    let error = read_path(Path::new("no/such.csv"), &Options::default()).unwrap_err();
    assert!(error.to_string().starts_with("no/such.csv: "), "{error}");
    assert_eq!(error.hint().as_deref(), Some("check the path"));
    #[cfg(unix)]
    assert_eq!(error.to_string(), "no/such.csv: no such file or directory");
}

#[test]
fn a_directory_where_a_file_is_due() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { format: Some(Format::Csv), ..Options::default() };
    let error = read_path(folder.path(), &options).unwrap_err();
    assert_eq!(error.to_string(), format!("{}: is a directory", folder.path().display()));
    assert_eq!(error.hint().as_deref(), Some("name a file in it"));
}

#[test]
fn a_path_with_a_newline_stays_on_one_line() {
    let error = read_path(Path::new("a\nb.csv"), &Options::default()).unwrap_err();
    assert!(error.to_string().starts_with("a\\nb.csv: "), "{error}");
}
