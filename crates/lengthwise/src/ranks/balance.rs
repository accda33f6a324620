//! Stratified steps: one batch from each stratum of length, matched so that all steps are alike.
//!
//! Randomly matched batches leave a difference between steps, from the variation inside the strata.
//! With few ranks the strata are wide, and the difference is larger than with random batching, where
//! every batch is a mixture. So batches of two steps, of one stratum or of neighbouring ones, are
//! swapped if that brings the means of both steps nearer to the overall mean.

use crate::base::rng::{Purpose, Rng};
use crate::math::ln;
use crate::plan::arrange::Part;

/// Exchanges tried for each batch in one pass.
const TRIES: usize = 4;

/// The most passes: they take no longer than the plan did, or a few milliseconds.
fn passes(batches: usize, sequences: u64) -> usize {
    let mean = sequences as usize / batches;
    (2 * mean).clamp(1, 16) + 50_000 / (TRIES * batches)
}

/// A pass that leaves more than this of the distance to the mean is the last.
const WORTHWHILE: f64 = 0.97;

/// Steps within this distance of the mean are near enough.
const NEAR: f64 = 0.05;

/// How many strata apart two swapped batches may be.
const REACH: u32 = 3;

/// Steps of one batch from each of `per_step` strata, one after another. `kept` has the batches by
/// length, and a whole number of steps of them.
pub(crate) fn matched(kept: &[u32], parts: &[Part], per_step: usize, rng: &Rng) -> Vec<u32> {
    let steps = kept.len() / per_step;
    let mut slots = vec![0; kept.len()];
    let mut words = rng.words(Purpose::Match, kept.len() as u32);
    for (stratum, batches) in kept.chunks(steps.max(1)).enumerate() {
        let mut drawn: Vec<(u32, u32)> = words.by_ref().zip(batches.iter().copied()).collect();
        drawn.sort_unstable();
        for (step, (_, batch)) in drawn.into_iter().enumerate() {
            slots[step * per_step + stratum] = batch;
        }
    }
    if steps > 1 {
        exchange(&mut slots, parts, per_step, rng);
    }
    slots
}

/// How far a batch takes its step from the mean, by three measures of a step's mean logarithm of
/// lengths: the mean over positions, over batches and over sequences. In units of what random
/// batching would have in a step.
type Drift = [f64; 3];

/// What counts how much. Loss is most often a mean over positions; and with few ranks the mean over
/// sequences cannot be balanced where some batches have many more sequences than others.
const WEIGHTS: Drift = [4.0, 1.0, 0.25];

fn exchange(slots: &mut [u32], parts: &[Part], per_step: usize, rng: &Rng) {
    let steps = slots.len() / per_step;
    let drifts = drifts(slots, parts, steps);
    let sum = |step: &[u32]| {
        step.iter().fold(Drift::default(), |sum, &slot| add(sum, drifts[slot as usize]))
    };
    let mut sums: Vec<Drift> = slots.chunks(per_step).map(sum).collect();
    let mut random = rng.stream(Purpose::Swap);
    let mut before = f64::INFINITY;
    let sequences = slots.iter().map(|&slot| u64::from(parts[slot as usize].size)).sum();
    for _ in 0..passes(slots.len(), sequences) {
        // Not the mean over sequences, which often cannot come near.
        let apart: f64 = sums.iter().map(|sum| off([sum[0], sum[1], 0.0])).sum();
        if apart > WORTHWHILE * before || apart < NEAR * steps as f64 {
            break;
        }
        before = apart;
        for _ in 0..TRIES * slots.len() {
            let [one, other] = [0; 2].map(|_| random.below(steps as u32) as usize);
            let stratum = random.below(per_step as u32);
            let near = (stratum + random.below(REACH)).min(per_step as u32 - 1);
            let [a, b] = [(one, stratum), (other, near)]
                .map(|(step, stratum)| step * per_step + stratum as usize);
            let [out, into] = [a, b].map(|place| drifts[slots[place] as usize]);
            let change = sub(into, out);
            let after = [add(sums[one], change), sub(sums[other], change)];
            let gain = off(sums[one]) + off(sums[other]) - off(after[0]) - off(after[1]);
            if one != other && gain > 0.0 {
                slots.swap(a, b);
                [sums[one], sums[other]] = after;
            }
        }
    }
}

fn drifts(slots: &[u32], parts: &[Part], steps: usize) -> Vec<Drift> {
    let logs: Vec<f64> = parts.iter().map(|part| ln(f64::from(part.length))).collect();
    let weights = |slot: u32| -> Drift {
        let Part { size, length, .. } = parts[slot as usize];
        [f64::from(size) * f64::from(length), 1.0, f64::from(size)]
    };
    let [mut means, mut totals, mut variances] = [Drift::default(); 3];
    for &slot in slots {
        let log = logs[slot as usize];
        for (measure, weight) in weights(slot).into_iter().enumerate() {
            means[measure] += weight * log;
            totals[measure] += weight;
        }
    }
    for (mean, total) in means.iter_mut().zip(totals) {
        *mean /= total;
    }
    // The variance of a step's sum if every sequence were drawn on its own.
    for &slot in slots {
        let Part { size, length, .. } = parts[slot as usize];
        let own = [f64::from(length), 1.0 / f64::from(size), 1.0];
        for (measure, own) in own.into_iter().enumerate() {
            let apart = own * (logs[slot as usize] - means[measure]);
            variances[measure] += f64::from(size) * apart * apart / steps as f64;
        }
    }
    let scales = [0, 1, 2].map(|measure| {
        if variances[measure] > 0.0 { (WEIGHTS[measure] / variances[measure]).sqrt() } else { 0.0 }
    });
    let drift = |slot: u32| {
        let weights = weights(slot);
        [0, 1, 2].map(|measure| {
            scales[measure] * weights[measure] * (logs[slot as usize] - means[measure])
        })
    };
    (0..parts.len() as u32).map(drift).collect()
}

fn add(a: Drift, b: Drift) -> Drift {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

fn sub(a: Drift, b: Drift) -> Drift {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn off([a, b, c]: Drift) -> f64 {
    a * a + b * b + c * c
}
