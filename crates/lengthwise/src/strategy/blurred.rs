use crate::base::rng::Rng;
use crate::data::lengths::{Lengths, is_small_table};
use crate::error::Error;
use crate::limit::resolved::ResolvedBudget;
use crate::math::ln;
use crate::order::groups::Groups;
use crate::order::keys::Noisy;
use crate::shape::rounding::Staircase;
use crate::strategy::group::{Group, Inner, parameter};

#[doc = include_str!("blurred.md")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blurred {
    /// The mean of the noise, as a share of the whole scale.
    pub blur: f64,
}

/// Lengths below this are looked up in a table of this size, with vectors and without a check.
const TABLE: usize = 1 << 16;

parameter!(Blurred "blurred" { blur or spread: 0.0..=1e6 => 0.02 } "a number from 0 to 1000000");

impl Group for Blurred {
    fn describe(&self) -> String {
        format!("blurred:blur={}", self.blur)
    }

    fn in_passes(&self) -> bool {
        true
    }

    fn group(&self, lengths: &Lengths, limit: &ResolvedBudget, rng: &Rng) -> Result<Groups, Error> {
        self.check()?;
        let stretch = f64::from(u32::MAX) / (1.0 + self.blur * LARGEST_NOISE);
        let distinct = lengths.population().iter().map(|&(length, _)| length);
        let scale = scale(lengths, limit);
        let blur = self.blur;
        let noise = move |word: u32| blur * exponential(word);
        // Of a part, not every length need be in the statistics.
        let groups = if lengths.part().is_none() && is_small_table(lengths.max(), lengths.len() / 4)
        {
            let mut places = vec![0.0; (lengths.max() as usize + 1).max(TABLE)];
            for (length, place) in distinct.zip(scale) {
                places[length as usize] = place;
            }
            match places.first_chunk::<TABLE>() {
                Some(places) if (lengths.max() as usize) < TABLE => {
                    let place = |length: u32| places[length as usize % TABLE];
                    Groups::one(lengths, limit, &Noisy { rng, place, noise, stretch })
                }
                _ => {
                    let place = |length: u32| places[length as usize];
                    Groups::one(lengths, limit, &Noisy { rng, place, noise, stretch })
                }
            }
        } else {
            let steps = Staircase::new(distinct.collect(), lengths);
            let place = |length: u32| scale[steps.of(length) as usize];
            Groups::one(lengths, limit, &Noisy { rng, place, noise, stretch })
        };
        Ok(groups?.short_anywhere(rng))
    }
}

/// The place of every distinct length on a scale from 0 to 1, on which noise of one size costs and
/// gains equally everywhere: the integral of the square root of the slope of the sorted lengths, divided
/// by √(1 + (B / mean B)²) where full batches have B sequences.
///
/// The slope at a rank is taken over a window of ranks, and a length that several sequences share
/// has the mean of their places. O(distinct lengths + window) time: between the ranks where the
/// window meets another length the slope does not change.
fn scale(lengths: &Lengths, limit: &ResolvedBudget) -> Vec<f64> {
    let histogram = lengths.population();
    let count = lengths.population_count();
    let window = (count / 200).max(8);
    let mut ends = Vec::with_capacity(histogram.len());
    let mut end = 0;
    for &(_, of_length) in histogram {
        end += of_length as usize;
        ends.push(end);
    }
    let mut steps = Vec::with_capacity(histogram.len());
    // The groups of equal length at both ends of the window.
    let (mut low, mut high) = (0, 0);
    let mut rank = 0;
    for (&group_end, &(length, of_length)) in ends.iter().zip(histogram) {
        let (mut whole, mut sum) = (0.0, 0.0);
        while rank < group_end {
            let (first, last) = (rank.saturating_sub(window), (rank + window).min(count - 1));
            while ends[low] <= first {
                low += 1;
            }
            while ends[high] <= last {
                high += 1;
            }
            let rise = f64::from(histogram[high].0 - histogram[low].0);
            let slope = rise / (last - first).max(1) as f64;
            // At the ends of the order the window is cut off, and grows with every rank.
            let clipped = rank < window || rank + window >= count;
            let run = if clipped {
                1
            } else {
                (group_end - rank).min(ends[low] - first).min(ends[high] - last)
            };
            let (run_count, step) = (run as f64, slope.sqrt());
            sum += run_count * (whole + step * (run_count + 1.0) / 2.0);
            whole += run_count * step;
            rank += run;
        }
        let full = limit.full(limit.rounding.of(length)).min(count as u32);
        steps.push(Step { whole, mean: sum / f64::from(of_length), full: full.into() });
    }
    places(&steps)
}

