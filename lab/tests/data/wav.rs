//! Folders of WAV files.

use std::f64::consts::TAU;
use std::fs;
use std::path::Path;

use lengthwise_lab::data::mfcc::{COEFFICIENTS, Mfcc};
use lengthwise_lab::data::wav::{Settings, load};
use lengthwise_lab::data::{Groups, HoldOut, Inputs, Ragged, Split, Targets, Task};
use tempfile::TempDir;

use super::flat::{join, real};

/// Writes a tone.
fn tone(path: &Path, rate: u32, hertz: f64, samples: u32) {
    let spec = hound::WavSpec {
        channels: 1,
        sample_rate: rate,
        bits_per_sample: 16,
        sample_format: hound::SampleFormat::Int,
    };
    let mut writer = hound::WavWriter::create(path, spec).unwrap();
    for at in 0..samples {
        let sample = libm::sin(TAU * hertz * f64::from(at) / f64::from(rate));
        writer.write_sample((12_000.0 * sample) as i16).unwrap();
    }
    writer.finalize().unwrap();
}

struct Folder(TempDir);

impl Folder {
    /// Twelve tones, six low and six high, of two speakers.
    fn new() -> Self {
        let folder = Self(TempDir::new().unwrap());
        for take in 0..6 {
            let speaker = ["ann", "bob"][take % 2];
            let samples = 400 + 80 * take as u32;
            let path = |label: &str| folder.0.path().join(format!("{label}_{speaker}_{take}.wav"));
            tone(&path("low"), 8000, 300.0, samples);
            tone(&path("high"), 8000, 1200.0, samples);
        }
        folder
    }

    fn settings(&self) -> Settings {
        let table = format!("path = {:?}\nhold_out = 0.4", self.0.path().to_str().unwrap());
        toml::from_str(&table).unwrap()
    }

    fn table(&self, text: &str) {
        fs::write(self.0.path().join("labels.csv"), text).unwrap();
    }

    fn said(&self, settings: &Settings) -> String {
        let error = load(settings).unwrap_err();
        assert!(!error.hint().is_empty());
        let folder = self.0.path().display().to_string();
        error.to_string().replace(&format!("{folder}/"), "").replace(&folder, "here")
    }
}

fn frames(task: &Task) -> &Ragged<f32> {
    match &task.training.inputs {
        Inputs::Frames(values) => values,
        Inputs::Symbols { .. } => panic!("symbols"),
    }
}

#[test]
fn names_of_files_are_labels() {
    let folder = Folder::new();
    let task = load(&folder.settings()).unwrap();
    let Targets::Classes { names, values } = &task.training.targets else { panic!() };
    assert_eq!(names.join(" "), "high low");
    assert_eq!(values.len() + task.validation.inputs.len(), 12);
    assert_eq!(frames(&task).width(), COEFFICIENTS);
    // 400 samples are three frames of 200, 80 apart, and 80 more are one more.
    let all: Vec<usize> =
        task.training.inputs.lengths().chain(task.validation.inputs.lengths()).collect();
    assert_eq!((all.iter().min(), all.iter().max()), (Some(&3), Some(&8)));
}

#[test]
fn recordings_of_one_speaker_make_lines() {
    let folder = Folder::new();
    let join = Some(join("speaker", 3));
    let task = load(&Settings { join, ..folder.settings() }).unwrap();
    assert!(matches!(task.training.targets, Targets::Transcripts { .. }));
}

#[test]
fn a_table_has_labels_and_a_split() {
    let folder = Folder::new();
    folder.table(
        "file,label,split\nlow_ann_0.wav,deep,train\nhigh_ann_0.wav,shrill,train\n\
         low_bob_1.wav,deep,test\nhigh_bob_1.wav,shrill,other\n",
    );
    let task = load(&Settings { normalize: false, ..folder.settings() }).unwrap();
    assert_eq!((frames(&task).len(), task.validation.inputs.len()), (2, 1));
    let Targets::Classes { names, .. } = &task.training.targets else { panic!() };
    assert_eq!(names.join(" "), "deep shrill");
    let samples: Vec<f64> = hound::WavReader::open(folder.0.path().join("low_ann_0.wav"))
        .unwrap()
        .samples::<i16>()
        .map(|sample| f64::from(sample.unwrap()) / 32_768.0)
        .collect();
    assert_eq!(frames(&task).get(0), Mfcc::new(8000).compute(&samples));
}

