//! Plan files that are checked, whole and damaged.

use std::fs;

use expect_test::expect;

use crate::common::{Folder, TEN, refusals};

#[test]
fn plans_are_verified() {
    let folder = Folder::new().with("ten.csv", TEN).with("other.csv", TEN.replace("j,6", "j,5"));
    let plan = "plan ten.csv --strategy sorted";
    let mut forms = vec!["npz"];
    if cfg!(feature = "parquet") {
        forms.push("parquet");
    }
    for (name, settings) in [
        ("plain.json", "--budget padded:20"),
        ("lines.jsonl", "--budget dynamic:2 --shapes multiple:4"),
        ("over.json", "--budget dynamic:2,rule=over"),
        ("alone.json", "--budget padded:7 --over-long alone"),
        ("left.jsonl", "--budget padded:7,multiple-of=2 --over-long drop"),
        ("cut.json", "--budget padded:7 --over-long truncate"),
        ("cost.json", "--budget cost:c=1,limit=12.5"),
        ("pieces.json", "--budget 4 --chunk 3"),
        ("pieces.jsonl", "--budget padded:5 --chunk 3 --world-size 2 --rank 1"),
        ("ranks.json", "--budget 4 --world-size 2 --tail repeat"),
        ("dropped.jsonl", "--budget 3 --world-size 3 --tail drop"),
        ("begun.json", "--budget 3 --world-size 2 --take 1 --cursor c.json"),
        ("rest.jsonl", "--budget 3 --world-size 3 --resume c.json"),
        ("none.json", "--budget 4 --world-size 2 --take 0"),
    ] {
        // As it is, and the same plan in the forms that are not text.
        let others = forms.iter().map(|form| format!("{name}.{form}"));
        for name in [name.to_owned()].into_iter().chain(others) {
            let made = folder.run(&format!("{plan} {settings} -o {name}"));
            assert!(made.status.success(), "{name}: {}", String::from_utf8_lossy(&made.stderr));
            for arguments in ["", "ten.csv", "ten.csv --column frames --json"] {
                let output = folder.run(&format!("verify {name} {arguments}"));
                let said = String::from_utf8(output.stderr).unwrap();
                let seen = (output.status.code(), said.as_str());
                assert_eq!(seen, (Some(0), ""), "{name} {arguments}");
            }
        }
    }
    folder.expect(
        "verify plain.json",
        &expect![[r#"
        exit 0
        --- stdout
        plain.json: 10 sequences in 4 batches; checksum and digest are right
        --- stderr
    "#]],
    );
    folder.expect("verify rest.jsonl ten.csv", &expect![[r#"
        exit 0
        --- stdout
        rest.jsonl: 4 sequences in 3 batches; checksum, digest, lengths, sequences, budget and counts are right, and no sequence is longer than its batch
        --- stderr
    "#]]);
    folder.expect("verify ranks.json ten.csv --json", &expect![[r#"
        exit 0
        --- stdout
        {"version":1,"ok":true,"checks":["checksum","digest","lengths","sequences","no batch too short","budget","counts"]}
        --- stderr
    "#]]);
    folder.expect("verify plain.json other.csv", &expect![[r#"
        exit 1
        --- stdout
        --- stderr
        error: plain.json: was made for other lengths: their digest is 0b42b6c9404e6913, that of other.csv, `frames` is d58f1dc93cda9568

        hint: verify it with the lengths that it was made for, and the same `--column`, `--unit`, `--rate`, `--frame-shift`, `--together` and `--kind`; for these lengths, make a new plan with `lengthwise plan`
    "#]]);
    folder.expect("verify plain.json other.csv --json", &expect![[r#"
        exit 1
        --- stdout
        {"version":1,"ok":false,"failed":"plain.json: was made for other lengths: their digest is 0b42b6c9404e6913, that of other.csv, `frames` is d58f1dc93cda9568"}
        --- stderr
        error: plain.json: was made for other lengths: their digest is 0b42b6c9404e6913, that of other.csv, `frames` is d58f1dc93cda9568

        hint: verify it with the lengths that it was made for, and the same `--column`, `--unit`, `--rate`, `--frame-shift`, `--together` and `--kind`; for these lengths, make a new plan with `lengthwise plan`
    "#]]);
    folder.expect("verify pieces.jsonl --example bimodal", &expect![[r#"
        exit 1
        --- stdout
        --- stderr
        error: pieces.jsonl: was made for other lengths: their digest is 0d63194824b76bb2, that of example `bimodal` in pieces of at most 3 is 580064f60a902627

        hint: verify it with the lengths that it was made for, and the same `--column`, `--unit`, `--rate`, `--frame-shift`, `--together` and `--kind`; for these lengths, make a new plan with `lengthwise plan`
    "#]]);
}

#[test]
fn plans_for_other_programs_are_written_and_verified() {
    let folder = Folder::new().with("ten.csv", TEN);
    let plan = "plan ten.csv --strategy sorted --budget padded:7 --over-long drop --world-size 2";
    folder.expect(
        &format!("{plan} -o plan.npz"),
        &expect![[r#"
            exit 0
            --- stdout
            --- stderr
            8 sequences in 8 batches (sorted, shapes exact), 2.78 % padding, digest 0164e14b940b7ad3
            lengths are those of `frames`; `--column` chooses others
            2 over-long, left out: 1, 7
            2 ranks in 4 stratified steps, 28.0 % idle (at least 5.3 %), time by cells
            step mix 0.61 (1 is as random steps, 0 all steps alike), about 8 tokens a step
        "#]],
    );
    folder.expect("verify plan.npz ten.csv", &expect![[r#"
        exit 0
        --- stdout
        plan.npz: 8 sequences in 8 batches; checksum, digest, bytes, lengths, sequences, budget and counts are right, and no sequence is longer than its batch
        --- stderr
    "#]]);
    let mut bytes = fs::read(folder.path("plan.npz")).unwrap();
    bytes[130] ^= 1;
    let folder = folder.with("cut.npz", &bytes[..300]).with("altered.npz", &bytes);
    folder.expect(
        "verify cut.npz",
        &expect![[r#"
            exit 1
            --- stdout
            --- stderr
            error: cut.npz: is cut off or not a plan: its zip is cut off or damaged

            hint: make the plan again, or copy the file again from where it was made
        "#]],
    );
    folder.expect("verify altered.npz --json", &expect![[r#"
        exit 1
        --- stdout
        {"version":1,"ok":false,"failed":"altered.npz: is cut off or not a plan: array `indices` cannot be read: Invalid checksum"}
        --- stderr
        error: altered.npz: is cut off or not a plan: array `indices` cannot be read: Invalid checksum

        hint: make the plan again, or copy the file again from where it was made
    "#]]);
}

#[cfg(feature = "parquet")]
#[test]
fn tables_are_written_and_verified() {
    let folder = Folder::new().with("ten.csv", TEN);
    let plan = "plan ten.csv --strategy sorted --budget padded:7 --over-long drop --world-size 2";
    folder.expect(
        &format!("{plan} -o plan.parquet"),
        &expect![[r#"
            exit 0
            --- stdout
            --- stderr
            8 sequences in 8 batches (sorted, shapes exact), 2.78 % padding, digest 0164e14b940b7ad3
            lengths are those of `frames`; `--column` chooses others
            2 over-long, left out: 1, 7
            2 ranks in 4 stratified steps, 28.0 % idle (at least 5.3 %), time by cells
            step mix 0.61 (1 is as random steps, 0 all steps alike), about 8 tokens a step
        "#]],
    );
    folder.expect("verify plan.parquet ten.csv", &expect![[r#"
        exit 0
        --- stdout
        plan.parquet: 8 sequences in 8 batches; checksum, digest, bytes, lengths, sequences, budget and counts are right, and no sequence is longer than its batch
        --- stderr
    "#]]);
    let mut bytes = fs::read(folder.path("plan.parquet")).unwrap();
    // A digit of the checksum.
    let header = bytes.windows(10).position(|bytes| bytes == b"\"checksum\"").unwrap();
    bytes[header + 13] ^= 1;
    let folder = folder.with("cut.parquet", &bytes[..300]).with("altered.parquet", &bytes);
    folder.expect(
        "verify cut.parquet",
        &expect![[r#"
            exit 1
            --- stdout
            --- stderr
            error: cut.parquet: is cut off or not a plan: it does not begin and end as a Parquet file

            hint: make the plan again, or copy the file again from where it was made
        "#]],
    );
    folder.expect("verify altered.parquet", &expect![[r#"
        exit 1
        --- stdout
        --- stderr
        error: altered.parquet: has been altered: its checksum is 7bbb77748f24c391, its content has 7cbb77748f24c391

        hint: make the plan again, or copy the file again from where it was made
    "#]]);
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_build_without_tables_says_so() {
    let folder = Folder::new().with("ten.csv", TEN);
    expect![[r#"
        $ lengthwise plan ten.csv --budget 4 -o plan.parquet
        error: plan.parquet: this build neither reads nor writes Parquet files

        hint: name the file .json, .jsonl or .npz, or build with the feature `parquet`

    "#]]
    .assert_eq(&crate::common::refusal(&folder, "plan ten.csv --budget 4 -o plan.parquet"));
}

#[test]
fn damaged_plans_fail_the_check() {
    let folder = Folder::new().with("ten.csv", TEN);
    assert!(folder.run("plan ten.csv --strategy sorted --budget 4 -o a.json").status.success());
    assert!(folder.run("plan ten.csv --strategy sorted --budget 4 -o a.jsonl").status.success());
    let [json, lines] =
        ["a.json", "a.jsonl"].map(|name| fs::read_to_string(folder.path(name)).unwrap());
    let folder = folder
        .with("cut.json", &json[..100])
        .with("cut.jsonl", lines.split_inclusive('\n').take(2).collect::<String>())
        .with("altered.json", json.replace("[[", "[[1,"))
        .with(
            "old.json",
            r#"{"version":1,"digest":"0000000000000000","batches":[],"batch_lengths":[]}"#,
        )
        .with("later.json", json.replace("\"version\":1", "\"version\":5"))
        .with("plan.csv", &json);
    for name in ["cut.json", "cut.jsonl", "altered.json", "old.json"] {
        assert_eq!(folder.run(&format!("verify {name}")).status.code(), Some(1), "{name}");
    }
    folder.expect(
        "verify cut.jsonl",
        &expect![[r#"
            exit 1
            --- stdout
            --- stderr
            error: cut.jsonl: is cut off or not a plan: its end has no version

            hint: make the plan again, or copy the file again from where it was made
        "#]],
    );
    folder.expect("verify altered.json --json", &expect![[r#"
        exit 1
        --- stdout
        {"version":1,"ok":false,"failed":"altered.json: has been altered: its checksum is 135f4fc6a055d493, its content has 819bcd75a6f1983b"}
        --- stderr
        error: altered.json: has been altered: its checksum is 135f4fc6a055d493, its content has 819bcd75a6f1983b

        hint: make the plan again, or copy the file again from where it was made
    "#]]);
    folder.expect(
        "verify old.json",
        &expect![[r#"
            exit 1
            --- stdout
            --- stderr
            error: old.json: has no checksum

            hint: make the plan again, or copy the file again from where it was made
        "#]],
    );
    let said = refusals(
        &folder,
        &[
            "verify later.json",
            "verify missing.json",
            "verify plan.csv",
            "verify a.json missing.csv",
            "verify a.json --example speach",
        ],
    );
    expect![[r#"
        $ lengthwise verify later.json
        error: later.json: has version 5, but this release reads versions 1 to 4

        hint: use the release of lengthwise that wrote it

        $ lengthwise verify missing.json
        error: missing.json: there is no such file

        hint: check the path

        $ lengthwise verify plan.csv
        error: plan.csv: unknown format of a plan

        hint: name the file .json, .jsonl, .npz or .parquet

        $ lengthwise verify a.json missing.csv
        error: missing.csv: no such file or directory

        hint: check the path

        $ lengthwise verify a.json --example speach
        error: unknown example `speach`

        hint: did you mean `speech`? run `lengthwise explain` to list all

    "#]]
    .assert_eq(&said);
}

/// A file whose checksum was made for what it holds now.
pub(crate) fn sealed(text: &str) -> String {
    let content = &text[..text.rfind(",\"checksum\"").unwrap()];
    let checksum = xxhash_rust::xxh3::xxh3_64(content.as_bytes());
    format!("{content},\"checksum\":\"{checksum:016x}\"}}\n")
}

/// The digest of these batches.
pub(crate) fn digest(batches: &[&[u32]], lengths: &[u32]) -> String {
    let ends = batches.iter().scan(0, |end, batch| {
        *end += batch.len() as u32;
        Some(*end)
    });
    let mut numbers = vec![batches.len() as u32];
    numbers.extend(ends);
    numbers.extend(lengths);
    numbers.extend(batches.concat());
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&bytes))
}

/// Whoever makes a file with a right checksum is still held to what a plan promises.
#[test]
fn wrong_plans_fail_the_check_with_what_is_wrong() {
    let folder = Folder::new().with("four.txt", "5\n9\n4\n7\n");
    let plan = "plan four.txt --strategy sorted --arrange as-built --budget sequences:2";
    let made = folder.run(&format!("{plan} --json")).stdout;
    let good = String::from_utf8(made).unwrap();
    let right = digest(&[&[2, 0], &[3, 1]], &[5, 9]);
    let old = r#""batches":[[2,0],[3,1]],"batch_lengths":[5,9]"#;
    assert!(good.contains(old) && good.contains(&right), "{good}");
    let mut said = String::new();
    for (batches, lengths, positions) in [
        (&[&[2, 0][..], &[3, 1]][..], &[5, 9][..], "[9,16]"),
        (&[&[2, 0], &[3, 4]], &[5, 9], "[9,16]"),
        (&[&[2, 0], &[3, 3]], &[5, 9], "[9,16]"),
        (&[&[2, 0], &[3]], &[5, 9], "[9,7]"),
        (&[&[2, 0], &[3, 1]], &[5, 8], "[9,16]"),
        (&[&[2, 0, 3], &[1]], &[7, 9], "[16,9]"),
        (&[&[2, 0], &[3, 1]], &[5, 9], "[9,17]"),
    ] {
        let [batches_json, lengths_json] =
            [format!("{batches:?}"), format!("{lengths:?}")].map(|text| text.replace(' ', ""));
        let new = format!("\"batches\":{batches_json},\"batch_lengths\":{lengths_json}");
        let text = good
            .replace(old, &new)
            .replace(&right, &digest(batches, lengths))
            .replace("\"positions\":[9,16]", &format!("\"positions\":{positions}"));
        fs::write(folder.path("plan.json"), sealed(&text)).unwrap();
        let output = folder.run("verify plan.json four.txt");
        said += &String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    }
    expect![[r#"
        plan.json: 4 sequences in 2 batches; checksum, digest, lengths, sequences, budget and counts are right, and no sequence is longer than its batch
        error: plan.json: has sequences that are not among the 4 of the input: 4

        hint: make the plan again with `lengthwise plan`; if you did not change the file, please report this
        error: plan.json: has sequences that are there too often: 3

        hint: make the plan again with `lengthwise plan`; if you did not change the file, please report this
        error: plan.json: has sequences that are missing: 1

        hint: make the plan again with `lengthwise plan`; if you did not change the file, please report this
        error: plan.json: has sequences that are longer than the batch length: 1

        hint: make the plan again with `lengthwise plan`; if you did not change the file, please report this
        error: plan.json: has batches that exceed the budget sequences:2: 0

        hint: make the plan again with `lengthwise plan`; if you did not change the file, please report this
        error: plan.json: has batches with other positions than are listed: 1

        hint: make the plan again with `lengthwise plan`; if you did not change the file, please report this
    "#]].assert_eq(&said);
}
