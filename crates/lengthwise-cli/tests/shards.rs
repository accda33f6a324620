//! Shards from the shell: statistics, what each shard needs, and plans. `UPDATE_EXPECT=1 cargo test`
//! rewrites the expected output.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::fs;

use common::{Folder, refusals};
use expect_test::expect;

/// Four shards of lengths that all differ a little.
fn shards() -> Folder {
    (0..4).fold(Folder::new(), |folder, shard| {
        let lengths = (0..200_u32).map(|at| (10 + (at * 37 + shard * 11) % 290).to_string() + "\n");
        folder.with(&format!("shard-{shard}.txt"), lengths.collect::<String>())
    })
}

const BUDGET: &str = "--budget padded:4000";

/// The files of both rounds.
fn gathered() -> Folder {
    let folder = shards();
    let run = |arguments: &str| {
        let output = folder.run(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    for shard in 0..4 {
        run(&format!("statistics shard-{shard}.txt -o lengths-{shard}.lws"));
    }
    run("statistics lengths-2.lws lengths-0.lws lengths-3.lws lengths-1.lws -o all.lws");
    for shard in 0..4 {
        run(&format!(
            "plan shard-{shard}.txt --statistics all.lws --shard {shard} --of 4 {BUDGET} --needs \
             needs-{shard}.lws"
        ));
    }
    run("statistics all.lws needs-3.lws needs-1.lws needs-2.lws needs-0.lws -o ready.lws");
    folder
}

#[test]
fn statistics_are_gathered_in_any_order() {
    let folder = gathered();
    folder.run("statistics shard-3.txt shard-2.txt shard-1.txt shard-0.txt -o other.lws");
    assert_eq!(fs::read(folder.path("all.lws")).unwrap(), fs::read(folder.path("other.lws")).unwrap());
    folder.expect("statistics all.lws", &expect![[""]]);
    folder.expect("statistics all.lws needs-0.lws needs-2.lws", &expect![[""]]);
    folder.expect("statistics ready.lws", &expect![[""]]);
    folder.expect("statistics ready.lws --json", &expect![[""]]);
}

#[test]
fn every_shard_has_as_many_batches_on_one_ladder() {
    let folder = gathered();
    let mut lengths: Vec<u64> = Vec::new();
    for shard in 0..4 {
        let plan = format!(
            "plan shard-{shard}.txt --statistics ready.lws --shard {shard} --of 4 {BUDGET} -o \
             plan-{shard}.json"
        );
        assert!(folder.run(&plan).status.success());
        let verified = folder.run(&format!("verify plan-{shard}.json shard-{shard}.txt"));
        assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
        let plan: serde_json::Value =
            serde_json::from_slice(&fs::read(folder.path(&format!("plan-{shard}.json"))).unwrap())
                .unwrap();
        assert_eq!(plan["made"]["batches"], plan["batches"].as_array().unwrap().len());
        assert_eq!(plan["made"]["shard"], serde_json::json!([shard, 4]));
        let own = plan["batch_lengths"].as_array().unwrap();
        lengths.extend(own.iter().map(|length| length.as_u64().unwrap()));
    }
    lengths.sort_unstable();
    lengths.dedup();
    assert!(lengths.len() <= 16, "{lengths:?}");
    folder.expect(
        &format!("plan shard-2.txt --statistics ready.lws --shard 2 --of 4 {BUDGET} -o plan.json"),
        &expect![[""]],
    );
}

/// The same shapes for what is no shard, such as data for validation.
#[test]
fn lengths_can_be_planned_with_the_statistics_of_others() {
    let folder = gathered();
    let plan = folder.json(&format!("plan shard-1.txt --statistics all.lws {BUDGET} --json"));
    assert!(plan["made"]["shard"].is_null());
    assert_eq!(plan["made"]["corpus"]["longest"], 299);
}

#[test]
fn mistakes_are_named() {
    let folder = gathered().with("long.txt", "900\n").with("few.txt", "20\n30\n");
    let cut = fs::read(folder.path("ready.lws")).unwrap();
    let folder = folder.with("cut.lws", &cut[..200]).with("other.lws", "12\n");
    let on = |input: &str, rest: &str| format!("plan {input} --statistics {rest}");
    let all = [
        on("shard-0.txt", &format!("all.lws --shard 0 --of 4 {BUDGET}")),
        on("shard-0.txt", &format!("ready.lws --shard 4 --of 4 {BUDGET}")),
        on("shard-0.txt", &format!("ready.lws --shard 0 --of 5 {BUDGET}")),
        on("shard-0.txt", "ready.lws --shard 0 --of 4 --budget padded:5000"),
        on("shard-0.txt", "ready.lws --shard 0 --of 4 --budget padded:100"),
        on("few.txt", "ready.lws --shard 0 --of 4 --budget padded:100"),
        on("long.txt", &format!("ready.lws --shard 0 --of 4 {BUDGET}")),
        on("few.txt", &format!("ready.lws --shard 0 --of 4 {BUDGET}")),
        on("shard-0.txt", &format!("needs-0.lws --shard 0 --of 4 {BUDGET}")),
        on("shard-0.txt", &format!("none.lws --shard 0 --of 4 {BUDGET}")),
        on("shard-0.txt", &format!("all.lws --shard 0 --of 4 {BUDGET} --needs shard-0.txt")),
        on("shard-0.txt", &format!("all.lws --shard 0 --of 4 {BUDGET} --needs all.lws")),
        "statistics cut.lws".to_owned(),
        "statistics other.lws".to_owned(),
        "statistics ready.lws needs-2.lws".to_owned(),
        "statistics shard-0.txt -o all.json".to_owned(),
    ];
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    expect![[""]].assert_eq(&refusals(&folder, &all));
}
