//! The experiments of the papers on folders that are made like the real ones.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::{
    fmt::Write as _,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use lengthwise_lab::report::Training;

/// A file as `numpy.save` writes it.
fn npy(descr: &str, rows: usize, width: usize, data: &[u8]) -> Vec<u8> {
    let header =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({rows}, {width}), }}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(data);
    file
}

/// The features of a frame of speech.
const WIDTH: usize = 16;

/// Ten digits by three speakers, takes 4 to 7 of each; the first is for validation.
fn digits(folder: &Path) {
    let (mut index, mut values) =
        (String::from("speaker,digit,take,split,offset,frames\n"), Vec::new());
    for (speaker, digit, take) in (0..3)
        .flat_map(|speaker| (0..10).map(move |digit| (speaker, digit)))
        .flat_map(|(speaker, digit)| (0..4).map(move |take| (speaker, digit, take)))
    {
        let frames = 5 + (3 * speaker + 2 * digit + 5 * take) % 11;
        let split = if take == 0 { "test" } else { "train" };
        let (offset, take_number) = (values.len() / WIDTH, take + 4);
        writeln!(index, "s{speaker},{digit},{take_number},{split},{offset},{frames}").unwrap();
        for (frame, feature) in (0..frames).flat_map(|row| (0..WIDTH).map(move |at| (row, at))) {
            values.push(((digit + feature) * (frame + 1) + speaker * take) as f32);
        }
    }
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    fs::write(folder.join("mfcc16.npy"), npy("<f4", values.len() / WIDTH, WIDTH, &bytes)).unwrap();
    // An alignment that no experiment may read.
    fs::write(folder.join("state_labels.npy"), "damaged").unwrap();
    fs::write(folder.join("index.csv"), index).unwrap();
}

/// Three characters each of three alphabets by four drawers; the last is for validation.
fn pen(folder: &Path) {
    let header = "alphabet,character,drawer,split,offset,points\n";
    let (mut index, mut values) = (String::from(header), Vec::<i16>::new());
    for (alphabet, character, drawer) in ["Greek", "Latin", "Tagalog"]
        .into_iter()
        .flat_map(|alphabet| (0..3).map(move |character| (alphabet, character)))
        .flat_map(|(alphabet, character)| (0..4).map(move |drawer| (alphabet, character, drawer)))
    {
        let points: i16 = 12 + 5 * character + 3 * drawer;
        let split = if drawer == 3 { "test" } else { "train" };
        let offset = values.len() / 4;
        writeln!(index, "{alphabet},c{character},{drawer},{split},{offset},{points}").unwrap();
        for point in 0..points {
            let end = i16::from(point == 6 || point + 1 == points);
            values.extend([point * (character + 1), -point * point, 8, end]);
        }
    }
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    fs::write(folder.join("points.npy"), npy("<i2", values.len() / 4, 4, &bytes)).unwrap();
    fs::write(folder.join("index.csv"), index).unwrap();
}

/// Trains every run of an experiment for an epoch of a tiny model, and checks that it was the epoch that was planned.
fn trained(name: &str, data: fn(&Path)) -> Training {
    let folder = tempfile::tempdir().unwrap();
    data(folder.path());
    let lab = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_lengthwise-lab"))
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .args(arguments)
            .args(["--data", ".", "--epochs", "1", "--units", "8", "--seeds", "1"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let planned = lab(&["check", name]);
    lab(&["run", name, "--out", "out", "--device", "cpu", "-q"]);
    let results = fs::read_to_string(folder.path().join("out/results.jsonl")).unwrap();
    let training = Training::from_jsonl(&results).unwrap();
    let about = |key: &str| &training.about.iter().find(|(what, _)| what == key).unwrap().1;
    let sequences = about("sequences").split_once(" for training, ").unwrap().0.parse().unwrap();
    let frames = training.runs[0].epochs[0].frames;
    for run in &training.runs {
        assert_eq!(run.epochs.len(), 1, "{name}: {}", run.name);
        let epoch = &run.epochs[0];
        // Every sequence once, whole or in pieces.
        assert_eq!((epoch.sequences, epoch.frames), (sequences, frames), "{name}: {}", run.name);
        // One worker takes a step for every batch of the plan.
        assert_eq!(epoch.steps, epoch.batches, "{name}: {}", run.name);
        let padding = 100.0 * (1.0 - epoch.frames as f64 / epoch.cells as f64);
        let (batches, shapes) = (epoch.batches, epoch.shapes);
        let expected = format!(
            "{:24} {batches:>5} batches, padding {padding:>5.1} %, {shapes} shapes ",
            run.name
        );
        assert!(planned.contains(&expected), "{name}: expected {expected:?}, got\n{planned}");
    }
    training
}

#[test]
fn paper_1_learns_states_that_it_found_and_holds_a_speaker_out() {
    for (name, runs) in [
        ("paper1-table1", 5),
        ("paper1-table2", 6),
        ("paper1-table2-others", 7),
        ("paper1-table2-speaker", 6),
        ("paper1-table2-takes", 6),
        ("paper1-table2-takes-16", 6),
    ] {
        assert_eq!(trained(name, digits).runs.len(), runs);
    }
}

#[test]
fn paper_2_reads_words_aloud() {
    assert_eq!(trained("paper2-table2", digits).runs.len(), 10);
    assert_eq!(trained("paper2-table2-longer", digits).runs.len(), 4);
}

#[test]
fn paper_3_reads_pen_strokes_and_writes_digits_down() {
    for (name, data) in [
        ("paper3-fig3", pen as fn(&Path)),
        ("paper3-fig3-digits", digits),
        ("paper3-fig3-strings", digits),
    ] {
        assert_eq!(trained(name, data).runs.len(), 3);
    }
}

#[test]
fn an_experiment_without_a_task_needs_data() {
    let output = Command::new(env!("CARGO_BIN_EXE_lengthwise-lab"))
        .stdin(Stdio::null())
        .args(["check", "paper3-fig3-digits"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("has no [task] to generate") && said.contains("--data PATH"), "{said}");
}
