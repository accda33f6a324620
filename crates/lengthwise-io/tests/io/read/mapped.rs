//! Lengths that are not in memory: the same as those that are, with the same errors.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use lengthwise_io::{Format, Reader};
use tempfile::TempDir;

fn npy(descr: &str, count: usize, data: &[u8]) -> Vec<u8> {
    let about = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({count},), }}");
    let size = (10 + about.len() + 1).next_multiple_of(64) - 10;
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((size as u16).to_le_bytes());
    file.extend(format!("{about:<width$}\n", width = size - 1).as_bytes());
    file.extend(data);
    file
}

fn write(folder: &TempDir, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    path
}

/// Both ways of reading a file find the same, or refuse it with the same words.
fn same(path: &Path) {
    let reader = Reader::new();
    let whole = reader.read_path(path).map_err(|error| (error.to_string(), error.hint()));
    let mapped = reader.map_path_with(path, |_| {});
    match (whole, mapped) {
        (Ok(whole), Ok(mapped)) => {
            assert!(whole.lengths == mapped.lengths.as_ref(), "{}", path.display());
            assert_eq!((&whole.name, whole.skipped), (&mapped.name, mapped.skipped));
            mapped.lengths.check().unwrap();
        }
        (Err(whole), Err(mapped)) => {
            assert_eq!(whole, (mapped.to_string(), mapped.hint()));
        }
        (whole, mapped) => panic!("{}: {whole:?} {mapped:?}", path.display()),
    }
}

#[test]
fn arrays_are_used_in_place_and_spooled() {
    let folder = tempfile::tempdir().unwrap();
    let many: Vec<u32> = (0..2_500_000).map(|i| 1 + i * 7 % 1000).collect();
    let bytes = |wide: bool| -> Vec<u8> {
        let eight = |n: &u32| u64::from(*n).to_le_bytes().to_vec();
        many.iter().flat_map(|n| if wide { eight(n) } else { n.to_le_bytes().to_vec() }).collect()
    };
    let narrow = write(&folder, "a.npy", npy("<u4", many.len(), &bytes(false)));
    let wide = write(&folder, "b.npy", npy("<i8", many.len(), &bytes(true)));
    let text = write(
        &folder,
        "c.txt",
        many.iter().fold(String::new(), |mut text, n| {
            writeln!(text, "{n}").unwrap();
            text
        }),
    );
    for path in [&narrow, &wide, &text] {
        same(path);
        let mapped = Reader::new().map_path_with(path, |_| {}).unwrap();
        assert!(!mapped.lengths.is_in_memory());
        assert!(mapped.lengths.as_ref() == many);
    }
    // The last piece is spooled too, and so is a stream.
    let stream = fs::File::open(&text).unwrap();
    let mapped = Reader::new().map_from(stream, "standard input", Format::Text).unwrap();
    assert!(mapped.lengths.as_ref() == many && !mapped.lengths.is_in_memory());
    // An error far behind names the same place.
    let mut wrong = npy("<i8", many.len(), &bytes(true));
    let at = wrong.len() - 8;
    wrong[at..].fill(0xff);
    same(&write(&folder, "d.npy", wrong));
}

#[test]
fn every_file_is_refused_with_the_same_words() {
    let folder = tempfile::tempdir().unwrap();
    let one = 7_u32.to_le_bytes();
    let three = [one, one, one].concat();
    for (name, bytes) in [
        ("few.npy", npy("<u4", 3, &three)),
        ("short.npy", npy("<u4", 4, &three)),
        ("long.npy", npy("<u4", 2, &three)),
        ("none.npy", npy("<u4", 0, &[])),
        ("zero.npy", npy("<u4", 3, &[one, [0; 4], one].concat())),
        ("big.npy", npy(">u4", 3, &three)),
        ("float.npy", npy("<f4", 3, &7_f32.to_le_bytes().repeat(3))),
        ("text.npy", npy("<U4", 3, &three)),
        ("empty.npy", Vec::new()),
        ("no.npy", b"12\n".to_vec()),
        ("a.txt", b"12\n\n13\n".to_vec()),
        ("b.txt", b"12\nx\n".to_vec()),
        ("c.csv", b"id,frames\na,12\n".to_vec()),
        ("d.csv", b"id,frames\na,0\n".to_vec()),
    ] {
        same(&write(&folder, name, bytes));
    }
    same(&folder.path().join("missing.npy"));
    for fixture in fs::read_dir("tests/fixtures").unwrap() {
        same(&fixture.unwrap().path());
    }
}

#[test]
fn a_file_that_is_written_to_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "a.npy", npy("<u4", 1000, &7_u32.to_le_bytes().repeat(1000)));
    let mapped = Reader::new().map_path_with(&path, |_| {}).unwrap();
    mapped.lengths.check().unwrap();
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(&[1]).unwrap();
    let error = mapped.lengths.check().unwrap_err();
    let text = format!("{}: was written to while its lengths were used", path.display());
    assert_eq!(error.to_string(), text);
    assert!(error.hint().is_some());
    // Another file of the same name is none of our business.
    let path = write(&folder, "b.npy", npy("<u4", 1, &7_u32.to_le_bytes()));
    let mapped = Reader::new().map_path_with(&path, |_| {}).unwrap();
    fs::rename(write(&folder, "c.npy", "x"), &path).unwrap();
    mapped.lengths.check().unwrap();
    assert_eq!(mapped.lengths.as_ref(), [7]);
}
