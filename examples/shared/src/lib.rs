//! What the examples share, and no framework knows of: made texts, two ways to batch them, and the optimizer steps of
//! an epoch.

use std::fmt;

use lengthwise::strategy::{Proportional, Shuffled};
use lengthwise::{Budget, Error, Lengths, Plan, Planner, Strategy, Update};

/// The symbol that fills a row.
pub const PADDING: u32 = 0;
/// The first symbol of a text is one of these many topics, which come after the padding.
const TOPICS: u32 = 4;
/// All others are one of these many, which come after the topics.
const LETTERS: u32 = 16;
/// How many symbols there are.
pub const SYMBOLS: usize = (1 + TOPICS + LETTERS) as usize;

/// Made texts of 6 to `longest` symbols, short ones more often than long ones. A letter follows from the one before it
/// and from the topic, nine times out of ten.
pub fn texts(count: usize, longest: u32) -> Vec<Vec<u32>> {
    let mut state = 1_u64;
    let mut draw = move |below: f64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1_u64 << 31) as f64 * below
    };
    let text = |_| {
        let topic = draw(f64::from(TOPICS)) as u32;
        let mut letter = draw(f64::from(LETTERS)) as u32;
        let length = 6.0 * (f64::from(longest + 1) / 6.0).powf(draw(1.0));
        let mut text = vec![1 + topic];
        while text.len() < length as usize {
            let step = if draw(1.0) < 0.9 { 1 + topic } else { draw(f64::from(LETTERS)) as u32 };
            letter = (letter + step) % LETTERS;
            text.push(1 + TOPICS + letter);
        }
        text
    };
    (0..count).map(text).collect()
}

/// The lengths to plan with: as many positions as the model computes. It reads every symbol of a text but the last, and
/// predicts every symbol but the first.
pub fn lengths(texts: &[Vec<u32>]) -> Result<Lengths, Error> {
    Lengths::new(texts.iter().map(|text| text.len() as u32 - 1).collect::<Vec<_>>())
}

/// Before: random batches of this size, each an optimizer step.
pub fn shuffled(batch_size: u32) -> Planner<Strategy> {
    Planner::new(Shuffled.into(), Budget::sequences(batch_size))
}

/// After: optimizer steps of as many sequences, in micro-batches of similar lengths. None has more cells than a batch
/// of the longest sequences had before.
pub fn planned(batch_size: u32) -> Planner<Strategy> {
    Planner::new(Proportional::default().into(), Budget::dynamic(batch_size))
        .update(Update::Sequences(batch_size.into()))
}

/// A batch of an optimizer step.
#[derive(Clone, Debug)]
pub struct MicroBatch {
    /// The indices of its sequences.
    pub sequences: Vec<u32>,
    /// The length to pad them to.
    pub length: usize,
    /// Its share of the positions of the step. The mean loss of each micro-batch times its weight, summed over the
    /// step, is the mean loss of the step.
    pub weight: f64,
}

impl MicroBatch {
    /// All sequences of a step in one batch.
    pub fn joined(step: &[Self]) -> Self {
        let sequences = step.iter().flat_map(|batch| batch.sequences.clone()).collect();
        let length = step.iter().map(|batch| batch.length).max().unwrap_or(0);
        Self { sequences, length, weight: 1.0 }
    }
}

/// The optimizer steps of an epoch: the micro-batches of each.
pub fn steps(plan: &Plan, lengths: &Lengths) -> Result<Vec<Vec<MicroBatch>>, Error> {
    let schedule = plan.schedule(1)?; // on one rank
    let batches = schedule.for_rank(0)?; // those of the first step, then those of the second, and so on
    let micro_batches = schedule.accumulate() as usize;
    let (of_batch, of_step) = (batches.counts(lengths), schedule.counts(lengths));
    let all = batches.iter().enumerate().map(|(at, sequences)| MicroBatch {
        sequences: sequences.to_vec(),
        length: batches.batch_lengths()[at] as usize,
        weight: of_batch[at].positions as f64 / of_step[at / micro_batches].positions as f64,
    });
    let all: Vec<_> = all.collect();
    Ok(all.chunks(micro_batches).map(<[_]>::to_vec).collect())
}

/// What an epoch took.
#[derive(Clone, Copy, Debug)]
pub struct Epoch {
    /// The number of optimizer steps.
    pub steps: usize,
    /// The share of cells that are padding.
    pub padding_rate: f64,
    /// The mean loss of its steps.
    pub loss: f64,
    /// How long it took.
    pub seconds: f64,
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { steps, padding_rate, loss, seconds } = self;
        write!(
            f,
            "{steps} steps, {:4.1} % padding, loss {loss:.3}, {seconds:.2} s",
            100.0 * padding_rate
        )
    }
}
