//! `--memory`: the same files with a bound on memory, and what cannot keep it.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::fs;

use common::{Folder, refusals};
use expect_test::expect;

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
        "--budget padded:100000",
        "--budget padded:100000 --strategy blurred",
        "--budget sequences:64 --strategy sorted --arrange as-built",
        "--budget padded:1500 --over-long drop --strategy shuffled",
    ] {
        for form in FORMS.iter().chain(&["json"]) {
            let said = |output: std::process::Output| {
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                (output.stdout, String::from_utf8(output.stderr).unwrap())
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
        assert!(plain == bounded, "{settings}");
    }
}

#[test]
fn what_cannot_keep_the_bound_is_refused() {
    let folder = Folder::new().with("many.npy", npy(&many()));
    let asked = [
        "plan many.npy --budget padded:100000 --memory 1MB",
        "plan many.npy --budget padded:100000 --strategy rotating --memory 30MB",
        "plan many.npy --budget padded:100000 --world-size 4 --memory 1GB",
        "plan many.npy --budget padded:100000 --constant-steps --memory 1GB",
        "plan many.npy --budget padded:100000 --chunk 100 --memory 1GB --json",
        "plan many.npy --budget padded:100000 --ids --memory 1GB",
        "plan --budget padded:100000 --memory 1GB",
        "verify none.npz --memory 1GB",
        "plan many.npy --budget padded:9999 --statistics a.lws --shard 0 --of 2 --memory 1GB",
    ];
    expect![[r#"
        $ lengthwise plan many.npy --budget padded:100000 --memory 1MB
        error: planning 200000 sequences by `sorted` takes about 24.9MB of memory, over the bound of 1MB

        hint: raise the bound to 24.9MB or more: `--memory 24.9MB`

        $ lengthwise plan many.npy --budget padded:100000 --strategy rotating --memory 30MB
        error: planning 200000 sequences by `rotating:epochs=16` takes about 35.3MB of memory, over the bound of 30MB

        hint: raise the bound to 35.3MB or more: `--memory 35.3MB`; `shuffled`, `sorted`, `semi-sorted`, `blurred` and buckets of lengths take least

        $ lengthwise plan many.npy --budget padded:100000 --world-size 4 --memory 1GB
        error: dealing batches to ranks and steps takes the whole plan in memory, 8 bytes for each sequence, which `--memory` does not bound

        hint: leave out `--memory`, or plan the whole epoch for one rank

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
