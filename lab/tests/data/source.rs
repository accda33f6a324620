//! What a table of settings or a path turns out to be.

use std::fs;
use std::path::Path;

use lengthwise_lab::data::{KINDS, Source, load};
use tempfile::TempDir;

fn read(table: &str) -> Result<Source, String> {
    let table = table.parse::<toml::Table>().unwrap();
    Source::read(table, Path::new("")).map_err(|error| {
        assert!(!error.hint().is_empty());
        error.to_string()
    })
}

#[test]
fn what_is_made_needs_no_path() {
    for kind in &KINDS[..5] {
        let source = read(&format!("kind = {kind:?}\ntraining = 3\nvalidation = 2")).unwrap();
        let task = load(&source).unwrap();
        assert_eq!((task.name.as_str(), task.training.inputs.len()), (*kind, 3));
        assert_ne!(Source::named(kind).unwrap(), source);
    }
    let none = read("kind = \"speech\"\nvalidation = 0").unwrap();
    let said = load(&none).unwrap_err().to_string();
    assert_eq!(said, "speech generated with seed 1: the validation part has no sequences");
}

#[test]
fn paths_tell_their_kind_and_begin_at_a_folder() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("a.tsv"), "a\tX\n").unwrap();
    let table = "path = \"a.tsv\"\nvalidation = \"b.tsv\"".parse().unwrap();
    let Source::Text(text) = Source::read(table, folder.path()).unwrap() else { panic!() };
    assert_eq!(text.path, folder.path().join("a.tsv"));
    assert_eq!(text.validation, Some(folder.path().join("b.tsv")));
    let of = |name: &str| {
        let path = folder.path().join(name);
        Source::named(path.to_str().unwrap()).map_err(|error| error.to_string())
    };
    let said = of("").unwrap_err();
    assert!(said.ends_with(": has no `index.csv`, no `train.tsv` and no WAV files"), "{said}");
    fs::create_dir(folder.path().join("texts")).unwrap();
    fs::write(folder.path().join("texts/train.tsv"), "a\tX\n").unwrap();
    assert!(matches!(of("texts"), Ok(Source::Text(_))));
    fs::write(folder.path().join("1_a.wav"), "").unwrap();
    assert!(matches!(of(""), Ok(Source::Wav(_))));
    fs::write(folder.path().join("index.csv"), "").unwrap();
    assert!(matches!(of(""), Ok(Source::Flat(_))));
    assert!(of("index.csv").unwrap_err().ends_with(": is a file of no kind that is known"));
    assert!(of("nothing").unwrap_err().ends_with(": no such file or directory"));
}

#[test]
fn settings_that_nobody_knows_are_refused() {
    assert_eq!(read("seed = 1").unwrap_err(), "data: has neither `kind` nor `path`");
    assert_eq!(read("kind = \"music\"").unwrap_err(), "data: there is no kind `music`");
    assert_eq!(read("kind = 7").unwrap_err(), "data: `kind` is no text but integer");
    let said = read("kind = \"tags\"\nlongst = 7").unwrap_err();
    assert!(said.starts_with("data: unknown field `longst`, expected one of `seed`"), "{said}");
    let said = read("kind = \"flat\"").unwrap_err();
    assert_eq!(said, "data: missing field `path`");
    let said = read("kind = \"text\"\npath = \"a\"\nform = \"poems\"").unwrap_err();
    assert!(said.starts_with("data: unknown variant `poems`"), "{said}");
}
