//! Folders with one array and an index.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use lengthwise_lab::data::flat::{Columns, Settings, load};
use lengthwise_lab::data::{Inputs, Join, Ragged, Split, Targets, Task};
use tempfile::TempDir;

/// A file as `numpy.save` writes it.
pub(crate) fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(data);
    file
}

pub(crate) fn floats(width: usize, values: &[f32]) -> Vec<u8> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    npy("<f4", &format!("({}, {width})", values.len() / width), &bytes)
}

/// Six sequences of two features, by two speakers, of the words `no` and `yes` with two states each.
/// Feature 0 is ten times the sequence plus the row, feature 1 marks the second row.
struct Folder(TempDir);

const LENGTHS: [usize; 6] = [3, 4, 2, 5, 3, 4];
const INDEX: &str = "id,who,word,split,offset,frames\n\
    a,ann,no,train,0,3\n\
    b,ann,yes,train,3,4\n\
    c,bob,no,train,7,2\n\
    d,bob,yes,train,9,5\n\
    e,ann,no,test,14,3\n\
    f,bob,yes,test,17,4\n";

impl Folder {
    fn new() -> Self {
        let folder = Self(TempDir::new().unwrap());
        let mut features = Vec::new();
        let mut labels = Vec::new();
        for (sequence, &length) in LENGTHS.iter().enumerate() {
            for row in 0..length {
                features.push((10 * sequence + row) as f32);
                features.push(f32::from(u8::from(row == 1)));
                labels.push((2 * (sequence % 2) + usize::from(row > 0)) as u8);
            }
        }
        folder.write("x.npy", floats(2, &features));
        folder.write("y.npy", npy("|u1", "(21,)", &labels));
        folder.write("index.csv", INDEX);
        folder
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.0.path().join(name), content).unwrap();
    }

    fn settings(&self) -> Settings {
        Settings {
            features: Some("x.npy".into()),
            label: Columns(vec!["word".into()]),
            normalize: false,
            ..settings(self.0.path())
        }
    }

    /// What is said, with the folder left out.
    fn said(&self, settings: &Settings) -> String {
        let error = load(settings).unwrap_err();
        assert!(!error.hint().is_empty());
        error.to_string().replace(&format!("{}/", self.0.path().display()), "")
    }
}

fn settings(path: &Path) -> Settings {
    let table = format!("path = {:?}", path.to_str().unwrap());
    toml::from_str(&table).unwrap()
}

pub(crate) fn join(by: &str, most: u32) -> Join {
    Join { by: by.into(), most, least: 1, times: 1 }
}

fn frames(task: &Task) -> &Ragged<f32> {
    match &task.training.inputs {
        Inputs::Frames(values) => values,
        Inputs::Symbols { .. } => panic!("symbols"),
    }
}

#[test]
fn a_column_of_the_index_is_the_class() {
    let folder = Folder::new();
    let task = load(&folder.settings()).unwrap();
    assert_eq!(frames(&task).len(), 4);
    assert_eq!(frames(&task).get(2), [20.0, 0.0, 21.0, 1.0]);
    let Targets::Classes { names, values } = &task.validation.targets else { panic!() };
    assert_eq!((names.join(" "), &values[..]), ("no yes".into(), &[0, 1][..]));
}

#[test]
fn features_get_the_scale_of_the_training_part() {
    let folder = Folder::new();
    let task = load(&Settings { normalize: true, ..folder.settings() }).unwrap();
    let rows = frames(&task).rows() as f32;
    for feature in 0..2 {
        let column = || frames(&task).values().iter().skip(feature).step_by(2);
        assert!((column().sum::<f32>() / rows).abs() < 1e-5);
        assert!((column().map(|value| value * value).sum::<f32>() / rows - 1.0).abs() < 1e-4);
    }
    // The sequences that are examined are beyond, on the same scale.
    let Inputs::Frames(other) = &task.validation.inputs else { panic!() };
    let step = frames(&task).get(0)[2] - frames(&task).get(0)[0];
    let apart = other.get(1)[0] - frames(&task).get(0)[0];
    assert!((apart / step - 50.0).abs() < 1e-3, "{apart} {step}");
}

#[test]
fn constant_features_and_outliers_do_no_harm() {
    let folder = Folder::new();
    let mut values = vec![7.0; 42];
    for row in 0..21 {
        values[2 * row] = (row % 2) as f32;
    }
    values[28] = 1e30;
    folder.write("x.npy", floats(2, &values));
    let task = load(&Settings { normalize: true, ..folder.settings() }).unwrap();
    assert!(frames(&task).values().iter().skip(1).step_by(2).all(|&value| value == 0.0));
    let Inputs::Frames(other) = &task.validation.inputs else { panic!() };
    assert_eq!(other.get(0)[..1], [8.0]);
}

