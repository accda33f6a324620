//! `--memory`: the same files with a bound on memory, and what cannot keep it.

use std::fs;

use expect_test::expect;

use crate::common::{Folder, refusals};

/// Those that come batch by batch.
const FORMS: &[&str] =
    if cfg!(feature = "parquet") { &["npz", "jsonl", "parquet"] } else { &["npz", "jsonl"] };

/// An array of `uint32` as NumPy writes it.
fn npy(lengths: &[u32]) -> Vec<u8> {
    let count = lengths.len();
    let about = format!("{{'descr': '<u4', 'fortran_order': False, 'shape': ({count},), }}");
    let size = (10 + about.len() + 1).next_multiple_of(64) - 10;
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((size as u16).to_le_bytes());
    file.extend(format!("{about:<width$}\n", width = size - 1).as_bytes());
    file.extend(lengths.iter().flat_map(|length| length.to_le_bytes()));
    file
}

fn many() -> Vec<u32> {
    (0..200_000_u32).map(|i| 1 + i.wrapping_mul(2_654_435_761) % 1999).collect()
}

#[test]
fn files_are_the_same_to_the_byte() {
    let folder = Folder::new().with("many.npy", npy(&many()));
    for settings in [
        "--budget padded:100000 --strategy shuffled --shapes ladder:16",
        "--budget padded:100000 --strategy blurred",
        "--budget sequences:64 --strategy sorted --arrange as-built",
        "--budget padded:1500 --over-long drop --strategy shuffled",
    ] {
        for form in FORMS.iter().chain(&["json"]) {
            let said = |output: std::process::Output| {
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                let text = String::from_utf8(output.stderr).unwrap();
                // With a bound, lengths are not kept to compare the steps.
                let of_steps = |line: &&str| line.contains("step mix") || line.contains("tune");
                let lines = text.lines().filter(|line| !of_steps(line)).map(str::to_owned);
                (output.stdout, lines.collect::<Vec<_>>())
            };
            let memory = if *form == "parquet" { "160MB" } else { "60MB" };
            let plain = format!("plan many.npy {settings} -o plain.{form}");
            let bounded = format!("plan many.npy {settings} --memory {memory} -o bounded.{form}");
            assert_eq!(said(folder.run(&plain)), said(folder.run(&bounded)), "{settings}");
            let read = |name: &str| fs::read(folder.path(&format!("{name}.{form}"))).unwrap();
            assert!(read("plain") == read("bounded"), "{settings} {form}");
        }
        let plain = folder.run(&format!("plan many.npy {settings}"));
        let bounded = folder.run(&format!("plan many.npy {settings} --memory 60MB"));
        assert!(plain.status.success() && plain.stdout == bounded.stdout, "{settings}");
    }
}

