//! From recordings to a task: pieces are put end to end as lines, features are brought to one scale, and
//! what is known of each piece becomes what is to be said.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::align::{Aligner, Recording};
use super::draw::{Draw, Part, Subject};
use super::error::{Error, quote, quote_all};
use super::{Dataset, Inputs, Ragged, Targets, Task, Words};

/// Pieces that are put end to end.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Join {
    /// The column in which the pieces of a line are the same, such as the speaker.
    pub by: String,
    /// The most pieces of a line. How many it has is drawn, and so is which.
    pub most: u32,
    /// The fewest pieces of a line, but for those that are left over.
    #[serde(default = "one")]
    pub least: u32,
    /// In how many lines of the training part each piece is. In the other part each is in one.
    #[serde(default = "one")]
    pub times: u32,
}

fn one() -> u32 {
    1
}

/// A recording, and what is known of it.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) part: Part,
    pub(crate) frames: Vec<f32>,
    /// A label for every frame, or none.
    pub(crate) labels: Vec<u32>,
    /// What the piece is, where that is known.
    pub(crate) label: Option<String>,
    /// What the pieces of a line have in common.
    pub(crate) group: String,
}

/// What to make of the pieces.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) name: String,
    pub(crate) source: String,
    pub(crate) width: usize,
    pub(crate) join: Option<Join>,
    pub(crate) states: Option<u32>,
    /// How many states the words have whose frames are labelled here.
    pub(crate) align: Option<u32>,
    /// How labels are spelled, where letters are the input and frames the target.
    pub(crate) spell: Option<BTreeMap<String, String>>,
    pub(crate) normalize: bool,
    pub(crate) seed: u64,
}

/// How far from the mean a feature may be, in standard deviations.
const FARTHEST: f64 = 8.0;

impl Plan {
    /// Makes the task.
    pub(crate) fn assemble(&self, mut pieces: Vec<Piece>) -> Result<Task, Error> {
        if let Some(join) = &self.join {
            if join.most == 0 {
                return Err(Error::new("`join` has at most 0 pieces", "set `most` from 1"));
            }
            if join.least > join.most {
                let message = format!("`join` has {} to {} pieces", join.least, join.most);
                return Err(Error::new(message, "set `least` to no more than `most`"));
            }
            if join.times == 0 {
                return Err(Error::new("`join` uses each piece 0 times", "set `times` from 1"));
            }
        }
        if self.normalize {
            normalize(&mut pieces, self.width);
        }
        if let Some(states) = self.align {
            align(&mut pieces, states, self.width)?;
        }
        let names = self.names(&pieces)?;
        if let (Some(spell), Names::Pieces(names)) = (&self.spell, &names)
            && let Some(strange) = spell.keys().find(|label| !names.contains(label))
        {
            return Err(Error::new(
                format!(
                    "`spell` has {}, and the labels are {}",
                    quote(strange),
                    quote_all(names.iter().map(String::as_str))
                ),
                "spell labels that are there",
            ));
        }
        let [training, validation] = [Part::Training, Part::Validation].map(|part| {
            let lines = self.lines(&pieces, part);
            self.dataset(&lines, &names)
        });
        let (name, source) = (self.name.clone(), self.source.clone());
        let task = Task { name, source, training, validation };
        task.check()?;
        Ok(task)
    }

