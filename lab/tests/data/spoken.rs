//! Words that speakers say: labels of frames that are found, speakers that are held out, and words that are spelled.

use std::fmt::Write as _;
use std::fs;

use lengthwise_lab::data::flat::{Columns, Settings, load};
use lengthwise_lab::data::{Dataset, Inputs, Ragged, Targets, Task};
use tempfile::TempDir;

use super::flat::floats;

/// The states of the words `0` and `1`: a frame in state `s` of word `w` is near 3s and 5w.
const STATES: usize = 3;
const SPEAKERS: [&str; 4] = ["ann", "bob", "eve", "joe"];
const TAKES: usize = 5;

/// Recordings of two words by four speakers. How long each state lasts follows from the speaker and the take.
struct Folder {
    path: TempDir,
    /// The state of every frame of every recording.
    truth: Vec<Vec<u32>>,
}

impl Folder {
    /// Frames of the speaker who is `loud` are so much higher.
    fn new(loud: &str, by: f32) -> Self {
        let (mut index, mut values) = (String::from("who,word,take,offset,frames\n"), Vec::new());
        let mut truth: Vec<Vec<u32>> = Vec::new();
        for (speaker, name) in SPEAKERS.iter().enumerate() {
            for (word, take) in (0..2).flat_map(|word| (0..TAKES).map(move |take| (word, take))) {
                let offset = values.len() / 2;
                let mut states = Vec::new();
                for state in 0..STATES {
                    let frames = 1 + (speaker + 2 * take + state * (word + 1)) % 4;
                    states.extend(std::iter::repeat_n(state as u32, frames));
                }
                for (frame, &state) in states.iter().enumerate() {
                    let away = 0.1 * ((7 * take + 3 * frame) % 5) as f32;
                    let louder = if *name == loud { by } else { 0.0 };
                    values.push(3.0 * state as f32 + away + louder);
                    values.push(5.0 * word as f32 - away);
                }
                writeln!(index, "{name},{word},{take},{offset},{}", states.len()).unwrap();
                truth.push(states);
            }
        }
        let path = TempDir::new().unwrap();
        fs::write(path.path().join("x.npy"), floats(2, &values)).unwrap();
        fs::write(path.path().join("index.csv"), index).unwrap();
        Self { path, truth }
    }

    fn settings(&self, table: &str) -> Settings {
        let path = self.path.path().to_str().unwrap();
        toml::from_str(&format!("path = {path:?}\nlabel = \"word\"\n{table}")).unwrap()
    }

    fn load(&self, table: &str) -> Task {
        load(&self.settings(table)).unwrap()
    }

    fn said(&self, table: &str) -> String {
        let error = load(&self.settings(table)).unwrap_err();
        assert!(!error.hint().is_empty());
        let folder = self.path.path().display().to_string();
        error.to_string().replace(&format!("{folder}/"), "").replace(&folder, "here")
    }

    /// The recordings of a speaker.
    fn of(&self, speaker: &str) -> &[Vec<u32>] {
        let place = SPEAKERS.iter().position(|name| *name == speaker).unwrap();
        &self.truth[place * 2 * TAKES..(place + 1) * 2 * TAKES]
    }
}

fn labels(data: &Dataset) -> &Ragged<u32> {
    let Targets::Labels { values, .. } = &data.targets else { panic!("no labels") };
    values
}

fn frames(data: &Dataset) -> &Ragged<f32> {
    match (&data.inputs, &data.targets) {
        (_, Targets::Frames(frames)) | (Inputs::Frames(frames), _) => frames,
        _ => panic!("no frames"),
    }
}

fn letters(data: &Dataset) -> Vec<String> {
    let Inputs::Symbols { names, values } = &data.inputs else { panic!("no symbols") };
    let text = |line| values.get(line).iter().map(|&letter| names[letter as usize].as_str());
    (0..values.len()).map(|line| text(line).collect()).collect()
}

const EVE: &str = "split = { column = \"who\", validation = [\"eve\"] }";

