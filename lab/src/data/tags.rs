//! Sentences of invented words with the part of speech of each.
//!
//! Parts of speech follow each other as a small grammar says. Many words can be two parts of speech, and
//! only their neighbours tell which.

use serde::Deserialize;

use super::draw::{Draw, Part, Subject, Weights};
use super::{Dataset, Inputs, Ragged, Targets, Task};

/// What is said.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Of what everything is drawn.
    pub seed: u64,
    /// How many sentences there are to learn from.
    pub training: u32,
    /// How many sentences there are to be examined on.
    pub validation: u32,
    /// The most words of a sentence.
    pub longest: u32,
    /// How many of the words can be two parts of speech.
    pub ambiguous: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { seed: 1, training: 2000, validation: 400, longest: 100, ambiguous: 0.6 }
    }
}

/// The parts of speech, how many words are each, and how often each of them comes after it.
const GRAMMAR: [(&str, u32, [u32; 9]); 9] = [
    ("DET", 8, [0, 30, 60, 0, 2, 0, 0, 0, 8]),
    ("ADJ", 90, [0, 12, 70, 2, 2, 6, 0, 6, 2]),
    ("NOUN", 200, [2, 2, 16, 34, 8, 22, 4, 12, 0]),
    ("VERB", 120, [28, 10, 12, 8, 14, 16, 10, 2, 0]),
    ("ADV", 50, [10, 22, 4, 34, 12, 8, 6, 4, 0]),
    ("PREP", 14, [46, 10, 26, 4, 0, 0, 10, 0, 4]),
    ("PRON", 16, [2, 4, 6, 66, 10, 6, 0, 6, 0]),
    ("CONJ", 6, [24, 8, 22, 18, 8, 4, 14, 0, 2]),
    ("NUM", 20, [0, 14, 74, 2, 0, 6, 0, 4, 0]),
];

/// How often a sentence begins with each.
const FIRST: [u32; 9] = [26, 6, 18, 8, 10, 6, 22, 2, 2];

/// What a sentence ends with.
const STOP: &str = "STOP";

/// The words of the last part of speech.
const STOPS: [&str; 3] = [".", "?", "!"];

/// Words of a sentence.
const LENGTHS: [(f64, f64); 9] = [
    (0.0, 1.0),
    (0.1, 3.0),
    (0.25, 6.0),
    (0.5, 12.0),
    (0.75, 20.0),
    (0.9, 30.0),
    (0.95, 38.0),
    (0.99, 60.0),
    (1.0, 100.0),
];

/// Says the sentences.
pub fn make(settings: &Settings) -> Task {
    let words = Words::new(settings);
    let tags = GRAMMAR.iter().map(|(tag, ..)| *tag).chain([STOP]);
    let tags: Vec<String> = tags.map(String::from).collect();
    let first = Weights::new(FIRST);
    let next: Vec<Weights> = GRAMMAR.iter().map(|(.., next)| Weights::new(*next)).collect();
    let part = |part, count: u32| {
        let (mut inputs, mut labels) = (Ragged::new(1), Ragged::new(1));
        for index in 0..count {
            let mut draw = Draw::new(settings.seed, Subject::Tags, part, index.into());
            let length = draw.quantile(&LENGTHS).clamp(1, settings.longest.max(1));
            let mut sentence = Vec::with_capacity(length as usize);
            let mut tag = draw.place(&first);
            for _ in 1..length {
                sentence.push(tag);
                tag = draw.place(&next[tag]);
            }
            // A sentence of one word is a cry.
            sentence.push(if length == 1 { tag } else { GRAMMAR.len() });
            inputs.push(sentence.iter().map(|&tag| words.say(tag, &mut draw)));
            labels.push(sentence.iter().map(|&tag| tag as u32));
        }
        Dataset {
            inputs: Inputs::Symbols { names: words.names.clone(), values: inputs },
            targets: Targets::Labels { names: tags.clone(), values: labels, words: None },
        }
    };
    Task {
        name: "tags".into(),
        source: format!("tags generated with seed {}", settings.seed),
        training: part(Part::Training, settings.training),
        validation: part(Part::Validation, settings.validation),
    }
}

/// The words of every part of speech, and how often each comes.
struct Words {
    names: Vec<String>,
    of: Vec<(Vec<u32>, Weights)>,
}

impl Words {
    fn new(settings: &Settings) -> Self {
        let mut draw = Draw::new(settings.seed, Subject::Tags, Part::Common, 0);
        let mut names: Vec<String> = STOPS.map(String::from).to_vec();
        let mut of = vec![Vec::new(); GRAMMAR.len()];
        for (tag, (_, count, _)) in GRAMMAR.iter().enumerate() {
            for _ in 0..*count {
                let word = names.len() as u32;
                names.push(spell(word));
                of[tag].push(word);
                if draw.happens(settings.ambiguous) {
                    let other = draw.between(1, GRAMMAR.len() as u32 - 1);
                    let other = (tag + other as usize) % GRAMMAR.len();
                    let place = draw.between(0, of[other].len() as u32);
                    of[other].insert(place as usize, word);
                }
            }
        }
        of.push((0..STOPS.len() as u32).collect());
        let weigh = |words: Vec<u32>| {
            let weights = Weights::zipf(words.len() as u32, 2);
            (words, weights)
        };
        Self { names, of: of.into_iter().map(weigh).collect() }
    }

    fn say(&self, tag: usize, draw: &mut Draw) -> u32 {
        let (words, weights) = &self.of[tag];
        words[draw.place(weights)]
    }
}

/// A word of two syllables, another one for every number below 8100.
fn spell(word: u32) -> String {
    let syllable = |number: u32| {
        let [first, second] =
            [b"bdfghjklmnprstvwyz"[number as usize % 18], b"aeiou"[number as usize / 18]];
        [char::from(first), char::from(second)]
    };
    // 90 syllables; steps of 37 keep words that follow each other from looking alike.
    [syllable(word * 37 % 90), syllable((word / 90 + word) % 90)].concat().into_iter().collect()
}
