//! How alike the optimizer steps of an epoch are in the lengths they hold.

use crate::data::lengths::{Lengths, is_small_table};
use crate::math::ln;
use crate::ranks::schedule::Schedule;

/// How much optimizer steps differ from each other in length, compared with random steps.
///
/// Each number is the variance of a step's composition, divided by the variance of a random sample of
/// as many sequences: 1 is as random, below 1 is more even than random, and 50 means that a step
/// represents the data only as well as a random one with a fiftieth of its sequences. It is 0 if all
/// steps are alike. Two lengths count as their sum.
///
/// ```
/// use lengthwise::{Budget, Example, Planner, Shapes, strategy::{Shuffled, Sorted}};
///
/// let lengths = Example::Documents.lengths();
/// let random = Planner::new(Shuffled, Budget::sequences(32)).plan(&lengths, 0)?;
/// assert!((0.8..1.2).contains(&random.schedule(1)?.step_mix(&lengths).log_length));
/// let sorted = Planner::new(Sorted, Budget::sequences(32)).plan(&lengths, 0)?;
/// assert!(sorted.schedule(1)?.step_mix(&lengths).log_length > 30.0);
/// # Ok::<(), lengthwise::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct StepMix {
    /// By the mean of the logarithm of the length: the step mix, where one number is asked for.
    pub log_length: f64,
    /// By the shares of the four quarters of all sequences, from the shortest to the longest.
    pub quartiles: f64,
    /// By the mean of the logarithm of the length over tokens instead of sequences.
    pub token_log_length: f64,
    /// By the shares of the four quarters of all tokens, from those of the shortest sequences to those of
    /// the longest.
    pub token_quartiles: f64,
}

impl Schedule {
    /// How much the optimizer steps differ in length, over all ranks, compared with random steps. Two lengths
    /// count as their sum.
    /// Panics when `lengths` has fewer sequences than the lengths that the plan was made for.
    pub fn step_mix(&self, lengths: &Lengths) -> StepMix {
        let (mut members, mut ends) = (Vec::new(), Vec::new());
        for step in self.steps() {
            let sequences = step.iter().flat_map(|&slot| self.batch(slot).0);
            members.extend(sequences.map(|&sequence| lengths.both(sequence).joint()));
            ends.push(members.len());
        }
        StepMix::of(&members, &ends)
    }
}

impl StepMix {
    /// Of steps that end there, one after another, and hold sequences of these lengths.
    fn of(lengths: &[u32], ends: &[usize]) -> Self {
        let steps = Steps::new(lengths, ends);
        let tokens = |length: u32| f64::from(length);
        let one = |_| 1.0;
        let (by_count, by_tokens) = (steps.quarters(one), steps.quarters(tokens));
        let log = |length: u32| [ln(f64::from(length))];
        Self {
            log_length: steps.ratio(log, one),
            quartiles: steps.ratio(|length| shares(length, by_count), one),
            token_log_length: steps.ratio(log, tokens),
            token_quartiles: steps.ratio(|length| shares(length, by_tokens), tokens),
        }
    }
}

/// The sequences of all steps. What is computed of a length is computed once.
struct Steps<'a> {
    /// Every length that occurs, rising, and how often.
    distinct: Vec<(u32, f64)>,
    /// Which of them each sequence has, step after step.
    places: Vec<u32>,
    ends: &'a [usize],
}

impl<'a> Steps<'a> {
    fn new(lengths: &[u32], ends: &'a [usize]) -> Self {
        let mut sorted = lengths.to_vec();
        sorted.sort_unstable();
        let runs = sorted.chunk_by(|a, b| a == b);
        let distinct: Vec<(u32, f64)> = runs.map(|run| (run[0], run.len() as f64)).collect();
        let longest = sorted.last().copied().unwrap_or(0);
        let places = if is_small_table(longest, lengths.len()) {
            let mut place = vec![0; longest as usize + 1];
            for (at, &(length, _)) in (0..).zip(&distinct) {
                place[length as usize] = at;
            }
            lengths.iter().map(|&length| place[length as usize]).collect()
        } else {
            let place = |length: u32| distinct.partition_point(|&(other, _)| other < length) as u32;
            lengths.iter().map(|&length| place(length)).collect()
        };
        Self { distinct, places, ends }
    }

    /// The lengths at which the second, third and fourth quarter begin, where each counts with its weight.
    fn quarters(&self, weight: impl Fn(u32) -> f64) -> [u32; 3] {
        let weights = || self.distinct.iter().map(|&(length, count)| count * weight(length));
        let whole: f64 = weights().sum();
        let (mut starts, mut found, mut sum) = ([u32::MAX; 3], 0, 0.0);
        for (&(length, _), weight) in self.distinct.iter().zip(weights()) {
            sum += weight;
            while found < 3 && sum > whole * (found + 1) as f64 / 4.0 {
                starts[found] = length;
                found += 1;
            }
        }
        starts
    }

