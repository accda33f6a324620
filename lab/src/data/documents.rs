//! Documents of invented words: what each is about.
//!
//! Most words are in documents of every topic, and a few tell. One document in three is partly about
//! something else. Lengths have a heavy tail: half of the documents are short, and one in a hundred is
//! ten times as long as the mean.

use serde::Deserialize;

use super::draw::{Draw, Part, Subject, Weights};
use super::{Dataset, Inputs, Ragged, Targets, Task};

/// What is written.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Of what everything is drawn.
    pub seed: u64,
    /// How many documents there are to learn from.
    pub training: u32,
    /// How many documents there are to be examined on.
    pub validation: u32,
    /// The fewest words of a document.
    pub shortest: u32,
    /// The most words of a document.
    pub longest: u32,
    /// How many of the words of a document tell its topic.
    pub telling: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { seed: 1, training: 1200, validation: 300, shortest: 4, longest: 900, telling: 0.3 }
    }
}

/// How many words there are.
pub const VOCABULARY: u32 = 1000;

/// What documents can be about.
pub const TOPICS: [&str; 6] = ["harbour", "kitchen", "mountain", "orchestra", "railway", "weather"];

/// How many words tell of a topic. A word can tell of several.
const TELLING: u32 = 80;

/// Words of a document.
const LENGTHS: [(f64, f64); 10] = [
    (0.0, 4.0),
    (0.05, 8.0),
    (0.25, 18.0),
    (0.5, 32.0),
    (0.75, 62.0),
    (0.9, 130.0),
    (0.95, 200.0),
    (0.98, 340.0),
    (0.995, 600.0),
    (1.0, 900.0),
];

/// Writes the documents.
pub fn make(settings: &Settings) -> Task {
    let topics: Vec<Vec<u32>> =
        (0..TOPICS.len() as u64).map(|topic| telling(settings.seed, topic)).collect();
    let [common, special] = [Weights::zipf(VOCABULARY, 10), Weights::zipf(TELLING, 8)];
    let names: Vec<String> = (0..VOCABULARY).map(|word| format!("w{word}")).collect();
    let part = |part, count: u32| {
        let (mut inputs, mut classes) = (Ragged::new(1), Vec::new());
        for index in 0..count {
            let mut draw = Draw::new(settings.seed, Subject::Documents, part, index.into());
            let longest = settings.longest.max(settings.shortest).max(1);
            let length = draw.quantile(&LENGTHS).clamp(settings.shortest.max(1), longest);
            let last = TOPICS.len() as u32 - 1;
            let [topic, other] = [(); 2].map(|()| draw.between(0, last) as usize);
            let aside = if draw.happens(1.0 / 3.0) { 0.5 * settings.telling } else { 0.0 };
            inputs.push((0..length).map(|_| {
                let what = draw.share();
                if what < settings.telling {
                    topics[topic][draw.place(&special)]
                } else if what < settings.telling + aside {
                    topics[other][draw.place(&special)]
                } else {
                    draw.place(&common) as u32
                }
            }));
            classes.push(topic as u32);
        }
        Dataset {
            inputs: Inputs::Symbols { names: names.clone(), values: inputs },
            targets: Targets::Classes { names: TOPICS.map(String::from).to_vec(), values: classes },
        }
    };
    Task {
        name: "documents".into(),
        source: format!("documents generated with seed {}", settings.seed),
        training: part(Part::Training, settings.training),
        validation: part(Part::Validation, settings.validation),
    }
}

/// The words that tell of a topic, no word twice.
fn telling(seed: u64, topic: u64) -> Vec<u32> {
    let mut draw = Draw::new(seed, Subject::Documents, Part::Common, topic);
    let mut words: Vec<u32> = (0..VOCABULARY).collect();
    for place in 0..TELLING {
        words.swap(place as usize, draw.between(place, VOCABULARY - 1) as usize);
    }
    words.truncate(TELLING as usize);
    words
}
