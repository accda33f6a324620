//! What a model has learnt, seen on sequences that it was not trained on.

use lengthwise::{Budget, Lengths, OverLong, Planner, Shuffled};
use lengthwise_nn::Engine;
use lengthwise_report::training::Validation;
use rayon::prelude::*;

use crate::{
    Error,
    batch::{Batch, Piece, Wanted},
    data::{Dataset, Targets, Task},
    decode::{WordLoop, beam, distance, greedy},
    model::Model,
};

/// How many of the likeliest beginnings a beam keeps.
const BEAM: usize = 8;

/// The sequences to be examined on, in batches that are the same for every model: random ones, as
/// paper 2 has it. Losses are means over what is not padding, so that batches have no part in them.
#[derive(Clone, Debug)]
pub struct Examiner<'a> {
    data: &'a Dataset,
    batches: Vec<(Vec<Piece>, usize)>,
    words: Option<WordLoop>,
    /// How much the vectors to be said vary.
    variance: f64,
}

/// Wrong ones, and how many there were.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    wrong: usize,
    of: usize,
}

impl Share {
    fn rate(self) -> f64 {
        self.wrong as f64 / self.of.max(1) as f64
    }

    fn plus(self, other: Self) -> Self {
        Self { wrong: self.wrong + other.wrong, of: self.of + other.of }
    }
}

impl<'a> Examiner<'a> {
    /// An examiner of this task, with batches of this budget.
    pub fn new(task: &'a Task, budget: Budget) -> Result<Self, Error> {
        let data = &task.validation;
        let lengths = lengths(data)?;
        let planner = Planner::new(Shuffled, budget).over_long(OverLong::Alone);
        let plan = planner.plan(&lengths, 0)?;
        let batches = plan.iter().zip(plan.batch_lengths()).map(|(batch, &steps)| {
            let whole = |&index: &u32| {
                let sequence = index as usize;
                Piece { sequence, offset: 0, length: data.length(sequence) }
            };
            (batch.iter().map(whole).collect(), steps as usize)
        });
        Ok(Self {
            data,
            batches: batches.collect(),
            words: WordLoop::new(&task.training.targets),
            variance: variance(&data.targets),
        })
    }

    /// What is counted as an error.
    pub fn error(&self) -> &'static str {
        match &self.data.targets {
            Targets::Labels { .. } => "label error rate",
            Targets::Transcripts { .. } => "symbol error rate",
            Targets::Classes { .. } => "class error rate",
            Targets::Frames(_) => "unexplained variance",
        }
    }

    /// Examines a model.
    pub fn examine<E: Engine>(
        &self,
        engine: &E,
        model: &Model,
        parameters: &E::Buffer,
    ) -> Result<Validation, Error> {
        let (mut loss, mut counted) = (0.0, 0);
        let (mut errors, mut with_beam, mut in_words) =
            (Share::default(), Share::default(), Share::default());
        let classes = model.outputs();
        for (pieces, steps) in &self.batches {
            let batch = Batch::new(self.data, pieces, *steps);
            let passed = model.pass(engine, parameters, &batch)?;
            loss += passed.loss.total;
            counted += passed.loss.count;
            let rows = pieces.len();
            let scores_of = |said: &[f32], row: usize| -> Vec<f32> {
                let step = rows * classes;
                let place = |time: usize| time * step + row * classes;
                let times = 0..batch.frame.lengths()[row];
                times.flat_map(|time| &said[place(time)..place(time) + classes]).copied().collect()
            };
            match &batch.wanted {
                Wanted::Labels(_) | Wanted::Classes(_) => {
                    let Some(wrong) = passed.loss.count.checked_sub(passed.loss.correct) else {
                        continue;
                    };
                    errors = errors.plus(Share { wrong, of: passed.loss.count });
                    if let (Some(decoder), Some(spoken)) = (&self.words, self.spoken()) {
                        let said = engine.download(passed.said())?;
                        let found = (0..rows).into_par_iter().map(|row| {
                            let wanted = spoken.get(pieces[row].sequence);
                            let heard = decoder.decode(&scores_of(&said, row));
                            Share { wrong: distance(&heard, wanted), of: wanted.len() }
                        });
                        in_words = in_words.plus(found.reduce(Share::default, Share::plus));
                    }
                }
                Wanted::Transcripts(targets) => {
                    let said = engine.download(passed.said())?;
                    let found = (0..rows).into_par_iter().map(|row| {
                        let scores = scores_of(&said, row);
                        let share = |heard: &[u32]| Share {
                            wrong: distance(heard, &targets[row]),
                            of: targets[row].len(),
                        };
                        (share(&greedy(&scores, classes)), share(&beam(&scores, classes, BEAM)))
                    });
                    let (best, wide) = found.reduce(
                        || (Share::default(), Share::default()),
                        |a, b| (a.0.plus(b.0), a.1.plus(b.1)),
                    );
                    errors = errors.plus(best);
                    with_beam = with_beam.plus(wide);
                }
                Wanted::Frames { .. } => {}
            }
        }
        let loss = loss / counted.max(1) as f64;
        let error = match &self.data.targets {
            Targets::Frames(_) => loss / self.variance,
            _ => errors.rate(),
        };
        let mut more = Vec::new();
        if with_beam.of > 0 {
            more.push(("beam error rate".to_owned(), with_beam.rate()));
        }
        if in_words.of > 0 {
            more.push(("word error rate".to_owned(), in_words.rate()));
        }
        Ok(Validation { loss, error, more })
    }

    fn spoken(&self) -> Option<&crate::data::Ragged<u32>> {
        match &self.data.targets {
            Targets::Labels { words: Some(words), .. } => Some(&words.spoken),
            _ => None,
        }
    }
}

/// The lengths of all sequences, for a planner.
pub(crate) fn lengths(data: &Dataset) -> Result<Lengths, Error> {
    let all = (0..data.len()).map(|sequence| data.length(sequence));
    Ok(Lengths::try_from_integers(all)?)
}

/// The variance of vectors: the squared error of saying their mean.
fn variance(targets: &Targets) -> f64 {
    let Targets::Frames(frames) = targets else { return 1.0 };
    let width = frames.width();
    let rows = frames.rows().max(1) as f64;
    let mut sums = vec![(0.0, 0.0); width];
    for row in frames.values().chunks_exact(width) {
        for ((sum, squares), &value) in sums.iter_mut().zip(row) {
            *sum += f64::from(value);
            *squares += f64::from(value) * f64::from(value);
        }
    }
    let of = |(sum, squares): &(f64, f64)| squares / rows - (sum / rows) * (sum / rows);
    (sums.iter().map(of).sum::<f64>() / width as f64).max(f64::MIN_POSITIVE)
}