    /// The variance of the steps' weighted means of `value` against that of random steps of as many.
    fn ratio<const D: usize>(
        &self,
        value: impl Fn(u32) -> [f64; D],
        weight: impl Fn(u32) -> f64,
    ) -> f64 {
        let count = self.places.len() as f64;
        let each = || self.distinct.iter().copied();
        let weights: f64 = each().map(|(length, count)| count * weight(length)).sum();
        let mut mean = [0.0; D];
        for (length, count) in each() {
            for (mean, value) in mean.iter_mut().zip(value(length)) {
                *mean += count * weight(length) * value / weights;
            }
        }
        // How heavy a sequence of each length is, one on average, and what it moves the mean by, times the
        // number of sequences.
        let table = each().map(|(length, _)| {
            let (heavy, value) = (weight(length) * count / weights, value(length));
            (heavy, std::array::from_fn::<f64, D, _>(|at| heavy * (value[at] - mean[at])))
        });
        let table: Vec<(f64, [f64; D])> = table.collect();
        let squares = |moved: [f64; D]| moved.iter().map(|moved| moved * moved).sum::<f64>();
        let squares_of = each().zip(&table).map(|((_, count), &(_, moved))| count * squares(moved));
        let variance = squares_of.sum::<f64>() / count;
        let (mut seen, mut sizes, mut start) = (0.0, 0.0, 0);
        for &end in self.ends {
            let step = &self.places[start..end];
            start = end;
            if step.is_empty() || step.len() == self.places.len() {
                continue;
            }
            let (mut weight, mut sum) = (0.0, [0.0; D]);
            for &place in step {
                let (heavy, moved) = &table[place as usize];
                weight += heavy;
                for (sum, moved) in sum.iter_mut().zip(moved) {
                    *sum += moved;
                }
            }
            let size = step.len() as f64;
            let square = squares(sum) / (weight * weight);
            // Sampling without replacement leaves less to chance, the more of the data a step has.
            seen += size * size * square * (count - 1.0) / (count - size);
            sizes += size;
        }
        // Equal lengths differ by rounding at most.
        if variance > 1e-24 && sizes > 0.0 { seen / (sizes * variance) } else { 0.0 }
    }
}

/// 1 for the quarter that the length is in, 0 for the others.
fn shares(length: u32, starts: [u32; 3]) -> [f64; 4] {
    let mut shares = [0.0; 4];
    shares[starts.iter().filter(|&&start| length >= start).count()] = 1.0;
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::{Purpose, Rng};
    use crate::order::sort;

    fn all(mix: StepMix) -> [f64; 4] {
        [mix.log_length, mix.quartiles, mix.token_log_length, mix.token_quartiles]
    }

    #[test]
    fn random_steps_have_a_mix_of_one() {
        let lengths: Vec<u32> = (0..40_000).map(|i| 1 + i * i % 997).collect();
        let order = sort::shuffled(40_000, &Rng::new(3, 1), Purpose::Shuffle);
        let shuffled: Vec<u32> = order.iter().map(|&at| lengths[at as usize]).collect();
        for size in [1, 50, 100] {
            let ends: Vec<usize> = (1..=40_000 / size).map(|step| step * size).collect();
            // Means over the tokens of a few sequences are not what the formula is for.
            let figures = if size == 1 { 2 } else { 4 };
            for mix in &all(StepMix::of(&shuffled, &ends))[..figures] {
                assert!((mix - 1.0).abs() < 0.15, "{size} {mix}");
            }
        }
    }

    #[test]
    fn steps_of_one_length_have_the_mix_of_their_size() {
        let lengths: Vec<u32> = (1..=100).flat_map(|length| [length; 10]).collect();
        let ends: Vec<usize> = (1..=100).map(|step| step * 10).collect();
        let [log, quartiles, ..] = all(StepMix::of(&lengths, &ends));
        // All of the variance is between the steps; a tenth of it is what random steps have.
        let expected = 10.0 * 999.0 / 990.0;
        assert!((log - expected).abs() < 1e-9 && (quartiles - expected).abs() < 1e-9);
    }

    #[test]
    fn equal_steps_and_equal_lengths_have_none() {
        let lengths: Vec<u32> = (0..50).flat_map(|_| [3, 9, 4, 100]).collect();
        let ends: Vec<usize> = (1..=50).map(|step| step * 4).collect();
        let cases: [(&[u32], &[usize]); 4] =
            [(&lengths, &ends), (&[7; 12], &[4, 8, 12]), (&[7, 8], &[2]), (&[], &[])];
        for (lengths, ends) in cases {
            assert!(all(StepMix::of(lengths, ends)).iter().all(|mix| mix.abs() < 1e-12));
        }
    }
}
