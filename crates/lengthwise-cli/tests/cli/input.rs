//! Inputs as a user names them: what the readers can do is tested where they are.

use std::fs;

use expect_test::expect;

use crate::common::{Folder, refusals};

/// The lengths that a command sees: their number, sum and what it calls them.
fn seen(folder: &Folder, input: &str) -> String {
    let json = folder.json(&format!("inspect {input} --json"));
    format!("{} in {}: {}\n", json["total"], json["sequences"], json["source"].as_str().unwrap())
}

/// A WAV file of 8 kHz, 16 bits, with so many samples of silence.
fn wav(samples: u32) -> Vec<u8> {
    let data = 2 * samples;
    let mut bytes = b"RIFF".to_vec();
    bytes.extend((36 + data).to_le_bytes());
    bytes.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data");
    bytes.extend(data.to_le_bytes());
    bytes.resize(bytes.len() + data as usize, 0);
    bytes
}

#[test]
fn every_kind_of_input_can_be_named() {
    let folder = Folder::new()
        .with("nemo.jsonl", "{\"duration\": 1.29, \"text\": \"a b\"}\n{\"duration\": 3}\n")
        .with("cuts.jsonl", "{\"id\": \"a\", \"features\": {\"num_frames\": 70}}\n")
        .with("utt2num_frames", "a 12\nb 30\n")
        .with("utt2dur", "a 1.5\nb 0.25\n")
        .with("words.txt", "one two three\n\nfour five\n");
    fs::create_dir_all(folder.path("speech/deep")).unwrap();
    fs::write(folder.path("speech/deep/b.wav"), wav(800)).unwrap();
    fs::write(folder.path("speech/a.wav"), wav(160)).unwrap();
    fs::write(folder.path("speech/notes.md"), "not audio").unwrap();
    let inputs = [
        "nemo.jsonl --frame-shift 0.01",
        "nemo.jsonl --rate 100 --column duration",
        "cuts.jsonl",
        "cuts.jsonl --column features.num_frames",
        "utt2num_frames",
        "utt2dur --frame-shift 0.01",
        "words.txt --unit words --skip-blank",
        "words.txt --unit characters --skip-blank",
        "speech",
        "speech --frame-shift 0.01",
    ];
    expect![[r#"
        429 in 2: nemo.jsonl, `duration`
        429 in 2: nemo.jsonl, `duration`
        70 in 1: cuts.jsonl, `features.num_frames`
        70 in 1: cuts.jsonl, `features.num_frames`
        42 in 2: utt2num_frames
        175 in 2: utt2dur
        5 in 2: words.txt, words
        22 in 2: words.txt, characters
        960 in 2: speech
        12 in 2: speech
    "#]]
    .assert_eq(&inputs.map(|input| seen(&folder, input)).concat());
}

#[test]
fn what_is_left_out_is_said() {
    let folder = Folder::new()
        .with("words.txt", "one two\n\nthree\n")
        .with("gaps.txt", "5\n\n7\n\n\n9\n\n")
        .with("gaps.csv", "id,frames\na,5\n\nb,7\n")
        .with("gaps.jsonl", "5\n\n6\n")
        .with("utt2num_frames", "\na 5\n\nb 6\n")
        .with("end.txt", "5\n7\n\n\n");
    fs::create_dir(folder.path("speech")).unwrap();
    fs::write(folder.path("speech/a.wav"), wav(16)).unwrap();
    fs::write(folder.path("speech/b.txt"), "").unwrap();
    let said = |input: &str| {
        let output = folder.run(&format!("inspect {input}"));
        String::from_utf8(output.stderr).unwrap()
    };
    expect![[r#"
        words.txt: 1 blank line left out, line 2
        gaps.txt: 3 blank lines left out, the first is line 2
        gaps.csv: 1 blank line left out, line 3
        gaps.jsonl: 1 blank line left out, line 2
        utt2num_frames: 2 blank lines left out, the first is line 1
        speech: 1 file that is not audio left out
    "#]]
    .assert_eq(
        &[
            "words.txt --unit words --skip-blank",
            "gaps.txt",
            "gaps.csv",
            "gaps.jsonl",
            "utt2num_frames",
            "end.txt",
            "speech",
        ]
        .map(said)
        .concat(),
    );
}

#[test]
fn ids_are_used_in_messages() {
    let folder = Folder::new().with(
        "table.csv",
        "utt,frames,speaker\nanna-1,40,anna\nbert-7,4000,bert\ncarl-2,30,carl\nanna-1,20,anna\n",
    );
    folder.expect("plan table.csv --budget padded:100 --ids", &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: sequence 1 (`bert-7`) of length 4000 alone costs 4000 cells, over the budget of 100

        hint: raise the budget to at least 4000 cells, or choose what happens to over-long sequences: `--over-long alone`, `drop` or `truncate`
    "#]]);
    folder.expect("compare table.csv --budget padded:100 --ids speaker", &expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: sequence 1 (`bert`) of length 4000 alone costs 4000 cells, over the budget of 100

        hint: raise the budget to at least 4000 cells, or choose what happens to over-long sequences: `--over-long alone`, `drop` or `truncate`
    "#]]);
    let json = folder.json("inspect table.csv --ids --json");
    assert_eq!(json["duplicate_ids"]["count"], 1);
    assert_eq!(json["duplicate_ids"]["first"][0], "anna-1");
    assert_eq!(json["outliers"]["longest"][0]["id"], "bert-7");
}

#[test]
fn inputs_that_cannot_be_are_refused() {
    let folder = Folder::new()
        .with("nemo.jsonl", "{\"duration\": 1.29}\n")
        .with("words.txt", "one two\n\nthree\n")
        .with("broken.parquet", "PAR1 and no more");
    expect![[r#"
        $ lengthwise inspect nemo.jsonl
        error: nemo.jsonl:1: field `duration` holds `1.29`, which is not a whole number

        hint: lengths are whole numbers; if these are seconds, convert them to frames with `--frame-shift 0.01` or `--rate 100`

        $ lengthwise inspect nemo.jsonl --frame-shift 0
        error: nemo.jsonl: the frame shift is 0, which is not a number above 0

        hint: give the seconds from frame to frame, such as `--frame-shift 0.01` or `--rate 100`

        $ lengthwise inspect words.txt --unit words
        error: words.txt:2: the line is empty and should hold a sequence

        hint: if empty lines only separate, leave them out with `--skip-blank`

        $ lengthwise inspect words.txt --unit sentences
        error: there is no unit `sentences`; the units are words, characters, bytes and tokens:FILE

        hint: count words, for example: `--unit words`

        $ lengthwise inspect words.txt --unit words --rate 100
        error: words.txt: texts have no seconds

        hint: leave out `--unit`, or `--frame-shift` and `--rate`

        $ lengthwise inspect broken.parquet
        error: broken.parquet: the Parquet data is cut short or damaged

        hint: copy the file again, or write it again

        $ lengthwise inspect nemo.jsonl --ids
        error: nemo.jsonl:1: the only field, `duration`, is not known to hold ids

        hint: choose one with `--ids NAME`

        $ lengthwise inspect nemo.jsonl --format parquett
        error: there is no format `parquett`; the formats are csv, tsv, jsonl, txt, npy, utt2num_frames, utt2dur, audio, parquet and arrow

        hint: leave `--format` out to go by the name of the file

    "#]].assert_eq(&refusals(
        &folder,
        &[
            "inspect nemo.jsonl",
            "inspect nemo.jsonl --frame-shift 0",
            "inspect words.txt --unit words",
            "inspect words.txt --unit sentences",
            "inspect words.txt --unit words --rate 100",
            "inspect broken.parquet",
            "inspect nemo.jsonl --ids",
            "inspect nemo.jsonl --format parquett",
        ],
    ));
}

/// Plans name their sequences: by a column that was asked for, or as the format does by itself.
#[test]
fn ids_are_in_plan_files_and_verified() {
    let table = "id,frames\na,5\n\"b\n\"\"\",9\nc\u{1b},4\nd,7\n";
    let folder = Folder::new()
        .with("table.csv", table)
        .with("renamed.csv", table.replace("c\u{1b}", "e\u{1b}"))
        .with("utt2num_frames", "utt-1 5\nutt-2 9\nutt-3 4\n");
    let forms = ["json", "jsonl", "npz", "parquet"];
    let built = if cfg!(feature = "parquet") { 4 } else { 3 };
    for form in &forms[..built] {
        for settings in ["--ids", "--ids --chunk 3", "--ids --world-size 2 --rank 1"] {
            let name = format!("plan.{form}");
            let plan =
                format!("plan table.csv --strategy sorted --budget padded:20 {settings} -o {name}");
            assert!(folder.run(&plan).status.success());
            for (input, code) in [
                ("table.csv", 0),
                ("table.csv --ids", 0),
                ("renamed.csv", 0),
                ("renamed.csv --ids", i32::from(settings != "--ids --world-size 2 --rank 1")),
            ] {
                let output = folder.run(&format!("verify {name} {input} --json"));
                assert_eq!(output.status.code(), Some(code), "{name} {settings} {input}");
                let said = String::from_utf8(output.stdout).unwrap();
                assert_eq!(said.contains("\"ids\""), code == 0 && input.ends_with("--ids"));
            }
        }
    }
    let plan = "--strategy sorted --arrange as-built --budget padded:20 --json";
    let json = folder.json(&format!("plan table.csv {plan} --ids"));
    assert_eq!(json["version"], 2);
    assert_eq!(json["batches"], serde_json::json!([[2, 0], [3, 1]]));
    assert_eq!(json["ids"], serde_json::json!([["c\u{1b}", "a"], ["d", "b\n\""]]));
    let json = folder.json(&format!("plan table.csv {plan}"));
    assert_eq!((&json["version"], json.get("ids")), (&serde_json::json!(1), None));
    let json = folder.json(&format!("plan utt2num_frames {plan}"));
    assert_eq!(json["ids"], serde_json::json!([["utt-3", "utt-1"], ["utt-2"]]));
    folder.run("plan table.csv --budget padded:20 --ids -o plan.json");
    folder.expect("verify plan.json table.csv --ids", &expect![[r#"
        exit 0
        --- stdout
        plan.json: 4 sequences in 2 batches; checksum, digest, lengths, sequences, ids, budget and counts are right, and no sequence is longer than its batch
        --- stderr
    "#]]);
    folder.expect("verify plan.json renamed.csv --ids", &expect![[r#"
        exit 1
        --- stdout
        --- stderr
        error: plan.json: has the id `c\u{1b}` for sequence 2, which is `e\u{1b}` in renamed.csv, `frames`

        hint: make the plan again with `lengthwise plan`; if you did not change the file, please report this
    "#]]);
    folder.run("plan table.csv --budget padded:20 --ids --chunk 3 -o plan.json");
    folder.expect("verify plan.json renamed.csv --ids", &expect![[r#"
        exit 1
        --- stdout
        --- stderr
        error: plan.json: has the id `c\u{1b}` for piece 6, which is `e\u{1b}` in renamed.csv, `frames` in pieces of at most 3

        hint: make the plan again with `lengthwise plan`; if you did not change the file, please report this
    "#]]);
}