#[test]
fn what_cannot_keep_the_bound_is_refused() {
    let folder = Folder::new().with("many.npy", npy(&many()));
    let asked = [
        "plan many.npy --budget padded:100000 --memory 1MB",
        "plan many.npy --budget padded:100000 --strategy rotating --memory 30MB",
        "plan many.npy --budget padded:100000 --world-size 4 --memory 1GB",
        "plan many.npy --like 16,keep=steps --strategy sorted --memory 1GB",
        "plan many.npy --budget padded:100000 --constant-steps --memory 1GB",
        "plan many.npy --budget padded:100000 --chunk 100 --memory 1GB --json",
        "plan many.npy --budget padded:100000 --ids --memory 1GB",
        "plan --budget padded:100000 --memory 1GB",
        "verify none.npz --memory 1GB",
        "plan many.npy --budget padded:9999 --statistics a.lws --shard 0 --of 2 --memory 1GB",
    ];
    expect![[r#"
        $ lengthwise plan many.npy --budget padded:100000 --memory 1MB
        error: planning 200000 sequences by `shuffled` takes about 25.4MB of memory, over the bound of 1MB

        hint: raise the bound to 25.4MB or more: `--memory 25.4MB`

        $ lengthwise plan many.npy --budget padded:100000 --strategy rotating --memory 30MB
        error: planning 200000 sequences by `rotating:epochs=16` takes about 35.3MB of memory, over the bound of 30MB

        hint: raise the bound to 35.3MB or more: `--memory 35.3MB`; `shuffled`, `sorted`, `semi-sorted`, `blurred` and buckets of lengths take least

        $ lengthwise plan many.npy --budget padded:100000 --world-size 4 --memory 1GB
        error: assigning batches to ranks and steps takes the whole plan in memory, 8 bytes for each sequence, which `--memory` does not bound

        hint: leave out `--memory`, or plan the whole epoch for one rank

        $ lengthwise plan many.npy --like 16,keep=steps --strategy sorted --memory 1GB
        error: keeping the number of optimizer steps takes the whole plan in memory, 8 bytes for each sequence, which `--memory` does not bound

        hint: leave out `--memory`, or give `--like 16`

        $ lengthwise plan many.npy --budget padded:100000 --constant-steps --memory 1GB
        error: a constant number of steps takes five plans in memory, which `--memory` does not bound

        hint: leave out `--memory`, or plan the whole epoch for one rank

        $ lengthwise plan many.npy --budget padded:100000 --chunk 100 --memory 1GB --json
        error: cutting sequences into pieces takes 12 bytes for each piece, which `--memory` does not bound

        hint: leave out `--memory`, or plan the whole epoch for one rank

        $ lengthwise plan many.npy --budget padded:100000 --ids --memory 1GB
        error: names of sequences are kept in memory, which `--memory` bounds

        hint: leave out `--ids`, or `--memory`

        $ lengthwise plan --budget padded:100000 --memory 1GB
        error: no input

        hint: name a file of lengths, or try built-in ones with `--example speech`

        $ lengthwise verify none.npz --memory 1GB
        error: none.npz: there is no such file

        hint: check the path

        $ lengthwise plan many.npy --budget padded:9999 --statistics a.lws --shard 0 --of 2 --memory 1GB
        error: a shard has a fixed number of batches, which takes several plans in memory, which `--memory` does not bound

        hint: leave out `--memory`: shards are not planned with a bound

    "#]].assert_eq(&refusals(&folder, &asked));
    if cfg!(feature = "parquet") {
        let table = "plan many.npy --budget 64 --strategy sorted --memory 50MB -o plan.parquet";
        let said = refusals(&folder, &[table]);
        assert!(said.contains("; .npz takes 2"), "{said}");
        assert!(!said.contains("take least"), "{said}");
    }
    let output = folder.run("plan many.npy --budget padded:100000 --memory 8");
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("expected a number and a unit, as in 500MB"), "{text}");
}

/// What is listed as over-long is as long as the input, and counts.
#[test]
fn over_long_sequences_count() {
    let lengths: Vec<u32> =
        (0..300_000_u32).map(|i| 1 + i.wrapping_mul(2_654_435_761) % 1999).collect();
    let folder = Folder::new().with("many.npy", npy(&lengths));
    for settings in [
        "--strategy packed:capacity=500 --over-long truncate",
        "--strategy sorted --budget padded:500 --over-long truncate",
        "--strategy sorted --budget padded:500 --over-long alone",
        "--strategy sorted --budget padded:500 --over-long drop",
    ] {
        for form in ["jsonl", "npz"] {
            let plan = folder.run(&format!("plan many.npy {settings} -q -o plan.{form}"));
            assert!(plan.status.success(), "{settings}");
            let verify = format!("verify plan.{form} many.npy");
            let said = refusals(&folder, &[&format!("{verify} --memory 25MB")]);
            assert!(said.contains("the bound"), "{said}");
            assert!(said.contains("hint: raise the bound"), "{said}");
            assert!(!said.contains("`shuffled`"), "that is for plans: {said}");
            let bounded = folder.run(&format!("{verify} --memory 60MB"));
            assert!(bounded.status.success(), "{}", String::from_utf8_lossy(&bounded.stderr));
            // All that is said of a plan that was read as a whole, but for what only that can tell.
            let [bounded, whole] = [bounded, folder.run(&verify)].map(|output| {
                let text = String::from_utf8(output.stdout).unwrap();
                text.replace(", digest", "").replace(", bytes", "")
            });
            assert_eq!(bounded, whole, "{settings} {form}");
        }
    }
}

#[test]
fn plans_are_verified_batch_by_batch() {
    let mut other = many();
    other.swap(0, 1);
    let folder = Folder::new().with("many.npy", npy(&many())).with("other.npy", npy(&other));
    for &form in FORMS {
        let plan = "plan many.npy --budget padded:1500 --over-long drop --memory 1GB -q";
        assert!(folder.run(&format!("{plan} -o plan.{form}")).status.success());
        let output = folder.run(&format!("verify plan.{form} many.npy --memory 100MB"));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let digest = if form == "jsonl" { "" } else { ", digest" };
        let right = format!(
            "checksum{digest}, lengths, sequences, budget and counts are right, and no sequence is \
             longer than its batch\n"
        );
        assert!(text.ends_with(&right), "{text}");

        let output = folder.run(&format!("verify plan.{form} other.npy --memory 100MB"));
        assert_eq!(output.status.code(), Some(1));
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains("was made for other lengths"), "{text}");

        let mut bytes = fs::read(folder.path(&format!("plan.{form}"))).unwrap();
        let at = bytes.len() / 3;
        bytes[at] ^= 1;
        fs::write(folder.path(&format!("wrong.{form}")), bytes).unwrap();
        let output = folder.run(&format!("verify wrong.{form} --memory 100MB --json"));
        assert_eq!(output.status.code(), Some(1), "{form}");
        assert!(output.stdout.starts_with(b"{\"version\":1,\"ok\":false"), "{form}");
    }
}

