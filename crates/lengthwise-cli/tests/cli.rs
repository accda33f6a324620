//! The command as its users see it: exit code, standard output, standard error.
//! `UPDATE_EXPECT=1 cargo test` rewrites the expected text.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::{
    fs,
    io::{Read, Write},
    path::Path,
    process::Stdio,
};

use common::{Folder, refusal, refusals};
use expect_test::expect;

const TEN: &str = "id,frames\na,5\nb,9\nc,4\nd,7\ne,7\nf,1\ng,3\nh,8\ni,2\nj,6\n";

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
            {"version":1,"digest":"f6fabfd7a1cd74ad","batches":[[8,0,3,4],[9,2,6,5],[7,1]],"batch_lengths":[7,6,9],"positions":[21,14,17],"made":{"strategy":"alternated:bins=2","budget":"sequences:4","shapes":"exact","arrange":"spread","over_long":"error","steps":"aligned","tail":"split","accumulate":1,"seed":0,"epoch":0,"lengths":"0b42b6c9404e6913"},"checksum":"d7eb85b700abd1d8"}
            --- stderr
            10 sequences in 3 batches (alternated:bins=2, shapes exact), 25.71 % padding, digest f6fabfd7a1cd74ad
            lengths are those of `frames`; `--column` chooses others
        "#]],
    );
    folder.expect("plan ten.csv --budget sequences:8 --chunk 4 --json", &expect![[r#"
        exit 0
        --- stdout
        {"version":1,"digest":"42d2365e4824b019","batches":[[14,7,11,9,16],[3,8,15,0,2,12,13,5],[10,4,1],[6]],"batch_lengths":[3,4,1,4],"chunks":{"sequences":[0,0,1,1,1,2,3,3,4,4,5,6,7,7,8,9,9],"offsets":[0,4,0,4,8,0,0,4,0,4,0,0,0,4,0,0,4],"lengths":[4,1,4,4,1,4,4,3,4,3,1,3,4,4,2,4,2]},"positions":[13,32,3,4],"made":{"strategy":"shuffled","budget":"sequences:8","shapes":"ladder:3","arrange":"spread","over_long":"error","steps":"aligned","tail":"split","accumulate":1,"seed":0,"epoch":0,"lengths":"42294cb962215c3a"},"checksum":"7d8b721b7e11c0d3"}
        --- stderr
        17 pieces of sequences in 4 batches (shuffled, shapes ladder:3), 3.70 % padding, digest 42d2365e4824b019
        lengths are those of `frames`; `--column` chooses others
    "#]]);
    folder.expect("plan ten.csv --budget padded:7 --over-long drop --json", &expect![[r#"
        exit 0
        --- stdout
        {"version":1,"digest":"a19c7a016091ee5f","batches":[[8],[9],[2],[4],[6],[3],[0],[5]],"batch_lengths":[2,6,4,7,3,7,5,1],"left_out":[1,7],"positions":[2,6,4,7,3,7,5,1],"made":{"strategy":"shuffled","budget":"padded:7","shapes":"ladder:9","arrange":"spread","over_long":"drop","steps":"stratified","tail":"split","accumulate":1,"seed":0,"epoch":0,"lengths":"0b42b6c9404e6913"},"checksum":"3aeec7e802a8d5f3"}
        --- stderr
        8 sequences in 8 batches (shuffled, shapes ladder:9), 0.00 % padding, digest a19c7a016091ee5f
        lengths are those of `frames`; `--column` chooses others
        2 over-long, left out: 1, 7
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
fn compare_prints_a_plain_table_when_piped() {
    let folder = Folder::new().with("ten.csv", TEN);
    let output = folder.run("compare ten.csv --budget sequences:2 --epochs 2");
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    // Planning times differ from run to run.
    let without_times: String = text
        .lines()
        .map(|line| match line.rsplit_once("  ") {
            Some((rest, _)) if !line.contains("sequences") => format!("{rest}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    expect![[r#"
        ten.csv, `frames`: 10 sequences of length 1 to 9, mean 5.2
        budget sequences:2, shapes exact, arrange spread, seed 0, 2 epochs

                                           padding    sd   batch                 effective  lag-1
        strategy                  batches        %     %  length  steps  shapes      mates  corr.  
        shuffled                        5    29.73  0.00     7.4     37       4        inf  -0.72
        sorted                          5     7.14  0.00     5.6     28       5          1  -0.69
        semi-sorted:noise=0.1           5     7.14  0.00     5.6     28       5          1  -0.69
        alternated:bins=64              5    29.73  0.00     7.4     37       4        inf  -0.72
        bucketed:size=1024              5    29.73  0.00     7.4     37       4        inf  -0.72
        length-buckets:width=250        5    29.73  0.00     7.4     37       4        inf  -0.72
        optimal-buckets:count=6         7     4.58  1.24     5.5     34       7        1.2  -0.82
        neighbours                      5     8.74  2.26     5.7     28       5        1.7  -0.68
        pooled:batches=50               5     7.14  0.00     5.6     28       5          1  -0.69
        blurred:spread=0.02             5     7.14  0.00     5.6     28       5          1  -0.69
        rotating:epochs=16             10     0.00  0.00     5.2     52       9          -  -0.45
    "#]]
    .assert_eq(&without_times);
    assert_eq!(output.stderr, b"");
    assert!(text.is_ascii(), "nothing but plain characters in a pipe");
}

/// The field names that other people's scripts rely on.
#[test]
fn compare_json_keeps_its_contract() {
    let folder = Folder::new();
    let comparison = folder.json("compare --budget padded:51200 --epochs 2 --world-size 4 --json");
    let keys = |value: &serde_json::Value| -> Vec<String> {
        value.as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(keys(&comparison), ["input", "rows", "settings", "version"]);
    assert_eq!(comparison["version"], 1);
    assert_eq!(keys(&comparison["input"]), ["max", "mean", "min", "sequences", "source"]);
    assert_eq!(comparison["input"]["sequences"], 10_480);
    let rows = comparison["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 11);
    for row in rows {
        for field in [
            "batches",
            "padding_rate",
            "mean_batch_padding_rate",
            "mean_batch_length",
            "cells",
            "steps",
            "shapes",
            "effective_mates",
            "idle_share",
            "plan_seconds",
        ] {
            // Under `rotating` nobody meets again, and infinity is no number in JSON.
            let infinite = field == "effective_mates" && row["strategy"] == "rotating:epochs=16";
            assert!(row[field].is_number() != infinite, "{field} of {}", row["strategy"]);
            assert!(row["sd"][field].is_number(), "sd of {field} of {}", row["strategy"]);
        }
        assert!(row["largest_batch_cells"].as_f64().unwrap() <= 51_200.0);
        assert!(row["idle_share"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn compare_takes_strategies_and_settings() {
    let folder = Folder::new();
    let comparison = folder.json(
        "compare --example bimodal --strategy alternated:bins=8 --strategy sorted --budget dynamic:8 \
         --shapes ladder:4 --arrange short-first --epochs 1 --seed 7 --json",
    );
    assert_eq!(comparison["rows"][0]["strategy"], "alternated:bins=8");
    assert_eq!(comparison["rows"][1]["strategy"], "sorted");
    expect![[r#"{"accumulate":1,"arrange":"short-first","budget":"dynamic:8","epochs":1,"over_long":"error","seed":7,"shapes":"ladder:4","steps":"aligned","tail":"split","time":"batch length","world_size":1}"#]].assert_eq(&comparison["settings"].to_string());
    assert!(comparison["rows"][0]["effective_mates"].is_null(), "one epoch has no company again");
}

#[test]
fn without_strategy_the_recommended_one_is_planned() {
    let folder = Folder::new();
    let digest = |more: &str| {
        folder.json(&format!("plan --example speech --budget dynamic:16 --json {more}"))["digest"]
            .clone()
    };
    assert_eq!(digest(""), digest("--strategy shuffled --shapes ladder:16"));
    assert_eq!(digest("--shapes exact"), digest("--strategy blurred"));
    let choice = folder.json("tune --json");
    assert_eq!((&choice["strategy"], &choice["shapes"]), (&"shuffled".into(), &"ladder:16".into()));
}

#[test]
fn tune_finds_the_best_within_limits() {
    let folder = Folder::new();
    folder
        .expect("tune --example bimodal --max-padding 0.05 --budget sequences:16", &expect![[r#"
            exit 0
            --- stdout
            strategy                     padding %   batches   shapes       mates
            shuffled                         61.12       500      282        8108
            blurred:spread=0.0317             4.96       500      323         983
            optimal-buckets:count=13          4.81       504      128         611
            semi-sorted:noise=0.044           4.99       500      304         553
            alternated:bins=19                4.81       500      296         471
            pooled:batches=27                 4.94       500      288         465
            bucketed:size=327                 4.98       514      170         344
            length-buckets:width=67           4.88       511      172         342

            89 points measured. On epochs not seen before, blurred:spread=0.0317 with shapes exact has
            4.86 % padding, 969 effective mates and 321 shapes.

            lengthwise plan --example bimodal --strategy blurred:spread=0.0317 --budget sequences:16 --shapes exact --arrange spread --seed 0
            lw.plan(lengths, "blurred:spread=0.0317", budget="sequences:16", shapes="exact", arrange="spread", seed=0)
            --- stderr
        "#]]);
    folder.expect("tune --max-padding 0.001 --min-mates 5000", &expect![[r#"
        exit 1
        --- stdout
        strategy                     padding %   batches   shapes       mates
        shuffled                         31.56       645      117       11095
        semi-sorted:noise=0.0001          0.24       441      407          41
        blurred:spread=0.0001             0.24       441      407          41
        alternated:bins=1                 0.24       441      407          41
        pooled:batches=441                0.24       441      407          41
        bucketed:size=24                  0.14       666      658          37
        optimal-buckets:count=332         0.10       608      514          30
        length-buckets:width=2            0.09       636      539          28

        42 points measured. On epochs not seen before, semi-sorted:noise=0.0001 with shapes exact has
        0.24 % padding, 41 effective mates and 407 shapes.

        lengthwise plan --example speech --strategy semi-sorted:noise=0.0001 --budget dynamic:16 --shapes exact --arrange spread --seed 0
        lw.plan(lengths, "semi-sorted:noise=0.0001", budget="dynamic:16", shapes="exact", arrange="spread", seed=0)
        --- stderr
        error: no strategy keeps all limits; the nearest has 0.24 % padding and 41 effective mates
    "#]]);
    let choice =
        folder.json("tune --max-seconds 16 --cost-model recurrent --budget padded:51200 --json");
    assert_eq!(choice["within_limits"], true);
    assert!(choice["best"]["predicted_seconds"].as_f64().unwrap() < 16.2);
    assert!(choice["searched"].as_array().unwrap().len() > 10);
    // The command it prints makes the plan it promises.
    let command = choice["command"].as_str().unwrap().strip_prefix("lengthwise ").unwrap();
    assert!(folder.run(&format!("{command} --json")).status.success(), "{command}");
    let said = refusals(
        &folder,
        &[
            "tune --max-padding 5",
            "tune --min-mates 0",
            "tune --max-seconds 0 --cost-model encoder",
        ],
    );
    expect![[r#"
        $ lengthwise tune --max-padding 5
        error: `--max-padding` cannot be 5

        hint: it must be a share above 0 and below 1, such as 0.05

        $ lengthwise tune --min-mates 0
        error: `--min-mates` cannot be 0

        hint: it must be a number from 1

        $ lengthwise tune --max-seconds 0 --cost-model encoder
        error: `--max-seconds` cannot be 0

        hint: it must be a number of seconds above 0

    "#]]
    .assert_eq(&said);
}

#[test]
fn frontier_compares_families_at_equal_company() {
    let folder = Folder::new();
    let frontier = folder.json("frontier --example bimodal --steps 9 --epochs 2 --json");
    assert_eq!(frontier["curves"].as_array().unwrap().len(), 7);
    for level in frontier["levels"].as_array().unwrap() {
        assert!(level["ratio"].as_f64().unwrap() < 1.0, "{level}");
    }
    // Paper 2's tuning curves: padding and batch length rise with the parameter.
    for curve in frontier["curves"].as_array().unwrap() {
        let points = curve["points"].as_array().unwrap();
        let ends = [&points[0], points.last().unwrap()];
        for figure in ["mean_batch_padding_rate", "mean_batch_length"] {
            let [low, high] = ends.map(|point| point[figure].as_f64().unwrap());
            assert!(low < high, "{figure} of {}", curve["family"]);
        }
    }
    let text = String::from_utf8(folder.run("frontier --steps 4 --epochs 2").stdout).unwrap();
    assert!(text.contains("best other %"), "{text}");
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
fn explain_lists_and_explains() {
    let folder = Folder::new();
    folder.expect(
        "explain",
        &expect![[r#"
            exit 0
            --- stdout
            Strategies
              shuffled                    random order
              sorted                      by length, equal lengths shuffled
              semi-sorted:noise=0.1       by length plus uniform noise
              alternated:bins=64          shuffled, in bins sorted up and down in turn
              bucketed:size=1024          sorted, in buckets of equal count, random inside
              length-buckets:width=250    length intervals, random inside
              optimal-buckets:count=6     the length intervals of least padding, random inside
              neighbours                  grown from a random sequence toward its neighbours
              pooled:batches=50           shuffled, in pools of a few batches sorted
              blurred:spread=0.02         by length plus one-sided noise on a scale that fits the lengths
              rotating:epochs=16          nobody meets twice in a cycle of epochs
              packed                      several sequences in a row, for models that keep them apart
              paired:spread=0.1           for two lengths: stripes of the first, each by the second, with noise on both

            Other settings
              budget                      sequences, padded, dynamic, cost
              cost                        recurrent, encoder, paper-2
              shapes                      exact, multiple, ladder
              arrange                     as-built, shuffled, spread, short-first, long-first
              steps                       stratified, aligned, in-order
              stream                      batches of data as it comes
              shards                      parts of a corpus that are planned apart
              tune                        how a strategy is chosen

            Examples
              speech                      10,480 read sentences in frames, like LJSpeech
              documents                   6,000 web documents in tokens, with a heavy tail
              bimodal                     8,000 recordings in frames: short commands and long dictation

            `lengthwise explain NAME` explains a strategy or a setting.
            --- stderr
        "#]],
    );
    folder.expect("explain alternated", &expect![[r#"
        exit 0
        --- stdout
        # alternated

        ## What it does

        Shuffles all sequences, divides them into `bins` bins of equal count, sorts odd bins from short to
        long and even bins from long to short, and cuts batches from the resulting order, across the ends of
        bins. Because the direction alternates, neighbours across the end of a bin are of similar length.

        ## When to use it

        When company should come from a random part of the data. One bin is `sorted`; as many bins as
        batches is nearly `shuffled`. Built in this order, the batch length rises and falls once in two bins.

        ## Cost

        O(N) time (two radix sorts), 20 bytes of memory a sequence at the peak.

        ## Parameters

        - `bins` (default 64): the paper's N.

        ## Example

        ```
        use lengthwise::{Alternated, Arrange, Budget, Lengths, Planner};

        let lengths = Lengths::new([31, 7, 12, 90])?;
        let planner = Planner::new(Alternated { bins: 1 }, Budget::sequences(2)).arrange(Arrange::AsBuilt);
        assert_eq!(planner.plan(&lengths, 0)?.get(0), Some(&[1, 2][..]));
        ```

        ## Reference

        Paper 1, section 4.
        --- stderr
    "#]]);
    let text = |arguments: &str| String::from_utf8(folder.run(arguments).stdout).unwrap();
    assert_eq!(text("explain padded"), text("explain budget"));
    assert_eq!(text("explain alternated:bins=3"), text("explain alternated"));
    assert!(text("explain steps").starts_with("# Steps over ranks"));
    for name in ["stratified", "aligned", "in-order", "split", "repeat", "drop", "tail", "cursor"] {
        assert_eq!(text(&format!("explain {name}")), text("explain steps"), "{name}");
    }
    assert!(text("explain shuffled").starts_with("# shuffled"));
    let all = folder.json("explain --json");
    assert_eq!(all.as_array().unwrap().len(), 21);
    expect![[r#"
        $ lengthwise explain neighbors
        error: unknown strategy `neighbors`

        hint: did you mean `neighbours`? run `lengthwise explain` to list all

    "#]]
    .assert_eq(&refusal(&folder, "explain neighbors"));
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

        hint: lengths are whole numbers; if these are seconds, say how many frames they make with `--frame-shift 0.01` or `--rate 100`

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

        hint: raise the budget to at least 300 cells, or choose what happens to over-long sequences: `alone`, `drop` or `truncate` (`--over-long` on the command line)

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

/// What the argument parser itself refuses.
#[test]
fn bad_usage_ends_with_code_2() {
    let folder = Folder::new();
    for arguments in [
        "",
        "comparr",
        "compare --epochs 0",
        "compare --world-size 0",
        "ladder --rungs 0",
        "plan x.txt",
        "compare x.txt --example speech",
        "compare --column frames",
        "compare --format csv",
        "compare --seed -1",
    ] {
        let output = folder.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert_eq!(output.stdout, b"", "{arguments}");
        assert!(!output.stderr.is_empty(), "{arguments}");
    }
}

#[test]
fn a_reader_that_stops_early_is_no_error() {
    let folder = Folder::new();
    for arguments in
        ["plan --example speech --budget sequences:1", "explain bucketed", "compare --json"]
    {
        let mut child = folder
            .command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = child.stdout.take().unwrap();
        output.read_exact(&mut [0; 4]).unwrap();
        drop(output);
        let rest = child.wait_with_output().unwrap();
        assert_eq!(rest.status.code(), Some(0), "{arguments}");
        assert!(!String::from_utf8_lossy(&rest.stderr).contains("panicked"), "{arguments}");
    }
}

#[test]
fn a_full_disk_is_an_error() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let folder = Folder::new();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = folder.command("compare --epochs 1").stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: standard output: "));
}

#[test]
fn help_has_one_line_for_every_command() {
    let folder = Folder::new();
    folder.expect(
        "-h",
        &expect![[r#"
            exit 0
            --- stdout
            Plan the batches of variable-length sequences: little padding, few shapes, fresh company

            Usage: lengthwise [OPTIONS] <COMMAND>

            Commands:
              inspect      Show what the lengths are like, and what they do to random batches
              compare      Show what every strategy does to padding, batches, shapes and freshness
              report       Write a comparison with figures as one HTML page
              plan         Plan the batches of one epoch
              stream       Plan the batches of a stream of lengths as they come
              tune         Find the best strategy within limits on padding, company and shapes
              frontier     Measure padding against freshness for every family of strategies
              ladder       Find the batch lengths that pad the least
              cost         Fit a cost model to measured training steps
              statistics   Gather what all shards of a corpus are like, so that each can be planned by itself
              verify       Check that a plan file is whole, and right for its lengths
              completions  Print a script that completes commands and options in a shell
              man          Print the manual page, or write one for every command
              explain      Explain a strategy, or budgets, cost models, shapes, arrangements, steps, streams and
                           shards
              help         Print this message or the help of the given subcommand(s)

            Options:
              -h, --help     Print help
              -V, --version  Print version

            Output:
              -q, --quiet         Say nothing on standard error but errors
                  --color <WHEN>  Colours: auto, always or never [default: auto] [possible values: auto, always,
                                  never]
            --- stderr
        "#]],
    );
}

/// All that help and documentation call a setting by.
#[test]
fn settings_are_explained_under_every_name() {
    let folder = Folder::new();
    let first = |name: &str| {
        let output = folder.run(&format!("explain {name}"));
        assert!(output.status.success(), "{name}");
        String::from_utf8(output.stdout).unwrap()
    };
    for (name, others) in [
        ("budget", &["budgets"][..]),
        ("cost", &["cost-models", "cost-model", "cost models"]),
        ("shapes", &["shape"]),
        ("arrange", &["arrangements", "arrangement"]),
        ("stream", &["streams"]),
        ("shards", &["shard"]),
        ("steps", &["step"]),
    ] {
        for other in others {
            assert_eq!(first(name), first(other), "{other}");
        }
    }
    assert_eq!(first("strategies"), first(""));
    let said = refusal(&folder, "explain steams");
    assert!(said.contains("nothing is called `steams`"), "{said}");
    for name in ["blurred", "paired", "budget", "cost", "stream", "tune"] {
        assert!(said.contains(&format!("`{name}`")), "{name}: {said}");
    }
}

/// What was assumed where nothing was said.
#[test]
fn a_frontier_says_its_settings() {
    let folder = Folder::new();
    let output = folder.run("frontier --example bimodal --steps 2 --epochs 2");
    let text = String::from_utf8(output.stdout).unwrap();
    let heading = "example `bimodal`: 8000 sequences\n\
                   budget sequences:16, shapes exact, seed 0, 2 epochs\n\nstrategy";
    assert!(text.starts_with(heading), "{text}");
}
