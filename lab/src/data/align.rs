//! Which state of its word each frame of a recording is in.
//!
//! Every word has the same number of states, passed from left to right. A state is a Gaussian with a diagonal
//! covariance. They are found by segmental k-means: each recording is first divided evenly; then the Gaussians are
//! estimated from the frames of their states, and each recording is divided where its frames are most likely (the
//! Viterbi path), until nothing changes. Only what is learnt from takes part. Other recordings of a known word are
//! divided by the same Gaussians.

/// How often the recordings are divided anew at most.
const PASSES: usize = 20;

/// The least variance of a state, as a share of the variance of all frames.
const FLOOR: f64 = 0.01;

/// A recording of a word: its place among the words, and its frames.
pub(crate) type Recording<'a> = (usize, &'a [f32]);

/// The states of all words.
#[derive(Debug)]
pub(crate) struct Aligner {
    width: usize,
    states: usize,
    /// The means of each state, one state after another.
    means: Vec<f64>,
    /// The variances of each state.
    variances: Vec<f64>,
    /// For each state the sum of the logarithms of its variances.
    logs: Vec<f64>,
}

impl Aligner {
    /// Finds the states of so many words. Every word must have a recording, and every recording at least as many
    /// frames as a word has states.
    pub(crate) fn train(
        recordings: &[Recording<'_>],
        words: usize,
        states: usize,
        width: usize,
    ) -> Self {
        let mut paths: Vec<Vec<u32>> = recordings
            .iter()
            .map(|(_, frames)| {
                let length = frames.len() / width;
                (0..length).map(|frame| (frame * states / length) as u32).collect()
            })
            .collect();
        let mut all = Moments::new(1, width);
        for row in recordings.iter().flat_map(|(_, frames)| frames.chunks_exact(width)) {
            all.add(0, row);
        }
        let floor: Vec<f64> = all.of(0).map(|(_, variance)| (FLOOR * variance).max(1e-8)).collect();
        let mut aligner = Self::estimate(recordings, &paths, words, states, &floor);
        for _ in 0..PASSES {
            let next: Vec<Vec<u32>> =
                recordings.iter().map(|&recording| aligner.align(recording)).collect();
            if next == paths {
                break;
            }
            paths = next;
            aligner = Self::estimate(recordings, &paths, words, states, &floor);
        }
        aligner
    }

    /// The Gaussians of recordings that are divided in this way.
    fn estimate(
        recordings: &[Recording<'_>],
        paths: &[Vec<u32>],
        words: usize,
        states: usize,
        floor: &[f64],
    ) -> Self {
        let width = floor.len();
        let mut moments = Moments::new(words * states, width);
        for (&(word, frames), path) in recordings.iter().zip(paths) {
            for (row, &state) in frames.chunks_exact(width).zip(path) {
                moments.add(word * states + state as usize, row);
            }
        }
        let (mut means, mut variances, mut logs) = (Vec::new(), Vec::new(), Vec::new());
        for state in 0..words * states {
            let mut log = 0.0;
            for ((mean, variance), &floor) in moments.of(state).zip(floor) {
                let variance = variance.max(floor);
                means.push(mean);
                variances.push(variance);
                log += libm::log(variance);
            }
            logs.push(log);
        }
        Self { width, states, means, variances, logs }
    }

    /// The most likely state of every frame of a recording, from 0.
    pub(crate) fn align(&self, (word, frames): Recording<'_>) -> Vec<u32> {
        let states = self.states;
        let length = frames.len() / self.width;
        // Whether the best way to be in a state at a frame came from the state before.
        let mut came = vec![false; length * states];
        let mut best = vec![f64::NEG_INFINITY; states];
        for (frame, row) in frames.chunks_exact(self.width).enumerate() {
            for state in (0..states).rev() {
                let (stay, enter) = match (frame, state) {
                    (0, 0) => (f64::NEG_INFINITY, 0.0),
                    (0, _) | (_, 0) => (best[state], f64::NEG_INFINITY),
                    _ => (best[state], best[state - 1]),
                };
                came[frame * states + state] = enter > stay;
                best[state] = stay.max(enter) + self.likelihood(word * states + state, row);
            }
        }
        let mut path = vec![0; length];
        let mut state = states - 1;
        for frame in (0..length).rev() {
            path[frame] = state as u32;
            if came[frame * states + state] {
                state = state.saturating_sub(1);
            }
        }
        path
    }

    /// Twice the logarithm of how likely a frame is in a state, but for a constant.
    fn likelihood(&self, state: usize, row: &[f32]) -> f64 {
        let own = state * self.width..(state + 1) * self.width;
        let apart: f64 = row
            .iter()
            .zip(&self.means[own.clone()])
            .zip(&self.variances[own])
            .map(|((&value, mean), variance)| {
                let apart = f64::from(value) - mean;
                apart * apart / variance
            })
            .sum();
        -apart - self.logs[state]
    }
}

/// The frames of states, summed up.
struct Moments {
    width: usize,
    counts: Vec<f64>,
    /// Of every feature of every state, the sum of its values and of their squares.
    sums: Vec<[f64; 2]>,
}

impl Moments {
    fn new(states: usize, width: usize) -> Self {
        Self { width, counts: vec![0.0; states], sums: vec![[0.0; 2]; states * width] }
    }

    fn add(&mut self, state: usize, row: &[f32]) {
        self.counts[state] += 1.0;
        for (sum, &value) in self.sums[state * self.width..].iter_mut().zip(row) {
            let value = f64::from(value);
            sum[0] += value;
            sum[1] += value * value;
        }
    }

    /// The mean and the variance of every feature in a state.
    fn of(&self, state: usize) -> impl Iterator<Item = (f64, f64)> {
        let count = self.counts[state].max(1.0);
        let own = &self.sums[state * self.width..(state + 1) * self.width];
        own.iter().map(move |[sum, squares]| {
            let mean = sum / count;
            (mean, (squares / count - mean * mean).max(0.0))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::draw::{Draw, Part, Subject};
    use super::*;

    const WIDTH: usize = 3;
    const STATES: usize = 4;

    /// Recordings whose states are known: word `w` in state `s` is around a point of its own, for 1 to 9 frames.
    fn known(count: u64, part: Part) -> Vec<(usize, Vec<f32>, Vec<u32>)> {
        (0..count)
            .map(|index| {
                let mut draw = Draw::new(3, Subject::Speech, part, index);
                let word = index as usize % 2;
                let (mut frames, mut truth) = (Vec::new(), Vec::new());
                for state in 0..STATES {
                    for _ in 0..draw.between(1, 9) {
                        let around = [state as f64 * 2.0, (state * word) as f64, -(state as f64)];
                        frames.extend(around.map(|at| (at + 0.2 * draw.normal()) as f32));
                        truth.push(state as u32);
                    }
                }
                (word, frames, truth)
            })
            .collect()
    }

    fn recordings(known: &[(usize, Vec<f32>, Vec<u32>)]) -> Vec<Recording<'_>> {
        known.iter().map(|(word, frames, _)| (*word, frames.as_slice())).collect()
    }

    #[test]
    fn known_states_are_found_also_in_recordings_that_were_not_learnt_from() {
        let training = known(60, Part::Training);
        let aligner = Aligner::train(&recordings(&training), 2, STATES, WIDTH);
        for (word, frames, truth) in training.iter().chain(&known(20, Part::Validation)) {
            assert_eq!(aligner.align((*word, frames)), *truth);
        }
    }

    #[test]
    fn every_state_is_passed_from_left_to_right() {
        let training = known(60, Part::Training);
        let aligner = Aligner::train(&recordings(&training), 2, STATES, WIDTH);
        // Of noise, of frames that belong to one state, and of as many frames as states.
        let mut draw = Draw::new(9, Subject::Speech, Part::Common, 0);
        for length in [4, 5, 30] {
            let noise: Vec<f32> = (0..length * WIDTH).map(|_| draw.normal() as f32).collect();
            for frames in [noise, vec![6.0; length * WIDTH]] {
                let path = aligner.align((1, &frames));
                let mut passed = path.clone();
                passed.dedup();
                assert_eq!(passed, [0, 1, 2, 3], "{path:?}");
            }
        }
    }

    #[test]
    fn features_that_never_change_do_no_harm() {
        let frames = vec![1.0; 5 * WIDTH];
        let aligner = Aligner::train(&[(0, &frames)], 1, STATES, WIDTH);
        assert!(aligner.logs.iter().all(|log| log.is_finite()));
        assert_eq!(aligner.align((0, &frames)).last(), Some(&3));
    }
}
