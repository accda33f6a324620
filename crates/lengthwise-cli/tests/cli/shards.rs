//! Shards from the shell: statistics, what each shard needs, and plans. `UPDATE_EXPECT=1 cargo test`
//! rewrites the expected output.

use std::fs;

use expect_test::expect;

use crate::common::{Folder, refusals};

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
    assert_eq!(
        fs::read(folder.path("all.lws")).unwrap(),
        fs::read(folder.path("other.lws")).unwrap()
    );
    folder.expect(
        "statistics all.lws",
        &expect![[r#"
            exit 0
            --- stdout
            800 sequences from 10 to 299, mean 153.0, 122370 in all
            290 distinct lengths, each counted; digest 3ed49b0dfb027907
            how many batches the shards need was not counted yet
            --- stderr
        "#]],
    );
    folder.expect(
        "statistics all.lws needs-0.lws needs-2.lws",
        &expect![[r#"
        exit 0
        --- stdout
        800 sequences from 10 to 299, mean 153.0, 122370 in all
        290 distinct lengths, each counted; digest 3ed49b0dfb027907
        with strategy=shuffled budget=padded:4000 shapes=ladder:16 over-long=error
        2 of 4 shards were counted; shard 1 is the first that is missing
        they need 15 to 15; 0.0 % of all batches are extra, to match the largest shard
        --- stderr
    "#]],
    );
    folder.expect(
        "statistics ready.lws",
        &expect![[r#"
        exit 0
        --- stdout
        800 sequences from 10 to 299, mean 153.0, 122370 in all
        290 distinct lengths, each counted; digest 3ed49b0dfb027907
        with strategy=shuffled budget=padded:4000 shapes=ladder:16 over-long=error
        all 4 shards were counted: each takes 15 batches an epoch
        they need 15 to 15; 0.0 % of all batches are extra, to match the largest shard
        --- stderr
    "#]],
    );
    folder.expect("statistics ready.lws --json", &expect![[r#"
        exit 0
        --- stdout
        {"version":1,"sequences":800,"total":122370,"min":10,"max":299,"mean":152.9625,"classes":290,"exact":true,"digest":"3ed49b0dfb027907","needs":{"settings":"strategy=shuffled budget=padded:4000 shapes=ladder:16 over-long=error","shards":4,"counted":4,"batches":15,"least":15,"added_share":0.0}}
        --- stderr
    "#]]);
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
        &expect![[r#"
            exit 0
            --- stdout
            --- stderr
            200 sequences in 15 batches (shuffled, shapes ladder:16), 5.87 % padding, digest 7fc503f40e39abc0
            shard 2 of 4: every shard takes 15 batches, ranked by cells
        "#]],
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
        "statistics all.lws shard-0.txt needs-2.lws".to_owned(),
        "statistics shard-0.txt -o all.json".to_owned(),
    ];
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    expect![[r#"
        $ lengthwise plan shard-0.txt --statistics all.lws --shard 0 --of 4 --budget padded:4000
        error: the statistics do not have how many batches the shards need

        hint: plan every shard once with `--needs` in place of `-o`, and merge what that wrote into the statistics with `lengthwise statistics`

        $ lengthwise plan shard-0.txt --statistics ready.lws --shard 4 --of 4 --budget padded:4000
        error: there is no shard 4 among 4 shards

        hint: shards are numbered from 0; the last one is 3

        $ lengthwise plan shard-0.txt --statistics ready.lws --shard 0 --of 5 --budget padded:4000
        error: the needs of the shards were counted with shards `4`, now it is `5`

        hint: plan all shards with the settings and the statistics that their needs were counted with, or count the needs again

        $ lengthwise plan shard-0.txt --statistics ready.lws --shard 0 --of 4 --budget padded:5000
        error: the needs of the shards were counted with budget `padded:4000`, now it is `padded:5000`

        hint: plan all shards with the settings and the statistics that their needs were counted with, or count the needs again

        $ lengthwise plan shard-0.txt --statistics ready.lws --shard 0 --of 4 --budget padded:100
        error: the needs of the shards were counted with budget `padded:4000`, now it is `padded:100`

        hint: plan all shards with the settings and the statistics that their needs were counted with, or count the needs again

        $ lengthwise plan few.txt --statistics ready.lws --shard 0 --of 4 --budget padded:100
        error: the needs of the shards were counted with budget `padded:4000`, now it is `padded:100`

        hint: plan all shards with the settings and the statistics that their needs were counted with, or count the needs again

        $ lengthwise plan long.txt --statistics ready.lws --shard 0 --of 4 --budget padded:4000
        error: sequence 0 of length 900 is longer than the longest in the statistics, which has length 299

        hint: compute the statistics again, with the lengths of every shard

        $ lengthwise plan few.txt --statistics ready.lws --shard 0 --of 4 --budget padded:4000
        error: shard 0 has 2 sequences, but every shard takes 15 batches

        hint: make shards of about the same total length: join small ones, or split large ones

        $ lengthwise plan shard-0.txt --statistics needs-0.lws --shard 0 --of 4 --budget padded:4000
        error: the statistics cannot be used: they have the needs of shards, but no lengths

        hint: use statistics of the lengths of all shards, made by `lengthwise statistics`

        $ lengthwise plan shard-0.txt --statistics none.lws --shard 0 --of 4 --budget padded:4000
        error: none.lws: there is no such file

        hint: check the path

        $ lengthwise plan shard-0.txt --statistics all.lws --shard 0 --of 4 --budget padded:4000 --needs shard-0.txt
        error: shard-0.txt: the needs of the shard would overwrite the input shard-0.txt

        hint: write the needs of the shard to another file, as in `--needs shard-0-2.lws`

        $ lengthwise plan shard-0.txt --statistics all.lws --shard 0 --of 4 --budget padded:4000 --needs all.lws
        error: all.lws: the needs of the shard would overwrite the statistics all.lws

        hint: write the needs of the shard to another file, as in `--needs all-2.lws`

        $ lengthwise statistics cut.lws
        error: cut.lws: has been altered: its checksum is 0201030103010201, its content has 7f68b26e12651b00

        hint: compute the statistics again, or copy the file again

        $ lengthwise statistics other.lws
        error: other.lws: is cut off or not a file of statistics: it does not begin with their mark

        hint: compute the statistics again, or copy the file again

        $ lengthwise statistics ready.lws needs-2.lws
        error: needs-2.lws: the needs of shard 2 are there twice

        hint: merge the needs of each shard once

        $ lengthwise statistics all.lws shard-0.txt needs-2.lws
        error: what the shards need was counted with statistics of other lengths than these

        hint: count it anew, with `lengthwise plan --statistics … --needs` on every shard, or merge it with the statistics that it was counted with

        $ lengthwise statistics shard-0.txt -o all.json
        error: all.json: statistics have another name

        hint: name the file .lws, as in all.lws

    "#]].assert_eq(&refusals(&folder, &all));
}
