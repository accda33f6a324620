//! Symbols from the scores of a model trained with CTC; class 0 is the blank.

use std::collections::BTreeMap;

use super::log_softmax;

/// The best class of every step, without repeats and blanks. Symbols count from 1.
pub fn greedy(scores: &[f32], classes: usize) -> Vec<u32> {
    let mut out = Vec::new();
    let mut before = 0;
    for step in scores.chunks_exact(classes) {
        let best =
            (0..classes).fold(0, |best, class| if step[class] > step[best] { class } else { best });
        if best != 0 && best != before {
            out.push(best as u32);
        }
        before = best;
    }
    out
}

/// The logarithm of a sum of two probabilities, given as logarithms.
fn either(a: f32, b: f32) -> f32 {
    let (high, low) = if a > b { (a, b) } else { (b, a) };
    if low == f32::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}

/// How likely a beginning is, over the ways that end in a blank and those that do not.
#[derive(Clone, Copy)]
struct Likely {
    blank: f32,
    symbol: f32,
}

impl Likely {
    const NEVER: Self = Self { blank: f32::NEG_INFINITY, symbol: f32::NEG_INFINITY };

    fn whole(self) -> f32 {
        either(self.blank, self.symbol)
    }
}

/// The likeliest symbols, over all ways to spread them over the steps, keeping the `width` likeliest
/// beginnings at every step (Graves and Jaitly, 2014). Symbols count from 1.
pub fn beam(scores: &[f32], classes: usize, width: usize) -> Vec<u32> {
    let mut kept: Vec<(Vec<u32>, Likely)> =
        vec![(Vec::new(), Likely { blank: 0.0, symbol: f32::NEG_INFINITY })];
    for step in scores.chunks_exact(classes) {
        let step = log_softmax(step);
        // Classes that cannot be among the best are not tried.
        let mut order: Vec<usize> = (1..classes).collect();
        order.sort_by(|&a, &b| step[b].total_cmp(&step[a]));
        order.truncate(width);
        let mut next: BTreeMap<Vec<u32>, Likely> = BTreeMap::new();
        for (symbols, likely) in &kept {
            let whole = likely.whole();
            let last = symbols.last().copied();
            let same = next.entry(symbols.clone()).or_insert(Likely::NEVER);
            same.blank = either(same.blank, whole + step[0]);
            if let Some(last) = last {
                same.symbol = either(same.symbol, likely.symbol + step[last as usize]);
            }
            for &class in &order {
                let class_of = class as u32;
                // The same symbol again is another one only after a blank.
                let from = if last == Some(class_of) { likely.blank } else { whole };
                let longer: Vec<u32> = symbols.iter().copied().chain([class_of]).collect();
                let longer = next.entry(longer).or_insert(Likely::NEVER);
                longer.symbol = either(longer.symbol, from + step[class]);
            }
        }
        kept = next.into_iter().collect();
        kept.sort_by(|a, b| b.1.whole().total_cmp(&a.1.whole()));
        kept.truncate(width);
    }
    kept.into_iter().next().map(|(symbols, _)| symbols).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logs(rows: &[[f32; 3]]) -> Vec<f32> {
        rows.concat().iter().map(|p| p.ln()).collect()
    }

    #[test]
    fn repeats_and_blanks_are_left_out() {
        let best = |classes: &[usize]| -> Vec<f32> {
            classes.iter().flat_map(|&c| (0..3).map(move |k| f32::from(u8::from(k == c)))).collect()
        };
        assert_eq!(greedy(&best(&[0, 1, 1, 0, 1, 2, 2]), 3), [1, 1, 2]);
        assert!(greedy(&best(&[0, 0]), 3).is_empty());
    }

    #[test]
    fn a_beam_adds_up_the_ways_that_say_the_same() {
        // The best way of single steps is two blanks (0.36); all ways to "1" have 0.64.
        let scores = logs(&[[0.6, 0.4, 1e-6], [0.6, 0.4, 1e-6]]);
        assert!(greedy(&scores, 3).is_empty());
        assert_eq!(beam(&scores, 3, 4), [1]);
    }

    #[test]
    fn a_wide_beam_finds_what_trying_everything_finds() {
        let scores: Vec<f32> =
            (0..5 * 3).map(|i| (f64::from(i) * 1.7).sin() as f32 * 1.5).collect();
        // Every way through five steps of three classes.
        let mut sums: BTreeMap<Vec<u32>, f32> = BTreeMap::new();
        for way in 0..3_usize.pow(5) {
            let classes: Vec<usize> = (0..5).map(|at| way / 3_usize.pow(at) % 3).collect();
            let mut said = Vec::new();
            let mut before = 0;
            let mut likely = 0.0;
            for (at, &class) in classes.iter().enumerate() {
                likely += log_softmax(&scores[at * 3..at * 3 + 3])[class];
                if class != 0 && class != before {
                    said.push(class as u32);
                }
                before = class;
            }
            *sums.entry(said).or_insert(0.0) += likely.exp();
        }
        let best = sums.iter().max_by(|a, b| a.1.total_cmp(b.1)).map(|(said, _)| said.clone());
        assert_eq!(Some(beam(&scores, 3, 50)), best);
    }
}