#[test]
fn channels_are_mixed_and_widths_are_scaled() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, bits_per_sample, sample_format| {
        let spec =
            hound::WavSpec { channels: 2, sample_rate: 16_000, bits_per_sample, sample_format };
        let mut writer = hound::WavWriter::create(folder.path().join(name), spec).unwrap();
        for at in 0..800 {
            let sample = 0.5 * libm::sin(f64::from(at) * 0.3);
            for sample in [sample + 0.25, sample - 0.25] {
                match bits_per_sample {
                    32 => writer.write_sample(sample as f32).unwrap(),
                    _ => writer.write_sample((sample * 8_388_608.0) as i32).unwrap(),
                }
            }
        }
        writer.finalize().unwrap();
    };
    write("a_x_0.wav", 32, hound::SampleFormat::Float);
    write("a_x_1.wav", 24, hound::SampleFormat::Int);
    fs::write(
        folder.path().join("labels.csv"),
        "file,label,split\na_x_0.wav,a,train\na_x_1.wav,a,test\n",
    )
    .unwrap();
    let table = format!("path = {:?}\nnormalize = false", folder.path().to_str().unwrap());
    let task = load(&toml::from_str(&table).unwrap()).unwrap();
    let Inputs::Frames(other) = &task.validation.inputs else { panic!() };
    assert_eq!(other.length(0), 3);
    for (one, other) in frames(&task).values().iter().zip(other.values()) {
        assert!((one - other).abs() < 1e-2, "{one} {other}");
    }
}

#[test]
fn folders_and_tables_that_are_wrong() {
    let folder = Folder::new();
    let split = Split { column: "take".into(), training: vec![], validation: vec!["0".into()] };
    assert_eq!(
        folder.said(&Settings { split: Some(split), ..folder.settings() }),
        "here: has no `labels.csv`, and `split` needs a column of it"
    );
    let join = Some(join("room", 2));
    assert_eq!(
        folder.said(&Settings { join, ..folder.settings() }),
        "here: has no `labels.csv`, and `join` needs its column `room`"
    );
    folder.table("name,label\nx,y\n");
    assert_eq!(
        folder.said(&folder.settings()),
        "labels.csv:1: has no column `file`; there are `name`, `label`"
    );
    folder.table("file,label\nlow_ann_0.wav,a\nnone.wav,b\n");
    assert_eq!(folder.said(&folder.settings()), "labels.csv:3: there is no file `none.wav`");
    folder.table("file,label\nlow_ann_0.wav,\n");
    assert_eq!(folder.said(&folder.settings()), "labels.csv:2: column `label` is empty");
    let empty = Folder(TempDir::new().unwrap());
    assert_eq!(empty.said(&empty.settings()), "here: holds no WAV files");
    tone(&empty.0.path().join("nothing.wav"), 8000, 300.0, 400);
    assert_eq!(
        empty.said(&empty.settings()),
        "here: the name `nothing.wav` has no label before its first `_`"
    );
}

#[test]
fn recordings_that_are_wrong() {
    let folder = Folder::new();
    let strange = folder.0.path().join("low_ann_9.wav");
    tone(&strange, 16_000, 300.0, 400);
    let said = folder.said(&folder.settings());
    assert!(said.starts_with("low_ann_9.wav: has 16000 samples a second, and `"), "{said}");
    tone(&strange, 8000, 300.0, 199);
    assert_eq!(
        folder.said(&folder.settings()),
        "low_ann_9.wav: has 199 samples, and a frame needs 200"
    );
    fs::write(&strange, "not sound").unwrap();
    let said = folder.said(&folder.settings());
    assert!(said.starts_with("low_ann_9.wav: is not a WAV file that can be read: "), "{said}");
}