/// What one length takes of the scale before batch sizes count: from its first sequence to its last, and to
/// their mean; and how many sequences a full batch has that is padded to it.
struct Step {
    whole: f64,
    mean: f64,
    full: f64,
}

/// The places, where large batches get more noise: their sequences have many batch-mates, and are
/// short, so that noise costs little.
fn places(steps: &[Step]) -> Vec<f64> {
    let first = steps.first().map_or(1.0, |step| step.full);
    let total: f64 = steps.iter().map(|step| step.whole).sum();
    // The difference from the first, so that equal sizes have exactly their own mean.
    let above: f64 = steps.iter().map(|step| step.whole * (step.full - first)).sum();
    let mean = if total > 0.0 { first + above / total } else { first };
    let mut end = 0.0;
    let mut places = Vec::with_capacity(steps.len());
    for step in steps {
        let size = step.full / mean;
        let weight = (0.5 * (1.0 + size * size)).sqrt();
        places.push(end + step.mean / weight);
        end += step.whole / weight;
    }
    let end = if end > 0.0 { end } else { 1.0 };
    places.iter().map(|place| place / end).collect()
}

/// No noise is larger than this: −ln 2⁻³³, rounded up.
pub(crate) const LARGEST_NOISE: f64 = 23.0;

/// A random number of exponential distribution and mean 1, from 32 random bits: −ln((word + ½) / 2³²).
#[inline(always)]
pub(crate) fn exponential(word: u32) -> f64 {
    32.0 * std::f64::consts::LN_2 - ln(f64::from(word) + 0.5)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::shape::rounding::Rounding;

    #[test]
    fn noise_is_exponential() {
        for word in (0..=u32::MAX).step_by(99_991).chain([0, 1, 2, u32::MAX]) {
            let expected = -((f64::from(word) + 0.5) / 2_f64.powi(32)).ln();
            assert!((exponential(word) - expected).abs() < 2e-9, "{word}");
            assert!((0.0..LARGEST_NOISE).contains(&exponential(word)), "{word}");
        }
    }

    /// The scale as it is defined, rank by rank.
    fn plain_scale(lengths: &Lengths, limit: &ResolvedBudget) -> Vec<f64> {
        let mut sorted = lengths.as_slice().to_vec();
        sorted.sort_unstable();
        let count = sorted.len();
        let window = (count / 200).max(8);
        let full = |length: u32| f64::from(limit.full(length).min(lengths.count()));
        let slopes: Vec<f64> = (0..count)
            .map(|rank| {
                let (first, last) = (rank.saturating_sub(window), (rank + window).min(count - 1));
                let rise = f64::from(sorted[last] - sorted[first]);
                (rise / (last - first).max(1) as f64).sqrt()
            })
            .collect();
        let total: f64 = slopes.iter().sum();
        let sizes: f64 =
            slopes.iter().zip(&sorted).map(|(slope, &length)| slope * full(length)).sum();
        let mean = if total > 0.0 { sizes / total } else { 1.0 };
        let mut place = 0.0;
        let weighted = slopes.iter().zip(&sorted).map(|(slope, &length)| {
            place += slope / (0.5 * (1.0 + (full(length) / mean).powi(2))).sqrt();
            place
        });
        let places: Vec<f64> = weighted.collect();
        let whole = if place > 0.0 { place } else { 1.0 };
        let mut means = Vec::new();
        let mut start = 0;
        for equal in sorted.chunk_by(|a, b| a == b) {
            let sum: f64 = places[start..start + equal.len()].iter().sum();
            means.push(sum / equal.len() as f64 / whole);
            start += equal.len();
        }
        means
    }

    #[test]
    fn the_scale_is_as_defined_and_rises() {
        for example in crate::Example::ALL {
            let all = example.lengths();
            for count in [1, 2, 15, 16, 17, 40, 399, 5000, all.len()] {
                let lengths = Lengths::new(&all.as_slice()[..count]).unwrap();
                for budget in ["sequences:16", "dynamic:4", "padded:30000,at-most=64"] {
                    let limit =
                        budget.parse::<crate::Budget>().unwrap().resolve(lengths.max()).unwrap();
                    let limit = limit.rounded(&lengths, Arc::new(Rounding::Exact));
                    let (fast, plain) = (scale(&lengths, &limit), plain_scale(&lengths, &limit));
                    assert_eq!(fast.len(), plain.len());
                    for (a, b) in fast.iter().zip(&plain) {
                        assert!((a - b).abs() < 1e-9, "{example} {count} {budget}: {a} {b}");
                    }
                    assert!(fast.is_sorted_by(|a, b| a < b), "{example} {count} {budget}");
                }
            }
        }
    }
}
