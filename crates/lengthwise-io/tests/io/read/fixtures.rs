//! What other programs wrote is read as they meant it. `fixtures/README.md` says who wrote what.

use std::path::{Path, PathBuf};

use lengthwise_io::{Column, Error, IdColumn, Reader, Time, Unit};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn read(name: &str, reader: &Reader) -> Column {
    reader.read_path(&fixture(name)).unwrap_or_else(|error| panic!("{error}"))
}

/// The message without the path of the fixture, and the hint.
fn fail(name: &str, reader: &Reader) -> (String, String) {
    let path = fixture(name);
    let error: Error = reader.read_path(&path).expect_err("the file cannot be read so");
    let text = error.to_string().replace(&path.display().to_string(), "f");
    (text, error.hint().unwrap_or_default())
}

fn check(name: &str, reader: &Reader, lengths: [u32; 3]) {
    let column = read(name, &reader.clone().ids(IdColumn::Usual));
    assert_eq!(column.lengths, lengths, "{name}");
    assert!(column.ids.is_some_and(|ids| ids.iter().eq(["utt-1", "utt-2", "utt-3"])), "{name}");
}

#[test]
fn tables_packed_and_not() {
    for name in ["table.csv", "table.csv.gz", "table.csv.zst"] {
        check(name, &Reader::new(), [470, 312, 129]);
        check(name, &Reader::new().unit(Unit::Words), [3, 1, 2]);
        check(name, &Reader::new().unit(Unit::Characters).column("text"), [13, 5, 3]);
        check(name, &Reader::new().unit(Unit::Bytes).column("text"), [13, 6, 3]);
    }
}

#[test]
fn manifests() {
    let reader = Reader::new().time(Time::FrameShift(0.01)).ids(IdColumn::Usual);
    let column = read("nemo.jsonl", &reader);
    assert_eq!(column.lengths, [470, 313, 129]);
    assert_eq!(column.name.as_deref(), Some("duration"));
    assert_eq!(column.ids.unwrap().get(0), Some("utt-1.wav"));
    assert_eq!(read("nemo.jsonl", &Reader::new().column("text")).lengths, [13, 5, 3]);
    let (text, hint) = fail("nemo.jsonl", &Reader::new());
    assert_eq!(text, "f:1: field `duration` holds `4.7`, which is not a whole number");
    assert!(
        hint.contains("Time::FrameShift(0.01)") && hint.contains("Time::Rate(100.0)"),
        "{hint}"
    );
}

#[test]
fn arrays() {
    assert_eq!(read("lengths.npy", &Reader::new()).lengths, [470, 312, 129]);
    let seconds = Reader::new().time(Time::Rate(100.0));
    assert_eq!(read("seconds.npy", &seconds).lengths, [470, 313, 129]);
}

#[test]
fn audio() {
    for (name, samples) in [
        ("python.wav", 470),
        ("float.wav", 312),
        ("ulaw.wav", 312),
        ("extensible.wav", 312),
        ("large.wav", 312),
        ("soundfile.flac", 312),
    ] {
        assert_eq!(read(name, &Reader::new()).lengths, [samples], "{name}");
    }
    for name in [
        "sox-8.wav",
        "sox-16.wav",
        "sox-24.wav",
        "sox-32.wav",
        "sox-float.wav",
        "sox-double.wav",
        "sox-alaw.wav",
        "sox.flac",
        "ffmpeg-extensible.wav",
        "ffmpeg-8.wav",
        "ffmpeg-float.wav",
        "ffmpeg-rf64.wav",
        "ffmpeg-pipe.wav",
    ] {
        assert_eq!(read(name, &Reader::new()).lengths, [101], "{name}");
    }
    // Blocks of 505 samples, of which the writer counts all.
    assert!(read("adpcm.wav", &Reader::new()).lengths[0] >= 312);
    let frames = Reader::new().time(Time::FrameShift(0.01)).ids(IdColumn::Usual);
    let column = read("python.wav", &frames);
    assert_eq!(column.lengths, [3]);
    assert_eq!(column.ids.unwrap().get(0), Some("python.wav"));
}