/// The coefficients of a tone that NumPy computed from the definition, to three digits.
#[test]
fn a_tone_has_the_coefficients_of_its_definition() {
    let samples: Vec<f64> =
        (0..280).map(|at| 0.3 * libm::sin(TAU * 440.0 * f64::from(at) / 8000.0)).collect();
    let frames = Mfcc::new(8000).compute(&samples);
    let expected: [f32; 2 * COEFFICIENTS] = [
        -60.389, 8.201, -0.027, -4.850, -7.079, -6.751, -4.043, -0.402, 2.824, 4.346, 3.885, 1.937,
        -0.407, -2.049, -2.352, -1.642, -63.621, 11.950, 1.851, -3.821, -6.469, -6.377, -3.792,
        -0.183, 2.997, 4.404, 3.855, 1.794, -0.629, -2.311, -2.587, -1.805,
    ];
    assert_eq!(frames.len(), expected.len());
    for (found, expected) in frames.iter().zip(expected) {
        assert!((found - expected).abs() < 2e-3, "{found} {expected}");
    }
}

/// The coefficients that others computed from recordings, where the recordings are on this machine.
#[test]
fn real_recordings_have_the_coefficients_that_others_computed() {
    let Some(folder) = real("spoken_digits") else { return };
    let table = format!("path = {:?}\nnormalize = false", folder.join("wav").to_str().unwrap());
    let task = load(&toml::from_str(&table).unwrap()).unwrap();
    let split = "split = { column = \"take\", validation = [\"0\"] }\nlabel = \"digit\"";
    let table = format!(
        "path = {:?}\nfeatures = \"mfcc16.npy\"\nnormalize = false\n{split}",
        folder.to_str().unwrap()
    );
    let flat = lengthwise_lab::data::flat::load(&toml::from_str(&table).unwrap()).unwrap();
    let Inputs::Frames(expected) = &flat.validation.inputs else { panic!() };
    // Both are in the order of names, one of them without what is held out.
    let mut found = 0;
    for own in [&task.training.inputs, &task.validation.inputs] {
        let Inputs::Frames(own) = own else { panic!() };
        for recording in 0..own.len() {
            let own = own.get(recording);
            let same = (0..expected.len()).any(|other| {
                let other = expected.get(other);
                other.len() == own.len()
                    && own.iter().zip(other).all(|(own, other)| (own - other).abs() < 1e-3)
            });
            assert!(same, "recording {recording}");
            found += 1;
        }
    }
    assert_eq!((found, expected.len()), (60, 60));
}

#[test]
fn more_than_all_cannot_be_held_out() {
    let folder = Folder::new();
    for (hold_out, shown) in [(2.0, "2"), (-0.5, "-0.5"), (f64::NAN, "NaN")] {
        let settings = Settings { hold_out: HoldOut::Share(hold_out), ..folder.settings() };
        assert_eq!(folder.said(&settings), format!("here: `hold_out` is {shown}"));
    }
}

#[test]
fn a_speaker_is_held_out() {
    let folder = Folder::new();
    let settings = |by: &str| {
        let hold_out = HoldOut::Groups(Groups { by: by.into(), count: 1 });
        Settings { hold_out, ..folder.settings() }
    };
    // A take has 80 samples more than the one before it: a frame more. Ann has takes 0, 2 and 4.
    let task = load(&settings("speaker")).unwrap();
    let lengths: Vec<usize> = task.validation.inputs.lengths().collect();
    assert_eq!(lengths.len(), 6);
    assert!(lengths.iter().all(|length| length % 2 == lengths[0] % 2), "{lengths:?}");
    assert_eq!(
        folder.said(&settings("room")),
        "here: has no `labels.csv`, and `hold_out` needs its column `room`"
    );
}