#[test]
fn rows_are_thinned_and_become_differences() {
    let folder = Folder::new();
    let thin = Settings { every: 3, ..folder.settings() };
    let task = load(&thin).unwrap();
    assert_eq!(frames(&task).get(3), [30.0, 0.0, 33.0, 0.0, 34.0, 0.0]);
    let marked = Settings { keep: Some(1), difference: vec![0], columns: Some(vec![0]), ..thin };
    let task = load(&marked).unwrap();
    assert_eq!(frames(&task).get(3), [0.0, 1.0, 2.0, 1.0]);
}

#[test]
fn sequences_of_one_speaker_make_lines_with_transcripts() {
    let folder = Folder::new();
    let join = Some(join("who", 2));
    let joined = Settings { join, ..folder.settings() };
    let mut seen = [false; 3];
    for seed in 0..20 {
        let task = load(&Settings { seed, ..joined.clone() }).unwrap();
        assert_eq!(task, load(&Settings { seed, ..joined.clone() }).unwrap());
        let Targets::Transcripts { names, values } = &task.training.targets else { panic!() };
        assert_eq!(names.join(" "), "no yes");
        assert_eq!((values.rows(), frames(&task).rows()), (4, 14));
        seen[values.len() - 2] = true;
        for line in 0..values.len() {
            // Feature 0 tells the sequence: 0 and 1 are of one speaker, 2 and 3 of the other.
            let rows = frames(&task).get(line).iter().step_by(2);
            let mut sequences: Vec<u32> = rows.map(|value| *value as u32 / 10).collect();
            sequences.dedup();
            assert!(sequences.iter().all(|sequence| sequence / 2 == sequences[0] / 2));
            let words: Vec<u32> = sequences.iter().map(|sequence| sequence % 2).collect();
            assert_eq!(values.get(line), words);
        }
    }
    assert_eq!(seen, [true; 3], "lines of one and of two");
}

#[test]
fn labels_of_frames_are_states_of_words() {
    let folder = Folder::new();
    let labelled = Settings { labels: Some("y.npy".into()), ..folder.settings() };
    let task = load(&labelled).unwrap();
    let Targets::Labels { names, values, words: None } = &task.training.targets else { panic!() };
    assert_eq!((names.len(), values.get(1)), (4, &[2, 3, 3, 3][..]));
    let spoken = Settings { states: Some(2), ..labelled };
    let task = load(&spoken).unwrap();
    let Targets::Labels { names, words: Some(words), .. } = &task.training.targets else {
        panic!()
    };
    assert_eq!(names.join(","), "no 0,no 1,yes 0,yes 1");
    assert_eq!(words.names.join(","), "no,yes");
    assert_eq!(words.states, [[0, 1], [2, 3]]);
    assert_eq!(words.spoken.values(), [0, 1, 0, 1]);
    let join = Some(join("who", 2));
    let task = load(&Settings { join, ..spoken }).unwrap();
    let Targets::Labels { values, words: Some(words), .. } = &task.training.targets else {
        panic!()
    };
    for line in 0..values.len() {
        let mut states = values.get(line).to_vec();
        states.dedup();
        let passed: Vec<u32> =
            words.spoken.get(line).iter().flat_map(|word| [2 * word, 2 * word + 1]).collect();
        assert_eq!(states, passed);
    }
}

#[test]
fn the_split_may_be_any_column() {
    let folder = Folder::new();
    let split = Split { column: "who".into(), training: vec![], validation: vec!["bob".into()] };
    let task = load(&Settings { split: Some(split), ..folder.settings() }).unwrap();
    assert_eq!((frames(&task).len(), task.validation.inputs.len()), (3, 3));
    let label = Columns(vec!["who".into(), "word".into()]);
    let task = load(&Settings { label, ..folder.settings() }).unwrap();
    let Targets::Classes { names, .. } = &task.training.targets else { panic!() };
    assert_eq!(names.join(" "), "ann/no ann/yes bob/no bob/yes");
}