/// Lengths of many kinds: even, skewed, and most of them the same.
fn kinds() -> Vec<(&'static str, Vec<u32>)> {
    let random = |i: u32| i.wrapping_mul(2_654_435_761) >> 8;
    let count = 250_000;
    vec![
        ("even", (0..count).map(|i| 1 + random(i) % 1999).collect()),
        ("skewed", (0..count).map(|i| 1 + 400_000 / (1 + random(i) % 60_000)).collect()),
        (
            "same",
            (0..count)
                .map(|i| if random(i) % 10 == 0 { 1 + random(i) % 999 } else { 500 })
                .collect(),
        ),
    ]
}

/// Few batches and very many of them.
const SETTINGS: &[&str] = &[
    "--budget padded:800000",
    "--budget padded:800000 --strategy sorted",
    "--budget sequences:2 --strategy shuffled",
    "--budget sequences:2 --strategy sorted --arrange as-built",
    "--budget padded:400001 --strategy blurred",
    "--budget padded:400008 --strategy semi-sorted --shapes multiple:8",
    "--budget padded:400001,multiple-of=8 --strategy shuffled --shapes ladder:8",
    "--budget sequences:3 --strategy length-buckets:width=50",
    "--budget padded:900 --strategy sorted --over-long alone",
    "--budget padded:900 --strategy blurred --over-long drop",
];

/// The size that a refusal proposes.
fn proposed(folder: &Folder, arguments: &str) -> Option<String> {
    let output = folder.run(arguments);
    if output.status.success() {
        return None;
    }
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments}: {said}");
    let from = said.find("`--memory ").unwrap_or_else(|| panic!("{arguments}: {said}"));
    Some(said[from..].split([' ', '`']).nth(2).unwrap().to_owned())
}

/// What a hint proposes is accepted, at once and for each kind of lengths; and the command then works
/// with as much memory as was proposed, and no more: the system refuses it any more. The limit is one on
/// the memory of the process that no file is behind, reserved or used, with all its threads and buffers.
#[cfg(target_os = "linux")]
#[test]
fn a_hint_is_enough_and_the_bound_is_kept() {
    for (kind, lengths) in kinds() {
        let folder = Folder::new().with("many.npy", npy(&lengths));
        for settings in SETTINGS {
            let plan = format!("plan many.npy {settings} -q -o plan.npz");
            let least = proposed(&folder, &format!("{plan} --memory 1MB")).unwrap();
            let kilobytes = lengthwise_size(&least) / 1024;
            let lengthwise = env!("CARGO_BIN_EXE_lengthwise");
            let script = format!("ulimit -d {kilobytes} && {lengthwise} {plan} --memory {least}");
            let output = std::process::Command::new("sh")
                .args(["-c", &script])
                .current_dir(folder.folder())
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{kind} {settings} --memory {least}: {said}");
        }
    }
}

/// A size as the command says it.
fn lengthwise_size(text: &str) -> u64 {
    let (number, unit) = text.split_at(text.len() - 2);
    let unit = match unit {
        "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        other => panic!("{other}"),
    };
    (number.parse::<f64>().unwrap() * unit) as u64
}

/// Verifying is refused before the plan is opened, with a number that is enough; the system lets it have
/// no more than that.
#[cfg(target_os = "linux")]
#[test]
fn plans_of_many_batches_are_verified_within_the_bound() {
    let lengths: Vec<u32> = (0..600_000_u32).map(|i| 1 + i % 1000).collect();
    let folder = Folder::new().with("many.npy", npy(&lengths));
    for &form in FORMS {
        let settings =
            "--budget padded:900 --over-long drop --strategy shuffled --shapes ladder:16";
        let plan = folder.run(&format!("plan many.npy {settings} -q -o plan.{form}"));
        assert!(plan.status.success());
        let verify = format!("verify plan.{form} many.npy");
        let least = proposed(&folder, &format!("{verify} --memory 24MB")).unwrap();
        let limit = lengthwise_size(&least) / 1024;
        let lengthwise = env!("CARGO_BIN_EXE_lengthwise");
        for (size, code) in [("24MB", 2), (least.as_str(), 0)] {
            let script = format!("ulimit -d {limit} && {lengthwise} {verify} --memory {size}");
            let mut shell = std::process::Command::new("sh");
            let output = shell.args(["-c", &script]).current_dir(folder.folder()).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{form} --memory {size}: {said}");
            assert_eq!(
                said.contains("over the bound"),
                code == 2,
                "{form} --memory {size}: {said}"
            );
        }
    }
}
