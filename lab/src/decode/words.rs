//! Words from the scores of their states: a hybrid decoder, as in paper 1.

use super::log_softmax;
use crate::data::{Targets, Words};

/// Words one after another, each passed from its first state to its last, as likely as the model says
/// over how common the states are.
#[derive(Clone, Debug)]
pub struct WordLoop {
    /// The states of all words, one word after another: their labels.
    labels: Vec<u32>,
    /// The first state of each word.
    firsts: Vec<usize>,
    /// How common each label is, as a logarithm.
    priors: Vec<f32>,
    /// What beginning another word costs; infinite where every sequence is one word.
    another: f32,
}

impl WordLoop {
    /// For words of which these labels are the states. Nothing where the labels are no states.
    pub fn new(targets: &Targets) -> Option<Self> {
        let Targets::Labels { names, values, words: Some(words) } = targets else { return None };
        let Words { states, spoken, .. } = words;
        let mut counts = vec![1_u32; names.len()];
        for &label in values.values() {
            counts[label as usize] += 1;
        }
        let total: u32 = counts.iter().sum();
        let priors = counts.iter().map(|&count| (count as f32 / total as f32).ln()).collect();
        let single = (0..spoken.len()).all(|sequence| spoken.length(sequence) == 1);
        // About what a word costs where all are as likely.
        let another = if single { f32::INFINITY } else { (states.len() as f32).ln() };
        let mut firsts = Vec::new();
        let mut labels = Vec::new();
        for states in states {
            firsts.push(labels.len());
            labels.extend_from_slice(states);
        }
        Some(Self { labels, firsts, priors, another })
    }

    /// The likeliest words for the scores of a sequence (Viterbi, 1967).
    pub fn decode(&self, scores: &[f32]) -> Vec<u32> {
        let classes = self.priors.len();
        let states = self.labels.len();
        let is_first: Vec<bool> = (0..states).map(|s| self.firsts.contains(&s)).collect();
        let last_of = |word: usize| self.firsts.get(word + 1).copied().unwrap_or(states) - 1;
        let mut best = vec![f32::NEG_INFINITY; states];
        // For every step and state, the state before it.
        let mut from: Vec<Vec<u32>> = Vec::new();
        for (time, step) in scores.chunks_exact(classes).enumerate() {
            let logs = log_softmax(step);
            let cost =
                |s: usize| logs[self.labels[s] as usize] - self.priors[self.labels[s] as usize];
            let mut now = vec![f32::NEG_INFINITY; states];
            let mut came = vec![0_u32; states];
            let ended = (0..self.firsts.len())
                .map(last_of)
                .fold(last_of(0), |a, b| if best[b] > best[a] { b } else { a });
            for state in 0..states {
                let (mut value, mut before) = (best[state], state);
                if time == 0 {
                    value = if is_first[state] { 0.0 } else { f32::NEG_INFINITY };
                } else if is_first[state] {
                    if best[ended] - self.another > value {
                        (value, before) = (best[ended] - self.another, ended);
                    }
                } else if best[state - 1] > value {
                    (value, before) = (best[state - 1], state - 1);
                }
                now[state] = value + cost(state);
                came[state] = before as u32;
            }
            from.push(came);
            best = now;
        }
        let Some(end) = (0..self.firsts.len())
            .map(last_of)
            .filter(|&state| best[state] > f32::NEG_INFINITY)
            .max_by(|&a, &b| best[a].total_cmp(&best[b]))
        else {
            // Too short for any word.
            return Vec::new();
        };
        let mut words = Vec::new();
        let mut state = end;
        for came in from.iter().rev() {
            let before = came[state] as usize;
            if before != state && is_first[state] {
                words.push(self.word(state));
            }
            // A first state that follows itself after the end of a word of one state is not told
            // from one that stays.
            state = before;
        }
        words.push(self.word(state));
        words.reverse();
        words
    }

    fn word(&self, state: usize) -> u32 {
        (self.firsts.partition_point(|&first| first <= state) - 1) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Ragged;

    fn targets(spoken: &[&[u32]]) -> Targets {
        let mut all = Ragged::new(1);
        let mut values = Ragged::new(1);
        for words in spoken {
            all.push(words.iter().copied());
            values.push([0, 1, 2, 3]);
        }
        Targets::Labels {
            names: (0..4).map(|label| label.to_string()).collect(),
            values,
            words: Some(Words {
                names: vec!["one".into(), "two".into()],
                states: vec![vec![0, 1], vec![2, 3]],
                spoken: all,
            }),
        }
    }

    fn scores(labels: &[usize]) -> Vec<f32> {
        labels.iter().flat_map(|&l| (0..4).map(move |k| if k == l { 4.0 } else { 0.0 })).collect()
    }

    #[test]
    fn words_are_those_whose_states_were_passed() {
        let decoder = WordLoop::new(&targets(&[&[0, 1], &[1]])).unwrap();
        assert_eq!(decoder.decode(&scores(&[0, 0, 1, 2, 3, 3, 0, 1])), [0, 1, 0]);
        // The same word twice.
        assert_eq!(decoder.decode(&scores(&[2, 3, 2, 3])), [1, 1]);
        // A frame that is wrong does not make another word.
        assert_eq!(decoder.decode(&scores(&[0, 0, 2, 1, 1])), [0]);
    }

    #[test]
    fn where_sequences_are_single_words_one_is_found() {
        let decoder = WordLoop::new(&targets(&[&[0], &[1]])).unwrap();
        assert_eq!(decoder.decode(&scores(&[2, 3, 0, 2, 3])), [1]);
        assert!(decoder.decode(&scores(&[2])).is_empty());
    }
}