#[test]
fn files_that_are_missing_or_of_another_shape() {
    let folder = Folder::new();
    let with = |name: &str| Settings { features: Some(name.into()), ..folder.settings() };
    assert_eq!(folder.said(&with("z.npy")), "z.npy: no such file or directory");
    assert_eq!(
        folder.said(&with("index.csv")),
        "index.csv: is not a NumPy array: it does not begin with the NumPy magic"
    );
    assert_eq!(
        folder.said(&with("y.npy")),
        "y.npy: the features have shape (21,), not (rows, features)"
    );
    let several = Settings { features: None, ..folder.settings() };
    assert!(folder.said(&several).ends_with("holds several arrays: `x.npy`, `y.npy`"));
    let one = Settings { labels: Some("y.npy".into()), ..several };
    assert!(load(&one).is_ok());
    let labels = |name: &str| Settings { labels: Some(name.into()), ..folder.settings() };
    assert_eq!(
        folder.said(&labels("x.npy")),
        "x.npy: `x.npy` does not hold one whole number a row"
    );
    folder.write("short.npy", npy("|u1", "(20,)", &[0; 20]));
    assert_eq!(
        folder.said(&labels("short.npy")),
        "short.npy: has 20 labels, and the features 21 rows"
    );
    folder.write("below.npy", npy("|i1", "(21,)", &[255; 21]));
    assert_eq!(
        folder.said(&labels("below.npy")),
        "below.npy: row 0 has label -1, and labels are from 0 to 65535"
    );
    let mut stray = [0; 21];
    stray[13] = 200;
    folder.write("stray.npy", npy("|u1", "(21,)", &stray));
    assert_eq!(
        folder.said(&labels("stray.npy")),
        "stray.npy: row 13 has label 200, and there are 2 kinds of labels"
    );
    fs::remove_file(folder.0.path().join("index.csv")).unwrap();
    assert_eq!(folder.said(&folder.settings()), "index.csv: no such file or directory");
}

#[test]
fn an_index_that_is_wrong() {
    let folder = Folder::new();
    let said = |from: &str, to: &str| {
        assert!(INDEX.contains(from));
        folder.write("index.csv", INDEX.replace(from, to));
        folder.said(&folder.settings())
    };
    let there = "there are `id`, `who`, `word`, `split`, ";
    assert_eq!(
        said("frames", "length"),
        format!("index.csv:1: has no column `frames` or `points`; {there}`offset`, `length`")
    );
    assert_eq!(
        said("offset", "start"),
        format!("index.csv:1: has no column `offset`; {there}`start`, `frames`")
    );
    assert!(said("split", "part").contains("has no column `split`; there are"));
    assert!(said("word", "said").contains("has no column `word`; there are"));
    assert_eq!(
        said("3,4", "3,many"),
        "index.csv:3: column `frames` holds `many`, not a whole number"
    );
    assert_eq!(said("3,4", "3,0"), "index.csv:3: column `frames` is 0");
    assert_eq!(said("7,2", "7"), "index.csv:4: has 5 fields, and the header 6");
    let beyond = said("17,4", "17,5");
    assert!(
        beyond.starts_with("index.csv:7: the sequence is of 5 rows from row 17, and `"),
        "{beyond}"
    );
    assert!(beyond.ends_with("` has 21"), "{beyond}");
    assert!(said("17,4", &format!("17,{}", usize::MAX)).contains("has 21"));
    assert_eq!(
        said("test", "dev"),
        "index.csv: the validation part is empty: no row has `test` in column `split`; there are \
         `dev`, `train`"
    );
    assert!(
        said("ann,no,test", "ann,maybe,test")
            .ends_with(": `maybe` is in the validation part and not in the training part")
    );
    folder.write("index.csv", "id,offset\n");
    assert_eq!(folder.said(&folder.settings()), "index.csv: names no sequences");
}

#[test]
fn numbers_that_are_none() {
    let folder = Folder::new();
    let mut values = vec![0.0; 42];
    values[2 * 11 + 1] = f32::NAN;
    folder.write("x.npy", floats(2, &values));
    assert_eq!(
        folder.said(&folder.settings()),
        "x.npy: sequence 3 (`d`) has NaN at frame 2, feature 1"
    );
}

