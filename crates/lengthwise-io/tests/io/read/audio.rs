//! Directories of audio: order, ids, links, and what is refused by name.

use std::fs;
use std::path::Path;

use lengthwise_io::{Column, Error, Format, IdColumn, Progress, Reader, Time, Unit};

/// A WAV file of so many samples.
fn wav(samples: u32, rate: u32) -> Vec<u8> {
    let data = vec![0; samples as usize * 2];
    let size = u32::try_from(data.len()).expect("a short file");
    let mut file =
        [b"RIFF", &(36 + size).to_le_bytes()[..], b"WAVEfmt \x10\0\0\0\x01\0\x01\0"].concat();
    file.extend([rate.to_le_bytes(), (2 * rate).to_le_bytes()].concat());
    file.extend([b"\x02\0\x10\0data", &size.to_le_bytes()[..], &data].concat());
    file
}

fn write(root: &Path, name: &str, content: &[u8]) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a temporary folder");
    fs::write(path, content).expect("a temporary file");
}

fn read(root: &Path, reader: &Reader) -> Result<Column, Error> {
    reader.clone().ids(IdColumn::Usual).read_path(root)
}

fn fail(root: &Path, reader: &Reader) -> (String, String) {
    let error = read(root, reader).expect_err("the input is wrong");
    let text = error.to_string().replace(&root.display().to_string(), "d");
    (text, error.hint().unwrap_or_default())
}

#[test]
fn files_come_in_the_order_of_their_paths() {
    let root = tempfile::tempdir().unwrap();
    for (name, samples) in
        [("b.wav", 3), ("a/z.WAV", 1), ("a.wav", 2), ("é.wav", 4), ("a/b/c.wav", 5)]
    {
        write(root.path(), name, &wav(samples, 16000));
    }
    write(root.path(), "a/notes.txt", b"x");
    write(root.path(), "song.mp3", b"x");
    let mut calls = Vec::new();
    let reader = Reader::new().ids(IdColumn::Usual);
    let column = reader.read_path_with(root.path(), |progress| match progress {
        Progress::Files { done, found } => calls.push((done, found)),
        other => panic!("{other:?}"),
    });
    let column = column.unwrap();
    let names = ["a.wav", "a/b/c.wav", "a/z.WAV", "b.wav", "é.wav"];
    assert!(column.ids.as_ref().unwrap().iter().eq(names));
    assert_eq!((column.lengths, column.skipped), (vec![2, 5, 1, 3, 4], 2));
    assert_eq!(calls[calls.len() - 5..], [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]);
    assert!(calls[..calls.len() - 5].iter().all(|&(done, _)| done == 0));
}

#[test]
fn rates_must_agree_or_be_made_to() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "a.wav", &wav(16000, 16000));
    write(root.path(), "b.wav", &wav(44100, 44100));
    let (text, hint) = fail(root.path(), &Reader::new());
    assert_eq!(text, "d/b.wav: has 44100 samples per second, but `a.wav` has 16000");
    assert!(hint.contains("`Reader::time(Time::Rate(16000.0))`"), "{hint}");
    let column = read(root.path(), &Reader::new().time(Time::Rate(8000.0))).unwrap();
    assert_eq!(column.lengths, [8000, 8000]);
    let column = read(root.path(), &Reader::new().time(Time::FrameShift(0.01))).unwrap();
    assert_eq!(column.lengths, [100, 100]);
}

#[test]
fn what_is_no_audio_is_refused_by_name() {
    for (content, message) in [
        (&b""[..], "d/b/x.wav: the WAV header is cut short or damaged"),
        (
            b"hello, I am text",
            "d/b/x.wav: is not a WAV file: it does not begin with `RIFF` and `WAVE`",
        ),
        (&wav(0, 8000), "d/b/x.wav: holds no samples"),
        (
            &wav(9, 8000)[..50],
            "d/b/x.wav: the header promises 18 bytes of samples, but only 6 are there",
        ),
    ] {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "a.wav", &wav(1, 8000));
        write(root.path(), "b/x.wav", content);
        let (text, hint) = fail(root.path(), &Reader::new());
        assert_eq!(text, message);
        assert!(!hint.is_empty());
    }
}

#[test]
fn nothing_to_read() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "a.txt", b"1");
    let (text, hint) = fail(root.path(), &Reader::new());
    assert_eq!(text, "d: is a directory without .wav or .flac files");
    assert_eq!(hint, "name a directory of audio, or a file of lengths");
    let (text, _) = fail(root.path(), &Reader::new().column("x"));
    assert_eq!(text, "d: audio has no columns to choose from");
    let (text, _) = fail(root.path(), &Reader::new().unit(Unit::Words));
    assert_eq!(text, "d: audio holds no texts to count in");
    let error = Reader::new().read_from(&b""[..], "f", Format::Audio).unwrap_err();
    assert_eq!(error.to_string(), "f: audio is read from files, not from a stream");
    let (text, _) = fail(&root.path().join("a.txt"), &Reader::new().format(Format::Audio));
    assert_eq!(text, "d: is not named like an audio file");
}

#[test]
#[cfg(unix)]
fn links_are_followed_but_not_in_circles() {
    use std::os::unix::fs::symlink;
    let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(root.path(), "a/x.wav", &wav(2, 8000));
    write(other.path(), "y.wav", &wav(3, 8000));
    symlink(other.path(), root.path().join("b")).unwrap();
    symlink(other.path().join("y.wav"), root.path().join("c.wav")).unwrap();
    symlink("nowhere", root.path().join("lost.txt")).unwrap();
    let column = read(root.path(), &Reader::new()).unwrap();
    assert!(column.ids.unwrap().iter().eq(["a/x.wav", "b/y.wav", "c.wav"]));
    symlink("../a", root.path().join("a/again")).unwrap();
    let (text, hint) = fail(root.path(), &Reader::new());
    assert_eq!(text, "d/a/again: leads back to `a`, which was already read");
    assert_eq!(hint, "remove the link: every directory is read once");
    fs::remove_file(root.path().join("a/again")).unwrap();
    symlink("self.wav", root.path().join("self.wav")).unwrap();
    let (text, hint) = fail(root.path(), &Reader::new());
    assert!(text.starts_with("d/self.wav: "), "{text}");
    assert_eq!(
        hint,
        "name the file that the symbolic link should point to: this one points to itself"
    );
}

#[test]
#[cfg(unix)]
fn a_pipe_is_not_waited_for() {
    let root = tempfile::tempdir().unwrap();
    let socket = root.path().join("a.wav");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let (text, _) = fail(root.path(), &Reader::new());
    assert_eq!(text, "d/a.wav: is not a plain file");
}