/// What every file of typed columns must give.
#[cfg(any(feature = "parquet", feature = "arrow"))]
fn typed(name: &str) {
    check(name, &Reader::new(), [470, 312, 129]);
    check(name, &Reader::new().time(Time::FrameShift(0.01)), [470, 313, 129]);
    check(name, &Reader::new().unit(Unit::Words), [3, 1, 2]);
    for (column, lengths) in [
        ("num_frames", [470, 312, 129]),
        ("short", [1, 2, 3]),
        ("unsigned", [1, 2, u32::MAX]),
        ("whole", [1, 2, 3]),
        ("text", [13, 5, 3]),
        ("tokens", [4, 1, 2]),
        ("pairs", [2, 1, 3]),
        ("blob", [3, 1, 2]),
    ] {
        check(name, &Reader::new().column(column), lengths);
    }
    for (column, message) in [
        ("seconds", "f: row 1 of column `seconds` holds `4.7`, which is not a whole number"),
        ("gaps", "f: row 2 of column `gaps` is null"),
        ("flags", "f: column `flags` holds booleans, which has no length"),
        ("nothing", "f: there is no column `nothing`; the columns are `id`, `num_frames`, `short`"),
    ] {
        let (text, hint) = fail(name, &Reader::new().column(column));
        assert!(text.starts_with(message), "{text}");
        assert!(!hint.is_empty());
    }
    let (text, _) = fail(name, &Reader::new().column("short").unit(Unit::Words));
    assert_eq!(text, "f: column `short` holds numbers, not texts");
    let (text, _) = fail(name, &Reader::new().column("tokens").time(Time::Rate(1.0)));
    assert_eq!(text, "f: column `tokens` holds lists");
    let (text, _) = fail(name, &Reader::new().ids(IdColumn::Named("tokens".into())));
    assert_eq!(text, "f: column `tokens` cannot name sequences");
    assert!(fail(name, &Reader::new().column("when")).0.contains("which has no length"));
}

/// The library looks ahead at the header of the next page to see where the last list of a page ends.
#[test]
#[cfg(feature = "parquet")]
fn parquet_lists_of_many_pages() {
    use ::parquet::{
        basic::{Compression, GzipLevel},
        data_type::Int64Type,
        file::properties::{WriterProperties, WriterVersion},
        file::writer::SerializedFileWriter,
        schema::parser::parse_message_type,
    };

    let schema =
        "message m { optional group x (LIST) { repeated group list { optional int64 element; } } }";
    let schema = std::sync::Arc::new(parse_message_type(schema).unwrap());
    // Short lists, and some that take several pages.
    let lengths: Vec<u32> = (0..3000).map(|i| if i % 500 == 7 { 300 } else { 1 + i % 4 }).collect();
    let (mut levels, mut repeats, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for &length in &lengths {
        levels.extend(vec![3; length as usize]);
        repeats.extend((0..length).map(|element| i16::from(element > 0)));
        values.extend((0..length).map(|element| i64::from(element * 7919 % 1013)));
    }
    let packing = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::LZ4_RAW,
        #[cfg(feature = "zstd")]
        Compression::ZSTD(::parquet::basic::ZstdLevel::default()),
    ];
    let versions = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];
    for (packing, version) in
        packing.iter().flat_map(|&packing| versions.map(|version| (packing, version)))
    {
        for dictionary in [true, false] {
            let properties = WriterProperties::builder()
                .set_compression(packing)
                .set_writer_version(version)
                .set_dictionary_enabled(dictionary)
                .set_data_page_row_count_limit(100)
                .set_write_batch_size(64)
                .build();
            let file = tempfile::Builder::new().suffix(".parquet").tempfile().unwrap();
            let properties = std::sync::Arc::new(properties);
            let mut writer =
                SerializedFileWriter::new(file.as_file(), schema.clone(), properties).unwrap();
            let mut group = writer.next_row_group().unwrap();
            let mut column = group.next_column().unwrap().unwrap();
            column
                .typed::<Int64Type>()
                .write_batch(&values, Some(&levels), Some(&repeats))
                .unwrap();
            column.close().unwrap();
            group.close().unwrap();
            writer.close().unwrap();
            let read = Reader::new().column("x").read_path(file.path());
            let read = read
                .unwrap_or_else(|error| panic!("{packing:?}, {version:?}, {dictionary}: {error}"));
            assert_eq!(read.lengths, lengths, "{packing:?}, {version:?}, {dictionary}");
        }
    }
}