#[test]
fn known_states_are_found_in_both_parts() {
    let folder = Folder::new("", 0.0);
    let task = folder.load(&format!("align = 3\n{EVE}"));
    let Targets::Labels { names, words: Some(words), .. } = &task.training.targets else {
        panic!("no words")
    };
    assert_eq!(names.join(","), "0 0,0 1,0 2,1 0,1 1,1 2");
    assert_eq!(words.states, [[0, 1, 2], [3, 4, 5]]);
    let found = labels(&task.validation);
    assert_eq!(found.len(), 2 * TAKES);
    for (recording, truth) in folder.of("eve").iter().enumerate() {
        let word = (recording / TAKES) as u32;
        let truth: Vec<u32> = truth.iter().map(|state| 3 * word + state).collect();
        assert_eq!(found.get(recording), truth);
    }
    let training = ["ann", "bob", "joe"].iter().flat_map(|speaker| folder.of(speaker));
    for (recording, truth) in training.enumerate() {
        let states: Vec<u32> =
            labels(&task.training).get(recording).iter().map(|label| label % 3).collect();
        assert_eq!(states, *truth);
    }
}

#[test]
fn what_is_held_out_changes_nothing_in_the_training_part() {
    let [one, other] =
        [0.0, 40.0].map(|by| Folder::new("eve", by).load(&format!("align = 3\n{EVE}")));
    assert_eq!(one.training, other.training);
    assert_ne!(one.validation, other.validation);
    // Who is not held out does.
    let other = Folder::new("ann", 40.0).load(&format!("align = 3\n{EVE}"));
    assert_ne!(one.training, other.training);
}

#[test]
fn all_recordings_of_a_speaker_are_held_out() {
    let folder = Folder::new("", 0.0);
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..30 {
        let table = format!("hold_out = {{ by = \"who\" }}\nseed = {seed}");
        let task = folder.load(&table);
        assert_eq!(task, folder.load(&table));
        let out: Vec<usize> = task.validation.inputs.lengths().collect();
        let who = SPEAKERS
            .iter()
            .find(|speaker| folder.of(speaker).iter().map(Vec::len).collect::<Vec<_>>() == out);
        seen.insert(who.unwrap());
        assert_eq!(task.training.len(), 3 * 2 * TAKES);
    }
    assert_eq!(seen.len(), SPEAKERS.len(), "{seen:?}");
    let two = folder.load("hold_out = { by = \"who\", count = 2 }");
    assert_eq!((two.training.len(), two.validation.len()), (4 * TAKES, 4 * TAKES));
    let share = folder.load("hold_out = 0.3");
    assert!(share.validation.len() > 2 && share.training.len() > 20);
}

#[test]
fn words_are_spelled_and_become_frames() {
    let folder = Folder::new("", 0.0);
    let table = |more: &str| {
        format!("normalize = false\n{EVE}\njoin = {{ by = \"who\", most = 4 }}\n[spell]\n{more}")
    };
    let task = folder.load(&table("0 = \"no\"\n1 = \"yes sir\""));
    let Inputs::Symbols { names, .. } = &task.training.inputs else { panic!("no symbols") };
    assert_eq!(names.join(""), " einorsy");
    let mut words = 0;
    for (line, text) in letters(&task.training).iter().enumerate() {
        // The second feature tells the word of a frame, the first where it begins.
        let rows: Vec<&[f32]> = frames(&task.training).get(line).chunks(2).collect();
        let first = |at: usize| at == 0 || rows[at][0] + 2.0 < rows[at - 1][0];
        let said = (0..rows.len())
            .filter(|&at| first(at))
            .map(|at| if rows[at][1] > 2.0 { "yes sir" } else { "no" });
        assert_eq!(*text, said.collect::<Vec<_>>().join(" "));
        words += text.matches("no").count() + text.matches("yes").count();
    }
    assert_eq!(words, 3 * 2 * TAKES);
    let plain = folder.load(&table(""));
    assert!(letters(&plain.training).iter().all(|text| text.chars().all(|c| "01 ".contains(c))));
    assert_eq!(
        folder.said(&table("2 = \"two\"")),
        "here: `spell` has `2`, and the labels are `0`, `1`"
    );
}

