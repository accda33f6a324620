//! Evaluates a model on sequences that it was not trained on.

use crate::report::Validation;
use lengthwise::{Budget, Lengths, OverLong, Planner, strategy::Shuffled};
use lengthwise_nn::{Engine, Loss};
use rayon::prelude::*;

use crate::{
    batch::{Batch, Piece, Wanted},
    collective::Collective,
    data::{Dataset, Targets, Task},
    decode::{WordLoop, beam, distance, greedy},
    error::Error,
    model::Model,
};

/// How many of the likeliest beginnings a beam keeps.
const BEAM: usize = 8;

/// The sequences to be examined on, in batches that are the same for every model: random ones, as
/// paper 2 has it. Losses are means over what is not padding, so that batches have no part in them.
#[derive(Clone, Debug)]
pub struct Evaluator<'a> {
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

/// What was found in some batches.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    loss: f64,
    counted: usize,
    errors: Share,
    with_beam: Share,
    in_words: Share,
}

impl Marks {
    const NUMBERS: usize = 8;

    /// To be sent to others; counts are exact.
    fn numbers(&self) -> [f64; Self::NUMBERS] {
        let Self { loss, counted, errors, with_beam, in_words } = *self;
        let counts = [errors, with_beam, in_words].map(|share| [share.wrong, share.of]);
        let mut numbers = [loss, counted as f64, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        for (number, count) in numbers[2..].iter_mut().zip(counts.as_flattened()) {
            *number = *count as f64;
        }
        numbers
    }

    fn of(numbers: &[f64; Self::NUMBERS]) -> Self {
        let count = |at: usize| numbers[at] as usize;
        let share = |at: usize| Share { wrong: count(at), of: count(at + 1) };
        let (errors, with_beam, in_words) = (share(2), share(4), share(6));
        Self { loss: numbers[0], counted: count(1), errors, with_beam, in_words }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            loss: self.loss + other.loss,
            counted: self.counted + other.counted,
            errors: self.errors.plus(other.errors),
            with_beam: self.with_beam.plus(other.with_beam),
            in_words: self.in_words.plus(other.in_words),
        }
    }
}

impl<'a> Evaluator<'a> {
    /// An evaluator of this task, with batches of this budget.
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

    /// Examines a model. Each worker takes a part of the batches, and all come to the same result,
    /// however many they are.
    pub fn evaluate<E: Engine>(
        &self,
        engine: &E,
        model: &Model,
        parameters: &E::Buffer,
        collective: &dyn Collective,
    ) -> Result<Validation, Error> {
        let each = self.batches.len().div_ceil(collective.size());
        let mine = self.batches.iter().skip(collective.rank() * each).take(each);
        let mut numbers = Vec::with_capacity(each * Marks::NUMBERS);
        for (pieces, steps) in mine {
            let _core = collective.core();
            numbers.extend(self.mark(engine, model, parameters, pieces, *steps)?.numbers());
        }
        // The last worker may have fewer batches.
        numbers.resize(each * Marks::NUMBERS, 0.0);
        let all = collective.share(&numbers)?;
        let (all, _) = all.as_chunks();
        Ok(self.result(all.iter().map(Marks::of).fold(Marks::default(), Marks::plus)))
    }

    fn mark<E: Engine>(
        &self,
        engine: &E,
        model: &Model,
        parameters: &E::Buffer,
        pieces: &[Piece],
        steps: usize,
    ) -> Result<Marks, Error> {
        let classes = model.outputs();
        let batch = Batch::new(self.data, pieces, steps);
        let passed = model.pass(engine, parameters, &batch)?;
        let Loss { total: loss, count: counted, correct, .. } = passed.loss;
        let mut marks = Marks { loss, counted, ..Marks::default() };
        let rows = pieces.len();
        let scores_of = |said: &[f32], row: usize| -> Vec<f32> {
            let step = rows * classes;
            let place = |time: usize| time * step + row * classes;
            let times = 0..batch.frame.lengths()[row];
            times.flat_map(|time| &said[place(time)..place(time) + classes]).copied().collect()
        };
        match &batch.wanted {
            Wanted::Labels(_) | Wanted::Classes(_) => {
                marks.errors = Share { wrong: counted.saturating_sub(correct), of: counted };
                if let (Some(decoder), Some(spoken)) = (&self.words, self.spoken()) {
                    let said = engine.download(passed.said())?;
                    let found = (0..rows).into_par_iter().map(|row| {
                        let wanted = spoken.get(pieces[row].sequence);
                        let heard = decoder.decode(&scores_of(&said, row));
                        Share { wrong: distance(&heard, wanted), of: wanted.len() }
                    });
                    marks.in_words = found.reduce(Share::default, Share::plus);
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
                (marks.errors, marks.with_beam) = found.reduce(
                    || (Share::default(), Share::default()),
                    |a, b| (a.0.plus(b.0), a.1.plus(b.1)),
                );
            }
            Wanted::Frames { .. } => {}
        }
        Ok(marks)
    }

    fn result(&self, marks: Marks) -> Validation {
        let loss = marks.loss / marks.counted.max(1) as f64;
        let error = match &self.data.targets {
            Targets::Frames(_) => loss / self.variance,
            _ => marks.errors.rate(),
        };
        let mut more = Vec::new();
        if marks.with_beam.of > 0 {
            more.push(("beam error rate".to_owned(), marks.with_beam.rate()));
        }
        if marks.in_words.of > 0 {
            more.push(("word error rate".to_owned(), marks.in_words.rate()));
        }
        Validation { loss, error, more }
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
