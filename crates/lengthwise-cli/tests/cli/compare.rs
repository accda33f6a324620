//! `lengthwise compare`, `frontier` and `tune`.

use expect_test::expect;

use crate::common::{Folder, TEN, refusals};

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

                                           padding    sd   batch                 mixing  error  step  lag-1
        strategy                  batches        %     %  length  steps  shapes       %      %   mix  corr.  
        shuffled                        5    29.73  0.00     7.4     37       4     100     80  0.55  -0.72
        sorted                          5     7.14  0.00     5.6     28       5      11      4   2.1  -0.69
        semi-sorted:noise=0.1           5     7.14  0.00     5.6     28       5      11      4   2.1  -0.69
        alternated:bins=64              5    29.73  0.00     7.4     37       4     100     80  0.55  -0.72
        bucketed:size=1024              5    29.73  0.00     7.4     37       4     100     80  0.55  -0.72
        length-buckets:width=250        5    29.73  0.00     7.4     37       4     100     80  0.55  -0.72
        optimal-buckets:count=6         7     4.58  1.24     5.5     34       7      10      6   1.4  -0.82
        neighbours                      5     8.74  2.26     5.7     28       5      19      9   2.0  -0.68
        pooled:batches=50               5     7.14  0.00     5.6     28       5      11      4   2.1  -0.69
        blurred:blur=0.02               5     7.14  0.00     5.6     28       5      11      4   2.1  -0.69
        rotating:epochs=16             10     0.00  0.00     5.2     52       9       -      -   1.0  -0.45
        proportional                   10     0.00  0.00     5.2     52       9       -      -  0.42  -0.36
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
    assert_eq!(rows.len(), lengthwise::Strategy::all_padded().len());
    for row in rows {
        for field in [
            "batches",
            "padding_rate",
            "mean_batch_padding_rate",
            "mean_batch_length",
            "cells",
            "steps",
            "shapes",
            "idle_share",
            "plan_seconds",
        ] {
            assert!(row[field].is_number(), "{field} of {}", row["strategy"]);
            assert!(row["sd"][field].is_number(), "sd of {field} of {}", row["strategy"]);
        }
        for field in ["mixing", "mixing_per_sequence", "repeat_rate"] {
            let share = row[field].as_f64().unwrap();
            assert!((0.0..=1.0).contains(&share), "{field} of {}: {share}", row["strategy"]);
        }
        for field in ["mixing_error", "mixing_per_sequence_error", "effective_mates"] {
            assert!(row[field].as_f64().unwrap() > 0.0, "{field} of {}", row["strategy"]);
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
    assert!(comparison["rows"][0]["mixing"].is_null(), "one epoch has nothing to repeat");
}

#[test]
fn tune_finds_the_best_within_limits() {
    let folder = Folder::new();
    folder
        .expect("tune --example bimodal --max-padding 0.05 --budget sequences:16", &expect![[r#"
            exit 0
            --- stdout
            strategy                     padding %   batches   shapes       mates
            shuffled                         61.12       500      282        7999
            blurred:blur=0.0317               4.96       500      323         983
            optimal-buckets:count=13          4.81       504      128         611
            semi-sorted:noise=0.044           4.99       500      304         553
            alternated:bins=19                4.81       500      296         471
            pooled:batches=27                 4.94       500      288         465
            bucketed:size=327                 4.98       514      170         344
            length-buckets:width=67           4.88       511      172         342

            89 points measured. On epochs not seen before, blurred:blur=0.0317 with shapes exact has
            4.86 % padding, 969 effective mates and 321 shapes.

            lengthwise plan --example bimodal --strategy blurred:blur=0.0317 --budget sequences:16 --shapes exact --arrange spread --seed 0
            lw.plan(lengths, "blurred:blur=0.0317", budget="sequences:16", shapes="exact", arrange="spread", seed=0)
            --- stderr
        "#]]);
    folder.expect("tune --max-padding 0.001 --min-mates 5000", &expect![[r#"
        exit 1
        --- stdout
        strategy                     padding %   batches   shapes       mates
        shuffled                         31.56       645      117       10479
        semi-sorted:noise=0.0001          0.24       441      407          41
        blurred:blur=0.0001               0.24       441      407          41
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
