//! `lengthwise balance`

use crate::common::Folder;

#[test]
fn a_step_is_divided() {
    let folder = Folder::new();
    let found = folder.json("balance --example documents --world-size 8 --capacity 32768 --json");
    assert_eq!(found["version"].as_u64(), Some(1));
    let ranks = found["ranks"].as_array().unwrap();
    let each = found["micro_batches"].as_u64().unwrap() as usize;
    assert!(ranks.len() == 8 && ranks.iter().all(|rank| rank.as_array().unwrap().len() == each));
    let batches = ranks.iter().flat_map(|rank| rank.as_array().unwrap());
    let mut all: Vec<u64> = batches
        .flat_map(|batch| batch.as_array().unwrap())
        .map(|sequence| sequence.as_u64().unwrap())
        .collect();
    let numbers = |name: &str| -> Vec<u64> { serde_json::from_value(found[name].clone()).unwrap() };
    let (order, restore) = (numbers("order"), numbers("restore"));
    assert_eq!(order, all);
    assert!((0..6000).all(|sequence| order[restore[sequence as usize] as usize] == sequence));
    all.sort_unstable();
    assert!(all.into_iter().eq(0..6000));
    assert_eq!(found["loads"].as_array().unwrap().len(), 8);
    assert!(found["idle_share"].as_f64().unwrap() < 0.001);
    let text = String::from_utf8(
        folder.run("balance --example documents --world-size 8 --capacity 32768").stdout,
    );
    let text = text.unwrap();
    assert!(text.contains("8 ranks, ") && text.contains("of at most 32768 positions"), "{text}");
}

#[test]
fn columns_say_what_stays_together() {
    let row = |at: usize| format!("{},p{},{}", 10 + at * 7 % 50, at / 2, ["a", "b"][at / 30]);
    let rows = (0..60).map(row).collect::<Vec<_>>().join("\n");
    let folder = Folder::new().with("pairs.csv", format!("length,pair,set\n{rows}"));
    let found = folder.json(
        "balance pairs.csv --column length --world-size 3 --capacity 200 --together pair --kind set -o step.json --json",
    );
    for batch in found["ranks"].as_array().unwrap().iter().flat_map(|rank| rank.as_array().unwrap())
    {
        let batch: Vec<u64> =
            batch.as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).collect();
        assert!(batch.iter().all(|sequence| batch.contains(&(sequence ^ 1))), "{batch:?}");
        assert!(batch.iter().all(|sequence| (sequence < &30) == (batch[0] < 30)), "{batch:?}");
    }
    let written = std::fs::read_to_string(folder.path("step.json")).unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&written).unwrap(), found);
    for (wrong, says) in [
        ("--capacity 20", "over the capacity of 20"),
        ("--capacity 60 --together pair", "the capacity"),
        ("--together nothing", "nothing"),
        ("--share rank", "--together"),
        ("--capacity 60 --max-micro-batches 1", "largest number of micro-batches"),
        ("--speeds 1,2", "number of speeds"),
        ("--min-micro-batches 4000000000", "at most 349525"),
        ("--cost-model attention", "attention:hidden"),
        ("-o step.txt", "step.txt"),
        ("--split 1,2", "a multiple of 2"),
        ("--split 3,1", "each a multiple of the one before"),
        ("--split 1,3 --speeds 1,1,1", "--speeds"),
        ("--split 1,3 --together pair", "--together"),
        ("--communication 1", "--split"),
        ("--split 1,3 --communication -1", "a number from 0"),
        ("--split 1,3 --capacity 19", "at least 20"),
    ] {
        let output =
            folder.run(&format!("balance pairs.csv --column length --world-size 3 {wrong}"));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && said.contains(says), "{wrong}: {said}");
    }
    let output = folder.run("balance pairs.csv --column length --world-size 4294967295");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && said.contains("at most 1048576"), "{said}");
}

#[test]
fn long_sequences_are_split() {
    let lengths = "9000 400 500 300 700 600 20000 800 900 200 450 350".replace(' ', "\n");
    let folder = Folder::new().with("lengths.txt", lengths);
    let command = "balance lengths.txt --world-size 4 --capacity 8192 --split 1,2,4";
    let text = String::from_utf8(folder.run(command).stdout).unwrap();
    assert!(text.contains("split: 2 sequences over 4 ranks, 1 sequence over 2 ranks"), "{text}");
    let found = folder.json(&format!("{command} --json"));
    let table = |name: &str| -> Vec<Vec<serde_json::Value>> {
        serde_json::from_value(found[name].clone()).unwrap()
    };
    let (sequences, degrees, starts) = (table("ranks"), table("degrees"), table("starts"));
    for rank in 0..4 {
        // No two ranks can hold sequence 6, and no single rank sequence 0.
        assert_eq!(sequences[rank][0], serde_json::json!([0, 6]));
        assert_eq!(degrees[rank], if rank < 2 { [4, 2, 1] } else { [4, 1, 1] });
        assert_eq!(starts[rank][..2], [0.0, 7250.0]);
    }
    assert_eq!(sequences[0][1], sequences[1][1]);
    assert_eq!((&found["time"], &found["lower_bound"]), (&8550.0.into(), &8550.0.into()));
    let costly = folder.json(&format!("{command} --communication 0.5 --json"));
    assert!(costly["time"].as_f64() > found["time"].as_f64());
    // Without a split, the output has none.
    let whole = folder.json("balance lengths.txt --world-size 4 --json");
    assert!(whole.get("degrees").is_none() && whole.get("starts").is_none());
}
