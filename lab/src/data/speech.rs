//! Frames like those of speech: what state of what word is spoken at every frame.
//!
//! A word is a chain of states, and a state sounds like one of ten phones. Phones are shared: a frame
//! tells the phone, and only what was said before and after tells the word. So a model that saw short
//! pieces alone has learnt less than one that saw whole utterances.

use serde::Deserialize;

use super::draw::{Draw, Part, Subject};
use super::{Dataset, Inputs, Ragged, Targets, Task, Words};

/// What is spoken.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Of what everything is drawn.
    pub seed: u64,
    /// How many utterances there are to learn from.
    pub training: u32,
    /// How many utterances there are to be examined on.
    pub validation: u32,
    /// The most words of an utterance.
    pub longest: u32,
    /// How loud the noise is; the phones are about 3 apart.
    pub noise: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { seed: 1, training: 600, validation: 120, longest: 20, noise: 0.6 }
    }
}

/// How wide a frame is.
pub const FEATURES: usize = 16;

/// Every letter is a phone, and every place in a word a state. Some words differ in one phone, and
/// some are parts of others.
const WORDS: [&str; 12] = [
    "sat", "sad", "mat", "made", "take", "boat", "mist", "stake", "moist", "basis", "basket",
    "tasked",
];

const PHONES: &str = "abdeikmost";

/// Words of an utterance: most have a few.
const COUNTS: [(f64, f64); 6] =
    [(0.0, 1.0), (0.2, 2.0), (0.5, 4.0), (0.8, 6.0), (0.97, 12.0), (1.0, 20.0)];

/// How much of a frame is left in the next one.
const INERTIA: f64 = 0.5;

/// How much of the noise of a frame is left in the next one.
const COLOUR: f64 = 0.7;

/// Speaks.
pub fn make(settings: &Settings) -> Task {
    let phones = phones(settings.seed);
    let states = states();
    let names: Vec<String> = WORDS
        .iter()
        .flat_map(|word| (0..word.len()).map(move |state| format!("{word} {state}")))
        .collect();
    let part = |part, count: u32| {
        let (mut inputs, mut labels) = (Ragged::new(FEATURES), Ragged::new(1));
        let mut spoken = Ragged::new(1);
        for index in 0..count {
            let mut draw = Draw::new(settings.seed, Subject::Speech, part, index.into());
            let count = draw.quantile(&COUNTS).clamp(1, settings.longest.max(1));
            let words: Vec<u32> =
                (0..count).map(|_| draw.between(0, WORDS.len() as u32 - 1)).collect();
            let pace = draw.within(0.8, 1.25);
            let heard = durations(&words, &states, pace, &mut draw);
            inputs.push(frames(&heard, &phones, settings.noise, &mut draw));
            labels.push(heard.iter().map(|&(label, _)| label));
            spoken.push(words);
        }
        let words =
            Words { names: WORDS.map(String::from).to_vec(), states: states.clone(), spoken };
        Dataset {
            inputs: Inputs::Frames(inputs),
            targets: Targets::Labels { names: names.clone(), values: labels, words: Some(words) },
        }
    };
    Task {
        name: "speech".into(),
        source: format!("speech generated with seed {}", settings.seed),
        training: part(Part::Training, settings.training),
        validation: part(Part::Validation, settings.validation),
    }
}

/// What every phone sounds like.
fn phones(seed: u64) -> Vec<[f64; FEATURES]> {
    (0..PHONES.len() as u64)
        .map(|phone| {
            let mut draw = Draw::new(seed, Subject::Speech, Part::Common, phone);
            [(); FEATURES].map(|()| 0.8 * draw.normal())
        })
        .collect()
}

/// The labels of the states of every word.
fn states() -> Vec<Vec<u32>> {
    let mut labels = 0..;
    WORDS.iter().map(|word| labels.by_ref().take(word.len()).collect()).collect()
}

/// The label and the phone of every frame.
fn durations(words: &[u32], states: &[Vec<u32>], pace: f64, draw: &mut Draw) -> Vec<(u32, usize)> {
    let mut heard = Vec::new();
    for &word in words {
        let word = word as usize;
        for (&label, letter) in states[word].iter().zip(WORDS[word].chars()) {
            let phone = PHONES.find(letter).unwrap_or(0);
            // The sum of two is more often near its mean than far from it. Vowels are long.
            let long = u32::from("aeio".contains(letter));
            let frames = 1 + draw.between(1, 3 + long) + draw.between(1, 3 + long);
            let frames = ((f64::from(frames) * pace + 0.5) as usize).max(2);
            heard.extend(std::iter::repeat_n((label, phone), frames));
        }
    }
    heard
}

/// The sound of every frame: a mouth moves slowly, a speaker has a voice, and a room has noise.
fn frames(
    heard: &[(u32, usize)],
    phones: &[[f64; FEATURES]],
    noise: f64,
    draw: &mut Draw,
) -> Vec<f32> {
    let voice = [(); FEATURES].map(|()| 0.3 * draw.normal());
    let fresh = noise * (1.0 - COLOUR * COLOUR).sqrt();
    let mut mouth = phones[heard[0].1];
    let mut room = [(); FEATURES].map(|()| noise * draw.normal());
    let mut frames = Vec::with_capacity(heard.len() * FEATURES);
    for &(_, phone) in heard {
        for feature in 0..FEATURES {
            mouth[feature] = INERTIA * mouth[feature] + (1.0 - INERTIA) * phones[phone][feature];
            room[feature] = COLOUR * room[feature] + fresh * draw.normal();
            frames.push((mouth[feature] + voice[feature] + room[feature]) as f32);
        }
    }
    frames
}