#[test]
fn settings_that_make_no_sense() {
    let folder = Folder::new();
    let nothing = Settings { label: Columns(vec![]), ..folder.settings() };
    assert_eq!(folder.said(&nothing), "index.csv: it is not said what to learn");
    let beyond = Settings { difference: vec![0, 2], ..folder.settings() };
    assert_eq!(
        folder.said(&beyond),
        "x.npy: `difference` names feature 2, and features are from 0 to 1"
    );
    let none = Settings { columns: Some(vec![]), ..folder.settings() };
    assert_eq!(folder.said(&none), "x.npy: `columns` is empty");
    let none = Settings { states: Some(0), ..folder.settings() };
    assert_eq!(folder.said(&none), "index.csv: `states` is 0");
    let by = Some(join("speaker", 2));
    assert!(
        folder.said(&Settings { join: by, ..folder.settings() }).contains("no column `speaker`")
    );
    let mixed = Settings { labels: Some("y.npy".into()), states: Some(1), ..folder.settings() };
    assert_eq!(
        folder.said(&mixed),
        "y.npy: sequence 0 (`a`) begins with word 0 and has label 1 at frame 1, of word 1"
    );
    let mixed = Settings { states: Some(4), ..mixed };
    let said = folder.said(&mixed);
    assert!(said.ends_with(": word 0, of labels 0 to 3, is both `no` and `yes`"), "{said}");
}

#[test]
fn transcripts_that_cannot_be_spelt() {
    let folder = Folder::new();
    let mut index = String::from("who,word,split,offset,frames\n");
    for row in 0..6 {
        writeln!(index, "ann,no,{},{row},1", if row < 4 { "train" } else { "test" }).unwrap();
    }
    folder.write("index.csv", index);
    let join = Some(join("who", 4));
    let said = folder.said(&Settings { join, seed: 1, ..folder.settings() });
    assert!(said.contains(" steps, and its transcript needs "), "{said}");
}

/// Where the data of the experiments is, if it is on this machine.
pub(crate) fn real(name: &str) -> Option<PathBuf> {
    let folder = PathBuf::from(env::var_os("LENGTHWISE_DATA")?).join(name);
    folder.is_dir().then_some(folder)
}

#[test]
fn real_recordings_of_digits() {
    let Some(folder) = real("spoken_digits") else { return };
    let table = r#"
        features = "mfcc16.npy"
        labels = "state_labels.npy"
        label = "digit"
        states = 4
        join = { by = "speaker", most = 5 }
    "#;
    let table = format!("path = {:?}\n{table}", folder.to_str().unwrap());
    let task = load(&toml::from_str(&table).unwrap()).unwrap();
    let Targets::Labels { names, words: Some(words), .. } = &task.training.targets else {
        panic!()
    };
    assert_eq!((names.len(), words.names.join("")), (40, "0123456789".into()));
    assert_eq!(words.spoken.rows(), 2700);
    assert!((700..1100).contains(&frames(&task).len()));
}

#[test]
fn real_characters_and_vowels() {
    let Some(folder) = real("pen_omniglot") else { return };
    let table = r#"
        label = ["alphabet", "character"]
        join = { by = "drawer", most = 4 }
        difference = [0, 1]
        columns = [0, 1, 3]
        every = 4
        keep = 3
    "#;
    let table = format!("path = {:?}\n{table}", folder.to_str().unwrap());
    let task = load(&toml::from_str(&table).unwrap()).unwrap();
    let Targets::Transcripts { names, values } = &task.training.targets else { panic!() };
    assert_eq!((names.len(), values.rows(), frames(&task).width()), (242, 3872, 3));

    let Some(folder) = real("japanese_vowels") else { return };
    let task =
        load(&Settings { label: Columns(vec!["speaker".into()]), ..settings(&folder) }).unwrap();
    assert_eq!((frames(&task).len(), task.validation.inputs.len()), (270, 370));
    let Targets::Classes { names, .. } = &task.training.targets else { panic!() };
    assert_eq!(names.join(""), "123456789");
}

#[test]
fn empty_labels_and_counts_of_nothing_are_refused() {
    let folder = Folder::new();
    folder.write("index.csv", INDEX.replace("bob,no", "bob,"));
    let settings = folder.settings();
    assert_eq!(folder.said(&settings), "index.csv:4: column `word` is empty");
    folder.write("index.csv", INDEX);
    let nothing = Settings { every: 0, ..folder.settings() };
    assert_eq!(folder.said(&nothing), "index.csv: `every` is 0");
    let join = Some(join("who", 0));
    let nothing = Settings { join, ..folder.settings() };
    assert!(folder.said(&nothing).ends_with("`join` has at most 0 pieces"));
}

#[test]
fn numbers_beyond_all_bounds_are_shown_in_short() {
    let folder = Folder::new();
    let values: Vec<u8> = (0..42).flat_map(|_| 1e300_f64.to_le_bytes()).collect();
    folder.write("x.npy", npy("<f8", "(21, 2)", &values));
    let said = folder.said(&folder.settings());
    assert_eq!(said, "x.npy: sequence 0 (`a`) has 1e300 at frame 0, feature 0");
}
