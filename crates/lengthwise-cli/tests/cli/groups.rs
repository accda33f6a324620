//! Sequences that stay together, and kinds that do not mix, by the command.

use std::{collections::BTreeMap, fmt::Write as _, fs};

use expect_test::expect;
use serde_json::Value;

use crate::common::{Folder, refusals};
use crate::verify::{digest, sealed};

const COUNT: u64 = 240;
const INPUT: &str = "data.csv --column tokens --together pair --kind lang";

/// The language of a sequence: two of three pairs are English.
fn lang(sequence: u64) -> &'static str {
    ["en", "de", "en"][(sequence / 2 % 3) as usize]
}

/// Pairs of two languages, with a second length and names.
fn folder() -> Folder {
    let row = |at: u64| {
        let (tokens, target) = (7 + at * 37 % 90, 1 + at * 7 % 31);
        format!("s{at},{tokens},{target},p{},{}\n", at / 2, lang(at))
    };
    let rows: String = (0..COUNT).map(row).collect();
    Folder::new().with("data.csv", format!("id,tokens,target,pair,lang\n{rows}"))
}

fn batches(plan: &Value) -> Vec<Vec<u64>> {
    serde_json::from_value(plan["batches"].clone()).unwrap()
}

/// Neither splits a pair nor mixes languages.
fn check(sequences: &[u64]) {
    let often = |wanted: u64| sequences.iter().filter(|&&one| one == wanted).count();
    for &one in sequences {
        assert_eq!(often(one), often(one ^ 1), "{sequences:?}");
        assert_eq!(lang(one), lang(sequences[0]), "{sequences:?}");
    }
}

fn verified(folder: &Folder, file: &str, more: &str) -> String {
    let output = folder.run(&format!("verify {file} {INPUT} {more}"));
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(output.status.success(), "{file}: {said}");
    said
}

#[test]
fn pairs_stay_together_and_languages_do_not_mix() {
    let folder = folder();
    let forms = if cfg!(feature = "parquet") { &["npz", "parquet"][..] } else { &["npz"] };
    for (settings, verifying) in [
        ("", ""),
        ("--strategy blurred", ""),
        ("--strategy packed --world-size 2", ""),
        ("--strategy shuffled --ids --world-size 3 --tail repeat", ""),
        ("--strategy pooled --world-size 3 --tail drop --one-kind step", ""),
        ("--strategy sorted --over-long drop --budget padded:180", ""),
        ("--strategy sorted --over-long alone --budget padded:180", ""),
        ("--strategy sorted --over-long truncate --budget padded:180", ""),
        ("--strategy paired --second target", "--second target"),
        ("--strategy proportional --update sequences:48 --world-size 2", ""),
    ] {
        let budget = if settings.contains("--budget") { "" } else { "--budget padded:1000" };
        let command = format!("plan {INPUT} {settings} {budget}");
        let plan = folder.json(&format!("{command} --json"));
        assert_eq!(plan["made"]["grouped"], true);
        for batch in batches(&plan) {
            check(&batch);
        }
        for form in ["json", "jsonl"].iter().chain(forms) {
            let file = format!("plan.{form}");
            assert!(folder.run(&format!("{command} -o {file}")).status.success());
            let said = verified(&folder, &file, verifying);
            assert!(said.contains("groups and kinds are right"), "{said}");
        }
    }
    // Steps of one kind have one on all ranks.
    let steps = folder.json(&format!(
        "plan {INPUT} --strategy shuffled --budget padded:600 --world-size 3 --one-kind step --json"
    ));
    for step in batches(&steps).chunks(3) {
        check(&step.concat());
    }
}

#[test]
fn pieces_have_the_kinds_of_their_sequences() {
    let folder = folder();
    let input = "data.csv --column tokens --kind lang";
    let plan = format!("plan {input} --chunk 20 --strategy blurred --budget padded:400");
    let made = folder.json(&format!("{plan} --json"));
    let pieces: Vec<u64> = serde_json::from_value(made["chunks"]["sequences"].clone())
        .unwrap_or_else(|_| panic!("{}", made["chunks"]));
    for batch in batches(&made) {
        let kinds = batch.iter().map(|&piece| lang(pieces[piece as usize]));
        assert!(
            kinds.clone().eq(std::iter::repeat_n(lang(pieces[batch[0] as usize]), batch.len()))
        );
    }
    assert!(folder.run(&format!("{plan} -o plan.json")).status.success());
    assert!(folder.run(&format!("verify plan.json {input}")).status.success());
}

