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

                                           padding    sd   batch  sequential          mixing  error  step  lag-1  optimizer
        strategy                  batches        %     %  length       steps  shapes       %      %   mix  corr.      steps  
        shuffled                        5    29.73  0.00     7.4          37       4     100     80  0.55  -0.57          5
        sorted                          5     7.14  0.00     5.6          28       5      11      4   2.1  -0.82          5
        semi-sorted:noise=0.1           5     7.14  0.00     5.6          28       5      11      4   2.1  -0.82          5
        alternated:bins=64              5    29.73  0.00     7.4          37       4     100     80  0.55  -0.57          5
        bucketed:size=1024              5    29.73  0.00     7.4          37       4     100     80  0.55  -0.57          5
        length-buckets:width=250        5    29.73  0.00     7.4          37       4     100     80  0.55  -0.57          5
        optimal-buckets:count=6         7     4.58  1.24     5.5          34       7      10      6   1.4  -0.36          7
        neighbours                      5     8.74  2.26     5.7          28       5      19      9   2.0  -0.81          5
        pooled:batches=50               5     7.14  0.00     5.6          28       5      11      4   2.1  -0.82          5
        blurred:blur=0.02               5     7.14  0.00     5.6          28       5      11      4   2.1  -0.82          5
        rotating:epochs=16             10     0.00  0.00     5.2          52       9       -      -   1.0  -0.64         10
        proportional                   10     0.00  0.00     5.2          52       9       -      -  0.42  -0.36          5
        recommended                     5    29.73  0.00     7.4          37       4     100     80  0.55  -0.57          5

        recommended: shuffled, shapes exact: no faster way to batch is within the limits: 21 % of all cells are padding
        updates per epoch: 5, with random batches 5
        if the model takes packed rows (variable-length attention), packed:capacity=11 takes 0.38 of random's time

        lengthwise plan ten.csv --strategy shuffled --budget sequences:2 --shapes exact --arrange spread --update sequences:2 --seed 0
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
    assert_eq!(keys(&comparison), ["input", "recommended", "rows", "settings", "version"]);
    assert_eq!(comparison["version"], 1);
    assert_eq!(keys(&comparison["input"]), ["max", "mean", "min", "sequences", "source"]);
    assert_eq!(comparison["input"]["sequences"], 10_480);
    let rows = comparison["rows"].as_array().unwrap();
    assert_eq!(rows.len(), lengthwise::Strategy::all_padded().len() + 1);
    assert_eq!(rows.last().unwrap()["recommended"], true);
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
        .expect("tune --example bimodal --max-padding 0.1 --budget dynamic:16", &expect![[r#"
            exit 0
            --- stdout
                                                 micro-  padding     number  mixing  step  updates  idle   time     breaks
            strategy                    shapes  batches        %  of shapes       %   mix  / epoch     %  ratio  limits on
            proportional:batches=6       exact        6      9.2        455      27  0.03      178   0.0   1.03
            proportional:batches=8   ladder:16        8      9.1         16      19  0.02      178   0.0   1.03
            proportional:batches=8   ladder:32        8      7.6         27      19  0.02      178   0.0   1.03
            proportional:batches=8       exact        8      6.1        546      20  0.02      178   0.0   1.31
            proportional:batches=12  ladder:16       12      6.7         18      13  0.02      178   0.0   1.54
            proportional:batches=12  ladder:32       12      5.1         34      12  0.01      178   0.0   1.55
            proportional:batches=12      exact       12      3.3        728      11  0.01      178   0.0   1.93
            proportional:batches=16  ladder:16       16      6.0         23       7  0.01      178   0.0   2.06
            proportional:batches=16  ladder:32       16      4.1         36       9  0.01      178   0.0   2.06
            proportional:batches=16      exact       16      2.2        826       9  0.01      178   0.0   2.31
            proportional:batches=24  ladder:16       24      5.7         24       7  0.01      178   0.0   3.09
            proportional:batches=24  ladder:32       24      2.7         40       6  0.01      178   0.0   3.09
            shuffled                     exact        3     61.3        294     100  0.95      178   0.0   1.00    padding
            (22 more with --json)

            recommended: proportional:batches=6, shapes exact, 6 micro-batches per update: an epoch takes 1.03 of the time of random batches: 9.2 % of all cells are padding instead of 61 %, and every optimizer step looks like the data (step mix 0.03)
            updates per epoch: 178, with random batches 458; each has 2.57 times the data (rules of thumb: the learning rate times 2.57 for SGD, times 1.60 for Adam)
            if the model takes packed rows (variable-length attention), packed:capacity=23407 takes 0.27 of random's time
            the times are assumed: a small model on a large GPU waits for the launch of each micro-batch, and can take longer than with random batches; lengthwise explain cost says how to measure it

            lengthwise plan --example bimodal --strategy proportional:batches=6 --budget dynamic:16 --shapes exact --arrange spread --update tokens:23200 --seed 0
            lw.plan(lengths, "proportional:batches=6", budget="dynamic:16", shapes="exact", arrange="spread", update="tokens:23200", seed=0)
            --- stderr
        "#]]);
    folder.expect("tune --max-padding 0.001 --min-mates 5000", &expect![[r#"
        exit 1
        --- stdout
                                             micro-  padding     number  mixing   step  updates  idle   time                              breaks
        strategy                    shapes  batches        %  of shapes       %    mix  / epoch     %  ratio                           limits on
        proportional:batches=12      exact       12      1.0        704       6   0.03      655   0.0   4.83            padding, effective mates
        shuffled                 ladder:32        1      1.9         32       3  15.94      655   0.0   0.69  padding, effective mates, step mix
        blurred:blur=0.02            exact        1      2.3        463       7  15.87      655   0.0   1.09  padding, effective mates, step mix
        blurred:blur=0.005           exact        1      0.6        533       2  16.01      655   0.0   0.99  padding, effective mates, step mix
        proportional:batches=8       exact        8      2.6        620      17   0.07      655   0.0   3.29            padding, effective mates
        proportional:batches=12  ladder:32       12      2.8         35      13   0.02      655   0.0   4.81            padding, effective mates
        shuffled                 ladder:16        2      3.7         19       5   7.19      655   0.0   0.81  padding, effective mates, step mix
        proportional:batches=8   ladder:32        8      4.3         32      17   0.07      655   0.0   3.20            padding, effective mates
        proportional:batches=6       exact        6      4.5        562      14   0.07      655   0.0   2.52            padding, effective mates
        proportional:batches=12  ladder:16       12      4.6         19       4   0.03      655   0.0   4.81            padding, effective mates
        blurred:blur=0.05            exact        1      5.2        422      16  15.36      655   0.0   1.16  padding, effective mates, step mix
        proportional:batches=8   ladder:16        8      5.8         16      17   0.07      655   0.0   3.20            padding, effective mates
        shuffled                     exact        1     31.5        112     100   1.03      655   0.0   1.00                             padding
        (22 more with --json)

        --- stderr
        error: nothing keeps the limits on padding and effective mates; the nearest is proportional:batches=12 with shapes exact and 12 micro-batches per update (0.98 % padding, step mix 0.03, mixing 6.3 %, 704 shapes)

        hint: raise the limits, or leave one out
    "#]]);
    let choice =
        folder.json("tune --max-seconds 35 --cost-model recurrent --budget padded:51200 --json");
    assert_eq!(choice["within_limits"], true);
    assert!(choice["best"]["predicted_seconds"].as_f64().unwrap() <= 35.0);
    assert!(choice["candidates"].as_array().unwrap().len() > 10);
    let said = refusals(
        &folder,
        &[
            "tune --max-padding 5",
            "tune --min-mates 0",
            "tune --max-seconds 0 --cost-model encoder",
            "tune --min-mixing 2",
            "tune --max-step-mix 0",
            "tune --like 0",
            "tune --like 32,keep=all",
            "tune --model transformer",
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

        $ lengthwise tune --min-mixing 2
        error: `--min-mixing` cannot be 2

        hint: it must be a share from 0 to 1

        $ lengthwise tune --max-step-mix 0
        error: `--max-step-mix` cannot be 0

        hint: it must be a number above 0, or `inf` for any

        $ lengthwise tune --like 0
        error: `like` cannot be `0`

        hint: it must be a batch size from 1, as in `32`

        $ lengthwise tune --like 32,keep=all
        error: `keep` of `like` cannot be `all`

        hint: it must be `memory` or `steps`

        $ lengthwise tune --model transformer
        error: transformer: there is no such file or preset

        hint: name a file that `lengthwise cost STEPS.csv -o model.json` wrote, or a preset: `recurrent`, `encoder`, `paper-2`

    "#]]
    .assert_eq(&said);
}

/// Every command recommends the same for the same lengths, and what it says is what a plan without a strategy
/// is.
#[test]
fn all_commands_recommend_the_same() {
    let folder = twenty_sets();
    for set in 0..20 {
        let asked = format!("{set}.txt --budget {}", ["sequences:16", "dynamic:8"][set % 2]);
        let asked = match set % 5 {
            3 => asked + " --model recurrent",
            4 => asked + " --model packed",
            _ => asked,
        };
        let recommended = |command: &str| {
            folder.json(&format!("{command} {asked} --json"))["recommended"].clone()
        };
        let tuned = recommended("tune");
        let figures = "--strategy sorted --epochs 1";
        for command in [&format!("compare {figures}"), &format!("report {figures}"), "inspect"] {
            assert_eq!(recommended(command), tuned, "{command} {asked}");
        }
        let plan = folder.json(&format!("plan {asked} --json"));
        for setting in ["strategy", "shapes", "budget"] {
            assert_eq!(plan["made"][setting], tuned[setting], "{setting} of plan {asked}");
        }
        let command = tuned["command"].as_str().unwrap().strip_prefix("lengthwise ").unwrap();
        assert_eq!(
            folder.json(&format!("{command} --json"))["digest"],
            plan["digest"],
            "{command}"
        );
    }
}

/// Lengths of many kinds, from 30 to 2,000 of them: equal, even, skewed, of two modes, with outliers.
fn twenty_sets() -> Folder {
    let mut folder = Folder::new();
    for set in 0..20_u64 {
        let word = |i: u64| (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15 ^ (set << 40)) >> 40;
        let count = [30, 200, 700, 2000][set as usize % 4];
        let length = |i: u64| match set / 4 {
            0 => 1 + word(i) % 400,
            1 => 40 + word(i) % 7,
            2 => 5 + (word(i) % 30).pow(2),
            3 => {
                if word(i) % 3 == 0 {
                    20 + word(i) % 9
                } else {
                    300 + word(i) % 99
                }
            }
            _ => {
                if i.is_multiple_of(97) {
                    3000 + word(i) % 999
                } else {
                    10 + word(i) % 60
                }
            }
        };
        let lengths: String = (0..count).map(|i| length(i).to_string() + "\n").collect();
        folder = folder.with(&format!("{set}.txt"), lengths);
    }
    folder
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
    assert!(text.contains("best other:"), "{text}");
}

/// What was assumed where nothing was said.
#[test]
fn a_frontier_says_its_settings() {
    let folder = Folder::new();
    let output = folder.run("frontier --example bimodal --steps 2 --epochs 2");
    let text = String::from_utf8(output.stdout).unwrap();
    let heading = "example `bimodal`: 8000 sequences\n\
                   budget sequences:16, shapes exact, seed 0, 2 epochs\n\n";
    assert!(text.starts_with(heading), "{text}");
}
