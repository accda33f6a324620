//! Sequences of two lengths, by the command.

use expect_test::expect;

use crate::common::{Folder, refusal};

const TABLE: &str = "id,frames,tokens,text\na,50,4,x y\nb,90,9,x y z\nc,48,5,x\nd,88,8,x y z w\n";

#[test]
fn pairs_are_planned_and_verified() {
    let folder = Folder::new().with("data.csv", TABLE);
    let input = "data.csv --column frames --second tokens";
    let plan = format!("plan {input} --strategy paired --budget padded:200 --arrange as-built");
    folder.expect(&format!("{plan} --json"), &expect![[r#"
        exit 0
        --- stdout
        {"version":3,"digest":"82a73e5f318928a0","batches":[[2,0],[3,1]],"batch_lengths":[50,90],"second_batch_lengths":[5,9],"positions":[98,178],"second_positions":[9,17],"made":{"strategy":"paired:blur=0.1","budget":"padded:200","shapes":"exact","arrange":"as-built","over_long":"error","steps":"in-order","tail":"split","accumulate":1,"seed":0,"epoch":0,"lengths":"557b96ddd322bad7"},"checksum":"995d436700b3d5bb"}
        --- stderr
        4 sequences in 2 batches (paired:blur=0.1, shapes exact), 1.95 % padding (1.43 % of the first, 7.14 % of the second), digest 82a73e5f318928a0
        one batch is one step: step mix 2.99 (1 is as random steps, 0 all steps alike)
    "#]]);
    for form in ["json", "jsonl", "npz", "parquet"] {
        for more in ["", "--ids", "--world-size 2", "--world-size 2 --rank 1"] {
            let file = format!("plan.{form}");
            assert!(folder.run(&format!("{plan} {more} -o {file}")).status.success());
            let verified = folder.run(&format!("verify {file} {input}"));
            assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
        }
        let alone = folder.run(&format!("verify plan.{form} data.csv --column frames"));
        assert_eq!(alone.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&alone.stderr).contains("with `--second NAME`"));
    }
}

#[test]
fn seconds_are_in_the_first_column_and_texts_in_the_second() {
    let folder = Folder::new().with("data.csv", TABLE);
    let counted = folder.json(
        "plan data.csv --column frames --rate 2 --second text --unit words --strategy paired --budget sequences:9 --json",
    );
    assert_eq!(counted["batch_lengths"][0], 180);
    assert_eq!(counted["second_batch_lengths"][0], 4);
    assert_eq!(counted["second_positions"][0], 10);
}

/// The unit is for whichever columns hold texts, in every format.
#[test]
fn units_are_for_texts() {
    let rows = r#"{"frames":50,"text":"x y","words":"a b c d e"}
{"frames":90,"text":"7 8 9","words":"a"}
"#;
    let table = "frames,text,words\n50,x y,a b c d e\n90,7 8 9,a\n";
    let folder = Folder::new().with("data.jsonl", rows).with("data.csv", table);
    for file in ["data.jsonl", "data.csv"] {
        for (columns, first, second) in [
            ("--column frames --second text", 90, 3),
            ("--column text --second frames", 3, 90),
            ("--column text --second words", 3, 5),
            ("--second words", 3, 5),
        ] {
            let asked = format!("plan {file} {columns} --unit words --budget sequences:9 --json");
            let plan = folder.json(&asked);
            assert_eq!(plan["batch_lengths"][0], first, "{asked}");
            assert_eq!(plan["second_batch_lengths"][0], second, "{asked}");
        }
    }
}

/// A pipe has nothing left for the second column.
#[cfg(unix)]
#[test]
fn pipes_are_not_read_twice() {
    let folder = Folder::new().with("data.csv", TABLE);
    let made = std::process::Command::new("mkfifo").arg(folder.path("pipe.csv")).status().unwrap();
    assert!(made.success());
    let said = refusal(&folder, "plan pipe.csv --column frames --second tokens --budget 4");
    assert!(said.contains("pipe.csv: is no file, and cannot be read twice"), "{said}");
}

/// The column that nobody named is named.
#[test]
fn a_choice_is_said() {
    let folder = Folder::new().with("data.csv", TABLE);
    let said = |more: &str| {
        let output = folder.run(&format!("plan data.csv {more} --budget 2"));
        assert!(output.status.success(), "{more}");
        String::from_utf8(output.stderr).unwrap()
    };
    let chosen = "lengths are those of `frames`; `--column` chooses others\n";
    for more in ["", "--memory 1GB", "--second tokens"] {
        assert!(said(more).contains(chosen), "{more}");
    }
    assert!(!said("--column frames").contains("lengths are"));
}

/// Built-in lengths have no columns and no units.
#[test]
fn examples_have_no_columns() {
    let folder = Folder::new();
    for option in [
        "--column a",
        "--second a",
        "--unit words",
        "--rate 3",
        "--format csv",
        "--ids",
        "--frame-shift 1",
    ] {
        for input in ["--example speech", ""] {
            let output = folder.run(&format!("ladder {input} {option}"));
            assert_eq!(output.status.code(), Some(2), "{input} {option}");
            assert_eq!(output.stdout, b"", "{input} {option}");
        }
    }
}

#[test]
fn both_paddings_are_compared() {
    let folder = Folder::new().with("data.csv", TABLE);
    let input = "compare data.csv --column frames --second tokens --budget padded:200 --epochs 2";
    let answer = folder.json(&format!("{input} --json"));
    let rows = answer["rows"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["strategy"] == "paired:blur=0.1"));
    assert!(rows.iter().all(|row| row["second_padding_rate"].as_f64().unwrap() < 0.5));
    let table = String::from_utf8(folder.run(input).stdout).unwrap();
    assert!(table.contains("first") && table.contains("second"), "{table}");
}

#[test]
fn what_cannot_be_is_refused() {
    let folder = Folder::new()
        .with("data.csv", TABLE)
        .with("lengths.txt", "3\n4\n")
        .with("wrong.csv", "frames,zero,text\n5,0,x\nNA,1,y\n");
    let plan = "plan data.csv --column frames --second tokens --budget padded:200 -o plan.npz";
    assert!(folder.run(plan).status.success());
    for (arguments, expected) in [
        ("plan data.csv --column frames --strategy paired --budget 4", "needs a second length"),
        ("plan data.csv --column frames --budget padded:max=99", "needs a second length"),
        ("plan data.csv --column frames --second tokens --budget padded:60", "lengths 90 and 9"),
        ("plan data.csv --column frames --second nothing --budget 4", "no column `nothing`"),
        (
            "plan data.csv --column frames --second nothing --budget 4",
            "hint: choose one with `--second NAME`",
        ),
        ("plan lengths.txt --second tokens --budget 4", "hint: leave out `--second`"),
        ("plan - --second tokens --budget 4", "cannot be read twice"),
        (
            "plan data.csv --column frames --second tokens --unit words --budget 4",
            "both are numbers, with no words to count",
        ),
        (
            "plan data.csv --column frames --rate 2 --second tokens --unit words --budget 4",
            "both are numbers",
        ),
        // A mistake among numbers makes no texts of them.
        ("plan wrong.csv --column frames --second text --unit words --budget 4", "holds `NA`"),
        (
            "plan wrong.csv --column zero --second text --unit words --budget 4",
            "`0`, which is less than 1",
        ),
        ("inspect data.csv --column frames --second tokens", "for sequences of one length"),
        ("plan data.csv --column frames --second tokens --budget 4 --chunk 9 --json", "pieces"),
        (
            "plan data.csv --column frames --second tokens --budget padded:200 --memory 1GB",
            "which `--memory` does not bound",
        ),
        (
            "plan data.csv --column frames --second tokens --budget padded:200 --statistics a.lws",
            "sequences of two have no shards",
        ),
        (
            "verify plan.npz data.csv --column frames --second tokens --memory 1GB",
            "batch by batch\n\nhint: leave out `--memory`",
        ),
        ("verify plan.npz data.csv --column frames --memory 1GB", "leave out `--memory`"),
    ] {
        let said = refusal(&folder, arguments);
        assert!(said.contains(expected), "{arguments}: {said}");
    }
}

#[test]
fn what_is_recommended_for_pairs_can_be_pasted() {
    let rows = (0..400).map(|at| format!("{},{}", 20 + at * 7919 % 300, 2 + at * 104_729 % 40));
    let rows: Vec<String> = std::iter::once("frames,tokens".to_owned()).chain(rows).collect();
    let folder = Folder::new().with("data.csv", rows.join("\n"));
    let input = "data.csv --column frames --second tokens --budget padded:4000";
    let tuned = folder.json(&format!("tune {input} --json"));
    let python = tuned["recommended"]["python"].as_str().unwrap();
    assert!(python.starts_with("lw.plan(lw.Lengths(first, second), \"proportional"), "{python}");
    let command = tuned["recommended"]["command"].as_str().unwrap();
    let pasted = command.strip_prefix("lengthwise ").unwrap();
    let [planned, pasted] = [format!("plan {input}"), pasted.to_owned()]
        .map(|plan| folder.json(&format!("{plan} --json")));
    assert_eq!(planned["batches"], pasted["batches"]);
}
