//! What cannot be planned is refused with its place and a hint.

use std::fs;

use expect_test::expect;

use crate::common::{Folder, refusals};

#[test]
fn bad_input_is_refused_with_its_place_and_a_hint() {
    let folder = Folder::new()
        .with("empty.csv", "")
        .with("empty.txt", "\n\n")
        .with("header.csv", "id,frames\n")
        .with("text.csv", "id,frames\na,12\nb,twelve\n")
        .with("negative.csv", "id,frames\na,12\nb,-4\n")
        .with("huge.txt", "12\n8589934592\n")
        .with("nan.txt", "12\nNaN\n")
        .with("zero.txt", "12\n0\n")
        .with("half.jsonl", "{\"duration\": 3.5}\n")
        .with("columns.csv", "a,b\n1,2\n")
        .with("bad.npy", "not numpy");
    fs::create_dir(folder.path("folder")).unwrap();
    let said = refusals(
        &folder,
        &[
            "compare empty.csv",
            "compare empty.txt",
            "compare header.csv",
            "compare text.csv",
            "compare negative.csv",
            "compare huge.txt",
            "compare nan.txt",
            "compare zero.txt",
            "compare half.jsonl",
            "compare columns.csv",
            "compare columns.csv --column c",
            "compare bad.npy",
            "compare missing.csv",
            "compare folder",
            "compare --example speach",
            "plan --budget sequences:16",
        ],
    );
    expect![[r#"
        $ lengthwise compare empty.csv
        error: empty.csv: holds no lengths

        hint: write at least one length, or name another file

        $ lengthwise compare empty.txt
        error: empty.txt: holds no lengths

        hint: write at least one length, or name another file

        $ lengthwise compare header.csv
        error: header.csv: holds no lengths

        hint: write at least one length, or name another file

        $ lengthwise compare text.csv
        error: text.csv:3: column `frames` holds `twelve`, which is not a number

        hint: lengths are whole numbers from 1 to 4294967295; choose another column with `--column`

        $ lengthwise compare negative.csv
        error: negative.csv:3: column `frames` holds `-4`, which is negative

        hint: lengths are whole numbers from 1 to 4294967295

        $ lengthwise compare huge.txt
        error: huge.txt:2: `8589934592` is more than 4294967295

        hint: lengths are whole numbers from 1 to 4294967295

        $ lengthwise compare nan.txt
        error: nan.txt:2: `NaN` is not a finite number

        hint: write the length there, or leave out the sequences without one

        $ lengthwise compare zero.txt
        error: zero.txt:2: `0` is less than 1

        hint: leave empty sequences out: lengths start at 1

        $ lengthwise compare half.jsonl
        error: half.jsonl:1: field `duration` holds `3.5`, which is not a whole number

        hint: lengths are whole numbers; if these are seconds, convert them to frames with `--frame-shift 0.01` or `--rate 100`

        $ lengthwise compare columns.csv
        error: columns.csv: no column is known to hold lengths; the columns are `a`, `b`

        hint: choose one with `--column NAME`

        $ lengthwise compare columns.csv --column c
        error: columns.csv: there is no column `c`; the columns are `a`, `b`

        hint: choose one with `--column NAME`

        $ lengthwise compare bad.npy
        error: bad.npy: is not a NumPy file: it does not begin with the NumPy magic

        hint: save the array with `numpy.save`, or give the file its right extension

        $ lengthwise compare missing.csv
        error: missing.csv: no such file or directory

        hint: check the path

        $ lengthwise compare folder
        error: folder: is a directory without .wav or .flac files

        hint: name a directory of audio, or a file of lengths

        $ lengthwise compare --example speach
        error: unknown example `speach`

        hint: did you mean `speech`? run `lengthwise explain` to list all

        $ lengthwise plan --budget sequences:16
        error: no input

        hint: name a file of lengths, or try built-in ones with `--example speech`

    "#]]
    .assert_eq(&said);
}

#[test]
fn bad_settings_are_refused_with_a_hint() {
    let folder =
        Folder::new().with("good.txt", "100\n200\n300\n").with("good.jsonl", "100\n200\n300\n");
    let said = refusals(
        &folder,
        &[
            "compare good.txt --format xml",
            "compare good.txt --budget padded:250",
            "compare good.txt --strategy alternated:bins=0",
            "compare good.txt --strategy semi-sorted:noise=-1",
            "compare good.txt --strategy semi-sorted:noise=NaN",
            "compare good.txt --strategy alternted",
            "compare good.txt --strategy alternated:size=3",
            "compare good.txt --shapes ladder:100/200",
            "compare good.txt --arrange sorted",
            "compare good.txt --over-long keep",
            "compare good.txt --chunk 0",
            "plan good.txt --budget 16 --chunk 5",
            "plan good.txt --budget padded:50 --over-long drop",
            "plan good.jsonl --budget 16 -o good.jsonl",
            "plan good.txt --budget tokens:16",
        ],
    );
    expect![[r#"
        $ lengthwise compare good.txt --format xml
        error: there is no format `xml`; the formats are csv, tsv, jsonl, txt, npy, utt2num_frames, utt2dur, audio, parquet and arrow

        hint: leave `--format` out to go by the name of the file

        $ lengthwise compare good.txt --budget padded:250
        error: sequence 2 of length 300 alone costs 300 cells, over the budget of 250

        hint: raise the budget to at least 300 cells, or choose what happens to over-long sequences: `--over-long alone`, `drop` or `truncate`

        $ lengthwise compare good.txt --strategy alternated:bins=0
        error: `bins` of strategy `alternated` cannot be `0`

        hint: it must be a whole number from 1 to 4294967295

        $ lengthwise compare good.txt --strategy semi-sorted:noise=-1
        error: `noise` of strategy `semi-sorted` cannot be `-1`

        hint: it must be a number from 0 to 1000000000

        $ lengthwise compare good.txt --strategy semi-sorted:noise=NaN
        error: `noise` of strategy `semi-sorted` cannot be `NaN`

        hint: it must be a number from 0 to 1000000000

        $ lengthwise compare good.txt --strategy alternted
        error: unknown strategy `alternted`

        hint: did you mean `alternated`? run `lengthwise explain` to list all

        $ lengthwise compare good.txt --strategy alternated:size=3
        error: unknown parameter `size` of strategy `alternated`

        hint: its parameters are `bins`

        $ lengthwise compare good.txt --shapes ladder:100/200
        error: sequence 2 of length 300 is longer than the top rung 200

        hint: add a rung of at least 300, or let `ladder:8` choose the rungs

        $ lengthwise compare good.txt --arrange sorted
        error: unknown arrangement `sorted`

        hint: one of `as-built`, `shuffled`, `spread`, `short-first`, `long-first`

        $ lengthwise compare good.txt --over-long keep
        error: unknown treatment of over-long sequences `keep`

        hint: one of `error`, `alone`, `drop`, `truncate`

        $ lengthwise compare good.txt --chunk 0
        error: the length of chunks cannot be `0`

        hint: it must be a whole number from 1

        $ lengthwise plan good.txt --budget 16 --chunk 5
        error: lines of indices cannot say where pieces are from

        hint: print the plan with `--json`, or write it to a file with `-o`

        $ lengthwise plan good.txt --budget padded:50 --over-long drop
        error: sequence 0 of length 100 alone costs 100 cells, over the budget of 50; so do 2 more sequences

        hint: `drop` leaves nothing to plan; raise the budget, up to 300 cells

        $ lengthwise plan good.jsonl --budget 16 -o good.jsonl
        error: good.jsonl: the plan would overwrite the input good.jsonl

        hint: write the plan to another file, as in `-o good-2.jsonl`

        $ lengthwise plan good.txt --budget tokens:16
        error: unknown budget `tokens`

        hint: one of `sequences`, `padded`, `dynamic`, `cost`

    "#]].assert_eq(&said);
}

/// What a new user is likely to try first.
#[test]
fn tips_say_what_to_do() {
    let folder = Folder::new()
        .with("good.txt", "100\n200\n300\n")
        .with("array.npz", b"PK\x03\x04 and more")
        .with("dur.csv", "id,duration\na,3\nb,12\nc,7\n")
        .with("utt2dur", "a 3\nb 12\n");
    fs::create_dir(folder.path("kaldi")).unwrap();
    fs::write(folder.path("kaldi/wav.scp"), "a a.wav\n").unwrap();
    let said = refusals(
        &folder,
        &[
            "compare good.txt --budget padded:20,000",
            "compare array.npz",
            "compare dur.csv",
            "compare utt2dur",
            "compare kaldi",
        ],
    );
    expect![[r#"
        $ lengthwise compare good.txt --budget padded:20,000
        error: budget `padded` cannot be `20,000`

        hint: it must be written without commas: `padded:20000`

        $ lengthwise compare array.npz
        error: array.npz: is an archive (.npz, .zip or .xlsx), not a file of lengths

        hint: save the lengths alone: `numpy.save("lengths.npy", lengths)`, or as a .csv file

        $ lengthwise compare dur.csv
        error: dur.csv: `duration` holds seconds, by its name

        hint: say how many frames they make with `--frame-shift 0.01` or `--rate 100`; `--rate 1` takes the numbers as they are

        $ lengthwise compare utt2dur
        error: utt2dur: utt2dur holds seconds, but a plan needs whole numbers

        hint: convert them to frames with `--frame-shift 0.01` or `--rate 100`

        $ lengthwise compare kaldi
        error: kaldi: is a data folder of Kaldi without utt2num_frames and utt2dur

        hint: make one of them with Kaldi: `utils/data/get_utt2num_frames.sh kaldi`

    "#]].assert_eq(&said);
    let seed = String::from_utf8(folder.run("compare good.txt --seed -1").stderr).unwrap();
    assert!(seed.contains("from 0 to 18446744073709551615") && !seed.contains("-- -1"), "{seed}");
    // A table of Kaldi is found in its folder, and seconds can be made lengths.
    fs::write(folder.path("kaldi/utt2num_frames"), "a 30\nb 60\n").unwrap();
    for arguments in ["ladder kaldi", "ladder dur.csv --rate 100", "ladder dur.csv --rate 1"] {
        assert!(folder.run(arguments).status.success(), "{arguments}");
    }
}
