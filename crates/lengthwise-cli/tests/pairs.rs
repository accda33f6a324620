//! Sequences of two lengths, by the command.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{Folder, refusal};
use expect_test::expect;

const TABLE: &str = "id,frames,tokens,text\na,50,4,x y\nb,90,9,x y z\nc,48,5,x\nd,88,8,x y z w\n";

#[test]
fn pairs_are_planned_and_verified() {
    let folder = Folder::new().with("data.csv", TABLE);
    let input = "data.csv --column frames --second tokens";
    let plan = format!("plan {input} --budget padded:200 --arrange as-built");
    folder.expect(&format!("{plan} --json"), &expect![[r#"
        exit 0
        --- stdout
        {"version":3,"digest":"82a73e5f318928a0","batches":[[2,0],[3,1]],"batch_lengths":[50,90],"second_batch_lengths":[5,9],"positions":[98,178],"second_positions":[9,17],"made":{"strategy":"paired:spread=0.1","budget":"padded:200","shapes":"exact","arrange":"as-built","over_long":"error","steps":"in-order","tail":"split","accumulate":1,"seed":0,"epoch":0,"lengths":"557b96ddd322bad7"},"checksum":"0c0ff8ac37ba77e7"}
        --- stderr
        4 sequences in 2 batches (paired:spread=0.1, shapes exact), 1.95 % padding (1.43 % of the first, 7.14 % of the second), digest 82a73e5f318928a0
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
        assert!(String::from_utf8_lossy(&alone.stderr).contains("say `--second`"));
    }
}

#[test]
fn seconds_are_in_the_first_column_and_texts_in_the_second() {
    let folder = Folder::new().with("data.csv", TABLE);
    let counted = folder.json(
        "plan data.csv --column frames --rate 2 --second text --unit words --budget sequences:9 --json",
    );
    assert_eq!(counted["batch_lengths"][0], 180);
    assert_eq!(counted["second_batch_lengths"][0], 4);
    assert_eq!(counted["second_positions"][0], 10);
}

#[test]
fn both_paddings_are_compared() {
    let folder = Folder::new().with("data.csv", TABLE);
    let input = "compare data.csv --column frames --second tokens --budget padded:200 --epochs 2";
    let answer = folder.json(&format!("{input} --json"));
    let rows = answer["rows"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["strategy"] == "paired:spread=0.1"));
    assert!(rows.iter().all(|row| row["second_padding_rate"].as_f64().unwrap() < 0.5));
    let table = String::from_utf8(folder.run(input).stdout).unwrap();
    assert!(table.contains("first") && table.contains("second"), "{table}");
}

#[test]
fn what_cannot_be_is_refused() {
    let folder = Folder::new().with("data.csv", TABLE);
    let plan = "plan data.csv --column frames --second tokens --budget padded:200 -o plan.npz";
    assert!(folder.run(plan).status.success());
    for (arguments, expected) in [
        ("plan data.csv --column frames --strategy paired --budget 4", "needs a second length"),
        ("plan data.csv --column frames --budget padded:max=99", "needs a second length"),
        ("plan data.csv --column frames --second tokens --budget padded:60", "lengths 90 and 9"),
        ("plan data.csv --column frames --second nothing --budget 4", "no column `nothing`"),
        ("plan - --second tokens --budget 4", "cannot be read twice"),
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
        ("verify plan.npz data.csv --column frames --second tokens --memory 1GB", "batch by batch"),
    ] {
        let said = refusal(&folder, arguments);
        assert!(said.contains(expected), "{arguments}: {said}");
    }
}
