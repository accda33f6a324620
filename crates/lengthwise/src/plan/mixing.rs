//! How freely batch-mates change from epoch to epoch, compared with random shuffling.

use std::sync::Arc;

use crate::cut::batches::Batches;
use crate::data::units::Together;
use crate::plan::epoch::Plan;

/// How freely batch-mates change between epochs, as a share of random shuffling: 1 is random
/// shuffling, near 0 is the same batches in every epoch. See [`mixing`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mixing {
    /// How many pairs of batch-mates random shuffling would repeat, divided by how many were
    /// repeated: every pair of batch-mates counts the same. At most 1.
    pub per_pair: f64,
    /// The standard error of `per_pair`.
    pub per_pair_error: f64,
    /// The same, but every sequence counts the same, however large its batches are: `effective_mates`
    /// divided by the number of other sequences. At most 1.
    pub per_sequence: f64,
    /// The standard error of `per_sequence`.
    pub per_sequence_error: f64,
    /// The probability that two sequences that share a batch share one again in another epoch.
    pub repeat_rate: f64,
    /// The size of the pool that batch-mates are effectively drawn from: one divided by the mean
    /// [`mate_repeat_rate`]. At most the number of other sequences.
    pub effective_mates: f64,
}

/// What counts the same in [`Mixing`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// Every pair of batch-mates.
    Pair,
    /// Every sequence. Repeats count less in large batches, and budgets in cells have large batches of
    /// short sequences.
    Sequence,
}

impl Per {
    /// Both, the plain one first.
    pub const ALL: [Per; 2] = [Per::Pair, Per::Sequence];

    /// Its name: `pair` or `sequence`.
    pub const fn name(self) -> &'static str {
        match self {
            Per::Pair => "pair",
            Per::Sequence => "sequence",
        }
    }
}

impl Mixing {
    /// The manual page, in Markdown.
    pub const fn explain() -> &'static str {
        include_str!("mixing.md")
    }

    /// The mixing, counted in this way.
    pub fn per(&self, per: Per) -> f64 {
        match per {
            Per::Pair => self.per_pair,
            Per::Sequence => self.per_sequence,
        }
    }

    /// The standard error of the mixing, counted in this way.
    pub fn error_per(&self, per: Per) -> f64 {
        match per {
            Per::Pair => self.per_pair_error,
            Per::Sequence => self.per_sequence_error,
        }
    }
}

