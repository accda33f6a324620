//! Several ranks, and going on after a crash.

use std::fs;

use expect_test::expect;
use serde_json::Value;

use crate::common::{Folder, TEN, refusal, refusals};

const SPEECH: &str =
    "plan --example speech --budget padded:20000 --strategy shuffled --shapes ladder:16";

/// The sequences of all batches of a plan.
fn sequences(plan: &Value) -> Vec<u64> {
    let batches = plan["batches"].as_array().unwrap();
    let all = batches.iter().flat_map(|batch| batch.as_array().unwrap());
    all.map(|sequence| sequence.as_u64().unwrap()).collect()
}

/// Whether these are all sequences of the example, each once.
fn is_all(mut sequences: Vec<u64>) -> bool {
    sequences.sort_unstable();
    sequences.into_iter().eq(0..10_480)
}

#[test]
fn all_ranks_are_printed_step_by_step() {
    let folder = Folder::new().with("ten.csv", TEN);
    let plan = "plan ten.csv --strategy sorted --budget padded:16 --arrange as-built";
    folder.expect(
        &format!("{plan} --world-size 2"),
        &expect![[r#"
            exit 0
            --- stdout
            5 8 6 2
            0 9
            3
            4
            7
            1
            --- stderr
            10 sequences in 6 batches (sorted, shapes exact), 11.86 % padding, digest acfc5c260dfba584
            lengths are those of `frames`; `--column` chooses others
            2 ranks in 3 in-order steps, 7.8 % idle (at least 7.8 %), time by cells
            step mix 3.32 (1 is as random steps, 0 all steps alike), about 17 tokens a step
        "#]],
    );
    folder.expect(&format!("{plan} --world-size 2 --rank 1 --json"), &expect![[r#"
        exit 0
        --- stdout
        {"version":1,"digest":"ca0aae2eccc10632","batches":[[0,9],[4],[1]],"batch_lengths":[6,7,9],"positions":[11,7,9],"made":{"strategy":"sorted","budget":"padded:16","shapes":"exact","arrange":"as-built","over_long":"error","steps":"in-order","tail":"split","accumulate":1,"seed":0,"epoch":0,"lengths":"0b42b6c9404e6913"},"ranks":{"world_size":2,"rank":1,"accumulate":1,"steps":3,"step_counts":{"sequences":[6,2,2],"positions":[21,14,17]},"step_mix":3.322},"checksum":"a4aebdae3b6141fd"}
        --- stderr
        4 sequences in 3 batches (sorted, shapes exact), 3.57 % padding, digest ca0aae2eccc10632
        lengths are those of `frames`; `--column` chooses others
        rank 1 of 2 in 3 in-order steps, 7.8 % idle (at least 7.8 %), time by cells
        step mix 3.32 (1 is as random steps, 0 all steps alike), about 17 tokens a step
    "#]]);
    folder.expect(
        &format!("{plan} --world-size 2 --tail repeat --take 3"),
        &expect![[r#"
            exit 0
            --- stdout
            5 8 6 2
            0 9
            3 4
            7
            1
            5 8 6 2
            --- stderr
            14 sequences in 6 batches (sorted, shapes exact), 17.33 % padding, digest 75c3b919a6fa98e2
            lengths are those of `frames`; `--column` chooses others
            2 ranks in 3 in-order steps, 18.5 % idle (at least 3.8 %), time by cells
            step mix 1.30 (1 is as random steps, 0 all steps alike), about 20 tokens a step
            4 repeated with the tail: 5, 8, 6, 2
        "#]],
    );
    folder.expect(&format!("{plan} --world-size 2 --tail drop --json"), &expect![[r#"
        exit 0
        --- stdout
        {"version":1,"digest":"f093eac6fc15c5fb","batches":[[5,8,6,2],[0,9],[3,4],[7]],"batch_lengths":[4,6,7,8],"positions":[10,11,14,8],"made":{"strategy":"sorted","budget":"padded:16","shapes":"exact","arrange":"as-built","over_long":"error","steps":"in-order","tail":"drop","accumulate":1,"seed":0,"epoch":0,"lengths":"0b42b6c9404e6913"},"ranks":{"world_size":2,"accumulate":1,"steps":2,"step_counts":{"sequences":[6,3],"positions":[21,22]},"step_mix":3.36,"dropped":[1]},"checksum":"54e73822cdd6596e"}
        --- stderr
        9 sequences in 4 batches (sorted, shapes exact), 14.00 % padding, digest f093eac6fc15c5fb
        lengths are those of `frames`; `--column` chooses others
        2 ranks in 2 in-order steps, 16.7 % idle (at least 10.7 %), time by cells
        step mix 3.36 (1 is as random steps, 0 all steps alike), about 21 tokens a step
        1 dropped with the tail: 1
    "#]]);
    folder.expect(
        &format!("{plan} --accumulate 2 --steps stratified"),
        &expect![[r#"
            exit 0
            --- stdout
            5 8 6 2
            1
            0 9
            7
            3
            4
            --- stderr
            10 sequences in 6 batches (sorted, shapes exact), 11.86 % padding, digest 4870c77aa1921141
            lengths are those of `frames`; `--column` chooses others
            1 rank with 2 batches each in 3 stratified steps, 0.0 % idle (at least 0.0 %), time by cells
            step mix 2.19 (1 is as random steps, 0 all steps alike), about 17 tokens a step
        "#]],
    );
}

#[test]
fn all_ranks_together_are_the_epoch() {
    let folder = Folder::new();
    let ranks: Vec<Value> = (0..8)
        .map(|rank| folder.json(&format!("{SPEECH} --world-size 8 --rank {rank} --json")))
        .collect();
    assert!(is_all(ranks.iter().flat_map(sequences).collect()));
    let all = folder.json(&format!("{SPEECH} --world-size 8 --json"));
    let batches = all["batches"].as_array().unwrap();
    for (rank, plan) in ranks.iter().enumerate() {
        assert_eq!(plan["ranks"]["rank"], rank);
        assert_eq!(plan["ranks"]["step_counts"], all["ranks"]["step_counts"]);
        let dealt = batches.iter().skip(rank).step_by(8);
        assert!(plan["batches"].as_array().unwrap().iter().eq(dealt), "rank {rank}");
    }
    let counts = all["ranks"]["step_counts"]["sequences"].as_array().unwrap();
    assert_eq!(counts.iter().map(|count| count.as_u64().unwrap()).sum::<u64>(), 10_480);
}

/// Without anything about ranks, a plan is what it always was.
#[test]
fn one_rank_is_a_plain_plan() {
    let folder = Folder::new();
    let plain = folder.json(&format!("{SPEECH} --json"));
    assert!(plain.get("ranks").is_none());
    let one = folder.json(&format!("{SPEECH} --rank 0 --json"));
    assert_eq!(one["batches"], plain["batches"]);
    assert_eq!(one["ranks"]["steps"], plain["batches"].as_array().unwrap().len());
}

#[test]
fn canonical_ranks_make_the_same_steps_on_any_number_of_ranks() {
    let folder = Folder::new();
    let of = |ranks: u32| {
        folder.json(&format!("{SPEECH} --canonical-ranks 8 --world-size {ranks} --json"))
    };
    let eight = of(8);
    for ranks in [1, 2, 4] {
        // The same batches in every step, whoever takes them.
        let steps = |plan: &Value| -> Vec<Vec<String>> {
            let batches = plan["batches"].as_array().unwrap();
            let sorted = |step: &[Value]| {
                let mut step: Vec<String> = step.iter().map(Value::to_string).collect();
                step.sort();
                step
            };
            batches.chunks(8).map(sorted).collect()
        };
        assert!(steps(&of(ranks)) == steps(&eight), "{ranks}");
        assert_eq!(of(ranks)["ranks"]["accumulate"], 8 / ranks);
    }
}

#[test]
fn an_epoch_goes_on_where_it_stopped() {
    let folder = Folder::new();
    let part = |more: &str| folder.json(&format!("{SPEECH} --json {more}"));
    let whole = part("--world-size 8");
    let first = part("--world-size 8 --take 20 --cursor cursor.json");
    let rest = part("--world-size 8 --resume cursor.json");
    let both = [&first, &rest].map(|plan| plan["batches"].as_array().unwrap().clone());
    assert_eq!(&both.concat(), whole["batches"].as_array().unwrap());
    assert_eq!(first["ranks"]["steps_left"], rest["ranks"]["steps"]);
    let cursor: Value =
        serde_json::from_slice(&fs::read(folder.path("cursor.json")).unwrap()).unwrap();
    assert_eq!(rest["ranks"]["cursor"], cursor);

    // Down to 6 ranks, and then up to 16, each time from the file of the time before.
    let down = part("--world-size 6 --take 5 --resume cursor.json --cursor cursor.json");
    let up = part("--world-size 16 --resume cursor.json --cursor end.json");
    assert!(is_all([&first, &down, &up].into_iter().flat_map(sequences).collect()));

    // And when all of it was taken.
    let files = fs::read_dir(folder.folder()).unwrap().count();
    assert_eq!(files, 2, "nothing but the cursors is left behind");
    let after = part("--world-size 4 --resume end.json");
    assert_eq!(after["batches"], Value::Array(Vec::new()));
    folder.expect(
        &format!("{SPEECH} --world-size 4 --resume end.json"),
        &expect![[r#"
            exit 0
            --- stdout
            --- stderr
            0 sequences in 0 batches (shuffled, shapes ladder:16), 0.00 % padding, digest 48b2c92616fc193d
            the epoch is finished: nothing is left of it
        "#]],
    );
}

/// Every rank keeps its own cursor; together they must stand at the same step.
#[test]
fn ranks_that_stopped_apart_are_refused() {
    let folder = Folder::new();
    for (rank, steps) in [(0, 12), (1, 12), (2, 12), (3, 13)] {
        let more = format!("--world-size 4 --rank {rank} --take {steps} --cursor {rank}.json");
        assert!(folder.run(&format!("{SPEECH} {more}")).status.success());
    }
    let going_on = format!("{SPEECH} --world-size 2 --resume 0.json --resume 1.json");
    assert!(folder.run(&format!("{going_on} --resume 2.json")).status.success());
    expect![[r#"
        $ lengthwise plan --example speech --budget padded:20000 --strategy shuffled --shapes ladder:16 --world-size 2 --resume 0.json --resume 1.json --resume 3.json
        error: 0.json stopped after 12 steps, but 3.json after 13

        hint: save cursors of the same step on all ranks; resume from the last common checkpoint

    "#]].assert_eq(&refusal(&folder, &format!("{going_on} --resume 3.json")));
}

#[test]
fn another_run_is_refused_by_what_differs() {
    let folder = Folder::new().with("ten.csv", TEN);
    let plan = "plan ten.csv --strategy blurred --budget padded:20";
    assert!(folder.run(&format!("{plan} --take 2 --cursor c.json")).status.success());
    let text = fs::read_to_string(folder.path("c.json")).unwrap();
    let folder = folder
        .with("eleven.csv", format!("{TEN}k,4\n"))
        .with("later.json", text.replace("\"version\":1", "\"version\":2"))
        .with("short.json", &text[..text.len() / 2])
        .with("no-seed.json", text.replace("\"seed\":0,", ""))
        .with("far.json", text.replace("[[1,2]]", "[[1,99]]"))
        .with("none.json", text.replace("[[1,2]]", "[[0,2]]"));
    let said = refusals(
        &folder,
        &[
            "plan eleven.csv --strategy blurred --budget padded:20 --resume c.json",
            "plan ten.csv --strategy sorted --budget padded:20 --resume c.json",
            "plan ten.csv --strategy blurred --budget padded:21 --resume c.json",
            "plan ten.csv --strategy blurred --budget padded:20 --seed 7 --resume c.json",
            "plan ten.csv --strategy blurred --budget padded:20 --epoch 1 --resume c.json",
            "plan ten.csv --strategy blurred --budget padded:20 --resume later.json",
            "plan ten.csv --strategy blurred --budget padded:20 --resume short.json",
            "plan ten.csv --strategy blurred --budget padded:20 --resume no-seed.json",
            "plan ten.csv --strategy blurred --budget padded:20 --resume far.json",
            "plan ten.csv --strategy blurred --budget padded:20 --resume none.json",
            "plan ten.csv --strategy blurred --budget padded:20 --resume missing.json",
        ],
    );
    expect![[r#"
        $ lengthwise plan eleven.csv --strategy blurred --budget padded:20 --resume c.json
        error: c.json: the cursor was made with lengths of digest `0b42b6c9404e6913`, the plan with `f9bdd035dd70a1c4`

        hint: resume with the lengths that the epoch began with, in the same order

        $ lengthwise plan ten.csv --strategy sorted --budget padded:20 --resume c.json
        error: c.json: the cursor was made with strategy `blurred:blur=0.02`, the plan with `sorted`

        hint: resume with the settings that the epoch began with, or start a new epoch

        $ lengthwise plan ten.csv --strategy blurred --budget padded:21 --resume c.json
        error: c.json: the cursor was made with budget `padded:20`, the plan with `padded:21`

        hint: resume with the settings that the epoch began with, or start a new epoch

        $ lengthwise plan ten.csv --strategy blurred --budget padded:20 --seed 7 --resume c.json
        error: c.json: the cursor was made with seed `0`, the plan with `7`

        hint: resume with the settings that the epoch began with, or start a new epoch

        $ lengthwise plan ten.csv --strategy blurred --budget padded:20 --epoch 1 --resume c.json
        error: c.json: the cursor was made with epoch `0`, the plan with `1`

        hint: resume with the settings that the epoch began with, or start a new epoch

        $ lengthwise plan ten.csv --strategy blurred --budget padded:20 --resume later.json
        error: later.json: has version 2, but this release reads version 1

        hint: use the release of lengthwise that wrote it

        $ lengthwise plan ten.csv --strategy blurred --budget padded:20 --resume short.json
        error: short.json: is cut off or not a cursor: EOF while parsing a string at line 1 column 147

        hint: use the cursor of another checkpoint

        $ lengthwise plan ten.csv --strategy blurred --budget padded:20 --resume no-seed.json
        error: no-seed.json: has no `seed`, expected a whole number from 0 to 18446744073709551615

        hint: use the cursor of another checkpoint

        $ lengthwise plan ten.csv --strategy blurred --budget padded:20 --resume far.json
        error: far.json: has been altered: its checksum is d536e019c829aee1, its content has 2f688e5c0bf99008

        hint: use the cursor of another checkpoint

        $ lengthwise plan ten.csv --strategy blurred --budget padded:20 --resume none.json
        error: none.json: has been altered: its checksum is d536e019c829aee1, its content has 80b3ed678dab459d

        hint: use the cursor of another checkpoint

        $ lengthwise plan ten.csv --strategy blurred --budget padded:20 --resume missing.json
        error: missing.json: there is no such file

        hint: check the path

    "#]].assert_eq(&said);
}

#[test]
fn ranks_that_cannot_be_are_refused() {
    let folder = Folder::new().with("ten.csv", TEN).with("c.json", "{}");
    let said = refusals(
        &folder,
        &[
            "plan ten.csv --budget 4 --world-size 2 --rank 2",
            "plan ten.csv --budget 4 --rank 1",
            "plan ten.csv --budget 4 --world-size 11",
            "plan ten.csv --budget 8 --strategy sorted --world-size 4 --tail drop",
            "plan ten.csv --budget 4 --world-size 2 --take 99",
            "plan ten.csv --budget 4 --world-size 2 --steps sorted",
            "plan ten.csv --budget 4 --world-size 2 --tail keep",
            "plan ten.csv --budget 4 --cost-model missing.json",
            "plan ten.csv --budget 4 --cursor ten.csv",
            "plan ten.csv --budget 4 --cursor no/such/cursor.json -o plan.json",
            "plan ten.csv --budget 4 --cursor plan.json -o plan.json",
            "plan ten.csv --budget 4 --resume c.json -o c.json",
        ],
    );
    expect![[r#"
        $ lengthwise plan ten.csv --budget 4 --world-size 2 --rank 2
        error: there is no rank 2 among 2 ranks

        hint: ranks are numbered from 0; the last one is 1

        $ lengthwise plan ten.csv --budget 4 --rank 1
        error: there is no rank 1 where there is only one rank

        hint: ranks are numbered from 0; the last one is 0

        $ lengthwise plan ten.csv --budget 4 --world-size 11
        error: 10 sequences cannot fill a step of 11 batches, one for each of 11 ranks

        hint: use 10 ranks or fewer

        $ lengthwise plan ten.csv --budget 8 --strategy sorted --world-size 4 --tail drop
        error: 2 batches do not fill one step of 4, and the tail is dropped: nothing is left

        hint: use fewer ranks, or `--tail split` or `--tail repeat`

        $ lengthwise plan ten.csv --budget 4 --world-size 2 --take 99
        error: 99 steps were asked for, but there is 1

        hint: take at most 1

        $ lengthwise plan ten.csv --budget 4 --world-size 2 --steps sorted
        error: unknown way to make steps `sorted`

        hint: one of `stratified`, `aligned`, `in-order`

        $ lengthwise plan ten.csv --budget 4 --world-size 2 --tail keep
        error: unknown treatment of the tail `keep`

        hint: one of `split`, `repeat`, `drop`

        $ lengthwise plan ten.csv --budget 4 --cost-model missing.json
        error: missing.json: there is no such file or preset

        hint: name a file that `lengthwise cost STEPS.csv -o model.json` wrote, or a preset: `recurrent`, `encoder`, `paper-2`

        $ lengthwise plan ten.csv --budget 4 --cursor ten.csv
        error: ten.csv: the cursor would overwrite the input ten.csv

        hint: write the cursor to another file, as in `--cursor ten-2.csv`

        $ lengthwise plan ten.csv --budget 4 --cursor no/such/cursor.json -o plan.json
        error: no/such/cursor.json: there is no such folder

        hint: nothing was written to it; check that the folder exists and can be written to

        $ lengthwise plan ten.csv --budget 4 --cursor plan.json -o plan.json
        error: plan.json: the cursor would overwrite the plan plan.json

        hint: write the cursor to another file, as in `--cursor plan-2.json`

        $ lengthwise plan ten.csv --budget 4 --resume c.json -o c.json
        error: c.json: the plan would overwrite the cursor c.json

        hint: write the plan to another file, as in `-o c-2.json`

    "#]].assert_eq(&said);
    assert_eq!(fs::read_to_string(folder.path("ten.csv")).unwrap(), TEN);
    for arguments in [
        "plan ten.csv --budget 4 --accumulate 2 --canonical-ranks 4",
        "plan ten.csv --budget 4 --canonical-ranks 0",
        "plan ten.csv --budget 4 --update tokens:20 --accumulate 2",
        "plan ten.csv --budget 4 --update 20",
        "plan ten.csv --budget 4 --update tokens:0",
        "plan ten.csv --budget padded:20 --update tokens:20 --memory 1GB",
        "plan ten.csv --budget 4 --rank -1",
        "verify",
    ] {
        assert_eq!(folder.run(arguments).status.code(), Some(2), "{arguments}");
    }
}

#[test]
fn an_update_has_as_much_data_as_was_asked_for() {
    let folder = Folder::new();
    for strategy in ["proportional", "shuffled"] {
        for ranks in [1, 2] {
            let plan = folder.json(&format!(
                "plan --example speech --budget padded:20000 --strategy {strategy} --shapes ladder:8 --update tokens:100000 --world-size {ranks} --json"
            ));
            assert!(is_all(sequences(&plan)), "{strategy}");
            // 5,504,203 tokens in all.
            let steps = &plan["ranks"]["step_counts"];
            let tokens: Vec<f64> = steps["positions"]
                .as_array()
                .unwrap()
                .iter()
                .map(|n| n.as_f64().unwrap())
                .collect();
            assert_eq!(tokens.len(), 55, "{strategy} on {ranks}");
            let most = if strategy == "proportional" { 0.05 } else { 0.5 };
            assert!(tokens.iter().all(|tokens| (tokens / 100_000.0 - 1.0).abs() < most));
        }
    }
}

#[test]
fn constant_steps_are_the_same_in_every_epoch() {
    let folder = Folder::new();
    let steps = |epoch: u32, more: &str| {
        let plan = "plan --example speech --budget padded:20000 --strategy blurred --world-size 8";
        let plan = format!("{plan} --epoch {epoch} --json");
        folder.json(&format!("{plan} {more}"))["ranks"]["steps"].as_u64().unwrap()
    };
    let first = steps(0, "--constant-steps");
    assert!(first >= steps(0, ""));
    for epoch in 1..6 {
        assert_eq!(steps(epoch, "--constant-steps"), first, "epoch {epoch}");
    }
}

/// With a cost model, the time that ranks wait is in seconds.
#[test]
fn a_cost_model_decides_the_steps() {
    let folder = Folder::new();
    let made = |more: &str| {
        let plan = "plan --example documents --strategy blurred --budget padded:16384";
        folder.json(&format!("{plan} --world-size 4 --json {more}"))["made"].clone()
    };
    assert_eq!(made("")["steps"], "stratified");
    assert_eq!(made("--cost-model recurrent")["steps"], "aligned");
    assert_eq!(made("--cost-model a=1")["cost_model"], "a=1,b=0,c=0,d=0");
    assert_eq!(made("--cost-model recurrent --steps in-order")["steps"], "in-order");
}

#[test]
fn the_help_of_ranks() {
    let folder = Folder::new();
    let help = String::from_utf8(folder.run("plan -h").stdout).unwrap();
    let ranks = &help[help.find("Ranks:").unwrap()..help.find("Output:").unwrap()];
    expect![[r#"
        Ranks:
              --world-size <RANKS>       Number of ranks; all take the same number of steps [default: 1]
              --steps <STEPS>            Which batches make a step: stratified, aligned or in-order
                                         [default: stratified if all batches take about the same time,
                                         aligned if not; in-order as built]
              --tail <WHAT>              What happens to batches that fill no step: split, repeat or drop
                                         [default: split]
              --accumulate <BATCHES>     Micro-batches that each rank takes in an optimizer step, to
                                         accumulate gradients [default: 1 where a strategy is given, as many
                                         as recommended where none is]
              --update <SIZE>            Data of an optimizer step over all ranks, as in tokens:100000 or
                                         sequences:256: it decides how many batches each rank accumulates,
                                         and is nearly the same in every step
              --canonical-ranks <RANKS>  Batches of a step on any number of ranks that divides it
              --constant-steps           Make the same number of batches, and so of steps, in every epoch
              --cost-model <MODEL>       How long batches take, so that ranks wait little: a preset,
                                         coefficients, or a file of `lengthwise cost`
              --rank <RANK>              Only the batches of this rank, from 0 [default: all ranks, step by
                                         step]
              --take <STEPS>             Only the first steps
              --cursor <FILE>            Write a cursor, the position in the epoch after these steps, to
                                         this file
              --resume <FILE>            Resume from a cursor; may be repeated, with the file of each rank
              --memory <SIZE>            Plan with at most so much memory, as in 500MB or 8GiB, the lengths
                                         in a file that is mapped: with --strategy the same plan, without
                                         ids; without it, batches but no optimizer steps

        Shards:
              --statistics <FILE>  Plan the lengths as a part of a corpus with these statistics, a file of
                                   `lengthwise statistics`
              --shard <SHARD>      Which shard of the corpus the input is, from 0
              --of <SHARDS>        How many shards there are
              --needs <FILE>       Instead of a plan, write how many batches the shard needs to this .lws
                                   file, to be merged into the statistics

    "#]].assert_eq(ranks);
    folder.expect("verify -h", &expect![[r#"
        exit 0
        --- stdout
        Check that a plan file is complete and matches its lengths

        Usage: lengthwise verify [OPTIONS] <PLAN> [INPUT]

        Arguments:
          <PLAN>  Plan file that `lengthwise plan -o` wrote: .json, .jsonl, .npz or .parquet

        Options:
          -h, --help  Print help

        Input:
              --example <NAME>         Use built-in lengths instead of a file: speech, documents or bimodal
              --column <NAME>          Column of a table, or field of JSON with dots, that holds the lengths
              --second <NAME>          Second length of each sequence: another column or field, for pairs
                                       such as frames and tokens; `--frame-shift` and `--rate` are for the
                                       first, and `--unit` for those that hold texts
              --together <COLUMN>      Column of ids: sequences with the same id stay together, as
                                       preference pairs do
              --kind <COLUMN>          Column of ids: batches have sequences of one kind only, such as one
                                       language
              --format <FORMAT>        Format of the input, if its name does not tell: csv, tsv, jsonl, txt,
                                       npy, `utt2num_frames`, `utt2dur`, audio, parquet or arrow
              --frame-shift <SECONDS>  The numbers are seconds: make frames of them, one every so many
                                       seconds
              --rate <PER_SECOND>      The numbers are seconds: make frames or samples of them, so many a
                                       second
              --unit <UNIT>            The values are texts, one a line or in a column: count their words,
                                       characters, bytes, or tokens:FILE by a Hugging Face tokenizer.json
              --skip-blank             Leave out blank lines of a file of texts
              --ids [<COLUMN>]         Keep the names of sequences for messages and plan files: in the usual
                                       column, or in this one; plan files have Kaldi's utterances and the
                                       paths of audio anyway
              --memory <SIZE>          Read the plan batch by batch, with at most so much memory, as in
                                       500MB or 8GiB; the checksum is looked at, and not every byte
          [INPUT]                      File of lengths: .csv, .tsv, .jsonl, .npy, .parquet, .arrow,
                                       .feather, .txt with one length per line, Kaldi's `utt2num_frames` or
                                       `utt2dur`, optionally compressed by gzip or zstd; a folder of WAV and
                                       FLAC files, or a Kaldi data folder; `-` is standard input

        Output:
              --json          Print JSON
          -q, --quiet         Suppress everything on stderr except errors
              --color <WHEN>  Colours: auto, always or never [default: auto] [possible values: auto, always,
                              never]

        Examples:
          lengthwise plan --example speech --budget padded:12800 -o plan.json && lengthwise verify \
            plan.json --example speech
          lengthwise plan --example bimodal --budget padded:40000 -o plan.npz && lengthwise verify \
            plan.npz --json
        --- stderr
    "#]]);
}
