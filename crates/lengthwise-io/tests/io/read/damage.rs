//! Every fixture, cut short at every byte and with every byte changed: an error or the lengths,
//! and never a panic. Where a format can tell that something is missing, it must.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;

use lengthwise_io::{Format, IdColumn, Reader, Time};

/// Reads one file of the given name and content in two ways, of which `turn` chooses the second;
/// true if both fail.
fn survive(folder: &Path, name: &str, content: &[u8], turn: usize) -> bool {
    // Libraries panic on some of these files, and would print thousands of backtraces.
    lengthwise_io::guard::quiet_panics();
    let path = folder.join(name);
    fs::write(&path, content).expect("a temporary file");
    let second = match COLUMNS.get(turn % (COLUMNS.len() + 1)) {
        Some(column) => Reader::new().column(*column),
        None => Reader::new().time(Time::FrameShift(0.01)),
    };
    let mut failed = true;
    for reader in [Reader::new().ids(IdColumn::Usual), second] {
        match reader.read_path(&path) {
            Ok(column) => {
                failed = false;
                assert!(!column.lengths.is_empty() && !column.lengths.contains(&0));
                assert!(column.ids.is_none_or(|ids| ids.len() == column.lengths.len()));
            }
            Err(error) => {
                let text = error.to_string();
                assert!(text.starts_with(&folder.display().to_string()), "{text}");
                assert!(!text.contains(char::is_control), "{text:?}");
            }
        }
    }
    // Some file systems write a file to the disk at once when it replaces its own content.
    fs::remove_file(&path).expect("a temporary file");
    failed
}

/// Columns of the fixtures with a type each.
const COLUMNS: [&str; 6] = ["text", "tokens", "blob", "pairs", "short", "num_frames"];

fn fixtures() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).expect("the fixtures") {
        let path = entry.expect("a fixture").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !["README.md", "make.py", "make_polars.py", "make_audio.sh"].contains(&name.as_str()) {
            all.push((name, fs::read(path).expect("a fixture")));
        }
    }
    all.sort();
    assert!(all.len() > 20);
    all
}

/// Calls a function with every fixture and a folder for what it writes, several at a time: no tests of this crate take
/// longer.
fn with_fixtures(check: impl Fn(&Path, &str, &[u8]) + Sync) {
    let left = Mutex::new(fixtures().into_iter());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                let folder = tempfile::tempdir().unwrap();
                while let Some((name, whole)) = next() {
                    check(folder.path(), &name, &whole);
                }
            });
        }
    });
}

#[test]
fn cut_at_every_byte() {
    with_fixtures(|folder, name, whole| {
        // The rows of a table before the cut are whole, and headers of FLAC end before it. The
        // index after the last message of an Arrow file is not needed. What went through a pipe does
        // not know its size, and an odd number of bytes is filled up by one that is not used.
        let unseen = ["csv", "jsonl", "json", "flac", "feather", "arrow", "pipe.wav"];
        let seen = !unseen.iter().any(|end| name.ends_with(end));
        let filled = ["sox-8.wav", "sox-alaw.wav", "ffmpeg-8.wav"].contains(&name);
        for cut in 0..whole.len() - usize::from(filled) {
            let failed = survive(folder, name, &whole[..cut], cut);
            assert!(!seen || failed, "{name} cut at {cut} reads as whole");
        }
    });
}

#[test]
fn every_byte_changed() {
    with_fixtures(|folder, name, whole| {
        let mut changed = whole.to_vec();
        for (index, &byte) in whole.iter().enumerate() {
            for value in [byte ^ 1 << (index % 8), 0xff] {
                changed[index] = value;
                survive(folder, name, &changed, index);
            }
            changed[index] = byte;
        }
    });
}

/// The largest sizes that a header can declare, in fixed width and in bytes of seven bits.
#[test]
fn absurd_sizes() {
    with_fixtures(|folder, name, whole| {
        for width in [4, 8] {
            for start in 0..whole.len().saturating_sub(width) {
                let mut changed = whole.to_vec();
                changed[start..start + width].fill(0xff);
                changed[start + width - 1] = 0x7f;
                survive(folder, name, &changed, start);
            }
        }
    });
}

#[test]
fn a_small_file_that_unpacks_to_much() {
    use std::io::Write;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let piece = vec![b'1'; 1 << 20];
    for _ in 0..200 {
        packed.write_all(&piece).unwrap();
    }
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