#[test]
#[cfg(feature = "parquet")]
fn parquet() {
    typed("plain.parquet");
    typed("snappy.parquet");
    for name in ["plain.parquet", "snappy.parquet"] {
        check(name, &Reader::new().column("features.frames"), [470, 312, 129]);
    }
    for name in ["v2.parquet", "lz4.parquet"] {
        check(name, &Reader::new(), [470, 312, 129]);
    }
    check("v2.parquet", &Reader::new().column("tokens"), [4, 1, 2]);
    check("pandas.parquet", &Reader::new().time(Time::Rate(100.0)), [470, 313, 129]);
    let bytes = std::fs::read(fixture("plain.parquet")).unwrap();
    let error = Reader::new().read_from(&bytes[..], "f", lengthwise_io::Format::Parquet);
    let error = error.unwrap_err().to_string();
    assert_eq!(error, "f: a Parquet file is read from its end, not from a stream");
}

#[test]
#[cfg(feature = "arrow")]
fn arrow() {
    typed("plain.feather");
    typed("lz4.feather");
    typed("stream.arrow");
    let views = read("views.arrow", &Reader::new().column("text"));
    assert_eq!(views.lengths, [13, 5, 3, 35]);
    assert_eq!(read("dictionary.arrow", &Reader::new()).lengths, [1, 2, 3]);
    assert_eq!(read("dictionary.arrow", &Reader::new().column("text")).lengths, [13, 5, 3]);
}

/// What a table of Polars must give.
#[cfg(any(all(feature = "parquet", feature = "zstd"), feature = "arrow"))]
fn polars(name: &str) {
    check(name, &Reader::new(), [470, 312, 129]);
    for (column, lengths) in
        [("text", [13, 5, 3]), ("tokens", [4, 1, 2]), ("word", [13, 5, 3]), ("speaker", [1, 2, 1])]
    {
        check(name, &Reader::new().column(column), lengths);
    }
    check(name, &Reader::new().column("word").unit(Unit::Words), [3, 1, 2]);
    check(name, &Reader::new().column("tags"), [2, 1, 3]);
    let speakers = read(name, &Reader::new().ids(IdColumn::Named("speaker".into())));
    assert!(speakers.ids.is_some_and(|ids| ids.iter().eq(["b", "aa", "b"])), "{name}");
}

#[test]
fn tables_of_polars() {
    for name in ["polars.csv", "polars.ndjson"] {
        check(name, &Reader::new(), [470, 312, 129]);
        check(name, &Reader::new().column("text").unit(Unit::Words), [3, 1, 2]);
    }
    check("polars.ndjson", &Reader::new().column("tokens"), [4, 1, 2]);
    #[cfg(all(feature = "parquet", feature = "zstd"))]
    polars("polars.parquet");
    #[cfg(feature = "arrow")]
    ["polars.arrow", "polars-stream.arrow"].into_iter().for_each(polars);
}

#[test]
#[cfg(all(feature = "parquet", feature = "arrow"))]
fn packed_by_zstd() {
    for (name, what) in
        [("zstd.parquet", "Parquet"), ("polars.parquet", "Parquet"), ("zstd.feather", "Arrow")]
    {
        if cfg!(feature = "zstd") {
            assert_eq!(read(name, &Reader::new()).lengths, [470, 312, 129]);
        } else {
            let (text, hint) = fail(name, &Reader::new());
            assert_eq!(
                text,
                format!("f: this build cannot read {what} files compressed with zstd")
            );
            assert_eq!(hint, "build with the feature `zstd`");
        }
    }
}

#[test]
#[cfg(feature = "tokenizers")]
fn tokens() {
    let unit = Unit::Tokens(fixture("tokenizer.json"));
    // One token before each text; the file's own limit of two tokens does not hold.
    check("table.csv", &Reader::new().unit(unit), [4, 2, 3]);
    let (text, hint) = fail("table.csv", &Reader::new().unit(Unit::Tokens(fixture("nemo.jsonl"))));
    assert!(text.contains("nemo.jsonl: is not a tokenizer: `"), "{text}");
    assert_eq!(hint, "name the `tokenizer.json` of a Hugging Face model");
}

#[test]
fn what_this_build_lacks_is_said() {
    for (feature, name, unit) in [
        (cfg!(feature = "parquet"), "plain.parquet", None),
        (cfg!(feature = "arrow"), "plain.feather", None),
        (cfg!(feature = "tokenizers"), "table.csv", Some(Unit::Tokens("tokenizer.json".into()))),
    ] {
        if !feature {
            let reader = unit.map_or(Reader::new(), |unit| Reader::new().unit(unit));
            let (text, hint) = fail(name, &reader);
            assert!(text.starts_with("f: this build cannot "), "{text}");
            assert!(hint.starts_with("build with the feature `"), "{hint}");
        }
    }
}
