//! Every fixture, cut short at every byte and with every byte changed: an error or the lengths,
//! and never a panic. Where a format can tell that something is missing, it must.

use std::fs;
use std::path::Path;

use lengthwise_input::{Format, IdColumn, Reader, Time};

/// Reads one file of the given name and content in several ways; true if all ways fail.
fn survive(folder: &Path, name: &str, content: &[u8]) -> bool {
    let path = folder.join(name);
    fs::write(&path, content).unwrap();
    let mut readers =
        vec![Reader::new().ids(IdColumn::Usual), Reader::new().time(Time::FrameShift(0.01))];
    for column in ["text", "tokens", "blob", "pairs", "short"] {
        if name.contains('.') && !name.contains("npy") && !name.ends_with("wav") {
            readers.push(Reader::new().column(column));
        }
    }
    let mut failed = true;
    for reader in readers {
        match reader.read_path(&path) {
            Ok(column) => {
                failed = false;
                assert!(!column.lengths.is_empty() && !column.lengths.contains(&0));
                assert!(column.ids.is_none_or(|ids| ids.len() == column.lengths.len()));
            }
            Err(error) => {
                let text = error.to_string();
                assert!(text.len() > folder.display().to_string().len(), "{text}");
                assert!(!text.contains(char::is_control), "{text:?}");
            }
        }
    }
    failed
}

fn fixtures() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut all: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.extension().is_some_and(|end| end == "md" || end == "py"))
        .map(|path| {
            (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap())
        })
        .collect();
    all.sort();
    assert!(all.len() > 20);
    all
}

#[test]
fn cut_at_every_byte() {
    let folder = tempfile::tempdir().unwrap();
    for (name, whole) in fixtures() {
        // Of a table without the end, the rows before it are whole; headers of audio come first.
        let visible = !["csv", "jsonl", "json", "flac"].iter().any(|end| name.ends_with(end));
        for cut in 0..whole.len() {
            let failed = survive(folder.path(), &name, &whole[..cut]);
            let tail = name.ends_with("feather") || name.ends_with("arrow");
            // The index after the last message of an Arrow file is not needed.
            assert!(!visible || failed || tail, "{name} cut at {cut} reads as whole");
        }
    }
}

#[test]
fn every_byte_changed() {
    let folder = tempfile::tempdir().unwrap();
    for (name, whole) in fixtures() {
        let mut changed = whole.clone();
        for index in 0..whole.len() {
            for value in [whole[index] ^ 1, whole[index] ^ 0x80, 0xff, 0x7f, 0] {
                changed[index] = value;
                survive(folder.path(), &name, &changed);
            }
            changed[index] = whole[index];
        }
    }
}

/// Runs of 0xff make the largest sizes that a header can declare.
#[test]
fn absurd_sizes() {
    let folder = tempfile::tempdir().unwrap();
    for (name, whole) in fixtures() {
        for width in [2, 4, 8, 9] {
            for start in 0..whole.len().saturating_sub(width) {
                let mut changed = whole.clone();
                changed[start..start + width].fill(0xff);
                changed[start + width - 1] = 0x7f;
                survive(folder.path(), &name, &changed);
            }
        }
    }
}

#[test]
fn a_small_file_that_unpacks_to_much() {
    use std::io::Write;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let piece = vec![b'1'; 1 << 20];
    (0..200).for_each(|_| packed.write_all(&piece).unwrap());
    let packed = packed.finish().unwrap();
    assert!(packed.len() < 2 << 20);
    for format in [Format::Text, Format::Csv, Format::Tsv, Format::Jsonl, Format::Utt2NumFrames] {
        let error = Reader::new().read_from(&packed[..], "f", format).unwrap_err().to_string();
        assert!(error.ends_with("is longer than 64 MiB"), "{format}: {error}");
    }
    let quoted = std::io::Read::chain(&b"id,len\na,\""[..], std::io::repeat(b'x'));
    let error = Reader::new().read_from(quoted, "f", Format::Csv).unwrap_err().to_string();
    assert_eq!(error, "f:2: the record is longer than 64 MiB");
}