    /// The pieces of every line of a part.
    fn lines<'a>(&self, pieces: &'a [Piece], part: Part) -> Vec<Vec<&'a Piece>> {
        let of_part = pieces.iter().filter(|piece| piece.part == part);
        let Some(&Join { least, most, times, .. }) = self.join.as_ref() else {
            return of_part.map(|piece| vec![piece]).collect();
        };
        let mut groups: BTreeMap<&str, Vec<&Piece>> = BTreeMap::new();
        for piece in of_part {
            groups.entry(&piece.group).or_default().push(piece);
        }
        let mut lines = Vec::new();
        let times = if part == Part::Training { times } else { 1 };
        for (index, group) in (0..).zip(groups.into_values()) {
            let mut draw = Draw::new(self.seed, Subject::Lines, part, index);
            for _ in 0..times {
                let mut group = group.clone();
                for place in (1..group.len()).rev() {
                    group.swap(place, draw.between(0, place as u32) as usize);
                }
                while !group.is_empty() {
                    let count = draw.between(least.max(1), most) as usize;
                    lines.push(group.split_off(group.len().saturating_sub(count)));
                }
            }
        }
        lines
    }

    fn dataset(&self, lines: &[Vec<&Piece>], names: &Names) -> Dataset {
        let mut inputs = Ragged::new(self.width);
        for line in lines {
            inputs.push(line.iter().flat_map(|piece| piece.frames.iter().copied()));
        }
        if let (Some(spell), Names::Pieces(names)) = (&self.spell, names) {
            let texts = spelled(lines, names, spell);
            return Dataset { inputs: texts, targets: Targets::Frames(inputs) };
        }
        let mut said = Ragged::new(1);
        for line in lines {
            said.push(line.iter().map(|piece| names.of(piece)));
        }
        let targets = match names {
            Names::Labels { labels, words } => {
                let mut values = Ragged::new(1);
                for line in lines {
                    values.push(line.iter().flat_map(|piece| piece.labels.iter().copied()));
                }
                let words = words.as_ref().map(|words| Words {
                    names: words.clone(),
                    states: states(words.len(), self.states.unwrap_or(1)),
                    spoken: said,
                });
                Targets::Labels { names: labels.clone(), values, words }
            }
            Names::Pieces(names) if self.join.is_some() => {
                Targets::Transcripts { names: names.clone(), values: said }
            }
            Names::Pieces(names) => {
                Targets::Classes { names: names.clone(), values: said.values().to_vec() }
            }
        };
        Dataset { inputs: Inputs::Frames(inputs), targets }
    }

    fn names(&self, pieces: &[Piece]) -> Result<Names, Error> {
        if pieces.iter().all(|piece| piece.labels.is_empty()) {
            return names_of_pieces(pieces).map(Names::Pieces);
        }
        let highest = pieces.iter().flat_map(|piece| &piece.labels).max().copied().unwrap_or(0);
        let Some(states) = self.states else {
            let labels = (0..=highest).map(|label| label.to_string()).collect();
            return Ok(Names::Labels { labels, words: None });
        };
        let words = highest / states + 1;
        let names = names_of_words(pieces, words, states)?;
        let labels = (0..words * states)
            .map(|label| format!("{} {}", names[(label / states) as usize], label % states))
            .collect();
        Ok(Names::Labels { labels, words: Some(names) })
    }
}

/// What there is to say.
enum Names {
    /// A label at every frame, and the words whose states they are.
    Labels { labels: Vec<String>, words: Option<Vec<String>> },
    /// A name for every piece.
    Pieces(Vec<String>),
}

impl Names {
    /// What a piece is: its word, or its own name.
    fn of(&self, piece: &Piece) -> u32 {
        match self {
            Self::Labels { labels, words } => {
                let states = words.as_ref().map_or(1, |words| labels.len() / words.len());
                piece.labels[0] / states as u32
            }
            Self::Pieces(names) => place(names, piece) as u32,
        }
    }
}

/// The place of a piece's name.
fn place(names: &[String], piece: &Piece) -> usize {
    names.iter().position(|name| Some(name) == piece.label.as_ref()).unwrap_or(0)
}

/// Labels the frames of every piece with the states of its word. The states are found in the training part alone.
fn align(pieces: &mut [Piece], states: u32, width: usize) -> Result<(), Error> {
    let names = names_of_pieces(pieces)?;
    let training = pieces.iter().filter(|piece| piece.part == Part::Training);
    let training: Vec<Recording<'_>> =
        training.map(|piece| (place(&names, piece), piece.frames.as_slice())).collect();
    let aligner = Aligner::train(&training, names.len(), states as usize, width);
    for piece in pieces {
        let (word, frames) = (place(&names, piece) as u32, &piece.frames);
        let path = aligner.align((word as usize, frames));
        piece.labels = path.into_iter().map(|state| word * states + state).collect();
    }
    Ok(())
}

