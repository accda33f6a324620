//! `lengthwise plan` and `ladder`: exit code, standard output, standard error, and the files.

use std::{fs, io::Write, process::Stdio};

use expect_test::expect;

use crate::common::{Folder, TEN, refusal};

#[test]
fn a_plan_is_one_batch_a_line() {
    let folder = Folder::new().with("ten.csv", TEN);
    folder.expect(
        "plan ten.csv --strategy sorted --budget padded:16 --arrange as-built",
        &expect![[r#"
            exit 0
            --- stdout
            5 8 6 2
            0 9
            3 4
            7
            1
            --- stderr
            10 sequences in 5 batches (sorted, shapes exact), 11.86 % padding, digest 8dda99fe84a14dbc
            lengths are those of `frames`; `--column` chooses others
            one batch is one step: step mix 3.02 (1 is as random steps, 0 all steps alike)
        "#]],
    );
}

#[test]
fn a_plan_as_json() {
    let folder = Folder::new().with("ten.csv", TEN);
    folder.expect(
        "plan ten.csv --strategy alternated:bins=2 --budget sequences:4 --json",
        &expect![[r#"
            exit 0
            --- stdout
            {"version":1,"digest":"2be54c39f3157ab6","batches":[[9,2,6,5],[7,1],[8,0,3,4]],"batch_lengths":[6,9,7],"positions":[14,17,21],"made":{"strategy":"alternated:bins=2","budget":"sequences:4","shapes":"exact","arrange":"spread","over_long":"error","steps":"aligned","tail":"split","accumulate":1,"seed":0,"epoch":0,"lengths":"0b42b6c9404e6913"},"checksum":"9e353c75c1173836"}
            --- stderr
            10 sequences in 3 batches (alternated:bins=2, shapes exact), 25.71 % padding, digest 2be54c39f3157ab6
            lengths are those of `frames`; `--column` chooses others
            one batch is one step: step mix 1.38 (1 is as random steps, 0 all steps alike)
        "#]],
    );
    folder.expect("plan ten.csv --budget sequences:8 --chunk 4 --json", &expect![[r#"
        exit 0
        --- stdout
        {"version":1,"digest":"c38c1e769d1fdb99","batches":[[3,14,8,10],[6],[2,11,9,12,16,13,5,1],[15,7,0,4]],"batch_lengths":[4,4,4,4],"chunks":{"sequences":[0,0,1,1,1,2,3,3,4,4,5,6,7,7,8,9,9],"offsets":[0,4,0,4,8,0,0,4,0,4,0,0,0,4,0,0,4],"lengths":[4,1,4,4,1,4,4,3,4,3,1,3,4,4,2,4,2]},"positions":[11,4,25,12],"made":{"strategy":"shuffled","budget":"sequences:8","shapes":"exact","arrange":"spread","over_long":"error","steps":"stratified","batches_per_step":2,"tail":"split","accumulate":1,"canonical_ranks":1,"update":"sequences:8","seed":0,"epoch":0,"lengths":"42294cb962215c3a"},"ranks":{"world_size":1,"accumulate":2,"steps":2,"step_counts":{"sequences":[5,12],"positions":[15,37]},"step_mix":0.03768},"checksum":"c188e053faad685e"}
        --- stderr
        17 pieces of sequences in 4 batches (shuffled, shapes exact), 23.53 % padding, digest c38c1e769d1fdb99
        lengths are those of `frames`; `--column` chooses others
        1 rank with 2 batches each in 2 stratified steps, 0.0 % idle (at least 0.0 %), time by cells
        step mix 0.04 (1 is as random steps, 0 all steps alike), about 26 tokens a step
        recommended: shuffled, shapes exact, 2 micro-batches per update: no faster way to batch is within the limits: 22 % of all cells are padding
        updates per epoch: 2, with random batches 3; each has 1.50 times the data (rules of thumb: the learning rate times 1.50 for SGD, times 1.22 for Adam)
        if the model takes packed rows (variable-length attention), packed:capacity=13 takes 1.50 of random's time
        the times are assumed: a small model on a large GPU waits for the launch of each micro-batch, and can take longer than with random batches; lengthwise explain cost says how to measure it
    "#]]);
    folder.expect("plan ten.csv --budget padded:7 --over-long drop --json", &expect![[r#"
        exit 0
        --- stdout
        {"version":1,"digest":"917ccf1ed2e5ba35","batches":[[4],[8],[9],[2],[5],[6],[3],[0]],"batch_lengths":[7,2,6,4,1,3,7,5],"left_out":[1,7],"positions":[7,2,6,4,1,3,7,5],"made":{"strategy":"proportional:batches=1","budget":"padded:7","shapes":"ladder:16","arrange":"as-built","over_long":"drop","together":true,"steps":"in-order","batches_per_step":1,"tail":"split","accumulate":1,"canonical_ranks":1,"update":"tokens:7","seed":0,"epoch":0,"lengths":"0b42b6c9404e6913"},"ranks":{"world_size":1,"accumulate":1,"steps":8,"step_counts":{"sequences":[1,1,1,1,1,1,1,1],"positions":[7,2,6,4,1,3,7,5]},"step_mix":1.0},"checksum":"f559c09d803b5483"}
        --- stderr
        8 sequences in 8 batches (proportional:batches=1, shapes ladder:16), 0.00 % padding, digest 917ccf1ed2e5ba35
        lengths are those of `frames`; `--column` chooses others
        2 over-long, left out: 1, 7
        1 rank in 8 in-order steps, 0.0 % idle (at least 0.0 %), time by cells
        step mix 1.00 (1 is as random steps, 0 all steps alike), about 4 tokens a step
        recommended: proportional:batches=1, shapes ladder:16: an epoch takes 1.00 of the time of random batches: 0.0 % of all cells are padding instead of 1.4 %, and optimizer steps differ in length as step mix 1.0 says
        updates per epoch: 7, with random batches 8; each has 1.14 times the data (rules of thumb: the learning rate times 1.14 for SGD, times 1.07 for Adam)
        if the model takes packed rows (variable-length attention), packed:capacity=9 takes 0.75 of random's time
    "#]]);
}

#[test]
fn the_digest_of_a_plan_is_as_documented() {
    let folder = Folder::new().with("ten.csv", TEN);
    let plan = folder.json("plan ten.csv --strategy pooled --budget sequences:3 --json");
    let list = |value: &serde_json::Value| -> Vec<u32> {
        value.as_array().unwrap().iter().map(|number| number.as_u64().unwrap() as u32).collect()
    };
    let batches: Vec<Vec<u32>> = plan["batches"].as_array().unwrap().iter().map(list).collect();
    let mut numbers = vec![batches.len() as u32];
    let mut end = 0;
    numbers.extend(batches.iter().map(|batch| {
        end += batch.len() as u32;
        end
    }));
    numbers.extend(list(&plan["batch_lengths"]));
    numbers.extend(batches.concat());
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let digest = format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&bytes));
    assert_eq!(plan["digest"], digest);
}

#[test]
fn plans_are_written_whole_to_files() {
    let folder = Folder::new().with("ten.csv", TEN);
    let plan = "plan ten.csv --strategy sorted --budget sequences:4 --arrange as-built";
    folder.expect(
        &format!("{plan} -o plan.json"),
        &expect![[r#"
            exit 0
            --- stdout
            --- stderr
            10 sequences in 3 batches (sorted, shapes exact), 18.75 % padding, digest aeb51e727a654f78
            lengths are those of `frames`; `--column` chooses others
            one batch is one step: step mix 4.35 (1 is as random steps, 0 all steps alike)
            models can learn less from steps of similar lengths: `lengthwise tune` finds steps that look like the data
        "#]],
    );
    folder.expect(
        &format!("{plan} -o plan.jsonl"),
        &expect![[r#"
            exit 0
            --- stdout
            --- stderr
            10 sequences in 3 batches (sorted, shapes exact), 18.75 % padding, digest aeb51e727a654f78
            lengths are those of `frames`; `--column` chooses others
            one batch is one step: step mix 4.35 (1 is as random steps, 0 all steps alike)
            models can learn less from steps of similar lengths: `lengthwise tune` finds steps that look like the data
        "#]],
    );
    assert_eq!(
        fs::read_to_string(folder.path("plan.jsonl")).unwrap().lines().next(),
        Some(r#"{"sequences":[5,8,6,2],"batch_length":4,"positions":10}"#)
    );
    let saved: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(folder.path("plan.json")).unwrap()).unwrap();
    assert_eq!(saved, folder.json(&format!("{plan} --json")));
    // As readable as any other file.
    let permissions = |name: &str| fs::metadata(folder.path(name)).unwrap().permissions();
    assert_eq!(permissions("plan.json"), permissions("ten.csv"));
    // Nothing else was left behind.
    assert_eq!(fs::read_dir(folder.folder()).unwrap().count(), 3);
}

#[test]
fn json_lines_keep_pieces_and_over_long_sequences() {
    let folder = Folder::new().with("ten.csv", TEN);
    folder.run("plan ten.csv --strategy sorted --arrange as-built --budget 9 --chunk 4 -o a.jsonl");
    folder.run("plan ten.csv --strategy sorted --budget padded:7 --over-long alone -o b.jsonl");
    folder.run("plan ten.csv --strategy sorted --budget padded:7 --over-long truncate -o c.jsonl");
    let before_last = |name| {
        let text = fs::read_to_string(folder.path(name)).unwrap();
        text.lines().rev().nth(1).unwrap().to_owned() + "\n"
    };
    expect![[r#"
        {"sequences":[4,9,0,1,7,7,2,3],"offsets":[0,0,0,0,0,4,0,0],"lengths":[4,4,4,4,4,4,4,4],"batch_length":4,"positions":32}
        {"over_long":"alone","sequences":[1,7]}
        {"over_long":"truncate","sequences":[1,7]}
    "#]].assert_eq(&["a.jsonl", "b.jsonl", "c.jsonl"].map(before_last).concat());
}

#[cfg(unix)]
#[test]
fn a_plan_is_written_through_a_link() {
    let folder = Folder::new().with("ten.csv", TEN).with("real.json", "old");
    std::os::unix::fs::symlink(folder.path("real.json"), folder.path("link.json")).unwrap();
    assert!(folder.run("plan ten.csv --budget 4 -o link.json").status.success());
    assert!(fs::symlink_metadata(folder.path("link.json")).unwrap().is_symlink());
    assert!(fs::read_to_string(folder.path("real.json")).unwrap().starts_with("{\"version\":1"));
}

#[test]
fn a_plan_that_cannot_be_written_leaves_the_old_file() {
    let folder = Folder::new().with("ten.csv", TEN).with("plan.json", "old");
    let bad = folder.run("plan ten.csv --budget padded:3 -o plan.json");
    assert_eq!(bad.status.code(), Some(2));
    assert_eq!(fs::read_to_string(folder.path("plan.json")).unwrap(), "old");
    let said = refusal(&folder, "plan ten.csv --budget sequences:3 -o no/such/plan.json")
        + &refusal(&folder, "plan ten.csv --budget sequences:3 -o plan.xlsx");
    expect![[r#"
        $ lengthwise plan ten.csv --budget sequences:3 -o no/such/plan.json
        error: no/such/plan.json: there is no such folder

        hint: nothing was written to it; check that the folder exists and can be written to

        $ lengthwise plan ten.csv --budget sequences:3 -o plan.xlsx
        error: plan.xlsx: unknown format of a plan

        hint: name the file .json, .jsonl, .npz or .parquet

    "#]]
    .assert_eq(&said);
}

#[test]
fn without_strategy_the_recommended_one_is_planned() {
    let folder = Folder::new();
    let digest = |more: &str| {
        folder.json(&format!("plan --example speech --budget dynamic:16 --json {more}"))["digest"]
            .clone()
    };
    for more in ["", "--shapes exact", "--world-size 4", "--accumulate 1", "--model packed"] {
        let ways = format!("tune --example speech --budget dynamic:16 --json {more}");
        let recommended = &folder.json(&ways)["recommended"];
        let command = recommended["command"].as_str().unwrap();
        let plan = folder.json(&format!("{} --json", command.strip_prefix("lengthwise ").unwrap()));
        assert_eq!(digest(more), plan["digest"], "{command}");
        assert_eq!(plan["made"]["strategy"], recommended["strategy"]);
    }
}

#[test]
fn ladder_prints_rungs() {
    let folder = Folder::new().with("ten.csv", TEN);
    folder.expect(
        "ladder ten.csv --rungs 3",
        &expect![[r#"
        exit 0
        --- stdout
              rung   sequences
                 3           3
                 7           5
                 9           2

        padding 16.13 %
        --- stderr
    "#]],
    );
    folder.expect(
        "ladder ten.csv --rungs 3 --json",
        &expect![[r#"
        exit 0
        --- stdout
        {"version":1,"rungs":[3,7,9],"sequences":[3,5,2],"padding_rate":0.16129032258064513}
        --- stderr
    "#]],
    );
}

#[test]
fn every_format_gives_the_same_plan() {
    let frames = [5, 9, 4, 7, 7, 1, 3, 8, 2, 6];
    let lines = frames.map(|n| format!("{n}\n")).concat();
    let manifest = frames.map(|n| format!("{{\"path\": \"x.wav\", \"frames\": {n}}}\n")).concat();
    let header = "{'descr': '<i4', 'fortran_order': False, 'shape': (10,), }";
    let mut npy = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    npy.extend(format!("{header:<117}\n").as_bytes());
    npy.extend(frames.iter().flat_map(|n: &i32| n.to_le_bytes()));
    let folder = Folder::new()
        .with("ten.csv", TEN)
        .with("ten.tsv", TEN.replace(',', "\t"))
        .with("ten.txt", &lines)
        .with("ten.jsonl", manifest)
        .with("ten.npy", npy)
        .with("ten.dat", TEN);
    let plan = |input: &str| folder.json(&format!("plan {input} --budget sequences:3 --json"));
    let expected = plan("ten.csv");
    for input in ["ten.tsv", "ten.txt", "ten.jsonl", "ten.npy", "ten.dat --format csv"] {
        assert_eq!(plan(input), expected, "{input}");
    }
    let mut child = folder
        .command("plan - --budget sequences:3 --json")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap(), expected);
}
