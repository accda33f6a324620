//! Cost models on the command line: fitted, saved, and used.

use std::{fmt::Write as _, fs, io::Write as _, process::Stdio};

use expect_test::expect;

use crate::common::{Folder, refusal, refusals};

const LENGTHS: &str = "100\n200\n300\n250\n120\n";

/// 4 ms + 1 us for each cell, but for a tenth of a millisecond up and down.
fn steps() -> String {
    let mut text = String::from("model,batch_size,batch_length,seconds,note\n");
    let mut up = true;
    for size in [1, 8, 32] {
        for length in [50, 200, 800] {
            let seconds = 0.004 + 1e-6 * f64::from(size * length) + if up { 1e-4 } else { -1e-4 };
            _ = writeln!(text, "mine,{size},{length},{seconds:.6},");
            up = !up;
        }
    }
    text
}

fn folder() -> Folder {
    Folder::new().with("steps.csv", steps()).with("lengths.txt", LENGTHS)
}

#[test]
fn a_model_is_fitted_and_saved() {
    let folder = folder();
    folder.expect(
        "cost steps.csv -o model.json",
        &expect![[r#"
            exit 0
            --- stdout
            9 measured steps

            seconds of a step of B sequences padded to L: a + b*L + c*B*L + d*B*L*L

              a  3.998e-3  s for a step
              b  7.436e-8  s for each position of the batch length
              c  9.955e-7  s for each cell
              d  0.000e0   s for each pair of positions of a sequence

            mean error 1.6 %, r2 0.9979
            worst error +2.7 %, on line 3: batch size 1, batch length 200

                         batch  measured  predicted  error
            batch size  length        ms         ms      %
                     1     200     4.100      4.212   +2.7
                     1      50     4.150      4.051   -2.4
                     1     800     4.900      4.854   -0.9
                     8     200     5.700      5.605   -1.7
                     8     800    10.300     10.428   +1.2
                    32     800    29.700     29.542   -0.5

            as a setting: a=0.00399764,b=7.4364e-8,c=9.95515e-7,d=0
            --- stderr
        "#]],
    );
    let saved = fs::read_to_string(folder.path("model.json")).unwrap();
    expect![[r#"
        {
          "version": 1,
          "a": 0.00399764,
          "b": 7.4364e-8,
          "c": 9.95515e-7,
          "d": 0.0,
          "rows": 9,
          "r2": 0.9979467182456349,
          "mean_relative_error": 0.01608541664685576,
          "worst": {
            "line": 3,
            "batch_size": 1,
            "batch_length": 200,
            "seconds": 0.0041,
            "predicted_seconds": 0.0042116158,
            "relative_error": 0.027223365853658477
          }
        }
    "#]]
    .assert_eq(&saved);
    let printed = folder.run("cost steps.csv --json").stdout;
    assert_eq!(String::from_utf8(printed).unwrap(), saved, "the file is what --json prints");
    assert_eq!(fs::read_dir(folder.folder()).unwrap().count(), 3, "nothing else is left behind");

    let mut child = folder
        .command("cost - --json")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(steps().as_bytes()).unwrap();
    assert_eq!(child.wait_with_output().unwrap().stdout, saved.as_bytes());
}

#[test]
fn a_saved_model_is_a_budget_and_a_prediction() {
    let folder = folder();
    assert!(folder.run("cost steps.csv -o model.json").status.success());
    let [a, b, c, d] = {
        let saved = fs::read_to_string(folder.path("model.json")).unwrap();
        let saved: serde_json::Value = serde_json::from_str(&saved).unwrap();
        ["a", "b", "c", "d"].map(|key| saved[key].as_f64().unwrap())
    };
    let seconds = |size: usize, length: u64| {
        let (size, length) = (size as f64, length as f64);
        a + b * length + c * size * length + d * size * length * length
    };
    let plan =
        folder.json("plan lengths.txt --budget cost:model.json,limit=0.0047,at-most=4 --json");
    let batches = plan["batches"].as_array().unwrap();
    for (batch, length) in batches.iter().zip(plan["batch_lengths"].as_array().unwrap()) {
        assert!(seconds(batch.as_array().unwrap().len(), length.as_u64().unwrap()) <= 0.0047);
    }

    let compare = "compare lengths.txt --budget padded:500 --strategy sorted --strategy shuffled \
                   --epochs 3 --world-size 2 --steps in-order --arrange short-first --tail repeat \
                   --json";
    let in_cells = folder.json(compare);
    let timed = folder.json(&format!("{compare} --cost-model model.json"));
    assert!(in_cells["rows"][0].get("predicted_seconds").is_none());
    assert!(in_cells["settings"].get("cost_model").is_none());
    let model = timed["settings"]["cost_model"].as_str().unwrap();
    assert_eq!(
        folder.json(&format!("{compare} --cost-model {model}"))["settings"],
        timed["settings"]
    );
    let row = &timed["rows"][0];
    // Sorted, every epoch: 100 and 120 beside 200 and 250; 300 beside the first again.
    let expected = seconds(2, 250) + f64::max(seconds(1, 300), seconds(2, 120));
    assert!((row["predicted_seconds"].as_f64().unwrap() / expected - 1.0).abs() < 1e-12, "{row}");
    assert!(row["sd"]["predicted_seconds"].as_f64().unwrap() < 1e-12);
    assert!(timed["rows"][1]["sd"]["predicted_seconds"].as_f64().unwrap() > 0.0);
    // Most of a step is constant here, so ranks do not wait as long as cells say.
    let idle =
        |comparison: &serde_json::Value| comparison["rows"][1]["idle_share"].as_f64().unwrap();
    assert!((idle(&timed) - idle(&in_cells)).abs() > 1e-3);
}

#[test]
fn compare_shows_the_time_of_an_epoch() {
    let folder = folder();
    let output = folder.run(
        "compare lengths.txt --budget sequences:2 --strategy sorted --epochs 2 --cost-model paper-2",
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let without_times: Vec<&str> = text
        .lines()
        .map(|line| match line.rsplit_once("  ") {
            Some((rest, _)) if !line.contains("sequences") => rest.trim_end(),
            _ => line,
        })
        .collect();
    expect![[r#"
        lengths.txt: 5 sequences of length 100 to 300, mean 194.0
        budget sequences:2, shapes exact, arrange spread, seed 0, 2 epochs, cost model a=0,b=0.002442,c=8.46e-5,d=0

                              padding    sd   batch  sequential          mixing  error  step  lag-1  optimizer  epoch
        strategy     batches        %     %  length       steps  shapes       %      %   mix  corr.      steps      s
        sorted             3     6.73  0.00   208.0         620       3      20     10   2.5   0.00          3   1.60
        recommended        3    20.49  0.00   244.0         670       3      20     10  0.87   1.00          3   1.74

        recommended: proportional:batches=1, shapes ladder:16: an epoch takes 0.95 of the time of random batches: 20 % of all cells are padding instead of 21 %, and every optimizer step looks like the data (step mix 0.87)
        updates per epoch: 3, with random batches 3
        if the model takes packed rows (variable-length attention), packed:capacity=327 takes 1.19 of random's time

        lengthwise plan lengths.txt --strategy proportional:batches=1 --budget sequences:2 --shapes ladder:16 --arrange spread --update sequences:2 --cost-model a=0,b=0.002442,c=8.46e-5,d=0 --seed 0"#]].assert_eq(&without_times.join("\n"));
}

#[test]
fn bad_models_and_measurements_are_refused_with_a_hint() {
    let folder = folder()
        .with("few.csv", "batch_size,batch_length,seconds\n1,50,0.1\n2,50,0.1\n4,100,0.1\n")
        .with("one.csv", "batch_size,batch_length,seconds\n1,5,1\n2,5,1\n4,5,1\n8,5,2\n")
        .with("text.csv", "batch_size,batch_length,seconds\n1,50,fast\n")
        .with("columns.csv", "size,length,seconds\n1,50,1\n")
        .with("other.json", "{\"digest\": 1}")
        .with("new.json", r#"{"version": 2, "a": 0, "b": 0, "c": 1, "d": 0}"#)
        .with("zero.json", r#"{"version": 1, "a": 0, "b": 0, "c": 0, "d": 0}"#)
        .with("model.json", r#"{"version": 1, "a": 0.01, "b": 0, "c": 1e-5, "d": 0}"#);
    let said = refusals(
        &folder,
        &[
            "cost few.csv",
            "cost one.csv",
            "cost text.csv",
            "cost columns.csv",
            "cost missing.csv",
            "cost steps.csv -o model.yaml",
            "cost steps.csv -o no/such/model.json",
            "compare lengths.txt --cost-model missing.json",
            "compare lengths.txt --cost-model other.json",
            "compare lengths.txt --cost-model new.json",
            "compare lengths.txt --cost-model zero.json",
            "compare lengths.txt --cost-model a=-1",
            "compare lengths.txt --budget cost:paper2,limit=1",
            "compare lengths.txt --budget cost:model.json",
            "compare lengths.txt --budget cost:model.json,limit=0.012",
        ],
    );
    expect![[r#"
        $ lengthwise cost few.csv
        error: few.csv: 3 measured steps do not make a cost model

        hint: measure at least 4 steps, with 2 or more batch sizes and 2 or more batch lengths

        $ lengthwise cost one.csv
        error: one.csv: all measured steps have batch length 5

        hint: measure at least 4 steps, with 2 or more batch sizes and 2 or more batch lengths

        $ lengthwise cost text.csv
        error: text.csv:2: column `seconds` holds `fast`, which is not a number

        hint: times are seconds above 0

        $ lengthwise cost columns.csv
        error: columns.csv: there is no column `batch_size`; the columns are `size`, `length`, `seconds`

        hint: the first line names the columns, among them `batch_size`, `batch_length` and `seconds`

        $ lengthwise cost missing.csv
        error: missing.csv: no such file or directory

        hint: check the path

        $ lengthwise cost steps.csv -o model.yaml
        error: model.yaml: unknown format of a cost model

        hint: name the file .json

        $ lengthwise cost steps.csv -o no/such/model.json
        error: no/such/model.json: there is no such folder

        hint: nothing was written to it; check that the folder exists and can be written to

        $ lengthwise compare lengths.txt --cost-model missing.json
        error: missing.json: there is no such file or preset

        hint: name a file that `lengthwise cost STEPS.csv -o model.json` wrote, or a preset: `recurrent`, `encoder`, `paper-2`

        $ lengthwise compare lengths.txt --cost-model other.json
        error: other.json: is not a model file

        hint: name a file that `lengthwise cost STEPS.csv -o model.json` wrote, or a preset: `recurrent`, `encoder`, `paper-2`

        $ lengthwise compare lengths.txt --cost-model new.json
        error: new.json: has version 2, which this release cannot read

        hint: name a file that `lengthwise cost STEPS.csv -o model.json` wrote, or a preset: `recurrent`, `encoder`, `paper-2`

        $ lengthwise compare lengths.txt --cost-model zero.json
        error: zero.json: the cost model cannot be `a=0,b=0,c=0,d=0`

        hint: name a file that `lengthwise cost STEPS.csv -o model.json` wrote, or a preset: `recurrent`, `encoder`, `paper-2`

        $ lengthwise compare lengths.txt --cost-model a=-1
        error: `a` of the cost model cannot be `-1`

        hint: it must be a number from 0 to 1000000000

        $ lengthwise compare lengths.txt --budget cost:paper2,limit=1
        error: paper2: there is no such file or preset

        hint: name a file that `lengthwise cost STEPS.csv -o model.json` wrote, or a preset: `recurrent`, `encoder`, `paper-2`

        $ lengthwise compare lengths.txt --budget cost:model.json
        error: `limit` of budget `cost` cannot be ``

        hint: it must be a number of seconds above 0

        $ lengthwise compare lengths.txt --budget cost:model.json,limit=0.012
        error: sequence 2 of length 300 alone takes 0.013 seconds, over the budget of 0.012; so does 1 more sequence

        hint: raise the limit to at least 0.0131, or choose what happens to over-long sequences: `--over-long alone`, `drop` or `truncate`

    "#]].assert_eq(&said);
    assert!(refusal(&folder, "cost lengths.txt").contains("no column `batch_size`"));
}

/// A device that has no end is not read to it.
#[cfg(unix)]
#[test]
fn a_model_without_end_is_refused() {
    let folder = Folder::new();
    for arguments in ["--cost-model /dev/zero", "--budget cost:/dev/zero,limit=1"] {
        let said = refusal(&folder, &format!("compare {arguments}"));
        let text = "error: /dev/zero: has more than the 1048576 bytes of a model file";
        assert!(said.contains(text), "{said}");
    }
}

#[test]
fn explain_lists_the_presets_with_their_sources() {
    let folder = Folder::new();
    let page = String::from_utf8(folder.run("explain cost").stdout).unwrap();
    assert!(page.starts_with("Cost models\n"));
    let presets = &page[page.find("\nPresets\n").unwrap() + 1..];
    let presets = presets.split_once("\nExamples\n").unwrap().0;
    expect![[r#"
        Presets

          - recurrent: 'a=0.006851,b=0.000177,c=2.665e-7,d=4.354e-10' Source:
            benches/cost/runs/2026-11-15-h200/recurrent.csv, 3-layer BLSTM of 512, TF32, one H200; mean
            error 8 %.
          - encoder: 'a=0.006746,b=9.874e-7,c=1.125e-6,d=1.441e-10,h=0.02704' Source:
            benches/cost/runs/2026-11-15-h200/encoder.csv, 12-layer Transformer of 512, bf16, one H200,
            shapes already met; mean error 8 %.
          - paper-2: 'a=0,b=0.002442,c=8.46e-5,d=0' Source: paper 2, Table 2: 1.41 minutes for 10^6 cells
            and 0.0407 minutes for 10^3 steps, fitted to its minutes per epoch.
    "#]].assert_eq(presets);
    assert!(folder.json("explain cost --json")["usage"].as_str().unwrap().contains("paper-2"));
}