/// The letters of the words of every line, with a space between words.
fn spelled(lines: &[Vec<&Piece>], names: &[String], spell: &BTreeMap<String, String>) -> Inputs {
    fn word<'a>(name: &'a str, spell: &'a BTreeMap<String, String>) -> &'a str {
        spell.get(name).map_or(name, String::as_str)
    }
    let mut letters: Vec<char> = names.iter().flat_map(|name| word(name, spell).chars()).collect();
    letters.push(' ');
    letters.sort_unstable();
    letters.dedup();
    let mut values = Ragged::new(1);
    for line in lines {
        let words =
            line.iter().map(|piece| word(piece.label.as_deref().unwrap_or_default(), spell));
        let text = words.collect::<Vec<_>>().join(" ");
        values.push(text.chars().map(|c| letters.binary_search(&c).unwrap_or(0) as u32));
    }
    Inputs::Symbols { names: letters.into_iter().map(String::from).collect(), values }
}

fn states(words: usize, each: u32) -> Vec<Vec<u32>> {
    (0..words as u32).map(|word| (word * each..(word + 1) * each).collect()).collect()
}

/// The names of words, which are those of their pieces where pieces have names.
fn names_of_words(pieces: &[Piece], words: u32, states: u32) -> Result<Vec<String>, Error> {
    let mut names: Vec<Option<&String>> = vec![None; words as usize];
    for piece in pieces {
        let word = piece.labels[0] / states;
        let (known, label) = (&mut names[word as usize], piece.label.as_ref());
        if let (Some(one), Some(other)) = (*known, label)
            && one != other
        {
            return Err(Error::new(
                format!(
                    "word {word}, of labels {} to {}, is both {} and {}",
                    word * states,
                    (word + 1) * states - 1,
                    quote(one),
                    quote(other)
                ),
                "correct the labels, or how many `states` a word has",
            ));
        }
        *known = known.or(label);
    }
    let name = |(word, name): (usize, Option<&String>)| name.cloned().unwrap_or(word.to_string());
    Ok(names.into_iter().enumerate().map(name).collect())
}

/// The names of pieces in order, by their numbers where all are numbers. What is only in the part for
/// examination cannot be learnt.
fn names_of_pieces(pieces: &[Piece]) -> Result<Vec<String>, Error> {
    let of_part = |part| {
        pieces
            .iter()
            .filter(move |piece| piece.part == part)
            .filter_map(|piece| piece.label.clone())
    };
    let mut names: Vec<String> = of_part(Part::Training).collect();
    names.sort_unstable();
    names.dedup();
    if let Some(strange) = of_part(Part::Validation).find(|name| names.binary_search(name).is_err())
    {
        return Err(Error::new(
            format!("{} is in the validation part and not in the training part", quote(&strange)),
            "choose a split that has every name in the training part",
        ));
    }
    if names.iter().all(|name| name.parse::<u64>().is_ok()) {
        names.sort_by_key(|name| name.parse::<u64>().unwrap_or(0));
    }
    Ok(names)
}

/// Brings every feature to mean 0 and variance 1 in the training part, and clips what is far out.
fn normalize(pieces: &mut [Piece], width: usize) {
    let mut sums = vec![[0.0; 2]; width];
    let mut rows = 0;
    for piece in pieces.iter().filter(|piece| piece.part == Part::Training) {
        for row in piece.frames.chunks_exact(width) {
            rows += 1;
            for (sum, &value) in sums.iter_mut().zip(row) {
                let value = f64::from(value);
                sum[0] += value;
                sum[1] += value * value;
            }
        }
    }
    let rows = f64::from(rows.max(1));
    let scales: Vec<(f64, f64)> = sums
        .iter()
        .map(|[sum, squares]| {
            let mean = sum / rows;
            let deviation = (squares / rows - mean * mean).max(0.0).sqrt();
            // What never changes is 0 and stays so.
            (mean, if deviation > 1e-6 * mean.abs().max(1e-6) { deviation } else { 1.0 })
        })
        .collect();
    for row in pieces.iter_mut().flat_map(|piece| piece.frames.chunks_exact_mut(width)) {
        for (value, (mean, deviation)) in row.iter_mut().zip(&scales) {
            *value = ((f64::from(*value) - mean) / deviation).clamp(-FARTHEST, FARTHEST) as f32;
        }
    }
}
