//! Rows that several sequences share, by the command.

use std::fs;

use expect_test::expect;

use crate::common::Folder;

const TEN: &str = "5\n9\n4\n7\n7\n1\n3\n8\n2\n6\n";

#[test]
fn rows_are_planned_and_verified() {
    let folder = Folder::new().with("ten.txt", TEN);
    let plan = "plan ten.txt --strategy packed:capacity=16 --arrange as-built";
    folder.expect(&format!("{plan} --json"), &expect![[r#"
        exit 0
        --- stdout
        {"version":1,"digest":"808cf590946de595","batches":[[3,8,0],[7,4,5],[2,9,6],[1]],"batch_lengths":[14,16,13,9],"positions":[14,16,13,9],"made":{"strategy":"packed:capacity=16","budget":"padded:16","shapes":"exact","arrange":"as-built","over_long":"error","packed":true,"steps":"in-order","tail":"split","accumulate":1,"seed":0,"epoch":0,"lengths":"0b42b6c9404e6913"},"checksum":"a9f5a48fe4dbf1d0"}
        --- stderr
        10 sequences in 4 batches (packed:capacity=16, shapes exact), 0.00 % padding, digest 808cf590946de595
        one batch is one step: step mix 0.18 (1 is as random steps, 0 all steps alike)
    "#]]);
    for form in ["json", "jsonl", "npz", "parquet"] {
        assert!(folder.run(&format!("{plan} -o rows.{form}")).status.success());
        let verified = folder.run(&format!("verify rows.{form} ten.txt"));
        assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    }
    let refused = folder.run("plan ten.txt --strategy packed:capacity=8");
    expect![[r#"
        error: sequence 1 of length 9 alone takes 9 positions, over the capacity of 8

        hint: raise the capacity to at least 9, or choose what happens to over-long sequences: `--over-long alone`, `drop` or `truncate`
    "#]].assert_eq(&String::from_utf8(refused.stderr).unwrap());
    let no_budget = folder.run("plan ten.txt --strategy packed");
    expect![[r#"
        error: there is no budget, and batches have no other size

        hint: give one, as in `--budget padded:20000`
    "#]]
    .assert_eq(&String::from_utf8(no_budget.stderr).unwrap());
}

/// What a damaged file says of its rows is not believed.
#[test]
fn rows_that_cannot_be_are_found() {
    let folder = Folder::new().with("ten.txt", TEN);
    assert!(folder.run("plan ten.txt --strategy packed:capacity=16 -o rows.json").status.success());
    let text = fs::read_to_string(folder.path("rows.json")).unwrap();
    let damaged = text.replace("\"packed\":true,", "");
    assert_ne!(damaged, text);
    fs::write(folder.path("rows.json"), damaged).unwrap();
    let answer = folder.run("verify rows.json ten.txt");
    assert_eq!(answer.status.code(), Some(1));
}

#[test]
fn rows_are_compared_only_where_they_are_asked_for() {
    let folder = Folder::new();
    let names = |arguments: &str| -> Vec<String> {
        let rows = folder.json(arguments)["rows"].as_array().unwrap().clone();
        rows.iter().map(|row| row["strategy"].as_str().unwrap().to_owned()).collect()
    };
    let all = names("compare --example speech --epochs 1 --json");
    assert!(all.len() > 10 && !all.contains(&"packed".to_owned()));
    let asked = folder.json(
        "compare --example speech --epochs 2 --budget padded:4096 --strategy packed --world-size 4 \
         --cost-model encoder --json",
    );
    let row = &asked["rows"][0];
    assert!(row["padding_rate"].as_f64().unwrap() < 0.01);
    assert!(row["effective_mates"].as_f64().unwrap() > 9000.0);
    assert!(row["idle_share"].as_f64().unwrap() < 0.02);
}
