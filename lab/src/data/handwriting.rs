//! Lines of handwriting as a pen writes them: what to read from its movements.
//!
//! Every line has a writer of its own, who has a slant, a size, a pace, a steadiness of hand, and joins
//! letters or does not. A line has one word or several, so that most lines are short and some are
//! four times as long as the mean.

mod letters;
mod pen;

use serde::Deserialize;

use self::letters::LETTERS;
use self::pen::{Point, distance, walk};
use super::draw::{Draw, Part, Subject};
use super::{Dataset, Inputs, Ragged, Targets, Task, lexicon};

/// What lines to write.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Of what everything is drawn.
    pub seed: u64,
    /// How many lines there are to learn from.
    pub training: u32,
    /// How many lines there are to be examined on.
    pub validation: u32,
    /// The most letters of a line, spaces included.
    pub longest: u32,
    /// How much writers differ; 1 is moderate, and 0 is one writer with a steady hand.
    pub variation: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { seed: 1, training: 1000, validation: 200, longest: 28, variation: 1.0 }
    }
}

/// The features of a point: the movement to it, whether the pen is lifted after it, the direction it
/// was reached in, and its height over the base line.
pub const FEATURES: [&str; 6] = ["dx", "dy", "up", "cos", "sin", "height"];

/// How likely it is that another word follows.
const MORE: f64 = 0.5;

/// How far apart points are, in tenths of the height of a small letter.
const STEP: f64 = 5.8;

/// Writes the lines.
pub fn make(settings: &Settings) -> Task {
    let longest = settings.longest.max(1) as usize;
    let words = lexicon::words_up_to(longest);
    let names: Vec<String> = std::iter::once(' ').chain('a'..='z').map(String::from).collect();
    let part = |part, count: u32| {
        let (mut inputs, mut transcripts) = (Ragged::new(FEATURES.len()), Ragged::new(1));
        for index in 0..count {
            let mut draw = Draw::new(settings.seed, Subject::Handwriting, part, index.into());
            let text = text(&words, longest, &mut draw);
            let writer = Writer::new(settings.variation, &mut draw);
            inputs.push(features(&writer.write(&text, &mut draw)));
            transcripts.push(text.bytes().map(symbol));
        }
        Dataset {
            inputs: Inputs::Frames(inputs),
            targets: Targets::Transcripts { names: names.clone(), values: transcripts },
        }
    };
    Task {
        name: "handwriting".into(),
        source: format!("handwriting generated with seed {}", settings.seed),
        training: part(Part::Training, settings.training),
        validation: part(Part::Validation, settings.validation),
    }
}

/// The place of a letter in the names: the space is first.
fn symbol(letter: u8) -> u32 {
    if letter == b' ' { 0 } else { u32::from(letter - b'a') + 1 }
}

/// Words with spaces between. Of two that are drawn the shorter is written: short words are common.
fn text(words: &[&str], longest: usize, draw: &mut Draw) -> String {
    let last = words.len() as u32 - 1;
    let mut text = String::new();
    loop {
        let word = words[draw.between(0, last).min(draw.between(0, last)) as usize];
        if !text.is_empty() {
            if text.len() + 1 + word.len() > longest {
                return text;
            }
            text.push(' ');
        }
        text.push_str(word);
        if !draw.happens(MORE) {
            return text;
        }
    }
}

/// A hand.
struct Writer {
    slant: f64,
    size: [f64; 2],
    step: f64,
    /// How far the points of a letter are from where they should be.
    sloppy: f64,
    /// How much the pen trembles.
    tremble: f64,
    /// How the base line rises.
    drift: f64,
    gap: f64,
    joins: bool,
}

impl Writer {
    fn new(variation: f64, draw: &mut Draw) -> Self {
        let mut around = |mean: f64, spread: f64| {
            let spread = spread * variation;
            draw.within(mean - spread, mean + spread)
        };
        Self {
            slant: around(0.12, 0.22),
            size: [around(1.0, 0.15), around(1.0, 0.12)],
            step: around(STEP, 0.9),
            sloppy: around(0.4, 0.3) * variation,
            tremble: around(0.15, 0.1) * variation,
            drift: around(0.0, 0.03),
            gap: around(3.0, 0.8),
            joins: draw.happens(0.7),
        }
    }

    /// The points of every stroke.
    fn write(&self, text: &str, draw: &mut Draw) -> Vec<Vec<Point>> {
        let mut strokes: Vec<Vec<Point>> = Vec::new();
        let mut left = 0.0;
        let mut on = false;
        for letter in text.bytes() {
            if letter == b' ' {
                left += 9.0 + draw.within(0.0, 3.0);
                on = false;
                continue;
            }
            let letter = &LETTERS[usize::from(letter - b'a')];
            for (index, stroke) in letter.strokes.iter().enumerate() {
                let points = stroke.as_chunks::<2>().0.iter().map(|point| {
                    let [x, y] = point.map(f64::from);
                    self.place([left + x, y], draw)
                });
                match strokes.last_mut() {
                    Some(last) if on && index == 0 => last.extend(points),
                    _ => strokes.push(points.collect()),
                }
            }
            on = self.joins && letter.joins && letter.strokes.len() == 1;
            left += letter.width() + self.gap * draw.within(0.7, 1.3);
        }
        strokes.iter().map(|stroke| self.tremble(walk(stroke, self.step), draw)).collect()
    }

    /// Where a point of a letter comes to lie.
    fn place(&self, [x, y]: Point, draw: &mut Draw) -> Point {
        let x = x + self.sloppy * draw.normal();
        let y = y + self.sloppy * draw.normal();
        [(x + self.slant * y) * self.size[0], y * self.size[1] + self.drift * x]
    }

    fn tremble(&self, mut points: Vec<Point>, draw: &mut Draw) -> Vec<Point> {
        for axis in points.iter_mut().flatten() {
            *axis += self.tremble * draw.normal();
        }
        points
    }
}

/// The features of every point, each of about unit variance.
fn features(strokes: &[Vec<Point>]) -> Vec<f32> {
    let mut last = strokes[0][0];
    let mut features = Vec::with_capacity(8 * FEATURES.len() * strokes.len());
    for stroke in strokes {
        for (index, &point) in stroke.iter().enumerate() {
            let [dx, dy] = [point[0] - last[0], point[1] - last[1]];
            let way = distance(last, point).max(1e-9);
            let up = f64::from(u8::from(index + 1 == stroke.len()));
            let scaled = [
                dx / 5.0,
                dy / 5.0,
                2.0 * up,
                1.4 * dx / way,
                1.4 * dy / way,
                point[1] / 6.0 - 1.0,
            ];
            features.extend(scaled.map(|value| value as f32));
            last = point;
        }
    }
    features
}