/// Measures how freely batch-mates change between the epochs of these plans, over all pairs of epochs.
/// Sequences that stay [together](crate::Lengths::together) count as one, and those of other
/// [kinds](crate::Lengths::kinds) could not be batch-mates. `None` for fewer than two epochs, or if no two
/// sequences ever share a batch. [`Mixing::explain`]
/// describes how it is counted, and its error.
///
/// A strategy that avoids repeats for a [cycle](crate::Planner::cycle) of epochs looks as good as random
/// shuffling inside one cycle. Measure epochs of different cycles.
///
/// ```
/// use lengthwise::{Budget, Lengths, Planner, measure::mixing, strategy::{Shuffled, Sorted}};
///
/// let lengths = Lengths::new((1..=640).collect::<Vec<u32>>())?;
/// let sorted = Planner::new(Sorted, Budget::sequences(8));
/// let always_the_same = mixing(&[sorted.plan(&lengths, 0)?, sorted.plan(&lengths, 1)?]).unwrap();
/// assert_eq!(always_the_same.repeat_rate, 1.0);
/// assert!((always_the_same.per_pair - 7.0 / 639.0).abs() < 1e-9);
///
/// let shuffled = Planner::new(Shuffled, Budget::sequences(8));
/// let epochs = (0..8).map(|epoch| shuffled.plan(&lengths, epoch)).collect::<Result<Vec<_>, _>>()?;
/// let random = mixing(&epochs).unwrap();
/// assert!(random.per_pair <= 1.0 && random.per_pair + 3.0 * random.per_pair_error > 1.0);
/// # Ok::<(), lengthwise::Error>(())
/// ```
pub fn mixing(epochs: &[Plan]) -> Option<Mixing> {
    let of_kinds = epochs.first().and_then(Plan::units).filter(|units| units.kind_count > 1);
    let of_kinds = of_kinds.filter(|_| epochs[0].provenance().share == Together::Batch);
    let epochs: Vec<Arc<Batches>> = epochs.iter().map(Plan::places).collect();
    let pairs = (1..epochs.len()).flat_map(|later| (0..later).map(move |one| (one, later)));
    let repeats = pairs.map(|(one, other)| Repeats::between(&epochs[one], &epochs[other]));
    let repeats: Vec<Repeats> = repeats.filter(|one| one.pairs[0] * one.pairs[1] > 0.0).collect();
    if repeats.is_empty() {
        return None;
    }
    let all = sequences(&epochs);
    let count: usize = all.iter().filter(|found| **found).count();
    // Only sequences of one kind can share a batch.
    let [others, all_pairs] = match of_kinds {
        None => [count as f64 - 1.0, pairs_of(count as u64)],
        Some(units) => {
            let mut kinds = vec![0; units.kind_count as usize];
            for unit in (0..).zip(&all).filter(|(_, found)| **found).map(|(unit, _)| unit) {
                kinds[units.kind(unit) as usize] += 1;
            }
            let all_pairs: f64 = kinds.into_iter().map(pairs_of).sum();
            [2.0 * all_pairs / count as f64, all_pairs]
        }
    };
    let expected = |repeats: &Repeats| repeats.pairs[0] * repeats.pairs[1] / all_pairs;
    let sum = |of: &dyn Fn(&Repeats) -> f64| repeats.iter().map(of).sum::<f64>();
    let (all_expected, common) = (sum(&expected), sum(&|repeats| repeats.common));

    // Repeats divided by those of random shuffling; weighted as sums over pairs of epochs are.
    let rates: Vec<f64> = repeats.iter().map(|one| one.common / expected(one)).collect();
    let per_pair =
        Estimate { rate: common / all_expected, repeats: common, rates }.mixing(all_expected);

    let rates: Vec<f64> = repeats.iter().filter_map(|one| Some(one.rate()? * others)).collect();
    let rate = mean(&rates);
    let weights = sum(&|repeats| repeats.weights);
    let squares = sum(&|repeats| repeats.square_weights);
    let counted = if squares > 0.0 { weights * weights / squares } else { 0.0 };
    let per_sequence = Estimate { rate, repeats: counted, rates }.mixing(all_expected);
    Some(Mixing {
        per_pair: per_pair.0,
        per_pair_error: per_pair.1,
        per_sequence: per_sequence.0,
        per_sequence_error: per_sequence.1,
        repeat_rate: common / sum(&|repeats| 0.5 * (repeats.pairs[0] + repeats.pairs[1])),
        effective_mates: per_sequence.0 * others,
    })
}

/// The size of the pool that batch-mates are effectively drawn from, over all pairs of epochs: see
/// [`Mixing::effective_mates`]. Random shuffling gives about the number of sequences less one, batches
/// that never change give the batch size less one. `None` for fewer than two epochs, or if no two
/// sequences ever share a batch.
///
/// ```
/// use lengthwise::{Budget, Lengths, Planner, measure::effective_mates, strategy::Sorted};
///
/// let lengths = Lengths::new((1..=64).collect::<Vec<u32>>())?;
/// let planner = Planner::new(Sorted, Budget::sequences(8));
/// let epochs = [planner.plan(&lengths, 0)?, planner.plan(&lengths, 1)?];
/// assert_eq!(effective_mates(&epochs).map(f64::round), Some(7.0)); // always the same batches
/// # Ok::<(), lengthwise::Error>(())
/// ```
pub fn effective_mates(epochs: &[Plan]) -> Option<f64> {
    mixing(epochs).map(|mixing| mixing.effective_mates)
}

/// How often batch-mates repeat between two epochs: the chance that a random batch-mate of a random
/// sequence in one epoch is its random batch-mate in the other. `None` if no sequence has batch-mates in
/// both. For [`effective_mates`], not for pairs: see [`Mixing::repeat_rate`].
///
/// O(sequences), by counting how many sequences each pair of batches has in common.
pub fn mate_repeat_rate(one: &Plan, other: &Plan) -> Option<f64> {
    Repeats::between(&one.places(), &other.places()).rate()
}