/// A rank has both sequences of a pair in one step, in batches by length.
#[test]
fn pairs_can_share_a_rank() {
    let folder = folder();
    let plan = format!("plan {INPUT} --share rank --budget padded:300 --update sequences:40");
    let all = folder.json(&format!("{plan} --world-size 4 --json"));
    assert_eq!(all["made"]["share"], "rank");
    let each = all["ranks"]["accumulate"].as_u64().unwrap() as usize;
    let mut apart = 0;
    for step in batches(&all).chunks(4 * each) {
        for rank in 0..4 {
            let own: Vec<u64> = step.iter().skip(rank).step_by(4).flatten().copied().collect();
            assert!(own.iter().all(|one| own.contains(&(one ^ 1))), "{own:?}");
        }
        apart += step.iter().filter(|batch| !batch.contains(&(batch[0] ^ 1))).count();
    }
    assert!(apart > 0);
    for (file, more) in [("all.npz", ""), ("one.json", "--rank 1"), ("half.json", "--world-size 2")]
    {
        let ranks = if more.contains("world") { "--canonical-ranks 4" } else { "--world-size 4" };
        let output = folder.run(&format!("{plan} {ranks} {more} -o {file}"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        verified(&folder, file, "");
    }
}

#[test]
fn a_mix_has_exact_counts() {
    let folder = folder();
    for (epoch, more) in [(0, ""), (1, "--world-size 2"), (2, "--over-long drop"), (5, "")] {
        let plan = format!(
            "plan {INPUT} --mix de=0.6,en=0.4 --strategy blurred --budget padded:1000 --epoch {epoch} {more}"
        );
        let made = folder.json(&format!("{plan} --json"));
        assert_eq!(made["made"]["mix"], "0.4/0.6");
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for batch in batches(&made) {
            check(&batch);
            *counts.entry(lang(batch[0])).or_default() += batch.len();
        }
        assert_eq!((counts["de"], counts["en"]), (144, 96), "{epoch}");
        assert!(folder.run(&format!("{plan} -o mix.json")).status.success());
        let said = verified(&folder, "mix.json", "");
        assert!(said.contains("groups, kinds and mix are right"), "{said}");
    }
    let one = folder.json(&format!(
        "plan {INPUT} --mix de=1,en=0 --strategy sorted --budget padded:1000 --json"
    ));
    assert!(batches(&one).iter().flatten().all(|&sequence| lang(sequence) == "de"));
}

/// What was not seen yet is planned for other ranks, and pairs stay whole.
#[test]
fn plans_of_groups_are_resumed() {
    let folder = folder();
    for settings in [
        "--strategy blurred",
        "--strategy packed",
        "--strategy blurred --mix en=1,de=2",
        "--strategy proportional --update sequences:24",
        "--strategy proportional --update sequences:24 --share rank",
    ] {
        let plan = format!("plan {INPUT} --budget padded:500 {settings}");
        let begun = folder.json(&format!("{plan} --world-size 4 --take 2 --cursor c.json --json"));
        let rest = format!("{plan} --world-size 2 --resume c.json");
        let left = folder.json(&format!("{rest} --json"));
        let seen: usize = [&begun, &left].map(|plan| batches(plan).concat().len()).iter().sum();
        assert_eq!(seen, COUNT as usize, "{settings}");
        assert!(folder.run(&format!("{rest} -o rest.jsonl")).status.success());
        verified(&folder, "rest.jsonl", "");
    }
    // A cursor of another mix is of another run.
    let plan = format!("plan {INPUT} --budget padded:500 --strategy blurred");
    assert!(
        folder.run(&format!("{plan} --mix en=1,de=2 --take 2 --cursor c.json")).status.success()
    );
    let other = folder.run(&format!("{plan} --mix en=1,de=1 --resume c.json"));
    assert!(String::from_utf8(other.stderr).unwrap().contains("mix"));
}

/// A file with a right checksum is still held to its groups, kinds and mix.
#[test]
fn what_is_split_or_mixed_is_found() {
    let rows = "5,a,x\n5,a,x\n5,b,x\n5,b,x\n5,c,y\n5,c,y\n5,d,y\n5,d,y\n";
    let folder = Folder::new().with("data.csv", format!("tokens,pair,kind\n{rows}"));
    let mut said = String::new();
    for (columns, more, batches) in [
        ("--together pair", "", [[0, 1], [2, 3], [4, 5], [6, 7]]),
        ("--together pair", "", [[0, 2], [1, 3], [4, 5], [6, 7]]),
        ("--kind kind", "", [[0, 1], [2, 4], [3, 5], [6, 7]]),
        ("--kind kind", "--one-kind step --world-size 2", [[0, 1], [2, 3], [4, 5], [6, 7]]),
        ("--kind kind", "--one-kind step --world-size 2", [[0, 1], [4, 5], [2, 3], [6, 7]]),
        ("--kind kind", "--mix x=1,y=1", [[0, 1], [2, 3], [4, 5], [6, 7]]),
        ("--kind kind", "--mix x=1,y=1", [[0, 1], [2, 0], [4, 5], [6, 7]]),
        ("--kind kind", "--mix x=1,y=0", [[0, 1], [2, 3], [0, 1], [2, 4]]),
        ("--kind kind", "--mix x=3,y=1", [[0, 1], [2, 3], [4, 5], [6, 7]]),
    ] {
        let input = format!("data.csv --column tokens {columns}");
        let plan = format!("plan {input} {more} --strategy sorted --budget 2 --json");
        let output = folder.run(&plan);
        let made: Value = serde_json::from_slice(&output.stdout).unwrap();
        let good = String::from_utf8(output.stdout).unwrap();
        let lists = batches.map(|batch| batch.to_vec());
        let lists: Vec<&[u32]> = lists.iter().map(|batch| &batch[..]).collect();
        let old = format!("\"batches\":{}", made["batches"]);
        let new = format!("\"batches\":{lists:?}").replace(' ', "");
        let old_digest = made["digest"].as_str().unwrap();
        assert!(good.contains(&old), "{good}");
        let text = good.replace(&old, &new).replace(old_digest, &digest(&lists, &[5; 4]));
        fs::write(folder.path("plan.json"), sealed(&text)).unwrap();
        let output = folder.run(&format!("verify plan.json {input}"));
        let answer = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        writeln!(said, "{columns} {more}: {}", answer.lines().next().unwrap()).unwrap();
    }
    expect![[r#"
        --together pair : plan.json: 8 sequences in 4 batches; checksum, digest, lengths, sequences, budget, counts and groups are right, and no sequence is longer than its batch
        --together pair : error: plan.json: has batches with a part of a group that stays together: 0, 1
        --kind kind : error: plan.json: has batches with sequences of several kinds: 1, 2
        --kind kind --one-kind step --world-size 2: plan.json: 8 sequences in 4 batches; checksum, digest, lengths, sequences, budget, counts and kinds are right, and no sequence is longer than its batch
        --kind kind --one-kind step --world-size 2: error: plan.json: has steps with sequences of several kinds: 0, 1
        --kind kind --mix x=1,y=1: plan.json: 8 sequences in 4 batches; checksum, digest, lengths, sequences, budget, counts, kinds and mix are right, and no sequence is longer than its batch
        --kind kind --mix x=1,y=1: error: plan.json: has sequences that are there too often: 0
        --kind kind --mix x=1,y=0: error: plan.json: has sequences that are there too often: 4
        --kind kind --mix x=3,y=1: error: plan.json: has 4 sequences of the kind `x`, and by the mix it should have 6
    "#]].assert_eq(&said);
}

#[test]
fn comparisons_and_recommendations_know_groups() {
    let folder = folder();
    let compared = folder.json(&format!("compare {INPUT} --budget padded:1000 --epochs 2 --json"));
    let rows = compared["rows"].as_array().unwrap();
    assert!(rows.len() > 10);
    let command = compared["recommended"]["command"].as_str().unwrap();
    assert!(command.starts_with(&format!("lengthwise plan {INPUT} --strategy ")), "{command}");
    let mixed = format!("{INPUT} --one-kind step --mix en=0.7,de=0.3");
    let tuned = folder.json(&format!("tune {mixed} --budget padded:1000 --json"));
    let command = tuned["recommended"]["command"].as_str().unwrap();
    assert!(command.starts_with(&format!("lengthwise plan {mixed} ")), "{command}");
    let pasted = folder.run(&command.replacen("lengthwise ", "", 1));
    assert!(pasted.status.success(), "{}", String::from_utf8_lossy(&pasted.stderr));
    let by_rank = folder.json(&format!(
        "compare {INPUT} --share rank --world-size 2 --budget padded:1000 --epochs 2 --json"
    ));
    let names: Vec<&Value> =
        by_rank["rows"].as_array().unwrap().iter().map(|row| &row["strategy"]).collect();
    assert_eq!(names, ["proportional", "packed"]);
    assert_eq!(by_rank["settings"]["share"], "rank");
    let page = folder.run(&format!("report {mixed} --budget padded:1000 --epochs 2 --papers"));
    assert!(page.status.success(), "{}", String::from_utf8_lossy(&page.stderr));
    let text = fs::read_to_string(folder.path("lengthwise.html")).unwrap();
    assert!(text.contains("<dt>mix</dt><dd>0.7/0.3</dd>"));
}

#[test]
fn what_cannot_be_is_refused() {
    let many: Vec<String> = (0..20).map(|at| format!("{},k{}", 5 + at, at % 12)).collect();
    let folder = folder().with("many.csv", format!("tokens,kind\n{}", many.join("\n")));
    let made = folder.run(&format!("plan {INPUT} --strategy sorted --budget 4 -o plan.jsonl"));
    assert!(made.status.success());
    let said = refusals(
        &folder,
        &[
            "plan - --together pair --budget 4",
            "plan data.csv --column tokens --together nothing --budget 4",
            "plan data.csv --column tokens --kind nothing --budget 4",
            "plan data.csv --column tokens --together lang --kind pair --budget 4",
            "plan data.csv --column tokens --together pair --chunk 9 --budget 4 --json",
            "plan data.csv --column tokens --kind lang --memory 1GB --budget 4",
            "plan data.csv --column tokens --kind lang --mix en=1 --budget 4",
            "plan data.csv --column tokens --kind lang --mix en=1,de=1,fr=1 --budget 4",
            "plan data.csv --column tokens --kind lang --mix en=1,de=1,en=1 --budget 4",
            "plan data.csv --column tokens --kind lang --mix en=1,de=much --budget 4",
            "plan data.csv --column tokens --kind lang --mix en,de --budget 4",
            "plan data.csv --column tokens --kind lang --mix en=0,de=0 --budget 4",
            "plan many.csv --kind kind --mix k1=1,k99=2 --budget 4",
            "plan data.csv --column tokens --together pair --share nothing --budget 4",
            "plan data.csv --column tokens --together pair --share rank --strategy blurred --budget 4",
            "plan data.csv --column tokens --together pair --strategy sorted --budget padded:60",
            "ladder data.csv --column tokens --kind lang",
            "verify plan.jsonl data.csv --column tokens --together pair --memory 1GB",
            "verify plan.jsonl data.csv --column tokens --memory 1GB",
        ],
    );
    expect![[r#"
        $ lengthwise plan - --together pair --budget 4
        error: standard input cannot be read twice, as several columns are

        hint: save it, and name the file

        $ lengthwise plan data.csv --column tokens --together nothing --budget 4
        error: data.csv: there is no column `nothing`; the columns are `id`, `tokens`, `target`, `pair`, `lang`

        hint: choose one with `--together NAME`

        $ lengthwise plan data.csv --column tokens --kind nothing --budget 4
        error: data.csv: there is no column `nothing`; the columns are `id`, `tokens`, `target`, `pair`, `lang`

        hint: choose one with `--kind NAME`

        $ lengthwise plan data.csv --column tokens --together lang --kind pair --budget 4
        error: sequences 0 and 4 stay together, and are of the kinds `p0` and `p2`

        hint: give all sequences with the same `lang` the same `pair`

        $ lengthwise plan data.csv --column tokens --together pair --chunk 9 --budget 4 --json
        error: sequences that stay together cannot be cut into pieces

        hint: leave out `--chunk` or `--together`

        $ lengthwise plan data.csv --column tokens --kind lang --memory 1GB --budget 4
        error: groups and kinds of sequences are kept in memory, which `--memory` does not bound

        hint: leave out `--kind`, or `--memory`

        $ lengthwise plan data.csv --column tokens --kind lang --mix en=1 --budget 4
        error: `--mix` does not name `de`

        hint: the kinds are `en`, `de`; 0 leaves a kind out

        $ lengthwise plan data.csv --column tokens --kind lang --mix en=1,de=1,fr=1 --budget 4
        error: `--mix` names `fr`, and there is no such kind

        hint: the kinds are `en`, `de`

        $ lengthwise plan data.csv --column tokens --kind lang --mix en=1,de=1,en=1 --budget 4
        error: `--mix` names `en` twice

        hint: give every kind one number

        $ lengthwise plan data.csv --column tokens --kind lang --mix en=1,de=much --budget 4
        error: `--mix` cannot be `en=1,de=much`

        hint: give every kind a number: `--mix en=0.7,de=0.3`

        $ lengthwise plan data.csv --column tokens --kind lang --mix en,de --budget 4
        error: `--mix` cannot be `en,de`

        hint: give every kind a number: `--mix en=0.7,de=0.3`

        $ lengthwise plan data.csv --column tokens --kind lang --mix en=0,de=0 --budget 4
        error: the mix of kinds cannot be `0/0`

        hint: it must be a number from 0 to 1000000000 for each kind, not all of them 0

        $ lengthwise plan many.csv --kind kind --mix k1=1,k99=2 --budget 4
        error: `--mix` names `k99`, and there is no such kind

        hint: the 12 kinds are `k0`, `k1`, `k2`, `k3`, `k4`, `k5`, `k6`, `k7`, …

        $ lengthwise plan data.csv --column tokens --together pair --share nothing --budget 4
        error: unknown share `nothing`

        hint: one of `batch`, `rank`

        $ lengthwise plan data.csv --column tokens --together pair --share rank --strategy blurred --budget 4
        error: the strategy cannot be `blurred:blur=0.02`

        hint: it must be `proportional` or `packed` for groups that share a rank

        $ lengthwise plan data.csv --column tokens --together pair --strategy sorted --budget padded:60
        error: sequence 2 of length 81 alone costs 81 cells, over the budget of 60; so do 95 more sequences

        hint: raise the budget to at least 96 cells, or choose what happens to over-long sequences: `--over-long alone`, `drop` or `truncate`

        $ lengthwise ladder data.csv --column tokens --kind lang
        error: `lengthwise ladder` makes no batches, and `--kind` is about batches

        hint: leave out `--kind`; `plan`, `compare` and `tune` take it

        $ lengthwise verify plan.jsonl data.csv --column tokens --together pair --memory 1GB
        error: plans of groups or kinds are not checked batch by batch

        hint: leave out `--memory`

        $ lengthwise verify plan.jsonl data.csv --column tokens --memory 1GB
        error: plans of groups or kinds are not checked batch by batch

        hint: leave out `--memory`, and name the columns that the plan was made with: `--together COLUMN`, `--kind COLUMN`, or both

    "#]].assert_eq(&said);
}

#[test]
fn options_need_their_columns() {
    let folder = folder();
    for (arguments, needed) in [
        ("plan data.csv --mix en=1 --budget 4", "--kind"),
        ("plan data.csv --one-kind step --budget 4", "--kind"),
        ("plan data.csv --share rank --budget 4", "--together"),
        ("plan --example speech --together pair --budget 4", "--together"),
        ("compare --kind lang", "--kind"),
    ] {
        let output = folder.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert!(String::from_utf8(output.stderr).unwrap().contains(needed), "{arguments}");
    }
}

#[test]
fn plans_are_verified_with_their_columns() {
    let folder = folder();
    for plan in [
        format!("plan {INPUT} --strategy sorted --budget 4 -o plan.jsonl"),
        "plan data.csv --column tokens --strategy sorted --budget 4 -o plain.json".to_owned(),
    ] {
        assert!(folder.run(&plan).status.success());
    }
    let mut answers = String::new();
    for arguments in [
        "verify plan.jsonl data.csv --column tokens",
        "verify plan.jsonl data.csv --column tokens --together pair",
        "verify plain.json data.csv --column tokens --kind lang",
    ] {
        let output = folder.run(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments}");
        answers += &String::from_utf8(output.stderr).unwrap();
    }
    expect![[r#"
        error: plan.jsonl: was made for groups or kinds, and data.csv, `tokens` has none

        hint: name the columns that it was made with: `--together COLUMN`, `--kind COLUMN`, or both
        error: plan.jsonl: was made for other lengths: their digest is aac8f3c7b2b9e9fa, that of data.csv, `tokens`, groups `pair` is bed7df8315f3a564

        hint: verify it with the lengths that it was made for, and the same `--column`, `--unit`, `--rate`, `--frame-shift`, `--together` and `--kind`; for these lengths, make a new plan with `lengthwise plan`
        error: plain.json: was made without groups and kinds

        hint: leave out `--together` and `--kind`
    "#]].assert_eq(&answers);
}