#[test]
fn lines_have_at_least_so_many_pieces_and_pieces_are_in_several_lines() {
    let folder = Folder::new("", 0.0);
    let lines = |join: &str| {
        let task = folder.load(&format!("{EVE}\njoin = {{ by = \"who\", {join} }}"));
        [task.training, task.validation].map(|data| {
            let Targets::Transcripts { values, .. } = data.targets else { panic!("no lines") };
            (0..values.len()).map(|line| values.length(line)).collect::<Vec<_>>()
        })
    };
    let [training, validation] = lines("least = 3, most = 4, times = 5");
    assert_eq!(training.iter().sum::<usize>(), 5 * 3 * 2 * TAKES);
    assert_eq!(validation.iter().sum::<usize>(), 2 * TAKES);
    // Only what is left over of a speaker's recordings is shorter.
    assert!(training.iter().filter(|&&pieces| pieces < 3).count() <= 5 * 3, "{training:?}");
    assert!(training.contains(&4) && training.iter().all(|&pieces| pieces <= 4));
    let [training, _] = lines("most = 1");
    assert_eq!(training, vec![1; 3 * 2 * TAKES]);
}

#[test]
fn only_some_sequences_are_used() {
    let folder = Folder::new("", 0.0);
    let task = folder
        .load(&format!("{EVE}\nonly = {{ who = [\"ann\", \"eve\"], take = [\"0\", \"3\"] }}"));
    assert_eq!((task.training.len(), task.validation.len()), (4, 4));
    // What is held out is drawn from what is used.
    let task = folder.load("only = { who = [\"ann\", \"joe\"] }\nhold_out = { by = \"who\" }");
    assert_eq!((task.training.len(), task.validation.len()), (2 * TAKES, 2 * TAKES));
    assert_eq!(
        folder.said("only = { who = [\"tom\"] }"),
        "index.csv: no row has `tom` in column `who`; there are `ann`, `bob`, `eve`, `joe`"
    );
    assert_eq!(folder.said("only = { who = [] }"), "index.csv: no value of column `who` is used");
    assert!(folder.said("only = { room = [\"1\"] }").contains("has no column `room`"));
}

#[test]
fn settings_that_cannot_be_together_are_refused() {
    let folder = Folder::new("", 0.0);
    assert_eq!(
        folder.said(&format!("{EVE}\nhold_out = 0.1")),
        "index.csv: `split` and `hold_out` each say what to examine on"
    );
    assert_eq!(
        folder.said(&format!("{EVE}\nalign = 3\nspell = {{}}")),
        "index.csv: `align` and `spell` each say what to learn"
    );
    assert_eq!(
        folder.said(&format!("{EVE}\nalign = 0")),
        "index.csv: `align` is 0, or `states` is there too"
    );
    let unknown = Settings { label: Columns::default(), ..folder.settings("align = 3") };
    let said = load(&unknown).unwrap_err().to_string();
    assert!(said.ends_with("it is not said what to learn"), "{said}");
    let said = folder.said(&format!("{EVE}\nalign = 9"));
    assert!(said.ends_with(" frames, and a word has 9 states"), "{said}");
    assert_eq!(
        folder.said("hold_out = { by = \"who\", count = 4 }"),
        "index.csv: `hold_out` has a count of 4, and column `who` has 4 values: `ann`, `bob`, `eve`, `joe`"
    );
    assert!(folder.said("hold_out = 1.5").ends_with("`hold_out` is 1.5"));
    let said = folder.said(&format!("{EVE}\njoin = {{ by = \"who\", least = 5, most = 4 }}"));
    assert_eq!(said, "here: `join` has 5 to 4 pieces");
}