/// What two epochs have in common.
#[derive(Clone, Copy, Default)]
struct Repeats {
    /// How many pairs of sequences share a batch in each.
    pairs: [f64; 2],
    /// How many pairs share one in both.
    common: f64,
    /// The sum over these of one divided by the numbers of batch-mates in both, and of its square.
    weights: f64,
    square_weights: f64,
    /// How many sequences have batch-mates in both.
    sequences: u64,
}

impl Repeats {
    fn between(one: &Batches, other: &Batches) -> Self {
        const NOWHERE: u32 = u32::MAX;
        let highest = one.indices.iter().chain(&other.indices).max();
        let mut other_batch = vec![NOWHERE; highest.map_or(0, |&highest| highest as usize + 1)];
        for (batch, sequences) in (0..).zip(other.iter()) {
            for &sequence in sequences {
                other_batch[sequence as usize] = batch;
            }
        }
        let other_mates: Vec<u64> = other.iter().map(|batch| batch.len() as u64 - 1).collect();
        let mut shared_with = vec![0_u64; other.len()];
        let pairs = |plan: &Batches| plan.iter().map(|batch| pairs_of(batch.len() as u64)).sum();
        let mut all = Self { pairs: [pairs(one), pairs(other)], ..Self::default() };
        for batch in one.iter() {
            let batches = batch.iter().map(|&sequence| other_batch[sequence as usize]);
            let batches = batches.filter(|&other| other != NOWHERE);
            let mates = batch.len() as u64 - 1;
            batches.clone().for_each(|other| shared_with[other as usize] += 1);
            for other in batches {
                let shared = std::mem::take(&mut shared_with[other as usize]);
                let product = (mates * other_mates[other as usize]) as f64;
                if product > 0.0 && shared > 0 {
                    let common = pairs_of(shared);
                    all.common += common;
                    all.weights += common / product;
                    all.square_weights += common / (product * product);
                    all.sequences += shared;
                }
            }
        }
        all
    }

    /// The [`mate_repeat_rate`].
    fn rate(&self) -> Option<f64> {
        (self.sequences > 0).then(|| 2.0 * self.weights / self.sequences as f64)
    }
}

/// Repeats as multiples of those of random shuffling.
struct Estimate {
    /// Over all pairs of epochs.
    rate: f64,
    /// From so many repeats; fewer than there were if some count more than others.
    repeats: f64,
    /// Of each pair of epochs.
    rates: Vec<f64>,
}

impl Estimate {
    /// The mixing and its standard error, where random shuffling would have so many repeats.
    fn mixing(&self, expected: f64) -> (f64, f64) {
        // There could have been this many more: Gehrels' upper limit of a Poisson count.
        let upper = 1.0 + (self.repeats + 0.75).sqrt();
        let counted =
            if self.repeats > 0.0 { self.rate / self.repeats * upper } else { upper / expected };
        let center = mean(&self.rates);
        let squares: f64 = self.rates.iter().map(|rate| (rate - center).powi(2)).sum();
        let count = self.rates.len() as f64;
        let spread = if count > 1.0 { (squares / (count - 1.0) / count).sqrt() } else { 0.0 };
        let (rate, error) = (self.rate.max(1.0), counted.max(spread));
        (1.0 / rate, 1.0 / rate - 1.0 / (rate + error))
    }
}

/// Which sequences the plans have.
fn sequences(epochs: &[Arc<Batches>]) -> Vec<bool> {
    let highest = epochs.iter().filter_map(|plan| plan.indices.iter().max()).max();
    let mut found = vec![false; highest.map_or(0, |&highest| highest as usize + 1)];
    for plan in epochs {
        for &sequence in &plan.indices {
            found[sequence as usize] = true;
        }
    }
    found
}

/// How many pairs so many sequences make.
fn pairs_of(sequences: u64) -> f64 {
    (sequences * sequences.saturating_sub(1)) as f64 / 2.0
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
