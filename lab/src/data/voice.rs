//! Text that is read aloud: what frames of sound a text becomes.
//!
//! One voice reads everything. A letter sounds a little like its neighbours, and how long it lasts
//! depends on the letter and on whether a word or the text ends with it. The lengths are those of read
//! sentences, a quarter as long: many near the longest, none beyond.

use std::f64::consts::TAU;

use serde::Deserialize;

use super::draw::{Draw, Part, Subject};
use super::{Dataset, Inputs, Ragged, Targets, Task, lexicon};

/// What is read.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Of what everything is drawn.
    pub seed: u64,
    /// How many texts there are to learn from.
    pub training: u32,
    /// How many texts there are to be examined on.
    pub validation: u32,
    /// The most frames of a text. One letter is always read, however long it lasts.
    pub longest: u32,
    /// How much of a frame does not follow from the text.
    pub noise: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { seed: 1, training: 1000, validation: 100, longest: 200, noise: 0.2 }
    }
}

/// How wide a frame is: loudness, pitch, and the spectrum.
pub const FEATURES: usize = 20;

/// Frames of a text.
const LENGTHS: [(f64, f64); 11] = [
    (0.0, 22.0),
    (0.05, 53.0),
    (0.1, 67.0),
    (0.2, 90.0),
    (0.3, 107.0),
    (0.4, 123.0),
    (0.5, 137.0),
    (0.6, 150.0),
    (0.8, 175.0),
    (0.95, 193.0),
    (1.0, 200.0),
];

/// The letters: the space is first.
const LETTERS: &[u8; 27] = b" abcdefghijklmnopqrstuvwxyz";

/// Frames that each of the letters lasts.
const FRAMES: &[u8; 27] = b"252334433523433453243533353";

/// Reads the texts.
pub fn make(settings: &Settings) -> Task {
    let words = lexicon::words_up_to(12);
    let sounds = sounds(settings.seed);
    let names: Vec<String> = LETTERS.iter().map(|&letter| char::from(letter).into()).collect();
    let part = |part, count: u32| {
        let (mut texts, mut frames) = (Ragged::new(1), Ragged::new(FEATURES));
        for index in 0..count {
            let mut draw = Draw::new(settings.seed, Subject::Voice, part, index.into());
            let most = draw.quantile(&LENGTHS).min(settings.longest);
            let text = text(&words, most, &mut draw);
            let durations = durations(&text, &mut draw);
            frames.push(read(&text, &durations, &sounds, settings.noise, &mut draw));
            texts.push(text.into_iter().map(|letter| letter as u32));
        }
        Dataset {
            inputs: Inputs::Symbols { names: names.clone(), values: texts },
            targets: Targets::Frames(frames),
        }
    };
    Task {
        name: "voice".into(),
        source: format!("voice generated with seed {}", settings.seed),
        training: part(Part::Training, settings.training),
        validation: part(Part::Validation, settings.validation),
    }
}

/// Words that are read in about this many frames, as places in the letters.
fn text(words: &[&str], most: u32, draw: &mut Draw) -> Vec<usize> {
    let place = |letter: u8| LETTERS.iter().position(|&other| other == letter).unwrap_or(0);
    let frames = |word: &str| -> u32 { word.bytes().map(|letter| plain(place(letter))).sum() };
    // A word ends a frame later than its letters say, a text three.
    let (mut text, mut left) = (Vec::new(), most.saturating_sub(3));
    loop {
        let last = words.len() as u32;
        let mut word = draw.between(1, last).min(draw.between(1, last));
        // The words are sorted by length: what does not fit is replaced by something shorter.
        while word > 1 && frames(words[word as usize - 1]) + 3 > left {
            word = draw.between(1, word - 1);
        }
        let word = words[word as usize - 1];
        let needed = frames(word) + 3;
        if needed > left && !text.is_empty() {
            return text;
        }
        if !text.is_empty() {
            text.push(0);
        }
        text.extend(word.bytes().map(place));
        left = left.saturating_sub(needed);
    }
}

/// The frames of a letter in the middle of a word.
fn plain(letter: usize) -> u32 {
    u32::from(FRAMES[letter] - b'0')
}

/// How many frames each letter lasts. Now and then one is a frame shorter.
fn durations(text: &[usize], draw: &mut Draw) -> Vec<u32> {
    (0..text.len())
        .map(|at| {
            let end = match text.get(at + 1) {
                None => 3,
                Some(0) => 1,
                Some(_) => 0,
            };
            plain(text[at]) + end - u32::from(draw.happens(0.1))
        })
        .collect()
}

/// What every letter sounds like. A space is silent.
fn sounds(seed: u64) -> Vec<[f64; FEATURES]> {
    (0..LETTERS.len() as u64)
        .map(|letter| {
            let mut draw = Draw::new(seed, Subject::Voice, Part::Common, letter);
            let mut sound = [(); FEATURES].map(|()| draw.normal());
            sound[0] = if letter == 0 { -2.0 } else { 0.3 + 0.4 * sound[0] };
            sound[1] *= 0.2;
            sound
        })
        .collect()
}

/// The frames of a text.
fn read(
    text: &[usize],
    durations: &[u32],
    sounds: &[[f64; FEATURES]],
    noise: f64,
    draw: &mut Draw,
) -> Vec<f32> {
    let whole = f64::from(durations.iter().sum::<u32>());
    let (phase, speed) = (draw.within(0.0, TAU), draw.within(0.15, 0.25));
    let mood = [(); FEATURES].map(|()| 0.5 * noise * draw.normal());
    let mut frames = Vec::with_capacity(whole as usize * FEATURES);
    let mut time = 0.0;
    for (at, &duration) in durations.iter().enumerate() {
        let neighbour = |place: Option<usize>| place.and_then(|place| text.get(place));
        let own = &sounds[text[at]];
        let [before, after] = [at.checked_sub(1), Some(at + 1)]
            .map(|place| neighbour(place).map_or(&sounds[0], |&letter| &sounds[letter]));
        for frame in 0..duration {
            let through = (f64::from(frame) + 0.5) / f64::from(duration);
            // At its edges a letter is half its neighbour, in its middle itself.
            let [from, to] = [(0.5 - through).max(0.0), (through - 0.5).max(0.0)];
            // The pitch falls towards the end, and wavers.
            let pitch = 1.0 - 2.0 * time / whole + 0.3 * libm::sin(phase + speed * time);
            for feature in 0..FEATURES {
                let sound =
                    (1.0 - from - to) * own[feature] + from * before[feature] + to * after[feature];
                let pitch = if feature == 1 { pitch } else { 0.0 };
                frames.push((sound + pitch + mood[feature] + noise * draw.normal()) as f32);
            }
            time += 1.0;
        }
    }
    frames
}
